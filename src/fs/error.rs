//! Errors of file system operations. The error numbers that programs get are in `fuse/adaptor.rs`.

/// Why an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The archive's bytes are damaged, or end too early. The log names the fault.
    Damaged,
    /// The archive was changed while in use.
    Changed,
    /// The system refused to read the archive or the file.
    Unreadable,
    /// The operation needs a file, but the node is a folder.
    IsFolder,
    /// There is not enough memory for the request.
    NoMemory,
    /// No node has this inode number.
    NoNode,
    /// No inode numbers are left.
    OutOfInodeNumbers,
    /// The folder changed long after the listing began, so the listing cannot continue.
    ListingGone,
    /// The file was replaced, or it ended earlier before this was read: its bytes are gone.
    Replaced,
    /// The file is being written to. The next attempt will succeed.
    BeingWritten,
    /// The caller has no permission to read this.
    NotPermitted,
    /// The node has no extended attribute of this name.
    NoXattr,
    /// The folder has no child of this name.
    NotFound,
    /// The operation needs a folder, but the node is something else.
    NotFolder,
    /// The name is longer than any name of a file.
    NameTooLong,
    /// The answer does not fit into the caller's buffer.
    TooSmall,
    /// The node does not support the operation.
    Invalid,
}
