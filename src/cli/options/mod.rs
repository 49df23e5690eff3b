//! Arguments and mount options that commands share.

pub(crate) mod cache_size;
#[cfg(feature = "mount")]
pub(crate) mod mount_options;
#[cfg(feature = "mount")]
pub(crate) mod mount_plan;
#[cfg(feature = "mount")]
pub(crate) mod mount_state;
pub(crate) mod named_sources;
pub(crate) mod open_args;
#[cfg(feature = "mount")]
pub(crate) mod option_table;
pub(crate) mod same_names;
#[cfg(feature = "mount")]
pub(crate) mod saved_profile;
pub(crate) mod selection;
pub(crate) mod source_args;
#[cfg(feature = "mount")]
pub(crate) mod unmounted;
mod value_names;
