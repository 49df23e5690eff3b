//! `bsafs which --in`: which layer a file comes from, without a mount.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::Value;

use crate::mounted::TestDir;
use crate::support::{Ba2, Tes3};

fn two_archives() -> TestDir {
    let dir = TestDir::new();
    dir.archive("low.bsa", &Tes3::new().file("misc\\a.txt", b"low").file("misc\\b.txt", b"1").build());
    dir.archive("high.ba2", &Ba2::general(1).file("Misc\\A.txt", b"higher").build());
    dir
}

#[test]
fn which_answers_the_same_for_a_mount_and_for_its_sources() {
    let dir = two_archives();
    let mount = dir.mount(["low.bsa", "high.ba2"]);
    let sources = ["--in", "low.bsa", "--in", "high.ba2"];
    for form in [&[][..], &["--json"]] {
        let mounted = dir.run([&["which", "mnt/misc/a.txt", "mnt/misc/b.txt"], form].concat()).success();
        for paths in [["misc/a.txt", "misc/b.txt"], ["MISC\\A.TXT", "/misc//B.txt"]] {
            let found = dir.run([&["which"], &sources[..], &paths, form].concat()).success();
            assert_eq!(found, mounted);
        }
    }
    drop(mount);
}

#[test]
fn a_path_without_its_first_folders_is_found_also_if_it_begins_like_a_folder_of_the_game() {
    let dir = TestDir::new();
    let archive = Tes3::new().file("textures\\interface\\objects\\x.dds", b"x");
    let archive = archive.file("meshes\\actors\\character\\animations\\list.txt", b"y");
    let archive = archive.file("scripts\\source\\user\\my.psc", b"z");
    dir.archive("a.bsa", &archive.build());
    for (asked, found) in [
        ("interface/objects/x.dds", "textures/interface/objects/x.dds"),
        ("actors/character/animations/list.txt", "meshes/actors/character/animations/list.txt"),
        ("source/user/my.psc", "scripts/source/user/my.psc"),
    ] {
        let which = dir.run(["which", "--in", "a.bsa", asked]);
        assert!(which.out.contains(found), "{asked}: {which:?}");
    }
}

