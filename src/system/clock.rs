//! Times as numbers.

use std::time::SystemTime;

/// A time in whole seconds since 1970; 0 for earlier times.
pub(crate) fn unix_seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// A time in nanoseconds since 1970; 0 for earlier times.
pub(crate) fn unix_nanoseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
