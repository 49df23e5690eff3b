//! FUSE mounts of other users. Their daemons may never answer, so nothing that a list or a link names is
//! looked up in them. What the user names himself is.

use std::path::{Path, PathBuf};

use super::mountinfo::{self, MountEntry};
use super::paths::first_on_the_way;

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

    /// Whether an absolute path enters one of them, perhaps through links. No daemon is asked.
    pub(crate) fn are_entered_by(&self, path: &Path) -> bool {
        !self.0.is_empty()
            && first_on_the_way(path, |at| self.0.iter().any(|it| it == at).then_some(())).is_some()
    }
}
