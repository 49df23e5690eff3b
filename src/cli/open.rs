//! Opens, parses and merges archives and folders, for every command alike.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::SystemTime;

use super::case_twins::case_twins;
use super::exit::{Exit, Failure};
use super::layer_plan::{FoundLayer, LayerRules, PlannedFolder, PlannedLayer};
use super::open_args::{Layout, OpenArgs};
use super::output::count;
use super::parallel::in_parallel;
use super::source_set::SourceSet;
use super::sources::OpenPlan;
use super::{cache_size, dictionary, folder_name, layer_names, sources};
use crate::content::{LayerTables, Store};
use crate::folder::{Folder, OpenFiles, Wait};
use crate::format::{self, About, Archive, Note, Options};
use crate::game::{LoadOrder, Looked, recorded};
use crate::read::Bytes;
use crate::source::Source;
use crate::tree::{self, Dictionary, Layer, Rule, TooManyNames, TooManyPaths, Tree};

/// Archives and folders that were opened and merged.
#[derive(Debug)]
pub(super) struct OpenedArchives {
    pub(super) tree: Tree,
    pub(super) store: Store,
    /// One for each archive, lowest first; none for folders.
    pub(super) descriptions: Vec<Description>,
    /// Why each layer is one; empty where a user named it.
    pub(super) reasons: Vec<String>,
    /// What was planned for the games among the sources.
    pub(super) order: LoadOrder,
    /// What that took of the disk.
    pub(super) looked: Looked,
}

/// What an archive's header states, and what its parser noted.
#[derive(Debug)]
pub(super) struct Description {
    pub(super) about: About,
    pub(super) notes: Vec<Note>,
}

/// Files of an archive from which on names and tables are made in parallel.
const PARALLEL_FROM: usize = 1 << 14;

impl OpenedArchives {
    /// Opens sources, the last of which wins.
    pub(super) fn open(set: &SourceSet) -> Result<Self, Failure> {
        Self::open_with_cache(set, cache_size::DEFAULT)
    }

    /// The same, with a cache of at most `cache_size` bytes.
    pub(super) fn open_with_cache(set: &SourceSet, cache_size: u64) -> Result<Self, Failure> {
        let store = Store::new(cache_size, set.open.parse.options().limits).with_salvage(set.salvage);
        Self::open_into(store, set, &HashSet::new())
    }

    /// The same into an empty store. An archive at one of the paths in `needed` is an error where it cannot be read, whatever
    /// asks for it.
    pub(super) fn open_into(
        store: Store,
        set: &SourceSet,
        needed: &HashSet<PathBuf>,
    ) -> Result<Self, Failure> {
        let (planned, looked) = recorded(|| sources::layers(set));
        let OpenPlan { layers, rule, order } = planned?;
        let opened = Self::open_layers(&layers, rule, &set.open, set.layout, store, needed)?;
        Ok(Self { order, looked, ..opened })
    }

    /// Opens planned layers, merged by a rule.
    pub(super) fn open_layers(
        planned: &[PlannedLayer],
        rule: Rule,
        args: &OpenArgs,
        layout: Layout,
        store: Store,
        needed: &HashSet<PathBuf>,
    ) -> Result<Self, Failure> {
        let names = dictionary::read(&args.names, args.parse.encoding())?;
        let files = Arc::new(OpenFiles::default());
        let mut found = find_layers(planned, &files)?;
        for layer in &mut found {
            if let FoundLayer::Archive { path, is_needed, .. } = layer {
                *is_needed |= needed.contains(path);
            }
        }
        let bases = match layout {
            Layout::Union => Vec::new(),
            Layout::PerArchive => {
                folder_name::distinct(&found.iter().map(FoundLayer::path).collect::<Vec<_>>())
            }
        };
        let base = &|index: usize| bases.get(index).map(String::as_str);
        let archives = open_archives(&found, base, names, args)?;
        let mut opened = Opening::new(rule, store);
        opened.archives = archives.iter().flatten().map(|archive| archive.source.path().to_owned()).collect();
        opened.deep_archives = deep_archives(&opened.archives);
        if found.iter().any(|layer| matches!(layer, FoundLayer::Later(_))) {
            opened.note_served(archives.iter().flatten());
        }
        for (index, (found, archive)) in found.into_iter().zip(archives).enumerate() {
            match found {
                FoundLayer::Archive { why, rules, .. } => {
                    archive.into_iter().for_each(|it| opened.add_archive(it, why.clone(), &rules));
                }
                FoundLayer::Folder { folder, lists_archives, why, rules } => {
                    opened.add_folder(*folder, lists_archives, base(index), why, &rules)?;
                }
                FoundLayer::Later(planned) => {
                    if let Some(folder) = opened.scan_unserved(&planned, &files)? {
                        let PlannedFolder { lists_archives, why, rules, .. } = planned;
                        opened.add_folder(folder, lists_archives, base(index), why, &rules)?;
                    }
                }
            }
        }
        opened.merge()
    }
}

