//! The archives of Fallout 4, Fallout 76 and Starfield (BA2, "BTDX"; FORMATS.md sections 3 and 5).
//!
//! `GNRL` archives contain files. `DX10` archives contain textures in chunks of their mip maps,
//! without the DDS header. `GNMF` archives contain textures for the PlayStation 4 in the same way,
//! without the GNF header (section 6; \[unverified\] on a real archive).

use std::sync::Arc;

use super::archive::{About, Archive};
use super::detect::Format;
use super::entry::{Entry, Name};
use super::error::ParseError;
use super::extent::{Codec, Extent, ExtentPrefix};
use super::files::Files;
use super::hash::{Family, Hash};
use super::head::Heads;
use super::limits::Options;
use super::past_end::PastEnd;
use crate::note::{NoteCode, Notes};
use crate::read::{Bytes, Reader, Record, UnexpectedEnd};
use crate::texture::{dds, gnf, xbox};

/// This format's row in [`super::FORMATS`].
pub const FORMAT: Format =
    Format { name: "BA2", extensions: &["ba2"], shared_extensions: &[], recognises, parse };

const MAGIC: &[u8] = b"BTDX";

/// The word at the end of every chunk record.
const SENTINEL: u32 = 0xBAAD_F00D;

/// Length of the common beginning of file records of all kinds, in bytes.
const RECORD_START: usize = 16;
/// Length of the common beginning of chunk records of all kinds, in bytes.
const CHUNK_START: usize = 16;

fn recognises(archive: Bytes<'_>) -> bool {
    archive.starts_with(MAGIC)
}

fn parse<'a>(archive: Bytes<'a>, options: &Options) -> Result<Archive<'a>, ParseError> {
    let mut notes = Notes::new(options.limits.notes);
    let (header, records) = Header::read(archive, options, &mut notes)?;
    let mut past_end = PastEnd::new(header.len);
    let mut walked = records.clone();
    let (heads, has_one_extent_each) = check_records(&header, &mut walked, &mut past_end, &mut notes)?;
    let names = match header.names {
        0 => Reader::empty(),
        start => Reader::at(archive, start, "the names").unwrap_or_else(|_| Reader::empty()),
    };
    let mut walked_names = names.clone();
    let unnamed = header.files.saturating_sub(count_names(&mut walked_names, header.files));
    let tables = vec![0..walked.position(), names.until(&walked_names).range()];
    match header.names {
        0 if header.files > 0 => {
            notes.add_at(NoteCode::ArchiveNameless, 16, || {
                "the archive stores no names: its files are listed by hash unless --names supplies their \
                 paths"
                    .into()
            });
        }
        start if unnamed > 0 => {
            notes.add_at(NoteCode::NamesEndEarly, start, || {
                format!(
                    "the table of names ends early: {unnamed} files are listed by hash unless --names \
                     supplies their paths"
                )
            });
        }
        _ => {}
    }
    past_end.add_note(&mut notes, "chunks");
    let (kind, codec, count) = (header.kind, header.codec, header.files);
    Ok(Archive {
        about: header.about(&heads),
        hashes: Family::Fo4,
        files: Arc::new(Tables { kind, codec, count, records, names, has_one_extent_each }),
        heads: Arc::new(heads),
        sniffed: Vec::new(),
        tables,
        notes: notes.into_vec(),
    })
}

/// The kind of archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    General,
    Textures,
    Gnf,
}

impl Kind {
    const ALL: [Self; 3] = [Self::General, Self::Textures, Self::Gnf];

