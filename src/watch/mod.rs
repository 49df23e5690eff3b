//! Watches folders for changes with inotify.
//!
//! This module does not know what the folders are for. The caller states what counts in each folder, waits
//! for events, and learns what each event means. It also learns which folders have no watch, because all
//! mounts of a user share half of the user's watches.

mod watcher;

pub use watcher::{
    DiskEvent, FolderPath, Interests, Meaning, MovedWatches, Shortage, UsedFolder, Wakeup, WatchChanges,
    WatchedFile, Watcher,
};
