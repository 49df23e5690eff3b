//! Output on a terminal: colours, progress bars, reports.

pub(crate) mod logger;
pub(crate) mod output;
pub(crate) mod progress;
pub(crate) mod report;
