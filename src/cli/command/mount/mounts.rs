//! `bsafs mounts`: lists all bsafs mounts, what they show, and which processes use them.

use std::io::Write;
use std::time::{Duration, SystemTime};

use clap::Args;
use serde::Serialize;

use crate::cli::exit::{Exit, Failure};
use crate::cli::surroundings::check_mount_table;
use crate::cli::terminal::output::{duration, stdout_for};
use crate::cli::ui::Ui;
use crate::daemon::overlay;
use crate::mounts::mount_status::{self, Answer, MountStatus, dead_overlay};
use crate::note::NoteSummary;
use crate::shown::{Shown, quoted};
use crate::system::clock::unix_seconds;
use crate::system::edit_mount;
use crate::system::holders::{Holder, Holders};
use crate::system::mountinfo::MountEntry;
use crate::system::text::{count, layers};

/// List all mounts of bsafs, and the processes that use them
///
/// Prints the sources, age, number of requests and processes of each mount. For another user's mount,
/// only the entry in the mount table is printed. Only root sees the processes of other users. The command
/// waits at most a few seconds for a daemon that does not answer.
#[derive(Args, Debug)]
pub(crate) struct Mounts {
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

/// Lists the mounts for a command that needs one, and says how to name it.
pub(crate) fn list_instead(ui: &Ui, what: &str) -> Result<Exit, Failure> {
    Mounts { json: false }.run(ui)?;
    Err(Failure::new(Exit::Usage, what))
}

/// Writes with which profile and options the sources of a mount were opened.
pub(super) fn write_how(out: &mut impl Write, status: &MountStatus) -> std::io::Result<()> {
    if let Some(profile) = &status.profile {
        writeln!(out, "  profile    {}", profile.shown())?;
    }
    if !status.options.is_empty() {
        writeln!(out, "  options    {}", status.options.shown())?;
    }
    Ok(())
}

/// Time limit for finding the processes that use mounts.
const PROCESSES_TIME: Duration = Duration::from_secs(3);
/// Maximum number of processes printed per mount, without `--json`.
const SHOWN: usize = 8;

impl Mounts {
    pub(crate) fn run(&self, _: &Ui) -> Result<Exit, Failure> {
        check_mount_table()?;
        let mounts = mount_status::all();
        let mut out = stdout_for(self.json);
        if mounts.is_empty() {
            if !self.json {
                writeln!(out, "nothing is mounted")?;
                out.flush()?;
            }
            return Ok(Exit::Ok);
        }
        let holders = Holders::find(PROCESSES_TIME);
        for (mounted, answer) in &mounts {
            let shown = overlay::shown(mounted);
            if self.json {
                out.json(&JsonMount::new(mounted, &shown, answer, &holders))?
            } else {
                out.text(|out| write(out, mounted, &shown, answer, holders.of(&shown.device)))?
            }
        }
        if !self.json && !holders.is_complete {
            writeln!(out, "not all processes could be checked in time; more may use these mounts")?;
        }
        out.flush()?;
        Ok(Exit::Ok)
    }
}

#[derive(Debug, Serialize)]
struct JsonMount<'a> {
    /// Bytes that are not UTF-8 are replaced.
    mountpoint: String,
    /// `alive`, or why the status is unknown: `dead`, `hangs`, `refused`, `covered`, `failed`.
    state: &'static str,
    /// The user who made the mount.
    uid: Option<u32>,
    /// The user whose daemon says what follows, if it is neither root nor the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    claimed_by: Option<u32>,
    sources: Vec<&'a str>,
    /// The folder of the Mod Organizer 2 profile that was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<&'a str>,
    /// The options with which the sources were opened, as after `-o`; null if they are not known.
    options: Option<&'a str>,
    /// The folder that receives the changes of a writable mount.
    #[serde(skip_serializing_if = "Option::is_none")]
    edit: Option<String>,
    /// When the mount was made, in seconds since 1970.
    since: Option<u64>,
    /// The sources that are gone or cannot be opened now, one for each code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    odd: Vec<&'a NoteSummary>,
    files: Option<usize>,
    archives: Option<usize>,
    folders: Option<usize>,
    requests: Option<u64>,
    /// The daemon's process id.
    pid: Option<u32>,
    version: Option<&'a str>,
    processes: &'a [Holder],
    /// Number of processes that may use the mount, but could not be examined.
    unseen_processes: usize,
    /// Whether all other processes were examined in time.
    all_processes: bool,
}

