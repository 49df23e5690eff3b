//! The unmount that a signal asks for.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::mount::{self, MountError};
use super::mountinfo;

/// Between attempts to unmount what is busy.
const RETRY: Duration = Duration::from_millis(500);

/// A mount that is to end.
#[derive(Debug)]
pub(super) struct Unmounter {
    pub(super) mountpoint: PathBuf,
    pub(super) device: Option<String>,
    pub(super) lazily: AtomicBool,
    pub(super) is_over: AtomicBool,
}

impl Unmounter {
    /// Unmounts, again and again while the mount is busy, until it is over or a second signal cuts the waiting short.
    pub(super) fn leave(&self) {
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
