//! The thread that follows changes on the disk. It waits until something that the mount shows changes, and
//! opens the sources again while the old view is served. Then it makes the file system serve the new view.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use sd_notify::NotifyState;
use signal_hook::consts::SIGUSR1;

use super::error::DaemonError;
use super::logging;
use super::reload_line::reload_line;
use crate::archive_file::COARSEST_TICK;
use crate::fs::{FileSystem, LastReload};
use crate::game::ReadSet;
use crate::system::clock::unix_seconds;
use crate::system::covered::uncovered;
use crate::system::text::count;
use crate::vfs::reopening::Reopening;
use crate::vfs::reuse::{KeptSource, Reuse, SETTLED};
use crate::watch::{ChangedFolders, Interests, Watcher};

/// Time to wait after the last write, because a program may go on writing.
const QUIET_TIME: Duration = Duration::from_millis(300);
/// Maximum time to wait after the first write, even if more writes follow.
const MAX_DELAY: Duration = Duration::from_millis(2500);
/// Interval between checks whether the previous view can be dropped.
const TIDY_INTERVAL: Duration = Duration::from_secs(2);

/// Receives requests for a reload. They come from SIGUSR1, and from reads that find a change inotify did not
/// report, because it was made through another hard link or a memory mapping. The handler is installed before
/// the mount, because without it the signal would end the process.
#[derive(Debug)]
pub(crate) struct ReloadSignal {
    received: UnixStream,
    sender: UnixStream,
}

/// The byte that a read sends. The signal handler sends a different byte.
const FOUND: u8 = b'c';

impl ReloadSignal {
    /// Installs the signal handler.
    ///
    /// # Errors
    /// The system has no more descriptors.
    pub(crate) fn handle() -> Result<Self, DaemonError> {
        let cannot = DaemonError::Signals;
        let (received, sender) = UnixStream::pair().map_err(cannot)?;
        received.set_nonblocking(true).map_err(cannot)?;
        sender.set_nonblocking(true).map_err(cannot)?;
        signal_hook::low_level::pipe::register(SIGUSR1, sender.try_clone().map_err(cannot)?)
            .map_err(cannot)?;
        Ok(Self { received, sender })
    }

    /// The function that a read calls when it finds a change. It never blocks.
    pub(crate) fn change_reporter(&self) -> std::io::Result<impl Fn() + Send + Sync + use<>> {
        let sender = self.sender.try_clone()?;
        // If the socket is full, a reload is already pending.
        Ok(move || drop((&sender).write(&[FOUND])))
    }

    /// Takes all requests that were sent. Returns whether the signal requested a reload, and whether a read
    /// found a change.
    fn take(&mut self) -> (bool, bool) {
        let (mut is_requested, mut found_change) = (false, false);
        let mut bytes = [0; 64];
        while let Ok(len) = self.received.read(&mut bytes)
            && len > 0
        {
            is_requested |= bytes[..len].iter().any(|&byte| byte != FOUND);
            found_change |= bytes[..len].contains(&FOUND);
        }
        (is_requested, found_change)
    }
}

/// The state of the thread.
#[derive(Debug)]
pub(crate) struct Follower {
    fs: Weak<FileSystem>,
    reopening: Reopening,
    signal: ReloadSignal,
    watcher: Watcher,
    /// Whether the disk is watched.
    is_watching: bool,
    read_set: ReadSet,
    last: LastReload,
    changed: Option<Change>,
    /// The folders in which something changed since the served view was opened.
    folders: ChangedFolders,
    /// The sources that could not be opened again at the last reload.
    kept: Vec<KeptSource>,
}

/// A change that will cause a reload.
#[derive(Clone, Copy, Debug)]
struct Change {
    first: Instant,
    /// When the last write was noticed.
    last: Instant,
    /// Whether a reload found an archive that seems to be half written.
    is_unfinished: bool,
}

impl Change {
    fn now() -> Self {
        let now = Instant::now();
        Self { first: now, last: now, is_unfinished: false }
    }

    fn due(&self) -> Instant {
        if self.is_unfinished {
            self.last + Duration::from_secs(SETTLED)
        } else {
            (self.last + QUIET_TIME).min(self.first + MAX_DELAY)
        }
    }

    /// Records another write, which postpones the reload.
    fn extend(change: Option<Self>) -> Self {
        match change {
            Some(change) if !change.is_unfinished => Self { last: Instant::now(), ..change },
            _ => Self::now(),
        }
    }
}

