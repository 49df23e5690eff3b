//! DDS headers, compared with those of DirectXTex: FORMATS.md section 5.1.

use bsafs::texture::dds::Texture;

use crate::support::vectors::dds_headers;

#[test]
fn headers_match_those_of_directxtex() {
    for row in dds_headers() {
        let texture = Texture {
            width: row.width,
            height: row.height,
            mips: row.mips,
            format: row.format,
            cube: row.cube,
        };
        let header = texture.header();
        assert_eq!(texture.header_len(), header.len() as u64, "{texture:?}");
        assert_eq!(texture.is_known(), row.header.is_some(), "{texture:?}");
        match row.header {
            Some(expected) => {
                let digits: String = header.iter().map(|byte| format!("{byte:02x}")).collect();
                assert_eq!(digits, expected, "{texture:?}");
            }
            None => {
                assert_eq!(header.len(), 148, "{texture:?}");
                assert_eq!(header[20..24], [0; 4], "{texture:?}: the pitch is not 0");
                assert_eq!(header[84..88], *b"DX10", "{texture:?}");
                assert_eq!(header[128..132], u32::from(row.format).to_le_bytes(), "{texture:?}");
            }
        }
    }
}
