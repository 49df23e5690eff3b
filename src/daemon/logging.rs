//! The log of a mount: a file, the system's log or standard error, written by a separate thread. A
//! reload does not repeat lines that the previous opening logged.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use rustix::fs::{FileType, OFlags};

use crate::failure::{Exit, Failure};
use crate::limits::{LOG_LINES_MAX, LOG_REMEMBERED_MAX};
use crate::shown::Shown;
use crate::system::output_place::OutputPlace;
use crate::system::sync::Mutex;
use crate::system::text::missing_parent;

/// The log of the mount, set once mounted.
static MOUNT_LOG: OnceLock<LogThread> = OnceLock::new();

/// The lines that were logged since the opening of sources began; `None` if none are being opened.
static OPENING: Mutex<Option<BTreeSet<String>>> = Mutex::new(None);
/// The lines that were logged during the previous opening.
static OPENED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The target of lines that are logged even without `--verbose`, although they are not warnings.
pub(crate) const NEWS: &str = "bsafs::news";

/// Opens sources. Lines that were also logged during the previous opening are left out: a mount
/// opens its sources whenever they change, and most of their oddities stay.
pub(crate) fn while_opening<T>(open: impl FnOnce() -> T) -> T {
    let lock = || OPENING.lock();
    *lock() = Some(BTreeSet::new());
    let opened = open();
    let lines = lock().take().unwrap_or_default();
    *OPENED.lock() = lines;
    opened
}

/// Whether a line was logged during the previous opening too. False if no sources are being opened.
pub(crate) fn is_repeated(text: &str) -> bool {
    let mut opening = OPENING.lock();
    let Some(lines) = opening.as_mut() else { return false };
    if lines.len() < LOG_REMEMBERED_MAX {
        lines.insert(text.to_owned());
    }
    OPENED.lock().contains(text)
}

/// Opens the log of a daemon: `file` if it is given, otherwise the system's log.
///
/// # Errors
/// The file cannot be written or is a pipe, or the system has no more threads.
pub(crate) fn open_for_daemon(file: Option<&Path>) -> Result<LogThread, Failure> {
    let target = match file {
        Some(path) => LogTarget::File(open_file(path)?),
        None => {
            let path = PathBuf::from("/dev/log");
            let socket =
                UnixDatagram::unbound().and_then(|socket| socket.connect(&path).map(|()| socket)).ok();
            LogTarget::Syslog(path, socket)
        }
    };
    start_thread(target)
}

/// Opens the log of a mount in the foreground.
pub(crate) fn open_for_foreground() -> Result<LogThread, Failure> {
    start_thread(LogTarget::Stderr)
}

/// Sends all lines to a log from now on.
pub(crate) fn set(log: LogThread) {
    // A second call changes nothing: a process mounts once.
    let _ = MOUNT_LOG.set(log);
}

/// Waits until the last lines are written, for a second at most.
pub(crate) fn finish() {
    if let Some(log) = MOUNT_LOG.get() {
        log.finish();
    }
}

/// The log of this process's mount, once it is mounted.
pub(crate) fn of_mount() -> Option<&'static LogThread> {
    MOUNT_LOG.get()
}

fn start_thread(target: LogTarget) -> Result<LogThread, Failure> {
    LogThread::start(target).map_err(|error| Failure::not_started("the log's thread", &error))
}

/// Opens a log file. Root follows no link that another user can have made, because a log may contain names of
/// that user's choice.
fn open_file(path: &Path) -> Result<File, Failure> {
    let refused = |reason: &str| Failure::new(Exit::Io, format!("--log-file {}: {reason}", path.shown()));
    // Writing to a pipe without a reader would end the daemon.
    let pipe = "it is a pipe; give a file, or use --foreground, which logs to standard error";
    let failed = |error: &io::Error| refused(&missing_parent(path).unwrap_or_else(|| error.to_string()));
    let place = OutputPlace::behind_links(path).map_err(|error| failed(&error))?;
    let kind = place.stat().map_err(|error| failed(&error))?.map(|it| FileType::from_raw_mode(it.st_mode));
    if kind == Some(FileType::Fifo) {
        return Err(refused(pipe));
    }
    let file = place.open(OFlags::APPEND).map_err(|error| failed(&error))?;
    if file.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo()) {
        Err(refused(pipe))
    } else {
        Ok(file)
    }
}

// The thread that writes the log of a mount. A log that is stuck, such as a full pipe without a
// reader, blocks only this thread.

/// How long the process waits for the last lines when it ends.
const LAST: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) enum LogTarget {
    /// The standard error of a mount in the foreground.
    Stderr,
    File(File),
    /// The socket of the system's log, if there is one. Connected again after that log was restarted.
    Syslog(PathBuf, Option<UnixDatagram>),
}

/// The thread, and the queue of lines to write.
#[derive(Debug)]
pub(crate) struct LogThread {
    /// Whether lines begin with the time.
    pub(crate) is_file: bool,
    /// Whether lines begin with their priority, as `<6>`.
    pub(crate) has_priority: bool,
    lines: SyncSender<Option<Vec<u8>>>,
    lost: Arc<Lost>,
    ended: Mutex<Receiver<()>>,
}

