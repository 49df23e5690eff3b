//! Encoders: zlib by libdeflate, LZ4 blocks by liblz4, and LZ4 frames made of such blocks.
//!
//! Each encoder is deterministic: the same bytes and level give the same stream, on every processor and in
//! every thread. A whole piece is encoded in memory. A file that is too large for that is encoded by
//! [`Stream`], piece by piece, with zlib-rs instead of libdeflate, which cannot do that.

use std::hash::Hasher;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use libdeflater::{CompressionLvl, Compressor};
use lz4::block::{CompressionMode, compress_bound, compress_to_buffer};
use twox_hash::XxHash32;

use super::lz4_frame::MAGIC;
use crate::format::Codec;

/// How much time to spend for smaller archives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// Nothing is compressed that a game also reads uncompressed.
    None,
    /// zlib as small as in official archives; LZ4 larger than there.
    Fast,
    /// Smaller than official archives.
    #[default]
    Normal,
    /// The smallest archives, in five times the time.
    Best,
}

impl Level {
    /// All levels with their names.
    pub const ALL: [(&'static str, Self); 4] =
        [("none", Self::None), ("fast", Self::Fast), ("normal", Self::Normal), ("best", Self::Best)];
}

/// Encodes pieces of files. It keeps the state of the compressor, so each thread has its own.
pub struct Encoder {
    codec: Codec,
    level: Level,
    zlib: Compressor,
}

/// An encoder failed: the piece is too large for it, or there is no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodeError;

impl std::fmt::Display for EncodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the encoder failed: not enough memory, or the file is too large")
    }
}

impl std::error::Error for EncodeError {}

/// Length of the blocks of a frame, in bytes: the largest that the format has.
const BLOCK: usize = 4 << 20;
/// Version 1, independent blocks, checksum of the content; then blocks of 4 MiB. Archives by BSArch have the
/// same, and Skyrim SE reads them.
const DESCRIPTOR: [u8; 2] = [0x64, 0x70];
/// Marks a block that is stored as it is.
const STORED: u32 = 1 << 31;

impl Encoder {
    /// An encoder of zlib streams, LZ4 frames or LZ4 blocks. [`Codec::Stored`] copies.
    pub fn new(codec: Codec, level: Level) -> Self {
        let number = match level {
            Level::None | Level::Fast => 6,
            Level::Normal => 9,
            Level::Best => 12,
        };
        let number = CompressionLvl::new(number).unwrap_or_default();
        Self { codec, level, zlib: Compressor::new(number) }
    }

    /// Encodes a piece, and appends it to `out`.
    ///
    /// # Errors
    /// [`EncodeError`]; `out` is as before.
    pub fn encode(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let before = out.len();
        let encoded = match self.codec {
            Codec::Zlib => self.encode_zlib(bytes, out),
            Codec::Lz4Frame => self.encode_frame(bytes, out),
            Codec::Lz4Block => append_block(bytes, self.level, out).map(|_| ()),
            _ => reserve(out, bytes.len()).map(|()| out.extend_from_slice(bytes)),
        };
        if encoded.is_err() {
            out.truncate(before);
        }
        encoded
    }

    fn encode_zlib(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let (start, bound) = (out.len(), self.zlib.zlib_compress_bound(bytes.len()));
        reserve(out, bound)?;
        out.resize(start + bound, 0);
        let len = self.zlib.zlib_compress(bytes, &mut out[start..]).map_err(|_| EncodeError)?;
        out.truncate(start + len);
        Ok(())
    }

    fn encode_frame(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut checksum = XxHash32::with_seed(0);
        reserve(out, 32)?;
        out.extend(frame_head());
        for block in bytes.chunks(BLOCK) {
            checksum.write(block);
            append_framed_block(block, self.level, out)?;
        }
        out.extend(frame_end(&checksum));
        Ok(())
    }
}

/// Encodes a file piece by piece, and writes it while it does so.
pub enum Stream<W: Write> {
    Zlib(ZlibEncoder<W>),
    Frame(FrameStream<W>),
}

/// An LZ4 frame that is being written.
pub struct FrameStream<W> {
    out: W,
    level: Level,
    block: Vec<u8>,
    packed: Vec<u8>,
    checksum: XxHash32,
}

impl<W: Write> Stream<W> {
    /// Begins a stream; `None` if the codec has none.
    pub fn new(codec: Codec, level: Level, mut out: W) -> io::Result<Option<Self>> {
        let number = if matches!(level, Level::None | Level::Fast) { 6 } else { 9 };
        Ok(match codec {
            Codec::Zlib => Some(Self::Zlib(ZlibEncoder::new(out, Compression::new(number)))),
            Codec::Lz4Frame => {
                out.write_all(&frame_head())?;
                let checksum = XxHash32::with_seed(0);
                let (block, packed) = (Vec::with_capacity(BLOCK), Vec::new());
                Some(Self::Frame(FrameStream { out, level, block, packed, checksum }))
            }
            _ => None,
        })
    }

    /// Encodes what was not encoded yet, and returns the writer.
    pub fn finish(self) -> io::Result<W> {
        match self {
            Self::Zlib(stream) => stream.finish(),
            Self::Frame(mut stream) => {
                stream.end_block()?;
                stream.out.write_all(&frame_end(&stream.checksum))?;
                Ok(stream.out)
            }
        }
    }
}

