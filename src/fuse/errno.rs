//! The error number that a program gets for each error of an operation.
//!
//! `adaptor.rs` itself answers ENOSYS to operations that bsafs does not have, and ENOTTY to ioctls. fuser
//! answers EIO if a reply is dropped, for example because a request panicked.

use fuser::Errno;

use crate::fs::Error;

impl From<Error> for Errno {
    fn from(error: Error) -> Self {
        match error {
            Error::Damaged | Error::Changed | Error::Unreadable => Self::EIO,
            Error::IsFolder => Self::EISDIR,
            Error::NoMemory => Self::ENOMEM,
            Error::ListingGone | Error::NoNode | Error::Replaced => Self::ESTALE,
            Error::OutOfInodeNumbers => Self::EOVERFLOW,
            Error::NotPermitted => Self::EACCES,
            Error::NoXattr => Self::ENODATA,
            Error::NotFound => Self::ENOENT,
            Error::NotFolder => Self::ENOTDIR,
            Error::NameTooLong => Self::ENAMETOOLONG,
            Error::TooSmall => Self::ERANGE,
            Error::Invalid => Self::EINVAL,
        }
    }
}
