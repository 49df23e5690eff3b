//! What sources stand for: layers, opened and merged into a tree and its bytes.

pub(crate) mod case_twins;
pub(crate) mod comparison;
pub(crate) mod dictionary;
pub(crate) mod error;
pub(crate) mod folder_case;
pub(crate) mod folder_name;
pub(crate) mod layer_names;
pub(crate) mod layer_plan;
pub(crate) mod loose_notes;
pub(crate) mod named_folder;
pub(crate) mod open;
pub(crate) mod opened_archive;
pub(crate) mod options;
pub(crate) mod output_folder;
pub(crate) mod parallel;
pub(crate) mod profile;
pub(crate) mod reopening;
pub(crate) mod reuse;
pub(crate) mod source_set;
pub(crate) mod sources;
pub(crate) mod stored_path;

pub use error::{OpenError, OpenErrorKind};
pub use options::{CACHE_SIZE, FolderArchives, Layout, OpenOptions, Progress, READ_LIMIT};
