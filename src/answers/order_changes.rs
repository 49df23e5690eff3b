//! How the mods and plugins of two games differ, and which mod causes the difference of a file.
//!
//! The games may be two profiles, two instances, or one of them at two times. Mods are known by their names,
//! because two instances have them in different folders.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::comparison::{Difference, Groups};
use crate::game::caseless::fold;
use crate::named::named;
use crate::vfs::file::{VfsFile, VfsLayer};
use crate::vfs::library::Vfs;

/// How the lists of two games differ.
pub(crate) struct OrderChanges {
    pub(crate) mods: Vec<ListChange>,
    pub(crate) plugins: Vec<ListChange>,
    before: Mods,
    after: Mods,
    changed: HashMap<String, Listing>,
}

/// A name that only one of two lists has, or that has another place in the second one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListChange {
    pub(crate) name: String,
    pub(crate) what: Listing,
    /// The name before it in the second list, if it moved there and is not the first.
    pub(crate) after: Option<String>,
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub(crate) enum Listing;
    fn in_words;

    /// Only the first list has the name.
    Removed = "removed";
    /// Only the second list has the name.
    Added = "added";
    /// Both have it, but among the names that both have it has another place.
    Moved = "moved";
}

impl Listing {
    /// The first character of a line.
    pub(crate) fn sign(self) -> char {
        match self {
            Self::Removed => '-',
            Self::Added => '+',
            Self::Moved => '~',
        }
    }
}

/// What causes the difference of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub(crate) struct Culprit {
    /// The name of the mod, or of an archive that belongs to none. `None` for the game itself.
    pub(crate) name: Option<String>,
    /// Whether the mod was added, removed or moved. `None` if its own files differ, or which of its archives
    /// are loaded.
    #[serde(rename = "change", skip_serializing_if = "Option::is_none")]
    pub(crate) what: Option<Listing>,
}

impl OrderChanges {
    /// Compares the lists of two sources. `None` unless both are games.
    pub(crate) fn of(a: &Vfs, b: &Vfs) -> Option<Self> {
        if a.game().is_none() || b.game().is_none() {
            return None;
        }
        let (mut before, mut after) = (Mods::of(a), Mods::of(b));
        // A name that is not enough for one game would be another mod's in the other one.
        let twice: HashSet<String> = [&before, &after].into_iter().flat_map(Mods::names_twice).collect();
        before.give_names(&twice);
        after.give_names(&twice);
        let of_kinds = before.names.iter().zip(&after.names);
        let mut mods: Vec<ListChange> = of_kinds.flat_map(|(a, b)| list_changes(a, b)).collect();
        mods.sort_by_key(|change| change.what);
        let plugins = |vfs: &Vfs| [&vfs.order().plugins[..], &vfs.order().groundcover].concat();
        let changed = mods.iter().map(|change| (fold(&change.name), change.what)).collect();
        Some(Self { plugins: list_changes(&plugins(a), &plugins(b)), mods, before, after, changed })
    }

    /// The names of the mods that have a file in the first game and in the second one, if it is there.
    pub(crate) fn mods_of(&self, difference: &Difference) -> [Option<Option<String>>; 2] {
        let before = difference.before.as_ref().map(|file| self.before.name_of(file));
        [before, difference.after.as_ref().map(|file| self.after.name_of(file))]
    }

    /// What causes the difference of a file. The mod that has it now comes before the one that had it.
    pub(crate) fn culprit(&self, difference: &Difference) -> Culprit {
        let [before, after] = self.mods_of(difference);
        let what = |name: &Option<String>| self.changed.get(&fold(name.as_deref()?)).copied();
        let candidates = || [&after, &before].into_iter().flatten();
        let find = |is_one: &dyn Fn(Listing) -> bool| {
            let culprit =
                |name: &Option<String>| Some(Culprit { name: name.clone(), what: Some(what(name)?) });
            candidates().filter_map(culprit).find(|it| it.what.is_some_and(is_one))
        };
        let switched = find(&|what| what != Listing::Moved);
        // A mod that moved has no other files than before.
        let has_other_winner = before.is_some() && after.is_some() && before != after;
        let moved = || find(&|_| has_other_winner);
        let own = || candidates().find_map(Clone::clone);
        switched.or_else(moved).unwrap_or_else(|| Culprit { name: own(), what: None })
    }
}