impl<'a> JsonMount<'a> {
    fn new(mounted: &'a MountEntry, shown: &MountEntry, answer: &'a Answer, holders: &'a Holders) -> Self {
        let status = match answer {
            Answer::Status(status) => Some(&**status),
            _ => None,
        };
        Self {
            mountpoint: shown.mountpoint.to_string_lossy().into_owned(),
            state: state(answer),
            uid: mounted.owner.map(|(uid, _)| uid),
            claimed_by: mounted.claimant(),
            sources: sources(mounted, shown, answer),
            profile: status.and_then(|it| it.profile.as_deref()),
            options: status.map(|it| it.options.as_str()),
            edit: edit_mount::edit_folder(mounted).map(|edit| edit.to_string_lossy().into_owned()),
            since: status.map(since),
            odd: status.into_iter().flat_map(|status| &status.odd).collect(),
            files: status.map(|it| it.status.files),
            archives: status.map(|it| it.status.archives),
            folders: status.map(|it| it.status.folders),
            requests: status.map(MountStatus::requests),
            pid: status.map(|it| it.status.pid),
            version: status.map(|it| it.status.version.as_str()),
            processes: holders.of(&shown.device),
            unseen_processes: holders.unseen,
            all_processes: holders.is_complete,
        }
    }
}

fn state(answer: &Answer) -> &'static str {
    match answer {
        Answer::Status(status) if status.has_dead_overlay => "dead",
        Answer::Status(_) => "alive",
        Answer::Dead => "dead",
        Answer::Hangs => "hangs",
        Answer::Refused => "refused",
        Answer::Covered => "covered",
        Answer::Failed(_) => "failed",
    }
}

/// The sources that the daemon reports. Otherwise the source in the mount table, which is a path
/// only if there is a single source.
fn sources<'a>(mounted: &'a MountEntry, shown: &MountEntry, answer: &'a Answer) -> Vec<&'a str> {
    match answer {
        Answer::Status(status) if !status.sources.is_empty() => {
            status.sources.iter().map(|source| source.path.as_str()).collect()
        }
        _ if mounted.source == "bsafs" || shown != mounted => Vec::new(),
        _ => vec![&mounted.source],
    }
}

/// When the mount was made, in seconds since 1970. Computed from the uptime if the daemon does not
/// report the time.
fn since(status: &MountStatus) -> u64 {
    let now = unix_seconds(SystemTime::now());
    match status.status.since {
        0 => now.saturating_sub(status.status.uptime),
        since => since,
    }
}

fn write(
    out: &mut impl Write,
    mounted: &MountEntry,
    shown: &MountEntry,
    answer: &Answer,
    holders: &[Holder],
) -> std::io::Result<()> {
    let path = shown.mountpoint.to_string_lossy();
    writeln!(out, "{}", shown.mountpoint.shown())?;
    if let (Answer::Status(_), Some(user)) = (answer, mounted.claimant()) {
        writeln!(out, "  owner      user {user}, whose daemon says:")?;
    }
    let named = match answer {
        Answer::Status(status) => status.sources_text(),
        _ => None,
    };
    if let Some(sources) =
        named.or_else(|| sources(mounted, shown, answer).first().map(|it| it.shown().to_string()))
    {
        writeln!(out, "  sources    {sources}")?;
    }
    if let Answer::Status(status) = answer {
        write_how(out, status)?;
    }
    if let Some(edit) = edit_mount::edit_folder(mounted) {
        writeln!(out, "  edits      go to {}", edit.shown())?;
    }
    let path = quoted(&path);
    match answer {
        Answer::Status(status) => {
            let fs = &status.status;
            let held = format!("{} in {}", count(fs.files, "file"), layers(fs.archives, fs.folders));
            let requests = usize::try_from(status.requests()).unwrap_or(usize::MAX);
            let (uptime, requests) = (duration(fs.uptime), count(requests, "request"));
            writeln!(out, "  holds      {held}\n  mounted    for {uptime}, {requests}")?;
            for odd in &status.odd {
                writeln!(out, "  odd        {}", odd.to_string().shown())?;
            }
            if status.has_dead_overlay {
                writeln!(out, "  dead       {}", dead_overlay(&shown.mountpoint))?;
            }
        }
        Answer::Dead => writeln!(out, "  dead       the daemon has ended; run `bsafs umount {path}`")?,
        Answer::Hangs => {
            let limit = mount_status::ANSWER_TIME.as_secs();
            writeln!(
                out,
                "  hangs      the daemon does not answer within {limit} s; run `bsafs umount --lazy {path}`"
            )?;
        }
        Answer::Refused => {
            let user = mounted.user();
            writeln!(out, "  owner      user {user}; for more, run as that user or as root")?;
        }
        Answer::Covered => writeln!(out, "  covered    by another mount; unmount that one first")?,
        Answer::Failed(what) => writeln!(out, "  unknown    {}", what.trim_start_matches("bsafs: ").shown())?,
    }
    for holder in holders.iter().take(SHOWN) {
        writeln!(out, "  used by    {}", holder.text())?;
    }
    if holders.len() > SHOWN {
        writeln!(out, "             and {} more", processes(holders.len() - SHOWN))?;
    }
    Ok(())
}

fn processes(number: usize) -> String {
    format!("{number} process{}", if number == 1 { "" } else { "es" })
}
