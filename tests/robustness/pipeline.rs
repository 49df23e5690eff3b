//! The pipeline from the bytes of an archive to names and content, with checks of its invariants.
//! Tests and fuzz targets run it.
//!
//! The invariants: nothing panics, memory is in proportion to the archive, a file system can show
//! every name, and reads are as long as sizes say.

#![allow(unreachable_pub, reason = "`pub` here means: for tests and fuzz targets")]
#![allow(dead_code, reason = "each fuzz target uses a part")]

use std::ops::Range;
use std::path::Path;

use bsafs::NoteCode;
use bsafs::archive_file::ArchiveFile;
use bsafs::content::{LayerTables, Store, TextureForm};
use bsafs::format::encoding::{Encoding, NamesEncoding};
use bsafs::format::{self, Archive, Codec, Entry, EntryId, Extent, Limits, Name, Options, name, structure};
use bsafs::read::Bytes;
use bsafs::tree::{self, Dictionary, Kind, LayerNames, NodeId, Tree};

/// Minimum size of an entry in the tables of any format, in bytes.
const ENTRY_LEN: usize = 16;

/// The files to read. A test that damages an archive 100,000 times cannot read all files each time.
pub struct Scope<'a> {
    /// Extents of the archive before it was damaged.
    pub undamaged: &'a [Extent],
    /// Offsets of the bytes that were damaged.
    pub damaged: Range<u64>,
    /// Maximum bytes of content to read. The last file may exceed it.
    pub budget: u64,
}

impl Scope<'_> {
    /// Reads all files.
    pub const ALL: Self = Self { undamaged: &[], damaged: 0..u64::MAX, budget: u64::MAX };
    /// Reads the first files, as many as a fuzz target has time for.
    pub const FUZZED: Self = Self { budget: 16 << 20, ..Self::ALL };

    /// For each entry of an archive, whether it is in scope.
    fn of(&self, archive: &Archive<'_>) -> Vec<bool> {
        let mut extents = archive.extents();
        let is_in_scope = |entry: Entry<'_>| {
            let of_entry = extents.by_ref().take(usize::from(entry.extents));
            of_entry.filter(|it| self.includes(it)).count() > 0
                || (entry.extents == 0 && self.undamaged.is_empty())
        };
        archive.entries().map(is_in_scope).collect()
    }

    /// Whether an extent is new or overlaps the damaged bytes.
    fn includes(&self, extent: &Extent) -> bool {
        let end = extent.offset.saturating_add(u64::from(extent.packed));
        !self.undamaged.contains(extent) || (extent.offset < self.damaged.end && self.damaged.start < end)
    }
}

/// Limits for archives of a few bytes.
pub fn limits() -> Limits {
    // Counts have no limit here, so that only the archive's length bounds the memory.
    Limits { entries: u32::MAX, extent: 4 << 20, ..Limits::default() }
}

/// How archives are opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Opening<'a> {
    /// Whether to read unknown versions and kinds.
    pub force: bool,
    /// The encoding of stored names.
    pub encoding: Encoding,
    /// A list of paths, to name files without stored names.
    pub names: &'a [u8],
    /// The form of textures.
    pub textures: TextureForm,
    /// Whether each archive has its own folder.
    pub per_archive: bool,
    /// Whether to serve suspect files.
    pub salvage: bool,
}

/// Archives that were opened and merged.
pub struct Opened {
    /// The names of all archives.
    pub tree: Tree,
    /// The content of all archives.
    pub store: Store,
    /// For each archive, whether each entry is in scope.
    pub in_scope: Vec<Vec<bool>>,
}

