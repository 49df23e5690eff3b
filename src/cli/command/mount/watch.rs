//! `bsafs watch`: prints the files of a mount that change.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::cli::exit::{Exit, Failure, OutputError};
use crate::cli::terminal::output::{stdout_for, write_json};
use crate::cli::ui::Ui;
use crate::mounts::following::{BEGUN, Following, Watching};
use crate::shown::Shown;

/// Print each file of a mount that changes, until the mount ends
///
/// Programs get no events (inotify) from a mount, so editors and scripts can read these lines instead. A
/// line is printed when the mount shows the change: the file was added, removed or modified. Folders are not
/// printed. A file may be printed more than once, for example if a program writes it in several steps. A file
/// whose name changes only in case is modified.
///
/// A line with `unknown` and an empty path says that any file may have changed: too many changed at once, or
/// the lines were not read for a long time.
///
/// With --json, each line is an object with "path", "change" (added, removed, modified or unknown) and
/// "view", which counts the states of the mount.
///
/// In folders without an inotify watch (`bsafs status` counts them), on network drives and behind links,
/// bsafs notices that a file was modified only if the mount showed the file before. With -o static, only
/// changes that `bsafs reload` finds are printed, and with --edit none.
///
/// The exit status is 0 when the mount ends.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Watch {
    /// Mountpoint of bsafs
    #[arg(value_name = "MOUNTPOINT")]
    mountpoint: PathBuf,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// Wait for the daemon of exactly this mount without a time limit, and print a line after each answer.
    /// This command runs that
    #[arg(long, hide = true, value_name = "IDENTITY")]
    direct: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  bsafs watch ~/mnt
  bsafs watch ~/mnt --json | jq --unbuffered -r 'select(.change == \"modified\").path'";

/// How often the daemon is asked. Shorter than the time in which a change appears.
const INTERVAL: Duration = Duration::from_millis(200);

impl Watch {
    pub(crate) fn run(&self, ui: &Ui) -> Result<Exit, Failure> {
        if let Some(identity) = &self.direct {
            return self.run_directly(identity);
        }
        let mut watching = Following::start(&self.mountpoint)?;
        if !ui.is_quiet {
            let path = self.mountpoint.shown();
            // A script may wait for this line before it changes a file.
            let said = watching.claimant().map(|user| format!(", as the daemon of user {user} says"));
            let said = said.unwrap_or_default();
            let _ = writeln!(io::stderr(), "bsafs: watching {}{said}", path);
        }
        let mut out = stdout_for(self.json).until_closed();
        while let Some(changes) = watching.read()? {
            for change in &changes {
                if self.json {
                    out.json(change)?
                } else {
                    writeln!(out, "{:<8}  {}", change.change, change.path.shown())?
                }
            }
            out.flush()?;
            if changes.is_empty() && is_closed_within(Duration::ZERO) {
                break;
            }
        }
        Ok(Exit::Ok)
    }

    /// Asks the daemon, for the process that prints.
    fn run_directly(&self, identity: &str) -> Result<Exit, Failure> {
        let mut out = stdout_for(true).until_closed();
        let mut show_life = || writeln!(out).and_then(|()| out.flush()).map_err(|OutputError(error)| error);
        let mut watching = Watching::start(&self.mountpoint, identity, &mut show_life)?;
        writeln!(out, "{BEGUN}")?;
        while let Some(changes) = watching.read()? {
            changes.iter().try_for_each(|change| write_json(&mut out, change)).map_err(OutputError)?;
            writeln!(out)?;
            out.flush()?;
            if changes.is_empty() && is_closed_within(INTERVAL) {
                break;
            }
        }
        Ok(Exit::Ok)
    }
}

/// Waits, and returns early if nothing reads standard output any more.
fn is_closed_within(time: Duration) -> bool {
    let stdout = io::stdout();
    let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
    let time = Timespec::try_from(time).ok();
    // A signal only makes the wait shorter.
    let _ = poll(&mut polled, time.as_ref());
    polled[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}
