//! The tables that are kept of one archive: where its extents are, and what its textures become.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::format::{Archive, Codec, Extent, ExtentPrefix, Head, Heads, LinearTexture};
use crate::limits::CACHE_BEYOND;
use crate::picture::{PictureError, RgbaTexture};
use crate::texture::file_header::{FileHeader, compatible};

/// The part of an archive's tables that says where its bytes are. It is kept after the parse.
#[derive(Debug)]
pub struct LayerTables {
    extents: ExtentTable,
    heads: Arc<Heads>,
    textures: TextureForm,
    converted: ConvertedFiles,
    /// Where the tables themselves are.
    ranges: Box<[Range<u64>]>,
}

/// The form in which an entry is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OtherForm<'t> {
    /// How its texels are put into rows, and their size in rows; `None` if they stay as they are.
    pub(crate) rows: Option<(LinearTexture, u64)>,
    /// How it is shown after that, once its header was read; `None` if no header decides that.
    pub(crate) shown: Option<&'t OnceLock<Converted>>,
}

impl LayerTables {
    pub fn new(archive: &Archive<'_>) -> Self {
        let textures = TextureForm::Default;
        let converted = ConvertedFiles::default();
        let (extents, heads) = (ExtentTable::new(archive), archive.heads.clone());
        Self { extents, heads, textures, converted, ranges: archive.tables.clone().into() }
    }

    /// Shows the textures in another form. `dds_files` returns the numbers of the DDS files in the archive,
    /// in order; it is called if the form needs them.
    #[must_use]
    pub fn presented(self, textures: TextureForm, dds_files: impl FnOnce() -> Vec<u32>) -> Self {
        let it = Self { textures, ..self };
        let heads = 0..u32::try_from(it.heads.len()).unwrap_or(u32::MAX);
        let converted = match textures {
            TextureForm::Rgba | TextureForm::RgbaTop | TextureForm::Compatible if heads.is_empty() => {
                ConvertedFiles::of_files(dds_files())
            }
            TextureForm::Rgba | TextureForm::RgbaTop => {
                let head = |entry| if it.has_huge_extent(entry) { Head::None } else { it.head(entry) };
                ConvertedFiles::of_heads(textures, heads.map(|entry| (head(entry), it.shown_len(entry))))
            }
            _ => ConvertedFiles::default(),
        };
        Self { converted, ..it }
    }

    /// Textures that should be linear but cannot be: how many there are of each tile mode.
    pub fn still_tiled(&self) -> BTreeMap<u8, usize> {
        let mut left = BTreeMap::new();
        if self.textures.is_linear() {
            let entries = 0..u32::try_from(self.heads.len()).unwrap_or(u32::MAX);
            for mode in entries.filter_map(|entry| self.head(entry).tile_mode()) {
                *left.entry(mode).or_insert(0) += 1;
            }
        }
        left
    }

    /// The entries that stay as they are stored, although another form was asked for, as far as their headers
    /// were read, and why.
    pub fn kept_textures(&self) -> impl Iterator<Item = (u32, &'static str)> {
        self.converted.kept()
    }

    /// Whether the tables place data beyond the end of an archive of `len` bytes.
    pub fn is_cut_off(&self, len: u64) -> bool {
        let end = |extent: Extent| extent.offset.saturating_add(u64::from(extent.packed));
        (0..self.extents.count()).any(|index| end(self.extents.get(index)) > len)
    }

    /// Whether an extent begins inside the tables. One that only ends there may be whole: some packers state
    /// too many bytes, and the names of a BA2 follow its data.
    pub(crate) fn have_start(&self, extent: &Extent) -> bool {
        extent.packed > 0 && self.ranges.iter().any(|range| range.contains(&extent.offset))
    }

    pub(crate) fn textures(&self) -> TextureForm {
        self.textures
    }

    /// The textures whose headers decide how they are shown.
    pub(crate) fn converted(&self) -> &ConvertedFiles {
        &self.converted
    }

    pub(crate) fn extents(&self, entry: u32) -> Range<u32> {
        self.extents.range(entry)
    }

