//! The content of one archive: where its extents are, and the sizes that only its data states.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::ops::{Deref, Range};
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex, PoisonError};

use super::buffer::Buffer;
use super::error::Reason;
use super::extent_prefix::{self, ParsedPrefix};
use super::extents::ExtentTable;
use super::fault_log::FaultLog;
use super::memory::{LARGE, MemoryLimit, Reservation};
use crate::archive_file::{ArchiveFile, ArchiveReadError};
use crate::format::{Archive, Extent, Head, Heads, LinearTexture};

/// The form in which textures are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextureForm {
    /// PC textures as DDS files, console textures under the headers of their own tools.
    #[default]
    Default,
    /// Linear DDS files where these can be made; other textures as in [`TextureForm::Default`].
    Dds,
    /// Like [`TextureForm::Dds`], with headers that older programs can read. They state no sRGB.
    Compatible,
    /// The bytes as the archive has them, without a header.
    Raw,
}

impl TextureForm {
    /// All forms with their names.
    pub const ALL: [(&'static str, Self); 4] = [
        ("default", Self::Default),
        ("dds", Self::Dds),
        ("compatible", Self::Compatible),
        ("raw", Self::Raw),
    ];

    /// Whether the texels of console textures are put into rows.
    fn is_linear(self) -> bool {
        matches!(self, Self::Dds | Self::Compatible)
    }
}

/// The part of an archive's tables that says where its bytes are. It is kept after the parse.
#[derive(Debug)]
pub struct LayerTables {
    extents: ExtentTable,
    heads: Arc<Heads>,
    textures: TextureForm,
}

impl LayerTables {
    /// Takes the tables of a parsed archive.
    pub fn new(archive: &Archive<'_>) -> Self {
        let textures = TextureForm::Default;
        Self { extents: ExtentTable::new(archive), heads: archive.heads.clone(), textures }
    }

    /// Shows the textures in another form.
    #[must_use]
    pub fn presented(self, textures: TextureForm) -> Self {
        Self { textures, ..self }
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

    /// Whether the tables place data beyond the end of an archive of `len` bytes.
    pub fn is_cut_off(&self, len: u64) -> bool {
        let end = |extent: Extent| extent.offset.saturating_add(u64::from(extent.packed));
        (0..self.extents.count()).any(|index| end(self.extents.get(index)) > len)
    }

    fn head(&self, entry: u32) -> Head {
        let head = self.heads.get(entry as usize);
        match self.textures {
            TextureForm::Default => head,
            TextureForm::Raw => Head::None,
            TextureForm::Dds => self.linear_head(entry),
            TextureForm::Compatible => self.linear_head(entry).compatible(),
        }
    }

    fn linear_head(&self, entry: u32) -> Head {
        let head = self.heads.get(entry as usize);
        head.linear(self.data_len(entry)).map_or(head, |texture| texture.head())
    }

    /// Unpacked size of an entry's data, as far as the tables state it. Formats with heads always
    /// state it.
    fn data_len(&self, entry: u32) -> u64 {
        let sizes = self.extents.range(entry).filter_map(|index| self.extents.get(index).size);
        sizes.map(u64::from).sum()
    }
}

/// One archive's content.
#[derive(Debug)]
pub(super) struct ArchiveContent {
    /// Unique among all archives of the mount.
    pub(super) number: u32,
    pub(super) source: ArchiveFile,
    tables: LayerTables,
    /// Limit on large packed extents, shared by all archives on the same device.
    pub(super) packed_memory: Arc<MemoryLimit>,
    faults: FaultLog,
    /// Indices of extents whose prefix contradicts itself. Their sizes can never be learnt.
    bad_prefixes: Mutex<HashSet<u32>>,
    /// The kernel's references to inode numbers of this archive: answers that gave it one, minus
    /// those that it forgot.
    pub(super) lookups: AtomicI64,
}

/// The payload of an extent, or its first bytes.
pub(super) struct Payload {
    packed: Buffer,
    start: usize,
    /// Whether this is the whole payload.
    pub(super) is_all: bool,
}

impl Deref for Payload {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.packed[self.start..]
    }
}

impl ArchiveContent {
    pub(super) fn new(
        number: u32,
        source: ArchiveFile,
        tables: LayerTables,
        packed_memory: Arc<MemoryLimit>,
    ) -> Self {
        let (faults, bad_prefixes, lookups) = Default::default();
        Self { number, source, tables, packed_memory, faults, bad_prefixes, lookups }
    }

    /// Whether both are the same archive, shown in the same form, and it did not change since it
    /// was opened.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.tables.textures == other.tables.textures && self.source.is_same(&other.source)
    }

    /// The indices of an entry's extents.
    pub(super) fn extents(&self, entry: u32) -> Range<u32> {
        self.tables.extents.range(entry)
    }

    pub(super) fn extent(&self, index: u32) -> Extent {
        self.tables.extents.get(index)
    }

    pub(super) fn head(&self, entry: u32) -> Head {
        self.tables.head(entry)
    }

    /// How an entry's texels are put into rows, and their size in rows; `None` if they stay as they
    /// are.
    pub(super) fn linear(&self, entry: u32) -> Option<(LinearTexture, u64)> {
        if !self.tables.textures.is_linear() {
            return None;
        }
        let texture = self.tables.heads.get(entry as usize).linear(self.tables.data_len(entry))?;
        texture.linear_len().map(|len| (texture, len))
    }

