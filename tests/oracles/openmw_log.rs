//! Compares the data folders and archives of OpenMW 0.51 with those of bsafs.
//!
//! OpenMW logs each archive and folder that it adds, in order. Then it stops, because its command
//! line names a plugin that does not exist. `openmw_log.txt` holds these lists, as OpenMW itself
//! made them, for the worlds of [`crate::openmw_worlds`]. They are compared in every run. If a root
//! folder with OpenMW 0.51 or later exists, the program itself is run in each world and must agree
//! with the file, too. The root is `/` or the value of `OPENMW_ROOT`. With `BSAFS_UPDATE=1`, the
//! program writes the file.
//!
//! `scripts/fetch-openmw FOLDER` unpacks Debian's OpenMW into such a root. It needs the network:
//!
//! ```text
//! scripts/fetch-openmw /tmp/openmw
//! OPENMW_ROOT=/tmp/openmw cargo test --manifest-path tests/oracles/Cargo.toml openmw_log
//! ```

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bsafs::game::{Disk, Environment, LayerKind, Overrides, plan_openmw};

use crate::openmw_worlds::{WORLDS, World};

/// The file that holds what OpenMW logged.
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/openmw_log.txt");

/// Stands for the list of an OpenMW that adds no folder.
const STOPPED: &str = "OpenMW does not start";

/// The oldest version that is compared, as OpenMW writes it.
const OLDEST: [u32; 2] = [0, 51];

#[test]
fn data_folders_and_archives_are_those_of_openmw() {
    let openmw = OpenMw::find();
    let mut real = BTreeMap::new();
    if let Some(openmw) = &openmw {
        for world in WORLDS {
            let dir = tempfile::tempdir_in("/tmp").unwrap();
            let folder = dir.path().canonicalize().unwrap();
            world.write(&folder);
            real.insert(world.name, openmw.log(world, &folder));
        }
    }
    if openmw.is_some() && std::env::var_os("BSAFS_UPDATE").is_some() {
        let lists = real.iter().map(|(name, list)| format!("{name}\n{}\n", indented(list)));
        fs::write(RECORDED, lists.collect::<String>()).unwrap();
    }
    let recorded = recorded();
    let names: Vec<&str> = recorded.keys().map(String::as_str).collect();
    let mut worlds: Vec<&str> = WORLDS.iter().map(|world| world.name).collect();
    worlds.sort_unstable();
    assert_eq!(names, worlds, "{RECORDED} holds other worlds; see the head of this file");
    for (name, list) in &real {
        assert_eq!(*list, recorded[*name], "OpenMW logs something else in the world {name}");
    }
    for world in WORLDS {
        let dir = tempfile::tempdir_in("/tmp").unwrap();
        let folder = dir.path().canonicalize().unwrap();
        world.write(&folder);
        let theirs = effective(&recorded[world.name], world, &folder);
        assert_eq!(ours(world, &folder), theirs, "{}:\n{}", world.name, world.settings());
    }
}

fn indented(list: &[String]) -> String {
    list.iter().map(|line| format!("    {line}\n")).collect()
}

/// The recorded lists by world.
fn recorded() -> BTreeMap<String, Vec<String>> {
    let mut lists: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut name = String::new();
    for line in fs::read_to_string(RECORDED).unwrap().lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("    ") {
            Some(item) => lists.get_mut(&name).unwrap().push(item.to_owned()),
            None => {
                name = line.to_owned();
                lists.insert(name.clone(), Vec::new());
            }
        }
    }
    lists
}

/// The archives and folders that decide which file wins, lowest first: of several mentions of one, OpenMW's
/// last addition.
fn effective(log: &[String], world: &World, folder: &Path) -> Vec<String> {
    if log == [STOPPED] {
        return log.to_owned();
    }
    let path = |text: &str| {
        let path = PathBuf::from(text.replace(World::FOLDER, folder.to_str().unwrap()));
        path.canonicalize().unwrap_or_else(|error| panic!("{}: {text}: {error}", world.name))
    };
    let mut seen = HashSet::new();
    let mut last: Vec<PathBuf> =
        log.iter().rev().map(|line| path(line)).filter(|path| seen.insert(path.clone())).collect();
    last.reverse();
    shown(&last, folder)
}

/// The paths in the world's folder, relative to it. Others belong to the installed OpenMW.
fn shown(paths: &[PathBuf], folder: &Path) -> Vec<String> {
    let within = paths.iter().filter_map(|path| path.strip_prefix(folder).ok());
    within.map(|path| path.to_str().unwrap().to_owned()).collect()
}

