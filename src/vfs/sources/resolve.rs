//! Finds out what each source of a command is, and plans its layers. A source is an archive, a
//! folder, a game, an instance of Mod Organizer 2, or settings of OpenMW.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::profile::{Profile, is_game};
use super::{for_others, layer_plan};
use crate::format::is_archive_name;
use crate::game::{
    self, Disk, LayerKind, LoadOrder, LoadOrders, LooseRule, MO2_INI, OrderLayer, PlanError, ReadSet, TITLES,
    title,
};
use crate::note::Note;
use crate::shown::{Shown, quoted};
use crate::system::covered::{Covered, uncovered};
use crate::system::text::from_uri;
use crate::system::{asleep, edit_mount, paths};
use crate::tree::Rule;
use crate::vfs::error::{OpenError, OpenErrorKind};
use crate::vfs::open_options::{FolderArchives, OpenOptions, expand_home};
use crate::vfs::trouble::Trouble;

/// Plans the layers of sources as one load order, lowest first. A later source is above an earlier one.
pub(crate) fn plan(sources: &[PathBuf], options: &OpenOptions) -> Result<LoadOrder, OpenError> {
    plan_each(sources, options).map(joined)
}

/// Plans each source as a load order of its own.
pub(crate) fn plan_each(sources: &[PathBuf], options: &OpenOptions) -> Result<Vec<LoadOrder>, OpenError> {
    let archives = options.archives;
    let disk = Disk::beneath(Covered::of_process());
    let orders = resolve(&disk, sources, options)?.into_iter().map(|source| match source {
        Source::Planned(order) => Ok(shown_order(&order, archives)),
        Source::Folder { path, notes } => {
            let order = loose_folder(&disk, &path, archives);
            order.map(|mut order| {
                order.notes.extend(notes);
                order
            })
        }
        Source::Archive(path) => {
            let path = paths::absolute(&path).map_err(|error| OpenError::unreadable(&path, error))?;
            let layers = vec![OrderLayer::archive(path, "named as a source")];
            Ok(LoadOrder { layers, ..LoadOrder::default() })
        }
    });
    orders.collect()
}

/// The layers to open, and the rule that merges them.
#[derive(Debug, Default)]
pub(crate) struct OpenPlan {
    pub(crate) layers: Vec<layer_plan::PlannedLayer>,
    pub(crate) rule: Rule,
    /// The load order of the games among the sources.
    pub(crate) order: LoadOrder,
    /// The files and folders that the plan depends on.
    pub(crate) read_set: ReadSet,
    /// The sources, with what a later plan uses if it cannot plan one of them.
    sources: Vec<PlannedSource>,
    /// The sources that could not be planned as they are now.
    pub(crate) troubles: Vec<Trouble>,
}

/// A source that was planned.
#[derive(Clone, Debug)]
struct PlannedSource {
    path: PathBuf,
    source: Source,
    /// What its plan depends on.
    read_set: ReadSet,
    /// The lists and folders that exist but could not be read.
    unread: BTreeMap<PathBuf, String>,
}

impl PlannedSource {
    fn needs_asleep(&self) -> bool {
        let layers = match &self.source {
            Source::Planned(order) => &*order.layers,
            Source::Folder { .. } | Source::Archive(_) => &[],
        };
        let read = self.read_set.files.iter().chain(&self.read_set.folders).map(PathBuf::as_path);
        read.chain(layers.iter().map(|layer| &*layer.path)).any(asleep::is_at)
    }
}

