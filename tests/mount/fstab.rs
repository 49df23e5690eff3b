//! Tests of lines in /etc/fstab, as root and as an ordinary user. mount(8) calls bsafs itself if there is a
//! /sbin/mount.fuse.bsafs, as in packages, and otherwise mount.fuse3. The documents describe both.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use super::world;
use crate::fake_mount::hostile_user;
use crate::mounted::{DROP_OTHER_MOUNTS, Finished, TestDir, is_root, run};

/// Which program mount(8) calls.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Helper {
    Own,
    MountFuse3,
}

/// A folder with an archive that only its owner can read, and the mountpoints `roots` and `users`.
fn folder() -> Option<TestDir> {
    if !is_root() || !Path::new("/sbin/mount.fuse3").exists() {
        eprintln!("SKIPPED: needs root and /sbin/mount.fuse3");
        return None;
    }
    let dir = TestDir::new();
    dir.give_to_user();
    let archive = dir.archive("a.bsa", &world());
    fs::set_permissions(&archive, fs::Permissions::from_mode(0o600)).unwrap();
    let (user, group) = hostile_user();
    chown(&archive, Some(user), Some(group)).unwrap();
    chown(dir.path(""), Some(0), Some(0)).unwrap();
    fs::create_dir(dir.path("roots")).unwrap();
    fs::create_dir(dir.path("users")).unwrap();
    chown(dir.path("users"), Some(user), Some(group)).unwrap();
    Some(dir)
}

/// Installs bsafs in a separate mount namespace, makes `lines` its /etc/fstab, and runs a script there.
fn with_fstab(dir: &TestDir, helper: Helper, lines: &str, script: &str) -> Finished {
    fs::write(dir.path("fstab"), lines).unwrap();
    fs::create_dir_all(dir.path("sbin")).unwrap();
    // A folder cannot get a file for one namespace only, so links to all its programs cover it.
    let own = "sbin=$(readlink -f /sbin); mount --bind \"$sbin\" sbin; \
               mount -t tmpfs -o mode=755 none \"$sbin\"; \
               ln -s \"$PWD\"/sbin/* \"$sbin\"; ln -sf /usr/local/bin/bsafs \"$sbin/mount.fuse.bsafs\"";
    let own = if helper == Helper::Own { own } else { "true" };
    let script = format!(
        "set -e; cd '{}'; {DROP_OTHER_MOUNTS}; mount -t tmpfs -o mode=755 none /usr/local/bin; \
         cp bsafs /usr/local/bin; {own}; mount --bind fstab /etc/fstab; set +e; {script}",
        dir.path("").display()
    );
    run(Command::new("unshare").args(["-m", "sh", "-c", &script]))
}

/// Mounts one line, and prints the options in the mount table, the user of the daemon, and unmounts.
fn mount_line(dir: &TestDir, helper: Helper, user: &str, options: &str, mountpoint: &str) -> Finished {
    let path = dir.path(mountpoint);
    let line = format!("{} {} fuse.bsafs {options} 0 0\n", dir.path("a.bsa").display(), path.display());
    let script = format!(
        "runuser -u {user} -- mount '{0}' </dev/null >/dev/null || exit; \
         sed -n 's|.* {0} \\([^ ]*\\) \\(.* \\)*- \\(.*\\)|\\1 \\3|p' /proc/self/mountinfo; \
         for fd in /proc/[0-9]*/fd; do ls -l $fd 2>/dev/null | grep -q /dev/fuse \
         && tr '\\0' ' ' <${{fd%/fd}}/cmdline | grep -q '{1}' && stat -c %U ${{fd%/fd}}; done; umount '{0}'",
        path.display(),
        dir.path("a.bsa").display(),
    );
    with_fstab(dir, helper, &line, &script)
}

