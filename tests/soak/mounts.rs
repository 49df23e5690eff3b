//! A mount and its daemon: mounted by the program as a person does, unmounted, killed, stopped, mounted over.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bsafs::fs::{DaemonStatus, STATUS_LINK};
use bsafs::system::mountinfo;
use rustix::mount::UnmountFlags;
use rustix::process::{Pid, Signal, kill_process};

use crate::Outcome;
use crate::archives::KINDS;
use crate::loose;
use crate::memory::Life;
use crate::view::{View, Views};

/// How long an unmounted daemon may take to end, and a mount may be busy after its files were closed.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long a change may take to be shown, in looks; of a busy machine with 24 readers.
const LOOKS: usize = 1500;
const BETWEEN: Duration = Duration::from_millis(10);

/// The folder of archives, beside that of loose files.
pub(crate) const ARCHIVES: &str = "archives";

/// A mountpoint and what serves it.
#[derive(Debug)]
pub(crate) struct Mount {
    pub(crate) root: PathBuf,
    /// The folder that the folder of archives and that of loose files are in.
    sources: PathBuf,
    bsafs: PathBuf,
    /// What it may show.
    pub(crate) views: Views,
    /// The daemon's process; for a thread that must not wait for `serving`.
    pid: AtomicI32,
    /// Readers hold it while they act, so that whoever writes to it knows that no file is open.
    serving: RwLock<Serving>,
    /// From before the daemon is killed until the next one serves, which is set with `serving` locked for writing.
    dead: AtomicBool,
}

/// A daemon.
#[derive(Debug)]
pub(crate) struct Serving {
    pub(crate) life: Life,
}

impl Mount {
    /// Mounts the archives and the loose files in a folder on `root`.
    pub(crate) fn new(
        bsafs: &Path,
        sources: &Path,
        root: &Path,
        view: View,
        cache_size: &str,
    ) -> Outcome<Self> {
        fs::create_dir(root).map_err(|error| format!("{}: {error}", root.display()))?;
        let pid = mount(bsafs, sources, root, &view, cache_size)?;
        let life = Life::new(pid, root, follows(&view));
        Ok(Self {
            root: root.to_owned(),
            sources: sources.to_owned(),
            bsafs: bsafs.to_owned(),
            views: Views::new(view),
            pid: AtomicI32::new(pid),
            serving: RwLock::new(Serving { life }),
            dead: AtomicBool::new(false),
        })
    }

    /// Whether it shows changes on the disk.
    pub(crate) fn follows(&self) -> bool {
        follows(&self.views.last())
    }

    /// Waits until all that was changed before the call is shown.
    pub(crate) fn wait_until_shown(&self) -> Outcome<()> {
        let before = status(&self.root)?.last_reload;
        // One that is under way may have read what was changed since.
        let count = before.count + 1 + u64::from(before.is_running);
        for _ in 0..LOOKS {
            let now = status(&self.root)?.last_reload;
            if now.count >= count && !now.is_failed {
                return Ok(());
            }
            sleep(BETWEEN);
        }
        let now = status(&self.root)?.last_reload;
        Err(format!("{}: a change is not shown: {before:?}, then {now:?}", self.root.display()).into())
    }

    /// For a reader, until its files are closed again.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Serving> {
        self.serving.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no reader acts, and keeps them waiting.
    pub(crate) fn pause_readers(&self) -> RwLockWriteGuard<'_, Serving> {
        self.serving.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether its daemon was killed and the next one does not serve yet.
    pub(crate) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    /// Kills the daemon amid whatever it does.
    pub(crate) fn kill(&self) {
        self.dead.store(true, Ordering::SeqCst);
        self.signal(Signal::KILL);
    }

    /// Waits until a killed daemon has ended. Where it does not, its connection is aborted, which frees it and its
    /// readers; the error says which of its threads waited for what.
    pub(crate) fn wait_for_killed(&self) -> Outcome<()> {
        let pid = self.pid.load(Ordering::SeqCst);
        let ended = wait_for_end(pid, "SIGKILL");
        if ended.is_err() {
            self.abort();
            wait_for_end(pid, "the abort of its connection")?;
        }
        ended
    }

    /// Fails all requests, pending ones too, as nothing else can where a killed daemon does not end.
    fn abort(&self) {
        let Some(mounted) = mountinfo::mounted_at(&self.root).filter(|it| it.is_ours()) else { return };
        // Only root can do the one, and the other needs fusectl to be mounted.
        let _ = rustix::mount::unmount(&self.root, UnmountFlags::FORCE | UnmountFlags::NOFOLLOW);
        let minor = mounted.device.rsplit_once(':').map_or("", |it| it.1);
        let _ = fs::write(format!("/sys/fs/fuse/connections/{minor}/abort"), "1");
    }

