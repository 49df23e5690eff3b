//! Numbers of loose files that the kernel was told of before their disk had answered, when nothing but their paths was known.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// At most one number for each loose file.
#[derive(Debug, Default)]
pub(crate) struct EarlyNumbers(Mutex<HashSet<u64>>);

impl EarlyNumbers {
    /// The identity of a number's file as `look` has it, which is 0 where it is not known; 0 for ever once that was the answer.
    pub(crate) fn identity(&self, ino: u64, look: impl FnOnce() -> u64) -> u64 {
        // Looked at with the lock: what is not known may be known a moment later.
        let mut early = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match look() {
            0 => {
                early.insert(ino);
                0
            }
            _ if early.contains(&ino) => 0,
            identity => identity,
        }
    }
}
