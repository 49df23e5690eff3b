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
use crate::support::tes4::{FILE_NAMES, FOLDER_NAMES, PACKED, XBOX_360, XMEM};
use crate::support::tiler::Tiler;
use crate::support::{Ba2, Ba2File, Chunk, Tes4, Tes4File, Texture, dds, pack};

/// A texture file as `--textures=rgba` must show it.
fn rgba(file: &[u8]) -> Vec<u8> {
    let shown =
        RgbaTexture::new(FileHeader::parse(file, file.len() as u64).unwrap(), file.len() as u64).unwrap();
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
    assert!(finished.code == 1 && finished.err.contains("cut.dds: stays as it is: "), "{finished:?}");
    for (path, bytes) in &disk.files {
        let name = fs::read_dir(disk.dir.path("out/textures")).into_iter().flatten();
        let folders = name.chain(fs::read_dir(disk.dir.path("out/Textures")).into_iter().flatten());
        let mut found =
            folders.flatten().filter(|it| path.ends_with(&it.file_name().to_string_lossy().to_lowercase()));
        assert!(fs::read(found.next().unwrap().path()).unwrap() == *bytes, "{path}");
    }
    let verified = disk.dir.run(["verify", "--textures=rgba", "a.ba2", "b.ba2", "c.bsa"]);
    let bad: Vec<&str> = verified.out.lines().filter(|line| line.starts_with("bad: ")).collect();
    assert!(verified.code == 1 && bad.len() == 1 && bad[0].contains("cut.dds: cut off"), "{verified:?}");
}

/// Width, height and bytes of the pixels of a PNG file as bsafs writes it, with filter Sub.
fn png_bytes(bytes: &[u8]) -> (u32, u32, Vec<u8>) {
    let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    let (width, height) = (word(16), word(20));
    let channels = match bytes[25] {
        0 => 1,
        2 => 3,
        _ => 4,
    };
    let (mut at, mut data) = (33, Vec::new());
    while &bytes[at + 4..at + 8] == b"IDAT" {
        let len = word(at) as usize;
        data.extend(&bytes[at + 8..at + 8 + len]);
        let mut crc = flate2::Crc::new();
        crc.update(&bytes[at + 4..at + 8 + len]);
        assert_eq!(crc.sum(), word(at + 8 + len));
        at += len + 12;
    }
    assert_eq!(bytes[at..], *b"\0\0\0\0IEND\xAE\x42\x60\x82");
    let mut rows = Vec::new();
    flate2::read::ZlibDecoder::new(&data[..]).read_to_end(&mut rows).unwrap();
    let mut pixels = Vec::new();
    for row in rows.chunks(width as usize * channels + 1) {
        assert_eq!(row[0], 1, "filter");
        let start = pixels.len();
        for (x, byte) in row[1..].iter().enumerate() {
            let left = if x < channels { 0 } else { pixels[start + x - channels] };
            pixels.push(byte.wrapping_add(left));
        }
    }
    (width, height, pixels)
}

/// Width, height and pixels of a PNG file with red, green, blue and alpha.
fn png(bytes: &[u8]) -> (u32, u32, Vec<[u8; 4]>) {
    let (width, height, pixels) = png_bytes(bytes);
    assert_eq!(bytes[25], 6);
    (width, height, pixels.as_chunks().0.to_vec())
}

