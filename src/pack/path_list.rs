//! A list of paths to pack: one path a line, or the JSON array of the Creation Kit (`.achlist`).

use std::collections::{HashMap, HashSet};

use super::error::{PackError, PackErrorKind};
use crate::shown::Shown;
use crate::vfs::patterns::below_data;

/// A list of paths below the data folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathList {
    /// The paths as they were written.
    paths: Vec<String>,
}

impl PathList {
    /// Reads a list. Empty lines are left out, and so are quotes around a path.
    ///
    /// # Errors
    /// The text is neither UTF-8 nor UTF-16, or a JSON array that has something other than texts.
    pub fn parse(bytes: &[u8]) -> Result<Self, PackError> {
        let wrong = |what: String| PackError::new(PackErrorKind::Option, format!("--from: {what}"));
        let text = text(bytes).ok_or_else(|| wrong("the list is neither UTF-8 nor UTF-16".to_owned()))?;
        let paths: Vec<String> = if text.trim_start().starts_with('[') {
            let parsed = serde_json::from_str(text.trim());
            parsed.map_err(|error| wrong(format!("not a JSON array of paths: {error}")))?
        } else {
            text.lines().map(str::to_owned).collect()
        };
        let paths: Vec<String> =
            paths.iter().map(|path| unquoted(path).to_owned()).filter(|path| !path.is_empty()).collect();
        if paths.is_empty() {
            return Err(wrong("the list has no path".to_owned()));
        }
        Ok(Self { paths })
    }

    /// The paths that the lines may mean, in lower case.
    pub(super) fn all_forms(&self) -> HashSet<String> {
        self.paths.iter().flat_map(|path| forms(path)).collect()
    }

    /// The numbers of the listed files among all paths. A folder stands for all files in it.
    ///
    /// # Errors
    /// Paths of the list that are not there.
    pub(super) fn select(&self, all: &[String]) -> Result<HashSet<usize>, PackError> {
        let mut by_path: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, path) in all.iter().enumerate() {
            let path = path.to_ascii_lowercase();
            let folders = path.match_indices('/').map(|(end, _)| &path[..end]);
            for known in folders.chain(std::iter::once(&*path)) {
                by_path.entry(known.to_owned()).or_default().push(at);
            }
        }
        let (mut selected, mut missing) = (HashSet::new(), Vec::new());
        for path in &self.paths {
            match forms(path).iter().find_map(|form| by_path.get(form)) {
                Some(found) => selected.extend(found),
                None => missing.push(path.shown().to_string()),
            }
        }
        if missing.is_empty() {
            return Ok(selected);
        }
        let what = "--from lists paths that are not in the source:";
        Err(PackError::list(PackErrorKind::Source, what, &missing))
    }
}

/// The paths that a line may mean, in lower case and with `/`: as it is, and what follows a folder of data.
fn forms(path: &str) -> Vec<String> {
    let path = path.replace('\\', "/").to_ascii_lowercase();
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let whole = parts.join("/");
    let starts = whole.match_indices('/').map(|(at, _)| at + 1);
    let below: Vec<String> = std::iter::once(0)
        .chain(starts)
        .filter_map(|start| below_data(&whole[start..]).map(str::to_owned))
        .collect();
    // The last folder of data is the nearest one.
    std::iter::once(whole).chain(below.into_iter().rev()).collect()
}

fn unquoted(path: &str) -> &str {
    let path = path.trim().trim_end_matches('\0');
    path.strip_prefix('"').and_then(|path| path.strip_suffix('"')).unwrap_or(path)
}

/// The text of a list that a program of Windows may have written.
fn text(bytes: &[u8]) -> Option<String> {
    match bytes {
        [0xFF, 0xFE, rest @ ..] => {
            let units: Vec<u16> = rest.as_chunks().0.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
            String::from_utf16(&units).ok()
        }
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8(rest.to_vec()).ok(),
        bytes => String::from_utf8(bytes.to_vec()).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_other_programs_name_the_same_files() {
        let all: Vec<String> =
            ["Meshes/a.nif", "textures/b.dds", "textures/c/d.dds"].map(str::to_owned).into();
        let selected = |text: &[u8]| {
            let mut found: Vec<usize> =
                PathList::parse(text).unwrap().select(&all).unwrap().into_iter().collect();
            found.sort_unstable();
            found
        };
        assert_eq!(selected(b"meshes\\A.NIF\r\n\r\n\"Data\\Textures\\b.dds\"\r\n"), [0, 1]);
        assert_eq!(selected(br#"["Data\\Meshes\\a.nif", "data/textures/c/d.dds"]"#), [0, 2]);
        assert_eq!(selected(b"C:\\Games\\Data\\My Game\\Data\\textures\\c"), [2]);
        assert_eq!(selected(b"textures\n./meshes/a.nif"), [0, 1, 2]);
        let utf16: Vec<u8> = "\u{feff}meshes\\a.nif\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(selected(&utf16), [0]);
        let missing = PathList::parse(b"meshes/a.nif\nmeshes/b.nif").unwrap().select(&all).unwrap_err();
        assert!(missing.to_string().contains("meshes/b.nif") && !missing.to_string().contains("a.nif"));
        for wrong in [&b""[..], b"\r\n", b"[1]", b"[", b"\xff\xff\xff"] {
            assert!(PathList::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
