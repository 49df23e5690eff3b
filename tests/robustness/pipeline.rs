//! The whole way of an archive of any bytes, from tables to names and content, and what must hold on it: no panic,
//! nothing held beyond what the bytes pay for, names that a file system can bear, reads of the length that sizes
//! promise. Tests and the fuzz target take it alike.

#![allow(unreachable_pub, reason = "`pub` here means: for tests and the fuzz target")]

use std::ops::Range;
use std::path::Path;

use bsafs::content::{LayerTables, Store};
use bsafs::format::encoding::Encoding;
use bsafs::format::{self, Archive, Codec, EntryId, Extent, Limits, Name, name};
use bsafs::source::Source;
use bsafs::tree::{self, Kind, Layer, NodeId, Tree};

/// Bytes of table that every entry costs at least, in each format.
const ENTRY_LEN: usize = 16;

/// What of an archive is to be read: reading all of it a hundred thousand times over takes too long.
pub struct Doubt<'a> {
    /// Extents that are known to be sound.
    pub sound: &'a [Extent],
    /// Bytes of the archive that are not.
    pub bytes: Range<u64>,
}

impl Doubt<'_> {
    /// Nothing is known of the archive.
    pub const ALL: Self = Self { sound: &[], bytes: 0..u64::MAX };

    fn concerns(&self, extent: &Extent) -> bool {
        let end = extent.offset.saturating_add(u64::from(extent.packed));
        !self.sound.contains(extent) || (extent.offset < self.bytes.end && self.bytes.start < end)
    }
}

/// What is held at most while archives of a few bytes are read.
pub fn limits() -> Limits {
    // Counts are not held back here, so that nothing but the archive's length does.
    Limits { entries: u32::MAX, extent: 4 << 20, ..Limits::default() }
}

/// Takes the archive at `path` all the way; answers how many files it has, or `None` if it is refused.
pub fn survive(path: &Path, doubt: &Doubt<'_>) -> Option<usize> {
    let source = Source::open(path).unwrap();
    let (layer, tables, doubtful) = source.with_map(|bytes| names_and_tables(bytes, doubt)).unwrap()?;
    let tree = tree::merge(vec![layer]).unwrap();
    check_tree(&tree, doubtful.len());
    let mut store = Store::new(1 << 20, limits());
    store.add(source, tables);
    for (entry, is_doubtful) in (0..).zip(&doubtful) {
        if *is_doubtful {
            check_content(&store, EntryId { layer: 0, entry });
        }
    }
    Some(doubtful.len())
}

/// Parses, and answers beside names and tables which entries are to be read.
fn names_and_tables(bytes: &[u8], doubt: &Doubt<'_>) -> Option<(Layer, LayerTables, Vec<bool>)> {
    let archive = match format::parse(bytes, &limits()) {
        Ok(archive) => archive,
        Err(error) => {
            assert!(error.to_string().len() < 200, "{error}");
            return None;
        }
    };
    check_tables(&archive, bytes.len());
    let mut extents = archive.extents();
    let doubtful = archive
        .entries()
        .map(|entry| {
            extents.by_ref().take(usize::from(entry.extents)).filter(|it| doubt.concerns(it)).count() > 0
        })
        .collect();
    let layer = Layer::new(&archive, Encoding::default(), None).unwrap();
    Some((layer, LayerTables::new(&archive), doubtful))
}

/// LayerTables agree with each other, and their size is in proportion to the `len` bytes that they were read from.
fn check_tables(archive: &Archive<'_>, len: usize) {
    let most = len / ENTRY_LEN;
    assert!(archive.entries().count() <= most.max(4) * 2, "{} entries", archive.files.len());
    assert!(archive.extents().count() <= most.max(4) * 2, "{} extents", archive.extents().count());
    assert!(archive.heads.is_empty() || archive.heads.len() == archive.files.len());
    let of_entries: usize = archive.entries().map(|entry| usize::from(entry.extents)).sum();
    assert_eq!(of_entries, archive.extents().count());
    assert!(archive.notes.len() <= limits().notes);
    assert!(archive.notes.iter().all(|note| note.what.len() < 200), "{:?}", archive.notes);
    // A folder's name or an embedded one is shared, but short.
    let names: usize = archive
        .entries()
        .map(|entry| match entry.name {
            Name::Path(path) => path.len().saturating_sub(255),
            Name::Split { folder, file } => {
                assert!(folder.is_none_or(|folder| folder.len() <= 255));
                file.map_or(0, <[u8]>::len)
            }
            Name::Number(_) | Name::Unknown { .. } => 0,
        })
        .sum();
    assert!(names <= 2 * len, "{names} bytes of names from {len} bytes of archive");
    for extent in archive.extents() {
        assert!(extent.codec != Codec::Stored || extent.size.is_none_or(|size| size == extent.packed));
        assert!(extent.prefix.is_none() || extent.size.is_none());
    }
}

/// Every file has a place of its own, under names that are safe and that lead back to it.
fn check_tree(tree: &Tree, files: usize) {
    assert_eq!(tree.files(), files);
    let mut depths: Vec<usize> = vec![0];
    for node in tree.nodes().skip(1) {
        let (name, parent) = (tree.name(node), tree.parent(node));
        let text = std::str::from_utf8(name).unwrap();
        assert!((1..=name::COMPONENT_MAX).contains(&name.len()), "{text:?}");
        assert!(text != "." && text != ".." && !text.contains('/'), "{text:?}");
        assert!(!name.iter().any(u8::is_ascii_control), "{text:?}");
        assert_eq!(tree.lookup(parent, name), Some(node), "{text:?}");
        assert_eq!(tree.lookup(parent, &name.to_ascii_uppercase()), Some(node), "{text:?}");
        assert_eq!(tree.kind(parent), Kind::Folder);
        assert!(parent < node && tree.hidden(node).is_empty());
        let depth = depths[parent.ino() as usize - 1] + 1;
        assert!(depth <= 2 * name::DEPTH_MAX + 1, "{depth} deep");
        depths.push(depth);
        if depth < 4 {
            assert_eq!(tree.resolve(&tree.path(node)), Some(node), "{text:?}");
            tree.stored_name(node);
        }
    }
    let children: usize = tree.nodes().map(|node| tree.children(node).len()).sum();
    assert_eq!(children + 1, tree.len() as usize);
    assert_eq!(tree.parent(NodeId::ROOT), NodeId::ROOT);
}

/// A file's reads have the length that its size promises, and are the same bytes twice.
fn check_content(store: &Store, file: EntryId) {
    let size = store.size(file);
    let is_sound = store.check(file).is_ok();
    assert!(!is_sound || store.size(file) == size, "a sound file's size changed");
    // The end first: it leaves in the cache what the others then are answered from.
    let offsets = [size.saturating_sub(40), size / 2, 0];
    for &offset in if is_sound { &offsets[..] } else { &offsets[2..] } {
        match store.read_at(file, offset, 64, <[u8]>::len) {
            Ok(len) => assert_eq!(len as u64, store.size(file).saturating_sub(offset).min(64)),
            Err(error) => {
                assert!(!is_sound, "a sound file is not read: {error}");
                assert!(error.to_string().len() < 200, "{error}");
            }
        }
    }
    for offset in [size, size.saturating_add(1), u64::MAX] {
        let past = store.read_at(file, offset.max(store.size(file)), u32::MAX, <[u8]>::len);
        assert_eq!(past.ok(), Some(0), "bytes behind the end");
    }
    let (held, budget) = store.cached_bytes();
    assert!(held <= budget + u64::from(limits().extent), "{held} bytes are kept of {budget}");
    store.packing(file);
}
