//! Opens the sources of a mount again, as they are on the disk now.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::content::Store;
use crate::folder::{Filter, LooseFolder, OpenFiles, ScanError, Scans};
use crate::system::clock::unix_seconds;
use crate::system::covered::uncovered;
use crate::system::sync::Mutex;
use crate::system::walk::resolve_links;
use crate::system::{asleep, paths};
use crate::tree::{LayerNames, Tree};
use crate::vfs::error::OpenError;
use crate::vfs::open_options::OpenOptions;
use crate::vfs::opened::Opened;
use crate::vfs::opened_archive::{Content, OpenedArchive};
use crate::vfs::sources::for_others;
use crate::vfs::sources::profile::{Profile, SourceSet, is_game};
use crate::vfs::sources::resolve::{OpenPlan, place_of_instance};
use crate::vfs::trouble::{Handling, Trouble};

/// The sources and options of a mount. All paths are absolute, because the daemon leaves the folder
/// that it was started in.
#[derive(Clone, Debug)]
pub(crate) struct Reopening {
    pub(crate) sources: Vec<PathBuf>,
    pub(crate) options: OpenOptions,
    /// The sources that the user and profiles gave when profiles were last read, including sources that do
    /// not exist any more.
    expanded: Vec<PathBuf>,
    /// The options, merged with the options of profiles when those were last read.
    expanded_options: Option<OpenOptions>,
    /// The profiles among the sources, as they were last used.
    profiles: HashMap<PathBuf, Profile>,
    /// The profiles that could not be used when they were last read.
    troubles: Vec<Trouble>,
}

impl Reopening {
    /// Takes the sources and options of the mount. These options outrank those of profiles.
    /// Relative paths begin in the current folder.
    pub(crate) fn new(sources: &[PathBuf], options: &OpenOptions) -> Self {
        let folder = std::env::current_dir().unwrap_or_default();
        let is_name = |source: &Path| is_game(source) && !source.exists();
        let sources = sources
            .iter()
            .map(|source| {
                if let Some(Ok(place)) = place_of_instance(source) {
                    // If another instance appears later, the mount keeps its own.
                    place
                } else if is_name(source) {
                    source.clone()
                } else {
                    paths::absolute(source).unwrap_or_else(|_| folder.join(source))
                }
            })
            .collect();
        Self::of(sources, options.clone().in_folder(&folder))
    }

    /// Takes sources and options whose paths were made absolute before.
    pub(crate) fn again(opened: &Opened) -> Self {
        Self::of(opened.sources.clone(), opened.options.clone())
    }

    fn of(sources: Vec<PathBuf>, options: OpenOptions) -> Self {
        let profiles = sources.iter().filter(|source| Profile::is_one(source));
        let profiles = profiles.filter_map(|path| Some((path.clone(), Profile::read(path).ok()?))).collect();
        Self {
            sources,
            options,
            expanded: Vec::new(),
            expanded_options: None,
            profiles,
            troubles: Vec::new(),
        }
    }

    /// Opens the sources while the earlier view is served.
    ///
    /// # Errors
    /// The sources together cannot be opened. A single one that fails is left out or stays as it was.
    pub(crate) fn open(&mut self, earlier: &Reuse<'_>) -> Result<Opened, OpenError> {
        let store = earlier.store().emptied();
        if !earlier.is_plan_changed()
            && let Some(options) = &self.expanded_options
            && for_others::check_layers(&earlier.plan().layers, &earlier.plan().read_set, options).is_ok()
        {
            self.troubles.iter().for_each(|trouble| earlier.note(trouble.clone()));
            return Opened::open_plan(earlier.plan().clone(), options, store, Some(earlier));
        }
        self.troubles.clear();
        let (sources, options) = (&self.sources, self.options.clone());
        let set = SourceSet::again(sources, options, &mut self.profiles, &mut self.troubles)?;
        self.troubles.iter().for_each(|trouble| earlier.note(trouble.clone()));
        self.expanded = set.paths.iter().map(|path| past_mount(path)).collect();
        let options = self.expanded_options.insert(set.options);
        Opened::open_into(store, &self.expanded, options, Some(earlier))
    }

