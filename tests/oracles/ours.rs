//! Reads archives with bsafs as a mount does: the tree lists the files, the store reads them.

use std::path::Path;

use bsafs::archive_file::ArchiveFile;
use bsafs::content::{LayerTables, Store};
use bsafs::format::encoding::Encoding;
use bsafs::format::{Limits, Name, parse};
use bsafs::tree::{self, Kind, LayerNames};

use crate::other_readers::key;

/// A file of an archive.
pub(crate) struct File {
    /// The normalised stored name, or the hashes if the archive stores no name; see [`key`].
    pub(crate) key: Vec<u8>,
    pub(crate) content: Vec<u8>,
}

/// Bytes per read, as the kernel requests them.
const STEP: u32 = 128 << 10;

/// Reads every file of an archive.
pub(crate) fn read(path: &Path) -> Vec<File> {
    let source = ArchiveFile::open(path).unwrap();
    let (layer, tables, known) = source
        .with_bytes(|bytes| {
            let archive = parse(bytes, &Limits::default()).unwrap();
            let known: Vec<_> = archive.entries().map(|it| (it.hash, is_named(&it.name))).collect();
            (LayerNames::new(&archive, Encoding::default(), None).unwrap(), LayerTables::new(&archive), known)
        })
        .unwrap();
    let mut store = Store::new(64 << 20, Limits::default());
    store.add(source, tables);
    let tree = tree::merge(vec![layer], tree::Rule::LastWins).unwrap();
    let file = |node| {
        let Kind::File(id) = tree.kind(node) else { return None };
        let size = store.file(id).size_or_estimate();
        let mut content = Vec::new();
        while (content.len() as u64) < size {
            let before = content.len();
            let added = store.file(id).read_at(before as u64, STEP);
            let added = added.map(|bytes| content.extend_from_slice(&bytes));
            added.unwrap_or_else(|error| panic!("{}: {node:?}: {error}", path.display()));
            assert!(content.len() > before, "{}: {node:?} ends before its size", path.display());
        }
        let (hash, is_named) = known[id.entry as usize];
        let name = if is_named { tree.stored_name(node) } else { Vec::new() };
        Some(File { key: key(&name, hash.folder, hash.file), content })
    };
    let files: Vec<File> = tree.nodes().filter_map(file).collect();
    assert_eq!(files.len(), known.len(), "{}: an entry is not listed", path.display());
    files
}

/// Whether an archive stores a file's whole name. If it does not, the other readers list the file
/// by its hashes.
fn is_named(name: &Name<'_>) -> bool {
    match name {
        Name::Path(path) => !path.is_empty(),
        Name::Split { folder, file } => folder.is_some() && file.is_some(),
        Name::Number(_) => true,
        Name::Unknown { .. } => false,
    }
}
