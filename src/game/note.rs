//! What is odd about an installation.

use std::io;
use std::path::Path;

/// What a note is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoteCode {
    /// A list names an archive that no data folder has.
    ArchiveMissing,
    /// Nothing loads an archive.
    ArchiveUnlisted,
    /// An archive's plugin is not active.
    ArchiveInactive,
    /// A folder above has an archive of the same name.
    ArchiveShadowed,
    /// An archive is for another language.
    ArchiveLanguage,
    /// An archive is of another version than the game's own.
    ArchiveVersion,
    /// Archives have a path of which Oblivion takes the one that it asked last.
    ArchivesSharePath,
    /// A list names a plugin that does not exist.
    PluginMissing,
    /// A list names a plugin twice.
    PluginTwice,
    /// A plugin needs one that does not exist.
    MasterMissing,
    /// A folder does not exist.
    FolderMissing,
    /// A folder has two folders whose names differ in case alone.
    FolderCase,
    /// A loose file loses to a newer archive.
    LooseOlder,
    /// The game does not look at a loose file.
    LooseDisabled,
    /// There are two data folders.
    DataTwoPlaces,
    /// The game has not written its settings yet.
    NeverStarted,
    /// A profile of Mod Organizer 2 names a mod that does not exist.
    Mo2ModMissing,
    /// A mod has files for the game's folder.
    Mo2RootFolder,
    /// `plugins.txt` and `Plugins.txt` differ.
    PluginsFilesDiffer,
    /// A list may be too long for the game.
    ListTooLong,
    /// An INI file has a section twice.
    IniSectionTwice,
    /// A link leads nowhere.
    LinkDangling,
    /// A file raises an archive in a way that is not modelled.
    OverrideFile,
    /// A list takes paths out of all archives.
    ArchiveInvalidation,
    /// A file exists and cannot be read.
    FileUnreadable,
    /// The mod manager shows its view in place of the data folder.
    DataMounted,
}

impl NoteCode {
    /// The code that is printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ArchiveMissing => "archive-missing",
            Self::ArchiveUnlisted => "archive-unlisted",
            Self::ArchiveInactive => "archive-inactive",
            Self::ArchiveShadowed => "archive-shadowed",
            Self::ArchiveLanguage => "archive-language",
            Self::ArchiveVersion => "archive-version",
            Self::ArchivesSharePath => "archives-share-path",
            Self::PluginMissing => "plugin-missing",
            Self::PluginTwice => "plugin-twice",
            Self::MasterMissing => "master-missing",
            Self::FolderMissing => "folder-missing",
            Self::FolderCase => "folder-case",
            Self::LooseOlder => "loose-older",
            Self::LooseDisabled => "loose-disabled",
            Self::DataTwoPlaces => "data-two-places",
            Self::NeverStarted => "never-started",
            Self::Mo2ModMissing => "mo2-mod-missing",
            Self::Mo2RootFolder => "mo2-root-folder",
            Self::PluginsFilesDiffer => "plugins-files-differ",
            Self::ListTooLong => "list-too-long",
            Self::IniSectionTwice => "ini-section-twice",
            Self::LinkDangling => "link-dangling",
            Self::OverrideFile => "override-file",
            Self::ArchiveInvalidation => "archive-invalidation",
            Self::FileUnreadable => "file-unreadable",
            Self::DataMounted => "data-mounted",
        }
    }
}

/// A remark on what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanNote {
    /// Its kind.
    pub code: NoteCode,
    /// The file, folder or name that it is about.
    pub subject: String,
    /// What is odd, and what that means.
    pub text: String,
}

impl PlanNote {
    /// A note.
    pub fn new(code: NoteCode, subject: impl Into<String>, text: impl Into<String>) -> Self {
        Self { code, subject: subject.into(), text: text.into() }
    }

    /// On a file or folder that exists and cannot be read.
    pub fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self::new(NoteCode::FileUnreadable, path.to_string_lossy(), format!("{error}; it is left out"))
    }

    /// On paths of folders in one folder that differ in the case of their last names alone.
    pub fn folder_case(mut paths: Vec<String>) -> Self {
        // Those that begin with small letters first.
        paths.sort_by(|a, b| b.cmp(a));
        let text = "Wine shows the game one of them; bsafs shows the files of both";
        Self::new(NoteCode::FolderCase, paths.join(", "), text)
    }
}
