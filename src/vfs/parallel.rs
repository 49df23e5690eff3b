//! Independent pieces of work on all processors.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use indicatif::ProgressBar;

use crate::cli::exit::Failure;
use crate::cli::terminal::progress;

/// Pieces of work from which on a progress bar is shown.
const BAR_FROM: usize = 24;

/// Runs `work` for every index below `count`; returns the results in order, or the first failure in order.
pub(crate) fn in_parallel<T: Send>(
    count: usize,
    what: &'static str,
    work: impl Fn(usize) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    let bar = if count >= BAR_FROM { progress::bar(count as u64, what) } else { ProgressBar::hidden() };
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(count));
    let failed = AtomicUsize::new(usize::MAX);
    let worker = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            // Work behind a failure is skipped; work before it goes on, for it may fail first in order.
            if index >= count || index > failed.load(Ordering::Relaxed) {
                break;
            }
            let result = work(index);
            if result.is_err() {
                failed.fetch_min(index, Ordering::Relaxed);
            }
            bar.inc(1);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
        }
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(count);
    thread::scope(|scope| {
        // A thread that cannot be started is done without.
        (1..threads).for_each(|_| drop(thread::Builder::new().spawn_scoped(scope, worker)));
        worker();
    });
    bar.finish_and_clear();
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
