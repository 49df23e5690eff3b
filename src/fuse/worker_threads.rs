//! fuser's worker threads, and how their failures are noticed.

use std::io::{self, PipeReader};
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use super::adaptor::Adaptor;
use crate::system::mountinfo;

/// Between looks whether the workers have started.
const STEP: Duration = Duration::from_micros(200);
/// Once unmounted: between looks whether workers have ended; and how long the others may take then.
const ENDING: Duration = Duration::from_secs(1);

/// The thread that starts fuser's workers and waits for their end.
#[derive(Debug)]
pub(crate) struct WorkerThreads {
    /// How many workers it starts.
    pub(crate) count: usize,
    session: SyncSender<fuser::Session<Adaptor>>,
    ended: Receiver<io::Result<()>>,
    /// Closed by the other side when the thread ends.
    running: PipeReader,
}

impl WorkerThreads {
    /// Starts that thread, before the mount.
    pub(crate) fn prepare(count: usize) -> io::Result<Self> {
        let (session, mounted) = sync_channel::<fuser::Session<Adaptor>>(1);
        let (end, ended) = sync_channel(1);
        let (running, ending) = io::pipe()?;
        thread::Builder::new().name("session".into()).spawn(move || {
            if let Ok(session) = mounted.recv() {
                // Not received if the process is ending.
                let _ = end.send(session.run());
            }
            drop(ending);
        })?;
        Ok(Self { count, session, ended, running })
    }

    /// Starts the workers, and returns when all of them run. `fuser::Session::run` returns early where it
    /// cannot clone the device or start a thread, and leaves the workers that it has started; it does not
    /// report success. They have started when threads of their names exist.
    pub(crate) fn start(&self, session: fuser::Session<Adaptor>) -> io::Result<()> {
        // Received for as long as the thread runs, whose end is noticed below.
        let _ = self.session.send(session);
        loop {
            match self.ended.recv_timeout(STEP) {
                Ok(Ok(())) => return Err(io::Error::other("it was unmounted before it was ready")),
                Ok(Err(error)) => return Err(error),
                Err(RecvTimeoutError::Disconnected) => return Err(panicked()),
                Err(RecvTimeoutError::Timeout) if running_workers() >= self.count => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Waits until the mount with this device number ends. Workers that wait for a disk then are not waited
    /// for.
    pub(crate) fn wait(&self, device: Option<&str>) -> io::Result<()> {
        if device.is_none_or(|device| self.wait_for_unmount(device).is_err()) {
            return self.ended.recv().unwrap_or_else(|_| Err(panicked()));
        }
        // Unmounted, the mount lives on while files are open, or in another mount namespace; then workers end
        // together.
        let mut is_ending = false;
        loop {
            match self.ended.recv_timeout(ENDING) {
                Ok(ended) => return ended,
                Err(RecvTimeoutError::Disconnected) => return Err(panicked()),
                Err(RecvTimeoutError::Timeout) if is_ending => return Ok(()),
                Err(RecvTimeoutError::Timeout) => is_ending = running_workers() < self.count,
            }
        }
    }

    /// Waits until no mount has this device number, or all workers have ended.
    fn wait_for_unmount(&self, device: &str) -> io::Result<()> {
        let is_ended = || !mountinfo::mounts().iter().any(|mount| mount.device == device);
        mountinfo::wait_until(is_ended, Some(self.running.as_fd()))
    }
}

fn panicked() -> io::Error {
    io::Error::other("a worker thread panicked")
}

/// How many threads of this process have the names of fuser's workers; all where /proc cannot be read.
fn running_workers() -> usize {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return usize::MAX };
    let names = threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with("fuser-")).count()
}
