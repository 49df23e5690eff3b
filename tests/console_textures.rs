//! `--textures`: console textures as linear DDS files and as raw bytes, in commands and a mount.

use std::collections::BTreeMap;
use std::fs;

use bsafs::archive_file::ArchiveFile;
use bsafs::content::{LayerTables, Reason, Store, TextureForm};
use bsafs::format::{EntryId, Limits, parse};

use crate::mounted::{Mounted, TestDir};
use crate::support::consoles::{Shape, gnf, xbox_header};
use crate::support::content::{noise, texels};
use crate::support::tiler::Tiler;
use crate::support::{Ba2, Ba2File, Chunk, Texture, dds};

/// A texture that consoles store in tiles and PCs store in rows.
struct Case {
    format: u8,
    size: (u16, u16, u8),
    cube: bool,
    powers_of_two: bool,
}

const fn case(format: u8, size: (u16, u16, u8), cube: bool, powers_of_two: bool) -> Case {
    Case { format, size, cube, powers_of_two }
}

/// Sizes that are powers of two and others, flat textures and cubes, both paddings.
const CASES: [Case; 9] = [
    case(dds::BC7, (256, 256, 9), false, false),
    case(dds::BC1, (512, 128, 10), false, true),
    case(dds::BC3, (64, 64, 7), true, false),
    case(dds::BC7, (101, 67, 7), false, false),
    case(dds::BC7, (101, 67, 7), false, true),
    case(dds::BC1, (300, 300, 4), true, true),
    case(dds::BC5, (1, 1, 1), false, false),
    case(dds::BC7_SRGB, (200, 9, 8), true, false),
    case(dds::BC1, (12, 20, 1), false, false),
];

impl Case {
    fn tiler(&self) -> Tiler {
        let (width, height, mips) = self.size;
        Tiler {
            width: width.into(),
            height: height.into(),
            mips: mips.into(),
            faces: if self.cube { 6 } else { 1 },
            side: 4,
            bytes: if self.format == dds::BC1 { 8 } else { 16 },
            powers_of_two: self.powers_of_two,
        }
    }

    fn rows(&self, seed: u64) -> Vec<u8> {
        texels(seed, self.tiler().linear_len())
    }

    fn dds(&self, rows: &[u8]) -> Vec<u8> {
        let (width, height, mips) = self.size;
        [&dds::header(self.format, width, height, mips, self.cube), rows].concat()
    }

    fn xbox(&self) -> Texture {
        let (width, height, mips) = self.size;
        Texture { tile_mode: 13, flags: self.cube.into(), ..Texture::new(self.format, width, height, mips) }
    }

    fn shape(&self) -> Shape {
        let (width, height, mips) = self.size;
        let format = match self.format {
            dds::BC1 => 0x23,
            dds::BC3 => 0x25,
            dds::BC5 => 0x27,
            _ => 0x29,
        };
        let (width, height, mips) = (width.into(), height.into(), mips.into());
        Shape { format, width, height, mips, tile_mode: 13, cube: self.cube }
    }
}

/// Adds `data` to a file in up to three chunks that end anywhere. Every second chunk is stored.
fn chunked(file: Ba2File, data: &[u8]) -> Ba2File {
    let len = (data.len() / 3).max(100) + 1;
    let chunk =
        |(n, piece): (usize, &[u8])| if n % 2 == 0 { Chunk::zlib(piece) } else { Chunk::stored(piece) };
    data.chunks(len).enumerate().map(chunk).fold(file, Ba2File::chunk)
}

/// An archive of all cases for the Xbox One, and its files as DDS.
fn xbox_archive() -> (Vec<u8>, Vec<Vec<u8>>) {
    let (mut archive, mut files) = (Ba2::textures(1), Vec::new());
    for (n, case) in CASES.iter().enumerate() {
        let rows = case.rows(n as u64);
        let file = Ba2File::texture(format!("textures\\{n}.dds"), case.xbox());
        archive = archive.add(chunked(file, &case.tiler().tile(&rows)));
        files.push(case.dds(&rows));
    }
    (archive.build(), files)
}

