//! One archive of each kind that consoles and the oldest games have, and the files that a mount
//! must show for it.

use super::content::{noise, texels, text};
use super::legacy::{self, Legacy};
use super::samples::Sample;
use super::tes4::{FILE_NAMES, FOLDER_NAMES, PACKED, XBOX_360, XMEM};
use super::{Ba2, Ba2File, Chunk, Tes3, Tes4, Tes4File, Texture, dds, hash, pack};

/// All samples. Their names are unique.
pub fn samples() -> Vec<Sample> {
    vec![gnmf(), xbox_one(), tes3_nameless(), xmem(), arena(), names(), numbers()]
}

/// The fields of a PlayStation 4 texture's T#.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Data format: 0x23 is BC1, 0x29 is BC7.
    pub format: u32,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Number of mips.
    pub mips: u32,
    /// Tile mode: 8 is linear, 13 is 1D thin, 14 is 2D thin.
    pub tile_mode: u32,
    /// Whether it is a cube, which has six faces.
    pub cube: bool,
}

impl Shape {
    /// Encodes the T#. Some unused fields are not zero.
    pub fn descriptor(self) -> [u8; 32] {
        let kind = if self.cube { 11 } else { 9 };
        let words: [u32; 8] = [
            0,
            self.format << 20,
            (self.width - 1) | (self.height - 1) << 14,
            0xFAC | (self.mips - 1) << 16 | self.tile_mode << 20 | kind << 28,
            (self.width - 1) << 13,
            0,
            0,
            0x1234,
        ];
        let mut bytes = [0; 32];
        bytes.as_chunks_mut::<4>().0.iter_mut().zip(words).for_each(|(to, word)| *to = word.to_le_bytes());
        bytes
    }
}

/// A GNF file with a T# and its texels.
pub fn gnf(descriptor: [u8; 32], data: &[u8]) -> Vec<u8> {
    let mut file = b"GNF \xF8\0\0\0\x02\x01\x08\0".to_vec();
    file.extend((data.len() as u32 + 256).to_le_bytes());
    file.extend(descriptor);
    file.resize(256, 0);
    file.extend_from_slice(data);
    file
}

/// The header of an Xbox One texture. [`dds::header`] must state the format by its number.
pub fn xbox_header(texture: Texture, data: usize) -> Vec<u8> {
    let Texture { format, width, height, mips, flags, tile_mode } = texture;
    let mut header = dds::header(format, width, height, mips, flags & 1 != 0);
    assert_eq!(header.len(), 148, "the format has no DX10 header");
    header[84..88].copy_from_slice(b"XBOX");
    let words = [u32::from(tile_mode), 256, data as u32, 13_202];
    header.extend(words.into_iter().flat_map(u32::to_le_bytes));
    header
}

fn gnmf() -> Sample {
    let sky = Shape { format: 0x29, width: 256, height: 128, mips: 9, tile_mode: 13, cube: false };
    let wall = Shape { format: 0x23, width: 64, height: 64, mips: 1, tile_mode: 14, ..sky };
    let (large, small, one) = (texels(90, 40_000), noise(91, 10_240), texels(92, 2_048));
    let archive = Ba2::gnm(1)
        .add(
            Ba2File::gnm("Textures\\Sky\\cloud.dds", sky.descriptor())
                .chunk(Chunk::zlib(&large).mips(0, 0))
                .chunk(Chunk::stored(&small[..]).mips(1, 1))
                .chunk(Chunk::zlib(&one).mips(2, 8)),
        )
        .add(Ba2File::gnm("Textures\\wall.dds", wall.descriptor()).chunk(Chunk::zlib(&one)));
    let files = vec![
        ("Textures/Sky/cloud.dds".into(), gnf(sky.descriptor(), &[large, small, one.clone()].concat())),
        ("Textures/wall.dds".into(), gnf(wall.descriptor(), &one)),
    ];
    Sample { name: "gnmf v1.ba2".into(), bytes: archive.build(), files }
}

