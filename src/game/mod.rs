//! Which archives and folders a game loads, in which order, and why.
//!
//! A plan is made of texts, names and times; it opens no archive. The rules of each game are a row of [`TITLES`]; what is
//! read from the disk for them is read through [`small_file`] and [`caseless`].

mod active;
mod archive_version;
mod archives;
mod attach;
pub mod caseless;
mod data;
mod disk;
mod environment;
pub mod find;
mod fuse_mount;
mod ini;
mod installation;
mod invalidation;
mod language;
mod listed_path;
mod looked;
mod loose;
mod mo2;
mod note;
mod openmw;
mod openmw_cfg;
mod openmw_chain;
mod order;
mod plan;
mod plan_game;
mod plugin;
mod plugin_order;
mod precedence;
mod qsettings;
mod ranks;
pub mod small_file;
mod store;
mod text;
mod title;
mod titles;

pub use archive_version::ArchiveVersion;
pub use environment::Environment;
pub use ini::{Ini, IniFiles};
pub use installation::{Installation, Overrides};
pub use looked::{Looked, recorded};
pub use mo2::{MO2_INI, instance_of_profile, plan_mo2};
pub use note::{Note, NoteCode};
pub use openmw::plan_openmw;
pub use openmw_cfg::OPENMW_CFG;
// For tests and fuzz targets.
#[doc(hidden)]
pub use openmw_cfg::{Cfg, Places};
pub use order::{LayerKind, LoadOrder, PlanError, PlannedLayer, Shown};
pub use plan_game::plan_game;
pub use plugin::Header;
pub use precedence::{ArchiveRule, Confidence, LooseRule, Precedence};
#[doc(hidden)]
pub use qsettings::Settings;
pub use store::{Store, StoreNames};
pub use title::{
    ActiveRule, AttachRule, Identity, IniFile, IniPlace, IniRole, IniRules, ListRules, LooseSetting,
    MasterRule, OrderRule, PluginRules, TestFiles, Title,
};
pub use titles::{TITLES, title};
