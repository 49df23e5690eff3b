//! The hashes of an entry, and the families of hash functions.

use super::path::{Folder, Path, trim};
use super::{fo4, tes3, tes4};

/// An entry's hashes as stored. `folder` is 0 in archives that hash whole paths (TES3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash {
    /// The hash of the folder's full path.
    pub folder: u64,
    /// The hash of the file's name. TES3: the hash of the whole path, with the first half of the
    /// path in the low word. FO4: the hash of the stem in the high word, and the first four bytes
    /// of the extension in the low one.
    pub file: u64,
}

/// The function that made an archive's hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Morrowind.
    Tes3,
    /// Oblivion to Skyrim SE.
    Tes4,
    /// As [`Family::Tes4`], with the four CRC bytes in big-endian order: archives of the Xbox 360.
    Tes4Xbox,
    /// Oblivion on the PlayStation 3, which hashes textures differently.
    Tes4Ps3,
    /// BA2.
    Fo4,
    /// No function. The archives of Arena and Daggerfall store no hashes.
    None,
}

impl Family {
    /// The hashes of a file as an archive of this family stores them.
    ///
    /// `folder` is the folder's full path and `file` the name in it. Both are in the stored code page,
    /// ignoring case, with either separator. `file` may also contain folders.
    pub fn of(self, folder: &[u8], file: &[u8]) -> Hash {
        let path = Path::new(folder, file);
        match self {
            Self::Tes3 => Hash { folder: 0, file: tes3::path(path) },
            Self::Tes4 => Hash { folder: tes4::folder(path.parent), file: tes4::file(path.name) },
            Self::Tes4Xbox => {
                Hash { folder: xbox(tes4::folder(path.parent)), file: xbox(tes4::file(path.name)) }
            }
            Self::Tes4Ps3 => Hash { folder: tes4::folder(path.parent), file: tes4::file_ps3(path.name) },
            Self::Fo4 => Hash { folder: fo4::folder(path.parent), file: fo4::file(path.name) },
            Self::None => Hash::default(),
        }
    }

    /// Every hash that an archive may store for a file. This family's own hash comes first.
    ///
    /// All three TES4 families are candidates for each other. Some archives of the Xbox 360 lack
    /// its flag, others have its flag but hashes of the PC. Archives of the PlayStation 3 differ
    /// only in the hashes of textures. For files in the root, a folder hash of 0 is also a
    /// candidate, because some tools hash the empty path to 0. The game hashes `.` instead.
    pub fn candidates(self, folder: &[u8], file: &[u8]) -> impl Iterator<Item = Hash> {
        self.alternatives().flat_map(move |family| {
            let hash = family.of(folder, file);
            let bare = family.is_root(hash.folder).then_some(Hash { folder: 0, ..hash });
            std::iter::once(hash).chain(bare)
        })
    }

    /// Every hash that an archive may store for a folder, as [`Family::candidates`] for files.
    pub fn folder_candidates(self, folder: &[u8]) -> impl Iterator<Item = u64> {
        self.alternatives().flat_map(move |family| {
            let hash = family.folder(folder);
            let bare = hash.filter(|&hash| family.is_root(hash)).map(|_| 0);
            hash.into_iter().chain(bare)
        })
    }

    /// Whether a folder's hash is that of the root.
    fn is_root(self, folder: u64) -> bool {
        self.folder(b"") == Some(folder)
    }

    /// This family, and the others that may have hashed an archive of this family.
    fn alternatives(self) -> impl Iterator<Item = Self> {
        let others: &[Self] = match self {
            Self::Tes4 | Self::Tes4Xbox | Self::Tes4Ps3 => &[Self::Tes4, Self::Tes4Xbox, Self::Tes4Ps3],
            Self::Tes3 | Self::Fo4 | Self::None => &[],
        };
        std::iter::once(self).chain(others.iter().copied().filter(move |other| *other != self))
    }

    /// The hash of a folder alone, as in [`Hash::folder`]; `None` if the family hashes whole paths
    /// or nothing.
    pub fn folder(self, folder: &[u8]) -> Option<u64> {
        let folder = Folder { outer: trim(folder), inner: &[] };
        match self {
            Self::Tes3 | Self::None => None,
            Self::Tes4 | Self::Tes4Ps3 => Some(tes4::folder(folder)),
            Self::Tes4Xbox => Some(xbox(tes4::folder(folder))),
            Self::Fo4 => Some(fo4::folder(folder)),
        }
    }
}

/// Swaps the four CRC bytes of a TES4 hash, to convert between the orders of the Xbox 360 and the PC.
pub fn xbox(hash: u64) -> u64 {
    let [last, last2, length, first, a, b, c, d] = hash.to_le_bytes();
    u64::from_le_bytes([last, last2, length, first, d, c, b, a])
}
