//! The exit codes of errors of the library, and of output that cannot be written.

use std::io;

use crate::content::EntryError;
pub use crate::failure::{Exit, Failure};
use crate::vfs::{OpenError, OpenErrorKind};

impl Exit {
    /// The code of a failed read of a file in the sources: its bytes are damaged, or were not looked at.
    pub(crate) fn of_read(error: &io::Error) -> Self {
        let entry = error.get_ref().and_then(|it| it.downcast_ref::<EntryError>());
        if entry.is_some_and(|it| it.reason.is_unseen()) { Self::Io } else { Self::Data }
    }
}

/// A failure to write the output of a command. No other error of the system becomes a [`Failure`] by itself,
/// so that an error of a read is never reported as one of the output.
#[derive(Debug)]
pub(crate) struct OutputError(pub(crate) io::Error);

impl From<OutputError> for Failure {
    /// A closed pipe counts as success, as in `bsafs cat X.bsa a.txt | head`.
    fn from(OutputError(error): OutputError) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(Exit::Ok, ""),
            _ => Self::new(Exit::Io, format!("cannot write the output: {error}")),
        }
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        let exit = match error.kind() {
            OpenErrorKind::Unreadable(cause) if cause.kind() == io::ErrorKind::OutOfMemory => Exit::Io,
            OpenErrorKind::Unreadable(_) | OpenErrorKind::NotFound(_) | OpenErrorKind::IsMount => {
                Exit::NoInput
            }
            OpenErrorKind::OfOtherUser(_) => Exit::NoPermission,
            OpenErrorKind::Archive(_) | OpenErrorKind::TooLarge(_) => Exit::Data,
            OpenErrorKind::Profile(_) | OpenErrorKind::Option(_) => Exit::Usage,
        };
        Self::new(exit, error.to_string())
    }
}
