//! What was not looked at when sources were opened, and which paths of the tree it may decide.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::question::{Meant, Question};
use crate::format::is_archive_name;
use crate::game::{Disk, MO2_INI};
use crate::kinds::is_plugin;
use crate::note::{Note, NoteCode};
use crate::shown::in_utf8;
use crate::tree::listed_path;
use crate::vfs::file::VfsLayer;
use crate::vfs::library::Vfs;
use crate::vfs::open_options::Within;
use crate::vfs::sources::layer_plan::{PlannedFolder, PlannedLayer};

/// Something that was not looked at, as a mount reports it to other processes.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct NotLookedAt {
    /// Its path on the disk. Bytes that are not UTF-8 are escaped.
    pub path: String,
    /// The code of the note.
    pub code: String,
    /// Why it was not looked at.
    pub why: String,
    /// How many more there are of this kind, which are not reported.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: usize,
    /// The paths in the tree that it is at. `None` if it may decide any path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Vec<String>>,
}

/// Maximum number of bytes of what a mount reports. It is read by pages, and whenever a command asks a mount.
const REPORTED_MAX: usize = 64 << 10;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl NotLookedAt {
    /// The note about it.
    pub(crate) fn note(&self) -> Note {
        let known = NoteCode::ALL.iter().copied().find(|code| code.as_str() == self.code);
        let code = known.filter(|code| code.is_unseen()).unwrap_or(NoteCode::FileUnreadable);
        Note { more: self.more, ..Note::new(code, &*self.path, &*self.why) }
    }

    /// Whether it may have a file at a path in the tree, or decide which one wins.
    pub(crate) fn is_about(&self, path: &[u8]) -> bool {
        let path = listed_path(path);
        self.at.as_ref().is_none_or(|at| at.iter().any(|at| is_near(at.as_bytes(), &path)))
    }
}

/// What was not looked at in the sources of a mount.
pub(crate) fn reported(vfs: &Vfs) -> Vec<NotLookedAt> {
    let mut left = REPORTED_MAX;
    let mut all: Vec<NotLookedAt> = Vec::new();
    for (note, at) in LayerFolders::of(vfs).unseen(vfs) {
        let at = at.map(|at| at.iter().map(|it| String::from_utf8_lossy(it).into_owned()).collect());
        let (path, code, why) = (note.subject.clone(), note.code.as_str(), note.why_unseen().to_owned());
        let next = NotLookedAt { path, code: code.to_owned(), why, more: note.more, at };
        let of_at = next.at.iter().flatten().map(String::len).sum::<usize>();
        left = left.saturating_sub(next.path.len() + next.why.len() + of_at);
        match all.last_mut() {
            // Where the rest is does not fit, so it may be anywhere.
            Some(last) if left == 0 => (last.more, last.at) = (last.more.saturating_add(1), None),
            _ => all.push(next),
        }
    }
    all
}

/// Of [`Vfs::unseen`], what may have a file at this path or below it, or decide which one wins: archives,
/// what a plan needs, and what is on the way to the path or beyond it.
pub(crate) fn unseen_about<'v>(vfs: &'v Vfs, asked: &Path) -> Vec<&'v Note> {
    let places = LayerFolders::of(vfs);
    let mut unseen: Vec<_> = places.unseen(vfs).collect();
    if unseen.is_empty() {
        return Vec::new();
    }
    let found = Meant::find(vfs, asked).ok();
    let is_anywhere = may_be_anywhere(asked, found.as_ref());
    let meant = found.map(|meant| match meant {
        Meant::Copy(file) => file.path_bytes(),
        Meant::Folder(folder) => folder.path().into_bytes(),
    });
    let question = Question::new(&asked.to_string_lossy(), &Disk::default(), &Vec::new);
    let typed = [Some(asked.as_os_str().as_bytes().to_vec()), Some(question.in_tree().into()), meant];
    let mut paths: Vec<Vec<u8>> = typed.into_iter().flatten().map(|path| listed_path(&path)).collect();
    // What was not looked at may be what a path on the disk means.
    let on_disk = question.disk.or_else(|| std::path::absolute(asked).ok());
    paths.extend(on_disk.and_then(|path| places.at(&in_utf8(&path))).into_iter().flatten());
    let is_about = |at: &Vec<u8>| is_anywhere || paths.iter().any(|path| is_near(at, path));
    unseen.retain(|(_, at)| at.as_ref().is_none_or(|at| at.iter().any(is_about)));
    unseen.into_iter().map(|(note, _)| note).collect()
}

/// Whether a file that was asked for may be at another path than the one that was typed, in any folder.
fn may_be_anywhere(asked: &Path, found: Option<&Meant>) -> bool {
    let typed = listed_path(asked.as_os_str().as_bytes());
    let is_exact = match found {
        Some(Meant::Copy(file)) => listed_path(&file.path_bytes()) == typed,
        Some(Meant::Folder(_)) => true,
        None => false,
    };
    let name = String::from_utf8_lossy(&typed);
    !is_exact && !name.contains('/') && !is_at_top(&name)
}

