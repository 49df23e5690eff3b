//! The sources of a mount, as other processes read them from it.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A source as the user named it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct MountedSource {
    /// The absolute path, or the id of a game. Bytes that are not UTF-8 are replaced.
    pub path: String,
    /// Identifies the source: the path without links, if a file was there. `%` and bytes that are
    /// not UTF-8 are written `%XX`, so that different paths differ.
    pub identity: String,
}

impl MountedSource {
    /// Creates a source for a file or folder. Call this before the mount, because links in the path
    /// are followed.
    pub fn file(path: &Path) -> Self {
        let absolute: PathBuf = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
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

    /// Formats sources as one line of JSON.
    pub(crate) fn to_json(sources: &[Self]) -> String {
        serde_json::to_string(sources).unwrap_or_default()
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
