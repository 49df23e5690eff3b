//! The life of a mount: its mountpoint, detaching, its user, the log, following the disk, and the
//! overlay of a writable mount.
//!
//! | question | file |
//! |---|---|
//! | how is a mount put together and served? | `service.rs` |
//! | on which folder is it mounted? | `mountpoint.rs`; made by `bsafs open`: `mounts_folder.rs` |
//! | how is a folder removed that bsafs made? | `mounts_folder.rs` |
//! | how does a mount go to the background? | `detach.rs` |
//! | who is the user of `setuid=`? | `user.rs` |
//! | where does its log go? | `logging.rs` |
//! | what changed on the disk? | `watching.rs`; in folders without a watch: `polling.rs` |
//! | which disks come and go? | `disks.rs` |
//! | when does a reload begin, and what does it do? | `follow.rs` |
//! | how does a mount become writable? | `overlay.rs`; what is lost in the end: `unsaved.rs` |

pub(crate) mod detach;
mod disks;
pub(crate) mod follow;
pub(crate) mod logging;
pub(crate) mod mountpoint;
pub(crate) mod mounts_folder;
pub(crate) mod overlay;
mod polling;
pub(crate) mod service;
pub(crate) mod unsaved;
pub(crate) mod user;
mod watching;