    /// The files that say what to open: profiles and lists of names.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let profiles = self.sources.iter().filter(|source| Profile::is_one(source));
        let of_profiles = self.expanded_options.iter().flat_map(|options| &options.names);
        profiles.chain(&self.options.names).chain(of_profiles).cloned().collect()
    }

    /// The sources that the user and profiles name.
    pub(crate) fn named(&self) -> impl Iterator<Item = &Path> {
        let named = self.sources.iter().chain(&self.expanded).map(PathBuf::as_path);
        // The id of a game is not a path.
        named.filter(|path| path.is_absolute())
    }
}

/// Resolves the links of a path that lead into the mount, so that [`uncovered`] recognises the path.
fn past_mount(path: &Path) -> PathBuf {
    let found = resolve_links(path, |_, _| {});
    if matches!(uncovered(&found), Cow::Owned(_)) { found } else { path.to_owned() }
}

// Reuses the mounted view when its sources are opened again. A source that cannot be opened now is kept as
// it was or left out (`trouble.rs`), so that one damaged archive does not hold back other changes.

/// The view that is served while its sources are opened again.
pub(crate) struct Reuse<'a> {
    opened: &'a Opened,
    changes: &'a DiskChanges,
    /// Whether to take archives that seem to be half written.
    takes_unfinished: bool,
    /// The layers of each path.
    layers: HashMap<&'a Path, Vec<u16>>,
    troubles: Mutex<Vec<Trouble>>,
}

/// Seconds after the last write during which a truncated archive counts as half written.
pub(crate) const SETTLED: u64 = 3;

impl<'a> Reuse<'a> {
    pub(crate) fn new(opened: &'a Opened, changes: &'a DiskChanges, takes_unfinished: bool) -> Self {
        let mut layers: HashMap<&Path, Vec<u16>> = HashMap::new();
        for layer in 0..u16::try_from(opened.store.layers()).unwrap_or(u16::MAX) {
            layers.entry(opened.store.path(layer)).or_default().push(layer);
        }
        Self { opened, changes, takes_unfinished, layers, troubles: Mutex::default() }
    }

    /// The plan of the view.
    pub(crate) fn plan(&self) -> &Arc<OpenPlan> {
        &self.opened.plan
    }

    /// Whether something changed that the plan depends on.
    pub(crate) fn is_plan_changed(&self) -> bool {
        self.changes.is_plan()
    }

    /// The paths that the lists of names gave to files of the view.
    pub(crate) fn listed_names(&self) -> impl Iterator<Item = Vec<u8>> {
        self.opened.names.iter().filter(|names| !names.stores_all_names()).flat_map(|it| it.known_paths())
    }

    /// The open files for the folders of the next view. After a change in an unknown place, the next view
    /// must not keep the tops of mounts that may be gone.
    pub(crate) fn files(&self) -> Arc<OpenFiles> {
        let files = &self.opened.files;
        if self.changes.is_anywhere() { files.on_any_disk().into() } else { files.clone() }
    }

    /// A mounted folder as it is now. Only what changed is listed again; if nothing changed, it is the
    /// mounted folder itself. `None` if the folder must be scanned as if it were new.
    pub(crate) fn folder_again(
        &self,
        path: &Path,
        filter: &Filter,
        scans: &Scans,
    ) -> Option<Result<Arc<LooseFolder>, ScanError>> {
        let mounted = self.mounted_folder(path, filter).filter(|_| !self.changes.is_anywhere())?;
        let is_changed = |folder: &Path| self.changes.includes(folder);
        let changes = mounted.changes_among(self.changes.folders_in(mounted.path()), &is_changed);
        Some(match changes {
            // A source may be reached through a link that is in none of the folders above it.
            None if !self.changes.moved().is_empty() && mounted.is_moved() => return None,
            None => Ok(mounted.clone()),
            Some(changes) => scans.scan_again(mounted, &changes).map(Arc::new),
        })
    }

