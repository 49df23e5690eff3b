//! Mounting: as root by the system call, as an ordinary user through fusermount3.
//!
//! fuser can do both, but as root its mounts have the wrong type, it never retries an unmount that was busy,
//! drops what fusermount3 wrote, and at its end unmounts whatever is on the path by then (FUSE.md section
//! 1.2).

use std::ffi::CString;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::io::Errno;
use rustix::mount::MountFlags;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use super::passed_mount::PassedMount;

/// What is mounted where, and with which options.
#[derive(Clone, Debug, Default)]
pub struct MountRequest {
    /// The folder to mount on; absolute, without links.
    pub mountpoint: PathBuf,
    /// The source that `mount` and `df` show.
    pub fsname: String,
    /// Whether other users may access the mount.
    pub allow_other: bool,
    /// Further mount options for the kernel, such as `max_read=65536`.
    pub kernel_options: Vec<String>,
    /// Whether no file in it may be executed.
    pub noexec: bool,
    /// Whether the mount is listed as `noatime`; access times never change in any case.
    pub noatime: bool,
    /// Whether no symbolic link in it is followed.
    pub nosymfollow: bool,
    /// The user and the group that it belongs to, if root mounts for another user.
    pub owner: Option<(u32, u32)>,
    /// The mount that exists already, instead of a new one.
    pub passed: Option<PassedMount>,
    /// How far the kernel reads ahead, in KiB; `None` is our default. Only root can set either.
    pub read_ahead: Option<u32>,
}

/// Why a mount or unmount failed.
#[derive(Debug)]
pub enum MountError {
    /// `/dev/fuse` cannot be opened.
    Device(io::Error),
    /// fusermount3 cannot be started.
    NoHelper(io::Error),
    /// fusermount3 refused to mount.
    Helper {
        /// The folder to mount on.
        mountpoint: PathBuf,
        /// What it wrote to standard error.
        stderr: String,
    },
    /// The kernel refused, or fusermount3 to unmount. With the folder.
    Kernel(PathBuf, io::Error),
}

