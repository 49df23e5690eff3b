//! A mount of a hostile user: a small file system that says it is one of bsafs and answers what a test wants.
//!
//! The file system runs in a process of its own, as the user `nobody` if root runs the tests. This process is
//! the test program, started again for the test [`serve`]. It mounts through fusermount3, as every user can.

#![allow(dead_code, unreachable_pub, reason = "`pub` here means: for tests")]

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr};
use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, Generation, INodeNo, LockOwner, MountOption,
    OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEntry, ReplyStatfs, Request, Session, SessionACL,
};
use rustix::mount::MountFlags;
use serde::{Deserialize, Serialize};

use crate::mounted::{is_root, mounts_below, run, unmount_lazily, until};
use crate::watchdog;

/// Environment variable with the [`Answers`] of [`serve`], and the mountpoint.
const SERVE: &str = "BSAFS_FAKE_MOUNT";

/// What a fake mount answers. By default, its root is an empty folder and every request succeeds.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Answers {
    /// The source that the mount table shows.
    pub source: String,
    /// What follows `fuse.` in the type; `bsafs` if it is `None`.
    pub subtype: Option<String>,
    /// Whether every user may access the mount. Root makes such a mount for the hostile user and hands him
    /// the connection, because /etc/fuse.conf may lack `user_allow_other`.
    pub allow_other: bool,
    /// Links in the root and their targets, such as `.bsafs:status`. Listings do not show them.
    pub links: BTreeMap<String, String>,
    /// Files in the root and their contents.
    pub files: BTreeMap<String, String>,
    /// What `statfs` fails with.
    pub statfs: Option<i32>,
    /// What every LOOKUP fails with.
    pub lookup: Option<i32>,
    /// The user who owns all files; the hostile user himself if it is `None`.
    pub owner: Option<u32>,
    /// Whether the process stays after its mount has ended.
    pub stays: bool,
    /// Names whose LOOKUP is never answered; `statfs` stands for that request.
    pub mute: Vec<String>,
    /// What GETATTR of the root fails with.
    pub getattr: Option<i32>,
    /// A shell command that runs before each answer to `statfs`.
    pub before_statfs: Option<String>,
    /// A shell command that runs before each answer to a LOOKUP; `$1` is the name.
    pub before_lookup: Option<String>,
}

/// A fake mount. When it is dropped, it is unmounted and its process ends.
#[derive(Debug)]
pub struct FakeMount {
    pub mountpoint: PathBuf,
    pub server: Child,
}

