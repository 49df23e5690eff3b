//! The bytes of files: every range of every file, how often they are decoded, and the errors of bad
//! entries and changed archives.

mod changed;
mod codec;
mod counts;
mod evidence;
mod faults;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use bsafs::archive_file::ArchiveFile;
use bsafs::content::{EntryError, LayerTables, Store};
use bsafs::format::encoding::Encoding;
use bsafs::format::{EntryId, Limits, parse};
use bsafs::tree::{self, Kind, LayerNames};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::support;

/// Length of the longest read in bytes. A process with pointers of 32 bits has no memory for a read of 4 GiB.
const LONGEST_READ: u32 = 1 << 30;

/// Opened archives on the disk, and the entry of each file by its path in lower case.
struct Opened {
    store: Store,
    files: BTreeMap<String, EntryId>,
    folder: TempDir,
}

impl Opened {
    /// Writes and opens archives. Each is a layer, and its paths begin with the layer's number.
    fn new(archives: &[&[u8]], cache: u64, limits: Limits) -> Self {
        let folder = TempDir::new().unwrap();
        let mut store = Store::new(cache, limits);
        let mut layers = Vec::new();
        for (number, bytes) in archives.iter().enumerate() {
            let path = path_in(folder.path(), number);
            std::fs::write(&path, bytes).unwrap();
            let mut source = ArchiveFile::open(&path).unwrap();
            let (layer, tables) = source
                .parse_tables(|bytes| {
                    let archive = parse(bytes, &Limits::default()).unwrap();
                    let base = number.to_string();
                    let layer = LayerNames::new(&archive, Encoding::default(), Some(&base)).unwrap();
                    ((layer, LayerTables::new(&archive)), archive.tables)
                })
                .unwrap();
            store.add(source, tables);
            layers.push(layer);
        }
        let tree = tree::merge(layers, tree::Rule::LastWins).unwrap();
        let file = |node| match tree.kind(node) {
            Kind::File(id) => Some((String::from_utf8(tree.path(node)).unwrap().to_ascii_lowercase(), id)),
            Kind::Folder => None,
        };
        let files = tree.nodes().filter_map(file).collect();
        Self { store, files, folder }
    }

    /// Opens one archive with a large cache. Paths are as in the archive.
    fn one(bytes: &[u8]) -> Self {
        Self::with_cache(bytes, 64 << 20)
    }

    fn with_cache(bytes: &[u8], cache: u64) -> Self {
        let mut opened = Self::new(&[bytes], cache, Limits::default());
        let files = std::mem::take(&mut opened.files);
        opened.files = files.into_iter().map(|(path, id)| (path[2..].to_owned(), id)).collect();
        opened
    }

    /// Path of the first archive.
    fn path(&self) -> PathBuf {
        path_in(self.folder.path(), 0)
    }

    fn id(&self, path: &str) -> EntryId {
        *self
            .files
            .get(&path.to_ascii_lowercase())
            .unwrap_or_else(|| panic!("no {path} in {:?}", self.files.keys()))
    }

    fn read(&self, path: &str, offset: u64, len: u32) -> Result<Vec<u8>, EntryError> {
        self.store.file(self.id(path)).read_at(offset, len).map(|bytes| bytes.to_vec())
    }

    /// Reads a whole file in one request, or its first [`LONGEST_READ`] bytes.
    fn whole(&self, path: &str) -> Result<Vec<u8>, EntryError> {
        let size = u32::try_from(self.store.file(self.id(path)).size_or_estimate()).unwrap();
        self.read(path, 0, size.min(LONGEST_READ))
    }
}

fn path_in(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("{number}.archive"))
}

/// All samples in one store, whose cache is too small for them, and the content of each file.
struct Samples {
    opened: Opened,
    files: Vec<(EntryId, String, Vec<u8>)>,
}

static SAMPLES: LazyLock<Samples> = LazyLock::new(|| {
    let samples = support::samples();
    let archives: Vec<&[u8]> = samples.iter().map(|sample| &sample.bytes[..]).collect();
    let opened = Opened::new(&archives, 3 << 20, Limits::default());
    let file = |number: usize, name: &str, path: &str, content: &Vec<u8>| {
        (opened.id(&format!("{number}/{path}")), format!("{name}: {path}"), content.clone())
    };
    let files = samples
        .iter()
        .enumerate()
        .flat_map(|(number, it)| {
            it.files.iter().map(move |(path, content)| (number, &it.name, path, content))
        })
        .map(|(number, name, path, content)| file(number, name, path, content))
        .collect();
    Samples { opened, files }
});

#[test]
fn every_sample_file_is_read_copied_and_checked_completely() {
    let Samples { opened, files } = &*SAMPLES;
    assert_eq!(files.len(), opened.files.len(), "two files of the samples have the same path");
    assert!(files.len() > 250, "{} files", files.len());
    for (id, name, content) in files {
        assert_eq!(opened.store.file(*id).size_or_estimate(), content.len() as u64, "{name}");
        let len = u32::try_from(content.len()).unwrap();
        let whole = opened.store.file(*id).read_at(0, len).unwrap();
        assert!(*whole == content[..], "{name}: wrong bytes in a single read");
        let mut copied = Vec::new();
        assert_eq!(opened.store.file(*id).copy_to(&mut copied).unwrap(), content.len() as u64, "{name}");
        assert!(copied == *content, "{name}: wrong bytes in a copy");
        assert_eq!(opened.store.file(*id).check().unwrap(), [], "{name}");
    }
}

/// Any offset, and more often a risky one: near either end of a file, near the end of a DDS header
/// of either length, near the end of a prefix.
fn offset(size: u64) -> impl Strategy<Value = u64> {
    let near = proptest::sample::select(vec![0, 128, 148, 4096, 16 << 10, 64 << 10, 512 << 10, size]);
    prop_oneof![(near, 0..8_u64).prop_map(|(at, by)| (at + by).saturating_sub(4)), 0..=size + 2,]
}

fn cut() -> impl Strategy<Value = (usize, u64, u32)> {
    let files = &SAMPLES.files;
    let large: Vec<usize> = (0..files.len()).filter(|&at| files[at].2.len() > 128 << 10).collect();
    prop_oneof![proptest::sample::select(large), 0..files.len()].prop_flat_map(|file| {
        let size = SAMPLES.files[file].2.len() as u64;
        (offset(size), offset(size)).prop_map(move |(a, b)| {
            let (from, to) = (a.min(b), a.max(b));
            (file, from, u32::try_from(to - from).unwrap())
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn any_range_of_a_file_has_the_right_bytes((file, offset, len) in cut()) {
        let (id, name, content) = &SAMPLES.files[file];
        let from = content.len().min(offset as usize);
        let to = content.len().min(offset as usize + len as usize);
        let read = SAMPLES.opened.store.file(*id).read_at(offset, len).unwrap();
        prop_assert!(*read == content[from..to], "{} at {} + {}", name, offset, len);
    }
}

#[test]
fn reads_beyond_the_end_return_no_bytes_and_no_error() {
    let opened = Opened::one(&support::Tes3::new().file("a", "abc").build());
    for (offset, len, bytes) in
        [(3, 1, ""), (4, 9, ""), (u64::MAX, u32::MAX, ""), (2, u32::MAX, "c"), (0, 0, ""), (1, 2, "bc")]
    {
        assert_eq!(opened.read("a", offset, len).unwrap(), bytes.as_bytes(), "{offset} + {len}");
    }
}
