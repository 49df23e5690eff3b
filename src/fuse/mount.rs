//! Mounting: by a system call as root, through fusermount3 as an ordinary user.
//!
//! fuser can do both, with four defects (FUSE.md section 1.2). Mounts by root have the wrong type.
//! A busy unmount is never repeated. Messages of fusermount3 are lost. At its end, fuser unmounts
//! whatever is on the path by then.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FileType, Stat, makedev};
use rustix::io::Errno;
use rustix::mount::MountFlags;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use super::fusermount::{HELPER, HELPER_TIME, Hindrance, reason_in};
use crate::failure::{Exit, Failure};
use crate::shown::Shown;
use crate::system::mountinfo::{self, MountEntry};
use crate::system::place::Place;
use crate::system::process;
use crate::system::subprocess::Program;
use crate::system::text::reason_not_started;

/// Major and minor device number of `/dev/fuse`.
const DEVICE: (u32, u32) = (10, 229);
/// The key in `/proc/self/fdinfo` whose value is the minor device number of the mount, for a
/// descriptor of `/dev/fuse`. Since Linux 6.7.
const CONNECTION: &str = "fuse_connection:";

/// A request to mount: what, where, and with which options.
#[derive(Clone, Debug, Default)]
pub struct MountRequest {
    /// The folder to mount on. The path is absolute and has no links.
    pub mountpoint: PathBuf,
    /// That folder, as it was examined. `None` if it was not opened yet. Drop it after mounting, because an
    /// automount in use never ends.
    pub place: Option<Arc<Place>>,
    /// The source that `mount` and `df` show.
    pub fsname: String,
    /// Whether other users may access the mount.
    pub allow_other: bool,
    /// Additional mount options for the kernel, such as `max_read=65536`.
    pub kernel_options: Vec<String>,
    /// Options of SELinux with their values, such as `context` with `system_u:object_r:samba_share_t:s0`.
    pub contexts: Vec<(&'static str, String)>,
    /// Whether to forbid the execution of files in the mount.
    pub noexec: bool,
    /// Whether the mount is listed as `noatime`. Access times never change in any case.
    pub noatime: bool,
    /// Whether to follow no symbolic links in the mount.
    pub nosymfollow: bool,
    /// How far the kernel reads ahead, in KiB; `None` for the default of bsafs. Only root can set it.
    pub read_ahead: Option<u32>,
}

/// Why a mount or unmount failed.
#[derive(Debug)]
pub enum MountError {
    /// `/dev/fuse` cannot be opened.
    Device(io::Error),
    /// `/dev/fuse` is another file.
    WrongDevice,
    /// fusermount3 cannot be started.
    NoHelper(io::Error),
    /// fusermount3 refused to mount.
    Helper {
        /// The folder to mount on.
        mountpoint: PathBuf,
        /// What fusermount3 wrote to standard error.
        stderr: String,
    },
    /// This process or fusermount3 had no right to mount on the folder, or to unmount it.
    Hindered(PathBuf, Hindrance),
    /// The kernel refused to mount or unmount, or fusermount3 refused to unmount. The path is the folder's.
    Kernel(PathBuf, io::Error),
    /// Another system call failed. The system has no more threads or descriptors, or the kernel ended the
    /// mount.
    Serving(io::Error),
}

impl From<MountError> for Failure {
    fn from(error: MountError) -> Self {
        let exit = match &error {
            MountError::Device(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Exit::NoPermission
            }
            MountError::Device(_) | MountError::WrongDevice | MountError::NoHelper(_) => Exit::Unavailable,
            MountError::Helper { .. } | MountError::Hindered(..) => Exit::NoPermission,
            MountError::Kernel(..) => Exit::CannotCreate,
            MountError::Serving(_) => Exit::Io,
        };
        Self::new(exit, error.to_string())
    }
}

impl std::fmt::Display for MountError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Device(error) if error.kind() == io::ErrorKind::NotFound => f.write_str(
                "/dev/fuse does not exist: load the module with `modprobe fuse`, or give the container \
                 `--device /dev/fuse`",
            ),
            Self::Device(error) if error.kind() == io::ErrorKind::PermissionDenied => f.write_str(
                "no permission to open /dev/fuse: as root, run `chmod 0666 /dev/fuse`, or mount as root",
            ),
            Self::Device(error) => write!(f, "cannot open /dev/fuse: {error}"),
            Self::WrongDevice => f.write_str(
                "/dev/fuse is not the device of FUSE (character device 10:229): give the container \
                 `--device /dev/fuse`, or as root, run `rm /dev/fuse; mknod -m 666 /dev/fuse c 10 229`",
            ),
            Self::NoHelper(error) if error.kind() == io::ErrorKind::NotFound => f.write_str(
                "fusermount3 not found: install your distribution's package fuse3, or run bsafs as root",
            ),
            Self::NoHelper(error) => write!(f, "cannot start fusermount3: {}", reason_not_started(error)),
            Self::Helper { mountpoint, stderr } => explain(f, mountpoint, stderr),
            Self::Hindered(path, hindrance) => write!(f, "{}: {hindrance}", path.shown()),
            // As fusermount3 says it for other users than root.
            Self::Kernel(path, error) if error.kind() == io::ErrorKind::ResourceBusy => {
                write!(f, "{}: Device or resource busy", path.shown())
            }
            Self::Kernel(path, error) => write!(f, "{}: {error}", path.shown()),
            Self::Serving(error) => write!(f, "cannot serve the mount: {}", reason_not_started(error)),
        }
    }
}

