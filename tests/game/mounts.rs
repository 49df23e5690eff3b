//! `bsafs mount` of each world: who wins each path, what is absent, which plugins are there.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::worlds::{self, World};
use crate::mounted::{Mounted, TestDir, run};

/// Mounts a source of a world. Warnings are part of the worlds, some of whose files cannot be used.
fn mount(world: &World, dir: &TestDir, source: &Path) -> Mounted {
    let finished = run(&mut world.bsafs(dir, &["mount", source.to_str().unwrap(), "mnt"]));
    assert_eq!(finished.code, 0, "{}: {}: {}", world.name, source.display(), finished.err);
    Mounted::at(&dir.path("mnt"), finished.out)
}

/// The paths of all files below a folder in lower case, and how they are listed.
fn listed(folder: &Path) -> HashMap<String, PathBuf> {
    let (mut found, mut folders) = (HashMap::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
                continue;
            }
            let name = entry.path().strip_prefix(folder).unwrap().to_str().unwrap().to_lowercase();
            assert_eq!(found.insert(name, entry.path()), None, "listed twice");
        }
    }
    found
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().unwrap().iter().map(|it| it.as_str().unwrap())
}

#[test]
fn every_world_shows_the_winner_of_each_path_however_it_is_named() {
    let dir = TestDir::new();
    for world in worlds::write(&dir) {
        for source in world.sources() {
            let mount = mount(&world, &dir, &source);
            let label = format!("{} by {}", world.name, source.display());
            let mut listed = listed(&mount.path);
            for (path, layer) in world.expected["winners"].as_object().unwrap() {
                let content = format!("layer: {}\n", layer.as_str().unwrap());
                let found = listed.remove(path).unwrap_or_else(|| panic!("{label}: no {path}"));
                for spelling in [found, mount.join(path), mount.join(path.to_uppercase())] {
                    let read = String::from_utf8(fs::read(spelling).unwrap()).unwrap();
                    assert!(read.starts_with(&content), "{label}: {path}: {content}{read}");
                }
            }
            for path in texts(&world.expected["absent"]) {
                assert!(!mount.join(path).exists() && !listed.contains_key(path), "{label}: {path}");
            }
            let folders = world.expected["layers"].as_array().unwrap().iter();
            let folders: Vec<PathBuf> = folders
                .filter(|layer| layer["kind"] == "folder")
                .map(|layer| world.root.join(layer["path"].as_str().unwrap()))
                .collect();
            for plugin in texts(&world.expected["plugins"]) {
                if let Some(file) = folders.iter().rev().map(|it| it.join(plugin)).find(|it| it.is_file()) {
                    assert_eq!(mount.read(plugin), fs::read(file).unwrap(), "{label}: {plugin}");
                }
            }
            // What is left are plugins, and archives that nothing loads.
            for (name, path) in listed {
                let read = fs::read(path).unwrap();
                assert!(!read.starts_with(b"layer: "), "{label}: {name} is in no layer");
            }
            mount.umount(&dir);
        }
    }
}
