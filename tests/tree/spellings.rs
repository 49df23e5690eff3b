//! A number of its own for every spelling of a folder.

use bsafs::tree::{Inode, NodeId, Spellings, Tree};

use super::merged;

fn sample() -> Tree {
    merged(&[&["Textures/Rocks/a.dds", "Meshes/b.nif"]])
}

fn walk(tree: &Tree, spellings: &Spellings, path: &str) -> Inode {
    path.split('/').fold(NodeId::ROOT.into(), |place: Inode, name| {
        let node = tree.lookup(place.node.unwrap(), name.as_bytes()).expect(path);
        spellings.child(tree, place, name.as_bytes(), node)
    })
}

#[test]
fn each_spelling_of_a_folder_is_a_folder_of_its_own_and_files_keep_one_number() {
    let tree = sample();
    let spellings = Spellings::new(&tree, 100);
    let own = walk(&tree, &spellings, "Textures/Rocks");
    assert_eq!(
        own,
        tree.resolve(b"textures/rocks").unwrap().into(),
        "the listed spelling is the node itself"
    );
    let paths = ["textures", "textures/Rocks", "Textures/rocks", "TEXTURES", "TEXTURES/Rocks"];
    let mut numbers: Vec<u64> = paths.iter().map(|path| walk(&tree, &spellings, path).ino).collect();
    for (path, &ino) in paths.iter().zip(&numbers) {
        let place = walk(&tree, &spellings, path);
        assert_eq!(place.ino, ino, "another number the second time");
        assert_eq!(spellings.inode(&tree, ino), Some(place));
        assert_eq!(place.node, tree.resolve(path.as_bytes()));
        assert_eq!(spellings.path(&tree, place), path.as_bytes());
        let above = path.rsplit_once('/').map_or(1, |(above, _)| walk(&tree, &spellings, above).ino);
        assert_eq!(spellings.parent(&tree, place), above, "{path}");
    }
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), paths.len());
    assert!(numbers[0] > u64::from(tree.len()), "a node's number was given away");
    let file: Inode = tree.resolve(b"textures/rocks/a.dds").unwrap().into();
    for path in ["Textures/Rocks/a.dds", "textures/rocks/A.DDS", "TEXTURES/rocks/a.dds"] {
        assert_eq!(walk(&tree, &spellings, path), file, "{path}");
    }
}

#[test]
fn beyond_the_bound_folders_answer_to_their_own_number() {
    let tree = sample();
    let spellings = Spellings::new(&tree, 2);
    let textures: Inode = tree.resolve(b"textures").unwrap().into();
    let first = walk(&tree, &spellings, "textures");
    let second = walk(&tree, &spellings, "TEXTURES");
    assert_eq!(walk(&tree, &spellings, "tExtures"), textures);
    assert_eq!(spellings.assume_folder(NodeId::ROOT.into(), b"sound"), None);
    assert_eq!((walk(&tree, &spellings, "textures"), walk(&tree, &spellings, "TEXTURES")), (first, second));
    assert_eq!(spellings.inode(&tree, second.ino + 1), None);
}

#[test]
fn a_folder_that_is_believed_in_has_a_place_and_a_path_and_no_node() {
    let tree = sample();
    let spellings = Spellings::new(&tree, 10);
    let sound = spellings.assume_folder(NodeId::ROOT.into(), b"Sound").unwrap();
    let voice = spellings.assume_folder(sound, b"voice").unwrap();
    assert_eq!((sound.node, voice.node), (None, None));
    assert_eq!(spellings.assume_folder(sound, b"voice"), Some(voice));
    assert_ne!(spellings.assume_folder(sound, b"VOICE"), Some(voice));
    assert_eq!(spellings.path(&tree, voice), b"Sound/voice");
    assert_eq!((spellings.parent(&tree, voice), spellings.parent(&tree, sound)), (sound.ino, 1));
    let below = spellings.assume_folder(tree.resolve(b"meshes").unwrap().into(), b"x").unwrap();
    assert_eq!(spellings.path(&tree, below), b"Meshes/x");
}

#[test]
fn threads_that_ask_for_one_spelling_get_one_number() {
    let tree = sample();
    let spellings = Spellings::new(&tree, 1000);
    let ask = || {
        (0..100)
            .map(|n| {
                let name: Vec<u8> = b"textures"
                    .iter()
                    .enumerate()
                    .map(|(at, byte)| if n >> at & 1 == 1 { byte.to_ascii_uppercase() } else { *byte })
                    .collect();
                walk(&tree, &spellings, str::from_utf8(&name).unwrap()).ino
            })
            .collect::<Vec<u64>>()
    };
    let answers: Vec<Vec<u64>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(answers.iter().all(|answer| *answer == answers[0]));
}
