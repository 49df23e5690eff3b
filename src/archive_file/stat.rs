//! What `fstat` reports of an archive file, how to detect that the file changed, and why a read fails.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Coarsest resolution of timestamps (FAT's). A file that was changed this recently may change
/// again without its times moving.
pub const COARSEST_TICK: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub enum ArchiveReadError {
    /// The file was changed since its tables were read.
    Changed,
    /// The bytes lie beyond the end of the file.
    Beyond,
    Io(io::Error),
}

impl ArchiveReadError {
    pub(crate) fn into_io(self) -> io::Error {
        match self {
            Self::Changed => rustix::io::Errno::STALE.into(),
            Self::Beyond => io::ErrorKind::UnexpectedEof.into(),
            Self::Io(error) => error,
        }
    }
}

/// What `fstat` reports of a file's content. Times are in nanoseconds since 1970, and saturate in 2262.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) len: u64,
    pub(crate) mtime: i64,
    pub(crate) ctime: i64,
}

impl Stat {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        let time = |seconds: i64, nanoseconds: i64| {
            seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
        };
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            len: metadata.len(),
            mtime: time(metadata.mtime(), metadata.mtime_nsec()),
            ctime: time(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether both are states of a file of the same size, with any times.
    pub(crate) fn is_same_object(&self, other: &Self) -> bool {
        *self == Self { mtime: self.mtime, ctime: self.ctime, ..*other }
    }

    /// Whether all fields except the ctime are equal. A ctime also moves with names, links, owners,
    /// permissions and attributes.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        *self == Self { ctime: self.ctime, ..*other }
    }

    /// Whether another change at the time `now` could leave the times unchanged. Clocks of servers
    /// may be ahead.
    pub(crate) fn is_recent(&self, now: SystemTime) -> bool {
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        [self.mtime, self.ctime].iter().any(|time| u128::from(time.abs_diff(now)) < COARSEST_TICK.as_nanos())
    }
}

/// Result of comparing a file that did not change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unchanged {
    /// The ctime is already known.
    Known,
    /// The tables are equal, as of this `fstat`.
    Same(Stat),
    /// The tables were equal, but the ctime moved meanwhile. They are compared again with the next read.
    Moving,
}

/// Compares a file with the one that was `opened`. If its ctime is not `known`, `is_same` compares
/// the tables between two calls of `stat`.
pub(crate) fn compare(
    opened: &Stat,
    known: Option<i64>,
    mut stat: impl FnMut() -> io::Result<Stat>,
    is_same: impl FnOnce() -> io::Result<bool>,
) -> Result<Unchanged, ArchiveReadError> {
    let mut stat = || match stat() {
        Ok(now) if now.is_same_file(opened) => Ok(now),
        Ok(_) => Err(ArchiveReadError::Changed),
        Err(error) => Err(ArchiveReadError::Io(error)),
    };
    let before = stat()?;
    if known == Some(before.ctime) {
        return Ok(Unchanged::Known);
    }
    if !is_same().map_err(ArchiveReadError::Io)? {
        return Err(ArchiveReadError::Changed);
    }
    Ok(if stat()? == before { Unchanged::Same(before) } else { Unchanged::Moving })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPENED: Stat = Stat { device: 1, inode: 2, len: 3, mtime: 4, ctime: 5 };

    fn failed() -> io::Error {
        io::Error::from_raw_os_error(5)
    }

    /// The outcome of one comparison, given the successive results of `fstat` and of the digest.
    fn outcome(known: Option<i64>, stats: [Option<Stat>; 2], is_same: Option<bool>) -> &'static str {
        let mut stats = stats.into_iter();
        let stat = || stats.next().flatten().ok_or_else(failed);
        match compare(&OPENED, known, stat, || is_same.ok_or_else(failed)) {
            Ok(Unchanged::Known) => "known",
            Ok(Unchanged::Same(_)) => "same",
            Ok(Unchanged::Moving) => "moving",
            Err(ArchiveReadError::Changed) => "changed",
            Err(ArchiveReadError::Io(_)) => "this read fails",
            Err(ArchiveReadError::Beyond) => "neither",
        }
    }

    #[test]
    fn a_failed_fstat_or_digest_fails_only_one_read() {
        let moved = Some(Stat { ctime: 6, ..OPENED });
        assert_eq!(outcome(Some(5), [None, None], None), "this read fails");
        assert_eq!(outcome(Some(5), [moved, moved], None), "this read fails");
        assert_eq!(outcome(Some(5), [moved, None], Some(true)), "this read fails");
    }

    #[test]
    fn another_device_inode_size_or_mtime_is_a_change_despite_an_equal_digest() {
        for other in [
            Stat { device: 9, ..OPENED },
            Stat { inode: 9, ..OPENED },
            Stat { len: 9, ..OPENED },
            Stat { mtime: 9, ..OPENED },
        ] {
            assert_eq!(outcome(Some(5), [Some(other), Some(other)], Some(true)), "changed", "{other:?}");
            let moved = Some(Stat { ctime: 6, ..OPENED });
            assert_eq!(outcome(Some(5), [moved, Some(other)], Some(true)), "changed", "{other:?}");
        }
    }

    #[test]
    fn another_ctime_is_a_change_only_if_the_digest_differs() {
        let [opened, moved, later] = [5, 6, 7].map(|ctime| Some(Stat { ctime, ..OPENED }));
        assert_eq!(outcome(Some(5), [opened, None], None), "known");
        assert_eq!(outcome(Some(5), [moved, moved], Some(true)), "same");
        assert_eq!(outcome(Some(5), [moved, moved], Some(false)), "changed");
        assert_eq!(outcome(Some(5), [moved, later], Some(true)), "moving");
        assert_eq!(
            outcome(None, [opened, opened], Some(true)),
            "same",
            "the digest must be compared even with an equal ctime"
        );
        assert_eq!(outcome(None, [opened, opened], Some(false)), "changed");
    }

    #[test]
    fn a_file_is_recent_for_two_seconds_after_its_latest_time() {
        let second = 1_000_000_000;
        let at = |mtime: i64, ctime: i64, now: u64| {
            let stat = Stat { mtime: mtime * second, ctime: ctime * second, ..OPENED };
            stat.is_recent(UNIX_EPOCH + Duration::from_secs(now))
        };
        assert!(at(0, 100, 101) && at(100, 0, 101) && at(101, 0, 100) && at(100, 100, 100));
        assert!(
            !at(0, 100, 102) && !at(100, 100, 102) && !at(-100, -100, 102) && !at(0, i64::MAX / second, 5)
        );
    }
}
