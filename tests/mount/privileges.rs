//! Tests of mounts that root makes and a process with fewer rights serves, of what a mount reveals
//! to which user, and of `nosymfollow`.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use super::{world, world_files};
use crate::mounted::{Mounted, TestDir, is_root, mount_table, mounts_below, run, signal, until};

/// The value of a key such as `Uid:` in `/proc/PID/status`.
fn status_of(pid: i32, key: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    text.lines().find_map(|line| line.strip_prefix(key)).unwrap().trim().to_owned()
}

/// A test folder with an archive that the user `nobody` can read, the program, and a mountpoint.
fn for_nobody() -> TestDir {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    dir.give_to_user();
    fs::create_dir(dir.path("mnt")).unwrap();
    dir
}

#[test]
fn with_setuid_the_daemon_runs_as_the_user_who_owns_the_mount() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = for_nobody();
    let mut command = Command::new(dir.path("bsafs"));
    command.args(["a.bsa", "mnt", "-o", "rw,setuid=nobody"]).current_dir(dir.path(""));
    run(&mut command).success();
    let status = run(&mut dir.as_user("readlink", ["mnt/.bsafs:status"])).success();
    let status: serde_json::Value = serde_json::from_str(status.trim()).unwrap();
    let pid = i32::try_from(status["pid"].as_i64().unwrap()).unwrap();
    let user = run(Command::new("id").args(["-u", "nobody"])).success();
    let user = user.trim();
    assert_eq!(status_of(pid, "Uid:").split('\t').collect::<Vec<_>>(), [user; 4]);
    assert_eq!(status_of(pid, "CapEff:").trim_start_matches('0'), "");
    let copied = dir.as_user("cat", ["mnt/readme.txt"]).output().unwrap();
    assert!(copied.stdout == world_files()[4].1, "{copied:?}");
    signal(pid, Signal::TERM);
    until("the daemon to unmount", || mounts_below(&dir.path("")).is_empty());
}

#[test]
fn with_drop_privileges_the_daemon_has_no_capabilities() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = for_nobody();
    let mut command = Command::new(dir.path("bsafs"));
    command.args(["mount", "a.bsa", "mnt", "-o", "drop_privileges"]).current_dir(dir.path(""));
    let mount = Mounted::at(&dir.path("mnt"), run(&mut command).success());
    for key in ["CapEff:", "CapPrm:", "CapBnd:", "CapInh:"] {
        assert_eq!(status_of(mount.pid, key).trim_start_matches('0'), "", "{key}");
    }
    assert_eq!(status_of(mount.pid, "NoNewPrivs:"), "1");
    assert!(mount.read("readme.txt") == world_files()[4].1);
    mount.umount(&dir);
}

#[test]
fn a_mount_that_fails_with_fewer_rights_leaves_no_dead_mount() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = for_nobody();
    fs::set_permissions(dir.path("a.bsa"), fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::chown(dir.path("a.bsa"), Some(0), Some(0)).unwrap();
    for (options, code, what) in [
        ("setuid=nobody", 66, "a.bsa: permission denied"),
        ("setuid=no-such-user", 2, "setuid=no-such-user: no such user"),
        ("setuid=nobody,foreground", 2, "cannot be combined with --foreground"),
        ("setuid=nobody,nonempty,names=mnt/list", 73, "mnt/list: the mount would hide it"),
        ("setuid=nobody,names=.", 73, "it contains the mountpoint, so the daemon would wait for itself"),
    ] {
        let mut command = Command::new(dir.path("bsafs"));
        let finished = run(command.args(["mount", "a.bsa", "mnt", "-o", options]).current_dir(dir.path("")));
        assert_eq!(finished.code, code, "{options}: {finished:?}");
        assert!(finished.err.contains(what), "{options}: {finished:?}");
        assert!(mounts_below(&dir.path("")).is_empty(), "{options}");
    }
}

/// Runs mount.fuse3 and then the script `then` in a separate mount namespace in which the program
/// is installed.
fn mount_fuse3(dir: &TestDir, options: &str, then: &str) -> String {
    let script = format!(
        "set -e; mount -t tmpfs none /usr/local/bin; cp '{}' /usr/local/bin/bsafs; cd '{}'; \
         mount.fuse3 \"$PWD/a.bsa\" \"$PWD/mnt\" -t fuse.bsafs -o '{options}'
         {then}",
        dir.path("bsafs").display(),
        dir.path("").display(),
    );
    run(Command::new("unshare").args(["-m", "sh", "-c", &script])).success()
}

#[test]
fn a_mount_passed_by_mount_fuse3_as_a_descriptor_is_served() {
    if !is_root() || !Path::new("/sbin/mount.fuse3").exists() {
        return eprintln!("SKIPPED: needs root and /sbin/mount.fuse3");
    }
    for options in ["drop_privileges", "drop_privileges,allow_other,setuid=nobody"] {
        let dir = for_nobody();
        let options = &format!("ro,nosuid,nodev,default_permissions,{options}");
        let then = "stat -c %s mnt/readme.txt; findmnt -no FSTYPE mnt; umount mnt; findmnt mnt || echo none";
        let out = mount_fuse3(&dir, options, then);
        let lines: Vec<&str> = out.lines().collect();
        assert!(lines[0].contains(&format!("read-only at {}", dir.path("mnt").display())), "{out}");
        assert_eq!(&lines[lines.len() - 3..], ["800", "fuse.bsafs", "none"], "{options}: {out}");
    }
}

