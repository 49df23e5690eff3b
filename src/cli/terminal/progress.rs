//! Progress bars on standard error.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

use crate::daemon::logging;

/// A bar of `len` steps, hidden unless standard error is a terminal.
pub(crate) fn bar(len: u64, what: &'static str) -> ProgressBar {
    // A mount that reads its sources again does so unasked.
    if !std::io::stderr().is_terminal() || logging::is_of_mount() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(len).with_message(what);
    match ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {elapsed}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
