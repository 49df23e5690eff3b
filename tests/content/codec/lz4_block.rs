//! LZ4 blocks without a frame, decoded completely and as a prefix.

use bsafs::content::codec::{self, DecodeError, Quirk};
use bsafs::format::Codec;

use super::{error_of, sample};

fn decode(packed: &[u8], out: &mut [u8]) -> Result<Option<Quirk>, DecodeError> {
    codec::decode(Codec::Lz4Block, packed, out)
}

fn prefix(packed: &[u8], out: &mut [u8]) -> Result<usize, DecodeError> {
    codec::prefix(Codec::Lz4Block, packed, out)
}

#[test]
fn a_block_must_unpack_to_exactly_its_size() {
    let bytes = sample(5000);
    let packed = lz4_flex::block::compress(&bytes);
    let mut out = vec![0; 5000];
    assert_eq!(decode(&packed, &mut out), Ok(None));
    assert!(out == bytes);
    let error = |packed: &[u8], size: usize| error_of(decode, packed, size);
    assert_eq!(error(&packed, 4999), "the LZ4 block unpacks to more than the declared 4999 bytes");
    assert_eq!(error(&packed, 5001), "the LZ4 block ends after 5000 of 5001 bytes");
    assert!(error(&packed[..packed.len() / 2], 5000).starts_with("the LZ4 block is damaged after 2"));
}

#[test]
fn a_match_before_the_first_byte_is_refused_by_both_decoders() {
    for packed in [&b"\x10a\0\0\x10b"[..], b"\x10a\x02\0\x10b", b"\x04\x01\0\x10b"] {
        assert!(decode(packed, &mut [0; 30]).is_err(), "{packed:x?}");
        let error = prefix(packed, &mut [0; 30]).unwrap_err().to_string();
        assert!(error.ends_with("the data refers to bytes before its start"), "{error}");
    }
}

#[test]
fn the_prefix_decoder_agrees_with_the_block_decoder() {
    for len in 1..600 {
        // Ever longer periods, from one byte on, give overlapping matches of every offset.
        let bytes: Vec<u8> = (0..2000).map(|i| (i % len % 251) as u8).collect();
        let packed = lz4_flex::block::compress(&bytes);
        for size in [1, len, 1999, 2000] {
            let mut out = vec![0xaa; size];
            assert_eq!(prefix(&packed, &mut out), Ok(size), "period {len}");
            assert!(out == bytes[..size], "period {len}");
        }
    }
}
