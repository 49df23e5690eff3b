//! Measures what changes of loose files cost in a mounted instance: how soon a saved file is shown, and the
//! daemon's processor time and memory. A second part writes new files at a steady rate, as generators of
//! distant landscapes do.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bsafs::fs::WatchCounts;
use rustix::io::Errno;

use crate::instance::Instance;
use crate::measure::{median, percentiles};
use crate::opening::nothing;
use crate::work::Work;
use crate::{Bench, Outcome, at, process, run};

/// An instance and its measurements.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    pub(crate) instance: Instance,
    /// Times from the start of `bsafs mount` to its end, when the mount serves.
    ready: Vec<Duration>,
    /// Times in which `find -size` stats the same files.
    listing: Vec<Duration>,
    /// Times from the rename of a saved file until a reader of its path gets the new content.
    shown: Vec<Duration>,
    /// The same if there are watches for a tenth of the folders, and a program has just read the file.
    few_watches: Vec<Duration>,
    /// How many folders are watched, used and checked then.
    pub(crate) watches: WatchCounts,
    /// Processor times of the daemon for one change.
    costs: Vec<Duration>,
    pub(crate) errors: Errors,
    /// Resident memory of the daemon before and after the changes, in bytes.
    pub(crate) memory: [u64; 2],
    pub(crate) generated: Generated,
}

/// Errors that readers of changing files got.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Errors {
    pub(crate) io: usize,
    pub(crate) stale: usize,
    pub(crate) other: usize,
}

/// Effects of writing files at a steady rate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Generated {
    /// Time in which the files were written.
    pub(crate) writing: Duration,
    /// Processor time of the daemon meanwhile.
    pub(crate) cpu: Duration,
    /// Time from the last write until all files were shown.
    pub(crate) shown: Duration,
}

/// Mounts per round.
const MOUNTS: usize = 3;
/// The daemon's processor time is measured for changes after this many, so that all its buffers are in use.
const BEFORE_COSTS: usize = 20;
/// Number of changes whose processor time is measured, if there are twice as many.
const COSTS: usize = 3;
/// Pause between two reads of a file that is not shown yet.
const STEP: Duration = Duration::from_millis(1);
/// The daemon is idle after this time without any processor time. It is longer than the daemon waits for
/// further changes before it shows one.
const IDLE: Duration = Duration::from_millis(2_500);
/// A change that is not shown after this time is never shown.
const LIMIT: Duration = Duration::from_secs(60);
/// Interval between two files of the generator: 50 a second.
const INTERVAL: Duration = Duration::from_millis(20);
/// With few watches, one in this many folders is watched.
const FEW: usize = 10;
/// Time from the reading of a file until it is saved.
const EDITING: Duration = Duration::from_secs(2);
/// One in this many generated files hides the file of a mod.
const HIDING: usize = 5;
const PER_FOLDER: usize = 100;

impl Changes {
    pub(crate) fn all(bench: &Bench) -> Vec<Self> {
        let of = |&mods| Self { instance: Instance { mods }, ..Self::default() };
        bench.scale.instances.mods.iter().map(of).collect()
    }

    /// Measures one round: mounts in every round, and all changes in the first.
    pub(crate) fn measure(&mut self, bench: &Bench) -> Outcome<()> {
        let overwrite = self.instance.overwrite(&bench.corpora);
        // A run that was ended early leaves generated files.
        empty(&overwrite)?;
        let sources = [self.instance.root(&bench.corpora)];
        let folders = self.instance.loose(&bench.corpora);
        let list = || -> Outcome<Duration> {
            let start = Instant::now();
            run(Command::new("find").args(&folders).args(["-size", "+1G"]))?;
            Ok(start.elapsed())
        };
        list()?;
        for _ in 0..MOUNTS {
            self.ready.push(bench.mount_all(&sources)?.1);
            self.listing.push(list()?);
        }
        if self.shown.is_empty() {
            let (mounted, _) = bench.mount_all(&sources)?;
            let pid = mounted.daemon().ok_or("the mount has no daemon")?;
            // Kernel and daemon then know all files, as after a program has walked the mount.
            Work::Find.run(&mounted.root, &nothing())?;
            self.change_files(bench, &mounted.root, pid)?;
            self.generate(bench, &mounted.root, pid)?;
            let watches = mounted.status()?.ok_or("the mount has no status")?.watches;
            drop(mounted);
            // What was generated would hide some of the files that change next.
            empty(&overwrite)?;
            self.change_used(bench, (watches.watched + watches.polled) / FEW)?;
        }
        Ok(())
    }