impl Opened {
    /// The entries that are in scope, until the budget is used up.
    pub fn files(&self, scope: &Scope<'_>) -> impl Iterator<Item = EntryId> {
        let mut left = scope.budget;
        let files = (0..).zip(&self.in_scope).flat_map(|(layer, entries)| {
            (0..)
                .zip(entries)
                .filter(|(_, is_read)| **is_read)
                .map(move |(entry, _)| EntryId { layer, entry })
        });
        files.take_while(move |&file| {
            let is_left = left > 0;
            // A file above the limit is refused at little cost, and even an empty file takes time.
            left = left
                .saturating_sub(self.store.file(file).size_or_estimate().clamp(4096, limits().extent.into()));
            is_left
        })
    }
}

/// Parses, merges and reads the archive at `path`. Returns the number of files, or `None` if the
/// archive is refused.
///
/// # Panics
/// If an invariant does not hold.
pub fn run(path: &Path, scope: &Scope<'_>) -> Option<usize> {
    let opened = open(&[path], &Opening::default(), scope)?;
    opened.files(scope).for_each(|file| check_content(&opened.store, file));
    Some(opened.in_scope[0].len())
}

/// Parses and merges the archives at `paths`, as the program does. `None` if an archive is refused.
///
/// # Panics
/// If an invariant does not hold.
pub fn open(paths: &[&Path], opening: &Opening<'_>, scope: &Scope<'_>) -> Option<Opened> {
    let mut dictionary = Dictionary::new(opening.encoding);
    dictionary.add(opening.names).unwrap();
    let mut store = Store::new(1 << 20, limits()).with_salvage(opening.salvage);
    let (mut layers, mut in_scope) = (Vec::new(), Vec::new());
    for (number, path) in paths.iter().enumerate() {
        let mut source = ArchiveFile::open(path).unwrap();
        let base = opening.per_archive.then(|| number.to_string());
        let parsed = source
            .parse_tables(|bytes| {
                let Some(archive) = parse(bytes, opening.force) else { return (None, Vec::new()) };
                let layer = LayerNames::with_names(&archive, opening.encoding, base.as_deref(), &dictionary);
                let tables = LayerTables::new(&archive).presented(opening.textures, || {
                    // Every file may be a texture: its name does not matter.
                    (0..archive.files.len() as u32).collect()
                });
                (Some((layer.unwrap(), tables, scope.of(&archive))), archive.tables)
            })
            .unwrap();
        let (layer, tables, entries) = parsed?;
        tables.still_tiled();
        store.add(source, tables);
        layers.push(layer);
        in_scope.push(entries);
    }
    let tree = tree::merge(layers, tree::Rule::LastWins).unwrap();
    let files: Vec<usize> = in_scope.iter().map(Vec::len).collect();
    check_tree(&tree, &files, opening.per_archive);
    Some(Opened { tree, store, in_scope })
}

