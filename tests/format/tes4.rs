//! BSA, the archives of Oblivion to Skyrim SE: FORMATS.md sections 1.1 to 1.5, 1.7, 1.10.

mod record;

use bsafs::format::hash::{Family, Hash};
use bsafs::format::{Limits, ParseError};

use super::{bytes_of, names, notes, parse, patched, refusal, refusal_within};
use crate::support::tes4::{EMBEDDED, FILE_NAMES, FOLDER_NAMES, PACKED, XBOX_360, XMEM};
use crate::support::{Tes4, Tes4File, Tes4Folder, hash};

const VERSIONS: [u32; 3] = [103, 104, 105];
const NAMES: u32 = FOLDER_NAMES | FILE_NAMES;
const ALL: [&str; 3] = ["meshes\\a|one.nif", "textures|two.dds", "textures|three.dds"];

/// An archive of three files in two folders, in the order of addition. In versions 103 and 104,
/// folder records are at 36, blocks at 68 and 94, file names at 136, data at 162. In version 105,
/// all but the folder records are 16 bytes later.
fn three(version: u32) -> Tes4 {
    Tes4::new(version)
        .unsorted()
        .file("meshes\\a", "one.nif", b"first")
        .file("textures", "two.dds", b"second!")
        .file("textures", "three.dds", b"3")
}

const WRONG_LENGTH: &str = "the stated length of the file names is wrong, or a name lacks its end; as many \
                            names as possible are read";
const NAMES_AT: usize = 136;
const DATA_AT: usize = 162;

#[test]
fn every_field_is_read_from_its_documented_offset() {
    let games = ["Oblivion", "Fallout 3, Fallout: New Vegas, Skyrim", "Skyrim Special Edition"];
    for (version, games) in VERSIONS.into_iter().zip(games) {
        let bytes = three(version).padding(0xCDCD).content_flags(0xFFFF).build();
        let archive = parse(&bytes);
        let about = &archive.about;
        assert_eq!((about.format, about.version, about.kind, about.games), ("TES4", version, "", games));
        assert_eq!((archive.hashes, notes(&archive)), (Family::Tes4, vec![]));
        assert_eq!(names(&archive), ALL);
        let data = if version == 105 { DATA_AT + 16 } else { DATA_AT };
        let offsets: Vec<u64> = archive.extents().map(|extent| extent.offset).collect();
        assert_eq!(offsets, [0, 5, 12].map(|more| (data + more) as u64));
        for (extent, data) in archive.extents().zip([&b"first"[..], b"second!", b"3"]) {
            assert_eq!(bytes_of(&bytes, &extent), data);
        }
        let hash = Hash { folder: hash::tes4_folder(b"textures"), file: hash::tes4_file(b"two.dds") };
        assert_eq!(archive.entries().nth(1).unwrap().hash, hash);
        assert!(archive.heads.is_empty());
    }
}

#[test]
fn flag_names_depend_on_the_version() {
    let common = [
        "folder names",
        "file names",
        "compressed by default",
        "retain folder names",
        "retain file names",
        "retain name offsets",
        "Xbox 360",
        "retain strings at start-up",
    ];
    let cases: [(u32, &[&str]); 3] = [
        (103, &["unknown 0x400"]),
        (104, &["embedded file names", "XMem codec", "unknown 0x400"]),
        (105, &["embedded file names", "unknown 0x400"]),
    ];
    for (version, others) in cases {
        let bytes = Tes4::new(version).flags(u32::MAX).build();
        let about = parse(&bytes).about;
        assert_eq!((about.flags, about.flag_names), (u32::MAX, [&common[..], others].concat()), "{version}");
    }
}

