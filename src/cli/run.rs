//! The command line: global options, and the run of the command that the arguments of the process name.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::error::{ContextKind, ContextValue};
use clap::{ArgAction, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand as _};
use rustix::process::geteuid;
use signal_hook::consts::SIGXFSZ;

use super::command::{Command, GROUPS};
use super::exit::{Exit, Failure, OutputError};
use super::surroundings;
use super::terminal::logger;
use super::terminal::output::{self, escaped};
use super::topics::topic;
use super::ui::Ui;
use crate::daemon::{detach, logging};
use crate::shown::Shown;
use crate::system::{credentials, memory, subprocess};
use crate::vfs::sources::profile::is_game;

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    subprocess::restart_with_one_heap();
    if let Err(errno) = credentials::assume() {
        let what = "cannot take the user and the rights that root chose for this process";
        let _ = writeln!(std::io::stderr(), "bsafs: {what}: {}", std::io::Error::from(errno));
        return Exit::NoPermission.into();
    }
    // The kernel calls a process that was started through `/proc/self/exe` "exe".
    let _ = rustix::thread::set_name(c"bsafs");
    let (arguments, by_mount) = as_command(std::env::args_os().collect());
    if by_mount && !geteuid().is_root() {
        // mount.fuse3 has become a user, but is still in the session of root. If this fails, it is as before.
        let _ = credentials::forbid_tracing();
    }
    let command = Cli::command().color(output::choice_among(&arguments));
    let parsed = command.try_get_matches_from(arguments).and_then(|found| Cli::from_arg_matches(&found));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            let printed = print_usage(&error);
            let exit = match printed.map_err(OutputError) {
                _ if error.use_stderr() => Exit::Usage,
                Ok(()) => Exit::Ok,
                Err(error) => {
                    let failure = Failure::from(error);
                    if !failure.what.is_empty() {
                        logger::print_error(&failure.what);
                    }
                    failure.exit
                }
            };
            return if by_mount { exit.for_mount().into() } else { exit.into() };
        }
    };
    output::choose(cli.color);
    logger::start(cli.verbose, cli.quiet);
    memory::raise_limit();
    // Without a handler, a file that reaches the limit of sizes (`ulimit -f`) would end the process. With
    // one, the write fails, and a log loses the line.
    if let Err(error) = signal_hook::flag::register(SIGXFSZ, Arc::default()) {
        log::debug!("cannot handle SIGXFSZ: {error}");
    }
    // Under a lower limit, not even a small command is sure to succeed.
    let ui = Ui { is_quiet: cli.quiet, definition: Cli::command };
    let done = surroundings::check_memory(0).and_then(|()| cli.command.run(&ui));
    let done = done.map_err(surroundings::explained);
    let exit = done.unwrap_or_else(|failure| {
        match failure.what.as_str() {
            "" => {}
            what => logger::print_error(what),
        }
        failure.exit
    });
    logging::finish();
    // The foreground process that started the daemon maps its exit code for mount(8).
    let by_mount = by_mount && !detach::is_daemon();
    if by_mount { exit.for_mount().into() } else { exit.into() }
}

/// Names that other programs have for what a command does, and how it is called.
const OTHER_NAMES: [(&[&str], &str); 9] = [
    (&["unpack", "x", "e", "unzip", "decompress", "export"], "extract ARCHIVE -C FOLDER"),
    (&["create", "c", "a", "archive", "compress", "build"], "pack FOLDER --game ID -o FOLDER"),
    (&["l", "dir", "tree", "files"], "list SOURCE"),
    (&["find", "search", "grep"], "list SOURCE --glob PATTERN"),
    (&["stop", "eject", "close"], "umount MOUNTPOINT"),
    (&["show", "view", "browse"], "open SOURCE"),
    (&["compare"], "diff OLD NEW"),
    (&["test", "t", "check"], "verify ARCHIVE"),
    (&["loadorder", "load-order"], "order SOURCE"),
];

/// Prints clap's message about wrong arguments. Help and version also arrive as errors.
fn print_usage(error: &clap::Error) -> std::io::Result<()> {
    let names_source = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(name)) if is_source(OsStr::new(name)) => Some(name),
        _ => None,
    };
    let meant = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(name)) => OTHER_NAMES.iter().find(|(names, _)| names.contains(&&**name)),
        _ => None,
    };
    if let (Some((_, meant)), None) = (meant, names_source) {
        return writeln!(std::io::stderr(), "bsafs: no such command; you may mean: bsafs {meant}");
    }
    match names_source {
        Some(source) => {
            let source = source.shown();
            writeln!(
                std::io::stderr(),
                "bsafs: {source} is not a command; to mount it, run: bsafs mount {source}"
            )
        }
        // Print in colours, unless an argument contains control characters.
        None => {
            if !std::env::args_os().any(|it| it.shown().to_string() != it.to_string_lossy()) {
                error.print().and_then(|()| std::io::stdout().flush())
            } else {
                write!(std::io::stderr(), "{}", shown_usage(&error.render().to_string()))
            }
        }
    }
}

