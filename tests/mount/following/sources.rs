//! Tests of changes to what leads to the files of a mount: links, folders, spellings, profiles, and
//! archives that cannot be opened.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Command;
use std::time::SystemTime;

use rustix::process::Signal;

use super::files::{ENOENT, archive, content, replace, wait_for_view_after};
use crate::disk::{Disk, Mode};
use crate::mounted::{Mounted, TestDir, is_root, mounts_below, run, signal, status, until};

#[test]
fn removed_files_of_a_respelled_folder_vanish_under_every_spelling() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &archive(&[("Textures\\low\\a.txt", "a"), ("Textures\\low\\b.txt", "b")]));
    let mount = dir.mount(["a.bsa", "-o", "static"]);
    let folders = ["Textures", "textures", "TEXTURES", "tEXTURES"];
    let read = |name: &str| folders.map(|folder| content(&mount.join(format!("{folder}/low/{name}"))));
    let all = |text: &str| [(); 4].map(|()| Ok(text.to_owned()));
    assert_eq!((read("a.txt"), read("b.txt")), (all("a"), all("b")));
    replace(&dir, "a.bsa", &archive(&[("textures\\LOW\\b.txt", "b2")]));
    dir.run(["reload", "mnt"]).success();
    assert_eq!((read("a.txt"), read("b.txt")), ([(); 4].map(|()| Err(ENOENT)), all("b2")));
    replace(&dir, "a.bsa", &archive(&[("textures\\c.txt", "c")]));
    dir.run(["reload", "mnt"]).success();
    for folder in folders {
        assert_eq!(content(&mount.join(folder).join("low")), Err(ENOENT), "{folder}");
    }
}

/// Waits until the mount has made no reload for 700 ms. A change may cause more than one reload.
fn until_quiet(mount: &Mounted) {
    let count = || status(&mount.path)["last_reload"]["count"].as_u64();
    let mut last = (count(), std::time::Instant::now());
    until("the reloads to stop", || {
        last = if count() == last.0 { last } else { (count(), std::time::Instant::now()) };
        last.1.elapsed().as_millis() > 700
    });
}

#[test]
fn a_retargeted_link_and_changes_behind_it_are_followed() {
    let dir = TestDir::new();
    for version in ["v1", "v2"] {
        fs::create_dir_all(dir.path(format!("{version}/sub"))).unwrap();
        fs::write(dir.path(format!("{version}/sub/a.txt")), version).unwrap();
        // Folders that were changed just before are listed again, whatever links lead to them.
        for path in ["sub/a.txt", "sub", ""] {
            let file = File::open(dir.path(version).join(path)).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }
    }
    // Two links lead to the source. One is in a folder that has no other part in the mount.
    fs::create_dir(dir.path("links")).unwrap();
    let lead = |to: &str| {
        symlink(to, dir.path("links/new")).unwrap();
        fs::rename(dir.path("links/new"), dir.path("links/current")).unwrap();
    };
    lead("../v1");
    symlink("links/current", dir.path("mod")).unwrap();
    let mount = dir.mount(["mod"]);
    until_quiet(&mount);
    assert_eq!(content(&mount.join("sub/a.txt")), Ok("v1".into()));
    lead("../v2");
    until("the change to be shown", || content(&mount.join("sub/a.txt")) == Ok("v2".into()));
    until_quiet(&mount);
    fs::write(dir.path("v2/sub/b.txt"), "b").unwrap();
    until("the change to be shown", || content(&mount.join("sub/b.txt")) == Ok("b".into()));
}

