//! Opens, parses and merges the layers of sources. Every command opens its sources here.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::io::Errno;

use super::case_twins::case_twins;
use super::dictionary;
use super::reopening::Reuse;
use crate::archive_file::ArchiveFile;
use crate::content::Store;
use crate::folder::{LooseFolder, LooseNames, OpenFiles, ScanError, Scans};
use crate::format::{EntryId, ParseError, is_archive_name};
use crate::limits::LAYERS_FILES_MAX;
use crate::note::{Note, UNSEEN};
use crate::shown::Shown;
use crate::system::clock::unix_nanoseconds;
use crate::system::once_per_file::OncePerFile;
use crate::system::parallel::try_in_parallel;
use crate::system::sync::Mutex;
use crate::system::{asleep, memory};
use crate::tree::{self, DataPlace, Dictionary, Erased, LayerNames, MergeLayer, Rule, TooManyPaths};
use crate::vfs::error::{OpenError, OpenErrorKind};
use crate::vfs::open_options::{CACHE_SIZE, Layout, OpenOptions};
use crate::vfs::opened::{IgnoredFiles, Opened};
use crate::vfs::opened_archive::{self, Content, Description, OpenedArchive};
use crate::vfs::sources::layer_plan::{LayerRules, PlannedFolder, PlannedLayer};
use crate::vfs::sources::profile::SourceSet;
use crate::vfs::sources::resolve::{self, OpenPlan};
use crate::vfs::sources::{folder_name, for_others, loose_notes};
use crate::vfs::trouble::Trouble;

impl SourceSet {
    pub(crate) fn open(&self) -> Result<Opened, OpenError> {
        Opened::open(&self.paths, &self.options)
    }
}

impl Opened {
    /// Opens sources; the last one wins. None of them may be a profile.
    pub(crate) fn open(sources: &[PathBuf], options: &OpenOptions) -> Result<Self, OpenError> {
        let cache_size = options.cache_size.unwrap_or(CACHE_SIZE);
        let store = Store::new(cache_size, options.parse_options().limits).with_salvage(options.salvage);
        Self::open_into(store, sources, options, None)
    }

    /// Opens sources into an empty store. During a reload, `earlier` is the view that is served meanwhile.
    pub(crate) fn open_into(
        store: Store,
        sources: &[PathBuf],
        options: &OpenOptions,
        earlier: Option<&Reuse<'_>>,
    ) -> Result<Self, OpenError> {
        let mut plan = resolve::open_plan(sources, options, earlier.map(|earlier| &**earlier.plan()))?;
        for_others::limit_links(&mut plan.layers, options);
        if let Some(only) = &options.only {
            plan.layers.iter_mut().for_each(|layer| layer.limit_paths(only));
        }
        Self::open_plan(Arc::new(plan), options, store, earlier)
    }

    /// Opens the layers of a plan and merges them by its rule.
    pub(crate) fn open_plan(
        plan: Arc<OpenPlan>,
        options: &OpenOptions,
        store: Store,
        earlier: Option<&Reuse<'_>>,
    ) -> Result<Self, OpenError> {
        for_others::check_layers(&plan.layers, &plan.read_set, options)?;
        let layout = options.layout;
        let names = match earlier {
            None => {
                options.names.iter().try_for_each(|list| for_others::check_list(list, options))?;
                dictionary::read(&options.names, options.code_page())?
            }
            Some(earlier) => names_again(options, earlier),
        };
        let files = earlier.map(Reuse::files).unwrap_or_default();
        // With a folder per archive, archives are opened later: the name of a folder depends on all layers.
        let names_of_archives = (layout == Layout::Union).then_some(&names);
        let opener = Opener::new(earlier, options);
        let (found, archives) = find_layers(&plan.layers, &files, &opener, names_of_archives)?;
        let bases = match layout {
            Layout::Union => Vec::new(),
            Layout::PerArchive => {
                folder_name::distinct(&found.iter().map(FoundLayer::path).collect::<Vec<_>>())
            }
        };
        let base = &|index: usize| bases.get(index).map(String::as_str);
        let archives = opener.open_rest(&found, archives, base, names)?;
        let mut opened = Opening::new(plan, store, earlier);
        opened.archives = archives.iter().flatten().map(|archive| archive.path.clone()).collect();
        opened.deep_archives = deep_archives(&opened.archives);
        if found.iter().any(|layer| matches!(layer, FoundLayer::Later(_))) {
            opened.record_served(archives.iter().flatten());
        }
        for (index, (found, archive)) in found.into_iter().zip(archives).enumerate() {
            match found {
                FoundLayer::Archive { why, rules, .. } => {
                    if let Some(it) = archive {
                        opened.add_archive(it, why.clone(), &rules);
                    }
                }
                FoundLayer::Folder { folder, lists_archives, why, rules } => {
                    opened.add_folder(folder, lists_archives, base(index), why, &rules)?;
                }
                FoundLayer::Later(planned) => {
                    opened.add_ignored(&planned, &files);
                    if let Some(folder) = opened.scan_unserved(&planned, &files, &opener.left_out)? {
                        opener.files.add_folder(&folder)?;
                        let PlannedFolder { lists_archives, reads, why, rules, .. } = planned;
                        opened.add_folder(folder, lists_archives, base(index), why, &rules)?;
                        opened.leave_out_below(&reads);
                    }
                }
            }
        }
        let mut left_out = opener.left_out.into_inner();
        let of_opening = earlier.map(Reuse::troubles).unwrap_or_default();
        let troubles = opened.plan.troubles.iter().chain(&of_opening);
        left_out.extend(Trouble::first_of_each(troubles).map(Trouble::note));
        Ok(Self { archive_options: options.of_archives(), ..opened.merge(files, left_out)? })
    }
}

