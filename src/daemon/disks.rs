//! Disks that come and go: what is mounted on the way to a source, on it or below it. inotify reports none
//! of that, so the mount table is compared with what it was before.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::folder::Why;
use crate::fs::View;
use crate::note::{Note, NoteCode};
use crate::shown::Shown;
use crate::system::covered::{LinkWalk, is_mountpoint, resolve_links};
use crate::system::mountinfo::{MountEntry, mounts, topmost};
use crate::vfs::reopening::DiskChanges;

/// The mounts as they were, and the disks that are gone.
#[derive(Debug, Default)]
pub(super) struct Disks {
    table: Vec<MountEntry>,
    gone: Vec<GoneDisk>,
}

/// A mount that has ended, although sources were on it or it was below one.
#[derive(Debug)]
struct GoneDisk {
    mounted: MountEntry,
    /// How many archives and folders of the view were on it.
    sources: usize,
}

/// What a change of the mount table means.
#[derive(Debug, Default)]
pub(super) struct DiskNews {
    pub(super) changes: DiskChanges,
    /// What the log says about disks that are gone, and about those that are back.
    pub(super) gone: Vec<String>,
    pub(super) back: Vec<String>,
}

impl Disks {
    /// The mounts that there were before the sources were opened.
    pub(super) fn new(table: Vec<MountEntry>) -> Self {
        Self { table, gone: Vec::new() }
    }

    /// Compares the mount table with what it was. `named` are the paths that decide what is opened.
    pub(super) fn news(&mut self, view: &View, named: &[PathBuf]) -> DiskNews {
        let (then, mut news) = (std::mem::replace(&mut self.table, mounts()), DiskNews::default());
        let missing_in = |others: &[MountEntry], all: &[MountEntry]| -> Vec<MountEntry> {
            let is_missing = |it: &&MountEntry| !others.iter().any(|other| other.is_same_mount(it));
            all.iter().filter(|it| is_disk(it)).filter(is_missing).cloned().collect()
        };
        let (ended, begun) = (missing_in(&self.table, &then), missing_in(&then, &self.table));
        if ended.is_empty() && begun.is_empty() {
            return news;
        }
        let places = Places::of(view, named);
        for mounted in ended.into_iter().filter(|it| places.add_changes(it, &mut news.changes)) {
            // What another disk has replaced at once is not gone.
            if topmost(&self.table, &mounted.mountpoint).is_none() {
                let sources = places.sources_on(&mounted);
                let gone = GoneDisk { mounted, sources };
                news.gone.push(gone.text());
                self.gone.push(gone);
            }
        }
        for mounted in begun.into_iter().filter(|it| places.add_changes(it, &mut news.changes)) {
            let before = self.gone.len();
            self.gone.retain(|gone| gone.mounted.mountpoint != mounted.mountpoint);
            if self.gone.len() < before {
                news.back.push(format!("{}: the disk is back", mounted.mountpoint.shown()));
            }
        }
        news
    }

    /// Forgets disks that no named source needs, because the user requested a reload without them.
    pub(super) fn accept(&mut self, named: &[PathBuf]) {
        let mut links = LinkWalk::default();
        let named: Vec<PathBuf> = named.iter().map(|path| links.follow(path, &mut |_, _| {})).collect();
        self.gone.retain(|gone| named.iter().any(|path| path.starts_with(&gone.mounted.mountpoint)));
    }

    /// Whether a path is on a disk that is gone, which the log has named.
    pub(super) fn explain(&self, path: &Path) -> bool {
        !self.gone.is_empty() && {
            let real = resolve_links(path, |_, _| {});
            self.gone.iter().any(|gone| real.starts_with(&gone.mounted.mountpoint))
        }
    }

    /// A note on each disk that is gone.
    pub(super) fn notes(&self) -> Vec<Note> {
        let note = |gone: &GoneDisk| {
            Note::new(NoteCode::DiskGone, gone.mounted.mountpoint.to_string_lossy(), gone.what())
        };
        self.gone.iter().map(note).collect()
    }
}

