//! Daemons of another user that answer some requests and never others. A process that waits for such an
//! answer cannot be killed. So a command must not wait itself.

use std::fs::{self, File};
use std::os::unix::fs::{chown, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use serde_json::json;

use super::world;
use crate::fake_mount::{Answers, FakeMount, hostile_user};
use crate::mounted::{Finished, Mounted, TestDir, is_root, mounts_below, run, status, unmount_lazily, until};

/// How long a command may take. Each waits for a few seconds.
const LIMIT: Duration = Duration::from_secs(20);

/// A fake mount on `theirs/mnt`, which says that it is a mount of bsafs, and never answers `mute`.
fn mute(dir: &TestDir, mute: &[&str]) -> FakeMount {
    let mute = mute.iter().map(|&name| name.to_owned()).collect();
    fake(dir, "theirs/mnt", &Answers { mute, ..answers(dir) })
}

/// What a mount of bsafs answers.
fn answers(dir: &TestDir) -> Answers {
    dir.archive("a.bsa", &world());
    let mount = dir.mount(["a.bsa"]);
    let said = status(&mount.path).to_string();
    mount.umount(dir);
    Answers {
        source: "mute".into(),
        // Others need not see it if they are its user.
        allow_other: is_root(),
        links: [
            (".bsafs:status".into(), said),
            (".bsafs:sources:0".into(), json!({"sources": [], "options": ""}).to_string()),
        ]
        .into(),
        ..Answers::default()
    }
}

/// A fake mount on a folder in `theirs`.
fn fake(dir: &TestDir, mountpoint: &str, answers: &Answers) -> FakeMount {
    fs::create_dir_all(dir.path(mountpoint)).unwrap();
    let (user, group) = hostile_user();
    for path in ["theirs", mountpoint] {
        chown(dir.path(path), Some(user), Some(group)).unwrap();
    }
    FakeMount::start(&dir.path(mountpoint), answers)
}

fn timed(dir: &TestDir, arguments: &[&str]) -> Finished {
    let began = Instant::now();
    let finished = dir.run(arguments);
    assert!(began.elapsed() < LIMIT, "{arguments:?} took {:?}", began.elapsed());
    finished
}

#[test]
fn a_daemon_that_reports_its_status_but_no_changes_does_not_hang_watch() {
    let dir = TestDir::new();
    let _fake = mute(&dir, &[".bsafs:changes"]);
    let watched = timed(&dir, &["watch", "theirs/mnt"]);
    assert!(watched.code == 74 && watched.err.contains("does not answer"), "{watched:?}");
}

#[test]
fn a_daemon_that_answers_no_lookup_does_not_hang_the_tab_key() {
    let dir = TestDir::new();
    let _fake = mute(&dir, &["textures"]);
    let found = timed(&dir, &["complete", "bash", "bsafs list theirs/mnt/textures/"]).success();
    assert_eq!(found, "");
}

#[test]
fn a_daemon_that_does_not_say_whether_it_is_alive_does_not_hang_a_mount_over_it() {
    let dir = TestDir::new();
    dir.give_to_user();
    if is_root() {
        chown(dir.path(""), Some(0), None).unwrap();
    }
    let _fake = mute(&dir, &["statfs"]);
    let began = Instant::now();
    let refused = run(&mut dir.bsafs_as_user(["mount", "a.bsa", "theirs/mnt"]));
    assert!(began.elapsed() < LIMIT, "it took {:?}", began.elapsed());
    assert!(refused.code == 73 && refused.err.contains("already mounted there"), "{refused:?}");
}

#[test]
fn hundreds_of_mounts_of_a_user_that_do_not_answer_cost_no_more_time_than_one() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    let fake = mute(&dir, &[".bsafs:status"]);
    let copies: Vec<_> = (0..400).map(|number| dir.path(format!("copies/{number}"))).collect();
    for copy in &copies {
        fs::create_dir_all(copy).unwrap();
        rustix::mount::mount_bind(&fake.mountpoint, copy).unwrap();
    }
    let listed = std::panic::catch_unwind(|| timed(&dir, &["mounts"]));
    let ended = timed(&dir, &["umount", "--all", "--below", "copies", "--lazy"]);
    copies.iter().filter(|copy| mounts_below(copy).contains(copy)).for_each(|copy| unmount_lazily(copy));
    let listed = listed.expect("the listing took too long").success();
    assert!(listed.contains("another mount of user"), "{listed}");
    assert!(ended.code == 0, "{ended:?}");
}

