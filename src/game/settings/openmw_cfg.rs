//! A settings file of OpenMW, and how its values become paths.

use std::path::{Path, PathBuf};

use super::text::decode_utf8;

/// File name of every OpenMW settings file.
pub const OPENMW_CFG: &str = "openmw.cfg";

/// Folders for the tokens with which paths in settings may begin.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// `?local?`: the folder of the first file.
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
    /// Keys and values in file order, up to the first section.
    lines: Vec<(String, String)>,
    section: Option<String>,
}

impl Cfg {
    /// Parses a file. Lines that are not settings are left out.
    pub fn parse(folder: &Path, bytes: &[u8]) -> Self {
        let (mut lines, mut section) = (Vec::new(), None);
        for line in decode_utf8(bytes).lines().map(str::trim).filter(|line| !line.starts_with('#')) {
            // A section's name becomes a part of every key that follows, and no setting has such a key.
            if line.starts_with('[') && line.ends_with(']') {
                section = Some(line.to_owned());
                break;
            }
            if let Some((key, value)) = line.split_once('=') {
                lines.push((key.trim().to_owned(), unquoted(value.trim())));
            }
        }
        Self { folder: folder.to_owned(), lines, section }
    }

    /// The values of a key, in file order.
    pub fn values<'a>(&'a self, key: &'a str) -> impl DoubleEndedIterator<Item = &'a str> {
        self.lines.iter().filter(move |(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// Whether the file discards the values that lower files give a key.
    pub(crate) fn replaces(&self, key: &str) -> bool {
        self.values("replace").any(|value| value == key)
    }

    /// The path that a value means.
    pub fn path(&self, value: &str, places: &Places) -> PathBuf {
        let tokens = [
            ("?local?", &places.local),
            ("?userconfig?", &places.user_config),
            ("?userdata?", &places.user_data),
            ("?global?", &places.global),
        ];
        let of_token = tokens
            .into_iter()
            .find_map(|(token, place)| Some(place.join(value.strip_prefix(token)?.trim_start_matches('/'))));
        let path = normal(&of_token.unwrap_or_else(|| self.folder.join(value)));
        match (path.strip_prefix("/app"), &places.app) {
            (Ok(within), Some(app)) => app.join(within),
            _ => path,
        }
    }

    /// The first section that the file begins. The settings after it have no effect.
    pub fn section(&self) -> Option<&str> {
        self.section.as_deref()
    }
}

/// Removes quotes, in which `&` escapes a letter. Text after the closing quote is ignored.
fn unquoted(value: &str) -> String {
    let Some(quoted) = value.strip_prefix('"') else { return value.to_owned() };
    let (mut plain, mut letters) = (String::new(), quoted.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '&' => plain.extend(letters.next()),
            _ => plain.push(letter),
        }
    }
    plain
}

/// Removes `.` and `..` from a path without following links, as OpenMW does.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => drop(normal.pop()),
            _ => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{Cfg, Places, unquoted};

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
        let places = Places { app, user_data: "/app/data".into(), ..Places::default() };
        for (value, path) in [
            ("/app/share/resources", "/flatpak/files/share/resources"),
            ("/application", "/application"),
            ("?userdata?x", "/flatpak/files/data/x"),
            ("./x", "/flatpak/files/etc/openmw/x"),
        ] {
            assert_eq!(cfg.path(value, &places), Path::new(path), "{value}");
        }
        assert_eq!(cfg.path("/app/share", &Places::default()), Path::new("/app/share"));
    }

    #[test]
    fn quotes_escape_and_end_a_value() {
        assert_eq!(unquoted("\"a && &\"b&\"\" ignored"), "a & \"b\"");
        assert_eq!(unquoted("plain \"x\""), "plain \"x\"");
    }
}
