//! Where the game's files begin in a folder, and paths at which no game finds them: those of a download as it
//! was unpacked, and names that begin at the root of a disk.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use super::error::{PackError, PackErrorKind};
use super::pack_options::PackOptions;
use super::verdict::{DEPTH_MAX, Parts, is_game_folder, is_known_top, is_tool_top};
use crate::format::is_archive_name;
use crate::shown::Shown;
use crate::system::text::count;
use crate::tree::LayerNames;
use crate::vfs::patterns::DATA;

/// The folder at the top of a source that stands for the data folder, if everything of the game is in it.
///
/// # Errors
/// It is not clear where the game's files begin.
pub(super) fn data_folder(
    source: &Path,
    names: &LayerNames,
    options: &PackOptions,
) -> Result<Option<Vec<u8>>, PackError> {
    let tops: Vec<Vec<u8>> = names.top_folders().map(<[u8]>::to_vec).collect();
    let lower = |top: &Vec<u8>| String::from_utf8_lossy(top).to_ascii_lowercase();
    let data: Option<&Vec<u8>> = tops.iter().find(|top| DATA.contains(&&*lower(top)));
    let other = tops.iter().find(|top| is_known_top(&lower(top)));
    match (data, other) {
        (Some(_), Some(_)) if options.any_path => Ok(None),
        (Some(data), Some(other)) => {
            let what = format!(
                "{}: it has a folder {} beside {}, so it is not clear where the game's files begin; a \
                 game never finds paths that begin with Data; --any-path packs them",
                source.shown(),
                String::from_utf8_lossy(data).shown(),
                String::from_utf8_lossy(other).shown()
            );
            Err(PackError::new(PackErrorKind::Source, what))
        }
        (data, _) => Ok(data.cloned()),
    }
}

/// Fails if the files that are packed of a source are those of a download as it was unpacked. `paths` are
/// those below the folder `data`, if the source has one.
///
/// # Errors
/// The game's files begin in a folder further down.
pub(super) fn refuse_unpacked(
    source: &Path,
    data: Option<&[u8]>,
    paths: &[&[u8]],
    options: &PackOptions,
) -> Result<(), PackError> {
    if options.any_path {
        return Ok(());
    }
    let begun = Begun::find(paths);
    let is_of_game = begun.at_top > 0 || !begun.folders.is_empty() || data.is_some();
    if let Some(folder) = game_folder(source, options).filter(|_| !is_of_game && !paths.is_empty()) {
        let own = folder.file_name().unwrap_or_default().to_string_lossy();
        let above = folder.parent().unwrap_or(&folder);
        let what = format!(
            "{}: it is the folder {} of a game's files, or below it, so that no game would find its files; \
             pack the folder above, {}, with --glob '{own}/**' if it has more (--any-path packs the paths as \
             they are)",
            source.shown(),
            own.shown(),
            above.shown()
        );
        return Err(PackError::new(PackErrorKind::Source, what));
    }
    if options.all {
        return Ok(());
    }
    if begun.folders.is_empty() || begun.is_at_top && !begun.has_installer {
        return Ok(());
    }
    let data = data.map_or_else(String::new, |data| format!("{}/", String::from_utf8_lossy(data)));
    let mut lines = Vec::new();
    if begun.at_top > 0 {
        let top = if data.is_empty() { "the source itself".to_owned() } else { data.shown().to_string() };
        lines.push(format!("{top}, without the folders below ({})", count(begun.at_top, "file")));
    }
    for (folder, files) in begun.folders {
        lines.push(format!("{} ({})", format!("{data}{folder}").shown(), count(files, "file")));
    }
    for (folder, files) in begun.others {
        let name = folder.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        let what = if is_tool_top(&name) || Parts::of(format!("{folder}/").as_bytes()).is_of_desktop() {
            "for tools or people"
        } else {
            "in no folder that games are known to read"
        };
        let (folder, files) = (format!("{data}{folder}"), count(files, "file"));
        lines.push(format!("{} ({files}, {what})", folder.shown()));
    }
    for name in begun.beside {
        lines.push(format!("{} (a file at the top, which stays loose)", format!("{data}{name}").shown()));
    }
    let what = format!(
        "{}: this looks like a download as it was unpacked: no game looks for its paths. Pack the folder in \
         which the game's files begin, or several as several sources, of which the last wins. --exclude and \
         --glob leave out what is not wanted; --any-path packs the paths as they are:",
        source.shown()
    );
    Err(PackError::list(PackErrorKind::Source, &what, &lines))
}

