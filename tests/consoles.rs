//! BA2 archives of consoles: complete GNF files, and XBOX headers for tiled textures.

use std::fs;

use bsafs::archive_file::ArchiveFile;
use bsafs::content::{LayerTables, Store};
use bsafs::format::{EntryId, Head, Limits, Name, parse};

use crate::support::consoles::gnf;
use crate::support::content::{noise, texels};
use crate::support::{Ba2, Ba2File, Chunk, Texture, dds};

/// A store of one archive, and the folder that holds it.
fn store(bytes: &[u8]) -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("textures.ba2");
    fs::write(&path, bytes).unwrap();
    let mut store = Store::new(1 << 20, Limits::default());
    store
        .add(ArchiveFile::open(&path).unwrap(), LayerTables::new(&parse(bytes, &Limits::default()).unwrap()));
    (folder, store)
}

fn read(store: &Store, entry: u32, offset: u64, len: u32) -> Vec<u8> {
    store.file(EntryId { layer: 0, entry }).read_at(offset, len).unwrap().to_vec()
}

/// A T# (texture descriptor) of 256 by 128 BC7 pixels with 9 mips in 1D thin tiles. Some other
/// fields are set, too.
fn descriptor() -> [u8; 32] {
    let words: [u32; 8] =
        [0, 0x29 << 20, 255 | 127 << 14, 0x9000_0FAC | 8 << 16 | 13 << 20, 255 << 13, 0, 0, 0x1234];
    let mut bytes = [0; 32];
    bytes.as_chunks_mut::<4>().0.iter_mut().zip(words).for_each(|(to, word)| *to = word.to_le_bytes());
    bytes
}

#[test]
fn a_playstation_texture_of_several_chunks_is_one_gnf_file() {
    let (first, second, third) = (texels(1, 40_000), noise(2, 10_240), texels(3, 700));
    let archive = Ba2::gnm(1)
        .add(
            Ba2File::gnm("Textures\\Sky\\cloud.dds", descriptor())
                .chunk(Chunk::zlib(&first).mips(0, 0))
                .chunk(Chunk::stored(second.clone()).mips(1, 1))
                .chunk(Chunk::zlib(&third).mips(2, 8)),
        )
        .add(Ba2File::gnm("textures\\none.dds", [0xFF; 32]));
    let bytes = archive.build();
    let parsed = parse(&bytes, &Limits::default()).unwrap();
    assert_eq!((parsed.about.kind, parsed.about.games), ("GNMF", "Fallout 4 on the PlayStation 4"));
    assert_eq!(
        parsed.entries().next().unwrap().name,
        Name::Path(b"Textures\\Sky\\cloud.dds"),
        "the listed name differs from the stored name"
    );
    assert!(parsed.notes.is_empty(), "{:?}", parsed.notes);

    let expected = gnf(descriptor(), &[first, second, third].concat());
    let (_folder, store) = store(&bytes);
    assert_eq!(store.file(EntryId { layer: 0, entry: 0 }).size_or_estimate(), expected.len() as u64);
    assert_eq!(read(&store, 0, 0, u32::MAX), expected);
    for (offset, len) in [(0, 16), (12, 4), (250, 20), (256, 40_001), (40_250, 10_300), (51_000, 900)] {
        let end = expected.len().min(offset + len);
        assert_eq!(read(&store, 0, offset as u64, len as u32), expected[offset..end], "{len} from {offset}");
    }
    let mut copied = Vec::new();
    store.file(EntryId { layer: 0, entry: 0 }).copy_to(&mut copied).unwrap();
    assert_eq!(copied, expected);
    assert_eq!(
        read(&store, 1, 0, u32::MAX),
        gnf([0xFF; 32], &[]),
        "a texture without data must be only a header"
    );
}

#[test]
fn a_damaged_playstation_archive_is_refused_without_a_panic() {
    let file = || Ba2File::gnm("a.dds", descriptor()).chunk(Chunk::stored(noise(5, 64)));
    let whole = Ba2::gnm(1).add(file()).build();
    let tables = 24 + 48 + 24;
    for len in 0..tables {
        assert!(parse(&whole[..len], &Limits::default()).is_err(), "cut to {len} bytes");
    }
    let error = |archive: Ba2| parse(&archive.build(), &Limits::default()).unwrap_err().to_string();
    // Nothing needs the length that a record states.
    let misstated = Ba2::gnm(1).add(file().head_length(0x18)).build();
    let notes = parse(&misstated, &Limits::default()).unwrap().notes;
    assert!(notes.len() == 1 && notes[0].text.contains("24 bytes instead of 48"), "{notes:?}");
    assert_eq!(
        error(Ba2::general(1).kind(*b"GNMX").add(file())),
        "unsupported archive: BA2 of kind \"GNMX\"; the known kinds are GNRL, DX10 and GNMF (at offset 8)"
    );
    assert!(error(Ba2::gnm(1).add(file()).file_count(u32::MAX)).starts_with("archive too large"));
}

