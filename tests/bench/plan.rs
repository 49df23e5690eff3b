//! Which works run on which subjects.

use std::path::PathBuf;
use std::time::Duration;

use crate::changes::Changes;
use crate::corpus::Set;
use crate::decode;
use crate::lookup::Lookups;
use crate::measure::{Condition, Group, Log};
use crate::meshes::Meshes;
use crate::mounts::Subject::{self, Bsafs, Kernel, Loose, Squashfuse};
use crate::opening::Opening;
use crate::programs::{Commands, Program};
use crate::reload::Reload;
use crate::slow::{self, SlowRow};
use crate::work::Work;
use crate::{Bench, Outcome, at, process};

/// Measurements other than works on subjects.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) openings: Vec<Opening>,
    pub(crate) reloads: Vec<Reload>,
    pub(crate) changes: Vec<Changes>,
    /// Processor time to decode the zlib textures in one thread without a mount.
    pub(crate) bare: Vec<Duration>,
    /// Processor time to decode the texture of several chunks in this way.
    pub(crate) bare_chunks: Vec<Duration>,
    /// Commands on the whole tree.
    pub(crate) commands: Commands,
    /// Decoded size of the zlib textures.
    pub(crate) bare_bytes: u64,
    /// Decoded size of the last chunks of the DX10 textures.
    pub(crate) last_chunks: u64,
    /// Times of sequential passes over the data of v104 and v105, with an empty page cache.
    pub(crate) passes: [Vec<Duration>; 2],
    /// Size of the large packed file.
    pub(crate) packed: u64,
    /// Size of the 16 large textures together.
    pub(crate) large: u64,
    /// Times of a round trip between two threads: on any processors, and on one.
    pub(crate) round_trips: [Vec<Duration>; 2],
    pub(crate) lookups: Option<Lookups>,
    pub(crate) slow: Vec<SlowRow>,
    pub(crate) meshes: Option<Meshes>,
}

const BOTH: &[Condition] = &[Condition::Cold, Condition::Hot];
/// Conditions that include a single processor, for works of many short requests. Their cost is
/// mostly waking threads.
const ALL: &[Condition] = &[Condition::Cold, Condition::Hot, Condition::OneProcessor];
/// Names of squashfs images.
pub(crate) const NONE: &str = "none.sqfs";
pub(crate) const GZIP: &str = "gzip.sqfs";

const GROUPS: &[Group<'_>] = &[
    Group {
        set: Set::Small,
        works: &[Work::Find, Work::Ls, Work::WalkStat],
        subjects: &[
            Loose,
            Subject::ours("gnrl.ba2"),
            Kernel(NONE),
            Squashfuse(NONE),
            Subject::ours("v104.bsa"),
            Subject::ours("v105.bsa"),
        ],
        conditions: ALL,
    },
    Group {
        set: Set::Small,
        works: &[Work::Ls],
        subjects: &[
            Loose,
            Subject::ours("gnrl.ba2"),
            Subject::ours("v104.bsa"),
            Subject::ours("v105.bsa"),
            Kernel(NONE),
        ],
        conditions: &[Condition::DiskCold],
    },
    Group {
        set: Set::Small,
        works: &[Work::OpenClose, Work::ReadWhole(1), Work::ReadWhole(4)],
        subjects: &[
            Loose,
            Subject::ours("gnrl-stored.ba2"),
            Squashfuse(NONE),
            Subject::ours("gnrl.ba2"),
            Squashfuse(GZIP),
            Subject::ours("v104.bsa"),
            Subject::ours("v105.bsa"),
            Kernel(GZIP),
        ],
        conditions: ALL,
    },
    Group {
        set: Set::Small,
        works: &[Work::Spellings { two: false }, Work::Spellings { two: true }],
        subjects: &[Subject::ours("gnrl.ba2")],
        conditions: BOTH,
    },
    Group {
        set: Set::Tree,
        works: &[
            Work::Program(Program::Tar),
            Work::Program(Program::Copy),
            Work::Program(Program::Grep),
            Work::Program(Program::Rsync),
            Work::Program(Program::Ls),
            Work::Shuffled,
        ],
        subjects: &[Kernel(GZIP), Subject::ours("gnrl.ba2")],
        conditions: BOTH,
    },
    Group {
        set: Set::Large,
        works: &[Work::Chunks],
        subjects: &[Subject::ours("chunks.ba2")],
        conditions: &[Condition::Cold],
    },
    Group {
        set: Set::Textures,
        works: &[Work::ReadWhole(1), Work::ReadWhole(2), Work::Sniff, Work::LastBytes],
        subjects: &[
            Loose,
            Subject::ours("v104.bsa"),
            Kernel(GZIP),
            Subject::ours("v105.bsa"),
            Subject::ours("dx10.ba2"),
            Squashfuse(GZIP),
        ],
        conditions: ALL,
    },
    Group {
        set: Set::Big,
        works: &[Work::Sequential, Work::Random(4)],
        subjects: &[Loose, Subject::ours("gnrl-stored.ba2"), Squashfuse(NONE), Kernel(NONE)],
        conditions: BOTH,
    },
    Group {
        set: Set::Large,
        works: &[Work::Sequential],
        subjects: &[Loose, Bsafs("v104.bsa", "16M")],
        conditions: BOTH,
    },
    Group {
        set: Set::Large,
        works: &[Work::Random(4)],
        subjects: &[Loose, Subject::ours("v104.bsa")],
        conditions: BOTH,
    },
    Group {
        set: Set::Large,
        works: &[Work::RoundRobin],
        subjects: &[Loose, Bsafs("v104.bsa", "8M")],
        conditions: BOTH,
    },
    Group {
        set: Set::Large,
        works: &[Work::Pressure(8)],
        subjects: &[Loose, Bsafs("v104.bsa", "8M")],
        conditions: &[Condition::Cold],
    },
];

