//! A mount's life: from the first request to the last, and the signals that end it.

use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use fuser::{Config, SessionACL};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::fuse::Adaptor;
use super::push::PushQueue;
use super::vigil::Vigil;
use super::{FileSystem, MountError, MountRequest, mount, mountinfo};

/// A mount that answers.
#[derive(Debug)]
pub struct Session {
    inner: fuser::Session<Adaptor>,
    mountpoint: PathBuf,
    /// The device number of the mount, by which it is told from another that may stand in its place one day.
    device: Option<String>,
    signals: Signals,
}

/// Why a mount did not come about, or ended.
#[derive(Debug)]
pub enum SessionError {
    /// It was refused.
    Mount(MountError),
    /// The system refused something else.
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

/// Between attempts to unmount what is busy.
const RETRY: Duration = Duration::from_millis(500);

impl Session {
    /// Mounts a file system, and returns when the kernel has greeted it: from then on, requests wait for
    /// [`Session::serve`] at the most. Until that runs, nobody in this process may look at the mountpoint.
    ///
    /// # Errors
    /// Who refused, and why.
    pub fn start(fs: Arc<FileSystem>, request: &MountRequest) -> Result<Self, SessionError> {
        // Before the mount, so that no signal can end the process and leave the mount behind.
        let signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(SessionError::Io)?;
        let connection = request.mount().map_err(SessionError::Mount)?;
        let processors = thread::available_parallelism().map_or(2, NonZero::get);
        let workers = workers(processors);
        let mut config = Config::default();
        config.n_threads = Some(workers);
        config.clone_fd = true;
        // On the only processor, whoever stays awake for a request keeps it from being made.
        let device = if processors > 1 { connection.try_clone().ok() } else { None };
        let adaptor = Adaptor::new(fs.clone(), device.map(|device| Vigil::new(device, workers)));
        // The kernel itself keeps other users out unless it was told to let them in; fuser need not ask again.
        let inner =
            fuser::Session::from_fd(adaptor, connection, SessionACL::All, config).map_err(|error| {
                // Best effort: the first error is the one to tell.
                let _ = mount::unmount(&request.mountpoint, true);
                SessionError::Io(error)
            })?;
        fs.notices.set(PushQueue::start(inner.notifier()).map_err(SessionError::Io)?).ok();
        let mountpoint = request.mountpoint.clone();
        let device = mountinfo::mounted_at(&mountpoint).map(|mounted| mounted.device);
        if let Some(device) = &device {
            read_ahead(device, request.read_ahead);
        }
        Ok(Self { inner, mountpoint, device, signals })
    }

    /// Answers requests until the mount ends: by `umount`, or by a signal. The first signal unmounts as soon as no
    /// file is open; the second at once, while open files can be read to their end.
    ///
    /// # Errors
    /// What broke the connection to the kernel.
    pub fn serve(self) -> io::Result<()> {
        let Self { inner, mountpoint, device, mut signals } = self;
        let handle = signals.handle();
        let leaving = Arc::new(Unmounter { mountpoint, device, lazily: false.into(), is_over: false.into() });
        let by_signal = leaving.clone();
        let listener = thread::Builder::new().name("signals".into()).spawn(move || {
            let mut is_leaving = false;
            for _ in &mut signals {
                if is_leaving {
                    by_signal.lazily.store(true, Ordering::Relaxed);
                    continue;
                }
                let leaving = by_signal.clone();
                is_leaving =
                    thread::Builder::new().name("unmount".into()).spawn(move || leaving.leave()).is_ok();
            }
        })?;
        let served = inner.run();
        leaving.is_over.store(true, Ordering::Relaxed);
        handle.close();
        let _ = listener.join();
        match served {
            // The kernel's word for a mount that was ended from outside.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::CONNABORTED.raw_os_error()) => {
                Ok(())
            }
            served => served,
        }
    }
}

/// A mount that is to end.
#[derive(Debug)]
struct Unmounter {
    mountpoint: PathBuf,
    device: Option<String>,
    lazily: AtomicBool,
    is_over: AtomicBool,
}

impl Unmounter {
    /// Unmounts, again and again while the mount is busy, until it is over or a second signal cuts the waiting short.
    fn leave(&self) {
        let mut is_told = false;
        while !self.is_over.load(Ordering::Relaxed)
            && let Some(place) = self.place()
        {
            let lazily = self.lazily.load(Ordering::Relaxed);
            let is_covered = !self.is_on_top(&place);
            // An unmount would end what covers the mount, and not the mount.
            let unmounted = match is_covered {
                true => Err(MountError::Kernel(place, io::ErrorKind::ResourceBusy.into())),
                false => mount::unmount(&place, lazily),
            };
            match unmounted {
                Ok(()) => return,
                Err(error) if lazily && !is_covered => return log::error!("cannot unmount: {error}"),
                Err(error) if !is_told => {
                    let then = if is_covered {
                        "Another mount covers it"
                    } else {
                        "A second signal unmounts at once"
                    };
                    log::warn!("{error}; unmounting when it is free. {then}");
                    is_told = true;
                }
                Err(_) => {}
            }
            // In small steps, for the second signal is not to wait.
            for _ in 0..10 {
                if self.lazily.load(Ordering::Relaxed) == lazily && !self.is_over.load(Ordering::Relaxed) {
                    thread::sleep(RETRY / 10);
                }
            }
        }
    }

    /// Where the mount is: not where it was made, if somebody moved it, and nowhere once it was unmounted.
    fn place(&self) -> Option<PathBuf> {
        let Some(device) = &self.device else { return Some(self.mountpoint.clone()) };
        let mut places = mountinfo::mounts().into_iter().filter(|it| it.device == *device);
        let first = places.next()?.mountpoint;
        let is_at_home = first == self.mountpoint || places.any(|it| it.mountpoint == self.mountpoint);
        Some(if is_at_home { self.mountpoint.clone() } else { first })
    }

    /// Whether what is seen at a place is this mount, and not another that came after it.
    fn is_on_top(&self, place: &Path) -> bool {
        self.device.is_none() || mountinfo::mounted_at(place).map(|mounted| mounted.device) == self.device
    }
}

/// Lets the kernel read further ahead than the 128 KiB that a connection can ask for: requests of up to 1 MiB, which is
/// as much as one can carry, are an eighth as many. Programs that look here and there into a mapped file pay for it with
/// pages they do not want, and get the 128 KiB back with `-o readahead=128`.
fn read_ahead(device: &str, asked: Option<u32>) {
    const KIB: u32 = 1024;
    let kib = asked.unwrap_or(KIB);
    let file = format!("/sys/class/bdi/{device}/read_ahead_kb");
    match (std::fs::write(&file, kib.to_string()), asked) {
        (Ok(()), _) => {}
        // Users, and root of a container, have it as it is.
        (Err(error), None) => log::debug!("{file}: {error}"),
        (Err(error), Some(_)) => log::warn!("readahead={kib}: {file}: {error}; only root may set it"),
    }
}

/// As many as there are processors: fewer leave one idle while another decodes, more only move wake-ups about.
fn workers(processors: usize) -> usize {
    processors.clamp(2, 8)
}
