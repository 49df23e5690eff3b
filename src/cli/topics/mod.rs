//! The topics of `bsafs help TOPIC`. Each is one Markdown text, which is also the manual page
//! `bsafs-TOPIC(7)`.

pub(crate) mod topic;
