//! Arguments and mount options that commands share.

#[cfg(feature = "mount")]
pub(crate) mod mount_options;
#[cfg(feature = "mount")]
pub(crate) mod mount_plan;
pub(crate) mod named_sources;
pub(crate) mod open_args;
#[cfg(feature = "mount")]
pub(crate) mod option_table;
#[cfg(feature = "mount")]
pub(crate) mod saved_profile;
pub(crate) mod selection;
#[cfg(feature = "mount")]
pub(crate) mod unmounted;
mod value_names;
