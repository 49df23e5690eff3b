//! A reader. It picks at random whether to read files or ranges, list, look up names or copy, and
//! compares the results with the view.

use std::path::PathBuf;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{getpriority_process, setpriority_process};
use rustix::thread::gettid;

use crate::check::{Subject, Trouble};
use crate::mounts::Mount;
use crate::random::Random;
use crate::run::{EndOnPanic, Run};
use crate::watch::Act;

/// How much lower the priority of readers is than that of daemons and changes.
const NICER: i32 = 10;
/// How long all readers prefer the same file.
const SAME_FILE: u128 = 700; // ms

/// Number of loose files that are probably being changed.
const CHANGING: usize = 20;
/// Number of files that a reader keeps open at the same time.
const KEPT_OPEN: usize = 8;

/// A reader, which is one thread.
pub(crate) struct Reader<'a> {
    pub(crate) run: &'a Run,
    pub(crate) mounts: &'a [&'a Mount],
    pub(crate) random: Random,
    pub(crate) act: &'a Act,
    /// The file that this reader copies to.
    pub(crate) copy: PathBuf,
}

impl Reader<'_> {
    /// Acts until the run ends.
    pub(crate) fn run(mut self) {
        let _end = EndOnPanic(self.run);
        be_nicer();
        let mut buffer = vec![0; 1 << 20];
        while !self.run.is_ending() {
            let mount = self.mounts[self.random.index(self.mounts.len())];
            let _serving = mount.read();
            let mut subject = Subject {
                root: &mount.root,
                views: &mount.views,
                counts: &self.run.counts,
                seed: self.run.seed,
                act: self.act,
                buffer: &mut buffer,
                copy: &self.copy,
            };
            let done = act(&mut self.random, &mut subject, self.run);
            self.act.end();
            if let Err(trouble) = done
                && !self.is_accepted(mount, &trouble)
            {
                if matches!(trouble, Trouble::Wrong(_)) {
                    self.run.counts.wrong.add(1);
                }
                self.fail(mount, &trouble);
            }
        }
    }

    /// Records a failure. After EIO and ESTALE the run goes on, because their number says more than the
    /// first of them.
    fn fail(&self, mount: &Mount, trouble: &Trouble) {
        let why = format!("{}: {trouble}", mount.root.display());
        let errno = match trouble {
            Trouble::Refused { error, .. } => Errno::from_io_error(error),
            _ => None,
        };
        let count = match errno {
            Some(Errno::IO) => &self.run.counts.refused_io,
            Some(Errno::STALE) => &self.run.counts.refused_stale,
            _ => return self.run.fail(why),
        };
        count.add(1);
        self.run.fail_and_go_on(why);
    }

    /// Whether a dead daemon or a change may cause this trouble. Wrong bytes are never accepted.
    fn is_accepted(&self, mount: &Mount, trouble: &Trouble) -> bool {
        let counts = &self.run.counts;
        match trouble {
            Trouble::OfChange(effect) => {
                counts.add_effect(*effect);
                true
            }
            Trouble::Refused { error, .. } => {
                let errno = Errno::from_io_error(error);
                // A dead mount is removed before the next one is made, so the folder is empty for a moment.
                let of_death = [Errno::NOTCONN, Errno::CONNABORTED, Errno::IO, Errno::NOENT];
                let is_accepted = mount.is_dead() && errno.is_some_and(|it| of_death.contains(&it));
                if is_accepted {
                    counts.dead_errors.add(1);
                    std::thread::sleep(Duration::from_millis(1));
                }
                is_accepted
            }
            Trouble::Differs(_) => mount.is_dead(),
            Trouble::Wrong(_) => false,
        }
    }
}

/// Lowers the priority of this thread. At normal priority, two dozen readers would leave the thread that
/// makes changes little time.
pub(crate) fn be_nicer() {
    let nice = getpriority_process(None).unwrap_or(0);
    let _ = setpriority_process(Some(gettid()), nice + NICER);
}

fn act(random: &mut Random, subject: &mut Subject<'_>, run: &Run) -> Result<(), Trouble> {
    let view = subject.views.last();
    let same = (run.began.elapsed().as_millis() / SAME_FILE) as usize;
    // Loose files that are being changed are the first.
    let most = if random.one_in(2) { CHANGING } else { view.loose.len() };
    let first = random.index(most);
    let loose = || view.loose.iter().skip(first).map(|&it| &view.files[it]);
    // A uniform choice would pick mostly small files.
    let file = match (random.below(8), loose().next()) {
        (0, _) => &view.files[(same * 7919) % view.files.len()],
        (1, _) => &view.files[view.large[random.index(view.large.len())]],
        (2, Some(file)) => file,
        _ => &view.files[random.index(view.files.len())],
    };
    match random.below(100) {
        0..35 => subject.whole(file, random),
        35..75 => subject.ranges(file, random),
        75..77 => subject.list_all(),
        77..83 => match view.folders.keys().nth(random.index(view.folders.len())) {
            Some(folder) => subject.list(folder),
            None => Ok(()),
        },
        83..91 => subject.other_case(file, random),
        91..98 => subject.absent(file, random),
        98..99 => subject.keep_open(&loose().take(KEPT_OPEN).collect::<Vec<_>>(), random),
        _ => subject.copy(file),
    }
}
