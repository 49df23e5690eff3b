//! Turns stored names into safe path components. This is the only place where an archive's names
//! are fitted to the rules of the file system.
//!
//! A stored name is bytes in the packer's code page, with either separator, and may be hostile. The
//! result is UTF-8 that any Linux program can use and any terminal can show. A component is never
//! empty, `.` or `..`, contains no `/` and nothing that is not [printable](is_printable), and has
//! at most [`COMPONENT_MAX`] bytes. A path has at most [`DEPTH_MAX`] components. The same bytes
//! always give the same names. Different bytes may give equal names, which `tree` then numbers.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::encoding::Encoding;
pub use crate::shown::is_printable;

/// Maximum length of a file name on Linux, in bytes.
pub const COMPONENT_MAX: usize = 255;

/// Maximum depth of nesting. Deeper components are folded into one, so that no archive can make a
/// tree that programs cannot walk.
pub const DEPTH_MAX: usize = 64;

/// How many stored bytes of a component are decoded. In every encoding, two stored bytes give at
/// least one byte of UTF-8, so a longer component is cut anyway. The rest only enters its hash.
const SAMPLE: usize = 1024;

/// Maximum length of an extension that is kept when a name is cut, in bytes, dot included.
const EXTENSION_MAX: usize = 16;

/// Splits a stored path at its last separator into folder and file. The folder is empty for the root.
pub fn split(stored: &[u8], encoding: Encoding) -> (&[u8], &[u8]) {
    let last = if !encoding.is_double_byte() {
        stored.iter().rposition(|&byte| is_separator(byte))
    } else {
        let pieces = NameParts { rest: stored, encoding };
        let mut at = None;
        let mut from = 0;
        while let Some(more) = stored.get(from..).map(|tail| pieces.separator(tail)) {
            let found = from.saturating_add(more);
            if found >= stored.len() {
                break;
            }
            at = Some(found);
            from = found.saturating_add(1);
        }
        at
    };
    match last.and_then(|at| stored.split_at_checked(at)) {
        Some((folder, rest)) => (folder, rest.get(1..).unwrap_or_default()),
        None => (&[], stored),
    }
}

/// The safe components of a stored path, in order.
///
/// Empty components and `.` vanish, whatever the separators. `..` becomes `%2E%2E`, so that no name
/// leads upwards. The colon of a leading drive letter becomes `%3A`. The [`DEPTH_MAX`]th component
/// contains the rest of the path, with `%2F` for separators.
pub fn components(stored: &[u8], encoding: Encoding) -> Components<'_> {
    Components { pieces: NameParts { rest: stored, encoding }, taken: 0 }
}

/// Makes one component safe. Separators, characters that are not [printable](is_printable) and
/// bytes that are not valid in the encoding become `%XX`. A name that is too long ends in `~`, a
/// hash of the stored bytes and its extension.
///
/// The dots of `.` and `..` become `%2E`. The empty name becomes `_`.
pub fn component(stored: &[u8], encoding: Encoding) -> Cow<'_, str> {
    let plain = stored.iter().all(|&byte| is_plain(byte));
    fit(NamePart { stored, plain }.text(encoding), stored, encoding)
}

/// Whether [`component`] leaves a stored name unchanged because it is short and printable ASCII. Nearly all
/// names are ordinary.
pub fn is_ordinary(stored: &[u8]) -> bool {
    let is_plain = match stored.as_chunks() {
        // The last eight bytes are checked as one more word, so some bytes are checked twice.
        (words @ [_, ..], _) => words.iter().chain(stored.last_chunk()).all(|word| is_plain_word(*word)),
        ([], few) => few.iter().all(|&byte| is_plain(byte)),
    };
    is_plain && stored.len() <= COMPONENT_MAX && !matches!(stored, b"" | b"." | b"..")
}

#[derive(Clone, Debug)]
pub struct Components<'a> {
    pieces: NameParts<'a>,
    taken: usize,
}

impl<'a> Iterator for Components<'a> {
    type Item = Cow<'a, str>;

    fn next(&mut self) -> Option<Self::Item> {
        let (left, encoding) = (self.clone(), self.pieces.encoding);
        let piece = self.pieces.next()?;
        self.taken = self.taken.saturating_add(1);
        if self.taken == DEPTH_MAX && self.pieces.clone().next().is_some() {
            self.pieces.rest = &[];
            return Some(left.joined());
        }
        Some(fit(piece.text_at(left.taken, encoding), piece.stored, encoding))
    }
}

