//! Runs independent pieces of work on all processors.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::memory::{self, processors};
use super::sync::Mutex;

/// Runs `work` for every index below `count`, and calls `step` after each. Returns the results in order.
pub(crate) fn in_parallel<T: Send>(
    count: usize,
    step: &(dyn Fn() + Sync),
    work: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    match try_in_parallel(count, step, |index| Ok::<_, Infallible>(work(index))) {
        Ok(done) => done,
    }
}

/// Runs `work` for every index below `count`, and calls `step` after each. Returns the results in
/// order, or the failure with the lowest index.
pub(crate) fn try_in_parallel<T: Send, E: Send>(
    count: usize,
    step: &(dyn Fn() + Sync),
    work: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(count));
    let failed = AtomicUsize::new(usize::MAX);
    let worker = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            // Work after a failure is skipped. Work before it goes on, because it may fail too and
            // would come first.
            if index >= count || index > failed.load(Ordering::Relaxed) {
                break;
            }
            let result = work(index);
            if result.is_err() {
                failed.fetch_min(index, Ordering::Relaxed);
            }
            step();
            done.lock().push((index, result));
        }
    };
    let threads = processors().min(count);
    thread::scope(|scope| {
        // If a thread cannot be started, the others do its work.
        (1..threads)
            .take_while(|&thread| memory::has_room_for_threads(thread))
            .for_each(|_| drop(thread::Builder::new().spawn_scoped(scope, worker)));
        worker();
    });
    let mut done = done.into_inner();
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
