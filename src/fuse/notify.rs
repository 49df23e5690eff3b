//! Notifications: what the daemon sends to the kernel besides replies. Also a thread that trims the cache.
//!
//! A notification waits for locks of the folder or file that it names. A request that holds such a lock may
//! wait for a worker, or for the next view. So only the threads of this file send notifications, and nothing
//! waits for these threads. Pages have a thread of their own, because dropping them waits for READs under
//! way. Only [`Host::drop_listing`] is sent by a request, because it needs no such lock.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, MutexGuard, OnceLock, Weak};
use std::time::Duration;
use std::{fmt, io, thread};

use fuser::{INodeNo, Notifier};

use crate::fs::{FileSystem, HeldAttr, Host, Ino, Invalidation, NameIn};
use crate::system::sync::{Condvar, Mutex};

/// Interval between attempts to trim the cache, while it has something to evict or to free.
const TRIM_STEP: Duration = Duration::from_secs(1);
/// Interval between checks whether the LOOKUPs of a folder have ended, if its names wait for them.
const POSTPONED: Duration = Duration::from_millis(10);

/// The [`Host`] of a mounted file system. Its threads end when it is dropped.
#[derive(Debug)]
pub(crate) struct Notify {
    /// Set when there is a connection.
    notifier: Arc<OnceLock<Notifier>>,
    queue: Arc<Queue>,
    /// To the thread that drops pages.
    pages: Sender<Notice>,
    /// Shrinks the cache of decoded extents to its size and frees large buffers, so that an idle
    /// daemon needs no more memory than before.
    cache_trim: Wake,
}

/// Something to send to the kernel, or to do in between.
enum Notice {
    /// Drop a name.
    Name(NameIn),
    /// Drop the listing and the attributes of a folder.
    Folder(Ino),
    /// Drop the attributes of a file.
    Attributes(Ino),
    /// Drop the pages of a file that was written to, and then its attributes. In between, its new attributes
    /// are shown.
    Written(HeldAttr),
    /// Drop the names that are beyond a limit.
    Surplus,
    /// Run a job.
    Job(Box<dyn FnOnce() + Send>),
}

/// Notices in the order in which they are sent.
#[derive(Debug, Default)]
struct Queue {
    notices: Mutex<Notices>,
    changed: Condvar,
}

#[derive(Default)]
struct Notices {
    waiting: VecDeque<Notice>,
    /// Whether [`Notice::Surplus`] is among them. One is enough, and requests may ask for many.
    has_surplus: bool,
    is_closed: bool,
}

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} notices", self.waiting.len())
    }
}

impl Notify {
    /// Starts the threads. Called before the mount.
    pub(crate) fn start(fs: &Arc<FileSystem>) -> io::Result<Self> {
        let notifier: Arc<OnceLock<Notifier>> = Arc::default();
        let queue: Arc<Queue> = Arc::default();
        let (pages, of_pages) = channel();
        let sender = Thread { fs: Arc::downgrade(fs), notifier: notifier.clone() };
        let dropper = Thread { fs: Arc::downgrade(fs), notifier: notifier.clone() };
        let (of_sender, to_pages) = (queue.clone(), pages.clone());
        thread::Builder::new().name("notify".into()).spawn(move || sender.send(&of_sender, &to_pages))?;
        thread::Builder::new().name("drop-pages".into()).spawn(move || dropper.drop_pages(&of_pages))?;
        let of_cache = Arc::downgrade(fs);
        let is_trimmed = move || of_cache.upgrade().is_none_or(|fs| fs.trim());
        let cache_trim = Wake::start("cache-trim", move || {
            thread::sleep(TRIM_STEP);
            while !is_trimmed() {
                thread::sleep(TRIM_STEP);
            }
        })?;
        Ok(Self { notifier, queue, pages, cache_trim })
    }

    /// Sets the connection to the kernel.
    pub(crate) fn connect(&self, notifier: Notifier) {
        // A second call changes nothing.
        let _ = self.notifier.set(notifier);
    }
}

impl Drop for Notify {
    fn drop(&mut self) {
        self.queue.lock().is_closed = true;
        self.queue.changed.notify_one();
    }
}

impl Host for Notify {
    fn invalidate(&self, invalidation: Invalidation) {
        let Invalidation { names, folders, written, attributes } = invalidation;
        let notices = names.into_iter().map(Notice::Name).chain(folders.into_iter().map(Notice::Folder));
        self.queue.push(notices.chain(attributes.into_iter().map(Notice::Attributes)));
        for written in written {
            self.drop_pages(written);
        }
    }

    fn drop_pages(&self, written: HeldAttr) {
        // The other thread may wait for a LOOKUP that waits for this.
        _ = self.pages.send(Notice::Written(written));
    }

    fn drop_attributes(&self, ino: Ino) {
        inval_inode(&self.notifier, ino, ATTRIBUTES_ONLY);
    }

    fn drop_listing(&self, ino: Ino) {
        // The kernel waits for the pages of the cached listing. It locks none while it waits for a reply.
        inval_inode(&self.notifier, ino, 0);
    }