/// Reads all lists of names while an earlier view is served. A list that is gone is left out. If one cannot
/// be read, the names that the lists gave to files of that view stay.
fn names_again(options: &OpenOptions, earlier: &Reuse<'_>) -> Dictionary {
    let mut names = Dictionary::new(options.code_page());
    let mut is_kept = false;
    for list in &options.names {
        let is_asleep = asleep::is_at(list);
        let asleep = is_asleep.then(|| OpenError::unreadable(list, asleep::error()));
        let mut add = || {
            for_others::check_list(list, options)?;
            dictionary::add_list(&mut names, list)
        };
        if let Err(error) = asleep.map_or_else(&mut add, Err) {
            let trouble = Trouble::of(list, &error, true);
            is_kept |= !trouble.is_left_out();
            earlier.note(trouble);
        }
    }
    if is_kept && dictionary::add_paths(&mut names, earlier.listed_names()).is_err() {
        log::warn!("some files are listed by hash until the list of names can be read: {TooManyPaths}");
    }
    names
}

/// Layers, and for each its archive if that is open already.
type FoundLayers = (Vec<FoundLayer>, Vec<Option<OpenedArchive>>);

/// Walks the folders among the layers, each once. If `names` is given, opens the planned archives at the
/// same time.
fn find_layers(
    planned: &[PlannedLayer],
    files: &Arc<OpenFiles>,
    opener: &Opener<'_>,
    names: Option<&Dictionary>,
) -> Result<FoundLayers, OpenError> {
    let scans = Scans::new(files.clone());
    // Folders first: a walk takes longer than opening most archives, and uses only one thread.
    let mut order: Vec<usize> = (0..planned.len()).collect();
    order.sort_by_key(|&index| matches!(planned[index], PlannedLayer::Archive { .. }));
    let find = |at: usize| match &planned[order[at]] {
        PlannedLayer::Archive { path, is_needed, why, rules } => {
            let (path, why, rules) = (path.clone(), why.clone(), rules.clone());
            let layer = FoundLayer::Archive { path, is_needed: *is_needed, why, rules };
            let Some(names) = names else { return Ok(vec![(layer, None)]) };
            let opened = opener.open(&layer, None, names)?;
            Ok(opened.map(|archive| vec![(layer, Some(archive))]).unwrap_or_default())
        }
        PlannedLayer::Folder(folder) => {
            let layers = folder.find(&scans, opener.earlier, &opener.left_out)?;
            for layer in &layers {
                if let FoundLayer::Folder { folder, .. } = layer {
                    opener.files.add_folder(folder)?;
                }
            }
            Ok(layers.into_iter().map(|layer| (layer, None)).collect::<Vec<_>>())
        }
    };
    memory::make_room(planned.len());
    let found =
        try_in_parallel(planned.len(), &opener.options.steps("opening sources", planned.len()), find)?;
    let mut in_order: Vec<_> = order.into_iter().zip(found).collect();
    in_order.sort_unstable_by_key(|(index, _)| *index);
    Ok(in_order.into_iter().flat_map(|(_, found)| found).unzip())
}

/// Opens the archives among the layers.
struct Opener<'a> {
    earlier: Option<&'a Reuse<'a>>,
    options: &'a OpenOptions,
    /// Notes on archives and folders that could not be opened and are left out.
    left_out: Mutex<Vec<Note>>,
    /// Archives that were parsed. Many links may lead to one file.
    parsed: OncePerFile<Result<OpenedArchive, ParseError>>,
    files: LayersFiles,
}

/// The number of files in all layers together.
#[derive(Debug, Default)]
struct LayersFiles(AtomicUsize);

impl LayersFiles {
    fn add_folder(&self, folder: &LooseFolder) -> Result<(), OpenError> {
        self.add(folder.names().file_count() as usize, folder.path())
    }

