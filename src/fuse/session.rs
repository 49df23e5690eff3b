//! A mount from its first request to its last, and the signals that end it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, PipeReader};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fuser::{Config, SessionACL};
use rustix::fs::{AtFlags, statat};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use super::adaptor::Adaptor;
use super::device_queues::{DeviceQueues, SpareWorkers};
use super::mount::{MountError, MountRequest};
use super::notify::Notify;
use super::unmount::Unmounter;
use crate::fs::{Callback, FileSystem};
use crate::shown::Shown;
use crate::system::memory::{self, processors};
use crate::system::mountinfo::{self, MountEntry, wait_until};
use crate::system::process;

/// Number of descriptors that are opened after the mount, not counting one per worker. An unmount
/// through fusermount3 needs them.
const SPARE_DESCRIPTORS: usize = 8;
/// Number of threads besides the workers and those that decode ahead, at most.
const OTHER_THREADS: usize = 12;
/// Size of the receive buffer of each worker of fuser, rounded up.
const RECEIVE_BUFFER: usize = (16 << 20) + (64 << 10);

/// A mount whose requests this process answers.
#[derive(Debug)]
pub struct Session {
    signals: SignalThread,
    workers: WorkerThreads,
    unmounter: Unmounter,
}

impl Session {
    /// Mounts a file system. Returns when all workers answer requests. Threads and descriptors are
    /// obtained before the mount, except threads that decode ahead; a failure after it unmounts.
    ///
    /// # Errors
    /// See [`MountError`].
    pub fn start(fs: Arc<FileSystem>, request: &MountRequest) -> Result<Self, MountError> {
        let (count, prefetching) = (workers(processors()), prefetching(processors()));
        check_memory(count, prefetching).map_err(MountError::Serving)?;
        let signals = SignalThread::start().map_err(MountError::Serving)?;
        let workers = WorkerThreads::prepare(count).map_err(MountError::Serving)?;
        let devices = DeviceQueues::start(count).map_err(MountError::Serving)?;
        let spares = SpareWorkers::start(awake_workers(processors())).map_err(MountError::Serving)?;
        let notify = Notify::start(&fs).map_err(MountError::Serving)?;
        fs.start_prefetch(prefetching);
        let reserved = reserve_descriptors(count + SPARE_DESCRIPTORS).map_err(MountError::Serving)?;
        let connection = request.mount()?;
        drop(reserved);
        let unmounter = Unmounter::new(request.entry(&connection));
        let session = Self { signals, workers, unmounter };
        match session.connect(&fs, request, devices, spares, notify, connection) {
            Ok(()) => Ok(session),
            Err(error) => {
                session.take_back();
                Err(MountError::Serving(error))
            }
        }
    }

    /// Completes the INIT handshake and starts the workers. Until the first one runs, a thread of this
    /// process that accesses the mountpoint blocks.
    fn connect(
        &self,
        fs: &Arc<FileSystem>,
        request: &MountRequest,
        devices: DeviceQueues,
        spares: SpareWorkers,
        notify: Notify,
        connection: OwnedFd,
    ) -> io::Result<()> {
        let mut config = Config::default();
        config.n_threads = Some(self.workers.count);
        config.clone_fd = true;
        // The kernel keeps other users out unless `allow_other` is set, so fuser need not check too.
        let adaptor = Adaptor::new(fs.clone(), devices, spares);
        let session = fuser::Session::from_fd(adaptor, connection, SessionACL::All, config)?;
        notify.connect(session.notifier());
        fs.connect(notify);
        self.workers.start(session, || {
            if let Some(device) = self.unmounter.device() {
                set_read_ahead(device, request.read_ahead);
                fetch_permissions(request);
            }
        })?;
        self.signals.listen(self.unmounter.clone());
        Ok(())
    }

    /// Makes another mount, which shows this one, end before this one. When it ends, this one ends too. If a
    /// signal ends both, `before` is called first.
    ///
    /// # Errors
    /// The system has no thread to wait for its end.
    pub fn end_with(&self, upper: MountEntry, before: impl Fn() + Send + Sync + 'static) -> io::Result<()> {
        self.unmounter.record_upper(&upper, Callback(Box::new(before)));
        let unmounter = self.unmounter.clone();
        let is_over = move || upper.now().is_none();
        thread::Builder::new().name("overlay".into()).spawn(move || match wait_until(is_over, None) {
            Ok(()) => unmounter.unmount_when_free(),
            Err(error) => log::error!(
                "cannot watch the overlay: {error}; when you unmount it, also unmount the mount below it"
            ),
        })?;
        Ok(())
    }

