//! Properties of all codecs: empty files, prefixes, cuts, flipped bytes and random bytes.

use std::io::Write;

use bsafs::content::codec::{DecodeError, Quirk, decode, has_prefix, max_unpacked, prefix};
use bsafs::format::Codec;
use proptest::prelude::*;

use super::{linked_frame_of, sample, zlib_of};

const ALL: [Codec; 8] = [
    Codec::Stored,
    Codec::Zlib,
    Codec::Lz4Frame,
    Codec::Lz4Block,
    Codec::Xmem,
    Codec::Lzss,
    Codec::Detect,
    Codec::Unsupported,
];

/// The payload of `bytes` in each codec for which the tests have an encoder.
fn payloads(bytes: &[u8]) -> Vec<(Codec, Vec<u8>)> {
    vec![
        (Codec::Stored, bytes.to_vec()),
        (Codec::Zlib, zlib_of(bytes)),
        (Codec::Lz4Frame, linked_frame_of(bytes)),
        (Codec::Lz4Block, lz4_flex::block::compress(bytes)),
    ]
}

#[test]
fn an_empty_payload_is_only_valid_for_an_empty_file() {
    for codec in ALL {
        assert_eq!(decode(codec, &[], &mut []), Ok(None), "{codec:?}");
        let error = decode(codec, &[], &mut [0; 9]).unwrap_err();
        let is_without_size = matches!(codec, Codec::Detect | Codec::Unsupported);
        assert!(error.to_string().contains('9') || is_without_size, "{codec:?}: {error}");
    }
}

#[test]
fn a_packed_empty_file_is_empty() {
    for (codec, packed) in payloads(&[]) {
        assert_eq!(decode(codec, &packed, &mut []), Ok(None), "{codec:?}");
    }
}

#[test]
fn stored_bytes_of_another_length_are_refused() {
    let error = decode(Codec::Stored, b"abc", &mut [0; 4]).unwrap_err();
    assert_eq!(error.to_string(), "3 bytes are stored, but 4 are declared");
}

#[test]
fn a_prefix_equals_the_first_bytes_even_of_a_cut_payload() {
    let bytes = sample(200_000);
    for (codec, packed) in payloads(&bytes) {
        assert!(has_prefix(codec), "{codec:?}");
        for len in [0, 1, 3, 100, 4096, 65_535, 65_536, 65_537, 131_073, 199_999, 200_000] {
            let mut out = vec![0xaa; len];
            assert_eq!(prefix(codec, &packed, &mut out), Ok(len), "{codec:?}");
            assert!(out == bytes[..len], "{codec:?} differs in its first {len} bytes");
            let mut before = 0;
            for cut in (0..packed.len()).step_by(packed.len() / 37) {
                let len_decoded = prefix(codec, &packed[..cut], &mut out).unwrap();
                assert!(out[..len_decoded] == bytes[..len_decoded], "{codec:?} cut to {cut} differs");
                assert!(len_decoded >= before, "{codec:?}: more of the payload gave fewer bytes");
                // From a part of the payload the decoder must give a good part of the bytes.
                assert!(
                    len_decoded + 40_000 > len.min(cut),
                    "{codec:?} gave {len_decoded} of {len} for {cut}"
                );
                before = len_decoded;
            }
        }
    }
}

#[test]
fn a_cut_payload_never_decodes_to_wrong_bytes() {
    let bytes = sample(3000);
    for (codec, packed) in payloads(&bytes) {
        for cut in 0..packed.len() {
            let mut out = vec![0; bytes.len()];
            match decode(codec, &packed[..cut], &mut out) {
                // A cut decodes only if it removes nothing but the end of the stream.
                Ok(quirk) => {
                    assert_eq!(quirk, Some(Quirk::Unended), "{codec:?} cut to {cut}");
                    assert!(out == bytes, "{codec:?} cut to {cut} differs");
                }
                Err(error) => assert!(matches!(error, DecodeError::Corrupt(_)), "{codec:?}: {error}"),
            }
        }
    }
}

