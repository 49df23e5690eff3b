//! Benchmark of lookups in a tree, without FUSE, in folders whose names begin alike; and of building a tree.

use std::fmt::{self, Write};
use std::hint::black_box;
use std::time::{Duration, Instant};

use bsafs::format::encoding::Encoding;
use bsafs::format::{Limits, parse};
use bsafs::tree::{self, LayerNames, NodeId, Tree};

use crate::Outcome;
use crate::measure::median;
use crate::support::Ba2;
use crate::table::{milliseconds, thousands};

/// Folders of several sizes, and one archive of many folders.
#[derive(Debug)]
pub(crate) struct Lookups {
    folders: Vec<Folder>,
    /// The archive that the tree is built from.
    archive: Vec<u8>,
    /// Number of files in the archive.
    files: usize,
    /// Times to read the archive's names.
    layers: Vec<Duration>,
    /// Times to merge the names into a tree.
    merges: Vec<Duration>,
}

/// A folder, and names to look up in it.
#[derive(Debug)]
struct Folder {
    tree: Tree,
    folder: NodeId,
    /// Names in the folder, of [`NAME_LEN`] bytes each, shuffled.
    hits: Vec<u8>,
    /// Other names, also of [`NAME_LEN`] bytes each and shuffled.
    misses: Vec<u8>,
    /// Times of [`LOOKUPS`] lookups that hit and that miss.
    times: [Vec<Duration>; 2],
}

const CHILDREN: [usize; 6] = [1, 10, 100, 1_000, 10_000, 20_000];
const LOOKUPS: u32 = 200_000;
const NAME_LEN: usize = "item_0048468.bgsm".len();
const FILES_PER_FOLDER: usize = 100;

impl Lookups {
    /// Prepares the benchmark, with a tree of this many files to build.
    pub(crate) fn new(files: usize) -> Outcome<Self> {
        let path = |n: usize| format!("materials\\set{:04}\\{}", n / FILES_PER_FOLDER, name(n));
        Ok(Self {
            folders: CHILDREN.into_iter().map(Folder::new).collect::<Outcome<_>>()?,
            archive: archive((0..files).map(path)),
            files,
            layers: Vec::new(),
            merges: Vec::new(),
        })
    }

    /// Measures one round.
    pub(crate) fn measure(&mut self) -> Outcome<()> {
        let parsed = parse(&self.archive, &Limits::default()).map_err(|error| error.to_string())?;
        let start = Instant::now();
        let layer = LayerNames::new(&parsed, Encoding::default(), None)?;
        self.layers.push(start.elapsed());
        let start = Instant::now();
        let tree = tree::merge(vec![layer], tree::Rule::LastWins)?;
        self.merges.push(start.elapsed());
        drop(tree);
        self.folders.iter_mut().try_for_each(Folder::measure)
    }

    /// Writes the medians.
    pub(crate) fn write(&self, out: &mut String) -> fmt::Result {
        writeln!(
            out,
            "\n## Lookups in the tree, without FUSE\n\n\
             | children | found, ns | not found, ns |\n|---|---|---|"
        )?;
        for folder in &self.folders {
            let [hit, miss] =
                folder.times.each_ref().map(|times| median(times).as_secs_f64() * 1e9 / f64::from(LOOKUPS));
            let children = thousands((folder.hits.len() / NAME_LEN) as u64);
            writeln!(out, "| {children} | {hit:.0} | {miss:.0} |")?;
        }
        writeln!(
            out,
            "\nA tree of {} files: {} ms for the names of its archive, {} ms to merge.",
            thousands(self.files as u64),
            milliseconds(median(&self.layers)),
            milliseconds(median(&self.merges))
        )
    }
}

impl Folder {
    fn new(children: usize) -> Outcome<Self> {
        let bytes = archive((0..children).map(|n| format!("materials\\{}", name(2 * n))));
        let parsed = parse(&bytes, &Limits::default()).map_err(|error| error.to_string())?;
        let tree =
            tree::merge(vec![LayerNames::new(&parsed, Encoding::default(), None)?], tree::Rule::LastWins)?;
        let folder = tree.resolve(b"materials").ok_or("the folder is missing")?;
        let mut order: Vec<usize> = (0..children).collect();
        order.sort_unstable_by_key(|&n| (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let names = |odd: usize| order.iter().flat_map(|n| name(2 * n + odd).into_bytes()).collect();
        Ok(Self { hits: names(0), misses: names(1), tree, folder, times: [Vec::new(), Vec::new()] })
    }

    fn measure(&mut self) -> Outcome<()> {
        let names = [(&self.hits, LOOKUPS), (&self.misses, 0)];
        for ((names, expected), times) in names.into_iter().zip(&mut self.times) {
            let mut found = 0;
            let start = Instant::now();
            for name in names.chunks_exact(NAME_LEN).cycle().take(LOOKUPS as usize) {
                found += u32::from(black_box(self.tree.lookup(self.folder, black_box(name))).is_some());
            }
            times.push(start.elapsed());
            if found != expected {
                return Err(format!("{found} of {LOOKUPS} names found, not {expected}").into());
            }
        }
        Ok(())
    }
}

/// Names like those in real archives, where thousands in one folder begin alike.
fn name(number: usize) -> String {
    format!("item_{:07}.bgsm", 7 * number)
}

fn archive(paths: impl Iterator<Item = String>) -> Vec<u8> {
    paths.fold(Ba2::general(1), |it, path| it.file(path, "x")).build()
}
