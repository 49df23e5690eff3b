//! Reads lists of plugins, and finds the code page in which a game does.
//!
//! Wine takes it from the user's locale, which bsafs cannot know: the game may have run with another one.
//! So the code page is the one in which the names of the list exist.

use encoding_rs::{
    BIG5, EUC_KR, Encoding, GBK, SHIFT_JIS, UTF_8, WINDOWS_874, WINDOWS_1250, WINDOWS_1251, WINDOWS_1252,
    WINDOWS_1253, WINDOWS_1254, WINDOWS_1255, WINDOWS_1256, WINDOWS_1257, WINDOWS_1258,
};

use crate::game::caseless::same;
use crate::game::settings::settings_text::{decode_list, lines, name_of};

/// The code pages of Windows, the most frequent one first.
const CODE_PAGES: [&Encoding; 14] = [
    WINDOWS_1252,
    WINDOWS_1251,
    WINDOWS_1250,
    SHIFT_JIS,
    GBK,
    EUC_KR,
    BIG5,
    WINDOWS_1254,
    WINDOWS_1253,
    WINDOWS_874,
    WINDOWS_1257,
    WINDOWS_1255,
    WINDOWS_1256,
    WINDOWS_1258,
];

/// A code page of Windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodePage(&'static Encoding);

impl Default for CodePage {
    fn default() -> Self {
        Self(WINDOWS_1252)
    }
}

impl CodePage {
    /// The code page in which most plugins of a list exist. If several fit equally well, the first one
    /// counts.
    pub(crate) fn of_list(list: &[u8], exists: &dyn Fn(&str) -> bool) -> Self {
        if list.is_ascii() {
            return Self::default();
        }
        let count = |page: &&'static Encoding| {
            let text = decode_list(list, page);
            lines(&text).filter(|line| !line.is_ascii() && exists(name_of(line))).count()
        };
        // `max_by_key` returns the last of several maximums.
        Self(CODE_PAGES.into_iter().rev().max_by_key(count).unwrap_or(WINDOWS_1252))
    }

    /// The lines of a list, without blank lines and comments.
    pub(crate) fn lines(self, list: &[u8]) -> Vec<String> {
        lines(&decode_list(list, self.0)).map(str::to_owned).collect()
    }

    /// Decodes again what was decoded as windows-1252.
    pub(crate) fn recoded(self, text: &str) -> String {
        // No byte is lost in windows-1252.
        let (bytes, _, _) = WINDOWS_1252.encode(text);
        self.0.decode_without_bom_handling(&bytes).0.into_owned()
    }
}

/// A list of plugins, as the game reads it, and as the user means it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadList {
    /// The lines that the game reads, including stars.
    pub(crate) lines: Vec<String>,
    /// The lines as an editor shows them.
    meant: Vec<String>,
    /// What keeps the game from reading an installed plugin that the list names.
    pub(crate) flaw: Option<&'static str>,
    pub(crate) code_page: CodePage,
}

/// The line of a plugin in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PluginLine {
    pub(crate) has_star: bool,
    /// Whether the game reads the name as it is meant.
    pub(crate) is_read: bool,
}

impl ReadList {
    /// Reads the bytes of a list. `exists` says whether a plugin is installed.
    pub(crate) fn new(list: &[u8], exists: &dyn Fn(&str) -> bool) -> Self {
        let code_page = CodePage::of_list(list, exists);
        let read = code_page.lines(list);
        let as_unicode = |encoding: &'static Encoding, mark: usize| -> Vec<String> {
            let text = encoding.decode_without_bom_handling(&list[mark..]).0;
            lines(&text).map(str::to_owned).collect()
        };
        let (meant, flaw) = match Encoding::for_bom(list) {
            Some((encoding, mark)) if encoding == UTF_8 => {
                (as_unicode(encoding, mark), "begins with a byte order mark (BOM), so the first line is lost")
            }
            Some((encoding, mark)) => {
                (as_unicode(encoding, mark), "is in UTF-16, which the game cannot read")
            }
            None if !list.is_ascii() && std::str::from_utf8(list).is_ok() => {
                (as_unicode(UTF_8, 0), "is in UTF-8, but the game reads it in the code page of Windows")
            }
            None => (read.clone(), ""),
        };
        let is_read = |line: &String| read.iter().any(|it| same(name_of(it), name_of(line)));
        // The game reads all it needs, also if an editor shows other letters.
        let is_lost = meant.iter().any(|line| !is_read(line) && exists(name_of(line)));
        if is_lost && !flaw.is_empty() {
            Self { lines: read, meant, flaw: Some(flaw), code_page }
        } else {
            Self { meant: read.clone(), lines: read, flaw: None, code_page }
        }
    }

    /// The last line that names a plugin, which counts.
    pub(crate) fn line(&self, plugin: &str) -> Option<PluginLine> {
        let has_name = |line: &&String| same(name_of(line), plugin);
        let line = self.meant.iter().rev().find(has_name)?;
        let is_read = self.lines.iter().any(|it| has_name(&it));
        Some(PluginLine { has_star: line.starts_with('*'), is_read })
    }
}

