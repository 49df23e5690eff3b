//! Bytes that were decoded into the cache, shared with it.

use std::sync::Arc;

use super::cache::{CacheKey, DecodeCell};
use super::error::Reason;

/// The decoded bytes of a part of a file. They stay in memory while this does, evicted or not.
#[derive(Clone, Debug)]
pub(super) struct Decoded {
    pub(super) cell: Arc<DecodeCell<Reason>>,
    pub(super) key: CacheKey,
}

impl Decoded {
    /// The bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        self.cell.get().and_then(|result| result.as_deref().ok()).unwrap_or(&[])
    }
}
