//! What root and other users do not believe: what the daemon of another user says, and links that he made.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use bsafs::system::mountinfo;
use serde_json::json;

use super::{world, world_files};
use crate::fake_mount::{Answers, FakeMount, hostile_user};
use crate::mounted::{Mounted, TestDir, is_alive, is_root, mount_table, mounts_below, run, status};

/// A folder of the hostile user, in a folder of root's.
fn users_folder(dir: &TestDir, name: &str) -> PathBuf {
    fs::create_dir_all(dir.path(name)).unwrap();
    let (user, group) = hostile_user();
    let parts = Path::new(name).ancestors().filter(|path| !path.as_os_str().is_empty());
    parts.for_each(|path| chown(dir.path(path), Some(user), Some(group)).unwrap());
    dir.path(name)
}

#[test]
fn roots_unmount_counts_no_files_behind_the_links_of_a_user() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    fs::create_dir_all(dir.path("roots/secret")).unwrap();
    (0..7).for_each(|number| fs::write(dir.path(format!("roots/secret/{number}")), "").unwrap());
    let lower = users_folder(&dir, "users/.link.bsafs-work/lower");
    let other = users_folder(&dir, "users/.folder.bsafs-work/lower");
    let folder = users_folder(&dir, "users/folder");
    symlink(dir.path("roots"), dir.path("users/link")).unwrap();
    symlink(dir.path("roots"), folder.join("inside")).unwrap();
    // A name in the table that says there is an overlay, and one that does not.
    let answers = Answers { source: folder.to_str().unwrap().into(), ..Answers::default() };
    for lower in [lower, other] {
        let fake = FakeMount::start(&lower, &answers);
        let finished = dir.run([Path::new("umount"), &lower]);
        assert_eq!((finished.code, finished.out.as_str()), (0, ""), "{finished:?}");
        drop(fake);
    }
    // Root's own mount in such a place counts nothing behind links either.
    dir.archive("a.bsa", &world());
    for (name, said) in [("link", ""), ("folder", "so root does not count the files in it\n")] {
        let lower = dir.path(format!("users/.{name}.bsafs-work/lower"));
        let finished = dir.run([Path::new("mount"), "a.bsa".as_ref(), &lower]);
        assert_eq!(finished.code, 0, "{finished:?}");
        let ended = dir.run([Path::new("umount"), &lower]);
        assert_eq!(ended.code, 0, "{ended:?}");
        assert!(ended.out.ends_with(said) && (ended.out.is_empty() || !said.is_empty()), "{ended:?}");
    }
}

#[test]
fn the_mount_table_shows_only_the_name_of_a_source_that_others_may_read() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    fs::create_dir(dir.path("private folder")).unwrap();
    dir.archive("private folder/a.bsa", &world());
    dir.give_to_user();
    let shown = || {
        let (table, mountpoint) = (mount_table("mounts"), dir.path("mnt"));
        let line = table.lines().find(|line| line.split(' ').nth(1) == mountpoint.to_str()).unwrap();
        line.split(' ').next().unwrap().replace(r"\040", " ")
    };
    let source = dir.path("private folder/a.bsa").to_str().unwrap().to_owned();
    for (options, expected) in [
        ("ro", source.clone()),
        ("allow_other", "a.bsa".into()),
        ("allow_other,fsname=x", "x".into()),
        (&format!("fsname={source},allow_other"), source.clone()),
    ] {
        let mount = dir.mount(["private folder/a.bsa", "-o", options]);
        assert_eq!(shown(), expected, "{options}");
        if options == "allow_other" {
            let listed = run(&mut dir.bsafs_as_user(["mounts"])).success();
            assert!(!listed.contains("private folder"), "{listed}");
        }
        mount.umount(&dir);
    }
    let mount = dir.mount(["private folder", "-o", "allow_other"]);
    assert_eq!(shown(), "private folder");
    mount.umount(&dir);
}

/// A fake mount of the hostile user that every user may read, and that says what a real mount of `sources` by
/// the process `pid` would say.
fn lying(dir: &TestDir, mountpoint: &Path, sources: &[&Path], pid: u32) -> FakeMount {
    let mount = dir.mount(["a.bsa"]);
    let mut said = status(&mount.path);
    mount.umount(dir);
    said["pid"] = pid.into();
    let source = |path: &&Path| json!({"path": path, "identity": path});
    let sources: Vec<_> = sources.iter().map(source).collect();
    let copy = json!({"archive": "/forged", "stored_name": "x", "hash": "", "codec": "stored", "packed": 1});
    let which = json!({"path": "x.txt", "size": 4, "from": copy, "hides": [], "hides_more": 0});
    let answers = Answers {
        source: "/forged source".into(),
        allow_other: true,
        links: [
            (".bsafs:status".into(), said.to_string()),
            (".bsafs:sources:0".into(), json!({"sources": sources, "options": ""}).to_string()),
            (".bsafs:which:5:0".into(), format!("{which}  ")),
        ]
        .into(),
        files: [("x.txt".into(), "text".into())].into(),
        ..Answers::default()
    };
    FakeMount::start(mountpoint, &answers)
}

