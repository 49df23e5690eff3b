//! `bsafs which`: prints which archive a file comes from, and what it hides. The file is in a
//! mount, or in sources that are not mounted.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::BinaryBytes;
use rustix::fs::{Mode, OFlags, open, readlinkat};
use rustix::io::Errno;
use serde::Serialize;

use super::why::{Asked, without_warnings};
use crate::answers::copies::Deletions;
use crate::answers::question::{Meant, Question, hidden_by};
use crate::answers::unseen::unseen_about;
use crate::answers::{FileCopy, Provenance};
use crate::cli::desktop::message;
use crate::cli::exit::{Exit, Failure, OutputError};
use crate::cli::inquiry::Inquiry;
use crate::cli::options::mount_as_source::place_in_mount;
use crate::cli::options::option_table::OpenArgs;
use crate::cli::options::selection::{self, same_names};
use crate::cli::surroundings::what_is_wrong;
use crate::cli::terminal::logger;
use crate::cli::terminal::output::{ASIDE, Standard, StyledWrite, WINNER};
use crate::cli::terminal::shown_layers::ShownLayers;
use crate::cli::ui::Ui;
use crate::daemon::overlay::{self, Beneath};
use crate::format::Codec;
use crate::fs::{WHICH_LINK, read_pages};
use crate::game::{Deployments, is_data_folder};
use crate::mounts::mount_status::{Answering, StatusError};
use crate::shown::{Shown, excerpt};
use crate::system::mountinfo::{self, MountEntry};
use crate::system::owners::mount_of;
use crate::vfs::Vfs;

/// Print which archive a file inside a mount comes from, and what it hides
///
/// Nothing needs to be mounted if a source comes first: `bsafs which skyrimse PATH`. -v also prints the
/// folders of the archives, and how each copy is stored.
///
/// The exit status is 1 if a path is not a file in a mount or in the sources, if the game has no use for
/// it there, or if something that may have the path was not looked at.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Which {
    /// Files inside mounts; or sources, and then paths or patterns in them, ignoring case
    #[arg(required_unless_present = "files_from", value_name = "SOURCE|PATH")]
    paths: Vec<PathBuf>,
    /// Also read paths from this file, one per line; `-` is standard input, and each line is answered at once
    #[arg(long, value_name = "FILE")]
    files_from: Option<PathBuf>,
    /// Source to search instead of a mount; can be repeated, and the last one wins
    #[arg(long = "in", value_name = "SOURCE")]
    sources: Vec<PathBuf>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// Show the answer on the desktop if no terminal is connected (for file manager menus)
    #[arg(long)]
    notify: bool,
    #[command(flatten)]
    open: OpenArgs,
}

const EXAMPLES: &str = "\
Examples:
  bsafs which ~/mnt/textures/clutter/bucket.dds
  bsafs which skyrimse textures/clutter/bucket.dds
  bsafs which ~/MO2 --mo2-profile Default 'interface/*.swf' --json
  bsafs list skyrimse --glob '*.nif' | bsafs which --in skyrimse --files-from - --json";

const NO_FILE: &str = "no such file";
const FOLDER: &str = "it is a folder, which comes from all archives that have it; give a file in it";

/// Maximum length of a line in a list of paths.
const LINE_MAX: u64 = 1 << 16;

impl Which {
    pub(crate) fn run(&self, _: &Ui) -> Result<Exit, Failure> {
        Inquiry::run(self.json, |inquiry| self.answer(inquiry))
    }

