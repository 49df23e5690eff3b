//! The sources and options of a command, with its profiles expanded.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::slice;

use rustix::process::geteuid;

use super::mount_as_source::UnderlyingSources;
use super::option_table::{MountOptions, is_ignored};
use crate::cli::exit::{Exit, Failure};
use crate::cli::terminal::progress;
use crate::note::Note;
use crate::shown::Shown;
use crate::system::root_only::first_other_user;
use crate::vfs::sources::for_others;
use crate::vfs::sources::profile::{Expanded, Profile, SourceSet, own_folders};
use crate::vfs::{OpenOptions, Vfs};

/// Sources in which profiles are replaced by what they name, and the settings of those profiles.
#[derive(Debug)]
pub(crate) struct NamedSources {
    /// The sources, in load order.
    pub(crate) paths: Vec<PathBuf>,
    /// The mountpoint of the first profile that has one.
    pub(crate) mountpoint: Option<PathBuf>,
    pub(crate) options: MountOptions,
    /// What the patterns of profiles match, and what could not be looked at.
    pub(crate) unseen: Vec<Note>,
    profiles: Vec<Profile>,
}

impl NamedSources {
    /// Replaces profiles by the sources that they name. Options of profiles outrank `options`, and
    /// a later profile outranks an earlier one.
    pub(crate) fn new(sources: &[PathBuf], mut options: MountOptions) -> Result<Self, Failure> {
        let Expanded { paths, unseen, profiles, .. } = Expanded::new(sources)?;
        let mountpoint = profiles.iter().find_map(|profile| profile.mountpoint.clone());
        for profile in &profiles {
            // A mistake in an option that has no effect is reported, too.
            MountOptions::new().add_all(&profile.options_of_own(), &profile.parent)?;
            options.add_all(&profile.options(), &profile.parent)?;
        }
        Ok(Self { paths, mountpoint, options, unseen, profiles })
    }

    /// Fails if root opens the sources for other users, and another user can change a profile.
    pub(crate) fn check_for_others(&self, options: &OpenOptions) -> Result<(), Failure> {
        let mut files = self.profiles.iter().map(|profile| &*profile.file);
        Ok(files.try_for_each(|file| for_others::check_list(file, options))?)
    }

    /// Fails if this is a mount of root, and a profile that another user can change decides what only root
    /// may decide. The command line `names_mountpoint` if it does not leave that to a profile.
    pub(crate) fn check_for_root(&self, names_mountpoint: bool) -> Result<(), Failure> {
        if !geteuid().is_root() {
            return Ok(());
        }
        for profile in &self.profiles {
            let Some(setting) = settings_of_own(profile, names_mountpoint).into_iter().next() else {
                continue;
            };
            let file = std::path::absolute(&profile.file).unwrap_or_else(|_| profile.file.clone());
            if first_other_user(&file).is_some() {
                let what = "another user can change this profile, so root must give this on the command line";
                let what = format!("{}: {setting}: {what}", profile.file.shown());
                return Err(Failure::new(Exit::NoPermission, what));
            }
        }
        Ok(())
    }

    /// Fails if a profile that a stranger may have written leaves open where to mount, or asks for another
    /// user, whom root does not become for it.
    pub(crate) fn check_for_strangers(&self, names_mountpoint: bool) -> Result<(), Failure> {
        let Some(strangers) = self.profiles.iter().find(|profile| !profile.is_own) else { return Ok(()) };
        let path = strangers.file.shown();
        if !names_mountpoint && self.mountpoint.is_none() {
            let what = format!("{path}: give a folder to mount on after it; {}", only_own_decide());
            return Err(Failure::new(Exit::Usage, what));
        }
        // Without it, the daemon would have more rights than the profile's author wanted.
        let mut options = self.profiles.iter().filter(|it| !it.is_own).flat_map(Profile::options_of_own);
        if !options.any(|(name, _)| name == "setuid") {
            return Ok(());
        }
        let what = format!("{path}: -o setuid: give this on the command line; {}", only_own_decide());
        Err(Failure::new(Exit::NoPermission, what))
    }

    /// Says which settings have no effect, because a stranger may have written their profile.
    pub(crate) fn warn_of_strangers(&self, names_mountpoint: bool) {
        self.warn_of(|profile| settings_of_own(profile, names_mountpoint));
    }

    /// As [`NamedSources::warn_of_strangers`], for mountpoints alone.
    pub(crate) fn warn_of_strange_mountpoints(&self) {
        self.warn_of(|profile| {
            profile.names_mountpoint().then(|| "mountpoint".to_owned()).into_iter().collect()
        });
    }

    fn warn_of(&self, settings: impl Fn(&Profile) -> Vec<String>) {
        for profile in self.profiles.iter().filter(|profile| !profile.is_own) {
            let mut ignored = settings(profile);
            let mut seen = HashSet::new();
            ignored.retain(|setting| seen.insert(setting.clone()));
            if !ignored.is_empty() {
                let (path, ignored) = (profile.file.shown(), ignored.join(", "));
                let advice = "add what you want to the command line";
                log::warn!("{path}: ignored: {ignored}; {}; {advice}", only_own_decide());
            }
        }
    }
}

