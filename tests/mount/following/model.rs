//! Compares a mount that follows the disk with a fresh mount after random changes.
//!
//! `PROPTEST_CASES=100` tries a hundred sequences of changes, which takes some minutes.
//! `PROPTEST_MAX_SHRINK_ITERS=0` reports a failure without shrinking it.

mod changes; // random changes on the disk
mod held; // files and folders that stay open meanwhile
mod seen; // what a mount shows

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use std::{env, thread};

use proptest::collection::vec;
use proptest::prelude::*;
use rustix::mount::{UnmountFlags, unmount};

use self::changes::{Change, Disk, LAST, SOURCES, change};
use self::held::Held;
use self::seen::{Found, Kind, Node, Seen};
use super::files::views;
use crate::mounted::{Mounted, TestDir, is_root, run};

/// Number of comparisons until the mount must show a change. The pauses between them are twelve seconds in
/// all, because the daemon checks a disk that changes all the time only every few seconds.
const COMPARISONS: usize = 600;
/// Pause between two comparisons.
const BETWEEN: Duration = Duration::from_millis(20);
/// Maximum number of paths that every step asks for again.
const ASKED_MAX: usize = 300;

const BOTH: &[&str] = &["--archives=both"];
const PER_ARCHIVE: &[&str] = &["--layout=per-archive"];

/// A mount that follows the disk, and what it showed.
struct Followed {
    dir: TestDir,
    disk: Disk,
    mount: Mounted,
    options: &'static [&'static str],
    /// Paths at which the mount shows the folders that are sources.
    loose: &'static [&'static str],
    /// Paths that every step asks for again.
    asked: BTreeSet<String>,
    held: Held,
    /// What the mount showed after the last step.
    seen: Seen,
    /// The number of the view after the last step.
    views: u64,
    /// Whether the sources could be opened after the last step.
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

    /// Makes changes, waits until the mount shows them, and compares it with a fresh mount.
    fn step(&mut self, changes: &[Change]) -> Result<(), TestCaseError> {
        for change in changes {
            let _ = self.disk.apply(change);
        }
        let right = self.fresh(&self.disk.sources());
        match &right {
            Some(right) => self.settle(right)?,
            None => {
                let reloaded = self.dir.run(["reload", "mnt"]);
                prop_assert_ne!(reloaded.code, 0, "a reload succeeded although a fresh mount fails");
                self.settle_beside_a_failure()?;
            }
        }
        let seen = Seen::of(&self.mount.path, &self.asked);
        let faults = self.held.faults(&seen, &self.disk);
        prop_assert!(faults.is_empty(), "{}", faults.join("\n"));
        self.settle_sizes()?;
        let views = views(&self.mount);
        // If several views were served in between, a file may have been missing from one of them. It then
        // has a new number.
        if views <= self.views + 1 && right.is_some() && self.is_sound {
            self.compare_numbers(&seen, changes)?;
        }
        self.held.open_every_third(&self.mount.path, &seen, self.steps);
        if self.asked.len() < ASKED_MAX {
            self.asked.extend(seen.spellings());
        }
        self.is_sound = right.is_some();
        (self.seen, self.views, self.steps) = (seen, views, self.steps + 1);
        Ok(())
    }

    /// Waits until the mount shows the files of its last source, which wins, although another source cannot
    /// be opened.
    fn settle_beside_a_failure(&self) -> Result<(), TestCaseError> {
        let last = self.disk.sources().into_iter().find(|source| *source == LAST);
        let Some(right) = last.filter(|_| self.options != PER_ARCHIVE).and_then(|last| self.fresh(&[last]))
        else {
            return Ok(());
        };
        let mut wrong = Vec::new();
        for _ in 0..COMPARISONS {
            let now = Seen::of(&self.mount.path, &self.asked);
            let is_wrong = |(path, node): &(&String, &Found)| {
                let is_file = matches!(node, Ok(Node { kind: Kind::File(..), .. }));
                is_file && now.nodes.get(*path) != Some(*node)
            };
            wrong = right.nodes.iter().filter(is_wrong).map(|(path, _)| path.clone()).collect();
            if wrong.is_empty() {
                return Ok(());
            }
            thread::sleep(BETWEEN);
        }
        Err(TestCaseError::fail(format!("not shown beside a source that fails: {wrong:?}")))
    }

    /// Waits until each open file that left the mount has the size of one state that the file had, and
    /// exactly its bytes. The daemon asks for the state of such a file once a second.
    fn settle_sizes(&self) -> Result<(), TestCaseError> {
        let mut faults = Vec::new();
        for _ in 0..COMPARISONS {
            faults = self.held.wrong_sizes(&self.disk);
            if faults.is_empty() {
                return Ok(());
            }
            thread::sleep(BETWEEN);
        }
        Err(TestCaseError::fail(faults.join("\n")))
    }

    /// What a mount of these sources that is made now shows, or `None` if it cannot be made.
    fn fresh(&self, sources: &[&str]) -> Option<Seen> {
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

    /// Waits until the mount shows what `right` shows.
    fn settle(&self, right: &Seen) -> Result<(), TestCaseError> {
        let differences =
            || Seen::of(&self.mount.path, &self.asked).differences(right, self.disk.newest(), self.loose);
        for _ in 0..COMPARISONS {
            if differences().is_empty() {
                return Ok(());
            }
            thread::sleep(BETWEEN);
        }
        let before = differences().join("\n");
        let reloaded = self.dir.run(["reload", "mnt"]);
        let after = differences().join("\n");
        let report = reloaded.out + &reloaded.err;
        Err(TestCaseError::fail(format!(
            "not shown after {COMPARISONS} comparisons:\n{before}\nafter {report:?}:\n{after}"
        )))
    }

    /// Checks that files and folders that did not change keep their inode numbers.
    fn compare_numbers(&self, now: &Seen, changes: &[Change]) -> Result<(), TestCaseError> {
        let is_file_kept = changes.iter().all(Change::keeps_file_identity);
        for (path, number) in &now.numbers {
            let (Some(Ok(then)), Some(Ok(node))) = (self.seen.nodes.get(path), now.nodes.get(path)) else {
                continue;
            };
            let is_same = match (&then.kind, &node.kind) {
                (Kind::Folder(_), Kind::Folder(_)) => self.is_listed_before_and_after(now, path),
                (Kind::File(_, Ok(bytes)), Kind::File(..)) => {
                    is_file_kept && then == node && !bytes.is_empty()
                }
                _ => false,
            };
            if is_same {
                prop_assert_eq!(self.seen.numbers[path], *number, "{:?} has another inode number", path);
            }
        }
        Ok(())
    }

    /// Whether a listing shows this spelling of a folder's path, both now and after the last step.
    fn is_listed_before_and_after(&self, now: &Seen, path: &str) -> bool {
        self.seen.listed.contains(path) && now.listed.contains(path)
    }

    /// Checks that the mount shows what a fresh one shows, also after reloads. The second reload
    /// must find no change.
    fn finish(&self) -> Result<(), TestCaseError> {
        let Some(right) = self.fresh(&self.disk.sources()) else { return Ok(()) };
        // The first reload may find a changed time that no comparison covered.
        let reloads = [(); 2].map(|()| self.dir.run(["reload", "mnt"]));
        // A link that leads nowhere is named.
        let reload = &reloads[1];
        let named = reload.err.lines().filter(|line| line.contains(": not looked at: ")).count();
        prop_assert_eq!((reload.code, reload.err.lines().count()), (i32::from(named > 0), named));
        prop_assert_eq!(&*reload.out, "mnt: nothing changed\n");
        let differences =
            Seen::of(&self.mount.path, &self.asked).differences(&right, self.disk.newest(), self.loose);
        prop_assert!(differences.is_empty(), "{}", differences.join("\n"));
        Ok(())
    }
}

