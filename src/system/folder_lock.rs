//! Locks of folders, by which processes of bsafs wait for each other.
//!
//! Everybody who may read a folder can lock it, also for ever. So a lock counts only if a process of this
//! user or of root has it.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{FlockOperation, flock, fstat};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::process::runs_as;
use super::whole_file;
use crate::limits::LOCKS_MAX;

/// Locks a folder until it is closed. Returns `false` if another process of this user or of root has locked
/// it. Some file systems have no locks, and there this does nothing.
pub(crate) fn lock(folder: impl AsFd) -> bool {
    match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => true,
        Err(Errno::WOULDBLOCK) => {
            let text = whole_file::read(Path::new("/proc/locks"), LOCKS_MAX).unwrap_or_default();
            let inode = fstat(&folder).map_or(0, |it| it.st_ino);
            let holders = holders(&String::from_utf8_lossy(&text), inode);
            // Holders in other containers are not listed.
            let is_ours = holders.is_empty() || holders.into_iter().any(is_of_root_or_own);
            if !is_ours {
                log::info!("a process of another user has locked the folder; that lock is ignored");
            }
            !is_ours
        }
        Err(errno) => {
            log::debug!("cannot lock the folder: {errno}");
            true
        }
    }
}

/// The processes that took locks of an inode (`proc_locks(5)`). The number of the device is not that of
/// `stat` on every file system, so it is not compared.
fn holders(text: &str, inode: u64) -> Vec<u32> {
    let holder = |line: &str| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let is_lock = fields.next()? == "FLOCK";
        let process = fields.nth(2)?.parse().ok()?;
        let of = fields.next()?.rsplit(':').next()?.parse::<u64>().ok()?;
        (is_lock && of == inode).then_some(process)
    };
    text.lines().filter_map(holder).collect()
}

/// A process that has ended does not count: another one inherited its lock, but bsafs lets none inherit it.
fn is_of_root_or_own(process: u32) -> bool {
    let folder = format!("/proc/{process}");
    [0, geteuid().as_raw()].into_iter().any(|user| runs_as(Path::new(&folder), user))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_holders_of_a_lock_are_found_in_the_table() {
        let text = "1: FLOCK  ADVISORY  WRITE 12 fe:00:77 0 EOF\n\
                    1: -> FLOCK  ADVISORY  WRITE 13 fe:00:77 0 EOF\n\
                    2: POSIX  ADVISORY  WRITE 14 fe:00:77 0 EOF\n\
                    3: FLOCK  ADVISORY  READ 15 00:2a:78 0 EOF\n";
        assert_eq!((holders(text, 77), holders(text, 78)), (vec![12], vec![15]));
        assert_eq!(holders("x\n1: FLOCK\n", 77), [0; 0]);
    }

    #[test]
    fn a_lock_of_another_user_is_ignored_and_one_of_this_user_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let open = || File::open(dir.path()).unwrap();
        let first = open();
        assert!(lock(&first) && !lock(open()));
        drop(first);
        if !geteuid().is_root() {
            return eprintln!("SKIPPED: needs root");
        }
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(dir.path(), permissions).unwrap();
        let mut other = Command::new("flock");
        other.arg(dir.path()).args(["sh", "-c", "echo; exec cat"]).uid(12345).gid(12345);
        let mut other = other.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        std::io::Read::read_exact(other.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let is_free = lock(open());
        drop(other.stdin.take());
        other.wait().unwrap();
        assert!(is_free, "another user can keep root from mounting");
    }
}
