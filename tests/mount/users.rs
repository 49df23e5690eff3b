//! Tests of the owner and permissions of files, of `allow_other`, and of mounts by ordinary users
//! through fusermount3.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use rustix::process::Signal;

use super::{world, world_files};
use crate::mounted::{
    Finished, TestDir, finish, is_alive, is_root, mount_table, mounts_below, run, signal, until,
};

/// Whether ordinary users may pass `allow_other` on this machine. Then there is no refusal to test.
pub(super) fn users_may_allow_other() -> bool {
    let text = fs::read_to_string("/etc/fuse.conf").unwrap_or_default();
    text.lines().any(|line| line.trim() == "user_allow_other")
}

/// Prints why a test cannot run here.
fn skipped(why: &str) {
    eprintln!("SKIPPED: {why}");
}

#[test]
fn an_ordinary_user_mounts_reads_and_unmounts_through_fusermount3() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    dir.give_to_user();
    let report = run(&mut dir.bsafs_as_user(["mount", "a.bsa", "mnt"])).success();
    assert!(report.starts_with("mounted 1 archive, 5 files ("), "{report}");
    let mounts = mount_table("mounts");
    let there = dir.path("mnt");
    let line = mounts.lines().find(|line| line.split(' ').nth(1) == there.to_str()).unwrap();
    let archive = dir.path("a.bsa");
    assert!(
        line.starts_with(&format!("{} ", archive.display())) && line.contains(" fuse.bsafs ro,nosuid,nodev,"),
        "{line}"
    );

    let status = run(&mut dir.as_user("readlink", ["mnt/.bsafs:status"])).success();
    let status: serde_json::Value = serde_json::from_str(status.trim()).unwrap();
    let pid = i32::try_from(status["pid"].as_i64().unwrap()).unwrap();
    assert!(is_alive(pid));
    for (path, content) in world_files() {
        let copied = dir.as_user("cat", [there.join(path)]).output().unwrap();
        assert!(copied.status.success() && copied.stdout == content, "{path}");
    }
    let owner = run(&mut dir.as_user("stat", ["-c", "%U %a", "mnt/readme.txt"])).success();
    assert!(owner.ends_with(" 644\n"), "{owner}");

    until("the unmount to succeed", || {
        let finished = run(&mut dir.bsafs_as_user(["umount", "mnt"]));
        assert!(finished.code == 0 || finished.err.contains("busy"), "{finished:?}");
        finished.code == 0
    });
    assert!(!is_alive(pid) && !there.exists());
    assert!(mounts_below(&dir.path("")).is_empty());
}

#[test]
fn a_busy_mount_of_an_ordinary_user_is_unmounted_only_with_lazy() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    dir.give_to_user();
    run(&mut dir.bsafs_as_user(["mount", "a.bsa", "mnt"])).success();
    // The shell keeps the file open until its standard input is closed.
    let mut reader = dir.as_user("sh", ["-c", "exec 3<mnt/readme.txt; echo open; read answer"]);
    let mut reader = reader.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut word = [0; 5];
    std::io::Read::read_exact(reader.stdout.as_mut().unwrap(), &mut word).unwrap();
    let busy = run(&mut dir.bsafs_as_user(["umount", "mnt"]));
    let lazily = run(&mut dir.bsafs_as_user(["umount", "-z", "mnt"]));
    drop(reader.stdin.take());
    finish(reader);
    assert_eq!(busy.code, 73, "{busy:?}");
    assert!(busy.err.contains("busy") && busy.err.contains("add --lazy"), "{busy:?}");
    assert_eq!((lazily.code, lazily.err.as_str()), (0, ""));
    assert!(mounts_below(&dir.path("")).is_empty());
}

