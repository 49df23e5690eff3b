//! The files that a command works on: all, or those that paths and patterns name.

use std::borrow::Cow;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::answers::question::{Meant, hidden_by};
use crate::answers::unseen::unseen_about;
use crate::cli::exit::{Exit, Failure};
use crate::cli::terminal::unseen::UNMATCHED;
use crate::format::is_archive_name;
use crate::kinds::{self, MOHIDDEN};
use crate::note::Note;
use crate::shown::{Shown, quoted};
use crate::vfs::sources::profile::{Profile, is_game};
use crate::vfs::{Patterns, Vfs, VfsFile};

/// Patterns for paths.
#[derive(Args, Debug, Default)]
pub(crate) struct Selection {
    /// Select only files whose path matches this pattern, ignoring case
    ///
    /// `*` and `?` match within one name, and `**` also matches across folders. A pattern without a slash
    /// matches file names instead of paths.
    #[arg(short, long, value_name = "PATTERN")]
    glob: Vec<String>,
}

impl Selection {
    pub(crate) fn patterns(&self) -> Result<Patterns, Failure> {
        Patterns::new(&self.glob).map_err(|error| Failure::new(Exit::Usage, format!("--glob: {error}")))
    }

    /// The patterns, for paths in a game.
    pub(crate) fn patterns_in_game(&self) -> Result<Patterns, Failure> {
        Patterns::in_game(&self.glob).map_err(|error| Failure::new(Exit::Usage, format!("--glob: {error}")))
    }

    /// Splits arguments into the sources, and the files in them that the other arguments and `--glob` select.
    pub(crate) fn split<'a>(
        &self,
        arguments: &'a [PathBuf],
    ) -> Result<(&'a [PathBuf], Selected<'a>), Failure> {
        self.split_at(arguments, sources(arguments))
    }

    /// As [`split`](Self::split), with so many sources.
    pub(crate) fn split_at<'a>(
        &self,
        arguments: &'a [PathBuf],
        sources: usize,
    ) -> Result<(&'a [PathBuf], Selected<'a>), Failure> {
        let (sources, inside) = arguments.split_at(sources);
        let (patterns, paths): (Vec<&Path>, Vec<&Path>) =
            inside.iter().map(PathBuf::as_path).partition(|argument| is_pattern(argument));
        let patterns: Vec<_> = patterns.into_iter().map(|it| it.to_string_lossy()).collect();
        let named = Patterns::new(&patterns).map_err(|error| Failure::new(Exit::Usage, error.to_string()))?;
        let given = self.glob.iter().map(|glob| format!("--glob {glob}"));
        let given = given.chain(patterns.iter().map(|it| it.shown().to_string())).collect();
        let unmatched = self.glob.iter().cloned().chain(patterns.into_iter().map(Cow::into_owned)).collect();
        let (globs, missing, takes_hidden) = (self.patterns()?, paths.clone(), false);
        Ok((sources, Selected { globs, named, paths, given, takes_hidden, missing, unmatched }))
    }
}

/// The files that arguments select, and which of the arguments no tree has had so far.
pub(crate) struct Selected<'a> {
    /// The patterns of `--glob`.
    globs: Patterns,
    /// The patterns among the arguments.
    named: Patterns,
    /// The paths of files and folders among the arguments.
    paths: Vec<&'a Path>,
    /// The patterns, for messages.
    given: Vec<String>,
    /// Whether the path of a hidden copy selects the file that hides it.
    takes_hidden: bool,
    /// The paths that no tree had.
    missing: Vec<&'a Path>,
    /// The patterns that no path matched.
    unmatched: Vec<String>,
}

impl<'a> Selected<'a> {
    /// Lets the path of any copy on the disk select the file.
    pub(crate) fn of_any_copy(self) -> Self {
        Self { takes_hidden: true, ..self }
    }

    /// The selected files of a tree, ordered by path without regard to case.
    pub(crate) fn files_among(&mut self, vfs: &Vfs) -> Vec<VfsFile> {
        let found = self.paths.iter().map(|path| (*path, self.find(vfs, path)));
        let found: Vec<(&Path, SelectedPath)> =
            found.flat_map(|(path, named)| named.into_iter().map(move |it| (path, it))).collect();
        self.missing.retain(|path| found.iter().all(|(known, _)| known != path));
        if self.has_several() && !self.unmatched.is_empty() {
            let paths: Vec<String> = vfs.files().map(|file| file.path()).collect();
            self.match_paths(paths.iter().map(String::as_str));
        }
        let mut files = vfs.select(&self.globs);
        if !self.paths.is_empty() || self.named.len() > 0 {
            let is_named =
                |file: &VfsFile| self.named.len() > 0 && self.named.select(file) || is_below(file, &found);
            files.retain(is_named);
        }
        files
    }

