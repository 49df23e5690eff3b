//! Plans what an installed game loads: plugins, the archives that belong to them, and which layer wins.
//!
//! [`plan_game::plan_game`] reads the disk. [`layers`] computes the plan from what was read.

pub(crate) mod active;
mod archives;
mod attach;
mod code_page;
pub(crate) mod data;
mod invalidation;
mod language;
mod layers;
mod listed_path;
pub(crate) mod load_order;
pub(crate) mod plan_game;
mod plugin;
mod plugin_order;
mod ranks;
mod unread_ini;

pub use load_order::{FolderFilter, LayerKind, LoadOrder, OrderLayer, PlanError};
pub use plan_game::plan_game;
pub use plugin::Header;
