//! The games' hashes of random names, against those of both crates.

use std::cell::Cell;

use ba2::{BStr, fo4, tes3, tes4};
use bsafs::format::hash::{Family, Hash};

use crate::support::content::Xorshift;

/// Names of each family.
const NAMES: usize = 20_000;

/// A folder and a file name: short and long, with and without extensions that the hashes treat apart, bytes above
/// ASCII among the letters. At most 250 bytes together: from 260 on, ba2 hashes a dot instead.
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
fn morrowinds_hash_is_that_of_the_others() {
    for_each_name(|folder, file, whole| {
        let ours = Family::Tes3.of(folder, file);
        let theirs = tes3::hash_file(BStr::new(whole)).0;
        // As stored: the low word first.
        let stored = u64::from(theirs.lo) | u64::from(theirs.hi) << 32;
        assert_eq!(ours, Hash { folder: 0, file: stored }, "{}", whole.escape_ascii());
    });
}

#[test]
fn oblivions_hashes_are_those_of_the_others() {
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
fn fallouts_hashes_are_those_of_the_others() {
    let of = |file: u32, extension: u32, directory: u32| Hash {
        folder: directory.into(),
        file: u64::from(file) << 32 | u64::from(extension),
    };
    // Both look for the extension's dot in the folders, too, where the file has none; dream_archive passes over bytes
    // above ASCII, which the game's tool hashes (FORMATS.md 4.5). Both are expected to go on doing so.
    let (dots, accents) = (Cell::new(0), Cell::new(0));
    for_each_name(|folder, file, whole| {
        let ours = Family::Fo4.of(folder, file);
        let ba2 = fo4::hash_file(BStr::new(whole)).0;
        let ba2 = of(ba2.file, ba2.extension, ba2.directory);
        let is_misled = !file.contains(&b'.') && folder.contains(&b'.');
        match is_misled {
            true => dots.update(|count| count + usize::from(ours != ba2)),
            false => assert_eq!(ours, ba2, "ba2: {}", whole.escape_ascii()),
        }
        let dream = dream_archive::ba2::hash_file(BStr::new(whole)).0;
        let dream = of(dream.file, dream.extension, dream.directory);
        match whole.is_ascii() {
            true if is_misled => {}
            true => assert_eq!(ours, dream, "dream_archive: {}", whole.escape_ascii()),
            false => accents.update(|count| count + usize::from(ours != dream)),
        }
    });
    assert!(dots.get() > 0, "ba2 takes no folder's dot for an extension's any more: compare those, too");
    assert!(accents.get() > 0, "dream_archive hashes all bytes now: compare those, too");
}
