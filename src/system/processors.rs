//! How many processors this process may use.

use std::num::NonZero;
use std::sync::LazyLock;
use std::thread;

/// Number of processors that this process may use. A later change of affinity or quota has no effect: the
/// system is asked once, because it reads several files of control groups for each answer.
pub(crate) fn processors() -> usize {
    static COUNT: LazyLock<usize> = LazyLock::new(|| thread::available_parallelism().map_or(1, NonZero::get));
    *COUNT
}
