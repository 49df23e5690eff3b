//! Disks that come and go: what is mounted on the way to a source, on it or below it. inotify reports none
//! of that, so the mount table is compared with what it was before.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::folder::{LooseFolder, Why};
use crate::fs::View;
use crate::note::{Note, NoteCode};
use crate::shown::Shown;
use crate::system::asleep::{self, SlowDisk};
use crate::system::covered::is_mountpoint;
use crate::system::mountinfo::{MountEntry, mounts, topmost};
use crate::system::walk::{LinkWalk, resolve_links};
use crate::vfs::opening::reopening::DiskChanges;

/// The mounts as they were, the disks that are gone, and those that may stop answering.
#[derive(Clone, Debug, Default)]
pub(super) struct Disks {
    table: Vec<MountEntry>,
    gone: Vec<GoneDisk>,
    /// The disks that may fall asleep, with how often each had done so, and whether it is asleep.
    slow: Vec<(Arc<SlowDisk>, u64, bool)>,
}

/// A mount that has ended, although sources were on it or it was below one.
#[derive(Clone, Debug)]
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
        Self { table, ..Self::default() }
    }

    /// Compares the mount table with what it was. `named` are the paths that decide what is opened.
    pub(super) fn news(&mut self, view: &View, named: &[PathBuf]) -> DiskNews {
        let (then, mut news) = (std::mem::replace(&mut self.table, mounts()), DiskNews::default());
        let missing_in = |others: &[MountEntry], all: &[MountEntry]| -> Vec<MountEntry> {
            let is_missing = |it: &&MountEntry| !others.iter().any(|other| other.is_same_mount(it));
            all.iter().filter(|it| is_disk(it)).filter(is_missing).cloned().collect()
        };
        let (ended, begun) = (missing_in(&self.table, &then), missing_in(&then, &self.table));
        let napped = self
            .slow
            .iter()
            .any(|(disk, naps, is_asleep)| (disk.naps(), disk.is_asleep()) != (*naps, *is_asleep));
        if ended.is_empty() && begun.is_empty() && !napped {
            return news;
        }
        let sources = SourcePaths::of(view, named);
        self.record_naps(view, &sources, &mut news);
        self.learn(&sources);
        for mounted in ended.into_iter().filter(|it| sources.add_changes(it, &mut news.changes)) {
            // What another disk has replaced at once is not gone.
            if topmost(&self.table, &mounted.mountpoint).is_none() {
                let sources = sources.sources_on(&mounted);
                let gone = GoneDisk { mounted, sources };
                news.gone.push(gone.text());
                self.gone.push(gone);
            }
        }
        for mounted in begun.into_iter().filter(|it| sources.add_changes(it, &mut news.changes)) {
            let before = self.gone.len();
            self.gone.retain(|gone| gone.mounted.mountpoint != mounted.mountpoint);
            if self.gone.len() < before {
                news.back.push(format!("{}: the disk is back", mounted.mountpoint.shown()));
            }
        }
        news
    }

    /// Learns which disks may fall asleep, now that the sources are at these paths.
    pub(super) fn learn_of(&mut self, view: &View, named: &[PathBuf]) {
        self.learn(&SourcePaths::of(view, named));
    }

    /// As [`Disks::learn_of`], before the paths of sources are known.
    pub(super) fn learn_of_none(&mut self) {
        asleep::learn(&self.table, std::iter::empty());
    }

    fn learn(&mut self, sources: &SourcePaths) {
        asleep::learn(&self.table, sources.all());
        let known = |disk: Arc<SlowDisk>| {
            let before = self.slow.iter().find(|(known, ..)| Arc::ptr_eq(known, &disk));
            before.cloned().unwrap_or((disk, 0, false))
        };
        self.slow = asleep::used().into_iter().map(known).collect();
    }

    /// Says which disks fell asleep or answer again. What is on a disk that had fallen asleep has changed,
    /// perhaps.
    fn record_naps(&mut self, view: &View, sources: &SourcePaths, news: &mut DiskNews) {
        for (disk, naps, was_asleep) in &mut self.slow {
            let (now, is_asleep, mounted) = (disk.naps(), disk.is_asleep(), &disk.mounted);
            if is_asleep && !*was_asleep {
                let sources = sources.sources_on(mounted);
                news.gone.push(format!(
                    "{}: {}",
                    mounted.mountpoint.shown(),
                    asleep_text(mounted, sources).shown()
                ));
            }
            if !is_asleep && (*was_asleep || now != *naps) {
                news.back.push(format!("{}: the disk answers again", mounted.mountpoint.shown()));
                sources.add_changes(mounted, &mut news.changes);
                let (_, folders) = view.store().paths();
                let is_on = |folder: &&Arc<LooseFolder>| {
                    folder.entered().any(|(real, _)| real.starts_with(&mounted.mountpoint))
                };
                let within = folders.iter().filter(is_on).flat_map(|folder| folder.folder_paths());
                within.for_each(|folder| news.changes.add(folder.into()));
            }
            (*naps, *was_asleep) = (now, is_asleep);
        }
    }

    /// Forgets disks that no named source needs, because the user requested a reload without them.
    pub(super) fn accept(&mut self, named: &[PathBuf]) {
        let mut links = LinkWalk::default();
        let named: Vec<PathBuf> = named.iter().map(|path| links.follow(path, &mut |_, _| {})).collect();
        self.gone.retain(|gone| named.iter().any(|path| path.starts_with(&gone.mounted.mountpoint)));
    }

    /// Whether a path is on a disk that is gone or asleep, which the log has named.
    pub(super) fn explain(&self, path: &Path) -> bool {
        asleep::is_at(path)
            || !self.gone.is_empty() && {
                let real = resolve_links(path, |_, _| {});
                self.gone.iter().any(|gone| real.starts_with(&gone.mounted.mountpoint))
            }
    }

    /// A note on each disk that is gone or asleep.
    pub(super) fn notes(&self) -> Vec<Note> {
        let note = |gone: &GoneDisk| {
            Note::new(NoteCode::DiskGone, gone.mounted.mountpoint.to_string_lossy(), gone.what())
        };
        let asleep = self.slow.iter().filter(|(.., is_asleep)| *is_asleep).map(|(disk, ..)| {
            let mounted = &disk.mounted;
            let text = format!("the disk ({}, {}) does not answer", mounted.kind, mounted.source);
            Note::new(NoteCode::DiskAsleep, mounted.mountpoint.to_string_lossy(), text)
        });
        self.gone.iter().map(note).chain(asleep).collect()
    }
}

