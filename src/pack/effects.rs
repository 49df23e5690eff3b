//! What packing changes in a game: which files win or lose differently than now.
//!
//! A loose file beats nearly every archive. Packed, it has only the place of its plugin.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::plan::{Plan, real_path};
use super::planned::{Loader, PlannedArchive, PlannedFile};
use crate::answers::comparison::{Compared, Digests, compare};
use crate::answers::fate::{Fate, FateReason};
use crate::format::hash::{Family, Hash};
use crate::format::write::NewKind;
use crate::game::caseless::{fold, same};
use crate::game::{
    ArchiveRule, AttachRule, LayerKind, LooseRule, NextName, OrderLayer, PackRules, lowest_first, stem, title,
};
use crate::kinds::{BA2, ends};
use crate::named::named;
use crate::note::{Note, NoteCode};
use crate::shown::Shown;
use crate::system::disk_id::DiskId;
use crate::system::text::count;
use crate::vfs::opened_archive::stored_entries;
use crate::vfs::{Vfs, VfsFile, VfsLayer};

/// A file whose bytes change in the game once it is packed, or that the game then does not show.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Effect {
    /// The path in the game.
    pub path: String,
    /// What changes.
    pub kind: EffectKind,
    /// The archive or folder whose file the game shows instead, or showed before. Empty if there is none.
    pub other: String,
    /// What became of the file of the source in the game, as it is now.
    pub(crate) now: Fate,
    /// Why nothing loads the archive. Empty if something does.
    pub(crate) why_unloaded: String,
}

named! {
    /// What packing changes for a file.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum EffectKind;
    /// The kind in a word.
    fn as_str;

    /// Another mod's file is shown, and not the packed one.
    Loses = "loses";
    /// The game shows another mod's file now, and will show it.
    Wins = "wins";
    /// It is not shown, because nothing loads its archive: the plugin is not active.
    Unloaded = "unloaded";
    /// An archive that a new one replaces has it, and no new one does.
    Gone = "gone";
}

/// What packing changes in a game.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Effects {
    /// Files that win or lose differently, ordered by kind and path.
    pub changes: Vec<Effect>,
    /// Sources that the game does not show now, and hashes that collide.
    pub notes: Vec<Note>,
}

/// Compares each file of a plan with the game, in which the sources may be installed: what the game shows
/// now, and what it shows with the new archives in place and the sources gone. What an archive replaces is
/// gone as well. If both have the same bytes, nothing changes.
///
/// An archive's place is that of one of its name, or that of its plugin among the active ones, or the end of
/// the list in an INI file.
pub fn effects(plan: &Plan, game: &Vfs) -> Effects {
    effects_with(plan, game, &|_| None)
}

/// As [`effects`]. `fate` says what became of a file or archive on the disk that the game does not show.
pub(crate) fn effects_with(plan: &Plan, game: &Vfs, fate: &dyn Fn(&Path) -> Option<FateReason>) -> Effects {
    let mut after = After::new(plan, game);
    let mut changes = Vec::new();
    for archive in plan.archives() {
        let place = after.place(archive);
        for file in archive.files() {
            changes.extend(after.effect(archive, place.as_ref(), file, fate));
        }
    }
    changes.extend(after.gone());
    changes.sort_by(|a, b| (a.kind, &a.path).cmp(&(b.kind, &b.path)));
    let mut notes = after.notes();
    notes.extend(hash_notes(plan, &after));
    Effects { changes, notes }
}

/// Why nothing can be predicted for a game.
pub(crate) fn why_no_effects(plan: &Plan, game: &Vfs) -> Option<String> {
    let order = game.order();
    if order.game.is_empty() {
        let is_mix = !order.plugins.is_empty();
        return (!is_mix)
            .then(|| "it is not a game; name a game, its folder, or an instance or profile".to_owned());
    }
    let (own, packing) = (plan.options.game, plan.options.packing);
    // OpenMW plays Morrowind.
    let is_alike = |it: &PackRules| {
        it.main == packing.main && (it.loads == packing.loads || packing.main == NewKind::Tes3)
    };
    let is_alike = title(order.game).and_then(|it| it.packing.as_ref()).is_some_and(is_alike);
    (!is_alike && own.id != order.game)
        .then(|| format!("it is {}, but the archives are for {}", order.game, own.id))
}

