//! A mount from its first request to its last, and the signals that end it.

use std::io;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use fuser::{Config, SessionACL};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::filesystem::FileSystem;
use super::fuse::Adaptor;
use super::mount::{self, MountError, MountRequest};
use super::mountinfo;
use super::push::PushQueue;
use super::unmounter::Unmounter;

/// A mount whose requests this process answers.
#[derive(Debug)]
pub struct Session {
    inner: fuser::Session<Adaptor>,
    mountpoint: PathBuf,
    /// The device number of the mount, by which it differs from a later mount on the same path.
    device: Option<String>,
    signals: Signals,
}

/// Why mounting failed.
#[derive(Debug)]
pub enum SessionError {
    /// fusermount3 or the kernel refused the mount.
    Mount(MountError),
    /// Another call to the system failed.
    Io(io::Error),
}

impl std::fmt::Display for SessionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Mount(error) => error.fmt(f),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SessionError {}

impl Session {
    /// Mounts a file system and completes the INIT handshake. Further requests wait for [`Session::serve`]: until that
    /// runs, a thread of this process that accesses the mountpoint blocks.
    ///
    /// # Errors
    /// See [`SessionError`].
    pub fn start(fs: Arc<FileSystem>, request: &MountRequest) -> Result<Self, SessionError> {
        // Before the mount: a signal whose handler is not yet there would end the process and leave the mount behind.
        let signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(SessionError::Io)?;
        let connection = request.mount().map_err(SessionError::Mount)?;
        let processors = thread::available_parallelism().map_or(2, NonZero::get);
        let mut config = Config::default();
        config.n_threads = Some(workers(processors));
        config.clone_fd = true;
        let adaptor = Adaptor::new(fs.clone());
        // The kernel keeps other users out unless `allow_other` is set; fuser need not check again.
        let inner =
            fuser::Session::from_fd(adaptor, connection, SessionACL::All, config).map_err(|error| {
                // Best effort: the first error is the one to report.
                let _ = mount::unmount(&request.mountpoint, true);
                SessionError::Io(error)
            })?;
        fs.push_queue.set(PushQueue::start(inner.notifier()).map_err(SessionError::Io)?).ok();
        let mountpoint = request.mountpoint.clone();
        let device = mountinfo::mounted_at(&mountpoint).map(|mounted| mounted.device);
        if let Some(device) = &device {
            set_read_ahead(device, request.read_ahead);
        }
        Ok(Self { inner, mountpoint, device, signals })
    }

    /// Answers requests until the mount ends, by `umount` or by a signal. The first signal unmounts as soon as no file
    /// is open; a second unmounts lazily, at once, and open files can be read to their end.
    ///
    /// # Errors
    /// Why the connection to the kernel broke.
    pub fn serve(self) -> io::Result<()> {
        let Self { inner, mountpoint, device, mut signals } = self;
        let handle = signals.handle();
        let unmounter = Arc::new(Unmounter::new(mountpoint, device));
        let of_listener = unmounter.clone();
        let listener = thread::Builder::new().name("signals".into()).spawn(move || {
            let mut is_unmounting = false;
            for _ in &mut signals {
                if is_unmounting {
                    of_listener.make_lazy();
                    continue;
                }
                let unmounter = of_listener.clone();
                let thread = thread::Builder::new().name("unmount".into());
                is_unmounting = thread.spawn(move || unmounter.run()).is_ok();
            }
        })?;
        let served = inner.run();
        unmounter.cancel();
        handle.close();
        let _ = listener.join();
        match served {
            // The mount was ended by somebody else.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::CONNABORTED.raw_os_error()) => {
                Ok(())
            }
            served => served,
        }
    }
}

/// Sets how far the kernel reads ahead (prefetch), by default 1 MiB, which is the largest READ, and not the 128 KiB that
/// INIT can ask for: an eighth as many READs (FUSE.md section 2.5). Programs with random access to mapped files then
/// read pages that they do not use; `-o readahead=128` is for them.
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

/// Worker threads, one for each processor: with fewer, processors are idle while one decodes; with more, requests wake
/// threads on further processors (FUSE.md section 1.1). A worker blocks in read(2) between requests: busy polling there
/// brought nothing for programs that read whole trees (FUSE.md section 2.9).
fn workers(processors: usize) -> usize {
    processors.clamp(2, 8)
}
