//! Any bytes as the description of a texture and its texels. Headers must have the right length,
//! and texels must come back after the tests' own tiler has tiled them.
//!
//! An input is width and height (u16), mips, flags (1: cube), format and tile mode of a texture (u8 each),
//! the 32 bytes of a T#, the length of the data (u32), and texels. Numbers are in little-endian order.

#![allow(unreachable_pub, reason = "`pub` here means: for tests and fuzz targets")]

use bsafs::format::Head;
use bsafs::picture::{FullPicture, PictureChannels, RgbaTexture, thumbnail};
use bsafs::texture::file_header::{FileHeader, HEADER_MAX};
use bsafs::texture::parts::TextureParts;
use bsafs::texture::tiling::{LINEAR, Padding, Surface, THIN_1D, WrongLength, to_rows};
use bsafs::texture::{dds, gnf, xbox};

use super::tiler::{FILL, Tiler};

/// Largest texture that is tiled, in tiled bytes.
const TILED_MAX: u64 = 64 << 10;

/// A texture that an input describes, and its texels.
struct Input {
    /// The texture as a BA2 of textures describes it.
    texture: dds::Texture,
    /// The tile mode of the Xbox One.
    tile_mode: u8,
    /// The T# as a BA2 of the PlayStation 4 stores it.
    descriptor: [u8; 32],
    /// Length of the texels, for headers that state it.
    data: u32,
    /// The texels, repeated as often as needed.
    texels: Vec<u8>,
}

impl Input {
    /// Number of bytes before the texels.
    const LEN: usize = 8 + 32 + 4;

    /// Parses an input. `None` if it is too short.
    fn new(input: &[u8]) -> Option<Self> {
        let (&fields, texels) = input.split_first_chunk::<{ Self::LEN }>()?;
        let [a, b, c, d, mips, flags, format, tile_mode, ..] = fields;
        let texture = dds::Texture {
            width: u16::from_le_bytes([a, b]),
            height: u16::from_le_bytes([c, d]),
            mips,
            format,
            cube: flags & 1 != 0,
        };
        let descriptor = *fields[8..].first_chunk()?;
        let data = u32::from_le_bytes(*fields.last_chunk()?);
        Some(Self { texture, tile_mode, descriptor, data, texels: texels.into() })
    }
}

/// Makes headers, then tiles and linearises texels. Returns the number of linearised surfaces.
///
/// # Panics
/// If an invariant does not hold.
pub fn run(input: &[u8]) -> usize {
    let Some(input) = Input::new(input) else { return 0 };
    let descriptor = gnf::Descriptor(input.descriptor);
    let of_xbox = xbox::XboxTexture { dds: input.texture, tile_mode: input.tile_mode };
    let compatible = Head::CompatibleDds(input.texture);
    let heads = [Head::Dds(input.texture), compatible, Head::Xbox(of_xbox), Head::Gnf(descriptor)];
    for head in heads.iter() {
        check_head(head, input.data.into());
    }
    check_pictures(&input, &heads);
    assert!(descriptor.mips() <= 16 && descriptor.header(0)[16..48] == input.descriptor);
    [Some(input.texture), descriptor.texture()]
        .into_iter()
        .flatten()
        .flat_map(|texture| [Padding::Tiles, Padding::PowersOfTwo].map(|padding| (texture, padding)))
        .filter(|(texture, padding)| check_surface(texture, *padding, &input.texels))
        .count()
}

/// Decodes pictures of the texels: under each head, under each head with one word changed, and
/// under any bytes as a header.
fn check_pictures(input: &Input, heads: &[Head]) {
    for head in heads {
        let mut file = [&head.bytes(input.texels.len() as u64), &input.texels[..]].concat();
        check_picture(&file);
        // The changed word is after the magic.
        let at = 4 + 4 * (input.data as usize % (head.len() as usize / 4 - 1));
        file[at..at + 4].copy_from_slice(&input.descriptor[..4]);
        check_picture(&file);
    }
    for magic in [b"DDS ", b"GNF "] {
        check_picture(&[magic, &input.texels[..]].concat());
    }
}

/// A file gives a picture of at most the requested size, or an error. The decoder does not allocate
/// memory for texels that the file lacks.
fn check_picture(file: &[u8]) {
    check_parts(file);
    for size in [1, 16] {
        if let Ok(image) = thumbnail(&mut std::io::Cursor::new(file), size) {
            assert!((1..=size).contains(&image.width) && (1..=size).contains(&image.height), "{image:?}");
            assert_eq!(image.rgba.len(), (image.width * image.height) as usize);
        }
    }
    let header = FileHeader::parse(&file[..file.len().min(HEADER_MAX)], file.len() as u64).ok();
    if let Some(shown) = header.and_then(|header| RgbaTexture::new(header, file.len() as u64).ok()) {
        check_bands(&shown, file);
        check_bands(&shown.without_mips(), file);
        check_full_picture(file);
    }
}