fn xbox_one() -> Sample {
    let tiled = Texture { tile_mode: 14, ..Texture::new(dds::BC7, 128, 128, 2) };
    let plain = Texture::new(dds::BC1, 16, 16, 1);
    let (large, small, linear) = (texels(93, 16_384), noise(94, 4_096), texels(95, 128));
    let archive = Ba2::textures(1)
        .add(
            Ba2File::texture("Textures\\tiled.dds", tiled)
                .chunk(Chunk::packed(pack::zlib_xbox(&large), large.len()).mips(0, 0))
                .chunk(Chunk::stored(&small[..]).mips(1, 1)),
        )
        .add(Ba2File::texture("Textures\\plain.dds", plain).chunk(Chunk::zlib(&linear)));
    let header = xbox_header(tiled, large.len() + small.len());
    let files = vec![
        ("Textures/tiled.dds".into(), [header, large, small].concat()),
        ("Textures/plain.dds".into(), [dds::header(dds::BC1, 16, 16, 1, false), linear].concat()),
    ];
    Sample { name: "xbox one tiled.ba2".into(), bytes: archive.build(), files }
}

/// An archive of Morrowind for the Xbox, which stores no names. A mount lists its files by their hashes.
fn tes3_nameless() -> Sample {
    let contents = [("meshes\\m\\bed.nif", texels(96, 30_000)), ("icons\\a.tga", noise(97, 900))];
    let archive = contents.iter().fold(Tes3::new(), |it, (name, data)| it.file(name, &data[..])).nameless();
    let listed = |(name, data): (&str, Vec<u8>)| {
        let (low, high) = hash::tes3(name.as_bytes());
        (format!("{high:08X}{low:08X}"), data)
    };
    let files = contents.into_iter().map(listed).collect();
    Sample { name: "console tes3 without names.bsa".into(), bytes: archive.build(), files }
}

fn xmem() -> Sample {
    let contents = [("long.nif", texels(98, 80_000)), ("odd length.txt", text(99, 801))];
    let flags = FOLDER_NAMES | FILE_NAMES | PACKED | XBOX_360 | XMEM;
    let archive = contents.iter().fold(Tes4::new(104).flags(flags), |it, (name, data)| {
        it.add("meshes", Tes4File::new(name, &data[..]).stream(pack::xmem_stored(data)))
    });
    let files = contents.into_iter().map(|(name, data)| (format!("meshes/{name}"), data)).collect();
    Sample { name: "v104 built xmem.bsa".into(), bytes: archive.build(), files }
}

fn arena() -> Sample {
    let files = vec![
        ("TAMRIEL.MNU".to_owned(), text(100, 7_000)),
        ("EMPTY.INF".into(), Vec::new()),
        ("12345678.CIF".into(), texels(101, 64)),
    ];
    legacy_of("arena.bsa", legacy::Kind::Arena, files)
}

fn names() -> Sample {
    let files = vec![("MAPPITEM.000".to_owned(), text(102, 90_000)), ("S0000999.RMB".into(), noise(103, 70))];
    legacy_of("daggerfall names.bsa", legacy::Kind::Names, files)
}

fn legacy_of(name: &str, kind: legacy::Kind, files: Vec<(String, Vec<u8>)>) -> Sample {
    let archive = files.iter().fold(Legacy::new(kind), |it, (name, data)| it.file(name, &data[..]));
    Sample { name: name.into(), bytes: archive.build(), files }
}

fn numbers() -> Sample {
    let contents = [(7, texels(104, 4_000)), (99_800, noise(105, 33))];
    let archive = contents
        .iter()
        .fold(Legacy::new(legacy::Kind::Numbers), |it, (number, data)| it.number(*number, &data[..]));
    let bytes = archive.build();
    let files = contents.into_iter().map(|(number, data)| (number.to_string(), data)).collect();
    Sample { name: "daggerfall numbers.bsa".into(), bytes, files }
}