#[test]
fn changes_are_followed_by_all_links_to_one_folder_and_each_link_by_itself() {
    let dir = TestDir::new();
    for (file, text) in [("mod/a.txt", "one"), ("mod/sub/b.txt", "b"), ("other/a.txt", "other")] {
        fs::create_dir_all(dir.path(file).parent().unwrap()).unwrap();
        fs::write(dir.path(file), text).unwrap();
    }
    symlink("mod", dir.path("low")).unwrap();
    symlink(dir.path("mod"), dir.path("high")).unwrap();
    let mount = dir.mount(["low", "high"]);
    let read = |path: &str| content(&mount.join(path));
    let inode = || fs::metadata(mount.join("sub/b.txt")).unwrap().ino();
    let before = (inode(), read("a.txt"), read("sub/b.txt"));
    assert_eq!(before, (before.0, Ok("one".into()), Ok("b".into())));
    fs::write(dir.path("mod/a.txt"), "written").unwrap();
    fs::write(dir.path("mod/sub/c.txt"), "c").unwrap();
    until("the write to be shown", || read("a.txt") == Ok("written".into()));
    until("the file to be shown", || read("sub/c.txt") == Ok("c".into()));
    assert_eq!((inode(), read("sub/b.txt")), (before.0, before.2));
    // The upper layer leads elsewhere; the lower one still leads to the folder.
    symlink("other", dir.path("new")).unwrap();
    fs::rename(dir.path("new"), dir.path("high")).unwrap();
    until("the other folder to be shown", || read("a.txt") == Ok("other".into()));
    fs::remove_file(dir.path("mod/sub/c.txt")).unwrap();
    fs::write(dir.path("mod/sub/d.txt"), "d").unwrap();
    until("the removal to be shown", || {
        read("sub/c.txt") == Err(ENOENT) && read("sub/d.txt") == Ok("d".into())
    });
    assert_eq!(read("sub/b.txt"), Ok("b".into()));
}

#[test]
fn a_replaced_folder_far_above_the_source_is_followed() {
    let dir = TestDir::new();
    for (name, text) in [("disk", "one"), ("other", "two")] {
        fs::create_dir_all(dir.path(format!("{name}/games/mod"))).unwrap();
        fs::write(dir.path(format!("{name}/games/mod/a.txt")), text).unwrap();
    }
    let mount = dir.mount(["disk/games/mod"]);
    until_quiet(&mount);
    assert_eq!(content(&mount.join("a.txt")), Ok("one".into()));
    fs::rename(dir.path("disk"), dir.path("old")).unwrap();
    fs::rename(dir.path("other"), dir.path("disk")).unwrap();
    until("the change to be shown", || content(&mount.join("a.txt")) == Ok("two".into()));
    until_quiet(&mount);
    fs::write(dir.path("disk/games/mod/b.txt"), "b").unwrap();
    until("the change to be shown", || content(&mount.join("b.txt")) == Ok("b".into()));
}

#[test]
fn an_option_of_a_profile_that_changes_the_names_in_archives_is_followed() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &archive(&[("caf\u{e9}.txt", "a")]));
    let profile = |encoding: &str| {
        let text = format!("archives = ['a.bsa']\noptions = 'encoding={encoding}'");
        replace(&dir, "p.toml", text.as_bytes());
    };
    profile("1252");
    dir.run(["mount", "p.toml", "mnt"]).success();
    let mount = Mounted::at(&dir.path("mnt"), String::new());
    until_quiet(&mount);
    assert_eq!(content(&mount.join("caf\u{c3}\u{a9}.txt")), Ok("a".into()));
    profile("utf-8");
    until("the new name to be shown", || content(&mount.join("caf\u{e9}.txt")) == Ok("a".into()));
    assert_eq!(content(&mount.join("caf\u{c3}\u{a9}.txt")), Err(ENOENT));
}

#[test]
fn a_missing_or_damaged_archive_of_a_profile_is_followed() {
    let dir = TestDir::new();
    let [a, b] = ["a", "b"].map(|name| archive(&[(&format!("{name}.txt"), name)]));
    for folder in ["profile", "archives", "others"] {
        fs::create_dir(dir.path(folder)).unwrap();
    }
    dir.archive("archives/a.bsa", &a);
    let profile = |archives: &str| {
        let text = format!("archives = [{archives}]\nmountpoint = '../mnt'");
        replace(&dir, "profile/p.toml", text.as_bytes());
    };
    profile("'../archives/a.bsa'");
    dir.run(["mount", "profile/p.toml", "mnt"]).success();
    let mount = Mounted::at(&dir.path("mnt"), String::new());
    until_quiet(&mount);
    fs::remove_file(dir.path("archives/a.bsa")).unwrap();
    until("the change to be shown", || content(&mount.join("a.txt")) == Err(ENOENT));
    until_quiet(&mount);
    replace(&dir, "archives/a.bsa", &a);
    until("the change to be shown", || content(&mount.join("a.txt")) == Ok("a".into()));
    until_quiet(&mount);
    fs::write(dir.path("others/b.bsa"), &b[..20]).unwrap();
    profile("'../archives/a.bsa', '../others/b.bsa'");
    until("the reload to fail", || status(&mount.path)["last_reload"]["is_failed"] == true);
    until_quiet(&mount);
    fs::write(dir.path("others/b.bsa"), &b).unwrap();
    until("the change to be shown", || content(&mount.join("b.txt")) == Ok("b".into()));
}