/// An archive of two textures: one with this tile mode, and a linear one as on a PC.
fn xbox(texture: Texture, tile_mode: u8, chunks: &[Vec<u8>]) -> Vec<u8> {
    let tiled = Ba2File::texture("textures\\tiled.dds", Texture { tile_mode, ..texture });
    let tiled = chunks.iter().fold(tiled, |file, chunk| file.chunk(Chunk::zlib(chunk)));
    let linear = Ba2File::texture("textures\\linear.dds", Texture::new(dds::BC1, 8, 8, 1));
    Ba2::textures(1).add(tiled).add(linear.chunk(Chunk::stored(noise(9, 32)))).build()
}

#[test]
fn a_texture_in_a_mode_of_depth_buffers_is_a_plain_dds() {
    let chunks = [noise(6, 8_192), noise(7, 3_072)];
    let texture = Texture { flags: 1, ..Texture::new(dds::BC7, 64, 32, 7) };
    for tile_mode in 0..=4 {
        let bytes = xbox(texture, tile_mode, &chunks);
        let (_folder, store) = store(&bytes);
        let expected = [&dds::header(dds::BC7, 64, 32, 7, true)[..], &chunks.concat()].concat();
        assert_eq!(read(&store, 0, 0, u32::MAX), expected, "tile mode {tile_mode}");
        assert_eq!(store.file(EntryId { layer: 0, entry: 0 }).tile_mode(), None);
        assert!(parse(&bytes, &Limits::default()).unwrap().notes.is_empty());
    }
}

#[test]
fn a_tiled_texture_gets_the_xbox_header_and_keeps_its_bytes() {
    let chunks = [noise(6, 8_192), noise(7, 3_072)];
    let texture = Texture { flags: 1, ..Texture::new(dds::BC7, 64, 32, 7) };
    for tile_mode in [5, 13, 14, 31] {
        let bytes = xbox(texture, tile_mode, &chunks);
        let (_folder, store) = store(&bytes);
        let file = read(&store, 0, 0, u32::MAX);
        let mut header = dds::header(dds::BC7, 64, 32, 7, true);
        header[84..88].copy_from_slice(b"XBOX");
        for word in [u32::from(tile_mode), 256, 8_192 + 3_072, 13_202] {
            header.extend(word.to_le_bytes());
        }
        assert_eq!(header.len(), 164);
        assert_eq!(file[..164], header, "tile mode {tile_mode}");
        assert_eq!(file[164..], chunks.concat());
        assert_eq!(store.file(EntryId { layer: 0, entry: 0 }).size_or_estimate(), file.len() as u64);
        assert_eq!(read(&store, 0, 160, 10), file[160..170]);
        let notes = parse(&bytes, &Limits::default()).unwrap().notes;
        assert_eq!(
            notes.iter().map(|note| &note.text[..]).collect::<Vec<_>>(),
            [format!("tile mode {tile_mode}: the texels are tiled for an Xbox One")]
        );
    }
}

#[test]
fn a_linear_texture_in_an_xbox_archive_keeps_its_pc_header() {
    let bytes = xbox(Texture::new(dds::RGBA8, 16, 16, 1), 13, &[noise(8, 1024)]);
    let (_folder, store) = store(&bytes);
    assert!(matches!(store.file(EntryId { layer: 0, entry: 0 }).head(), Head::Xbox(_)));
    assert!(matches!(store.file(EntryId { layer: 0, entry: 1 }).head(), Head::Dds(_)));
    let linear = read(&store, 1, 0, u32::MAX);
    assert_eq!(linear, [dds::header(dds::BC1, 8, 8, 1, false), noise(9, 32)].concat());
    assert_eq!(
        read(&store, 0, 84, 4),
        b"XBOX",
        "the FourCC must be XBOX although a PC header would have none"
    );
}