impl GoneDisk {
    fn what(&self) -> String {
        let MountEntry { kind, source, .. } = &self.mounted;
        let holds = match self.sources {
            0 => "files below a source are on it".to_owned(),
            1 => "1 source is on it".to_owned(),
            sources => format!("{sources} sources are on it"),
        };
        format!("the disk ({kind}, {source}) is gone; {holds}. bsafs waits until it is mounted here again")
    }

    fn text(&self) -> String {
        format!("{}: {}", self.mounted.mountpoint.shown(), self.what().shown())
    }
}

/// Whether a mount may hold sources. Triggers of automounts hold nothing. A mount of bsafs shows its
/// sources, which are followed where they are.
fn is_disk(mounted: &MountEntry) -> bool {
    mounted.kind != "autofs" && !mounted.is_bsafs() && !is_mountpoint(&mounted.mountpoint)
}

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// A folder of loose files.
    Folder,
    /// A folder in one of those: another mount, or the target of a link.
    Inner,
    /// An archive, a list, or a folder whose subfolders do not count.
    Other,
}

/// Where the sources of a view are on the disk.
struct Places {
    /// For each path without links, the paths under which it is opened.
    paths: BTreeMap<PathBuf, BTreeSet<(PathBuf, Place)>>,
    /// The paths of archives and folders, without links.
    sources: Vec<PathBuf>,
}

impl Places {
    fn of(view: &View, named: &[PathBuf]) -> Self {
        let (mut links, mut places) =
            (LinkWalk::default(), Self { paths: BTreeMap::new(), sources: Vec::new() });
        let (archives, folders) = view.store().paths();
        for folder in &folders {
            for (nth, (real, path)) in folder.places().enumerate() {
                if nth == 0 {
                    places.sources.push(real.clone());
                }
                places.add(real, path, if nth == 0 { Place::Folder } else { Place::Inner });
            }
            // What a link leads to may be on a disk that is not mounted yet.
            let dangling = folder.notes().0.iter().filter(|note| note.why == Why::Dangling);
            for link in dangling.map(|note| folder.path().join(OsStr::from_bytes(&note.path))) {
                places.add(links.follow(&link, &mut |_, _| {}), link, Place::Other);
            }
            for target in folder.link_targets() {
                places.add(target.clone(), target, Place::Other);
            }
        }
        for archive in archives {
            let real = links.follow(archive, &mut |_, _| {});
            places.sources.push(real.clone());
            places.add(real, archive.to_owned(), Place::Other);
        }
        let read = &view.vfs().opened().plan.read_set;
        for path in named.iter().chain(&read.files).chain(&read.folders) {
            places.add(links.follow(path, &mut |_, _| {}), path.to_owned(), Place::Other);
        }
        places
    }

    fn add(&mut self, real: PathBuf, path: PathBuf, place: Place) {
        self.paths.entry(real).or_default().insert((path, place));
    }

    /// Adds what a mount that began or ended may have changed. Returns whether that is anything.
    fn add_changes(&self, mounted: &MountEntry, changes: &mut DiskChanges) -> bool {
        let at = &mounted.mountpoint;
        let mut is_any = false;
        // On the way to places: all that lie on the mount.
        for (_, paths) in self.paths.range(at.clone()..).take_while(|(real, _)| real.starts_with(at)) {
            for (path, place) in paths {
                changes.add_moved(path.clone());
                if *place != Place::Folder {
                    add_parent(changes, path);
                }
            }
            is_any = true;
        }
        // Below a place.
        for above in at.ancestors().skip(1) {
            let Ok(within) = at.strip_prefix(above) else { continue };
            for (path, place) in self.paths.get(above).into_iter().flatten() {
                if *place != Place::Other || at.parent() == Some(above) {
                    let path = path.join(within);
                    add_parent(changes, &path);
                    changes.add_moved(path);
                    is_any = true;
                }
            }
        }
        is_any
    }

    fn sources_on(&self, mounted: &MountEntry) -> usize {
        self.sources.iter().filter(|source| source.starts_with(&mounted.mountpoint)).count()
    }
}

/// Has the folder of a path listed again, which finds what is mounted on the path and where a link leads.
fn add_parent(changes: &mut DiskChanges, path: &Path) {
    path.parent().into_iter().for_each(|parent| changes.add(parent.into()));
}
