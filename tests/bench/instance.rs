//! Instances of Mod Organizer 2 in real size, because that is what users mount: a game, hundreds of mods
//! with loose files and archives, and a profile that enables them all.
//!
//! Three of four files are in folders that several mods have, and some of these have the same name in several
//! mods, as in mods that replace the same textures. The other files are in folders of a single mod. All files
//! have only a few bytes, because only names and changes are measured.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::corpus::{Set, in_parallel, write_parts};
use crate::scale::Scale;
use crate::support::home::plugin;
use crate::support::{Tes4, Tes4File};
use crate::{Outcome, at};

/// Change this together with the content of an instance, so that old instances are rebuilt.
const VERSION: &str = "1";

/// Loose files of each mod, in [`LEAVES`] folders.
pub(crate) const LOOSE_PER_MOD: usize = 200;
const LEAVES: usize = 36;
/// The last of every so many leaves holds files that no other mod has.
const SHARES: usize = 4;
/// Files of an archive. Four mods of fifteen have an archive.
const FILES_PER_ARCHIVE: usize = 500;
const FILES_PER_ARCHIVE_FOLDER: usize = 25;
/// Names of files in a shared folder. Mods pick from them, so about one name in six is in several mods.
const NAMES: usize = 48;
/// Flags of a plugin that takes no place in the load order of 254 plugins.
const LIGHT: u32 = 0x200;
const MASTER: u32 = 0x1;

/// The folders of game data that most mods use.
const SHARED: [&str; 12] = [
    "textures/architecture",
    "textures/landscape",
    "textures/clutter",
    "textures/actors/character",
    "textures/armor",
    "textures/weapons",
    "meshes/architecture",
    "meshes/landscape",
    "meshes/clutter",
    "meshes/actors/character",
    "meshes/armor",
    "meshes/weapons",
];

/// An instance with this many mods.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Instance {
    pub(crate) mods: usize,
}

impl Instance {
    pub(crate) fn archives(self) -> usize {
        (self.mods * 4).div_ceil(15)
    }

    /// Number of files, loose and in archives, of which many hide each other.
    pub(crate) fn files(self) -> usize {
        self.mods * LOOSE_PER_MOD + self.archives() * FILES_PER_ARCHIVE
    }

    /// The folder that has the game and the instance.
    fn folder(self, corpora: &Path) -> PathBuf {
        Set::Instance.folder(corpora).join(self.mods.to_string())
    }

    /// The folder to mount, which has `ModOrganizer.ini`.
    pub(crate) fn root(self, corpora: &Path) -> PathBuf {
        self.folder(corpora).join("mo2")
    }

    /// The folder whose files win over those of all mods.
    pub(crate) fn overwrite(self, corpora: &Path) -> PathBuf {
        self.root(corpora).join("overwrite")
    }

    /// The folders of loose files that a mount shows.
    pub(crate) fn loose(self, corpora: &Path) -> [PathBuf; 3] {
        let mods = self.root(corpora).join("mods");
        [mods, self.overwrite(corpora), self.folder(corpora).join("game/Data")]
    }

    /// The folder of the mod with this number.
    pub(crate) fn mod_folder(self, corpora: &Path, number: usize) -> PathBuf {
        self.root(corpora).join("mods").join(mod_name(number))
    }

    /// A loose file of this mod that no other mod has, relative to the mod and to the mount.
    pub(crate) fn own_file(self, number: usize) -> PathBuf {
        let leaf = SHARES - 1;
        Path::new(&leaf_folder(self, number, leaf)).join(file_name(number, leaf, leaf))
    }

    /// A loose file of the last mod, which wins, in one of the folders that many mods have.
    pub(crate) fn winning_file(self, choice: usize) -> PathBuf {
        let leaf = choice % (LEAVES / SHARES) * SHARES;
        let number = self.mods - 1;
        Path::new(&leaf_folder(self, number, leaf)).join(file_name(number, leaf, leaf))
    }
}

/// Determines the content of the instances of a scale.
pub(crate) fn stamp(scale: &Scale) -> String {
    format!("{VERSION} {:?}", scale.instances.mods)
}

/// Builds the instances of a scale.
pub(crate) fn build(corpora: &Path, scale: &Scale) -> Outcome<()> {
    scale.instances.mods.iter().try_for_each(|&mods| Instance { mods }.build(corpora))
}

impl Instance {
    fn build(self, corpora: &Path) -> Outcome<()> {
        self.build_game(corpora)?;
        self.build_profile(corpora)?;
        let numbers: Vec<usize> = (0..self.mods).collect();
        in_parallel(&numbers, |&number| self.build_mod(corpora, number)).into_iter().collect()
    }

    /// Writes a game without archives of its own.
    fn build_game(self, corpora: &Path) -> Outcome<()> {
        let game = self.folder(corpora).join("game");
        write(&game.join("SkyrimSE.exe"), b"MZ")?;
        write(&game.join("Data/Skyrim.esm"), &plugin(4, MASTER, &[]))?;
        for name in MASTERS {
            write(&game.join("Data").join(name), &plugin(4, MASTER, &["Skyrim.esm"]))?;
        }
        Ok(())
    }

