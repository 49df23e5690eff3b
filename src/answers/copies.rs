//! The copies of a path: one for each place that has it, with what became of it there.

use std::path::{Path, PathBuf};

use super::fate::{Fate, FateReason};
use crate::folder::{MARKED, deleted_by};
use crate::game::Disk;
use crate::shown::Shown;
use crate::system::text::count;
use crate::tree::{Erased, listed_path};
use crate::vfs::file::{VfsFile, VfsLayer};
use crate::vfs::library::Vfs;

/// One file in one place.
#[derive(Clone, Debug)]
pub(crate) struct Copy {
    /// The archive, or the folder that is a layer.
    pub(crate) place: PathBuf,
    pub(crate) fate: CopyFate,
}

/// What became of a copy.
#[derive(Clone, Debug)]
pub(crate) enum CopyFate {
    /// It is the file of the tree.
    Wins,
    /// The copy that wins hides it.
    Loses(VfsFile),
    /// The game ignores loose files here, because of its settings.
    Ignored,
    /// A folder above it marks it as deleted.
    Deleted(Deletion),
}

/// A mark of an overlay. With it, the folder of a writable mount hides files of layers below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Deletion {
    /// The folder that is a layer and has the mark.
    pub(crate) folder: PathBuf,
    /// The path in the tree that was deleted, in lower case.
    pub(crate) path: String,
    /// Whether that is a folder above the copy.
    pub(crate) is_of_folder: bool,
}

/// The marks of deleted files in the layers of a tree.
#[derive(Debug, Default)]
pub(crate) struct Deletions(Vec<(VfsLayer, Erased)>);

impl Deletions {
    pub(crate) fn of(vfs: &Vfs) -> Self {
        let of_layer = |layer: VfsLayer| {
            let is_at_root = vfs.opened().names[layer.number()].has_base(None);
            let folder = u16::try_from(layer.number()).ok().filter(|_| is_at_root);
            let folder = folder.and_then(|number| vfs.store().folder(number))?;
            (folder.names().whiteouts().len() > 0).then(|| (layer, Erased::from(folder.names())))
        };
        Self(vfs.layers().filter_map(of_layer).collect())
    }

    /// The copies of a path, or folders at it, that a mark hides, highest first.
    pub(crate) fn copies(&self, vfs: &Vfs, path: &[u8]) -> Vec<Copy> {
        let path = listed_path(path);
        let marks = self.0.iter().filter_map(|(layer, erased)| Some((layer, erased.deleted_above(&path)?)));
        let marks: Vec<(&VfsLayer, &[u8])> = marks.collect();
        let Some((highest, _)) = marks.last() else { return Vec::new() };
        let names = vfs.opened().names.iter();
        let below = vfs.layers().zip(names).take(highest.number()).filter(|(_, names)| names.has(&path));
        let mut copies: Vec<Copy> = below
            .filter_map(|(layer, _)| {
                let (by, deleted) = marks.iter().find(|(by, _)| by.number() > layer.number())?;
                let deletion = Deletion {
                    folder: by.path().to_owned(),
                    path: String::from_utf8_lossy(deleted).into_owned(),
                    is_of_folder: deleted.len() < path.len(),
                };
                Some(Copy { place: layer.path().to_owned(), fate: CopyFate::Deleted(deletion) })
            })
            .collect();
        copies.reverse();
        copies
    }
}

impl Vfs {
    /// All copies of a path, the winner first. `file` is the copy in question, if there is one: a hidden
    /// copy hides nothing itself. Copies that a mark deletes are found among `deletions`.
    pub(crate) fn copies(&self, file: Option<&VfsFile>, path: &[u8], deletions: &Deletions) -> Vec<Copy> {
        let place = |file: &VfsFile| file.layer().path().to_owned();
        let mut copies = Vec::new();
        if let Some(file) = file {
            copies.push(Copy { place: place(file), fate: CopyFate::Wins });
            copies
                .extend(file.hidden().map(|file| Copy { place: place(&file), fate: CopyFate::Loses(file) }));
        }
        let text = String::from_utf8_lossy(path);
        let ignored = self.opened().ignored_at(&text).map(Path::to_owned);
        copies.extend(ignored.map(|place| Copy { place, fate: CopyFate::Ignored }));
        copies.extend(deletions.copies(self, path));
        copies
    }
}

/// The code of the reason that a copy was deleted in a writable mount.
const DELETED: &str = "deleted";
/// The code of the reason that something is only a mark of such a deletion.
const MARK: &str = "deletion-mark";

impl Copy {
    /// Why a copy that was deleted in a writable mount is hidden; `None` for other copies.
    pub(crate) fn why_deleted(&self) -> Option<FateReason> {
        let CopyFate::Deleted(deletion) = &self.fate else { return None };
        let mark = deletion.mark().map(|it| {
            format!("; to get it back, remove the mark {} while no mount writes there", it.shown())
        });
        let text = format!(
            "{} in {}; the copy of {} is hidden by that{}",
            if deletion.is_of_folder {
                format!("the folder {} was deleted", deletion.path.shown())
            } else {
                "deleted".to_owned()
            },
            name(&deletion.folder).shown(),
            name(&self.place).shown(),
            mark.unwrap_or_default()
        );
        let by = deletion.folder.to_string_lossy().into_owned();
        Some(FateReason { by, ..FateReason::new(Fate::Deleted, DELETED, &self.place, text) })
    }

    /// Whether a mark in this folder hides the copy.
    pub(crate) fn is_deleted_in(&self, folder: &Path) -> bool {
        matches!(&self.fate, CopyFate::Deleted(deletion) if deletion.folder == folder)
    }
}

impl Deletion {
    /// The file on the disk that is the mark. `None` if it is an attribute of a folder.
    fn mark(&self) -> Option<PathBuf> {
        let (above, name) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        let file = [above, &format!("{MARKED}{name}")].join("/");
        let disk = Disk::default();
        let found = [&*self.path, &file].into_iter().filter_map(|path| disk.find(&self.folder, path));
        found.map(|it| it.path).find(|path| !path.is_dir() && deleted_by(path).is_some())
    }
}

/// What a mark on the disk is, in a folder that is a layer. `copies` are those that it hides.
pub(crate) fn why_mark(mark: &Path, deleted: &Path, copies: &[Copy]) -> FateReason {
    let what = match mark == deleted {
        true if mark.is_dir() => "this folder replaced one that was deleted in a writable mount".to_owned(),
        true => "this marks a deletion in a writable mount".to_owned(),
        false => format!("this marks that {} was deleted in a writable mount", name(deleted).shown()),
    };
    let hides = match copies {
        [] => "; it hides nothing now".to_owned(),
        [copy] => format!("; the copy of {} is hidden by that", name(&copy.place).shown()),
        [copy, more @ ..] => {
            let (first, more) = (name(&copy.place), count(more.len(), "other"));
            format!("; the copies of {} and of {more} are hidden by that", first.shown())
        }
    };
    let text = format!("{what}{hides}. A game knows no such marks, and still loads what they hide");
    FateReason::new(Fate::Deleted, MARK, mark, text)
}

fn name(path: &Path) -> &Path {
    path.file_name().map_or(path, Path::new)
}
