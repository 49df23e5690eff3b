//! Unmounts after a signal or a failure.

use std::io;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use signal_hook::iterator::Signals;

use super::mount::MountError;
use super::unmount::unmount;
use crate::shown::Shown;
use crate::system::mountinfo::{self, MountEntry};

/// Interval between attempts to unmount a busy mount.
const RETRY: Duration = Duration::from_millis(500);

/// Unmounts one mount.
#[derive(Clone, Debug)]
pub(crate) struct Unmounter {
    /// The mount as it was made. `None` if it was not found in the mount table. Then nothing is unmounted,
    /// because a path alone may lead to another mount.
    mounted: Option<MountEntry>,
    /// A mount that shows this one and must end first.
    upper: Arc<OnceLock<MountEntry>>,
}

impl Unmounter {
    pub(crate) fn new(mounted: Option<MountEntry>) -> Self {
        Self { mounted, upper: Arc::default() }
    }

    /// The device number of the mount, if it is known.
    pub(crate) fn device(&self) -> Option<&str> {
        self.mounted.as_ref().map(|mounted| mounted.device.as_str())
    }

    /// Records a mount as one that must end first.
    pub(crate) fn note_upper(&self, upper: &MountEntry) {
        self.upper.get_or_init(|| upper.clone());
    }

    /// Unmounts as soon as nothing uses the mount. Checks the mount itself, not its device number: once the
    /// mount is gone, another one may get that.
    pub(crate) fn unmount_when_free(&self) {
        let Some(mounted) = &self.mounted else { return };
        while mounted.now().is_some() && unmount(mounted, false).is_err() {
            thread::sleep(RETRY / 10);
        }
    }

    /// Waits for a signal. Then tries to unmount until that succeeds or `signals` is closed. After
    /// a second signal, unmounts even if files are open.
    pub(crate) fn run(&self, signals: &mut Signals) {
        if signals.forever().next().is_none() {
            return;
        }
        if self.mounted.is_none() {
            return log::error!("cannot unmount: this mount is not in the mount table; run `umount`");
        }
        let (mut is_lazy, mut is_reported) = (false, false);
        while !signals.is_closed()
            && let Some(mounted) = self.current()
        {
            is_lazy |= signals.pending().next().is_some();
            if let Some(upper) = self.upper.get().and_then(MountEntry::now) {
                match unmount(&upper, is_lazy) {
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
            let is_covered = !is_topmost(&mounted);
            let unmounted = if is_covered {
                Err(MountError::Kernel(mounted.mountpoint, io::ErrorKind::ResourceBusy.into()))
            } else {
                unmount(&mounted, is_lazy)
            };
            match unmounted {
                Ok(()) => return,
                Err(error) if is_lazy && !is_covered => return log::error!("cannot unmount: {error}"),
                Err(error) if !is_reported => {
                    let advice = if is_covered {
                        "it will be unmounted once the mount over it is gone"
                    } else {
                        "it will be unmounted once no program uses it; a second signal unmounts at once"
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
        if let Some(upper) = self.upper.get().and_then(MountEntry::now) {
            let _ = unmount(&upper, true);
        }
        match self.current() {
            Some(mounted) if is_topmost(&mounted) => match unmount(&mounted, true) {
                Ok(()) => {}
                Err(error) => log::error!("cannot unmount: {error}"),
            },
            Some(mounted) => {
                let path = mounted.mountpoint.shown();
                log::error!("cannot unmount: {path}: another mount covers it");
            }
            None => {}
        }
    }

    /// The mount as it is now. It may have been moved (`mount --move`), or only a bind mount of it may be
    /// left. `None` if it is unmounted.
    fn current(&self) -> Option<MountEntry> {
        let own = self.mounted.as_ref()?;
        let mut mounts = mountinfo::mounts().into_iter().filter(|it| it.device == own.device);
        let first = mounts.next()?;
        if first.id == own.id {
            Some(first)
        } else {
            Some(mounts.find(|it| it.id == own.id).unwrap_or(first))
        }
    }
}

/// Whether no other mount covers a mount.
fn is_topmost(mounted: &MountEntry) -> bool {
    mountinfo::mounted_at(&mounted.mountpoint).is_none_or(|top| top.id == mounted.id)
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
