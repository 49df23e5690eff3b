//! `bsafs list`: paths, sizes, patterns and machine-readable output.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{with_a_bad_file, with_a_wrong_checksum, with_many_files};
use crate::mounted::{TestDir, finish, run};
use crate::support::tes4::{FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Ba2, Tes3, Tes4, dds, samples};

#[test]
fn every_file_of_every_sample_is_listed_with_its_size() {
    let dir = TestDir::new();
    for sample in samples() {
        dir.sample(sample);
        let listed = dir.run(["list", "--json", &sample.name]).success();
        let lines: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        // If an archive stores two spellings of a folder, `list` shows one of them.
        let sizes: BTreeMap<String, u64> = lines
            .iter()
            .map(|line| (line["path"].as_str().unwrap().to_lowercase(), line["size"].as_u64().unwrap()))
            .collect();
        let expected: BTreeMap<String, u64> =
            sample.files.iter().map(|(path, content)| (path.to_lowercase(), content.len() as u64)).collect();
        assert_eq!(sizes, expected, "{}", sample.name);
        assert_eq!(lines.len(), sample.files.len());

        let plain = dir.run(["ls", &sample.name]).success();
        assert_eq!(plain.lines().count(), sample.files.len());
        let mut sorted: Vec<&str> = plain.lines().collect();
        sorted.sort_by_key(|path| path.to_ascii_lowercase());
        assert_eq!(plain.lines().collect::<Vec<_>>(), sorted, "{}", sample.name);
    }
}

#[test]
fn the_long_format_shows_sizes_codec_and_archive() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &Tes3::new().file("misc\\a.txt", b"hello").file("misc\\b.txt", b"hidden").build());
    let packed = crate::support::pack::zlib(&[b'x'; 1000]);
    let b = Tes4::new(104).flags(7).file("Misc", "B.txt", [b'x'; 1000]);
    dir.archive("b.bsa", &b.build());
    let listed = dir.run(["list", "-l", "a.bsa", "b.bsa"]).success();
    let words: Vec<Vec<&str>> = listed.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[0], ["5", "5", "uncompressed", "a.bsa", "misc/a.txt"]);
    assert_eq!(words[1][..4], ["1000", &(packed.len() + 4).to_string(), "zlib", "b.bsa"]);
    assert_eq!(words[1][4].to_lowercase(), "misc/b.txt");
    assert_eq!(words.len(), 2);
}

#[test]
fn json_shows_the_stored_name_and_the_number_of_hidden_copies() {
    let dir = TestDir::new();
    let below = dir.archive("below.bsa", &Tes3::new().file(b"misc\\Mar\xEDa.txt", b"1").build());
    let above = dir.archive("above.bsa", &Tes3::new().file(b"MISC\\MAR\xEDA.TXT", b"22").build());
    let listed = dir.run(["list", "--json", "below.bsa", "above.bsa"]).success();
    let line: Value = serde_json::from_str(listed.trim_end()).unwrap();
    assert_eq!(line["path"].as_str().unwrap().to_lowercase(), "misc/mar\u{ed}a.txt");
    assert_eq!((&line["size"], &line["packed"], &line["hidden_copies"]), (&2.into(), &2.into(), &1.into()));
    assert_eq!((&line["codec"], &line["archive"]), (&"uncompressed".into(), &above.to_str().unwrap().into()));
    assert_eq!(line["stored_name_hex"], "4d4953435c4d4152ed412e545854");
    let other = dir.run(["list", "--json", "above.bsa", "below.bsa"]).success();
    let other: Value = serde_json::from_str(other.trim_end()).unwrap();
    assert_eq!(other["archive"], below.to_str().unwrap());
}

#[test]
fn hashes_are_a_manifest_for_sha256sum_in_a_mount() {
    let dir = TestDir::new();
    let whole = Tes4::new(105).file("meshes", "a.nif", "of the archive").file("meshes", "b.nif", "hidden");
    dir.archive("a.bsa", &whole.build());
    fs::create_dir_all(dir.path("mod/meshes")).unwrap();
    for name in ["b.nif", "new\nline\r.txt", "x y.nif"] {
        fs::write(dir.path("mod/meshes").join(name), name).unwrap();
    }
    let mount = dir.mount(["a.bsa", "mod"]);
    let manifest = dir.run(["list", "--hash", "a.bsa", "mod"]).success();
    fs::write(dir.path("manifest"), &manifest).unwrap();
    let check = || {
        let mut check = Command::new("sha256sum");
        run(check.arg("-c").arg(dir.path("manifest")).current_dir(&mount.path))
    };
    let checked = check();
    assert!(checked.code == 0 && checked.out.matches(": OK\n").count() == 4, "{manifest:?} {checked:?}");
    let changed = manifest.replace("  meshes/a.nif", "  meshes/b.nif");
    fs::write(dir.path("manifest"), changed).unwrap();
    assert!(check().code == 1, "{:?}", check());
    let with_nul = dir.run(["list", "--hash", "-0", "a.bsa", "mod"]).success();
    assert_eq!(with_nul, manifest.replace('\n', "\0"));
    mount.umount(&dir);
    // A file that cannot be read has no line, and the status says so.
    let (archive, what, _) = with_a_wrong_checksum();
    dir.archive("bad.bsa", &archive);
    let finished = dir.run(["list", "--hash", "bad.bsa"]);
    assert!(finished.code == 1 && finished.out.trim_end().ends_with("  sound/good.wav"), "{finished:?}");
    assert!(finished.out.lines().count() == 1 && finished.err.contains(&what), "{finished:?}");
}

