//! Chooses a file's name among the possible readings of its bytes: the one that has the hash of its record.
//!
//! Packers make mistakes with lengths and NULs, so that a table of names can be read in several ways. The
//! hash shows which one is right. If it fits none, the plain reading stays, because hashes are wrong as
//! often as names. Bytes of a file's data never become a name that no hash proves.

use std::sync::Arc;

use super::hash::{Family, Hash};
use crate::read::Reader;

/// The names of an archive's files, in the order of its records.
#[derive(Clone, Debug)]
pub(super) enum Names<'a> {
    /// As they follow each other in a table.
    Table(Reader<'a>),
    /// Chosen one by one, because the table is odd. `None` for a file whose name is missing.
    Chosen(Arc<[Option<&'a [u8]>]>),
}

impl<'a> Names<'a> {
    /// Walks the names. `read` reads one from a table. A table that ends early has no more names.
    pub(super) fn walk(
        &self,
        mut read: impl FnMut(&mut Reader<'a>) -> Option<&'a [u8]>,
    ) -> impl Iterator<Item = Option<&'a [u8]>> {
        let names = self.clone();
        let mut at = 0_usize;
        let mut rest = match &names {
            Self::Table(table) => table.clone(),
            Self::Chosen(_) => Reader::empty(),
        };
        std::iter::from_fn(move || {
            let name = match &names {
                Self::Chosen(all) => all.get(at).copied().flatten(),
                Self::Table(_) => read(&mut rest).or_else(|| {
                    // The bytes after a truncated name are not a name.
                    rest = Reader::empty();
                    None
                }),
            };
            at = at.saturating_add(1);
            Some(name.filter(|name| !name.is_empty()))
        })
    }
}

/// Whether a record's hash is that of this name. Of TES4, only the hash of the file counts; of BA2, only that
/// of the stem, because some packers store the extension in upper case.
pub(super) fn proves(family: Family, hash: &Hash, name: &[u8]) -> bool {
    // Some packers write hashes of 0, which prove nothing.
    if name.is_empty() || hash.file == 0 {
        return false;
    }
    match family {
        Family::Fo4 => family.of(b"", name).file >> 32 == hash.file >> 32,
        _ => family.candidates(b"", name).any(|it| it.file == hash.file),
    }
}

/// A name without the NULs that its length counts by mistake, if that `is_proved`: without the NULs at the
/// end, or without all from the first NUL on.
pub(super) fn unpadded(name: &[u8], is_proved: impl Fn(&[u8]) -> bool) -> &[u8] {
    let Some(first_nul) = name.iter().position(|&byte| byte == 0) else { return name };
    let end = name.iter().rposition(|&byte| byte != 0).map_or(0, |last| last.saturating_add(1));
    let readings = [first_nul, end].map(|end| name.get(..end).unwrap_or(name));
    readings.into_iter().find(|reading| is_proved(reading)).unwrap_or(name)
}

/// The longest beginning of `bytes` that the hash proves, shorter than `bytes`. `trials` bounds how many
/// beginnings are tried in all calls.
pub(super) fn proved_beginning<'a>(
    family: Family,
    hash: &Hash,
    bytes: &'a [u8],
    trials: &mut usize,
) -> Option<&'a [u8]> {
    let longest = bytes.len().min(NAME_MAX);
    *trials = trials.checked_sub(longest)?;
    (1..longest).rev().filter_map(|len| bytes.get(..len)).find(|name| proves(family, hash, name))
}

/// Length of the longest name that the games' own packers hash, in bytes.
const NAME_MAX: usize = 260;

/// How many beginnings of names [`proved_beginning`] may try in one archive.
pub(super) const TRIALS: usize = 1 << 18;
