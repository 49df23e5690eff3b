//! The page of `diff --html`: what was changed, added and removed.

use super::conflict_page::sort_by_folder;
use super::contents::{Contents, PageHead, Part, Pixels, Row, Section, Side, State};
use crate::limits::PAGE_FILES_MAX;
use crate::vfs::fate::Cause;
use crate::vfs::{Change, Difference, VfsFile};

/// The page of differences. `missing` is why a source lacks a file of which it has a copy.
pub(crate) fn difference_page<'c>(
    head: PageHead,
    differences: &[Difference],
    missing: &dyn Fn(&str) -> Option<&'c Cause>,
) -> Contents {
    let titles = ["Changed", "Added", "Removed", "Cannot be compared"];
    let mut sections = titles.map(|title| Section {
        name: title.into(),
        over: None,
        about: Vec::new(),
        files: 0,
        equal: 0,
        wins: None,
        rows: Vec::new(),
    });
    let mut room = PAGE_FILES_MAX;
    for difference in differences {
        let at = match difference.change {
            Change::Changed => 0,
            Change::Added => 1,
            Change::Removed => 2,
            Change::Unreadable(_) => 3,
            Change::Equal | Change::SameSize => continue,
        };
        sections[at].files += 1;
        if room > 0 {
            room -= 1;
            sections[at].rows.push(row(difference, missing(&difference.path)));
        }
    }
    for section in sections.iter_mut() {
        sort_by_folder(&mut section.rows);
    }
    let sections = sections.into_iter().filter(|section| section.files > 0).collect();
    Contents {
        head,
        parts: vec![Part { id: "files", heading: "What differs", about: "", is_closed: false, sections }],
        layers: Vec::new(),
        narrowing: "add --glob with a pattern such as 'textures/armor/**' or '*sword*'",
    }
}

fn row(Difference { path, before, after, change }: &Difference, missing: Option<&Cause>) -> Row {
    let side = |role, file: &VfsFile| Side { role, file: file.clone() };
    let before = before.iter().map(|file| side("before", file));
    let sides = before.chain(after.iter().map(|file| side("after", file))).collect();
    let pixels = if *change == Change::Changed { Pixels::Subtracted } else { Pixels::Shown };
    let state = match (change, missing.and_then(|cause| cause.fate)) {
        (Change::Changed, _) => State::Different,
        (Change::Unreadable(_), _) => State::Unreadable,
        (_, Some(fate)) => State::Other(fate),
        _ => State::Unknown,
    };
    Row { path: path.clone(), sides, state, pixels }
}
