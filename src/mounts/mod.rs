//! All mounts of bsafs on this machine: their status (`status.rs`), whether a daemon answers
//! (`answering.rs`), their changes (`watching.rs`), which process serves one (`serving.rs`), and which
//! processes use it (`holders.rs`).

pub(crate) mod answering;
pub(crate) mod error;
pub(crate) mod holders;
pub(crate) mod serving;
pub(crate) mod status;
pub(crate) mod watching;
