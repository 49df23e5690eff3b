//! Games in Steam's libraries, for native, Debian, flatpak and snap packages.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::candidate::{Candidate, Report, VisitedFolders};
use super::prefix;
use crate::game::caseless;
use crate::game::disk::Disk;
use crate::game::environment::Environment;
use crate::game::settings::vdf;
use crate::game::storefront::Storefront;
use crate::game::titles::TITLES;
use crate::game::titles::title::Title;

/// Maximum size of a list in bytes. Users with thousands of games have lists of some 100 KiB.
const LIST_MAX: usize = 8 << 20;
/// Maximum number of libraries in one list.
const LIBRARIES_MAX: usize = 1_000;

/// A library as a list names it.
#[derive(Debug, Default)]
struct Library {
    folder: PathBuf,
    /// Ids of apps in the library according to the list, which may be out of date.
    apps: Vec<String>,
}

/// The folders of all games that are in Steam's libraries.
pub(super) fn candidates(environment: &Environment, report: &mut Report<'_>) -> Vec<Candidate> {
    let (mut roots, mut visited) = (VisitedFolders::default(), VisitedFolders::default());
    let mut candidates = Vec::new();
    for root in steam_folders(environment) {
        report.searched.push(root.clone());
        if !roots.is_new_folder(report.disk, &root) {
            continue;
        }
        for library in libraries(&root, report) {
            if visited.is_new_folder(report.disk, &library.folder) {
                if library.folder != root {
                    report.searched.push(library.folder.clone());
                }
                in_library(&library.folder, report, &mut candidates);
            } else if !report.disk.is_dir(&library.folder) {
                missing_library(&library, report);
            }
        }
    }
    candidates
}

/// Folders in which Steam may keep its files. Several are often links to one.
fn steam_folders(environment: &Environment) -> Vec<PathBuf> {
    let mut folders = vec![environment.xdg_data_home.join("Steam")];
    let below_home = [
        ".local/share/Steam",
        ".steam/steam",
        ".steam/root",
        ".steam/debian-installation",
        ".var/app/com.valvesoftware.Steam/.local/share/Steam",
        ".var/app/com.valvesoftware.Steam/data/Steam",
        "snap/steam/common/.local/share/Steam",
    ];
    folders.extend(below_home.map(|it| environment.home.join(it)));
    // By default the first two are the same.
    folders.dedup();
    folders
}

/// The libraries of a Steam folder: the folder itself and those that its lists name.
fn libraries(root: &Path, report: &mut Report<'_>) -> Vec<Library> {
    let mut libraries = vec![Library { folder: root.to_owned(), ..Library::default() }];
    for list in ["config/libraryfolders.vdf", "steamapps/libraryfolders.vdf"] {
        let Some(path) = report.disk.find_file(root, list) else { continue };
        let Some(text) = report.read(&path, LIST_MAX) else { continue };
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
        libraries.extend(listed.into_iter().filter(|it| it.folder.is_absolute()));
    }
    libraries
}

/// Reports a library that does not exist if Steam lists a known game in it.
fn missing_library(library: &Library, report: &mut Report<'_>) {
    for title in TITLES {
        let is_listed = |id: &u32| library.apps.contains(&id.to_string());
        if title.identity.steam.iter().any(is_listed)
            && !report.unusable.iter().any(|(it, _)| *it == library.folder)
        {
            let what = format!(
                "Steam lists {} in this library, which does not exist; is its disk mounted?",
                title.name
            );
            report.unusable.push((library.folder.clone(), what));
        }
    }
}

/// Adds the games with a manifest in a library. Its list of apps may be out of date.
fn in_library(library: &Path, report: &mut Report<'_>, candidates: &mut Vec<Candidate>) {
    let Some(apps) = report.disk.find_folder(library, "steamapps") else {
        if let Err(error) = report.disk.names(library) {
            report.unreadable(library, &error.to_string());
        }
        return;
    };
    let names = match report.disk.names(&apps) {
        Ok(names) => names,
        Err(error) => return report.unreadable(&apps, &error.to_string()),
    };
    for (title, id) in TITLES.iter().flat_map(|title| title.identity.steam.iter().map(move |id| (title, *id)))
    {
        let Some(name) = names.get(&format!("appmanifest_{id}.acf")) else { continue };
        let path = apps.join(name);
        let Some(manifest) = Manifest::read(&path, report) else { continue };
        candidates.extend(candidate(&apps, title, id, manifest, &path, report));
    }
}

/// The contents of an app manifest.
#[derive(Debug, Default)]
struct Manifest {
    installdir: String,
    language: Option<String>,
}

impl Manifest {
    fn read(path: &Path, report: &mut Report<'_>) -> Option<Self> {
        let text = report.read(path, LIST_MAX)?;
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
    manifest: Manifest,
    path: &Path,
    report: &mut Report<'_>,
) -> Option<Candidate> {
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
    Some(Candidate {
        folder: report.disk.find_folder(&folder, subfolder).unwrap_or(folder),
        title: Some(title),
        store: Storefront::Steam,
        prefix: compatdata(report.disk, apps, id),
        language: manifest.language,
    })
}

/// The prefix that Proton created for an app.
fn compatdata(disk: &Disk, apps: &Path, id: u32) -> Option<PathBuf> {
    prefix::with_drive_c(disk, &disk.find_folder(apps, &format!("compatdata/{id}"))?)
}

/// What the library around a game's folder knows about it, even if Steam does not list the library.
pub(super) fn around(disk: &Disk, folder: &Path, title: &'static Title) -> Option<Candidate> {
    let is_named = |path: &Path, name: &str| {
        path.file_name().and_then(|it| it.to_str()).is_some_and(|it| caseless::same(it, name))
    };
    let installed = folder.ancestors().find(|it| {
        let (common, apps) = (it.parent(), it.parent().and_then(Path::parent));
        common.is_some_and(|it| is_named(it, "common")) && apps.is_some_and(|it| is_named(it, "steamapps"))
    })?;
    let apps = installed.parent()?.parent()?;
    let mut unlisted = Candidate::unlisted(folder.to_owned(), None);
    unlisted.store = Storefront::Steam;
    for id in title.identity.steam {
        let manifest = disk.find_file(apps, &format!("appmanifest_{id}.acf"));
        let manifest = manifest.and_then(|it| Manifest::read(&it, &mut Report::new(disk)));
        if let Some(manifest) = manifest.filter(|it| is_named(installed, &it.installdir)) {
            unlisted.prefix = compatdata(disk, apps, *id);
            unlisted.language = manifest.language;
            return Some(unlisted);
        }
        unlisted.prefix = unlisted.prefix.or_else(|| compatdata(disk, apps, *id));
    }
    Some(unlisted)
}