/// Parses the tables of an archive and checks their invariants.
fn parse(bytes: Bytes<'_>, force: bool) -> Option<Archive<'_>> {
    match format::parse_with(bytes, &Options { limits: limits(), force }) {
        Ok(archive) => {
            check_tables(&archive, bytes.len() as usize);
            Some(archive)
        }
        Err(error) => {
            assert!(error.to_string().len() < 200, "{error}");
            None
        }
    }
}

/// Checks that the tables agree with each other, and that their size is in proportion to the
/// archive's `len` bytes.
fn check_tables(archive: &Archive<'_>, len: usize) {
    let most = len / ENTRY_LEN;
    assert!(archive.entries().count() <= most.max(4) * 2, "{} entries", archive.files.len());
    assert!(archive.extents().count() <= most.max(4) * 2, "{} extents", archive.extents().count());
    assert!(archive.heads.is_empty() || archive.heads.len() == archive.files.len());
    let of_entries: usize = archive.entries().map(|entry| usize::from(entry.extents)).sum();
    assert_eq!(of_entries, archive.extents().count());
    let faults = structure::examine(archive);
    let entries = faults.iter().flat_map(|finding| &finding.entries);
    assert!(entries.clone().all(|entry| (*entry as usize) < archive.files.len()), "{faults:?}");
    assert!(NamesEncoding::of(archive, None).encoding.name().len() > 2);
    assert!(archive.notes.len() <= limits().notes * NoteCode::ALL.len());
    assert!(archive.notes.iter().all(|note| note.text.len() < 200), "{:?}", archive.notes);
    // Files may share folder names and embedded names of up to 255 bytes, so only longer names need
    // bytes in the archive for each file.
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

/// Checks that names are safe, that the path of each node resolves to that node, and that every
/// entry has a node or is hidden. `files` has the number of files of each layer.
fn check_tree(tree: &Tree, files: &[usize], per_archive: bool) {
    check_entries(tree, files, per_archive);
    let base = usize::from(per_archive);
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
        assert!(parent < node);
        let depth = depths[tree.ino(parent).0 as usize - 1] + 1;
        assert!(depth <= 2 * name::DEPTH_MAX + 1 + base, "the node is {depth} levels deep");
        depths.push(depth);
        if depth < 4 + base {
            assert_eq!(tree.resolve(&tree.path(node)), Some(node), "{text:?}");
            tree.stored_name(node);
            tree.hash_text(node);
        }
    }
    let children: usize = tree.nodes().map(|node| tree.children(node).len()).sum();
    assert_eq!(children + 1, tree.len() as usize);
    assert_eq!(tree.parent(NodeId::ROOT), NodeId::ROOT);
}

/// Checks that every entry of every layer is either listed once, or hidden once by a later layer.
fn check_entries(tree: &Tree, files: &[usize], per_archive: bool) {
    let mut seen: Vec<Vec<bool>> = files.iter().map(|&count| vec![false; count]).collect();
    let mut see = |id: EntryId| {
        let seen = &mut seen[usize::from(id.layer)][id.entry as usize];
        assert!(!std::mem::replace(seen, true), "{id:?} appears twice");
    };
    for node in tree.nodes() {
        let mut later = match tree.kind(node) {
            Kind::Folder => 0,
            Kind::File(entry) => {
                see(entry);
                entry.layer
            }
        };
        for hidden in tree.hidden(node) {
            assert!(!per_archive && hidden.by == node && hidden.entry.layer < later, "{hidden:?}");
            later = hidden.entry.layer;
            see(hidden.entry);
            tree.stored_name_of_hidden(hidden);
            tree.hash_text_of_hidden(hidden);
        }
    }
    assert!(seen.iter().flatten().all(|&it| it), "an entry is neither listed nor hidden");
}

/// Checks that reads of a file are as long as its size says, and that none goes past its end.
pub fn check_content(store: &Store, file: EntryId) {
    let size = store.file(file).size_or_estimate();
    let is_sound = store.file(file).check().is_ok();
    assert!(!is_sound || store.file(file).size_or_estimate() == size, "the size of a valid file changed");
    // The end is read first: that decodes the whole extent into the cache, which then serves the other reads.
    let offsets = [size.saturating_sub(40), size / 2, 0];
    for &offset in if is_sound { &offsets[..] } else { &offsets[2..] } {
        match store.file(file).read_at(offset, 64).map(|bytes| bytes.len()) {
            Ok(len) => {
                assert_eq!(len as u64, store.file(file).size_or_estimate().saturating_sub(offset).min(64))
            }
            Err(error) => {
                assert!(!is_sound, "a valid file cannot be read: {error}");
                assert!(error.to_string().len() < 200, "{error}");
            }
        }
    }
    for offset in [size, size.saturating_add(1), u64::MAX] {
        let past = store
            .file(file)
            .read_at(offset.max(store.file(file).size_or_estimate()), u32::MAX)
            .map(|bytes| bytes.len());
        // If the size of a file cannot be read, a read past the end fails too.
        assert_eq!(
            past.ok(),
            store.file(file).size_if_known().map(|_| 0),
            "a read beyond the end returned bytes"
        );
    }
    let (cached, budget) = store.cached_bytes();
    assert!(
        cached <= budget + u64::from(limits().extent),
        "{cached} bytes are cached, but the budget is {budget}"
    );
    store.file(file).packing();
}
