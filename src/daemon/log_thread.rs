//! The thread that writes the log of a mount. A log that is stuck, such as a full pipe without a
//! reader, blocks only this thread.

use crate::limits::LOG_LINES_MAX;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How long the process waits for the last lines when it ends.
const LAST: Duration = Duration::from_secs(1);

/// Where log lines go.
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
    lost: AtomicU64,
    ended: Mutex<Receiver<()>>,
}

impl LogThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has no more threads.
    pub(crate) fn start(target: LogTarget) -> io::Result<Self> {
        let is_file = matches!(target, LogTarget::File(_));
        let has_priority = matches!(target, LogTarget::Syslog(..));
        let (lines, to_write) = sync_channel(LOG_LINES_MAX);
        let (end, ended) = sync_channel(1);
        thread::Builder::new().name("log".into()).spawn(move || {
            run(target, &to_write);
            // Fails if the process ends without waiting.
            let _ = end.send(());
        })?;
        Ok(Self { is_file, has_priority, lines, lost: AtomicU64::new(0), ended: Mutex::new(ended) })
    }

    /// Queues a line and does not wait. If too many lines are queued already, the line is lost.
    pub(crate) fn write(&self, line: &[u8]) {
        let lost = self.lost.load(Ordering::Relaxed);
        if lost > 0 && self.lines.try_send(Some(self.lost_line(lost))).is_ok() {
            self.lost.fetch_sub(lost, Ordering::Relaxed);
        }
        if self.lines.try_send(Some(line.to_vec())).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until all lines are written, for a second at most.
    pub(crate) fn finish(&self) {
        if self.lines.try_send(None).is_ok() {
            let _ = self.ended.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LAST);
        }
    }

    fn lost_line(&self, lost: u64) -> Vec<u8> {
        let priority = if self.has_priority { "<4>" } else { "bsafs: " };
        format!("{priority}{lost} lines were lost, because the log could not keep up\n").into_bytes()
    }
}

fn run(mut target: LogTarget, lines: &Receiver<Option<Vec<u8>>>) {
    while let Ok(Some(line)) = lines.recv() {
        // There is nowhere to report a line that cannot be written.
        let _ = match &mut target {
            LogTarget::Stderr => io::stderr().write_all(&line),
            LogTarget::File(file) => file.write_all(&line),
            LogTarget::Syslog(path, socket) => send(path, socket, &line),
        };
    }
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
        let (is_file, has_priority, lost) = (false, false, AtomicU64::new(0));
        let log = LogThread { is_file, has_priority, lines, lost, ended: Mutex::new(ended) };
        for line in ["1", "2", "3", "4"] {
            log.write(line.as_bytes());
        }
        let next = || String::from_utf8(waiting.try_recv().unwrap().unwrap()).unwrap();
        assert_eq!((next(), next()), ("1".into(), "2".into()));
        log.write(b"5");
        assert_eq!(next(), "bsafs: 2 lines were lost, because the log could not keep up\n");
        assert_eq!(next(), "5");
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
