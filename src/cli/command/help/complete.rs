//! `bsafs complete`: prints the candidates for the word at the cursor. The scripts of `bsafs
//! completions` call it.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use clap::Args;

use crate::cli::completion::candidates::Candidate;
use crate::cli::completion::expected::Expected;
use crate::cli::completion::shell_line::{Shell, Word, words};
use crate::cli::exit::{Exit, Failure};
use crate::cli::terminal::output::{escaped, raw_stdout};
use crate::cli::ui::Ui;
use crate::system::subprocess::Program;

/// Print the completions of the last word of a command line
#[derive(Args, Debug)]
pub(crate) struct Complete {
    /// The shell of the command line
    #[arg(value_enum)]
    shell: Shell,
    /// The command line up to the cursor, with its quotes
    line: OsString,
    /// The characters at which readline cuts words
    #[arg(default_value = "")]
    breaks: OsString,
    /// List the candidates instead of inserting them
    #[arg(long = "listed")]
    is_listed: bool,
    /// Wait for disks and daemons without a time limit. This command runs that
    #[arg(long = "direct", hide = true)]
    is_direct: bool,
}

/// How long the Tab key may take. A daemon or a network disk may never answer, and nothing can end a process
/// that waits for it.
const TAB_TIME: Duration = Duration::from_secs(3);

/// Maximum depth to which [`descend_single_folder`] descends.
const DESCENT_MAX: usize = 64;

impl Complete {
    pub(crate) fn run(&self, ui: &Ui) -> Result<Exit, Failure> {
        let bsafs = (ui.definition)();
        if !self.is_direct {
            return self.run_in_time();
        }
        let mut words = words(self.shell, self.line.as_bytes(), self.breaks.as_bytes());
        let Some(word) = words.pop() else { return Ok(Exit::Ok) };
        let before: Vec<_> = words.into_iter().map(|word| word.text).collect();
        let expected = Expected::at_end(bsafs, &before, &word.text);
        let began = Instant::now();
        let mut candidates = sorted(expected.candidates(&word.text));
        if self.shell == Shell::Bash && word.quotes.is_some() {
            candidates = descend_single_folder(&expected, candidates, began);
        }
        let mut out = raw_stdout();
        match self.shell {
            Shell::Bash if self.is_listed => out.text(|out| write_listed(out, &candidates, &expected))?,
            Shell::Bash => out.text(|out| write_bash(out, &candidates, &word))?,
            Shell::Zsh => out.text(|out| write_zsh(out, &candidates, &expected))?,
            Shell::Fish => out.text(|out| write_fish(out, &candidates, &word))?,
        }
        out.flush()?;
        Ok(Exit::Ok)
    }
}

impl Complete {
    /// Has another process find the candidates. There are none if that takes too long.
    fn run_in_time(&self) -> Result<Exit, Failure> {
        let finding = Program::itself().in_current_folder().args(["complete", "--direct"]);
        let finding = finding.args(std::env::args_os().skip_while(|it| it != "complete").skip(1));
        let found = match finding.output_within(TAB_TIME) {
            Ok(Some(output)) if output.status.success() => output.stdout,
            _ => Vec::new(),
        };
        let mut out = raw_stdout();
        out.write_all(&found)?;
        out.flush()?;
        Ok(Exit::Ok)
    }
}

fn sorted(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    candidates.sort_by(|a, b| a.text.cmp(&b.text));
    candidates.dedup_by(|a, b| a.text == b.text);
    candidates
}

/// Replaces a single folder by its content, because readline closes the quotes after a single candidate.
/// Each folder may take as long as the first one, so it stops when a part of the time is over.
fn descend_single_folder(
    expected: &Expected,
    mut candidates: Vec<Candidate>,
    began: Instant,
) -> Vec<Candidate> {
    for _ in 0..DESCENT_MAX {
        let [only] = &candidates[..] else { break };
        if began.elapsed() > TAB_TIME / 4 {
            break;
        }
        let below = if only.text.ends_with(b"/") { expected.candidates(&only.text) } else { Vec::new() };
        if below.is_empty() {
            break;
        }
        candidates = sorted(below);
    }
    candidates
}

/// Writes the quoted text that replaces readline's word, once per candidate, each ending in NUL.
/// Readline's own quoting does not escape `$(...)` and backquotes unless the path is on the disk.
/// It also stats files, which may hang in a mount.
fn write_bash(out: &mut impl Write, found: &[Candidate], word: &Word) -> io::Result<()> {
    let quoted = |it: &Candidate| quoted(it.text.get(word.last_cut..)?, word.quotes);
    let quoted: Vec<_> = found.iter().filter_map(quoted).collect();
    for text in &quoted {
        out.write_all(text)?;
        // Readline mistakes a quote at the end of a single candidate for the closing quote.
        if quoted.len() == 1 && text.last().copied() == word.quotes {
            out.write_all(word.quotes.as_slice())?;
        }
        out.write_all(b"\0")?;
    }
    Ok(())
}

