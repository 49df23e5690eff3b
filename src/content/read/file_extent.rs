//! One extent of a file in an archive: its unpacked size, and how a range of it is read, by a
//! [`ReadStrategy`].

use std::ops::{Deref, Range};
use std::sync::atomic::Ordering;

use super::archive_content::ArchiveContent;
use crate::archive_file::ArchiveReadError;
use crate::content::cache::{
    Buffer, CacheKey, CachedContent, Decoded, DecodedRange, LARGE, Reservation, zeros,
};
use crate::content::codec::{self, DecodeError, Quirk};
use crate::content::error::{ReadFault, Reason};
use crate::format::{Codec, Extent};
use crate::limits::PACKED_MAX;
use crate::shown::Shown;

/// Maximum length of a prefix that is decoded separately, in bytes. File managers and file(1) read
/// only the beginning of a file; the kernel turns that into a read of 16 KiB. A program that reads
/// a whole file asks for more at once, so its reads decode nothing twice.
pub(crate) const PREFIX_LEN: u64 = 64 << 10;
/// A prefix is decoded separately only if the extent is at least this many times as long: if the
/// reader goes on, the prefix is decoded again.
const PREFIX_MIN_RATIO: u64 = 4;
/// Maximum length, in bytes, of a read at the start of an extent other than the first that is decoded as a
/// prefix. A READ of the kernel is no longer than this.
const MIP_PREFIX_LEN: u64 = 1 << 20;
/// In extents longer than this, in bytes, a second read within the prefix is decoded separately
/// too. It costs at most 0.2 ms.
const LARGE_EXTENT: u64 = 512 << 10;
/// Number of packed bytes to read beyond the length of the prefix, for headers of streams.
const STREAM_HEADER: u64 = 1024;
/// Length of the pieces in which stored extents are copied and checked, in bytes.
const COPY_LEN: usize = 1 << 20;

#[derive(Clone, Copy, Debug)]
pub(crate) struct FileExtent<'s> {
    pub(crate) archive: &'s ArchiveContent,
    /// The file.
    pub(super) entry: u32,
    /// The extent, of all extents of the archive.
    pub(crate) index: u32,
}

/// How a range of an extent is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadStrategy {
    /// One positioned read into the reply, because the extent is not packed.
    Stored,
    /// Decoded into the reply, because the whole extent is requested.
    Whole,
    /// Decoded into the reply up to the end of the range, which is near the extent's beginning. If that is
    /// impossible, it falls back to [`ReadStrategy::Cached`].
    Prefix(CacheKey),
    /// Decoded once into the cache. The reply is sent from there.
    Cached(CacheKey),
}

/// Where bytes are after a read.
pub(crate) enum PieceBytes<'s> {
    /// In the buffer that the caller passed.
    InBuffer,
    /// In the cache. The content of the buffer is unspecified.
    InCache(DecodedRange<'s, Reason>),
}

