//! Asks a daemon, with a time limit, before a path in its mount is accessed. A daemon that was stopped (a
//! signal, a freezer, a debugger) never answers, and a process that waits for it hangs.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use super::error::{StatusError, StatusErrorKind};
use super::mount_status::{ANSWER_TIME, Answer, MountStatus, SHORT_TIME, ask, ask_within, mount_at};
use super::serving::process_of;
use crate::daemon::mountpoint::resolve_mountpoint;
use crate::daemon::overlay::{bsafs_mount_at, shown};
use crate::system::mountinfo::{self, MountEntry};
use crate::system::paths::first_on_the_way;

/// The mounts whose daemons were asked, each once for the whole command.
#[derive(Debug, Default)]
pub(crate) struct Answering {
    /// For each device, nothing, or the mount that was asked and its answer if that is a refusal.
    refusals: HashMap<String, Option<(MountEntry, Answer)>>,
    /// How long daemons that hang were waited for.
    waited: Duration,
}

impl Answering {
    /// Checks that the daemon of the mount that a path enters answers. A path outside of all mounts is fine.
    ///
    /// # Errors
    /// The daemon hangs or has ended, or the mount is another user's. The error names the mountpoint.
    pub(crate) fn check(&mut self, path: &Path) -> Result<(), StatusError> {
        let Some(mounted) = entered(path) else { return Ok(()) };
        if !self.refusals.contains_key(&mounted.device) {
            let refused = self.ask(&mounted);
            self.refusals.insert(mounted.device.clone(), refused);
        }
        let refused = self.refusals.get(&mounted.device).and_then(Option::as_ref);
        match refused.and_then(|(asked, answer)| refusal(asked, answer)) {
            Some(kind) => Err(StatusError { path: shown(&mounted).mountpoint, kind }),
            None => Ok(()),
        }
    }

    fn ask(&mut self, mounted: &MountEntry) -> Option<(MountEntry, Answer)> {
        // The links by which a daemon answers are in the root of its mount.
        let whole = |it: &MountEntry| it.is_bsafs() && it.is_whole() && it.device == mounted.device;
        let asked = mountinfo::mounts().into_iter().find(whole).unwrap_or_else(|| mounted.clone());
        let began = Instant::now();
        let answer = ask_within(&asked, ANSWER_TIME.saturating_sub(self.waited).max(SHORT_TIME));
        if matches!(answer, Answer::Hangs) {
            self.waited += began.elapsed();
        }
        refusal(&asked, &answer).is_some().then_some((asked, answer))
    }
}

/// The status of the mount on a mountpoint. Waits for the answer for a limited time.
pub(crate) fn status_of(path: &Path) -> Result<MountStatus, StatusError> {
    let mounted = mount_at(path, &resolve_mountpoint(path))?;
    let answer = ask(&mounted);
    let kind = match (refusal(&mounted, &answer), answer) {
        (None, Answer::Status(status)) => return Ok(*status),
        (Some(kind), _) => kind,
        (None, Answer::Failed(what)) => StatusErrorKind::Failed(what),
        (None, _) => StatusErrorKind::NotMounted,
    };
    Err(StatusError { path: path.to_owned(), kind })
}

/// Why nothing in a mount can be accessed.
fn refusal(mounted: &MountEntry, answer: &Answer) -> Option<StatusErrorKind> {
    match answer {
        Answer::Hangs => Some(StatusErrorKind::Hangs(process_of(mounted))),
        Answer::Dead => Some(StatusErrorKind::Dead),
        Answer::Refused => Some(StatusErrorKind::Refused),
        Answer::Status(status) if status.has_dead_overlay => Some(StatusErrorKind::DeadOverlay),
        Answer::Status(_) | Answer::Covered | Answer::Failed(_) => None,
    }
}

/// The first mount of bsafs that a path enters. Follows links, but accesses nothing in the mount.
fn entered(path: &Path) -> Option<MountEntry> {
    first_on_the_way(&std::path::absolute(path).ok()?, bsafs_mount_at)
}
