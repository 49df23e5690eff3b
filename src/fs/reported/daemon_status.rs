//! The daemon's status, as `bsafs status` and the benchmark read it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::answers::NotLookedAt;
use crate::answers::provenance::JSON_MAX;
use crate::note::NoteSummary;
use crate::system::paths;

/// The daemon's status. Counts are since the mount.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct DaemonStatus {
    /// Process ID.
    pub pid: u32,
    /// Version of the program.
    pub version: String,
    /// Whole seconds since the mount.
    pub uptime: u64,
    /// Time of the mount, in seconds since 1970; 0 if the daemon's version does not report it.
    #[serde(default)]
    pub since: u64,
    /// Number of mounted archives.
    pub archives: usize,
    /// Number of archives by the encoding of their names, without those whose names are ASCII.
    #[serde(default)]
    pub encodings: BTreeMap<String, usize>,
    /// Number of mounted folders of loose files.
    #[serde(default)]
    pub folders: usize,
    /// Number of visible files, without those that later layers hide.
    pub files: usize,
    /// The kernel's requests by operation. Requests for this status are counted as `status`.
    pub requests: BTreeMap<String, u64>,
    /// The cache of decoded extents.
    pub cache: CacheStatus,
    /// Bytes decoded from packed extents.
    pub decoded_bytes: u64,
    /// Bytes read from archives and loose files, without the tables of archives.
    pub read_bytes: u64,
    /// Number of reads that failed.
    pub errors: u64,
    /// Number of views that were served before the current one.
    #[serde(default)]
    pub views: u32,
    /// How the last reload went.
    #[serde(default)]
    pub last_reload: LastReload,
    /// How the disk is watched.
    #[serde(default)]
    pub watches: WatchCounts,
    /// Number of names that changed on the disk and are not shown yet.
    #[serde(default)]
    pub pending_names: usize,
}

/// Maximum number of seconds between two checks of a folder for which the user has no watch left.
pub const POLLING_INTERVAL: u32 = 28;
/// Minimum number of folders to check in a second, if there are as many.
const CHECKED_PER_SECOND: usize = 100;

/// Number of seconds between two checks of each of `folders` folders without a watch.
pub fn polling_interval(folders: usize) -> u32 {
    u32::try_from(folders.div_ceil(CHECKED_PER_SECOND)).unwrap_or(u32::MAX).clamp(1, POLLING_INTERVAL)
}

/// How many folders are watched for changes.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct WatchCounts {
    /// Folders whose changes the system reports.
    pub watched: usize,
    /// How many of these are watched because programs use them through the mount.
    #[serde(default)]
    pub used: usize,
    /// Folders that are checked every [`POLLING_INTERVAL`], because the user has no watches left for them.
    pub polled: usize,
    /// Why these have no watch; empty if there are none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why_polled: String,
}

/// The cache of decoded extents.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct CacheStatus {
    /// Bytes in the cache now.
    pub bytes: u64,
    /// Size in bytes beyond which extents are evicted (`--cache-size`).
    pub budget: u64,
    /// Number of reads that found their extent in the cache.
    pub hits: u64,
}

/// How a reload went.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct LastReload {
    /// Number of reloads so far, including those that found no change or failed.
    pub count: u64,
    /// When the last reload ended, in whole seconds since 1970.
    pub at: u64,
    /// What the last reload changed, or why it failed.
    pub what: String,
    /// Whether the last reload failed. The daemon then goes on serving the previous view.
    pub is_failed: bool,
    /// Whether another reload is running.
    #[serde(default)]
    pub is_running: bool,
    /// When the last reload began, or the running one; in whole seconds since 1970.
    #[serde(default)]
    pub began: u64,
}

impl LastReload {
    /// Whether this reload began after another one.
    pub(crate) fn began_after(&self, other: &Self) -> bool {
        // A reload that is running has the count of the last one that ended.
        self.count + u64::from(self.is_running) > other.count + u64::from(other.is_running)
    }
}

impl DaemonStatus {
    /// Formats the status as one line of JSON.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

// The sources of a mount, as other processes read them from it.

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
    /// The commands that mount a writable mount again, which does not follow the disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remount: Option<String>,
    /// The folder of the Mod Organizer 2 profile that was read. Bytes that are not UTF-8 are replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// What is odd about the sources or was left out of them, one for each code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub odd: Vec<NoteSummary>,
    /// What could not be looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_looked_at: Vec<NotLookedAt>,
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

// JSON as the targets of links. A target is limited to the length of a path, so longer JSON is
// split into pages. Only the last page is shorter than the maximum.

/// Length of a page in bytes: the longest target of a link, which is PATH_MAX without the NUL.
pub(crate) const PAGE_LEN: usize = 4095;

/// One page of JSON as the target of a link; `None` beyond the last page.
pub(crate) fn page(mut json: String, number: usize) -> Option<Vec<u8>> {
    if json.len().is_multiple_of(PAGE_LEN) {
        // Keeps the last page shorter than the others, but not empty. JSON may end in blanks.
        json.push(' ');
    }
    json.as_bytes().chunks(PAGE_LEN).nth(number).map(<[u8]>::to_vec)
}

/// Reads JSON by its pages. `read` returns the page with a given number.
///
/// # Errors
/// The error of the first page that cannot be read.
pub fn read_pages<E>(mut read: impl FnMut(usize) -> Result<Vec<u8>, E>) -> Result<String, E> {
    let mut json = Vec::new();
    // bsafs never writes more pages, but another file system could send pages for ever.
    for number in 0..=JSON_MAX / PAGE_LEN {
        let page = read(number)?;
        json.extend_from_slice(&page);
        if page.len() < PAGE_LEN {
            break;
        }
    }
    Ok(String::from_utf8_lossy(json.trim_ascii_end()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::fs::symlink;

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

    #[test]
    fn json_of_any_length_survives_the_split_into_pages() {
        for text in ["{}".to_owned(), "x".repeat(PAGE_LEN), "x".repeat(PAGE_LEN + 1), "aü€".repeat(5000)] {
            let mut asked = 0;
            let read = read_pages(|number| {
                asked += 1;
                let page = page(text.clone(), number).ok_or(())?;
                assert!((1..=4095).contains(&page.len()));
                Ok::<_, ()>(page)
            });
            assert_eq!((read, page(text.clone(), asked)), (Ok(text), None));
        }
        assert_eq!(
            page("{}".into(), 0).as_deref(),
            Some(&b"{}"[..]),
            "a text that fits into one page must not change"
        );
    }
}
