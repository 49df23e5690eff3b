//! Opens sources: plans their layers, and merges these into one tree of files.

pub(crate) mod case_twins;
pub(crate) mod comparison;
pub(crate) mod conflict;
pub(crate) mod dictionary;
pub(crate) mod difference;
pub(crate) mod disk_changes;
pub(crate) mod error;
pub(crate) mod file;
pub(crate) mod folder;
pub(crate) mod found_layer;
pub(crate) mod layer;
pub(crate) mod named_folder;
pub(crate) mod open;
pub(crate) mod opened;
pub(crate) mod opened_archive;
pub(crate) mod options;
pub(crate) mod output_folder;
pub(crate) mod parallel;
pub(crate) mod patterns;
pub(crate) mod provenance;
pub(crate) mod read_error;
pub(crate) mod reopening;
pub(crate) mod reuse;
pub(crate) mod sources;
#[expect(clippy::module_inception, reason = "the room is named after its main type")]
pub(crate) mod vfs;

pub use conflict::Conflict;
pub use difference::{Change, Comparing, Difference};
pub use error::{OpenError, OpenErrorKind};
pub use file::{FileReader, VfsFile};
pub use folder::{VfsEntry, VfsFolder};
pub use layer::VfsLayer;
#[doc(hidden)]
pub use opened::Opened;
pub use options::{CACHE_SIZE, FolderArchives, Layout, OpenOptions, READ_LIMIT};
pub use patterns::{BadPattern, Patterns};
pub use provenance::{FileCopy, Provenance};
pub use read_error::{ReadError, ReadErrorKind};
pub use vfs::{Reopened, Vfs};
