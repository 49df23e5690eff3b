//! Plans OpenMW from its chain of settings files.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::format::is_archive_name;
use crate::game::caseless::fold;
use crate::game::disk::Disk;
use crate::game::installation::{Environment, Overrides};
use crate::game::plan::data::{DataFolder, DataFolders};
use crate::game::plan::load_order::{LoadOrder, OrderLayer, PlanError};
use crate::game::precedence::{Confidence, Precedence};
use crate::game::settings::openmw_cfg::{Cfg, OPENMW_CFG, OpenmwFolders};
use crate::game::titles::title;
use crate::game::titles::title::OPENMW;
use crate::limits::CHAIN_VALUES_MAX;
use crate::note::{Note, NoteCode, why_unread};
use crate::shown::{Shown, excerpt};
use crate::system::paths;
use crate::system::text::size;
use crate::system::walk::LinkWalk;

/// The list of scripts that OpenMW loads before all other content.
const BUILT_IN: &str = "builtin.omwscripts";

/// Plans the load order of the OpenMW whose chain of settings files begins with `cfg`. If the user named the
/// file in the folder `named`, it is read even if OpenMW would not read it.
pub fn plan_openmw(
    disk: &Disk,
    cfg: &Path,
    named: Option<&Path>,
    environment: &Environment,
    overrides: &Overrides,
) -> Result<LoadOrder, PlanError> {
    let cfg = paths::absolute(cfg).unwrap_or_else(|_| cfg.to_owned());
    let folder = if disk.is_dir(&cfg) { cfg } else { cfg.parent().unwrap_or(&cfg).to_owned() };
    let (places, mut notes) = (places(disk, &folder, environment), Vec::new());
    let user = Some(&*places.user_config).filter(|user| disk.is_file(&user.join(OPENMW_CFG)));
    let release = release(disk, &folder, &places);
    let read_always = user.filter(|_| release == Release::BeforeConfig || is_tes3mp(disk, &folder));
    let mut chain = Chain::read(disk, &folder, read_always, release, &places, &mut notes);
    if chain.files.is_empty() {
        let path = folder.join(OPENMW_CFG);
        return Err(PlanError(format!("{}: {}", path.shown(), why_unread(&notes))));
    }
    let (mut confidence, mut doubts) = (Confidence::High, Vec::new());
    let is_read = |chain: &Chain, folder: &Path| {
        let identity = disk.identity(folder);
        chain.files.iter().any(|cfg| cfg.folder == folder || disk.identity(&cfg.folder) == identity)
    };
    // A portable OpenMW has its settings in its own folder, and leaves the user's out on purpose.
    let is_global = folder.ends_with("etc/openmw");
    if release == Release::Unknown
        && is_global
        && chain.files.iter().all(|cfg| cfg.values("config").next().is_none())
        && let Some(user) = user.filter(|user| !is_read(&chain, user))
    {
        // All packages of OpenMW 0.48 and later ship a global file with a line `config=`.
        notes.clear();
        chain = Chain::read(disk, &folder, Some(user), release, &places, &mut notes);
        confidence = Confidence::Medium;
        doubts.push("nothing shows whether this OpenMW is older than 0.48".to_owned());
        let text = format!(
            "it is read after {}, which has no line config=, as OpenMW before 0.48 does; \
             later versions do not read it",
            folder.join(OPENMW_CFG).shown()
        );
        notes.push(Note::new(NoteCode::SettingsUnreached, user.join(OPENMW_CFG).to_string_lossy(), text));
    } else if let Some(unread) = named.or(user.filter(|_| is_global)).filter(|it| !is_read(&chain, it)) {
        let first = folder.join(OPENMW_CFG);
        let text = if named.is_some() {
            notes.clear();
            chain = Chain::read(disk, &folder, Some(unread), release, &places, &mut notes);
            confidence = Confidence::Medium;
            doubts.push("OpenMW itself does not read the openmw.cfg that you named".to_owned());
            format!(
                "it is read because you named it; OpenMW does not read it, because nothing leads to it \
                 from {}",
                first.shown()
            )
        } else {
            format!(
                "OpenMW does not read it, because nothing leads to it from {}; name the file to read it \
                 all the same",
                first.shown()
            )
        };
        let path = unread.join(OPENMW_CFG);
        notes.push(Note::new(NoteCode::SettingsUnreached, path.to_string_lossy(), text));
    }
    report_lines(&chain, &mut notes);
    // Without a global file, the user's own begins the chain. OpenMW's packages all ship the same global one.
    let has_global = folder != places.user_config;
    let wanted = wanted_folders(disk, &chain, &places, has_global, &mut notes);
    let names = searched(&wanted).map(|path| DataFolder::read(disk, path, false, &mut notes));
    let names = DataFolders::new(names.collect());
    let layers = layers(&wanted);
    let plugins = plugins(&chain, &names, &mut notes);
    let groundcover = groundcover(&chain, &names, &mut notes);
    let removed = removed(disk, &chain, &places, &wanted);
    let archives = archives(&chain, &names, &mut notes);
    notes.extend(disk.left_out());
    Ok(LoadOrder {
        game: OPENMW,
        layers: archives.into_iter().chain(layers).collect(),
        notes,
        plugins,
        groundcover,
        removed,
        profile: None,
        inis: chain.files.iter().map(|cfg| cfg.folder.join(OPENMW_CFG)).collect(),
        precedence: Precedence {
            archives: overrides.precedence.unwrap_or_default(),
            ..Precedence::default()
        },
        confidence,
        doubts,
        ..LoadOrder::default()
    })
}