impl std::error::Error for MountError {}

impl MountError {
    /// fusermount3 did not start. If root lacks the right to mount, that is the cause to name: root needs no
    /// fusermount3, and in a user namespace does not find one that belongs to root.
    pub(super) fn not_started(path: &Path, error: io::Error) -> Self {
        match Hindrance::of_root(Errno::PERM).filter(|_| rustix::process::geteuid().is_root()) {
            Some(hindrance) => Self::Hindered(path.to_owned(), hindrance),
            None => Self::NoHelper(error),
        }
    }

    /// Whether the right to mount or unmount is missing.
    fn is_denied(&self) -> bool {
        match self {
            Self::Hindered(..) => true,
            Self::Kernel(_, error) => error.raw_os_error() == Some(Errno::PERM.raw_os_error()),
            _ => false,
        }
    }
}

/// Explains why fusermount3 refused, with advice.
fn explain(f: &mut std::fmt::Formatter<'_>, mountpoint: &Path, stderr: &str) -> std::fmt::Result {
    let place = mountpoint.shown();
    if stderr.contains("user_allow_other") {
        return f.write_str(
            "only root may use allow_other; to let users use it, add `user_allow_other` to /etc/fuse.conf",
        );
    }
    if stderr.contains("unknown option 'nosymfollow'") {
        return f.write_str(
            "this fusermount3 does not support nosymfollow: mount as root, or without nosymfollow",
        );
    }
    if stderr.contains("unknown option") && stderr.contains("context=") {
        return f.write_str(
            "this fusermount3 passes no options of SELinux (context= and the like) to the kernel: mount as \
             root, or without them",
        );
    }
    if stderr.contains("/dev/fuse") && stderr.contains("ermission denied") {
        return f.write_str(
            "no permission to open /dev/fuse: as root, run `chmod 0666 /dev/fuse`, or mount as root",
        );
    }
    if stderr.contains("mount failed") && stderr.contains("ermission denied") {
        return write!(
            f,
            "AppArmor refused to mount on {place}: its profile for fusermount3 allows only folders below \
             $HOME, /mnt, /media, /tmp and /run/user. Use one of these, or add to \
             /etc/apparmor.d/local/fusermount3:\n  \
             mount fstype=@{{fuse_types}} options=(nosuid,nodev,ro) -> {place}/{{,**/}},\n  \
             umount {place}/{{,**/}},"
        );
    }
    let reason = reason_in(stderr);
    let is_of_others = reason.contains("no write access") || reason.contains("not owned by user");
    let advice = if is_of_others { "; mount on a folder of this user's own" } else { "" };
    write!(
        f,
        "fusermount3 refused to mount on {place}: {}{advice}",
        if reason.is_empty() { "it gave no reason" } else { reason }
    )
}