    /// Sends a signal to the daemon.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid.load(Ordering::SeqCst)) {
            let _ = kill_process(pid, signal);
        }
    }

    /// Mounts, also over what a killed daemon left behind. [`Mount::replace`] has readers expect it.
    pub(crate) fn mount(&self, view: &View, cache_size: &str) -> Outcome<()> {
        let pid = mount(&self.bsafs, &self.sources, &self.root, view, cache_size)?;
        self.pid.store(pid, Ordering::SeqCst);
        Ok(())
    }

    /// Has readers expect what was mounted.
    pub(crate) fn replace(&self, serving: &mut Serving, view: View) {
        let life = Life::new(self.pid.load(Ordering::SeqCst), &self.root, follows(&view));
        *serving = Serving { life };
        self.views.replace(view);
        self.dead.store(false, Ordering::SeqCst);
    }

    /// Unmounts while no reader acts. `lazily`: files may be open, and the daemon serves on until they are closed.
    pub(crate) fn unmount(&self, serving: &Serving, lazily: bool) -> Outcome<()> {
        let start = Instant::now();
        loop {
            let flags: &[&str] = if lazily { &["umount", "--lazy"] } else { &["umount"] };
            let ended = run(Command::new(&self.bsafs).args(flags).arg(&self.root));
            match ended {
                // The kernel may not have released yet what readers closed.
                Err(error) if error.to_string().contains("busy") && start.elapsed() < TIMEOUT => {
                    sleep(Duration::from_millis(10));
                }
                Err(error) => return Err(error),
                Ok(()) => {
                    self.pid.store(0, Ordering::SeqCst);
                    return if lazily { Ok(()) } else { wait_for_end(serving.life.pid, "the unmount") };
                }
            }
        }
    }

    /// Unmounts whatever uses it, and kills the daemon. Takes no lock: for a run that hangs too.
    pub(crate) fn end_at_once(&self) {
        self.signal(Signal::KILL);
        let _ = self.wait_for_killed();
        while mountinfo::mounted_at(&self.root).is_some_and(|it| it.is_ours()) {
            if run(Command::new(&self.bsafs).args(["umount", "--lazy"]).arg(&self.root)).is_err() {
                break;
            }
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        self.end_at_once();
    }
}

/// Whether a mount shows changes on the disk, which one without loose files does not: what a static mount shows of these
/// depends on what was looked at before.
fn follows(view: &View) -> bool {
    view.generations.len() > loose::LAYER
}

/// Mounts, and returns the process of the daemon.
fn mount(bsafs: &Path, sources: &Path, root: &Path, view: &View, cache_size: &str) -> Outcome<i32> {
    let mut command = Command::new(bsafs);
    command.arg("mount").args(["--layout", view.layout.name(), "--cache-size", cache_size, "--quiet"]);
    command.args(KINDS.iter().map(|kind| sources.join(ARCHIVES).join(kind.file_name)));
    match follows(view) {
        true => command.arg(sources.join(loose::NAME)),
        false => command.args(["-o", "static"]),
    };
    run(command.arg(root))?;
    Ok(status(root)?.pid as i32)
}

fn status(root: &Path) -> Outcome<DaemonStatus> {
    let status = fs::read_link(root.join(STATUS_LINK))?;
    Ok(serde_json::from_str(status.to_str().ok_or("status is not UTF-8")?)?)
}

/// Waits until all threads of a daemon have ended.
pub(crate) fn wait_for_end(pid: i32, after: &str) -> Outcome<()> {
    let start = Instant::now();
    while let Some(thread) = thread(pid) {
        if start.elapsed() > TIMEOUT {
            return Err(format!("daemon {pid} did not end within {TIMEOUT:?} of {after}: {thread}").into());
        }
        sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// A thread of a process that has not ended: its name, its state, and the kernel's function that it waits in. Of a killed
/// process the first thread may be a zombie while others live on.
fn thread(pid: i32) -> Option<String> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.map(|thread| thread.path()).find_map(|thread| {
        let stat = fs::read_to_string(thread.join("stat")).ok()?;
        let (name, rest) = stat.rsplit_once(") ")?;
        let state = rest.chars().next().filter(|state| !"ZX".contains(*state))?;
        let waits_in = fs::read_to_string(thread.join("wchan")).unwrap_or_default();
        let name = name.split_once('(').map_or("", |it| it.1);
        Some(format!("its thread {name:?} is in state {state}, in {waits_in}"))
    })
}

/// Runs a program that must succeed; its output is part of the error.
pub(crate) fn run(command: &mut Command) -> Outcome<()> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().to_owned();
    let arguments: Vec<&OsStr> = command.get_args().take(2).collect();
    let text = String::from_utf8_lossy(&output.stderr);
    Err(format!("{program:?} {arguments:?}: {}: {}", output.status, text.trim()).into())
}
