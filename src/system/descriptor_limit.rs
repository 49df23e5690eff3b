//! The open files of this process: their limit, and the size of the kernel's table of them.

use std::fs::File;
use std::io;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Number of descriptors that a daemon needs besides those of its archives, at most. For few archives, the
/// kernel's first table of 64 is large enough.
const OTHERS: usize = 40;

/// Raises the soft limit of open files to the hard limit. Each archive stays open, and the usual
/// limit is only 1,024.
#[cfg(feature = "cli")]
pub(crate) fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(errno) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        log::debug!("cannot raise the limit of open files: {errno}");
    }
}

/// Makes the kernel's table large enough for this many archives. The kernel doubles a full table. If the
/// process has several threads by then, the open that needs the space waits until no processor can use the
/// old table: 7 to 17 ms of the 40 ms that a mount of 100 archives took.
pub(crate) fn make_room(archives: usize) {
    // If this fails, the table grows later.
    let _ = grow(archives.saturating_add(OTHERS));
}

/// Makes the table large enough for `count` descriptors: opens one with a number of at least `count - 1`, and
/// closes it. The table never shrinks.
fn grow(count: usize) -> io::Result<()> {
    let root = File::open("/")?;
    fcntl_dupfd_cloexec(&root, i32::try_from(count - 1).unwrap_or(i32::MAX))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_open_files_has_room_before_many_archives_are_opened() {
        make_room(300);
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let size = status.lines().find_map(|line| line.strip_prefix("FDSize:")).unwrap();
        assert!(size.trim().parse::<usize>().unwrap() >= 300, "{size}");
    }
}
