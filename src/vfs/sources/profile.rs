//! Profiles: files that describe a mount, for fstab and systemd, where a list of archives does not
//! fit on a line.
//!
//! ```toml
//! mountpoint = "~/mnt/skyrim"
//! archives = ["Skyrim - *.bsa", "MyMod.bsa", "Loose files"] # the last one wins
//! folder = "/games/Skyrim Special Edition/Data"             # where they are; default: beside the profile
//! options = "xattr,names=list.txt"                          # as after -o; lists are beside the profile
//! ```
//!
//! Every command takes a profile and its options, except for options that only concern a mount.
//!
//! A profile may have come with a mod. So it decides where and with which permissions something is
//! mounted only if it is in the user's or the system's folder of profiles. Other profiles decide only
//! what is shown.
//!
//! `archives` takes the same sources as `mount`: archives, folders, ids of games, instances of Mod
//! Organizer 2, openmw.cfg. A file name with `*` or `?` stands for the matching files in its folder,
//! ignoring case, ordered by name.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::{GlobBuilder, GlobSetBuilder};
use rustix::fs::stat;
use rustix::process::geteuid;
use serde::Deserialize;

use super::for_others;
use crate::folder::OnlyPaths;
use crate::format::is_archive_extension;
use crate::game::{Disk, Environment, InstanceName, title};
use crate::limits::{PROFILE_MATCHES_MAX, PROFILE_MAX, PROFILE_SOURCES_MAX};
use crate::note::Note;
use crate::shown::{Shown, excerpt};
use crate::system::covered::Covered;
use crate::system::mountinfo::ForeignMounts;
use crate::system::owners::may_others_add;
use crate::system::paths::enters_any;
use crate::system::{asleep, whole_file};
use crate::vfs::error::{OpenError, OpenErrorKind};
use crate::vfs::open_options::{Layout, OpenOptions, expand_home, is_path, placed};
use crate::vfs::trouble::Trouble;

/// A mount as a profile describes it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    /// The sources in load order. The last one wins.
    pub(crate) archives: Vec<PathBuf>,
    /// The mountpoint, unless the command line names one. `None` if the profile may not decide it.
    pub(crate) mountpoint: Option<PathBuf>,
    /// The folder that contains the archives.
    folder: Option<PathBuf>,
    /// Options as written after `-o`.
    #[serde(default)]
    options: String,
    /// The folder of the profile's file.
    #[serde(skip)]
    pub(crate) parent: PathBuf,
    /// The profile's file, as it was named.
    #[serde(skip)]
    pub(crate) file: PathBuf,
    /// Whether the file is in a folder of profiles. Otherwise a stranger may have written it.
    #[serde(skip)]
    pub(crate) is_own: bool,
    /// What matches a pattern of the profile, and could not be looked at.
    #[serde(skip)]
    pub(crate) unseen: Vec<Note>,
    /// Whether a mountpoint was removed, which this profile may not decide.
    #[serde(skip)]
    names_mountpoint: bool,
}

/// Options that any profile may set, because they only decide what is shown, or take permissions away.
/// The others decide the place or the permissions, cost memory, or hide damage (`force`, `salvage`).
const OF_ANY_PROFILE: &str = "\
    archives encoding exact game_dir ini layout mo2_profile names noatime noexec nosymfollow plugins \
    precedence prefix static textures xattr";

/// The folder of the profiles that root writes for all users.
const SYSTEM_FOLDER: &str = "/etc/bsafs";

impl Profile {
    /// Whether a source is a profile, by its extension.
    pub(crate) fn is_one(source: &Path) -> bool {
        source.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
    }

    /// Whether a path has the extension of a profile, or of an archive.
    pub(crate) fn is_called_source(path: &Path) -> bool {
        let is_archive = |extension: &std::ffi::OsStr| is_archive_extension(extension.as_encoded_bytes());
        Self::is_one(path) || path.extension().is_some_and(is_archive)
    }

    /// The file of a saved profile that the user named as systemd's `bsafs@NAME` does. `None` if there is
    /// none, or if the name is that of a game or of something on the disk.
    pub(crate) fn saved(source: &Path) -> Option<PathBuf> {
        let is_name = |name: &&str| !name.contains('/') && !name.starts_with('.') && title(name).is_none();
        let name = source.to_str().filter(is_name)?;
        let file = saved_folder().join(format!("{name}.toml"));
        (name != PLACES && source.symlink_metadata().is_err() && file.is_file()).then_some(file)
    }

