//! The archives of Fallout 4, Fallout 76 and Starfield (BA2, "BTDX"; FORMATS.md sections 3 and 5).
//!
//! `GNRL` archives hold files, `DX10` archives hold textures as the chunks of their mip maps, without the DDS header, and
//! `GNMF` archives the same for the PlayStation 4, without the GNF header (section 6; \[unverified\] on a real archive).

use std::sync::Arc;

use super::hash::{Family, Hash};
use super::{
    About, Archive, Beyond, Codec, Entry, Extent, ExtentPrefix, Files, Format, Heads, Name, Notes, Options,
    ParseError,
};
use crate::read::{Missing, Reader};
use crate::texture::{dds, gnf, xbox};

/// This format's row in [`super::FORMATS`].
pub const FORMAT: Format = Format { name: "BA2", claims, parse };

const MAGIC: &[u8] = b"BTDX";

/// What every chunk ends with.
const SENTINEL: u32 = 0xBAAD_F00D;

fn claims(archive: &[u8]) -> bool {
    archive.starts_with(MAGIC)
}

fn parse<'a>(archive: &'a [u8], options: &Options) -> Result<Archive<'a>, ParseError> {
    let mut notes = Notes::new(&options.limits);
    let (header, records) = Header::read(archive, options, &mut notes)?;
    let mut beyond = Beyond::new(header.len);
    let (heads, has_one_extent_each) = check_records(&header, records.clone(), &mut beyond, &mut notes)?;
    let names = match header.names {
        0 => Reader::new(&[]),
        start => Reader::at(archive, start, "the names").unwrap_or_else(|_| Reader::new(&[])),
    };
    let unnamed = header.files.saturating_sub(count_names(names.clone(), header.files));
    match header.names {
        0 if header.files > 0 => {
            notes.add(16, || "it stores no names: its files are listed by hash".into());
        }
        start if unnamed > 0 => {
            notes.add(start, || format!("the table of names ends early: {unnamed} files are listed by hash"));
        }
        _ => {}
    }
    notes.add_beyond(&beyond, "chunks");
    let (kind, codec, count) = (header.kind, header.codec, header.files);
    Ok(Archive {
        about: header.about(&heads),
        hashes: Family::Fo4,
        files: Arc::new(Tables { kind, codec, count, records, names, has_one_extent_each }),
        heads: Arc::new(heads),
        sniffed: Vec::new(),
        notes: notes.kept,
    })
}

/// What the archive holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    General,
    Textures,
    Gnf,
}

impl Kind {
    const ALL: [Self; 3] = [Self::General, Self::Textures, Self::Gnf];

    /// The code in the header.
    fn code(self) -> &'static str {
        match self {
            Self::General => "GNRL",
            Self::Textures => "DX10",
            Self::Gnf => "GNMF",
        }
    }

    /// Length of a record before its chunks, in bytes; each record repeats it.
    fn record_len(self) -> u16 {
        match self {
            Self::General => 16,
            Self::Textures => 24,
            Self::Gnf => 48,
        }
    }

    /// How much of that is its own.
    fn rest_of_record(self) -> u64 {
        u64::from(self.record_len()).saturating_sub(16)
    }

    /// Length of chunks, in bytes.
    fn chunks_len(self, chunks: u8) -> u64 {
        let each: u64 = if self == Self::General { 20 } else { 24 };
        each.saturating_mul(u64::from(chunks))
    }
}

/// The header, and the length of the file that it stands in.
struct Header {
    version: u32,
    /// Whether version or kind are not known, and what follows the header was chosen by how it fits.
    is_forced: bool,
    kind: Kind,
    files: u32,
    /// Offset of the names; 0 where there are none.
    names: u64,
    /// How packed chunks are packed.
    codec: Codec,
    /// Of the whole archive, in bytes.
    len: u64,
}

