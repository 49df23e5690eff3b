//! The status of a mount, which its daemon reports. It is read from one mount, or from all mounts
//! in a bounded time.

use std::collections::{HashMap, HashSet};
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::readlinkat;
use rustix::io::Errno;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use super::serving::process_of;
use crate::daemon::mountpoint::{DEAD_CODE, has_no_daemon, resolve_mountpoint};
use crate::daemon::overlay::{self, bsafs_mount_among, shown};
use crate::failure::{Exit, Failure};
use crate::fs::{self, MountedSource, MountedSources, NotLookedAt, SOURCES_LINK, STATUS_LINK, read_pages};
use crate::note::{Note, NoteSummary};
use crate::shown::{Shown, excerpt};
use crate::system::credentials::Credentials;
use crate::system::edit_mount;
use crate::system::mountinfo::{self, MountEntry};
use crate::system::owners::open_mount;
use crate::system::subprocess::Program;
use crate::system::walk::first_on_the_way;

/// What a daemon reports about its mount.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct MountStatus {
    #[serde(flatten)]
    pub(crate) status: fs::DaemonStatus,
    /// The sources of the mount. Empty if the daemon's version does not report them, or if the
    /// caller may not know them.
    #[serde(default)]
    pub(crate) sources: Vec<MountedSource>,
    /// The options with which the sources were opened, as after `-o`.
    #[serde(default)]
    pub(crate) options: String,
    /// The commands that mount a writable mount again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) remount: Option<String>,
    /// The folder of the Mod Organizer 2 profile that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) profile: Option<String>,
    /// What is odd about the sources or was left out of them, one for each code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) odd: Vec<NoteSummary>,
    /// What could not be looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) not_looked_at: Vec<NotLookedAt>,
    /// The folder that receives the changes of a writable mount. Bytes that are not UTF-8 are replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) edit: Option<String>,
    /// Whether the overlay that makes the mount writable has no program any more. Every access to it fails.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) has_dead_overlay: bool,
    /// The user whose daemon says all this, if it is neither root nor the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) claimed_by: Option<u32>,
}

impl MountStatus {
    /// Asks the daemon of a mount, and waits for the answer, perhaps for ever. Commands call
    /// [`status_of`](status_of). Another user may put his mount in the place of the one
    /// with this identity.
    pub(crate) fn read(path: &Path, identity: &str) -> Result<Self, StatusError> {
        let error = |kind| StatusError { path: path.to_owned(), kind };
        let mounted = mount_with_identity(path, identity)?;
        let read = |name: &str| read_in(&mounted, name).map_err(|errno| error(StatusErrorKind::of(errno)));
        let text = read(STATUS_LINK)?;
        let unreadable = |cause| error(StatusErrorKind::Unreadable(cause));
        let status = serde_json::from_slice(&text).map_err(unreadable)?;
        let sources = read_pages(|page| read_in(&mounted, &format!("{SOURCES_LINK}:{page}")));
        let MountedSources { sources, options, remount, profile, odd, not_looked_at } = match sources {
            Ok(sources) => serde_json::from_str(&sources).map_err(unreadable)?,
            Err(errno) => {
                log::debug!("{}: cannot read the sources: {errno}", path.shown());
                MountedSources::default()
            }
        };
        let edit = edit_mount::edit_folder(&mounted).map(|edit| edit.to_string_lossy().into_owned());
        let claimed_by = mounted.claimant();
        // That of the kernel cannot die.
        let overlay = edit_mount::overlay_of(&mounted).filter(MountEntry::is_fuse);
        let has_dead_overlay = overlay.is_some_and(|it| has_no_daemon(&it.mountpoint, &it.identity()));
        Ok(Self {
            status,
            sources,
            options,
            remount,
            profile,
            odd,
            not_looked_at,
            edit,
            has_dead_overlay,
            claimed_by,
        })
    }

    /// The number of all requests. Another user's daemon can report any numbers.
    pub(crate) fn requests(&self) -> u64 {
        self.status.requests.values().fold(0, |sum, number| sum.saturating_add(*number))
    }

    /// The sources, in one line of limited length.
    pub(crate) fn sources_text(&self) -> Option<String> {
        const SHOWN: usize = 4;
        let shown: Vec<String> =
            self.sources.iter().take(SHOWN).map(|it| it.path.shown().to_string()).collect();
        let more = self.sources.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        (!shown.is_empty()).then(|| shown.join(", ") + &more)
    }
}

