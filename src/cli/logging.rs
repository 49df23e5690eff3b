//! Log lines: to the terminal, to journald with its level prefix, and from a daemon that has left its terminal to a file
//! or to syslog.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::OnceLock;

use log::{Level, LevelFilter};

use super::exit::{Exit, Failure};

/// Set when the daemon leaves its terminal.
static DAEMON_LOG: OnceLock<DaemonLog> = OnceLock::new();

/// Where a daemon's lines go.
#[derive(Debug)]
pub(super) enum DaemonLog {
    File(File),
    Syslog(UnixDatagram),
    Discard,
}

/// Starts logging: warnings and errors, more with `verbose`, errors alone with `quiet`; `RUST_LOG` outranks both.
pub(super) fn start(verbose: u8, quiet: bool) {
    let level = match (quiet, verbose) {
        (true, _) => LevelFilter::Error,
        (false, 0) => LevelFilter::Warn,
        (false, 1) => LevelFilter::Info,
        (false, _) => LevelFilter::Debug,
    };
    let for_journal = std::env::var_os("JOURNAL_STREAM").is_some();
    env_logger::Builder::new()
        // fuser's warnings are about its internals.
        .filter_module("fuser", level.min(LevelFilter::Error))
        .filter_level(level)
        .parse_default_env()
        .target(env_logger::Target::Pipe(Box::new(Lines)))
        .format(move |out, record| match (DAEMON_LOG.get(), record.level()) {
            (Some(DaemonLog::File(_)), _) => {
                let now = out.timestamp_millis();
                writeln!(out, "{now} {}", record.args())
            }
            (log, level) if for_journal || log.is_some() => {
                writeln!(out, "<{}>{}", priority(level), record.args())
            }
            (_, Level::Error) => writeln!(out, "bsafs: {}", record.args()),
            (_, level) => writeln!(out, "bsafs: {}: {}", level.as_str().to_ascii_lowercase(), record.args()),
        })
        .init();
}

impl DaemonLog {
    /// Opens `file`, or else syslog where there is one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn open(file: Option<&Path>) -> Result<Self, Failure> {
        if let Some(path) = file {
            return File::options()
                .create(true)
                .append(true)
                .open(path)
                .map(Self::File)
                .map_err(|error| Failure::new(Exit::Io, format!("--log-file {}: {error}", path.display())));
        }
        match UnixDatagram::unbound().and_then(|socket| socket.connect("/dev/log").map(|()| socket)) {
            Ok(socket) => Ok(Self::Syslog(socket)),
            Err(_) => Ok(Self::Discard),
        }
    }

    /// Sends all further lines here.
    pub(super) fn set(self) {
        // A second call changes nothing: a daemon leaves its terminal once.
        let _ = DAEMON_LOG.set(self);
    }
}

/// Whether the daemon has left its terminal, so that an error can be read in the log alone.
pub(super) fn has_left_terminal() -> bool {
    DAEMON_LOG.get().is_some()
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
        let len = line.len();
        match DAEMON_LOG.get() {
            None => io::stderr().write_all(line)?,
            Some(DaemonLog::File(file)) => {
                let mut file = file;
                file.write_all(line)?;
            }
            Some(DaemonLog::Syslog(socket)) => {
                let text = String::from_utf8_lossy(line);
                let (priority, text) = text.split_once('>').unwrap_or(("<6", &text));
                // <facility * 8 + priority>; facility 3 is that of daemons.
                let number = 24 + priority.trim_start_matches('<').parse::<u8>().unwrap_or(6);
                let _ = socket
                    .send(format!("<{number}>bsafs[{}]: {}", std::process::id(), text.trim_end()).as_bytes());
            }
            Some(DaemonLog::Discard) => {}
        }
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