    /// Answers requests until `umount` or a signal ends the mount. The first signal unmounts as soon as no
    /// file is open. A second signal unmounts lazily, at once, and open files can be read to their end: for
    /// `patience`, if there is one, because a service manager kills a process that does not end. Returns
    /// the device number of the mount if programs still use it then.
    ///
    /// # Errors
    /// Why the connection to the kernel broke. The mount is detached.
    pub fn serve(self, patience: Option<Duration>) -> io::Result<Option<String>> {
        let patience = || patience.filter(|_| self.unmounter.is_asked());
        let error = match self.workers.wait(self.unmounter.device(), &patience) {
            // The mount is not detached here: after an unmount, another mount may have its device number.
            Ok(has_ended) => {
                let device = self.unmounter.device().filter(|_| !has_ended).map(str::to_owned);
                self.signals.stop();
                return Ok(device);
            }
            Err(error) => error,
        };
        self.take_back();
        // FUSE_ABORT_ERROR distinguishes an unmount from a connection that another process aborted.
        if error.raw_os_error() == Some(rustix::io::Errno::CONNABORTED.raw_os_error()) {
            return Ok(None);
        }
        Err(error)
    }

    /// Detaches the mount at once, because a later step failed.
    pub fn take_back(self) {
        // This comes first: fusermount3 needs a process, and threads count against the limit of processes.
        self.signals.stop();
        self.unmounter.take_back();
    }
}

/// Checks that there is memory for the threads of a mount. If a worker lacked memory after the mount, the
/// daemon would end and leave a dead mount.
fn check_memory(workers: usize, prefetching: usize) -> io::Result<()> {
    let threads = workers + prefetching + OTHER_THREADS;
    if memory::has_room(workers * RECEIVE_BUFFER + threads * memory::THREAD) {
        Ok(())
    } else {
        Err(io::ErrorKind::OutOfMemory.into())
    }
}

/// Reserves `count` file descriptors: closing them guarantees that as many can be opened later.
fn reserve_descriptors(count: usize) -> io::Result<Vec<File>> {
    (0..count).map(|_| File::open("/dev/null")).collect()
}

/// Makes the kernel ask for the mode of the root, which it takes for 0 until the first access. If a reload
/// drops the attributes before the answer to that access arrives, the kernel ignores the answer, and an
/// ordinary user gets EACCES.
fn fetch_permissions(request: &MountRequest) {
    // `std::fs::metadata` also asks for the time of birth, which takes a second request.
    let asked = match &request.place {
        Some(place) => statat(place.parent(), place.name(), AtFlags::SYMLINK_NOFOLLOW),
        None => rustix::fs::stat(&request.mountpoint),
    };
    if let Err(error) = asked {
        log::debug!("{}: {error}", request.mountpoint.shown());
    }
}

/// Sets how far the kernel reads ahead (prefetch). The default is 1 MiB, the largest READ. INIT can only ask
/// for 128 KiB, which takes eight times as many READs (FUSE.md section 2.5). Programs with random access to
/// mapped files then read pages that they do not use; `-o readahead=128` is for them.
fn set_read_ahead(device: &str, asked: Option<u32>) {
    const DEFAULT_KIB: u32 = 1024;
    let kib = asked.unwrap_or(DEFAULT_KIB);
    let file = format!("/sys/class/bdi/{device}/read_ahead_kb");
    match (std::fs::write(&file, kib.to_string()), asked) {
        (Ok(()), _) => {}
        // Ordinary users, and root in a container, cannot write the file.
        (Err(error), None) => log::debug!("{file}: {error}"),
        (Err(error), Some(_)) => {
            log::warn!("cannot set readahead={kib}: {file}: {error}; only root may set it")
        }
    }
}

/// Number of worker threads: two for each processor. At least six, so that two disks may hang at
/// once (`device_queues.rs`, FUSE.md section 1.1).
///
/// A worker blocks in read(2) between requests. `tests/bench/RESULTS.md` has figures for busy polling.
fn workers(processors: usize) -> usize {
    (2 * processors).clamp(6, 16)
}

/// Number of workers that stay awake if no request is slow and requests overlap: one for each processor. At
/// least two, because other requests would wait while a single one waits for a disk.
fn awake_workers(processors: usize) -> usize {
    processors.max(2)
}

/// Number of threads that decode ahead: one for each processor. On a single processor, decoding ahead gains
/// nothing.
fn prefetching(processors: usize) -> usize {
    if processors == 1 { 0 } else { processors.min(16) }
}

// The thread that waits for SIGTERM, SIGINT and SIGHUP, and then unmounts.

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

// fuser's worker threads, and how their failures are noticed.

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
    /// still occupies then. Returns whether it ended: after the unmount, programs may use it for ever, and
    /// `patience` says how long that counts, if it is limited.
    pub(crate) fn wait(
        &self,
        device: Option<&str>,
        patience: &dyn Fn() -> Option<Duration>,
    ) -> io::Result<bool> {
        if device.is_none_or(|device| self.wait_for_unmount(device).is_err()) {
            return self.ended.recv().unwrap_or_else(|_| Err(panicked())).map(|()| true);
        }
        // After the unmount, the mount lives on while files are open or another mount namespace has
        // it. After that, all workers end at the same time.
        let (mut is_ending, unmounted) = (false, Instant::now());
        loop {
            match self.ended.recv_timeout(ENDING) {
                Ok(ended) => return ended.map(|()| true),
                Err(RecvTimeoutError::Disconnected) => return Err(panicked()),
                Err(RecvTimeoutError::Timeout) if is_ending => return Ok(true),
                Err(RecvTimeoutError::Timeout) if patience().is_some_and(|it| unmounted.elapsed() >= it) => {
                    return Ok(false);
                }
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
