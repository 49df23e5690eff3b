//! Decides when a reload begins: when the disk is quiet, when a LOOKUP waits for it, or on request.

use std::time::{Duration, Instant};

use crate::system::sync::{Condvar, Mutex};
use crate::vfs::reopening::{DiskChanges, SETTLED};

/// Time to wait after the last write, because a program may go on writing.
const QUIET_TIME: Duration = Duration::from_millis(150);
/// Maximum time to wait after the first write, even if more writes follow.
const MAX_DELAY: Duration = Duration::from_millis(500);
/// The pause after a reload is this many times as long as the reload. So if a disk changes all the time,
/// reloads take at most a fifth of the time, unless each takes more than 1.25 s.
const PAUSE_FACTOR: u32 = 4;
/// The pause after watches were moved is this many times as long as the move.
const MOVE_PAUSE_FACTOR: u32 = 10;
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// What changed since the last reload began, shared by the threads that follow the disk.
#[derive(Debug, Default)]
pub(super) struct Trigger {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    changes: DiskChanges,
    change: Option<Change>,
    /// Whether the user requested a reload.
    is_requested: bool,
    /// Whether a LOOKUP waits for a reload.
    is_waited_for: bool,
    /// Before this time only a request begins a reload.
    not_before: Option<Instant>,
    /// Whether a program used a folder while some have no watch.
    is_used: bool,
    /// Whether the mount table changed.
    are_mounts: bool,
    /// Before this time no watches are moved.
    not_moved_before: Option<Instant>,
    is_over: bool,
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

/// A reload that is due.
#[derive(Debug)]
pub(super) struct Due {
    pub(super) changes: DiskChanges,
    pub(super) is_requested: bool,
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
}

impl State {
    /// When a reload is due; `None` if nothing changed.
    fn due(&self, now: Instant) -> Option<Instant> {
        if self.is_requested || self.is_over {
            return Some(now);
        }
        let due = if self.is_waited_for { now } else { self.change?.due() };
        Some(self.not_before.map_or(due, |not_before| due.max(not_before)))
    }
}

impl Trigger {
    /// Adds changes. `note` adds them, and returns whether one of them counts for the quiet time: a reload
    /// then waits until the disk is quiet. No reload begins meanwhile.
    pub(super) fn note(&self, note: impl FnOnce(&mut DiskChanges) -> bool) {
        let mut state = self.state.lock();
        if note(&mut state.changes) {
            state.change = match state.change {
                Some(change) if !change.is_unfinished => Some(Change { last: Instant::now(), ..change }),
                _ => Some(Change::now()),
            };
            self.changed.notify_one();
        }
    }

    /// Adds changes that a request or a check found. They do not postpone a reload that is due already,
    /// because a program may repeat a failing read all the time.
    pub(super) fn note_found(&self, note: impl FnOnce(&mut DiskChanges)) {
        let mut state = self.state.lock();
        note(&mut state.changes);
        state.change = state.change.or(Some(Change::now()));
        self.changed.notify_one();
    }

    /// Begins a reload at once, on request of the user.
    pub(super) fn request(&self) {
        let mut state = self.state.lock();
        state.changes.add_anywhere();
        state.is_requested = true;
        self.changed.notify_one();
    }

    /// Begins a reload without waiting until the disk is quiet.
    pub(super) fn hurry(&self) {
        self.state.lock().is_waited_for = true;
        self.changed.notify_one();
    }

    /// Begins another reload when an archive that seems half written has been quiet for long enough, or
    /// changes once more.
    pub(super) fn retry_unfinished(&self) {
        let mut state = self.state.lock();
        state.change = state.change.or(Some(Change { is_unfinished: true, ..Change::now() }));
    }

    /// Records how long a reload took.
    pub(super) fn pause_after(&self, reload: Duration) {
        self.state.lock().not_before = Some(Instant::now() + (reload * PAUSE_FACTOR).min(PAUSE_MAX));
    }

    /// Has watches moved to folders that programs used.
    pub(super) fn note_use(&self) {
        self.state.lock().is_used = true;
        self.changed.notify_one();
    }

    /// Has the mount table compared, because it changed.
    pub(super) fn note_mounts(&self) {
        self.state.lock().are_mounts = true;
        self.changed.notify_one();
    }

    /// Whether the mount table changed since the last call.
    pub(super) fn take_mounts(&self) -> bool {
        std::mem::take(&mut self.state.lock().are_mounts)
    }

    /// Records how long it took to move watches. Even if a program walks the whole mount, they are moved for
    /// at most a tenth of the time.
    pub(super) fn pause_moves(&self, took: Duration) {
        self.state.lock().not_moved_before =
            Some(Instant::now() + (took * MOVE_PAUSE_FACTOR).max(QUIET_TIME));
    }

    /// Ends all waiting.
    pub(super) fn end(&self) {
        self.state.lock().is_over = true;
        self.changed.notify_all();
    }

    pub(super) fn is_over(&self) -> bool {
        self.state.lock().is_over
    }

    /// Waits until a reload is due, and takes the changes. `begin` is called before other changes can be
    /// noted, and what it returns is returned too. `None` after `idle`, when mounts are to be compared or
    /// watches moved, and at the end.
    pub(super) fn wait<T>(&self, idle: Option<Duration>, begin: impl FnOnce() -> T) -> Option<(Due, T)> {
        let idle = idle.map(|idle| Instant::now() + idle);
        let mut state = self.state.lock();
        loop {
            let now = Instant::now();
            let due = state.due(now);
            let moves = state.is_used.then(|| state.not_moved_before.unwrap_or(now));
            let until = idle.into_iter().chain(moves).min();
            if due.is_none_or(|due| due > now) && moves.is_some_and(|moves| moves <= now) {
                state.is_used = false;
                return None;
            }
            if state.are_mounts {
                return None;
            }
            if state.is_over || until.is_some_and(|until| until <= now) && due.is_none_or(|due| due > now) {
                return None;
            }
            if due.is_some_and(|due| due <= now) {
                let begun = begin();
                (state.change, state.is_waited_for) = (None, false);
                let changes = std::mem::take(&mut state.changes);
                let due = Due { changes, is_requested: std::mem::take(&mut state.is_requested) };
                return Some((due, begun));
            }
            let next = due.into_iter().chain(until).min();
            state = match next {
                Some(next) => self.changed.wait_timeout(state, next.saturating_duration_since(now)),
                None => self.changed.wait(state),
            };
        }
    }
}
