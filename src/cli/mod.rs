//! The command line: arguments, commands, exit codes.

mod args;
pub(crate) mod command;
#[cfg(feature = "completion")]
mod completion;
#[cfg(feature = "desktop")]
mod desktop;
pub(crate) mod exit;
#[cfg(any(feature = "desktop", feature = "pictures"))]
mod opener;
pub(crate) mod options;
#[cfg(feature = "pictures")]
mod page;
mod run;
pub(crate) mod surroundings;
pub(crate) mod terminal;
pub(crate) mod topics;
pub(crate) mod ui;

pub use exit::{Exit, Failure};
#[cfg(feature = "mount")]
#[doc(hidden)]
pub use options::mount_plan::{PlannedMount, plan_mount};
#[cfg(feature = "mount")]
pub use options::option_table::{MOUNT_OPTIONS, MountOption};
pub use run::main;
