//! Bytes: what is in a file, read and decoded on demand.
//!
//! The way of a read (DESIGN.md section 5): stored bytes are one positioned read; an extent that is asked for whole is
//! decoded into the answer; the first bytes of a large one are decoded alone; anything else is decoded once into the
//! cache, whoever asks, and answered from there.

mod buffer;
mod cache;
pub mod codec;
mod counters;
mod decoded;
mod error;
mod extents;
mod layer;
mod lead;
mod sizes;
mod untiled;

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use std::time::SystemTime;

pub use decoded::Decoded;
pub use error::{ReadError, Reason};
pub use layer::LayerTables;
pub use untiled::TextureForm;

use crate::format::{Codec, EntryId, Head, Limits};
use crate::source::Source;
use cache::{Cache, Key};
use codec::Quirk;
use counters::Counters;
use layer::Layer;

/// Bytes at the beginning of a file that are decoded alone where they are all that is asked for: what file managers and
/// `file` look at, of which the kernel makes a read of 16 KiB. Who reads in large steps asks for more at once, and is
/// answered from the whole, so that nothing is decoded twice for him.
const PREFIX_LEN: u64 = 64 << 10;
/// They are decoded alone only where the whole is longer, and so many times as long as they: for a reader who goes on,
/// they were in vain.
const PREFIX_PART: u64 = 4;
/// In extents that become more bytes than this, a second look is answered like the first: it costs 0.2 ms at most.
const LARGE: u64 = 512 << 10;
/// Pieces in which stored files are copied out, in bytes.
const COPY_LEN: u64 = 1 << 20;

/// The content of all archives that were opened together.
#[derive(Debug)]
pub struct Store {
    layers: Vec<Layer>,
    cache: Cache<Reason>,
    limits: Limits,
    counters: Counters,
}

/// A packed extent of a file, for listings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// How the file's extents are packed; the first codec other than stored, if there is one.
    pub codec: Codec,
    /// Bytes that they take in the archive.
    pub packed: u64,
}

impl Store {
    /// An empty store whose cache holds `cache_size` bytes, or one extent where that is larger.
    pub fn new(cache_size: u64, limits: Limits) -> Self {
        Self { layers: Vec::new(), cache: Cache::new(cache_size), limits, counters: Counters::default() }
    }

    /// Adds an archive's content as the next layer.
    pub fn add(&mut self, source: Source, tables: LayerTables) {
        self.layers.push(Layer::new(source, tables));
    }

    /// How many layers there are.
    pub fn layers(&self) -> usize {
        self.layers.len()
    }

    /// Where a layer's archive was found.
    pub fn path(&self, layer: u16) -> &Path {
        self.layers[usize::from(layer)].source.path()
    }

    /// When a layer's archive was last changed before it was opened.
    pub fn modified(&self, layer: u16) -> SystemTime {
        self.layers[usize::from(layer)].source.modified()
    }

    /// Bytes that all archives take on the disk.
    pub fn archive_bytes(&self) -> u64 {
        self.layers.iter().map(|layer| layer.source.len()).sum()
    }

    /// Bytes of decoded extents that are held, and that may be.
    pub fn cached_bytes(&self) -> (u64, u64) {
        (self.cache.bytes(), self.cache.budget())
    }

    /// Bytes that packed extents became so far, first parts that were decoded alone included.
    pub fn decoded_bytes(&self) -> u64 {
        self.counters.decoded()
    }

    /// Answers so far from extents that the cache held decoded.
    pub fn cache_hits(&self) -> u64 {
        self.counters.hits()
    }

    /// Reads so far that failed.
    pub fn faults(&self) -> u64 {
        self.counters.faults()
    }

    /// Bytes read from all archives so far, the mapped tables not counted.
    pub fn bytes_read(&self) -> u64 {
        self.layers.iter().map(|layer| layer.source.bytes_read()).sum()
    }

