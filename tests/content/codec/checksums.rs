//! Checksums: if a stream has one, a flipped bit gives the right bytes or an error.

use std::io::Write;
use std::ops::Range;

use bsafs::content::codec::{DecodeError, Quirk, decode};
use bsafs::format::Codec;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use lz4_flex::frame::{BlockMode, BlockSize, FrameInfo};

use super::{frame_of, linked_frame_of, sample};

/// Flips every `step`th bit of `packed` in turn and decodes the result. `check` gets the index of
/// the changed byte, the result, and whether the bytes are right.
fn flip_bits(
    codec: Codec,
    packed: &[u8],
    bytes: &[u8],
    step: usize,
    check: impl Fn(usize, Result<Option<Quirk>, DecodeError>, bool),
) {
    let mut packed = packed.to_vec();
    let mut out = vec![0; bytes.len()];
    for bit in (0..packed.len() * 8).step_by(step) {
        packed[bit / 8] ^= 1 << (bit % 8);
        out.fill(0xaa);
        let result = decode(codec, &packed, &mut out);
        check(bit / 8, result, out == bytes);
        packed[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn a_flipped_bit_of_a_zlib_stream_is_harmless_or_reported() {
    let lens = [(0, 1), (1, 1), (20, 1), (300, 1), (1500, 1), (70_000, 997)];
    for ((len, step), level) in lens.into_iter().flat_map(|len| [0, 1, 6, 9].map(|level| (len, level))) {
        let bytes = sample(len);
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(level));
        encoder.write_all(&bytes).unwrap();
        let packed = encoder.finish().unwrap();
        flip_bits(Codec::Zlib, &packed, &bytes, step, |at, result, is_right| {
            // The flip may remove the mark of the stream's end. What follows is then no checksum.
            assert!(
                result.is_err() || is_right || result == Ok(Some(Quirk::Unended)),
                "{len} bytes at level {level}, a bit of byte {at}: {result:?}"
            );
            if at >= packed.len() - 4 {
                assert!(
                    matches!(result, Err(DecodeError::Suspect(_))),
                    "checksum of {len} bytes: {result:?}"
                );
                assert!(is_right, "not all bytes were decoded");
            }
        });
    }
}

/// The ranges of a frame that contain the bytes of its blocks.
fn blocks(frame: &[u8], header: usize, checksums: bool) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let mut at = header;
    while let word @ 1.. = u32::from_le_bytes(*frame[at..].first_chunk().unwrap()) {
        let len = (word & 0x7fff_ffff) as usize;
        blocks.push(at + 4..at + 4 + len);
        at += 4 + len + if checksums { 4 } else { 0 };
    }
    blocks
}

#[test]
fn a_flipped_bit_of_a_checksummed_lz4_frame_never_gives_wrong_bytes() {
    for (len, step) in [(20, 1), (600, 1), (70_000, 4001)] {
        let bytes = sample(len);
        for mode in [BlockMode::Independent, BlockMode::Linked] {
            for (of_blocks, of_content) in [(false, true), (true, false), (true, true)] {
                for size in [None, Some(len as u64)] {
                    let info = FrameInfo::new().block_mode(mode).block_size(BlockSize::Max64KB);
                    let info =
                        info.block_checksums(of_blocks).content_checksum(of_content).content_size(size);
                    let packed = frame_of(&bytes, info);
                    let header = if size.is_some() { 15 } else { 7 };
                    let blocks = blocks(&packed, header, of_blocks);
                    assert_eq!(blocks.len(), len.div_ceil(65_536));
                    flip_bits(Codec::Lz4Frame, &packed, &bytes, step, |at, result, is_right| {
                        let what =
                            format!("{len} bytes, {mode:?}, checksums {of_blocks} {of_content}, byte {at}");
                        let is_data = blocks.iter().any(|block| block.contains(&at));
                        // A block's checksum does not cover the length word before the block.
                        if of_content || is_data || at < header {
                            assert!(result.is_err() || is_right, "{what}: {result:?}");
                        }
                        if of_blocks && is_data {
                            assert!(result.is_err(), "{what}: {result:?}");
                        }
                    });
                }
            }
        }
    }
}

#[test]
fn a_wrong_lz4_frame_checksum_is_an_error_that_shows_both_values() {
    for len in [1, 100, 70_000] {
        let bytes = sample(len);
        let packed = linked_frame_of(&bytes);
        let end = packed.len();
        // The last block's checksum comes before the end mark and the content checksum.
        for (at, name, digits) in [(6, "header", 2), (end - 9, "block", 8), (end - 1, "content", 8)] {
            let mut packed = packed.clone();
            packed[at] ^= 1;
            let mut out = vec![0xaa; len];
            let error = decode(Codec::Lz4Frame, &packed, &mut out).unwrap_err();
            let text = error.to_string();
            let begins = format!("the LZ4 frame is damaged: its {name} checksum is ");
            assert!(matches!(error, DecodeError::Suspect(_)) && text.starts_with(&begins), "{text}");
            let values = text[begins.len()..].split_once(", but its data has ").unwrap();
            let [stored, computed] =
                [values.0, values.1].map(|value| u32::from_str_radix(value, 16).unwrap());
            assert_eq!(stored ^ computed, if digits == 2 { 1 } else { 1 << 24 }, "{text}");
            assert_eq!((values.0.len(), values.1.len()), (digits, digits), "{text}");
            assert!(out == bytes, "{name}");
        }
    }
}

#[test]
fn a_longer_lz4_frame_is_accepted_only_with_its_own_checksums() {
    let bytes = sample(200_000);
    let packed = linked_frame_of(&bytes);
    let mut wrong = packed.clone();
    *wrong.last_mut().unwrap() ^= 1;
    for len in [1, 65_535, 65_537, 199_999] {
        let mut out = vec![0; len];
        assert_eq!(decode(Codec::Lz4Frame, &packed, &mut out), Ok(Some(Quirk::Longer)), "{len}");
        let mut error = |packed: &[u8]| decode(Codec::Lz4Frame, packed, &mut out).unwrap_err().to_string();
        let text = error(&wrong);
        assert!(text.starts_with("the LZ4 frame is damaged: its content checksum is "), "{text}");
        let what =
            format!("the LZ4 frame holds more than the declared {len} bytes and has no checksum at its end");
        assert_eq!(error(&packed[..packed.len() - 1]), what);
    }
}
