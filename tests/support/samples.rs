//! One archive of each kind, and the files that a mount must show for it. This file makes those of PC games.

use std::sync::LazyLock;

use super::ba2::{Ba2, Ba2File, Chunk, METHOD_LZ4, METHOD_ZLIB, Texture};
use super::content::{noise, texels, text};
use super::dds;
use super::pack;
use super::tes3::{Tes3, Tes3File};
use super::tes4::{EMBEDDED, FILE_NAMES, FOLDER_NAMES, PACKED, Tes4, Tes4File, XBOX_360};

/// An archive and its files.
#[derive(Clone, Debug)]
pub struct Sample {
    /// A file name that states the case, such as `v104 zlib.bsa`.
    pub name: String,
    /// The archive.
    pub bytes: Vec<u8>,
    /// The path of each file as a mount lists it, and its whole content, in the order of addition.
    pub files: Vec<(String, Vec<u8>)>,
}

/// All samples, which are made once. Their names are unique.
pub fn samples() -> &'static [Sample] {
    static ALL: LazyLock<Vec<Sample>> = LazyLock::new(make);
    &ALL
}

fn make() -> Vec<Sample> {
    let mut all = vec![tes3()];
    all.extend(oblivion());
    all.extend(skyrim());
    all.extend(special_editions());
    all.extend(roots());
    all.extend(empty_files());
    all.extend(shared_data());
    all.extend(general());
    all.extend(textures());
    all.extend(super::consoles::samples());
    all
}

const NAMES: u32 = FOLDER_NAMES | FILE_NAMES;

/// Folder, name and content of each file: text, texels and noise, from one byte to more than half a MiB.
fn ordinary_files() -> Vec<(&'static [u8], &'static [u8], Vec<u8>)> {
    vec![
        (b"meshes\\architecture\\towers", b"tower01.nif", texels(1, 700_000)),
        (b"meshes\\architecture\\towers", b"tower01_far.nif", text(2, 5_000)),
        (b"meshes\\clutter", b"Bucket01.NIF", text(3, 65_536)),
        (b"meshes\\clutter", b"idle.kf", text(4, 4_096)),
        (b"textures\\clutter", b"bucket01.dds", dds_file(dds::BC1, 256, 128, 5)),
        (b"textures\\clutter", b"bucket01_n.dds", dds_file(dds::BC3, 128, 128, 6)),
        (b"Textures/Landscape\\Rocks", b"rock.dds", dds_file(dds::RGBA8, 30, 20, 7)),
        (b"sound\\voice\\game.esm\\femaleguard", b"Mar\xEDa_F.fuz", noise(8, 9_000)),
        (b"sound\\fx", b"amb_01.wav", noise(9, 70_001)),
        (b"menus", b"race_sex_menu.xml", text(10, 1)),
        (b"menus", b"no extension", text(11, 333)),
    ]
}

/// Adds the ordinary files.
fn ordinary(archive: Tes4) -> Tes4 {
    ordinary_files()
        .into_iter()
        .fold(archive, |archive, (folder, name, data)| archive.file(folder, name, data))
}

/// Adds the ordinary files. Every second one is packed if the archive is not, and stored if it is.
fn mixed(archive: Tes4) -> Tes4 {
    ordinary_files().into_iter().enumerate().fold(archive, |archive, (n, (folder, name, data))| {
        let file = Tes4File::new(name, data);
        archive.add(folder, if n % 2 == 0 { file } else { file.toggle() })
    })
}

/// A whole DDS file as a BSA stores it.
fn dds_file(format: u8, width: u16, height: u16, seed: u64) -> Vec<u8> {
    let mut file = dds::header(format, width, height, 1, false);
    file.extend(texels(seed, dds::level_bytes(format, width, height) as usize));
    file
}

/// A stored path as a mount lists it: `/` between components, and none for the root's dot. Bytes
/// from A0 on are those of Windows-1252, which equals Latin-1 there.
fn listed(path: &[u8]) -> String {
    path.split(|&byte| byte == b'\\' || byte == b'/')
        .filter(|component| !component.is_empty() && *component != b".")
        .map(|component| component.iter().map(|&byte| char::from(byte)).collect::<String>())
        .collect::<Vec<_>>()
        .join("/")
}