#[test]
fn folder_offsets_and_their_padding_are_ignored() {
    for version in VERSIONS {
        for offset in [0, 1, 0xDEAD_BEEF, u64::MAX] {
            let wrong = Tes4::new(version)
                .unsorted()
                .garbage(u32::MAX)
                .folder(Tes4Folder::new("meshes\\a").offset(offset))
                .folder(Tes4Folder::new("textures").offset(offset))
                .file("meshes\\a", "one.nif", b"first")
                .file("textures", "two.dds", b"second!")
                .file("textures", "three.dds", b"3");
            let (wrong, right) = (wrong.build(), three(version).build());
            assert_ne!(wrong, right);
            assert_eq!(names(&parse(&wrong)), ALL, "{version}: {offset}");
            assert!(parse(&wrong).extents().eq(parse(&right).extents()), "{version}: {offset}");
            assert_eq!(notes(&parse(&wrong)), [], "{version}: {offset}");
        }
    }
}

#[test]
fn names_are_kept_if_their_hashes_are_wrong() {
    // Oblivion's "archive invalidation" wrote such hashes. Files may also share a hash.
    let bytes = Tes4::new(103)
        .unsorted()
        .folder(Tes4Folder::new("b").with_hash(9))
        .add("b", Tes4File::new("two", b"2").with_hash(7))
        .add("b", Tes4File::new("one", b"1").with_hash(7))
        .folder(Tes4Folder::new("a").with_hash(9))
        .add("a", Tes4File::new("three", b"3").with_hash(0))
        .build();
    let archive = parse(&bytes);
    assert_eq!(names(&archive), ["b|two", "b|one", "a|three"]);
    let hashes: Vec<Hash> = archive.entries().map(|entry| entry.hash).collect();
    assert_eq!(hashes, [7, 7, 0].map(|file| Hash { folder: 9, file }));
    assert_eq!(notes(&archive), []);
}

#[test]
fn a_folder_may_be_stored_twice_or_be_empty() {
    let bytes = Tes4::new(104)
        .unsorted()
        .folder(Tes4Folder::new("a"))
        .file("a", "same.txt", b"1")
        .folder(Tes4Folder::new("empty"))
        .folder(Tes4Folder::new("a"))
        .file("a", "same.txt", b"2")
        .build();
    assert_eq!(names(&parse(&bytes)), ["a|same.txt", "a|same.txt"]);
    assert_eq!(notes(&parse(&bytes)), []);
}

#[test]
fn malformed_folder_names_are_read() {
    let cases: [(&[u8], &str); 7] = [
        (b"\0", "|a"),
        (b"\x01\0", "|a"),
        (b"\x02.\0", ".|a"),
        (b"\x03abc", "abc|a"),
        (b"\x04abc\0", "abc|a"),
        (b"\x05a\0b\0\0", "a\0b\0|a"),
        (b"\x06\\a/b\\\0", "\\a/b\\|a"),
    ];
    for (field, expected) in cases {
        let folder = Tes4Folder::new("f").with_name_field(field);
        let bytes = Tes4::new(104).folder(folder).file("f", "a", b"1").build();
        assert_eq!(names(&parse(&bytes)), [expected], "{field:?}");
        assert_eq!(notes(&parse(&bytes)), [], "{field:?}");
    }
    let long = [&[255][..], &[b'x'; 254], &[0]].concat();
    let bytes =
        Tes4::new(104).folder(Tes4Folder::new("f").with_name_field(long)).file("f", "a", b"1").build();
    assert_eq!(names(&parse(&bytes)), ["x".repeat(254) + "|a"]);
}

#[test]
fn names_are_kept_as_raw_bytes() {
    let bytes = Tes4::new(104).file("a/b", b"Mar\xEDa\x01:?\\..\\x", b"1").build();
    let bsafs::format::Name::Split { folder, file } = parse(&bytes).entries().next().unwrap().name else {
        panic!()
    };
    assert_eq!((folder, file), (Some(&b"a/b"[..]), Some(&b"Mar\xEDa\x01:?\\..\\x"[..])));
}

#[test]
fn a_name_block_longer_than_its_names_is_read_without_a_note() {
    for tail in [&[0; 40][..], b"left over\0", b"\0"] {
        let bytes = three(103).name_block_tail(tail).build();
        assert_eq!(names(&parse(&bytes)), ALL);
        assert_eq!(notes(&parse(&bytes)), []);
    }
}

