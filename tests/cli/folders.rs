//! Folders of loose files as sources of commands that do not mount.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use serde_json::Value;

use super::with_a_bad_file;
use crate::mounted::TestDir;
use crate::support::Tes3;

/// A folder with an archive and loose files. One of these hides a file of the archive.
fn data() -> TestDir {
    let dir = TestDir::new();
    fs::create_dir_all(dir.path("Data/Misc")).unwrap();
    dir.archive(
        "Data/a.bsa",
        &Tes3::new().file("misc\\x.txt", b"old").file("misc\\y.txt", b"archived").build(),
    );
    fs::write(dir.path("Data/Misc/X.txt"), b"loose").unwrap();
    fs::write(dir.path("Data/Mod.esp"), b"TES4").unwrap();
    dir
}

#[test]
fn list_shows_a_folder_and_its_archives_as_one_tree() {
    let dir = data();
    assert_eq!(dir.run(["list", "Data"]).success(), "misc/X.txt\nmisc/y.txt\nMod.esp\n");
    let files = dir.run(["list", "--archives=files", "Data"]).success();
    assert_eq!(files, "a.bsa\nMisc/X.txt\nMod.esp\n");
    let both = dir.run(["list", "--archives=both", "Data"]).success();
    assert_eq!(both, "a.bsa\nmisc/X.txt\nmisc/y.txt\nMod.esp\n");
    let lines = dir.run(["list", "--json", "Data", "--glob", "x.txt"]).success();
    let line: Value = serde_json::from_str(&lines).unwrap();
    assert_eq!(
        (&line["size"], &line["packed"], &line["codec"]),
        (&5.into(), &5.into(), &"uncompressed".into())
    );
    assert_eq!(line["archive"], dir.path("Data").to_str().unwrap());
    assert_eq!(line["hidden_copies"], 1);
    let layers = dir.run(["list", "--layout", "per-archive", "Data"]).success();
    assert_eq!(layers, "a/misc/x.txt\na/misc/y.txt\nData/Misc/X.txt\nData/Mod.esp\n");
}

#[test]
fn cat_and_extract_write_loose_and_archived_files() {
    let dir = data();
    assert_eq!(dir.run(["cat", "Data", "MISC\\x.TXT", "misc/y.txt"]).success(), "loosearchived");
    dir.run(["extract", "Data", "-C", "out"]).success();
    assert_eq!(fs::read(dir.path("out/misc/X.txt")).unwrap(), b"loose");
    assert_eq!(fs::read(dir.path("out/misc/y.txt")).unwrap(), b"archived");
    assert_eq!(fs::read(dir.path("out/Mod.esp")).unwrap(), b"TES4");
}

#[test]
fn extract_writes_into_the_folder_of_a_source_but_over_no_source() {
    let dir = TestDir::new();
    let put = |path: &str, content: &str| {
        fs::create_dir_all(dir.path(path).parent().unwrap()).unwrap();
        fs::write(dir.path(path), content).unwrap();
    };
    put("Game/textures/a.dds", "game a");
    put("Game/textures/b.dds", "game b");
    put("Mod/textures/b.dds", "mod b");
    let read = |path: &str| fs::read_to_string(dir.path(path)).unwrap();
    dir.run(["extract", "Game", "Mod", "textures/a.dds", "-C", "Mod"]).success();
    assert_eq!((&*read("Mod/textures/a.dds"), &*read("Mod/textures/b.dds")), ("game a", "mod b"));
    // Only --overwrite replaces files, but no file that one comes from.
    fs::remove_file(dir.path("Mod/textures/a.dds")).unwrap();
    let finished = dir.run(["extract", "Game", "Mod", "-C", "Game", "--overwrite"]);
    assert_eq!(finished.code, 1, "{finished:?}");
    assert_eq!(finished.err, "bsafs: textures/a.dds: a source is in the way, and is never replaced\n");
    assert_eq!((&*read("Game/textures/a.dds"), &*read("Game/textures/b.dds")), ("game a", "mod b"));
    // Also not one that another file comes from.
    put("Deep/x.txt", "outer");
    put("Deep/sub/x.txt", "inner");
    let finished = dir.run(["extract", "Deep", "-C", "Deep/sub", "--overwrite"]);
    assert_eq!(finished.code, 1, "{finished:?}");
    assert_eq!((&*read("Deep/sub/x.txt"), &*read("Deep/sub/sub/x.txt")), ("inner", "inner"));
}

