//! Works on an emulated disk that seeks: 150 requests and 150 MB a second, read-ahead of 128 KiB, and an
//! empty page cache. The kernel's cgroups limit the processes that read.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::corpus::Set;
use crate::measure::files_below;
use crate::{Bench, Outcome, at, process, run};

const REQUESTS_PER_SECOND: u64 = 150;
const BYTES_PER_SECOND: u64 = 150_000_000;
/// Number of files of which the beginnings are read.
const BEGINNINGS: usize = 500;
/// The folder that has the files in many archives.
const MANY: &str = "many";
/// Names of works on one archive, and their scripts, in which `$0` is the mountpoint.
const WORKS: [(&str, &str); 7] = [
    ("tar", "tar -cf - -C \"$0\" . | cat >/dev/null"),
    ("grep -r", GREP),
    ("cp -r", "cp -r \"$0\" /dev/shm/bsafs-bench-slow; rm -rf /dev/shm/bsafs-bench-slow"),
    // Ten of the full size's 250 folders.
    (
        "cp -r of ten folders",
        "cp -r \"$0\"/data/region00 /dev/shm/bsafs-bench-slow; rm -rf /dev/shm/bsafs-bench-slow",
    ),
    ("ten files", "head -n 10 \"$0.list\" | xargs -n 1 cat >/dev/null"),
    ("ls -lR", "ls -lR \"$0\" >/dev/null"),
    ("first 4 KiB", "xargs -a \"$0.list\" -n 1 head -qc 4096 >/dev/null"),
];
const WORKS_OF_MANY: [(&str, &str); 1] = [("grep -r", GREP)];
const GREP: &str = "! grep -raF 'no file has this' \"$0\"";

/// What a program took on the slow disk.
#[derive(Debug)]
pub(crate) struct SlowRow {
    pub(crate) work: String,
    pub(crate) subject: String,
    pub(crate) time: Duration,
    /// Requests to the disk from the start of the program on.
    pub(crate) requests: u64,
}

/// Measures all works once. Returns none, with a message, if the system cannot limit a disk.
pub(crate) fn measure(bench: &Bench) -> Outcome<Vec<SlowRow>> {
    let folder = Set::Slow.folder(&bench.corpora);
    let disk = match SlowDisk::of(&folder) {
        Ok(disk) => disk,
        Err(error) => {
            eprintln!("bench: SKIPPED: the slow disk: {error}");
            return Ok(Vec::new());
        }
    };
    let mut rows = Vec::new();
    for archive in ["gnrl.ba2", "names.ba2", "random.ba2", "v104.bsa", "v105.bsa", MANY] {
        let path = folder.join(archive);
        let (cat, works) = if archive == MANY {
            ("cat \"$0\"/*.ba2 >/dev/null", &WORKS_OF_MANY[..])
        } else {
            ("cat \"$0\" >/dev/null", &WORKS[..])
        };
        rows.push(disk.measure("cat", archive, || disk.run(cat, &path))?);
        for (work, script) in works {
            process::drop_caches()?;
            let root = bench.mountpoint()?;
            let mounted = bench.mounted(&root);
            // A folder of archives is mounted as these archives.
            let sources = if path.is_dir() { "/*.ba2" } else { "" };
            let (program, path) = (bench.bsafs.display(), path.display());
            disk.run(&format!("'{program}' mount '{path}'{sources} \"$0\" >/dev/null"), &root)?;
            if script.contains("$0.list") {
                write_list(&folder.join("loose"), &root)?;
            }
            rows.push(disk.measure_mounted(work, archive, || disk.run(script, &root))?);
            drop(mounted);
        }
    }
    let image = folder.join("gzip.sqfs");
    let root = bench.mountpoint()?;
    let mounted = bench.mounted(&root);
    process::drop_caches()?;
    disk.run(&format!("squashfuse_ll '{}' \"$0\"", image.display()), &root)?;
    let script = "tar -cf - -C \"$0\" . | cat >/dev/null";
    rows.push(disk.measure_mounted("tar", "squashfuse_ll", || disk.run(script, &root))?);
    run(Command::new("umount").arg(&root))?;
    drop(mounted);
    Ok(rows)
}

/// Writes a list of files of the mount in `root`, in an order that is not that of the disk, beside it.
fn write_list(loose: &Path, root: &Path) -> Outcome<()> {
    let mut files = Vec::new();
    files_below(loose, loose, &mut files)?;
    files.sort();
    let count = files.len().max(1);
    let chosen = (0..BEGINNINGS.min(count)).map(|number| &files[number * 7_919 % count]);
    let list: String = chosen.map(|path| format!("{}\n", root.join(path).display())).collect();
    let to = PathBuf::from(format!("{}.list", root.display()));
    fs::write(&to, list).map_err(at(&to))
}

