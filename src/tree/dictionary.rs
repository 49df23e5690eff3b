//! Paths that somebody knows, for archives that store nothing but their hashes.

use std::sync::OnceLock;

use crate::format::encoding::Encoding;
use crate::format::hash::{Family, Hash, xbox};

/// A list of paths, found by any family's hash. One serves all archives of a command, on all threads; a family is
/// hashed when the first file asks for it.
#[derive(Debug)]
pub struct Dictionary {
    encoding: Encoding,
    /// All paths, one behind the other, in `encoding`.
    text: Vec<u8>,
    /// Where each path begins and ends in `text`.
    paths: Vec<(u32, u32)>,
    tes3: OnceLock<Index>,
    tes4: OnceLock<Index>,
    tes4_ps3: OnceLock<Index>,
    fo4: OnceLock<Index>,
}

/// Paths by hash, sorted; of paths with one hash, the first that was listed.
type Index = Vec<(Hash, u32)>;

/// More paths than we are willing to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyPaths;

impl std::fmt::Display for TooManyPaths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "lists of names may have {PATHS_MAX} paths and {} MiB together", TEXT_MAX >> 20)
    }
}

impl std::error::Error for TooManyPaths {}

impl Dictionary {
    /// Bytes of all lists together; every path that is known of all games takes some 40 MiB.
    pub const TEXT_MAX: usize = TEXT_MAX;

    /// A dictionary without paths, for archives whose names are in `encoding`.
    pub fn new(encoding: Encoding) -> Self {
        Self {
            encoding,
            text: Vec::new(),
            paths: Vec::new(),
            tes3: OnceLock::new(),
            tes4: OnceLock::new(),
            tes4_ps3: OnceLock::new(),
            fo4: OnceLock::new(),
        }
    }

    /// Adds a list: UTF-8, one path a line, in any case and with either separator. Answers how many of its lines are
    /// no UTF-8, or have characters that the archives' encoding lacks: no file can be found by these.
    ///
    /// # Errors
    /// [`TooManyPaths`] beyond [`Dictionary::TEXT_MAX`] bytes or four million paths.
    pub fn add(&mut self, list: &[u8]) -> Result<usize, TooManyPaths> {
        let mut lost = 0;
        let list = list.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(list);
        for line in list.split(|&byte| byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                continue;
            }
            let Some(path) = self.encoding.encode(line) else {
                lost += 1;
                continue;
            };
            let start = self.text.len();
            if self.paths.len() >= PATHS_MAX || start + path.len() > TEXT_MAX {
                return Err(TooManyPaths);
            }
            self.text.extend_from_slice(&path);
            let end = self.text.len();
            self.paths.push((u32::try_from(start).unwrap_or(0), u32::try_from(end).unwrap_or(0)));
        }
        for index in [&mut self.tes3, &mut self.tes4, &mut self.tes4_ps3, &mut self.fo4] {
            index.take();
        }
        Ok(lost)
    }

    /// The path of a file with this hash, in the dictionary's encoding. TES4 hashes are known in the order of the PC and
    /// of the Xbox 360 and, for textures, as the PlayStation 3 makes them, whichever family the archive seems to be of.
    pub fn path(&self, family: Family, hash: &Hash) -> Option<&[u8]> {
        if self.paths.is_empty() {
            return None;
        }
        match family {
            Family::Tes3 => self.find(self.tes3.get_or_init(|| self.index(Family::Tes3)), hash),
            Family::Fo4 => self.find(self.fo4.get_or_init(|| self.index(Family::Fo4)), hash),
            Family::Tes4 | Family::Tes4Xbox | Family::Tes4Ps3 => {
                // Some tools hash the root to 0; its true hash is the same in either byte order.
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
        let is_told_apart = |path: &[u8]| {
            family != Family::Tes4Ps3
                || path.last_chunk::<4>().is_some_and(|it| it.eq_ignore_ascii_case(b".dds"))
        };
        let mut index: Index = (0..)
            .zip(&self.paths)
            .map(|(place, &range)| (place, self.text(range)))
            .filter(|(_, path)| is_told_apart(path))
            .map(|(place, path)| (family.of(b"", path), place))
            .collect();
        index.sort_unstable();
        index.dedup_by_key(|(hash, _)| *hash);
        index
    }

    fn find(&self, index: &Index, hash: &Hash) -> Option<&[u8]> {
        let place = index.binary_search_by_key(hash, |(known, _)| *known).ok()?;
        Some(self.text(self.paths[index[place].1 as usize]))
    }

    fn text(&self, (start, end): (u32, u32)) -> &[u8] {
        &self.text[start as usize..end as usize]
    }
}

const TEXT_MAX: usize = 64 << 20;
/// An index takes 24 bytes a path, so that this bounds it to 96 MiB for each family.
const PATHS_MAX: usize = 1 << 22;
