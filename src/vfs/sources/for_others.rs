//! What root opens for other users to read: a mount with `allow_other`, an overlay, extracted files. A link
//! in a folder, or a name in a list, can lead to any file that root can read. So no other user may be able to
//! change these.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::layer_plan::PlannedLayer;
use super::profile::Profile;
use super::resolve::OpenPlan;
use crate::system::covered::uncovered;
use crate::system::paths;
use crate::system::root_only::first_of_others;
use crate::vfs::error::{OpenError, OpenErrorKind};
use crate::vfs::options::OpenOptions;

/// Refuses a plan with folders or lists that another user can change. Archives may be any user's, because
/// they have no links.
pub(crate) fn check_plan(plan: &OpenPlan, options: &OpenOptions) -> Result<(), OpenError> {
    let folders = plan.layers.iter().filter_map(PlannedLayer::folder);
    let read = plan.read_set.files.iter().chain(&plan.read_set.folders).map(PathBuf::as_path);
    check(folders.chain(read), options)
}

/// As [`check_plan`], for profiles.
pub(crate) fn check_profiles(profiles: &[Profile], options: &OpenOptions) -> Result<(), OpenError> {
    check(profiles.iter().map(|profile| &*profile.file), options)
}

fn check<'a>(paths: impl Iterator<Item = &'a Path>, options: &OpenOptions) -> Result<(), OpenError> {
    let Some(advice) = options.advice_to_root.filter(|_| geteuid().is_root()) else { return Ok(()) };
    // What this process has mounted over was checked before, and must not be entered.
    let uncovered = paths.filter(|path| matches!(uncovered(path), Cow::Borrowed(_)));
    let absolute: Vec<PathBuf> =
        uncovered.map(|path| paths::absolute(path).unwrap_or_else(|_| path.to_owned())).collect();
    let of_others = first_of_others(absolute.iter().map(PathBuf::as_path));
    of_others.map_or(Ok(()), |path| Err(OpenError::new(path, OpenErrorKind::OfOtherUser(advice))))
}
