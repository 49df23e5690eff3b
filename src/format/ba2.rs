//! The archives of Fallout 4, Fallout 76 and Starfield (BA2, "BTDX"; FORMATS.md sections 3 and 5).
//!
//! `GNRL` archives contain files. `DX10` archives contain textures in chunks of their mip maps,
//! without the DDS header. `GNMF` archives contain textures for the PlayStation 4 in the same way,
//! without the GNF header (section 6; \[unverified\] on a real archive).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::archive::{About, Archive, Codec, Entry, Extent, ExtentPrefix, Files, Heads, Name};
use super::detect::Format;
use super::error::ParseError;
use super::hash::{Family, Hash};
use super::limits::Options;
use super::naming::{Names, proves, unpadded};
use super::structure::PastEnd;
use crate::kinds::BA2;
use crate::note::{NoteCode, Notes};
use crate::read::{Bytes, Reader, Record, UnexpectedEnd};
use crate::texture::{dds, gnf, xbox};

/// This format's row in [`super::FORMATS`].
pub const FORMAT: Format =
    Format { name: "BA2", extensions: &[BA2], shared_extensions: &[], recognises, parse };

pub(super) const MAGIC: &[u8] = b"BTDX";

/// The word at the end of every chunk record.
pub(super) const SENTINEL: u32 = 0xBAAD_F00D;

/// Length of the common beginning of file records of all kinds, in bytes.
const RECORD_START: usize = 16;
/// Length of the common beginning of chunk records of all kinds, in bytes.
const CHUNK_START: usize = 16;
/// Length of the record of a general file with its one chunk, in bytes.
const GENERAL_LEN: u64 = 36;

fn recognises(archive: Bytes<'_>) -> bool {
    archive.starts_with(MAGIC)
}

fn parse<'a>(archive: Bytes<'a>, options: &Options) -> Result<Archive<'a>, ParseError> {
    let mut notes = Notes::new(options.limits.notes);
    let (header, records) = Header::read(archive, options, &mut notes)?;
    let mut past_end = PastEnd::new(header.len);
    let mut walked = records.clone();
    let checked = check_records(&header, &mut walked, options.force, &mut past_end, &mut notes)?;
    let names = match header.names {
        0 => Reader::empty(),
        start => Reader::at(archive, start, "the names").unwrap_or_else(|_| Reader::empty()),
    };
    let records = Records { kind: header.kind, left: checked.files, reader: records };
    let chosen = choose_names(archive, names, &records, &checked);
    chosen.note(&header, &mut notes);
    past_end.add_note(&mut notes, "chunk");
    let (codec, has_one_extent_each) = (header.codec, checked.has_one_extent_each);
    let has_ascii_names = chosen.is_ascii;
    Ok(Archive {
        about: header.about(&checked.heads),
        hashes: Family::Fo4,
        files: Arc::new(Tables {
            codec,
            records,
            names: chosen.names,
            has_one_extent_each,
            by_mips: checked.by_mips.orders,
        }),
        heads: Arc::new(checked.heads),
        sniffed: Vec::new(),
        has_ascii_names,
        tables: vec![0..walked.position(), chosen.range],
        notes: notes.into_vec(),
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    General,
    Textures,
    Gnf,
}

impl Kind {
    const ALL: [Self; 3] = [Self::General, Self::Textures, Self::Gnf];

    pub(super) fn code(self) -> &'static str {
        match self {
            Self::General => "GNRL",
            Self::Textures => "DX10",
            Self::Gnf => "GNMF",
        }
    }

    /// Length of a file record without its chunk records, in bytes. Each record states it.
    pub(super) fn record_len(self) -> u16 {
        match self {
            Self::General => 16,
            Self::Textures => 24,
            Self::Gnf => 48,
        }
    }

    /// Length of the part of a file record that is specific to its kind, in bytes.
    fn rest_of_record(self) -> u64 {
        u64::from(self.record_len()).saturating_sub(16)
    }

    /// Length of `chunks` chunk records, in bytes.
    pub(super) fn chunks_len(self, chunks: u8) -> u64 {
        let each: u64 = if self == Self::General { 20 } else { 24 };
        each.saturating_mul(u64::from(chunks))
    }

    /// Whether the `nth` chunk record from `chunks` on, counted from 1, ends in the mark of chunks.
    fn has_end_mark(self, chunks: &Reader<'_>, nth: u8) -> bool {
        let (mut chunk, what) = (chunks.clone(), "a chunk's end mark");
        chunk.skip(self.chunks_len(nth).saturating_sub(4), what).is_ok() && chunk.u32(what) == Ok(SENTINEL)
    }

    /// How many chunk records from `chunks` on end in the mark of chunks.
    fn marked_chunks(self, chunks: &Reader<'_>) -> u8 {
        (1..=u8::MAX).take_while(|&nth| self.has_end_mark(chunks, nth)).last().unwrap_or(0)
    }
}

