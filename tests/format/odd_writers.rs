//! Archives of packers that misstate lengths, counts and offsets: what is there is read, and hashes choose
//! among the readings of names (FORMATS.md 1.3, 1.5, 2.3, 3.2, 3.6).

use bsafs::format::hash::Hash;
use bsafs::format::{Archive, Options, ParseErrorKind, parse_with};

use super::{bytes_of, names, notes, parse, patched, refusal};
use crate::support::tes4::{EMBEDDED, FILE_NAMES, FOLDER_NAMES, PACKED, XBOX_360};
use crate::support::{
    Ba2, Ba2File, Chunk, NamesForm, Tes3, Tes3File, Tes4, Tes4File, Tes4Folder, Texture, hash,
};

const NAMES: u32 = FOLDER_NAMES | FILE_NAMES;

/// Names in Latin, Cyrillic and Japanese letters, in Windows-1252, Windows-1251, Shift_JIS and UTF-8.
const ALPHABETS: [&[u8]; 4] =
    [b"na\xEFve.dds", b"\xEA\xEE\xEF\xE8\xFF.dds", b"\x83\x65\x83\x58\x83\x67.dds", "копия.dds".as_bytes()];

/// The stored bytes of all file names.
fn raw_names(archive: &Archive<'_>) -> Vec<Vec<u8>> {
    let file = |entry: bsafs::format::Entry<'_>| entry.name.parts().map(|(_, file)| file.to_vec());
    archive.entries().map(|entry| file(entry).unwrap_or_default()).collect()
}

fn forced(bytes: &[u8]) -> Archive<'_> {
    parse_with(bytes, &Options { force: true, ..Options::default() }).unwrap()
}

/// All texts of notes.
fn texts(archive: &Archive<'_>) -> String {
    notes(archive).iter().map(|(_, text)| format!("{text}\n")).collect()
}

#[test]
fn a_name_block_without_its_last_nul_ends_before_the_data() {
    for version in [103, 104, 105] {
        for flags in [NAMES, NAMES | PACKED, NAMES | XBOX_360] {
            for last in ALPHABETS {
                // The data begins with letters, or with the NUL that the names lack.
                for data in [&b"Gamebryo File Format\n\0more"[..], b"\0\0", b""] {
                    let archive = Tes4::new(version)
                        .unsorted()
                        .flags(flags)
                        .file("x", "a.nif", data)
                        .file("x", last, b"beta\0data")
                        .names_cut(1);
                    let bytes = archive.build();
                    assert_eq!(
                        raw_names(&parse(&bytes)),
                        [b"a.nif".to_vec(), last.to_vec()],
                        "{version}: {flags:x}"
                    );
                    // The length may also count the NUL that is missing.
                    let bytes = archive.file_names_total(last.len() as u32 + 7).build();
                    assert_eq!(raw_names(&parse(&bytes))[1], last, "{version}: {flags:x}");
                }
            }
        }
    }
}

#[test]
fn a_name_without_its_end_is_kept_to_the_stated_length_if_no_hash_proves_it() {
    let file = |name: &str, data: &str| Tes4File::new(name, data).with_hash(7);
    let archive =
        Tes4::new(104).unsorted().add("x", file("a.nif", "one")).add("x", file("b.nif", "two")).names_cut(1);
    let bytes = archive.build();
    let archive = parse(&bytes);
    assert_eq!(names(&archive), ["x|a.nif", "x|b.nif"]);
    assert!(texts(&archive).contains("a name lacks its end"), "{}", texts(&archive));
}

#[test]
fn bytes_of_data_never_become_a_name() {
    // The names end early, and the data of the first file looks like names.
    for version in [103, 104, 105] {
        let bytes = Tes4::new(version)
            .unsorted()
            .file("x", "a.nif", b"stolen.nif\0too.nif\0")
            .file("x", "b.nif", b"two")
            .file("x", "c.nif", b"three")
            .names_cut(2 * 6)
            .build();
        let archive = parse(&bytes);
        assert_eq!(names(&archive), ["x|a.nif", "x|?", "x|?"], "{version}");
        assert!(texts(&archive).contains("supplies their paths: 2"), "{}", texts(&archive));
    }
    // The offset of the names leads to data that reads as names.
    let data = b"\x06\0stolen\x03\0too";
    let bytes =
        Ba2::general(1).file("a\\b.txt", data).file("c\\d.bgsm", b"x").nameless().names_at(24 + 72).build();
    let archive = parse(&bytes);
    assert_eq!(names(&archive), ["?.txt", "?.bgsm"]);
    assert!(texts(&archive).contains("supplies their paths: 2"), "{}", texts(&archive));
}