#[test]
fn paths_in_the_sources_may_follow_them() {
    let dir = TestDir::new();
    let archive =
        |names: [&str; 2]| names.iter().fold(Tes4::new(105), |it, name| it.file("Meshes\\Door", name, "x"));
    dir.archive("a.bsa", &archive(["a.nif", "b.nif"]).file("meshes", "doorbell.nif", "y").build());
    dir.archive("b.bsa", &archive(["b.nif", "c.nif"]).build());
    let list = |arguments: &[&str]| dir.run([&["list", "a.bsa", "b.bsa"], arguments].concat());
    let door = "Meshes/Door/a.nif\nMeshes/Door/b.nif\nMeshes/Door/c.nif\n";
    assert_eq!(list(&["meshes/DOOR"]).success().to_lowercase(), door.to_lowercase());
    let two = list(&["meshes\\door\\c.NIF", "MESHES/doorbell.nif"]).success().to_lowercase();
    assert_eq!(two, "meshes/door/c.nif\nmeshes/doorbell.nif\n");
    let missing = list(&["meshes/c.nif"]);
    assert_eq!(missing.code, 66, "{missing:?}");
    assert!(missing.err.contains("meshes/c.nif: no such source, and no such file or folder"), "{missing:?}");
    assert!(missing.err.to_lowercase().contains("meshes/door/c.nif"), "{missing:?}");
}

#[test]
fn paths_and_patterns_after_the_sources_select_files_in_every_command() {
    let dir = TestDir::new();
    let archive = |content: &str| Tes4::new(105).file("Meshes\\Door", "a.nif", content);
    dir.archive("a.bsa", &archive("1").file("meshes", "b.nif", "2").file("sound", "c.wav", "3").build());
    dir.archive("b.bsa", &archive("4").file("sound", "c.wav", "5").file("", "what?.txt", "6").build());
    for (inside, files) in [
        (&["MESHES/door/A.NIF"][..], 1),
        (&["meshes"], 2),
        (&["*.nif"], 2),
        (&["sound/*", "meshes\\b.nif"], 2),
        (&["Meshes/**", "--glob", "b*"], 1),
        (&["what?.txt"], 1),
    ] {
        let after = |command: &str, more: &[&str]| {
            dir.run([&[command, "a.bsa", "b.bsa"], inside, more].concat()).success()
        };
        assert_eq!(after("list", &[]).lines().count(), files, "{inside:?}");
        assert!(after("extract", &["-C", "out", "--overwrite"]).starts_with(&format!("wrote {files} file")));
        let verified: usize = after("verify", &["--json"])
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["files"].as_u64().unwrap() as usize)
            .sum();
        let conflicts = after("conflicts", &[]);
        let hidden = if conflicts.contains("\n1 conflict in ") { 1 } else { 0 };
        assert_eq!(verified, files + hidden, "{inside:?}: {conflicts}");
    }
    for command in ["list", "extract", "verify", "conflicts"] {
        let missing = dir.run([command, "a.bsa", "b.bsa", "meshes/c.nif"]);
        let what = "bsafs: meshes/c.nif: no such source, and no such file or folder in the sources";
        assert!(missing.code == 66 && missing.err.starts_with(what), "{command}: {missing:?}");
        let missing = dir.run([command, "a.bsa", "b.bsa", "*.dds"]);
        let what = "bsafs: *.dds: no file matches; `bsafs list` prints all paths\n";
        assert_eq!((missing.code, &*missing.err), (1, what), "{command}");
    }
}

