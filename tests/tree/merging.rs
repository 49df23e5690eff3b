//! Layers merged in load order, compared with a `BTreeMap`, and properties of all names.

use std::collections::{BTreeMap, BTreeSet};

use bsafs::format::{EntryId, Name};
use bsafs::tree::{self, Ino, LayerNames, NodeId, Tree};
use proptest::prelude::*;

use super::{archive, entry_of, everything, files, hidden, id, layer, swapped, tree_of_paths};
use bsafs::format::encoding::Encoding;

/// A path of folders `d…` and a file `f…`, in any case and with either separator. A file never has
/// the name of a folder.
fn plain_path() -> impl Strategy<Value = String> {
    let folder = proptest::sample::select(&["d", "D", "dE", "De", "dé", "dÉ"][..]);
    let file = proptest::sample::select(&["f", "F", "f.dds", "F.DDS", "f.nif", "fé", "fÉ"][..]);
    let separator = proptest::sample::select(&["/", "\\"][..]);
    (proptest::collection::vec((folder, separator), 0..4), file).prop_map(|(folders, file)| {
        folders.into_iter().map(|(f, s)| format!("{f}{s}")).collect::<String>() + file
    })
}

/// Folds a path as games compare paths: ASCII letters in one case, one kind of separator.
fn folded(path: &str) -> String {
    path.replace('\\', "/").to_ascii_lowercase()
}

/// The paths of an archive. No two of them are the same file.
fn plain_layer() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(plain_path(), 0..25).prop_map(|paths| {
        let mut taken = BTreeSet::new();
        paths.into_iter().filter(|path| taken.insert(folded(path))).collect()
    })
}

/// The entries of each folded path, winner first.
fn model(layers: &[Vec<String>]) -> BTreeMap<String, Vec<EntryId>> {
    let mut model: BTreeMap<String, Vec<EntryId>> = BTreeMap::new();
    for (layer, paths) in layers.iter().enumerate().rev() {
        for (entry, path) in (0_u32..).zip(paths) {
            model.entry(folded(path)).or_default().push(id(layer as u16, entry));
        }
    }
    model
}

fn cp1252(layers: &[Vec<String>]) -> Vec<Vec<Vec<u8>>> {
    let encode = |path: &String| Encoding::default().encode(path.as_bytes()).unwrap().into_owned();
    layers.iter().map(|paths| paths.iter().map(encode).collect()).collect()
}

fn tree_of(layers: &[Vec<Vec<u8>>]) -> Tree {
    tree::merge(layers.iter().map(|paths| layer(paths, None)).collect(), tree::Rule::LastWins).unwrap()
}

/// Asserts that every folder is sorted, has no name twice, and finds each child in either case.
fn assert_folders_are_consistent(tree: &Tree) {
    for folder in tree.nodes() {
        let names: Vec<Vec<u8>> =
            tree.children(folder).map(|child| tree.name(child).to_ascii_lowercase()).collect();
        assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
        for child in tree.children(folder) {
            let name = tree.name(child);
            assert!(!name.is_empty() && name.len() <= 255 && !name.contains(&b'/') && !name.contains(&0));
            assert_eq!(tree.parent(child), folder);
            assert_eq!(tree.lookup(folder, name), Some(child));
            assert_eq!(tree.lookup(folder, &swapped(name)), Some(child), "not found in the other case");
            assert_eq!(tree.resolve(&tree.path(child)), Some(child));
            assert_eq!(tree.node(tree.ino(child)), Some(child));
            assert!(child > folder, "a child is numbered before its folder");
        }
    }
}

