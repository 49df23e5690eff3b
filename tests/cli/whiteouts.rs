//! Folders in which an overlay marked deletions, as layers: the marks hide files of the layers below, and are
//! never listed.

use std::fs;

use bsafs::Vfs;
use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat, setxattr};
use serde_json::Value;

use crate::mounted::TestDir;
use crate::support::Tes3;

/// An archive, and a folder `mod` with one new file for the layer above.
fn prepared() -> TestDir {
    let dir = TestDir::new();
    let archive = Tes3::new().file("misc\\x.txt", b"x").file("misc\\y.txt", b"y");
    let archive = archive.file("textures\\a.dds", b"a").file("textures\\sub\\b.dds", b"b");
    dir.archive("a.bsa", &archive.build());
    fs::create_dir_all(dir.path("mod/textures")).unwrap();
    fs::write(dir.path("mod/textures/new.dds"), "new").unwrap();
    dir
}

/// The paths that a mod on top of the archive leaves.
fn listed(dir: &TestDir) -> Vec<String> {
    dir.run(["list", "a.bsa", "mod"]).success().lines().map(str::to_owned).collect()
}

/// Makes the character device 0/0, as the kernel's overlay and fuse-overlayfs do.
fn make_device(dir: &TestDir, path: &str) -> bool {
    mknodat(CWD, dir.path(path), FileType::CharacterDevice, Mode::empty(), 0).is_ok()
}

/// Checks that `why` and `which` say of a file of the archive that a mod deletes it.
fn check_why(dir: &TestDir, path: &str, mark: &str) {
    let answer = dir.run(["why", "--json", "--in", "a.bsa", "--in", "mod", path]);
    let answer: Value = serde_json::from_str(&answer.out).unwrap_or_else(|_| panic!("{mark}: {answer:?}"));
    let reason = &answer["reasons"][0];
    let name = |key: &str| reason[key].as_str().unwrap_or_default().rsplit('/').next().unwrap().to_owned();
    assert_eq!(
        (&answer["fate"], &reason["code"]),
        (&"deleted".into(), &"deleted".into()),
        "{mark}: {answer}"
    );
    assert_eq!((name("subject"), name("by")), ("a.bsa".into(), "mod".into()), "{mark}: {answer}");
    let text = reason["text"].as_str().unwrap();
    assert!(text.contains("deleted in mod; the copy of a.bsa is hidden by that"), "{mark}: {text}");
    let which = dir.run(["which", "a.bsa", "mod", path]);
    assert!(which.code == 1 && which.err.contains("deleted in mod"), "{mark}: {which:?}");
}

#[test]
fn a_deleted_file_or_folder_is_hidden_in_the_layers_below() {
    let all = ["misc/x.txt", "misc/y.txt", "textures/a.dds", "textures/new.dds", "textures/sub/b.dds"];
    for (mark, is_device, hidden) in [
        ("misc/x.txt", true, &["misc/x.txt"][..]),
        ("misc/.wh.X.TXT", false, &["misc/x.txt"]),
        ("misc", true, &["misc/x.txt", "misc/y.txt"]),
        (".wh.Misc", false, &["misc/x.txt", "misc/y.txt"]),
        ("textures/sub", true, &["textures/sub/b.dds"]),
        ("textures/.wh.sub", false, &["textures/sub/b.dds"]),
        // A mark hides nothing of its own layer.
        (".wh.textures", false, &["textures/a.dds", "textures/sub/b.dds"]),
        ("textures/.wh.new.dds", false, &[]),
        ("textures/.wh..wh.plink", false, &[]),
        ("textures/.wh.", false, &[]),
    ] {
        let dir = prepared();
        fs::create_dir_all(dir.path("mod").join(mark).parent().unwrap()).unwrap();
        if is_device {
            assert!(make_device(&dir, &format!("mod/{mark}")), "{mark}")
        } else {
            fs::write(dir.path("mod").join(mark), "").unwrap()
        }
        let expected: Vec<&str> = all.into_iter().filter(|path| !hidden.contains(path)).collect();
        assert_eq!(listed(&dir), expected, "{mark}");
        // A command that needs one path walks only the folders above it.
        for path in all {
            let is_there = dir.run(["list", "a.bsa", "mod", path]).code == 0;
            assert_eq!(is_there, expected.contains(&path), "{mark}, {path}");
        }
        for path in hidden.iter() {
            check_why(&dir, path, mark);
        }
        assert_eq!(dir.run(["list", "mod"]).success(), "textures/new.dds\n", "{mark}");
        dir.run(["extract", "mod", "-C", "out"]).success();
        let written: Vec<_> =
            fs::read_dir(dir.path("out")).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(written, ["textures"], "{mark}");
    }
}

