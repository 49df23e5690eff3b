//! Every command, a file each, and what they share: arguments, opening of archives, exit codes, logging.

mod args;
mod cache_size;
mod cat;
mod completions;
mod daemon;
mod dictionary;
mod exit;
mod extract;
mod folder_name;
mod games;
mod info;
mod layer_plan;
mod list;
mod log_thread;
mod logging;
mod loose_notes;
mod made_folder;
mod man;
mod mount;
mod mount_options;
mod mount_plan;
mod mountpoint;
mod named_folder;
mod names;
mod open;
mod open_args;
mod order;
mod output;
mod output_folder;
mod parallel;
mod privileges;
mod profile;
mod progress;
mod run;
mod selection;
mod source_args;
mod sources;
mod status;
mod umount;
mod verify;
mod which;

pub use exit::{Exit, Failure};
pub use mount_options::{MOUNT_OPTIONS, MountOption};
#[doc(hidden)]
pub use mount_plan::{PlannedMount, plan_mount};
pub use run::main;
