//! The adaptor between fuser and [`FileSystem`]: it turns a request into an operation, and the
//! result into a reply. It also decides which thread gives the reply, and how long the kernel may cache it.
//!
//! The kernel caches all that it can (FUSE.md section 2). Whatever a program used once causes no
//! further request until the kernel evicts it. Names, negative entries and attributes have a TTL of
//! years. OPEN and OPENDIR are switched off. Listings have the attributes of their entries
//! (READDIRPLUS). The page cache is kept from one open to the next.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use fuser::{
    AccessFlags, BsdFileFlags, CopyFileRangeFlags, Errno, FileAttr, FileHandle, FileType, Filesystem,
    FopenFlags, Generation, INodeNo, InitFlags, IoctlFlags, KernelConfig, LockOwner, OpenAccMode, OpenFlags,
    RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty,
    ReplyEntry, ReplyIoctl, ReplyLseek, ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow,
    WriteFlags,
};

use super::device_queues::{DeviceQueues, SpareWorkers};
use crate::fs::{
    Attr, Caller, Error, FileSystem, Ino, Lookup, NodeKind, Operation, Owner, ReadTarget, SizeJob, Validity,
    View,
};
use crate::system::process::file_access_ids;

/// The TTL of answers that stay valid until the kernel is notified, including negative entries
/// (FUSE.md section 2.1).
const TTL_FOREVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);
/// Maximum number of READs that the kernel has under way. The kernel queues further ones, so a low limit
/// would let the readers of a disk that hangs block all others. (The kernel allows ordinary users fewer.)
const MAX_BACKGROUND: u16 = 4096;
/// A size that the kernel refuses. It then lists the name without attributes, and asks again by LOOKUP.
const NO_SIZE: u64 = u64::MAX;
/// `st_blksize`, and the unit of sizes in `statfs`, in bytes.
const BLOCK: u32 = 4096;
/// What the kernel sends in place of a user that it does not state.
const NO_USER: u32 = u32::MAX;
/// Unit of `st_blocks` in bytes. It does not depend on the block size.
const SECTOR: u64 = 512;

/// The implementation of fuser's trait.
#[derive(Clone, Debug)]
pub(crate) struct Adaptor {
    fs: Arc<FileSystem>,
    devices: DeviceQueues,
    spares: SpareWorkers,
    /// Whether the kernel offers FUSE_NO_OPEN_SUPPORT. If so, the first OPEN is answered with
    /// ENOSYS. From then on the kernel opens every file without a message and sends no RELEASE. It
    /// keeps its page cache across opens as FOPEN_KEEP_CACHE would (FUSE.md section 2.2). Without
    /// this support, ENOSYS would fail the open.
    no_open: bool,
    /// Whether the kernel offers FUSE_NO_OPENDIR_SUPPORT. If so, ENOSYS ends OPENDIR and RELEASEDIR
    /// too, and listings are cached as with FOPEN_CACHE_DIR (FUSE.md section 2.3).
    no_opendir: bool,
}

impl Adaptor {
    pub(crate) fn new(fs: Arc<FileSystem>, devices: DeviceQueues, spares: SpareWorkers) -> Self {
        Self { fs, devices, spares, no_open: false, no_opendir: false }
    }

    /// Counts a request and runs its handler. Then this worker may rest.
    fn answer(&self, operation: Operation, handler: impl FnOnce()) {
        self.fs.shared.reported.requests.count(operation);
        let _serving = self.spares.begin();
        let _ = guard(operation, handler);
    }

    /// Counts a request that would write. Returns the error of a read-only file system.
    fn refuse_write(&self) -> Errno {
        self.fs.shared.reported.requests.count(Operation::Other);
        Errno::EROFS
    }

    /// Answers a LOOKUP. If the name is pending, the answer waits for the next view.
    fn answer_when_served(&self, operation: Operation, parent: Ino, name: &[u8], reply: ReplyEntry) {
        let Some(folder) = self.fs.view().pending_folder(parent, name) else {
            return self.answer_lookup(operation, parent, name, reply);
        };
        let (adaptor, of_answer) = (self.clone(), name.to_owned());
        let answer = move || {
            let found = adaptor.fs.view().lookup(parent, &of_answer);
            let ino = found.ok().and_then(|found| found.attr).map(|attr| attr.ino);
            let of_file = adaptor.clone();
            adaptor.after_pages(ino, move || of_file.answer_lookup_now(operation, parent, &of_answer, reply));
        };
        self.wait_for_view(operation, (folder, parent, name), answer);
    }

