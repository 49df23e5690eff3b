//! Lists of names for archives without names, hashes in the byte order of every platform, file
//! types from first bytes, and platforms from hashes.

use bsafs::format::encoding::Encoding;
use bsafs::format::hash::Family;
use bsafs::format::{Limits, parse};
use bsafs::tree::{self, Dictionary, Kind, LayerNames, Tree};

use crate::mounted::TestDir;
use crate::support::hash::{tes4_file, tes4_folder, xbox360};
use crate::support::tes4::{EMBEDDED, FILE_NAMES, FOLDER_NAMES, XBOX_360};
use crate::support::{Ba2, Tes3, Tes4, Tes4File, Tes4Folder};

const PATHS: [&str; 3] = ["meshes\\a\\bucket.nif", "textures\\caf\u{e9}.dds", "readme.txt"];

/// A path in the archives' code page.
fn stored(path: &str) -> Vec<u8> {
    path.chars().map(|it| it as u8).collect()
}

fn parts(path: &str) -> (Vec<u8>, Vec<u8>) {
    let (folder, file) = path.rsplit_once('\\').unwrap_or(("", path));
    (stored(folder), stored(file))
}

/// Archives of every family with the files of [`PATHS`], but without all of their names.
fn nameless() -> Vec<(&'static str, Vec<u8>)> {
    let tes4 = |version, flags| {
        PATHS.iter().fold(Tes4::new(version).flags(flags), |it, path| {
            let (folder, file) = parts(path);
            it.file(folder, file, "x")
        })
    };
    vec![
        ("tes3", PATHS.iter().fold(Tes3::new(), |it, path| it.file(stored(path), "x")).nameless().build()),
        ("v103", tes4(103, 0).build()),
        ("v104 xbox", tes4(104, XBOX_360).build()),
        ("v104 xbox hashes without the flag", tes4(104, XBOX_360).header_flags(0).build()),
        ("v104 pc hashes with the flag", tes4(104, 0).header_flags(XBOX_360).build()),
        ("v105 folder names", tes4(105, FOLDER_NAMES).build()),
        ("v104 file names", tes4(104, FILE_NAMES).build()),
        ("ba2", PATHS.iter().fold(Ba2::general(1), |it, path| it.file(stored(path), "x")).nameless().build()),
    ]
}

fn tree_of(bytes: &[u8], list: &str) -> Tree {
    let mut names = Dictionary::new(Encoding::default());
    assert_eq!(names.add(list.as_bytes()), Ok(0));
    let archive = parse(bytes, &Limits::default()).unwrap();
    let layer = LayerNames::with_names(&archive, Encoding::default(), None, &names).unwrap();
    tree::merge(vec![layer], tree::Rule::LastWins).unwrap()
}

fn files(tree: &Tree) -> Vec<String> {
    let files = tree.nodes().filter(|&node| matches!(tree.kind(node), Kind::File(_)));
    let mut files: Vec<_> = files.map(|node| String::from_utf8(tree.path(node)).unwrap()).collect();
    files.sort();
    files
}

#[test]
fn a_list_in_any_case_and_with_either_separator_names_nameless_files() {
    let list = "# no comment\r\n\nMESHES/A/Bucket.NIF\r\nTextures\\Caf\u{e9}.dds\nreadme.txt\nother/file.nif";
    for (kind, bytes) in nameless() {
        let tree = tree_of(&bytes, list);
        let mut folded: Vec<String> = files(&tree).iter().map(|path| path.to_ascii_lowercase()).collect();
        folded.sort();
        assert_eq!(folded, ["meshes/a/bucket.nif", "readme.txt", "textures/caf\u{e9}.dds"], "{kind}");
        assert!(!tree.has_unnamed(), "{kind}: a name is still unknown");
        let bare = tree_of(&bytes, "");
        for path in ["meshes/a/bucket.nif", "textures/caf\u{e9}.dds", "readme.txt"] {
            let (node, old) =
                (tree.resolve(path.as_bytes()).unwrap(), bare.resolve(path.as_bytes()).unwrap());
            assert_eq!(tree.kind(node), bare.kind(old), "{kind}: {path}");
            assert_eq!(tree.hash_text(node), bare.hash_text(old), "{kind}: {path}");
            assert_eq!(tree.stored_name(node), bare.stored_name(old), "{kind}: {path}");
        }
    }
}

