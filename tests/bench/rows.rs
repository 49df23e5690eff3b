//! The targets, and whether a run met them. Each group of rows has a function.
//!
//! Rows are at most 110 columns wide, so that tables can be copied into RESULTS.md.

use std::time::Duration;

use crate::changes::{Changes, Errors};
use crate::corpus::Set::{self, Big, Large, Small, Textures};
use crate::measure::{Condition, Key, Log, Sample, median};
use crate::mounts::Subject::{self, Bsafs, Kernel, Loose, Squashfuse};
use crate::opening::{Compared, Opening};
use crate::plan::{Facts, GZIP, NONE};
use crate::table::{milliseconds, thousands};
use crate::work::{Work, readers};

/// A table of targets and measurements.
#[derive(Debug)]
pub(crate) struct Table {
    /// The paragraph above the table.
    pub(crate) text: &'static str,
    /// Names of the columns. One more column has the verdict.
    pub(crate) columns: &'static [&'static str],
    pub(crate) rows: Vec<Row>,
}

/// A target and its measurement.
#[derive(Debug)]
pub(crate) struct Row {
    /// A cell for each of [`Table::columns`].
    pub(crate) cells: Vec<String>,
    pub(crate) verdict: Verdict,
}

/// Whether a target is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Met,
    NotMet,
    NotMeasured,
    /// The row has no target.
    NoLimit,
}

impl Verdict {
    /// `None` if nothing was measured.
    pub(crate) fn of(is_met: Option<bool>) -> Self {
        match is_met {
            Some(true) => Self::Met,
            Some(false) => Self::NotMet,
            None => Self::NotMeasured,
        }
    }
}

/// Two times that are compared.
pub(crate) struct Ratio {
    pub(crate) ours: Duration,
    pub(crate) theirs: Duration,
}

impl Ratio {
    pub(crate) fn value(&self) -> f64 {
        self.ours.as_secs_f64() / self.theirs.as_secs_f64().max(1e-9)
    }
}

const STORED: Subject = Subject::ours("gnrl-stored.ba2");
pub(crate) const GENERAL: Subject = Subject::ours("gnrl.ba2");
pub(crate) const ZLIB: Subject = Subject::ours("v104.bsa");
const LZ4: Subject = Subject::ours("v105.bsa");
const DX10: Subject = Subject::ours("dx10.ba2");
/// Maximum time to repeat a work, relative to loose files.
const AGAIN: f64 = 1.10;

/// All tables, in the order of the report.
pub(crate) fn tables(log: &Log, facts: &Facts) -> Vec<Table> {
    let mut tables = Tables { log, facts, tables: Vec::new() };
    tables.begin(
        "**A second time.** At most 1.10 x the time of loose files, and no request. The column \"squashfs\"\n\
         is the ratio of the kernel's squashfs to loose files.",
        &["work", "archive", "bsafs, ms", "loose, ms", "ratio", "requests", "squashfs"],
    );
    tables.second_time();
    tables.begin(
        "**A fresh mount.** A listing of BA2 reads sizes from the tables, one of BSA or LZ4 from the data.\n\
         A pass reads the data of the archive once, in sequence.",
        &["work", "archive", "at most", "ratio", "times, ms", "one processor"],
    );
    tables.listings();
    tables.small_files();
    tables.textures();
    tables.starts_of_textures();
    tables.big_file();
    tables.spellings();
    tables.trees();
    tables.begin(
        "**Decoded bytes.** At most, each byte that is read is decoded once. For the smallest mips, these\n\
         are the last chunks of the textures.",
        &["work", "at most", "decoded", "ratio"],
    );
    tables.decoded_bytes();
    tables.begin(
        "**Mounting and memory.** Mount: from the command until the mount serves, and in parentheses the\n\
         time of dream_archive or of a listing. Memory: anonymous memory of the daemon after a full walk.",
        &["work", "at most", "measured"],
    );
    tables.openings();
    tables.begin(
        "**Changes.** While a file is replaced twice a second, half of the requests are answered within\n\
         the first time, and 99 of 100 within the second. In parentheses are the times without changes.",
        &["work", "at most", "measured"],
    );
    tables.reloads();
    tables.begin(
        "**Instances of Mod Organizer 2.** A saved file is shown: 9 of 10 within this time, and in\n\
         parentheses half of them. Processor time: of the daemon until it is idle. Memory: resident, before\n\
         and after all changes. Generator: 50 files a second, and in parentheses how long it writes.\n\
         Few watches: for a tenth of the folders; a program read the file 2 s before it is saved.",
        &["work", "at most", "measured"],
    );
    tables.facts.changes.iter().for_each(|it| tables.changes(it));
    let is_measured = |table: &Table| table.rows.iter().any(|row| row.verdict != Verdict::NotMeasured);
    tables.tables.retain(is_measured);
    tables.tables
}

