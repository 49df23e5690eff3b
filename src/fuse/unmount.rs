//! Unmounting: by a system call as root, through fusermount3 as an ordinary user.
//!
//! A path does not say which mount ends. Another user may own a folder in it, and exchange that folder with a
//! link in a loop. So [`unmount`] is for a mount of the mount table. It opens what is at the mount's path,
//! compares the number of the mount, and then unmounts what it opened.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use std::{io, thread};

use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use signal_hook::iterator::Signals;

use super::fusermount::{HELPER, HELPER_TIME, Hindrance, reason_in};
use super::mount::MountError;
use crate::fs::OnWait;
use crate::shown::Shown;
use crate::system::holders::stopped_in_use;
use crate::system::mountinfo::{self, MountEntry};
use crate::system::place::Place;
use crate::system::process::is_in_user_namespace;
use crate::system::subprocess::Program;

/// How often the mount is looked up if its path leads elsewhere, because a folder is being renamed.
const TRIES: u32 = 100;

/// Unmounts a mount, and no other. If `lazily`, the mount is detached at once, even if files are open, and
/// ends when the last of them is closed.
///
/// # Errors
/// [`MountError::Kernel`] if the mount is busy, covered by another mount, ended already, or another user's;
/// [`MountError::Hindered`] and [`MountError::NoHelper`].
pub fn unmount(mounted: &MountEntry, mut lazily: bool) -> Result<(), MountError> {
    let mut failure = io::Error::from(Errno::BUSY);
    for _ in 0..TRIES {
        let now = mounted.now().ok_or_else(|| refused(mounted, Errno::INVAL))?;
        if mountinfo::mounted_at(&now.mountpoint).is_some_and(|top| top.id != now.id) {
            // Another mount covers it, or its folder was renamed after the table was read.
            continue;
        }
        let unmounted = match Place::open_without_last_link(&now.mountpoint) {
            Ok(place) if place.holds(&now) => unmount_at(place, &now, lazily),
            Ok(_) => continue,
            Err(error) => {
                failure = error;
                continue;
            }
        };
        match unmounted {
            // It is idle.
            Err(Errno::AGAIN) => lazily = true,
            // fusermount3 is setuid root, so it may succeed.
            Err(Errno::PERM) => return unmount_by_helper(&now.mountpoint, lazily),
            done => return done.map_err(|errno| refused(&now, errno)),
        }
    }
    Err(MountError::Kernel(mounted.mountpoint.clone(), failure))
}

/// Unmounts a mount that was found at a place. Returns EAGAIN if the mount is idle, and has to be detached.
///
/// An open descriptor keeps a mount busy, so only a lazy unmount can go through it. Otherwise the mount is
/// named in its open parent folder. That is safe if only root can rename what is in that folder. If not, then
/// between the comparison and the system call another user may exchange the folder with one of his on which
/// root mounted something else; he can do so in a mount namespace of his own. So `MNT_EXPIRE` asks by the
/// name whether the mount is busy. The first such question unmounts nothing. After the answer that it is
/// idle, there is no second question: the mount is detached through a descriptor.
///
/// What remains: the answer may be about the other mount. Then a mount that is busy is detached, which takes
/// no file from a program that has it open. And if two processes ask at the same time about two mounts of
/// that user, both questions may reach a third mount in his folder, which expires if it is idle. He can
/// detach that one anyway, by removing the folder below it in his namespace.
fn unmount_at(place: Place, mounted: &MountEntry, lazily: bool) -> rustix::io::Result<()> {
    if lazily {
        let path = place.exact_path().ok_or(Errno::INVAL)?;
        return rustix::mount::unmount(path, UnmountFlags::DETACH);
    }
    // Closes the mount.
    let place = place.into_name();
    if place.is_fixed() {
        return rustix::mount::unmount(place.path_of_name(), UnmountFlags::NOFOLLOW);
    }
    match rustix::mount::unmount(place.path_of_name(), UnmountFlags::NOFOLLOW | UnmountFlags::EXPIRE) {
        Ok(()) if mounted.now().is_some() => Err(Errno::AGAIN),
        asked => asked,
    }
}

fn refused(mounted: &MountEntry, errno: Errno) -> MountError {
    // A copy of a mount in a new user and mount namespace cannot be unmounted there.
    if errno == Errno::INVAL && is_in_user_namespace() && mounted.now().is_some() {
        return MountError::Hindered(mounted.mountpoint.clone(), Hindrance::UserNamespace);
    }
    MountError::Kernel(mounted.mountpoint.clone(), errno.into())
}