    /// The mounted folder with a path, if the same part of it is shown.
    pub(crate) fn mounted_folder(&self, path: &Path, filter: &Filter) -> Option<&Arc<LooseFolder>> {
        let mut mounted = self.layers_at(path).filter_map(|layer| self.opened.store.folder(layer));
        mounted.find(|folder| folder.filter() == filter)
    }

    /// The mounted folder in place of one that was walked again, if nothing changed in it.
    pub(crate) fn or_mounted(&self, folder: Arc<LooseFolder>) -> Arc<LooseFolder> {
        let mounted = self.mounted_folder(folder.path(), folder.filter());
        match mounted.filter(|_| self.changes.is_anywhere()) {
            Some(mounted) => folder.or_earlier(mounted),
            None => folder,
        }
    }

    /// Whether the walk of a mounted folder enters a disk that is asleep.
    pub(crate) fn enters_asleep(&self, path: &Path, filter: &Filter) -> bool {
        let mounted = self.mounted_folder(path, filter);
        mounted.is_some_and(|folder| folder.entered().any(|(real, _)| asleep::is_at(&real)))
    }

    /// The names of a layer whose folder has those of the view. All files lie in the folder `base`, if that
    /// is given.
    pub(crate) fn names_of(&self, folder: &LooseFolder, base: Option<&str>) -> Option<Arc<LayerNames>> {
        let store = &self.opened.store;
        let is_it = |layer: &u16| {
            store.folder(*layer).is_some_and(|mounted| std::ptr::eq(mounted.names(), folder.names()))
        };
        let mut names = self.layers_at(folder.path()).filter(is_it).map(|layer| self.names(layer));
        names.find(|names| names.has_base(base)).cloned()
    }

    /// Whether archives are opened with the options that they were opened with.
    pub(crate) fn opens_alike(&self, options: &OpenOptions) -> bool {
        self.opened.archive_options == options.of_archives()
    }

    /// The mounted archive at this path, if the file did not change. All files lie in the folder `base`, if
    /// that is given. An archive that stores hashes is opened again, because other layers may name its files.
    /// After a change in an unknown place, all archives are opened again.
    pub(crate) fn unchanged_archive(&self, path: &Path, base: Option<&str>) -> Option<OpenedArchive> {
        if self.changes.is_anywhere() {
            return None;
        }
        let store = &self.opened.store;
        let is_unchanged = |layer: &u16| {
            let names = self.names(*layer);
            names.has_base(base) && names.stores_all_names() && store.is_untouched(*layer)
        };
        let layer = self.layers_at(path).find(is_unchanged)?;
        self.mounted_archive(path, layer, self.names(layer).clone())
    }

    fn mounted_archive(&self, path: &Path, layer: u16, names: Arc<LayerNames>) -> Option<OpenedArchive> {
        Some(OpenedArchive {
            path: path.to_owned(),
            modified: self.opened.store.modified(layer),
            content: Content::Mounted(layer),
            layer: names,
            description: self.opened.descriptions[usize::from(layer)].clone()?,
        })
    }

    /// The mounted layers whose archive or folder has this path.
    fn layers_at(&self, path: &Path) -> impl Iterator<Item = u16> {
        self.layers.get(path).into_iter().flatten().copied()
    }

    fn names(&self, layer: u16) -> &Arc<LayerNames> {
        &self.opened.names[usize::from(layer)]
    }

    /// The store that is served.
    pub(crate) fn store(&self) -> &Store {
        &self.opened.store
    }

    /// The sources that could not be opened so far, without duplicates.
    pub(crate) fn troubles(&self) -> Vec<Trouble> {
        let mut troubles = self.troubles.lock().clone();
        troubles.sort_by_cached_key(Trouble::what);
        troubles.dedup();
        troubles
    }

