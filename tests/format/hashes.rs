//! The games' hashes, compared with vectors from other programs: FORMATS.md section 4.

use bsafs::format::hash::Family::{Fo4, Tes3, Tes4, Tes4Ps3, Tes4Xbox};
use bsafs::format::hash::Hash;

use crate::support::vectors::{self, ConsoleVector, HashVector};

/// Splits a path into its folder and the rest, which begins with the separator.
fn split(path: &[u8]) -> Option<(&[u8], &[u8])> {
    path.iter().rposition(|byte| b"/\\".contains(byte)).map(|at| path.split_at(at))
}

/// The bytes of a hash as archives store them, in hexadecimal.
fn digits(hash: u64) -> String {
    hash.to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn hashes_match_the_vectors() {
    for vector in vectors::hashes() {
        match vector {
            HashVector::Tes3 { path, low, high } => {
                let (hash, name) = (low | high << 32, path.escape_ascii());
                assert_eq!(Tes3.of(b"", &path).file, hash, "{name}");
                if let Some((folder, file)) = split(&path) {
                    assert_eq!(Tes3.of(folder, file).file, hash, "{name} split into folder and file");
                }
            }
            HashVector::Tes4Folder { folder, hash, xbox } => {
                let name = folder.escape_ascii();
                assert_eq!(Tes4.folder(&folder), Some(hash), "{name}");
                assert_eq!(Tes4Ps3.folder(&folder), Some(hash), "{name} on the PlayStation 3");
                assert_eq!(Tes4Xbox.folder(&folder).map(digits), Some(xbox), "{name} on the Xbox 360");
            }
            HashVector::Tes4File { file, hash, pc, xbox } => {
                let name = file.escape_ascii();
                assert_eq!(Tes4.of(b"", &file).file, hash, "{name}");
                assert_eq!(digits(Tes4.of(b"", &file).file), pc, "{name} as stored");
                assert_eq!(digits(Tes4Xbox.of(b"", &file).file), xbox, "{name} on the Xbox 360");
            }
            HashVector::Fo4 { path, stem, extension, folder } => {
                let (hash, name) = (Hash { folder, file: stem << 32 | extension }, path.escape_ascii());
                assert_eq!(Fo4.of(b"", &path), hash, "{name}");
                if let Some((folder, file)) = split(&path) {
                    assert_eq!(Fo4.of(folder, file), hash, "{name} split into folder and file");
                    assert_eq!(Fo4.folder(folder), Some(hash.folder), "{name}: the folder alone");
                }
            }
        }
    }
}

#[test]
fn console_hashes_match_the_vectors() {
    for ConsoleVector { name, is_folder, pc, xbox, ps3 } in vectors::console_hashes() {
        let bytes = name.as_bytes();
        if is_folder {
            let hashes = [Tes4, Tes4Xbox, Tes4Ps3].map(|family| family.folder(bytes));
            assert_eq!(hashes, [Some(pc), Some(xbox), Some(pc)], "{name}");
        } else {
            let hashes = [Tes4, Tes4Xbox, Tes4Ps3].map(|family| family.of(b"textures", bytes).file);
            assert_eq!(
                hashes,
                [pc, xbox, ps3.unwrap_or(pc)],
                "{name}: only hashes of textures may differ on the PlayStation 3"
            );
        }
    }
}

#[test]
fn overlong_names_hash_to_zero() {
    let hash =
        |stem: usize, extension: &[u8]| Tes4.of(b"", &[&vec![b'x'; stem][..], extension].concat()).file;
    assert_ne!(hash(259, b""), 0);
    assert_eq!(hash(260, b""), 0);
    assert_ne!(hash(4, b".123456789ABCDE"), 0);
    assert_eq!(hash(4, b".123456789ABCDEF"), 0);
    assert_eq!(Tes4.folder(&[b'x'; 260]), Tes4.folder(b"."));
    assert_ne!(Tes4.folder(&[b'x'; 259]), Tes4.folder(b"."));
}

#[test]
fn a_folder_name_whose_length_overflows_a_byte_has_no_sum() {
    assert_eq!(Tes4.folder(&[b'x'; 257]), Some(0x7801_7878));
    assert_ne!(Tes4.folder(&[b'x'; 255]).unwrap() >> 32, 0);
}

#[test]
fn only_the_first_four_bytes_of_an_extension_count() {
    let low = |file: &[u8]| Tes4.of(b"", file).file & 0xFFFF_FFFF;
    assert_eq!(low(b"abcd.ddsx"), low(b"abcd.DDS"));
    assert_eq!(low(b"abcd.kfm"), low(b"abcd.txt"));
}

#[test]
fn a_name_that_begins_with_a_dot_has_no_stem() {
    let extension = u64::from(u32::from_le_bytes(*b"giti"));
    assert_eq!(Fo4.of(b"", b".gitignore"), Hash { folder: 0, file: extension });
    assert_eq!(Fo4.of(b"", b""), Hash { folder: 0, file: 0 });
}
