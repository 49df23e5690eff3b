//! Sources with their options, in which profiles are replaced by what they name.

use std::path::{Path, PathBuf};

use super::profile::Profile;
use crate::vfs::error::OpenError;
use crate::vfs::options::{Layout, OpenOptions};

/// Sources and options. A set plans and opens the same layers for every command.
#[derive(Clone, Debug, Default)]
pub(crate) struct SourceSet {
    /// The sources in load order, without profiles.
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) options: OpenOptions,
}

/// Sources in which profiles are replaced by what they name.
#[derive(Debug, Default)]
pub(crate) struct Expanded {
    /// The sources in load order.
    pub(crate) paths: Vec<PathBuf>,
    /// The profiles among the sources, in their order.
    pub(crate) profiles: Vec<Profile>,
}

impl Expanded {
    /// Reads the profiles among the sources.
    pub(crate) fn new(sources: &[PathBuf]) -> Result<Self, OpenError> {
        let mut expanded = Self::default();
        for source in sources {
            if !Profile::is_one(source) {
                expanded.paths.push(source.clone());
                continue;
            }
            let mut profile = Profile::read(source)?;
            expanded.paths.append(&mut profile.archives);
            expanded.profiles.push(profile);
        }
        Ok(expanded)
    }
}

impl SourceSet {
    /// Replaces profiles by what they name. `options` outrank those of profiles, and a later
    /// profile outranks an earlier one. Options that only concern a mount are ignored.
    pub(crate) fn new(sources: &[PathBuf], options: OpenOptions) -> Result<Self, OpenError> {
        let Expanded { paths, profiles } = Expanded::new(sources)?;
        let mut lower = OpenOptions::default();
        for profile in &profiles {
            for (name, value) in profile.options() {
                lower.set(&name, &value, &profile.parent).map_err(|what| {
                    OpenError::profile(&profile.parent, format!("-o {name}={value}: {what}"))
                })?;
            }
        }
        Ok(Self { paths, options: options.merged_over(lower) })
    }

    /// A set with only this path, and with the same options.
    pub(crate) fn only(&self, path: &Path) -> Self {
        Self { paths: vec![path.to_owned()], ..self.clone() }
    }

    /// The set as one tree, even if a profile sets another layout.
    pub(crate) fn in_one_tree(mut self) -> Self {
        self.options.layout = Some(Layout::Union);
        self
    }
}
