//! The thread that has the kernel drop names beyond their bounds: assumed folders, whose numbers it then forgets, and names that
//! are remembered because the kernel was told them with a lifetime.
//!
//! A notification waits for locks of the folder that it is about, so that no worker sends one.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;

use fuser::{INodeNo, Notifier};

/// Parents and names of folders that the kernel is to drop.
type Names = Vec<(u64, Box<[u8]>)>;

/// Wakes the thread; it ends with this.
#[derive(Debug)]
pub(crate) struct NameTrim {
    wake: SyncSender<()>,
    notifier: Arc<OnceLock<Notifier>>,
}

impl NameTrim {
    /// Starts the thread, before the mount; `surplus` returns what is to be dropped next.
    pub(crate) fn start(surplus: impl Fn() -> Names + Send + 'static) -> io::Result<Self> {
        let (wake, woken) = sync_channel(1);
        let notifier = Arc::new(OnceLock::new());
        let of_thread = notifier.clone();
        thread::Builder::new().name("name-trim".into()).spawn(move || run(surplus, &woken, &of_thread))?;
        Ok(Self { wake, notifier })
    }

    /// Sets the connection to the kernel, once there is one.
    pub(crate) fn connect(&self, notifier: Notifier) {
        // Set once.
        let _ = self.notifier.set(notifier);
    }

    /// Has the thread send notifications; does not wait.
    pub(crate) fn wake(&self) {
        // Where it was woken already, that is enough.
        let _ = self.wake.try_send(());
    }
}

fn run(surplus: impl Fn() -> Names, woken: &Receiver<()>, notifier: &OnceLock<Notifier>) {
    for () in woken {
        let Some(notifier) = notifier.get() else { continue };
        for (parent, name) in surplus() {
            // Fails where the kernel has dropped it already.
            let _ = notifier.inval_entry(INodeNo(parent), OsStr::from_bytes(&name));
        }
    }
}
