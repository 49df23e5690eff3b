//! Paths in the form that the hash functions take: split into folder and file, and folded, without
//! separators at either end.

/// A file's path, split at its last separator.
#[derive(Clone, Copy)]
pub(super) struct Path<'a> {
    pub(super) parent: Folder<'a>,
    /// The name after the last separator, not folded.
    pub(super) name: &'a [u8],
}

impl<'a> Path<'a> {
    pub(super) fn new(folder: &'a [u8], file: &'a [u8]) -> Self {
        let (outer, file) = (trim(folder), trim(file));
        match file.iter().rposition(|&byte| is_separator(byte)).and_then(|at| file.split_at_checked(at)) {
            None => Self { parent: Folder { outer, inner: &[] }, name: file },
            Some((inner, name)) => {
                Self { parent: Folder { outer, inner }, name: name.get(1..).unwrap_or_default() }
            }
        }
    }
}

/// A folder's path in two parts, either of which may be empty.
#[derive(Clone, Copy)]
pub(super) struct Folder<'a> {
    pub(super) outer: &'a [u8],
    pub(super) inner: &'a [u8],
}

impl<'a> Folder<'a> {
    /// The folded bytes of the path.
    pub(super) fn bytes(self) -> impl Iterator<Item = u8> + 'a {
        self.outer.iter().chain(self.separator()).chain(self.inner).map(|&byte| fold(byte))
    }

    pub(super) fn len(self) -> usize {
        self.outer.len().saturating_add(self.separator().len()).saturating_add(self.inner.len())
    }

    fn separator(self) -> &'static [u8] {
        if self.outer.is_empty() || self.inner.is_empty() { b"" } else { b"\\" }
    }
}

/// Folds a byte as the games do before they hash it.
pub(super) fn fold(byte: u8) -> u8 {
    if byte == b'/' { b'\\' } else { byte.to_ascii_lowercase() }
}

fn is_separator(byte: u8) -> bool {
    byte == b'\\' || byte == b'/'
}

/// `path` without separators at either end.
pub(super) fn trim(mut path: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = path
        && is_separator(*first)
    {
        path = rest;
    }
    while let [rest @ .., last] = path
        && is_separator(*last)
    {
        path = rest;
    }
    path
}

/// Splits a file's name at its last dot into the stem, and the extension with the dot. Without a
/// dot, the whole name is the stem.
pub(super) fn stem_and_extension(name: &[u8]) -> (&[u8], &[u8]) {
    let dot = name.iter().rposition(|&byte| byte == b'.').unwrap_or(name.len());
    name.split_at_checked(dot).unwrap_or((name, &[]))
}