/// Only the folders above a single path are walked, all folders for a list of paths.
#[test]
fn one_path_has_the_answer_that_it_has_among_all_paths() {
    let dir = TestDir::new();
    for (path, bytes) in [
        ("low/Textures/Armor/Iron.dds", "1"),
        ("low/textures/armor/iron.DDS", "2"),
        ("low/Textures/Armor/gone.dds", "3"),
        ("low/Textures/Removed/a.dds", "4"),
        ("low/opaque/a.txt", "5"),
        ("low/same/name/in.txt", "6"),
        ("low/50% \u{e9}.txt", "7"),
        ("target/deep/linked.txt", "8"),
        ("high/TEXTURES/ARMOR/IRON.dds", "9"),
        ("high/textures/armor/.wh.gone.dds", ""),
        ("high/textures/.wh.removed", ""),
        ("high/opaque/.wh..wh..opq", ""),
        ("high/opaque/b.txt", "10"),
        ("high/same/name", "11"),
        ("high/misc/a.txt", "12"),
    ] {
        let path = dir.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    std::os::unix::fs::symlink("../../target/deep", dir.path("low/Textures/Links")).unwrap();
    std::os::unix::fs::symlink("../target/deep/linked.txt", dir.path("low/file.txt")).unwrap();
    dir.archive(
        "middle.bsa",
        &Tes3::new().file("misc\\a.txt", b"archive").file("opaque\\a.txt", b"-").build(),
    );
    let sources = ["--in", "low", "--in", "middle.bsa", "--in", "high"];
    let paths = dir.run(["list", "low", "middle.bsa", "high"]).success();
    let removed = "textures/armor/gone.dds\ntextures/removed/a.dds\nopaque/a.txt\nnone.txt\n";
    fs::write(dir.path("paths"), paths.clone() + removed).unwrap();
    assert_eq!(paths.lines().count(), 9, "{paths}");
    let all = dir.run([&["which", "--json", "--files-from", "paths"], &sources[..]].concat());
    let mut one_by_one = (String::new(), String::new());
    for path in paths.lines().chain(removed.lines()) {
        let one = dir.run([&["which", "--json", path], &sources[..]].concat());
        one_by_one = (one_by_one.0 + &one.out, one_by_one.1 + &one.err);
    }
    assert_eq!(one_by_one, (all.out, all.err));
}

#[test]
fn the_answer_is_short_unless_more_is_asked_for() {
    let dir = two_archives();
    let found = dir.run(["which", "low.bsa", "high.ba2", "misc/a.txt"]).success();
    assert_eq!(found.to_lowercase(), "misc/a.txt  (6 b)\n  from   high.ba2\n  hides  low.bsa\n");
    let found = dir.run(["which", "low.bsa", "high.ba2", "misc/a.txt", "-v"]).success();
    let from = format!("  from   high.ba2\n         {}\n         ", dir.path("high.ba2").display());
    assert!(found.contains(&from) && found.contains("stored as"), "{found}");
}

#[test]
fn sources_may_come_before_the_paths_and_patterns() {
    let dir = two_archives();
    let sources = ["--in", "low.bsa", "--in", "high.ba2"];
    let both = dir.run([&["which"], &sources[..], &["misc/a.txt", "misc/b.txt"]].concat()).success();
    for arguments in
        [&["low.bsa", "high.ba2", "MISC/b*", "misc\\A.txt"][..], &["low.bsa", "high.ba2", "*.txt"]]
    {
        let found = dir.run([&["which"], arguments].concat()).success();
        assert_eq!(found.len(), both.len(), "{found}");
        assert!(both.lines().all(|line| found.contains(line)), "{found}");
    }
    let none = dir.run(["which", "low.bsa", "*.dds"]);
    let what = "bsafs: *.dds: no file matches; `bsafs list` prints all paths\n";
    assert_eq!((none.code, &*none.err), (1, what));
    // Files of the disk are not sources if they are no archives.
    fs::write(dir.path("x.txt"), "x").unwrap();
    let outside = dir.run(["which", "x.txt", "misc/a.txt"]);
    assert!(outside.code == 1 && outside.err.contains("it is not inside a bsafs mount"), "{outside:?}");
}

#[test]
fn the_last_source_wins() {
    let dir = two_archives();
    for sources in [["low.bsa", "high.ba2"], ["high.ba2", "low.bsa"]] {
        let found =
            dir.run(["which", "--json", "--in", sources[0], "--in", sources[1], "misc/a.txt"]).success();
        let found: Value = serde_json::from_str(&found).unwrap();
        assert_eq!(found["from"]["archive"], dir.path(sources[1]).to_str().unwrap());
        assert_eq!(found["hides"][0]["archive"], dir.path(sources[0]).to_str().unwrap());
    }
}

#[test]
fn a_hidden_loose_file_has_no_size_as_long_as_it_was_not_read() {
    let dir = TestDir::new();
    for name in ["low", "high"] {
        fs::create_dir(dir.path(name)).unwrap();
        fs::write(dir.path(name).join("a.txt"), name).unwrap();
    }
    let found = dir.run(["which", "-v", "low", "high", "a.txt"]).success();
    let lines: Vec<&str> = found.lines().map(str::trim_start).collect();
    assert_eq!((lines[0], lines[1], lines[4]), ("a.txt  (4 B)", "from   high", "hides  low"), "{found}");
    assert_eq!([lines[2], lines[5]], ["high", "low"].map(|name| dir.path(name).display().to_string()));
    assert_eq!(lines[3], "uncompressed, 4 B, stored as a.txt");
    assert_eq!(lines[6], "uncompressed, stored as a.txt");
}

#[test]
fn which_names_missing_files_and_answers_for_the_others() {
    let dir = two_archives();
    fs::create_dir(dir.path("misc")).unwrap();
    fs::write(dir.path("misc/c.txt"), b"of the disk, not of the archive").unwrap();
    let finished = dir.run(["which", "--in", "low.bsa", "misc/c.txt", "misc", "misc/b.txt"]);
    assert_eq!(finished.code, 1);
    let folder = "it is a folder, which comes from all archives that have it; give a file in it";
    assert_eq!(finished.err, format!("bsafs: misc/c.txt: no such file\nbsafs: misc: {folder}\n"));
    assert!(finished.out.starts_with("misc/b.txt  (1 B)\n"), "{finished:?}");
    assert_eq!(dir.run(["which", "--in", "no-such.bsa", "a"]).code, 66);
}

#[test]
fn which_and_cat_suggest_the_paths_of_files_of_the_same_name() {
    let dir = TestDir::new();
    let archive = (0..6).fold(Tes3::new(), |archive, n| archive.file(format!("f{n}\\bucket.dds"), b"x"));
    dir.archive("a.bsa", &archive.build());
    let paths = "files with this name:\n  f0/bucket.dds\n  f1/bucket.dds\n  f2/bucket.dds\n  f3/bucket.dds\n\
                 \x20 and 2 more\n";
    let finished = dir.run(["which", "--in", "a.bsa", "textures/bucket.DDS"]);
    assert_eq!(
        (finished.code, finished.err),
        (1, format!("bsafs: textures/bucket.DDS: no such file; {paths}"))
    );
    for (name, what) in [("bucket.dds", "several files are called so"), ("x/bucket.dds", "no such file")] {
        let finished = dir.run(["cat", "a.bsa", name]);
        assert_eq!((finished.code, finished.err), (66, format!("bsafs: a.bsa: {name}: {what}; {paths}")));
    }
    // A name is that of each file.
    fs::write(dir.path("list"), "Bucket.dds").unwrap();
    for arguments in [&["Bucket.dds"][..], &["--files-from", "list"]] {
        let which = dir.run([&["which", "--in", "a.bsa"], arguments].concat()).success();
        assert_eq!(which.matches("/bucket.dds  (1 B)").count(), 6, "{which}");
    }
}

#[test]
fn which_finds_a_nameless_file_by_its_path() {
    let dir = TestDir::new();
    dir.archive("a.ba2", &Ba2::general(1).file("Misc\\Example.txt", b"x").nameless().build());
    let found = dir.run(["which", "--json", "--in", "a.ba2", "misc/EXAMPLE.txt"]).success();
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!((&found["path"], &found["size"]), (&"5EE3C5A6_F38044E1.txt".into(), &1.into()));
}

#[test]
fn which_answers_paths_from_a_file_and_from_standard_input() {
    let dir = two_archives();
    fs::write(dir.path("list"), "misc/a.txt\n\nmisc/none.txt\nmisc/b.txt").unwrap();
    let one = dir.run(["which", "--in", "low.bsa", "misc/a.txt", "misc/b.txt"]).success();
    let finished = dir.run(["which", "--in", "low.bsa", "--files-from", "list"]);
    assert_eq!((finished.code, &*finished.out), (1, &*one), "{finished:?}");
    assert!(finished.err.contains("misc/none.txt: no such file"), "{finished:?}");
    // Each path is answered before the next one is written.
    let mut command = dir.bsafs(["which", "--json", "--in", "low.bsa", "--files-from=-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap());
    let mut paths = child.stdin.take().unwrap();
    for path in ["misc/a.txt", "MISC\\B.TXT"] {
        writeln!(paths, "{path}").unwrap();
        let mut line = String::new();
        answers.read_line(&mut line).unwrap();
        let found: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(found["path"], path.to_lowercase().replace('\\', "/"));
    }
    drop(paths);
    assert!(child.wait().unwrap().success());
    fs::write(dir.path("long"), "x".repeat(1 << 17)).unwrap();
    let finished = dir.run(["which", "--in", "low.bsa", "--files-from", "long"]);
    assert!(finished.code == 65 && finished.err.contains("it is no path"), "{finished:?}");
}
