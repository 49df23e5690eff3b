//! Codecs: how the payload of one extent becomes bytes of a file.
//!
//! A payload is what follows an extent's lead, so that its size is always known before it is decoded and
//! every decoder fills a buffer of that size: no decoder allocates in proportion to what the bytes say. Real archives
//! hold streams that are damaged in harmless ways; those give their bytes and a [`Quirk`]. A codec is one file of this
//! folder and one line of `method`.

use std::fmt;

use crate::format::Codec;

mod lz4;
mod xmem;
mod zlib;

/// What a payload has that it should not have, or lacks, although it gave every byte that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quirk {
    /// Its checksum contradicts its bytes. Only zlib's Adler-32 is looked at: the xxHash of LZ4 frames is passed over.
    Checksum,
    /// It stops after the last byte, without the end mark or checksum that should follow.
    Unended,
    /// Bytes follow the end of the stream.
    Trailing,
    /// It would become more bytes than declared; the rest was left off.
    Longer,
    /// It is raw deflate, without zlib's header and checksum.
    RawDeflate,
}

impl fmt::Display for Quirk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Checksum => "the checksum is wrong",
            Self::Unended => "the end mark or the checksum is missing",
            Self::Trailing => "bytes follow the end of the stream",
            Self::Longer => "the stream holds more bytes than declared",
            Self::RawDeflate => "the stream is raw deflate without a zlib header",
        })
    }
}

/// Why a payload cannot be decoded, in one clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The bytes contradict themselves, or end too early.
    Corrupt(String),
    /// The bytes may be sound, but nobody here can read them.
    Unsupported(String),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Corrupt(what) | Self::Unsupported(what)) = self;
        f.write_str(what)
    }
}

impl std::error::Error for DecodeError {}

/// Decodes a whole payload into `out`, whose length is the declared size in bytes.
///
/// An empty payload is an empty file in every codec: packers write no stream for those.
///
/// # Errors
/// What is wrong with the payload. `out` then holds anything.
pub fn decode(codec: Codec, packed: &[u8], out: &mut [u8]) -> Result<Option<Quirk>, DecodeError> {
    if packed.is_empty() && out.is_empty() {
        return Ok(None);
    }
    (method(codec).decode)(packed, out)
}

/// Decodes the first bytes of a file, as many as fit `out`, from the first bytes of its payload.
///
/// Answers how many bytes came. Fewer than fit mean that `packed` ran out, never an error: the caller comes back with
/// more of the payload. Where the whole of it was given already, [`decode`] has the last word: it knows what is wrong,
/// and reads what only the declared size can vouch for ([`Codec::Detect`], raw deflate).
///
/// # Errors
/// What is wrong with the payload.
pub fn prefix(codec: Codec, packed: &[u8], out: &mut [u8]) -> Result<usize, DecodeError> {
    method(codec).prefix.map_or(Ok(0), |prefix| prefix(packed, out))
}

/// Whether [`prefix`] can ever give a byte for this codec.
pub fn has_prefix(codec: Codec) -> bool {
    method(codec).prefix.is_some()
}

/// The most bytes that `packed` bytes of this codec can become: a declared size above it is a lie.
pub fn most(codec: Codec, packed: u64) -> u64 {
    packed.saturating_mul(method(codec).most)
}

type Decode = fn(&[u8], &mut [u8]) -> Result<Option<Quirk>, DecodeError>;
type Prefix = fn(&[u8], &mut [u8]) -> Result<usize, DecodeError>;

/// What a codec can do.
struct Method {
    /// [`decode`].
    decode: Decode,
    /// [`prefix`], where a codec can stop early.
    prefix: Option<Prefix>,
    /// The most bytes that one packed byte can become.
    most: u64,
}

/// The table of codecs.
fn method(codec: Codec) -> &'static Method {
    match codec {
        Codec::Stored => &STORED,
        Codec::Zlib => &zlib::METHOD,
        Codec::Lz4Frame => &lz4::FRAME,
        Codec::Lz4Block => &lz4::BLOCK,
        Codec::Xmem => &xmem::METHOD,
        Codec::Detect => &DETECT,
        Codec::Unsupported => &UNSUPPORTED,
    }
}

/// Bytes as they are.
static STORED: Method = Method { decode: stored, prefix: Some(stored_prefix), most: 1 };

/// Whatever the first bytes look like: the larger of the bounds of zlib and LZ4.
static DETECT: Method = Method { decode: detect, prefix: None, most: 1032 };

/// Nothing comes of it; no size is refused, so that the error is the true one.
static UNSUPPORTED: Method = Method { decode: unsupported, prefix: None, most: u64::MAX };

