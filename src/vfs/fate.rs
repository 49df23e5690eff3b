//! What became of a copy: one file in one place. The place is a layer, or could be one, such as a mod that is
//! off, an archive that is not loaded, or a folder from which a manager deploys.

use std::path::Path;

use serde::Serialize;

use crate::note::{Because, Note, NoteCode};

/// What became of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Fate {
    /// The game uses it.
    Wins,
    /// Another copy of its path wins.
    Loses,
    /// It is where the game could read it, but the game or the mod manager passes over it.
    Ignored,
    /// It is in an archive, or is a plugin or archive, that the game does not load.
    NotLoaded,
    /// Its mod is off, or the user hid it.
    Off,
    /// It is in a folder from which a mod manager deploys, but not in the game.
    NotDeployed,
    /// There is no such file.
    NotHere,
}

impl Fate {
    /// The fate in one or two words.
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::Wins => "from",
            Self::Loses => "hidden",
            Self::Ignored => "ignored",
            Self::NotLoaded => "not loaded",
            Self::Off => "off",
            Self::NotDeployed => "not deployed",
            Self::NotHere => "not here",
        }
    }

    /// The fate of what a note is about; `None` if the note says nothing of that.
    pub(crate) fn of_code(code: NoteCode) -> Option<Self> {
        Some(match code {
            NoteCode::ArchiveUnlisted
            | NoteCode::PluginIgnored
            | NoteCode::ArchiveInactive
            | NoteCode::ArchiveLanguage
            | NoteCode::ArchiveShadowed
            | NoteCode::ArchiveUnreadable => Self::NotLoaded,
            NoteCode::LooseOlder => Self::Loses,
            NoteCode::LooseDisabled
            | NoteCode::Mo2ModNested
            | NoteCode::ModNested
            | NoteCode::ArchiveInvalidation
            | NoteCode::FolderCase
            | NoteCode::SettingsIgnored => Self::Ignored,
            code if is_left_out(code) => Self::Ignored,
            NoteCode::ArchiveMissing
            | NoteCode::PluginMissing
            | NoteCode::MasterMissing
            | NoteCode::Mo2ModMissing
            | NoteCode::FolderMissing => Self::NotHere,
            _ => return None,
        })
    }
}

/// Whether a note is about a file or folder on the disk that the tree leaves out.
pub(crate) fn is_left_out(code: NoteCode) -> bool {
    matches!(
        code,
        NoteCode::LinkDangling
            | NoteCode::LinkCircle
            | NoteCode::LinkOfOtherUser
            | NoteCode::LinkedOften
            | NoteCode::OtherMount
            | NoteCode::SpecialFile
            | NoteCode::PathTooDeep
            | NoteCode::FileUnreadable
            | NoteCode::Mo2RootFolder
    )
}

/// A reason why something is in a game or not, usually the fate of a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Cause {
    /// What became of the subject; `None` if the reason is only a remark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fate: Option<Fate>,
    /// The code of a note, or another short name.
    pub(crate) code: &'static str,
    /// The archive, folder or file that the reason is about.
    pub(crate) subject: String,
    /// The reason, and what to do.
    pub(crate) text: String,
    /// The layer that wins, if the fate is [`Fate::Loses`].
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) by: String,
    /// The settings that decided it.
    #[serde(skip_serializing_if = "Because::is_empty")]
    pub(crate) because: Because,
}

impl Cause {
    pub(crate) fn new(fate: Fate, code: &'static str, subject: &Path, text: impl Into<String>) -> Self {
        Self { fate: Some(fate), ..Self::remark(code, subject, text) }
    }

    /// A reason that says nothing of a copy.
    pub(crate) fn remark(code: &'static str, subject: &Path, text: impl Into<String>) -> Self {
        let (subject, text) = (subject.to_string_lossy().into_owned(), text.into());
        Self { fate: None, code, subject, text, by: String::new(), because: Because::default() }
    }

    pub(crate) fn of(note: &Note) -> Self {
        Self {
            fate: Fate::of_code(note.code),
            code: note.code.as_str(),
            subject: note.subject.clone(),
            text: note.to_string(),
            by: String::new(),
            because: note.because.clone(),
        }
    }
}