impl<'s> FileExtent<'s> {
    /// Reads a range of the extent, which has `size` bytes, into `out`, or leaves it in the cache.
    /// `is_only_piece` says whether the read wants nothing else of the file.
    pub(super) fn read(
        self,
        size: u32,
        within: &Range<u64>,
        is_only_piece: bool,
        out: &mut [u8],
    ) -> Result<PieceBytes<'s>, Reason> {
        let (archive, resources) = (self.archive, &self.archive.resources);
        let key = match self.strategy(size, within, is_only_piece)? {
            ReadStrategy::Stored => {
                archive.read_stored(self.index, size, within.start, out)?;
                return Ok(PieceBytes::InBuffer);
            }
            ReadStrategy::Whole => {
                let payload = self.payload()?;
                let _decoding = resources.begin_decoding();
                self.decode(payload.bytes(), out)?;
                return Ok(PieceBytes::InBuffer);
            }
            ReadStrategy::Prefix(key) => {
                if self.decode_prefix(within, out)? {
                    return Ok(PieceBytes::InBuffer);
                }
                key
            }
            ReadStrategy::Cached(key) => key,
        };
        let cached = resources.cache.get(key);
        let decoded = cached.map_or_else(|| self.decode_once(key), Ok)?;
        Ok(PieceBytes::InCache(decoded.range(within.start as usize..within.end as usize)))
    }

    /// Chooses how to read a range of the extent. If the extent is packed, its size is checked here. So all
    /// buffers stay within the limits.
    fn strategy(self, size: u32, within: &Range<u64>, is_only_piece: bool) -> Result<ReadStrategy, Reason> {
        let extent = self.record();
        if extent.codec == Codec::Stored {
            return Ok(ReadStrategy::Stored);
        }
        self.check_size(size)?;
        let key = self.cache_key(size);
        let size = u64::from(size);
        let is_prefix = if self.index == self.archive.tables.extents(self.entry).start {
            size > PREFIX_LEN
                && within.end <= PREFIX_LEN.min(size / PREFIX_MIN_RATIO)
                && (within.start == 0 || size > LARGE_EXTENT)
        } else {
            // The header of a texture shifts later extents off page boundaries. So a reader that reads in
            // pages enters such an extent from the one before, and will read on. A read that starts exactly
            // at the extent fetches a single mip, for a thumbnail.
            is_only_piece && within.start == 0 && within.end <= MIP_PREFIX_LEN
        };
        let uncached = if *within == (0..size) {
            ReadStrategy::Whole
        } else if is_prefix && codec::has_prefix(extent.codec) && u64::from(extent.packed) != size {
            // As many packed bytes as unpacked ones may not be packed at all, which only all of them show.
            ReadStrategy::Prefix(key)
        } else {
            return Ok(ReadStrategy::Cached(key));
        };
        Ok(if self.archive.resources.cache.contains(&key) { ReadStrategy::Cached(key) } else { uncached })
    }

    /// Decodes the extent into the cache. The payload is read before, so a thread that waits for another one
    /// to decode never waits for a device.
    fn decode_once(self, key: CacheKey) -> Result<Decoded<'s, Reason>, Reason> {
        let payload = self.payload()?;
        let resources = &self.archive.resources;
        resources.cache.decode_once(key, move || {
            let _decoding = resources.begin_decoding();
            self.decode_for_cache(key, &payload)
        })
    }

    /// Reads the whole payload.
    pub(super) fn payload(self) -> Result<Payload, Reason> {
        self.archive.read_payload(self.index, u64::MAX)
    }

    /// Decodes a payload into `out`, which has the size of the extent. Returns the payload's quirk, if any.
    /// If the payload is not whole, the bytes that follow its stated length may complete it. If suspect bytes
    /// are served, a wrong checksum is no error.
    pub(crate) fn decode(self, payload: PayloadBytes<'_>, out: &mut [u8]) -> Result<Option<Quirk>, Reason> {
        let (archive, resources, extent) = (self.archive, &self.archive.resources, self.record());
        let is_cut = archive.available(&extent) < u64::from(extent.packed);
        let mut decoded = codec::decode(extent.codec, payload.stated, out);
        if matches!(decoded, Err(DecodeError::Corrupt(_)))
            && payload.extended.len() > payload.stated.len()
            && let Ok(None | Some(Quirk::Trailing)) = codec::decode(extent.codec, payload.extended, out)
        {
            decoded = Ok(Some(Quirk::LeavesOutPrefix));
        }
        match decoded {
            Err(DecodeError::Corrupt(_)) | Ok(Some(Quirk::Other(Codec::Stored))) if is_cut => {
                return Err(Reason::BeyondEnd);
            }
            // Nothing in XMem data shows that its end is whole.
            Ok(None) if is_cut && extent.codec != Codec::Xmem => decoded = Ok(Some(Quirk::PastEnd)),
            Ok(None | Some(Quirk::Unended)) if is_cut => decoded = Ok(Some(Quirk::CutEnd)),
            _ => {}
        }
        let quirk = match (decoded, resources.salvages()) {
            (Err(error @ DecodeError::Suspect(_)), true) => {
                resources.salvaged.record((archive.number, self.entry), self.fault(error.into()));
                None
            }
            (decoded, _) => decoded?,
        };
        resources.count_decoded(out.len());
        if quirk == Some(Quirk::Longer) {
            resources.longer.lock().insert((archive.number, self.entry));
        }
        if let Some(quirk) = quirk {
            let (archive, offset) = (archive.path.shown(), extent.offset);
            log::debug!("{archive}: data at offset {offset}: {quirk}");
        }
        Ok(quirk)
    }

    /// Decodes a payload into a buffer for the cache, which has the size in the key.
    pub(super) fn decode_for_cache(self, key: CacheKey, payload: &Payload) -> Result<Buffer, Reason> {
        let size = key.size as usize;
        let mut out = Buffer::for_cache(size, self.archive.resources.reserve(size))?;
        self.decode(payload.bytes(), &mut out)?;
        Ok(out)
    }

    /// Decodes the extent up to the end of `within`, a range near its beginning, and fills `out`
    /// with that range. Returns false if that is impossible: the stream ends early, or only its
    /// full size proves what it is.
    fn decode_prefix(self, within: &Range<u64>, out: &mut [u8]) -> Result<bool, Reason> {
        let mut first = zeros(within.end as usize)?;
        // Packed data usually yields more than its own length. If it does not, the next attempt
        // reads twice as much.
        let mut len = within.end + STREAM_HEADER;
        loop {
            let payload = self.archive.read_payload(self.index, len)?;
            // An error is ignored here: decoding the whole extent will report it in full.
            let decoded = codec::prefix(self.record().codec, &payload, &mut first).unwrap_or(0);
            self.archive.resources.count_decoded(decoded);
            if decoded == first.len() {
                out.copy_from_slice(&first[within.start as usize..]);
                return Ok(true);
            }
            if payload.is_all || decoded == 0 {
                return Ok(false);
            }
            len = len.saturating_mul(2);
        }
    }

    /// Calls `use_it` with the bytes of the extent: in pieces if it is stored, otherwise as a whole
    /// and with its payload and quirk. Stops if `use_it` fails, and returns that error inside.
    pub(super) fn with_bytes<E>(
        self,
        mut use_it: impl FnMut(&[u8], Option<(&[u8], Option<Quirk>)>) -> Result<(), E>,
    ) -> Result<Result<(), E>, Reason> {
        if self.record().codec != Codec::Stored {
            let size = self.checked_size()? as usize;
            let payload = self.payload()?;
            let mut out = Buffer::new(size, self.archive.resources.reserve(size))?;
            let quirk = self.decode(payload.bytes(), &mut out)?;
            return Ok(use_it(&out, Some((&payload, quirk))));
        }
        let size = self.size()?;
        for start in (0..size).step_by(COPY_LEN) {
            let mut out = Buffer::new(COPY_LEN.min((size - start) as usize), None)?;
            self.archive.read_stored(self.index, size, u64::from(start), &mut out)?;
            let used = use_it(&out, None);
            if used.is_err() {
                return Ok(used);
            }
        }
        Ok(Ok(()))
    }

    /// The extent as the tables have it. It has a size if the size is known by now.
    pub(crate) fn record(self) -> Extent {
        self.archive.tables.extent(self.index)
    }

    /// Unpacked size in bytes. If only the prefix states the size, the first call reads the prefix.
    ///
    /// # Errors
    /// The size cannot be read, or the packed bytes cannot yield it.
    pub(crate) fn size(self) -> Result<u32, Reason> {
        let extent = self.record();
        match (possible_size(&extent), extent.size) {
            (Some(size), _) => Ok(size),
            (None, Some(size)) => Err(Reason::UnpackedSize(size)),
            (None, None) if extent.is_sized_by_decoding() => self.decoded_size(),
            (None, None) => Ok(self.archive.read_prefix(self.index)?.size),
        }
    }

    /// Unpacked size in bytes, if it is known and possible.
    pub(crate) fn size_if_known(self) -> Option<u32> {
        possible_size(&self.record())
    }

    /// Unpacked size in bytes. It is within its limit, and the packed bytes can yield it.
    pub(crate) fn checked_size(self) -> Result<u32, Reason> {
        let size = self.size()?;
        self.check_size(size).map(|()| size)
    }

    /// Whether the size can never be learnt, even from a sound disk.
    pub(super) fn is_size_lost(self) -> bool {
        let extent = self.record();
        let is_impossible = extent.size.is_some() && possible_size(&extent).is_none();
        is_impossible || self.archive.file.is_changed() || self.archive.has_bad_prefix(self.index)
    }

    /// How the prefix contradicts its flags. Reads it.
    pub(super) fn prefix_quirk(self) -> Option<Quirk> {
        if self.record().prefix.is_none() {
            return None;
        }
        self.archive.read_prefix(self.index).ok()?.quirk
    }

    /// Checks the unpacked size, in bytes, before a buffer is allocated for it. The size must be within its
    /// limit, and the packed bytes must be able to yield it. They may not begin inside the tables, and stored
    /// bytes must lie within the archive. Unless the codec is `Stored`, they must also be within their own
    /// limit, and no more than data of this size can need.
    fn check_size(self, size: u32) -> Result<(), Reason> {
        let extent = self.record();
        let packed = u64::from(extent.packed);
        let limits = &self.archive.resources.limits;
        if self.archive.tables.have_start(&extent) {
            return Err(Reason::InTables);
        }
        if u64::from(size) > codec::max_unpacked(extent.codec, packed) || size > limits.extent {
            return Err(Reason::UnpackedSize(size));
        }
        let available = self.archive.available(&extent);
        let is_stored = extent.codec == Codec::Stored;
        // A stream that is whole is read although its stated length passes the end of the archive.
        if available < packed && (is_stored || available == 0) {
            return Err(Reason::BeyondEnd);
        }
        let is_too_long = available > limits.packed.into() || available > codec::max_packed(size);
        if !is_stored && is_too_long {
            return Err(Reason::PackedSize(extent.packed));
        }
        Ok(())
    }

    /// Unpacked size of an extent for which nothing states it. Reads all of its data.
    fn decoded_size(self) -> Result<u32, Reason> {
        let extent = self.record();
        if extent.packed > PACKED_MAX {
            return Err(Reason::PackedSize(extent.packed));
        }
        let payload = self.payload()?;
        let size = codec::unpacked_size(extent.codec, &payload).ok_or(Reason::Prefix)?;
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        self.archive.tables.set_size(self.index, size);
        Ok(size)
    }

    /// The key in the cache, given the unpacked size.
    pub(super) fn cache_key(self, size: u32) -> CacheKey {
        let content = CachedContent::Extent(self.record().offset);
        CacheKey { archive: self.archive.number, content, size }
    }

    /// A fault of this extent.
    pub(crate) fn fault(self, reason: Reason) -> ReadFault {
        ReadFault { at: self.record().offset, reason }
    }
}