#[test]
fn a_truncated_archive_is_shown_even_while_other_files_change() {
    let dir = TestDir::new();
    let bytes = |text: &str| archive(&[("a.txt", text), ("z.txt", &text.repeat(100))]);
    dir.archive("a.bsa", &bytes("one"));
    fs::create_dir(dir.path("mod")).unwrap();
    let mount = dir.mount(["a.bsa", "mod"]);
    let new = bytes("two");
    replace(&dir, "a.bsa", &new[..new.len() - 10]);
    let mut writes = 0;
    until("the truncated archive to be shown", || {
        writes += 1;
        fs::write(dir.path("mod/log.txt"), writes.to_string()).unwrap();
        content(&mount.join("a.txt")) == Ok("two".into())
    });
}

#[test]
fn a_link_to_a_source_beneath_the_mount_is_not_taken_for_the_mount() {
    let dir = TestDir::new();
    fs::create_dir(dir.path("mnt")).unwrap();
    fs::write(dir.path("mnt/a.txt"), "below").unwrap();
    symlink("mnt", dir.path("link")).unwrap();
    fs::create_dir(dir.path("mod")).unwrap();
    let mount = dir.mount(["-o", "nonempty", "link", "mod"]);
    fs::write(dir.path("mod/b.txt"), "b").unwrap();
    until("the file to be shown", || content(&mount.join("b.txt")) == Ok("b".into()));
    assert_eq!(content(&mount.join("a.txt")), Ok("below".into()));
}

#[test]
fn a_change_through_another_hard_link_is_shown_after_a_read() {
    let dir = TestDir::new();
    fs::create_dir(dir.path("mod")).unwrap();
    fs::create_dir(dir.path("staging")).unwrap();
    fs::write(dir.path("staging/a.txt"), "one").unwrap();
    fs::hard_link(dir.path("staging/a.txt"), dir.path("mod/a.txt")).unwrap();
    let mount = dir.mount(["mod"]);
    assert_eq!(fs::metadata(mount.join("a.txt")).unwrap().len(), 3);
    // The daemon watches the folder `mod`, so it does not notice a write through another folder.
    fs::write(dir.path("staging/a.txt"), "other").unwrap();
    until("the failed read to cause a reload", || content(&mount.join("A.TXT")) == Ok("other".into()));
}

#[test]
fn a_damaged_archive_does_not_block_changes_of_other_sources() {
    let dir = TestDir::new();
    let bytes = |text: &str| archive(&[("a.txt", text), ("A (2).txt", "numbered"), ("deep\\z.txt", text)]);
    dir.archive("a.bsa", &bytes("one"));
    dir.archive("b.bsa", &archive(&[("b.txt", "one")]));
    fs::create_dir(dir.path("mod")).unwrap();
    fs::write(dir.path("mod/deep.txt"), "one").unwrap();
    let mount = dir.mount(["a.bsa", "b.bsa", "mod", "--log-file", "log"]);
    let number = |path: &str| fs::metadata(mount.join(path)).unwrap().ino();
    let numbers = ["a.txt", "deep", "deep/z.txt"].map(number);
    for (nth, damage) in ["no archive at all", "", "BSA\0"].into_iter().enumerate() {
        replace(&dir, "a.bsa", damage.as_bytes());
        let new = format!("new {nth}");
        replace(&dir, "b.bsa", &archive(&[("b.txt", &new)]));
        fs::write(dir.path("mod/deep.txt"), &new).unwrap();
        until("the change of another source to be shown", || {
            content(&mount.join("B.TXT")) == Ok(new.clone())
        });
        until("the change of another source to be shown", || {
            content(&mount.join("Deep.txt")) == Ok(new.clone())
        });
        // The old archive has no name any more, but the daemon still has it open.
        assert_eq!(content(&mount.join("deep/z.txt")), Ok("one".into()));
        assert_eq!(content(&mount.join("a (2).txt")), Ok("numbered".into()));
        assert_eq!(["a.txt", "deep", "deep/z.txt"].map(number), numbers);
    }
    until("the reload to be recorded", || status(&mount.path)["last_reload"]["is_running"] == false);
    let last = status(&mount.path)["last_reload"].take();
    assert!(last["is_failed"] == true && last["what"].as_str().unwrap().contains("a.bsa"), "{last}");
    replace(&dir, "a.bsa", &bytes("two"));
    until("the restored archive to be shown", || content(&mount.join("deep/z.txt")) == Ok("two".into()));
    // The daemon records a reload after it serves the new view.
    until("the reload to be recorded", || status(&mount.path)["last_reload"]["is_failed"] == false);
    mount.umount(&dir);
    let log = fs::read_to_string(dir.path("log")).unwrap();
    assert_eq!(log.matches("the previous contents stay mounted").count(), 3, "{log}");
}

