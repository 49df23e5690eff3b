//! Settings files of games and launchers, well-formed and damaged.

mod binary_vdf;
mod ini;
mod openmw_cfg;
mod qsettings;
mod vdf;
mod yaml;