/// The size of an extent, if it is known and its packed bytes can yield it.
fn possible_size(extent: &Extent) -> Option<u32> {
    extent.size.filter(|&size| {
        // An extent of the form that most have needs no arithmetic.
        size <= extent.packed || u64::from(size) <= codec::max_unpacked(extent.codec, extent.packed.into())
    })
}

// The bytes of one extent as its archive stores them: the prefix, and the payload behind it.

/// The payload of an extent, or its first bytes. It dereferences to the bytes within the stated length.
pub(crate) struct Payload {
    packed: Buffer,
    start: usize,
    /// The end of the stated length.
    end: usize,
    /// Whether this is the whole payload.
    pub(super) is_all: bool,
}

impl Deref for Payload {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.packed[self.start..self.end]
    }
}

impl Payload {
    /// The whole payload, for its decoder.
    pub(super) fn bytes(&self) -> PayloadBytes<'_> {
        // If the stated length leaves out the prefix, the payload is longer by the length of the prefix.
        let end = self.end.saturating_add(self.start).min(self.packed.len());
        PayloadBytes { stated: self, extended: &self.packed[self.start..end] }
    }
}

/// A whole payload.
#[derive(Clone, Copy)]
pub(crate) struct PayloadBytes<'a> {
    /// The bytes within the stated length.
    pub(super) stated: &'a [u8],
    /// The bytes if the stated length leaves out the prefix. They may be the same.
    pub(super) extended: &'a [u8],
}

