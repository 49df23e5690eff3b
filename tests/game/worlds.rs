//! The worlds of `../shared/games/mkgames.py`. They hold absolute paths, so each test writes its own.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::mounted::{Finished, TestDir, run};

/// A home with launchers, a game and mods, and what the game should load.
pub(super) struct World {
    /// Name of the world.
    pub(super) name: String,
    /// Folder of the world. The paths in [`Self::expected`] are relative to it.
    pub(super) root: PathBuf,
    /// What the game should load (expected.json).
    pub(super) expected: Value,
}

impl World {
    /// A bsafs command that uses the world's home.
    pub(super) fn bsafs(&self, dir: &TestDir, arguments: &[&str]) -> Command {
        let mut command = dir.bsafs(arguments);
        command.env("HOME", self.root.join("home")).env("USER", "nobody");
        for variable in ["XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"] {
            command.env_remove(variable);
        }
        command
    }

    /// Runs bsafs with the world's home.
    pub(super) fn run(&self, dir: &TestDir, arguments: &[&str]) -> Finished {
        run(&mut self.bsafs(dir, arguments))
    }

    /// The expected path of a key that every world has.
    pub(super) fn folder(&self, key: &str) -> PathBuf {
        self.root.join(self.expected[key].as_str().unwrap())
    }

    /// Every source that can name the game: its id, folder, settings, and its manager's instance.
    pub(super) fn sources(&self) -> Vec<PathBuf> {
        match self.expected["game"].as_str().unwrap() {
            _ if self.expected["mo2_dir"].is_string() => {
                let instance = self.folder("mo2_dir");
                vec![instance.join("ModOrganizer.ini"), instance]
            }
            id @ "openmw" => {
                let (folder, home) = (self.folder("game_dir"), self.root.join("home"));
                vec![id.into(), folder.join("openmw.cfg"), home.join(".config/openmw/openmw.cfg"), folder]
            }
            id => vec![id.into(), self.folder("game_dir")],
        }
    }

    /// The source that a user would name.
    pub(super) fn source(&self) -> String {
        let path =
            |key: &str| self.root.join(self.expected[key].as_str().unwrap()).to_str().unwrap().to_owned();
        match self.expected["game"].as_str().unwrap() {
            _ if self.expected["mo2_dir"].is_string() => path("mo2_dir"),
            "openmw" => path("game_dir") + "/openmw.cfg",
            id => id.to_owned(),
        }
    }

    /// The expected path of a key, if the world has the key and the path exists.
    pub(super) fn path(&self, key: &str) -> Option<PathBuf> {
        self.expected[key].as_str().map(|path| self.root.join(path)).filter(|path| path.exists())
    }
}

/// Writes all worlds into a folder. If the script is missing, says so and returns no worlds.
pub(super) fn write(dir: &TestDir) -> Vec<World> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/games/mkgames.py");
    if !script.is_file() {
        // Not `eprintln!`: the test harness shows its output only if the test fails.
        let line = format!("worlds of games: SKIPPED, there is no {}\n", script.display());
        io::stderr().write_all(line.as_bytes()).unwrap();
        return Vec::new();
    }
    let folder = dir.path("worlds");
    // Without -B, Python would write compiled files beside the script.
    run(Command::new("python3").arg("-B").arg(script).arg(&folder)).success();
    let index: Value = serde_json::from_slice(&fs::read(folder.join("index.json")).unwrap()).unwrap();
    let names = index.as_array().unwrap().iter().map(|case| case["case"].as_str().unwrap().to_owned());
    let world = |name: String| {
        let root = folder.join(&name);
        let mut expected: Value =
            serde_json::from_slice(&fs::read(root.join("expected.json")).unwrap()).unwrap();
        // The list that Oblivion Remastered comes with names a plugin that it does not have.
        if let Some(notes) = expected["lint_subjects"].as_array_mut() {
            notes.retain(|note| note["subject"] != "AltarESPLocal.esp");
        }
        World { name, root, expected }
    };
    let worlds: Vec<World> = names.map(world).collect();
    assert!(worlds.len() >= 14, "{} worlds", worlds.len());
    worlds
}

/// Writes all worlds, and returns the one with this name. If the script is missing, says so.
pub(super) fn world(dir: &TestDir, name: &str) -> Option<World> {
    let worlds = write(dir);
    if worlds.is_empty() {
        return None;
    }
    let found = worlds.into_iter().find(|world| world.name == name);
    Some(found.unwrap_or_else(|| panic!("no world has the name {name}")))
}
