//! Mounting and unmounting: as root by the system call, as anybody else through fusermount3.
//!
//! fuser can do both, but names the type wrong as root, gives up an unmount for good once it was busy, hides what
//! fusermount3 said, and on its way out unmounts whatever stands at the path by then (FUSE.md 1.2).

use std::ffi::CString;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

/// What the kernel is told about a mount.
#[derive(Clone, Debug, Default)]
pub struct MountRequest {
    /// The empty folder to mount on; absolute, without links.
    pub mountpoint: PathBuf,
    /// What `mount` and `df` show as the source.
    pub fsname: String,
    /// Whether other users may enter.
    pub allow_other: bool,
    /// Further options for the kernel, such as `max_read=65536`.
    pub kernel_options: Vec<String>,
    /// Whether no file may be run from it.
    pub noexec: bool,
    /// Whether access times are left alone; they are in any case, but some want to see it said.
    pub noatime: bool,
    /// How far the kernel reads ahead, in KiB, where that was asked for. Only root may say it; it does, of itself.
    pub read_ahead: Option<u32>,
}

/// Why a mount or unmount failed, in words for the one who asked.
#[derive(Debug)]
pub enum MountError {
    /// `/dev/fuse` cannot be opened.
    Device(io::Error),
    /// fusermount3 cannot be started.
    NoHelper(io::Error),
    /// fusermount3 refused, and said why.
    Helper {
        /// Where it was to mount.
        mountpoint: PathBuf,
        /// Its words.
        said: String,
    },
    /// The kernel refused.
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
            Self::Helper { mountpoint, said } => explain(f, mountpoint, said),
            Self::Kernel(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for MountError {}

/// fusermount3's refusals, with what to do about them.
fn explain(f: &mut std::fmt::Formatter<'_>, mountpoint: &Path, said: &str) -> std::fmt::Result {
    let place = mountpoint.display();
    if said.contains("user_allow_other") {
        return f.write_str(
            "allow_other is not permitted to users here: add the line `user_allow_other` to /etc/fuse.conf",
        );
    }
    if said.contains("/dev/fuse") && said.contains("ermission denied") {
        return f
            .write_str("/dev/fuse may not be opened: desktops give it mode 0666 (`chmod 0666 /dev/fuse`)");
    }
    if said.contains("mount failed") && said.contains("ermission denied") {
        return write!(
            f,
            "AppArmor refused the mount at {place}: its profile of fusermount3 allows only places below $HOME, /mnt, \
             /media, /tmp and /run/user. Use one of these, or add to /etc/apparmor.d/local/fusermount3:\n  \
             mount fstype=@{{fuse_types}} options=(nosuid,nodev,ro) -> {place}/{{,**/}},\n  umount {place}/{{,**/}},"
        );
    }
    let words = said.trim().trim_start_matches("fusermount3: ").trim_start_matches("/usr/bin/fusermount3: ");
    write!(
        f,
        "fusermount3 refused to mount at {place}: {}",
        if words.is_empty() { "it gave no reason" } else { words }
    )
}

impl MountRequest {
    /// Mounts, and answers the connection that requests come from. Nobody answers them yet: looking at the mountpoint
    /// from this thread would wait for ever.
    ///
    /// # Errors
    /// Who refused, and why.
    pub(super) fn mount(&self) -> Result<OwnedFd, MountError> {
        if rustix::process::geteuid().is_root() {
            match self.mount_directly() {
                // Root in name only: of a container's user namespace that may not mount by itself.
                Err(MountError::Kernel(_, error))
                    if error.raw_os_error() == Some(Errno::PERM.raw_os_error()) => {}
                done => return done,
            }
        }
        self.mount_through_helper()
    }

    fn mount_directly(&self) -> Result<OwnedFd, MountError> {
        let device = File::options().read(true).write(true).open("/dev/fuse").map_err(MountError::Device)?;
        let (uid, gid) = (rustix::process::getuid(), rustix::process::getgid());
        let mut data = format!(
            "fd={},rootmode=40000,user_id={uid},group_id={gid},default_permissions",
            device.as_raw_fd()
        );
        if self.allow_other {
            data.push_str(",allow_other");
        }
        for option in &self.kernel_options {
            data.push(',');
            data.push_str(option);
        }
        let mut flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
        flags.set(MountFlags::NOEXEC, self.noexec);
        flags.set(MountFlags::NOATIME, self.noatime);
        let refused = |error| MountError::Kernel(self.mountpoint.clone(), error);
        let data = CString::new(data).map_err(|error| refused(error.into()))?;
        rustix::mount::mount(self.fsname.as_str(), &self.mountpoint, "fuse.bsafs", flags, data.as_c_str())
            .map_err(|errno| refused(errno.into()))?;
        Ok(device.into())
    }

    /// fusermount3 mounts and sends the connection through a socket, which it is given as its standard input.
    fn mount_through_helper(&self) -> Result<OwnedFd, MountError> {
        // A comma would begin another option; fusermount3 knows this escape.
        let fsname = self.fsname.replace('\\', "\\\\").replace(',', "\\,");
        let mut options = format!("ro,nosuid,nodev,default_permissions,fsname={fsname},subtype=bsafs");
        for (is_set, option) in
            [(self.allow_other, "allow_other"), (self.noexec, "noexec"), (self.noatime, "noatime")]
        {
            if is_set {
                options.push(',');
                options.push_str(option);
            }
        }
        for option in &self.kernel_options {
            options.push(',');
            options.push_str(option);
        }
        let (ours, theirs) = UnixStream::pair().map_err(MountError::NoHelper)?;
        let mut helper = Command::new("fusermount3");
        helper.arg("-o").arg(options).arg("--").arg(&self.mountpoint).env("_FUSE_COMMFD", "0");
        helper.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = helper.spawn().map_err(MountError::NoHelper)?;
        // The command holds our copy of their end; while it lives, the socket never ends.
        drop(helper);
        let received = receive(&ours);
        let output = child.wait_with_output().map_err(MountError::NoHelper)?;
        received.ok_or_else(|| MountError::Helper {
            mountpoint: self.mountpoint.clone(),
            said: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}

/// The one descriptor that fusermount3 sends, if it does.
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

/// Unmounts what is mounted at a path; `lazily` takes it out of the tree at once, and for good when its last file is
/// closed.
///
/// # Errors
/// Busy, not mounted, or not ours to unmount.
pub fn unmount(mountpoint: &Path, lazily: bool) -> Result<(), MountError> {
    let flags = if lazily { UnmountFlags::DETACH } else { UnmountFlags::empty() };
    match rustix::mount::unmount(mountpoint, flags | UnmountFlags::NOFOLLOW) {
        Ok(()) => return Ok(()),
        // Not root: fusermount3 is.
        Err(Errno::PERM) => {}
        Err(errno) => return Err(MountError::Kernel(mountpoint.to_owned(), errno.into())),
    }
    let mut helper = Command::new("fusermount3");
    helper.arg("-u").args(lazily.then_some("-z")).arg("--").arg(mountpoint);
    let output = helper.stdin(Stdio::null()).output().map_err(MountError::NoHelper)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let kind = if said.contains("busy") { io::ErrorKind::ResourceBusy } else { io::ErrorKind::Other };
    let words = said.trim().trim_start_matches("fusermount3: ").to_owned();
    Err(MountError::Kernel(mountpoint.to_owned(), io::Error::new(kind, words)))
}