    fn answer(&self, inquiry: &mut Inquiry) -> Result<(), Failure> {
        let mut answering = Answering::default();
        // Nothing in a mount whose daemon hangs is looked up.
        let is_answering = self.paths.iter().all(|path| answering.check(&Question::plain(path)).is_ok());
        let has_in = !self.sources.is_empty() || self.open.options().game_dir.is_some();
        let (sources, paths) = match &self.paths[..] {
            paths if has_in => (&self.sources[..], paths),
            paths if is_answering => selection::split_if_sources(paths),
            paths => (&[][..], paths),
        };
        let asks_mounts = sources.is_empty() && !has_in;
        let is_path = |path: &PathBuf| !selection::is_pattern(path);
        let unmounted = if asks_mounts {
            None
        } else if self.files_from.is_none() && paths.iter().all(is_path) {
            Some(Asked::about(sources, &self.open, paths)?)
        } else {
            Some(Asked::new(sources, &self.open)?)
        };
        let deployments = Deployments::default();
        let deletions = unmounted.as_ref().map(|asked| Deletions::of(asked.vfs())).unwrap_or_default();
        // What was not looked at may match a pattern.
        let of_patterns = unmounted.iter().filter(|_| paths.iter().any(|path| selection::is_pattern(path)));
        of_patterns.for_each(|asked| inquiry.unseen.add(asked.vfs().unseen()));
        let mut answer_one = |path: &Path, inquiry: &mut Inquiry| {
            let provenance = match &unmounted {
                None => {
                    let path = &Question::plain(path);
                    let checked = answering.check(path).map_err(|error| NoAnswer::Why(why(error)));
                    let mut answer = checked.and_then(|()| read_provenance(path));
                    let within = match &mut answer {
                        Ok(answer) => Some(answer.provenance.path.clone().into_bytes()),
                        Err(NoAnswer::NoFile(why)) => self.place_of_none(path, why),
                        Err(_) => None,
                    };
                    within.inspect(|within| inquiry.unseen.add(&answering.unseen_about(path, within)));
                    answer.map(|answer| named_by(answer, &deployments))
                }
                Some(asked) => match find_provenance(asked.vfs(), path, &deletions) {
                    Ok(mut provenance) => {
                        let path = provenance.path.clone();
                        for copy in std::iter::once(&mut provenance.from).chain(&mut provenance.hides) {
                            copy.deployed_from = asked.deployed_from(Path::new(&copy.archive), &path);
                        }
                        Ok(Origin { provenance, claimed_by: None })
                    }
                    Err(what) => {
                        let reasons = if asked.is_folder(path) { String::new() } else { asked.reasons(path) };
                        Err(NoAnswer::Why(format!("{what}{reasons}")))
                    }
                },
            };
            if let Some(asked) = &unmounted {
                inquiry.unseen.add(unseen_about(asked.vfs(), path));
                inquiry.unseen.add_sizes(asked.vfs().file(path.as_os_str().as_encoded_bytes()));
            }
            if !self.print(provenance, path, inquiry)? {
                inquiry.set_exit(Exit::No);
            }
            // A program may wait for the answer before it writes the next path.
            Ok::<_, Failure>(inquiry.out.flush()?)
        };
        // Several files may have a name.
        let mut answer = |path: &Path, inquiry: &mut Inquiry| match unmounted
            .as_ref()
            .map(|it| Meant::find(it.vfs(), path))
        {
            Some(Err(several)) if !several.is_empty() => {
                several.iter().try_for_each(|path| answer_one(Path::new(path), inquiry))
            }
            _ => answer_one(path, inquiry),
        };
        for path in paths {
            let Some(asked) = unmounted.as_ref().filter(|_| selection::is_pattern(path)) else {
                answer(path, inquiry)?;
                continue;
            };
            let files = selection::matches(asked.vfs(), path)?;
            if files.is_empty() {
                inquiry.unseen.add_unmatched(&path.to_string_lossy());
            }
            for file in files {
                answer(Path::new(OsStr::from_bytes(&file.path_bytes())), inquiry)?;
            }
        }
        match &self.files_from {
            Some(list) => each_line(list, |path| answer(path, inquiry)),
            None => Ok(()),
        }
    }

    /// The path in a mount at which no file is, and the reasons why, at the end of `what`. `None` if the path
    /// is in no mount.
    fn place_of_none(&self, path: &Path, what: &mut String) -> Option<Vec<u8>> {
        let (mountpoint, within) = place_in_mount(path).ok().flatten()?;
        if let Ok(asked) = without_warnings(|| Asked::new(&[mountpoint], &self.open)) {
            what.push_str(&asked.reasons(&within));
        }
        Some(within.into_os_string().into_encoded_bytes())
    }

