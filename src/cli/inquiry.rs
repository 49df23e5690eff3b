//! A question of a command, from its sources to its exit status: sources -> selection -> what was not looked
//! at -> answer -> text or JSON -> status.
//!
//! Every command that opens sources to answer goes through it; a test finds those that do not. So a selection
//! that matches nothing, a reader that leaves, and what was not looked at are handled here and nowhere else.

use std::io;
use std::path::Path;

use serde::Serialize;

use super::exit::{Exit, Failure, OutputError};
use super::options::selection::Selected;
use super::terminal::output::{Output, stdout_for};
use super::terminal::unseen::Unseen;
use crate::vfs::{Vfs, VfsFile};

/// The state of a question.
pub(crate) struct Inquiry {
    /// Where the answer is written.
    pub(crate) out: Output,
    is_json: bool,
    /// What was not looked at so far.
    pub(crate) unseen: Unseen,
    exit: Exit,
}

impl Inquiry {
    /// Asks, and returns the exit status. The function writes the answer, as JSON or as text. At the end,
    /// what was not looked at is written to the JSON and named, also if the function failed: it may be why.
    pub(crate) fn run(
        is_json: bool,
        ask: impl FnOnce(&mut Self) -> Result<(), Failure>,
    ) -> Result<Exit, Failure> {
        Self::run_to(stdout_for(is_json), is_json, ask)
    }

    /// As [`run`](Self::run), with another output.
    pub(crate) fn run_to(
        out: Output,
        is_json: bool,
        ask: impl FnOnce(&mut Self) -> Result<(), Failure>,
    ) -> Result<Exit, Failure> {
        let mut inquiry = Self { out, is_json, unseen: Unseen::default(), exit: Exit::Ok };
        let answered = ask(&mut inquiry);
        let written = inquiry.write_unseen().map_err(Failure::from);
        let exit = inquiry.unseen.end(inquiry.exit);
        match answered.and(written) {
            // A reader that ends early does not make whole what was not looked at.
            Ok(()) | Err(Failure { exit: Exit::Ok, .. }) => Ok(exit),
            Err(failure) => Err(failure),
        }
    }

    fn write_unseen(&mut self) -> Result<(), OutputError> {
        if self.is_json {
            let unseen = &self.unseen;
            self.out.text(|out| unseen.write_json(out))?;
        }
        self.out.flush()
    }

    /// The selected files of a tree, ordered by path without regard to case. Fails if a path is not in the
    /// tree, or if no file matches the patterns.
    pub(crate) fn select(&mut self, selected: &mut Selected<'_>, vfs: &Vfs) -> Result<Vec<VfsFile>, Failure> {
        self.unseen.add(selected.unseen(vfs));
        let files = selected.files_among(vfs);
        self.check(selected, files.len(), Some(vfs)).map(|()| files)
    }

    /// Fails if a path is in none of the trees that were asked, or if none of their files was selected.
    /// Names the patterns that match nothing beside others that do. Paths are suggested from `vfs`.
    pub(crate) fn check(
        &mut self,
        selected: &Selected<'_>,
        files: usize,
        vfs: Option<&Vfs>,
    ) -> Result<(), Failure> {
        selected.check(files, vfs)?;
        selected.unmatched().for_each(|pattern| self.unseen.add_unmatched(pattern));
        Ok(())
    }

    /// Writes a part of the answer, as a line of JSON or as text.
    pub(crate) fn put<J: Serialize>(
        &mut self,
        json: impl FnOnce() -> J,
        text: impl FnOnce(&mut Output) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        if self.is_json { self.out.json(&json()) } else { self.out.text(text) }
    }

    /// Has the command end with a status, unless an earlier one outranks it: an error outranks a "no".
    pub(crate) fn set_exit(&mut self, exit: Exit) {
        if self.exit == Exit::Ok || self.exit == Exit::No && exit != Exit::Ok {
            self.exit = exit;
        }
    }

    /// Goes on after a source that cannot be opened, and says so as other commands do, which end with that.
    pub(crate) fn fail(&mut self, source: &Path, failure: Failure) {
        self.set_exit(failure.exit);
        self.unseen.fail(source, failure);
    }
}
