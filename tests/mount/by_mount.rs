//! The forms in which mount(8) and fstab call the program, whose exit codes are others.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::{world, world_files};
use crate::mounted::{Finished, Mounted, TestDir, is_alive, is_root, run, until};

#[test]
fn source_mountpoint_and_options_are_enough() {
    for options in
        [vec!["-o", "rw,xattr,nofail,x-systemd.automount"], vec!["-o", "dev,suid"], vec!["-s", "-n"]]
    {
        let dir = TestDir::new();
        dir.archive("a.bsa", &world());
        let said = run(dir.bsafs(["a.bsa", "mnt"]).args(&options)).sound();
        let mount = Mounted::at(&dir.path("mnt"), said);
        assert!(mount.read("readme.txt") == world_files()[4].1);
        let codec = xattr::get(mount.join("readme.txt"), "user.bsafs.codec").unwrap_or_default();
        assert_eq!(codec.is_some(), options[1].contains("xattr"));
        mount.umount(&dir);
    }
}

#[test]
fn the_helper_of_mount_needs_no_command_before_its_source() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    symlink(env!("CARGO_BIN_EXE_bsafs"), dir.path("mount.bsafs")).unwrap();
    let mut command = Command::new(dir.path("mount.bsafs"));
    let said = run(command.args(["a.bsa", "mnt", "-o", "ro"]).current_dir(dir.path(""))).sound();
    let mount = Mounted::at(&dir.path("mnt"), said);
    mount.umount(&dir);
}

/// Runs a shell in a mount namespace of its own where `bsafs` is installed, since mount(8) forgets about `PATH`.
fn with_program_installed(dir: &TestDir, script: &str) -> Finished {
    let install = "set -e; mount -t tmpfs none /usr/local/bin; ln -s \"$0\" /usr/local/bin/bsafs";
    let script = format!("{install}; cd '{}'; {script}", dir.path("").display());
    run(Command::new("unshare").args(["-m", "sh", "-c", &script, env!("CARGO_BIN_EXE_bsafs")]))
}

#[test]
fn mount_finds_the_program_by_the_type_and_umount_ends_it() {
    if !is_root() || !Path::new("/sbin/mount.fuse").exists() {
        return eprintln!("SKIPPED: needs root and /sbin/mount.fuse");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    fs::create_dir(dir.path("mnt")).unwrap();
    let script = "mount -t fuse.bsafs -o allow_other,uid=7,noatime,nofail \"$PWD/a.bsa\" \"$PWD/mnt\" \
                  && stat -c '%u %s' mnt/readme.txt && findmnt -no FSTYPE mnt; readlink mnt/.bsafs:status; umount mnt";
    let said = with_program_installed(&dir, script).sound();
    let lines: Vec<&str> = said.lines().collect();
    // `bsafs mount` reports on its standard output, and mount(8) does not mind.
    let told = lines.iter().position(|line| *line == "7 800").expect(&said);
    assert_eq!(lines[told + 1], "fuse.bsafs");
    let status: serde_json::Value = serde_json::from_str(lines[told + 2]).unwrap();
    let pid = i32::try_from(status["pid"].as_i64().unwrap()).unwrap();
    until("umount has ended the daemon", || !is_alive(pid));
    assert!(dir.path("mnt").is_dir());
}

#[test]
fn mount_passes_on_what_the_program_says_and_a_code_that_it_knows() {
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
fn exit_codes_are_folded_to_those_that_mount_knows() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    fs::write(dir.path("noise.bsa"), b"what is this?").unwrap();
    fs::create_dir(dir.path("full")).unwrap();
    fs::write(dir.path("full/file"), b"").unwrap();
    // The arguments, the code of `bsafs mount`, the code of the form without `mount`, and a part of what is said.
    for (arguments, code, folded, said) in [
        (["no-such.bsa", "mnt", "-o", "ro"], 66, 32, "no-such.bsa: no such file or folder"),
        (["noise.bsa", "mnt", "-o", "ro"], 65, 32, "noise.bsa: unsupported archive"),
        (["a.bsa", "full", "-o", "ro"], 73, 32, "it is not empty"),
        (["a.bsa", "mnt", "-o", "ro,dirsynk"], 2, 1, "-o dirsynk: unknown option"),
        (["a.bsa", "mnt", "-o", "uid=me"], 2, 1, "\"me\" is not a number"),
        (["a.bsa", "mnt", "-o", "allow_root"], 2, 1, "allow_other lets root in as well"),
        (
            ["a.bsa", "mnt", "-o", "encoding=klingon"],
            2,
            1,
            "-o encoding=klingon: \"klingon\" is no code page",
        ),
        (["a.bsa", "mnt", "-o", "layout=heap"], 2, 1, "-o layout=heap: not one of union, per-archive"),
        (
            ["a.bsa", "mnt", "-o", "cache_size=much"],
            2,
            1,
            "-o cache_size=much: \"much\" is not a number of bytes",
        ),
        (["a.bsa", "mnt", "-o", "readahead=4096"], 2, 1, "a request carries 1024 KiB at most"),
        (["a.bsa", "mnt", "--colour", "red"], 2, 1, "--colour"),
    ] {
        for (before, code) in [(Some("mount"), code), (None, folded)] {
            let finished = dir.run(before.iter().chain(&arguments));
            assert_eq!((finished.code, finished.out.as_str()), (code, ""), "{arguments:?}: {finished:?}");
            assert!(finished.err.contains(said), "{finished:?}");
            assert!(finished.err.lines().count() == 1 || arguments[2] == "--colour", "{finished:?}");
            assert!(!dir.path("mnt").exists(), "{arguments:?}");
        }
    }
}

#[test]
fn a_source_whose_name_is_no_text_is_no_misspelt_command() {
    let dir = TestDir::new();
    let source = OsStr::from_bytes(b"\xff.bsa");
    fs::write(dir.path(source), world()).unwrap();
    let said = run(&mut dir.bsafs([source, OsStr::new("mnt"), OsStr::new("-o"), OsStr::new("ro")])).sound();
    Mounted::at(&dir.path("mnt"), said).umount(&dir);
}