/// The mods of a game.
struct Mods {
    groups: Groups,
    /// The folders, and the archives that belong to none of them: the number of each, its name, and its name
    /// with that of the folder it is in.
    layers: [Vec<(usize, String, String)>; 2],
    /// The name of each group that is a mod.
    name_of_group: HashMap<usize, String>,
    /// The names, each list in load order, lowest first: folders, archives that belong to none of these, and
    /// what a manager deployed, whose order is not known.
    names: [Vec<String>; 3],
}

impl Mods {
    fn of(vfs: &Vfs) -> Self {
        let order = vfs.order();
        let layers: Vec<VfsLayer> = vfs.layers().collect();
        let groups = Groups::new(layers.clone(), order);
        // Finds what managers deployed.
        for file in vfs.files() {
            groups.of(&file);
        }
        let own: HashSet<_> = order
            .layers
            .iter()
            .filter(|layer| !layer.is_managed && order.installation.is_some())
            .map(|layer| &*layer.path)
            .collect();
        let is_mod = |layer: &&VfsLayer| {
            let number = layer.number();
            let is_of_game = groups.is_of_game(number) || layer.is_folder() && own.contains(layer.path());
            !is_of_game && groups.mod_of(number) == number
        };
        // An archive in the folder of the game is no part of a mod, and is listed as one.
        let (folders, archives): (Vec<&VfsLayer>, Vec<&VfsLayer>) =
            layers.iter().filter(is_mod).partition(|layer| layer.is_folder());
        let name = |layer: &VfsLayer| {
            let name = |path: &std::path::Path| Some(path.file_name()?.to_string_lossy().into_owned());
            let last = name(layer.path()).unwrap_or_default();
            (last.clone(), layer.path().parent().and_then(name).map_or(last.clone(), |it| it + "/" + &last))
        };
        let named = |layer: &VfsLayer| {
            let (short, long) = name(layer);
            (layer.number(), short, long)
        };
        let of_layers = [folders, archives].map(|layers| layers.into_iter().map(named).collect());
        let mut name_of_group = HashMap::new();
        let mut deployed: Vec<String> = Vec::new();
        for group in layers.len()..groups.count() {
            let name = groups.mod_name(group).unwrap_or_default();
            deployed.push(name.clone());
            name_of_group.insert(group, name);
        }
        deployed.sort_by_cached_key(|name| fold(name));
        let names = [Vec::new(), Vec::new(), deployed];
        Self { groups, layers: of_layers, name_of_group, names }
    }

    /// The names that two layers have, in one case.
    fn names_twice(&self) -> Vec<String> {
        let mut names: Vec<String> = self.layers.iter().flatten().map(|(_, short, _)| fold(short)).collect();
        names.sort_unstable();
        names.chunk_by(|a, b| a == b).filter(|same| same.len() > 1).map(|same| same[0].clone()).collect()
    }

    /// Names the layers, those of `twice` with the folder that they are in.
    fn give_names(&mut self, twice: &HashSet<String>) {
        for (layers, names) in self.layers.iter().zip(&mut self.names) {
            for (number, short, long) in layers {
                let name = if twice.contains(&fold(short)) { long } else { short };
                names.push(name.clone());
                self.name_of_group.insert(*number, name.clone());
            }
        }
    }

    fn name_of(&self, file: &VfsFile) -> Option<String> {
        self.name_of_group.get(&self.groups.mod_of(self.groups.of(file))).cloned()
    }
}

