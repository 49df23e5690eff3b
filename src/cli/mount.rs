//! `bsafs mount`: archives and folders as a mounted tree.

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

/// Mount archives and folders as one read-only tree
///
/// Returns when the mount answers. Paths may be written in any case. Where two sources have a file, the rightmost
/// wins. Archives that lie directly in a folder are below its loose files, in the order of their names. `bsafs umount MOUNTPOINT`, SIGINT, SIGTERM or SIGHUP unmount; a second signal does so even while files are
/// open.
#[derive(Args, Debug)]
pub(super) struct Mount {
    /// Archives, folders, or profiles (*.toml) that name some; then the folder to mount on. Without it, a folder named
    /// after the last source is made here, and removed by the unmount. Of several paths a folder at the end is always
    /// the one to mount on; a single folder is a source
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
        refuse_empty(&plan)?;
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
        let report = report(&opened, mountpoint);
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

/// A single empty folder is a mountpoint for which the source was forgotten.
fn refuse_empty(plan: &MountPlan) -> Result<(), Failure> {
    let ([source], None) = (&plan.archives[..], &plan.mountpoint) else { return Ok(()) };
    let is_empty = std::fs::read_dir(source).is_ok_and(|mut entries| entries.next().is_none());
    let why = "an empty folder; to mount on it, name archives or folders before it";
    match is_empty {
        true => Err(Failure::new(Exit::NoInput, format!("{}: {why}", source.display()))),
        false => Ok(()),
    }
}

/// What was mounted, and how to undo it.
fn report(opened: &OpenedArchives, mountpoint: &Mountpoint) -> String {
    let path = mountpoint.path.display();
    let made = if mountpoint.is_ours() { " (a new folder, which goes with the mount)" } else { "" };
    let hidden = opened.tree.nodes().map(|node| opened.tree.hidden(node).len()).sum::<usize>();
    let (archives, folders) = (opened.descriptions.len(), opened.folders());
    let later = if folders == 0 { "archives" } else { "layers" };
    let hides = if hidden > 0 { format!(", {hidden} hidden by later {later}") } else { String::new() };
    let sources = match (archives, folders) {
        (_, 0) => count(archives, "archive"),
        (0, _) => count(folders, "folder"),
        _ => format!("{} and {}", count(archives, "archive"), count(folders, "folder")),
    };
    // The sizes of loose files are not known yet.
    let bytes = match archives {
        0 => String::new(),
        _ => format!(
            " ({}{})",
            BinaryBytes(opened.store.archive_bytes()),
            if folders == 0 { "" } else { " in archives" }
        ),
    };
    format!(
        "mounted {sources}, {}{hides}{bytes}, read-only at {path}{made}\nunmount: bsafs umount {}\n",
        count(opened.tree.files(), "file"),
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
