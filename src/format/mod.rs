//! The waist of the hourglass: every archive format becomes an [`Archive`] here, and nothing below knows formats.
//!
//! Parsing is pure. It takes an archive's bytes and gives tables or a [`ParseError`]; it never panics, and holds
//! resources in proportion to the tables' own size, whatever the bytes. A format is one file of this folder and one
//! line of [`FORMATS`].

#![deny(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::as_conversions
)]

pub mod ba2;
pub mod encoding;
mod error;
mod files;
pub mod hash;
mod head;
pub mod legacy;
pub mod name;
mod sniff;
pub mod tes3;
pub mod tes4;

pub use error::{ParseError, ParseErrorKind};
pub use files::{Entries, FileList, Files};
pub use head::{Head, Heads, LinearTexture};

use std::sync::Arc;

/// An archive's tables, borrowing names from its bytes.
#[derive(Clone, Debug)]
pub struct Archive<'a> {
    /// What it is, for people.
    pub about: About,
    /// Which function made the hashes of [`Entry::hash`].
    pub hashes: hash::Family,
    /// Its files; [`Archive::entries`] and [`Archive::extents`] walk them.
    pub files: Arc<dyn Files<'a> + 'a>,
    /// What is put in front of its files.
    pub heads: Arc<Heads>,
    /// Files without names whose first bytes say what they are: places among the entries, ascending, and the
    /// extension that such files have. A guess, where a [`Name`] is what is stored.
    pub sniffed: Vec<(u32, &'static str)>,
    /// What is unusual about it, first come first, at most [`Limits::notes`].
    pub notes: Vec<Note>,
}

/// What an archive says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The format's name in [`FORMATS`].
    pub format: &'static str,
    /// The version number as stored; 0 where the format has none.
    pub version: u32,
    /// What tells kinds of the format apart, such as `GNRL`; empty where there are none.
    pub kind: &'static str,
    /// The games that this version is known from.
    pub games: &'static str,
    /// The platforms that it may be made for, as far as its bytes tell.
    pub platform: &'static str,
    /// The archive's own flags, as stored.
    pub flags: u32,
    /// The meaning of each flag that is set.
    pub flag_names: Vec<&'static str>,
}

/// A peculiarity of an archive that is worth a word, but no error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Where, in bytes from the start of the archive.
    pub at: u64,
    /// What.
    pub what: String,
}

/// One file in an archive.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Its name, as far as the archive tells it.
    pub name: Name<'a>,
    /// Its hashes as stored.
    pub hash: hash::Hash,
    /// How many of the archive's extents are its own; they follow those of the entry before it.
    pub extents: u8,
}

/// What an archive stores of a file's name, in its own code page and with its own separators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name<'a> {
    /// One string: folders and file.
    Path(&'a [u8]),
    /// Folder and file apart, either of which may be left out and be known by its hash alone.
    Split {
        /// The folder's full path.
        folder: Option<&'a [u8]>,
        /// The file's name within it.
        file: Option<&'a [u8]>,
    },
    /// A number, which people read as decimal digits: Daggerfall's archives of sounds and models.
    Number(u32),
    /// Only hashes are known, and the extension (up to four characters) where the format keeps it apart.
    Unknown {
        /// NUL-padded, without its dot.
        extension: [u8; 4],
    },
}

impl Name<'_> {
    /// Whether folder and file are both stored, so that a hash can be made of them.
    pub fn is_whole(&self) -> bool {
        match self {
            Self::Path(path) => !path.is_empty(),
            Self::Split { folder, file } => folder.is_some() && file.is_some_and(|file| !file.is_empty()),
            Self::Number(_) => true,
            Self::Unknown { .. } => false,
        }
    }

    /// Folder and file of a whole name, as [`hash::Family::of`] takes them; the folder may still be part of the file.
    pub fn parts(&self) -> Option<(&[u8], &[u8])> {
        match self {
            Self::Path(path) => Some((&b""[..], *path)),
            Self::Split { folder, file } => Some(((*folder)?, (*file)?)),
            Self::Number(_) | Self::Unknown { .. } => None,
        }
        .filter(|_| self.is_whole())
    }
}

