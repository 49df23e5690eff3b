//! What can go wrong in a file system operation, and the error number that tells it.

use fuser::Errno;

/// Why an operation was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The archive's bytes are damaged, gone or changed; the log says which.
    Damaged,
    /// There is a folder where a file is needed.
    IsFolder,
    /// The kernel asks for a node that it was never told of.
    NoNode,
    /// There is no extended attribute of that name.
    NoAttribute,
    /// There is nothing of that name.
    NotFound,
    /// There is a file where a folder is needed.
    NotFolder,
    /// The answer does not fit the caller's buffer.
    TooSmall,
    /// The operation makes no sense for the node.
    Invalid,
}

impl From<Error> for Errno {
    fn from(error: Error) -> Self {
        match error {
            Error::Damaged => Self::EIO,
            Error::IsFolder => Self::EISDIR,
            Error::NoNode => Self::ESTALE,
            Error::NoAttribute => Self::ENODATA,
            Error::NotFound => Self::ENOENT,
            Error::NotFolder => Self::ENOTDIR,
            Error::TooSmall => Self::ERANGE,
            Error::Invalid => Self::EINVAL,
        }
    }
}
