//! Seeds for fuzzing: for each target of `tests/fuzz`, inputs that reach deep into the code. The
//! files of `tests/robustness` describe their layout. There are small inputs of every kind, because
//! a fuzzer runs them often, and the whole samples.

use super::consoles::Shape;
use super::content::{noise, texels, text};
use super::legacy::{Kind, Legacy};
use super::pack;
use super::tes4::{EMBEDDED, FILE_NAMES, FOLDER_NAMES, PACKED, XBOX_360, XMEM};
use super::tiler::Tiler;
use super::{Ba2, Ba2File, Chunk, NamesForm, Tes3, Tes4, Tes4File, Texture, dds, game_seeds, samples};

/// An input of a fuzz target.
#[derive(Clone, Debug)]
pub struct Seed {
    /// The target's name.
    pub target: &'static str,
    /// A file name that states the case.
    pub name: String,
    /// The input.
    pub bytes: Vec<u8>,
}

/// Name and bytes of an archive, and the paths of its files.
type Named = (String, Vec<u8>, Vec<String>);

/// All seeds. Their names are unique within a target.
pub fn seeds() -> Vec<Seed> {
    let whole = samples().iter().map(|sample| {
        let paths = sample.files.iter().map(|(path, _)| path.clone()).collect();
        (sample.name.clone(), sample.bytes.clone(), paths)
    });
    let mut all = Vec::new();
    for (n, (name, archive, paths)) in small_archives().into_iter().chain(whole).enumerate() {
        all.push(Seed { target: "parse", name: name.clone(), bytes: archive.clone() });
        all.push(deep(n, name, &archive, &paths));
    }
    all.extend(streams());
    all.extend(textures());
    all.extend(options());
    all.extend(game_seeds::seeds());
    all
}

/// A seed for the target `deep`: an archive with options that depend on `n`.
fn deep(n: usize, name: String, archive: &[u8], paths: &[String]) -> Seed {
    let names = paths.join("\n");
    let flags = (n % 16) << 1 | usize::from(name.starts_with("unknown"));
    let textures = if name.contains("tiled") { 1 } else { n % 3 };
    let change = if name.starts_with("daggerfall") { 0 } else { n % 5 };
    let mut bytes = vec![flags as u8, (n % 8) as u8, textures as u8, change as u8];
    // The offset of the changed byte. It is in the data of a BSA, and in the names of a BA2.
    // Daggerfall has its directory there, so it gets no change.
    bytes.extend((archive.len() as u32 - 10).to_le_bytes());
    bytes.extend((100 * n as u16).to_le_bytes());
    bytes.extend((names.len() as u16).to_le_bytes());
    bytes.extend(names.as_bytes());
    bytes.extend(archive);
    Seed { target: "deep", name, bytes }
}

/// Paths of the files in small archives.
const PATHS: [&str; 3] = ["meshes\\a\\bed.nif", "textures\\Wall.dds", "readme.txt"];

/// Contents of the files in small archives.
fn contents() -> [Vec<u8>; 3] {
    [text(1, 300), noise(2, 64), text(3, 40)]
}

fn small_archives() -> Vec<Named> {
    let archives = [small_tes4(), small_tes3_and_legacy(), small_ba2(), tiled_ba2()].into_iter().flatten();
    archives.map(|(name, archive)| (name, archive, PATHS.map(str::to_owned).to_vec())).collect()
}

