//! The life of a mount: its mountpoint, detaching, privileges, the log, following the disk, and the
//! overlay of a writable mount.

pub(crate) mod detach;
pub(crate) mod edit_folder;
pub(crate) mod error;
pub(crate) mod follow;
pub(crate) mod log_thread;
pub(crate) mod logging;
pub(crate) mod made_folder;
pub(crate) mod mountpoint;
pub(crate) mod mounts_folder;
pub(crate) mod overlay;
mod polling;
pub(crate) mod privileges;
pub(crate) mod reload_line;
mod trigger;
mod watching;