#[test]
fn names_run_together_are_separated_by_their_hashes() {
    for version in [103, 105] {
        let bytes = Tes4::new(version)
            .unsorted()
            .add("x", Tes4File::new("a.nif", "1").stored_name("a.nif"))
            .file("x", "b.nif", "2")
            .file("x", "c.nif", "3")
            .build();
        let archive = parse(&bytes);
        assert_eq!(names(&archive), ["x|a.nif", "x|b.nif", "x|c.nif"], "{version}");
        assert!(texts(&archive).contains("found by hash"), "{}", texts(&archive));
    }
}

#[test]
fn a_missing_or_superfluous_name_does_not_shift_the_others() {
    let names_of = |middle: &[u8]| {
        let bytes = Tes4::new(104)
            .unsorted()
            .file("x", "a.nif", "1")
            .add("x", Tes4File::new("b.nif", "2").stored_name(middle))
            .file("x", "c.nif", "3")
            .build();
        names(&parse(&bytes))
    };
    assert_eq!(names_of(b""), ["x|a.nif", "x|?", "x|c.nif"]);
    assert_eq!(names_of(b"\0"), ["x|a.nif", "x|?", "x|c.nif"], "a blank name");
    assert_eq!(names_of(b"old.nif\0b.nif\0"), ["x|a.nif", "x|b.nif", "x|c.nif"]);
    assert_eq!(names_of(b"\0b.nif\0"), ["x|a.nif", "x|b.nif", "x|c.nif"]);
    assert_eq!(names_of(b"other.nif\0"), ["x|a.nif", "x|other.nif", "x|c.nif"], "a name that nothing proves");
}

#[test]
fn a_tes3_name_is_chosen_by_its_hash() {
    for last in ALPHABETS {
        let bytes = Tes3::new().unsorted().file("a.nif", b"1").file(last, b"2").names_cut(1).build();
        assert_eq!(raw_names(&parse(&bytes)), [b"a.nif".to_vec(), last.to_vec()]);
    }
    // The offsets are those of other names, but the names are in the order of the records.
    let file = |name: &str, offset| Tes3File::new(name, b"x").name_offset(offset);
    let bytes = Tes3::new().unsorted().add(file("one", 4)).add(file("two", 4)).add(file("six", 0)).build();
    assert_eq!(names(&parse(&bytes)), ["one", "two", "six"]);
    assert!(texts(&parse(&bytes)).contains("name offset 4 is not that of the file's name"));
    // A blank name, and a name that nothing proves.
    let odd = Tes3File::new("four", b"x").with_hash(1, 2);
    let bytes = Tes3::new().unsorted().add(Tes3File::new("", b"x").with_hash(5, 6)).add(odd).build();
    assert_eq!(names(&parse(&bytes)), ["?.", "four"]);
}

#[test]
fn nuls_that_a_ba2_name_counts_are_left_off_if_the_hash_shows_it() {
    for version in [1, 2, 3, 7, 8] {
        for name in ALPHABETS {
            let path = [b"p\\", name].concat();
            for padding in [&b"\0"[..], b"\0\0\0", b"\0garbage", b"\0a\0"] {
                let file = Ba2File::general(&path).stored_name([&path[..], padding].concat());
                let texture = Ba2File::texture(&path, Texture::new(71, 4, 4, 1));
                let texture = texture.stored_name([&path[..], padding].concat());
                let general = Ba2::general(version).add(file.chunk(Chunk::stored("x")));
                let textures = Ba2::textures(version).add(texture.chunk(Chunk::stored([0; 8])));
                for archive in [general, textures] {
                    let bytes = archive.build();
                    assert_eq!(raw_names(&parse(&bytes)), [&path[..]], "{version}: {padding:?}");
                }
            }
        }
    }
    // The hash is that of the name with the NUL.
    let bytes = Ba2::general(1).file("p\\NUL\0x.txt", "x").build();
    assert_eq!(raw_names(&parse(&bytes)), [b"p\\NUL\0x.txt"]);
}

#[test]
fn blank_and_missing_ba2_names_are_listed_by_hash_with_their_extension() {
    let blank = |name: &str| Ba2File::general(name).stored_name("").chunk(Chunk::stored("x"));
    let bytes =
        Ba2::general(1).file("a\\one.nif", "1").add(blank("a\\two.dlstrings")).file("b.txt", "3").build();
    let archive = parse(&bytes);
    assert_eq!(names(&archive), ["a\\one.nif", "?.dlst", "b.txt"]);
    assert!(texts(&archive).contains("supplies their paths: 1"), "{}", texts(&archive));
}