    /// Answers a GETATTR. If the file was written to and no event reported it, the answer waits for the next
    /// view.
    fn answer_getattr_when_served(&self, operation: Operation, ino: Ino, reply: ReplyAttr) {
        let Some((folder, name)) = self.fs.view().pending_file(ino) else {
            return self.answer_getattr(operation, ino, reply);
        };
        let adaptor = self.clone();
        let answer = move || {
            let of_file = adaptor.clone();
            adaptor.after_pages(Some(ino), move || of_file.answer_getattr(operation, ino, reply));
        };
        self.wait_for_view(operation, (folder, folder, &name), answer);
    }

    /// Gives an answer about a file when the kernel has dropped the pages from before a write, if it is about
    /// to do so, or after a second at the latest. Until then the file has its old size.
    fn after_pages(&self, ino: Option<Ino>, answer: impl FnOnce() + Send + 'static) {
        if ino.is_some_and(|ino| self.fs.shared.remembered.written.is_held(ino)) {
            let answer = self.devices.answer_later(answer);
            self.fs.after_pages(move || drop(answer));
        } else {
            answer();
        }
    }

    /// Gives an answer when the next view is served. The tuple has the own number of a folder, the number
    /// under which the request named it, and the name in it that is pending.
    fn wait_for_view(
        &self,
        operation: Operation,
        (folder, parent, name): (Ino, Ino, &[u8]),
        answer: impl FnOnce() + Send + 'static,
    ) {
        let answer = move || {
            let _ = guard(operation, answer);
        };
        // The answer may stat a file on a disk that hangs, and the thread that gives it has other
        // work. If no thread can be started, the reply is dropped, and the request fails with EIO.
        let in_thread = move || _ = thread::Builder::new().name("lookup".into()).spawn(answer);
        let answer = self.devices.answer_later(in_thread);
        self.fs.shared.remembered.pending.wait(folder, parent, name, Box::new(answer));
    }

    /// Answers a LOOKUP from the current view. If the size of the file is about to change, the answer waits
    /// until the kernel has dropped the pages.
    fn answer_lookup(&self, operation: Operation, parent: Ino, name: &[u8], reply: ReplyEntry) {
        let written = &self.fs.shared.remembered.written;
        let ino = || Some(self.fs.view().lookup(parent, name).ok()?.attr?.ino);
        let ino = if written.is_empty() { None } else { ino() };
        if !ino.is_some_and(|ino| written.is_size_held(ino)) {
            return self.answer_lookup_now(operation, parent, name, reply);
        }
        let (adaptor, name) = (self.clone(), name.to_owned());
        self.after_pages(ino, move || adaptor.answer_lookup_now(operation, parent, &name, reply));
    }

    fn answer_lookup_now(&self, operation: Operation, parent: Ino, name: &[u8], reply: ReplyEntry) {
        let view = self.fs.view();
        let Lookup { attr, is_lasting } = match view.lookup(parent, name) {
            Ok(found) => found,
            Err(error) => return reply.error(error.into()),
        };
        view.record_looked_up(parent, attr.as_ref());
        let is_lasting = is_lasting && view.pending_folder(parent, name).is_none();
        let Some(attr) = attr else {
            let entry = negative_entry(&view.shared.presentation.owner);
            return reply.entry(&ttl(Validity::Lasting, is_lasting), &entry, Generation(0));
        };
        self.answer_sized(operation, &view, attr, move |view, attr| match attr {
            Ok(attr) => {
                view.count_lookup(attr.ino);
                let entry = file_attr(&view.shared.presentation.owner, &attr);
                // If a later view has replaced this one, the kernel was notified already and
                // would keep this answer.
                let ttl = ttl(attr.validity, is_lasting && view.is_current());
                let generation = Generation(view.generation(attr.ino).into());
                reply.entry(&ttl, &entry, generation);
            }
            Err(error) => reply.error(error.into()),
        });
    }