/// The header, and the length of the archive.
struct Header {
    version: u32,
    /// Whether version or kind is unknown, so that the layout was chosen by what fits.
    is_forced: bool,
    kind: Kind,
    files: u32,
    /// Offset of the names; 0 if there are none.
    names: u64,
    /// Codec of packed chunks.
    codec: Codec,
    /// Length of the archive in bytes.
    len: u64,
}

impl Header {
    /// Reads the header. Returns it with a reader of the bytes that follow.
    fn read<'a>(
        archive: Bytes<'a>,
        options: &Options,
        notes: &mut Notes,
    ) -> Result<(Self, Reader<'a>), ParseError> {
        let mut reader = Reader::new(archive);
        let len = reader.left();
        reader.skip(4, "the magic number")?;
        let version = reader.u32("the version")?;
        let code = *reader.record::<4>("the kind")?.bytes_at::<0, 4>();
        let files = reader.u32("the count of files")?;
        let names = reader.u64("the offset of the names")?;
        let known_version = matches!(version, 1..=3 | 7 | 8).then_some(version);
        if known_version.is_none() && !options.force {
            return Err(ParseError::unsupported(
                4,
                format!("BA2 version {version}; the known versions are 1, 2, 3, 7 and 8"),
            ));
        }
        let known_kind = Kind::ALL.into_iter().find(|kind| kind.code().as_bytes() == code);
        if known_kind.is_none() && !options.force {
            let code = code.escape_ascii();
            return Err(ParseError::unsupported(
                8,
                format!("BA2 of kind \"{code}\"; the known kinds are GNRL, DX10 and GNMF"),
            ));
        }
        let stated = known_version.zip(known_kind);
        let (layout, kind) = nearest(&reader, known_version, known_kind, options.force)
            .unwrap_or((known_version.unwrap_or(1), known_kind.unwrap_or(Kind::General)));
        let is_forced = stated != Some((layout, kind));
        if is_forced {
            let (code, kind) = (code.escape_ascii(), kind.code());
            let why = if stated.is_none() { "is not known" } else { "has other records" };
            notes.add_at(NoteCode::VersionUnknown, 4, || {
                format!(
                    "BA2 version {version} of kind \"{code}\" {why}; --force reads it as version {layout} of \
                     kind {kind}"
                )
            });
        }
        options.limits.check_count(12, u64::from(files), "files")?;
        if matches!(layout, 2 | 3) {
            reader.skip(8, "the fields of version 2")?;
        }
        let codec = match layout {
            3 => match reader.u32("the compression method")? {
                0 => Codec::Zlib,
                3 => Codec::Lz4Block,
                _ => Codec::Detect,
            },
            _ => Codec::Zlib,
        };
        Ok((Self { version, is_forced, kind, files, names, codec, len }, reader))
    }

    fn about(&self, heads: &Heads) -> About {
        About {
            format: FORMAT.name,
            version: self.version,
            kind: self.kind.code(),
            games: match self.version {
                _ if self.is_forced => "no known game",
                _ if self.kind == Kind::Gnf => "Fallout 4 on the PlayStation 4",
                1 => "Fallout 4, Fallout 76",
                2 | 3 => "Starfield",
                _ => "Fallout 4 (2024 update)",
            },
            platform: match heads {
                _ if self.is_forced => "unknown",
                Heads::Gnf(_) => "PlayStation 4",
                Heads::Textures(textures) if textures.iter().any(|it| !it.is_linear()) => "Xbox One",
                Heads::Textures(_) => "PC",
                // Files other than textures are identical on all platforms.
                Heads::None => "PC or a console",
            },
            flags: 0,
            flag_names: Vec::new(),
        }
    }
}

