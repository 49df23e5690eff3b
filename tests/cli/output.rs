//! Where commands write: never through a link that came with a mod or that another user made, and never two
//! files under one name.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::Path;
use std::process::Command;

use crate::mounted::{TestDir, is_root, run};
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
fn root_writes_through_links_of_root() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &archive());
    for folder in ["target", "mnt"] {
        fs::create_dir(dir.path(folder)).unwrap();
    }
    symlink("target", dir.path("link")).unwrap();
    dir.run(["extract", "a.bsa", "-C", "link/through"]).success();
    assert_eq!(names(&dir.path("target/through")), ["evil.desktop"]);
    symlink("target/log", dir.path("own")).unwrap();
    for log in ["own", "/dev/null"] {
        dir.mount(["a.bsa", "--log-file", log]).umount(&dir);
    }
    assert!(dir.path("target/log").exists());
}
