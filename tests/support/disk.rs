//! A disk that fails or hangs when a test requests it. It is a FUSE file system on which tests put archives.

#![allow(unreachable_pub, reason = "`pub` here means: for tests")]

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEntry, ReplyOpen,
    Request, Session,
};

use crate::mounted::note_dependence;

/// How the disk answers reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Works,
    /// Reads give EIO.
    Fails,
    /// Reads give this error.
    FailsWith(i32),
    /// Reads that reach beyond this offset of a file, in bytes, give EIO. The kernel reads whole pages.
    FailsFrom(u64),
    /// Reads get no answer until the mode changes.
    Hangs,
    /// Listings of the root give EIO.
    FailsToList,
    /// Names that begin like this are listed, but not found.
    Loses(&'static str),
}

/// A mounted disk. When it is dropped, it answers all reads and is unmounted, unless a process uses it.
pub struct Disk {
    shared: Arc<Shared>,
    session: Option<BackgroundSession>,
}

struct Shared {
    /// Names and contents of the files. Their inode numbers are 2 and up.
    files: Vec<(String, Vec<u8>)>,
    state: Mutex<State>,
}

struct State {
    mode: Mode,
    /// Reads that wait for an answer.
    waiting: Vec<(Read, ReplyData)>,
}

#[derive(Clone, Copy)]
struct Read {
    ino: u64,
    offset: u64,
    size: u32,
}

impl Disk {
    /// Mounts a disk with these files on a new folder. Only its user and root can access it.
    pub fn mount(path: &Path, files: Vec<(&str, Vec<u8>)>) -> Self {
        note_dependence();
        fs::create_dir(path).unwrap();
        let files = files.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect();
        let state = Mutex::new(State { mode: Mode::Works, waiting: Vec::new() });
        let shared = Arc::new(Shared { files, state });
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("disk".into()), MountOption::DefaultPermissions];
        let session = Session::new(Server(shared.clone()), path, &config).unwrap().spawn().unwrap();
        Self { shared, session: Some(session) }
    }

    /// Sets how reads are answered from now on, and empties the page cache.
    pub fn set(&self, mode: Mode) {
        // The kernel waits for the reads of the pages that it drops, so it would never drop them if a read
        // hung already.
        if mode == Mode::Hangs {
            self.drop_pages();
            self.shared.set(mode);
        } else {
            self.shared.set(mode);
            self.drop_pages();
        }
    }

    fn drop_pages(&self) {
        let notifier = self.session.as_ref().unwrap().notifier();
        for ino in (2..).take(self.shared.files.len()) {
            // Fails with ENOENT if the kernel does not know the file.
            let _ = notifier.inval_inode(INodeNo(ino), 0, 0);
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.shared.set(Mode::Works);
        // Unmounts. A daemon that still has an archive open ends with its own test folder.
        drop(self.session.take());
    }
}

impl Shared {
    fn set(&self, mode: Mode) {
        let waiting = {
            let mut state = self.state.lock().unwrap();
            state.mode = mode;
            match mode {
                Mode::Hangs => Vec::new(),
                _ => std::mem::take(&mut state.waiting),
            }
        };
        for (read, reply) in waiting {
            self.answer(mode, read, reply);
        }
    }

    fn answer(&self, mode: Mode, read: Read, reply: ReplyData) {
        let end = read.offset + u64::from(read.size);
        if mode == Mode::Fails || matches!(mode, Mode::FailsFrom(offset) if offset < end) {
            return reply.error(Errno::EIO);
        }
        if let Mode::FailsWith(errno) = mode {
            return reply.error(Errno::from_i32(errno));
        }
        let (_, bytes) = &self.files[read.ino as usize - 2];
        let start = bytes.len().min(read.offset as usize);
        reply.data(&bytes[start..bytes.len().min(start + read.size as usize)]);
    }
}

/// The server that answers the kernel's requests.
struct Server(Arc<Shared>);

const TTL: Duration = Duration::from_secs(3600);

impl Server {
    fn attr(&self, ino: u64) -> FileAttr {
        let file = ino.checked_sub(2).map(|index| &self.0.files[index as usize].1);
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        FileAttr {
            ino: INodeNo(ino),
            size: file.map_or(0, |bytes| bytes.len() as u64),
            blocks: 0,
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind: if file.is_some() { FileType::RegularFile } else { FileType::Directory },
            perm: 0o755,
            nlink: 1,
            uid: rustix::process::getuid().as_raw(),
            gid: rustix::process::getgid().as_raw(),
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }
}

impl Filesystem for Server {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let mode = self.0.state.lock().unwrap().mode;
        let is_lost = |of: &String| matches!(mode, Mode::Loses(begins) if of.starts_with(begins));
        match (2..).zip(&self.0.files).find(|(_, (of, _))| name == OsStr::new(of) && !is_lost(of)) {
            Some((ino, _)) => reply.entry(&TTL, &self.attr(ino), Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TTL, &self.attr(ino.0));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::empty());
    }

    fn readdir(&self, _: &Request, _: INodeNo, _: FileHandle, cookie: u64, mut reply: ReplyDirectory) {
        if self.0.state.lock().unwrap().mode == Mode::FailsToList {
            return reply.error(Errno::EIO);
        }
        for (index, (name, _)) in (0_u64..).zip(&self.0.files).skip(cookie as usize) {
            if reply.add(INodeNo(index + 2), index + 1, FileType::RegularFile, name) {
                break;
            }
        }
        reply.ok();
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
        let read = Read { ino: ino.0, offset, size };
        let mut state = self.0.state.lock().unwrap();
        let mode = state.mode;
        if mode == Mode::Hangs {
            return state.waiting.push((read, reply));
        }
        drop(state);
        self.0.answer(mode, read, reply);
    }
}