    /// Prints where a file comes from, as [`write`] does. Returns whether that is known, and the game has a
    /// use for the file.
    fn print(
        &self,
        provenance: Result<Origin, NoAnswer>,
        path: &Path,
        inquiry: &mut Inquiry,
    ) -> Result<bool, Failure> {
        let answer = match provenance {
            Ok(answer) => answer,
            Err(NoAnswer::Invalid(what)) => return Err(Failure::new(Exit::Data, what)),
            Err(NoAnswer::Why(what) | NoAnswer::NoFile(what)) => {
                let why = what_is_wrong().map_or_else(String::new, |why| format!("; {why}"));
                let what = format!("{}: {what}{why}", path.shown());
                logger::print_error(&what);
                if self.notify {
                    message::show_without_terminal(&what);
                }
                return Ok(false);
            }
        };
        let is_used = answer.provenance.unused.is_none();
        inquiry.put(|| &answer, |out| write(out, &answer, "  "))?;
        if self.notify && !self.json {
            let mut text = Vec::new();
            write(&mut text, &answer, "").map_err(OutputError)?;
            message::answer_without_terminal(String::from_utf8_lossy(&text).trim_end());
        }
        Ok(is_used)
    }
}

/// Why it is not known where a file comes from.
enum NoAnswer {
    /// There is no daemon to ask, or something else keeps the answer back.
    Why(String),
    /// There is no such file, at a path that may be in a mount.
    NoFile(String),
    /// The daemon's answer is not valid.
    Invalid(String),
}

impl From<String> for NoAnswer {
    fn from(why: String) -> Self {
        Self::Why(why)
    }
}

/// Where a file comes from, as JSON.
#[derive(Serialize)]
struct Origin {
    #[serde(flatten)]
    provenance: Provenance,
    /// The user whose daemon says so, if it is neither root nor the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    claimed_by: Option<u32>,
}

/// Calls a function with each line of a file, or of standard input if the file is `-`.
fn each_line(list: &Path, mut call: impl FnMut(&Path) -> Result<(), Failure>) -> Result<(), Failure> {
    let failed = |error: &io::Error| Failure::io(Exit::NoInput, list, error);
    let mut lines: Box<dyn BufRead> = if list == Path::new("-") {
        Box::new(BufReader::new(Standard))
    } else {
        Box::new(BufReader::new(File::open(list).map_err(|error| failed(&error))?))
    };
    loop {
        let mut line = Vec::new();
        let read = lines.by_ref().take(LINE_MAX).read_until(b'\n', &mut line);
        if read.map_err(|error| failed(&error))? == 0 {
            return Ok(());
        }
        if !line.ends_with(b"\n") && line.len() as u64 == LINE_MAX {
            let what = format!("{}: a line is longer than {LINE_MAX} bytes, so it is no path", list.shown());
            return Err(Failure::new(Exit::Data, what));
        }
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        if !line.is_empty() {
            call(Path::new(OsStr::from_bytes(line)))?;
        }
    }
}

/// Finds the provenance of a file that is not mounted.
fn find_provenance(vfs: &Vfs, path: &Path, deletions: &Deletions) -> Result<Provenance, String> {
    let file = match Meant::find(vfs, path) {
        Ok(Meant::Copy(copy)) => hidden_by(vfs, &copy).unwrap_or(copy),
        Ok(Meant::Folder(_)) => return Err(FOLDER.to_owned()),
        Err(_) => return Err(format!("{NO_FILE}{}", same_names(vfs, &path.to_string_lossy()))),
    };
    // Reads the size from the data, as `stat` does in a mount, so that the provenance has it.
    file.size_or_estimate();
    Ok(file.provenance_among(deletions))
}

/// Why a mount does not answer, without the path.
fn why(error: StatusError) -> String {
    let start = format!("{}: ", error.path.shown());
    let text = Failure::from(error).what;
    text.strip_prefix(&start).unwrap_or(&text).to_owned()
}

