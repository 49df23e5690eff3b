//! Files whose bytes are served although they are suspect (`--salvage`), and which of them are still to be logged.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::error::ReadError;

/// The number of an archive, and an entry in it.
type Key = (u32, u32);

/// The first fault of each salvaged file, until it is taken.
#[derive(Debug, Default)]
pub(super) struct Salvage(Mutex<HashMap<Key, Option<ReadError>>>);

impl Salvage {
    /// Records a fault that is to be logged, unless one of this file was recorded before.
    pub(super) fn record(&self, key: Key, fault: ReadError) {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.entry(key).or_insert(Some(fault));
    }

    /// The recorded fault of a file, once.
    pub(super) fn take(&self, key: Key) -> Option<ReadError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&key)?.take()
    }
}