    /// The tile mode of an entry's texels as they are shown; `None` if they are linear.
    pub(super) fn tile_mode(&self, entry: u32) -> Option<u8> {
        match self.tables.textures {
            TextureForm::Raw => self.tables.heads.get(entry as usize).tile_mode(),
            _ => self.head(entry).tile_mode(),
        }
    }

    /// The header that is added in front of an entry's extents.
    pub(super) fn head_bytes(&self, entry: u32) -> Cow<'static, [u8]> {
        let head = self.head(entry);
        if head.is_empty() {
            return Cow::Borrowed(&[]);
        }
        head.bytes(self.tables.data_len(entry))
    }

    /// Whether the tables state the sizes of all extents.
    pub(super) fn states_sizes(&self) -> bool {
        self.tables.extents.states_sizes()
    }

    /// Unpacked size of an extent. If only its prefix states the size, the first call reads the
    /// prefix.
    pub(super) fn size(&self, index: u32) -> Result<u32, Reason> {
        let extent = self.extent(index);
        if let Some(size) = extent.size {
            return Ok(size);
        }
        let mut first = [0; extent_prefix::MAX];
        let first = &mut first[..extent_prefix::MAX.min(extent.packed as usize)];
        match self.source.read_exact_at(first, extent.offset) {
            Ok(()) => Ok(self.parse_prefix(index, first)?.size),
            Err(fault) => {
                if matches!(fault, ArchiveReadError::Beyond) {
                    self.note_bad_prefix(index);
                }
                Err(fault.into())
            }
        }
    }

    /// Whether an extent's size can never be learnt, even from a sound disk.
    pub(super) fn is_size_lost(&self, index: u32) -> bool {
        let bad = self.bad_prefixes.lock().unwrap_or_else(PoisonError::into_inner);
        self.source.is_changed() || bad.contains(&index)
    }

    fn note_bad_prefix(&self, index: u32) {
        self.bad_prefixes.lock().unwrap_or_else(PoisonError::into_inner).insert(index);
    }

    /// Parses the prefix of an extent from its first bytes, and keeps the size that it states.
    pub(super) fn parse_prefix(&self, index: u32, first: &[u8]) -> Result<ParsedPrefix, Reason> {
        let extent = self.extent(index);
        let parsed = extent_prefix::parse(extent.prefix, first, extent.packed)
            .inspect_err(|_| self.note_bad_prefix(index))?;
        self.tables.extents.set_size(index, parsed.size);
        Ok(parsed)
    }

    /// Fills `out` from a stored extent, starting `offset` bytes into it.
    pub(super) fn read_stored(&self, index: u32, offset: u64, out: &mut [u8]) -> Result<(), Reason> {
        let extent = self.extent(index);
        // The prefix takes what the size leaves of the packed length.
        let payload = extent.packed.checked_sub(self.size(index)?).ok_or(Reason::Prefix)?;
        let at = extent.offset.checked_add(u64::from(payload)).and_then(|at| at.checked_add(offset));
        Ok(self.source.read_exact_at(out, at.ok_or(Reason::BeyondEnd)?)?)
    }

    /// Reads the first `len` bytes of an extent's payload, or all of a shorter one. Waits for the
    /// device, and for memory if `len` is large.
    pub(super) fn read_payload(&self, index: u32, len: u64) -> Result<Payload, Reason> {
        let extent = self.extent(index);
        // Checked before a buffer is allocated, because an archive can state any packed length.
        if extent.offset.saturating_add(u64::from(extent.packed)) > self.source.len() {
            return Err(Reason::BeyondEnd);
        }
        let prefix_len = if extent.prefix.is_none() { 0 } else { extent_prefix::MAX as u64 };
        let len = len.saturating_add(prefix_len).min(u64::from(extent.packed));
        let mut packed = Buffer::new(usize::try_from(len).unwrap_or(usize::MAX), self.reserve_packed(len));
        self.source.read_exact_at(&mut packed, extent.offset)?;
        let start = packed.len() - self.payload(index, &packed)?.len();
        Ok(Payload { packed, start, is_all: len == u64::from(extent.packed) })
    }

    /// What follows the prefix in `packed`: all bytes of an extent, or its first ones.
    pub(super) fn payload<'p>(&self, index: u32, packed: &'p [u8]) -> Result<&'p [u8], Reason> {
        let start = match self.extent(index).prefix.is_none() {
            true => 0,
            false => self.parse_prefix(index, packed)?.payload,
        };
        Ok(&packed[start as usize..])
    }

    /// Reserves memory for `len` packed bytes; `None` if they are too few to count. Waits for other
    /// readers of the device.
    pub(super) fn reserve_packed(&self, len: u64) -> Option<Reservation> {
        (len >= LARGE as u64).then(|| self.packed_memory.reserve(len, || false))
    }

    /// Whether to report a fault. Of each entry, the first is reported. Of an outage, which
    /// concerns all entries, only the first fault of any entry is. A changed archive is reported by
    /// [`ArchiveFile`].
    pub(super) fn is_new_fault(&self, entry: u32, reason: &Reason) -> bool {
        match reason {
            Reason::Changed => false,
            Reason::Io(_) => self.faults.begins_outage(),
            _ => self.faults.is_first(entry),
        }
    }
}