    /// An extent. It has a size if the size is known by now.
    pub(crate) fn extent(&self, index: u32) -> Extent {
        self.extents.get(index)
    }

    pub(crate) fn extent_count(&self) -> u32 {
        self.extents.count()
    }

    /// Keeps the size of an extent that was read from the data.
    pub(crate) fn set_size(&self, index: u32, size: u32) {
        self.extents.set_size(index, size);
    }

    /// Whether the tables state the sizes of all files, or nothing more can be learnt.
    pub(crate) fn states_sizes(&self) -> bool {
        self.extents.states_sizes() && self.converted.is_all_known()
    }

    /// The header that is added in front of an entry's extents.
    pub(crate) fn head(&self, entry: u32) -> Head {
        let head = self.heads.get(entry as usize);
        match self.textures {
            TextureForm::Default => head,
            TextureForm::Raw => Head::None,
            TextureForm::Dds | TextureForm::Rgba | TextureForm::RgbaTop => self.linear_head(entry),
            TextureForm::Compatible => self.linear_head(entry).compatible(),
        }
    }

    /// The bytes of [`LayerTables::head`].
    pub(crate) fn head_bytes(&self, entry: u32) -> Cow<'static, [u8]> {
        let head = self.head(entry);
        if head.is_empty() {
            return Cow::Borrowed(&[]);
        }
        head.bytes(self.data_len(entry))
    }

    /// In which other form an entry is shown; `None` if it is shown as it is stored, which nearly all entries
    /// are.
    pub(crate) fn form(&self, entry: u32) -> Option<OtherForm<'_>> {
        let form = OtherForm { rows: self.rows(entry), shown: self.converted.file(entry) };
        (form.rows.is_some() || form.shown.is_some()).then_some(form)
    }

    /// How an entry's texels are put into rows, and their size in rows; `None` if they stay as they are.
    fn rows(&self, entry: u32) -> Option<(LinearTexture, u64)> {
        if !self.textures.is_linear() {
            return None;
        }
        let texture = self.heads.get(entry as usize).linear(self.data_len(entry))?;
        texture.linear_len().map(|len| (texture, len))
    }

    /// The tile mode of an entry's texels as they are shown; `None` if they are linear.
    pub(crate) fn tile_mode(&self, entry: u32) -> Option<u8> {
        match self.textures {
            TextureForm::Raw => self.heads.get(entry as usize).tile_mode(),
            _ => self.head(entry).tile_mode(),
        }
    }

    /// Whether the cache cannot keep one of an entry's extents while bands of pixels are added to it. The
    /// extent would be decoded again for each band.
    pub(crate) fn has_huge_extent(&self, entry: u32) -> bool {
        let extents = self.extents.range(entry).map(|index| self.extents.get(index));
        let mut packed = extents.filter(|extent| extent.codec != Codec::Stored);
        packed.any(|extent| extent.size.is_some_and(|size| u64::from(size) > CACHE_BEYOND))
    }

    /// Length of an entry's data after it is put into rows.
    fn shown_len(&self, entry: u32) -> u64 {
        let len = self.data_len(entry);
        let linear = self.heads.get(entry as usize).linear(len);
        linear.and_then(|texture| texture.linear_len()).unwrap_or(len)
    }

    fn linear_head(&self, entry: u32) -> Head {
        let head = self.heads.get(entry as usize);
        head.linear(self.data_len(entry)).map_or(head, |texture| texture.head())
    }

    /// How many bytes of texels a PC's texture has and how many it needs, if it lacks its first mip or a part
    /// of another.
    pub(crate) fn missing_texels(&self, entry: u32) -> Option<(u64, u64)> {
        let head = self.heads.get(entry as usize);
        let (needs, first_mip) = head.texel_bytes()?;
        let extents = self.extents.range(entry).map(|index| self.extents.get(index));
        let mut has = 0;
        let mut ends = Vec::new();
        for extent in extents {
            has += u64::from(extent.size.unwrap_or(extent.packed));
            ends.push(has);
        }
        // Packers leave out whole mips.
        let is_cut = || {
            let mips = head.mip_ends();
            !mips.is_empty() && ends.iter().any(|end| *end > 0 && !mips.contains(end))
        };
        (has < first_mip || has < needs && is_cut()).then_some((has, needs))
    }

    /// Unpacked size of an entry's data, as far as the tables state it. Formats with heads always state it.
    fn data_len(&self, entry: u32) -> u64 {
        let sizes = self.extents.range(entry).filter_map(|index| self.extents.get(index).size);
        sizes.map(u64::from).sum()
    }
}

