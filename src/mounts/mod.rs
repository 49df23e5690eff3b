//! All mounts of bsafs on this machine: their status, their changes, and which processes use them.

pub(crate) mod error;
pub(crate) mod holders;
pub(crate) mod serving;
pub(crate) mod status;
pub(crate) mod watching;
