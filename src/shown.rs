//! The one way to print a name: of an archive, a file, a folder, a mount, a source or a process.
//!
//! A stranger may have chosen the name. A line end in it would forge a line of output or of the log. A
//! control character would reach the terminal, and a bidirectional mark would show another name. JSON escapes
//! names itself, and gets them unchanged.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::{self, Write};
use std::path::Path;

use crate::limits::EXCERPT_MAX;

/// Whether a character shows as itself and affects nothing else. False for control characters, and for
/// characters that end a line or change the direction of text.
pub fn is_printable(c: char) -> bool {
    let turns =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !c.is_control() && !turns && !matches!(c, '\u{2028}' | '\u{2029}')
}

/// Maximum number of bytes of a path, with the NUL at its end.
const PATH_MAX: usize = 4096;

/// A path or name that can be printed.
pub(crate) trait Shown {
    /// The name as people see it: on one line, and with escapes such as `\x0A` and `\u{202E}`.
    fn shown(&self) -> ShownName<'_>;
}

impl<T: AsRef<OsStr> + ?Sized> Shown for T {
    fn shown(&self) -> ShownName<'_> {
        ShownName(self.as_ref())
    }
}

/// A name whose [`Display`](fmt::Display) is safe to print. Bytes that are not UTF-8 are replaced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShownName<'n>(&'n OsStr);

impl fmt::Display for ShownName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.0.to_string_lossy();
        // No file has such a long path, so it comes from a list.
        let name = if name.len() > PATH_MAX { excerpt(&name) } else { name };
        f.pad(&escaped(&name, &[]))
    }
}

/// The beginning of a text from a file, at most [`EXCERPT_MAX`] bytes, for a message that quotes it. Escapes
/// what is not printable.
pub(crate) fn excerpt(text: &str) -> Cow<'_, str> {
    if text.len() <= EXCERPT_MAX {
        return escaped(text, &[]);
    }
    let end = (0..=EXCERPT_MAX - ELLIPSIS.len()).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    Cow::Owned(format!("{}{ELLIPSIS}", escaped(&text[..end], &[])))
}

/// What stands for the rest of a text.
const ELLIPSIS: &str = "…";

/// Escapes all characters of a text that are not printable, except those in `kept`.
pub(crate) fn escaped<'t>(text: &'t str, kept: &[char]) -> Cow<'t, str> {
    let is_shown = |c| is_printable(c) || kept.contains(&c);
    if text.chars().all(is_shown) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        // Writing to a string cannot fail.
        let _ = match u8::try_from(c) {
            _ if is_shown(c) => shown.write_char(c),
            Ok(byte) => write!(shown, "\\x{byte:02X}"),
            Err(_) => write!(shown, "\\u{{{:X}}}", u32::from(c)),
        };
    }
    Cow::Owned(shown)
}

/// A path as text. Bytes that are not UTF-8 become `%FF`, as names in trees are listed, so that different
/// paths differ.
pub(crate) fn in_utf8(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// Quotes a path so that a shell reads it back.
pub(crate) fn quoted(path: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "/._-+,:@%~=".contains(character);
    if !path.is_empty() && path.chars().all(is_plain) {
        path.to_owned()
    } else if !path.chars().all(is_printable) {
        // bash, zsh and ksh read `$'...'`. A terminal would not show these characters.
        let bytes = path.bytes().map(|byte| match byte {
            b'\'' | b'\\' => format!("\\{}", char::from(byte)),
            0x20..0x7f => char::from(byte).to_string(),
            _ => format!("\\x{byte:02x}"),
        });
        format!("$'{}'", bytes.collect::<String>())
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn a_name_with_line_ends_and_marks_is_one_line_of_printable_characters() {
        for (name, shown) in [
            ("a.bsa", "a.bsa"),
            ("Ünï code\u{200d}.bsa", "Ünï code\u{200d}.bsa"),
            ("x\nbsafs: forged", r"x\x0Absafs: forged"),
            ("x\r\t\0\x1b[2J\x7f\u{85}\u{9b}", r"x\x0D\x09\x00\x1B[2J\x7F\x85\x9B"),
            (
                "exe\u{202e}txt\u{2067}\u{2028}\u{200f}\u{61c}",
                r"exe\u{202E}txt\u{2067}\u{2028}\u{200F}\u{61C}",
            ),
        ] {
            assert_eq!(Path::new(name).shown().to_string(), shown);
            assert_eq!(
                (name.shown().to_string(), name.to_owned().shown().to_string()),
                (shown.into(), shown.into())
            );
        }
        assert_eq!(OsStr::from_bytes(b"\xff\n").shown().to_string(), "\u{fffd}\\x0A");
        assert_eq!(format!("{:<6}|", "a\n".shown()), r"a\x0A |");
    }

    #[test]
    fn a_message_quotes_at_most_200_bytes_and_no_part_of_a_letter() {
        assert_eq!(excerpt("plain"), "plain");
        assert_eq!(excerpt(&"a".repeat(200)), "a".repeat(200));
        for long in ["a".repeat(201), "ä".repeat(1 << 20), format!("a{}", "𝄞".repeat(100))] {
            let cut = excerpt(&long);
            assert!(cut.len() <= 200 && cut.len() > 190 && cut.ends_with('…'), "{cut}");
            assert!(long.starts_with(cut.trim_end_matches('…')), "{cut}");
        }
    }

    #[test]
    fn every_character_that_is_shown_is_harmless() {
        for c in (0..=u32::from(char::MAX)).filter_map(char::from_u32) {
            let shown = c.to_string().shown().to_string();
            let forbidden = [
                '\u{0}'..='\u{1f}',
                '\u{7f}'..='\u{9f}',
                '\u{61c}'..='\u{61c}',
                '\u{200e}'..='\u{200f}',
                '\u{2028}'..='\u{202e}',
                '\u{2066}'..='\u{2069}',
            ];
            assert!(
                !shown.chars().any(|it| forbidden.iter().any(|some| some.contains(&it))),
                "{:x}",
                u32::from(c)
            );
            assert!(c.is_control() || shown == c.to_string() || u32::from(c) > 0x600, "{:x}", u32::from(c));
        }
    }

    #[test]
    fn a_quoted_path_can_be_pasted_into_a_shell() {
        assert_eq!(quoted("/mnt/a"), "/mnt/a");
        assert_eq!(quoted("/mnt/it's here"), r"'/mnt/it'\''s here'");
        assert_eq!(quoted("/mnt/it's\n\u{9b}"), r"$'/mnt/it\'s\x0a\xc2\x9b'");
    }
}
