//! Compares the games' hashes of random names with those of both other readers.

use std::cell::Cell;

use ba2::{BStr, fo4, tes3, tes4};
use bsafs::format::hash::{Family, Hash};

use crate::support::content::Xorshift;

/// Number of random names per family.
const NAMES: usize = 20_000;

/// A random folder and file name: short or long, with bytes above ASCII and extensions that the
/// hashes treat specially.
///
/// Both together have at most 250 bytes, because ba2 hashes a dot instead of a path of 260 bytes or more.
fn name(random: &mut Xorshift) -> (Vec<u8>, Vec<u8>) {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCXYZ0123456789_ -()'\xE9\xC9\x81\xFF.";
    const EXTENSIONS: [&str; 12] =
        ["", ".nif", ".kf", ".dds", ".wav", ".adp", ".NIF", ".txt", ".x", ".ddsx", ".strings", ".d"];
    let mut word = |most: u64| {
        let len = 1 + random.next() % most;
        let letter = |_| LETTERS[(random.next() >> 20) as usize % LETTERS.len()];
        (0..len).map(letter).collect::<Vec<u8>>()
    };
    let folders = [word(4), word(30), word(60)];
    let (short, long) = (word(4), word(90));
    let number = random.next() >> 8;
    let depth = number as usize % 4;
    let separator: &[u8] = if number & 64 == 0 { b"\\" } else { b"/" };
    let stem = if number & 128 == 0 { short } else { long };
    let extension = EXTENSIONS[(number >> 16) as usize % EXTENSIONS.len()];
    (folders[..depth].join(separator), [&stem, extension.as_bytes()].concat())
}

fn for_each_name(check: impl Fn(&[u8], &[u8], &[u8])) {
    let mut random = Xorshift::new(20_240_615);
    for _ in 0..NAMES {
        let (folder, file) = name(&mut random);
        let whole = if folder.is_empty() { file.clone() } else { [&folder[..], b"\\", &file].concat() };
        check(&folder, &file, &whole);
    }
}

#[test]
fn hashes_of_morrowind_equal_those_of_other_readers() {
    for_each_name(|folder, file, whole| {
        let ours = Family::Tes3.of(folder, file);
        let theirs = tes3::hash_file(BStr::new(whole)).0;
        // The low word is stored first.
        let stored = u64::from(theirs.lo) | u64::from(theirs.hi) << 32;
        assert_eq!(ours, Hash { folder: 0, file: stored }, "{}", whole.escape_ascii());
    });
}

#[test]
fn hashes_of_oblivion_equal_those_of_other_readers() {
    for_each_name(|folder, file, whole| {
        let ours = Family::Tes4.of(folder, file);
        let name = || whole.escape_ascii();
        assert_eq!(ours.folder, tes4::hash_directory(BStr::new(folder)).0.numeric(), "ba2: {}", name());
        assert_eq!(ours.file, tes4::hash_file(BStr::new(file)).0.numeric(), "ba2: {}", name());
        let (dream, _) = dream_archive::bsa::tes4::hash_file(file);
        assert_eq!(ours.file, dream.numeric(), "dream_archive: {}", name());
    });
}

#[test]
fn hashes_of_fallout_4_equal_those_of_other_readers() {
    let of = |file: u32, extension: u32, directory: u32| Hash {
        folder: directory.into(),
        file: u64::from(file) << 32 | u64::from(extension),
    };
    // If a file has no extension, both crates search the folders for its dot. dream_archive also
    // skips bytes above ASCII, which the game's tool hashes. The test asserts these defects, so
    // that a corrected version is noticed.
    let (dots, accents) = (Cell::new(0), Cell::new(0));
    for_each_name(|folder, file, whole| {
        let ours = Family::Fo4.of(folder, file);
        let ba2 = fo4::hash_file(BStr::new(whole)).0;
        let ba2 = of(ba2.file, ba2.extension, ba2.directory);
        let has_dot_in_folders_only = !file.contains(&b'.') && folder.contains(&b'.');
        match has_dot_in_folders_only {
            true => dots.update(|count| count + usize::from(ours != ba2)),
            false => assert_eq!(ours, ba2, "ba2: {}", whole.escape_ascii()),
        }
        let dream = dream_archive::ba2::hash_file(BStr::new(whole)).0;
        let dream = of(dream.file, dream.extension, dream.directory);
        match whole.is_ascii() {
            true if has_dot_in_folders_only => {}
            true => assert_eq!(ours, dream, "dream_archive: {}", whole.escape_ascii()),
            false => accents.update(|count| count + usize::from(ours != dream)),
        }
    });
    assert!(dots.get() > 0, "ba2 no longer takes a folder's dot for an extension's: compare these too");
    assert!(accents.get() > 0, "dream_archive hashes all bytes now: compare these too");
}
