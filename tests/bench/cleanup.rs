//! Cleans up mounts and processes if a run ends early, by a signal or a timeout.
//!
//! Loop devices of `mount -o loop` need no cleanup: the kernel frees them with their mounts.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use bsafs::system::mountinfo;
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::Outcome;

static REGISTERED: Mutex<Registered> =
    Mutex::new(Registered { mountpoints: Vec::new(), processes: Vec::new() });

struct Registered {
    mountpoints: Vec<PathBuf>,
    processes: Vec<u32>,
}

/// Registers a mountpoint for cleanup, until [`unregister`].
pub(crate) fn register(mountpoint: &Path) {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner).mountpoints.push(mountpoint.to_owned());
}

/// Registers a process of this run for cleanup, until [`unregister`].
pub(crate) fn register_process(pid: u32) {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner).processes.push(pid);
}

/// Unregisters a mount and its process. Call this when both have ended.
pub(crate) fn unregister(mountpoint: &Path, pid: Option<u32>) {
    let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    registered.mountpoints.retain(|it| it != mountpoint);
    registered.processes.retain(|it| Some(*it) != pid);
}

/// Unmounts what an earlier run that was killed left mounted below a folder.
pub(crate) fn sweep(folder: &Path) {
    for mounted in mountinfo::mounts().into_iter().rev().filter(|it| it.mountpoint.starts_with(folder)) {
        let _ = unmount(&mounted.mountpoint, UnmountFlags::DETACH);
    }
}

/// Ends the run after `limit` or at the first signal. Separate threads do this, because a hanging
/// mount may block the main thread.
pub(crate) fn watch(limit: Duration) -> Outcome<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            end("ended by a signal");
        }
    });
    thread::spawn(move || {
        thread::sleep(limit);
        end("out of time: a mount hangs, or this machine is busy");
    });
    Ok(())
}

fn end(why: &str) -> ! {
    eprintln!("bench: {why}; unmounting");
    let registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    // This repeats, so that it catches a mount that is being made right now.
    for _ in 0..10 {
        for mountpoint in &registered.mountpoints {
            let _ = unmount(mountpoint, UnmountFlags::DETACH);
        }
        thread::sleep(Duration::from_millis(100));
    }
    for pid in &registered.processes {
        if let Some(pid) = Pid::from_raw(*pid as i32) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    std::process::exit(3);
}
