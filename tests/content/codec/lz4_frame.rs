//! LZ4 frames: every option, several frames in a row, quirks and errors.

use bsafs::content::codec::{self, DecodeError, Quirk};
use bsafs::format::Codec;
use lz4_flex::frame::{BlockMode, BlockSize, FrameInfo};

use super::{error_of, frame_of, linked_frame_of, quirk_of, sample};
use crate::support::content::noise;

/// First word of a frame.
const MAGIC: u32 = 0x184d_2204;

fn decode(packed: &[u8], out: &mut [u8]) -> Result<Option<Quirk>, DecodeError> {
    codec::decode(Codec::Lz4Frame, packed, out)
}

fn quirk(packed: &[u8], bytes: &[u8]) -> Option<Quirk> {
    quirk_of(decode, packed, bytes)
}

fn error(packed: &[u8], size: usize) -> String {
    error_of(decode, packed, size)
}

#[test]
fn frames_with_every_combination_of_options_decode() {
    for len in [0, 1, 12, 5000, 65_536, 65_537, 300_000] {
        let bytes = sample(len);
        for mode in [BlockMode::Independent, BlockMode::Linked] {
            for size in [BlockSize::Max64KB, BlockSize::Max256KB, BlockSize::Max1MB, BlockSize::Max4MB] {
                for bits in 0..8 {
                    let mut info = FrameInfo::new().block_mode(mode).block_size(size);
                    info = info.block_checksums(bits & 1 != 0).content_checksum(bits & 2 != 0);
                    info = info.content_size((bits & 4 != 0).then_some(len as u64));
                    assert_eq!(
                        quirk(&frame_of(&bytes, info), &bytes),
                        None,
                        "{len} {mode:?} {size:?} {bits}"
                    );
                }
            }
        }
    }
}

#[test]
fn matches_reach_back_across_blocks_of_four_mib() {
    let bytes = sample(4_300_000);
    let info = FrameInfo::new().block_mode(BlockMode::Linked).block_size(BlockSize::Max4MB);
    assert_eq!(quirk(&frame_of(&bytes, info), &bytes), None);
}

#[test]
fn incompressible_blocks_are_copied() {
    let bytes = noise(1, 150_000);
    let packed = frame_of(&bytes, FrameInfo::new().block_size(BlockSize::Max64KB));
    assert!(packed.len() > bytes.len(), "the sample is compressible");
    assert_eq!(quirk(&packed, &bytes), None);
    for len in [0, 70_000, 149_999] {
        assert_eq!(quirk(&packed, &bytes[..len]), Some(Quirk::Longer), "{len}");
    }
}

#[test]
fn several_frames_are_one_file_and_skippable_frames_are_ignored() {
    let bytes = sample(200_000);
    let mut packed = b"\x5f\x2a\x4d\x18\x05\0\0\0other".to_vec();
    packed.extend(linked_frame_of(&bytes[..90_000]));
    packed.extend(b"\x50\x2a\x4d\x18\0\0\0\0");
    packed.extend(linked_frame_of(&[]));
    packed.extend(linked_frame_of(&bytes[90_000..]));
    assert_eq!(quirk(&packed, &bytes), None);
    assert_eq!(quirk(&packed, &bytes[..90_000]), Some(Quirk::Longer));
}

#[test]
fn a_match_must_not_reach_back_into_the_previous_frame() {
    let mut packed = linked_frame_of(b"abcdefgh");
    // One block: a match of four bytes at distance four, and the literal `x`.
    packed.extend(b"\x04\x22\x4d\x18\x40\x40\xc0\x05\0\0\0\x00\x04\0\x10x\0\0\0\0");
    assert!(error(&packed, 13).contains("damaged after 8 of 13 bytes"), "{}", error(&packed, 13));
}

#[test]
fn a_frame_damaged_after_its_data_gives_all_bytes_and_a_quirk() {
    for len in [1, 100, 70_000] {
        let bytes = sample(len);
        let mut packed = linked_frame_of(&bytes);
        let end = packed.len();
        // The cuts remove the content checksum, then the end mark, then the last block's checksum.
        for cut in 1..=12 {
            assert_eq!(quirk(&packed[..end - cut], &bytes), Some(Quirk::Unended), "{cut} cut of {len}");
        }
        for tail in [&b"\0"[..], b"more", b"\x04\x22\x4d\x18\xff\xff"] {
            packed.truncate(end);
            packed.extend(tail);
            assert_eq!(quirk(&packed, &bytes), Some(Quirk::Trailing), "{tail:x?} after {len}");
        }
    }
}

#[test]
fn a_frame_longer_than_declared_is_cut_to_the_declared_size() {
    let bytes = sample(200_000);
    for mode in [BlockMode::Independent, BlockMode::Linked] {
        let packed = frame_of(&bytes, FrameInfo::new().block_mode(mode).block_size(BlockSize::Max64KB));
        for len in [0, 1, 65_535, 65_536, 65_537, 199_999] {
            assert_eq!(quirk(&packed, &bytes[..len]), Some(Quirk::Longer), "{len} {mode:?}");
        }
    }
}

#[test]
fn the_error_says_where_a_frame_ends_early() {
    let bytes = sample(5000);
    let packed = linked_frame_of(&bytes);
    assert_eq!(error(&packed, 5678), "the LZ4 frame ends after 5000 of 5678 bytes");
    assert_eq!(error(&packed[..6], 5000), "the LZ4 frame ends after 0 of 5000 bytes");
    let half = error(&packed[..packed.len() / 2], 5000);
    assert!(half.starts_with("the LZ4 frame ends after 2") && half.ends_with(" of 5000 bytes"), "{half}");
}

#[test]
fn the_error_says_why_a_frame_is_unsupported() {
    let frame = |flags: u8, block: u8| [&MAGIC.to_le_bytes()[..], &[flags, block], &[0; 30]].concat();
    for (packed, what) in [
        (frame(0x61, 0x40), "the LZ4 frame needs a dictionary"),
        (frame(0x20, 0x40), "the LZ4 frame has an unknown version"),
        (frame(0x62, 0x40), "the LZ4 frame has an unknown version"),
        (frame(0x60, 0x30), "the LZ4 frame has an unknown block size"),
    ] {
        assert_eq!(decode(&packed, &mut [0; 9]), Err(DecodeError::Unsupported(what.into())));
    }
    assert_eq!(error(b"\x01\x9c\x01\x02", 9), "not an LZ4 frame (first bytes 01 9c 01 02)");
    assert_eq!(error(b"\x78\x9c\x01\x02", 9), "the zlib stream ends after 0 of 9 bytes");
    let huge = b"\x04\x22\x4d\x18\x60\x40\x82\x01\0\x01\0";
    assert_eq!(
        error(huge, 9),
        "the LZ4 frame is damaged after 0 of 9 bytes: a block is larger than the frame allows"
    );
}
