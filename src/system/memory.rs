//! Memory under a limit of the address space (`ulimit -v`).
//!
//! A small allocation that fails ends the process, and safe code cannot prevent that. So work that takes
//! much memory first checks that there is room for it and for all small allocations beside it.

use std::fs::File;
use std::num::NonZero;
use std::os::fd::AsRawFd;
use std::sync::LazyLock;
use std::{io, thread};

use memmap2::MmapMut;
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::limits::HEADROOM;

/// A setting of glibc: the number of heaps of a process. Each heap reserves 64 MiB of addresses.
pub(crate) const HEAPS: &str = "MALLOC_ARENA_MAX";
/// Bytes that must be free for each thread that opens archives or decodes.
const WORK_OF_THREAD: usize = 256 << 20;
/// Bytes of addresses that a thread takes: its stack, and what the system adds.
pub(crate) const THREAD: usize = (2 << 20) + (256 << 10);

/// The limit of this process's address space in KiB, as `ulimit -v` prints it. `None` if there is none.
pub(crate) fn limit() -> Option<u64> {
    Some(getrlimit(Resource::As).current? >> 10)
}

/// Whether `len` more bytes fit under the limit, and leave the headroom that small allocations need.
pub(crate) fn has_room(len: usize) -> bool {
    // Pages that are not touched take only addresses.
    limit().is_none() || MmapMut::map_anon(len.saturating_add(HEADROOM)).is_ok()
}

/// Whether there is room for this many threads and for their work. With fewer threads, the others do the
/// work, and need less memory at the same time.
pub(crate) fn has_room_for_threads(count: usize) -> bool {
    has_room(count.saturating_mul(WORK_OF_THREAD))
}

/// Says that memory is lacking, and names the limit if there is one.
pub(crate) fn not_enough() -> String {
    format!("not enough memory{}", under_limit())
}

/// The limit and how to raise it, for the end of a message; empty if there is none.
pub(crate) fn under_limit() -> String {
    let text = |limit| format!(" under the limit of {limit} KiB; raise it with `ulimit -v`");
    limit().map_or_else(String::new, text)
}

// How many processors this process may use.

/// Number of processors that this process may use. A later change of affinity or quota has no effect: the
/// system is asked once, because it reads several files of control groups for each answer.
pub(crate) fn processors() -> usize {
    static COUNT: LazyLock<usize> = LazyLock::new(|| thread::available_parallelism().map_or(1, NonZero::get));
    *COUNT
}

// The open files of this process: their limit, and the size of the kernel's table of them.

/// Number of descriptors that a daemon needs besides those of its archives, at most. For few archives, the
/// kernel's first table of 64 is large enough.
const OTHERS: usize = 40;

/// One of so many descriptors may be that of a folder. The others are for archives, which need theirs.
const FOLDERS_SHARE: u64 = 4;

/// Raises the soft limit of open files to the hard limit. Each archive stays open, and the usual
/// limit is only 1,024.
pub(crate) fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(errno) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        log::debug!("cannot raise the limit of open files: {errno}");
    }
}

/// Raises the soft limit of the size of a file to the hard limit, and returns that if there is one. A process
/// that writes a longer file for others is killed.
pub(crate) fn raise_file_size_limit() -> Option<u64> {
    let limit = getrlimit(Resource::Fsize);
    // Lower than before is never asked for, so this cannot fail.
    let _ = setrlimit(Resource::Fsize, Rlimit { current: limit.maximum, ..limit });
    limit.maximum
}

/// Whether so few descriptors are in use that a folder may keep this one. The system gives each descriptor
/// the lowest number that is free.
pub(crate) fn is_among_first(fd: &impl AsRawFd) -> bool {
    let number = u64::try_from(fd.as_raw_fd()).unwrap_or(u64::MAX);
    getrlimit(Resource::Nofile).current.is_none_or(|limit| number < limit / FOLDERS_SHARE)
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
