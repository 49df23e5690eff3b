//! The table of pixel formats (FORMATS.md section 5). Formats are defined only here.

use Legacy::{Code, Dx10, Masks};
use PlaneHeight::{Any, Even};
use TexelLayout::{Blocks, Planes, Rows};

/// A pixel format that DirectXTex writes.
#[derive(Debug)]
pub struct PixelFormat {
    /// Number in `DXGI_FORMAT`.
    pub value: u8,
    /// Name in `DXGI_FORMAT`, without the prefix.
    pub name: &'static str,
    /// Layout of the texels in memory.
    pub layout: TexelLayout,
    /// How a header without the DX10 extension declares this format.
    pub legacy: Legacy,
}

/// How texels are laid out in memory. This decides what a header's pitch field counts.
#[derive(Clone, Copy, Debug)]
pub enum TexelLayout {
    /// Rows of groups: pixels per group, bytes per group.
    Rows(u32, u32),
    /// Blocks of 4 by 4 pixels: bytes per block.
    Blocks(u32),
    /// Video with more than one plane: pixels and bytes per group in the first plane.
    Planes(u32, u32, PlaneHeight),
}

/// Which heights are valid for a format with planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaneHeight {
    Any,
    /// Even heights only; DirectXTex refuses odd ones.
    Even,
}

/// How a 128-byte DDS header declares a pixel format.
#[derive(Clone, Copy, Debug)]
pub enum Legacy {
    /// Not at all: this format needs the 20-byte DX10 extension.
    Dx10,
    /// By a FourCC, or by a number of `D3DFORMAT` in its place.
    Code([u8; 4]),
    /// By flags, bits per pixel, and the masks of red, green, blue and alpha.
    Masks(u32, u32, [u32; 4]),
}

/// The row of a `DXGI_FORMAT` value; `None` for values that DirectXTex refuses.
pub fn pixel_format(value: u8) -> Option<&'static PixelFormat> {
    let index = PIXEL_FORMATS.binary_search_by_key(&value, |format| format.value);
    index.ok().and_then(|index| PIXEL_FORMATS.get(index))
}

/// R32_FLOAT in `DXGI_FORMAT`.
pub(super) const R32_FLOAT: u8 = 41;
/// P8 in `D3DFORMAT`.
pub(super) const D3D_P8: u8 = 41;