/// Plans what to open: layers, merge rule and load order. `earlier` is the plan of the view that is served
/// meanwhile. A source that fails then is left out, or stays as it was planned.
pub(crate) fn open_plan(
    sources: &[PathBuf],
    options: &OpenOptions,
    earlier: Option<&OpenPlan>,
) -> Result<OpenPlan, OpenError> {
    let archives = options.archives;
    let disk = Disk::beneath(Covered::of_process());
    let planner = SourcePlanner::new(&disk, options);
    let folder_of_game = options.game_dir.iter().filter(|_| sources.is_empty());
    let (mut plan, mut orders, mut of_folders) = (OpenPlan::default(), Vec::new(), Vec::new());
    for (number, path) in folder_of_game.chain(sources).enumerate() {
        let is_asleep = earlier.is_some_and(|earlier| earlier.needs_asleep(path));
        let source = match sources {
            _ if is_asleep => Err(OpenError::unreadable(path, asleep::error())),
            [] => planner.plan_game_dir(path),
            _ => planner.resolve_source(path),
        };
        let (read_set, unread) = disk.take_read();
        plan.read_set.extend(read_set.clone());
        let planned = source.and_then(|source| {
            if let Source::Planned(order) = &source {
                planner.refuse_mounts(order.layers.iter().map(|layer| &*layer.path))?;
            }
            Ok(PlannedSource { path: lasting(path), source, read_set, unread })
        });
        let (planned, mut layers) = match (earlier, planned) {
            (None, planned) => {
                let planned = planned?;
                let layers = planned.source.layers(number, archives);
                for_others::check_layers(&layers, &planned.read_set, options)?;
                (planned, layers)
            }
            (Some(earlier), planned) => {
                let Some(planned) = earlier.or_as_before(path, planned, &mut plan.troubles) else { continue };
                let layers = planned.source.layers(number, archives);
                if let Err(error) = for_others::check_layers(&layers, &planned.read_set, options) {
                    plan.troubles.push(Trouble::of(path, &error, false));
                    continue;
                }
                (planned, layers)
            }
        };
        match &planned.source {
            Source::Planned(order) => {
                // If a game goes by dates, they apply only among its own layers, whatever the others are.
                if order.precedence.loose == LooseRule::ByDate {
                    plan.rule = Rule::Dates;
                }
                orders.push(shown_order(order, archives));
            }
            Source::Folder { notes, .. } => of_folders.extend(notes.iter().cloned()),
            Source::Archive(_) => {}
        }
        if let Some(within) = options.within.get(number).and_then(Option::as_ref) {
            for layer in &mut layers {
                layer.limit(Some(within));
            }
        }
        plan.layers.append(&mut layers);
        plan.read_set.extend(planned.read_set.clone());
        plan.sources.push(planned);
    }
    plan.order = joined(orders);
    plan.order.notes.append(&mut of_folders);
    plan.order.notes.extend(options.unseen.iter().cloned());
    Ok(plan)
}

impl OpenPlan {
    /// A plan of these layers alone; the last one wins.
    pub(crate) fn of_layers(layers: Vec<layer_plan::PlannedLayer>) -> Self {
        Self { layers, ..Self::default() }
    }

    /// Whether a plan of a source accesses a disk that is asleep.
    fn needs_asleep(&self, path: &Path) -> bool {
        let then = self.sources.iter().find(|then| then.path == *path);
        asleep::is_at(path) || then.is_some_and(PlannedSource::needs_asleep)
    }

    /// The source as planned now. If planning fails, or if a list or folder that was readable before is
    /// not readable now, the source as this plan has it. `None` if it is left out.
    fn or_as_before(
        &self,
        path: &Path,
        planned: Result<PlannedSource, OpenError>,
        troubles: &mut Vec<Trouble>,
    ) -> Option<PlannedSource> {
        let then = self.sources.iter().find(|then| then.path == *path).cloned();
        let then = then.map(|then| PlannedSource { source: then.source.at(path), ..then });
        let error = match (planned, &then) {
            (Ok(now), Some(then)) if matches!(then.source, Source::Planned(_)) => {
                match now.unread.iter().find(|(file, _)| !then.unread.contains_key(*file)) {
                    Some((file, why)) => OpenError::not_found(file, why.clone()),
                    None => return Some(now),
                }
            }
            (Ok(now), _) => return Some(now),
            (Err(error), _) => error,
        };
        let trouble = Trouble::of(path, &error, then.is_some());
        let is_left_out = trouble.is_left_out();
        troubles.push(trouble);
        then.filter(|_| !is_left_out)
    }
}

/// The path of a source that stays the same when the daemon leaves the folder that it was started in.
fn lasting(source: &Path) -> PathBuf {
    let absolute = || paths::absolute(source).unwrap_or_else(|_| source.to_owned());
    if is_game(source) { source.to_owned() } else { absolute() }
}

/// A load order without the archive layers of a game if its archives should be shown as files. What remains
/// is the game's merged data folder.
fn shown_order(order: &LoadOrder, archives: FolderArchives) -> LoadOrder {
    let mut order = order.clone();
    if archives == FolderArchives::Files {
        order.layers.retain(|layer| layer.what == LayerKind::Folder);
    }
    order
}