#[test]
fn an_archive_damaged_in_place_keeps_its_names() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &archive(&[("a.txt", "one"), ("deep\\z.txt", "one")]));
    dir.archive("b.bsa", &archive(&[("b.txt", "one")]));
    let mount = dir.mount(["a.bsa", "b.bsa"]);
    let old = fs::read(dir.path("a.bsa")).unwrap();
    File::options().write(true).open(dir.path("a.bsa")).unwrap().set_len(5).unwrap();
    replace(&dir, "b.bsa", &archive(&[("b.txt", "two")]));
    until("the change of the other source to be shown", || content(&mount.join("b.txt")) == Ok("two".into()));
    assert!(mount.join("deep").join("Z.txt").exists());
    assert_eq!(content(&mount.join("deep/z.txt")), Err(5));
    fs::write(dir.path("a.bsa"), &old).unwrap();
    until("the restored archive to be shown", || content(&mount.join("deep/z.txt")) == Ok("one".into()));
}

#[test]
fn absolute_links_work_in_a_folder_mounted_over_itself() {
    let dir = TestDir::new();
    fs::create_dir_all(dir.path("mnt/real")).unwrap();
    fs::create_dir(dir.path("mod")).unwrap();
    fs::write(dir.path("mnt/real/a.txt"), "a").unwrap();
    symlink(dir.path("mnt/real/a.txt"), dir.path("mnt/file")).unwrap();
    symlink(dir.path("mnt/real"), dir.path("mnt/folder")).unwrap();
    let mount = dir.mount(["-o", "nonempty", "mnt", "mod"]);
    fs::write(dir.path("mod/b.txt"), "b").unwrap();
    wait_for_view_after(&mount, 0);
    for path in ["file", "folder/a.txt", "real/a.txt"] {
        assert_eq!(content(&mount.join(path)), Ok("a".into()), "{path}");
    }
}

#[test]
fn the_status_shows_a_reload_that_hangs_and_reads_continue() {
    let dir = TestDir::new();
    let disk = Disk::mount(&dir.path("disk"), vec![("a.bsa", archive(&[("a.txt", "a")]))]);
    dir.archive("b.bsa", &archive(&[("b.txt", "one")]));
    // With a list of names, every archive is opened again.
    fs::write(dir.path("names.txt"), "c.txt\n").unwrap();
    let mount = dir.mount(["--names", "names.txt", "disk/a.bsa", "b.bsa"]);
    disk.set(Mode::Hangs);
    replace(&dir, "b.bsa", &archive(&[("b.txt", "two")]));
    let text = || dir.run(["status", "mnt"]).success();
    until("the status to show the reload", || text().contains("  reloading  for "));
    assert_eq!(content(&mount.join("b.txt")), Ok("one".into()));
    disk.set(Mode::Works);
    until("the change to be shown", || content(&mount.join("b.txt")) == Ok("two".into()));
    until("the reload to end", || !text().contains("reloading"));
}