/// The version and kind in whose layout the first record states the right length, or else its first chunk
/// ends in the right mark; `None` if there is none. Others than those that the header states are tried if
/// `is_forced`. `reader` is positioned after the fields that all versions share.
fn nearest(
    reader: &Reader<'_>,
    version: Option<u32>,
    kind: Option<Kind>,
    is_forced: bool,
) -> Option<(u32, Kind)> {
    let first_record = |version: u32| {
        let mut record = reader.clone();
        let more = match version {
            2 => 8,
            3 => 12,
            _ => 0,
        };
        record.skip(more, "the fields of later versions").map(|()| record)
    };
    let states_length = |version: u32, kind: Kind| {
        let record = first_record(version).and_then(|mut reader| reader.record("a record").map(FileRecord));
        record.is_ok_and(|record| record.len() == kind.record_len())
    };
    let has_mark = |version: u32, kind: Kind| {
        let chunk = first_record(version)
            .and_then(|mut reader| reader.skip(u64::from(kind.record_len()), "a record").map(|()| reader));
        chunk.is_ok_and(|chunk| kind.has_end_mark(&chunk, 1))
    };
    let layouts = |versions: &[u32], kinds: &[Kind]| -> Vec<(u32, Kind)> {
        versions.iter().flat_map(|&version| kinds.iter().map(move |&kind| (version, kind))).collect()
    };
    let (all_versions, all_kinds) = ([1, 3, 2], Kind::ALL);
    let versions = version.as_ref().map_or(&all_versions[..], std::slice::from_ref);
    let kinds = kind.as_ref().map_or(&all_kinds[..], std::slice::from_ref);
    let mut tried = layouts(versions, kinds);
    if is_forced {
        tried.extend(layouts(&all_versions, &all_kinds));
    }
    let found = tried.iter().find(|(version, kind)| states_length(*version, *kind));
    found.or_else(|| tried.iter().find(|(version, kind)| has_mark(*version, *kind))).copied()
}

/// What one walk of all records finds.
struct RecordSummary {
    files: u32,
    heads: Heads,
    /// Whether every file has one chunk.
    has_one_extent_each: bool,
    /// The hashes of the first and of the last file.
    first_hash: Hash,
    last_hash: Hash,
    /// Where data begins that lies after the beginning of the names, or over it.
    data_after_names: u64,
    /// Where the last data ends.
    data_end: u64,
    by_mips: ByMips,
    /// How many records misstate their chunks, and offset, count of chunks and length of the first.
    odd_words: u32,
    first_odd: Option<(u64, u8, u16)>,
}

/// Walks all records once to check them.
fn check_records(
    header: &Header,
    reader: &mut Reader<'_>,
    is_forced: bool,
    past_end: &mut PastEnd,
    notes: &mut Notes,
) -> Result<RecordSummary, ParseError> {
    let kind = header.kind;
    // The rest of the file bounds the count of records, whatever the header states.
    let fit = reader.records_left(usize::from(kind.record_len()));
    let capacity = usize::try_from(header.files).unwrap_or(usize::MAX).min(fit);
    let heads = match kind {
        Kind::General => Heads::None,
        Kind::Textures => Heads::Textures(Vec::with_capacity(capacity)),
        Kind::Gnf => Heads::Gnf(Vec::with_capacity(capacity)),
    };
    let mut checked = RecordSummary {
        files: header.files,
        heads,
        has_one_extent_each: true,
        first_hash: Hash::default(),
        last_hash: Hash::default(),
        data_after_names: u64::MAX,
        data_end: 0,
        by_mips: ByMips::default(),
        odd_words: 0,
        first_odd: None,
    };
    for index in 0..header.files {
        let start = reader.clone();
        match checked.add_record(header, index, reader, is_forced, past_end, notes) {
            Ok(()) => {}
            Err(_) if is_forced => {
                checked.files = index;
                checked.heads.truncate(index);
                notes.add_at(NoteCode::TablesOdd, start.position(), || {
                    format!("the header states {} files, but only {index} are there", header.files)
                });
                *reader = start;
                break;
            }
            Err(error) => return Err(error),
        }
    }
    if let Some((at, chunks, len)) = checked.first_odd {
        let odd = checked.odd_words;
        notes.add_at(NoteCode::TablesOdd, at.saturating_add(12), || {
            format!(
                "records that misstate their chunks: {odd}; the first states {chunks} chunks and a length of \
                 {len} bytes instead of {}; the chunks that are there are read",
                kind.record_len()
            )
        });
    }
    checked.by_mips.note(notes);
    Ok(checked)
}

