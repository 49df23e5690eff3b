//! Log lines: to the terminal, to journald with its level prefix, and from a mount through a thread of its own, to a file,
//! to syslog or to standard error.

use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use log::{Level, LevelFilter};
use rustix::fs::OFlags;

use super::log_thread::{LogTarget, LogThread};
use crate::cli::exit::{Exit, Failure};
use crate::cli::terminal::output::escaped;

/// Set once mounted.
static MOUNT_LOG: OnceLock<LogThread> = OnceLock::new();

/// What was logged of sources since their opening began; none is going on where there is nothing.
static OPENING: Mutex<Option<BTreeSet<String>>> = Mutex::new(None);
/// The same of the opening before.
static OPENED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The target of lines that are logged without `--verbose`, although they are no warnings.
pub(crate) const NEWS: &str = "bsafs::news";
/// Different lines of an opening that are remembered.
const REMEMBERED: usize = 10_000;

/// Opens sources. What is logged meanwhile and was logged the last time, too, is not logged again: a mount opens its sources
/// whenever they change, and most of what is odd about them stays.
pub(crate) fn while_opening<T>(open: impl FnOnce() -> T) -> T {
    let lock = || OPENING.lock().unwrap_or_else(PoisonError::into_inner);
    *lock() = Some(BTreeSet::new());
    let opened = open();
    let lines = lock().take().unwrap_or_default();
    *OPENED.lock().unwrap_or_else(PoisonError::into_inner) = lines;
    opened
}

/// Whether a line is one of an opening that the opening before had, too.
fn is_repeated(text: &str) -> bool {
    let mut opening = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(lines) = opening.as_mut() else { return false };
    if lines.len() < REMEMBERED {
        lines.insert(text.to_owned());
    }
    OPENED.lock().unwrap_or_else(PoisonError::into_inner).contains(text)
}

/// Starts logging: warnings and errors, more with `verbose`, errors alone with `quiet`; `RUST_LOG` outranks both.
pub(crate) fn start(verbose: u8, quiet: bool) {
    let level = match (quiet, verbose) {
        (true, _) => LevelFilter::Error,
        (false, 0) => LevelFilter::Warn,
        (false, 1) => LevelFilter::Info,
        (false, _) => LevelFilter::Debug,
    };
    let for_journal = is_for_journal();
    env_logger::Builder::new()
        // fuser's warnings are about its internals.
        .filter_module("fuser", level.min(LevelFilter::Error))
        .filter_module(NEWS, if quiet { level } else { level.max(LevelFilter::Info) })
        .filter_level(level)
        .parse_default_env()
        .target(env_logger::Target::Pipe(Box::new(Lines)))
        .format(move |out, record| {
            // Names of archives and of what is in them may be a stranger's.
            let text = record.args().to_string();
            if is_repeated(&text) {
                return Ok(());
            }
            let text = escaped(&text);
            match (MOUNT_LOG.get(), record.level()) {
                (Some(log), _) if log.is_file => {
                    let now = out.timestamp_millis();
                    writeln!(out, "{now} {text}")
                }
                (log, level) if for_journal || log.is_some_and(|log| log.has_priority) => {
                    writeln!(out, "<{}>{text}", priority(level))
                }
                (_, Level::Error) => writeln!(out, "bsafs: {text}"),
                (_, level) => writeln!(out, "bsafs: {}: {text}", level.as_str().to_ascii_lowercase()),
            }
        })
        .init();
}

/// Opens the log of a daemon: `file`, or else the system's.
///
/// # Errors
/// The file cannot be written, or is none; the system has no more threads.
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

/// The log of a mount in the foreground.
///
/// # Errors
/// The system has no more threads.
pub(crate) fn open_for_foreground() -> Result<LogThread, Failure> {
    start_thread(LogTarget::Stderr)
}

/// Sends all further lines to a log.
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

/// Whether this process is a mount that serves.
pub(crate) fn is_of_mount() -> bool {
    MOUNT_LOG.get().is_some()
}

/// Whether the last error is to go to the log: that of a mount, or the journal, where it has a priority.
pub(crate) fn is_read() -> bool {
    MOUNT_LOG.get().is_some() || is_for_journal()
}

/// Whether the journal reads standard error.
fn is_for_journal() -> bool {
    std::env::var("JOURNAL_STREAM").is_ok_and(|stream| is_stderr(&stream))
}

fn start_thread(target: LogTarget) -> Result<LogThread, Failure> {
    LogThread::start(target)
        .map_err(|error| Failure::new(Exit::Io, format!("the log's thread cannot be started: {error}")))
}

fn open_file(path: &Path) -> Result<File, Failure> {
    let refused = |what: &str| Failure::new(Exit::Io, format!("--log-file {}: {what}", path.display()));
    // Opening a pipe would wait for its reader, and a pipe without one would end the daemon.
    let is_pipe = |metadata: Metadata| metadata.file_type().is_fifo();
    let pipe = "it is a pipe; name a file, or use --foreground, which logs to standard error";
    if std::fs::metadata(path).is_ok_and(is_pipe) {
        return Err(refused(pipe));
    }
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let opened = File::options().create(true).append(true).custom_flags(flags).open(path);
    let file = opened.map_err(|error| match Failure::missing_parent(path) {
        Some(missing) => refused(&missing),
        None => refused(&error.to_string()),
    })?;
    match file.metadata().is_ok_and(is_pipe) {
        true => Err(refused(pipe)),
        false => Ok(file),
    }
}

/// Whether `JOURNAL_STREAM` names standard error, by device and inode number; a program that we run under, or a shell that
/// redirected it, leaves the variable as it is (`systemd.exec(5)`).
fn is_stderr(stream: &str) -> bool {
    let stderr = rustix::fs::fstat(rustix::stdio::stderr());
    stderr.is_ok_and(|stat| stream == format!("{}:{}", stat.st_dev, stat.st_ino))
}

/// Syslog's level numbers, which journald reads from the prefix of a line.
fn priority(level: Level) -> u8 {
    match level {
        Level::Error => 3,
        Level::Warn => 4,
        Level::Info => 6,
        Level::Debug | Level::Trace => 7,
    }
}

/// The writer behind the logger, which calls it once a line.
struct Lines;

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match MOUNT_LOG.get() {
            None => io::stderr().write_all(line)?,
            Some(log) => log.write(line),
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