    /// The names of the saved profiles, in order.
    pub(crate) fn saved_names() -> Vec<String> {
        let entries = std::fs::read_dir(saved_folder()).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> =
            names.filter_map(|name| Some(name.strip_suffix(".toml")?.to_owned())).collect();
        names.retain(|name| name != PLACES);
        names.sort_unstable();
        names
    }

    /// Reads a profile. Its paths are made absolute, or relative to the current folder if `path` is relative.
    pub(crate) fn read(path: &Path) -> Result<Self, OpenError> {
        let own = place_among_own(path);
        // An own profile is read where it is, because another user may exchange a folder on the way.
        let bytes = whole_file::read(own.as_deref().unwrap_or(path), PROFILE_MAX)
            .map_err(|error| OpenError::unreadable(path, error))?;
        let text = String::from_utf8(bytes).map_err(|_| OpenError::profile(path, "it is not UTF-8"))?;
        let parent = path.parent().unwrap_or(Path::new(""));
        let mut profile = Self::parse(&text, parent).map_err(|error| OpenError::profile(path, error))?;
        path.clone_into(&mut profile.file);
        profile.is_own = own.is_some();
        profile.check_answers()?;
        let mut archives = Vec::with_capacity(profile.archives.len());
        let mut matching = Matching::new(path);
        for archive in profile.archives {
            if has_pattern(&archive) {
                archives.append(&mut matching.files(&archive)?)
            } else {
                archives.push(archive)
            }
            if archives.len() > PROFILE_SOURCES_MAX {
                let what = format!("it names more than {PROFILE_SOURCES_MAX} sources; name a folder instead");
                return Err(OpenError::profile(path, what));
            }
        }
        if let Some(other) = archives.iter().find(|it| Self::is_one(it)) {
            let what = "a profile cannot name another profile; list the sources of that one instead";
            let other = other.to_string_lossy();
            return Err(OpenError::profile(path, format!("{}: {what}", excerpt(&other))));
        }
        profile.archives = archives;
        profile.unseen = matching.disk.take_unseen(&[]);
        if !profile.is_own {
            profile.names_mountpoint = profile.mountpoint.take().is_some();
        }
        Ok(profile)
    }

    /// Fails if the profile names a place in a FUSE mount of another user, whose daemon may never answer. The
    /// user did not name it himself now. Nothing is looked up in the mount.
    fn check_answers(&self) -> Result<(), OpenError> {
        let foreign = ForeignMounts::now();
        if foreign.is_empty() {
            return Ok(());
        }
        let options = self.options();
        let of_options = options.iter().filter(|(name, _)| is_path(name));
        let of_options = of_options.map(|(name, value)| PathBuf::from(placed(name, value, &self.parent)));
        let mut named = self.archives.iter().chain(&self.mountpoint).cloned().chain(of_options);
        let is_in_one = |path: &PathBuf| {
            let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            !is_game(path) && enters_any(&foreign, &absolute)
        };
        named.find(is_in_one).map_or(Ok(()), |path| {
            let what = format!(
                "it is in a FUSE mount of another user, whose program may never answer, so the profile {} \
                 may not name it; give it on the command line, or copy it to a disk",
                self.file.shown()
            );
            Err(OpenError::new(&path, OpenErrorKind::OfOtherUser(what)))
        })
    }

    /// The options that the profile may set, as names and values, uninterpreted. The value of a flag is
    /// empty.
    pub(crate) fn options(&self) -> Vec<(String, String)> {
        let mut options = split_options(&self.options);
        options.retain(|(name, _)| self.is_own || may_any_profile_set(name));
        options
    }

    /// The options that only the user's own profiles may set, whether or not this is one.
    pub(crate) fn options_of_own(&self) -> Vec<(String, String)> {
        let mut options = split_options(&self.options);
        options.retain(|(name, _)| !may_any_profile_set(name));
        options
    }

    /// Whether the profile names a mountpoint, which counts only if the profile may decide it.
    pub(crate) fn names_mountpoint(&self) -> bool {
        self.names_mountpoint || self.mountpoint.is_some()
    }

    fn parse(text: &str, parent: &Path) -> Result<Self, String> {
        let mut profile: Self = toml::from_str(text).map_err(|error| what_is_wrong(text, &error))?;
        if profile.archives.is_empty() {
            return Err("`archives` is empty; name at least one source".into());
        }
        let folder = profile
            .folder
            .take()
            .map_or_else(|| parent.to_owned(), |folder| parent.join(expand_home(folder)));
        for archive in &mut profile.archives {
            if !is_game(archive) {
                *archive = folder.join(expand_home(std::mem::take(archive)));
            }
        }
        profile.parent = parent.to_owned();
        profile.mountpoint = profile.mountpoint.map(|mountpoint| parent.join(expand_home(mountpoint)));
        Ok(profile)
    }
}