#[test]
fn root_opens_nothing_that_the_daemon_of_a_user_names() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let there = users_folder(&dir, "users/mnt");
    fs::create_dir(dir.path("roots")).unwrap();
    fs::write(dir.path("roots/secret"), "secret").unwrap();
    let fake = lying(&dir, &there, &[&dir.path("roots"), &dir.path("a.bsa")], 1);
    let name = there.to_str().unwrap();
    for arguments in [
        &["mount", name, "srv", "-o", "allow_other"][..],
        &["mount", "a.bsa", name, "srv"],
        &["list", name],
        &["extract", name, "-C", "out"],
        &["info", name],
        &["mount", "--save-profile=stolen", name, "srv"],
    ] {
        let finished = run(dir.bsafs(arguments).env("XDG_CONFIG_HOME", dir.path("config")));
        assert_eq!((finished.code, finished.out.as_str()), (77, ""), "{arguments:?}: {finished:?}");
        assert!(finished.err.contains("only mounts of root and your own stand for"), "{finished:?}");
        assert_eq!(mounts_below(&dir.path("")), vec![there.clone()], "{arguments:?}");
    }
    assert!(!dir.path("out").exists() && !dir.path("config").exists());
    drop(fake);
}

#[test]
fn a_mount_of_a_user_that_took_the_place_of_roots_is_not_asked_in_its_stead() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mountpoint = users_folder(&dir, "users/mnt");
    let answer = |identity: String| dir.run(["status", "--json", "--direct", &identity, "--", "users/mnt"]);
    let identity = |user: u32| format!("{},{user}", mountinfo::mounted_at(&mountpoint).unwrap().device);
    let mounted = Mounted::at(&mountpoint, dir.run(["mount", "a.bsa", "users/mnt"]).success());
    assert_eq!(answer(identity(0)).code, 0);
    assert_ne!(answer("0:1,0".into()).code, 0);
    drop(mounted);
    let fake = lying(&dir, &mountpoint, &[Path::new("/root")], 1);
    // As if it had the number of root's mount.
    let asked = answer(identity(0));
    assert!(asked.code != 0 && asked.out.is_empty(), "{asked:?}");
    assert!(answer(identity(hostile_user().0)).out.contains("/root"));
    drop(fake);
}

#[test]
fn what_the_daemon_of_another_user_says_is_shown_as_his_claim() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let there = users_folder(&dir, "users/mnt");
    let _fake = lying(&dir, &there, &[Path::new("/forged")], 1);
    let user = hostile_user().0;
    let claim = format!("  owner      user {user}, whose daemon says:\n");
    let mounts = dir.run(["mounts"]);
    let shown = format!("{}\n{claim}  sources    /forged\n", there.display());
    assert!(mounts.out.contains(&shown), "{mounts:?}");
    let (path, file) = (there.to_str().unwrap(), there.join("x.txt"));
    assert!(dir.run(["status", path]).success().contains(&claim));
    let asked = fs::metadata(&file).unwrap().ino();
    assert_eq!(asked, 5, "the fake mount answers for another file");
    let which = dir.run(["which", file.to_str().unwrap()]).success();
    assert!(which.ends_with(&format!("  says the daemon of user {user}\n")), "{which}");
    for arguments in [&["mounts", "--json"][..], &["status", "--json", path], &["which", "--json", path]] {
        let mut arguments = arguments.to_vec();
        if arguments[0] == "which" {
            arguments[2] = file.to_str().unwrap();
        }
        let lines = dir.run(&arguments).success();
        let is_claim = |line: &str| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            line["claimed_by"] == user && line.to_string().contains("/forged")
        };
        assert!(lines.lines().any(is_claim), "{arguments:?}: {lines}");
    }
    // What the user himself asks is no claim.
    let own = run(Command::new(env!("CARGO_BIN_EXE_bsafs")).args(["status", "--json", path]).uid(user));
    assert!(own.code != 0 || !own.out.contains("claimed_by"), "{own:?}");
}

