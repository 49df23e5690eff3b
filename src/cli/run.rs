//! Runs the command that the arguments of the process name.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::args::Cli;
use super::exit::Exit;
use super::{daemon, logging};

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    let (arguments, by_mount) = as_command(std::env::args_os().collect());
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version come as errors too. A failure to print has nowhere to be reported.
            let _ = error.print();
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Ok };
            return if by_mount { exit.for_mount().into() } else { exit.into() };
        }
    };
    logging::start(cli.verbose, cli.quiet);
    raise_open_files();
    let exit = cli.command.run().unwrap_or_else(|failure| {
        match failure.what.as_str() {
            "" => {}
            what if logging::has_left_terminal() => log::error!("{what}"),
            what => drop(writeln!(std::io::stderr(), "bsafs: {what}")),
        }
        failure.exit
    });
    // The daemon's exit code goes to the process that started it, which maps it for mount(8).
    if by_mount && !daemon::is_daemon() { exit.for_mount().into() } else { exit.into() }
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
    let is_known = |argument: &OsString| {
        let command = Cli::command();
        // Commands are UTF-8; anything else is a source.
        argument.to_str().is_some_and(|text| {
            text.starts_with('-')
                || text == "help"
                || command
                    .get_subcommands()
                    .any(|it| it.get_name() == text || it.get_all_aliases().any(|alias| alias == text))
        })
    };
    let by_mount = is_helper || (arguments.len() >= 3 && !is_known(&arguments[1]));
    if by_mount {
        arguments.insert(1, "mount".into());
    }
    (arguments, by_mount)
}
