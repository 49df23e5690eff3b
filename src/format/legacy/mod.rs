//! The archives of The Elder Scrolls before Morrowind: Arena's `GLOBAL.BSA`, Daggerfall's BSA and SND files
//! (FORMATS.md section 9).
//!
//! They have no magic number, no hashes and no offsets: a count in front, the files one behind the other, and a
//! directory at the end. What tells them from other bytes is that all lengths add up to the file's own, so they are
//! claimed by that sum alone, at most 65,535 records read. The two formats differ in what stands in front of the data,
//! 2 bytes or 4, so that no file adds up as both.

mod arena;
mod daggerfall;

pub use arena::FORMAT as ARENA;
pub use daggerfall::FORMAT as DAGGERFALL;

use std::sync::Arc;

use super::hash::{Family, Hash};
use super::{About, Archive, Codec, Entry, Extent, ExtentPrefix, FileList, Name, Notes, Options, ParseError};
use crate::read::{Missing, Reader};

/// How an archive is laid out.
struct Layout {
    /// Bytes in front of the data, the count among them.
    header: u64,
    /// Bytes of a record.
    record: u32,
    /// Reads one.
    read: for<'a> fn(&mut Reader<'a>) -> Result<Record<'a>, Missing>,
}

/// What the directory says of one file.
struct Record<'a> {
    name: Name<'a>,
    /// Whether it is packed, in a way that nobody has written down.
    is_packed: bool,
    /// In bytes, as it lies in the archive.
    size: u32,
}

impl Layout {
    /// A reader of the directory, which ends the archive.
    fn directory<'a>(&self, archive: &'a [u8]) -> Result<Reader<'a>, Missing> {
        const WHAT: &str = "the directory";
        let count = u32::from(Reader::new(archive).u16("the count of files")?);
        let len = u64::from(count).saturating_mul(u64::from(self.record));
        let start = Reader::new(archive).left().checked_sub(len).filter(|&start| start >= self.header);
        let missing = Missing { at: self.header, what: WHAT };
        Reader::at(archive, start.ok_or(missing)?, WHAT)?.records(count, self.record, WHAT)
    }

    /// Whether header, data and directory add up to `archive`.
    ///
    /// An archive without a byte of data is none: zeros would add up too.
    fn fits(&self, archive: &[u8]) -> bool {
        let Ok(mut directory) = self.directory(archive) else { return false };
        let end = directory.position();
        let mut at = self.header;
        while directory.left() > 0 {
            let Ok(record) = (self.read)(&mut directory) else { return false };
            at = at.saturating_add(u64::from(record.size));
        }
        at == end && at > self.header
    }

    /// The tables of an archive that fits.
    fn parse<'a>(
        &self,
        archive: &'a [u8],
        about: About,
        options: &Options,
    ) -> Result<Archive<'a>, ParseError> {
        let limits = &options.limits;
        let mut directory = self.directory(archive)?;
        // There are 65,535 at most, so that the limit is one that somebody asked for.
        let count = directory.left().checked_div(u64::from(self.record)).unwrap_or(0);
        limits.admit(0, count, "files")?;
        let room = usize::try_from(count).unwrap_or(0);
        let mut files = FileList { entries: Vec::with_capacity(room), extents: Vec::with_capacity(room) };
        let mut notes = Notes::new(limits);
        let (mut offset, mut packed) = (self.header, 0_u32);
        let start = directory.position();
        while directory.left() > 0 {
            let Record { name, is_packed, size } = (self.read)(&mut directory)?;
            packed = packed.saturating_add(u32::from(is_packed));
            let codec = if is_packed { Codec::Unsupported } else { Codec::Stored };
            files.entries.push(Entry { name, hash: Hash::default(), extents: 1 });
            files.extents.push(Extent {
                offset,
                packed: size,
                size: Some(size),
                codec,
                prefix: ExtentPrefix::NONE,
            });
            offset = offset.saturating_add(u64::from(size));
        }
        if packed > 0 {
            notes.add(start, || format!("files marked as packed, in a way that is not known: {packed}"));
        }
        let (hashes, heads) = (Family::None, Arc::default());
        Ok(Archive { about, hashes, files: files.into(), heads, sniffed: Vec::new(), notes: notes.kept })
    }
}

/// Twelve bytes of name, NUL-padded, a flag and a size: Arena's record, and Daggerfall's of files with names, whose name
/// some call fourteen bytes long. What packing the flag stands for is not known to anyone \[unverified\].
fn named<'a>(directory: &mut Reader<'a>) -> Result<Record<'a>, Missing> {
    let padded = directory.take(12, "a file's name")?;
    let name = Name::Path(padded.split(|&byte| byte == 0).next().unwrap_or_default());
    let is_packed = directory.u16("a file's flag")? != 0;
    let size = directory.u32("a file's size")?;
    Ok(Record { name, is_packed, size })
}

/// What such an archive says of itself: next to nothing.
fn about(format: &'static str, kind: &'static str, games: &'static str) -> About {
    About { format, version: 0, kind, games, platform: "PC (DOS)", flags: 0, flag_names: Vec::new() }
}