/// The mount of bsafs on a mountpoint that the user named by `path`. Its root has the links.
pub(crate) fn mount_at(path: &Path, mountpoint: &Path) -> Result<MountEntry, StatusError> {
    let kind = match overlay::bsafs_mount_at(mountpoint) {
        Some(mounted) if mounted.is_whole() => return Ok(mounted),
        Some(_) => StatusErrorKind::Part,
        None => StatusErrorKind::NotMounted,
    };
    Err(StatusError { path: path.to_owned(), kind })
}

/// As [`mount_at`], for a process that another one started to ask a mount that it had found.
pub(super) fn mount_with_identity(path: &Path, identity: &str) -> Result<MountEntry, StatusError> {
    let mounted = mount_at(path, &resolve_mountpoint(path))?;
    if mounted.identity() != identity {
        return Err(StatusError { path: path.to_owned(), kind: StatusErrorKind::NotMounted });
    }
    Ok(mounted)
}

/// Reads a link in the root of a mount. Fails if the path of the mount does not lead to it.
pub(super) fn read_in(mounted: &MountEntry, name: &str) -> Result<Vec<u8>, Errno> {
    let root = open_mount(&mounted.mountpoint, &mounted.identity())?.ok_or(Errno::NOENT)?;
    readlinkat(&root, name, Vec::new()).map(CString::into_bytes)
}

/// The result of asking the daemon of a mount.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Status(Box<MountStatus>),
    /// The daemon has ended.
    Dead,
    /// The daemon does not answer in time.
    Hangs,
    /// The mount is another user's.
    Refused,
    /// Another mount covers this one.
    Covered,
    /// Something else failed.
    Failed(String),
}

/// How long a daemon may take to answer. A live daemon takes a millisecond.
pub(crate) const ANSWER_TIME: Duration = Duration::from_secs(3);
/// How long a daemon may take to answer after others have used up the time of the command.
pub(super) const SHORT_TIME: Duration = Duration::from_millis(300);
/// The exit code of `bsafs status` if the mount is another user's.
pub(crate) const REFUSED_CODE: i32 = 77;
/// Maximum number of mounts that are asked at the same time.
const AT_ONCE: usize = 64;

/// All mounts of bsafs, each with its daemon's answer, in the order of mounting.
pub(crate) fn all() -> Vec<(MountEntry, Answer)> {
    let mounts: Vec<MountEntry> = mountinfo::mounts().into_iter().filter(MountEntry::is_bsafs).collect();
    let mut answers = Vec::with_capacity(mounts.len());
    // A user may have a thousand mounts that do not answer, and each costs time and a process.
    let mut silent = HashSet::new();
    // Or a thousand that take their time.
    let mut waited = Duration::ZERO;
    for mounts in mounts.chunks(AT_ONCE) {
        let (asked_before, began) = (answers.len(), Instant::now());
        let left = ANSWER_TIME.saturating_sub(waited).max(SHORT_TIME);
        let ask = |mounted: &MountEntry| match mounted.claimant() {
            Some(user) if silent.contains(&user) => {
                Answer::Failed(format!("not asked, because another mount of user {user} hangs"))
            }
            Some(_) => ask_within(mounted, left),
            None => ask(mounted),
        };
        thread::scope(|scope| {
            let asked: Vec<_> = mounts
                .iter()
                .map(|mounted| thread::Builder::new().spawn_scoped(scope, || ask(mounted)))
                .collect();
            answers.extend(asked.into_iter().map(|asked| match asked.map(thread::ScopedJoinHandle::join) {
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) => {
                    Answer::Failed("bug in bsafs; please report it with all printed messages".into())
                }
                Err(error) => Answer::Failed(error.to_string()),
            }));
        });
        if mounts.iter().any(|mounted| mounted.claimant().is_some()) {
            waited += began.elapsed();
        }
        let answered = mounts.iter().zip(&answers[asked_before..]);
        let hanging = answered.filter(|(_, answer)| matches!(answer, Answer::Hangs));
        silent.extend(hanging.filter_map(|(mounted, _)| mounted.claimant()));
    }
    let known: Vec<(String, Answer)> = mounts
        .iter()
        .zip(&answers)
        .filter(|(_, answer)| matches!(answer, Answer::Status(_)))
        .map(|(mounted, answer)| (mounted.device.clone(), answer.clone()))
        .collect();
    let with_answer = |(mounted, answer): (MountEntry, Answer)| {
        let is_known = matches!(answer, Answer::Status(_) | Answer::Covered);
        let others = known.iter().find(|(device, _)| !is_known && *device == mounted.device);
        // A bind mount of a folder does not show the links in the root. Such a mount gets the answer of
        // another mount of the same device.
        let answer = others.map_or(answer, |(_, answer)| answer.clone());
        (mounted, answer)
    };
    mounts.into_iter().zip(answers).map(with_answer).collect()
}

