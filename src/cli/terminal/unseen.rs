//! What a command could not look at, from wherever a note says so to the end of the command: it stands in the
//! JSON, it is printed despite `--quiet`, and it decides the exit status.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use super::logger;
use super::output::write_json;
use crate::cli::exit::{Exit, Failure};
use crate::cli::surroundings::explained;
use crate::note::{Note, NoteCode, Notes};
use crate::shown::Shown;
use crate::system::text::count;
use crate::vfs::{ReadError, VfsFile};

/// What a command could not look at.
#[derive(Debug)]
pub(crate) struct Unseen {
    notes: Notes,
    /// Sources that could not be opened at all. They were named already.
    failed: Vec<Note>,
    /// The subjects of the notes.
    known: HashSet<String>,
    /// The patterns that match no file, if others do.
    unmatched: Vec<String>,
}

/// A line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    not_looked_at: &'a str,
    code: NoteCode,
    why: &'a str,
    /// How many more there are of this kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<usize>,
}

/// That a pattern selects nothing.
pub(crate) const UNMATCHED: &str = "no file matches; `bsafs list` prints all paths";

/// Maximum number of files and folders that are named without `-v`. Archives are always named.
const NAMED: usize = 20;

/// Maximum number of notes of one code. The last one says how many more there are.
const NOTES_MAX: usize = 1_000;

impl Default for Unseen {
    fn default() -> Self {
        Self {
            notes: Notes::new(NOTES_MAX),
            failed: Vec::new(),
            known: HashSet::new(),
            unmatched: Vec::new(),
        }
    }
}

impl Unseen {
    /// Adds those of some notes whose subject was not looked at.
    pub(crate) fn add<'n>(&mut self, notes: impl IntoIterator<Item = &'n Note>) {
        for note in notes.into_iter().filter(|note| note.code.is_unseen()) {
            let is_known = self.known.contains(&note.subject);
            if !is_known && self.known.len() < NoteCode::ALL.len() * NOTES_MAX {
                self.known.insert(note.subject.clone());
            }
            if !is_known {
                self.notes.add(note.code, || note.clone());
            }
        }
    }

    /// Adds a source that cannot be opened at all, and says so as other commands do, which end with that.
    pub(crate) fn fail(&mut self, source: &Path, failure: Failure) {
        let what = explained(failure).what;
        logger::print_error(&what);
        let why = what.strip_prefix(&format!("{}: ", source.shown())).unwrap_or(&what);
        let code = if source.is_dir() { NoteCode::FileUnreadable } else { NoteCode::ArchiveUnreadable };
        self.failed.push(Note::new(code, source.to_string_lossy(), why));
    }

    /// Adds a file that could not be read.
    pub(crate) fn add_file(&mut self, file: &VfsFile, error: &ReadError) {
        self.add([&file.not_read(error.kind())]);
    }

    /// Adds something that a command was asked about, and that the game does not load.
    pub(crate) fn add_not_loaded(&mut self, note: Note) {
        if !self.known.contains(&note.subject) {
            self.notes.add(note.code, || note);
        }
    }

    /// Adds a pattern that matches no file. The others are answered.
    pub(crate) fn add_unmatched(&mut self, pattern: &str) {
        self.unmatched.push(pattern.to_owned());
    }

    /// Adds the files whose sizes cannot be read.
    pub(crate) fn add_sizes(&mut self, files: impl IntoIterator<Item = impl Borrow<VfsFile>>) {
        for file in files {
            if let Err(error) = file.borrow().size() {
                self.add_file(file.borrow(), &error);
            }
        }
    }

    /// How many things could not be looked at.
    pub(crate) fn count(&self) -> usize {
        self.failed.iter().chain(self.notes.kept()).map(|note| 1 + note.more).sum()
    }

    /// Writes a line of JSON for each thing.
    pub(crate) fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        self.failed.iter().chain(self.notes.kept()).try_for_each(|note| {
            let more = (note.more > 0).then_some(note.more);
            write_json(
                out,
                &Line { not_looked_at: &note.subject, code: note.code, why: note.why_unseen(), more },
            )
        })
    }

    /// Prints what was not looked at, also with `--quiet`. Returns the exit status of a command that would
    /// otherwise end with `exit`.
    pub(crate) fn end(&self, exit: Exit) -> Exit {
        let most = if log::log_enabled!(log::Level::Info) { usize::MAX } else { NAMED };
        let (mut named, mut more) = (0, 0_usize);
        for note in self.notes.kept() {
            let is_archive = note.code.is_of_archive();
            named += usize::from(!is_archive);
            more = more.saturating_add(note.more);
            if is_archive || named <= most {
                let (subject, why) = (note.subject.shown(), note.why_unseen().shown());
                let what = if note.code.is_damage() { "damaged" } else { "not looked at" };
                logger::print_error(&format!("{subject}: {what}: {why}"));
            }
        }
        more = more.saturating_add(named.saturating_sub(most));
        if more > 0 {
            logger::print_error(&format!(
                "{} more could not be looked at; -v names them",
                count(more, "file")
            ));
        }
        for pattern in &self.unmatched {
            logger::print_error(&format!("{}: {UNMATCHED}", pattern.shown()));
        }
        let is_whole = self.notes.kept().is_empty() && self.unmatched.is_empty();
        if is_whole || exit != Exit::Ok { exit } else { Exit::No }
    }
}
