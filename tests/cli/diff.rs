//! `bsafs diff`: what was added, removed and changed, with and without comparing bytes.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::with_a_bad_file;
use crate::mounted::{TestDir, run};
use crate::support::{Ba2, Tes3, Tes4};

/// An archive, and a folder with a file for every kind of difference.
fn old_and_new() -> TestDir {
    let dir = TestDir::new();
    let old = Tes4::new(104)
        .file("misc", "gone.txt", b"1")
        .file("misc", "longer.txt", b"12")
        .file("misc", "other.txt", b"abc")
        .file("misc", "same.txt", b"the same");
    dir.archive("old.bsa", &old.build());
    fs::create_dir_all(dir.path("new/Misc")).unwrap();
    for (name, bytes) in
        [("LONGER.txt", "123"), ("Other.txt", "xyz"), ("same.txt", "the same"), ("added.txt", "new")]
    {
        fs::write(dir.path("new/Misc").join(name), bytes).unwrap();
    }
    dir
}

#[test]
fn without_compare_only_different_sizes_are_changes() {
    let dir = old_and_new();
    let finished = dir.run(["diff", "old.bsa", "new"]);
    assert_eq!((finished.code, finished.err.as_str()), (1, ""));
    assert_eq!(
        finished.out,
        "+ Misc/added.txt\n- misc/gone.txt\n! misc/longer.txt\n\
         1 added, 1 removed, 1 changed, 0 equal, 2 of the same size (add --compare to compare them)\n"
    );
}

#[test]
fn with_compare_equal_bytes_are_no_change() {
    let dir = old_and_new();
    let finished = dir.run(["diff", "old.bsa", "new", "--compare"]);
    assert_eq!((finished.code, finished.err.as_str()), (1, ""));
    assert_eq!(
        finished.out,
        "+ Misc/added.txt\n- misc/gone.txt\n! misc/longer.txt\n! misc/other.txt\n\
         1 added, 1 removed, 2 changed, 1 equal\n"
    );
    let turned = dir.run(["diff", "new", "old.bsa", "--compare"]).out;
    assert!(turned.starts_with("- Misc/added.txt\n+ misc/gone.txt\n! Misc/LONGER.txt\n"), "{turned}");
    assert_eq!(
        dir.run(["diff", "old.bsa", "new", "--compare", "-g", "same.*"]).success(),
        "0 added, 0 removed, 0 changed, 1 equal; only --glob same.*\n"
    );
}

