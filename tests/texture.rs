//! Textures: headers byte for byte, and the tiling of consoles, compared with a second
//! implementation element by element.

mod dds_headers; // writing DDS headers
mod directxtex_headers; // DDS headers, compared with those of DirectXTex
mod file_headers; // reading headers of any program
mod gnf;
mod xbox;

use bsafs::texture::dds;
use bsafs::texture::tiling::{Padding, Surface, WrongLength, to_rows};

use crate::support::content::noise;
use crate::support::tiler::{FILL, Tiler};

/// `DXGI_FORMAT`, its name, side of an element in pixels, bytes of an element.
const FORMATS: [(u8, &str, u32, usize); 23] = [
    (71, "BC1_UNORM", 4, 8),
    (72, "BC1_UNORM_SRGB", 4, 8),
    (74, "BC2_UNORM", 4, 16),
    (77, "BC3_UNORM", 4, 16),
    (78, "BC3_UNORM_SRGB", 4, 16),
    (80, "BC4_UNORM", 4, 8),
    (81, "BC4_SNORM", 4, 8),
    (83, "BC5_UNORM", 4, 16),
    (84, "BC5_SNORM", 4, 16),
    (95, "BC6H_UF16", 4, 16),
    (96, "BC6H_SF16", 4, 16),
    (98, "BC7_UNORM", 4, 16),
    (99, "BC7_UNORM_SRGB", 4, 16),
    (61, "R8_UNORM", 1, 1),
    (65, "A8_UNORM", 1, 1),
    (49, "R8G8_UNORM", 1, 2),
    (56, "R16_UNORM", 1, 2),
    (85, "B5G6R5_UNORM", 1, 2),
    (28, "R8G8B8A8_UNORM", 1, 4),
    (87, "B8G8R8A8_UNORM", 1, 4),
    (10, "R16G16B16A16_FLOAT", 1, 8),
    (16, "R32G32_FLOAT", 1, 8),
    (2, "R32G32B32A32_FLOAT", 1, 16),
];

/// Width, height, mips: powers of two and other sizes, thin textures and single pixels, fewer mips
/// than possible and more.
const SIZES: [(u16, u16, u8); 14] = [
    (64, 64, 7),
    (8, 8, 1),
    (1, 1, 1),
    (1, 1, 3),
    (3, 5, 2),
    (6, 5, 3),
    (100, 36, 7),
    (33, 65, 4),
    (9, 200, 8),
    (200, 9, 8),
    (257, 1, 9),
    (12, 12, 0),
    (72, 40, 1),
    (2, 2, 40),
];

fn texture(format: u8, (width, height, mips): (u16, u16, u8), cube: bool) -> dds::Texture {
    dds::Texture { width, height, mips, format, cube }
}

fn tiler(texture: &dds::Texture, side: u32, bytes: usize, padding: Padding) -> Tiler {
    Tiler {
        width: texture.width.into(),
        height: texture.height.into(),
        mips: texture.mips.max(1).into(),
        faces: if texture.cube { 6 } else { 1 },
        side,
        bytes,
        powers_of_two: padding == Padding::PowersOfTwo,
    }
}

#[test]
fn tiled_texels_become_linear_element_by_element() {
    let mut checked = 0;
    for (format, name, side, bytes) in FORMATS {
        for size in SIZES {
            for cube in [false, true] {
                for padding in [Padding::Tiles, Padding::PowersOfTwo] {
                    let texture = texture(format, size, cube);
                    assert_eq!(texture.format_name(), name);
                    let tiler = tiler(&texture, side, bytes, padding);
                    let linear = noise(u64::from(size.0) + u64::from(format), tiler.linear_len());
                    let tiled = tiler.tile(&linear);
                    let surface = Surface::new(&texture, padding).unwrap();
                    let what = format!("{name} {size:?} cube {cube} {padding:?}");
                    assert_eq!(surface.tiled_len(), tiled.len() as u64, "{what}");
                    assert_eq!(surface.linear_len(), linear.len() as u64, "{what}");
                    let mut out = vec![FILL; linear.len()];
                    to_rows(&surface, &tiled, &mut out).unwrap();
                    let differs = out.chunks(bytes).zip(linear.chunks(bytes)).position(|(a, b)| a != b);
                    assert_eq!(differs, None, "{what}: this element is wrong");
                    checked += 1;
                }
            }
        }
    }
    assert_eq!(checked, 23 * 14 * 2 * 2);
}

#[test]
fn linear_texels_have_the_length_of_the_dds_header() {
    for (format, name, _, _) in FORMATS {
        for size in SIZES {
            let texture = texture(format, size, true);
            let surface = Surface::new(&texture, Padding::Tiles).unwrap();
            assert_eq!(Some(surface.linear_len()), texture.texel_bytes(), "{name} {size:?}");
        }
    }
}