impl RecordSummary {
    /// Checks the next record, the `index`th.
    fn add_record(
        &mut self,
        header: &Header,
        index: u32,
        reader: &mut Reader<'_>,
        is_forced: bool,
        past_end: &mut PastEnd,
        notes: &mut Notes,
    ) -> Result<(), ParseError> {
        let (kind, at) = (header.kind, reader.position());
        let record = FileRecord::read(reader)?;
        match &mut self.heads {
            Heads::None => {}
            Heads::Textures(textures) => textures.push(read_texture(reader, notes)?),
            Heads::Gnf(descriptors) => {
                let record = reader.record::<32>("a texture's description")?;
                descriptors.push(gnf::Descriptor(*record.bytes_at::<0, 32>()));
            }
        }
        let chunks = record.chunks(kind, reader);
        if let Chunks::Assumed(_) = chunks {
            let left = u64::from(header.files.saturating_sub(index));
            let end = at.saturating_add(left.saturating_mul(GENERAL_LEN));
            let tables_end = if header.names == 0 { header.len } else { header.names.min(header.len) };
            if !is_forced && (kind != Kind::General || end > tables_end) {
                return Err(record.wrong_length(kind, at));
            }
        }
        if !matches!(chunks, Chunks::Stated(_)) {
            self.odd_words = self.odd_words.saturating_add(1);
            self.first_odd.get_or_insert((at, record.chunk_count(), record.len()));
        }
        self.has_one_extent_each &= chunks.count() == 1;
        let chunks_at = reader.position();
        let mut parts = Vec::new();
        for _ in 0..chunks.count() {
            let ReadChunk { extent, mips, end } = read_chunk(reader, kind, header.codec)?;
            if kind == Kind::Textures && chunks.count() > 1 {
                parts.push((mips, extent.size.unwrap_or(extent.packed)));
            }
            past_end.check(&extent);
            self.record_data(&extent, header.names);
            if end != SENTINEL {
                let at = reader.position().saturating_sub(4);
                notes.add_at(NoteCode::TablesOdd, at, || {
                    format!("a chunk ends in {end:08X} instead of BAADF00D")
                });
            }
        }
        if let Heads::Textures(textures) = &self.heads
            && let Some(texture) = textures.last().filter(|it| it.is_linear() && !it.dds.cube)
        {
            self.by_mips.add(index, chunks_at, &texture.dds, &parts);
        }
        if index == 0 {
            self.first_hash = record.hash();
        }
        self.last_hash = record.hash();
        Ok(())
    }

    fn record_data(&mut self, extent: &Extent, names: u64) {
        if extent.packed > 0 {
            let end = extent.offset.saturating_add(u64::from(extent.packed));
            if end > names {
                self.data_after_names = self.data_after_names.min(extent.offset.max(names));
            }
            self.data_end = self.data_end.max(end);
        }
    }
}

/// Textures whose chunks are not in the order of the mips that they state. In cubes, which have one chunk,
/// tools write numbers without meaning.
#[derive(Default)]
struct ByMips {
    /// The order in which the chunks of a file are read, if it is not the stored one and their sizes prove
    /// it.
    orders: Arc<BTreeMap<u32, Vec<u8>>>,
    /// Offset of the first chunk of such a file.
    first_ordered: Option<u64>,
    /// How many textures state mips that their sizes disprove, and offset of the first.
    disproved: u32,
    first_disproved: Option<u64>,
    /// How many textures state mips that contradict each other, while no size shows what is right.
    unknown: u32,
    first_unknown: Option<u64>,
    /// Textures with a chunk whose size differs from the size of its mips.
    shifted: u32,
    first_shifted: Option<u64>,
}

impl ByMips {
    /// Adds a texture, whose chunks have these mips and sizes.
    fn add(&mut self, index: u32, at: u64, texture: &dds::Texture, chunks: &[((u16, u16), u32)]) {
        let follow = |mips: Vec<(u16, u16)>| {
            let mut next = Some(0);
            mips.iter().all(|&(first, last)| {
                let is_next = next == Some(first) && first <= last;
                next = last.checked_add(1);
                is_next
            })
        };
        // Some packers leave all of them 0.
        let is_stated = chunks.iter().any(|(mips, _)| *mips != (0, 0));
        if !is_stated {
            return;
        }
        if follow(chunks.iter().map(|(mips, _)| *mips).collect()) {
            // The last chunk may lack mips, but a wrong size of another one shifts all that follow.
            let before = chunks.split_last().map_or(&[][..], |(_, before)| before);
            let is_wrong = |((first, last), size): &((u16, u16), u32)| {
                mips_bytes(texture, *first, *last).is_some_and(|bytes| bytes != u64::from(*size))
            };
            // Another chunk with exactly its mips proves that the chunks state the right ones.
            let has_its_size = |((first, last), size): &((u16, u16), u32)| {
                mips_bytes(texture, *first, *last) == Some(u64::from(*size))
            };
            let is_proven = chunks.iter().any(has_its_size) && !are_in_order(texture, chunks);
            if is_proven && before.iter().any(is_wrong) {
                self.shifted = self.shifted.saturating_add(1);
                self.first_shifted.get_or_insert(at);
            }
            return;
        }
        let mut order: Vec<u8> = (0..=u8::MAX).take(chunks.len()).collect();
        let chunk = |nth: &u8| chunks.get(usize::from(*nth)).copied().unwrap_or_default();
        order.sort_by_key(|nth| chunk(nth).0);
        let has_its_size = |nth: &u8| {
            let ((first, last), size) = chunk(nth);
            mips_bytes(texture, first, last) == Some(u64::from(size))
        };
        if follow(order.iter().map(|nth| chunk(nth).0).collect()) && order.iter().all(has_its_size) {
            Arc::make_mut(&mut self.orders).insert(index, order);
            self.first_ordered.get_or_insert(at);
        } else if are_in_order(texture, chunks) {
            self.disproved = self.disproved.saturating_add(1);
            self.first_disproved.get_or_insert(at);
        } else {
            self.unknown = self.unknown.saturating_add(1);
            self.first_unknown.get_or_insert(at);
        }
    }

