//! Folders of loose files as layers: their names, and Oblivion's rule of dates.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use bsafs::folder::{Filter, LooseFolder, OpenFiles, scan};
use bsafs::tree::{self, LayerNames, MergeLayer, NodeId, Rule, Tree};
use proptest::prelude::*;
use tempfile::TempDir;

use super::{entry_of, everything, id, layer};

fn folder(root: &Path, paths: &[&[u8]]) -> LooseFolder {
    use std::os::unix::ffi::OsStrExt;
    for path in paths {
        let path = root.join(std::ffi::OsStr::from_bytes(path));
        if path.as_os_str().as_bytes().ends_with(b"/") {
            fs::create_dir_all(path).unwrap();
        } else {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, b"x").unwrap();
        }
    }
    scan(root, &Filter::default(), &Arc::new(OpenFiles::default())).unwrap()
}

fn listed(tree: &Tree) -> Vec<String> {
    everything(tree).into_iter().map(|(path, _)| path).collect()
}

#[test]
fn a_loose_file_hides_an_archived_file_in_any_case() {
    let disk = TempDir::new().unwrap();
    let loose = folder(disk.path(), &[b"Textures/A.dds", b"Empty/"]);
    let layers = vec![
        layer(&["textures/a.dds", "textures/b.dds"], None),
        LayerNames::of_folder(loose.names(), None).unwrap(),
    ];
    let tree = tree::merge(layers, Rule::LastWins).unwrap();
    assert_eq!(listed(&tree), ["Empty", "textures", "textures/A.dds", "textures/b.dds"]);
    let node = tree.resolve(b"TEXTURES\\a.DDS").unwrap();
    assert_eq!(entry_of(&tree, node), Some(id(1, 0)));
    assert_eq!(tree.hidden(node).iter().map(|it| it.entry).collect::<Vec<_>>(), [id(0, 0)]);
    assert_eq!(tree.stored_name(node), b"Textures/A.dds");
    let time = |path: &[u8]| tree.folder_time(tree.resolve(path).unwrap());
    let modified = fs::metadata(disk.path().join("Empty")).unwrap().modified().unwrap();
    assert_eq!(time(b"empty"), Some(modified));
    assert!(time(b"textures").is_some());
    assert_eq!(tree.folder_time(NodeId::ROOT), Some(fs::metadata(disk.path()).unwrap().modified().unwrap()));
}

#[test]
fn unsafe_names_are_escaped_and_keep_their_stored_names() {
    let disk = TempDir::new().unwrap();
    let stored: [&[u8]; 4] = [b"a\\b.txt", b"caf\xC3\xA9.txt", b"d\xE9/line\nbreak", b"d\xE9/plain.txt"];
    let loose = folder(disk.path(), &stored);
    for base in [None, Some("Mod")] {
        let tree =
            tree::merge(vec![LayerNames::of_folder(loose.names(), base).unwrap()], Rule::LastWins).unwrap();
        let prefix = base.map_or(String::new(), |base| format!("{base}/"));
        let names = ["a%5Cb.txt", "caf\u{e9}.txt", "d%E9/line%0Abreak", "d%E9/plain.txt"];
        for (name, stored) in names.iter().zip(stored) {
            let node = tree.resolve(format!("{prefix}{name}").as_bytes());
            let node = node.unwrap_or_else(|| panic!("no {name} in {:?}", listed(&tree)));
            assert_eq!(tree.stored_name(node), stored, "{name}");
        }
    }
}

#[test]
fn spellings_of_a_folder_are_merged_and_equal_names_get_numbers() {
    let disk = TempDir::new().unwrap();
    let loose = folder(disk.path(), &[b"Meshes/a.nif", b"meshes/A.NIF", b"meshes/b.nif"]);
    let tree =
        tree::merge(vec![LayerNames::of_folder(loose.names(), None).unwrap()], Rule::LastWins).unwrap();
    assert_eq!(listed(&tree), ["Meshes", "Meshes/A (2).NIF", "Meshes/a.nif", "Meshes/b.nif"]);
    let second = tree.resolve(b"meshes/a (2).nif").unwrap();
    assert_eq!(tree.stored_name(second), b"meshes/A.NIF");
}

fn merged_layer(paths: &[&str]) -> MergeLayer {
    layer(paths, None).into()
}