/// Where the files of a game begin.
#[derive(Default)]
struct Begun {
    /// Whether there is a folder at the top that games read.
    is_at_top: bool,
    /// Whether an installer's folders lie at the top.
    has_installer: bool,
    /// Number of files of a game that begins at the top.
    at_top: usize,
    /// The folders further down in which files of a game begin, with the numbers of their files.
    folders: BTreeMap<String, usize>,
    /// Folders outside of these, with the numbers of their files.
    others: BTreeMap<String, usize>,
    /// Files at the top that are not of a game.
    beside: Vec<String>,
}

impl Begun {
    fn find(paths: &[&[u8]]) -> Self {
        let (mut begun, mut rest) = (Self::default(), Vec::new());
        for path in paths {
            let path: Vec<u8> = path.iter().map(|&byte| if byte == b'\\' { b'/' } else { byte }).collect();
            let text = String::from_utf8_lossy(&path).into_owned();
            let parts = Parts::of(&path);
            let top = parts.top();
            begun.has_installer |= top == "fomod" || is_numbered(top);
            let is_plugin = ["esp", "esm", "esl"].contains(&&*parts.extension);
            if is_known_top(top) || top.is_empty() && (is_plugin || is_archive_name(&path)) {
                begun.is_at_top |= !top.is_empty();
                begun.at_top += 1;
                continue;
            }
            let all: Vec<&str> = text.split('/').collect();
            let folders = &all[..all.len() - 1];
            if top.is_empty() {
                begun.beside.push(text);
                continue;
            }
            if is_tool_top(top) || parts.is_of_desktop() {
                *begun.others.entry(folders[0].to_owned()).or_default() += 1;
                continue;
            }
            let start = parts.sign().or(is_plugin.then_some(folders.len()));
            match start.filter(|start| (1..=DEPTH_MAX).contains(start)) {
                Some(start) => *begun.folders.entry(folders[..start].join("/")).or_default() += 1,
                None => rest.push(folders.join("/")),
            }
        }
        let above = |folder: &str| folder.match_indices('/').map(|(at, _)| at).collect::<Vec<_>>();
        let parents: HashSet<String> =
            begun.folders.keys().flat_map(|it| above(it).into_iter().map(|at| it[..at].to_owned())).collect();
        for folder in rest {
            let mut starts = above(&folder);
            starts.push(folder.len());
            // What lies beside the game's files belongs to them.
            if let Some(at) = starts.iter().find(|at| begun.folders.contains_key(&folder[..**at])) {
                begun.folders.entry(folder[..*at].to_owned()).and_modify(|files| *files += 1);
                continue;
            }
            let outside = starts.iter().find(|at| !parents.contains(&folder[..**at]));
            let other = outside.map_or(&*folder, |at| &folder[..*at]);
            *begun.others.entry(other.to_owned()).or_default() += 1;
        }
        begun
    }
}

/// The folder of a game's files that a source is. Unless --all packs what is in no such folder, also one
/// above it.
fn game_folder(source: &Path, options: &PackOptions) -> Option<PathBuf> {
    let real = source.canonicalize().ok()?;
    let is_sign = |folder: &&Path| {
        folder.file_name().is_some_and(|name| is_game_folder(&name.to_string_lossy().to_ascii_lowercase()))
    };
    let depth = if options.all { 1 } else { DEPTH_MAX };
    real.ancestors().take(depth).find(is_sign).map(Path::to_owned)
}

/// Whether a folder is called like one of several packages of a download: `00 Core`.
fn is_numbered(top: &str) -> bool {
    let digits = top.len() - top.trim_start_matches(|it: char| it.is_ascii_digit()).len();
    (1..=3).contains(&digits) && top[digits..].starts_with([' ', '_', '-'])
}

/// Why no game finds a file with a stored path: it begins at the root of a disk or with the data folder, or
/// has names that a game does not look for.
pub(super) fn why_unfound(folder: &[u8], file: &[u8]) -> Option<&'static str> {
    let whole =
        if folder.is_empty() || folder == b"." { file.to_vec() } else { [folder, b"\\", file].concat() };
    crate::format::structure::unfindable(&whole)
}
