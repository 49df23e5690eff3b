//! Tests of mounts that root has another user make, of what a mount reveals
//! to which user, and of `nosymfollow`.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

use bsafs::system::mountinfo;
use rustix::mount::{MountFlags, UnmountFlags};
use rustix::process::Signal;

use super::{world, world_files};
use crate::mounted::{TestDir, is_root, mount_table, mounts_below, run, signal, until};

/// The value of a key such as `Uid:` in `/proc/PID/status`.
fn status_of(pid: i32, key: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    text.lines().find_map(|line| line.strip_prefix(key)).unwrap().trim().to_owned()
}

/// A test folder with an archive that the user `nobody` can read, the program, and a mountpoint.
fn for_nobody() -> TestDir {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    fs::create_dir(dir.path("mnt")).unwrap();
    dir.give_to_user();
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
fn the_command_that_a_mount_with_setuid_names_is_not_refused_to_root() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    for name in ["mods", "mnt"] {
        fs::create_dir(dir.path(name)).unwrap();
    }
    dir.archive("mods/a.bsa", &world());
    fs::write(dir.path("mods/Broken.bsa"), "no archive").unwrap();
    dir.give_to_user();
    let mut command = Command::new(dir.path("bsafs"));
    command.args(["mount", "mods", "mnt", "-o", "setuid=nobody"]).current_dir(dir.path(""));
    let mounted = run(&mut command);
    let odd = mounted.out.lines().find(|line| line.starts_with("odd: ")).unwrap();
    let named = odd.rsplit_once(": bsafs ").unwrap().1;
    let said = dir.run(named.split(' '));
    assert!(said.code == 0 && said.out.contains("Broken.bsa"), "{odd}\n{said:?}");
    run(&mut dir.bsafs_as_user(["umount", "mnt"])).success();
}

#[test]
fn with_setuid_only_the_rights_of_the_user_decide_where_to_mount() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = for_nobody();
    fs::create_dir(dir.path("roots")).unwrap();
    fs::create_dir(dir.path("trigger")).unwrap();
    let mount = |to: &str, options: &str| {
        let mut command = Command::new(dir.path("bsafs"));
        run(command.args(["mount", "a.bsa", to, "-o", options]).current_dir(dir.path("")))
    };
    let refused = mount("roots", "setuid=nobody");
    assert!(
        refused.code == 77 && refused.err.contains("user has no write access to mountpoint"),
        "{refused:?}"
    );
    assert!(refused.err.ends_with("; mount on a folder of this user's own\n"), "{refused:?}");
    // A folder that is missing is made, as for that user.
    mount("new", "setuid=nobody").success();
    assert_eq!(
        fs::metadata(dir.path("")).unwrap().uid(),
        mountinfo::mounted_at(&dir.path("new")).unwrap().user()
    );
    dir.run(["umount", "new"]).success();
    // Root himself mounts only where root alone decides.
    let refused = mount("mnt", "setuid=0");
    assert!(refused.code == 73 && refused.err.contains("another user can change"), "{refused:?}");
    // The process of the user would wait for the automount, which waits for the mount.
    if fs::read_to_string("/proc/filesystems").unwrap().contains("\tautofs\n") {
        let (_requests, pipe) = std::io::pipe().unwrap();
        let (fd, group) = (pipe.as_raw_fd(), rustix::process::getpgrp().as_raw_pid());
        let data =
            std::ffi::CString::new(format!("fd={fd},pgrp={group},minproto=5,maxproto=5,direct")).unwrap();
        rustix::mount::mount("test", dir.path("trigger"), "autofs", MountFlags::empty(), data.as_c_str())
            .unwrap();
        let refused = mount("trigger", "setuid=nobody");
        rustix::mount::unmount(dir.path("trigger"), UnmountFlags::empty()).unwrap();
        assert!(
            refused.code == 73 && refused.err.contains("an automount lets only root mount here"),
            "{refused:?}"
        );
    }
    assert!(mounts_below(&dir.path("")).is_empty());
}

#[test]
fn a_mount_that_fails_as_another_user_leaves_no_dead_mount() {
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
        ("edit=mod,setuid=nobody", 2, "cannot be combined with --edit"),
    ] {
        let mut command = Command::new(dir.path("bsafs"));
        let finished = run(command.args(["mount", "a.bsa", "mnt", "-o", options]).current_dir(dir.path("")));
        assert_eq!(finished.code, code, "{options}: {finished:?}");
        assert!(finished.err.contains(what), "{options}: {finished:?}");
        assert!(mounts_below(&dir.path("")).is_empty(), "{options}");
    }
}

#[test]
fn which_shows_no_file_in_a_folder_that_the_user_cannot_list() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    dir.give_to_user();
    std::os::unix::fs::chown(dir.path(""), Some(0), None).unwrap();
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
    run(Command::new("chown").arg("root").arg(dir.path("secret")).arg(dir.path(""))).success();
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
