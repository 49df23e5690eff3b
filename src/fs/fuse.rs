//! The adaptor between fuser and [`FileSystem`]: numbers in, replies out, no logic.
//!
//! What makes it fast is what it says once: names, attributes and bytes hold for ever, opens need no message, and
//! listings bring their attributes along, so that a second look at anything asks nothing (FUSE.md section 2).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fuser::{
    AccessFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, IoctlFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory,
    ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyLseek, ReplyOpen, ReplyStatfs, ReplyXattr,
    Request,
};

use super::attr::{Attr, NodeKind};
use super::error::Error;
use super::filesystem::FileSystem;
use super::requests::Operation;

/// How long the kernel may believe what never changes.
const FOR_EVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);
/// Requests that the kernel may queue for read-ahead.
const BACKGROUND: u16 = 64;
/// Unit of sizes in `statfs`, in bytes.
const BLOCK: u32 = 4096;
/// Unit of `st_blocks`, in bytes, whatever the block size.
const SECTOR: u64 = 512;

/// What fuser calls.
#[derive(Debug)]
pub(super) struct Adaptor {
    fs: Arc<FileSystem>,
    /// Whether the kernel opens files and folders without a message, once it was told that nobody minds.
    opens_alone: bool,
    lists_alone: bool,
}

impl Adaptor {
    pub(super) fn new(fs: Arc<FileSystem>) -> Self {
        Self { fs, opens_alone: false, lists_alone: false }
    }

    fn file_attr(&self, attr: &Attr) -> FileAttr {
        let owner = self.fs.owner();
        FileAttr {
            ino: INodeNo(attr.ino),
            size: attr.size,
            blocks: attr.size.div_ceil(SECTOR),
            atime: attr.modified,
            mtime: attr.modified,
            ctime: attr.modified,
            crtime: attr.modified,
            kind: file_type(attr.shape),
            perm: owner.mode(attr.shape),
            nlink: if attr.shape == NodeKind::Folder { 2 } else { 1 },
            uid: owner.uid,
            gid: owner.gid,
            rdev: 0,
            blksize: BLOCK,
            flags: 0,
        }
    }

    /// A name that is not there, in a form that the kernel remembers: a node numbered 0.
    fn nothing(&self) -> FileAttr {
        let modified = SystemTime::UNIX_EPOCH;
        self.file_attr(&Attr { ino: 0, shape: NodeKind::File, size: 0, modified, is_lasting: true })
    }

    /// Counts a request and runs its handler.
    ///
    /// A panic would end the worker's thread, and that of the first worker would end the mount (FUSE.md section 1.2);
    /// caught here, it drops the reply, which fuser then sends as EIO.
    fn answer(&self, operation: Operation, handler: impl FnOnce()) {
        self.fs.requests.count(operation);
        if catch_unwind(AssertUnwindSafe(handler)).is_err() {
            log::error!(
                "a defect in bsafs: {} panicked; the request failed with EIO; please report it",
                operation.name()
            );
        }
    }
}

fn file_type(shape: NodeKind) -> FileType {
    match shape {
        NodeKind::File => FileType::RegularFile,
        NodeKind::Folder => FileType::Directory,
        NodeKind::StatusLink => FileType::Symlink,
    }
}

fn time_to_live(attr: &Attr) -> Duration {
    if attr.is_lasting { FOR_EVER } else { Duration::ZERO }
}

