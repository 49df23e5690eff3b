//! `bsafs reload`: makes a mount read its sources again now.

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::Args;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::cli::exit::{Exit, Failure};
use crate::cli::terminal::output::stdout;
use crate::cli::terminal::report::how_to_update;
use crate::cli::terminal::unseen::Unseen;
use crate::cli::ui::Ui;
use crate::daemon::mountpoint::resolve_mountpoint;
use crate::daemon::overlay;
use crate::fs::NotLookedAt;
use crate::mounts::mount_status::{MountStatus, mount_at, status_of};
use crate::mounts::serving::is_served_by;
use crate::shown::Shown;
use crate::system::edit_mount;

/// Reload the sources of mounts now, and print what changed
///
/// Unless it was mounted with `-o static`, a mount also reloads automatically when a source changes. The exit
/// status is 1 if something in the sources could not be looked at.
#[derive(Args, Debug)]
pub(crate) struct Reload {
    /// Mountpoints of bsafs
    #[arg(required = true, value_name = "MOUNTPOINT")]
    mountpoints: Vec<PathBuf>,
}

/// Time between checks whether the reload is done.
const STEP: Duration = Duration::from_millis(20);
/// The answer comes late by at most this part of the time that the reload takes.
const ASKED_WITHIN: u32 = 10;
/// How long a reload may take.
const LONGEST: Duration = Duration::from_secs(120);

impl Reload {
    pub(crate) fn run(&self, ui: &Ui) -> Result<Exit, Failure> {
        let mut exit = Exit::Ok;
        let mut unseen = Unseen::default();
        for path in &self.mountpoints {
            let (status, claimant) = reload(path)?;
            let reload = status.status.last_reload;
            unseen.add(&status.not_looked_at.iter().map(NotLookedAt::note).collect::<Vec<_>>());
            let line = format!("{}: {}", path.shown(), reload.what.shown());
            let line = match claimant {
                Some(user) => format!("{line} (says the daemon of user {user})"),
                None => line,
            };
            if reload.is_failed {
                log::error!("{line}; the previous contents stay mounted");
                exit = Exit::Data;
            } else if !ui.is_quiet {
                writeln!(stdout(), "{line}")?;
            }
        }
        Ok(unseen.end(exit))
    }
}

/// Has a mount reloaded. Also returns the user whose daemon says how, if it is not to be believed.
fn reload(path: &Path) -> Result<(MountStatus, Option<u32>), Failure> {
    let mountpoint = resolve_mountpoint(path);
    let mounted = mount_at(path, &mountpoint)?;
    if overlay::beneath(&mountpoint).is_some() || edit_mount::is_lower(&mountpoint) {
        let status = status_of(path)?;
        let how =
            status.remount.map_or_else(|| "unmount it, and mount it again".into(), |it| how_to_update(&it));
        let what = format!("{}: a mount made with --edit cannot reload; {how}", path.shown());
        return Err(Failure::new(Exit::Usage, what));
    }
    let before = status_of(path)?.status;
    let cannot = |what: String| Failure::new(Exit::Io, format!("{}: {what}", path.shown()));
    let pid = i32::try_from(before.pid).ok().and_then(Pid::from_raw);
    let pid =
        pid.ok_or_else(|| cannot("the daemon reported no process ID; unmount and mount again".into()))?;
    let daemon = pidfd_open(pid, PidfdFlags::empty())
        .map_err(|errno| cannot(format!("cannot signal the daemon (process {}): {errno}", before.pid)))?;
    // SIGUSR1 would end any other process: one that a hostile daemon names, one with the same number in
    // another container, or a later one.
    if status_of(path)?.status.pid != before.pid || !is_served_by(&mounted, before.pid) {
        let advice = match mounted.claimant() {
            Some(user) => format!("run the command as user {user}"),
            None => "if the mount was made in a container, run the command there".to_owned(),
        };
        let what = "does not prove to be the daemon of this mount, so it gets no signal";
        return Err(cannot(format!("process {} {what}; {advice}", before.pid)));
    }
    pidfd_send_signal(&daemon, Signal::USR1)
        .map_err(|errno| cannot(format!("cannot signal the daemon (process {}): {errno}", before.pid)))?;
    let since = Instant::now();
    // A reload that is running may have read a file before it changed, so wait for the next one.
    let count = before.last_reload.count.saturating_add(1 + u64::from(before.last_reload.is_running));
    while since.elapsed() < LONGEST {
        let now = status_of(path)?;
        if now.status.last_reload.count >= count {
            return Ok((now, mounted.claimant()));
        }
        // Each status of many sources takes the daemon time. So a long reload is asked less often.
        sleep(STEP.max(since.elapsed() / ASKED_WITHIN));
    }
    Err(cannot("the daemon is still reading the sources; `bsafs status` prints when it has finished".into()))
}
