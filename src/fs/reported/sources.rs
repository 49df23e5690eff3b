//! The sources of a mount, as other processes read them from it.

use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::system::paths;
use serde::{Deserialize, Serialize};

use crate::note::NoteSummary;

/// A source as the user named it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct MountedSource {
    /// The absolute path, or the id of a game. Bytes that are not UTF-8 are replaced.
    pub path: String,
    /// Identifies the source: the path without links, if a file was there. `%` and bytes that are
    /// not UTF-8 are written `%XX`, so that different paths differ.
    pub identity: String,
}

/// The sources of a mount, and how they were opened.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct MountedSources {
    /// The sources, in load order.
    pub sources: Vec<MountedSource>,
    /// The options of the command line, as after `-o`. Those of profiles are not among them.
    pub options: String,
    /// The folder of the Mod Organizer 2 profile that was read. Bytes that are not UTF-8 are replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// What is odd about the sources or was left out of them, one for each code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub odd: Vec<NoteSummary>,
}

impl MountedSources {
    /// Formats the sources as one line of JSON.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl MountedSource {
    /// Creates a source for a file or folder. Call this before the mount, because links in the path
    /// are followed.
    pub fn file(path: &Path) -> Self {
        let absolute: PathBuf = paths::absolute(path).unwrap_or_else(|_| path.to_owned());
        let resolved = absolute.canonicalize();
        let identity = encoded(resolved.as_ref().unwrap_or(&absolute));
        Self { path: absolute.to_string_lossy().into_owned(), identity }
    }

    /// Creates a source that is named without a path.
    pub fn named(name: &str) -> Self {
        Self { path: name.to_owned(), identity: name.to_owned() }
    }

    /// Whether both are the same file or game. If a mount has covered one in the meantime, its
    /// links can no longer be followed, and the path as named decides.
    pub fn is_same(&self, other: &Self) -> bool {
        self.identity == other.identity
    }

    /// The path or the id to open it by. The path is that of the user, unless that has bytes that are not
    /// UTF-8.
    pub(crate) fn to_open(&self) -> PathBuf {
        if self.path.contains(char::REPLACEMENT_CHARACTER) {
            PathBuf::from(OsString::from_vec(decoded(&self.identity)))
        } else {
            PathBuf::from(&self.path)
        }
    }
}

/// Encodes a path as text. Different paths differ in the text, and most text stays readable.
fn encoded(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        text.push_str(&chunk.valid().replace('%', "%25"));
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// Decodes what [`encoded`] wrote.
fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| byte == b'%').and_then(|it| std::str::from_utf8(it).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(escaped) => {
                bytes.push(escaped);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn paths_with_different_non_utf_8_bytes_stay_different() {
        let path = |bytes: &[u8]| encoded(Path::new(OsStr::from_bytes(bytes)));
        assert_eq!(path(b"/a b/\xe4\xf6.bsa"), "/a b/%E4%F6.bsa");
        assert_ne!(path(b"/\xe4.bsa"), path(b"/\xf6.bsa"));
        assert_ne!(path(b"/\xe4.bsa"), path(b"/%E4.bsa"));
        assert_eq!(path("/gr\u{f6}\u{df}e.bsa".as_bytes()), "/gr\u{f6}\u{df}e.bsa");
    }

    #[test]
    fn a_source_whose_path_is_not_utf_8_can_be_opened_again() {
        for path in [&b"/no such/\xe4%41 b.bsa"[..], b"/no such/a%41%zz.bsa", b"/no such/%"] {
            let path = Path::new(OsStr::from_bytes(path));
            assert_eq!(MountedSource::file(path).to_open(), path);
        }
        assert_eq!(MountedSource::named("skyrim").to_open(), Path::new("skyrim"));
    }

    #[test]
    fn a_file_reached_through_a_link_is_the_same_source() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("a.bsa"), "").unwrap();
        std::fs::write(path("b.bsa"), "").unwrap();
        symlink(dir.path(), path("link")).unwrap();
        let (a, b) = (MountedSource::file(&path("a.bsa")), MountedSource::file(&path("b.bsa")));
        let through_link = MountedSource::file(&path("link/a.bsa"));
        assert!(a.is_same(&through_link) && !a.is_same(&b));
        assert_eq!(through_link.path, path("link/a.bsa").to_string_lossy());
        assert!(!MountedSource::named("skyrim").is_same(&MountedSource::file(Path::new("skyrim"))));
    }
}