/// Writes candidates as bash lists them. Bash does not insert these.
fn write_listed(out: &mut impl Write, found: &[Candidate], expected: &Expected) -> io::Result<()> {
    found.iter().try_for_each(|it| write!(out, "{}\0", shown(&it.text, expected)))
}

/// Quotes a name so that bash reads it back within these quotes. `None` if these quotes cannot contain it.
fn quoted(text: &[u8], quotes: Option<u8>) -> Option<Vec<u8>> {
    let has_control = text.iter().any(u8::is_ascii_control);
    let mut quoted = Vec::with_capacity(text.len() + 8);
    match quotes {
        None if has_control => {
            quoted.extend_from_slice(b"$'");
            for &byte in text {
                match byte {
                    b'\'' | b'\\' => quoted.extend_from_slice(&[b'\\', byte]),
                    _ if byte.is_ascii_control() => quoted.extend(format!("\\x{byte:02x}").into_bytes()),
                    _ => quoted.push(byte),
                }
            }
            quoted.push(b'\'');
        }
        None => {
            for &byte in text {
                let is_plain =
                    byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"/._-+,:@%=".contains(&byte);
                quoted.extend((!is_plain).then_some(b'\\'));
                quoted.push(byte);
            }
        }
        Some(b'\'') if !has_control => {
            for &byte in text {
                quoted.extend_from_slice(if byte == b'\'' { br"'\''" } else { std::slice::from_ref(&byte) });
            }
        }
        // An exclamation mark would expand the history, and cannot be escaped in double quotes.
        Some(b'"') if !has_control && !text.contains(&b'!') => {
            for &byte in text {
                quoted.extend(b"$`\"\\".contains(&byte).then_some(b'\\'));
                quoted.push(byte);
            }
        }
        Some(_) => return None,
    }
    Some(quoted)
}

/// Writes each word and its form in lists, each ending in NUL.
fn write_zsh(out: &mut impl Write, found: &[Candidate], expected: &Expected) -> io::Result<()> {
    for Candidate { text, help } in found {
        let shown = shown(text, expected);
        let help = if help.is_empty() { String::new() } else { format!("  -- {help}") };
        out.write_all(text)?;
        write!(out, "\0{shown}{help}\0")?;
    }
    Ok(())
}

/// Writes each word as the user began it, a tab, and its meaning, ending in NUL.
fn write_fish(out: &mut impl Write, found: &[Candidate], word: &Word) -> io::Result<()> {
    // Fish takes the text after any tab as the meaning, even if the tab is escaped.
    for Candidate { text, help } in found.iter().filter(|it| !it.text.contains(&b'\t')) {
        let rest = match word.home_len {
            0 => &text[..],
            home_len => {
                out.write_all(b"~")?;
                text.get(home_len..).unwrap_or_default()
            }
        };
        out.write_all(rest)?;
        write!(out, "\t{help}\0")?;
    }
    Ok(())
}

/// A word as it appears in lists. Paths are cut to the last name. Mounts are not, because many share a name.
fn shown(text: &[u8], expected: &Expected) -> String {
    let without_end = text.strip_suffix(b"/").unwrap_or(text);
    let is_separator = |byte: &u8| *byte == b'/' || (*byte == b'\\' && expected.are_in_tree());
    let last = without_end.iter().rposition(is_separator).map_or(0, |at| at + 1);
    let start = if expected.are_mounts() { 0 } else { last };
    escaped(&String::from_utf8_lossy(&text[start..])).replace(['\n', '\t'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::completion::shell_line::words;

    #[test]
    fn a_quoted_name_parses_back_to_itself() {
        for name in
            ["/mnt/a b", "it's $(touch x) `y` \"z\" \\ *?[]{}~#&;|<>()!^", "~", "a\nb'\\\x1b", "é\u{9b}"]
        {
            for quotes in [None, Some(b'\''), Some(b'"')] {
                let Some(quoted) = quoted(name.as_bytes(), quotes) else {
                    assert!(name.contains(['\n', '!']) && quotes.is_some(), "{name}");
                    continue;
                };
                let line = [quotes.as_slice(), &quoted, quotes.as_slice()].concat();
                let read = words(Shell::Bash, &line, b"");
                assert_eq!(read.len(), 1, "{name}");
                assert_eq!(String::from_utf8_lossy(&read[0].text), name);
            }
        }
    }
}