    fn note(&self, notes: &mut Notes) {
        if let Some(at) = self.first_ordered {
            notes.add_at(NoteCode::TablesOdd, at, || {
                let count = self.orders.len();
                format!(
                    "textures whose chunks are not in the order of their mips: {count}; read in that order"
                )
            });
        }
        if let Some(at) = self.first_disproved {
            notes.add_at(NoteCode::TablesOdd, at, || {
                let count = self.disproved;
                format!("textures whose chunks state wrong mips: {count}; their sizes show the stored order")
            });
        }
        if let Some(at) = self.first_shifted {
            notes.add_at(NoteCode::MipsOrder, at, || {
                let count = self.shifted;
                format!(
                    "textures with a chunk that is longer or shorter than its mips: {count}; they are read \
                     as they are stored, so that smaller mips are shifted; get the archive again"
                )
            });
        }
        if let Some(at) = self.first_unknown {
            notes.add_at(NoteCode::MipsOrder, at, || {
                let count = self.unknown;
                format!(
                    "textures whose chunks state mips that overlap or are out of order: {count}; they are \
                     read as they are stored, so their pixels may be wrong; get the archive again"
                )
            });
        }
    }
}

/// Length in bytes of some mips of a texture.
fn mips_bytes(texture: &dds::Texture, first: u16, last: u16) -> Option<u64> {
    let until = |mips: u16| match u8::try_from(mips).ok()? {
        0 => Some(0),
        mips => dds::Texture { mips, ..*texture }.texel_bytes(),
    };
    if last >= u16::from(texture.mips.max(1)) {
        return None;
    }
    until(last.checked_add(1)?)?.checked_sub(until(first)?)
}

/// Whether each chunk has the length of the mips that follow those of the chunk before.
fn are_in_order(texture: &dds::Texture, chunks: &[((u16, u16), u32)]) -> bool {
    let mut first = 0;
    chunks.iter().all(|(_, size)| {
        let mut lasts = first..u16::from(texture.mips);
        let last = lasts.find(|last| mips_bytes(texture, first, *last) == Some(u64::from(*size)));
        first = last.map_or(first, |last| last.saturating_add(1));
        last.is_some()
    })
}

/// The names, and what was found about their table.
struct NameTable<'a> {
    names: Names<'a>,
    /// Where the table lies.
    range: Range<u64>,
    /// How many files have no name.
    unnamed: usize,
    is_ascii: bool,
    /// Whether the archive ends before as many names as files are read.
    is_cut: bool,
    /// How many names contain a NUL.
    with_nul: u32,
    /// What is odd about the table; empty if nothing is.
    oddity: &'static str,
}

/// After so many names without a hash that proves one, a reading is given up.
const TRIED_NAMES: usize = 16;

type ReadName = for<'a> fn(&mut Reader<'a>) -> Option<&'a [u8]>;

/// The readings of a table of names. The first is the documented one.
const READINGS: [(ReadName, &str); 3] = [
    (|names| names.wstring("a name").ok(), ""),
    (
        |names| {
            let name = names.wstring("a name").ok();
            // The last name may lack its NUL.
            let _ = names.skip(1, "the NUL after a name");
            name
        },
        "a NUL follows each name",
    ),
    (|names| names.zstring("a name").ok(), "the names have no lengths, but end in NULs"),
];

