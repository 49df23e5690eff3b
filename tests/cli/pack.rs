//! `bsafs pack`: what is in the archives of every game, and what is refused by name.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use bsafs::format::{self, Limits};
use serde_json::Value;

use crate::mounted::{Finished, TestDir, is_root};
use crate::support::content::{noise, text};
use crate::support::mod_files::{GAMES, mod_files};
use crate::support::{Sample, dds, hash, samples};

/// A folder `MyMod` with files.
pub(super) fn with_files<B: AsRef<[u8]>>(files: &[(&str, B)]) -> TestDir {
    let dir = TestDir::new();
    add(&dir, files);
    dir
}

pub(super) fn add<B: AsRef<[u8]>>(dir: &TestDir, files: &[(&str, B)]) {
    fs::create_dir_all(dir.path("MyMod")).unwrap();
    for (path, bytes) in files {
        let path = dir.path("MyMod").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// A folder `MyMod` with every kind of file.
pub(super) fn whole_mod() -> TestDir {
    let dir = TestDir::new();
    let files = mod_files();
    add(&dir, &files.iter().map(|(path, bytes)| (path.as_str(), bytes)).collect::<Vec<_>>());
    dir
}

pub(super) fn pack(dir: &TestDir, game: &str, more: &[&str]) -> Finished {
    dir.run([&["pack", "MyMod", "--game", game, "--name", "MyMod", "-o", "out"], more].concat())
}

/// The names in a folder, sorted.
pub(super) fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The objects of `bsafs … --json`.
fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What `bsafs list --json` says of the files of an archive, by path.
fn listed(dir: &TestDir, archive: &str) -> Vec<Value> {
    objects(&dir.run(["list", "--json", archive]).success())
}

fn flags(dir: &TestDir, archive: &str) -> u32 {
    let bytes = fs::read(dir.path(archive)).unwrap();
    u32::from_le_bytes(bytes[12..16].try_into().unwrap())
}

/// Asserts that packing failed with these words, and that nothing was placed.
fn refused(dir: &TestDir, finished: &Finished, code: i32, parts: &[&str]) {
    assert_eq!(finished.code, code, "{finished:?}");
    for part in parts {
        assert!(finished.err.contains(part), "{part} is not in {finished:?}");
    }
    assert_eq!(names(&dir.path("out")), [""; 0], "something was placed");
}

#[test]
fn archives_of_every_game_have_every_file_and_no_anomaly() {
    let dir = whole_mod();
    for game in GAMES {
        pack(&dir, game, &["--all"]).success();
        let archives: Vec<String> =
            names(&dir.path("out")).iter().map(|name| format!("out/{name}")).collect();
        let archives: Vec<&str> = archives.iter().map(String::as_str).collect();
        let diff = dir.run([&["diff", "--compare"], &archives[..1], &["MyMod"]].concat());
        let equal = match archives.len() {
            1 => diff.success(),
            // All archives of the game against the mod.
            _ => {
                fs::write(dir.path("all.toml"), format!("archives = {archives:?}")).unwrap();
                dir.run(["diff", "--compare", "all.toml", "MyMod"]).success()
            }
        };
        assert_eq!(equal, "0 added, 0 removed, 0 changed, 18 equal\n", "{game}");
        for archive in &archives {
            dir.run(["verify", archive]).success();
            let info = objects(&dir.run(["info", "--json", archive]).success());
            assert_eq!(info[0]["notes"].as_array().map_or(0, Vec::len), 0, "{game} {archive}: {info:?}");
        }
        fs::remove_dir_all(dir.path("out")).unwrap();
    }
}

#[test]
fn archives_are_called_after_the_plugin_that_loads_them() {
    let dir = whole_mod();
    for (game, expected) in [
        ("skyrim", &["MyMod.bsa"][..]),
        ("skyrimse", &["MyMod - Textures.bsa", "MyMod.bsa"]),
        ("fallout4", &["MyMod - Main.ba2", "MyMod - Textures.ba2"]),
    ] {
        let finished = dir.run(["pack", "MyMod", "--game", game, "-o", "out"]);
        assert!(finished.success().contains("loaded by MyMod.esp"));
        assert_eq!(names(&dir.path("out")), expected);
        fs::remove_dir_all(dir.path("out")).unwrap();
    }
    fs::write(dir.path("MyMod/Other.esm"), "TES4").unwrap();
    let finished = dir.run(["pack", "MyMod", "--game", "skyrim", "-o", "out"]);
    refused(&dir, &finished, 2, &["several plugins", "MyMod.esp", "Other.esm", "--name"]);
    fs::remove_file(dir.path("MyMod/Other.esm")).unwrap();
    fs::remove_file(dir.path("MyMod/MyMod.esp")).unwrap();
    let finished = dir.run(["pack", "MyMod", "--game", "skyrim", "-o", "out"]);
    refused(&dir, &finished, 2, &["no plugin", "--name"]);
    let finished = dir.run(["pack", "MyMod", "--game", "skyrim", "--name", "X", "-o", "out"]);
    assert!(finished.err.contains("X.esp"), "{finished:?}");
    assert_eq!((finished.code, names(&dir.path("out"))), (0, vec!["X.bsa".to_owned()]));
    fs::write(dir.path("MyMod/File.esp"), "TES4").unwrap();
    let finished = dir.run(["pack", "MyMod", "--game", "skyrim", "-o", "one/File.bsa"]);
    assert!(finished.success().contains("loaded by File.esp"));
    assert_eq!(names(&dir.path("one")), ["File.bsa"]);
    assert_eq!(dir.run(["pack", "MyMod", "--game", "skyrim", "-o", "one/File.ba2"]).code, 2);
    let finished = dir.run(["pack", "MyMod", "--game", "skyrimse", "-o", "two/File.bsa"]);
    assert_eq!((finished.code, names(&dir.path("two")).len()), (0, 1));
}

#[test]
fn one_sound_leaves_other_files_compressed() {
    let mut files: Vec<(String, Vec<u8>)> =
        (0..1000).map(|n| (format!("meshes/m{n}.nif"), text(n, 400))).collect();
    files.push(("sound/fx/a.wav".into(), text(1, 4_000)));
    let files: Vec<(&str, &[u8])> = files.iter().map(|(path, bytes)| (&**path, &**bytes)).collect();
    let dir = with_files(&files);
    for (game, archive) in [("skyrimse", "out/MyMod.bsa"), ("fallout4", "out/MyMod - Main.ba2")] {
        pack(&dir, game, &[]);
        for file in listed(&dir, archive) {
            let is_sound = file["path"].as_str().unwrap().ends_with(".wav");
            assert_eq!(file["codec"] == "uncompressed", is_sound, "{file}");
        }
    }
    assert_eq!(flags(&dir, "out/MyMod.bsa") & 0x104, 4, "most files are compressed");
}

#[test]
fn names_are_embedded_only_in_archives_of_textures_of_version_104() {
    let texture = [dds::header(dds::BC1, 64, 64, 1, false), text(1, 2048)].concat();
    // Equal data, which is shared only where no names are embedded.
    let dir = with_files(&[("textures/a.dds", &texture), ("textures/b.dds", &texture)]);
    for (game, archive, embeds) in [
        ("skyrim", "out/MyMod.bsa", true),
        ("falloutnv", "out/MyMod.bsa", true),
        ("skyrimse", "out/MyMod - Textures.bsa", false),
    ] {
        let finished = pack(&dir, game, &["--overwrite"]);
        assert_eq!(flags(&dir, archive) & 0x100 != 0, embeds, "{game}");
        assert_eq!(finished.out.contains("sharing"), !embeds, "{game}: {}", finished.out);
        assert_eq!(dir.run(["diff", "--compare", archive, "MyMod"]).success().lines().count(), 1);
        let bytes = fs::read(dir.path(archive)).unwrap();
        assert_eq!(bytes.windows(14).any(|it| it == b"textures\\a.dds"), embeds, "{game}");
    }
}

#[test]
fn equal_data_is_stored_once_among_files_of_one_rule() {
    let same = text(1, 50_000);
    let size = |files: &[(&str, &[u8])]| {
        let dir = with_files(files);
        pack(&dir, "skyrimse", &[]);
        dir.run(["diff", "--compare", "out/MyMod.bsa", "MyMod"]).success();
        fs::metadata(dir.path("out/MyMod.bsa")).unwrap().len()
    };
    // The sound has data of its own, because it is not compressed.
    let files: [(&str, &[u8]); 3] =
        [("sound/c.wav", &same), ("meshes/a.nif", &same), ("meshes/b.nif", &same)];
    let [one, two, three] = [1, 2, 3].map(|count| size(&files[..count]));
    assert!(one > 50_000 && two > one + 5_000 && three < two + 200, "{one} {two} {three}");
}

#[test]
fn links_to_one_file_are_packed_as_copies_of_it_are() {
    let texture = [dds::header(dds::BC1, 512, 512, 1, false), text(1, 131_072)].concat();
    let bytes_of = |is_linked: bool| {
        let dir = with_files(&[("textures/b.dds", &texture), ("textures/m.dds", &text(2, 100_000))]);
        for name in ["a", "c", "z"] {
            let (from, to) =
                (dir.path("MyMod/textures/b.dds"), dir.path(format!("MyMod/textures/{name}.dds")));
            if is_linked { fs::hard_link(from, to).unwrap() } else { fs::write(to, &texture).unwrap() }
        }
        // With names embedded before the data, and without; as pieces, and as files.
        let games = ["skyrim", "falloutnv", "skyrimse", "fallout4"];
        games.map(|game| {
            pack(&dir, game, &["--overwrite", "--odd-textures=general"]);
            names(&dir.path("out"))
                .iter()
                .map(|it| fs::read(dir.path("out").join(it)).unwrap())
                .collect::<Vec<_>>()
        })
    };
    assert!(bytes_of(true) == bytes_of(false));
}

#[test]
fn empty_files_are_packed_and_empty_folders_are_not() {
    let dir = with_files(&[("meshes/a.nif", b""), ("textures/b.dds", b"")]);
    fs::create_dir(dir.path("MyMod/empty")).unwrap();
    for game in GAMES {
        let finished = pack(&dir, game, &["--overwrite", "--odd-textures=general"]);
        assert_eq!(finished.code, 0, "{game}: {finished:?}");
        assert!(!finished.out.contains("empty") && !finished.err.contains("empty"));
        let mut paths = Vec::new();
        for name in names(&dir.path("out")) {
            for file in listed(&dir, &format!("out/{name}")) {
                assert_eq!((&file["size"], &file["codec"]), (&0.into(), &"uncompressed".into()), "{game}");
                paths.push(file["path"].as_str().unwrap().to_owned());
            }
        }
        paths.sort();
        assert_eq!(paths, ["meshes/a.nif", "textures/b.dds"], "{game}");
        fs::remove_dir_all(dir.path("out")).unwrap();
    }
    let dir = with_files::<&str>(&[]);
    refused(&dir, &pack(&dir, "skyrimse", &[]), 1, &["no file"]);
    refused(&dir, &dir.run(["pack", "MyMod", "--game", "tetris"]), 2, &["tetris", "skyrimse"]);
}

#[test]
fn what_stays_loose_is_listed_with_its_reason() {
    let dir = with_files(&[
        ("MyMod.esp", "TES4"),
        ("MyMod.ini", ""),
        ("meta.ini", ""),
        ("fomod/info.xml", ""),
        ("SKSE/Plugins/a.dll", ""),
        ("MCM/Config/a.json", ""),
        ("Video/a.bik", ""),
        ("meshes/a.nif", "NIF"),
        ("meshes/.nif", "no stem"),
    ]);
    let finished = dir.run(["pack", "MyMod", "--game", "skyrimse", "-o", "out", "--json"]);
    // The name that no archive can store was wanted.
    assert_eq!(finished.code, 1, "{finished:?}");
    let lines = objects(&finished.out);
    let mut loose: Vec<(&str, &str)> =
        lines.iter().filter_map(|line| Some((line["loose"].as_str()?, line["reason"].as_str()?))).collect();
    loose.sort_unstable();
    assert_eq!(
        loose,
        [
            ("MCM/Config/a.json", "extender"),
            ("MyMod.esp", "data-only"),
            ("MyMod.ini", "settings"),
            ("SKSE/Plugins/a.dll", "extender"),
            ("Video/a.bik", "video"),
            ("fomod/info.xml", "not-game"),
            ("meshes/.nif", "name"),
            ("meta.ini", "not-game"),
        ]
    );
    fs::remove_file(dir.path("MyMod/meshes/.nif")).unwrap();
    let finished = pack(&dir, "skyrimse", &["--all", "--overwrite", "--json"]);
    assert_eq!((finished.code, objects(&finished.out)[0]["files"].as_u64()), (0, Some(8)));
    assert!(!finished.out.contains("\"loose\""));
}

#[test]
fn names_that_a_game_takes_for_one_are_an_error_with_both() {
    let dir = with_files(&[("meshes/A.nif", "1"), ("meshes/a.nif", "2")]);
    refused(&dir, &pack(&dir, "skyrimse", &[]), 1, &["meshes/A.nif", "meshes/a.nif"]);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap().replace('\\', "/");
    for (game, [one, two]) in [
        ("morrowind", hash::TES3_COLLISION),
        ("openmw", [b"meshes\\x\\item_000100.nif".as_slice(), b"meshes\\x\\item_010000.nif"]),
        ("skyrimse", hash::TES4_COLLISION),
        ("oblivion", hash::TES4_COLLISION),
        ("fallout4", hash::FO4_COLLISION),
        ("starfield", hash::FO4_COLLISION),
    ] {
        let folder = if text(one).contains('/') { "" } else { "meshes/" };
        let (one, two) = (format!("{folder}{}", text(one)), format!("{folder}{}", text(two)));
        let dir = with_files(&[(&*one, "1"), (&*two, "2"), ("meshes/other.nif", "3")]);
        refused(&dir, &pack(&dir, game, &["--all"]), 1, &["one hash", &one, &two]);
    }
}

#[test]
fn names_outside_of_the_code_page_are_an_error_that_lists_them() {
    let dir = with_files(&[("meshes/岩.nif", "1"), ("meshes/ok.nif", "2")]);
    refused(&dir, &pack(&dir, "skyrimse", &[]), 1, &["meshes/岩.nif", "--encoding"]);
    let finished = pack(&dir, "skyrimse", &["--encoding", "932"]);
    assert!(finished.code == 0 && finished.err.contains("outside of ASCII"), "{finished:?}");
    let found = dir.run(["cat", "--encoding", "932", "out/MyMod.bsa", "meshes/岩.nif"]);
    assert_eq!(found.success(), "1");
    // In the default code page, as UTF-8 on the disk and as the byte of Windows.
    let dir = with_files(&[("sound/Mar\u{ed}a_F.fuz", "voice")]);
    fs::write(dir.path("MyMod/sound").join(std::ffi::OsStr::from_bytes(b"Eloi\xe9.fuz")), "raw").unwrap();
    for game in GAMES {
        let finished = pack(&dir, game, &["--all", "--overwrite"]);
        assert_eq!(finished.code, 0, "{game}: {finished:?}");
        let archive = format!("out/{}", names(&dir.path("out"))[0]);
        assert_eq!(dir.run(["cat", &archive, "sound/Mar\u{ed}a_F.fuz"]).success(), "voice", "{game}");
        assert_eq!(dir.run(["cat", &archive, "sound/Eloi\u{e9}.fuz"]).success(), "raw", "{game}");
        // The hash covers all bytes, or `verify` finds the file odd.
        dir.run(["verify", &archive]).success();
        fs::remove_dir_all(dir.path("out")).unwrap();
    }
}

#[test]
fn a_data_folder_is_stripped_if_it_is_the_only_one() {
    let dir = with_files(&[("Data/meshes/a.nif", "1"), ("readme.txt", "2")]);
    let finished = pack(&dir, "skyrimse", &[]);
    assert_eq!(dir.run(["list", "out/MyMod.bsa"]).success(), "meshes/a.nif\n");
    let beside =
        "1 file stays loose: it is beside the folder Data, in which the game's files begin\n  readme.txt\n";
    assert!(finished.out.contains(beside), "{finished:?}");
    let planned = pack(&dir, "skyrimse", &["--dry-run", "--json"]).out;
    assert!(planned.contains(r#"{"loose":"readme.txt","reason":"beside-data"}"#), "{planned}");
    let dir = with_files(&[("Data/meshes/a.nif", "1"), ("textures/b.dds", "2")]);
    refused(&dir, &pack(&dir, "skyrimse", &[]), 1, &["Data", "textures"]);
    // A folder above the source does not matter.
    let dir = TestDir::new();
    fs::create_dir_all(dir.path("Data/MyMod/meshes")).unwrap();
    fs::write(dir.path("Data/MyMod/meshes/a.nif"), "1").unwrap();
    dir.run(["pack", "Data/MyMod", "--game", "skyrimse", "--name", "M", "-o", "out"]);
    assert_eq!(dir.run(["list", "out/M.bsa"]).success(), "meshes/a.nif\n");
}

#[test]
fn a_folder_of_an_instance_that_is_a_link_counts_as_a_link() {
    let dir = with_files(&[("meshes/a.nif", "1")]);
    for folder in ["game/Data", "MO2/mods", "MO2/profiles/Default"] {
        fs::create_dir_all(dir.path(folder)).unwrap();
    }
    fs::write(dir.path("game/SkyrimSE.exe"), "").unwrap();
    fs::write(dir.path("game/Data/Skyrim.esm"), "").unwrap();
    let settings = format!(
        "[General]\ngameName=Skyrim Special Edition\ngamePath={}\nselected_profile=Default\n",
        dir.path("game").display()
    );
    fs::write(dir.path("MO2/ModOrganizer.ini"), settings).unwrap();
    fs::write(dir.path("MO2/profiles/Default/modlist.txt"), "+Linked\n").unwrap();
    symlink(dir.path("MyMod"), dir.path("MO2/mods/Linked")).unwrap();
    let packed = |source: &str, more: &[&str]| {
        let arguments = ["pack", source, "--game", "skyrimse", "--name", "MyMod", "-o", "out"];
        dir.run([&arguments, more].concat())
    };
    refused(&dir, &packed("MO2", &[]), 1, &["mods/Linked", "--follow-links"]);
    packed("MO2", &["--follow-links"]);
    assert!(dir.path("out/MyMod.bsa").exists());
    // What the user names may be a link.
    fs::remove_dir_all(dir.path("out")).unwrap();
    assert_eq!(packed("MO2/mods/Linked", &[]).code, 0);
}

#[test]
fn links_and_special_files_are_errors_with_their_names() {
    let dir = with_files(&[("meshes/a.nif", "1")]);
    symlink("a.nif", dir.path("MyMod/meshes/link.nif")).unwrap();
    refused(&dir, &pack(&dir, "skyrimse", &[]), 1, &["link.nif", "--follow-links"]);
    pack(&dir, "skyrimse", &["--follow-links"]);
    assert_eq!(dir.run(["list", "out/MyMod.bsa"]).success(), "meshes/a.nif\nmeshes/link.nif\n");
    fs::remove_dir_all(dir.path("out")).unwrap();
    fs::remove_file(dir.path("MyMod/meshes/link.nif")).unwrap();
    symlink("nowhere", dir.path("MyMod/meshes/dangling.nif")).unwrap();
    refused(&dir, &pack(&dir, "skyrimse", &["--follow-links"]), 1, &["dangling.nif"]);
    fs::remove_file(dir.path("MyMod/meshes/dangling.nif")).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let fifo = dir.path("MyMod/meshes/pipe.nif");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    refused(&dir, &pack(&dir, "skyrimse", &[]), 1, &["pipe.nif"]);
    fs::remove_file(&fifo).unwrap();
    if is_root() {
        // A container may lack the right to make one.
        let kind = rustix::fs::FileType::CharacterDevice;
        let zero = dir.path("MyMod/meshes/zero.nif");
        if rustix::fs::mknodat(rustix::fs::CWD, &zero, kind, mode, rustix::fs::makedev(1, 5)).is_ok() {
            refused(&dir, &pack(&dir, "skyrimse", &[]), 1, &["zero.nif"]);
        }
    } else {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(dir.path("MyMod/meshes/a.nif"), fs::Permissions::from_mode(0o000)).unwrap();
        refused(&dir, &pack(&dir, "skyrimse", &[]), 66, &["a.nif"]);
    }
}

/// Makes a file that has only holes.
fn sparse(dir: &TestDir, path: &str, size: u64) {
    let path = dir.path("MyMod").join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = File::create(path).unwrap();
    file.seek(SeekFrom::Start(size - 1)).unwrap();
    file.write_all(&[0]).unwrap();
}

#[test]
fn files_that_a_format_cannot_state_are_refused_before_anything_is_written() {
    let dir = TestDir::new();
    sparse(&dir, "sound/large.wav", 1 << 30);
    refused(&dir, &pack(&dir, "skyrimse", &[]), 1, &["too large", "sound/large.wav"]);
    // With its path before the data, this one is too large as well.
    sparse(&dir, "sound/large.wav", (1 << 30) - 1);
    refused(&dir, &pack(&dir, "skyrim", &[]), 1, &["too large", "sound/large.wav"]);
    sparse(&dir, "sound/large.wav", 1 << 32);
    refused(&dir, &pack(&dir, "fallout4", &[]), 1, &["too large", "sound/large.wav"]);
}

#[test]
fn files_beyond_the_largest_archive_are_split_where_the_game_loads_them() {
    let dir = TestDir::new();
    // Sounds are stored, so nothing is read for the plan.
    let each = ((1u64 << 31) - 1 - 200 - 3 * 60) / 3;
    for name in ["a", "b", "c"] {
        sparse(&dir, &format!("sound/{name}.wav"), each);
    }
    let planned = |game: &str| {
        let finished = pack(&dir, game, &["-n", "--json"]);
        let names = |line: &Value| Some(line["archive"].as_str()?.to_owned());
        (objects(&finished.out).iter().filter_map(names).collect::<Vec<_>>(), finished)
    };
    assert_eq!(planned("skyrimse").0, ["MyMod.bsa"]);
    sparse(&dir, "sound/c.wav", each + 1000);
    for (game, second, plugin) in [
        ("skyrimse", "MyMod 2.bsa", Some("MyMod 2.esp")),
        ("oblivion", "MyMod - 2.bsa", None),
        ("falloutnv", "MyMod - 2.bsa", None),
        ("morrowind", "MyMod 2.bsa", None),
    ] {
        let (archives, finished) = if game == "morrowind" { planned_all(&dir, game) } else { planned(game) };
        assert_eq!(archives, ["MyMod.bsa", second], "{game}");
        let is_noted = plugin.is_some_and(|plugin| finished.out.contains(plugin));
        assert_eq!(is_noted, plugin.is_some(), "{game}: {}", finished.out);
    }
    assert_eq!(planned("fallout4").0, ["MyMod - Main.ba2"]);
}

fn planned_all(dir: &TestDir, game: &str) -> (Vec<String>, Finished) {
    let finished = pack(dir, game, &["-n", "--json", "--all"]);
    let names = |line: &Value| Some(line["archive"].as_str()?.to_owned());
    (objects(&finished.out).iter().filter_map(names).collect(), finished)
}

#[test]
fn a_split_counts_compressed_sizes_and_loses_no_file() {
    let files: Vec<(String, Vec<u8>)> = (0..40)
        .map(|n| (format!("meshes/m{n:02}.nif"), if n % 2 == 0 { text(n, 9_000) } else { noise(n, 3_000) }))
        .collect();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(path, bytes)| (&**path, &**bytes)).collect();
    let dir = with_files(&files);
    pack(&dir, "skyrimse", &["--max-size", "60K"]).success_with_notes();
    let archives = names(&dir.path("out"));
    // About 40 * 6,000 bytes, of which half become a quarter: two archives, and not four.
    assert_eq!(archives, ["MyMod 2.bsa", "MyMod.bsa"]);
    for name in &archives {
        assert!(fs::metadata(dir.path("out").join(name)).unwrap().len() <= 60 << 10);
    }
    fs::write(dir.path("all.toml"), "archives = ['out/MyMod.bsa', 'out/MyMod 2.bsa']").unwrap();
    let equal = dir.run(["diff", "--compare", "all.toml", "MyMod"]).success();
    assert_eq!(equal, "0 added, 0 removed, 0 changed, 40 equal\n");
}

impl Finished {
    /// A program that succeeded, and may have printed notes.
    fn success_with_notes(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.out
    }
}

#[test]
fn textures_that_cannot_be_stored_are_never_dropped() {
    let array = {
        let mut file = dds::header(dds::BC7, 16, 16, 1, false);
        file[140..144].copy_from_slice(&2u32.to_le_bytes());
        file.extend([0; 512]);
        file
    };
    let dir = with_files(&[
        ("textures/array.dds", &array[..]),
        ("textures/cut.dds", &[dds::header(dds::BC1, 64, 64, 1, false), vec![0; 2047]].concat()),
        ("textures/none.dds", b"no texture"),
        ("textures/good.dds", &[dds::header(dds::BC1, 64, 64, 1, false), vec![1; 2048 + 100]].concat()),
    ]);
    let three = ["textures/array.dds", "textures/cut.dds", "textures/none.dds"];
    refused(&dir, &pack(&dir, "fallout4", &[]), 1, &three);
    let finished = pack(&dir, "fallout4", &["--odd-textures=loose"]);
    // It was asked for, and not packed.
    assert_eq!(finished.code, 1);
    assert!(three.iter().all(|path| finished.out.contains(path)), "{finished:?}");
    assert!(finished.err.contains("bytes after the texels are left out"), "{finished:?}");
    assert_eq!(dir.run(["list", "out/MyMod - Textures.ba2"]).success(), "textures/good.dds\n");
    let finished = pack(&dir, "fallout4", &["--odd-textures=general", "--overwrite"]);
    assert_eq!(finished.code, 0, "{finished:?}");
    let listed = dir.run(["list", "out/MyMod - Main.ba2"]).success();
    assert_eq!(listed.lines().collect::<Vec<_>>(), three);
    assert_eq!(dir.run(["cat", "out/MyMod - Main.ba2", "textures/none.dds"]).success(), "no texture");
}

#[test]
fn a_picture_that_is_named_dds_is_packed_with_a_warning_for_every_game() {
    let tga = [&[0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 24, 0][..], &[7; 6]].concat();
    let dir = with_files(&[
        ("textures/a.dds", &b"\xFF\xD8\xFF\xE0\0\x10JFIF"[..]),
        ("textures/b.dds", &tga),
        ("textures/c.dds", &[dds::header(dds::BC1, 4, 4, 1, false), vec![1; 8]].concat()),
    ]);
    for game in GAMES {
        let finished = pack(&dir, game, &["--overwrite", "--odd-textures=general"]);
        assert_eq!(finished.code, 0, "{game}: {finished:?}");
        for (kind, path) in [("a JPEG picture", "textures/a.dds"), ("a TGA picture", "textures/b.dds")] {
            let line = finished.err.lines().find(|line| line.contains(kind));
            assert!(line.is_some_and(|line| line.contains(path)), "{game}: {finished:?}");
        }
        assert!(!finished.err.contains("c.dds"), "{game}: {finished:?}");
    }
    fs::remove_dir_all(dir.path("out")).unwrap();
    refused(&dir, &pack(&dir, "fallout4", &[]), 1, &["textures/a.dds: not a texture: a JPEG picture"]);
}

#[test]
fn pixels_of_24_bits_are_refused_because_no_archive_of_textures_has_them() {
    let mut file = dds::header(dds::RGBA8, 4, 2, 1, false);
    for (at, word) in [(80, 0x40u32), (88, 24), (92, 0xff_0000), (96, 0xff00), (100, 0xff), (104, 0)] {
        file[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }
    file.extend(0..24);
    let dir = with_files(&[("textures/a.dds", &file)]);
    refused(&dir, &pack(&dir, "fallout4", &[]), 1, &["textures/a.dds", "--odd-textures"]);
}

/// Every archive that the tests can make, packed for one game after the other, so that each kind of archive
/// meets each game. With `BSAFS_ALL`, and in a kind with fewer samples than games, each is packed for all.
#[test]
fn archives_of_every_kind_are_converted_to_every_game() {
    const GAMES: [&str; 4] = ["morrowind", "oblivion", "skyrimse", "starfield"];
    let is_all = std::env::var_os("BSAFS_ALL").is_some();
    // The tables of these state sizes that no data has, or no names.
    let is_odd = |sample: &Sample| {
        ["empty", "no names", "without names", "nameless"].iter().any(|it| sample.name.contains(it))
    };
    let kind = |sample: &Sample| {
        let about = format::parse(&sample.bytes, &Limits::default()).unwrap().about;
        (about.format, about.kind, about.platform)
    };
    let samples: Vec<_> = samples().iter().filter(|it| !is_odd(it)).map(|it| (it, kind(it))).collect();
    for (n, (sample, kind)) in samples.iter().enumerate() {
        let of_kind = |samples: &[(&Sample, _)]| samples.iter().filter(|it| it.1 == *kind).count();
        let (nth, is_rare) = (of_kind(&samples[..n]), of_kind(&samples) < GAMES.len());
        let dir = TestDir::new();
        fs::write(dir.path("in.bsa"), &sample.bytes).unwrap();
        let count = sample.files.len();
        let is_tried = |game: usize| is_all || is_rare || nth % GAMES.len() == game;
        for (_, game) in GAMES.into_iter().enumerate().filter(|(number, _)| is_tried(*number)) {
            let arguments = [
                "pack",
                "in.bsa",
                "--game",
                game,
                "--name",
                "M",
                "-o",
                "out",
                "--all",
                "--odd-textures=general",
            ];
            let finished = dir.run(arguments);
            if finished.code == 1
                && (finished.err.contains("differ only in case") || finished.err.contains("Data"))
            {
                continue;
            }
            assert_eq!(finished.code, 0, "{} to {game}: {finished:?}", sample.name);
            let archives: Vec<String> =
                names(&dir.path("out")).iter().map(|it| format!("out/{it}")).collect();
            fs::write(dir.path("all.toml"), format!("archives = {archives:?}")).unwrap();
            let equal = dir.run(["diff", "--compare", "in.bsa", "all.toml"]);
            // A BA2 rebuilds the headers of textures.
            let texels = equal.out.lines().filter(|line| line.starts_with("! ") && line.ends_with(".dds"));
            let headers = if matches!(game, "fallout4" | "starfield") { texels.count() } else { 0 };
            let expected = format!("0 added, 0 removed, {headers} changed, {} equal", count - headers);
            assert_eq!(
                equal.out.lines().last(),
                Some(&*expected),
                "{} to {game}: {}",
                sample.name,
                equal.out
            );
            fs::remove_dir_all(dir.path("out")).unwrap();
        }
    }
}

#[test]
fn plugins_without_content_are_written_only_on_request() {
    let dir = with_files(&[("meshes/a.nif", "1")]);
    for (game, plugin) in [("skyrimse", "MyMod.esp"), ("starfield", "MyMod.esm"), ("falloutnv", "MyMod.esp")]
    {
        pack(&dir, game, &[]);
        assert_eq!(names(&dir.path("out")).len(), 1, "{game}");
        let finished = pack(&dir, game, &["--dummy", "--overwrite"]);
        assert!(finished.err.contains(plugin), "{finished:?}");
        assert!(fs::read(dir.path("out").join(plugin)).unwrap().starts_with(b"TES4"), "{game}");
        fs::remove_dir_all(dir.path("out")).unwrap();
    }
    // Two archives of one plugin need it once, whatever else is written for each of them.
    let two = with_files(&[("meshes/a.nif", noise(1, 40_000)), ("meshes/b.nif", noise(2, 40_000))]);
    let finished = pack(&two, "falloutnv", &["--dummy", "--override", "--max-size", "60K"]);
    assert_eq!(finished.code, 0, "{finished:?}");
    let written = ["MyMod - 2.bsa", "MyMod - 2.override", "MyMod.bsa", "MyMod.esp", "MyMod.override"];
    assert_eq!(names(&two.path("out")), written);
    // One that is there stays as it is.
    fs::create_dir(dir.path("out")).unwrap();
    fs::write(dir.path("out/MyMod.esp"), "mine").unwrap();
    pack(&dir, "skyrimse", &["--dummy"]);
    assert_eq!(fs::read_to_string(dir.path("out/MyMod.esp")).unwrap(), "mine");
    pack(&dir, "falloutnv", &["--override", "--overwrite"]);
    assert!(dir.path("out/MyMod.override").exists());
}

#[test]
fn names_that_no_game_can_find_are_refused_before_anything_is_written() {
    for (name, shown) in [
        ("a:b.nif", "a:b.nif"),
        ("meshes\\a.nif", "meshes\\a.nif"),
        ("what?.nif", "what?.nif"),
        ("x\u{1b}y.nif", "x\\x1By.nif"),
        ("a\nb.nif", "a\\x0Ab.nif"),
    ] {
        let dir = with_files(&[(&*format!("meshes/{name}"), b"x"), ("meshes/b.nif", b"y")]);
        let finished = pack(&dir, "fallout4", &[]);
        assert_eq!((finished.code, finished.out.as_str()), (1, ""), "{finished:?}");
        assert!(finished.err.contains("names that no game can find"), "{finished:?}");
        assert!(finished.err.contains(&format!("meshes/{shown}")), "{finished:?}");
        assert_eq!(names(&dir.path("out")), [""; 0]);
    }
}

#[test]
fn an_archive_gets_the_bytes_of_a_name_that_is_listed_with_escapes() {
    let name = "meshes/a\u{202e}fin.nif";
    let dir = with_files(&[(name, b"x")]);
    // The code page of the game has no such character.
    let finished = pack(&dir, "fallout4", &[]);
    assert!(
        finished.code == 1 && finished.err.contains("the code page of the archive lacks"),
        "{finished:?}"
    );
    pack(&dir, "fallout4", &["--encoding", "utf-8", "-q"]).success();
    let archive = names(&dir.path("out")).remove(0);
    let listed =
        objects(&dir.run(["list", "--json", "--encoding", "utf-8", &format!("out/{archive}")]).success());
    let stored: String = name.bytes().map(|byte| format!("{byte:02x}")).collect();
    let listed = listed[0]["stored_name_hex"].as_str().unwrap().replace("5c", "2f");
    assert_eq!(listed, stored);
}
