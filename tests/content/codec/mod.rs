//! Codecs: what they decode, what they refuse, and how errors are worded.

mod checksums; // a flipped bit is noticed if there is a checksum
mod lz4_block;
mod lz4_frame;
mod table; // properties of all codecs
mod xmem;
mod zlib;

use std::io::Write;

use bsafs::content::codec::{DecodeError, Quirk};
use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};

type Decode = fn(&[u8], &mut [u8]) -> Result<Option<Quirk>, DecodeError>;

/// Bytes that compress about two to one, with matches near and far.
fn sample(len: usize) -> Vec<u8> {
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

/// Decodes `packed`, asserts that the result is `bytes`, and returns the quirk.
fn quirk_of(decode: Decode, packed: &[u8], bytes: &[u8]) -> Option<Quirk> {
    let mut out = vec![0xaa; bytes.len()];
    let quirk = decode(packed, &mut out).unwrap();
    assert!(out == bytes, "the bytes differ");
    quirk
}

/// The error of decoding `packed` into `size` bytes.
fn error_of(decode: Decode, packed: &[u8], size: usize) -> String {
    decode(packed, &mut vec![0; size]).unwrap_err().to_string()
}

fn zlib_of(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(6));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn frame_of(bytes: &[u8], info: FrameInfo) -> Vec<u8> {
    let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A frame of several linked blocks with every checksum.
fn linked_frame_of(bytes: &[u8]) -> Vec<u8> {
    let info = FrameInfo::new().block_mode(BlockMode::Linked).block_size(BlockSize::Max64KB);
    frame_of(bytes, info.block_checksums(true).content_checksum(true))
}