impl<'a> From<&'a [u8]> for PayloadBytes<'a> {
    fn from(stated: &'a [u8]) -> Self {
        Self { stated, extended: stated }
    }
}

impl ArchiveContent {
    /// Fills `out` from a stored extent of `size` bytes, starting `offset` bytes into it.
    pub(super) fn read_stored(
        &self,
        index: u32,
        size: u32,
        offset: u64,
        out: &mut [u8],
    ) -> Result<(), Reason> {
        let extent = self.tables.extent(index);
        if self.tables.have_start(&extent) {
            return Err(Reason::InTables);
        }
        // A stored extent is its prefix and its data, so the prefix has the length that the data leaves.
        let prefix_len = extent.packed.checked_sub(size).ok_or(Reason::Prefix)?;
        let at = extent.offset.checked_add(u64::from(prefix_len)).and_then(|at| at.checked_add(offset));
        Ok(self.read_exact_at(out, at.ok_or(Reason::BeyondEnd)?)?)
    }

    /// Reads the first `len` bytes of an extent's payload, or all of a shorter one. Waits for the
    /// device, and for memory if `len` is large.
    pub(super) fn read_payload(&self, index: u32, len: u64) -> Result<Payload, Reason> {
        let extent = self.tables.extent(index);
        // Checked before a buffer is allocated, because an archive can state any packed length. A stream that
        // passes the end of the archive may still be whole.
        let available = self.available(&extent);
        if available == 0 && extent.packed > 0 {
            return Err(Reason::BeyondEnd);
        }
        let prefix_len = if extent.prefix.is_none() { 0 } else { PREFIX_MAX as u64 };
        let len = len.saturating_add(prefix_len).min(available);
        let is_all = len == available;
        // The bytes behind the stated length cost no read.
        let behind = self.file.len() - extent.offset - available;
        let more = if is_all { prefix_len.min(behind) } else { 0 };
        let size = usize::try_from(len + more).unwrap_or(usize::MAX);
        let mut packed = Buffer::new(size, self.reserve_packed(len))?;
        self.read_exact_at(&mut packed, extent.offset)?;
        let end = len as usize;
        let start = end - self.payload(index, &packed[..end])?.len();
        Ok(Payload { packed, start, end, is_all })
    }

