//! A folder of loose files: its names, sizes and times, and reads through a bounded set of open files.
//!
//! A scan walks the folder once. It keeps the names (`names`), where they are on disk (`location`),
//! and notes on what it left out. Sizes and times are learnt on demand (`file_state`). Bytes are
//! read through descriptors that all folders of a mount share (`open_files`). After a change on the disk, a
//! later scan copies what did not change. Paths that lead to one folder share a walk (`scan`).
//!
//! # No path leads astray
//!
//! After the scan, every access is an `openat2` beneath a folder that the scan opened. It
//! crosses no mount and follows no link. So the daemon never enters its own mount, even if that
//! mount covers the folder or lies in it.
//!
//! Only the scan follows links. A target inside the folder is reached beneath the folder's own
//! descriptor. A target elsewhere is reached beneath the top of its mount (`mounts`). That top is opened for
//! each access and compared with the one that the scan found. If it stayed open, the disk could not be
//! unmounted.
//!
//! The scan leaves out a link, with a note, if it leads to nothing, to another FUSE mount, or to proc, sysfs
//! or autofs. To prevent circles, it also leaves out a link to an ancestor of the link, or of another link
//! that it leads through.

mod error;
mod file_state;
mod filter;
mod hidden_names;
mod location;
mod loose_folder;
mod loose_names;
mod mounts;
mod notes;
mod open_files;
mod scan;
mod stale;
mod stored_changes;
mod whiteouts;

pub use error::{FileFault, ScanError};
pub use file_state::{FileChange, FileStat, FileTime};
pub use filter::{Filter, OnlyPaths};
pub use hidden_names::HiddenNames;
pub use loose_folder::{LooseFile, LooseFolder, WholeRead};
pub use loose_names::{LooseName, LooseNames};
pub use notes::{WalkNote, Why};
pub use open_files::OpenFiles;
pub use scan::{ScanChanges, Scans, scan, scan_again};
pub use stored_changes::{EditedFile, StoredChanges};
pub use whiteouts::{MARKED, deleted_by};
pub(crate) use whiteouts::{may_have_marks, record_edited};
