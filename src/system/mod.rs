//! The operating system: the mount table, paths below this process's mount, and subprocesses.

pub(crate) mod clock;
pub mod covered;
pub mod mountinfo;
pub(crate) mod subprocess;
pub(crate) mod text;
