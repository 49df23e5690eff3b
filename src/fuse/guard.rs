//! Runs the code of a request. If it panics, only this request fails.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::fs::Operation;

/// Runs a handler; `None` if it panics.
///
/// A panic would end the worker's thread, and in the first worker it would end the mount (FUSE.md
/// section 1.2). Caught here, it drops the reply, and fuser sends EIO.
pub(super) fn guard<T>(operation: Operation, handler: impl FnOnce() -> T) -> Option<T> {
    let handled = catch_unwind(AssertUnwindSafe(handler)).ok();
    if handled.is_none() {
        let name = operation.name();
        log::error!(
            "bug in bsafs: {name} panicked, so the request failed with EIO; please report it with this log"
        );
    }
    handled
}