fn tes3() -> Sample {
    let archive = Tes3::new()
        .file("meshes\\m\\probe_journeyman_01.nif", texels(20, 70_000))
        .file("meshes\\r\\xkwama worker.nif", text(21, 12_345))
        .file("textures\\tx_rope_woven.dds", dds_file(dds::BC1, 64, 64, 22))
        .file("Icons/M\\misc_prongs00.dds", dds_file(dds::RGBA8, 32, 32, 23))
        .file("sound\\fx\\nothing.wav", b"")
        .add(Tes3File::new("sound\\fx\\howl.wav", noise(24, 3_000)).gap(b"between"))
        .add(Tes3File::new("sound\\fx\\howl copy.wav", b"").shares(5))
        .file("readme.txt", text(25, 800));
    let files = archive
        .files
        .iter()
        .map(|file| {
            let data = file.shares.map_or(&file.data, |nth| &archive.files[nth].data);
            (listed(&file.name), data.clone())
        })
        .collect();
    Sample { name: "tes3 named.bsa".into(), bytes: archive.build(), files }
}

fn tes4(name: &str, archive: Tes4) -> Sample {
    let files = archive
        .files
        .iter()
        .map(|(folder, file)| {
            let data = file.shares.map_or(&file.data, |nth| &archive.files[nth].1.data);
            let path = [&archive.folders[*folder].name, &b"\\"[..], &file.name].concat();
            (listed(&path), data.clone())
        })
        .collect();
    Sample { name: name.into(), bytes: archive.build(), files }
}

fn oblivion() -> Vec<Sample> {
    // The game's own archives have 0x700 set. In this version 0x100 does not mean embedded names.
    let stored = || Tes4::new(103).flags(0x700 | NAMES).padding(0x1150);
    let packed = || Tes4::new(103).flags(0x700 | NAMES | PACKED).padding(0x3A8D);
    vec![
        tes4("v103 stored.bsa", ordinary(stored())),
        tes4("v103 zlib.bsa", ordinary(packed())),
        tes4("v103 zlib mixed.bsa", mixed(packed())),
        tes4("v103 construction set gaps.bsa", ordinary(stored().size_word_gaps())),
        tes4("v103 long name block.bsa", ordinary(stored().name_block_tail([0; 40]))),
    ]
}

fn skyrim() -> Vec<Sample> {
    let new = |flags: u32| Tes4::new(104).flags(NAMES | flags);
    vec![
        tes4("v104 stored.bsa", ordinary(new(0))),
        tes4("v104 zlib.bsa", ordinary(new(PACKED))),
        tes4("v104 stored mixed.bsa", mixed(new(0))),
        tes4("v104 zlib mixed.bsa", mixed(new(PACKED))),
        tes4("v104 stored embedded.bsa", ordinary(new(EMBEDDED))),
        tes4("v104 zlib embedded.bsa", ordinary(new(PACKED | EMBEDDED))),
        tes4("v104 zlib embedded mixed.bsa", mixed(new(PACKED | EMBEDDED))),
        tes4("v104 xbox 360 hashes.bsa", ordinary(new(PACKED | XBOX_360))),
    ]
}

fn special_editions() -> Vec<Sample> {
    let new = |flags: u32| Tes4::new(105).flags(NAMES | flags);
    let mut frames = new(PACKED);
    for (n, (word, shape)) in pack::frame_shapes(200_000).into_iter().enumerate() {
        let data = texels(30 + n as u64, 200_000);
        let stream = pack::lz4_frame_like(&data, shape);
        frames = frames.add("frames", Tes4File::new(format!("{word}.bin"), data).stream(stream));
    }
    vec![
        tes4("v105 stored.bsa", ordinary(new(0))),
        tes4("v105 lz4.bsa", ordinary(new(PACKED))),
        tes4("v105 lz4 mixed.bsa", mixed(new(PACKED))),
        tes4("v105 lz4 embedded.bsa", ordinary(new(PACKED | EMBEDDED))),
        tes4("v105 stored embedded mixed.bsa", mixed(new(EMBEDDED))),
        tes4("v105 lz4 frames.bsa", frames),
    ]
}

/// Archives whose root is a folder named `.`, or a folder without a name.
fn roots() -> Vec<Sample> {
    let fill = |archive: Tes4, root: &str| {
        archive.file(root, "readme.txt", text(40, 2_000)).file(root, "preview.png", noise(41, 4_000)).file(
            "docs",
            "licence.txt",
            text(42, 500),
        )
    };
    let packed = NAMES | PACKED;
    vec![
        tes4("v103 root without a name.bsa", fill(Tes4::new(103).flags(packed), "")),
        tes4("v104 root dot.bsa", fill(Tes4::new(104).flags(packed | EMBEDDED), ".")),
        tes4("v105 root dot.bsa", fill(Tes4::new(105).flags(packed), ".")),
    ]
}

