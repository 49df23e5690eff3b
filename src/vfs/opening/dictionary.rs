//! Names for files whose archive stores only their hash. They come from lists of paths and from other layers.

use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::format::encoding::Encoding;
use crate::limits::NAMES_TEXT_MAX;
use crate::shown::Shown;
use crate::system::text::count;
use crate::system::whole_file;
use crate::tree::{Dictionary, TooManyPaths};
use crate::vfs::error::OpenError;

/// Reads all lists into one dictionary, with names in the archives' code page.
pub(crate) fn read(lists: &[PathBuf], encoding: Encoding) -> Result<Dictionary, OpenError> {
    let mut dictionary = Dictionary::new(encoding);
    lists.iter().try_for_each(|path| add_list(&mut dictionary, path))?;
    Ok(dictionary)
}

/// Adds the paths in a list to a dictionary.
pub(crate) fn add_list(dictionary: &mut Dictionary, path: &Path) -> Result<(), OpenError> {
    // The daemon reads lists again on a reload, when nothing would be left in a pipe.
    let text = whole_file::read(path, NAMES_TEXT_MAX).map_err(|error| match error.kind() {
        ErrorKind::FileTooLarge => OpenError::too_large(path, TooManyPaths),
        _ if is_pipe(path) => OpenError::not_found(path, "it is a pipe; write the list to a file first"),
        _ => OpenError::unreadable(path, error),
    })?;
    let skipped = dictionary.add(&text).map_err(|error| OpenError::too_large(path, error))?;
    if skipped > 0 {
        log::warn!(
            "{}: {} skipped: not valid UTF-8, or with characters that {} lacks",
            path.shown(),
            count(skipped, "line"),
            dictionary.encoding().name()
        );
    }
    Ok(())
}

fn is_pipe(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo())
}

/// Number of bytes of paths that are added at once.
const LIST_MAX: usize = 1 << 20;

/// Adds paths, with either separator, to a dictionary until it is full. Skipped paths are harmless:
/// they name no file.
pub(crate) fn add_paths(
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
