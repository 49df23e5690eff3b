//! Games in Steam's libraries, for native, Debian, flatpak and snap packages.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::candidate::{GameCandidate, Report, Shortcut};
use super::prefix::{self, KnownPrefix};
use crate::game::caseless;
use crate::game::disk::Disk;
use crate::game::installation::Environment;
use crate::game::settings::binary_vdf::{self, BinaryValue};
use crate::game::settings::vdf;
use crate::game::storefront::Storefront;
use crate::game::titles::TITLES;
use crate::game::titles::title::Title;
use crate::limits::LAUNCHER_LIST_MAX;
use crate::system::text::reason;

/// Maximum number of libraries in one list.
const LIBRARIES_MAX: usize = 1_000;
/// Maximum number of prefixes that are looked at in one library.
const PREFIXES_MAX: usize = 10_000;
/// Maximum number of users of one Steam folder, and of shortcuts of one user.
const USERS_MAX: usize = 100;
const SHORTCUTS_MAX: usize = 10_000;

/// A library as a list names it.
#[derive(Debug, Default)]
struct Library {
    folder: PathBuf,
    /// Ids of apps in the library according to the list, which may be out of date.
    apps: Vec<String>,
}

/// The folders of all games in the libraries of a Steam folder. Adds all of its prefixes to the report.
pub(super) fn candidates(
    root: &Path,
    environment: &Environment,
    report: &mut Report<'_>,
) -> Vec<GameCandidate> {
    let sandbox = Sandbox::around(root, environment);
    let mut candidates = Vec::new();
    for library in libraries(root, sandbox.as_ref(), report) {
        if report.is_new("library of Steam", &library.folder) {
            if library.folder != root {
                report.searched.push(library.folder.clone());
            }
            in_library(&library.folder, report, &mut candidates);
        } else if report.disk.is_gone(&library.folder) {
            missing_library(&library, sandbox.is_some(), report);
        } else if let Err(error) = report.disk.metadata(&library.folder) {
            report.unreadable(&library.folder, &reason(&error));
        }
    }
    read_shortcuts(root, report);
    candidates
}

/// The home that Steam sees in its sandbox, if it runs in one.
struct Sandbox {
    home: PathBuf,
    /// The real place of that home.
    outside: PathBuf,
}

impl Sandbox {
    fn around(root: &Path, environment: &Environment) -> Option<Self> {
        let homes = [".var/app/com.valvesoftware.Steam", "snap/steam/common"];
        let outside =
            homes.map(|it| environment.home.join(it)).into_iter().find(|it| root.starts_with(it))?;
        Some(Self { home: environment.home.clone(), outside })
    }

    /// The path of a folder outside the sandbox, if it is in the sandbox's home.
    fn outside(&self, path: &Path) -> Option<PathBuf> {
        if path.starts_with(&self.outside) {
            return None;
        }
        Some(self.outside.join(path.strip_prefix(&self.home).ok()?))
    }
}

/// The libraries of a Steam folder: the folder itself and those that its lists name.
fn libraries(root: &Path, sandbox: Option<&Sandbox>, report: &mut Report<'_>) -> Vec<Library> {
    let mut libraries = vec![Library { folder: root.to_owned(), ..Library::default() }];
    for list in ["config/libraryfolders.vdf", "steamapps/libraryfolders.vdf"] {
        let Some(path) = report.disk.find_file(root, list) else { continue };
        let Some(text) = report.read_once(&path, LAUNCHER_LIST_MAX) else { continue };
        let mut listed: Vec<Library> = Vec::new();
        let mut index: HashMap<String, usize> = HashMap::new();
        let result = vdf::visit_values(&text, |keys, value| {
            let [_, number, rest @ ..] = keys else { return };
            if number.parse::<u32>().is_err() {
                return;
            }
            // Old lists have the path as a plain value instead of an object.
            let is_path = rest.is_empty() || matches!(rest, [key] if caseless::same(key, "path"));
            match (rest, index.get(number)) {
                ([key, app], Some(at)) if caseless::same(key, "apps") => listed[*at].apps.push(app.clone()),
                (_, None) if is_path && listed.len() < LIBRARIES_MAX => {
                    index.insert(number.clone(), listed.len());
                    listed.push(Library { folder: value.into(), apps: Vec::new() });
                }
                _ => {}
            }
        });
        if let Err(error) = result {
            report.unreadable(&path, &error);
        }
        // A Windows Steam in a prefix lists Windows paths. Its only library is then its own folder.
        listed.retain(|it| it.folder.is_absolute());
        for library in &mut listed {
            let outside = sandbox.and_then(|it| it.outside(&library.folder));
            if let Some(outside) = outside.filter(|it| report.disk.is_dir(it)) {
                library.folder = outside;
            }
        }
        libraries.append(&mut listed);
    }
    libraries
}

