//! How many inotify watches a mount may have. All mounts of a user together take at most half of the user's
//! watches, because other programs need watches, too.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::system::process;

/// The limit of watches of each user.
const LIMIT: &str = "/proc/sys/fs/inotify/max_user_watches";
/// If no more folders than this are added, the watches of other mounts are not counted again.
const FEW: usize = 1000;

/// The watches that a mount may have.
#[derive(Debug, Default)]
pub(super) struct Share {
    /// `None` until it is needed.
    watches: Option<usize>,
    is_fixed: bool,
}

impl Share {
    /// A share of this many watches.
    pub(super) fn fixed(watches: usize) -> Self {
        Self { watches: Some(watches), is_fixed: true }
    }

    /// Prepares for `more` folders: counts again what the user's other mounts have.
    pub(super) fn make_room(&mut self, more: usize) {
        if !self.is_fixed && (self.watches.is_none() || more > FEW) {
            let text = process::file_in_proc(Path::new(LIMIT)).ok();
            let limit = text.and_then(|text| text.trim().parse::<usize>().ok());
            // Without /proc, the system's own limit decides.
            self.watches = limit.map(|limit| (limit / 2).saturating_sub(watches_of_others()));
        }
    }

    /// How many more watches are allowed if there are `watches` now.
    pub(super) fn room(&self, watches: usize) -> usize {
        self.watches.map_or(usize::MAX, |most| most.saturating_sub(watches))
    }

    /// Records that the system allows no more than these.
    pub(super) fn shrink(&mut self, watches: usize) {
        self.watches = Some(self.watches.map_or(watches, |most| most.min(watches)));
    }
}

/// The number of watches that other bsafs processes of this user have.
fn watches_of_others() -> usize {
    let Ok(own) = fs::metadata("/proc/self") else { return 0 };
    let is_of_user = |folder: &Path| fs::metadata(folder).is_ok_and(|it| it.uid() == own.uid());
    let folders = process::others().into_iter().flatten().map(|(_, folder)| folder);
    folders.filter(|it| is_of_user(it) && process::runs_bsafs(it)).map(|it| watches_of(&it)).sum()
}

fn watches_of(process: &Path) -> usize {
    let descriptors = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    let is_inotify =
        |path: &Path| fs::read_link(path).is_ok_and(|target| target.ends_with("anon_inode:inotify"));
    let watchers = descriptors.filter(|entry| is_inotify(&entry.path()));
    let watches = |number| {
        let Ok(file) = File::open(process.join("fdinfo").join(number)) else { return 0 };
        BufReader::new(file)
            .split(b'\n')
            .map_while(Result::ok)
            .filter(|line| line.starts_with(b"inotify "))
            .count()
    };
    watchers.map(|entry| watches(entry.file_name())).sum()
}

#[cfg(test)]
mod tests {
    use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};

    use super::*;

    #[test]
    fn the_watches_of_a_process_are_counted() {
        let own = Path::new("/proc/self");
        let before = watches_of(own);
        let inotify = init(CreateFlags::CLOEXEC).unwrap();
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        for folder in &folders {
            add_watch(&inotify, folder.path(), WatchFlags::CREATE).unwrap();
        }
        // Other tests of this program may watch, too.
        assert!(watches_of(own) >= 2 && before < watches_of(own) + 2);
    }
}
