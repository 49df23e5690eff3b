//! The page-cache push: bytes that were decoded beyond a READ are stored in the kernel's page cache (NOTIFY_STORE), so
//! that the rest of the file needs no READ. A prefetch that costs no decoding.
//!
//! It has a thread of its own. A worker must never push: the kernel may hold a page locked until that very worker has
//! answered a READ of it (FUSE.md section 2.10).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;

use fuser::{INodeNo, Notifier};

use crate::content::Decoded;

/// Pushes that may be queued, and the bytes that they may keep in memory; a single push may be larger. What does not fit
/// is dropped: the kernel sends a READ for it.
const QUEUE: usize = 64;
const QUEUE_BYTES: u64 = 32 << 20;
/// Bytes in one message to the kernel.
const MESSAGE: usize = 1 << 20;

/// All decoded bytes of an extent of which a READ asked for a part. Once they are in the page cache, our own cache may
/// evict them, however many files are read at a time.
#[derive(Debug)]
pub(super) struct Push {
    /// The file.
    pub(super) ino: u64,
    /// The bytes, and their offset in the file.
    pub(super) decoded: Decoded,
}

/// The queue of the thread that pushes; the thread ends with it, or with the mount.
#[derive(Debug)]
pub(super) struct PushQueue {
    sender: SyncSender<Push>,
    /// Bytes of the pushes in the queue.
    queued: Arc<AtomicU64>,
    /// Set once mounted.
    notifier: Arc<OnceLock<Notifier>>,
}

impl PushQueue {
    /// Starts the thread, before the mount.
    pub(super) fn start() -> std::io::Result<Self> {
        let (sender, queue) = sync_channel(QUEUE);
        let (queued, notifier) = (Arc::<AtomicU64>::default(), Arc::<OnceLock<Notifier>>::default());
        let (queued_bytes, notifier_of_run) = (queued.clone(), notifier.clone());
        let thread = thread::Builder::new().name("push".into());
        thread.spawn(move || run(&notifier_of_run, &queue, &queued_bytes))?;
        Ok(Self { sender, queued, notifier })
    }

    /// Sets where pushes go; until then they are dropped.
    pub(super) fn connect(&self, notifier: Notifier) {
        // There is one mount, so that a second call changes nothing.
        let _ = self.notifier.set(notifier);
    }

    /// Queues a push, or drops it where the queue is full; does not wait.
    pub(super) fn send(&self, push: Push) {
        let bytes = push.decoded.bytes().len() as u64;
        let before = self.queued.fetch_add(bytes, Ordering::Relaxed);
        let has_room = before == 0 || before.saturating_add(bytes) <= QUEUE_BYTES;
        if !has_room || self.sender.try_send(push).is_err() {
            self.queued.fetch_sub(bytes, Ordering::Relaxed);
        }
    }
}

fn run(notifier: &OnceLock<Notifier>, queue: &Receiver<Push>, queued: &AtomicU64) {
    for Push { ino, decoded } in queue {
        for (piece, offset) in decoded.bytes().chunks(MESSAGE).zip((decoded.offset()..).step_by(MESSAGE)) {
            // Mostly ENOENT: the kernel has evicted the inode.
            if notifier.get().is_none_or(|notifier| notifier.store(INodeNo(ino), offset, piece).is_err()) {
                break;
            }
        }
        queued.fetch_sub(decoded.bytes().len() as u64, Ordering::Relaxed);
    }
}
