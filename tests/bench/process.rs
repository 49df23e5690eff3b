//! What the system tells of processes and of itself, and what it can be told to forget.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::{Outcome, at, run};

/// Processor time of all threads of a process. A process that is gone took none.
pub(crate) fn cpu(pid: u32) -> Duration {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Duration::ZERO };
    threads.flatten().map(|thread| on_processor(&thread.path().join("schedstat"))).sum()
}

/// Processor time of the calling thread.
pub(crate) fn own_cpu() -> Duration {
    on_processor(Path::new("/proc/thread-self/schedstat"))
}

/// The first number of a `schedstat` is nanoseconds.
fn on_processor(schedstat: &Path) -> Duration {
    let text = fs::read_to_string(schedstat).unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|it| it.parse().ok()).unwrap_or(0))
}

/// Anonymous memory of a process, in bytes.
pub(crate) fn anonymous(pid: u32) -> Outcome<u64> {
    let path = format!("/proc/{pid}/status");
    let text = fs::read_to_string(&path).map_err(at(path.as_ref()))?;
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:")).ok_or("no RssAnon is told")?;
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes << 10)
}

/// Whether a process runs; one that ended and was not collected by its parent does not.
pub(crate) fn is_alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|text| text.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X'])))
}

/// Reads a file, so that it is in the page cache.
pub(crate) fn warm(path: &Path) -> Outcome<()> {
    let mut file = File::open(path).map_err(at(path))?;
    let mut buffer = vec![0; 1 << 20];
    while file.read(&mut buffer).map_err(at(path))? > 0 {}
    Ok(())
}

/// Makes the kernel forget files, names and numbers that it can read again.
pub(crate) fn drop_caches() -> Outcome<()> {
    run(&mut Command::new("sync"))?;
    let path = Path::new("/proc/sys/vm/drop_caches");
    fs::write(path, "3").map_err(at(path))
}

/// The calling thread, and all that it starts, on one processor until this goes.
pub(crate) struct Pinned(CpuSet);

impl Pinned {
    pub(crate) fn to_one() -> Outcome<Self> {
        let all = sched_getaffinity(None)?;
        let first = (0..CpuSet::MAX_CPU).find(|&cpu| all.is_set(cpu)).ok_or("there is no processor")?;
        let mut one = CpuSet::new();
        one.set(first);
        sched_setaffinity(None, &one)?;
        Ok(Self(all))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // Without it the rest would be measured on one processor.
        sched_setaffinity(None, &self.0).expect("a thread can go back to where it came from");
    }
}

/// How long a thread waits for another's answer that takes no time to make: what every request costs at the least.
pub(crate) fn round_trip() -> Duration {
    const TRIPS: u32 = 4000;
    let (ask, questions) = sync_channel::<()>(1);
    let (answer, answers) = sync_channel::<()>(1);
    thread::scope(|scope| {
        scope.spawn(move || questions.iter().all(|()| answer.send(()).is_ok()));
        let start = Instant::now();
        let done = (0..TRIPS).take_while(|_| ask.send(()).is_ok() && answers.recv().is_ok()).count();
        drop(ask);
        start.elapsed() / u32::try_from(done.max(1)).unwrap_or(TRIPS)
    })
}

/// Kernel, processors and date, for the head of a table.
pub(crate) fn machine() -> String {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let model = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = model.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    let date = Command::new("date").arg("+%Y-%m-%d").output().map(|it| it.stdout).unwrap_or_default();
    format!(
        "{}, Linux {}, {cores} processors ({})",
        String::from_utf8_lossy(&date).trim(),
        kernel.trim(),
        model.trim_start_matches([' ', '\t', ':']).trim()
    )
}