/// The folders for the tokens in settings, for a chain that begins in `start`.
fn places(disk: &Disk, start: &Path, environment: &Environment) -> OpenmwFolders {
    let root = start.ancestors().nth(2).filter(|_| start.ends_with("etc/openmw"));
    let local = root.and_then(|root| program_folder(disk, root)).unwrap_or_else(|| start.to_owned());
    // In a flatpak, the file is …/files/etc/openmw/openmw.cfg, and …/files is mounted as /app.
    let files = root.filter(|it| it.ends_with("files"));
    let files = files.filter(|_| start.components().any(|it| it.as_os_str() == "org.openmw.OpenMW"));
    let of_flatpak = environment.home.join(".var/app/org.openmw.OpenMW");
    let user_config = of_flatpak.join("config/openmw");
    if files.is_some() || start == user_config {
        let app = files.map(Path::to_owned);
        let global = app.clone().unwrap_or_else(|| "/app".into()).join("share/games/openmw");
        return OpenmwFolders { local, user_config, user_data: of_flatpak.join("data/openmw"), global, app };
    }
    let (user_config, user_data) =
        (environment.xdg_config_home.join("openmw"), environment.xdg_data_home.join("openmw"));
    let global = environment.system.join("usr/share/games/openmw");
    OpenmwFolders { local, user_config, user_data, global, app: None }
}

/// The release of the OpenMW whose first settings file is in `folder`. Its file `version` begins with the
/// number: `/etc/openmw/version` in Debian, otherwise in the resources.
fn release(disk: &Disk, folder: &Path, places: &OpenmwFolders) -> Release {
    const VERSION_MAX: usize = 4096;
    let files = [folder.to_owned(), folder.join("resources"), places.global.join("resources")];
    // The global resources belong to the global settings file only.
    let count = if folder.ends_with("etc/openmw") { 3 } else { 2 };
    let texts = files.iter().take(count).filter_map(|it| disk.read(&it.join("version"), VERSION_MAX).ok());
    let minor = |text: Vec<u8>| {
        let text = String::from_utf8_lossy(&text).into_owned();
        let (major, rest) = text.lines().next()?.trim().split_once('.')?;
        let minor = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    };
    match texts.into_iter().find_map(minor) {
        Some(version) if version < (0, 48) => Release::BeforeConfig,
        Some(_) => Release::WithConfig,
        None => Release::Unknown,
    }
}

/// Whether a folder has the programs of TES3MP.
fn is_tes3mp(disk: &Disk, folder: &Path) -> bool {
    disk.names(folder).is_ok_and(|names| names.iter().any(|name| fold(name).starts_with("TES3MP")))
}