fn small_tes4() -> Vec<(String, Vec<u8>)> {
    const NAMES: u32 = FOLDER_NAMES | FILE_NAMES;
    let [mesh, texture, readme] = contents();
    let files = |archive: Tes4| {
        let archive =
            archive.file("meshes\\a", "bed.nif", &mesh[..]).file("textures", "Wall.dds", &texture[..]);
        archive.add("", Tes4File::new("readme.txt", &readme[..]).toggle()).build()
    };
    let mut all = Vec::new();
    for version in [103, 104, 105] {
        let named = [NAMES, NAMES | PACKED, NAMES | PACKED | EMBEDDED];
        for flags in named.into_iter().chain([FOLDER_NAMES | PACKED, PACKED, XBOX_360]) {
            all.push((format!("v{version} small {flags:x}.bsa"), files(Tes4::new(version).flags(flags))));
        }
    }
    let mesh_of = |flags, stream| {
        let file = Tes4File::new("bed.nif", &mesh[..]).stream(stream);
        Tes4::new(104).flags(NAMES | PACKED | flags).add("meshes\\a", file).build()
    };
    all.push(("v104 small xmem.bsa".into(), mesh_of(XBOX_360 | XMEM, pack::xmem_stored(&mesh))));
    let suspect = pack::with_wrong_checksum(pack::zlib(&mesh));
    all.push(("v104 small wrong checksum.bsa".into(), mesh_of(0, suspect)));
    for version in [103, 105] {
        all.push((format!("v{version} small reversed.bsa"), files(Tes4::new(version).reversed_blocks())));
        all.push((format!("v{version} small names cut.bsa"), files(Tes4::new(version).names_cut(1))));
        let odd = Tes4::new(version)
            .add("meshes\\a", Tes4File::new("bed.nif", &mesh[..]).stored_name("bed.nif"))
            .add("meshes\\a", Tes4File::new("gone.nif", &texture[..]).stored_name("old.nif\0\0"));
        all.push((format!("v{version} small odd names.bsa"), files(odd)));
    }
    let mut unknown = files(Tes4::new(105));
    unknown[4] = 110;
    all.push(("unknown version.bsa".into(), unknown));
    all
}

fn small_tes3_and_legacy() -> Vec<(String, Vec<u8>)> {
    let contents = contents();
    let files = || PATHS.iter().zip(&contents);
    let tes3 = files().fold(Tes3::new(), |it, (path, data)| it.file(path, &data[..]));
    let legacy = |kind| files().fold(Legacy::new(kind), |it, (path, data)| it.file(&path[..8], &data[..]));
    let battlespire = files().fold(Legacy::new(Kind::Names), |it, (path, data)| {
        it.file(&path[..8], pack::lzss(data)).flag(0x0100)
    });
    let numbers =
        (7..).zip(&contents).fold(Legacy::new(Kind::Numbers), |it, (n, data)| it.number(n, &data[..]));
    vec![
        ("tes3 small.bsa".into(), tes3.build()),
        ("tes3 small names cut.bsa".into(), tes3.clone().names_cut(1).build()),
        ("tes3 small nameless.bsa".into(), tes3.nameless().build()),
        ("daggerfall small battlespire.bsa".into(), battlespire.build()),
        ("arena small.bsa".into(), legacy(Kind::Arena).build()),
        ("daggerfall small names.bsa".into(), legacy(Kind::Names).build()),
        ("daggerfall small numbers.bsa".into(), numbers.build()),
    ]
}

fn small_ba2() -> Vec<(String, Vec<u8>)> {
    let [mesh, texture, readme] = contents();
    let (first, second) = mesh.split_at(100);
    let file = |nth: usize| Ba2File::general(PATHS[nth]);
    let mut all = Vec::new();
    for version in [1, 2, 3, 7, 8] {
        let archive = Ba2::general(version)
            .add(file(0).chunk(Chunk::zlib(first)).chunk(Chunk::stored(second)))
            .add(file(1).chunk(Chunk::zlib(&texture)))
            .add(file(2).chunk(Chunk::zlib(&readme)).shares(1));
        all.push((format!("gnrl v{version} small.ba2"), archive.build()));
        all.push((format!("gnrl v{version} small nameless.ba2"), archive.nameless().build()));
    }
    for form in [NamesForm::LengthsAndNuls, NamesForm::Nuls] {
        let archive = Ba2::general(1).names_form(form);
        let archive = (0..2).fold(archive, |it, nth| it.add(file(nth).chunk(Chunk::zlib(&texture))));
        all.push((format!("gnrl small {form:?}.ba2"), archive.clone().build()));
        all.push((format!("gnrl small {form:?} elsewhere.ba2"), archive.names_at(30).build()));
    }
    let word = |nth| file(nth).chunk(Chunk::zlib(&readme)).chunk_count(0).head_length(0);
    all.push(("gnrl small word 0.ba2".into(), Ba2::general(1).add(word(0)).add(word(1)).build()));
    let nul = file(0).stored_name(format!("{}\0", PATHS[0])).chunk(Chunk::stored(&readme[..]));
    all.push(("gnrl small nul.ba2".into(), Ba2::general(8).add(nul).build()));
    let mut unknown = all[0].1.clone();
    unknown[4] = 99;
    all.push(("unknown version.ba2".into(), unknown));
    all
}

