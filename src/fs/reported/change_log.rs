//! The last changes of files in a mount, as `bsafs watch` reads them.

use std::collections::{HashSet, VecDeque};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::daemon_status::PAGE_LEN;
use crate::named::named;
use crate::tree::Ino;

named! {
    /// What happened to a file of a mount.
    #[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum FileEvent;
    fn name;

    /// The mount has a new file.
    Added = "added";
    /// The file is gone.
    Removed = "removed";
    /// Another file is at the path, or the file was written to.
    Modified = "modified";
    /// Any file below the path may have changed.
    Unknown = "unknown";
}

impl fmt::Display for FileEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A file of a mount that changed.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ChangedFile {
    /// The path in the mount. Bytes that are not UTF-8 are replaced.
    pub path: String,
    /// What happened to it.
    pub change: FileEvent,
    /// Number of the first view that has the change.
    pub view: u32,
}

impl ChangedFile {
    /// The whole mount: what changed in it is not known.
    pub fn unknown(view: u32) -> Self {
        Self { path: String::new(), change: FileEvent::Unknown, view }
    }
}

/// Some changes of a mount, in order.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct FileChanges {
    /// Process ID of the daemon.
    pub pid: u32,
    /// Whether the daemon knows which folders it watches. Before that, it may miss a write to a file.
    pub is_watching: bool,
    /// Number of the change after these.
    pub next: u64,
    /// The changes. More may follow.
    pub changes: Vec<ChangedFile>,
}

/// Maximum number of changes that are kept for programs that have not read them yet.
pub(crate) const KEPT_MAX: usize = 2048;
/// Maximum total length of the paths of kept changes.
const KEPT_BYTES: usize = 1 << 18;

/// The last changes. Each has a number, which counts up from 0.
#[derive(Debug, Default)]
pub(crate) struct ChangeLog {
    kept: VecDeque<ChangedFile>,
    /// Total length of the paths in `kept`.
    bytes: usize,
    /// Number of the change after the last one.
    next: u64,
    /// Number of the last view.
    view: u32,
}

impl ChangeLog {
    /// Adds changes of a view. If it is not known which files changed, or if they are too many, `changes` is
    /// `None`.
    pub(crate) fn add(&mut self, view: u32, changes: Option<Vec<ChangedFile>>) {
        self.view = view;
        let changes = changes.unwrap_or_else(|| vec![ChangedFile::unknown(view)]);
        for change in changes {
            self.next += 1;
            self.bytes += change.path.len();
            self.kept.push_back(change);
            while self.kept.len() > KEPT_MAX || self.bytes > KEPT_BYTES {
                let Some(oldest) = self.kept.pop_front() else { break };
                self.bytes -= oldest.path.len();
            }
        }
    }

    /// The number of the next change.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// The changes from a number on, as JSON that fits into one link. The answer has at least one change,
    /// unless there is none. If changes are no longer kept, or do not fit, one change that says that anything
    /// may have changed takes their place.
    pub(crate) fn since(&self, from: u64, is_watching: bool) -> String {
        let first = self.next - self.kept.len() as u64;
        let mut answer = FileChanges {
            pid: std::process::id(),
            is_watching,
            next: from.min(self.next),
            changes: Vec::new(),
        };
        if from < first {
            answer =
                FileChanges { next: self.next, changes: vec![ChangedFile::unknown(self.view)], ..answer };
            return json(&answer);
        }
        let mut text = json(&answer);
        for change in self.kept.iter().skip((answer.next - first) as usize) {
            answer.changes.push(change.clone());
            answer.next += 1;
            let longer = json(&answer);
            if longer.len() < PAGE_LEN {
                text = longer;
                continue;
            }
            if answer.changes.len() == 1 {
                // A single path that is too long for a link.
                answer.changes = vec![ChangedFile::unknown(change.view)];
                text = json(&answer);
            }
            break;
        }
        text
    }
}

fn json(answer: &FileChanges) -> String {
    // A value of these types always has a JSON form.
    serde_json::to_string(answer).unwrap_or_default()
}

// Files for which the disk reported an event.

/// The files for which the disk reported an event since the last view. The comparison of two views does not
/// find all of them, because it stats only files that were statted before.
#[derive(Debug, Default)]
pub(crate) struct TouchedFiles {
    /// Inode numbers.
    files: HashSet<Ino>,
    /// Whether any other file may have been touched.
    are_more: bool,
}

impl TouchedFiles {
    /// Adds a file.
    pub(crate) fn add(&mut self, ino: Ino) {
        if self.files.len() < KEPT_MAX {
            self.files.insert(ino);
        } else {
            self.are_more = true;
        }
    }

    /// Adds all files, because events were lost.
    pub(crate) fn add_all(&mut self) {
        self.are_more = true;
    }

    /// Whether no other file was touched.
    pub(crate) fn is_complete(&self) -> bool {
        !self.are_more
    }

    /// Inode numbers of the files.
    pub(crate) fn files(&self) -> impl Iterator<Item = Ino> {
        self.files.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str) -> ChangedFile {
        ChangedFile { path: path.to_owned(), change: FileEvent::Modified, view: 1 }
    }

    /// Everything that a reader gets who has read up to `from`, and how many answers it took.
    fn read(log: &ChangeLog, mut from: u64) -> (Vec<ChangedFile>, usize) {
        let (mut all, mut answers) = (Vec::new(), 0);
        loop {
            let text = log.since(from, true);
            assert!(text.len() < PAGE_LEN, "{} bytes", text.len());
            let answer: FileChanges = serde_json::from_str(&text).expect(&text);
            if answer.changes.is_empty() {
                assert_eq!(answer.next, log.next());
                return (all, answers);
            }
            from = answer.next;
            answers += 1;
            all.extend(answer.changes);
        }
    }

    #[test]
    fn every_reader_gets_each_change_once_in_answers_that_fit_into_a_link() {
        let mut log = ChangeLog::default();
        let changes: Vec<_> = (0..500).map(|n| change(&format!("textures/{n:04}\u{1}.dds"))).collect();
        log.add(1, Some(changes.clone()));
        let (all, answers) = read(&log, 0);
        assert_eq!(all, changes);
        assert!(answers > 5, "{answers}");
        assert_eq!(read(&log, 490).0, changes[490..]);
        assert_eq!(read(&log, 500).0, []);
    }

    #[test]
    fn a_reader_who_falls_behind_learns_that_anything_may_have_changed() {
        let mut log = ChangeLog::default();
        log.add(7, Some(vec![change("a"); KEPT_MAX + 3]));
        assert_eq!(read(&log, 2).0, [ChangedFile::unknown(7)]);
        assert_eq!(read(&log, 3).0.len(), KEPT_MAX);
        let long = "x".repeat(KEPT_BYTES / 4);
        log.add(8, Some(vec![change(&long); 9]));
        assert!(log.kept.len() <= 4 && log.bytes <= KEPT_BYTES, "{} changes", log.kept.len());
        // A path that does not fit into a link is not missed silently.
        let from = log.next() - 1;
        assert_eq!(read(&log, from).0, [ChangedFile::unknown(1)]);
        log.add(9, None);
        assert_eq!(read(&log, from + 1).0, [ChangedFile::unknown(9)]);
    }
}