#[test]
fn a_hidden_nameless_file_keeps_its_stored_hash() {
    let read = |bytes: &[u8], names: &Dictionary| {
        LayerNames::with_names(&parse(bytes, &Limits::default()).unwrap(), Encoding::default(), None, names)
            .unwrap()
    };
    let mut names = Dictionary::new(Encoding::default());
    names.add(b"a/b.txt").unwrap();
    let archive = Ba2::general(1).file("a\\b.txt", "x");
    let tree = tree::merge(
        vec![read(&archive.clone().nameless().build(), &names), read(&archive.build(), &names)],
        tree::Rule::LastWins,
    );
    let tree = tree.unwrap();
    let listed = tree.resolve(b"a/b.txt").unwrap();
    let [hidden] = tree.hidden(listed) else { panic!("the number of hidden entries is not 1") };
    assert_eq!(tree.stored_name_of_hidden(hidden), b"");
    assert_eq!(tree.hash_text_of_hidden(hidden), tree.hash_text(listed));
}

#[test]
fn a_file_that_no_list_names_stays_a_hash() {
    for (kind, bytes) in nameless() {
        let tree = tree_of(&bytes, "readme.txt");
        assert!(tree.has_unnamed() && tree.files() == 3, "{kind}");
        assert!(files(&tree).contains(&"readme.txt".into()), "{kind}");
        assert!(tree.resolve(b"meshes/a/bucket.nif").is_some(), "{kind}: not found by its hash");
    }
}

#[test]
fn invalid_lines_of_a_list_are_counted() {
    let mut names = Dictionary::new(Encoding::default());
    assert_eq!(names.add("a\n\u{3042}.nif\n".as_bytes()), Ok(1));
    assert_eq!(names.add(b"\xff\xfe\nb"), Ok(1));
    assert_eq!(names.path(Family::Tes3, &Family::Tes3.of(b"", b"b")), Some(&b"b"[..]));
    assert!(names.add(&b"x\n".repeat(1 << 22)).is_err());
}

/// An archive with a texture whose hash is that of the PlayStation 3.
fn ps3(flags: u32) -> Vec<u8> {
    let hash = Family::Tes4Ps3.of(b"textures", b"iron_n.dds").file;
    let file = Tes4File::new("iron_n.dds", "DDS ").with_hash(hash);
    Tes4::new(103).flags(flags).add("textures", file).build()
}

#[test]
fn textures_of_the_playstation_3_are_found_by_path_and_by_list() {
    let bytes = ps3(0);
    assert!(tree_of(&bytes, "").resolve(b"Textures/Iron_N.dds").is_some());
    assert_eq!(files(&tree_of(&bytes, "textures/iron_n.dds")), ["textures/iron_n.dds"]);
}

#[test]
fn a_file_in_a_root_with_hash_0_is_found_by_path_and_by_list() {
    for flags in [0, XBOX_360, FOLDER_NAMES] {
        let bytes = Tes4::new(104)
            .flags(flags)
            .folder(Tes4Folder::new("").with_hash(0))
            .file("", "license", "x")
            .build();
        assert!(tree_of(&bytes, "").resolve(b"License").is_some(), "flags {flags:#x}");
        assert_eq!(files(&tree_of(&bytes, "license")), ["license"], "flags {flags:#x}");
    }
    let file = Tes4File::new("license", "x").embedded("license");
    let root = Tes4Folder::new("").with_hash(0);
    let embedded = Tes4::new(104).flags(EMBEDDED).folder(root).add("", file).build();
    assert_eq!(files(&tree_of(&embedded, "")), ["license"]);
}

#[test]
fn embedded_names_are_used_if_their_hash_matches_in_either_byte_order() {
    let (folder, file) = (tes4_folder(b"a"), tes4_file(b"b.txt"));
    for (flags, order) in [(0, xbox360 as fn(u64) -> u64), (XBOX_360, |hash| hash)] {
        let bytes = Tes4::new(104)
            .flags(EMBEDDED | flags)
            .folder(Tes4Folder::new("a").with_hash(order(folder)))
            .add("a", Tes4File::new("b.txt", "x").with_hash(order(file)))
            .build();
        assert_eq!(files(&tree_of(&bytes, "")), ["a/b.txt"], "flags {flags:#x}");
    }
}