impl<W: Write> Write for Stream<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Zlib(stream) => stream.write(bytes),
            Self::Frame(stream) => {
                let taken = bytes.len().min(BLOCK - stream.block.len());
                stream.block.extend_from_slice(&bytes[..taken]);
                if stream.block.len() == BLOCK {
                    stream.end_block()?;
                }
                Ok(taken)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Write> FrameStream<W> {
    fn end_block(&mut self) -> io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        self.checksum.write(&self.block);
        self.packed.clear();
        append_framed_block(&self.block, self.level, &mut self.packed).map_err(io::Error::other)?;
        self.block.clear();
        self.out.write_all(&self.packed)
    }
}

fn frame_head() -> [u8; 7] {
    let [a, b, c, d] = MAGIC.to_le_bytes();
    let [flags, size] = DESCRIPTOR;
    let [_, checksum, ..] = XxHash32::oneshot(0, &DESCRIPTOR).to_le_bytes();
    [a, b, c, d, flags, size, checksum]
}

fn frame_end(checksum: &XxHash32) -> [u8; 8] {
    // The hash has 32 bits, whatever the type of `finish`.
    let [a, b, c, d, ..] = checksum.finish().to_le_bytes();
    [0, 0, 0, 0, a, b, c, d]
}

/// Appends a block with its length, stored if it does not become smaller.
fn append_framed_block(block: &[u8], level: Level, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let at = out.len();
    reserve(out, 4)?;
    out.extend([0; 4]);
    let packed = append_block(block, level, out)?;
    let length = if packed < block.len() {
        packed as u32
    } else {
        out.truncate(at + 4);
        out.extend_from_slice(block);
        block.len() as u32 | STORED
    };
    out[at..][..4].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

/// Appends an LZ4 block. Returns its length.
fn append_block(block: &[u8], level: Level, out: &mut Vec<u8>) -> Result<usize, EncodeError> {
    let mode = match level {
        Level::None | Level::Fast => CompressionMode::FAST(1),
        Level::Normal => CompressionMode::HIGHCOMPRESSION(9),
        Level::Best => CompressionMode::HIGHCOMPRESSION(12),
    };
    let (start, bound) = (out.len(), compress_bound(block.len()).map_err(|_| EncodeError)?);
    reserve(out, bound)?;
    out.resize(start + bound, 0);
    let len = compress_to_buffer(block, Some(mode), false, &mut out[start..]).map_err(|_| EncodeError)?;
    out.truncate(start + len);
    Ok(len)
}

fn reserve(out: &mut Vec<u8>, bytes: usize) -> Result<(), EncodeError> {
    out.try_reserve(bytes).map_err(|_| EncodeError)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::codec::{decode, has_checksum};

    /// Bytes that compress by half, from a simple generator.
    fn mixed(len: usize) -> Vec<u8> {
        let mut state = 7u32;
        (0..len)
            .map(|at| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                if at % 64 < 32 { (at / 640) as u8 } else { (state >> 24) as u8 }
            })
            .collect()
    }

    #[test]
    fn every_codec_and_level_gives_the_same_bytes_back() {
        let levels = [Level::Fast, Level::Normal, Level::Best];
        for codec in [Codec::Zlib, Codec::Lz4Frame, Codec::Lz4Block] {
            for level in levels {
                for len in [1, 13, 5_000, BLOCK, BLOCK + 1] {
                    let (bytes, mut packed) = (mixed(len), b"before".to_vec());
                    let mut encoder = Encoder::new(codec, level);
                    encoder.encode(&bytes, &mut packed).unwrap();
                    assert!(packed.starts_with(b"before"));
                    let (mut again, mut out) = (Vec::new(), vec![0; len]);
                    encoder.encode(&bytes, &mut again).unwrap();
                    assert_eq!(packed[6..], again, "an encoder keeps state between pieces");
                    assert_eq!(decode(codec, &again, &mut out).unwrap(), None);
                    assert!(out == bytes, "{codec:?} {level:?} {len}");
                    assert!(len < 5_000 || again.len() < len * 3 / 4, "{codec:?} {level:?} {len}");
                }
            }
        }
    }

    #[test]
    fn a_stream_decodes_to_its_bytes_in_whatever_pieces_they_were_written() {
        let bytes = mixed(BLOCK + 70_000);
        for codec in [Codec::Zlib, Codec::Lz4Frame] {
            let encode = |step: usize| {
                let mut stream = Stream::new(codec, Level::Fast, Vec::new()).unwrap().unwrap();
                bytes.chunks(step).for_each(|piece| stream.write_all(piece).unwrap());
                stream.finish().unwrap()
            };
            let (packed, mut out) = (encode(1 << 20), vec![0; bytes.len()]);
            assert!(has_checksum(codec, &packed, None));
            assert_eq!(decode(codec, &packed, &mut out).unwrap(), None);
            assert!(out == bytes && (codec == Codec::Zlib || packed == encode(70_001)));
        }
        assert!(Stream::new(Codec::Lz4Block, Level::Fast, Vec::new()).unwrap().is_none());
    }

    #[test]
    fn noise_is_stored_in_a_frame() {
        let noise: Vec<u8> = mixed(1 << 16).chunks(64).flat_map(|it| it[32..].to_vec()).collect();
        let mut packed = Vec::new();
        Encoder::new(Codec::Lz4Frame, Level::Normal).encode(&noise, &mut packed).unwrap();
        assert_eq!(packed.len(), noise.len() + 7 + 4 + 8);
    }
}
