//! The time from the command to the mount that serves, compared with dream_archive's opening of the same archives; and
//! the daemon's memory afterwards.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::corpus::Set;
use crate::measure::median;
use crate::work::{Input, Work};
use crate::{Bench, Outcome, at, process, run};

/// Archives that are mounted as one tree, and their measurements.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    pub(crate) name: String,
    pub(crate) archives: Vec<PathBuf>,
    pub(crate) files: usize,
    /// From the start of `bsafs mount` to its end, when the mount serves.
    ready: Vec<Duration>,
    /// dream_archive's opening of the same archives, one by one.
    dream: Vec<Duration>,
    /// Anonymous memory of the daemon after a full walk, in bytes.
    pub(crate) anonymous: u64,
    /// Bytes of it in the cache of decoded extents.
    cached: u64,
}

/// Openings in a round: they are short.
const OPENINGS: usize = 3;

impl Opening {
    fn new(name: impl Into<String>, archives: Vec<PathBuf>) -> Self {
        let name = name.into();
        Self { name, archives, files: 0, ready: Vec::new(), dream: Vec::new(), anonymous: 0, cached: 0 }
    }

    /// One archive of many small files in each format, and many archives.
    pub(crate) fn all(bench: &Bench) -> Outcome<Vec<Self>> {
        let small = Set::Small.folder(&bench.corpora);
        let folder = Set::Many.folder(&bench.corpora);
        let mut archives: Vec<PathBuf> = std::fs::read_dir(&folder)
            .map_err(at(&folder))?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some())
            .collect();
        archives.sort_unstable();
        let names = ["v104.bsa", "v105.bsa", "gnrl.ba2"];
        let mut all: Vec<Self> = names.map(|name| Self::new(name, vec![small.join(name)])).into();
        all.push(Self::new(format!("{} archives", archives.len()), archives));
        Ok(all)
    }

    /// Opens them [`OPENINGS`] times, by ours and by dream_archive in turn.
    pub(crate) fn open(&mut self, bench: &Bench) -> Outcome<()> {
        self.archives.iter().try_for_each(|path| process::warm(path))?;
        for _ in 0..OPENINGS {
            let (mounted, time) = bench.mount_all(&self.archives)?;
            self.ready.push(time);
            drop(mounted);
            self.dream.push(open_dream(&self.archives)?);
        }
        Ok(())
    }

    /// Walks all files, then measures the daemon's memory.
    pub(crate) fn walk(&mut self, bench: &Bench) -> Outcome<()> {
        let (mounted, _) = bench.mount_all(&self.archives)?;
        let input = Input { tree: PathBuf::new(), paths: Vec::new(), random_reads: 0 };
        Work::Ls.run(&mounted.root, &input)?;
        let status = mounted.status()?.ok_or("the daemon has no status")?;
        self.files = status.files;
        self.anonymous = process::anonymous(status.pid)?;
        self.cached = status.cache.bytes;
        Ok(())
    }

    pub(crate) fn ready(&self) -> Duration {
        median(&self.ready)
    }

    pub(crate) fn dream(&self) -> Duration {
        median(&self.dream)
    }

    pub(crate) fn ratio(&self) -> f64 {
        self.ready().as_secs_f64() / self.dream().as_secs_f64().max(1e-9)
    }

    /// Anonymous memory a file, in bytes, without the cache; `None` where the kernel reports less than the cache holds.
    pub(crate) fn bytes_a_file(&self) -> Option<f64> {
        let bytes = self.anonymous.checked_sub(self.cached).filter(|bytes| *bytes > 0)?;
        Some(bytes as f64 / self.files.max(1) as f64)
    }
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
    /// Mounts archives as one tree; returns the mount and the time of the command.
    fn mount_all(&self, archives: &[PathBuf]) -> Outcome<(crate::mounts::Mounted, Duration)> {
        let root = self.mountpoint()?;
        let mut mounted = self.mounted(&root);
        let mut command = Command::new(&self.bsafs);
        command.arg("mount").args(archives).arg::<&Path>(&root);
        let start = Instant::now();
        run(&mut command)?;
        let time = start.elapsed();
        mounted.find_daemon()?;
        Ok((mounted, time))
    }
}
