//! The subjects: programs that serve the files, and how to mount and unmount each.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bsafs::fs::{DaemonStatus, STATUS_LINK};
use rustix::mount::{UnmountFlags, unmount};

use crate::corpus::Set;
use crate::{Bench, Outcome, at, cleanup, process, run};

/// What serves the files of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    /// No program: the folder itself.
    Loose,
    /// The kernel's squashfs, with the name of an image.
    Kernel(&'static str),
    /// squashfuse_ll, with the name of an image.
    Squashfuse(&'static str),
    /// bsafs, with the name of an archive and the size of the cache.
    Bsafs(&'static str, &'static str),
}

/// The default of `--cache-size`.
pub(crate) const CACHE: &str = "64M";
const SQUASHFUSE: &str = "squashfuse_ll";
/// Maximum time to mount.
const MOUNT_TIMEOUT: Duration = Duration::from_secs(60);

impl Subject {
    /// bsafs with the default cache.
    pub(crate) const fn ours(archive: &'static str) -> Self {
        Self::Bsafs(archive, CACHE)
    }

    pub(crate) fn label(self) -> String {
        match self {
            Self::Loose => "loose files".into(),
            Self::Kernel(image) => format!("kernel squashfs, {}", image.trim_end_matches(".sqfs")),
            Self::Squashfuse(image) => format!("squashfuse_ll, {}", image.trim_end_matches(".sqfs")),
            Self::Bsafs(archive, CACHE) => format!("bsafs, {archive}"),
            Self::Bsafs(archive, cache) => format!("bsafs, {archive}, cache {cache}"),
        }
    }

    /// A short name for the tables of targets, whose first lines explain it.
    pub(crate) fn short(self) -> String {
        match self {
            Self::Kernel(_) => "kernel squashfs".into(),
            Self::Squashfuse(_) => "squashfuse".into(),
            Self::Bsafs("gnrl-stored.ba2", _) => "stored".into(),
            Self::Bsafs("gnrl.ba2", _) => "BA2".into(),
            Self::Bsafs("dx10.ba2", _) => "DX10".into(),
            Self::Bsafs("v104.bsa", _) => "BSA".into(),
            Self::Bsafs("v105.bsa", _) => "LZ4".into(),
            Self::Loose | Self::Bsafs(..) => self.label(),
        }
    }

    /// Whether the program that serves the files is installed.
    pub(crate) fn is_available(self) -> bool {
        let is_installed = || {
            std::env::var_os("PATH").is_some_and(|path| {
                std::env::split_paths(&path).any(|folder| folder.join(SQUASHFUSE).is_file())
            })
        };
        !matches!(self, Self::Squashfuse(_)) || is_installed()
    }

    /// Number of rounds. Slow subjects get fewer, because time is limited.
    pub(crate) fn rounds(self, rounds: usize) -> usize {
        match self {
            Self::Squashfuse(_) => rounds.min(3),
            _ => rounds,
        }
    }

    /// Name of the file to mount, in the set's folder.
    pub(crate) fn file(self) -> Option<&'static str> {
        match self {
            Self::Loose => None,
            Self::Kernel(file) | Self::Squashfuse(file) | Self::Bsafs(file, _) => Some(file),
        }
    }
}

/// A mount, unmounted on drop.
pub(crate) struct Mounted {
    pub(crate) root: PathBuf,
    mountpoint: Option<PathBuf>,
    child: Option<Child>,
    daemon: Option<u32>,
    bsafs: PathBuf,
    /// Whether only a signal to the process ends the mount, because it is in another namespace.
    is_elsewhere: bool,
}

impl Bench {
    /// Mounts a subject afresh, after reading its file into the page cache.
    pub(crate) fn mount(&self, set: Set, subject: Subject) -> Outcome<Mounted> {
        let folder = set.folder(&self.corpora);
        let Some(file) = subject.file() else {
            let root = folder.join("loose");
            return Ok(Mounted {
                root,
                mountpoint: None,
                child: None,
                daemon: None,
                bsafs: self.bsafs.clone(),
                is_elsewhere: false,
            });
        };
        let file = folder.join(file);
        process::warm(&file)?;
        let root = self.mountpoint()?;
        let mut mounted = self.mounted(&root);
        match subject {
            Subject::Bsafs(_, cache) => {
                run(Command::new(&self.bsafs)
                    .arg("mount")
                    .arg(&file)
                    .arg(&root)
                    .args(["--cache-size", cache]))?;
                mounted.find_daemon()?;
            }
            Subject::Kernel(_) => {
                run(Command::new("mount").args(["-t", "squashfs", "-o", "loop,ro"]).arg(&file).arg(&root))?;
            }
            _ => {
                let mut command = Command::new(SQUASHFUSE);
                command.arg("-f").arg(&file).arg(&root);
                mounted.start(command)?;
            }
        }
        Ok(mounted)
    }

