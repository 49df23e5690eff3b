//! The works. Each does to a folder what programs do, and returns its time and a checksum of what it found.
//!
//! The checksum must be the same on every subject. It covers only the first and last bytes of each
//! read, so that its cost is negligible.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::programs::Program;
use crate::support::content::Xorshift;

/// A work. Works on many files use [`Input::paths`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Work {
    /// Lists all folders: names and kinds.
    Find,
    /// Lists each folder, then stats its files sorted by name, as `ls -lR` does.
    Ls,
    /// Lists each folder, and stats each file as soon as it is listed.
    WalkStat,
    OpenClose,
    /// Opens and reads whole files, with this many readers.
    ReadWhole(usize),
    /// Reads the first 4 KiB of each file.
    Sniff,
    /// Reads the last 16 bytes of each file. In a texture, they are in the smallest mip.
    LastBytes,
    /// Reads one file in steps of 128 KiB.
    Sequential,
    /// Reads the texture of several chunks in steps of 128 KiB.
    Chunks,
    /// Reads 4 KiB at random offsets of one file, with this many readers.
    Random(usize),
    /// Reads all files in turn, in steps of 128 KiB.
    RoundRobin,
    /// Like [`Work::RoundRobin`] with this many readers, each on all files, while another thread
    /// keeps dropping the page cache.
    Pressure(usize),
    /// Stats each file [`STATS_PER_FILE`] times from four threads. With `two`, half of the threads
    /// spell folders in capitals.
    Spellings {
        two: bool,
    },
    /// Runs a program on the whole tree.
    Program(Program),
    /// Opens and reads whole files in a random order.
    Shuffled,
}

/// The files of a work.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    /// The folder to walk.
    pub(crate) tree: PathBuf,
    /// Paths of files, relative to the root.
    pub(crate) paths: Vec<PathBuf>,
    /// Number of random reads of all readers together.
    pub(crate) random_reads: usize,
}

/// A work's time and results.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub(crate) time: Duration,
    /// Number of stats or reads.
    pub(crate) operations: u64,
    /// Checksum of what was found, independent of the order.
    pub(crate) sum: u64,
}

/// Results so far.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    operations: u64,
    sum: u64,
}

/// Length of a read in bytes, as programs read.
const STEP: usize = 128 << 10;
const PAGE: u64 = 4096;
/// Path of the texture of several chunks.
const CHUNKS: &str = "textures/chunks.dds";
/// Number of stats of each file by each thread of [`Work::Spellings`].
const STATS_PER_FILE: usize = 20;

impl Work {
    pub(crate) fn label(self) -> String {
        match self {
            Self::Find => "find".into(),
            Self::Ls => "ls -lR".into(),
            Self::WalkStat => "walk + stat".into(),
            Self::OpenClose => "open + close".into(),
            Self::ReadWhole(1) => "read whole".into(),
            Self::ReadWhole(number) => format!("read whole, {}", readers(number)),
            Self::Sniff => "first 4 KiB of each".into(),
            Self::LastBytes => "last bytes of each".into(),
            Self::Sequential => "sequential, 128 KiB".into(),
            Self::Chunks => "texture of four chunks".into(),
            Self::Random(number) => format!("random 4 KiB, {}", readers(number)),
            Self::RoundRobin => "round-robin, 128 KiB".into(),
            Self::Pressure(number) => format!("round-robin, {}, caches dropped", readers(number)),
            Self::Spellings { two: false } => "stat, 4 threads, one spelling".into(),
            Self::Spellings { two: true } => "stat, 4 threads, two spellings".into(),
            Self::Program(program) => program.label().into(),
            Self::Shuffled => "read whole, random order".into(),
        }
    }