impl Header {
    /// Reads the header, and answers it with a reader of what follows.
    fn read<'a>(
        archive: &'a [u8],
        options: &Options,
        notes: &mut Notes,
    ) -> Result<(Self, Reader<'a>), ParseError> {
        let mut reader = Reader::new(archive);
        let len = reader.left();
        reader.skip(4, "the magic number")?;
        let version = reader.u32("the version")?;
        let code = reader.array::<4>("the kind")?;
        let files = reader.u32("the count of files")?;
        let names = reader.u64("the offset of the names")?;
        let known_version = matches!(version, 1..=3 | 7 | 8).then_some(version);
        if known_version.is_none() && !options.force {
            return Err(ParseError::unsupported(
                4,
                format!("BA2 version {version}; 1, 2, 3, 7 and 8 are known"),
            ));
        }
        let known_kind = Kind::ALL.into_iter().find(|kind| kind.code().as_bytes() == code);
        if known_kind.is_none() && !options.force {
            let code = code.escape_ascii();
            return Err(ParseError::unsupported(
                8,
                format!("BA2 of kind \"{code}\"; GNRL, DX10 and GNMF are known"),
            ));
        }
        let (layout, kind) = nearest(&reader, known_version, known_kind);
        let is_forced = known_version.is_none() || known_kind.is_none();
        if is_forced {
            let (code, kind) = (code.escape_ascii(), kind.code());
            notes.add(4, || {
                format!(
                    "BA2 version {version} of kind \"{code}\" is not known; it was forced to be read as version \
                     {layout} of kind {kind}"
                )
            });
        }
        options.limits.admit(12, u64::from(files), "files")?;
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
                // Files other than textures lie in the archives of all platforms alike.
                Heads::None => "PC or a console",
            },
            flags: 0,
            flag_names: Vec::new(),
        }
    }
}

/// The version and kind by whose layout an archive is read: its own where they are known. For others every record tells
/// its length, so that the layout is taken in which the first one tells a length that is right; where none does, the
/// plainest. `reader` stands behind the fields that all versions share.
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

/// Reads all records once, which tells whether they are sound; answers heads, and whether every file has one chunk.
fn check_records(
    header: &Header,
    mut reader: Reader<'_>,
    beyond: &mut Beyond,
    notes: &mut Notes,
) -> Result<(Heads, bool), ParseError> {
    // What is left of the file holds the records, which bounds their count whatever the header says.
    let fit = reader.left().checked_div(u64::from(header.kind.record_len())).unwrap_or(0);
    let room = usize::try_from(u64::from(header.files).min(fit)).unwrap_or(0);
    let mut heads = match header.kind {
        Kind::General => Heads::None,
        Kind::Textures => Heads::Textures(Vec::with_capacity(room)),
        Kind::Gnf => Heads::Gnf(Vec::with_capacity(room)),
    };
    let mut has_one_extent_each = true;
    for _ in 0..header.files {
        let record = Record::read(&mut reader, header.kind)?;
        match &mut heads {
            Heads::None => {}
            Heads::Textures(textures) => textures.push(read_texture(&mut reader, notes)?),
            Heads::Gnf(descriptors) => {
                descriptors.push(gnf::Descriptor(reader.array("a texture's description")?))
            }
        }
        has_one_extent_each &= record.chunks == 1;
        for _ in 0..record.chunks {
            let (extent, end) = read_chunk(&mut reader, header.kind, header.codec)?;
            beyond.look(&extent);
            if end != SENTINEL {
                let at = reader.position().saturating_sub(4);
                notes.add(at, || format!("a chunk ends in {end:08X} instead of BAADF00D"));
            }
        }
    }
    Ok((heads, has_one_extent_each))
}

/// How many of `most` names there are.
fn count_names(mut names: Reader<'_>, most: u32) -> u32 {
    (0..most).find(|_| names.wstring("a name").is_err()).unwrap_or(most)
}

