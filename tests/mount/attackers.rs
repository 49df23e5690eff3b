//! What root starts, as another user of the machine sees it: processes that run under his ID for a moment. He
//! watches for them, and tries to trace them, to take their descriptors, and to read their environment.

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::{world, world_files};
use crate::fake_mount::{Answers, FakeMount};
use crate::mounted::{Finished, TestDir, is_root, mounts_below, run, until};
use crate::watchdog;

/// The user who attacks. It is not `nobody`, whose processes other tests start.
const ATTACKER: &str = "daemon";
/// Environment variable with the file in which [`spy`] notes what it got.
const LOOT: &str = "BSAFS_SPY";
/// What only root knows.
const SECRET: (&str, &str) = ("XDG_CONFIG_HOME", "/root/only-root-knows-this");

/// One test at a time has processes of the attacker, because the spy of another would find them.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn attacker() -> (u32, u32) {
    let id = |flag| run(Command::new("id").args([flag, ATTACKER])).success().trim().parse().unwrap();
    (id("-u"), id("-g"))
}

/// A process of the attacker that watches for others. It ends with this value.
struct Spy {
    process: Child,
    loot: PathBuf,
}

impl Spy {
    fn start(dir: &TestDir) -> Self {
        let loot = dir.path("loot");
        let (user, group) = attacker();
        File::create(&loot).unwrap();
        chown(&loot, Some(user), Some(group)).unwrap();
        let mut command = Command::new("/proc/self/exe");
        command.args(["mount::attackers::spy", "--exact", "--nocapture"]).env(LOOT, &loot).current_dir("/");
        command.envs([watchdog::mark()]).stdin(Stdio::null()).stdout(Stdio::null()).uid(user).gid(group);
        let spy = Self { process: command.spawn().unwrap(), loot };
        until("the spy", || spy.loot().contains("watching\n"));
        spy
    }

    fn loot(&self) -> String {
        fs::read_to_string(&self.loot).unwrap()
    }

    /// Fails if the spy got anything, or saw none of the processes that it waited for.
    fn assert_empty_handed(&self) {
        until("the spy to see a process", || self.loot().contains("saw "));
        let loot = self.loot();
        let got: Vec<&str> = loot.lines().filter(|line| line.starts_with("got ")).collect();
        assert!(got.is_empty(), "the attacker {}", got.join("\n"));
    }
}

impl Drop for Spy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Is no test, but the process of a [`Spy`].
#[test]
fn spy() {
    let Ok(loot) = std::env::var(LOOT) else { return };
    let own = rustix::process::getuid().as_raw();
    let terminal_in = |stat: &str| {
        let fields = stat.rsplit_once(") ").map(|(_, fields)| fields.split(' ').nth(4).unwrap().to_owned());
        fields.unwrap_or_default()
    };
    // That of the tests, if a person runs them.
    let own_terminal = terminal_in(&fs::read_to_string("/proc/self/stat").unwrap());
    let mut noted = std::collections::BTreeSet::new();
    let mut note = |line: String| {
        if noted.insert(line.clone()) {
            let mut file = File::options().append(true).open(&loot).unwrap();
            std::io::Write::write_all(&mut file, format!("{line}\n").as_bytes()).unwrap();
        }
    };
    note("watching".into());
    loop {
        for process in fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = process.file_name().to_str().and_then(|it| it.parse::<i32>().ok()) else {
                continue;
            };
            let read = |name: &str| fs::read(process.path().join(name)).unwrap_or_default();
            let ids = String::from_utf8_lossy(&read("status")).into_owned();
            let is_own = ids.lines().any(|it| it.starts_with(&format!("Uid:\t{own}\t")));
            let environment = String::from_utf8_lossy(&read("environ")).into_owned();
            if !is_own || environment.contains(LOOT) || environment.contains("BSAFS_FAKE_MOUNT") {
                continue;
            }
            let stat = String::from_utf8_lossy(&read("stat")).into_owned();
            let Some((name, fields)) = stat.rsplit_once(") ") else { continue };
            // What his own mount starts has no environment yet while it begins.
            let parent = fields.split(' ').nth(1).map(|parent| format!("/proc/{parent}/environ"));
            let parent = parent.and_then(|path| fs::read(path).ok()).unwrap_or_default();
            if String::from_utf8_lossy(&parent).contains("BSAFS_FAKE_MOUNT") {
                continue;
            }
            let terminal = terminal_in(&stat);
            note(format!("saw {name}"));
            if terminal != own_terminal && terminal != "0" {
                note(format!("got a process on a terminal: {name}"));
            }
            if environment.contains(SECRET.1) {
                note(format!("got the environment of {name}"));
            }
            // Opening this needs the same permission as ptrace.
            if File::options().read(true).write(true).open(process.path().join("mem")).is_ok() {
                note(format!("got the memory of {name}"));
            }
            let taken = pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty())
                .and_then(|process| pidfd_getfd(process.as_fd(), 2, PidfdGetfdFlags::empty()));
            if taken.is_ok() {
                note(format!("got a descriptor of {name}"));
            }
            if fs::read_dir(process.path().join("fd")).is_ok_and(|mut it| it.next().is_some()) {
                note(format!("got the names of the open files of {name}"));
            }
        }
    }
}

