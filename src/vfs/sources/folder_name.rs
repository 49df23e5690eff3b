//! Names for folders that are named after archives or other folders: new mountpoints, and the
//! folders of `--layout per-archive`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::profile::Profile;
use crate::format::encoding::Encoding;
use crate::format::{is_archive_name, name};
use crate::game::{InstanceName, title};
use crate::system::asleep;
use crate::tree;

/// Candidate names for the folder of a source: the stem of an archive or the name of a folder, then
/// numbered. A stem of dots, as in `...bsa`, is escaped.
pub(crate) fn candidates(source: &Path) -> impl Iterator<Item = String> {
    numbered(stem(source))
}

/// Candidate names for the mountpoint of a source on a desktop. A desktop hides names that begin
/// with a dot, and takes a name that ends like an archive's for an archive, so neither is returned.
pub(crate) fn visible_candidates(source: &Path) -> impl Iterator<Item = String> {
    let stem = match source.to_str().and_then(title) {
        Some(title) => title.name.to_owned(),
        None => stem(source),
    };
    let mut name = stem.trim_start_matches('.');
    while let Some((shorter, _)) = name.rsplit_once('.')
        && Profile::is_called_source(Path::new(name))
    {
        name = shorter;
    }
    numbered(if name.trim().is_empty() { "archive".to_owned() } else { name.to_owned() })
}

fn numbered(stem: String) -> impl Iterator<Item = String> {
    std::iter::once(stem.clone()).chain((2..).map(move |number| tree::numbered(&stem, number)))
}

fn stem(source: &Path) -> String {
    // Resolves `.` and `..` to the name of the folder. A disk that is asleep is not asked.
    let folder = if asleep::is_at(source) {
        Some(source.to_owned()).filter(|path| !is_archive_name(path.as_os_str().as_encoded_bytes()))
    } else {
        source.canonicalize().ok().filter(|path| path.is_dir())
    };
    let stem = folder.as_ref().map_or_else(|| source.file_stem(), |folder| folder.file_name());
    let stem = match source.to_str().and_then(InstanceName::parse) {
        Some(name) => name.parts().collect::<Vec<_>>().join("-").into(),
        None => stem.unwrap_or_default().to_string_lossy(),
    };
    name::component(stem.as_bytes(), Encoding::UTF_8).into_owned()
}

/// A folder name for each source. No two names are equal, ignoring case.
pub(crate) fn distinct(sources: &[PathBuf]) -> Vec<String> {
    let mut taken = HashSet::new();
    let mut is_free = |name: &String| taken.insert(name.to_ascii_lowercase());
    sources.iter().filter_map(|source| candidates(source).find(&mut is_free)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_desktop_mountpoint_has_a_visible_name_without_an_archive_extension() {
        let first_two = |source: &str| visible_candidates(Path::new(source)).take(2).collect::<Vec<_>>();
        assert_eq!(first_two("/x/Skyrim - Textures0.bsa"), ["Skyrim - Textures0", "Skyrim - Textures0 (2)"]);
        assert_eq!(first_two("/x/.hidden.ba2")[0], "hidden");
        assert_eq!(first_two("/x/a.BSA.ba2.toml")[0], "a");
        assert_eq!(first_two("/x/....bsa")[0], "archive");
        assert_eq!(first_two("skyrimse")[0], "Skyrim Special Edition");
    }
}