#[test]
fn each_kind_of_line_in_fstab_does_what_the_documents_say() {
    use Helper::{MountFuse3, Own};
    let Some(dir) = folder() else { return };
    // Program, who mounts, options, mountpoint, who runs the daemon.
    for (helper, user, options, mountpoint, daemon) in [
        (Own, "root", "ro", "roots", "root"),
        (MountFuse3, "root", "ro", "roots", "root"),
        (Own, "nobody", "ro,noauto,user", "users", "nobody"),
        (MountFuse3, "nobody", "ro,noauto,user", "users", "nobody"),
        (Own, "root", "ro,setuid=nobody", "users", "nobody"),
        (MountFuse3, "root", "ro,setuid=nobody", "users", "nobody"),
    ] {
        let finished = mount_line(&dir, helper, user, options, mountpoint);
        let what = format!("{helper:?} {options}: {finished:?}");
        let lines: Vec<&str> = finished.out.lines().collect();
        assert_eq!(lines.len(), 2, "{what}");
        for option in ["ro", "nosuid", "nodev", "default_permissions"] {
            assert!(lines[0].split([',', ' ']).any(|it| it == option), "{option}: {what}");
        }
        let (uid, _) = hostile_user();
        let owner = if daemon == "root" { 0 } else { uid };
        assert!(lines[0].contains(&format!("user_id={owner},")), "{what}");
        assert_eq!(lines[1], daemon, "{what}");
        assert_eq!(
            lines[0].contains("noexec"),
            options.contains("user,") || options.ends_with("user"),
            "{what}"
        );
    }
    // What fails, and the message.
    let no_access = "user has no write access to mountpoint";
    for (helper, user, options, mountpoint, message) in [
        (Own, "nobody", "ro,noauto,user", "roots", no_access),
        (MountFuse3, "nobody", "ro,noauto,user", "roots", no_access),
        (Own, "root", "ro,setuid=nobody", "roots", no_access),
        (MountFuse3, "root", "ro,setuid=nobody", "roots", no_access),
        (Own, "root", "ro,setuid=nobody,allow_other", "users", "only root may use allow_other"),
        (MountFuse3, "root", "ro,setuid=nobody,allow_other", "users", "only root may use allow_other"),
    ] {
        if options.contains("allow_other") && super::users::users_may_allow_other() {
            continue;
        }
        let finished = mount_line(&dir, helper, user, options, mountpoint);
        assert!(finished.err.contains(message), "{helper:?} {options}: {finished:?}");
        assert_eq!(finished.out, "", "{helper:?} {options}: {finished:?}");
    }
}

#[test]
fn the_lines_for_fstab_in_the_documents_mount() {
    let Some(dir) = folder() else { return };
    let documents = dir.run(["help", "profiles"]).success();
    let lines: Vec<&str> = documents.lines().filter(|line| line.contains(" fuse.bsafs ")).collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    for line in lines {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // The same paths below this folder. The text says whose folders and archives must be.
        let [source, mountpoint] = [fields[0], fields[1]].map(|path| dir.path(path.trim_start_matches('/')));
        let file = source.to_str().unwrap().replace(r"\040", " ");
        let options: Vec<&str> = fields[3].split(',').collect();
        let user = if options.contains(&"user") { "nobody" } else { "root" };
        let reader = options.iter().find_map(|option| option.strip_prefix("setuid=")).unwrap_or(user);
        fs::create_dir_all(Path::new(&file).parent().unwrap()).unwrap();
        fs::create_dir_all(&mountpoint).unwrap();
        if file.ends_with(".toml") {
            fs::write(&file, format!("archives = ['{}']", dir.path("b.bsa").display())).unwrap();
        }
        let archive = if file.ends_with(".toml") { dir.path("b.bsa") } else { file.into() };
        fs::copy(dir.path("a.bsa"), &archive).unwrap();
        run(Command::new("chown").arg(reader).arg(&archive)).success();
        run(Command::new("chown").arg(reader).arg(&mountpoint)).success();
        let script = format!(
            "runuser -u {user} -- mount '{0}' </dev/null >/dev/null && runuser -u {reader} -- \
             stat -c %s '{0}/readme.txt'; umount '{0}'",
            mountpoint.display()
        );
        let fstab = format!("{} {} {}\n", source.display(), mountpoint.display(), fields[2..].join(" "));
        let finished = with_fstab(&dir, Helper::Own, &fstab, &script);
        assert_eq!((finished.out.as_str(), finished.code), ("800\n", 0), "{line}: {finished:?}");
    }
}
