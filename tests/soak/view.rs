//! What a mount must show: the files of the generations that its archives had when it was mounted.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::archives::KINDS;
use crate::contents::{File, Generation};

/// `--layout` of a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    Union,
    PerArchive,
}

impl Layout {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Union => "union",
            Self::PerArchive => "per-archive",
        }
    }
}

/// A mount's files and folders.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) layout: Layout,
    pub(crate) generations: Vec<Arc<Generation>>,
    /// In the order of their paths.
    pub(crate) files: Vec<Shown>,
    /// The indices of those of 64 KiB and more.
    pub(crate) large: Vec<usize>,
    /// The children of each folder by name: a file's index, or none for a folder. The root is the empty path.
    pub(crate) folders: BTreeMap<String, BTreeMap<String, Option<usize>>>,
    /// Of each archive: it was written to since it was mounted.
    rewritten: Vec<AtomicBool>,
}

/// A file of a view.
#[derive(Debug)]
pub(crate) struct Shown {
    /// Below the mountpoint.
    pub(crate) path: String,
    pub(crate) archive: usize,
    /// In its generation.
    pub(crate) index: usize,
    generation: Arc<Generation>,
}

impl Shown {
    pub(crate) fn file(&self) -> &File {
        &self.generation.files[self.index]
    }

    /// The number of its generation.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.number
    }
}

impl View {
    pub(crate) fn new(layout: Layout, generations: Vec<Arc<Generation>>) -> Self {
        let mut by_path = BTreeMap::new();
        for (archive, generation) in generations.iter().enumerate() {
            for (index, file) in generation.files.iter().enumerate() {
                let path = match layout {
                    Layout::Union => file.path(),
                    Layout::PerArchive => format!("{}/{}", stem(archive), file.path()),
                };
                // Of files with the same path the last one wins.
                by_path.insert(path.clone(), Shown { path, archive, index, generation: generation.clone() });
            }
        }
        let files: Vec<Shown> = by_path.into_values().collect();
        let mut folders: BTreeMap<String, BTreeMap<String, Option<usize>>> = BTreeMap::new();
        for (index, file) in files.iter().enumerate() {
            let mut child = (file.path.as_str(), Some(index));
            while let (path, index) = child
                && !path.is_empty()
            {
                let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
                folders.entry(folder.to_owned()).or_default().insert(name.to_owned(), index);
                child = (folder, None);
            }
        }
        let large = (0..files.len()).filter(|&file| files[file].file().data.len() >= 1 << 16).collect();
        let rewritten = generations.iter().map(|_| AtomicBool::new(false)).collect();
        Self { layout, generations, files, large, folders, rewritten }
    }

    /// To be called before an archive is written to.
    pub(crate) fn note_rewritten(&self, archive: usize) {
        self.rewritten[archive].store(true, Ordering::SeqCst);
    }

    /// Whether an archive was written to since it was mounted, so that its files may give EIO and unknown sizes.
    pub(crate) fn is_rewritten(&self, archive: usize) -> bool {
        self.rewritten[archive].load(Ordering::SeqCst)
    }

    /// Whether a mount made now would show the same.
    pub(crate) fn is_of(&self, generations: &[Arc<Generation>]) -> bool {
        self.generations.iter().zip(generations).all(|(ours, other)| Arc::ptr_eq(ours, other))
    }
}

fn stem(archive: usize) -> &'static str {
    let stem = Path::new(KINDS[archive].file_name).file_stem();
    stem.and_then(std::ffi::OsStr::to_str).expect("names of archives are ASCII")
}
