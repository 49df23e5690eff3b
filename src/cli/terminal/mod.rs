//! Output: the logger, standard output, colours, progress bars, the report of a mount, and what could
//! not be looked at.

pub(crate) mod logger;
pub(crate) mod output;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod shown_layers;
pub(crate) mod unseen;
