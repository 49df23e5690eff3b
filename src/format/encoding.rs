//! Code pages: which characters an archive's name bytes stand for.

use std::borrow::Cow;

/// The code page of stored names. Only those that contain ASCII unchanged are supported: in others separators could
/// not be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding(pub(super) &'static encoding_rs::Encoding);

impl Default for Encoding {
    /// Windows-1252, which the games and nearly all mods use.
    fn default() -> Self {
        Self(encoding_rs::WINDOWS_1252)
    }
}

impl Encoding {
    /// The encoding of this system's own names.
    pub const UTF_8: Self = Self(encoding_rs::UTF_8);

    /// The encoding that `label` stands for: a WHATWG label such as `shift_jis`, or a Windows code page's
    /// number with or without `cp` or `windows-` in front. `None` for what is unknown or does not contain
    /// ASCII.
    pub fn from_label(label: &str) -> Option<Self> {
        let label = label.trim().to_ascii_lowercase();
        let number = label.strip_prefix("cp").or_else(|| label.strip_prefix("windows-")).unwrap_or(&label);
        let known = match number {
            // Code pages that have another name on the web.
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

    /// Its WHATWG name, such as `windows-1252`; [`Encoding::from_label`] takes it back.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// A path as users type it, in the bytes of this encoding; `None` where it has characters that the encoding lacks.
    pub fn encode(self, path: &[u8]) -> Option<Cow<'_, [u8]>> {
        let path = std::str::from_utf8(path).ok()?;
        let (bytes, _, has_lost) = self.0.encode(path);
        (!has_lost).then_some(bytes)
    }

    /// Stored bytes as text; `None` where some are not valid in this encoding.
    pub fn decode(self, stored: &[u8]) -> Option<Cow<'_, str>> {
        self.0.decode_without_bom_handling_and_without_replacement(stored)
    }

    /// Whether it has characters whose second byte can be a backslash.
    pub(super) fn is_double_byte(self) -> bool {
        [encoding_rs::SHIFT_JIS, encoding_rs::GBK, encoding_rs::GB18030, encoding_rs::BIG5].contains(&self.0)
    }

    /// Whether `byte` is the lead byte of such a character.
    pub(super) fn is_lead_byte(self, byte: u8) -> bool {
        match self.0 == encoding_rs::SHIFT_JIS {
            true => matches!(byte, 0x81..=0x9f | 0xe0..=0xfc),
            false => self.is_double_byte() && matches!(byte, 0x81..=0xfe),
        }
    }
}