    /// What follows the prefix in `packed`: all bytes of an extent, or its first ones.
    pub(crate) fn payload<'p>(&self, index: u32, packed: &'p [u8]) -> Result<&'p [u8], Reason> {
        if self.tables.extent(index).prefix.is_none() {
            return Ok(packed);
        }
        let start = self.parse_prefix(index, packed)?.payload as usize;
        // An extent that is cut off may end within its prefix.
        packed.get(start..).ok_or(Reason::BeyondEnd)
    }

    /// Reserves memory for `len` packed bytes; `None` if they are too few to count. Waits for other
    /// readers of the device.
    pub(crate) fn reserve_packed(&self, len: u64) -> Option<Reservation> {
        (len >= LARGE as u64).then(|| self.packed_memory.reserve(len, || false))
    }

    /// The bytes of the archive that an extent's prefix may occupy.
    pub(crate) fn prefix_range(&self, index: u32) -> Range<u64> {
        let extent = self.tables.extent(index);
        extent.offset..extent.offset + self.available(&extent).min(PREFIX_MAX as u64)
    }

    /// Reads the prefix of an extent, and keeps the size that it states.
    pub(super) fn read_prefix(&self, index: u32) -> Result<ParsedPrefix, Reason> {
        let range = self.prefix_range(index);
        let mut first = [0; PREFIX_MAX];
        let first = &mut first[..(range.end - range.start) as usize];
        match self.read_exact_at(first, range.start) {
            Ok(()) => self.parse_prefix(index, first),
            Err(fault) => {
                if matches!(fault, ArchiveReadError::Beyond) {
                    self.record_bad_prefix(index);
                }
                Err(fault.into())
            }
        }
    }

    /// Parses the prefix of an extent from its first bytes, and keeps the size that it states.
    pub(super) fn parse_prefix(&self, index: u32, first: &[u8]) -> Result<ParsedPrefix, Reason> {
        let extent = self.tables.extent(index);
        let parsed = parse(&extent, first).inspect_err(|_| self.record_bad_prefix(index))?;
        self.tables.set_size(index, parsed.size);
        if let Some(quirk) = parsed.quirk
            && !self.has_odd_prefix.swap(true, Ordering::Relaxed)
        {
            let (archive, offset) = (self.path.shown(), extent.offset);
            log::info!("{archive}: data at offset {offset}: {quirk}");
        }
        Ok(parsed)
    }

    /// Whether the prefix of an extent contradicts itself.
    pub(super) fn has_bad_prefix(&self, index: u32) -> bool {
        self.bad_prefixes.lock().contains(&index)
    }

    fn record_bad_prefix(&self, index: u32) {
        self.bad_prefixes.lock().insert(index);
    }
}

