//! Manifests: the SHA-256 of files by their paths, as `list --hash` and `sha256sum` write them.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;

use super::comparison::{Change, Difference, Digests, FileDigest};
use crate::format::encoding::Encoding;
use crate::format::name::component;
use crate::limits::MANIFEST_MAX;
use crate::system::parallel::in_parallel;
use crate::system::text::hex;
use crate::system::{memory, whole_file};
use crate::vfs::file::VfsFile;
use crate::vfs::library::Vfs;
use crate::vfs::patterns::Patterns;

/// The checksums of files, in the order of their lines, with their paths as a tree lists them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    files: Vec<(FileDigest, String)>,
}

/// Why a manifest cannot be used.
#[derive(Debug)]
pub(crate) enum ManifestError {
    Unreadable(io::Error),
    /// The number of a line, counted from 1, and what is wrong with it.
    Line(usize, String),
}

/// Number of hex digits of a checksum.
const DIGITS: usize = 64;
/// What follows the checksum: of text, and of binary files, which are no other on Linux.
const GAPS: [&[u8]; 2] = [b"  ", b" *"];
/// The first character of a line whose path has escapes.
const ESCAPED: u8 = b'\\';

/// The line of a file. With `end` 0, it is as `sha256sum -z` writes it.
pub(crate) fn line(digest: &FileDigest, path: &[u8], end: u8) -> Vec<u8> {
    // No path of a tree has a line break or a backslash, which sha256sum would escape.
    [hex(digest).as_bytes(), GAPS[0], path, &[end]].concat()
}

impl Manifest {
    /// Whether a regular file begins like a manifest.
    pub(crate) fn is_one(path: &Path) -> bool {
        let start = whole_file::read_start(path, 1 + DIGITS + GAPS[0].len());
        start.is_ok_and(|(start, _)| {
            let start = start.strip_prefix(&[ESCAPED]).unwrap_or(&start);
            start.split_at_checked(DIGITS).is_some_and(|(digits, rest)| {
                digest(digits).is_some() && GAPS.iter().any(|gap| rest.starts_with(gap))
            })
        })
    }

    pub(crate) fn read(path: &Path) -> Result<Self, ManifestError> {
        let text = whole_file::read(path, MANIFEST_MAX).map_err(ManifestError::Unreadable)?;
        // A path takes its bytes again, and less than a line besides.
        if !memory::has_room(text.len().saturating_mul(3)) {
            return Err(ManifestError::Unreadable(io::ErrorKind::OutOfMemory.into()));
        }
        Self::parse(&text).map_err(|(line, what)| ManifestError::Line(line, what))
    }

    fn parse(text: &[u8]) -> Result<Self, (usize, String)> {
        let mut files = Vec::new();
        // Only with NUL characters, paths are not escaped.
        let (end, has_escapes) = if text.contains(&0) { (0, false) } else { (b'\n', true) };
        for (index, line) in text.split_inclusive(|&byte| byte == end).enumerate() {
            let cut = || (index + 1, "the manifest is cut off here".to_owned());
            let line = line.strip_suffix(&[end]).ok_or_else(cut)?;
            let file = file_of(line, has_escapes);
            files.push(file.ok_or_else(|| (index + 1, "not a SHA-256 with a path".to_owned()))?);
        }
        let mut lines: HashMap<&str, usize> = HashMap::with_capacity(files.len());
        for (index, (_, path)) in files.iter().enumerate() {
            if let Some(first) = lines.insert(path, index) {
                return Err((index + 1, format!("line {} has this path, too", first + 1)));
            }
        }
        Ok(Self { files })
    }