    /// Returns the opened archive. If it could not be opened or is half written, returns the mounted one, or
    /// `None` if it is gone or not mounted. The files lie in the folder `base`, if that is given.
    pub(crate) fn archive(
        &self,
        path: &Path,
        base: Option<&str>,
        opened: Result<OpenedArchive, OpenError>,
    ) -> Option<OpenedArchive> {
        let trouble = match opened {
            Ok(archive) if self.is_whole(&archive) => return Some(self.or_mounted_archive(archive)),
            Ok(_) => Trouble::new(path, "it is still being written", Handling::Unfinished),
            Err(error) => Trouble::of_archive(path, &error, self.has_layer(path, false)),
        };
        let is_gone = trouble.handling == Handling::Gone;
        self.note(trouble);
        if is_gone {
            return None;
        }
        let store = &self.opened.store;
        let named = self.layers_at(path).filter(|&layer| !store.is_folder(layer));
        // An archive that is named twice has two layers. Takes the one in the same folder,
        // otherwise the last one, whose files are shown.
        let mut named: Vec<u16> = named.collect();
        let same =
            named.iter().position(|&layer| base.is_some_and(|base| self.names(layer).is_in_folder(base)));
        let layer = named.swap_remove(same.or(named.len().checked_sub(1))?);
        let names = match base {
            Some(base) => Arc::new(LayerNames::clone(self.names(layer)).in_folder(base).ok()?),
            None => self.names(layer).clone(),
        };
        self.mounted_archive(path, layer, names)
    }

    /// The mounted archive in place of one that was opened again, if nothing changed in it.
    fn or_mounted_archive(&self, archive: OpenedArchive) -> OpenedArchive {
        let Content::Opened(file, tables) = &archive.content else { return archive };
        let is_same = |layer: &u16| {
            *archive.layer == **self.names(*layer) && self.opened.store.has_same(*layer, file, tables)
        };
        let Some(layer) = self.layers_at(&archive.path).find(is_same) else { return archive };
        OpenedArchive { content: Content::Mounted(layer), layer: self.names(layer).clone(), ..archive }
    }

    /// The tree of the view, if the next one has the same layers, and the same rules merge them.
    pub(crate) fn tree_of(&self, names: &[Arc<LayerNames>], store: &Store, rules: u64) -> Option<Arc<Tree>> {
        let is_same = |(one, other): (&Arc<LayerNames>, &Arc<LayerNames>)| Arc::ptr_eq(one, other);
        let opened = self.opened;
        let has_names = opened.names.len() == names.len() && opened.names.iter().zip(names).all(is_same);
        let is_same = has_names && opened.rules == rules && opened.store.has_same_layers(store);
        is_same.then(|| opened.tree.clone())
    }

    /// Whether a mounted folder has this path, or a mounted archive.
    fn has_layer(&self, path: &Path, is_folder: bool) -> bool {
        self.layers_at(path).any(|layer| self.opened.store.is_folder(layer) == is_folder)
    }

    /// Whether a mounted layer has this path.
    pub(crate) fn contains(&self, path: &Path) -> bool {
        self.layers.contains_key(path)
    }

    /// The mounted folder, in place of one that could not be walked; `None` if it is gone or not mounted. If
    /// the folder has two layers, takes the one that shows the same part.
    pub(crate) fn folder(&self, path: &Path, filter: &Filter, error: &OpenError) -> Option<Arc<LooseFolder>> {
        let mut trouble = Trouble::of(path, error, self.has_layer(path, true));
        if trouble.handling == Handling::Kept {
            trouble.handling = Handling::KeptFolder;
        }
        let is_left_out = trouble.is_left_out();
        self.note(trouble);
        if is_left_out {
            return None;
        }
        let part = |filter: &Filter| (filter.no_direct_files, filter.only_below.clone());
        let store = &self.opened.store;
        let mut folders = self.layers_at(path).filter_map(|layer| store.folder(layer));
        folders.find(|folder| part(folder.filter()) == part(filter)).cloned()
    }

    /// Whether a folder was kept from the mounted view and not walked again.
    pub(crate) fn contains_folder(&self, folder: &Arc<LooseFolder>) -> bool {
        let store = &self.opened.store;
        let mut mounted = self.layers_at(folder.path()).filter_map(|layer| store.folder(layer));
        mounted.any(|mounted| Arc::ptr_eq(mounted, folder))
    }

