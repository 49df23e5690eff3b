//! XMem streams that the tests write bit by bit, sound and damaged.

use bsafs::content::codec::{self, DecodeError, Quirk};
use bsafs::format::Codec;

use super::{error_of, sample};

/// Maximum size of an unpacked block.
const BLOCK: usize = 0x8000;

fn decode(packed: &[u8], out: &mut [u8]) -> Result<Option<Quirk>, DecodeError> {
    codec::decode(Codec::Xmem, packed, out)
}

fn prefix(packed: &[u8], out: &mut [u8]) -> Result<usize, DecodeError> {
    codec::prefix(Codec::Xmem, packed, out)
}

/// The bit stream of LZX: the highest bit first, in 16-bit words that are stored low byte first.
#[derive(Default)]
struct Bits(Vec<bool>);

impl Bits {
    /// The beginning of a block: its kind (1 verbatim, 3 stored) and its unpacked size.
    fn block(first: bool, kind: u32, size: usize) -> Self {
        let mut bits = Self::default();
        // The first bit of a stream says that x86 calls are not translated.
        bits.push(0, u32::from(first));
        bits.push(kind, 3);
        bits.push(size as u32, 24);
        bits
    }

    fn push(&mut self, value: u32, count: u32) {
        self.0.extend((0..count).rev().map(|bit| value >> bit & 1 == 1));
    }

    /// Pushes the lengths of a tree's codes. A second tree codes them with four codes of two bits
    /// each: 0 is a zero, 16 a one, 17 and 18 are runs of zeros.
    fn lengths(&mut self, ones: &[usize], count: usize) {
        (0..20).for_each(|code| self.push(if [0, 16, 17, 18].contains(&code) { 2 } else { 0 }, 4));
        let mut at = 0;
        while at < count {
            let zeros = ones.iter().copied().find(|&one| one >= at).unwrap_or(count) - at;
            let run = match zeros {
                0 => {
                    self.push(1, 2);
                    1
                }
                1..4 => {
                    self.push(0, 2);
                    1
                }
                4..20 => {
                    self.push(2, 2);
                    self.push(zeros as u32 - 4, 4);
                    zeros
                }
                _ => {
                    self.push(3, 2);
                    self.push(zeros.min(51) as u32 - 20, 5);
                    zeros.min(51)
                }
            };
            at += run;
        }
    }

    fn bytes(mut self) -> Vec<u8> {
        self.0.resize(self.0.len().next_multiple_of(16), false);
        let word = |bits: &[bool]| bits.iter().fold(0_u16, |word, &bit| word << 1 | u16::from(bit));
        self.0.chunks(16).flat_map(|bits| word(bits).to_le_bytes()).collect()
    }
}

/// A block of stored bytes. It also sets the last match offset.
fn stored(first: bool, offset: u32, bytes: &[u8]) -> Vec<u8> {
    let mut block = Bits::block(first, 3, bytes.len()).bytes();
    for offset in [offset, 1, 1] {
        block.extend(offset.to_le_bytes());
    }
    block.extend(bytes);
    block
}

/// A block of the letter `a` and `matches` matches of two bytes at the last match offset.
fn packed(first: bool, matches: usize) -> Vec<u8> {
    let mut bits = Bits::block(first, 1, 1 + 2 * matches);
    bits.lengths(&[usize::from(b'a')], 256);
    bits.lengths(&[0], 8 * 34);
    bits.lengths(&[], 249);
    bits.push(0, 1);
    (0..matches).for_each(|_| bits.push(1, 1));
    bits.bytes()
}

/// A stream: each block after its length, then the end mark.
fn stream(blocks: &[(usize, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (size, block) in blocks {
        if *size != BLOCK {
            bytes.push(0xff);
            bytes.extend((*size as u16).to_be_bytes());
        }
        bytes.extend((block.len() as u16).to_be_bytes());
        bytes.extend(block);
    }
    bytes.extend([0; 5]);
    bytes
}

fn error(packed: &[u8], size: usize) -> String {
    error_of(decode, packed, size)
}

#[test]
fn long_and_short_blocks_are_one_file() {
    let bytes = sample(70_000);
    let blocks: Vec<_> =
        bytes.chunks(BLOCK).enumerate().map(|(i, b)| (b.len(), stored(i == 0, 1, b))).collect();
    let packed = stream(&blocks);
    let mut out = vec![0; bytes.len()];
    assert_eq!(decode(&packed, &mut out), Ok(None));
    assert!(out == bytes, "the bytes differ");
    assert_eq!(decode(&packed[..packed.len() - 5], &mut out), Ok(None), "a missing end mark was reported");
    assert_eq!(decode(&[&packed[..], b"x"].concat(), &mut out), Ok(Some(Quirk::Trailing)));
    for len in [69_999, 32_768] {
        let expected = format!(
            "the XMem stream is damaged after {len} of {len} bytes: its blocks hold more bytes than declared"
        );
        assert_eq!(error(&packed, len), expected);
    }
    assert_eq!(error(&packed, 70_001), "the XMem stream ends after 70000 of 70001 bytes");
    assert_eq!(error(&packed[..packed.len() - 6], 70_000), "the XMem stream ends after 65536 of 70000 bytes");
    for len in [0, 1, 32_768, 32_769, 70_000] {
        let mut out = vec![0; len];
        assert_eq!(prefix(&packed, &mut out), Ok(len));
        assert!(out == bytes[..len], "the first {len} bytes differ");
    }
    assert_eq!(prefix(&packed[..40_000], &mut out), Ok(32_768));
}

#[test]
fn matches_reach_back_into_the_previous_block() {
    let packed = stream(&[(4, stored(true, 3, b"wxyz")), (9, packed(false, 4))]);
    let mut out = [0; 13];
    assert_eq!(decode(&packed, &mut out), Ok(None));
    assert_eq!(&out, b"wxyzayzayzayz");
}

#[test]
fn a_match_before_the_first_byte_is_refused_without_a_panic() {
    let packed = stream(&[(4, stored(true, u32::MAX, b"wxyz")), (9, packed(false, 4))]);
    assert_eq!(
        error(&packed, 13),
        "the XMem stream is damaged after 4 of 13 bytes: the data refers to bytes before its start"
    );
}

#[test]
fn a_block_beyond_32_kib_is_refused() {
    assert_eq!(
        error(&stream(&[(BLOCK + 1, vec![0; 9])]), 40_000),
        "the XMem stream is damaged after 0 of 40000 bytes: a block is larger than 32 KiB"
    );
}

#[test]
fn flipped_bytes_never_panic() {
    let mut packed = stream(&[(4, stored(true, 3, b"wxyz")), (9, packed(false, 4))]);
    for at in 0..packed.len() {
        for mask in 1..=255 {
            packed[at] ^= mask;
            let _ = decode(&packed, &mut [0; 13]);
            packed[at] ^= mask;
        }
    }
}
