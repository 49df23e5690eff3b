//! `bsafs mount`: mounts archives and folders as one tree.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;

use super::games::Games;
use crate::cli::exit::{Exit, Failure};
use crate::cli::options::mount_options::OptionList;
use crate::cli::options::mount_plan::MountPlan;
use crate::cli::options::open_args::{self, LayoutArg, OpenArgs, SALVAGE};
use crate::cli::options::option_table::{Flags, MountOptions};
use crate::cli::options::saved_profile;
use crate::cli::terminal::output::{escaped, stdout};
use crate::cli::terminal::report::report;
use crate::cli::terminal::unseen::Unseen;
use crate::cli::ui::Ui;
use crate::daemon::error::DaemonError;
use crate::daemon::mountpoint::Mountpoint;
use crate::daemon::service::{self, Service};
use crate::daemon::{detach, logging};
use crate::fuse::PassedMount;
use crate::mounts::mount_status::{Answering, StatusErrorKind};
use crate::shown::Shown;
use crate::system::mountinfo::mounts;
use crate::vfs::reopening::Reopening;
use crate::vfs::sources::profile::Profile;
use crate::vfs::{OpenOptions, Vfs};

/// The option that names the mountpoint of a daemon.
const MOUNTPOINT: &str = "mountpoint";
const EXAMPLES: &str = "\
Examples:
  bsafs mount skyrimse ~/mnt                          a game; `bsafs games` lists those installed
  bsafs mount Base.bsa MyMod.bsa ~/mnt                two archives as one tree; MyMod.bsa wins
  bsafs mount Data ~/mods/SkyUI ~/mnt                 folders; SkyUI wins
  bsafs mount --mo2-profile Default ~/MO2 ~/mnt       an instance of Mod Organizer 2
  bsafs mount --edit MyMod skyrimse ~/mnt             writable: changes go to the folder MyMod
  bsafs mount --textures=rgba Textures.ba2            textures that all image editors open
  bsafs mount --save-profile evening skyrimse ~/mnt   then: bsafs mount evening";

/// Examples come first, because they answer most questions.
const TEMPLATE: &str = "{about-with-newline}\n{usage-heading} {usage}{after-help}\n\n{all-args}";

/// Mount archives, folders and games as one read-only tree
///
/// Returns when the mount is ready. Paths in the mount may be written in any case. If several
/// sources have a file, the rightmost source wins. Archives directly in a folder are layers below
/// its loose files, in order of name.
///
/// What could not be opened or read is named, also with --quiet, and the rest is mounted with exit status 0.
///
/// To unmount, run `bsafs umount MOUNTPOINT`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, help_template = TEMPLATE)]
#[command(override_usage = "bsafs mount [OPTIONS] SOURCE... [MOUNTPOINT]")]
pub(crate) struct Mount {
    /// Sources, and then the folder to mount on
    ///
    /// `bsafs help sources` says what a source is, and has the options for sources. The last of several
    /// paths is the mountpoint, unless it is an archive or another file; a single path is a source. Without
    /// a mountpoint, a new folder named after the last source is made in the current folder, and removed on
    /// unmount.
    #[arg(value_name = "SOURCE... [MOUNTPOINT]")]
    paths: Vec<PathBuf>,
    /// Stay in the foreground
    #[arg(short, long)]
    foreground: bool,
    /// Mount options, as in fstab (`bsafs help profiles`)
    ///
    /// Several options are separated by commas. The long options are accepted here too, with `_` for `-`:
    /// `edit=`, `encoding=` and so on; likewise the options that mount(8) accepts for every file system.
    #[arg(short, value_name = "OPTION,...", allow_hyphen_values = true, value_parser = OptionList)]
    options: Vec<String>,
    #[arg(long, help = SALVAGE)]
    salvage: bool,
    /// Make the mount writable: all changes go to this folder, for example a mod's folder
    ///
    /// If the folder does not exist, it is made. `bsafs help writing` has more.
    #[arg(long, value_name = "FOLDER")]
    edit: Option<PathBuf>,
    #[command(flatten)]
    layout: LayoutArg,
    #[command(flatten)]
    open: OpenArgs,
    /// Maximum size of the cache of decoded data, e.g. 256M [default: 64M]
    #[arg(long, value_name = "BYTES", value_parser = open_args::parse)]
    cache_size: Option<u64>,
    /// Write the daemon's log to this file instead of the system log
    #[arg(long, value_name = "FILE")]
    log_file: Option<PathBuf>,
    /// Save the sources and options as a profile instead of mounting
    ///
    /// Writes $XDG_CONFIG_HOME/bsafs/NAME.toml. `bsafs mount` and the systemd unit `bsafs@NAME` mount it.
    #[arg(long, value_name = "NAME", conflicts_with = "log_file")]
    save_profile: Option<String>,
    /// File system type that mount(8) passes; ignored
    #[arg(short = 't', hide = true)]
    kind: Option<String>,
    /// Flags that mount(8) may pass (sloppy options, do not write mtab); ignored
    #[arg(short = 's', hide = true)]
    sloppy: bool,
    #[arg(short = 'n', hide = true)]
    no_mtab: bool,
    /// The mountpoint of a daemon whose other arguments do not name it, so that `ps` shows it
    #[arg(long = MOUNTPOINT, value_name = "FOLDER", hide = true)]
    mountpoint: Option<PathBuf>,
}

