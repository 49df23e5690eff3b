//! Tests of the forms in which mount(8) and fstab call the program, with the exit codes of mount(8).

use std::ffi::{CString, OsStr};
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use super::{world, world_files};
use crate::mounted::{Finished, Mounted, TestDir, is_alive, is_root, run, until};

#[test]
fn source_and_mountpoint_are_mounted_without_a_command() {
    for options in
        [vec!["-o", "rw,xattr,nofail,x-systemd.automount"], vec!["-o", "dev,suid"], vec!["-s", "-n"]]
    {
        let dir = TestDir::new();
        dir.archive("a.bsa", &world());
        let report = run(dir.bsafs(["a.bsa", "mnt"]).args(&options)).success();
        let mount = Mounted::at(&dir.path("mnt"), report);
        assert!(mount.read("readme.txt") == world_files()[4].1);
        let codec = xattr::get(mount.join("readme.txt"), "user.bsafs.codec").unwrap_or_default();
        assert_eq!(codec.is_some(), options[1].contains("xattr"));
        mount.umount(&dir);
    }
}

#[test]
fn a_link_named_mount_bsafs_mounts_a_source_without_a_command() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    symlink(env!("CARGO_BIN_EXE_bsafs"), dir.path("mount.bsafs")).unwrap();
    let mut command = Command::new(dir.path("mount.bsafs"));
    let report = run(command.args(["a.bsa", "mnt", "-o", "ro"]).current_dir(dir.path(""))).success();
    let mount = Mounted::at(&dir.path("mnt"), report);
    mount.umount(&dir);
}

/// Runs a shell in a separate mount namespace in which `bsafs` is installed, because mount(8) ignores `PATH`.
fn with_program_installed(dir: &TestDir, script: &str) -> Finished {
    let install = "set -e; mount -t tmpfs none /usr/local/bin; ln -s \"$0\" /usr/local/bin/bsafs";
    let script = format!("{install}; cd '{}'; {script}", dir.path("").display());
    run(Command::new("unshare").args(["-m", "sh", "-c", &script, env!("CARGO_BIN_EXE_bsafs")]))
}

