//! Where commands write: never through a link that came with a mod or that another user made, and never two
//! files under one name.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;

use crate::fake_mount::hostile_user;
use crate::mounted::{Finished, TestDir, is_root, run};
use crate::support::content::text;
use crate::support::{Tes4, dds};

/// An archive with one file.
fn archive() -> Vec<u8> {
    Tes4::new(104).file("", "evil.desktop", text(1, 100)).build()
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_link_that_came_with_a_mod_takes_the_name_of_the_default_folder() {
    let dir = TestDir::new();
    fs::create_dir_all(dir.path("home/autostart")).unwrap();
    fs::create_dir(dir.path("mods")).unwrap();
    dir.archive("mods/Mod.bsa", &archive());
    symlink("../home/autostart", dir.path("mods/Mod")).unwrap();
    symlink("../home/missing", dir.path("mods/Mod (2)")).unwrap();
    fs::write(dir.path("mods/Mod (3)"), "a file").unwrap();
    let finished = run(dir.bsafs(["extract", "Mod.bsa"]).current_dir(dir.path("mods")));
    assert_eq!(finished.success(), "wrote 1 file (100 B) to Mod (4)\n");
    assert_eq!(names(&dir.path("home/autostart")), [""; 0]);
    assert_eq!(names(&dir.path("home")), ["autostart"]);
    assert_eq!(names(&dir.path("mods/Mod (4)")), ["evil.desktop"]);
    // A link that the user names himself is followed.
    dir.run(["extract", "mods/Mod.bsa", "-C", "mods/Mod"]).success();
    assert_eq!(names(&dir.path("home/autostart")), ["evil.desktop"]);
}

#[test]
fn extracted_pictures_never_take_the_name_of_another_file() {
    let red = [dds::header(dds::BC1, 4, 4, 1, false), vec![0, 0xF8, 0, 0xF8, 0, 0, 0, 0]].concat();
    let blue = [dds::header(dds::BC1, 4, 4, 1, false), vec![0x1F, 0, 0x1F, 0, 0, 0, 0, 0]].concat();
    let mut archive = Tes4::new(104);
    let textures = ["a.dds", "A.DDS.dds", "b.dds", "b.dds.dds", "b.dds.dds.dds", "C.DDS", "c.dds.DDS"];
    let others = ["a.png", "a.dds.png", "b.PNG", "bad.dds", "bad.png"];
    for name in textures {
        archive = archive.file("t", name, if name.len() > 6 { &blue[..] } else { &red });
    }
    for name in others {
        archive = archive.file("t", name, name);
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &archive.build());
    let planned = dir.run(["extract", "--png", "--dry-run", "a.bsa", "-C", "out"]).success();
    let printed = dir.run(["extract", "--png", "a.bsa", "-C", "out"]).success();
    let written = names(&dir.path("out/t"));
    assert!(printed.starts_with("wrote 12 files ("), "{printed}");
    assert_eq!(written.len(), textures.len() + others.len(), "{written:?}");
    let folded: std::collections::HashSet<_> = written.iter().map(|it| it.to_ascii_lowercase()).collect();
    assert_eq!(folded.len(), written.len(), "two names differ only in case: {written:?}");
    let mut planned: Vec<&str> = planned.lines().filter_map(|line| line.strip_prefix("out/t/")).collect();
    planned.sort_unstable();
    assert_eq!(planned, written);
    for name in others {
        assert_eq!(fs::read(dir.path("out/t").join(name)).unwrap(), name.as_bytes());
    }
    let pictures = written.iter().filter(|name| !others.contains(&name.as_str()));
    let mut contents: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    for name in pictures {
        *contents.entry(fs::read(dir.path("out/t").join(name)).unwrap()).or_default() += 1;
    }
    let mut counts: Vec<usize> = contents.into_values().collect();
    counts.sort_unstable();
    assert_eq!(counts, [3, 4], "a picture has the content of another");
    // The names stay the same, so a second run finds all files.
    let again = dir.run(["extract", "--png", "a.bsa", "-C", "out"]).success();
    assert!(again.contains("12 files exist already and were kept;"), "{again}");
}

/// A folder of root's with a folder `users` of another user, in which links lead to `roots`.
fn with_links_of_another_user() -> TestDir {
    let dir = TestDir::new();
    dir.archive("a.bsa", &archive());
    fs::create_dir(dir.path("roots")).unwrap();
    fs::create_dir(dir.path("sticky")).unwrap();
    fs::set_permissions(dir.path("sticky"), fs::Permissions::from_mode(0o1777)).unwrap();
    fs::create_dir_all(dir.path("users/folder")).unwrap();
    let (user, group) = hostile_user();
    for path in ["users", "users/folder"] {
        chown(dir.path(path), Some(user), Some(group)).unwrap();
    }
    for link in ["users/link", "sticky/link"] {
        let roots = dir.path("roots");
        run(&mut dir.as_user("ln", ["-s", roots.to_str().unwrap(), link])).success();
    }
    // What root has made in a folder of the user, the user may put elsewhere.
    symlink(dir.path("roots"), dir.path("users/folder/old")).unwrap();
    run(&mut dir.as_user("mv", ["users/folder/old", "users/roots-own"])).success();
    for link in ["users/file", "sticky/file"] {
        let roots = dir.path("roots/file");
        run(&mut dir.as_user("ln", ["-s", roots.to_str().unwrap(), link])).success();
    }
    dir
}

#[test]
fn root_writes_through_no_link_that_another_user_can_make() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = with_links_of_another_user();
    let texture = [dds::header(dds::BC1, 4, 4, 1, false), vec![0; 8]].concat();
    fs::write(dir.path("a.dds"), texture).unwrap();
    let refused = |finished: Finished| {
        assert_eq!(finished.code, 73, "{finished:?}");
        assert_eq!(names(&dir.path("roots")), [""; 0], "{finished:?}");
    };
    for link in ["users/link", "users/roots-own", "sticky/link"] {
        refused(dir.run(["extract", "a.bsa", "-C", link]));
        refused(dir.run(["extract", "a.bsa", "-C", &format!("{link}/new/folder")]));
        refused(dir.run(["man", "--all", link]));
        refused(dir.run(["thumbnail", "a.dds", &format!("{link}/a.png")]));
        for config in [dir.path(link), dir.path(link).join("deeper")] {
            let mut save = dir.bsafs(["mount", "--save-profile", "mine", "a.bsa", "mnt"]);
            refused(run(save.env("XDG_CONFIG_HOME", config)));
        }
    }
    for link in ["users/file", "sticky/file"] {
        refused(dir.run(["thumbnail", "a.dds", link]));
    }
    // Root writes nothing in a folder of the user either, and says what to do. Links of root's do not help.
    symlink("users/folder", dir.path("own")).unwrap();
    for folder in ["users/folder/out", "own/through"] {
        let refused = dir.run(["extract", "a.bsa", "-C", folder]);
        assert!(refused.code == 73 && refused.err.contains("run the command without sudo"), "{refused:?}");
        assert_eq!(names(&dir.path("users/folder")), [""; 0]);
    }
    // Links of root in folders of root lead somewhere.
    fs::create_dir(dir.path("target")).unwrap();
    symlink("target", dir.path("link")).unwrap();
    dir.run(["extract", "a.bsa", "-C", "link/through"]).success();
    assert_eq!(names(&dir.path("target/through")), ["evil.desktop"]);
}

