//! A settings file of OpenMW, and how its values become paths.

use std::path::{Path, PathBuf};

use encoding_rs::UTF_8;

use crate::shown::excerpt;

/// File name of every OpenMW settings file. On Linux, OpenMW finds no other spelling.
pub const OPENMW_CFG: &str = "openmw.cfg";

/// Folders for the tokens with which paths in settings may begin.
#[derive(Clone, Debug, Default)]
pub struct OpenmwFolders {
    /// `?local?`: the folder of the program.
    pub local: PathBuf,
    /// `?userconfig?`.
    pub user_config: PathBuf,
    /// `?userdata?`.
    pub user_data: PathBuf,
    /// `?global?`.
    pub global: PathBuf,
    /// The folder that OpenMW sees as `/app`, if it runs as a flatpak.
    pub app: Option<PathBuf>,
}

/// One settings file.
#[derive(Clone, Debug, Default)]
pub struct Cfg {
    /// The folder that contains the file.
    pub folder: PathBuf,
    /// Values with their keys in file order, up to the first section. Settings of no use to a plan, the most
    /// by far, are left out.
    lines: Vec<(&'static str, String)>,
    section: Option<String>,
    fatal: Option<String>,
}

/// Number of bytes as which each value counts in addition.
const VALUE_COST: usize = 64;

/// The settings that a plan uses.
const USED: [&str; 9] = [
    "data",
    "data-local",
    "config",
    "resources",
    "content",
    "groundcover",
    "fallback-archive",
    "replace",
    "user-data",
];

/// Settings whose values are paths. Only these may be in quotes.
const PATHS: [&str; 5] = ["data", "data-local", "config", "resources", "user-data"];

impl Cfg {
    /// Parses a file. Lines that are not settings are left out.
    pub fn parse(folder: &Path, bytes: &[u8]) -> Self {
        let mut cfg = Self { folder: folder.to_owned(), ..Self::default() };
        // OpenMW takes a byte order mark as a part of the first key, so that line has no effect.
        let text = UTF_8.decode_without_bom_handling(bytes).0;
        for line in text.split('\n').map(trimmed).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            // A section's name becomes a part of every key that follows, and no setting has such a key.
            if line.starts_with('[') && line.ends_with(']') {
                cfg.section = Some(excerpt(line).into_owned());
                break;
            }
            let Some((key, value)) = line.split_once('=') else {
                cfg.fatal.get_or_insert_with(|| excerpt(line).into_owned());
                continue;
            };
            let (key, value) = (trimmed(key), trimmed(value));
            let Some(key) = USED.into_iter().find(|used| *used == key) else { continue };
            if PATHS.contains(&key) && unquoted(value).is_none() {
                cfg.fatal.get_or_insert_with(|| excerpt(line).into_owned());
                continue;
            }
            cfg.lines.push((key, value.to_owned()));
        }
        cfg
    }

    /// The values of a key, in file order, as they are written.
    pub fn values<'a>(&'a self, key: &'a str) -> impl DoubleEndedIterator<Item = &'a str> {
        self.lines.iter().filter(move |(name, _)| *name == key).map(|(_, value)| value.as_str())
    }

    /// What the kept values take: their bytes, and more for each.
    pub(crate) fn cost(&self) -> usize {
        self.lines.iter().map(|(_, value)| value.len() + VALUE_COST).sum()
    }

    /// Whether the file discards the values that lower files give a key.
    pub(crate) fn replaces(&self, key: &str) -> bool {
        self.values("replace").any(|value| value == key)
    }

    /// The path that a value means, as OpenMW spells it: `.`, `..` and slashes at its end stay.
    pub fn path(&self, value: &str, places: &OpenmwFolders) -> PathBuf {
        let value = unquoted(value).unwrap_or_default();
        let tokens = [
            ("?local?", &places.local),
            ("?userconfig?", &places.user_config),
            ("?userdata?", &places.user_data),
            ("?global?", &places.global),
        ];
        // An absolute path after a token replaces it: `?userdata?/data` is `/data`.
        let of_token =
            tokens.into_iter().find_map(|(token, place)| Some(place.join(value.strip_prefix(token)?)));
        let path = of_token.unwrap_or_else(|| self.folder.join(value));
        match (path.strip_prefix("/app"), &places.app) {
            (Ok(within), Some(app)) => app.join(within),
            _ => path,
        }
    }