/// Measures all sets, or the selected ones, round by round.
pub(crate) fn measure(bench: &Bench) -> Outcome<(Log, Facts)> {
    let mut log = Log::new();
    let mut facts = Facts::new(bench)?;
    for round in 0..bench.scale.rounds {
        if round > 0 && !log.has_time(bench) {
            log.left_out.insert(format!("rounds beyond {round}: the time was up"));
            break;
        }
        eprintln!("bench: round {} of {}", round + 1, bench.scale.rounds);
        for group in GROUPS.iter().filter(|group| bench.is_wanted(group.set)) {
            log.run(bench, group, round)?;
        }
        facts.measure(bench)?;
    }
    facts.openings.iter_mut().try_for_each(|opening| opening.walk(bench))?;
    Ok((log, facts))
}

impl Bench {
    /// Whether a run builds and measures this set.
    pub(crate) fn is_wanted(&self, set: Set) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == set.name())
    }
}

impl Facts {
    /// Collects the facts that need no measuring.
    fn new(bench: &Bench) -> Outcome<Self> {
        let [packed, large] = if bench.is_wanted(Set::Large) { sizes_of_large(bench)? } else { [0; 2] };
        let has_textures = bench.is_wanted(Set::Textures);
        let textures = Set::Textures.folder(&bench.corpora).join("dx10.ba2");
        Ok(Self {
            openings: if bench.is_wanted(Set::Many) { Opening::all(bench)? } else { Vec::new() },
            reloads: if bench.is_wanted(Set::Many) { Reload::all(bench)? } else { Vec::new() },
            changes: if bench.is_wanted(Set::Instance) { Changes::all(bench) } else { Vec::new() },
            last_chunks: if has_textures { decode::last_extents(&textures)? } else { 0 },
            packed,
            large,
            slow: if bench.is_wanted(Set::Slow) { slow::measure(bench)? } else { Vec::new() },
            lookups: bench.is_wanted(Set::Small).then(|| Lookups::new(2 * bench.scale.files)).transpose()?,
            meshes: bench.is_wanted(Set::Meshes).then(Meshes::default),
            ..Self::default()
        })
    }

    /// Measures one round.
    fn measure(&mut self, bench: &Bench) -> Outcome<()> {
        self.round_trips[0].push(process::round_trip());
        let pinned = process::Pinned::to_one()?;
        self.round_trips[1].push(process::round_trip());
        drop(pinned);
        if bench.is_wanted(Set::Textures) {
            let archive = Set::Textures.folder(&bench.corpora).join("v104.bsa");
            process::warm(&archive)?;
            let (time, bytes) = decode::bare(&archive)?;
            self.bare.push(time);
            self.bare_bytes = bytes;
        }
        if bench.is_wanted(Set::Large) {
            let archive = Set::Large.folder(&bench.corpora).join("chunks.ba2");
            process::warm(&archive)?;
            self.bare_chunks.push(decode::bare(&archive)?.0);
        }
        if bench.is_wanted(Set::Tree) {
            self.commands.measure(bench)?;
        }
        if bench.is_wanted(Set::Small) {
            let folder = Set::Small.folder(&bench.corpora);
            for (passes, name) in self.passes.iter_mut().zip(["v104.bsa", "v105.bsa"]) {
                passes.push(decode::one_pass(&folder.join(name), b"meshes")?);
            }
        }
        self.meshes.iter_mut().try_for_each(|meshes| meshes.measure(bench))?;
        self.lookups.iter_mut().try_for_each(Lookups::measure)?;
        self.openings.iter_mut().try_for_each(|opening| opening.open(bench))?;
        self.reloads.iter_mut().try_for_each(|reload| reload.measure(bench))?;
        self.changes.iter_mut().try_for_each(|changes| changes.measure(bench))
    }
}

/// Sizes of the large packed file and of the 16 large textures together.
fn sizes_of_large(bench: &Bench) -> Outcome<[u64; 2]> {
    let loose = Set::Large.folder(&bench.corpora).join("loose");
    let len = |path: PathBuf| std::fs::metadata(&path).map(|it| it.len()).map_err(at(&path));
    let textures = (0..16).map(|number| len(loose.join(format!("textures/large/land{number:02}.dds"))));
    Ok([len(loose.join("packed/packed.bin"))?, textures.sum::<Outcome<u64>>()?])
}