impl std::fmt::Display for MountError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Device(error) if error.kind() == io::ErrorKind::NotFound => f.write_str(
                "there is no /dev/fuse: load the module with `modprobe fuse`, or give the container `--device /dev/fuse`",
            ),
            Self::Device(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                f.write_str("/dev/fuse may not be opened: desktops give it mode 0666 (`chmod 0666 /dev/fuse`)")
            }
            Self::Device(error) => write!(f, "/dev/fuse cannot be opened: {error}"),
            Self::NoHelper(error) if error.kind() == io::ErrorKind::NotFound => {
                f.write_str("there is no fusermount3: install your distribution's package fuse3, or mount as root")
            }
            Self::NoHelper(error) => write!(f, "fusermount3 cannot be started: {error}"),
            Self::Helper { mountpoint, stderr } => explain(f, mountpoint, stderr),
            Self::Kernel(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for MountError {}

/// fusermount3's refusals, with advice.
fn explain(f: &mut std::fmt::Formatter<'_>, mountpoint: &Path, stderr: &str) -> std::fmt::Result {
    let place = mountpoint.display();
    if stderr.contains("user_allow_other") {
        return f.write_str(
            "allow_other is not permitted to users here: add the line `user_allow_other` to /etc/fuse.conf",
        );
    }
    if stderr.contains("unknown option 'nosymfollow'") {
        return f.write_str("this fusermount3 does not know nosymfollow: mount as root, or without it");
    }
    if stderr.contains("/dev/fuse") && stderr.contains("ermission denied") {
        return f
            .write_str("/dev/fuse may not be opened: desktops give it mode 0666 (`chmod 0666 /dev/fuse`)");
    }
    if stderr.contains("mount failed") && stderr.contains("ermission denied") {
        return write!(
            f,
            "AppArmor refused the mount at {place}: its profile of fusermount3 allows only places below $HOME, /mnt, \
             /media, /tmp and /run/user. Use one of these, or add to /etc/apparmor.d/local/fusermount3:\n  \
             mount fstype=@{{fuse_types}} options=(nosuid,nodev,ro) -> {place}/{{,**/}},\n  umount {place}/{{,**/}},"
        );
    }
    let reason =
        stderr.trim().trim_start_matches("fusermount3: ").trim_start_matches("/usr/bin/fusermount3: ");
    write!(
        f,
        "fusermount3 refused to mount at {place}: {}",
        if reason.is_empty() { "it gave no reason" } else { reason }
    )
}

impl MountRequest {
    /// Mounts, and returns the descriptor of `/dev/fuse` that requests are read from. Until they are, a
    /// thread of this process that accesses the mountpoint blocks.
    ///
    /// # Errors
    /// See [`MountError`].
    pub(crate) fn mount(&self) -> Result<OwnedFd, MountError> {
        if let Some(passed) = &self.passed {
            return passed.connection().map_err(MountError::Device);
        }
        if rustix::process::geteuid().is_root() {
            match self.mount_directly() {
                // Root of a container's user namespace that may not mount.
                Err(MountError::Kernel(_, error))
                    if error.raw_os_error() == Some(Errno::PERM.raw_os_error()) => {}
                done => return done,
            }
        }
        self.mount_through_helper()
    }

    /// Mounts by the system call, which only root may make. The descriptor is closed on exec.
    ///
    /// # Errors
    /// [`MountError::Device`] and [`MountError::Kernel`].
    pub fn mount_directly(&self) -> Result<OwnedFd, MountError> {
        let device = File::options().read(true).write(true).open("/dev/fuse").map_err(MountError::Device)?;
        let own = || (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        let (uid, gid) = self.owner.unwrap_or_else(own);
        let mut data = format!(
            "fd={},rootmode=40000,user_id={uid},group_id={gid},default_permissions",
            device.as_raw_fd()
        );
        if self.allow_other {
            data.push_str(",allow_other");
        }
        data.extend(self.further_options());
        let flags = MountFlags::RDONLY | self.restrictions();
        let refused = |error| MountError::Kernel(self.mountpoint.clone(), error);
        let data = CString::new(data).map_err(|error| refused(error.into()))?;
        rustix::mount::mount(self.fsname.as_str(), &self.mountpoint, "fuse.bsafs", flags, data.as_c_str())
            .map_err(|errno| refused(errno.into()))?;
        Ok(device.into())
    }

    /// What files may not do in the mount, beside being written.
    pub fn restrictions(&self) -> MountFlags {
        let mut flags = MountFlags::NOSUID | MountFlags::NODEV;
        flags.set(MountFlags::NOEXEC, self.noexec);
        flags.set(MountFlags::NOATIME, self.noatime);
        flags.set(MountFlags::NOSYMFOLLOW, self.nosymfollow);
        flags
    }

    /// The kernel options, each behind a comma.
    fn further_options(&self) -> impl Iterator<Item = &str> {
        self.kernel_options.iter().flat_map(|option| [",", option])
    }

    /// fusermount3 mounts, and sends the descriptor through the socket that is its standard input.
    fn mount_through_helper(&self) -> Result<OwnedFd, MountError> {
        // An unescaped comma would begin another option.
        let fsname = self.fsname.replace('\\', "\\\\").replace(',', "\\,");
        let mut options = format!("ro,nosuid,nodev,default_permissions,fsname={fsname},subtype=bsafs");
        for (is_set, option) in [
            (self.allow_other, ",allow_other"),
            (self.noexec, ",noexec"),
            (self.noatime, ",noatime"),
            (self.nosymfollow, ",nosymfollow"),
        ] {
            if is_set {
                options.push_str(option);
            }
        }
        options.extend(self.further_options());
        let (ours, theirs) = UnixStream::pair().map_err(MountError::NoHelper)?;
        let mut helper = Command::new("fusermount3");
        helper.arg("-o").arg(options).arg("--").arg(&self.mountpoint).env("_FUSE_COMMFD", "0");
        helper.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = helper.spawn().map_err(MountError::NoHelper)?;
        // Closes our copy of their end, without which `receive` would wait for ever if nothing is sent.
        drop(helper);
        let received = receive(&ours);
        let output = child.wait_with_output().map_err(MountError::NoHelper)?;
        received.ok_or_else(|| MountError::Helper {
            mountpoint: self.mountpoint.clone(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}

/// The descriptor that fusermount3 sends; `None` where it ends without.
fn receive(socket: &UnixStream) -> Option<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC).ok()?;
    control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    })
}
