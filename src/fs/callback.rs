//! A function that another part of the program calls later.

use std::fmt;
use std::path::Path;

/// A function. Those that the file system calls must not block.
pub(crate) struct Callback<A: ?Sized>(pub(crate) Box<A>);

/// A function that gets the folder of a changed loose file; `None` if an archive changed.
pub(crate) type OnChange = Callback<dyn Fn(Option<&Path>) + Send + Sync>;
/// A function without arguments.
pub(crate) type OnWait = Callback<dyn Fn() + Send + Sync>;

impl<A: ?Sized> fmt::Debug for Callback<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callback")
    }
}
