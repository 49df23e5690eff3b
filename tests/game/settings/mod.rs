//! Files of settings, of games and of launchers: what is read of correct ones and of damaged ones.

mod ini;
mod openmw_cfg;
mod qsettings;
mod vdf;
mod yaml;
