//! DDS headers, which a DX10 archive leaves out, for the few formats that samples use.

/// `DXGI_FORMAT`: pixels of 4 bytes.
pub const RGBA8: u8 = 28;
/// `DXGI_FORMAT`: blocks of 8 bytes.
pub const BC1: u8 = 71;
/// `DXGI_FORMAT`: blocks of 16 bytes.
pub const BC3: u8 = 77;
/// `DXGI_FORMAT`: blocks of 16 bytes, two channels.
pub const BC5: u8 = 83;
/// `DXGI_FORMAT`: blocks of 16 bytes. The header states it by its number, and is 20 bytes longer.
pub const BC7: u8 = 98;
/// `DXGI_FORMAT`: the sRGB variant of [`BC7`].
pub const BC7_SRGB: u8 = 99;

/// The header in front of a texture's texels, as DirectXTex writes it: 128 bytes, or 148 for BC7.
pub fn header(format: u8, width: u16, height: u16, mips: u8, cube: bool) -> Vec<u8> {
    let (pixel_flags, four_cc, bits, masks) = match format {
        RGBA8 => (0x41, *b"\0\0\0\0", 32, [0x0000_00FF, 0x0000_FF00, 0x00FF_0000, 0xFF00_0000]),
        BC1 => (4, *b"DXT1", 0, [0; 4]),
        BC3 => (4, *b"DXT5", 0, [0; 4]),
        BC5 => (4, *b"BC5U", 0, [0; 4]),
        BC7 | BC7_SRGB => (4, *b"DX10", 0, [0; 4]),
        _ => panic!("no DDS header is known here for format {format}"),
    };
    let blocks = format != RGBA8;
    let mip_flag = if mips > 0 { 0x2_0000 } else { 0 };
    let flags = 0x1007 | mip_flag | if blocks { 0x8_0000 } else { 8 };
    let pitch = if blocks { level_bytes(format, width, height) } else { u32::from(width) * 4 };
    let caps = 0x1000 | if mips > 1 { 0x40_0008 } else { 0 } | if cube { 8 } else { 0 };
    let mut words = vec![u32::from_le_bytes(*b"DDS "), 124, flags, height.into(), width.into(), pitch, 1];
    words.push(mips.into());
    words.extend([0; 11]);
    words.extend([32, pixel_flags, u32::from_le_bytes(four_cc), bits]);
    words.extend(masks);
    words.extend([caps, if cube { 0xFE00 } else { 0 }, 0, 0, 0]);
    if &four_cc == b"DX10" {
        words.extend([u32::from(format), 3, if cube { 4 } else { 0 }, 1, 0]);
    }
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Number of bytes of one face of one mip.
pub fn level_bytes(format: u8, width: u16, height: u16) -> u32 {
    let (width, height) = (u32::from(width), u32::from(height));
    match format {
        RGBA8 => width * height * 4,
        BC1 => width.div_ceil(4) * height.div_ceil(4) * 8,
        _ => width.div_ceil(4) * height.div_ceil(4) * 16,
    }
}

/// Number of bytes of each mip of one face, the largest first.
pub fn mip_bytes(format: u8, width: u16, height: u16, mips: u8) -> Vec<usize> {
    (0..u32::from(mips))
        .map(|mip| {
            let half = |side: u16| side.checked_shr(mip).unwrap_or(0).max(1);
            level_bytes(format, half(width), half(height)) as usize
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::vectors::{DdsRow, dds_headers};
    use super::*;

    #[test]
    fn headers_match_those_of_directxtex() {
        let is_supported = |row: &DdsRow| [RGBA8, BC1, BC3, BC5, BC7, BC7_SRGB].contains(&row.format);
        let rows: Vec<DdsRow> = dds_headers().into_iter().filter(is_supported).collect();
        for row in &rows {
            let bytes = header(row.format, row.width, row.height, row.mips, row.cube);
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(Some(&hex), row.header.as_ref(), "{}: {} by {}", row.format, row.width, row.height);
        }
        assert_eq!(rows.len(), 18, "there must be six formats in three sizes");
    }
}