// The prefix of an extent, in front of its payload: an embedded name, an unpacked size, both or neither.
// Some sizes are stated only there, and some nowhere.
//
// Flags say what the prefix has, but some packers set them wrongly. So the bytes decide where they prove
// something: a name must look like a path, a size must be possible, and a stream may have a signature.

/// Number of bytes at the beginning of an extent that show its prefix and the size that a stream behind it
/// states: a length byte, 255 bytes of name, a u32, and the beginning of the stream.
pub(super) const PREFIX_MAX: usize = 260 + codec::CONTENT_SIZE_MAX;
/// Length of an unpacked size in bytes.
const SIZE_LEN: u32 = 4;

/// What a prefix states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ParsedPrefix {
    /// Offset of the payload in the extent, in bytes.
    pub(super) payload: u32,
    /// Unpacked size of the payload, in bytes.
    pub(super) size: u32,
    /// What contradicts the flags.
    pub(super) quirk: Option<Quirk>,
}

/// Parses the prefix of an extent from its `first` bytes.
///
/// An extent that ends where its size should begin is an empty file. Some packers write those
/// (FORMATS.md 1.6, 4).
pub(super) fn parse(extent: &Extent, first: &[u8]) -> Result<ParsedPrefix, Reason> {
    let (prefix, packed) = (extent.prefix, extent.packed);
    if packed == 0 {
        return Ok(ParsedPrefix { payload: 0, size: 0, quirk: None });
    }
    let byte = *first.first().ok_or(Reason::BeyondEnd)?;
    // The length of a name, with the byte that states it.
    let stated = u32::from(byte) + 1;
    let is_name = is_path(first, packed);
    let name = if prefix.name && is_name { stated } else { 0 };
    let unnamed = (prefix.name && !is_name).then_some(Quirk::Unnamed);
    if !prefix.size {
        return Ok(ParsedPrefix { payload: name, size: packed - name, quirk: unnamed });
    }
    let readings = match (prefix.name, is_name) {
        (true, _) => [Some(stated), Some(0)],
        (false, true) => [Some(0), Some(stated)],
        (false, false) => [Some(0), None],
    };
    let sizes =
        readings.into_iter().flatten().filter_map(|start| Some((start, size_at(extent, first, start)?)));
    let has_stream = |start: u32| first.get((start + SIZE_LEN) as usize..).is_some_and(codec::has_signature);
    let chosen = sizes.clone().find(|&(start, _)| has_stream(start)).or_else(|| sizes.clone().next());
    if let Some((start, size)) = chosen {
        let quirk = match (prefix.name, start > 0) {
            (true, false) => Some(Quirk::Unnamed),
            (false, true) => Some(Quirk::Named),
            _ => None,
        };
        let payload = if packed == start { start } else { start + SIZE_LEN };
        if let Some(own) = size_without_name(first, (start, size), payload) {
            return Ok(ParsedPrefix { payload, size: own, quirk: Some(Quirk::SizeWithName) });
        }
        return Ok(ParsedPrefix { payload, size, quirk });
    }
    let left = packed.checked_sub(if prefix.name { stated } else { 0 }).ok_or(Reason::Prefix)?;
    if left < SIZE_LEN {
        return Err(Reason::Prefix);
    }
    let word = first.get(name as usize..).and_then(<[u8]>::first_chunk).ok_or(Reason::BeyondEnd)?;
    if word.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\r' | b'\n')) && !has_stream(name) {
        // What should be a size spells text, so it belongs to a file that is not packed.
        return Ok(ParsedPrefix { payload: name, size: packed - name, quirk: Some(Quirk::Unsized) });
    }
    Err(Reason::UnpackedSize(u32::from_le_bytes(*word)))
}

/// The size that stands at `start`, if the bytes that follow can yield it. Nothing is the size of nothing.
fn size_at(extent: &Extent, first: &[u8], start: u32) -> Option<u32> {
    let left = extent.packed.checked_sub(start)?;
    if left == 0 {
        return Some(0);
    }
    let packed = left.checked_sub(SIZE_LEN)?;
    let word = first.get(start as usize..)?.first_chunk()?;
    let size = u32::from_le_bytes(*word);
    (u64::from(size) <= codec::max_unpacked(extent.codec, packed.into())).then_some(size)
}

