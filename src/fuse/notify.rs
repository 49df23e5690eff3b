//! Notifications: what the daemon sends to the kernel besides replies. Also two threads that do
//! work which requests cause.
//!
//! A notification waits for locks of the folder that it names. No worker sends one, because the
//! request that holds the lock may be waiting for that worker.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use fuser::{INodeNo, Notifier};

use crate::fs::{FileSystem, Host, Invalidation, NameIn};

/// Interval between attempts to trim the cache, while it has something to evict or to free.
const TRIM_STEP: Duration = Duration::from_secs(1);

/// The [`Host`] of a mounted file system. Its threads end when it is dropped.
#[derive(Debug)]
pub(crate) struct Notify {
    /// Set when there is a connection.
    notifier: Arc<OnceLock<Notifier>>,
    /// Has the kernel drop names beyond their limits: names of assumed folders, whose numbers it
    /// then forgets, and recorded names that it may have cached.
    name_trim: Wake,
    /// Shrinks the cache of decoded extents to its size and frees large buffers, so that an idle
    /// daemon needs no more memory than before.
    cache_trim: Wake,
}

impl Notify {
    /// Starts the threads. Called before the mount.
    pub(crate) fn start(fs: &Arc<FileSystem>) -> io::Result<Self> {
        let notifier: Arc<OnceLock<Notifier>> = Arc::default();
        let (of_names, of_cache, of_thread) = (Arc::downgrade(fs), Arc::downgrade(fs), notifier.clone());
        let name_trim = Wake::start("name-trim", move || {
            let Some(notifier) = of_thread.get() else { return };
            let surplus = of_names.upgrade().map(|fs| fs.view().surplus_names());
            drop_names(notifier, &surplus.unwrap_or_default());
        })?;
        let is_trimmed = move || of_cache.upgrade().is_none_or(|fs| fs.view().store().trim());
        let cache_trim = Wake::start("cache-trim", move || {
            thread::sleep(TRIM_STEP);
            while !is_trimmed() {
                thread::sleep(TRIM_STEP);
            }
        })?;
        Ok(Self { notifier, name_trim, cache_trim })
    }

    /// Sets the connection to the kernel.
    pub(crate) fn connect(&self, notifier: Notifier) {
        // A second call changes nothing.
        let _ = self.notifier.set(notifier);
    }
}

impl Host for Notify {
    fn invalidate(&self, invalidation: &Invalidation) {
        let Some(notifier) = self.notifier.get() else { return };
        drop_names(notifier, &invalidation.names);
        for &inode in &invalidation.inodes {
            // This fails if the kernel does not have the inode.
            let _ = notifier.inval_inode(INodeNo(inode), 0, 0);
        }
    }

    fn drop_surplus_names(&self) {
        self.name_trim.wake();
    }

    fn trim_cache(&self) {
        self.cache_trim.wake();
    }
}

fn drop_names(notifier: &Notifier, names: &[NameIn]) {
    for (folder, name) in names {
        // This fails if the kernel does not have the name.
        let _ = notifier.inval_entry(INodeNo(*folder), OsStr::from_bytes(name));
    }
}

/// Wakes a thread, which ends when this is dropped.
#[derive(Debug)]
struct Wake(SyncSender<()>);

impl Wake {
    /// Starts a thread that calls `work` each time it is woken.
    fn start(name: &str, work: impl Fn() + Send + 'static) -> io::Result<Self> {
        let (wake, woken) = sync_channel(1);
        thread::Builder::new().name(name.into()).spawn(move || woken.iter().for_each(|()| work()))?;
        Ok(Self(wake))
    }

    /// Wakes the thread. Does not block.
    fn wake(&self) {
        // If the thread was woken already, that is enough.
        let _ = self.0.try_send(());
    }
}