    /// Counts the files of a layer.
    fn add(&self, files: usize, path: &Path) -> Result<(), OpenError> {
        let before = self.0.fetch_add(files, Ordering::Relaxed);
        if before.saturating_add(files) > LAYERS_FILES_MAX {
            Err(OpenError::too_large(path, TooManyFiles))
        } else {
            Ok(())
        }
    }
}

/// Error if all layers together have more files than [`LAYERS_FILES_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TooManyFiles;

impl fmt::Display for TooManyFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "with this one, all sources together have more than {LAYERS_FILES_MAX} files")
    }
}

impl std::error::Error for TooManyFiles {}

impl<'a> Opener<'a> {
    fn new(earlier: Option<&'a Reuse<'a>>, options: &'a OpenOptions) -> Self {
        Self {
            earlier,
            options,
            left_out: Default::default(),
            parsed: Default::default(),
            files: Default::default(),
        }
    }

    /// Opens a layer if it is an archive. Returns `None` for a folder, and for an optional archive
    /// that cannot be opened.
    fn open(
        &self,
        layer: &FoundLayer,
        base: Option<&str>,
        names: &Dictionary,
    ) -> Result<Option<OpenedArchive>, OpenError> {
        let FoundLayer::Archive { path, is_needed, .. } = layer else { return Ok(None) };
        let asleep = asleep::is_at(path).then(|| OpenError::unreadable(path, asleep::error()));
        let is_alike = |earlier: &&Reuse<'_>| earlier.opens_alike(self.options) && names.is_empty();
        let unchanged = self.earlier.filter(|earlier| asleep.is_none() && is_alike(earlier));
        if let Some(archive) = unchanged.and_then(|earlier| earlier.unchanged_archive(path, base)) {
            self.files.add(archive.layer.file_count(), path)?;
            return Ok(Some(archive));
        }
        let opened = asleep.map_or_else(|| self.parse(path, base, names), Err);
        match self.earlier {
            Some(earlier) if *is_needed || opened.is_ok() || earlier.contains(path) => {
                Ok(earlier.archive(path, base, opened))
            }
            _ if *is_needed => opened.map(Some),
            _ => Ok(opened.inspect_err(|error| self.leave_out(path, error)).ok()),
        }
    }

    /// Opens an archive, and parses it unless a link to the same file was opened before.
    fn parse(&self, path: &Path, base: Option<&str>, names: &Dictionary) -> Result<OpenedArchive, OpenError> {
        let source = ArchiveFile::open(path).map_err(|error| OpenError::unreadable(path, error))?;
        // It stays open until it is parsed.
        let file = source.open_file().map_err(|error| OpenError::unreadable(path, error.into_io()))?;
        for_others::check_file(path, &file, self.options)?;
        let (identity, absolute) = (source.identity(), source.path().to_owned());
        let parse = || match OpenedArchive::parse(path, source, base, names, self.options) {
            Ok(archive) => Ok(Ok(archive)),
            Err(error) => match error.kind() {
                OpenErrorKind::Archive(cause) => Ok(Err(cause.clone())),
                _ => Err(error),
            },
        };
        let archive = self.parsed.get(identity, parse)?;
        let archive = archive.map_err(|cause| OpenError::new(path, OpenErrorKind::Archive(cause)))?;
        self.files.add(archive.layer.file_count(), path)?;
        if archive.path == absolute && archive.layer.has_base(base) {
            Ok(archive)
        } else {
            archive.linked(path, &absolute, base)
        }
    }

    fn leave_out(&self, path: &Path, error: &OpenError) {
        log::warn!(target: UNSEEN, "{error}; the archive is not opened");
        self.left_out.lock().push(opened_archive::unreadable(path, error));
    }

    /// Opens the archives that are not open yet. If an archive stores only hashes, its files get
    /// their names from `names` and from the other layers.
    fn open_rest<'b>(
        &self,
        found: &[FoundLayer],
        mut archives: Vec<Option<OpenedArchive>>,
        base: &(dyn Fn(usize) -> Option<&'b str> + Sync),
        mut names: Dictionary,
    ) -> Result<Vec<Option<OpenedArchive>>, OpenError> {
        memory::make_room(found.len());
        let rest: Vec<usize> = (0..found.len()).filter(|&index| archives[index].is_none()).collect();
        let open = |indices: &[usize], names: &Dictionary| {
            try_in_parallel(indices.len(), &self.options.steps("opening archives", indices.len()), |at| {
                self.open(&found[indices[at]], base(indices[at]), names)
            })
        };
        for (index, archive) in rest.iter().zip(open(&rest, &names)?) {
            archives[*index] = archive;
        }
        let is_unnamed =
            |archive: &Option<OpenedArchive>| archive.as_ref().is_some_and(|it| it.layer.has_unnamed());
        let unnamed: Vec<usize> = (0..archives.len()).filter(|&index| is_unnamed(&archives[index])).collect();
        if !unnamed.is_empty() && found.len() > 1 {
            if let Err(error) = add_names(&mut names, found, &archives) {
                log::info!("some files stay listed by hash, although other layers may name them: {error}");
            }
            // They are parsed again, and replace those that were counted.
            self.parsed.clear();
            let files = unnamed.iter().filter_map(|&index| archives[index].as_ref());
            self.files.0.fetch_sub(files.map(|it| it.layer.file_count()).sum(), Ordering::Relaxed);
            let named = open(&unnamed, &names)?;
            unnamed.into_iter().zip(named).for_each(|(index, archive)| archives[index] = archive);
        }
        for (found, archive) in found.iter().zip(&archives) {
            for archive in archive.iter() {
                archive.report(&found.path());
            }
        }
        Ok(archives)
    }
}

