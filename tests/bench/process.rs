//! Facts from the kernel: processor time and memory of processes, the page cache, and the machine.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::{Outcome, at, run};

/// Processor time of all threads of a process; zero if it has ended.
pub(crate) fn cpu(pid: u32) -> Duration {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Duration::ZERO };
    threads.flatten().map(|thread| on_processor(&thread.path().join("schedstat"))).sum()
}

/// Processor time of a process in steps of 10 ms, including that of threads that have ended.
pub(crate) fn total_cpu(pid: u32) -> Outcome<Duration> {
    let path = format!("/proc/{pid}/stat");
    let text = fs::read_to_string(&path).map_err(at(path.as_ref()))?;
    // The name of the program, in parentheses, may have spaces. The two times are the 12th and 13th after it.
    let fields = text.rsplit_once(") ").map_or("", |it| it.1);
    let ticks: u64 = fields.split(' ').skip(11).take(2).map(str::parse::<u64>).sum::<Result<_, _>>()?;
    // Linux reports a hundred ticks a second on all processors that bsafs runs on.
    Ok(Duration::from_millis(10 * ticks))
}

/// Processor time of the calling thread.
pub(crate) fn own_cpu() -> Duration {
    on_processor(Path::new("/proc/thread-self/schedstat"))
}

/// Reads the first number of a `schedstat`: the time on a processor in nanoseconds.
fn on_processor(schedstat: &Path) -> Duration {
    let text = fs::read_to_string(schedstat).unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|it| it.parse().ok()).unwrap_or(0))
}

/// Anonymous memory of a process, in bytes.
pub(crate) fn anonymous(pid: u32) -> Outcome<u64> {
    memory(pid, "RssAnon:")
}

/// Resident memory of a process, in bytes. Unlike anonymous memory, it includes mapped tables of archives.
pub(crate) fn resident(pid: u32) -> Outcome<u64> {
    memory(pid, "VmRSS:")
}

/// The largest resident memory that a process has had, in bytes.
pub(crate) fn peak(pid: u32) -> Outcome<u64> {
    memory(pid, "VmHWM:")
}

fn memory(pid: u32, field: &str) -> Outcome<u64> {
    let path = format!("/proc/{pid}/status");
    let text = fs::read_to_string(&path).map_err(at(path.as_ref()))?;
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let line = line.ok_or_else(|| format!("{path} has no {field}"))?;
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes << 10)
}

/// Whether a process exists and is not a zombie.
pub(crate) fn is_alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|text| text.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X'])))
}

/// Reads a file to get it into the page cache.
pub(crate) fn warm(path: &Path) -> Outcome<()> {
    let mut file = File::open(path).map_err(at(path))?;
    let mut buffer = vec![0; 1 << 20];
    while file.read(&mut buffer).map_err(at(path))? > 0 {}
    Ok(())
}

/// Drops the page cache, dentries and inodes.
pub(crate) fn drop_caches() -> Outcome<()> {
    run(&mut Command::new("sync"))?;
    let path = Path::new("/proc/sys/vm/drop_caches");
    fs::write(path, "3").map_err(at(path))
}

/// Keeps the calling thread, and all threads and processes that it starts, on one processor until dropped.
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
        // If this failed, the rest of the run would be measured on one processor.
        sched_setaffinity(None, &self.0).expect("a thread can get its processors back");
    }
}

/// Time of a round trip between two threads, which is a lower bound for a request.
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

/// Date, commit, kernel and processors, for the head of the report.
pub(crate) fn machine() -> String {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let model = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = model.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    let output = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().map(|it| it.stdout).unwrap_or_default();
        String::from_utf8_lossy(&output).trim().to_owned()
    };
    let date = output("date", &["+%Y-%m-%d"]);
    let commit = output("git", &["describe", "--always", "--dirty"]);
    let (kernel, model) = (kernel.trim(), model.trim_start_matches([' ', '\t', ':']).trim());
    format!("{date}, commit {commit}, Linux {kernel}, {cores} processors ({model})")
}