#[test]
fn loose_files_beside_an_archive_keep_their_sizes_when_a_file_is_added() {
    let dir = TestDir::new();
    fs::create_dir_all(dir.path("Data/sub")).unwrap();
    fs::write(dir.path("Data/a.bsa"), archive(&[("a.txt", "a")])).unwrap();
    let files = [("Data/b.txt", "b"), ("Data/sub/c.txt", "of c"), ("Data/sub/d.txt", "what d is")];
    for (path, text) in files.iter() {
        fs::write(dir.path(path), text).unwrap();
    }
    let mount = dir.mount(["Data"]);
    let look = || {
        files.map(|(path, text)| {
            let path = mount.join(path.strip_prefix("Data/").unwrap());
            assert_eq!(content(&path), Ok(text.into()));
            let found = fs::metadata(path).unwrap();
            (found.ino(), found.len())
        })
    };
    let before = look();
    fs::write(dir.path("Data/new.txt"), "new").unwrap();
    wait_for_view_after(&mount, 0);
    assert_eq!(look()[1..], before[1..]);
}

#[test]
fn changes_of_links_behind_links_are_followed() {
    let dir = TestDir::new();
    for (version, text) in [("one", "1"), ("other", "other")] {
        fs::create_dir_all(dir.path(version).join("above/deep")).unwrap();
        fs::write(dir.path(version).join("above/deep/a.txt"), text).unwrap();
    }
    fs::create_dir(dir.path("mod")).unwrap();
    symlink("one", dir.path("current")).unwrap();
    symlink("../current/above/deep", dir.path("mod/folder")).unwrap();
    symlink("../current/above/deep/a.txt", dir.path("mod/file")).unwrap();
    symlink("../one/above/deep", dir.path("mod/fixed")).unwrap();
    let mount = dir.mount(["mod"]);
    let paths = ["folder/a.txt", "file", "fixed/a.txt"].map(|path| mount.join(path));
    let read = || paths.each_ref().map(|path| content(path).unwrap());
    let sizes = || paths.each_ref().map(|path| fs::metadata(path).unwrap().len());
    assert_eq!((read(), sizes()), (["1", "1", "1"].map(str::to_owned), [1; 3]));
    symlink("other", dir.path("new")).unwrap();
    fs::rename(dir.path("new"), dir.path("current")).unwrap();
    // Only sizes are compared, because a read would make the daemon notice the change.
    until("the change of the link to be shown", || sizes() == [5, 5, 1]);
    assert_eq!(read(), ["other", "other", "1"]);
    fs::rename(dir.path("one"), dir.path("gone")).unwrap();
    fs::rename(dir.path("other"), dir.path("one")).unwrap();
    until("the change of the folder to be shown", || fs::metadata(&paths[2]).is_ok_and(|it| it.len() == 5));
}

#[test]
fn changes_in_an_unreadable_folder_are_shown_once_it_is_readable() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    fs::create_dir_all(dir.path("mod/sub")).unwrap();
    fs::create_dir(dir.path("mnt")).unwrap();
    fs::write(dir.path("mod/sub/a.txt"), "one").unwrap();
    dir.give_to_user();
    let mut mount = Command::new(dir.path("bsafs"));
    run(mount.args(["mod", "mnt", "-o", "rw,setuid=nobody"]).current_dir(dir.path(""))).success();
    let user = |program: &str, path: &str| run(&mut dir.as_user(program, [path])).success();
    let reload = || {
        let status: serde_json::Value =
            serde_json::from_str(user("readlink", "mnt/.bsafs:status").trim()).unwrap();
        (status["last_reload"]["count"].as_u64().unwrap(), status["last_reload"]["is_failed"] == true)
    };
    assert_eq!(user("cat", "mnt/sub/a.txt"), "one");
    let mode = |mode| fs::set_permissions(dir.path("mod"), Permissions::from_mode(mode)).unwrap();
    // The daemon still watches what is in the folder.
    mode(0o311);
    fs::write(dir.path("mod/sub/a.txt"), "other").unwrap();
    until("the reload to fail", || reload().1);
    mode(0o755);
    until("the next reload to succeed", || !reload().1);
    assert_eq!(user("cat", "mnt/sub/a.txt"), "other");
    let pid = user("readlink", "mnt/.bsafs:status");
    let pid: serde_json::Value = serde_json::from_str(pid.trim()).unwrap();
    signal(i32::try_from(pid["pid"].as_i64().unwrap()).unwrap(), Signal::TERM);
    until("the daemon to unmount", || mounts_below(&dir.path("")).is_empty());
}