/// Runs a command as root on a terminal, with a secret in its environment, and returns what it printed.
fn on_roots_terminal(dir: &TestDir, command: &str) -> Finished {
    let mut terminal = Command::new("script");
    terminal.args(["-qec", command, "/dev/null"]).current_dir(dir.path("")).envs([SECRET, ("TERM", "dumb")]);
    run(terminal.envs([watchdog::mark()]))
}

/// A folder with the program, an archive that everybody can read, and a folder of the attacker's.
fn scene() -> TestDir {
    let dir = TestDir::new();
    let archive = dir.archive("a.bsa", &world());
    fs::set_permissions(archive, fs::Permissions::from_mode(0o644)).unwrap();
    let (user, group) = attacker();
    for name in ["home", "home/fake", "home/mnt", "mnt"] {
        fs::create_dir(dir.path(name)).unwrap();
    }
    for name in ["home", "home/fake", "home/mnt"] {
        chown(dir.path(name), Some(user), Some(group)).unwrap();
    }
    dir
}

#[test]
fn a_user_cannot_attack_what_asks_his_mount_for_root() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let _alone = alone();
    let dir = scene();
    // The mount answers late, so that there is time to attack.
    let answers = Answers { before_statfs: Some("sleep 0.7".into()), ..Answers::default() };
    let _fake = FakeMount::start_as(attacker(), &dir.path("home/fake"), &answers);
    let spy = Spy::start(&dir);
    let refused = on_roots_terminal(&dir, &format!("{} mount a.bsa home/fake", env!("CARGO_BIN_EXE_bsafs")));
    assert!(refused.out.contains("another user can change"), "{refused:?}");
    spy.assert_empty_handed();
}

