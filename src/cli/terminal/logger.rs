//! The logger. Log lines go to the terminal, to journald with a level prefix, or to the log of a mount.

use std::io::{self, Write};

use log::{Level, LevelFilter};

use super::output;
use crate::daemon::logging::{NEWS, is_repeated, of_mount};
use crate::note::UNSEEN;
use crate::shown::escaped;

/// Starts logging warnings and errors. `verbose` logs more, `quiet` only errors, and `RUST_LOG`
/// outranks both.
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
            // The names of archives and their files are untrusted.
            let text = record.args().to_string();
            // What was not looked at is printed when the command ends. The log of a mount has it at once.
            if is_repeated(&text) || record.target() == UNSEEN && !is_of_mount() {
                return Ok(());
            }
            // A record is one line, whatever names are in it.
            let text = escaped(&text, &[]);
            match (of_mount(), record.level()) {
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

/// Prints an error, which may have several lines, or logs each of them.
pub(crate) fn print_error(what: &str) {
    if logs_final_error() {
        what.lines().for_each(|line| log::error!("{line}"))
    } else {
        drop(writeln!(io::stderr(), "bsafs: {}", output::escaped(what)))
    }
}

/// Whether this process serves a mount.
pub(crate) fn is_of_mount() -> bool {
    of_mount().is_some()
}

/// Whether the program logs its final error instead of printing it. It does if it serves a mount,
/// or if standard error goes to the journal, which needs a priority.
fn logs_final_error() -> bool {
    is_of_mount() || is_for_journal()
}

/// Whether standard error goes to the journal.
fn is_for_journal() -> bool {
    std::env::var("JOURNAL_STREAM").is_ok_and(|stream| is_stderr(&stream))
}

/// Whether `JOURNAL_STREAM` names standard error, by device and inode number. The variable may be stale,
/// because a parent program or a shell that redirects standard error leaves it as it is (`systemd.exec(5)`).
fn is_stderr(stream: &str) -> bool {
    let stderr = rustix::fs::fstat(rustix::stdio::stderr());
    stderr.is_ok_and(|stat| stream == format!("{}:{}", stat.st_dev, stat.st_ino))
}

/// Syslog's number of a level, which journald reads from the prefix of a line.
fn priority(level: Level) -> u8 {
    match level {
        Level::Error => 3,
        Level::Warn => 4,
        Level::Info => 6,
        Level::Debug | Level::Trace => 7,
    }
}

/// The writer behind the logger, which calls it once per line.
struct Lines;

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match of_mount() {
            None => io::stderr().write_all(line)?,
            Some(log) => log.write(line),
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