    /// Creates an empty folder to mount on.
    pub(crate) fn mountpoint(&self) -> Outcome<PathBuf> {
        let folder = self.corpora.join("mnt");
        for number in 0.. {
            let path = folder.join(number.to_string());
            // An empty folder of an earlier mount is removed and created again.
            let is_free = match fs::create_dir(&path) {
                Ok(()) => true,
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    fs::remove_dir(&path).and_then(|()| fs::create_dir(&path)).is_ok()
                }
                Err(error) => return Err(at(&path)(error)),
            };
            if is_free {
                return Ok(path);
            }
        }
        Err("no mountpoint is free".into())
    }

    /// Creates the guard of a mount, before it is mounted.
    pub(crate) fn mounted(&self, root: &Path) -> Mounted {
        cleanup::register(root);
        let mountpoint = Some(root.to_owned());
        let (bsafs, is_elsewhere) = (self.bsafs.clone(), false);
        Mounted { root: root.to_owned(), mountpoint, child: None, daemon: None, bsafs, is_elsewhere }
    }

    /// Mounts sources as one tree, in namespaces that allow only so many watches. `root` leads there.
    pub(crate) fn mount_with_watches(&self, sources: &[PathBuf], watches: usize) -> Outcome<Mounted> {
        const SCRIPT: &str =
            "echo \"$1\" > /proc/sys/user/max_inotify_watches && shift && exec \"$0\" mount -f \"$@\"";
        let root = self.mountpoint()?;
        let mut mounted = self.mounted(&root);
        let mut command = Command::new("unshare");
        command.args(["-Urm", "--propagation=slave", "sh", "-c", SCRIPT]);
        command.arg(&self.bsafs).arg(watches.to_string()).args(sources).arg(&root);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        cleanup::register_process(child.id());
        // The root folder of the process is that of its namespace.
        let within = root.strip_prefix("/").unwrap_or(&root);
        mounted.root = Path::new("/proc").join(child.id().to_string()).join("root").join(within);
        (mounted.child, mounted.is_elsewhere) = (Some(child), true);
        let start = Instant::now();
        while mounted.reported().is_none() {
            if !mounted.is_running() || start.elapsed() > MOUNT_TIMEOUT {
                return Err(format!("{command:?} did not mount within {MOUNT_TIMEOUT:?}").into());
            }
            sleep(Duration::from_millis(2));
        }
        Ok(mounted)
    }
}

impl Mounted {
    /// Status of the bsafs daemon; `None` for other subjects.
    pub(crate) fn status(&self) -> Outcome<Option<DaemonStatus>> {
        if self.daemon.is_none() {
            return Ok(None);
        }
        let output = Command::new(&self.bsafs).args(["status", "--json"]).arg(&self.root).output()?;
        if output.status.success() {
            Ok(Some(serde_json::from_slice(&output.stdout)?))
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned().into())
        }
    }

    /// The status that the mount itself shows.
    pub(crate) fn reported(&self) -> Option<DaemonStatus> {
        let target = fs::read_link(self.root.join(STATUS_LINK)).ok()?;
        serde_json::from_str(target.to_str()?).ok()
    }

    /// Process ID of the bsafs daemon; `None` for other subjects.
    pub(crate) fn daemon(&self) -> Option<u32> {
        self.daemon
    }

    /// Finds the process that serves a bsafs mount.
    pub(crate) fn find_daemon(&mut self) -> Outcome<()> {
        self.daemon = Some(0);
        self.daemon = self.status()?.map(|status| status.pid);
        if let Some(pid) = self.daemon {
            cleanup::register_process(pid);
        }
        Ok(())
    }

    /// Starts a program that serves in the foreground, and waits until it has mounted.
    fn start(&mut self, mut command: Command) -> Outcome<()> {
        let before = fs::metadata(&self.root).map_err(at(&self.root))?.dev();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        cleanup::register_process(child.id());
        let child = self.child.insert(child);
        let start = Instant::now();
        while fs::metadata(&self.root).is_ok_and(|it| it.dev() == before) {
            if let Some(status) = child.try_wait()? {
                return Err(format!("{command:?} ended before it had mounted: {status}").into());
            }
            if start.elapsed() > MOUNT_TIMEOUT {
                return Err(format!("{command:?} did not mount within {MOUNT_TIMEOUT:?}").into());
            }
            sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    fn process(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id).or(self.daemon)
    }

    fn is_running(&mut self) -> bool {
        match (&mut self.child, self.daemon) {
            (Some(child), _) => matches!(child.try_wait(), Ok(None)),
            (None, Some(pid)) => process::is_alive(pid),
            (None, None) => false,
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let Some(mountpoint) = self.mountpoint.take() else { return };
        let start = Instant::now();
        if let Some(pid) = self.process().filter(|_| self.is_elsewhere) {
            let pid = rustix::process::Pid::from_raw(pid as i32);
            let _ = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::TERM));
        }
        // The mount stays busy for a moment, until the kernel has released closed files.
        while let Err(rustix::io::Errno::BUSY) = unmount(&mountpoint, UnmountFlags::empty()) {
            if start.elapsed() > Duration::from_secs(5) {
                let _ = unmount(&mountpoint, UnmountFlags::DETACH);
                break;
            }
            sleep(Duration::from_millis(5));
        }
        while self.is_running() && start.elapsed() < Duration::from_secs(10) {
            sleep(Duration::from_millis(1));
        }
        if self.is_running()
            && let Some(pid) = self.process().and_then(|pid| rustix::process::Pid::from_raw(pid as i32))
        {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        if let Some(child) = &mut self.child {
            let _ = child.wait();
        }
        cleanup::unregister(&mountpoint, self.process());
        let _ = fs::remove_dir(&mountpoint);
    }
}
