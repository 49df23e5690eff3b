//! Files that were written to, until the kernel has dropped their pages.
//!
//! Until then, the mount shows the attributes that the file had before. If the kernel got the new size
//! first, it would keep the last page of the old size, whose rest it has filled with zeros, and `tail -f`
//! would print them.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use super::attr::Attr;

/// The attributes to show, by inode number, each with the number of invalidations under way.
#[derive(Debug, Default)]
pub(crate) struct WrittenFiles(RwLock<HashMap<u64, (Attr, usize)>>);

impl WrittenFiles {
    /// Adds a file with the attributes that the kernel may have. It stays until a call of
    /// [`WrittenFiles::remove`] for each addition.
    pub(crate) fn add(&self, attr: Attr) {
        let mut files = self.0.write().unwrap_or_else(PoisonError::into_inner);
        files.entry(attr.ino).or_insert((Attr { is_lasting: false, ..attr }, 0)).1 += 1;
    }

    /// Records that the kernel has dropped the pages of a file once more.
    pub(crate) fn remove(&self, ino: u64) {
        let mut files = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, invalidations)) = files.get_mut(&ino) {
            *invalidations -= 1;
            if *invalidations == 0 {
                files.remove(&ino);
            }
        }
    }

    /// The attributes to show for a file; `None` for all but a few files.
    pub(crate) fn attr(&self, ino: u64) -> Option<Attr> {
        let files = self.0.read().unwrap_or_else(PoisonError::into_inner);
        files.get(&ino).map(|(attr, _)| *attr)
    }
}