impl LogThread {
    /// Starts the thread.
    pub(crate) fn start(target: LogTarget) -> io::Result<Self> {
        let is_file = matches!(target, LogTarget::File(_));
        let has_priority = matches!(target, LogTarget::Syslog(..));
        let (lines, to_write) = sync_channel(LOG_LINES_MAX);
        let (end, ended) = sync_channel(1);
        let lost = Arc::new(Lost { lines: AtomicU64::new(0), has_priority });
        let for_thread = lost.clone();
        thread::Builder::new().name("log".into()).spawn(move || {
            run(target, &to_write, &for_thread);
            // Fails if the process ends without waiting.
            let _ = end.send(());
        })?;
        Ok(Self { is_file, has_priority, lines, lost, ended: Mutex::new(ended) })
    }

    /// Queues a line and does not wait. If too many lines are queued already, the line is lost.
    pub(crate) fn write(&self, line: &[u8]) {
        if self.lines.try_send(Some(line.to_vec())).is_err() {
            self.lost.lines.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until all lines are written, for a second at most.
    pub(crate) fn finish(&self) {
        if self.lines.try_send(None).is_ok() {
            let _ = self.ended.lock().recv_timeout(LAST);
        }
    }
}

/// The lines that were not written: those that did not fit into the queue, and those that the log refused,
/// for example because its disk is full.
#[derive(Debug)]
struct Lost {
    lines: AtomicU64,
    has_priority: bool,
}

fn run(mut target: LogTarget, lines: &Receiver<Option<Vec<u8>>>, lost: &Lost) {
    while let Ok(line) = lines.recv() {
        let number = lost.lines.load(Ordering::Relaxed);
        if number > 0 {
            let priority = if lost.has_priority { "<4>" } else { "bsafs: " };
            let what = format!("{priority}lines that the log could not take in time: {number}\n");
            if target.write(what.as_bytes()).is_ok() {
                lost.lines.fetch_sub(number, Ordering::Relaxed);
            }
        }
        let Some(line) = line else { break };
        if target.write(&line).is_err() {
            lost.lines.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl LogTarget {
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        match self {
            Self::Stderr => io::stderr().write_all(line),
            Self::File(file) => write_whole(file, line),
            Self::Syslog(path, socket) => send(path, socket, line),
        }
    }
}

/// Appends a line to a file. If only a part fits, removes that part, so that the next line begins a line.
fn write_whole(file: &mut File, line: &[u8]) -> io::Result<()> {
    let len = file.metadata().map(|it| it.len());
    file.write_all(line).inspect_err(|_| {
        let _ = len.and_then(|len| file.set_len(len));
    })
}

/// Sends a line to syslog, on a new connection if the old one broke.
fn send(path: &PathBuf, socket: &mut Option<UnixDatagram>, line: &[u8]) -> io::Result<()> {
    let message = syslog_message(line);
    if let Some(socket) = socket
        && socket.send(message.as_bytes()).is_ok()
    {
        return Ok(());
    }
    let connected = UnixDatagram::unbound()?;
    connected.connect(path)?;
    connected.send(message.as_bytes())?;
    *socket = Some(connected);
    Ok(())
}

/// Turns `<6>text` into `<30>bsafs[1]: text`. The number is the facility times 8 plus the priority.
/// Facility 3 means daemons.
fn syslog_message(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let (priority, text) = text.split_once('>').unwrap_or(("<6", &text));
    let number = 24 + priority.trim_start_matches('<').parse::<u8>().unwrap_or(6);
    format!("<{number}>bsafs[{}]: {}", std::process::id(), text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blocked_log_drops_lines_and_then_reports_how_many() {
        let (lines, waiting) = sync_channel(2);
        let (_end, ended) = sync_channel(1);
        let lost = Arc::new(Lost { lines: AtomicU64::new(0), has_priority: false });
        let (is_file, has_priority) = (true, false);
        let log = LogThread { is_file, has_priority, lines, lost: lost.clone(), ended: Mutex::new(ended) };
        for line in ["1\n", "2\n", "3\n", "4\n"] {
            log.write(line.as_bytes());
        }
        drop(log);
        let file = tempfile::NamedTempFile::new().unwrap();
        run(LogTarget::File(file.reopen().unwrap()), &waiting, &lost);
        let written = std::fs::read_to_string(file.path()).unwrap();
        assert_eq!(written, "bsafs: lines that the log could not take in time: 2\n1\n2\n");
    }

    #[test]
    fn lines_that_a_full_disk_refuses_are_counted() {
        let (lines, waiting) = sync_channel(9);
        for line in ["1\n", "2\n"] {
            lines.send(Some(line.as_bytes().to_vec())).unwrap();
        }
        drop(lines);
        let lost = Lost { lines: AtomicU64::new(0), has_priority: false };
        let full = File::options().append(true).open("/dev/full").unwrap();
        run(LogTarget::File(full), &waiting, &lost);
        assert_eq!(lost.lines.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_restarted_system_log_receives_the_next_line() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("log");
        let mut socket = None;
        for line in ["<3>first", "<6>second"] {
            let server = UnixDatagram::bind(&path).unwrap();
            send(&path, &mut socket, line.as_bytes()).unwrap();
            let mut message = [0; 100];
            let len = server.recv(&mut message).unwrap();
            assert_eq!(String::from_utf8_lossy(&message[..len]), syslog_message(line.as_bytes()));
            drop(server);
            assert!(send(&path, &mut socket, b"<6>no server").is_err());
            std::fs::remove_file(&path).unwrap();
        }
        assert!(syslog_message(b"<3>a\n").starts_with("<27>bsafs["));
    }
}