#[test]
fn names_of_other_forms_are_read_if_their_hashes_prove_them() {
    for form in [NamesForm::Lengths, NamesForm::LengthsAndNuls, NamesForm::Nuls] {
        for version in [1, 3, 8] {
            let archive = Ba2::general(version)
                .names_form(form)
                .file("meshes\\a.nif", "1")
                .file("textures/naïve.dds", "2")
                .file("c.txt", "3");
            let bytes = archive.build();
            let archive = parse(&bytes);
            assert_eq!(names(&archive), ["meshes\\a.nif", "textures/naïve.dds", "c.txt"], "{form:?}");
            assert_eq!(notes(&archive).is_empty(), form == NamesForm::Lengths, "{}", texts(&archive));
        }
    }
}

#[test]
fn a_ba2_name_table_is_found_after_the_data() {
    let archive = Ba2::general(1).file("a\\one.nif", "first").file("b.txt", "second");
    for stated in [0, 1, 40, 99, 1 << 20, u64::MAX] {
        let bytes = archive.clone().names_at(stated).build();
        let archive = parse(&bytes);
        assert_eq!(names(&archive), ["a\\one.nif", "b.txt"], "{stated}");
        assert!(texts(&archive).contains("the names follow the data"), "{stated}: {}", texts(&archive));
    }
}

#[test]
fn a_record_that_misstates_its_chunks_is_read_as_it_is() {
    for version in [1, 2, 3, 7, 8] {
        // Both words 0, as two packers write them, and other wrong words.
        for (count, length) in [(0, 0), (0, 16), (1, 0), (1, 20), (1, 36), (255, 0xFFFF), (0, 24)] {
            let general = |name: &str, chunk: Chunk| {
                Ba2File::general(name).chunk(chunk).chunk_count(count).head_length(length)
            };
            let archive = Ba2::general(version)
                .add(general("meshes\\a.nif", Chunk::stored("nif one")))
                .add(general("b.txt", Chunk::zlib("second second second")));
            let bytes = archive.build();
            let archive = parse(&bytes);
            assert_eq!(names(&archive), ["meshes\\a.nif", "b.txt"], "{version}: {count}, {length}");
            let extents: Vec<_> = archive.extents().collect();
            assert_eq!(bytes_of(&bytes, &extents[0]), b"nif one");
            assert_eq!((extents.len(), extents[1].size), (2, Some(20)));
            assert!(texts(&archive).contains("records that misstate their chunks: 2"), "{}", texts(&archive));
        }
        for (count, length) in [(0, 0), (0, 24), (2, 0), (2, 16), (255, 0xFFFF)] {
            let file = |name: &str| {
                Ba2File::texture(name, Texture::new(71, 8, 8, 2))
                    .chunk(Chunk::stored([1; 32]))
                    .chunk(Chunk::zlib([2; 8]))
                    .chunk_count(count)
                    .head_length(length)
            };
            let bytes = Ba2::textures(version).add(file("a.dds")).add(file("b.dds")).build();
            let archive = parse(&bytes);
            assert_eq!(names(&archive), ["a.dds", "b.dds"], "{version}: {count}, {length}");
            let counts: Vec<u8> = archive.entries().map(|entry| entry.extents).collect();
            assert_eq!((counts, archive.extents().count()), (vec![2, 2], 4), "{version}: {count}, {length}");
        }
    }
}

#[test]
fn one_chunk_a_record_is_assumed_if_the_records_fit_before_the_names() {
    let file = |name: &str| {
        let chunk = Chunk::stored("data").sentinel(0x1234_5678);
        Ba2File::general(name).chunk(chunk).chunk_count(0).head_length(0)
    };
    let archive = Ba2::general(1).add(file("a.txt")).add(file("b.txt"));
    let bytes = archive.build();
    assert_eq!(names(&parse(&bytes)), ["a.txt", "b.txt"]);
    // More records than there is room for are refused, and `force` reads those that are there.
    let bytes = patched(&bytes, 12, [3]);
    let error = refusal(&bytes);
    assert!(matches!(error.kind, ParseErrorKind::Unsupported(_)), "{error}");
    assert_eq!(names(&forced(&bytes))[..2], ["a.txt", "b.txt"]);
}

#[test]
fn force_reads_records_of_an_unknown_length_and_of_another_kind() {
    // An unknown version with a record word of 0: only the marks of the chunks show the layout.
    for version in [1_u32, 2, 3] {
        let file = Ba2File::general("a\\b.txt").chunk(Chunk::stored("x")).chunk_count(0).head_length(0);
        let bytes = Ba2::general(version).add(file).build();
        let bytes = patched(&bytes, 4, 99_u32.to_le_bytes());
        assert_eq!(names(&forced(&bytes)), ["a\\b.txt"], "{version}");
    }
    // Records of textures under the name of general files.
    let file = Ba2File::texture("c.dds", Texture::new(71, 4, 4, 1)).chunk(Chunk::stored([1; 8]));
    let bytes = patched(&Ba2::textures(1).add(file).build(), 8, b"GNMF");
    assert!(matches!(refusal(&bytes).kind, ParseErrorKind::Unsupported(_)), "{}", refusal(&bytes));
    let archive = forced(&bytes);
    assert_eq!((names(&archive), archive.about.kind), (vec!["c.dds".into()], "DX10"));
    assert_eq!(bytes_of(&bytes, &archive.extents().next().unwrap()), [1; 8]);
}

