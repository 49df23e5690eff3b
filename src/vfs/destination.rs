//! What owns a folder to write to: a game, a mod manager, a source, another mount with `--edit`, or just
//! the user.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, statat};

use super::library::Vfs;
use crate::folder::StoredChanges;
use crate::game::find::{find, game_in};
use crate::game::{Disk, Environment, find_instances, is_data_folder};
use crate::shown::{Shown, quoted};
use crate::system::disk_id::DiskId;
use crate::system::edit_mount;
use crate::system::mountinfo;
use crate::system::walk::{LastLink, Missing, open_folder};

/// A warning if a game loads what is written to a folder, which may not exist yet.
pub(crate) fn warn_of_game(folder: &Path) {
    // A game loads nothing that is beside its data folder.
    if let Some(owner) = FolderOwner::of_game(folder).filter(|it| it.relation != Relation::Around) {
        log::warn!("{}: {owner}, so the game loads what is written there", folder.shown());
    }
}

/// Why a folder cannot receive the changes of a mount, and what to give instead. `None` if it is the user's
/// alone. The folder exists, and its path has no links.
pub(crate) fn edits_refusal(folder: &Path, vfs: &Vfs) -> Option<String> {
    let mut known: Vec<(OwnerKind, PathBuf)> = Vec::new();
    known.extend(vfs.order().mods.iter().map(|mods| (OwnerKind::Mods, mods.folder.clone())));
    known.extend(folders_of_instances(&Disk::default()));
    // The folder of mods that the user probably means.
    let is_near = |mods: &&PathBuf| mods.parent().is_some_and(|instance| folder.starts_with(instance));
    let mut mods = known.iter().filter(|(what, _)| matches!(what, OwnerKind::Mods)).map(|(_, path)| path);
    let mods = match vfs.order().mods {
        Some(_) => mods.next(),
        None => mods.find(is_near),
    };
    let free = new_folder(mods.map_or(Path::new(""), PathBuf::as_path));
    if let Some(owner) = FolderOwner::of_edits(folder, vfs, known) {
        let free = quoted(&free.to_string_lossy());
        return Some(format!("{owner}, and changes would go there; give a new folder: --edit {free}"));
    }
    let linked = linked_file(folder)?;
    Some(format!(
        "{} has other names elsewhere (hard links), so a change would reach a file elsewhere, such as a \
         deployed mod; give a new folder, or a copy of this one (`cp -r`)",
        linked.shown()
    ))
}

/// A file in a folder that has more names (hard links) than the folder shows.
fn linked_file(folder: &Path) -> Option<PathBuf> {
    let folder = open_folder(folder, Missing::Fail, LastLink::Refuse).ok()?;
    let mut linked = HashMap::new();
    let _ = StoredChanges::visit(folder, |file| {
        let stat = statat(file.folder, file.name, AtFlags::SYMLINK_NOFOLLOW);
        let Some(stat) = stat.ok().filter(|it| it.st_nlink > 1) else { return };
        let path = || file.within.join(OsStr::from_bytes(file.name));
        // The folder shows one of its names. Another may be made meanwhile.
        let (elsewhere, _) = linked.entry(DiskId::from(&stat)).or_insert_with(|| (stat.st_nlink, path()));
        *elsewhere = elsewhere.saturating_sub(1);
    });
    linked.into_values().filter(|(elsewhere, _)| *elsewhere > 0).map(|(_, path)| path).min()
}

/// A folder that does not exist yet.
fn new_folder(around: &Path) -> PathBuf {
    let names = (2..).map(|number| format!("My Edits {number}"));
    let mut names = std::iter::once("My Edits".to_owned()).chain(names).map(|name| around.join(name));
    names.find(|it| it.symlink_metadata().is_err()).unwrap_or_default()
}

/// What a folder belongs to.
#[derive(Debug)]
struct FolderOwner {
    what: OwnerKind,
    /// Where the folder is.
    relation: Relation,
    /// The path of what it belongs to.
    path: PathBuf,
}

/// What a folder can belong to.
#[derive(Clone, Debug)]
enum OwnerKind {
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
    /// A folder in which a writable mount works, and which it empties.
    Work,
}

/// Where a folder is, seen from what it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Relation {
    Same,
    Inside,
    Around,
}

