//! Code pages: which characters the bytes of a stored name mean.

use std::borrow::Cow;

use super::archive::Archive;
use super::hash::{Family, Hash};

use crate::named::named;

/// The code page of stored names. It must contain ASCII unchanged, because otherwise separators
/// could not be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding(pub(super) &'static encoding_rs::Encoding);

/// The encoding of an archive's names, and why it was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamesEncoding {
    pub encoding: Encoding,
    pub why: EncodingReason,
}

named! {
    /// Why an encoding was taken for an archive's names.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum EncodingReason;
    fn words;

    /// The user stated it.
    Stated = "as stated by --encoding";
    /// All names are ASCII, so that every encoding gives the same.
    Ascii = "all names are ASCII";
    /// All names that are not ASCII are valid UTF-8.
    ValidUtf8 = "all names are valid UTF-8";
    /// Some names are not valid UTF-8.
    NotUtf8 = "the default; some names are not valid UTF-8";
    /// The hash of a name shows that its capital letters were lowered in this encoding.
    Hash = "the default; the hash of a name fits no other";
}

impl NamesEncoding {
    /// Decides the encoding of an archive's names: `stated`, if it is given. Otherwise UTF-8, which packers
    /// on Linux and in Python write, if all names that are not ASCII are valid UTF-8. Otherwise the default.
    ///
    /// The games hash the stored bytes, so a hash usually fits both. But packers that lower capital letters
    /// outside of ASCII before they hash show which characters they saw.
    pub fn of(archive: &Archive<'_>, stated: Option<Encoding>) -> Self {
        if let Some(encoding) = stated {
            return Self { encoding, why: EncodingReason::Stated };
        }
        let default = Encoding::default();
        if archive.has_ascii_names {
            return Self { encoding: default, why: EncodingReason::Ascii };
        }
        let (mut is_ascii, mut shown) = (true, None);
        for entry in archive.entries() {
            let Some((folder, file)) = entry.name.parts() else { continue };
            if folder.is_ascii() && file.is_ascii() {
                continue;
            }
            is_ascii = false;
            if std::str::from_utf8(folder).is_err() || std::str::from_utf8(file).is_err() {
                return Self { encoding: default, why: EncodingReason::NotUtf8 };
            }
            let was_seen =
                |encoding: Encoding| encoding.was_lowered(archive.hashes, folder, file, &entry.hash);
            shown = shown.or_else(|| match (was_seen(Encoding::UTF_8), was_seen(default)) {
                (false, true) => Some(default),
                _ => None,
            });
        }
        match (is_ascii, shown) {
            (true, _) => Self { encoding: default, why: EncodingReason::Ascii },
            (false, Some(encoding)) => Self { encoding, why: EncodingReason::Hash },
            (false, None) => Self { encoding: Encoding::UTF_8, why: EncodingReason::ValidUtf8 },
        }
    }
}

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

    /// Whether an archive's hash is that of a name whose capital letters, also those outside of ASCII, were
    /// lowered in this encoding.
    fn was_lowered(self, family: Family, folder: &[u8], file: &[u8], hash: &Hash) -> bool {
        let lowered = |stored: &[u8]| {
            let text = self.decode(stored)?.to_lowercase();
            self.encode(text.as_bytes()).map(Cow::into_owned)
        };
        let (Some(folder), Some(file)) = (lowered(folder), lowered(file)) else { return false };
        family.candidates(&folder, &file).any(|it| it == *hash)
    }

    /// Whether the encoding has two-byte characters whose second byte can be a backslash.
    pub(super) fn is_double_byte(self) -> bool {
        [encoding_rs::SHIFT_JIS, encoding_rs::GBK, encoding_rs::GB18030, encoding_rs::BIG5].contains(&self.0)
    }

    /// Whether `byte` is the first byte of a two-byte character.
    pub(super) fn is_lead_byte(self, byte: u8) -> bool {
        if self.0 == encoding_rs::SHIFT_JIS {
            matches!(byte, 0x81..=0x9f | 0xe0..=0xfc)
        } else {
            self.is_double_byte() && matches!(byte, 0x81..=0xfe)
        }
    }
}