    /// Answers a GETATTR from the current view.
    fn answer_getattr(&self, operation: Operation, ino: Ino, reply: ReplyAttr) {
        let view = self.fs.view();
        match view.attr(ino) {
            Ok(attr) => self.answer_sized(operation, &view, attr, |view, attr| match attr {
                Ok(attr) => {
                    let ttl = ttl(attr.validity, view.is_current());
                    reply.attr(&ttl, &file_attr(&view.shared.presentation.owner, &attr));
                }
                Err(error) => reply.error(error.into()),
            }),
            Err(error) => reply.error(error.into()),
        }
    }

    /// Runs a handler with the attributes of a node. If the size is unknown, it is learnt first. If
    /// it cannot be learnt in time, the handler gets an error.
    fn answer_sized(
        &self,
        operation: Operation,
        view: &Arc<View>,
        attr: Attr,
        handler: impl FnOnce(&View, Result<Attr, Error>) + Send + 'static,
    ) {
        // In the common case, the answer is valid.
        match (attr.validity == Validity::None).then(|| view.unsized_file(attr.ino)).flatten() {
            None => handler(view, Ok(attr)),
            Some(node) => {
                let of_answer = view.clone();
                self.when_sized(operation, view.size_jobs([node]), move || {
                    let view = of_answer;
                    let error = view.unsized_file(attr.ino).map(|node| view.size_error(node));
                    handler(&view, error.map_or_else(|| view.attr(attr.ino), Err));
                });
            }
        }
    }

    /// Calls `answer` when these jobs have ended, or after a second at the latest.
    fn when_sized(
        &self,
        operation: Operation,
        jobs: Vec<(u64, SizeJob)>,
        answer: impl FnOnce() + Send + 'static,
    ) {
        let answer = move || {
            let _ = guard(operation, answer);
        };
        if jobs.is_empty() {
            return answer();
        }
        let guarded = |(device, job): (u64, SizeJob)| {
            let job = move |record_progress: &dyn Fn()| {
                let _ = guard(operation, || job(record_progress));
            };
            (device, job)
        };
        self.devices.run_before(jobs.into_iter().map(guarded).collect(), answer);
    }
}

/// Runs a handler; `None` if it panics.
///
/// A panic would end the worker's thread, and in the first worker it would end the mount (FUSE.md
/// section 1.2). Caught here, it drops the reply, and fuser sends EIO.
fn guard<T>(operation: Operation, handler: impl FnOnce() -> T) -> Option<T> {
    let handled = catch_unwind(AssertUnwindSafe(handler)).ok();
    if handled.is_none() {
        let name = operation.name();
        log::error!(
            "bug in bsafs: {name} panicked, so the request failed with EIO; please report it with this log"
        );
    }
    handled
}

/// The error number that a program gets. `Adaptor` itself answers ENOSYS to operations that bsafs does not
/// have, and ENOTTY to ioctls. fuser answers EIO if a reply is dropped, for example after a panic.
impl From<Error> for Errno {
    fn from(error: Error) -> Self {
        match error {
            Error::Damaged | Error::Changed | Error::Unreadable => Self::EIO,
            Error::IsFolder => Self::EISDIR,
            Error::NoMemory => Self::ENOMEM,
            Error::ListingGone | Error::NoNode | Error::Replaced => Self::ESTALE,
            // Programs repeat the read at once, and so do the libraries that they use.
            Error::BeingWritten => Self::EINTR,
            Error::OutOfInodeNumbers => Self::EOVERFLOW,
            Error::NotPermitted => Self::EACCES,
            Error::NoXattr => Self::ENODATA,
            Error::NotFound => Self::ENOENT,
            Error::NotFolder => Self::ENOTDIR,
            Error::NameTooLong => Self::ENAMETOOLONG,
            Error::TooSmall => Self::ERANGE,
            Error::Invalid => Self::EINVAL,
        }
    }
}

fn file_attr(owner: &Owner, attr: &Attr) -> FileAttr {
    FileAttr {
        ino: INodeNo(attr.ino.0),
        size: attr.size,
        blocks: attr.size.div_ceil(SECTOR),
        atime: attr.modified,
        mtime: attr.modified,
        ctime: attr.modified,
        crtime: attr.modified,
        kind: file_type(attr.kind),
        perm: owner.mode(attr.kind),
        // 1 says that the number of subfolders is unknown (FUSE.md section 2.15).
        nlink: 1,
        uid: owner.uid,
        gid: owner.gid,
        rdev: 0,
        blksize: BLOCK,
        flags: 0,
    }
}

