//! The archives of Arena and Daggerfall: recognised by the sum of their lengths, parsed, and read.

use std::fs;

use bsafs::archive_file::ArchiveFile;
use bsafs::content::codec::{Quirk, decode, unpacked_size};
use bsafs::content::{LayerTables, Store};
use bsafs::format::encoding::Encoding;
use bsafs::format::{Codec, EntryId, FORMATS, Limits, Name, parse};
use bsafs::tree::{Kind as NodeKind, LayerNames, NodeId, Tree, merge};

use crate::support::legacy::{Kind, Legacy};
use crate::support::{content, pack, samples};

/// The format that recognises these bytes.
fn format_of(bytes: &[u8]) -> Option<&'static str> {
    FORMATS.iter().find(|format| (format.recognises)(bytes.into())).map(|format| format.name)
}

fn arena() -> Legacy {
    Legacy::new(Kind::Arena)
        .file("TAMRIEL.MNU", content::text(1, 700))
        .file("ARENARW.TXT", content::noise(2, 3_001))
        .file("EMPTY.INF", "")
        .file("12345678.CIF", content::texels(3, 64))
}

fn names() -> Legacy {
    Legacy::new(Kind::Names).file("MAPPITEM.000", content::text(4, 90)).file("S0000999.RMB", "block")
}

fn numbers() -> Legacy {
    Legacy::new(Kind::Numbers).number(7, "seven").number(99_800, "a model").number(u32::MAX, "most")
}

/// Each entry's stored name as text, its offset and its length.
fn listed(bytes: &[u8]) -> Vec<(String, u64, u32)> {
    let archive = parse(bytes, &Limits::default()).unwrap();
    let names = archive.entries().map(|entry| match entry.name {
        Name::Path(name) => String::from_utf8(name.to_vec()).unwrap(),
        Name::Number(number) => format!("#{number}"),
        other => panic!("{other:?}"),
    });
    names.zip(archive.extents()).map(|(name, extent)| (name, extent.offset, extent.size.unwrap())).collect()
}

/// A tree and a store of one archive, and the folder that holds it.
fn opened(bytes: &[u8]) -> (tempfile::TempDir, Tree, Store) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("legacy.bsa");
    fs::write(&path, bytes).unwrap();
    let archive = parse(bytes, &Limits::default()).unwrap();
    let tree = merge(
        vec![LayerNames::new(&archive, Encoding::default(), None).unwrap()],
        bsafs::tree::Rule::LastWins,
    )
    .unwrap();
    let mut store = Store::new(1 << 20, Limits::default());
    store.add(ArchiveFile::open(&path).unwrap(), LayerTables::new(&archive));
    (folder, tree, store)
}

/// Every file's path with its bytes or its error.
fn read(bytes: &[u8]) -> Vec<(String, Result<Vec<u8>, String>)> {
    let (_folder, tree, store) = opened(bytes);
    tree.children(NodeId::ROOT)
        .map(|node| {
            let NodeKind::File(entry) = tree.kind(node) else { panic!("the archive has a folder") };
            let name = String::from_utf8(tree.path(node)).unwrap();
            let read = store.file(entry).read_at(0, u32::MAX).map(|bytes| bytes.to_vec());
            (name, read.map_err(|error| error.to_string()))
        })
        .collect()
}

#[test]
fn each_kind_of_archive_is_recognised_and_lists_its_files() {
    assert_eq!(format_of(&arena().build()), Some("Arena"));
    assert_eq!(format_of(&names().build()), Some("Daggerfall"));
    assert_eq!(format_of(&numbers().build()), Some("Daggerfall"));
    let file = |name: &str, offset, size| (name.to_owned(), offset, size);
    assert_eq!(
        listed(&arena().build()),
        [
            file("TAMRIEL.MNU", 2, 700),
            file("ARENARW.TXT", 702, 3_001),
            file("EMPTY.INF", 3_703, 0),
            file("12345678.CIF", 3_703, 64),
        ]
    );
    assert_eq!(listed(&names().build()), [file("MAPPITEM.000", 4, 90), file("S0000999.RMB", 94, 5)]);
    assert_eq!(
        listed(&numbers().build()),
        [file("#7", 4, 5), file("#99800", 9, 7), file("#4294967295", 16, 4)]
    );
}

#[test]
fn info_about_an_archive_has_format_kind_and_games() {
    let about = |bytes: &[u8]| parse(bytes, &Limits::default()).unwrap().about;
    let (arena, numbers) = (about(&arena().build()), about(&numbers().build()));
    assert_eq!((arena.format, arena.kind, arena.games), ("Arena", "", "The Elder Scrolls: Arena"));
    assert_eq!(
        (numbers.format, numbers.kind, numbers.games),
        ("Daggerfall", "numbers", "The Elder Scrolls II: Daggerfall")
    );
    assert_eq!(about(&names().build()).kind, "names");
}

