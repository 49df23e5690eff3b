//! What root opens for other users to read. A link in a folder, or a name in a list, can lead to any file
//! that root can read. So no other user may be able to change these.
//!
//! | command | what others read |
//! |---|---|
//! | `mount` | the tree, with `allow_other` or `--edit`; its log is opened by `system/output_place.rs` |
//! | `extract` | the files that it writes |
//! | `needs` | the files that it writes with `--extract` |
//! | `pack` | the archives that it writes |
//! | `conflicts` | the pictures and names of a page |
//! | `diff` | the pictures and names of a page |
//! | `thumbnail` | the picture |
//!
//! A test compares this list with the commands that write, and with those that ask.

use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::fs::{Stat, fstat};
use rustix::process::geteuid;

use super::layer_plan::PlannedLayer;
use crate::game::ReadSet;
use crate::system::covered::uncovered;
use crate::system::disk_id::DiskId;
use crate::system::owners::Liars;
use crate::system::place::Place;
use crate::system::root_only::{first_of_others, is_open_to_others, only_root_decides};
use crate::system::walk::is_redirected;
use crate::system::{asleep, paths};
use crate::vfs::error::{OpenError, OpenErrorKind};
use crate::vfs::open_options::OpenOptions;

const BY_OTHERS: &str =
    "another user can change this, so that links and lists in it lead to any file that root can read";

/// Refuses planned layers with folders or lists that another user can change.
pub(crate) fn check_layers(
    layers: &[PlannedLayer],
    read_set: &ReadSet,
    options: &OpenOptions,
) -> Result<(), OpenError> {
    let folders = layers.iter().filter_map(PlannedLayer::folder);
    let read = read_set.files.iter().chain(&read_set.folders).map(PathBuf::as_path);
    check(folders.chain(read), options)?;
    check_lists(read_set.files.iter().map(PathBuf::as_path), options)
}

/// Refuses an archive or a texture to which a link leads that another user can have made, or one of root's
/// that leads to a place of another user. It has no links itself, so it may be any user's.
pub(crate) fn check_file(path: &Path, opened: &File, options: &OpenOptions) -> Result<(), OpenError> {
    let Some(advice) = advice(options) else { return Ok(()) };
    let absolute = paths::absolute(path).unwrap_or_else(|_| path.to_owned());
    // A link of root's counts up to the last folder that root alone decides. Such is `/home` on some systems.
    let is_direct = || {
        let mut liars = Liars::default();
        let theirs = absolute.ancestors().take_while(|path| !only_root_decides(path, &mut liars));
        theirs.map(|path| uncovered(path)).all(|path| !path.is_symlink())
    };
    // The walk follows no link that another user can have made.
    let is_roots_or_direct = match Place::open(&uncovered(&absolute)) {
        Ok(place) => {
            let is_same = |found: &Stat| fstat(opened).is_ok_and(|it| DiskId::from(&it) == found.into());
            let found = place.found().and_then(|found| fstat(found).ok());
            found.as_ref().is_some_and(is_same) && (place.check_only_root_decides().is_ok() || is_direct())
        }
        Err(error) if !is_redirected(&error) => return Err(OpenError::unreadable(path, error)),
        Err(_) => false,
    };
    if is_roots_or_direct {
        return Ok(());
    }
    let why = "another user can change this link, or one on the way, so that it leads to any file";
    Err(refused(path, why, &format!("give the path without links, or {advice}")))
}

/// As [`check_layers`], for the file of a profile, or for a list of names.
pub(crate) fn check_list(file: &Path, options: &OpenOptions) -> Result<(), OpenError> {
    check(std::iter::once(file), options)?;
    check_lists(std::iter::once(file), options)
}

/// Makes the walks of folders leave out links that another user decides: in that user's subfolder, or
/// behind a link of root's to that user's place.
pub(crate) fn limit_links(layers: &mut [PlannedLayer], options: &OpenOptions) {
    if advice(options).is_some() {
        layers.iter_mut().for_each(PlannedLayer::follow_only_roots_links);
    }
}

/// Refuses lists in folders to which others can add names. They were read before, and may have been exchanged
/// since: even in a sticky folder, a user can exchange his own files.
fn check_lists<'a>(
    mut lists: impl Iterator<Item = &'a Path>,
    options: &OpenOptions,
) -> Result<(), OpenError> {
    let Some(advice) = advice(options) else { return Ok(()) };
    let is_in_open = |list: &&Path| {
        let absolute = std::path::absolute(list).unwrap_or_else(|_| list.to_path_buf());
        !asleep::is_at(&absolute) && absolute.parent().is_some_and(is_open_to_others)
    };
    let open = lists.find(is_in_open);
    open.map_or(Ok(()), |list| Err(refused(list, BY_OTHERS, advice)))
}

/// What to do instead, if root opens sources for other users to read.
fn advice(options: &OpenOptions) -> Option<&'static str> {
    options.advice_to_root.filter(|_| geteuid().is_root())
}

fn check<'a>(paths: impl Iterator<Item = &'a Path>, options: &OpenOptions) -> Result<(), OpenError> {
    let Some(advice) = advice(options) else { return Ok(()) };
    let absolute: Vec<PathBuf> =
        paths.map(|path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned())).collect();
    // Of a disk that is asleep, nothing is opened.
    let absolute: Vec<PathBuf> = absolute.into_iter().filter(|path| !asleep::is_at(path)).collect();
    let of_others = first_of_others(absolute.iter().map(PathBuf::as_path));
    let Some((path, other)) = of_others else { return Ok(()) };
    Err(match other.about_disk() {
        Some(about) => refused(path, &about, ""),
        None => refused(path, BY_OTHERS, advice),
    })
}

fn refused(path: &Path, why: &str, advice: &str) -> OpenError {
    let separator = if advice.is_empty() { "" } else { "; " };
    OpenError::new(path, OpenErrorKind::OfOtherUser(format!("{why}{separator}{advice}")))
}
