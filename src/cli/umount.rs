//! `bsafs umount`: unmounts, and waits until the daemons have ended.

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::Args;

use super::exit::{Exit, Failure};
use super::mountpoint::resolve_mountpoint;
use crate::fs::{STATUS_LINK, mountinfo, unmount};

/// Unmount, and remove the mountpoint if `bsafs mount` made it
#[derive(Args, Debug)]
pub(super) struct Umount {
    /// Folders that archives are mounted on
    #[arg(required = true, value_name = "MOUNTPOINT")]
    mountpoints: Vec<PathBuf>,
    /// Unmount even while files are open: the folder is free at once, open files can be read to their end
    #[arg(short = 'z', long)]
    lazy: bool,
}

/// How long to wait for a daemon's end.
const TIMEOUT: Duration = Duration::from_secs(5);

impl Umount {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        for path in &self.mountpoints {
            let mountpoint = resolve_mountpoint(path);
            check_ours(path, &mountpoint)?;
            let daemon = daemon(&mountpoint);
            unmount(&mountpoint, self.lazy).map_err(|error| {
                let advice =
                    if self.lazy { "" } else { "; close what uses it (`fuser -vm` tells), or add --lazy" };
                Failure::new(Exit::CannotCreate, format!("cannot unmount {error}{advice}"))
            })?;
            if let (Some(daemon), false) = (daemon, self.lazy)
                && !wait(daemon)
            {
                let what = format!(
                    "{}: nothing is mounted there any more, but the daemon (process {daemon}) still serves the mount: \
                     another mount namespace (a container) has a copy of it, or a bind mount is one",
                    path.display()
                );
                return Err(Failure::new(Exit::CannotCreate, what));
            }
        }
        Ok(Exit::Ok)
    }
}

/// Refuses mounts of other file systems, which root could unmount by mistake.
fn check_ours(path: &Path, mountpoint: &Path) -> Result<(), Failure> {
    let path = path.display();
    match mountinfo::mounted_at(mountpoint) {
        None => Err(Failure::new(Exit::NoInput, format!("{path}: nothing is mounted there"))),
        Some(mounted) if !mounted.is_ours() => Err(Failure::new(
            Exit::CannotCreate,
            format!("{path}: what is mounted there ({}) is not of bsafs; `umount` ends it", mounted.kind),
        )),
        Some(_) => Ok(()),
    }
}

/// The process behind a mount of ours.
fn daemon(mountpoint: &Path) -> Option<u64> {
    let status = std::fs::read_link(mountpoint.join(STATUS_LINK)).ok()?;
    serde_json::from_str::<serde_json::Value>(status.to_str()?).ok()?.get("pid")?.as_u64()
}

/// Waits until a process is gone; `false` when it is not within [`TIMEOUT`].
fn wait(process: u64) -> bool {
    let start = Instant::now();
    while is_running(process) {
        if start.elapsed() > TIMEOUT {
            return false;
        }
        sleep(Duration::from_millis(5));
    }
    true
}

/// Whether a process has not ended. A zombie has ended: in containers the parent that adopts a daemon may reap it late or
/// never.
fn is_running(process: u64) -> bool {
    // The state follows the name, which is in parentheses and may hold any character (`proc_pid_stat(5)`).
    std::fs::read_to_string(format!("/proc/{process}/stat"))
        .is_ok_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X'])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zombie_has_ended() {
        let mut child =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().expect("cat");
        let process = u64::from(child.id());
        assert!(is_running(process));
        drop(child.stdin.take());
        let stat = format!("/proc/{process}/stat");
        while !std::fs::read_to_string(&stat).expect("not waited for yet").contains(") Z ") {
            sleep(Duration::from_millis(1));
        }
        assert!(!is_running(process));
        child.wait().expect("its end");
        assert!(!is_running(process));
    }
}