#[test]
fn daemons_of_a_user_that_stay_after_their_mounts_cost_no_more_time_than_one() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    let answers = Answers { stays: true, ..answers(&dir) };
    let fakes: Vec<_> = (0..6).map(|number| fake(&dir, &format!("theirs/{number}"), &answers)).collect();
    let ended = timed(&dir, &["umount", "--all", "--below", "theirs"]);
    assert!(ended.err.contains("still runs") && fakes.len() == 6, "{ended:?}");
    assert_eq!(mounts_below(&dir.path("theirs")), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_user_who_locks_a_folder_keeps_nobody_else_from_mounting_there() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    fs::create_dir_all(dir.path("below")).unwrap();
    fs::create_dir(dir.path("mnt")).unwrap();
    let (user, group) = hostile_user();
    let locked: Vec<_> = ["below", "mnt"]
        .map(|name| {
            let script = format!("exec flock {name} cat");
            let mut command = Command::new("setpriv");
            let ids = [format!("--reuid={user}"), format!("--regid={group}")];
            command.args(ids).args(["--clear-groups", "sh", "-c", &script]).current_dir(dir.path(""));
            command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
        })
        .into();
    let is_locked = |name: &str| {
        let folder = File::open(dir.path(Path::new(name))).unwrap();
        rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive).is_err()
    };
    until("the folders to be locked", || is_locked("below") && is_locked("mnt"));
    timed(&dir, &["mount", "a.bsa", "mnt"]).success();
    timed(&dir, &["umount", "mnt"]).success();
    let opened = run(dir.bsafs(["open", "a.bsa"]).env("BSAFS_OPEN_BELOW", dir.path("below")));
    assert_eq!(mounts_below(&dir.path("below")).len(), 1, "{opened:?}");
    timed(&dir, &["umount", "--all", "--below", "below"]).success();
    for mut process in locked {
        drop(process.stdin.take());
        process.wait().unwrap();
    }
}

#[test]
fn a_link_into_a_mount_of_a_user_that_never_answers_hangs_nobody() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    let fake = mute(&dir, &["statfs", "inner", "Data", "x.ini", "SkyrimSE.exe"]);
    let there = |name: &str| dir.path("theirs/mnt").join(name);
    for folder in ["mods/sub", "game/Data"] {
        fs::create_dir_all(dir.path(folder)).unwrap();
    }
    fs::write(dir.path("mods/sub/file.txt"), "").unwrap();
    symlink(there(""), dir.path("mods/link")).unwrap();
    symlink(there("inner"), dir.path("mods/sub/deep")).unwrap();
    // The search for a game near a folder looks at more.
    symlink(there("SkyrimSE.exe"), dir.path("game/SkyrimSE.exe")).unwrap();
    symlink(there("inner"), dir.path("game/Data/inner")).unwrap();
    let openmw = format!("data=\"{}\"\nconfig=\"{}\"\n", there("Data").display(), there("inner").display());
    let around = there("inner").join("../x");
    let openmw = format!("{openmw}data=\"{0}\"\nconfig=\"{0}\"\n", around.display());
    fs::write(dir.path("openmw.cfg"), openmw).unwrap();
    for source in ["mods", "game", "openmw.cfg", "."] {
        for command in ["list", "order"] {
            timed(&dir, &[command, source]);
        }
    }
    assert_eq!(timed(&dir, &["list", "mods"]).out, "sub/file.txt\n");
    let extracted = timed(&dir, &["extract", "mods", "-C", "out"]);
    assert!(extracted.code == 1 && dir.path("out/sub/file.txt").exists(), "{extracted:?}");
    let mounted = timed(&dir, &["mount", "mods", "mnt"]);
    assert!(mounted.out.contains("on another mount"), "{mounted:?}");
    let mount = Mounted::at(&dir.path("mnt"), mounted.out);
    // One that comes later does not stop the daemon.
    symlink(there("inner"), dir.path("mods/sub/later")).unwrap();
    fs::write(dir.path("mods/sub/new.txt"), "").unwrap();
    until("the new file", || mount.path.join("sub/new.txt").exists());
    timed(&dir, &["reload", "mnt"]);
    mount.umount(&dir);
    drop(fake);
}

#[test]
fn a_profile_that_names_a_mount_of_a_user_that_never_answers_hangs_nobody() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    let _fake = mute(&dir, &["a.bsa", "inner", "statfs"]);
    let there = |name: &str| dir.path("theirs/mnt").join(name).display().to_string();
    dir.own_profile("works.toml", "archives = ['../../a.bsa']");
    symlink(dir.path("theirs/mnt/inner"), dir.path("link")).unwrap();
    let around = format!("{}/link/../inner", dir.path("").display());
    let of_options = ["names", "ini", "plugins", "prefix", "game_dir", "edit"]
        .map(|name| format!("archives = ['../../a.bsa']\noptions = '{name}={}'", there("inner")));
    for text in [
        format!("archives = ['../../a.bsa', '{}']", there("a.bsa")),
        format!("archives = ['{}']", there("inner")),
        format!("archives = ['{}/*.bsa']", there("inner")),
        format!("archives = ['*.bsa']\nfolder = '{}'", there("")),
        format!("archives = ['{around}/x.bsa']"),
        "archives = ['../../link/x.bsa']".to_owned(),
        format!("archives = ['../../a.bsa']\nmountpoint = '{}'", there("inner")),
    ]
    .iter()
    .chain(&of_options)
    {
        dir.own_profile("p.toml", text);
        for command in [&["mount", "p", "mnt"][..], &["list", "p"], &["open", "p"], &["verify", "p"]] {
            let began = Instant::now();
            let refused = dir.run_own(command);
            assert!(began.elapsed() < LIMIT, "{command:?} took {:?}: {text}", began.elapsed());
            let says_why = refused.err.contains("in a FUSE mount of another user");
            assert!(refused.code == 77 && says_why, "{text}: {command:?}: {refused:?}");
        }
        let began = Instant::now();
        dir.run_own(["complete", "bash", "bsafs cat p "]);
        assert!(began.elapsed() < LIMIT, "the Tab key took {:?}: {text}", began.elapsed());
    }
    // Others go on.
    assert_eq!(dir.run_own(["list", "works"]).code, 0);
}
