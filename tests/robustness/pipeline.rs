//! The pipeline from the bytes of an archive to names and content, and its invariants: no panic, memory in proportion
//! to the archive, names that a file system can show, reads as long as sizes say. Tests and the fuzz target run it.

#![allow(unreachable_pub, reason = "`pub` here means: for tests and the fuzz target")]

use std::ops::Range;
use std::path::Path;

use bsafs::content::{LayerTables, Store};
use bsafs::format::encoding::Encoding;
use bsafs::format::{self, Archive, Codec, EntryId, Extent, Limits, Name, name};
use bsafs::source::Source;
use bsafs::tree::{self, Kind, Layer, NodeId, Tree};

/// Bytes of table that an entry takes at least, in any format.
const ENTRY_LEN: usize = 16;

/// Which files are read: to read all of them a hundred thousand times takes too long.
pub struct Scope<'a> {
    /// Extents of the archive before it was damaged.
    pub undamaged: &'a [Extent],
    /// Offsets of the bytes that were damaged.
    pub damaged: Range<u64>,
}

impl Scope<'_> {
    /// All files.
    pub const ALL: Self = Self { undamaged: &[], damaged: 0..u64::MAX };

    /// Whether an extent is new, or overlaps the damage.
    fn includes(&self, extent: &Extent) -> bool {
        let end = extent.offset.saturating_add(u64::from(extent.packed));
        !self.undamaged.contains(extent) || (extent.offset < self.damaged.end && self.damaged.start < end)
    }
}

/// Limits for archives of a few bytes.
pub fn limits() -> Limits {
    // No limit on counts: the archive's length alone is to bound what is allocated.
    Limits { entries: u32::MAX, extent: 4 << 20, ..Limits::default() }
}

/// Parses, merges and reads the archive at `path`; returns how many files it has, `None` if it is refused.
///
/// # Panics
/// When an invariant does not hold.
pub fn run(path: &Path, scope: &Scope<'_>) -> Option<usize> {
    let source = Source::open(path).unwrap();
    let (layer, tables, in_scope) = source.with_map(|bytes, _| names_and_tables(bytes, scope)).unwrap()?;
    let tree = tree::merge(vec![layer]).unwrap();
    check_tree(&tree, in_scope.len());
    let mut store = Store::new(1 << 20, limits());
    store.add(source, tables);
    for (entry, is_read) in (0..).zip(&in_scope) {
        if *is_read {
            check_content(&store, EntryId { layer: 0, entry });
        }
    }
    Some(in_scope.len())
}

/// Names, tables, and whether each entry is in scope.
fn names_and_tables(bytes: &[u8], scope: &Scope<'_>) -> Option<(Layer, LayerTables, Vec<bool>)> {
    let archive = match format::parse(bytes, &limits()) {
        Ok(archive) => archive,
        Err(error) => {
            assert!(error.to_string().len() < 200, "{error}");
            return None;
        }
    };
    check_tables(&archive, bytes.len());
    let mut extents = archive.extents();
    let in_scope = archive
        .entries()
        .map(|entry| {
            extents.by_ref().take(usize::from(entry.extents)).filter(|it| scope.includes(it)).count() > 0
        })
        .collect();
    let layer = Layer::new(&archive, Encoding::default(), None).unwrap();
    Some((layer, LayerTables::new(&archive), in_scope))
}

/// The tables agree with each other, and their size is in proportion to the archive's `len` bytes.
fn check_tables(archive: &Archive<'_>, len: usize) {
    let most = len / ENTRY_LEN;
    assert!(archive.entries().count() <= most.max(4) * 2, "{} entries", archive.files.len());
    assert!(archive.extents().count() <= most.max(4) * 2, "{} extents", archive.extents().count());
    assert!(archive.heads.is_empty() || archive.heads.len() == archive.files.len());
    let of_entries: usize = archive.entries().map(|entry| usize::from(entry.extents)).sum();
    assert_eq!(of_entries, archive.extents().count());
    assert!(archive.notes.len() <= limits().notes);
    assert!(archive.notes.iter().all(|note| note.what.len() < 200), "{:?}", archive.notes);
    // Files may share names of up to 255 bytes: those of folders and embedded ones. Of these only the rest counts.
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

/// Every file has its own node, and its path, of safe names, resolves to that node.
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

/// Reads of a file are as long as its size says, and none goes beyond its end.
fn check_content(store: &Store, file: EntryId) {
    let size = store.size(file);
    let is_sound = store.check(file).is_ok();
    assert!(!is_sound || store.size(file) == size, "a sound file's size changed");
    // The end first: to read it decodes the whole extent into the cache, from which the others are then served.
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
        // A file whose size cannot be read has no end.
        assert_eq!(past.ok(), store.known_size(file).map(|_| 0), "bytes beyond the end");
    }
    let (cached, budget) = store.cached_bytes();
    assert!(cached <= budget + u64::from(limits().extent), "{cached} bytes are cached of {budget}");
    store.packing(file);
}
