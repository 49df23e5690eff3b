//! `bsafs umount`: ends mounts, named by mountpoint or source, and waits until their daemons have ended.

use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::Args;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::mount::mounted_source;
use super::mounts;
use crate::cli::desktop::message;
use crate::cli::exit::{Exit, Failure};
use crate::cli::surroundings::check_mount_table;
use crate::cli::terminal::logger;
use crate::cli::terminal::output::stdout;
use crate::cli::ui::Ui;
use crate::daemon::mountpoint::resolve_mountpoint;
use crate::daemon::mounts_folder::{LastMount, MadeFolder};
use crate::daemon::overlay;
use crate::daemon::unsaved::{self, SAVING_TIME, Saved};
use crate::fuse::{Hindrance, MountError, unmount};
use crate::mounts::mount_status::{self, Answer};
use crate::mounts::serving;
use crate::shown::Shown;
use crate::system::edit_mount::LOWER;
use crate::system::holders::{Holder, Holders, Use, users_of};
use crate::system::mountinfo::{self, MountEntry};
use crate::system::place::Place;
use crate::system::process::is_in_user_namespace;
use crate::system::walk::is_redirected;
use crate::system::{edit_mount, paths};
use crate::vfs::sources::profile::{Profile, is_game};

/// Unmount, and remove the mountpoint if `bsafs mount` created it
#[derive(Args, Debug)]
pub(crate) struct Umount {
    /// Mountpoints; or sources, if mounted only once: archives, folders, games or profiles. In another
    /// folder, the name alone is enough
    #[arg(value_name = "MOUNTPOINT")]
    mountpoints: Vec<PathBuf>,
    /// Unmount even while files are open; open files stay readable
    #[arg(short = 'z', long)]
    lazy: bool,
    /// Unmount all mounts of this user, or of all users if run by root; mounts in use stay mounted
    #[arg(short, long, conflicts_with = "mountpoints")]
    all: bool,
    /// With --all: only mounts below this folder, e.g. ~/bsafs-mounts
    #[arg(long, value_name = "FOLDER", requires = "all")]
    below: Option<PathBuf>,
    /// Show errors on the desktop if no terminal is connected (for file manager menus)
    #[arg(long)]
    notify: bool,
    /// Find what a writable mount has lost. Other commands, which have a time limit, run this
    #[arg(long, hide = true, num_args = 2, value_names = ["OVERLAY", "FOLDER"])]
    losses: Vec<PathBuf>,
}

/// How long to wait for a daemon to end. Daemons of other users are waited for as long all together.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How long to wait for a daemon that has not answered in time before.
const HANGING_TIMEOUT: Duration = Duration::from_secs(1);
/// Time limit for finding the processes that use a mount.
const PROCESSES_TIME: Duration = Duration::from_secs(2);
/// How long a mount may be busy before that is an error.
const BUSY_TIME: Duration = Duration::from_millis(300);

impl Umount {
    pub(crate) fn run(&self, ui: &Ui) -> Result<Exit, Failure> {
        if let [overlay, edit] = &self.losses[..] {
            let (exit, found) = unsaved::search(overlay, edit);
            let mut out = stdout();
            writeln!(out, "{found}").and_then(|()| out.flush())?;
            return Ok(exit);
        }
        if self.all {
            check_mount_table()?;
            return self.end_all(ui.is_quiet);
        }
        if self.mountpoints.is_empty() {
            return mounts::list_instead(ui, "name what to unmount: bsafs umount MOUNTPOINT");
        }
        let (mut outcome, mut waited) = (Ok(Exit::Ok), Duration::ZERO);
        for path in &self.mountpoints {
            let ended = find(path)
                .and_then(|(mounted, answer)| self.end(path, &mounted, &answer, &mut waited, ui.is_quiet));
            if let Err(failure) = ended {
                self.notify(&failure);
                // The caller prints the last failure. Log the earlier ones here.
                if let Err(earlier) = std::mem::replace(&mut outcome, Err(failure)) {
                    logger::print_error(&earlier.what);
                }
            }
        }
        outcome
    }

    fn notify(&self, failure: &Failure) {
        if self.notify {
            message::show_without_terminal(&failure.what);
        }
    }

