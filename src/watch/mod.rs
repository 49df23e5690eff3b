//! What changes on the disk: folders that are watched by inotify, or looked at again and again where the system allows no more
//! watches.
//!
//! Nothing here knows what the folders are for. Who watches says of each what counts (`interest`), waits (`watcher`), and
//! learns that something did, and where (`changed`).

mod changed;
mod interest;
mod poll;
mod watcher;

pub use changed::ChangedFolders;
pub use interest::Interests;
pub use watcher::{Watcher, Woken};