    /// Does the work below `root`.
    pub(crate) fn run(self, root: &Path, input: &Input) -> io::Result<Done> {
        let paths: Vec<PathBuf> = input.paths.iter().map(|path| root.join(path)).collect();
        let tree = root.join(&input.tree);
        let one = || paths.first().ok_or_else(|| io::Error::other("there is no file"));
        let start = Instant::now();
        let found = match self {
            Self::Find => find(&tree)?,
            Self::Ls => ls(&tree, &mut Attributes::default())?,
            Self::WalkStat => walk_stat(&tree)?,
            Self::OpenClose => open_close(&paths)?,
            Self::ReadWhole(readers) => {
                shared(readers, |reader| read_whole(paths.iter().skip(reader).step_by(readers)))?
            }
            Self::Sniff => ends(&paths, |_| 0)?,
            Self::LastBytes => ends(&paths, |len| len.saturating_sub(16))?,
            Self::Sequential => read_whole([one()?].into_iter())?,
            Self::Chunks => read_whole([&root.join(CHUNKS)].into_iter())?,
            Self::Random(readers) => {
                shared(readers, |reader| random(one()?, reader as u64, input.random_reads / readers))?
            }
            Self::RoundRobin => round_robin(&paths)?,
            Self::Pressure(readers) => pressure(&paths, readers)?,
            Self::Spellings { two } => spellings(root, input, two)?,
            Self::Program(program) => {
                let (time, sum) = program.run(&tree)?;
                return Ok(Done { time, operations: paths.len() as u64, sum });
            }
            Self::Shuffled => read_whole(shuffled(&paths).into_iter())?,
        };
        Ok(Done { time: start.elapsed(), operations: found.operations, sum: found.sum })
    }
}

impl Found {
    fn add(&mut self, bytes: &[u8]) {
        self.operations += 1;
        // FNV-1a of the length and of 16 bytes.
        let ends = bytes.iter().take(8).chain(bytes.iter().rev().take(8));
        let length = (bytes.len() as u64).to_le_bytes();
        let hash = length.iter().chain(ends).fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3)
        });
        self.sum = self.sum.wrapping_add(hash);
    }

    fn join(&mut self, other: Self) {
        self.operations += other.operations;
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

/// A number of readers, in words.
pub(crate) fn readers(number: usize) -> String {
    match number {
        1 => "1 reader".into(),
        number => format!("{number} readers"),
    }
}

fn find(folder: &Path) -> io::Result<Found> {
    let mut found = Found::default();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        found.add(entry.file_name().as_bytes());
        if entry.file_type()?.is_dir() {
            found.join(find(&entry.path())?);
        }
    }
    Ok(found)
}

/// Which extended attributes `ls -l` no longer reads, because the file system does not support them.
#[derive(Default)]
struct Attributes([bool; 2]);

impl Attributes {
    fn ask(&mut self, path: &Path) {
        for (name, is_unknown) in ["security.selinux", "system.posix_acl_access"].iter().zip(&mut self.0) {
            *is_unknown = *is_unknown
                || xattr::get(path, name).is_err_and(|error| error.kind() == io::ErrorKind::Unsupported);
        }
    }
}

fn ls(folder: &Path, attributes: &mut Attributes) -> io::Result<Found> {
    let mut names = fs::read_dir(folder)?.map(|it| Ok(it?.file_name())).collect::<io::Result<Vec<_>>>()?;
    names.sort_unstable();
    let mut found = Found::default();
    let mut folders = Vec::new();
    for name in names {
        let path = folder.join(&name);
        let metadata = path.symlink_metadata()?;
        attributes.ask(&path);
        found.add(name.as_bytes());
        if metadata.is_dir() {
            folders.push(path);
        } else {
            found.sum = found.sum.wrapping_add(metadata.len());
        }
    }
    for folder in folders {
        found.join(ls(&folder, attributes)?);
    }
    Ok(found)
}

fn walk_stat(folder: &Path) -> io::Result<Found> {
    let mut found = Found::default();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        found.add(entry.file_name().as_bytes());
        if metadata.is_dir() {
            found.join(walk_stat(&entry.path())?);
        } else {
            found.sum = found.sum.wrapping_add(metadata.len());
        }
    }
    Ok(found)
}

fn open_close(paths: &[PathBuf]) -> io::Result<Found> {
    let mut found = Found::default();
    for path in paths {
        File::open(path)?;
        found.add(&[]);
    }
    Ok(found)
}