#[test]
fn a_damaged_archive_that_is_mounted_twice_stays_in_both_folders() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &archive(&[("a.txt", "one")]));
    fs::create_dir(dir.path("mod")).unwrap();
    let mount = dir.mount(["a.bsa", "a.bsa", "mod", "--layout", "per-archive"]);
    let numbers =
        || ["a/a.txt", "a (2)/a.txt"].map(|it| fs::metadata(mount.join(it)).map(|it| it.ino()).ok());
    let before = numbers();
    for n in 0..2 {
        replace(&dir, "a.bsa", b"no archive");
        fs::write(dir.path(format!("mod/{n}")), "new").unwrap();
        until("the change of the other source to be shown", || mount.join(format!("mod/{n}")).exists());
        assert_eq!(numbers(), before);
    }
}

#[test]
fn a_source_that_was_named_by_a_detour_is_followed_after_that_folder_is_gone() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &archive(&[("a.txt", "one")]));
    fs::create_dir_all(dir.path("mod")).unwrap();
    fs::create_dir_all(dir.path("here/there")).unwrap();
    fs::write(dir.path("mod/b.txt"), "one").unwrap();
    let mut command = dir.bsafs(["mount", "../../a.bsa", "../there/../../mod", "../../mnt"]);
    let report = run(command.current_dir(dir.path("here/there"))).success();
    let mount = Mounted::at(&dir.path("mnt"), report);
    assert_eq!(content(&mount.join("a.txt")), Ok("one".into()));
    fs::rename(dir.path("here"), dir.path("gone")).unwrap();
    fs::write(dir.path("mod/b.txt"), "two").unwrap();
    replace(&dir, "a.bsa", &archive(&[("a.txt", "two")]));
    for file in ["a.txt", "b.txt"] {
        until("the change to be shown", || content(&mount.join(file)) == Ok("two".into()));
    }
    let which = dir.run(["which", "-v", "mnt/a.txt"]).success();
    assert!(which.contains(dir.path("a.bsa").to_str().unwrap()) && !which.contains(".."), "{which}");
    dir.run(["info", dir.path("a.bsa").to_str().unwrap()]).success();
}

/// A mount of the folder `mod` and of another source, with a log. Both have files.
fn beside(dir: &TestDir, other: &str) -> Mounted {
    fs::create_dir(dir.path("mod")).unwrap();
    for name in ["grown.dds", "cut.dds"] {
        fs::write(dir.path("mod").join(name), "old".repeat(20_000)).unwrap();
    }
    let mount = dir.mount(["--log-file", "log", "mod", other]);
    until_quiet(&mount);
    for name in ["grown.dds", "cut.dds"] {
        assert_eq!(content(&mount.join(name)).unwrap().len(), 60_000);
    }
    mount
}

/// Saves files in the folder `mod`, and waits until the mount shows exactly that.
fn assert_followed(dir: &TestDir, mount: &Mounted, nth: usize) {
    let files = [("grown.dds", 60_000), ("cut.dds", 30_000)];
    for (name, len) in files {
        fs::write(dir.path("mod").join(name), format!("new {nth}").repeat(len)).unwrap();
    }
    fs::write(dir.path(format!("mod/added {nth}")), "added").unwrap();
    until("the new file to be shown", || content(&mount.join(format!("added {nth}"))) == Ok("added".into()));
    for (name, len) in files {
        let right = format!("new {nth}").repeat(len);
        let is_right = || {
            let size = fs::metadata(mount.join(name)).unwrap().len();
            content(&mount.join(name)).is_ok_and(|it| it == right) && size == right.len() as u64
        };
        until("the saved file to be shown", is_right);
    }
}

/// The line of `bsafs status` and of `bsafs mounts` about sources, which must be the same.
fn odd_sources(dir: &TestDir) -> Option<String> {
    let odd = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("  odd ") && line.contains(" source"))?;
        Some(line.to_owned())
    };
    let of_status = || odd(&dir.run(["status", "mnt"]).success());
    loop {
        let before = of_status();
        let mounts = dir.run(["mounts"]).out;
        // A reload in between may change it.
        if of_status() != before {
            continue;
        }
        let begin = mounts.find(dir.path("mnt").to_str().unwrap()).unwrap();
        let of_mounts = mounts[begin..].lines().skip(1).take_while(|line| line.starts_with(' '));
        assert_eq!(odd(&of_mounts.collect::<Vec<_>>().join("\n")), before);
        return before;
    }
}

