//! Compressed streams. A test makes damaged streams by cutting or lengthening the returned `Vec`s.

use std::io::Write;

use flate2::write::{DeflateEncoder, ZlibEncoder};
use flate2::{Compress, Compression, FlushCompress, Status};
pub use lz4_flex::frame::{BlockMode, BlockSize, FrameInfo};

/// A zlib stream as Bethesda's tools write it: header `78 9C`, Adler-32 at the end.
pub fn zlib(content: &[u8]) -> Vec<u8> {
    zlib_level(content, 6)
}

/// A zlib stream at any level. Level 9 has the header `78 DA`, level 0 consists of stored blocks.
pub fn zlib_level(content: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(level));
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// A zlib stream of this many MiB of zeros, made without all the zeros in memory. It has about a
/// thousandth of their length.
pub fn zlib_zeros(mebibytes: u32) -> Vec<u8> {
    let mut state = Compress::new(Compression::best(), false);
    let mut one = Vec::with_capacity(1 << 16);
    state.compress_vec(&vec![0; 1 << 20], &mut one, FlushCompress::Full).unwrap();
    let mut out = b"\x78\xda".to_vec();
    out.extend(one.repeat(mebibytes as usize));
    // An empty last block, then the Adler-32: the number of zeros modulo 65,521, and 1.
    out.extend(b"\x03\x00");
    out.extend((((mebibytes << 20) % 65_521) << 16 | 1).to_be_bytes());
    out
}

/// A zlib stream as on the Xbox One: window of 4 KiB, best compression, header `48 C7`.
pub fn zlib_xbox(content: &[u8]) -> Vec<u8> {
    let mut state = Compress::new_with_window_bits(Compression::best(), true, 12);
    let mut out = Vec::with_capacity(content.len() + content.len() / 8 + 64);
    let status = state.compress_vec(content, &mut out, FlushCompress::Finish).unwrap();
    assert_eq!(status, Status::StreamEnd);
    out
}

/// A deflate stream with neither header nor checksum.
pub fn deflate(content: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(6));
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// `stream` without its Adler-32, the last four bytes.
pub fn without_adler(mut stream: Vec<u8>) -> Vec<u8> {
    stream.truncate(stream.len() - 4);
    stream
}

/// `stream` with a wrong checksum at its end: the lowest bit of the last byte is flipped.
pub fn with_wrong_checksum(mut stream: Vec<u8>) -> Vec<u8> {
    *stream.last_mut().unwrap() ^= 1;
    stream
}

/// An LZ4 frame as Skyrim SE's tools write it (`64 40`): independent blocks of 64 KiB, a checksum
/// of the content.
pub fn lz4_frame(content: &[u8]) -> Vec<u8> {
    lz4_frame_like(content, frame().content_checksum(true))
}

/// An LZ4 frame with any options. [`frame`] has options to begin with.
pub fn lz4_frame_like(content: &[u8], options: FrameInfo) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(options, Vec::new());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// Frame options: independent blocks of 64 KiB, no checksum, no content size.
pub fn frame() -> FrameInfo {
    FrameInfo::new().block_size(BlockSize::Max64KB).block_mode(BlockMode::Independent)
}

/// All variants of frame options that occur, each with a description.
pub fn frame_shapes(content_length: u64) -> Vec<(&'static str, FrameInfo)> {
    vec![
        ("independent blocks", frame()),
        ("linked blocks", frame().block_mode(BlockMode::Linked)),
        ("content checksum", frame().content_checksum(true)),
        ("block checksums", frame().block_checksums(true)),
        ("content size", frame().content_size(Some(content_length))),
        ("blocks of 4 MiB", frame().block_size(BlockSize::Max4MB)),
        (
            "all options",
            frame()
                .block_mode(BlockMode::Linked)
                .block_checksums(true)
                .content_checksum(true)
                .content_size(Some(content_length)),
        ),
    ]
}

/// One LZ4 block, which states neither its length nor that of its content.
pub fn lz4_block(content: &[u8]) -> Vec<u8> {
    lz4_flex::block::compress(content)
}

/// An XMem stream of stored blocks, by the public description of LZX. A block has its kind and size
/// as bits, three offsets for later matches, the bytes, and padding to an even length.
pub fn xmem_stored(content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for (nth, piece) in content.chunks(0x8000).enumerate() {
        // Three bits of kind (3: stored) and 24 bits of size. In the first block, a bit for "no
        // translation" precedes them.
        let bits = (3 << 24 | piece.len() as u32) << if nth == 0 { 4 } else { 5 };
        let mut block = ((bits >> 16) as u16).to_le_bytes().to_vec();
        block.extend((bits as u16).to_le_bytes());
        block.extend([1u32; 3].into_iter().flat_map(u32::to_le_bytes));
        block.extend_from_slice(piece);
        block.resize(block.len().next_multiple_of(2), 0);
        if piece.len() < 0x8000 {
            out.push(0xFF);
            out.extend((piece.len() as u16).to_be_bytes());
        }
        out.extend((block.len() as u16).to_be_bytes());
        out.extend(block);
    }
    out.extend([0; 5]);
    out
}

/// Battlespire's LZSS: the longest copies that a ring of 4,096 bytes allows, otherwise literals. The ring
/// begins with 4,078 spaces and 18 zeros, and is written from there on.
pub fn lzss(content: &[u8]) -> Vec<u8> {
    const RING: usize = 4096;
    let mut ring = [[b' '; 4078].to_vec(), vec![0; 18]].concat();
    let (mut at, mut cell) = (0, 4078);
    let mut items: Vec<(bool, Vec<u8>)> = Vec::new();
    while at < content.len() {
        // A copy may read cells that it wrote itself.
        let length_from = |from: usize| {
            let most = content.len().min(at + 18) - at;
            (0..most)
                .take_while(|&n| {
                    let source = (from + n) % RING;
                    let written = (source + RING - cell) % RING;
                    let byte = if written < n { content[at + written] } else { ring[source] };
                    byte == content[at + n]
                })
                .count()
        };
        let (from, length) = (0..RING).map(|from| (from, length_from(from))).max_by_key(|it| it.1).unwrap();
        let taken = if length >= 3 {
            let second = (from >> 4) as u8 & 0xF0 | (length - 3) as u8;
            items.push((false, vec![from as u8, second]));
            length
        } else {
            items.push((true, vec![content[at]]));
            1
        };
        for &byte in &content[at..at + taken] {
            ring[cell] = byte;
            cell = (cell + 1) % RING;
        }
        at += taken;
    }
    items
        .chunks(8)
        .flat_map(|eight| {
            let flags =
                eight.iter().enumerate().fold(0, |flags, (bit, item)| flags | u8::from(item.0) << bit);
            [vec![flags], eight.iter().flat_map(|item| item.1.clone()).collect()].concat()
        })
        .collect()
}
