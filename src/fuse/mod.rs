//! The kernel's side of a mount. It mounts, answers the kernel's requests with the operations of
//! [`crate::fs`], notifies the kernel of changes, and unmounts.
//!
//! | question | file |
//! |---|---|
//! | What happens from the mount to the unmount, in order? | `session.rs` |
//! | How is a request answered? | `adaptor.rs` has a method for each kind of request |
//! | Which error number does a program get, also after a panic? | `adaptor.rs` |
//! | Which threads answer? | `session.rs` |
//! | Which of them rest? | `device_queues.rs` |
//! | How many of them may wait for one device? | `device_queues.rs` |
//! | When is the kernel notified, and by which thread? | `notify.rs` |
//! | How does bsafs mount? | `mount.rs` |
//! | Why may fusermount3 not mount or unmount? | `fusermount.rs` |
//! | How does bsafs unmount? | `unmount.rs`, also after a signal (`session.rs`) or a failure |
//!
#![doc = include_str!("FUSE.md")]

mod adaptor;
mod device_queues;
mod fusermount;
mod mount;
mod notify;
mod session;
mod unmount;

pub use fusermount::Hindrance;
pub(crate) use mount::connection_number;
pub use mount::{MountError, MountRequest};
pub use session::Session;
pub use unmount::unmount;
