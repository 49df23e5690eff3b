//! LZ4 frames, as `lz4_Frame_format.md` of the LZ4 project defines them.
//!
//! This file walks the frame, and `lz4_flex` decodes its blocks directly into the file's buffer.
//! The frame decoder of `lz4_flex` allocates the frame's largest block size, some MiB even for a
//! file of a few KiB. That makes it many times slower for such a file.
//!
//! Checksums are compared, except when a prefix is decoded. All are XXH32 with seed 0, which takes 0.2 ns a
//! byte and makes decoding take 50% longer.

use std::hash::Hasher;
use std::ops::RangeInclusive;

use lz4_flex::block::{DecompressError, decompress_into, decompress_into_with_dict};
use twox_hash::XxHash32;

use super::error::{DecodeError, Quirk, Start, contradiction, damaged, ends_early, unproven};
use super::lz4_block::decode_part;
use super::method::{EXCESS_MAX, Method};

/// One length byte adds at most 255 bytes.
pub(super) static METHOD: Method = Method { decode, decode_prefix: Some(decode_prefix), max_ratio: 255 };

/// The first word of a frame.
pub(super) const MAGIC: u32 = 0x184d_2204;

/// The first words of frames that hold no data.
const SKIPPABLE: RangeInclusive<u32> = 0x184d_2a50..=0x184d_2a5f;

/// Number of bytes at the beginning of a frame that show its content size: the magic number, flags, block
/// size, and the content size itself.
pub(super) const DESCRIPTOR_MAX: usize = 14;

/// How far back a match can reach, in bytes.
const WINDOW: usize = 64 << 10;

/// The name of a frame in errors.
const STREAM: &str = "LZ4 frame";

pub(super) fn is_frame(packed: &[u8]) -> bool {
    packed.starts_with(&MAGIC.to_le_bytes())
}

/// Whether a frame states that its blocks or its content have checksums.
pub(super) fn has_checksum(packed: &[u8]) -> bool {
    is_frame(packed) && packed.get(4).is_some_and(|flags| flags & 0x14 != 0)
}

/// The content size that a frame states, from its first [`DESCRIPTOR_MAX`] bytes. A frame that ends directly
/// after its descriptor states that it is empty.
pub(super) fn content_size(packed: &[u8]) -> Option<u64> {
    let (_, descriptor) = packed.split_at_checked(4).filter(|_| is_frame(packed))?;
    let flags = *descriptor.first()?;
    if flags & 0x08 != 0 {
        return descriptor.get(2..)?.first_chunk().map(|size| u64::from_le_bytes(*size));
    }
    // The block size and the header checksum precede the end mark.
    descriptor.get(3..7).filter(|word| *word == [0; 4]).map(|_| 0)
}

/// Decodes consecutive LZ4 frames.
pub(super) fn decode(packed: &[u8], out: &mut [u8]) -> Result<Option<Quirk>, DecodeError> {
    let mut frames = Frames { is_checked: true, ..Frames::new(packed, out) };
    let stop = frames.run();
    let (filled, contradiction) = (frames.filled, frames.contradiction);
    match (stop, contradiction) {
        (WalkEnd::Damaged(error), _) => Err(error),
        _ if filled < out.len() => Err(ends_early(STREAM, filled, out)),
        (_, Some(what)) => Err(DecodeError::Suspect(what)),
        (WalkEnd::End, None) => Ok(None),
        (WalkEnd::Short, None) => Ok(Some(Quirk::Unended)),
        (WalkEnd::Trailing, None) => Ok(Some(Quirk::Trailing)),
        (WalkEnd::Full, None) => Ok(Some(Quirk::Longer)),
    }
}

fn decode_prefix(packed: &[u8], out: &mut [u8]) -> Result<usize, DecodeError> {
    let mut frames = Frames::new(packed, out);
    match frames.run() {
        WalkEnd::Damaged(error) => Err(error),
        WalkEnd::End | WalkEnd::Short | WalkEnd::Trailing | WalkEnd::Full => Ok(frames.filled),
    }
}

/// A walk through a payload of frames.
struct Frames<'a, 'o> {
    /// The part of the payload that has not been read yet.
    rest: &'a [u8],
    /// The file's bytes.
    out: &'o mut [u8],
    /// Number of bytes of `out` that are decoded.
    filled: usize,
    /// Number of decoded bytes that may be dropped to make room for more. It is 0 unless a frame is
    /// decoded only for its checksums.
    droppable: u64,
    /// Whether checksums are compared.
    is_checked: bool,
    /// Describes the first wrong checksum.
    contradiction: Option<String>,
}