/// The folder of the program whose global settings are in `etc/openmw` below `root`.
fn program_folder(disk: &Disk, root: &Path) -> Option<PathBuf> {
    let folders = ["usr/games", "usr/bin", "bin"].iter().map(|folder| root.join(folder));
    folders.into_iter().find(|folder| disk.is_file(&folder.join("openmw")))
}

/// Adds notes on lines that OpenMW ignores or refuses. Users write sections because other games have them.
fn report_lines(chain: &Chain, notes: &mut Vec<Note>) {
    for cfg in &chain.files {
        let section =
            cfg.section().map(|it| format!("OpenMW ignores every line after {it}; remove this line"));
        let fatal = cfg.fatal().map(|it| format!("OpenMW does not start because of the line {it}"));
        let path = cfg.folder.join(OPENMW_CFG);
        let note = |text| Note::new(NoteCode::SettingsIgnored, path.to_string_lossy(), text);
        notes.extend(section.into_iter().chain(fatal).map(note));
    }
}

/// A data folder of the settings that exists.
struct WantedFolder {
    /// The path as the settings spell it. OpenMW ignores the second of two equal spellings.
    spelling: Vec<u8>,
    path: PathBuf,
    why: String,
}

/// The data folders that exist, lowest first, some perhaps more than once.
fn wanted_folders(
    disk: &Disk,
    chain: &Chain,
    places: &OpenmwFolders,
    has_global: bool,
    notes: &mut Vec<Note>,
) -> Vec<WantedFolder> {
    let mut wanted = Vec::new();
    match chain.path("resources", places) {
        None if !has_global => {
            let text = "no global openmw.cfg was found, so OpenMW's own resources are left out";
            let path = places.user_config.join(OPENMW_CFG);
            notes.push(Note::new(NoteCode::FolderMissing, path.to_string_lossy(), text));
        }
        resources => {
            let resources = resources.unwrap_or_else(|| places.local.join("resources"));
            let why = "resources/vfs, always the first data folder";
            wanted.push((resources.join("vfs"), why.to_owned()));
        }
    }
    // Before 0.48, this token stood for an installed Morrowind, and a path without it was left out.
    for (cfg, value) in chain.list("data").into_iter().filter(|(_, value)| !is_of_morrowind(value)) {
        wanted.push((cfg.path(&value, places), format!("data= in {}", cfg.folder.join(OPENMW_CFG).shown())));
    }
    let last_required = wanted.len();
    let shipped = (!has_global).then(|| places.user_data.join("data"));
    let data_local = chain.path("data-local", places).or(shipped);
    wanted.extend(data_local.map(|path| (path, "data-local, always last".to_owned())));
    let (mut existing, mut noted, mut walk) = (Vec::new(), HashSet::new(), LinkWalk::default());
    for (at, (spelled, why)) in wanted.into_iter().enumerate() {
        let path = without_parents(&mut walk, &spelled);
        if disk.is_named_dir(&path) {
            existing.push(WantedFolder { spelling: spelling(&spelled), path, why });
        } else if at < last_required && disk.is_gone(&path) && noted.insert(path.clone()) {
            let text = format!("the folder does not exist ({why})");
            notes.push(Note::new(NoteCode::FolderMissing, path.to_string_lossy(), text));
        }
    }
    existing
}

/// Whether a path is in the Morrowind that OpenMW searches for.
fn is_of_morrowind(value: &str) -> bool {
    value.trim_start_matches('"').starts_with("?mw?")
}

/// A path with single slashes. OpenMW compares paths like this, so `/a/` and `/a/.` are not `/a`.
fn spelling(path: &Path) -> Vec<u8> {
    let mut bytes = path.as_os_str().as_bytes().to_vec();
    bytes.dedup_by(|a, b| (*a, *b) == (b'/', b'/'));
    bytes
}

/// The layers of data folders, lowest first. OpenMW adds each spelling once, at its first mention. So a
/// folder with several spellings has the place of the last of them.
fn layers(wanted: &[WantedFolder]) -> Vec<OrderLayer> {
    let mut seen = HashSet::new();
    let added: Vec<&WantedFolder> = wanted.iter().filter(|it| seen.insert(&it.spelling)).collect();
    let mut seen = HashSet::new();
    let mut layers: Vec<OrderLayer> =
        added.into_iter().rev().filter(|it| seen.insert(&it.path)).map(layer).collect();
    layers.reverse();
    layers
}

