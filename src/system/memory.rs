//! Memory under a limit of the address space (`ulimit -v`).
//!
//! A small allocation that fails ends the process, and safe code cannot prevent that. So work that takes
//! much memory first checks that there is room for it and for all small allocations beside it.

use memmap2::MmapMut;
use rustix::process::{Resource, getrlimit};

use crate::limits::HEADROOM;

/// A setting of glibc: the number of heaps of a process. Each heap reserves 64 MiB of addresses.
#[cfg(any(feature = "cli", feature = "mount"))]
pub(crate) const HEAPS: &str = "MALLOC_ARENA_MAX";
/// Bytes that must be free for each thread that opens archives or decodes.
const WORK_OF_THREAD: usize = 256 << 20;
/// Bytes of addresses that a thread takes: its stack, and what the system adds.
#[cfg(feature = "mount")]
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