#[test]
fn the_user_of_a_setuid_mount_cannot_attack_its_daemon() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let _alone = alone();
    let dir = scene();
    let program = env!("CARGO_BIN_EXE_bsafs");
    // The daemon waits for a source on the user's own mount, and then fails.
    let answers = Answers {
        before_lookup: Some("sleep 0.7".into()),
        subtype: Some("other".into()),
        ..Answers::default()
    };
    let fake = FakeMount::start_as(attacker(), &dir.path("home/fake"), &answers);
    let spy = Spy::start(&dir);
    let options = format!("-o setuid={ATTACKER}");
    let failed = on_roots_terminal(&dir, &format!("{program} mount home/fake/a.bsa home/mnt {options}"));
    assert!(failed.code == 66 && failed.out.contains("home/fake/a.bsa"), "{failed:?}");
    spy.assert_empty_handed();
    drop(fake);
    // This daemon mounts, and is watched before and after that. The spy may see it before it reports.
    let seen = spy.loot().lines().filter(|line| line.starts_with("saw ")).count();
    let mounted = on_roots_terminal(&dir, &format!("{program} mount a.bsa home/mnt {options}"));
    assert!(mounted.code == 0 && mounted.out.contains("mounted 1 archive"), "{mounted:?}");
    let pid = daemon_of(&dir, "home/mnt");
    assert_eq!(fs::metadata(format!("/proc/{pid}/environ")).unwrap().uid(), 0, "its user may read it");
    let environment = fs::read_to_string(format!("/proc/{pid}/environ")).unwrap();
    assert!(!environment.contains(SECRET.1) && !environment.contains("TERM="), "{environment}");
    until("the spy to see the daemon", || {
        spy.loot().lines().filter(|it| it.starts_with("saw ")).count() > seen
    });
    spy.assert_empty_handed();
    let read = as_attacker("cat", &dir.path("home/mnt/readme.txt")).output().unwrap();
    assert!(read.stdout == world_files()[4].1, "{read:?}");
    dir.run(["umount", "home/mnt"]).success();
}

/// A program that the daemon starts under the user's ID could be traced. It would give the user root's
/// session keyring and its place in root's login session. Only a program that is setuid cannot be traced.
#[test]
fn the_daemon_of_a_setuid_mount_starts_no_program_that_its_user_can_trace_to_unmount() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let _alone = alone();
    let dir = scene();
    let script = "\
        set -e; real=$(readlink -f \"$(command -v setsid)\"); cp \"$real\" setsid; : > users; chmod 666 users
        printf '#!/bin/sh\\nid -u >> %s/users\\nexec %s/setsid \"$@\"\\n' \"$PWD\" \"$PWD\" > noted
        chmod 755 setsid noted; mount --bind noted \"$real\"
        $BSAFS mount -o setuid=$ATTACKER a.bsa home/mnt
        line=$($BSAFS mounts --json | grep \"\\\"$PWD/home/mnt\\\"\")
        pid=$(echo \"$line\" | sed 's/.*\"pid\":\\([0-9]*\\).*/\\1/'); kill -TERM $pid
        while kill -0 $pid 2>/dev/null; do sleep 0.05; done
        ! grep -F \"$PWD/home/mnt \" /proc/self/mounts";
    let mut command = Command::new("unshare");
    command.args(["-m", "--propagation", "private", "sh", "-c", script]).current_dir(dir.path(""));
    command.env("BSAFS", env!("CARGO_BIN_EXE_bsafs")).env("ATTACKER", ATTACKER);
    run(command.envs([watchdog::mark()])).success();
    let users = fs::read_to_string(dir.path("users")).unwrap();
    let (user, _) = attacker();
    assert!(users.lines().any(|it| it == "0"), "the way of this test to see programs is gone: {users}");
    assert!(!users.lines().any(|it| it == user.to_string()), "it can be traced: {users}");
}

#[test]
fn a_user_who_stops_the_daemon_of_his_setuid_mount_does_not_hang_root() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let _alone = alone();
    let dir = scene();
    // The daemon waits for a source on the user's own mount, which stops it.
    let answers = Answers {
        before_lookup: Some("pkill -STOP -u $(id -u) -f '[m]ount.*setuid'".into()),
        subtype: Some("other".into()),
        ..Answers::default()
    };
    let fake = FakeMount::start_as(attacker(), &dir.path("home/fake"), &answers);
    let began = std::time::Instant::now();
    let failed = dir.run(["mount", "home/fake/a.bsa", "home/mnt", "-o", &format!("setuid={ATTACKER}")]);
    assert!(began.elapsed().as_secs() < 30, "{:?}", began.elapsed());
    assert!(failed.code == 74 && failed.err.contains("its user stopped it"), "{failed:?}");
    assert!(!mounts_below(&dir.path("")).contains(&dir.path("home/mnt")));
    drop(fake);
}

