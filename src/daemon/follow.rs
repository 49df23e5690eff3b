//! The thread that follows the disk: it waits until something changes that a mount shows, opens the sources anew beside the
//! view that is served, and has the file system serve the new one.

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
use crate::vfs::reopening::Reopening;
use crate::vfs::reuse::{Kept, Reuse, SETTLED};
use crate::watch::{ChangedFolders, Interests, Watcher};

/// After the last write: until then a program may go on writing.
const QUIET: Duration = Duration::from_millis(300);
/// After the first write, however many follow.
const LONGEST: Duration = Duration::from_millis(2500);
/// Between looks whether the view before can go.
const TIDY: Duration = Duration::from_secs(2);

/// A reload was asked for by SIGUSR1, or a read found a change that nobody reported: a file has other names, or was mapped.
/// Made before the mount: without a handler the signal would end the process.
#[derive(Debug)]
pub(crate) struct ReloadSignal {
    received: UnixStream,
    found: UnixStream,
}

/// What a read sends; the handler of the signal sends another byte.
const FOUND: u8 = b'c';

impl ReloadSignal {
    /// Handles the signal from now on.
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

    /// What a read calls that finds a change; it does not wait.
    pub(crate) fn finder(&self) -> std::io::Result<impl Fn() + Send + Sync + use<>> {
        let found = self.found.try_clone()?;
        // Where there is no room, enough was sent.
        Ok(move || drop((&found).write(&[FOUND])))
    }

    /// Takes all that was sent; returns whether a reload was asked for, and whether a change was found.
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

/// What the thread needs.
#[derive(Debug)]
pub(crate) struct Follower {
    fs: Weak<FileSystem>,
    reopening: Reopening,
    signal: ReloadSignal,
    watcher: Watcher,
    /// Whether the disk is watched.
    is_watching: bool,
    looked: ReadSet,
    last: LastReload,
    changed: Option<Change>,
    /// Where something changed since the view was made that is served.
    folders: ChangedFolders,
    /// What was not opened anew at the last reload.
    kept: Vec<Kept>,
}

/// What is to be looked at.
#[derive(Clone, Copy, Debug)]
struct Change {
    first: Instant,
    /// The last write.
    last: Instant,
    /// Whether an archive was looked at, and seems to be half written.
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

    /// The same after one more write.
    fn again(change: Option<Self>) -> Self {
        match change {
            Some(change) if !change.is_unfinished => Self { last: Instant::now(), ..change },
            _ => Self::now(),
        }
    }
}

impl Follower {
    /// For a file system that was made from what `reopening` opens.
    pub(crate) fn new(fs: &Arc<FileSystem>, reopening: Reopening, signal: ReloadSignal) -> Self {
        let looked = fs.view().vfs().opened().looked.clone();
        let fs = Arc::downgrade(fs);
        let (watcher, last, changed, folders, kept) = Default::default();
        Self { fs, reopening, signal, watcher, is_watching: true, looked, last, changed, folders, kept }
    }

    /// The same, and it waits for the signal alone.
    #[must_use]
    pub(crate) fn without_watching(self) -> Self {
        Self { is_watching: false, ..self }
    }

    /// Starts the thread, once mounted; `opened` is when the opening of the sources began. It ends with the process.
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

    /// Waits for a change, a signal, or the end of a wait; reloads where that is due.
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

