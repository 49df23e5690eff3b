//! Tests of root's mounts in folders of another user, who exchanges folders and links while root mounts and
//! unmounts. What root mounted elsewhere must survive, and nothing else may be covered.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use bsafs::fuse::{MountRequest, unmount};
use bsafs::system::mountinfo::{self, MountEntry};
use bsafs::system::place::Place;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::mount::{MountFlags, mount};
use rustix::process::Signal;

use super::{world, world_files};
use crate::fake_mount::{Answers, FakeMount, hostile_user};
use crate::mounted::{DROP_OTHER_MOUNTS, Mounted, TestDir, is_root, run, signal, until};
use crate::watchdog;

/// Environment variable with the paths that [`exchange`] exchanges, separated by line ends: two paths, and
/// a folder that it waits for if it acts only once.
const EXCHANGE: &str = "BSAFS_EXCHANGE";

/// A folder of root's with `home/a/mnt`, which belongs to another user, and with `roots/mnt`, on which root
/// has mounted. The link `home/link` leads to `roots`.
struct World {
    dir: TestDir,
}

impl World {
    /// `None` if this is not root.
    fn new() -> Option<Self> {
        if !is_root() {
            eprintln!("SKIPPED: needs root");
            return None;
        }
        let dir = TestDir::new();
        dir.archive("a.bsa", &world());
        fs::create_dir_all(dir.path("home/a/mnt")).unwrap();
        fs::create_dir_all(dir.path("roots/mnt")).unwrap();
        symlink(dir.path("roots"), dir.path("home/link")).unwrap();
        let (user, group) = hostile_user();
        for path in ["home", "home/a", "home/a/mnt"] {
            chown(dir.path(path), Some(user), Some(group)).unwrap();
        }
        mount("roots", dir.path("roots/mnt"), "tmpfs", MountFlags::empty(), None).unwrap();
        Some(Self { dir })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path(name)
    }

    fn kind(&self, path: &str) -> Option<String> {
        mountinfo::mounted_at(&self.path(path)).map(|mounted| mounted.kind)
    }

    /// Whether root's mount is what it was: not unmounted, and not covered.
    fn is_untouched(&self) -> bool {
        self.kind("roots/mnt").as_deref() == Some("tmpfs")
    }

    /// Mounts the archive as root on a folder that then becomes the other user's.
    fn mount(&self) -> (Mounted, MountEntry) {
        let give = |user| ["home", "home/a"].map(|path| chown(self.path(path), Some(user), None).unwrap());
        give(0);
        let report = self.dir.run(["mount", "a.bsa", "home/a/mnt"]).success();
        give(hostile_user().0);
        let mounted = Mounted::at(&self.path("home/a/mnt"), report);
        let entry = mountinfo::mounted_at(&mounted.path).unwrap();
        (mounted, entry)
    }

    /// Exchanges two paths as the other user: in a loop, or once a folder was opened.
    fn exchanging(&self, first: &str, second: &str, once_opened: Option<&str>) -> Attacker {
        let paths = [Some(first), Some(second), once_opened];
        let paths: Vec<String> =
            paths.iter().flatten().map(|path| self.path(path).to_str().unwrap().to_owned()).collect();
        let (user, group) = hostile_user();
        Attacker::start(Command::new("/proc/self/exe").uid(user).gid(group), &paths.join("\n"))
    }
}

/// A process of the other user, which ends with the test.
struct Attacker(Child);