#[test]
fn a_last_source_that_is_probably_the_destination_is_refused_with_the_option() {
    let dir = data();
    fs::create_dir(dir.path("out")).unwrap();
    let refused = |arguments: &[&str], code, text: &str| {
        let finished = dir.run(arguments.iter().copied());
        assert_eq!(finished.code, code, "{finished:?}");
        assert!(finished.err.contains(text), "{text}: {finished:?}");
    };
    refused(&["extract", "Data/a.bsa", "out"], 2, "empty folder; to write to it: -C out");
    refused(&["extract", "Data/a.bsa", "Data"], 2, "another source is in; to write to it: -C Data");
    refused(&["extract", "Data/a.bsa", "new"], 66, "a new folder of this name: -C new");
    refused(&["pack", "--game", "skyrimse", "Data", "out"], 2, "to write to it: -o out");
    refused(&["pack", "--game", "skyrimse", "Data", "new"], 66, "a new folder of this name: -o new");
    // A path in the sources is none.
    let finished = dir.run(["extract", "Data", "misc/z.txt"]);
    assert!(finished.code == 66 && !finished.err.contains("-C"), "{finished:?}");
    // Both options mean the same in both commands.
    dir.run(["extract", "Data/a.bsa", "-o", "out"]).success();
    assert!(dir.path("out/misc/y.txt").exists());
    // A folder that took the name of the output is named.
    fs::rename(dir.path("out"), dir.path("b")).unwrap();
    let finished = dir.run(["extract", "Data/a.bsa", "b"]);
    assert_eq!(
        (finished.code, &*finished.err),
        (0, "bsafs: warn: b is a source here; to extract to it: -C b\n")
    );
    for (name, meant) in [("unpack", "extract ARCHIVE"), ("create", "pack FOLDER"), ("stop", "umount MOUNT")]
    {
        refused(&[name, "Data"], 2, meant);
    }
}

#[test]
fn a_folder_that_is_published_keeps_its_archives() {
    let dir = data();
    dir.run(["extract", "Data", "--archives", "files", "-C", "out"]).success();
    assert_eq!(fs::read(dir.path("out/a.bsa")).unwrap(), fs::read(dir.path("Data/a.bsa")).unwrap());
    assert!(!dir.path("out/misc/y.txt").exists() && dir.path("out/Mod.esp").exists());
}

#[test]
fn a_path_that_another_program_or_shell_spells_differently_is_spelled_out() {
    let dir = data();
    fs::write(dir.path("A - b.bsa"), "").unwrap();
    let here = dir.path("");
    let here = here.to_str().unwrap().trim_end_matches('/');
    for (typed, text) in [
        (format!("file://{here}/My%20Mod.bsa"), format!("; write '{here}/My Mod.bsa'\n")),
        (r"Z:\games\a.bsa".to_owned(), "; write /games/a.bsa\n".to_owned()),
        (r"C:\games\a.bsa".to_owned(), "; write PREFIX/drive_c/games/a.bsa\n".to_owned()),
        ("~/a.bsa".to_owned(), "/a.bsa\n".to_owned()),
        ("A".to_owned(), "; a name with spaces needs quotes: 'A - b.bsa'\n".to_owned()),
        ("b.bsa".to_owned(), "; a name with spaces needs quotes: 'A - b.bsa'\n".to_owned()),
    ] {
        let finished = dir.run(["list", &typed]);
        assert!(finished.code == 66 && finished.err.ends_with(&text), "{typed}: {finished:?}");
    }
}

#[test]
fn a_file_as_mountpoint_is_called_that_and_no_damaged_archive() {
    let dir = data();
    fs::write(dir.path("notes"), "a text").unwrap();
    for sources in [&["Data"][..], &["Data/a.bsa", "Data"]] {
        let finished = dir.run([&["mount"], sources, &["notes"]].concat());
        let text = "bsafs: notes: neither a folder to mount on nor an archive\n";
        assert!(finished.code == 65 && finished.err == text, "{finished:?}");
    }
    // A file that is called an archive is meant as a source.
    fs::write(dir.path("notes.bsa"), "a text").unwrap();
    let finished = dir.run(["mount", "Data", "notes.bsa"]);
    assert!(finished.code == 65 && finished.err.contains("notes.bsa: unsupported archive"), "{finished:?}");
}

