//! Whose a folder is that something is to be written to: a game's, a mod manager's, a source, another mount's
//! folder of edits, or just the user's.

use std::fmt;
use std::path::{Path, PathBuf};

use super::library::Vfs;
use crate::game::find::{Installations, game_in};
use crate::game::{Disk, Environment, instance, is_data_folder};
use crate::shown::{Shown, quoted};
use crate::system::disk_id::DiskId;
use crate::system::edit_mount;
use crate::system::mountinfo;

/// Says so if a game loads what is written to a folder, which may not exist yet.
pub(crate) fn warn_of_game(folder: &Path) {
    if let Some(owner) = FolderOwner::of_game(folder) {
        log::warn!("{}: {owner}, so the game loads what is written there", folder.shown());
    }
}

/// What a folder belongs to.
#[derive(Debug)]
pub(crate) struct FolderOwner {
    what: What,
    /// Where the folder is.
    relation: Relation,
    /// The path of what it belongs to.
    path: PathBuf,
}

/// What a folder can belong to.
#[derive(Clone, Debug)]
enum What {
    /// The folder of a game, or its data folder. The text names the game.
    Game(&'static str),
    /// A folder that a mod manager fills itself.
    Manager,
    /// The folder of a manager's mods. A mod in it is the user's.
    Mods,
    /// An archive or folder that is mounted.
    Source,
    /// The folder of edits of the mount on this path.
    Edits(PathBuf),
}

/// Where a folder is, seen from what it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Relation {
    Same,
    Inside,
    Around,
}

impl FolderOwner {
    /// The owner of a folder of edits of a mount, which must be the user's alone. `folder` exists, and its
    /// path has no links. Folders are compared by what they are, not by their spelling.
    pub(crate) fn of_edits(folder: &Path, vfs: &Vfs) -> Option<Self> {
        let disk = Disk::default();
        let order = vfs.order();
        let mut known = Vec::new();
        if let Some(game) = &order.installation {
            known.push((What::Game(game.title.name), game.folder.join(game.title.data)));
        }
        known.extend(order.mods.iter().map(|mods| (What::Mods, mods.folder.clone())));
        known.extend(instance_around(&disk, folder));
        known.extend(vfs.layers().map(|layer| (What::Source, layer.path().to_owned())));
        let mounts = mountinfo::mounts();
        let edited = mounts.iter().filter_map(|it| Some((it, edit_mount::edit_folder(it)?)));
        known.extend(edited.map(|(it, edit)| (What::Edits(PathBuf::from(&it.source)), edit)));
        Self::of_game_on(&disk, folder).or_else(|| Self::among(folder, known))
    }

    /// The game that loads what is written to a folder. Only the folders above are looked at, so no game is
    /// searched for.
    fn of_game(folder: &Path) -> Option<Self> {
        let absolute = std::path::absolute(folder).ok()?;
        let existing = absolute.ancestors().find_map(|it| it.canonicalize().ok())?;
        Self::of_game_on(&Disk::default(), &existing)
    }

    fn of_game_on(disk: &Disk, folder: &Path) -> Option<Self> {
        let owner = |name, relation, path: &Path| {
            Some(Self { what: What::Game(name), relation, path: path.to_owned() })
        };
        if let Some(title) = game_in(disk, folder) {
            return owner(title.name, Relation::Around, folder);
        }
        folder.ancestors().filter(|it| is_data_folder(it)).find_map(|data| {
            let title = data.ancestors().skip(1).take(DEPTH_MAX).find_map(|game| {
                let title = game_in(disk, game)?;
                let is_data = disk.find_folder(game, title.data).is_some_and(|it| is_same(&it, data));
                is_data.then_some(title)
            })?;
            owner(title.name, if data == folder { Relation::Same } else { Relation::Inside }, data)
        })
    }

    /// The one of some paths to which a folder is related in a way that counts; the nearest of several.
    fn among(folder: &Path, known: Vec<(What, PathBuf)>) -> Option<Self> {
        let own = id(folder)?;
        let above: Vec<DiskId> = folder.ancestors().skip(1).filter_map(id).collect();
        let related = known.into_iter().filter_map(|(what, path)| {
            let real = path.canonicalize().ok()?;
            let there = id(&real)?;
            let relation = match () {
                () if there == own => Relation::Same,
                () if above.contains(&there) => Relation::Inside,
                () if real.ancestors().skip(1).filter_map(id).any(|it| it == own) => Relation::Around,
                () => return None,
            };
            let counts = !matches!((&what, relation), (What::Mods, Relation::Inside));
            counts.then_some(Self { what, relation, path })
        });
        related.min_by_key(|it| it.relation)
    }

    /// A new folder to propose instead, as an argument of the shell.
    pub(crate) fn proposal(folder: &Path, vfs: &Vfs) -> String {
        let mods = vfs.order().mods.as_ref().map(|mods| mods.folder.clone());
        let around = || instance_around(&Disk::default(), folder).into_iter().next();
        match mods.or_else(|| around().map(|(_, path)| path)) {
            Some(mods) => quoted(&mods.join("My Edits").to_string_lossy()),
            None => quoted("My Edits"),
        }
    }
}

impl fmt::Display for FolderOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.relation {
            Relation::Same => "this is ",
            Relation::Inside => "this is in ",
            Relation::Around => "this contains ",
        })?;
        match &self.what {
            What::Game(name) => write!(f, "the data folder of {name}")?,
            What::Manager => f.write_str("a folder that Mod Organizer fills")?,
            What::Mods => f.write_str("the folder of Mod Organizer's mods")?,
            What::Source => f.write_str("a source of this mount")?,
            What::Edits(mount) => write!(f, "the folder of edits of the mount on {}", mount.shown())?,
        }
        if self.relation == Relation::Same { Ok(()) } else { write!(f, " ({})", self.path.shown()) }
    }
}

/// How many folders a data folder is below its game's, at most. That of Oblivion Remastered is five.
const DEPTH_MAX: usize = 5;

/// The folders of the instance of Mod Organizer that a folder is in, at most two folders above it. The folder
/// of the mods is the first.
fn instance_around(disk: &Disk, folder: &Path) -> Vec<(What, PathBuf)> {
    let instance_in = |it: &Path| instance(disk, it, &Environment::of_process(), &Installations::default());
    let folders = folder.ancestors().take(3).find_map(instance_in).map(|it| it.folders).unwrap_or_default();
    let kinds = [What::Mods].into_iter().chain(std::iter::repeat(What::Manager));
    kinds.zip(folders).collect()
}

fn id(path: &Path) -> Option<DiskId> {
    rustix::fs::stat(path).ok().map(|it| DiskId::from(&it))
}

fn is_same(one: &Path, other: &Path) -> bool {
    id(one).is_some_and(|one| Some(one) == id(other))
}
