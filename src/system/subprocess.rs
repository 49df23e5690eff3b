//! The only way in which bsafs starts a program. [`Program`] describes one. It sees nothing of this process
//! that is not named here.
//!
//! | of a process | what a program gets |
//! |---|---|
//! | session | a new one, or that of a daemon, without a terminal |
//! | environment | `PATH`, and the variables of one list below |
//! | descriptors | standard input is empty; the outputs are pipes or `/dev/null`; all others are closed |
//! | program | for root, one that only root can exchange; for others, one in their own `PATH` |
//! | user | the same, or another one that [`Credentials`] guards |
//! | time | limited; a program that takes longer is killed |
//!
//! There are three exceptions. `man` shows pages on the terminal. The daemon of a mount stays in the session
//! until it has mounted, because autofs lets only its own process group through. It keeps the terminal to
//! print errors, unless it becomes another user. This program itself restarts in place.
//!
//! A program can hang in the kernel, for example on a path through a network disk or through a mount that
//! does not answer. It cannot be killed then, and is left behind. A thread that hangs would instead keep
//! this process from ending.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, FdFlags, fcntl_setfd, ioctl_fionbio};
use rustix::process::{Pid, PidfdFlags, geteuid, pidfd_open};

use super::credentials::{self, Credentials};
use super::root_only::{first_other_user, may_others_add_to};
use super::{memory, process};
use crate::limits::SUBPROCESS_OUTPUT_MAX;

/// Where programs are looked for if root runs bsafs. `su` and some settings of sudo leave root the `PATH` of
/// a user. Of that, only folders that nobody but root can change come before these.
const PATH_OF_ROOT: &str = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin:\
                            /run/wrappers/bin:/run/current-system/sw/bin";
/// The program of util-linux that starts another one in a new session. To do this between fork and exec
/// would take `unsafe`.
const SETSID: &str = "setsid";
/// This program, also after its file was replaced.
const OWN: &str = "/proc/self/exe";
/// How long a killed program may take to end.
const KILL_TIME: Duration = Duration::from_millis(500);

/// Variables of a desktop program, and of the user's systemd. `*` stands for any end. With these, a program
/// finds the display, the bus and the user's settings, and looks and speaks as the user wants. A file
/// manager passes them to the programs that it opens.
const OF_DESKTOP: &str = "\
    BROWSER CLUTTER_* DBUS_SESSION_BUS_ADDRESS DESKTOP_* DISPLAY EDITOR GDK_* GIO_* GNOME_* GTK* HOME \
    HYPRLAND_* I3SOCK KDE_* LANG LANGUAGE LC_* LOGNAME PLASMA_* QT* SDL_* SESSION_MANAGER SHELL \
    SSH_AUTH_SOCK SWAYSOCK TERMINAL TMPDIR TZ USER VISUAL WAYLAND_* XAUTHORITY XCURSOR_* XDG_* XMODIFIERS";
/// Variables that name what a program talks to, and no program or folder of programs.
const OF_SERVERS: &str =
    "DBUS_SESSION_BUS_ADDRESS DISPLAY SESSION_MANAGER SSH_AUTH_SOCK XAUTHORITY XDG_RUNTIME_DIR";
/// Variables whose value is a command. Root passes them only if it is a single word: `PAGER` may be a whole
/// script.
const OF_COMMANDS: &str = "EDITOR PAGER SHELL VISUAL";
/// Variables with options that run commands, or overwrite files: `LESS=+!id`; and those with a program that
/// opens any file. Root passes none of them.
const OF_OPTIONS: &str = "BROWSER GROFF_* LESS* MAN* TERMINAL";
/// Variables of a program that shows text on the terminal.
const OF_TERMINAL: &str = "\
    COLORTERM COLUMNS EDITOR GROFF_* HOME LANG LANGUAGE LC_* LESS* LINES LOGNAME MAN* PAGER SHELL TERM \
    TERMINFO* TMPDIR TZ USER";
