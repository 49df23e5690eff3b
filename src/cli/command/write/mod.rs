//! Write: files and archives that commands make.

pub(crate) mod extract;
pub(crate) mod pack;