fn tiled_ba2() -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for tiled in TILED {
        let data = tiled.data();
        let (large, small) = data.split_at(data.len() / 2);
        let chunks = |file: Ba2File| file.chunk(Chunk::zlib(large)).chunk(Chunk::stored(small));
        let Tiled { name, format, size: (width, height, mips), cube, .. } = tiled;
        let texture = Texture::new(format.0, width, height, mips);
        let texture = Texture { tile_mode: 13, flags: cube.into(), ..texture };
        let xbox = Ba2::textures(1).add(chunks(Ba2File::texture(PATHS[1], texture)));
        all.push((format!("dx10 tiled {name}.ba2"), xbox.build()));
        let gnm = Ba2::gnm(1).add(chunks(Ba2File::gnm(PATHS[1], tiled.descriptor(13))));
        all.push((format!("gnmf tiled {name}.ba2"), gnm.build()));
    }
    all
}

/// A tiled texture.
struct Tiled {
    name: &'static str,
    /// Format in a BA2 of textures, format in a T#, bytes of a block.
    format: (u8, u32, usize),
    /// Width and height in pixels, and number of mips.
    size: (u16, u16, u8),
    powers_of_two: bool,
    cube: bool,
}

const BC1: (u8, u32, usize) = (dds::BC1, 0x23, 8);
const BC7: (u8, u32, usize) = (dds::BC7, 0x29, 16);

const TILED: [Tiled; 4] = [
    Tiled { name: "square", format: BC7, size: (32, 32, 6), powers_of_two: false, cube: false },
    Tiled { name: "odd size", format: BC7, size: (101, 67, 7), powers_of_two: true, cube: false },
    Tiled { name: "cube", format: BC1, size: (16, 16, 3), powers_of_two: false, cube: true },
    Tiled { name: "one block", format: BC1, size: (1, 1, 1), powers_of_two: true, cube: false },
];

impl Tiled {
    /// The texels as a console stores them.
    fn data(&self) -> Vec<u8> {
        let (width, height, mips) = (self.size.0.into(), self.size.1.into(), self.size.2.into());
        let (faces, bytes) = (if self.cube { 6 } else { 1 }, self.format.2);
        let tiler = Tiler { width, height, mips, faces, side: 4, bytes, powers_of_two: self.powers_of_two };
        tiler.tile(&texels(5, tiler.linear_len()))
    }

    fn descriptor(&self, tile_mode: u32) -> [u8; 32] {
        let (width, height, mips) = (self.size.0.into(), self.size.1.into(), self.size.2.into());
        Shape { format: self.format.1, width, height, mips, tile_mode, cube: self.cube }.descriptor()
    }
}

/// Streams of every codec, correct and damaged, and a stream of each codec as long as the largest
/// in the samples.
fn streams() -> Vec<Seed> {
    let mut all = Vec::new();
    for content in [vec![], text(1, 300), texels(2, 70_000)] {
        let len = content.len();
        let mut add = |codec, name: &str, stream| all.push(stream_of(codec, name, len, stream));
        let zlib = pack::zlib(&content);
        for level in [0, 1, 9] {
            add(1, &format!("zlib level {level}"), pack::zlib_level(&content, level));
        }
        add(1, "zlib of an xbox", pack::zlib_xbox(&content));
        add(1, "raw deflate as zlib", pack::deflate(&content));
        add(1, "zlib without adler", pack::without_adler(zlib.clone()));
        add(1, "zlib with a wrong checksum", pack::with_wrong_checksum(zlib.clone()));
        add(1, "zlib and more", [&zlib[..], b"more"].concat());
        for (name, shape) in pack::frame_shapes(len as u64) {
            add(2, &format!("lz4 frame of {name}"), pack::lz4_frame_like(&content, shape));
        }
        add(2, "lz4 frame with a wrong checksum", pack::with_wrong_checksum(pack::lz4_frame(&content)));
        add(5, "detected zlib", zlib);
        add(5, "detected raw deflate", pack::deflate(&content));
        add(5, "detected lz4 frame", pack::lz4_frame(&content));
    }
    for content in [vec![], text(1, 300), texels(2, 70_000), texels(3, 700_000)] {
        let len = content.len();
        all.push(stream_of(1, "zlib", len, pack::zlib(&content)));
        all.push(stream_of(2, "lz4 frame", len, pack::lz4_frame(&content)));
        all.push(stream_of(3, "lz4 block", len, pack::lz4_block(&content)));
        all.push(stream_of(4, "xmem", len, pack::xmem_stored(&content)));
        if len < 1_000 {
            all.push(stream_of(7, "lzss", len, pack::lzss(&content)));
        }
        all.push(stream_of(0, "stored", len, content));
    }
    all.push(stream_of(4, "xmem of matches", 13, XMEM_MATCHES.into()));
    all
}