#[test]
fn an_opaque_folder_hides_what_the_layers_below_have_in_it() {
    let file = |dir: &TestDir, name: &str| fs::write(dir.path("mod/textures").join(name), "").is_ok();
    let attribute = |dir: &TestDir, name: &str, value: &str| {
        setxattr(dir.path("mod/textures"), name, value.as_bytes(), XattrFlags::empty()).is_ok()
    };
    type Make<'a> = &'a dyn Fn(&TestDir) -> bool;
    let makes: [(&str, Make<'_>); 6] = [
        (".wh..wh..opq", &|dir| file(dir, ".wh..wh..opq")),
        (".wh..opq", &|dir| file(dir, ".wh..opq")),
        ("the device .wh..opq", &|dir| make_device(dir, "mod/textures/.wh..opq")),
        ("user.overlay.opaque", &|dir| attribute(dir, "user.overlay.opaque", "y")),
        ("user.fuseoverlayfs.opaque", &|dir| attribute(dir, "user.fuseoverlayfs.opaque", "y")),
        ("trusted.overlay.opaque", &|dir| attribute(dir, "trusted.overlay.opaque", "y")),
    ];
    for (mark, make) in makes {
        let dir = prepared();
        assert_eq!(listed(&dir).len(), 5);
        if !make(&dir) {
            eprintln!("SKIPPED: {mark} cannot be set here");
            continue;
        }
        assert_eq!(listed(&dir), ["misc/x.txt", "misc/y.txt", "textures/new.dds"], "{mark}");
        check_why(&dir, "textures/sub/b.dds", mark);
    }
    // With this value, only files in the folder may be marks.
    let dir = prepared();
    if attribute(&dir, "user.overlay.opaque", "x") {
        assert_eq!(listed(&dir).len(), 5);
    }
}

#[test]
fn a_file_that_became_a_folder_does_not_return() {
    let dir = prepared();
    fs::create_dir_all(dir.path("mod/misc/x.txt")).unwrap();
    fs::write(dir.path("mod/misc/x.txt/.wh..wh..opq"), "").unwrap();
    fs::write(dir.path("mod/misc/x.txt/inside.txt"), "").unwrap();
    let listed = listed(&dir);
    assert!(listed.contains(&"misc/x.txt/inside.txt".into()), "{listed:?}");
    assert_eq!(listed.iter().filter(|path| path.starts_with("misc/x")).count(), 1, "{listed:?}");
}

#[test]
fn a_layer_above_a_deletion_shows_its_own_file() {
    let dir = prepared();
    fs::write(dir.path("mod/.wh.misc"), "").unwrap();
    dir.archive("c.bsa", &Tes3::new().file("misc\\x.txt", b"again").build());
    assert_eq!(dir.run(["cat", "a.bsa", "misc/x.txt"]).success(), "x");
    let vfs = Vfs::open(["a.bsa", "mod", "c.bsa"].map(|name| dir.path(name))).unwrap();
    let file = vfs.file("misc/x.txt").unwrap();
    assert_eq!((file.read().unwrap(), file.hidden().len()), (b"again".to_vec(), 0));
    assert!(vfs.file("misc/y.txt").is_none());
    // The copy that was deleted is named beside the one that wins.
    let which = dir.run(["which", "a.bsa", "mod", "c.bsa", "misc/x.txt"]).success();
    assert!(which.contains("from   c.bsa") && which.contains("  deleted a.bsa\n"), "{which}");
    // With a folder for each layer, no layer is below another.
    let apart = dir.run(["list", "--layout=per-archive", "a.bsa", "mod"]).success();
    assert!(apart.contains("a/misc/x.txt\n"), "{apart}");
}

#[test]
fn a_mark_is_said_to_be_one() {
    let dir = prepared();
    fs::create_dir_all(dir.path("mod/misc")).unwrap();
    fs::write(dir.path("mod/misc/.wh.x.txt"), "").unwrap();
    fs::write(dir.path("mod/misc/.wh.none.txt"), "").unwrap();
    fs::write(dir.path("mod/textures/.wh..wh..opq"), "").unwrap();
    for (mark, text) in [
        (
            "misc/.wh.x.txt",
            "this marks that x.txt was deleted in a writable mount; the copy of a.bsa is hidden",
        ),
        (
            "misc/.wh.none.txt",
            "this marks that none.txt was deleted in a writable mount; it hides nothing now",
        ),
        (
            "textures/.wh..wh..opq",
            "this marks that textures was deleted in a writable mount; the copy of a.bsa",
        ),
    ] {
        let path = dir.path("mod").join(mark);
        let answer = dir.run(["why", "--json", "--in", "a.bsa", "--in", "mod", path.to_str().unwrap()]);
        let answer: Value = serde_json::from_str(&answer.out).unwrap();
        let reason = &answer["reasons"][0];
        assert_eq!(
            (&answer["fate"], &reason["code"]),
            (&"deleted".into(), &"deletion-mark".into()),
            "{answer}"
        );
        assert!(reason["text"].as_str().unwrap().starts_with(text), "{mark}: {answer}");
    }
}

#[test]
fn a_deleted_folder_without_files_is_not_shown() {
    let dir = prepared();
    fs::create_dir_all(dir.path("low/empty/deep")).unwrap();
    fs::create_dir_all(dir.path("low/kept")).unwrap();
    fs::write(dir.path("low/empty/deep/a.txt"), "a").unwrap();
    fs::write(dir.path("mod/.wh.empty"), "").unwrap();
    let vfs = Vfs::open(["low", "mod"].map(|name| dir.path(name))).unwrap();
    assert!(vfs.folder("empty").is_none() && vfs.folder("empty/deep").is_none());
    assert!(vfs.folder("kept").is_some() && vfs.folder("textures").is_some());
}