fn read_whole<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> io::Result<Found> {
    let mut found = Found::default();
    let mut buffer = vec![0; STEP];
    for path in paths {
        let mut file = File::open(path)?;
        loop {
            let len = fill(&mut file, &mut buffer)?;
            if len == 0 {
                break;
            }
            found.add(&buffer[..len]);
        }
    }
    Ok(found)
}

/// The paths in an order that is random, but the same in each run.
fn shuffled(paths: &[PathBuf]) -> Vec<&PathBuf> {
    let mut numbers = Xorshift::new(5);
    let mut order: Vec<_> = paths.iter().map(|path| (numbers.next(), path)).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, path)| path).collect()
}

/// Reads until the buffer is full or the file ends, so that all subjects are read in the same steps.
fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut len = 0;
    while len < buffer.len() {
        match file.read(&mut buffer[len..])? {
            0 => break,
            more => len += more,
        }
    }
    Ok(len)
}

/// Reads 4 KiB of each file, from the offset that `from` returns for its length.
fn ends(paths: &[PathBuf], from: impl Fn(u64) -> u64) -> io::Result<Found> {
    let mut found = Found::default();
    let mut buffer = vec![0; PAGE as usize];
    for path in paths {
        let file = File::open(path)?;
        let offset = from(file.metadata()?.len());
        let len = file.read_at(&mut buffer, offset)?;
        found.add(&buffer[..len]);
    }
    Ok(found)
}

fn random(path: &Path, seed: u64, reads: usize) -> io::Result<Found> {
    let file = File::open(path)?;
    let pages = (file.metadata()?.len() / PAGE).max(1);
    let mut numbers = Xorshift::new(seed);
    let mut found = Found::default();
    let mut buffer = vec![0; PAGE as usize];
    for _ in 0..reads {
        let len = file.read_at(&mut buffer, (numbers.next() >> 16) % pages * PAGE)?;
        found.add(&buffer[..len]);
    }
    Ok(found)
}

fn round_robin(paths: &[PathBuf]) -> io::Result<Found> {
    let mut files = paths.iter().map(File::open).collect::<io::Result<Vec<_>>>()?;
    let mut found = Found::default();
    let mut buffer = vec![0; STEP];
    while !files.is_empty() {
        let mut failed = Ok(());
        files.retain_mut(|file| match fill(file, &mut buffer) {
            Ok(0) => false,
            Ok(len) => {
                found.add(&buffer[..len]);
                true
            }
            Err(error) => {
                failed = Err(error);
                false
            }
        });
        failed?;
    }
    Ok(found)
}

fn pressure(paths: &[PathBuf], readers: usize) -> io::Result<Found> {
    const INTERVAL: Duration = Duration::from_millis(20);
    let (readers_end, readers_ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            // Dropping `readers_end` wakes this thread at once, so that its wait is not part of the
            // measured time.
            loop {
                let _ = fs::write("/proc/sys/vm/drop_caches", "1");
                if readers_ended.recv_timeout(INTERVAL) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
        });
        let found = shared(readers, |_| round_robin(paths));
        drop(readers_end);
        found
    })
}

fn spellings(root: &Path, input: &Input, two: bool) -> io::Result<Found> {
    shared(4, |thread| {
        let spelled: Vec<PathBuf> = input
            .paths
            .iter()
            .map(|path| match (two && thread % 2 == 1, path.parent(), path.file_name()) {
                (true, Some(folder), Some(name)) => {
                    root.join(folder.to_string_lossy().to_ascii_uppercase()).join(name)
                }
                _ => root.join(path),
            })
            .collect();
        let mut found = Found::default();
        for path in (0..STATS_PER_FILE).flat_map(|_| &spelled) {
            found.sum = found.sum.wrapping_add(path.metadata()?.len());
            found.operations += 1;
        }
        Ok(found)
    })
}

/// Runs `work` on several threads with the index of each.
fn shared(threads: usize, work: impl Fn(usize) -> io::Result<Found> + Sync) -> io::Result<Found> {
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
        let mut found = Found::default();
        for thread in threads {
            let result = thread.join().map_err(|_| io::Error::other("a reader panicked"))?;
            found.join(result?);
        }
        Ok(found)
    })
}
