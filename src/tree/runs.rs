//! Work on the children of all folders, spread over all processors.

use std::thread;

use crate::system::memory::{self, processors};
use crate::system::sync::Mutex;

/// Number of items from which starting another thread pays off.
const PARALLEL_FROM: usize = 1 << 14;

/// Calls `work` with each run of `items`. `starts` has the index where each run begins, in ascending order,
/// beginning with 0, and then the end of the last run. Each thread takes adjacent runs.
pub(super) fn for_each_run<T: Send>(items: &mut [T], starts: &[usize], work: impl Fn(&mut [T]) + Sync) {
    let threads = match items.len() {
        0..PARALLEL_FROM => 1,
        _ => processors(),
    };
    let share = items.len().div_ceil(threads).max(1);
    let mut shares = Vec::with_capacity(threads);
    let (mut rest, mut starts) = (items, starts);
    while let [first, _, ..] = *starts {
        // The runs that begin within a share, but at least one.
        let runs = starts.partition_point(|start| start - first < share).clamp(1, starts.len() - 1);
        let (part, others) = rest.split_at_mut(starts[runs] - first);
        shares.push((part, &starts[..=runs]));
        (rest, starts) = (others, &starts[runs..]);
    }
    let shares = Mutex::new(shares);
    let next = || shares.lock().pop();
    let worker = || {
        while let Some((mut part, starts)) = next() {
            for bounds in starts.windows(2) {
                let (run, others) = part.split_at_mut(bounds[1] - bounds[0]);
                work(run);
                part = others;
            }
        }
    };
    thread::scope(|scope| {
        // If a thread cannot be started, the others do its work.
        (1..threads)
            .take_while(|&thread| memory::has_room_for_threads(thread))
            .for_each(|_| drop(thread::Builder::new().spawn_scoped(scope, worker)));
        worker();
    });
}