#[test]
fn root_starts_no_program_from_a_folder_of_another_user() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let _alone = alone();
    let dir = scene();
    let (user, group) = attacker();
    fs::create_dir(dir.path("home/bin")).unwrap();
    for name in ["getent", "id", "setsid", "fusermount3", "mount", "sh"] {
        let path = dir.path("home/bin").join(name);
        fs::write(&path, format!("#!/bin/bash\ntouch '{}'\n", dir.path("home/ran").display())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        chown(path, Some(user), Some(group)).unwrap();
    }
    chown(dir.path("home/bin"), Some(user), Some(group)).unwrap();
    let path = format!("{}:{}", dir.path("home/bin").display(), std::env::var("PATH").unwrap());
    let options = format!("setuid={ATTACKER}");
    let mut command = dir.bsafs(["mount", "a.bsa", "home/mnt", "-o", &options]);
    run(command.env("PATH", path)).success();
    assert!(!dir.path("home/ran").exists(), "root ran a program of another user");
    dir.run(["umount", "home/mnt"]).success();
}

#[test]
fn a_profile_of_another_user_sets_what_concerns_the_content() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let _alone = alone();
    let dir = scene();
    let (user, group) = attacker();
    let profile = dir.path("home/p.toml");
    let write = |lines: &str| {
        fs::write(&profile, format!("archives = ['{}']\n{lines}", dir.path("a.bsa").display())).unwrap();
        chown(&profile, Some(user), Some(group)).unwrap();
    };
    let setuid = format!("setuid={ATTACKER}");
    // What only concerns the content is his to choose, and what root says on the command line counts.
    write("options = 'xattr,layout=per-archive'");
    dir.run(["mount", "home/p.toml", "home/mnt", "-o", &setuid]).success();
    assert!(as_attacker("cat", &dir.path("home/mnt/a/readme.txt")).status().unwrap().success());
    dir.run(["umount", "home/mnt"]).success();
    // For the user himself, the profile sets none of the others either, and nobody but him reads the mount.
    write("options = 'allow_other,uid=0,fsname=/dev/sda1,max_read=4096'");
    let mounted = dir.run(["mount", "home/p.toml", "home/mnt", "-o", &setuid]);
    assert!(mounted.code == 0 && mounted.err.contains("ignored: -o allow_other"), "{mounted:?}");
    let entry = bsafs::system::mountinfo::mounted_at(&dir.path("home/mnt")).unwrap();
    assert!(entry.user() == user && !entry.has_option("allow_other"), "{entry:?}");
    dir.run(["umount", "home/mnt"]).success();
    // A profile of root, in root's folder of profiles, sets everything.
    dir.own_profile("roots.toml", "archives = ['../../a.bsa']\noptions = 'allow_other'");
    dir.run_own(["mount", "roots", "mnt"]).success();
    assert!(as_attacker("cat", &dir.path("mnt/readme.txt")).status().unwrap().success());
    dir.run(["umount", "mnt"]).success();
}

/// A command that the attacker runs with one argument.
fn as_attacker(program: &str, argument: &Path) -> Command {
    let (user, group) = attacker();
    let mut command = Command::new(program);
    // The spy ignores it.
    command.arg(argument).env(LOOT, "").uid(user).gid(group);
    command
}

/// The process of the daemon that serves a mount, which root finds.
fn daemon_of(dir: &TestDir, mountpoint: &str) -> u64 {
    let mounts = dir.run(["mounts", "--json"]).success();
    let path = dir.path(mountpoint);
    let mounts = mounts.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let mount = mounts.into_iter().find(|mount| mount["mountpoint"].as_str() == path.to_str());
    mount.expect("no such mount")["pid"].as_u64().expect("the daemon does not answer")
}