    /// The number of files.
    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// Compares with the selected files of a tree, by path, ignoring case. Equal files are included. The
    /// manifest is of an earlier state than the tree, or of a later one.
    pub(crate) fn differences(
        &self,
        vfs: &Vfs,
        is_earlier: bool,
        patterns: &Patterns,
        steps: &dyn Fn(usize) -> Box<dyn Fn() + Sync>,
    ) -> Vec<Difference> {
        let (only_manifest, only_tree) =
            if is_earlier { (Change::Removed, Change::Added) } else { (Change::Added, Change::Removed) };
        let pairs = self.pairs(vfs, patterns);
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        order.sort_by_cached_key(|&index| pairs[index].2.as_ref().map(VfsFile::place));
        let digests = Digests::default();
        let found = in_parallel(order.len(), &steps(order.len()), |index| match &pairs[order[index]] {
            (_, Some(expected), Some(file)) => match digests.of(file) {
                Ok(digest) if digest == **expected => Change::Equal,
                Ok(_) => Change::Changed,
                Err(what) => Change::Unreadable(what),
            },
            (_, Some(_), None) => only_manifest.clone(),
            (_, None, _) => only_tree.clone(),
        });
        let mut changes: Vec<(usize, Change)> = order.into_iter().zip(found).collect();
        changes.sort_unstable_by_key(|(index, _)| *index);
        let difference = |((path, _, file), (_, change))| {
            let (before, after) = if is_earlier { (None, file) } else { (file, None) };
            Difference { path, before, after, change }
        };
        pairs.into_iter().zip(changes).map(difference).collect()
    }

    /// The selected paths of the manifest and of a tree, ordered by path without regard to case, each with
    /// its checksum and its file.
    fn pairs(&self, vfs: &Vfs, patterns: &Patterns) -> Vec<(String, Option<&FileDigest>, Option<VfsFile>)> {
        let mut pairs = Vec::with_capacity(self.files.len());
        let mut paired = HashSet::new();
        // The tree may have two files whose paths differ only in case.
        let mut others: Vec<(&FileDigest, &String, Option<VfsFile>)> = Vec::new();
        for (digest, path) in self.files.iter().filter(|(_, path)| patterns.selects(path)) {
            match vfs.file(path) {
                Some(file) if file.path() == *path => {
                    paired.insert(file.node());
                    pairs.push((path.clone(), Some(digest), Some(file)));
                }
                file => others.push((digest, path, file)),
            }
        }
        for (digest, path, file) in others {
            let file = file.filter(|file| paired.insert(file.node()));
            pairs.push((path.clone(), Some(digest), file));
        }
        let others = vfs.select(patterns).into_iter().filter(|file| !paired.contains(&file.node()));
        pairs.extend(others.map(|file| (file.path(), None, Some(file))));
        pairs.sort_by_cached_key(|(path, ..)| path.to_ascii_lowercase());
        pairs
    }
}