/// An archive of the cases for the PlayStation 4, and its files as DDS. It has no sRGB formats,
/// which the builder cannot write into a T# (texture descriptor).
fn gnmf_archive() -> (Vec<u8>, Vec<Vec<u8>>) {
    let (mut archive, mut files) = (Ba2::gnm(1), Vec::new());
    for (n, case) in CASES.iter().enumerate().filter(|(_, case)| case.format != dds::BC7_SRGB) {
        let rows = case.rows(n as u64);
        let file = Ba2File::gnm(format!("textures\\{n}.dds"), case.shape().descriptor());
        archive = archive.add(chunked(file, &case.tiler().tile(&rows)));
        files.push(case.dds(&rows));
    }
    (archive.build(), files)
}

fn store(
    bytes: &[u8],
    textures: TextureForm,
    limits: Limits,
) -> (tempfile::TempDir, Store, BTreeMap<u8, usize>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("textures.ba2");
    fs::write(&path, bytes).unwrap();
    let mut store = Store::new(1 << 20, limits);
    let tables = LayerTables::new(&parse(bytes, &Limits::default()).unwrap()).presented(textures, Vec::new);
    let left = tables.still_tiled();
    store.add(ArchiveFile::open(&path).unwrap(), tables);
    (folder, store, left)
}

fn dds_store(bytes: &[u8]) -> (tempfile::TempDir, Store, BTreeMap<u8, usize>) {
    store(bytes, TextureForm::Dds, Limits::default())
}

fn id(entry: usize) -> EntryId {
    EntryId { layer: 0, entry: entry as u32 }
}

fn read(store: &Store, entry: usize, offset: usize, len: usize) -> Vec<u8> {
    store.file(id(entry)).read_at(offset as u64, len as u32).unwrap().to_vec()
}

fn whole(store: &Store, entry: usize) -> Vec<u8> {
    read(store, entry, 0, u32::MAX as usize)
}

#[test]
fn tiled_textures_of_both_consoles_become_linear_dds_files() {
    for (what, (bytes, files)) in [("xbox", xbox_archive()), ("gnmf", gnmf_archive())] {
        let (_folder, store, left) = dds_store(&bytes);
        assert!(left.is_empty(), "{what}: {left:?}");
        for (n, file) in files.iter().enumerate() {
            let what = format!("{what} {n}");
            assert_eq!(store.file(id(n)).size_or_estimate(), file.len() as u64, "{what}");
            assert!(whole(&store, n) == *file, "{what}: wrong bytes in a single read");
            assert_eq!(store.file(id(n)).tile_mode(), None, "{what}");
            let mut copied = Vec::new();
            assert_eq!(store.file(id(n)).copy_to(&mut copied).unwrap(), file.len() as u64, "{what}");
            assert!(copied == *file, "{what}: wrong bytes in a copy");
            assert_eq!(store.file(id(n)).check().unwrap(), [], "{what}");
            for (offset, len) in [(0, 4), (120, 60), (148, 8), (file.len() - 3, 9), (file.len() / 2, 4096)] {
                let (from, to) = (offset.min(file.len()), (offset + len).min(file.len()));
                assert!(read(&store, n, offset, len) == file[from..to], "{what}: {len} from {offset}");
            }
        }
    }
}

#[test]
fn the_size_of_a_linear_texture_is_known_without_reading_a_byte() {
    for (bytes, files) in [xbox_archive(), gnmf_archive()] {
        let (_folder, store, _) = dds_store(&bytes);
        for (n, file) in files.iter().enumerate() {
            assert_eq!(store.file(id(n)).size_or_estimate(), file.len() as u64, "{n}");
            assert!(store.file(id(n)).size_if_known().is_some());
        }
        assert_eq!(store.bytes_read(), 0);
    }
}