/// Adds the paths of all layers to a dictionary.
fn add_names(
    names: &mut Dictionary,
    found: &[FoundLayer],
    archives: &[Option<OpenedArchive>],
) -> Result<(), TooManyPaths> {
    for (found, archive) in found.iter().zip(archives) {
        match (found, archive) {
            (_, Some(archive)) => dictionary::add_paths(names, archive.layer.known_paths())?,
            (FoundLayer::Folder { folder, .. }, None) => {
                let files = 0..folder.names().file_count();
                dictionary::add_paths(names, files.map(|file| folder.names().file_path(file)))?;
            }
            (FoundLayer::Archive { .. } | FoundLayer::Later(_), None) => {}
        }
    }
    Ok(())
}

/// The layers while they are put together, lowest first.
struct Opening<'a> {
    plan: Arc<OpenPlan>,
    earlier: Option<&'a Reuse<'a>>,
    store: Store,
    names: Vec<Arc<LayerNames>>,
    layers: Vec<MergeLayer>,
    descriptions: Vec<Option<Arc<Description>>>,
    reasons: Vec<String>,
    folders: Vec<Arc<LooseFolder>>,
    /// The names of layers, by the address of the names of their folders, which `folders` keeps.
    names_of_walks: HashMap<*const LooseNames, Arc<LayerNames>>,
    /// The paths of the archives that are layers. They are absolute, like those of folders.
    archives: HashSet<PathBuf>,
    /// For each folder, the archives in its subfolders, as lower-case paths relative to the folder.
    deep_archives: HashMap<PathBuf, HashSet<Vec<u8>>>,
    /// Names of the top folders of all archives. Filled only if a layer needs them.
    served: HashSet<String>,
    ignored: Vec<IgnoredFiles>,
    /// The number of files in `ignored`.
    ignored_files: LayersFiles,
}

/// Number of bytes that merging takes for each file, at most, with a list of all files later.
const MERGED_PER_FILE: usize = 150;

impl<'a> Opening<'a> {
    fn new(plan: Arc<OpenPlan>, store: Store, earlier: Option<&'a Reuse<'a>>) -> Self {
        Self {
            plan,
            earlier,
            store,
            names: Default::default(),
            layers: Default::default(),
            descriptions: Default::default(),
            reasons: Default::default(),
            folders: Default::default(),
            names_of_walks: Default::default(),
            archives: Default::default(),
            deep_archives: Default::default(),
            served: Default::default(),
            ignored: Default::default(),
            ignored_files: Default::default(),
        }
    }

