//! A file as a stream, in order and with little memory: large extents are decoded piece by piece.
//!
//! Everything else that reads decodes an extent as a whole, which is faster, finds flaws, and helps the next
//! reader. But an extent may have hundreds of megabytes.

use std::io::{self, BufReader, Read};
use std::ops::Range;

use flate2::read::ZlibDecoder;
use lz4_flex::frame::FrameDecoder;

use super::codec::{self, BlockDecoder, XmemDecoder};
use super::error::Reason;
use super::read::{ArchiveContent, FileExtent};
use super::stored_file::StoredFile;
use crate::folder::WholeRead;
use crate::format::Codec;

/// Length of an extent from which on it is decoded piece by piece, in bytes.
const STREAM_FROM: u64 = 4 << 20;
/// Length of the pieces in which packed bytes are read.
const PACKED_LEN: usize = 256 << 10;
/// Maximum number of bytes to read at once from an extent that is not decoded piece by piece.
const STEP: usize = 1 << 20;
/// Number of bytes that must decode before an extent is decoded piece by piece: a wrong codec fails in them.
const PROOF_LEN: usize = 64 << 10;

/// A reader of a whole file from its beginning.
pub(crate) struct FileStream<'s> {
    file: StoredFile<'s>,
    position: u64,
    /// The extent that is being decoded, and where it ends in the file.
    extent: Option<(u64, Box<dyn Read + 's>)>,
    /// Up to here, bytes are read as by every other reader.
    plain_until: u64,
    /// A loose file, from the first read on.
    begun: Option<WholeRead>,
}

impl<'s> StoredFile<'s> {
    pub(crate) fn stream(self) -> FileStream<'s> {
        FileStream { file: self, position: 0, extent: None, plain_until: 0, begun: None }
    }

    /// The next extent, from `position` on, that is decoded piece by piece, and its range in the file.
    fn next_large(&self, position: u64) -> Option<(FileExtent<'s>, Range<u64>)> {
        let file = self.shown_plain().filter(|file| !file.archive.resources.salvages())?;
        let mut start = file.head_len();
        for extent in file.extents() {
            let len = u64::from(extent.size_if_known()?);
            let is_large = len >= STREAM_FROM && extent.record().codec != Codec::Stored;
            if start >= position && is_large {
                return Some((extent, start..start + len));
            }
            start += len;
        }
        None
    }
}

/// A decoder of an extent of `len` bytes, whose first bytes did decode; `None` if it is better decoded as a
/// whole.
fn decoder(extent: FileExtent<'_>, len: u64) -> Option<Box<dyn Read + '_>> {
    extent.checked_size().ok()?;
    let (archive, record) = (extent.archive, extent.record());
    let prefix = archive.prefix_range(extent.index);
    let mut first = vec![0; (prefix.end - prefix.start) as usize];
    archive.read_exact_at(&mut first, prefix.start).ok()?;
    let start = first.len() as u64 - archive.payload(extent.index, &first).ok()?.len() as u64;
    let payload = &first[start as usize..];
    let packed = PackedReader {
        archive,
        position: record.offset + start,
        // Some stated lengths leave out the prefix. What follows a stream is not decoded.
        end: (record.offset + archive.available(&record) + start).min(archive.file.len()),
        buffer: Vec::new(),
        at: 0,
    };
    let mut decoder: Box<dyn Read + '_> = match record.codec {
        Codec::Zlib if payload.starts_with(b"\x78") => Box::new(ZlibDecoder::new(packed)),
        Codec::Lz4Frame if payload.starts_with(&[0x04, 0x22, 0x4d, 0x18]) => {
            Box::new(FrameDecoder::new(packed))
        }
        // These begin with anything.
        Codec::Lz4Block if !codec::has_signature(payload) => {
            Box::new(BlockDecoder::new(BufReader::new(packed)))
        }
        Codec::Xmem if !codec::has_signature(payload) => Box::new(XmemDecoder::new(packed)),
        _ => return None,
    };
    let mut proof = vec![0; PROOF_LEN.min(len as usize)];
    decoder.read_exact(&mut proof).ok()?;
    Some(Box::new(io::Cursor::new(proof).chain(decoder)))
}

impl Read for FileStream<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        let mut len = out.len();
        if self.position == 0 {
            self.begun = self.file.begin_whole()?;
        }
        if self.extent.is_none() && self.position >= self.plain_until {
            match self.file.next_large(self.position) {
                Some((extent, range)) if range.start == self.position => {
                    let decoder = decoder(extent, range.end - range.start);
                    self.extent = decoder.map(|decoder| (range.end, decoder));
                    self.plain_until = range.end;
                }
                large => self.plain_until = large.map_or(u64::MAX, |(_, range)| range.start),
            }
        }
        if let Some((end, decoder)) = &mut self.extent {
            len = len.min(usize::try_from(*end - self.position).unwrap_or(usize::MAX));
            let read = decoder.read(&mut out[..len])?;
            if read == 0 {
                return Err(io::Error::other("its data ends before its stated size"));
            }
            self.position += read as u64;
            if self.position == *end {
                // The end of the stream has its checksum. As elsewhere, a stream may lack its end, and more
                // bytes than stated are ignored.
                match decoder.read(&mut [0]) {
                    Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error),
                    _ => {}
                }
                self.extent = None;
            }
            return Ok(read);
        }
        let plain = usize::try_from(self.plain_until - self.position).unwrap_or(usize::MAX);
        len = len.min(STEP).min(plain);
        // At most 1 MiB, which fits into 32 bits.
        let bytes = self.file.read_at(self.position, len as u32)?;
        out[..bytes.len()].copy_from_slice(&bytes);
        self.position += bytes.len() as u64;
        if bytes.len() < len {
            self.file.end_whole(self.begun.as_ref(), self.position)?;
        }
        Ok(bytes.len())
    }
}

/// The packed bytes of an extent.
struct PackedReader<'s> {
    archive: &'s ArchiveContent,
    position: u64,
    end: u64,
    buffer: Vec<u8>,
    /// Number of bytes of the buffer that were used.
    at: usize,
}

impl Read for PackedReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.buffer.len() {
            let len = usize::try_from(self.end - self.position).unwrap_or(usize::MAX).min(PACKED_LEN);
            self.buffer.resize(len, 0);
            let read = self.archive.read_exact_at(&mut self.buffer, self.position);
            read.map_err(|fault| io::Error::other(Reason::from(fault).to_string()))?;
            (self.position, self.at) = (self.position + len as u64, 0);
        }
        let read = (&self.buffer[self.at..]).read(out)?;
        self.at += read;
        Ok(read)
    }
}
