//! What the bytes prove outranks a flag, a length, a size and a version (FORMATS.md section 1.6).

use bsafs::content::Reason;
use bsafs::content::codec::Quirk;
use bsafs::format::Codec;

use super::Opened;
use crate::support::content::text;
use crate::support::tes4::{EMBEDDED, FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Ba2, Ba2File, Chunk, Tes4, Tes4File, pack};

const NAMES: u32 = FOLDER_NAMES | FILE_NAMES;

/// `content`, packed in every way that packers use whatever their version, and what `check` says of it.
fn streams(content: &[u8]) -> Vec<(&'static str, Vec<u8>, Quirk)> {
    vec![
        ("zlib", pack::zlib(content), Quirk::Other(Codec::Zlib)),
        ("lz4 frame", pack::lz4_frame(content), Quirk::Other(Codec::Lz4Frame)),
        ("lz4 block", pack::lz4_block(content), Quirk::Other(Codec::Lz4Block)),
        ("raw deflate", pack::deflate(content), Quirk::RawDeflate),
        ("stored", content.to_vec(), Quirk::Other(Codec::Stored)),
    ]
}

/// Checks that a file reads as `content`: whole, in its first bytes, and in its middle.
fn assert_reads(opened: &Opened, path: &str, content: &[u8], what: &str) {
    let id = opened.id(path);
    assert_eq!(opened.store.file(id).size_or_estimate(), content.len() as u64, "{what}");
    let (half, few) = (content.len() / 2, content.len().min(100));
    assert!(
        opened.read(path, 0, few as u32).expect(what) == content[..few],
        "{what}: the first bytes differ"
    );
    assert!(opened.read(path, half as u64, 7).expect(what) == content[half..][..7], "{what}: the middle");
    assert!(opened.whole(path).expect(what) == content, "{what}");
    let mut copied = Vec::new();
    opened.store.file(id).copy_to(&mut copied).expect(what);
    assert!(copied == content, "{what}");
}

#[test]
fn a_file_is_unpacked_by_what_its_bytes_are_whatever_the_version() {
    for content in [text(1, 300), text(2, 400_000), vec![0; 100_000]] {
        for (name, stream, quirk) in streams(&content) {
            for version in [103, 104, 105] {
                let file = Tes4File::new("a.txt", &content[..]).stream(&stream[..]);
                let opened = Opened::one(&Tes4::new(version).flags(NAMES | PACKED).add("f", file).build());
                let what = format!("{name} of {} bytes in version {version}", content.len());
                assert_reads(&opened, "f/a.txt", &content, &what);
                let is_own = name == if version == 105 { "lz4 frame" } else { "zlib" };
                let quirks = opened.store.file(opened.id("f/a.txt")).check().expect(&what);
                assert_eq!(quirks, if is_own { vec![] } else { vec![quirk] }, "{what}");
            }
            for (version, method) in [(1, 0), (2, 0), (3, 0), (3, 3), (3, 9), (7, 0), (8, 0)] {
                let chunk = Chunk::packed(stream.clone(), content.len());
                let file = Ba2File::general("f/a.txt").chunk(chunk);
                let opened = Opened::one(&Ba2::general(version).method(method).add(file).build());
                let what = format!("{name} of {} bytes in BA2 {version} {method}", content.len());
                assert_reads(&opened, "f/a.txt", &content, &what);
            }
        }
    }
}

#[test]
fn a_stream_that_is_whole_is_read_although_its_length_passes_the_end_of_the_archive() {
    let content = text(3, 5_000);
    for (version, stream) in
        [(103, pack::zlib(&content)), (104, pack::zlib(&content)), (105, pack::lz4_frame(&content))]
    {
        for more in [1, 4, 260, 1 << 24] {
            let file = Tes4File::new("a.txt", &content[..]).record_size(stream.len() as u32 + 4 + more);
            let opened = Opened::one(&Tes4::new(version).flags(NAMES | PACKED).add("f", file).build());
            let what = format!("{more} more bytes in version {version}");
            assert_reads(&opened, "f/a.txt", &content, &what);
            assert_eq!(
                opened.store.file(opened.id("f/a.txt")).check().expect(&what),
                [Quirk::PastEnd],
                "{what}"
            );
        }
    }
    for (version, stream) in [(1, pack::zlib(&content)), (7, pack::zlib(&content))] {
        let chunk = Chunk::raw(stream.clone(), stream.len() as u32 + 4, content.len() as u32);
        let archive = Ba2::general(version).nameless().add(Ba2File::general("a.txt").chunk(chunk)).build();
        let opened = Opened::one(&archive);
        let path = opened.files.keys().next().unwrap().clone();
        assert_reads(&opened, &path, &content, "BA2");
    }
}

