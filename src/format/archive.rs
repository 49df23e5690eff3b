//! What every format is parsed into: the tables of one archive.

use std::ops::Range;
use std::sync::Arc;

use super::extent::Extent;
use super::files::{Entries, Files};
use super::hash::Family;
use super::head::Heads;
use super::notes::FormatNote;

/// An archive's tables, borrowing names from its bytes.
#[derive(Clone, Debug)]
pub struct Archive<'a> {
    /// Its format, version and flags.
    pub about: About,
    /// Which function made the hashes of [`super::Entry::hash`].
    pub hashes: Family,
    /// Its files; [`Archive::entries`] and [`Archive::extents`] walk them.
    pub files: Arc<dyn Files<'a> + 'a>,
    /// The headers that its files lack in the archive.
    pub heads: Arc<Heads>,
    /// Files without names whose type their first bytes show: indices of entries, ascending, and the extension that
    /// such files have. A guess, where a [`super::Name`] is what is stored.
    pub sniffed: Vec<(u32, &'static str)>,
    /// Where its tables are, in bytes from its start: all that was parsed but first bytes of files' data.
    pub tables: Vec<Range<u64>>,
    /// What is unusual about it, in the order in which it was found, at most [`super::Limits::notes`].
    pub notes: Vec<FormatNote>,
}

/// An archive's format, version and flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The format's name in [`super::FORMATS`].
    pub format: &'static str,
    /// The version number as stored; 0 where the format has none.
    pub version: u32,
    /// The kind of the archive where the format has several, such as `GNRL`; otherwise empty.
    pub kind: &'static str,
    /// The games that this version is known from.
    pub games: &'static str,
    /// The platforms that it may be made for, as far as its bytes show.
    pub platform: &'static str,
    /// The archive's own flags, as stored.
    pub flags: u32,
    /// The meaning of each flag that is set.
    pub flag_names: Vec<&'static str>,
}

impl<'a> Archive<'a> {
    /// Walks its entries, in stored order.
    pub fn entries(&self) -> Entries<'a, '_> {
        Entries::new(&*self.files)
    }

    /// Walks the extents of all entries, in the order of the entries.
    pub fn extents(&self) -> impl Iterator<Item = Extent> {
        self.files.extents()
    }
}