#[test]
fn the_error_for_a_forbidden_allow_other_names_the_missing_line() {
    if users_may_allow_other() {
        return skipped("/etc/fuse.conf has user_allow_other");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    dir.give_to_user();
    let finished = run(&mut dir.bsafs_as_user(["mount", "a.bsa", "mnt", "-o", "allow_other"]));
    assert_eq!((finished.code, finished.out.as_str()), (77, ""));
    assert_eq!(
        finished.err,
        "bsafs: only root may use allow_other; to let users use it, add `user_allow_other` to \
         /etc/fuse.conf\n"
    );
    assert!(!dir.path("mnt").exists(), "the new mountpoint was left behind");
}

#[test]
fn a_mountpoint_that_the_user_cannot_write_to_is_refused() {
    if !is_root() {
        return skipped("only root can create a folder for another user");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    dir.give_to_user();
    fs::create_dir(dir.path("roots")).unwrap();
    let finished = run(&mut dir.bsafs_as_user(["mount", "a.bsa", "roots"]));
    assert_eq!(finished.code, 77, "{finished:?}");
    assert!(finished.err.starts_with("bsafs: fusermount3 refused to mount on "), "{finished:?}");
    assert!(finished.err.contains("user has no write access to mountpoint"), "{finished:?}");
}

#[test]
fn another_user_reads_only_with_allow_other() {
    if !is_root() {
        return skipped("only root can act as another user");
    }
    for (options, may_read) in [("ro", false), ("allow_other", true), ("allow_other,umask=077", false)] {
        let dir = TestDir::new();
        dir.archive("a.bsa", &world());
        let mount = dir.mount(["a.bsa", "-o", options]);
        let read = dir.as_user("cat", [mount.join("readme.txt")]).output().unwrap();
        assert_eq!(read.status.success(), may_read, "{options}: {read:?}");
        assert_eq!(read.stdout == world_files()[4].1, may_read, "{options}");
    }
}

#[test]
fn owner_and_permissions_follow_the_options() {
    // Each row has the options, owner and group, and the permissions of files and of folders.
    let own = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    for (options, owner, file, folder) in [
        ("uid=65534,gid=7", (65534, 7), 0o644, 0o755),
        ("umask=077", own, 0o600, 0o700),
        ("fmask=0004,dmask=0055", own, 0o640, 0o700),
        ("umask=077,dmask=022", own, 0o600, 0o755),
        ("uid=0", (0, own.1), 0o644, 0o755),
        ("umask=022,fmode=466,dmode=577", own, 0o444, 0o555),
    ] {
        let dir = TestDir::new();
        dir.archive("a.bsa", &world());
        let mount = dir.mount(["a.bsa", "-o", options]);
        for (path, mode) in [("textures/sky.dds", file), ("textures", folder), ("", folder)] {
            let metadata = fs::metadata(mount.join(path)).unwrap();
            assert_eq!((metadata.uid(), metadata.gid()), owner, "{options}: {path}");
            assert_eq!(metadata.mode() & 0o7777, mode, "{options}: {path}");
        }
        mount.umount(&dir);
    }
}

/// Otherwise a user whose first access coincides with a reload gets EACCES.
#[test]
fn the_kernel_knows_who_may_enter_the_root_before_the_first_access() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    dir.run(["mount", "a.bsa", "mnt"]).success();
    // The kernel returns what it knows and asks nothing.
    let known = statx(CWD, dir.path("mnt"), AtFlags::STATX_DONT_SYNC, StatxFlags::MODE).unwrap();
    dir.run(["umount", "mnt"]).success();
    assert_eq!(format!("{:o}", known.stx_mode), "40755");
}

#[test]
fn uid_umask_and_allow_other_allow_exactly_one_other_user() {
    if !is_root() {
        return skipped("only root can act as another user");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let id = run(&mut dir.as_user("id", ["-u"])).success();
    let options = format!("allow_other,uid={},umask=077", id.trim());
    let mount = dir.mount(["a.bsa", "-o", &options]);
    let read = dir.as_user("cat", [mount.join("textures/clutter/pail.dds")]).output().unwrap();
    assert!(read.stdout == world_files()[1].1, "{read:?}");
}

#[test]
fn copies_of_files_and_folders_are_writable() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    dir.give_to_user();
    run(&mut dir.bsafs_as_user(["mount", "a.bsa", "mnt"])).success();
    run(&mut dir.as_user("cp", ["-r", "mnt/textures", "copy"])).success();
    run(&mut dir.as_user("cp", ["-a", "mnt/textures", "exact"])).success();
    for copy in ["copy", "exact"] {
        run(&mut dir.as_user("sh", ["-c", &format!("echo changed >{copy}/sky.dds")])).success();
        run(&mut dir.as_user("rm", ["-r", copy])).success();
    }
    let refused = run(&mut dir.as_user("sh", ["-c", "echo changed >mnt/textures/sky.dds"]));
    assert!(refused.code != 0 && refused.err.contains("Read-only file system"), "{refused:?}");
}

#[test]
fn root_replaces_the_dead_mount_of_a_user_only_as_that_user() {
    if !is_root() {
        return skipped("only root can mount over another user's mount");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    dir.give_to_user();
    run(&mut dir.bsafs_as_user(["mount", "a.bsa", "mnt"])).success();
    // While its daemon runs, the mount stays, although root cannot access it.
    assert_eq!(dir.run(["mount", "a.bsa", "mnt"]).code, 73);
    let status = run(&mut dir.as_user("readlink", ["mnt/.bsafs:status"])).success();
    let status: serde_json::Value = serde_json::from_str(status.trim()).unwrap();
    let pid = i32::try_from(status["pid"].as_i64().unwrap()).unwrap();
    signal(pid, Signal::KILL);
    until("the daemon to end", || !is_alive(pid));
    let finished = dir.run(["mount", "a.bsa", "mnt", "-o", "setuid=nobody"]);
    assert!(finished.code == 0 && finished.err.contains("removing the dead mount"), "{finished:?}");
    let read = dir.as_user("cat", ["mnt/readme.txt"]).output().unwrap();
    assert!(read.stdout == world_files()[4].1);
    dir.run(["umount", "mnt"]).success();
}

/// Commands that an ordinary user runs in a folder with the archive `a.bsa`: `wrapper` before the program.
fn hindered(dir: &TestDir, wrapper: &[&str], arguments: &[&str]) -> Finished {
    let program = dir.path("bsafs");
    let all = [wrapper, &[program.to_str().unwrap()], arguments].concat();
    run(&mut dir.as_user(all[0], &all[1..]))
}

#[test]
fn a_refusal_names_what_keeps_fusermount3_from_its_rights() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    fs::create_dir(dir.path("bin")).unwrap();
    let copy = dir.path("bin/fusermount3");
    // The copy has no setuid bit. The test itself writes no program, as in `give_to_user`.
    assert!(Command::new("cp").arg("/usr/bin/fusermount3").arg(&copy).status().unwrap().success());
    assert_eq!(fs::metadata(&copy).unwrap().mode() & 0o7000, 0);
    dir.give_to_user();
    let path = format!("PATH={}:/usr/bin:/bin", dir.path("bin").display());
    let no_setuid = format!("{} cannot become root, because it is not setuid root; ", copy.display());
    let no_privileges = "fusermount3 cannot become root, because no-new-privileges is set for this process; ";
    let namespace = "this process is in a user namespace, and has no rights over mounts ";
    let wrappers: [(&[&str], &str); 5] = [
        (&["setpriv", "--no-new-privs"], no_privileges),
        (&["env", &path], &no_setuid),
        (&["unshare", "--user"], namespace),
        (&["unshare", "--user", "--map-root-user"], namespace),
        // The copy of a mount in another mount namespace is locked.
        (&["unshare", "--user", "--map-root-user", "--mount"], namespace),
    ];
    // Root of a namespace with a mount table of its own may mount.
    for (wrapper, why) in &wrappers[..4] {
        let finished = hindered(&dir, wrapper, &["mount", "a.bsa", "mnt"]);
        let expected = format!("bsafs: {}: {why}", dir.path("mnt").display());
        assert_eq!((finished.code, finished.out.as_str()), (77, ""), "{wrapper:?} {finished:?}");
        assert!(finished.err.starts_with(&expected), "{wrapper:?} {finished:?}");
        assert!(!dir.path("mnt").exists(), "{wrapper:?}");
    }
    run(&mut dir.bsafs_as_user(["mount", "a.bsa", "mnt"])).success();
    for (wrapper, why) in wrappers {
        for arguments in [&["umount", "mnt"][..], &["umount", "--lazy", "mnt"]] {
            let finished = hindered(&dir, wrapper, arguments);
            assert_eq!((finished.code, finished.out.as_str()), (77, ""), "{wrapper:?} {finished:?}");
            let is_named = finished.err.starts_with("bsafs: cannot unmount ") && finished.err.contains(why);
            assert!(is_named && !finished.err.contains("--lazy"), "{wrapper:?} {arguments:?} {finished:?}");
        }
    }
    assert_eq!(mounts_below(&dir.path("")), [dir.path("mnt")]);
    run(&mut dir.bsafs_as_user(["umount", "mnt"])).success();
}

#[test]
fn root_and_users_of_a_container_without_the_right_to_mount_are_told_so() {
    if !is_root() {
        return skipped("only root can take a capability from the bounding set");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    dir.give_to_user();
    let why = "nothing in this container may mount or unmount, because it lacks CAP_SYS_ADMIN; ";
    for user in [&[][..], &["--reuid=nobody", "--regid=65534", "--clear-groups"]] {
        let owner = if user.is_empty() { "root" } else { "nobody" };
        run(Command::new("chown").arg(owner).arg(dir.path(""))).success();
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]).args(user);
        command.arg(dir.path("bsafs")).args(["mount", "a.bsa", "mnt"]).current_dir(dir.path(""));
        let finished = run(&mut command);
        assert_eq!((finished.code, finished.out.as_str()), (77, ""), "{user:?} {finished:?}");
        assert!(finished.err.contains(why), "{user:?} {finished:?}");
        assert!(!dir.path("mnt").exists(), "{user:?}");
    }
}

#[test]
fn a_mount_under_sudo_says_that_only_root_can_read_it() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let warning =
        "bsafs: warn: only root can read this mount; run bsafs without sudo, or add -o allow_other\n";
    for (options, user, expected) in [("ro", "me", warning), ("ro", "", ""), ("allow_other", "me", "")] {
        let mounted = run(dir.bsafs(["mount", "a.bsa", "mnt", "-o", options]).env("SUDO_USER", user));
        assert_eq!((mounted.code, &*mounted.err), (0, expected), "{options}");
        dir.run(["umount", "mnt"]).success();
    }
}