/// Walks the folders among the layers.
fn find_layers(planned: &[PlannedLayer], files: &Arc<OpenFiles>) -> Result<Vec<FoundLayer>, Failure> {
    let found = in_parallel(planned.len(), "listing folders", |index| match &planned[index] {
        PlannedLayer::Archive { path, is_needed, why, rules } => {
            let (path, why, rules) = (path.clone(), why.clone(), rules.clone());
            Ok(vec![FoundLayer::Archive { path, is_needed: *is_needed, why, rules }])
        }
        PlannedLayer::Folder(folder) => folder.find(files),
    })?;
    Ok(found.into_iter().flatten().collect())
}

/// Opens the archives among the layers; `None` for folders, and for archives that cannot be opened and need not be. Where
/// one stores only hashes, `names` and the other layers name its files.
fn open_archives<'b>(
    found: &[FoundLayer],
    base: &(dyn Fn(usize) -> Option<&'b str> + Sync),
    mut names: Dictionary,
    args: &OpenArgs,
) -> Result<Vec<Option<OpenedArchive>>, Failure> {
    let open = |index: usize, names: &Dictionary| match &found[index] {
        FoundLayer::Folder { .. } | FoundLayer::Later(_) => Ok(None),
        FoundLayer::Archive { path, is_needed, .. } => {
            match OpenedArchive::open(path, base(index), names, args) {
                Err(failure) if !is_needed => {
                    log::warn!("{}; it is no layer", failure.what);
                    Ok(None)
                }
                opened => opened.map(Some),
            }
        }
    };
    let what = "opening archives";
    let mut archives = in_parallel(found.len(), what, |index| open(index, &names))?;
    let is_unnamed =
        |archive: &Option<OpenedArchive>| archive.as_ref().is_some_and(|it| it.layer.has_unnamed());
    let unnamed: Vec<usize> = (0..archives.len()).filter(|&index| is_unnamed(&archives[index])).collect();
    if !unnamed.is_empty() && found.len() > 1 {
        if let Err(error) = add_names(&mut names, found, &archives) {
            log::info!(
                "not all files that are known by their hash alone are looked for in other layers: {error}"
            );
        }
        let named = in_parallel(unnamed.len(), what, |at| open(unnamed[at], &names))?;
        unnamed.into_iter().zip(named).for_each(|(index, archive)| archives[index] = archive);
    }
    for (found, archive) in found.iter().zip(&archives) {
        archive.iter().for_each(|archive| archive.report(&found.path()));
    }
    Ok(archives)
}

/// Adds the paths of all layers to a dictionary.
fn add_names(
    names: &mut Dictionary,
    found: &[FoundLayer],
    archives: &[Option<OpenedArchive>],
) -> Result<(), TooManyPaths> {
    for (found, archive) in found.iter().zip(archives) {
        match (found, archive) {
            (_, Some(archive)) => layer_names::add(names, archive.layer.known_paths())?,
            (FoundLayer::Folder { folder, .. }, None) => {
                let files = 0..folder.names().file_count();
                layer_names::add(names, files.map(|file| folder.names().file_path(file)))?;
            }
            (FoundLayer::Archive { .. } | FoundLayer::Later(_), None) => {}
        }
    }
    Ok(())
}

/// Layers that are being put together, lowest first.
struct Opening {
    rule: Rule,
    store: Store,
    layers: Vec<Layer>,
    descriptions: Vec<Description>,
    reasons: Vec<String>,
    /// The paths of the archives that are layers; absolute, as folders have theirs.
    archives: HashSet<PathBuf>,
    /// Those that lie in folders of a folder, for each such folder: their paths in it in small letters.
    deep_archives: HashMap<PathBuf, HashSet<Vec<u8>>>,
    /// The names of the folders directly in them, where a layer asks for these.
    served: HashSet<String>,
}

impl Opening {
    fn new(rule: Rule, store: Store) -> Self {
        let (archives, deep_archives, served) = Default::default();
        let (layers, descriptions, reasons) = Default::default();
        Self { rule, store, layers, descriptions, reasons, archives, deep_archives, served }
    }