fn layer(folder: &WantedFolder) -> OrderLayer {
    OrderLayer::folder(&folder.path, folder.why.clone())
}

/// The folders in which OpenMW searches archives and plugins, lowest first. Here the last mention counts.
fn searched(wanted: &[WantedFolder]) -> impl Iterator<Item = &Path> {
    let mut seen = HashSet::new();
    let mut paths: Vec<&Path> =
        wanted.iter().rev().map(|it| it.path.as_path()).filter(|path| seen.insert(*path)).collect();
    paths.reverse();
    paths.into_iter()
}

/// The content files, in order.
fn plugins(chain: &Chain, names: &DataFolders, notes: &mut Vec<Note>) -> Vec<String> {
    let mut plugins: Vec<String> = names.find(BUILT_IN).iter().map(|found| found.name().to_owned()).collect();
    let mut seen: HashSet<String> = plugins.iter().map(|name| fold(name)).collect();
    for (_, name) in chain.list("content") {
        if !seen.insert(fold(&name)) {
            let text = "content= lists this plugin twice; OpenMW does not start";
            notes.push(Note::new(NoteCode::PluginTwice, excerpt(&name), text));
        } else if names.find(&name).is_some() {
            plugins.push(name);
        } else {
            let text = "content= lists this plugin, but no data folder contains it; OpenMW does not start";
            notes.push(Note::new(NoteCode::PluginMissing, excerpt(&name), text));
        }
    }
    plugins
}

/// The plugins of groundcover, in order.
fn groundcover(chain: &Chain, names: &DataFolders, notes: &mut Vec<Note>) -> Vec<String> {
    let (mut plugins, mut seen) = (Vec::new(), HashSet::new());
    for (_, name) in chain.list("groundcover").into_iter().filter(|(_, name)| seen.insert(fold(name))) {
        if names.find(&name).is_some() {
            plugins.push(name);
        } else {
            let text = "groundcover= lists this plugin, but no data folder contains it";
            notes.push(Note::new(NoteCode::PluginMissing, excerpt(&name), text));
        }
    }
    plugins
}

/// The data folders that a line `replace=data` removes, and why.
fn removed(
    disk: &Disk,
    chain: &Chain,
    places: &OpenmwFolders,
    wanted: &[WantedFolder],
) -> Vec<(PathBuf, String)> {
    let (mut removed, mut walk) = (Vec::new(), LinkWalk::default());
    for (at, cfg) in chain.files.iter().enumerate().filter(|(_, cfg)| cfg.replaces("data")) {
        let by = cfg.folder.join(OPENMW_CFG);
        let lower = chain.files[..at].iter().flat_map(|cfg| cfg.values("data").map(move |it| (cfg, it)));
        for (lower, value) in lower.filter(|(_, value)| !is_of_morrowind(value)) {
            let path = without_parents(&mut walk, &lower.path(value, places));
            if wanted.iter().all(|it| it.path != path) && disk.is_named_dir(&path) {
                let text = format!(
                    "{} has this folder, but replace=data in {} removes it",
                    lower.folder.join(OPENMW_CFG).shown(),
                    by.shown()
                );
                removed.push((path, text));
            }
        }
    }
    removed
}

