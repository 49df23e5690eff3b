//! The tables that are kept of one archive: where its extents are, and what its textures become.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::converted::ConvertedFiles;
use super::extents::ExtentTable;
use super::texture_form::TextureForm;
use crate::format::{Archive, Codec, Extent, Head, Heads, LinearTexture};
use crate::limits::CACHE_BEYOND;

/// The part of an archive's tables that says where its bytes are. It is kept after the parse.
#[derive(Debug)]
pub struct LayerTables {
    extents: ExtentTable,
    heads: Arc<Heads>,
    textures: TextureForm,
    converted: ConvertedFiles,
}

impl LayerTables {
    pub fn new(archive: &Archive<'_>) -> Self {
        let textures = TextureForm::Default;
        let converted = ConvertedFiles::default();
        Self { extents: ExtentTable::new(archive), heads: archive.heads.clone(), textures, converted }
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

    /// How an entry's texels are put into rows, and their size in rows; `None` if they stay as they are.
    pub(crate) fn linear(&self, entry: u32) -> Option<(LinearTexture, u64)> {
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
