//! Tests of `bsafs mounts`, and of `bsafs umount` for sources and for all mounts. `bsafs mounts`
//! may also list mounts of other tests.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::Signal;
use serde_json::Value;

use super::world;
use crate::mounted::{
    DROP_OTHER_MOUNTS, TestDir, finish, is_alive, is_root, mounts_below, run, signal, stop, until,
};
use crate::support::Tes3;

/// The line of one mount in the output of `bsafs mounts --json`.
fn line(dir: &TestDir, mountpoint: &Path) -> Value {
    let out = dir.run(["mounts", "--json"]).success();
    let lines = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut ours = lines.filter(|line| line["mountpoint"].as_str() == mountpoint.to_str());
    ours.next().unwrap_or_else(|| panic!("{} is not among\n{out}", mountpoint.display()))
}

#[test]
fn a_mount_is_listed_with_its_sources_and_its_start_time() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    dir.archive("b %.bsa", &Tes3::new().file("b.txt", b"b").build());
    let mount = dir.mount(["b %.bsa", "a.bsa"]);
    let line = line(&dir, &mount.path);
    let sources = ["b %.bsa", "a.bsa"].map(|name| dir.path(name).to_str().unwrap().to_owned());
    assert_eq!(line["sources"], Value::from(sources.to_vec()));
    assert_eq!((line["state"].as_str(), line["pid"].as_i64()), (Some("alive"), Some(mount.pid.into())));
    assert_eq!((line["files"].as_u64(), line["archives"].as_u64()), (Some(6), Some(2)));
    assert_eq!(line["uid"].as_u64(), Some(rustix::process::getuid().as_raw().into()));
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    assert!((now - 120..=now).contains(&line["since"].as_u64().unwrap()), "{line}");
    let text = dir.run(["mounts"]).success();
    let shown = format!(
        "{}\n  sources    {}\n  holds      6 files in 2 archives\n",
        mount.path.display(),
        sources.join(", ")
    );
    assert!(text.contains(&shown), "{text}");
    let status = dir.run(["status", "mnt"]).success();
    assert!(status.contains(&format!("sources    {}\n", sources.join(", "))), "{status}");
}

#[test]
fn mounts_lists_more_sources_than_fit_into_a_link() {
    let dir = TestDir::new();
    let names: Vec<String> = (0..100).map(|n| format!("{n:03} {}.bsa", "x".repeat(60))).collect();
    for name in &names {
        dir.archive(name, &Tes3::new().file("b.txt", b"b").build());
    }
    let mount = dir.mount(&names);
    let line = line(&dir, &mount.path);
    let all: Vec<Value> = names.iter().map(|name| dir.path(name).to_str().unwrap().into()).collect();
    assert_eq!(line["sources"], Value::from(all));
}

#[test]
fn the_processes_that_use_a_mount_are_listed_with_their_uses() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mount = dir.mount(["a.bsa"]);
    let mut command = Command::new("sh");
    command.args(["-c", "exec 3<readme.txt 4<textures/sky.dds; echo open; read answer"]);
    command.current_dir(&mount.path).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut holder = command.spawn().unwrap();
    std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut [0; 5]).unwrap();
    let found = line(&dir, &mount.path);
    let text = dir.run(["mounts"]).success();
    let pid = holder.id();
    drop(holder.stdin.take());
    finish(holder);
    let process = found["processes"].as_array().unwrap().iter().find(|it| it["pid"] == pid).cloned();
    let process = process.unwrap_or_else(|| panic!("{found}"));
    assert_eq!(process["name"], "sh");
    assert_eq!(process["uses"], serde_json::json!({ "current_folder": 1, "open_file": 2 }));
    assert!(
        text.contains(&format!("used by    sh (process {pid}: current folder, 2 open files)\n")),
        "{text}"
    );
    // The process has ended. Others may still be listed, because children of other tests may have
    // inherited files.
    let line = line(&dir, &mount.path);
    assert!(!line["processes"].as_array().unwrap().iter().any(|it| it["pid"] == pid), "{line}");
}

