//! A mount that another program made. It passes its open `/dev/fuse` to bsafs, with `/dev/fd/N`
//! instead of the mountpoint. mount.fuse3 does this for `-o drop_privileges`.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{fstat, makedev};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

use crate::system::mountinfo;

/// Major and minor device number of `/dev/fuse`.
const DEVICE: (u32, u32) = (10, 229);
/// The key in `/proc/self/fdinfo` whose value is the minor device number of the mount, for a
/// descriptor of `/dev/fuse`. Since Linux 6.7.
const CONNECTION: &str = "fuse_connection:";

/// A descriptor of `/dev/fuse` from which no request was read yet, and the path of its mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedMount {
    /// The number of the descriptor, which stays open.
    pub descriptor: i32,
    /// The path of the mount. If the kernel does not report it, this is the path of the descriptor.
    pub mountpoint: PathBuf,
}

/// The device number of `/dev/fuse`, as `stat` returns it.
pub(super) fn fuse_device() -> u64 {
    makedev(DEVICE.0, DEVICE.1)
}

/// The number of the connection that a descriptor of `/dev/fuse` belongs to, from its `fdinfo`. It is
/// the minor device number of the mount. `None` if the kernel does not report it.
pub(crate) fn connection_number(fdinfo: &str) -> Option<u32> {
    fdinfo.lines().find_map(|line| line.strip_prefix(CONNECTION)?.trim().parse().ok())
}

impl PassedMount {
    /// The mount of a path of the form `/dev/fd/N`; `None` for any other path.
    pub fn at(path: &Path) -> Option<Self> {
        let descriptor = path.to_str()?.strip_prefix("/dev/fd/")?.parse::<u16>().ok()?;
        let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}")).unwrap_or_default();
        let mounted = connection_number(&info).and_then(|minor| {
            mountinfo::mounts().into_iter().rev().find(|mounted| mounted.device == format!("0:{minor}"))
        });
        let mountpoint = mounted.map_or(path.to_owned(), |mounted| mounted.mountpoint);
        Some(Self { descriptor: descriptor.into(), mountpoint })
    }

    /// A duplicate of the descriptor.
    ///
    /// # Errors
    /// There is no descriptor with this number, it is not `/dev/fuse`, or the kernel is older than Linux 5.6.
    pub(crate) fn connection(&self) -> io::Result<OwnedFd> {
        // This is the only way from a descriptor's number to an owner without `unsafe`.
        let process = pidfd_open(getpid(), PidfdFlags::empty())?;
        let duplicate = pidfd_getfd(process, self.descriptor, PidfdGetfdFlags::empty())?;
        if fstat(&duplicate)?.st_rdev != fuse_device() {
            return Err(io::Error::other("not a descriptor of /dev/fuse"));
        }
        Ok(duplicate)
    }

    /// Checks that the descriptor exists and is of `/dev/fuse`.
    ///
    /// # Errors
    /// The reason, as a sentence.
    pub fn check(&self) -> Result<(), String> {
        self.connection()
            .map(drop)
            .map_err(|error| format!("/dev/fd/{} is not a mount: {error}", self.descriptor))
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn only_a_descriptor_of_dev_fuse_is_a_passed_mount() {
        assert_eq!(PassedMount::at(Path::new("/mnt/fd/3")), None);
        assert_eq!(PassedMount::at(Path::new("/dev/fd/x")), None);
        let file = tempfile::tempfile().unwrap();
        let path = PathBuf::from(format!("/dev/fd/{}", file.as_raw_fd()));
        let passed = PassedMount::at(&path).unwrap();
        assert_eq!(passed, PassedMount { descriptor: file.as_raw_fd(), mountpoint: path });
        assert!(passed.check().unwrap_err().ends_with(" is not a mount: not a descriptor of /dev/fuse"));
        let device = std::fs::File::options().read(true).write(true).open("/dev/fuse").unwrap();
        assert!(PassedMount { descriptor: device.as_raw_fd(), ..passed.clone() }.check().is_ok());
        assert!(
            PassedMount { descriptor: 60_000, ..passed }.check().unwrap_err().contains("Bad file descriptor")
        );
    }
}