impl MountRequest {
    /// Mounts. Returns the descriptor of `/dev/fuse` from which requests are read. Until requests
    /// are answered, a thread of this process that accesses the mountpoint blocks.
    ///
    /// # Errors
    /// See [`MountError`].
    pub(crate) fn mount(&self) -> Result<OwnedFd, MountError> {
        check_device()?;
        if rustix::process::geteuid().is_root() {
            match self.mount_directly() {
                // The root user of a container may not be allowed to mount. fusermount3 gets a path.
                Err(error) if error.is_denied() && self.place.as_ref().is_none_or(|it| it.is_fixed()) => {}
                done => return done,
            }
        }
        self.mount_through_helper()
    }

    /// Mounts by the system call, which only root may use. The descriptor is closed on exec.
    ///
    /// # Errors
    /// [`MountError::Device`], [`MountError::Hindered`] and [`MountError::Kernel`].
    pub fn mount_directly(&self) -> Result<OwnedFd, MountError> {
        let device = File::options().read(true).write(true).open("/dev/fuse").map_err(MountError::Device)?;
        let mut data = format!(
            "fd={},rootmode=40000,user_id={},group_id={},default_permissions",
            device.as_raw_fd(),
            rustix::process::getuid(),
            rustix::process::getgid()
        );
        if self.allow_other {
            data.push_str(",allow_other");
        }
        data.push_str(&self.further_options(has_selinux()));
        let flags = MountFlags::RDONLY | self.restrictions();
        let refused = |error| MountError::Kernel(self.mountpoint.clone(), error);
        let data = CString::new(data).map_err(|error| refused(error.into()))?;
        let place = match &self.place {
            Some(place) => place.clone(),
            None => Arc::new(Place::open(&self.mountpoint).map_err(refused)?),
        };
        // Not the path: another user may have exchanged a folder in it for a link.
        let folder = place.exact_path().ok_or_else(|| refused(Errno::NOENT.into()))?;
        rustix::mount::mount(self.fsname.as_str(), folder, "fuse.bsafs", flags, data.as_c_str()).map_err(
            |errno| match Hindrance::of_root(errno) {
                Some(hindrance) => MountError::Hindered(self.mountpoint.clone(), hindrance),
                None => refused(errno.into()),
            },
        )?;
        Ok(device.into())
    }

    /// The entry in the mount table of the mount that was made for this request, with the descriptor of its
    /// requests. Linux before 6.7 does not say which mount the descriptor belongs to; then the mount is
    /// recognised by its place. `None` if it cannot be found.
    pub fn entry(&self, connection: &OwnedFd) -> Option<MountEntry> {
        mount_of(connection.as_raw_fd()).or_else(|| {
            let path = self.place.as_ref().and_then(|place| place.path().ok());
            mountinfo::mounted_at(path.as_deref().unwrap_or(&self.mountpoint)).filter(MountEntry::is_bsafs)
        })
    }

    /// Flags that restrict what files in the mount may do, besides being read-only.
    pub fn restrictions(&self) -> MountFlags {
        let mut flags = MountFlags::NOSUID | MountFlags::NODEV;
        flags.set(MountFlags::NOEXEC, self.noexec);
        flags.set(MountFlags::NOATIME, self.noatime);
        flags.set(MountFlags::NOSYMFOLLOW, self.nosymfollow);
        flags
    }

