//! Disks that may stop answering: those of other programs (FUSE) and of other machines. What accesses such a
//! disk then waits, perhaps for ever, and nothing can end it.
//!
//! So a daemon accesses them on a thread of its own ([`run`], [`at`]), which is left behind if the disk falls
//! asleep. A disk that is asleep ([`is_at`]) is not accessed until it answers again.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use super::mountinfo::MountEntry;
use super::sync::{Condvar, Mutex, RwLock};

/// How long a disk may take to answer. After that, it is asleep.
const LIMIT: Duration = Duration::from_secs(1);
/// After this time, the disks are asked whether a job is merely slow.
const STEP: Duration = Duration::from_millis(200);
/// Maximum number of disks that are known. Each has a thread while it is asleep.
const DISKS_MAX: usize = 64;
/// Types of file systems of other machines, and of the machine that this one is a guest of.
const REMOTE: [&str; 12] =
    ["nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "afs", "coda", "virtiofs", "vboxsf", "vmhgfs"];

/// A disk that may stop answering.
#[derive(Debug)]
pub(crate) struct SlowDisk {
    pub(crate) mounted: MountEntry,
    state: Mutex<DiskState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct DiskState {
    /// Since when a thread waits for an answer.
    asked: Option<Instant>,
    is_asleep: bool,
    /// How often the disk has fallen asleep.
    naps: u64,
}

/// The disks of this process. Deliberately static, like what the mount covers: a path leads to a disk for the
/// whole process. Only a daemon knows disks.
static DISKS: RwLock<Vec<DiskPath>> = RwLock::new(Vec::new());
/// How many disks are asleep.
static ASLEEP: AtomicUsize = AtomicUsize::new(0);
/// Called when a disk falls asleep or answers again; set once.
static ON_CHANGE: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();

/// A path at which a disk is.
#[derive(Clone, Debug)]
struct DiskPath {
    path: PathBuf,
    disk: Arc<SlowDisk>,
    /// Whether something that is mounted is on the disk.
    is_used: bool,
}

/// Registers a function to call when a disk falls asleep or answers again. It must not block. A second call
/// changes nothing.
pub(crate) fn on_change(call: impl Fn() + Send + Sync + 'static) {
    let _ = ON_CHANGE.set(Box::new(call));
}

/// Learns which disks there are. `places` are the paths of sources: each without links, and as it is opened.
/// The daemon of another user's mount is asked only if a source is on it.
pub(crate) fn learn<'a>(mounts: &[MountEntry], places: impl Iterator<Item = (&'a Path, &'a Path)>) {
    let before = DISKS.read().clone();
    let known = |mounted: &MountEntry| {
        let same = before.iter().find(|place| place.disk.mounted.is_same_mount(mounted));
        same.map_or_else(|| Arc::new(SlowDisk::new(mounted.clone())), |place| place.disk.clone())
    };
    let mut disks: Vec<DiskPath> = (mounts.iter().filter(|mounted| may_sleep(mounted)))
        .map(|mounted| DiskPath { path: mounted.mountpoint.clone(), disk: known(mounted), is_used: false })
        .collect();
    // Links that lead to a disk that is asleep are not followed again.
    let is_link = |place: &&DiskPath| place.path != place.disk.mounted.mountpoint && place.disk.is_asleep();
    let is_known = |place: &&DiskPath| disks.iter().any(|it| Arc::ptr_eq(&it.disk, &place.disk));
    let mut others: Vec<DiskPath> = before.iter().filter(is_link).filter(is_known).cloned().collect();
    for disk in disks.iter_mut() {
        disk.is_used = others.iter().any(|it| Arc::ptr_eq(&it.disk, &disk.disk));
    }
    for (real, path) in places {
        for disk in disks.iter_mut().filter(|disk| real.starts_with(&disk.path)) {
            disk.is_used = true;
            let is_new = |path: &Path| !others.iter().any(|it: &DiskPath| path.starts_with(&it.path));
            if !path.starts_with(&disk.path) && is_new(path) {
                others.push(DiskPath { path: path.to_owned(), ..disk.clone() });
            }
        }
    }
    disks.retain(|place| place.is_used || !place.disk.mounted.is_fuse() || place.disk.mounted.is_trusted());
    disks.sort_by_key(|place| !place.is_used);
    disks.truncate(DISKS_MAX);
    disks.append(&mut others);
    *DISKS.write() = disks;
}

/// Whether any disk is asleep.
pub(super) fn is_any() -> bool {
    ASLEEP.load(Ordering::SeqCst) > 0
}

/// Whether a path is on a disk that is asleep, so that it must not be accessed. A path that leads there
/// through links is recognised if it is that of a source.
pub(crate) fn is_at(path: &Path) -> bool {
    is_any() && DISKS.read().iter().any(|place| place.disk.is_asleep() && path.starts_with(&place.path))
}

/// Whether a device (`st_dev`) is a disk that is asleep.
pub(crate) fn is_device(device: u64) -> bool {
    let number = || format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    is_any()
        && DISKS.read().iter().any(|place| place.disk.is_asleep() && place.disk.mounted.device == number())
}

/// The error of a path for which [`is_at`] holds.
pub(crate) fn error() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "its disk does not answer")
}