    /// The mounted archives directly in a folder, lowest first.
    pub(crate) fn archives_in(&self, folder: &Path) -> Vec<PathBuf> {
        let (archives, _) = self.opened.store.paths();
        archives.into_iter().filter(|path| path.parent() == Some(folder)).map(Path::to_owned).collect()
    }

    fn is_whole(&self, archive: &OpenedArchive) -> bool {
        let Content::Opened(source, tables) = &archive.content else { return true };
        self.takes_unfinished
            || !tables.is_cut_off(source.len())
            || self.opened.store.has_open(source)
            || !is_written(&archive.path)
    }

    /// Records that a source could not be opened.
    pub(crate) fn note(&self, trouble: Trouble) {
        self.troubles.lock().push(trouble);
    }
}

/// Whether another process may still be writing a file, judging by its times.
fn is_written(path: &Path) -> bool {
    let now = unix_seconds(SystemTime::now());
    uncovered(path).metadata().is_ok_and(|it| {
        let changed = u64::try_from(it.ctime()).unwrap_or(0);
        // A server's clock may be ahead.
        now.abs_diff(changed) < SETTLED
    })
}

// What changed on the disk since a view was opened.

/// The folders in which something changed, and what else may have changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct DiskChanges {
    /// Whether something may have changed anywhere.
    is_anywhere: bool,
    /// Whether something changed that the load order depends on, or that names sources.
    is_plan: bool,
    /// By the paths under which the folders are watched.
    folders: BTreeSet<Arc<Path>>,
    /// Paths that may lead elsewhere now, with all paths below them.
    moved: Vec<PathBuf>,
}

impl DiskChanges {
    /// A change in an unknown place.
    pub(crate) fn anywhere() -> Self {
        Self { is_anywhere: true, is_plan: true, moved: vec!["/".into()], ..Self::default() }
    }

    /// Adds a change in a folder.
    pub(crate) fn add(&mut self, folder: Arc<Path>) {
        if !self.is_anywhere {
            self.folders.insert(folder);
        }
    }

    /// Adds a change of something that the load order depends on.
    pub(crate) fn add_plan(&mut self) {
        self.is_plan = true;
    }

    /// Adds a path that may lead elsewhere now.
    pub(crate) fn add_moved(&mut self, path: PathBuf) {
        self.add(path.as_path().into());
        self.add_plan();
        self.moved.push(path);
    }

    /// Adds a change in an unknown place.
    pub(crate) fn add_anywhere(&mut self) {
        *self = Self::anywhere();
    }

    pub(crate) fn extend(&mut self, other: Self) {
        if other.is_anywhere {
            self.add_anywhere()
        } else {
            other.folders.into_iter().for_each(|folder| self.add(folder))
        }
        self.moved.extend(other.moved);
        self.is_plan |= other.is_plan;
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.is_anywhere && !self.is_plan && self.folders.is_empty()
    }

    /// The paths that may lead elsewhere now, with all paths below them.
    pub(crate) fn moved(&self) -> &[PathBuf] {
        &self.moved
    }

    pub(super) fn is_anywhere(&self) -> bool {
        self.is_anywhere
    }

    /// Whether the load order may differ.
    pub(super) fn is_plan(&self) -> bool {
        self.is_plan
    }

    /// Whether something may have changed in a folder.
    pub(crate) fn includes(&self, folder: &Path) -> bool {
        self.is_anywhere || self.folders.contains(folder)
    }