impl Mount {
    pub(crate) fn run(&self, ui: &Ui) -> Result<Exit, Failure> {
        let flags = Flags {
            open: OpenOptions {
                layout: self.layout.layout,
                salvage: self.salvage,
                cache_size: self.cache_size,
                ..self.open.options()
            },
            foreground: self.foreground,
            edit: self.edit.clone(),
        };
        if self.paths.is_empty() {
            return list_sources(ui);
        }
        refuse_hanging(&self.paths)?;
        let mut plan = MountPlan::new(&self.paths, &self.options, &flags)?;
        let reopening = Reopening::new(&plan.sources, &plan.given);
        if let Some(name) = &self.save_profile {
            return Self::save_profile(name, &plan, ui.is_quiet);
        }
        let options = &mut plan.options;
        // Make the path absolute, because the daemon leaves the current folder.
        if let Some(upper) = &mut options.edit {
            *upper = std::path::absolute(&*upper).unwrap_or_else(|_| upper.clone());
        }
        options.request.passed =
            detach::passed_mount().or_else(|| PassedMount::at(plan.mountpoint.as_deref()?));
        if let Some(passed) = &options.request.passed {
            let cannot = |what| Failure::new(Exit::CannotCreate, what);
            passed.check().map_err(cannot)?;
            passed.check_owner().map_err(cannot)?;
            // A mount that this program made has all restrictions.
            if detach::passed_mount().is_none() {
                passed.check_restrictions().map_err(|what| unmount_passed(passed, cannot(what)))?;
            }
        }
        if !detach::is_daemon() {
            match (options.foreground, options.privileges.are_fewer() && options.request.passed.is_none()) {
                (_, true) if options.edit.is_some() => {
                    let what = "--edit: cannot be combined with -o setuid or drop_privileges";
                    return Err(Failure::new(Exit::Usage, what));
                }
                (true, true) => {
                    let what = "setuid and drop_privileges: cannot be combined with --foreground";
                    return Err(Failure::new(Exit::Usage, format!("-o {what}")));
                }
                (true, false) => {}
                (false, true) => return self.mount_with_fewer_privileges(plan, ui.is_quiet),
                (false, false) => {
                    let report = match &plan.options.request.passed {
                        Some(passed) => start_on_passed(passed, plan.mountpoint.as_deref())?,
                        None => detach::start(&Self::unnamed_mountpoint(&plan))?,
                    };
                    warn_under_sudo(&plan.options);
                    return Ok(print_report(&report, ui.is_quiet));
                }
            }
        }
        let passed = plan.options.request.passed.clone();
        let served = self.open_and_serve(plan, reopening, ui.is_quiet);
        // If the foreground process made the mount, that process also unmounts it.
        match passed.filter(|_| served.is_err() && !detach::is_mounted_by_parent()) {
            None => served,
            Some(passed) => served.map_err(|failure| unmount_passed(&passed, failure)),
        }
    }

