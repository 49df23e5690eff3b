//! An archive file on disk: its identity, positioned reads that detect a change of the file, and the bytes of its tables.

#[expect(clippy::module_inception, reason = "a type lives in a file that bears its name")]
mod archive_file;
mod fault; // why a read failed
mod pieces; // what a parser needs of the file
mod stat; // what fstat reports, and when that is another file

pub use archive_file::ArchiveFile;
pub use fault::Fault;
pub use stat::COARSEST_TICK;
