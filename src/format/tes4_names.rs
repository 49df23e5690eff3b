//! The table of file names of the TES4 family (FORMATS.md 1.5), and how it is read if it is damaged.

use std::ops::Range;

use super::hash::{Family, Hash};
use super::naming::{Names, TRIALS, proved_beginning, proves};
use crate::note::{NoteCode, Notes};
use crate::read::{Bytes, Reader};

/// Where the file names of an archive may lie.
pub(super) struct Table<'a> {
    pub(super) archive: Bytes<'a>,
    pub(super) family: Family,
    /// How many files there are.
    pub(super) count: usize,
    /// The length that the header states, in bytes.
    pub(super) len: u32,
    /// Where the first data after the folders begins.
    pub(super) data: u64,
}

/// The names of files, and what was found about their table.
pub(super) struct FoundNames<'a> {
    pub(super) names: Names<'a>,
    /// Where the table lies.
    pub(super) range: Range<u64>,
    /// Whether the table has the length that the header states, and enough names.
    is_whole: bool,
    /// How many names are not where they should be in the table.
    displaced: u32,
    /// How many files have no name.
    pub(super) unnamed: usize,
    /// Whether the archive ends before the stated end of the table.
    is_cut: bool,
    /// Whether all names are ASCII.
    pub(super) is_ascii: bool,
}

impl FoundNames<'_> {
    /// Notes what is odd about the names. `folders_end` is where they usually begin.
    pub(super) fn note(&self, folders_end: u64, notes: &mut Notes) {
        let start = self.range.start;
        if self.is_whole && start != folders_end {
            notes.add_at(NoteCode::TablesOdd, folders_end, || {
                format!("the file names begin at offset {start}, not after the last folder")
            });
        }
        if !self.is_whole {
            notes.add_at(NoteCode::TablesOdd, 28, || {
                "the stated length of the file names is wrong, or a name lacks its end; as many names as \
                 possible are read"
                    .into()
            });
        }
        let Self { displaced, unnamed, .. } = *self;
        if displaced > 0 {
            notes.add_at(NoteCode::TablesOdd, start, || {
                format!("names found by hash, because their table is damaged: {displaced}")
            });
        }
        if unnamed > 0 {
            let (code, what) = if self.is_cut {
                let what = "the archive ends within its table of file names; download or copy it again";
                (NoteCode::NamesCutOff, what)
            } else {
                (NoteCode::NamesEndEarly, "the table of file names ends early or has gaps")
            };
            notes.add_at(code, folders_end, || {
                format!("{what}; files listed by hash unless --names supplies their paths: {unnamed}")
            });
        }
    }
}