#[test]
fn json_prints_a_line_per_possible_difference_and_then_the_counts() {
    let dir = old_and_new();
    let lines = |arguments: &[&str]| -> Vec<Value> {
        let finished = dir.run([&["diff", "--json", "old.bsa", "new"], arguments].concat());
        assert_eq!((finished.code, finished.err.as_str()), (1, ""));
        finished.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let side = |name: &str, size: u64| json!({"layer": dir.path(name), "size": size});
    let found = lines(&[]);
    assert_eq!(found[0], json!({"path": "Misc/added.txt", "change": "added", "b": side("new", 3)}));
    assert_eq!(found[1], json!({"path": "misc/gone.txt", "change": "removed", "a": side("old.bsa", 1)}));
    let changed = json!({
        "path": "misc/longer.txt", "change": "changed", "a": side("old.bsa", 2), "b": side("new", 3),
    });
    assert_eq!(found[2], changed);
    assert_eq!((&found[3]["change"], &found[4]["change"]), (&"same-size".into(), &"same-size".into()));
    let counts = |changed, equal, same_size| {
        json!({
            "added": 1, "removed": 1, "changed": changed, "equal": equal, "same_size": same_size,
            "unreadable": 0, "loaded_by_one": 0,
        })
    };
    assert_eq!(found[5], counts(1, 0, 2));
    let found = lines(&["--compare"]);
    assert_eq!((found.len(), &found[3]["change"], &found[4]), (5, &"changed".into(), &counts(2, 1, 0)));
}

#[test]
fn a_pattern_that_no_file_matches_is_named_and_is_not_called_equal() {
    let dir = old_and_new();
    fs::write(dir.path("list"), dir.run(["list", "--hash", "old.bsa"]).success()).unwrap();
    let none =
        |pattern: &str| format!("bsafs: --glob {pattern}: no file matches; `bsafs list` prints all paths\n");
    for arguments in [
        &[][..],
        &["--compare"],
        &["--json"],
        &["--html", "page.html"],
        &["--quiet"],
        &["--json", "--compare"],
    ] {
        let finished = dir.run([&["diff", "old.bsa", "new", "-g", "texture/a*"], arguments].concat());
        assert_eq!(
            (finished.code, &*finished.out, &*finished.err),
            (1, "", &*none("texture/a*")),
            "{arguments:?}"
        );
    }
    assert!(!dir.path("page.html").exists());
    for sources in [["list", "new"], ["new", "list"]] {
        let finished = dir.run(["diff", sources[0], sources[1], "-g", "*.dds"]);
        assert_eq!((finished.code, &*finished.out, &*finished.err), (1, "", &*none("*.dds")), "{sources:?}");
    }
    // The others are answered.
    let finished = dir.run(["diff", "old.bsa", "new", "--compare", "-g", "same.*", "-g", "*.dds"]);
    let expected = "0 added, 0 removed, 0 changed, 1 equal; only --glob same.*, --glob *.dds\n";
    assert_eq!((finished.code, &*finished.out), (1, expected));
    assert_eq!(finished.err, none("*.dds").replace("--glob ", ""));
    // One of the sources has it.
    assert_eq!(dir.run(["diff", "old.bsa", "new", "-g", "added.*"]).err, "");
    assert_eq!(dir.run(["diff", "list", "new", "-g", "gone.*"]).err, "");
}

#[test]
fn a_source_equals_itself_at_once_and_a_copy_only_with_compare() {
    let dir = old_and_new();
    fs::copy(dir.path("old.bsa"), dir.path("copy.bsa")).unwrap();
    dir.run(["extract", "old.bsa", "-C", "unpacked"]).success();
    let all_equal = "0 added, 0 removed, 0 changed, 4 equal\n";
    for source in ["old.bsa", "new"] {
        assert_eq!(dir.run(["diff", source, source]).success(), all_equal);
    }
    for other in ["copy.bsa", "unpacked"] {
        let finished = dir.run(["diff", "old.bsa", other]);
        assert!(finished.out.contains("0 equal, 4 of the same size"), "{finished:?}");
        assert_eq!(
            (finished.code, dir.run(["diff", "old.bsa", other, "--compare"]).success()),
            (0, all_equal.into())
        );
    }
}

#[test]
fn a_nameless_file_is_matched_by_the_hash_of_its_path() {
    let dir = TestDir::new();
    let archive = || Ba2::general(1).file("Misc\\Example.txt", b"x").file("Misc\\Other.txt", b"y");
    dir.archive("named.ba2", &archive().build());
    dir.archive("nameless.ba2", &archive().nameless().build());
    for pair in [["named.ba2", "nameless.ba2"], ["nameless.ba2", "named.ba2"]] {
        let printed = dir.run(["diff", "--compare"].iter().chain(&pair)).success();
        assert_eq!(printed, "0 added, 0 removed, 0 changed, 2 equal\n");
    }
}

#[test]
fn an_unreadable_file_is_named_and_is_not_equal() {
    let dir = TestDir::new();
    dir.archive("bad.bsa", &with_a_bad_file());
    dir.archive("bad too.bsa", &with_a_bad_file());
    let finished = dir.run(["diff", "--compare", "bad.bsa", "bad too.bsa"]);
    assert_eq!(finished.out, "? sound/bad.wav\n0 added, 0 removed, 0 changed, 3 equal, 1 unreadable\n");
    assert_eq!(finished.code, 1);
    assert!(finished.err.contains("sound/bad.wav: ") && finished.err.contains("bad.bsa: "), "{finished:?}");
}

#[test]
fn a_folder_with_archives_is_compared_as_one_tree() {
    let dir = TestDir::new();
    fs::create_dir(dir.path("Data")).unwrap();
    let archive = Tes3::new().file("a.txt", b"old").file("b.txt", b"2").build();
    dir.archive("Data/x.bsa", &archive);
    dir.archive("x.bsa", &archive);
    fs::write(dir.path("Data/A.txt"), b"newer").unwrap();
    let finished = dir.run(["diff", "x.bsa", "Data", "--compare"]);
    assert_eq!(
        (finished.code, finished.out.as_str()),
        (1, "! a.txt\n0 added, 0 removed, 1 changed, 1 equal\n")
    );
    assert_eq!(dir.run(["diff", "x.bsa"]).code, 2);
    assert_eq!(dir.run(["diff", "x.bsa", "nothing"]).code, 66);
}

#[test]
fn a_manifest_stands_for_the_files_whose_checksums_it_has() {
    let dir = old_and_new();
    for zero in [&[][..], &["-0"]] {
        let manifest = dir.run([&["list", "--hash", "old.bsa"], zero].concat()).success();
        fs::write(dir.path("manifest"), manifest).unwrap();
        let equal = "0 added, 0 removed, 0 changed, 4 equal\n";
        assert_eq!(dir.run(["diff", "manifest", "old.bsa"]).success(), equal);
        let finished = dir.run(["diff", "manifest", "new"]);
        assert_eq!((finished.code, finished.err.as_str()), (1, ""));
        assert_eq!(
            finished.out,
            "+ Misc/added.txt\n- misc/gone.txt\n! misc/longer.txt\n! misc/other.txt\n\
             1 added, 1 removed, 2 changed, 1 equal\n"
        );
        let turned = dir.run(["diff", "new", "manifest"]);
        assert!(turned.code == 1 && turned.out.starts_with("- Misc/added.txt\n+ misc/gone.txt\n! "));
    }
    let some = dir.run(["diff", "manifest", "new", "-g", "[lo]*.txt"]);
    let expected = "! misc/longer.txt\n! misc/other.txt\n\
                    0 added, 0 removed, 2 changed, 0 equal; only --glob [lo]*.txt\n";
    assert_eq!(some.out, expected);
    let json = dir.run(["diff", "--json", "manifest", "new"]).out;
    let lines: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of_manifest = json!({"layer": "manifest", "size": null});
    let of_new = |size: u64| json!({"layer": dir.path("new"), "size": size});
    let expected = [
        json!({"path": "Misc/added.txt", "change": "added", "b": of_new(3)}),
        json!({"path": "misc/gone.txt", "change": "removed", "a": of_manifest}),
        json!({"path": "misc/longer.txt", "change": "changed", "a": of_manifest, "b": of_new(3)}),
    ];
    assert_eq!(lines[..3], expected);
    assert_eq!((&lines[4]["added"], &lines[4]["changed"], lines.len()), (&1.into(), &2.into(), 5));
}

#[test]
fn a_manifest_has_the_paths_of_the_layout_of_a_profile() {
    let dir = old_and_new();
    let profile = "archives = ['old.bsa', 'new']\noptions = 'layout=per-archive'\n";
    fs::write(dir.path("p.toml"), profile).unwrap();
    let manifest = dir.run(["list", "--hash", "p.toml"]).success();
    assert!(manifest.contains("  old/misc/"), "{manifest}");
    fs::write(dir.path("manifest"), manifest).unwrap();
    let equal = dir.run(["diff", "manifest", "p.toml"]);
    assert!(equal.code == 0 && equal.out.starts_with("0 added, 0 removed, 0 changed, "), "{equal:?}");
}

#[test]
fn a_manifest_with_the_name_of_a_game_is_not_taken_for_the_game() {
    let dir = old_and_new();
    let manifest = dir.run(["list", "--hash", "old.bsa"]).success();
    fs::write(dir.path("skyrimse"), manifest).unwrap();
    assert_eq!(dir.run(["diff", "./skyrimse", "old.bsa"]).code, 0);
    let game = dir.run(["diff", "skyrimse", "old.bsa"]);
    assert!(game.code == 66 && game.err.contains("skyrimse"), "{game:?}");
}

#[test]
fn a_manifest_of_sha256sum_with_escaped_names_is_read() {
    let dir = old_and_new();
    for name in ["back\\slash.txt", "line\nbreak\r.txt", "per%cent.txt", "caf\u{e9}.txt"] {
        fs::write(dir.path("new").join(name), name).unwrap();
    }
    let write = |arguments: &str| {
        let script = format!("find . -type f -exec sha256sum {arguments} {{}} + > ../manifest");
        run(Command::new("sh").args(["-c", &script]).current_dir(dir.path("new"))).success();
    };
    for arguments in ["", "--binary", "--zero"] {
        write(arguments);
        let finished = dir.run(["diff", "manifest", "new"]);
        let equal = "0 added, 0 removed, 0 changed, 8 equal\n";
        assert_eq!((finished.code, finished.out.as_str()), (0, equal), "{arguments}");
    }
}

#[test]
fn a_line_that_is_no_part_of_a_manifest_is_an_error_with_its_number() {
    let dir = old_and_new();
    let whole = dir.run(["list", "--hash", "old.bsa"]).success();
    let lines: Vec<&str> = whole.lines().collect();
    for (text, what) in [
        (whole[..whole.len() - 3].to_owned(), "line 4: the manifest is cut off here"),
        (whole.replace(lines[2], "nonsense"), "line 3: not a SHA-256 with a path"),
        (format!("{whole}{whole}"), "line 5: line 1 has this path, too"),
    ] {
        fs::write(dir.path("manifest"), text).unwrap();
        let finished = dir.run(["diff", "manifest", "old.bsa"]);
        assert_eq!((finished.code, finished.out.as_str()), (65, ""), "{finished:?}");
        assert!(finished.err.contains(&format!("manifest: {what}")), "{finished:?}");
    }
    fs::write(dir.path("manifest"), whole).unwrap();
    let both = dir.run(["diff", "manifest", "manifest"]);
    assert!(both.code == 2 && both.err.contains("both sources are manifests"), "{both:?}");
    let page = dir.run(["diff", "manifest", "old.bsa", "--html", "page.html"]);
    assert!(page.code == 2 && page.err.contains("no files that a page could show"), "{page:?}");
}