#[test]
fn info_describes_the_folder_and_then_each_archive() {
    let dir = data();
    let lines = dir.run(["info", "--json", "Data"]).success();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let formats: Vec<&str> = lines.iter().map(|line| line["format"].as_str().unwrap()).collect();
    assert_eq!((formats.len(), formats[0]), (2, "folder"));
    assert_eq!(
        (&lines[0]["files"], &lines[0]["folders"], &lines[0]["bytes"]),
        (&2.into(), &1.into(), &9.into())
    );
    assert_eq!(lines[1]["files"], 2);
    let text = dir.run(["info", "Data"]).success();
    assert!(text.contains("  holds          2 files in 1 folder\n  sizes          9 B\n"), "{text}");
}

#[test]
fn verify_reads_loose_files_and_every_archive_in_the_folder() {
    let dir = data();
    let out = dir.run(["verify", "Data"]).success();
    assert_eq!(
        out,
        format!(
            "{}: 2 files, nothing wrong found; 2 have no checksum\n\
             Data: 2 files, nothing wrong found; 2 have no checksum\n",
            dir.path("Data/a.bsa").display()
        )
    );
    // Each archive is checked separately, even if loose files hide its files.
    dir.archive("Data/b.bsa", &with_a_bad_file());
    let finished = dir.run(["verify", "Data"]);
    assert_eq!(finished.code, 1);
    assert!(finished.out.contains("b.bsa: ") && finished.out.contains("1 bad"), "{finished:?}");
}

#[test]
fn names_that_differ_in_the_case_of_non_ascii_letters_are_reported() {
    let dir = TestDir::new();
    for name in ["Größe.esp", "GRÖßE.esp", "Übung.txt", "plain.txt", "PLAIN.md"] {
        fs::create_dir_all(dir.path("Data")).unwrap();
        fs::write(dir.path("Data").join(name), name).unwrap();
    }
    let finished = dir.run(["list", "Data"]);
    assert_eq!((finished.code, finished.out.lines().count(), finished.err.lines().count()), (0, 5, 1));
    assert!(
        finished.err.contains("Größe.esp") && finished.err.contains("differ only in case"),
        "{finished:?}"
    );
}

#[test]
fn different_names_in_another_code_page_are_not_reported_as_one() {
    let dir = TestDir::new();
    fs::create_dir(dir.path("Data")).unwrap();
    for name in [&b"\xEF\xF0\xE8\xE2\xE5\xF2.nif"[..], b"\xEC\xE8\xF0.nif"] {
        fs::write(dir.path("Data").join(OsStr::from_bytes(name)), "").unwrap();
    }
    let finished = dir.run(["list", "Data"]);
    assert_eq!((finished.code, finished.err.as_str()), (0, ""));
    assert_eq!(fs::read_dir(dir.path("Data")).unwrap().count(), 2);
}

#[test]
fn a_folder_on_sysfs_is_refused_and_left_out_of_a_game() {
    let dir = data();
    let why = "it is on a sysfs file system, which shows the state of the system; give a folder on a disk";
    let finished = dir.run(["list", "/sys"]);
    assert_eq!((finished.code, finished.err), (66, format!("bsafs: /sys: {why}\n")));
    let cfg = format!("data=/sys\ndata={}\n", dir.path("Data").display());
    fs::write(dir.path("openmw.cfg"), cfg).unwrap();
    let finished = dir.run(["list", "openmw.cfg"]);
    assert_eq!((finished.code, finished.out.as_str()), (1, "a.bsa\nMisc/X.txt\nMod.esp\n"), "{finished:?}");
    assert_eq!(finished.err, format!("bsafs: /sys: not looked at: {why}\n"));
}

#[test]
fn a_loose_file_whose_name_has_a_backslash_gets_a_note() {
    let dir = TestDir::new();
    fs::create_dir(dir.path("mod")).unwrap();
    fs::write(dir.path("mod/meshes\\a.nif"), "x").unwrap();
    let text = "mod/meshes\\a.nif: its name has a backslash";
    for command in ["list", "extract"] {
        let finished = dir.run([command, "mod"]);
        assert!(finished.code == 0 && finished.err.contains(text), "{finished:?}");
        assert!(finished.err.contains("the game does not see it"), "{finished:?}");
    }
    assert_eq!(dir.run(["list", "-q", "mod"]).success(), "meshes%5Ca.nif\n");
    for command in ["info", "verify", "order"] {
        let finished = dir.run([command, "--json", "mod"]);
        assert!(finished.code == 0 && finished.out.contains("\"name-backslash\""), "{finished:?}");
    }
}