#[test]
fn a_stream_that_the_end_of_the_archive_cuts_is_not_read() {
    let content = text(4, 5_000);
    for (version, stream) in [(104, pack::zlib(&content)), (105, pack::lz4_frame(&content))] {
        let file = Tes4File::new("a.txt", &content[..]);
        let archive = Tes4::new(version).flags(NAMES | PACKED).add("f", file).build();
        for cut in [20, stream.len() / 2, stream.len() - 1] {
            let opened = Opened::one(&archive[..archive.len() - cut]);
            assert_eq!(
                opened.store.file(opened.id("f/a.txt")).size_or_estimate(),
                5_000,
                "{cut}: its size is still there"
            );
            assert_eq!(opened.whole("f/a.txt").unwrap_err().reason, Reason::BeyondEnd, "{cut} of {version}");
        }
    }
}

#[test]
fn a_stream_that_a_length_without_the_embedded_name_cuts_is_read() {
    let content = text(5, 5_000);
    for (version, stream) in [(104, pack::zlib(&content)), (105, pack::lz4_frame(&content))] {
        for without in [4, 10, 14] {
            let (full, name) = (stream.len() as u32 + 4 + 10, "f\\b.txt12");
            assert_eq!(name.len() + 1, 10);
            let file = Tes4File::new("b.txt12", &content[..]).record_size(full - without);
            let next = Tes4File::new("c.txt", &b"what comes next"[..]);
            let archive = Tes4::new(version).flags(NAMES | PACKED | EMBEDDED).add("f", file).add("f", next);
            let opened = Opened::one(&archive.build());
            let what = format!("without {without} bytes in version {version}");
            assert_reads(&opened, "f/b.txt12", &content, &what);
            let quirks = opened.store.file(opened.id("f/b.txt12")).check().expect(&what);
            assert!(matches!(quirks[..], [Quirk::LeavesOutPrefix | Quirk::Unended]), "{what}: {quirks:?}");
            assert_reads(&opened, "f/c.txt", b"what comes next", &what);
        }
    }
}

#[test]
fn a_file_whose_size_includes_its_name_is_read_whole_and_noted() {
    // As `lz4.frame.compress` of Python, which sse-bsa calls, the frame states its size.
    let frame = |content: &[u8]| {
        pack::lz4_frame_like(content, pack::frame().content_size(Some(content.len() as u64)))
    };
    for len in [14, 39, 3_000, 300_000] {
        let content = text(6, len);
        let name = 1 + "interface\\translations\\a.txt".len() as u32;
        let file = |stated| Tes4File::new("a.txt", &content[..]).stream(frame(&content)).declared(stated);
        let archive = |stated| {
            Tes4::new(105).flags(NAMES | PACKED | EMBEDDED).add("interface\\translations", file(stated))
        };
        let opened = Opened::one(&archive(len as u32 + name).build());
        let path = "interface/translations/a.txt";
        let check = |opened: &Opened| opened.store.file(opened.id(path)).check();
        assert_eq!(opened.store.file(opened.id(path)).size_or_estimate(), len as u64);
        assert_reads(&opened, path, &content, "a size with the name");
        assert_eq!(check(&opened).unwrap(), [Quirk::SizeWithName]);
        assert_eq!(check(&Opened::one(&archive(len as u32).build())).unwrap(), []);
        // Nothing explains other sizes.
        assert!(check(&Opened::one(&archive(len as u32 + name + 1).build())).is_err(), "{len}");
        // The frame does not end where it states.
        let cut =
            Tes4File::new("a.txt", &content[..]).stream(&frame(&content)[..16]).declared(len as u32 + name);
        let cut = Tes4::new(105).flags(NAMES | PACKED | EMBEDDED).add("interface\\translations", cut).build();
        assert!(check(&Opened::one(&cut)).is_err(), "{len}");
    }
}

#[test]
fn bytes_that_are_no_path_are_content_although_the_archive_embeds_names() {
    let texture = [&b"DDS "[..], &(0..100).collect::<Vec<u8>>()].concat();
    let script = b"\n// comment that is no path".to_vec();
    for version in [104, 105] {
        for content in [&texture, &script] {
            let file = Tes4File::new("a.dds", &content[..]).block(&content[..]);
            let named = Tes4File::new("b.nif", &b"nif with a name"[..]);
            let archive = Tes4::new(version).flags(NAMES | EMBEDDED).add("f", file).add("f", named).build();
            let opened = Opened::one(&archive);
            assert_reads(&opened, "f/a.dds", content, "a file without a name");
            assert_reads(&opened, "f/b.nif", b"nif with a name", "a file with a name");
            assert_eq!(opened.store.file(opened.id("f/a.dds")).check().unwrap(), [Quirk::Unnamed]);
            assert_eq!(opened.store.file(opened.id("f/b.nif")).check().unwrap(), []);
        }
    }
}