#[test]
fn unused_bytes_before_the_file_names_are_skipped() {
    for version in VERSIONS {
        let bytes = three(version).name_block_gap(b"textures\\old").build();
        let archive = parse(&bytes);
        assert_eq!(names(&archive), ALL);
        let at = if version == 105 { NAMES_AT + 16 } else { NAMES_AT };
        let note = format!("the file names begin at offset {}, not after the last folder", at + 12);
        assert_eq!(notes(&archive), [(at as u64, note.as_str())]);
    }
}

#[test]
fn a_wrong_length_of_folder_names_is_ignored() {
    for total in [0, 1, 18, 9_999, u32::MAX] {
        let bytes = three(104).folder_names_total(total).build();
        assert_eq!((names(&parse(&bytes)), notes(&parse(&bytes))), (ALL.map(String::from).to_vec(), vec![]));
    }
}

#[test]
fn a_wrong_length_of_file_names_is_noted_and_all_names_are_read() {
    for total in [0, 1, 25, 27, 9_999, u32::MAX] {
        let bytes = three(104).file_names_total(total).build();
        let archive = parse(&bytes);
        assert_eq!(names(&archive), ALL, "{total}");
        assert_eq!(notes(&archive), [(28, WRONG_LENGTH)], "{total}");
    }
}

#[test]
fn a_truncated_name_table_loses_only_the_missing_names() {
    let good = three(104).build();
    let wrong = (28, WRONG_LENGTH);
    let cut = "the archive seems cut off: the data of 3 files lies beyond its end; download or copy it again";
    let lost = ["meshes\\a|?", "textures|?", "textures|?"];
    // The hash shows that a name without its NUL is whole.
    let cuts = [(NAMES_AT, 0), (NAMES_AT + 6, 0), (NAMES_AT + 7, 1), (NAMES_AT + 8, 1), (NAMES_AT + 24, 2)];
    for (len, kept) in cuts {
        let archive = parse(&good[..len]);
        assert_eq!(names(&archive), [&ALL[..kept], &lost[kept..]].concat(), "{len} bytes");
        let note = format!(
            "the archive ends within its table of file names; download or copy it again; files listed by \
             hash unless --names supplies their paths: {}",
            3 - kept
        );
        assert_eq!(notes(&archive), [wrong, (NAMES_AT as u64, &note), (len as u64, cut)]);
    }
}

/// Takes minutes if the parser searches for the end of each name, because each search scans a mebibyte.
#[test]
fn names_without_an_end_are_parsed_in_linear_time() {
    let mut bytes = Tes4::new(104).flags(FILE_NAMES).folder(Tes4Folder::new("f").count(1 << 20)).build();
    bytes.resize(36 + 16 + (16 << 20) + (1 << 20), b'x');
    let archive = parse(&bytes);
    assert_eq!(archive.files.len(), 1 << 20);
    let note = "the table of file names ends early or has gaps; files listed by hash \
                unless --names supplies their paths: 1048576";
    assert!(notes(&archive).iter().any(|(_, what)| *what == note), "{:?}", archive.notes);
}

#[test]
fn names_are_read_only_if_the_flags_say_that_they_exist() {
    let cases = [
        (NAMES, ["meshes\\a|one.nif", "textures|two.dds"]),
        (FOLDER_NAMES, ["meshes\\a|?", "textures|?"]),
        (FILE_NAMES, ["?|one.nif", "?|two.dds"]),
        (0, ["?|?", "?|?"]),
    ];
    for version in VERSIONS {
        for (flags, expected) in cases {
            let bytes = three(version).flags(flags).build();
            assert_eq!(names(&parse(&bytes))[..2], expected, "{version}: {flags}");
            assert_eq!(notes(&parse(&bytes)), [], "{version}: {flags}");
        }
    }
}