#[test]
fn textures_become_png_files_with_all_pixels_and_alpha() {
    let disk = Disk::new();
    let extract = |more: &[&str]| {
        let arguments = [&["extract", "--png", "a.ba2", "c.bsa", "-C", "out"], more].concat();
        disk.dir.run(arguments)
    };
    // One texture is cut off, which a dry run says, too.
    let listed = extract(&["--dry-run"]);
    assert!(listed.code == 1 && listed.err.contains("cut.dds: stays as it is: "), "{listed:?}");
    assert!(
        listed.out.contains("out/Textures/Wall.png\n") && listed.out.contains("out/Textures/cut.dds\n"),
        "{listed:?}"
    );
    let finished = extract(&[]);
    // One texture is cut off.
    assert!(finished.code == 1 && finished.err.contains("cut.dds: stays as it is: "), "{finished:?}");
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
    assert!(again.code == 1 && again.out.contains("11 files exist already"), "{again:?}");
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

/// Textures that no program could show as they are asked for, and one that can be converted.
fn unusual() -> Vec<(&'static str, Vec<u8>)> {
    let good = dds_file(dds::BC3, 16, 16, 5, false);
    let mut volume = good.clone();
    volume[114] |= 0x20;
    volume[24] = 4;
    let mut unknown = good.clone();
    unknown[84..88].copy_from_slice(b"WXYZ");
    vec![("good.dds", good), ("unknown.dds", unknown), ("volume.dds", volume), ("text.dds", text(1, 500))]
}

fn bsa(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let add = |archive: Tes4, (name, bytes): &(&str, Vec<u8>)| archive.file("textures", name, bytes.clone());
    files.iter().fold(Tes4::new(105), add).build()
}

const REASONS: &str = "a volume (1), an unknown format (1), no texture (1)";

#[test]
fn textures_that_stay_as_they_are_are_counted_with_their_reasons() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &bsa(&unusual()));
    for (option, folder) in [("--png", "png"), ("--textures=rgba", "rgba")] {
        let finished = dir.run(["extract", "-v", option, "a.bsa", "-C", folder]);
        let count = format!("; 3 textures stay as they are: {REASONS}; -v lists them");
        assert!(finished.code == 0 && finished.out.contains(&count), "{finished:?}");
        assert!(finished.err.contains("textures/volume.dds: stays as it is: a volume"), "{finished:?}");
    }
    let info = dir.run(["info", "--textures=rgba", "a.bsa"]).success();
    let line = "odd            1 texture stays as it is: a volume (textures/volume.dds)";
    assert!(info.contains(line), "{info}");
    let json = dir.run(["info", "--json", "--textures=rgba", "a.bsa"]).success();
    assert!(json.contains(r#""code":"texture-kept""#) && json.contains(r#""reason":"a volume""#), "{json}");
    assert!(!dir.run(["info", "a.bsa"]).success().contains("stays as it is"));
    let mounted = dir.mount(["-otextures=rgba", "--log-file", "log", "a.bsa"]);
    // The headers in a BSA are read when a listing needs the sizes.
    let listed = fs::read_dir(mounted.join("textures")).unwrap().map(|it| it.unwrap().metadata().unwrap());
    assert_eq!(listed.collect::<Vec<_>>().len(), 4);
    let status = dir.run(["status".as_ref(), mounted.join("").as_os_str()]).success();
    assert!(status.contains(&format!("odd        3 unconverted textures: {REASONS}")), "{status}");
    mounted.read("textures/volume.dds");
    mounted.read("textures/unknown.dds");
    let log = logged(&dir, 1);
    assert_eq!(log.matches("stays as it is: a volume").count(), 1, "{log}");
    assert!(!log.contains("an unknown format"), "the first texture of an archive is enough: {log}");
}

#[test]
fn a_mount_counts_the_textures_of_a_ba2_that_stay_as_they_are() {
    let dir = TestDir::new();
    let texture = |name: &str, format: u8| {
        Ba2File::texture(name, Texture::new(format, 4, 4, 1)).chunk(Chunk::stored(noise(1, 64)))
    };
    let archive = Ba2::textures(1).add(texture("good.dds", 77)).add(texture("t/video.dds", 100));
    dir.archive("a.ba2", &archive.add(texture("t/odd.dds", 200)).build());
    let mounted = dir.run(["mount", "--textures=rgba", "--log-file", "log", "a.ba2", "mnt"]).success();
    let odd = "odd: 2 unconverted textures: an unknown format (1), an unsupported format (1) \
               (t/odd.dds, t/video.dds): bsafs status ";
    assert!(mounted.contains(odd), "{mounted}");
    let status = dir.run(["status", "--json", "mnt"]).success();
    dir.run(["umount", "mnt"]).success();
    assert!(status.contains(r#""code":"texture-kept""#), "{status}");
    let loose = dir.path("loose");
    fs::create_dir(&loose).unwrap();
    fs::write(loose.join("a.dds"), dds_file(77, 4, 4, 1, false)).unwrap();
    let finished = dir.run(["extract", "--textures=rgba", "loose", "-C", "out"]).success();
    assert!(finished.contains("1 texture stays as it is: a loose file; -v lists it"), "{finished}");
    let mounted = dir.run(["mount", "--textures=rgba", "loose", "mnt"]).success();
    dir.run(["umount", "mnt"]).success();
    assert!(mounted.contains("odd: 1 unconverted texture: a loose file (a.dds)"), "{mounted}");
}

#[test]
fn a_texture_that_lacks_its_small_mips_is_converted_as_far_as_it_goes() {
    let dir = TestDir::new();
    let whole = dds_file(dds::BC7, 256, 256, 9, false);
    let cut = whole[..whole.len() - 32].to_vec();
    let mip0 = whole[..148 + 256 * 256].to_vec();
    dir.archive("a.bsa", &bsa(&[("cut.dds", cut.clone()), ("mip0.dds", mip0.clone())]));
    let mounted = dir.mount(["-otextures=rgba", "a.bsa"]);
    for (name, file, mips) in [("cut.dds", &cut, 7_u32), ("mip0.dds", &mip0, 1)] {
        let path = format!("textures/{name}");
        let expected = rgba(file);
        assert_eq!(fs::metadata(mounted.join(&path)).unwrap().len(), expected.len() as u64);
        assert_eq!(expected.len(), 128 + (0..mips).map(|mip| (256_usize >> mip).pow(2) * 4).sum::<usize>());
        assert!(mounted.read(&path) == expected, "{name}");
    }
    drop(mounted);
    dir.run(["extract", "--png", "a.bsa", "-C", "out"]).success();
    let all = rgba(&whole);
    for name in ["cut.png", "mip0.png"] {
        let (width, _, pixels) = png(&fs::read(dir.path("out/textures").join(name)).unwrap());
        let expected = all[128..].as_chunks().0.iter().map(|&[b, g, r, a]| [r, g, b, a]).take(256 * 256);
        assert!(width == 256 && expected.eq(pixels), "{name}");
    }
}

/// A DDS file of BC1_UNORM_SRGB with random texels.
fn srgb_file(width: u16, height: u16, mips: u8) -> Vec<u8> {
    let mut header = dds::header(dds::BC7, width, height, mips, false);
    header[128] = 72;
    [&header[..], &dds_file(dds::BC1, width, height, mips, false)[128..]].concat()
}

#[test]
fn compatible_headers_are_written_into_the_files_of_a_bsa_too() {
    let dir = TestDir::new();
    let srgb = srgb_file(64, 64, 7);
    let mut bc5 = dds_file(dds::BC5, 16, 16, 5, false);
    bc5[84..88].copy_from_slice(b"BC5U");
    let old = dds_file(dds::BC3, 16, 16, 5, false);
    let mut array = srgb_file(8, 8, 1);
    array[140] = 2;
    array.extend([7; 32]);
    let files = [
        ("srgb.dds", srgb.clone()),
        ("bc5.dds", bc5.clone()),
        ("old.dds", old.clone()),
        ("array.dds", array.clone()),
    ];
    let packed = files.iter().fold(Tes4::new(105), |archive, (name, bytes)| {
        archive.add("textures", Tes4File::new(*name, bytes.clone()).toggle())
    });
    dir.archive("a.bsa", &bsa(&files));
    dir.archive("b.bsa", &packed.build());
    let of_srgb = [&dds::header(dds::BC1, 64, 64, 7, false)[..], &srgb[148..]].concat();
    let mut of_bc5 = bc5.clone();
    of_bc5[84..88].copy_from_slice(b"ATI2");
    let expected = [("srgb.dds", of_srgb), ("bc5.dds", of_bc5), ("old.dds", old), ("array.dds", array)];
    for archive in ["a.bsa", "b.bsa"] {
        let mounted = dir.mount(["-otextures=compatible", archive]);
        for (name, bytes) in &expected {
            let path = format!("textures/{name}");
            assert_eq!(
                fs::metadata(mounted.join(&path)).unwrap().len(),
                bytes.len() as u64,
                "{archive} {name}"
            );
            assert!(mounted.read(&path) == *bytes, "{archive} {name}");
        }
        mounted.umount(&dir);
        let vfs = OpenOptions::new().textures(TextureForm::Compatible).open([dir.path(archive)]).unwrap();
        for (name, bytes) in &expected {
            let file = vfs.file(format!("textures/{name}")).unwrap();
            assert_eq!((file.size().unwrap(), file.read().unwrap()), (bytes.len() as u64, bytes.clone()));
            for at in 0..bytes.len() + 2 {
                let mut read = [0; 150];
                let len = file.read_at(at as u64, &mut read).unwrap();
                assert_eq!(
                    read[..len],
                    bytes[at.min(bytes.len())..bytes.len().min(at + 150)],
                    "{name} at {at}"
                );
            }
        }
        dir.run(["extract", "--textures=compatible", archive, "-C", "out", "--overwrite"]).success();
        for (name, bytes) in &expected {
            assert!(fs::read(dir.path("out/textures").join(name)).unwrap() == *bytes, "{archive} {name}");
        }
    }
}

/// The header of B8G8R8A8_UNORM with one mip.
fn bgra_header(width: u16, height: u16, cube: bool) -> Vec<u8> {
    bsafs::texture::dds::Texture { width, height, mips: 1, format: 87, cube }.header()
}

#[test]
fn uncompressed_textures_can_have_only_the_largest_mip() {
    let dir = TestDir::new();
    let cube = dds_file(dds::BC3, 16, 16, 5, true);
    let flat = dds_file(dds::BC7, 64, 32, 7, false);
    dir.archive("a.bsa", &bsa(&[("cube.dds", cube.clone()), ("flat.dds", flat.clone())]));
    let vfs = OpenOptions::new().textures(TextureForm::RgbaTop).open([dir.path("a.bsa")]).unwrap();
    let faces: Vec<u8> = rgba(&cube)[128..]
        .chunks((0..5).map(|mip| (16_usize >> mip).pow(2) * 4).sum())
        .flat_map(|face| face[..16 * 16 * 4].to_vec())
        .collect();
    for (name, head, pixels) in [
        ("cube.dds", bgra_header(16, 16, true), faces),
        ("flat.dds", bgra_header(64, 32, false), rgba(&flat)[128..128 + 64 * 32 * 4].to_vec()),
    ] {
        let file = vfs.file(format!("textures/{name}")).unwrap();
        let expected = [head, pixels].concat();
        assert_eq!(file.size().unwrap(), expected.len() as u64);
        assert!(file.read().unwrap() == expected, "{name}");
    }
}

#[test]
fn alpha_can_be_written_as_a_picture_of_its_own() {
    let dir = TestDir::new();
    let (bump, wall) = (dds_file(dds::BC3, 20, 12, 1, false), dds_file(dds::BC5, 8, 8, 1, false));
    let files = [("bump_n.dds", bump.clone()), ("wall.dds", wall), ("cut.dds", vec![0; 9])];
    dir.archive("a.bsa", &bsa(&files));
    let listed = dir.run(["extract", "--png", "--split-alpha", "--dry-run", "a.bsa", "-C", "out"]).success();
    assert!(listed.contains("out/textures/bump_n-alpha.png\n") && !listed.contains("wall-alpha"), "{listed}");
    let written = dir.run(["extract", "--png", "--split-alpha", "a.bsa", "-C", "out"]).success();
    assert!(written.contains("wrote 4 files"), "{written}");
    let part = |name: &str| png_bytes(&fs::read(dir.path("out/textures").join(name)).unwrap());
    let pixels: Vec<[u8; 4]> = rgba(&bump)[128..].as_chunks().0.to_vec();
    let colours = pixels.iter().flat_map(|&[b, g, r, _]| [r, g, b]).collect();
    assert_eq!(part("bump_n.png"), (20, 12, colours));
    assert_eq!(part("bump_n-alpha.png"), (20, 12, pixels.iter().map(|it| it[3]).collect()));
    assert_eq!(part("wall.png").2.len(), 8 * 8 * 3);
    assert!(!dir.path("out/textures/wall-alpha.png").exists(), "BC5 has no alpha");
    let again = dir.run(["extract", "--png", "--split-alpha", "a.bsa", "-C", "out"]);
    assert!(again.code == 0 && again.out.contains("4 files exist already"), "{again:?}");
}

/// Runs the program with a limit of its address space.
fn run_within(dir: &TestDir, mib: u64, command: &str) {
    let kib = mib << 10;
    let script = format!("ulimit -v {kib} && exec '{}' {command}", env!("CARGO_BIN_EXE_bsafs"));
    let mut shell = std::process::Command::new("sh");
    let finished = crate::mounted::run(shell.args(["-c", &script]).current_dir(dir.path("")));
    assert_eq!(finished.code, 0, "{finished:?}");
}

#[test]
fn the_memory_for_a_picture_in_full_size_does_not_depend_on_its_size() {
    let dir = TestDir::new();
    // A picture of 32 MiB, which random texels make impossible to compress.
    let (width, height) = (4096, 2048);
    let file = dds_file(dds::BC7, width, height, 1, false);
    fs::write(dir.path("large.dds"), &file).unwrap();
    run_within(&dir, 54, "thumbnail --size full large.dds large.png");
    let ba2 = Ba2::textures(1).add(
        Ba2File::texture("textures\\large.dds", Texture::new(dds::BC7, width, height, 1))
            .chunk(Chunk::zlib(&file[148..])),
    );
    dir.archive("a.ba2", &ba2.build());
    let bsa = Tes4::new(105).add("textures", Tes4File::new("large.dds", file.clone()).toggle());
    dir.archive("b.bsa", &bsa.build());
    let starfield = Ba2::textures(3).method(3).add(
        Ba2File::texture("textures\\large.dds", Texture::new(dds::BC7, width, height, 1))
            .chunk(Chunk::lz4(&file[148..])),
    );
    dir.archive("c.ba2", &starfield.build());
    let stream = Tes4File::new("large.dds", file.clone()).stream(pack::xmem_stored(&file));
    let xbox = Tes4::new(104).flags(FOLDER_NAMES | FILE_NAMES | PACKED | XBOX_360 | XMEM);
    dir.archive("d.bsa", &xbox.add("textures", stream).build());
    for archive in ["a.ba2", "b.bsa", "c.ba2", "d.bsa"] {
        run_within(&dir, 66, &format!("extract --png {archive} -C {archive}.out"));
        let written = fs::read(dir.path(format!("{archive}.out/textures/large.png"))).unwrap();
        assert!(written == fs::read(dir.path("large.png")).unwrap(), "{archive}");
    }
    let (_, _, pixels) = png(&fs::read(dir.path("large.png")).unwrap());
    let expected = rgba(&file);
    assert!(expected[128..].as_chunks().0.iter().map(|&[b, g, r, a]| [r, g, b, a]).eq(pixels));
}

#[test]
fn damage_at_the_end_of_a_large_texture_is_noticed_although_it_is_decoded_in_pieces() {
    let dir = TestDir::new();
    // R8G8B8A8, whose decoding takes the least time for each byte.
    let texels = noise(9, 4 << 20);
    let packed = pack::zlib(&texels);
    let mut wrong = packed.clone();
    *wrong.last_mut().unwrap() ^= 1;
    let unended = packed[..packed.len() - 4].to_vec();
    for (name, packed, code) in [("good", packed, 0), ("wrong", wrong, 1), ("unended", unended, 0)] {
        let chunk = Chunk::raw(packed.clone(), packed.len() as u32, texels.len() as u32);
        let texture = Ba2File::texture("a.dds", Texture::new(28, 1024, 1024, 1)).chunk(chunk);
        dir.archive(&format!("{name}.ba2"), &Ba2::textures(1).add(texture).build());
        let extract = |more: &[&str]| {
            let archive = format!("{name}.ba2");
            dir.run([&["extract", "--png", &archive, "-C", name], more].concat())
        };
        let finished = extract(&[]);
        assert_eq!(finished.code, code, "{name}: {finished:?}");
        assert_eq!(dir.path(name).join("a.png").exists(), code == 0, "{name}");
        if code != 0 {
            assert_eq!(extract(&["--salvage"]).code, 0, "{name}");
        }
        let written = fs::read(dir.path(name).join("a.png")).unwrap();
        assert!(written == fs::read(dir.path("good/a.png")).unwrap(), "{name}");
    }
}

/// Names and bytes of the files in `out/t`.
fn extracted(dir: &TestDir) -> Vec<(String, Vec<u8>)> {
    let read = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.unwrap().path();
        (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap())
    };
    let mut files: Vec<_> = fs::read_dir(dir.path("out/t")).unwrap().map(read).collect();
    files.sort();
    files
}

#[test]
fn every_face_of_a_cube_and_every_layer_of_an_array_becomes_a_picture() {
    let dir = TestDir::new();
    let pixels = |value: u8| [value, 0, 0, 255].repeat(16);
    let cube: Vec<u8> = (0..6).flat_map(|face| [pixels(face), vec![99; 20]].concat()).collect();
    let cube = [dds::header(dds::RGBA8, 4, 4, 3, true), cube].concat();
    let mut partial = dds::header(dds::RGBA8, 4, 4, 1, true);
    partial[112..116].copy_from_slice(&(0x200u32 | 0x400 | 0x2000).to_le_bytes());
    partial.extend([pixels(7), pixels(8)].concat());
    let mut array = dds::header(dds::BC7, 4, 4, 1, false);
    array[128] = 28;
    array[140] = 3;
    array.extend([pixels(10), pixels(11), pixels(12)].concat());
    let archive = Tes4::new(105)
        .file("t", "cube.dds", cube)
        .file("t", "part.dds", partial)
        .file("t", "array.dds", array.clone())
        // A name that a layer would get.
        .file("t", "array_item001.dds", [dds::header(dds::RGBA8, 4, 4, 1, false), pixels(50)].concat());
    dir.archive("a.bsa", &archive.build());
    let listed = dir.run(["extract", "--png", "--dry-run", "a.bsa", "-C", "out"]).success();
    dir.run(["extract", "--png", "a.bsa", "-C", "out"]).success();
    let found: Vec<(String, u8)> =
        extracted(&dir).into_iter().map(|(name, bytes)| (name, png(&bytes).2[0][0])).collect();
    let mut right = vec![("array_item001.png".to_owned(), 50)];
    right.extend((0..3).map(|layer| (format!("array.dds_item{layer:03}.png"), 10 + layer)));
    right.extend((0..6).map(|face| (format!("cube_item{face:03}.png"), face)));
    right.extend([("part_item000.png".to_owned(), 7), ("part_item003.png".to_owned(), 8)]);
    right.sort();
    assert_eq!(found, right);
    for (name, _) in &right {
        assert!(listed.contains(&format!("out/t/{name}\n")), "{listed}");
    }
    // A second run compares all of them, and alpha has pictures of its own.
    assert_eq!(dir.run(["extract", "--png", "a.bsa", "-C", "out"]).code, 0);
    dir.run(["extract", "--png", "--split-alpha", "a.bsa", "-C", "split"]).success();
    let names = fs::read_dir(dir.path("split/t")).unwrap().count();
    assert_eq!((names, dir.path("split/t/cube_item005-alpha.png").exists()), (2 * right.len(), true));
}

#[test]
fn formats_of_16_bits_keep_them() {
    let dir = TestDir::new();
    let mut wide = dds::header(dds::BC7, 2, 1, 1, false);
    wide[128] = 11;
    let values: [u16; 8] = [0, 1, 0x1234, 0xFFFF, 0xFFFE, 0x8000, 7, 0x00FF];
    wide.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    let mut ten = dds::header(dds::BC7, 1, 1, 1, false);
    ten[128] = 24;
    ten.extend((1023u32 | 512 << 10 | 1 << 20 | 3 << 30).to_le_bytes());
    let archive = Tes4::new(105).file("t", "wide.dds", wide).file("t", "ten.dds", ten);
    dir.archive("a.bsa", &archive.build());
    dir.run(["extract", "--png", "a.bsa", "-C", "out"]).success();
    let words = |bytes: &[u8]| -> Vec<u16> {
        assert_eq!(bytes[24..26], [16, 6], "depth and colour type");
        let (rows, len) = (&bytes[41..], u32::from_be_bytes(*bytes[33..].first_chunk().unwrap()) as usize);
        let mut row = Vec::new();
        flate2::read::ZlibDecoder::new(&rows[..len]).read_to_end(&mut row).unwrap();
        for at in 9..row.len() {
            row[at] = row[at].wrapping_add(row[at - 8]);
        }
        row[1..].as_chunks().0.iter().map(|it| u16::from_be_bytes(*it)).collect()
    };
    let files = extracted(&dir);
    assert_eq!(words(&files[1].1), values);
    assert_eq!(words(&files[0].1), [65_535, (512.0 / 1023.0 * 65_535.0 + 0.5) as u16, 64, 65_535]);
}

#[test]
fn light_becomes_an_openexr_file_with_the_stored_floats() {
    let dir = TestDir::new();
    let halves = [0x3C00u16, 0x7BFF, 0xC000, 0x0001, 0x3800, 0, 0x7C00, 0x3555];
    let mut file = dds::header(dds::BC7, 1, 2, 1, false);
    file[128] = 10;
    file.extend(halves.iter().flat_map(|half| half.to_le_bytes()));
    let mut float = dds::header(dds::BC7, 1, 1, 1, false);
    float[128] = 41;
    float.extend(1.0e30f32.to_le_bytes());
    let archive = Tes4::new(105).file("t", "half.dds", file).file("t", "one.dds", float);
    dir.archive("a.bsa", &archive.build());
    dir.run(["extract", "--png", "a.bsa", "-C", "out"]).success();
    let files = extracted(&dir);
    assert_eq!([&*files[0].0, &*files[1].0], ["half.exr", "one.exr"]);
    assert!(files[0].1.starts_with(&[0x76, 0x2F, 0x31, 1, 2, 0, 0, 0]));
    // Each row: its number, its length, then alpha, blue, green and red.
    let row = |y: u32, from: usize| -> Vec<u8> {
        let pixel = [halves[from + 3], halves[from + 2], halves[from + 1], halves[from]];
        [&y.to_le_bytes()[..], &8u32.to_le_bytes(), &pixel.map(u16::to_le_bytes).concat()].concat()
    };
    let rows = [row(0, 0), row(1, 4)].concat();
    assert!(files[0].1.ends_with(&rows), "{:x?}", files[0].1);
    let table = files[0].1.len() - rows.len() - 16;
    let place = |at: usize| u64::from_le_bytes(*files[0].1[table + at..].first_chunk().unwrap());
    assert_eq!([place(0), place(8)], [table as u64 + 16, table as u64 + 32]);
    assert!(files[1].1.ends_with(&1.0e30f32.to_le_bytes()), "the red of a single channel");
    assert_eq!(dir.run(["extract", "--png", "a.bsa", "-C", "out"]).code, 0, "it compares equal");
}