/// Chooses the reading of the names that the most hashes prove. In an ordinary archive, two hashes suffice.
fn choose_names<'a>(
    archive: Bytes<'a>,
    stated: Reader<'a>,
    records: &Records<'a>,
    checked: &RecordSummary,
) -> NameTable<'a> {
    let is_proved = |name: Option<&[u8]>, hash: &Hash| {
        name.is_some_and(|name| proves(Family::Fo4, hash, without_nuls(name, hash)))
    };
    let mut walked = stated.clone();
    let (mut first, mut last, mut named) = (None, None, 0_u32);
    let (mut is_ascii, mut has_blank, mut with_nul) = (true, false, 0_u32);
    while named < records.left
        && let Ok(name) = walked.wstring("a name")
    {
        first = first.or(Some(name));
        last = Some(name);
        named = named.saturating_add(1);
        is_ascii &= name.is_ascii();
        has_blank |= name.is_empty();
        with_nul = with_nul.saturating_add(u32::from(name.contains(&0)));
    }
    let range = stated.until(&walked).range();
    let is_cut = named < records.left;
    let unnamed = usize::try_from(records.left.saturating_sub(named)).unwrap_or(usize::MAX);
    let is_ordinary = unnamed == 0
        && !has_blank
        && is_proved(first, &checked.first_hash)
        && is_proved(last, &checked.last_hash)
        && walked.position() <= checked.data_after_names;
    let after_data = Reader::at(archive, checked.data_end, "the names").unwrap_or_else(|_| Reader::empty());
    let as_stated = |range| NameTable {
        names: Names::Table(stated.clone()),
        range,
        unnamed,
        is_ascii,
        is_cut,
        with_nul,
        oddity: "",
    };
    if is_ordinary || stated.left() == 0 && after_data.left() == 0 {
        return as_stated(range);
    }
    let moved = "the names follow the data, not where the header states";
    let here = READINGS.map(|(read, oddity)| (stated.clone(), read, oddity));
    let readings =
        here.into_iter().chain([(after_data, READINGS[0].0, moved)]).map(|(table, read, oddity)| {
            let mut rest = table.clone();
            let mut proved = 0_usize;
            let mut names = Vec::new();
            for record in records.clone() {
                // Data that is read as names would be read for ever.
                if proved == 0 && !oddity.is_empty() && names.len() >= TRIED_NAMES {
                    break;
                }
                let name = read(&mut rest);
                let is_proved = is_proved(name, &record.hash());
                proved = proved.saturating_add(usize::from(is_proved));
                names.push(name.map(|name| (name, is_proved, rest.position())));
            }
            (proved, names, table.until(&rest).range(), oddity)
        });
    // Of readings with equal proofs, the first.
    let best = readings.reduce(|best, other| if other.0 > best.0 { other } else { best });
    let Some((proved, names, range, oddity)) = best else { return as_stated(range) };
    // If the hashes do not prove a table, it may be data.
    let is_table = proved.saturating_mul(2) >= names.len();
    let is_name = |&(name, is_proved, end): &(&[u8], bool, u64)| {
        !name.is_empty() && (is_proved || is_table || end <= checked.data_after_names)
    };
    let names: Vec<Option<&[u8]>> =
        names.into_iter().map(|name| name.filter(is_name).map(|(name, ..)| name)).collect();
    let unnamed = names.iter().filter(|name| name.is_none()).count();
    let is_ascii = names.iter().flatten().all(|name| name.is_ascii());
    NameTable { names: Names::Chosen(names.into()), range, unnamed, is_ascii, is_cut, with_nul, oddity }
}

impl NameTable<'_> {
    fn note(&self, header: &Header, notes: &mut Notes) {
        let by_hash = "listed by hash unless --names supplies their paths";
        if !self.oddity.is_empty() {
            notes.add_at(NoteCode::TablesOdd, self.range.start, || self.oddity.into());
        }
        if self.with_nul > 0 {
            notes.add_at(NoteCode::TablesOdd, self.range.start, || {
                let names = self.with_nul;
                format!("names with a NUL: {names}; it and what follows are left off if the hash shows that")
            });
        }
        if header.names == 0 && header.files > 0 && self.oddity.is_empty() {
            notes.add_at(NoteCode::ArchiveNameless, 16, || {
                format!("the archive stores no names: its files are {by_hash}")
            });
        } else if self.unnamed > 0 && self.is_cut {
            notes.add_at(NoteCode::NamesCutOff, header.names, || {
                format!(
                    "the archive ends within its table of names; download or copy it again; files \
                     {by_hash}: {}",
                    self.unnamed
                )
            });
        } else if self.unnamed > 0 {
            notes.add_at(NoteCode::NamesEndEarly, header.names, || {
                format!("the table of names ends early or has gaps; files {by_hash}: {}", self.unnamed)
            });
        }
    }
}

/// A name without the NULs that its length counts by mistake.
fn without_nuls<'a>(name: &'a [u8], hash: &Hash) -> &'a [u8] {
    unpadded(name, |reading| proves(Family::Fo4, hash, reading))
}

/// A walk through the file records.
#[derive(Clone, Debug)]
struct Records<'a> {
    kind: Kind,
    left: u32,
    reader: Reader<'a>,
}