#[test]
fn a_pattern_that_matches_nothing_is_named_and_the_exit_status_is_1() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &with_a_bad_file());
    for command in ["list", "extract", "conflicts", "verify"] {
        for pattern in ["/*.wav", "nothing*", "sound"] {
            let finished = dir.run([command, "a.bsa", "--glob", pattern]);
            let what = format!("bsafs: --glob {pattern}: no file matches; `bsafs list` prints all paths\n");
            assert_eq!((finished.code, &*finished.out, finished.err), (1, "", what), "{command}");
        }
    }
    assert!(!dir.path("a").exists());
    // Several sources are asked, and one of the patterns matches in the other one.
    fs::create_dir_all(dir.path("b/textures")).unwrap();
    fs::write(dir.path("b/textures/new.dds"), "DDS ").unwrap();
    for command in ["list", "conflicts", "verify"] {
        let finished = dir.run([command, "-q", "a.bsa", "b", "-g", "new.*", "-g", "nothing*"]);
        let what = "bsafs: nothing*: no file matches; `bsafs list` prints all paths\n";
        assert_eq!((finished.code, &*finished.err), (1, what), "{command}");
    }
    let shallow = dir.run(["list", "a.bsa", "sou*/none/*"]).err;
    assert!(
        shallow.ends_with(" all paths, and `/**` instead of `/*` also matches in folders below\n"),
        "{shallow}"
    );
}

#[test]
fn what_was_not_looked_at_is_in_the_json_of_a_command_that_fails_or_selects_nothing() {
    let dir = TestDir::new();
    fs::create_dir(dir.path("mod")).unwrap();
    fs::write(dir.path("mod/cut.bsa"), "BSA").unwrap();
    fs::write(dir.path("mod/a.txt"), "a").unwrap();
    for (arguments, code) in [(&["missing.txt"][..], 66), (&["-g", "*.dds"], 1)] {
        for command in ["list", "conflicts", "verify"] {
            let finished = dir.run([&[command, "--json", "mod"], arguments].concat());
            assert_eq!(finished.code, code, "{command} {arguments:?}: {finished:?}");
            let lines = finished.out.lines().map(|line| serde_json::from_str(line).unwrap());
            let lines: Vec<Value> = lines.collect();
            let is_named =
                |line: &Value| line["not_looked_at"].as_str().is_some_and(|it| it.ends_with("cut.bsa"));
            assert!(lines.iter().any(is_named), "{command} {arguments:?}: {finished:?}");
            assert!(finished.err.contains("cut.bsa: not looked at: "), "{finished:?}");
        }
    }
}

#[test]
fn patterns_match_in_any_case_with_either_slash() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &with_a_bad_file());
    let all = ["scripts/main.pex", "scripts/source/Main.psc", "sound/bad.wav", "sound/good.wav"];
    for (patterns, expected) in [
        (&["*.WAV"][..], &all[2..]),
        (&["main.*"], &all[..2]),
        (&["scripts/*"], &all[..1]),
        (&["SCRIPTS\\**"], &all[..2]),
        (&["**/source/*"], &all[1..2]),
        (&["scripts/**.p*"], &all[..2]),
        (&["**.wav"], &all[2..]),
        (&["sound\\g*", "*.pex"], &[all[0], all[3]]),
        (&["sound/?ood.wav"], &all[3..]),
        (&["{sound,scripts}/*"], &[all[0], all[2], all[3]]),
        (&["/scripts/*"], &all[..1]),
        (&["./scripts/*"], &all[..1]),
    ] {
        let mut command = dir.bsafs(["list", "a.bsa"]);
        for pattern in patterns {
            command.args(["--glob", pattern]);
        }
        let listed = crate::mounted::run(&mut command).success();
        assert_eq!(listed.lines().collect::<Vec<_>>(), expected, "{patterns:?}");
    }
    let wrong = dir.run(["list", "a.bsa", "-g", "a[b"]);
    assert_eq!((wrong.code, wrong.out.as_str()), (2, ""));
    assert!(wrong.err.starts_with("bsafs: --glob: ") && wrong.err.contains("a[b"), "{wrong:?}");
}

#[test]
fn the_option_0_ends_each_path_with_nul() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &with_a_bad_file());
    let listed = dir.run(["list", "-0", "a.bsa", "-g", "sound/*"]).success();
    assert_eq!(listed, "sound/bad.wav\0sound/good.wav\0");
    let both = dir.run(["list", "-0", "--json", "a.bsa"]);
    assert_eq!(both.code, 2);
}

#[test]
fn layout_per_archive_lists_each_archive_in_its_own_folder() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &Tes3::new().file("x.txt", b"1").build());
    dir.archive("b.ba2", &Ba2::general(1).file("X.txt", b"2").build());
    let listed = dir.run(["list", "--layout", "per-archive", "a.bsa", "b.ba2"]).success();
    assert_eq!(listed, "a/x.txt\nb/X.txt\n");
    let listed = dir.run(["list", "a.bsa", "b.ba2"]).success();
    assert_eq!(listed.to_lowercase(), "x.txt\n");
}