// All extents of an archive, in 16 bytes each, because a mount may have millions. The few combinations of
// codec and prefix are stored once. A size that only the data states is filled in when it is read.

/// Marks a size that has not been read yet.
const UNKNOWN: u32 = u32::MAX;
/// Bits that store an offset; no file is larger. The other bits store the index of the layout.
const OFFSET_BITS: u32 = 56;
const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;

/// The extents of one archive, entry by entry.
#[derive(Debug)]
pub(crate) struct ExtentTable {
    records: Vec<ExtentRecord>,
    layouts: Vec<ExtentLayout>,
    /// Index of each entry's first extent, followed by the end of the last entry's extents. Empty
    /// if each entry has one extent.
    starts: Vec<u32>,
}

#[derive(Debug)]
struct ExtentRecord {
    offset_and_layout: u64,
    packed: u32,
    size: AtomicU32,
}

/// Properties that many extents share. A byte can number all combinations of codec and prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ExtentLayout {
    codec: Codec,
    prefix: ExtentPrefix,
    /// Whether the archive's tables state the size.
    has_size: bool,
}

impl ExtentTable {
    /// Takes the extents of an archive. The archive's length bounds their count, so it fits 32 bits.
    pub(crate) fn new(archive: &Archive<'_>) -> Self {
        let mut layouts = Vec::new();
        let mut records = Vec::with_capacity(archive.files.len());
        for extent in archive.extents() {
            let Extent { codec, prefix, .. } = extent;
            let layout = ExtentLayout { codec, prefix, has_size: extent.size.is_some() };
            let index = layouts.iter().position(|known| *known == layout).unwrap_or_else(|| {
                layouts.push(layout);
                layouts.len() - 1
            });
            // An offset that does not fit lies beyond the end of any file, and so does the clamped one.
            let offset = extent.offset.min(OFFSET_MASK);
            records.push(ExtentRecord {
                offset_and_layout: offset | (index as u64) << OFFSET_BITS,
                packed: extent.packed,
                size: AtomicU32::new(extent.size.unwrap_or(UNKNOWN)),
            });
        }
        records.shrink_to_fit();
        let starts = starts(archive, records.len());
        Self { records, layouts, starts }
    }

    pub(crate) fn count(&self) -> u32 {
        u32::try_from(self.records.len()).unwrap_or(u32::MAX)
    }

    /// The indices of an entry's extents; empty if there is no such entry.
    pub(crate) fn range(&self, entry: u32) -> Range<u32> {
        let index = entry as usize;
        if self.starts.is_empty() {
            return if index < self.records.len() { entry..entry + 1 } else { 0..0 };
        }
        match (self.starts.get(index), self.starts.get(index + 1)) {
            (Some(&start), Some(&end)) => start..end,
            _ => 0..0,
        }
    }

    /// An extent. It has a size if the size is known by now.
    pub(crate) fn get(&self, index: u32) -> Extent {
        let record = &self.records[index as usize];
        let layout = self.layouts[(record.offset_and_layout >> OFFSET_BITS) as usize];
        let size = record.size.load(Ordering::Relaxed);
        Extent {
            offset: record.offset_and_layout & OFFSET_MASK,
            packed: record.packed,
            size: (layout.has_size || size != UNKNOWN).then_some(size),
            codec: layout.codec,
            prefix: layout.prefix,
        }
    }

