//! Each spelling of a folder has its own inode number.

use bsafs::tree::{Ino, Inode, NodeId, Spellings, Tree};

use super::tree_of_paths;

fn sample() -> Tree {
    tree_of_paths(&[&["Textures/Rocks/a.dds", "Meshes/b.nif"]])
}

fn walk(tree: &Tree, spellings: &Spellings, path: &str) -> Inode {
    path.split('/').fold(Inode::of(tree, NodeId::ROOT), |inode: Inode, name| {
        let node = tree.lookup(inode.node.unwrap(), name.as_bytes()).expect(path);
        spellings.child(tree, inode, name.as_bytes(), node)
    })
}

#[test]
fn each_spelling_of_a_folder_has_its_own_number_but_a_file_has_one() {
    let tree = sample();
    let spellings = Spellings::new(&tree, 100, Ino(1000));
    let own = walk(&tree, &spellings, "Textures/Rocks");
    assert_eq!(
        own,
        Inode::of(&tree, tree.resolve(b"textures/rocks").unwrap()),
        "the listed spelling must have the number of the node"
    );
    let paths = ["textures", "textures/Rocks", "Textures/rocks", "TEXTURES", "TEXTURES/Rocks"];
    let mut numbers: Vec<Ino> = paths.iter().map(|path| walk(&tree, &spellings, path).ino).collect();
    for (path, &ino) in paths.iter().zip(&numbers) {
        let inode = walk(&tree, &spellings, path);
        assert_eq!(inode.ino, ino, "a second lookup gave another number");
        assert_eq!(spellings.inode(&tree, ino), Some(inode));
        assert_eq!(inode.node, tree.resolve(path.as_bytes()));
        assert_eq!(spellings.path(&tree, inode), path.as_bytes());
        let parent =
            path.rsplit_once('/').map_or(Ino::ROOT, |(parent, _)| walk(&tree, &spellings, parent).ino);
        assert_eq!(spellings.parent(&tree, inode), parent, "{path}");
    }
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), paths.len());
    assert!(numbers[0] > Ino(tree.len().into()), "a node's number was given to a spelling");
    let file: Inode = Inode::of(&tree, tree.resolve(b"textures/rocks/a.dds").unwrap());
    for path in ["Textures/Rocks/a.dds", "textures/rocks/A.DDS", "TEXTURES/rocks/a.dds"] {
        assert_eq!(walk(&tree, &spellings, path), file, "{path}");
    }
}

#[test]
fn beyond_the_limit_a_spelling_has_the_number_of_its_node() {
    let tree = sample();
    let spellings = Spellings::new(&tree, 2, Ino(1000));
    let textures: Inode = Inode::of(&tree, tree.resolve(b"textures").unwrap());
    let first = walk(&tree, &spellings, "textures");
    let second = walk(&tree, &spellings, "TEXTURES");
    assert_eq!(walk(&tree, &spellings, "tExtures"), textures);
    assert_eq!((walk(&tree, &spellings, "textures"), walk(&tree, &spellings, "TEXTURES")), (first, second));
    assert_eq!(spellings.inode(&tree, Ino(second.ino.0 + 1)), None);
}

#[test]
fn an_assumed_folder_has_a_number_and_a_path_but_no_node() {
    let tree = sample();
    let spellings = Spellings::new(&tree, 10, Ino(1000));
    let sound = spellings.assume_folder(Inode::of(&tree, NodeId::ROOT), b"Sound").unwrap();
    let voice = spellings.assume_folder(sound, b"voice").unwrap();
    assert_eq!((sound.node, voice.node), (None, None));
    assert_eq!(spellings.assume_folder(sound, b"voice"), Some(voice));
    assert_ne!(spellings.assume_folder(sound, b"VOICE"), Some(voice));
    assert_eq!(spellings.path(&tree, voice), b"Sound/voice");
    assert_eq!((spellings.parent(&tree, voice), spellings.parent(&tree, sound)), (sound.ino, Ino::ROOT));
    let below = spellings.assume_folder(Inode::of(&tree, tree.resolve(b"meshes").unwrap()), b"x").unwrap();
    assert_eq!(spellings.path(&tree, below), b"Meshes/x");
    spellings.forget(voice.ino, 1);
    assert_eq!(
        spellings.inode(&tree, voice.ino),
        Some(voice),
        "the folder was forgotten after one of two lookups"
    );
    spellings.forget(voice.ino, 1);
    assert_eq!((spellings.inode(&tree, voice.ino), spellings.assumed()), (None, 3));
}

#[test]
fn parallel_lookups_of_one_spelling_get_the_same_number() {
    let tree = sample();
    let spellings = Spellings::new(&tree, 1000, Ino(10_000));
    let look_up = || {
        (0..100)
            .map(|n| {
                let name: Vec<u8> = b"textures"
                    .iter()
                    .enumerate()
                    .map(|(at, byte)| if n >> at & 1 == 1 { byte.to_ascii_uppercase() } else { *byte })
                    .collect();
                walk(&tree, &spellings, str::from_utf8(&name).unwrap()).ino
            })
            .collect::<Vec<Ino>>()
    };
    let numbers: Vec<Vec<Ino>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(look_up)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(numbers.iter().all(|of_thread| *of_thread == numbers[0]));
}