impl<'a> Iterator for Records<'a> {
    type Item = FileRecord<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let (record, chunks) = self.enter()?;
        self.reader.skip(self.kind.chunks_len(chunks), "a record").ok()?;
        Some(record)
    }
}

impl<'a> Records<'a> {
    /// The next record, and how many chunk records follow, which the reader is left in front of.
    fn enter(&mut self) -> Option<(FileRecord<'a>, u8)> {
        self.left = self.left.checked_sub(1)?;
        let record = FileRecord::read(&mut self.reader).ok()?;
        self.reader.skip(self.kind.rest_of_record(), "a record").ok()?;
        let chunks = record.chunks(self.kind, &self.reader).count();
        Some((record, chunks))
    }
}

/// The checked tables of an archive.
#[derive(Clone, Debug)]
struct Tables<'a> {
    /// Codec of packed chunks.
    codec: Codec,
    records: Records<'a>,
    names: Names<'a>,
    /// Whether every file has one chunk.
    has_one_extent_each: bool,
    /// The order in which the chunks of files are read, if it is not the stored one.
    by_mips: Arc<BTreeMap<u32, Vec<u8>>>,
}

impl<'a> Files<'a> for Tables<'a> {
    fn len(&self) -> usize {
        usize::try_from(self.records.left).unwrap_or(usize::MAX)
    }

    fn entries(&self) -> Box<dyn Iterator<Item = Entry<'a>> + '_> {
        let mut names = self.names.walk(|names| names.wstring("a name").ok());
        let mut records = self.records.clone();
        Box::new(std::iter::from_fn(move || {
            let (record, extents) = records.enter()?;
            records.reader.skip(records.kind.chunks_len(extents), "a record").ok()?;
            let hash = record.hash();
            let name = names.next().flatten().map(|name| without_nuls(name, &hash));
            let name = name.map_or(Name::Unknown { extension: record.extension() }, Name::Path);
            Some(Entry { name, hash, extents })
        }))
    }

    fn extents(&self) -> Box<dyn Iterator<Item = Extent> + '_> {
        if !self.by_mips.is_empty() {
            return Box::new(self.extents_by_mips());
        }
        let (mut records, mut chunks) = (self.records.clone(), 0_u8);
        Box::new(std::iter::from_fn(move || {
            while chunks == 0 {
                (_, chunks) = records.enter()?;
            }
            chunks = chunks.saturating_sub(1);
            read_chunk(&mut records.reader, records.kind, self.codec).ok().map(|chunk| chunk.extent)
        }))
    }

    fn has_one_extent_each(&self) -> bool {
        self.has_one_extent_each
    }
}

impl<'a> Tables<'a> {
    /// The extents of all files, in the order of their mips where that is not the stored one.
    fn extents_by_mips(&self) -> impl Iterator<Item = Extent> + '_ {
        let mut records = self.records.clone();
        let file = move |index: u32| {
            let (_, chunks) = records.enter()?;
            let (reader, kind) = (&mut records.reader, records.kind);
            let chunk = |_| read_chunk(reader, kind, self.codec).ok().map(|chunk| chunk.extent);
            let stored: Vec<Extent> = (0..chunks).map_while(chunk).collect();
            Some(match self.by_mips.get(&index) {
                Some(order) => {
                    order.iter().filter_map(|nth| stored.get(usize::from(*nth)).cloned()).collect()
                }
                None => stored,
            })
        };
        (0..=u32::MAX).map_while(file).flatten()
    }
}

/// The common beginning of file records of all kinds (FORMATS.md section 3).
struct FileRecord<'a>(Record<'a, RECORD_START>);

impl<'a> FileRecord<'a> {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, UnexpectedEnd> {
        reader.record("a file's record").map(Self)
    }

    #[cold]
    fn wrong_length(&self, kind: Kind, at: u64) -> ParseError {
        let (stated, record_len) = (self.len(), kind.record_len());
        let why = format!("a file's record states its length as {stated} bytes instead of {record_len}");
        ParseError::unsupported(at.saturating_add(14), why)
    }

    /// How many chunk records follow this record, the first of which `after` is positioned at.
    ///
    /// Some packers write 0 for the count and the length. The marks at the end of chunks then show what is
    /// there.
    #[inline]
    fn chunks(&self, kind: Kind, after: &Reader<'_>) -> Chunks {
        match self.chunk_count() {
            chunks @ 1.. if self.len() == kind.record_len() => Chunks::Stated(chunks),
            _ => self.odd_chunks(kind, after),
        }
    }