/// The load order of a source; `None` if it is an archive or an ordinary folder. The source must not be a
/// `*.toml` profile.
pub(crate) fn plan_source(source: &Path, options: &OpenOptions) -> Result<Option<LoadOrder>, OpenError> {
    let disk = Disk::beneath(Covered::of_process());
    let mut resolved = resolve(&disk, std::slice::from_ref(&source.to_owned()), options)?;
    Ok(match (resolved.pop(), resolved.is_empty()) {
        (Some(Source::Planned(order)), true) => Some(Arc::unwrap_or_clone(order)),
        _ => None,
    })
}

/// What a source turned out to be.
#[derive(Clone, Debug)]
enum Source {
    /// A load order: of a game, an instance of Mod Organizer 2, or OpenMW.
    Planned(Arc<LoadOrder>),
    Folder {
        path: PathBuf,
        /// Notes on a game that is near the folder.
        notes: Vec<Note>,
    },
    Archive(PathBuf),
}

impl Source {
    /// The same source, named by another path.
    fn at(self, path: &Path) -> Self {
        match self {
            Self::Planned(order) => Self::Planned(order),
            Self::Folder { notes, .. } => Self::Folder { path: path.to_owned(), notes },
            Self::Archive(_) => Self::Archive(path.to_owned()),
        }
    }

    /// The layers of the source with this number among all.
    fn layers(&self, number: usize, archives: FolderArchives) -> Vec<layer_plan::PlannedLayer> {
        match self {
            Self::Planned(order) => {
                let number = u16::try_from(number).unwrap_or(u16::MAX);
                layer_plan::of_order(&shown_order(order, archives), number, archives)
            }
            // What the source was when it was planned counts: it may be kept because it cannot be looked at.
            Self::Folder { path, .. } => {
                let folder = layer_plan::PlannedFolder::named(path, archives);
                vec![layer_plan::PlannedLayer::Folder(folder)]
            }
            Self::Archive(path) => vec![layer_plan::PlannedLayer::archive(path)],
        }
    }
}

fn resolve(disk: &Disk, sources: &[PathBuf], options: &OpenOptions) -> Result<Vec<Source>, OpenError> {
    let planner = SourcePlanner::new(disk, options);
    if let ([], Some(folder)) = (sources, &options.game_dir) {
        return Ok(vec![planner.plan_game_dir(folder)?]);
    }
    sources.iter().map(|source| planner.resolve_source(source)).collect()
}

/// Joins load orders. In a mix, the rules of a game apply only to its own layers.
pub(crate) fn joined(mut orders: Vec<LoadOrder>) -> LoadOrder {
    if orders.len() == 1 {
        return orders.remove(0);
    }
    let mut games = orders.iter().filter(|order| !order.game.is_empty());
    let (game, other) = (games.next(), games.next());
    // Two games may have different rules, so there is no common one.
    let precedence = game.filter(|_| other.is_none()).map(|game| game.precedence.clone());
    let mut mix = LoadOrder { precedence: precedence.unwrap_or_default(), ..LoadOrder::default() };
    for mut order in orders {
        mix.layers.append(&mut order.layers);
        mix.notes.append(&mut order.notes);
        mix.plugins.append(&mut order.plugins);
        mix.inis.append(&mut order.inis);
        mix.confidence = mix.confidence.min(order.confidence);
        mix.doubts.append(&mut order.doubts);
    }
    mix
}

/// Plans sources. The search for games runs at most once for all of them. The mount table is read once for
/// each device.
struct SourcePlanner<'a> {
    disk: &'a Disk,
    load_orders: LoadOrders<'a>,
    /// Whether devices are mounts of bsafs. One that is mounted later, by automount, has a number of its own.
    are_of_bsafs: RefCell<HashMap<u64, bool>>,
}

impl<'a> SourcePlanner<'a> {
    fn new(disk: &'a Disk, options: &'a OpenOptions) -> Self {
        let load_orders = LoadOrders::new(disk, options.game_dir.as_deref(), &options.overrides);
        Self { disk, load_orders, are_of_bsafs: RefCell::default() }
    }