/// The disks that sources are on.
pub(crate) fn used() -> Vec<Arc<SlowDisk>> {
    let mut used: Vec<Arc<SlowDisk>> = Vec::new();
    for place in DISKS.read().iter().filter(|place| place.is_used) {
        if !used.iter().any(|disk| Arc::ptr_eq(disk, &place.disk)) {
            used.push(place.disk.clone());
        }
    }
    used
}

/// Asks all disks that sources are on and that are awake. Waits for the answers, but not for long.
pub(crate) fn ask() {
    let used = used();
    used.iter().for_each(SlowDisk::begin_to_ask);
    for disk in &used {
        let _ = disk.answers();
    }
}

/// Runs a job that may access any disk that a source is on. Returns `None` if one fell asleep meanwhile: then
/// the job may never end. No other disk is asked, because this process could not end while it waits.
pub(crate) fn run<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    run_on(used(), job)
}

/// Runs a job that accesses a path. Returns `None` if its disk is asleep or falls asleep: then the job may
/// never end.
pub(crate) fn at<T: Send + 'static>(path: &Path, job: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let is_here = |place: &&DiskPath| path.starts_with(&place.path);
    let disks: Vec<Arc<SlowDisk>> =
        DISKS.read().iter().filter(is_here).map(|place| place.disk.clone()).collect();
    if disks.iter().any(|disk| disk.is_asleep()) { None } else { run_on(disks, job) }
}

fn run_on<T: Send + 'static>(
    mut disks: Vec<Arc<SlowDisk>>,
    job: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    disks.retain(|disk| !disk.is_asleep());
    if disks.is_empty() {
        return Some(job());
    }
    let (sender, receiver) = sync_channel(1);
    let run = move || _ = sender.send(catch_unwind(AssertUnwindSafe(job)));
    thread::Builder::new().name("disk".into()).spawn(run).ok()?;
    loop {
        match receiver.recv_timeout(STEP) {
            Ok(Ok(done)) => return Some(done),
            Ok(Err(panic)) => resume_unwind(panic),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {
                disks.iter().for_each(SlowDisk::begin_to_ask);
                if !disks.iter().all(SlowDisk::answers) {
                    return None;
                }
            }
        }
    }
}

/// Whether a file system may stop answering. A mount of bsafs is never a source.
fn may_sleep(mounted: &MountEntry) -> bool {
    let kind = &*mounted.kind;
    !mounted.is_bsafs() && (mounted.is_fuse() || kind == "fuseblk" || REMOTE.contains(&kind))
}

impl SlowDisk {
    fn new(mounted: MountEntry) -> Self {
        Self { mounted, state: Mutex::new(DiskState::default()), changed: Condvar::new() }
    }

    pub(crate) fn is_asleep(&self) -> bool {
        self.state.lock().is_asleep
    }

    /// How often the disk has fallen asleep.
    pub(crate) fn naps(&self) -> u64 {
        self.state.lock().naps
    }

    /// Has a thread ask the disk, unless one does already. Attributes prove nothing, because they may be
    /// cached; statfs is always passed on.
    fn begin_to_ask(self: &Arc<Self>) {
        let mut state = self.state.lock();
        if state.asked.is_some() {
            return;
        }
        let disk = self.clone();
        let ask = move || {
            // An error is an answer.
            let _ = rustix::fs::statfs(&disk.mounted.mountpoint);
            disk.record_answer();
        };
        if thread::Builder::new().name("ask-disk".into()).spawn(ask).is_ok() {
            state.asked = Some(Instant::now());
        }
    }

    fn record_answer(&self) {
        let mut state = self.state.lock();
        state.asked = None;
        let was_asleep = std::mem::take(&mut state.is_asleep);
        self.changed.notify_all();
        drop(state);
        if was_asleep {
            ASLEEP.fetch_sub(1, Ordering::SeqCst);
            ON_CHANGE.get().into_iter().for_each(|call| call());
        }
    }

    /// Whether the disk answers in time, if it was asked. If not, it is asleep from now on.
    fn answers(self: &Arc<Self>) -> bool {
        let mut state = self.state.lock();
        let Some(asked) = state.asked else { return true };
        if !state.is_asleep {
            let left = LIMIT.saturating_sub(asked.elapsed());
            state = self.changed.wait_timeout_while(state, left, |state| state.asked == Some(asked));
        }
        if state.asked != Some(asked) || state.is_asleep {
            return !state.is_asleep;
        }
        state.is_asleep = true;
        state.naps += 1;
        drop(state);
        ASLEEP.fetch_add(1, Ordering::SeqCst);
        ON_CHANGE.get().into_iter().for_each(|call| call());
        false
    }
}