#[test]
fn dead_and_hanging_mounts_are_listed_in_limited_time() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mount = dir.mount(["a.bsa"]);
    dir.run(["mount", "a.bsa", "dead"]).success();
    let dead = crate::mounted::Mounted::at(&dir.path("dead"), String::new());
    signal(dead.pid, Signal::KILL);
    dead.wait_for_end();
    stop(mount.pid);
    let began = Instant::now();
    let states = [&mount.path, &dead.path].map(|path| line(&dir, path)["state"].clone());
    let text = dir.run(["mounts"]).success();
    let took = began.elapsed();
    let mut finished = None;
    until("the mount of a stopped daemon to end", || {
        // Tests that run at the same time also ask this daemon, and keep its mount busy meanwhile.
        finished = Some(dir.run(["umount", "mnt"])).filter(|finished| !finished.err.contains("busy"));
        finished.is_some()
    });
    signal(mount.pid, Signal::CONT);
    let (finished, pid) = (finished.unwrap(), mount.pid);
    let hangs = format!(
        "bsafs: mnt: unmounted, but the daemon (process {pid}) hangs and still runs; if it was stopped, \
         `kill -CONT {pid}` lets it end; otherwise run `kill -KILL {pid}`\n"
    );
    assert_eq!((finished.code, finished.err), (73, hangs));
    assert_eq!(states, ["hangs", "dead"]);
    assert!(took < Duration::from_secs(40), "{took:?}");
    let advice = format!("the daemon has ended; run `bsafs umount {}`\n", dead.path.display());
    assert!(text.contains(&advice) && text.contains("does not answer within 3 s"), "{text}");
    assert_eq!(dir.run(["status", "dead"]).code, 69);
    assert_eq!(dir.run(["umount", "dead"]).success(), "");
    mount.wait_for_end();
    assert!(mounts_below(&dir.path("")).is_empty() && !dir.path("dead").exists());
}

#[test]
fn a_lazy_unmount_warns_that_the_daemon_hangs() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mount = dir.mount(["a.bsa"]);
    stop(mount.pid);
    let finished = dir.run(["umount", "-z", "mnt"]);
    signal(mount.pid, Signal::CONT);
    assert_eq!(finished.code, 0, "{finished:?}");
    let hangs = format!("bsafs: warn: mnt: unmounted, but the daemon (process {}) hangs", mount.pid);
    assert!(finished.err.starts_with(&hangs), "{finished:?}");
    mount.wait_for_end();
}

#[test]
fn umount_prefers_a_mountpoint_to_the_game_of_the_same_name() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    dir.run(["mount", "a.bsa", "skyrim"]).success();
    assert_eq!(dir.run(["umount", "skyrim"]).success(), "");
    assert!(mounts_below(&dir.path("")).is_empty());
}

#[test]
fn umount_finds_a_mount_by_its_name_or_the_name_of_its_source_from_any_folder() {
    let dir = TestDir::new();
    fs::create_dir_all(dir.path("deep/elsewhere")).unwrap();
    // Other tests have mounts of their own, so the names are unusual.
    dir.archive("deep/By Name 1.bsa", &world());
    let umount = |name: &str| run(dir.bsafs(["umount", name]).current_dir(dir.path("deep/elsewhere")));
    for name in ["By Name 1.bsa", "by-name-2"] {
        dir.run(["mount", "deep/By Name 1.bsa", "by-name-2"]).success();
        assert_eq!(umount(name).success(), "", "{name}");
        assert!(mounts_below(&dir.path("")).is_empty());
    }
    dir.run(["mount", "deep/By Name 1.bsa", "by-name-2"]).success();
    dir.run(["mount", "deep/By Name 1.bsa", "by-name-3"]).success();
    assert!(umount("By Name 1.bsa").err.contains("mounted more than once"));
    // A file of this name in the current folder is another one.
    fs::write(dir.path("deep/elsewhere/by-name-2"), "").unwrap();
    assert_eq!(umount("by-name-2").code, 66);
    assert_eq!(umount("by-name-3").success(), "");
    dir.run(["umount", "by-name-2"]).success();
}

#[test]
fn umount_of_an_archive_needs_it_to_be_mounted_only_once() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    dir.archive("b.bsa", &world());
    let mount = dir.mount(["a.bsa"]);
    dir.run(["mount", "a.bsa", "b.bsa", "two"]).success();
    let refused = dir.run(["umount", "a.bsa"]);
    assert_eq!(refused.code, 2);
    let paths = format!("\n  {}\n  {}\n", dir.path("mnt").display(), dir.path("two").display());
    assert!(refused.err.ends_with(&paths), "{refused:?}");
    assert_eq!(dir.run(["umount", "b.bsa"]).success(), "");
    assert_eq!(mounts_below(&dir.path("")), vec![mount.path.clone()]);
    assert_eq!(dir.run(["umount", "a.bsa"]).success(), "");
    assert!(!is_alive(mount.pid));
    let none = dir.run(["umount", "a.bsa"]);
    assert_eq!((none.code, none.err.contains("`bsafs mounts` lists ")), (66, true), "{none:?}");
}

#[test]
fn umount_all_continues_after_a_busy_mount_and_fails() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    fs::create_dir(dir.path("x")).unwrap();
    for name in ["x/one", "x/two", "x/three", "beside"] {
        dir.run(["mount", "a.bsa", name]).success();
    }
    let open = File::open(dir.path("x/two/readme.txt")).unwrap();
    let finished = dir.run(["umount", "--all", "--below", "x"]);
    assert_eq!(finished.code, 73, "{finished:?}");
    assert!(finished.err.contains("x/two: ") && finished.err.lines().count() == 1, "{finished:?}");
    assert_eq!(mounts_below(&dir.path("")), [dir.path("beside"), dir.path("x/two")]);
    drop(open);
    until("umount --all to succeed", || dir.run(["umount", "-a", "--below", "x"]).code == 0);
    assert_eq!(mounts_below(&dir.path("")), [dir.path("beside")]);
    assert_eq!(dir.run(["umount", "--all", "mnt"]).code, 2);
}

