//! The settings of a mount, which the command line, profiles and `-o` set together.

use std::path::PathBuf;

use crate::daemon::privileges::Privileges;
use crate::fs::{Owner, Presentation};
use crate::fuse::MountRequest;
use crate::vfs::OpenOptions;

/// The settings of a mount. `None` means the default.
#[derive(Clone, Debug, Default)]
pub(crate) struct MountOptions {
    pub(crate) open: OpenOptions,
    pub(crate) foreground: bool,
    pub(crate) nonempty: bool,
    /// Whether the daemon ignores changes on the disk.
    pub(crate) is_static: bool,
    /// The folder that receives files written to the mount.
    pub(crate) edit: Option<PathBuf>,
    pub(crate) privileges: Privileges,
    pub(crate) presentation: Presentation,
    /// The mount request without the mountpoint, which is prepared last.
    pub(crate) request: MountRequest,
}

/// The flags of a command that duplicate a mount option. A command that lacks a flag leaves the default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags {
    pub(crate) open: OpenOptions,
    pub(crate) foreground: bool,
    pub(crate) edit: Option<PathBuf>,
}

impl MountOptions {
    /// The defaults. Files belong to the user and group of this process.
    pub(crate) fn new() -> Self {
        let owner = Owner::new(rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        Self { presentation: Presentation { owner, ..Presentation::default() }, ..Self::default() }
    }

    /// Applies the flags that the user gave.
    pub(crate) fn outrank_by(&mut self, flags: &Flags) {
        self.open = flags.open.clone().merged_over(std::mem::take(&mut self.open));
        self.foreground |= flags.foreground;
        self.edit = flags.edit.clone().or_else(|| self.edit.take());
    }
}
