//! Tests of failures before anything is mounted: an exit code, one line with the reason, and
//! nothing left behind.

use std::fs;
use std::process::Command;

use rustix::fs::{CWD, Mode, mkfifoat};

use super::world;
use crate::mounted::{TestDir, is_root, mounts_below, run};
use crate::support::Tes4;

#[test]
fn the_error_names_an_unusable_archive_and_the_reason() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    fs::write(dir.path("zip.bsa"), [&b"PK\x03\x04"[..], &[0; 60]].concat()).unwrap();
    fs::write(dir.path("empty.bsa"), b"").unwrap();
    fs::write(dir.path("cut.bsa"), &world()[..60]).unwrap();
    fs::write(dir.path("huge.bsa"), Tes4::new(104).file("a", "b", b"c").folder_count(u32::MAX).build())
        .unwrap();
    mkfifoat(CWD, dir.path("pipe.bsa"), Mode::RWXU).unwrap();
    for (archive, code, message) in [
        ("no-such.bsa", 66, "no such file or folder"),
        ("pipe.bsa", 66, "not a regular file"),
        ("zip.bsa", 65, "not a BSA or BA2; it looks like a zip file: unpack it first"),
        ("empty.bsa", 65, "archive"),
        ("cut.bsa", 65, "damaged archive: the file ends before"),
        ("huge.bsa", 65, "archive"),
    ] {
        for arguments in [vec![archive, "a.bsa", "mnt"], vec!["a.bsa", archive, "mnt"]] {
            let finished = dir.run([&["mount"], &arguments[..]].concat());
            assert_eq!((finished.code, finished.out.as_str()), (code, ""), "{finished:?}");
            assert!(finished.err.starts_with(&format!("bsafs: {archive}: ")), "{finished:?}");
            assert!(finished.err.contains(message) && finished.err.lines().count() == 1, "{finished:?}");
            assert!(!dir.path("mnt").exists(), "{archive}");
        }
    }
}

#[test]
fn the_error_names_an_unusable_mountpoint_and_the_reason() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    fs::create_dir(dir.path("full")).unwrap();
    fs::write(dir.path("full/file"), b"mine").unwrap();
    let refused = |path: &str, why: &str| {
        let finished = dir.run(["mount", "a.bsa", path]);
        assert_eq!((finished.code, finished.out.as_str()), (73, ""), "{finished:?}");
        assert_eq!(finished.err, format!("bsafs: {why}\n"));
    };
    let full = dir.path("full");
    refused(
        "full",
        &format!(
            "cannot mount on {}: the folder is not empty; add -o nonempty to mount over it, \
             or add a mountpoint after it to use this folder as a source",
            full.display()
        ),
    );
    let missing = dir.path("nowhere");
    refused(
        "nowhere/a/mnt",
        &format!(
            "cannot create the mountpoint nowhere/a/mnt: the folder {} does not exist",
            missing.display()
        ),
    );
    refused("full/file/mnt", "full/file/mnt: Not a directory (os error 20)");
    let mount = dir.mount(["a.bsa"]);
    refused(
        "mnt",
        &format!(
            "cannot mount on {}: a file system (fuse.bsafs) is already mounted there; \
             mount elsewhere, or unmount it first (`bsafs umount` if it is a bsafs mount)",
            mount.path.display()
        ),
    );
    assert_eq!(mounts_below(&dir.path("")).len(), 1);
    assert_eq!(mount.read("readme.txt").len(), 800);
}

#[test]
fn a_file_in_place_of_the_mountpoint_is_taken_for_an_archive() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    fs::write(dir.path("file"), b"this is plain text\n").unwrap();
    let finished = dir.run(["mount", "a.bsa", "file"]);
    assert_eq!(finished.code, 65, "{finished:?}");
    assert!(
        finished.err.starts_with("bsafs: file: neither a folder to mount on nor an archive"),
        "{finished:?}"
    );
    assert_eq!(fs::read(dir.path("file")).unwrap(), b"this is plain text\n");
}

#[test]
fn nonempty_hides_existing_files_only_until_the_unmount() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    fs::create_dir(dir.path("mnt")).unwrap();
    fs::write(dir.path("mnt/file"), b"mine").unwrap();
    let mount = dir.mount(["a.bsa", "-o", "nonempty"]);
    assert!(!mount.join("file").exists());
    mount.umount(&dir);
    assert_eq!(fs::read(dir.path("mnt/file")).unwrap(), b"mine");
}

