//! Lists of the files that a mod manager put into a game's folder, and of the mods that they are from.
//!
//! A manager is one row of [`MANAGERS`]. A list may have come with a download, so it only adds names to
//! answers.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::game::caseless::{fold, same};
use crate::game::disk::Disk;
use crate::limits::DEPLOYMENT_LIST_MAX;

/// The path and the mod of each file.
type Deployed = Vec<(String, String)>;

/// A manager that leaves a list in the folder into which it deploys.
struct Manager {
    name: &'static str,
    /// How the name of the list begins and ends, in lower case.
    file: (&'static str, &'static str),
    /// Reads a list. `None` if the bytes are none.
    read: fn(&[u8]) -> Option<Deployed>,
}

const MANAGERS: [Manager; 2] = [
    // Each type of mods has a list of its own: vortex.deployment.json, vortex.deployment.dinput.json.
    Manager { name: "Vortex", file: ("vortex.deployment", ".json"), read: vortex },
    Manager { name: "limo", file: (".lmmfiles", ""), read: limo },
];

/// The files that a manager deployed into a folder.
#[derive(Clone, Debug)]
pub(crate) struct DeploymentList {
    pub(crate) manager: &'static str,
    /// The number of the mod of each file, by the folded path with `/` between names.
    files: HashMap<String, usize>,
    mods: Vec<String>,
}

impl DeploymentList {
    /// The lists in a folder into which managers deploy.
    pub(crate) fn in_folder(disk: &Disk, folder: &Path) -> Vec<Self> {
        let names = disk.names(folder).unwrap_or_default();
        let lists = names.iter().filter_map(|name| {
            let lower = name.to_ascii_lowercase();
            let is_its = |it: &&Manager| lower.starts_with(it.file.0) && lower.ends_with(it.file.1);
            let manager = MANAGERS.iter().find(is_its)?;
            let file = folder.join(name);
            let files = (manager.read)(&disk.read(&file, DEPLOYMENT_LIST_MAX).ok()?)?;
            Some(Self::new(manager.name, files))
        });
        lists.collect()
    }

    fn new(manager: &'static str, deployed: Deployed) -> Self {
        let (mut files, mut mods, mut numbers) = (HashMap::new(), Vec::new(), HashMap::new());
        for (path, source) in deployed {
            let number = *numbers.entry(source.clone()).or_insert_with(|| {
                mods.push(source);
                mods.len() - 1
            });
            files.insert(key(&path), number);
        }
        Self { manager, files, mods }
    }

    /// The mod of the file at a path.
    pub(crate) fn mod_of(&self, path: &str) -> Option<&str> {
        self.files.get(&key(path)).map(|&number| self.mods[number].as_str())
    }

    /// The name of a mod as the list spells it.
    pub(crate) fn mod_named(&self, name: &str) -> Option<&str> {
        self.mods.iter().find(|it| same(it, name)).map(String::as_str)
    }

    /// The folded paths of the files of a mod.
    pub(crate) fn files_of(&self, name: &str) -> impl Iterator<Item = &str> {
        let number = self.mods.iter().position(|it| same(it, name));
        self.files.iter().filter(move |(_, of)| Some(**of) == number).map(|(path, _)| path.as_str())
    }
}

/// The folder of a mod and its name, if the file at a path below a folder is a link into it, as managers make
/// them.
pub(crate) fn linked_mod(disk: &Disk, folder: &Path, path: &str) -> Option<(PathBuf, String)> {
    let file = disk.find(folder, path)?.path;
    // A link may be the file itself or a folder above it.
    let target = disk.canonical(&file).ok()?;
    let folder = disk.canonical(folder).ok()?;
    if target.starts_with(folder) {
        return None;
    }
    let mut names = target.components();
    for name in path.split('/').rev() {
        let last = names.next_back()?.as_os_str().to_str()?;
        if !same(last, name) {
            return None;
        }
    }
    let mut staged = names.as_path();
    if staged.file_name().is_some_and(|name| same(&name.to_string_lossy(), "Data")) {
        staged = staged.parent()?;
    }
    Some((staged.to_owned(), staged.file_name()?.to_str()?.to_owned()))
}

fn key(path: &str) -> String {
    fold(path.replace('\\', "/").trim_start_matches(['.', '/']))
}

fn vortex(bytes: &[u8]) -> Option<Deployed> {
    #[derive(Deserialize)]
    struct List {
        files: Vec<Option<File>>,
    }
    #[derive(Deserialize)]
    struct File {
        #[serde(rename = "relPath")]
        path: String,
        source: String,
    }
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let list: List = serde_json::from_slice(bytes).ok()?;
    Some(list.files.into_iter().flatten().map(|file| (file.path, file.source)).collect())
}

/// limo names mods only by their numbers.
fn limo(bytes: &[u8]) -> Option<Deployed> {
    #[derive(Deserialize)]
    struct List {
        files: Option<Vec<File>>,
    }
    #[derive(Deserialize)]
    struct File {
        path: String,
        mod_id: i64,
    }
    let list: List = serde_json::from_slice(bytes).ok()?;
    Some(list.files.unwrap_or_default().into_iter().map(|it| (it.path, it.mod_id.to_string())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_of_all_managers_name_the_mod_of_a_file_in_any_case() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        let file = r#"{"relPath":"Textures\\a.dds","source":"Armor-12","target":"","time":1}"#;
        write("vortex.deployment.json", &format!("\u{feff}{{\"version\":1,\"files\":[null,{file}]}}"));
        write("vortex.deployment.dinput.json", "not a list");
        write(".lmmfiles", r#"{"files":[{"path":"meshes/b.nif","mod_id":7}]}"#);
        let lists = DeploymentList::in_folder(&Disk::default(), dir.path());
        let found = |path: &str| -> Vec<(&str, &str)> {
            lists.iter().filter_map(|list| Some((list.manager, list.mod_of(path)?))).collect()
        };
        assert_eq!(found("textures/A.dds"), [("Vortex", "Armor-12")]);
        assert_eq!(found("Meshes/B.nif"), [("limo", "7")]);
        assert_eq!(found("textures/b.dds"), []);
        let vortex = lists.iter().find(|it| it.manager == "Vortex").unwrap();
        assert_eq!(vortex.mod_named("ARMOR-12"), Some("Armor-12"));
        assert_eq!(vortex.files_of("armor-12").collect::<Vec<_>>(), [fold("textures/a.dds")]);
    }
}