#[test]
fn flipped_bytes_never_panic_and_zlib_reports_each() {
    let bytes = sample(2000);
    for (codec, mut packed) in payloads(&bytes) {
        for at in 0..packed.len() {
            for mask in [0x01, 0x80, 0xff] {
                packed[at] ^= mask;
                let mut out = vec![0; bytes.len()];
                let result = decode(codec, &packed, &mut out);
                let _ = prefix(codec, &packed, &mut out[..500]);
                let _ = decode(Codec::Detect, &packed, &mut out);
                // Unused bits may change unnoticed, such as those before the checksum.
                if codec == Codec::Zlib && out != bytes {
                    assert_ne!(result, Ok(None), "flip {mask:02x} at {at} was not reported");
                }
                packed[at] ^= mask;
            }
        }
    }
}

#[test]
fn an_unknown_method_is_detected_by_the_first_bytes() {
    let bytes = sample(5000);
    let mut out = vec![0; bytes.len()];
    let raw = {
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::new(6));
        encoder.write_all(&bytes).unwrap();
        encoder.finish().unwrap()
    };
    for (packed, quirk) in
        [(linked_frame_of(&bytes), None), (zlib_of(&bytes), None), (raw, Some(Quirk::RawDeflate))]
    {
        out.fill(0);
        assert_eq!(decode(Codec::Detect, &packed, &mut out), Ok(quirk));
        assert!(out == bytes);
        let error = decode(Codec::Detect, &packed, &mut out[..4999]).unwrap_err();
        assert!(!error.to_string().contains("ends after"), "a longer stream was not detected: {error}");
    }
    let error = decode(Codec::Detect, b"\x07nonsense", &mut out).unwrap_err();
    assert_eq!(
        error,
        DecodeError::Unsupported(
            "unknown compression: neither zlib, raw deflate nor an LZ4 frame (first bytes 07 6e 6f 6e)"
                .into()
        )
    );
}

#[test]
fn no_payload_unpacks_to_more_than_the_computed_maximum() {
    let zeros = vec![0; 8 << 20];
    for (codec, packed) in payloads(&zeros) {
        let most = max_unpacked(codec, packed.len() as u64);
        assert!(most >= zeros.len() as u64, "the maximum for {codec:?} is only {most}");
    }
    assert_eq!(max_unpacked(Codec::Zlib, u64::MAX), u64::MAX);
    assert_eq!(max_unpacked(Codec::Stored, 7), 7);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn packed_bytes_decode_to_the_original_bytes(bytes in prop::collection::vec(0_u8..4, 0..3000)) {
        for (codec, packed) in payloads(&bytes) {
            let mut out = vec![0xaa; bytes.len()];
            prop_assert_eq!(decode(codec, &packed, &mut out), Ok(None));
            prop_assert_eq!(&out, &bytes);
        }
    }

    #[test]
    fn random_bytes_never_panic(
        packed in prop::collection::vec(any::<u8>(), 0..400),
        start in prop::sample::select(vec![
            &b""[..], b"\x78\x9c", b"\x04\x22\x4d\x18\x60\x40\x82", b"\x04\x22\x4d\x18\x40\x40\xc0",
            b"\xff\x10\x00", b"\x50\x2a\x4d\x18",
        ]),
        size in 0_usize..5000,
    ) {
        let packed = [start, &packed].concat();
        for codec in ALL {
            let mut out = vec![0; size];
            let _ = decode(codec, &packed, &mut out);
            let len_decoded = prefix(codec, &packed, &mut out);
            prop_assert!(len_decoded.is_err() || len_decoded.is_ok_and(|len_decoded| len_decoded <= size));
        }
    }

    #[test]
    fn mutated_payloads_never_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        size in 0_usize..80_000,
    ) {
        for (codec, mut packed) in payloads(&sample(70_000)) {
            for (at, byte) in &flips {
                let at = at.index(packed.len());
                packed[at] = *byte;
            }
            let mut out = vec![0; size];
            let _ = decode(codec, &packed, &mut out);
            let _ = prefix(codec, &packed, &mut out);
        }
    }
}
