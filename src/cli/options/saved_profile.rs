//! Profiles that `bsafs mount --save-profile` writes. The systemd unit `bsafs@` reads them there.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::option_table::MountOptions;
use crate::cli::exit::{Exit, Failure};
use crate::shown::{Shown, quoted};
use crate::system::output_place::OutputPlace;
use crate::system::paths;
use crate::system::walk::Missing;
use crate::vfs::sources::profile::{is_game, saved_folder};
use crate::vfs::sources::{folder_name, resolve};

/// A profile in the form in which it is written.
#[derive(Debug, Serialize)]
struct SavedProfile {
    mountpoint: String,
    archives: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    options: String,
}

/// Writes a profile of a mount, and returns the message for the user. Never overwrites a profile. `sources`
/// are those to open, without profiles.
///
/// # Errors
/// A source does not exist or is not understood, the name cannot be a systemd instance, a profile
/// of that name exists, or the system failed.
pub(crate) fn save(
    name: &str,
    sources: &[PathBuf],
    named_mountpoint: Option<&Path>,
    options: &MountOptions,
) -> Result<String, Failure> {
    let name = name.strip_suffix(".toml").unwrap_or(name);
    check_name(name)?;
    // A mount that cannot be planned now would fail later.
    resolve::plan(sources, &options.open)?;
    let profile = SavedProfile {
        mountpoint: text(&mountpoint(sources, named_mountpoint)?)?,
        archives: sources.iter().map(|source| source_text(source)).collect::<Result<_, _>>()?,
        options: options.text(|_| true),
    };
    let content = toml::to_string_pretty(&profile)
        .map_err(|error| Failure::new(Exit::Io, format!("cannot write the profile: {error}")))?;
    let path = saved_folder().join(format!("{name}.toml"));
    write(&path, content.as_bytes())?;
    let shown = quoted(&path.to_string_lossy());
    Ok(format!(
        "wrote {shown}\nmount it: bsafs mount {name}\n\
         at every login: systemctl --user enable --now bsafs@{name}\n"
    ))
}

/// Refuses names of hidden files, and names that systemd would have to escape in a unit name.
fn check_name(name: &str) -> Result<(), Failure> {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "_.-".contains(it);
    if name.is_empty() || name.starts_with(['.', '-']) || !name.chars().all(is_plain) {
        let what = "the name of a profile has only ASCII letters, digits, `_`, `-` and `.`, and does not \
                    begin with `-` or `.`";
        return Err(Failure::new(Exit::Usage, format!("--save-profile {name}: {what}")));
    }
    if is_game(Path::new(name)) {
        let what = "this is the name of a game, which `bsafs mount` would mount; choose another name";
        return Err(Failure::new(Exit::Usage, format!("--save-profile {name}: {what}")));
    }
    Ok(())
}

/// The absolute mountpoint. If none is named, the folder that a mount would make now, in the current folder.
fn mountpoint(sources: &[PathBuf], named: Option<&Path>) -> Result<PathBuf, Failure> {
    let mountpoint = named.map(Path::to_owned).or_else(|| {
        let mut names = folder_name::candidates(sources.last()?);
        names.find(|name| Path::new(name).symlink_metadata().is_err()).map(PathBuf::from)
    });
    let mountpoint = mountpoint.unwrap_or_else(|| PathBuf::from("mnt"));
    absolute(&mountpoint)
}

/// A source as an absolute path, so that it is valid in any current folder. The id of a game stays an id.
fn source_text(source: &Path) -> Result<String, Failure> {
    if is_game(source) { text(source) } else { text(&absolute(source)?) }
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    paths::absolute(path).map_err(|error| Failure::io(Exit::NoInput, path, &error))
}

fn text(path: &Path) -> Result<String, Failure> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        let what =
            format!("{}: a profile cannot contain this path, which is not UTF-8; rename it", path.shown());
        Failure::new(Exit::NoInput, what)
    })
}

/// Writes a file, but never over another one. Missing folders are made.
fn write(path: &Path, content: &[u8]) -> Result<(), Failure> {
    let place = OutputPlace::of(path, Missing::Make)
        .map_err(|error| Failure::not_made("the folder of the profile", path, &error))?;
    place.create(content).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => exists(path),
        _ => Failure::not_made("the profile", path, &error),
    })
}

fn exists(path: &Path) -> Failure {
    let what = "the profile exists already; choose another name, or remove it first";
    Failure::new(Exit::CannotCreate, format!("{}: {what}", path.shown()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_saved_profile_is_complete_and_never_overwrites_another() {
        let dir = tempfile::TempDir::new().expect("cannot create the folder");
        let path = dir.path().join("config/bsafs/a.toml");
        write(&path, b"one").expect("cannot write");
        let failure = write(&path, b"two").expect_err("the profile was overwritten");
        assert_eq!(failure.exit, Exit::CannotCreate);
        assert!(failure.what.contains("exists already"), "{}", failure.what);
        assert_eq!(fs::read(&path).expect("cannot read"), b"one");
        // A link to nothing takes the name, too.
        let link = dir.path().join("config/bsafs/link.toml");
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), &link).expect("cannot make a link");
        assert!(write(&link, b"two").is_err_and(|failure| failure.what.contains("exists already")));
        assert!(!dir.path().join("elsewhere").exists());
        let files = fs::read_dir(dir.path().join("config/bsafs")).expect("cannot read").count();
        assert_eq!(files, 2, "a temporary file was left behind");
    }

    #[test]
    fn a_profile_name_that_systemd_would_escape_is_refused() {
        for name in ["", ".hidden", "-q", "a/b", "../a", "a b", "größe", "a\n"] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        assert!(check_name("skyrim-se_2.0").is_ok());
        assert!(check_name("skyrimse").is_err_and(|failure| failure.what.contains("name of a game")));
    }
}
