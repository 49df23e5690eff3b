//! Every command, and what they share: arguments, exit codes, logging.

mod cat;
mod completions;
mod daemon;
mod exit;
mod extract;
mod info;
mod list;
mod logging;
mod man;
mod mount;
mod mountpoint;
mod names;
mod open;
mod options;
mod profile;
mod selection;
mod status;
mod umount;
mod verify;
mod which;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

pub use exit::{Exit, Failure};

/// Mounts Bethesda archives (BSA and BA2, Morrowind to Starfield) as a read-only directory tree.
#[derive(Debug, Parser)]
#[command(name = "bsafs", version, arg_required_else_help = true, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Say more: once for what is peculiar about archives, twice for what happens inside
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    verbose: u8,
    /// Say only what failed
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
}

/// What a first-time reader of `--help` looks for.
const AFTER_HELP: &str = "\
Examples:
  bsafs mount \"Skyrim - Textures0.bsa\"             on a new folder of that name, beside you
  bsafs mount Base.ba2 Patch.ba2 ~/mnt             two archives as one tree; Patch.ba2 wins
  bsafs which ~/mnt/textures/clutter/bucket.dds    which archive a file comes from, and what it hides
  bsafs umount ~/mnt
  bsafs extract Mod.bsa --glob 'scripts/**' -C out
  bsafs SOURCE MOUNTPOINT -o OPTIONS               as mount(8) and fstab call it

Paths inside archives may be written in any case and with either slash.
`bsafs help COMMAND` tells more, `bsafs man` prints the manual.";

/// One variant and one file for each command.
#[derive(Debug, Subcommand)]
enum Command {
    Mount(mount::Mount),
    #[command(visible_alias = "unmount")]
    Umount(umount::Umount),
    #[command(visible_alias = "ls")]
    List(list::List),
    Cat(cat::Cat),
    Extract(extract::Extract),
    Info(info::Info),
    Verify(verify::Verify),
    Names(names::Names),
    Which(which::Which),
    Status(status::Status),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    fn run(&self) -> Result<Exit, Failure> {
        match self {
            Self::Mount(it) => it.run(),
            Self::Umount(it) => it.run(),
            Self::List(it) => it.run(),
            Self::Cat(it) => it.run(),
            Self::Extract(it) => it.run(),
            Self::Info(it) => it.run(),
            Self::Verify(it) => it.run(),
            Self::Names(it) => it.run(),
            Self::Which(it) => it.run(),
            Self::Status(it) => it.run(),
            Self::Completions(it) => it.run(),
            Self::Man(it) => it.run(),
        }
    }
}

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    let (arguments, by_mount) = as_command(std::env::args_os().collect());
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors, and nobody is left to hear of an error in writing them.
            let _ = error.print();
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Ok };
            return if by_mount { exit.for_mount().into() } else { exit.into() };
        }
    };
    logging::start(cli.verbose, cli.quiet);
    let exit = cli.command.run().unwrap_or_else(|failure| {
        if !failure.what.is_empty() {
            let _ = writeln!(std::io::stderr(), "bsafs: {}", failure.what);
        }
        failure.exit
    });
    // The copy speaks to the program that started it, which folds the code for mount(8) itself.
    if by_mount && !daemon::is_copy() { exit.for_mount().into() } else { exit.into() }
}

/// The form in which mount(8) calls its helpers (`bsafs SOURCE MOUNTPOINT -o OPTIONS`, or the program under the name
/// `mount.bsafs`), as the command that it means; and whether it was that form, whose exit codes are others.
fn as_command(mut arguments: Vec<OsString>) -> (Vec<OsString>, bool) {
    let name = arguments.first().map(std::path::Path::new).and_then(|name| name.file_name());
    let is_helper =
        name.is_some_and(|name| matches!(name.to_str(), Some("mount.bsafs" | "mount.fuse.bsafs")));
    let is_known = |argument: &OsString| {
        let command = Cli::command();
        // A name that is no text is that of a source; commands are text.
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

/// Standard output in pieces of a useful size.
fn out() -> std::io::BufWriter<std::io::StdoutLock<'static>> {
    std::io::BufWriter::with_capacity(1 << 16, std::io::stdout().lock())
}

/// Something as JSON, on a line of its own.
fn json(out: &mut impl Write, it: &impl serde::Serialize) -> std::io::Result<()> {
    serde_json::to_writer(&mut *out, it)?;
    writeln!(out)
}

/// A number of bytes for people.
fn human(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes as f64;
    let mut unit = "bytes";
    for next in UNITS {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    if bytes == 1 {
        "1 byte".into()
    } else if unit == "bytes" {
        format!("{bytes} bytes")
    } else {
        format!("{value:.1} {unit}")
    }
}

/// A count of things, in the plural where need be.
fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}
