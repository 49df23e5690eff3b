//! The kernel's side of a mount: mounting, answering the kernel's requests with the operations of
//! [`crate::fs`], notifying the kernel of changes, and unmounting.
//!
//! | question | file |
//! |---|---|
//! | what happens from the mount to the unmount, in order? | `session.rs` |
//! | how is a request answered? | `adaptor.rs`: a method for each request, an error number for each error |
//! | which threads answer? | `worker_threads.rs`; how many of them may wait for a device: `device_queues.rs` |
//! | what is the kernel notified of, and by which thread? | `notify.rs` |
//! | how is mounted? | `mount.rs`; through a descriptor that the caller passes: `passed_mount.rs` |
//! | how is unmounted? | `unmount.rs`; because of a signal (`signals.rs`) or a failure: `unmounter.rs` |
//!
#![doc = include_str!("FUSE.md")]

pub use mount::{MountError, MountRequest};
pub use passed_mount::PassedMount;
pub use session::{Session, SessionError};
pub use unmount::{is_root_controlled, unmount, unmount_entry};

mod adaptor;
mod device_queues;
mod mount;
mod notify;
mod passed_mount;
mod session;
mod signals;
mod unmount;
mod unmounter;
mod worker_threads;
