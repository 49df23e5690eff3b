//! Encodes files on all processors, and gives their pieces to one writer, in order.
//!
//! Threads take files in order, so the file that the writer waits for is always being encoded. A thread
//! begins a file only if its bytes and their encoding fit into the budget, or if nothing else is in memory.
//! So the number of threads changes neither the result nor the memory by much.

use std::io::{self, Write};
use std::thread;

use sha2::{Digest, Sha256};

use super::pack_options::{PackError, PackErrorKind};
use super::planned::{How, PlannedFile};
use crate::content::codec::{Encoder, Level};
use crate::format::Codec;
use crate::format::write::NewKind;
use crate::limits::{PACK_BUDGET, PACK_WHOLE_MAX};
use crate::shown::Shown;
use crate::system::memory::{self, processors};
use crate::system::parallel::in_parallel;
use crate::system::sync::{Condvar, Mutex};
use crate::texture::parts::TextureParts;
use crate::vfs::VfsFile;

/// What a file became.
pub(super) enum Made {
    Pieces(Vec<Piece>),
    /// It is too large to be held in memory. The writer encodes it while it copies it.
    Large,
}

/// Whether a file is encoded while it is copied. The mips of a texture are in pieces anyway.
fn is_large(file: &PlannedFile) -> bool {
    file.size > PACK_WHOLE_MAX && file.how != How::Texture
}

/// What threads share.
struct PipelineState {
    /// The next file to begin.
    next: usize,
    /// Bytes of files in memory, with their encodings.
    used: u64,
    /// Files that were encoded and not written yet.
    done: Vec<(usize, Result<Made, PackError>)>,
    is_stopped: bool,
}

/// Makes the pieces of all files, and calls `take` with each, in order.
pub(super) fn run(
    files: &[&PlannedFile],
    (kind, level, threads): (NewKind, Level, Option<usize>),
    mut take: impl FnMut(usize, Made) -> Result<(), PackError>,
) -> Result<(), PackError> {
    let state = PipelineState { next: 0, used: 0, done: Vec::new(), is_stopped: false };
    let (state, changed) = (Mutex::new(state), Condvar::new());
    // The bytes, their encoding, and what decoding them from an archive takes.
    let cost = |file: &PlannedFile| if is_large(file) { 0 } else { file.size.saturating_mul(3) };
    let work = || {
        let _stop = StopIfPanicking { state: &state, changed: &changed };
        let mut maker = PieceMaker::new(kind, level);
        loop {
            let mut at = state.lock();
            let index = loop {
                let Some(file) = files.get(at.next).filter(|_| !at.is_stopped) else { return };
                if at.used == 0 || at.used.saturating_add(cost(file)) <= PACK_BUDGET {
                    break at.next;
                }
                at = changed.wait(at);
            };
            at.next += 1;
            at.used = at.used.saturating_add(cost(files[index]));
            drop(at);
            let made = if is_large(files[index]) {
                Ok(Made::Large)
            } else {
                maker.pieces(files[index]).map(Made::Pieces)
            };
            state.lock().done.push((index, made));
            changed.notify_all();
        }
    };
    let count = threads.unwrap_or_else(processors).clamp(1, THREADS_MAX).min(files.len().max(1));
    thread::scope(|scope| {
        let mut started = 0;
        for _ in 0..count {
            if started > 0 && !memory::has_room_for_threads(started) {
                break;
            }
            started += usize::from(thread::Builder::new().spawn_scoped(scope, work).is_ok());
        }
        let taken = if started == 0 {
            let mut maker = PieceMaker::new(kind, level);
            files.iter().enumerate().try_for_each(|(index, file)| {
                let made = if is_large(file) { Made::Large } else { Made::Pieces(maker.pieces(file)?) };
                take(index, made)
            })
        } else {
            take_all(files, &state, &changed, cost, &mut take)
        };
        state.lock().is_stopped = true;
        changed.notify_all();
        taken
    })
}

/// Stops the writer if a thread panics, because it would wait for that thread for ever.
struct StopIfPanicking<'s> {
    state: &'s Mutex<PipelineState>,
    changed: &'s Condvar,
}

impl Drop for StopIfPanicking<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.state.lock().is_stopped = true;
            self.changed.notify_all();
        }
    }
}

const THREADS_MAX: usize = 256;

fn take_all(
    files: &[&PlannedFile],
    state: &Mutex<PipelineState>,
    changed: &Condvar,
    cost: impl Fn(&PlannedFile) -> u64,
    take: &mut impl FnMut(usize, Made) -> Result<(), PackError>,
) -> Result<(), PackError> {
    for (index, file) in files.iter().enumerate() {
        let mut at = state.lock();
        let made = loop {
            if at.is_stopped {
                return Err(PackError::new(PackErrorKind::Io, "a thread that encodes files has failed"));
            }
            if let Some(found) = at.done.iter().position(|(done, _)| *done == index) {
                break at.done.swap_remove(found).1;
            }
            at = changed.wait(at);
        };
        drop(at);
        take(index, made?)?;
        let mut at = state.lock();
        at.used = at.used.saturating_sub(cost(file));
        drop(at);
        changed.notify_all();
    }
    Ok(())
}

