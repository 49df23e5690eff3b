//! The mount: names from the tree and bytes from the store, joined into a read-only file system.
//!
//! A request is read as a walk down these files, each of which imports only files below it:
//!
//! 1. `session` mounts, starts the worker threads (`worker_threads`), and unmounts (`unmounter`) when a signal asks for it
//!    (`signals`) or a failure does.
//! 2. `fuse` is the adaptor: fuser calls it with a request; it calls an operation and sends the reply. No logic.
//! 3. [`FileSystem`] has the current [`View`], and replaces it by a later one; the kernel is told by `invalidation`.
//!    Operations of a view in plain types, without FUSE: `listing` (READDIR, READDIRPLUS), `xattr` (GETXATTR, LISTXATTR),
//!    `status_link` (READLINK), and in `view` LOOKUP, GETATTR and READ.
//! 4. What waits for a device waits in `io_threads`; `sizes` has it learn the sizes that an answer needs.
//! 5. The rest is types: attributes, inode numbers, errors, request counts.
//!
//! A view is immutable. Locks guard what is not (`shared`): spellings of folders (read, or written for a new one), names that were
//! told, the cache of decoded extents, faults that were reported, and a source whose change time moved. There are no file
//! handles. Lookups are counted of assumed folders, which go when the kernel forgets them (`name_trim`), and of each archive
//! together, which after it was replaced goes when the kernel forgets its files (`retired`).
//!
#![doc = include_str!("FUSE.md")]

mod attr;
mod cache_trim;
mod early_numbers;
mod error;
mod filesystem;
mod fuse;
mod generation;
mod inode_numbers;
mod invalidation;
mod io_threads;
mod json_pages;
mod last_reload;
mod listing;
mod mount;
mod name_trim;
mod owner;
mod passed_mount;
mod presentation;
mod provenance;
mod requests;
mod retired;
mod session;
mod shared;
mod signals;
mod sizes;
mod sources;
mod status;
mod status_link;
mod unmounter;
mod view;
mod way_of_root;
mod worker_threads;
mod xattr;

pub use attr::{Attr, NodeKind};
pub use error::Error;
pub use filesystem::{FileSystem, NoNumbers, Replaced};
pub use inode_numbers::{SOURCES_LINK, STATUS_LINK, WHICH_LINK};
pub use json_pages::read_pages;
pub use last_reload::LastReload;
pub use listing::DirEntry;
pub use mount::{MountError, MountRequest, unmount, unmount_entry};
pub use owner::Owner;
pub use passed_mount::PassedMount;
pub use presentation::Presentation;
pub use provenance::Provenance;
pub use session::{Session, SessionError};
pub use sources::MountedSource;
pub use status::{CacheStatus, Status, unix_seconds};
pub use status_link::Caller;
pub use view::{Lookup, View};
pub use way_of_root::is_way_of_root;
