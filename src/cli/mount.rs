//! `bsafs mount`: the program's main job.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::exit::{Exit, Failure};
use super::mountpoint::Mountpoint;
use super::open::{self, Layout, Opened, Opening, TextureForm};
use super::options::MountOptions;
use super::profile::Profile;
use super::{count, daemon, human, logging};
use crate::format::encoding::Encoding;
use crate::fs::{FileSystem, MountError, MountRequest, Presentation, Session, SessionError};

/// Mount archives as one read-only tree
///
/// Returns when the mount answers. Paths may be written in any case. Where two archives have a file, the rightmost
/// wins. `bsafs umount MOUNTPOINT`, SIGINT, SIGTERM or SIGHUP unmount; a second signal does so even while files are
/// open.
#[derive(Args, Debug)]
#[command(after_long_help = OPTIONS_HELP)]
pub(super) struct Mount {
    /// Archives, or profiles (*.toml) that name some; then the folder to mount on. Without it, a folder named after
    /// the last archive is made here, and removed by the unmount
    #[arg(required = true, value_name = "SOURCE... [MOUNTPOINT]")]
    paths: Vec<PathBuf>,
    /// Stay in the foreground
    #[arg(short, long)]
    foreground: bool,
    /// Mount options, as in fstab; `--help` lists them
    #[arg(short, value_name = "OPTION,...", allow_hyphen_values = true)]
    options: Vec<String>,
    #[command(flatten)]
    opening: Opening,
    /// Keep this much decoded data, e.g. 256M
    #[arg(long, value_name = "BYTES", default_value = "64M", value_parser = bytes)]
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

/// What `--help` says of `-o`.
const OPTIONS_HELP: &str = "\
Mount options (-o):
  allow_other              let other users in (users need user_allow_other in /etc/fuse.conf)
  uid=N, gid=N             whose the files are; by default, of the one who mounts
  umask=M, fmask=M, dmask=M  permissions to take away, in octal; fmask of files, dmask of folders
  xattr                    answer user.bsafs.archive, .codec, .hash, .hides, .packed_size, .stored_name;
                           and .tile_mode of textures that are arranged for a console's GPU;
                           off by default, because then every `ls -l` asks twice for each file
  nonempty                 mount over a folder that is not empty
  encoding=, layout=, textures=, names=, force, cache_size=   as the options of these names
  fsname=NAME              the source that `mount` and `df` show
  readahead=KIB            how far the kernel reads ahead; only root may say, and says 1024 unless told otherwise
  max_read=N, noexec, noatime, foreground
The options of mount(8) and fstab that every file system is given are accepted.";

impl Mount {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let plan = Plan::new(self)?;
        if daemon::is_copy() {
            daemon::detach();
        } else if !plan.foreground {
            return daemon::start();
        }
        let opened = open::open(&plan.archives, &plan.opening, plan.cache_size)?;
        let mountpoint = match &plan.mountpoint {
            Some(path) => Mountpoint::named(path, plan.options.nonempty)?,
            None => Mountpoint::after(plan.archives.last().map_or(Path::new("mnt"), PathBuf::as_path))?,
        };
        self.serve(&plan, opened, &mountpoint)
    }

    fn serve(&self, plan: &Plan, opened: Opened, mountpoint: &Mountpoint) -> Result<Exit, Failure> {
        let report = report(plan, &opened, mountpoint);
        let presentation = Presentation { owner: plan.options.owner(), xattrs: plan.options.xattr };
        let fs = Arc::new(FileSystem::new(opened.tree, opened.store, presentation));
        let request = plan.request(&mountpoint.path);
        let session = Session::start(fs, &request).map_err(|error| {
            let exit = match &error {
                SessionError::Mount(MountError::Device(error))
                    if error.kind() == std::io::ErrorKind::PermissionDenied =>
                {
                    Exit::NoPermission
                }
                SessionError::Mount(MountError::Device(_) | MountError::NoHelper(_)) => Exit::Unavailable,
                SessionError::Mount(MountError::Helper { .. }) => Exit::NoPermission,
                SessionError::Mount(MountError::Kernel(..)) => Exit::CannotCreate,
                SessionError::Io(_) => Exit::Io,
            };
            Failure::new(exit, error.to_string())
        })?;
        // From here on the mount is there, and goes with the session whatever fails.
        let told = match daemon::is_copy() {
            true => logging::leave_terminal(self.log_file.as_deref()).and_then(|()| daemon::report(&report)),
            false => {
                use std::io::Write;
                // Nobody need listen to a mount in the foreground.
                let _ = std::io::stdout().write_all(report.as_bytes());
                Ok(())
            }
        };
        if let Err(error) = told {
            let _ = crate::fs::unmount(&mountpoint.path, true);
            return Err(Failure::new(Exit::Io, format!("the mount was taken back: {error}")));
        }
        // Without systemd there is nobody to tell.
        let _ = sd_notify::notify(&[
            sd_notify::NotifyState::Ready,
            sd_notify::NotifyState::Status(report.trim_end()),
        ]);
        session.serve().map_err(|error| {
            Failure::new(Exit::Io, format!("the connection to the kernel broke: {error}"))
        })?;
        let _ = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
        Ok(Exit::Ok)
    }
}

/// A mount as command line, `-o` and profiles together ask for it.
#[derive(Debug)]
struct Plan {
    archives: Vec<PathBuf>,
    mountpoint: Option<PathBuf>,
    opening: Opening,
    options: MountOptions,
    cache_size: u64,
    foreground: bool,
}

