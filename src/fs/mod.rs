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

pub(crate) mod attr;
pub(crate) mod error;
pub(crate) mod exposed;
pub(crate) mod filesystem;
pub(crate) mod generation;
pub(crate) mod inode_numbers;
pub(crate) mod invalidation;
pub(crate) mod json_pages;
pub(crate) mod listing;
pub(crate) mod provenance;
pub(crate) mod requests;
pub(crate) mod retired;
pub(crate) mod shared;
pub(crate) mod sizes;
pub(crate) mod sources;
pub(crate) mod status;
pub(crate) mod status_link;
pub(crate) mod view;
pub(crate) mod xattr;

pub use attr::{Attr, NodeKind, Owner, Presentation};
pub use error::Error;
pub use filesystem::{FileSystem, NoNumbers, Replaced};
pub use inode_numbers::{SOURCES_LINK, STATUS_LINK, WHICH_LINK};
pub use json_pages::read_pages;
pub use listing::DirEntry;
pub use provenance::Provenance;
pub use sources::MountedSource;
pub use status::{CacheStatus, LastReload, Status};
pub use status_link::Caller;
pub use view::{Lookup, View};

// For `fuse`, which may not import `content`.
pub(crate) use crate::content::Reach;
pub(crate) use invalidation::{Invalidation, NameIn};
pub(crate) use requests::Operation;
pub(crate) use shared::Host;
pub(crate) use sizes::SizeJob;
