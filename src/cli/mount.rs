//! `bsafs mount`: archives as a mounted tree.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use indicatif::BinaryBytes;
use sd_notify::NotifyState;

use super::daemon::Detachment;
use super::exit::{Exit, Failure};
use super::mount_options::{MountOptions, OptionList};
use super::mount_plan::MountPlan;
use super::mountpoint::Mountpoint;
use super::open::OpenedArchives;
use super::open_args::{OpenArgs, SALVAGE};
use super::output::count;
use super::{cache_size, daemon};
use crate::fs::{FileSystem, MountError, Session, SessionError};

/// Mount archives as one read-only tree
///
/// Returns when the mount answers. Paths may be written in any case. Where two archives have a file, the rightmost
/// wins. `bsafs umount MOUNTPOINT`, SIGINT, SIGTERM or SIGHUP unmount; a second signal does so even while files are
/// open.
#[derive(Args, Debug)]
pub(super) struct Mount {
    /// Archives, or profiles (*.toml) that name some; then the folder to mount on. Without it, a folder named after
    /// the last archive is made here, and removed by the unmount
    #[arg(required = true, value_name = "SOURCE... [MOUNTPOINT]")]
    paths: Vec<PathBuf>,
    /// Stay in the foreground
    #[arg(short, long)]
    foreground: bool,
    /// Mount options, as in fstab
    ///
    /// Several are separated by commas. What mount(8) and fstab give every file system is accepted too.
    #[arg(short, value_name = "OPTION,...", allow_hyphen_values = true, value_parser = OptionList)]
    options: Vec<String>,
    #[arg(long, help = SALVAGE)]
    salvage: bool,
    #[command(flatten)]
    open: OpenArgs,
    /// Decoded data that is cached between reads, e.g. 256M. Tables of names, what is being decoded, and for a second after
    /// their last read up to 256M of files that are read in part come on top
    #[arg(long, value_name = "BYTES", default_value = "64M", value_parser = cache_size::parse)]
    cache_size: u64,
    /// Write the log here once in the background; otherwise it goes to the system's log
    #[arg(long, value_name = "FILE")]
    log_file: Option<PathBuf>,
    /// File system type, which mount(8) passes on; nothing depends on it
    #[arg(short = 't', hide = true)]
    kind: Option<String>,
    /// Sloppy mount options, do not write mtab: what mount(8) may pass
    #[arg(short = 's', hide = true)]
    sloppy: bool,
    #[arg(short = 'n', hide = true)]
    no_mtab: bool,
}

impl Mount {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let flags = MountOptions::new(self.open.clone(), self.cache_size, self.foreground);
        let flags = MountOptions { salvage: self.salvage, ..flags };
        let plan = MountPlan::new(&self.paths, &self.options, flags)?;
        if !daemon::is_daemon() && !plan.options.foreground {
            return daemon::start();
        }
        let opened = OpenedArchives::open(&plan.archives, &plan.options.open, plan.options.cache_size)?
            .salvaging(plan.options.salvage);
        let mut mountpoint = match &plan.mountpoint {
            Some(path) => Mountpoint::named(path, plan.options.nonempty)?,
            None => Mountpoint::after(plan.archives.last().map_or(Path::new("mnt"), PathBuf::as_path))?,
        };
        self.serve(plan, opened, &mut mountpoint)
    }

    fn serve(
        &self,
        plan: MountPlan,
        opened: OpenedArchives,
        mountpoint: &mut Mountpoint,
    ) -> Result<Exit, Failure> {
        let report = report(plan.archives.len(), &opened, mountpoint);
        if let Some(file) = self.log_file.as_deref().filter(|file| mountpoint.will_hide(file)) {
            let why = "the mount would hide it; name a file outside";
            return Err(Failure::new(Exit::CannotCreate, format!("--log-file {}: {why}", file.display())));
        }
        let detachment = match daemon::is_daemon() {
            true => Some(Detachment::prepare(self.log_file.as_deref())?),
            false => None,
        };
        let MountOptions { presentation, mut request, .. } = plan.options;
        request.mountpoint.clone_from(&mountpoint.path);
        let fs = Arc::new(FileSystem::new(opened.tree, opened.store, presentation));
        let session = Session::start(fs, &request).map_err(|error| not_mounted(&error))?;
        mountpoint.unlock();
        let reported = if let Some(detachment) = detachment {
            detachment.report(&report)
        } else {
            // A mount in the foreground serves on when its standard output is closed.
            let _ = io::stdout().write_all(report.as_bytes());
            Ok(())
        };
        if let Err(error) = reported {
            session.take_back();
            return Err(Failure::new(Exit::Io, format!("the mount was taken back: {error}")));
        }
        // Fails without systemd, which is fine.
        let _ = sd_notify::notify(&[NotifyState::Ready, NotifyState::Status(report.trim_end())]);
        session.serve().map_err(|error| {
            Failure::new(Exit::Io, format!("the connection to the kernel broke: {error}"))
        })?;
        let _ = sd_notify::notify(&[NotifyState::Stopping]);
        Ok(Exit::Ok)
    }
}

fn not_mounted(error: &SessionError) -> Failure {
    let exit = match error {
        SessionError::Mount(MountError::Device(error)) if error.kind() == io::ErrorKind::PermissionDenied => {
            Exit::NoPermission
        }
        SessionError::Mount(MountError::Device(_) | MountError::NoHelper(_)) => Exit::Unavailable,
        SessionError::Mount(MountError::Helper { .. }) => Exit::NoPermission,
        SessionError::Mount(MountError::Kernel(..)) => Exit::CannotCreate,
        SessionError::Io(_) => Exit::Io,
    };
    Failure::new(exit, error.to_string())
}

/// What was mounted, and how to undo it.
fn report(archives: usize, opened: &OpenedArchives, mountpoint: &Mountpoint) -> String {
    let path = mountpoint.path.display();
    let made = if mountpoint.is_ours() { " (a new folder, which goes with the mount)" } else { "" };
    let hidden = opened.tree.nodes().map(|node| opened.tree.hidden(node).len()).sum::<usize>();
    let hides = if hidden > 0 { format!(", {hidden} hidden by later archives") } else { String::new() };
    format!(
        "mounted {}, {}{hides} ({}), read-only at {path}{made}\nunmount: bsafs umount {}\n",
        count(archives, "archive"),
        count(opened.tree.files(), "file"),
        BinaryBytes(opened.store.archive_bytes()),
        quoted(&path.to_string()),
    )
}

/// A path as a shell reads it back.
fn quoted(path: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "/._-+,:@%~".contains(character);
    if !path.is_empty() && path.chars().all(is_plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_spaces_can_be_pasted_into_a_shell() {
        assert_eq!(quoted("/mnt/a"), "/mnt/a");
        assert_eq!(quoted("/mnt/it's here"), r"'/mnt/it'\''s here'");
    }
}