    /// Takes note of paths that the patterns may match.
    pub(crate) fn match_paths<'p>(&mut self, paths: impl Iterator<Item = &'p str> + Clone) {
        let of_both = [&self.globs, &self.named].map(|it| it.unmatched(paths.clone()));
        self.unmatched.retain(|pattern| of_both.iter().flatten().any(|it| it == pattern));
    }

    /// What was not looked at of a tree, as far as it may be among the selected files.
    pub(crate) fn unseen<'v>(&self, vfs: &'v Vfs) -> Vec<&'v Note> {
        if self.only_paths().is_empty() {
            return vfs.unseen().collect();
        }
        self.paths.iter().flat_map(|path| unseen_about(vfs, path)).collect()
    }

    /// Fails if no tree has a path, or if the patterns select none of their `files`. Files of the same name
    /// are suggested from a tree.
    pub(crate) fn check(&self, files: usize, vfs: Option<&Vfs>) -> Result<(), Failure> {
        if let Some(path) = self.missing.first() {
            let what = vfs.and_then(|vfs| hidden_copy(vfs, path)).unwrap_or_else(|| {
                let alike = vfs.map(|vfs| same_names(vfs, &path.to_string_lossy())).unwrap_or_default();
                format!("no such source, and no such file or folder in the sources{alike}")
            });
            return Err(Failure::new(Exit::NoInput, format!("{}: {what}", path.shown())));
        }
        if files > 0 || self.given.is_empty() {
            return Ok(());
        }
        // In a shell, `folder/*` also names folders, so users expect what is in them.
        let is_of_folder = |pattern: &String| pattern.replace('\\', "/").ends_with("/*");
        let deeper = if self.given.iter().any(is_of_folder) { DEEPER } else { "" };
        Err(Failure::new(Exit::No, format!("{}: {UNMATCHED}{deeper}", self.given.join(" "))))
    }

    /// The patterns that match no file of any tree, if they are not all that selects files.
    pub(crate) fn unmatched(&self) -> impl Iterator<Item = &str> {
        self.unmatched.iter().filter(|_| self.has_several()).map(String::as_str)
    }

    fn has_several(&self) -> bool {
        self.given.len() + self.paths.len() > 1
    }

    /// The paths that the user named.
    pub(crate) fn paths(&self) -> &[&'a Path] {
        &self.paths
    }

    /// The file or folder that a path means, or the files that have a name.
    fn find(&self, vfs: &Vfs, path: &Path) -> Vec<SelectedPath> {
        match Meant::find(vfs, path) {
            Ok(Meant::Copy(copy)) if !self.takes_hidden && hidden_by(vfs, &copy).is_some() => Vec::new(),
            Ok(Meant::Copy(copy)) => vec![SelectedPath::File(copy.path())],
            Ok(Meant::Folder(folder)) => vec![SelectedPath::Folder(folder.path())],
            Err(several) => several.into_iter().map(SelectedPath::File).collect(),
        }
    }

    /// Whether only some files are selected.
    pub(crate) fn is_limited(&self) -> bool {
        !self.given.is_empty() || !self.paths.is_empty()
    }

    /// What an answer is about, such as `textures/weapons`. `None` if it is about all files.
    pub(crate) fn in_words(&self) -> Option<String> {
        let paths = self.paths.iter().map(|path| path.shown().to_string());
        let words: Vec<String> = paths.chain(self.given.iter().cloned()).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// The paths of the selected files and folders; empty if there are none or if patterns select files.
    pub(crate) fn only_paths(&self) -> &[&'a Path] {
        if self.given.is_empty() { &self.paths } else { &[] }
    }
}

const DEEPER: &str = ", and `/**` instead of `/*` also matches in folders below";

/// The number of arguments that are sources. What follows are paths and patterns in them.
pub(crate) fn sources(arguments: &[PathBuf]) -> usize {
    // The first one always is a source. It is not looked up here, because it may be in a mount whose daemon
    // hangs.
    // Beside an archive, the name of another one that is not there is rather a mistake than a file in it.
    let is_archive = |it: &Path| is_archive_name(it.as_os_str().as_bytes()) && !is_pattern(it);
    let of_archive = arguments.first().is_some_and(|it| is_archive(it));
    let is_one = |argument: &PathBuf| is_source(argument) || of_archive && is_archive(argument);
    let last = arguments.iter().skip(1).rposition(is_one);
    last.map_or(1, |last| last + 2).min(arguments.len())
}

/// Whether an argument after the first is a source: a game, or something on the disk that may be one. The
/// name of an archive that is not there is that of one in the sources.
pub(crate) fn is_source(argument: &Path) -> bool {
    let is_on_disk = || argument.symlink_metadata().is_ok() && !is_file_of_game(argument);
    is_game(argument) || is_on_disk()
}

