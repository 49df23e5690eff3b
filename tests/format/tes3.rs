//! Morrowind's archives: FORMATS.md section 2.

use bsafs::format::hash::{Family, Hash};
use bsafs::format::{About, Codec, Extent, ExtentPrefix, Limits, ParseError};

use super::{bytes_of, names, notes, parse, patched, refusal, refusal_within};
use crate::support::{Tes3, Tes3File, hash};

/// An archive of three files in the order of addition. Records are at 12, name offsets at 36, names
/// at 48, hashes at 66, data at 90.
fn three() -> Tes3 {
    Tes3::new().unsorted().file("a\\b.nif", b"first").file("c.txt", b"").file("D/e", b"third!")
}

const NAMES_AT: usize = 48;
const DATA_AT: u64 = 90;

#[test]
fn every_field_is_read_from_its_documented_offset() {
    let bytes = three().build();
    let archive = parse(&bytes);
    let about = About {
        format: "TES3",
        version: 0x100,
        kind: "",
        games: "Morrowind",
        platform: "PC",
        flags: 0,
        flag_names: Vec::new(),
    };
    assert_eq!(archive.about, about);
    assert_eq!(archive.hashes, Family::Tes3);
    assert_eq!(names(&archive), ["a\\b.nif", "c.txt", "D/e"]);
    let extent = |offset, len| Extent {
        offset,
        packed: len,
        size: Some(len),
        codec: Codec::Stored,
        prefix: ExtentPrefix::NONE,
    };
    let extents = [extent(DATA_AT, 5), extent(DATA_AT + 5, 0), extent(DATA_AT + 5, 6)];
    assert_eq!(archive.extents().collect::<Vec<_>>(), extents);
    assert_eq!(bytes_of(&bytes, &archive.extents().nth(2).unwrap()), b"third!");
    for (entry, name) in archive.entries().zip([&b"a\\b.nif"[..], b"c.txt", b"D/e"]) {
        let (low, high) = hash::tes3(name);
        let expected = Hash { folder: 0, file: u64::from(high) << 32 | u64::from(low) };
        assert_eq!((entry.hash, entry.extents), (expected, 1));
    }
    assert!(archive.heads.is_empty());
    assert_eq!(notes(&archive), []);
}

#[test]
fn an_xbox_archive_has_no_names_but_a_note() {
    // Other readers assume names if the word at the first name offset is 0. Without names that word
    // is a hash, which may have any value.
    for low in [0, 1, u32::MAX] {
        let bytes = Tes3::new().nameless().add(Tes3File::new("a", b"data").with_hash(low, 5)).build();
        assert_eq!(bytes.len(), 12 + 8 + 8 + 4);
        let archive = parse(&bytes);
        assert_eq!(names(&archive), ["?."]);
        assert_eq!(
            archive.entries().next().unwrap().hash,
            Hash { folder: 0, file: 5 << 32 | u64::from(low) }
        );
        assert_eq!(bytes_of(&bytes, &archive.extents().next().unwrap()), b"data");
        assert_eq!(
            notes(&archive),
            [(
                12,
                "the archive stores no names, like Morrowind's archives for the Xbox: its files are listed \
                 by hash unless --names supplies their paths"
            )]
        );
    }
}

#[test]
fn an_archive_without_files_is_parsed() {
    for archive in [Tes3::new(), Tes3::new().nameless()] {
        let bytes = archive.build();
        assert_eq!(bytes.len(), 12);
        assert_eq!((parse(&bytes).files.len(), notes(&parse(&bytes)).len()), (0, 0));
    }
}

#[test]
fn names_are_found_by_their_offsets_in_any_order() {
    let hash = |name: &str| hash::tes3(name.as_bytes());
    let file = |name, (low, high)| Tes3File::new(name, b"x").with_hash(low, high);
    let swapped = Tes3::new()
        .unsorted()
        .add(file("one", hash("two")).name_offset(4))
        .add(file("two", hash("one")).name_offset(0))
        .names_tail(b"leftovers\0");
    let bytes = swapped.build();
    assert_eq!(names(&parse(&bytes)), ["two", "one"]);
    assert_eq!(notes(&parse(&bytes)), []);
}

#[test]
fn a_name_offset_beyond_the_names_is_replaced_by_the_next_name() {
    // The names take 18 bytes, so 18 is the first offset without a name.
    for offset in [18_u32, 19, 1 << 31, u32::MAX] {
        let bytes = patched(&three().build(), 40, offset.to_le_bytes());
        let archive = parse(&bytes);
        assert_eq!(names(&archive), ["a\\b.nif", "c.txt", "D/e"], "{offset}");
        let note = format!("name offset {offset} lies beyond the names; the next name in order is used");
        assert_eq!(notes(&archive), [(40, note.as_str())]);
    }
    // Offset 17 is that of the last NUL, which is an empty name. The hash shows that it is another.
    assert_eq!(names(&parse(&patched(&three().build(), 40, [17]))), ["a\\b.nif", "c.txt", "D/e"]);
}