    fn save_profile(name: &str, plan: &MountPlan, is_quiet: bool) -> Result<Exit, Failure> {
        let saved = saved_profile::save(name, plan)?;
        if !is_quiet {
            let mut out = stdout();
            out.write_all(saved.as_bytes()).and_then(|()| out.flush())?;
        }
        Ok(Exit::Ok)
    }

    /// An option for the daemon that names the mountpoint, if no argument does.
    fn unnamed_mountpoint(plan: &MountPlan) -> Vec<OsString> {
        let mountpoint = match &plan.mountpoint {
            Some(path) => plan.is_of_profile.then(|| std::path::absolute(path).ok()).flatten(),
            None => Mountpoint::expected(last_source(plan)),
        };
        let option = |path: PathBuf| {
            let mut option = OsString::from(format!("--{MOUNTPOINT}="));
            option.push(path);
            option
        };
        mountpoint.map(option).into_iter().collect()
    }

    fn open_and_serve(&self, plan: MountPlan, reopening: Reopening, is_quiet: bool) -> Result<Exit, Failure> {
        let (began, mounts) = (SystemTime::now(), mounts());
        if let Some(passed) = &plan.options.request.passed {
            plan.check_outside(&passed.mountpoint, self.log_file.as_deref())?;
        }
        refuse_empty(&plan)?;
        let opened = logging::while_opening(|| plan.source_set().open())?;
        let mut mountpoint = prepare_mountpoint(&plan, self.mountpoint.as_deref())?;
        let vfs: Vfs = opened.into();
        let report = report(&plan.order_arguments, &vfs, &mountpoint, plan.options.edit.as_deref());
        self.refuse_hidden_log(&mountpoint)?;
        // What is there is mounted, so that the exit status does not change.
        let mut unseen = Unseen::default();
        unseen.add(vfs.unseen().filter(|note| is_quiet || note.code.is_wanted()));
        unseen.end(Exit::Ok);
        let MountOptions { presentation, request, is_static, edit, .. } = plan.options;
        let service = Service {
            vfs,
            presentation,
            request,
            is_static,
            edit,
            sources: plan.mounted_sources,
            reopening,
            began,
            mounts,
            log_file: self.log_file.as_deref(),
            report: &report,
        };
        service.serve(&mut mountpoint, |report| _ = print_report(report.as_bytes(), is_quiet))?;
        Ok(Exit::Ok)
    }

    /// Mounts as root, then serves the mount from a daemon that never had root's rights. That
    /// daemon could not remove a folder made for the mount, so the mountpoint must exist.
    fn mount_with_fewer_privileges(&self, plan: MountPlan, is_quiet: bool) -> Result<Exit, Failure> {
        if !rustix::process::geteuid().is_root() {
            return Err(Failure::new(
                Exit::NoPermission,
                "-o setuid and drop_privileges: only root can use these options",
            ));
        }
        let path = plan.mountpoint.clone().ok_or_else(|| {
            Failure::new(Exit::Usage, "-o setuid and drop_privileges: name an existing folder to mount on")
        })?;
        if !path.exists() {
            let what = "no such folder; create it first, because setuid and drop_privileges do not";
            return Err(Failure::new(Exit::CannotCreate, format!("{}: {what}", path.shown())));
        }
        let mountpoint = Mountpoint::named(&path, plan.options.nonempty)?;
        plan.check_outside(&mountpoint.path, self.log_file.as_deref())?;
        let MountOptions { privileges, request, .. } = plan.options;
        let report =
            service::start_with_fewer_privileges(&privileges, request, mountpoint, &path, print_line)?;
        Ok(print_report(&report, is_quiet))
    }

    fn refuse_hidden_log(&self, mountpoint: &Mountpoint) -> Result<(), Failure> {
        let Some(file) = self.log_file.as_deref().filter(|file| mountpoint.will_hide(file)) else {
            return Ok(());
        };
        let why = "the mount would hide it; give a file outside the mountpoint";
        Err(Failure::new(Exit::CannotCreate, format!("--log-file {}: {why}", file.shown())))
    }
}