/// Variables of this program, when it starts itself as the same user: those that it reads, and those of the
/// C library.
const OF_ITSELF: &str = "\
    BSAFS_OPEN_BELOW BSAFS_SYSTEM BSAFS_TESTS CLICOLOR CLICOLOR_FORCE COLORTERM COLUMNS DISPLAY HOME \
    JOURNAL_STREAM LANG LC_* LOGNAME MALLOC_* NOTIFY_SOCKET NO_COLOR RUST_BACKTRACE RUST_LOG TERM TZ USER \
    WAYLAND_DISPLAY XDG_*";

/// A program to start.
#[derive(Debug)]
pub(crate) struct Program {
    which: ProgramName,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    /// The user that the program becomes; `None` if it stays the same and needs no guard.
    credentials: Option<Credentials>,
    input: Option<OwnedFd>,
    keeps_folder: bool,
}

#[derive(Debug)]
enum ProgramName {
    /// A program of the system, by its name.
    Installed(&'static str),
    Itself,
}

impl Program {
    /// A program of the system. Its messages are in English.
    pub(crate) fn installed(name: &'static str) -> Self {
        let environment = vec![("PATH".into(), path()), ("LC_ALL".into(), "C".into())];
        Self { which: ProgramName::Installed(name), environment, ..Self::nothing() }
    }

    /// A program of the desktop, which shows windows in the user's language.
    pub(crate) fn of_desktop(name: &'static str) -> Self {
        let environment = without_others(chosen(OF_DESKTOP));
        Self { which: ProgramName::Installed(name), environment, ..Self::nothing() }
    }

    /// A program that shows text on the terminal.
    pub(crate) fn of_terminal(name: &'static str) -> Self {
        Self {
            which: ProgramName::Installed(name),
            environment: without_others(chosen(OF_TERMINAL)),
            ..Self::nothing()
        }
    }

    /// This program itself, as the same user.
    pub(crate) fn itself() -> Self {
        Self { environment: chosen(OF_ITSELF), ..Self::nothing() }
    }

    /// This program itself, with other credentials. It gets nothing of this process's environment.
    pub(crate) fn itself_as(credentials: Credentials) -> Self {
        let environment = vec![("PATH".into(), PATH_OF_ROOT.into())];
        Self { credentials: Some(credentials), environment, ..Self::nothing() }
    }

    fn nothing() -> Self {
        let (arguments, environment) = (Vec::new(), Vec::new());
        let (credentials, input, keeps_folder) = (None, None, false);
        Self { which: ProgramName::Itself, arguments, environment, credentials, input, keeps_folder }
    }

    pub(crate) fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    pub(crate) fn args<I: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = I>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.retain(|(it, _)| it != name);
        self.environment.push((name.into(), value.into()));
        self
    }

    /// What becomes the program's standard input.
    pub(crate) fn input(self, input: OwnedFd) -> Self {
        Self { input: Some(input), ..self }
    }

    /// Has the program begin in the current folder, and not in `/`.
    pub(crate) fn in_current_folder(self) -> Self {
        Self { keeps_folder: true, ..self }
    }