/// Asks the daemon of a mount, for at most [`ANSWER_TIME`]. A separate process asks, which is left
/// behind if it hangs: `bsafs status --json`. Root asks as the mount's owner, because only the
/// owner may access the mount.
pub(crate) fn ask(mounted: &MountEntry) -> Answer {
    ask_within(mounted, ANSWER_TIME)
}

/// As [`ask`], for at most this long.
pub(super) fn ask_within(mounted: &MountEntry, limit: Duration) -> Answer {
    let topmost = mountinfo::mounted_at(&mounted.mountpoint);
    if topmost.is_none_or(|topmost| topmost.device != mounted.device) {
        return Answer::Covered;
    }
    if mounted.claimant().is_some() && !geteuid().is_root() && !mounted.has_option("allow_other") {
        return Answer::Refused;
    }
    let program = match mounted.owner.filter(|(uid, _)| geteuid().is_root() && *uid != 0) {
        Some(owner) => Program::itself_as(Credentials::of_owner(owner)),
        None => Program::itself(),
    };
    let program = program
        .args(["status", "--json", "--direct", &mounted.identity(), "--"])
        .arg(&mounted.mountpoint)
        .env("RUST_LOG", "error");
    let output = match program.output_within(limit) {
        Ok(Some(output)) => output,
        Ok(None) => return Answer::Hangs,
        Err(error) => return Answer::Failed(error.to_string()),
    };
    let code = output.status.code();
    match serde_json::from_slice(&output.stdout) {
        _ if code == Some(DEAD_CODE) => Answer::Dead,
        _ if code == Some(REFUSED_CODE) => Answer::Refused,
        // The process that asked may have been the mount's user, to whom it is no claim.
        Ok(status) if output.status.success() => {
            Answer::Status(Box::new(MountStatus { claimed_by: mounted.claimant(), ..status }))
        }
        _ => Answer::Failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

// Asks a daemon, with a time limit, before a path in its mount is accessed. A daemon that was stopped (a
// signal, a freezer, a debugger) never answers, and a process that waits for it hangs.

/// The mounts whose daemons were asked, each once for the whole command.
#[derive(Debug, Default)]
pub(crate) struct Answering {
    /// For each device, the mount that was asked, and its answer.
    answers: HashMap<String, (MountEntry, Answer)>,
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
        let (asked, answer) = self.answer(&mounted);
        match refusal(asked, answer) {
            Some(kind) => Err(StatusError { path: shown(&mounted).mountpoint, kind }),
            None => Ok(()),
        }
    }

    /// What the mount that a path enters could not look at, and may have a file at `within`, the path in the
    /// mount, or decide which one wins.
    pub(crate) fn unseen_about(&mut self, path: &Path, within: &[u8]) -> Vec<Note> {
        let Some((_, Answer::Status(status))) = entered(path).map(|mounted| self.answer(&mounted)) else {
            return Vec::new();
        };
        status.not_looked_at.iter().filter(|it| it.is_about(within)).map(NotLookedAt::note).collect()
    }

    fn answer(&mut self, mounted: &MountEntry) -> &(MountEntry, Answer) {
        let waited = &mut self.waited;
        self.answers.entry(mounted.device.clone()).or_insert_with(|| {
            // The links by which a daemon answers are in the root of its mount.
            let whole = |it: &MountEntry| it.is_bsafs() && it.is_whole() && it.device == mounted.device;
            let asked = mountinfo::mounts().into_iter().find(whole).unwrap_or_else(|| mounted.clone());
            let began = Instant::now();
            let answer = ask_within(&asked, ANSWER_TIME.saturating_sub(*waited).max(SHORT_TIME));
            if matches!(answer, Answer::Hangs) {
                *waited += began.elapsed();
            }
            (asked, answer)
        })
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
    let mounts = mountinfo::mounts();
    first_on_the_way(&std::path::absolute(path).ok()?, |at| bsafs_mount_among(&mounts, at)).cloned()
}

// Why a mount's daemon gave no status.

#[derive(Debug)]
pub(crate) struct StatusError {
    /// The folder whose status was asked for.
    pub(crate) path: PathBuf,
    pub(crate) kind: StatusErrorKind,
}

/// What went wrong when asking the daemon.
#[derive(Debug)]
pub(crate) enum StatusErrorKind {
    /// No mount of bsafs is there.
    NotMounted,
    /// Only a folder of the mount is there, by a bind mount.
    Part,
    /// The daemon has ended; the dead mount remains.
    Dead,
    /// The program of the overlay that makes the mount writable has ended.
    DeadOverlay,
    /// The mount is another user's.
    Refused,
    /// The daemon does not answer in time. The number of its process, if it is known.
    Hangs(Option<u32>),
    /// A separate process asked the daemon, and reported this.
    Failed(String),
    /// The daemon does not answer.
    Unanswered(Errno),
    /// The daemon does not report changes.
    TooOld,
    /// The daemon's answer cannot be read.
    Unreadable(serde_json::Error),
}

impl StatusErrorKind {
    /// The kind for an error of a system call in the mount.
    pub(crate) fn of(errno: Errno) -> Self {
        match errno {
            Errno::NOTCONN | Errno::CONNABORTED => Self::Dead,
            Errno::ACCESS | Errno::PERM => Self::Refused,
            _ => Self::Unanswered(errno),
        }
    }
}

/// What happened to a writable mount without the program of its overlay, and what to do. The program may have
/// been killed for its memory.
pub(crate) fn dead_overlay(path: &Path) -> String {
    let path = path.shown();
    format!(
        "fuse-overlayfs, which made the mount writable, has ended; run `bsafs umount {path}`, mount again, \
         and check what was written last (`bsafs help writing`)"
    )
}

impl From<StatusError> for Failure {
    fn from(StatusError { path, kind }: StatusError) -> Self {
        let shown = path.shown();
        let (exit, what) = match kind {
            StatusErrorKind::NotMounted => {
                (Exit::NoInput, "not a bsafs mount; `bsafs mounts` lists all mounts".into())
            }
            StatusErrorKind::Part => {
                let what = "only a part of a mount is visible here; name the mountpoint of the whole";
                (Exit::NoInput, what.into())
            }
            StatusErrorKind::Dead => {
                let advice = format!("run `bsafs umount {shown}` to remove the dead mount");
                (Exit::Unavailable, format!("the daemon has ended; {advice}"))
            }
            StatusErrorKind::DeadOverlay => (Exit::Unavailable, dead_overlay(&path)),
            StatusErrorKind::Refused => {
                (Exit::NoPermission, "owned by another user; run as that user".into())
            }
            StatusErrorKind::Hangs(Some(pid)) => {
                let advice = format!(
                    "if it was stopped, `kill -CONT {pid}` lets it go on; otherwise `bsafs umount` ends the \
                     mount"
                );
                (Exit::Io, format!("the daemon (process {pid}) does not answer; {advice}"))
            }
            StatusErrorKind::Hangs(None) => {
                (Exit::Io, "the daemon does not answer; `bsafs umount` ends the mount".into())
            }
            StatusErrorKind::Failed(what) => {
                return Self::new(Exit::Io, what.strip_prefix("bsafs: ").unwrap_or(&what));
            }
            StatusErrorKind::Unanswered(errno) => {
                (Exit::Io, format!("the daemon does not answer: {}", std::io::Error::from(errno)))
            }
            StatusErrorKind::TooOld => {
                (Exit::Data, "the daemon is of an older version; unmount, and mount again".into())
            }
            StatusErrorKind::Unreadable(cause) => {
                (Exit::Data, format!("cannot read the daemon's answer: {}", excerpt(&cause.to_string())))
            }
        };
        Self::new(exit, format!("{shown}: {what}"))
    }
}
