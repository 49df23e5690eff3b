//! The targets, and whether a run met them. Each group of rows has a function.

use std::time::Duration;

use crate::corpus::Set::{self, Big, Large, Small, Textures};
use crate::measure::{Condition, Key, Log, Sample, median};
use crate::mounts::Subject::{self, Bsafs, Kernel, Loose, Squashfuse};
use crate::opening::{Compared, Opening};
use crate::plan::{Facts, GZIP, NONE};
use crate::table::{milliseconds, thousands};
use crate::work::Work;

/// A target and its measurement.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) target: String,
    pub(crate) measured: String,
    /// `None` if it was not measured.
    pub(crate) met: Option<bool>,
}

const STORED: Subject = Subject::ours("gnrl-stored.ba2");
const GENERAL: Subject = Subject::ours("gnrl.ba2");
const ZLIB: Subject = Subject::ours("v104.bsa");
const LZ4: Subject = Subject::ours("v105.bsa");
const DX10: Subject = Subject::ours("dx10.ba2");
/// Maximum time to repeat a work, relative to loose files.
const AGAIN: f64 = 1.10;

/// All rows, in the order of the report.
pub(crate) fn rows(log: &Log, facts: &Facts) -> Vec<Row> {
    let mut rows = Rows { log, facts, rows: Vec::new() };
    rows.second_time();
    rows.listings();
    rows.small_files();
    rows.textures();
    rows.ends_of_textures();
    rows.big_file();
    rows.large_files();
    rows.spellings();
    rows.openings();
    rows.reloads();
    rows.rows
}

struct Rows<'a> {
    log: &'a Log,
    facts: &'a Facts,
    rows: Vec<Row>,
}

fn cold(set: Set, work: Work, subject: Subject) -> Key {
    Key { set, work, subject, condition: Condition::Cold }
}

fn hot(set: Set, work: Work, subject: Subject) -> Key {
    Key { condition: Condition::Hot, ..cold(set, work, subject) }
}

fn disk_cold(set: Set, work: Work, subject: Subject) -> Key {
    Key { condition: Condition::DiskCold, ..cold(set, work, subject) }
}