#[cfg(test)]
mod tests {
    use super::{CodePage, PluginLine, ReadList};

    #[test]
    fn a_list_in_unicode_has_a_flaw_if_the_game_loses_a_plugin() {
        let exists = |name: &str| ["Ähre.esp", "A.esp"].contains(&name);
        let lost = Some(PluginLine { has_star: true, is_read: false });
        let utf16: Vec<u8> = "\u{feff}*A.esp\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (list, plugin, flaw) in [
            (b"\xef\xbb\xbf*A.esp\r\n".to_vec(), "a.ESP", "byte order mark"),
            (utf16, "A.esp", "UTF-16"),
            ("*Ähre.esp\r\n".as_bytes().to_vec(), "Ähre.esp", "UTF-8"),
        ] {
            let read = ReadList::new(&list, &exists);
            assert_eq!(read.line(plugin), lost, "{flaw}");
            assert!(read.flaw.is_some_and(|it| it.contains(flaw)), "{flaw}");
        }
        for list in [&b"\xc4hre.esp\r\n*A.esp"[..], b"\xef\xbb\xbf# x\r\n*A.esp\r\n", b"*A.esp\nA.esp"] {
            assert_eq!(ReadList::new(list, &exists).flaw, None);
        }
        let off = ReadList::new(b"*A.esp\nA.esp\n", &exists).line("A.esp");
        assert_eq!(off, Some(PluginLine { has_star: false, is_read: true }), "the last line counts");
    }

    /// The lines of a list if these plugins exist.
    fn read(list: &[u8], plugins: &[&str]) -> Vec<String> {
        CodePage::of_list(list, &|name| plugins.contains(&name)).lines(list)
    }

    #[test]
    fn a_list_is_read_in_the_code_page_in_which_its_plugins_exist() {
        // "Мод.esp" in windows-1251 is "Ìîä.esp" in windows-1252.
        let russian = b"*\xcc\xee\xe4.esp\r\n*A.esp\r\n";
        assert_eq!(read(russian, &["Мод.esp", "A.esp"]), ["*Мод.esp", "*A.esp"]);
        assert_eq!(read(russian, &["Ìîä.esp", "Мод.esp", "A.esp"]), ["*Ìîä.esp", "*A.esp"]);
        assert_eq!(read(russian, &["A.esp"]), ["*Ìîä.esp", "*A.esp"], "windows-1252 is the default");
        // In shift_jis the second byte of a letter may be a backslash.
        assert_eq!(read(b"\x83\x5c\x83\x68.esp", &["ソド.esp"]), ["ソド.esp"]);
        let utf8 = "*Größe.esp".as_bytes();
        assert_eq!(read(utf8, &["Größe.esp"]), ["*GrÃ¶ÃŸe.esp"], "games read no UTF-8");
    }

    #[test]
    fn a_master_in_another_code_page_is_decoded_again() {
        let page = CodePage::of_list(b"\xcc\xee\xe4.esp", &|name| name == "Мод.esp");
        let stored: String = encoding_rs::WINDOWS_1252.decode(b"\xcc\x81\x98\xe4.esm").0.into_owned();
        assert_eq!(page.recoded(&stored), encoding_rs::WINDOWS_1251.decode(b"\xcc\x81\x98\xe4.esm").0);
        assert_eq!(CodePage::default().recoded("Größe.esm"), "Größe.esm");
    }
}