/// The archives and folders of bsafs, lowest first, or its note that OpenMW does not start.
fn ours(world: &World, folder: &Path) -> Vec<String> {
    let environment = Environment {
        home: folder.join("home"),
        xdg_config_home: folder.join("config"),
        xdg_data_home: folder.join("data"),
        user: "user".to_owned(),
        system: "/".into(),
    };
    let start = folder.join(world.start());
    let order = plan_openmw(&Disk::default(), &start, None, &environment, &Overrides::default()).unwrap();
    if order.notes.iter().any(|note| note.text.contains(STOPPED)) {
        return vec![STOPPED.to_owned()];
    }
    let is_shown = |kind: &LayerKind| matches!(kind, LayerKind::Archive | LayerKind::Folder);
    let layers = order.layers.iter().filter(|layer| is_shown(&layer.what));
    let paths: Vec<PathBuf> = layers.map(|layer| layer.path.canonicalize().unwrap()).collect();
    shown(&paths, folder)
}

/// An OpenMW that can be run.
struct OpenMw {
    root: PathBuf,
    program: PathBuf,
}

impl OpenMw {
    /// Finds OpenMW 0.51 or later. Fails if `OPENMW_ROOT` names a folder without it.
    fn find() -> Option<Self> {
        let named = std::env::var_os("OPENMW_ROOT").map(PathBuf::from);
        let root = named.clone().unwrap_or_else(|| "/".into());
        let programs = ["usr/games/openmw", "usr/bin/openmw", "usr/local/bin/openmw"];
        let program = programs.iter().map(|name| root.join(name)).find(|path| path.is_file());
        let found = program.map(|program| Self { root, program });
        let found = found.filter(|it| it.version() >= OLDEST);
        if found.is_none() {
            assert!(named.is_none(), "no OpenMW 0.51 or later in {named:?}");
            crate::report("OpenMW: SKIPPED, not installed: scripts/fetch-openmw and OPENMW_ROOT");
        }
        found
    }

    /// Major and minor version, as the log names it.
    fn version(&self) -> [u32; 2] {
        let dir = tempfile::tempdir_in("/tmp").unwrap();
        let text = self.run(&self.program, dir.path());
        let version = text.lines().find_map(|line| line.split_once("OpenMW version "));
        let mut numbers = version.map_or("", |it| it.1).split('.').map(|it| it.parse().unwrap_or(0));
        [numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)]
    }

    /// The archives and folders in a log, in order. `folder` is the world's.
    fn log(&self, world: &World, folder: &Path) -> Vec<String> {
        let mut program = self.program.clone();
        if world.is_local {
            // OpenMW reads its first settings from the folder of the program.
            let local = folder.join(world.start());
            program = local.join("openmw");
            fs::copy(&self.program, &program).unwrap();
            fs::copy(self.root.join("etc/openmw/defaults.bin"), local.join("defaults.bin")).unwrap();
        }
        let log = self.run(&program, folder);
        if !log.contains("] Adding data directory ") {
            return vec![STOPPED.to_owned()];
        }
        let added = log.lines().filter_map(|line| {
            let archive = line.split_once("] Adding BSA archive ");
            archive.or_else(|| line.split_once("] Adding data directory ")).map(|it| it.1)
        });
        let folder = folder.to_str().unwrap();
        let own = added.filter(|path| path.starts_with(folder));
        own.map(|path| path.replace(folder, World::FOLDER)).collect()
    }

    /// Runs a program in the root, with its settings in `folder`. Returns what it prints.
    fn run(&self, program: &Path, folder: &Path) -> String {
        let root = self.root.canonicalize().unwrap();
        let mut command = if root == Path::new("/") {
            Command::new(program)
        } else {
            // Mounts are private to the command.
            let script = "mount --rbind /proc \"$0/proc\" && mount --rbind /dev \"$0/dev\" && \
                          mount --rbind /tmp \"$0/tmp\" && exec chroot \"$0\" \"$@\"";
            let mut command = Command::new("unshare");
            command.args(["--map-root-user", "--mount", "sh", "-c", script]).arg(&root);
            command.arg(
                program.strip_prefix(&self.root).map_or(program.to_owned(), |it| Path::new("/").join(it)),
            );
            command
        };
        command.arg("--content=None.esp");
        command.env("HOME", folder.join("home"));
        command.env("XDG_CONFIG_HOME", folder.join("config")).env("XDG_DATA_HOME", folder.join("data"));
        command.env("SDL_VIDEODRIVER", "offscreen").env("SDL_AUDIODRIVER", "dummy");
        let output = command.stdin(Stdio::null()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}