/// An archive of four files in three folders.
fn permuted(version: u32) -> Tes4 {
    Tes4::new(version)
        .file("aaa", "one.txt", b"1")
        .file("bbb", "two.txt", b"22")
        .file("bbb", "three.txt", b"333")
        .file("ccc", "four.txt", b"4444")
}

fn contents(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let archive = parse(bytes);
    let data = archive.extents().map(|extent| bytes_of(bytes, &extent).to_vec());
    let mut all: Vec<_> = names(&archive).into_iter().zip(data).collect();
    all.sort();
    all
}

#[test]
fn folder_blocks_are_found_by_their_offsets() {
    let expected =
        [("aaa|one.txt", "1"), ("bbb|three.txt", "333"), ("bbb|two.txt", "22"), ("ccc|four.txt", "4444")];
    let expected = expected.map(|(name, data)| (name.to_owned(), data.as_bytes().to_vec()));
    for version in [103, 104, 105] {
        for flags in [NAMES, NAMES | XBOX_360] {
            let bytes = permuted(version).flags(flags).reversed_blocks().build();
            assert_ne!(bytes, permuted(version).flags(flags).build());
            assert_eq!(contents(&bytes), expected, "{version}: {flags:x}");
            assert!(texts(&parse(&bytes)).contains("found by offset"), "{}", texts(&parse(&bytes)));
        }
    }
    // Offsets without the length of the names, and an archive whose name block is missing.
    let bytes = permuted(104).flags(FOLDER_NAMES | EMBEDDED).reversed_blocks().build();
    assert_eq!(names(&parse(&bytes)).len(), 4);
}

#[test]
fn a_wrong_offset_or_hash_of_a_folder_leaves_the_order_of_blocks() {
    for offset in [0, 36, 1 << 20] {
        let bytes = Tes4::new(104)
            .unsorted()
            .folder(Tes4Folder::new("one").with_hash(7).offset(offset))
            .folder(Tes4Folder::new("two").offset(offset))
            .file("one", "a.txt", "1")
            .file("two", "b.txt", "2")
            .build();
        assert_eq!(names(&parse(&bytes)), ["one|a.txt", "two|b.txt"], "{offset}");
    }
}

#[test]
fn folders_that_share_a_block_cannot_multiply_files() {
    // All offsets lead to the block of the first folder.
    let block = 36 + 40 * 16 + 20 * 6;
    let folders = (0..40).fold(Tes4::new(104).unsorted(), |archive, n| match n {
        0 => (0..20).fold(archive, |archive, n| archive.file("f", format!("{n:03}.t"), "x")),
        _ => archive
            .folder(Tes4Folder::new("g").with_hash(hash::tes4_folder(b"f")).count(20).offset(block as u64)),
    });
    assert!(refusal(&folders.build()).to_string().contains("several folders have the same file records"));
}

#[test]
fn a_wrong_offset_of_the_folder_records_is_ignored() {
    for version in [103, 104, 105] {
        for stated in [0, 4, 35, 37, 9_999, u32::MAX] {
            let bytes = permuted(version).folders_at(stated).build();
            let archive = parse(&bytes);
            assert_eq!(archive.files.len(), 4, "{version}: {stated}");
            assert!(names(&archive).contains(&"ccc|four.txt".to_owned()), "{version}: {stated}");
            let note = format!("the folder records begin at 36, not at the stated offset {stated}");
            assert!(texts(&archive).contains(&note), "{}", texts(&archive));
        }
    }
}

#[test]
fn hashes_of_0_prove_nothing() {
    let file = |name: &str| Tes4File::new(name, "x").with_hash(0);
    let bytes = Tes4::new(105).unsorted().add("a", file(".x")).add("a", file("b.nif")).build();
    assert_eq!(names(&parse(&bytes)), ["a|.x", "a|b.nif"]);
    assert!(parse(&bytes).entries().all(|entry| entry.hash == Hash { file: 0, ..entry.hash }));
    // Nor do offsets of folders whose hashes are 0.
    let bytes = Tes4::new(105)
        .unsorted()
        .folder(Tes4Folder::new("a").with_hash(0).offset(150))
        .folder(Tes4Folder::new("b").with_hash(0))
        .file("a", "one.nif", "1")
        .file("b", "two.nif", "2")
        .build();
    for zeros in [0, 60, 100] {
        let bytes = patched(&bytes, 36 + 16, u64::to_le_bytes(zeros));
        assert_eq!(names(&parse(&bytes)), ["a|one.nif", "b|two.nif"], "{zeros}");
    }
}
