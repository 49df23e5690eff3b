//! A daemon's memory, threads and descriptors over its life, taken while no reader acts, and whether they grew.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bsafs::fs::{DaemonStatus, STATUS_LINK};

use crate::Outcome;

/// Fewer settled samples show no trend of memory.
const ENOUGH: usize = 8;
/// While caches and buffers fill, memory grows: for so long, and for one part in so many of a longer life.
const WARM_UP: Duration = Duration::from_secs(30);
const WARM_UP_PART: u32 = 5;
/// The median of the last quarter of the settled samples may be this much above that of the first quarter. The heap keeps
/// its largest extent: it grows by steps of some MiB to what the cache and the workers need together, and the last steps may
/// come late. Smaller leaks need longer runs.
const GROWTH_KIB: u64 = 16 << 10;

/// What the kernel reports of a daemon at one moment. Memory is in KiB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Since the mount.
    pub(crate) age: Duration,
    pub(crate) resident: u64,
    /// The most so far.
    pub(crate) peak: u64,
    pub(crate) threads: u64,
    pub(crate) descriptors: u64,
}

/// How long large buffers wait for their next use: two looks of a second, and some more.
const BUFFERS_WAIT: Duration = Duration::from_millis(2_500);
/// Threads of a device, which come and go with its work. Loose files that were replaced while they were open count as a second one.
const DEVICE_THREADS: u64 = 4;
const DEVICES: u64 = 2;

/// Descriptors that a daemon which follows the disk may have more at one time than at another: 128 loose files of the view and as
/// many of the one before, 128 loose files and 8 archives that were replaced while they were open. A run of ten minutes makes more
/// views than that.
const DESCRIPTORS: u64 = 3 * 128 + 8;

/// A daemon's samples, in the order of time.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) pid: i32,
    mountpoint: PathBuf,
    /// Whether it follows the disk.
    follows: bool,
    began: Instant,
    pub(crate) samples: Vec<Sample>,
}

impl Life {
    pub(crate) fn new(pid: i32, mountpoint: &Path, follows: bool) -> Self {
        let mountpoint = mountpoint.to_owned();
        Self { pid, mountpoint, follows, began: Instant::now(), samples: Vec::new() }
    }

    /// Takes a sample, once the daemon has nothing to do.
    pub(crate) fn sample(&mut self) -> Outcome<()> {
        wait_until_idle(self.pid);
        wait_for_cache(&self.mountpoint);
        // Large buffers that wait for their next use are given back.
        sleep(BUFFERS_WAIT);
        self.samples.push(Sample::of(self.pid, self.began.elapsed())?);
        Ok(())
    }

    /// Why it fails the run: descriptors must stay as they were, or within [`DESCRIPTORS`] of the fewest where it follows the disk,
    /// threads within those of a device, memory within [`GROWTH_KIB`].
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

    /// The medians of resident memory in the first and the last quarter after the warm-up.
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

/// Waits until the cache is back at its size; not for long, for the daemon may be dead.
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

/// Waits until none of a process's threads has run for a while: the kernel's own requests go on after readers have ended.
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
