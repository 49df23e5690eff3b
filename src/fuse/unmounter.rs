//! Unmounts after a signal or a failure.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use signal_hook::iterator::Signals;

use super::mount::MountError;
use super::unmount::unmount;
use crate::system::mountinfo;

/// Interval between attempts to unmount a busy mount.
const RETRY: Duration = Duration::from_millis(500);

/// Unmounts one mount.
#[derive(Clone, Debug)]
pub(crate) struct Unmounter {
    mountpoint: PathBuf,
    device: Option<String>,
    /// A mount that shows this one and must end first.
    upper: Arc<OnceLock<UpperMount>>,
}

/// A mount, identified by its path and device number.
#[derive(Clone, Debug)]
pub(crate) struct UpperMount {
    mountpoint: PathBuf,
    device: String,
}

impl Unmounter {
    /// Unmounts the mount with this device number. If the number is unknown, unmounts any mount on the path.
    pub(crate) fn new(mountpoint: PathBuf, device: Option<String>) -> Self {
        Self { mountpoint, device, upper: Arc::default() }
    }

    /// The device number of the mount, if it is known.
    pub(crate) fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    /// Records the mount on a path as one that must end first. Returns it.
    pub(crate) fn note_upper(&self, mountpoint: &Path) -> Option<UpperMount> {
        let device = mountinfo::mounted_at(mountpoint)?.device;
        Some(self.upper.get_or_init(|| UpperMount { mountpoint: mountpoint.to_owned(), device }).clone())
    }

    /// Unmounts as soon as nothing uses the mount. Checks the mount's own path only: once the mount
    /// is gone, another one may get its device number.
    pub(crate) fn unmount_when_free(&self) {
        let is_there =
            || mountinfo::mounted_at(&self.mountpoint).is_some_and(|it| Some(it.device) == self.device);
        while is_there() && unmount(&self.mountpoint, false).is_err() {
            thread::sleep(RETRY / 10);
        }
    }

    /// Waits for a signal. Then tries to unmount until that succeeds or `signals` is closed. After
    /// a second signal, unmounts even if files are open.
    pub(crate) fn run(&self, signals: &mut Signals) {
        if signals.forever().next().is_none() {
            return;
        }
        let (mut is_lazy, mut is_reported) = (false, false);
        while !signals.is_closed()
            && let Some(path) = self.current_path()
        {
            is_lazy |= signals.pending().next().is_some();
            if let Some(upper) = self.upper.get().filter(|upper| upper.is_mounted()) {
                match unmount(&upper.mountpoint, is_lazy) {
                    Ok(()) => continue,
                    Err(error) if !is_reported => {
                        log::warn!(
                            "{error}; it will be unmounted once no program uses it; a second signal \
                             unmounts at once"
                        );
                        is_reported = true;
                    }
                    Err(_) => {}
                }
                is_lazy |= wait(signals, is_lazy);
                continue;
            }
            let is_covered = !self.is_topmost(&path);
            // umount2 would end the mount that covers this one.
            let unmounted = match is_covered {
                true => Err(MountError::Kernel(path, io::ErrorKind::ResourceBusy.into())),
                false => unmount(&path, is_lazy),
            };
            match unmounted {
                Ok(()) => return,
                Err(error) if is_lazy && !is_covered => return log::error!("cannot unmount: {error}"),
                Err(error) if !is_reported => {
                    let advice = match is_covered {
                        true => "it will be unmounted once the mount over it is gone",
                        false => {
                            "it will be unmounted once no program uses it; a second signal unmounts at once"
                        }
                    };
                    log::warn!("{error}; {advice}");
                    is_reported = true;
                }
                Err(_) => {}
            }
            is_lazy |= wait(signals, is_lazy);
        }
    }

    /// Detaches the mount at once if it still exists, because what serves it has failed.
    pub(crate) fn take_back(&self) {
        if let Some(upper) = self.upper.get().filter(|upper| upper.is_mounted()) {
            let _ = unmount(&upper.mountpoint, true);
        }
        match self.current_path() {
            Some(path) if self.is_topmost(&path) => match unmount(&path, true) {
                Ok(()) => {}
                Err(error) => log::error!("cannot unmount: {error}"),
            },
            Some(path) => log::error!("cannot unmount: {}: another mount covers it", path.display()),
            None => {}
        }
    }

    /// The current path of the mount, which may have been moved (`mount --move`). `None` if it is unmounted.
    fn current_path(&self) -> Option<PathBuf> {
        let Some(device) = &self.device else { return Some(self.mountpoint.clone()) };
        let mut mounts = mountinfo::mounts().into_iter().filter(|it| it.device == *device);
        let first = mounts.next()?.mountpoint;
        let is_in_place = first == self.mountpoint || mounts.any(|it| it.mountpoint == self.mountpoint);
        Some(if is_in_place { self.mountpoint.clone() } else { first })
    }

    /// Whether this is the topmost mount on a path.
    fn is_topmost(&self, path: &Path) -> bool {
        self.device.is_none() || mountinfo::mounted_at(path).map(|mounted| mounted.device) == self.device
    }
}

impl UpperMount {
    fn is_mounted(&self) -> bool {
        mountinfo::mounts().iter().any(|it| it.mountpoint == self.mountpoint && it.device == self.device)
    }

    /// Waits until the mount has ended.
    pub(crate) fn wait(&self) -> io::Result<()> {
        mountinfo::wait_until(|| !self.is_mounted(), None)
    }
}

/// Waits in small steps, so that a second signal takes effect at once. Returns whether one came, or
/// `signals` was closed.
fn wait(signals: &mut Signals, is_lazy: bool) -> bool {
    let is_over =
        |signals: &mut Signals| signals.is_closed() || (!is_lazy && signals.pending().next().is_some());
    for _ in 0..10 {
        if is_over(signals) {
            return true;
        }
        thread::sleep(RETRY / 10);
    }
    false
}
