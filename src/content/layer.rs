//! The extents of one archive, and the sizes that had to be read from its data.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::extents::Extents;
use super::lead::{self, Said};
use super::untiled::TextureForm;
use super::{Reason, buffer};
use crate::format::{Archive, Extent, Head, Heads, LinearTexture};
use crate::source::Source;

/// What of an archive's tables says where bytes are; it outlives the map that the tables were read from.
#[derive(Debug)]
pub struct LayerTables {
    extents: Extents,
    heads: Arc<Heads>,
    textures: TextureForm,
}

impl LayerTables {
    /// Takes the tables of an archive.
    pub fn new(archive: &Archive<'_>) -> Self {
        Self { extents: Extents::new(archive), heads: archive.heads.clone(), textures: TextureForm::Default }
    }

    /// The same with textures shown in another way.
    #[must_use]
    pub fn presented(self, textures: TextureForm) -> Self {
        Self { textures, ..self }
    }

    /// Textures that were to be shown as a PC has them and cannot be: how many of each tile mode.
    pub fn still_tiled(&self) -> BTreeMap<u8, usize> {
        let mut left = BTreeMap::new();
        if self.textures == TextureForm::Dds {
            let entries = 0..u32::try_from(self.heads.len()).unwrap_or(u32::MAX);
            for mode in entries.filter_map(|entry| self.head(entry).tile_mode()) {
                *left.entry(mode).or_insert(0) += 1;
            }
        }
        left
    }

    fn head(&self, entry: u32) -> Head {
        let head = self.heads.get(entry as usize);
        match self.textures {
            TextureForm::Default => head,
            TextureForm::Raw => Head::None,
            TextureForm::Dds => head.linear(self.data(entry)).map_or(head, |plain| plain.head()),
        }
    }

    /// Bytes that an entry's extents become, as far as the tables tell; formats with heads tell all of them.
    fn data(&self, entry: u32) -> u64 {
        let sizes = self.extents.of(entry).filter_map(|index| self.extents.get(index).size);
        sizes.map(u64::from).sum()
    }
}

/// One archive's content.
#[derive(Debug)]
pub(super) struct Layer {
    pub(super) source: Source,
    tables: LayerTables,
    /// Entries whose fault was told.
    told: Mutex<HashSet<u32>>,
}

impl Layer {
    pub(super) fn new(source: Source, tables: LayerTables) -> Self {
        Self { source, tables, told: Mutex::default() }
    }

    /// Which extents are an entry's.
    pub(super) fn extents_of(&self, entry: u32) -> Range<u32> {
        self.tables.extents.of(entry)
    }

    pub(super) fn extent(&self, index: u32) -> Extent {
        self.tables.extents.get(index)
    }

    pub(super) fn head(&self, entry: u32) -> Head {
        self.tables.head(entry)
    }

    /// How an entry's texels are put into rows, if they are to be; with it goes how many bytes they then take.
    pub(super) fn untiled(&self, entry: u32) -> Option<(LinearTexture, u64)> {
        if self.tables.textures != TextureForm::Dds {
            return None;
        }
        let plain = self.tables.heads.get(entry as usize).linear(self.tables.data(entry))?;
        plain.linear_len().map(|len| (plain, len))
    }

    /// The number of the arrangement in which an entry's texels are shown; `None` where it is a PC's.
    pub(super) fn tile_mode(&self, entry: u32) -> Option<u8> {
        match self.tables.textures {
            TextureForm::Raw => self.tables.heads.get(entry as usize).tile_mode(),
            TextureForm::Default | TextureForm::Dds => self.head(entry).tile_mode(),
        }
    }

    /// The bytes that are put in front of an entry's extents.
    pub(super) fn head_bytes(&self, entry: u32) -> Cow<'static, [u8]> {
        let head = self.head(entry);
        if head.is_empty() {
            return Cow::Borrowed(&[]);
        }
        head.bytes(self.tables.data(entry))
    }

    /// How many bytes an extent becomes; reads its lead where only that tells, once.
    pub(super) fn size(&self, index: u32) -> Result<u32, Reason> {
        match self.extent(index).size {
            Some(size) => Ok(size),
            None => Ok(self.lead(index)?.size),
        }
    }

    /// Reads an extent's lead, and learns its size.
    fn lead(&self, index: u32) -> Result<Said, Reason> {
        let extent = self.extent(index);
        let mut first = [0; lead::MAX];
        let first = &mut first[..lead::MAX.min(extent.packed as usize)];
        self.source.read_exact_at(first, extent.offset)?;
        self.learn(index, first)
    }

    /// Learns an extent's size from its first bytes.
    pub(super) fn learn(&self, index: u32, first: &[u8]) -> Result<Said, Reason> {
        let extent = self.extent(index);
        let said = lead::read(extent.prefix, first, extent.packed)?;
        self.tables.extents.learn(index, said.size);
        Ok(said)
    }

    /// Fills `out` from `offset` bytes into a stored extent.
    pub(super) fn read_stored(&self, index: u32, offset: u64, out: &mut [u8]) -> Result<(), Reason> {
        let extent = self.extent(index);
        // What a stored extent does not become is its lead.
        let payload = extent.packed.checked_sub(self.size(index)?).ok_or(Reason::Prefix)?;
        let at = extent.offset.checked_add(u64::from(payload)).and_then(|at| at.checked_add(offset));
        Ok(self.source.read_exact_at(out, at.ok_or(Reason::Beyond)?)?)
    }

    /// Lends the first `len` bytes of an extent's payload, or all of them where it has fewer; with them goes whether
    /// these are all.
    pub(super) fn with_payload<T>(
        &self,
        index: u32,
        len: u64,
        use_it: impl FnOnce(&[u8], bool) -> Result<T, Reason>,
    ) -> Result<T, Reason> {
        let extent = self.extent(index);
        // Asked before a buffer is made, for the packed length is what the archive says.
        if extent.offset.saturating_add(u64::from(extent.packed)) > self.source.len() {
            return Err(Reason::Beyond);
        }
        let room = if extent.prefix.is_none() { 0 } else { lead::MAX as u64 };
        let len = len.saturating_add(room).min(u64::from(extent.packed));
        buffer::packed(usize::try_from(len).unwrap_or(usize::MAX), |packed| {
            self.source.read_exact_at(packed, extent.offset)?;
            let payload = match extent.prefix.is_none() {
                true => 0,
                false => self.learn(index, packed)?.payload,
            };
            use_it(&packed[payload as usize..], len == u64::from(extent.packed))
        })
    }

    /// Whether this is the first time that this entry's fault is to be told.
    pub(super) fn is_news(&self, entry: u32) -> bool {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(entry)
    }
}
