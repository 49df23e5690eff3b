//! The result of a plan: the layers that a game loads, in order, with the reasons.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::code_page::ReadList;
use crate::folder::HiddenNames;
use crate::game::caseless::{CaselessEndings, same};
use crate::game::installation::Installation;
use crate::game::precedence::{Confidence, Precedence};
use crate::game::titles::title::OPENMW;
use crate::named::named;
use crate::note::{Because, Note};
use crate::shown::Shown;

/// The layers that a game loads, lowest first, with notes on oddities.
#[derive(Clone, Debug, Default)]
pub struct LoadOrder {
    /// The game's id; empty for a mix of archives and folders.
    pub game: &'static str,
    /// The layers, lowest first. The last layer that has a path wins it, unless
    /// [`LoadOrder::precedence`] decides otherwise for loose files.
    pub layers: Vec<OrderLayer>,
    /// Paths that the game ignores in all its archives, in lower case with `/` between names.
    pub invalidated: Vec<String>,
    pub notes: Vec<Note>,
    /// The active plugins in load order.
    pub plugins: Vec<String>,
    /// The plugins that OpenMW loads beside them, as groundcover.
    pub groundcover: Vec<String>,
    /// Data folders of OpenMW that a later setting removes from the list, and why.
    pub(crate) removed: Vec<(PathBuf, String)>,
    /// The INI files that were read, lowest first.
    pub inis: Vec<PathBuf>,
    /// The folder of the Mod Organizer 2 profile that was read.
    pub profile: Option<PathBuf>,
    /// The list of plugins that was read.
    pub plugin_list: Option<PathBuf>,
    /// What it has.
    pub(crate) listed_plugins: ReadList,
    /// The settings that replace that list; empty if none does.
    pub because_plugins: Because,
    /// The mods of the instance of Mod Organizer 2 that was read.
    pub mods: Option<ModList>,
    /// The game that was planned; `None` for OpenMW.
    pub(crate) installation: Option<Box<Installation>>,
    /// The rules that order the layers.
    pub precedence: Precedence,
    /// The settings that decided when loose files win; empty if no setting does.
    pub because_loose: Because,
    /// How certain these rules are.
    pub confidence: Confidence,
    /// Why it is not certain: what was found here that a doubtful rule decides.
    pub doubts: Vec<String>,
}

impl LoadOrder {
    /// Whether OpenMW loads it.
    pub(crate) fn is_openmw(&self) -> bool {
        self.game == OPENMW
    }

    /// Whether the game loads a plugin.
    pub(crate) fn loads(&self, plugin: &str) -> bool {
        self.plugins.iter().chain(&self.groundcover).any(|it| same(it, plugin))
    }

    /// Why the game ignores loose files, and what enables them.
    pub(crate) fn why_loose_ignored(&self) -> String {
        let because = &self.because_loose;
        let edit = match &because.edit[..] {
            "" => String::new(),
            edit => format!(" in [Archive] of {}", edit.shown()),
        };
        format!(
            "the game ignores loose files here: {because}; set bInvalidateOlderFiles=1 and an empty \
             sResourceDataDirsFinal={edit} to enable them"
        )
    }
}

/// The mods of an instance of Mod Organizer 2.
#[derive(Clone, Debug, Default)]
pub struct ModList {
    /// The folder of all mods.
    pub folder: PathBuf,
    /// The names of the enabled mods, highest first.
    pub enabled: Vec<String>,
    /// The names of what Mod Organizer lists without managing it, such as add-ons of the game.
    pub unmanaged: Vec<String>,
    /// Endings of the names of files and folders that the user hid.
    pub hidden_suffixes: CaselessEndings,
}

/// An archive or a folder of loose files in a load order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderLayer {
    pub what: LayerKind,
    /// The absolute path.
    pub path: PathBuf,
    /// Why the game loads it.
    pub why: String,
    /// Which files of a folder are shown.
    pub shown: FolderFilter,
    /// Whether the layer is a folder of a mod manager, which merges folders regardless of case.
    pub is_managed: bool,
    /// The plugin that an archive is attached to. `None` if a list names the archive, or the user.
    pub plugin: Option<String>,
    /// Whether it is an archive that came with the game.
    pub is_of_game: bool,
}

impl OrderLayer {
    pub fn archive(path: impl Into<PathBuf>, why: impl Into<String>) -> Self {
        Self::new(LayerKind::Archive, path.into(), why.into())
    }

    pub fn folder(path: impl Into<PathBuf>, why: impl Into<String>) -> Self {
        Self::new(LayerKind::Folder, path.into(), why.into())
    }

    fn new(what: LayerKind, path: PathBuf, why: String) -> Self {
        Self {
            what,
            path,
            why,
            shown: FolderFilter::default(),
            is_managed: false,
            plugin: None,
            is_of_game: false,
        }
    }
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LayerKind;
    fn as_str;

    Archive = "archive";
    Folder = "folder";
}

/// Filter for the files of a folder. The default shows all files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderFilter {
    /// Folders, with `/` between names, if the game reads loose files only below these. Three kinds
    /// of file are shown: files directly in the layer's folder, files below these folders, which
    /// beat archives, and files below top-level folders that no archive has.
    pub only: Option<Vec<String>>,
    /// What a mod manager hides. All layers of an instance share it.
    pub hidden: Arc<HiddenNames>,
}

/// The reason why a plan failed, as one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError(pub String);

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PlanError {}
