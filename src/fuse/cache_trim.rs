//! The thread that brings the cache of decoded extents back to its size, and gives back what large buffers took: an idle
//! daemon takes no more memory.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// Between looks, while there is something to evict or to give back.
const STEP: Duration = Duration::from_secs(1);

/// Wakes the thread; it ends with this.
#[derive(Debug)]
pub(crate) struct CacheTrim(SyncSender<()>);

impl CacheTrim {
    /// Starts the thread, before the mount; `trim` reports whether memory is back at its size.
    pub(crate) fn start(trim: impl Fn() -> bool + Send + 'static) -> io::Result<Self> {
        let (wake, woken) = sync_channel(1);
        thread::Builder::new().name("cache-trim".into()).spawn(move || run(trim, &woken))?;
        Ok(Self(wake))
    }

    /// Has the thread look after the memory until that is back at its size; does not wait.
    pub(crate) fn wake(&self) {
        // Where it was woken already, that is enough.
        let _ = self.0.try_send(());
    }
}

fn run(trim: impl Fn() -> bool, woken: &Receiver<()>) {
    for () in woken {
        thread::sleep(STEP);
        while !trim() {
            thread::sleep(STEP);
        }
    }
}
