//! The unmount that a signal asks for.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::mount::{self, MountError};
use super::mountinfo;

/// Between attempts to unmount a busy mount.
const RETRY: Duration = Duration::from_millis(500);

/// Unmounts one mount, from a thread of its own.
#[derive(Debug)]
pub(super) struct Unmounter {
    mountpoint: PathBuf,
    device: Option<String>,
    is_lazy: AtomicBool,
    is_cancelled: AtomicBool,
}

impl Unmounter {
    /// Of the mount with a device number, where that is known, and else of whatever is mounted on the path.
    pub(super) fn new(mountpoint: PathBuf, device: Option<String>) -> Self {
        Self { mountpoint, device, is_lazy: false.into(), is_cancelled: false.into() }
    }

    /// From now on, unmounts even while files are open.
    pub(super) fn make_lazy(&self) {
        self.is_lazy.store(true, Ordering::Relaxed);
    }

    /// The mount has ended by other means.
    pub(super) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Tries to unmount until that succeeds or the mount has ended.
    pub(super) fn run(&self) {
        let mut is_reported = false;
        while !self.is_cancelled.load(Ordering::Relaxed)
            && let Some(path) = self.current_path()
        {
            let is_lazy = self.is_lazy.load(Ordering::Relaxed);
            let is_covered = !self.is_topmost(&path);
            // umount2 would end the mount that covers ours.
            let unmounted = match is_covered {
                true => Err(MountError::Kernel(path, io::ErrorKind::ResourceBusy.into())),
                false => mount::unmount(&path, is_lazy),
            };
            match unmounted {
                Ok(()) => return,
                Err(error) if is_lazy && !is_covered => return log::error!("cannot unmount: {error}"),
                Err(error) if !is_reported => {
                    let advice = match is_covered {
                        true => "Another mount covers it",
                        false => "A second signal unmounts at once",
                    };
                    log::warn!("{error}; unmounting when it is free. {advice}");
                    is_reported = true;
                }
                Err(_) => {}
            }
            self.wait(is_lazy);
        }
    }

    /// Waits in small steps, so that a second signal takes effect at once.
    fn wait(&self, was_lazy: bool) {
        for _ in 0..10 {
            if self.is_lazy.load(Ordering::Relaxed) == was_lazy && !self.is_cancelled.load(Ordering::Relaxed)
            {
                thread::sleep(RETRY / 10);
            }
        }
    }

    /// Where the mount is now: it may have been moved (`mount --move`). `None` once it is unmounted.
    fn current_path(&self) -> Option<PathBuf> {
        let Some(device) = &self.device else { return Some(self.mountpoint.clone()) };
        let mut mounts = mountinfo::mounts().into_iter().filter(|it| it.device == *device);
        let first = mounts.next()?.mountpoint;
        let is_in_place = first == self.mountpoint || mounts.any(|it| it.mountpoint == self.mountpoint);
        Some(if is_in_place { self.mountpoint.clone() } else { first })
    }

    /// Whether the topmost mount on a path is this one.
    fn is_topmost(&self, path: &Path) -> bool {
        self.device.is_none() || mountinfo::mounted_at(path).map(|mounted| mounted.device) == self.device
    }
}