fn unsupported(_: &[u8], _: &mut [u8]) -> Result<Option<Quirk>, DecodeError> {
    Err(DecodeError::Unsupported("it is packed in a way that is not known".into()))
}

fn stored(packed: &[u8], out: &mut [u8]) -> Result<Option<Quirk>, DecodeError> {
    if packed.len() != out.len() {
        let what = format!("{} bytes are stored where {} are declared", packed.len(), out.len());
        return Err(DecodeError::Corrupt(what));
    }
    out.copy_from_slice(packed);
    Ok(None)
}

fn stored_prefix(packed: &[u8], out: &mut [u8]) -> Result<usize, DecodeError> {
    let len = packed.len().min(out.len());
    out[..len].copy_from_slice(&packed[..len]);
    Ok(len)
}

/// Decodes by what the first bytes look like; only the exact size proves the guess, so a longer stream is none.
///
/// LZ4's magic goes first, because it cannot be a zlib header, and raw deflate last, because anything can be one.
fn detect(packed: &[u8], out: &mut [u8]) -> Result<Option<Quirk>, DecodeError> {
    let quirk = if lz4::is_frame(packed) {
        lz4::decode_frame(packed, out)?
    } else if zlib::has_header(packed) {
        zlib::decode(packed, out)?
    } else {
        zlib::decode_raw(packed, out).map_err(|_| {
            let start = Start(packed);
            DecodeError::Unsupported(format!("neither zlib, raw deflate nor an LZ4 frame ({start})"))
        })?
    };
    match quirk {
        Some(Quirk::Longer) => Err(DecodeError::Corrupt(format!(
            "what looks packed becomes more than the declared {} bytes",
            out.len()
        ))),
        quirk => Ok(quirk),
    }
}

/// The error of a stream that ends, soundly or not, before every byte has come.
fn ends_early(stream: &str, came: usize, out: &[u8]) -> DecodeError {
    DecodeError::Corrupt(format!("the {stream} ends after {came} of {} bytes", out.len()))
}

/// The error of a stream that contradicts itself.
fn damaged(stream: &str, came: usize, out: &[u8], why: impl fmt::Display) -> DecodeError {
    DecodeError::Corrupt(format!("the {stream} is damaged after {came} of {} bytes: {why}", out.len()))
}

/// Shows a payload's first four bytes.
struct Start<'a>(&'a [u8]);

