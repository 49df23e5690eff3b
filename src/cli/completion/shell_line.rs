//! Splits an unfinished command line into words as a shell would. Quotes go, and nothing is executed.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use clap::ValueEnum;

/// A shell whose lines can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    /// GNU bash
    Bash,
    /// Z shell
    Zsh,
    /// fish
    Fish,
}

/// A word, without its quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: Vec<u8>,
    /// Number of bytes at the beginning of `text` that stand for a `~`.
    pub(crate) home_len: usize,
    /// Where readline's word begins in `text`. Readline cuts words at opening quotes and at
    /// characters of its own.
    pub(crate) last_cut: usize,
    /// The quotes that are open at the end of the line: `'`, `"`, or `$` for `$'`.
    pub(crate) quotes: Option<u8>,
}

/// Splits a line up to the cursor into words. The last word is the one at the cursor, empty after a
/// space. Readline cuts words at the characters `breaks`.
pub(crate) fn words(shell: Shell, line: &[u8], breaks: &[u8]) -> Vec<Word> {
    let mut reader = LineReader { shell, rest: line, breaks, words: Vec::new(), word: None };
    while let Some(byte) = reader.next() {
        reader.read(byte);
    }
    let LineReader { mut words, word, .. } = reader;
    words.push(word.unwrap_or_default());
    words
}

struct LineReader<'a> {
    shell: Shell,
    rest: &'a [u8],
    breaks: &'a [u8],
    words: Vec<Word>,
    /// The current word, if one has begun.
    word: Option<Word>,
}

