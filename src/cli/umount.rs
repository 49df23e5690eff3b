//! `bsafs umount`: ends mounts, and waits until their daemons have cleaned up.

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::Args;

use super::exit::{Exit, Failure};
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

/// How long a daemon may take to clean up.
const PATIENCE: Duration = Duration::from_secs(5);

impl Umount {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        for path in &self.mountpoints {
            let place = without_looking(path);
            check_ours(path, &place)?;
            let daemon = daemon(&place);
            unmount(&place, self.lazy).map_err(|error| {
                let advice =
                    if self.lazy { "" } else { "; close what uses it (`fuser -vm` tells), or add --lazy" };
                Failure::new(Exit::CannotCreate, format!("cannot unmount {error}{advice}"))
            })?;
            if let (Some(daemon), false) = (daemon, self.lazy) {
                wait(daemon);
            }
        }
        Ok(Exit::Ok)
    }
}

/// Refuses what is not ours to end: root would unmount a disk by a slip of the keyboard.
fn check_ours(path: &Path, place: &Path) -> Result<(), Failure> {
    let path = path.display();
    match mountinfo::mounted_at(place) {
        None => Err(Failure::new(Exit::NoInput, format!("{path}: nothing is mounted there"))),
        Some(mounted) if !mounted.is_ours() => Err(Failure::new(
            Exit::CannotCreate,
            format!("{path}: what is mounted there ({}) is not of bsafs; `umount` ends it", mounted.kind),
        )),
        Some(_) => Ok(()),
    }
}

/// The absolute path of a mountpoint, its last component not looked at: a dead mount cannot be.
pub(super) fn without_looking(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let absolute: PathBuf = absolute.components().collect();
    match (absolute.parent().map(Path::canonicalize), absolute.file_name()) {
        (Some(Ok(parent)), Some(name))
            if std::fs::symlink_metadata(&absolute).is_ok_and(|it| !it.is_symlink()) =>
        {
            parent.join(name)
        }
        (Some(Ok(parent)), Some(name)) if std::fs::symlink_metadata(&absolute).is_err() => parent.join(name),
        _ => absolute.canonicalize().unwrap_or(absolute),
    }
}

/// The process behind a mount of ours.
fn daemon(mountpoint: &Path) -> Option<u64> {
    let status = std::fs::read_link(mountpoint.join(STATUS_LINK)).ok()?;
    serde_json::from_str::<serde_json::Value>(status.to_str()?).ok()?.get("pid")?.as_u64()
}

/// Waits until a process is gone.
fn wait(process: u64) {
    let start = Instant::now();
    while is_running(process) && start.elapsed() < PATIENCE {
        sleep(Duration::from_millis(5));
    }
}

/// Whether a process has yet to end. What has ended but was not waited for by its parent (a zombie) has: in
/// containers, whoever inherits our daemon may take seconds, or never do it.
fn is_running(process: u64) -> bool {
    // The state follows the name, which is in parentheses and may hold any character (`proc_pid_stat(5)`).
    std::fs::read_to_string(format!("/proc/{process}/stat"))
        .is_ok_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X'])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_that_nobody_waits_for_is_gone_all_the_same() {
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
