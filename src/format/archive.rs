//! The tables of one archive, into which every format is parsed.

use std::ops::Range;
use std::sync::Arc;

use super::extent::Extent;
use super::files::{Entries, Files};
use super::hash::Family;
use super::head::Heads;
use crate::note::Note;

/// An archive's tables. Names are borrowed from the archive's bytes.
#[derive(Clone, Debug)]
pub struct Archive<'a> {
    /// Format, version and flags.
    pub about: About,
    /// The function that made the hashes in [`super::Entry::hash`].
    pub hashes: Family,
    /// The files; [`Archive::entries`] and [`Archive::extents`] walk them.
    pub files: Arc<dyn Files<'a> + 'a>,
    /// The file headers that the archive leaves out.
    pub heads: Arc<Heads>,
    /// Files without names whose first bytes reveal their type: the index of the entry and the extension, in
    /// ascending order. The extension is a guess, whereas a [`super::Name`] is what the archive stores.
    pub sniffed: Vec<(u32, &'static str)>,
    /// Whether all stored names are known to be ASCII, so that they are the same in every encoding.
    pub has_ascii_names: bool,
    /// Where the tables are, in bytes from the start of the archive: all that was parsed, except
    /// the first bytes of files' data.
    pub tables: Vec<Range<u64>>,
    /// What is unusual about the archive, in the order of discovery; at most [`super::Limits::notes`] of
    /// a code.
    pub notes: Vec<Note>,
}

/// An archive's format, version and flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The format's name in [`super::FORMATS`].
    pub format: &'static str,
    /// The version number as stored; 0 if the format has none.
    pub version: u32,
    /// The kind of archive if the format has several, such as `GNRL`; otherwise empty.
    pub kind: &'static str,
    /// The games that are known to use this version.
    pub games: &'static str,
    /// The platforms that the archive may be made for, as far as its bytes show.
    pub platform: &'static str,
    /// The archive's own flags, as stored.
    pub flags: u32,
    /// The meaning of each flag that is set.
    pub flag_names: Vec<&'static str>,
}

impl<'a> Archive<'a> {
    /// Walks the entries in stored order.
    pub fn entries(&self) -> Entries<'a, '_> {
        Entries::new(&*self.files)
    }

    /// Walks the extents of all entries, in the order of the entries.
    pub fn extents(&self) -> impl Iterator<Item = Extent> {
        self.files.extents()
    }
}
