//! Tests from mount to unmount: mountpoints that are made and removed, busy mounts, killed daemons.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::Signal;

use super::{world, world_files};
use crate::mounted::{
    DROP_OTHER_MOUNTS, Mounted, TestDir, finish, is_alive, is_root, mount_table, mounts_below, run, signal,
    status, stop, until,
};
use crate::support::content::texels;
use crate::support::tes4::{FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Tes3, Tes4};

#[test]
fn umount_removes_a_mountpoint_that_bsafs_created() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mount = dir.mount(["a.bsa"]);
    let there = dir.path("mnt");
    let report = format!("read-only at {} (a new folder, removed on unmount)", there.display());
    assert!(mount.report.lines().next().unwrap().ends_with(&report), "{}", mount.report);
    assert_eq!(mount.report.lines().nth(1).unwrap(), format!("unmount: bsafs umount {}", there.display()));
    assert_eq!(dir.run(["umount", "mnt"]).success(), "");
    // `bsafs umount` returns after the daemon has ended.
    assert!(!is_alive(mount.pid) && !there.exists());
    assert!(mounts_below(&dir.path("")).is_empty());
    let left: Vec<_> = fs::read_dir(dir.path("")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["a.bsa"]);
}

#[test]
fn umount_keeps_a_mountpoint_that_existed_before() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    fs::create_dir(dir.path("mnt")).unwrap();
    let mount = dir.mount(["a.bsa"]);
    assert!(!mount.report.contains("a new folder"), "{}", mount.report);
    assert_eq!(dir.run(["unmount", "mnt/"]).success(), "");
    mount.wait_for_end();
    assert!(dir.path("mnt").is_dir());
}

#[test]
fn a_linked_mountpoint_can_be_unmounted_by_either_name() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    fs::create_dir(dir.path("real")).unwrap();
    std::os::unix::fs::symlink("real", dir.path("mnt")).unwrap();
    for name in ["mnt", "real"] {
        let mount = dir.mount(["a.bsa"]);
        assert_eq!(mounts_below(&dir.path("")), [dir.path("real")]);
        assert_eq!(dir.run(["umount", name]).success(), "");
        mount.wait_for_end();
    }
}

#[test]
fn without_a_mountpoint_a_folder_named_after_the_last_archive_is_used() {
    let dir = TestDir::new();
    dir.archive("Base.bsa", &world());
    dir.archive("Patch.bsa", &Tes3::new().file("patch.txt", b"patch").build());
    let report = dir.run(["mount", "Base.bsa", "Patch.bsa"]).success();
    let mount = Mounted::at(&dir.path("Patch"), report);
    assert_eq!(mount.read("patch.txt"), b"patch");
    mount.umount(&dir);
    assert!(!dir.path("Patch").exists());
}

#[test]
fn a_new_mountpoint_with_a_taken_name_is_numbered() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    fs::create_dir(dir.path("a")).unwrap();
    fs::write(dir.path("a/mine"), "mine").unwrap();
    let second = dir.run(["mount", "a.bsa"]).success();
    let second = Mounted::at(&dir.path("a (2)"), second);
    let third = dir.run(["mount", "a.bsa"]).success();
    let third = Mounted::at(&dir.path("a (3)"), third);
    for mount in [&second, &third] {
        assert!(mount.read("readme.txt") == world_files()[4].1);
    }
    assert_ne!(second.pid, third.pid);
    third.umount(&dir);
    second.umount(&dir);
    assert!(!dir.path("a (2)").exists() && !dir.path("a (3)").exists());
    assert_eq!(fs::read(dir.path("a/mine")).unwrap(), b"mine");
}