proptest! {
    #[test]
    fn the_last_layer_wins_and_hides_the_others_in_order(
        layers in proptest::collection::vec(plain_layer(), 0..5),
    ) {
        let tree = tree_of(&cp1252(&layers));
        let model = model(&layers);
        prop_assert_eq!(tree.files(), model.len());
        for (path, entries) in &model {
            let node = tree.resolve(path.as_bytes()).expect(path);
            prop_assert_eq!(tree.resolve(&swapped(path.replace('/', "\\").as_bytes())), Some(node));
            prop_assert_eq!(entry_of(&tree, node), Some(entries[0]));
            let lost: Vec<EntryId> = tree.hidden(node).iter().map(|hidden| hidden.entry).collect();
            prop_assert_eq!(&lost[..], &entries[1..]);
            prop_assert_eq!(folded(str::from_utf8(&tree.path(node)).unwrap()), path.as_str());
            prop_assert!(tree.hidden(node).iter().all(|hidden| hidden.by == node));
        }
        let folders: BTreeSet<String> = model
            .keys()
            .flat_map(|path| path.match_indices('/').map(|(at, _)| path[..at].to_owned()))
            .collect();
        prop_assert_eq!(tree.len() as usize, 1 + folders.len() + model.len());
        assert_folders_are_consistent(&tree);
    }

    #[test]
    fn no_entry_disappears_and_each_keeps_its_stored_name(
        layers in proptest::collection::vec(proptest::collection::vec(wild_path(), 0..30), 0..4),
    ) {
        let tree = tree_of(&layers);
        prop_assert_eq!(tree.files() + hidden(&tree), layers.iter().map(Vec::len).sum::<usize>());
        let stored = |entry: EntryId| &layers[usize::from(entry.layer)][entry.entry as usize];
        for node in tree.nodes() {
            if let Some(entry) = entry_of(&tree, node) {
                prop_assert_eq!(&tree.stored_name(node), stored(entry));
                for lost in tree.hidden(node) {
                    prop_assert_eq!(&tree.stored_name_of_hidden(lost), stored(lost.entry));
                    prop_assert!(lost.entry.layer < entry.layer, "a file hides one of the same archive");
                }
            } else {
                prop_assert_eq!(tree.stored_name(node), b"");
                prop_assert!(tree.hidden(node).is_empty());
            }
        }
        assert_folders_are_consistent(&tree);
        let again = everything(&tree_of(&layers));
        prop_assert_eq!(everything(&tree), again, "the same layers gave another tree");
    }
}

/// Parts of paths. There are few, so that names collide in every way. They include every kind of
/// name that is escaped.
static PARTS: [&[u8]; 20] = [
    b"a",
    b"A",
    b"b",
    b"a (2)",
    b"A.dds",
    b"a.DDS",
    b"a (2).dds",
    b"Mar\xEDa",
    b"\x81",
    b"%81",
    b".",
    b"..",
    b"%2E%2E",
    b"",
    b"C:",
    b"\0",
    b" ",
    b"/",
    b"\\",
    b"x\x1f",
];

static SEPARATORS: [&[u8]; 3] = [b"\\", b"/", b"\\\\"];

fn wild_path() -> impl Strategy<Value = Vec<u8>> {
    let separator = proptest::sample::select(&SEPARATORS[..]);
    proptest::collection::vec((proptest::sample::select(&PARTS[..]), separator), 1..5).prop_map(|parts| {
        let mut path: Vec<u8> =
            parts.iter().flat_map(|(part, separator)| [*part, *separator]).flatten().copied().collect();
        path.truncate(path.len() - parts[parts.len() - 1].1.len());
        path
    })
}

#[test]
fn names_that_differ_only_in_case_get_numbers_in_stored_order() {
    let tree = tree_of_paths(&[&["t/Rock.dds", "T\\rock.DDS", "t/ROCK.dds", "t/rock (3).dds"]]);
    let stored_in_order: Vec<(String, Option<EntryId>)> = everything(&tree);
    assert_eq!(
        stored_in_order,
        [
            ("t".into(), None),
            ("t/rock (2).DDS".into(), Some(id(0, 1))),
            ("t/rock (3).dds".into(), Some(id(0, 3))),
            ("t/ROCK (4).dds".into(), Some(id(0, 2))),
            ("t/Rock.dds".into(), Some(id(0, 0))),
        ]
    );
    assert_eq!(tree.stored_name(tree.resolve(b"T/ROCK (4).dds").unwrap()), b"t/ROCK.dds");
}

#[test]
fn duplicates_in_a_later_archive_hide_an_earlier_file_once() {
    let tree = tree_of_paths(&[&["x"][..], &["X", "x"]]);
    assert_eq!(files(&tree), ["X", "x (2)"]);
    let winner = tree.resolve(b"x").unwrap();
    assert_eq!(entry_of(&tree, winner), Some(id(1, 0)));
    let lost = tree.hidden(winner);
    assert_eq!(lost.iter().map(|hidden| hidden.entry).collect::<Vec<_>>(), [id(0, 0)]);
    assert_eq!(tree.stored_name_of_hidden(&lost[0]), b"x");
}

#[test]
fn a_number_never_takes_a_name_that_another_archive_uses() {
    let tree = tree_of_paths(&[&["x", "X"][..], &["x (2)"]]);
    assert_eq!(files(&tree), ["X (3)", "x", "x (2)"]);
    assert_eq!(hidden(&tree), 0);
}

