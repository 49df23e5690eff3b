//! Lists of known paths, for archives that store only hashes.

use std::sync::OnceLock;

use crate::format::encoding::Encoding;
use crate::format::hash::{Family, Hash, xbox};
use crate::kinds::is_dds;
use crate::limits::{NAMES_PATHS_MAX, NAMES_TEXT_MAX};

/// Known paths by their hash, in every hash family. All archives and threads of a command share one
/// dictionary. Paths are hashed for a family when it is first used.
#[derive(Debug, Default)]
pub struct Dictionary {
    encoding: Encoding,
    /// All paths in `encoding`, one after the other.
    text: Vec<u8>,
    /// The start and end of each path in `text`.
    paths: Vec<(u32, u32)>,
    tes3: OnceLock<Index>,
    tes4: OnceLock<Index>,
    tes4_ps3: OnceLock<Index>,
    fo4: OnceLock<Index>,
}

/// Paths sorted by hash. If paths have the same hash, only the first in the lists.
type Index = Vec<(Hash, u32)>;

/// Error if the lists have more paths, or more bytes of paths, than the limits allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyPaths;

impl std::fmt::Display for TooManyPaths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the lists of names have more than {NAMES_PATHS_MAX} paths or {} MiB in total; use fewer --names",
            NAMES_TEXT_MAX >> 20
        )
    }
}

impl std::error::Error for TooManyPaths {}

impl Dictionary {
    /// Whether there are no paths.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// A dictionary without paths, for archives whose names are in `encoding`.
    pub fn new(encoding: Encoding) -> Self {
        Self { encoding, ..Self::default() }
    }

    /// The encoding of the paths.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Adds a list in UTF-8 with one path per line, ignoring case, with either separator. Returns how
    /// many lines were skipped because they are not UTF-8 or have characters that the archives' encoding
    /// lacks.
    ///
    /// # Errors
    /// [`TooManyPaths`] beyond [`NAMES_TEXT_MAX`] bytes or [`NAMES_PATHS_MAX`] paths.
    pub fn add(&mut self, list: &[u8]) -> Result<usize, TooManyPaths> {
        let mut skipped = 0;
        let list = list.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(list);
        for line in list.split(|&byte| byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                continue;
            }
            let Some(path) = self.encoding.encode(line) else {
                skipped += 1;
                continue;
            };
            let start = self.text.len();
            if self.paths.len() >= NAMES_PATHS_MAX || start + path.len() > NAMES_TEXT_MAX {
                return Err(TooManyPaths);
            }
            self.text.extend_from_slice(&path);
            let end = self.text.len();
            self.paths.push((u32::try_from(start).unwrap_or(0), u32::try_from(end).unwrap_or(0)));
        }
        for index in [&mut self.tes3, &mut self.tes4, &mut self.tes4_ps3, &mut self.fo4] {
            index.take();
        }
        Ok(skipped)
    }

    /// The path of a file with this hash, in the dictionary's encoding. A TES4 hash is looked up in the byte
    /// orders of the PC and of the Xbox 360. For textures, it is also looked up as the PlayStation 3 hashes
    /// them. The archive's own TES4 family only decides which byte order is tried first.
    pub fn path(&self, family: Family, hash: &Hash) -> Option<&[u8]> {
        if self.paths.is_empty() {
            return None;
        }
        match family {
            Family::Tes3 => self.find(self.tes3.get_or_init(|| self.index(Family::Tes3)), hash),
            Family::Fo4 => self.find(self.fo4.get_or_init(|| self.index(Family::Fo4)), hash),
            Family::Tes4 | Family::Tes4Xbox | Family::Tes4Ps3 => {
                // Some tools store 0 for the root. The root's hash is the same in either byte order.
                let root = Family::Tes4.folder(b"").filter(|_| hash.folder == 0);
                let hash = &Hash { folder: root.unwrap_or(hash.folder), ..*hash };
                let swapped = Hash { folder: xbox(hash.folder), file: xbox(hash.file) };
                let [first, second] = match family {
                    Family::Tes4Xbox => [&swapped, hash],
                    _ => [hash, &swapped],
                };
                let pc = self.tes4.get_or_init(|| self.index(Family::Tes4));
                self.find(pc, first)
                    .or_else(|| self.find(pc, second))
                    .or_else(|| self.find(self.tes4_ps3.get_or_init(|| self.index(Family::Tes4Ps3)), hash))
            }
            Family::None => None,
        }
    }

    fn index(&self, family: Family) -> Index {
        // Hashes of the PlayStation 3 differ only for textures.
        let is_hashed = |path: &[u8]| family != Family::Tes4Ps3 || is_dds(path);
        let mut index: Index = (0..)
            .zip(&self.paths)
            .map(|(number, &range)| (number, self.text(range)))
            .filter(|(_, path)| is_hashed(path))
            .map(|(number, path)| (family.of(b"", path), number))
            .collect();
        index.sort_unstable();
        index.dedup_by_key(|(hash, _)| *hash);
        index
    }

    fn find(&self, index: &Index, hash: &Hash) -> Option<&[u8]> {
        let found = index.binary_search_by_key(hash, |(known, _)| *known).ok()?;
        Some(self.text(self.paths[index[found].1 as usize]))
    }

    fn text(&self, (start, end): (u32, u32)) -> &[u8] {
        &self.text[start as usize..end as usize]
    }
}
