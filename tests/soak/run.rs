//! State that all threads of a run share: counts, failures, and whether the run is ending.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::possible::Effect;

/// Number of failures that are printed; further ones are only counted.
const PRINTED: usize = 10;

/// A counter that all threads increment.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts of what was done.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) reads: Count,
    pub(crate) compared_bytes: Count,
    pub(crate) wrong: Count,
    pub(crate) copies: Count,
    pub(crate) folders: Count,
    pub(crate) lookups: Count,
    pub(crate) absent: Count,
    pub(crate) drops: Count,
    pub(crate) advised: Count,
    pub(crate) touches: Count,
    pub(crate) swaps: Count,
    pub(crate) rewrites: Count,
    pub(crate) kills: Count,
    pub(crate) stops: Count,
    pub(crate) remounts: Count,
    pub(crate) lazy: Count,
    /// Loose files that were replaced, saved, written to in place, extended, removed or put back.
    pub(crate) loose: Count,
    /// Milliseconds until changes were shown, in total.
    pub(crate) shown_after: Count,
    /// Number of waits until changes were shown.
    pub(crate) shown: Count,
    /// EIO of archives that were overwritten.
    pub(crate) overwritten: Count,
    /// ESTALE of loose files that were replaced while they were open.
    pub(crate) replaced: Count,
    /// Names that came, went or were replaced between two steps of a reader.
    pub(crate) moved: Count,
    /// Reads of loose files that were being written to in place: a mixture of versions, or an early end.
    pub(crate) mixed: Count,
    /// EIO and ESTALE that no change explains.
    pub(crate) refused_io: Count,
    pub(crate) refused_stale: Count,
    /// Errors of a mount whose daemon was killed.
    pub(crate) dead_errors: Count,
}

impl Counts {
    /// Counts an effect of a change on a reader.
    pub(crate) fn add_effect(&self, effect: Effect) {
        match effect {
            Effect::Overwritten => self.overwritten.add(1),
            Effect::Replaced => self.replaced.add(1),
            Effect::Moved => self.moved.add(1),
        }
    }
}

/// A run of the soak test.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) seed: u64,
    pub(crate) counts: Counts,
    pub(crate) began: Instant,
    ending: AtomicBool,
    failures: Mutex<usize>,
}

impl Run {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            counts: Counts::default(),
            began: Instant::now(),
            ending: AtomicBool::new(false),
            failures: Mutex::default(),
        }
    }

    /// Records a failure and ends the run, because later failures are often its consequences.
    pub(crate) fn fail(&self, why: String) {
        self.fail_and_go_on(why);
        self.end();
    }

    /// Records a failure after which the run can go on.
    pub(crate) fn fail_and_go_on(&self, why: String) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if *failures < PRINTED {
            eprintln!("soak: after {:.1} s: {why}", self.began.elapsed().as_secs_f64());
        }
        *failures += 1;
    }

    pub(crate) fn failures(&self) -> usize {
        *self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn end(&self) {
        self.ending.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::SeqCst)
    }

    /// Sleeps, but wakes early if the run ends.
    pub(crate) fn pause(&self, duration: Duration) {
        let start = Instant::now();
        while !self.is_ending()
            && let Some(rest) = duration.checked_sub(start.elapsed())
        {
            std::thread::sleep(rest.min(Duration::from_millis(50)));
        }
    }
}

/// Ends the run if its thread panics. Otherwise the other threads would go on for the whole run.
pub(crate) struct EndOnPanic<'a>(pub(crate) &'a Run);

impl Drop for EndOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail("a thread panicked".into());
        }
    }
}
