//! Standard output: buffering, escapes for terminals, and the formats of durations, paths and JSON.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt::{self, Display};
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::Path;
use std::sync::OnceLock;

use clap::ColorChoice;
use clap::builder::styling::Style;

use crate::cli::exit::OutputError;
use crate::shown;

/// Standard output with a buffer of 64 KiB. Names in it may come from a stranger, so on a terminal
/// they are [`escaped`].
pub(crate) struct Output {
    out: BufWriter<ToReader>,
    is_escaped: bool,
    is_coloured: bool,
}

/// Standard input and output without those of the standard library, which hide that they are not open for
/// reading or writing.
pub(crate) struct Standard;

impl Read for Standard {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(rustix::stdio::stdin(), bytes)?)
    }
}

impl Write for Standard {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(rustix::stdio::stdout(), bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Standard output, and whether a command ends once nothing reads it, as after `head`. A command that goes on
/// looks at the whole of what was asked, and its exit status is about that.
struct ToReader {
    is_end: bool,
}

impl Write for ToReader {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match Standard.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe && !self.is_end => Ok(bytes.len()),
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
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
    Output { is_escaped: is_terminal, is_coloured: are_shown(is_terminal), ..raw_stdout() }
}

/// Returns standard output for unchanged bytes: contents of files, names for `xargs -0`, JSON.
pub(crate) fn raw_stdout() -> Output {
    let out = BufWriter::with_capacity(1 << 16, ToReader { is_end: false });
    Output { out, is_escaped: false, is_coloured: false }
}

/// Returns [`raw_stdout`] if `is_raw`, otherwise [`stdout`].
pub(crate) fn stdout_for(is_raw: bool) -> Output {
    if is_raw { raw_stdout() } else { stdout() }
}

/// What a command writes to its output directly. An error is known to be one of the output.
impl Output {
    /// The same output, for a command that only copies to its reader, and ends with it.
    pub(crate) fn until_closed(mut self) -> Self {
        self.out.get_mut().is_end = true;
        self
    }

    /// For `write!` and `writeln!`.
    pub(crate) fn write_fmt(&mut self, text: fmt::Arguments<'_>) -> Result<(), OutputError> {
        Write::write_fmt(self, text).map_err(OutputError)
    }

    /// Writes what a function writes.
    pub(crate) fn text(
        &mut self,
        write: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        write(self).map_err(OutputError)
    }

    /// Writes a value as JSON on one line.
    pub(crate) fn json(&mut self, value: &impl serde::Serialize) -> Result<(), OutputError> {
        write_json(self, value).map_err(OutputError)
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

// Whether output has colours. The rules are those of clap's own messages: `--color`, then the variables
// NO_COLOR, CLICOLOR_FORCE and CLICOLOR, then whether the output is a terminal.

/// The value of `--color`.
static CHOICE: OnceLock<ColorChoice> = OnceLock::new();

/// Sets the value of `--color`. Only the first call has an effect.
pub(crate) fn choose(choice: ColorChoice) {
    let _ = CHOICE.set(choice);
}

/// Whether output has colours. `is_terminal` is whether it goes to a terminal.
pub(crate) fn are_shown(is_terminal: bool) -> bool {
    decide(CHOICE.get().copied().unwrap_or_default(), is_terminal, |name| std::env::var_os(name))
}

/// The value of `--color` among the arguments. clap needs it before it parses them, for its own messages.
pub(crate) fn choice_among(arguments: &[OsString]) -> ColorChoice {
    let mut words = arguments.iter().filter_map(|word| word.to_str()).take_while(|word| *word != "--");
    let mut choice = ColorChoice::Auto;
    while let Some(word) = words.next() {
        let value = if word == "--color" { words.next() } else { word.strip_prefix("--color=") };
        choice = value.and_then(|value| value.parse().ok()).unwrap_or(choice);
    }
    choice
}

fn decide(choice: ColorChoice, is_terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    let is_zero = |name: &str| variable(name).as_deref() == Some(OsStr::new("0"));
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if is_set("NO_COLOR") => false,
        ColorChoice::Auto if is_set("CLICOLOR_FORCE") => true,
        ColorChoice::Auto if is_zero("CLICOLOR") => false,
        ColorChoice::Auto => {
            let is_capable = variable("TERM").is_some_and(|term| term != "dumb");
            is_terminal && (is_capable || variable("CLICOLOR").is_some())
        }
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

    fn decide_with(choice: ColorChoice, is_terminal: bool, variables: &[(&str, &str)]) -> bool {
        let value = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|it| it.1.into());
        decide(choice, is_terminal, value)
    }

    #[test]
    fn only_a_capable_terminal_has_colours_unless_the_user_decides_otherwise() {
        let auto = |is_terminal, variables: &[_]| decide_with(ColorChoice::Auto, is_terminal, variables);
        let xterm = ("TERM", "xterm");
        assert!(auto(true, &[xterm]) && !auto(false, &[xterm]));
        assert!(!auto(true, &[("TERM", "dumb")]) && !auto(true, &[]));
        assert!(!auto(true, &[xterm, ("NO_COLOR", "1")]) && auto(true, &[xterm, ("NO_COLOR", "")]));
        assert!(!auto(true, &[xterm, ("CLICOLOR", "0")]) && auto(true, &[("CLICOLOR", "1")]));
        assert!(auto(false, &[("CLICOLOR_FORCE", "1")]) && !auto(false, &[("CLICOLOR_FORCE", "")]));
        assert!(!auto(true, &[xterm, ("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
        assert!(decide_with(ColorChoice::Always, false, &[("NO_COLOR", "1")]));
        assert!(!decide_with(ColorChoice::Never, true, &[xterm, ("CLICOLOR_FORCE", "1")]));
    }

    #[test]
    fn the_last_color_argument_decides_about_the_messages_of_clap() {
        let choice = |line: &str| choice_among(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(choice("bsafs order --color=never a"), ColorChoice::Never);
        assert_eq!(choice("bsafs --color never order --color always"), ColorChoice::Always);
        assert_eq!(choice("bsafs order --color=x -- --color=never"), ColorChoice::Auto);
    }
}
