//! Names that some layers have for files of which others store only the hash: with them, such a file is listed, wins and is
//! hidden like any other.

use crate::tree::{Dictionary, TooManyPaths};

/// Bytes of paths that are added at once.
const LIST_MAX: usize = 1 << 20;

/// Adds paths, with either separator, to a dictionary until it is full. Those that it does not take merely name no file.
pub(crate) fn add(
    dictionary: &mut Dictionary,
    paths: impl Iterator<Item = Vec<u8>>,
) -> Result<(), TooManyPaths> {
    let mut list = Vec::new();
    for path in paths.filter(|path| !path.contains(&b'\n')) {
        list.extend_from_slice(&path);
        list.push(b'\n');
        if list.len() >= LIST_MAX {
            dictionary.add(&list)?;
            list.clear();
        }
    }
    dictionary.add(&list).map(|_| ())
}