#[test]
fn embedded_names_are_used_if_the_tables_lack_names() {
    let paths = ["meshes\\a\\one.nif", "textures\\two.dds", "textures\\three.dds"];
    let unknown = ["?|?"; 3];
    let cases = [
        (104, 0, paths),
        (105, 0, paths),
        (104, PACKED, paths),
        (105, PACKED, paths),
        (104, XBOX_360, paths),
        (104, FOLDER_NAMES, paths),
        (104, FILE_NAMES, paths),
        (104, NAMES, ALL),
        (103, 0, unknown),
    ];
    for (version, flags, expected) in cases {
        let bytes = three(version).flags(flags | EMBEDDED).build();
        assert_eq!(names(&parse(&bytes)), expected, "{version}: {flags:x}");
    }
    // The hashes are those of the PC in spite of the flag.
    let bytes = three(104).flags(EMBEDDED).header_flags(EMBEDDED | XBOX_360).build();
    assert_eq!(names(&parse(&bytes)), paths);
}

#[test]
fn an_embedded_name_of_another_file_is_not_used() {
    let file = |name: &str| Tes4File::new(name, b"data");
    let build = |flags: u32| {
        Tes4::new(104)
            .unsorted()
            .flags(flags | EMBEDDED)
            .add("a", file("right.txt").embedded("A/RIGHT.txt"))
            .add("a", file("copy.txt").shares(0))
            .add("a", file("wrong.txt").embedded("a\\other.txt"))
            .add("b", file("moved.txt").embedded("a\\moved.txt"))
            .add("b", file("long.txt").embedded_length(255))
            .add("b", file("empty.txt").embedded(""))
            .add("b", file("beyond.txt").record_offset(1 << 20))
            .add(".", file("root.txt").embedded("root.txt"))
            .build()
    };
    let bytes = build(0);
    assert_eq!(names(&parse(&bytes)), ["A/RIGHT.txt", "?|?", "?|?", "?|?", "?|?", "?|?", "?|?", "root.txt"]);
    let bytes = build(NAMES);
    let tables = ["a|right.txt", "a|copy.txt", "a|wrong.txt", "b|moved.txt"];
    assert_eq!(names(&parse(&bytes))[..4], tables, "tables must take precedence over embedded names");
}

#[test]
fn xbox_360_archives_use_their_own_hashes() {
    let bytes = three(104).flags(NAMES | XBOX_360).build();
    let archive = parse(&bytes);
    assert_eq!((archive.hashes, names(&archive)), (Family::Tes4Xbox, ALL.map(String::from).to_vec()));
    let file = hash::xbox360(hash::tes4_file(b"two.dds"));
    assert_eq!(
        archive.entries().nth(1).unwrap().hash,
        Hash { folder: hash::xbox360(hash::tes4_folder(b"textures")), file }
    );
    // The hashes are those of the PC in spite of the flag, and the names come from the tables.
    let bytes = three(104).header_flags(NAMES | XBOX_360).build();
    assert_eq!(names(&parse(&bytes)), ALL);
}

#[test]
fn folder_records_at_another_offset_are_found_and_noted() {
    let good = three(104).build();
    let moved = [&good[..36], b"\xEE\xEE\xEE\xEE", &good[36..]].concat();
    let moved = patched(&moved, 8, 40_u32.to_le_bytes());
    let archive = parse(&moved);
    assert_eq!(names(&archive), ALL);
    assert_eq!(archive.entries().nth(1).unwrap().hash, parse(&good).entries().nth(1).unwrap().hash);
    assert_eq!(
        notes(&archive)[..1],
        [(8, "the folder records begin at offset 40; all known tools put them at 36")]
    );
}

#[test]
fn a_wrong_file_count_in_the_header_is_noted() {
    for count in [0, 2, 4, u32::MAX] {
        let bytes = three(104).file_count(count).build();
        let archive = parse(&bytes);
        let note = format!("the header states {count} files, but the folders contain 3");
        assert_eq!(
            (names(&archive), notes(&archive)),
            (ALL.map(String::from).to_vec(), vec![(20, &note[..])])
        );
    }
}

