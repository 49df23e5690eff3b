//! The names of layers in the output of all commands, and the folders that have the layers.
//!
//! A folder is named by its name. An archive is, too, if it is in the data folder of a game or in the current
//! folder. Otherwise the name of its folder, which may be a mod, comes first: `SkyUI/SkyUI.bsa`. A list that
//! has a name twice shows more of both paths. `--of` takes the same names.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use super::output::{ASIDE, StyledWrite};
use crate::format::is_archive_name;
use crate::game::is_data_folder;
use crate::shown::{Shown, ShownName};

/// The names of some layers.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShownLayers {
    /// The folder that has the layers, or two folders if the layers are in two places, such as a game and its
    /// mods. None if there is one layer, or if the layers share nothing.
    folders: Vec<PathBuf>,
    /// The current folder.
    here: PathBuf,
    /// The number of names at the end of a path, for layers that need more of it.
    longer: HashMap<PathBuf, usize>,
}

impl ShownLayers {
    /// The names of layers in one list. Each layer is a path, and whether the path is a folder.
    pub(crate) fn of<'p>(layers: impl Iterator<Item = (&'p Path, bool)>) -> Self {
        let layers: Vec<_> = layers.collect();
        let here = std::env::current_dir().unwrap_or_default();
        let mut names = Self { folders: folders_of(&layers), here, longer: HashMap::new() };
        names.tell_apart(layers.iter().map(|(path, _)| *path).collect());
        names
    }

    /// Lengthens equal names of different paths until they differ.
    fn tell_apart(&mut self, mut paths: Vec<&Path>) {
        paths.sort_unstable();
        paths.dedup();
        loop {
            let mut alike: HashMap<&Path, Vec<&Path>> = HashMap::new();
            for path in paths.iter() {
                alike.entry(self.name(path)).or_default().push(path);
            }
            let longer = alike.into_values().filter(|paths| paths.len() > 1).flatten();
            paths = longer.filter(|path| self.length(path) < path.components().count()).collect();
            if paths.is_empty() {
                return;
            }
            let lengths: Vec<usize> = paths.iter().map(|path| self.length(path) + 1).collect();
            self.longer.extend(paths.iter().map(|path| path.to_path_buf()).zip(lengths));
        }
    }

    /// Writes a line for each folder that has layers. `role` comes before its path.
    pub(crate) fn write_folders(&self, out: &mut impl StyledWrite, role: &str) -> io::Result<()> {
        for folder in &self.folders {
            out.write_styled(ASIDE, format_args!("{role} {}", folder.shown()))?;
            writeln!(out)?;
        }
        Ok(())
    }

    pub(crate) fn shown<'p>(&self, path: &'p Path) -> ShownName<'p> {
        self.name(path).shown()
    }

    /// What a note is about: the name of a layer or archive, or a path below the folders.
    pub(crate) fn subject<'p>(&self, path: &'p Path) -> ShownName<'p> {
        let is_archive = path.is_absolute() && is_archive(path);
        let within = |folder: &PathBuf| path.strip_prefix(folder).ok();
        match self.folders.iter().find_map(within) {
            Some(within) if !is_archive && !within.as_os_str().is_empty() => within.shown(),
            None if !is_archive => path.shown(),
            _ => self.shown(path),
        }
    }

    fn name<'p>(&self, path: &'p Path) -> &'p Path {
        let mut names = path.components();
        for _ in self.length(path)..path.components().count() {
            names.next();
        }
        names.as_path()
    }

    /// The number of names at the end of a path that name the layer.
    fn length(&self, path: &Path) -> usize {
        if let Some(&length) = self.longer.get(path) {
            return length;
        }
        let is_in_mod = |folder: &Path| *folder != *self.here && !is_data_folder(folder);
        if is_archive(path) && path.parent().is_some_and(is_in_mod) { 2 } else { 1 }
    }
}

fn is_archive(path: &Path) -> bool {
    path.file_name().is_some_and(|name| is_archive_name(name.as_encoded_bytes()))
}

/// The deepest folder that contains all layers, or two that do.
fn folders_of(layers: &[(&Path, bool)]) -> Vec<PathBuf> {
    let Some(common) = common_folder(layers).filter(|_| layers.len() > 1) else { return Vec::new() };
    let folders = match two_folders(layers, common) {
        Some(folders) => folders.to_vec(),
        None if common.parent().is_some() => vec![common],
        None => Vec::new(),
    };
    folders.into_iter().map(Path::to_owned).collect()
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

    fn names(layers: &[(&str, bool)]) -> ShownLayers {
        ShownLayers::of(layers.iter().map(|&(path, is_folder)| (Path::new(path), is_folder)))
    }

    fn shown(layers: &[(&str, bool)]) -> Vec<String> {
        let names = names(layers);
        layers.iter().map(|(path, _)| names.shown(Path::new(path)).to_string()).collect()
    }

    #[test]
    fn a_layer_has_the_same_name_in_every_list() {
        let data = [("/g/Data/a.bsa", false), ("/g/Data", true)];
        let mods = [("/m/mods/SkyUI/SkyUI.bsa", false), ("/m/mods/SkyUI", true)];
        assert_eq!(shown(&data), ["a.bsa", "Data"]);
        assert_eq!(shown(&mods), ["SkyUI/SkyUI.bsa", "SkyUI"]);
        assert_eq!(shown(&[data, mods].concat()), ["a.bsa", "Data", "SkyUI/SkyUI.bsa", "SkyUI"]);
        assert_eq!(shown(&mods[..1]), ["SkyUI/SkyUI.bsa"]);
        assert_eq!(shown(&[("a.bsa", false), ("/", true)]), ["a.bsa", "/"]);
        let here = std::env::current_dir().unwrap().join("here.bsa");
        assert_eq!(shown(&[(here.to_str().unwrap(), false)]), ["here.bsa"]);
    }

    #[test]
    fn layers_of_one_name_show_more_of_their_paths() {
        let two = [("/x/Data/a.bsa", false), ("/y/Data/a.bsa", false), ("/y/Data/b.bsa", false)];
        assert_eq!(shown(&two), ["x/Data/a.bsa", "y/Data/a.bsa", "b.bsa"]);
        assert_eq!(shown(&[("/a", true), ("/b/a", true)]), ["/a", "b/a"]);
        assert_eq!(shown(&[("/a/b", true), ("/a/b", true)]), ["b", "b"]);
    }

    #[test]
    fn layers_in_two_places_have_two_folders() {
        let (data, mods) = ("/h/Steam/common/Skyrim/Data", "/h/Games/MO2/mods");
        let archive = |folder: &str, name: &str| format!("{folder}/{name}.bsa");
        let [one, two] = ["a", "b"].map(|name| archive(data, name));
        let three = archive(mods, "A/c");
        let mod_b = format!("{mods}/B");
        let layers = [(&*one, false), (&two, false), (&three, false), (data, true), (&mod_b, true)];
        let mut printed = Vec::new();
        names(&layers).write_folders(&mut printed, "in").unwrap();
        assert_eq!(String::from_utf8(printed).unwrap(), format!("in {data}\nin {mods}\n"));
        for layers in [&[("/g/a.bsa", false)][..], &[("/a/b", true), ("/c/d", true)], &[("a", false); 2]] {
            assert!(names(layers).folders.is_empty(), "{layers:?}");
        }
    }
}
