//! A mount that another program made. It passes its open `/dev/fuse` to bsafs, with `/dev/fd/N`
//! instead of the mountpoint. mount.fuse3 does this for `-o drop_privileges`.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{fstat, makedev};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

use crate::shown::Shown;
use crate::system::mountinfo::{self, MountEntry};
use crate::system::process;

/// Major and minor device number of `/dev/fuse`.
const DEVICE: (u32, u32) = (10, 229);
/// The key in `/proc/self/fdinfo` whose value is the minor device number of the mount, for a
/// descriptor of `/dev/fuse`. Since Linux 6.7.
const CONNECTION: &str = "fuse_connection:";

/// The options without which no mount of bsafs is served: programs from the archive get no rights, no file is
/// a device, and the kernel checks the permissions that files show.
const RESTRICTIONS: [&str; 4] = ["ro", "nosuid", "nodev", "default_permissions"];

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

/// The mount that answers through a descriptor of `/dev/fuse`.
pub(super) fn mount_of(descriptor: i32) -> Option<MountEntry> {
    let info = process::file_in_proc(Path::new(&format!("/proc/self/fdinfo/{descriptor}"))).ok()?;
    let device = format!("0:{}", connection_number(&info)?);
    mountinfo::mounts().into_iter().rev().find(|mounted| mounted.device == device)
}

impl PassedMount {
    /// The mount of a path of the form `/dev/fd/N`; `None` for any other path.
    pub fn at(path: &Path) -> Option<Self> {
        let descriptor = path.to_str()?.strip_prefix("/dev/fd/")?.parse::<u16>().ok()?;
        let mounted = mount_of(descriptor.into());
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

    /// The mount's entry in the mount table. `None` if the kernel does not say which one it is.
    pub fn entry(&self) -> Option<MountEntry> {
        mount_of(self.descriptor)
    }

    /// Checks that the mount is one of the user who runs this process. A descriptor and a variable that `su`
    /// leaves may name another user's, who would then read what only this user may.
    ///
    /// # Errors
    /// The owner, as a sentence.
    pub fn check_owner(&self) -> Result<(), String> {
        let user = rustix::process::geteuid().as_raw();
        match self.entry() {
            Some(mounted) if mounted.user() != user => Err(format!(
                "{}: not served: user {} made this mount",
                mounted.mountpoint.shown(),
                mounted.user()
            )),
            _ => Ok(()),
        }
    }

    /// Checks that the mount restricts programs as mounts of bsafs do. mount.fuse3 sets only the options that
    /// the line in fstab has.
    ///
    /// # Errors
    /// What is missing and what to do, as a sentence.
    pub fn check_restrictions(&self) -> Result<(), String> {
        let Some(mounted) = self.entry() else {
            return Err(format!(
                "cannot check the options of the mount /dev/fd/{}, because Linux before 6.7 does not say \
                 which mount it is; install bsafs from a package, or link it as /sbin/mount.fuse.bsafs, so \
                 that mount(8) does not call mount.fuse3",
                self.descriptor
            ));
        };
        let missing: Vec<&str> =
            RESTRICTIONS.into_iter().filter(|option| !mounted.has_option(option)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(format!(
            "{}: mount.fuse3 made this mount without {}; add {} to the options, for example in /etc/fstab",
            mounted.mountpoint.shown(),
            missing.join(" and "),
            missing.join(","),
        ))
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
