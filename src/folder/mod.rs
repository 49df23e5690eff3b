//! A folder of loose files: its names, sizes and times, and positioned reads through a bounded set of open files.
//!
//! A scan walks the folder once and keeps its names (`names`), where they are (`location`), and notes on what it left out.
//! Sizes and times are learnt when somebody asks (`file_state`), bytes are read through descriptors that all folders of a
//! mount share (`open_files`).
//!
//! # No path leads astray
//!
//! After the scan every access is `openat2` beneath a descriptor that the scan opened, which crosses no mount and follows no
//! link: a mount of ours that covers the folder, or lies in it, is never entered by the daemon that serves it.
//!
//! Links are followed by the scan, once. What lies beneath the folder itself is reached beneath its own descriptor; what lies
//! elsewhere beneath the top of its mount, of which one descriptor serves all folders (`mounts`): a mod manager deploys a
//! hundred thousand links, and descriptors are few. A link is left out, with a note, where it leads to an ancestor (of the
//! folder that has it, or of one on the way there; so there are no circles), to another mount of FUSE, to proc, sysfs or
//! autofs, or to nothing.

mod carry_over;
mod error;
mod file_state;
mod filter;
mod location;
mod loose_file;
mod loose_folder;
mod mounts;
mod names;
mod notes;
mod open_files;
mod scan;

pub use error::{FileFault, ScanError};
pub use file_state::{FileStat, system_time};
pub use filter::Filter;
pub use loose_file::LooseFile;
pub use loose_folder::LooseFolder;
pub use names::{LooseName, LooseNames};
pub use notes::{WalkNote, Why};
pub use open_files::OpenFiles;
pub use scan::scan;
