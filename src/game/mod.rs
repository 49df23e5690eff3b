//! Which archives and folders a game loads, in which order, and why.
//!
//! A plan is made of texts, names and times; it opens no archive. The rules of each game are a row of [`TITLES`]; what is
//! read from the disk for them is read through [`small_file`] and [`caseless`].

mod archive_version;
pub mod caseless;
mod environment;
pub mod find;
mod fuse_mount;
mod installation;
mod looked;
mod managers;
mod note;
mod plan;
mod precedence;
mod settings;
pub mod small_file;
mod storefront;
mod titles;

pub use archive_version::ArchiveVersion;
pub use environment::Environment;
pub use installation::{Installation, Overrides};
pub use looked::{Looked, recorded};
pub use managers::{MO2_INI, instance_of_profile, plan_mo2, plan_openmw};
pub use note::{NoteCode, PlanNote};
pub use plan::{Header, LayerKind, LoadOrder, OrderLayer, PlanError, Shown, plan_game};
pub use precedence::{ArchiveRule, Confidence, LooseRule, Precedence};
// For tests and fuzz targets.
#[doc(hidden)]
pub use settings::{Cfg, Places, QSettings, visit_vdf, visit_yaml};
pub use settings::{Ini, IniFiles, OPENMW_CFG};
pub use storefront::{StoreNames, Storefront};
pub use titles::{
    ActiveRule, AttachRule, Identity, IniFile, IniPlace, IniRole, IniRules, ListRules, LooseSetting,
    MasterRule, OrderRule, PluginRules, TITLES, TestFiles, Title, title,
};
