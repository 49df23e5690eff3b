//! `bsafs open`: mounts sources below the home folder, or finds their mount, and opens it in the
//! file manager.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::mount::mounted_source;
use crate::cli::desktop::{chooser, message, user_manager};
use crate::cli::exit::{Exit, Failure};
use crate::cli::opener;
use crate::cli::options::named_sources::NamedSources;
use crate::cli::options::option_table::MountOptions;
use crate::cli::terminal::output::{escaped, stdout};
use crate::cli::terminal::report::odd_line;
use crate::cli::terminal::unseen::Unseen;
use crate::cli::ui::Ui;
use crate::daemon::mountpoint::resolve_mountpoint;
use crate::daemon::mounts_folder::MountsFolder;
use crate::daemon::overlay;
use crate::fs::NotLookedAt;
use crate::game::Environment;
use crate::mounts::mount_status::{self, Answer, dead_overlay};
use crate::note::{NoteCode, NoteSummary};
use crate::shown::{Shown, quoted};
use crate::system::mountinfo::{self, MountEntry};
use crate::system::paths;
use crate::system::subprocess::Program;
use crate::vfs::open_options::expand_home;
use crate::vfs::sources::folder_name;
use crate::vfs::sources::profile::{Profile, is_game};

/// Mount archives, folders or games, and open them in the file manager
///
/// If the sources are mounted already, that mount is opened. Otherwise they are mounted on the
/// mountpoint of their profile, or on a new folder below ~/bsafs-mounts, which is removed on unmount. In a
/// systemd session, the mount ends with the session; `bsafs umount SOURCE` ends it earlier. If no
/// terminal is connected, errors are shown on the desktop.
#[derive(Args, Debug, Default)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Open {
    /// Sources that `bsafs mount` accepts (the last one wins), or a mountpoint
    #[arg(required_unless_present_any = ["choose", "pack", "as_png"], value_name = "SOURCE")]
    sources: Vec<PathBuf>,
    /// Ask on the desktop which installed game to open, with zenity or kdialog
    #[arg(long, conflicts_with = "sources")]
    choose: bool,
    /// Instead, ask where to save a texture as a PNG file, and save it (for file manager menus)
    #[arg(long, value_name = "TEXTURE", conflicts_with_all = ["sources", "choose"])]
    as_png: Option<PathBuf>,
    /// Instead, ask for a game, show the plan of `bsafs pack`, and pack a folder (for file manager menus)
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["sources", "choose"])]
    pack: Option<PathBuf>,
    /// Folder in which to create mountpoints [default: ~/bsafs-mounts]
    #[arg(long, value_name = "FOLDER", env = "BSAFS_OPEN_BELOW", hide_env_values = true)]
    below: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  bsafs open \"Skyrim - Textures0.bsa\"
  bsafs open skyrimse
  bsafs umount skyrimse";

