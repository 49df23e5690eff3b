//! Tests of lookups: names in any case, names that no listing shows, and spellings of folders.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{world, world_files};
use crate::mounted::{Mounted, TestDir, finish, status, until};
use crate::support::content::text;
use crate::support::tes4::PACKED;
use crate::support::{Ba2, Tes3, Tes4, hash};

/// A path with the case of every second letter swapped, beginning with the `nth`.
fn respelled(path: &str, nth: usize) -> String {
    let turned = |letter: char| {
        if letter.is_ascii_lowercase() { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() }
    };
    path.chars().enumerate().map(|(at, letter)| if at % 2 == nth { turned(letter) } else { letter }).collect()
}

/// Every path below a folder, with its inode number.
fn numbers(folder: &Path) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        assert_eq!(entry.metadata().unwrap().ino(), fs::symlink_metadata(&path).unwrap().ino());
        if entry.file_type().unwrap().is_dir() {
            let below = numbers(&path).into_iter();
            found.extend(
                below.map(|(name, ino)| (format!("{}/{name}", entry.file_name().to_str().unwrap()), ino)),
            );
        }
        found.insert(entry.file_name().into_string().unwrap(), entry.metadata().unwrap().ino());
    }
    found
}

#[test]
fn a_file_is_found_in_any_case() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mount = dir.mount(["a.bsa"]);
    for (path, content) in world_files() {
        for spelling in [path.to_uppercase(), path.to_lowercase(), respelled(path, 0), respelled(path, 1)] {
            assert!(mount.read(&spelling) == content, "{spelling}");
        }
    }
}

#[test]
fn a_name_in_no_archive_is_not_found() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mount = dir.mount(["a.bsa"]);
    // The kernel answers the second lookup from its negative entry.
    for _ in 0..2 {
        for path in
            ["nothing", "textures/sky.dd", "textures/sky.ddss", "nowhere/sky.dds", "textures\\sky.dds"]
        {
            assert_eq!(fs::metadata(mount.join(path)).unwrap_err().kind(), ErrorKind::NotFound, "{path}");
        }
    }
    let inside = fs::metadata(mount.join("readme.txt/x")).unwrap_err();
    assert_eq!(inside.kind(), ErrorKind::NotADirectory);
}

#[test]
fn the_file_ciopfs_exists_in_every_folder_but_is_never_listed() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mount = dir.mount(["a.bsa"]);
    for folder in ["", "textures", "TEXTURES", "textures/clutter", "meshes"] {
        let folder = mount.join(folder);
        let metadata = fs::metadata(folder.join(".ciopfs")).unwrap();
        assert!(metadata.is_file() && metadata.len() == 0, "{}", folder.display());
        assert_eq!(fs::read(folder.join(".ciopfs")).unwrap(), b"");
        let hidden = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(hidden.filter(|name| name.to_str().unwrap().starts_with('.')).count(), 0);
    }
}

#[test]
fn the_status_link_exists_only_in_the_root_and_is_never_listed() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mount = dir.mount(["a.bsa", "--cache-size", "1M"]);
    let status = status(&mount.path);
    assert_eq!((&status["archives"], &status["files"]), (&1.into(), &world_files().len().into()));
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(status["cache"]["budget"], 1 << 20);
    let program = fs::read_link(format!("/proc/{}/exe", mount.pid)).unwrap();
    assert_eq!(program, fs::canonicalize(env!("CARGO_BIN_EXE_bsafs")).unwrap());
    assert!(fs::symlink_metadata(mount.join("textures/.bsafs:status")).is_err());
    let mut listed: Vec<_> = fs::read_dir(&mount.path).unwrap().map(|it| it.unwrap().file_name()).collect();
    listed.sort();
    assert_eq!(listed, ["meshes", "readme.txt", "textures"]);
    for nonsense in [".bsafs:which:", ".bsafs:which:x", ".bsafs:which:-1", ".bsafs:"] {
        assert!(fs::symlink_metadata(mount.join(nonsense)).is_err(), "{nonsense}");
    }
    for unknown in [".bsafs:which:0", ".bsafs:which:1", ".bsafs:which:4000000000"] {
        assert!(fs::read_link(mount.join(unknown)).is_err(), "{unknown}");
    }
}

#[test]
fn inode_numbers_are_unique_and_equal_in_every_mount() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let seen: Vec<BTreeMap<String, u64>> = (0..2)
        .map(|_| {
            let mount = dir.mount(["a.bsa"]);
            assert_eq!(fs::metadata(&mount.path).unwrap().ino(), 1);
            let seen = numbers(&mount.path);
            mount.umount(&dir);
            seen
        })
        .collect();
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0].len(), world_files().len() + 3);
    let mut own: Vec<u64> = seen[0].values().copied().collect();
    own.sort_unstable();
    own.dedup();
    assert_eq!(own.len(), seen[0].len());
}

