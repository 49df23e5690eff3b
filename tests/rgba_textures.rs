//! `--textures=rgba`: textures as uncompressed pixels, in commands and a mount. The expected pixels are
//! decoded from what `--textures=dds` shows; `picture::rgba_texture` and an oracle test the decoding.

use std::fs;
use std::io::Read;
use std::os::unix::fs::FileExt;

use bsafs::picture::RgbaTexture;
use bsafs::texture::file_header::FileHeader;
use bsafs::{OpenOptions, TextureForm};
use rustix::io::Errno;

use crate::mounted::{TestDir, logged};
use crate::support::consoles::Shape;
use crate::support::content::{noise, text};
use crate::support::tiler::Tiler;
use crate::support::{Ba2, Ba2File, Chunk, Tes4, Tes4File, Texture, dds};

/// A texture file as `--textures=rgba` must show it.
fn rgba(file: &[u8]) -> Vec<u8> {
    let shown = RgbaTexture::new(FileHeader::parse(file).unwrap(), file.len() as u64).unwrap();
    let mut bytes = shown.head();
    while let Some(band) = shown.band((bytes.len() - shown.head().len()) as u64) {
        let start = bytes.len();
        bytes.resize(start + (band.pixels.end - band.pixels.start) as usize, 0);
        let texels = &file[band.texels.start as usize..band.texels.end as usize];
        shown.decode(&band, texels, &mut bytes[start..]);
    }
    bytes
}

/// A DDS file with random texels.
fn dds_file(format: u8, width: u16, height: u16, mips: u8, cube: bool) -> Vec<u8> {
    let faces = if cube { 6 } else { 1 };
    let len = dds::mip_bytes(format, width, height, mips).iter().sum::<usize>() * faces;
    [dds::header(format, width, height, mips, cube), noise(width.into(), len)].concat()
}