#[test]
fn umount_all_ends_every_mount_in_a_namespace() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let program = env!("CARGO_BIN_EXE_bsafs");
    let script = format!(
        "{DROP_OTHER_MOUNTS}; mkdir two; '{program}' -q mount a.bsa one; \
         '{program}' -q mount a.bsa two; mount --bind two/textures /mnt; \
         '{program}' mounts | grep -c holds; '{program}' umount --all && '{program}' mounts; ls"
    );
    let mut shell = Command::new("unshare");
    let finished = run(shell.args(["-m", "sh", "-c", &script]).current_dir(dir.path("")));
    assert_eq!((finished.out.as_str(), finished.err.as_str()), ("3\nnothing is mounted\na.bsa\ntwo\n", ""));
}

#[test]
fn the_mount_of_another_user_is_listed_and_only_they_and_root_end_it() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    dir.give_to_user();
    let user = fs::metadata(dir.path("")).unwrap().uid();
    let give = |user| std::os::unix::fs::chown(dir.path(""), Some(user), None).unwrap();
    give(0);
    let mount = dir.mount(["a.bsa"]);
    give(user);
    run(&mut dir.bsafs_as_user(["mount", "a.bsa", "theirs"])).success();
    // Root asks the daemon as the user, because only that user may access the mount.
    assert_eq!(line(&dir, &dir.path("theirs"))["state"], "alive");
    let out = run(&mut dir.bsafs_as_user(["mounts"])).success();
    assert!(
        out.contains(&format!(
            "{}\n  sources    {}\n  owner      user 0; for more, run as",
            mount.path.display(),
            dir.path("a.bsa").display()
        )),
        "{out}"
    );
    let refused = run(&mut dir.bsafs_as_user(["umount", mount.path.to_str().unwrap()]));
    assert!(refused.code == 77 && mount.is_mounted(), "{refused:?}");
    assert!(
        refused.err.ends_with(": the mount belongs to user 0; run as that user or as root\n"),
        "{refused:?}"
    );
    let here = dir.path("");
    let all = ["umount", "--all", "--below", here.to_str().unwrap()];
    assert_eq!(run(&mut dir.bsafs_as_user(all)).success(), "");
    assert_eq!(mounts_below(&here), vec![mount.path.clone()]);
    assert_eq!(dir.run(all).success(), "");
    mount.wait_for_end();
}

#[test]
fn the_process_that_queries_a_users_mount_reveals_nothing_of_root() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    dir.give_to_user();
    run(&mut dir.bsafs_as_user(["mount", "a.bsa", "theirs"])).success();
    let status = line(&dir, &dir.path("theirs"));
    let daemon = i32::try_from(status["pid"].as_i64().unwrap()).unwrap();
    stop(daemon);
    let path = dir.path("theirs");
    let asks = |pid: &str| {
        let command = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        command.contains("\0status\0")
            && command.contains(path.to_str().unwrap())
            && !status.contains("Uid:\t0")
    };
    let mut listing = dir.bsafs(["mounts"]).env("SECRET", "of root").stdout(Stdio::null()).spawn().unwrap();
    let mut asking = None;
    until("the daemon to be queried", || {
        let pids = fs::read_dir("/proc").unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
        asking = pids.into_iter().find(|pid| asks(pid));
        asking.is_some()
    });
    let environment = format!("/proc/{}/environ", asking.unwrap());
    let seen = fs::read_to_string(&environment).unwrap();
    let read = run(&mut dir.as_user("cat", [&environment]));
    signal(daemon, Signal::CONT);
    listing.wait().unwrap();
    assert!(
        !seen.contains("SECRET") && read.out.is_empty() && read.err.contains("denied"),
        "{seen}: {read:?}"
    );
    until("the unmount to succeed", || run(&mut dir.bsafs_as_user(["umount", "theirs"])).code == 0);
}

#[test]
fn which_waits_once_for_a_daemon_that_was_stopped() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &Tes3::new().file("a.txt", b"a").build());
    let mount = dir.mount(["a.bsa"]);
    stop(mount.pid);
    let path = format!("{}/a.txt", mount.path.display());
    let began = std::time::Instant::now();
    let finished = dir.run(["which", path.as_str(), path.as_str()]);
    let took = began.elapsed();
    signal(mount.pid, Signal::CONT);
    assert_eq!(finished.err.matches("does not answer").count(), 2, "{finished:?}");
    assert!(took < std::time::Duration::from_secs(5), "it waited again: {took:?}");
    mount.umount(&dir);
}
