//! How nodes appear, whatever their content.

use super::owner::Owner;

/// How nodes appear, whatever their content.
#[derive(Clone, Debug, Default)]
pub struct Presentation {
    /// Owner and permissions of all nodes.
    pub owner: Owner,
    /// Whether names are found in their stored spelling alone.
    pub is_exact: bool,
    /// Whether extended attributes are answered.
    pub xattrs: bool,
}