impl Follower {
    /// A follower for a file system that serves what `reopening` opens.
    pub(crate) fn new(fs: &Arc<FileSystem>, reopening: Reopening, signal: ReloadSignal) -> Self {
        let read_set = fs.view().vfs().opened().read_set.clone();
        let fs = Arc::downgrade(fs);
        let (watcher, last, changed, folders, kept) = Default::default();
        Self { fs, reopening, signal, watcher, is_watching: true, read_set, last, changed, folders, kept }
    }

    /// Makes the follower wait only for the signal, without watching the disk.
    #[must_use]
    pub(crate) fn without_watching(self) -> Self {
        Self { is_watching: false, ..self }
    }

    /// Starts the thread, after mounting. `opening_began` is the time at which the opening of the sources
    /// began. The thread runs until the file system is dropped or watching fails.
    ///
    /// # Errors
    /// The system has no more threads.
    pub(crate) fn start(mut self, opening_began: SystemTime) -> std::io::Result<()> {
        thread::Builder::new().name("follow".into()).spawn(move || {
            self.watch(opening_began);
            while let Some(fs) = self.fs.upgrade() {
                let previous_is_dropped = fs.drop_previous();
                drop(fs);
                if let Err(error) = self.step(previous_is_dropped) {
                    return log::error!(
                        "changes on the disk are no longer followed: {error}; to see changes, unmount and \
                         mount again"
                    );
                }
            }
        })?;
        Ok(())
    }

    /// Waits for a change, a signal or a deadline, and reloads if that is due.
    fn step(&mut self, previous_is_dropped: bool) -> std::io::Result<()> {
        let due = self.changed.map(|change| change.due());
        let until = due.or_else(|| (!previous_is_dropped).then(|| Instant::now() + TIDY_INTERVAL));
        let woken = self.watcher.wait(self.signal.received.as_fd(), until)?;
        let (is_requested, found_change) =
            if woken.is_readable { self.signal.take() } else { (false, false) };
        if woken.is_changed || (found_change && self.is_watching) {
            self.changed = Some(Change::extend(self.changed));
        }
        if found_change || is_requested {
            self.folders.add_anywhere();
        }
        let is_due = self.changed.is_some_and(|change| Instant::now() >= change.due());
        if is_requested || is_due {
            self.reload(is_requested);
        }
        Ok(())
    }

    /// Opens the sources again and serves them. If that fails, the old view stays. A reload that the
    /// user requested also opens archives that seem half written.
    fn reload(&mut self, is_requested: bool) {
        let Some(fs) = self.fs.upgrade() else { return };
        let (began, opening_began) = (Instant::now(), SystemTime::now());
        self.changed = None;
        self.last.began = unix_seconds(opening_began);
        fs.note_reload(LastReload { is_running: true, ..self.last.clone() });
        let usec = NotifyState::monotonic_usec_now().ok();
        let _ = sd_notify::notify(&[&[NotifyState::Reloading], usec.as_slice()].concat());
        let outcome = catch_unwind(AssertUnwindSafe(|| self.replace(&fs, is_requested)));
        let bug = "bug in bsafs; please report it with the daemon's log";
        let outcome = outcome.unwrap_or_else(|_| Outcome::Failed(bug.into()));
        self.note(&fs, outcome);
        let _ = sd_notify::notify(&[NotifyState::Ready]);
        if self.kept.iter().any(|kept| kept.is_unfinished) {
            // Reloads again when the archive has been quiet for long enough, or changes once more.
            self.changed = Some(Change { is_unfinished: true, ..Change::now() });
        }
        self.watch(opening_began);
        // Pauses for as long as the reload took, up to a limit, so that a disk that changes constantly does
        // not cause constant reloads.
        thread::sleep(began.elapsed().min(MAX_DELAY));
    }

    fn replace(&mut self, fs: &FileSystem, is_requested: bool) -> Outcome {
        let view = fs.view();
        self.folders.extend(self.watcher.take_changed());
        let is_quiet = |folder: &Path| self.watcher.is_reported(folder) && !self.folders.includes(folder);
        let earlier = Reuse::new(view.vfs().opened(), &is_quiet, is_requested);
        let opened = match logging::while_opening(|| self.reopening.open(&earlier)) {
            Ok(opened) => opened,
            Err(error) => return Outcome::Failed(error.to_string()),
        };
        let kept = earlier.kept();
        drop(view);
        self.read_set = opened.read_set.clone();
        let Ok(replaced) = fs.replace(opened) else {
            return Outcome::Failed("all inode numbers are used up; unmount, and mount again".into());
        };
        // A kept folder was not walked again, so its recorded changes still have to be applied.
        if !kept.iter().any(|kept| kept.is_folder) {
            self.folders = ChangedFolders::default();
        }
        Outcome::Replaced { changes: reload_line(&replaced), kept }
    }