/// A file of one archive among those that were opened together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryId {
    /// The archive's place in load order.
    pub layer: u16,
    /// The file's place among [`Archive::entries`].
    pub entry: u32,
}

/// A run of bytes in an archive that becomes a run of bytes in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Where it begins, in bytes from the start of the archive.
    pub offset: u64,
    /// How many bytes it takes there, its lead included.
    pub packed: u32,
    /// How many bytes it becomes; `None` where only its lead tells.
    pub size: Option<u32>,
    /// How it is packed.
    pub codec: Codec,
    /// What stands in front of the payload.
    pub prefix: ExtentPrefix,
}

/// How an extent's payload is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Codec {
    /// Not at all.
    Stored,
    /// A zlib stream; raw deflate where the zlib header is missing.
    Zlib,
    /// An LZ4 frame.
    Lz4Frame,
    /// One LZ4 block without a frame.
    Lz4Block,
    /// Xbox 360 LZX frames.
    Xmem,
    /// The archive names a method that is not known: the payload's first bytes decide.
    Detect,
    /// Packed in a way that nobody has written down: the file is listed, and reading it is an error.
    Unsupported,
}

impl Codec {
    /// The codec's name in listings and attributes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Zlib => "zlib",
            Self::Lz4Frame => "lz4 frame",
            Self::Lz4Block => "lz4 block",
            Self::Xmem => "xmem",
            Self::Detect => "unknown method",
            Self::Unsupported => "unsupported",
        }
    }
}

/// What an extent keeps in front of its payload, counted in its packed length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtentPrefix {
    /// A length byte and a path: the embedded name of v104 and v105.
    pub name: bool,
    /// A u32 with the unpacked size in bytes. An extent that ends before it is an empty file.
    pub size: bool,
}

impl ExtentPrefix {
    /// Nothing stands in front of the payload.
    pub const NONE: Self = Self { name: false, size: false };

    /// Whether there is nothing in front of the payload.
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }
}

/// What we are willing to hold, whatever an archive declares.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Entries of one archive. Every entry costs at least 16 bytes of table, so that this is an archive whose
    /// tables alone are 256 MiB; the largest known has some 300,000.
    pub entries: u32,
    /// Bytes that one packed extent may become. The largest known texture chunk is some 350 MB.
    pub extent: u32,
    /// Notes kept of one archive.
    pub notes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { entries: 1 << 24, extent: 1 << 30, notes: 32 }
    }
}

impl Limits {
    /// Refuses a count that stands at `at`, where it is more than we are willing to hold.
    fn admit(&self, at: u64, count: u64, things: &str) -> Result<(), ParseError> {
        match count > u64::from(self.entries) {
            true => Err(ParseError::limit(at, format!("{count} {things}; we hold at most {}", self.entries))),
            false => Ok(()),
        }
    }
}

/// How an archive is to be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// What we are willing to hold.
    pub limits: Limits,
    /// Read versions and kinds that nobody knows by the nearest layout that is known, instead of refusing them.
    pub force: bool,
}

/// A row of [`FORMATS`].
#[derive(Debug)]
pub struct Format {
    /// What people call it.
    pub name: &'static str,
    /// Whether an archive with these bytes is of this format, whatever its version.
    pub claims: fn(&[u8]) -> bool,
    /// Reads the tables of an archive that is claimed.
    pub parse: for<'a> fn(&'a [u8], &Options) -> Result<Archive<'a>, ParseError>,
}

/// Every format that can be read, in the order in which they are tried.
///
/// Those that are known by their arithmetic go before Morrowind's: its magic number is a likely count of files.
pub static FORMATS: [Format; 5] =
    [tes4::FORMAT, ba2::FORMAT, legacy::ARENA, legacy::DAGGERFALL, tes3::FORMAT];

