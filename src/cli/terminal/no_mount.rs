//! The log of a mount, in a program that is built without mounts: there is none.

/// A log that no program without mounts has.
pub(crate) struct MountLog {
    pub(crate) is_file: bool,
    pub(crate) has_priority: bool,
}

impl MountLog {
    pub(crate) fn write(&self, _: &[u8]) {}
}

/// The target of lines that are logged without `--verbose`, although they are no warnings.
pub(crate) const NEWS: &str = "bsafs::news";

pub(crate) fn is_repeated(_: &str) -> bool {
    false
}

pub(crate) fn of_mount() -> Option<&'static MountLog> {
    None
}
