//! Look: what is installed, and what is in sources.

pub(crate) mod cat;
pub(crate) mod games;
pub(crate) mod info;
pub(crate) mod list;
pub(crate) mod names;
pub(crate) mod thumbnail;
pub(crate) mod verify;
