//! A new archive: its files in the order in which the game needs them, and what may not be in one archive.

use std::collections::HashMap;

use super::new_entry::{Block, NewEntry, NewKind, TableError, archive_flags, content_flags, len};
use super::{ba2, tes3, tes4};
use crate::format::tes4_flag as flag;

/// Two files that cannot be in one archive: the caller's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collision {
    /// They have the same path, except for the case of letters.
    Path(usize, usize),
    /// Different paths have the same hash, so the game would find only one of them.
    Hash(usize, usize),
}

/// A new archive without its data.
#[derive(Clone, Debug)]
pub struct NewArchive {
    kind: NewKind,
    /// The archive flags of a BSA, without the default of compression; 0 for others.
    flags: u32,
    content: u16,
    /// In the order of records.
    files: Vec<NewEntry>,
}

impl NewArchive {
    /// Sorts the files.
    ///
    /// # Errors
    /// All pairs of files that cannot be in one archive.
    pub fn new(kind: NewKind, mut files: Vec<NewEntry>) -> Result<Self, Vec<Collision>> {
        let collisions = collisions(kind, &files);
        if !collisions.is_empty() {
            return Err(collisions);
        }
        match kind {
            // The low word, then the high word.
            NewKind::Tes3 => files.sort_by_key(|file| file.path.hash().file.rotate_left(32)),
            NewKind::Tes4(_) => files.sort_by_key(|file| file.path.hash()),
            // Official archives have no order. Neighbours in a folder are read together.
            NewKind::General(_) | NewKind::Textures(_) => {
                files.sort_by_cached_key(|file| (file.path.bytes().to_ascii_lowercase(), file.id));
            }
        }
        let (mut flags, mut content) = (0, 0);
        if let NewKind::Tes4(version) = kind {
            content = content_flags(version, files.iter().map(|file| &file.path));
            flags = archive_flags(version, content);
            // One byte states the length of an embedded name.
            if files.iter().any(|file| file.path.bytes().len() > usize::from(u8::MAX)) {
                flags &= !flag::EMBEDDED_NAMES | if version == 103 { flag::EMBEDDED_NAMES } else { 0 };
            }
        }
        Ok(Self { kind, flags, content, files })
    }

    /// The files, in the order of their records.
    pub fn files(&self) -> &[NewEntry] {
        &self.files
    }

    pub fn kind(&self) -> NewKind {
        self.kind
    }

    /// Whether the path of each file precedes its data.
    pub fn embeds_names(&self) -> bool {
        self.flags & flag::EMBEDDED_NAMES != 0 && self.kind != NewKind::Tes4(103)
    }

    /// The positions of files, in the order in which official archives have their data.
    pub fn data_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.files.len()).collect();
        if self.kind == NewKind::Tes3 {
            order.sort_by_key(|&at| self.files.get(at).map(|file| file.path.bytes()));
        }
        order
    }

    /// Where the data begins, in bytes from the start of the archive.
    pub fn data_start(&self) -> u64 {
        match self.kind {
            NewKind::Tes3 => tes3::data_start(&self.files),
            NewKind::Tes4(version) => tes4::data_start(version, &self.files),
            NewKind::General(version) | NewKind::Textures(version) => ba2::data_start(version, &self.files),
        }
    }

    /// The tables before the data. `blocks` has the blocks of each file, in the order of [`Self::files`], and
    /// `end` is where the data ends.
    pub fn head(&self, blocks: &[Vec<Block>], end: u64) -> Result<Vec<u8>, TableError> {
        if blocks.len() != self.files.len() {
            return Err(TableError::Blocks);
        }
        match self.kind {
            NewKind::Tes3 => tes3::head(&self.files, blocks),
            NewKind::Tes4(version) => tes4::head(version, (self.flags, self.content), &self.files, blocks),
            NewKind::General(version) => ba2::head(version, false, &self.files, blocks, end),
            NewKind::Textures(version) => ba2::head(version, true, &self.files, blocks, end),
        }
    }

    /// The tables after the data: the names of a BA2.
    pub fn tail(&self) -> Result<Vec<u8>, TableError> {
        match self.kind {
            NewKind::Tes3 | NewKind::Tes4(_) => Ok(Vec::new()),
            NewKind::General(_) | NewKind::Textures(_) => ba2::tail(&self.files),
        }
    }

    /// Number of bytes that each file takes besides its data.
    pub fn table_bytes(kind: NewKind, file: &NewEntry) -> u64 {
        let files = std::slice::from_ref(file);
        let head = match kind {
            NewKind::Tes3 => tes3::data_start(files),
            // With a folder of its own, and with its path embedded.
            NewKind::Tes4(version) => {
                tes4::data_start(version, files).saturating_add(len(file.path.bytes().len()))
            }
            NewKind::General(version) | NewKind::Textures(version) => ba2::data_start(version, files),
        };
        head.saturating_add(len(file.path.bytes().len())).saturating_add(2)
    }
}

/// All pairs of files with one path or one hash. Each file is in at most one pair with an earlier one.
fn collisions(kind: NewKind, files: &[NewEntry]) -> Vec<Collision> {
    let mut found = Vec::new();
    let mut folders: HashMap<u64, (Vec<u8>, usize)> = HashMap::new();
    let mut hashes = HashMap::with_capacity(files.len());
    for file in files {
        let path = &file.path;
        if let Some((earlier, other)) = hashes.insert(path.hash(), (path, file.id)) {
            let is_path = earlier.bytes().eq_ignore_ascii_case(path.bytes());
            found.push(if is_path {
                Collision::Path(other, file.id)
            } else {
                Collision::Hash(other, file.id)
            });
        } else if matches!(kind, NewKind::Tes4(_)) {
            // A folder record stands for all folders of its hash.
            let folder = folders.entry(path.hash().folder);
            let (earlier, other) = folder.or_insert_with(|| (path.folder().to_vec(), file.id));
            if !earlier.eq_ignore_ascii_case(path.folder()) {
                found.push(Collision::Hash(*other, file.id));
            }
        }
    }
    found
}
