//! Mod managers, and OpenMW, which replace or extend a game's own files.

mod deployment;
mod instances;
mod mo2;
mod openmw;

pub(crate) use deployment::{Deployed, DeploymentList, Deployments, linked_mod};
pub use instances::{FoundInstance, InstanceName, find_instances, instance, instance_names};
pub use mo2::{MO2_INI, instance_of_profile, plan_mo2};
pub(crate) use mo2::{drive_root, game_of_settings, is_backup, is_separator, selected_profile};
pub use openmw::plan_openmw;
