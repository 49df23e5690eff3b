//! Archives are opened, parsed and merged here, for every command alike.

use std::collections::HashSet;
use std::fs::File;
use std::io::{IsTerminal, Read as _};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};

use super::count;
use super::exit::{Exit, Failure};
use crate::content::{self, LayerTables, Store};
use crate::format::encoding::Encoding;
use crate::format::name;
use crate::format::{self, About, Archive, Limits, Note, Options};
use crate::source::Source;
use crate::tree::{self, Dictionary, Layer, TooManyNames, TooManyPaths, Tree};

/// How archives are put together.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct Opening {
    /// Code page of stored names: 1250, 1251, 1252, utf-8 or any other that the web knows
    #[arg(long, value_name = "CODE PAGE", default_value = "1252", value_parser = encoding)]
    pub(super) encoding: Encoding,
    /// One tree of all archives, or a folder for each
    #[arg(long, value_enum, default_value_t)]
    pub(super) layout: Layout,
    /// How to show textures
    #[arg(long, value_enum, value_name = "FORM", default_value_t)]
    pub(super) textures: TextureForm,
    /// A list of paths, one a line, by which files of archives without names are recognised; `bsafs names` makes one
    #[arg(long, value_name = "FILE")]
    pub(super) names: Vec<PathBuf>,
    /// Read archives of unknown versions and kinds by the nearest layout that is known
    #[arg(long)]
    pub(super) force: bool,
}

impl Opening {
    /// How tables are to be read.
    pub(super) fn options(&self) -> Options {
        Options { limits: Limits::default(), force: self.force }
    }
}

/// How several archives share a mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Layout {
    /// One tree; where two archives have a file, that of the rightmost is seen
    #[default]
    Union,
    /// Each archive in a folder of its own, named after it
    PerArchive,
}

/// How textures are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum TextureForm {
    /// As DDS files; those of consoles as GNF files and XBOX textures, which tools for consoles read
    #[default]
    Default,
    /// As DDS files for a PC, texels put into rows, wherever that can be done
    Dds,
    /// As the archive has them, without a header
    Raw,
}

impl From<TextureForm> for content::TextureForm {
    fn from(textures: TextureForm) -> Self {
        match textures {
            TextureForm::Default => Self::Default,
            TextureForm::Dds => Self::Dds,
            TextureForm::Raw => Self::Raw,
        }
    }
}

/// What an archive says of itself, for people.
#[derive(Debug)]
pub(super) struct Description {
    pub(super) about: About,
    pub(super) notes: Vec<Note>,
}

/// Archives that were opened and merged.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) tree: Tree,
    pub(super) store: Store,
    /// One for each archive.
    pub(super) descriptions: Vec<Description>,
}

/// Archives from which on a bar shows how far the opening is.
const SHOW_FROM: usize = 24;
/// Files of an archive from which on a thread more is worth its start.
const SIDE_BY_SIDE_FROM: usize = 1 << 14;
/// Bytes of decoded extents that are kept, unless the user wants more or less.
pub(super) const CACHE_SIZE: u64 = 64 << 20;

/// Opens, parses and merges archives, the last of which wins.
pub(super) fn open(paths: &[PathBuf], opening: &Opening, cache_size: u64) -> Result<Opened, Failure> {
    let options = opening.options();
    let names = dictionary(opening)?;
    let bases = bases(paths, opening.layout);
    let read = |index: usize| read_one(&paths[index], bases[index].as_deref(), &names, opening);
    let mut store = Store::new(cache_size, options.limits);
    let mut layers = Vec::with_capacity(paths.len());
    let mut descriptions = Vec::with_capacity(paths.len());
    for read in in_parallel(paths.len(), "opening archives", read)? {
        store.add(read.source, read.tables);
        layers.push(read.layer);
        descriptions.push(read.description);
    }
    let tree = tree::merge(layers).map_err(|error| Failure::new(Exit::Data, error.to_string()))?;
    Ok(Opened { tree, store, descriptions })
}

/// What is left of an archive when its map is gone.
struct Read {
    source: Source,
    tables: LayerTables,
    layer: Layer,
    description: Description,
}

fn read_one(path: &Path, base: Option<&str>, names: &Dictionary, opening: &Opening) -> Result<Read, Failure> {
    let source = Source::open(path).map_err(|error| Failure::io(Exit::NoInput, path, &error))?;
    let read = with_tables(&source, path, &opening.options(), |archive| {
        let (layer, tables) =
            names_and_tables(&archive, || Layer::with_names(&archive, opening.encoding, base, names));
        let layer =
            layer.map_err(|error| Failure::new(Exit::Data, format!("{}: {error}", path.display())))?;
        let description = Description { about: archive.about, notes: archive.notes };
        Ok::<_, Failure>((layer, tables.presented(opening.textures.into()), description))
    });
    let (layer, tables, description) = read??;
    for note in &description.notes {
        log::info!("{}: {} (offset {})", path.display(), note.what, note.at);
    }
    if let Some(what) = still_tiled(&tables) {
        log::warn!("{}: {what}", path.display());
    }
    Ok(Read { source, tables, layer, description })
}

