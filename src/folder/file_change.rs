//! What happened to a file between two views.

/// What happened to a file since an earlier view had it at the same path. Archives and loose files share this
/// type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// It is the same file with the same bytes.
    None,
    /// It is the same file. Its attributes are the same, but it may have been written to.
    Unknown,
    /// It is the same file. It was written to, or its attributes changed.
    Written,
    /// Another file is at the path.
    Replaced,
}