    /// Runs the program and collects its output. If it takes longer than `limit`, kills it and returns
    /// `None`.
    ///
    /// # Errors
    /// The program is not installed, it cannot be started, or a system call fails.
    pub(crate) fn output_within(self, limit: Duration) -> io::Result<Option<Output>> {
        let end = Instant::now() + limit;
        let keeps_folder = self.keeps_folder;
        let mut command = self.command()?;
        if !keeps_folder {
            command.current_dir("/");
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        // Closes this process's copy of the program's input.
        drop(command);
        let ended = pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
        let output = ended.map_err(io::Error::from).and_then(|ended| {
            let output = collect(&mut child, &ended, end)?;
            if output.is_none() {
                let _ = child.kill();
                // When the program has ended, it holds nothing any more. One that hangs in the kernel may
                // stay.
                let _ = wait_for(&[&ended], Instant::now() + KILL_TIME);
                let _ = child.try_wait();
            }
            Ok(output)
        });
        if output.is_err() {
            let _ = child.kill();
        }
        output
    }

    /// Runs a program that prints a line when it is about to ask for something that may take for ever, and
    /// returns its exit code. If it then sleeps for as long as `limit` without a break, kills it and returns
    /// `None`. Until the line, and while it is ready to run, a busy machine may delay it.
    ///
    /// # Errors
    /// The program cannot be started, a system call fails, or no line comes for a minute.
    pub(crate) fn code_unless_asleep(self, limit: Duration) -> io::Result<Option<i32>> {
        const START: Duration = Duration::from_secs(60);
        const STEP: Duration = Duration::from_millis(50);
        let mut child = self.start_with_pipes()?;
        let ended = pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
        let code = ended.map_err(io::Error::from).and_then(|ended| {
            let pipe = child.stdout.take().map(OwnedFd::from).ok_or(io::ErrorKind::BrokenPipe)?;
            Lines::new(pipe)?.read(START)?;
            let mut asleep_since = Instant::now();
            while asleep_since.elapsed() < limit {
                wait_for(&[&ended], Instant::now() + STEP)?;
                if let Some(status) = child.try_wait()? {
                    return Ok(status.code());
                }
                if !process::is_asleep(child.id()) {
                    asleep_since = Instant::now();
                }
            }
            child.kill()?;
            let _ = wait_for(&[&ended], Instant::now() + KILL_TIME);
            let _ = child.try_wait();
            Ok(None)
        });
        if code.is_err() {
            let _ = child.kill();
        }
        code
    }

    /// Starts the program without an output, and does not wait for it.
    pub(crate) fn start(self) -> io::Result<Child> {
        self.command()?.current_dir("/").stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    }

    /// Starts the program with pipes for its outputs, which the caller reads with a time limit: see
    /// [`Lines`].
    pub(crate) fn start_with_pipes(self) -> io::Result<Child> {
        self.command()?.current_dir("/").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    }

    /// Starts the program as a daemon, with a pipe for its standard output. If it gets credentials, its
    /// standard error is a pipe, too. Otherwise it keeps the terminal and its session for now. `kept` are
    /// the descriptors that it gets besides, under the same numbers.
    pub(crate) fn start_daemon(self, name: &OsStr, kept: &[OwnedFd]) -> io::Result<Child> {
        let is_same = self.credentials.is_none();
        let mut command = self.command()?;
        if is_same {
            command.env_remove(credentials::VARIABLE);
        }
        for descriptor in kept {
            fcntl_setfd(descriptor, FdFlags::empty())?;
        }
        command.arg0(name).stdout(Stdio::piped());
        command.stderr(if is_same { Stdio::inherit() } else { Stdio::piped() });
        command.spawn()
    }

    /// Runs the program on this terminal, in its session, with `text` as its standard input.
    pub(crate) fn show(self, text: &[u8]) -> io::Result<ExitStatus> {
        let ProgramName::Installed(name) = self.which else { return Err(io::ErrorKind::Unsupported.into()) };
        close_fds::set_fds_cloexec(3, &[]);
        let mut command = Command::new(find(name)?);
        command.env_clear().envs(self.environment).args(self.arguments).stdin(Stdio::piped());
        // Of a user's folder, relative paths in variables would lead to his files.
        command.current_dir("/");
        let mut child = command.spawn()?;
        if let Some(mut input) = child.stdin.take() {
            // Fails if the program ends early. Its exit status says so, too.
            let _ = input.write_all(text);
        }
        child.wait()
    }

    /// What std starts: this program, or one of the system behind [`SETSID`].
    fn command(self) -> io::Result<Command> {
        // Descriptors that this process inherited are not closed by std. This process itself still has them.
        close_fds::set_fds_cloexec(3, &[]);
        let mut command = match self.which {
            ProgramName::Itself => {
                let mut command = Command::new(OWN);
                let credentials = self.credentials.as_ref().map(Credentials::text).unwrap_or_default();
                // `ps` and the other commands of bsafs recognize it by this name.
                command.arg0("bsafs").env_clear().env(credentials::VARIABLE, credentials);
                command
            }
            // `setsid` could be traced by the user that this process has become. A program that is setuid,
            // such as fusermount3, cannot be, if this process starts it directly and cannot be traced either.
            ProgramName::Installed(name) if self.credentials.is_none() && process::has_own_session() => {
                let mut command = Command::new(find(name)?);
                command.env_clear();
                command
            }
            ProgramName::Installed(name) => {
                let mut command = Command::new(find(SETSID)?);
                command.env_clear();
                if let Some(user) = self.credentials.and_then(|credentials| credentials.user) {
                    let ids = [format!("--reuid={}", user.uid), format!("--regid={}", user.gid)];
                    command.arg(find("setpriv")?).args(ids).args(["--clear-groups", "--inh-caps=-all", "--"]);
                }
                command.arg(find(name)?);
                command
            }
        };
        command.args(self.arguments).envs(self.environment);
        command.stdin(self.input.map_or_else(Stdio::null, Stdio::from));
        Ok(command)
    }
}

/// Under a limit, starts the program again with a single heap, if it does not have that yet. Otherwise a
/// few threads would reserve the whole address space for their heaps.
pub(crate) fn restart_with_one_heap() {
    if memory::limit().is_none() || env::var_os(memory::HEAPS).is_some() {
        return;
    }
    // Returns only if it fails. Then the program goes on with what it has.
    let error = restart_with(memory::HEAPS, "1");
    log::debug!("cannot restart with one heap: {error}");
}

/// Starts this program again in place of this process, with one more variable. All else stays: it is the same
/// process. Returns only if that fails.
fn restart_with(variable: &str, value: &str) -> io::Error {
    let mut arguments = env::args_os();
    let name = arguments.next().unwrap_or_else(|| "bsafs".into());
    Command::new(OWN).arg0(name).args(arguments).env(variable, value).exec()
}

/// The variables of this process that a list names, and the folders of programs.
fn chosen(list: &str) -> Vec<(OsString, OsString)> {
    let chosen = env::vars_os().filter(|(variable, _)| is_in(list, variable));
    chosen.chain([("PATH".into(), path())]).collect()
}

/// Whether a list names a variable.
fn is_in(list: &str, variable: &OsStr) -> bool {
    list.split(' ').any(|name| match name.strip_suffix('*') {
        Some(beginning) => variable.as_bytes().starts_with(beginning.as_bytes()),
        None => variable == name,
    })
}

/// For root, only variables that lead to no file that another user can exchange or make. `su` leaves root
/// variables of a user, which have commands (`BROWSER`, `PAGER`, `LESSOPEN`) and name folders of programs
/// (`XDG_DATA_HOME`).
fn without_others(mut variables: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
    if geteuid().is_root() {
        variables.retain(|(name, value)| {
            let is_command = is_in(OF_COMMANDS, name) && !is_word(value) || is_in(OF_OPTIONS, name);
            let is_of_root = || is_plain(value) && !is_command && !leads_to_others(value);
            match name.to_str() {
                Some("PATH") => true,
                // Other transports start a program.
                Some("DBUS_SESSION_BUS_ADDRESS") => {
                    value.as_bytes().split(|&byte| byte == b';').all(|it| it.starts_with(b"unix:"))
                }
                _ => is_in(OF_SERVERS, name) || is_of_root(),
            }
        });
    }
    variables
}

/// Whether a command is the name or the absolute path of a program, without anything that a shell would
/// replace.
fn is_word(command: &OsStr) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.+/".contains(byte);
    let bytes = command.as_bytes();
    bytes.iter().all(is_plain) && (bytes.starts_with(b"/") || !bytes.contains(&b'/'))
}

