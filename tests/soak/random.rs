//! Random numbers for the decisions of a thread.

use crate::support::content::Xorshift;

/// Pseudo-random numbers, the same for the same seed.
pub(crate) struct Random(Xorshift);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut numbers = Xorshift::new(seed);
        // Nearby seeds give nearby first numbers, so these are skipped.
        for _ in 0..8 {
            numbers.next();
        }
        Self(numbers)
    }

    /// A number from 0 to `bound` - 1; 0 if `bound` is 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        (self.0.next() >> 11) % bound.max(1)
    }

    /// An index into a list of `len` items.
    pub(crate) fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// True once in `count` calls, on average.
    pub(crate) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}