    /// Whether the archive's tables state the sizes of all extents.
    pub(crate) fn states_sizes(&self) -> bool {
        self.layouts.iter().all(|layout| layout.has_size)
    }

    /// Keeps a size that was read from the data. A size that equals the mark for unknown is reduced
    /// by one byte, and is still beyond all limits.
    pub(crate) fn set_size(&self, index: u32, size: u32) {
        self.records[index as usize].size.store(size.min(UNKNOWN - 1), Ordering::Relaxed);
    }
}

/// The first extent of each entry. None is greater than `most`, the number of extents, even if
/// another process is overwriting the archive.
fn starts(archive: &Archive<'_>, most: usize) -> Vec<u32> {
    if archive.files.has_one_extent_each() {
        return Vec::new();
    }
    let most = u32::try_from(most).unwrap_or(u32::MAX);
    let mut next = 0_u32;
    let mut starts = Vec::with_capacity(archive.files.len() + 1);
    starts.push(0);
    for entry in archive.entries() {
        next = next.saturating_add(u32::from(entry.extents)).min(most);
        starts.push(next);
    }
    starts
}

// How the textures of one archive are shown, if not as they are stored, as far as their headers were read.

/// How a texture is shown.
#[derive(Debug)]
pub(crate) enum Converted {
    /// As uncompressed pixels.
    Rgba(Box<RgbaTexture>),
    /// As it is stored, but under another header.
    Headed(Box<NewHeader>),
    /// As it is stored. The words say why it is not converted; they are empty if nothing had to be.
    Kept(&'static str),
}

/// A header that replaces the stored one.
#[derive(Debug)]
pub(crate) struct NewHeader {
    pub(crate) bytes: Vec<u8>,
    /// Length of the stored header in bytes.
    pub(crate) replaces: u64,
    /// Length of the stored file in bytes.
    stored_len: u64,
}

impl NewHeader {
    /// Length of the file with this header, in bytes.
    pub(crate) fn file_len(&self) -> u64 {
        self.bytes.len() as u64 + self.stored_len.saturating_sub(self.replaces)
    }
}

impl Converted {
    /// How a texture file of `len` bytes is shown in a form, by its first bytes.
    pub(crate) fn of(form: TextureForm, first: &[u8], len: u64) -> Self {
        let header = match FileHeader::parse(first, len) {
            Ok(header) => header,
            Err(error) => return Self::kept(form, &error.into()),
        };
        if form != TextureForm::Compatible {
            return match RgbaTexture::new(header, len) {
                Ok(texture) if form == TextureForm::RgbaTop => Self::Rgba(Box::new(texture.without_mips())),
                Ok(texture) => Self::Rgba(Box::new(texture)),
                Err(error) => Self::kept(form, &error),
            };
        }
        match compatible(first, &header) {
            Some(bytes) => Self::Headed(Box::new(NewHeader { bytes, replaces: header.len, stored_len: len })),
            None => Self::Kept(""),
        }
    }

    fn kept(form: TextureForm, error: &PictureError) -> Self {
        // For the compatible form, nothing has to be decoded.
        Self::Kept(if form == TextureForm::Compatible { "" } else { error.in_short() })
    }

    /// Length of the shown file in bytes; `None` if it is shown as it is stored.
    pub(crate) fn file_len(&self) -> Option<u64> {
        match self {
            Self::Rgba(texture) => Some(texture.file_len()),
            Self::Headed(header) => Some(header.file_len()),
            Self::Kept(_) => None,
        }
    }
}

/// Why a texture stays as it is: the cache cannot keep one of its extents.
pub(crate) const TOO_LARGE: &str = "larger than the cache";

/// The textures of one archive.
#[derive(Debug, Default)]
pub(crate) struct ConvertedFiles {
    /// The entries that may be textures, ascending.
    entries: Vec<u32>,
    /// How each is shown, once its header was read.
    files: Vec<OnceLock<Converted>>,
    /// Number of files whose headers were not read yet.
    unknown: AtomicUsize,
    /// Whether a file that stays as it is was reported.
    is_reported: AtomicBool,
}

impl ConvertedFiles {
    /// Files whose headers have to be read. The entries must be in order.
    pub(crate) fn of_files(entries: Vec<u32>) -> Self {
        let files = entries.iter().map(|_| OnceLock::new()).collect();
        Self { unknown: AtomicUsize::new(entries.len()), entries, files, is_reported: AtomicBool::new(false) }
    }