#[test]
fn a_texture_that_is_read_in_small_steps_is_decoded_once() {
    let case = &CASES[0];
    let tiled = case.tiler().tile(&case.rows(1));
    let file = Ba2File::texture("a.dds", case.xbox()).chunk(Chunk::zlib(&tiled));
    let (_folder, store, _) = dds_store(&Ba2::textures(1).add(file).build());
    for offset in (0..store.file(id(0)).size_or_estimate() as usize).step_by(4096) {
        read(&store, 0, offset, 4096);
    }
    assert_eq!(store.decoded_bytes(), tiled.len() as u64);
}

#[test]
fn textures_of_different_shapes_may_share_an_extent() {
    // Textures of 64 by 32 and of 32 by 64 pixels have equal numbers of blocks and of tiles.
    let [wide, high] = [(64, 32, 1), (32, 64, 1)].map(|size| case(dds::BC1, size, false, false));
    let rows = noise(5, wide.tiler().linear_len());
    let tiled = wide.tiler().tile(&rows);
    let archive = Ba2::textures(1)
        .add(Ba2File::texture("wide.dds", wide.xbox()).chunk(Chunk::zlib(&tiled)))
        .add(Ba2File::texture("high.dds", high.xbox()).chunk(Chunk::zlib(&tiled)).shares(0));
    let (_folder, store, left) = dds_store(&archive.build());
    assert!(left.is_empty());
    assert!(whole(&store, 0) == wide.dds(&rows));
    let high_rows = whole(&store, 1).split_off(128);
    assert!(high.tiler().tile(&high_rows) == tiled, "the texture has the rows of the other shape");
    assert!(high_rows != rows);
}

#[test]
fn raw_textures_have_the_bytes_of_the_archive_and_no_header() {
    let case = &CASES[0];
    let tiled = case.tiler().tile(&case.rows(2));
    let plain = texels(3, 32);
    let xbox = Ba2::textures(1)
        .add(chunked(Ba2File::texture("tiled.dds", case.xbox()), &tiled))
        .add(Ba2File::texture("plain.dds", Texture::new(dds::BC1, 8, 8, 1)).chunk(Chunk::zlib(&plain)));
    let gnmf = Ba2::gnm(1).add(chunked(Ba2File::gnm("tiled.dds", case.shape().descriptor()), &tiled));
    for (archive, expected) in [(xbox, vec![tiled.clone(), plain]), (gnmf, vec![tiled])] {
        let (_folder, store, left) = store(&archive.build(), TextureForm::Raw, Limits::default());
        assert!(left.is_empty());
        for (n, expected) in expected.iter().enumerate() {
            assert_eq!(store.file(id(n)).size_or_estimate(), expected.len() as u64);
            assert!(whole(&store, n) == *expected, "{n}");
        }
        assert_eq!(
            store.file(id(0)).tile_mode(),
            Some(13),
            "the tile mode must be known because no header stores it"
        );
    }
}

#[test]
fn compatible_textures_have_headers_that_older_programs_read() {
    let texels = texels(5, 64);
    let plain = |format| Ba2File::texture("a.dds", Texture::new(format, 8, 8, 1)).chunk(Chunk::zlib(&texels));
    // The formats are BC1_UNORM_SRGB, BC4_UNORM, BC5_UNORM and BC7_UNORM_SRGB.
    let formats = [(72, 128, *b"DXT1"), (80, 128, *b"ATI1"), (83, 128, *b"ATI2"), (99, 148, *b"DX10")];
    let archive = formats.iter().fold(Ba2::textures(1), |archive, (format, ..)| archive.add(plain(*format)));
    let case = &CASES[0];
    let tiled = Ba2File::texture("tiled.dds", case.xbox());
    let archive = archive.add(chunked(tiled, &case.tiler().tile(&case.rows(2))));
    let (_folder, store, left) = store(&archive.build(), TextureForm::Compatible, Limits::default());
    assert!(left.is_empty());
    for (n, (_, len, code)) in formats.into_iter().enumerate() {
        let file = whole(&store, n);
        assert_eq!(
            (file.len(), store.file(id(n)).size_or_estimate()),
            (len + texels.len(), file.len() as u64)
        );
        assert_eq!((&file[84..88], &file[len..]), (&code[..], &texels[..]), "{n}");
    }
    assert_eq!(whole(&store, 3)[128], 98, "BC7 must get a DX10 header without sRGB");
    assert!(whole(&store, formats.len()) == case.dds(&case.rows(2)), "the tiled texture must become linear");
}

