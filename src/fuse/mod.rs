//! The kernel's side of a mount: the FUSE session, its workers, and invalidation.
//!
#![doc = include_str!("FUSE.md")]

pub(crate) mod adaptor;
pub(crate) mod io_threads;
pub(crate) mod mount;
pub(crate) mod notify;
pub(crate) mod passed_mount;
pub(crate) mod session;
pub(crate) mod signals;
pub(crate) mod unmount;
pub(crate) mod unmounter;
pub(crate) mod worker_threads;

pub use mount::{MountError, MountRequest};
pub use passed_mount::PassedMount;
pub use session::{Session, SessionError};
pub use unmount::{is_root_controlled, unmount, unmount_entry};