#[test]
fn list_into_a_pipe_that_closes_early_succeeds() {
    let dir = TestDir::new();
    dir.archive("many.bsa", &with_many_files());
    for form in [&["list"][..], &["list", "--json"], &["list", "-l"], &["list", "-0"]] {
        let mut command = dir.bsafs(form.iter().chain(&["many.bsa"]));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut first = Vec::new();
        let mut pipe = BufReader::with_capacity(1, child.stdout.take().unwrap());
        pipe.read_until(b'0', &mut first).unwrap();
        drop(pipe);
        let finished = finish(child);
        assert_eq!((finished.code, finished.err.as_str()), (0, ""), "{form:?}");
    }
}

#[test]
fn the_error_names_a_missing_archive_or_an_unknown_code_page() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &with_a_bad_file());
    let finished = dir.run(["list", "a.bsa", "no-such.bsa"]);
    assert_eq!((finished.code, finished.out.as_str()), (66, ""));
    assert_eq!(finished.err, "bsafs: no-such.bsa: no such file or folder\n");
    let finished = dir.run(["list", "a.bsa", "--encoding", "klingon"]);
    assert_eq!(finished.code, 2);
    assert!(finished.err.contains("unknown code page \"klingon\""), "{finished:?}");
}

#[test]
fn list_works_if_no_thread_can_be_started() {
    let dir = TestDir::new();
    for name in ["a", "b"] {
        let files = (0..10_000).fold(Tes3::new(), |all, n| all.file(format!("{name}{n}"), b""));
        dir.archive(&format!("{name}.bsa"), &files.build());
    }
    dir.give_to_user();
    let program = dir.path("bsafs");
    let arguments = ["--nproc=1", program.to_str().unwrap(), "list", "a.bsa", "b.bsa"];
    let listed = run(&mut dir.as_user("prlimit", arguments)).success();
    assert_eq!(listed.lines().count(), 20_000);
}

#[test]
fn json_describes_the_headers_of_textures_if_asked() {
    let dir = TestDir::new();
    let mut packed = dds::header(dds::BC7, 512, 256, 10, false);
    packed[144] = 2;
    let archive = Tes4::new(105).flags(FOLDER_NAMES | FILE_NAMES | PACKED);
    let archive = archive.file(
        "textures",
        "Cube.DDS",
        [dds::header(dds::BC1, 64, 64, 1, true), vec![0; 6 * 2048]].concat(),
    );
    let archive = archive.file("textures", "packed.dds", [&packed[..], &[7; 4096]].concat());
    dir.archive("a.bsa", &archive.file("textures", "bad.dds", b"DDS ").file("a", "a.txt", b"DDS ").build());
    let listed = |arguments: &[&str]| -> BTreeMap<String, Value> {
        let text = dir.run([&["list", "--json", "a.bsa"], arguments].concat()).success();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.map(|line| (line["path"].as_str().unwrap().to_lowercase(), line)).collect()
    };
    let lines = listed(&["--pixels"]);
    let texture = |path: &str| lines[path].get("texture").cloned();
    assert_eq!(
        texture("textures/packed.dds"),
        Some(json!({
            "format": "BC7_UNORM", "width": 512, "height": 256, "mips": 10, "cube": false, "faces": 1,
            "array": 1, "alpha": "premultiplied", "missing": 174_800 - 4096
        }))
    );
    assert_eq!(
        texture("textures/cube.dds"),
        Some(json!({
            "format": "BC1_UNORM", "width": 64, "height": 64, "mips": 1, "cube": true, "faces": 6,
            "array": 1, "alpha": "unknown", "missing": 0
        }))
    );
    let why = |path: &str| lines[path].get("unconverted").cloned();
    assert_eq!(why("textures/packed.dds"), Some(json!("cut off")));
    assert_eq!((why("textures/bad.dds"), why("textures/cube.dds")), (Some(json!("cut off")), None));
    assert_eq!((texture("textures/bad.dds"), texture("a/a.txt")), (Some(Value::Null), None));
    assert!(listed(&[]).values().all(|line| line.get("texture").is_none()));
    assert_eq!(dir.run(["list", "--pixels", "a.bsa"]).code, 2);
}

#[test]
fn patterns_are_completed_below_a_folder_with_brackets_in_its_name() {
    let dir = TestDir::new();
    std::fs::create_dir_all(dir.path("mods/x[1]")).unwrap();
    std::fs::write(dir.path("mods/x[1]/a.dds"), "").unwrap();
    let found = dir.run(["complete", "fish", "bsafs list mods --glob 'x[[]1[]]/"]).success();
    assert_eq!(found, "x[[]1[]]/a.dds\t\0");
}