#[test]
fn a_texture_that_cannot_become_linear_keeps_its_header() {
    let case = &CASES[0];
    let tiled = case.tiler().tile(&case.rows(4));
    let short = &tiled[..tiled.len() - 16];
    let mode = |tile_mode| Texture { tile_mode, ..case.xbox() };
    let archive = Ba2::textures(1)
        .add(Ba2File::texture("2d.dds", mode(14)).chunk(Chunk::zlib(&tiled)))
        .add(Ba2File::texture("2d too.dds", mode(14)).chunk(Chunk::zlib(&tiled)))
        .add(Ba2File::texture("short.dds", mode(13)).chunk(Chunk::zlib(short)))
        .add(Ba2File::texture("none.dds", mode(9)))
        .add(Ba2File::texture("good.dds", mode(13)).chunk(Chunk::zlib(&tiled)));
    let (_folder, store, left) = dds_store(&archive.build());
    assert_eq!(left, BTreeMap::from([(9, 1), (13, 1), (14, 2)]));
    for (n, tile_mode, data) in [(0, 14, &tiled[..]), (1, 14, &tiled), (2, 13, short), (3, 9, &[])] {
        assert!(whole(&store, n) == [&xbox_header(mode(tile_mode), data.len()), data].concat(), "{n}");
        assert_eq!(store.file(id(n)).tile_mode(), Some(tile_mode));
    }
    assert!(whole(&store, 4).starts_with(b"DDS ") && store.file(id(4)).tile_mode().is_none());
}

#[test]
fn a_linear_playstation_texture_gets_a_dds_header_except_mipped_cubes() {
    let shape = |width, mips, cube| Shape { format: 0x29, width, height: 64, mips, tile_mode: 8, cube };
    let rows = |shape: Shape, by| {
        let of_face: usize = dds::mip_bytes(dds::BC7, shape.width as u16, 64, shape.mips as u8).iter().sum();
        texels(6, of_face * if shape.cube { 6 } else { 1 } + by)
    };
    let shapes = [
        (shape(64, 7, false), 0),
        (shape(64, 1, true), 0),
        (shape(64, 7, true), 0),
        (shape(60, 2, false), 48),
    ];
    let archive = shapes.iter().enumerate().fold(Ba2::gnm(1), |it, (n, (shape, by))| {
        it.add(Ba2File::gnm(format!("{n}.dds"), shape.descriptor()).chunk(Chunk::zlib(rows(*shape, *by))))
    });
    let (_folder, store, left) = dds_store(&archive.build());
    assert_eq!(left, BTreeMap::from([(8, 2)]));
    for (n, (shape, by)) in shapes.into_iter().enumerate() {
        let data = rows(shape, by);
        let expected = match n {
            0 | 1 => [dds::header(dds::BC7, 64, 64, shape.mips as u8, shape.cube), data].concat(),
            _ => gnf(shape.descriptor(), &data),
        };
        assert!(whole(&store, n) == expected, "{n}");
    }
}

