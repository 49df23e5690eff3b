//! BA2, the archives of Fallout 4 to Starfield: FORMATS.md section 3.

use bsafs::NoteCode;
use bsafs::format::hash::Family;
use bsafs::format::{self, About, Archive, Codec, Extent, ExtentPrefix, Head, Limits, ParseError};
use bsafs::read::Bytes;
use bsafs::texture::dds;

use super::{Recorded, bytes_of, names, notes, parse, patched, refusal, refusal_within};
use crate::support::{Ba2, Ba2File, Chunk, Texture, dds as formats, hash, pack};

const VERSIONS: [u32; 5] = [1, 2, 3, 7, 8];

fn header_len(version: u32) -> usize {
    match version {
        2 => 32,
        3 => 36,
        _ => 24,
    }
}

/// An archive of a stored and a packed file.
fn general(version: u32) -> Ba2 {
    Ba2::general(version)
        .file("Meshes\\a/One.NIF", b"first")
        .add(Ba2File::general("strings/fallout4_en.dlstrings").chunk(Chunk::packed(b"zzz".to_vec(), 1000)))
}

/// An archive of one texture with two chunks.
fn textures(version: u32, texture: Texture) -> Ba2 {
    let file = Ba2File::texture("textures\\a.dds", texture)
        .chunk(Chunk::packed(b"large".to_vec(), 32768).mips(0, 0))
        .chunk(Chunk::stored(b"small").mips(1, 8));
    Ba2::textures(version).add(file)
}

fn texture() -> Texture {
    Texture::new(formats::BC1, 256, 128, 9)
}

fn extent(offset: usize, packed: u32, size: u32, codec: Codec) -> Extent {
    Extent { offset: offset as u64, packed, size: Some(size), codec, prefix: ExtentPrefix::NONE }
}

fn only_head(archive: &Archive<'_>) -> dds::Texture {
    match (archive.files.len(), archive.heads.get(0)) {
        (1, Head::Dds(texture)) => texture,
        (1, Head::Xbox(texture)) => texture.dds,
        _ => panic!("{:?}", archive.heads),
    }
}

#[test]
fn the_records_begin_after_the_header_in_every_version() {
    for version in VERSIONS {
        let bytes = general(version).build();
        let archive = parse(&bytes);
        let about = About {
            format: "BA2",
            version,
            kind: "GNRL",
            games: match version {
                1 => "Fallout 4, Fallout 76",
                2 | 3 => "Starfield",
                _ => "Fallout 4 (2024 update)",
            },
            platform: "PC or a console",
            flags: 0,
            flag_names: Vec::new(),
        };
        assert_eq!((&archive.about, archive.hashes), (&about, Family::Fo4));
        assert_eq!(names(&archive), ["Meshes\\a/One.NIF", "strings/fallout4_en.dlstrings"], "{version}");
        let data = header_len(version) + 2 * 36;
        let extents = [extent(data, 5, 5, Codec::Stored), extent(data + 5, 3, 1000, Codec::Zlib)];
        assert_eq!(archive.extents().collect::<Vec<_>>(), extents, "{version}");
        assert_eq!((archive.heads.len(), notes(&archive)), (0, vec![]), "{version}");
    }
}

#[test]
fn hashes_of_stem_extension_and_folder_are_separate() {
    let bytes = general(1).build();
    let archive = parse(&bytes);
    for (entry, extension) in archive.entries().zip([*b"nif\0", *b"dlst"]) {
        let bsafs::format::Name::Path(name) = entry.name else { panic!("{:?}", entry.name) };
        let expected = hash::fo4(name);
        assert_eq!(expected.extension, extension);
        assert_eq!(entry.hash.folder, u64::from(expected.folder));
        let low = u64::from(u32::from_le_bytes(extension));
        assert_eq!(entry.hash.file, u64::from(expected.file) << 32 | low);
    }
}

#[test]
fn the_compression_method_is_used_only_in_version_3() {
    let cases = [
        (3, 0, Codec::Zlib),
        (3, 3, Codec::Lz4Block),
        (3, 1, Codec::Detect),
        (3, 2, Codec::Detect),
        (3, u32::MAX, Codec::Detect),
        (1, 3, Codec::Zlib),
        (2, 3, Codec::Zlib),
        (7, 3, Codec::Zlib),
        (8, 3, Codec::Zlib),
    ];
    for (version, method, codec) in cases {
        let files = general(version).method(method).build();
        let codecs: Vec<Codec> = parse(&files).extents().map(|extent| extent.codec).collect();
        assert_eq!(codecs, [Codec::Stored, codec], "files: version {version}, method {method}");
        let textures = textures(version, texture()).method(method).build();
        let codecs: Vec<Codec> = parse(&textures).extents().map(|extent| extent.codec).collect();
        assert_eq!(codecs, [codec, Codec::Stored], "textures: version {version}, method {method}");
    }
}