    fn change_files(&mut self, bench: &Bench, root: &Path, pid: u32) -> Outcome<()> {
        wait_until_idle(pid)?;
        self.memory[0] = process::resident(pid)?;
        let count = bench.scale.instances.changes;
        let costs = COSTS.min(count / 2);
        let measured = (count - costs).min(BEFORE_COSTS);
        for number in 0..count {
            let (path, shown) = self.changing(bench, root, number);
            if (measured..measured + costs).contains(&number) {
                wait_until_idle(pid)?;
                let before = process::total_cpu(pid)?;
                let (content, _) = save(&path, number)?;
                // Reading the file at once would add the cost of these requests.
                wait_until_idle(pid)?;
                self.costs.push(process::total_cpu(pid)?.saturating_sub(before));
                self.wait_until_shown(&shown, &content)?;
            } else {
                // Every third file was read before, so that the kernel has its old content.
                if number.is_multiple_of(3) {
                    fs::read(&shown).map_err(at(&shown))?;
                }
                let (content, start) = save(&path, number)?;
                self.wait_until_shown(&shown, &content)?;
                self.shown.push(start.elapsed());
            }
        }
        wait_until_idle(pid)?;
        self.memory[1] = process::resident(pid)?;
        Ok(())
    }

    /// Changes files in a mount that may watch only so many folders. A program reads each file before.
    fn change_used(&mut self, bench: &Bench, watches: usize) -> Outcome<()> {
        let mounted = bench.mount_with_watches(&[self.instance.root(&bench.corpora)], watches)?;
        let root = mounted.root.clone();
        Work::Find.run(&root, &nothing())?;
        for number in 0..bench.scale.instances.changes.div_ceil(5) {
            // Other files than before, half of whose folders are not watched at first.
            let (path, shown) = self.changing(bench, &root, number + bench.scale.instances.changes);
            fs::read(&shown).map_err(at(&shown))?;
            sleep(EDITING);
            let (content, start) = save(&path, number)?;
            self.wait_until_shown(&shown, &content)?;
            self.few_watches.push(start.elapsed());
        }
        self.watches = mounted.reported().ok_or("the mount has no status")?.watches;
        Ok(())
    }

    /// Paths of the file of a change: in its mod, and in the mount. Files in a folder of a single mod take
    /// turns with files in a folder that many mods have.
    fn changing(&self, bench: &Bench, root: &Path, number: usize) -> (PathBuf, PathBuf) {
        let instance = self.instance;
        let (owner, path) = if number.is_multiple_of(2) {
            (number * 7 % instance.mods, instance.own_file(number * 7 % instance.mods))
        } else {
            (instance.mods - 1, instance.winning_file(number))
        };
        (instance.mod_folder(&bench.corpora, owner).join(&path), root.join(path))
    }

    /// Reads a file until it has this content.
    fn wait_until_shown(&mut self, path: &Path, content: &str) -> Outcome<()> {
        let start = Instant::now();
        loop {
            match fs::read(path) {
                Ok(found) if found == content.as_bytes() => return Ok(()),
                Ok(_) => {}
                Err(error) => self.errors.add(&error),
            }
            if start.elapsed() > LIMIT {
                return Err(format!("{}: a change was not shown after {LIMIT:?}", path.display()).into());
            }
            sleep(STEP);
        }
    }