#[test]
fn an_error_in_any_chunk_names_its_offset_and_is_not_cached() {
    let case = &CASES[0];
    let tiled = case.tiler().tile(&case.rows(7));
    let (front, back) = tiled.split_at(50_000);
    let file = |chunk| Ba2File::texture("a.dds", case.xbox()).chunk(Chunk::zlib(front)).chunk(chunk);
    type IsExpected = fn(&Reason) -> bool;
    let bad: [(Chunk, IsExpected); 4] = [
        (Chunk::packed(noise(8, 900), back.len()), |it| matches!(it, Reason::Decode(_))),
        (Chunk::packed(noise(8, 9), back.len()), |it| matches!(it, Reason::UnpackedSize(_))),
        (Chunk::zlib(back).offset(1 << 40), |it| *it == Reason::BeyondEnd),
        (Chunk::raw(vec![1; 9], 0, back.len() as u32), |it| *it == Reason::BeyondEnd),
    ];
    for (n, (chunk, is_expected)) in bad.into_iter().enumerate() {
        let bytes = Ba2::textures(1).add(file(chunk)).build();
        let at = parse(&bytes, &Limits::default()).unwrap().extents().nth(1).unwrap().offset;
        let (_folder, store, _) = dds_store(&bytes);
        assert_eq!(store.file(id(0)).size_or_estimate(), 148 + case.tiler().linear_len() as u64, "{n}");
        assert_eq!(read(&store, 0, 0, 148).len(), 148, "{n}: the header is not readable");
        for is_new in [true, false] {
            let error = store.file(id(0)).read_at(200, 10).unwrap_err();
            assert!(is_expected(&error.reason), "{n}: {error}");
            assert_eq!((error.at, error.is_new), (at, is_new), "{n}");
        }
        assert!(
            store.file(id(0)).check().is_err() && store.file(id(0)).copy_to(&mut Vec::new()).is_err(),
            "{n}"
        );
        assert_eq!(store.cached_bytes().0, 0, "{n}");
    }
}

#[test]
fn chunks_that_together_exceed_the_limit_are_refused() {
    let case = &CASES[0];
    let tiled = case.tiler().tile(&case.rows(9));
    let bytes = Ba2::textures(1).add(chunked(Ba2File::texture("a.dds", case.xbox()), &tiled)).build();
    let limit = |extent| store(&bytes, TextureForm::Dds, Limits { extent, ..Limits::default() });
    let len = tiled.len() as u32;
    // The limit holds for the tiled texels and their rows together.
    let (_folder, store, _) = limit(2 * len - 1);
    assert_eq!(store.file(id(0)).read_at(200, 1).unwrap_err().reason, Reason::UnpackedSize(len));
    assert_eq!(store.file(id(0)).check().unwrap_err().reason, Reason::UnpackedSize(len));
    let (_folder, store, _) = limit(2 * len);
    assert!(store.file(id(0)).check().is_ok() && store.file(id(0)).read_at(200, 1).is_ok());
}

/// Two archives, `gnmf.ba2` and `xbox.ba2`. Two of their textures become linear, one cannot.
struct Disk {
    dir: TestDir,
    rows: Vec<u8>,
    tiled: Vec<u8>,
}

impl Disk {
    fn new() -> Self {
        let dir = TestDir::new();
        let case = &CASES[0];
        let rows = case.rows(10);
        let tiled = case.tiler().tile(&rows);
        let gnmf =
            Ba2::gnm(1).add(chunked(Ba2File::gnm("Textures\\Sky.DDS", case.shape().descriptor()), &tiled));
        let two_d = Texture { tile_mode: 14, ..case.xbox() };
        let xbox = Ba2::textures(1)
            .add(chunked(Ba2File::texture("Textures\\Wall.DDS", case.xbox()), &tiled))
            .add(Ba2File::texture("Textures\\Left.DDS", two_d).chunk(Chunk::zlib(&tiled)));
        dir.archive("gnmf.ba2", &gnmf.build());
        dir.archive("xbox.ba2", &xbox.build());
        Self { dir, rows, tiled }
    }

    /// The output of `bsafs cat OPTIONS` for the texture in `gnmf.ba2`.
    fn cat(&self, options: &[&str]) -> Vec<u8> {
        let mut command = self.dir.bsafs(["cat"]);
        let output = command.args(options).args(["gnmf.ba2", "textures/sky.dds"]).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{options:?}: {:?}", output.stderr);
        output.stdout
    }
}

