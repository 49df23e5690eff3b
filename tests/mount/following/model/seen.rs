//! What a mount shows at one moment, and how it differs from what another shows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

use super::changes::other_case;

/// What a path leads to, or the errno.
pub(super) type Found = Result<Node, i32>;

/// A file or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) modified: SystemTime,
    pub(super) kind: Kind,
}

#[derive(Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// The names in it.
    Folder(Vec<String>),
    /// Its size, and its bytes or the errno of reading them.
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

/// What a mount shows.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// By path; the root is the empty one. Those in listings, and those that were asked for.
    pub(super) nodes: BTreeMap<String, Found>,
    /// Inode numbers of those that are there.
    pub(super) numbers: BTreeMap<String, u64>,
    /// Paths that listings lead to.
    pub(super) listed: BTreeSet<String>,
}

impl Seen {
    /// Walks a mount, then asks for further paths.
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

    /// The paths with their other spellings, all of which a later look asks for.
    pub(super) fn spellings(&self) -> impl Iterator<Item = String> {
        self.listed.iter().flat_map(|path| [path.clone(), path.to_ascii_uppercase(), other_case(path)])
    }

    /// How this differs from what is right. `newest` is the time that the other shows of folders which only archives have; `loose`
    /// are some that others have, too.
    pub(super) fn differences(
        &self,
        right: &Self,
        newest: Option<SystemTime>,
        loose: &[&str],
    ) -> Vec<String> {
        let paths: BTreeSet<&String> = self.nodes.keys().chain(right.nodes.keys()).collect();
        let is_same = |path: &str| match (self.nodes.get(path), right.nodes.get(path)) {
            // When they were last changed is not what a mount made now knows.
            (Some(Ok(ours)), Some(Ok(other))) if Some(other.modified) == newest && !loose.contains(&path) => {
                ours.kind == other.kind && matches!(ours.kind, Kind::Folder(_)) || ours == other
            }
            (ours, other) => ours == other,
        };
        let describe = |path: &String| {
            format!("{path:?}: {:?}, and not {:?}", self.nodes.get(path), right.nodes.get(path))
        };
        paths.into_iter().filter(|path| !is_same(path)).map(describe).collect()
    }
}

/// The inode number of what a path leads to, and what it is.
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