impl<'a> Components<'a> {
    /// Joins the rest of the path into one component, with `%2F` for separators.
    pub fn joined(self) -> Cow<'a, str> {
        let NameParts { rest, encoding } = self.pieces;
        let mut text = String::new();
        for (index, piece) in (self.taken..).zip(self.pieces) {
            if !text.is_empty() {
                text.push_str("%2F");
            }
            text.push_str(&piece.text_at(index, encoding));
            if text.len() > COMPONENT_MAX {
                break;
            }
        }
        fit(Cow::Owned(text), rest, encoding)
    }
}

/// Iterates over a stored path's components as stored, except those that vanish.
#[derive(Clone, Debug)]
struct NameParts<'a> {
    rest: &'a [u8],
    encoding: Encoding,
}

impl<'a> Iterator for NameParts<'a> {
    type Item = NamePart<'a>;

    fn next(&mut self) -> Option<NamePart<'a>> {
        while !self.rest.is_empty() {
            let whole = self.rest;
            // One pass over an ordinary component finds its end, and shows that nothing needs to be escaped.
            let plain = whole.iter().position(|&byte| !is_plain(byte)).unwrap_or(whole.len());
            let (_, tail) = whole.split_at_checked(plain)?;
            let more = self.separator(tail);
            let (stored, rest) = whole.split_at_checked(plain.saturating_add(more))?;
            self.rest = rest.get(1..).unwrap_or_default();
            if !matches!(stored, b"" | b".") {
                return Some(NamePart { stored, plain: more == 0 });
            }
        }
        None
    }
}

impl NameParts<'_> {
    /// The number of bytes before the first separator in `tail`.
    ///
    /// In the double-byte code pages of East Asia, a backslash may be the second half of a character.
    fn separator(&self, tail: &[u8]) -> usize {
        let mut lead = false;
        let at = tail.iter().position(|&byte| {
            let trail = std::mem::take(&mut lead) && matches!(byte, 0x40..=0x7e | 0x80..=0xfe);
            lead = !trail && self.encoding.is_lead_byte(byte);
            !trail && is_separator(byte)
        });
        at.unwrap_or(tail.len())
    }
}

/// A component as stored, and whether it is printable ASCII without separators.
#[derive(Clone, Copy)]
struct NamePart<'a> {
    stored: &'a [u8],
    plain: bool,
}

impl<'a> NamePart<'a> {
    /// As [`NamePart::text`], for the component at an index of a path. The first component may be a
    /// drive letter.
    fn text_at(self, index: usize, encoding: Encoding) -> Cow<'a, str> {
        match self.stored {
            [letter, b':', ..] if index == 0 && letter.is_ascii_alphabetic() => {
                Cow::Owned(self.text(encoding).replacen(':', "%3A", 1))
            }
            _ => self.text(encoding),
        }
    }

    /// The component's safe text. If it is longer than [`SAMPLE`], only the beginning.
    fn text(self, encoding: Encoding) -> Cow<'a, str> {
        match self.stored {
            b"" => Cow::Borrowed("_"),
            b"." => Cow::Borrowed("%2E"),
            b".." => Cow::Borrowed("%2E%2E"),
            stored => {
                let sample = stored.get(..SAMPLE).unwrap_or(stored);
                match std::str::from_utf8(sample) {
                    Ok(text) if self.plain => Cow::Borrowed(text),
                    _ => decode(sample, encoding),
                }
            }
        }
    }
}

/// Decodes a component and escapes what no name may contain.
///
/// In every encoding that contains ASCII, an ASCII control character stands for its own byte and for nothing
/// else. So escaping it after decoding escapes the stored byte. The control characters from U+0080 on are
/// bytes to which a code page assigns no character. All other unsafe characters are escaped in UTF-8.
fn decode(stored: &[u8], encoding: Encoding) -> Cow<'_, str> {
    let text = match encoding.0.decode_without_bom_handling_and_without_replacement(stored) {
        Some(text) => text,
        None => Cow::Owned(decode_malformed(stored, encoding)),
    };
    let unsafe_char = |c: char| !is_printable(c) || c == '/' || c == '\\';
    if !text.contains(unsafe_char) {
        return text;
    }
    let mut safe = String::with_capacity(text.len().saturating_add(16));
    for c in text.chars() {
        match u8::try_from(c) {
            _ if !unsafe_char(c) => safe.push(c),
            Ok(byte) => push_escape(&mut safe, byte),
            Err(_) => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| push_escape(&mut safe, byte)),
        }
    }
    Cow::Owned(safe)
}

