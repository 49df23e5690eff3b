//! FUSE mounts of other users. Their daemons may never answer, so nothing that a list or a link names is
//! looked up in them. What the user names himself is.

use std::path::{Path, PathBuf};

use super::mountinfo::{self, MountEntry};

/// The places of the FUSE mounts that another user made, and that this user may enter. There are hardly ever
/// any.
#[derive(Clone, Debug)]
pub(crate) struct ForeignMounts(Vec<PathBuf>);

impl ForeignMounts {
    /// Those that are mounted now. The kernel itself refuses those without `allow_other`.
    pub(crate) fn now() -> Self {
        let is_foreign = |it: &MountEntry| it.is_fuse() && !it.is_trusted() && it.has_option("allow_other");
        Self(mountinfo::mounts().into_iter().filter(is_foreign).map(|it| it.mountpoint).collect())
    }

    /// Whether a path without links is in one of them.
    pub(crate) fn contain(&self, path: &Path) -> bool {
        self.0.iter().any(|mountpoint| path.starts_with(mountpoint))
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