    fn build_profile(self, corpora: &Path) -> Outcome<()> {
        let root = self.root(corpora);
        let game = std::path::absolute(self.folder(corpora).join("game"))?;
        let game = format!("Z:{}", game.display()).replace('/', "\\\\");
        let settings = format!(
            "[General]\ngameName=Skyrim Special Edition\nselected_profile=@ByteArray(Default)\n\
             gamePath=@ByteArray({game})\nversion=2.5.2\n"
        );
        write(&root.join("ModOrganizer.ini"), settings.as_bytes())?;
        fs::create_dir_all(root.join("overwrite"))?;
        // The first line has the highest priority, so the last mod is the first line.
        let (mut mods, mut plugins, mut order) = (String::new(), String::new(), String::new());
        for number in (0..self.mods).rev() {
            write!(mods, "+{}\r\n", mod_name(number))?;
        }
        for name in ["Skyrim.esm"].iter().chain(&MASTERS) {
            write!(order, "{name}\r\n")?;
        }
        for number in (0..self.mods).filter(|&number| self.archive_of(number).is_some()) {
            write!(plugins, "*{}.esp\r\n", stem(number))?;
            write!(order, "{}.esp\r\n", stem(number))?;
        }
        let profile = root.join("profiles/Default");
        write(&profile.join("settings.ini"), b"[General]\r\nLocalSettings=true\r\n")?;
        write(&profile.join("skyrim.ini"), b"[Archive]\r\nsResourceArchiveList=\r\n")?;
        write(&profile.join("modlist.txt"), mods.as_bytes())?;
        write(&profile.join("plugins.txt"), plugins.as_bytes())?;
        write(&profile.join("loadorder.txt"), order.as_bytes())
    }

    /// The number of the archive that a mod has.
    fn archive_of(self, number: usize) -> Option<usize> {
        let before = |number: usize| (number * 4).div_ceil(15);
        (before(number + 1) > before(number)).then(|| before(number))
    }

    fn build_mod(self, corpora: &Path, number: usize) -> Outcome<()> {
        let folder = self.mod_folder(corpora, number);
        write(&folder.join("meta.ini"), b"[General]\r\nmodid=1\r\n")?;
        for leaf in 0..LEAVES {
            let within = folder.join(leaf_folder(self, number, leaf));
            fs::create_dir_all(&within).map_err(at(&within))?;
            for file in (leaf..LOOSE_PER_MOD).step_by(LEAVES) {
                let path = within.join(file_name(number, leaf, file));
                fs::write(&path, format!("mod {number}, file {file}\n")).map_err(at(&path))?;
            }
        }
        let Some(archive) = self.archive_of(number) else { return Ok(()) };
        write(&folder.join(stem(number)).with_extension("esp"), &plugin(4, LIGHT, &["Skyrim.esm"]))?;
        let mut built = Tes4::new(105);
        for file in 0..FILES_PER_ARCHIVE {
            let leaf = file / FILES_PER_ARCHIVE_FOLDER;
            let within = if leaf % SHARES < SHARES - 1 {
                shared_folder(self, number * LEAVES + leaf * 7)
            } else {
                format!("meshes/{}/part{leaf:02}", stem(number))
            };
            let name = format!("object{:02}.nif", file % FILES_PER_ARCHIVE_FOLDER);
            let data = format!("archive {archive}, file {file}\n");
            built = built.add(within.replace('/', "\\"), Tes4File::new(name, data));
        }
        write_parts(&folder.join(stem(number)).with_extension("bsa"), &built.build_parts())
    }
}

/// The game's own plugins after the first.
const MASTERS: [&str; 4] = ["Update.esm", "Dawnguard.esm", "HearthFires.esm", "Dragonborn.esm"];

fn mod_name(number: usize) -> String {
    format!("Mod {number:04} - Replacer")
}

/// The name of the plugin and the archive of a mod, without extension.
fn stem(number: usize) -> String {
    format!("Mod{number:04}")
}

/// The folder of a leaf. Three of four are folders that other mods have, too.
fn leaf_folder(instance: Instance, number: usize, leaf: usize) -> String {
    match leaf % SHARES {
        3 if leaf % 8 == 3 => format!("textures/{}/set{leaf:02}", stem(number)),
        3 => format!(
            "meshes/actors/character/animations/openanimationreplacer/{0}/{0} idles/stance{leaf:02}/male",
            stem(number)
        ),
        _ => shared_folder(instance, number * LEAVES + leaf),
    }
}

/// One of the folders that many mods have. Their number grows with that of the mods, so that instances of
/// all sizes have equally many conflicts.
fn shared_folder(instance: Instance, choice: usize) -> String {
    // A fixed step through all places makes the choice of each mod look random, but the same in each run.
    let places = (instance.mods * 4).max(12);
    let place = choice * 7919 % places;
    format!("{}/place{place:04}", SHARED[place % SHARED.len()])
}

fn file_name(number: usize, leaf: usize, file: usize) -> String {
    let name = (number * 5 + leaf * 3 + file / LEAVES * 11) % NAMES;
    let extension = ["dds", "nif", "hkx"][leaf % 3];
    format!("Object{name:02}_{}.{extension}", ["d", "n"][name % 2])
}

fn write(path: &Path, content: &[u8]) -> Outcome<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(at(folder))?;
    fs::write(path, content).map_err(at(path))
}