/// The archives in order, lowest first.
fn archives(chain: &Chain, names: &DataFolders, notes: &mut Vec<Note>) -> Vec<OrderLayer> {
    let (mut layers, mut seen) = (Vec::new(), HashSet::new());
    // OpenMW registers an archive twice if it is named twice, so its last mention decides.
    for (cfg, name) in chain.list("fallback-archive").into_iter().rev() {
        if !seen.insert(fold(&name)) {
            continue;
        }
        match names.find(&name) {
            Some(found) => {
                let why = format!("fallback-archive= in {}", cfg.folder.join(OPENMW_CFG).shown());
                let is_of_game = title("morrowind").is_some_and(|it| it.ships(found.name(), None));
                layers.push(OrderLayer { is_of_game, ..OrderLayer::archive(found.path(), why) });
            }
            None => {
                let text = "fallback-archive= lists this archive, but no data folder contains it; \
                            OpenMW does not start";
                notes.push(Note::new(NoteCode::ArchiveMissing, excerpt(&name), text));
            }
        }
    }
    layers.reverse();
    for found in names.all().into_iter().filter(|found| is_archive_name(found.name().as_bytes())) {
        if !seen.contains(&fold(found.name())) {
            let text = "not loaded: no fallback-archive= lists this archive";
            notes.push(Note::new(NoteCode::ArchiveUnlisted, found.path().to_string_lossy(), text));
        }
    }
    for hidden in names.hidden().into_iter().filter(|hidden| is_archive_name(hidden.name().as_bytes())) {
        let text = "not loaded: a higher data folder has an archive of the same name";
        notes.push(Note::new(NoteCode::ArchiveShadowed, hidden.path().to_string_lossy(), text));
    }
    layers
}

// The chain of OpenMW's settings files, in which each file may name others.

/// Maximum number of files read for one chain.
const FILES_MAX: usize = 256;

/// Which settings files an OpenMW reads. Lines `config=` began with 0.48; before, it read the global file, or
/// the one in its own folder, and then always the user's (OpenMW 0.47, `configurationmanager.cpp`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Release {
    /// Older than 0.48.
    BeforeConfig,
    /// 0.48 or newer.
    WithConfig,
    Unknown,
}

/// Settings files of a chain, lowest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain {
    pub(crate) files: Vec<Cfg>,
}

impl Chain {
    /// Reads the chain that begins in `start`, and after it the file in `last`. An old release knows no lines
    /// `config=`, and follows none.
    pub(crate) fn read(
        disk: &Disk,
        start: &Path,
        last: Option<&Path>,
        release: Release,
        places: &OpenmwFolders,
        notes: &mut Vec<Note>,
    ) -> Self {
        let mut chain = Self::default();
        let (mut seen, mut cost, mut walk) = (HashSet::new(), 0, LinkWalk::default());
        // A stack: the files that a file names come before those that were named earlier.
        let mut waiting: Vec<PathBuf> = last.into_iter().chain([start]).map(Path::to_owned).collect();
        while let Some(folder) = waiting.pop() {
            if seen.contains(&folder) {
                continue;
            }
            let path = folder.join(OPENMW_CFG);
            if seen.len() == FILES_MAX {
                let text = format!("left out: config= in openmw.cfg leads to more than {FILES_MAX} files");
                notes.push(Note::new(NoteCode::SettingsIgnored, path.to_string_lossy(), text));
                break;
            }
            seen.insert(folder.clone());
            let Some(bytes) = (!disk.is_dir(&path)).then(|| disk.list(&path, notes)).flatten() else {
                if disk.is_gone(&folder) {
                    let text = "config= in an openmw.cfg names this folder, but it does not exist";
                    notes.push(Note::new(NoteCode::FolderMissing, folder.to_string_lossy(), text));
                }
                continue;
            };
            let cfg = Cfg::parse(&folder, &bytes);
            cost += cfg.cost();
            if cost > CHAIN_VALUES_MAX {
                let text = format!(
                    "left out: the values of this openmw.cfg and of those before it take more than {}",
                    size(CHAIN_VALUES_MAX as u64)
                );
                notes.push(Note::new(NoteCode::SettingsIgnored, path.to_string_lossy(), text));
                break;
            }
            if cfg.replaces("config") {
                chain.files.truncate(1);
            }
            let named = cfg.values("config").rev().filter(|_| release != Release::BeforeConfig);
            waiting.extend(named.map(|value| without_parents(&mut walk, &cfg.path(value, places))));
            chain.files.push(cfg);
        }
        chain
    }

    /// The values of a list, lowest first, each with the file that sets it.
    pub(crate) fn list(&self, key: &str) -> Vec<(&Cfg, String)> {
        let mut values = Vec::new();
        for cfg in &self.files {
            if cfg.replaces(key) {
                values.clear();
            }
            values.extend(cfg.values(key).map(|value| (cfg, value.to_owned())));
        }
        values
    }