    /// Records and logs the outcome of a reload. A source that cannot be opened is logged only
    /// once, and a reload without changes is not logged.
    fn note(&mut self, fs: &FileSystem, outcome: Outcome) {
        let (summary, is_failed) = match outcome {
            Outcome::Replaced { changes, kept } => {
                changes.iter().for_each(|line| log::info!(target: logging::NEWS, "reloaded: {line}"));
                let new_failures = kept.iter().filter(|kept| !self.kept.contains(kept));
                new_failures.for_each(|KeptSource { what, .. }| log::warn!("{what}; {SERVED}"));
                let lines = changes.into_iter().chain(kept.iter().map(|kept| kept.what.clone()));
                let summary = lines.collect::<Vec<_>>().join("; ");
                self.kept = kept;
                (if summary.is_empty() { "nothing changed".into() } else { summary }, !self.kept.is_empty())
            }
            Outcome::Failed(what) => {
                if self.last.what != what {
                    log::warn!("{what}; {SERVED}");
                }
                (what, true)
            }
        };
        let LastReload { count, began, .. } = self.last;
        let at = unix_seconds(SystemTime::now());
        self.last = LastReload { count: count + 1, at, what: summary, is_failed, is_running: false, began };
        fs.note_reload(self.last.clone());
    }

    /// Watches the files and folders that the view depends on. Folders that were not watched while the
    /// sources were opened may have changed since then, so they are checked.
    fn watch(&mut self, opening_began: SystemTime) {
        let Some(fs) = self.fs.upgrade().filter(|_| self.is_watching) else { return };
        let view = fs.view();
        let mut interests = Interests::default();
        let (archives, folders) = view.store().paths();
        archives.into_iter().for_each(|path| interests.add_file(path));
        for folder in folders {
            folder.folder_paths().for_each(|path| interests.add_folder(path));
            folder.link_targets().for_each(|path| interests.add_file(&path));
            // A link may lead through more links to its target.
            folder.link_paths().for_each(|path| interests.add_way(&path));
        }
        self.read_set.files.iter().for_each(|path| interests.add_file(path));
        self.read_set.folders.iter().for_each(|path| interests.add_names(path.as_path()));
        self.reopening.files().iter().for_each(|path| interests.add_file(path));
        self.reopening.named().for_each(|path| interests.add_file(path));
        let was_polled = self.watcher.polled();
        let added = self.watcher.watch(interests);
        let polled = self.watcher.polled();
        if was_polled == 0 && polled > 0 {
            log::warn!(
                "cannot watch {}, because fs.inotify.max_user_watches is too low (raise it) or permission is \
                 denied; checking every few seconds instead",
                count(polled, "folder")
            );
        }
        if added.is_empty() {
            return;
        }
        let from = opening_began.checked_sub(COARSEST_TICK).unwrap_or(opening_began);
        let is_new =
            |path: &Path| uncovered(path).metadata().and_then(|it| it.modified()).is_ok_and(|at| at >= from);
        // Writing to a file does not change the time of its folder.
        let stale =
            view.store().stale_folders(|folder| added.binary_search_by(|it| (**it).cmp(folder)).is_ok());
        let mut paths = added.iter().map(|folder| &**folder).chain(view.store().paths().0);
        if !stale.is_empty() || paths.any(is_new) {
            self.changed = self.changed.or(Some(Change::now()));
        }
        stale.into_iter().for_each(|folder| self.folders.add(folder.into()));
    }
}

/// The end of warnings about sources that cannot be opened.
const SERVED: &str = "the previous contents stay mounted until this problem is fixed";

/// The outcome of a reload.
enum Outcome {
    /// A new view is served. `changes` says what changed in the mount. `kept` lists the sources that stay.
    Replaced { changes: Option<String>, kept: Vec<KeptSource> },
    /// The old view is still served, for this reason.
    Failed(String),
}
