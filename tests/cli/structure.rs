//! What `verify` and `info` say of the structure of an archive, and of files without a checksum.

use serde_json::Value;

use crate::mounted::TestDir;
use crate::support::tes4::{FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Ba2, Ba2File, Chunk, Tes3, Tes4, Tes4File, Texture, hash, pack};

const NAMES: u32 = FOLDER_NAMES | FILE_NAMES;

/// The notes of `verify`, as code and number of files, without those about single files. `info` has the same.
fn notes(bytes: &[u8]) -> Vec<(String, u64)> {
    let dir = TestDir::new();
    dir.archive("a.bsa", bytes);
    let [verify, info] = ["verify", "info"].map(|command| {
        // A line about what is lost may follow.
        let out = dir.run([command, "--json", "a.bsa"]).out;
        let line: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
        let notes: Vec<Value> = line["notes"].as_array().unwrap().clone();
        notes.into_iter().filter(|note| note["subject"] == "a.bsa").collect::<Vec<_>>()
    });
    assert_eq!(verify, info);
    verify
        .iter()
        .map(|note| (note["code"].as_str().unwrap().into(), note["count"].as_u64().unwrap_or(1)))
        .collect()
}

/// The last line of `verify`, without the name of the archive.
fn verdict(bytes: &[u8]) -> String {
    let dir = TestDir::new();
    dir.archive("a.bsa", bytes);
    let out = dir.run(["verify", "a.bsa"]).out;
    out.lines().last().unwrap().strip_prefix("a.bsa: ").unwrap().into()
}

fn one(code: &str, number: u64) -> Vec<(String, u64)> {
    vec![(code.into(), number)]
}

#[test]
fn verify_and_info_say_which_files_the_game_does_not_find() {
    for version in [103, 104, 105] {
        let archive = || Tes4::new(version).flags(NAMES);
        let file = |name: &str| Tes4File::new(name, "x");
        let sorted = archive().add("a", file("b.nif")).add("a", file("c.nif")).add("d", file("e.nif"));
        assert_eq!(notes(&sorted.build()), []);
        let wrong = archive().add("a", file("b.nif").with_hash(7)).add("a", file("c.nif").with_hash(8));
        assert_eq!(notes(&wrong.build()), one("hash-wrong", 2), "{version}");
        let twice = archive().unsorted().add("a", file("b.nif")).add("a", file("b.nif"));
        assert_eq!(notes(&twice.build()), one("path-twice", 1), "{version}");
        let data = archive().add("Data\\meshes", file("b.nif"));
        assert_eq!(notes(&data.build()), one("data-folder", 1), "{version}");
        // The hashes of these names descend.
        let names = ["zeta.pex", "alpha.pex", "mid.pex", "beta.pex"];
        let unsorted = names.iter().fold(archive().unsorted(), |it, name| it.add("scripts", file(name)));
        let found = notes(&unsorted.build());
        assert!(matches!(&found[..], [(code, 1..)] if code == "hash-order"), "{version}: {found:?}");
        let sorted = names.iter().fold(archive(), |it, name| it.add("scripts", file(name)));
        assert_eq!(notes(&sorted.build()), []);
    }
    let data = Ba2::general(1).file("data/a.nif", "x").file("Data.txt", "x").file("database\\x", "x");
    assert_eq!(notes(&data.build()), one("data-folder", 1));
    let twice = Ba2::general(8).file("a.nif", "x").file("A.NIF", "x");
    assert_eq!(notes(&twice.build()), one("path-twice", 1));
    // Morrowind's hash confuses these.
    let tes3 = Tes3::new().file("meshes\\x\\item_000100.nif", b"x").file("meshes\\x\\item_010000.nif", b"x");
    assert_eq!(notes(&tes3.build()), one("hash-twice", 1));
}

#[test]
fn verify_and_info_say_that_an_archive_was_not_finished_or_has_no_files() {
    let unfinished = |name: &str| Tes4File::new(name, "x").record_size(0).record_offset(0);
    for version in [103, 104, 105] {
        let archive = Tes4::new(version).flags(NAMES);
        assert_eq!(notes(&archive.build()), one("archive-empty", 1), "{version}");
        let archive = archive.add("a", unfinished("b.nif")).add("a", unfinished("c.nif"));
        assert_eq!(notes(&archive.build()), one("archive-unfinished", 1), "{version}");
        let inside = Tes4::new(version).flags(NAMES).add("a", Tes4File::new("b.nif", "x").record_offset(40));
        assert_eq!(notes(&inside.build()), one("data-in-tables", 1), "{version}");
    }
    assert_eq!(notes(&Ba2::general(1).build()), one("archive-empty", 1));
    // An empty file in an archive that has others is nothing odd.
    let empty = Tes4::new(104).flags(NAMES).file("a", "empty.txt", "").file("a", "full.txt", "x");
    assert_eq!(notes(&empty.build()), []);
}

