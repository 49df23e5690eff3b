//! The folder that several printed paths share. It is printed once, and the paths are shown below it.

use std::io;
use std::path::{Path, PathBuf};

use super::output::{ASIDE, StyledWrite};

/// The folder that contains all layers; none if only the root of the system does, or if there is one layer.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommonRoot(Option<PathBuf>);

impl CommonRoot {
    /// The deepest folder that contains all layers. Each layer is a path, and whether the path is a folder
    /// that may be the root itself.
    pub(crate) fn of<'p>(layers: impl Iterator<Item = (&'p Path, bool)>) -> Self {
        Self(common_folder(layers).map(Path::to_owned))
    }

    /// Writes the line that names the folder, if there is one. `role` comes before its path.
    pub(crate) fn write(&self, out: &mut impl StyledWrite, role: &str) -> io::Result<()> {
        let Some(root) = &self.0 else { return Ok(()) };
        out.write_styled(ASIDE, format_args!("{role} {}", root.display()))?;
        writeln!(out)
    }

    /// Whether all paths are shown below the folder.
    pub(crate) fn has_all<'p>(&self, mut paths: impl Iterator<Item = &'p Path>) -> bool {
        self.0.as_ref().is_some_and(|root| paths.all(|path| path.starts_with(root)))
    }

    /// Whether there is a folder.
    pub(crate) fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// A path as it is shown: below the folder, or whole if it lies elsewhere.
    pub(crate) fn shown<'p>(&self, path: &'p Path) -> std::path::Display<'p> {
        match self.0.as_ref().and_then(|root| path.strip_prefix(root).ok()) {
            Some(within) if within.as_os_str().is_empty() => Path::new(".").display(),
            Some(within) => within.display(),
            None => path.display(),
        }
    }
}

fn common_folder<'p>(mut layers: impl Iterator<Item = (&'p Path, bool)>) -> Option<&'p Path> {
    let (first, is_folder) = layers.next()?;
    let mut common = if is_folder { first } else { first.parent()? };
    let mut is_shared = false;
    for (path, _) in layers {
        is_shared = true;
        while !path.starts_with(common) {
            common = common.parent()?;
        }
    }
    (is_shared && common.parent().is_some()).then_some(common)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(layers: &[(&str, bool)]) -> CommonRoot {
        CommonRoot::of(layers.iter().map(|&(path, is_folder)| (Path::new(path), is_folder)))
    }

    #[test]
    fn paths_are_shown_below_the_deepest_folder_that_has_them_all() {
        let game = root(&[("/g/Data/a.bsa", false), ("/g/Data", true), ("/g/Data/b/c.bsa", false)]);
        let shown = ["/g/Data/a.bsa", "/g/Data", "/g/Data/b/c.bsa", "/g/Database"]
            .map(|path| game.shown(Path::new(path)).to_string());
        assert_eq!(shown, ["a.bsa", ".", "b/c.bsa", "/g/Database"]);
        assert!(!game.has_all([Path::new("/g/Data"), Path::new("/g")].into_iter()));
        let folders = root(&[("/m/A", false), ("/m/B/b.bsa", false)]);
        assert_eq!(folders.shown(Path::new("/m/A")).to_string(), "A");
    }

    #[test]
    fn one_layer_and_layers_without_a_common_folder_are_shown_with_whole_paths() {
        for layers in [&[("/g/a.bsa", false)][..], &[("/a/b", true), ("/c/d", true)], &[("a", false); 2]] {
            assert!(!root(layers).is_some(), "{layers:?}");
            assert_eq!(root(layers).shown(Path::new(layers[0].0)).to_string(), layers[0].0);
        }
    }
}
