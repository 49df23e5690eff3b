//! Tests of `bsafs open` as a file manager starts it: in a separate home, with an `xdg-open` that
//! records what it should open.

mod menus; // the list of games, and the origin of a file

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::{world, world_files};
use crate::mounted::{
    Finished, Mounted, TestDir, finish, is_alive, is_root, mounts_below, run, signal, until,
};
use crate::support::Tes3;

/// A separate home without a terminal, and with a display that does not exist.
struct Desktop {
    dir: TestDir,
}

impl Desktop {
    fn new() -> Self {
        let dir = TestDir::new();
        dir.archive("a.bsa", &world());
        fs::create_dir(dir.path("bin")).unwrap();
        fs::create_dir(dir.path("home")).unwrap();
        let desktop = Self { dir };
        desktop.program("xdg-open", "printf '%s\\n' \"$1\" >> opened");
        desktop
    }

    /// Installs a script that takes precedence over the system's program of that name.
    fn program(&self, name: &str, script: &str) {
        let path = self.dir.path("bin").join(name);
        let text = format!("#!/bin/sh\ncd '{}'\n{script}\n", self.dir.path("").display());
        fs::write(self.dir.path("script"), text).unwrap();
        // `cp` copies the script, for the reason given in `TestDir::give_to_user`.
        assert!(Command::new("cp").arg(self.dir.path("script")).arg(&path).status().unwrap().success());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn command<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Command {
        let mut command = self.dir.bsafs(arguments);
        let path = format!("{}:{}", self.dir.path("bin").display(), std::env::var("PATH").unwrap());
        command.env("HOME", self.dir.path("home")).env("PATH", path).env("DISPLAY", ":none");
        for name in
            ["WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "BSAFS_OPEN_BELOW"]
        {
            command.env_remove(name);
        }
        command
    }

    fn run<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Finished {
        run(&mut self.command(arguments))
    }

    /// The paths that `xdg-open` was asked to open so far.
    fn opened(&self) -> Vec<PathBuf> {
        let text = fs::read_to_string(self.dir.path("opened")).unwrap_or_default();
        text.lines().map(PathBuf::from).collect()
    }

    fn mounted(&self, name: &str) -> PathBuf {
        self.dir.path("home/bsafs-mounts").join(name)
    }

    fn mounts(&self) -> Vec<PathBuf> {
        mounts_below(&self.dir.path(""))
    }
}

/// The mount at a path, which `bsafs open` made.
fn mounted_at(path: &Path) -> Mounted {
    Mounted::at(path, String::new())
}

#[test]
fn open_mounts_below_the_home_and_umount_removes_the_folders() {
    let desktop = Desktop::new();
    let there = desktop.mounted("a");
    let out = desktop.run(["open", "a.bsa"]).success();
    assert_eq!(out, format!("{0}\nunmount: bsafs umount {0}\n", there.display()));
    assert_eq!(desktop.opened(), vec![there.clone()]);
    let mount = mounted_at(&there);
    assert!(mount.read("readme.txt") == world_files()[4].1);
    assert_eq!(desktop.run(["umount", "a.bsa"]).success(), "");
    assert!(!is_alive(mount.pid) && !desktop.dir.path("home/bsafs-mounts").exists());
}

#[test]
fn the_old_default_folder_is_used_as_long_as_something_is_mounted_there() {
    let desktop = Desktop::new();
    desktop.dir.archive("b.bsa", &Tes3::new().file("b.txt", b"b").build());
    fs::create_dir_all(desktop.dir.path("home/bsafs/src")).unwrap();
    desktop.run(["open", "a.bsa"]).success();
    let new = mounted_at(&desktop.mounted("a"));
    desktop.run(["umount", "a.bsa"]).success();
    drop(new);
    fs::create_dir(desktop.dir.path("home/bsafs/a")).unwrap();
    let report = desktop.run(["mount", "a.bsa", "home/bsafs/a"]).success();
    let old = Mounted::at(&desktop.dir.path("home/bsafs/a"), report);
    desktop.run(["open", "b.bsa"]).success();
    let beside = mounted_at(&desktop.dir.path("home/bsafs/b"));
    assert_eq!((beside.read("b.txt"), desktop.mounts().len()), (b"b".to_vec(), 2));
    drop(old);
}

#[test]
fn open_uses_an_existing_mount_of_the_same_sources() {
    let desktop = Desktop::new();
    desktop.dir.archive("b.bsa", &Tes3::new().file("b.txt", b"b").build());
    std::os::unix::fs::symlink(desktop.dir.path("a.bsa"), desktop.dir.path("link.bsa")).unwrap();
    let mount = desktop.dir.mount(["a.bsa"]);
    for source in ["a.bsa", "link.bsa", "mnt"] {
        desktop.run(["open", source]).success();
    }
    assert_eq!(desktop.opened(), vec![mount.path.clone(); 3]);
    assert_eq!(desktop.mounts(), vec![mount.path.clone()]);
    // Other sources get another mount.
    desktop.run(["open", "a.bsa", "b.bsa"]).success();
    let both = mounted_at(&desktop.mounted("b"));
    assert_eq!(both.read("b.txt"), b"b");
    desktop.run(["-q", "open", "b.bsa", "a.bsa"]).success();
    assert_eq!(mounted_at(&desktop.mounted("a")).read("b.txt"), b"b");
    assert_eq!(desktop.opened().len(), 5);
}

#[test]
fn simultaneous_double_clicks_create_one_mount() {
    let desktop = Desktop::new();
    let open = || {
        let mut command = desktop.command(["open", "a.bsa"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let opening: Vec<_> = (0..5).map(|_| open()).collect();
    for child in opening {
        drop(finish(child).success());
    }
    assert_eq!(desktop.mounts(), [desktop.mounted("a")]);
    assert_eq!(desktop.opened(), vec![desktop.mounted("a"); 5]);
}

#[test]
fn a_mountpoint_with_a_taken_name_is_numbered() {
    let desktop = Desktop::new();
    fs::create_dir_all(desktop.mounted("a")).unwrap();
    fs::write(desktop.mounted("a").join("mine"), "mine").unwrap();
    fs::create_dir(desktop.dir.path("other")).unwrap();
    desktop.dir.archive("other/a.bsa", &Tes3::new().file("b.txt", b"b").build());
    desktop.run(["open", "a.bsa"]).success();
    desktop.run(["open", "other/a.bsa"]).success();
    assert_eq!(desktop.opened(), [desktop.mounted("a (2)"), desktop.mounted("a (3)")]);
    let mounts = ["a (2)", "a (3)"].map(|name| mounted_at(&desktop.mounted(name)));
    for pid in mounts.each_ref().map(|mount| mount.pid) {
        let shown = run(Command::new("ps").args(["-o", "args=", "-p", &pid.to_string()])).success();
        assert!(shown.starts_with("bsafs mount ") && shown.contains("/bsafs-mounts/a ("), "{shown}");
        signal(pid, Signal::TERM);
        until("the daemon to end", || !is_alive(pid));
    }
    let left: Vec<_> = fs::read_dir(desktop.dir.path("home/bsafs-mounts")).unwrap().flatten().collect();
    assert_eq!(left.iter().map(fs::DirEntry::file_name).collect::<Vec<_>>(), ["a"]);
}

#[test]
fn the_dead_mount_of_a_killed_daemon_is_replaced() {
    let desktop = Desktop::new();
    desktop.run(["open", "a.bsa"]).success();
    let there = desktop.mounted("a");
    let killed = mounted_at(&there);
    signal(killed.pid, Signal::KILL);
    killed.wait_for_end();
    let finished = desktop.run(["open", "a.bsa"]);
    assert_eq!(finished.code, 0, "{finished:?}");
    assert_eq!(desktop.opened(), vec![there.clone(); 2]);
    assert_eq!(desktop.mounts(), vec![there.clone()]);
    let killed = mounted_at(&there);
    signal(killed.pid, Signal::KILL);
    killed.wait_for_end();
    assert_eq!(desktop.run(["umount", there.to_str().unwrap()]).success(), "");
    assert!(!desktop.dir.path("home/bsafs-mounts").exists());
}

#[test]
fn a_flag_or_a_variable_sets_the_folder_for_mounts() {
    let desktop = Desktop::new();
    let elsewhere = desktop.dir.path("Größe $HOME");
    let mut command = desktop.command(["open", "a.bsa"]);
    run(command.env("BSAFS_OPEN_BELOW", &elsewhere)).success();
    assert_eq!(desktop.opened(), [elsewhere.join("a")]);
    desktop.dir.archive("b.bsa", &world());
    let mut command = desktop.command(["open", "b.bsa", "--below", "~/x"]);
    run(command.env("BSAFS_OPEN_BELOW", &elsewhere)).success();
    assert_eq!(desktop.opened()[1], desktop.dir.path("home/x/b"));
    let below = elsewhere.to_str().unwrap();
    assert_eq!(desktop.run(["umount", "--all", "--below", below]).success(), "");
    assert!(!elsewhere.exists());
    assert_eq!(desktop.mounts(), [desktop.dir.path("home/x/b")]);
}

#[test]
fn open_does_not_use_the_mount_of_another_user() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let desktop = Desktop::new();
    let other = TestDir::new();
    fs::create_dir(other.path("theirs")).unwrap();
    other.give_to_user();
    let archive = desktop.dir.path("a.bsa");
    // Another program of that user could pretend to mount the archive.
    let options = ["mount", archive.to_str().unwrap(), "theirs", "-o", "setuid=nobody"];
    run(Command::new(other.path("bsafs")).args(options).current_dir(other.path(""))).success();
    desktop.run(["open", "a.bsa"]).success();
    assert_eq!(desktop.opened(), [desktop.mounted("a")]);
}

#[test]
fn open_mounts_a_profile_on_its_own_mountpoint() {
    let desktop = Desktop::new();
    let there = desktop.dir.path("home/mnt");
    let own = desktop.dir.path("home/.config/bsafs/p.toml");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    fs::write(&own, "archives = ['../../../a.bsa']\nmountpoint = '~/mnt'").unwrap();
    desktop.run(["open", "p"]).success();
    desktop.run(["open", own.to_str().unwrap()]).success();
    assert_eq!(desktop.opened(), vec![there.clone(); 2]);
    assert_eq!(desktop.run(["umount", "p"]).success(), "");
    assert!(desktop.dir.path("home").exists() && !there.exists());
}

#[test]
fn open_mounts_a_profile_that_came_with_a_mod_where_it_mounts_archives() {
    let desktop = Desktop::new();
    let text = "archives = ['a.bsa']\nmountpoint = '~/.local/bin'\noptions = 'edit=~/startup,fmode=777'";
    fs::write(desktop.dir.path("mod.toml"), text).unwrap();
    let opened = desktop.run(["open", "mod.toml"]);
    assert_eq!(opened.code, 0, "{opened:?}");
    assert!(opened.err.contains("ignored: mountpoint; only a profile that is a file"), "{opened:?}");
    assert!(opened.err.contains("ignored: -o edit, -o fmode; only a profile that is a file"), "{opened:?}");
    assert_eq!(desktop.opened(), [desktop.mounted("mod")]);
    assert!(!desktop.dir.path("home/.local").exists() && !desktop.dir.path("home/startup").exists());
}

#[test]
fn open_starts_the_daemon_as_a_service_of_the_user_manager() {
    let desktop = Desktop::new();
    let name = OsStr::from_bytes("50% $HOME \u{fc} 'x'.bsa".as_bytes());
    fs::rename(desktop.dir.path("a.bsa"), desktop.dir.path(name)).unwrap();
    fs::create_dir_all(desktop.dir.path("run/systemd")).unwrap();
    let _manager = UnixListener::bind(desktop.dir.path("run/systemd/private")).unwrap();
    // The script acts as the manager: it runs the command in the background, and returns once the
    // command has reported that it is ready.
    desktop.program(
        "systemd-run",
        "printf '%s\\n' \"$@\" > service\nwhile [ \"$1\" != -- ]; do shift; done; shift\n\
         program=$1; shift; \
         for it; do shift; set -- \"$@\" \"$(printf %s \"$it\" | sed 's/\\$\\$/$/g')\"; done\n\
         \"$program\" \"$@\" > ready 2>&1 </dev/null &\necho $! > pid\n\
         while [ ! -s ready ]; do sleep 0.01; done",
    );
    let mut command = desktop.command([OsStr::new("open"), name]);
    run(command.env("XDG_RUNTIME_DIR", desktop.dir.path("run"))).success();
    let there = desktop.mounted("50% $HOME \u{fc} 'x'");
    let mount = mounted_at(&there);
    assert!(mount.read("readme.txt") == world_files()[4].1);
    let pid: i32 = fs::read_to_string(desktop.dir.path("pid")).unwrap().trim().parse().unwrap();
    assert_eq!(mount.pid, pid, "the daemon does not run as the service");
    let arguments = fs::read_to_string(desktop.dir.path("service")).unwrap();
    for expected in
        ["--user", "--collect", "--service-type=notify", "--property=SendSIGHUP=yes", "--foreground"]
    {
        assert!(arguments.lines().any(|line| line == expected), "{expected}: {arguments}");
    }
    assert!(arguments.contains("/50% $$HOME \u{fc} 'x'.bsa\n"), "{arguments}");
    assert_eq!(desktop.run([OsStr::new("umount"), name]).success(), "");
}

#[test]
fn the_daemon_runs_in_the_background_if_systemd_run_fails() {
    let desktop = Desktop::new();
    fs::create_dir_all(desktop.dir.path("run/systemd")).unwrap();
    let _manager = UnixListener::bind(desktop.dir.path("run/systemd/private")).unwrap();
    desktop.program("systemd-run", "echo no >&2; touch asked; exit 1");
    let mut command = desktop.command(["open", "a.bsa"]);
    run(command.env("XDG_RUNTIME_DIR", desktop.dir.path("run"))).success();
    assert!(desktop.dir.path("asked").exists());
    assert!(mounted_at(&desktop.mounted("a")).read("readme.txt") == world_files()[4].1);
}

#[test]
fn open_says_also_on_the_desktop_that_an_archive_is_cut_off() {
    let desktop = Desktop::new();
    let whole = world();
    fs::write(desktop.dir.path("cut.bsa"), &whole[..whole.len() - 10]).unwrap();
    desktop.program("notify-send", "printf '%s\\n' \"$@\" >notified");
    let out = desktop.run(["open", "cut.bsa"]).success();
    assert!(out.contains("\nodd: 1 archive that is cut off ("), "{out}");
    let notified = fs::read_to_string(desktop.dir.path("notified")).unwrap();
    assert!(notified.contains("odd: 1 archive that is cut off ("), "{notified}");
    desktop.run(["umount", "cut.bsa"]).success();
}

#[test]
fn without_a_terminal_open_shows_errors_on_the_desktop() {
    let desktop = Desktop::new();
    let name = "<b>&\\n$(touch x)`touch x`.bsa";
    fs::write(desktop.dir.path(name), "no archive").unwrap();
    // `notify-send` fails, as it does without a notification server.
    desktop.program("notify-send", "printf '%s|' \"$@\" > notified; exit 1");
    desktop.program("zenity", "printf '%s|' \"$@\" > shown");
    desktop.program("kdialog", "touch third");
    let finished = desktop.run(["open", name]);
    assert_eq!(finished.code, 65, "{finished:?}");
    assert!(finished.err.starts_with("bsafs: ") && finished.err.contains(name), "{finished:?}");
    let notified = fs::read_to_string(desktop.dir.path("notified")).unwrap();
    assert!(notified.starts_with("--app-name=bsafs|--icon=dialog-error|--|bsafs|bsafs: "), "{notified}");
    assert!(notified.contains(r"&lt;b&gt;&amp;\\n$(touch x)`touch x`.bsa"), "{notified}");
    let shown = fs::read_to_string(desktop.dir.path("shown")).unwrap();
    assert!(shown.starts_with("--error|--no-markup|--title=bsafs|--text|bsafs: "), "{shown}");
    assert!(shown.contains(name), "{shown}");
    assert!(!desktop.dir.path("third").exists() && !desktop.dir.path("x").exists());
    assert!(desktop.opened().is_empty() && !desktop.dir.path("home/bsafs-mounts").exists());
}

#[test]
fn umount_with_notify_shows_the_processes_that_use_a_busy_mount() {
    let desktop = Desktop::new();
    desktop.program("notify-send", "printf '%s|' \"$@\" > shown");
    desktop.run(["open", "a.bsa"]).success();
    let there = desktop.mounted("a");
    let mut holder = Command::new("cat");
    let mut holder = holder.current_dir(&there).stdin(Stdio::piped()).spawn().unwrap();
    let there = there.to_str().unwrap();
    let busy = |arguments: &[&str]| {
        let finished = desktop.run(arguments.iter().copied().chain([there]));
        assert!(finished.code == 73 && finished.err.matches(there).count() == 1, "{finished:?}");
        assert!(finished.err.contains(&holder.id().to_string()), "{finished:?}");
    };
    busy(&["umount"]);
    assert!(!desktop.dir.path("shown").exists(), "a message was shown without --notify");
    busy(&["umount", "--notify"]);
    let shown = fs::read_to_string(desktop.dir.path("shown")).unwrap();
    assert!(shown.contains(there) && shown.contains(&holder.id().to_string()), "{shown}");
    drop(holder.stdin.take());
    holder.wait().unwrap();
    fs::remove_file(desktop.dir.path("shown")).unwrap();
    desktop.run(["umount", "--notify", there]).success();
    assert!(!desktop.dir.path("shown").exists() && desktop.mounts().is_empty());
}

#[test]
fn without_a_display_open_only_names_the_mountpoint() {
    let desktop = Desktop::new();
    desktop.program("notify-send", "touch shown");
    let mut command = desktop.command(["open", "a.bsa"]);
    let finished = run(command.env_remove("DISPLAY"));
    assert_eq!(finished.code, 69, "{finished:?}");
    let there = desktop.mounted("a");
    let what = format!("bsafs: mounted at {}, but there is no display", there.display());
    assert!(finished.err.starts_with(&what), "{finished:?}");
    assert!(desktop.opened().is_empty() && !desktop.dir.path("shown").exists());
    assert_eq!(desktop.mounts(), [there]);
}

#[test]
fn root_opens_nothing_where_another_user_decides() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let desktop = Desktop::new();
    fs::create_dir(desktop.dir.path("theirs")).unwrap();
    std::os::unix::fs::chown(desktop.dir.path("theirs"), Some(12345), Some(12345)).unwrap();
    let refused = desktop.run(["open", "a.bsa", "--below", "theirs"]);
    assert!(refused.code == 73 && refused.err.contains("another user can change"), "{refused:?}");
    assert!(desktop.opened().is_empty() && desktop.mounts().is_empty());
}

#[test]
fn open_fails_without_a_file_manager_and_does_not_wait_for_it() {
    let desktop = Desktop::new();
    desktop.program("notify-send", "exit 0");
    desktop.program("xdg-open", "exit 3");
    let failed = desktop.run(["open", "a.bsa"]);
    assert!(failed.code == 69 && failed.err.contains("found no file manager"), "{failed:?}");
    desktop.program("xdg-open", "echo $$ > manager; exec sleep 1000");
    desktop.run(["open", "a.bsa"]).success();
    let manager: i32 = fs::read_to_string(desktop.dir.path("manager")).unwrap().trim().parse().unwrap();
    assert!(is_alive(manager));
    signal(manager, Signal::KILL);
    // There is no xdg-open at all: PATH has only this folder, without the system's programs. Those are in the
    // PATH of root in any case.
    fs::remove_file(desktop.dir.path("bin/xdg-open")).unwrap();
    if !is_root() || !Path::new("/usr/bin/xdg-open").exists() {
        let mut command = desktop.command(["open", "a.bsa"]);
        let missing = run(command.env("PATH", desktop.dir.path("bin")));
        assert!(missing.code == 69 && missing.err.contains("install"), "{missing:?}");
    }
    assert_eq!(desktop.mounts(), [desktop.mounted("a")]);
}