/// Archives with an empty file stored in every possible form.
fn empty_files() -> Vec<Sample> {
    let ways = |version: u32, flags: u32| {
        let empty = |name: &str| Tes4File::new(name, b"");
        Tes4::new(version)
            .flags(NAMES | PACKED | flags)
            .add("empty", empty("stored.txt").toggle())
            .add("empty", empty("size word and no stream.txt").stream(b""))
            .add("empty", empty("size word and empty stream.txt"))
            .add("empty", empty("packed and no size word.txt").no_size_word().stream(b""))
            .file("full", "beside.txt", text(50, 900))
    };
    vec![
        tes4("v103 empty files.bsa", ways(103, 0)),
        tes4("v104 empty files embedded.bsa", ways(104, EMBEDDED)),
        tes4("v105 empty files.bsa", ways(105, 0)),
        tes4("v105 empty files embedded.bsa", ways(105, EMBEDDED)),
    ]
}

/// Archives in which several records share one data block. The embedded name is that of the first.
fn shared_data() -> Vec<Sample> {
    let fill = |archive: Tes4| {
        archive
            .file("misc1", "original.txt", text(60, 10_000))
            .add("misc1", Tes4File::new("copy.txt", b"").shares(0))
            .add("misc2", Tes4File::new("copy elsewhere.txt", b"").shares(0))
            .file("misc2", "other.txt", text(61, 700))
    };
    vec![
        tes4("v103 shared data.bsa", fill(Tes4::new(103).flags(NAMES))),
        tes4("v104 shared data embedded.bsa", fill(Tes4::new(104).flags(NAMES | PACKED | EMBEDDED))),
        tes4("v105 shared data.bsa", fill(Tes4::new(105).flags(NAMES | PACKED))),
    ]
}

fn general() -> Vec<Sample> {
    vec![
        general_of("gnrl v1.ba2", 1, METHOD_ZLIB),
        general_of("gnrl v2.ba2", 2, METHOD_ZLIB),
        general_of("gnrl v3 zlib.ba2", 3, METHOD_ZLIB),
        general_of("gnrl v3 lz4.ba2", 3, METHOD_LZ4),
        general_of("gnrl v7.ba2", 7, METHOD_ZLIB),
        general_of("gnrl v8.ba2", 8, METHOD_ZLIB),
    ]
}

fn general_of(name: &str, version: u32, method: u32) -> Sample {
    let pack = |data: &[u8]| packed(data, method);
    let mut archive = Ba2::general(version).method(method);
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    let mut add = |file: Ba2File, path: &str, content: &[u8]| {
        archive = archive.clone().add(file);
        files.push((path.into(), content.to_vec()));
    };
    let script = text(70, 20_000);
    add(
        Ba2File::general("Scripts\\Base\\Actor.psc").chunk(Chunk::stored(&script[..])),
        "Scripts/Base/Actor.psc",
        &script,
    );
    // This is another spelling of that folder. A mount lists the first one.
    let quest = text(71, 700_000);
    add(Ba2File::general("scripts/BASE/Quest.psc").chunk(pack(&quest)), "Scripts/Base/Quest.psc", &quest);
    let mesh = texels(72, 90_000);
    add(
        Ba2File::general("meshes/Clutter\\Bucket.NIF")
            .chunk(pack(&mesh[..40_000]))
            .chunk(Chunk::stored(&mesh[40_000..50_000]))
            .chunk(pack(&mesh[50_000..]).gap(b"between")),
        "meshes/Clutter/Bucket.NIF",
        &mesh,
    );
    let voice = noise(73, 5_000);
    add(
        Ba2File::general(b"Sound\\Voice\\Mar\xEDa_M.fuz").chunk(pack(&voice)),
        "Sound/Voice/Mar\u{ED}a_M.fuz",
        &voice,
    );
    add(Ba2File::general("Interface\\nothing.swf").chunk(Chunk::stored(b"")), "Interface/nothing.swf", b"");
    add(
        Ba2File::general("Sound\\Voice\\copy of Mar\u{69}a.fuz").chunk(pack(&voice)).shares(3),
        "Sound/Voice/copy of Maria.fuz",
        &voice,
    );
    if method == METHOD_ZLIB {
        let xbox = text(74, 30_000);
        let stream = pack::zlib_xbox(&xbox);
        add(
            Ba2File::general("Interface\\xbox window.txt").chunk(Chunk::packed(stream, xbox.len())),
            "Interface/xbox window.txt",
            &xbox,
        );
    }
    let readme = text(75, 10);
    add(Ba2File::general("ReadMe.TXT").chunk(pack(&readme)), "ReadMe.TXT", &readme);
    Sample { name: name.into(), bytes: archive.build(), files }
}

