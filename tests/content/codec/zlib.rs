//! zlib streams: what is a quirk, what is an error, and how errors are worded.

use bsafs::content::codec::{self, DecodeError, Quirk};
use bsafs::format::Codec;
use libdeflater::adler32;

use super::{error_of, quirk_of, sample, zlib_of};

fn decode(packed: &[u8], out: &mut [u8]) -> Result<Option<Quirk>, DecodeError> {
    codec::decode(Codec::Zlib, packed, out)
}

fn prefix(packed: &[u8], out: &mut [u8]) -> Result<usize, DecodeError> {
    codec::prefix(Codec::Zlib, packed, out)
}

fn quirk(packed: &[u8], bytes: &[u8]) -> Option<Quirk> {
    quirk_of(decode, packed, bytes)
}

fn error(packed: &[u8], size: usize) -> String {
    error_of(decode, packed, size)
}

#[test]
fn a_stream_with_a_small_window_decodes() {
    // Streams in Xbox One archives begin with `48 C7`.
    let bytes = sample(3000);
    let mut packed = zlib_of(&bytes);
    packed[..2].copy_from_slice(&[0x48, 0xc7]);
    assert_eq!(quirk(&packed, &bytes), None);
}

#[test]
fn a_stream_cut_within_its_checksum_gives_all_bytes_and_a_quirk() {
    for len in [0, 1, 100, 70_000] {
        let bytes = sample(len);
        let packed = zlib_of(&bytes);
        let end = packed.len();
        for cut in 1..=4 {
            assert_eq!(quirk(&packed[..end - cut], &bytes), Some(Quirk::Unended), "{cut} cut of {len}");
        }
    }
}

#[test]
fn a_stream_without_a_final_block_gives_all_bytes() {
    // Fallout 3's `Fallout - Misc.bsa` has an entry that zlib answers with Z_BUF_ERROR.
    let bytes = sample(5000);
    let mut encoder = flate2::Compress::new(flate2::Compression::new(6), true);
    let mut packed = Vec::with_capacity(9000);
    encoder.compress_vec(&bytes, &mut packed, flate2::FlushCompress::Sync).unwrap();
    assert_eq!(quirk(&packed, &bytes), Some(Quirk::Unended));
}

#[test]
fn a_stream_longer_than_declared_is_cut_to_the_declared_size() {
    let bytes = sample(70_000);
    let packed = zlib_of(&bytes);
    for len in [0, 1, 35_000, 69_999] {
        assert_eq!(quirk(&packed, &bytes[..len]), Some(Quirk::Longer), "{len}");
    }
}

#[test]
fn a_wrong_checksum_is_an_error_that_shows_both_values() {
    for (len, tail) in [(0, 0), (1, 0), (5000, 0), (70_000, 0), (5000, 3), (5000, 100)] {
        let bytes = sample(len);
        let mut packed = zlib_of(&bytes);
        *packed.last_mut().unwrap() ^= 1;
        let computed = adler32(&bytes);
        packed.extend(vec![b'x'; tail]);
        let mut out = vec![0xaa; len];
        let what = format!(
            "the zlib stream is damaged: its Adler-32 is {:08X}, but its data has {computed:08X}",
            computed ^ 1
        );
        assert_eq!(
            decode(&packed, &mut out),
            Err(DecodeError::Suspect(what)),
            "{len}, {tail} bytes after it"
        );
        assert!(out == bytes, "{len}, {tail} bytes after it");
    }
}

#[test]
fn a_longer_stream_is_accepted_only_with_its_own_checksum() {
    let bytes = sample(70_000);
    let packed = zlib_of(&bytes);
    let mut wrong = packed.clone();
    *wrong.last_mut().unwrap() ^= 1;
    for len in [0, 1, 35_000, 69_999] {
        let what = format!("the zlib stream is damaged after 70000 of {len} bytes: incorrect data check");
        let mut out = vec![0; len];
        assert_eq!(decode(&wrong, &mut out), Err(DecodeError::Suspect(what)));
        assert!(out == bytes[..len]);
        let cut = &packed[..packed.len() - 1];
        let what = format!(
            "the zlib stream holds more than the declared {len} bytes and has no checksum at its end"
        );
        assert_eq!(decode(cut, &mut out), Err(DecodeError::Suspect(what)));
    }
}

#[test]
fn bytes_after_a_stream_are_a_quirk() {
    let bytes = sample(5000);
    let mut packed = zlib_of(&bytes);
    packed.extend(b"more");
    assert_eq!(quirk(&packed, &bytes), Some(Quirk::Trailing));
}

#[test]
fn the_error_says_where_a_stream_ends_early() {
    let bytes = sample(5000);
    let packed = zlib_of(&bytes);
    assert_eq!(error(&packed, 5678), "the zlib stream ends after 5000 of 5678 bytes");
    let half = error(&packed[..packed.len() / 2], 5000);
    assert!(half.starts_with("the zlib stream ends after 2") && half.ends_with(" of 5000 bytes"), "{half}");
    assert_eq!(error(b"\x78", 5), "the zlib stream ends after 0 of 5 bytes");
}

#[test]
fn the_error_says_why_a_payload_is_not_a_zlib_stream() {
    assert_eq!(error(b"\x00\x11\x22", 5), "not a zlib stream (first bytes 00 11 22)");
    assert_eq!(error(b"\x78\xbb\0\0\0\0\x03\0", 5), "the zlib stream needs a preset dictionary");
    assert_eq!(
        error(b"\x78\x9c\x07", 5),
        "the zlib stream is damaged after 0 of 5 bytes: invalid block type"
    );
}

#[test]
fn raw_deflate_is_accepted_only_at_its_exact_size() {
    let bytes = sample(5000);
    let packed = zlib_of(&bytes);
    let raw = &packed[2..packed.len() - 4];
    assert_eq!(quirk(raw, &bytes), Some(Quirk::RawDeflate));
    for size in [0, 4999, 5001] {
        assert!(error(raw, size).starts_with("not a zlib stream"), "{size}");
    }
    assert_eq!(prefix(raw, &mut [0; 10]), Ok(0), "a prefix of raw deflate must be refused");
}

#[test]
fn a_thread_decodes_a_valid_stream_after_a_damaged_one() {
    let bytes = sample(5000);
    let packed = zlib_of(&bytes);
    assert!(decode(&packed[..900], &mut [0; 5000]).is_err());
    assert_eq!(quirk(&packed[..packed.len() - 1], &bytes), Some(Quirk::Unended));
    assert_eq!(quirk(&packed, &bytes), None);
}

#[test]
fn a_short_stream_with_a_wrong_checksum_is_damaged() {
    let mut packed = zlib_of(&sample(5000));
    *packed.last_mut().unwrap() ^= 1;
    assert_eq!(
        error(&packed, 5001),
        "the zlib stream is damaged after 5000 of 5001 bytes: incorrect data check"
    );
}