/// Which file on the disk a copy is, whatever leads to it: mod managers deploy by links and hard links.
/// For a file in an archive, the archive and the number of the file.
fn identity(copy: &VfsFile) -> Option<(DiskId, Option<u32>)> {
    let layer = copy.layer();
    if layer.is_folder() {
        return Some((DiskId::from(&std::fs::metadata(path_of(copy)).ok()?), None));
    }
    Some((DiskId::from(&std::fs::metadata(layer.path()).ok()?), Some(copy.entry().entry)))
}

/// The file on the disk: the archive of an archived copy.
fn path_of(copy: &VfsFile) -> PathBuf {
    let layer = copy.layer();
    if layer.is_folder() {
        layer.path().join(OsStr::from_bytes(&copy.stored_name()))
    } else {
        layer.path().to_owned()
    }
}

/// The archives that are searched before a new one.
type Above<'g> = HashSet<&'g Path>;

/// A source that the game does not show.
struct NotShown {
    path: PathBuf,
    fate: Fate,
    why: Option<String>,
    /// How many of its files are packed, and how many of those have a path that nothing has now.
    files: usize,
    new: usize,
}

/// The game with the new archives in place.
struct After<'g> {
    plan: &'g Plan,
    game: &'g Vfs,
    /// The archives in load order, with the numbers of their plugins.
    archives: Vec<(&'g OrderLayer, Option<usize>)>,
    /// Archives and folders of the game that are not there any more.
    gone: HashSet<usize>,
    /// The packed loose files by their identities.
    packed: HashSet<(DiskId, Option<u32>)>,
    not_shown: Vec<NotShown>,
    digests: Digests,
}

impl<'g> After<'g> {
    fn new(plan: &'g Plan, game: &'g Vfs) -> Self {
        let order = game.order();
        let number = |layer: &OrderLayer| {
            let plugin = layer.plugin.as_ref()?;
            order.plugins.iter().position(|it| same(it, plugin))
        };
        let layers = order.layers.iter().filter(|layer| layer.what == LayerKind::Archive);
        let mut archives: Vec<_> = layers.map(|layer| (layer, number(layer))).collect();
        match order.precedence.archives {
            ArchiveRule::LastWins => {}
            ArchiveRule::FirstWins | ArchiveRule::Oblivion => archives.reverse(),
            // Among archives of one rank, the one that is loaded first comes first.
            ArchiveRule::NewVegas => {
                archives.reverse();
                archives.sort_by_key(|(_, number)| *number);
            }
        }
        let is_gone = |layer: &VfsLayer| {
            if layer.is_folder() {
                return plan.own_folders.contains(&real_path(layer.path()));
            }
            let id = std::fs::metadata(layer.path()).map(|it| DiskId::from(&it));
            let is_own = id.is_ok_and(|id| plan.is_packed_whole(&id));
            let is_replaced = plan.archives().iter().any(|it| is_called(layer.path(), &it.name));
            is_own || is_replaced
        };
        let gone = game.layers().filter(is_gone).map(|layer| layer.number()).collect();
        let files = plan.archives().iter().flat_map(PlannedArchive::files);
        let loose = files.filter(|file| file.file.layer().is_folder());
        let packed = loose.filter_map(|file| identity(&file.file)).collect();
        Self { plan, game, archives, gone, packed, not_shown: Vec::new(), digests: Digests::default() }
    }