    /// The first section that the file begins. The settings after it have no effect.
    pub fn section(&self) -> Option<&str> {
        self.section.as_deref()
    }

    /// The first line with which OpenMW does not start.
    pub(crate) fn fatal(&self) -> Option<&str> {
        self.fatal.as_deref()
    }
}

/// Removes the blanks that OpenMW removes.
fn trimmed(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\r'])
}

/// Removes quotes, in which `&` escapes a letter. OpenMW ignores text after the closing quote. `None` if that
/// is missing.
fn unquoted(value: &str) -> Option<String> {
    let Some(quoted) = value.strip_prefix('"') else { return Some(value.to_owned()) };
    let (mut plain, mut letters) = (String::new(), quoted.chars());
    loop {
        match letters.next()? {
            '"' => return Some(plain),
            '&' => plain.push(letters.next()?),
            letter => plain.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{Cfg, OpenmwFolders, unquoted};

    #[test]
    fn settings_after_a_section_line_have_no_effect() {
        let text = b"data=/a\n# [no section]\n[half\ndata=/b\n  [Mods] \ndata=/c\n[]\ncontent=A.esp\n";
        let cfg = Cfg::parse(Path::new("/cfg"), text);
        assert_eq!(cfg.values("data").collect::<Vec<_>>(), ["/a", "/b"]);
        assert_eq!((cfg.values("content").count(), cfg.section()), (0, Some("[Mods]")));
    }

    #[test]
    fn app_is_the_folder_of_the_flatpak_in_every_path() {
        let cfg = Cfg::parse(Path::new("/flatpak/files/etc/openmw"), b"");
        let app = Some(PathBuf::from("/flatpak/files"));
        let places = OpenmwFolders { app, user_data: "/app/data".into(), ..OpenmwFolders::default() };
        for (value, path) in [
            ("/app/share/resources", "/flatpak/files/share/resources"),
            ("/application", "/application"),
            ("?userdata?x", "/flatpak/files/data/x"),
            ("./x", "/flatpak/files/etc/openmw/x"),
        ] {
            assert_eq!(cfg.path(value, &places), Path::new(path), "{value}");
        }
        assert_eq!(cfg.path("/app/share", &OpenmwFolders::default()), Path::new("/app/share"));
    }

    #[test]
    fn quotes_escape_and_end_a_path_and_are_a_part_of_a_name() {
        let plain = |value| unquoted(value).unwrap();
        assert_eq!(plain("\"a && &\"b&\"\" ignored"), "a & \"b\"");
        assert_eq!(plain("plain \"x\""), "plain \"x\"");
        let cfg = Cfg::parse(Path::new("/cfg"), b"fallback-archive=\"A.bsa\"\nreplace=\"data\"\n");
        assert_eq!(cfg.values("fallback-archive").collect::<Vec<_>>(), ["\"A.bsa\""]);
        assert!(!cfg.replaces("data"));
    }

    #[test]
    fn an_absolute_path_after_a_token_replaces_the_token() {
        let places = OpenmwFolders { user_data: "/user".into(), ..OpenmwFolders::default() };
        let cfg = Cfg::parse(Path::new("/cfg"), b"");
        assert_eq!(cfg.path("?userdata?/data", &places), Path::new("/data"));
        assert_eq!(cfg.path("\"?userdata?data\"", &places), Path::new("/user/data"));
    }

    #[test]
    fn the_first_line_after_a_byte_order_mark_has_no_effect() {
        let cfg = Cfg::parse(Path::new("/cfg"), b"\xef\xbb\xbfdata=/a\r\ndata=/b\r\n");
        assert_eq!(cfg.values("data").collect::<Vec<_>>(), ["/b"]);
    }

    #[test]
    fn a_line_without_a_key_or_with_an_open_quote_stops_openmw() {
        let fatal = |text: &str| Cfg::parse(Path::new("/cfg"), text.as_bytes()).fatal().map(str::to_owned);
        assert_eq!(fatal("# no = key\n\ncontent=\"A.esp\ndata=/a\"\n"), None);
        assert_eq!(fatal(" nonsense \ndata=\"/a\n"), Some("nonsense".into()));
        assert_eq!(fatal("data=\"/a&\"\n"), Some("data=\"/a&\"".into()));
    }
}