    /// The code of this kind in the header.
    fn code(self) -> &'static str {
        match self {
            Self::General => "GNRL",
            Self::Textures => "DX10",
            Self::Gnf => "GNMF",
        }
    }

    /// Length of a file record without its chunk records, in bytes. Each record states it.
    fn record_len(self) -> u16 {
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
    fn chunks_len(self, chunks: u8) -> u64 {
        let each: u64 = if self == Self::General { 20 } else { 24 };
        each.saturating_mul(u64::from(chunks))
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
        let (layout, kind) = nearest(&reader, known_version, known_kind);
        let is_forced = known_version.is_none() || known_kind.is_none();
        if is_forced {
            let (code, kind) = (code.escape_ascii(), kind.code());
            notes.add_at(NoteCode::VersionUnknown, 4, || {
                format!(
                    "BA2 version {version} of kind \"{code}\" is not known; --force reads it as \
                     version {layout} of kind {kind}"
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

/// The version and kind whose layout is used to read an archive. If the archive's own are known,
/// these are used. Otherwise it is the layout in which the first record states the right length, or
/// the plainest if there is none. `reader` is positioned after the fields that all versions share.
fn nearest(reader: &Reader<'_>, version: Option<u32>, kind: Option<Kind>) -> (u32, Kind) {
    let fits = |version: u32, kind: Kind| {
        let mut record = reader.clone();
        let more = match version {
            2 => 8,
            3 => 12,
            _ => 0_u64,
        };
        record.skip(more.saturating_add(14), "a record").is_ok()
            && record.u16("a record's length").is_ok_and(|len| len == kind.record_len())
    };
    let versions = version.map_or(vec![1, 3, 2], |version| vec![version]);
    let kinds = kind.map_or(Kind::ALL.to_vec(), |kind| vec![kind]);
    let all = versions.iter().flat_map(|&version| kinds.iter().map(move |&kind| (version, kind)));
    let plainest = (version.unwrap_or(1), kind.unwrap_or(Kind::General));
    all.clone().find(|&(version, kind)| fits(version, kind)).unwrap_or(plainest)
}

/// Walks all records once to check them. Returns the heads, and whether every file has one chunk.
fn check_records(
    header: &Header,
    reader: &mut Reader<'_>,
    past_end: &mut PastEnd,
    notes: &mut Notes,
) -> Result<(Heads, bool), ParseError> {
    // The rest of the file bounds the count of records, whatever the header states.
    let fit = reader.records_left(usize::from(header.kind.record_len()));
    let capacity = usize::try_from(header.files).unwrap_or(usize::MAX).min(fit);
    let mut heads = match header.kind {
        Kind::General => Heads::None,
        Kind::Textures => Heads::Textures(Vec::with_capacity(capacity)),
        Kind::Gnf => Heads::Gnf(Vec::with_capacity(capacity)),
    };
    let mut has_one_extent_each = true;
    for _ in 0..header.files {
        let record = FileRecord::read(reader, header.kind)?;
        match &mut heads {
            Heads::None => {}
            Heads::Textures(textures) => textures.push(read_texture(reader, notes)?),
            Heads::Gnf(descriptors) => {
                let record = reader.record::<32>("a texture's description")?;
                descriptors.push(gnf::Descriptor(*record.bytes_at::<0, 32>()));
            }
        }
        has_one_extent_each &= record.chunks() == 1;
        for _ in 0..record.chunks() {
            let (extent, end) = read_chunk(reader, header.kind, header.codec)?;
            past_end.check(&extent);
            if end != SENTINEL {
                let at = reader.position().saturating_sub(4);
                notes.add_at(NoteCode::TablesOdd, at, || {
                    format!("a chunk ends in {end:08X} instead of BAADF00D")
                });
            }
        }
    }
    Ok((heads, has_one_extent_each))
}

/// Counts the names, at most `most`. Moves `names` past them.
fn count_names(names: &mut Reader<'_>, most: u32) -> u32 {
    (0..most).find(|_| names.wstring("a name").is_err()).unwrap_or(most)
}

/// The checked tables of an archive.
#[derive(Clone, Debug)]
struct Tables<'a> {
    kind: Kind,
    /// Codec of packed chunks.
    codec: Codec,
    /// Number of files.
    count: u32,
    records: Reader<'a>,
    /// Empty if the archive stores no names.
    names: Reader<'a>,
    /// Whether every file has one chunk.
    has_one_extent_each: bool,
}

impl<'a> Files<'a> for Tables<'a> {
    fn len(&self) -> usize {
        usize::try_from(self.count).unwrap_or(usize::MAX)
    }

    fn entries(&self) -> Box<dyn Iterator<Item = Entry<'a>> + '_> {
        let (mut records, mut names) = (self.records.clone(), self.names.clone());
        Box::new((0..self.count).map_while(move |_| {
            let record = FileRecord::read(&mut records, self.kind).ok()?;
            let rest = self.kind.rest_of_record().saturating_add(self.kind.chunks_len(record.chunks()));
            records.skip(rest, "a record").ok()?;
            let name = names.wstring("a name").map_or_else(
                // The bytes after a truncated name are not a name.
                |_| {
                    names = Reader::empty();
                    Name::Unknown { extension: record.extension() }
                },
                Name::Path,
            );
            Some(Entry { name, hash: record.hash(), extents: record.chunks() })
        }))
    }

    fn extents(&self) -> Box<dyn Iterator<Item = Extent> + '_> {
        let (mut records, mut files, mut chunks) = (self.records.clone(), self.count, 0_u8);
        Box::new(std::iter::from_fn(move || {
            while chunks == 0 {
                files = files.checked_sub(1)?;
                chunks = FileRecord::read(&mut records, self.kind).ok()?.chunks();
                records.skip(self.kind.rest_of_record(), "a record").ok()?;
            }
            chunks = chunks.saturating_sub(1);
            read_chunk(&mut records, self.kind, self.codec).ok().map(|(extent, _)| extent)
        }))
    }

    fn has_one_extent_each(&self) -> bool {
        self.has_one_extent_each
    }
}

/// The common beginning of file records of all kinds (FORMATS.md section 3).
struct FileRecord<'a>(Record<'a, RECORD_START>);

impl<'a> FileRecord<'a> {
    /// Reads the next record. Its stated length must match its kind.
    #[inline]
    fn read(reader: &mut Reader<'a>, kind: Kind) -> Result<Self, ParseError> {
        let record = Self(reader.record("a file's record")?);
        if record.len() != kind.record_len() {
            return Err(record.wrong_length(kind, reader.position()));
        }
        Ok(record)
    }

    /// The error of a record that ends at `end`.
    #[cold]
    fn wrong_length(&self, kind: Kind, end: u64) -> ParseError {
        let (stated, record_len) = (self.len(), kind.record_len());
        let why = format!("a file's record states its length as {stated} bytes instead of {record_len}");
        ParseError::corrupt(end.saturating_sub(2), why)
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

    /// How many chunks the file has. The byte before it is an index of data files, which is 0 in
    /// every known archive.
    fn chunks(&self) -> u8 {
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

/// Reads a chunk record. Returns its extent and the word at its end. For textures, the first and
/// last mip precede that word. They do not determine the order of the chunks and are not needed.
#[inline]
fn read_chunk(reader: &mut Reader<'_>, kind: Kind, codec: Codec) -> Result<(Extent, u32), UnexpectedEnd> {
    let chunk = ChunkRecord(reader.record("a chunk")?);
    let end = match kind {
        Kind::General => reader.u32("a chunk's end mark")?,
        Kind::Textures | Kind::Gnf => reader.record::<8>("a chunk's mip maps")?.u32_at::<4>(),
    };
    let size = chunk.size();
    let (packed, codec) = if chunk.packed() == 0 { (size, Codec::Stored) } else { (chunk.packed(), codec) };
    let extent =
        Extent { offset: chunk.offset(), packed, size: Some(size), codec, prefix: ExtentPrefix::NONE };
    Ok((extent, end))
}
