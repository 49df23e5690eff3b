//! What planning looked at on the disk, so that a mount plans anew when it changes.
//!
//! Recorded for the thread that plans: the readers of files and folders are called from everywhere in the plan, and return
//! nothing of it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What was looked at, found or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// Files that were read, or would have been.
    pub files: BTreeSet<PathBuf>,
    /// Folders whose names were read.
    pub folders: BTreeSet<PathBuf>,
}

thread_local! {
    static LOOKED: RefCell<Option<Looked>> = const { RefCell::new(None) };
}

/// Runs a plan on this thread; returns what it looked at, too.
pub fn recorded<T>(plan: impl FnOnce() -> T) -> (T, Looked) {
    LOOKED.set(Some(Looked::default()));
    let planned = plan();
    (planned, LOOKED.take().unwrap_or_default())
}

/// Records a file.
pub(super) fn note_file(path: &Path) {
    LOOKED.with_borrow_mut(|looked| looked.as_mut().map(|looked| looked.files.insert(path.to_owned())));
}

/// Records a folder whose names are read.
pub(super) fn note_names(folder: &Path) {
    LOOKED.with_borrow_mut(|looked| looked.as_mut().map(|looked| looked.folders.insert(folder.to_owned())));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::caseless::CaselessNames;
    use crate::game::small_file;

    #[test]
    fn files_and_folders_are_recorded_found_or_not_and_only_of_a_plan() {
        let _ = small_file::read(Path::new("/none/before"), 1);
        let ((), looked) = recorded(|| {
            let _ = small_file::read(Path::new("/none/x.ini"), 1);
            let _ = CaselessNames::read(Path::new("/none/Data"));
        });
        let _ = small_file::read(Path::new("/none/after"), 1);
        assert_eq!(looked.files, ["/none/x.ini".into()].into());
        assert_eq!(looked.folders, ["/none/Data".into()].into());
    }
}
