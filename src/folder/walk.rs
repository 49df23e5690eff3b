//! What a walk through a folder found.

use super::filter::Filter;
use super::location::Locations;
use super::loose_names::LooseNames;
use super::notes::Notes;

/// What a walk found. It does not depend on the path by which the folder was reached.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    pub(super) filter: Filter,
    pub(super) names: LooseNames,
    pub(super) locations: Locations,
    pub(super) notes: Notes,
}
