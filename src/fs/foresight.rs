//! What will be read next, as far as programs are creatures of habit.
//!
//! A program that reads one file after another by its path looks up each and reads it at once. Between the two it is
//! woken and opens the file; in that time a worker that is awake can decode it ([`super::vigil`]).

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// What became of the files that were looked up last. One program's habit is enough: of several at a time, no worker
/// has the time to foresee anything.
#[derive(Debug, Default)]
pub(super) struct Foresight {
    /// The file that was looked up last, until it is read. No file has the number 0.
    looked_up: AtomicU64,
    habit: AtomicI32,
}

/// From so many files on that were read after their lookup it is a habit.
const HABIT: i32 = 8;
/// The most that count.
const MOST: i32 = 16;
/// What a file counts that was looked up for another reason.
const OTHER: i32 = 4;

impl Foresight {
    /// Takes note of a lookup that found a file.
    pub(super) fn looked_up(&self, ino: u64) {
        if self.looked_up.swap(ino, Ordering::Relaxed) != 0 {
            let habit = self.habit.load(Ordering::Relaxed);
            self.habit.store(0.max(habit - OTHER), Ordering::Relaxed);
        }
    }

    /// Takes note that a file is read from its beginning.
    pub(super) fn read(&self, ino: u64) {
        if self.looked_up.compare_exchange(ino, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            let habit = self.habit.load(Ordering::Relaxed);
            self.habit.store(MOST.min(habit + 1), Ordering::Relaxed);
        }
    }

    /// The file that was looked up and will be read, if that is to be expected.
    pub(super) fn next(&self) -> Option<u64> {
        let ino = self.looked_up.load(Ordering::Relaxed);
        (ino != 0 && self.habit.load(Ordering::Relaxed) >= HABIT).then_some(ino)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_foreseen_that_a_habit_lets_expect() {
        let foresight = Foresight::default();
        for ino in 1..=HABIT as u64 {
            foresight.looked_up(ino);
            assert_eq!(foresight.next(), None, "{ino}");
            foresight.read(ino);
        }
        foresight.looked_up(100);
        assert_eq!(foresight.next(), Some(100));
        foresight.read(100);
        assert_eq!(foresight.next(), None, "it is being read");
    }

    #[test]
    fn who_only_looks_ends_the_habit() {
        let foresight = Foresight::default();
        for ino in 1..100 {
            foresight.looked_up(ino);
            foresight.read(ino);
        }
        foresight.looked_up(100);
        let foreseen = (101..200).take_while(|&ino| {
            foresight.looked_up(ino);
            foresight.next().is_some()
        });
        assert_eq!(foreseen.count(), 2);
        foresight.read(1);
        assert_eq!(foresight.next(), None, "of files that were looked up long ago");
    }
}