#[test]
fn several_mounts_are_unmounted_by_one_command() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    for name in ["one", "two", "three"] {
        let report = dir.run(["mount", "a.bsa", name]).success();
        assert!(report.starts_with("mounted 1 archive, 5 files ("), "{report}");
    }
    assert_eq!(mounts_below(&dir.path("")).len(), 3);
    assert_eq!(dir.run(["umount", "one", "two", "three"]).success(), "");
    assert!(mounts_below(&dir.path("")).is_empty());
    let again = dir.run(["umount", "one"]);
    assert_eq!((again.code, again.err.as_str()), (66, "bsafs: one: nothing is mounted there\n"));
}

#[test]
fn the_mount_of_a_killed_daemon_is_replaced() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let dead = dir.mount(["a.bsa"]);
    signal(dead.pid, Signal::KILL);
    let not_connected = |path| {
        fs::metadata(path).is_err_and(|error| error.raw_os_error() == Some(Errno::NOTCONN.raw_os_error()))
    };
    until("the mount to be dead", || not_connected(dir.path("mnt")));
    let finished = dir.run(["mount", "a.bsa", "mnt"]);
    assert_eq!(finished.code, 0, "{finished:?}");
    let warning = "mnt: removing the dead mount of a daemon that was killed";
    assert_eq!(finished.err, format!("bsafs: warn: {warning}\n"));
    let mount = Mounted::at(&dir.path("mnt"), finished.out);
    assert_eq!(mounts_below(&dir.path("")).len(), 1);
    assert!(mount.read("readme.txt") == world_files()[4].1);
    mount.umount(&dir);
}

#[test]
fn a_dead_mount_is_replaced_even_if_its_attributes_are_cached() {
    for by_user in [false, true] {
        let dir = TestDir::new();
        dir.archive("a.bsa", &world());
        dir.give_to_user();
        if is_root() && !by_user {
            std::os::unix::fs::chown(dir.path(""), Some(0), None).unwrap();
        }
        let as_owner = |program: &str, arguments: &[&str]| {
            if by_user {
                run(&mut dir.as_user(program, arguments))
            } else {
                run(Command::new(program).args(arguments).current_dir(dir.path("")))
            }
        };
        as_owner("./bsafs", &["mount", "a.bsa", "mnt"]).success();
        let status = as_owner("readlink", &["mnt/.bsafs:status"]).success();
        let status: serde_json::Value = serde_json::from_str(status.trim()).unwrap();
        // The kernel caches attributes, and answers from its cache even when the daemon is gone.
        as_owner("stat", &["mnt"]).success();
        signal(i32::try_from(status["pid"].as_i64().unwrap()).unwrap(), Signal::KILL);
        until("the mount to be dead", || as_owner("stat", &["-f", "mnt"]).code != 0);
        as_owner("stat", &["mnt"]).success();
        let finished = as_owner("./bsafs", &["mount", "a.bsa", "mnt"]);
        assert_eq!(finished.code, 0, "{finished:?}");
        assert!(finished.err.contains("removing the dead mount of a daemon that was killed"), "{finished:?}");
        assert_eq!(mounts_below(&dir.path("")), [dir.path("mnt")]);
        as_owner("./bsafs", &["umount", "mnt"]).success();
    }
}

#[test]
fn the_mount_of_a_stopped_daemon_is_not_taken_for_dead() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mount = dir.mount(["a.bsa"]);
    fs::metadata(&mount.path).unwrap();
    stop(mount.pid);
    // A thread that still runs could take a request. A process that waits for the answer cannot be killed.
    until("all threads to stop", || {
        let threads = fs::read_dir(format!("/proc/{}/task", mount.pid)).unwrap();
        let mut states = threads.map(|it| fs::read_to_string(it.unwrap().path().join("stat")).unwrap());
        states.all(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')))
    });
    let finished = dir.run(["mount", "a.bsa", "mnt"]);
    signal(mount.pid, Signal::CONT);
    assert_eq!(finished.code, 74, "{finished:?}");
    assert!(finished.err.contains("does not answer"), "{finished:?}");
    assert!(mount.read("readme.txt") == world_files()[4].1);
    mount.umount(&dir);
}

