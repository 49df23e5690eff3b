//! What inotify has reported about an archive file. A `touch` disturbs no reader, but a write does.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a read waits for the event of a change that it found. The event is queued within the system call
/// that makes the change, so it is only a matter of waking the thread that watches.
const EVENT_DELAY: Duration = Duration::from_millis(500);

/// The events of an archive file since it was opened.
#[derive(Debug, Default)]
pub(super) struct Reported {
    events: Mutex<Events>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Events {
    is_watched: bool,
    is_written: bool,
    /// Whether the attributes were changed since a touch was last accepted.
    is_touched: bool,
}

impl Reported {
    /// Records that from now on the events of the file are noted.
    pub(super) fn note_watched(&self) {
        self.lock().is_watched = true;
    }

    /// Records an event. `is_written` says whether the content was written to.
    pub(super) fn note(&self, is_written: bool) {
        let mut events = self.lock();
        events.is_written |= is_written;
        events.is_touched |= !is_written;
        drop(events);
        self.changed.notify_all();
    }

    /// Whether only the attributes of the file were changed, as far as events say. Waits a moment for the
    /// first event. A second change needs a second event.
    pub(super) fn accept_touch(&self) -> bool {
        let events = self.lock();
        let is_awaited = |events: &mut Events| events.is_watched && !events.is_written && !events.is_touched;
        let waited = self.changed.wait_timeout_while(events, EVENT_DELAY, is_awaited);
        let mut events = waited.unwrap_or_else(PoisonError::into_inner).0;
        !events.is_written && std::mem::take(&mut events.is_touched)
    }

    /// Whether the content was written to.
    pub(super) fn is_written(&self) -> bool {
        self.lock().is_written
    }

    fn lock(&self) -> MutexGuard<'_, Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
