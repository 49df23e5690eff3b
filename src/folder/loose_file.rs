//! A loose file that was open when a reload replaced it, so that its readers can read on.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::error::FileFault;
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

    /// The device of the file (`st_dev`).
    pub fn device(&self) -> u64 {
        self.device
    }

    /// Reads `len` bytes from `offset` on, or fewer at the end of the file.
    ///
    /// # Errors
    /// [`FileFault::Changed`] if the file was written to, even if the read succeeded.
    pub fn read_at(&self, offset: u64, len: u32) -> Result<Vec<u8>, FileFault> {
        let end = self.known.size.min(offset.saturating_add(u64::from(len)));
        let mut bytes = vec![0; usize::try_from(end.saturating_sub(offset)).unwrap_or(0)];
        let read = self.file.read_exact_at(&mut bytes, offset);
        let now = FileStat::of(&rustix::fs::fstat(&self.file)?);
        if !now.is_same_file(&self.known) {
            return Err(FileFault::Changed);
        }
        read.map_err(FileFault::Io)?;
        Ok(bytes)
    }
}