    fn after_pages(&self, job: Box<dyn FnOnce() + Send>) {
        _ = self.pages.send(Notice::Job(job));
    }

    fn after_notices(&self, job: Box<dyn FnOnce() + Send>) {
        self.queue.push([Notice::Job(job)]);
    }

    fn drop_surplus_names(&self) {
        if !std::mem::replace(&mut self.queue.lock().has_surplus, true) {
            self.queue.push([Notice::Surplus]);
        }
    }

    fn trim_cache(&self) {
        self.cache_trim.wake();
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Notices> {
        self.notices.lock()
    }

    fn push(&self, notices: impl IntoIterator<Item = Notice>) {
        self.lock().waiting.extend(notices);
        self.changed.notify_one();
    }

    /// Takes the first notice for which `is_due` holds. Waits for it; `None` at the end.
    fn next(&self, is_due: impl Fn(&Notice) -> bool) -> Option<Notice> {
        let mut notices = self.lock();
        loop {
            if notices.is_closed {
                return None;
            }
            if let Some(at) = notices.waiting.iter().position(&is_due) {
                return notices.waiting.remove(at);
            }
            notices = if notices.waiting.is_empty() {
                self.changed.wait(notices)
            } else {
                self.changed.wait_timeout(notices, POSTPONED)
            };
        }
    }
}

/// What both threads need.
struct Thread {
    fs: Weak<FileSystem>,
    notifier: Arc<OnceLock<Notifier>>,
}

impl Thread {
    /// Sends all notices, except those about pages.
    fn send(&self, queue: &Queue, pages: &Sender<Notice>) {
        while let Some(notice) = queue.next(|notice| self.is_due(notice)) {
            match notice {
                Notice::Name(name) => self.drop_names(&[name]),
                Notice::Folder(ino) => self.inval_inode(ino, 0),
                Notice::Attributes(ino) => self.inval_inode(ino, ATTRIBUTES_ONLY),
                Notice::Surplus => {
                    queue.lock().has_surplus = false;
                    let surplus = self.fs.upgrade().map(|fs| fs.view().surplus_names());
                    self.drop_names(&surplus.unwrap_or_default());
                }
                // The other thread receives until this one ends.
                Notice::Written(_) | Notice::Job(_) => {
                    _ = pages.send(notice);
                }
            }
        }
    }

    /// Whether a notice need not wait. A LOOKUP that waits for the next view holds a lock of its folder.
    fn is_due(&self, notice: &Notice) -> bool {
        let Notice::Name((folder, _)) = notice else { return true };
        self.fs.upgrade().is_none_or(|fs| !fs.shared.remembered.pending.is_waited_for(*folder))
    }

    fn drop_pages(&self, notices: &Receiver<Notice>) {
        for notice in notices {
            match notice {
                Notice::Written(held) => {
                    let ino = held.ino;
                    held.wait_for_replies();
                    self.inval_inode(ino, 0);
                    let is_cut = held.is_cut();
                    drop(held);
                    // If a file was cut off, a READ that ends early may be under way again. Its attributes
                    // are dropped with the pages, and no other request got attributes meanwhile.
                    if !is_cut {
                        self.inval_inode(ino, ATTRIBUTES_ONLY);
                    }
                }
                Notice::Job(job) => job(),
                Notice::Name(_) | Notice::Folder(_) | Notice::Attributes(_) | Notice::Surplus => {}
            }
        }
    }

    fn drop_names(&self, names: &[NameIn]) {
        let Some(notifier) = self.notifier.get() else { return };
        for (folder, name) in names {
            // This fails if the kernel does not have the name.
            let _ = notifier.inval_entry(INodeNo(folder.0), OsStr::from_bytes(name));
        }
    }

    fn inval_inode(&self, ino: Ino, offset: i64) {
        inval_inode(&self.notifier, ino, offset);
    }
}

/// Makes the kernel drop the attributes and what it cached from `offset` on.
fn inval_inode(notifier: &OnceLock<Notifier>, ino: Ino, offset: i64) {
    // This fails if the kernel does not have the inode.
    let _ = notifier.get().map(|notifier| notifier.inval_inode(INodeNo(ino.0), offset, 0));
}

/// The offset with which INVAL_INODE drops no pages.
const ATTRIBUTES_ONLY: i64 = -1;

// A thread that works each time it is woken.

/// Wakes a thread. When this and all its clones are dropped, the thread ends, once its work returns.
#[derive(Clone, Debug)]
pub(crate) struct Wake(SyncSender<()>);

impl Wake {
    /// Starts a thread that calls `work` each time it is woken.
    pub(crate) fn start(name: &str, work: impl Fn() + Send + 'static) -> io::Result<Self> {
        let (wake, woken) = sync_channel(1);
        thread::Builder::new().name(name.into()).spawn(move || woken.iter().for_each(|()| work()))?;
        Ok(Self(wake))
    }

    /// Wakes the thread. Does not block.
    pub(crate) fn wake(&self) {
        // If the thread was woken already, that is enough.
        let _ = self.0.try_send(());
    }
}
