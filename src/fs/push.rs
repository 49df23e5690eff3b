//! What the kernel is told without having asked, from a thread of its own.
//!
//! A thread that answers requests must never say these things: the kernel may hold a page locked until that very
//! thread answers a read of it (FUSE.md 2.10).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use fuser::{INodeNo, Notifier};

use crate::content::Decoded;

/// Pushes that may wait, and the bytes that they may keep in memory, or one push where that is larger. What comes
/// beyond is left unsaid, for every notice only saves time.
const QUEUE: usize = 64;
const QUEUE_BYTES: u64 = 32 << 20;
/// Bytes that are stored in one message.
const PIECE: usize = 1 << 20;

/// Bytes of a file that were decoded for a read of some of them. With all of them in its page cache the kernel asks
/// for none of them again, however many files are read at a time and however little we can keep.
#[derive(Debug)]
pub(super) struct Push {
    /// The file.
    pub(super) ino: u64,
    /// The bytes, and where in the file they begin.
    pub(super) decoded: Decoded,
}

/// The way to the thread; it ends when this is gone or the kernel is.
#[derive(Debug)]
pub(super) struct PushQueue {
    sender: SyncSender<Push>,
    /// Bytes of the notices that wait.
    waiting: Arc<AtomicU64>,
}

impl PushQueue {
    /// Starts the thread.
    pub(super) fn start(notifier: Notifier) -> std::io::Result<Self> {
        let (sender, notices) = sync_channel(QUEUE);
        let waiting = Arc::new(AtomicU64::new(0));
        let of_thread = waiting.clone();
        thread::Builder::new().name("notices".into()).spawn(move || tell(&notifier, &notices, &of_thread))?;
        Ok(Self { sender, waiting })
    }

    /// Says it when its turn comes, or never; does not wait.
    pub(super) fn send(&self, notice: Push) {
        let bytes = notice.decoded.bytes().len() as u64;
        let before = self.waiting.fetch_add(bytes, Ordering::Relaxed);
        let is_room = before == 0 || before.saturating_add(bytes) <= QUEUE_BYTES;
        if !is_room || self.sender.try_send(notice).is_err() {
            self.waiting.fetch_sub(bytes, Ordering::Relaxed);
        }
    }
}

fn tell(notifier: &Notifier, notices: &Receiver<Push>, waiting: &AtomicU64) {
    for Push { ino, decoded } in notices {
        for (piece, at) in decoded.bytes().chunks(PIECE).zip((decoded.offset()..).step_by(PIECE)) {
            // Mostly: the kernel has forgotten the file, and wants nothing of it.
            if notifier.store(INodeNo(ino), at, piece).is_err() {
                break;
            }
        }
        waiting.fetch_sub(decoded.bytes().len() as u64, Ordering::Relaxed);
    }
}
