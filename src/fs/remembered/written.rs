//! Files that were written to, until the kernel has dropped their pages or a new view has their size.
//!
//! While the pages are dropped, answers with the size wait. If the kernel got a larger size first, it would
//! keep the last page of the old size, whose rest it has filled with zeros, and `tail -f` would print them.
//! If it got a smaller size, it would fill the rest of a page with zeros that is new already, and keep it. An
//! answer that cannot wait has the smaller of both sizes.
//!
//! A READ that ends early tells the kernel the size, but not if another size came since it was sent. The
//! kernel then fills the page with zeros up to the size that it has. So such a READ fails while pages are
//! dropped, and the program reads again. Whatever is read after that was sent later.

use std::collections::HashMap;
use std::sync::{Arc, RwLockReadGuard};
use std::thread;
use std::time::{Duration, Instant};

use crate::fs::attr::{Attr, Validity};
use crate::system::sync::RwLock;
use crate::tree::Ino;

/// After this time, no program has a file open without having asked for its size again. If one has, a READ
/// may at worst end in zeros while the file is saved once more.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// How long the kernel may take to remove what is behind the new end of a file that was cut off.
const TRUNCATION: Duration = Duration::from_millis(30);

/// The files, by inode number.
#[derive(Debug, Default)]
pub(crate) struct WrittenFiles {
    table: RwLock<Writes>,
    /// Locked while the reply to a READ that ends early is decided and sent.
    replies: RwLock<()>,
}

/// A file whose pages the kernel drops. Dropped when it has done so.
#[derive(Debug)]
#[must_use]
pub(crate) struct HeldAttr {
    files: Arc<WrittenFiles>,
    pub(crate) ino: Ino,
}

impl HeldAttr {
    /// Waits until no READ is being answered that was decided before this. If the file was cut off and has
    /// grown, also waits until the kernel should be done with the smaller size: it changes the size first and
    /// removes the bytes behind it later, without a lock. By then it may have read them anew.
    pub(crate) fn wait_for_replies(&self) {
        let mut table = self.files.table.write();
        let file = table.files.get_mut(&self.ino).filter(|file| file.next.size > file.attr.size);
        let was_cut = file.is_some_and(|file| std::mem::take(&mut file.was_cut));
        drop(table);
        if was_cut {
            thread::sleep(TRUNCATION);
        }
        drop(self.files.replies.write());
    }

    /// Whether the kernel may have a larger size than the file.
    pub(crate) fn is_cut(&self) -> bool {
        self.files.table.read().files.get(&self.ino).is_some_and(|file| file.told > file.next.size)
    }
}

impl Drop for HeldAttr {
    fn drop(&mut self) {
        let mut table = self.files.table.write();
        let Some(file) = table.files.get_mut(&self.ino) else { return };
        file.drops = file.drops.saturating_sub(1);
        if file.drops == 0 {
            file.attr = file.next;
        }
        if file.is_unused() {
            table.remove(self.ino);
        }
    }
}

#[derive(Debug, Default)]
struct Writes {
    files: HashMap<Ino, WrittenFile>,
    /// Files that were cut off and left `files` after that: the size that the kernel may have until a program
    /// asks for it, and since when.
    larger: HashMap<Ino, (u64, Instant)>,
    /// Number of reloads that have begun.
    reloads: u64,
}

#[derive(Debug)]
struct WrittenFile {
    /// The attributes to show.
    attr: Attr,
    /// Those to show when the pages are dropped.
    next: Attr,
    /// The largest size that the kernel may have.
    told: u64,
    /// Whether a smaller size was shown, and no pages were dropped a moment later.
    was_cut: bool,
    /// How often the pages are to be dropped.
    drops: usize,
    /// The number of reloads that had begun when the write was noticed. `None` if the view has its size.
    noticed: Option<u64>,
}

impl WrittenFiles {
    /// Records that the kernel is about to drop the pages of a file, until the result is dropped. The view
    /// that comes knows that the file was written to.
    pub(crate) fn hold(self: &Arc<Self>, then: Attr, now: Attr) -> HeldAttr {
        let mut table = self.table.write();
        let reloads = table.reloads;
        let file = table.entry(then);
        // What was noticed since the reload began is newer.
        if file.noticed.is_none_or(|noticed| noticed < reloads) {
            file.set_next(now);
        }
        file.drops += 1;
        HeldAttr { files: self.clone(), ino: then.ino }
    }

    /// Like [`WrittenFiles::hold`], before the view knows. The new attributes are shown until the end of the
    /// next reload that begins.
    pub(crate) fn follow(self: &Arc<Self>, then: Attr, now: Attr) -> HeldAttr {
        let mut table = self.table.write();
        let reloads = table.reloads;
        let file = table.entry(then);
        // Several threads stat the file. The last one to come here need not be the last to stat.
        if now.modified >= file.next.modified {
            file.set_next(now);
        }
        file.noticed = Some(reloads);
        file.drops += 1;
        HeldAttr { files: self.clone(), ino: then.ino }
    }

    /// Records that a reload begins, which will notice all writes until now.
    pub(crate) fn begin_reload(&self) {
        self.table.write().reloads += 1;
    }

    /// Records that the last reload ended, however it ended.
    pub(crate) fn end_reload(&self) {
        let mut table = self.table.write();
        let Writes { files, reloads, .. } = &mut *table;
        for file in files.values_mut() {
            file.noticed = file.noticed.filter(|noticed| noticed >= reloads);
        }
        let unused = files.iter().filter(|(_, file)| file.is_unused());
        let unused: Vec<Ino> = unused.map(|(ino, _)| *ino).collect();
        for ino in unused {
            table.remove(ino);
        }
        table.larger.retain(|_, (_, since)| since.elapsed() < FORGOTTEN);
    }

