//! Opens sources: plans their layers, and merges these into one tree of files.
//!
//! | question | file |
//! |---|---|
//! | what does a library user call? | `library.rs`, `open_options.rs` |
//! | what does that return? | `library.rs`, `file.rs` |
//! | what is a source, and which layers does it stand for? | the folder `sources` |
//! | how are these layers opened, parsed, merged, and opened again? | the folder `opening` |
//! | what is known after that? | `opened.rs`, `opened_archive.rs` |
//! | which files does a pattern select? | `patterns.rs` |
//! | how are files written to a folder? | `output_folder.rs`; whose folder it is: `destination.rs` |
//! | what if a source fails when it is opened again? | `trouble.rs` |
//! | what can go wrong? | `error.rs` while opening, `file.rs` while reading |
//!
//! What is asked about a tree is in the room above, `answers`.

pub(crate) mod destination;
pub(crate) mod error;
pub(crate) mod file;
pub(crate) mod library;
pub(crate) mod open_options;
pub(crate) mod opened;
pub(crate) mod opened_archive;
pub(crate) mod opening;
pub(crate) mod output_folder;
pub(crate) mod patterns;
pub(crate) mod sources;
pub(crate) mod trouble;

pub use error::{OpenError, OpenErrorKind};
pub use file::{FileReader, ReadError, ReadErrorKind, VfsFile, VfsLayer};
pub use library::{Vfs, VfsEntry, VfsFolder};
pub use open_options::{CACHE_SIZE, FolderArchives, Layout, OpenOptions, READ_LIMIT};
#[doc(hidden)]
pub use opened::Opened;
pub use patterns::{BadPattern, Patterns};