impl Attacker {
    fn start(command: &mut Command, exchanged: &str) -> Self {
        command.args(["mount::redirected::exchange", "--exact", "--nocapture"]).env(EXCHANGE, exchanged);
        command.envs([watchdog::mark()]).current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Attacker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Is no test, but the process of an [`Attacker`].
#[test]
fn exchange() {
    let Ok(exchanged) = std::env::var(EXCHANGE) else { return };
    let paths: Vec<&str> = exchanged.lines().collect();
    let exchange = || renameat_with(CWD, paths[0], CWD, paths[1], RenameFlags::EXCHANGE).unwrap();
    let Some(opened) = paths.get(2) else {
        loop {
            exchange();
        }
    };
    let watch = inotify::init(CreateFlags::CLOEXEC).unwrap();
    inotify::add_watch(&watch, *opened, WatchFlags::OPEN).unwrap();
    fs::write(format!("{}/ready", paths[0].rsplit_once('/').unwrap().0), "").unwrap();
    let mut buffer = [std::mem::MaybeUninit::uninit(); 512];
    let event = inotify::Reader::new(watch, &mut buffer).next().map(|event| event.events());
    assert_eq!(event.map(|event| event.contains(ReadFlags::OPEN)), Ok(true));
    exchange();
}

#[test]
fn a_mount_is_made_on_the_folder_that_was_examined() {
    let Some(world) = World::new() else { return };
    let path = world.path("home/a/mnt");
    let place = Arc::new(Place::open(&path).unwrap());
    let request = MountRequest {
        mountpoint: path,
        place: Some(place),
        fsname: "test".into(),
        ..MountRequest::default()
    };
    let exchanged = (world.path("home/a"), world.path("home/link"));
    renameat_with(CWD, &exchanged.0, CWD, &exchanged.1, RenameFlags::EXCHANGE).unwrap();
    let connection = request.mount_directly().unwrap();
    let mounted = request.entry(&connection).unwrap();
    assert_eq!(mounted.mountpoint, world.path("home/link/mnt"));
    assert!(world.is_untouched());
    drop(connection);
    unmount(&mounted, true).unwrap();
    assert!(world.is_untouched() && mounted.now().is_none());
}

#[test]
fn a_daemon_that_detaches_its_mount_before_it_answers_leads_root_nowhere() {
    let Some(world) = World::new() else { return };
    fs::create_dir(world.path("roots/folder")).unwrap();
    let mountpoint = world.path("home/a/mnt");
    let target = world.path("roots/folder").to_str().unwrap().to_owned();
    let answers = Answers {
        source: "x".into(),
        allow_other: true,
        owner: Some(0),
        links: [("out".into(), target)].into(),
        before_lookup: Some(format!("fusermount3 -uz '{}'", mountpoint.display())),
        ..Answers::default()
    };
    let _fake = FakeMount::start(&mountpoint, &answers);
    let finished = run(world.dir.bsafs(["extract", "a.bsa", "-C"]).arg(mountpoint.join("out/new")));
    assert_eq!(mountinfo::mounted_at(&mountpoint), None, "the daemon was not asked: {finished:?}");
    assert!(finished.code != 0 && finished.err.contains("another user can"), "{finished:?}");
    assert_eq!(fs::read_dir(world.path("roots/folder")).unwrap().count(), 0, "{finished:?}");
}

#[test]
fn a_daemon_that_says_it_is_dead_makes_root_unmount_only_its_own_mount() {
    let Some(world) = World::new() else { return };
    let home = world.path("home");
    let swap = format!("cd '{}' && mv a b && mv link a", home.display());
    let answers = Answers {
        source: "/a.bsa".into(),
        statfs: Some(rustix::io::Errno::NOTCONN.raw_os_error()),
        before_statfs: Some(swap),
        ..Answers::default()
    };
    let _fake = FakeMount::start(&world.path("home/a/mnt"), &answers);
    let finished = world.dir.run(["mount", "a.bsa", "home/a/mnt"]);
    assert!(!world.path("home/b").exists(), "the daemon was asked: {finished:?}");
    assert!(finished.code == 73 && world.is_untouched(), "{finished:?}");
}

#[test]
fn a_user_who_exchanges_a_folder_in_a_loop_does_not_make_root_unmount_another_mount() {
    let Some(world) = World::new() else { return };
    let (mounted, entry) = world.mount();
    let open = fs::File::open(mounted.join("readme.txt")).unwrap();
    let attacker = world.exchanging("home/a", "home/link", None);
    for _ in 0..300 {
        let _ = unmount(&entry, false);
        assert!(world.is_untouched());
    }
    // As the daemon does it, twice a second.
    signal(mounted.pid, Signal::TERM);
    drop(open);
    mounted.wait_for_end();
    drop(attacker);
    assert!(world.is_untouched() && entry.now().is_none());
}

#[test]
fn a_user_who_exchanges_mountpoints_in_his_namespace_does_not_make_root_unmount_another_mount() {
    let Some(world) = World::new() else { return };
    let other = world.path("home/a/other");
    fs::create_dir(&other).unwrap();
    mount("roots", &other, "tmpfs", MountFlags::empty(), None).unwrap();
    let other = mountinfo::mounted_at(&other).unwrap();
    let (mounted, entry) = world.mount();
    let open = fs::File::open(mounted.join("readme.txt")).unwrap();
    // In the user's namespace nothing is mounted there, so he can rename the folders below both mounts.
    let (user, group) = hostile_user();
    let script = format!(
        "cd \"$0\"; {DROP_OTHER_MOUNTS}; set -e; cd /; umount -l \"$0/mnt\" \"$0/other\"; exec 9<\"$3\"; \
         user=$1; group=$2; shift 3; \
         exec setpriv --reuid=$user --regid=$group --clear-groups /proc/self/fd/9 \"$@\""
    );
    let a = world.path("home/a");
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new("unshare");
    command
        .args(["-m", "sh", "-c", &script])
        .arg(&a)
        .args([user.to_string(), group.to_string()])
        .arg(program);
    let attacker = Attacker::start(&mut command, &format!("{0}/mnt\n{0}/other", a.display()));
    until("the attacker to act", || entry.now().is_none_or(|now| now.mountpoint != entry.mountpoint));
    // The mount may be detached although it is busy, but the other one stays.
    for _ in 0..300 {
        let ended = unmount(&entry, false);
        assert!(other.now().is_some(), "{ended:?}");
    }
    drop(open);
    mounted.wait_for_end();
    drop(attacker);
    assert!(other.now().is_some() && world.is_untouched());
}

#[test]
fn root_unmounts_a_users_mount_that_was_moved_and_nothing_at_its_old_path() {
    let Some(world) = World::new() else { return };
    world.dir.give_to_user();
    let report = run(&mut world.dir.bsafs_as_user(["mount", "a.bsa", "home/a/mnt"])).success();
    assert!(report.contains("home/a/mnt"), "{report}");
    let mounted = mountinfo::mounted_at(&world.path("home/a/mnt")).unwrap();
    fs::rename(world.path("home/a"), world.path("home/moved")).unwrap();
    fs::rename(world.path("home/link"), world.path("home/a")).unwrap();
    assert_eq!(world.kind("home/moved/mnt").as_deref(), Some("fuse.bsafs"));
    unmount(&mounted, false).unwrap();
    assert!(world.is_untouched() && world.kind("home/moved/mnt").is_none());
}

#[test]
fn a_mount_of_root_in_a_users_folder_is_served_and_unmounted() {
    let Some(world) = World::new() else { return };
    let (mounted, _) = world.mount();
    assert!(mounted.read("readme.txt") == world_files()[4].1);
    let open = fs::File::open(mounted.join("readme.txt")).unwrap();
    let busy = world.dir.run(["umount", "home/a/mnt"]);
    assert!(busy.code == 73 && busy.err.contains("busy"), "{busy:?}");
    drop(open);
    mounted.umount(&world.dir);
    assert!(Path::new(&mounted.path).is_dir());
}
