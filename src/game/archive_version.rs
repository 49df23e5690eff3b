//! Archive formats with their versions.

use std::fmt;
use std::path::Path;

use super::disk::Disk;
use crate::read::Reader;

/// Number of bytes at the start of an archive that hold its version.
pub(super) const HEAD: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchiveVersion {
    /// Morrowind's BSA, which has a single version.
    Tes3,
    /// A BSA of Oblivion or a later game.
    Bsa(u32),
    /// A BA2.
    Ba2(u32),
}

impl ArchiveVersion {
    /// Reads the version of an archive. `None` if the file is not an archive or cannot be read.
    pub(crate) fn read(disk: &Disk, path: &Path) -> Option<Self> {
        Self::of(&disk.read_start(path, HEAD).ok()?)
    }

    /// Finds the version in the first bytes of an archive. `None` if they are not an archive's.
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(head);
        let magic = reader.take(4, "the archive's magic").ok()?;
        if magic == [0, 1, 0, 0] {
            return Some(Self::Tes3);
        }
        let version = reader.u32("the archive's version").ok()?;
        match magic {
            b"BSA\0" => Some(Self::Bsa(version)),
            b"BTDX" => Some(Self::Ba2(version)),
            _ => None,
        }
    }
}

impl fmt::Display for ArchiveVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tes3 => f.write_str("a BSA of Morrowind"),
            Self::Bsa(version) => write!(f, "a BSA of version {version}"),
            Self::Ba2(version) => write!(f, "a BA2 of version {version}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ArchiveVersion;

    #[test]
    fn the_version_is_read_from_the_first_bytes_of_archives_only() {
        assert_eq!(ArchiveVersion::of(b"BSA\0\x69\0\0\0"), Some(ArchiveVersion::Bsa(105)));
        assert_eq!(ArchiveVersion::of(b"BTDX\x01\0\0\0GNRL"), Some(ArchiveVersion::Ba2(1)));
        assert_eq!(ArchiveVersion::of(b"\0\x01\0\0"), Some(ArchiveVersion::Tes3));
        for head in [&b""[..], b"BSA\0", b"BSA\0\x69", b"PK\x03\x04\0\0\0\0"] {
            assert_eq!(ArchiveVersion::of(head), None, "{head:?}");
        }
    }
}