#[test]
fn a_passed_mount_is_served_even_if_the_standard_descriptors_are_closed() {
    if !is_root() || !Path::new("/sbin/mount.fuse3").exists() {
        return eprintln!("SKIPPED: needs root and /sbin/mount.fuse3");
    }
    // mount.fuse3 gets one of their numbers for `/dev/fuse`, and passes it.
    for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        let dir = for_nobody();
        let then = "stat -c %s mnt/readme.txt; umount mnt";
        let options = "ro,nosuid,nodev,default_permissions,drop_privileges";
        let out = mount_fuse3(&dir, &format!("{options}' {closed} #'"), then);
        assert_eq!(out.lines().last(), Some("800"), "{closed}: {out}");
    }
}

#[test]
fn the_error_of_a_passed_mount_says_how_to_unmount_it() {
    if !is_root() || !Path::new("/sbin/mount.fuse3").exists() {
        return eprintln!("SKIPPED: needs root and /sbin/mount.fuse3");
    }
    let dir = for_nobody();
    dir.archive("a.bsa", b"no archive");
    let script = format!(
        "mount -t tmpfs none /usr/local/bin; cp '{}' /usr/local/bin/bsafs; cd '{}'; \
         mount.fuse3 \"$PWD/a.bsa\" \"$PWD/mnt\" -t fuse.bsafs \
         -o drop_privileges,ro,nosuid,nodev,default_permissions; echo $?; umount mnt",
        dir.path("bsafs").display(),
        dir.path("").display(),
    );
    let finished = run(Command::new("unshare").args(["-m", "sh", "-c", &script]));
    let advice = format!("; to remove the dead mount, run `umount {}`\n", dir.path("mnt").display());
    assert!(finished.err.contains("unsupported archive") && finished.err.ends_with(&advice), "{finished:?}");
    assert_eq!(finished.out, "32\n");
}

#[test]
fn which_shows_no_file_in_a_folder_that_the_user_cannot_list() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    dir.give_to_user();
    let mount = dir.mount(["a.bsa", "-o", "allow_other,dmode=711"]);
    let number = fs::metadata(mount.join("readme.txt")).unwrap().ino();
    let link = format!("mnt/.bsafs:which:{number}");
    let refused = run(&mut dir.as_user("readlink", ["-v", &link]));
    assert!(refused.code == 1 && refused.err.contains("Permission denied"), "{refused:?}");
    let which = run(&mut dir.bsafs_as_user(["which", "mnt/readme.txt"]));
    assert_eq!(which.err, "bsafs: mnt/readme.txt: permission denied: its folder cannot be listed\n");
    assert!(dir.run(["which", "mnt/readme.txt"]).success().contains("a.bsa"), "root must get an answer");
    mount.umount(&dir);
    let mount = dir.mount(["a.bsa", "-o", "allow_other"]);
    assert!(run(&mut dir.as_user("readlink", [&link])).success().contains("a.bsa"));
    drop(mount);
}

#[test]
fn another_user_sees_no_paths_of_sources() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    fs::create_dir(dir.path("secret")).unwrap();
    dir.archive("secret/a.bsa", &world());
    dir.archive("secret/b.bsa", &world());
    dir.give_to_user();
    fs::set_permissions(dir.path("secret"), fs::Permissions::from_mode(0o700)).unwrap();
    run(Command::new("chown").arg("root").arg(dir.path("secret"))).success();
    let mount = dir.mount(["secret/a.bsa", "secret/b.bsa", "-o", "allow_other"]);
    let number = fs::metadata(mount.join("readme.txt")).unwrap().ino();
    let which = run(&mut dir.bsafs_as_user(["which", "mnt/readme.txt"])).success();
    assert!(which.contains("  from   b.bsa\n") && which.contains("  hides  a.bsa\n"), "{which}");
    assert!(which.ends_with("  only root and the user who mounted may know the folders of archives\n"));
    let status = run(&mut dir.bsafs_as_user(["status", "--json", "mnt"])).success();
    let link = run(&mut dir.as_user("readlink", [format!("mnt/.bsafs:which:{number}")])).success();
    assert!(![which, status, link].concat().contains("secret"));
    let sources = run(&mut dir.as_user("readlink", ["-v", "mnt/.bsafs:sources:0"]));
    assert!(sources.code == 1 && sources.err.contains("Permission denied"), "{sources:?}");
    assert!(dir.run(["which", "mnt/readme.txt"]).success().contains("  from   secret/b.bsa\n"));
    assert!(dir.run(["status", "mnt"]).success().contains("secret/b.bsa"));
    mount.umount(&dir);
}

#[test]
fn with_nosymfollow_bsafs_still_reads_its_own_links() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mount = dir.mount(["a.bsa", "-o", "nosymfollow"]);
    let table = mount_table("mountinfo");
    let line = table.lines().find(|line| line.contains(mount.path.to_str().unwrap())).unwrap();
    assert!(line.contains("nosymfollow"), "{line}");
    assert!(dir.run(["which", "mnt/readme.txt"]).success().contains("a.bsa"));
}