    /// Textures whose heads the archive's tables state, each with the length of its texels in bytes. An entry
    /// without a head has an extent that is too large.
    pub(crate) fn of_heads(form: TextureForm, heads: impl Iterator<Item = (Head, u64)>) -> Self {
        let file = |(head, len): (Head, u64)| match head {
            Head::None => Converted::Kept(TOO_LARGE),
            Head::Dds(_) => Converted::of(form, &head.bytes(len), head.len() + len),
            _ => Converted::Kept(PictureError::Tiled(0).in_short()),
        };
        let files: Vec<_> = heads.map(|head| OnceLock::from(file(head))).collect();
        Self {
            entries: (0..).take(files.len()).collect(),
            files,
            unknown: AtomicUsize::new(0),
            is_reported: AtomicBool::new(false),
        }
    }

    /// Whether the headers of all files were read.
    pub(crate) fn is_all_known(&self) -> bool {
        self.unknown.load(Ordering::Relaxed) == 0
    }

    /// How an entry is shown; `None` if the entry is not a texture.
    pub(crate) fn file(&self, entry: u32) -> Option<&OnceLock<Converted>> {
        let index = self.entries.binary_search(&entry).ok()?;
        self.files.get(index)
    }

    /// Sets how an entry is shown. A second call changes nothing.
    pub(crate) fn set(&self, entry: u32, file: Converted) {
        if self.file(entry).is_some_and(|cell| cell.set(file).is_ok()) {
            self.unknown.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether no file that stays as it is was reported so far. Only the first call returns true.
    pub(crate) fn is_first_kept(&self) -> bool {
        !self.is_reported.swap(true, Ordering::Relaxed)
    }

    /// The textures that stay as they are, as far as their headers were read, and why.
    pub(crate) fn kept(&self) -> impl Iterator<Item = (u32, &'static str)> {
        let reason = |cell: &OnceLock<Converted>| match cell.get()? {
            Converted::Kept(reason) if !reason.is_empty() => Some(*reason),
            _ => None,
        };
        self.entries.iter().zip(&self.files).filter_map(move |(entry, cell)| Some((*entry, reason(cell)?)))
    }
}

// The forms in which textures can be shown (`--textures`).

/// The form in which textures are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextureForm {
    /// PC textures as DDS files, console textures under the headers of their own tools.
    #[default]
    Default,
    /// Linear DDS files where these can be made; other textures as in [`TextureForm::Default`].
    Dds,
    /// Like [`TextureForm::Dds`], with headers that older programs can read, also in DDS files within
    /// archives. They state no sRGB.
    Compatible,
    /// The bytes as the archive stores them, without a header.
    Raw,
    /// Uncompressed pixels that every program reads, 32 bits each, including those of DDS files within
    /// archives. Textures that cannot be decoded are shown as in [`TextureForm::Dds`].
    Rgba,
    /// Like [`TextureForm::Rgba`], with only the largest mip.
    RgbaTop,
}

impl TextureForm {
    /// All forms with their names.
    pub const ALL: [(&'static str, Self); 6] = [
        ("default", Self::Default),
        ("dds", Self::Dds),
        ("compatible", Self::Compatible),
        ("raw", Self::Raw),
        ("rgba", Self::Rgba),
        ("rgba-top", Self::RgbaTop),
    ];

    /// Whether textures are shown as uncompressed pixels.
    pub(crate) fn is_pixels(self) -> bool {
        matches!(self, Self::Rgba | Self::RgbaTop)
    }

    /// Whether the texels of console textures are put into rows.
    pub(crate) fn is_linear(self) -> bool {
        matches!(self, Self::Dds | Self::Compatible | Self::Rgba | Self::RgbaTop)
    }
}