impl<'a> Table<'a> {
    /// Chooses the reading of the table that the most hashes prove. It follows the last folder block, unless
    /// unused bytes lie between them (OpenMW). In that case, the totals in the header determine where it
    /// begins: `computed`. It may be longer than its names (Wabbajack). For an ordinary table, the hashes of
    /// the first and the last file are proof enough.
    pub(super) fn choose<I: Iterator<Item = u64>>(
        &self,
        folders_end: u64,
        computed: u64,
        (first, last): (u64, u64),
        hashes: impl Fn() -> I,
    ) -> FoundNames<'a> {
        if let Some(names) = self.whole(folders_end)
            && names.range().end <= self.data
            && self.has_ends(names.bytes(), first, last)
        {
            let (range, is_ascii) = (names.range(), names.bytes().is_ascii());
            return FoundNames {
                names: Names::Table(names),
                range,
                is_whole: true,
                displaced: 0,
                unnamed: 0,
                is_cut: false,
                is_ascii,
            };
        }
        let sequential = self.align(folders_end, hashes());
        if computed == folders_end {
            return self.chosen(sequential);
        }
        let computed = self.align(computed, hashes());
        let is_better = (computed.proved, computed.is_whole) > (sequential.proved, sequential.is_whole);
        self.chosen(if is_better { computed } else { sequential })
    }

    /// The table at `start`, if it has the length that the header states, and enough names.
    fn whole(&self, start: u64) -> Option<Reader<'a>> {
        let mut reader = Reader::at(self.archive, start, "the file names").ok()?;
        let names = reader.records(self.len, 1, "the file names").ok()?;
        let ends = names.bytes().iter().filter(|&&byte| byte == 0).count();
        let is_whole = names.bytes().last().is_none_or(|&byte| byte == 0);
        (is_whole && ends >= self.count).then_some(names)
    }

    /// Whether the first and the last name are those of the first and the last file, and none is blank.
    fn has_ends(&self, names: &[u8], first: u64, last: u64) -> bool {
        let mut all = names.split(|&byte| byte == 0).take(self.count);
        let Some(first_name) = all.next() else { return true };
        let (last_name, has_blank) = all.fold((first_name, first_name.is_empty()), |(_, has_blank), name| {
            (name, has_blank || name.is_empty())
        });
        !has_blank && self.proves(first, first_name) && self.proves(last, last_name)
    }

    fn proves(&self, hash: u64, name: &[u8]) -> bool {
        proves(self.family, &Hash { folder: 0, file: hash }, name)
    }

    /// Reads the names from `start` on. A name that no hash proves is read as it stands, unless a neighbour's
    /// hash shows that it is out of place.
    fn align(&self, start: u64, hashes: impl Iterator<Item = u64>) -> Aligned<'a> {
        let is_whole = self.whole(start).is_some();
        let stated_end = start.saturating_add(u64::from(self.len));
        let mut rest = self.names_from(start, stated_end);
        let mut aligned =
            Aligned { names: Vec::new(), start, end: start, stated_end, is_whole, proved: 0, displaced: 0 };
        let (mut left_over, mut trials) = (None, TRIALS);
        let mut hashes = hashes.peekable();
        while let Some(hash) = hashes.next() {
            let Some(read) = left_over.take().or_else(|| self.next_name(&mut rest, stated_end)) else {
                aligned.names.push(None);
                continue;
            };
            let is_proved = |name: &[u8]| self.proves(hash, name);
            let mut next = rest.clone();
            let proved_cut = [read.bytes.len()]
                .into_iter()
                .chain([stated_end, self.data].map(|end| read.len_until(end)))
                .filter_map(|len| read.cut(len))
                .find(|it| is_proved(it.bytes));
            if let Some(proved) = proved_cut {
                aligned.push(proved, true);
            } else if let Some(following) = self.next_name(&mut next, stated_end)
                && is_proved(following.bytes)
            {
                // What was read is not a name.
                rest = next;
                aligned.push(following, true);
                aligned.displaced = aligned.displaced.saturating_add(1);
            } else if hashes.peek().is_some_and(|&hash| self.proves(hash, read.bytes)) {
                // This file's name is missing.
                aligned.names.push(None);
                left_over = Some(read);
            } else if let Some(name) = self.beginning(&read, hash, &mut trials) {
                // The NUL between two names is missing.
                rest = self.names_from(name.end, stated_end);
                aligned.push(name, true);
                aligned.displaced = aligned.displaced.saturating_add(1);
            } else {
                aligned.push(read, false);
            }
        }
        aligned
    }

    /// A reader of the names from `start` on. Later than the stated end and than the first data, there are
    /// none.
    fn names_from(&self, start: u64, stated_end: u64) -> Reader<'a> {
        let names = Reader::at(self.archive, start, "the file names").unwrap_or_else(|_| Reader::empty());
        let end = self.data.max(stated_end);
        match Reader::at(self.archive, end, "the data") {
            Ok(end) => names.until(&end),
            Err(_) => names,
        }
    }

    /// Reads the bytes up to the next NUL, or those that are left if there is none.
    fn next_name(&self, names: &mut Reader<'a>, stated_end: u64) -> Option<NameCandidate<'a>> {
        /// Length of a rest that may still be a name, in bytes.
        const REST_MAX: u64 = 512;
        let start = names.position();
        if let Ok(bytes) = names.zstring("a file's name") {
            return Some(NameCandidate {
                bytes,
                start,
                end: names.position().saturating_sub(1),
                has_end: true,
            });
        }
        let bytes = names.take(names.left().min(REST_MAX), "a file's name").ok()?;
        let end = names.position();
        names.skip(names.left(), "the rest").ok()?;
        let has_end = end == stated_end || end == self.data;
        (!bytes.is_empty()).then_some(NameCandidate { bytes, start, end, has_end })
    }

    fn beginning(
        &self,
        read: &NameCandidate<'a>,
        hash: u64,
        trials: &mut usize,
    ) -> Option<NameCandidate<'a>> {
        let hash = Hash { folder: 0, file: hash };
        read.cut(proved_beginning(self.family, &hash, read.bytes, trials)?.len())
    }

    /// Leaves out names that no hash proves and that are rather data.
    fn chosen(&self, aligned: Aligned<'a>) -> FoundNames<'a> {
        let Aligned { names, start, end, stated_end, is_whole, proved, displaced } = aligned;
        let table_end = if proved.saturating_mul(2) < names.len() { 0 } else { stated_end };
        let is_name = |it: &NameCandidate<'_>, is_proved| {
            !it.bytes.is_empty() && (is_proved || it.has_end && it.end <= self.data.max(table_end))
        };
        let names: Vec<Option<&[u8]>> = names
            .into_iter()
            .map(|name| name.filter(|(it, is_proved)| is_name(it, *is_proved)).map(|(it, _)| it.bytes))
            .collect();
        let unnamed = names.iter().filter(|name| name.is_none()).count();
        let is_ascii = names.iter().flatten().all(|name| name.is_ascii());
        // A name that lacks its NUL has an end, but none that takes a byte of the data.
        let end = end.min(self.data.max(stated_end));
        let (names, range) = (Names::Chosen(names.into()), start..end);
        let is_cut = stated_end > self.archive.len();
        FoundNames { names, range, is_whole, displaced, unnamed, is_cut, is_ascii }
    }
}