    fn record_served<'b>(&mut self, archives: impl Iterator<Item = &'b OpenedArchive>) {
        for archive in archives {
            let names = archive.layer.top_folders();
            self.served.extend(names.map(|name| String::from_utf8_lossy(name).to_ascii_lowercase()));
        }
    }

    /// Walks the top folders of a folder that an archive has too, to know what the game ignores there.
    fn add_ignored(&mut self, planned: &PlannedFolder, files: &Arc<OpenFiles>) {
        let mut planned = planned.clone();
        planned.filter.only_below = Some(self.served.iter().cloned().collect());
        let Ok(folder) = planned.scan(&Scans::new(files.clone()), None) else { return };
        // What the game ignores must not cost more than what it uses, and fails nothing.
        if folder.names().file_count() > 0 && self.ignored_files.add_folder(&folder).is_ok() {
            self.ignored.push(IgnoredFiles { folder: Arc::new(folder), reads: planned.reads });
        }
    }

    /// Walks a folder, without the top folders that an archive has too.
    fn scan_unserved(
        &self,
        planned: &PlannedFolder,
        files: &Arc<OpenFiles>,
        left_out: &Mutex<Vec<Note>>,
    ) -> Result<Option<Arc<LooseFolder>>, OpenError> {
        let mut planned = planned.clone();
        planned.filter.not_at_root.extend(self.served.iter().cloned());
        planned.scan_or_leave_out(&Scans::new(files.clone()), self.earlier, left_out)
    }

    /// Leaves out of the last layer what is below some folders, because another layer of its folder has that.
    fn leave_out_below(&mut self, folders: &[String]) {
        let is_below = |path: &[u8]| {
            let rest = |folder: &String| path.strip_prefix(folder.as_bytes());
            folders.iter().any(|folder| rest(folder).is_some_and(|rest| rest.starts_with(b"/")))
        };
        if let Some(layer) = self.layers.pop() {
            self.layers.push(layer.without(is_below));
        }
    }

    fn add_archive(&mut self, archive: OpenedArchive, why: String, rules: &LayerRules) {
        self.names.push(archive.layer.clone());
        let mut layer = MergeLayer::from(archive.layer);
        if let Some(game) = rules.by_date.filter(|_| self.plan.rule == Rule::Dates) {
            layer = layer.modified(unix_nanoseconds(archive.modified)).of_game(game);
        }
        if !rules.invalidated.is_empty() {
            layer = layer.without(|path| rules.invalidated.contains(path));
        }
        if let Some(within) = &rules.within {
            layer = layer.only_below(within.path());
        }
        match (archive.content, self.earlier) {
            (Content::Opened(file, tables), _) => self.store.add_at(archive.path, file, tables),
            (Content::Mounted(layer), Some(earlier)) => self.store.add_kept(earlier.store(), layer),
            (Content::Mounted(_), None) => unreachable!("only what was mounted earlier is kept"),
        }
        self.layers.push(layer);
        self.descriptions.push(Some(archive.description));
        self.reasons.push(why);
    }

    fn add_folder(
        &mut self,
        mut folder: Arc<LooseFolder>,
        lists_archives: bool,
        base: Option<&str>,
        why: String,
        rules: &LayerRules,
    ) -> Result<(), OpenError> {
        // A folder of the earlier view is shared with it. Its archives were left out before.
        if let Some(folder) = Arc::get_mut(&mut folder).filter(|_| !lists_archives) {
            let parent = folder.path().to_owned();
            folder.leave_out(|_, name| self.archives.contains(&parent.join(OsStr::from_bytes(name))));
        }
        if let Some(earlier) = self.earlier {
            folder = earlier.or_mounted(folder);
        }
        let names = self.names_of_folder(&folder, base)?;
        self.names.push(names.clone());
        let layer = MergeLayer::from(names);
        let layer = match self.deep_archives.get(folder.path()).filter(|_| !lists_archives) {
            Some(deep) => layer.without(|path| deep.contains(path)),
            None => layer,
        };
        let layer = match &rules.within {
            Some(within) => layer.only_below(within.path()),
            None => layer,
        };
        let layer = match rules.by_date.filter(|_| self.plan.rule == Rule::Dates) {
            Some(game) => layer.modified_each(times(&folder)).of_game(game),
            None => layer,
        };
        self.folders.push(folder.clone());
        self.descriptions.push(None);
        self.store.add_folder(folder);
        self.layers.push(layer);
        self.reasons.push(why);
        Ok(())
    }

    /// The names of a layer. Folders that are one on the disk share them.
    fn names_of_folder(
        &mut self,
        folder: &Arc<LooseFolder>,
        base: Option<&str>,
    ) -> Result<Arc<LayerNames>, OpenError> {
        let shared = std::ptr::from_ref(folder.names());
        let known = self.names_of_walks.get(&shared).filter(|names| names.has_base(base)).cloned();
        let known = known.or_else(|| self.earlier?.names_of(folder, base));
        let names = match known {
            Some(names) => names,
            None => LayerNames::of_folder(folder.names(), base)
                .map_err(|error| OpenError::too_large(folder.path(), error))?
                .into(),
        };
        self.names_of_walks.insert(shared, names.clone());
        Ok(names)
    }

    fn merge(self, files: Arc<OpenFiles>, unseen: Vec<Note>) -> Result<Opened, OpenError> {
        let Self { plan, earlier, store, names, layers, descriptions, reasons, folders, ignored, .. } = self;
        let count: usize = names.iter().map(|names| names.file_count()).sum();
        if !memory::has_room(count.saturating_mul(MERGED_PER_FILE)) {
            return Err(OpenError::no_memory());
        }
        let layers = without_erased(layers, &store);
        let rules = tree::rules_hash(&layers, plan.rule);
        let place =
            |id: EntryId| DataPlace { layer: id.layer, offset: store.file(id).position(), entry: id.entry };
        let tree = match earlier.and_then(|earlier| earlier.tree_of(&names, &store, rules)) {
            Some(tree) => tree,
            None => {
                let tree = tree::merge(layers, plan.rule).map_err(OpenError::all_too_large)?;
                tree.listed_by_place(place).into()
            }
        };
        for (first, second) in case_twins(&tree) {
            log::warn!(
                "{first} and {second} differ only in case: a game treats them as one, but the mount shows \
                 both"
            );
        }
        let mut left_out = loose_notes::left_out(&plan.order.notes, folders.iter().map(|folder| &**folder));
        let is_known = |note: &Note| {
            plan.order.notes.iter().any(|known| (known.code, &known.subject) == (note.code, &note.subject))
        };
        left_out.extend(unseen.into_iter().filter(|note| !is_known(note)));
        let paths = ignored.iter().map(|it| (it.folder.path(), it.paths()));
        left_out.extend(loose_notes::ignored(&plan.order, paths));
        left_out.extend(folders.iter().filter_map(|folder| loose_notes::marks(&plan.order, folder)));
        Ok(Opened {
            tree,
            rules,
            store,
            names,
            descriptions,
            left_out,
            ignored,
            reasons,
            plan,
            files,
            sources: Default::default(),
            options: Default::default(),
            archive_options: Default::default(),
        })
    }
}

