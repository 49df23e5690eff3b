//! What the kernel remembers of a mount, which decides what later views may answer.
//!
//! The words for it, each of which names one thing:
//!
//! | word | what it says |
//! |---|---|
//! | *exposed* | the kernel was sent this name or number, and may have cached it (`inode_numbers.rs`) |
//! | *generation* | whether a handle of an NFS client is still valid for a number (`inode_numbers.rs`) |
//! | *invalidate* | to have the kernel drop what it cached (`fs/shared.rs`) |
//! | *pending* | a name whose file changed on the disk, until a view with the change (`pending.rs`) |
//! | *written* | the bytes of a file changed, and its number stays (`written.rs`) |
//! | *cut* | a written file that became shorter (`written.rs`) |
//! | *replaced* | another file, archive or view is where this one was |
//! | *retired* | a file that left the view but is still open in the kernel (`retired.rs`) |
//! | *kept* | the names of a listing that began before its folder changed (`kept_listings.rs`) |
//!
//! Other rooms have words of their own for changes. On the disk, a file is *touched* if an event named it
//! (`fs/reported`), and *settled* if its time is too old for another write in the same tick (`folder`). A
//! rescan *carries* the state of an unchanged file into its folder's next state (`folder`). In the tree, a
//! folder is *respelled* if another layer decides its spelling now. To the watcher, an archive that is still
//! being written is *unfinished* (`daemon`).

pub(crate) mod inode_numbers;
pub(crate) mod kept_listings;
pub(crate) mod pending;
pub(crate) mod retired;
pub(crate) mod written;