#[test]
fn the_mount_of_a_killed_daemon_can_be_unmounted() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let dead = dir.mount(["a.bsa"]);
    signal(dead.pid, Signal::KILL);
    until("the daemon to end", || !is_alive(dead.pid));
    assert_eq!(dir.run(["umount", "mnt"]).success(), "");
    assert!(!dead.is_mounted());
}

#[test]
fn umount_of_a_busy_mount_fails_with_advice_and_lazy_succeeds() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mount = dir.mount(["a.bsa"]);
    let file = File::open(mount.join("meshes/tower.nif")).unwrap();
    let finished = dir.run(["umount", "mnt"]);
    assert_eq!((finished.code, finished.out.as_str()), (73, ""));
    assert!(finished.err.starts_with("bsafs: cannot unmount "), "{}", finished.err);
    assert!(finished.err.contains(": Device or resource busy; in use by "), "{}", finished.err);
    let (users, advice) = ("; in use by ", "; close these programs, or add --lazy\n");
    let this = format!("(process {}: ", std::process::id());
    assert!(finished.err.contains(users) && finished.err.contains(&this), "{}", finished.err);
    assert!(finished.err.ends_with(advice), "{}", finished.err);
    assert!(mount.is_mounted() && mount.read("readme.txt").len() == 800);

    // A shell that is only inside need not be closed.
    drop(file);
    let mut shell = Command::new("sleep").arg("60").current_dir(&mount.path).spawn().unwrap();
    let inside = dir.run(["umount", "mnt"]).err;
    shell.kill().unwrap();
    shell.wait().unwrap();
    assert!(
        inside.ends_with("; change to a folder outside of the mount (`cd`), or add --lazy\n"),
        "{inside}"
    );
    let file = File::open(mount.join("meshes/tower.nif")).unwrap();

    // `--lazy` detaches the mount at once, and the open file can still be read to its end.
    assert_eq!(dir.run(["umount", "--lazy", "mnt"]).success(), "");
    assert!(!mount.is_mounted());
    let content = &world_files()[3].1;
    let mut buffer = vec![0; content.len()];
    file.read_exact_at(&mut buffer, 0).unwrap();
    assert!(buffer == *content);
    assert!(is_alive(mount.pid));
    drop(file);
    mount.wait_for_end();
    until("the folder to be removed", || !dir.path("mnt").exists());
}

#[test]
fn a_mount_in_the_foreground_reports_and_ends_with_success() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    for arguments in [vec!["-f"], vec!["--foreground"], vec!["-o", "foreground"]] {
        let mut command = dir.bsafs(["mount", "a.bsa", "mnt"]);
        command.args(&arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut report = String::new();
        out.read_line(&mut report).unwrap();
        assert!(report.starts_with("mounted 1 archive, 5 files ("), "{report}");
        let mount = Mounted::at(&dir.path("mnt"), report);
        assert_eq!(mount.pid, i32::try_from(child.id()).unwrap());
        assert!(mount.read("readme.txt") == world_files()[4].1);
        signal(mount.pid, Signal::INT);
        let finished = finish(child);
        assert_eq!((finished.code, finished.err.as_str()), (0, ""), "{arguments:?}");
        assert!(!dir.path("mnt").exists());
    }
}

#[test]
fn a_service_of_systemd_that_is_stopped_ends_while_a_program_is_in_the_mount() {
    stop_while_a_program_is_in_the_mount(&[]);
}

#[test]
fn a_writable_service_of_systemd_that_is_stopped_ends_and_names_the_program_in_the_mount() {
    stop_while_a_program_is_in_the_mount(&["--edit", "mod"]);
}