#[test]
fn an_archive_with_a_byte_more_or_less_is_not_recognised() {
    let wrong = [
        ("a byte after it", arena().tail([0]).build()),
        ("a byte after names", names().tail([0]).build()),
        ("a byte after numbers", numbers().tail([0]).build()),
        ("a size that is 1 too large", Legacy::new(Kind::Arena).file("A", "data").size(5).build()),
        ("a size that is 1 too small", Legacy::new(Kind::Names).file("A", "data").size(3).build()),
        ("sizes that overflow 32 bits", Legacy::new(Kind::Numbers).number(1, "x").size(u32::MAX).build()),
        ("a count that is too large", arena().file_count(5).build()),
        ("a count past the end", numbers().file_count(u16::MAX).build()),
        ("another kind of directory", names().directory_kind(0x0300).build()),
        ("numbers of the kind of names", numbers().directory_kind(0x0100).build()),
        ("nothing", Vec::new()),
        ("one byte", vec![1]),
        ("a count alone", vec![0, 0]),
        ("a count and a kind alone", vec![0, 0, 0, 1]),
        ("zeros that would be an empty file", [&[1, 0][..], &[0; 18]].concat()),
        ("zeros", vec![0; 1 << 20]),
    ];
    for (what, bytes) in wrong {
        assert_eq!(format_of(&bytes), None, "{what}");
    }
    let whole = arena().build();
    for len in 0..whole.len() {
        assert_eq!(format_of(&whole[..len]), None, "cut to {len} bytes");
    }
}

#[test]
fn no_other_sample_is_taken_for_a_legacy_archive() {
    for sample in samples() {
        let name = format_of(&sample.bytes).unwrap();
        let is_legacy = ["Arena", "Daggerfall"].contains(&name);
        let is_expected = sample.name.starts_with(&name.to_lowercase());
        assert_eq!(is_legacy, is_legacy && is_expected, "{} is recognised as {name}", sample.name);
    }
}

#[test]
fn an_arena_archive_that_begins_like_one_of_morrowind_is_recognised() {
    let mut archive = Legacy::new(Kind::Arena);
    for number in 0..256 {
        archive = archive.file(format!("F{number:03}"), if number == 0 { "\0\0 data" } else { "." });
    }
    let bytes = archive.build();
    assert_eq!(bytes[..4], [0, 1, 0, 0], "the sample must begin with the magic number of Morrowind");
    assert_eq!(format_of(&bytes), Some("Arena"));
    assert_eq!(listed(&bytes).len(), 256);
}

#[test]
fn files_with_the_same_name_get_numbers_in_stored_order() {
    let bytes = Legacy::new(Kind::Arena).file("A.INF", "first").file("B.INF", "b").file("a.inf", "second");
    let whole = |text: &str| Ok(text.as_bytes().to_vec());
    assert_eq!(
        read(&bytes.build()),
        [
            ("a (2).inf".to_owned(), whole("second")),
            ("A.INF".to_owned(), whole("first")),
            ("B.INF".to_owned(), whole("b"))
        ]
    );
    let bytes = Legacy::new(Kind::Numbers).number(5, "first").number(5, "second").build();
    assert_eq!(read(&bytes), [("5".to_owned(), whole("first")), ("5 (2)".to_owned(), whole("second"))]);
}

#[test]
fn a_numbered_file_is_found_by_its_decimal_digits() {
    let (_folder, tree, _store) = opened(&numbers().build());
    let node = tree.resolve(b"99800").unwrap();
    assert_eq!(tree.stored_name(node), b"99800");
    assert_eq!(tree.hash_text(node), "", "these archives must have no hashes");
}

#[test]
fn a_packed_file_is_listed_and_its_error_says_why_it_is_unreadable() {
    let bytes = arena().file("PACKED.IMG", "who knows").flag(1).file("AFTER.IMG", "plain").build();
    let archive = parse(&bytes, &Limits::default()).unwrap();
    assert_eq!(archive.extents().nth(4).unwrap().codec, Codec::Unsupported);
    assert_eq!(archive.notes[0].text, "files that are packed by an unknown method and cannot be read: 1");
    let files = read(&bytes);
    let of = |name: &str| &files.iter().find(|(listed, _)| listed == name).unwrap().1;
    let error = of("PACKED.IMG").as_ref().unwrap_err();
    assert!(error.starts_with("its compression method is not known (data at offset 3767"), "{error}");
    assert_eq!(of("AFTER.IMG"), &Ok(b"plain".to_vec()), "the next file is not readable");
    assert!(of("EMPTY.INF").as_ref().unwrap().is_empty());

    let (_folder, _tree, store) = opened(&bytes);
    let packed = EntryId { layer: 0, entry: 4 };
    assert_eq!(store.file(packed).size_or_estimate(), 9, "the size must be that of the stored data");
    assert!(store.file(packed).check().is_err());
}

#[test]
fn an_empty_name_does_not_match_every_path() {
    let (_folder, tree, _store) = opened(&Legacy::new(Kind::Arena).file("", "x").file("", "y").build());
    assert!(tree.resolve(b"any/path.dds").is_none());
    assert!(tree.resolve(b"nameless").is_some());
    assert!(tree.resolve(b"nameless (2)").is_some());
    assert!(!tree.has_unnamed());
}