/// Whether a value is words and absolute paths, without anything that a shell or a program expands: `*`, `~`,
/// `$`; or that leads out of a folder in which a program looks for it: `de/../..`.
fn is_plain(value: &OsStr) -> bool {
    let is_known = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.+/@%:;,|= ".contains(byte);
    let is_path = |part: &[u8]| {
        !part.contains(&b'/') || part.starts_with(b"/") && !part.split(|&it| it == b'/').any(|it| it == b"..")
    };
    value.as_bytes().iter().all(is_known) && parts(value).all(is_path)
}

/// What the separators of lists leave of a value.
fn parts(value: &OsStr) -> impl Iterator<Item = &[u8]> {
    value.as_bytes().split(|byte| b":;,|= ".contains(byte))
}

/// Whether a path in the value of a variable leads to what another user can exchange, or to where he can make
/// files, as in /tmp. Programs begin in `/`, so relative paths begin there, too.
fn leads_to_others(value: &OsStr) -> bool {
    let parts = parts(value).map(OsStr::from_bytes);
    let mut paths = parts.filter(|part| !part.is_empty()).map(|part| Path::new("/").join(part));
    paths.any(|path| {
        let existing = path.ancestors().find(|it| it.symlink_metadata().is_ok());
        existing.is_some_and(may_others_add_to)
    })
}