fn stop_while_a_program_is_in_the_mount(options: &[&str]) {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mut command = dir.bsafs([&["mount", "--foreground", "a.bsa", "mnt"], options].concat());
    command.env("NOTIFY_SOCKET", dir.path("notify")).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut report = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut report).unwrap();
    let mount = Mounted::at(&dir.path("mnt"), report);
    let mut inside = Command::new("cat");
    inside.current_dir(dir.path("mnt")).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut inside = inside.spawn().unwrap();
    // As `systemctl stop` does.
    let began = Instant::now();
    signal(mount.pid, Signal::TERM);
    signal(mount.pid, Signal::HUP);
    let finished = finish(child);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let user = format!("stopped while cat (process {}: current folder) used the mount", inside.id());
    assert!(finished.code == 0 && finished.err.contains(&user), "{finished:?}");
    assert!(mounts_below(&dir.path("")).is_empty(), "{finished:?}");
    drop(inside.stdin.take());
    inside.wait().unwrap();
}

#[test]
fn a_daemon_keeps_no_folder_busy_and_no_terminal_open() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mount = dir.mount(["a.bsa"]);
    let process = |name: &str| fs::read_link(format!("/proc/{}/{name}", mount.pid)).unwrap();
    assert_eq!(process("cwd").to_str(), Some("/"));
    for descriptor in ["fd/0", "fd/1", "fd/2"] {
        assert_eq!(process(descriptor).to_str(), Some("/dev/null"));
    }
    // The relative path of the archive still leads to it in the daemon.
    assert!(mount.read("readme.txt") == world_files()[4].1);
    let session = rustix::process::getsid(rustix::process::Pid::from_raw(mount.pid)).unwrap();
    assert_eq!(session.as_raw_pid(), mount.pid);
}

#[test]
fn an_archive_without_files_is_mounted_as_an_empty_folder() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &Tes3::new().build());
    let mount = dir.mount(["a.bsa"]);
    assert!(mount.report.starts_with("mounted 1 archive, 0 files ("), "{}", mount.report);
    assert_eq!(fs::read_dir(&mount.path).unwrap().count(), 0);
    mount.umount(&dir);
}

#[test]
fn the_mount_table_shows_the_type_and_the_only_source() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    dir.archive("b.bsa", &world());
    fs::write(dir.path("both.toml"), "archives = ['a.bsa', 'b.bsa']").unwrap();
    let source = |mount: &Mounted| {
        let mounts = mount_table("mounts");
        let line = mounts.lines().find(|line| line.split(' ').nth(1) == mount.path.to_str()).unwrap();
        let mut fields = line.split(' ');
        let source = fields.next().unwrap().to_owned();
        assert_eq!(fields.nth(1), Some("fuse.bsafs"));
        source
    };
    let (archive, profile) = (dir.path("a.bsa"), dir.path("both.toml"));
    for (arguments, expected) in [
        (&["a.bsa"][..], archive.to_str().unwrap()),
        (&["both.toml"], profile.to_str().unwrap()),
        (&["a.bsa", "b.bsa"], "bsafs"),
        (&["a.bsa", "-o", r"fsname=my\,archive"], "my,archive"),
    ] {
        let mount = dir.mount(arguments);
        assert_eq!(source(&mount), expected);
        mount.umount(&dir);
    }
}

#[test]
fn umount_refuses_mounts_of_other_programs() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    fs::create_dir(dir.path("disk")).unwrap();
    run(Command::new("mount").args(["-t", "tmpfs", "none"]).arg(dir.path("disk"))).success();
    let finished = dir.run(["umount", "disk"]);
    let left = mounts_below(&dir.path(""));
    run(Command::new("umount").arg("-l").arg(dir.path("disk")));
    let message = "bsafs: disk: not a bsafs mount (tmpfs); use `umount` instead\n";
    assert_eq!((finished.code, finished.err.as_str()), (73, message));
    assert_eq!(left, [dir.path("disk")]);
}

