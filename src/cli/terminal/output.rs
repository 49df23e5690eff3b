//! Standard output: buffering, escapes for terminals, and the formats of durations, paths and JSON.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::path::Path;

use clap::builder::styling::Style;

use super::colours;
use crate::cli::exit::OutputError;
use crate::shown;

/// Standard output with a buffer of 64 KiB. Names in it may come from a stranger, so on a terminal
/// they are [`escaped`].
pub(crate) struct Output {
    out: BufWriter<StdoutLock<'static>>,
    is_escaped: bool,
    is_coloured: bool,
}

/// The style of the copy of a file that wins.
pub(crate) const WINNER: Style = Style::new().bold();
/// The style of what is rarely read: folders that all paths share, and reasons.
pub(crate) const ASIDE: Style = Style::new().dimmed();

/// A writer of text that people read.
pub(crate) trait StyledWrite: Write {
    /// Writes text in a style, if the writer has styles.
    fn write_styled(&mut self, _: Style, text: impl Display) -> io::Result<()> {
        write!(self, "{text}")
    }
}

/// Text of a message.
impl StyledWrite for Vec<u8> {}

impl StyledWrite for Output {
    fn write_styled(&mut self, style: Style, text: impl Display) -> io::Result<()> {
        if !self.is_coloured {
            return Write::write_fmt(self, format_args!("{text}"));
        }
        // The text is escaped, but the style is not.
        write!(self.out, "{style}")?;
        Write::write_fmt(self, format_args!("{text}"))?;
        write!(self.out, "{style:#}")
    }
}

/// Returns standard output for text that people read.
pub(crate) fn stdout() -> Output {
    let is_terminal = io::stdout().is_terminal();
    Output { is_escaped: is_terminal, is_coloured: colours::are_shown(is_terminal), ..raw_stdout() }
}

/// Returns standard output for unchanged bytes: contents of files, names for `xargs -0`, JSON.
pub(crate) fn raw_stdout() -> Output {
    let out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    Output { out, is_escaped: false, is_coloured: false }
}

/// Returns [`raw_stdout`] if `is_raw`, otherwise [`stdout`].
pub(crate) fn stdout_for(is_raw: bool) -> Output {
    if is_raw { raw_stdout() } else { stdout() }
}

/// What a command writes to its output directly. An error is known to be one of the output.
impl Output {
    /// For `write!` and `writeln!`.
    pub(crate) fn write_fmt(&mut self, text: fmt::Arguments<'_>) -> Result<(), OutputError> {
        Write::write_fmt(self, text).map_err(OutputError)
    }

    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> Result<(), OutputError> {
        Write::write_all(self, bytes).map_err(OutputError)
    }

    pub(crate) fn flush(&mut self) -> Result<(), OutputError> {
        Write::flush(self).map_err(OutputError)
    }
}

impl Write for Output {
    /// Each write must end at a character boundary, because escaping works on characters.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_escaped {
            return self.out.write(bytes);
        }
        self.out.write_all(escaped(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Escapes characters that could control a terminal, in a text that may have several lines. Names in the text
/// are [shown](crate::shown::Shown) already, so that they cannot end a line.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    shown::escaped(text, &['\n', '\t'])
}

/// Writes `value` as JSON on one line.
pub(crate) fn write_json(out: &mut impl Write, value: &impl serde::Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)
}

/// Serializes a path for JSON. Bytes that are not UTF-8 become replacement characters.
pub(crate) fn lossy<S: serde::Serializer>(path: impl AsRef<Path>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.as_ref().display())
}

/// Serializes an optional path like [`lossy`].
pub(crate) fn lossy_some<P: AsRef<Path>, S: serde::Serializer>(
    path: &Option<P>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match path {
        Some(path) => lossy(path, serializer),
        None => serializer.serialize_none(),
    }
}

/// Formats a number of seconds in units that are easy to read.
pub(crate) fn duration(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, ..) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_other_text_is_not_copied() {
        assert!(matches!(escaped("Ünï\tcode\n\u{200d}"), Cow::Borrowed(_)));
        assert_eq!(escaped("a\x1b[2J\r\x07\x7f\u{9b}b"), r"a\x1B[2J\x0D\x07\x7F\x9Bb");
        assert_eq!(escaped("exe\u{202e}txt\u{2067}\u{2028}"), r"exe\u{202E}txt\u{2067}\u{2028}");
    }

    #[test]
    fn a_duration_is_printed_in_its_two_largest_units() {
        let printed = [0, 59, 61, 3661, 90_061].map(duration);
        assert_eq!(printed, ["0 s", "59 s", "1 min 1 s", "1 h 1 min", "1 d 1 h"]);
    }
}
