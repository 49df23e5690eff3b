//! Mount: mounts and their life.

#[expect(clippy::module_inception, reason = "each command has the name of its file")]
pub(crate) mod mount;
pub(crate) mod mounts;
pub(crate) mod open;
pub(crate) mod reload;
pub(crate) mod status;
pub(crate) mod umount;
pub(crate) mod watch;