/// Refuses a last source that is probably meant as the destination, which `option` names: an empty folder, or
/// the folder of another source.
pub(crate) fn refuse_destination(sources: &[PathBuf], option: &str) -> Result<(), Failure> {
    let Some((last, others)) = sources.split_last().filter(|(_, others)| !others.is_empty()) else {
        return Ok(());
    };
    let is_empty = std::fs::read_dir(last).is_ok_and(|mut entries| entries.next().is_none());
    let (folder, paths) = (last.canonicalize().ok(), others.iter().filter(|other| !is_game(other)));
    let mut paths = paths.filter_map(|other| other.canonicalize().ok());
    let what = match folder {
        Some(_) if is_empty => "the last source is an empty folder",
        Some(folder) if paths.any(|path| path.parent() == Some(&folder)) => {
            "the last source is the folder that another source is in"
        }
        _ => return Ok(()),
    };
    let last = quoted(&last.to_string_lossy());
    Err(Failure::new(Exit::Usage, format!("{last}: {what}; to write to it: {option} {last}")))
}

/// Adds to an error that the last of several arguments, if nothing has this name, may be meant as the
/// destination, which `option` names.
pub(crate) fn destination_hint(mut failure: Failure, arguments: &[PathBuf], option: &str) -> Failure {
    let [_, .., last] = arguments else { return failure };
    let is_missing = last.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound);
    let may_be_folder = !is_pattern(last) && (last.extension().is_none() || last.is_absolute());
    let is_about_it = failure.what.starts_with(&format!("{}: ", last.shown()));
    if is_missing && may_be_folder && is_about_it {
        let last = quoted(&last.to_string_lossy());
        failure.what += &format!("\nTo write to a new folder of this name: {option} {last}");
    }
    failure
}

/// Whether something on the disk is a file that is no source but may be in one.
pub(crate) fn is_file_of_game(path: &Path) -> bool {
    let name = path.as_os_str().as_bytes();
    (kinds::is_only_of_games(name) || kinds::ends(name, &[MOHIDDEN])) && path.is_file()
}

/// Splits the arguments of a command that also takes files in mounts. There are no sources if the first
/// argument is a file in a mount, or if no path follows.
pub(crate) fn split_if_sources(arguments: &[PathBuf]) -> (&[PathBuf], &[PathBuf]) {
    let count = sources(arguments);
    let is_named = |first: &PathBuf| {
        let is_file = is_archive_name(first.as_os_str().as_bytes()) || Profile::is_one(first);
        is_file || is_game(first) || first.is_dir()
    };
    let has_sources = count < arguments.len() && arguments.first().is_some_and(is_named);
    arguments.split_at(if has_sources { count } else { 0 })
}

/// The files that one pattern selects.
pub(crate) fn matches(vfs: &Vfs, pattern: &Path) -> Result<Vec<VfsFile>, Failure> {
    let patterns = Patterns::new([pattern.to_string_lossy()]);
    Ok(vfs.select(&patterns.map_err(|error| Failure::new(Exit::Usage, error.to_string()))?))
}

/// Whether an argument is a pattern. Brackets make none, because names of mods and files contain them.
pub(crate) fn is_pattern(argument: &Path) -> bool {
    argument.as_os_str().as_bytes().iter().any(|byte| matches!(byte, b'*' | b'?'))
}

/// A file or folder in the sources that the user named.
enum SelectedPath {
    File(String),
    Folder(String),
}

/// That a path is one of a hidden copy, which a command does not read in place of the file that hides it.
pub(crate) fn hidden_copy(vfs: &Vfs, path: &Path) -> Option<String> {
    let Meant::Copy(copy) = Meant::find(vfs, path).ok()? else { return None };
    let (winner, path) = (hidden_by(vfs, &copy)?, copy.path());
    let by = winner.layer().path().shown().to_string();
    Some(format!("{by} hides this copy; {} is the path of the file that wins", path.shown()))
}

/// Whether a file was named, or is in a folder that was.
fn is_below(file: &VfsFile, named: &[(&Path, SelectedPath)]) -> bool {
    if named.is_empty() {
        return false;
    }
    let path = file.path();
    named.iter().any(|(_, named)| match named {
        SelectedPath::File(named) => path == *named,
        SelectedPath::Folder(named) if named.is_empty() => true,
        SelectedPath::Folder(named) => path.strip_prefix(named).is_some_and(|rest| rest.starts_with('/')),
    })
}

// Paths to suggest for a path that does not exist: those of files with the same name.

/// Maximum number of paths that are suggested.
const SHOWN: usize = 4;

/// The end of an error about a path that is not in the tree; empty if no file has its name.
pub(crate) fn same_names(vfs: &Vfs, path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let is_alike = |path: &String| path.rsplit('/').next().is_some_and(|it| it.eq_ignore_ascii_case(name));
    let mut found: Vec<String> = vfs.files().map(|file| file.path()).filter(is_alike).collect();
    found.sort_unstable();
    let more = match found.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("\n  and {more} more"),
    };
    match found.len() {
        0 => String::new(),
        _ => {
            let shown = found.iter().take(SHOWN).map(|path| format!("\n  {}", path.shown()));
            format!("; files with this name:{}{more}", shown.collect::<String>())
        }
    }
}