    /// The path in a setting with a single value, as OpenMW spells it. The highest file that sets it wins.
    pub(crate) fn path(&self, key: &str, places: &OpenmwFolders) -> Option<PathBuf> {
        let value = |cfg: &Cfg| cfg.values(key).next_back().map(|value| cfg.path(value, places));
        self.files.iter().rev().find_map(value)
    }
}

/// A path without `.` and `..`. A link before `..` is followed, as the kernel does. A path with too many
/// parts keeps its end. Paths that are followed in one walk share what it reads.
pub(crate) fn without_parents(walk: &mut LinkWalk, path: &Path) -> PathBuf {
    let parts: Vec<Component<'_>> = path.components().collect();
    let Some(last) = parts.iter().rposition(|part| *part == Component::ParentDir) else {
        return parts.into_iter().collect();
    };
    let (followed, rest) = parts.split_at(last + 1);
    let mut plain = walk.follow(&followed.iter().collect::<PathBuf>(), &mut |_, _| {});
    plain.extend(rest);
    plain
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::{Cfg, Chain, Disk, LinkWalk, OpenmwFolders, PathBuf, Release};

    /// Creates a chain from folders and the texts of their settings files.
    fn chain(files: &[(&str, &str)]) -> (Vec<String>, Chain) {
        let dir = tempfile::tempdir().unwrap();
        for (folder, text) in files {
            fs::create_dir(dir.path().join(folder)).unwrap();
            fs::write(dir.path().join(folder).join("openmw.cfg"), text).unwrap();
        }
        let (start, mut notes) = (dir.path().join(files[0].0), Vec::new());
        let chain = Chain::read(
            &Disk::default(),
            &start,
            None,
            Release::Unknown,
            &OpenmwFolders::default(),
            &mut notes,
        );
        let name = |cfg: &Cfg| cfg.folder.file_name().unwrap().to_string_lossy().into_owned();
        (chain.files.iter().map(name).collect(), chain)
    }

    #[test]
    fn config_files_are_read_once_and_nested_ones_first() {
        let files = [
            ("1", "config=../2\nconfig=../3\ncontent=1\n"),
            ("2", "config=../4\ncontent=2\n"),
            ("3", "config=../1\ncontent=3\nreplace=fallback-archive\nfallback-archive=3\n"),
            ("4", "content=4\nfallback-archive=4\n"),
        ];
        let (names, chain) = chain(&files);
        assert_eq!(names, ["1", "2", "4", "3"]);
        let values = |key| chain.list(key).into_iter().map(|(_, value)| value).collect::<Vec<_>>();
        assert_eq!(
            (values("content"), values("fallback-archive")),
            (vec!["1".into(), "2".into(), "4".into(), "3".into()], vec!["3".to_owned()])
        );
    }

    #[test]
    fn replace_config_keeps_the_first_file() {
        let files = [("1", "config=../2\nconfig=../3\n"), ("2", ""), ("3", "replace=config\nconfig=../2\n")];
        assert_eq!(chain(&files).0, ["1", "3"]);
    }

    #[test]
    fn two_points_after_a_linked_folder_lead_out_of_its_target() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("dotfiles/openmw")).unwrap();
        symlink("dotfiles/openmw", root.join("openmw")).unwrap();
        let mut walk = LinkWalk::default();
        let mut without_parents = |path: PathBuf| super::without_parents(&mut walk, &path);
        assert_eq!(without_parents(root.join("openmw/../mods/.")), root.join("dotfiles/mods"));
        assert_eq!(without_parents(root.join("openmw/./mods/")), root.join("openmw/mods"));
        assert_eq!(without_parents(root.join("openmw/..")), root.join("dotfiles"));
    }

    #[test]
    fn a_settings_file_in_another_spelling_is_not_read() {
        let (dir, mut notes) = (tempfile::tempdir().unwrap(), Vec::new());
        fs::write(dir.path().join("OpenMW.cfg"), "data=/a\n").unwrap();
        let chain = Chain::read(
            &Disk::default(),
            dir.path(),
            None,
            Release::Unknown,
            &OpenmwFolders::default(),
            &mut notes,
        );
        assert_eq!((chain.files.len(), notes.len()), (0, 0));
    }
}