#[test]
fn the_header_fields_added_in_version_2_are_ignored() {
    for version in [2, 3] {
        let bytes = patched(&general(version).build(), 24, [0xEE; 8]);
        assert_eq!(names(&parse(&bytes)).len(), 2);
        assert_eq!(notes(&parse(&bytes)), []);
    }
}

#[test]
fn each_file_has_the_chunks_that_its_record_declares() {
    let many = (0..255_u32).fold(Ba2File::general("many"), |file, n| file.chunk(Chunk::stored([n as u8])));
    let bytes = Ba2::general(1)
        .add(Ba2File::general("none"))
        .add(
            Ba2File::general("three")
                .chunk(Chunk::stored(b"first"))
                .chunk(Chunk::packed(b"second".to_vec(), 6))
                .chunk(Chunk::stored(b"").gap(b"gap")),
        )
        .add(many)
        .build();
    let archive = parse(&bytes);
    let counts: Vec<u8> = archive.entries().map(|entry| entry.extents).collect();
    assert_eq!(counts, [0, 3, 255]);
    assert_eq!(names(&archive), ["none", "three", "many"]);
    let data = 24 + 3 * 16 + 258 * 20;
    // A chunk is stored if its packed size is 0, not if both sizes are equal.
    let three = [
        extent(data, 5, 5, Codec::Stored),
        extent(data + 5, 6, 6, Codec::Zlib),
        extent(data + 14, 0, 0, Codec::Stored),
    ];
    assert!(archive.extents().take(3).eq(three));
    assert_eq!(bytes_of(&bytes, &archive.extents().nth(257).unwrap()), [254]);
}

#[test]
fn a_data_file_index_is_ignored() {
    let file = Ba2File::general("a").data_file(0xFF).chunk(Chunk::stored(b"x"));
    let bytes = Ba2::general(1).add(file).build();
    assert_eq!((names(&parse(&bytes)), notes(&parse(&bytes))), (vec!["a".into()], vec![]));
}

#[test]
fn a_textures_height_precedes_its_width() {
    for version in VERSIONS {
        let bytes = textures(version, texture()).build();
        let at = header_len(version) + 16;
        assert_eq!(bytes[at..at + 8], [128, 0, 0, 1, 9, formats::BC1, 0, 8]);
        let archive = parse(&bytes);
        assert_eq!((archive.about.kind, archive.about.version), ("DX10", version));
        let expected = dds::Texture { width: 256, height: 128, mips: 9, format: formats::BC1, cube: false };
        assert_eq!(only_head(&archive), expected);
        let data = at + 8 + 2 * 24;
        let extents = [extent(data, 5, 32768, Codec::Zlib), extent(data + 5, 5, 5, Codec::Stored)];
        assert_eq!(
            archive.extents().collect::<Vec<_>>(),
            extents,
            "the mip numbers changed the order of the chunks"
        );
        assert_eq!(notes(&archive), []);
    }
}

#[test]
fn one_flag_makes_a_cube_map_in_every_tile_mode() {
    for (flags, tile_mode, cube) in
        [(0, 8, false), (1, 8, true), (0xFE, 8, false), (0xFF, 8, true), (1, 17, true)]
    {
        let bytes = textures(1, Texture { flags, tile_mode, ..texture() }).build();
        assert_eq!(only_head(&parse(&bytes)).cube, cube, "flags {flags}, tile mode {tile_mode}");
    }
}

#[test]
fn textures_that_a_viewer_cannot_show_are_noted() {
    let of_format =
        |format: u8| format!("texture format {format} is not known; the DDS header only states its number");
    let of_mode = |mode: u8| format!("tile mode {mode}: the texels are tiled for an Xbox One");
    let linear = texture();
    let cases = [
        (Texture { format: 0, ..linear }, vec![of_format(0)]),
        (Texture { format: 255, ..linear }, vec![of_format(255)]),
        (Texture { tile_mode: 0, ..linear }, vec![]),
        (Texture { tile_mode: 4, ..linear }, vec![]),
        (Texture { tile_mode: 5, ..linear }, vec![of_mode(5)]),
        (Texture { tile_mode: 13, ..linear }, vec![of_mode(13)]),
        (Texture { format: 200, tile_mode: 9, ..linear }, vec![of_format(200), of_mode(9)]),
    ];
    for (texture, expected) in cases {
        let bytes = textures(1, texture).build();
        let archive = parse(&bytes);
        let expected: Vec<(u64, &str)> = expected.iter().map(|note| (24 + 16, note.as_str())).collect();
        assert_eq!(notes(&archive), expected);
        assert_eq!(only_head(&archive).format, texture.format);
    }
}