/// Unmounts through fusermount3. It resolves the path with the rights of the user who runs it, and
/// does not follow a link at the end of the path.
fn unmount_by_helper(mountpoint: &Path, lazily: bool) -> Result<(), MountError> {
    let helper = Program::installed(HELPER).arg("-u").args(lazily.then_some("-z")).arg("--").arg(mountpoint);
    let refused = |reason| MountError::Kernel(mountpoint.to_owned(), reason);
    let output = helper.output_within(HELPER_TIME);
    let output = output.map_err(|error| MountError::not_started(mountpoint, error))?;
    let output = output.ok_or_else(|| refused(io::ErrorKind::TimedOut.into()))?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    if let Some(hindrance) = Hindrance::of_refusal(&stderr) {
        return Err(MountError::Hindered(mountpoint.to_owned(), hindrance));
    }
    let kind = if stderr.contains("busy") { io::ErrorKind::ResourceBusy } else { io::ErrorKind::Other };
    let reason = reason_in(&stderr);
    let named = format!("failed to unmount {}: ", mountpoint.to_string_lossy());
    let reason = reason.strip_prefix(&named).unwrap_or(reason);
    Err(refused(io::Error::new(kind, reason.shown().to_string())))
}

// Unmounts after a signal or a failure.

/// Interval between attempts to unmount a busy mount.
const RETRY: Duration = Duration::from_millis(500);

/// Unmounts one mount.
#[derive(Clone, Debug)]
pub(crate) struct Unmounter {
    /// The mount as it was made. `None` if it was not found in the mount table. Then nothing is unmounted,
    /// because a path alone may lead to another mount.
    mounted: Option<MountEntry>,
    /// A mount that shows this one and must end first, and what to do before.
    upper: Arc<OnceLock<(MountEntry, OnWait)>>,
    /// Whether a signal asked for the end.
    is_asked: Arc<AtomicBool>,
}

impl Unmounter {
    pub(crate) fn new(mounted: Option<MountEntry>) -> Self {
        Self { mounted, upper: Arc::default(), is_asked: Arc::default() }
    }

    /// The device number of the mount, if it is known.
    pub(crate) fn device(&self) -> Option<&str> {
        self.mounted.as_ref().map(|mounted| mounted.device.as_str())
    }

    /// Whether a signal asked for the end of the mount.
    pub(crate) fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::Relaxed)
    }

    /// Records a mount as one that must end first. Calls `before` before it tries to end it after a signal.
    pub(crate) fn record_upper(&self, upper: &MountEntry, before: OnWait) {
        self.upper.get_or_init(|| (upper.clone(), before));
    }

    /// The mount that must end first, if it is still there, and what to do before.
    fn upper(&self) -> Option<(MountEntry, &OnWait)> {
        let (upper, before) = self.upper.get()?;
        Some((upper.now()?, before))
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
        self.is_asked.store(true, Ordering::Relaxed);
        if self.mounted.is_none() {
            return log::error!("cannot unmount: this mount is not in the mount table; run `umount`");
        }
        let (mut is_lazy, mut is_reported) = (false, false);
        let (mut in_use, mut tries) = (None, 0);
        while !signals.is_closed()
            && let Some(mounted) = self.current()
        {
            is_lazy |= signals.pending().next().is_some();
            if let Some((upper, before)) = self.upper() {
                if tries == 0 && in_use.is_none() {
                    before.0();
                }
                // A mount that is in use is detached once its programs are known.
                match unmount(&upper, is_lazy && in_use.is_some()) {
                    Ok(()) => {
                        in_use.take().into_iter().for_each(|what: String| log::warn!("{what}"));
                        continue;
                    }
                    Err(_) if is_lazy && in_use.is_none() => {
                        in_use = Some(stopped_in_use(&upper.device));
                        continue;
                    }
                    // systemd sends the second signal at once.
                    Err(error) if tries == 1 => {
                        log::warn!(
                            "{error}; it will be unmounted once no program uses it; a second signal \
                             unmounts at once"
                        );
                    }
                    Err(_) => {}
                }
                // Other programs may use it at the next try.
                in_use = None;
                tries += 1;
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
        if let Some((upper, _)) = self.upper() {
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