/// Reports a library that does not exist if Steam lists a known game in it.
fn missing_library(library: &Library, is_sandboxed: bool, report: &mut Report<'_>) {
    let why = if is_sandboxed {
        "which does not exist outside Steam's sandbox; give the game's folder with --game-dir"
    } else {
        "which does not exist; is its disk mounted?"
    };
    for title in TITLES {
        let is_listed = |id: &u32| library.apps.contains(&id.to_string());
        if title.identity.steam.iter().any(is_listed)
            && !report.unusable.iter().any(|(it, _)| *it == library.folder)
        {
            let what = format!("Steam lists {} in this library, {why}", title.name);
            report.unusable.push((library.folder.clone(), what));
        }
    }
}

/// Adds the games with a manifest in a library. Its list of apps may be out of date.
fn in_library(library: &Path, report: &mut Report<'_>, candidates: &mut Vec<GameCandidate>) {
    let Some(apps) = report.disk.find_folder(library, "steamapps") else {
        if let Err(error) = report.disk.names(library) {
            report.unreadable(library, &error.to_string());
        }
        return;
    };
    // A thousand libraries may all link to one folder.
    if !report.is_new("apps of Steam", &apps) {
        return;
    }
    let names = match report.disk.names(&apps) {
        Ok(names) => names,
        Err(error) => return report.unreadable(&apps, &error.to_string()),
    };
    for (title, id) in TITLES.iter().flat_map(|title| title.identity.steam.iter().map(move |id| (title, *id)))
    {
        let Some(name) = names.get(&format!("appmanifest_{id}.acf")) else { continue };
        let path = apps.join(name);
        let Some(manifest) = AppManifest::read(&path, report) else { continue };
        candidates.extend(candidate(&apps, title, id, manifest, &path, report));
    }
    add_prefixes(&apps, report);
}

/// Adds the prefixes of all apps in a library. A game may run in the prefix of a shortcut, and its own prefix
/// stays behind when the game is moved to another library.
fn add_prefixes(apps: &Path, report: &mut Report<'_>) {
    let Some(folder) = report.disk.find_folder(apps, "compatdata") else { return };
    if !report.is_new("prefixes of Steam", &folder) {
        return;
    }
    let names = report.disk.names(&folder).unwrap_or_default();
    for (name, app) in names.iter().filter_map(|name| Some((name, name.parse().ok()?))).take(PREFIXES_MAX) {
        if let Some(prefix) = prefix::with_drive_c(report.disk, &folder.join(name)) {
            report.prefixes.push(KnownPrefix { app: Some(app), ..KnownPrefix::new(prefix, report.launcher) });
        }
    }
}

/// Reads the shortcuts of all users of a Steam folder: programs that Steam starts but did not install.
fn read_shortcuts(root: &Path, report: &mut Report<'_>) {
    let Some(users) = report.disk.find_folder(root, "userdata") else { return };
    let names = report.disk.names(&users).unwrap_or_default();
    for user in names.iter().take(USERS_MAX) {
        let path = users.join(user).join("config/shortcuts.vdf");
        let bytes = match report.disk.read(&path, LAUNCHER_LIST_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => {
                report.unreadable(&path, &error.to_string());
                continue;
            }
        };
        let mut shortcuts: Vec<Shortcut> = Vec::new();
        let mut last: &[u8] = b"";
        let result = binary_vdf::visit_values(&bytes, |keys, value| {
            let [_, number, key] = keys else { return };
            if *number != last && shortcuts.len() < SHORTCUTS_MAX {
                last = number;
                shortcuts.push(Shortcut::default());
            }
            let Some(shortcut) = shortcuts.last_mut().filter(|_| *number == last) else { return };
            match value {
                BinaryValue::Number(app) if key.eq_ignore_ascii_case(b"appid") => shortcut.app = app,
                BinaryValue::Text(text)
                    if key.eq_ignore_ascii_case(b"exe") || key.eq_ignore_ascii_case(b"startdir") =>
                {
                    shortcut.starts.extend(started(text));
                }
                _ => {}
            }
        });
        if let Err(error) = result {
            report.unreadable(&path, &error);
        }
        report.shortcuts.append(&mut shortcuts);
    }
}