#[test]
fn the_mountpoint_of_an_aborted_mount_is_removed_from_a_moved_parent() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    fs::create_dir(dir.path("parent")).unwrap();
    fs::create_dir(dir.path("connections")).unwrap();
    let report = dir.run(["mount", "a.bsa", "parent/mnt"]).success();
    let mount = Mounted::at(&dir.path("parent/mnt"), report);
    let connection = rustix::fs::minor(fs::metadata(&mount.path).unwrap().dev());
    fs::rename(dir.path("parent"), dir.path("moved")).unwrap();
    run(Command::new("mount").args(["-t", "fusectl", "none"]).arg(dir.path("connections"))).success();
    let aborted = fs::write(dir.path(format!("connections/{connection}/abort")), "1");
    run(Command::new("umount").arg(dir.path("connections"))).success();
    aborted.unwrap();
    mount.wait_for_end();
    assert!(mounts_below(&dir.path("")).is_empty());
    until("the folder to be removed", || !dir.path("moved/mnt").exists());
}

#[test]
fn only_one_of_several_simultaneous_mounts_on_a_folder_succeeds() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    for round in 0..10 {
        // The rounds alternate between an existing empty folder and one that the program makes.
        if round % 2 == 0 {
            fs::create_dir(dir.path("mnt")).unwrap();
        }
        let start = |_| {
            let mut command = dir.bsafs(["mount", "a.bsa", "mnt"]);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let children: Vec<_> = (0..4).map(start).collect();
        let (won, lost): (Vec<_>, Vec<_>) =
            children.into_iter().map(finish).partition(|finished| finished.code == 0);
        assert_eq!((won.len(), lost.len()), (1, 3), "{lost:?}");
        for finished in &lost {
            let reasons = ["another process is mounting there", "is already mounted there"];
            assert_eq!(finished.code, 73, "{finished:?}");
            assert!(reasons.iter().any(|it| finished.err.contains(it)), "{finished:?}");
        }
        assert_eq!(mounts_below(&dir.path("")), [dir.path("mnt")]);
        let mount = Mounted::at(&dir.path("mnt"), won[0].out.clone());
        assert!(mount.read("readme.txt") == world_files()[4].1);
        mount.umount(&dir);
        let _ = fs::remove_dir(dir.path("mnt"));
    }
}

#[test]
fn simultaneous_mounts_without_a_mountpoint_use_different_folders() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let start = |_| {
        let mut command = dir.bsafs(["mount", "a.bsa"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = (0..3).map(start).collect();
    for child in children {
        finish(child).success();
    }
    assert_eq!(mounts_below(&dir.path("")).len(), 3);
}

#[test]
fn umount_reports_a_daemon_that_still_serves_another_namespace() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mount = dir.mount(["a.bsa"]);
    let mut copy = Command::new("unshare");
    let script = format!("{DROP_OTHER_MOUNTS}; echo ready; read answer");
    copy.args(["-m", "sh", "-c", &script]).current_dir(dir.path(""));
    let mut copy = copy.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = [0; 6];
    std::io::Read::read_exact(copy.stdout.as_mut().unwrap(), &mut line).unwrap();
    let finished = dir.run(["umount", "mnt"]);
    let is_served = is_alive(mount.pid);
    drop(copy.stdin.take());
    finish(copy);
    assert!(is_served && !mount.is_mounted());
    assert_eq!(finished.code, 73, "{finished:?}");
    assert!(finished.err.contains("still runs, because a container (mount namespace)"), "{finished:?}");
    mount.wait_for_end();
}

#[test]
fn a_report_that_cannot_be_written_does_not_fail_the_mount() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let full = File::options().write(true).open("/dev/full").unwrap();
    let status = dir.bsafs(["mount", "a.bsa", "mnt"]).stdout(full).status().unwrap();
    assert_eq!(status.code(), Some(0));
    Mounted::at(&dir.path("mnt"), String::new()).umount(&dir);
}