    /// The folders at or below a path in which something changed.
    fn folders_in<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = &'a Path> {
        // In this order, they are one range.
        let from = self.folders.range::<Path, _>((Bound::Included(path), Bound::Unbounded));
        from.map(|folder| &**folder).take_while(move |folder| folder.starts_with(path))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, FileTimes};
    use std::time::Duration;

    use super::*;
    use crate::vfs::file::tests::names_of_one_extent;
    use crate::vfs::library::Vfs;

    #[test]
    fn what_did_not_change_is_shared_with_the_view_before() {
        let (dir, archive, _) = names_of_one_extent(&["a.txt"], b"archive");
        let path = |name: &str| dir.path().join(name);
        fs::create_dir(path("sub")).expect("cannot create the folder");
        std::os::unix::fs::symlink("sub", path("link")).expect("cannot make a link");
        let write = |name: &str, bytes: &[u8]| {
            fs::write(path(name), bytes).expect("cannot write");
            let old = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(9));
            File::open(path(name)).and_then(|file| file.set_times(old)).expect("cannot set the time");
        };
        write("sub/b.txt", b"loose");
        let vfs = Vfs::open([dir.path()]).expect("cannot open");
        assert_eq!((vfs.opened().store.layers(), vfs.opened().tree.files()), (2, 3));
        let shares = |vfs: &Vfs| {
            let (then, again) = (vfs.opened(), vfs.reopened().expect("cannot open"));
            let is_same = |(one, other): (&Arc<LayerNames>, &Arc<LayerNames>)| Arc::ptr_eq(one, other);
            let names: Vec<bool> = then.names.iter().zip(&again.names).map(is_same).collect();
            let folders = [then, &again].map(|it| it.store.folder(1).cloned());
            (
                Arc::ptr_eq(&then.tree, &again.tree),
                names,
                folders[0].is_some() && {
                    let [one, other] = folders.map(|it| it.map(|folder| Arc::as_ptr(&folder)));
                    one == other
                },
            )
        };
        assert_eq!(shares(&vfs), (true, vec![true; 2], true));
        // Nothing is known of a file that was not statted, so its changes do not count.
        write("sub/b.txt", b"LOOSE");
        assert_eq!(shares(&vfs), (true, vec![true; 2], true));
        assert_eq!(vfs.file("sub/b.txt").expect("not there").size().ok(), Some(5));
        assert_eq!(shares(&vfs), (true, vec![true; 2], true));
        write("sub/b.txt", b"longer");
        assert_eq!(shares(&vfs), (false, vec![true; 2], false));
        write("sub/new.txt", b"");
        assert_eq!(shares(&vfs), (false, vec![true, false], false));
        fs::remove_file(path("sub/new.txt")).expect("cannot remove");
        let bytes = fs::read(&archive).expect("cannot read");
        fs::remove_file(&archive).expect("cannot remove");
        fs::write(&archive, bytes).expect("cannot write");
        // Another file with the same names. The folder of the archive changed, too.
        let (tree, _, folder) = shares(&vfs);
        assert!(!tree && !folder);
        // Other bytes in the same file, which has the same names. The folder did not change.
        let vfs = Vfs::open([dir.path()]).expect("cannot open");
        let mut bytes = fs::read(&archive).expect("cannot read");
        let at = bytes.len() - b"archive".len();
        bytes[at..].copy_from_slice(b"ARCHIVE");
        write("a.bsa", &bytes);
        assert_eq!(shares(&vfs), (false, vec![false, true], true));
        let again = Vfs::from(vfs.reopened().expect("cannot open"));
        assert_eq!(again.file("a.txt").and_then(|file| file.read().ok()).as_deref(), Some(&b"ARCHIVE"[..]));
    }

    #[test]
    fn an_archive_that_was_a_file_of_the_view_before_becomes_a_layer() {
        let (dir, archive, _) = names_of_one_extent(&["a.txt"], b"archive");
        let whole = fs::read(&archive).expect("cannot read");
        fs::write(&archive, b"BSA").expect("cannot write");
        let vfs = Vfs::open([dir.path()]).expect("cannot open");
        assert!(vfs.file("a.bsa").is_some() && vfs.file("a.txt").is_none());
        fs::write(&archive, whole).expect("cannot write");
        let again = Vfs::from(vfs.reopened().expect("cannot open"));
        assert!(again.file("a.bsa").is_none() && again.file("a.txt").is_some());
    }
}
