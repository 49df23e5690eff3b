//! All mounts of bsafs on this machine: their status (`mount_status.rs`), whether a daemon answers
//! (`mount_status.rs`), their changes (`following.rs`), and which process serves one (`serving.rs`). Which
//! processes use one: `system/holders.rs`.

pub(crate) mod following;
pub(crate) mod mount_status;
pub(crate) mod serving;
