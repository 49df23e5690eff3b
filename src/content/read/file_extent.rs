//! One extent of a file in an archive: its unpacked size, and how a range of it is read, by a
//! [`ReadStrategy`].

use std::ops::Range;

use super::archive_content::ArchiveContent;
use super::payload::{Payload, PayloadBytes};
use crate::content::cache::{Buffer, CacheKey, CachedContent, Decoded, DecodedRange, zeros};
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
        let (archive, shared) = (self.archive, &self.archive.shared);
        let key = match self.strategy(size, within, is_only_piece)? {
            ReadStrategy::Stored => {
                archive.read_stored(self.index, size, within.start, out)?;
                return Ok(PieceBytes::InBuffer);
            }
            ReadStrategy::Whole => {
                let payload = self.payload()?;
                let _decoding = shared.begin_decoding();
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
        let cached = shared.cache.get(key);
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
        Ok(if self.archive.shared.cache.contains(&key) { ReadStrategy::Cached(key) } else { uncached })
    }

    /// Decodes the extent into the cache. The payload is read before, so a thread that waits for another one
    /// to decode never waits for a device.
    fn decode_once(self, key: CacheKey) -> Result<Decoded<'s, Reason>, Reason> {
        let payload = self.payload()?;
        let shared = &self.archive.shared;
        shared.cache.decode_once(key, move || {
            let _decoding = shared.begin_decoding();
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
        let (archive, shared, extent) = (self.archive, &self.archive.shared, self.record());
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
        let quirk = match (decoded, shared.salvages()) {
            (Err(error @ DecodeError::Suspect(_)), true) => {
                shared.salvaged.record((archive.number, self.entry), self.fault(error.into()));
                None
            }
            (decoded, _) => decoded?,
        };
        shared.count_decoded(out.len());
        if quirk == Some(Quirk::Longer) {
            shared.longer.lock().insert((archive.number, self.entry));
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
        let mut out = Buffer::for_cache(size, self.archive.shared.reserve(size))?;
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
            self.archive.shared.count_decoded(decoded);
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
            let mut out = Buffer::new(size, self.archive.shared.reserve(size))?;
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
    pub(crate) fn known_size(self) -> Option<u32> {
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

    /// Checks the unpacked size, in bytes, before a buffer is allocated for it. The size must be
    /// within its limit, and the packed bytes must be able to yield it. Stored bytes must lie within the
    /// archive. Unless the codec is `Stored`, they must also be within their own limit, and no more than
    /// data of this size can need.
    fn check_size(self, size: u32) -> Result<(), Reason> {
        let extent = self.record();
        let packed = u64::from(extent.packed);
        let limits = &self.archive.shared.limits;
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
