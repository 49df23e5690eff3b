//! Sources with their options, in which profiles are replaced by what they name.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::for_others;
use super::profile::Profile;
use crate::folder::OnlyPaths;
use crate::note::Note;
use crate::shown::excerpt;
use crate::system::asleep;
use crate::vfs::error::OpenError;
use crate::vfs::open_options::{Layout, OpenOptions};
use crate::vfs::trouble::Trouble;

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
            for_others::check_profile(&profile.file, &of_check)?;
            Ok(profile)
        })
    }

    /// Like [`SourceSet::new`], while an earlier view of the sources is served. A profile that is gone names
    /// no sources, and one that cannot be used stays as it was; `troubles` says so. `last` has each profile
    /// as it was last used.
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
                for_others::check_profile(&profile.file, &of_check)?;
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
        let Expanded { paths, named_by, unseen, profiles } = Expanded::with(sources, read)?;
        let mut lower = OpenOptions::default();
        for profile in &profiles {
            set_options(&mut lower, profile)?;
        }
        let mut options = options.merged_over(lower);
        options.unseen = unseen;
        options.within =
            named_by.iter().map(|&source| options.within.get(source).cloned().flatten()).collect();
        Ok(Self { paths, options })
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