/// A negative entry: inode number 0 with a TTL. The kernel caches that the name does not exist.
fn negative_entry(owner: &Owner) -> FileAttr {
    let modified = SystemTime::UNIX_EPOCH;
    file_attr(
        owner,
        &Attr { ino: Ino::NONE, kind: NodeKind::File, size: 0, modified, validity: Validity::Lasting },
    )
}

fn file_type(kind: NodeKind) -> FileType {
    match kind {
        NodeKind::File => FileType::RegularFile,
        NodeKind::Folder => FileType::Directory,
        NodeKind::OwnLink => FileType::Symlink,
    }
}

/// The TTL of an answer with attributes.
fn ttl(validity: Validity, is_lasting: bool) -> Duration {
    match validity {
        Validity::Lasting if is_lasting => TTL_FOREVER,
        Validity::Seconds(seconds) if is_lasting => Duration::from_secs(seconds.into()),
        _ => Duration::ZERO,
    }
}

impl Filesystem for Adaptor {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        let offered = config.capabilities();
        let wanted = InitFlags::FUSE_ABORT_ERROR
            | InitFlags::FUSE_ASYNC_READ
            | InitFlags::FUSE_PARALLEL_DIROPS
            | InitFlags::FUSE_DO_READDIRPLUS
            | InitFlags::FUSE_EXPLICIT_INVAL_DATA
            | InitFlags::FUSE_EXPORT_SUPPORT
            | InitFlags::FUSE_NO_OPEN_SUPPORT
            | InitFlags::FUSE_NO_OPENDIR_SUPPORT;
        // It hides who sends a request, so `/proc` must show that.
        let idmap = match file_access_ids(std::process::id()) {
            Some(_) => InitFlags::FUSE_ALLOW_IDMAP,
            None => InitFlags::empty(),
        };
        let wanted = wanted | idmap;
        self.no_open = offered.contains(InitFlags::FUSE_NO_OPEN_SUPPORT);
        self.no_opendir = offered.contains(InitFlags::FUSE_NO_OPENDIR_SUPPORT);
        // Older kernels offer fewer capabilities, and send more requests.
        let _ = config.add_capabilities(wanted & offered);
        let _ = config.set_max_background(MAX_BACKGROUND);
        let _ = config.set_congestion_threshold(MAX_BACKGROUND);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let (parent, name) = (Ino(parent.0), name.as_bytes());
        let operation = Operation::Lookup.on_name(parent, name);
        self.answer(operation, || {
            let view = self.fs.view();
            let Some(file) = view.unwatched_child(parent, name) else {
                return self.answer_when_served(operation, parent, name, reply);
            };
            let (adaptor, of_answer) = (self.clone(), name.to_owned());
            self.when_sized(operation, view.size_jobs([file]), move || {
                adaptor.answer_when_served(operation, parent, &of_answer, reply);
            });
        });
    }

    fn forget(&self, _: &Request, ino: INodeNo, lookups: u64) {
        self.fs.view().forget(Ino(ino.0), lookups);
    }

    fn getattr(&self, _: &Request, ino: INodeNo, open: Option<FileHandle>, reply: ReplyAttr) {
        let ino = Ino(ino.0);
        let operation = Operation::GetAttr.on_node(ino);
        self.answer(operation, || {
            let view = self.fs.view();
            // Before the kernel gives bytes that it has, it asks with the open file. `stat` has none.
            view.record_used_file(ino, open.is_some());
            view.follow_static(ino);
            let Some(file) = view.unwatched_file(ino) else {
                if !self.fs.shared.remembered.written.is_size_held(ino) {
                    return self.answer_getattr(operation, ino, reply);
                }
                let adaptor = self.clone();
                return self.after_pages(Some(ino), move || adaptor.answer_getattr(operation, ino, reply));
            };
            let adaptor = self.clone();
            self.when_sized(operation, view.size_jobs([file]), move || {
                adaptor.answer_getattr_when_served(operation, ino, reply);
            });
        });
    }

    fn readlink(&self, request: &Request, ino: INodeNo, reply: ReplyData) {
        let (ino, caller) = (Ino(ino.0), caller_of(request));
        self.answer(Operation::ReadLink.on_node(ino), || match self.fs.view().read_link(ino, caller) {
            Ok(target) => reply.data(&target),
            Err(error) => reply.error(error.into()),
        });
    }

    fn open(&self, _: &Request, _: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        self.fs.shared.reported.requests.count(Operation::Open);
        if flags.acc_mode() != OpenAccMode::O_RDONLY {
            return reply.error(Errno::EROFS);
        }
        if self.no_open {
            reply.error(Errno::ENOSYS)
        } else {
            reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_NOFLUSH)
        }
    }

    fn opendir(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.fs.shared.reported.requests.count(Operation::OpenDir);
        if self.no_opendir {
            reply.error(Errno::ENOSYS)
        } else {
            reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_CACHE_DIR)
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
        let ino = Ino(ino.0);
        self.answer(Operation::Read, || {
            let view = self.fs.view();
            view.record_used_file(ino, true);
            let target = match ReadTarget::find(view, ino) {
                Ok(target) => target,
                Err(error) => return reply.error(error.into()),
            };
            // A panic here must not fail the request whose worker took this one from a queue.
            self.devices.run(target.device, move || {
                // The bytes are sent from where they are.
                _ = guard(Operation::Read, || {
                    target.answer(offset, size, |read| match read {
                        Ok(bytes) => reply.data(&bytes),
                        Err(error) => reply.error(error.into()),
                    });
                });
            });
        });
    }

    fn readdir(&self, _: &Request, ino: INodeNo, _: FileHandle, cookie: u64, mut reply: ReplyDirectory) {
        let ino = Ino(ino.0);
        self.answer(Operation::ReadDir, || {
            let view = self.fs.view();
            view.record_listed(ino);
            let listed = view.list(ino, cookie, |entry| {
                let name = OsStr::from_bytes(entry.name);
                !reply.add(INodeNo(entry.ino.0), entry.cookie, file_type(entry.kind), name)
            });
            match listed {
                Ok(()) => reply.ok(),
                Err(error) => reply.error(error.into()),
            }
        });
    }

    fn readdirplus(&self, _: &Request, ino: INodeNo, _: FileHandle, cookie: u64, reply: ReplyDirectoryPlus) {
        let ino = Ino(ino.0);
        self.answer(Operation::ReadDirPlus, || {
            let view = self.fs.view();
            view.record_listed(ino);
            let of_answer = view.clone();
            let jobs = view.size_jobs(view.children_to_learn(ino, cookie));
            self.when_sized(Operation::ReadDirPlus, jobs, move || {
                answer_readdirplus(&of_answer, ino, cookie, reply);
            });
        });
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        self.answer(Operation::StatFs, || {
            let view = self.fs.view();
            reply.statfs(
                view.store().blocks(BLOCK),
                0,
                0,
                u64::from(view.tree().len()),
                0,
                BLOCK,
                255,
                BLOCK,
            );
        });
    }

    /// ENOSYS makes the kernel stop sending GETXATTR and LISTXATTR for the whole mount. If they are
    /// answered, each `ls -l` sends two for every file (FUSE.md section 3).
    fn getxattr(&self, request: &Request, ino: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        let (name, caller) = (name.as_bytes(), || caller_of(request));
        self.answer(Operation::GetXattr, || {
            if self.fs.view().has_xattrs() {
                answer_xattr(self.fs.view().xattr(Ino(ino.0), name, caller), size, reply)
            } else {
                reply.error(Errno::ENOSYS)
            }
        });
    }

    fn listxattr(&self, _: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        self.answer(Operation::ListXattr, || {
            if self.fs.view().has_xattrs() {
                answer_xattr(Ok(self.fs.view().xattr_names(Ino(ino.0))), size, reply)
            } else {
                reply.error(Errno::ENOSYS)
            }
        });
    }

    // The kernel itself refuses to write to a mount with the option `ro`. But root can remount it with `rw`,
    // and util-linux does not ask the daemon.

    fn setattr(
        &self,
        _: &Request,
        _: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        reply.error(self.refuse_write());
    }

    fn mknod(&self, _: &Request, _: INodeNo, _: &OsStr, _: u32, _: u32, _: u32, reply: ReplyEntry) {
        reply.error(self.refuse_write());
    }

    fn mkdir(&self, _: &Request, _: INodeNo, _: &OsStr, _: u32, _: u32, reply: ReplyEntry) {
        reply.error(self.refuse_write());
    }

    fn unlink(&self, _: &Request, _: INodeNo, _: &OsStr, reply: ReplyEmpty) {
        reply.error(self.refuse_write());
    }

    fn rmdir(&self, _: &Request, _: INodeNo, _: &OsStr, reply: ReplyEmpty) {
        reply.error(self.refuse_write());
    }

    fn symlink(&self, _: &Request, _: INodeNo, _: &OsStr, _: &Path, reply: ReplyEntry) {
        reply.error(self.refuse_write());
    }

    fn rename(
        &self,
        _: &Request,
        _: INodeNo,
        _: &OsStr,
        _: INodeNo,
        _: &OsStr,
        _: RenameFlags,
        reply: ReplyEmpty,
    ) {
        reply.error(self.refuse_write());
    }

    fn link(&self, _: &Request, _: INodeNo, _: INodeNo, _: &OsStr, reply: ReplyEntry) {
        reply.error(self.refuse_write());
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: u64,
        _: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        reply.error(self.refuse_write());
    }

    fn setxattr(&self, _: &Request, _: INodeNo, _: &OsStr, _: &[u8], _: i32, _: u32, reply: ReplyEmpty) {
        reply.error(self.refuse_write());
    }

    fn removexattr(&self, _: &Request, _: INodeNo, _: &OsStr, reply: ReplyEmpty) {
        reply.error(self.refuse_write());
    }

    fn create(&self, _: &Request, _: INodeNo, _: &OsStr, _: u32, _: u32, _: i32, reply: ReplyCreate) {
        reply.error(self.refuse_write());
    }

    fn fallocate(&self, _: &Request, _: INodeNo, _: FileHandle, _: u64, _: u64, _: i32, reply: ReplyEmpty) {
        reply.error(self.refuse_write());
    }

    fn copy_file_range(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: u64,
        _: INodeNo,
        _: FileHandle,
        _: u64,
        _: u64,
        _: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        reply.error(self.refuse_write());
    }

    // The methods below answer as fuser's default methods do, but log no warning.

    fn access(&self, _: &Request, _: INodeNo, _: AccessFlags, reply: ReplyEmpty) {
        self.fs.shared.reported.requests.count(Operation::Other);
        reply.error(Errno::ENOSYS);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        self.fs.shared.reported.requests.count(Operation::Other);
        reply.error(Errno::ENOSYS);
    }

    fn lseek(&self, _: &Request, _: INodeNo, _: FileHandle, _: i64, _: i32, reply: ReplyLseek) {
        self.fs.shared.reported.requests.count(Operation::Other);
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
        self.fs.shared.reported.requests.count(Operation::Other);
        reply.error(Errno::ENOTTY);
    }
}