/// Where the walk through a payload ended.
enum WalkEnd {
    /// After a complete frame that nothing follows.
    End,
    /// After a complete frame that something else follows.
    Trailing,
    /// Within a frame, where the payload ends.
    Short,
    /// Within a frame, where the buffer is full.
    Full,
    /// At bytes that contradict themselves or are not supported.
    Damaged(DecodeError),
}

impl<'a, 'o> Frames<'a, 'o> {
    /// A walk that compares no checksums.
    fn new(packed: &'a [u8], out: &'o mut [u8]) -> Self {
        Self { rest: packed, out, filled: 0, droppable: 0, is_checked: false, contradiction: None }
    }

    /// Walks through all frames.
    fn run(&mut self) -> WalkEnd {
        let mut first = true;
        loop {
            match self.frame(first) {
                Ok(()) if self.rest.is_empty() => return WalkEnd::End,
                // What follows a complete file does not spoil it.
                Ok(()) => {
                    first = false;
                    self.is_checked &= self.filled < self.out.len();
                }
                Err(WalkEnd::Damaged(_)) if !first && self.filled == self.out.len() => {
                    return WalkEnd::Trailing;
                }
                Err(stop) => return stop,
            }
        }
    }

    fn frame(&mut self, first: bool) -> Result<(), WalkEnd> {
        let start = self.rest;
        match self.word() {
            Ok(MAGIC) => {
                let head = self.head()?;
                let (blocks, start) = (self.rest, self.filled);
                let ended = self.decode_blocks(&head);
                if matches!(ended, Err(WalkEnd::Full)) && self.filled > start {
                    self.check_longer(&head, blocks);
                }
                ended
            }
            Ok(magic) if SKIPPABLE.contains(&magic) => {
                let len = self.word()?;
                self.take(len as usize).map(|_| ())
            }
            Err(short) if first => Err(short),
            Ok(_) if first => {
                Err(WalkEnd::Damaged(DecodeError::Corrupt(format!("not an LZ4 frame ({})", Start(start)))))
            }
            _ => Err(WalkEnd::Trailing),
        }
    }

    /// Reads a frame's descriptor: FLG, BD, content size, dictionary, header checksum.
    ///
    /// Skips the content size, because the size that the archive states is the one that counts.
    fn head(&mut self) -> Result<FrameHead, WalkEnd> {
        let start = self.rest;
        let &[flags, block] = self.array()?;
        let unsupported = |what: &str| Err(WalkEnd::Damaged(DecodeError::Unsupported(what.into())));
        if flags >> 6 != 1 || flags & 0x02 != 0 || block & 0x8f != 0 {
            return unsupported("the LZ4 frame has an unknown version");
        }
        if flags & 0x01 != 0 {
            return unsupported("the LZ4 frame needs a dictionary");
        }
        // 4 to 7 stand for 64 KiB, 256 KiB, 1 MiB and 4 MiB.
        let Some(power @ 0..=3) = (block >> 4).checked_sub(4) else {
            return unsupported("the LZ4 frame has an unknown block size");
        };
        if flags & 0x08 != 0 {
            self.take(8)?;
        }
        let descriptor = &start[..start.len() - self.rest.len()];
        let &[stored] = self.array()?;
        self.compare("header checksum", 2, stored.into(), || XxHash32::oneshot(0, descriptor) >> 8 & 0xff);
        Ok(FrameHead {
            linked: flags & 0x20 == 0,
            block_checksums: flags & 0x10 != 0,
            content_checksum: flags & 0x04 != 0,
            block: WINDOW << (2 * power),
        })
    }

    /// Decodes a frame's blocks, its end mark and its checksum.
    fn decode_blocks(&mut self, head: &FrameHead) -> Result<(), WalkEnd> {
        /// Set in the length of a block that is not packed.
        const STORED: u32 = 1 << 31;
        let mut start = self.filled;
        let mut content = XxHash32::with_seed(0);
        loop {
            let word = self.word()?;
            if word == 0 {
                break;
            }
            if self.droppable > 0 && self.out.len() - self.filled < head.block {
                self.drop_all_but_window()?;
                start = 0;
            }
            if self.filled == self.out.len() {
                return Err(WalkEnd::Full);
            }
            let len = (word & !STORED) as usize;
            if len > head.block {
                return Err(self.damaged("a block is larger than the frame allows"));
            }
            // The part of a truncated block that exists is decoded.
            let (data, whole) = match self.take(len) {
                Ok(data) => (data, true),
                Err(_) => (std::mem::take(&mut self.rest), false),
            };
            let before = self.filled;
            if word & STORED != 0 {
                self.copy(data)?;
            } else {
                let history = if head.linked { start } else { self.filled };
                self.unpack(data, whole, history, head.block)?;
            }
            if !whole {
                return Err(WalkEnd::Short);
            }
            if head.block_checksums {
                let stored = self.word()?;
                self.compare("block checksum", 8, stored, || XxHash32::oneshot(0, data));
            }
            if head.content_checksum && self.is_checked {
                content.write(&self.out[before..self.filled]);
            }
        }
        if head.content_checksum {
            let stored = self.word()?;
            self.compare("content checksum", 8, stored, || content.finish_32());
        }
        Ok(())
    }

