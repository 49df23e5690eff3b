//! Names for files whose archive stores only their hash. They come from lists of paths and from other layers.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;

use super::error::OpenError;
use crate::format::encoding::Encoding;
use crate::system::text::count;
use crate::tree::{Dictionary, TooManyPaths};

/// Reads all lists into one dictionary, with names in the archives' code page.
pub(crate) fn read(lists: &[PathBuf], encoding: Encoding) -> Result<Dictionary, OpenError> {
    let mut dictionary = Dictionary::new(encoding);
    for path in lists {
        // Reading a pipe would block until another process writes to it. The daemon reads lists
        // again on a reload, when nothing would be left in the pipe.
        if std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo()) {
            let what = "it is a pipe; write the list to a file first";
            return Err(OpenError::not_found(path, what));
        }
        let mut text = Vec::new();
        File::open(path)
            .and_then(|file| file.take(Dictionary::TEXT_MAX as u64 + 1).read_to_end(&mut text))
            .map_err(|error| OpenError::unreadable(path, error))?;
        let skipped = match text.len() > Dictionary::TEXT_MAX {
            true => Err(TooManyPaths),
            false => dictionary.add(&text),
        };
        let skipped = skipped.map_err(|error| OpenError::too_large(path, error))?;
        if skipped > 0 {
            log::warn!(
                "{}: {} skipped: not valid UTF-8, or with characters that {} lacks",
                path.display(),
                count(skipped, "line"),
                encoding.name()
            );
        }
    }
    Ok(dictionary)
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