fn answer_readdirplus(view: &View, ino: Ino, cookie: u64, mut reply: ReplyDirectoryPlus) {
    let owner = view.shared.presentation.owner;
    let parent = view.parent_path(ino);
    let listed = view.list_with_attrs(ino, cookie, |entry, attr| {
        let name = OsStr::from_bytes(entry.name);
        let is_pending = view.pending_folder(ino, entry.name).is_some();
        let ttl = ttl(attr.validity, view.is_current() && !is_pending);
        // A listing does not wait until pages are dropped.
        let is_unsized = attr.validity == Validity::None
            && (view.unsized_file(entry.ino).is_some()
                || view.shared.remembered.written.is_size_held(entry.ino));
        let attr = if is_unsized {
            FileAttr { size: NO_SIZE, ..file_attr(&owner, &attr) }
        } else {
            file_attr(&owner, &attr)
        };
        let generation = Generation(view.generation_in(parent, entry.ino, entry.name).into());
        let is_added = !reply.add(INodeNo(entry.ino.0), entry.cookie, name, &ttl, &attr, generation);
        // The kernel counts each entry as a lookup, except `.` and `..`. These are folders,
        // whose lookups are not counted here.
        if is_added {
            view.count_lookup(entry.ino);
        }
        is_added
    });
    match listed {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error.into()),
    }
}

/// The user who sent a request. With FUSE_ALLOW_IDMAP, the kernel states only the thread, which waits for
/// the reply, so `/proc` has its user. If it is unknown, the user has the rights of any other.
fn caller_of(request: &Request) -> Caller {
    let (uid, gid) = match request.uid() {
        NO_USER => file_access_ids(request.pid()).unwrap_or((NO_USER, NO_USER)),
        uid => (uid, request.gid()),
    };
    Caller { uid, gid }
}

/// Replies with a value. If the caller's buffer is empty, replies with the value's length in bytes.
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