/// Decodes bytes that are partly invalid in the encoding. Each invalid byte becomes `%XX`.
fn decode_malformed(stored: &[u8], encoding: Encoding) -> String {
    let mut decoder = encoding.0.new_decoder_without_bom_handling();
    let mut text = String::with_capacity(stored.len().saturating_mul(3));
    let mut rest = stored;
    loop {
        let (result, read) = decoder.decode_to_string_without_replacement(rest, &mut text, true);
        rest = rest.get(read..).unwrap_or_default();
        match result {
            encoding_rs::DecoderResult::InputEmpty => return text,
            encoding_rs::DecoderResult::OutputFull => text.reserve(64),
            encoding_rs::DecoderResult::Malformed(len, after) => {
                // The decoder may have consumed bytes after the malformed ones, whose output is to come.
                let end = stored.len().saturating_sub(rest.len()).saturating_sub(usize::from(after));
                let bytes = stored.get(end.saturating_sub(usize::from(len))..end).unwrap_or_default();
                for &byte in bytes.iter() {
                    push_escape(&mut text, byte);
                }
            }
        }
    }
}

/// Cuts a name that is too long. `stored` is the whole stored name.
fn fit<'a>(text: Cow<'a, str>, stored: &[u8], encoding: Encoding) -> Cow<'a, str> {
    if text.len() <= COMPONENT_MAX {
        return text;
    }
    let suffix = format!("~{:08X}{}", fnv1a(stored), short_extension(stored, encoding).unwrap_or_default());
    Cow::Owned(format!("{}{suffix}", prefix(&text, COMPONENT_MAX.saturating_sub(suffix.len()))))
}

/// The safe text of a stored name's extension with its dot; `None` if it is long.
fn short_extension(stored: &[u8], encoding: Encoding) -> Option<String> {
    let tail = stored.get(stored.len().saturating_sub(EXTENSION_MAX)..)?;
    let extension = tail.get(tail.iter().rposition(|&byte| byte == b'.')?..)?;
    let ends_a_name = extension.len() > 1 && !extension.iter().any(|&byte| is_separator(byte));
    let text = decode(extension, encoding);
    (ends_a_name && text.len() <= EXTENSION_MAX).then(|| text.into_owned())
}

/// The longest beginning of `text` that fits into `len` bytes without splitting a character.
fn prefix(text: &str, len: usize) -> &str {
    (0..=len).rev().find_map(|end| text.get(..end)).unwrap_or(text)
}

/// The 32-bit FNV-1a hash. A cut name must be the same at every mount and in every version.
fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn push_escape(text: &mut String, byte: u8) {
    // Writing to a string cannot fail.
    let _ = write!(text, "%{byte:02X}");
}

fn is_separator(byte: u8) -> bool {
    byte == b'\\' || byte == b'/'
}

/// Whether all eight bytes are [`is_plain`], computed at once. The result is the top bits of a sum.
fn is_plain_word(bytes: [u8; 8]) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let word = u64::from_le_bytes(bytes);
    // Without the top bits, no sum carries into the next byte. Seven bits plus 0x60 set the top bit
    // from 0x20 on. Seven bits plus 1 set it only for 0x7F.
    let low = word & LOW;
    let is_printable = low.wrapping_add(ONES.wrapping_mul(0x60)) & !low.wrapping_add(ONES);
    let differs_from = |byte: u8| (low ^ ONES.wrapping_mul(u64::from(byte))).wrapping_add(LOW);
    let is_all = is_printable & differs_from(b'/') & differs_from(b'\\') & !word;
    is_all & !LOW == !LOW
}

/// Whether a byte is printable ASCII and not a separator.
fn is_plain(byte: u8) -> bool {
    matches!(byte, 0x20..=0x7e) && !is_separator(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(stored: &[u8], label: &str) -> Vec<String> {
        components(stored, Encoding::from_label(label).unwrap()).map(Cow::into_owned).collect()
    }

    #[test]
    fn a_name_is_ordinary_only_if_every_byte_is() {
        for byte in 0..=u8::MAX {
            for (len, at) in [(1, 0), (7, 3), (8, 0), (8, 7), (11, 9), (16, 15), (21, 20), (255, 100)] {
                let mut name = vec![b'n'; len];
                name.splice(at..=at, [byte]);
                let is_lone_dot = byte == b'.' && len == 1;
                assert_eq!(is_ordinary(&name), is_plain(byte) && !is_lone_dot, "{byte} at {at} of {len}");
            }
        }
        assert!(!is_ordinary(b"") && !is_ordinary(b"..") && !is_ordinary(&[b'n'; 256]));
    }

    #[test]
    fn the_hash_of_a_cut_name_never_changes() {
        assert_eq!(fnv1a(b""), 0x811C_9DC5);
        assert_eq!(fnv1a(b"foobar"), 0xBF9C_F968);
        let far = |last: u8| names(&[&[b'a'; 5000][..], &[last]].concat(), "1252");
        assert_ne!(far(b'x'), far(b'y'), "bytes after the sample were ignored");
    }
}