impl Rows<'_> {
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
            let what = format!("a second time: {}, {} ({})", work.label(), set.name(), subject.label());
            let (ours, theirs) = (self.sample(hot(set, work, subject)), self.sample(hot(set, work, Loose)));
            let kernel = [GZIP, NONE].iter().find_map(|image| {
                ratio(self.sample(hot(set, work, Kernel(image))), self.sample(hot(set, work, Loose)))
            });
            let kernel = kernel.map_or(String::new(), |(ratio, _)| format!("; kernel squashfs {ratio:.2} x"));
            let requests = ours.and_then(|sample| sample.ours.as_ref()).map(|ours| ours.requests);
            let (measured, met) = match (ratio(ours, theirs), requests) {
                (Some((ratio, text)), Some(requests)) => (
                    format!("{text}, {} requests{kernel}", thousands(requests)),
                    Some(ratio <= AGAIN && requests == 0),
                ),
                _ => (String::new(), None),
            };
            self.rows.push(Row {
                what,
                target: format!("{AGAIN:.2} x loose files, 0 requests"),
                measured,
                met,
            });
        }
    }

    fn listings(&mut self) {
        let of = |work, subject| cold(Small, work, subject);
        self.at_most("find, cold", 1.2, of(Work::Find, GENERAL), of(Work::Find, Kernel(NONE)));
        self.at_most(
            "ls -lR, cold, sizes in the tables",
            1.0,
            of(Work::Ls, GENERAL),
            of(Work::Ls, Kernel(NONE)),
        );
        self.at_most(
            "ls -lR, cold, sizes in the tables",
            0.3,
            of(Work::Ls, GENERAL),
            of(Work::Ls, Squashfuse(NONE)),
        );
        for (subject, passes) in [ZLIB, LZ4].into_iter().zip(&self.facts.passes) {
            self.at_most(
                "ls -lR, cold, sizes in the data",
                1.5,
                of(Work::Ls, subject),
                of(Work::Ls, GENERAL),
            );
            self.disk_cold_listing(subject, median(passes));
        }
    }

    /// If sizes are in the data, a listing may cost three sequential passes over the data. The
    /// target is these passes plus a listing with sizes in the tables. The difference of the two
    /// listings would not do: it is smaller than their noise, and often negative.
    fn disk_cold_listing(&mut self, subject: Subject, pass: Duration) {
        let listing = |subject| self.sample(disk_cold(Small, Work::Ls, subject)).map(|sample| sample.time);
        let times = listing(subject).zip(listing(GENERAL)).filter(|_| !pass.is_zero());
        let ratio = times.map(|(ours, general)| ours.as_secs_f64() / (general + 3 * pass).as_secs_f64());
        self.rows.push(Row {
            what: format!("ls -lR, disk-cold, sizes in the data ({})", subject.label()),
            target: format!("1 x ({} + 3 x one sequential pass)", GENERAL.label()),
            measured: ratio.zip(times).map_or(String::new(), |(ratio, (ours, general))| {
                let [ours, general, pass] = [ours, general, pass].map(milliseconds);
                format!("{ratio:.2} x ({ours} / ({general} + 3 x {pass}) ms)")
            }),
            met: ratio.map(|ratio| ratio <= 1.0),
        });
    }

    fn small_files(&mut self) {
        for (readers, stored, zlib) in [(1, 0.35, 0.15), (4, 0.35, 0.1)] {
            let of = |subject| cold(Small, Work::ReadWhole(readers), subject);
            let what = |codec: &str| format!("open + read whole, small, {codec}, {readers} readers, cold");
            self.at_most(&what("stored"), stored, of(STORED), of(Squashfuse(NONE)));
            self.at_most(&what("zlib"), zlib, of(GENERAL), of(Squashfuse(GZIP)));
            self.at_most(&what("v104 zlib"), zlib, of(ZLIB), of(Squashfuse(GZIP)));
        }
    }

    fn textures(&mut self) {
        let of = |readers, subject| cold(Textures, Work::ReadWhole(readers), subject);
        self.at_most("textures read whole, zlib, cold", 0.5, of(1, ZLIB), of(1, Kernel(GZIP)));
        self.at_most("textures read whole, zlib, cold", 0.5, of(1, DX10), of(1, Kernel(GZIP)));
        let cpu = self.sample(of(1, ZLIB)).and_then(|sample| sample.ours.as_ref()).map(|ours| ours.cpu);
        let both = cpu.map(|cpu| (cpu, median(&self.facts.bare)));
        // A time of zero was not measured.
        let both = both.filter(|(cpu, bare)| !cpu.is_zero() && !bare.is_zero());
        let share = both.map(|(cpu, bare)| cpu.as_secs_f64() / bare.as_secs_f64());
        self.rows.push(Row {
            what: "the same: the daemon's processor time".into(),
            target: "1.15 x a bare decode".into(),
            measured: both.zip(share).map_or(String::new(), |((cpu, bare), share)| {
                format!("{share:.2} x ({} / {} ms)", milliseconds(cpu), milliseconds(bare))
            }),
            met: share.map(|share| share <= 1.15),
        });
        self.at_most("textures read whole, zlib, 2 readers, cold", 0.6, of(2, ZLIB), of(1, ZLIB));
        self.at_most("textures read whole, LZ4, cold", 0.5, of(1, LZ4), of(1, ZLIB));
        let meshes = |subject| cold(Small, Work::ReadWhole(1), subject);
        self.at_most("meshes read whole, LZ4, cold", 0.5, meshes(LZ4), meshes(ZLIB));
    }

    fn ends_of_textures(&mut self) {
        let of = |subject| cold(Textures, Work::Sniff, subject);
        self.at_most("first 4 KiB of each texture, zlib, cold", 0.4, of(ZLIB), of(Kernel(GZIP)));
        self.at_most("first 4 KiB of each texture, DX10, cold", 0.1, of(DX10), of(Kernel(GZIP)));
        let most = self.facts.last_chunks;
        self.decoded(
            "smallest mip of each DX10 texture",
            "the last chunks",
            most,
            cold(Textures, Work::LastBytes, DX10),
        );
    }

    fn big_file(&mut self) {
        let of = |work, subject| cold(Big, work, subject);
        self.at_most(
            "large stored file, sequential, cold",
            0.5,
            of(Work::Sequential, STORED),
            of(Work::Sequential, Squashfuse(NONE)),
        );
        self.at_most(
            "large stored file, random 4 KiB, 4 readers, cold",
            0.3,
            of(Work::Random(4), STORED),
            of(Work::Random(4), Squashfuse(NONE)),
        );
    }

    fn large_files(&mut self) {
        let (packed, large) = (self.facts.packed, self.facts.large);
        let once = "each byte once";
        let key = cold(Large, Work::Sequential, Bsafs("v104.bsa", "16M"));
        self.decoded("large zlib file, sequential, cache of 16 MiB", once, packed, key);
        self.decoded(
            "large zlib file, random 4 KiB, 4 readers",
            once,
            packed,
            cold(Large, Work::Random(4), ZLIB),
        );
        let small_cache = Bsafs("v104.bsa", "8M");
        let key = cold(Large, Work::RoundRobin, small_cache);
        self.decoded("16 large zlib textures, round-robin, cache of 8 MiB", once, large, key);
        let done = self.sample(cold(Large, Work::Pressure(8), small_cache));
        self.rows.push(Row {
            what: "the same, 8 readers, caches dropped meanwhile".into(),
            target: "it ends".into(),
            measured: done.map_or(String::new(), |sample| {
                let decoded = sample.ours.as_ref().map_or(0, |ours| ours.decoded);
                let times = decoded as f64 / large.max(1) as f64;
                format!("it ends after {} ms; each byte decoded {times:.1} times", milliseconds(sample.time))
            }),
            met: done.map(|_| true),
        });
    }

    fn spellings(&mut self) {
        let of = |two| cold(Small, Work::Spellings { two }, GENERAL);
        self.at_most("stat, 4 threads, two spellings of every folder", 1.3, of(true), of(false));
    }

    fn openings(&mut self) {
        for it in &self.facts.openings {
            let name = &it.name;
            let (target, is_met) = Self::target_of_opening(it);
            self.rows.push(Row {
                what: format!("mount to ready: {name}, {} files", thousands(it.files as u64)),
                target,
                measured: format!(
                    "{} ms, {:.2} x ({} ms)",
                    milliseconds(it.ready()),
                    it.ratio(),
                    milliseconds(it.other())
                ),
                met: Some(is_met),
            });
            self.rows.push(Row {
                what: format!("anonymous memory after a full walk: {name}"),
                target: "100 bytes a file".into(),
                measured: it.bytes_a_file().map_or(String::new(), |bytes| {
                    format!("{bytes:.0} bytes a file ({} KiB)", thousands(it.anonymous >> 10))
                }),
                met: it.bytes_a_file().map(|bytes| bytes <= 100.0),
            });
        }
    }

    fn reloads(&mut self) {
        for it in &self.facts.reloads {
            self.rows.push(Row {
                what: format!("a change is shown: {}", it.name),
                target: "1,000 ms".into(),
                measured: format!("{} ms", milliseconds(it.shown())),
                met: Some(it.shown() <= Duration::from_secs(1)),
            });
            let [quiet, busy] = it.requests().map(|times| times.map(|time| time.as_micros()));
            self.rows.push(Row {
                what: format!("requests while that is reloaded again and again: {}", it.name),
                target: "processor time alone".into(),
                measured: format!(
                    "half within {} us, 99 of 100 within {} us (quiet: {} and {})",
                    busy[0], busy[1], quiet[0], quiet[1]
                ),
                met: None,
            });
        }
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

    /// Adds a row that compares two times.
    fn at_most(&mut self, what: &str, limit: f64, ours: Key, theirs: Key) {
        let compared = ratio(self.sample(ours), self.sample(theirs));
        let alone = |key| self.sample(Key { condition: Condition::OneProcessor, ..key });
        let on_one = ratio(alone(ours), alone(theirs))
            .map_or(String::new(), |(ratio, _)| format!("; on one processor {ratio:.2} x"));
        self.rows.push(Row {
            what: format!("{what} ({})", ours.subject.label()),
            target: match ours.subject == theirs.subject {
                true => format!("{limit} x {}", theirs.work.label()),
                false => format!("{limit} x {}", theirs.subject.label()),
            },
            met: compared.as_ref().map(|(ratio, _)| *ratio <= limit),
            measured: compared.map_or(String::new(), |(_, text)| text + &on_one),
        });
    }

    /// Adds a row that compares the decoded bytes with the minimum.
    fn decoded(&mut self, what: &str, target: &str, most: u64, key: Key) {
        let decoded = self.sample(key).and_then(|sample| sample.ours.as_ref()).map(|ours| ours.decoded);
        self.rows.push(Row {
            what: format!("{what}: bytes decoded"),
            target: format!("{target}: {}", thousands(most)),
            measured: decoded.map_or(String::new(), |decoded| {
                format!("{} ({:.3} x)", thousands(decoded), decoded as f64 / most.max(1) as f64)
            }),
            met: decoded.map(|decoded| decoded <= most),
        });
    }

    fn sample(&self, key: Key) -> Option<&Sample> {
        self.log.median(key).map(|(sample, _)| sample)
    }
}

/// The ratio of two times, and a text with it.
fn ratio(ours: Option<&Sample>, theirs: Option<&Sample>) -> Option<(f64, String)> {
    let (ours, theirs) = (ours?.time, theirs?.time);
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64().max(1e-9);
    Some((ratio, format!("{ratio:.2} x ({} / {} ms)", milliseconds(ours), milliseconds(theirs))))
}