    fn note_served<'a>(&mut self, archives: impl Iterator<Item = &'a OpenedArchive>) {
        for archive in archives {
            let names = archive.layer.top_folders();
            self.served.extend(names.map(|name| String::from_utf8_lossy(name).to_ascii_lowercase()));
        }
    }

    /// Walks a folder without those of its folders that archives have.
    fn scan_unserved(
        &self,
        planned: &PlannedFolder,
        files: &Arc<OpenFiles>,
    ) -> Result<Option<Folder>, Failure> {
        let mut planned = planned.clone();
        planned.filter.not_at_root.extend(self.served.iter().cloned());
        planned.scan_or_warn(files)
    }

    fn add_archive(&mut self, archive: OpenedArchive, why: String, rules: &LayerRules) {
        let mut layer = archive.layer;
        if let Some(game) = rules.by_date.filter(|_| self.rule == Rule::Dates) {
            layer = layer.modified(nanoseconds(archive.source.modified())).of_game(game);
        }
        if !rules.invalidated.is_empty() {
            layer = layer.without(|path| rules.invalidated.contains(path));
        }
        self.store.add(archive.source, archive.tables);
        self.layers.push(layer);
        self.descriptions.push(archive.description);
        self.reasons.push(why);
    }

    fn add_folder(
        &mut self,
        mut folder: Folder,
        lists_archives: bool,
        base: Option<&str>,
        why: String,
        rules: &LayerRules,
    ) -> Result<(), Failure> {
        if !lists_archives {
            let parent = folder.path().to_owned();
            folder.leave_out(|_, name| self.archives.contains(&parent.join(OsStr::from_bytes(name))));
        }
        let layer = Layer::of_folder(folder.names(), base)
            .map_err(|error| Failure::new(Exit::Data, format!("{}: {error}", folder.path().display())))?;
        let layer = match self.deep_archives.get(folder.path()).filter(|_| !lists_archives) {
            Some(deep) => layer.without(|path| deep.contains(path)),
            None => layer,
        };
        let layer = match rules.by_date.filter(|_| self.rule == Rule::Dates) {
            Some(game) => layer.modified_each(times(&folder)).of_game(game),
            None => layer,
        };
        self.store.add_folder(Arc::new(folder));
        self.layers.push(layer);
        self.reasons.push(why);
        Ok(())
    }

    fn merge(self) -> Result<OpenedArchives, Failure> {
        let Self { rule, store, layers, descriptions, reasons, .. } = self;
        let tree = tree::merge(layers, rule).map_err(|error| Failure::new(Exit::Data, error.to_string()))?;
        for (first, second) in case_twins(&tree) {
            log::warn!(
                "{first} and {second} differ in case alone: a game takes them for one, here they are two"
            );
        }
        let (order, looked) = Default::default();
        Ok(OpenedArchives { tree, store, descriptions, reasons, order, looked })
    }
}

/// For each folder that archives lie in folders of, their paths in it in small letters.
fn deep_archives(archives: &HashSet<PathBuf>) -> HashMap<PathBuf, HashSet<Vec<u8>>> {
    let mut deep: HashMap<PathBuf, HashSet<Vec<u8>>> = HashMap::new();
    for archive in archives {
        // The first is the archive, the second the folder in which it lies directly.
        for folder in archive.ancestors().skip(2) {
            let path = archive.strip_prefix(folder).unwrap_or(archive).as_os_str().as_bytes();
            deep.entry(folder.to_owned()).or_default().insert(path.to_ascii_lowercase());
        }
    }
    deep
}

/// The times of all files of a folder. One that cannot be looked at is older than every archive.
fn times(folder: &Folder) -> Vec<i64> {
    let time = |file| folder.look(file, Wait::Yes).map_or(i64::MIN, |stat| stat.modified);
    (0..folder.names().file_count()).map(time).collect()
}

/// A time in nanoseconds since 1970.
pub(super) fn nanoseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// One archive; nothing in it refers to the map of its file.
struct OpenedArchive {
    source: Source,
    tables: LayerTables,
    layer: Layer,
    description: Description,
}

impl OpenedArchive {
    fn open(
        path: &Path,
        folder: Option<&str>,
        dictionary: &Dictionary,
        args: &OpenArgs,
    ) -> Result<Self, Failure> {
        let mut source = Source::open(path).map_err(|error| Failure::io(Exit::NoInput, path, &error))?;
        let parsed = with_source(&source, path, &args.parse.options(), |archive| {
            let layer = || Layer::with_names(&archive, args.parse.encoding(), folder, dictionary);
            let (layer, tables) = names_and_tables(&archive, layer);
            (layer, tables, Description { about: archive.about, notes: archive.notes }, archive.tables)
        });
        let (layer, tables, description, parsed) = parsed?;
        source.record_tables(parsed).map_err(|error| Failure::io(Exit::NoInput, path, &error))?;
        let layer =
            layer.map_err(|error| Failure::new(Exit::Data, format!("{}: {error}", path.display())))?;
        let tables = tables.presented(args.textures.unwrap_or_default());
        Ok(Self { source, tables, layer, description })
    }

