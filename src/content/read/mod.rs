//! Reads of files as their archive stores them. Each file calls only those below it in this table.
//!
//! | step | file |
//! |---|---|
//! | decode an extent before it is needed; learn sizes of many | `ahead.rs` |
//! | cut a range at the borders of the header and the extents | `plain_file.rs` |
//! | choose how each extent is read, check its size, and decode it | `file_extent.rs` |
//! | read the packed bytes, and find the payload | `file_extent.rs` |
//! | the archive, and what all archives share | `archive_content.rs` |
//! | read an archive ahead whose files are read in no order | `scattered.rs` |
//!
//! `FileBytes` is what a read returns.

mod ahead;
mod archive_content;
mod file_extent;
mod plain_file;
mod scattered;

pub(crate) use ahead::REQUESTED_MAX;
pub(crate) use archive_content::{ArchiveContent, Resources};
pub use file_extent::FileBytes;
pub(crate) use file_extent::{FileExtent, PREFIX_LEN};
pub(crate) use plain_file::{Examined, PlainFile};
