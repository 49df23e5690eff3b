//! Settings files of Mod Organizer 2, in the format of Qt's `QSettings`.

use super::settings_text::decode_utf8;

/// A settings file.
#[derive(Debug, Default)]
pub struct QSettings {
    /// The names of sections in file order, each with the keys and raw values that follow it.
    sections: Vec<(String, Vec<(String, String)>)>,
}

impl QSettings {
    /// Parses a file. Lines that are not settings are left out.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut settings = Self { sections: vec![(String::new(), Vec::new())] };
        for line in decode_utf8(bytes).lines().map(str::trim) {
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                settings.sections.push((name.to_owned(), Vec::new()));
            } else if let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with(';'))
                && let Some((_, values)) = settings.sections.last_mut()
            {
                values.push((key.trim().to_owned(), value.trim().to_owned()));
            }
        }
        settings
    }

    /// The text of a value. `None` if it does not exist or is empty.
    pub fn get(&self, section: &str, key: &str) -> Option<String> {
        self.raw(section, key).map(|raw| text(&unescaped(raw))).filter(|text| !text.is_empty())
    }

    /// The texts of a list. `None` if the list does not exist.
    pub fn list<'a>(&'a self, section: &str, key: &str) -> Option<impl Iterator<Item = String> + use<'a>> {
        let texts = split(self.raw(section, key)?).map(|raw| text(&unescaped(raw.trim())));
        Some(texts.filter(|text| !text.is_empty()))
    }

    /// Whether a section has a key that begins with `start`.
    pub(crate) fn has_any(&self, section: &str, start: &str) -> bool {
        self.values(section).any(|(key, _)| key.starts_with(start))
    }

    fn raw(&self, section: &str, key: &str) -> Option<&str> {
        self.values(section).rev().find(|(it, _)| it == key).map(|(_, raw)| raw.as_str())
    }

    /// The keys and raw values of all sections of a name.
    fn values(&self, section: &str) -> impl DoubleEndedIterator<Item = &(String, String)> {
        self.sections.iter().filter(move |(name, _)| name.eq_ignore_ascii_case(section)).flat_map(|it| &it.1)
    }
}

/// Splits a value at commas outside quotes.
fn split(raw: &str) -> impl Iterator<Item = &str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    raw.split(move |letter| {
        let escaped = std::mem::take(&mut is_escaped);
        match letter {
            '\\' if !escaped => is_escaped = true,
            '"' if !escaped => is_quoted = !is_quoted,
            _ => {}
        }
        letter == ',' && !is_quoted
    })
}

/// Removes the quotes and escapes of a value. `\x` takes all hexadecimal digits that follow.
fn unescaped(raw: &str) -> String {
    let mut plain = String::with_capacity(raw.len());
    let mut letters = raw.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => {}
            '\\' => match letters.next() {
                Some('x') => {
                    let mut code = 0u32;
                    while let Some(digit) = letters.peek().and_then(|letter| letter.to_digit(16)) {
                        code = code.wrapping_mul(16).wrapping_add(digit);
                        letters.next();
                    }
                    plain.push(char::from_u32(code & 0xFFFF).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                Some('n') => plain.push('\n'),
                Some('r') => plain.push('\r'),
                Some('t') => plain.push('\t'),
                Some(other) => plain.push(other),
                None => {}
            },
            _ => plain.push(letter),
        }
    }
    plain
}

/// The text of a plain value, or of `@ByteArray(…)`, in which each letter is a byte of UTF-8.
fn text(plain: &str) -> String {
    if let Some(bytes) = plain.strip_prefix("@ByteArray(").and_then(|rest| rest.strip_suffix(')')) {
        let mut utf8 = Vec::with_capacity(bytes.len());
        for letter in bytes.chars() {
            match u8::try_from(letter) {
                Ok(byte) => utf8.push(byte),
                Err(_) => utf8.extend(letter.encode_utf8(&mut [0; 4]).bytes()),
            }
        }
        return String::from_utf8_lossy(&utf8).into_owned();
    }
    match plain.strip_prefix('@') {
        // A text that begins with @ is stored with two. A single @ begins a type that is not text.
        Some(rest) if rest.starts_with('@') => rest.to_owned(),
        Some(_) => String::new(),
        None => plain.to_owned(),
    }
}