/// Lends what an archive's tables say, of an archive that is opened for nothing else.
pub(super) fn tables<T>(
    path: &Path,
    options: &Options,
    use_them: impl FnOnce(Archive<'_>) -> T,
) -> Result<T, Failure> {
    let source = Source::open(path).map_err(|error| Failure::io(Exit::NoInput, path, &error))?;
    with_tables(&source, path, options, use_them)
}

/// The same of one that stays open.
fn with_tables<T>(
    source: &Source,
    path: &Path,
    options: &Options,
    use_them: impl FnOnce(Archive<'_>) -> T,
) -> Result<T, Failure> {
    source
        .with_map(|bytes| format::parse_with(bytes, options).map(use_them))
        .map_err(|error| Failure::io(Exit::NoInput, path, &error))?
        .map_err(|error| Failure::unreadable(path, &error))
}

/// The paths of all lists that were given.
fn dictionary(opening: &Opening) -> Result<Dictionary, Failure> {
    let mut names = Dictionary::new(opening.encoding);
    for path in &opening.names {
        let mut list = Vec::new();
        let most = Dictionary::TEXT_MAX as u64 + 1;
        File::open(path)
            .and_then(|file| file.take(most).read_to_end(&mut list))
            .map_err(|error| Failure::io(Exit::NoInput, path, &error))?;
        let lost = match list.len() > Dictionary::TEXT_MAX {
            true => Err(TooManyPaths),
            false => names.add(&list),
        };
        let lost = lost.map_err(|error| Failure::new(Exit::Data, format!("{}: {error}", path.display())))?;
        if lost > 0 {
            let encoding = opening.encoding.name();
            log::warn!("{}: {lost} lines are no text that {encoding} has", path.display());
        }
    }
    Ok(names)
}

/// Names and tables of an archive; where it is large, side by side.
fn names_and_tables(
    archive: &Archive<'_>,
    names: impl FnOnce() -> Result<Layer, TooManyNames>,
) -> (Result<Layer, TooManyNames>, LayerTables) {
    if archive.files.len() < SIDE_BY_SIDE_FROM {
        return (names(), LayerTables::new(archive));
    }
    thread::scope(|scope| {
        let tables = scope.spawn(|| LayerTables::new(archive));
        let names = names();
        (names, tables.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Which textures were to be put into rows and cannot be, in one line.
fn still_tiled(tables: &LayerTables) -> Option<String> {
    let left = tables.still_tiled();
    let modes: Vec<String> =
        left.iter().map(|(mode, textures)| format!("{textures} of tile mode {mode}")).collect();
    let textures = count(left.values().sum(), "texture");
    let what = "cannot be put into rows for a PC and keep a console's header";
    (!left.is_empty()).then(|| format!("{textures} {what}: {}", modes.join(", ")))
}

/// Does `count` pieces of work on all processors; answers the results in order, or the first failure in order.
pub(super) fn in_parallel<T: Send>(
    count: usize,
    what: &'static str,
    work: impl Fn(usize) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    let bar = if count >= SHOW_FROM { bar(count as u64, what) } else { ProgressBar::hidden() };
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(count));
    let failed = AtomicUsize::new(usize::MAX);
    let worker = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            // What comes after a failure is not looked at, what comes before may fail first.
            if index >= count || index > failed.load(Ordering::Relaxed) {
                break;
            }
            let result = work(index);
            if result.is_err() {
                failed.fetch_min(index, Ordering::Relaxed);
            }
            bar.inc(1);
            done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((index, result));
        }
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(count);
    if threads <= 1 {
        worker();
    } else {
        thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(worker))));
    }
    bar.finish_and_clear();
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// A progress bar, for terminals alone.
pub(super) fn bar(len: u64, what: &'static str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {elapsed}");
    let bar = ProgressBar::new(len).with_message(what);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// The folder of each archive, if each has its own: named after it, and numbered where two are named alike.
fn bases(paths: &[PathBuf], layout: Layout) -> Vec<Option<String>> {
    let mut taken = HashSet::new();
    let base = |path: &PathBuf| {
        let stem = folder_name(path);
        let mut name = stem.clone();
        let mut count = 1;
        while !taken.insert(name.to_ascii_lowercase()) {
            count += 1;
            name = tree::numbered(&stem, count);
        }
        name
    };
    match layout {
        Layout::Union => vec![None; paths.len()],
        Layout::PerArchive => paths.iter().map(base).map(Some).collect(),
    }
}

/// The name of a folder that is named after an archive. That of `...bsa` would lead upwards.
pub(super) fn folder_name(archive: &Path) -> String {
    let stem = archive.file_stem().unwrap_or_default().to_string_lossy();
    name::component(stem.as_bytes(), Encoding::UTF_8).into_owned()
}

pub(super) fn encoding(label: &str) -> Result<Encoding, String> {
    Encoding::from_label(label)
        .ok_or_else(|| format!("\"{label}\" is no code page; try 1250, 1251, 1252 or utf-8"))
}
