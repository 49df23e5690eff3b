//! A mount and its daemon. The program mounts it as a user would; then it is unmounted, killed,
//! stopped, and mounted over.

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

use crate::archives::KINDS;
use crate::loose;
use crate::memory::Life;
use crate::view::{Layout, View, Views};
use crate::{Outcome, at};

/// Maximum time for an unmounted daemon to end, and for a mount to be busy after its files were closed.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Number of checks until a change must be shown. It allows for a busy machine with 24 readers.
const LOOKS: usize = 1500;
const BETWEEN: Duration = Duration::from_millis(10);

/// Name of the folder of archives, which is beside that of loose files.
pub(crate) const ARCHIVES: &str = "archives";

/// A mountpoint and what serves it.
#[derive(Debug)]
pub(crate) struct Mount {
    pub(crate) root: PathBuf,
    /// The folder that has the folders of archives and of loose files.
    sources: PathBuf,
    bsafs: PathBuf,
    /// The views that the mount may show.
    pub(crate) views: Views,
    /// Process ID of the daemon, for a thread that must not wait for `serving`.
    pid: AtomicI32,
    /// Readers lock it while they act. A thread that locks it for writing knows that no file is open.
    serving: RwLock<Serving>,
    /// True from before the daemon is killed until the next one serves. It is reset with `serving`
    /// locked for writing.
    dead: AtomicBool,
}

/// A daemon.
#[derive(Debug)]
pub(crate) struct Serving {
    pub(crate) life: Life,
}

impl Mount {
    /// Mounts the archives and the loose files below `sources` on `root`.
    pub(crate) fn new(
        bsafs: &Path,
        sources: &Path,
        root: &Path,
        view: View,
        cache_size: &str,
    ) -> Outcome<Self> {
        fs::create_dir(root).map_err(at(root))?;
        let pid = mount(bsafs, sources, root, &view, cache_size)?;
        let life = Life::new(pid, root, follows(&view));
        Ok(Self::served(bsafs, sources, root, view, life))
    }

    /// Mounts other sources, and follows them. It has no view: what it may show, its readers know.
    pub(crate) fn of(bsafs: &Path, root: &Path, sources: &[PathBuf]) -> Outcome<Self> {
        fs::create_dir(root).map_err(at(root))?;
        run(Command::new(bsafs).args(["mount", "--layout", "union", "--quiet"]).args(sources).arg(root))?;
        let pid = status(root)?.pid as i32;
        let view = View::new(Layout::Union, Vec::new());
        Ok(Self::served(bsafs, root, root, view, Life::new(pid, root, true)))
    }

    fn served(bsafs: &Path, sources: &Path, root: &Path, view: View, life: Life) -> Self {
        Self {
            root: root.to_owned(),
            sources: sources.to_owned(),
            bsafs: bsafs.to_owned(),
            views: Views::new(view),
            pid: AtomicI32::new(life.pid),
            serving: RwLock::new(Serving { life }),
            dead: AtomicBool::new(false),
        }
    }

    /// Whether the mount shows changes on the disk.
    pub(crate) fn follows(&self) -> bool {
        follows(&self.views.last())
    }

    /// The number of the first reload that shows all changes that were made before the call.
    pub(crate) fn next_reload(&self) -> Outcome<u64> {
        let last = status(&self.root)?.last_reload;
        // A reload that is under way may have read the files before the change.
        Ok(last.count + 1 + u64::from(last.is_running))
    }

    /// Waits until the reload with this number has succeeded.
    pub(crate) fn wait_for_reload(&self, number: u64) -> Outcome<()> {
        for _ in 0..LOOKS {
            let last = status(&self.root)?.last_reload;
            if last.count >= number && !last.is_failed {
                return Ok(());
            }
            sleep(BETWEEN);
        }
        let last = status(&self.root)?.last_reload;
        let root = self.root.display();
        Err(format!("{root}: a change is not shown: reload {number} is missing, {last:?}").into())
    }

    /// Locks the mount for a reader, until it has closed its files.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Serving> {
        self.serving.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no reader acts, and keeps readers waiting.
    pub(crate) fn pause_readers(&self) -> RwLockWriteGuard<'_, Serving> {
        self.serving.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the daemon was killed and the next one does not serve yet.
    pub(crate) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    /// Kills the daemon, whatever it is doing.
    pub(crate) fn kill(&self) {
        self.dead.store(true, Ordering::SeqCst);
        self.signal(Signal::KILL);
    }

    /// Waits until a killed daemon has ended. If it does not end, its connection is aborted, which frees the
    /// daemon and its readers. The error then says which thread of the daemon was waiting, and for what.
    pub(crate) fn wait_for_killed(&self) -> Outcome<()> {
        let pid = self.pid.load(Ordering::SeqCst);
        let ended = wait_for_end(pid, "SIGKILL");
        if ended.is_err() {
            self.abort();
            wait_for_end(pid, "the abort of its connection")?;
        }
        ended
    }

    /// Fails all requests, including pending ones. Only this helps if a killed daemon does not end.
    fn abort(&self) {
        let Some(mounted) = mountinfo::mounted_at(&self.root).filter(|it| it.is_bsafs()) else { return };
        // Only root can unmount by force. The abort needs a mounted fusectl.
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

    /// Mounts again, possibly over what a killed daemon left. Call [`Mount::replace`] to have
    /// readers expect the view.
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

    /// Unmounts while no reader acts. If `lazily`, files may be open, and the daemon serves them
    /// until they are closed.
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

    /// Kills the daemon, and unmounts even if the mount is in use. It takes no lock, so that it
    /// also works if the run hangs.
    pub(crate) fn end_at_once(&self) {
        self.signal(Signal::KILL);
        let _ = self.wait_for_killed();
        while mountinfo::mounted_at(&self.root).is_some_and(|it| it.is_bsafs()) {
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

/// Whether a mount shows changes on the disk. Only a mount with loose files does; the others are
/// static. A static mount with loose files could not be checked, because what it shows of their
/// changes depends on what was read before.
fn follows(view: &View) -> bool {
    view.generations.len() > loose::LAYER
}

/// Mounts, and returns the process ID of the daemon.
fn mount(bsafs: &Path, sources: &Path, root: &Path, view: &View, cache_size: &str) -> Outcome<i32> {
    let mut command = Command::new(bsafs);
    command.arg("mount").args(["--layout", view.layout.name(), "--cache-size", cache_size, "--quiet"]);
    command.args(KINDS.iter().map(|kind| sources.join(ARCHIVES).join(kind.file_name)));
    if follows(view) {
        command.arg(sources.join(loose::NAME))
    } else {
        command.args(["-o", "static"])
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

/// A thread of a process that has not ended: its name, its state, and the kernel function that it
/// waits in. All threads are checked, because the first thread of a killed process may be a zombie
/// while others live on.
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

/// Runs a program that must succeed. If it fails, its output is part of the error.
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
