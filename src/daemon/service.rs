//! Assembles a mount from its parts, and serves it: the log, the file system, what follows the disk, the
//! overlay of a writable mount, and the connection to the kernel.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use sd_notify::NotifyState;

use super::detach::{self, Detachment};
use super::follow::{Follower, ReloadSignal};
use super::logging;
use super::mountpoint::Mountpoint;
use super::overlay::{self, Overlay};
use super::unsaved::{SAVING_TIME, Saved, check};
use crate::failure::{Exit, Failure};
use crate::fs::{FileSystem, MountedSources, Presentation};
use crate::fuse::{MountRequest, Session};
use crate::shown::Shown;
use crate::system::covered::cover;
use crate::system::holders::stopped_in_use;
use crate::system::mountinfo::MountEntry;
use crate::vfs::Vfs;
use crate::vfs::destination::edits_refusal;
use crate::vfs::opening::reopening::Reopening;

/// What a mount serves, and how.
#[derive(Debug)]
pub(crate) struct Service<'a> {
    pub(crate) vfs: Vfs,
    pub(crate) presentation: Presentation,
    /// The mount request without the mountpoint.
    pub(crate) request: MountRequest,
    /// Whether the daemon ignores changes on the disk.
    pub(crate) is_static: bool,
    /// The folder that receives files written to the mount.
    pub(crate) edit: Option<PathBuf>,
    /// The sources as reported to other processes.
    pub(crate) sources: MountedSources,
    /// How the sources are opened again.
    pub(crate) reopening: Reopening,
    /// When the sources began to be opened.
    pub(crate) began: SystemTime,
    /// What was mounted then.
    pub(crate) mounts: Vec<MountEntry>,
    pub(crate) log_file: Option<&'a Path>,
    /// What is reported when the mount is ready.
    pub(crate) report: &'a str,
}

impl Service<'_> {
    /// Mounts, and serves the mount until it ends. When it is ready, reports it to the process that waits
    /// for the daemon. If this process stays in the foreground, calls `print` instead.
    ///
    /// # Errors
    /// It could not be mounted, or the connection to the kernel is lost. Then nothing is mounted any more.
    pub(crate) fn serve(self, mountpoint: &mut Mountpoint, print: impl FnOnce(&str)) -> Result<(), Failure> {
        let Self { mut presentation, mut request, report, .. } = self;
        let (detachment, log) = if detach::is_daemon() {
            (Some(Detachment::prepare(self.log_file)?), None)
        } else {
            (None, Some(logging::open_for_foreground()?))
        };
        let overlay = self.edit.map(|upper| Overlay::prepare(&upper, &mountpoint.path)).transpose()?;
        if let Some(edit) = overlay.as_ref().map(Overlay::edit_folder)
            && let Some(refusal) = edits_refusal(edit, &self.vfs)
        {
            return Err(Failure::new(Exit::CannotCreate, format!("--edit {}: {refusal}", edit.shown())));
        }
        presentation.is_exact |= overlay.is_some();
        request.mountpoint.clone_from(&mountpoint.path);
        request.place = mountpoint.place().cloned();
        if let Some(folder) = mountpoint.place().and_then(|place| place.found()) {
            cover(&mountpoint.path, folder)
                .map_err(|error| Failure::io(Exit::CannotCreate, &mountpoint.path, &error))?;
        }
        if let Some(overlay) = &overlay {
            request.mountpoint = overlay.lower();
            // Only root can rename the folders above, or the user is not root.
            request.place = None;
            // `umount` finds the mount by this name if the daemon is dead.
            request.fsname = mountpoint.path.to_string_lossy().into_owned();
        }
        let signal = ReloadSignal::handle()?;
        let fs = FileSystem::new(self.vfs, presentation);
        let fs = Arc::new(fs.with_sources(self.sources));
        let follower = Follower::new(&fs, self.reopening, signal);
        let is_static = self.is_static || overlay.is_some();
        let follower = if is_static { follower.without_watching() } else { follower };
        let odd = follower.no_watches_reason().map(|reason| format!("odd: {reason}\n"));
        let report = &(report.to_owned() + &odd.unwrap_or_default());
        if overlay.is_some() {
            fs.record_watches((0, 0), HashSet::new(), String::new());
        }
        let session = start_session(fs, request, overlay.as_ref(), mountpoint)?;
        let reported = match detachment {
            Some(detachment) => detachment.report(report),
            None => {
                print(report);
                Ok(())
            }
        };
        log.into_iter().for_each(logging::set);
        if let Err(error) = reported {
            session.take_back();
            let reason = "because the command that started the daemon cannot be notified that it is ready";
            return Err(Failure::new(Exit::Io, format!("unmounted again, {reason}: {error}")));
        }
        // The layers of an overlay must not change, so the daemon does not follow the disk.
        if overlay.is_none()
            && let Err(error) = follower.start(self.began, self.mounts)
        {
            log::warn!(
                "changes on the disk are not followed: {error}; to see changes, unmount and mount again"
            );
        }
        // systemd sends SIGTERM and SIGHUP, and kills what has not ended within TimeoutStopSec.
        let is_of_systemd = std::env::var_os("NOTIFY_SOCKET").is_some();
        // Fails without systemd, which is fine.
        let _ = sd_notify::notify(&[NotifyState::Ready, NotifyState::Status(report.trim_end())]);
        let used = session
            .serve(is_of_systemd.then_some(PATIENCE))
            .map_err(|error| Failure::new(Exit::Io, format!("lost the connection to the kernel: {error}")))?;
        if let Some(device) = used {
            log::warn!("{}", stopped_in_use(&device));
        }
        let _ = sd_notify::notify(&[NotifyState::Stopping]);
        let edit = overlay.as_ref().map(Overlay::edit_folder);
        if let Some(edit) = edit {
            report_losses(None, edit);
        }
        if let Some(summary) = edit.and_then(overlay::summary) {
            log::info!(target: logging::NEWS, "{summary}");
        }
        Ok(())
    }
}