pub(crate) struct Tables<'a> {
    log: &'a Log,
    pub(crate) facts: &'a Facts,
    /// The last one gets the next rows.
    tables: Vec<Table>,
}

pub(crate) fn cold(set: Set, work: Work, subject: Subject) -> Key {
    Key { set, work, subject, condition: Condition::Cold }
}

fn hot(set: Set, work: Work, subject: Subject) -> Key {
    Key { condition: Condition::Hot, ..cold(set, work, subject) }
}

fn disk_cold(set: Set, work: Work, subject: Subject) -> Key {
    Key { condition: Condition::DiskCold, ..cold(set, work, subject) }
}

impl<'a> Tables<'a> {
    pub(crate) fn begin(&mut self, text: &'static str, columns: &'static [&'static str]) {
        self.tables.push(Table { text, columns, rows: Vec::new() });
    }

    pub(crate) fn row(&mut self, cells: impl Into<Vec<String>>, verdict: Verdict) {
        if let Some(table) = self.tables.last_mut() {
            table.rows.push(Row { cells: cells.into(), verdict });
        }
    }

    fn second_time(&mut self) {
        let works = [
            (Small, Work::Find, GENERAL),
            (Small, Work::Ls, GENERAL),
            (Small, Work::WalkStat, GENERAL),
            (Small, Work::OpenClose, GENERAL),
            (Small, Work::ReadWhole(1), GENERAL),
            (Small, Work::ReadWhole(1), ZLIB),
            (Textures, Work::ReadWhole(1), ZLIB),
            (Big, Work::Sequential, STORED),
            (Big, Work::Random(4), STORED),
        ];
        for (set, work, subject) in works {
            let loose = hot(set, work, Loose);
            let kernel =
                [GZIP, NONE].iter().find_map(|image| self.ratio(hot(set, work, Kernel(image)), loose));
            let compared = self.ratio(hot(set, work, subject), loose);
            let ours = self.sample(hot(set, work, subject)).and_then(|sample| sample.ours.as_ref());
            let requests = ours.map(|ours| ours.requests);
            let cells = [
                format!("{}, {}", work.label(), set.label()),
                subject.short(),
                cell(compared.as_ref(), |it| milliseconds(it.ours)),
                cell(compared.as_ref(), |it| milliseconds(it.theirs)),
                cell(compared.as_ref(), times),
                cell(requests, thousands),
                cell(kernel.as_ref(), times),
            ];
            let both = compared.zip(requests);
            self.row(cells, Verdict::of(both.map(|(it, requests)| it.value() <= AGAIN && requests == 0)));
        }
    }

    fn listings(&mut self) {
        let of = |work, subject| cold(Small, work, subject);
        self.at_most("find", 1.2, of(Work::Find, GENERAL), of(Work::Find, Kernel(NONE)));
        self.at_most("ls -lR", 1.0, of(Work::Ls, GENERAL), of(Work::Ls, Kernel(NONE)));
        self.at_most("ls -lR", 0.3, of(Work::Ls, GENERAL), of(Work::Ls, Squashfuse(NONE)));
        for (subject, passes) in [ZLIB, LZ4].into_iter().zip(&self.facts.passes) {
            self.at_most("ls -lR", 1.5, of(Work::Ls, subject), of(Work::Ls, GENERAL));
            self.disk_cold_listing(subject, median(passes));
        }
    }

    /// If sizes are in the data, a listing may cost three sequential passes over the data. The
    /// target is these passes plus a listing with sizes in the tables. The difference of the two
    /// listings would not do: it is smaller than their noise, and often negative.
    fn disk_cold_listing(&mut self, subject: Subject, pass: Duration) {
        let listing = |subject| self.sample(disk_cold(Small, Work::Ls, subject)).map(|sample| sample.time);
        let both = listing(subject).zip(listing(GENERAL)).filter(|_| !pass.is_zero());
        let compared = both.map(|(ours, general)| Ratio { ours, theirs: general + 3 * pass });
        let cells = [
            "ls -lR, disk-cold".into(),
            subject.short(),
            format!("1 x ({} + 3 passes)", GENERAL.short()),
            cell(compared.as_ref(), times),
            cell(both, |(ours, general)| {
                let [ours, general, pass] = [ours, general, pass].map(milliseconds);
                format!("{ours} / ({general} + 3 x {pass})")
            }),
            String::new(),
        ];
        self.row(cells, Verdict::of(compared.map(|it| it.value() <= 1.0)));
    }

    fn small_files(&mut self) {
        for (number, stored, zlib) in [(1, 0.35, 0.15), (4, 0.35, 0.1)] {
            let of = |subject| cold(Small, Work::ReadWhole(number), subject);
            let what = format!("read whole, small files, {}", readers(number));
            self.at_most(&what, stored, of(STORED), of(Squashfuse(NONE)));
            self.at_most(&what, zlib, of(GENERAL), of(Squashfuse(GZIP)));
            self.at_most(&what, zlib, of(ZLIB), of(Squashfuse(GZIP)));
        }
        let of = |subject| cold(Small, Work::ReadWhole(1), subject);
        self.at_most("read whole, small files, 1 reader", 0.5, of(LZ4), of(ZLIB));
    }

    fn textures(&mut self) {
        let of = |readers, subject| cold(Textures, Work::ReadWhole(readers), subject);
        self.at_most("read whole, textures", 0.5, of(1, ZLIB), of(1, Kernel(GZIP)));
        self.at_most("read whole, textures", 0.5, of(1, DX10), of(1, Kernel(GZIP)));
        self.at_most("read whole, textures", 0.5, of(1, LZ4), of(1, ZLIB));
        let what = format!("read whole, textures, {}", readers(2));
        self.at_most(&what, 0.5, of(2, ZLIB), of(2, Kernel(GZIP)));
        let cpu = self.sample(of(1, ZLIB)).and_then(|sample| sample.ours.as_ref()).map(|ours| ours.cpu);
        let compared = cpu.map(|ours| Ratio { ours, theirs: median(&self.facts.bare) });
        // A time of zero was not measured.
        let compared = compared.filter(|it| !it.ours.is_zero() && !it.theirs.is_zero());
        let cells = [
            "textures, the daemon's processor time".into(),
            ZLIB.short(),
            "1.15 x a bare decode".into(),
            cell(compared.as_ref(), times),
            cell(compared.as_ref(), both_times),
            String::new(),
        ];
        self.row(cells, Verdict::of(compared.map(|it| it.value() <= 1.15)));
    }

    fn starts_of_textures(&mut self) {
        let of = |subject| cold(Textures, Work::Sniff, subject);
        self.at_most("first 4 KiB of each texture", 0.4, of(ZLIB), of(Kernel(GZIP)));
        self.at_most("first 4 KiB of each texture", 0.1, of(DX10), of(Kernel(GZIP)));
    }

    fn big_file(&mut self) {
        let works = [
            ("sequential, large file", 0.5, Work::Sequential),
            ("random, 4 readers, large file", 0.3, Work::Random(4)),
        ];
        for (what, limit, work) in works {
            self.at_most(what, limit, cold(Big, work, STORED), cold(Big, work, Squashfuse(NONE)));
        }
    }

    fn spellings(&mut self) {
        let of = |two| cold(Small, Work::Spellings { two }, GENERAL);
        let what = "stat, 4 threads, two spellings of a folder";
        self.at_most_of(what, (1.3, "one spelling"), of(true), of(false));
    }

    fn decoded_bytes(&mut self) {
        let &Facts { packed, large, last_chunks, .. } = self.facts;
        let key = cold(Textures, Work::LastBytes, DX10);
        self.decoded("smallest mip of each DX10 texture", last_chunks, key);
        let key = cold(Large, Work::Sequential, Bsafs("v104.bsa", "16M"));
        self.decoded("large zlib file, sequential, cache of 16 MiB", packed, key);
        let key = cold(Large, Work::Random(4), ZLIB);
        self.decoded("large zlib file, random 4 KiB, 4 readers", packed, key);
        let small_cache = Bsafs("v104.bsa", "8M");
        let key = cold(Set::Tree, Work::Shuffled, GENERAL);
        self.decoded("whole files in a random order", self.facts.commands.bytes, key);
        let key = cold(Large, Work::RoundRobin, small_cache);
        self.decoded("16 large textures in turn, cache of 8 MiB", large, key);
        let done = self.sample(cold(Large, Work::Pressure(8), small_cache));
        let cells = [
            "16 large textures in turn, 8 readers, caches dropped".into(),
            "it ends".into(),
            cell(done, |sample| format!("it ends after {} ms", milliseconds(sample.time))),
            cell(done.and_then(|sample| sample.ours.as_ref()), |ours| {
                format!("{:.1} x", ours.decoded as f64 / large.max(1) as f64)
            }),
        ];
        self.row(cells, Verdict::of(done.map(|_| true)));
    }

    fn openings(&mut self) {
        for it in &self.facts.openings {
            let (target, is_met) = Self::target_of_opening(it);
            let [ready, other] = [it.ready(), it.other()].map(milliseconds);
            let cells = [
                format!("mount: {}, {} files", it.name, thousands(it.files as u64)),
                target,
                format!("{ready} ms, {:.2} x ({other} ms)", it.ratio()),
            ];
            self.row(cells, Verdict::of(Some(is_met)));
            let bytes = it.bytes_a_file();
            let cells = [
                format!("memory: {}", it.name),
                "100 bytes a file".into(),
                cell(bytes, |bytes| {
                    format!("{bytes:.0} bytes a file ({} KiB)", thousands(it.anonymous >> 10))
                }),
            ];
            self.row(cells, Verdict::of(bytes.map(|bytes| bytes <= 100.0)));
        }
    }

    fn reloads(&mut self) {
        for it in &self.facts.reloads {
            let shown = it.shown();
            let what = format!("a change is shown: {}", it.name);
            let cells = [what, "1,000 ms".into(), format!("{} ms", milliseconds(shown))];
            self.row(cells, Verdict::of(Some(shown <= Duration::from_secs(1))));
            let [quiet, busy] = it.requests().map(|[half, most]| {
                format!("{}; {} us", thousands(half.as_micros() as u64), thousands(most.as_micros() as u64))
            });
            let what = format!("requests meanwhile: {}", it.name);
            self.row([what, "no limit".into(), format!("{busy} (quiet: {quiet})")], Verdict::NoLimit);
        }
    }

    fn changes(&mut self, it: &Changes) {
        let files = format!("{} files", thousands(it.instance.files() as u64));
        let mut row = |what: &str, limit: &str, measured: String, is_met: bool| {
            self.row([format!("{what}: {files}"), limit.into(), measured], Verdict::of(Some(is_met)));
        };
        let mount = Ratio { ours: it.ready(), theirs: it.listing() };
        let measured = format!("{} ({})", times(&mount), both_times(&mount));
        // A small mount takes as long as the start of its daemon.
        let most = it.listing().mul_f64(1.2) + Duration::from_millis(20);
        row("mount", "1.2 x find -size + 20 ms", measured, mount.ours <= most);
        let [half, most] = it.shown();
        let measured = format!("{} ms ({} ms)", milliseconds(most), milliseconds(half));
        row("a saved file is shown", "1,000 ms", measured, most <= Duration::from_secs(1));
        let (longest, counts) = (it.shown_with_few_watches(), it.watches.clone());
        let measured = format!(
            "{} ms; {} watched, {} in use, {} checked",
            milliseconds(longest),
            counts.watched,
            counts.used,
            counts.polled
        );
        row("a saved file is shown, few watches", "1,000 ms", measured, longest <= Duration::from_secs(1));
        let Errors { io, stale, other } = it.errors;
        let measured = format!("{io} EIO, {stale} ESTALE, {other} others");
        row("errors of reads meanwhile", "only ESTALE", measured, io + other == 0);
        let (cost, most) = (it.cost(), Duration::from_millis(500));
        row("processor time of a change", "500 ms", format!("{} ms", milliseconds(cost)), cost <= most);
        let [before, after] = it.memory.map(|bytes| bytes as f64 / f64::from(1 << 20));
        // Memory of a small mount varies by some MiB, because it depends on which threads ran.
        let is_met = before <= 110.0 && after <= (before * 1.3).max(before + 8.0);
        let measured = format!("{before:.1} and {after:.1} MiB, {:.2} x", after / before.max(1.0));
        row(&format!("memory, {} changes", it.count()), "110 MiB, 1.3 x", measured, is_met);
        let (generated, seconds) = (&it.generated, it.generated.writing.as_secs());
        let measured = format!("{:.0} % ({seconds} s)", generated.share() * 100.0);
        row("processor during a generator", "25 %", measured, generated.share() <= 0.25);
        let measured = format!("{} ms", milliseconds(generated.shown));
        row("all shown after a generator", "2,000 ms", measured, generated.shown <= Duration::from_secs(2));
    }

    /// The target for the time until a mount is ready, and whether it is met.
    fn target_of_opening(it: &Opening) -> (String, bool) {
        match it.compared {
            Compared::DreamArchive => {
                let most = if it.sources.len() == 1 { 30 } else { 80 };
                let is_met = it.ready() <= Duration::from_millis(most) && it.ratio() <= 0.15;
                (format!("{most} ms, 0.15 x dream_archive"), is_met)
            }
            Compared::Listing => {
                let is_met = it.ready() <= it.other() + Duration::from_millis(50);
                ("a listing of the names + 50 ms".into(), is_met)
            }
        }
    }

    /// Adds a row that compares the times of two subjects.
    fn at_most(&mut self, what: &str, limit: f64, ours: Key, theirs: Key) {
        self.at_most_of(what, (limit, &theirs.subject.short()), ours, theirs);
    }

    /// Adds a row that compares two times. `name` is what `theirs` is called.
    fn at_most_of(&mut self, what: &str, (limit, name): (f64, &str), ours: Key, theirs: Key) {
        let compared = self.ratio(ours, theirs);
        let [our_alone, their_alone] =
            [ours, theirs].map(|key| Key { condition: Condition::OneProcessor, ..key });
        let cells = [
            what.to_owned(),
            ours.subject.short(),
            format!("{limit} x {name}"),
            cell(compared.as_ref(), times),
            cell(compared.as_ref(), both_times),
            cell(self.ratio(our_alone, their_alone).as_ref(), times),
        ];
        self.row(cells, Verdict::of(compared.map(|it| it.value() <= limit)));
    }

    /// Adds a row that compares the decoded bytes with the minimum.
    fn decoded(&mut self, what: &str, most: u64, key: Key) {
        let decoded = self.sample(key).and_then(|sample| sample.ours.as_ref()).map(|ours| ours.decoded);
        let cells = [
            what.to_owned(),
            thousands(most),
            cell(decoded, thousands),
            cell(decoded, |decoded| format!("{:.3} x", decoded as f64 / most.max(1) as f64)),
        ];
        self.row(cells, Verdict::of(decoded.map(|decoded| decoded <= most)));
    }

    pub(crate) fn sample(&self, key: Key) -> Option<&'a Sample> {
        self.log.median(key).map(|(sample, _)| sample)
    }

    pub(crate) fn ratio(&self, ours: Key, theirs: Key) -> Option<Ratio> {
        Some(Ratio { ours: self.sample(ours)?.time, theirs: self.sample(theirs)?.time })
    }
}

/// A cell, which is empty if nothing was measured.
pub(crate) fn cell<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> String {
    value.map_or(String::new(), text)
}

pub(crate) fn times(ratio: &Ratio) -> String {
    format!("{:.2} x", ratio.value())
}

pub(crate) fn both_times(ratio: &Ratio) -> String {
    format!("{} / {}", milliseconds(ratio.ours), milliseconds(ratio.theirs))
}