/// The user and group IDs of the hostile user: `nobody`, or this user if root does not run the tests.
pub fn hostile_user() -> (u32, u32) {
    let id = |flag| run(Command::new("id").args(["nobody"]).arg(flag)).success().trim().parse().unwrap();
    if is_root() {
        (id("-u"), id("-g"))
    } else {
        (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
    }
}

impl FakeMount {
    /// Mounts on a folder that belongs to the hostile user, and waits until the mount is there.
    pub fn start(mountpoint: &Path, answers: &Answers) -> Self {
        Self::start_as(hostile_user(), mountpoint, answers)
    }

    /// The same as another user, for root's tests.
    pub fn start_as((user, group): (u32, u32), mountpoint: &Path, answers: &Answers) -> Self {
        let serving = serde_json::to_string(&(mountpoint, answers)).unwrap();
        // `nobody` may be unable to reach cargo's build folder, but not this link of the kernel.
        let mut command = Command::new("/proc/self/exe");
        command.args(["fake_mount::serve", "--exact", "--nocapture"]).env(SERVE, serving);
        command.envs([watchdog::mark()]).current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
        if is_root() && answers.allow_other {
            command.stdin(mounted_by_root((user, group), mountpoint, &answers.source));
        }
        if is_root() {
            command.uid(user).gid(group);
        }
        let server = command.spawn().unwrap();
        let mut fake = Self { mountpoint: mountpoint.to_owned(), server };
        until("the fake mount", || {
            assert!(fake.server.try_wait().unwrap().is_none(), "the fake mount failed");
            mounts_below(mountpoint).contains(&fake.mountpoint)
        });
        fake
    }

    /// Ends the server at once, so that the mount is dead but stays.
    pub fn kill(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}

impl Drop for FakeMount {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
        if mounts_below(&self.mountpoint).contains(&self.mountpoint) {
            unmount_lazily(&self.mountpoint);
        }
    }
}

/// Mounts for the hostile user, and returns the connection.
fn mounted_by_root((user, group): (u32, u32), mountpoint: &Path, source: &str) -> OwnedFd {
    let device = File::options().read(true).write(true).open("/dev/fuse").unwrap();
    let options =
        format!("fd={},rootmode=40000,user_id={user},group_id={group},allow_other", device.as_raw_fd());
    let (flags, options) = (MountFlags::NOSUID | MountFlags::NODEV, CString::new(options).unwrap());
    rustix::mount::mount(source, mountpoint, "fuse.bsafs", flags, options.as_c_str()).unwrap();
    device.into()
}

/// Is no test, but the server of a [`FakeMount`].
#[test]
fn serve() {
    let Ok(serving) = std::env::var(SERVE) else { return };
    let (mountpoint, answers): (PathBuf, Answers) = serde_json::from_str(&serving).unwrap();
    let mut config = Config::default();
    // The kernel refuses an empty source.
    let source = if answers.source.is_empty() { "fake" } else { &answers.source };
    config.mount_options = vec![
        MountOption::FSName(source.into()),
        MountOption::Subtype(answers.subtype.clone().unwrap_or("bsafs".into())),
        MountOption::RO,
        MountOption::NoSuid,
        MountOption::NoDev,
    ];
    config.acl = if answers.allow_other { SessionACL::All } else { SessionACL::Owner };
    if fs::read_link("/proc/self/fd/0").is_ok_and(|it| it == Path::new("/dev/fuse")) {
        let connection = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
        let stays = answers.stays;
        let ended = Session::from_fd(Fake(answers), connection, SessionACL::All, config).unwrap().run();
        if stays {
            loop {
                std::thread::park();
            }
        }
        return ended.unwrap();
    }
    fuser::mount(Fake(answers), mountpoint, &config).unwrap();
}

struct Fake(Answers);

/// How long the kernel keeps an answer.
const KEPT: Duration = Duration::ZERO;

impl Fake {
    /// The names in the root, in the order of their inode numbers, which begin at 2.
    fn names(&self) -> impl Iterator<Item = (u64, &String, &String, FileType)> {
        let links = self.0.links.iter().map(|(name, target)| (name, target, FileType::Symlink));
        let files = self.0.files.iter().map(|(name, text)| (name, text, FileType::RegularFile));
        (2..).zip(links.chain(files)).map(|(number, (name, text, kind))| (number, name, text, kind))
    }

    fn attributes(&self, number: u64) -> Option<FileAttr> {
        let found =
            self.names().find(|it| it.0 == number).map(|(_, _, text, kind)| (text.len() as u64, kind));
        let (size, kind) = if number == 1 { (0, FileType::Directory) } else { found? };
        let perm = if kind == FileType::RegularFile { 0o644 } else { 0o755 };
        let uid = self.0.owner.unwrap_or(rustix::process::getuid().as_raw());
        let gid = rustix::process::getgid().as_raw();
        let (ino, blocks, nlink, rdev, flags, blksize) = (INodeNo(number), 1, 1, 0, 0, 512);
        let (atime, mtime, ctime, crtime) = (UNIX_EPOCH, UNIX_EPOCH, UNIX_EPOCH, UNIX_EPOCH);
        Some(FileAttr {
            ino,
            size,
            blocks,
            atime,
            mtime,
            ctime,
            crtime,
            kind,
            perm,
            nlink,
            uid,
            gid,
            rdev,
            flags,
            blksize,
        })
    }

    fn is_mute(&self, name: &OsStr) -> bool {
        self.0.mute.iter().any(|it| name == it.as_str())
    }

    fn text(&self, number: u64) -> Option<&str> {
        self.names().find(|it| it.0 == number).map(|it| it.2.as_str())
    }
}

fn run_first(script: Option<&String>, name: &OsStr) {
    if let Some(script) = script {
        let _ = Command::new("sh").args(["-c", script, "sh"]).arg(name).status();
    }
}

impl Filesystem for Fake {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if self.is_mute(name) {
            return std::mem::forget(reply);
        }
        run_first(self.0.before_lookup.as_ref(), name);
        if let Some(errno) = self.0.lookup {
            return reply.error(Errno::from_i32(errno));
        }
        let number = self.names().find(|it| parent == INodeNo::ROOT && name == it.1.as_str());
        match number.and_then(|it| self.attributes(it.0)) {
            Some(attributes) => reply.entry(&KEPT, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match (self.0.getattr.filter(|_| ino == INodeNo::ROOT), self.attributes(ino.into())) {
            (Some(errno), _) => reply.error(Errno::from_i32(errno)),
            (None, Some(attributes)) => reply.attr(&KEPT, &attributes),
            (None, None) => reply.error(Errno::ENOENT),
        }
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        match self.text(ino.into()) {
            Some(target) => reply.data(target.as_bytes()),
            None => reply.error(Errno::EINVAL),
        }
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let text = self.text(ino.into()).unwrap_or_default().as_bytes();
        let from = usize::try_from(offset).unwrap().min(text.len());
        reply.data(&text[from..text.len().min(from + size as usize)]);
    }

    fn readdir(&self, _: &Request, ino: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let folders = [(u64::from(ino), ".", FileType::Directory), (1, "..", FileType::Directory)];
        let files = self.names().filter(|it| it.3 == FileType::RegularFile);
        let all =
            folders.into_iter().chain(files.map(|(number, name, _, kind)| (number, name.as_str(), kind)));
        for (next, (number, name, kind)) in (1..).zip(all).skip(usize::try_from(offset).unwrap()) {
            if reply.add(INodeNo(number), next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        if self.is_mute(OsStr::new("statfs")) {
            return std::mem::forget(reply);
        }
        run_first(self.0.before_statfs.as_ref(), OsStr::new(""));
        match self.0.statfs {
            Some(errno) => reply.error(Errno::from_i32(errno)),
            None => reply.statfs(0, 0, 0, 0, 0, 512, 255, 0),
        }
    }
}

#[test]
fn a_fake_mount_answers_what_a_test_wants() {
    let dir = crate::mounted::TestDir::new();
    dir.give_to_user();
    fs::create_dir(dir.path("mnt")).unwrap();
    let (user, group) = hostile_user();
    std::os::unix::fs::chown(dir.path("mnt"), Some(user), Some(group)).unwrap();
    let marker = dir.path("asked");
    let answers = Answers {
        source: "/a source".into(),
        links: [(".bsafs:status".into(), "{}".into())].into(),
        files: [("a.txt".into(), "text".into())].into(),
        statfs: Some(Errno::ENOTCONN.into()),
        before_statfs: Some(format!("touch '{}'", marker.display())),
        ..Answers::default()
    };
    let mut fake = FakeMount::start(&dir.path("mnt"), &answers);
    let mounted = bsafs::system::mountinfo::mounted_at(&fake.mountpoint).unwrap();
    assert_eq!((mounted.kind.as_str(), mounted.source.as_str()), ("fuse.bsafs", "/a source"));
    assert_eq!(mounted.owner.unwrap().0, user);
    let shown = run(&mut dir.as_user("ls", ["mnt"])).success();
    let read = run(&mut dir.as_user("cat", ["mnt/a.txt"])).success();
    let link = run(&mut dir.as_user("readlink", ["mnt/.bsafs:status"])).success();
    assert_eq!((&*shown, &*read, &*link), ("a.txt\n", "text", "{}\n"));
    assert!(run(&mut dir.as_user("stat", ["-f", "mnt"])).err.contains("not connected"));
    assert!(marker.exists());
    fake.kill();
    assert!(run(&mut dir.as_user("ls", ["mnt"])).err.contains("not connected"));
}