    /// Refuses a folder in a mount of bsafs. What it shows is no layer, but the result of merging layers.
    fn refuse_mounts<'p>(&self, mut folders: impl Iterator<Item = &'p Path>) -> Result<(), OpenError> {
        let mut known = self.are_of_bsafs.borrow_mut();
        let mut is_of_bsafs = |device| {
            let asked = || edit_mount::bsafs_devices().is_some_and(|is_of_bsafs| is_of_bsafs(device));
            *known.entry(device).or_insert_with(asked)
        };
        let is_mounted = |folder: &&Path| {
            let found = || std::fs::metadata(uncovered(folder));
            !asleep::is_at(folder) && found().is_ok_and(|it| it.is_dir() && is_of_bsafs(it.dev()))
        };
        folders.find(is_mounted).map_or(Ok(()), |folder| Err(OpenError::new(folder, OpenErrorKind::IsMount)))
    }

    /// The game in the folder that the user named instead of a source.
    fn plan_game_dir(&self, folder: &Path) -> Result<Source, OpenError> {
        planned(self.load_orders.of_game_in(folder))
    }

    fn resolve_source(&self, source: &Path) -> Result<Source, OpenError> {
        // What an earlier source left is not this one's.
        self.disk.take_unseen(&[]);
        // `skyrim` is the game. A folder of that name is given as `./skyrim`.
        if let Some(title) = source.to_str().and_then(title) {
            return planned(self.load_orders.of_game(title));
        }
        if let Some(place) = place_of_instance(source) {
            return self.resolve_source(&place?);
        }
        let metadata = match std::fs::metadata(uncovered(source)) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(no_source(source)),
            Err(error) => return Err(OpenError::unreadable(source, error)),
        };
        let path = paths::absolute(source).map_err(|error| OpenError::unreadable(source, error))?;
        if metadata.is_dir() {
            self.refuse_mounts(std::iter::once(source))?;
        }
        if let Some(order) = self.load_orders.at(&path).transpose() {
            return planned(order);
        }
        if !metadata.is_dir() {
            return Ok(Source::Archive(source.to_owned()));
        }
        // Without its settings, the folder of an instance or of its profile is taken for loose files. The
        // walk of the folder notes what is in it.
        let is_settings = |note: &Note| Path::new(&note.subject).file_name() == Some(MO2_INI.as_ref());
        let mut notes = self.disk.take_unseen(&[]);
        notes.retain(|note| is_settings(note) && !Path::new(&note.subject).starts_with(&path));
        notes.extend(self.load_orders.near(&path));
        Ok(Source::Folder { path: source.to_owned(), notes })
    }
}

fn planned(order: Result<LoadOrder, PlanError>) -> Result<Source, OpenError> {
    order.map(|order| Source::Planned(order.into())).map_err(|error| OpenError::game(error.0))
}

/// The folder that the name of an instance, or of its profile, stands for. `None` if the source is no such
/// name.
pub(crate) fn place_of_instance(source: &Path) -> Option<Result<PathBuf, OpenError>> {
    let place = game::place_of_instance(source)?;
    Some(place.map_err(|what| OpenError::not_found(source, what)))
}

/// The load order of a folder: the archives directly in it, ordered by name, and above them its loose files.
fn loose_folder(disk: &Disk, folder: &Path, archives: FolderArchives) -> Result<LoadOrder, OpenError> {
    let folder = &paths::absolute(folder).map_err(|error| OpenError::unreadable(folder, error))?;
    let names = disk.names(folder).map_err(|error| OpenError::unreadable(folder, error))?;
    let is_layer = |name: &str| archives != FolderArchives::Files && is_archive_name(name.as_bytes());
    let mut archives: Vec<&str> = names.iter().filter(|name| is_layer(name)).collect();
    archives.sort_by_cached_key(|name| (name.to_ascii_lowercase(), *name));
    let why = format!("in the folder {}", folder.shown());
    let (mut layers, mut notes) = (Vec::new(), Vec::new());
    for path in archives.into_iter().map(|name| folder.join(name)) {
        match path.metadata() {
            Ok(found) if found.is_file() => layers.push(OrderLayer::archive(path, &*why)),
            Ok(_) => {}
            // The walk of the folder has a note on the link.
            Err(_) if path.is_symlink() => {}
            Err(error) => notes.push(Note::unreadable(&path, &error)),
        }
    }
    layers.push(OrderLayer::folder(folder, "named as a source"));
    Ok(LoadOrder { layers, notes, ..LoadOrder::default() })
}

