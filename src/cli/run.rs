//! Runs the command that the arguments of the process name.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::args::Cli;
use super::exit::Exit;
use super::terminal::logger;
use super::terminal::output::escaped;
#[cfg(feature = "mount")]
use crate::daemon::{detach, logging};
use crate::vfs::sources::resolve::is_game;

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    let (arguments, by_mount) = as_command(std::env::args_os().collect());
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            print_usage(&error);
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Ok };
            return if by_mount { exit.for_mount().into() } else { exit.into() };
        }
    };
    logger::start(cli.verbose, cli.quiet);
    raise_open_files();
    let exit = cli.command.run(cli.quiet).unwrap_or_else(|failure| {
        match failure.what.as_str() {
            "" => {}
            what if logger::is_read() => log::error!("{what}"),
            what => drop(writeln!(std::io::stderr(), "bsafs: {}", escaped(what))),
        }
        failure.exit
    });
    #[cfg(feature = "mount")]
    logging::finish();
    // The daemon's exit code goes to the process that started it, which maps it for mount(8).
    #[cfg(feature = "mount")]
    let by_mount = by_mount && !detach::is_daemon();
    if by_mount { exit.for_mount().into() } else { exit.into() }
}

/// Prints what clap makes of wrong arguments, and help and version, which come as errors too.
fn print_usage(error: &clap::Error) {
    let names_source = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(name)) if is_source(OsStr::new(name)) => Some(name),
        _ => None,
    };
    // A failure to print has nowhere to be reported.
    let _ = match names_source {
        Some(source) => {
            let source = escaped(source);
            writeln!(std::io::stderr(), "bsafs: {source} is no command; to mount it: bsafs mount {source}")
        }
        // In colours, unless an argument could make some of its own.
        None => {
            match escaped(&std::env::args_os().collect::<Vec<_>>().join(OsStr::new(" ")).to_string_lossy()) {
                Cow::Borrowed(_) => error.print(),
                Cow::Owned(_) => write!(std::io::stderr(), "{}", escaped(&error.render().to_string())),
            }
        }
    };
}

/// Raises the soft limit of open files to the hard one: each archive stays open, and the usual 1,024 are few.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(errno) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        log::debug!("the limit of open files stays {:?}: {errno}", limit.current);
    }
}

/// Inserts the command `mount` into the arguments by which mount(8) calls its helpers (`bsafs SOURCE MOUNTPOINT -o
/// OPTIONS`, or any under the program name `mount.bsafs`), and reports whether it did: mount(8) has exit codes of its own.
fn as_command(mut arguments: Vec<OsString>) -> (Vec<OsString>, bool) {
    let name = arguments.first().map(Path::new).and_then(Path::file_name);
    let is_helper =
        name.is_some_and(|name| matches!(name.to_str(), Some("mount.bsafs" | "mount.fuse.bsafs")));
    let by_mount = is_helper || (arguments.len() >= 3 && is_source(&arguments[1]));
    if by_mount {
        arguments.insert(1, "mount".into());
    }
    (arguments, by_mount)
}

/// Whether an argument is meant as a source, and not as a command or an option: it looks like a path, is one, or is a game.
fn is_source(argument: &OsStr) -> bool {
    let bytes = argument.as_encoded_bytes();
    let is_path = bytes.iter().any(|byte| matches!(byte, b'/' | b'.'))
        || Path::new(argument).exists()
        || is_game(Path::new(argument));
    let command = Cli::command();
    let mut commands = command.get_subcommands();
    let is_command = argument == "help"
        || commands
            .any(|it| it.get_name() == argument || it.get_all_aliases().any(|alias| alias == argument));
    is_path && !is_command && !bytes.starts_with(b"-")
}
