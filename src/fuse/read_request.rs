//! A READ whose file is known. It is answered once, when its device has a worker for it.

use fuser::ReplyData;

use super::guard::guard;
use crate::fs::{Operation, ReadTarget};

/// A READ that waits for its answer.
#[derive(Debug)]
pub(super) struct ReadRequest {
    pub(super) target: ReadTarget,
    /// Offset in the file, in bytes.
    pub(super) offset: u64,
    /// Number of bytes that the kernel asks for.
    pub(super) len: u32,
    pub(super) reply: ReplyData,
}

impl ReadRequest {
    /// Reads the file, and sends the bytes from where they are. If this panics, the request whose worker took
    /// this one from a queue does not fail.
    pub(super) fn answer(self) {
        let Self { target, offset, len, reply } = self;
        let _ = guard(Operation::Read, || match target.read(offset, len) {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(error.into()),
        });
    }
}