#[test]
fn elements_are_at_the_documented_offsets() {
    // The offsets are literals, so that both implementations cannot be wrong in the same way. The
    // texture has 16 by 9 pixels of one byte each.
    let surface = Surface::new(&texture(61, (16, 9, 1), false), Padding::Tiles).unwrap();
    assert_eq!(surface.tiled_len(), 256, "there must be two tiles in each of two rows");
    let mut tiled = vec![0; 256];
    let near = [((0, 0), 0), ((1, 0), 1), ((0, 1), 2), ((1, 1), 3), ((2, 0), 4), ((0, 2), 8), ((4, 0), 16)];
    let far = [((0, 4), 32), ((7, 7), 63), ((8, 0), 64), ((15, 7), 127), ((0, 8), 128), ((8, 8), 192)];
    let all: Vec<((usize, usize), usize)> = near.into_iter().chain(far).collect();
    for (number, (_, at)) in (1..).zip(&all) {
        tiled[*at] = number;
    }
    let mut linear = vec![0; 16 * 9];
    to_rows(&surface, &tiled, &mut linear).unwrap();
    for (number, ((x, y), _)) in (1..).zip(&all) {
        assert_eq!(linear[y * 16 + x], number, "{x}, {y}");
    }
}

#[test]
fn the_padding_is_derived_from_the_length_of_the_data() {
    // 300 pixels are 75 blocks. The second mip has 38, which are 5 tiles, or 8 if padded to 64.
    let texture = texture(71, (300, 300, 4), false);
    let [tiles, powers] =
        [Padding::Tiles, Padding::PowersOfTwo].map(|it| Surface::new(&texture, it).unwrap());
    assert_ne!(tiles.tiled_len(), powers.tiled_len());
    for surface in [tiles, powers] {
        assert_eq!(Surface::with_tiled_len(&texture, surface.tiled_len()), Some(surface));
    }
    assert_eq!(Surface::with_tiled_len(&texture, tiles.tiled_len() - 1), None);
    assert_eq!(Surface::with_tiled_len(&texture, tiles.linear_len()), None);
}

#[test]
fn data_of_a_wrong_length_is_refused_and_nothing_is_written() {
    let surface = Surface::new(&texture(98, (20, 20, 2), true), Padding::Tiles).unwrap();
    let (tiled, linear) = (surface.tiled_len() as usize, surface.linear_len() as usize);
    for (tiled, linear) in
        [(tiled - 1, linear), (tiled + 1, linear), (tiled, linear - 1), (0, linear), (tiled, 0)]
    {
        let mut out = vec![FILL; linear];
        assert_eq!(to_rows(&surface, &vec![0; tiled], &mut out), Err(WrongLength));
        assert!(out.iter().all(|&byte| byte == FILL), "{tiled} {linear}");
    }
}

#[test]
fn formats_without_plain_elements_are_refused() {
    for (format, what) in [
        (6, "12 bytes"),
        (66, "pixels of one bit"),
        (68, "two pixels in a group"),
        (103, "planes of video"),
        (0, "unknown"),
        (255, "no format"),
    ] {
        assert_eq!(Surface::new(&texture(format, (64, 64, 1), false), Padding::Tiles), None, "{what}");
    }
    for size in [(0, 64, 1), (64, 0, 1)] {
        assert_eq!(Surface::new(&texture(71, size, false), Padding::Tiles), None, "{size:?}");
    }
}

#[test]
fn the_largest_declared_size_is_computed_without_allocation() {
    let texture = texture(2, (u16::MAX, u16::MAX, u8::MAX), true);
    let surface = Surface::new(&texture, Padding::PowersOfTwo).unwrap();
    assert!(surface.tiled_len() > surface.linear_len());
    assert_eq!(to_rows(&surface, &[], &mut []), Err(WrongLength));
}

#[test]
fn if_both_paddings_have_the_same_length_almost_all_sizes_agree() {
    for width in 30..=52 {
        for height in 1..=36 {
            for (format, _, side, bytes) in [FORMATS[0], FORMATS[13], FORMATS[15]] {
                let texture = texture(format, (width, height, 2), false);
                let [tiles, powers] =
                    [Padding::Tiles, Padding::PowersOfTwo].map(|it| Surface::new(&texture, it).unwrap());
                if tiles.tiled_len() != powers.tiled_len() {
                    continue;
                }
                assert_eq!(Surface::with_tiled_len(&texture, tiles.tiled_len()), Some(powers));
                let linear = noise(1, tiles.linear_len() as usize);
                let tiled = tiler(&texture, side, bytes, Padding::Tiles).tile(&linear);
                let mut out = vec![0; linear.len()];
                to_rows(&powers, &tiled, &mut out).unwrap();
                let is_exception = bytes == 1 && (34..50).contains(&width) && (18..34).contains(&height);
                assert_eq!(out != linear, is_exception, "{width} by {height}, {bytes} bytes");
            }
        }
    }
}