#[test]
fn the_daemon_inherits_no_open_files() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let script = "exec 9>lock; flock 9; exec \"$0\" mount a.bsa mnt";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_bsafs")]).current_dir(dir.path(""));
    let mount = Mounted::at(&dir.path("mnt"), run(&mut shell).success());
    run(Command::new("flock").arg("-n").arg(dir.path("lock")).arg("true")).success();
    let links = fs::read_dir(format!("/proc/{}/fd", mount.pid)).unwrap();
    let open: Vec<_> = links.map(|fd| fs::read_link(fd.unwrap().path()).unwrap_or_default()).collect();
    assert!(!open.contains(&dir.path("lock")), "{open:?}");
}

#[test]
fn more_archives_than_the_soft_limit_of_open_files_are_mounted() {
    let dir = TestDir::new();
    let names: Vec<String> = (0..200).map(|nth| format!("{nth}.bsa")).collect();
    for name in &names {
        dir.archive(name, &Tes4::new(104).file("f", format!("{name}.txt"), "x").build());
    }
    let mut limited = Command::new("prlimit");
    limited.args(["--nofile=64:4096", env!("CARGO_BIN_EXE_bsafs"), "mount"]).args(&names).arg("mnt");
    let mount = Mounted::at(&dir.path("mnt"), run(limited.current_dir(dir.path(""))).success());
    assert_eq!(fs::read_dir(mount.join("f")).unwrap().count(), 200);
    assert_eq!(mount.read("f/199.bsa.txt"), b"x");
}

#[test]
fn a_daemon_killed_during_reads_ends_and_its_mount_is_replaced() {
    let dir = TestDir::new();
    let files: Vec<Vec<u8>> = (0..8).map(|nth| texels(nth, 3 << 20)).collect();
    let archive = Tes4::new(104).flags(FOLDER_NAMES | FILE_NAMES | PACKED);
    let archive =
        (0..).zip(&files).fold(archive, |it, (nth, file)| it.file("f", format!("{nth}"), &file[..]));
    dir.archive("a.bsa", &archive.build());
    for _ in 0..5 {
        let mount = dir.mount(["a.bsa", "--cache-size", "1M"]);
        let read = format!("dd if={}/f/$0 bs=64K of=/dev/null 2>/dev/null", mount.path.display());
        let reader = |nth: usize| {
            let mut shell = Command::new("sh");
            shell.args(["-c", &read, &nth.to_string()]).spawn().unwrap()
        };
        let readers: Vec<_> = (0..8).map(reader).collect();
        until("the first reads to be answered", || {
            status(&mount.path)["requests"]["read"].as_u64() > Some(16)
        });
        signal(mount.pid, Signal::KILL);
        mount.wait_for_end();
        for reader in readers {
            drop(finish(reader));
        }
    }
    let mount = dir.mount(["a.bsa"]);
    assert!(mount.read("f/3") == files[3]);
}

#[test]
fn an_archive_given_as_a_descriptor_is_mounted() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec \"$0\" mount /dev/fd/7 mnt 7<a.bsa", env!("CARGO_BIN_EXE_bsafs")]);
    let mount = Mounted::at(&dir.path("mnt"), run(shell.current_dir(dir.path(""))).success());
    assert!(mount.read("readme.txt") == world_files()[4].1);
}

#[test]
fn the_disk_of_a_source_is_free_when_umount_returns() {
    if !is_root() {
        return eprintln!("SKIPPED: only root may mount a tmpfs");
    }
    let dir = TestDir::new();
    fs::create_dir(dir.path("disk")).unwrap();
    let disk = dir.path("disk");
    run(Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(&disk)).success();
    for folder in 0..200 {
        fs::create_dir_all(disk.join(format!("mod/folder {folder}"))).unwrap();
        fs::write(disk.join(format!("mod/folder {folder}/file")), "x").unwrap();
    }
    for round in 0..20 {
        let mount = dir.mount(["disk/mod"]);
        run(Command::new("find").arg(&mount.path)).success();
        dir.run(["umount", "mnt"]).success();
        // A disk that is in use cannot be unmounted.
        let ended = run(Command::new("umount").arg(&disk));
        assert_eq!(ended.code, 0, "in round {round}: {}", ended.err);
        run(Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(&disk)).success();
        fs::create_dir_all(disk.join("mod/folder")).unwrap();
        fs::write(disk.join("mod/folder/file"), "x").unwrap();
    }
    run(Command::new("umount").arg(&disk)).success();
}