    /// Ends all mounts that the user may end, the newest first.
    fn end_all(&self, is_quiet: bool) -> Result<Exit, Failure> {
        let below = self.below.as_deref().map(resolve_mountpoint);
        let (mut exit, mut waited) = (Exit::Ok, Duration::ZERO);
        for (mounted, answer) in mount_status::all().into_iter().rev() {
            let shown = overlay::shown(&mounted);
            let path = &shown.mountpoint;
            if below.as_ref().is_some_and(|below| !path.starts_with(below)) {
                continue;
            }
            if !may_unmount(&mounted) {
                log::info!("{}: stays mounted, because it belongs to another user", path.shown());
                continue;
            }
            if let Err(failure) = self.end(path, &mounted, &answer, &mut waited, is_quiet) {
                logger::print_error(&failure.what);
                self.notify(&failure);
                exit = failure.exit;
            }
        }
        Ok(exit)
    }

    /// Ends a mount, and waits until its daemon has ended. `path` is the user's name for the mount. `waited`
    /// is how long the command has waited for daemons of other users, who may have hundreds that do not end.
    fn end(
        &self,
        path: &Path,
        mounted: &MountEntry,
        answer: &Answer,
        waited: &mut Duration,
        is_quiet: bool,
    ) -> Result<(), Failure> {
        check_ours(path, &mounted.mountpoint)?;
        if !may_unmount(mounted) {
            if is_in_user_namespace() {
                let error = MountError::Hindered(path.to_owned(), Hindrance::UserNamespace);
                return Err(Failure::new(Exit::NoPermission, format!("cannot unmount {error}")));
            }
            let (path, user) = (path.shown(), mounted.user());
            let what = format!("{path}: the mount belongs to user {user}; run as that user or as root");
            return Err(Failure::new(Exit::NoPermission, what));
        }
        let (is_claimed, began) = (mounted.claimant().is_some(), Instant::now());
        let left = TIMEOUT.saturating_sub(*waited);
        let overlay = edit_mount::overlay_of(mounted);
        // Found before the mount ends, because then the kernel may give its number to another mount.
        let hanging = matches!(answer, Answer::Hangs).then(|| serving::process_of(mounted));
        let daemon = match answer {
            // Another user's daemon could name any process.
            Answer::Status(status) if mounted.is_trusted() => Some(status.status.pid),
            Answer::Status(_) if !left.is_zero() => serving::process_of(mounted),
            Answer::Status(_) => None,
            _ => hanging.flatten(),
        };
        let process = daemon.and_then(Process::open);
        let edit = edit_mount::edit_folder(mounted);
        let checked = overlay.as_ref().zip(edit).filter(|_| !self.lazy && !matches!(answer, Answer::Hangs));
        // Another user may have hundreds of disks that hang.
        let limit = if is_claimed { left } else { SAVING_TIME };
        let check = |path: &Path, edit: &Path| unsaved::check(Some(path), edit, mounted.owner, limit);
        let saved = checked.map(|(it, edit)| check(&it.mountpoint, &edit));
        // The daemon ends its own mount when the overlay is gone.
        let ended = overlay.as_ref().unwrap_or(mounted);
        let named = |what: &str| format!("{}: {what}", ended.mountpoint.shown());
        let (losses, hangs) = match &saved {
            Some(Saved::Lost(what)) => (Some(Failure::new(Exit::Io, named(what))), false),
            // What waits for the disk keeps the mount busy.
            Some(Saved::Hangs(what)) => (Some(Failure::new(Exit::Io, named(what))), true),
            Some(Saved::Unsure(what)) => {
                log::warn!("{}", named(what));
                (None, false)
            }
            Some(Saved::Whole) | None => (None, false),
        };
        unmount_free(ended, self.lazy || hangs).map_err(|error| {
            if let Some(losses) = &losses {
                logger::print_error(&losses.what);
            }
            let advice = if self.lazy { String::new() } else { advice(ended, &error) };
            let exit = match error {
                MountError::Hindered(..) => Exit::NoPermission,
                _ => Exit::CannotCreate,
            };
            Failure::new(exit, format!("cannot unmount {error}{advice}"))
        })?;
        if matches!(answer, Answer::Status(_)) {
            let limit = if is_claimed { left } else { TIMEOUT };
            let wait = |pid| self.wait_for_daemon(&ended.mountpoint, mounted, pid, process.as_ref(), limit);
            let done = daemon.map_or(Ok(()), wait);
            *waited += if is_claimed { began.elapsed() } else { Duration::ZERO };
            done?;
            if !hangs {
                self.report_edits(mounted, is_quiet);
            }
            return losses.map_or(Ok(()), Err);
        }
        // There is no daemon that could end the mount beneath the overlay.
        take_back(mounted)?;
        if matches!(answer, Answer::Dead) && is_own(mounted) {
            remove_left(&overlay::mountpoint(mounted));
        }
        hanging.map_or(Ok(()), |daemon| self.report_hanging(path, daemon, process.as_ref()))?;
        if !hangs {
            self.report_edits(mounted, is_quiet);
        }
        losses.map_or(Ok(()), Err)
    }