/// Lists the games and saved profiles that can be mounted, and says how to name one.
fn list_sources(ui: &Ui) -> Result<Exit, Failure> {
    let games = Games::default().run(ui);
    let saved = Profile::saved_names();
    if !saved.is_empty() {
        let mut out = stdout();
        writeln!(out, "saved profiles: {}", saved.join(", ").shown())?;
        out.flush()?;
    }
    let what = "name what to mount: bsafs mount SOURCE [MOUNTPOINT]; `bsafs help sources` has more";
    let no_game =
        if games.is_err() { "no game was found (`bsafs games` says where it searched); " } else { "" };
    Err(Failure::new(Exit::Usage, format!("{no_game}{what}")))
}

/// Warns that a mount under sudo is of no use for the user who typed the command. The kernel's overlay of a
/// writable mount lets all users in.
fn warn_under_sudo(options: &MountOptions) {
    let is_of_user = std::env::var_os("SUDO_USER").is_some_and(|user| !user.is_empty() && user != "root");
    let is_shared = options.request.allow_other || options.edit.is_some();
    if is_of_user && !is_shared && rustix::process::geteuid().is_root() {
        log::warn!("only root can read this mount; run bsafs without sudo, or add -o allow_other");
    }
}

/// Prints the report of a mount. A failure to print is ignored, because its exit code would deny
/// that the mount exists.
fn print_report(report: &[u8], is_quiet: bool) -> Exit {
    if !is_quiet {
        let mut out = stdout();
        let _ = out.write_all(report).and_then(|()| out.flush());
    }
    Exit::Ok
}

/// Prints a line of a daemon that runs as another user, who might have chosen it.
fn print_line(line: &[u8]) {
    let line = String::from_utf8_lossy(line);
    // There is nowhere to report a failure to print.
    let _ = writeln!(io::stderr(), "{}", escaped(line.trim_end_matches('\n')));
}

/// Refuses a path in a mount whose daemon hangs, because this process would wait for it.
fn refuse_hanging(paths: &[PathBuf]) -> Result<(), Failure> {
    let mut answering = Answering::default();
    paths.iter().try_for_each(|path| match answering.check(path) {
        Err(error) if matches!(error.kind, StatusErrorKind::Hangs(_)) => Err(error.into()),
        // Dead mounts and mounts of other users are reported later, or do not matter.
        _ => Ok(()),
    })
}

fn last_source(plan: &MountPlan) -> &Path {
    plan.expanded.last().map_or(Path::new("mnt"), PathBuf::as_path)
}

/// Prepares the folder to mount on. If the mount was passed, returns the folder that it is on. `expected` is
/// the folder that the command line shows.
fn prepare_mountpoint(plan: &MountPlan, expected: Option<&Path>) -> Result<Mountpoint, Failure> {
    Ok(match (&plan.options.request.passed, &plan.mountpoint) {
        (Some(passed), _) => Mountpoint::passed(passed),
        (None, Some(path)) if plan.is_of_profile => Mountpoint::of_profile(path, plan.options.nonempty)?,
        (None, Some(path)) => Mountpoint::named(path, plan.options.nonempty)?,
        (None, None) => Mountpoint::after(last_source(plan), expected)?,
    })
}

/// Starts the daemon for a mount that the caller made, or unmounts it.
fn start_on_passed(passed: &PassedMount, named: Option<&Path>) -> Result<Vec<u8>, Failure> {
    service::start_on_passed(passed, named, print_line).map_err(|error| match error {
        // The daemon has unmounted, or said how to.
        DaemonError::Reported(_) => error.into(),
        _ => unmount_passed(passed, error.into()),
    })
}

/// Unmounts a mount that another program made, after a failure to serve it.
fn unmount_passed(passed: &PassedMount, failure: Failure) -> Failure {
    match service::unmount_passed(passed) {
        Ok(()) => failure,
        Err(advice) => Failure::new(failure.exit, format!("{}; {advice}", failure.what)),
    }
}

/// Refuses a single empty folder. It is probably the mountpoint, and the user forgot the source.
fn refuse_empty(plan: &MountPlan) -> Result<(), Failure> {
    let ([source], None) = (&plan.expanded[..], &plan.mountpoint) else { return Ok(()) };
    let is_empty = std::fs::read_dir(source).is_ok_and(|mut entries| entries.next().is_none());
    let why = "the folder is empty; to mount on it, give the sources before it";
    if is_empty { Err(Failure::new(Exit::NoInput, format!("{}: {why}", source.shown()))) } else { Ok(()) }
}
