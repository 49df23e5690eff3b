//! Progress bars on standard error.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

use super::logger;

/// Minimum number of steps for which a bar is shown.
const BAR_FROM: usize = 24;

/// A progress bar that is removed from the terminal on drop.
struct Bar(ProgressBar);

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Shows a bar of `count` steps, unless they are few or standard error is not a terminal. The
/// returned function advances the bar.
pub(crate) fn steps(what: &'static str, count: usize) -> Box<dyn Fn() + Sync> {
    // A mount that reloads its sources shows no bar, because no user waits for it.
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