    /// Compares a checksum, which has `digits` hexadecimal digits.
    fn compare(&mut self, checksum: &str, digits: usize, stored: u32, compute: impl FnOnce() -> u32) {
        if self.is_checked && self.contradiction.is_none() {
            let computed = compute();
            let is_wrong = stored != computed;
            self.contradiction = is_wrong.then(|| contradiction(STREAM, checksum, digits, stored, computed));
        }
    }

    /// Compares the checksums of a frame that is longer than declared. They cover all of the frame,
    /// so it is decoded again, and only the window that matches can reach is kept.
    fn check_longer(&mut self, head: &FrameHead, blocks: &'a [u8]) {
        let has_checksum = head.block_checksums || head.content_checksum;
        if !self.is_checked || !has_checksum || self.contradiction.is_some() {
            return;
        }
        let mut window = vec![0; WINDOW + head.block];
        let droppable = self.out.len() as u64 + EXCESS_MAX;
        let mut frame = Frames { is_checked: true, droppable, ..Frames::new(blocks, &mut window) };
        let ended = frame.decode_blocks(head);
        let contradiction = frame.contradiction;
        self.contradiction = contradiction.or_else(|| ended.is_err().then(|| unproven(STREAM, self.out)));
    }

    /// Makes room for a block: drops all bytes except the window.
    fn drop_all_but_window(&mut self) -> Result<(), WalkEnd> {
        let dropped = self.filled.saturating_sub(WINDOW);
        self.droppable = self.droppable.checked_sub(dropped as u64).ok_or(WalkEnd::Full)?;
        self.out.copy_within(dropped..self.filled, 0);
        self.filled -= dropped;
        Ok(())
    }

    /// Appends bytes that are not packed.
    fn copy(&mut self, data: &[u8]) -> Result<(), WalkEnd> {
        let room = &mut self.out[self.filled..];
        let len = data.len().min(room.len());
        room[..len].copy_from_slice(&data[..len]);
        self.filled += len;
        if len < data.len() { Err(WalkEnd::Full) } else { Ok(()) }
    }

    /// Appends a packed block of at most `most` bytes. Its matches may reach back to `history`.
    fn unpack(&mut self, data: &[u8], whole: bool, history: usize, most: usize) -> Result<(), WalkEnd> {
        let room = self.out.len() - self.filled;
        let limit = room.min(most);
        if whole {
            let (done, free) = self.out.split_at_mut(self.filled);
            let window = &done[history.max(done.len().saturating_sub(WINDOW))..];
            let result = if window.is_empty() {
                decompress_into(data, &mut free[..limit])
            } else {
                decompress_into_with_dict(data, &mut free[..limit], window)
            };
            match result {
                Ok(len) => {
                    self.filled += len;
                    return Ok(());
                }
                // `lz4_flex` does not report how far it got. The block is decoded again below, as
                // far as there is room.
                Err(DecompressError::OutputTooSmall { .. }) if limit == room => {}
                Err(reason) => return Err(self.damaged(reason)),
            }
        }
        match decode_part(data, &mut self.out[..self.filled + limit], history, self.filled) {
            Ok(filled) => self.filled = filled,
            Err(damage) => return Err(self.damaged(damage)),
        }
        Err(if whole { WalkEnd::Full } else { WalkEnd::Short })
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], WalkEnd> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(WalkEnd::Short)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], WalkEnd> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(WalkEnd::Short)?;
        self.rest = rest;
        Ok(taken)
    }

    fn word(&mut self) -> Result<u32, WalkEnd> {
        self.array().map(|word| u32::from_le_bytes(*word))
    }

    fn damaged(&self, reason: impl std::fmt::Display) -> WalkEnd {
        WalkEnd::Damaged(damaged(STREAM, self.filled, self.out, reason))
    }
}

/// What a frame states about its blocks.
struct FrameHead {
    /// Whether matches may reach back into earlier blocks.
    linked: bool,
    /// Whether each block is followed by a checksum of four bytes.
    block_checksums: bool,
    /// Whether the end mark is followed by a checksum of four bytes.
    content_checksum: bool,
    /// Maximum length of a block in bytes, packed or not.
    block: usize,
}