/// The size that a stream states, if the size in front of it is larger by exactly the name. The packer
/// sse-bsa writes such sizes. Its two numbers prove each other, and the stream must end at its own size.
fn size_without_name(first: &[u8], (name, size): (u32, u32), payload: u32) -> Option<u32> {
    let own = u32::try_from(codec::content_size(first.get(payload as usize..)?)?).ok()?;
    (name > 0 && size.checked_sub(own) == Some(name)).then_some(own)
}

/// Whether an extent begins with a length and a path of that length. Every character of a path is allowed in
/// Windows, and there is a folder or an extension.
fn is_path(first: &[u8], packed: u32) -> bool {
    let Some((&len, rest)) = first.split_first() else { return false };
    let Some(path) = rest.get(..usize::from(len)).filter(|_| u32::from(len) < packed) else { return false };
    let is_allowed = |byte: &u8| *byte >= b' ' && !br#"<>:"|?*"#.contains(byte) && *byte != 0x7f;
    let is_slash = |byte: u8| matches!(byte, b'\\' | b'/');
    path.iter().all(is_allowed)
        && path.iter().any(|&byte| is_slash(byte) || byte == b'.')
        && !path.windows(2).any(|pair| pair.iter().all(|&byte| is_slash(byte)))
}

// The bytes of a read, where they are: in a buffer of their own or in the cache. They are sent from there.

/// Bytes of a file. They must be dropped before this thread reads more, because those of a large extent keep
/// their share of the limited memory.
#[derive(Debug)]
pub struct FileBytes<'s> {
    bytes: BytesIn<'s>,
    is_cut: bool,
}

#[derive(Debug)]
enum BytesIn<'s> {
    /// There are no bytes.
    Empty,
    /// The first bytes of a buffer, as many as the number says.
    Buffer(Buffer, usize),
    Cache(DecodedRange<'s, Reason>),
}

impl<'s> FileBytes<'s> {
    /// No bytes, because the file has none in this range.
    pub(crate) const EMPTY: Self = Self { bytes: BytesIn::Empty, is_cut: false };

    /// The first `len` bytes of a buffer.
    pub(crate) fn in_buffer(buffer: Buffer, len: usize) -> Self {
        Self { bytes: BytesIn::Buffer(buffer, len), is_cut: false }
    }

    pub(crate) fn in_cache(bytes: DecodedRange<'s, Reason>) -> Self {
        Self { bytes: BytesIn::Cache(bytes), is_cut: false }
    }

    /// Sets [`FileBytes::is_cut`].
    pub(crate) fn with_cut(self, is_cut: bool) -> Self {
        Self { is_cut, ..self }
    }

    /// Whether a loose file ends with these bytes, but was longer when it was statted.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }
}

