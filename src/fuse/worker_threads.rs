//! fuser's worker threads, and how their failures are noticed.

use std::ffi::OsString;
use std::fs;
use std::io::{self, PipeReader};
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use super::adaptor::Adaptor;
use crate::system::{mountinfo, process};

/// The threads of this process.
const THREADS: &str = "/proc/self/task";
/// Interval between checks whether the workers have started.
const STEP: Duration = Duration::from_micros(100);
/// Interval between checks, after the unmount, whether workers have ended. When the first has
/// ended, the others get this much time.
const ENDING: Duration = Duration::from_secs(1);

/// The thread that starts fuser's workers and waits for their end.
#[derive(Debug)]
pub(crate) struct WorkerThreads {
    /// Number of workers to start.
    pub(crate) count: usize,
    session: SyncSender<fuser::Session<Adaptor>>,
    ended: Receiver<io::Result<()>>,
    /// The thread closes the other end when it ends.
    running: PipeReader,
}

impl WorkerThreads {
    /// Starts the thread. Called before the mount.
    pub(crate) fn prepare(count: usize) -> io::Result<Self> {
        let (session, mounted) = sync_channel::<fuser::Session<Adaptor>>(1);
        let (end, ended) = sync_channel(1);
        let (running, ending) = io::pipe()?;
        thread::Builder::new().name("session".into()).spawn(move || {
            if let Ok(session) = mounted.recv() {
                // If the process is ending, nothing receives this.
                let _ = end.send(session.run());
            }
            drop(ending);
        })?;
        Ok(Self { count, session, ended, running })
    }

    /// Starts the workers. Calls `with_first` when the first one runs, and returns when all run.
    /// `fuser::Session::run` does not report success. If it cannot clone the device or start a thread, it
    /// returns early and leaves the workers that it has started. So the workers count as started when there
    /// are threads with their names.
    pub(crate) fn start(
        &self,
        session: fuser::Session<Adaptor>,
        with_first: impl FnOnce(),
    ) -> io::Result<()> {
        let others = threads();
        let mut with_first = Some(with_first);
        // The thread receives as long as it runs. Its end is noticed below.
        let _ = self.session.send(session);
        loop {
            let running = running_workers(&others);
            // If /proc cannot be read, no worker is known to run, and the call could wait for ever.
            if (1..=self.count).contains(&running)
                && let Some(call) = with_first.take()
            {
                call();
            }
            let are_started = running >= self.count;
            match self.ended.recv_timeout(if are_started { Duration::ZERO } else { STEP }) {
                Ok(Ok(())) => return Err(io::Error::other("it was unmounted before it was ready")),
                Ok(Err(error)) => return Err(error),
                Err(RecvTimeoutError::Disconnected) => return Err(panicked()),
                Err(RecvTimeoutError::Timeout) if are_started => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Waits until the mount with this device number ends. Does not wait for workers that a disk
    /// still occupies then.
    pub(crate) fn wait(&self, device: Option<&str>) -> io::Result<()> {
        if device.is_none_or(|device| self.wait_for_unmount(device).is_err()) {
            return self.ended.recv().unwrap_or_else(|_| Err(panicked()));
        }
        // After the unmount, the mount lives on while files are open or another mount namespace has
        // it. After that, all workers end at the same time.
        let mut is_ending = false;
        loop {
            match self.ended.recv_timeout(ENDING) {
                Ok(ended) => return ended,
                Err(RecvTimeoutError::Disconnected) => return Err(panicked()),
                Err(RecvTimeoutError::Timeout) if is_ending => return Ok(()),
                Err(RecvTimeoutError::Timeout) => is_ending = running_workers(&[]) < self.count,
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

/// Number of threads of this process with the names of fuser's workers, without `others`. If /proc cannot be
/// read, all workers are assumed to run.
fn running_workers(others: &[OsString]) -> usize {
    let Ok(threads) = fs::read_dir(THREADS) else { return usize::MAX };
    let threads = threads.flatten().filter(|thread| !others.contains(&thread.file_name()));
    let names = threads.filter_map(|thread| process::file_in_proc(&thread.path().join("comm")).ok());
    names.filter(|name| name.starts_with("fuser-")).count()
}

/// Numbers of the threads of this process.
fn threads() -> Vec<OsString> {
    fs::read_dir(THREADS).into_iter().flatten().flatten().map(|thread| thread.file_name()).collect()
}