/// A seed for the target `codec`: a stream that unpacks to `len` bytes. `prefix` sees a quarter, a
/// half or all of it.
fn stream_of(codec: u8, name: &str, len: usize, stream: Vec<u8>) -> Seed {
    let mut bytes = vec![codec];
    bytes.extend((len as u32).to_le_bytes());
    bytes.extend([0x4000_u16, 0x8000, 0xFFFF][len % 3].to_le_bytes());
    bytes.extend(stream);
    Seed { target: "codec", name: format!("{name} {len}"), bytes }
}

/// An XMem stream of four stored bytes, and of a block with a letter and four matches. It unpacks
/// to 13 bytes.
const XMEM_MATCHES: &[u8] = b"\
    \xff\0\x04\0\x14\0\x30\x40\0\x03\0\0\0\x01\0\0\0\x01\0\0\0\x77\x78\x79\x7a\xff\0\x09\0\x32\0\x20\x24\
    \x01\0\0\0\0\0\0\x04\0\x1f\x44\x3f\xfd\xff\xff\x80\x84\0\0\0\0\0\0\x88\0\xff\x81\xff\xff\xf6\xff\0\
    \x10\0\0\0\0\0\0\x10\x11\xff\x7f\xff\xff\x80\x97\0\0\0\0\0";

fn textures() -> Vec<Seed> {
    let mut all = Vec::new();
    for tiled in TILED {
        for tile_mode in [8, 13, 14] {
            let (width, height, mips) = tiled.size;
            let mut bytes = [width.to_le_bytes(), height.to_le_bytes()].concat();
            bytes.extend([mips, tiled.cube.into(), tiled.format.0, tile_mode]);
            bytes.extend(tiled.descriptor(tile_mode.into()));
            bytes.extend((tiled.data().len() as u32).to_le_bytes());
            bytes.extend(noise(7, 97));
            all.push(Seed { target: "texture", name: format!("{} {tile_mode}", tiled.name), bytes });
        }
    }
    all
}

fn options() -> Vec<Seed> {
    let profile = "archives = ['a.bsa', '~/b.ba2', '/c.bsa']\nfolder = '../Data'\nmountpoint = \"~/mnt\"\n\
                   options = 'xattr,umask=077'\n";
    let lists = [
        "allow_other,uid=1000,gid=100,umask=0277,fmask=133,dmask=022,fmode=466,dmode=577,xattr,nonempty",
        "encoding=utf-8,layout=per-archive,textures=dds,names=list.txt,names=~/x,force,salvage",
        "cache_size=256MiB,cache_size=1g,fsname=a\\,b\\\\c,readahead=512,max_read=131072,\
         noexec,noatime,foreground",
        "rw,dev,suid,nofail,noauto,user,_netdev,x-systemd.automount,X-mount.mkdir,relatime,,subtype=bsafs",
        "layout=UNION,textures=Raw,readahead=0,cache_size=64 K,umask=+7",
    ];
    let mut all = Vec::new();
    for (n, list) in lists.into_iter().enumerate() {
        for (name, text) in [("alone", ""), ("with a profile", profile), ("minimal", "archives=['x']")] {
            let bytes = format!("{text}\0{list}\0salvage,force").into_bytes();
            all.push(Seed { target: "options", name: format!("{n} {name}"), bytes });
        }
    }
    let refused = [
        "\0readahead=2048",
        "\0dirsynk",
        "\0allow_root",
        "archives = []",
        "[a]\nb = {c = 1}",
        "\0max_read=1\\,rw",
    ];
    for (n, text) in refused.into_iter().enumerate() {
        all.push(Seed { target: "options", name: format!("refused {n}"), bytes: text.into() });
    }
    all
}
