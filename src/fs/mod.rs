//! File system operations on a view of the sources, in plain types: names from the tree, bytes from
//! the store. No file here depends on FUSE. [`crate::fuse`] calls these operations and implements
//! the trait `Host`.
//!
//! | question | file |
//! |---|---|
//! | which view is served, and how does a later one replace it? | `filesystem.rs` |
//! | what is a view? LOOKUP and GETATTR | `view.rs` |
//! | READ | `read.rs` |
//! | what is decoded before a program asks for it? | `prefetch.rs` |
//! | READDIR and READDIRPLUS | `listing.rs` |
//! | READLINK of `.bsafs:status` and the like | `status_link.rs`, in pages by `reported/daemon_status.rs` |
//! | GETXATTR and LISTXATTR | `xattr.rs` |
//! | how are sizes learnt that an answer needs? | `view.rs` |
//! | what does an event on the disk change before the next view? | `disk_events.rs` |
//! | what if no event reports a write? | `unwatched.rs` |
//! | which folders do programs use? | `used_folders.rs` |
//! | which folders on the disk does a folder show? | `disk_folders.rs` |
//! | what does the kernel remember, and which words are there for it? | the folder `remembered` |
//! | what do all views of a mount have in common? | `shared.rs` |
//! | what is reported? | the folder `reported`, `shared.rs`, `filesystem.rs` |
//! | what does `stat` report? | `attr.rs` |
//! | why did an operation fail? | `error.rs` |
//!
//! A view is immutable, and its operations take no lock for its own data. Locks guard what outlives
//! a view (`shared.rs`): spellings of folders, names that the kernel may have cached, and files
//! that the kernel may still reference.
//!
//! There are no file handles. Lookups are counted in two cases. An assumed folder is dropped when the kernel
//! forgets it. An archive that was replaced is dropped when the kernel forgets its files.

mod attr;
mod callback;
mod disk_events;
mod disk_folders;
mod error;
mod filesystem;
mod listing;
mod prefetch;
mod read;
mod remembered;
mod reported;
mod shared;
mod status_link;
mod unwatched;
mod used_folders;
mod view;
mod xattr;

pub(crate) use crate::tree::Ino;
pub use attr::{Attr, NodeKind, Owner, Presentation, Validity};
pub(crate) use callback::{Callback, OnWait};
pub use error::Error;
pub use filesystem::{FileSystem, FolderUse, OutOfInodeNumbers, ReloadAttempt, Replaced};
pub use listing::DirEntry;
pub use read::ReadTarget;
pub use remembered::inode_numbers::{CHANGES_LINK, SOURCES_LINK, STATUS_LINK, WHICH_LINK};
pub(crate) use remembered::pending::NameIn;
pub(crate) use remembered::written::HeldAttr;
pub use reported::change_log::{ChangedFile, FileChanges, FileEvent};
pub use reported::daemon_status::{
    CacheStatus, DaemonStatus, LastReload, MountedSource, MountedSources, POLLING_INTERVAL, WatchCounts,
    polling_interval, read_pages,
};
pub(crate) use shared::{Host, Invalidation, Operation};
pub use status_link::Caller;
pub(crate) use view::SizeJob;
pub use view::{Lookup, View};

pub use crate::answers::NotLookedAt;
