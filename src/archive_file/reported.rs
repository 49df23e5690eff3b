//! What inotify has reported about an archive file. A `touch` disturbs no reader, but a write does.

use std::time::Duration;

use crate::system::sync::{Condvar, Mutex};

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
    /// The ctime of a change before the file was watched. No event reports that change.
    unreported: Option<i64>,
    is_written: bool,
    /// Whether the attributes were changed since a touch was last accepted.
    is_touched: bool,
}

impl Events {
    /// Whether an event of a change is still to come.
    fn is_awaited(&self, ctime: i64) -> bool {
        self.is_watched && self.unreported != Some(ctime) && !self.is_written && !self.is_touched
    }
}

impl Reported {
    /// Whether the events of the file are noted.
    pub(super) fn is_watched(&self) -> bool {
        self.events.lock().is_watched
    }

    /// Records that from now on the events of the file are noted. `unreported` is the ctime of the file if it
    /// changed before.
    pub(super) fn note_watched(&self, unreported: Option<i64>) {
        let mut events = self.events.lock();
        (events.is_watched, events.unreported) = (true, unreported);
    }

    /// Records an event. `is_written` says whether the content was written to.
    pub(super) fn note(&self, is_written: bool) {
        let mut events = self.events.lock();
        events.is_written |= is_written;
        events.is_touched |= !is_written;
        drop(events);
        self.changed.notify_all();
    }

    /// Whether only the attributes of the file were changed, as far as events say. Waits a moment for the
    /// first event of a change, given the ctime after it. A second change needs a second event.
    pub(super) fn accept_touch(&self, ctime: i64) -> bool {
        let events = self.events.lock();
        let is_awaited = |events: &mut Events| events.is_awaited(ctime);
        let mut events = self.changed.wait_timeout_while(events, EVENT_DELAY, is_awaited);
        !events.is_written && std::mem::take(&mut events.is_touched)
    }

    /// Whether the content was written to.
    pub(super) fn is_written(&self) -> bool {
        self.events.lock().is_written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_event_is_awaited_of_a_change_before_the_file_was_watched() {
        let reported = Reported::default();
        let is_awaited = |ctime| reported.events.lock().is_awaited(ctime);
        assert!(!is_awaited(7), "a file that is not watched has no events");
        reported.note_watched(Some(7));
        assert_eq!((is_awaited(7), is_awaited(8)), (false, true));
        reported.note(false);
        assert!(!is_awaited(8) && reported.accept_touch(8) && is_awaited(8));
        assert!(!reported.accept_touch(7));
    }
}