/// Reads an archive's tables, as [`parse_with`] does, of known versions and kinds.
///
/// # Errors
/// Those of [`parse_with`].
pub fn parse<'a>(archive: &'a [u8], limits: &Limits) -> Result<Archive<'a>, ParseError> {
    parse_with(archive, &Options { limits: *limits, force: false })
}

/// Reads an archive's tables.
///
/// # Errors
/// [`ParseErrorKind::Unsupported`] where no format claims the bytes, and says what they look like; otherwise what
/// the format found.
pub fn parse_with<'a>(archive: &'a [u8], options: &Options) -> Result<Archive<'a>, ParseError> {
    let format = FORMATS.iter().find(|format| (format.claims)(archive)).ok_or_else(|| {
        ParseError::unsupported(0, format!("not a BSA or BA2; it looks like {}", looks_like(archive)))
    })?;
    let mut parsed = (format.parse)(archive, options)?;
    parsed.sniffed = sniff::unnamed(archive, &parsed);
    Ok(parsed)
}

/// What bytes that no format claims seem to be, in words that complete "it looks like".
fn looks_like(bytes: &[u8]) -> &'static str {
    /// First bytes of what people mistake for archives or download in place of one.
    const KNOWN: [(&[u8], &str); 13] = [
        (b"PK\x03\x04", "a zip file: unpack it first"),
        (b"7z\xbc\xaf\x27\x1c", "a 7-Zip file: unpack it first"),
        (b"Rar!", "a RAR file: unpack it first"),
        (b"\x1f\x8b", "a gzip file: unpack it first"),
        (b"DDS ", "a loose DDS texture"),
        (b"TES4", "a plugin (ESP, ESM or ESL)"),
        (b"TES3", "a Morrowind plugin"),
        (b"NetImmerse", "a loose NIF mesh"),
        (b"Gamebryo", "a loose NIF mesh"),
        (b"<!DOCTYPE", "a web page, saved in place of a download"),
        (b"<html", "a web page, saved in place of a download"),
        (b"BSArc", "a file of the compressor BSArc, which is unrelated"),
        (b"\x7fELF", "a program"),
    ];
    if bytes.is_empty() {
        return "an empty file: a download that was cut off?";
    }
    if let Some((_, what)) = KNOWN.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return what;
    }
    let start = bytes.get(..bytes.len().min(512)).unwrap_or(bytes);
    if start.iter().all(|&byte| byte == 0) {
        "zeros: a download that was cut off?"
    } else if start
        .iter()
        .all(|&byte| byte == b'\t' || byte == b'\n' || byte == b'\r' || (0x20..0x7f).contains(&byte))
    {
        "a text file"
    } else {
        "data of an unknown kind"
    }
}

/// Collects notes up to a limit, so that a hostile archive cannot fill memory with them.
#[derive(Debug)]
struct Notes {
    kept: Vec<Note>,
    limit: usize,
}

impl Notes {
    fn new(limits: &Limits) -> Self {
        Self { kept: Vec::new(), limit: limits.notes }
    }

    fn add(&mut self, at: u64, what: impl FnOnce() -> String) {
        if self.kept.len() < self.limit {
            self.kept.push(Note { at, what: what() });
        }
    }

    /// Notes that extents lie beyond the end of the archive; `things` is what people call them.
    fn add_beyond(&mut self, beyond: &Beyond, things: &str) {
        let Beyond { len, count } = beyond;
        if *count > 0 {
            self.add(*len, || {
                format!("the data of {count} {things} lies beyond the end: was the archive cut short?")
            });
        }
    }
}

/// Counts the extents that lie beyond the end of an archive of `len` bytes.
#[derive(Debug)]
struct Beyond {
    len: u64,
    count: u32,
}

impl Beyond {
    fn new(len: u64) -> Self {
        Self { len, count: 0 }
    }

    fn look(&mut self, extent: &Extent) {
        let is_beyond = extent.offset.saturating_add(u64::from(extent.packed)) > self.len;
        self.count = self.count.saturating_add(u32::from(is_beyond));
    }
}
