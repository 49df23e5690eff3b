//! Where the game's files begin in a folder, and paths at which no game finds them: those of a download as it
//! was unpacked, and names that begin at the root of a disk.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::{PackError, PackErrorKind};
use super::pack_options::PackOptions;
use super::verdict::{Parts, is_known_top, is_tool_top};
use crate::shown::Shown;
use crate::system::text::count;
use crate::tree::LayerNames;
use crate::vfs::patterns::DATA;

/// Folders whose presence shows that the folder above is where a game's files begin.
const SIGNS: [&str; 24] = [
    "bookart",
    "distantlod",
    "facegen",
    "fonts",
    "geometries",
    "grass",
    "icons",
    "interface",
    "lodsettings",
    "materials",
    "menus",
    "meshes",
    "music",
    "particles",
    "scripts",
    "seq",
    "shaders",
    "shadersfx",
    "sound",
    "strings",
    "terrain",
    "textures",
    "trees",
    "video",
];
/// How many folders may lie above the place where a game's files begin.
const DEPTH_MAX: usize = 4;

/// The folder at the top of a source that stands for the data folder, if everything of the game is in it.
///
/// # Errors
/// It is not clear where the game's files begin, or they begin in a folder further down.
pub(super) fn data_folder(
    source: &Path,
    names: &LayerNames,
    options: &PackOptions,
) -> Result<Option<Vec<u8>>, PackError> {
    let tops: Vec<Vec<u8>> = names.top_folders().map(<[u8]>::to_vec).collect();
    let lower = |top: &Vec<u8>| String::from_utf8_lossy(top).to_ascii_lowercase();
    let data: Option<&Vec<u8>> = tops.iter().find(|top| DATA.contains(&&*lower(top)));
    let other = tops.iter().find(|top| is_known_top(&lower(top)));
    let source = source.shown();
    let data = match (data, other) {
        (Some(_), Some(_)) if options.any_path => None,
        (Some(data), Some(other)) => {
            let what = format!(
                "{source}: it has a folder {} beside {}, so it is not clear where the game's files begin; a \
                 game never finds paths that begin with Data; --any-path packs them",
                String::from_utf8_lossy(data).shown(),
                String::from_utf8_lossy(other).shown()
            );
            return Err(PackError::new(PackErrorKind::Source, what));
        }
        (data, _) => data.cloned(),
    };
    if options.any_path || options.all {
        return Ok(data);
    }
    let prefix = data.as_ref().map_or_else(Vec::new, |data| [data, &b"/"[..]].concat());
    let begun = beginnings(names, &prefix);
    if begun.is_empty() {
        return Ok(data);
    }
    let lines: Vec<String> = begun
        .iter()
        .map(|(folder, files)| format!("{} ({})", folder.shown(), count(*files, "file")))
        .collect();
    let what = format!(
        "{source}: this looks like a download as it was unpacked: no game looks for its paths. Pack the \
         folder in which the game's files begin, or several as several sources, of which the last wins; \
         --any-path packs the paths as they are:"
    );
    Err(PackError::list(PackErrorKind::Source, &what, &lines))
}

/// The folders further down in which the files of a game begin, with the numbers of their files. None if the
/// game's files begin at the top, unless an installer's folders lie beside them.
fn beginnings(names: &LayerNames, prefix: &[u8]) -> BTreeMap<String, usize> {
    let mut begun: BTreeMap<String, usize> = BTreeMap::new();
    let (mut is_at_top, mut is_installer) = (false, false);
    for path in names.known_paths() {
        let path: Vec<u8> = path.iter().map(|&byte| if byte == b'\\' { b'/' } else { byte }).collect();
        let Some(below) = path.strip_prefix(prefix) else { continue };
        let text = String::from_utf8_lossy(below);
        let parts = Parts::of(below);
        let top = parts.top();
        is_installer |= top == "fomod" || is_numbered(top);
        if top.is_empty() || is_tool_top(top) {
            continue;
        }
        if is_known_top(top) {
            is_at_top = true;
            continue;
        }
        let all: Vec<&str> = text.split('/').collect();
        let folders = &all[..all.len() - 1];
        let sign = folders.iter().position(|name| SIGNS.contains(&&*name.to_ascii_lowercase()));
        let is_plugin = ["esp", "esm", "esl"].contains(&&*parts.extension);
        let start = sign.or(is_plugin.then_some(folders.len()));
        if let Some(start) = start.filter(|start| (1..=DEPTH_MAX).contains(start)) {
            let folder = format!("{}{}", String::from_utf8_lossy(prefix), folders[..start].join("/"));
            *begun.entry(folder).or_default() += 1;
        }
    }
    if is_at_top && !is_installer { BTreeMap::new() } else { begun }
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