// How the bytes of a file become blocks of an archive.

/// The digest of a piece of a file, unpacked.
pub(super) type PieceDigest = [u8; 32];

/// A piece of a file as an archive stores it.
pub(super) struct Piece {
    pub(super) bytes: Vec<u8>,
    pub(super) is_packed: bool,
    /// Number of bytes, unpacked.
    pub(super) size: u32,
    pub(super) digest: PieceDigest,
}

/// A file is stored unless it becomes smaller by this many bytes.
pub(super) const GAIN_MIN: u64 = 32;

/// Largest piece, in bytes, whose memory is used again for the next one.
const REUSED_MAX: usize = 1 << 20;

/// The codec of an archive's compressed files.
pub(super) fn codec(kind: NewKind) -> Codec {
    match kind {
        NewKind::Tes3 => Codec::Stored,
        NewKind::Tes4(105) => Codec::Lz4Frame,
        NewKind::Textures(3) => Codec::Lz4Block,
        NewKind::Tes4(_) | NewKind::General(_) | NewKind::Textures(_) => Codec::Zlib,
    }
}

/// Makes pieces of files; each thread has one.
pub(super) struct PieceMaker {
    encoder: Encoder,
    /// What was encoded last, if it was small: new memory costs more than the copy of a packed piece.
    encoded: Vec<u8>,
}

impl PieceMaker {
    pub(super) fn new(kind: NewKind, level: Level) -> Self {
        Self { encoder: Encoder::new(codec(kind), level), encoded: Vec::new() }
    }

    /// Reads a file, and makes its pieces.
    pub(super) fn pieces(&mut self, file: &PlannedFile) -> Result<Vec<Piece>, PackError> {
        let bytes = read(&file.file, file.size)?;
        match (&file.parts, file.how) {
            (Some(parts), How::Texture) => {
                let start = usize::try_from(parts.header_len).unwrap_or(usize::MAX);
                let texels = bytes.get(start..).unwrap_or_default();
                // Every byte of the source after its header is in a chunk, or in the tail that a note names.
                let chunks: u64 = parts.chunks.iter().map(|chunk| chunk.range.end - chunk.range.start).sum();
                if texels.len() as u64 != parts.texels + parts.tail || chunks != parts.texels {
                    return Err(changed(&file.file));
                }
                parts.chunks.iter().map(|chunk| self.chunk(file, texels, &chunk.range)).collect()
            }
            (_, how) => {
                let digest = Sha256::digest(&bytes).into();
                let size = bytes.len() as u32;
                if how != How::Compressed || bytes.is_empty() {
                    return Ok(vec![Piece { bytes, is_packed: false, size, digest }]);
                }
                let packed = self.encode(file, &bytes)?;
                Ok(vec![if packed.len() as u64 + GAIN_MIN <= u64::from(size) {
                    Piece { bytes: packed, is_packed: true, size, digest }
                } else {
                    Piece { bytes, is_packed: false, size, digest }
                }])
            }
        }
    }

    fn chunk(
        &mut self,
        file: &PlannedFile,
        texels: &[u8],
        range: &std::ops::Range<u64>,
    ) -> Result<Piece, PackError> {
        let at = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        let bytes = texels.get(at(range.start)..at(range.end)).ok_or_else(|| changed(&file.file))?;
        // The game expects packed chunks, even if they are larger.
        Ok(Piece {
            bytes: self.encode(file, bytes)?,
            is_packed: true,
            size: bytes.len() as u32,
            digest: Sha256::digest(bytes).into(),
        })
    }

    fn encode(&mut self, file: &PlannedFile, bytes: &[u8]) -> Result<Vec<u8>, PackError> {
        self.encoded.clear();
        self.encoder
            .encode(bytes, &mut self.encoded)
            .map_err(|error| PackError::new(PackErrorKind::Io, format!("{}: {error}", file.path.shown())))?;
        if bytes.len() <= REUSED_MAX {
            return Ok(self.encoded.clone());
        }
        let mut packed = std::mem::take(&mut self.encoded);
        packed.shrink_to_fit();
        Ok(packed)
    }
}

/// Reads a file of the source, which must have this size and must not change meanwhile.
fn read(file: &VfsFile, size: u64) -> Result<Vec<u8>, PackError> {
    let mut bytes = Vec::new();
    let len = usize::try_from(size).unwrap_or(usize::MAX);
    bytes.try_reserve_exact(len).map_err(|_| {
        let what = format!("{}: not enough memory for its {size} bytes", file.path().shown());
        PackError::new(PackErrorKind::Io, what)
    })?;
    copy(file, size, &mut bytes)?;
    Ok(bytes)
}