/// A format of Direct3D 9, whose number some programs write in place of a FourCC.
#[derive(Debug)]
pub(super) struct D3dFormat {
    /// Number in `D3DFORMAT`.
    pub(super) number: u8,
    /// Name in `D3DFORMAT`, without the prefix.
    pub(super) name: &'static str,
    pub(super) pixels: D3dPixels,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum D3dPixels {
    /// What a header without a FourCC states: flags, bits per pixel, and the masks of red, green, blue and
    /// alpha.
    Masks(u32, u32, [u32; 4]),
    /// Indices into a palette, each followed by a byte of alpha or not.
    Palette { has_alpha: bool },
    /// A format that no program shows in the same way.
    Unsupported,
}

const fn d3d(number: u8, name: &'static str, flags: u32, bits: u32, masks: [u32; 4]) -> D3dFormat {
    D3dFormat { number, name, pixels: D3dPixels::Masks(flags, bits, masks) }
}

const fn unsupported(number: u8, name: &'static str) -> D3dFormat {
    D3dFormat { number, name, pixels: D3dPixels::Unsupported }
}

/// The formats of Direct3D 9 that no row of [`PIXEL_FORMATS`] states by its number.
pub(super) static D3D_FORMATS: &[D3dFormat] = &[
    d3d(20, "R8G8B8", 0x40, 24, [0xff_0000, 0xff00, 0xff, 0]),
    d3d(21, "A8R8G8B8", 0x41, 32, [0xff_0000, 0xff00, 0xff, 0xff00_0000]),
    d3d(22, "X8R8G8B8", 0x40, 32, [0xff_0000, 0xff00, 0xff, 0]),
    d3d(23, "R5G6B5", 0x40, 16, [0xf800, 0x7e0, 0x1f, 0]),
    d3d(24, "X1R5G5B5", 0x40, 16, [0x7c00, 0x3e0, 0x1f, 0]),
    d3d(25, "A1R5G5B5", 0x41, 16, [0x7c00, 0x3e0, 0x1f, 0x8000]),
    d3d(26, "A4R4G4B4", 0x41, 16, [0xf00, 0xf0, 0xf, 0xf000]),
    d3d(27, "R3G3B2", 0x40, 8, [0xe0, 0x1c, 0x3, 0]),
    d3d(28, "A8", 0x2, 8, [0, 0, 0, 0xff]),
    d3d(29, "A8R3G3B2", 0x41, 16, [0xe0, 0x1c, 0x3, 0xff00]),
    d3d(30, "X4R4G4B4", 0x40, 16, [0xf00, 0xf0, 0xf, 0]),
    d3d(31, "A2B10G10R10", 0x41, 32, [0x3ff, 0xf_fc00, 0x3ff0_0000, 0xc000_0000]),
    d3d(32, "A8B8G8R8", 0x41, 32, [0xff, 0xff00, 0xff_0000, 0xff00_0000]),
    d3d(33, "X8B8G8R8", 0x40, 32, [0xff, 0xff00, 0xff_0000, 0]),
    d3d(34, "G16R16", 0x40, 32, [0xffff, 0xffff_0000, 0, 0]),
    d3d(35, "A2R10G10B10", 0x41, 32, [0x3ff0_0000, 0xf_fc00, 0x3ff, 0xc000_0000]),
    D3dFormat { number: 40, name: "A8P8", pixels: D3dPixels::Palette { has_alpha: true } },
    D3dFormat { number: D3D_P8, name: "P8", pixels: D3dPixels::Palette { has_alpha: false } },
    d3d(50, "L8", 0x2_0000, 8, [0xff, 0, 0, 0]),
    d3d(51, "A8L8", 0x2_0001, 16, [0xff, 0, 0, 0xff00]),
    d3d(52, "A4L4", 0x2_0001, 8, [0xf, 0, 0, 0xf0]),
    d3d(60, "V8U8", 0x8_0000, 16, [0xff, 0xff00, 0, 0]),
    unsupported(61, "L6V5U5"),
    unsupported(62, "X8L8V8U8"),
    d3d(63, "Q8W8V8U8", 0x8_0000, 32, [0xff, 0xff00, 0xff_0000, 0xff00_0000]),
    d3d(64, "V16U16", 0x8_0000, 32, [0xffff, 0xffff_0000, 0, 0]),
    unsupported(67, "A2W10V10U10"),
    unsupported(70, "D16_LOCKABLE"),
    unsupported(71, "D32"),
    unsupported(73, "D15S1"),
    unsupported(75, "D24S8"),
    unsupported(77, "D24X8"),
    unsupported(79, "D24X4S4"),
    unsupported(80, "D16"),
    d3d(81, "L16", 0x2_0000, 16, [0xffff, 0, 0, 0]),
    unsupported(82, "D32F_LOCKABLE"),
    unsupported(83, "D24FS8"),
    unsupported(117, "CxV8U8"),
    unsupported(118, "A1"),
];

const fn row(value: u8, name: &'static str, layout: TexelLayout, legacy: Legacy) -> PixelFormat {
    PixelFormat { value, name, layout, legacy }
}

/// Every format that DirectXTex writes, ascending. Widths and pixel formats are those of its
/// headers as of December 2023. 116 to 120, 189 and 190 are numbers of the Xbox consoles.
pub(super) static PIXEL_FORMATS: &[PixelFormat] = &[
    row(1, "R32G32B32A32_TYPELESS", Rows(1, 16), Dx10),
    row(2, "R32G32B32A32_FLOAT", Rows(1, 16), Code([116, 0, 0, 0])),
    row(3, "R32G32B32A32_UINT", Rows(1, 16), Dx10),
    row(4, "R32G32B32A32_SINT", Rows(1, 16), Dx10),
    row(5, "R32G32B32_TYPELESS", Rows(1, 12), Dx10),
    row(6, "R32G32B32_FLOAT", Rows(1, 12), Dx10),
    row(7, "R32G32B32_UINT", Rows(1, 12), Dx10),
    row(8, "R32G32B32_SINT", Rows(1, 12), Dx10),
    row(9, "R16G16B16A16_TYPELESS", Rows(1, 8), Dx10),
    row(10, "R16G16B16A16_FLOAT", Rows(1, 8), Code([113, 0, 0, 0])),
    row(11, "R16G16B16A16_UNORM", Rows(1, 8), Code([36, 0, 0, 0])),
    row(12, "R16G16B16A16_UINT", Rows(1, 8), Dx10),
    row(13, "R16G16B16A16_SNORM", Rows(1, 8), Code([110, 0, 0, 0])),
    row(14, "R16G16B16A16_SINT", Rows(1, 8), Dx10),
    row(15, "R32G32_TYPELESS", Rows(1, 8), Dx10),
    row(16, "R32G32_FLOAT", Rows(1, 8), Code([115, 0, 0, 0])),
    row(17, "R32G32_UINT", Rows(1, 8), Dx10),
    row(18, "R32G32_SINT", Rows(1, 8), Dx10),
    row(19, "R32G8X24_TYPELESS", Rows(1, 8), Dx10),
    row(20, "D32_FLOAT_S8X24_UINT", Rows(1, 8), Dx10),
    row(21, "R32_FLOAT_X8X24_TYPELESS", Rows(1, 8), Dx10),
    row(22, "X32_TYPELESS_G8X24_UINT", Rows(1, 8), Dx10),
    row(23, "R10G10B10A2_TYPELESS", Rows(1, 4), Dx10),
    row(24, "R10G10B10A2_UNORM", Rows(1, 4), Dx10),
    row(25, "R10G10B10A2_UINT", Rows(1, 4), Dx10),
    row(26, "R11G11B10_FLOAT", Rows(1, 4), Dx10),
    row(27, "R8G8B8A8_TYPELESS", Rows(1, 4), Dx10),
    row(28, "R8G8B8A8_UNORM", Rows(1, 4), Masks(0x41, 32, [0xff, 0xff00, 0x00ff_0000, 0xff00_0000])),
    row(29, "R8G8B8A8_UNORM_SRGB", Rows(1, 4), Dx10),
    row(30, "R8G8B8A8_UINT", Rows(1, 4), Dx10),
    row(31, "R8G8B8A8_SNORM", Rows(1, 4), Masks(0x0008_0000, 32, [0xff, 0xff00, 0x00ff_0000, 0xff00_0000])),
    row(32, "R8G8B8A8_SINT", Rows(1, 4), Dx10),
    row(33, "R16G16_TYPELESS", Rows(1, 4), Dx10),
    row(34, "R16G16_FLOAT", Rows(1, 4), Code([112, 0, 0, 0])),
    row(35, "R16G16_UNORM", Rows(1, 4), Masks(0x40, 32, [0xffff, 0xffff_0000, 0, 0])),
    row(36, "R16G16_UINT", Rows(1, 4), Dx10),
    row(37, "R16G16_SNORM", Rows(1, 4), Masks(0x0008_0000, 32, [0xffff, 0xffff_0000, 0, 0])),
    row(38, "R16G16_SINT", Rows(1, 4), Dx10),
    row(39, "R32_TYPELESS", Rows(1, 4), Dx10),
    row(40, "D32_FLOAT", Rows(1, 4), Dx10),
    row(41, "R32_FLOAT", Rows(1, 4), Code([114, 0, 0, 0])),
    row(42, "R32_UINT", Rows(1, 4), Dx10),
    row(43, "R32_SINT", Rows(1, 4), Dx10),
    row(44, "R24G8_TYPELESS", Rows(1, 4), Dx10),
    row(45, "D24_UNORM_S8_UINT", Rows(1, 4), Dx10),
    row(46, "R24_UNORM_X8_TYPELESS", Rows(1, 4), Dx10),
    row(47, "X24_TYPELESS_G8_UINT", Rows(1, 4), Dx10),
    row(48, "R8G8_TYPELESS", Rows(1, 2), Dx10),
    row(49, "R8G8_UNORM", Rows(1, 2), Masks(0x0002_0001, 16, [0xff, 0, 0, 0xff00])),
    row(50, "R8G8_UINT", Rows(1, 2), Dx10),
    row(51, "R8G8_SNORM", Rows(1, 2), Masks(0x0008_0000, 16, [0xff, 0xff00, 0, 0])),
    row(52, "R8G8_SINT", Rows(1, 2), Dx10),
    row(53, "R16_TYPELESS", Rows(1, 2), Dx10),
    row(54, "R16_FLOAT", Rows(1, 2), Code([111, 0, 0, 0])),
    row(55, "D16_UNORM", Rows(1, 2), Dx10),
    row(56, "R16_UNORM", Rows(1, 2), Masks(0x0002_0000, 16, [0xffff, 0, 0, 0])),
    row(57, "R16_UINT", Rows(1, 2), Dx10),
    row(58, "R16_SNORM", Rows(1, 2), Dx10),
    row(59, "R16_SINT", Rows(1, 2), Dx10),
    row(60, "R8_TYPELESS", Rows(1, 1), Dx10),
    row(61, "R8_UNORM", Rows(1, 1), Masks(0x0002_0000, 8, [0xff, 0, 0, 0])),
    row(62, "R8_UINT", Rows(1, 1), Dx10),
    row(63, "R8_SNORM", Rows(1, 1), Dx10),
    row(64, "R8_SINT", Rows(1, 1), Dx10),
    row(65, "A8_UNORM", Rows(1, 1), Masks(0x2, 8, [0, 0, 0, 0xff])),
    row(66, "R1_UNORM", Rows(8, 1), Dx10),
    row(67, "R9G9B9E5_SHAREDEXP", Rows(1, 4), Dx10),
    row(68, "R8G8_B8G8_UNORM", Rows(2, 4), Code(*b"RGBG")),
    row(69, "G8R8_G8B8_UNORM", Rows(2, 4), Code(*b"GRGB")),
    row(70, "BC1_TYPELESS", Blocks(8), Dx10),
    row(71, "BC1_UNORM", Blocks(8), Code(*b"DXT1")),
    row(72, "BC1_UNORM_SRGB", Blocks(8), Dx10),
    row(73, "BC2_TYPELESS", Blocks(16), Dx10),
    row(74, "BC2_UNORM", Blocks(16), Code(*b"DXT3")),
    row(75, "BC2_UNORM_SRGB", Blocks(16), Dx10),
    row(76, "BC3_TYPELESS", Blocks(16), Dx10),
    row(77, "BC3_UNORM", Blocks(16), Code(*b"DXT5")),
    row(78, "BC3_UNORM_SRGB", Blocks(16), Dx10),
    row(79, "BC4_TYPELESS", Blocks(8), Dx10),
    row(80, "BC4_UNORM", Blocks(8), Code(*b"BC4U")),
    row(81, "BC4_SNORM", Blocks(8), Code(*b"BC4S")),
    row(82, "BC5_TYPELESS", Blocks(16), Dx10),
    row(83, "BC5_UNORM", Blocks(16), Code(*b"BC5U")),
    row(84, "BC5_SNORM", Blocks(16), Code(*b"BC5S")),
    row(85, "B5G6R5_UNORM", Rows(1, 2), Masks(0x40, 16, [0xf800, 0x7e0, 0x1f, 0])),
    row(86, "B5G5R5A1_UNORM", Rows(1, 2), Masks(0x41, 16, [0x7c00, 0x3e0, 0x1f, 0x8000])),
    row(87, "B8G8R8A8_UNORM", Rows(1, 4), Masks(0x41, 32, [0x00ff_0000, 0xff00, 0xff, 0xff00_0000])),
    row(88, "B8G8R8X8_UNORM", Rows(1, 4), Masks(0x40, 32, [0x00ff_0000, 0xff00, 0xff, 0])),
    row(89, "R10G10B10_XR_BIAS_A2_UNORM", Rows(1, 4), Dx10),
    row(90, "B8G8R8A8_TYPELESS", Rows(1, 4), Dx10),
    row(91, "B8G8R8A8_UNORM_SRGB", Rows(1, 4), Dx10),
    row(92, "B8G8R8X8_TYPELESS", Rows(1, 4), Dx10),
    row(93, "B8G8R8X8_UNORM_SRGB", Rows(1, 4), Dx10),
    row(94, "BC6H_TYPELESS", Blocks(16), Dx10),
    row(95, "BC6H_UF16", Blocks(16), Dx10),
    row(96, "BC6H_SF16", Blocks(16), Dx10),
    row(97, "BC7_TYPELESS", Blocks(16), Dx10),
    row(98, "BC7_UNORM", Blocks(16), Dx10),
    row(99, "BC7_UNORM_SRGB", Blocks(16), Dx10),
    row(100, "AYUV", Rows(1, 4), Dx10),
    row(101, "Y410", Rows(1, 4), Dx10),
    row(102, "Y416", Rows(1, 8), Dx10),
    row(103, "NV12", Planes(2, 2, Even), Dx10),
    row(104, "P010", Planes(2, 4, Even), Dx10),
    row(105, "P016", Planes(2, 4, Even), Dx10),
    row(106, "420_OPAQUE", Planes(2, 2, Even), Dx10),
    row(107, "YUY2", Rows(2, 4), Code(*b"YUY2")),
    row(108, "Y210", Rows(2, 8), Dx10),
    row(109, "Y216", Rows(2, 8), Dx10),
    row(110, "NV11", Planes(4, 4, Any), Dx10),
    row(115, "B4G4R4A4_UNORM", Rows(1, 2), Masks(0x41, 16, [0xf00, 0xf0, 0xf, 0xf000])),
    row(116, "R10G10B10_7E3_A2_FLOAT", Rows(1, 4), Dx10),
    row(117, "R10G10B10_6E4_A2_FLOAT", Rows(1, 4), Dx10),
    row(118, "D16_UNORM_S8_UINT", Planes(2, 4, Any), Dx10),
    row(119, "R16_UNORM_X8_TYPELESS", Planes(2, 4, Any), Dx10),
    row(120, "X16_TYPELESS_G8_UINT", Planes(2, 4, Any), Dx10),
    row(130, "P208", Planes(2, 2, Any), Dx10),
    row(131, "V208", Planes(1, 1, Even), Dx10),
    row(132, "V408", Planes(1, 1, Any), Dx10),
    row(189, "R10G10B10_SNORM_A2_UNORM", Rows(1, 4), Dx10),
    row(190, "R4G4_UNORM", Rows(1, 1), Dx10),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pixel_format_is_found_by_its_value() {
        for row in PIXEL_FORMATS {
            assert_eq!(
                pixel_format(row.value).map(|found| found.name),
                Some(row.name),
                "the table is out of order"
            );
        }
        assert!(pixel_format(0).is_none());
        assert!(pixel_format(255).is_none());
    }
}