impl Plan {
    fn new(mount: &Mount) -> Result<Self, Failure> {
        let (sources, mut mountpoint) = sources_and_mountpoint(&mount.paths);
        let mut archives = Vec::new();
        let mut options = MountOptions::default();
        for source in sources {
            if Profile::is_one(source) {
                let profile = Profile::read(source)?;
                archives.extend(profile.archives);
                mountpoint = mountpoint.or(profile.mountpoint);
                options.add(&profile.options, &profile.beside)?;
            } else {
                archives.push(source.clone());
            }
        }
        // The command line comes last and outranks profiles.
        mount.options.iter().try_for_each(|value| options.add(value, Path::new("")))?;
        let mut opening = mount.opening.clone();
        if let Some(label) = &options.encoding {
            opening.encoding = Encoding::from_label(label).ok_or_else(|| {
                Failure::new(Exit::Usage, format!("-o encoding={label}: no such code page"))
            })?;
        }
        if let Some(layout) = &options.layout {
            opening.layout = Layout::from_str(layout, true).map_err(|_| {
                Failure::new(Exit::Usage, format!("-o layout={layout}: union and per-archive are known"))
            })?;
        }
        if let Some(textures) = &options.textures {
            opening.textures = TextureForm::from_str(textures, true).map_err(|_| {
                Failure::new(Exit::Usage, format!("-o textures={textures}: default, dds and raw are known"))
            })?;
        }
        opening.names.extend(options.names.iter().cloned());
        opening.force |= options.force;
        let cache_size = match &options.cache_size {
            Some(text) => {
                bytes(text).map_err(|error| Failure::new(Exit::Usage, format!("-o cache_size: {error}")))?
            }
            None => mount.cache_size,
        };
        let foreground = mount.foreground || options.foreground;
        Ok(Self { archives, mountpoint, opening, options, cache_size, foreground })
    }

    fn request(&self, mountpoint: &Path) -> MountRequest {
        let source =
            self.archives.last().map_or_else(|| "bsafs".into(), |path| path.to_string_lossy().into_owned());
        MountRequest {
            mountpoint: mountpoint.to_owned(),
            fsname: self.options.fsname.clone().unwrap_or(source),
            allow_other: self.options.allow_other,
            kernel_options: self.options.kernel.clone(),
            noexec: self.options.noexec,
            noatime: self.options.noatime,
            read_ahead: self.options.read_ahead,
        }
    }
}

/// Which of the paths is the mountpoint: the last, if it is a folder, or is not there and does not look like an
/// archive that was misspelt.
fn sources_and_mountpoint(paths: &[PathBuf]) -> (&[PathBuf], Option<PathBuf>) {
    let Some((last, sources)) = paths.split_last().filter(|(_, sources)| !sources.is_empty()) else {
        return (paths, None);
    };
    let looks_like_source = last.extension().is_some_and(|extension| {
        ["bsa", "ba2", "toml"].iter().any(|known| extension.eq_ignore_ascii_case(known))
    });
    match std::fs::metadata(last) {
        Ok(metadata) if metadata.is_file() => (paths, None),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && looks_like_source => (paths, None),
        _ => (sources, Some(last.clone())),
    }
}

/// What was mounted, and how to undo it.
fn report(plan: &Plan, opened: &Opened, mountpoint: &Mountpoint) -> String {
    let place = mountpoint.path.display();
    let made = if mountpoint.is_ours() { " (a new folder, which goes with the mount)" } else { "" };
    let hidden = opened.tree.nodes().map(|node| opened.tree.hidden(node).len()).sum::<usize>();
    let hides = if hidden > 0 { format!(", {hidden} hidden by later archives") } else { String::new() };
    format!(
        "mounted {}, {}{hides} ({}), read-only at {place}{made}\nunmount: bsafs umount {}\n",
        count(plan.archives.len(), "archive"),
        count(opened.tree.files(), "file"),
        human(opened.store.archive_bytes()),
        quoted(&place.to_string()),
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

/// A number of bytes with an optional unit: K, M or G, of 1024.
fn bytes(text: &str) -> Result<u64, String> {
    let upper = text.to_ascii_uppercase();
    let digits = upper.trim_end_matches("IB").trim_end_matches('B');
    let (digits, shift) = match digits.char_indices().last() {
        Some((at, 'K')) => (&digits[..at], 10),
        Some((at, 'M')) => (&digits[..at], 20),
        Some((at, 'G')) => (&digits[..at], 30),
        _ => (digits, 0),
    };
    let number = digits.trim().parse::<u64>().ok();
    number
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or_else(|| format!("\"{text}\" is not a number of bytes, such as 64M"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_powers_of_1024() {
        assert_eq!(bytes("64M"), Ok(64 << 20));
        assert_eq!(bytes("1GiB"), Ok(1 << 30));
        assert_eq!(bytes("4096"), Ok(4096));
        assert!(bytes("many").is_err() && bytes("99999999999G").is_err());
    }

    #[test]
    fn a_path_with_spaces_can_be_pasted_into_a_shell() {
        assert_eq!(quoted("/mnt/a"), "/mnt/a");
        assert_eq!(quoted("/mnt/it's here"), r"'/mnt/it'\''s here'");
    }

    #[test]
    fn a_misspelt_archive_is_no_mountpoint() {
        let paths = [PathBuf::from("a.bsa"), "no-such.ba2".into()];
        assert_eq!(sources_and_mountpoint(&paths), (&paths[..], None));
        let paths = [PathBuf::from("a.bsa"), "no-such-folder".into()];
        assert_eq!(sources_and_mountpoint(&paths), (&paths[..1], Some("no-such-folder".into())));
    }
}
