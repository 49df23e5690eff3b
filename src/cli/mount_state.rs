//! The state that command line, profiles and `-o` set together.

use std::path::PathBuf;

use super::open_args::{Layout, OpenArgs};
use super::privileges::Privileges;
use crate::fs::{MountRequest, Owner, Presentation};

/// The state that command line, profiles and `-o` set together. `None` is the default.
#[derive(Clone, Debug, Default)]
pub(super) struct MountOptions {
    pub(super) open: OpenArgs,
    pub(super) layout: Option<Layout>,
    /// Whether suspect files are served.
    pub(super) salvage: bool,
    /// In bytes.
    pub(super) cache_size: Option<u64>,
    pub(super) foreground: bool,
    pub(super) nonempty: bool,
    /// Whether changes on the disk are not followed.
    pub(super) is_static: bool,
    /// The folder that takes what is written to the mount.
    pub(super) edit: Option<PathBuf>,
    pub(super) privileges: Privileges,
    pub(super) presentation: Presentation,
    /// All but the mountpoint, which is prepared last.
    pub(super) request: MountRequest,
}

/// The flags of a command that have an option of the same name; a command without one leaves it out.
#[derive(Clone, Debug, Default)]
pub(super) struct Flags {
    pub(super) open: OpenArgs,
    pub(super) layout: Option<Layout>,
    pub(super) salvage: bool,
    pub(super) cache_size: Option<u64>,
    pub(super) foreground: bool,
    pub(super) edit: Option<PathBuf>,
}

impl Flags {
    /// Those of a command that has no others.
    pub(super) fn of(open: &OpenArgs) -> Self {
        Self { open: open.clone(), ..Self::default() }
    }
}

impl MountOptions {
    /// The defaults.
    pub(super) fn new() -> Self {
        let owner = Owner::new(rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        Self { presentation: Presentation { owner, ..Presentation::default() }, ..Self::default() }
    }

    /// Applies the flags that are given.
    pub(super) fn outrank_by(&mut self, flags: &Flags) {
        self.open = flags.open.clone().over(std::mem::take(&mut self.open));
        self.layout = flags.layout.or(self.layout);
        self.salvage |= flags.salvage;
        self.cache_size = flags.cache_size.or(self.cache_size);
        self.foreground |= flags.foreground;
        self.edit = flags.edit.clone().or_else(|| self.edit.take());
    }
}