/// The folders of programs, separated by colons.
fn path() -> OsString {
    folders_of_programs(env::var_os("PATH").unwrap_or_default())
}

/// As [`path`], with `given` as the variable.
fn folders_of_programs(given: OsString) -> OsString {
    if !geteuid().is_root() {
        return if given.is_empty() { PATH_OF_ROOT.into() } else { given };
    }
    // A folder such as /tmp is root's, but others add programs. A program that bsafs starts looks there, too.
    let of_root = |folder: &PathBuf| folder.is_absolute() && !may_others_add_to(folder);
    let given = env::split_paths(&given).filter(of_root);
    env::join_paths(given.chain(env::split_paths(PATH_OF_ROOT))).unwrap_or_else(|_| PATH_OF_ROOT.into())
}

/// The path of an installed program.
pub(crate) fn find(name: &str) -> io::Result<PathBuf> {
    let path = path();
    let is_program =
        |file: &PathBuf| file.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0);
    // A relative folder would be one in the current folder, which may be anybody's. Root's folders may have
    // a link that leads to a program of another user.
    let is_own = |file: &PathBuf| !geteuid().is_root() || first_other_user(file).is_none();
    let folders = env::split_paths(&path).filter(|folder| folder.is_absolute());
    let found = folders.map(|folder| folder.join(name)).find(|file| is_program(file) && is_own(file));
    found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("{name} is not installed")))
}

/// Waits for a program, and reads its outputs meanwhile, so that a full pipe does not block it. Starts no
/// thread: at a limit of processes none can be had, and then a program that did its work would be taken for
/// one that did not start. Returns `None` if the program does not end in time.
fn collect(child: &mut Child, ended: &OwnedFd, end: Instant) -> io::Result<Option<Output>> {
    let mut stdout = PartialOutput::new(child.stdout.take().map(OwnedFd::from))?;
    let mut stderr = PartialOutput::new(child.stderr.take().map(OwnedFd::from))?;
    let mut status = None;
    while status.is_none() {
        if Instant::now() >= end {
            return Ok(None);
        }
        let pipes = [&stdout, &stderr].into_iter().filter_map(|it| it.pipe.as_ref().map(AsFd::as_fd));
        wait_for(&pipes.chain([ended.as_fd()]).collect::<Vec<_>>(), end)?;
        // This comes before the last reads, so that they see all that the program wrote.
        status = child.try_wait()?;
        stdout.read()?;
        stderr.read()?;
    }
    // A process that the program left behind may keep an output open. What it adds is not waited for.
    Ok(status.map(|status| Output { status, stdout: stdout.bytes, stderr: stderr.bytes }))
}

/// An output of a program, as far as it was read.
struct PartialOutput {
    /// `None` at the end of the output.
    pipe: Option<File>,
    bytes: Vec<u8>,
}