    /// The archives that are searched before a new one; `None` if nothing loads it.
    fn place(&self, archive: &PlannedArchive) -> Option<Above<'g>> {
        let name = |layer: &'g OrderLayer| layer.path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let there = self.archives.iter().position(|(layer, _)| is_called(&layer.path, &archive.name));
        let at = match (there, &archive.loader) {
            (Some(there), _) => there,
            (None, Loader::Line(_)) => self.archives.len(),
            (None, Loader::Plugin(plugin)) => self.place_of_plugin(stem(plugin), &archive.name)?,
            (None, Loader::Missing(stem)) => self.place_of_plugin(stem, &archive.name)?,
        };
        let mut names: Vec<&str> = self.archives.iter().map(|(layer, _)| name(layer)).collect();
        names.insert(at, &archive.name);
        let order = lowest_first(self.game.order().precedence.archives, &names);
        let above = order.into_iter().skip_while(|index| *index != at).skip(1);
        let old = above.map(|index| if index < at { index } else { index - 1 });
        Some(old.map(|index| &*self.archives[index].0.path).collect())
    }

    /// The place in load order of an archive of an active plugin; `None` if there is no such plugin.
    fn place_of_plugin(&self, stem_of: &str, archive: &str) -> Option<usize> {
        let (game, next) = (self.plan.options.game, self.plan.options.packing.next);
        let loads = |plugin: &String| {
            let extension = plugin.rsplit_once('.').map_or("", |it| it.1);
            let begins = || next == NextName::Prefix && fold(archive).starts_with(&fold(stem(plugin)));
            (same(stem(plugin), stem_of) || begins())
                && game.archive_plugins().iter().any(|known| same(known, extension))
        };
        let number = self.game.order().plugins.iter().position(loads)?;
        // Among archives of one plugin, the game has an order of names.
        let suffixes: &[&str] = match game.attach {
            AttachRule::Exact(all) | AttachRule::Fallout4(all) => all,
            _ => &[],
        };
        let rank = |name: &str| {
            let suffix = fold(name.get(stem_of.len()..).unwrap_or_default());
            let known = suffixes.iter().position(|known| fold(known) == suffix);
            (known.unwrap_or(suffixes.len()), if next == NextName::Prefix { fold(name) } else { suffix })
        };
        let own = rank(archive);
        let is_before = |(layer, of): &(&OrderLayer, Option<usize>)| match of {
            Some(of) if *of == number => {
                let name = layer.path.file_name().and_then(OsStr::to_str).unwrap_or_default();
                rank(name) < own
            }
            Some(of) => *of < number,
            None => false,
        };
        let last_before = self.archives.iter().rposition(is_before).map(|at| at + 1);
        let first_after = || self.archives.iter().position(|(_, of)| of.is_some_and(|of| of >= number));
        Some(last_before.or_else(first_after).unwrap_or(self.archives.len()))
    }

    /// Whether a copy in the game will be gone: a packed file under any of its names, other files of its
    /// mod with the same path, and files of a replaced archive.
    fn is_gone(&self, copy: &VfsFile) -> bool {
        self.gone.contains(&copy.layer().number())
            || identity(copy).is_some_and(|identity| self.packed.contains(&identity))
    }

    fn is_equal(&self, one: &VfsFile, other: &VfsFile) -> bool {
        compare(one, std::slice::from_ref(other), &self.digests) == [Compared::Equal]
    }

    /// What the game shows now, and what it will show. `None` if both have the same bytes.
    fn effect(
        &mut self,
        archive: &PlannedArchive,
        place: Option<&Above<'g>>,
        file: &PlannedFile,
        fate: &dyn Fn(&Path) -> Option<FateReason>,
    ) -> Option<Effect> {
        let copies = copies(self.game, &file.path);
        let is_source = |copy: &VfsFile| self.is_gone(copy) && !self.is_of_others(copy);
        let packed = identity(&file.file);
        let same_file = copies.iter().position(|copy| packed.is_some() && identity(copy) == packed);
        let now = match same_file.or_else(|| copies.iter().position(is_source)) {
            Some(0) => Fate::Wins,
            Some(_) => Fate::Loses,
            None => self.not_shown(file, copies.is_empty(), fate),
        };
        let mut left = copies.iter().filter(|copy| !self.is_gone(copy));
        let then = match place {
            None => LaterCopy::Other(left.next()),
            Some(above) => match left.find(|other| self.beats(archive, above, file, other)) {
                Some(other) => LaterCopy::Other(Some(other)),
                None => LaterCopy::Packed,
            },
        };
        let (kind, other) = match (then, copies.first()) {
            (LaterCopy::Packed, Some(shown)) if !self.is_equal(&file.file, shown) => {
                (EffectKind::Wins, Some(shown))
            }
            (LaterCopy::Packed, _) => return None,
            (LaterCopy::Other(other), shown) => {
                let kind = if place.is_some() { EffectKind::Loses } else { EffectKind::Unloaded };
                // Of a source that is not shown now, the packed file counts.
                let before = match (now, shown) {
                    (Fate::Wins | Fate::Loses, Some(shown)) => shown,
                    _ => &file.file,
                };
                if other.is_some_and(|other| self.is_equal(before, other)) {
                    return None;
                }
                (kind, other)
            }
        };
        let other = other.map_or_else(String::new, |it| it.layer().path().to_string_lossy().into_owned());
        let why_unloaded =
            if kind == EffectKind::Unloaded { self.why_unloaded(archive) } else { String::new() };
        Some(Effect { path: file.path.clone(), kind, other, now, why_unloaded })
    }

    fn why_unloaded(&self, archive: &PlannedArchive) -> String {
        let game = self.game.order().game;
        match &archive.loader {
            Loader::Plugin(plugin) => format!("{plugin} is not active in {game}"),
            Loader::Missing(stem) => format!("no plugin {stem} is active in {game}"),
            // It is at the end of the list.
            Loader::Line(_) => String::new(),
        }
    }

    /// Whether a copy is in an archive that is replaced, but is no source.
    fn is_of_others(&self, copy: &VfsFile) -> bool {
        let layer = copy.layer();
        let id = || std::fs::metadata(layer.path()).map(|it| DiskId::from(&it));
        !layer.is_folder() && !id().is_ok_and(|id| self.plan.own_archives.contains(&id))
    }

    /// What became of a file that the game does not have from its source.
    fn not_shown(
        &mut self,
        file: &PlannedFile,
        is_new: bool,
        fate: &dyn Fn(&Path) -> Option<FateReason>,
    ) -> Fate {
        let source = file.file.layer().path().to_owned();
        let at = self.not_shown.iter().position(|it| it.path == source).unwrap_or_else(|| {
            let reason = fate(&path_of(&file.file));
            let known = reason.as_ref().and_then(|reason| reason.fate).filter(|fate| *fate != Fate::Wins);
            let why =
                reason.filter(|_| known.is_some_and(|fate| fate != Fate::NotHere)).map(|reason| reason.text);
            let fate = known.unwrap_or(Fate::NotHere);
            self.not_shown.push(NotShown { path: source, fate, why, files: 0, new: 0 });
            self.not_shown.len() - 1
        });
        let source = &mut self.not_shown[at];
        source.files += 1;
        source.new += usize::from(is_new);
        source.fate
    }

    /// Whether a copy beats the packed file.
    fn beats(
        &self,
        archive: &PlannedArchive,
        above: &Above<'_>,
        file: &PlannedFile,
        other: &VfsFile,
    ) -> bool {
        let layer = other.layer();
        if !layer.is_folder() {
            return above.contains(layer.path());
        }
        match &self.game.order().precedence.loose {
            LooseRule::Always => true,
            LooseRule::Never => false,
            LooseRule::Below(folders) => {
                let path = file.path.to_ascii_lowercase();
                let is_below =
                    |folder: &String| path.starts_with(&format!("{}/", folder.trim_end_matches('/')));
                folders.iter().any(is_below)
            }
            // The archive gets the newest date of its files.
            LooseRule::ByDate => self.plan.weighs_dates() && Some(other.modified()) > archive.newest(),
        }
    }

    /// What the game shows now of archives that are replaced and are no sources, if no new archive has it.
    fn gone(&self) -> Vec<Effect> {
        let is_lost = |layer: &VfsLayer| {
            let id = std::fs::metadata(layer.path()).map(|it| DiskId::from(&it));
            !layer.is_folder() && !id.is_ok_and(|id| self.plan.own_archives.contains(&id))
        };
        let layers = self.game.layers().filter(|layer| self.gone.contains(&layer.number()) && is_lost(layer));
        let lost: HashSet<usize> = layers.map(|layer| layer.number()).collect();
        if lost.is_empty() {
            return Vec::new();
        }
        let files = self.plan.archives().iter().flat_map(PlannedArchive::files);
        let packed: HashSet<String> = files.map(|file| file.path.to_ascii_lowercase()).collect();
        let effect = |shown: VfsFile| {
            let path = shown.path();
            if !lost.contains(&shown.layer().number()) || packed.contains(&path.to_ascii_lowercase()) {
                return None;
            }
            let other = shown.hidden().find(|copy| !self.is_gone(copy));
            if other.as_ref().is_some_and(|other| self.is_equal(&shown, other)) {
                return None;
            }
            let other = other.map_or_else(String::new, |it| it.layer().path().to_string_lossy().into_owned());
            let why_unloaded = String::new();
            Some(Effect { path, kind: EffectKind::Gone, other, now: Fate::Wins, why_unloaded })
        };
        self.game.files().filter_map(effect).collect()
    }

    /// Notes on sources that the game does not show now.
    fn notes(&self) -> Vec<Note> {
        let note = |source: &NotShown| {
            let state = match (source.fate, &source.why) {
                (Fate::NotHere, _) => "it is not in the game".to_owned(),
                (fate, None) => format!("{} in the game", fate.in_words()),
                (fate, Some(why)) => format!("{} in the game ({why})", fate.in_words()),
            };
            let text = format!(
                "{state}, so what is said of {} is what the game shows once the new archives are \
                 installed{}",
                if source.files == 1 {
                    "its file".to_owned()
                } else {
                    format!("its {}", count(source.files, "file"))
                },
                match source.new {
                    0 => String::new(),
                    new => format!("; nothing has {new} of the paths now"),
                }
            );
            Note::new(NoteCode::PackNotShown, source.path.to_string_lossy(), text)
        };
        self.not_shown.iter().map(note).collect()
    }
}

