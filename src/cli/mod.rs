//! The command line: arguments, commands, exit codes.

pub(crate) mod command;
mod completion;
mod desktop;
pub(crate) mod exit;
mod inquiry;
mod opener;
pub(crate) mod options;
mod page;
mod run;
pub(crate) mod surroundings;
pub(crate) mod terminal;
pub(crate) mod topics;
pub(crate) mod ui;

#[doc(hidden)]
pub use command::mount::mount::{PlannedMount, plan_mount};
pub use exit::{Exit, Failure};
pub use options::option_table::{MOUNT_OPTIONS, MountOption};
pub use run::main;