    /// Opens the sources anew and serves them, or goes on serving the view that is served. One that was asked for takes archives
    /// as they are.
    fn reload(&mut self, is_asked: bool) {
        let Some(fs) = self.fs.upgrade() else { return };
        let (began, opened) = (Instant::now(), SystemTime::now());
        self.changed = None;
        self.last.began = unix_seconds(opened);
        fs.note_reload(LastReload { is_running: true, ..self.last.clone() });
        let usec = NotifyState::monotonic_usec_now().ok();
        let _ = sd_notify::notify(&[&[NotifyState::Reloading], usec.as_slice()].concat());
        let outcome = catch_unwind(AssertUnwindSafe(|| self.replace(&fs, is_asked)));
        let outcome =
            outcome.unwrap_or_else(|_| Outcome::Failed("a defect in bsafs; please report it".into()));
        self.note(&fs, outcome);
        let _ = sd_notify::notify(&[NotifyState::Ready]);
        if self.kept.iter().any(|kept| kept.is_unfinished) {
            // Looked at again when it has been quiet for long enough, or changes once more.
            self.changed = Some(Change { is_unfinished: true, ..Change::now() });
        }
        self.watch(opened);
        // A disk that changes all the time gets half of the time at most.
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
        self.looked = opened.looked.clone();
        let Ok(replaced) = fs.replace(opened) else {
            return Outcome::Failed("all inode numbers were given; unmount, and mount again".into());
        };
        // What is known of the files of a folder that was not walked is from before what happened in it.
        if !kept.iter().any(|kept| kept.is_folder) {
            self.folders = ChangedFolders::default();
        }
        Outcome::Replaced { changes: reload_line(&replaced), kept }
    }

    /// Records and logs how a reload went: what is waited for once, and a reload that found no change not at all.
    fn note(&mut self, fs: &FileSystem, outcome: Outcome) {
        let (what, is_failed) = match outcome {
            Outcome::Replaced { changes, kept } => {
                changes.iter().for_each(|what| log::info!(target: logging::NEWS, "reloaded: {what}"));
                let news = kept.iter().filter(|kept| !self.kept.contains(kept));
                news.for_each(|Kept { what, .. }| log::warn!("{what}; {SERVED}"));
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

    /// Watches what the view is made of. What was not watched while the sources were opened may have changed since then, and is
    /// looked at once more.
    fn watch(&mut self, opened: SystemTime) {
        let Some(fs) = self.fs.upgrade().filter(|_| self.is_watching) else { return };
        let view = fs.view();
        let mut interests = Interests::default();
        let (archives, folders) = view.store().paths();
        archives.into_iter().for_each(|path| interests.add_file(path));
        for folder in folders {
            folder.folder_paths().for_each(|path| interests.add_folder(path));
            folder.link_targets().for_each(|path| interests.add_file(&path));
            // Further links may be on the way from a link to what it leads to.
            folder.link_paths().for_each(|path| interests.add_way(&path));
        }
        self.looked.files.iter().for_each(|path| interests.add_file(path));
        self.looked.folders.iter().for_each(|path| interests.add_names(path.as_path()));
        self.reopening.files().iter().for_each(|path| interests.add_file(path));
        self.reopening.named().for_each(|path| interests.add_file(path));
        let was_polled = self.watcher.polled();
        let added = self.watcher.watch(interests);
        let polled = self.watcher.polled();
        if was_polled == 0 && polled > 0 {
            log::warn!(
                "the system allows no more watches (fs.inotify.max_user_watches), or not to read them: {polled} folders are looked at every few seconds"
            );
        }
        if added.is_empty() {
            return;
        }
        let from = opened.checked_sub(COARSEST_TICK).unwrap_or(opened);
        let is_new =
            |path: &Path| uncovered(path).metadata().and_then(|it| it.modified()).is_ok_and(|at| at >= from);
        // What is written to a file does not change its folder.
        let stale =
            view.store().stale_folders(|folder| added.binary_search_by(|it| (**it).cmp(folder)).is_ok());
        let mut opened = added.iter().map(|folder| &**folder).chain(view.store().paths().0);
        if !stale.is_empty() || opened.any(is_new) {
            self.changed = self.changed.or(Some(Change::now()));
        }
        stale.into_iter().for_each(|folder| self.folders.add(folder.into()));
    }
}

/// What is said of a source that cannot be opened.
const SERVED: &str = "what was mounted before is served until that changes";

/// How a reload went.
enum Outcome {
    /// A view that is made of the sources as they are, but for those that were kept; what changed that the mount shows.
    Replaced { changes: Option<String>, kept: Vec<Kept> },
    /// Why the view before is served on.
    Failed(String),
}
