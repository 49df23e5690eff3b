//! Notes on oddities of an installation.

use std::io;
use std::path::Path;

/// The kind of oddity that a note reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum NoteCode {
    /// A list names an archive that no data folder contains.
    ArchiveMissing,
    /// Neither a list nor a plugin loads an archive.
    ArchiveUnlisted,
    /// An archive belongs to a plugin that is not active.
    ArchiveInactive,
    /// A higher data folder contains an archive of the same name.
    ArchiveShadowed,
    /// An archive is for another language.
    ArchiveLanguage,
    /// An archive has another version than the game's own archives.
    ArchiveVersion,
    /// Several archives share a path. Oblivion may read the file from any of them, because it first tries the
    /// archive that it read last.
    ArchivesSharePath,
    /// A list names a plugin that does not exist.
    PluginMissing,
    /// A list names a plugin twice.
    PluginTwice,
    /// A plugin needs a master that does not exist.
    MasterMissing,
    /// A folder does not exist.
    FolderMissing,
    /// A folder contains two folders whose names differ in case alone.
    FolderCase,
    /// A loose file loses to an archive that is not older.
    LooseOlder,
    /// The game ignores a loose file.
    LooseDisabled,
    /// There are two data folders, one of them in My Games.
    DataTwoPlaces,
    /// The game has not written its settings yet because it was never started.
    NeverStarted,
    /// A Mod Organizer 2 profile names a mod that does not exist.
    Mo2ModMissing,
    /// A mod contains a folder of files that belong in the game's folder.
    Mo2RootFolder,
    /// The game was started, but its list of plugins does not exist.
    PluginsFileMissing,
    /// `plugins.txt` and `Plugins.txt` differ.
    PluginsFilesDiffer,
    /// A list may be too long for the game to read completely.
    ListTooLong,
    /// An INI file contains a section twice.
    IniSectionTwice,
    /// A settings file, or a part of it, has no effect.
    SettingsIgnored,
    /// A link is dangling.
    LinkDangling,
    /// A file gives an archive a higher rank in a way that bsafs does not model.
    OverrideFile,
    /// A list removes paths from all archives.
    ArchiveInvalidation,
    /// A file exists and cannot be read.
    FileUnreadable,
    /// A file system, such as a mod manager's, is mounted over the data folder.
    DataMounted,
}

impl NoteCode {
    /// The code as the user sees it.
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
            Self::PluginsFileMissing => "plugins-file-missing",
            Self::PluginsFilesDiffer => "plugins-files-differ",
            Self::ListTooLong => "list-too-long",
            Self::IniSectionTwice => "ini-section-twice",
            Self::SettingsIgnored => "settings-ignored",
            Self::LinkDangling => "link-dangling",
            Self::OverrideFile => "override-file",
            Self::ArchiveInvalidation => "archive-invalidation",
            Self::FileUnreadable => "file-unreadable",
            Self::DataMounted => "data-mounted",
        }
    }
}

/// A remark about something unusual in an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanNote {
    /// What kind of oddity it is.
    pub code: NoteCode,
    /// The file, folder or name that the note is about.
    pub subject: String,
    /// What is unusual, and its consequence.
    pub text: String,
}

impl PlanNote {
    /// Creates a note.
    pub(crate) fn new(code: NoteCode, subject: impl Into<String>, text: impl Into<String>) -> Self {
        Self { code, subject: subject.into(), text: text.into() }
    }

    /// Creates a note on a file or folder that exists but cannot be read.
    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self::new(NoteCode::FileUnreadable, path.to_string_lossy(), format!("left out: {error}"))
    }

    /// Creates a note on a link whose target does not exist.
    pub(crate) fn dangling_link(path: impl Into<String>) -> Self {
        let text = "the target of the link does not exist; a mod manager may have moved or removed it";
        Self::new(NoteCode::LinkDangling, path, text)
    }

    /// Creates a note on folders in one folder whose names differ in case alone.
    pub(crate) fn folder_case(mut paths: Vec<String>) -> Self {
        // Lowercase names come first.
        paths.sort_by(|a, b| b.cmp(a));
        let text =
            "the names differ only in case; Wine shows the game one of the folders, bsafs merges them all";
        Self::new(NoteCode::FolderCase, paths.join(", "), text)
    }
}