    /// What a reload will show no longer that began now: the attributes of files when a write was noticed.
    pub(crate) fn noticed(&self) -> Vec<Attr> {
        let table = self.table.read();
        let is_noticed = |file: &&WrittenFile| file.noticed.is_some_and(|noticed| noticed < table.reloads);
        table.files.values().filter(is_noticed).map(|file| file.next).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.table.read().files.is_empty()
    }

    /// Whether the kernel is about to drop the pages of a file.
    pub(crate) fn is_held(&self, ino: Ino) -> bool {
        self.table.read().files.get(&ino).is_some_and(|file| file.drops > 0)
    }

    /// Whether that will change the size that is shown, or that the kernel may have.
    pub(crate) fn is_size_held(&self, ino: Ino) -> bool {
        let is_size = |file: &WrittenFile| file.drops > 0 && file.told != file.next.size;
        self.table.read().files.get(&ino).is_some_and(is_size)
    }

    /// Whether the kernel may fill a page with zeros if a READ ends at `end`. The answer stays true until the
    /// second value is dropped.
    pub(crate) fn is_filled(&self, ino: Ino, end: u64) -> (bool, RwLockReadGuard<'_, ()>) {
        let replying = self.replies.read();
        let is_filled = |file: &WrittenFile| match file.drops {
            0 => end < file.attr.size,
            _ => end < file.told.max(file.next.size),
        };
        (self.table.read().files.get(&ino).is_some_and(is_filled), replying)
    }

    /// The attributes to show for a file; `None` for all but a few files.
    pub(crate) fn attr(&self, ino: Ino) -> Option<Attr> {
        self.table.read().files.get(&ino).map(|file| file.attr)
    }

    /// The attributes that a file had when a write was noticed last; `None` for all but a few files.
    pub(crate) fn newest(&self, ino: Ino) -> Option<Attr> {
        self.table.read().files.get(&ino).map(|file| file.next)
    }
}

impl WrittenFile {
    fn set_next(&mut self, now: Attr) {
        self.was_cut |= now.size < self.next.size;
        self.next = Attr { validity: Validity::None, ..now };
        self.attr.size = self.attr.size.min(now.size);
    }

    fn is_unused(&self) -> bool {
        self.drops == 0 && self.noticed.is_none()
    }
}

impl Writes {
    fn entry(&mut self, then: Attr) -> &mut WrittenFile {
        let attr = Attr { validity: Validity::None, ..then };
        let new = WrittenFile { attr, next: attr, told: 0, was_cut: false, drops: 0, noticed: None };
        let file = self.files.entry(attr.ino).or_insert(new);
        let larger = self.larger.remove(&attr.ino).map(|(size, _)| size);
        file.was_cut |= larger.is_some();
        file.told = then.size.max(file.told).max(larger.unwrap_or(0));
        file
    }

    fn remove(&mut self, ino: Ino) {
        if let Some(file) = self.files.remove(&ino)
            && file.told > file.next.size
        {
            self.larger.insert(ino, (file.told, Instant::now()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::attr::NodeKind;
    use std::time::SystemTime;

    fn attr(size: u64) -> Attr {
        let modified = SystemTime::UNIX_EPOCH;
        Attr { ino: Ino(7), kind: NodeKind::File, size, modified, validity: Validity::Lasting }
    }

    #[test]
    fn a_write_during_a_reload_stays_shown_until_the_next_one_ends() {
        let files = Arc::new(WrittenFiles::default());
        let size = || files.attr(Ino(7)).map(|attr| attr.size);
        drop(files.follow(attr(100), attr(50)));
        files.begin_reload();
        drop(files.follow(attr(50), attr(20)));
        // The reload found the write before, and the kernel drops the pages.
        let held = files.hold(attr(20), attr(50));
        files.end_reload();
        drop(held);
        assert_eq!(size(), Some(20), "the size before the last cut was shown again");
        files.begin_reload();
        files.end_reload();
        assert_eq!(size(), None);
    }

    #[test]
    fn while_pages_are_dropped_the_smaller_size_is_shown_and_no_read_may_end_before_the_larger() {
        let files = Arc::new(WrittenFiles::default());
        let size = || files.attr(Ino(7)).map(|attr| attr.size);
        let is_filled = |end| files.is_filled(Ino(7), end).0;
        assert!(!is_filled(0));
        let first = files.follow(attr(100), attr(60));
        let second = files.follow(attr(60), attr(80));
        assert_eq!(size(), Some(60));
        assert!(is_filled(80) && !is_filled(100) && files.is_size_held(Ino(7)));
        drop(first);
        assert_eq!(size(), Some(60), "a page of the old end may be left");
        drop(second);
        assert_eq!(size(), Some(80), "the file is cut off until the reload");
        assert!(!is_filled(80) && !files.is_held(Ino(7)));
        files.begin_reload();
        files.end_reload();
        // A FUSE disk states the new size first, and a moment later its READs still end at the old one.
        let grows = files.follow(attr(80), attr(90));
        assert!(is_filled(80));
        drop(grows);
        assert!(is_filled(80) && !is_filled(90));
        drop(files.follow(attr(90), attr(80)));
        files.begin_reload();
        files.end_reload();
        // A program that has it open did not ask for the size yet.
        let _held = files.hold(attr(80), attr(80));
        assert!(is_filled(80) && !is_filled(100));
    }
}