    /// The kernel options, each after a comma. Without SELinux, the kernel refuses its options, so they are
    /// left out, as mount(8) does.
    fn further_options(&self, has_selinux: bool) -> String {
        let contexts = self.contexts.iter().filter(|_| has_selinux);
        // The kernel ends an unquoted value at a comma, which separates categories.
        let contexts = contexts.map(|(name, value)| format!("{name}=\"{value}\""));
        self.kernel_options.iter().cloned().chain(contexts).map(|option| format!(",{option}")).collect()
    }

    /// Has fusermount3 mount. It sends the descriptor through the socket that is its standard input.
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
        options.push_str(&self.further_options(has_selinux()));
        let (ours, theirs) = UnixStream::pair().map_err(MountError::NoHelper)?;
        let helper = Program::installed(HELPER).args(["-o", &options, "--"]).arg(&self.mountpoint);
        let helper = helper.env("_FUSE_COMMFD", "0").input(theirs.into());
        let output = helper.output_within(HELPER_TIME);
        let output = output.map_err(|error| MountError::not_started(&self.mountpoint, error))?;
        // The helper has ended, so its end is closed, and this does not wait.
        receive(&ours).ok_or_else(|| {
            let stderr = match output {
                Some(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
                None => format!("it did not finish within {} seconds", HELPER_TIME.as_secs()),
            };
            let mountpoint = self.mountpoint.clone();
            match Hindrance::of_refusal(&stderr) {
                Some(hindrance) => MountError::Hindered(mountpoint, hindrance),
                None => MountError::Helper { mountpoint, stderr },
            }
        })
    }
}

/// The number of the connection that a descriptor of `/dev/fuse` belongs to, from its `fdinfo`. It is
/// the minor device number of the mount. `None` if the kernel does not report it.
pub(crate) fn connection_number(fdinfo: &str) -> Option<u32> {
    fdinfo.lines().find_map(|line| line.strip_prefix(CONNECTION)?.trim().parse().ok())
}

/// The mount that answers through a descriptor of `/dev/fuse`.
fn mount_of(descriptor: i32) -> Option<MountEntry> {
    let info = process::file_in_proc(Path::new(&format!("/proc/self/fdinfo/{descriptor}"))).ok()?;
    let device = format!("0:{}", connection_number(&info)?);
    mountinfo::mounts().into_iter().rev().find(|mounted| mounted.device == device)
}

/// Whether SELinux is on.
fn has_selinux() -> bool {
    Path::new("/sys/fs/selinux/enforce").exists()
}

/// Refuses a file in place of `/dev/fuse`. The kernel would answer the mount with EINVAL only. If there is
/// no `/dev/fuse`, opening it says so.
fn check_device() -> Result<(), MountError> {
    let is_fuse = |it: Stat| {
        FileType::from_raw_mode(it.st_mode) == FileType::CharacterDevice
            && it.st_rdev == makedev(DEVICE.0, DEVICE.1)
    };
    match rustix::fs::stat("/dev/fuse") {
        Ok(it) if !is_fuse(it) => Err(MountError::WrongDevice),
        _ => Ok(()),
    }
}

/// The descriptor that fusermount3 sends; `None` if it ends without sending one.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_selinux_reach_the_kernel_in_quotes_and_only_if_it_knows_them() {
        let context = "system_u:object_r:samba_share_t:s0:c1,c2".to_owned();
        let request = MountRequest {
            kernel_options: vec!["max_read=8192".into()],
            contexts: vec![("context", context), ("rootcontext", "u:r:t".into())],
            ..MountRequest::default()
        };
        assert_eq!(request.further_options(false), ",max_read=8192");
        let all = ",max_read=8192,context=\"system_u:object_r:samba_share_t:s0:c1,c2\",rootcontext=\"u:r:t\"";
        assert_eq!(request.further_options(true), all);
    }
}