    /// Writes files at a steady rate into the folder of overwritten files, whose files win.
    fn generate(&mut self, bench: &Bench, root: &Path, pid: u32) -> Outcome<()> {
        let count = (bench.scale.instances.generator.as_secs_f64() / INTERVAL.as_secs_f64()) as usize;
        let overwrite = self.instance.overwrite(&bench.corpora);
        let path = |number: usize| match number % HIDING {
            0 => self.instance.own_file(number / HIDING % self.instance.mods),
            _ => format!("textures/lod/set{:03}/lod{number:05}.dds", number / PER_FOLDER).into(),
        };
        let before = process::total_cpu(pid)?;
        let start = Instant::now();
        for number in 0..count {
            let file = overwrite.join(path(number));
            let folder = file.parent().unwrap_or(&file);
            fs::create_dir_all(folder).map_err(at(folder))?;
            fs::write(&file, generated(number)).map_err(at(&file))?;
            let next = INTERVAL * (number as u32 + 1);
            sleep(next.saturating_sub(start.elapsed()));
        }
        let writing = start.elapsed();
        let cpu = process::total_cpu(pid)?.saturating_sub(before);
        let end = Instant::now();
        // A later file may have replaced one of the same path.
        let last: std::collections::BTreeMap<PathBuf, usize> =
            (0..count).map(|number| (path(number), number)).collect();
        let mut files: Vec<(usize, PathBuf)> =
            last.into_iter().map(|(path, number)| (number, path)).collect();
        // The last one is probably shown last, so waiting for it spares most reads of the others.
        files.sort_unstable_by_key(|(number, _)| std::cmp::Reverse(*number));
        for (number, path) in files {
            self.wait_until_shown(&root.join(path), &generated(number))?;
        }
        self.generated = Generated { writing, cpu, shown: end.elapsed() };
        Ok(())
    }

    pub(crate) fn ready(&self) -> Duration {
        median(&self.ready)
    }

    pub(crate) fn listing(&self) -> Duration {
        median(&self.listing)
    }

    /// The 50th and 90th percentile of the times until a change was shown.
    pub(crate) fn shown(&self) -> [Duration; 2] {
        percentiles(&self.shown, [50, 90])
    }

    /// The longest time until a change was shown, with watches for a tenth of the folders.
    pub(crate) fn shown_with_few_watches(&self) -> Duration {
        self.few_watches.iter().max().copied().unwrap_or_default()
    }

    pub(crate) fn cost(&self) -> Duration {
        median(&self.costs)
    }

    /// Number of changes between the two values of `memory`.
    pub(crate) fn count(&self) -> usize {
        self.shown.len() + self.costs.len()
    }
}

impl Errors {
    fn add(&mut self, error: &io::Error) {
        match Errno::from_io_error(error) {
            Some(Errno::IO) => self.io += 1,
            Some(Errno::STALE) => self.stale += 1,
            // A new file that is not shown yet does not exist.
            Some(Errno::NOENT) => {}
            _ => self.other += 1,
        }
    }
}

impl Generated {
    /// The daemon's share of one processor.
    pub(crate) fn share(&self) -> f64 {
        self.cpu.as_secs_f64() / self.writing.as_secs_f64().max(1e-9)
    }
}

/// Saves a file as editors do: writes it beside the old one, and renames it. Returns the new content and the
/// time of the rename.
fn save(path: &Path, number: usize) -> Outcome<(String, Instant)> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    // No two saves have the same content, even those of other runs.
    let content = format!("save {number} at {} ns\n", now.as_nanos());
    let beside = path.with_extension("new");
    fs::write(&beside, &content).map_err(at(&beside))?;
    let start = Instant::now();
    fs::rename(&beside, path).map_err(at(path))?;
    Ok((content, start))
}

fn generated(number: usize) -> String {
    format!("generated file {number}\n")
}

/// Removes all files from a folder of the corpora.
fn empty(folder: &Path) -> Outcome<()> {
    fs::remove_dir_all(folder).map_err(at(folder))?;
    fs::create_dir(folder).map_err(at(folder))
}

/// Waits until the daemon has used no processor time for a while.
fn wait_until_idle(pid: u32) -> Outcome<()> {
    let start = Instant::now();
    let (mut since, mut before) = (start, process::total_cpu(pid)?);
    while since.elapsed() < IDLE {
        if start.elapsed() > LIMIT {
            return Err(format!("daemon {pid} is not idle after {LIMIT:?}").into());
        }
        sleep(Duration::from_millis(20));
        let now = process::total_cpu(pid)?;
        if now != before {
            (since, before) = (Instant::now(), now);
        }
    }
    Ok(())
}
