//! Decoding of texts that games and mod managers write, in windows-1252 or Unicode.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// Decodes an INI file: UTF-8 or UTF-16 by its byte order mark, or else windows-1252.
pub(crate) fn decode_ini(bytes: &[u8]) -> Cow<'_, str> {
    let (encoding, mark) = Encoding::for_bom(bytes).unwrap_or((WINDOWS_1252, 0));
    encoding.decode_without_bom_handling(&bytes[mark..]).0
}

/// Decodes a list in a code page. Games read a byte order mark as letters of the first line, so
/// that line is lost.
pub(crate) fn decode_list<'a>(bytes: &'a [u8], code_page: &'static Encoding) -> Cow<'a, str> {
    let (encoding, mark) = Encoding::for_bom(bytes).unwrap_or((code_page, 0));
    let rest = match (mark, encoding == UTF_8) {
        (0, _) => bytes,
        (_, true) => bytes.iter().position(|&byte| byte == b'\n').map_or(&[][..], |at| &bytes[at..]),
        (_, false) => &[],
    };
    code_page.decode_without_bom_handling(rest).0
}

/// Decodes a list in UTF-8, as mod managers write it.
pub(crate) fn decode_utf8(bytes: &[u8]) -> Cow<'_, str> {
    UTF_8.decode_with_bom_removal(bytes).0
}

/// The lines of a list of plugins, without blank lines and comments.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The name in a line of a list of plugins, without the star of an active plugin.
pub(crate) fn name_of(line: &str) -> &str {
    line.strip_prefix('*').unwrap_or(line).trim()
}

#[cfg(test)]
mod tests {
    use super::{WINDOWS_1252, lines};

    fn decode_list(bytes: &[u8]) -> String {
        super::decode_list(bytes, WINDOWS_1252).into_owned()
    }

    #[test]
    fn a_byte_order_mark_spoils_only_the_first_line_of_a_list() {
        assert_eq!(
            lines(&decode_list(b"\xef\xbb\xbf# x\r\nA.esp\r\n\r\n#B.esp\r\n")).collect::<Vec<_>>(),
            ["A.esp"]
        );
        assert_eq!(lines(&decode_list(b"Gr\xf6\xdfe.esp")).collect::<Vec<_>>(), ["Größe.esp"]);
    }
}
