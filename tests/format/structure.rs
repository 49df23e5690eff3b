//! What of an archive's tables keeps a game from finding or reading its files.

use bsafs::format::structure::{Fault, Finding, examine};

use super::{parse, patched};
use crate::support::tes4::{FILE_NAMES, FOLDER_NAMES, PACKED, XBOX_360};
use crate::support::{Ba2, Ba2File, Chunk, Tes3, Tes3File, Tes4, Tes4File, Tes4Folder, hash, samples};

const NAMES: u32 = FOLDER_NAMES | FILE_NAMES;

fn faults(bytes: &[u8]) -> Vec<(Fault, Vec<u32>)> {
    examine(&parse(bytes)).into_iter().map(|Finding { fault, entries }| (fault, entries)).collect()
}

#[test]
fn sound_archives_have_no_faults() {
    for sample in samples() {
        let found = faults(&sample.bytes);
        let is_expected =
            |(fault, _): &(Fault, Vec<u32>)| sample.name.contains("duplicate") && *fault == Fault::PathTwice;
        assert!(found.iter().all(is_expected), "{}: {found:?}", sample.name);
    }
    for version in [103, 104, 105] {
        for flags in [NAMES, NAMES | PACKED, NAMES | XBOX_360] {
            let files = (0..200).fold(Tes4::new(version).flags(flags), |it, n| {
                it.file(format!("folder{}", n % 7), format!("file{n}.dds"), format!("{n}"))
            });
            assert_eq!(faults(&files.build()), [], "{version}: {flags:x}");
            // Some archives of the Xbox 360 lack its flag.
            assert_eq!(faults(&files.header_flags(flags & !XBOX_360).build()), [], "{version}: {flags:x}");
        }
    }
    let files = (0..200).fold(Tes3::new(), |it, n| it.file(format!("meshes\\{n}x{}.nif", n * 7), "x"));
    assert_eq!(faults(&files.build()), []);
    // BA2 records are in no order, and the extension may be in upper case.
    let upper = hash::Fo4 { extension: *b"NIF\0", ..hash::fo4(b"b.nif") };
    let upper = Ba2File::general("b.nif").with_hash(upper).chunk(Chunk::stored("x"));
    assert_eq!(faults(&Ba2::general(1).file("z\\y.txt", "1").file("a\\b.txt", "2").add(upper).build()), []);
}

#[test]
fn unsorted_files_and_folders_are_not_found_by_a_search() {
    for version in [103, 104, 105] {
        let mut names: Vec<String> = (0..9).map(|n| format!("f{n}.txt")).collect();
        names.sort_by_key(|name| std::cmp::Reverse(hash::tes4_file(name.as_bytes())));
        let archive = names.iter().fold(Tes4::new(version).unsorted(), |it, name| it.file("a", name, "x"));
        let [(Fault::Unsorted, lost)] = &faults(&archive.build())[..] else { panic!("{version}") };
        // Only the middle of the reversed list is where the search begins.
        assert_eq!(lost.len(), 8, "{version}");
    }
    let mut folders = ["a", "b", "c"];
    folders.sort_by_key(|folder| std::cmp::Reverse(hash::tes4_folder(folder.as_bytes())));
    let archive = folders.iter().fold(Tes4::new(105).unsorted(), |it, folder| it.file(folder, "x.txt", "x"));
    assert_eq!(faults(&archive.build()), [(Fault::Unsorted, vec![0, 2])]);
    let mut names = ["one.nif", "two.nif", "three.nif"];
    names.sort_by_key(|name| std::cmp::Reverse(hash::tes3(name.as_bytes())));
    let archive = names.iter().fold(Tes3::new().unsorted(), |it, name| it.file(name, "x"));
    assert_eq!(faults(&archive.build()), [(Fault::Unsorted, vec![0, 2])]);
}

