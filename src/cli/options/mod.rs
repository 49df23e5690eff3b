//! Arguments and mount options that commands share.

pub(crate) mod mount_as_source;
pub(crate) mod named_sources;
pub(crate) mod option_table;
pub(crate) mod saved_profile;
pub(crate) mod selection;
mod value_names;