    /// Tells what is peculiar about it, by the path by which it is named.
    fn report(&self, path: &Path) {
        let path = path.display();
        for note in &self.description.notes {
            log::info!("{path}: {} (offset {})", note.what, note.at);
        }
        if let Some(what) = still_tiled(&self.tables) {
            log::warn!("{path}: {what}");
        }
    }
}

/// Opens and parses an archive for one use of its tables.
pub(super) fn with_archive<T>(
    path: &Path,
    options: &Options,
    use_archive: impl FnOnce(Archive<'_>) -> T,
) -> Result<T, Failure> {
    let source = Source::open(path).map_err(|error| Failure::io(Exit::NoInput, path, &error))?;
    with_source(&source, path, options, use_archive)
}

/// Whether a file can be opened as an archive.
pub(super) fn is_archive(path: &Path, args: &OpenArgs) -> Result<(), Failure> {
    with_archive(path, &args.parse.options(), |_| ())
}

fn with_source<T>(
    source: &Source,
    path: &Path,
    options: &Options,
    use_archive: impl FnOnce(Archive<'_>) -> T,
) -> Result<T, Failure> {
    source
        .with_map(|bytes, fetch| format::parse_with(Bytes::mapped(bytes, fetch), options).map(use_archive))
        .map_err(|error| Failure::io(Exit::NoInput, path, &error))?
        .map_err(|error| Failure::unreadable(path, &error))
}

/// Names and tables of an archive, of a large one in parallel.
fn names_and_tables(
    archive: &Archive<'_>,
    names: impl FnOnce() -> Result<Layer, TooManyNames>,
) -> (Result<Layer, TooManyNames>, LayerTables) {
    if archive.files.len() < PARALLEL_FROM {
        return (names(), LayerTables::new(archive));
    }
    thread::scope(|scope| {
        let tables = thread::Builder::new().spawn_scoped(scope, || LayerTables::new(archive));
        let names = names();
        // A thread that cannot be started is done without.
        let tables = tables.map(|tables| tables.join().unwrap_or_else(|panic| resume_unwind(panic)));
        (names, tables.unwrap_or_else(|_| LayerTables::new(archive)))
    })
}

/// The textures that `--textures dds` could not put into rows, in one line.
fn still_tiled(tables: &LayerTables) -> Option<String> {
    let tiled = tables.still_tiled();
    let modes: Vec<String> =
        tiled.iter().map(|(mode, textures)| format!("{textures} of tile mode {mode}")).collect();
    let textures = count(tiled.values().sum(), "texture");
    let what = "cannot be put into rows for a PC and keep a console's header";
    (!tiled.is_empty()).then(|| format!("{textures} {what}: {}", modes.join(", ")))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, FileTimes};
    use std::time::Duration;

    use super::*;
    use crate::cli::source_args::FolderArchives;

    /// A Morrowind archive of one file, `a.txt`, which contains `archive`.
    fn archive() -> Vec<u8> {
        let numbers = |numbers: &[u32]| numbers.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<u8>>();
        let (names, hash) = (b"a.txt\0", [0; 8]);
        let header = numbers(&[0x100, 8 + 4 + 6, 1]);
        [&header[..], &numbers(&[7, 0]), &numbers(&[0]), names, &hash, b"archive"].concat()
    }

    #[test]
    fn by_dates_a_loose_file_that_is_older_than_the_archive_loses() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("x.bsa"), archive()).expect("written");
        fs::write(path("A.txt"), b"loose").expect("written");
        let date = |name: &str, seconds| {
            let times = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
            File::open(path(name)).and_then(|file| file.set_times(times)).expect("times");
        };
        date("x.bsa", 2_000);
        for (loose, winner) in [(1_999, "archive"), (2_000, "archive"), (2_001, "loose")] {
            date("A.txt", loose);
            let mut planned = PlannedFolder::named(folder.path(), FolderArchives::Open);
            planned.rules.by_date = Some(0);
            let layers = [PlannedLayer::Folder(planned)];
            let opened = OpenedArchives::open_layers(
                &layers,
                Rule::Dates,
                &OpenArgs::default(),
                Layout::Union,
                Store::new(1 << 20, Options::default().limits),
                &HashSet::new(),
            );
            let opened = opened.unwrap_or_else(|failure| panic!("{}", failure.what));
            assert_eq!(opened.tree.files(), 1);
            let (_, entry) = opened.tree.entries().next().expect("a file");
            let mut bytes = Vec::new();
            opened.store.copy(entry, &mut bytes).expect("read");
            assert_eq!(String::from_utf8_lossy(&bytes), winner, "loose file of {loose}");
        }
    }
}
