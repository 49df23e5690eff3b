//! Samples a daemon's memory, threads and descriptors while no reader acts, and checks whether they grew.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bsafs::fs::{DaemonStatus, STATUS_LINK};

use crate::Outcome;

/// Minimum number of settled samples for a trend of memory.
const ENOUGH: usize = 8;
/// Memory grows while caches and buffers fill. Samples are ignored for this time, or for one part
/// in [`WARM_UP_PART`] of a longer life.
const WARM_UP: Duration = Duration::from_secs(30);
const WARM_UP_PART: u32 = 5;
/// Maximum growth of the median from the first to the last quarter of the settled samples. The heap
/// stays at its largest size. It grows by steps of some MiB to what the cache and the workers need
/// together, and the last steps may come late. Smaller leaks need longer runs.
const GROWTH_KIB: u64 = 16 << 10;

/// The kernel's figures for a daemon at one moment. Memory is in KiB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Time since the mount.
    pub(crate) age: Duration,
    pub(crate) resident: u64,
    /// The part of `resident` that is no file.
    pub(crate) anonymous: u64,
    /// Maximum of `resident` so far.
    pub(crate) peak: u64,
    pub(crate) threads: u64,
    pub(crate) descriptors: u64,
}

/// How long the daemon keeps large buffers for reuse: two checks that are a second apart, and some more.
const BUFFERS_WAIT: Duration = Duration::from_millis(2_500);
/// Maximum number of threads of a device, which come and go with its work. Loose files that were
/// replaced while they were open count as a second device.
const DEVICE_THREADS: u64 = 4;
const DEVICES: u64 = 2;

/// Maximum variation of the number of descriptors in a daemon that follows the disk. It may have
/// 128 loose files of the view, 128 of the previous view, and 128 loose files and 8 archives that
/// were replaced while they were open. A run of ten minutes makes more views than that, so one
/// leaked descriptor per view is found.
const DESCRIPTORS: u64 = 3 * 128 + 8;

/// Samples of a daemon, in order of time.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) pid: i32,
    mountpoint: PathBuf,
    /// Whether the mount follows the disk.
    follows: bool,
    began: Instant,
    pub(crate) samples: Vec<Sample>,
}

impl Life {
    pub(crate) fn new(pid: i32, mountpoint: &Path, follows: bool) -> Self {
        let mountpoint = mountpoint.to_owned();
        Self { pid, mountpoint, follows, began: Instant::now(), samples: Vec::new() }
    }

    /// Takes a sample, once the daemon is idle.
    pub(crate) fn sample(&mut self) -> Outcome<()> {
        wait_until_idle(self.pid);
        wait_for_cache(&self.mountpoint);
        // The daemon frees large buffers after this time without use.
        sleep(BUFFERS_WAIT);
        self.samples.push(Sample::of(self.pid, self.began.elapsed())?);
        Ok(())
    }

    /// Why the daemon fails the run, if it does. Descriptors must stay constant, or within
    /// [`DESCRIPTORS`] of the minimum if the mount follows the disk. Threads must stay within those
    /// of its devices, and memory within [`GROWTH_KIB`].
    pub(crate) fn fault(&self) -> Option<String> {
        let threads = self.samples.iter().map(|it| it.threads).min()?;
        let fewest = self.samples.iter().map(|it| it.descriptors).min()?;
        let (more, devices) = if self.follows { (DESCRIPTORS, DEVICES) } else { (0, 1) };
        let is_other =
            |it: &&Sample| it.descriptors > fewest + more || it.threads > threads + devices * DEVICE_THREADS;
        let changed = self.samples.iter().find(is_other);
        if let Some(it) = changed {
            return Some(format!(
                "daemon {}: {fewest} descriptors and {threads} threads at least, then {} and {}",
                self.pid, it.descriptors, it.threads
            ));
        }
        let (first, last) = self.trend()?;
        (last > first + GROWTH_KIB).then(|| {
            let all: Vec<u64> = self.samples.iter().map(|it| it.resident).collect();
            format!("daemon {}: resident memory grew from {first} to {last} KiB: {all:?}", self.pid)
        })
    }

    /// Medians of resident memory in the first and the last quarter after the warm-up.
    pub(crate) fn trend(&self) -> Option<(u64, u64)> {
        let warm_up = WARM_UP.max(self.samples.last()?.age / WARM_UP_PART);
        let settled = &self.samples[self.samples.partition_point(|it| it.age < warm_up)..];
        let quarter = settled.len() / 4;
        (settled.len() >= ENOUGH)
            .then(|| (median(&settled[..quarter]), median(&settled[settled.len() - quarter..])))
    }
}

impl Sample {
    fn of(pid: i32, age: Duration) -> Outcome<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))
            .map_err(|error| format!("daemon {pid} is gone: {error}"))?;
        let number = |field: &str| -> Outcome<u64> {
            let value = status.lines().find_map(|line| line.strip_prefix(field)).ok_or("no such field")?;
            Ok(value.trim().trim_end_matches(" kB").parse()?)
        };
        Ok(Self {
            age,
            resident: number("VmRSS:")?,
            anonymous: number("RssAnon:")?,
            peak: number("VmHWM:")?,
            threads: number("Threads:")?,
            descriptors: fs::read_dir(format!("/proc/{pid}/fd"))?.count() as u64,
        })
    }
}

fn median(samples: &[Sample]) -> u64 {
    let mut values: Vec<u64> = samples.iter().map(|it| it.resident).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

/// Waits until the cache is back within its size, but not for long, because the daemon may be dead.
fn wait_for_cache(mountpoint: &Path) {
    let start = Instant::now();
    let is_over = || {
        let text = fs::read_link(mountpoint.join(STATUS_LINK)).ok()?;
        let status: DaemonStatus = serde_json::from_str(text.to_str()?).ok()?;
        Some(status.cache.bytes > status.cache.budget)
    };
    while is_over() == Some(true) && start.elapsed() < Duration::from_secs(10) {
        sleep(Duration::from_millis(50));
    }
}

/// Waits until no thread of a process has run for a while. The kernel's own requests go on after
/// readers have ended.
fn wait_until_idle(pid: i32) {
    const WHILE: Duration = Duration::from_millis(20);
    let start = Instant::now();
    let mut before = None;
    while start.elapsed() < Duration::from_secs(2) {
        let now = on_processor(pid);
        if before == Some(now) {
            return;
        }
        before = Some(now);
        sleep(WHILE);
    }
}

/// Nanoseconds that all threads of a process have run: the first number of each `schedstat`.
fn on_processor(pid: i32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of = |text: String| text.split(' ').next().and_then(|it| it.parse::<u64>().ok());
    threads.filter_map(|it| fs::read_to_string(it.path().join("schedstat")).ok()).filter_map(of).sum()
}
