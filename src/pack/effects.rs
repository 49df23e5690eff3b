//! What packing changes in a game: which files win or lose otherwise than loose.
//!
//! A loose file beats nearly every archive. Packed, it has only the place of its plugin.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::plan::{Plan, real_path};
use super::planned::{Loader, PlannedArchive, PlannedFile};
use crate::game::{ArchiveRule, LooseRule, OrderLayer, stem};
use crate::system::disk_id::DiskId;
use crate::vfs::comparison::{Compared, Digests, compare};
use crate::vfs::{Vfs, VfsFile};

/// A file that wins or loses otherwise once it is packed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Effect {
    /// The path in the game.
    pub path: String,
    /// What changes.
    pub kind: EffectKind,
    /// The archive or folder whose file the game shows instead, or showed before. Empty if there is none.
    pub other: String,
}

/// What packing changes for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EffectKind {
    /// The game shows it now, and will show another mod's file.
    Loses,
    /// The game shows another mod's file now, and will show it.
    Wins,
    /// The game shows it now, and nothing loads its archive: the plugin is not active.
    Unloaded,
}

impl EffectKind {
    /// The kind in a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Loses => "loses",
            Self::Wins => "wins",
            Self::Unloaded => "unloaded",
        }
    }
}

/// Compares each file of a plan with the game, in which the sources may be installed: what the game shows
/// now, and what it shows with the archives in place and the loose files of the sources gone. Files of
/// sources that are not installed count as loose files above all. If both have the same bytes, nothing
/// changes.
///
/// An archive's place is that of its plugin among the active ones. Where a game orders archives by their
/// names (New Vegas), the answer is a guess.
pub fn effects(plan: &Plan, game: &Vfs) -> Vec<Effect> {
    let places = Places::new(game);
    let mut all = Vec::new();
    for archive in plan.archives() {
        let place = places.of_planned(archive);
        for file in archive.files() {
            all.extend(places.effect(plan, archive, place, file));
        }
    }
    all.sort_by(|a, b| (a.kind, &a.path).cmp(&(b.kind, &b.path)));
    all
}

/// Which file on the disk a copy is, whatever leads to it: mod managers deploy by links and hard links. Of an
/// archive, the archive and the number of the file.
fn identity(copy: &VfsFile) -> Option<(DiskId, Option<u32>)> {
    let layer = copy.layer();
    if layer.is_folder() {
        let path = layer.path().join(OsStr::from_bytes(&copy.stored_name()));
        return Some((DiskId::from(&std::fs::metadata(path).ok()?), None));
    }
    Some((DiskId::from(&std::fs::metadata(layer.path()).ok()?), Some(copy.entry().entry)))
}

/// Where an archive stands among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// A list of an INI file loads it.
    Listed,
    /// The plugin of this number does.
    Plugin(usize),
}

struct Places<'g> {
    game: &'g Vfs,
    /// The places of active plugins by their stems, in lower case.
    plugins: HashMap<String, Place>,
    /// The places of archives that are attached to plugins.
    attached: HashMap<&'g Path, Place>,
}

impl<'g> Places<'g> {
    fn new(game: &'g Vfs) -> Self {
        let folded = |plugin: &str| stem(plugin).to_lowercase();
        let plugins = game.order().plugins.iter().enumerate();
        let plugins: HashMap<_, _> = plugins.map(|(at, it)| (folded(it), Place::Plugin(at))).collect();
        let place =
            |layer: &'g OrderLayer| Some((&*layer.path, *plugins.get(&folded(layer.plugin.as_ref()?))?));
        let attached = game.order().layers.iter().filter_map(place).collect();
        Self { game, plugins, attached }
    }

    /// The place of a planned archive; `None` if nothing loads it.
    fn of_planned(&self, archive: &PlannedArchive) -> Option<Place> {
        match &archive.loader {
            Loader::Line(_) => Some(Place::Listed),
            Loader::Plugin(plugin) => self.plugins.get(&stem(plugin).to_lowercase()).copied(),
            Loader::Missing(stem) => self.plugins.get(&stem.to_lowercase()).copied(),
        }
    }

    /// The place of an archive of the game.
    fn of_layer(&self, path: &Path) -> Place {
        self.attached.get(path).copied().unwrap_or(Place::Listed)
    }

    /// What the game shows now, and what it shows once the loose files of the mod are gone. `None` if
    /// both have the same bytes.
    fn effect(
        &self,
        plan: &Plan,
        archive: &PlannedArchive,
        place: Option<Place>,
        file: &PlannedFile,
    ) -> Option<Effect> {
        let found = self.game.file(&file.path);
        let copies: Vec<VfsFile> = found
            .into_iter()
            .flat_map(|it| std::iter::once(it.clone()).chain(it.hidden().collect::<Vec<_>>()))
            .collect();
        let own = identity(&file.file);
        // What goes: the packed file under any of its names, what else its mod has, and an archive that is
        // replaced by one of its name.
        let is_own = |copy: &VfsFile| {
            let layer = copy.layer();
            let folder = layer.is_folder().then(|| real_path(layer.path()));
            let name = layer.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
            own.is_some() && identity(copy) == own
                || folder.is_some_and(|folder| plan.own_folders.contains(&folder))
                || !layer.is_folder() && name.eq_ignore_ascii_case(&archive.name)
        };
        let is_installed = copies.iter().any(is_own);
        let winner = copies.first();
        let wins_now = !is_installed || winner.is_some_and(is_own);
        let mut others = copies.iter().filter(|copy| !is_own(copy));
        let digests = Digests::default();
        let is_equal =
            |other: &VfsFile| compare(&file.file, std::slice::from_ref(other), &digests) == [Compared::Equal];
        let effect = |kind, other: &VfsFile| {
            (!is_equal(other)).then(|| Effect {
                path: file.path.clone(),
                kind,
                other: other.layer().path().to_string_lossy().into_owned(),
            })
        };
        let Some(place) = place else {
            let unloaded =
                Effect { path: file.path.clone(), kind: EffectKind::Unloaded, other: String::new() };
            return match (wins_now, others.next()) {
                (false, _) => None,
                (true, Some(other)) => effect(EffectKind::Unloaded, other),
                (true, None) => Some(unloaded),
            };
        };
        let beats = |other: &&VfsFile| self.beats(plan, archive, place, file, other);
        match (wins_now, others.clone().find(beats)) {
            (true, Some(other)) => effect(EffectKind::Loses, other),
            (false, None) => winner.and_then(|winner| effect(EffectKind::Wins, winner)),
            _ => None,
        }
    }

    /// Whether a copy beats the packed file.
    fn beats(
        &self,
        plan: &Plan,
        archive: &PlannedArchive,
        place: Place,
        file: &PlannedFile,
        other: &VfsFile,
    ) -> bool {
        let precedence = &self.game.order().precedence;
        let layer = other.layer();
        if layer.is_folder() {
            return match &precedence.loose {
                LooseRule::Always => true,
                LooseRule::Never => false,
                LooseRule::Below(folders) => {
                    let path = file.path.to_ascii_lowercase();
                    folders
                        .iter()
                        .any(|folder| path.starts_with(&format!("{}/", folder.trim_end_matches('/'))))
                }
                // The archive gets the newest date of its files.
                LooseRule::ByDate if plan.weighs_dates() => Some(other.modified()) > archive.newest(),
                LooseRule::ByDate => false,
            };
        }
        let other = self.of_layer(layer.path());
        match precedence.archives {
            ArchiveRule::LastWins => other > place,
            ArchiveRule::FirstWins | ArchiveRule::NewVegas | ArchiveRule::Oblivion => other < place,
        }
    }
}
