//! Progress bars on standard error.

use std::io::IsTerminal;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::logger;

/// Minimum number of steps for which a bar is shown.
const BAR_FROM: usize = 24;

/// A bar is shown if the work takes longer than this. A bar that appears and vanishes at once only flickers.
const BAR_AFTER: Duration = Duration::from_millis(300);

/// In a debug build, the tests set this variable to other milliseconds.
const BAR_AFTER_NAME: &str = "BSAFS_BAR_AFTER";

fn bar_after() -> Duration {
    let set = if cfg!(debug_assertions) { std::env::var(BAR_AFTER_NAME).ok() } else { None };
    set.and_then(|text| text.parse().ok()).map_or(BAR_AFTER, Duration::from_millis)
}

/// A progress bar that is removed from the terminal on drop.
struct Bar {
    bar: ProgressBar,
    began: Instant,
    shown_after: Duration,
    is_shown: AtomicBool,
}

impl Bar {
    fn advance(&self, by: u64) {
        if !self.is_shown.load(Relaxed)
            && self.began.elapsed() >= self.shown_after
            && !self.is_shown.swap(true, Relaxed)
        {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.inc(by);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Shows a bar of `count` steps, unless they are few or standard error is not a terminal. The
/// returned function advances the bar.
pub(crate) fn steps(what: &'static str, count: usize) -> Box<dyn Fn() + Sync> {
    match bar(what, count, || count as u64, "{msg} {wide_bar} {pos}/{len} {elapsed}") {
        None => Box::new(|| {}),
        Some(bar) => Box::new(move || bar.advance(1)),
    }
}

/// Like [`steps`], for `count` files that take `total` bytes on the disk: the bar shows bytes and the time
/// that is left. `total` is called only if there is a bar. The returned function advances the bar by a number
/// of bytes.
pub(crate) fn bytes(
    what: &'static str,
    count: usize,
    total: impl FnOnce() -> u64,
) -> Box<dyn Fn(u64) + Sync> {
    match bar(what, count, total, "{msg} {wide_bar} {binary_bytes}/{binary_total_bytes} {eta} left") {
        None => Box::new(|_| {}),
        Some(bar) => Box::new(move |bytes| bar.advance(bytes)),
    }
}

fn bar(what: &'static str, count: usize, total: impl FnOnce() -> u64, template: &str) -> Option<Bar> {
    // A mount that reloads its sources shows no bar, because no user waits for it.
    if count < BAR_FROM || !std::io::stderr().is_terminal() || logger::is_of_mount() {
        return None;
    }
    let bar = ProgressBar::with_draw_target(Some(total()), ProgressDrawTarget::hidden()).with_message(what);
    let bar = match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    };
    let (began, shown_after) = (Instant::now(), bar_after());
    Some(Bar { bar, began, shown_after, is_shown: AtomicBool::new(false) })
}