/// How two lists of names differ, ignoring case: first what was removed, then what was added and what moved.
fn list_changes(before: &[String], after: &[String]) -> Vec<ListChange> {
    let places = |names: &[String]| -> HashMap<String, usize> {
        // The first of equal names counts.
        names.iter().enumerate().rev().map(|(at, name)| (fold(name), at)).collect()
    };
    let (in_before, in_after) = (places(before), places(after));
    let first = |places: &HashMap<String, usize>, at: usize, name: &str| places.get(&fold(name)) == Some(&at);
    let only = |names: &[String], own: &HashMap<String, usize>, others: &HashMap<String, usize>, what| {
        let names = names.iter().enumerate().filter(|(at, name)| first(own, *at, name));
        let names = names.filter(|(_, name)| !others.contains_key(&fold(name)));
        names.map(|(_, name)| ListChange { name: name.clone(), what, after: None }).collect::<Vec<_>>()
    };
    let mut changes = only(before, &in_before, &in_after, Listing::Removed);
    changes.extend(only(after, &in_after, &in_before, Listing::Added));
    let common: Vec<(usize, usize)> = after
        .iter()
        .enumerate()
        .filter(|(at, name)| first(&in_after, *at, name))
        .filter_map(|(at, name)| Some((at, *in_before.get(&fold(name))?)))
        .collect();
    let stays = longest_rising(&common.iter().map(|(_, place)| *place).collect::<Vec<_>>());
    let moved = common.iter().zip(stays).filter(|(_, stays)| !stays).map(|((at, _), _)| *at);
    let before_it = |at: usize| at.checked_sub(1).and_then(|at| after.get(at)).cloned();
    changes.extend(moved.map(|at| ListChange {
        name: after[at].clone(),
        what: Listing::Moved,
        after: before_it(at),
    }));
    changes
}

/// For each of some different numbers, whether it belongs to a longest sequence of rising ones.
fn longest_rising(numbers: &[usize]) -> Vec<bool> {
    // For each length, the index of the smallest number that ends a sequence of this length.
    let mut ends: Vec<usize> = Vec::new();
    let mut previous: Vec<Option<usize>> = Vec::with_capacity(numbers.len());
    for (index, number) in numbers.iter().enumerate() {
        let length = ends.partition_point(|&end| numbers[end] < *number);
        previous.push(length.checked_sub(1).map(|at| ends[at]));
        if length == ends.len() { ends.push(index) } else { ends[length] = index }
    }
    let mut belongs = vec![false; numbers.len()];
    let mut next = ends.last().copied();
    while let Some(index) = next {
        belongs[index] = true;
        next = previous[index];
    }
    belongs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::LoadOrder;

    fn changes(before: &[&str], after: &[&str]) -> Vec<String> {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let line = |it: &ListChange| {
            let after = it.after.as_ref().map(|after| format!(" after {after}")).unwrap_or_default();
            format!("{} {}{after}", it.what.sign(), it.name)
        };
        list_changes(&names(before), &names(after)).iter().map(line).collect()
    }

    #[test]
    fn few_names_move_and_those_around_stay() {
        assert_eq!(changes(&["a", "b", "c"], &["A", "b", "C"]), [""; 0]);
        assert_eq!(changes(&["a", "b", "c", "d"], &["b", "c", "d", "a"]), ["~ a after d"]);
        assert_eq!(changes(&["a", "b", "c", "d"], &["d", "a", "b", "c"]), ["~ d"]);
        assert_eq!(changes(&["old", "a", "b"], &["b", "new", "A"]), ["- old", "+ new", "~ b"]);
        assert_eq!(changes(&["a", "b"], &["new", "a", "b", "a"]), ["+ new"]);
        assert_eq!(changes(&[], &["a"]), ["+ a"]);
        assert_eq!(changes(&["a", "A"], &[]), ["- a"]);
    }

    #[test]
    fn a_name_that_one_game_has_twice_is_long_in_both() {
        let mods = |folders: &[&str]| {
            let named = |(at, path): (usize, &&str)| {
                let short = path.rsplit('/').next().unwrap_or_default();
                (at, short.to_owned(), (*path).to_owned())
            };
            let layers = [folders.iter().enumerate().map(named).collect(), Vec::new()];
            let groups = Groups::new(Vec::new(), &LoadOrder::default());
            Mods { groups, layers, name_of_group: HashMap::new(), names: Default::default() }
        };
        let (mut before, mut after) =
            (mods(&["ModA/00 Core", "x/B"]), mods(&["ModA/00 Core", "ModB/00 CORE"]));
        let twice: HashSet<String> = [&before, &after].into_iter().flat_map(Mods::names_twice).collect();
        before.give_names(&twice);
        after.give_names(&twice);
        let names = |mods: &Mods| mods.names[0].join(", ");
        assert_eq!(
            (names(&before), names(&after)),
            ("ModA/00 Core, B".into(), "ModA/00 Core, ModB/00 CORE".into())
        );
    }
}