#[test]
fn a_user_follows_his_own_links_and_those_of_root_but_no_others() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &archive());
    dir.give_to_user();
    fs::create_dir(dir.path("third")).unwrap();
    chown(dir.path("third"), Some(12345), Some(12345)).unwrap();
    symlink("..", dir.path("third/link")).unwrap();
    let third = Command::new("chown").args(["-h", "12345"]).arg(dir.path("third/link")).status().unwrap();
    assert!(third.success());
    symlink(".", dir.path("roots")).unwrap();
    run(&mut dir.as_user("ln", ["-s", "roots", "own"])).success();
    let extract = |to: &str| run(&mut dir.bsafs_as_user(["extract", "a.bsa", "-C", to]));
    extract("own/roots/out").success();
    assert_eq!(names(&dir.path("out")), ["evil.desktop"]);
    let refused = extract("third/link/stolen");
    assert!(refused.code == 73 && refused.err.contains("another user can change the link"), "{refused:?}");
    assert!(!dir.path("stolen").exists());
}

#[test]
fn roots_log_is_written_through_no_link_and_no_second_name_of_another_user() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = with_links_of_another_user();
    fs::write(dir.path("roots/file"), "kept\n").unwrap();
    // As if the kernel did not protect hard links.
    fs::hard_link(dir.path("roots/file"), dir.path("users/hard")).unwrap();
    fs::create_dir(dir.path("mnt")).unwrap();
    for (log, why) in [
        ("users/file", "another user can change "),
        ("users/link/file", "another user can change "),
        ("users/roots-own/new", "another user can change "),
        ("sticky/file", "another user can change "),
        ("users/hard", "another user can change "),
    ] {
        let finished = dir.run(["mount", "a.bsa", "mnt", "--log-file", log]);
        assert_eq!(finished.code, 74, "{log}: {finished:?}");
        assert!(finished.err.starts_with(&format!("bsafs: --log-file {log}: ")), "{finished:?}");
        assert!(finished.err.contains(why), "{finished:?}");
    }
    assert_eq!(names(&dir.path("roots")), ["file"]);
    assert_eq!(fs::read(dir.path("roots/file")).unwrap(), b"kept\n");
    // A link of root's own.
    symlink("roots/file", dir.path("own")).unwrap();
    for log in ["own", "/dev/null"] {
        dir.mount(["a.bsa", "--log-file", log]).umount(&dir);
    }
}
