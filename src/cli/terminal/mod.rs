//! Output on a terminal: colours, progress bars, reports.

pub(crate) mod logger;
#[cfg(not(feature = "mount"))]
mod no_mount;
pub(crate) mod output;
pub(crate) mod progress;
#[cfg(feature = "mount")]
pub(crate) mod report;
