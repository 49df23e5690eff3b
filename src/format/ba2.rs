//! The archives of Fallout 4, Fallout 76 and Starfield (BA2, "BTDX"; FORMATS.md sections 3 and 5).
//!
//! `GNRL` archives hold files, `DX10` archives hold textures as the chunks of their mip maps, without the DDS header, and
//! `GNMF` archives the same for the PlayStation 4, without the GNF header (section 6; \[unverified\] on a real archive).

use super::hash::{Family, Hash};
use super::{About, Archive, Codec, Entry, Extent, Format, Heads, Lead, Name, Notes, Options, ParseError};
use crate::read::Reader;
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
    let (header, mut records) = Header::read(archive, options, &mut notes)?;
    let mut tables = Tables::with_room(&header, records.left());
    for _ in 0..header.files {
        tables.read_record(&header, &mut records, &mut notes)?;
    }
    if header.names != 0 {
        tables.read_names(archive, header.names, &mut notes);
    } else if header.files > 0 {
        notes.add(16, || "it stores no names: its files are listed by hash".into());
    }
    let Tables { entries, extents, heads } = tables;
    notes.add_beyond(&extents, header.len, "chunks");
    let (about, hashes) = (header.about(&heads), Family::Fo4);
    Ok(Archive { about, hashes, entries, extents, heads, sniffed: Vec::new(), notes: notes.kept })
}

/// What the archive holds.
#[derive(Clone, Copy, PartialEq, Eq)]
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

/// The tables as they grow.
struct Tables<'a> {
    entries: Vec<Entry<'a>>,
    extents: Vec<Extent>,
    heads: Heads,
}

impl<'a> Tables<'a> {
    /// `left` bytes hold the records, which bounds their count whatever the header says.
    fn with_room(header: &Header, left: u64) -> Self {
        let fit = left.checked_div(u64::from(header.kind.record_len())).unwrap_or(0);
        let room = usize::try_from(u64::from(header.files).min(fit)).unwrap_or(0);
        Self {
            entries: Vec::with_capacity(room),
            extents: Vec::with_capacity(room),
            heads: match header.kind {
                Kind::General => Heads::None,
                Kind::Textures => Heads::Textures(Vec::with_capacity(room)),
                Kind::Gnf => Heads::Gnf(Vec::with_capacity(room)),
            },
        }
    }

    fn read_record(
        &mut self,
        header: &Header,
        reader: &mut Reader<'a>,
        notes: &mut Notes,
    ) -> Result<(), ParseError> {
        let stem = reader.u32("a file's hash")?;
        let extension = reader.array::<4>("a file's extension")?;
        let folder = reader.u32("a folder's hash")?;
        reader.skip(1, "a data file index")?;
        let chunks = reader.u8("a count of chunks")?;
        let at = reader.position();
        let declared = reader.u16("a record's length")?;
        let record_len = header.kind.record_len();
        if declared != record_len {
            return Err(ParseError::corrupt(
                at,
                format!("a record of {declared} bytes; {record_len} is right"),
            ));
        }
        match &mut self.heads {
            Heads::None => {}
            Heads::Textures(textures) => textures.push(read_texture(reader, notes)?),
            Heads::Gnf(descriptors) => {
                descriptors.push(gnf::Descriptor(reader.array("a texture's description")?))
            }
        }
        for _ in 0..chunks {
            self.extents.push(read_chunk(header, reader, notes)?);
        }
        let file = u64::from(stem).wrapping_shl(32) | u64::from(u32::from_le_bytes(extension));
        let hash = Hash { folder: u64::from(folder), file };
        self.entries.push(Entry { name: Name::Unknown { extension }, hash, extents: chunks });
        Ok(())
    }

    /// Reads as many names as there are; entries without one stay known by their hashes.
    fn read_names(&mut self, archive: &'a [u8], start: u64, notes: &mut Notes) {
        let mut reader = Reader::at(archive, start, "the names").unwrap_or_else(|_| Reader::new(&[]));
        let mut named = 0_usize;
        for entry in &mut self.entries {
            match reader.wstring("a name") {
                Ok(name) => entry.name = Name::Path(name),
                Err(_) => break,
            }
            named = named.saturating_add(1);
        }
        let unnamed = self.entries.len().saturating_sub(named);
        if unnamed > 0 {
            notes.add(start, || format!("the table of names ends early: {unnamed} files are listed by hash"));
        }
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

/// A chunk: its place, its two sizes, for textures its mip maps (which say nothing about the order), a sentinel.
fn read_chunk(header: &Header, reader: &mut Reader<'_>, notes: &mut Notes) -> Result<Extent, ParseError> {
    let offset = reader.u64("a chunk's offset")?;
    let packed = reader.u32("a chunk's packed size")?;
    let size = reader.u32("a chunk's size")?;
    if header.kind != Kind::General {
        reader.skip(4, "a chunk's mip maps")?;
    }
    let at = reader.position();
    let sentinel = reader.u32("a chunk's end mark")?;
    if sentinel != SENTINEL {
        notes.add(at, || format!("a chunk ends in {sentinel:08X} instead of BAADF00D"));
    }
    let (packed, codec) = if packed == 0 { (size, Codec::Stored) } else { (packed, header.codec) };
    Ok(Extent { offset, packed, size: Some(size), codec, lead: Lead::NONE })
}
