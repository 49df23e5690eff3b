//! Profiles: files that describe a mount, for fstab and systemd, where a list of archives does not fit on a line.
//!
//! ```toml
//! mountpoint = "~/mnt/skyrim"
//! archives = ["Skyrim - Meshes0.bsa", "Skyrim - Textures0.bsa"]   # the last one wins
//! folder = "/games/Skyrim Special Edition/Data"                    # where they are; default: beside the profile
//! options = "xattr,names=list.txt"                                 # as after -o; lists are beside the profile
//! ```
//!
//! What a user names on the command line can stand in `archives`, so folders and games too:
//! `archives = ["skyrimse", "~/mods/Mine.bsa"]`.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::exit::{Exit, Failure};
use crate::game::title;

/// A mount as a file describes it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(super) struct Profile {
    /// The archives in load order, the last of which wins.
    pub(super) archives: Vec<PathBuf>,
    /// Where to mount them, unless the command line says.
    pub(super) mountpoint: Option<PathBuf>,
    /// Where the archives are.
    folder: Option<PathBuf>,
    /// As after `-o`.
    #[serde(default)]
    pub(super) options: String,
    /// The folder of the profile's file.
    #[serde(skip)]
    pub(super) parent: PathBuf,
}

impl Profile {
    /// Whether a source is a profile and not an archive.
    pub(super) fn is_one(source: &Path) -> bool {
        source.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
    }

    /// Reads a profile; its paths come back absolute, or relative to the current folder if the profile's was.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let metadata = std::fs::metadata(path).map_err(|error| Failure::io(Exit::NoInput, path, &error))?;
        if !metadata.is_file() && !metadata.is_dir() {
            // Reading a pipe would block until somebody writes to it.
            return Err(Failure::new(Exit::NoInput, format!("{}: not a regular file", path.display())));
        }
        let text = std::fs::read_to_string(path).map_err(|error| Failure::io(Exit::NoInput, path, &error))?;
        let parent = path.parent().unwrap_or(Path::new(""));
        Self::parse(&text, parent)
            .map_err(|error| Failure::new(Exit::Usage, format!("{}: {error}", path.display())))
    }

    fn parse(text: &str, parent: &Path) -> Result<Self, String> {
        let mut profile: Self =
            toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        if profile.archives.is_empty() {
            return Err("it names no archives".into());
        }
        let folder = profile
            .folder
            .take()
            .map_or_else(|| parent.to_owned(), |folder| parent.join(expand_home(folder)));
        for archive in &mut profile.archives {
            // The id of a game is no path.
            if archive.to_str().and_then(title).is_none() {
                *archive = folder.join(expand_home(std::mem::take(archive)));
            }
        }
        profile.parent = parent.to_owned();
        profile.mountpoint = profile.mountpoint.map(|mountpoint| parent.join(expand_home(mountpoint)));
        Ok(profile)
    }
}

/// Replaces a leading `~` by the home folder, as a shell does.
pub(super) fn expand_home(path: PathBuf) -> PathBuf {
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_in_their_folder_and_the_mountpoint_beside_the_profile() {
        let text = "archives = ['a.bsa', '/b.bsa']\nfolder = 'Data'\nmountpoint = 'mnt'\noptions = 'xattr'";
        let profile = Profile::parse(text, Path::new("/etc/bsafs")).expect("a profile");
        assert_eq!(profile.archives, [PathBuf::from("/etc/bsafs/Data/a.bsa"), "/b.bsa".into()]);
        assert_eq!(profile.mountpoint, Some("/etc/bsafs/mnt".into()));
        assert_eq!((profile.options.as_str(), profile.parent), ("xattr", "/etc/bsafs".into()));
    }

    #[test]
    fn a_misspelt_key_is_named() {
        let error =
            Profile::parse("archives = ['a.bsa']\nmountpiont = 'x'", Path::new("")).expect_err("refused");
        assert!(error.contains("mountpiont"), "{error}");
    }

    #[test]
    fn a_leading_tilde_is_the_home_folder() {
        assert_eq!(expand_home("~/x".into()), std::env::home_dir().expect("a home").join("x"));
        assert_eq!(expand_home("/~/x".into()), PathBuf::from("/~/x"));
    }
}