/// A file has parts for an archive only if it has all their bytes. Its header comes back with its meaning.
fn check_parts(file: &[u8]) {
    let len = file.len() as u64;
    let head = &file[..file.len().min(HEADER_MAX)];
    let Ok(parts) = TextureParts::of(head, len) else { return };
    let mut ends = parts.chunks.iter().map(|chunk| chunk.range.end);
    let starts = parts.chunks.iter().map(|chunk| chunk.range.start);
    assert!(starts.eq(std::iter::once(0).chain(ends.clone()).take(parts.chunks.len())));
    assert_eq!((ends.next_back(), parts.texture.texel_bytes()), (Some(parts.texels), Some(parts.texels)));
    assert!(parts.chunks.len() <= 4 && parts.chunks.iter().all(|chunk| !chunk.range.is_empty()));
    assert!(parts.header_len + parts.texels <= len);
    let again = FileHeader::parse(&parts.texture.header(), u64::MAX).unwrap();
    let sides = (u32::from(parts.texture.width), u32::from(parts.texture.height));
    assert_eq!((again.width, again.height, again.cube), (sides.0, sides.1, parts.texture.cube));
}

/// A texture that has an uncompressed form has a picture in full size, which is made of the file alone.
fn check_full_picture(file: &[u8]) {
    let picture = FullPicture::new(&mut &file[..], file.len() as u64).unwrap();
    for channels in [PictureChannels::All, PictureChannels::Colours, PictureChannels::Alpha] {
        picture.write(&mut &file[picture.start() as usize..], channels, std::io::sink()).unwrap();
    }
}

/// The bands of an uncompressed texture follow each other, and their texels lie within the file.
fn check_bands(shown: &RgbaTexture, file: &[u8]) {
    let mut at = 0;
    while let Some(band) = shown.band(at) {
        assert!(band.pixels.start == at && band.pixels.end > at, "{band:?}");
        let mut pixels = vec![0; (band.pixels.end - at) as usize];
        shown.decode(&band, &file[band.texels.start as usize..band.texels.end as usize], &mut pixels);
        at = band.pixels.end;
    }
    assert_eq!(shown.head().len() as u64 + at, shown.file_len());
}

/// Checks that a head is as long as it says, and that linear texels are as long as size and format require.
fn check_head(head: &Head, data: u64) {
    let bytes = head.bytes(data);
    assert_eq!(bytes.len() as u64, head.len(), "{head:?}");
    let texture = match head {
        Head::Dds(_) | Head::CompatibleDds(_) => {
            assert!(bytes.starts_with(b"DDS ") && matches!(bytes.len(), 128 | 148));
            assert_eq!(head.linear(data), None);
            return;
        }
        Head::Xbox(texture) => Some(texture.dds),
        Head::Gnf(descriptor) => descriptor.texture(),
        Head::None => None,
    };
    let surface = |padding| texture.and_then(|it| Surface::new(&it, padding));
    let surfaces = [surface(Padding::Tiles), surface(Padding::PowersOfTwo)];
    let lens = surfaces.iter().flatten().flat_map(|it| [it.tiled_len(), it.linear_len()]);
    for data in lens.chain([data]) {
        let Some(linear) = head.linear(data) else { continue };
        assert_eq!(texture.map(Head::Dds), Some(linear.head()));
        let texels = texture.and_then(|it| it.texel_bytes());
        match (head.tile_mode(), linear.linear_len()) {
            (Some(LINEAR), None) => assert_eq!(texels, Some(data)),
            (Some(THIN_1D), Some(len)) => assert!(texels == Some(len) && len <= data),
            other => panic!("{other:?} must not become linear"),
        }
    }
}

/// Checks that tiled texels come back, and that texels of a wrong length are refused. Returns
/// whether they were tiled.
fn check_surface(texture: &dds::Texture, padding: Padding, texels: &[u8]) -> bool {
    let Some(surface) = Surface::new(texture, padding) else { return false };
    assert_eq!(texture.texel_bytes(), Some(surface.linear_len()), "{surface:?}");
    assert!(surface.linear_len() <= surface.tiled_len(), "{surface:?}");
    let found = Surface::with_tiled_len(texture, surface.tiled_len());
    assert_eq!(found.map(|it| it.tiled_len()), Some(surface.tiled_len()), "{surface:?}");
    if surface.tiled_len() > TILED_MAX || texels.is_empty() {
        assert_eq!(to_rows(&surface, &[], &mut []), Err(WrongLength));
        return false;
    }
    let tiler = tiler(texture, padding);
    let linear: Vec<u8> = texels.iter().copied().cycle().take(tiler.linear_len()).collect();
    let tiled = tiler.tile(&linear);
    let mut rows = vec![FILL; linear.len()];
    for wrong in [&tiled[1..], &[&tiled[..], &[0]].concat()] {
        assert_eq!(to_rows(&surface, wrong, &mut rows), Err(WrongLength), "{surface:?}");
    }
    assert_eq!(to_rows(&surface, &tiled, &mut rows[1..]), Err(WrongLength), "{surface:?}");
    assert!(rows.iter().all(|&byte| byte == FILL), "{surface:?}: a refused texture was written");
    assert_eq!(to_rows(&surface, &tiled, &mut rows), Ok(()), "{surface:?}");
    assert!(rows == linear, "{surface:?}: the texels differ");
    true
}

/// Makes the tests' own tiler for a texture with a surface. Textures of one row show the size of an element.
fn tiler(texture: &dds::Texture, padding: Padding) -> Tiler {
    let row = |width| {
        let row = dds::Texture { width, height: 1, mips: 1, cube: false, ..*texture };
        row.texel_bytes().unwrap()
    };
    Tiler {
        width: texture.width.into(),
        height: texture.height.into(),
        mips: texture.mips.max(1).into(),
        faces: if texture.cube { 6 } else { 1 },
        side: if row(4) == row(1) { 4 } else { 1 },
        bytes: row(1) as usize,
        powers_of_two: padding == Padding::PowersOfTwo,
    }
}
