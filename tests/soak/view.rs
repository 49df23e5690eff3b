//! What a mount must show for given generations of its sources.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::archives::KINDS;
use crate::contents::{File, Generation};
use crate::loose;

/// The `--layout` of a mount.
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

/// The files and folders that a mount shows.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) layout: Layout,
    /// Generations of the archives in load order, then of the loose folder, if it is mounted.
    pub(crate) generations: Vec<Arc<Generation>>,
    /// All files, sorted by path.
    pub(crate) files: Vec<Arc<Shown>>,
    /// Indices of the files of 64 KiB and more.
    pub(crate) large: Vec<usize>,
    /// Indices of the loose files, those that changed last first.
    pub(crate) loose: Vec<usize>,
    /// The children of each folder by name: the index of a file, or `None` for a folder. The root
    /// is the empty path.
    pub(crate) folders: BTreeMap<String, BTreeMap<String, Option<usize>>>,
}

/// A file of a view.
#[derive(Debug)]
pub(crate) struct Shown {
    /// Path below the mountpoint.
    pub(crate) path: String,
    pub(crate) layer: usize,
    pub(crate) file: Arc<File>,
    generation: Arc<Generation>,
}

impl Shown {
    /// Whether the archive was written to in place, so that reads may give EIO.
    pub(crate) fn is_overwritten(&self) -> bool {
        self.generation.is_lost()
    }

    /// Whether the loose file left its path, so that reads of open files may give ESTALE.
    pub(crate) fn is_replaced(&self) -> bool {
        self.file.versions().iter().any(|it| it.lost.get())
    }

    /// Whether the loose file was cut off, so that reads beyond its end may give ESTALE.
    pub(crate) fn was_cut(&self) -> bool {
        let versions = self.file.versions();
        let is_shorter = versions.windows(2).any(|pair| pair[1].data.len() < pair[0].data.len());
        is_shorter || versions.iter().any(|it| it.cut_to().is_some())
    }
}

impl View {
    pub(crate) fn new(layout: Layout, generations: Vec<Arc<Generation>>) -> Self {
        let mut by_path = BTreeMap::new();
        for (layer, generation) in generations.iter().enumerate() {
            for file in &generation.files {
                let path = match layout {
                    Layout::Union => file.path(),
                    Layout::PerArchive => format!("{}/{}", stem(layer), file.path()),
                };
                let shown =
                    Shown { path: path.clone(), layer, file: file.clone(), generation: generation.clone() };
                // If several files have the same path, the last one wins.
                by_path.insert(path, Arc::new(shown));
            }
        }
        let files: Vec<Arc<Shown>> = by_path.into_values().collect();
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
        let large = (0..files.len()).filter(|&file| files[file].file.data.len() >= 1 << 16).collect();
        let mut loose: Vec<usize> =
            (0..files.len()).filter(|&file| files[file].layer == loose::LAYER).collect();
        loose.sort_by_key(|&file| std::cmp::Reverse(files[file].file.number));
        Self { layout, generations, files, large, loose, folders }
    }

    /// This view with another generation of one source.
    pub(crate) fn with(&self, layer: usize, generation: Arc<Generation>) -> Self {
        let mut generations = self.generations.clone();
        generations[layer] = generation;
        Self::new(self.layout, generations)
    }

    /// The file at a path.
    pub(crate) fn find(&self, path: &str) -> Option<&Arc<Shown>> {
        self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok().map(|index| &self.files[index])
    }

    /// Whether a mount made now would show this view.
    pub(crate) fn is_of(&self, generations: &[Arc<Generation>]) -> bool {
        self.generations.iter().zip(generations).all(|(ours, other)| Arc::ptr_eq(ours, other))
    }
}

/// The views that a mount may show, now and in the recent past. Between a change on the disk and
/// the moment it is shown, both the old and the new view are possible.
#[derive(Debug)]
pub(crate) struct Views(Mutex<Vec<Possible>>);

#[derive(Debug)]
struct Possible {
    view: Arc<View>,
    /// When this view stopped being possible.
    until: Option<Instant>,
}

/// How long views are kept after they stopped being possible. No act of a reader takes longer,
/// unless it hangs.
const REMEMBERED: Duration = Duration::from_secs(30);

impl Views {
    pub(crate) fn new(view: View) -> Self {
        Self(Mutex::new(vec![Possible { view: Arc::new(view), until: None }]))
    }

    /// Adds a possible view. Call this before the disk is changed.
    pub(crate) fn may_show(&self, view: View) {
        self.lock().push(Possible { view: Arc::new(view), until: None });
    }

    /// Makes the last view the only possible one from now on.
    pub(crate) fn show_last(&self) {
        let (mut views, now) = (self.lock(), Instant::now());
        let last = views.len() - 1;
        views[..last].iter_mut().for_each(|it| it.until = it.until.or(Some(now)));
        views.retain(|it| it.until.is_none_or(|until| now.duration_since(until) < REMEMBERED));
    }

    /// Makes this the only view, also for the past. Use it for a new daemon that no reader has seen yet.
    pub(crate) fn replace(&self, view: View) {
        *self.lock() = vec![Possible { view: Arc::new(view), until: None }];
    }

    pub(crate) fn last(&self) -> Arc<View> {
        let views = self.lock();
        views[views.len() - 1].view.clone()
    }

    /// All views that were possible at some time since `begin`.
    pub(crate) fn since(&self, begin: Instant) -> Vec<Arc<View>> {
        let views = self.lock();
        let is_possible = |it: &&Possible| it.until.is_none_or(|until| until >= begin);
        views.iter().filter(is_possible).map(|it| it.view.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Possible>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name of a source.
pub(crate) fn source_name(layer: usize) -> &'static str {
    KINDS.get(layer).map_or(loose::NAME, |kind| kind.file_name)
}

fn stem(layer: usize) -> &'static str {
    let stem = Path::new(source_name(layer)).file_stem();
    stem.and_then(std::ffi::OsStr::to_str).expect("names of archives are ASCII")
}
