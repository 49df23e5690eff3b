//! Measures how long `bsafs mount` takes until the mount serves. For comparison, dream_archive
//! opens the same archives, or a program lists the same folder. Then measures the daemon's memory.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::corpus::Set;
use crate::measure::median;
use crate::mounts::Subject;
use crate::work::{Input, Work};
use crate::{Bench, Outcome, at, process, run};

/// Sources that are mounted as one tree (archives, or a folder of loose files), and their measurements.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    pub(crate) name: String,
    pub(crate) sources: Vec<PathBuf>,
    pub(crate) compared: Compared,
    pub(crate) files: usize,
    /// Times from the start of `bsafs mount` to its end, when the mount serves.
    ready: Vec<Duration>,
    /// Times of the comparison.
    other: Vec<Duration>,
    /// Anonymous memory of the daemon after a full walk, in bytes.
    pub(crate) anonymous: u64,
    /// Bytes of that memory in the cache of decoded extents.
    cached: u64,
}

/// What the opening is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compared {
    /// dream_archive opens the same archives, one by one.
    DreamArchive,
    /// A listing of all names, without attributes.
    Listing,
}

/// Openings per round. They are short, so there are several.
const OPENINGS: usize = 3;

impl Opening {
    fn new(name: impl Into<String>, sources: Vec<PathBuf>, compared: Compared) -> Self {
        let name = name.into();
        let (ready, other) = (Vec::new(), Vec::new());
        Self { name, sources, compared, files: 0, ready, other, anonymous: 0, cached: 0 }
    }

    /// The sources to measure: one archive of many small files per format, many archives, and the
    /// small files loose.
    pub(crate) fn all(bench: &Bench) -> Outcome<Vec<Self>> {
        let small = Set::Small.folder(&bench.corpora);
        let archives = bench.many_archives()?;
        let names = ["v104.bsa", "v105.bsa", "gnrl.ba2"];
        let dream = Compared::DreamArchive;
        let one = |name| Self::new(Subject::ours(name).short(), vec![small.join(name)], dream);
        let mut all: Vec<Self> = names.map(one).into();
        all.push(Self::new(format!("{} archives", archives.len()), archives, dream));
        all.push(Self::new("loose files", vec![small.join("loose")], Compared::Listing));
        Ok(all)
    }

    /// Opens the sources [`OPENINGS`] times, in turn with the comparison.
    pub(crate) fn open(&mut self, bench: &Bench) -> Outcome<()> {
        match self.compared {
            Compared::DreamArchive => self.sources.iter().try_for_each(|path| process::warm(path))?,
            Compared::Listing => drop(self.open_other()?),
        }
        for _ in 0..OPENINGS {
            let (mounted, time) = bench.mount_all(&self.sources)?;
            self.ready.push(time);
            drop(mounted);
            self.other.push(self.open_other()?);
        }
        Ok(())
    }

    fn open_other(&self) -> Outcome<Duration> {
        let list = |folder: &PathBuf| Ok(Work::Find.run(folder, &nothing())?.time);
        match self.compared {
            Compared::DreamArchive => open_dream(&self.sources),
            Compared::Listing => self.sources.iter().map(list).sum(),
        }
    }

    /// Walks all files, then measures the daemon's memory.
    pub(crate) fn walk(&mut self, bench: &Bench) -> Outcome<()> {
        let (mounted, _) = bench.mount_all(&self.sources)?;
        Work::Ls.run(&mounted.root, &nothing())?;
        let status = mounted.status()?.ok_or("the daemon has no status")?;
        self.files = status.files;
        self.anonymous = process::anonymous(status.pid)?;
        self.cached = status.cache.bytes;
        Ok(())
    }

    pub(crate) fn ready(&self) -> Duration {
        median(&self.ready)
    }

    pub(crate) fn other(&self) -> Duration {
        median(&self.other)
    }

    pub(crate) fn ratio(&self) -> f64 {
        self.ready().as_secs_f64() / self.other().as_secs_f64().max(1e-9)
    }

    /// Anonymous memory per file in bytes, without the cache. `None` if the kernel reports less
    /// memory than the cache has.
    pub(crate) fn bytes_a_file(&self) -> Option<f64> {
        let bytes = self.anonymous.checked_sub(self.cached).filter(|bytes| *bytes > 0)?;
        Some(bytes as f64 / self.files.max(1) as f64)
    }
}

/// The input for works that walk a whole tree.
pub(crate) fn nothing() -> Input {
    Input { tree: PathBuf::new(), paths: Vec::new(), random_reads: 0 }
}

fn open_dream(archives: &[PathBuf]) -> Outcome<Duration> {
    let start = Instant::now();
    let opened = archives
        .iter()
        .map(dream_archive::Archive::open_path)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| format!("dream_archive: {error}"))?;
    let time = start.elapsed();
    drop(opened);
    Ok(time)
}

impl Bench {
    /// The archives of [`Set::Many`], sorted.
    pub(crate) fn many_archives(&self) -> Outcome<Vec<PathBuf>> {
        let folder = Set::Many.folder(&self.corpora);
        let mut archives: Vec<PathBuf> = std::fs::read_dir(&folder)
            .map_err(at(&folder))?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some())
            .collect();
        archives.sort_unstable();
        Ok(archives)
    }

    /// Mounts sources as one tree. Returns the mount and how long the command took.
    pub(crate) fn mount_all(&self, sources: &[PathBuf]) -> Outcome<(crate::mounts::Mounted, Duration)> {
        let root = self.mountpoint()?;
        let mut mounted = self.mounted(&root);
        let mut command = Command::new(&self.bsafs);
        command.arg("mount").args(sources).arg::<&Path>(&root);
        let start = Instant::now();
        run(&mut command)?;
        let time = start.elapsed();
        mounted.find_daemon()?;
        Ok((mounted, time))
    }
}
