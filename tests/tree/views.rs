//! Replacing the tree of a mount: which inode numbers stay, and what the kernel is notified of.

use std::collections::{BTreeSet, HashSet};

use bsafs::folder::FileChange;
use bsafs::format::EntryId;
use bsafs::tree::{Changes, CompareFiles, Ino, Inode, NodeId, Spellings, Tree, compare};
use proptest::prelude::*;

use super::tree_of_paths;

/// A file is kept if its entry is the same and was not replaced.
struct Replaced(HashSet<u32>);

impl CompareFiles for Replaced {
    fn change(&self, later: EntryId, earlier: EntryId) -> FileChange {
        let is_kept = later == earlier && !self.0.contains(&later.entry);
        if is_kept { FileChange::None } else { FileChange::Replaced }
    }

    fn held(&self, _: EntryId) -> Option<Ino> {
        None
    }
}

/// Every file is kept whose path is in both trees. Entries differ, being numbered by order of paths.
struct AllKept;

impl CompareFiles for AllKept {
    fn change(&self, _: EntryId, _: EntryId) -> FileChange {
        FileChange::None
    }

    fn held(&self, _: EntryId) -> Option<Ino> {
        None
    }
}

fn spellings(tree: &Tree) -> Spellings {
    Spellings::new(tree, 1000, Ino(1 << 32))
}

fn ino(tree: &Tree, path: &str) -> Ino {
    tree.ino(tree.resolve(path.as_bytes()).expect(path))
}

fn names(changes: &Changes) -> BTreeSet<(Ino, String)> {
    changes.names.iter().map(|(folder, name)| (*folder, String::from_utf8_lossy(name).into_owned())).collect()
}

fn set(names: &[(Ino, &str)]) -> BTreeSet<(Ino, String)> {
    names.iter().map(|(folder, name)| (*folder, (*name).to_owned())).collect()
}

#[test]
fn only_files_with_the_same_path_and_source_keep_their_number() {
    let first = tree_of_paths(&[&["a/one.txt", "a/two.txt", "b/three.txt"]]);
    let table = spellings(&first);
    let later = tree_of_paths(&[&["a/one.txt", "a/two.txt", "c/new.txt"]]);
    let (second, changes) = compare(&first, later, &table, &Replaced([1].into())).unwrap();
    let root = Ino::ROOT;
    assert_eq!((ino(&second, "a"), ino(&second, "a/one.txt")), (ino(&first, "a"), ino(&first, "a/one.txt")));
    let numbers: Vec<Ino> = ["a/two.txt", "c", "c/new.txt"].iter().map(|path| ino(&second, path)).collect();
    assert!(numbers.iter().all(|&ino| ino > Ino(first.len().into())), "{numbers:?}");
    let (a, b) = (ino(&first, "a"), ino(&first, "b"));
    assert_eq!(names(&changes), set(&[(a, "two.txt"), (root, "b"), (b, "three.txt"), (root, "c")]));
    // The list includes a folder that is gone: a process that has it open lists it again.
    assert_eq!(changes.folders.iter().copied().collect::<BTreeSet<_>>(), [root, a, b].into());
    let retired: BTreeSet<Ino> = changes.retired.iter().map(|(ino, _)| *ino).collect();
    assert_eq!(retired, [ino(&first, "a/two.txt"), ino(&first, "b/three.txt")].into());
    let count = |counts: &std::collections::BTreeMap<u16, usize>| counts.values().sum::<usize>();
    assert_eq!([&changes.added, &changes.removed, &changes.replaced].map(count), [1, 1, 1]);
    // No number is given twice, neither that of a removed file nor that of a spelling.
    let spelled = table.child(&second, Inode::of(&second, NodeId::ROOT), b"A", second.resolve(b"a").unwrap());
    assert!(!numbers.contains(&spelled.ino));
    let third = tree_of_paths(&[&["a/one.txt", "a/two.txt", "b/three.txt"]]);
    let (third, _) = compare(&second, third, &table, &Replaced(HashSet::new())).unwrap();
    let back = [ino(&third, "b"), ino(&third, "b/three.txt")];
    assert!(back.iter().all(|it| !numbers.contains(it) && *it != spelled.ino && *it > b), "{back:?}");
}

#[test]
fn equal_trees_have_no_differences() {
    let paths = ["a/one.txt", "a/B/two.txt", "three.txt"];
    let first = tree_of_paths(&[&paths]);
    let (second, changes) =
        compare(&first, tree_of_paths(&[&paths]), &spellings(&first), &Replaced(HashSet::new())).unwrap();
    assert!(changes.is_empty() && changes.retired.is_empty());
    assert!(first.nodes().zip(second.nodes()).all(|(then, now)| first.ino(then) == second.ino(now)));
}