    /// A file's size in bytes.
    ///
    /// There is always an answer: a file whose size cannot be told is given the length of its data, and one byte at
    /// least, because readers would take an empty file for a sound one and never learn of the fault.
    pub fn size(&self, id: EntryId) -> u64 {
        let layer = &self.layers[usize::from(id.layer)];
        if let Some((_, len)) = layer.untiled(id.entry) {
            return layer.head(id.entry).len() + len;
        }
        let of_extents: u64 = layer
            .extents_of(id.entry)
            .map(|index| {
                layer.size(index).map_or_else(|_| u64::from(layer.extent(index).packed.max(1)), u64::from)
            })
            .sum();
        layer.head(id.entry).len() + of_extents
    }

    /// How a file is packed.
    pub fn packing(&self, id: EntryId) -> Packing {
        let layer = &self.layers[usize::from(id.layer)];
        let extents = layer.extents_of(id.entry).map(|index| layer.extent(index));
        let codec = extents.clone().map(|extent| extent.codec).find(|&codec| codec != Codec::Stored);
        Packing {
            codec: codec.unwrap_or(Codec::Stored),
            packed: extents.map(|extent| u64::from(extent.packed)).sum(),
        }
    }

    /// The header that is put in front of a file.
    pub fn head(&self, id: EntryId) -> Head {
        self.layers[usize::from(id.layer)].head(id.entry)
    }

