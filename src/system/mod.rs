//! The operating system: the mount table, paths below this process's mount, other processes,
//! subprocesses, processors, open files, and the limit of memory.

pub(crate) mod clock;
pub mod covered;
pub(crate) mod memory;
pub mod mountinfo;
pub(crate) mod open_files;
pub(crate) mod process;
pub(crate) mod processors;
pub(crate) mod subprocess;
pub(crate) mod text;
