//! `bsafs mount`: mounts archives and folders as one tree.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;
use rustix::process::geteuid;

use crate::cli::command::look::games::Games;
use crate::cli::exit::{Exit, Failure};
use crate::cli::options::mount_as_source::UnderlyingSources;
use crate::cli::options::named_sources::NamedSources;
use crate::cli::options::option_table::{
    GivenOption, LAYOUT, MOUNT, MountOption, MountOptions, OPEN, OpenArgs, OptionList, SALVAGE,
};
use crate::cli::options::saved_profile;
use crate::cli::terminal::output::{escaped, stdout};
use crate::cli::terminal::progress;
use crate::cli::terminal::report::{remount, report};
use crate::cli::terminal::unseen::Unseen;
use crate::cli::ui::Ui;
use crate::daemon::mountpoint::Mountpoint;
use crate::daemon::service::Service;
use crate::daemon::user::User;
use crate::daemon::{detach, logging};
use crate::fs::{MountedSource, MountedSources, Presentation};
use crate::fuse::MountRequest;
use crate::game::title;
use crate::mounts::mount_status::{Answering, StatusErrorKind};
use crate::shown::Shown;
use crate::system::mountinfo::mounts;
use crate::system::paths;
use crate::system::subprocess::Program;
use crate::vfs::opening::reopening::Reopening;
use crate::vfs::sources::profile::{Profile, SourceSet, is_game, split_options};
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
/// Returns when the mount is ready. Paths in the mount may be written in upper or lower case. If several
/// sources have the same file, the rightmost source wins. Archives directly in a folder are layers below
/// its loose files, sorted by name.
///
/// Whatever could not be opened or read is named, even with --quiet; the rest is mounted, and the exit
/// status is 0.
///
/// To unmount, run `bsafs umount MOUNTPOINT`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, help_template = TEMPLATE)]
#[command(override_usage = "bsafs mount [OPTIONS] SOURCE... [MOUNTPOINT]")]
pub(crate) struct Mount {
    /// Sources, and then the folder to mount on
    ///
    /// `bsafs help sources` says what a source is, and has the options for sources. The last of several
    /// paths is the mountpoint, unless it is an archive or another file; a single path is a source.
    /// Without a mountpoint, bsafs makes a new folder named after the last source in the current folder,
    /// and removes it on unmount.
    #[arg(value_name = "SOURCE... [MOUNTPOINT]")]
    paths: Vec<PathBuf>,
    /// Mount options, as in fstab (`bsafs help profiles`)
    ///
    /// Several options are separated by commas. The long options are accepted here too, with `_` for `-`:
    /// `edit=`, `encoding=` and so on; likewise the options that mount(8) accepts for every file system.
    #[arg(short, value_name = "OPTION,...", allow_hyphen_values = true, value_parser = OptionList)]
    options: Vec<String>,
    #[command(flatten)]
    open: OpenArgs<{ OPEN | LAYOUT | SALVAGE | MOUNT }>,
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
        if self.paths.is_empty() {
            return list_sources(ui);
        }
        // Before any path is opened.
        let given: Vec<_> = self.options.iter().flat_map(|list| split_options(list)).collect();
        let user = given.iter().rev().find(|(name, _)| name == "setuid").map(|(_, user)| &**user);
        if let Some(user) = self.user_to_become(user)? {
            let has = |name: &str| {
                let mut flags = self.open.given.iter().map(|(row, _)| row.id());
                flags.any(|it| it == name) || given.iter().any(|(it, _)| it == name)
            };
            let (is_edit, is_foreground) = (has("edit"), has("foreground"));
            return mount_as(user, self.paths.last().map(PathBuf::as_path), is_edit, is_foreground, ui);
        }
        refuse_hanging(&self.paths)?;
        let mut plan = MountPlan::new(&self.paths, &self.options, &self.open.given)?;
        let reopening = Reopening::new(&plan.sources, &plan.given);
        if let Some(name) = &self.save_profile {
            return Self::save_profile(name, &plan, ui.is_quiet);
        }
        let options = &mut plan.options;
        // Make the path absolute, because the daemon leaves the current folder.
        if let Some(upper) = &mut options.edit {
            *upper = std::path::absolute(&*upper).unwrap_or_else(|_| upper.clone());
        }
        // A profile of root may name the user, too.
        if let Some(user) = self.user_to_become(options.user.as_deref())? {
            let (is_edit, is_foreground) = (options.edit.is_some(), options.foreground);
            return mount_as(user, plan.mountpoint.as_deref(), is_edit, is_foreground, ui);
        }
        if !detach::is_daemon() && !options.foreground {
            let report = detach::start(Program::itself(), &Self::unnamed_mountpoint(&plan), print_line)?;
            warn_under_sudo(&plan.options);
            return Ok(print_report(&report, ui.is_quiet));
        }
        self.open_and_serve(plan, reopening, ui.is_quiet)
    }

    /// The user of `-o setuid=USER`. `None` if this process runs as that user, or saves a profile.
    fn user_to_become(&self, name: Option<&str>) -> Result<Option<User>, Failure> {
        let name = name.filter(|_| self.save_profile.is_none() && !detach::is_daemon());
        let Some(name) = name else { return Ok(None) };
        if !geteuid().is_root() {
            return Err(Failure::new(Exit::NoPermission, "-o setuid: only root can use this option"));
        }
        Ok(Some(User::find(name)?).filter(|user| !user.is_own()))
    }

    fn save_profile(name: &str, plan: &MountPlan, is_quiet: bool) -> Result<Exit, Failure> {
        let saved = saved_profile::save(name, &plan.expanded, plan.mountpoint.as_deref(), &plan.options)?;
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

    fn open_and_serve(
        &self,
        mut plan: MountPlan,
        reopening: Reopening,
        is_quiet: bool,
    ) -> Result<Exit, Failure> {
        let (began, mounts) = (SystemTime::now(), mounts());
        refuse_empty(&plan)?;
        let opened = logging::while_opening(|| plan.source_set().open());
        let opened = opened.map_err(|error| self.not_a_folder(error.into()))?;
        let mut mountpoint = prepare_mountpoint(&plan, self.mountpoint.as_deref())?;
        let vfs: Vfs = opened.into();
        let is_for_root = plan.options.user.is_some() && !geteuid().is_root();
        let edit = plan.options.edit.as_deref();
        let options = plan.options.text(|row| row.id() != "edit");
        let again = |edit| remount(&mountpoint.path, edit, &options, &plan.mounted_sources.sources);
        plan.mounted_sources.remount = edit.map(again);
        let report =
            report(&vfs, &mountpoint, edit.zip(plan.mounted_sources.remount.as_deref()), is_for_root);
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

    /// Adds to an error about the last path, if it is a file that is not called a source, that it is no
    /// mountpoint.
    fn not_a_folder(&self, mut failure: Failure) -> Failure {
        let [_, .., last] = &self.paths[..] else { return failure };
        let is_about_it = failure.what.starts_with(&format!("{}: ", last.shown()));
        if is_about_it && !Profile::is_called_source(last) && last.is_file() {
            failure.what = format!("{}: neither a folder to mount on nor an archive", last.shown());
        }
        failure
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
    if is_of_user && !is_shared && geteuid().is_root() {
        log::warn!("only root can read this mount; run bsafs without sudo, or add -o allow_other");
    }
}

/// Runs the command again as another user, whose rights are the only rule from there on.
fn mount_as(
    user: User,
    mountpoint: Option<&Path>,
    is_edit: bool,
    is_foreground: bool,
    ui: &Ui,
) -> Result<Exit, Failure> {
    for (is_set, option) in [(is_edit, "--edit"), (is_foreground, "--foreground")] {
        if is_set {
            let what = format!("-o setuid: cannot be combined with {option}; run the command as that user");
            return Err(Failure::new(Exit::Usage, what));
        }
    }
    // The user's process is no longer in the process group that autofs lets through, and would wait for ever.
    if let Some(path) = mountpoint.filter(|path| is_automounted(path)) {
        let what =
            "an automount lets only root mount here; leave out setuid=, or mount without the automount";
        return Err(Failure::new(Exit::CannotCreate, format!("{}: {what}", path.shown())));
    }
    let report = detach::start(user.program(), &[], print_line)?;
    Ok(print_report(&report, ui.is_quiet))
}

/// Whether a path is in an automount that is waiting for its mount. Only the mount table is read.
fn is_automounted(path: &Path) -> bool {
    let Ok(path) = std::path::absolute(path) else { return false };
    let around = mounts().into_iter().filter(|mounted| path.starts_with(&mounted.mountpoint));
    let deepest = around.max_by_key(|mounted| mounted.mountpoint.as_os_str().len());
    deepest.is_some_and(|mounted| mounted.kind == "autofs")
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

/// Prepares the folder to mount on. `expected` is the folder that the command line shows.
fn prepare_mountpoint(plan: &MountPlan, expected: Option<&Path>) -> Result<Mountpoint, Failure> {
    Ok(match &plan.mountpoint {
        Some(path) if plan.is_of_profile => Mountpoint::of_profile(path, plan.options.nonempty)?,
        Some(path) => Mountpoint::named(path, plan.options.nonempty)?,
        None => Mountpoint::after(last_source(plan), expected)?,
    })
}

/// Refuses a single empty folder. It is probably the mountpoint, and the user forgot the source.
fn refuse_empty(plan: &MountPlan) -> Result<(), Failure> {
    let ([source], None) = (&plan.expanded[..], &plan.mountpoint) else { return Ok(()) };
    let is_empty = std::fs::read_dir(source).is_ok_and(|mut entries| entries.next().is_none());
    let why = "the folder is empty; to mount on it, give the sources before it";
    if is_empty { Err(Failure::new(Exit::NoInput, format!("{}: {why}", source.shown()))) } else { Ok(()) }
}

// The plan of a mount: the command line, profiles and `-o` merged.

/// A mount before anything is opened.
#[derive(Debug)]
pub(crate) struct MountPlan {
    /// The sources as the user named them, profiles included.
    pub(crate) sources: Vec<PathBuf>,
    /// The sources in load order, with those of each profile in its place.
    pub(crate) expanded: Vec<PathBuf>,
    /// The folder to mount on. If there is none, a new folder is made.
    pub(crate) mountpoint: Option<PathBuf>,
    /// Whether a profile names the mountpoint.
    pub(crate) is_of_profile: bool,
    pub(crate) options: MountOptions,
    /// How sources are opened according to the command line alone. Profiles, which it outranks, are
    /// read again when they change.
    pub(crate) given: OpenOptions,
    /// The sources as reported to other processes.
    pub(crate) mounted_sources: MountedSources,
}

impl MountPlan {
    /// Plans a mount from the command line's paths, its values of `-o`, and the options that its flags set.
    pub(crate) fn new(
        paths: &[PathBuf],
        option_lists: &[String],
        flags: &[GivenOption],
    ) -> Result<Self, Failure> {
        let (sources, mountpoint) = sources_and_mountpoint(paths);
        let unmounted = UnderlyingSources::new(sources)?;
        unmounted.check_whole()?;
        let sources = &unmounted.paths[..];
        let expanded = NamedSources::new(sources, MountOptions::new())?;
        expanded.check_for_root(mountpoint.is_some())?;
        expanded.check_for_strangers(mountpoint.is_some())?;
        // What the command line says outranks profiles, and `-o` outranks flags.
        let mut given = MountOptions::default();
        given.add_given(unmounted.options.given.iter().chain(flags));
        option_lists.iter().try_for_each(|list| given.add(list, Path::new("")))?;
        let mut options = expanded.options.clone();
        options.add_given(&given.given);
        options.open.unseen.clone_from(&expanded.unseen);
        // The process that starts the daemon says it, unless root has become another user first.
        if !detach::is_daemon() || options.user.is_some() && !geteuid().is_root() {
            expanded.warn_of_strangers(mountpoint.is_some());
        }
        let advice = advice_to_root(&options);
        options.open.advice_to_root = advice;
        expanded.check_for_others(&options.open)?;
        if options.request.fsname.is_empty() {
            options.request.fsname = shown_source(sources, options.request.allow_other);
        }
        if options.edit.is_some() && options.is_read_only {
            let what = "--edit makes a mount writable, and `-o ro` forbids it; leave one of them out";
            return Err(Failure::new(Exit::Usage, what));
        }
        let is_of_profile = mountpoint.is_none() && expanded.mountpoint.is_some();
        let mountpoint = mountpoint.or(expanded.mountpoint);
        given.open.advice_to_root = advice;
        let mounted_sources = MountedSources {
            sources: sources.iter().map(|source| mounted_source(source)).collect(),
            options: given.text(MountOption::is_of_opening),
            ..MountedSources::default()
        };
        let (sources, expanded) = (sources.to_owned(), expanded.paths);
        Ok(Self { sources, expanded, mountpoint, is_of_profile, options, given: given.open, mounted_sources })
    }

    /// The sources to open, with their options.
    pub(crate) fn source_set(&self) -> SourceSet {
        let mut options = self.options.open.clone();
        options.progress = Some(progress::steps);
        SourceSet { paths: self.expanded.clone(), options }
    }
}

/// What root does instead of mounting a folder of another user for others to read. `None` if only the caller
/// reads the mount.
fn advice_to_root(options: &MountOptions) -> Option<&'static str> {
    match options.edit {
        Some(_) => Some("mount as that user, or without --edit and with -o setuid=USER"),
        None => options.request.allow_other.then_some("add -o setuid=USER, or mount as that user"),
    }
}

/// A source as reported to other processes: a game by its id, anything else by its path.
pub(crate) fn mounted_source(source: &Path) -> MountedSource {
    match source.to_str().and_then(title) {
        Some(title) => MountedSource::named(title.id),
        None if is_game(source) => MountedSource::named(&source.to_string_lossy()),
        None => MountedSource::file(source),
    }
}

/// The source that `mount`, `df` and file managers show to everybody. A single source is shown as given, so
/// that `mount -a` recognizes the mount. If other users may read the mount, they may not know the folder of
/// its source. Several sources have no common path.
fn shown_source(sources: &[PathBuf], allow_other: bool) -> String {
    match sources {
        [game] if is_game(game) => game.to_string_lossy().into_owned(),
        [source] => {
            let path = paths::absolute(source).unwrap_or_else(|_| source.clone());
            match (allow_other, path.file_name()) {
                (false, _) => path.to_string_lossy().into_owned(),
                (true, Some(name)) => name.to_string_lossy().into_owned(),
                (true, None) => "bsafs".into(),
            }
        }
        _ => "bsafs".into(),
    }
}

/// A [`MountPlan`] in public types, for tests outside the crate.
#[derive(Debug)]
#[doc(hidden)]
pub struct PlannedMount {
    pub expanded: Vec<PathBuf>,
    pub mountpoint: Option<PathBuf>,
    pub presentation: Presentation,
    pub request: MountRequest,
    /// All options as text, so that tests can compare them.
    pub options: String,
}

/// Plans a mount of `paths` with values of `-o` but no flags. The fuzz target of profiles and
/// options calls it.
#[doc(hidden)]
pub fn plan_mount(paths: &[PathBuf], option_lists: &[String]) -> Result<PlannedMount, Failure> {
    let MountPlan { expanded, mountpoint, options, .. } = MountPlan::new(paths, option_lists, &[])?;
    let text = format!("{options:?}");
    let MountOptions { presentation, request, .. } = options;
    Ok(PlannedMount { expanded, mountpoint, presentation, request, options: text })
}

/// Splits the paths into sources and the mountpoint. The last of several paths is the mountpoint if
/// it is a folder, or if it does not exist and lacks the extension of a source.
///
/// A folder that is not empty is a mountpoint too. The mount then fails with advice. Treating the
/// folder as one more source would surprise a user who forgot what is in it.
fn sources_and_mountpoint(paths: &[PathBuf]) -> (&[PathBuf], Option<PathBuf>) {
    let Some((last, sources)) = paths.split_last().filter(|(_, sources)| !sources.is_empty()) else {
        return (paths, None);
    };
    match std::fs::metadata(last) {
        Ok(metadata) if metadata.is_file() => (paths, None),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && Profile::is_called_source(last) => {
            (paths, None)
        }
        _ => (sources, Some(last.clone())),
    }
}
