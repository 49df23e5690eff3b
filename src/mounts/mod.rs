//! All mounts of bsafs on this machine: their status, and which processes use them.

pub(crate) mod error;
pub(crate) mod holders;
pub(crate) mod serving;
pub(crate) mod status;
