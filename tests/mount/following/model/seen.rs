//! What a mount shows at one moment, and how that differs from what another mount shows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

use super::changes::other_case;

/// What a path leads to, or the errno.
pub(super) type Found = Result<Node, i32>;

/// A file or folder, and its mtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) modified: SystemTime,
    pub(super) kind: Kind,
}

#[derive(Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// A folder with these names in it.
    Folder(Vec<String>),
    /// A file with its size, and its bytes or the errno of reading them.
    File(u64, Result<Vec<u8>, i32>),
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Folder(names) => write!(f, "folder of {names:?}"),
            Self::File(size, Ok(bytes)) => {
                let first = String::from_utf8_lossy(&bytes[..bytes.len().min(12)]);
                write!(f, "file of {size} bytes, {} are read: {first:?}", bytes.len())
            }
            Self::File(size, Err(errno)) => write!(f, "file of {size} bytes, errno {errno}"),
        }
    }
}

/// What a mount shows at one moment.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// What each path leads to, for the paths in listings and those that were asked for. The root
    /// is the empty path.
    pub(super) nodes: BTreeMap<String, Found>,
    /// Inode numbers of the paths that lead to a file or folder.
    pub(super) numbers: BTreeMap<String, u64>,
    /// Paths that listings show.
    pub(super) listed: BTreeSet<String>,
}

impl Seen {
    /// Walks a mount, then looks up the further paths in `asked`.
    pub(super) fn of(root: &Path, asked: &BTreeSet<String>) -> Self {
        let mut seen = Self::default();
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            seen.look(root, &folder);
            let names = match seen.nodes.get(&folder) {
                Some(Ok(Node { kind: Kind::Folder(names), .. })) => names.clone(),
                _ => Vec::new(),
            };
            seen.listed.insert(folder.clone());
            folders.extend(names.into_iter().map(|name| match folder.as_str() {
                "" => name,
                _ => format!("{folder}/{name}"),
            }));
        }
        for path in asked {
            if !seen.nodes.contains_key(path) {
                seen.look(root, path);
            }
        }
        seen
    }

    fn look(&mut self, root: &Path, path: &str) {
        let found = look(&root.join(path)).map_err(|error| error.raw_os_error().unwrap());
        if let Ok((number, _)) = found {
            self.numbers.insert(path.to_owned(), number);
        }
        self.nodes.insert(path.to_owned(), found.map(|(_, node)| node));
    }

    /// All listed paths and their other spellings, for later lookups.
    pub(super) fn spellings(&self) -> impl Iterator<Item = String> {
        self.listed.iter().flat_map(|path| [path.clone(), path.to_ascii_uppercase(), other_case(path)])
    }

    /// Describes how this differs from what a fresh mount shows. A fresh mount shows the time
    /// `newest` for folders that only archives have. Folders in `loose` exist on the disk, too.
    pub(super) fn differences(
        &self,
        right: &Self,
        newest: Option<SystemTime>,
        loose: &[&str],
    ) -> Vec<String> {
        let paths: BTreeSet<&String> = self.nodes.keys().chain(right.nodes.keys()).collect();
        let is_same = |path: &str| match (self.nodes.get(path), right.nodes.get(path)) {
            // A fresh mount does not know when such a folder changed, so its time is not compared.
            (Some(Ok(ours)), Some(Ok(other))) if Some(other.modified) == newest && !loose.contains(&path) => {
                ours.kind == other.kind && matches!(ours.kind, Kind::Folder(_)) || ours == other
            }
            (ours, other) => ours == other,
        };
        let describe = |path: &String| {
            format!("{path:?}: {:?}, expected {:?}", self.nodes.get(path), right.nodes.get(path))
        };
        paths.into_iter().filter(|path| !is_same(path)).map(describe).collect()
    }
}

/// What a path leads to, and its inode number.
fn look(path: &Path) -> io::Result<(u64, Node)> {
    let metadata = fs::symlink_metadata(path)?;
    let kind = if metadata.is_dir() {
        let names = fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().into_string().unwrap()));
        let mut names = names.collect::<io::Result<Vec<String>>>()?;
        names.sort();
        Kind::Folder(names)
    } else {
        Kind::File(metadata.len(), fs::read(path).map_err(|error| error.raw_os_error().unwrap()))
    };
    Ok((metadata.ino(), Node { modified: metadata.modified()?, kind }))
}
