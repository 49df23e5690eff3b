//! Which archives and folders a game loads, in which order, and why.
//!
//! A plan uses texts, names, times, plugin headers, and only the version of an archive. Each game's rules are
//! a row of [`TITLES`]. Files are read through a [`Disk`], which records what a plan depends on.
//!
//! | question | file or folder |
//! |---|---|
//! | what does a source load that is not an archive or a folder of loose files? | `load_order.rs`, the door |
//! | where are games installed? | `find` |
//! | how does each game load archives? | a row in `titles` |
//! | what does an installed game load? | `plan` |
//! | what do Mod Organizer 2 and OpenMW load? | `managers` |
//! | how are INI files and lists of launchers read? | `settings` |
//! | which layer wins a path? | `precedence.rs` |
//! | which version of a format does a game read? | `archive_version.rs` |
//! | where are a user's files? | `installation.rs`, `storefront.rs` |
//! | how are names compared as in Windows? | `caseless.rs` |
//! | what did a plan read? | `disk.rs` |

mod archive_version;
pub mod caseless;
mod disk;
pub mod find;
mod installation;
mod load_order;
mod managers;
mod plan;
mod precedence;
mod settings;
mod storefront;
mod titles;

pub use archive_version::ArchiveVersion;
pub use disk::{Disk, ReadSet};
pub use installation::{Environment, Installation, Overrides, WinePrefix};
pub(crate) use load_order::{LoadOrders, looked_in, place_of_instance};
pub(crate) use managers::{
    Deployed, DeploymentList, Deployments, drive_root, is_backup, is_separator, linked_mod, selected_profile,
};
pub use managers::{
    FoundInstance, InstanceName, MO2_INI, find_instances, instance, instance_names, instance_of_profile,
    plan_mo2, plan_openmw,
};
pub use plan::{FolderFilter, Header, LayerKind, LoadOrder, ModList, OrderLayer, PlanError, plan_game};
pub(crate) use plan::{
    ONLY_BELOW, ReadList, almost_folder, common_rank, ghosted, is_known_folder, unread_folder,
    why_not_attached,
};
pub(crate) use plan::{lowest_first, stem};
pub use precedence::{ArchiveRule, Confidence, LooseRule, Precedence};
#[doc(hidden)]
pub use settings::{BinaryValue, Cfg, OpenmwFolders, QSettings, visit_binary_vdf, visit_vdf, visit_yaml};
pub use settings::{Ini, IniFiles, OPENMW_CFG};
pub(crate) use settings::{decode_ini, ini_list};
pub use storefront::{StoreNames, Storefront};
pub(crate) use titles::is_data_folder;
pub use titles::{
    ActiveRule, AttachRule, DummyPlugin, ExtenderPlugin, Identity, IniFile, IniPlace, IniRole, IniRules,
    ListRules, Loads, LooseSetting, MasterRule, NewerArchives, NextName, OrderRule, PackRules, PluginRules,
    TITLES, TestFiles, Title, title,
};

// For tests and fuzz targets.
