//! Files that have left the view but that the kernel may still reference. A program that has one
//! open can read it to its end.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, MutexGuard};
use std::time::SystemTime;

use crate::content::{LooseFile, Store};
use crate::folder::FileStat;
use crate::format::EntryId;
use crate::fs::attr::{Attr, NodeKind, Validity};
use crate::limits::{RETIRED_ARCHIVES_MAX, RETIRED_FILES_MAX};
use crate::system::asleep;
use crate::system::sync::Mutex;
use crate::tree::Ino;

/// How long the kernel may cache the attributes of a loose file here: no event reports a write to it.
const LOOSE_VALIDITY: Validity = Validity::Seconds(1);

/// Retired files by inode number.
#[derive(Debug, Default)]
pub(crate) struct Retired(Mutex<RetiredTable>);

#[derive(Debug, Default)]
struct RetiredTable {
    files: HashMap<Ino, RetiredFile>,
    /// Inode number of an archive's entry: the inverse of `files`.
    held: HashMap<(u32, u32), Ino>,
    /// Inode numbers of loose files, oldest first. They are bounded, because an inode that was
    /// already forgotten gets no second FORGET.
    loose: VecDeque<Ino>,
    /// Archives of the retired files, by source number, oldest first.
    sources: VecDeque<(u32, Arc<Store>)>,
}

#[derive(Clone, Debug)]
enum RetiredFile {
    Entry { source: u32, entry: u32 },
    Loose(Arc<LooseFile>, SentAttr),
}

/// The size and mtime of a loose file that the kernel was sent last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SentAttr {
    size: u64,
    modified: SystemTime,
}

/// Where to read a retired file.
#[derive(Debug)]
pub(crate) enum RetiredBytes {
    Entry(Arc<Store>, EntryId),
    Loose(Arc<LooseFile>),
}

impl Retired {
    /// Keeps a file of a view that is about to be replaced, if the kernel may reference it and its
    /// bytes are still readable. `shown` has the attributes that the kernel may have. Returns whether it is a
    /// loose file, to which a program may still write.
    pub(crate) fn add(&self, ino: Ino, store: &Store, id: EntryId, shown: Option<Attr>) -> bool {
        let file = store.file(id);
        let Some(source) = file.archive_number() else {
            let Some(open) = file.open_loose() else { return false };
            let known = open.stat();
            let told =
                shown.map_or(SentAttr::of(&known), |it| SentAttr { size: it.size, modified: it.modified });
            self.table().add_loose(ino, open, told);
            return true;
        };
        if file.count_lookups(0) <= 0 {
            return false;
        }
        let mut table = self.table();
        if !table.sources.iter().any(|(number, _)| *number == source) {
            table.sources.push_back((source, Arc::new(store.only(id.layer))));
        }
        table.held.insert((source, id.entry), ino);
        table.files.insert(ino, RetiredFile::Entry { source, entry: id.entry });
        false
    }

    /// Inode number of a retired entry.
    pub(crate) fn held(&self, source: u32, entry: u32) -> Option<Ino> {
        self.table().held.get(&(source, entry)).copied()
    }

    /// Drops files that are in the view again, archives that the kernel forgot, and archives beyond the
    /// limit. `is_shown` says whether the view has an inode number, `is_served` whether it has an archive.
    pub(crate) fn prune(&self, is_shown: impl Fn(Ino) -> bool, is_served: impl Fn(u32) -> bool) {
        let mut table = self.table();
        let shown: Vec<Ino> = table.files.keys().copied().filter(|&ino| is_shown(ino)).collect();
        for ino in shown {
            table.remove(ino);
        }
        let mut unserved = table.sources.iter().filter(|(source, _)| !is_served(*source)).count();
        let mut closed = Vec::new();
        for (source, store) in &table.sources {
            let is_forgotten = lookups(store) <= 0;
            if is_forgotten || (unserved > RETIRED_ARCHIVES_MAX && !is_served(*source)) {
                unserved -= usize::from(!is_served(*source));
                closed.push(*source);
            }
        }
        for source in closed {
            table.close(source);
        }
    }

