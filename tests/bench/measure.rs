//! Runs works on subjects in turn, and records their times and results.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::corpus::Set;
use crate::mounts::{Mounted, Subject};
use crate::work::{Done, Input, Work};
use crate::{Bench, Outcome, at, process};

/// State of the caches and placement of the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Condition {
    /// A fresh mount and an empty page cache: everything comes from the disk.
    DiskCold,
    /// A fresh mount; the archive or image is in the page cache.
    Cold,
    /// The work was done once before on this mount.
    Hot,
    /// Like [`Condition::Cold`], with client and daemon on one processor, so that waking a thread
    /// involves no other processor.
    OneProcessor,
}

/// What a sample measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) set: Set,
    pub(crate) work: Work,
    pub(crate) subject: Subject,
    pub(crate) condition: Condition,
}

/// One run of a work.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) time: Duration,
    pub(crate) operations: u64,
    /// What the bsafs daemon counted meanwhile; `None` for other subjects.
    pub(crate) ours: Option<Ours>,
}

/// Counts of the bsafs daemon during a work.
#[derive(Clone, Debug)]
pub(crate) struct Ours {
    /// Requests, without those for the status.
    pub(crate) requests: u64,
    /// Bytes decoded.
    pub(crate) decoded: u64,
    pub(crate) cpu: Duration,
}

/// Works that run on subjects in turn.
pub(crate) struct Group<'a> {
    pub(crate) set: Set,
    pub(crate) works: &'a [Work],
    pub(crate) subjects: &'a [Subject],
    pub(crate) conditions: &'a [Condition],
}

/// All measurements.
pub(crate) struct Log {
    start: Instant,
    samples: BTreeMap<Key, Vec<Sample>>,
    /// The first result of each work (operations and checksum), and its subject.
    found: BTreeMap<(Set, Work), (u64, u64, Subject)>,
    /// A message for each subject whose result differs from the first.
    pub(crate) mismatches: Vec<String>,
    pub(crate) left_out: BTreeSet<String>,
}

impl Log {
    pub(crate) fn new() -> Self {
        Self {
            start: Instant::now(),
            samples: BTreeMap::new(),
            found: BTreeMap::new(),
            mismatches: Vec::new(),
            left_out: BTreeSet::new(),
        }
    }

    /// Whether the soft limit leaves time for another round.
    pub(crate) fn has_time(&self, bench: &Bench) -> bool {
        self.start.elapsed() < bench.scale.soft_limit
    }

    /// Runs a group's works on its subjects in turn, once.
    pub(crate) fn run(&mut self, bench: &Bench, group: &Group<'_>, round: usize) -> Outcome<()> {
        for &work in group.works {
            let input = bench.input(group.set, work)?;
            for &subject in group.subjects {
                if !subject.is_available() {
                    self.left_out.insert(format!("{}: not installed", subject.label()));
                } else if round < subject.rounds(bench.scale.rounds) {
                    let key = Key { set: group.set, work, subject, condition: Condition::Cold };
                    self.one(bench, key, group.conditions, &input).map_err(|error| {
                        format!("{}, {}, {}: {error}", group.set.name(), work.label(), subject.label())
                    })?;
                }
            }
        }
        Ok(())
    }

    fn one(&mut self, bench: &Bench, key: Key, conditions: &[Condition], input: &Input) -> Outcome<()> {
        if conditions.contains(&Condition::DiskCold) {
            let mounted = bench.mount(key.set, key.subject)?;
            process::drop_caches()?;
            let sample = self.sample(&mounted, key, input)?;
            self.keep(Key { condition: Condition::DiskCold, ..key }, sample);
        }
        if conditions.contains(&Condition::OneProcessor) && key.subject != Subject::Loose {
            let pinned = process::Pinned::to_one()?;
            let mounted = bench.mount(key.set, key.subject)?;
            let sample = self.sample(&mounted, key, input)?;
            drop((mounted, pinned));
            self.keep(Key { condition: Condition::OneProcessor, ..key }, sample);
        }
        let mounted = bench.mount(key.set, key.subject)?;
        let is_cold = conditions.contains(&Condition::Cold);
        if is_cold || conditions.contains(&Condition::Hot) {
            let sample = self.sample(&mounted, key, input)?;
            // Loose files have no fresh mount, so they have no cold time.
            if is_cold && key.subject != Subject::Loose {
                self.keep(key, sample);
            }
        }
        if conditions.contains(&Condition::Hot) {
            let sample = self.sample(&mounted, key, input)?;
            self.keep(Key { condition: Condition::Hot, ..key }, sample);
        }
        Ok(())
    }

    fn keep(&mut self, key: Key, sample: Sample) {
        self.samples.entry(key).or_default().push(sample);
    }

    fn sample(&mut self, mounted: &Mounted, key: Key, input: &Input) -> Outcome<Sample> {
        let before = mounted.status()?;
        let cpu = || mounted.daemon().map_or(Duration::ZERO, process::cpu);
        let cpu_before = cpu();
        let Done { time, operations, sum } = key.work.run(&mounted.root, input)?;
        let cpu = cpu().saturating_sub(cpu_before);
        let ours = before.zip(mounted.status()?).map(|(before, after)| {
            let all = |status: &bsafs::fs::DaemonStatus| {
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
            self.mismatches.push(format!(
                "{}, {}: the result of {} ({operations}, {sum:#x}) differs from that of {} ({}, {:#x})",
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

    /// The sample with the median time, and the number of samples.
    pub(crate) fn median(&self, key: Key) -> Option<(&Sample, usize)> {
        let mut samples: Vec<&Sample> = self.samples.get(&key)?.iter().collect();
        samples.sort_by_key(|sample| sample.time);
        Some((samples.get((samples.len() - 1) / 2)?, samples.len()))
    }

    /// All keys, sorted by set, work and subject.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.samples.keys()
    }
}

impl Bench {
    /// The files that a work uses in a set.
    fn input(&self, set: Set, work: Work) -> Outcome<Input> {
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
        Ok(Input { tree: within.into(), paths, random_reads: self.scale.random_reads })
    }
}

/// Paths of the files below a folder, relative to `root`.
pub(crate) fn files_below(root: &Path, folder: &Path, out: &mut Vec<PathBuf>) -> Outcome<()> {
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

/// The median; zero if there are no times.
pub(crate) fn median(times: &[Duration]) -> Duration {
    percentiles(times, [50])[0]
}

/// Percentiles; zero if there are no times.
pub(crate) fn percentiles<const N: usize>(times: &[Duration], parts: [usize; N]) -> [Duration; N] {
    let mut times = times.to_vec();
    times.sort_unstable();
    parts.map(|part| times.get(times.len().saturating_sub(1) * part / 100).copied().unwrap_or_default())
}