struct Disk {
    dir: TestDir,
    /// The path and the expected bytes of each file.
    files: Vec<(&'static str, Vec<u8>)>,
}

impl Disk {
    /// A BA2 with textures in chunks, one of the PlayStation 4, and a BSA with whole files.
    fn new() -> Self {
        let dir = TestDir::new();
        let wall = dds_file(dds::BC7, 1024, 512, 11, false);
        let sky = dds_file(dds::BC1, 32, 32, 6, true);
        let (first, rest) = wall[148..].split_at(1024 * 512);
        let ba2 = Ba2::textures(1)
            .add(
                Ba2File::texture("Textures\\Wall.DDS", Texture::new(dds::BC7, 1024, 512, 11))
                    .chunk(Chunk::zlib(first))
                    .chunk(Chunk::zlib(rest)),
            )
            .add(
                Ba2File::texture("textures\\sky.dds", Texture::new(dds::BC1, 32, 32, 6).cube())
                    .chunk(Chunk::stored(&sky[128..])),
            );
        let tiler =
            Tiler { width: 64, height: 64, mips: 1, faces: 1, side: 4, bytes: 16, powers_of_two: false };
        let sand = dds_file(dds::BC3, 64, 64, 1, false);
        let shape = Shape { format: 0x25, width: 64, height: 64, mips: 1, tile_mode: 13, cube: false };
        let gnm = Ba2::gnm(1).add(
            Ba2File::gnm("textures\\sand.dds", shape.descriptor())
                .chunk(Chunk::zlib(tiler.tile(&sand[128..]))),
        );
        let bump = dds_file(dds::BC5, 300, 200, 9, false);
        let cut = &dds_file(dds::BC7, 64, 64, 1, false)[..900];
        let note = text(1, 500);
        let bsa = Tes4::new(105)
            .add("textures", Tes4File::new("bump.dds", bump.clone()).toggle())
            .file("textures", "cut.dds", cut)
            .file("textures", "note.dds", note.clone())
            .file("textures", "wall.txt", wall.clone());
        dir.archive("a.ba2", &ba2.build());
        dir.archive("b.ba2", &gnm.build());
        dir.archive("c.bsa", &bsa.build());
        let files = vec![
            ("textures/wall.dds", rgba(&wall)),
            ("textures/sky.dds", rgba(&sky)),
            ("textures/sand.dds", rgba(&sand)),
            ("textures/bump.dds", rgba(&bump)),
            ("textures/cut.dds", cut.to_vec()),
            ("textures/note.dds", note),
            ("textures/wall.txt", wall),
        ];
        Self { dir, files }
    }
}

#[test]
fn a_mount_shows_every_texture_of_an_archive_as_uncompressed_pixels() {
    let disk = Disk::new();
    let mounted = disk.dir.mount(["-otextures=rgba", "a.ba2", "b.ba2", "c.bsa"]);
    // A listing gets the sizes before any file is opened.
    let mut sizes: Vec<(String, u64)> = fs::read_dir(mounted.join("textures"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|it| (it.file_name().into_string().unwrap().to_lowercase(), it.metadata().unwrap().len()))
        .collect();
    sizes.sort();
    let mut expected: Vec<(String, u64)> = disk
        .files
        .iter()
        .map(|(path, bytes)| (path.trim_start_matches("textures/").to_owned(), bytes.len() as u64))
        .collect();
    expected.sort();
    assert_eq!(sizes, expected);
    for (path, bytes) in &disk.files {
        assert!(mounted.read(path) == *bytes, "{path}");
    }
    // Reads that begin and end anywhere, in a mount that has nothing in its cache.
    mounted.umount(&disk.dir);
    let mounted = disk.dir.mount(["-otextures=rgba", "a.ba2", "b.ba2", "c.bsa"]);
    for (path, bytes) in &disk.files {
        let file = fs::File::open(mounted.join(path)).unwrap();
        for (at, len) in [(0, 4), (120, 100), (bytes.len() / 2 - 7, 300_001), (bytes.len() - 3, 9)] {
            let mut read = vec![0; len.min(bytes.len() - at)];
            file.read_exact_at(&mut read, at as u64).unwrap();
            assert!(read == bytes[at..at + read.len()], "{path}: {len} bytes at {at}");
        }
    }
}

#[test]
fn commands_show_uncompressed_textures() {
    let disk = Disk::new();
    let finished = disk.dir.run(["extract", "--textures=rgba", "a.ba2", "b.ba2", "c.bsa", "-C", "out"]);
    assert_eq!(finished.code, 0, "{finished:?}");
    for (path, bytes) in &disk.files {
        let name = fs::read_dir(disk.dir.path("out/textures")).into_iter().flatten();
        let folders = name.chain(fs::read_dir(disk.dir.path("out/Textures")).into_iter().flatten());
        let mut found =
            folders.flatten().filter(|it| path.ends_with(&it.file_name().to_string_lossy().to_lowercase()));
        assert!(fs::read(found.next().unwrap().path()).unwrap() == *bytes, "{path}");
    }
    let verified = disk.dir.run(["verify", "--textures=rgba", "a.ba2", "b.ba2", "c.bsa"]);
    assert_eq!(verified.code, 0, "{verified:?}");
}

/// Width, height and pixels of a PNG file as bsafs writes it: red, green, blue and alpha, filter Sub.
fn png(bytes: &[u8]) -> (u32, u32, Vec<[u8; 4]>) {
    let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    let (width, height, len) = (word(16), word(20), word(33) as usize);
    let mut rows = Vec::new();
    flate2::read::ZlibDecoder::new(&bytes[41..41 + len]).read_to_end(&mut rows).unwrap();
    let mut pixels = Vec::new();
    for row in rows.chunks(width as usize * 4 + 1) {
        let mut left = [0_u8; 4];
        for pixel in row[1..].as_chunks::<4>().0 {
            left = std::array::from_fn(|at| left[at].wrapping_add(pixel[at]));
            pixels.push(left);
        }
    }
    (width, height, pixels)
}

#[test]
fn textures_become_png_files_with_all_pixels_and_alpha() {
    let disk = Disk::new();
    let extract = |more: &[&str]| {
        let arguments = [&["extract", "--png", "a.ba2", "c.bsa", "-C", "out"], more].concat();
        disk.dir.run(arguments)
    };
    let listed = extract(&["--dry-run"]).success();
    assert!(
        listed.contains("out/Textures/Wall.png\n") && listed.contains("out/Textures/cut.dds\n"),
        "{listed}"
    );
    let finished = extract(&[]);
    assert_eq!(finished.code, 0, "{finished:?}");
    for (name, file, sides) in [("Textures/Wall", 0, (1024, 512)), ("Textures/bump", 3, (300, 200))] {
        let (width, height, pixels) = png(&fs::read(disk.dir.path(format!("out/{name}.png"))).unwrap());
        assert_eq!((width, height), sides);
        let expected = disk.files[file].1[128..].as_chunks().0.iter().map(|&[b, g, r, a]| [r, g, b, a]);
        assert!(expected.take(pixels.len()).eq(pixels), "{name}");
    }
    for (path, bytes) in &disk.files[4..] {
        assert!(
            fs::read(disk.dir.path("out").join(path.replace("textures/", "Textures/"))).unwrap() == *bytes,
            "{path}"
        );
    }
    assert!(!disk.dir.path("out/Textures/bump.dds").exists());
    let again = extract(&[]);
    assert!(again.code == 0 && again.out.contains("6 files exist already"), "{again:?}");
    fs::write(disk.dir.path("out/Textures/bump.png"), "edited").unwrap();
    let again = extract(&[]);
    assert!(again.code == 1 && again.out.contains("1 of them with other bytes"), "{again:?}");
}

#[test]
fn a_texture_beside_a_picture_of_its_name_becomes_a_second_picture() {
    let dir = TestDir::new();
    let texture = dds_file(dds::BC1, 8, 8, 1, false);
    let archive = Tes4::new(105).file("t", "a.dds", texture).file("t", "A.png", "a picture");
    dir.archive("a.bsa", &archive.build());
    let finished = dir.run(["extract", "--png", "a.bsa", "-C", "out"]);
    assert_eq!(finished.code, 0, "{finished:?}");
    assert_eq!(fs::read(dir.path("out/t/A.png")).unwrap(), b"a picture");
    assert_eq!(png(&fs::read(dir.path("out/t/a.dds.png")).unwrap()).0, 8);
}

#[test]
fn a_texture_whose_extent_does_not_fit_into_the_cache_stays_as_it_is() {
    // The sizes are only stated. Reading the extent would take 341 MiB.
    let sized = |name: &str, side: u16, mips: u8| {
        let len = dds::mip_bytes(dds::BC7, side, side, mips).iter().sum::<usize>();
        let file = Ba2File::texture(name, Texture::new(dds::BC7, side, side, mips));
        // A zlib stream cannot be much shorter.
        let packed = len / 1000;
        (file.chunk(Chunk::raw(vec![0; packed], packed as u32, len as u32)), len)
    };
    let ((huge, huge_len), (large, _)) = (sized("huge.dds", 16_384, 15), sized("large.dds", 8192, 14));
    let dir = TestDir::new();
    dir.archive("a.ba2", &Ba2::textures(1).add(huge).add(large).build());
    let listed = dir.run(["list", "-l", "--textures=rgba", "a.ba2"]).success();
    let sizes: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let pixels: usize = (0..14).map(|mip| (8192_usize >> mip).pow(2) * 4).sum();
    assert_eq!(sizes, [(148 + huge_len).to_string(), (128 + pixels).to_string()]);
}

#[test]
fn a_full_thumbnail_has_all_pixels() {
    let disk = Disk::new();
    let file = dds_file(dds::BC7, 2052, 8, 1, false);
    disk.dir.archive("wide.dds", &file);
    disk.dir.run(["thumbnail", "--size", "full", "wide.dds", "wide.png"]).success();
    let (width, height, pixels) = png(&fs::read(disk.dir.path("wide.png")).unwrap());
    assert_eq!((width, height), (2052, 8));
    let expected = rgba(&file);
    let expected = expected[128..].as_chunks().0.iter().map(|&[b, g, r, a]| [r, g, b, a]);
    assert!(expected.eq(pixels));
    for size in ["0", "2049", "fully"] {
        let refused = disk.dir.run(["thumbnail", "--size", size, "wide.dds", "wide.png"]);
        assert!(refused.code == 2 && refused.err.contains("from 1 to 2048"), "{refused:?}");
    }
}

#[test]
fn a_damaged_texture_stays_listed_and_fails_with_eio() {
    let dir = TestDir::new();
    let good = dds_file(dds::BC3, 64, 64, 1, false);
    let mut archive = Tes4::new(105)
        .add("textures", Tes4File::new("bad.dds", good.clone()).toggle())
        .add("textures", Tes4File::new("good.dds", good.clone()))
        .build();
    // The stream of the first file follows its unpacked size.
    let size = u32::try_from(good.len()).unwrap().to_le_bytes();
    let at = archive.windows(4).rposition(|it| it == size).unwrap();
    archive[at + 6..at + 40].fill(0xFF);
    dir.archive("a.bsa", &archive);
    let mounted = dir.mount(["-otextures=rgba", "--log-file", "log", "a.bsa"]);
    assert_eq!(fs::read_dir(mounted.join("textures")).unwrap().count(), 2);
    assert_eq!(fs::metadata(mounted.join("textures/bad.dds")).unwrap().len(), good.len() as u64);
    assert_eq!(mounted.read_error("textures/bad.dds"), Some(Errno::IO.raw_os_error()));
    assert!(mounted.read("textures/good.dds") == rgba(&good));
    let log = logged(&dir, 1);
    assert_eq!(log.matches("bad.dds").count(), 1, "{log}");
}

#[test]
fn reading_nothing_of_a_texture_decodes_nothing() {
    let dir = TestDir::new();
    let file = dds_file(dds::BC3, 512, 512, 1, false);
    let mut archive = Tes4::new(104).add("textures", Tes4File::new("end.dds", file).toggle()).build();
    // The header can be read, but not the texels: they are decoded together.
    let end = archive.len() - 40;
    archive[end..end + 30].fill(0xFF);
    dir.archive("a.bsa", &archive);
    let vfs = OpenOptions::new().textures(TextureForm::Rgba).open([dir.path("a.bsa")]).unwrap();
    let texture = vfs.file("textures/end.dds").unwrap();
    let len = 128 + 512 * 512 * 4;
    assert_eq!(texture.size().unwrap(), len);
    let read = |offset, buffer: &mut [u8]| texture.read_at(offset, buffer).ok();
    assert_eq!(read(200, &mut []), Some(0));
    assert_eq!(read(len, &mut [0; 4]), Some(0));
    assert_eq!(read(u64::MAX, &mut [0; 4]), Some(0));
    assert_eq!(read(200, &mut [0; 4]), None, "the texels are not damaged");
}