    /// Gives `answer` the bytes of a file from `offset` on: `len` of them, or fewer at the file's end.
    ///
    /// # Errors
    /// The fault of the first extent that has one.
    pub fn read_at<T>(
        &self,
        id: EntryId,
        offset: u64,
        len: u32,
        answer: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, ReadError> {
        self.read_and_share(id, offset, len, answer).map(|(answered, _)| answered)
    }

    /// The same; where more was decoded than was asked for and the rest had better be given to those who cache it, all
    /// that was decoded comes along.
    ///
    /// # Errors
    /// The fault of the first extent that has one.
    pub fn read_and_share<T>(
        &self,
        id: EntryId,
        offset: u64,
        len: u32,
        answer: impl FnOnce(&[u8]) -> T,
    ) -> Result<(T, Option<Decoded>), ReadError> {
        let end = self.size(id).min(offset.saturating_add(u64::from(len)));
        let Some(len) = end.checked_sub(offset).filter(|&len| len > 0) else {
            return Ok((answer(&[]), None));
        };
        let pieces = self.pieces(id, offset..end);
        if let [piece] = &pieces[..]
            && let Some(decoded) = self.held(id, piece)?
        {
            let within = piece.within.start as usize..piece.within.end as usize;
            let answered = answer(&decoded.bytes()[within]);
            return Ok((answered, self.served(decoded, piece)));
        }
        buffer::answer(len as usize, |out| {
            let mut rest = &mut out[..];
            let mut given = None;
            for piece in &pieces {
                let (to, others) = rest.split_at_mut((piece.within.end - piece.within.start) as usize);
                given = self.fill(id, piece, to)?.or(given);
                rest = others;
            }
            Ok((answer(out), given))
        })
    }

    /// Decodes a small packed file into the cache, where the read that is about to come finds it; no other file is kept
    /// that was decoded so and not read, and none is let go for it. What is wrong with it is for that read to tell.
    pub fn decode_ahead(&self, id: EntryId) {
        let layer = &self.layers[usize::from(id.layer)];
        let extents = layer.extents_of(id.entry);
        if extents.len() != 1 || layer.untiled(id.entry).is_some() {
            return;
        }
        let index = extents.start;
        let (extent, Ok(size)) = (layer.extent(index), layer.size(index)) else { return };
        let key = Key { layer: id.layer, offset: extent.offset, size };
        // Of what is longer, the beginning may be all that is asked for.
        let is_small_and_packed = u64::from(size) <= PREFIX_LEN && extent.codec != Codec::Stored;
        if is_small_and_packed && self.affordable(id.layer, index, size).is_ok() && self.cache.expect(&key) {
            let _ = self.hold_decoded(id.layer, index, key);
        }
    }

    /// Writes a whole file, piece by piece.
    ///
    /// # Errors
    /// The fault of the first extent that has one, as the source of an [`io::Error`]; or the writer's own.
    pub fn copy(&self, id: EntryId, to: &mut impl Write) -> io::Result<u64> {
        let layer = &self.layers[usize::from(id.layer)];
        to.write_all(&layer.head_bytes(id.entry))?;
        if layer.untiled(id.entry).is_some() {
            to.write_all(self.untiled(id).map_err(io::Error::other)?.bytes())?;
            return Ok(self.size(id));
        }
        for index in layer.extents_of(id.entry) {
            for within in self.steps(id, index).map_err(io::Error::other)? {
                buffer::answer((within.end - within.start) as usize, |out| {
                    let piece = Piece { what: What::Extent(index), start: 0, within };
                    self.fill(id, &piece, out).map_err(io::Error::other)?;
                    to.write_all(out)
                })?;
            }
        }
        Ok(self.size(id))
    }

    /// Decodes a whole file, and tells what is odd about it.
    ///
    /// # Errors
    /// The fault of the first extent that has one.
    pub fn check(&self, id: EntryId) -> Result<Vec<Quirk>, ReadError> {
        let layer = &self.layers[usize::from(id.layer)];
        let mut quirks = Vec::new();
        if layer.untiled(id.entry).is_some() {
            // What else it takes is that each extent is sound, for lengths were compared already.
            self.affordable_together(id)?;
        }
        for index in layer.extents_of(id.entry) {
            for within in self.steps(id, index)? {
                let quirk = buffer::answer((within.end - within.start) as usize, |out| {
                    match layer.extent(index).codec {
                        Codec::Stored => layer.read_stored(index, within.start, out).map(|()| None),
                        _ => self.decode(id.layer, index, out),
                    }
                });
                quirks.extend(quirk.map_err(|reason| self.fault(id, index, reason))?);
            }
        }
        Ok(quirks)
    }

    /// The parts in which an extent is read through: stored ones in pieces, packed ones whole. A size that is a lie is
    /// refused here, before anybody makes a buffer of it.
    fn steps(&self, id: EntryId, index: u32) -> Result<impl Iterator<Item = Range<u64>> + use<>, ReadError> {
        let layer = &self.layers[usize::from(id.layer)];
        let (size, step) = layer
            .size(index)
            .and_then(|size| match layer.extent(index).codec {
                Codec::Stored => Ok((size, COPY_LEN)),
                _ => self.affordable(id.layer, index, size).map(|()| (size, u64::from(size.max(1)))),
            })
            .map_err(|reason| self.fault(id, index, reason))?;
        let size = u64::from(size);
        Ok((0..size).step_by(step as usize).map(move |at| at..size.min(at + step)))
    }

    /// Cuts a range of a file at the borders of its head and extents.
    fn pieces(&self, id: EntryId, range: Range<u64>) -> Vec<Piece> {
        let layer = &self.layers[usize::from(id.layer)];
        let untiled = layer.untiled(id.entry).map(|(_, len)| (What::Untiled, len));
        let extents = layer.extents_of(id.entry).filter(|_| untiled.is_none()).map(|index| {
            let size = layer.size(index).unwrap_or_else(|_| layer.extent(index).packed.max(1));
            (What::Extent(index), u64::from(size))
        });
        let mut start = 0;
        let mut pieces = Vec::new();
        let head = (What::Head, layer.head(id.entry).len());
        for (what, size) in std::iter::once(head).chain(untiled).chain(extents) {
            let end = start + size;
            let (from, to) = (range.start.max(start), range.end.min(end));
            if from < to {
                pieces.push(Piece { what, start, within: from - start..to - start });
            }
            start = end;
        }
        pieces
    }

    /// Whether a part of an extent is answered from the cache: because it is there already, or because neither the
    /// whole nor a first part alone is asked for, so that the rest will be wanted too.
    fn cached(&self, id: EntryId, index: u32, within: &Range<u64>) -> Result<Option<Key>, ReadError> {
        let layer = &self.layers[usize::from(id.layer)];
        let extent = layer.extent(index);
        if extent.codec == Codec::Stored {
            return Ok(None);
        }
        let size = layer.size(index).map_err(|reason| self.fault(id, index, reason))?;
        let key = Key { layer: id.layer, offset: extent.offset, size };
        let size = u64::from(size);
        let is_whole = *within == (0..size);
        // Of an extent further on a reader has come here through all that is before it, and will go on.
        let is_first_look = index == layer.extents_of(id.entry).start
            && size > PREFIX_LEN
            && within.end <= PREFIX_LEN.min(size / PREFIX_PART)
            && (within.start == 0 || size > LARGE);
        let is_prefix = is_first_look && codec::has_prefix(extent.codec);
        Ok((!(is_whole || is_prefix) || self.cache.has(&key)).then_some(key))
    }

    /// The bytes that a piece is part of, where it is answered from the cache.
    fn held(&self, id: EntryId, piece: &Piece) -> Result<Option<Decoded>, ReadError> {
        let decoded = match piece.what {
            What::Head => return Ok(None),
            What::Untiled => self.untiled(id)?,
            What::Extent(index) => match self.cached(id, index, &piece.within)? {
                Some(key) => self.decoded(id, index, key)?,
                None => return Ok(None),
            },
        };
        Ok(Some(Decoded { offset: piece.start, ..decoded }))
    }

    /// Notes that a piece was served from the cache; answers what had better be given to those who cache files.
    fn served(&self, decoded: Decoded, piece: &Piece) -> Option<Decoded> {
        self.cache.served(&decoded.key, &piece.within).then_some(decoded)
    }

    /// Fills `out` with a piece of a file; answers what had better be given to those who cache files.
    fn fill(&self, id: EntryId, piece: &Piece, out: &mut [u8]) -> Result<Option<Decoded>, ReadError> {
        let layer = &self.layers[usize::from(id.layer)];
        let Piece { what, within, .. } = piece;
        if let Some(decoded) = self.held(id, piece)? {
            out.copy_from_slice(&decoded.bytes()[within.start as usize..within.end as usize]);
            return Ok(self.served(decoded, piece));
        }
        // What is untiled was held.
        let What::Extent(index) = *what else {
            out.copy_from_slice(&layer.head_bytes(id.entry)[within.start as usize..within.end as usize]);
            return Ok(None);
        };
        let filled = match layer.extent(index).codec {
            Codec::Stored => layer.read_stored(index, within.start, out),
            _ => layer.size(index).and_then(|size| {
                self.affordable(id.layer, index, size)?;
                match *within == (0..u64::from(size)) {
                    true => self.decode(id.layer, index, out).map(|_| ()),
                    false => self.decode_prefix(id.layer, index, within, out),
                }
            }),
        };
        filled.map(|()| None).map_err(|reason| self.fault(id, index, reason))
    }

    /// The decoded bytes of an extent, from the cache or into it.
    fn decoded(&self, id: EntryId, index: u32, key: Key) -> Result<Decoded, ReadError> {
        // Asked before a slot is made, for which others must go.
        self.affordable(id.layer, index, key.size).map_err(|reason| self.fault(id, index, reason))?;
        self.hold_decoded(id.layer, index, key).map_err(|reason| self.fault(id, index, reason))
    }

    /// The same of a size that was found affordable.
    fn hold_decoded(&self, layer: u16, index: u32, key: Key) -> Result<Decoded, Reason> {
        self.hold(key, || {
            let mut out = vec![0; key.size as usize].into_boxed_slice();
            self.decode(layer, index, &mut out)?;
            Ok(out)
        })
    }

    /// What the cache holds under a key; if nothing, what `make` makes, while others who want it wait.
    fn hold(&self, key: Key, make: impl FnOnce() -> Result<Box<[u8]>, Reason>) -> Result<Decoded, Reason> {
        let slot = self.cache.slot(key);
        let mut is_hit = true;
        let made = slot.get_or_init(|| {
            is_hit = false;
            make()
        });
        if is_hit {
            self.counters.add_hit();
        }
        match made {
            Ok(_) => Ok(Decoded { slot, key, offset: 0 }),
            Err(reason) => {
                // A fault is not kept: the disk may have been away for a moment.
                self.cache.remove(&key);
                Err(reason.clone())
            }
        }
    }

    /// Decodes a whole extent into `out`, which has its size.
    fn decode(&self, layer: u16, index: u32, out: &mut [u8]) -> Result<Option<Quirk>, Reason> {
        let layer = &self.layers[usize::from(layer)];
        let extent = layer.extent(index);
        let quirk = layer
            .with_payload(index, u64::MAX, |payload, _| Ok(codec::decode(extent.codec, payload, out)?))?;
        self.counters.add_decoded(out.len());
        if let Some(quirk) = quirk {
            log::debug!(
                "{}: data at offset {}: {quirk}; its bytes are whole",
                layer.source.path().display(),
                extent.offset
            );
        }
        Ok(quirk)
    }

    /// Decodes as much of an extent as a part near its beginning takes.
    fn decode_prefix(
        &self,
        layer: u16,
        index: u32,
        within: &Range<u64>,
        out: &mut [u8],
    ) -> Result<(), Reason> {
        let tables = &self.layers[usize::from(layer)];
        let codec = tables.extent(index).codec;
        let mut first = vec![0; within.end as usize];
        // Data that packs at all yields more than it takes; where it does not, twice as much is tried next.
        let mut len = within.end + 1024;
        loop {
            let (came, is_all) = tables.with_payload(index, len, |payload, is_all| {
                // What is wrong is told as it is told of the whole.
                Ok(codec::prefix(codec, payload, &mut first).map_or((0, true), |came| (came, is_all)))
            })?;
            self.counters.add_decoded(came);
            if came == first.len() {
                out.copy_from_slice(&first[within.start as usize..]);
                return Ok(());
            }
            if is_all {
                break;
            }
            len = len.saturating_mul(2);
        }
        // The stream ends early, or is of a kind that only its full size vouches for.
        let mut whole = vec![0; tables.size(index)? as usize];
        self.decode(layer, index, &mut whole)?;
        out.copy_from_slice(&whole[within.start as usize..within.end as usize]);
        Ok(())
    }

    /// Refuses a size that the extent's bytes cannot become, or that is too much, before anything is allocated.
    fn affordable(&self, layer: u16, index: u32, size: u32) -> Result<(), Reason> {
        let extent = self.layers[usize::from(layer)].extent(index);
        let is_possible = u64::from(size) <= codec::most(extent.codec, u64::from(extent.packed));
        if is_possible && size <= self.limits.extent { Ok(()) } else { Err(Reason::Size(size)) }
    }

    fn fault(&self, entry: EntryId, index: u32, reason: Reason) -> ReadError {
        self.counters.add_fault();
        let layer = &self.layers[usize::from(entry.layer)];
        let is_new = reason != Reason::Changed && layer.is_news(entry.entry);
        ReadError { entry, at: layer.extent(index).offset, reason, is_new }
    }
}

/// A part of a file that comes from one place.
#[derive(Debug)]
struct Piece {
    what: What,
    /// Where in the file that place's bytes begin.
    start: u64,
    /// Which bytes of it.
    within: Range<u64>,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Head,
    /// One of the archive's extents.
    Extent(u32),
    /// All of the file's extents, their texels put into rows.
    Untiled,
}
