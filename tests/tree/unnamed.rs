//! Archives that store hashes instead of names. Their files are found by path.

use bsafs::format::hash::{Family, placeholder_name};
use bsafs::format::{Limits, Name, parse};
use bsafs::tree::{NodeId, Tree};

use super::{entry_of, files, tree_of_archives};
use crate::support::tes4::{FILE_NAMES, FOLDER_NAMES, XBOX_360};
use crate::support::{Ba2, Tes3, Tes4};

/// Folder and name of each file in these archives.
const FILES: [(&str, &str); 4] = [
    ("meshes\\clutter", "bucket.nif"),
    ("textures", "rock.dds"),
    ("sound\\voice\\game.esm", "hello.fuz"),
    ("", "readme.txt"),
];

fn whole((folder, name): &(&str, &str)) -> String {
    if folder.is_empty() { (*name).into() } else { format!("{folder}\\{name}") }
}

/// Archives of every family without names. Some store folder names or file names only.
fn nameless() -> Vec<(&'static str, Vec<u8>)> {
    let tes3 = FILES.iter().fold(Tes3::new(), |it, file| it.file(whole(file), "x")).nameless();
    let tes4 = |version, flags| {
        let new = Tes4::new(version).flags(flags);
        FILES.iter().fold(new, |it, (folder, name)| it.file(folder, name, "x")).build()
    };
    let ba2 = FILES.iter().fold(Ba2::general(1), |it, file| it.file(whole(file), "x")).nameless();
    vec![
        ("tes3", tes3.build()),
        ("v103", tes4(103, 0)),
        ("v104 xbox", tes4(104, XBOX_360)),
        ("v105", tes4(105, 0)),
        ("v104 folder names", tes4(104, FOLDER_NAMES)),
        ("v104 file names", tes4(104, FILE_NAMES)),
        ("ba2", ba2.build()),
    ]
}

/// Finds the node at a path, and asserts that its entry has the path's hash.
fn found(tree: &Tree, archive: &[u8], base: &str, file: &(&str, &str)) -> NodeId {
    let path = format!("{base}{}", whole(file).replace('\\', "/"));
    let node = tree.resolve_unnamed(path.as_bytes()).or_else(|| tree.resolve(path.as_bytes()));
    let node = node.unwrap_or_else(|| panic!("{path} was not found"));
    let parsed = parse(archive, &Limits::default()).unwrap();
    let entry = entry_of(tree, node).unwrap();
    let hash = parsed.entries().nth(entry.entry as usize).unwrap().hash;
    assert_eq!(hash, parsed.hashes.of(file.0.as_bytes(), file.1.as_bytes()), "{path}");
    node
}

#[test]
fn nameless_files_are_found_by_their_paths() {
    for (kind, bytes) in nameless() {
        let tree = tree_of_archives(&[(&bytes, None)]);
        assert!(tree.has_unnamed(), "{kind}");
        assert_eq!(tree.files(), FILES.len(), "{kind}");
        for file in &FILES {
            let node = found(&tree, &bytes, "", file);
            let other = whole(file).to_uppercase();
            assert_eq!(tree.resolve(other.as_bytes()), Some(node), "{kind}: {other}");
            // The listed name works, too.
            assert_eq!(tree.resolve(&tree.path(node)), Some(node), "{kind}");
        }
        assert_eq!(tree.resolve(b"meshes/clutter/other.nif"), None, "{kind}");
        assert_eq!(tree.resolve_unnamed(b"\xff\xfe"), None, "{kind}");
    }
}

#[test]
fn nameless_files_are_listed_by_hexadecimal_hashes() {
    let listed: Vec<Vec<String>> =
        nameless().iter().map(|(_, bytes)| files(&tree_of_archives(&[(bytes, None)]))).collect();
    let is_hex = |name: &str, len: usize| name.len() == len && name.bytes().all(|b| b.is_ascii_hexdigit());
    assert!(listed[0].iter().all(|name| is_hex(name, 16)), "{:?}", listed[0]);
    for listed in &listed[1..4] {
        let parts: Vec<_> = listed.iter().map(|name| name.split_once('/').unwrap()).collect();
        assert!(parts.iter().all(|(folder, file)| is_hex(folder, 16) && is_hex(file, 16)), "{listed:?}");
    }
    assert!(listed[4].iter().any(|name| name.starts_with("meshes/clutter/")), "{:?}", listed[4]);
    assert!(listed[5].iter().any(|name| name.ends_with("/bucket.nif")), "{:?}", listed[5]);
    assert!(listed[6].iter().any(|name| name.ends_with(".nif") && is_hex(&name[..8], 8)), "{:?}", listed[6]);
}

