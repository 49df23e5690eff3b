//! The path that an archive stores for a file, as text.

use crate::format::Name;
use crate::format::encoding::Encoding;

/// A whole stored name as text with `/` between folders; `None` where it has no text in the code page.
pub(crate) fn stored_path(name: &Name<'_>, encoding: Encoding) -> Option<String> {
    let (folder, file) = name.parts()?;
    let parts = [encoding.decode(folder)?, encoding.decode(file)?];
    let pieces = parts.iter().flat_map(|part| part.split(['/', '\\']));
    Some(pieces.filter(|piece| !matches!(*piece, "" | ".")).collect::<Vec<_>>().join("/"))
}
