//! A mount from its first request to its last, and the signals that end it.

use std::fs::File;
use std::io;
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use fuser::{Config, SessionACL};

use super::adaptor::Adaptor;
use super::device_queues::DeviceQueues;
use super::mount::{MountError, MountRequest};
use super::notify::Notify;
use super::signals::SignalThread;
use super::unmounter::Unmounter;
use super::worker_threads::WorkerThreads;
use crate::fs::FileSystem;
use crate::system::mountinfo;

/// Descriptors that are opened after the mount, beside one for each worker: those of an unmount through
/// fusermount3.
const SPARE_DESCRIPTORS: usize = 8;

/// A mount whose requests this process answers.
#[derive(Debug)]
pub struct Session {
    signals: SignalThread,
    workers: WorkerThreads,
    unmounter: Unmounter,
}

/// Why mounting failed.
#[derive(Debug)]
pub enum SessionError {
    /// fusermount3 or the kernel refused the mount.
    Mount(MountError),
    /// Another call to the system failed: threads or descriptors are not to be had, or the kernel ended the
    /// mount.
    Io(io::Error),
}

impl std::fmt::Display for SessionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Mount(error) => error.fmt(f),
            Self::Io(error) => write!(f, "the mount cannot be served: {error}"),
        }
    }
}

impl std::error::Error for SessionError {}

impl Session {
    /// Mounts a file system, and returns when all workers answer requests. Threads and descriptors are
    /// obtained before the mount; what fails after it takes the mount back.
    ///
    /// # Errors
    /// See [`SessionError`].
    pub fn start(fs: Arc<FileSystem>, request: &MountRequest) -> Result<Self, SessionError> {
        let count = workers(thread::available_parallelism().map_or(2, NonZero::get));
        let signals = SignalThread::start().map_err(SessionError::Io)?;
        let workers = WorkerThreads::prepare(count).map_err(SessionError::Io)?;
        let devices = DeviceQueues::start(count).map_err(SessionError::Io)?;
        let notify = Notify::start(&fs).map_err(SessionError::Io)?;
        let reserved = reserve_descriptors(count + SPARE_DESCRIPTORS).map_err(SessionError::Io)?;
        let connection = request.mount().map_err(SessionError::Mount)?;
        drop(reserved);
        // The device number of the mount, by which it differs from a later mount on the same path.
        let device = mountinfo::mounted_at(&request.mountpoint).map(|mounted| mounted.device);
        let unmounter = Unmounter::new(request.mountpoint.clone(), device.clone());
        let session = Self { signals, workers, unmounter };
        match session.connect(&fs, devices, notify, connection) {
            Ok(()) => {
                if let Some(device) = &device {
                    set_read_ahead(device, request.read_ahead);
                }
                Ok(session)
            }
            Err(error) => {
                session.take_back();
                Err(SessionError::Io(error))
            }
        }
    }

    /// Completes the INIT handshake and starts the workers. Until they run, a thread of this process that
    /// accesses the mountpoint blocks.
    fn connect(
        &self,
        fs: &Arc<FileSystem>,
        devices: DeviceQueues,
        notify: Notify,
        connection: OwnedFd,
    ) -> io::Result<()> {
        let mut config = Config::default();
        config.n_threads = Some(self.workers.count);
        config.clone_fd = true;
        // The kernel keeps other users out unless `allow_other` is set; fuser need not check again.
        let adaptor = Adaptor::new(fs.clone(), devices);
        let session = fuser::Session::from_fd(adaptor, connection, SessionACL::All, config)?;
        notify.connect(session.notifier());
        fs.connect(notify);
        self.workers.start(session)?;
        self.signals.listen(self.unmounter.clone());
        Ok(())
    }

    /// Has the mount on a folder, which shows this one, end before it, and this one with it.
    ///
    /// # Errors
    /// It has ended already; or the system's: the thread cannot be started that waits for its end.
    pub fn end_with(&self, mountpoint: &Path) -> io::Result<()> {
        let gone = || io::Error::other("it is gone already");
        let upper = self.unmounter.note_upper(mountpoint).ok_or_else(gone)?;
        let unmounter = self.unmounter.clone();
        thread::Builder::new().name("overlay".into()).spawn(move || match upper.wait() {
            Ok(()) => unmounter.unmount_when_free(),
            Err(error) => log::error!("the end of the overlay is not waited for: {error}"),
        })?;
        Ok(())
    }

    /// Answers requests until the mount ends, by `umount` or by a signal. The first signal unmounts as soon
    /// as no file is open; a second unmounts lazily, at once, and open files can be read to their end.
    ///
    /// # Errors
    /// Why the connection to the kernel broke; the mount is taken back.
    pub fn serve(self) -> io::Result<()> {
        let Err(error) = self.workers.wait(self.unmounter.device()) else {
            // Not taken back: what has the device number of a mount that was unmounted may be another one.
            self.signals.stop();
            return Ok(());
        };
        self.take_back();
        // Another process aborted the connection. FUSE_ABORT_ERROR distinguishes that from an unmount.
        if error.raw_os_error() == Some(rustix::io::Errno::CONNABORTED.raw_os_error()) {
            return Ok(());
        }
        Err(error)
    }

    /// Detaches the mount at once, where what follows on it failed.
    pub fn take_back(self) {
        // First: fusermount3 needs a process, and threads count as processes.
        self.signals.stop();
        self.unmounter.take_back();
    }
}

/// Opens descriptors so that as many can be opened once these are closed.
fn reserve_descriptors(count: usize) -> io::Result<Vec<File>> {
    (0..count).map(|_| File::open("/dev/null")).collect()
}

/// Sets how far the kernel reads ahead (prefetch), by default 1 MiB, which is the largest READ, and not the
/// 128 KiB that INIT can ask for: an eighth as many READs (FUSE.md section 2.5). Programs with random access
/// to mapped files then read pages that they do not use; `-o readahead=128` is for them.
fn set_read_ahead(device: &str, asked: Option<u32>) {
    const DEFAULT_KIB: u32 = 1024;
    let kib = asked.unwrap_or(DEFAULT_KIB);
    let file = format!("/sys/class/bdi/{device}/read_ahead_kb");
    match (std::fs::write(&file, kib.to_string()), asked) {
        (Ok(()), _) => {}
        // Ordinary users and root in a container cannot write it.
        (Err(error), None) => log::debug!("{file}: {error}"),
        (Err(error), Some(_)) => log::warn!("readahead={kib}: {file}: {error}; only root may set it"),
    }
}

/// Worker threads: two for each processor and at least six, so that two disks may hang at once and one reader is
/// not slowed by more wake-ups than that needs: with eight, small files took 1.1 times as long
/// (`device_queues.rs`, FUSE.md section 1.1). A worker blocks in read(2) between requests: what busy polling
/// brought is in `tests/bench/RESULTS.md`.
fn workers(processors: usize) -> usize {
    (2 * processors).clamp(6, 16)
}
