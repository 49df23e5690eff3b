//! Files that were written to, until the kernel has dropped their pages or a new view has their size.
//!
//! Until the pages are dropped, the mount shows the attributes that the file had before. If the kernel got
//! the new size first, it would keep the last page of the old size, whose rest it has filled with zeros, and
//! `tail -f` would print them.
//!
//! A file that was cut off has its new size at once. If the kernel got the old size again, it would fill the
//! file with zeros up to it.

use std::collections::HashMap;
use std::sync::{Arc, RwLockWriteGuard};

use crate::fs::attr::{Attr, Validity};
use crate::system::sync::RwLock;
use crate::tree::Ino;

/// The files, by inode number.
#[derive(Debug, Default)]
pub(crate) struct WrittenFiles(RwLock<Table>);

/// The attributes of a file that are shown until the kernel has dropped its pages.
#[derive(Debug)]
#[must_use]
pub(crate) struct HeldAttr {
    files: Arc<WrittenFiles>,
    pub(crate) ino: Ino,
}

impl Drop for HeldAttr {
    fn drop(&mut self) {
        let mut table = self.files.write();
        if let Some(file) = table.files.get_mut(&self.ino) {
            file.invalidations = file.invalidations.saturating_sub(1);
        }
        table.drop_unused();
    }
}

#[derive(Debug, Default)]
struct Table {
    files: HashMap<Ino, Written>,
    /// Number of reloads that have begun.
    reloads: u64,
}

#[derive(Debug)]
struct Written {
    /// The attributes to show.
    attr: Attr,
    /// Number of invalidations under way.
    invalidations: usize,
    /// The number of reloads that had begun when the file was found to be cut off.
    cut: Option<u64>,
}

impl WrittenFiles {
    /// Shows these attributes of a file, which the kernel may have, until the result is dropped.
    pub(crate) fn hold(self: &Arc<Self>, attr: Attr) -> HeldAttr {
        self.write().entry(attr).invalidations += 1;
        HeldAttr { files: self.clone(), ino: attr.ino }
    }

    /// Records that a file with these attributes ends at `size`. Returns false if that was known. The size is
    /// shown until the end of the next reload that begins.
    pub(crate) fn cut(&self, attr: Attr, size: u64) -> bool {
        if size >= attr.size {
            return false;
        }
        let mut table = self.write();
        let reloads = table.reloads;
        let file = table.entry(attr);
        file.cut = Some(reloads);
        let is_new = size < file.attr.size;
        file.attr.size = size.min(file.attr.size);
        is_new
    }

    /// Records that a reload begins, which will notice what was cut off until now.
    pub(crate) fn begin_reload(&self) {
        self.write().reloads += 1;
    }

    /// Records that the last reload ended, however it ended.
    pub(crate) fn end_reload(&self) {
        let mut table = self.write();
        let Table { files, reloads } = &mut *table;
        for file in files.values_mut() {
            file.cut = file.cut.filter(|cut| cut >= reloads);
        }
        table.drop_unused();
    }

    /// Whether the kernel is about to drop the pages of a file. Until then, the earlier attributes are shown.
    pub(crate) fn is_held(&self, ino: Ino) -> bool {
        self.0.read().files.get(&ino).is_some_and(|file| file.invalidations > 0)
    }

    /// The attributes to show for a file; `None` for all but a few files.
    pub(crate) fn attr(&self, ino: Ino) -> Option<Attr> {
        let table = self.0.read();
        table.files.get(&ino).map(|file| file.attr)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.0.write()
    }
}

impl Table {
    fn entry(&mut self, attr: Attr) -> &mut Written {
        let attr = Attr { validity: Validity::None, ..attr };
        self.files.entry(attr.ino).or_insert(Written { attr, invalidations: 0, cut: None })
    }

    fn drop_unused(&mut self) {
        self.files.retain(|_, file| file.invalidations > 0 || file.cut.is_some());
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::fs::attr::NodeKind;

    #[test]
    fn a_file_that_was_cut_off_during_a_reload_stays_short_until_the_next_one_ends() {
        let files = Arc::new(WrittenFiles::default());
        let attr = |size| Attr {
            ino: Ino(7),
            kind: NodeKind::File,
            size,
            modified: SystemTime::UNIX_EPOCH,
            validity: Validity::Lasting,
        };
        let size = || files.attr(Ino(7)).map(|attr| attr.size);
        assert!(files.cut(attr(100), 50) && !files.cut(attr(50), 50) && !files.cut(attr(100), 60));
        files.begin_reload();
        assert!(files.cut(attr(50), 20));
        // The reload found the write, and the kernel drops the pages.
        let held = files.hold(attr(20));
        files.end_reload();
        drop(held);
        assert_eq!(size(), Some(20), "the size before the last cut was shown again");
        files.begin_reload();
        files.end_reload();
        assert_eq!(size(), None);
    }
}
