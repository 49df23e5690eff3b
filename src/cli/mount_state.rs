//! The state that command line, profiles and `-o` set together.

use super::open_args::{Layout, OpenArgs};
use super::privileges::Privileges;
use crate::fs::{MountRequest, Owner, Presentation};

/// The state that command line, profiles and `-o` set together.
#[derive(Clone, Debug, Default)]
pub(super) struct MountOptions {
    pub(super) open: OpenArgs,
    pub(super) layout: Layout,
    /// Whether suspect files are served.
    pub(super) salvage: bool,
    /// In bytes.
    pub(super) cache_size: u64,
    pub(super) foreground: bool,
    pub(super) nonempty: bool,
    pub(super) privileges: Privileges,
    pub(super) presentation: Presentation,
    /// All but the mountpoint, which is prepared last.
    pub(super) request: MountRequest,
}

impl MountOptions {
    /// Options with the values of the command line, and else the defaults.
    pub(super) fn new(open: OpenArgs, layout: Layout, cache_size: u64, foreground: bool) -> Self {
        let owner = Owner::new(rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        let presentation = Presentation { owner, ..Presentation::default() };
        Self { open, layout, cache_size, foreground, presentation, ..Self::default() }
    }
}