/// Copies a file of the source, which must have this size and must not change meanwhile.
pub(super) fn copy(file: &VfsFile, size: u64, out: &mut impl Write) -> Result<(), PackError> {
    let mut limited = Limited { out, left: size, is_longer: false };
    let copied = file.write_to(&mut limited);
    let (left, is_longer) = (limited.left, limited.is_longer);
    match copied {
        _ if is_longer => Err(changed(file)),
        Ok(_) if left > 0 || file.take_outdated() => Err(changed(file)),
        Ok(_) => match file.take_flaw() {
            Some(what) => {
                let what = format!("{}: {what}", file.path().shown());
                Err(PackError::new(PackErrorKind::Unreadable, what))
            }
            None => Ok(()),
        },
        Err(error) => Err(unreadable(file, &error)),
    }
}

/// An error about all files that cannot be read, if one of them could not.
pub(super) fn with_all_unreadable(error: PackError, files: &[&PlannedFile]) -> PackError {
    if error.kind() != PackErrorKind::Unreadable {
        return error;
    }
    let failed = in_parallel(files.len(), &|| {}, |at| {
        copy(&files[at].file, files[at].size, &mut io::sink()).err().map(|error| error.to_string())
    });
    let failed: Vec<String> = failed.into_iter().flatten().collect();
    match failed.len() {
        0 | 1 => error,
        _ => PackError::list(PackErrorKind::Unreadable, "files that cannot be read as they were:", &failed),
    }
}

fn changed(file: &VfsFile) -> PackError {
    let what = format!("{}: it changed while it was packed", file.path().shown());
    PackError::new(PackErrorKind::Unreadable, what)
}

/// The error of a read, or of the disk to which a copy is written.
fn unreadable(file: &VfsFile, error: &io::Error) -> PackError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            PackError::new(PackErrorKind::Io, crate::system::text::reason(error))
        }
        _ => PackError::new(PackErrorKind::Unreadable, format!("{}: {error}", file.path().shown())),
    }
}

/// A writer that takes no more bytes than it should.
pub(super) struct Limited<'o, W> {
    pub(super) out: &'o mut W,
    pub(super) left: u64,
    pub(super) is_longer: bool,
}

impl<W: Write> Write for Limited<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.left {
            self.is_longer = true;
            return Err(io::ErrorKind::InvalidData.into());
        }
        let written = self.out.write(bytes)?;
        self.left -= written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The length of a header, and those of the pieces behind it, in bytes.
pub(super) type PieceLengths = (u64, Vec<u64>);

/// Hashes the pieces of a file that is read in order. Bytes before the first and after the last piece count
/// for none.
pub(super) struct PieceHasher {
    skip: u64,
    /// The lengths of the pieces that are left, the last one first.
    left: Vec<u64>,
    hash: Sha256,
    pub(super) digests: Vec<PieceDigest>,
    /// Number of bytes beyond the pieces.
    pub(super) beyond: u64,
}

impl PieceHasher {
    /// A hasher of pieces of these lengths, behind a header.
    pub(super) fn new((header, mut lengths): PieceLengths) -> Self {
        lengths.reverse();
        let mut hasher =
            Self { skip: header, left: lengths, hash: Sha256::new(), digests: Vec::new(), beyond: 0 };
        hasher.end_pieces();
        hasher
    }

    fn end_pieces(&mut self) {
        while self.left.last() == Some(&0) {
            self.left.pop();
            self.digests.push(std::mem::take(&mut self.hash).finalize().into());
        }
    }
}

/// The lengths of the pieces of a planned file, as an archive shows it.
pub(super) fn piece_lengths(file: &PlannedFile) -> PieceLengths {
    match (&file.parts, file.how) {
        (Some(parts), How::Texture) => (parts.texture.header_len(), lengths(parts)),
        _ => (0, vec![file.size]),
    }
}

fn lengths(parts: &TextureParts) -> Vec<u64> {
    parts.chunks.iter().map(|chunk| chunk.range.end - chunk.range.start).collect()
}

impl Write for PieceHasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let all = bytes.len();
        let skipped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(bytes.len());
        self.skip -= skipped as u64;
        let mut bytes = &bytes[skipped..];
        while let (Some(left), false) = (self.left.last_mut(), bytes.is_empty()) {
            let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
            self.hash.update(&bytes[..taken]);
            *left -= taken as u64;
            bytes = &bytes[taken..];
            self.end_pieces();
        }
        self.beyond += bytes.len() as u64;
        Ok(all)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_hashed_apart_in_whatever_steps_they_come() {
        let bytes: Vec<u8> = (0..100).collect();
        for step in [1, 7, 100] {
            let mut hasher = PieceHasher::new((10, vec![0, 20, 0, 60, 0]));
            bytes.chunks(step).for_each(|step| hasher.write_all(step).unwrap());
            let digest =
                |range: std::ops::Range<usize>| -> PieceDigest { Sha256::digest(&bytes[range]).into() };
            let expected = [digest(0..0), digest(10..30), digest(0..0), digest(30..90), digest(0..0)];
            assert_eq!((hasher.digests, hasher.beyond), (expected.to_vec(), 10));
        }
    }
}
