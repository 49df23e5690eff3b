//! A thread that works each time it is woken.

use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

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