#[test]
fn a_file_whose_data_lies_in_the_tables_is_bad_for_every_command() {
    let dir = TestDir::new();
    let bsa = |version, flags| {
        let inside = Tes4File::new("b.nif", "x".repeat(30)).record_offset(40);
        let archive = Tes4::new(version).flags(NAMES | flags);
        archive.add("meshes", inside).file("meshes", "c.nif", "right").build()
    };
    let inside = |chunk: Chunk| Ba2File::general("meshes/b.nif").chunk(chunk.offset(4));
    let ba2 = |chunk| Ba2::general(1).add(inside(chunk)).file("meshes/c.nif", "right").build();
    for (version, archive) in [
        (103, bsa(103, 0)),
        (104, bsa(104, 0)),
        (105, bsa(105, 0)),
        (1, ba2(Chunk::stored("x".repeat(30)))),
        (1, ba2(Chunk::zlib("x".repeat(30)))),
    ] {
        dir.archive("a.bsa", &archive);
        for arguments in [
            &["verify", "a.bsa"][..],
            &["verify", "-q", "a.bsa"],
            &["cat", "a.bsa", "meshes/b.nif"],
            &["extract", "a.bsa", "-C", "out", "--overwrite"],
            &["list", "--hash", "a.bsa"],
            &["pack", "a.bsa", "--game", "skyrim", "--name", "P", "-o", "packed"],
        ] {
            let finished = dir.run(arguments);
            assert_ne!(finished.code, 0, "{version}, {arguments:?}: {finished:?}");
            let said = format!("{}{}", finished.out, finished.err);
            assert!(said.contains("b.nif") && said.contains("inside the tables"), "{arguments:?}: {said}");
        }
        assert_eq!(dir.run(["cat", "a.bsa", "meshes/c.nif"]).success(), "right");
    }
}

#[test]
fn verify_and_info_name_sounds_and_texts_that_the_game_reads_only_if_they_are_stored() {
    for (version, name) in [(104, "a.wav"), (105, "a.fuz"), (105, "Mod_English.STRINGS")] {
        let archive = |flags| Tes4::new(version).flags(NAMES | flags).file("f", name, "x".repeat(100));
        assert_eq!(notes(&archive(PACKED).build()), one("sound-packed", 1), "{name}");
        assert_eq!(notes(&archive(0).build()), [], "{name}");
    }
    let file = Ba2File::general("sound/a.xwm").chunk(Chunk::zlib("x".repeat(100)));
    assert_eq!(notes(&Ba2::general(1).add(file).build()), one("sound-packed", 1));
}

#[test]
fn a_texture_without_texels_is_bad_and_one_without_small_mips_is_odd() {
    // BC1 of 8 x 8 texels has 32 bytes, and its mips 8 each.
    let texture = |bytes: usize| {
        let file = Ba2File::texture("a.dds", Texture::new(71, 8, 8, 4)).chunk(Chunk::stored(vec![7; bytes]));
        Ba2::textures(1).add(file).build()
    };
    assert_eq!(
        (notes(&texture(56)), &*verdict(&texture(56))),
        (vec![], "1 file, nothing wrong found; 1 has no checksum")
    );
    assert_eq!(notes(&texture(40)), one("mips-missing", 1));
    for cut in [8, 31, 33, 55] {
        assert_eq!(verdict(&texture(cut)), "1 file, 1 bad", "{cut}");
    }
    // A chunk that lacks a byte shifts all mips behind it.
    let chunks =
        [31, 24].into_iter().fold(Ba2File::texture("a.dds", Texture::new(71, 8, 8, 4)), |file, bytes| {
            file.chunk(Chunk::stored(vec![7; bytes]))
        });
    assert_eq!(verdict(&Ba2::textures(1).add(chunks).build()), "1 file, 1 bad");
    let dir = TestDir::new();
    dir.archive("a.ba2", &texture(8));
    let finished = dir.run(["verify", "a.ba2"]);
    assert!(finished.out.starts_with("bad: a.dds: it has 8 of 56 bytes of texels\n"), "{finished:?}");
    assert_eq!(finished.code, 1);
    let info = dir.run(["info", "a.ba2"]).success();
    let odd = "a texture lacks texels: it has 8 of 56 bytes of texels (a.dds)";
    assert!(info.contains(&format!("  odd            {odd}\n")), "{info}");
}