#[test]
fn each_spelling_of_a_folder_is_a_folder_with_the_same_files() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mount = dir.mount(["a.bsa"]);
    let ino = |path: &str| fs::metadata(mount.join(path)).unwrap().ino();
    // The lookups alternate, because the kernel can cache a folder under one name only.
    for _ in 0..3 {
        assert_ne!(ino("textures"), ino("TEXTURES"));
        assert_ne!(ino("textures/clutter"), ino("TEXTURES/clutter"));
        assert_eq!(ino("textures/clutter/bucket.dds"), ino("TEXTURES/Clutter/BUCKET.dds"));
    }
    let list = |path: &str| -> Vec<_> {
        fs::read_dir(mount.join(path)).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    };
    assert_eq!(list("textures/clutter"), ["bucket.dds", "Pail.DDS"]);
    assert_eq!(list("TEXTURES/Clutter"), list("textures/clutter"));
}

#[test]
fn programs_in_different_spellings_keep_their_current_folder() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mount = dir.mount(["a.bsa"]);
    let spellings = ["textures/clutter", "TEXTURES/CLUTTER", "Textures/clutter"];
    let start = |spelling: &&str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", "read go; /bin/pwd -P; cat bucket.dds | wc -c"]);
        shell.current_dir(mount.join(spelling)).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    };
    let programs: Vec<_> = spellings.iter().map(start).collect();
    for (mut program, spelling) in programs.into_iter().zip(spellings) {
        program.stdin.take().unwrap().write_all(b"go\n").unwrap();
        let out = finish(program).success();
        assert_eq!(out, format!("{}\n300000\n", mount.join(spelling).display()));
    }
}

#[test]
fn names_are_decoded_with_the_code_page_of_encoding() {
    let dir = TestDir::new();
    // In Windows-1251 these bytes are "Яблоко", in Windows-1252 they are "ßáëîêî".
    dir.archive("a.bsa", &Tes3::new().file(b"\xDF\xE1\xEB\xEE\xEA\xEE.txt", b"apple").build());
    for (encoding, name) in [("1251", "\u{42f}блоко.txt"), ("1252", "ßáëîêî.txt")] {
        let mount = dir.mount(["a.bsa", "--encoding", encoding]);
        assert_eq!(mount.read(name), b"apple");
        mount.umount(&dir);
    }
}

#[test]
fn a_nameless_file_is_found_by_its_hash_and_by_its_real_path() {
    let dir = TestDir::new();
    let content = text(9, 400);
    let bsa = |version| Tes4::new(version).flags(PACKED).file("misc", "example.txt", &content[..]).build();
    dir.archive("a.ba2", &Ba2::general(1).file("Misc\\Example.txt", &content[..]).nameless().build());
    let mount: Mounted = dir.mount(["a.ba2"]);
    for path in ["5EE3C5A6_F38044E1.txt", "5ee3c5a6_f38044e1.TXT", "misc/example.txt", "MISC/EXAMPLE.TXT"] {
        assert!(mount.read(path) == content, "{path}");
    }
    assert!(fs::metadata(mount.join("misc/other.txt")).is_err());
    let listed: Vec<_> = fs::read_dir(&mount.path).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(listed, ["5EE3C5A6_F38044E1.txt"]);
    mount.umount(&dir);
    for version in [103, 104, 105] {
        dir.archive("a.bsa", &bsa(version));
        let mount = dir.mount(["a.bsa"]);
        let folder = format!("{:016X}", hash::tes4_folder(b"misc"));
        let listed: Vec<_> = fs::read_dir(&mount.path).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(listed, [folder.as_str()]);
        let by_hash = format!("{folder}/{:016X}", hash::tes4_file(b"example.txt"));
        for path in [by_hash.as_str(), "misc/example.txt", "MISC/EXAMPLE.TXT"] {
            assert!(mount.read(path) == content, "{version}: {path}");
        }
        mount.umount(&dir);
    }
}

#[test]
fn many_lookups_of_missing_names_keep_a_nameless_archive_usable() {
    let dir = TestDir::new();
    let archive = Tes4::new(104).flags(0).file("misc\\deep", "a.txt", "a").file("other", "b.txt", "b");
    dir.archive("a.bsa", &archive.build());
    let mount = dir.mount(["a.bsa"]);
    let ino = |name: &str| fs::metadata(mount.join(name)).unwrap().ino();
    let (first, in_use) = (ino("absent"), fs::File::open(mount.join("misc")).unwrap());
    assert_eq!(mount.read("misc/deep/a.txt"), b"a");
    for n in 0..66_000 {
        // Each name may be that of a folder in the archive, so the lookup succeeds.
        assert!(fs::metadata(mount.join(format!("absent{n}"))).unwrap().is_dir());
    }
    assert_eq!(mount.read("misc/deep/a.txt"), b"a");
    assert_eq!(mount.read("other/b.txt"), b"b");
    assert_eq!(in_use.metadata().unwrap().ino(), ino("misc"), "a folder in use lost its number");
    let mut n = 0;
    until("the kernel to forget the oldest name", || {
        n += 1;
        let _ = fs::metadata(mount.join(format!("further{n}")));
        ino("absent") != first
    });
}

#[test]
fn an_exact_mount_has_only_stored_spellings() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &Tes3::new().file("Textures\\a.DDS", b"x").build());
    let mount = dir.mount(["-o", "exact", "a.bsa"]);
    assert_eq!(mount.read("Textures/a.DDS"), b"x");
    for absent in ["textures/a.DDS", "Textures/a.dds", "Textures/.ciopfs", ".ciopfs"] {
        assert!(!mount.join(absent).exists(), "{absent}");
    }
}