impl FolderOwner {
    /// The owner of a folder of edits of a mount. Folders are compared by what they are, and not by their
    /// spelling. `known` has the folders of managers.
    fn of_edits(folder: &Path, vfs: &Vfs, mut known: Vec<(OwnerKind, PathBuf)>) -> Option<Self> {
        if let Some(work) = folder.ancestors().find(|it| it.file_name().is_some_and(edit_mount::is_made)) {
            let relation = if work == folder { Relation::Same } else { Relation::Inside };
            return Some(Self { what: OwnerKind::Work, relation, path: work.to_owned() });
        }
        let game = vfs.order().installation.as_ref();
        known.extend(game.map(|it| (OwnerKind::Game(it.title.name), it.folder.join(it.title.data))));
        known.extend(vfs.layers().map(|layer| (OwnerKind::Source, layer.path().to_owned())));
        let mounts = mountinfo::mounts();
        // Another user's mount could name a folder on a disk that hangs.
        let edited = mounts
            .iter()
            .filter(|it| it.is_trusted())
            .filter_map(|it| Some((it, edit_mount::edit_folder(it)?)));
        known.extend(edited.map(|(it, edit)| (OwnerKind::Edits(PathBuf::from(&it.source)), edit)));
        Self::of_game_on(&Disk::default(), folder).or_else(|| Self::among(folder, known))
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
            Some(Self { what: OwnerKind::Game(name), relation, path: path.to_owned() })
        };
        if let Some(title) = game_in(disk, folder) {
            return owner(title.name, Relation::Around, &folder.join(title.data));
        }
        folder.ancestors().filter(|it| is_data_folder(it)).find_map(|data| {
            let title = data.ancestors().skip(1).take(DEPTH_MAX).find_map(|game| {
                let title = game_in(disk, game)?;
                // Another folder that differs only in case is the game's under Wine.
                let within = data.strip_prefix(game).ok()?.to_str()?;
                within.eq_ignore_ascii_case(title.data).then_some(title)
            })?;
            owner(title.name, if data == folder { Relation::Same } else { Relation::Inside }, data)
        })
    }

    /// The path to which a folder is related in a way that counts; the nearest of several.
    fn among(folder: &Path, known: Vec<(OwnerKind, PathBuf)>) -> Option<Self> {
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
            let counts = !matches!((&what, relation), (OwnerKind::Mods, Relation::Inside));
            counts.then_some(Self { what, relation, path })
        });
        related.min_by_key(|it| it.relation)
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
            OwnerKind::Game(name) => write!(f, "the data folder of {name}")?,
            OwnerKind::Manager => f.write_str("a folder that Mod Organizer fills")?,
            OwnerKind::Mods => f.write_str("the folder of Mod Organizer's mods")?,
            OwnerKind::Source => f.write_str("a source of this mount")?,
            OwnerKind::Work => f.write_str("a folder in which a writable mount works")?,
            OwnerKind::Edits(mount) => write!(f, "the folder of edits of the mount on {}", mount.shown())?,
        }
        if self.relation == Relation::Same { Ok(()) } else { write!(f, " ({})", self.path.shown()) }
    }
}

/// Maximum depth of a data folder below the folder of its game. In Oblivion Remastered, it is five.
const DEPTH_MAX: usize = 5;

/// How long instances may be searched for.
const SEARCH_TIME: Duration = Duration::from_secs(1);

/// The folders of all instances of Mod Organizer, those of the mods first. They may be anywhere.
fn folders_of_instances(disk: &Disk) -> Vec<(OwnerKind, PathBuf)> {
    let environment = Environment::of_process();
    let found = find_instances(disk, &environment, &find(disk, &environment), Some(SEARCH_TIME));
    let kinds = || [OwnerKind::Mods].into_iter().chain(std::iter::repeat(OwnerKind::Manager));
    let mut folders: Vec<(OwnerKind, PathBuf)> =
        found.into_iter().flat_map(|it| kinds().zip(it.folders)).collect();
    folders.sort_by_key(|(what, _)| !matches!(what, OwnerKind::Mods));
    folders
}

fn id(path: &Path) -> Option<DiskId> {
    rustix::fs::stat(path).ok().map(|it| DiskId::from(&it))
}
