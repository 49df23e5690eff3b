//! The games' hashes, implemented a second time on purpose. A writer that used the reader's
//! functions could not reveal their mistakes.
//!
//! Names are bytes. All functions convert ASCII capitals to lower case, and `/` to `\`. They hash
//! all other bytes as they are.

/// Two Morrowind paths with the same hash. In the first half, bytes that are four apart may change places.
pub const TES3_COLLISION: [&[u8]; 2] = [b"abcdefgh\\zyxwvuts.nif", b"ebcdafgh\\zyxwvuts.nif"];
/// Two file names with the same hash in Oblivion to Skyrim, found by a birthday search over the
/// middle letters.
pub const TES4_COLLISION: [&[u8]; 2] = [b"xairdyj_d.txt", b"xzssdab_d.txt"];
/// Two file names with the same hash in Fallout 4, found by a birthday search.
pub const FO4_COLLISION: [&[u8]; 2] = [b"ynhsxmfw.txt", b"jsjjhoiw.txt"];

/// Morrowind's hash of a full path: two words, the low word first, as stored.
pub fn tes3(path: &[u8]) -> (u32, u32) {
    let path = normal(path);
    let (front, back) = path.split_at(path.len() / 2);
    let mut low = 0u32;
    for (i, &byte) in front.iter().enumerate() {
        low ^= u32::from(byte) << (8 * (i % 4));
    }
    let mut high = 0u32;
    for (i, &byte) in back.iter().enumerate() {
        let term = u32::from(byte) << (8 * (i % 4));
        high = (high ^ term).rotate_right(term & 31);
    }
    (low, high)
}

/// Hash of a folder's full path in Oblivion to Skyrim. An empty path means the root, which is hashed as `.`.
pub fn tes4_folder(path: &[u8]) -> u64 {
    let path = normal(path);
    let path = trim(&path);
    tes4(if path.is_empty() { b"." } else { path }, b"")
}

/// Hash of a file's name without its folder in Oblivion to Skyrim. A name without a stem, such as
/// `.gitignore`, has hash 0.
pub fn tes4_file(name: &[u8]) -> u64 {
    let name = normal(name);
    let (stem, extension) = split_at_dot(&name);
    if stem.is_empty() { 0 } else { tes4(stem, extension) }
}

/// The hash that an Xbox 360 archive stores for a PC hash. The four CRC bytes are in big-endian order.
pub fn xbox360(hash: u64) -> u64 {
    let crc = (hash >> 32) as u32;
    u64::from(crc.swap_bytes()) << 32 | hash & 0xFFFF_FFFF
}

/// The three parts of a Fallout 4 hash, in stored order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fo4 {
    /// Hash of the file name without its extension.
    pub file: u32,
    /// The first four bytes of the extension without its dot, padded with zeros.
    pub extension: [u8; 4],
    /// Hash of the folder, 0 for the root.
    pub folder: u32,
}

/// Hash of a full path in Fallout 4 and later games.
pub fn fo4(path: &[u8]) -> Fo4 {
    let path = normal(path);
    let (folder, name) = match path.iter().rposition(|&b| b == b'\\') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (&b""[..], &path[..]),
    };
    let (stem, dotted) = split_at_dot(name);
    let mut extension = [0; 4];
    for (to, from) in extension.iter_mut().zip(dotted.iter().skip(1)) {
        *to = *from;
    }
    Fo4 { file: crc32(stem), extension, folder: crc32(trim(folder)) }
}

/// CRC-32 with zlib's polynomial, but with an initial value of 0 and not inverted at the end. It
/// works bit by bit, because speed does not matter here.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = 0u32;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0xEDB8_8320 } else { 0 };
        }
    }
    crc
}

/// The common part of both TES4 hashes. `stem` is not empty, and `extension` includes its dot.
fn tes4(stem: &[u8], extension: &[u8]) -> u64 {
    let rolling =
        |bytes: &[u8]| bytes.iter().fold(0u32, |h, &b| h.wrapping_mul(0x1003F).wrapping_add(u32::from(b)));
    let length = stem.len();
    let mut last = stem[length - 1];
    let mut before_last = if length >= 3 { stem[length - 2] } else { 0 };
    let mut first = stem[0];
    let middle = if length > 3 { &stem[1..length - 2] } else { b"" };
    let crc = rolling(middle).wrapping_add(rolling(extension));
    let mark = |byte: &mut u8| *byte = byte.wrapping_add(0x80);
    match extension {
        b".nif" => mark(&mut before_last),
        b".kf" => mark(&mut last),
        b".dds" => {
            mark(&mut last);
            mark(&mut before_last);
        }
        b".wav" => mark(&mut first),
        b".adp" => {
            mark(&mut first);
            mark(&mut before_last);
        }
        _ => {}
    }
    let name = [last, before_last, length as u8, first];
    u64::from(crc) << 32 | u64::from(u32::from_le_bytes(name))
}

fn normal(path: &[u8]) -> Vec<u8> {
    path.iter().map(|&b| if b == b'/' { b'\\' } else { b.to_ascii_lowercase() }).collect()
}

fn trim(mut path: &[u8]) -> &[u8] {
    while let Some(rest) = path.strip_prefix(b"\\") {
        path = rest;
    }
    while let Some(rest) = path.strip_suffix(b"\\") {
        path = rest;
    }
    path
}

/// Splits a name into stem and extension. The extension includes its dot. It is empty if there is no dot.
fn split_at_dot(name: &[u8]) -> (&[u8], &[u8]) {
    name.split_at(name.iter().rposition(|&b| b == b'.').unwrap_or(name.len()))
}

#[cfg(test)]
mod tests {
    use super::super::vectors::{self, ConsoleVector, HashVector};
    use super::*;

    #[test]
    fn hashes_match_the_vectors() {
        for vector in vectors::hashes() {
            match vector {
                HashVector::Tes3 { path, low, high } => {
                    // The library that made the vectors hashes an empty path as ".".
                    let words = tes3(if path.is_empty() { b"." } else { &path });
                    assert_eq!((words.0.into(), words.1.into()), (low, high), "{}", path.escape_ascii());
                }
                HashVector::Tes4Folder { folder, hash, .. } => {
                    assert_eq!(tes4_folder(&folder), hash, "{}", folder.escape_ascii());
                }
                HashVector::Tes4File { file, hash, .. } => {
                    assert_eq!(tes4_file(&file), hash, "{}", file.escape_ascii());
                }
                HashVector::Fo4 { path, stem, extension, folder } => {
                    let parts = fo4(&path);
                    let parts =
                        [parts.file, u32::from_le_bytes(parts.extension), parts.folder].map(u64::from);
                    assert_eq!(parts, [stem, extension, folder], "{}", path.escape_ascii());
                }
            }
        }
    }

    #[test]
    fn xbox_360_hashes_store_the_crc_in_big_endian_order() {
        for ConsoleVector { name, is_folder, pc, xbox, .. } in vectors::console_hashes() {
            let bytes = name.as_bytes();
            let hash = if is_folder { tes4_folder(bytes) } else { tes4_file(bytes) };
            assert_eq!((hash, xbox360(hash)), (pc, xbox), "{name}");
        }
    }

    #[test]
    fn the_colliding_names_have_equal_hashes() {
        let [a, b] = TES3_COLLISION;
        assert_eq!(tes3(a), tes3(b));
        let [a, b] = TES4_COLLISION;
        assert_eq!(tes4_file(a), tes4_file(b));
        let [a, b] = FO4_COLLISION;
        assert_eq!(fo4(a), fo4(b));
    }
}
