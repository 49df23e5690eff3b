//! fuser's worker threads, and how their failures are noticed.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use super::fuse::Adaptor;

/// Between looks whether the workers have started.
const STEP: Duration = Duration::from_micros(200);

/// The thread that starts fuser's workers and waits for their end.
#[derive(Debug)]
pub(super) struct WorkerThreads {
    session: SyncSender<fuser::Session<Adaptor>>,
    ended: Receiver<io::Result<()>>,
}

impl WorkerThreads {
    /// Starts that thread, before the mount.
    pub(super) fn prepare() -> io::Result<Self> {
        let (session, mounted) = sync_channel::<fuser::Session<Adaptor>>(1);
        let (end, ended) = sync_channel(1);
        thread::Builder::new().name("session".into()).spawn(move || {
            if let Ok(session) = mounted.recv() {
                // Nobody receives it where the process is ending.
                let _ = end.send(session.run());
            }
        })?;
        Ok(Self { session, ended })
    }

    /// Starts `count` workers, and returns when all of them run. `fuser::Session::run` returns early where it cannot
    /// clone the device or start a thread, and leaves the workers that it has started; it does not report success. The
    /// last worker has started when a thread of its name exists.
    pub(super) fn start(&self, session: fuser::Session<Adaptor>, count: usize) -> io::Result<()> {
        let last = format!("fuser-{}", count.saturating_sub(1));
        // Received for as long as the thread runs, whose end is noticed below.
        let _ = self.session.send(session);
        loop {
            match self.ended.recv_timeout(STEP) {
                Ok(Ok(())) => return Err(io::Error::other("it was unmounted before it was ready")),
                Ok(Err(error)) => return Err(error),
                Err(RecvTimeoutError::Disconnected) => return Err(panicked()),
                Err(RecvTimeoutError::Timeout) if is_running(&last) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Waits until the mount ends.
    pub(super) fn wait(&self) -> io::Result<()> {
        self.ended.recv().unwrap_or_else(|_| Err(panicked()))
    }
}

fn panicked() -> io::Error {
    io::Error::other("a worker thread panicked")
}

/// Whether this process has a thread of this name; assumed where /proc cannot be read.
fn is_running(name: &str) -> bool {
    let Ok(mut threads) = std::fs::read_dir("/proc/self/task") else { return true };
    threads.any(|thread| {
        let comm = thread.and_then(|thread| std::fs::read_to_string(thread.path().join("comm")));
        comm.is_ok_and(|comm| comm.trim_end() == name)
    })
}
