//! Bytes like those of meshes and materials: their headers, and names between other data.

/// A NIF, by the first line and numbers of its game.
#[derive(Clone, Copy)]
pub enum Nif {
    Morrowind,
    Oblivion,
    Fallout3,
    SkyrimSe,
    Fallout4,
    Starfield,
}

impl Nif {
    pub const ALL: [Self; 6] =
        [Self::Morrowind, Self::Oblivion, Self::Fallout3, Self::SkyrimSe, Self::Fallout4, Self::Starfield];

    /// A mesh that names files, each behind its length.
    pub fn naming(self, names: &[&str]) -> Vec<u8> {
        let mut bytes = self.header();
        for name in names {
            bytes.extend(OTHER_DATA);
            bytes.extend(sized(name.as_bytes()));
        }
        bytes.extend(OTHER_DATA);
        bytes
    }

    fn header(self) -> Vec<u8> {
        let (line, version, user, bethesda) = match self {
            Self::Morrowind => ("NetImmerse File Format, Version 4.0.0.2\n", 0x0400_0002, 0, 0),
            Self::Oblivion => ("Gamebryo File Format, Version 20.0.0.5\n", 0x1400_0005, 11, 0),
            Self::Fallout3 => ("Gamebryo File Format, Version 20.2.0.7\n", 0x1402_0007, 11, 34),
            Self::SkyrimSe => ("Gamebryo File Format, Version 20.2.0.7\n", 0x1402_0007, 12, 100),
            Self::Fallout4 => ("Gamebryo File Format, Version 20.2.0.7\n", 0x1402_0007, 12, 130),
            Self::Starfield => ("Gamebryo File Format, Version 20.2.0.7\n", 0x1402_0007, 12, 172),
        };
        let mut bytes = line.as_bytes().to_vec();
        bytes.extend(u32::to_le_bytes(version));
        // Little-endian; then the user version, a number of blocks, and Bethesda's version.
        bytes.push(1);
        for number in [user, 3, bethesda] {
            bytes.extend(u32::to_le_bytes(number));
        }
        bytes
    }
}

/// Geometry of Starfield: the numbers of indices and vertices, 64, and a path without extension.
pub fn geometry(path: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in [300_u32, 120, 64] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(sized(path.as_bytes()));
    bytes
}

/// A BGSM whose names end with a NUL that counts. An empty name is one NUL.
pub fn bgsm(names: &[&str]) -> Vec<u8> {
    let mut bytes = b"BGSM\x02\0\0\0".to_vec();
    bytes.extend([0; 55]);
    for name in names {
        bytes.extend(sized(&[name.as_bytes(), b"\0"].concat()));
    }
    bytes.extend([1, 0, 0]);
    bytes
}

fn sized(name: &[u8]) -> Vec<u8> {
    [&u32::try_from(name.len()).unwrap().to_le_bytes(), name].concat()
}

/// Numbers, text and names without a length, which are no names.
const OTHER_DATA: &[u8] =
    b"\0\0\x80\x3f\x12.dds\xff\xfe a.dds Scene Root.dds\x05\0\0\0ab.ddsX\x40\0\0\0\xff\xff";
