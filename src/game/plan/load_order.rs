//! What a game loads: its layers in order, and why.

use std::fmt;
use std::path::PathBuf;

use crate::game::note::PlanNote;
use crate::game::precedence::{Confidence, Precedence};

/// The layers that a game loads, lowest first, and what is odd about them.
#[derive(Clone, Debug, Default)]
pub struct LoadOrder {
    /// The game's id; empty for a mix of archives and folders.
    pub game: &'static str,
    /// Lowest first: of several that have a path, the last has it, but for what [`LoadOrder::precedence`] says of loose files.
    pub layers: Vec<OrderLayer>,
    /// Paths that the game takes out of all of its archives; in small letters, `/` between names.
    pub invalidated: Vec<String>,
    /// What is odd.
    pub notes: Vec<PlanNote>,
    /// The active plugins in load order.
    pub plugins: Vec<String>,
    /// The INI files that were read, lowest first.
    pub inis: Vec<PathBuf>,
    /// The folder of the profile of Mod Organizer 2 that was read.
    pub profile: Option<PathBuf>,
    /// The rule by which layers are ordered.
    pub precedence: Precedence,
    /// How sure that rule is.
    pub confidence: Confidence,
}

/// One of the layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderLayer {
    /// What it is.
    pub what: LayerKind,
    /// Where it is; absolute.
    pub path: PathBuf,
    /// Why the game loads it.
    pub why: String,
    /// Which files of a folder are shown.
    pub shown: Shown,
    /// Whether it is a folder of a mod manager, which merges it with others whatever the case of their names.
    pub is_managed: bool,
}

impl OrderLayer {
    /// An archive.
    pub fn archive(path: impl Into<PathBuf>, why: impl Into<String>) -> Self {
        Self::new(LayerKind::Archive, path.into(), why.into())
    }

    /// A folder of loose files.
    pub fn folder(path: impl Into<PathBuf>, why: impl Into<String>) -> Self {
        Self::new(LayerKind::Folder, path.into(), why.into())
    }

    fn new(what: LayerKind, path: PathBuf, why: String) -> Self {
        Self { what, path, why, shown: Shown::default(), is_managed: false }
    }
}

/// What a layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerKind {
    /// An archive.
    Archive,
    /// A folder of loose files.
    Folder,
}

impl LayerKind {
    /// In a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Archive => "archive",
            Self::Folder => "folder",
        }
    }
}

/// Which files of a folder are shown: all, but for what these leave out. Names are in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Where the game looks at some folders alone: shown are what lies directly in the folder; what is below these folders
    /// of it (`/` between names), where it beats archives; and what is below folders that no archive has.
    pub only: Option<Vec<String>>,
    /// Names directly in the folder that are left out.
    pub without_names: Vec<String>,
    /// Ends of names of files that are left out, at any depth.
    pub without_suffixes: Vec<String>,
    /// Names of folders that are left out, at any depth.
    pub without_folders: Vec<String>,
}

/// Why there is no plan: one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError(pub String);

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PlanError {}