/// How long a service of systemd serves files that are open when it has been stopped. With the time for
/// finding the programs, it ends before TimeoutStopSec of `systemd/bsafs@.service`.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long it waits in a service of systemd, which is killed soon.
const SAVING_TIME_OF_SERVICE: Duration = Duration::from_secs(1);

/// Logs what is not complete in a folder of edits.
fn report_losses(overlay: Option<&Path>, edit: &Path) {
    let is_of_systemd = std::env::var_os("NOTIFY_SOCKET").is_some();
    match check(overlay, edit, None, if is_of_systemd { SAVING_TIME_OF_SERVICE } else { SAVING_TIME }) {
        // The disk still has what it writes later.
        Saved::Whole | Saved::Hangs(_) => {}
        Saved::Lost(what) => log::error!("{what}"),
        Saved::Unsure(what) => log::warn!("{what}"),
    }
}

/// Mounts, and mounts the overlay over that mount. If the overlay fails, unmounts again.
fn start_session(
    fs: Arc<FileSystem>,
    request: MountRequest,
    overlay: Option<&Overlay>,
    mountpoint: &mut Mountpoint,
) -> Result<Session, Failure> {
    let session = Session::start(fs, &request)?;
    if let Some(overlay) = overlay
        && let Err(error) = mount_over(overlay, &session, mountpoint, &request)
    {
        session.take_back();
        return Err(error);
    }
    mountpoint.release();
    Ok(session)
}

/// Mounts an overlay over the session's mount. The session then ends when the overlay ends.
fn mount_over(
    overlay: &Overlay,
    session: &Session,
    mountpoint: &Mountpoint,
    request: &MountRequest,
) -> Result<(), Failure> {
    let Some(place) = mountpoint.place() else { return Ok(()) };
    let upper = overlay.mount((&mountpoint.path, place), request)?;
    let (path, edit) = (mountpoint.path.clone(), overlay.edit_folder().to_owned());
    session.end_with(upper, move || report_losses(Some(&path), &edit)).map_err(|error| {
        Failure::new(Exit::Io, format!("cannot wait for the unmount of the overlay: {error}"))
    })
}
