//! Standard output: its buffer, and the forms in which counts and JSON are printed.

use std::io::{self, BufWriter, StdoutLock, Write};

/// Standard output with a buffer of 64 KiB.
pub(super) fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, io::stdout().lock())
}

/// Writes `value` as JSON on one line.
pub(super) fn write_json(out: &mut impl Write, value: &impl serde::Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)
}

/// `1 file`, `2 files`.
pub(super) fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}