/// Reads the provenance of a mounted file from the daemon.
fn read_provenance(path: &Path) -> Result<Origin, NoAnswer> {
    let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => NoAnswer::NoFile(NO_FILE.to_owned()),
        _ => NoAnswer::Why(error.to_string()),
    })?;
    let path = path.canonicalize().map_err(|error| error.to_string())?;
    // Ask in the file's own folder, because only a subfolder may be visible, by a bind mount. It is opened
    // once, because another user may put his mount in its place.
    let parent = path.parent().unwrap_or(Path::new("/"));
    let folder = open(parent, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(|it| it.to_string())?;
    let Some(mounted) = mount_of(folder.as_fd()).filter(MountEntry::is_bsafs) else {
        if let Some(mounted) = mountinfo::mounted_as(metadata.dev()).filter(MountEntry::is_bsafs) {
            let mountpoint = mounted.mountpoint.shown();
            let what = format!("it is bind-mounted on its own; use its path below {mountpoint}");
            return Err(NoAnswer::Why(if metadata.is_dir() { FOLDER.into() } else { what }));
        }
        return match overlay::beneath_path(&path) {
            Some(Beneath { lower, within, written: Some(edit) }) => {
                written_provenance(&lower, &within, &edit, &metadata)
            }
            Some(Beneath { lower, .. }) => read_provenance(&lower),
            None => Err(NoAnswer::Why(
                "it is not inside a bsafs mount; to ask about a source, give it before the path".into(),
            )),
        };
    };
    if metadata.is_dir() {
        return Err(NoAnswer::Why(FOLDER.into()));
    }
    let link = |page| format!("{WHICH_LINK}{}:{page}", metadata.ino());
    let read = |page| readlinkat(&folder, link(page), Vec::new()).map(CString::into_bytes);
    let text = read_pages(read).map_err(|errno| match errno {
        Errno::ACCESS | Errno::PERM => "permission denied: its folder cannot be listed".to_owned(),
        _ => format!("the daemon does not answer: {errno}; `bsafs mounts` shows its state"),
    })?;
    // Another user's daemon may answer anything.
    let provenance = serde_json::from_str(&text).map_err(|error| {
        let why = excerpt(&error.to_string()).to_string();
        NoAnswer::Invalid(format!("cannot read the daemon's answer: {why}"))
    })?;
    Ok(Origin { provenance, claimed_by: mounted.claimant() })
}

/// Adds the mods from which a manager deployed copies. What the daemon of another user says leads to no list.
fn named_by(mut answer: Origin, deployments: &Deployments) -> Origin {
    let Origin { provenance: Provenance { path, from, hides, names_only, .. }, claimed_by } = &mut answer;
    if claimed_by.is_none() && !*names_only {
        for copy in std::iter::once(from).chain(hides) {
            let folder = Path::new(&copy.archive);
            if folder.is_absolute() && is_data_folder(folder) {
                copy.deployed_from = deployments.mod_of(folder, path);
            }
        }
    }
    answer
}

/// The provenance of a file that was written to a writable mount. `lower` is its path beneath the overlay.
fn written_provenance(
    lower: &Path,
    within: &Path,
    edit: &Path,
    metadata: &std::fs::Metadata,
) -> Result<Origin, NoAnswer> {
    if metadata.is_dir() {
        return Err(NoAnswer::Why(FOLDER.into()));
    }
    // The file may be new. A folder may have been deleted in its place.
    let hidden = match lower.is_file().then(|| read_provenance(lower)) {
        Some(Err(NoAnswer::Invalid(_))) | None => None,
        Some(hidden) => Some(hidden?),
    };
    let path = within.to_string_lossy().into_owned();
    let from = FileCopy {
        archive: edit.to_string_lossy().into_owned(),
        why: "receives the changes of this writable mount".into(),
        deployed_from: None,
        stored_name: path.clone(),
        hash: String::new(),
        codec: Codec::Stored.name().into(),
        packed: metadata.len(),
        tile_mode: None,
    };
    let (mut hides, mut hides_more, mut names_only, mut claimant) = (Vec::new(), 0, false, None);
    if let Some(Origin { provenance: hidden, claimed_by }) = hidden {
        claimant = claimed_by;
        hides = std::iter::once(hidden.from).chain(hidden.hides).collect();
        (hides_more, names_only) = (hidden.hides_more, hidden.names_only);
    }
    let (ignored, deleted, unused) = (Vec::new(), Vec::new(), None);
    let size = metadata.len();
    let provenance = Provenance { path, size, from, hides, hides_more, ignored, deleted, unused, names_only };
    Ok(Origin { provenance, claimed_by: claimant })
}