/// What a profile sets that only the user's own profiles may set. The command line `names_mountpoint` if it
/// does not leave that to a profile.
fn settings_of_own(profile: &Profile, names_mountpoint: bool) -> Vec<String> {
    let options = profile.options_of_own().into_iter().map(|(name, _)| name);
    let mut settings: Vec<String> =
        options.filter(|name| !is_ignored(name)).map(|name| format!("-o {name}")).collect();
    if profile.names_mountpoint() && !names_mountpoint {
        settings.push("mountpoint".to_owned());
    }
    settings
}

/// Which profiles decide where and how something is mounted.
fn only_own_decide() -> String {
    let [user, system] = own_folders();
    format!(
        "only a profile that is a file, and no link, in {} or {} decides where and with which rights to \
         mount",
        user.shown(),
        system.shown()
    )
}

/// The sources of a command that mounts nothing. Profile options that only affect mounts have no effect.
/// A mount of bsafs stands for its own sources.
pub(crate) fn source_set(sources: &[PathBuf], options: OpenOptions) -> Result<SourceSet, Failure> {
    let mut unmounted = UnderlyingSources::new(sources)?;
    // Unknown options of profiles are errors. A mount leaves out what it cannot read.
    let read = |source: &PathBuf| NamedSources::new(slice::from_ref(source), MountOptions::new()).map(drop);
    let has_mount = unmounted.are_mounted.contains(&true);
    let left_out = unmounted.leave_out(read)?;
    let mut options = options.merged_over(unmounted.options.open.clone());
    options.progress = Some(progress::steps);
    options.within.clone_from(&unmounted.within);
    options.are_mounted.clone_from(&unmounted.are_mounted);
    let mut set = SourceSet::new(&unmounted.paths, options)?;
    set.options.unseen.extend(left_out);
    if let (true, true, Some(note)) = (has_mount, set.paths.is_empty(), set.options.unseen.first()) {
        let what = format!("no source of this mount can be opened: {}: {note}", note.subject.shown());
        let named = sources.first().map_or(Path::new(""), PathBuf::as_path).shown();
        let what = format!("{named}: {what}; name other sources instead");
        return Err(Failure::new(Exit::NoInput, what));
    }
    unmounted.check_layout(set.options.layout)?;
    Ok(set)
}

/// Opens the sources of a command that looks at some paths in them, as [`Vfs::open_for`] does.
pub(crate) fn open_sources_for<'p>(
    sources: &[PathBuf],
    options: OpenOptions,
    paths: impl Iterator<Item = &'p Path> + Clone,
) -> Result<Vfs, Failure> {
    let paths = paths.map(|path| path.as_os_str().as_bytes());
    Ok(Vfs::open_for(&source_set(sources, options)?, paths)?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::vfs::Layout;

    #[test]
    fn flags_override_profiles_and_later_profiles_override_earlier_ones() {
        let dir = tempfile::TempDir::new().expect("cannot create the folder");
        let profile = |name: &str, options: &str| {
            let path = dir.path().join(name);
            fs::write(&path, format!("archives = ['{name}.bsa']\noptions = '{options}'"))
                .expect("cannot write");
            path
        };
        let one = profile("one.toml", "encoding=1250,prefix=a,ini=a.ini,names=a.txt,uid=7,force");
        let two = profile("two.toml", "encoding=1251,prefix=b,ini=b.ini,mo2_profile=P,layout=per-archive");
        let sources = [one, PathBuf::from("c.bsa"), two];
        let inside = |names: &[&str]| names.iter().map(|name| dir.path().join(name)).collect::<Vec<_>>();
        let set = source_set(&sources, OpenOptions::default()).unwrap_or_else(|it| panic!("{}", it.what));
        assert_eq!(
            set.paths,
            [inside(&["one.toml.bsa"]), vec!["c.bsa".into()], inside(&["two.toml.bsa"])].concat()
        );
        assert_eq!(set.options.code_page().name(), "windows-1251");
        assert_eq!(set.options.overrides.prefix.as_deref(), Some(&*dir.path().join("b")));
        assert_eq!(
            (set.options.overrides.inis, set.options.names),
            (inside(&["a.ini", "b.ini"]), inside(&["a.txt"]))
        );
        // A profile that is in no folder of profiles does not decide whether damage is hidden.
        assert_eq!((set.options.layout, set.options.force), (Layout::PerArchive, false));

        // A flag also outranks profiles if its value is the default.
        let open = OpenOptions::new().with("encoding", "1252").with("ini", "c.ini");
        let set = source_set(&sources, open.layout(Layout::Union)).unwrap_or_else(|it| panic!("{}", it.what));
        assert_eq!(set.options.code_page().name(), "windows-1252");
        assert_eq!(set.options.overrides.inis.last(), Some(&"c.ini".into()));
        assert_eq!(
            (set.options.layout, set.options.overrides.mo2_profile.as_deref()),
            (Layout::Union, Some("P"))
        );
    }
}