#[test]
fn the_hash_of_a_nameless_file_is_the_stored_hash() {
    for (kind, bytes) in nameless() {
        let tree = tree_of_archives(&[(&bytes, None)]);
        let parsed = parse(&bytes, &Limits::default()).unwrap();
        for file in &FILES {
            let node = found(&tree, &bytes, "", file);
            let entry = parsed.entries().nth(entry_of(&tree, node).unwrap().entry as usize).unwrap();
            let text = match entry.name {
                Name::Unknown { extension } => placeholder_name(parsed.hashes, &entry.hash, extension),
                _ => placeholder_name(parsed.hashes, &entry.hash, [0; 4]),
            };
            let text = text.0.map_or(text.1.clone(), |folder| format!("{folder}/{}", text.1));
            assert_eq!(tree.hash_text(node), text, "{kind}");
        }
    }
    let named = tree_of_archives(&[(&Ba2::general(1).file("a\\b.txt", "x").build(), None)]);
    let hash = Family::Fo4.of(b"a", b"b.txt");
    let (_, text) = placeholder_name(Family::Fo4, &hash, *b"txt\0");
    assert_eq!(named.hash_text(named.resolve(b"a/b.txt").unwrap()), text);
}

#[test]
fn with_a_base_folder_hashed_paths_begin_below_it() {
    for (kind, bytes) in nameless() {
        let tree = tree_of_archives(&[(&bytes, Some("Old Archive"))]);
        for file in &FILES {
            let node = found(&tree, &bytes, "old archive/", file);
            assert!(tree.path(node).starts_with(b"Old Archive/"), "{kind}");
            assert_eq!(tree.resolve_unnamed(whole(file).as_bytes()), None, "{kind}");
        }
    }
}

#[test]
fn the_last_nameless_archive_wins_but_not_over_a_stored_name() {
    let old = Ba2::general(1).file("a\\b.txt", "old").nameless().build();
    let new = Ba2::general(1).file("c.txt", "-").file("a\\b.txt", "new").nameless().build();
    let tree = tree_of_archives(&[(&old, None), (&new, None)]);
    assert_eq!(entry_of(&tree, tree.resolve(b"a/b.txt").unwrap()), Some(super::id(1, 1)));
    let named = Ba2::general(1).file("A\\B.txt", "named").build();
    let tree = tree_of_archives(&[(&named, None), (&new, None)]);
    assert_eq!(entry_of(&tree, tree.resolve(b"a/b.txt").unwrap()), Some(super::id(0, 0)));
}

#[test]
fn only_folders_that_may_contain_nameless_files_are_assumed() {
    let named = Ba2::general(1).file("a\\b.txt", "x").build();
    let tree = tree_of_archives(&[(&named, None)]);
    assert!(!tree.has_unnamed() && !tree.may_hold_unnamed(b"a") && !tree.may_hold_unnamed(b"zzz"));

    let deep = |levels: usize| vec!["d"; levels].join("/").into_bytes();
    for (kind, bytes) in nameless() {
        let tree = tree_of_archives(&[(&bytes, None)]);
        for folder in ["meshes", "meshes/clutter", "sound/voice", "anything"] {
            assert!(tree.may_hold_unnamed(folder.as_bytes()), "{kind}: {folder}");
        }
        for probe in [".Trash", ".hidden", "autorun.inf", "meshes/.directory", "meshes/a.esm"] {
            assert!(!tree.may_hold_unnamed(probe.as_bytes()), "{kind}: {probe}");
        }
        assert!(tree.may_hold_unnamed(&deep(16)) && !tree.may_hold_unnamed(&deep(17)), "{kind}");
        // A name with a dot counts as a folder only if the archive stores its hash. Archives that
        // hash whole paths store no hashes of folders.
        if !matches!(kind, "tes3" | "v104 folder names") {
            assert!(tree.may_hold_unnamed(b"Sound/Voice/Game.esm"), "{kind}");
        }
    }
}