/// Runs a test of this program in namespaces of its own, in which a user may mount. Returns whether it ran.
/// Where tests must not be left out, it has to.
fn ran_where_users_may_mount(test: &str) -> bool {
    let unshare = |program: &Path| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "--"]).arg(program);
        command
    };
    if is_root() {
        return false;
    }
    if !unshare(Path::new("true")).status().is_ok_and(|status| status.success()) {
        let may_skip = env::var_os("CI").is_none_or(|it| it != "true");
        assert!(may_skip, "no user namespaces, so nothing was mounted");
        eprintln!("SKIPPED: needs root or user namespaces");
        return true;
    }
    let program = env::current_exe().unwrap();
    let output = unshare(&program).args(["--exact", test, "--nocapture"]).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains("test result: ok. 1 passed"), "{out}\n{err}");
    true
}

#[test]
fn disks_mounted_below_sources_are_shown_like_by_a_fresh_mount() {
    const NAME: &str = "mount::following::model::disks_mounted_below_sources_are_shown_like_by_a_fresh_mount";
    if ran_where_users_may_mount(NAME) {
        return;
    }
    // A folder of a source, and a source that is reached through a link.
    for folder in ["mod/Tex", "real"] {
        let mut followed = Followed::new(&[]);
        let folder = followed.disk.path(folder);
        followed.step(&[]).unwrap();
        for _ in 0..2 {
            followed.disk.mount_disk(&folder).unwrap();
            followed.step(&[]).unwrap();
            followed.disk.write_in_place(&folder.join("Tex/d.txt"), 300).unwrap();
            followed.step(&[]).unwrap();
            unmount(&folder, UnmountFlags::DETACH).unwrap();
            followed.step(&[]).unwrap();
        }
        followed.finish().unwrap();
    }
}

fn cases() -> u32 {
    env::var("PROPTEST_CASES").map_or(3, |cases| cases.parse().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        max_shrink_time: 120_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_mount_shows_the_same_as_a_fresh_one_after_any_changes(
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