/// For each folder, the archives in its subfolders, as lower-case paths relative to the folder.
fn deep_archives(archives: &HashSet<PathBuf>) -> HashMap<PathBuf, HashSet<Vec<u8>>> {
    let mut deep: HashMap<PathBuf, HashSet<Vec<u8>>> = HashMap::new();
    for archive in archives {
        // Skips the archive itself and the folder that directly contains it.
        for folder in archive.ancestors().skip(2) {
            let path = archive.strip_prefix(folder).unwrap_or(archive).as_os_str().as_bytes();
            deep.entry(folder.to_owned()).or_default().insert(path.to_ascii_lowercase());
        }
    }
    deep
}

/// Leaves out of each layer what the folders above it erase: files and folders that were deleted in a
/// writable mount.
fn without_erased(mut layers: Vec<MergeLayer>, store: &Store) -> Vec<MergeLayer> {
    let (mut erased, mut beneath) = (Erased::default(), Vec::with_capacity(layers.len()));
    while let Some(layer) = layers.pop() {
        let layer = if erased.is_empty() { layer } else { layer.beneath(&erased) };
        let number = u16::try_from(layers.len()).ok().filter(|_| layer.is_at_root());
        if let Some(folder) = number.and_then(|number| store.folder(number)) {
            erased.add(folder.names());
        }
        beneath.push(layer);
    }
    beneath.reverse();
    beneath
}

/// The modification times of all files of a folder. A file that cannot be statted counts as older
/// than every archive.
fn times(folder: &LooseFolder) -> Vec<i64> {
    let is_asleep = asleep::is_at(folder.path());
    let stat = |file| if is_asleep { folder.known(file) } else { folder.stat(file).ok() };
    let time = |file| stat(file).map_or(i64::MIN, |stat| unix_nanoseconds(stat.modified()));
    (0..folder.names().file_count()).map(time).collect()
}

// Finds the layers of a plan on the disk: walks folders, and lists the archives in them.

/// A layer to open. A folder was walked by now, unless it is [`FoundLayer::Later`].
#[derive(Debug)]
pub(crate) enum FoundLayer {
    Archive {
        path: PathBuf,
        is_needed: bool,
        why: String,
        rules: LayerRules,
    },
    Folder {
        folder: Arc<LooseFolder>,
        lists_archives: bool,
        why: String,
        rules: LayerRules,
    },
    /// A folder that is walked only when the contents of the archives are known.
    Later(PlannedFolder),
}

impl FoundLayer {
    pub(crate) fn path(&self) -> PathBuf {
        match self {
            Self::Archive { path, .. } => path.clone(),
            Self::Folder { folder, .. } => folder.path().to_owned(),
            Self::Later(folder) => folder.path.clone(),
        }
    }
}

impl PlannedFolder {
    pub(crate) fn scan(&self, scans: &Scans, earlier: Option<&Reuse<'_>>) -> Result<LooseFolder, OpenError> {
        if asleep::is_at(&self.path) {
            return Err(OpenError::unreadable(&self.path, asleep::error()));
        }
        let earlier = earlier.and_then(|earlier| earlier.mounted_folder(&self.path, &self.filter));
        scans.scan_like(&self.path, &self.filter, earlier.map(|it| &**it)).map_err(|error| self.error(error))
    }

    fn error(&self, error: ScanError) -> OpenError {
        match error {
            ScanError::Io(error) if error.raw_os_error() != Some(Errno::NOSYS.raw_os_error()) => {
                OpenError::unreadable(&self.path, error)
            }
            error @ ScanError::NoFiles(_) => OpenError::not_found(&self.path, error.to_string()),
            error => OpenError::too_large(&self.path, error),
        }
    }

