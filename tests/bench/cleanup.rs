//! What must be gone when a run is over, however it ends: mounts and the processes behind them.
//!
//! Loop devices go with their mounts, because `mount -o loop` has the kernel free them.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use bsafs::fs::mountinfo;
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::Outcome;

static LEFT: Mutex<Left> = Mutex::new(Left { mountpoints: Vec::new(), processes: Vec::new() });

struct Left {
    mountpoints: Vec<PathBuf>,
    processes: Vec<u32>,
}

/// Remembers a mountpoint until [`forget`].
pub(crate) fn remember(mountpoint: &Path) {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner).mountpoints.push(mountpoint.to_owned());
}

/// Remembers a process that this run started until [`forget`].
pub(crate) fn remember_process(pid: u32) {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner).processes.push(pid);
}

/// A mount is gone, and the process behind it.
pub(crate) fn forget(mountpoint: &Path, pid: Option<u32>) {
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    left.mountpoints.retain(|it| it != mountpoint);
    left.processes.retain(|it| Some(*it) != pid);
}

/// Takes down what stands below a folder: an earlier run may have been killed.
pub(crate) fn sweep(folder: &Path) {
    for mounted in mountinfo::mounts().into_iter().rev().filter(|it| it.mountpoint.starts_with(folder)) {
        let _ = unmount(&mounted.mountpoint, UnmountFlags::DETACH);
    }
}

/// Ends the run from outside after `limit`, or at the first signal: a mount that hangs must not hang the run.
pub(crate) fn watch(limit: Duration) -> Outcome<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            end("a signal came");
        }
    });
    thread::spawn(move || {
        thread::sleep(limit);
        end("the time is up; something hangs, or this machine is busy");
    });
    Ok(())
}

fn end(why: &str) -> ! {
    eprintln!("bench: {why}; taking mounts down");
    let left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    // A mount that was just being made may yet come.
    for _ in 0..10 {
        for mountpoint in &left.mountpoints {
            let _ = unmount(mountpoint, UnmountFlags::DETACH);
        }
        thread::sleep(Duration::from_millis(100));
    }
    for pid in &left.processes {
        if let Some(pid) = Pid::from_raw(*pid as i32) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    std::process::exit(3);
}