/// A name, the layers (loose or not, and a time), and the layers' numbers with the winner first.
type Case = (&'static str, &'static [(bool, i64)], &'static [u16]);

/// Numbers of the layers, winner first, when one path is merged by the rule of dates.
fn by_dates(layers: &[(bool, i64)]) -> Vec<u16> {
    let merged = layers.iter().map(|&(is_loose, time)| {
        let layer = merged_layer(&["a.dds"]);
        if is_loose { layer.modified_each(vec![time]) } else { layer.modified(time) }
    });
    let tree = tree::merge(merged.collect(), Rule::Dates).unwrap();
    let node = tree.resolve(b"a.dds").unwrap();
    let hidden = tree.hidden(node).iter().map(|it| it.entry.layer);
    entry_of(&tree, node).into_iter().map(|it| it.layer).chain(hidden).collect()
}

#[test]
fn the_highest_archive_that_is_not_older_hides_a_loose_file() {
    const LOOSE: bool = true;
    const ARCHIVE: bool = false;
    let cases: [Case; 7] = [
        ("newer than all archives", &[(ARCHIVE, 10), (ARCHIVE, 20), (LOOSE, 21)], &[2, 1, 0]),
        ("as old as one", &[(ARCHIVE, 10), (ARCHIVE, 20), (LOOSE, 20)], &[1, 2, 0]),
        ("the highest archive is older than it", &[(ARCHIVE, 30), (ARCHIVE, 10), (LOOSE, 20)], &[0, 2, 1]),
        ("older than all", &[(ARCHIVE, 30), (ARCHIVE, 40), (LOOSE, 20)], &[1, 0, 2]),
        ("no loose file", &[(ARCHIVE, 30), (ARCHIVE, 10)], &[1, 0]),
        ("no archive", &[(LOOSE, 1), (LOOSE, 0)], &[1, 0]),
        ("the date of the highest loose file counts", &[(ARCHIVE, 10), (LOOSE, 5), (LOOSE, 20)], &[2, 1, 0]),
    ];
    for (what, layers, winners) in cases {
        assert_eq!(by_dates(layers), winners, "{what}");
    }
}

#[test]
fn dates_are_compared_separately_for_each_path() {
    let archive = merged_layer(&["new.dds", "old.dds"]).modified(50);
    let loose = merged_layer(&["new.dds", "old.dds", "only.dds"]).modified_each(vec![60, 40, 1]);
    let tree = tree::merge(vec![archive, loose], Rule::Dates).unwrap();
    let winner = |path: &str| entry_of(&tree, tree.resolve(path.as_bytes()).unwrap());
    assert_eq!(winner("new.dds"), Some(id(1, 0)));
    assert_eq!(winner("old.dds"), Some(id(0, 1)));
    assert_eq!(winner("only.dds"), Some(id(1, 2)));
}

#[test]
fn dates_are_compared_only_within_each_game() {
    let names = &["a.dds", "b.dds"];
    let archive = |game| merged_layer(names).modified(10).of_game(game);
    let loose = |game, times: [i64; 2]| merged_layer(names).modified_each(times.into()).of_game(game);
    // The upper game hides the lower one completely, whatever the dates of the lower one.
    let games = vec![loose(0, [90, 90]), archive(0), loose(1, [20, 5]), archive(1)];
    let tree = tree::merge(games, Rule::Dates).unwrap();
    let layers = |path: &str| {
        let node = tree.resolve(path.as_bytes()).unwrap();
        let hidden = tree.hidden(node).iter().map(|it| it.entry.layer);
        entry_of(&tree, node).into_iter().map(|it| it.layer).chain(hidden).collect::<Vec<_>>()
    };
    assert_eq!(layers("a.dds"), [2, 3, 0, 1]);
    assert_eq!(layers("b.dds"), [3, 2, 0, 1]);
}

#[test]
fn layers_without_dates_win_by_their_position() {
    let names = &["a.dds"];
    let archive = |time| merged_layer(names).modified(time);
    let loose = |time| merged_layer(names).modified_each(vec![time]);
    let winners = |layers| {
        let tree = tree::merge(layers, Rule::Dates).unwrap();
        let node = tree.resolve(b"a.dds").unwrap();
        let hidden = tree.hidden(node).iter().map(|it| it.entry.layer);
        entry_of(&tree, node).into_iter().map(|it| it.layer).chain(hidden).collect::<Vec<_>>()
    };
    let other = || merged_layer(names);
    assert_eq!(winners(vec![loose(10), archive(20), other()]), [2, 1, 0], "above");
    assert_eq!(winners(vec![archive(20), loose(10), other()]), [2, 0, 1], "above a dated pair");
    assert_eq!(winners(vec![other(), archive(20), loose(10)]), [1, 2, 0], "below");
    assert_eq!(winners(vec![other(), archive(10), loose(20)]), [2, 1, 0], "below a newer loose file");
    assert_eq!(
        winners(vec![other(), archive(20), loose(10), other(), other()]),
        [4, 3, 1, 2, 0],
        "above and below"
    );
}

#[test]
fn excluded_files_of_an_archive_are_neither_listed_nor_hidden() {
    let archive = merged_layer(&["Textures\\A.dds", "textures\\b.dds", "c.dds"]);
    let left_out = |path: &[u8]| path == b"textures/a.dds" || path == b"c.dds";
    let layers = vec![archive.without(left_out), merged_layer(&["c.dds"])];
    let tree = tree::merge(layers, Rule::LastWins).unwrap();
    assert_eq!(listed(&tree), ["c.dds", "Textures", "Textures/b.dds"]);
    assert_eq!(entry_of(&tree, tree.resolve(b"textures/b.dds").unwrap()), Some(id(0, 1)));
    assert_eq!(super::hidden(&tree), 0);
}

proptest! {
    #[test]
    fn the_rule_of_dates_keeps_every_layer_once_and_picks_the_winner(
        layers in proptest::collection::vec((any::<bool>(), 0_i64..5), 1..8),
    ) {
        let order = by_dates(&layers);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        prop_assert_eq!(sorted, (0..layers.len() as u16).collect::<Vec<_>>());
        let numbered = || (0..layers.len() as u16).zip(&layers).rev();
        let loose = numbered().find(|(_, (is_loose, _))| *is_loose);
        let archive = numbered().find(|(_, (is_loose, time))| {
            !is_loose && loose.is_none_or(|(_, (_, of_loose))| time >= of_loose)
        });
        prop_assert_eq!(order[0], archive.or(loose).unwrap().0);
    }
}
