//! Profiles that `bsafs mount --save-profile` writes, where the systemd unit `bsafs@` looks for them.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use serde::Serialize;

use super::mount_plan::MountPlan;
use super::mount_state::MountOptions;
use crate::cli::exit::{Exit, Failure};
use crate::cli::terminal::output::quoted;
use crate::game::Environment;
use crate::vfs::sources::folder_name;
use crate::vfs::sources::resolve::{self, is_game};

/// A profile as it is written.
#[derive(Debug, Serialize)]
struct SavedProfile {
    mountpoint: String,
    archives: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    options: String,
}

/// Writes a profile of a mount, and never over another; returns what to tell the user. Options are saved where they differ
/// from the defaults.
///
/// # Errors
/// Where a source does not exist or is not understood, where the name is none of an instance of a systemd unit, where a
/// profile of that name exists, and the system's.
pub(crate) fn save(name: &str, plan: &MountPlan) -> Result<String, Failure> {
    let name = name.strip_suffix(".toml").unwrap_or(name);
    check_name(name)?;
    // What cannot be planned now could not be mounted later.
    resolve::plan(&plan.archives, &plan.options.open)?;
    let mut defaults = MountOptions::new();
    defaults.request.fsname.clone_from(&plan.shown_source);
    let profile = SavedProfile {
        mountpoint: text(&mountpoint(plan)?)?,
        archives: plan.archives.iter().map(|source| source_text(source)).collect::<Result<_, _>>()?,
        options: plan.options.text(&defaults),
    };
    let content = toml::to_string_pretty(&profile)
        .map_err(|error| Failure::new(Exit::Io, format!("the profile cannot be written: {error}")))?;
    let folder = Environment::of_process().xdg_config_home.join("bsafs");
    let path = folder.join(format!("{name}.toml"));
    write(&folder, &path, content.as_bytes())?;
    let shown = quoted(&path.to_string_lossy());
    Ok(format!(
        "wrote {shown}\nmount it: bsafs mount {shown}\nat every login: systemctl --user enable --now bsafs@{name}\n"
    ))
}

/// Refuses what systemd would have to escape in the name of a unit, and hidden files.
fn check_name(name: &str) -> Result<(), Failure> {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "_.-".contains(it);
    if name.is_empty() || name.starts_with(['.', '-']) || !name.chars().all(is_plain) {
        let what =
            "the name of a profile has letters, digits, `_`, `-` and `.` alone; it is also that of a unit";
        return Err(Failure::new(Exit::Usage, format!("--save-profile {name}: {what}")));
    }
    Ok(())
}

/// The mountpoint, absolute; without one, the folder that a mount would make here now.
fn mountpoint(plan: &MountPlan) -> Result<PathBuf, Failure> {
    let mountpoint = plan.mountpoint.clone().or_else(|| {
        let mut names = folder_name::candidates(plan.archives.last()?);
        names.find(|name| Path::new(name).symlink_metadata().is_err()).map(PathBuf::from)
    });
    let mountpoint = mountpoint.unwrap_or_else(|| PathBuf::from("mnt"));
    absolute(&mountpoint)
}

/// A source as it is found from every folder; the id of a game stays one.
fn source_text(source: &Path) -> Result<String, Failure> {
    match is_game(source) {
        true => text(source),
        false => text(&absolute(source)?),
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure::io(Exit::NoInput, path, &error))
}

fn text(path: &Path) -> Result<String, Failure> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        let what = format!("{}: a profile is UTF-8, which this path is not; rename it", path.display());
        Failure::new(Exit::NoInput, what)
    })
}

/// Writes a file beside its place, and puts it there once it is whole.
fn write(folder: &Path, path: &Path, content: &[u8]) -> Result<(), Failure> {
    if path.symlink_metadata().is_ok() {
        return Err(exists(path));
    }
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(folder)
        .map_err(|error| Failure::not_made("the folder of profiles", folder, &error))?;
    let part = folder.join(format!(".bsafs-{}", std::process::id()));
    let placed = write_part(&part, content).and_then(|()| place(&part, path));
    placed.map_err(|error| {
        // Another process's file is not removed: this one's has its process id.
        let _ = std::fs::remove_file(&part);
        match error.kind() {
            io::ErrorKind::AlreadyExists => exists(path),
            _ => Failure::not_made("the profile", path, &error),
        }
    })
}

fn write_part(part: &Path, content: &[u8]) -> io::Result<()> {
    let mut file: File = OpenOptions::new().write(true).create_new(true).mode(0o644).open(part)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Renames, but never over another file.
fn place(part: &Path, path: &Path) -> io::Result<()> {
    match renameat_with(CWD, part, CWD, path, RenameFlags::NOREPLACE) {
        // File systems that do not know the flag; they make links instead.
        Err(Errno::INVAL | Errno::NOSYS) => {
            std::fs::hard_link(part, path)?;
            std::fs::remove_file(part)
        }
        placed => Ok(placed?),
    }
}

fn exists(path: &Path) -> Failure {
    let what = "it exists already; choose another name, or remove it first";
    Failure::new(Exit::CannotCreate, format!("{}: {what}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_profile_is_written_whole_beside_its_place_and_never_over_another() {
        let dir = tempfile::TempDir::new().expect("a folder");
        let folder = dir.path().join("config/bsafs");
        let path = folder.join("a.toml");
        write(&folder, &path, b"one").expect("written");
        let failure = write(&folder, &path, b"two").expect_err("refused");
        assert_eq!(failure.exit, Exit::CannotCreate);
        assert!(failure.what.contains("exists already"), "{}", failure.what);
        assert_eq!(fs::read(&path).expect("read"), b"one");
        // One that came since it was looked for.
        let part = folder.join("part");
        fs::write(&part, "three").expect("written");
        assert_eq!(place(&part, &path).expect_err("refused").kind(), io::ErrorKind::AlreadyExists);
        fs::remove_file(&part).expect("removed");
        assert_eq!(fs::read_dir(&folder).expect("read").count(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_name_that_a_unit_would_have_to_escape_is_refused() {
        for name in ["", ".hidden", "-q", "a/b", "../a", "a b", "größe", "a\n"] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        assert!(check_name("skyrim-se_2.0").is_ok());
    }
}