/// What is on a disk.
fn holds(sources: usize) -> String {
    match sources {
        0 => "files below a source are on it".to_owned(),
        1 => "1 source is on it".to_owned(),
        sources => format!("{sources} sources are on it"),
    }
}

/// What the log says of a disk that fell asleep.
fn asleep_text(MountEntry { kind, source, .. }: &MountEntry, sources: usize) -> String {
    let holds = holds(sources);
    format!("the disk ({kind}, {source}) does not answer; {holds}. They stay as they were until it answers")
}

impl GoneDisk {
    fn what(&self) -> String {
        let MountEntry { kind, source, .. } = &self.mounted;
        let holds = holds(self.sources);
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
enum SourceKind {
    /// A folder of loose files.
    Folder,
    /// A folder in one of those: another mount, or the target of a link.
    Inner,
    /// An archive, a list, or a folder whose subfolders do not count.
    Other,
}

/// Where the sources of a view are on the disk.
struct SourcePaths {
    /// For each path without links, the paths under which it is opened.
    paths: BTreeMap<PathBuf, BTreeSet<(PathBuf, SourceKind)>>,
    /// The paths of archives and folders, without links.
    sources: Vec<PathBuf>,
}

impl SourcePaths {
    fn of(view: &View, named: &[PathBuf]) -> Self {
        let (mut links, mut all) =
            (LinkWalk::default(), Self { paths: BTreeMap::new(), sources: Vec::new() });
        let (archives, folders) = view.store().paths();
        for folder in &folders {
            for (nth, (real, path)) in folder.entered().enumerate() {
                if nth == 0 {
                    all.sources.push(real.clone());
                }
                all.add(real, path, if nth == 0 { SourceKind::Folder } else { SourceKind::Inner });
            }
            // What a link leads to may be on a disk that is not mounted yet.
            let dangling = folder.notes().0.iter().filter(|note| note.why == Why::Dangling);
            for link in dangling.map(|note| folder.path().join(OsStr::from_bytes(&note.path))) {
                all.add(links.follow(&link, &mut |_, _| {}), link, SourceKind::Other);
            }
            for target in folder.link_targets() {
                all.add(target.clone(), target, SourceKind::Other);
            }
        }
        for archive in archives {
            let real = links.follow(archive, &mut |_, _| {});
            all.sources.push(real.clone());
            all.add(real, archive.to_owned(), SourceKind::Other);
        }
        let read = &view.opened.plan.read_set;
        for path in named.iter().chain(&read.files).chain(&read.folders) {
            all.add(links.follow(path, &mut |_, _| {}), path.to_owned(), SourceKind::Other);
        }
        all
    }

    fn add(&mut self, real: PathBuf, path: PathBuf, kind: SourceKind) {
        self.paths.entry(real).or_default().insert((path, kind));
    }

    /// Adds what a mount that began or ended may have changed. Returns whether that is anything.
    fn add_changes(&self, mounted: &MountEntry, changes: &mut DiskChanges) -> bool {
        let at = &mounted.mountpoint;
        let mut is_any = false;
        // On the way to paths: all that lie on the mount.
        for (_, paths) in self.paths.range(at.clone()..).take_while(|(real, _)| real.starts_with(at)) {
            for (path, kind) in paths {
                changes.add_moved(path.clone());
                if *kind != SourceKind::Folder {
                    add_parent(changes, path);
                }
            }
            is_any = true;
        }
        // Below a path.
        for above in at.ancestors().skip(1) {
            let Ok(within) = at.strip_prefix(above) else { continue };
            for (path, kind) in self.paths.get(above).into_iter().flatten() {
                if *kind != SourceKind::Other || at.parent() == Some(above) {
                    let path = path.join(within);
                    add_parent(changes, &path);
                    changes.add_moved(path);
                    is_any = true;
                }
            }
        }
        is_any
    }

    /// All paths, each without links and as it is opened.
    fn all(&self) -> impl Iterator<Item = (&Path, &Path)> {
        let all = self.paths.iter();
        all.flat_map(|(real, paths)| paths.iter().map(|(path, _)| (real.as_path(), path.as_path())))
    }

    fn sources_on(&self, mounted: &MountEntry) -> usize {
        self.sources.iter().filter(|source| source.starts_with(&mounted.mountpoint)).count()
    }
}

/// Has the folder of a path listed again, which finds what is mounted on the path and where a link leads.
fn add_parent(changes: &mut DiskChanges, path: &Path) {
    path.parent().into_iter().for_each(|parent| changes.add(parent.into()));
}
