//! When a file was changed, in eight bytes.

use std::time::{Duration, SystemTime};

use rustix::fs::StatxTimestamp;

/// An mtime. It is exact to the nanosecond from 1901 to 2446, the years of ext4, and to the second outside,
/// where only other file systems have times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FileTime(u64);

/// The first second that is stored with nanoseconds, counted from 1970.
const EXACT_FROM: i64 = -(1 << 31);
/// The first second after those.
const EXACT_UNTIL: i64 = EXACT_FROM + (1 << 34);
const NANOSECONDS: u64 = 1_000_000_000;
/// Number of codes for exact times. The other codes count seconds.
const EXACT: u64 = (1 << 34) * NANOSECONDS;
/// Seconds before and after 1970 that the other codes can count: 20 billion years.
const FARTHEST: i64 = ((u64::MAX - EXACT) / 2) as i64;

impl FileTime {
    /// A time in seconds and nanoseconds since 1970.
    pub(super) fn new(seconds: i64, nanoseconds: u32) -> Self {
        if (EXACT_FROM..EXACT_UNTIL).contains(&seconds) {
            let since = (seconds - EXACT_FROM).unsigned_abs();
            return Self(since * NANOSECONDS + u64::from(nanoseconds));
        }
        let seconds = seconds.clamp(-FARTHEST, FARTHEST);
        Self(EXACT + (seconds + FARTHEST).unsigned_abs())
    }

    pub(super) fn of(time: &StatxTimestamp) -> Self {
        Self::new(time.tv_sec, time.tv_nsec)
    }

    /// The time that the mount shows.
    pub fn system_time(self) -> SystemTime {
        let (seconds, nanoseconds) = match self.0.checked_sub(EXACT) {
            None => ((self.0 / NANOSECONDS).cast_signed() + EXACT_FROM, self.0 % NANOSECONDS),
            Some(code) => (code.cast_signed() - FARTHEST, 0),
        };
        let whole = Duration::from_secs(seconds.unsigned_abs());
        let epoch = SystemTime::UNIX_EPOCH;
        let second = if seconds < 0 { epoch.checked_sub(whole) } else { epoch.checked_add(whole) };
        second.map_or(epoch, |second| second + Duration::from_nanos(nanoseconds))
    }

    pub(super) fn to_bits(self) -> u64 {
        self.0
    }

    pub(super) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds and nanoseconds since 1970, as `stat` returns them.
    fn shown(time: FileTime) -> (i64, u32) {
        match time.system_time().duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => (after.as_secs().cast_signed(), after.subsec_nanos()),
            Err(before) => {
                let before = before.duration();
                let whole = -before.as_secs().cast_signed();
                match before.subsec_nanos() {
                    0 => (whole, 0),
                    nanoseconds => (whole - 1, 1_000_000_000 - nanoseconds),
                }
            }
        }
    }

    #[test]
    fn times_of_all_file_systems_are_shown_as_they_are() {
        for seconds in [EXACT_FROM, -315_619_200, -1, 0, 1, 1_700_000_000, 9_300_000_000, EXACT_UNTIL - 1] {
            for nanoseconds in [0, 1, 999_999_999] {
                let time = FileTime::new(seconds, nanoseconds);
                assert_eq!(shown(time), (seconds, nanoseconds));
                assert_eq!(FileTime::from_bits(time.to_bits()), time);
            }
        }
        // NTFS begins in 1601, and tmpfs has times until the sun is gone.
        for seconds in [EXACT_FROM - 1, EXACT_UNTIL, -11_644_473_600, 32_503_680_000, FARTHEST, -FARTHEST] {
            assert_eq!(shown(FileTime::new(seconds, 7)), (seconds, 0));
        }
        assert_eq!(shown(FileTime::new(i64::MAX, 0)), (FARTHEST, 0));
        assert_eq!(shown(FileTime::new(i64::MIN, 0)), (-FARTHEST, 0));
    }
}
