//! Watches folders for changes with inotify. If the system allows no more watches, folders are polled.
//!
//! This module does not know what the folders are for. The caller states what counts in each folder
//! (`interest`), waits for a change (`watcher`), and learns in which folders it was (`changed`).

mod changed;
mod interest;
mod poll;
mod watcher;

pub use changed::ChangedFolders;
pub use interest::Interests;
pub use watcher::{Watcher, Woken};