#[test]
fn a_command_line_without_archives_is_refused() {
    let dir = TestDir::new();
    for arguments in [&["list"][..], &["nonsense"], &["mount", "a", "--cache-size", "x"]] {
        let finished = dir.run(arguments);
        assert_eq!((finished.code, finished.out.as_str()), (2, ""), "{arguments:?}");
        assert!(finished.err.starts_with("error: "), "{finished:?}");
    }
}

#[test]
fn without_fusermount3_the_error_names_the_package_to_install() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    dir.give_to_user();
    // `env` clears PATH for the program alone, because `runuser` must be found first.
    let program = dir.path("bsafs");
    let arguments = ["PATH=/nonexistent", program.to_str().unwrap(), "mount", "a.bsa", "mnt"];
    let finished = run(&mut dir.as_user("env", arguments));
    assert_eq!((finished.code, finished.out.as_str()), (69, ""));
    assert_eq!(
        finished.err,
        "bsafs: fusermount3 not found: install your distribution's package fuse3, or run bsafs as root\n"
    );
    assert!(!dir.path("mnt").exists());
}

#[test]
fn a_mount_that_fails_at_a_resource_limit_leaves_no_dead_mount() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    dir.give_to_user();
    let program = dir.path("bsafs");
    // Root is exempt from limits on processes. The highest limit of each kind is enough to mount.
    let limits = (1..=16).chain([4096]).map(|limit| format!("--nproc={limit}"));
    for limit in limits.chain((6..=36).chain([256]).map(|limit| format!("--nofile={limit}"))) {
        let arguments = [&limit, program.to_str().unwrap(), "mount", "a.bsa", "mnt"];
        let finished = run(&mut dir.as_user("prlimit", arguments));
        if finished.code == 0 {
            let content = dir.as_user("cat", ["mnt/readme.txt"]).output().unwrap();
            assert!(content.stdout.len() == 800, "{limit}: {finished:?} {content:?}");
            run(&mut dir.bsafs_as_user(["umount", "mnt"])).success();
        } else {
            assert!(!limit.ends_with("=4096") && !limit.ends_with("=256"), "{finished:?}");
            assert!(finished.err.contains("bsafs: "), "{limit}: {finished:?}");
            let is_named = finished.err.contains("the limit of processes and threads is reached");
            assert!(is_named || limit.starts_with("--nofile"), "{limit}: {finished:?}");
        }
        assert!(mounts_below(&dir.path("")).is_empty(), "{limit}: {finished:?}");
        assert!(!dir.path("mnt").exists(), "{limit}: {finished:?}");
    }
}

/// Runs a command in a separate mount namespace in which `/dev` has a null device and what `prepare` adds.
fn with_other_devices(dir: &TestDir, prepare: &str, command: &str) -> crate::mounted::Finished {
    let script = format!(
        "set -e; mount -t tmpfs none /dev; mknod -m 666 /dev/null c 1 3; {prepare}; cd '{}'; exec {command}",
        dir.path("").display()
    );
    run(Command::new("unshare").args(["-m", "sh", "-c", &script]))
}

