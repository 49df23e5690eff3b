//! Runs works on subjects in turn, and keeps what they took.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::corpus::Set;
use crate::mounts::{Mounted, Subject};
use crate::work::{Done, Subjects, Work};
use crate::{Bench, Outcome, at, process};

/// How much is known before a work begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Heat {
    /// Nothing: a fresh mount, and the disk must be asked.
    DiskCold,
    /// A fresh mount; what it reads from is in the page cache.
    Cold,
    /// The same was done before.
    Hot,
    /// As cold, but client, daemon and kernel share one processor: nobody is woken on another one.
    OneProcessor,
}

/// What was done by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) set: Set,
    pub(crate) work: Work,
    pub(crate) subject: Subject,
    pub(crate) heat: Heat,
}

/// What it took, once.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) time: Duration,
    pub(crate) operations: u64,
    /// What our daemon did meanwhile; nothing is known of others.
    pub(crate) ours: Option<Ours>,
}

/// What our daemon did.
#[derive(Clone, Debug)]
pub(crate) struct Ours {
    /// Requests but for those that ask for this.
    pub(crate) requests: u64,
    pub(crate) decoded: u64,
    pub(crate) cpu: Duration,
}

/// Works that are done to subjects in turn.
pub(crate) struct Group<'a> {
    pub(crate) set: Set,
    pub(crate) works: &'a [Work],
    pub(crate) subjects: &'a [Subject],
    pub(crate) heats: &'a [Heat],
}

/// All that was measured.
pub(crate) struct Log {
    start: Instant,
    samples: BTreeMap<Key, Vec<Sample>>,
    /// What each work found first, and whose files it were.
    found: BTreeMap<(Set, Work), (u64, u64, Subject)>,
    /// What must not be, in words.
    pub(crate) faults: Vec<String>,
    pub(crate) left_out: BTreeSet<String>,
}

impl Log {
    pub(crate) fn new() -> Self {
        Self {
            start: Instant::now(),
            samples: BTreeMap::new(),
            found: BTreeMap::new(),
            faults: Vec::new(),
            left_out: BTreeSet::new(),
        }
    }

    /// Whether there is time to repeat anything.
    pub(crate) fn has_time(&self, bench: &Bench) -> bool {
        self.start.elapsed() < bench.scale.soft_limit
    }

    /// Does a group's works to its subjects in turn, once.
    pub(crate) fn run(&mut self, bench: &Bench, group: &Group<'_>, round: usize) -> Outcome<()> {
        for &work in group.works {
            let to = bench.subjects(group.set, work)?;
            for &subject in group.subjects {
                if !subject.is_available() {
                    self.left_out.insert(format!("{}: not installed", subject.label()));
                } else if round < subject.rounds(bench.scale.rounds) {
                    let key = Key { set: group.set, work, subject, heat: Heat::Cold };
                    self.one(bench, key, group.heats, &to).map_err(|error| {
                        format!("{}, {}, {}: {error}", group.set.name(), work.label(), subject.label())
                    })?;
                }
            }
        }
        Ok(())
    }

    fn one(&mut self, bench: &Bench, key: Key, heats: &[Heat], to: &Subjects) -> Outcome<()> {
        if heats.contains(&Heat::DiskCold) {
            let mounted = bench.mount(key.set, key.subject)?;
            process::drop_caches()?;
            let sample = self.sample(&mounted, key, to)?;
            self.keep(Key { heat: Heat::DiskCold, ..key }, sample);
        }
        if heats.contains(&Heat::OneProcessor) && key.subject != Subject::Loose {
            let pinned = process::Pinned::to_one()?;
            let mounted = bench.mount(key.set, key.subject)?;
            let sample = self.sample(&mounted, key, to)?;
            drop((mounted, pinned));
            self.keep(Key { heat: Heat::OneProcessor, ..key }, sample);
        }
        let mounted = bench.mount(key.set, key.subject)?;
        let is_cold = heats.contains(&Heat::Cold);
        if is_cold || heats.contains(&Heat::Hot) {
            let sample = self.sample(&mounted, key, to)?;
            // Loose files cannot be mounted afresh, so that there is no such time.
            if is_cold && key.subject != Subject::Loose {
                self.keep(key, sample);
            }
        }
        if heats.contains(&Heat::Hot) {
            let sample = self.sample(&mounted, key, to)?;
            self.keep(Key { heat: Heat::Hot, ..key }, sample);
        }
        Ok(())
    }

    fn keep(&mut self, key: Key, sample: Sample) {
        self.samples.entry(key).or_default().push(sample);
    }

    fn sample(&mut self, mounted: &Mounted, key: Key, to: &Subjects) -> Outcome<Sample> {
        let before = mounted.status()?;
        let cpu = || mounted.daemon().map_or(Duration::ZERO, process::cpu);
        let cpu_before = cpu();
        let Done { time, operations, sum } = key.work.run(&mounted.root, to)?;
        let cpu = cpu().saturating_sub(cpu_before);
        let ours = before.zip(mounted.status()?).map(|(before, after)| {
            let all = |status: &bsafs::fs::Status| {
                let kinds = status.requests.iter().filter(|(kind, _)| *kind != "status");
                kinds.map(|(_, number)| number).sum::<u64>()
            };
            Ours {
                requests: all(&after) - all(&before),
                decoded: after.decoded_bytes - before.decoded_bytes,
                cpu,
            }
        });
        let first = *self.found.entry((key.set, key.work)).or_insert((operations, sum, key.subject));
        if (first.0, first.1) != (operations, sum) {
            self.faults.push(format!(
                "{}, {}: {} has others ({operations}, {sum:#x}) than {} ({}, {:#x})",
                key.set.name(),
                key.work.label(),
                key.subject.label(),
                first.2.label(),
                first.0,
                first.1
            ));
        }
        Ok(Sample { time, operations, ours })
    }

    /// The sample with the median time, and how many there were.
    pub(crate) fn median(&self, key: Key) -> Option<(&Sample, usize)> {
        let mut samples: Vec<&Sample> = self.samples.get(&key)?.iter().collect();
        samples.sort_by_key(|sample| sample.time);
        Some((samples.get((samples.len() - 1) / 2)?, samples.len()))
    }

    /// All keys, by set, work and subject.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.samples.keys()
    }
}

impl Bench {
    /// What a work is done to in a set.
    fn subjects(&self, set: Set, work: Work) -> Outcome<Subjects> {
        let loose = set.folder(&self.corpora).join("loose");
        let within = match (set, work) {
            (Set::Small, _) => "meshes",
            (Set::Large, Work::RoundRobin | Work::Pressure(_)) => "textures",
            (Set::Large, _) => "packed",
            _ => "",
        };
        let mut paths = Vec::new();
        files_below(&loose, &loose.join(within), &mut paths)?;
        paths.sort_unstable();
        if set == Set::Small {
            let step = paths.len().div_ceil(self.scale.sample).max(1);
            paths = paths.into_iter().step_by(step).collect();
        }
        Ok(Subjects { tree: within.into(), paths, random_reads: self.scale.random_reads })
    }
}

/// Files below a folder, from `root` on.
fn files_below(root: &Path, folder: &Path, out: &mut Vec<PathBuf>) -> Outcome<()> {
    for entry in std::fs::read_dir(folder).map_err(at(folder))? {
        let path = entry?.path();
        if path.is_dir() {
            files_below(root, &path, out)?;
        } else {
            out.push(path.strip_prefix(root)?.to_owned());
        }
    }
    Ok(())
}

/// The median of times; zero of none.
pub(crate) fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.get(times.len().saturating_sub(1) / 2).copied().unwrap_or_default()
}
