//! What the kernel is told without having asked, from a thread of its own.
//!
//! A thread that answers requests must never say these things: the kernel may hold a page locked until that very
//! thread answers a read of it (FUSE.md 2.10).

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use fuser::{INodeNo, Notifier};

use crate::content::Unpacked;

/// Notices that may wait; what comes when the queue is full is left unsaid, for every one of them only saves time.
const QUEUE: usize = 64;
/// Bytes that are stored in one message.
const PIECE: usize = 1 << 20;

/// Bytes of a file that were unpacked for a read of some of them. With all of them in its page cache the kernel asks
/// for none of them again, however many files are read at a time and however little we can keep.
#[derive(Debug)]
pub(super) struct Notice {
    /// The file.
    pub(super) ino: u64,
    /// The bytes, and where in the file they begin.
    pub(super) unpacked: Unpacked,
}

/// Starts the thread; it ends when the last sender is gone or the kernel is.
pub(super) fn start(notifier: Notifier) -> std::io::Result<SyncSender<Notice>> {
    let (sender, notices) = sync_channel(QUEUE);
    thread::Builder::new().name("notices".into()).spawn(move || tell(&notifier, &notices))?;
    Ok(sender)
}

fn tell(notifier: &Notifier, notices: &Receiver<Notice>) {
    for Notice { ino, unpacked } in notices {
        for (piece, at) in unpacked.bytes().chunks(PIECE).zip((unpacked.offset()..).step_by(PIECE)) {
            // Mostly: the kernel has forgotten the file, and wants nothing of it.
            if notifier.store(INodeNo(ino), at, piece).is_err() {
                break;
            }
        }
    }
}
