//! A mount's life: from the first request to the last, and the signals that end it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use fuser::{Config, SessionACL};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::fuse::Adaptor;
use super::{Fs, MountError, Mounting, mount, mountinfo, notices};

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
    pub fn start(fs: Arc<Fs>, mounting: &Mounting) -> Result<Self, SessionError> {
        // Before the mount, so that no signal can end the process and leave the mount behind.
        let signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(SessionError::Io)?;
        let connection = mounting.mount().map_err(SessionError::Mount)?;
        let mut config = Config::default();
        config.n_threads = Some(workers());
        config.clone_fd = true;
        // The kernel itself keeps other users out unless it was told to let them in; fuser need not ask again.
        let inner = fuser::Session::from_fd(Adaptor::new(fs.clone()), connection, SessionACL::All, config)
            .map_err(|error| {
                // Best effort: the first error is the one to tell.
                let _ = mount::unmount(&mounting.mountpoint, true);
                SessionError::Io(error)
            })?;
        fs.notices.set(notices::start(inner.notifier()).map_err(SessionError::Io)?).ok();
        let mountpoint = mounting.mountpoint.clone();
        let device = mountinfo::mounted_at(&mountpoint).map(|mounted| mounted.device);
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
        let leaving = Arc::new(Leaving { mountpoint, device, lazily: false.into(), is_over: false.into() });
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
            Err(error) if error.raw_os_error() == Some(nix::errno::Errno::ECONNABORTED as i32) => Ok(()),
            served => served,
        }
    }
}

/// A mount that is to end.
#[derive(Debug)]
struct Leaving {
    mountpoint: PathBuf,
    device: Option<String>,
    lazily: AtomicBool,
    is_over: AtomicBool,
}

impl Leaving {
    /// Unmounts, again and again while the mount is busy, until it is over or a second signal cuts the waiting short.
    fn leave(&self) {
        let mut is_told = false;
        while !self.is_over.load(Ordering::Relaxed) && self.is_there() {
            let lazily = self.lazily.load(Ordering::Relaxed);
            match mount::unmount(&self.mountpoint, lazily) {
                Ok(()) => return,
                Err(error) if lazily => return log::error!("cannot unmount: {error}"),
                Err(error) if !is_told => {
                    log::warn!("{error}; unmounting when it is free. A second signal unmounts at once");
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

    /// Whether what stands at the mountpoint is this mount, and not another that came after it.
    fn is_there(&self) -> bool {
        let there = mountinfo::mounted_at(&self.mountpoint).map(|mounted| mounted.device);
        self.device.is_none() || there == self.device
    }
}

/// As many as there are processors: fewer leave one idle while another decodes, more only move wake-ups about.
fn workers() -> usize {
    thread::available_parallelism().map_or(2, std::num::NonZero::get).clamp(2, 8)
}