#[test]
fn mount_8_finds_bsafs_by_the_type_and_umount_8_ends_the_daemon() {
    if !is_root() || !Path::new("/sbin/mount.fuse").exists() {
        return eprintln!("SKIPPED: needs root and /sbin/mount.fuse");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    fs::create_dir(dir.path("mnt")).unwrap();
    let script = "mount -t fuse.bsafs -o allow_other,uid=7,noatime,nofail \"$PWD/a.bsa\" \"$PWD/mnt\" \
                  && stat -c '%u %s' mnt/readme.txt && findmnt -no FSTYPE mnt; \
                  readlink mnt/.bsafs:status; umount mnt";
    let out = with_program_installed(&dir, script).success();
    let lines: Vec<&str> = out.lines().collect();
    // The report of `bsafs mount` precedes this line.
    let first = lines.iter().position(|line| *line == "7 800").expect(&out);
    assert_eq!(lines[first + 1], "fuse.bsafs");
    let status: serde_json::Value = serde_json::from_str(lines[first + 2]).unwrap();
    let pid = i32::try_from(status["pid"].as_i64().unwrap()).unwrap();
    until("umount to end the daemon", || !is_alive(pid));
    assert!(dir.path("mnt").is_dir());
}

#[test]
fn a_second_mount_a_finds_a_profile_from_fstab_mounted() {
    if !is_root() || !Path::new("/sbin/mount.fuse").exists() {
        return eprintln!("SKIPPED: needs root and /sbin/mount.fuse");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    dir.archive("b.bsa", &world());
    fs::write(dir.path("both.toml"), "archives = ['a.bsa', 'b.bsa']").unwrap();
    fs::create_dir(dir.path("mnt")).unwrap();
    let (profile, mountpoint) = (dir.path("both.toml"), dir.path("mnt"));
    // With allow_other, the mount table shows the path only if a line says so.
    for options in ["ro".to_owned(), format!("allow_other,fsname={}", profile.display())] {
        let line = format!("{} {} fuse.bsafs {options} 0 0\n", profile.display(), mountpoint.display());
        fs::write(dir.path("fstab"), line).unwrap();
        let script = "mount -a -T fstab && mount -a -T fstab \
                      && grep -c ' fuse.bsafs .*both.toml' /proc/self/mountinfo; \
                      grep -c \"$PWD/mnt \" /proc/self/mountinfo; umount mnt";
        let finished = with_program_installed(&dir, script);
        let lines: Vec<_> = finished.out.lines().collect();
        // The first `mount -a` prints its report of two lines, the second prints nothing.
        assert_eq!((&*finished.err, lines.len(), &lines[2..]), ("", 4, &["1", "1"][..]), "{finished:?}");
    }
}

#[test]
fn mount_8_prints_the_error_of_bsafs_and_exits_with_32() {
    if !is_root() || !Path::new("/sbin/mount.fuse").exists() {
        return eprintln!("SKIPPED: needs root and /sbin/mount.fuse");
    }
    let dir = TestDir::new();
    fs::create_dir(dir.path("mnt")).unwrap();
    let there = dir.path("no-such.bsa");
    let finished = with_program_installed(&dir, "mount -t fuse.bsafs \"$PWD/no-such.bsa\" \"$PWD/mnt\"");
    assert_eq!(finished.code, 32, "{finished:?}");
    assert_eq!(finished.err, format!("bsafs: {}: no such file or folder\n", there.display()));
}

#[test]
fn bsafs_mounts_in_the_process_group_of_its_caller() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    // This script replaces fusermount3 and records the process group of the program that started it.
    fs::create_dir(dir.path("bin")).unwrap();
    let group = "cut -d' ' -f5 /proc/self/stat";
    let of_parent = format!("cut -d' ' -f5 /proc/$PPID/stat >'{}'", dir.path("group").display());
    let helper = format!("#!/bin/sh\n{of_parent}\nexec /usr/bin/fusermount3 \"$@\"\n");
    fs::write(dir.path("bin/fusermount3"), helper).unwrap();
    fs::set_permissions(dir.path("bin/fusermount3"), fs::Permissions::from_mode(0o755)).unwrap();
    dir.give_to_user();
    let script = format!("{group}; PATH=\"$PWD/bin:$PATH\" ./bsafs mount a.bsa mnt");
    let out = run(&mut dir.as_user("sh", ["-c", &script])).success();
    let callers = out.lines().next().unwrap();
    let mounted_by = fs::read_to_string(dir.path("group")).unwrap();
    let link = run(&mut dir.as_user("readlink", ["mnt/.bsafs:status"])).success();
    let status: serde_json::Value = serde_json::from_str(link.trim()).unwrap();
    let pid = i32::try_from(status["pid"].as_i64().unwrap()).unwrap();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    run(&mut dir.bsafs_as_user(["umount", "mnt"])).success();
    assert_eq!(mounted_by.trim(), callers);
    // Once mounted, the daemon leads a process group of its own.
    assert_eq!(stat.split(' ').nth(4).unwrap(), pid.to_string());
}

#[test]
fn a_mount_on_an_automount_trigger_does_not_block_itself() {
    let has_autofs = fs::read_to_string("/proc/filesystems").unwrap().contains("\tautofs\n");
    if !is_root() || !has_autofs {
        return eprintln!("SKIPPED: needs root and autofs");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    fs::create_dir(dir.path("mnt")).unwrap();
    fs::create_dir(dir.path("loose")).unwrap();
    fs::write(dir.path("loose/file"), "loose").unwrap();
    std::os::unix::fs::symlink(dir.path("mnt"), dir.path("loose/loop")).unwrap();
    // This process is the automounter. Processes of other process groups wait until it has mounted.
    let (_requests, pipe) = std::io::pipe().unwrap();
    let (fd, group) = (pipe.as_raw_fd(), rustix::process::getpgrp().as_raw_pid());
    let data = CString::new(format!("fd={fd},pgrp={group},minproto=5,maxproto=5,direct")).unwrap();
    mount("test", dir.path("mnt"), "autofs", MountFlags::empty(), data.as_c_str()).unwrap();
    let mounted = dir.mount(["a.bsa", "loose", "mnt"]);
    assert!(mounted.read("readme.txt") == world_files()[4].1);
    // Nothing is mounted below the mount, so for the daemon the link leads nowhere.
    let reloaded = dir.run(["reload", "mnt"]);
    assert!(reloaded.code == 1 && reloaded.err.contains("loop: not looked at"), "{reloaded:?}");
    assert!(!mounted.join("loop/file").exists(), "the mount followed a link to itself");
    // systemd ends a mount that no process uses. A process that has the folder below the mount open
    // counts as a user.
    let open = || fs::read_dir(format!("/proc/{}/fd", mounted.pid)).unwrap();
    let is_open =
        || open().any(|fd| fs::read_link(fd.unwrap().path()).is_ok_and(|path| path == mounted.path));
    // The source that led to this folder stays open until the daemon has dropped the earlier view, a moment
    // after the reload.
    until("the daemon to close the folder below its mount", || !is_open());
    assert_eq!(dir.run(["umount", "mnt"]).success(), "");
    mounted.wait_for_end();
    // Threads of a zombie process may still be ending, and their open files with them.
    until("the trigger to become unused", || unmount(dir.path("mnt"), UnmountFlags::empty()).is_ok());
}

#[test]
fn exit_codes_without_a_command_are_those_of_mount_8() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    fs::write(dir.path("noise.bsa"), b"what is this?").unwrap();
    fs::create_dir(dir.path("full")).unwrap();
    fs::write(dir.path("full/file"), b"").unwrap();
    // Arguments, exit code of `bsafs mount`, exit code without the word `mount`, part of the message.
    for (arguments, code, code_of_mount, message) in [
        (["no-such.bsa", "mnt", "-o", "ro"], 66, 32, "no-such.bsa: no such file or folder"),
        (["noise.bsa", "mnt", "-o", "ro"], 65, 32, "noise.bsa: unsupported archive"),
        (["a.bsa", "full", "-o", "ro"], 73, 32, "the folder is not empty"),
        (["a.bsa", "mnt", "-o", "ro,dirsynk"], 2, 1, "-o dirsynk: unknown option"),
        (["a.bsa", "mnt", "-o", "uid=me"], 2, 1, "\"me\" is not a number"),
        (["a.bsa", "mnt", "-o", "allow_root"], 2, 1, "use allow_other, which includes root"),
        (
            ["a.bsa", "mnt", "-o", "encoding=klingon"],
            2,
            1,
            "-o encoding=klingon: unknown code page \"klingon\"",
        ),
        (["a.bsa", "mnt", "-o", "layout=heap"], 2, 1, "-o layout=heap: must be one of union, per-archive"),
        (
            ["a.bsa", "mnt", "-o", "cache_size=much"],
            2,
            1,
            "-o cache_size=much: \"much\" is not a number of bytes",
        ),
        (["a.bsa", "mnt", "-o", "readahead=4096"], 2, 1, "readahead=4096: the maximum is 1024 KiB"),
        (["a.bsa", "mnt", "--colour", "red"], 2, 1, "--colour"),
    ] {
        for (before, code) in [(Some("mount"), code), (None, code_of_mount)] {
            let finished = dir.run(before.iter().chain(&arguments));
            assert_eq!((finished.code, finished.out.as_str()), (code, ""), "{arguments:?}: {finished:?}");
            assert!(finished.err.contains(message), "{finished:?}");
            assert!(finished.err.lines().count() == 1 || arguments[2] == "--colour", "{finished:?}");
            assert!(!dir.path("mnt").exists(), "{arguments:?}");
        }
    }
}

#[test]
fn a_source_with_a_non_utf_8_name_is_mounted_without_a_command() {
    let dir = TestDir::new();
    let source = OsStr::from_bytes(b"\xff.bsa");
    fs::write(dir.path(source), world()).unwrap();
    let report =
        run(&mut dir.bsafs([source, OsStr::new("mnt"), OsStr::new("-o"), OsStr::new("ro")])).success();
    Mounted::at(&dir.path("mnt"), report).umount(&dir);
}
