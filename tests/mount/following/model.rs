//! A mount that follows the disk, compared with a fresh one after random changes.
//!
//! `PROPTEST_CASES=100` tries a hundred sequences of changes, which takes some minutes; of a failure the first report is enough
//! with `PROPTEST_MAX_SHRINK_ITERS=0`.

mod changes; // what happens on the disk
mod held; // files and folders that are open meanwhile
mod seen; // what a mount shows

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use self::changes::{Change, Disk, SOURCES, change};
use self::held::Held;
use self::seen::{Kind, Seen};
use super::files::views;
use crate::mounted::{Mounted, TestDir, run};

/// Looks until a change must be shown, and between two: twelve seconds in all, in which this process runs. A disk that changes
/// all the time is looked at every few seconds.
const LOOKS: usize = 600;
const BETWEEN: Duration = Duration::from_millis(20);
/// Paths that are asked for again and again.
const ASKED_MAX: usize = 300;

const BOTH: &[&str] = &["--archives=both"];
const PER_ARCHIVE: &[&str] = &["--layout=per-archive"];

/// A mount that follows, and what was seen of it.
struct Followed {
    dir: TestDir,
    disk: Disk,
    mount: Mounted,
    options: &'static [&'static str],
    /// Where the folders that are sources are shown.
    loose: &'static [&'static str],
    asked: BTreeSet<String>,
    held: Held,
    /// After the last step, and the number of the view.
    seen: Seen,
    views: u64,
    /// Whether the last step's sources could be opened.
    is_sound: bool,
    steps: usize,
}

impl Followed {
    fn new(options: &'static [&'static str]) -> Self {
        let dir = TestDir::new();
        let disk = Disk::new(dir.path("")).unwrap();
        let arguments: Vec<&str> = options.iter().copied().chain(SOURCES).collect();
        let mount = dir.mount(arguments);
        let loose: &[&str] = if options == PER_ARCHIVE { &["mod", "real"] } else { &[""] };
        let (asked, held, seen) = Default::default();
        Self { dir, disk, mount, options, loose, asked, held, seen, views: 0, is_sound: true, steps: 0 }
    }

    /// Makes changes, waits until they are shown, and compares.
    fn step(&mut self, changes: &[Change]) -> Result<(), TestCaseError> {
        for change in changes {
            let _ = self.disk.apply(change);
        }
        let right = self.fresh();
        match &right {
            Some(right) => self.settle(right)?,
            None => {
                let reloaded = self.dir.run(["reload", "mnt"]);
                prop_assert_ne!(reloaded.code, 0, "a fresh mount fails, a reload does not");
            }
        }
        let seen = Seen::of(&self.mount.path, &self.asked);
        let faults = self.held.faults(&seen, right.is_some());
        prop_assert!(faults.is_empty(), "{}", faults.join("\n"));
        let views = views(&self.mount);
        // Further views between may have shown that a file was gone for a moment.
        if views <= self.views + 1 && right.is_some() && self.is_sound {
            self.compare_numbers(&seen, changes)?;
        }
        self.held.open_some(&self.mount.path, &seen, self.steps);
        if self.asked.len() < ASKED_MAX {
            self.asked.extend(seen.spellings());
        }
        self.is_sound = right.is_some();
        (self.seen, self.views, self.steps) = (seen, views, self.steps + 1);
        Ok(())
    }

    /// What a mount that is made now shows; `None` where that fails.
    fn fresh(&self) -> Option<Seen> {
        let sources = self.disk.sources();
        if sources.is_empty() {
            return None;
        }
        let mut command = self.dir.bsafs(["mount", "-o", "static", "--quiet"]);
        command.args(self.options).args(sources).arg("fresh");
        let finished = run(&mut command);
        (finished.code == 0).then(|| {
            let fresh = Mounted::at(&self.dir.path("fresh"), String::new());
            let seen = Seen::of(&fresh.path, &self.asked);
            fresh.umount(&self.dir);
            seen
        })
    }

    /// Waits until the mount shows what is right.
    fn settle(&self, right: &Seen) -> Result<(), TestCaseError> {
        let differences =
            || Seen::of(&self.mount.path, &self.asked).differences(right, self.disk.newest(), self.loose);
        for _ in 0..LOOKS {
            if differences().is_empty() {
                return Ok(());
            }
            thread::sleep(BETWEEN);
        }
        let before = differences().join("\n");
        let reloaded = self.dir.run(["reload", "mnt"]);
        let after = differences().join("\n");
        let (looks, said) = (LOOKS, reloaded.out + &reloaded.err);
        Err(TestCaseError::fail(format!("not shown in {looks} looks:\n{before}\nafter {said:?}:\n{after}")))
    }

    /// What did not change keeps its number.
    fn compare_numbers(&self, now: &Seen, changes: &[Change]) -> Result<(), TestCaseError> {
        let is_file_kept = changes.iter().all(Change::is_to_content);
        for (path, number) in &now.numbers {
            let (Some(Ok(then)), Some(Ok(node))) = (self.seen.nodes.get(path), now.nodes.get(path)) else {
                continue;
            };
            let is_same = match (&then.kind, &node.kind) {
                (Kind::Folder(_), Kind::Folder(_)) => self.is_spelled_alike(now, path),
                (Kind::File(_, Ok(bytes)), Kind::File(..)) => {
                    is_file_kept && then == node && !bytes.is_empty()
                }
                _ => false,
            };
            if is_same {
                prop_assert_eq!(self.seen.numbers[path], *number, "{:?} has another number", path);
            }
        }
        Ok(())
    }

    /// Whether a folder's path is a stored spelling now and then, or never was.
    fn is_spelled_alike(&self, now: &Seen, path: &str) -> bool {
        self.seen.listed.contains(path) && now.listed.contains(path)
    }

    /// What is shown is what is there, also after looks that are asked for, the last of which finds no change.
    fn finish(&self) -> Result<(), TestCaseError> {
        let Some(right) = self.fresh() else { return Ok(()) };
        // The first may come before a change of a time that nobody compared.
        let reloads = [(); 2].map(|()| self.dir.run(["reload", "mnt"]));
        prop_assert_eq!((reloads[1].code, &*reloads[1].out), (0, "mnt: nothing changed\n"));
        let differences =
            Seen::of(&self.mount.path, &self.asked).differences(&right, self.disk.newest(), self.loose);
        prop_assert!(differences.is_empty(), "{}", differences.join("\n"));
        Ok(())
    }
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").map_or(3, |cases| cases.parse().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_time: 120_000, ..ProptestConfig::default() })]

    #[test]
    fn a_mount_shows_what_a_fresh_one_shows_after_any_changes(
        options in proptest::sample::select(vec![&[], BOTH, PER_ARCHIVE]),
        steps in vec(vec(change(), 1..5), 1..7),
    ) {
        let mut followed = Followed::new(options);
        followed.step(&[])?;
        for changes in &steps {
            followed.step(changes)?;
        }
        followed.finish()?;
    }
}
