//! The page of `diff --html`: the mods and plugins, and the files that were changed, added and
//! removed.

use super::conflict_page::sort_by_folder;
use super::contents::{Contents, NameList, PageHead, Part, Pixels, Row, Section, Side, State};
use crate::answers::fate::FateReason;
use crate::answers::{Change, Difference};
use crate::limits::PAGE_FILES_MAX;
use crate::vfs::VfsFile;

/// Files that differ for one reason.
pub(crate) struct FileGroup<'d> {
    /// The mod that causes it.
    pub(crate) title: String,
    pub(crate) differences: Vec<&'d Difference>,
}

/// What a page says of files.
pub(crate) struct FileFacts<'a> {
    /// Why the new source lacks a file although it has a copy of it.
    pub(crate) missing: &'a dyn Fn(&str) -> Option<&'a FateReason>,
    /// The mods that have the old file and the new one, if they are two.
    pub(crate) mods: &'a dyn Fn(&Difference) -> [Option<String>; 2],
}

/// The page of differences: all by their kind, or in groups, if there are some.
pub(crate) fn difference_page(
    head: PageHead,
    lists: Vec<NameList>,
    (differences, groups): (&[Difference], &[FileGroup<'_>]),
    about: &FileFacts<'_>,
) -> Contents {
    let mut room = PAGE_FILES_MAX;
    let mut section = |(name, differences): (&str, Vec<&Difference>)| {
        let row = |difference: &&Difference| row(difference, about);
        let mut rows: Vec<Row> = differences.iter().take(room).map(row).collect();
        room -= rows.len();
        sort_by_folder(&mut rows);
        let (name, files) = (name.to_owned(), differences.len());
        Section { name, over: None, about: Vec::new(), files, equal: 0, wins: None, rows }
    };
    let of_kind = |is_one: fn(&Change) -> bool| differences.iter().filter(|it| is_one(&it.change)).collect();
    let sections = if groups.is_empty() {
        let kinds: [(&str, Vec<&Difference>); 4] = [
            ("Changed", of_kind(|change| *change == Change::Changed)),
            ("Added", of_kind(|change| *change == Change::Added)),
            ("Removed", of_kind(|change| *change == Change::Removed)),
            ("Cannot be compared", of_kind(|change| matches!(change, Change::Unreadable(_)))),
        ];
        kinds.into_iter().filter(|(_, files)| !files.is_empty()).map(&mut section).collect()
    } else {
        groups.iter().map(|it| (&*it.title, it.differences.clone())).map(&mut section).collect()
    };
    let heading =
        if groups.is_empty() { "What differs" } else { "Files, by the mod that causes the difference" };
    Contents {
        head,
        lists,
        parts: vec![Part { id: "files", heading, about: "", is_closed: false, sections }],
        layers: Vec::new(),
        narrowing: "add --glob with a pattern such as '*sword*'",
    }
}

fn row(difference: &Difference, page: &FileFacts<'_>) -> Row {
    let Difference { path, before, after, change } = difference;
    let [mod_before, mod_after] = (page.mods)(difference);
    let side = |role, of_mod, file: &VfsFile| Side { role, of_mod, file: file.clone() };
    let before = before.iter().map(|file| side("before", mod_before.clone(), file));
    let sides = before.chain(after.iter().map(|file| side("after", mod_after.clone(), file))).collect();
    let pixels = if *change == Change::Changed { Pixels::Subtracted } else { Pixels::Shown };
    let state = match change {
        Change::Changed => State::Different,
        Change::Unreadable(_) => State::Unreadable,
        Change::Added => State::Added,
        Change::Removed => State::Removed((page.missing)(path).and_then(|reason| reason.fate)),
        Change::Equal | Change::SameSize => State::Unknown,
    };
    Row { path: path.clone(), sides, state, pixels }
}