#[test]
fn a_stored_file_that_begins_with_its_own_path_is_shown_without_it() {
    let content = &b"nif and no path"[..];
    let block = |path: &[u8]| [&[path.len() as u8], path, content].concat();
    for version in [104, 105] {
        for (folder, name, path) in [
            ("meshes", "b.nif", "meshes\\b.nif"),
            ("Textures\\A", "C.dds", "textures/a/c.dds"),
            ("strings", "\u{43a}.txt", "strings\\\u{43a}.txt"),
        ] {
            let file = Tes4File::new(name, content).block(block(path.as_bytes()));
            // This path is not its own, so it is content.
            let other = block(b"meshes\\other.nif");
            let next = Tes4File::new("zz.nif", &other[..]).block(&other[..]);
            let archive = Tes4::new(version).flags(NAMES).unsorted().add(folder, file).add("zz", next);
            let opened = Opened::one(&archive.build());
            let shown = opened.files.keys().find(|it| !it.starts_with("zz")).unwrap().clone();
            assert_reads(&opened, &shown, content, "a file with its path");
            assert_reads(&opened, "zz/zz.nif", &other, "a file with another path");
        }
    }
    // Version 103 has no embedded names.
    let whole = block(b"f\\a.nif");
    let file = Tes4File::new("a.nif", content).block(&whole[..]);
    let opened = Opened::one(&Tes4::new(103).flags(NAMES).add("f", file).build());
    assert_reads(&opened, "f/a.nif", &whole, "version 103");
}

#[test]
fn a_packed_file_is_read_whether_or_not_a_name_is_there() {
    let content = text(6, 3_000);
    for (version, stream) in [(104, pack::zlib(&content)), (105, pack::lz4_frame(&content))] {
        let size = 3_000_u32.to_le_bytes();
        for (flag, name, quirk) in
            [(EMBEDDED, &b""[..], Quirk::Unnamed), (0, b"\x0etextures\\a.dds", Quirk::Named)]
        {
            let block = [name, &size, &stream].concat();
            let file = Tes4File::new("a.dds", &content[..]).block(block);
            let archive = Tes4::new(version).flags(NAMES | PACKED | flag).add("textures", file).build();
            let opened = Opened::one(&archive);
            assert_reads(&opened, "textures/a.dds", &content, "packed");
            assert_eq!(opened.store.file(opened.id("textures/a.dds")).check().unwrap(), [quirk], "{version}");
        }
    }
}

#[test]
fn a_file_that_is_marked_as_packed_but_has_neither_size_nor_stream_is_read_as_stored() {
    for version in [103, 104, 105] {
        for content in
            [&b"text text text text text"[..], b"DDS | and what follows", b"{ \"json\": [1, 2, 3] }"]
        {
            let file = Tes4File::new("a.txt", content).no_size_word().stream(content);
            let opened = Opened::one(&Tes4::new(version).flags(NAMES | PACKED).add("f", file).build());
            assert_reads(&opened, "f/a.txt", content, "stored");
            let quirks = opened.store.file(opened.id("f/a.txt")).check().unwrap();
            assert!(quirks.contains(&Quirk::Unsized), "{quirks:?}");
        }
    }
}

#[test]
fn a_size_that_no_codec_can_make_is_never_shown() {
    let content = text(7, 5_000);
    let tes4 = |version, size| {
        let file = Tes4File::new("a.txt", &content[..]).declared(size);
        Tes4::new(version).flags(NAMES | PACKED).add("f", file).build()
    };
    let ba2 = |version, size| {
        let chunk = Chunk::packed(pack::zlib(&content), size as usize);
        Ba2::general(version).add(Ba2File::general("f/a.txt").chunk(chunk)).build()
    };
    for size in [1_900_000_000, u32::MAX] {
        for archive in [tes4(103, size), tes4(104, size), tes4(105, size), ba2(1, size), ba2(8, size)] {
            let opened = Opened::one(&archive);
            let id = opened.id("f/a.txt");
            let shown = opened.store.file(id).size_or_estimate();
            assert!(shown > 0 && shown < 6_000, "{shown}");
            assert!(opened.store.file(id).is_size_lost() && opened.store.file(id).size_if_known().is_none());
            assert_eq!(opened.whole("f/a.txt").unwrap_err().reason, Reason::UnpackedSize(size));
        }
    }
}
