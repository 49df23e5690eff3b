//! Bytes that were decoded into the cache, shared with it.

use std::fmt;
use std::sync::Arc;

use super::Reason;
use super::cache::{Key, Slot};

/// The decoded bytes of a part of a file.
#[derive(Clone)]
pub struct Decoded {
    pub(super) slot: Arc<Slot<Reason>>,
    pub(super) key: Key,
    /// Where in the file they begin.
    pub(super) offset: u64,
}

impl Decoded {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        self.slot.get().and_then(|result| result.as_deref().ok()).unwrap_or(&[])
    }

    /// Where in the file they begin.
    pub fn offset(&self) -> u64 {
        self.offset
    }
}

impl fmt::Debug for Decoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {}", self.bytes().len(), self.offset)
    }
}