impl fmt::Display for Start<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("first bytes")?;
        self.0.iter().take(4).try_for_each(|byte| write!(f, " {byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
    use proptest::prelude::*;

    use super::*;

    const ALL: [Codec; 7] = [
        Codec::Stored,
        Codec::Zlib,
        Codec::Lz4Frame,
        Codec::Lz4Block,
        Codec::Xmem,
        Codec::Detect,
        Codec::Unsupported,
    ];

    /// Bytes that pack about two to one, with matches near and far.
    pub(super) fn sample(len: usize) -> Vec<u8> {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut bytes = Vec::with_capacity(len + 64);
        while bytes.len() < len {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let run = (state >> 8) as usize % 40 + 4;
            if state.is_multiple_of(3) || bytes.len() < 64 {
                bytes.extend(state.to_le_bytes().iter().cycle().take(run.min(11)));
            } else {
                let back = (state >> 20) as usize % bytes.len().min(60_000) + 1;
                let from = bytes.len() - back;
                for i in 0..run {
                    bytes.push(bytes[from + i]);
                }
            }
        }
        bytes.truncate(len);
        bytes
    }

    pub(super) fn zlib_of(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(6));
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    pub(super) fn frame_of(bytes: &[u8], info: FrameInfo) -> Vec<u8> {
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// A frame of several linked blocks with every checksum.
    pub(super) fn linked_frame_of(bytes: &[u8]) -> Vec<u8> {
        let info = FrameInfo::new().block_mode(BlockMode::Linked).block_size(BlockSize::Max64KB);
        frame_of(bytes, info.block_checksums(true).content_checksum(true))
    }

    /// The payload of `bytes` in each codec that there is an encoder for.
    fn payloads(bytes: &[u8]) -> Vec<(Codec, Vec<u8>)> {
        vec![
            (Codec::Stored, bytes.to_vec()),
            (Codec::Zlib, zlib_of(bytes)),
            (Codec::Lz4Frame, linked_frame_of(bytes)),
            (Codec::Lz4Block, lz4_flex::block::compress(bytes)),
        ]
    }

    #[test]
    fn an_empty_payload_is_an_empty_file_and_nothing_else() {
        for codec in ALL {
            assert_eq!(decode(codec, &[], &mut []), Ok(None), "{codec:?}");
            let error = decode(codec, &[], &mut [0; 9]).unwrap_err();
            let is_blunt = matches!(codec, Codec::Detect | Codec::Unsupported);
            assert!(error.to_string().contains('9') || is_blunt, "{codec:?}: {error}");
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
        assert_eq!(error.to_string(), "3 bytes are stored where 4 are declared");
    }

    #[test]
    fn a_prefix_equals_the_first_bytes_of_the_whole_however_much_of_the_payload_is_there() {
        let bytes = sample(200_000);
        for (codec, packed) in payloads(&bytes) {
            assert!(has_prefix(codec), "{codec:?}");
            for len in [0, 1, 3, 100, 4096, 65_535, 65_536, 65_537, 131_073, 199_999, 200_000] {
                let mut out = vec![0xaa; len];
                assert_eq!(prefix(codec, &packed, &mut out), Ok(len), "{codec:?}");
                assert!(out == bytes[..len], "{codec:?} differs in its first {len} bytes");
                let mut before = 0;
                for cut in (0..packed.len()).step_by(packed.len() / 37) {
                    let came = prefix(codec, &packed[..cut], &mut out).unwrap();
                    assert!(out[..came] == bytes[..came], "{codec:?} cut to {cut} differs");
                    assert!(came >= before, "{codec:?}: more of the payload gave less");
                    // A zlib or LZ4 decoder that is given half of the payload must give a good part of it.
                    assert!(came + 40_000 > len.min(cut), "{codec:?} gave {came} of {len} for {cut}");
                    before = came;
                }
            }
        }
    }

    #[test]
    fn no_cut_of_a_payload_decodes_to_wrong_bytes() {
        let bytes = sample(3000);
        for (codec, packed) in payloads(&bytes) {
            for cut in 0..packed.len() {
                let mut out = vec![0; bytes.len()];
                match decode(codec, &packed[..cut], &mut out) {
                    // Only what follows the last byte may be missing.
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
    fn no_flipped_byte_panics_and_zlib_notices_each() {
        let bytes = sample(2000);
        for (codec, mut packed) in payloads(&bytes) {
            for at in 0..packed.len() {
                for mask in [0x01, 0x80, 0xff] {
                    packed[at] ^= mask;
                    let mut out = vec![0; bytes.len()];
                    let result = decode(codec, &packed, &mut out);
                    let _ = prefix(codec, &packed, &mut out[..500]);
                    let _ = decode(Codec::Detect, &packed, &mut out);
                    // The second header byte's level and the window size may change freely.
                    if codec == Codec::Zlib && at > 1 {
                        assert_ne!(result, Ok(None), "flip {mask:02x} at {at} went unnoticed");
                    }
                    packed[at] ^= mask;
                }
            }
        }
    }

    #[test]
    fn a_payload_of_an_unknown_method_is_told_by_its_first_bytes() {
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
            assert!(!error.to_string().contains("ends after"), "a longer stream passed for a guess: {error}");
        }
        let error = decode(Codec::Detect, b"\x07nonsense", &mut out).unwrap_err();
        assert_eq!(
            error,
            DecodeError::Unsupported(
                "neither zlib, raw deflate nor an LZ4 frame (first bytes 07 6e 6f 6e)".into()
            )
        );
    }

    #[test]
    fn the_most_that_a_payload_can_become_is_never_exceeded() {
        let zeros = vec![0; 8 << 20];
        for (codec, packed) in payloads(&zeros) {
            let most = most(codec, packed.len() as u64);
            assert!(most >= zeros.len() as u64, "{codec:?} is bound to {most}");
        }
        assert_eq!(most(Codec::Zlib, u64::MAX), u64::MAX);
        assert_eq!(most(Codec::Stored, 7), 7);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn whatever_was_packed_comes_back(bytes in prop::collection::vec(0_u8..4, 0..3000)) {
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
                &b""[..], b"\x78\x9c", b"\x04\x22\x4d\x18\x60\x40\x82", b"\x04\x22\x4d\x18\x40\x40\xc0", b"\xff\x10\x00",
                b"\x50\x2a\x4d\x18",
            ]),
            size in 0_usize..5000,
        ) {
            let packed = [start, &packed].concat();
            for codec in ALL {
                let mut out = vec![0; size];
                let _ = decode(codec, &packed, &mut out);
                let came = prefix(codec, &packed, &mut out);
                prop_assert!(came.is_err() || came.is_ok_and(|came| came <= size));
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
}