    /// Prints what is in the folder of a writable mount of the caller that has ended, and what could not be
    /// removed beside it.
    fn report_edits(&self, mounted: &MountEntry, is_quiet: bool) {
        // A mount that was detached lives on while files are open, and its disk may hang.
        if self.lazy || !is_own(mounted) {
            return;
        }
        let made = edit_mount::made_folder(mounted);
        if let Some(made) =
            made.filter(|made| mountinfo::mounted_at(&made.join(LOWER)).is_none() && made.exists())
        {
            log::warn!("{}: left by the writable mount, and can be removed", made.shown());
        }
        let edit = edit_mount::edit_folder(mounted).filter(|_| !is_quiet);
        if let Some(summary) = edit.and_then(|edit| overlay::summary(&edit)) {
            let mut out = stdout();
            // The mount has ended even if standard output is closed.
            let _ = writeln!(out, "{summary}").and_then(|()| out.flush());
        }
    }

    /// Reports that the daemon of an ended mount still runs, because it hangs. A lazy unmount never
    /// waits for the daemon, so there it is only a warning.
    fn report_hanging(
        &self,
        path: &Path,
        daemon: Option<u32>,
        process: Option<&Process>,
    ) -> Result<(), Failure> {
        let has_ended = || process.is_none_or(|process| process.wait(HANGING_TIMEOUT));
        if !self.lazy && daemon.is_some() && has_ended() {
            return Ok(());
        }
        let path = path.shown();
        let what = match daemon {
            Some(daemon) => format!(
                "{path}: unmounted, but the daemon (process {daemon}) hangs and still runs; if it was \
                 stopped, `kill -CONT {daemon}` lets it end; otherwise run `kill -KILL {daemon}`"
            ),
            None => format!(
                "{path}: unmounted, but the daemon did not answer and may still run; \
                 `pgrep -fa 'bsafs mount'` lists the daemons"
            ),
        };
        if self.lazy {
            log::warn!("{what}");
            return Ok(());
        }
        Err(Failure::new(Exit::CannotCreate, what))
    }

    /// Waits until the daemon of an ended mount has ended, for at most `limit`.
    fn wait_for_daemon(
        &self,
        path: &Path,
        mounted: &MountEntry,
        daemon: u32,
        process: Option<&Process>,
        limit: Duration,
    ) -> Result<(), Failure> {
        // If a daemon has several mounts, only the end of the last one ends it.
        let remains = self.all && mountinfo::mounts().iter().any(|it| it.device == mounted.device);
        let has_ended = || process.is_none_or(|process| process.wait(limit));
        if !self.lazy && !remains && !has_ended() {
            let what = format!(
                "{}: unmounted, but the daemon (process {daemon}) still runs, because a container \
                 (mount namespace) or a bind mount still has the mount; unmount it there too",
                path.shown()
            );
            return Err(Failure::new(Exit::CannotCreate, what));
        }
        Ok(())
    }
}

/// Whether a mount is the caller's. Any user can mount in a place that looks like one beside a folder of
/// edits, so root reads no folder beside another user's mount.
fn is_own(mounted: &MountEntry) -> bool {
    mounted.user() == rustix::process::geteuid().as_raw()
}

/// Unmounts the mount beneath an overlay that is gone. Its folder may be on a disk that hangs, which is not
/// waited for.
fn take_back(mounted: &MountEntry) -> Result<(), Failure> {
    let (sender, done) = sync_channel(1);
    let beneath = mounted.clone();
    let job = move || _ = sender.send(overlay::take_back(&beneath));
    // Left behind if the disk hangs.
    let started = std::thread::Builder::new().name("take_back".into()).spawn(job);
    match started.map(|_| done.recv_timeout(TIMEOUT)) {
        Ok(Ok(done)) => {
            done.map_err(|error| Failure::new(Exit::CannotCreate, format!("cannot unmount {error}")))
        }
        Ok(Err(_)) | Err(_) => {
            let what = "unmounted, but the mount beneath it is on a disk that does not answer; run the \
                        command again when it does";
            Err(Failure::new(Exit::Io, format!("{}: {what}", overlay::mountpoint(mounted).shown())))
        }
    }
}

