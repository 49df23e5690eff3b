//! The operating system: the mount table, paths under our own mount, and subprocesses with a time limit.

pub(crate) mod clock;
pub mod covered;
pub mod mountinfo;
pub(crate) mod subprocess;
pub(crate) mod text;
