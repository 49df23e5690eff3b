//! The folder that several printed paths share, or two. It is printed once, and the paths are shown below it.

use std::io;
use std::path::{Path, PathBuf};

use super::output::{ASIDE, StyledWrite};
use crate::shown::{Shown, ShownName};

/// The folder that has several layers, or two folders if the layers are in two places, such as a game and its
/// mods. None if there is one layer, or if the layers share nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommonRoot(Vec<PathBuf>);

impl CommonRoot {
    /// The deepest folder that contains all layers. Each layer is a path, and whether the path is a folder
    /// that may be the root itself.
    pub(crate) fn of<'p>(layers: impl Iterator<Item = (&'p Path, bool)>) -> Self {
        let layers: Vec<_> = layers.collect();
        let Some(common) = common_folder(&layers).filter(|_| layers.len() > 1) else {
            return Self::default();
        };
        let folders = match two_folders(&layers, common) {
            Some(folders) => folders.to_vec(),
            None if common.parent().is_some() => vec![common],
            None => Vec::new(),
        };
        Self(folders.into_iter().map(Path::to_owned).collect())
    }

    /// Writes a line for each folder. `role` comes before its path.
    pub(crate) fn write(&self, out: &mut impl StyledWrite, role: &str) -> io::Result<()> {
        for root in &self.0 {
            out.write_styled(ASIDE, format_args!("{role} {}", root.shown()))?;
            writeln!(out)?;
        }
        Ok(())
    }

    /// Whether all paths are shown below the folders.
    pub(crate) fn has_all<'p>(&self, mut paths: impl Iterator<Item = &'p Path>) -> bool {
        paths.all(|path| self.0.iter().any(|root| path.starts_with(root)))
    }

    /// Whether there is a folder.
    pub(crate) fn is_some(&self) -> bool {
        !self.0.is_empty()
    }

    /// A path as it is shown: below the folder, or whole if it lies elsewhere. Below one of two folders, the
    /// path begins with the name of its folder.
    pub(crate) fn shown<'p>(&self, path: &'p Path) -> ShownName<'p> {
        let mut within = self.0.iter().filter(|root| path.starts_with(root)).filter_map(|root| {
            let base = if self.0.len() > 1 { root.parent()? } else { root };
            path.strip_prefix(base).ok()
        });
        match within.next() {
            Some(within) if within.as_os_str().is_empty() => Path::new(".").shown(),
            Some(within) => within.shown(),
            None => path.shown(),
        }
    }
}

/// The deepest folder that has all layers, which may be the root of the system. `None` without layers.
fn common_folder<'p>(layers: &[(&'p Path, bool)]) -> Option<&'p Path> {
    let (&(first, is_folder), rest) = layers.split_first()?;
    let mut common = if is_folder { first } else { first.parent()? };
    for (path, _) in rest {
        while !path.starts_with(common) {
            common = common.parent()?;
        }
    }
    Some(common)
}

/// Two folders below `common` that have all layers, if they say more than `common` does: one of them has
/// several layers deeper than in a subfolder, and their names differ.
fn two_folders<'p>(layers: &[(&'p Path, bool)], common: &Path) -> Option<[&'p Path; 2]> {
    let below = |path: &'p Path| path.strip_prefix(common).ok().map(|within| within.components());
    let subfolder = |path: &'p Path| below(path).and_then(|mut within| within.next());
    let first = subfolder(layers.first()?.0)?;
    let (one, two): (Vec<_>, Vec<_>) =
        layers.iter().copied().partition(|layer| subfolder(layer.0) == Some(first));
    let second = subfolder(two.first()?.0)?;
    if two.iter().any(|layer| subfolder(layer.0) != Some(second)) {
        return None;
    }
    let folders = [common_folder(&one)?, common_folder(&two)?];
    let depth = |folder| below(folder).map_or(0, Iterator::count);
    let is_deep = |(layers, folder): (&Vec<_>, &&'p Path)| layers.len() > 1 && depth(folder) > 1;
    let is_useful = [&one, &two].into_iter().zip(&folders).any(is_deep);
    let has_names = folders.iter().all(|folder| depth(folder) > 0);
    (is_useful && has_names && folders[0].file_name() != folders[1].file_name()).then_some(folders)
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
    fn layers_in_two_places_are_shown_below_two_folders() {
        let (data, mods) = ("/h/Steam/common/Skyrim/Data", "/h/Games/MO2/mods");
        let archive = |folder: &str, name: &str| format!("{folder}/{name}.bsa");
        let [one, two] = ["a", "b"].map(|name| archive(data, name));
        let three = archive(mods, "A/c");
        let mod_b = format!("{mods}/B");
        let game = root(&[(&one, false), (&two, false), (&three, false), (data, true), (&mod_b, true)]);
        let shown =
            [&one, &three, data, &mod_b, "/h/Games/x"].map(|it| game.shown(Path::new(it)).to_string());
        assert_eq!(shown, ["Data/a.bsa", "mods/A/c.bsa", "Data", "mods/B", "/h/Games/x"]);
        assert!(game.has_all([Path::new(&one), Path::new(&mod_b)].into_iter()));
        let mut printed = Vec::new();
        game.write(&mut printed, "in").unwrap();
        assert_eq!(String::from_utf8(printed).unwrap(), format!("in {data}\nin {mods}\n"));
        // A game and one mod elsewhere.
        let shown_mod = |it| root(&[(&one, false), (&two, false), it]).shown(Path::new(it.0)).to_string();
        assert_eq!(shown_mod(("/h/MyMod", true)), "MyMod");
        assert_eq!(shown_mod(("/mods/c.bsa", false)), "mods/c.bsa");
        // No folder but the common one has this layer, a third place, or folders of one name.
        assert_eq!(shown_mod(("/h/c.bsa", false)), "c.bsa");
        let places = root(&[(&one, false), (&two, false), ("/h/x/a.bsa", false), ("/h/y/a.bsa", false)]);
        assert_eq!(places.shown(Path::new("/h/y/a.bsa")).to_string(), "y/a.bsa");
        let named_alike = root(&[(&one, false), (&two, false), ("/h/Mod/Data", true)]);
        assert_eq!(named_alike.shown(Path::new("/h/Mod/Data")).to_string(), "Mod/Data");
    }

    #[test]
    fn one_layer_and_layers_without_a_common_folder_are_shown_with_whole_paths() {
        for layers in [&[("/g/a.bsa", false)][..], &[("/a/b", true), ("/c/d", true)], &[("a", false); 2]] {
            assert!(!root(layers).is_some(), "{layers:?}");
            assert_eq!(root(layers).shown(Path::new(layers[0].0)).to_string(), layers[0].0);
        }
    }
}
