//! Progress bars on standard error.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

use super::logger;

/// Steps from which on a bar is shown.
const BAR_FROM: usize = 24;

/// Removes its bar when it is dropped.
struct Bar(ProgressBar);

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Shows a bar of so many steps, unless they are few or standard error is no terminal; what is returned advances it.
pub(crate) fn steps(what: &'static str, count: usize) -> Box<dyn Fn() + Sync> {
    // A mount that reads its sources again does so unasked.
    if count < BAR_FROM || !std::io::stderr().is_terminal() || logger::is_of_mount() {
        return Box::new(|| {});
    }
    let bar = ProgressBar::new(count as u64).with_message(what);
    let bar = Bar(match ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {elapsed}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    });
    Box::new(move || bar.0.inc(1))
}