/// Clap's message, with the arguments that it quotes shown as names: the message for the shown arguments.
fn shown_usage(message: &str) -> String {
    let shown = std::env::args_os().map(|it| it.shown().to_string().into()).collect();
    match Cli::command().try_get_matches_from(as_command(shown).0) {
        Err(error) => escaped(&error.render().to_string()).into_owned(),
        Ok(_) => format!("{}\n", message.shown()),
    }
}

/// Inserts the command `mount` if mount(8) called the program, and returns whether it did. mount(8)
/// calls helpers as `bsafs SOURCE MOUNTPOINT -o OPTIONS`, or by the program name `mount.bsafs`. It
/// expects its own exit codes.
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

/// Whether an argument is meant as a source and not as a command or an option. A source looks like
/// a path, exists, or is a game.
fn is_source(argument: &OsStr) -> bool {
    let bytes = argument.as_encoded_bytes();
    let is_path = bytes.iter().any(|byte| matches!(byte, b'/' | b'.'))
        || Path::new(argument).exists()
        || is_game(Path::new(argument));
    let command = Cli::command();
    let mut commands = command.get_subcommands();
    let is_command =
        commands.any(|it| it.get_name() == argument || it.get_all_aliases().any(|alias| alias == argument));
    is_path && !is_command && !bytes.starts_with(b"-")
}

// Global options.

/// Mounts Bethesda's games and archives (BSA and BA2, Arena to Starfield) as a read-only folder.
#[derive(Debug, Parser)]
#[command(
    name = "bsafs",
    version,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    help_template = template(),
    after_help = format!("{EXAMPLES}\n\n{}\n\n{MORE}", topic::list())
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print notes on archives (-v), and also internal steps (-vv)
    #[arg(short, long, action = ArgAction::Count, global = true)]
    pub(crate) verbose: u8,
    /// Print only errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// When to use colours; the default, auto, follows NO_COLOR, CLICOLOR and CLICOLOR_FORCE
    #[arg(long, global = true, value_name = "WHEN", default_value_t, hide_default_value = true)]
    pub(crate) color: ColorChoice,
}

/// How help is laid out: as usual, but with the commands in groups.
fn template() -> String {
    let commands = Command::augment_subcommands(clap::Command::new("bsafs"));
    let mut groups = String::new();
    for (heading, names) in GROUPS {
        // Writing to a string cannot fail. Without a terminal, the escapes are not printed.
        let _ = writeln!(groups, "\u{1b}[1;4m{heading}:\u{1b}[0m");
        for command in names.iter().filter_map(|name| commands.find_subcommand(name)) {
            let aliases: Vec<&str> = command.get_visible_aliases().collect();
            let aliases = match &aliases[..] {
                [] => String::new(),
                aliases => format!(" [aliases: {}]", aliases.join(", ")),
            };
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(groups, "  {:<12} {about}{aliases}", command.get_name());
        }
        groups.push('\n');
    }
    format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}\u{1b}[1;4mOptions:\u{1b}[0m\n\
         {{options}}{{after-help}}"
    )
}

const EXAMPLES: &str = "\
Examples:
  bsafs mount skyrimse ~/mnt                       mount a game; `bsafs games` lists those installed
  bsafs mount \"Skyrim - Textures0.bsa\"             mount on a new folder of the same name
  bsafs mount Base.ba2 Patch.ba2 ~/mnt             mount two archives as one; Patch.ba2 wins
  bsafs which ~/mnt/textures/clutter/bucket.dds    print which archive a file comes from
  bsafs umount ~/mnt
  bsafs open \"Skyrim - Textures0.bsa\"              mount it, and open the folder
  bsafs extract Mod.bsa 'scripts/**' -C out
  bsafs pack MyMod --game skyrimse -o out          write the archives that a game loads
  bsafs SOURCE MOUNTPOINT -o OPTIONS               as mount(8) calls it for fstab";

const MORE: &str = "\
Paths inside archives may be written in upper or lower case and with either slash.
`bsafs help COMMAND` describes a command, and `bsafs man` shows the manual.";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_command_is_in_one_group_of_the_help() {
        let bsafs = Cli::command();
        let shown = bsafs.get_subcommands().filter(|it| !it.is_hide_set()).map(clap::Command::get_name);
        let mut shown: Vec<&str> = shown.collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(shown, grouped);
    }
}