impl LineReader<'_> {
    fn next(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(byte)
    }

    /// Consumes the next byte if it is `byte`, and returns whether it was.
    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.rest.first() == Some(&byte);
        if is_next {
            self.next();
        }
        is_next
    }

    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn push(&mut self, bytes: &[u8]) {
        self.word().text.extend_from_slice(bytes);
    }

    /// Reads what begins with a byte outside quotes.
    fn read(&mut self, byte: u8) {
        match byte {
            b' ' | b'\t' | b'\n' => self.words.extend(self.word.take()),
            b'\\' if self.shell == Shell::Fish => self.escape(),
            b'\\' => match self.next() {
                Some(byte) => self.push(&[byte]),
                // The line ends after the backslash.
                None => _ = self.word(),
            },
            b'\'' => {
                self.cut();
                self.single_quotes();
            }
            b'"' => {
                self.cut();
                self.double_quotes();
            }
            b'$' if self.shell != Shell::Fish && self.take(b'\'') => {
                self.cut();
                self.ansi_quotes();
            }
            b'$' => self.variable(),
            b'~' if self.word.is_none() && matches!(self.rest.first(), None | Some(b'/' | b' ')) => {
                self.home()
            }
            _ => {
                self.push(&[byte]);
                if self.breaks.contains(&byte) {
                    self.cut();
                }
            }
        }
    }

    /// Records that readline's word begins here.
    fn cut(&mut self) {
        let word = self.word();
        word.last_cut = word.text.len();
    }

    fn quoted(&mut self, quotes: u8, mut read: impl FnMut(&mut Self, u8) -> bool) {
        while let Some(byte) = self.next() {
            if read(self, byte) {
                return self.cut();
            }
        }
        self.word().quotes = Some(quotes);
    }

    fn single_quotes(&mut self) {
        self.quoted(b'\'', |it, byte| {
            match byte {
                b'\'' => return true,
                b'\\' if it.shell == Shell::Fish => it.escaped_if(b"'\\"),
                _ => it.push(&[byte]),
            }
            false
        });
    }

    fn double_quotes(&mut self) {
        self.quoted(b'"', |it, byte| {
            match byte {
                b'"' => return true,
                b'\\' => it.escaped_if(b"$`\"\\"),
                b'$' => it.variable(),
                _ => it.push(&[byte]),
            }
            false
        });
    }

    /// Reads `$'...'`, which bash and zsh have.
    fn ansi_quotes(&mut self) {
        self.quoted(b'$', |it, byte| {
            match byte {
                b'\'' => return true,
                b'\\' => it.escape(),
                _ => it.push(&[byte]),
            }
            false
        });
    }

    /// Reads what follows a backslash. It escapes only these characters; otherwise the backslash
    /// stands for itself.
    fn escaped_if(&mut self, escapable: &[u8]) {
        match self.rest.first().copied().filter(|byte| escapable.contains(byte)) {
            Some(byte) => {
                self.next();
                self.push(&[byte]);
            }
            None => self.push(b"\\"),
        }
    }

    /// Reads what follows a backslash: a character by its name or number.
    fn escape(&mut self) {
        let Some(byte) = self.next() else {
            self.word();
            return;
        };
        match byte {
            b'n' => self.push(b"\n"),
            b't' => self.push(b"\t"),
            b'r' => self.push(b"\r"),
            b'e' | b'E' => self.push(b"\x1b"),
            b'a' => self.push(b"\x07"),
            b'b' => self.push(b"\x08"),
            b'f' => self.push(b"\x0c"),
            b'v' => self.push(b"\x0b"),
            b'c' => {
                if let Some(control) = self.next() {
                    self.push(&[control & 0x1f]);
                }
            }
            b'0'..=b'7' => {
                let first = u32::from(byte - b'0');
                let number = self.digits(2, 8, first);
                self.push(&[number.to_le_bytes()[0]]);
            }
            b'x' | b'X' => {
                let number = self.digits(2, 16, 0);
                self.push(&[number.to_le_bytes()[0]]);
            }
            b'u' | b'U' => {
                let number = self.digits(if byte == b'u' { 4 } else { 8 }, 16, 0);
                let character = char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER);
                self.push(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => self.push(&[byte]),
        }
    }

    /// Reads at most `most` digits, which continue `number`.
    fn digits(&mut self, most: usize, radix: u32, mut number: u32) -> u32 {
        for _ in 0..most {
            let digit = self.rest.first().and_then(|&byte| char::from(byte).to_digit(radix));
            let Some(digit) = digit else { break };
            self.next();
            number = number.wrapping_mul(radix).wrapping_add(digit);
        }
        number
    }

    /// Reads what follows a `$`: the name of an exported variable, which is replaced by its value.
    /// Anything else, such as a command substitution, is kept as written, and no name matches it.
    fn variable(&mut self) {
        let braced = self.rest.first() == Some(&b'{');
        let name = &self.rest[usize::from(braced)..];
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let len = name.iter().take_while(|byte| is_name(byte)).count();
        let is_closed = !braced || name.get(len) == Some(&b'}');
        // Fish only accepts candidates that begin with the typed text, so variables stay.
        let value = std::env::var_os(OsStr::from_bytes(&name[..len]));
        match value.filter(|_| is_closed && len > 0 && self.shell != Shell::Fish) {
            Some(value) => {
                self.rest = &self.rest[len + 2 * usize::from(braced)..];
                self.push(value.as_bytes());
            }
            None => self.push(b"$"),
        }
    }

    fn home(&mut self) {
        let Some(home) = std::env::var_os("HOME").filter(|home| !home.is_empty()) else {
            return self.push(b"~");
        };
        self.push(home.as_bytes());
        self.word().home_len = home.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of the words of a line.
    fn texts(shell: Shell, line: &str) -> Vec<String> {
        let texts = words(shell, line.as_bytes(), b"").into_iter();
        texts.map(|word| String::from_utf8(word.text).expect("not UTF-8")).collect()
    }

    #[test]
    fn quotes_and_escapes_are_undone_as_the_shell_does() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            assert_eq!(texts(shell, r"bsafs cat  a\ b 'c d'e "), ["bsafs", "cat", "a b", "c de", ""]);
            assert_eq!(texts(shell, r#"x "a \"b\" \$c 'd"#), ["x", r#"a "b" $c 'd"#]);
            assert_eq!(texts(shell, r"x a\"), ["x", "a"]);
            assert_eq!(texts(shell, "x ''"), ["x", ""]);
            assert_eq!(texts(shell, ""), [""]);
        }
        assert_eq!(texts(Shell::Bash, r"x 'a\' $'b\n\'\x41\u00e9\101'"), ["x", "a\\", "b\n'AéA"]);
        assert_eq!(texts(Shell::Fish, r"x 'a\'b' c\nd\x41\cA"), ["x", "a'b", "c\ndA\u{1}"]);
    }

    #[test]
    fn completion_runs_no_command_and_expands_only_exported_variables() {
        let home = std::env::var("HOME").expect("HOME is not set");
        for line in ["$(touch x)", "`touch x`", "${HOME", "$((1))", "$no_such_variable/a", "$"] {
            let read = texts(Shell::Bash, line).join(" ");
            assert_eq!(read, line);
        }
        for line in ["$HOME/a", "${HOME}/a", "\"$HOME/a", "~/a"] {
            assert_eq!(texts(Shell::Zsh, line), [format!("{home}/a")], "{line}");
        }
        let word = words(Shell::Fish, b"~/a", b"").pop().expect("no word");
        assert_eq!((word.home_len, word.text), (home.len(), format!("{home}/a").into_bytes()));
        assert_eq!(texts(Shell::Fish, "$HOME/a"), ["$HOME/a"]);
        assert_eq!(texts(Shell::Bash, "'~/a' a~ ~user"), ["~/a", "a~", "~user"]);
    }

    #[test]
    fn the_completed_part_begins_after_quotes_and_readline_word_breaks() {
        let cut = |line: &str| {
            let word = words(Shell::Bash, line.as_bytes(), b" \t\n\"'><=;|&(:").pop().expect("no word");
            (String::from_utf8_lossy(&word.text[word.last_cut..]).into_owned(), word.quotes)
        };
        assert_eq!(cut("x --archives=fi"), ("fi".into(), None));
        assert_eq!(cut(r"x a\:b\=c"), ("a:b=c".into(), None));
        assert_eq!(cut("x \"a b:c"), ("a b:c".into(), Some(b'"')));
        assert_eq!(cut("x a:'b c"), ("b c".into(), Some(b'\'')));
        assert_eq!(cut("x \"a b\"c"), ("c".into(), None));
        assert_eq!(cut("x $'b c"), ("b c".into(), Some(b'$')));
    }
}
