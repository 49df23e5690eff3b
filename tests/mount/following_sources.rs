//! Changes of what a mount is made of that are no change of the files in it: links, profiles, spellings, and archives that
//! stay as they are.

use std::fs;
use std::os::unix::fs::symlink;

use super::following::{ENOENT, archive, content, replace, until_later};
use crate::mounted::{Mounted, TestDir, status, until};

#[test]
fn what_is_removed_from_a_folder_that_is_respelled_at_once_is_gone_under_every_spelling() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &archive(&[("Textures\\low\\a.txt", "a"), ("Textures\\low\\b.txt", "b")]));
    let mount = dir.mount(["a.bsa", "-o", "static"]);
    let folders = ["Textures", "textures", "TEXTURES", "tEXTURES"];
    let read = |name: &str| folders.map(|folder| content(&mount.join(format!("{folder}/low/{name}"))));
    let all = |text: &str| [(); 4].map(|()| Ok(text.to_owned()));
    assert_eq!((read("a.txt"), read("b.txt")), (all("a"), all("b")));
    replace(&dir, "a.bsa", &archive(&[("textures\\LOW\\b.txt", "b2")]));
    dir.run(["reload", "mnt"]).sound();
    assert_eq!((read("a.txt"), read("b.txt")), ([(); 4].map(|()| Err(ENOENT)), all("b2")));
    replace(&dir, "a.bsa", &archive(&[("textures\\c.txt", "c")]));
    dir.run(["reload", "mnt"]).sound();
    for folder in folders {
        assert_eq!(content(&mount.join(folder).join("low")), Err(ENOENT), "{folder}");
    }
}

/// What a change that is followed leaves behind is followed, too, once the mount has been quiet.
fn until_quiet(mount: &Mounted) {
    let count = || status(&mount.path)["last_reload"]["count"].as_u64();
    let mut last = (count(), std::time::Instant::now());
    until("it is quiet", || {
        last = if count() == last.0 { last } else { (count(), std::time::Instant::now()) };
        last.1.elapsed().as_millis() > 700
    });
}

#[test]
fn a_link_that_leads_elsewhere_is_followed_and_so_is_what_happens_there() {
    let dir = TestDir::new();
    for version in ["v1", "v2"] {
        fs::create_dir_all(dir.path(format!("{version}/sub"))).unwrap();
        fs::write(dir.path(format!("{version}/sub/a.txt")), version).unwrap();
    }
    // By two links, one of them in a folder that has no other part in it.
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
    until("it is followed", || content(&mount.join("sub/a.txt")) == Ok("v2".into()));
    until_quiet(&mount);
    fs::write(dir.path("v2/sub/b.txt"), "b").unwrap();
    until("it is followed", || content(&mount.join("sub/b.txt")) == Ok("b".into()));
}

#[test]
fn a_folder_far_above_the_source_that_is_another_one_is_followed() {
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
    until("it is followed", || content(&mount.join("a.txt")) == Ok("two".into()));
    until_quiet(&mount);
    fs::write(dir.path("disk/games/mod/b.txt"), "b").unwrap();
    until("it is followed", || content(&mount.join("b.txt")) == Ok("b".into()));
}

#[test]
fn an_archive_that_a_profile_names_is_followed_where_it_is_gone_or_cannot_be_read() {
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
    dir.run(["mount", "profile/p.toml"]).sound();
    let mount = Mounted::at(&dir.path("mnt"), String::new());
    until_quiet(&mount);
    fs::remove_file(dir.path("archives/a.bsa")).unwrap();
    until("it is followed", || content(&mount.join("a.txt")) == Err(ENOENT));
    until_quiet(&mount);
    replace(&dir, "archives/a.bsa", &a);
    until("it is followed", || content(&mount.join("a.txt")) == Ok("a".into()));
    until_quiet(&mount);
    fs::write(dir.path("others/b.bsa"), &b[..20]).unwrap();
    profile("'../archives/a.bsa', '../others/b.bsa'");
    until("it is tried", || status(&mount.path)["last_reload"]["is_failed"] == true);
    until_quiet(&mount);
    fs::write(dir.path("others/b.bsa"), &b).unwrap();
    until("it is followed", || content(&mount.join("b.txt")) == Ok("b".into()));
}

#[test]
fn an_archive_that_stays_cut_off_is_taken_as_it_is_while_others_are_written_to() {
    let dir = TestDir::new();
    let bytes = |text: &str| archive(&[("a.txt", text), ("z.txt", &text.repeat(100))]);
    dir.archive("a.bsa", &bytes("one"));
    fs::create_dir(dir.path("mod")).unwrap();
    let mount = dir.mount(["a.bsa", "mod"]);
    let new = bytes("two");
    replace(&dir, "a.bsa", &new[..new.len() - 10]);
    let mut writes = 0;
    until("it is taken", || {
        writes += 1;
        fs::write(dir.path("mod/log.txt"), writes.to_string()).unwrap();
        content(&mount.join("a.txt")) == Ok("two".into())
    });
}

#[test]
fn a_source_that_a_link_leads_to_below_the_mount_is_not_taken_for_the_mount() {
    let dir = TestDir::new();
    fs::create_dir(dir.path("mnt")).unwrap();
    fs::write(dir.path("mnt/a.txt"), "below").unwrap();
    symlink("mnt", dir.path("link")).unwrap();
    fs::create_dir(dir.path("mod")).unwrap();
    let mount = dir.mount(["-o", "nonempty", "link", "mod"]);
    fs::write(dir.path("mod/b.txt"), "b").unwrap();
    until_later(&mount, 0);
    assert_eq!(content(&mount.join("a.txt")), Ok("below".into()));
    assert_eq!(content(&mount.join("b.txt")), Ok("b".into()));
}

#[test]
fn a_file_that_is_changed_by_another_of_its_names_is_shown_once_somebody_reads_it() {
    let dir = TestDir::new();
    fs::create_dir(dir.path("mod")).unwrap();
    fs::create_dir(dir.path("staging")).unwrap();
    fs::write(dir.path("staging/a.txt"), "one").unwrap();
    fs::hard_link(dir.path("staging/a.txt"), dir.path("mod/a.txt")).unwrap();
    let mount = dir.mount(["mod"]);
    assert_eq!(fs::metadata(mount.join("a.txt")).unwrap().len(), 3);
    // Not seen by who watches the folder.
    fs::write(dir.path("staging/a.txt"), "other").unwrap();
    until("the read that fails has it looked at", || content(&mount.join("A.TXT")) == Ok("other".into()));
}