#[test]
fn damage_is_reported_with_its_offset() {
    let good = three(104).build();
    let version = |version: u32| {
        ParseError::unsupported(4, format!("BSA version {version}; the known versions are 103, 104 and 105"))
    };
    let ends = |at, what: &str| ParseError::corrupt(at, format!("the file ends before {what}"));
    let cases: [(usize, &[u8], ParseError); 10] = [
        (4, &[0], version(0)),
        (4, &[102], version(102)),
        (4, &[106], version(106)),
        (4, &[104, 0, 0, 1], version(0x0100_0068)),
        (16, &[1, 0, 0, 1], ParseError::limit(16, "16777217 folders; the limit is 16777216")),
        (16, &[0, 0, 0, 1], ends(36, "the folder records")),
        (44, &[8], ends(78, "a folder's file records")),
        (44, &[0xFF; 4], ends(78, "a folder's file records")),
        (68, &[255], ends(69, "a folder's name")),
        (94, &[255], ends(95, "a folder's name")),
    ];
    for (at, with, expected) in &cases {
        assert_eq!(refusal(&patched(&good, *at, with)), *expected, "{with:?} at {at}");
    }
}

#[test]
fn limits_apply_to_folders_and_to_files_in_all_folders() {
    let good = three(104).file_count(0).build();
    let limits = |entries| Limits { entries, ..Limits::default() };
    assert_eq!(refusal_within(&good, &limits(1)), ParseError::limit(16, "2 folders; the limit is 1"));
    assert_eq!(refusal_within(&good, &limits(2)), ParseError::limit(60, "3 files; the limit is 2"));
    assert!(bsafs::format::parse(&good, &limits(3)).is_ok());
}

#[test]
fn an_archive_cut_within_its_tables_names_the_missing_field() {
    let good = three(104).build();
    let cases = [
        (4, 4, "the version"),
        (11, 8, "the offset of the folder records"),
        (15, 12, "the archive flags"),
        (19, 16, "the count of folders"),
        (23, 20, "the count of files"),
        (27, 24, "the length of the folder names"),
        (31, 28, "the length of the file names"),
        (35, 32, "the content flags"),
        (36, 36, "the folder records"),
        (67, 36, "the folder records"),
        (68, 68, "a folder's name"),
        (77, 69, "a folder's name"),
        (78, 78, "a folder's file records"),
        (93, 78, "a folder's file records"),
        (94, 94, "a folder's name"),
        (135, 104, "a folder's file records"),
    ];
    for (len, at, what) in cases {
        let expected = ParseError::corrupt(at, format!("the file ends before {what}"));
        assert_eq!(refusal(&good[..len]), expected, "{len} bytes");
    }
    assert_eq!(names(&parse(&good[..DATA_AT])), ALL, "an archive with complete tables must be readable");
    assert_eq!(
        refusal(&three(105).build()[..83]),
        ParseError::corrupt(36, "the file ends before the folder records")
    );
}

#[test]
fn the_xmem_flag_is_ignored_for_stored_files() {
    let bytes = three(104).flags(NAMES | XMEM).build();
    assert!(parse(&bytes).extents().all(|extent| extent.codec == bsafs::format::Codec::Stored));
}

#[test]
fn shared_embedded_names_need_no_more_memory_than_the_archive_size() {
    let name = "x".repeat(200);
    let add = |archive: Tes4, nth: u32| match nth {
        0 => archive.add("f", Tes4File::new(&name, b"data")),
        _ => archive.add("f", Tes4File::new(&name, b"").shares(0)),
    };
    let bytes = (0..1000).fold(Tes4::new(104).unsorted().flags(EMBEDDED), add).build();
    let archive = parse(&bytes);
    let named = archive.entries().filter(|entry| entry.name.is_whole()).count();
    // Each name also takes a length byte, the folder and a separator.
    assert_eq!((archive.entries().len(), named), (1000, bytes.len() / 203));
}