/// Sets each number in a status to the largest one.
fn with_largest_numbers(status: &mut serde_json::Value) {
    match status {
        serde_json::Value::Object(fields) => fields.iter_mut().for_each(|(name, value)| match &**name {
            "pid" | "views" => *value = u32::MAX.into(),
            _ => with_largest_numbers(value),
        }),
        serde_json::Value::Array(values) => values.iter_mut().for_each(with_largest_numbers),
        serde_json::Value::Number(number) => *number = u64::MAX.into(),
        serde_json::Value::Bool(is_set) => *is_set = true,
        _ => {}
    }
}

#[test]
fn the_numbers_that_the_daemon_of_a_user_reports_end_no_command() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mount = dir.mount(["a.bsa"]);
    let mut said = status(&mount.path);
    mount.umount(&dir);
    with_largest_numbers(&mut said);
    said["requests"] = json!({"lookup": u64::MAX, "read": u64::MAX});
    let there = users_folder(&dir, "users/mnt");
    let answers = Answers {
        source: "forged".into(),
        links: [
            (".bsafs:status".into(), said.to_string()),
            (".bsafs:sources:0".into(), json!({"sources": [], "options": ""}).to_string()),
        ]
        .into(),
        ..Answers::default()
    };
    let _fake = FakeMount::start(&there, &answers);
    let name = there.to_str().unwrap();
    for arguments in [&["status", name][..], &["status", "--json", name], &["mounts"], &["mounts", "--json"]]
    {
        let said = run(&mut dir.bsafs(arguments));
        assert!(said.code == 0 && said.out.contains(&u64::MAX.to_string()), "{arguments:?}: {said:?}");
    }
    let reloaded = dir.run(["reload", name]);
    assert!(reloaded.code == 74 && !reloaded.err.contains("panicked"), "{reloaded:?}");
}

#[test]
fn the_daemon_of_a_user_catches_no_unmount_and_blames_no_process() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let there = users_folder(&dir, "users/mnt");
    let _fake = lying(&dir, &there, &[&dir.path("a.bsa")], 1);
    let mount = dir.mount(["a.bsa"]);
    // The name means root's own mount, although two daemons name the source.
    dir.run(["umount", "a.bsa"]).success();
    mount.wait_for_end();
    assert_eq!(mounts_below(&dir.path("")), vec![there.clone()]);
    let none = dir.run(["umount", "a.bsa"]);
    assert_eq!(none.code, 66, "{none:?}");
    assert_eq!(mounts_below(&dir.path("")), vec![there.clone()]);
    // Process 1 runs, but it is not the daemon, so nobody waits for it or blames it.
    let ended = dir.run([Path::new("umount"), &there]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{ended:?}");
    assert!(mounts_below(&dir.path("")).is_empty());
}

#[test]
fn no_process_gets_a_signal_because_the_daemon_of_a_user_names_it() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let (user, group) = hostile_user();
    // Of root and of the user, with a name that contains the program's. SIGUSR1 ends them.
    let start = |user| {
        let mut sleep = Command::new("sleep");
        sleep.arg0("bsafs").arg("1000").uid(user).gid(group).spawn().unwrap()
    };
    for owner in [0, user] {
        let mut victim = start(owner);
        let there = users_folder(&dir, "users/mnt");
        let fake = lying(&dir, &there, &[Path::new("/forged")], victim.id());
        let finished = dir.run([Path::new("reload"), &there]);
        let is_there = victim.try_wait().unwrap().is_none();
        victim.kill().unwrap();
        victim.wait().unwrap();
        assert!(is_there, "the process of user {owner} got the signal");
        assert_eq!(finished.code, 74, "{finished:?}");
        assert!(finished.err.contains("does not prove to be the daemon"), "{finished:?}");
        drop(fake);
    }
}

#[test]
fn root_and_the_user_reload_a_mount_that_root_made_for_the_user() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    dir.give_to_user();
    fs::create_dir(dir.path("mnt")).unwrap();
    let mount = dir.mount(["a.bsa", "-o", "setuid=nobody,allow_other"]);
    let said = format!("mnt: nothing changed (says the daemon of user {})\n", hostile_user().0);
    assert_eq!(dir.run(["reload", "mnt"]).success(), said);
    assert_eq!(run(&mut dir.bsafs_as_user(["reload", "mnt"])).success(), "mnt: nothing changed\n");
    assert!(mount.read("readme.txt") == world_files()[4].1 && is_alive(mount.pid));
    mount.umount(&dir);
}
