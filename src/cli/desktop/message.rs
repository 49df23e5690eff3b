//! Errors and answers on the desktop, for when a file manager started the program without a terminal.
//!
//! The text may contain untrusted names. It is passed as an argument, never through a shell, and escaped so
//! that each viewer shows it literally.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::cli::terminal::output::escaped;
use crate::system::subprocess::Program;

/// How long a message may stay on the screen. The user may be away and never close it.
const SHOWN_TIME: Duration = Duration::from_secs(120);
/// A viewer that ran for longer than this showed its message, even if it then failed.
const FAILURE_TIME: Duration = Duration::from_secs(2);
/// Maximum number of characters shown. The beginning of a message says what is wrong.
const TEXT_MAX: usize = 1500;
const TITLE: &str = "bsafs";

#[derive(Clone, Copy)]
enum MessageKind {
    Error,
    Answer,
}

/// A program that shows a message.
struct Viewer {
    program: &'static str,
    /// Arguments before the text of an error, and before that of an answer.
    arguments: [&'static [&'static str]; 2],
    /// Escapes the text so that the program shows it literally.
    form: fn(&str) -> String,
}

/// Programs that show messages, in the order in which they are tried.
const VIEWERS: [Viewer; 4] = [
    Viewer {
        program: "notify-send",
        arguments: [
            &["--app-name=bsafs", "--icon=dialog-error", "--", TITLE],
            &["--app-name=bsafs", "--icon=dialog-information", "--", TITLE],
        ],
        // Notification servers may parse the body as markup.
        form: |text| backslashes(&markup(text)),
    },
    Viewer {
        program: "zenity",
        arguments: [
            &["--error", "--no-markup", "--title=bsafs", "--text"],
            &["--info", "--no-markup", "--no-wrap", "--title=bsafs", "--text"],
        ],
        // zenity 3.44 has no escapes if markup is off. Without --no-wrap, it makes answers very narrow.
        form: in_lines,
    },
    Viewer {
        program: "kdialog",
        arguments: [&["--title", TITLE, "--error"], &["--title", TITLE, "--msgbox"]],
        form: in_tags,
    },
    Viewer { program: "xmessage", arguments: [&["-center", "-title", TITLE]; 2], form: in_lines },
];

/// Shows an error on the desktop, if there is one and no terminal is connected. Waits at most
/// [`SHOWN_TIME`] for the user to close it.
pub(crate) fn show_without_terminal(what: &str) {
    show(MessageKind::Error, VIEWERS.iter(), what);
}

/// Shows an answer as [`show_without_terminal`] shows an error. A notification is too short for it, so other
/// programs are tried first.
pub(crate) fn answer_without_terminal(what: &str) {
    let (notifications, windows) = VIEWERS.split_at(1);
    show(MessageKind::Answer, windows.iter().chain(notifications), what);
}

/// Keeps this process out of the current folder while a window waits for the user. The folder may be in a
/// mount, which would be busy until then. File managers start programs there.
pub(super) struct Away(Option<PathBuf>);

impl Away {
    pub(super) fn new() -> Self {
        let here = std::env::current_dir().ok();
        Self(here.filter(|_| std::env::set_current_dir("/").is_ok()))
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        if let Some(here) = &self.0 {
            // The folder may be gone, because the mount is.
            let _ = std::env::set_current_dir(here);
        }
    }
}

/// Whether this process can show windows.
pub(super) fn has_display() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    is_set("WAYLAND_DISPLAY") || is_set("DISPLAY")
}

fn show<'a>(kind: MessageKind, mut viewers: impl Iterator<Item = &'a Viewer>, what: &str) {
    let has_terminal =
        std::io::stdin().is_terminal() || std::io::stdout().is_terminal() || std::io::stderr().is_terminal();
    if !has_display() || has_terminal {
        return;
    }
    let _away = Away::new();
    let text = text(what);
    let is_shown = viewers.any(|viewer| viewer.show(kind, &text));
    if !is_shown {
        log::debug!("found no program to show the message on the desktop");
    }
}

impl Viewer {
    /// Shows the text, and returns whether the user had time to see it.
    fn show(&self, kind: MessageKind, text: &str) -> bool {
        let viewer = Program::of_desktop(self.program);
        let viewer = viewer.args(self.arguments[kind as usize].iter().copied()).arg((self.form)(text));
        let began = Instant::now();
        match viewer.output_within(SHOWN_TIME) {
            Ok(None) => true,
            // Without a display or a notification server, viewers fail at once. zenity also fails
            // when the user closes it.
            Ok(Some(output)) => output.status.success() || began.elapsed() > FAILURE_TIME,
            Err(_) => false,
        }
    }
}

/// The text to show. It begins with a word, so that no program takes it for an option, and has no
/// control characters.
pub(super) fn text(what: &str) -> String {
    let text = format!("bsafs: {}", escaped(what));
    match text.char_indices().nth(TEXT_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// Escapes backslashes, because notify-send and kdialog interpret `\n` and the like.
fn backslashes(text: &str) -> String {
    text.replace('\\', r"\\")
}

/// Breaks long lines, because xmessage does not, and a window may be wider than the screen.
pub(super) fn in_lines(text: &str) -> String {
    const WIDTH: usize = 80;
    let mut lines = String::new();
    let mut width = 0;
    for word in text.split_inclusive([' ', '\n']) {
        let length = word.chars().count();
        if width > 0 && width + length > WIDTH {
            lines.push('\n');
            width = 0;
        }
        lines.push_str(word);
        width = if word.ends_with('\n') { 0 } else { width + length };
    }
    lines
}

/// The text as kdialog shows it. Without `<qt>`, kdialog guesses whether a text is markup.
pub(super) fn in_tags(text: &str) -> String {
    format!("<qt>{}</qt>", backslashes(&markup(text)).replace('\n', "<br/>"))
}

fn markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(program: &str, what: &str) -> String {
        let viewer = VIEWERS.iter().find(|viewer| viewer.program == program).expect("no such viewer");
        (viewer.form)(&text(what))
    }

    #[test]
    fn a_hostile_name_is_not_read_as_markup_option_or_escape() {
        let what = "-x <b>&\\n.bsa\x1b[2J: no";
        assert_eq!(shown("notify-send", what), r"bsafs: -x &lt;b&gt;&amp;\\n.bsa\\x1B[2J: no");
        assert_eq!(shown("zenity", what), r"bsafs: -x <b>&\n.bsa\x1B[2J: no");
        assert_eq!(shown("kdialog", what), r"<qt>bsafs: -x &lt;b&gt;&amp;\\n.bsa\\x1B[2J: no</qt>");
        assert_eq!(shown("xmessage", what), r"bsafs: -x <b>&\n.bsa\x1B[2J: no");
    }

    #[test]
    fn long_lines_are_wrapped_between_words() {
        let lines = in_lines(&"word ".repeat(40));
        assert!(lines.lines().count() == 3 && lines.lines().all(|line| line.len() <= 80), "{lines}");
        assert_eq!(in_lines("a b\nc"), "a b\nc");
    }

    #[test]
    fn an_overlong_text_is_truncated() {
        let text = text(&"ü".repeat(100_000));
        assert_eq!(text.chars().count(), TEXT_MAX + 3);
    }
}