impl PartialOutput {
    fn new(pipe: Option<OwnedFd>) -> io::Result<Self> {
        if let Some(pipe) = &pipe {
            ioctl_fionbio(pipe, true)?;
        }
        Ok(Self { pipe: pipe.map(File::from), bytes: Vec::new() })
    }

    /// Reads what is in the pipe. What exceeds the limit is thrown away.
    fn read(&mut self) -> io::Result<()> {
        let mut buffer = [0; 16 << 10];
        // A pipe holds 64 KiB, so this reads all that an ended program wrote. It also ends if the program
        // writes for ever.
        for _ in 0..8 {
            let Some(pipe) = &mut self.pipe else { break };
            match pipe.read(&mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(count) => {
                    let room = (SUBPROCESS_OUTPUT_MAX as usize).saturating_sub(self.bytes.len());
                    self.bytes.extend_from_slice(&buffer[..count.min(room)]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Reads what a program writes, until the end. `None` if `gives_up`, which is called at least once in each
/// `step`.
pub(crate) fn read_unless(
    pipe: OwnedFd,
    step: Duration,
    mut gives_up: impl FnMut() -> bool,
) -> io::Result<Option<Vec<u8>>> {
    let mut output = PartialOutput::new(Some(pipe))?;
    while let Some(pipe) = &output.pipe {
        if gives_up() {
            return Ok(None);
        }
        wait_for(&[pipe], Instant::now() + step)?;
        output.read()?;
    }
    Ok(Some(output.bytes))
}

/// The lines that a program writes. Reading them never takes longer than a time limit.
#[derive(Debug)]
pub(crate) struct Lines {
    pipe: File,
    /// The beginning of a line.
    begun: Vec<u8>,
}

impl Lines {
    pub(crate) fn new(pipe: OwnedFd) -> io::Result<Self> {
        ioctl_fionbio(&pipe, true)?;
        Ok(Self { pipe: pipe.into(), begun: Vec::new() })
    }

    /// Reads at least one line, without its end. Empty at the end of the output.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`] if no line comes within `limit`, or a system call fails.
    pub(crate) fn read(&mut self, limit: Duration) -> io::Result<Vec<Vec<u8>>> {
        let end = Instant::now() + limit;
        let mut buffer = [0; 16 << 10];
        loop {
            match self.pipe.read(&mut buffer) {
                Ok(0) => return Ok(Vec::new()),
                Ok(count) => {
                    let mut parts = buffer[..count].split(|&byte| byte == b'\n').peekable();
                    let mut lines = Vec::new();
                    while let Some(part) = parts.next() {
                        self.begun.extend_from_slice(part);
                        if parts.peek().is_some() {
                            lines.push(std::mem::take(&mut self.begun));
                        }
                    }
                    if self.begun.len() as u64 > SUBPROCESS_OUTPUT_MAX {
                        return Err(io::ErrorKind::InvalidData.into());
                    }
                    if !lines.is_empty() {
                        return Ok(lines);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if Instant::now() >= end {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                    wait_for(&[&self.pipe], end)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Waits until one of these can be read, or `end` is reached.
fn wait_for(descriptors: &[impl AsFd], end: Instant) -> io::Result<()> {
    let left = end.saturating_duration_since(Instant::now());
    let timeout = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
    let mut descriptors: Vec<PollFd> = descriptors.iter().map(|it| PollFd::new(it, PollFlags::IN)).collect();
    match poll(&mut descriptors, Some(&timeout)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn shell(script: &str, limit: Duration) -> Option<Output> {
        Program::installed("sh").args(["-c", script]).output_within(limit).expect("cannot start sh")
    }

    fn said(script: &str) -> String {
        let output = shell(script, Duration::from_secs(60)).expect("sh did not end in time");
        assert!(output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).expect("no UTF-8")
    }

    #[test]
    fn a_process_is_waited_for_until_its_time_limit() {
        let output =
            shell("echo out; echo err >&2; exit 3", Duration::from_secs(60)).expect("sh did not end in time");
        assert_eq!(
            (output.status.code(), &*output.stdout, &*output.stderr),
            (Some(3), &b"out\n"[..], &b"err\n"[..])
        );
        let began = Instant::now();
        assert!(shell("exec sleep 1000", Duration::from_millis(50)).is_none());
        assert!(shell("exec cat /dev/zero", Duration::from_millis(50)).is_none());
        assert!(began.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_program_that_was_slow_to_start_or_had_no_processor_is_not_taken_for_one_that_waits_for_ever() {
        let limit = Duration::from_millis(300);
        let code = |script: &str| {
            Program::installed("sh").args(["-c", script]).code_unless_asleep(limit).expect("cannot run sh")
        };
        assert_eq!(code("sleep 1; echo asking; exit 69"), Some(69));
        assert_eq!(code("echo asking; i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exit 69"), Some(69));
        // Once it is stopped, it cannot go on by itself.
        assert_eq!(code("echo asking; kill -STOP $$; exit 69"), None);
        assert_eq!(code("echo asking; exec sleep 1000"), None);
        assert_eq!(code("exit 3"), Some(3));
    }

    #[test]
    fn lines_are_read_as_they_come_and_a_silent_program_is_not_waited_for() {
        let mut program = Program::installed("sh")
            .args(["-c", "printf 'a\\n\\nb'; read x; printf 'c\\n'; exec sleep 1000"]);
        let (input, mut writer) = io::pipe().expect("cannot make a pipe");
        program = program.input(input.into());
        let mut child = program.start_with_pipes().expect("cannot start sh");
        let mut lines = Lines::new(child.stdout.take().expect("no pipe").into()).expect("no lines");
        let mut read = |limit| lines.read(limit).map(|it| it.concat());
        let long = Duration::from_secs(60);
        assert_eq!(read(long).expect("no line"), b"a");
        assert_eq!(read(Duration::from_millis(50)).unwrap_err().kind(), io::ErrorKind::TimedOut);
        writer.write_all(b"\n").expect("cannot write");
        assert_eq!(read(long).expect("no line"), b"bc");
        child.kill().and_then(|()| child.wait()).expect("cannot end sh");
        assert_eq!(read(long).expect("no end"), b"");
    }

    #[test]
    fn output_larger_than_a_pipe_is_read_completely() {
        let output =
            shell("head -c 300000 /dev/zero", Duration::from_secs(60)).expect("sh did not end in time");
        assert_eq!(output.stdout.len(), 300_000);
    }

    #[test]
    fn a_program_gets_its_own_session_and_no_descriptor_but_its_three() {
        let inherited = std::fs::File::open("/").expect("cannot open /");
        fcntl_setfd(&inherited, FdFlags::empty()).expect("cannot let it be inherited");
        let session = said("cut -d' ' -f6 /proc/$$/stat; echo $$; ls /proc/$$/fd | tr '\\n' ' '");
        let lines: Vec<&str> = session.lines().collect();
        assert_eq!(lines[0], lines[1], "the program is in the session of another process");
        assert_eq!(lines[2].trim(), "0 1 2", "{session}");
        assert_eq!(said("readlink /proc/$$/fd/0; cat"), "/dev/null\n");
    }

    #[test]
    fn a_program_gets_only_the_variables_of_its_list() {
        let names = |program: Program| {
            let output = program.output_within(Duration::from_secs(60)).expect("cannot start env");
            let text = String::from_utf8_lossy(&output.expect("env did not end").stdout).into_owned();
            text.lines().filter_map(|line| Some(line.split_once('=')?.0.to_owned())).collect::<BTreeSet<_>>()
        };
        assert!(env::vars_os().count() > 2);
        assert_eq!(names(Program::installed("env")), BTreeSet::from(["LC_ALL".into(), "PATH".into()]));
        let of_desktop = names(Program::of_desktop("env"));
        assert!(of_desktop.contains("PATH") && of_desktop.contains("HOME"), "{of_desktop:?}");
        // cargo sets these for its tests.
        assert!(!of_desktop.iter().any(|name| name.starts_with("CARGO")), "{of_desktop:?}");
    }

    #[test]
    fn root_passes_no_variable_that_leads_to_a_file_of_another_user() {
        if !geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().expect("cannot make a folder");
        let theirs = dir.path().join("theirs");
        std::fs::create_dir(&theirs).expect("cannot make a folder");
        std::os::unix::fs::chown(&theirs, Some(12345), None).expect("cannot chown");
        let theirs = theirs.display();
        let given = [
            ("BROWSER", format!("{theirs}/browser %s:firefox")),
            ("LESSOPEN", format!("|{theirs}/open %s")),
            ("XDG_DATA_HOME", format!("{theirs}/none")),
            ("XDG_DATA_DIRS", "/usr/share:/usr/local/share:/usr/none".into()),
            ("XDG_RUNTIME_DIR", format!("{theirs}")),
            ("EDITOR", "vi".into()),
            ("VISUAL", "/bin/sh".into()),
            ("PAGER", "sh -c id".into()),
            ("SHELL", "./sh".into()),
            ("TERMINAL", "$(id)".into()),
            ("LESS", "-R".into()),
            ("MANPAGER", "less".into()),
            ("QT_PLUGIN_PATH", "/tmp".into()),
            ("GTK_PATH", "/tmp/none".into()),
            ("GIO_MODULE_DIR", "tmp".into()),
            ("LANG", "de_DE.UTF-8@euro".into()),
            ("XDG_CONFIG_DIRS", "/ro?t/share".into()),
            ("GTK_MODULES", "/none/../home".into()),
            ("XDG_CURRENT_DESKTOP", "systemd/../../home/x".into()),
            ("LANGUAGE", "en/../../home/x".into()),
            ("XDG_CONFIG_HOME", "~x/cfg".into()),
            ("DBUS_SESSION_BUS_ADDRESS", "unixexec:path=/bin/sh,argv1=x".into()),
            ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/1/bus;unixexec:path=/bin/sh".into()),
            ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/0/bus".into()),
        ];
        let given = given.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let kept: Vec<_> = without_others(given.into()).into_iter().map(|(name, _)| name).collect();
        let bus = "DBUS_SESSION_BUS_ADDRESS";
        assert_eq!(kept, ["XDG_DATA_DIRS", "XDG_RUNTIME_DIR", "EDITOR", "VISUAL", "LANG", bus]);
    }

    #[test]
    fn root_starts_no_program_of_another_users_path() {
        if !geteuid().is_root() {
            return assert!(find("sh").is_ok());
        }
        assert!(path().to_string_lossy().ends_with(PATH_OF_ROOT));
        // Everybody may add programs to the first two.
        let given = folders_of_programs("/tmp:/var/tmp:/usr/bin:bin".into());
        assert_eq!(given.to_string_lossy(), format!("/usr/bin:{PATH_OF_ROOT}"));
        assert!(find("sh").is_ok_and(|path| path.is_absolute()));
        assert_eq!(find("../bin/no-such-program").unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_program_that_runs_as_another_user_has_nothing_of_roots() {
        if !geteuid().is_root() {
            return;
        }
        let script = "id -u; id -g; id -G; grep CapPrm /proc/$$/status; cut -d' ' -f6,7 /proc/$$/stat; \
                      echo $$";
        let credentials = Some(Credentials::of_owner((12345, 12346)));
        let program = Program { credentials, ..Program::installed("sh").args(["-c", script]) };
        let output = program.output_within(Duration::from_secs(60)).expect("cannot start sh");
        let output = output.expect("sh did not end");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        let [.., session, own] = &lines[..] else { panic!("{output:?}") };
        assert_eq!(lines[..4], ["12345", "12346", "12346", "CapPrm:\t0000000000000000"], "{output:?}");
        assert_eq!(*session, format!("{own} 0"), "it has a terminal, or another session");
    }
}