/// The names of a table, as far as they can be read from one position.
struct Aligned<'a> {
    /// Each name, and whether the hash proves it.
    names: Vec<Option<(NameCandidate<'a>, bool)>>,
    start: u64,
    end: u64,
    stated_end: u64,
    is_whole: bool,
    /// How many names are proved.
    proved: usize,
    displaced: u32,
}

impl<'a> Aligned<'a> {
    fn push(&mut self, name: NameCandidate<'a>, is_proved: bool) {
        self.proved = self.proved.saturating_add(usize::from(is_proved));
        self.end = self.end.max(name.end.saturating_add(u64::from(name.has_end)));
        self.names.push(Some((name, is_proved)));
    }
}

/// Bytes that may be a name.
#[derive(Clone, Copy)]
struct NameCandidate<'a> {
    bytes: &'a [u8],
    /// Where they lie in the archive.
    start: u64,
    end: u64,
    /// Whether a NUL follows, or the end of the table.
    has_end: bool,
}

impl NameCandidate<'_> {
    /// How many bytes lie before `end`.
    fn len_until(&self, end: u64) -> usize {
        usize::try_from(end.saturating_sub(self.start)).unwrap_or(usize::MAX)
    }

    /// The first `len` bytes; `None` if there are fewer.
    fn cut(self, len: usize) -> Option<Self> {
        let bytes = self.bytes.get(..len)?;
        let end = self.start.saturating_add(u64::try_from(len).unwrap_or(u64::MAX));
        let has_end = self.has_end && end == self.end;
        Some(Self { bytes, end, has_end, ..self })
    }
}
