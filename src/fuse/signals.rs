//! The thread that waits for SIGTERM, SIGINT and SIGHUP, and then unmounts.

use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use super::unmounter::Unmounter;
use crate::system::process;

/// The signal thread. It ends with the mount. If nothing is mounted, it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct SignalThread {
    handle: Handle,
    unmounter: SyncSender<Unmounter>,
    thread: JoinHandle<()>,
}

impl SignalThread {
    /// Starts the thread. Called before the mount, because a signal without a handler would end the process
    /// and leave the mount behind. Signals before [`SignalThread::listen`] are kept until then. Signals that
    /// are ignored stay ignored, as `nohup` and scripts with `trap '' INT` expect.
    pub(crate) fn start() -> io::Result<Self> {
        let ignored = process::ignored_signals();
        let caught = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !ignored.contains(*signal));
        let mut signals = Signals::new(caught)?;
        let (handle, (unmounter, mounted)) = (signals.handle(), sync_channel::<Unmounter>(1));
        let thread = thread::Builder::new().name("signals".into()).spawn(move || {
            if let Ok(unmounter) = mounted.recv() {
                unmounter.run(&mut signals);
            }
        })?;
        Ok(Self { handle, unmounter, thread })
    }

    /// From now on, a signal ends this mount.
    pub(crate) fn listen(&self, unmounter: Unmounter) {
        // The thread receives until `stop`.
        let _ = self.unmounter.send(unmounter);
    }

    /// Ends the thread.
    pub(crate) fn stop(self) {
        let Self { handle, unmounter, thread } = self;
        drop(unmounter);
        handle.close();
        let _ = thread.join();
    }
}