    /// Walks the folder. If that fails during a reload, the folder of the mounted view is kept, or left out
    /// if it is gone. A folder from a game's load order is left out with a note, so that the rest of the
    /// game is opened.
    pub(crate) fn scan_or_leave_out(
        &self,
        scans: &Scans,
        earlier: Option<&Reuse<'_>>,
        left_out: &Mutex<Vec<Note>>,
    ) -> Result<Option<Arc<LooseFolder>>, OpenError> {
        let is_asleep = earlier.is_some_and(|it| it.enters_asleep(&self.path, &self.filter));
        let again = || earlier.and_then(|earlier| earlier.folder_again(&self.path, &self.filter, scans));
        let scanned = if is_asleep {
            Err(OpenError::unreadable(&self.path, asleep::error()))
        } else if let Some(again) = again() {
            again.map_err(|error| self.error(error))
        } else {
            self.scan(scans, earlier).map(Arc::new)
        };
        match scanned {
            Ok(folder) => {
                log_notes(&folder);
                Ok(Some(folder))
            }
            Err(error) => match earlier {
                Some(earlier) if self.why.is_empty() || earlier.contains(&self.path) => {
                    Ok(earlier.folder(&self.path, &self.filter, &error))
                }
                None if self.why.is_empty() => Err(error),
                _ => {
                    log::warn!(target: UNSEEN, "{error}; the folder is left out");
                    left_out.lock().push(Note::not_read(&self.path, &error.kind().to_string()));
                    Ok(None)
                }
            },
        }
    }

    /// Walks the folder. Returns its archives, lowest first, and above them the folder.
    pub(crate) fn find(
        &self,
        scans: &Scans,
        earlier: Option<&Reuse<'_>>,
        left_out: &Mutex<Vec<Note>>,
    ) -> Result<Vec<FoundLayer>, OpenError> {
        if self.hides_served {
            return Ok(vec![FoundLayer::Later(self.clone())]);
        }
        let folder = self.scan_or_leave_out(scans, earlier, left_out)?;
        let Some(folder) = folder else { return Ok(Vec::new()) };
        let archives = match (self.opens_archives, earlier.filter(|it| it.contains_folder(&folder))) {
            (false, _) => Vec::new(),
            (true, None) => archives_in(folder.path(), folder.names()),
            // A kept folder does not list its archives any more.
            (true, Some(earlier)) => earlier.archives_in(folder.path()),
        };
        let (why, rules) = (|| self.why.clone(), || self.rules.clone());
        let archive = |path| FoundLayer::Archive { path, is_needed: false, why: why(), rules: rules() };
        let mut layers: Vec<FoundLayer> = archives.into_iter().map(archive).collect();
        let lists_archives = self.lists_archives;
        layers.push(FoundLayer::Folder { folder, lists_archives, why: why(), rules: rules() });
        Ok(layers)
    }
}

/// The files directly in a folder that are named like archives, ordered by name without regard to case.
pub(crate) fn archives_in(folder: &Path, names: &LooseNames) -> Vec<PathBuf> {
    let mut found: Vec<&[u8]> =
        names.direct_files().map(|(_, name)| name).filter(|name| is_archive_name(name)).collect();
    found.sort_by_cached_key(|name| (name.to_ascii_lowercase(), name.to_vec()));
    let path = |name: &[u8]| folder.join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(name));
    found.into_iter().map(path).collect()
}

/// Maximum number of warnings that are logged for a folder.
const WARNINGS: usize = 20;