#[test]
fn without_dev_fuse_the_error_says_how_to_load_it() {
    if !is_root() {
        return eprintln!("SKIPPED: only root can hide /dev/fuse");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    for (form, code) in [("mount a.bsa mnt", 69), ("mount -f a.bsa mnt", 69), ("a.bsa mnt -o ro", 2)] {
        let command = format!("'{}' {form}", env!("CARGO_BIN_EXE_bsafs"));
        let finished = with_other_devices(&dir, "true", &command);
        assert_eq!((finished.code, finished.out.as_str()), (code, ""), "{finished:?}");
        assert_eq!(
            finished.err,
            "bsafs: /dev/fuse does not exist: load the module with `modprobe fuse`, or give the container \
             `--device /dev/fuse`\n"
        );
        assert!(!dir.path("mnt").exists());
    }
}

#[test]
fn the_error_says_that_dev_fuse_is_another_file() {
    if !is_root() {
        return eprintln!("SKIPPED: only root can replace /dev/fuse");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    dir.give_to_user();
    for prepare in ["touch /dev/fuse", "mknod -m 666 /dev/fuse c 1 3"] {
        for user in ["", "runuser -u nobody -- "] {
            let owner = if user.is_empty() { "root" } else { "nobody" };
            run(std::process::Command::new("chown").arg(owner).arg(dir.path(""))).success();
            let finished = with_other_devices(&dir, prepare, &format!("{user}./bsafs mount a.bsa mnt"));
            assert_eq!((finished.code, finished.out.as_str()), (69, ""), "{finished:?}");
            assert_eq!(
                finished.err,
                "bsafs: /dev/fuse is not the device of FUSE (character device 10:229): give the container \
                 `--device /dev/fuse`, or as root, run `rm /dev/fuse; mknod -m 666 /dev/fuse c 10 229`\n"
            );
            assert!(!dir.path("mnt").exists());
        }
    }
}

#[test]
fn without_proc_the_error_says_how_to_mount_it() {
    if !is_root() {
        return eprintln!("SKIPPED: only root can hide /proc");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let missing = "/proc is not mounted, and bsafs needs it: run `mount -t proc proc /proc` as root, then \
                   try again\n";
    for hide in ["umount -l /proc", "mount -t tmpfs none /proc"] {
        for command in ["mount a.bsa mnt", "list .", "mounts", "umount mnt", "umount --all"] {
            let program = env!("CARGO_BIN_EXE_bsafs");
            let script = format!("{hide}; cd '{}'; exec '{program}' {command}", dir.path("").display());
            let finished = run(Command::new("unshare").args(["-m", "sh", "-c", &script]));
            assert_eq!(finished.out, "", "{command}: {finished:?}");
            assert!(finished.code != 0 && finished.err.ends_with(missing), "{command}: {finished:?}");
        }
    }
    assert!(!dir.path("mnt").exists());
}

#[test]
fn without_access_to_dev_fuse_the_error_names_the_usual_mode() {
    if !is_root() {
        return eprintln!("SKIPPED: only root can close /dev/fuse");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    dir.give_to_user();
    let close = "mknod -m 600 /dev/fuse c 10 229";
    let finished = with_other_devices(&dir, close, "runuser -u nobody -- ./bsafs mount a.bsa mnt");
    assert_eq!((finished.code, finished.out.as_str()), (77, ""), "{finished:?}");
    assert_eq!(
        finished.err,
        "bsafs: no permission to open /dev/fuse: as root, run `chmod 0666 /dev/fuse`, or mount as root\n"
    );
    assert!(!dir.path("mnt").exists());
}

#[test]
fn a_profile_that_is_a_pipe_is_refused() {
    let dir = TestDir::new();
    mkfifoat(CWD, dir.path("pipe.toml"), Mode::RWXU).unwrap();
    let finished = dir.run(["mount", "pipe.toml", "mnt"]);
    assert_eq!((finished.code, finished.err.as_str()), (66, "bsafs: pipe.toml: not a regular file\n"));
}

#[test]
fn the_error_names_an_unwritable_log_file_and_nothing_is_mounted() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let finished = dir.run(["mount", "a.bsa", "mnt", "--log-file", "no-such/log"]);
    let message = format!(
        "bsafs: --log-file no-such/log: the folder {} does not exist\n",
        dir.path("no-such").display()
    );
    assert_eq!((finished.code, finished.out.as_str(), &*finished.err), (74, "", &*message));
    assert!(mounts_below(&dir.path("")).is_empty() && !dir.path("mnt").exists());

    // The program checks the log file before it mounts. The mount would fail without fusermount3.
    dir.give_to_user();
    let program = dir.path("bsafs");
    let arguments = ["PATH=/nonexistent", program.to_str().unwrap(), "mount", "a.bsa", "mnt", "--log-file"];
    let finished = run(dir.as_user("env", arguments).arg("no-such/log"));
    assert_eq!((finished.code, finished.err.as_str()), (74, &*message));
}

#[test]
fn a_log_file_below_the_mountpoint_is_refused() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let message = "bsafs: --log-file mnt/log: the mount would hide it; give a file outside the mountpoint\n";
    for is_there in [false, true] {
        if is_there {
            fs::create_dir(dir.path("mnt")).unwrap();
        }
        let finished = dir.run(["mount", "a.bsa", "mnt", "-o", "nonempty", "--log-file", "mnt/log"]);
        assert_eq!((finished.code, finished.out.as_str(), finished.err.as_str()), (73, "", message));
        assert!(mounts_below(&dir.path("")).is_empty());
        assert!(dir.path("mnt").exists() == is_there && !dir.path("mnt/log").exists());
    }
}