/// Whether a source is the id of a game, or the name of an instance of Mod Organizer 2, and not a path.
pub(crate) fn is_game(source: &Path) -> bool {
    source.to_str().is_some_and(|it| title(it).is_some() || InstanceName::parse(it).is_some())
}

/// The folder of the profiles that `bsafs mount --save-profile` writes.
pub(crate) fn saved_folder() -> PathBuf {
    Environment::of_process().xdg_config_home.join("bsafs")
}

/// The folders in which a profile decides where and with which rights something is mounted.
pub(crate) fn own_folders() -> [PathBuf; 2] {
    [saved_folder(), PathBuf::from(SYSTEM_FOLDER)]
}

/// The place of a profile in one of [`own_folders`], without links on the way. `None` if it is elsewhere. A
/// link in such a folder is no own profile, nor is a link to one: a mod decides the other end of the link.
/// The folder itself may be a link, and the file may have other names, because the owner of the folder made
/// them; but another user must not be able to write there. Root does not ask that here, because a mount of
/// root refuses such a profile, and says so.
fn place_among_own(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?;
    let folder = path.parent().filter(|it| *it != Path::new("")).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().ok()?;
    let is_own = own_folders().iter().any(|own| own.canonicalize().is_ok_and(|own| own == folder));
    let place = folder.join(name);
    let user = geteuid();
    let is_safe = |path: &Path| user.is_root() || stat(path).is_ok_and(|it| !may_others_add(&it, user));
    let is_file = || place.symlink_metadata().is_ok_and(|it| it.is_file());
    (is_own && is_file() && is_safe(&folder) && is_safe(&place)).then_some(place)
}

fn may_any_profile_set(name: &str) -> bool {
    OF_ANY_PROFILE.split(' ').any(|it| it == name)
}

/// The file in the folder of saved profiles that lists places of games.
const PLACES: &str = "places";

/// Names the place of an error, and what is wrong. It does not quote the line: root may read the profile
/// of a user, which may be a link to a file that only root may read.
fn what_is_wrong(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("line {line}, column {column}: {}", excerpt(error.message()))
}

/// Splits the text after `-o` at commas, and each option at its `=`. `\,` is a comma within a value, and so
/// is a comma in the quotes in which mount(8) passes a label of SELinux: `context="…:c1,c2"`.
pub(crate) fn split_options(options: &str) -> Vec<(String, String)> {
    let mut parts = vec![String::new()];
    let mut characters = options.chars();
    while let Some(character) = characters.next() {
        let is_label = |part: &String| part.ends_with("context=");
        match character {
            ',' => parts.push(String::new()),
            '"' if parts.last().is_some_and(is_label) => {
                let label: String = characters.by_ref().take_while(|character| *character != '"').collect();
                parts.last_mut().into_iter().for_each(|last| last.push_str(&label));
            }
            _ => {
                let character = if character == '\\' { characters.next().unwrap_or('\\') } else { character };
                if let Some(last) = parts.last_mut() {
                    last.push(character);
                }
            }
        }
    }
    let pair = |part: String| match part.split_once('=') {
        Some((name, value)) => (name.to_owned(), value.to_owned()),
        None => (part, String::new()),
    };
    // A profile may have a blank after a comma. A value keeps its blanks.
    let without_blanks = |(name, value): (String, String)| (name.trim().to_owned(), value);
    let options = parts.into_iter().map(pair).map(without_blanks);
    options.filter(|(name, value)| !(name.is_empty() && value.is_empty())).collect()
}

/// Whether a path's file name is a pattern. Names on Windows cannot contain `*` or `?`. On Linux
/// they can, so an existing file of that name is no pattern.
fn has_pattern(path: &Path) -> bool {
    let has = path.file_name().is_some_and(|name| name.to_string_lossy().contains(['*', '?']));
    has && path.symlink_metadata().is_err()
}

/// Finds the files that the patterns of a profile match.
struct Matching<'p> {
    profile: &'p Path,
    disk: Disk,
    /// The folder that was listed last. Most patterns of a profile are in one folder.
    listed: Option<(PathBuf, Vec<OsString>)>,
    /// How many names were compared, or listed.
    cost: usize,
}

impl<'p> Matching<'p> {
    /// Listing a name takes as long as comparing it with this many patterns.
    const LISTING_COST: usize = 8;