#[test]
fn unsorted_files_and_wrong_hashes_are_accepted() {
    let files = |archive: Tes3| {
        archive
            .add(Tes3File::new("b", b"2").with_hash(u32::MAX, 0))
            .add(Tes3File::new("a", b"1").with_hash(u32::MAX, 0))
            .add(Tes3File::new("c", b"3").with_hash(0, 0))
    };
    let bytes = files(Tes3::new().unsorted()).build();
    let archive = parse(&bytes);
    assert_eq!(names(&archive), ["b", "a", "c"]);
    let hashes: Vec<u64> = archive.entries().map(|entry| entry.hash.file).collect();
    assert_eq!(hashes, [0xFFFF_FFFF, 0xFFFF_FFFF, 0]);
    assert_eq!(notes(&archive), []);
}

#[test]
fn data_beyond_the_end_is_noted_and_other_files_stay_readable() {
    let bytes = three().build();
    for (at, field) in [(16, 7_u32), (16, u32::MAX), (12, 12), (12, u32::MAX)] {
        let bytes = patched(&bytes, at, field.to_le_bytes());
        let archive = parse(&bytes);
        let note =
            "the archive seems cut off: the data of 1 file lies beyond its end; download or copy it again";
        assert_eq!(notes(&archive), [(bytes.len() as u64, note)], "{field} at {at}");
        assert_eq!(bytes_of(&bytes, &archive.extents().nth(2).unwrap()), b"third!");
    }
    let archive = parse(&patched(&bytes, 16, u32::MAX.to_le_bytes())).extents().next().unwrap();
    assert_eq!(
        archive.offset,
        DATA_AT + u64::from(u32::MAX),
        "the offset must be counted from the data and may exceed 4 GiB"
    );
}

#[test]
fn damage_is_reported_with_its_offset() {
    let good = three().build();
    let space = |bytes: u32| {
        ParseError::corrupt(4, format!("{bytes} bytes cannot contain the records and names of 3 files"))
    };
    let ends = |at, what: &str| ParseError::corrupt(at, format!("the file ends before {what}"));
    let cases: [(usize, &[u8], ParseError); 6] = [
        // Between header and hashes are either just the records, or at least 13 bytes for each file.
        (4, &[23, 0, 0, 0], space(23)),
        (4, &[25, 0, 0, 0], space(25)),
        (4, &[38, 0, 0, 0], space(38)),
        (4, &[0, 0, 0, 0x80], ends(NAMES_AT as u64, "the names")),
        (8, &[0xFF, 0xFF, 0xFF, 0], ends(12, "the file records")),
        (8, &[0xFF, 0xFF, 0xFF, 0xFF], ParseError::limit(8, "4294967295 files; the limit is 16777216")),
    ];
    for (at, with, expected) in &cases {
        assert_eq!(refusal(&patched(&good, *at, with)), *expected, "{with:?} at {at}");
    }
    let few = Limits { entries: 2, ..Limits::default() };
    assert_eq!(refusal_within(&good, &few), ParseError::limit(8, "3 files; the limit is 2"));
}

#[test]
fn an_archive_cut_within_its_tables_names_the_missing_field() {
    let good = three().build();
    let cases = [
        (4, 4, "the offset of the hashes"),
        (7, 4, "the offset of the hashes"),
        (8, 8, "the count of files"),
        (11, 8, "the count of files"),
        (12, 12, "the file records"),
        (35, 12, "the file records"),
        (36, 36, "the name offsets"),
        (47, 36, "the name offsets"),
        (48, 48, "the names"),
        (65, 48, "the names"),
        (66, 66, "the hashes"),
        (89, 66, "the hashes"),
    ];
    for (len, at, what) in cases {
        let expected = ParseError::corrupt(at, format!("the file ends before {what}"));
        assert_eq!(refusal(&good[..len]), expected, "{len} bytes");
    }
    assert_eq!(parse(&good[..90]).files.len(), 3, "an archive with complete tables must be readable");
}

#[test]
fn fewer_names_than_files_are_noted_and_the_others_are_listed_by_hash() {
    // The second and the third name offset are damaged. The third file gets the name after the
    // second, if there is one.
    let archive = Tes3::new()
        .unsorted()
        .add(Tes3File::new("a long name", b"1"))
        .add(Tes3File::new("b", b"2").name_offset(13))
        .add(Tes3File::new("", b"3").name_offset(99));
    let bytes = archive.build();
    // Names begin at 12 + 3 * 12. Of their 15 bytes, "b" is at 12 and the empty third name at 14.
    assert_eq!(names(&parse(&bytes)), ["a long name", "b", "?."]);
    let note = "the table of names ends early or is damaged; files listed by hash \
                unless --names supplies their paths: 1";
    assert!(notes(&parse(&bytes)).contains(&(12, note)), "{:?}", parse(&bytes).notes);
}

#[test]
fn files_that_share_one_long_name_cannot_multiply_it() {
    let long = "l".repeat(1000);
    let files = (0..20).fold(Tes3::new().unsorted().file(&long, b""), |archive, n: u32| {
        archive.add(Tes3File::new("s", b"").with_hash(n, n).name_offset(0))
    });
    // The names take 1001 + 20 * 2 bytes, and twice as many are the most.
    let bytes = files.build();
    let named = names(&parse(&bytes)).into_iter().filter(|name| *name == long).count();
    assert_eq!(named, 2);
    assert_eq!(parse(&bytes).files.len(), 21);
    // A single damaged offset is no error.
    let one =
        Tes3::new().unsorted().file(&long, b"").add(Tes3File::new("s", b"").with_hash(1, 2).name_offset(0));
    assert_eq!(names(&parse(&one.build())), [long.clone(), long]);
}