fn no_source(source: &Path) -> OpenError {
    let hint = hint(source);
    // The id of a game has neither a slash nor an extension.
    if !hint.is_empty() || source.extension().is_some() || source.components().count() != 1 {
        return OpenError::not_found(source, format!("no such file or folder{hint}"));
    }
    let what = "no such file, folder, game or saved profile";
    let ids: Vec<&str> = TITLES.iter().map(|title| title.id).collect();
    OpenError::not_found(
        source,
        match &alike(&source.to_string_lossy(), &Profile::saved_names())[..] {
            [] => format!("{what}; the games are {}", ids.join(", ")),
            alike => format!("{what}; did you mean {}?", alike.join(" or ").shown()),
        },
    )
}

/// What is probably wrong with a path that does not exist, and what to write instead.
fn hint(source: &Path) -> String {
    let Some(text) = source.to_str() else { return String::new() };
    let meant = match (text.strip_prefix("file://"), text.as_bytes()) {
        (Some(uri), _) => {
            // What precedes the path is the name of this machine.
            uri.find('/').and_then(|at| String::from_utf8(from_uri(&uri.as_bytes()[at..])).ok())
        }
        (None, [b'~', b'/', ..]) => Some(expand_home(source.to_owned()).to_string_lossy().into_owned()),
        (None, [drive, b':', b'\\' | b'/', rest @ ..]) if drive.is_ascii_alphabetic() => {
            let rest = String::from_utf8_lossy(rest).replace('\\', "/");
            Some(if drive.eq_ignore_ascii_case(&b'z') {
                format!("/{rest}")
            } else {
                format!("PREFIX/drive_{}/{rest}", drive.to_ascii_lowercase() as char)
            })
        }
        _ => None,
    };
    match meant {
        Some(meant) => format!("; write {}", quoted(&meant)),
        None => with_spaces(source).map_or_else(String::new, |name| {
            format!("; a name with spaces needs quotes: {}", quoted(&name.to_string_lossy()))
        }),
    }
}

/// A file of the same folder whose name begins or ends with this word, as if a shell had split it at spaces.
fn with_spaces(source: &Path) -> Option<PathBuf> {
    let word = source.file_name()?.to_str()?;
    let (begins, ends) = (format!("{word} "), format!(" {word}"));
    let folder = source.parent().filter(|it| *it != Path::new(""));
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?.take(HINT_NAMES_MAX).flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|it| it.starts_with(&begins) || it.ends_with(&ends)).collect();
    names.sort_unstable();
    names.first().map(|name| folder.unwrap_or(Path::new("")).join(name))
}

/// Maximum number of names that are compared for a hint.
const HINT_NAMES_MAX: usize = 10_000;

/// The ids of games and names of saved profiles that the user may have meant.
fn alike(text: &str, saved: &[String]) -> Vec<String> {
    let plain =
        |text: &str| -> String { text.to_lowercase().chars().filter(|it| it.is_alphanumeric()).collect() };
    let text = plain(text);
    let games = TITLES.iter().flat_map(|title| [title.id, title.name].map(|name| (title.id, plain(name))));
    let saved = saved.iter().map(|name| (&**name, plain(name)));
    let most = (text.chars().count() / 3).min(2);
    let mut found: Vec<(usize, &str)> = games
        .chain(saved)
        .map(|(id, name)| (distance(&text, &name), id))
        .filter(|(distance, _)| *distance <= most)
        .collect();
    found.sort_unstable();
    let nearest = found.first().map(|(distance, _)| *distance);
    let mut ids: Vec<String> =
        found.iter().filter(|it| Some(it.0) == nearest).map(|it| it.1.to_owned()).collect();
    ids.dedup();
    ids
}

/// Number of characters to insert, remove, replace or exchange with the next one, to make two texts equal.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(NAME_MAX).collect(), b.chars().collect());
    // The rows for one and two characters less of `a`.
    let (mut before, mut last) = (Vec::new(), (0..=b.len()).collect::<Vec<usize>>());
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

/// Maximum number of characters that are compared with names of games.
const NAME_MAX: usize = 64;