    fn new(profile: &'p Path) -> Self {
        Self { profile, disk: Disk::beneath(Covered::of_process()), listed: None, cost: 0 }
    }

    /// The files that match a pattern, ordered by name.
    fn files(&mut self, pattern: &Path) -> Result<Vec<PathBuf>, OpenError> {
        let name = pattern.file_name().unwrap_or_default().to_string_lossy();
        // Only `*` and `?` are special, because names of mods contain brackets.
        let literal: String = name.chars().map(bracketed).collect();
        let glob = GlobBuilder::new(&literal).case_insensitive(true).backslash_escape(false).build();
        // Unlike a single matcher, a set reports a pattern that is too long instead of panicking.
        let matcher = glob.and_then(|glob| GlobSetBuilder::new().add(glob).build());
        let matcher =
            matcher.map_err(|error| OpenError::profile(self.profile, excerpt(&error.to_string())))?;
        let folder = pattern.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        let listed = match self.listed.take().filter(|(listed, _)| listed == folder) {
            Some((_, names)) => names,
            None => {
                let unreadable = |error| OpenError::unreadable(folder, error);
                let entries = self.disk.entries(folder).map_err(unreadable)?;
                let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
                let names: Vec<OsString> = names.collect::<Result<_, _>>().map_err(unreadable)?;
                self.pay(names.len().saturating_mul(Self::LISTING_COST))?;
                names
            }
        };
        self.pay(listed.len())?;
        let mut names: Vec<&OsString> = listed.iter().filter(|name| matcher.is_match(name)).collect();
        names.sort_by_cached_key(|name| (name.to_ascii_lowercase(), *name));
        let mut matching = names.into_iter().map(|name| folder.join(name)).collect::<Vec<_>>().into_iter();
        let found: Vec<PathBuf> = matching.clone().filter(|path| self.disk.is_named_file(path)).collect();
        self.listed = Some((folder.to_owned(), listed));
        if found.is_empty() {
            let unread = matching.find_map(|path| Some((self.disk.metadata(&path).err()?, path)));
            if let Some((error, path)) = unread {
                return Err(OpenError::unreadable(&path, error));
            }
            let pattern = pattern.to_string_lossy();
            let what = format!("no file matches {}; correct or remove this pattern", excerpt(&pattern));
            return Err(OpenError::not_found(self.profile, what));
        }
        Ok(found)
    }

    fn pay(&mut self, cost: usize) -> Result<(), OpenError> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost <= PROFILE_MATCHES_MAX {
            return Ok(());
        }
        let what = format!(
            "its patterns would be compared with names more than {PROFILE_MATCHES_MAX} times; name fewer, or \
             the folder"
        );
        Err(OpenError::profile(self.profile, what))
    }
}

/// A character of a pattern, put into brackets if it would be special.
fn bracketed(character: char) -> String {
    match character {
        '[' | ']' | '{' | '}' => format!("[{character}]"),
        _ => character.to_string(),
    }
}

// Sources with their options, in which profiles are replaced by what they name. `open.rs` opens a set.

/// Sources and options. A set plans and opens the same layers for every command.
#[derive(Clone, Debug, Default)]
pub(crate) struct SourceSet {
    /// The sources in load order, without profiles.
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) options: OpenOptions,
}

impl SourceSet {
    /// The set for some paths only. `None` if the paths of the tree are not those in its sources.
    pub(crate) fn limited(&self, only: OnlyPaths) -> Option<Self> {
        let mut set = self.clone();
        set.options.only = Some(Arc::new(only));
        (self.options.layout == Layout::Union).then_some(set)
    }
}

/// Sources in which profiles are replaced by what they name.
#[derive(Debug, Default)]
pub(crate) struct Expanded {
    /// The sources in load order.
    pub(crate) paths: Vec<PathBuf>,
    /// For each path, the number of the source that stands for it.
    named_by: Vec<usize>,
    /// What the patterns of profiles match, and what could not be looked at.
    pub(crate) unseen: Vec<Note>,
    /// The profiles among the sources, in their order.
    pub(crate) profiles: Vec<Profile>,
}

impl Expanded {
    pub(crate) fn new(sources: &[PathBuf]) -> Result<Self, OpenError> {
        Self::with(sources, &mut Profile::read)
    }

    fn with(
        sources: &[PathBuf],
        read: &mut dyn FnMut(&Path) -> Result<Profile, OpenError>,
    ) -> Result<Self, OpenError> {
        let mut expanded = Self::default();
        for (number, source) in sources.iter().enumerate() {
            if Profile::is_one(source) {
                let mut profile = read(source)?;
                expanded.unseen.append(&mut profile.unseen);
                expanded.paths.append(&mut profile.archives);
                expanded.profiles.push(profile);
            } else {
                expanded.paths.push(source.clone());
            }
            expanded.named_by.resize(expanded.paths.len(), number);
        }
        Ok(expanded)
    }
}