/// Unmounts, and retries for a moment while the mount is busy. Processes that ask the daemon for
/// its status keep a mount busy, as do file managers that read a folder.
fn unmount_free(mounted: &MountEntry, lazily: bool) -> Result<(), MountError> {
    let began = Instant::now();
    loop {
        match unmount(mounted, lazily) {
            Err(MountError::Kernel(_, error))
                if error.kind() == ErrorKind::ResourceBusy && began.elapsed() < BUSY_TIME =>
            {
                sleep(Duration::from_millis(20));
            }
            done => return done,
        }
    }
}

/// Advice on a mount that is busy, with the processes that use it.
fn advice(mounted: &MountEntry, error: &MountError) -> String {
    let is_busy = matches!(error, MountError::Kernel(_, error) if error.kind() == ErrorKind::ResourceBusy);
    if !is_busy {
        return String::new();
    }
    let holders = Holders::find(PROCESSES_TIME);
    let holders = holders.of(&mounted.device);
    let Some(users) = users_of(holders) else {
        return "; if a program uses it, close that program or add --lazy".into();
    };
    // A shell whose current folder is in the mount need not be closed.
    let is_inside = |holder: &&Holder| holder.uses.keys().all(|how| *how == Use::CurrentFolder);
    let what_to_do = match holders.iter().filter(is_inside).count() {
        0 => "close these programs",
        inside if inside == holders.len() => "change to a folder outside of the mount (`cd`)",
        _ => "close these programs, or change to a folder outside of the mount (`cd`)",
    };
    format!("; in use by {users}; {what_to_do}, or add --lazy")
}

/// Removes the folders that a killed daemon made and could not remove.
fn remove_left(mountpoint: &Path) {
    let around = mountpoint.parent().map(|around| LastMount { around: around.to_owned() });
    // Remove the mountpoint before the folder that contains it.
    drop(MadeFolder::left_behind(mountpoint));
    drop(around);
}

/// Finds the mount on a path, or else the only mount of the source at that path. Returns it with
/// its daemon's answer.
fn find(path: &Path) -> Result<(MountEntry, Answer), Failure> {
    let place = Place::open(path);
    if let Err(error) = &place
        && is_redirected(error)
    {
        return Err(Failure::new(Exit::NoPermission, format!("{}: {error}", path.shown())));
    }
    let mounted = place.and_then(|place| place.mounted()).ok().flatten();
    let mountpoint = mounted.as_ref().map_or_else(|| resolve_mountpoint(path), |it| it.mountpoint.clone());
    // A folder may have the name of a game: `bsafs mount skyrim` makes one.
    let is_there = mounted.as_ref().is_some_and(|it| it.is_bsafs() || !is_game(path));
    let found = match mounted.filter(|_| is_there) {
        Some(mounted) if mounted.is_bsafs() => Some(mounted),
        Some(_) => overlay::beneath(&mountpoint),
        None => overlay::leftover_of(&mountpoint),
    };
    if let Some(mounted) = found {
        let answer = mount_status::ask(&mounted);
        return Ok((mounted, answer));
    }
    if is_there {
        check_ours(path, &mountpoint)?;
    }
    let saved = Profile::saved(path);
    let path = saved.as_deref().unwrap_or(path);
    let source = mounted_source(path);
    let absolute = paths::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mounts = mount_status::all();
    let is_of_source = |(mounted, answer): &(MountEntry, Answer)| match answer {
        // What another user's daemon names does not count, but the mount table does.
        Answer::Status(status) if mounted.is_trusted() => {
            may_unmount(mounted) && status.sources.iter().any(|it| it.is_same(&source))
        }
        Answer::Status(_) => may_unmount(mounted) && Path::new(&mounted.source) == absolute,
        _ => false,
    };
    let is_silent =
        mounts.iter().any(|(mounted, answer)| may_unmount(mounted) && matches!(answer, Answer::Hangs));
    let is_exact = mounts.iter().any(is_of_source);
    let is_found = |it: &(MountEntry, Answer)| if is_exact { is_of_source(it) } else { is_named(path, it) };
    let mut found: Vec<(MountEntry, Answer)> = mounts.into_iter().filter(is_found).collect();
    // So that no other user can catch the name of one's own mount.
    if found.iter().any(|(mounted, _)| mounted.is_trusted()) {
        found.retain(|(mounted, _)| mounted.is_trusted());
    }
    match (found.pop(), found.is_empty()) {
        (Some(found), true) => Ok(found),
        (Some(last), false) => Err(several(path, found.iter().chain([&last]))),
        (None, _) => Err(none(path, is_silent)),
    }
}