#[test]
fn a_source_that_is_gone_is_left_out_and_the_others_are_followed() {
    type Break = fn(&TestDir);
    let away: Break = |dir| fs::rename(dir.path("real"), dir.path("away")).unwrap();
    let relink = |dir: &TestDir, to: &str| {
        fs::remove_file(dir.path("mod2")).unwrap();
        symlink(to, dir.path("mod2")).unwrap();
    };
    let cases: [(&str, Break); 4] = [
        ("the target of the link is moved", away),
        ("the link leads to itself", |dir| {
            fs::remove_file(dir.path("mod2")).unwrap();
            symlink("mod2", dir.path("mod2")).unwrap();
        }),
        ("the link is removed", |dir| fs::remove_file(dir.path("mod2")).unwrap()),
        ("a folder on the way is replaced by a file", |dir| {
            fs::rename(dir.path("real"), dir.path("away")).unwrap();
            fs::write(dir.path("real"), "a file").unwrap();
        }),
    ];
    for (what, break_it) in cases {
        let dir = TestDir::new();
        fs::create_dir_all(dir.path("real/deep")).unwrap();
        fs::write(dir.path("real/deep/r.txt"), "real").unwrap();
        symlink("real/deep", dir.path("mod2")).unwrap();
        let mount = beside(&dir, "mod2");
        assert_eq!(content(&mount.join("r.txt")), Ok("real".into()));
        break_it(&dir);
        until(what, || content(&mount.join("R.txt")) == Err(ENOENT));
        assert_followed(&dir, &mount, 0);
        assert_followed(&dir, &mount, 1);
        until_quiet(&mount);
        let odd = odd_sources(&dir).unwrap_or_default();
        assert!(odd.contains("source that is gone") && odd.contains("mod2"), "{what}: {odd}");
        let log = fs::read_to_string(dir.path("log")).unwrap();
        assert_eq!(log.matches("mod2: it is gone").count(), 1, "{what}: {log}");
        if dir.path("away").exists() {
            if dir.path("real").exists() {
                fs::remove_file(dir.path("real")).unwrap();
            }
            fs::rename(dir.path("away"), dir.path("real")).unwrap();
        } else {
            let _ = fs::remove_file(dir.path("mod2"));
            symlink("gone", dir.path("mod2")).unwrap();
            relink(&dir, "real/deep");
        }
        until("the source to be back", || content(&mount.join("r.txt")) == Ok("real".into()));
        until_quiet(&mount);
        assert_eq!(odd_sources(&dir), None, "{what}");
    }
}

#[test]
fn an_archive_whose_folder_is_moved_is_left_out_and_comes_back() {
    let dir = TestDir::new();
    fs::create_dir(dir.path("archives")).unwrap();
    dir.archive("archives/a.bsa", &archive(&[("a.txt", "a")]));
    let mount = beside(&dir, "archives/a.bsa");
    fs::rename(dir.path("archives"), dir.path("away")).unwrap();
    until("the archive to be left out", || content(&mount.join("A.txt")) == Err(ENOENT));
    assert_followed(&dir, &mount, 0);
    fs::rename(dir.path("away"), dir.path("archives")).unwrap();
    until("the archive to be back", || content(&mount.join("a.txt")) == Ok("a".into()));
}

#[test]
fn a_profile_that_cannot_be_used_stays_as_it_was_and_the_rest_is_followed() {
    let dir = TestDir::new();
    for folder in ["other", "third"] {
        fs::create_dir(dir.path(folder)).unwrap();
        fs::write(dir.path(folder).join(format!("{folder}.txt")), folder).unwrap();
    }
    let good = "archives = ['other']\noptions = 'layout=union'\n";
    fs::write(dir.path("p.toml"), good).unwrap();
    let mount = beside(&dir, "p.toml");
    let broken =
        ["archives = ['other'", "archives = ['none-*.bsa']", "archives = ['other']\noptions = 'layout=x'"];
    for (nth, text) in broken.into_iter().enumerate() {
        replace(&dir, "p.toml", text.as_bytes());
        until("the profile to be read", || odd_sources(&dir).is_some());
        assert_followed(&dir, &mount, nth);
        assert_eq!(content(&mount.join("other.txt")), Ok("other".into()), "{text}");
        fs::write(dir.path("other/other.txt"), "other").unwrap();
        let odd = odd_sources(&dir).unwrap();
        assert!(odd.contains("source that cannot be opened now") && odd.contains("p.toml"), "{odd}");
        assert_eq!(status(&mount.path)["last_reload"]["is_failed"], true);
        replace(&dir, "p.toml", good.as_bytes());
        until("the profile to be right", || odd_sources(&dir).is_none());
    }
    replace(&dir, "p.toml", b"archives = ['third']");
    until("the other profile to be shown", || content(&mount.join("third.txt")) == Ok("third".into()));
    assert_eq!(content(&mount.join("other.txt")), Err(ENOENT));
    fs::remove_file(dir.path("p.toml")).unwrap();
    until("the profile to be left out", || content(&mount.join("third.txt")) == Err(ENOENT));
    assert_followed(&dir, &mount, 9);
    assert!(odd_sources(&dir).unwrap().contains("source that is gone"));
    replace(&dir, "p.toml", good.as_bytes());
    until("the profile to be back", || content(&mount.join("other.txt")) == Ok("other".into()));
}

