//! What the mount looks like, beside its files.

use super::owner::Owner;

/// What the mount looks like, beside its files.
#[derive(Clone, Debug)]
pub struct Presentation {
    /// Whose the files are, and what they may do.
    pub owner: Owner,
    /// Whether extended attributes are answered.
    pub xattrs: bool,
}