/// Logs what a walk left out, for a mount: what the user may miss as warnings, the rest with `-v`.
fn log_notes(folder: &LooseFolder) {
    let (notes, mut dropped) = folder.notes();
    let mut warnings = 0;
    for note in notes {
        let path = folder.path().join(String::from_utf8_lossy(&note.path).as_ref());
        let target = if note.why.code().is_unseen() { UNSEEN } else { module_path!() };
        if !note.why.is_warning() {
            log::info!(target: target, "{}: {}", path.shown(), note.why);
        } else if warnings < WARNINGS {
            log::warn!(target: target, "{}: {}", path.shown(), note.why);
            warnings += 1;
        } else {
            dropped += 1;
        }
    }
    if dropped > 0 {
        log::warn!(target: UNSEEN, "{}: left out {dropped} more files or folders", folder.path().shown());
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, FileTimes};
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::format::Options;
    use crate::vfs::open_options::FolderArchives;

    /// A Morrowind archive with one file, `a.txt`, which contains `archive`.
    fn archive() -> Vec<u8> {
        let numbers = |numbers: &[u32]| numbers.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<u8>>();
        let (names, hash) = (b"a.txt\0", [0; 8]);
        let header = numbers(&[0x100, 8 + 4 + 6, 1]);
        [&header[..], &numbers(&[7, 0]), &numbers(&[0]), names, &hash, b"archive"].concat()
    }

    #[test]
    fn the_dates_rule_hides_a_loose_file_that_is_not_newer_than_the_archive() {
        let folder = tempfile::TempDir::new().expect("cannot create the folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("x.bsa"), archive()).expect("cannot write");
        fs::write(path("A.txt"), b"loose").expect("cannot write");
        let date = |name: &str, seconds| {
            let times = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
            File::open(path(name)).and_then(|file| file.set_times(times)).expect("cannot set the time");
        };
        date("x.bsa", 2_000);
        for (loose, winner) in [(1_999, "archive"), (2_000, "archive"), (2_001, "loose")] {
            date("A.txt", loose);
            let mut planned = PlannedFolder::named(folder.path(), FolderArchives::Open);
            planned.rules.by_date = Some(0);
            let layers = vec![PlannedLayer::Folder(planned)];
            let mut plan = OpenPlan::of_layers(layers);
            plan.rule = Rule::Dates;
            let store = Store::new(1 << 20, Options::default().limits);
            let opened = Opened::open_plan(plan.into(), &OpenOptions::default(), store, None);
            let opened = opened.unwrap_or_else(|failure| panic!("{failure}"));
            assert_eq!(opened.tree.files(), 1);
            let (_, entry) = opened.tree.entries().next().expect("the tree is empty");
            let mut bytes = Vec::new();
            opened.store.file(entry).copy_to(&mut bytes).expect("cannot read the file");
            assert_eq!(String::from_utf8_lossy(&bytes), winner, "loose file modified at {loose}");
        }
    }

    #[test]
    fn links_to_one_archive_share_what_was_parsed_of_it() {
        let folder = tempfile::TempDir::new().expect("cannot create the folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("x.bsa"), archive()).expect("cannot write");
        // The last one is named twice.
        let names = ["1.bsa", "2.bsa", "x.bsa", "x.bsa"];
        names[..2].iter().for_each(|name| {
            std::os::unix::fs::symlink("x.bsa", path(name)).expect("cannot make a link");
        });
        let paths: Vec<PathBuf> = names.map(path).into();
        for layout in [Layout::Union, Layout::PerArchive] {
            let options = OpenOptions::new().layout(layout);
            let opened = Opened::open(&paths, &options).unwrap_or_else(|failure| panic!("{failure}"));
            let is_shared = opened.names.iter().all(|names| Arc::ptr_eq(names, &opened.names[0]));
            assert_eq!(is_shared, layout == Layout::Union);
            assert_eq!(opened.tree.files(), if is_shared { 1 } else { 4 });
            let named: Vec<&Path> = (0..4).map(|layer| opened.store.path(layer)).collect();
            assert_eq!(named, paths);
            let before = opened.store.bytes_read();
            for (_, entry) in opened.tree.entries() {
                let mut bytes = Vec::new();
                opened.store.file(entry).copy_to(&mut bytes).expect("cannot read the file");
                assert_eq!(bytes, b"archive");
            }
            assert_eq!(opened.store.bytes_read() - before, 7 * opened.tree.files() as u64);
        }
    }

    #[test]
    fn links_to_one_folder_share_its_names_unless_an_archive_is_left_out() {
        let dir = tempfile::TempDir::new().expect("cannot create the folder");
        let path = |name: &str| dir.path().join(name);
        fs::create_dir(path("mod")).expect("cannot create the folder");
        fs::write(path("mod/a.txt"), b"loose").expect("cannot write");
        let names = ["1", "2", "mod", "mod/."];
        names[..2].iter().for_each(|name| {
            std::os::unix::fs::symlink("mod", path(name)).expect("cannot make a link");
        });
        let paths: Vec<PathBuf> = names.map(path).into();
        let open = |layout| {
            let options = OpenOptions::new().layout(layout);
            Opened::open(&paths, &options).unwrap_or_else(|failure| panic!("{failure}"))
        };
        let is_shared = |opened: &Opened| opened.names.iter().all(|it| Arc::ptr_eq(it, &opened.names[0]));
        let opened = open(Layout::Union);
        assert!(is_shared(&opened) && opened.tree.files() == 1);
        let (_, winner) = opened.tree.entries().next().expect("the tree is empty");
        assert_eq!((winner.layer, opened.store.path(0), opened.store.path(1)), (3, &*paths[0], &*paths[1]));
        let opened = open(Layout::PerArchive);
        assert!(!is_shared(&opened) && opened.tree.files() == 4);
        // Each path is that of an archive, which is no loose file.
        fs::write(path("mod/x.bsa"), archive()).expect("cannot write");
        let opened = open(Layout::Union);
        let folders = (0..8).filter_map(|layer| opened.store.folder(layer));
        assert_eq!(folders.map(|folder| folder.names().file_count()).collect::<Vec<_>>(), [1; 4]);
        assert_eq!(opened.tree.files(), 1);
    }

    #[test]
    fn all_layers_together_have_a_limit_of_files() {
        let files = LayersFiles::default();
        files.add(LAYERS_FILES_MAX, Path::new("a.bsa")).unwrap_or_else(|failure| panic!("{failure}"));
        let error = files.add(1, Path::new("b.bsa")).expect_err("there is no limit");
        assert!(matches!(error.kind(), OpenErrorKind::TooLarge(_)));
        let expected = "b.bsa: with this one, all sources together have more than 16777216 files";
        assert_eq!(error.to_string(), expected);
    }
}
