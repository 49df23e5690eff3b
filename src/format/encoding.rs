//! Code pages: which characters the bytes of a stored name mean.

use std::borrow::Cow;

/// The code page of stored names. It must contain ASCII unchanged, because otherwise separators
/// could not be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding(pub(super) &'static encoding_rs::Encoding);

impl Default for Encoding {
    /// Windows-1252, which the games and nearly all mods use.
    fn default() -> Self {
        Self(encoding_rs::WINDOWS_1252)
    }
}

impl Encoding {
    /// The encoding of names on this system.
    pub const UTF_8: Self = Self(encoding_rs::UTF_8);

    /// The encoding for a label: a WHATWG label such as `shift_jis`, or the number of a Windows
    /// code page, with or without a prefix `cp` or `windows-`. `None` if the label is unknown or
    /// the encoding does not contain ASCII.
    pub fn from_label(label: &str) -> Option<Self> {
        let label = label.trim().to_ascii_lowercase();
        let number = label.strip_prefix("cp").or_else(|| label.strip_prefix("windows-")).unwrap_or(&label);
        let known = match number {
            // These code pages have another name on the web.
            "866" => "ibm866".to_owned(),
            "932" => "shift_jis".to_owned(),
            "936" => "gbk".to_owned(),
            "949" => "euc-kr".to_owned(),
            "950" => "big5".to_owned(),
            "65001" => "utf-8".to_owned(),
            _ if number.bytes().all(|byte| byte.is_ascii_digit()) => format!("windows-{number}"),
            _ => label,
        };
        let encoding = encoding_rs::Encoding::for_label(known.as_bytes())?;
        encoding.is_ascii_compatible().then_some(Self(encoding))
    }

    /// The WHATWG name, such as `windows-1252`. [`Encoding::from_label`] accepts it.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Encodes a path that a user typed. `None` if it has characters that the encoding lacks.
    pub fn encode(self, path: &[u8]) -> Option<Cow<'_, [u8]>> {
        let path = std::str::from_utf8(path).ok()?;
        let (bytes, _, has_lost) = self.0.encode(path);
        (!has_lost).then_some(bytes)
    }

    /// Decodes stored bytes. `None` if some are not valid in this encoding.
    pub fn decode(self, stored: &[u8]) -> Option<Cow<'_, str>> {
        self.0.decode_without_bom_handling_and_without_replacement(stored)
    }

    /// Whether the encoding has two-byte characters whose second byte can be a backslash.
    pub(super) fn is_double_byte(self) -> bool {
        [encoding_rs::SHIFT_JIS, encoding_rs::GBK, encoding_rs::GB18030, encoding_rs::BIG5].contains(&self.0)
    }

    /// Whether `byte` is the first byte of a two-byte character.
    pub(super) fn is_lead_byte(self, byte: u8) -> bool {
        match self.0 == encoding_rs::SHIFT_JIS {
            true => matches!(byte, 0x81..=0x9f | 0xe0..=0xfc),
            false => self.is_double_byte() && matches!(byte, 0x81..=0xfe),
        }
    }
}