    /// FORGET of an inode number that is not in the view.
    pub(crate) fn forget(&self, ino: Ino, less: i64) {
        let mut table = self.table();
        let Some(file) = table.files.get(&ino).cloned() else { return };
        table.remove(ino);
        if let RetiredFile::Entry { source, entry } = file
            && let Some((_, store)) = table.sources.iter().find(|(number, _)| *number == source)
            && store.file(EntryId { layer: 0, entry }).count_lookups(less) <= 0
        {
            table.close(source);
        }
    }

    /// Attributes of a retired file.
    pub(crate) fn attr(&self, ino: Ino) -> Option<Attr> {
        let told = match self.table().files.get(&ino)? {
            RetiredFile::Loose(_, told) => Some(*told),
            RetiredFile::Entry { .. } => None,
        };
        let (size, modified, validity) = match (self.get(ino)?, told) {
            (RetiredBytes::Entry(store, id), _) => {
                let file = store.file(id);
                (
                    file.size_if_known().unwrap_or_else(|| file.estimated_size()),
                    file.modified(),
                    Validity::Lasting,
                )
            }
            (RetiredBytes::Loose(_), Some(told)) => (told.size, told.modified, LOOSE_VALIDITY),
            (RetiredBytes::Loose(_), None) => return None,
        };
        Some(Attr { ino, kind: NodeKind::File, size, modified, validity })
    }

    /// Asks the descriptor of a retired loose file. If the file was written to since the kernel was sent its
    /// attributes, returns these; from now on, the new ones are sent.
    pub(crate) fn written(&self, ino: Ino) -> Option<Attr> {
        let then = self.attr(ino)?;
        let RetiredBytes::Loose(file) = self.get(ino)? else { return None };
        if asleep::is_device(file.device()) {
            return None;
        }
        // The disk is asked without the lock.
        let now = SentAttr::of(&file.stat_now()?);
        match self.table().files.get_mut(&ino)? {
            RetiredFile::Loose(_, told) if *told != now => *told = now,
            _ => return None,
        }
        Some(then)
    }

    /// The bytes of a retired file; `None` if the inode number is unknown or its archive was dropped.
    pub(crate) fn get(&self, ino: Ino) -> Option<RetiredBytes> {
        let table = self.table();
        Some(match table.files.get(&ino)? {
            RetiredFile::Entry { source, entry } => {
                let (_, store) = table.sources.iter().find(|(number, _)| number == source)?;
                RetiredBytes::Entry(store.clone(), EntryId { layer: 0, entry: *entry })
            }
            RetiredFile::Loose(file, _) => RetiredBytes::Loose(file.clone()),
        })
    }

    fn table(&self) -> MutexGuard<'_, RetiredTable> {
        self.0.lock()
    }
}

impl SentAttr {
    fn of(stat: &FileStat) -> Self {
        Self { size: stat.size, modified: stat.modified() }
    }
}

impl RetiredTable {
    fn add_loose(&mut self, ino: Ino, file: LooseFile, told: SentAttr) {
        self.files.insert(ino, RetiredFile::Loose(Arc::new(file), told));
        self.loose.push_back(ino);
        if self.loose.len() > RETIRED_FILES_MAX
            && let Some(oldest) = self.loose.pop_front()
        {
            self.files.remove(&oldest);
        }
    }

    fn remove(&mut self, ino: Ino) {
        match self.files.remove(&ino) {
            Some(RetiredFile::Entry { source, entry }) => drop(self.held.remove(&(source, entry))),
            Some(RetiredFile::Loose(..)) => self.loose.retain(|loose| *loose != ino),
            None => {}
        }
    }

    /// Drops an archive and its files.
    fn close(&mut self, source: u32) {
        self.sources.retain(|(number, _)| *number != source);
        self.held.retain(|(of, _), _| *of != source);
        self.files.retain(|_, file| !matches!(file, RetiredFile::Entry { source: of, .. } if *of == source));
    }
}

/// The kernel's references to the files of a store with a single archive.
fn lookups(store: &Store) -> i64 {
    store.file(EntryId { layer: 0, entry: 0 }).count_lookups(0)
}
