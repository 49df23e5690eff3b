//! Notifications: what the daemon sends to the kernel beside replies, and the two threads that requests wake.
//!
//! A notification waits for locks of the folder that it names. No worker sends one, because the request that
//! holds the lock may be waiting for that worker.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use fuser::{INodeNo, Notifier};

use crate::fs::{FileSystem, Host, Invalidation, NameIn};

/// How often the cache is trimmed, while there is something to evict or to give back.
const TRIM_STEP: Duration = Duration::from_secs(1);

/// Serves a file system. Its threads end when it is dropped.
#[derive(Debug)]
pub(crate) struct Notify {
    /// Set once there is a connection.
    notifier: Arc<OnceLock<Notifier>>,
    /// Has the kernel drop names beyond their bounds: assumed folders, whose numbers it then forgets, and
    /// names that are remembered because the kernel may have cached them.
    name_trim: Wake,
    /// Brings the cache of decoded extents back to its size and gives back large buffers, so that an idle
    /// daemon takes no more memory than before.
    cache_trim: Wake,
}

impl Notify {
    /// Starts the threads, before the mount.
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

    /// Sets the connection to the kernel, once there is one.
    pub(crate) fn connect(&self, notifier: Notifier) {
        // Set once.
        let _ = self.notifier.set(notifier);
    }
}

impl Host for Notify {
    fn invalidate(&self, invalidation: &Invalidation) {
        let Some(notifier) = self.notifier.get() else { return };
        drop_names(notifier, &invalidation.names);
        for &inode in &invalidation.inodes {
            // Fails if the kernel does not have the inode.
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
        // Fails if the kernel does not have the name.
        let _ = notifier.inval_entry(INodeNo(*folder), OsStr::from_bytes(name));
    }
}

/// Wakes a thread; the thread ends when this is dropped.
#[derive(Debug)]
struct Wake(SyncSender<()>);

impl Wake {
    /// Starts a thread that does `work` each time it is woken.
    fn start(name: &str, work: impl Fn() + Send + 'static) -> io::Result<Self> {
        let (wake, woken) = sync_channel(1);
        thread::Builder::new().name(name.into()).spawn(move || woken.iter().for_each(|()| work()))?;
        Ok(Self(wake))
    }

    /// Does not wait.
    fn wake(&self) {
        // If the thread was woken already, that is enough.
        let _ = self.0.try_send(());
    }
}