#[test]
fn a_chunk_of_another_size_than_its_mips_is_noted_if_another_chunk_proves_it() {
    // BC1 of 16 x 16 texels has mips of 128, 32, 8, 8 and 8 bytes.
    for (first, rest, is_noted) in [
        (128, 56, false),
        (128, 48, false),
        (136, 56, true),
        (120, 56, true),
        (136, 48, false),
        (160, 24, false),
    ] {
        let file = Ba2File::texture("textures\\a.dds", Texture::new(formats::BC1, 16, 16, 5))
            .chunk(Chunk::stored(vec![1; first]).mips(0, 0))
            .chunk(Chunk::stored(vec![2; rest]).mips(1, 4));
        let bytes = Ba2::textures(1).add(file).build();
        let archive = parse(&bytes);
        let is_shifted = notes(&archive).iter().any(|(_, text)| text.contains("smaller mips are shifted"));
        assert_eq!(is_shifted, is_noted, "{first} and {rest}");
    }
}

#[test]
fn a_chunk_with_another_end_mark_is_noted_and_read() {
    let bytes = patched(&general(1).build(), 24 + 32, 0x1234_u32.to_le_bytes());
    let archive = parse(&bytes);
    assert_eq!(notes(&archive), [(24 + 32, "a chunk ends in 00001234 instead of BAADF00D")]);
    assert_eq!(bytes_of(&bytes, &archive.extents().next().unwrap()), b"first");
}

#[test]
fn without_a_name_table_files_have_a_hash_and_an_extension() {
    let bytes = general(1).nameless().build();
    let archive = parse(&bytes);
    assert_eq!(names(&archive), ["?.nif", "?.dlst"]);
    let note =
        "the archive stores no names: its files are listed by hash unless --names supplies their paths";
    assert_eq!(notes(&archive), [(16, note)]);
    let empty = Ba2::general(1).nameless().build();
    assert_eq!(notes(&parse(&empty)), [], "an archive without files needs no note");
}

#[test]
fn a_truncated_name_table_loses_only_the_missing_names() {
    let good = general(1).build();
    // The name table at the archive's end has two lengths and names of 16 and 29 bytes.
    let table = good.len() - 2 - 16 - 2 - 29;
    assert_eq!(good[16], table as u8);
    let cases = [
        (good.len() - 1, 1, vec!["Meshes\\a/One.NIF", "?.dlst"]),
        (table + 19, 1, vec!["Meshes\\a/One.NIF", "?.dlst"]),
        (table + 17, 2, vec!["?.nif", "?.dlst"]),
        (table + 1, 2, vec!["?.nif", "?.dlst"]),
        (table, 2, vec!["?.nif", "?.dlst"]),
    ];
    for (len, lost, left) in cases {
        let archive = parse(&good[..len]);
        let note = format!(
            "the archive ends within its table of names; download or copy it again; files listed by hash \
             unless --names supplies their paths: {lost}"
        );
        assert_eq!(
            (names(&archive), notes(&archive)),
            (left.iter().map(|s| s.to_string()).collect(), vec![(table as u64, note.as_str())])
        );
    }
    for at in [good.len() as u64, 1 << 32, u64::MAX] {
        let bytes = patched(&good, 16, at.to_le_bytes());
        let note = "the names follow the data, not where the header states";
        assert_eq!(notes(&parse(&bytes)), [(table as u64, note)]);
        assert_eq!(names(&parse(&bytes)), names(&parse(&good)));
    }
}

#[test]
fn bytes_after_the_names_and_empty_names_are_accepted() {
    let bytes = Ba2::general(1).file("", b"x").file("b", b"y").names_tail(b"\x05\0tail").build();
    assert_eq!(names(&parse(&bytes)), ["?.", "b"]);
    let note = "the table of names ends early or has gaps; files listed by hash \
                unless --names supplies their paths: 1";
    assert_eq!(notes(&parse(&bytes)).iter().map(|(_, note)| *note).collect::<Vec<_>>(), [note]);
}

