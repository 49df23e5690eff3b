//! Every command, a file each.

pub(crate) mod cat;
pub(crate) mod complete;
pub(crate) mod completions;
pub(crate) mod conflicts;
pub(crate) mod diff;
pub(crate) mod extract;
pub(crate) mod games;
pub(crate) mod info;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod mount;
pub(crate) mod mounts;
pub(crate) mod names;
pub(crate) mod open;
pub(crate) mod order;
pub(crate) mod reload;
pub(crate) mod status;
#[cfg(feature = "thumbnails")]
pub(crate) mod thumbnail;
pub(crate) mod umount;
pub(crate) mod verify;
pub(crate) mod which;
