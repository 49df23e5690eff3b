//! Which works are done to which subjects.

use std::time::Duration;

use crate::corpus::Set;
use crate::decode;
use crate::measure::{Group, Heat, Log, median};
use crate::mounts::Subject::{self, Bsafs, FuseZip, Kernel, Loose, Squashfuse};
use crate::opening::{self, Opening};
use crate::work::Work;
use crate::{Bench, Outcome};

/// What is known beside times of works.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) openings: Vec<(String, Opening)>,
    /// Processor time of a bare decode of the zlib textures, and the bytes that they become.
    pub(crate) bare: Option<(Duration, u64)>,
    /// Bytes that the last chunks of the DX10 textures become.
    pub(crate) last_chunks: u64,
    /// One pass over what the sizes of v104 and v105 are read from, nothing being in the page cache.
    pub(crate) passes: [Duration; 2],
    /// Bytes of the large packed file, and of the 16 large textures.
    pub(crate) packed: u64,
    pub(crate) large: u64,
}

const BOTH: &[Heat] = &[Heat::Cold, Heat::Hot];
/// Images of squashfs.
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
            FuseZip,
        ],
        heats: BOTH,
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
        heats: &[Heat::DiskCold],
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
            FuseZip,
        ],
        heats: BOTH,
    },
    Group {
        set: Set::Small,
        works: &[Work::Spellings { two: false }, Work::Spellings { two: true }],
        subjects: &[Subject::ours("gnrl.ba2")],
        heats: BOTH,
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
        heats: BOTH,
    },
    Group {
        set: Set::Big,
        works: &[Work::Sequential, Work::Random(4)],
        subjects: &[Loose, Subject::ours("gnrl-stored.ba2"), Squashfuse(NONE), Kernel(NONE)],
        heats: BOTH,
    },
    Group {
        set: Set::Large,
        works: &[Work::Sequential],
        subjects: &[Loose, Bsafs("v104.bsa", "16M")],
        heats: BOTH,
    },
    Group {
        set: Set::Large,
        works: &[Work::Random(4)],
        subjects: &[Loose, Subject::ours("v104.bsa")],
        heats: BOTH,
    },
    Group {
        set: Set::Large,
        works: &[Work::RoundRobin],
        subjects: &[Loose, Bsafs("v104.bsa", "8M")],
        heats: BOTH,
    },
    Group {
        set: Set::Large,
        works: &[Work::Pressure(8)],
        subjects: &[Loose, Bsafs("v104.bsa", "8M")],
        heats: &[Heat::Cold],
    },
];

/// Measures everything, or the sets that were named.
pub(crate) fn measure(bench: &Bench) -> Outcome<(Log, Facts)> {
    let is_wanted = |set: Set| bench.only.is_empty() || bench.only.iter().any(|name| name == set.name());
    let mut log = Log::new();
    let mut facts = Facts::default();
    if is_wanted(Set::Many) {
        eprintln!("bench: opening archives");
        facts.openings = opening::measure(bench, &log)?;
    }
    for group in GROUPS.iter().filter(|group| is_wanted(group.set)) {
        let works: Vec<String> = group.works.iter().map(|work| work.label()).collect();
        eprintln!("bench: {}: {}", group.set.name(), works.join("; "));
        log.run(bench, group)?;
    }
    if is_wanted(Set::Textures) {
        let folder = Set::Textures.folder(&bench.corpora);
        let times = (0..bench.scale.rounds)
            .map(|_| decode::bare(&folder.join("v104.bsa")))
            .collect::<Outcome<Vec<(Duration, u64)>>>()?;
        let bytes = times.first().map_or(0, |(_, bytes)| *bytes);
        facts.bare = Some((median(times.into_iter().map(|(time, _)| time).collect()), bytes));
        facts.last_chunks = decode::last_extents(&folder.join("dx10.ba2"))?;
    }
    if is_wanted(Set::Small) {
        let folder = Set::Small.folder(&bench.corpora);
        for (pass, name) in facts.passes.iter_mut().zip(["v104.bsa", "v105.bsa"]) {
            let passes = (0..bench.scale.rounds).map(|_| decode::one_pass(&folder.join(name), b"meshes"));
            *pass = median(passes.collect::<Outcome<Vec<Duration>>>()?);
        }
    }
    let large = Set::Large.folder(&bench.corpora).join("loose");
    facts.packed = std::fs::metadata(large.join("packed/packed.bin"))?.len();
    facts.large = (0..16)
        .filter_map(|number| {
            std::fs::metadata(large.join(format!("textures/large/land{number:02}.dds"))).ok()
        })
        .map(|metadata| metadata.len())
        .sum();
    Ok((log, facts))
}