/// Writes where a file comes from, and what it hides; if logging is verbose, with all that is known. `indent`
/// precedes the line about who says so.
fn write(out: &mut impl StyledWrite, answer: &Origin, indent: &str) -> io::Result<()> {
    let Origin { provenance, claimed_by } = answer;
    let is_verbose = log::log_enabled!(log::Level::Info);
    let Provenance { path, size, from, hides, hides_more, ignored, deleted, unused, names_only } = provenance;
    let copies = || std::iter::once(from).chain(hides);
    let folders = ignored.iter().chain(deleted).map(|copy| (Path::new(&copy.folder), true));
    let names = ShownLayers::of(copies().map(|copy| (Path::new(&copy.archive), false)).chain(folders));
    writeln!(out, "{}  ({})", path.shown(), BinaryBytes(*size))?;
    for (role, copy) in std::iter::once("from  ").chain(std::iter::repeat("hides ")).zip(copies()) {
        let is_winner = std::ptr::eq(copy, from);
        let archive = Path::new(&copy.archive);
        write!(out, "  {role} ")?;
        if is_winner {
            out.write_styled(WINNER, names.shown(archive))?
        } else {
            write!(out, "{}", names.shown(archive))?
        }
        writeln!(out)?;
        let mut lines = Vec::new();
        if !copy.why.is_empty() && (is_winner || is_verbose) {
            lines.push(copy.why.shown().to_string());
        }
        if let Some(name) = &copy.deployed_from {
            lines.push(format!("a mod manager deployed it from {}", name.shown()));
        }
        if is_verbose {
            lines.push(archive.shown().to_string());
            lines.push(how_stored(copy));
        }
        for line in lines {
            write!(out, "         ")?;
            out.write_styled(ASIDE, line)?;
            writeln!(out)?;
        }
    }
    if *hides_more > 0 {
        writeln!(out, "  hides  {hides_more} more")?;
    }
    let others = ignored.iter().map(|copy| ("ignored", copy));
    for (fate, copy) in others.chain(deleted.iter().map(|copy| ("deleted", copy))) {
        writeln!(out, "  {fate} {}", names.shown(Path::new(&copy.folder)))?;
        if !copy.why.is_empty() {
            write!(out, "         ")?;
            out.write_styled(ASIDE, copy.why.shown())?;
            writeln!(out)?;
        }
    }
    if let Some(unused) = unused {
        writeln!(out, "  {}", unused.fate.replace('-', " ").shown())?;
        write!(out, "         ")?;
        out.write_styled(ASIDE, unused.why.shown())?;
        writeln!(out)?;
    }
    if *names_only {
        writeln!(out, "  only root and the user who mounted may know the folders of archives")?;
    }
    claimed_by.map_or(Ok(()), |user| writeln!(out, "{indent}says the daemon of user {user}"))
}

fn how_stored(copy: &FileCopy) -> String {
    let tiled = copy.tile_mode.map(|mode| format!(", arranged for a console's GPU (tile mode {mode})"));
    let stored = match &copy.stored_name[..] {
        "" => format!("stored without a name, hash {}", copy.hash),
        name => format!("stored as {}", name.shown()),
    };
    // The size of a hidden loose file is not known before the file is read.
    let packed = match copy.packed {
        0 => String::new(),
        bytes if copy.codec == "uncompressed" => format!(", {}", BinaryBytes(bytes)),
        bytes => format!(", {} packed", BinaryBytes(bytes)),
    };
    format!("{}{packed}, {stored}{}", copy.codec.shown(), tiled.unwrap_or_default())
}