fn packed(data: &[u8], method: u32) -> Chunk {
    if method == METHOD_LZ4 { Chunk::lz4(data) } else { Chunk::zlib(data) }
}

fn textures() -> Vec<Sample> {
    vec![
        textures_of("dx10 v1.ba2", 1, METHOD_ZLIB),
        textures_of("dx10 v3 zlib.ba2", 3, METHOD_ZLIB),
        textures_of("dx10 v3 lz4.ba2", 3, METHOD_LZ4),
        textures_of("dx10 v7.ba2", 7, METHOD_ZLIB),
        textures_of("dx10 v8.ba2", 8, METHOD_ZLIB),
    ]
}

fn textures_of(name: &str, version: u32, method: u32) -> Sample {
    // Path, texture, number of chunks. The largest mips have one chunk each, the last chunk has the rest.
    let all = [
        ("Textures\\Clutter\\bucket_d.DDS", Texture::new(dds::BC1, 256, 256, 9), 4),
        ("Textures\\Clutter\\bucket_n.DDS", Texture::new(dds::BC5, 128, 64, 8), 3),
        ("Textures/Clutter/bucket_s.dds", Texture::new(dds::BC3, 64, 32, 7), 2),
        ("Textures\\Sky\\sky_e.dds", Texture::new(dds::BC3, 64, 64, 7).cube(), 1),
        ("Textures\\odd size.dds", Texture::new(dds::BC7, 101, 67, 7), 2),
        ("Textures\\odd size linear.dds", Texture::new(dds::RGBA8, 17, 9, 5), 1),
        ("Textures\\large.dds", Texture::new(dds::BC7_SRGB, 1024, 512, 11), 4),
        ("Textures\\one texel.dds", Texture::new(dds::BC1, 1, 1, 1), 1),
    ];
    let mut archive = Ba2::textures(version).method(method);
    let mut files = Vec::new();
    for (n, (path, texture, chunks)) in all.into_iter().enumerate() {
        let (file, content) = texture_file(path, texture, chunks, n as u64, method);
        archive = archive.add(file);
        files.push((listed(path.as_bytes()), content));
    }
    Sample { name: name.into(), bytes: archive.build(), files }
}

/// A texture in `chunks` chunks, and the DDS file that a mount shows. Every third chunk is stored.
fn texture_file(path: &str, texture: Texture, chunks: u16, seed: u64, method: u32) -> (Ba2File, Vec<u8>) {
    let Texture { format, width, height, mips, flags, .. } = texture;
    let cube = flags & 1 != 0;
    let levels = dds::mip_bytes(format, width, height, mips);
    let faces = if cube { 6 } else { 1 };
    let data = texels(80 + seed, faces * levels.iter().sum::<usize>());
    let mut content = dds::header(format, width, height, mips, cube);
    content.extend_from_slice(&data);

    let mut file = Ba2File::texture(path, texture);
    let mut rest = &data[..];
    for (mip, &length) in (0..chunks).zip(&levels) {
        let last = mip + 1 == chunks;
        let (piece, behind) = rest.split_at(if last { rest.len() } else { length });
        rest = behind;
        let chunk =
            if (seed + u64::from(mip)) % 3 == 2 { Chunk::stored(piece) } else { packed(piece, method) };
        file = file.chunk(chunk.mips(mip, if last { u16::from(mips) - 1 } else { mip }));
    }
    (file, content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_names_and_the_paths_in_each_sample_are_unique() {
        let mut names: Vec<String> = Vec::new();
        for sample in samples() {
            let mut paths: Vec<String> = sample.files.iter().map(|(path, _)| path.to_lowercase()).collect();
            paths.sort();
            paths.dedup();
            assert_eq!(paths.len(), sample.files.len(), "{}", sample.name);
            assert!(!names.contains(&sample.name), "{}", sample.name);
            names.push(sample.name.clone());
        }
        assert!(names.len() > 30, "{names:?}");
    }
}