/// Whether the last name of a mountpoint or of its sources is this name. A path names no mount in another
/// folder, and neither does a name that exists in the current folder.
fn is_named(name: &Path, (mounted, answer): &(MountEntry, Answer)) -> bool {
    let Answer::Status(status) = answer else { return false };
    let is_name = |path: &Path| path.file_name() == Some(name.as_os_str());
    may_unmount(mounted)
        && is_name(name)
        && !name.exists()
        && (is_name(&overlay::shown(mounted).mountpoint)
            || mounted.is_trusted() && status.sources.iter().any(|it| is_name(Path::new(&it.path))))
}

fn several<'a>(path: &Path, found: impl Iterator<Item = &'a (MountEntry, Answer)>) -> Failure {
    let mountpoints: Vec<String> =
        found.map(|(mounted, _)| format!("\n  {}", overlay::shown(mounted).mountpoint.shown())).collect();
    let (path, mountpoints) = (path.shown(), mountpoints.concat());
    let what = format!("{path}: mounted more than once; give one of these mountpoints:{mountpoints}");
    Failure::new(Exit::Usage, what)
}

fn none(path: &Path, is_silent: bool) -> Failure {
    let (name, is_source) = (path.shown(), is_game(path) || path.exists());
    let what = match (is_source, is_silent) {
        (false, _) => format!("{name}: nothing is mounted there"),
        (true, false) => format!("{name}: not the source of a mount; `bsafs mounts` lists all mounts"),
        (true, true) => {
            format!(
                "{name}: no mount of this source was found, but some daemons do not answer; `bsafs mounts` \
                 lists all mounts"
            )
        }
    };
    Failure::new(Exit::NoInput, what)
}

/// Whether the user that runs this command may end a mount.
fn may_unmount(mounted: &MountEntry) -> bool {
    let user = rustix::process::geteuid();
    user.is_root() || mounted.owner.is_some_and(|(owner, _)| owner == user.as_raw())
}

/// Refuses mounts of other file systems, which root could unmount by mistake.
fn check_ours(path: &Path, mountpoint: &Path) -> Result<(), Failure> {
    let path = path.shown();
    match mountinfo::mounted_at(mountpoint) {
        None => Err(Failure::new(Exit::NoInput, format!("{path}: nothing is mounted there"))),
        Some(mounted) if !mounted.is_bsafs() => Err(Failure::new(
            Exit::CannotCreate,
            format!("{path}: not a bsafs mount ({}); use `umount` instead", mounted.kind),
        )),
        Some(_) => Ok(()),
    }
}

/// A process that this command waits for. It is opened before its mount ends, because another process may get
/// its number later.
#[derive(Debug)]
struct Process(OwnedFd);

impl Process {
    /// `None` if there is no such process.
    fn open(pid: u32) -> Option<Self> {
        let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
        pidfd_open(pid, PidfdFlags::empty()).ok().map(Self)
    }

    /// Waits until all threads of the process have ended, so that it has no files and folders open. Returns
    /// `false` if it has not ended within `limit`. A zombie has ended: in containers, the parent that adopts
    /// a daemon may reap it late or never.
    fn wait(&self, limit: Duration) -> bool {
        let start = Instant::now();
        loop {
            let left = limit.saturating_sub(start.elapsed());
            let time = Timespec::try_from(left).unwrap_or_default();
            let mut events = [PollFd::new(&self.0, PollFlags::IN)];
            match poll(&mut events, Some(&time)) {
                Ok(0) => return false,
                Ok(_) => return true,
                Err(Errno::INTR) => {}
                Err(errno) => {
                    log::debug!("cannot wait for the daemon: {errno}");
                    return false;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zombie_does_not_count_as_running() {
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("cannot start cat");
        let process = Process::open(child.id()).expect("cannot open cat");
        assert!(!process.wait(Duration::ZERO));
        drop(child.stdin.take());
        assert!(process.wait(Duration::from_secs(60)));
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id()));
        assert!(stat.expect("cannot read the stat file of the zombie").contains(") Z "));
        assert!(Process::open(child.id()).is_none_or(|zombie| zombie.wait(Duration::ZERO)));
        child.wait().expect("cannot wait for cat");
        assert!(Process::open(child.id()).is_none());
    }
}
