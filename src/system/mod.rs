//! The operating system: the mount table, the two mounts of a writable mount (`edit_mount.rs`), absolute
//! paths, the walk along a path and its links (`walk.rs`), places that no other user can redirect (to mount
//! there: `place.rs`; to write there: `output_place.rs`, `new_file.rs`), paths below this process's mount,
//! paths that only root can change (`root_only.rs`, by the rules of `owners.rs`), which file it is
//! (`disk_id.rs`), work that is done once for each file, other processes, subprocesses and the users they
//! become, locks of folders, work on all processors, open files, disks on which none stays open
//! (`disk_id.rs`), disks that may stop answering (`asleep.rs`), whole files, memory.

pub(crate) mod asleep;
pub(crate) mod clock;
pub mod covered;
pub(crate) mod credentials;
pub mod disk_id;
pub mod edit_mount;
pub(crate) mod folder_lock;
#[cfg(feature = "program")]
pub(crate) mod holders;
pub(crate) mod memory;
pub mod mountinfo;
pub(crate) mod move_files;
pub(crate) mod new_file;
pub(crate) mod once_per_file;
pub(crate) mod output_place;
pub(crate) mod owners;
pub(crate) mod parallel;
pub(crate) mod paths;
pub mod place;
pub(crate) mod process;
pub(crate) mod root_only;
#[cfg(feature = "program")]
pub(crate) mod subprocess;
pub(crate) mod sync;
pub(crate) mod text;
pub mod walk;
pub(crate) mod whole_file;
