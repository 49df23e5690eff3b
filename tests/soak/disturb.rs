//! Events that must not disturb a reader. Caches are dropped. Archives get other access times, permissions
//! and hard links for a moment, and are exchanged with their hard links. Their content stays the same.

use std::fs::{self, File, FileTimes, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rustix::fs::{Advice, CWD, RenameFlags, fadvise, renameat_with};

use crate::archives::KINDS;
use crate::random::Random;
use crate::run::{EndOnPanic, Run};

const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Whether this user can drop the kernel's caches. Other users can only drop pages of single files.
pub(crate) fn can_drop_caches() -> bool {
    File::options().write(true).open(DROP_CACHES).is_ok()
}

/// Drops caches until the run ends: the kernel's, if this user can and may, and the pages of the archives.
pub(crate) fn drop_caches(run: &Run, archives: &Path, keeps_caches: bool, mut random: Random) {
    let _end = EndOnPanic(run);
    let can_drop = !keeps_caches && can_drop_caches();
    while !run.is_ending() {
        run.pause(Duration::from_millis(100 + random.below(1400)));
        if can_drop {
            // 1 drops pages, 2 dentries and inodes, 3 both.
            match fs::write(DROP_CACHES, (1 + random.below(3)).to_string()) {
                Ok(()) => run.counts.drops.add(1),
                Err(error) => run.fail(format!("{DROP_CACHES}: {error}")),
            }
        }
        for kind in &KINDS {
            if let Ok(file) = File::open(archives.join(kind.file_name))
                && fadvise(&file, 0, None, Advice::DontNeed).is_ok()
            {
                run.counts.advised.add(1);
            }
        }
    }
}

/// Touches archives until the run ends. `names` is locked while an archive is replaced.
pub(crate) fn touch(run: &Run, archives: &Path, names: &Mutex<()>, mut random: Random) {
    let _end = EndOnPanic(run);
    while !run.is_ending() {
        run.pause(Duration::from_millis(20 + random.below(400)));
        let _names = names.lock().unwrap_or_else(PoisonError::into_inner);
        let path = archives.join(KINDS[random.index(KINDS.len())].file_name);
        match touch_one(&path, random.below(4)) {
            Ok(()) => run.counts.touches.add(1),
            Err(error) => run.fail(format!("{}: {error}", path.display())),
        }
    }
}

fn touch_one(path: &Path, how: u64) -> io::Result<()> {
    match how {
        0 => File::open(path)?.set_times(FileTimes::new().set_accessed(SystemTime::now())),
        1 => {
            let before = fs::metadata(path)?.permissions();
            fs::set_permissions(path, Permissions::from_mode(0o600))?;
            fs::set_permissions(path, before)
        }
        2 => {
            let link = path.with_extension("link");
            fs::hard_link(path, &link)?;
            fs::remove_file(link)
        }
        _ => {
            let link = path.with_extension("moved");
            fs::hard_link(path, &link)?;
            // The exchange keeps an archive at its path all the time. Otherwise a mount that
            // follows the disk would show that it is gone.
            renameat_with(CWD, path, CWD, &link, RenameFlags::EXCHANGE)?;
            fs::remove_file(link)
        }
    }
}