#[test]
fn data_beyond_the_end_is_noted_even_if_its_end_overflows() {
    let good = general(1).build();
    for offset in [good.len() as u64 - 4, 1 << 40, u64::MAX] {
        let bytes = patched(&good, 24 + 16, offset.to_le_bytes());
        let note =
            "the archive seems cut off: the data of 1 chunk lies beyond its end; download or copy it again";
        assert_eq!(notes(&parse(&bytes)), [(good.len() as u64, note)], "{offset}");
        assert_eq!(parse(&bytes).extents().next().unwrap().offset, offset);
    }
}

#[test]
fn a_packed_chunk_that_is_a_few_bytes_too_long_does_not_mean_that_the_archive_is_cut_off() {
    for version in [1, 2, 7, 8] {
        for (more, is_whole) in [(1, true), (4, true), (5, false), (1 << 20, false)] {
            let stream = pack::zlib(b"data");
            let chunk = Chunk::raw(stream.clone(), stream.len() as u32 + more, 4);
            let bytes = Ba2::general(version).nameless().add(Ba2File::general("a.txt").chunk(chunk)).build();
            let codes: Vec<_> = parse(&bytes).notes.iter().map(|note| note.code).collect();
            let code = if is_whole { NoteCode::LengthWrong } else { NoteCode::ArchiveCutOff };
            assert_eq!(codes, [NoteCode::ArchiveNameless, code], "{version}: {more} more");
        }
    }
}

#[test]
fn damage_is_reported_with_its_offset() {
    let files = general(1).build();
    let textures = textures(1, texture()).build();
    let version = |version| {
        ParseError::unsupported(4, format!("BA2 version {version}; the known versions are 1, 2, 3, 7 and 8"))
    };
    let kind = |code| {
        ParseError::unsupported(8, format!("BA2 of kind \"{code}\"; the known kinds are GNRL, DX10 and GNMF"))
    };
    let ends = |at: usize, what: &str| ParseError::corrupt(at as u64, format!("the file ends before {what}"));
    let cases: [(&[u8], usize, &[u8], ParseError); 12] = [
        (&files, 4, &[0, 0, 0, 0], version(0)),
        (&files, 4, &[4, 0, 0, 0], version(4)),
        (&files, 4, &[6, 0, 0, 0], version(6)),
        (&files, 4, &[9, 0, 0, 0], version(9)),
        (&files, 4, &[1, 0, 0, 1], version(0x0100_0001)),
        (&files, 8, b"GNM2", kind("GNM2")),
        (&files, 8, b"gnrl", kind("gnrl")),
        (&files, 8, b"\0\xFF\"\n", kind("\\x00\\xff\\\"\\n")),
        (&files, 12, &[1, 0, 0, 1], ParseError::limit(12, "16777217 files; the limit is 16777216")),
        // The parser takes what follows the last record as one more record, whose length is wrong.
        (
            &files,
            12,
            &[3, 0, 0, 0],
            ParseError::unsupported(
                24 + 72 + 14,
                "a file's record states its length as 29541 bytes instead of 16",
            ),
        ),
        (&files, 37, &[255], ends(files.len() - 13, "a chunk")),
        (&textures, 37, &[255], ends(textures.len() - 2, "a chunk")),
    ];
    for (good, at, with, expected) in &cases {
        assert_eq!(refusal(&patched(good, *at, with)), *expected, "{with:?} at {at}");
    }
    let few = Limits { entries: 1, ..Limits::default() };
    assert_eq!(refusal_within(&files, &few), ParseError::limit(12, "2 files; the limit is 1"));
}

#[test]
fn an_archive_cut_within_its_tables_names_the_missing_field() {
    let files = general(3).build();
    let textures = textures(1, texture()).build();
    let cases = [
        (&files, 4, 4, "the version"),
        (&files, 11, 8, "the kind"),
        (&files, 15, 12, "the count of files"),
        (&files, 23, 16, "the offset of the names"),
        (&files, 31, 24, "the fields of version 2"),
        (&files, 35, 32, "the compression method"),
        (&files, 36, 36, "a file's record"),
        (&files, 51, 36, "a file's record"),
        (&files, 52, 52, "a chunk"),
        (&files, 67, 52, "a chunk"),
        (&files, 71, 68, "a chunk's end mark"),
        (&files, 72, 72, "a file's record"),
        (&textures, 41, 40, "a texture's height"),
        (&textures, 43, 42, "a texture's width"),
        (&textures, 44, 44, "a texture's count of mip maps"),
        (&textures, 45, 45, "a texture's format"),
        (&textures, 46, 46, "a texture's flags"),
        (&textures, 47, 47, "a texture's tile mode"),
        (&textures, 48, 48, "a chunk"),
        (&textures, 63, 48, "a chunk"),
        (&textures, 71, 64, "a chunk's mip maps"),
    ];
    for (bytes, len, at, what) in cases {
        let expected = ParseError::corrupt(at, format!("the file ends before {what}"));
        assert_eq!(refusal(&bytes[..len]), expected, "{len} bytes");
    }
}

