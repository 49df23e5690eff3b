//! A writable view: an overlay that shows a mount and a folder of the user's as one. The mount stays as it is; what is written,
//! changed or deleted goes to that folder. Root's is one of the kernel, everybody else's one of fuse-overlayfs.
//!
//! The mount itself is beside that folder, and not below the overlay on the same path: fusermount3 may not look at a mount of FUSE,
//! not even to mount over it.

use std::ffi::{CString, OsString};
use std::fs::{DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::mount::MountFlags;

use super::exit::{Exit, Failure};

/// The folders of an overlay that is to be mounted. Dropped, it removes the one that was made for it.
#[derive(Debug)]
pub(super) struct Overlay {
    upper: PathBuf,
    /// The folder that was made: beside `upper`, for part of it must be on the same file system.
    made: PathBuf,
    /// In it, where the mount is.
    lower: PathBuf,
    /// In it, where the overlay prepares what it then renames.
    work: PathBuf,
}

/// The program that makes overlays for ordinary users.
const PROGRAM: &str = "fuse-overlayfs";

impl Overlay {
    /// Makes what an overlay with this upper layer needs.
    pub(super) fn prepare(upper: &Path, mountpoint: &Path) -> Result<Self, Failure> {
        let cannot = |what: String| Failure::new(Exit::CannotCreate, format!("--edit {what}"));
        let upper = upper.canonicalize().map_err(|error| cannot(format!("{}: {error}", upper.display())))?;
        let shown = upper.display();
        let (Some(parent), Some(name)) = (upper.parent(), upper.file_name()) else {
            return Err(cannot(format!("{shown}: name a folder in another one")));
        };
        let device = |path: &Path| path.metadata().map(|it| it.dev());
        match (device(parent), device(&upper)) {
            _ if !upper.is_dir() => return Err(cannot(format!("{shown}: not a folder"))),
            _ if upper.starts_with(mountpoint) || mountpoint.starts_with(&upper) => {
                return Err(cannot(format!("{shown}: the mount would hide it; name a folder elsewhere")));
            }
            (Ok(around), Ok(within)) if around == within => {}
            _ => {
                let what = "a file system is mounted there; name a folder in it";
                return Err(cannot(format!("{shown}: {what}")));
            }
        }
        let mut made = OsString::from(".");
        made.push(name);
        made.push(".bsafs-work");
        let made = parent.join(made);
        let overlay = Self { lower: made.join("lower"), work: made.join("work"), made, upper };
        // Left by a daemon that was killed.
        overlay.remove();
        for folder in [&overlay.made, &overlay.lower, &overlay.work] {
            let made = DirBuilder::new().mode(0o700).create(folder);
            made.map_err(|error| cannot(format!("needs {}: {error}", folder.display())))?;
        }
        Ok(overlay)
    }

    /// Where the mount is to be.
    pub(super) fn lower(&self) -> &Path {
        &self.lower
    }

    /// Mounts it on a folder. The mount must answer, by other threads than this one.
    pub(super) fn mount(&self, mountpoint: &Path) -> Result<(), Failure> {
        let failed = |what: String| Failure::new(Exit::CannotCreate, format!("--edit: {what}"));
        let mut reason = String::new();
        if rustix::process::geteuid().is_root() {
            match self.mount_by_kernel(mountpoint) {
                Ok(()) => return Ok(()),
                Err(error) => reason = format!("the kernel makes no overlay ({error}), and "),
            }
        }
        self.mount_by_program(mountpoint).map_err(|error| failed(format!("{reason}{error}")))
    }

    fn mount_by_kernel(&self, mountpoint: &Path) -> io::Result<()> {
        let (options, _open) = self.options()?;
        let options = CString::new(options.as_bytes())?;
        Ok(rustix::mount::mount("bsafs", mountpoint, "overlay", MountFlags::empty(), options.as_c_str())?)
    }

    fn mount_by_program(&self, mountpoint: &Path) -> Result<(), String> {
        if let Some(path) = self.folders().into_iter().find(|path| has_separator(path)) {
            return Err(format!(
                "{PROGRAM} takes no path with a comma, a colon or a backslash: {}",
                path.display()
            ));
        }
        let (options, _open) = self.options().map_err(|error| error.to_string())?;
        // It goes to the background once it has mounted, and closes its output then.
        let mut command = Command::new(PROGRAM);
        command.arg("-o").arg(options).arg(mountpoint).stdin(Stdio::null()).stdout(Stdio::null());
        let run = command.stderr(Stdio::piped()).output().map_err(|error| match error.kind() {
            ErrorKind::NotFound => format!("{PROGRAM} is missing; install it"),
            _ => format!("{PROGRAM}: {error}"),
        })?;
        match run.status.success() {
            true => Ok(()),
            false => Err(format!("{PROGRAM}: {}", String::from_utf8_lossy(&run.stderr).trim())),
        }
    }

    fn folders(&self) -> [&Path; 3] {
        [&self.lower, &self.upper, &self.work]
    }

    /// The options of either kind, and what must be open meanwhile.
    fn options(&self) -> io::Result<(OsString, Vec<File>)> {
        let (mut options, mut open) = (OsString::new(), Vec::new());
        for (name, path) in ["lowerdir=", ",upperdir=", ",workdir="].into_iter().zip(self.folders()) {
            options.push(name);
            // No two kernels agree how these are escaped.
            match has_separator(path) {
                false => options.push(path),
                true => {
                    let folder = File::open(path)?;
                    options.push(format!("/proc/{}/fd/{}", std::process::id(), folder.as_raw_fd()));
                    open.push(folder);
                }
            }
        }
        Ok((options, open))
    }

    /// Removes what was made, with what overlays leave in it: empty folders, and a mark of deleted files for the next use.
    fn remove(&self) {
        let is_mark = |it: &std::fs::Metadata| it.file_type().is_char_device() && it.rdev() == 0;
        for left in ["work", "index"].map(|name| self.work.join(name)) {
            for entry in std::fs::read_dir(&left).into_iter().flatten().flatten() {
                if entry.metadata().as_ref().is_ok_and(is_mark) {
                    let _ = std::fs::remove_file(entry.path());
                }
            }
            let _ = std::fs::remove_dir(left);
        }
        for folder in [&self.work, &self.lower, &self.made] {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Whether a path has what separates options or layers.
fn has_separator(path: &Path) -> bool {
    path.as_os_str().as_bytes().iter().any(|byte| b",:\\".contains(byte))
}

impl Drop for Overlay {
    fn drop(&mut self) {
        self.remove();
    }
}
