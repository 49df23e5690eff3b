//! From the command to the mount that answers, beside dream_archive's opening of the same archives; and what a daemon
//! holds afterwards.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::corpus::Set;
use crate::measure::{Log, median};
use crate::work::{Subjects, Work};
use crate::{Bench, Outcome, at, process, run};

/// What was measured of some archives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    pub(crate) archives: usize,
    pub(crate) files: usize,
    /// From the start of `bsafs mount` to its end, when the mount answers.
    pub(crate) ready: Duration,
    /// dream_archive's opening of the same archives, one after the other.
    pub(crate) dream: Duration,
    /// Anonymous memory of the daemon after a full walk, in bytes, and how much of it the cache holds.
    pub(crate) anonymous: u64,
    pub(crate) cached: u64,
}

impl Opening {
    pub(crate) fn ratio(&self) -> f64 {
        self.ready.as_secs_f64() / self.dream.as_secs_f64().max(1e-9)
    }

    /// Anonymous memory a file, in bytes, without what the cache holds.
    pub(crate) fn bytes_a_file(&self) -> f64 {
        self.anonymous.saturating_sub(self.cached) as f64 / self.files.max(1) as f64
    }
}

/// Opens the 200,000 files of one archive (of each kind), and those of many archives.
pub(crate) fn measure(bench: &Bench, log: &Log) -> Outcome<Vec<(String, Opening)>> {
    let small = Set::Small.folder(&bench.corpora);
    let mut measured = Vec::new();
    for name in ["v104.bsa", "v105.bsa", "gnrl.ba2"] {
        measured.push((name.to_owned(), open(bench, log, &[small.join(name)])?));
    }
    let folder = Set::Many.folder(&bench.corpora);
    let mut archives: Vec<PathBuf> = std::fs::read_dir(&folder)
        .map_err(at(&folder))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some())
        .collect();
    archives.sort_unstable();
    measured.push((format!("{} archives", archives.len()), open(bench, log, &archives)?));
    Ok(measured)
}

fn open(bench: &Bench, log: &Log, archives: &[PathBuf]) -> Outcome<Opening> {
    archives.iter().try_for_each(|path| process::warm(path))?;
    let (mut ready, mut dream) = (Vec::new(), Vec::new());
    for round in 0..bench.scale.rounds * 2 {
        if round > 0 && !log.has_time(bench) {
            break;
        }
        let (mounted, time) = bench.mount_all(archives)?;
        ready.push(time);
        drop(mounted);
        dream.push(open_dream(archives)?);
    }
    let (mounted, _) = bench.mount_all(archives)?;
    let to = Subjects { tree: PathBuf::new(), paths: Vec::new(), random_reads: 0 };
    Work::Ls.run(&mounted.root, &to)?;
    let status = mounted.status()?.ok_or("the daemon does not tell of itself")?;
    Ok(Opening {
        archives: archives.len(),
        files: status.files,
        ready: median(ready),
        dream: median(dream),
        anonymous: process::anonymous(status.pid)?,
        cached: status.cache.bytes,
    })
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
    /// Mounts archives as one tree; answers how long the command took.
    fn mount_all(&self, archives: &[PathBuf]) -> Outcome<(crate::mounts::Mounted, Duration)> {
        let root = self.mountpoint()?;
        let mut mounted = self.mounted(&root);
        let mut command = Command::new(&self.bsafs);
        command.arg("mount").args(archives).arg::<&Path>(&root);
        let start = Instant::now();
        run(&mut command)?;
        let time = start.elapsed();
        mounted.adopt_daemon()?;
        Ok((mounted, time))
    }
}