#[test]
fn a_respelled_folder_keeps_the_numbers_of_all_spellings() {
    let first = tree_of_paths(&[&["Textures/Deep/a.txt"]]);
    let table = spellings(&first);
    let root = Inode::of(&first, NodeId::ROOT);
    let child = |tree: &Tree, folder: Inode, name: &str| {
        table.child(
            tree,
            folder,
            name.as_bytes(),
            tree.lookup(folder.node.unwrap(), name.as_bytes()).unwrap(),
        )
    };
    let small = child(&first, root, "textures");
    let before = ["Textures", "textures", "TEXTURES"].map(|name| child(&first, root, name).ino);
    let deep = ["Deep", "deep"].map(|name| child(&first, small, name).ino);
    let (second, changes) =
        compare(&first, tree_of_paths(&[&["textures/deep/a.txt"]]), &table, &AllKept).unwrap();
    assert_eq!(
        ino(&second, "textures"),
        small.ino,
        "the new stored spelling must keep the number that it had"
    );
    // The numbers hold in both views, because a request to the earlier view may be under way.
    for tree in [&first, &second] {
        let root = Inode::of(tree, NodeId::ROOT);
        assert_eq!(["Textures", "textures", "TEXTURES"].map(|name| child(tree, root, name).ino), before);
        assert_eq!(["Deep", "deep"].map(|name| child(tree, small, name).ino), deep);
        assert!(before.iter().all(|&ino| table.inode(tree, ino).is_some()));
    }
    assert_eq!(ino(&second, "textures/deep/a.txt"), ino(&first, "textures/deep/a.txt"));
    assert!(changes.names.is_empty() && !changes.is_empty(), "{changes:?}");
    table.retain_existing(&second);
    assert_eq!(child(&second, Inode::of(&second, NodeId::ROOT), "Textures").ino, before[0]);
}

#[test]
fn all_numbers_of_a_respelled_folder_are_found_by_its_old_number() {
    let first = tree_of_paths(&[&["Textures/a.txt"]]);
    let table = spellings(&first);
    let child = |tree: &Tree, name: &[u8]| {
        table.child(tree, Inode::of(tree, NodeId::ROOT), name, tree.resolve(b"textures").unwrap()).ino
    };
    let (own, big) = (ino(&first, "Textures"), child(&first, b"TEXTURES"));
    let (second, changes) = compare(&first, tree_of_paths(&[&["textures/b.txt"]]), &table, &AllKept).unwrap();
    let now = ino(&second, "textures");
    assert!(names(&changes).contains(&(own, "a.txt".to_owned())), "{changes:?}");
    let further = table.other_numbers(&[own, now].into());
    let set = |key| further[&key].iter().copied().collect::<BTreeSet<Ino>>();
    assert_eq!((set(own), set(now)), ([now, big].into(), [own, big].into()));
    // A process looks this spelling up in the earlier view, just before the later view is served.
    let late = child(&first, b"TexTures");
    table.retain_existing(&second);
    assert_eq!(table.inode(&second, late).and_then(|it| it.node), second.resolve(b"textures"));
}

#[test]
fn spellings_of_removed_folders_are_forgotten() {
    let first = tree_of_paths(&[&["a/x.txt"]]);
    let table = spellings(&first);
    let spelled = table.child(&first, Inode::of(&first, NodeId::ROOT), b"A", first.resolve(b"a").unwrap());
    let (second, _) = compare(&first, tree_of_paths(&[&["b/x.txt"]]), &table, &AllKept).unwrap();
    let further = table.other_numbers(&[ino(&first, "a")].into());
    assert_eq!(further[&ino(&first, "a")], [spelled.ino]);
    table.retain_existing(&second);
    assert_eq!((table.inode(&second, spelled.ino), table.inode(&first, spelled.ino)), (None, None));
}

proptest! {
    /// For any two trees, the later tree has its usual paths and distinct numbers. The changes name
    /// each path that stands for another number, and each folder with another listing.
    #[test]
    fn every_difference_is_reported(
        old in proptest::collection::vec("[abAB](/[abAB]){0,3}", 1..12),
        new in proptest::collection::vec("[abAB](/[abAB]){0,3}", 1..12),
    ) {
        let first = tree_of_paths(&[&old]);
        let plain = tree_of_paths(&[&new]);
        let later = tree_of_paths(&[&new]);
        let (second, changes) = compare(&first, later, &spellings(&first), &AllKept).unwrap();
        let paths = |tree: &Tree| tree.nodes().map(|node| tree.path(node)).collect::<Vec<_>>();
        prop_assert_eq!(paths(&second), paths(&plain));
        let numbers: BTreeSet<Ino> = second.nodes().map(|node| second.ino(node)).collect();
        prop_assert_eq!(numbers.len(), second.len() as usize);
        let named = names(&changes);
        for node in second.nodes() {
            prop_assert_eq!(second.node(second.ino(node)), Some(node));
        }
        // The kernel may have cached these names.
        for node in first.nodes().skip(1) {
            let name = String::from_utf8(first.name(node).to_vec()).unwrap();
            let parent = first.ino(first.parent(node));
            let now = second.node(parent).and_then(|folder| second.lookup(folder, name.as_bytes()));
            let is_file = |tree: &Tree, node| matches!(tree.kind(node), bsafs::tree::Kind::File(_));
            let stays = now.is_some_and(|now| is_file(&second, now) == is_file(&first, node));
            let is_respelled = changes.respelled.iter().any(|(_, it)| **it == *name.as_bytes());
            if !stays && second.node(parent).is_some() && !is_respelled {
                prop_assert!(named.contains(&(parent, name.clone())), "{name} in {parent:?}: {named:?}");
            }
        }
        for node in first.nodes().filter(|node| !matches!(first.kind(*node), bsafs::tree::Kind::File(_))) {
            let Some(now) = second.node(first.ino(node)) else { continue };
            let list = |tree: &Tree, folder| {
                tree.children(folder).map(|it| (tree.name(it).to_vec(), tree.ino(it))).collect::<Vec<_>>()
            };
            if list(&first, node) != list(&second, now) {
                prop_assert!(changes.folders.contains(&first.ino(node)));
            }
        }
    }
}