/// A disk with limits, for the processes of one control group. The limits end with the value.
struct SlowDisk {
    group: PathBuf,
    /// The file that counts requests.
    counts: PathBuf,
    /// Device number, as `8:0`.
    device: String,
    read_ahead: (PathBuf, String),
}

impl SlowDisk {
    /// Limits the disk of a folder.
    fn of(folder: &Path) -> Outcome<Self> {
        let partition = output(Command::new("findmnt").args(["-no", "SOURCE", "-T"]).arg(folder))?;
        let parent =
            output(Command::new("lsblk").args(["-no", "PKNAME"]).arg(&partition)).unwrap_or_default();
        let disk = parent.lines().next().filter(|it| !it.is_empty()).map(str::to_owned);
        let disk = disk.or_else(|| Some(Path::new(&partition).file_name()?.to_str()?.to_owned()));
        let block = Path::new("/sys/class/block").join(disk.ok_or("the folder has no disk")?);
        let read =
            |path: &Path| fs::read_to_string(path).map(|text| text.trim().to_owned()).map_err(at(path));
        let device = read(&block.join("dev"))?;
        let write = |path: PathBuf, text: String| fs::write(&path, text).map_err(at(&path));
        let (v1, v2) = (Path::new("/sys/fs/cgroup/blkio"), Path::new("/sys/fs/cgroup"));
        let group = if v1.is_dir() { v1 } else { v2 }.join("bsafs-bench");
        fs::create_dir_all(&group).map_err(at(&group))?;
        let counts = if v1.is_dir() {
            let limit = |what: &str, limit: u64| {
                write(group.join(format!("blkio.throttle.read_{what}_device")), format!("{device} {limit}"))
            };
            limit("iops", REQUESTS_PER_SECOND)?;
            limit("bps", BYTES_PER_SECOND)?;
            group.join("blkio.throttle.io_serviced")
        } else {
            write(v2.join("cgroup.subtree_control"), "+io".into())?;
            let limits = format!("{device} riops={REQUESTS_PER_SECOND} rbps={BYTES_PER_SECOND}");
            write(group.join("io.max"), limits)?;
            group.join("io.stat")
        };
        let ahead = block.join("queue/read_ahead_kb");
        let before = read(&ahead)?;
        let disk = Self { group, counts, device, read_ahead: (ahead.clone(), before) };
        write(ahead, "128".into())?;
        Ok(disk)
    }

    /// Runs a script in the group. Its `$0` is a path.
    fn run(&self, script: &str, path: &Path) -> Outcome<()> {
        let join = format!("echo $$ > '{}'; {script}", self.group.join("cgroup.procs").display());
        run(Command::new("sh").args(["-c", &join]).arg(path).stdout(Stdio::null()))
    }

    /// Measures a work with an empty page cache.
    fn measure(&self, work: &str, subject: &str, job: impl FnOnce() -> Outcome<()>) -> Outcome<SlowRow> {
        process::drop_caches()?;
        self.measure_mounted(work, subject, job)
    }

    /// Measures a work with the page cache as it is after a mount.
    fn measure_mounted(
        &self,
        work: &str,
        subject: &str,
        job: impl FnOnce() -> Outcome<()>,
    ) -> Outcome<SlowRow> {
        let (before, start) = (self.requests()?, Instant::now());
        job()?;
        let (time, requests) = (start.elapsed(), self.requests()?.saturating_sub(before));
        Ok(SlowRow { work: work.into(), subject: subject.into(), time, requests })
    }

    /// The number of reads that the group has requested from the disk so far.
    fn requests(&self) -> Outcome<u64> {
        let text = fs::read_to_string(&self.counts).map_err(at(&self.counts))?;
        let of_disk = text.lines().filter(|line| line.starts_with(&format!("{} ", self.device)));
        let number = |line: &str| {
            let mut words = line.split_whitespace();
            // `8:0 Read 5`, or `8:0 rbytes=1 wbytes=2 rios=5 ...`.
            let stated = words.clone().find_map(|word| word.strip_prefix("rios=")?.parse::<u64>().ok());
            stated.or_else(|| words.find(|word| *word == "Read").and_then(|_| words.next()?.parse().ok()))
        };
        Ok(of_disk.filter_map(number).sum())
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        let _ = fs::write(&self.read_ahead.0, &self.read_ahead.1);
        // Fails while a process of the group runs.
        let _ = fs::remove_dir(&self.group);
    }
}

fn output(command: &mut Command) -> Outcome<String> {
    let output = command.output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