/// What the game will show at a path.
enum LaterCopy<'c> {
    Packed,
    /// Another copy, or nothing.
    Other(Option<&'c VfsFile>),
}

/// All copies of a path, the one that is shown first.
fn copies(game: &Vfs, path: &str) -> Vec<VfsFile> {
    let found = game.file(path).into_iter();
    found.flat_map(|it| std::iter::once(it.clone()).chain(it.hidden().collect::<Vec<_>>())).collect()
}

fn is_called(path: &Path, name: &str) -> bool {
    path.file_name().and_then(OsStr::to_str).is_some_and(|it| same(it, name))
}

/// Notes on packed names with the hash of another name in an archive of the game, and on archive names
/// with the same hash. Games look for hashes, so they may find only one of the two.
fn hash_notes(plan: &Plan, after: &After<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut packed: HashMap<Hash, Vec<(&PlannedArchive, &PlannedFile)>> = HashMap::new();
    for archive in plan.archives() {
        for file in archive.files() {
            packed.entry(file.stored.hash()).or_default().push((archive, file));
        }
    }
    let game = after.game;
    let archives = game.layers().filter(|layer| !layer.is_folder() && !after.gone.contains(&layer.number()));
    for layer in archives {
        let number = u16::try_from(layer.number()).unwrap_or(u16::MAX);
        let Some((family, entries)) = game.store().archive(number).and_then(|archive| {
            // A game that is opened has read this archive before.
            stored_entries(archive, &game.opened().options).ok()
        }) else {
            continue;
        };
        for stored in entries {
            let Some((folder, name)) = &stored.name else { continue };
            for (archive, file) in packed.get(&stored.hash).into_iter().flatten() {
                let other = if folder.is_empty() { name.clone() } else { [folder, &b"/"[..], name].concat() };
                let slashed = |path: &[u8]| String::from_utf8_lossy(path).replace('\\', "/");
                let other = slashed(&other);
                if archive.kind.path_form().family() != family || same(&other, &slashed(file.stored.bytes()))
                {
                    continue;
                }
                let text = format!(
                    "{} has the hash of {} in {}, so the game may find only one of them; rename one",
                    file.path.shown(),
                    other.shown(),
                    layer.path().shown()
                );
                notes.push(Note::new(NoteCode::PackHash, archive.name.clone(), text));
            }
        }
    }
    notes.extend(name_notes(plan, after));
    notes
}

/// Notes on names of BA2 archives with one hash.
fn name_notes(plan: &Plan, after: &After<'_>) -> Vec<Note> {
    let hash = |name: &str| Family::Fo4.of(b"", name.as_bytes()).file;
    let is_ba2 = |name: &str| ends(name, &[BA2]);
    let there = after.archives.iter().filter_map(|(layer, _)| layer.path.file_name()?.to_str());
    let own = plan.archives().iter().map(|archive| &*archive.name);
    let mut known: HashMap<u64, &str> = HashMap::new();
    for name in there.filter(|name| is_ba2(name)) {
        known.entry(hash(name)).or_insert(name);
    }
    let mut notes = Vec::new();
    for name in own.filter(|name| is_ba2(name)) {
        if let Some(other) = known.insert(hash(name), name)
            && !same(other, name)
        {
            let text = format!(
                "its name has the hash of {}, so the game may load only one of them; choose another name",
                other.shown()
            );
            notes.push(Note::new(NoteCode::PackHash, name, text));
        }
    }
    notes
}
