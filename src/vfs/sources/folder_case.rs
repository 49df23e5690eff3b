//! Finds folders whose names differ only in case. Wine shows a game only one of them.

use crate::folder::LooseNames;
use crate::game::caseless::fold;
use crate::note::Note;

/// A note for each set of folders whose names differ only in case. Top folders are left out,
/// because the plan notes them.
pub(crate) fn notes(names: &LooseNames) -> Vec<Note> {
    let mut folders: Vec<(u32, String, u32)> = (0_u32..)
        .zip(names.folders())
        .filter(|(_, (parent, ..))| *parent != 0)
        .filter_map(|(at, (parent, name, _))| Some((parent, fold(std::str::from_utf8(name.bytes).ok()?), at)))
        .collect();
    folders.sort_unstable();
    let twice = folders.chunk_by(|a, b| (a.0, &a.1) == (b.0, &b.1)).filter(|same| same.len() > 1);
    let path =
        |folder: &(u32, String, u32)| String::from_utf8_lossy(&names.folder_path(folder.2)).into_owned();
    twice.map(|same| Note::folder_case(same.iter().map(path).collect())).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::folder::{Filter, OpenFiles, scan};

    #[test]
    fn nested_folders_that_differ_only_in_case_share_one_note() {
        let dir = tempfile::tempdir().expect("cannot create the folder");
        for path in ["A/x/Ä", "A/X/ä", "A/x/Ü", "A/x/ü", "A/y", "B/x", "a/Y"] {
            std::fs::create_dir_all(dir.path().join(path)).expect("cannot create a subfolder");
        }
        let folder = scan(dir.path(), &Filter::default(), &Arc::new(OpenFiles::default()))
            .expect("cannot scan the folder");
        let notes = super::notes(folder.names());
        let subjects: Vec<&str> = notes.iter().map(|note| note.subject.as_str()).collect();
        assert_eq!(subjects, ["A/x, A/X", "A/x/ü, A/x/Ü"]);
    }
}
