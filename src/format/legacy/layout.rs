//! The common layout of archives of Arena, Daggerfall and Battlespire: a count, the files one after
//! another, and a directory at the end.
//!
//! There is no magic number, no hash and no offset. Such an archive is recognised if the sum of all
//! its lengths equals the length of the file. This check reads at most 65,535 records. The header
//! is 2 bytes long in one format and 4 in the other, so no file adds up as both.

use std::sync::Arc;

use crate::format::archive::{About, Archive, Codec, Entry, Extent, ExtentPrefix, FileList, Name};
use crate::format::error::ParseError;
use crate::format::hash::{Family, Hash};
use crate::format::limits::Options;
use crate::note::{NoteCode, Notes};
use crate::read::{Bytes, Reader, Record, UnexpectedEnd};

/// Length of the record of a file with a name, in bytes.
pub(super) const NAMED_LEN: usize = 18;

pub(super) struct DirectoryLayout {
    /// Length of the header in bytes, the count included.
    pub(super) header_len: u64,
    /// Length of a record of the directory in bytes.
    pub(super) record_len: usize,
    pub(super) read: for<'a> fn(&mut Reader<'a>) -> Result<LegacyFile<'a>, UnexpectedEnd>,
}

/// A file, as the directory describes it.
pub(super) struct LegacyFile<'a> {
    pub(super) name: Name<'a>,
    pub(super) codec: Codec,
    /// Size in bytes, as stored.
    pub(super) size: u32,
}

impl DirectoryLayout {
    /// A reader of the directory, which is at the end of the archive.
    fn directory<'a>(&self, archive: Bytes<'a>) -> Result<Reader<'a>, UnexpectedEnd> {
        let end = UnexpectedEnd { at: self.header_len, what: "the directory" };
        let count = Reader::new(archive).u16("the count of files")?;
        let len = u64::try_from(self.record_len).unwrap_or(u64::MAX).saturating_mul(u64::from(count));
        let start = archive.len().checked_sub(len).filter(|&start| start >= self.header_len).ok_or(end)?;
        Reader::at(archive, start, end.what)
    }

    /// Whether the lengths of header, data and directory add up to that of `archive`.
    ///
    /// An archive without a byte of data is refused, because zeros would add up too.
    pub(super) fn fits(&self, archive: Bytes<'_>) -> bool {
        let Ok(mut directory) = self.directory(archive) else { return false };
        let end = directory.position();
        let mut at = self.header_len;
        while directory.left() > 0 {
            let Ok(file) = (self.read)(&mut directory) else { return false };
            at = at.saturating_add(u64::from(file.size));
        }
        at == end && at > self.header_len
    }

    /// Parses the tables of an archive that fits.
    pub(super) fn parse<'a>(
        &self,
        archive: Bytes<'a>,
        about: About,
        options: &Options,
    ) -> Result<Archive<'a>, ParseError> {
        let limits = &options.limits;
        let mut directory = self.directory(archive)?;
        let count = directory.records_left(self.record_len);
        limits.check_count(0, u64::try_from(count).unwrap_or(u64::MAX), "files")?;
        let mut files = FileList { entries: Vec::with_capacity(count), extents: Vec::with_capacity(count) };
        let mut notes = Notes::new(limits.notes);
        let (mut offset, mut packed) = (self.header_len, 0_u32);
        let start = directory.position();
        let tables = vec![0..self.header_len, directory.range()];
        while directory.left() > 0 {
            let LegacyFile { name, codec, size } = (self.read)(&mut directory)?;
            packed = packed.saturating_add(u32::from(codec == Codec::Unsupported));
            files.entries.push(Entry { name, hash: Hash::default(), extents: 1 });
            files.extents.push(Extent {
                offset,
                packed: size,
                size: (codec != Codec::Lzss).then_some(size),
                codec,
                prefix: ExtentPrefix::NONE,
            });
            offset = offset.saturating_add(u64::from(size));
        }
        if packed > 0 {
            notes.add_at(NoteCode::CodecUnknown, start, || {
                format!("files that are packed by an unknown method and cannot be read: {packed}")
            });
        }
        let (hashes, heads) = (Family::None, Arc::default());
        let files = files.into();
        Ok(Archive {
            about,
            hashes,
            files,
            heads,
            sniffed: Vec::new(),
            has_ascii_names: false,
            tables,
            notes: notes.into_vec(),
        })
    }
}

/// The record of a file with a name, in Arena, Daggerfall and Battlespire. Some sources say that the name has
/// fourteen bytes.
pub(super) struct NamedRecord<'a>(Record<'a, NAMED_LEN>);

impl<'a> NamedRecord<'a> {
    pub(super) fn read(directory: &mut Reader<'a>) -> Result<Self, UnexpectedEnd> {
        directory.record("a file's record").map(Self)
    }

    /// The name, NUL-padded.
    fn name(&self) -> &'a [u8; 12] {
        self.0.bytes_at::<0, 12>()
    }

    /// Not 0 if the file is packed.
    pub(super) fn flag(&self) -> u16 {
        self.0.u16_at::<12>()
    }

    /// Size in bytes, as stored.
    fn size(&self) -> u32 {
        self.0.u32_at::<14>()
    }

    pub(super) fn file(&self, codec: Codec) -> LegacyFile<'a> {
        let name = Name::Path(self.name().split(|&byte| byte == 0).next().unwrap_or_default());
        LegacyFile { name, codec, size: self.size() }
    }
}

/// Describes an archive, which has neither version nor flags in these formats.
pub(super) fn about(format: &'static str, kind: &'static str, games: &'static str) -> About {
    About { format, version: 0, kind, games, platform: "PC (DOS)", flags: 0, flag_names: Vec::new() }
}