/// Whether a file of this name is at the top of a data folder, where it decides what else is loaded.
fn is_at_top(name: &str) -> bool {
    is_archive_name(name.as_bytes()) || is_plugin(name) || name.ends_with(".ini")
}

/// Whether one path is that of the other, or of a folder above it.
fn is_near(one: &[u8], other: &[u8]) -> bool {
    let is_above = |one: &[u8], other: &[u8]| {
        let rest = other.strip_prefix(one);
        rest.is_some_and(|rest| one.is_empty() || rest.is_empty() || rest.starts_with(b"/"))
    };
    is_above(one, other) || is_above(other, one)
}

/// The folders among the layers of a tree, by which the path of something on the disk is one in the tree.
struct LayerFolders(Vec<LayerFolder>);

struct LayerFolder {
    /// The path of the folder, as notes name it, without a slash at its end.
    folder: String,
    /// The folder of the tree that contains the layer; empty for the root.
    base: Vec<u8>,
    /// The folder of the tree below which files are listed; `None` for the whole tree.
    within: Option<Vec<u8>>,
}

impl LayerFolders {
    fn of(vfs: &Vfs) -> Self {
        let opened = vfs.opened();
        let mut limits: HashMap<&Path, Option<&Within>> = HashMap::new();
        for layer in &opened.plan.layers {
            if let PlannedLayer::Folder(PlannedFolder { path, rules, .. }) = layer {
                let limit = limits.entry(path).or_insert(rules.within.as_ref());
                *limit = limit.filter(|_| rules.within.is_some());
            }
        }
        let place = |layer: VfsLayer| LayerFolder {
            folder: in_utf8(layer.path()).trim_end_matches('/').to_owned(),
            base: opened.names[layer.number()].base_name().to_vec(),
            within: limits.get(layer.path()).copied().flatten().map(|it| listed_path(it.path())),
        };
        Self(vfs.layers().filter(VfsLayer::is_folder).map(place).collect())
    }

    /// What was not looked at in the part of the tree that is listed. For each, the paths in the tree that it
    /// is at; `None` if it may decide any path.
    fn unseen<'v>(&self, vfs: &'v Vfs) -> impl Iterator<Item = (&'v Note, Option<Vec<Vec<u8>>>)> {
        let of_plan = vfs.order().notes.iter().map(|note| (note, true));
        let others = vfs.notes().skip(of_plan.len()).map(|note| (note, false));
        let unseen = of_plan.chain(others).filter(|(note, _)| note.code.is_unseen());
        unseen.filter_map(|(note, is_of_plan)| {
            if note.code.is_of_archive() {
                return Some((note, None));
            }
            let Some(at) = self.at(&note.subject) else { return Some((note, None)) };
            let decides = |at: &Vec<u8>| {
                let name = String::from_utf8_lossy(at);
                // Whether it says that the folder is an instance of Mod Organizer, which has other files.
                let is_instance = name.eq_ignore_ascii_case(MO2_INI);
                is_instance || is_at_top(&name) && (is_of_plan || is_archive_name(at) && !name.contains('/'))
            };
            if is_of_plan && note.code == NoteCode::FileUnreadable || at.iter().any(decides) {
                return Some((note, None));
            }
            let is_listed = self.is_listed(&note.subject);
            is_listed.then_some((note, Some(at)))
        })
    }

    /// The layers that contain something, with its path in each.
    fn around(&self, path: &str) -> impl Iterator<Item = (&LayerFolder, Vec<u8>)> {
        self.0.iter().filter_map(|place| {
            let rest = path.strip_prefix(&*place.folder)?;
            let within = if rest.is_empty() { rest } else { rest.strip_prefix('/')? };
            // On the disk, a backslash is part of a name.
            let within = listed_path(within.replace('\\', "%5C").as_bytes());
            let both = [place.base.clone(), within].join(&b'/');
            Some((place, listed_path(&both)))
        })
    }

    /// The paths in the tree of something on the disk. `None` if it is in no folder among the layers.
    fn at(&self, path: &str) -> Option<Vec<Vec<u8>>> {
        let at: Vec<Vec<u8>> = self.around(path).map(|(_, at)| at).collect();
        (!at.is_empty()).then_some(at)
    }

    /// Whether something on the disk may be in the part of the tree that is listed.
    fn is_listed(&self, path: &str) -> bool {
        self.around(path).any(|(place, at)| place.within.as_ref().is_none_or(|it| is_near(it, &at)))
    }
}

impl Vfs {
    /// What is there but was not looked at: archives that could not be opened, and files and folders that
    /// could not be read. The tree may lack files because of it.
    pub fn unseen(&self) -> impl Iterator<Item = &Note> {
        let unseen: Vec<&Note> = LayerFolders::of(self).unseen(self).map(|(note, _)| note).collect();
        unseen.into_iter()
    }
}