impl SourceSet {
    /// Replaces profiles by what they name. `options` outrank those of profiles, and a later
    /// profile outranks an earlier one. Options that only concern a mount are ignored.
    pub(crate) fn new(sources: &[PathBuf], options: OpenOptions) -> Result<Self, OpenError> {
        let of_check = options.clone();
        Self::with(sources, options, &mut |path| {
            let profile = Profile::read(path)?;
            for_others::check_list(&profile.file, &of_check)?;
            Ok(profile)
        })
    }

    /// Like [`SourceSet::new`], while an earlier view of the sources is served. A profile that is gone
    /// names no sources, and a profile that cannot be used stays as it was; `troubles` says so. `last`
    /// has each profile as it was last used.
    ///
    /// # Errors
    /// A profile was never used and cannot be used now.
    pub(crate) fn again(
        sources: &[PathBuf],
        options: OpenOptions,
        last: &mut HashMap<PathBuf, Profile>,
        troubles: &mut Vec<Trouble>,
    ) -> Result<Self, OpenError> {
        let of_check = options.clone();
        Self::with(sources, options, &mut |path| {
            let is_asleep = |then: &Profile| {
                [path].into_iter().chain(then.archives.iter().map(PathBuf::as_path)).any(asleep::is_at)
            };
            let read = match last.get(path).filter(|then| is_asleep(then)) {
                Some(_) => Err(OpenError::unreadable(path, asleep::error())),
                None => Profile::read(path),
            };
            let read = read.and_then(|profile| {
                for_others::check_list(&profile.file, &of_check)?;
                set_options(&mut OpenOptions::default(), &profile)?;
                Ok(profile)
            });
            match (read, last.get(path)) {
                (Ok(profile), _) => {
                    last.insert(path.to_owned(), profile.clone());
                    Ok(profile)
                }
                (Err(error), None) => Err(error),
                (Err(error), Some(then)) => {
                    let trouble = Trouble::of(path, &error, true);
                    let mut profile = then.clone();
                    if trouble.is_left_out() {
                        profile.archives.clear();
                    }
                    troubles.push(trouble);
                    Ok(profile)
                }
            }
        })
    }

    fn with(
        sources: &[PathBuf],
        options: OpenOptions,
        read: &mut dyn FnMut(&Path) -> Result<Profile, OpenError>,
    ) -> Result<Self, OpenError> {
        let Expanded { paths, named_by, mut unseen, profiles } = Expanded::with(sources, read)?;
        let is_mounted = |source: usize| options.are_mounted.get(source) == Some(&true);
        let (mut there, mut sources) = (Vec::with_capacity(paths.len()), Vec::with_capacity(paths.len()));
        for (path, source) in paths.into_iter().zip(named_by) {
            let may_fail = is_mounted(source) && !is_game(&path);
            match may_fail.then(|| Trouble::of_path(&path)).flatten() {
                Some(trouble) => unseen.push(trouble.note()),
                None => {
                    there.push(path);
                    sources.push(source);
                }
            }
        }
        let mut lower = OpenOptions::default();
        for profile in &profiles {
            set_options(&mut lower, profile)?;
        }
        let mut options = options.merged_over(lower);
        options.unseen = unseen;
        options.within =
            sources.iter().map(|&source| options.within.get(source).cloned().flatten()).collect();
        Ok(Self { paths: there, options })
    }

    /// Each source as a set with only this source.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&Path, Self)> {
        self.paths.iter().enumerate().map(|(index, path)| {
            let within = self.options.within.get(index).into_iter().cloned().collect();
            let mut options = self.options.clone();
            options.within = within;
            (path.as_path(), Self { paths: vec![path.clone()], options })
        })
    }

    /// A set with only this path, and with the same options.
    pub(crate) fn only(&self, path: &Path) -> Self {
        Self { paths: vec![path.to_owned()], ..self.clone() }
    }
}

fn set_options(options: &mut OpenOptions, profile: &Profile) -> Result<(), OpenError> {
    for (name, value) in profile.options() {
        options.set(&name, &value, &profile.parent).map_err(|what| {
            let option = format!("{name}={value}");
            OpenError::profile(&profile.file, format!("-o {}: {}", excerpt(&option), excerpt(&what)))
        })?;
    }
    Ok(())
}
