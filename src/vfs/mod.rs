//! Opens sources: plans their layers, and merges these into one tree of files.
//!
//! | question | file |
//! |---|---|
//! | what does a library user call? | `vfs.rs`, `open_options.rs` |
//! | what does that return? | `file.rs`, `vfs.rs`, `provenance.rs` |
//! | how do layers or trees differ? | `comparison.rs`; the lists of two games: `order_changes.rs` |
//! | what is a source, and which layers does it stand for? | the folder `sources` |
//! | how are these layers opened, parsed and merged? | `open.rs`, in `parallel.rs` on all processors |
//! | which layers are in a folder? | `open.rs`; for each archive separately: `named_folder.rs` |
//! | what is known after that? | `opened.rs`, `opened_archive.rs` |
//! | what are files called if an archive stores only hashes? | `dictionary.rs` |
//! | which names does a game take for one? | `case_twins.rs` |
//! | how are sources opened again after a change? | `reopening.rs` |
//! | what if one of them fails then? | `trouble.rs` |
//! | are two files equal? | `comparison.rs` |
//! | does a tree have the files of a list with checksums? | `manifest.rs` |
//! | which files does a mesh need? | `needs.rs` |
//! | which files does a pattern select? | `patterns.rs` |
//! | how are files written to a folder? | `output_folder.rs` |
//! | what became of a file, a mod, an archive or a plugin? | `why/`; the fates: `fate.rs` |
//! | which file does a path from a log or a program mean? | `question.rs` |
//! | what was not looked at, and which paths may it decide? | `unseen.rs` |
//! | what can go wrong? | `error.rs` while opening, `file.rs` while reading |

pub(crate) mod case_twins;
pub(crate) mod comparison;
pub(crate) mod dictionary;
pub(crate) mod error;
pub(crate) mod fate;
pub(crate) mod file;
pub(crate) mod manifest;
pub(crate) mod named_folder;
pub(crate) mod needs;
pub(crate) mod open;
pub(crate) mod open_options;
pub(crate) mod opened;
pub(crate) mod opened_archive;
pub(crate) mod order_changes;
pub(crate) mod output_folder;
pub(crate) mod parallel;
pub(crate) mod patterns;
pub(crate) mod provenance;
pub(crate) mod question;
pub(crate) mod reopening;
pub(crate) mod sources;
pub(crate) mod structure;
pub(crate) mod trouble;
pub(crate) mod unseen;
#[expect(clippy::module_inception, reason = "the room is named after its main type")]
pub(crate) mod vfs;
pub(crate) mod why;

pub use comparison::{Change, Comparing, Conflict, Difference};
pub use error::{OpenError, OpenErrorKind};
pub use file::{FileReader, ReadError, ReadErrorKind, VfsFile, VfsLayer};
pub use open_options::{CACHE_SIZE, FolderArchives, Layout, OpenOptions, READ_LIMIT};
#[doc(hidden)]
pub use opened::Opened;
pub use patterns::{BadPattern, Patterns};
pub use provenance::{FileCopy, Provenance};
pub use unseen::NotLookedAt;
pub use vfs::{Reopened, Vfs, VfsEntry, VfsFolder};
