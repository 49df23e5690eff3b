//! Hostile names: absolute, escaping, too long, too deep, too many.

use super::{everything, files, hidden, tree_of_paths};

#[test]
fn no_name_leads_out_of_the_mount() {
    let cases: [(&[u8], &str); 14] = [
        (b"..\\..\\etc\\passwd", "%2E%2E/%2E%2E/etc/passwd"),
        (b"a/../b", "a/%2E%2E/b"),
        (b"a\\..", "a/%2E%2E"),
        (b"/absolute", "absolute"),
        (b"\\\\server\\share\\x", "server/share/x"),
        (b"C:\\Windows\\x.dll", "C%3A/Windows/x.dll"),
        (b"c:x", "c%3Ax"),
        (b"a\\c:\\x", "a/c:/x"),
        (b"nul\0byte.txt", "nul%00byte.txt"),
        (b"bell\x07\x7f\n", "bell%07%7F%0A"),
        (b".\\a\\.\\\\b", "a/b"),
        (b"Mar\xEDa \x80.fuz", "María €.fuz"),
        // windows-1252 leaves byte 0x81 undefined. The web's table maps it to a control character.
        (b"hole \x81", "hole %81"),
        (b" . ", " . "),
    ];
    for (stored, listed) in cases {
        let tree = tree_of_paths(&[&[stored]]);
        assert_eq!(files(&tree), [listed], "{}", stored.escape_ascii());
        let node = tree.resolve(listed.as_bytes()).unwrap();
        assert_eq!(tree.stored_name(node), stored, "{}", stored.escape_ascii());
    }
}

#[test]
fn hostile_names_that_become_equal_are_all_listed() {
    let tree = tree_of_paths(&[&[&b"a\0"[..], b"a%00", b"A%00"]]);
    assert_eq!(files(&tree), ["A%00 (3)", "a%00", "a%00 (2)"]);
    assert_eq!(tree.stored_name(tree.resolve(b"a%00").unwrap()), b"a\0");
    assert_eq!(tree.stored_name(tree.resolve(b"a%00 (2)").unwrap()), b"a%00");
}

#[test]
fn names_over_255_bytes_are_cut_and_stay_distinct() {
    let long = |last: &str| format!("{}{last}.dds", "x".repeat(300)).into_bytes();
    let (one, two) = (long("1"), long("2"));
    let tree = tree_of_paths(&[&[&one[..], &two]]);
    let listed = files(&tree);
    assert_eq!(listed.len(), 2);
    for (name, stored) in listed.iter().zip([&one, &two]) {
        assert!(name.len() <= 255 && name.ends_with(".dds"), "{name}");
        let found = tree.stored_name(tree.resolve(name.as_bytes()).unwrap());
        assert!(found == one || found == two, "{}", stored.escape_ascii());
    }
    assert_eq!(hidden(&tree), 0);
    let duplicates = tree_of_paths(&[&[&one[..], &one, &one]]);
    assert_eq!(duplicates.files(), 3);
    assert!(files(&duplicates).iter().all(|name| name.len() <= 255 && name.ends_with(".dds")));
}

#[test]
fn a_path_of_a_hundred_levels_becomes_64_folders() {
    let path = (0..100).map(|level| format!("d{level}")).collect::<Vec<_>>().join("\\");
    let tree = tree_of_paths(&[&[&path]]);
    let all = everything(&tree);
    assert_eq!(all.len(), 65);
    let (listed, entry) = &all[64];
    assert!(entry.is_some());
    assert_eq!(listed.split('/').count(), 65);
    assert!(listed.starts_with("d0/d1/") && listed.contains("/d62/d63%2Fd64%2F"), "{listed}");
    assert!(listed.ends_with("%2Fd98/d99"), "{listed}");
    assert_eq!(tree.stored_name(tree.resolve(listed.as_bytes()).unwrap()), path.as_bytes());
}

/// Takes minutes if the work is quadratic.
#[test]
fn seventy_thousand_files_with_the_same_name_are_all_listed() {
    const COUNT: usize = 70_000;
    let names: Vec<&str> =
        (0..COUNT).map(|n| if n % 2 == 0 { "d\\Same.nif" } else { "D/sAME.nif" }).collect();
    let tree = tree_of_paths(&[&names]);
    assert_eq!((tree.files(), hidden(&tree)), (COUNT, 0));
    for (listed, stored) in [
        ("d/same.nif", "d\\Same.nif"),
        ("d/same (2).nif", "D/sAME.nif"),
        ("d/same (69999).nif", "d\\Same.nif"),
        ("d/same (70000).nif", "D/sAME.nif"),
    ] {
        assert_eq!(tree.stored_name(tree.resolve(listed.as_bytes()).unwrap()), stored.as_bytes(), "{listed}");
    }
    assert_eq!(tree.resolve(b"d/same (70001).nif"), None);
}

#[test]
fn seventy_thousand_files_named_like_a_folder_are_all_listed() {
    let names: Vec<&str> = std::iter::repeat_n("a", 70_000).chain(["A\\b"]).collect();
    let tree = tree_of_paths(&[&names]);
    assert_eq!(tree.files(), 70_001);
    assert_eq!(tree.name(tree.resolve(b"a").unwrap()), b"A", "the folder has lost its name");
    assert!(tree.resolve(b"a (70001)").is_some());
}

#[test]
fn deep_paths_create_a_limited_number_of_folders() {
    let paths: Vec<String> = (0..200).map(|n| format!("{n:03}\\{}file", "d\\".repeat(62))).collect();
    let tree = tree_of_paths(&[&paths]);
    assert_eq!((tree.files(), hidden(&tree)), (200, 0));
    // 127 bytes of each path are folders.
    let allowed = 4096 + 200 * (1 + 127 / 8);
    assert_eq!(tree.len() as usize - 1 - tree.files(), allowed);
    let all = files(&tree);
    assert_eq!(all[0].split('/').count(), 64);
    assert!(all[199].starts_with("199/d/d/") && all[199].ends_with("%2Fd%2Fd/file"), "{}", all[199]);
    for (listed, stored) in all.iter().zip(&paths) {
        assert_eq!(tree.stored_name(tree.resolve(listed.as_bytes()).unwrap()), stored.as_bytes());
    }
}

#[test]
fn beyond_the_folder_limit_existing_folders_are_still_used() {
    let deep = (0..200).map(|n| format!("{n:03}\\{}file", "d\\".repeat(62)));
    let more = ["c:\\a\\b", "C:\\A\\c", "000\\d\\d\\e"].map(str::to_owned);
    let all = files(&tree_of_paths(&[&deep.chain(more).collect::<Vec<_>>()]));
    for path in ["000/d/d/e", "c%3A%2Fa/b", "c%3A%2Fa/c"] {
        assert!(all.iter().any(|listed| listed == path), "{path}: {:?}", &all[all.len() - 3..]);
    }
}