#[test]
fn more_files_than_the_limit_are_refused() {
    let limits = Limits { entries: 3, ..Limits::default() };
    let error = parse(&arena().build(), &limits).unwrap_err();
    assert_eq!(error.to_string(), "archive too large: 4 files; the limit is 3 (at offset 0)");
}

/// Battlespire's archives are those of Daggerfall with packed files.
fn battlespire() -> (Legacy, Vec<(&'static str, Vec<u8>)>) {
    let copies = [vec![b' '; 30], b"abcabcabcabc".to_vec(), vec![0; 40], b"end".to_vec()].concat();
    let contents = vec![
        ("ARMOR.3D", [b"abc".repeat(6), vec![b' '; 30], b"end".to_vec()].concat()),
        ("COPIES.3D", copies),
        ("FAR.TXT", content::text(9, 9_000)),
        ("NOISE.BIN", content::noise(10, 3_000)),
        ("EMPTY.3D", Vec::new()),
    ];
    let packed = contents.iter().fold(Legacy::new(Kind::Names), |archive, (name, bytes)| {
        archive.file(name, pack::lzss(bytes)).flag(0x0100)
    });
    (packed.file("PLAIN.TXT", "plain"), contents)
}

#[test]
fn packed_files_of_battlespire_are_decoded_and_their_sizes_learnt() {
    let (archive, contents) = battlespire();
    let bytes = archive.build();
    let parsed = parse(&bytes, &Limits::default()).unwrap();
    assert_eq!(parsed.about.games, "An Elder Scrolls Legend: Battlespire");
    assert_eq!(parsed.notes, []);
    let (_folder, _tree, store) = opened(&bytes);
    assert!(!store.states_sizes());
    let entries = || (0..).map(|entry| EntryId { layer: 0, entry });
    let sizes = || entries().zip(&contents).map(|(id, _)| store.file(id).size_if_known()).collect::<Vec<_>>();
    assert!(sizes().iter().all(Option::is_none), "{:?}", sizes());
    store.learn_sizes(entries().take(contents.len() + 1)).unwrap();
    for (id, (name, bytes)) in entries().zip(&contents) {
        assert_eq!(store.file(id).size_if_known(), Some(bytes.len() as u64), "{name}");
        assert_eq!(store.file(id).read_at(0, u32::MAX).unwrap().to_vec(), *bytes, "{name}");
        let middle = store.file(id).read_at(bytes.len() as u64 / 2, 7).unwrap().to_vec();
        assert_eq!(middle, bytes.iter().copied().skip(bytes.len() / 2).take(7).collect::<Vec<_>>(), "{name}");
        assert!(store.file(id).check().unwrap().is_empty(), "{name}");
    }
}

#[test]
fn the_stream_of_another_encoder_of_battlespires_lzss_is_decoded() {
    // Three literals, copies of 15 bytes that overlap themselves, of 18 and of 12 spaces, and three literals.
    let stream = [0xC7, b'a', b'b', b'c', 0xEE, 0xFC, 0x00, 0x0F, 0x00, 0x09, b'e', b'n', 0x01, b'd'];
    let expected = [b"abc".repeat(6), vec![b' '; 30], b"end".to_vec()].concat();
    for (more, quirk) in [(&b""[..], None), (b"\x05", Some(Quirk::Trailing))] {
        let mut stream = stream.to_vec();
        // Half a copy at the end.
        stream.extend(more.iter().copied());
        assert_eq!(unpacked_size(Codec::Lzss, &stream), Some(51));
        let mut out = [0; 51];
        assert_eq!(decode(Codec::Lzss, &stream, &mut out), Ok(quirk));
        assert_eq!(out[..], expected);
    }
    assert!(decode(Codec::Lzss, &stream, &mut [0; 52]).is_err());
    assert!(decode(Codec::Lzss, &stream, &mut [0; 50]).is_err());
}

#[test]
fn the_game_is_named_after_what_only_it_has() {
    let games = |archive: Legacy| parse(&archive.build(), &Limits::default()).unwrap().about.games;
    let sound = [b"RIFF\x24\0\0\0WAVEfmt ".to_vec(), vec![0; 20]].concat();
    assert_eq!(games(Legacy::new(Kind::Numbers).number(1, sound)), "An Elder Scrolls Legend: Battlespire");
    assert_eq!(games(numbers()), "The Elder Scrolls II: Daggerfall");
    let either = "The Elder Scrolls II: Daggerfall, An Elder Scrolls Legend: Battlespire";
    assert_eq!(games(names()), either);
    // Only the value that was seen in the game stands for LZSS.
    let bytes = names().flag(1).build();
    let parsed = parse(&bytes, &Limits::default()).unwrap();
    assert_eq!(parsed.extents().last().unwrap().codec, Codec::Unsupported);
    assert_eq!(parsed.about.games, either);
}