#[test]
fn an_archive_without_hashes_that_prove_its_names_is_not_read_as_names() {
    let wrong = hash::fo4(b"another.txt");
    let file = |name: String, chunk| Ba2File::general(name).with_hash(wrong).chunk(chunk);
    let files =
        (0..2_000).fold(Ba2::general(1), |it, n| it.add(file(format!("{n}.txt"), Chunk::stored("x"))));
    // Between the data and the names lie bytes that read as names of 65,535 bytes.
    let last = Chunk::stored("x").gap(vec![0xFF; 16 << 20]).offset(24);
    let bytes = files.add(file("last.txt".into(), last)).build();
    let recorded = Recorded::new(&bytes);
    let archive = format::parse(Bytes::fetched(bytes.len() as u64, &recorded), &Limits::default()).unwrap();
    assert_eq!(names(&archive).len(), 2_001);
    let fetched = recorded.fetched.lock().unwrap().iter().filter(|is_fetched| **is_fetched).count();
    assert!(fetched < 4 << 20, "{fetched} bytes were read");
}

/// An archive of one BC1 texture of 8 by 8 pixels with three chunks: their mips and texels.
fn in_chunks(chunks: [((u16, u16), &[u8]); 3], texture: Texture) -> Vec<u8> {
    let add = |file: Ba2File, ((first, last), texels): ((u16, u16), &[u8])| {
        file.chunk(Chunk::stored(texels).mips(first, last))
    };
    Ba2::textures(1).add(chunks.into_iter().fold(Ba2File::texture("textures\\a.dds", texture), add)).build()
}

#[test]
fn chunks_out_of_order_are_read_in_the_order_of_their_mips_if_their_sizes_prove_it() {
    let texture = Texture::new(formats::BC1, 8, 8, 4);
    let (large, middle, small) = (&[1; 32][..], &[2; 8][..], &[3; 16][..]);
    let read = |bytes: &[u8]| {
        let archive = parse(bytes);
        let first = |extent: Extent| bytes[extent.offset as usize];
        let notes: Vec<NoteCode> = archive.notes.iter().map(|note| note.code).collect();
        (archive.extents().map(first).collect::<Vec<_>>(), notes)
    };
    let right = in_chunks([((0, 0), large), ((1, 1), middle), ((2, 3), small)], texture);
    assert_eq!(read(&right), (vec![1, 2, 3], vec![]));
    for chunks in [
        [((1, 1), middle), ((0, 0), large), ((2, 3), small)],
        [((2, 3), small), ((1, 1), middle), ((0, 0), large)],
    ] {
        assert_eq!(read(&in_chunks(chunks, texture)), (vec![1, 2, 3], vec![NoteCode::TablesOdd]));
    }
    // A file before and one behind keep their order.
    let file = |name: &str| Ba2File::texture(name, texture).chunk(Chunk::stored([9; 56]).mips(0, 3));
    let odd = Ba2File::texture("b.dds", texture)
        .chunk(Chunk::stored(&small[..8]).mips(2, 3))
        .chunk(Chunk::stored([small, large].concat()).mips(0, 1));
    let three = Ba2::textures(1).add(file("a.dds")).add(odd).add(file("c.dds")).build();
    assert_eq!(read(&three), (vec![9, 3, 3, 9], vec![NoteCode::MipsOrder]), "the sizes prove nothing");
    // The sizes show that the stored order is right, whatever the numbers are.
    let wrong = in_chunks([((0, 2), large), ((1, 1), middle), ((0, 3), small)], texture);
    assert_eq!(read(&wrong), (vec![1, 2, 3], vec![NoteCode::TablesOdd]));
    let overlap = in_chunks([((0, 1), middle), ((1, 1), middle), ((2, 3), small)], texture);
    assert_eq!(read(&overlap), (vec![2, 2, 3], vec![NoteCode::MipsOrder]));
    // Cubes of xEdit state numbers without meaning, and some packers state none.
    let cube = in_chunks([((5, 5), large), ((0, 9), middle), ((0, 0), small)], texture.cube());
    assert_eq!(read(&cube), (vec![1, 2, 3], vec![]));
    let none = in_chunks([((0, 0), large), ((0, 0), middle), ((0, 0), small)], texture);
    assert_eq!(read(&none), (vec![1, 2, 3], vec![]));
}
