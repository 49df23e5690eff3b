//! The thread that follows changes on the disk. It waits until something changes that a mount shows, and
//! opens the sources again while the old view is served. Then it has the file system serve the new view.

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
const QUIET: Duration = Duration::from_millis(300);
/// Maximum time to wait after the first write, even if more writes follow.
const LONGEST: Duration = Duration::from_millis(2500);
/// Interval between checks whether the previous view can be dropped.
const TIDY: Duration = Duration::from_secs(2);

/// Receives requests for a reload. They come from SIGUSR1, and from reads that find a change
/// without an event: the file has other names, or was mapped. Made before the mount, because
/// without a handler the signal would end the process.
#[derive(Debug)]
pub(crate) struct ReloadSignal {
    received: UnixStream,
    found: UnixStream,
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
        let (received, found) = UnixStream::pair().map_err(cannot)?;
        received.set_nonblocking(true).map_err(cannot)?;
        found.set_nonblocking(true).map_err(cannot)?;
        signal_hook::low_level::pipe::register(SIGUSR1, found.try_clone().map_err(cannot)?)
            .map_err(cannot)?;
        Ok(Self { received, found })
    }

    /// The function that a read calls when it finds a change. It does not wait.
    pub(crate) fn finder(&self) -> std::io::Result<impl Fn() + Send + Sync + use<>> {
        let found = self.found.try_clone()?;
        // If the socket is full, enough was sent.
        Ok(move || drop((&found).write(&[FOUND])))
    }

    /// Takes all that was sent. Returns whether the signal asked for a reload, and whether a read
    /// found a change.
    fn take(&mut self) -> (bool, bool) {
        let (mut is_asked, mut is_found) = (false, false);
        let mut bytes = [0; 64];
        while let Ok(len) = self.received.read(&mut bytes)
            && len > 0
        {
            is_asked |= bytes[..len].iter().any(|&byte| byte != FOUND);
            is_found |= bytes[..len].contains(&FOUND);
        }
        (is_asked, is_found)
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
    /// Where something changed since the served view was made.
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
            (self.last + QUIET).min(self.first + LONGEST)
        }
    }

    /// The change after one more write.
    fn again(change: Option<Self>) -> Self {
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

    /// Starts the thread, after mounting. `opened` is when the opening of the sources began. The
    /// thread ends with the process.
    ///
    /// # Errors
    /// The system has no more threads.
    pub(crate) fn start(mut self, opened: SystemTime) -> std::io::Result<()> {
        thread::Builder::new().name("follow".into()).spawn(move || {
            self.watch(opened);
            while let Some(fs) = self.fs.upgrade() {
                let is_tidy = fs.drop_previous();
                drop(fs);
                if let Err(error) = self.step(is_tidy) {
                    return log::error!("changes on the disk are no longer followed: {error}");
                }
            }
        })?;
        Ok(())
    }

    /// Waits for a change, a signal or a deadline, and reloads if that is due.
    fn step(&mut self, is_tidy: bool) -> std::io::Result<()> {
        let due = self.changed.map(|change| change.due());
        let until = due.or_else(|| (!is_tidy).then(|| Instant::now() + TIDY));
        let woken = self.watcher.wait(self.signal.received.as_fd(), until)?;
        let (is_asked, is_found) = if woken.is_readable { self.signal.take() } else { (false, false) };
        if woken.is_changed || (is_found && self.is_watching) {
            self.changed = Some(Change::again(self.changed));
        }
        if is_found || is_asked {
            self.folders.add_anywhere();
        }
        let is_due = self.changed.is_some_and(|change| Instant::now() >= change.due());
        if is_asked || is_due {
            self.reload(is_asked);
        }
        Ok(())
    }

    /// Opens the sources again and serves them. If that fails, the old view stays. A reload that
    /// the user asked for also takes archives that seem half written.
    fn reload(&mut self, is_asked: bool) {
        let Some(fs) = self.fs.upgrade() else { return };
        let (began, opened) = (Instant::now(), SystemTime::now());
        self.changed = None;
        self.last.began = unix_seconds(opened);
        fs.note_reload(LastReload { is_running: true, ..self.last.clone() });
        let usec = NotifyState::monotonic_usec_now().ok();
        let _ = sd_notify::notify(&[&[NotifyState::Reloading], usec.as_slice()].concat());
        let outcome = catch_unwind(AssertUnwindSafe(|| self.replace(&fs, is_asked)));
        let outcome = outcome.unwrap_or_else(|_| Outcome::Failed("bug in bsafs; please report it".into()));
        self.note(&fs, outcome);
        let _ = sd_notify::notify(&[NotifyState::Ready]);
        if self.kept.iter().any(|kept| kept.is_unfinished) {
            // Reloads again when the archive has been quiet for long enough, or changes once more.
            self.changed = Some(Change { is_unfinished: true, ..Change::now() });
        }
        self.watch(opened);
        // Pauses for as long as the reload took, up to a limit, because the disk may change all the time.
        thread::sleep(began.elapsed().min(LONGEST));
    }

    fn replace(&mut self, fs: &FileSystem, is_asked: bool) -> Outcome {
        let view = fs.view();
        self.folders.extend(self.watcher.take_changed());
        let is_quiet = |folder: &Path| self.watcher.is_reported(folder) && !self.folders.includes(folder);
        let earlier = Reuse::new(view.vfs().opened(), &is_quiet, is_asked);
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
        // If a folder was not walked, what is known of its files is older than the recorded
        // changes, so these are kept.
        if !kept.iter().any(|kept| kept.is_folder) {
            self.folders = ChangedFolders::default();
        }
        Outcome::Replaced { changes: reload_line(&replaced), kept }
    }

    /// Records and logs the outcome of a reload. A source that cannot be opened is logged only
    /// once, and a reload without changes is not logged.
    fn note(&mut self, fs: &FileSystem, outcome: Outcome) {
        let (what, is_failed) = match outcome {
            Outcome::Replaced { changes, kept } => {
                changes.iter().for_each(|what| log::info!(target: logging::NEWS, "reloaded: {what}"));
                let news = kept.iter().filter(|kept| !self.kept.contains(kept));
                news.for_each(|KeptSource { what, .. }| log::warn!("{what}; {SERVED}"));
                let lines = changes.into_iter().chain(kept.iter().map(|kept| kept.what.clone()));
                let what = lines.collect::<Vec<_>>().join("; ");
                self.kept = kept;
                (if what.is_empty() { "nothing changed".into() } else { what }, !self.kept.is_empty())
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
        self.last = LastReload { count: count + 1, at, what, is_failed, is_running: false, began };
        fs.note_reload(self.last.clone());
    }

    /// Watches what the view is made of. Folders that were not watched while the sources were
    /// opened may have changed since then, so they are checked.
    fn watch(&mut self, opened: SystemTime) {
        let Some(fs) = self.fs.upgrade().filter(|_| self.is_watching) else { return };
        let view = fs.view();
        let mut interests = Interests::default();
        let (archives, folders) = view.store().paths();
        archives.into_iter().for_each(|path| interests.add_file(path));
        for folder in folders {
            folder.folder_paths().for_each(|path| interests.add_folder(path));
            folder.link_targets().for_each(|path| interests.add_file(&path));
            // More links may be on the way from a link to its target.
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
                "cannot watch {} (limit fs.inotify.max_user_watches, or no permission); \
                 checking every few seconds instead",
                count(polled, "folder")
            );
        }
        if added.is_empty() {
            return;
        }
        let from = opened.checked_sub(COARSEST_TICK).unwrap_or(opened);
        let is_new =
            |path: &Path| uncovered(path).metadata().and_then(|it| it.modified()).is_ok_and(|at| at >= from);
        // Writing to a file does not change the time of its folder.
        let stale =
            view.store().stale_folders(|folder| added.binary_search_by(|it| (**it).cmp(folder)).is_ok());
        let mut opened = added.iter().map(|folder| &**folder).chain(view.store().paths().0);
        if !stale.is_empty() || opened.any(is_new) {
            self.changed = self.changed.or(Some(Change::now()));
        }
        stale.into_iter().for_each(|folder| self.folders.add(folder.into()));
    }
}

/// The end of warnings about sources that cannot be opened.
const SERVED: &str = "the previous contents stay mounted until this changes";

/// The outcome of a reload.
enum Outcome {
    /// A new view is served. `changes` says what changed in the mount. `kept` has the sources that
    /// were kept as they were.
    Replaced { changes: Option<String>, kept: Vec<KeptSource> },
    /// The old view is still served, for this reason.
    Failed(String),
}