/// Saves a texture where the user wants it.
fn save_as_png(texture: &Path) -> Result<Exit, Failure> {
    // The program runs in another folder. The current one may be gone after the window.
    let texture = absolute(texture)?;
    let Some(picture) = chooser::choose_picture(&texture)? else { return Ok(Exit::Ok) };
    let picture = absolute(&picture)?;
    let program = Program::itself().args(["thumbnail", "--size", "full", "--"]).arg(texture).arg(&picture);
    let failed = |what: String| Failure::new(Exit::Io, format!("cannot save {}: {what}", picture.shown()));
    match program.output_within(PICTURE_TIME) {
        Ok(Some(output)) if output.status.success() => Ok(Exit::Ok),
        Ok(Some(output)) => {
            let what = String::from_utf8_lossy(&output.stderr);
            Err(failed(what.trim_end().trim_start_matches("bsafs: ").to_owned()))
        }
        Ok(None) => Err(failed("it takes too long".into())),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// Packs a folder beside it, if the user agrees to the plan.
fn pack(folder: &Path) -> Result<Exit, Failure> {
    // The program runs in another folder. The current one may be gone after the window.
    let folder = absolute(folder)?;
    let Some(game) = chooser::choose_packed_game()? else { return Ok(Exit::Ok) };
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let output = folder.with_file_name(format!("{name} (packed)"));
    let run = |more: &[&str], time| {
        let program = Program::itself().args(["pack", "--game", game, "-o"]).arg(&output).args(more);
        let failed = |what: &str| {
            let what = format!("cannot pack {}: {what}", folder.shown());
            Failure::new(Exit::Io, what)
        };
        match program.arg("--").arg(&folder).output_within(time) {
            Ok(Some(ended)) if ended.status.success() => {
                Ok(String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned())
            }
            Ok(Some(ended)) => {
                Err(failed(String::from_utf8_lossy(&ended.stderr).trim_end().trim_start_matches("bsafs: ")))
            }
            Ok(None) => Err(failed("it takes too long")),
            Err(error) => Err(failed(&error.to_string())),
        }
    };
    let plan = run(&["--dry-run"], MOUNT_TIME)?;
    // Without the lines of single files.
    let plan: Vec<&str> = plan.lines().filter(|line| !line.starts_with("  ")).collect();
    // What does not fit on the screen is cut off at the end.
    let question = format!("Pack this into {}?\n\n{}", output.shown(), plan.join("\n"));
    if !chooser::confirm(&question)? {
        return Ok(Exit::Ok);
    }
    let result = run(&[], PACK_TIME)?;
    message::answer_without_terminal(result.trim_end());
    Ok(Exit::Ok)
}

/// How long packing may take.
const PACK_TIME: Duration = Duration::from_secs(6 * 3600);

/// How long a texture may take to become a picture.
const PICTURE_TIME: Duration = Duration::from_secs(60);

/// The default folder for mountpoints. A clone of the sources is called `bsafs`, so that this name, which was
/// the default before, is used only as long as something is mounted there.
fn below_home(home: &Path) -> PathBuf {
    let old = home.join("bsafs");
    let mounts = mountinfo::mounts();
    let is_used = mounts.iter().any(|it| it.is_bsafs() && it.mountpoint.parent() == Some(&old));
    if is_used { old } else { home.join("bsafs-mounts") }
}

/// How long a mount may take. A game on a slow disk takes a minute.
const MOUNT_TIME: Duration = Duration::from_secs(600);

impl Open {
    pub(crate) fn run(&self, ui: &Ui) -> Result<Exit, Failure> {
        if let Some(texture) = &self.as_png {
            let saved = save_as_png(texture);
            if let Err(failure) = &saved {
                message::show_without_terminal(&failure.what);
            }
            return saved;
        }
        if let Some(folder) = &self.pack {
            let packed = pack(folder);
            if let Err(failure) = &packed {
                message::show_without_terminal(&failure.what);
            }
            return packed;
        }
        let opened = self.find_chosen_or_mount().and_then(|mountpoint| {
            let Some(mountpoint) = mountpoint else { return Ok(()) };
            let mounted = mountinfo::mounted_at(&mountpoint);
            let [odd, damaged] = mounted.as_ref().map_or([None, None], odd_lines);
            if !ui.is_quiet {
                let mut out = stdout();
                let path = quoted(&mountpoint.to_string_lossy());
                writeln!(out, "{}", mountpoint.shown())?;
                odd.iter().try_for_each(|odd| writeln!(out, "{odd}"))?;
                writeln!(out, "unmount: bsafs umount {path}")?;
                out.flush()?;
            }
            open_file_manager(&mountpoint)?;
            if let Some(damaged) = &damaged {
                message::show_without_terminal(damaged);
            }
            Ok(())
        });
        if let Err(failure) = &opened {
            message::show_without_terminal(&failure.what);
        }
        opened.map(|()| Exit::Ok)
    }

    /// Like [`Open::find_or_mount`], but asks for the source first if the user wants that. `None` if the user
    /// chose none.
    fn find_chosen_or_mount(&self) -> Result<Option<PathBuf>, Failure> {
        if !self.choose {
            let file = |source: &PathBuf| Profile::saved(source).unwrap_or_else(|| source.clone());
            let sources = self.sources.iter().map(file).collect();
            return Self { sources, below: self.below.clone(), ..Self::default() }.find_or_mount().map(Some);
        }
        let chosen = chooser::choose_game()?.map(|source| Self {
            sources: vec![source.into()],
            below: self.below.clone(),
            ..Self::default()
        });
        chosen.map(|chosen| chosen.find_or_mount()).transpose()
    }

    /// Returns the folder on which the sources are mounted. Mounts them if necessary.
    fn find_or_mount(&self) -> Result<PathBuf, Failure> {
        if let [path] = &self.sources[..]
            && !is_game(path)
        {
            let mountpoint = resolve_mountpoint(path);
            if let Some(mounted) = overlay::bsafs_mount_at(&mountpoint) {
                check_alive(&mounted)?;
                say_unseen(&mounted);
                return Ok(mountpoint);
            }
        }
        let named = NamedSources::new(&self.sources, MountOptions::new())?;
        let of_profile = &named.mountpoint;
        let around = match of_profile {
            Some(mountpoint) => absolute(mountpoint)?.parent().map(Path::to_owned).unwrap_or_default(),
            None => self.folder()?,
        };
        check_not_ours(&around)?;
        // Keep the lock until the sources are mounted, so that a second process finds the mount.
        let folder = MountsFolder::lock(&around)?;
        let mounts = mount_status::all();
        if let Some(mountpoint) = self.find(&mounts) {
            mountinfo::mounted_at(&mountpoint).iter().for_each(say_unseen);
            return Ok(mountpoint);
        }
        let mountpoint = match of_profile {
            Some(mountpoint) => absolute(mountpoint)?,
            None => self.free_mountpoint(&folder.path, &mounts)?,
        };
        self.mount(&mountpoint, &named)?;
        Ok(resolve_mountpoint(&mountpoint))
    }

    /// The folder in which mountpoints are made.
    fn folder(&self) -> Result<PathBuf, Failure> {
        match self.below.clone().filter(|below| !below.as_os_str().is_empty()) {
            Some(below) => absolute(&expand_home(below)),
            None => {
                let home = Environment::of_process().home;
                if home.is_absolute() {
                    Ok(below_home(&home))
                } else {
                    Err(Failure::new(
                        Exit::NoInput,
                        "no home folder; set $HOME, or give a folder with --below",
                    ))
                }
            }
        }
    }

    /// The mountpoint of a mount of exactly these sources, made by this user or root. Another
    /// user's daemon could report anything.
    fn find(&self, mounts: &[(MountEntry, Answer)]) -> Option<PathBuf> {
        let wanted: Vec<_> = self.sources.iter().map(|source| mounted_source(source)).collect();
        let is_same = |answer: &Answer| match answer {
            Answer::Status(status) if !status.has_dead_overlay => {
                status.sources.len() == wanted.len()
                    && status.sources.iter().zip(&wanted).all(|(mounted, wanted)| mounted.is_same(wanted))
            }
            _ => false,
        };
        mounts
            .iter()
            .find(|(mounted, answer)| mounted.is_whole() && mounted.is_trusted() && is_same(answer))
            .map(|(mounted, _)| overlay::shown(mounted).mountpoint)
    }

    /// A path named after the last source that is free to mount on. The folder may or may not exist.
    fn free_mountpoint(&self, folder: &Path, mounts: &[(MountEntry, Answer)]) -> Result<PathBuf, Failure> {
        let last = self.sources.last().map_or(Path::new("archive"), PathBuf::as_path);
        let is_free = |path: &PathBuf| match mountinfo::mounted_at(path) {
            // The new mount may cover a dead one.
            Some(top) => {
                mounts.iter().any(|(it, answer)| it.device == top.device && matches!(answer, Answer::Dead))
            }
            None => match path.symlink_metadata() {
                Ok(metadata) => metadata.is_dir() && is_empty(path),
                Err(error) => error.kind() == std::io::ErrorKind::NotFound,
            },
        };
        let mut names = folder_name::visible_candidates(last).take(1000).map(|name| folder.join(name));
        names.find(is_free).ok_or_else(|| {
            let advice = "are taken; give another folder with --below";
            let (folder, last) = (folder.shown(), last.shown());
            let what = format!("{folder}: all 1000 names of mountpoints for {last} {advice}");
            Failure::new(Exit::CannotCreate, what)
        })
    }

    /// Mounts in the background, through the user's systemd if it is running.
    fn mount(&self, mountpoint: &Path, named: &NamedSources) -> Result<(), Failure> {
        let mut paths: Vec<OsString> = Vec::new();
        for source in &self.sources {
            paths.push(if is_game(source) { source.clone() } else { absolute(source)? }.into());
        }
        paths.push(mountpoint.into());
        let arguments = |options: &[&str]| -> Vec<OsString> {
            options.iter().map(OsString::from).chain(paths.iter().cloned()).collect()
        };
        if user_manager::is_running() {
            match user_manager::start(&arguments(&["mount", "--foreground", "--"])) {
                // What that mount says is in the journal.
                Ok(()) => {
                    named.warn_of_strangers(false);
                    mountinfo::mounted_at(&resolve_mountpoint(mountpoint)).iter().for_each(say_unseen);
                    return Ok(());
                }
                Err(why) => log::info!("systemd did not start the mount: {why}"),
            }
        }
        named.warn_of_strange_mountpoints();
        let output = Program::itself()
            .args(arguments(&["mount", "--"]))
            .output_within(MOUNT_TIME)
            .map_err(|error| Failure::new(Exit::Io, format!("cannot start the mount: {error}")))?;
        let Some(output) = output else {
            let what = format!(
                "{}: mounting took longer than ten minutes; run `bsafs mount --foreground` to see why",
                mountpoint.shown()
            );
            return Err(Failure::new(Exit::Io, what));
        };
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            // The mount succeeds even if a warning cannot be printed.
            let _ = write!(std::io::stderr(), "{}", escaped(&said));
            return Ok(());
        }
        let code = output.status.code();
        let exit = Exit::ALL.into_iter().find(|(exit, _)| Some(*exit as i32) == code);
        let lines: Vec<&str> =
            said.lines().map(|line| line.strip_prefix("bsafs: ").unwrap_or(line)).collect();
        Err(Failure::new(exit.map_or(Exit::Io, |(exit, _)| exit), lines.join("\n")))
    }
}

/// Says what a mount does not show because it could not be looked at. The mount has said so where this
/// command did not see it.
fn say_unseen(mounted: &MountEntry) {
    let Answer::Status(status) = mount_status::ask(mounted) else { return };
    let mut unseen = Unseen::default();
    unseen.add(&status.not_looked_at.iter().map(NotLookedAt::note).collect::<Vec<_>>());
    unseen.end(Exit::Ok);
}

/// What is odd about what a mount shows in one line, and what programs get errors from. What could not be
/// looked at is said before.
fn odd_lines(mounted: &MountEntry) -> [Option<String>; 2] {
    let Answer::Status(status) = mount_status::ask(mounted) else { return [None, None] };
    let unseen: Vec<&str> = status.not_looked_at.iter().map(|it| &*it.code).collect();
    let of = |is_shown: &dyn Fn(&NoteSummary) -> bool| {
        let shown: Vec<_> = status.odd.iter().filter(|odd| is_shown(odd)).cloned().collect();
        odd_line(&shown, &mounted.mountpoint, false)
    };
    let damaged = [NoteCode::ArchiveCutOff, NoteCode::ArchiveUnfinished, NoteCode::NamesCutOff];
    let is_damaged = |odd: &NoteSummary| odd.known_code().is_some_and(|code| damaged.contains(&code));
    [of(&|odd| !unseen.contains(&&*odd.code)), of(&is_damaged)]
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    paths::absolute(path).map_err(|error| Failure::io(Exit::NoInput, path, &error))
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// Refuses to open a mount whose daemon does not answer.
fn check_alive(mounted: &MountEntry) -> Result<(), Failure> {
    let mountpoint = overlay::mountpoint(mounted);
    let path = mountpoint.shown();
    match mount_status::ask(mounted) {
        Answer::Dead => {
            let what =
                format!("{path}: the daemon has ended; run `bsafs umount {path}` to remove the dead mount");
            Err(Failure::new(Exit::Unavailable, what))
        }
        Answer::Hangs => {
            let what =
                format!("{path}: the daemon does not answer; run `bsafs umount --lazy {path}` to unmount");
            Err(Failure::new(Exit::Io, what))
        }
        Answer::Status(status) if status.has_dead_overlay => {
            let what = format!("{path}: {}", dead_overlay(&mountpoint));
            Err(Failure::new(Exit::Unavailable, what))
        }
        // The file manager shows any other error.
        _ => Ok(()),
    }
}

/// Refuses a folder inside a bsafs mount, because no folder can be made there.
fn check_not_ours(folder: &Path) -> Result<(), Failure> {
    let resolved = resolve_mountpoint(folder);
    let mounted =
        mountinfo::mounts().into_iter().find(|it| it.is_bsafs() && resolved.starts_with(&it.mountpoint));
    mounted.map_or(Ok(()), |mounted| {
        let mountpoint = mounted.mountpoint.shown();
        let what = format!(
            "{}: this folder is in the mount at {mountpoint}; give another one with --below",
            folder.shown()
        );
        Err(Failure::new(Exit::CannotCreate, what))
    })
}

fn open_file_manager(mountpoint: &Path) -> Result<(), Failure> {
    opener::open(mountpoint, "file manager").map_err(|what| {
        Failure::new(Exit::Unavailable, format!("mounted at {}, but {what}", mountpoint.shown()))
    })
}