impl Filesystem for Adaptor {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        let offered = config.capabilities();
        let wanted = InitFlags::FUSE_ASYNC_READ
            | InitFlags::FUSE_PARALLEL_DIROPS
            | InitFlags::FUSE_DO_READDIRPLUS
            | InitFlags::FUSE_EXPLICIT_INVAL_DATA
            | InitFlags::FUSE_NO_EXPORT_SUPPORT
            | InitFlags::FUSE_NO_OPEN_SUPPORT
            | InitFlags::FUSE_NO_OPENDIR_SUPPORT;
        self.opens_alone = offered.contains(InitFlags::FUSE_NO_OPEN_SUPPORT);
        self.lists_alone = offered.contains(InitFlags::FUSE_NO_OPENDIR_SUPPORT);
        // What is not offered is not asked for; a kernel that knows neither is served all the same.
        let _ = config.add_capabilities(wanted & offered);
        let _ = config.set_max_background(BACKGROUND);
        let _ = config.set_congestion_threshold(BACKGROUND);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.answer(Operation::Lookup.of_name(parent.0, name.as_bytes()), || {
            match self.fs.lookup(parent.0, name.as_bytes()) {
                Ok(attr) => reply.entry(&time_to_live(&attr), &self.file_attr(&attr), Generation(0)),
                Err(Error::NotFound) => reply.entry(&FOR_EVER, &self.nothing(), Generation(0)),
                Err(error) => reply.error(error.into()),
            }
        });
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        self.answer(Operation::GetAttr.of_node(ino.0), || match self.fs.attr(ino.0) {
            Ok(attr) => reply.attr(&time_to_live(&attr), &self.file_attr(&attr)),
            Err(error) => reply.error(error.into()),
        });
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        self.answer(Operation::ReadLink.of_node(ino.0), || match self.fs.text(ino.0) {
            Ok(text) => reply.data(text.as_bytes()),
            Err(error) => reply.error(error.into()),
        });
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.fs.requests.count(Operation::Open);
        match self.opens_alone {
            true => reply.error(Errno::ENOSYS),
            false => reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_NOFLUSH),
        }
    }

    fn opendir(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.fs.requests.count(Operation::OpenDir);
        match self.lists_alone {
            true => reply.error(Errno::ENOSYS),
            false => reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_CACHE_DIR),
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
        self.answer(Operation::Read, || {
            let mut reply = Some(reply);
            let answered = self.fs.read(ino.0, offset, size, |bytes| {
                if let Some(reply) = reply.take() {
                    reply.data(bytes);
                }
            });
            if let (Err(error), Some(reply)) = (answered, reply) {
                reply.error(error.into());
            }
        });
    }

    fn readdir(&self, _: &Request, ino: INodeNo, _: FileHandle, from: u64, mut reply: ReplyDirectory) {
        self.answer(Operation::ReadDir, || {
            let listed = self.fs.list(ino.0, from, |line| {
                !reply.add(INodeNo(line.ino), line.next, file_type(line.shape), OsStr::from_bytes(line.name))
            });
            match listed {
                Ok(()) => reply.ok(),
                Err(error) => reply.error(error.into()),
            }
        });
    }

    fn readdirplus(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        from: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        self.answer(Operation::ReadDirPlus, || {
            let listed = self.fs.list_with_attrs(ino.0, from, |line, attr| {
                let name = OsStr::from_bytes(line.name);
                !reply.add(
                    INodeNo(line.ino),
                    line.next,
                    name,
                    &FOR_EVER,
                    &self.file_attr(&attr),
                    Generation(0),
                )
            });
            match listed {
                Ok(()) => reply.ok(),
                Err(error) => reply.error(error.into()),
            }
        });
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        self.answer(Operation::StatFs, || {
            let blocks = self.fs.store().archive_bytes().div_ceil(u64::from(BLOCK));
            reply.statfs(blocks, 0, 0, u64::from(self.fs.tree().len()), 0, BLOCK, 255, BLOCK);
        });
    }

    /// ENOSYS ends these questions for the whole mount; answered, they come twice for every file of an `ls -l`.
    fn getxattr(&self, _: &Request, ino: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        self.answer(Operation::GetXattr, || match self.fs.has_attributes() {
            true => answer_xattr(self.fs.attribute(ino.0, name.as_bytes()), size, reply),
            false => reply.error(Errno::ENOSYS),
        });
    }

    fn listxattr(&self, _: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        self.answer(Operation::ListXattr, || match self.fs.has_attributes() {
            true => answer_xattr(self.fs.attributes(ino.0), size, reply),
            false => reply.error(Errno::ENOSYS),
        });
    }

    // What follows is answered as fuser would, but without a warning each time.

    fn access(&self, _: &Request, _: INodeNo, _: AccessFlags, reply: ReplyEmpty) {
        self.fs.requests.count(Operation::Other);
        reply.error(Errno::ENOSYS);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        self.fs.requests.count(Operation::Other);
        reply.error(Errno::ENOSYS);
    }

    fn lseek(&self, _: &Request, _: INodeNo, _: FileHandle, _: i64, _: i32, reply: ReplyLseek) {
        self.fs.requests.count(Operation::Other);
        reply.error(Errno::ENOSYS);
    }

    fn ioctl(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: IoctlFlags,
        _: u32,
        _: &[u8],
        _: u32,
        reply: ReplyIoctl,
    ) {
        self.fs.requests.count(Operation::Other);
        reply.error(Errno::ENOTTY);
    }
}

/// An attribute's bytes, or their length where the caller's buffer is empty.
fn answer_xattr(value: Result<Vec<u8>, Error>, size: u32, reply: ReplyXattr) {
    let fits = |value: Vec<u8>| match u32::try_from(value.len()) {
        Ok(len) if size == 0 || len <= size => Ok((value, len)),
        _ => Err(Error::TooSmall),
    };
    match value.and_then(fits) {
        Ok((_, len)) if size == 0 => reply.size(len),
        Ok((value, _)) => reply.data(&value),
        Err(error) => reply.error(error.into()),
    }
}