#[test]
fn a_folder_keeps_its_name_and_the_file_gets_a_number() {
    let within = tree_of_paths(&[&["a", "A\\b.txt"]]);
    assert_eq!(files(&within), ["A/b.txt", "a (2)"]);
    let across = tree_of_paths(&[&["a", "c"][..], &["A\\b.txt"], &["C"]]);
    assert_eq!(files(&across), ["A/b.txt", "C", "a (2)"]);
    assert_eq!(hidden(&across), 1);
}

#[test]
fn a_file_numbered_because_of_a_folder_still_hides_earlier_files() {
    let tree = tree_of_paths(&[&["a"][..], &["A"], &["a/b.txt"]]);
    assert_eq!(files(&tree), ["A (2)", "a/b.txt"]);
    let listed = tree.resolve(b"a (2)").unwrap();
    assert_eq!(entry_of(&tree, listed), Some(id(1, 0)));
    assert_eq!(tree.hidden(listed).iter().map(|hidden| hidden.entry).collect::<Vec<_>>(), [id(0, 0)]);
}

#[test]
fn folders_keep_the_first_spelling_and_files_that_of_the_winner() {
    let tree = tree_of_paths(&[&["Textures\\Rock.dds"][..], &["TEXTURES/rock.DDS", "textures/moss.dds"]]);
    assert_eq!(files(&tree), ["Textures/moss.dds", "Textures/rock.DDS"]);
    let rock = tree.resolve(b"textures\\rock.dds").unwrap();
    assert_eq!(tree.stored_name(rock), b"TEXTURES/rock.DDS");
    assert_eq!(tree.stored_name_of_hidden(&tree.hidden(rock)[0]), b"Textures\\Rock.dds");
}

#[test]
fn separately_stored_folder_and_file_are_joined_by_a_backslash() {
    let split = |folder, file| Name::Split { folder: Some(folder), file: Some(file) };
    let names: [Name<'_>; 4] = [
        split(b"meshes\\m", b"Bucket.nif"),
        split(b"Meshes/M", b"odd.nif"),
        split(b".", b"readme.txt"),
        split(b"", b"licence.txt"),
    ];
    let tree = tree::merge(
        vec![LayerNames::new(&archive(names), Encoding::default(), None).unwrap()],
        tree::Rule::LastWins,
    )
    .unwrap();
    let stored = |path: &str| tree.stored_name(tree.resolve(path.as_bytes()).expect(path));
    assert_eq!(stored("meshes/m/bucket.nif"), b"meshes\\m\\Bucket.nif");
    assert_eq!(stored("meshes/m/odd.nif"), b"Meshes/M\\odd.nif");
    assert_eq!(stored("readme.txt"), b".\\readme.txt");
    assert_eq!(stored("licence.txt"), b"licence.txt");
}

#[test]
fn archives_in_their_own_folders_share_only_the_root() {
    let paths = ["meshes\\a.nif", "b.txt"];
    let layers = vec![layer(&paths, Some("Main")), layer(&paths, Some("main (2)"))];
    let tree = tree::merge(layers, tree::Rule::LastWins).unwrap();
    assert_eq!(files(&tree), ["Main/b.txt", "Main/meshes/a.nif", "main (2)/b.txt", "main (2)/meshes/a.nif"]);
    let node = tree.resolve(b"MAIN (2)\\Meshes/A.nif").unwrap();
    assert_eq!((entry_of(&tree, node), tree.stored_name(node)), (Some(id(1, 0)), b"meshes\\a.nif".to_vec()));
    assert_eq!(tree.resolve(b"meshes/a.nif"), None);
}

#[test]
fn archives_with_the_same_base_folder_are_merged_in_it() {
    let layers = vec![layer(&["a", "b"], Some("Data")), layer(&["B"], Some("data"))];
    let tree = tree::merge(layers, tree::Rule::LastWins).unwrap();
    assert_eq!(files(&tree), ["Data/B", "Data/a"]);
    assert_eq!(hidden(&tree), 1);
}

#[test]
fn missing_paths_are_not_found() {
    let empty = tree_of_paths::<&str>(&[]);
    assert_eq!((empty.len(), empty.files()), (1, 0));
    let tree = tree_of_paths(&[&["a/b", "ab"]]);
    assert_eq!(tree.resolve(b""), Some(NodeId::ROOT));
    assert_eq!(tree.resolve(b"\\./a//."), tree.resolve(b"a"));
    for path in ["c", "a/c", "a/b/c", "ab/b", "a\0", "abc", ".."] {
        assert_eq!(tree.resolve(path.as_bytes()), None, "{path}");
    }
    assert_eq!([0, 5, 1 << 32, u64::MAX].map(|ino| tree.node(Ino(ino))), [None; 4]);
    assert_eq!(tree.children(tree.resolve(b"ab").unwrap()).len(), 0, "a file has children");
}