/// The path of a program in a shortcut. It is in quotes, and arguments may follow.
fn started(text: &[u8]) -> Option<PathBuf> {
    let text = text.trim_ascii();
    let path = match text.strip_prefix(b"\"") {
        Some(quoted) => quoted.split(|&byte| byte == b'"').next()?,
        None => text,
    };
    Some(PathBuf::from(OsStr::from_bytes(path))).filter(|path| path.is_absolute())
}

/// The contents of an app manifest.
#[derive(Debug, Default)]
struct AppManifest {
    installdir: String,
    language: Option<String>,
}

impl AppManifest {
    fn read(path: &Path, report: &mut Report<'_>) -> Option<Self> {
        let text = report.read(path, LAUNCHER_LIST_MAX)?;
        let mut manifest = Self::default();
        let result = vdf::visit_values(&text, |keys, value| match keys {
            [_, key] if caseless::same(key, "installdir") => manifest.installdir = value.to_owned(),
            [_, part, key]
                if caseless::same(part, "UserConfig")
                    && caseless::same(key, "language")
                    && !value.is_empty() =>
            {
                manifest.language = Some(value.to_owned());
            }
            _ => {}
        });
        if let Err(error) = result {
            report.unreadable(path, &error);
        }
        Some(manifest)
    }
}

fn candidate(
    apps: &Path,
    title: &'static Title,
    id: u32,
    manifest: AppManifest,
    path: &Path,
    report: &mut Report<'_>,
) -> Option<GameCandidate> {
    let name = &manifest.installdir;
    if name.is_empty() || name.contains(['/', '\\']) || matches!(name.as_str(), "." | "..") {
        report
            .unusable
            .push((path.to_owned(), format!("the manifest does not name the folder of {}", title.name)));
        return None;
    }
    let Some(folder) = report.disk.find_folder(apps, &format!("common/{name}")) else {
        let what = format!("Steam lists {} here, but the folder does not exist", title.name);
        report.unusable.push((apps.join("common").join(name), what));
        return None;
    };
    let subfolder = title.identity.steam_subfolder;
    Some(GameCandidate {
        folder: report.disk.find_folder(&folder, subfolder).unwrap_or(folder),
        title: Some(title),
        store: Storefront::Steam,
        prefix: compatdata(report.disk, apps, id),
        language: manifest.language,
        launcher: report.launcher,
    })
}

/// The prefix that Proton created for an app.
fn compatdata(disk: &Disk, apps: &Path, id: u32) -> Option<PathBuf> {
    prefix::with_drive_c(disk, &disk.find_folder(apps, &format!("compatdata/{id}"))?)
}

/// What the library around a game's folder knows about it, even if Steam does not list the library.
pub(super) fn around(disk: &Disk, folder: &Path, title: &'static Title) -> Option<GameCandidate> {
    let is_named = |path: &Path, name: &str| {
        path.file_name().and_then(|it| it.to_str()).is_some_and(|it| caseless::same(it, name))
    };
    let installed = folder.ancestors().find(|it| {
        let (common, apps) = (it.parent(), it.parent().and_then(Path::parent));
        common.is_some_and(|it| is_named(it, "common")) && apps.is_some_and(|it| is_named(it, "steamapps"))
    })?;
    let apps = installed.parent()?.parent()?;
    let mut unlisted = GameCandidate::unlisted(folder.to_owned(), None, "Steam");
    unlisted.store = Storefront::Steam;
    for id in title.identity.steam {
        let manifest = disk.find_file(apps, &format!("appmanifest_{id}.acf"));
        let manifest = manifest.and_then(|it| AppManifest::read(&it, &mut Report::new(disk)));
        if let Some(manifest) = manifest.filter(|it| is_named(installed, &it.installdir)) {
            unlisted.prefix = compatdata(disk, apps, *id);
            unlisted.language = manifest.language;
            return Some(unlisted);
        }
        unlisted.prefix = unlisted.prefix.or_else(|| compatdata(disk, apps, *id));
    }
    Some(unlisted)
}
