//! Stand-ins for the log of a mount, in a program that is built without mounts.

/// The log of a mount. A program without mounts never creates one.
pub(crate) struct MountLog {
    pub(crate) is_file: bool,
    pub(crate) has_priority: bool,
}

impl MountLog {
    pub(crate) fn write(&self, _: &[u8]) {}
}

/// Log target of lines that are printed without `--verbose`, although they are not warnings.
pub(crate) const NEWS: &str = "bsafs::news";

pub(crate) fn is_repeated(_: &str) -> bool {
    false
}

pub(crate) fn of_mount() -> Option<&'static MountLog> {
    None
}
