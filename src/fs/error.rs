//! Errors of file system operations. The error numbers that programs get are in `fuse/adaptor.rs`.

/// Why an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The archive's bytes are damaged, missing or changed; the log names the fault.
    Damaged,
    /// The operation needs a file, and the node is a folder.
    IsFolder,
    /// No node has this inode number.
    NoNode,
    /// All inode numbers were given.
    NoNumber,
    /// The caller may not know this.
    NotPermitted,
    /// The node has no extended attribute of this name.
    NoXattr,
    /// The folder has no child of this name.
    NotFound,
    /// The operation needs a folder, and the node is none.
    NotFolder,
    /// The answer does not fit the caller's buffer.
    TooSmall,
    /// The node does not support the operation.
    Invalid,
}
