//! Parsers for settings and lists of games, mod managers and launchers.

pub(crate) mod binary_vdf;
pub(crate) mod ini;
pub(crate) mod openmw_cfg;
pub(crate) mod qsettings;
pub(crate) mod settings_text;
pub(crate) mod vdf;
pub(crate) mod yaml;

pub use binary_vdf::{BinaryValue, visit_values as visit_binary_vdf};
pub(crate) use ini::list as ini_list;
pub use ini::{Ini, IniFiles};
pub use openmw_cfg::{Cfg, OPENMW_CFG, OpenmwFolders};
pub use qsettings::QSettings;
pub(crate) use settings_text::decode_ini;
pub use vdf::visit_values as visit_vdf;
pub use yaml::visit_values as visit_yaml;