#[test]
fn the_last_line_of_verify_counts_what_no_checksum_covers() {
    let content = &b"content ".repeat(50)[..];
    let archive = |version, flags| Tes4::new(version).flags(NAMES | flags);
    let two = |archive: Tes4| archive.file("a", "b.txt", content).file("a", "c.txt", content).build();
    assert_eq!(verdict(&two(archive(104, PACKED))), "2 files, nothing wrong found");
    assert_eq!(verdict(&two(archive(104, 0))), "2 files, nothing wrong found; 2 have no checksum");
    let info = lz4_flex::frame::FrameInfo::new();
    let bare = pack::lz4_frame_like(content, info);
    let file = |name: &str| Tes4File::new(name, content).stream(&bare[..]);
    let frames = archive(105, PACKED).add("a", file("b.txt")).add("a", file("c.txt"));
    let said = "2 files, nothing wrong found; 2 have no checksum, 2 LZ4 frames among them";
    assert_eq!(verdict(&frames.build()), said);
    // A checksum of the content covers it.
    let checked = pack::lz4_frame_like(content, lz4_flex::frame::FrameInfo::new().content_checksum(true));
    let file = Tes4File::new("b.txt", content).stream(checked);
    assert_eq!(verdict(&archive(105, PACKED).add("a", file).build()), "1 file, nothing wrong found");
    // Neither raw deflate nor a stored file among packed ones has one.
    let raw = Tes4File::new("b.txt", content).stream(pack::deflate(content));
    let stored = Tes4File::new("c.txt", content).toggle();
    let archive = archive(103, PACKED).add("a", raw).add("a", stored).build();
    assert_eq!(verdict(&archive), "2 files, nothing wrong found; 2 have no checksum");
}

#[test]
fn info_tells_what_only_the_data_of_files_shows() {
    let dir = TestDir::new();
    let content = "text ".repeat(60);
    let zlib = |name: &str| Tes4File::new(name, content.as_str()).stream(pack::zlib(content.as_bytes()));
    let archive = Tes4::new(105).flags(NAMES | PACKED).add("c", zlib("a.txt")).add("c", zlib("b.txt"));
    dir.archive("other.bsa", &archive.file("c", "c.txt", content.as_str()).build());
    let info = dir.run(["info", "other.bsa"]).success();
    let odd = "2 files packed in another way than stated, among the 3 that `info` reads; `bsafs verify` \
               reads all (the first is c/a.txt)";
    assert!(info.contains(&format!("  odd            {odd}\n")), "{info}");
}

#[test]
fn a_name_without_its_end_does_not_reach_into_the_data_that_follows() {
    for version in [103, 104, 105] {
        for flags in [NAMES, NAMES | PACKED] {
            let archive = Tes4::new(version).flags(flags).file("x", "a.nif", "one").file("x", "c.nif", "two");
            assert_eq!(notes(&archive.build()), [], "{version}");
            assert_eq!(notes(&archive.names_cut(1).build()), one("tables-odd", 1), "{version}");
        }
    }
}

#[test]
fn verify_does_not_take_an_extension_in_upper_case_or_two_hashes_of_0_for_more_than_they_are() {
    for version in [1, 2, 7, 8] {
        for (name, extension) in [("meshes/a.nif", *b"NIF\0"), ("b.dds", *b"DDS\0"), ("c.strings", *b"Stri")]
        {
            let upper = hash::Fo4 { extension, ..hash::fo4(name.as_bytes()) };
            let file = || Ba2File::general(name).chunk(Chunk::stored("x"));
            assert_eq!(notes(&Ba2::general(version).add(file().with_hash(upper)).build()), [], "{name}");
            let other = Ba2::general(version).add(file().with_hash(hash::fo4(b"other.nif")));
            assert_eq!(notes(&other.build()), one("hash-wrong", 1), "{name}");
        }
    }
    for version in [103, 104, 105] {
        let file = |name: &str| Tes4File::new(name, "x").with_hash(0);
        let archive = Tes4::new(version).flags(NAMES).add("a", file("b.nif")).add("a", file("c.nif"));
        assert_eq!(notes(&archive.build()), one("hash-wrong", 2), "{version}");
    }
}