    #[cold]
    fn odd_chunks(&self, kind: Kind, after: &Reader<'_>) -> Chunks {
        let (stated, is_right_length) = (self.chunk_count(), self.len() == kind.record_len());
        if stated > 0 && kind.has_end_mark(after, stated) {
            return Chunks::Marked(stated);
        }
        match kind.marked_chunks(after) {
            0 if is_right_length => Chunks::Stated(stated),
            0 if kind == Kind::General => Chunks::Assumed(1),
            0 => Chunks::Assumed(stated),
            marked => Chunks::Marked(marked),
        }
    }

    /// The hash of the file's stem.
    fn stem(&self) -> u32 {
        self.0.u32_at::<0>()
    }

    /// The first four bytes of the file's extension without its dot, NUL-padded.
    fn extension(&self) -> [u8; 4] {
        *self.0.bytes_at::<4, 4>()
    }

    /// The hash of the folder.
    fn folder(&self) -> u32 {
        self.0.u32_at::<8>()
    }

    /// How many chunks the file has, as stated. The byte before it is an index of data files, which is 0 in
    /// every known archive.
    fn chunk_count(&self) -> u8 {
        self.0.u8_at::<13>()
    }

    /// Length of the record without its chunk records, in bytes.
    fn len(&self) -> u16 {
        self.0.u16_at::<14>()
    }

    fn hash(&self) -> Hash {
        let file = u64::from(self.stem()).wrapping_shl(32) | u64::from(u32::from_le_bytes(self.extension()));
        Hash { folder: u64::from(self.folder()), file }
    }
}

/// How many chunk records follow a file record, and what shows it.
#[derive(Clone, Copy)]
enum Chunks {
    /// The record states it.
    Stated(u8),
    /// The record misstates it or its own length; the marks at the end of chunks show it.
    Marked(u8),
    /// Nothing shows it.
    Assumed(u8),
}

impl Chunks {
    fn count(self) -> u8 {
        match self {
            Self::Stated(chunks) | Self::Marked(chunks) | Self::Assumed(chunks) => chunks,
        }
    }
}

/// Reads the part of a record that is specific to DX10.
fn read_texture(reader: &mut Reader<'_>, notes: &mut Notes) -> Result<xbox::XboxTexture, ParseError> {
    let at = reader.position();
    let height = reader.u16("a texture's height")?;
    let width = reader.u16("a texture's width")?;
    let mips = reader.u8("a texture's count of mip maps")?;
    let format = reader.u8("a texture's format")?;
    let flags = reader.u8("a texture's flags")?;
    let tile_mode = reader.u8("a texture's tile mode")?;
    let dds = dds::Texture { width, height, mips, format, cube: flags & 1 != 0 };
    if !dds.is_known() {
        notes.add_at(NoteCode::TextureFormat, at, || {
            format!("texture format {format} is not known; the DDS header only states its number")
        });
    }
    let texture = xbox::XboxTexture { dds, tile_mode };
    if !texture.is_linear() {
        notes.add_at(NoteCode::TextureTiled, at, || {
            format!("tile mode {tile_mode}: the texels are tiled for an Xbox One")
        });
    }
    Ok(texture)
}

/// The common beginning of chunk records of all kinds.
struct ChunkRecord<'a>(Record<'a, CHUNK_START>);

impl ChunkRecord<'_> {
    /// Offset in bytes from the start of the archive.
    fn offset(&self) -> u64 {
        self.0.u64_at::<0>()
    }

    /// Packed size in bytes; 0 if the chunk is not packed.
    fn packed(&self) -> u32 {
        self.0.u32_at::<8>()
    }

    /// Unpacked size in bytes.
    fn size(&self) -> u32 {
        self.0.u32_at::<12>()
    }
}

/// What a chunk record states.
struct ReadChunk {
    extent: Extent,
    /// The first and the last mip; 0 if it is not of a texture.
    mips: (u16, u16),
    /// The word at the end.
    end: u32,
}

#[inline]
fn read_chunk(reader: &mut Reader<'_>, kind: Kind, codec: Codec) -> Result<ReadChunk, UnexpectedEnd> {
    let chunk = ChunkRecord(reader.record("a chunk")?);
    let (mips, end) = match kind {
        Kind::General => ((0, 0), reader.u32("a chunk's end mark")?),
        Kind::Textures | Kind::Gnf => {
            let rest = reader.record::<8>("a chunk's mip maps")?;
            ((rest.u16_at::<0>(), rest.u16_at::<2>()), rest.u32_at::<4>())
        }
    };
    let size = chunk.size();
    let (packed, codec) = if chunk.packed() == 0 { (size, Codec::Stored) } else { (chunk.packed(), codec) };
    let extent =
        Extent { offset: chunk.offset(), packed, size: Some(size), codec, prefix: ExtentPrefix::NONE };
    Ok(ReadChunk { extent, mips, end })
}
