//! A loose file that was open when a reload replaced it, so that its readers can read on.

use std::fs::File;
use std::io;
use std::sync::Arc;

use super::descriptor::{read_full, stat_of};
use super::file_state::FileStat;

/// An open file with the state that it had.
#[derive(Debug)]
pub struct LooseFile {
    pub(super) file: Arc<File>,
    pub(super) known: FileStat,
    /// `st_dev`.
    pub(super) device: u64,
}

impl LooseFile {
    /// The state that the file had when it was first statted.
    pub fn stat(&self) -> FileStat {
        self.known
    }

    /// The state of the file as it is now.
    pub fn stat_now(&self) -> Option<FileStat> {
        stat_of(&self.file).ok().map(|stat| FileStat::of(&stat))
    }

    /// The device of the file (`st_dev`).
    pub fn device(&self) -> u64 {
        self.device
    }

    /// Reads from `offset` on, as the file is now. Returns the number of bytes: fewer than the buffer has
    /// only at the end of the file.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        read_full(&self.file, buffer, offset)
    }
}
