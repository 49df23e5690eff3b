//! A mount that somebody made for us, who passes its open `/dev/fuse`: what mount.fuse3 does for `-o drop_privileges`, with
//! `/dev/fd/N` where the mountpoint would be.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

use super::mountinfo;

/// Where `/proc/self/fdinfo` of `/dev/fuse` has the minor device number of the mount, since Linux 6.7.
const CONNECTION: &str = "fuse_connection:";

/// A descriptor of `/dev/fuse` whose requests nobody has read yet, and where it is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedMount {
    /// The number of the descriptor, which stays open.
    pub descriptor: i32,
    /// The path of the mount; that of the descriptor where the kernel does not tell.
    pub mountpoint: PathBuf,
}

impl PassedMount {
    /// The mount that a path of the form `/dev/fd/N` stands for; `None` for any other path.
    pub fn at(path: &Path) -> Option<Self> {
        let descriptor = path.to_str()?.strip_prefix("/dev/fd/")?.parse::<u16>().ok()?;
        let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}")).unwrap_or_default();
        let minor = info.lines().find_map(|line| Some(line.strip_prefix(CONNECTION)?.trim().to_owned()));
        let mounted = minor.and_then(|minor| {
            mountinfo::mounts().into_iter().rev().find(|mounted| mounted.device == format!("0:{minor}"))
        });
        let mountpoint = mounted.map_or(path.to_owned(), |mounted| mounted.mountpoint);
        Some(Self { descriptor: descriptor.into(), mountpoint })
    }

    /// A duplicate of the descriptor.
    ///
    /// # Errors
    /// There is none of this number, or the kernel is older than Linux 5.6.
    pub(super) fn connection(&self) -> io::Result<OwnedFd> {
        // Numbers of descriptors have no other way to an owner without `unsafe`.
        let process = pidfd_open(getpid(), PidfdFlags::empty())?;
        Ok(pidfd_getfd(process, self.descriptor, PidfdGetfdFlags::empty())?)
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use rustix::fs::fstat;

    use super::*;

    #[test]
    fn a_path_of_a_descriptor_is_a_passed_mount_and_its_connection_the_same_file() {
        assert_eq!(PassedMount::at(Path::new("/mnt/fd/3")), None);
        assert_eq!(PassedMount::at(Path::new("/dev/fd/x")), None);
        let file = tempfile::tempfile().unwrap();
        let path = PathBuf::from(format!("/dev/fd/{}", file.as_raw_fd()));
        let passed = PassedMount::at(&path).unwrap();
        assert_eq!(passed, PassedMount { descriptor: file.as_raw_fd(), mountpoint: path });
        let connection = passed.connection().unwrap();
        assert_eq!(fstat(connection).unwrap().st_ino, fstat(file).unwrap().st_ino);
        assert!(PassedMount { descriptor: 60_000, ..passed }.connection().is_err());
    }
}