/// Where the tables are, once they were found sound.
#[derive(Clone, Debug)]
struct Tables<'a> {
    kind: Kind,
    /// How packed chunks are packed.
    codec: Codec,
    /// Files.
    count: u32,
    records: Reader<'a>,
    /// Empty where there are none.
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
            let Record { hash, extension, chunks } = Record::read(&mut records, self.kind).ok()?;
            let rest = self.kind.rest_of_record().saturating_add(self.kind.chunks_len(chunks));
            records.skip(rest, "a record").ok()?;
            let name = names.wstring("a name").map_or_else(
                // Behind a name that is cut off nothing is one.
                |_| {
                    names = Reader::new(&[]);
                    Name::Unknown { extension }
                },
                Name::Path,
            );
            Some(Entry { name, hash, extents: chunks })
        }))
    }

    fn extents(&self) -> Box<dyn Iterator<Item = Extent> + '_> {
        let (mut records, mut files, mut chunks) = (self.records.clone(), self.count, 0_u8);
        Box::new(std::iter::from_fn(move || {
            while chunks == 0 {
                files = files.checked_sub(1)?;
                chunks = Record::read(&mut records, self.kind).ok()?.chunks;
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

/// What the records of all kinds begin with.
struct Record {
    hash: Hash,
    extension: [u8; 4],
    chunks: u8,
}

impl Record {
    const LEN: usize = 16;

    /// The hash of the file, its extension and that of the folder; a data file index, a count of chunks and the length of
    /// the record.
    #[inline]
    fn read(reader: &mut Reader<'_>, kind: Kind) -> Result<Self, ParseError> {
        let [a, b, c, d, extension @ .., e, f, g, h, _, chunks, low, high] =
            reader.array::<{ Self::LEN }>("a file's record")?;
        let declared = u16::from_le_bytes([low, high]);
        let record_len = kind.record_len();
        if declared != record_len {
            return Err(ParseError::corrupt(
                reader.position().saturating_sub(2),
                format!("a record of {declared} bytes; {record_len} is right"),
            ));
        }
        let stem = u64::from(u32::from_le_bytes([a, b, c, d]));
        let file = stem.wrapping_shl(32) | u64::from(u32::from_le_bytes(extension));
        let folder = u64::from(u32::from_le_bytes([e, f, g, h]));
        Ok(Self { hash: Hash { folder, file }, extension, chunks })
    }
}

/// The kind-specific part of a DX10 record.
fn read_texture(reader: &mut Reader<'_>, notes: &mut Notes) -> Result<xbox::Texture, ParseError> {
    let at = reader.position();
    let height = reader.u16("a texture's height")?;
    let width = reader.u16("a texture's width")?;
    let mips = reader.u8("a texture's count of mip maps")?;
    let format = reader.u8("a texture's format")?;
    let flags = reader.u8("a texture's flags")?;
    let tile_mode = reader.u8("a texture's tile mode")?;
    let dds = dds::Texture { width, height, mips, format, cube: flags & 1 != 0 };
    if !dds.is_known() {
        notes.add(at, || {
            format!("texture format {format} has no DDS header of its own; a DX10 header names the number")
        });
    }
    let texture = xbox::Texture { dds, tile_mode };
    if !texture.is_linear() {
        notes.add(at, || format!("tile mode {tile_mode}: texels are arranged for an Xbox One"));
    }
    Ok(texture)
}

/// A chunk: its place, its two sizes, for textures its mip maps (which say nothing about the order); and what it ends
/// with.
fn read_chunk(reader: &mut Reader<'_>, kind: Kind, codec: Codec) -> Result<(Extent, u32), Missing> {
    // Fields of one record are checked for together: there are hundreds of thousands of records.
    let [a, b, c, d, e, f, g, h, p, q, r, s, t, u, v, w] = reader.array("a chunk")?;
    let end = match kind {
        Kind::General => reader.array("a chunk's end mark")?,
        Kind::Textures | Kind::Gnf => {
            let [_, _, _, _, end @ ..] = reader.array::<8>("a chunk's mip maps")?;
            end
        }
    };
    let offset = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
    let packed = u32::from_le_bytes([p, q, r, s]);
    let size = u32::from_le_bytes([t, u, v, w]);
    let end = u32::from_le_bytes(end);
    let (packed, codec) = if packed == 0 { (size, Codec::Stored) } else { (packed, codec) };
    Ok((Extent { offset, packed, size: Some(size), codec, prefix: ExtentPrefix::NONE }, end))
}