#[test]
fn wrong_hashes_are_found() {
    let of_0 = |name: &str| Tes4File::new(name, "x").with_hash(0);
    let bytes = Tes4::new(104).unsorted().add("a", of_0("one.nif")).file("a", "two.nif", "x").build();
    assert_eq!(faults(&bytes), [(Fault::WrongHash, vec![0])]);
    let upper = hash::tes4_folder(b"A") - 0x20;
    let bytes =
        Tes4::new(105).folder(Tes4Folder::new("a").with_hash(upper)).file("a", "one.nif", "x").build();
    assert_eq!(faults(&bytes), [(Fault::WrongHash, vec![0])]);
    let bytes = Tes3::new().add(Tes3File::new("a.nif", "x").with_hash(1, 2)).build();
    assert_eq!(faults(&bytes), [(Fault::WrongHash, vec![0])]);
    let file = Ba2File::general("a.nif").with_hash(hash::fo4(b"b.nif")).chunk(Chunk::stored("x"));
    assert_eq!(faults(&Ba2::general(1).add(file).build()), [(Fault::WrongHash, vec![0])]);
}

#[test]
fn paths_and_hashes_that_occur_twice_are_found() {
    let twice = |archive: Tes4| archive.file("x", "c.txt", "first").file("x", "c.txt", "second");
    assert_eq!(faults(&twice(Tes4::new(103)).build()), [(Fault::PathTwice, vec![1])]);
    let folders =
        Tes4::new(105).folder(Tes4Folder::new("x")).file("x", "c.txt", "1").folder(Tes4Folder::new("X"));
    assert_eq!(faults(&folders.file("X", "C.TXT", "2").build()), [(Fault::PathTwice, vec![1])]);
    let bytes = Ba2::general(1).file("a/b.txt", "1").file("A\\B.txt", "2").file("c.txt", "3").build();
    assert_eq!(faults(&bytes), [(Fault::PathTwice, vec![1])]);
    // Two paths with one hash, as they occur in Morrowind's archives.
    let (one, two) = ("meshes\\x\\item_000100.nif", "meshes\\x\\item_010000.nif");
    assert_eq!(hash::tes3(one.as_bytes()), hash::tes3(two.as_bytes()));
    let bytes = Tes3::new().file(one, "1").file(two, "2").build();
    assert_eq!(faults(&bytes), [(Fault::HashTwice, vec![1])]);
}

#[test]
fn a_leading_data_folder_is_found() {
    let bytes =
        Ba2::general(8).file("Data\\p\\z.txt", "1").file("data.txt", "2").file("x/data/y.txt", "3").build();
    assert_eq!(faults(&bytes), [(Fault::LeadingData, vec![0])]);
    let bytes = Tes4::new(105).file("DATA", "a.nif", "x").build();
    assert_eq!(faults(&bytes), [(Fault::LeadingData, vec![0])]);
    assert_eq!(faults(&Tes3::new().file("data\\a.nif", "x").build()), [(Fault::LeadingData, vec![0])]);
}

#[test]
fn data_in_the_tables_and_records_without_data_are_found() {
    let file = Tes4File::new("a.nif", "content").record_offset(40);
    let bytes = Tes4::new(104).add("x", file).file("y", "b.nif", "more").build();
    assert_eq!(faults(&bytes), [(Fault::DataInTables, vec![0])]);
    let chunk = Chunk::stored("content").offset(10);
    assert_eq!(
        faults(&Ba2::general(1).add(Ba2File::general("a").chunk(chunk)).build())[0].0,
        Fault::DataInTables
    );
    for version in [103, 104, 105] {
        let unfilled = |name: &str| Tes4File::new(name, "").record_size(0).record_offset(0);
        let bytes = Tes4::new(version).add("a", unfilled("one.nif")).add("b", unfilled("two.nif")).build();
        let note = &parse(&bytes).notes[0];
        assert_eq!(note.code, bsafs::NoteCode::ArchiveUnfinished, "{version}");
        let bytes = Tes4::new(version).add("a", unfilled("one.nif")).file("b", "two.nif", "x").build();
        assert_eq!(faults(&bytes), [], "an empty file in an archive that is finished");
    }
    let chunk = || Chunk::stored("").offset(0);
    let bytes = Ba2::general(1).add(Ba2File::general("a").chunk(chunk())).build();
    assert_eq!(parse(&bytes).notes[0].code, bsafs::NoteCode::ArchiveUnfinished);
    // Two files of a whole archive of which the data is cut off are not unfinished.
    let cut = Tes4::new(104).file("a", "b", "content").build();
    assert_eq!(parse(&patched(&cut, 4, [104])).notes, []);
}