/// The checksum and the path of a line.
fn file_of(line: &[u8], has_escapes: bool) -> Option<(FileDigest, String)> {
    let escaped = line.strip_prefix(&[ESCAPED]).filter(|_| has_escapes);
    let (digits, rest) = escaped.unwrap_or(line).split_at_checked(DIGITS)?;
    let path = GAPS.iter().find_map(|gap| rest.strip_prefix(*gap))?;
    let path = if escaped.is_some() { unescaped(path)? } else { path.to_owned() };
    // `find . -type f -exec sha256sum {} +` writes paths that begin with a dot.
    let names = path.split(|&byte| byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
    let names: Vec<_> = names.map(|name| component(name, Encoding::UTF_8)).collect();
    Some((digest(digits)?, names.join("/"))).filter(|(_, path)| !path.is_empty())
}

fn digest(digits: &[u8]) -> Option<FileDigest> {
    let mut digest = FileDigest::default();
    for (byte, digits) in digest.iter_mut().zip(digits.chunks(2)) {
        let value = |digit: u8| char::from(digit).to_digit(16);
        let [high, low] = digits else { return None };
        *byte = u8::try_from(value(*high)? << 4 | value(*low)?).ok()?;
    }
    Some(digest)
}

/// A path in which sha256sum escaped backslashes and line breaks.
fn unescaped(path: &[u8]) -> Option<Vec<u8>> {
    let (mut bytes, mut plain) = (path.iter(), Vec::with_capacity(path.len()));
    while let Some(&byte) = bytes.next() {
        plain.push(match byte {
            b'\\' => match bytes.next()? {
                b'\\' => b'\\',
                b'n' => b'\n',
                b'r' => b'\r',
                _ => return None,
            },
            byte => byte,
        });
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "0123456789abcdef0123456789ABCDEF0123456789abcdef0123456789abcdef";

    fn paths(text: &str) -> Result<Vec<String>, (usize, String)> {
        Ok(Manifest::parse(text.as_bytes())?.files.into_iter().map(|(_, path)| path).collect())
    }

    #[test]
    fn lines_are_read_as_sha256sum_writes_them() {
        for (text, path) in [
            (format!("{HASH}  textures/a b.dds\n"), "textures/a b.dds"),
            (format!("{HASH} *a\n"), "a"),
            (format!("{HASH}  ./misc/a\n"), "misc/a"),
            (format!("\\{HASH}  a\\\\b\\nc\\rd\n"), "a%5Cb%0Ac%0Dd"),
            (format!("{HASH}  a\\nb\n"), "a%5Cnb"),
            (format!("{HASH}   a \n"), " a "),
            (format!("{HASH}  a\nb\\n\0"), "a%0Ab%5Cn"),
            (format!("{HASH}  /a//../%0A\n"), "a/%2E%2E/%0A"),
        ] {
            assert_eq!(paths(&text), Ok(vec![path.to_owned()]), "{text:?}");
        }
        assert_eq!(paths(""), Ok(Vec::new()));
        let known = FileDigest::from(std::array::from_fn(|at| {
            [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef][at % 8]
        }));
        for end in [b'\n', 0] {
            let written = line(&known, b"misc/a", end);
            assert_eq!(Manifest::parse(&written).expect("not read").files, [(known, "misc/a".to_owned())]);
        }
    }

    #[test]
    fn a_line_that_is_cut_off_or_foreign_is_an_error_with_its_number() {
        let good = format!("{HASH}  a\n");
        let foreign = [
            "\n".to_owned(),
            format!("{HASH}\n"),
            format!("{HASH}  \n"),
            format!("{HASH}  ./\n"),
            format!("{HASH} a\n"),
            format!("{}  a\n", &HASH[1..]),
            format!("{HASH}0  a\n"),
            format!("g{}  a\n", &HASH[1..]),
            format!("SHA256 (a) = {HASH}\n"),
            format!("\\{HASH}  a\\x\n"),
            format!("\\{HASH}  a\\\n"),
            format!("{}é  a\n", &HASH[2..]),
        ];
        for line in foreign {
            let text = format!("{good}{line}{HASH}  b\n");
            assert_eq!(paths(&text), Err((2, "not a SHA-256 with a path".into())), "{line:?}");
        }
        let cut = format!("{good}{HASH}  textures/a.d");
        assert_eq!(paths(&cut), Err((2, "the manifest is cut off here".into())));
        let twice = format!("{good}{HASH}  b\n{HASH}  ./a\n");
        assert_eq!(paths(&twice), Err((3, "line 1 has this path, too".into())));
    }

    #[test]
    fn a_manifest_is_known_by_its_beginning() {
        let file = tempfile::NamedTempFile::new().expect("cannot make a file");
        for (text, is_one) in [
            (format!("{HASH}  a\nnonsense"), true),
            (format!("\\{HASH} *a\n"), true),
            (HASH.to_owned(), false),
            ("BSA\0h".to_owned(), false),
            (String::new(), false),
        ] {
            std::fs::write(file.path(), &text).expect("cannot write");
            assert_eq!(Manifest::is_one(file.path()), is_one, "{text:?}");
        }
        let folder = file.path().parent().expect("no folder");
        assert!(!Manifest::is_one(folder) && !Manifest::is_one(Path::new("/dev/zero")));
    }
}
