//! The hash of Oblivion, Fallout 3, New Vegas and Skyrim. It consists of the first and the last
//! bytes of a name, its length, and a sum over the bytes between.
//!
//! If implementations differ, this follows bsa-rs, whose rules come from Bethesda's own packer and
//! the game's executable. `.adp` is one of the marked extensions. Extensions are compared by four
//! bytes. Marks are added rather than or-ed. Lengths are cut to a byte before they are compared.

use super::path::{Folder, fold, stem_and_extension};

/// Length from which paths and names are too long for the packer, in bytes.
const TOO_LONG: usize = 260;
/// Length from which extensions are too long for the packer, in bytes, dot included.
const EXTENSION_TOO_LONG: usize = 16;

/// What the marked extensions add to the first, the last but one and the last byte.
const MARKS: [([u8; 4], [u8; 3]); 5] = [
    (*b".nif", [0x00, 0x80, 0x00]),
    (*b".kf\0", [0x00, 0x00, 0x80]),
    (*b".dds", [0x00, 0x80, 0x80]),
    (*b".wav", [0x80, 0x00, 0x00]),
    (*b".adp", [0x80, 0x80, 0x00]),
];

/// The hash of a folder's full path. The root and paths that are too long have the hash of `.`.
pub(super) fn folder(path: Folder<'_>) -> u64 {
    match path.len() {
        0 | TOO_LONG.. => Digest::of([b'.'].into_iter()).value(),
        _ => Digest::of(path.bytes()).value(),
    }
}

/// The hash of a file's name; 0 if it has no stem or is too long.
pub(super) fn file(name: &[u8]) -> u64 {
    let Some((stem, extension)) = split(name) else { return 0 };
    let mut digest = Digest::of(folded(stem));
    digest.crc = digest.crc.wrapping_add(crc(folded(extension)));
    let mark = four(extension);
    if let Some((_, [first, last2, last])) = MARKS.iter().find(|(marked, _)| *marked == mark) {
        digest.first = digest.first.wrapping_add(*first);
        digest.last2 = digest.last2.wrapping_add(*last2);
        digest.last = digest.last.wrapping_add(*last);
    }
    digest.value()
}

/// The hash of a file's name on the PlayStation 3. Textures are hashed without a suffix such as
/// `_n`, other files as on the PC.
///
/// Transcribed from SockNastre's `OblivionBSAHash.GetPS3`. No archive from a retail disc was
/// available to verify it.
pub(super) fn file_ps3(name: &[u8]) -> u64 {
    let Some((stem, extension)) = split(name) else { return 0 };
    if !extension.eq_ignore_ascii_case(b".dds") {
        return file(name);
    }
    let (stem, suffix) = match stem {
        [base @ .., b'_', suffix] if !base.is_empty() => (base, fold(*suffix)),
        _ => (stem, 0),
    };
    let digest = Digest::of(folded(stem));
    // Unlike on the PC, the sum includes the last byte but one.
    let middle =
        stem.split_first().and_then(|(_, rest)| rest.split_last()).map_or(&[][..], |(_, middle)| middle);
    Digest {
        last2: digest.last ^ 0x80,
        last: suffix ^ 0x80,
        crc: crc(folded(middle)).wrapping_add(crc(folded(extension))),
        ..digest
    }
    .value()
}

/// Stem and extension of a name; `None` if the name cannot be hashed.
fn split(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let (stem, extension) = stem_and_extension(name);
    let fits = !stem.is_empty() && name.len() < TOO_LONG && extension.len() < EXTENSION_TOO_LONG;
    fits.then_some((stem, extension))
}

fn folded(bytes: &[u8]) -> impl Iterator<Item = u8> {
    bytes.iter().map(|&byte| fold(byte))
}

/// The first four bytes, folded and padded with NULs.
fn four(bytes: &[u8]) -> [u8; 4] {
    let mut four = [0; 4];
    four.iter_mut().zip(bytes).for_each(|(slot, &byte)| *slot = fold(byte));
    four
}

fn crc(bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(0, add)
}

/// One step of the game's "CRC", which is a polynomial in this factor.
fn add(crc: u32, byte: u8) -> u32 {
    crc.wrapping_mul(0x1003F).wrapping_add(u32::from(byte))
}

/// The parts of a hash.
#[derive(Default)]
struct Digest {
    first: u8,
    last2: u8,
    last: u8,
    length: u8,
    crc: u32,
}

impl Digest {
    /// Digests a name of fewer than [`TOO_LONG`] bytes in one pass.
    fn of(bytes: impl Iterator<Item = u8>) -> Self {
        let (count, mut digest) = bytes.fold((0u16, Self::default()), |(count, mut digest), byte| {
            match count {
                0 => digest.first = byte,
                1 | 2 => {}
                // The sum lags two bytes behind, so the last two bytes never enter it. Nor does the first.
                _ => digest.crc = add(digest.crc, digest.last2),
            }
            digest.last2 = digest.last;
            digest.last = byte;
            (count.wrapping_add(1), digest)
        });
        let [length, _] = count.to_le_bytes();
        digest.length = length;
        if count < 3 {
            digest.last2 = 0;
        }
        // The packer first truncates the length to a byte, so it drops the sum for lengths of 256 to 259.
        if length <= 3 {
            digest.crc = 0;
        }
        digest
    }

    fn value(&self) -> u64 {
        let [a, b, c, d] = self.crc.to_le_bytes();
        u64::from_le_bytes([self.last, self.last2, self.length, self.first, a, b, c, d])
    }
}