#[test]
fn nameless_files_get_an_extension_from_their_first_bytes() {
    for (start, extension) in [
        (&b"DDS |"[..], ".dds"),
        (b"NetImmerse File Format, Version 4.0.0.2\n", ".nif"),
        (b"RIFF\x10\0\0\0WAVEfmt ", ".wav"),
        (b"RIFF\x10\0\0\0AVI fmt ", ""),
        (b"OggS", ".ogg"),
        (b"3XDO", ".ddx"),
        (b"Ogg", ""),
        (b"", ""),
    ] {
        let tes3 = Tes3::new().file("a\\b.x", start).nameless().build();
        let plain = format!("{:016X}", Family::Tes3.of(b"a", b"b.x").file);
        let tree = tree_of(&tes3, "");
        assert_eq!(files(&tree), [format!("{plain}{extension}")]);
        assert_eq!(
            tree.hash_text(tree.resolve(plain.as_bytes()).unwrap()),
            plain,
            "the name without the extension must be found, too"
        );
        for flags in [0, FOLDER_NAMES, EMBEDDED] {
            let file = Tes4File::new("b.x", start).embedded("other\\name");
            let tree = tree_of(&Tes4::new(104).flags(flags).add("a", file).build(), "");
            let listed = files(&tree).remove(0);
            let hash = Family::Tes4.of(b"a", b"b.x");
            assert!(listed.ends_with(&format!("/{:016X}{extension}", hash.file)), "{listed}");
            let folder = listed.split('/').next().unwrap();
            assert!(tree.resolve(format!("{folder}/{:016X}", hash.file).as_bytes()).is_some(), "{listed}");
        }
    }
}

#[test]
fn the_platform_is_recognised_from_hashes_and_flags() {
    let platform = |bytes: &[u8]| parse(bytes, &Limits::default()).unwrap().about.platform;
    let texture = |version, flags| Tes4::new(version).flags(flags).file("textures", "iron_n.dds", "x");
    let named = FOLDER_NAMES | FILE_NAMES;
    assert_eq!(platform(&Tes3::new().file("a", "x").build()), "PC");
    assert_eq!(platform(&Tes3::new().file("a", "x").nameless().build()), "Xbox");
    assert_eq!(platform(&texture(103, named).build()), "PC");
    assert_eq!(platform(&texture(103, 0).build()), "PC or PlayStation 3");
    assert_eq!(platform(&ps3(named)), "PlayStation 3");
    assert_eq!(platform(&texture(104, named).build()), "PC or PlayStation 3");
    assert_eq!(platform(&texture(104, named | XBOX_360).build()), "Xbox 360");
    assert_eq!(platform(&texture(104, named | XBOX_360).header_flags(named).build()), "Xbox 360");
    assert_eq!(platform(&texture(105, named).build()), "PC, Xbox One or PlayStation 4");
    assert_eq!(platform(&Ba2::general(1).file("a.txt", "x").build()), "PC or a console");
    assert_eq!(platform(&Ba2::gnm(1).build()), "PlayStation 4");
}

#[test]
fn a_collected_list_names_the_files_of_every_nameless_archive() {
    let dir = TestDir::new();
    let named = PATHS.iter().fold(Ba2::general(1), |it, path| it.file(stored(path), "x")).build();
    dir.archive("named.ba2", &named);
    dir.archive("more.bsa", &Tes3::new().file("README.TXT", "x").build());
    let finished = dir.run(["names", "named.ba2", "more.bsa"]);
    let list = finished.out;
    assert_eq!((finished.code, &list[..]), (0, "meshes/a/bucket.nif\nreadme.txt\ntextures/caf\u{e9}.dds\n"));
    std::fs::write(dir.path("list.txt"), &list).unwrap();
    for (kind, bytes) in nameless() {
        dir.archive("archive", &bytes);
        let finished = dir.run(["list", "archive", "--names", "list.txt"]);
        assert_eq!((finished.code, &finished.out), (0, &list), "{kind}: {}", finished.err);
    }
    let finished = dir.run(["list", "archive", "--names", "missing.txt"]);
    assert!(finished.code == 66 && finished.err.contains("missing.txt"), "{finished:?}");
}

#[test]
fn a_hash_of_no_platform_is_odd_but_not_damage() {
    let dir = TestDir::new();
    let verify = |bytes: Vec<u8>| {
        dir.archive("archive", &bytes);
        dir.run(["verify", "archive"]).success()
    };
    let named = FOLDER_NAMES | FILE_NAMES;
    let pc = |flags| Tes4::new(104).flags(flags).file("a", "b.dds", "x");
    let root = Tes4::new(103).folder(Tes4Folder::new("").with_hash(0)).file("", "license", "x").build();
    let intact =
        [ps3(named), pc(named).header_flags(named | XBOX_360).build(), pc(named | XBOX_360).build(), root];
    for archive in intact {
        assert_eq!(verify(archive), "archive: 1 file, nothing wrong found; 1 has no checksum\n");
    }
    let edited = Tes4::new(103).add("a", Tes4File::new("b.dds", "x").with_hash(7)).file("a", "c.dds", "x");
    let odd = "odd: archive: the game searches by hash and will not find 1 file: the hash is not that of the \
               name; mod managers do this on purpose (archive invalidation) (a/b.dds)\n";
    let last = "archive: 2 files, the content is right, but the game does not find all of it; \
                2 have no checksum\n";
    assert_eq!(verify(edited.build()), format!("{odd}{last}"));
}