#[test]
fn a_list_of_names_that_is_gone_or_unreadable_does_not_hold_back_the_rest() {
    let dir = TestDir::new();
    fs::create_dir(dir.path("mod")).unwrap();
    fs::write(dir.path("names.txt"), "a.txt\n").unwrap();
    fs::write(dir.path("p.toml"), "archives = ['mod']\noptions = 'names=names.txt'").unwrap();
    dir.run(["mount", "p.toml", "mnt"]).success();
    let mount = Mounted::at(&dir.path("mnt"), String::new());
    until_quiet(&mount);
    let breaks: [fn(&TestDir); 2] = [
        |dir| fs::remove_file(dir.path("names.txt")).unwrap(),
        // A folder cannot be read as a list, not even by root.
        |dir| fs::create_dir(dir.path("names.txt")).unwrap(),
    ];
    for (nth, (break_it, says)) in breaks.into_iter().zip(["gone", "cannot be opened"]).enumerate() {
        break_it(&dir);
        let name = format!("{nth}.txt");
        fs::write(dir.path("mod").join(&name), "new").unwrap();
        until("the new file to be shown", || content(&mount.join(&name)) == Ok("new".into()));
        until("the list to be named", || odd_sources(&dir).is_some_and(|odd| odd.contains(says)));
    }
    fs::remove_dir(dir.path("names.txt")).unwrap();
    fs::write(dir.path("names.txt"), "a.txt\n").unwrap();
    until("the list to be read", || odd_sources(&dir).is_none());
}

#[test]
fn a_source_below_a_folder_that_cannot_be_entered_stays_as_it_was_and_is_named_once() {
    let dir = TestDir::new();
    for (path, text) in [("up/mod.d/a.txt", "a"), ("good/f.txt", "first")] {
        fs::create_dir_all(dir.path(path).parent().unwrap()).unwrap();
        fs::write(dir.path(path), text).unwrap();
    }
    dir.give_to_user();
    // Root may enter any folder.
    let user = |program: &str, arguments: &[&str]| run(&mut dir.as_user(program, arguments));
    let bsafs = |arguments: &[&str]| run(&mut dir.bsafs_as_user(arguments)).success();
    bsafs(&["mount", "up/mod.d", "good", "mnt"]);
    let read = |name: &str| user("cat", &[&format!("mnt/{name}")]).out;
    assert_eq!(read("a.txt"), "a");
    let mode = |mode| fs::set_permissions(dir.path("up"), Permissions::from_mode(mode)).unwrap();
    for text in ["second", "third"] {
        mode(0o000);
        fs::write(dir.path("good/f.txt"), text).unwrap();
        fs::write(dir.path("good").join(text), text).unwrap();
        until("the other source to be followed", || read(text) == text && read("f.txt") == text);
        let named = format!("1 source that cannot be opened now ({})", dir.path("up/mod.d").display());
        let is_named = || run(&mut dir.bsafs_as_user(["mounts"])).out.contains(&named);
        until("the source to be named", is_named);
        assert_eq!(read("a.txt"), "a", "the source was left out");
        mode(0o755);
        let new = format!("new {text}");
        fs::write(dir.path("up/mod.d").join(&new), "new").unwrap();
        until("the source to be followed again", || read(&new) == "new");
        until("the note to go", || !is_named());
    }
    bsafs(&["umount", "mnt"]);
}