impl Deref for FileBytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            BytesIn::Empty => &[],
            BytesIn::Buffer(buffer, len) => &buffer[..*len],
            BytesIn::Cache(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Codec, ExtentPrefix};

    const BOTH: ExtentPrefix = ExtentPrefix { name: true, size: true };
    const NAME: ExtentPrefix = ExtentPrefix { name: true, size: false };
    const SIZE: ExtentPrefix = ExtentPrefix { name: false, size: true };

    /// Payload, size and quirk of an extent with these bytes. The tables state `packed` of them.
    fn parsed(prefix: ExtentPrefix, bytes: &[u8], packed: u32) -> Result<(u32, u32, Option<Quirk>), Reason> {
        let codec = if prefix.size { Codec::Zlib } else { Codec::Stored };
        let extent = Extent { offset: 0, packed, size: None, codec, prefix };
        parse(&extent, bytes).map(|it| (it.payload, it.size, it.quirk))
    }

    #[test]
    fn the_payload_begins_after_name_and_size() {
        assert_eq!(parsed(BOTH, b"\x03a.b\x09\0\0\0xyz", 11), Ok((8, 9, None)));
        assert_eq!(parsed(NAME, b"\x03a.bxyz", 7), Ok((4, 3, None)));
        assert_eq!(parsed(SIZE, b"\x09\0\0\0xyz", 7), Ok((4, 9, None)));
    }

    #[test]
    fn every_form_of_an_empty_file_is_empty() {
        assert_eq!(parsed(NAME, b"\x03a.b", 4), Ok((4, 0, None)));
        assert_eq!(parsed(SIZE, b"\0\0\0\0", 4), Ok((4, 0, None)));
        assert_eq!(parsed(BOTH, b"\x03a.b", 4), Ok((4, 0, None)));
        assert_eq!(parsed(SIZE, b"", 0), Ok((0, 0, None)));
    }

    #[test]
    fn a_size_longer_than_its_extent_is_refused() {
        assert_eq!(parsed(SIZE, b"\x09\0\0", 3), Err(Reason::Prefix));
        assert_eq!(parsed(BOTH, b"\x03a.b\x09\0", 6), Err(Reason::Prefix));
    }

    #[test]
    fn bytes_that_are_no_path_are_not_cut() {
        for bytes in [&b"DDS \0\x01\x02\x03"[..], b"\x09ab", b"\x03abc", b"\x04// a", b"\x03a:b.", b"\0a.b"] {
            let packed = bytes.len() as u32;
            assert_eq!(parsed(NAME, bytes, packed), Ok((0, packed, Some(Quirk::Unnamed))), "{bytes:?}");
        }
        // The name of another code page.
        assert_eq!(parsed(NAME, b"\x05\xea\xee.\xf2\xf2x", 7), Ok((6, 1, None)));
    }

    #[test]
    fn a_size_that_is_possible_decides_whether_a_name_is_there() {
        let stream = b"\x78\x9c\x03\0\0\0\0\x01";
        let unnamed = [&b"\x00\x01\0\0"[..], stream].concat();
        assert_eq!(parsed(BOTH, &unnamed, unnamed.len() as u32), Ok((4, 256, Some(Quirk::Unnamed))));
        let named = [&b"\x03a.b\x00\x01\0\0"[..], stream].concat();
        assert_eq!(parsed(SIZE, &named, named.len() as u32), Ok((8, 256, Some(Quirk::Named))));
        // A name of no bytes, in front of a stream.
        let empty = [&b"\0\x00\x01\0\0"[..], stream].concat();
        assert_eq!(parsed(BOTH, &empty, empty.len() as u32), Ok((5, 256, None)));
    }

    #[test]
    fn a_size_that_includes_the_name_yields_to_that_of_the_frame() {
        let frame = |size: u64| [&b"\x04\x22\x4d\x18\x68\x40"[..], &size.to_le_bytes(), b"\0data"].concat();
        let empty = b"\x04\x22\x4d\x18\x60\x40\x82\0\0\0\0".to_vec();
        let longest = [&[255_u8][..], &b"x".repeat(251), b".txt"].concat();
        for (name, stated, stream, size, quirk) in [
            (&b"\x05a.txt"[..], 45, frame(39), 39, Some(Quirk::SizeWithName)),
            (b"\x05a.txt", 6, empty.clone(), 0, Some(Quirk::SizeWithName)),
            (&longest, 295, frame(39), 39, Some(Quirk::SizeWithName)),
            (b"\x05a.txt", 39, frame(39), 39, None),
            // What no name explains is not believed.
            (b"\x05a.txt", 46, frame(39), 46, None),
            (b"\x05a.txt", 45, frame(1 << 40), 45, None),
        ] {
            let bytes = [name, &u32::to_le_bytes(stated), &stream].concat();
            let extent = Extent {
                offset: 0,
                packed: bytes.len() as u32,
                size: None,
                codec: Codec::Lz4Frame,
                prefix: BOTH,
            };
            let parsed = parse(&extent, &bytes[..bytes.len().min(PREFIX_MAX)]).unwrap();
            assert_eq!((parsed.payload as usize, parsed.size), (name.len() + 4, size), "{stated}");
            assert_eq!(parsed.quirk, quirk, "{stated}");
        }
    }

    #[test]
    fn a_size_that_spells_text_is_content() {
        assert_eq!(parsed(SIZE, b"text text text", 14), Ok((0, 14, Some(Quirk::Unsized))));
        assert_eq!(parsed(BOTH, b"\x03a.bDDS |..", 11), Ok((4, 7, Some(Quirk::Unsized))));
        assert_eq!(parsed(SIZE, b"\0\0\0\x40\xaa\xbb", 6), Err(Reason::UnpackedSize(1 << 30)));
        assert_eq!(parsed(SIZE, b"text\x78\x9c\x03\0", 8), Err(Reason::UnpackedSize(0x7478_6574)));
    }
}
