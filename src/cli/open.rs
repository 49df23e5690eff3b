//! Opens, parses and merges archives, for every command alike.

use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use super::exit::{Exit, Failure};
use super::open_args::{Layout, OpenArgs};
use super::output::count;
use super::parallel::in_parallel;
use super::{dictionary, folder_name};
use crate::content::{LayerTables, Store};
use crate::format::{self, About, Archive, Note, Options};
use crate::read::Bytes;
use crate::source::Source;
use crate::tree::{self, Dictionary, Layer, TooManyNames, Tree};

/// Archives that were opened and merged.
#[derive(Debug)]
pub(super) struct OpenedArchives {
    pub(super) tree: Tree,
    pub(super) store: Store,
    /// One for each archive.
    pub(super) descriptions: Vec<Description>,
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
    /// Opens archives, the last of which wins, with a cache of at most `cache_size` bytes.
    pub(super) fn open(paths: &[PathBuf], args: &OpenArgs, cache_size: u64) -> Result<Self, Failure> {
        let dictionary = dictionary::read(&args.names, args.parse.encoding)?;
        let folders = match args.layout {
            Layout::Union => Vec::new(),
            Layout::PerArchive => folder_name::distinct(paths),
        };
        let open = |index: usize| {
            OpenedArchive::open(&paths[index], folders.get(index).map(String::as_str), &dictionary, args)
        };
        let mut store = Store::new(cache_size, args.parse.options().limits);
        let mut layers = Vec::with_capacity(paths.len());
        let mut descriptions = Vec::with_capacity(paths.len());
        for archive in in_parallel(paths.len(), "opening archives", open)? {
            store.add(archive.source, archive.tables);
            layers.push(archive.layer);
            descriptions.push(archive.description);
        }
        let tree = tree::merge(layers, tree::Rule::LastWins)
            .map_err(|error| Failure::new(Exit::Data, error.to_string()))?;
        Ok(Self { tree, store, descriptions })
    }

    /// The same, with suspect files read where `salvage` is set.
    pub(super) fn salvaging(self, salvage: bool) -> Self {
        Self { store: self.store.with_salvage(salvage), ..self }
    }
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
            let layer = || Layer::with_names(&archive, args.parse.encoding, folder, dictionary);
            let (layer, tables) = names_and_tables(&archive, layer);
            (layer, tables, Description { about: archive.about, notes: archive.notes }, archive.tables)
        });
        let (layer, tables, description, parsed) = parsed?;
        source.record_tables(parsed).map_err(|error| Failure::io(Exit::NoInput, path, &error))?;
        let layer =
            layer.map_err(|error| Failure::new(Exit::Data, format!("{}: {error}", path.display())))?;
        let tables = tables.presented(args.textures);
        for note in &description.notes {
            log::info!("{}: {} (offset {})", path.display(), note.what, note.at);
        }
        if let Some(what) = still_tiled(&tables) {
            log::warn!("{}: {what}", path.display());
        }
        Ok(Self { source, tables, layer, description })
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