#[test]
fn commands_show_textures_in_the_requested_form() {
    let disk = Disk::new();
    let case = &CASES[0];
    let (dds, raw) = ("--textures=dds", "--textures=raw");
    assert!(disk.cat(&[dds]) == case.dds(&disk.rows));
    assert!(disk.cat(&[raw]) == disk.tiled);
    let as_gnf = gnf(case.shape().descriptor(), &disk.tiled);
    assert!(disk.cat(&["--textures=default"]) == as_gnf);
    assert!(disk.cat(&[]) == as_gnf);

    let finished = disk.dir.run(["extract", dds, "xbox.ba2", "-C", "out"]);
    assert_eq!(finished.code, 0, "{finished:?}");
    assert!(fs::read(disk.dir.path("out/Textures/Wall.DDS")).unwrap() == case.dds(&disk.rows));
    let left = fs::read(disk.dir.path("out/Textures/Left.DDS")).unwrap();
    assert_eq!((&left[84..88], left.len()), (&b"XBOX"[..], 164 + disk.tiled.len()));
    let line = "1 texture cannot be converted for a PC, so the console's header is kept: 1 of tile mode 14";
    assert_eq!(finished.err, format!("bsafs: warn: xbox.ba2: {line}\n"));

    let sizes = |form| disk.dir.run(["list", "-l", form, "gnmf.ba2"]).success();
    assert_eq!(sizes(dds).split_whitespace().next(), Some(&*(148 + disk.rows.len()).to_string()));
    assert_eq!(sizes(raw).split_whitespace().next(), Some(&*disk.tiled.len().to_string()));
    for command in ["info", "verify"] {
        let finished = disk.dir.run([command, dds, "gnmf.ba2", "xbox.ba2"]);
        assert_eq!(finished.code, 0, "{finished:?}");
    }
    let refused = disk.dir.run(["cat", "--textures=png", "gnmf.ba2", "textures/sky.dds"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    let refused = disk.dir.run(["mount", "-otextures=png", "gnmf.ba2"]);
    assert!(refused.code == 2 && refused.err.contains("textures=png"), "{refused:?}");
}

#[test]
fn a_mount_shows_linear_textures_and_the_tile_mode_of_others() {
    let disk = Disk::new();
    // Not `TestDir::mount`, because the command warns of the texture that cannot become linear.
    let finished = disk.dir.run(["mount", "-otextures=dds,xattr", "gnmf.ba2", "xbox.ba2", "mnt"]);
    assert!(finished.code == 0 && finished.err.contains("1 of tile mode 14"), "{finished:?}");
    let mounted = Mounted::at(&disk.dir.path("mnt"), finished.out);
    let expected = CASES[0].dds(&disk.rows);
    let mode = |path: &std::path::Path| xattr::get(path, "user.bsafs.tile_mode").unwrap();
    for name in ["TEXTURES/sky.dds", "textures/wall.dds"] {
        let path = mounted.join(name);
        assert_eq!(fs::metadata(&path).unwrap().len(), expected.len() as u64, "{name}");
        assert!(fs::read(&path).unwrap() == expected, "{name}");
        assert_eq!(mode(&path), None, "{name}");
        let names: Vec<_> = xattr::list(&path).unwrap().collect();
        assert!(names.contains(&"user.bsafs.codec".into()) && names.len() == 6, "{names:?}");
    }
    let left = mounted.join("textures/left.dds");
    assert_eq!(fs::read(&left).unwrap()[84..88], *b"XBOX");
    assert_eq!(mode(&left), Some(b"14".to_vec()));
    assert!(xattr::list(&left).unwrap().any(|name| name == "user.bsafs.tile_mode"));
    let which = disk.dir.run(["which", "-v", "mnt/textures/left.dds"]).success();
    assert!(which.contains("arranged for a console's GPU (tile mode 14)"), "{which}");
}