#[test]
fn the_daemon_is_called_bsafs_and_its_command_line_names_the_mountpoint() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mount = dir.mount(["a.bsa"]);
    let read = |name: &str| fs::read_to_string(format!("/proc/{}/{name}", mount.pid)).unwrap();
    assert_eq!(read("comm"), "bsafs\n");
    let shown = run(Command::new("ps").args(["-o", "comm=,args=", "-p", &mount.pid.to_string()])).success();
    assert!(shown.starts_with("bsafs ") && shown.trim_end().ends_with("mount a.bsa mnt"), "{shown}");
}

#[test]
fn the_command_line_of_the_daemon_names_a_mountpoint_that_bsafs_chose() {
    let dir = TestDir::new();
    dir.archive("Meshes.bsa", &world());
    fs::create_dir(dir.path("Meshes")).unwrap();
    fs::write(dir.path("Meshes/taken"), "").unwrap();
    let there = dir.path("of-profile");
    let text = format!("archives = ['../../Meshes.bsa']\nmountpoint = '{}'\n", there.display());
    dir.own_profile("evening.toml", &text);
    for (arguments, mountpoint) in
        [(&["mount", "Meshes.bsa"][..], "Meshes (2)"), (&["mount", "evening"], "of-profile")]
    {
        dir.run_own(arguments).success();
        let mountpoint = dir.path(mountpoint);
        let pid = status(&mountpoint)["pid"].to_string();
        let shown = run(Command::new("ps").args(["-o", "args=", "-p", &pid])).success();
        assert!(shown.contains(&*mountpoint.to_string_lossy()), "{shown}");
        dir.run(["umount", mountpoint.to_str().unwrap()]).success();
    }
}

#[test]
fn no_command_waits_for_a_daemon_that_was_stopped() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mount = dir.mount(["a.bsa"]);
    std::os::unix::fs::symlink("mnt/textures", dir.path("link")).unwrap();
    assert!(dir.run(["which", "link/sky.dds"]).success().contains("a.bsa"));
    stop(mount.pid);
    let who = format!("the daemon (process {}) does not answer", mount.pid);
    // Each waits for its limit of time, so they wait together.
    let commands = [
        (&["status", "mnt"][..], 74),
        (&["status", "--json", "mnt"], 74),
        (&["which", "mnt/readme.txt"], 1),
        (&["which", "mnt/none", "link/sky.dds"], 1),
        (&["why", "mnt/none", "mnt/readme.txt"], 69),
        (&["why", "mnt", "readme.txt"], 69),
        (&["list", "mnt"], 69),
        (&["reload", "mnt"], 74),
        (&["watch", "mnt"], 74),
        (&["mount", "a.bsa", "mnt"], 74),
        (&["mount", "mnt/textures", "elsewhere"], 74),
    ];
    thread::scope(|scope| {
        for (command, code) in commands {
            let (dir, who) = (&dir, &who);
            scope.spawn(move || {
                let finished = dir.run(command);
                assert!(finished.code == code && finished.err.contains(who), "{command:?}: {finished:?}");
            });
        }
    });
    signal(mount.pid, Signal::CONT);
    assert!(dir.run(["which", "mnt/readme.txt"]).success().contains("a.bsa"));
    signal(mount.pid, Signal::KILL);
    until("the daemon to end", || !is_alive(mount.pid));
    for command in
        [&["which", "mnt/readme.txt"][..], &["status", "mnt"], &["reload", "mnt"], &["watch", "mnt"]]
    {
        let finished = dir.run(command);
        assert!(
            finished.err.contains("the daemon has ended; run `bsafs umount "),
            "{command:?}: {finished:?}"
        );
    }
}
