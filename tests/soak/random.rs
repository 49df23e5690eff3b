//! The numbers that a thread decides by.

use crate::support::content::Xorshift;

/// Pseudo-random numbers, the same for the same seed.
pub(crate) struct Random(Xorshift);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut numbers = Xorshift::new(seed);
        // The first ones of seeds near each other are near each other.
        for _ in 0..8 {
            numbers.next();
        }
        Self(numbers)
    }

    /// From 0 to `bound` - 1; 0 where `bound` is 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        (self.0.next() >> 11) % bound.max(1)
    }

    /// An index into `len` things.
    pub(crate) fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// True once in `count` calls, on average.
    pub(crate) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}
