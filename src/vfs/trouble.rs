//! A source that could not be opened again. Only this source is affected: if it is gone, it is left out,
//! as if it were empty; if it cannot be read or parsed, it stays as it was.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::error::{OpenError, OpenErrorKind};
use crate::archive_file::ArchiveFile;
use crate::note::{Note, NoteCode};
use crate::shown::Shown;
use crate::system::paths::is_gone;

/// What is wrong with a source, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    path: PathBuf,
    /// What is wrong, without the path.
    why: String,
    pub(crate) handling: Handling,
}

/// What became of a source that could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handling {
    /// Nothing is at its path any more, so it is left out.
    Gone,
    /// It was not opened before, or root may not open it for others any more, so it is left out.
    LeftOut,
    /// It stays as it was.
    Kept,
    /// It is an archive that cannot be read, and stays as it was.
    KeptArchive,
    /// It is a folder that could not be walked, and stays as it was.
    KeptFolder,
    /// It may be an archive that is still being written, and stays as it was.
    Unfinished,
}

impl Trouble {
    /// A source that cannot be opened for this reason. `was_opened` says whether it can stay as it was.
    pub(crate) fn of(path: &Path, error: &OpenError, was_opened: bool) -> Self {
        let handling = match error.kind() {
            _ if path.is_absolute() && is_gone(path) => Handling::Gone,
            // What another user decides now must not be opened at its path again.
            OpenErrorKind::OfOtherUser(_) => Handling::LeftOut,
            _ if was_opened => Handling::Kept,
            _ => Handling::LeftOut,
        };
        // The error may be about another file: one that says what to open.
        let about = error.path().unwrap_or(path);
        Self::new(about, &error.kind().to_string(), handling)
    }

    /// What prevents opening a source, as far as its path shows. Nothing in it is read.
    pub(crate) fn of_path(path: &Path) -> Option<Self> {
        let opened =
            if path.is_dir() { std::fs::read_dir(path).map(drop) } else { ArchiveFile::open(path).map(drop) };
        opened.err().map(|error| Self::of(path, &OpenError::unreadable(path, error), false))
    }

    /// As [`Trouble::of`], for an archive. It stays open, so another user who can change its path cannot
    /// change its bytes.
    pub(crate) fn of_archive(path: &Path, error: &OpenError, was_opened: bool) -> Self {
        let trouble = Self::of(path, error, was_opened);
        let handling = if was_opened && trouble.handling != Handling::Gone {
            Handling::KeptArchive
        } else {
            trouble.handling
        };
        Self { handling, ..trouble }
    }

    pub(crate) fn new(path: &Path, why: &str, handling: Handling) -> Self {
        let why = if handling == Handling::Gone { "it is gone" } else { why };
        Self { path: path.to_owned(), why: why.to_owned(), handling }
    }

    /// The path of the source.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What is wrong, with the path.
    pub(crate) fn what(&self) -> String {
        format!("{}: {}", self.path.shown(), self.why)
    }

    /// What is done about it, for the log.
    pub(crate) fn advice(&self) -> &'static str {
        match self.handling {
            Handling::Gone => "its files are shown again when it is back",
            Handling::LeftOut => "it is left out until this problem is fixed",
            Handling::Kept | Handling::KeptArchive | Handling::KeptFolder | Handling::Unfinished => {
                "the previous contents stay mounted until this problem is fixed"
            }
        }
    }

    /// The first trouble of each path, because planning and opening a source may fail for one cause.
    pub(crate) fn first_of_each<'a>(
        troubles: impl Iterator<Item = &'a Self>,
    ) -> impl Iterator<Item = &'a Self> {
        let mut named = HashSet::new();
        troubles.filter(move |trouble| named.insert(&*trouble.path))
    }

    /// Whether nothing of the source is shown.
    pub(crate) fn is_left_out(&self) -> bool {
        matches!(self.handling, Handling::Gone | Handling::LeftOut)
    }

    /// The note about it, for all commands that show notes.
    pub(crate) fn note(&self) -> Note {
        let (code, done) = match self.handling {
            Handling::Gone => (NoteCode::SourceGone, "left out until it is back"),
            Handling::LeftOut => (NoteCode::SourceUnreadable, "left out"),
            Handling::Kept | Handling::KeptArchive | Handling::KeptFolder | Handling::Unfinished => {
                (NoteCode::SourceUnreadable, "shown as it was before")
            }
        };
        Note::new(code, self.path.to_string_lossy(), format!("{done}: {}", self.why))
    }
}
