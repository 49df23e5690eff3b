//! The code page in which a game reads its list of plugins.
//!
//! Wine takes it from the user's locale, which bsafs cannot know: the game may have run with another one.
//! So the code page is the one in which the names of the list exist.

use encoding_rs::{
    BIG5, EUC_KR, Encoding, GBK, SHIFT_JIS, WINDOWS_874, WINDOWS_1250, WINDOWS_1251, WINDOWS_1252,
    WINDOWS_1253, WINDOWS_1254, WINDOWS_1255, WINDOWS_1256, WINDOWS_1257, WINDOWS_1258,
};

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

#[cfg(test)]
mod tests {
    use super::CodePage;

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
