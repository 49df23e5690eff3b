//! The targets for programs and commands that read whole trees or large textures.

use std::time::Duration;

use crate::corpus::Set::{self, Large, Textures};
use crate::measure::{Key, median};
use crate::mounts::Subject::{self, Kernel};
use crate::plan::GZIP;
use crate::programs::{EDITS, Program};
use crate::rows::{GENERAL, Ratio, Tables, Verdict, ZLIB, both_times, cell, cold, times};
use crate::table::thousands;
use crate::work::Work;

impl Tables<'_> {
    /// Adds the table of whole trees.
    pub(crate) fn trees(&mut self) {
        self.begin(
            "**Whole trees.** Programs read 7,000 files packed with zlib on a fresh mount. The archive is\n\
             in the page cache. Processor time: of the daemon, compared with a bare decode of the same\n\
             bytes in one thread. At most 1.15 x is aimed at.",
            &["work", "at most", "ratio", "times, ms", "processor time", "requests"],
        );
        let bare = median(&self.facts.commands.bare);
        for (program, limit) in [
            (Program::Tar, 0.5),
            (Program::Copy, 0.5),
            (Program::Grep, 0.5),
            (Program::Rsync, 0.5),
            (Program::Ls, 1.2),
        ] {
            let work = Work::Program(program);
            let (ours, kernel) = (cold(Set::Tree, work, GENERAL), cold(Set::Tree, work, Kernel(GZIP)));
            let bare = if program == Program::Ls { Duration::ZERO } else { bare };
            self.tree(work.label(), (limit, "kernel squashfs"), self.ratio(ours, kernel), (ours, bare));
        }
        let textures = |subject| cold(Textures, Work::ReadWhole(1), subject);
        let compared = self.ratio(textures(ZLIB), textures(Kernel(GZIP)));
        let bare = (textures(ZLIB), median(&self.facts.bare));
        self.tree("480 textures, 1 reader".into(), (0.35, "kernel squashfs"), compared, bare);
        let (chunks, bare) =
            (cold(Large, Work::Chunks, Subject::ours("chunks.ba2")), &self.facts.bare_chunks);
        let bare = median(bare);
        let compared = self.sample(chunks).map(|ours| Ratio { ours: ours.time, theirs: bare });
        self.tree(Work::Chunks.label(), (0.6, "its bare decode"), compared, (chunks, bare));
        self.commands();
    }

    /// Adds a row of a work on a whole tree, which is compared with another time. `bare` has the work whose
    /// processor time is compared, and the time of a bare decode.
    fn tree(&mut self, what: String, most: (f64, &str), compared: Option<Ratio>, bare: (Key, Duration)) {
        let (limit, name) = most;
        let ours = self.sample(bare.0).and_then(|sample| sample.ours.as_ref());
        let cpu = ours.map(|ours| Ratio { ours: ours.cpu, theirs: bare.1 }).filter(|_| !bare.1.is_zero());
        let cells = [
            what,
            format!("{limit} x {name}"),
            cell(compared.as_ref(), times),
            cell(compared.as_ref(), both_times),
            cell(cpu.as_ref(), |it| format!("{} ({})", times(it), both_times(it))),
            cell(ours, |ours| thousands(ours.requests)),
        ];
        self.row(cells, Verdict::of(compared.map(|it| it.value() <= limit)));
    }

    fn commands(&mut self) {
        let commands = &self.facts.commands;
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u32;
        let theirs = median(&commands.bare) / processors;
        for (what, of_rounds) in [("verify", &commands.verify), ("extract, to memory", &commands.extract)] {
            let compared = (!of_rounds.is_empty()).then(|| Ratio { ours: median(of_rounds), theirs });
            let cells = [
                what.into(),
                "1.15 x bare decode / processors".into(),
                cell(compared.as_ref(), times),
                cell(compared.as_ref(), both_times),
                String::new(),
                String::new(),
            ];
            self.row(cells, Verdict::of(compared.map(|it| it.value() <= 1.15)));
        }
        for ([ours, cached], (what, _)) in commands.edits.iter().zip(EDITS) {
            let compared = (!ours.is_empty()).then(|| Ratio { ours: median(ours), theirs: median(cached) });
            let cells = [
                what.into(),
                "an overlay that caches".into(),
                cell(compared.as_ref(), times),
                cell(compared.as_ref(), both_times),
                String::new(),
                String::new(),
            ];
            self.row(cells, Verdict::NoLimit);
        }
    }
}
