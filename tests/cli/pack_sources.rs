//! `bsafs pack`: whatever the source is, each of its files is in an archive, or named.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use super::pack::{names, with_files};
use crate::mounted::{Finished, TestDir, finish, run};
use crate::support::ba2::{Ba2File, Chunk, Texture};
use crate::support::content::{noise, texels, text};
use crate::support::{Ba2, Tes3, Tes3File, Tes4, Tes4File, dds, hash};

/// The objects of `bsafs … --json`.
fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn pack(dir: &TestDir, sources: &[&str], game: &str, more: &[&str]) -> Finished {
    dir.run([&["pack"], sources, &["--game", game], more].concat())
}

/// Paths, stored names and hashes of an archive's files, by path.
fn records(dir: &TestDir, archive: &str) -> BTreeMap<String, (String, String)> {
    let text = |file: &Value, key: &str| file[key].as_str().unwrap_or_default().to_owned();
    let listed = objects(&dir.run(["list", "--json", archive]).success());
    listed.iter().map(|file| (text(file, "path"), (text(file, "stored_name"), text(file, "hash")))).collect()
}

/// Makes an archive, also in a folder that is missing.
fn place(dir: &TestDir, path: &str, bytes: &[u8]) {
    fs::create_dir_all(dir.path(path).parent().unwrap()).unwrap();
    dir.archive(path, bytes);
}

/// How many paths two archives have with equal bytes. Fails if any other path is in one of them.
fn assert_equal(dir: &TestDir, one: &str, two: &str) -> usize {
    let diff = dir.run(["diff", "--compare", one, two]).success();
    let (rest, equal) = diff.trim_end().strip_suffix(" equal").unwrap().rsplit_once(", ").unwrap();
    assert_eq!(rest, "0 added, 0 removed, 0 changed", "{one} {two}: {diff}");
    equal.parse().unwrap()
}

/// Paths that stay loose if they are loose files, each by another rule.
const RULED: [&str; 16] = [
    "meshes/actors/character/behaviors/0_master.hkx",
    "meshes/actors/character/animations/my/fnis_my_list.txt",
    "meshes/actors/character/animations/openanimationreplacer/a/1.hkx",
    "meshes/animgroupoverride/a.kf",
    "scripts/source/my.psc",
    "interface/my/config.ini",
    "skse/plugins/x.json",
    "menus/main/hud.xml",
    "sound/voice/a.esp/m/x.mp3",
    "sound/a.wav",
    "video/intro.bik",
    "fomod/info.xml",
    "docs/readme.txt",
    "calientetools/bodyslide/a.osp",
    "my own folder/a.nif",
    "textures/a.psd",
];

#[test]
fn everything_of_an_archive_comes_out_of_the_new_one() {
    let bytes = |path: &str| text(path.len() as u64, 90);
    let tes4 = |version| {
        let add = |archive: Tes4, path: &&str| {
            let (folder, name) = path.rsplit_once('/').unwrap();
            archive.file(folder.replace('/', "\\"), name, bytes(path))
        };
        RULED.iter().fold(Tes4::new(version), add).file("", "root.nif", "1").file("a", "b.esp", "2").build()
    };
    let ba2 = |version| {
        let add = |archive: Ba2, path: &&str| archive.file(path, bytes(path));
        RULED.iter().fold(Ba2::general(version), add).file("root.nif", "1").file("a/b.esp", "2").build()
    };
    let tes3 = {
        let add = |archive: Tes3, path: &&str| archive.file(path.replace('/', "\\"), bytes(path));
        RULED.iter().fold(Tes3::new(), add).file("root.nif", "1").file("a\\b.esp", "2").build()
    };
    let dir = TestDir::new();
    for (name, archive) in [
        ("3.bsa", tes3),
        ("103.bsa", tes4(103)),
        ("104.bsa", tes4(104)),
        ("105.bsa", tes4(105)),
        ("1.ba2", ba2(1)),
        ("2.ba2", ba2(2)),
        ("8.ba2", ba2(8)),
    ] {
        for game in ["morrowind", "oblivion", "falloutnv", "skyrim", "skyrimse", "fallout4", "starfield"] {
            dir.archive(name, &archive);
            let finished = pack(&dir, &[name], game, &["--name", "P", "-o", "out"]);
            assert_eq!(finished.code, 0, "{name} to {game}: {finished:?}");
            let made = names(&dir.path("out")).into_iter().map(|it| format!("out/{it}")).collect::<Vec<_>>();
            fs::write(dir.path("all.toml"), format!("archives = {made:?}")).unwrap();
            assert_eq!(assert_equal(&dir, name, "all.toml"), RULED.len() + 2, "{name} to {game}");
            fs::remove_dir_all(dir.path("out")).unwrap();
            // In place.
            let is_ba2 = matches!(game, "fallout4" | "starfield");
            if name.ends_with(".ba2") == is_ba2 {
                let own = if is_ba2 { "place/Own - Main.ba2" } else { "place/Own.bsa" };
                place(&dir, own, &archive);
                let finished = pack(&dir, &[own], game, &["-o", own, "--overwrite"]);
                assert_eq!(finished.code, 0, "{finished:?}");
                assert_eq!(assert_equal(&dir, name, own), RULED.len() + 2, "{name} to {game}");
            }
        }
    }
    // One archive holds textures and all others, as the old one did.
    let old = Tes4::new(104).file("meshes", "a.nif", "1").file("textures", "a.dds", "2");
    dir.archive("Old.bsa", &old.build());
    let finished = pack(&dir, &["Old.bsa"], "skyrimse", &["-o", "New.bsa"]);
    assert_eq!(finished.code, 0, "{finished:?}");
    assert_eq!(assert_equal(&dir, "Old.bsa", "New.bsa"), 2);
}

#[test]
fn an_archive_is_not_replaced_by_a_part_of_it() {
    let dir = TestDir::new();
    let archive = Tes4::new(105).file("meshes", "a.nif", "1").file("scripts", "a.pex", "2").build();
    for more in [["-g", "meshes/**"], ["--exclude", "*.pex"]] {
        dir.archive("A.bsa", &archive);
        let finished =
            pack(&dir, &["A.bsa"], "skyrimse", &[&more[..], &["-o", "A.bsa", "--overwrite"]].concat());
        assert_eq!(finished.code, 73, "{finished:?}");
        assert!(finished.err.contains("A.bsa: 1 file"), "{finished:?}");
        assert_eq!(fs::read(dir.path("A.bsa")).unwrap(), archive);
        assert_eq!(
            pack(&dir, &["A.bsa"], "skyrimse", &[&more[..], &["-o", "B.bsa", "--overwrite"]].concat()).code,
            0
        );
    }
}

#[test]
fn a_source_is_never_replaced_while_a_copy_of_it_is_in_no_new_archive() {
    let dir = TestDir::new();
    let archive = |bytes: &str| Tes4::new(105).file("meshes", "c.nif", bytes).file("meshes", "d.nif", "d");
    let place_both = |other: &str| {
        dir.archive("two/M0.bsa", &archive("copy 0").build());
        dir.archive("two/M1.bsa", &archive(other).build());
    };
    fs::create_dir(dir.path("two")).unwrap();
    let run = |sources: &[&str], more: &[&str]| pack(&dir, sources, "skyrimse", more);
    let both = ["two/M0.bsa", "two/M1.bsa"];
    place_both("copy 1");
    let before = fs::read(dir.path(both[0])).unwrap();
    for place in [&["--name", "M0", "-o", "two"][..], &["-o", "two/M0.bsa"], &["-o", "two/m0.bsa"]] {
        for more in [&["--overwrite"][..], &["-n", "--overwrite"], &[], &["-n"]] {
            let finished = run(&both, &[place, more].concat());
            assert_eq!(finished.code, 73, "{place:?} {more:?}: {finished:?}");
            assert!(
                finished.err.contains("two/M0.bsa: 1 file, such as meshes/c.nif")
                    && finished.err.contains("--name")
                    && !finished.err.contains("--overwrite replaces"),
                "{finished:?}"
            );
            assert_eq!(fs::read(dir.path(both[0])).unwrap(), before);
        }
    }
    // The one that wins loses nothing, and neither does another output.
    for place in [&["--name", "M1", "-o", "two"][..], &["--name", "M0", "-o", "out"]] {
        place_both("copy 1");
        let planned = run(&both, &[place, &["-n", "--overwrite"]].concat());
        assert_eq!((planned.code, run(&both, &[place, &["--overwrite"]].concat()).code), (0, 0));
    }
    // Copies with the same bytes are all in the output.
    place_both("copy 0");
    assert_eq!(run(&both, &["--name", "M0", "-o", "two"]).code, 73);
    assert_eq!(run(&both, &["--name", "M0", "-o", "two", "--overwrite"]).code, 0);
    // The winner is a loose file that stays loose, or a deletion hides the copy.
    let behaviour = Tes4::new(105).file("meshes\\actors\\x\\behaviors", "a.hkx", "1");
    let archive = behaviour.file("meshes", "a.nif", "2").build();
    place(&dir, "Loose/meshes/actors/x/behaviors/a.hkx", b"1");
    place(&dir, "edit/meshes/.wh.a.nif", b"");
    for other in ["Loose", "edit"] {
        dir.archive("A.bsa", &archive);
        let finished = run(&["A.bsa", other], &["--name", "A", "-o", ".", "--overwrite"]);
        assert!(finished.code == 73 && finished.err.contains("A.bsa: 1 file"), "{other}: {finished:?}");
        assert_eq!(fs::read(dir.path("A.bsa")).unwrap(), archive);
    }
}

#[test]
fn a_plan_ends_as_the_run_would_if_archives_exist() {
    let dir = with_files(&[("meshes/a.nif", "1")]);
    let run =
        |more: &[&str]| pack(&dir, &["MyMod"], "skyrimse", &[&["--name", "M", "-o", "out"], more].concat());
    assert_eq!((run(&["-n"]).code, run(&[]).code), (0, 0));
    for more in [&[][..], &["--overwrite"]] {
        let planned = run(&[&["-n"], more].concat());
        assert!(planned.out.contains("meshes/a.nif"), "the plan is printed: {planned:?}");
        assert_eq!(planned.code, run(more).code, "{planned:?}");
        assert_eq!(planned.err.contains("--overwrite replaces"), more.is_empty(), "{planned:?}");
    }
    fs::write(dir.path("file"), "").unwrap();
    for more in [&["-n"][..], &[]] {
        let more = [&["--name", "M", "-o", "file/out"], more].concat();
        assert_eq!(pack(&dir, &["MyMod"], "skyrimse", &more).code, 73);
    }
}

#[test]
fn names_of_an_archive_stay_as_they_are_and_have_their_own_hashes() {
    let dir = TestDir::new();
    // UTF-8 in one, windows-1252 in another, a trailing blank, a name without a stem.
    let tes4 = Tes4::new(104)
        .file("textures", [&b"20\xC2\xB0.dds"[..]].concat(), "1")
        .file("Meshes\\UPPER", "A.NIF", "2")
        .file("meshes", "blank.nif ", "3");
    dir.archive("a.bsa", &tes4.build());
    dir.archive(
        "b.bsa",
        &Tes4::new(105).file("sound", b"Mar\xEDa.fuz", "1").file("sound", "x.fuz", "2").build(),
    );
    let ba2 = Ba2::general(1).file(b"Textures\\na\xEFve.png", "1").file("Meshes/UPPER/A.nif", "2");
    dir.archive("c.ba2", &ba2.add(Ba2File::general("x\\y.txt").chunk(Chunk::stored("3"))).build());
    dir.archive("d.bsa", &Tes3::new().file(b"meshes\\\xE9.nif", "1").file("Meshes\\B.nif", "2").build());
    for (source, game, out) in [
        ("a.bsa", "skyrim", "o/a.bsa"),
        ("a.bsa", "oblivion", "o/a.bsa"),
        ("a.bsa", "skyrimse", "o/a.bsa"),
        ("b.bsa", "skyrimse", "o/b.bsa"),
        ("c.ba2", "fallout4", "o/c.ba2"),
        ("c.ba2", "starfield", "o/c.ba2"),
        ("d.bsa", "morrowind", "o/d.bsa"),
    ] {
        let finished = pack(&dir, &[source], game, &["-o", out, "--overwrite"]);
        assert_eq!(finished.code, 0, "{source} to {game}: {finished:?}");
        assert_eq!(records(&dir, source), records(&dir, out), "{source} to {game}");
        // Bytes, and not what is shown of them.
        let (old, new) = (fs::read(dir.path(source)).unwrap(), fs::read(dir.path(out)).unwrap());
        for name in [&b"20\xC2\xB0.dds\0"[..], b"Mar\xEDa.fuz\0", b"Textures\\na\xEFve.png", b"\\\xE9.nif\0"]
        {
            let has = |bytes: &[u8]| bytes.windows(name.len()).any(|it| it == name);
            assert_eq!(has(&old), has(&new), "{source} to {game}: {}", name.escape_ascii());
        }
    }
    // Other kinds of archives keep the bytes, and have hashes of their own.
    assert_eq!(pack(&dir, &["b.bsa"], "fallout4", &["-o", "o/b.ba2"]).code, 0);
    let converted = fs::read(dir.path("o/b.ba2")).unwrap();
    assert!(converted.windows(15).any(|it| it == b"sound\\Mar\xEDa.fuz"));
    // `verify` says that the game does not find files with wrong hashes, and to pack the archive again. Two
    // files may also have one wrong hash.
    let wrong = |name, hash| Tes4File::new(name, "4").with_hash(hash);
    for hashes in [[0x1234, 0x5678], [0x1234, 0x1234], [0, 0]] {
        let tes4 = Tes4::new(104).add("meshes", wrong("a.nif", hashes[0]));
        dir.archive("w.bsa", &tes4.add("meshes", wrong("b.nif", hashes[1])).build());
        assert!(dir.run(["verify", "--json", "w.bsa"]).out.contains("hash-wrong"));
        let packed = pack(&dir, &["w.bsa"], "skyrim", &["-o", "o/w.bsa", "--overwrite"]);
        assert_eq!(packed.code, 0, "{packed:?}");
        assert!(!dir.run(["verify", "--json", "o/w.bsa"]).out.contains("hash-wrong"));
    }
    let wrong = |name| Tes3File::new(name, "1").with_hash(7, 7);
    dir.archive("w.bsa", &Tes3::new().add(wrong("a.nif")).add(wrong("b.nif")).build());
    assert_eq!(pack(&dir, &["w.bsa"], "morrowind", &["-o", "o/t.bsa"]).code, 0);
    assert!(!dir.run(["verify", "--json", "o/t.bsa"]).out.contains("hash-wrong"));
}

#[test]
fn archives_without_names_ask_for_a_list() {
    let dir = TestDir::new();
    let ba2 = Ba2::general(1).file("meshes/a.nif", "1").file("meshes/b.nif", "2").nameless();
    dir.archive("a.ba2", &ba2.build());
    let tes4 = Tes4::new(104).file("meshes", "a.nif", "1").file("meshes", "b.nif", "2");
    dir.archive("b.bsa", &tes4.flags(1).build());
    dir.archive(
        "c.bsa",
        &Tes3::new().file("meshes\\a.nif", "1").file("meshes\\b.nif", "2").nameless().build(),
    );
    fs::write(dir.path("one.txt"), "meshes/a.nif\n").unwrap();
    fs::write(dir.path("both.txt"), "meshes/a.nif\nmeshes/b.nif\n").unwrap();
    for (source, game, out) in
        [("a.ba2", "fallout4", "o/x.ba2"), ("b.bsa", "skyrim", "o/x.bsa"), ("c.bsa", "morrowind", "o/x.bsa")]
    {
        for (more, count) in [(&[][..], 2), (&["--names", "one.txt"], 1)] {
            let finished = pack(&dir, &[source], game, &[&["-o", out], more].concat());
            assert_eq!(finished.code, 1, "{source}: {finished:?}");
            let says = format!("{count} without a name");
            assert!(finished.err.contains("--names") && finished.err.contains(&says), "{finished:?}");
            assert!(!dir.path(out).exists());
        }
        let finished = pack(&dir, &[source], game, &["-o", out, "--names", "both.txt"]);
        assert_eq!(finished.code, 0, "{source}: {finished:?}");
        assert_eq!(dir.run(["list", out]).success(), "meshes/a.nif\nmeshes/b.nif\n");
        dir.run(["verify", out]).success();
        fs::remove_dir_all(dir.path("o")).unwrap();
    }
}

#[test]
fn textures_of_an_archive_come_back_byte_for_byte() {
    let dir = TestDir::new();
    let file = |name: &str, format, side: u16, mips: u8, is_cube: bool| {
        let face: usize = dds::mip_bytes(format, side, side, mips).into_iter().sum();
        let data = texels(name.len() as u64, if is_cube { face * 6 } else { face });
        let texture = Texture::new(format, side, side, mips);
        let texture = if is_cube { texture.cube() } else { texture };
        Ba2File::texture(name, texture).chunk(Chunk::zlib(data).mips(0, u16::from(mips) - 1))
    };
    let archive = |version| {
        Ba2::textures(version)
            .add(file("textures/a.dds", dds::BC7, 64, 7, false))
            .add(file("textures/sky.dds", dds::BC1, 32, 6, true))
            .add(file("interface/outside.dds", dds::BC3, 16, 1, false))
            .build()
    };
    for (version, game) in [(1, "fallout4"), (8, "fallout4"), (1, "fallout76"), (2, "starfield")] {
        dir.archive("t.ba2", &archive(version));
        let finished = pack(&dir, &["t.ba2"], game, &["-o", "o/t.ba2", "--overwrite"]);
        assert_eq!(finished.code, 0, "{version} to {game}: {finished:?}");
        assert_eq!(assert_equal(&dir, "t.ba2", "o/t.ba2"), 3, "{version} to {game}");
    }
    // A texture that a game read from an archive of files stays there, with its header.
    let loose = [dds::header(dds::BC1, 64, 64, 1, false), text(1, 2048), b"tag".to_vec()].concat();
    dir.archive("g.ba2", &Ba2::general(1).file("textures/a.dds", loose).build());
    let finished = pack(&dir, &["g.ba2"], "fallout4", &["-o", "o/g - Main.ba2"]);
    assert_eq!(finished.code, 0, "{finished:?}");
    assert_eq!(assert_equal(&dir, "g.ba2", "o/g - Main.ba2"), 1);
    // Outside of its archive, a texture would be lost.
    dir.archive("l.bsa", &Tes4::new(104).file("textures", "a.dds", "no texture").build());
    for choice in ["error", "loose"] {
        let finished =
            pack(&dir, &["l.bsa"], "fallout4", &["--name", "L", "-o", "l", "--odd-textures", choice]);
        assert_eq!(finished.code, 1, "{finished:?}");
        assert!(finished.err.contains("--odd-textures=general"), "{finished:?}");
        assert!(names(&dir.path("l")).is_empty());
    }
}

#[test]
fn a_cube_without_its_flag_keeps_six_faces() {
    let face: usize = dds::mip_bytes(dds::BC1, 256, 256, 9).into_iter().sum();
    let with_word = |at: usize, word: u32, texels: usize| {
        let mut file = dds::header(dds::BC1, 256, 256, 9, false);
        file[at..at + 4].copy_from_slice(&word.to_le_bytes());
        file.extend(noise(texels as u64, texels));
        file
    };
    let dir = with_files(&[
        ("textures/cube.dds", with_word(28, 9, face * 6)),
        ("textures/mips0.dds", with_word(28, 0, face)),
        ("textures/cube0.dds", with_word(28, 0, face * 6)),
    ]);
    for game in ["fallout4", "starfield"] {
        let finished = pack(&dir, &["MyMod"], game, &["--name", "M", "-o", "out"]);
        assert_eq!(finished.code, 0, "{finished:?}");
        dir.run(["extract", "out/M - Textures.ba2", "-C", "again"]).success();
        for name in ["cube", "mips0", "cube0"] {
            let read =
                |folder: &str| fs::read(dir.path(folder).join(format!("textures/{name}.dds"))).unwrap();
            let (source, packed) = (read("MyMod"), read("again"));
            assert!(source[128..] == packed[128..], "{name}: {} and {} bytes", source.len(), packed.len());
            assert_eq!(packed[113] & 2 != 0, name.starts_with("cube"), "{name}");
        }
        fs::remove_dir_all(dir.path("again")).unwrap();
        fs::remove_dir_all(dir.path("out")).unwrap();
    }
    // More texels than the header states are no tag.
    let dir = with_files(&[("textures/long.dds", with_word(28, 1, face))]);
    let finished = pack(&dir, &["MyMod"], "fallout4", &["--name", "M", "-o", "out"]);
    assert_eq!(finished.code, 1, "{finished:?}");
    assert!(
        finished.err.contains("--odd-textures") && finished.err.contains("would be lost"),
        "{finished:?}"
    );
    let finished =
        pack(&dir, &["MyMod"], "fallout4", &["--name", "M", "-o", "out", "--odd-textures=general"]);
    assert_eq!(finished.code, 0, "{finished:?}");
    assert_eq!(assert_equal(&dir, "out/M - Main.ba2", "MyMod"), 1);
}

/// Packs `MyMod`, and asserts that it is refused with these words.
fn refused(dir: &TestDir, more: &[&str], parts: &[&str]) {
    let finished = pack(dir, &["MyMod"], "skyrimse", &[&["-o", "out"], more].concat());
    assert!(finished.code != 0, "{finished:?}");
    for part in parts {
        assert!(finished.err.contains(part), "{part} is not in {finished:?}");
    }
    assert!(names(&dir.path("out")).is_empty());
}

#[test]
fn a_download_as_it_was_unpacked_is_refused_with_the_folders_to_pack() {
    for (files, begins) in [
        (&["MyMod-1.2/meshes/a.nif", "MyMod-1.2/MyMod.esp"][..], &["MyMod-1.2 (2 files)"][..]),
        (&["My Mod/Data/textures/a.dds"], &["My Mod/Data (1 file)"]),
        (&["Data/My Mod/textures/a.dds", "Data/readme.txt"], &["Data/My Mod (1 file)"]),
        (&["a/b/c/MyMod.esp"], &["a/b/c (1 file)"]),
        (
            &["00 Core/meshes/a.nif", "01 Hi-res/textures/a.dds", "fomod/ModuleConfig.xml"],
            &["00 Core (1 file)", "01 Hi-res (1 file)"],
        ),
        // The game's files begin at the top, but options of an installer lie beside them.
        (&["meshes/a.nif", "fomod/info.xml", "Options/Red/textures/a.dds"], &["Options/Red (1 file)"]),
        (&["textures/a.dds", "10_Blue/textures/a.dds"], &["10_Blue (1 file)"]),
        // What lies at the top, and folders of which no name is known.
        (
            &["A.esp", "meshes/a.nif", "00 Core/meshes/a.nif", "20 Own Things/x/y.nif", "30 More/z.txt"],
            &[
                "the source itself, without the folders below (2 files)",
                "00 Core (1 file)",
                "20 Own Things (1 file, in no folder that games are known to read)",
                "30 More (1 file, in no folder",
            ],
        ),
        (
            &["fomod/info.xml", "Options/Red/textures/a.dds", "Options/Blue/own/a.nif", "Options/readme.md"],
            &["Options/Red (1 file)", "Options/Blue (1 file, in", "Options (1 file, in"],
        ),
        (
            &["Mod 1/Mod 1/meshes/a.nif", "Mod 1/Mod 1/own/b.nif", "Mod 1/credits.md"],
            &["Mod 1/Mod 1 (2 files)", "Mod 1 (1 file, in"],
        ),
    ] {
        let files: Vec<(&str, &str)> = files.iter().map(|path| (*path, "1")).collect();
        let dir = with_files(&files);
        refused(&dir, &["--name", "M"], &[begins, &["--any-path"]].concat());
        if files.iter().all(|(path, _)| path.ends_with(".esp")) {
            continue;
        }
        // The option packs what it says, without another one.
        let finished =
            pack(&dir, &["MyMod"], "skyrimse", &["--name", "M", "-o", "out", "--any-path", "--json"]);
        assert_eq!(finished.code, 0, "{finished:?}");
        for (path, _) in files.iter().filter(|(path, _)| path.ends_with(".nif") || path.ends_with(".dds")) {
            let path = path.strip_prefix("Data/").unwrap_or(path).to_lowercase();
            let listed = names(&dir.path("out"))
                .into_iter()
                .map(|name| dir.run(["list", &format!("out/{name}")]).success());
            assert!(listed.collect::<String>().contains(&path), "{path}: {finished:?}");
        }
    }
    // Tools read these folders, so that nothing begins in them.
    let dir =
        with_files(&[("meshes/a.nif", "1"), ("fomod/info.xml", "2"), ("CalienteTools/x/meshes/a.nif", "3")]);
    assert_eq!(pack(&dir, &["MyMod"], "skyrimse", &["--name", "M", "-o", "out"]).code, 0);
}

#[test]
fn a_download_is_packed_once_what_is_wrong_is_left_out() {
    let dir = with_files(&[
        ("meshes/a.nif", "1"),
        ("fomod/info.xml", "2"),
        ("Options/Red/textures/a.dds", "3"),
        ("Options/own/b.nif", "4"),
    ]);
    fs::write(dir.path("list.txt"), "meshes\n").unwrap();
    refused(&dir, &["--name", "M"], &["Options/Red (1 file)", "--exclude", "--glob"]);
    refused(&dir, &["--name", "M", "--exclude", "Options/own/**"], &["Options/Red (1 file)"]);
    for more in [
        &["--exclude", "Options/**"][..],
        &["--exclude", "options\\Red\\**"],
        &["-g", "meshes/**"],
        &["--from", "list.txt"],
    ] {
        let finished = pack(
            &dir,
            &["MyMod"],
            "skyrimse",
            &[&["--name", "M", "-o", "out", "--overwrite"], more].concat(),
        );
        assert_eq!(finished.code, 0, "{more:?}: {finished:?}");
        assert_eq!(dir.run(["list", "out/M.bsa"]).success(), "meshes/a.nif\n", "{more:?}");
    }
}

/// Mod Organizer hides a file or a folder by its name, and has settings of its own in each mod.
#[test]
fn hidden_files_and_settings_of_the_manager_are_neither_packed_nor_merged() {
    let dir = with_files(&[
        ("meshes/a.nif", "1"),
        ("meshes/b.nif.mohidden", "2"),
        ("textures/old.mohidden/deep/c.dds", "3"),
        ("meta.ini", "own"),
    ]);
    for (path, bytes) in [("Other/meta.ini", "other"), ("Other/meshes/a.nif", "9"), ("Other/readme.txt", "0")]
    {
        fs::create_dir_all(dir.path(path).parent().unwrap()).unwrap();
        fs::write(dir.path(path), bytes).unwrap();
    }
    for more in [&[][..], &["--all"]] {
        let run = |how: &[&str]| {
            let options = ["--name", "M", "-o", "out", "--overwrite"];
            let finished = pack(&dir, &["Other", "MyMod"], "skyrimse", &[&options, how, more].concat());
            assert_eq!(finished.code, 0, "{finished:?}");
            finished
        };
        let finished = run(&["--json"]);
        let lines = objects(&finished.out);
        let hidden = lines.iter().filter(|it| it["reason"] == "hidden").filter_map(|it| it["loose"].as_str());
        let hidden: Vec<&str> = hidden.collect();
        assert_eq!(hidden, ["meshes/b.nif.mohidden", "textures/old.mohidden/deep/c.dds"], "{lines:?}");
        if more.is_empty() {
            assert_eq!(finished.out.matches(r#""loose":"meta.ini""#).count(), 2, "{finished:?}");
            assert_eq!(finished.out.matches(r#""superseded""#).count(), 1, "{finished:?}");
            let finished = run(&[]);
            assert!(
                finished.out.contains("1 copy of paths") && finished.out.contains("/Other"),
                "{finished:?}"
            );
            assert!(finished.err.contains("1 path is in several sources"), "{finished:?}");
            assert!(!finished.err.contains("meta.ini"), "{finished:?}");
            // What is not selected is not merged, either.
            let finished =
                run(&["-g", "textures/**", "-g", "meshes/b*", "-g", "meshes/a.nif", "-g", "**/*.txt"]);
            assert!(!finished.err.contains("meta.ini"), "{finished:?}");
            let finished =
                pack(&dir, &["Other", "MyMod"], "skyrimse", &["--name", "M", "-g", "meta.ini", "-n"]);
            assert_eq!(finished.code, 1, "{finished:?}");
        }
    }
}

#[test]
fn paths_and_names_that_no_game_asks_for_are_refused() {
    let dir = TestDir::new();
    for (nth, (folder, why)) in [
        ("c:\\users\\me\\data\\meshes", "root of a disk"),
        (".\\meshes", "dotted"),
        ("meshes\\..\\textures", "dotted"),
        ("meshes\\", "empty"),
        ("\\meshes", "root of a disk"),
        ("data\\meshes", "data folder"),
    ]
    .into_iter()
    .enumerate()
    {
        let tes4 = Tes4::new(105).file(folder, "a.nif", "1").file("textures", "good.dds", "2").build();
        let ba2 =
            Ba2::general(1).file(format!("{folder}\\a.nif"), "1").file("textures/good.txt", "2").build();
        for (source, game, bytes) in [("a.bsa", "skyrimse", &tes4), ("a.ba2", "fallout4", &ba2)] {
            dir.archive(source, bytes);
            let out = format!("out{nth}/{source}");
            let finished = pack(&dir, &[source], game, &["-o", &out]);
            assert_eq!(finished.code, 1, "{folder}: {finished:?}");
            assert!(
                finished.err.contains(why) && finished.err.contains("--any-path"),
                "{folder}: {finished:?}"
            );
            assert!(!dir.path(&out).exists());
            let finished = pack(&dir, &[source], game, &["-o", &out, "--any-path"]);
            assert!(finished.code == 0 && finished.err.contains("no game"), "{folder}: {finished:?}");
            assert_eq!(records(&dir, source), records(&dir, &out), "{folder}");
            // `verify` notes such paths in existing archives.
            let noted = dir.run(["verify", "--json", source]).out;
            let code = if why == "data folder" { "data-folder" } else { "path-unfindable" };
            assert!(noted.contains(code), "{folder}: {noted}");
        }
    }
    // The second byte of this character is a backslash in code page 932.
    let dir = with_files(&[("meshes/表.nif", "1"), ("meshes/岩.nif", "2")]);
    refused(&dir, &["--name", "M", "--encoding", "932"], &["meshes/表.nif", "backslash"]);
    let dir = with_files(&[("meshes\\a.nif", "1"), ("meshes/b.nif", "2")]);
    refused(&dir, &["--name", "M", "--all"], &["backslash"]);
    let dir = with_files(&[("meshes/a.nif", "1"), ("MyMod.esp", "TES4")]);
    for name in ["MyMod.esp", "MyMod.ESM", "MyMod.bsa"] {
        refused(&dir, &["--name", name], &["without", "MyMod", "--any-path"]);
    }
    assert_eq!(
        pack(&dir, &["MyMod"], "skyrimse", &["--name", "MyMod.esp", "--any-path", "-o", "out"]).code,
        0
    );
    assert_eq!(names(&dir.path("out")), ["MyMod.esp.bsa"]);
}

#[test]
fn folders_of_tools_and_unknown_ones_stay_loose_unless_asked_for() {
    let dir = with_files(&[
        ("meshes/a.nif", "1"),
        ("CalienteTools/BodySlide/SliderPresets/a.xml", "2"),
        ("Tools/BodySlide/a.osp", "2"),
        ("AAF/a.xml", "2"),
        ("Edit Scripts/a.pas", "2"),
        ("root/d3dx9_42.txt", "2"),
        ("Docs/a.html", "2"),
        ("Screenshots/a.png", "2"),
        ("fomod/a.png", "2"),
        ("My Folder/a.nif", "2"),
    ]);
    for game in ["skyrimse", "fallout4", "oblivion", "morrowind"] {
        let out = pack(&dir, &["MyMod"], game, &["--name", "M", "-o", "out", "--overwrite", "--json"]);
        assert_eq!(out.code, 0, "{game}: {out:?}");
        let lines = objects(&out.out);
        let loose: BTreeMap<&str, &str> =
            lines.iter().filter_map(|it| Some((it["loose"].as_str()?, it["reason"].as_str()?))).collect();
        assert_eq!((loose.len(), lines[0]["files"].as_u64()), (9, Some(1)), "{game}: {lines:?}");
        assert_eq!((loose["My Folder/a.nif"], loose["AAF/a.xml"]), ("unknown-folder", "tools"));
        let all =
            pack(&dir, &["MyMod"], game, &["--name", "M", "-o", "all", "--overwrite", "--all", "--json"]);
        assert_eq!((all.code, objects(&all.out)[0]["files"].as_u64()), (0, Some(10)), "{game}");
        assert!(all.out.contains("pack-folder"), "the unknown folder is noted");
    }
}

#[test]
fn merging_names_what_it_decides() {
    let dir = TestDir::new();
    for nth in 0..3 {
        let archive = Ba2::general(1)
            .file("scripts/shared.pex", format!("version {nth}"))
            .file("meshes/same.nif", "same")
            .file(format!("meshes/{nth}.nif"), "x")
            .file(format!("strings/Cc{nth}-Thing_en.strings"), "table")
            .file(format!("seq/Cc{nth}-Thing.seq"), "list");
        dir.archive(&format!("Cc{nth}-Thing - Main.ba2"), &archive.build());
    }
    let sources = ["Cc0-Thing - Main.ba2", "Cc1-Thing - Main.ba2", "Cc2-Thing - Main.ba2"];
    let finished = pack(&dir, &sources, "fallout4", &["--name", "All", "-o", "out", "--dummy"]);
    assert_eq!(finished.code, 0, "{finished:?}");
    assert!(
        finished
            .out
            .contains("4 copies of paths that another source wins: 2 with the same bytes, 2 with other")
    );
    assert!(finished.err.contains("scripts/shared.pex is in 3 sources"), "{finished:?}");
    assert!(finished.err.contains("named after their 3 plugins"), "{finished:?}");
    // Tables stay with their plugins, which get no empty ones.
    let expected =
        ["All - Main.ba2", "All.esp", "Cc0-Thing - Main.ba2", "Cc1-Thing - Main.ba2", "Cc2-Thing - Main.ba2"];
    assert_eq!(names(&dir.path("out")), expected);
    assert_eq!(
        dir.run(["list", "out/Cc1-Thing - Main.ba2"]).success(),
        "seq/Cc1-Thing.seq\nstrings/Cc1-Thing_en.strings\n"
    );
    assert_eq!(dir.run(["cat", "out/All - Main.ba2", "scripts/shared.pex"]).success(), "version 2");
    let verbose =
        dir.run([&["-v", "pack"], &sources[..], &["--game", "fallout4", "--name", "All", "-n"]].concat());
    assert_eq!(verbose.err.matches("shared.pex: ").count(), 2, "{verbose:?}");
    // One archive cannot be that of three plugins.
    let finished = pack(&dir, &sources, "fallout4", &["-o", "one/All - Main.ba2"]);
    assert!(finished.code == 1 && finished.err.contains("Cc0-Thing_en.strings"), "{finished:?}");
    // A single archive may get another name.
    let finished = pack(&dir, &sources[..1], "fallout4", &["-o", "one/All - Main.ba2"]);
    assert!(finished.code == 0 && finished.err.contains("Cc0-Thing"), "{finished:?}");
    assert_eq!(assert_equal(&dir, sources[0], "one/All - Main.ba2"), 5);
}

#[test]
fn a_merge_of_thirty_archives_is_one_archive_but_for_tables_that_need_their_own() {
    let dir = TestDir::new();
    let mut sources = Vec::new();
    for nth in 1..=30 {
        let archive = Tes4::new(105)
            .file("meshes", format!("{nth}.nif"), "1")
            .file("seq", format!("mod{nth:02}.seq"), "2")
            .file("strings", format!("mod{nth:02}_english.strings"), "3");
        sources.push(format!("Mod{nth:02}.bsa"));
        dir.archive(&sources[nth - 1], &archive.build());
    }
    let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
    let run = |more: &[&str]| {
        let finished = pack(&dir, &sources, "skyrimse", &[&["--name", "Merged"], more].concat());
        assert_eq!(finished.code, 0, "{finished:?}");
        finished
    };
    // What the note says of fewer archives.
    let few = run(&["-o", "few", "--exclude", "strings/**", "--exclude", "seq/**"]);
    assert_eq!(names(&dir.path("few")), ["Merged.bsa"]);
    assert!(few.out.contains("60 files left out: --exclude"), "{few:?}");
    let all = run(&["-o", "all"]);
    assert_eq!(names(&dir.path("all")).len(), 31);
    let says = "all/Mod01.bsa to Mod30.bsa: 30 archives with 60 files of tables of texts or lists of quests";
    assert!(all.out.contains(says) && all.out.lines().count() == 3, "{all:?}");
    assert!(all.err.contains("--exclude 'strings/**' --exclude 'seq/**'"), "{all:?}");
    let planned = run(&["-n", "-o", "none"]);
    assert_eq!(planned.out.matches("because no other plugin finds these tables").count(), 30, "{planned:?}");
}

#[test]
fn a_name_on_the_way_that_windows_shortens_is_named_and_stays_loose() {
    let dir = with_files(&[
        ("meshes/a.nif.", "1"),
        ("meshes/b.nif ", "2"),
        ("meshes/sub./c.nif", "3"),
        ("meshes/ /d.nif", "4"),
        ("meshes/..e.nif", "5"),
        ("meshes/.f/g.nif", "6"),
    ]);
    for (game, archive) in [("skyrimse", "out/M.bsa"), ("fallout4", "out/M - Main.ba2")] {
        let finished = pack(&dir, &["MyMod"], game, &["--name", "M", "-o", "out"]);
        assert_eq!(finished.code, 1, "{finished:?}");
        assert_eq!(finished.out.matches("ends in a dot or a blank").count(), 4, "{finished:?}");
        assert_eq!(dir.run(["list", archive]).success(), "meshes/..e.nif\nmeshes/.f/g.nif\n");
    }
}

#[test]
fn tables_of_other_plugins_in_a_folder_stay_loose_or_go_to_their_plugin() {
    let dir = with_files(&[
        ("My_Mod.esp", "TES4"),
        ("Patch.esp", "TES4"),
        ("Strings/my_mod_english.STRINGS", "1"),
        ("Strings/Patch_english.STRINGS", "2"),
        ("Strings/Skyrim_english.STRINGS", "3"),
        ("SEQ/My_Mod.seq", "4"),
        ("meshes/a.nif", "5"),
    ]);
    let finished = pack(&dir, &["MyMod"], "skyrimse", &["--name", "My_Mod", "-o", "out", "--json"]);
    assert_eq!(finished.code, 0, "{finished:?}");
    assert!(finished.out.contains(r#"{"loose":"Strings/Skyrim_english.STRINGS","reason":"other-plugin"}"#));
    assert_eq!(names(&dir.path("out")), ["My_Mod.bsa", "Patch.bsa"]);
    assert_eq!(dir.run(["list", "out/Patch.bsa"]).success(), "strings/patch_english.strings\n");
    assert_eq!(dir.run(["list", "out/My_Mod.bsa"]).success().lines().count(), 3);
    // If the files need two archives, the first one has the plugin's own tables.
    let dir = with_files(&[
        ("M.esp", b"TES4".to_vec()),
        ("meshes/a.nif", noise(1, 40_000)),
        ("meshes/b.nif", noise(2, 40_000)),
        ("strings/M_english.STRINGS", b"1".to_vec()),
        ("seq/M.seq", b"2".to_vec()),
    ]);
    assert_eq!(pack(&dir, &["MyMod"], "skyrimse", &["-o", "out", "--max-size", "60K"]).code, 0);
    let first = dir.run(["list", "out/M.bsa"]).success();
    assert!(first.contains("seq/m.seq") && first.contains("m_english.strings"), "{first}");
}

#[test]
fn no_archive_is_written_beside_one_whose_name_differs_only_in_case() {
    let table = |name: &str, bytes: &str| {
        Tes4::new(105).file("meshes", format!("{name}.nif"), bytes).file("seq", format!("{name}.seq"), bytes)
    };
    // Merged beside the originals, with and without their plugins.
    for plugins in [&["Mod01.esp", "MOD03.esp"][..], &[]] {
        let dir = TestDir::new();
        dir.archive("Mod01.bsa", &table("mod01", "1").build());
        dir.archive("MOD03.bsa", &table("mod03", "3").build());
        for plugin in plugins {
            fs::write(dir.path(plugin), "TES4").unwrap();
        }
        let before = names(&dir.path("."));
        let run = |more: &[&str]| {
            pack(&dir, &["Mod01.bsa", "MOD03.bsa"], "skyrimse", &[&["--name", "Merged"], more].concat())
        };
        let planned = run(&["-n"]);
        assert!(planned.out.contains("Mod01.bsa") && planned.out.contains("MOD03.bsa"), "{planned:?}");
        let finished = run(&[]);
        assert!(finished.code == 73 && finished.err.contains("MOD03.bsa"), "{finished:?}");
        assert_eq!(names(&dir.path(".")), before);
        assert_eq!(run(&["--overwrite"]).code, 0);
        let after: Vec<String> =
            names(&dir.path(".")).into_iter().filter(|it| !before.contains(it)).collect();
        assert_eq!(after, ["Merged.bsa"], "{plugins:?}");
        assert_eq!(dir.run(["list", "MOD03.bsa"]).success(), "seq/mod03.seq\n");
    }
    // The plugin, the table or -o spells the name otherwise than the folder for the archives.
    let dir = with_files(&[("MOD01.esp", "TES4"), ("meshes/a.nif", "1")]);
    for output in ["out", "out/MOD01.bsa"] {
        let old = Tes4::new(105).file("meshes", "a.nif", "old").build();
        place(&dir, "out/Mod01.bsa", &old);
        let finished = pack(&dir, &["MyMod"], "skyrimse", &["-o", output]);
        assert!(finished.code == 73 && finished.err.contains("out/Mod01.bsa"), "{finished:?}");
        assert_eq!(fs::read(dir.path("out/Mod01.bsa")).unwrap(), old);
        let finished = pack(&dir, &["MyMod"], "skyrimse", &["-o", output, "--overwrite"]);
        assert!(finished.code == 0 && finished.out.contains("out/Mod01.bsa"), "{finished:?}");
        assert_eq!(names(&dir.path("out")), ["Mod01.bsa"]);
    }
    // Twins that are there already.
    fs::write(dir.path("out/mod01.BSA"), "old").unwrap();
    let finished = pack(&dir, &["MyMod"], "skyrimse", &["-o", "out", "--overwrite"]);
    assert!(finished.code == 73 && finished.err.contains("mod01.BSA"), "{finished:?}");
}

#[test]
fn a_named_archive_takes_no_table_that_its_plugin_does_not_find() {
    let dir = TestDir::new();
    dir.archive(
        "Mod01.bsa",
        &Tes4::new(105).file("meshes", "a.nif", "1").file("seq", "mod01.seq", "2").build(),
    );
    dir.archive("Mod03.bsa", &Tes4::new(105).file("strings", "mod03_english.strings", "3").build());
    let finished = pack(&dir, &["Mod01.bsa", "Mod03.bsa"], "skyrimse", &["-o", "F.bsa"]);
    assert!(finished.code == 1 && finished.err.contains("seq/mod01.seq"), "{finished:?}");
    assert!(finished.err.contains("mod03_english.strings") && !dir.path("F.bsa").exists(), "{finished:?}");
    // Those of its own plugin, and of the only source, which is named.
    let finished = pack(&dir, &["Mod01.bsa"], "skyrimse", &["-o", "F.bsa"]);
    assert!(finished.code == 0 && finished.err.contains("seq/mod01.seq"), "{finished:?}");
    fs::create_dir(dir.path("out")).unwrap();
    let finished = pack(&dir, &["Mod01.bsa", "Mod01.bsa"], "skyrimse", &["-o", "out/Mod01.bsa"]);
    assert_eq!(finished.code, 0, "{finished:?}");
}

#[test]
fn a_file_that_no_source_has_is_not_lost_with_a_replaced_archive() {
    let dir = TestDir::new();
    let texture = [dds::header(dds::BC1, 64, 64, 1, false), text(1, 2048)].concat();
    let source = Tes4::new(105).file("meshes", "a.nif", "1").file("textures", "a.dds", texture.clone());
    dir.archive("ModA.bsa", &source.build());
    let textures = |name: &str, bytes: &[u8]| {
        let archive = Tes4::new(105).file("textures", "a.dds", bytes).file("textures", name, bytes);
        dir.archive("ModA - Textures.bsa", &archive.build());
    };
    let run = |more: &[&str]| pack(&dir, &["ModA.bsa"], "skyrimse", &[&["--name", "ModA"], more].concat());
    textures("loose.dds", &texture);
    // A plan ends as the run would, and does not name an option that would not help.
    for more in [&[][..], &["-n"], &["-n", "--overwrite"], &["-n", "--json"]] {
        let planned = run(more);
        assert_eq!(planned.code, 73, "{planned:?}");
        assert!(!planned.err.contains("--overwrite replaces"), "{planned:?}");
        let both = planned.out + &planned.err;
        assert!(both.contains("ModA - Textures.bsa") && both.contains("textures/loose.dds"), "{both}");
    }
    // What no source has would be lost, so that nothing is written.
    let before = ["ModA.bsa", "ModA - Textures.bsa"].map(|name| fs::read(dir.path(name)).unwrap());
    let finished = run(&["--overwrite"]);
    assert!(finished.code == 73 && finished.err.contains("textures/loose.dds"), "{finished:?}");
    assert!(finished.err.contains("first source") && finished.err.contains("move it away"), "{finished:?}");
    assert_eq!(before, ["ModA.bsa", "ModA - Textures.bsa"].map(|name| fs::read(dir.path(name)).unwrap()));
    // Both ways on that the message names.
    let both = ["ModA - Textures.bsa", "ModA.bsa"];
    let finished = pack(&dir, &both, "skyrimse", &["--name", "ModA", "-o", "."]);
    assert!(finished.code == 73 && finished.err.contains("--overwrite"), "{finished:?}");
    assert_eq!(pack(&dir, &both, "skyrimse", &["--name", "ModA", "--overwrite"]).code, 0);
    assert_eq!(dir.run(["list", "ModA - Textures.bsa"]).success(), "textures/a.dds\ntextures/loose.dds\n");
    dir.archive("ModA.bsa", &source.build());
    fs::rename(dir.path("ModA - Textures.bsa"), dir.path("Old.bsa")).unwrap();
    assert_eq!(run(&["--overwrite"]).code, 0);
    // Nothing is lost with what was written just now. Other bytes are named.
    dir.archive("ModA.bsa", &source.build());
    let finished = run(&["--overwrite"]);
    assert!(finished.code == 0 && !finished.err.contains("replaced"), "{finished:?}");
    dir.archive("ModA.bsa", &source.build());
    let other = [dds::header(dds::BC1, 64, 64, 1, false), text(2, 2048)].concat();
    dir.archive("ModA - Textures.bsa", &Tes4::new(105).file("textures", "a.dds", other).build());
    let finished = run(&["--overwrite"]);
    assert!(finished.code == 0 && finished.err.contains("1 file of it with the same bytes"), "{finished:?}");
    // A file that a source has is not lost, although it is not packed.
    let dir = with_files(&[("meshes/a.nif", "1"), ("scripts/a.pex", "2"), ("M.esp", "TES4")]);
    let run = |more: &[&str]| pack(&dir, &["MyMod"], "skyrimse", &[&["-o", "out"], more].concat());
    assert_eq!(run(&[]).code, 0);
    for more in [["-g", "meshes/**"], ["--exclude", "*.pex"]] {
        let finished = run(&[&more[..], &["--overwrite"]].concat());
        assert_eq!(finished.code, 0, "{finished:?}");
    }
    fs::remove_file(dir.path("MyMod/meshes/a.nif")).unwrap();
    let finished = run(&["--overwrite"]);
    assert!(finished.code == 73 && finished.err.contains("meshes/a.nif"), "{finished:?}");
}

#[test]
fn patterns_are_compared_with_the_paths_that_are_printed() {
    let dir = with_files(&[
        ("Data/Meshes/a.nif", "1"),
        ("Data/Textures/Deep/a.dds", "2"),
        ("Data/Sound/a.wav", "3"),
        ("Data/My.esp", "TES4"),
    ]);
    let listed = |more: &[&str]| {
        let finished = pack(&dir, &["MyMod"], "skyrim", &[&["-n", "--json"], more].concat());
        assert_eq!(finished.code, 0, "{more:?}: {finished:?}");
        let paths =
            |line: &Value| Some(line["plan"].as_array()?.iter().map(|it| it["path"].to_string()).collect());
        let paths: Vec<Vec<String>> = objects(&finished.out).iter().filter_map(paths).collect();
        paths.concat().join(" ").replace('"', "")
    };
    for pattern in [
        "textures/**",
        "Textures\\**",
        "TEXTURES/deep/*.dds",
        "Data/Textures/**",
        "data\\textures\\**",
        "*.DDS",
        "./textures/**",
    ] {
        assert_eq!(listed(&["--exclude", pattern]), "Meshes/a.nif Sound/a.wav", "{pattern}");
        assert_eq!(listed(&["-g", pattern]), "Textures/Deep/a.dds", "{pattern}");
        let stored = pack(&dir, &["MyMod"], "skyrim", &["-n", "--json", "--store", pattern]).out;
        assert!(stored.contains(r#"{"path":"Textures/Deep/a.dds","size":1,"how":"stored"}"#), "{pattern}");
    }
    // A pattern that selects nothing is named.
    let finished = pack(&dir, &["MyMod"], "skyrim", &["-n", "--exclude", "texture/**"]);
    assert!(finished.code == 0 && finished.err.contains("--exclude texture/**"), "{finished:?}");
    let finished = pack(&dir, &["MyMod"], "skyrim", &["-n", "-g", "texture/**"]);
    assert!(finished.code == 2 && finished.err.contains("texture/**"), "{finished:?}");
}

#[test]
fn an_empty_plugin_never_takes_the_name_of_one_that_is_there() {
    let made = |dir: &TestDir, sources: &[&str], game: &str, more: &[&str]| {
        let finished =
            pack(dir, sources, game, &[&["--name", "MyMod", "--dummy", "-o", "out"], more].concat());
        assert_eq!(finished.code, 0, "{finished:?}");
        let made = names(&dir.path("out")).into_iter().filter(|it| !it.ends_with(".bsa")).count();
        fs::remove_dir_all(dir.path("out")).unwrap();
        made
    };
    for (plugin, game, more) in [
        ("MyMod.esp", "skyrimse", &["-g", "meshes/**"][..]),
        ("MyMod.esp", "skyrimse", &["--exclude", "*.esp"]),
        // A plugin that does not load archives in this game.
        ("mymod.ESM", "oblivion", &[]),
        ("MyMod.esl", "skyrimvr", &[]),
        // A mod manager has put it out of the way.
        ("optional/MyMod.esp", "skyrimse", &[]),
        ("MyMod.esp.mohidden", "skyrimse", &[]),
    ] {
        let dir = with_files(&[(plugin, "TES4"), ("meshes/a.nif", "1")]);
        assert_eq!(made(&dir, &["MyMod"], game, &[more, &["--any-path"]].concat()), 0, "{plugin} {game}");
    }
    // The plugin lies beside the archive.
    let dir = TestDir::new();
    place(&dir, "mod/MyMod.bsa", &Tes4::new(105).file("meshes", "a.nif", "1").build());
    fs::write(dir.path("mod/MyMod.esp"), "TES4").unwrap();
    assert_eq!(made(&dir, &["mod/MyMod.bsa"], "skyrimse", &[]), 0);
    fs::remove_file(dir.path("mod/MyMod.esp")).unwrap();
    assert_eq!(made(&dir, &["mod/MyMod.bsa"], "skyrimse", &[]), 1);
}

#[test]
fn a_list_says_what_is_packed() {
    let dir =
        with_files(&[("Data/meshes/a.nif", "1"), ("Data/textures/b.dds", "2"), ("Data/My.esp", "TES4")]);
    fs::write(dir.path("list.txt"), "meshes\\A.nif\r\n\"Data\\My.esp\"\r\n").unwrap();
    fs::write(dir.path("My.achlist"), r#"["Data\\Meshes\\A.NIF"]"#).unwrap();
    for list in ["list.txt", "My.achlist"] {
        let finished = pack(&dir, &["MyMod"], "skyrimse", &["--from", list, "-o", "out", "--overwrite"]);
        assert_eq!(finished.code, 0, "{finished:?}");
        assert_eq!(names(&dir.path("out")), ["My.bsa"]);
        assert_eq!(dir.run(["list", "out/My.bsa"]).success(), "meshes/a.nif\n");
    }
    // What the list names and the rules leave loose is listed.
    let finished = pack(&dir, &["MyMod"], "skyrimse", &["--from", "list.txt", "-n"]);
    assert!(finished.out.contains("My.esp") && finished.out.contains("1 file not selected"), "{finished:?}");
    let mut command = dir.bsafs(["pack", "MyMod", "--game", "skyrimse", "--from", "-", "-n", "--json"]);
    command.stdin(fs::File::open(dir.path("list.txt")).unwrap());
    let finished = finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    assert!(finished.code == 0 && finished.out.contains("meshes/a.nif"), "{finished:?}");
    // A path that is not there is asked for, and missing.
    fs::write(dir.path("list.txt"), "meshes/a.nif\nmeshes/gone.nif\n").unwrap();
    let finished = pack(&dir, &["MyMod"], "skyrimse", &["--from", "list.txt", "-o", "none"]);
    assert!(finished.code == 1 && finished.err.contains("meshes/gone.nif"), "{finished:?}");
    assert!(!dir.path("none").exists());
    assert_eq!(pack(&dir, &["MyMod"], "skyrimse", &["--from", "nowhere.txt", "-n"]).code, 66);
}

#[test]
fn archives_that_are_not_whole_are_errors() {
    let dir = TestDir::new();
    let mut bytes = Tes4::new(105).file("meshes", "a.nif", "1").build();
    // The packer died before it wrote sizes and offsets.
    let at = bytes.windows(4).position(|it| it == 1u32.to_le_bytes()).unwrap();
    let record = bytes.len() - 1 - b"a.nif\0".len() - 8;
    let _ = at;
    bytes[record..record + 8].fill(0);
    dir.archive("a.bsa", &bytes);
    let finished = pack(&dir, &["a.bsa"], "skyrimse", &["-o", "b.bsa"]);
    assert!(finished.code == 66 && finished.err.contains("never finished"), "{finished:?}");
    let whole = Ba2::general(1).file("meshes/a.nif", noise(1, 900)).build();
    dir.archive("c.ba2", &whole[..whole.len() / 2]);
    assert_eq!(pack(&dir, &["c.ba2"], "fallout4", &["-o", "d.ba2"]).code, 66);
    assert!(!dir.path("b.bsa").exists() && !dir.path("d.ba2").exists());
    // Two paths with one hash: the game would find one of them.
    let [one, two] = hash::FO4_COLLISION;
    dir.archive("e.ba2", &Ba2::general(1).file(one, "1").file(two, "2").build());
    let finished = pack(&dir, &["e.ba2"], "fallout4", &["-o", "f.ba2", "--any-path"]);
    assert!(finished.code == 1 && finished.err.contains("one hash"), "{finished:?}");
    assert!(dir.run(["verify", "--json", "e.ba2"]).out.contains("hash-twice"));
}

/// Each copy of each source is in the plan, loose, superseded or not selected.
#[test]
fn every_copy_of_every_source_is_accounted_for() {
    let dir = with_files(&[
        ("Data/meshes/a.nif", "1"),
        ("Data/meshes/b.nif", "2"),
        ("Data/My.esp", "TES4"),
        ("Data/Docs/a.txt", "3"),
        ("Data/odd folder/a.nif", "4"),
        ("readme.txt", "5"),
    ]);
    let archive = Tes4::new(105).file("meshes", "a.nif", "low").file("meshes", "deleted.nif", "x");
    dir.archive("A.bsa", &archive.file("interface", "b.ini", "y").build());
    dir.archive(
        "B.ba2",
        &Ba2::general(1).file("Meshes/A.nif", "1").file("strings/x_en.strings", "z").build(),
    );
    fs::create_dir_all(dir.path("edit/meshes")).unwrap();
    fs::write(dir.path("edit/meshes/.wh.deleted.nif"), "").unwrap();
    for more in [&[][..], &["-g", "meshes/**"], &["--exclude", "**/a.*"], &["--all"]] {
        let sources = ["A.bsa", "B.ba2", "MyMod", "edit"];
        let finished = pack(&dir, &sources, "skyrimse", &[&["-n", "--json"], more].concat());
        assert_eq!(finished.code, 0, "{finished:?}");
        let mut counted = 0;
        for line in objects(&finished.out) {
            counted += line["plan"].as_array().map_or(0, Vec::len);
            counted += usize::from(line["loose"].is_string()) + usize::from(line["superseded"].is_string());
            counted += line["unselected"].as_u64().unwrap_or(0) as usize;
        }
        assert_eq!(counted, 6 + 3 + 2, "{more:?}: {}", finished.out);
        assert!(
            finished.out.contains(r#""loose":"meshes/deleted.nif","reason":"erased""#),
            "{}",
            finished.out
        );
        let wins = r#"{"superseded":"meshes/a.nif","#;
        assert_eq!(finished.out.matches(wins).count(), 2, "{}", finished.out);
    }
}

/// The archives below a folder, by the first bytes of BSA and BA2.
fn archives_below(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(at).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
                continue;
            }
            let mut start = [0; 4];
            let is_read = fs::File::open(&path).and_then(|mut file| file.read_exact(&mut start)).is_ok();
            if is_read && [*b"BSA\0", *b"BTDX", [0, 1, 0, 0]].contains(&start) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Real archives of other tools: with all switches off, every file is in the result, byte for byte, or
/// nothing is written. `BSAFS_ARCHIVES` names a folder of others.
#[test]
fn real_archives_come_back_byte_for_byte_or_not_at_all() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/archives");
    let others = std::env::var_os("BSAFS_ARCHIVES").map(PathBuf::from);
    let folder = others.clone().unwrap_or(own);
    let archives = archives_below(&folder);
    if archives.is_empty() {
        assert!(others.is_none(), "there is no archive below {}", folder.display());
        return eprintln!("SKIPPED: there is no archive below {}", folder.display());
    }
    let (dir, mut packed, mut files) = (TestDir::new(), 0, 0);
    for archive in &archives {
        let (source, archive) = (archive.to_str().unwrap().to_owned(), archive.display());
        let info = objects(&dir.run(["info", "--json", &source]).out);
        let info = info.first().unwrap_or(&Value::Null);
        let game = match (info["format"].as_str().unwrap_or_default(), info["version"].as_u64().unwrap_or(0))
        {
            ("TES3", _) => "morrowind",
            (_, 103) => "oblivion",
            (_, 104) => "skyrim",
            (_, 105) => "skyrimse",
            (_, 2 | 3) => "starfield",
            _ => "fallout4",
        };
        let finished = pack(&dir, &[&source], game, &["--name", "Packed", "-o", "out"]);
        let made = names(&dir.path("out"));
        if finished.code != 0 {
            assert!(made.is_empty() && finished.err.contains("bsafs: "), "{archive}: {finished:?}");
            eprintln!("not packed: {archive}: {}", finished.err);
            continue;
        }
        packed += 1;
        let made = made.iter().map(|it| format!("out/{it}")).collect::<Vec<_>>();
        fs::write(dir.path("all.toml"), format!("archives = {made:?}")).unwrap();
        let count = dir.run(["list", &source]).success().lines().count();
        assert_eq!(assert_equal(&dir, &source, "all.toml"), count, "{archive}");
        files += count;
        fs::remove_dir_all(dir.path("out")).unwrap();
    }
    eprintln!("{packed} of {} archives came back with all {files} files", archives.len());
    assert!(packed * 3 > archives.len() * 2, "only {packed} of {} archives were packed", archives.len());
}

#[test]
fn archives_that_an_earlier_run_left_are_named_and_removed_if_nothing_is_lost() {
    let files = [("meshes/a.nif", noise(1, 40_000)), ("meshes/b.nif", noise(2, 40_000))];
    let texture = [dds::header(dds::BC1, 64, 64, 1, false), text(1, 2048)].concat();
    for (game, big, second, other) in [
        ("skyrimse", "Big.bsa", "Big 2.bsa", "Bigger 2.bsa"),
        ("falloutnv", "Big.bsa", "Big - 2.bsa", "Big - My.bsa"),
        ("fallout4", "Big - Main.ba2", "Big 2 - Main.ba2", "Big X - Main.ba2"),
    ] {
        let dir = with_files(&files);
        fs::create_dir_all(dir.path("MyMod/textures")).unwrap();
        fs::write(dir.path("MyMod/textures/a.dds"), &texture).unwrap();
        let name = ["--name", "Big", "-o", "out"];
        let run = |more: &[&str]| pack(&dir, &["MyMod"], game, &[&name[..], more].concat());
        assert_eq!(run(&["--max-size", "60K"]).code, 0);
        assert!(dir.path("out").join(second).exists());
        // Archives of others.
        for path in [other, "Small.bsa"] {
            fs::copy(dir.path("out").join(second), dir.path("out").join(path)).unwrap();
        }
        let planned = run(&["-n"]);
        let says = format!("{second}: an earlier run seems to have left it");
        assert!(planned.err.contains(&says) && planned.err.contains("--overwrite"), "{planned:?}");
        assert!(!planned.err.contains(other), "{planned:?}");
        let finished = run(&["--overwrite"]);
        assert!(
            finished.code == 0 && finished.out.contains(&format!("removed out/{second}")),
            "{finished:?}"
        );
        let there = names(&dir.path("out"));
        assert!(there.contains(&big.to_owned()) && there.contains(&other.to_owned()), "{there:?}");
        assert!(!there.contains(&second.to_owned()) && there.contains(&"Small.bsa".to_owned()), "{there:?}");
        // One with a file that is not packed now, or with other bytes, stays.
        assert_eq!(run(&["--max-size", "60K", "--overwrite"]).code, 0);
        fs::write(dir.path("MyMod/meshes/b.nif"), noise(3, 30_000)).unwrap();
        let finished = run(&["--overwrite"]);
        assert!(finished.code == 0 && finished.err.contains(second), "{finished:?}");
        assert!(dir.path("out").join(second).exists());
    }
}

#[test]
fn an_archive_of_the_mod_itself_is_not_what_an_earlier_run_left() {
    let own = Tes4::new(105).file("meshes", "own.nif", "1").build();
    let texture = [dds::header(dds::BC1, 64, 64, 1, false), text(1, 2048)].concat();
    let dir =
        with_files(&[("textures/a.dds", texture), ("My.esp", b"TES4".to_vec()), ("My.bsa", own.clone())]);
    let run =
        |sources: &[&str], more: &[&str]| pack(&dir, sources, "skyrimse", &[&["-o", "MyMod"], more].concat());
    for more in [&["-n"][..], &["--overwrite"]] {
        let finished = run(&["MyMod"], more);
        assert!(finished.code == 0 && !finished.err.contains("earlier run"), "{finished:?}");
        let says = "MyMod/My.bsa: it is another archive, with 1 file that no new one has, and stays";
        assert!(finished.err.contains(says), "{finished:?}");
        assert_eq!(fs::read(dir.path("MyMod/My.bsa")).unwrap(), own);
    }
    // As a source.
    let textures = ["MyMod/My.bsa", "MyMod/My - Textures.bsa"];
    let more = ["--name", "My", "-g", "textures/**", "--overwrite"];
    let finished = run(&textures, &more);
    assert!(finished.code == 0 && finished.err.contains("it is a source, and stays"), "{finished:?}");
    assert_eq!(fs::read(dir.path("MyMod/My.bsa")).unwrap(), own);
}

/// The files below a folder, with their bytes and times.
fn tree(folder: &Path) -> BTreeMap<String, (Vec<u8>, std::time::SystemTime)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(at).into_iter().flatten().map(Result::unwrap) {
            if entry.path().is_dir() {
                folders.push(entry.path());
                continue;
            }
            let name = entry.path().strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            found.insert(
                name,
                (fs::read(entry.path()).unwrap(), entry.metadata().unwrap().modified().unwrap()),
            );
        }
    }
    found
}

#[test]
fn packed_files_are_moved_out_of_the_mod_and_back() {
    let dir = with_files(&[
        ("Data/Meshes/Deep/a.nif", "1"),
        ("Data/textures/b.dds", "2"),
        ("Data/My.esp", "TES4"),
        ("Data/SKSE/x.dll", "3"),
        ("Data/odd/c.nif", "4"),
        ("readme.txt", "5"),
    ]);
    let before = tree(&dir.path("MyMod"));
    let run = |to: &str, more: &[&str]| {
        pack(&dir, &["MyMod"], "skyrimse", &[&["-o", "out", "--move-packed", to], more].concat())
    };
    // Where files cannot be moved, nothing is written.
    fs::create_dir(dir.path("full")).unwrap();
    fs::write(dir.path("full/x"), "mine").unwrap();
    for (to, why) in [("MyMod/inside", "outside"), ("full", "empty"), ("/dev/shm/bsafs-none", "another disk")]
    {
        let finished = run(to, &[]);
        let is_same_disk = to.starts_with("/dev") && finished.code == 0;
        assert!(is_same_disk || finished.code == 2 && finished.err.contains(why), "{to}: {finished:?}");
        assert!(is_same_disk || names(&dir.path("out")).is_empty(), "{to}");
    }
    assert!(run("moved", &["-n"]).out.contains("would move 2 files"));
    assert_eq!(tree(&dir.path("MyMod")), before);
    let finished = run("moved", &[]);
    assert_eq!(finished.code, 0, "{finished:?}");
    assert!(finished.out.contains("bsafs pack MyMod --move-back moved"), "{finished:?}");
    let moved = tree(&dir.path("moved"));
    assert_eq!(moved.keys().collect::<Vec<_>>(), ["Data/Meshes/Deep/a.nif", "Data/textures/b.dds"]);
    let left = tree(&dir.path("MyMod"));
    assert_eq!(left.len(), 4);
    assert!(!dir.path("MyMod/Data/Meshes").exists() && !dir.path("MyMod/Data/textures").exists());
    let all: BTreeMap<_, _> = moved.into_iter().chain(left).collect();
    assert_eq!(all, before, "bytes and times stay");
    // What is there meanwhile stays, and so do all moved files.
    fs::create_dir(dir.path("MyMod/Data/textures")).unwrap();
    fs::write(dir.path("MyMod/Data/textures/b.dds"), "newer").unwrap();
    fs::write(dir.path("MyMod/Data/Meshes"), "a file, where a folder was").unwrap();
    let finished = dir.run(["pack", "MyMod", "--move-back", "moved"]);
    assert!(finished.code == 73 && finished.err.contains("MyMod/Data/textures/b.dds"), "{finished:?}");
    assert!(finished.err.contains("MyMod/Data/Meshes/Deep/a.nif"), "{finished:?}");
    assert!(
        finished.err.contains("run the command again") && !finished.err.contains("os error"),
        "{finished:?}"
    );
    assert_eq!(fs::read_to_string(dir.path("MyMod/Data/textures/b.dds")).unwrap(), "newer");
    assert_eq!(tree(&dir.path("moved")).len(), 2);
    fs::remove_file(dir.path("MyMod/Data/textures/b.dds")).unwrap();
    fs::remove_file(dir.path("MyMod/Data/Meshes")).unwrap();
    assert_eq!(dir.run(["pack", "MyMod", "--move-back", "moved"]).code, 0);
    assert_eq!(tree(&dir.path("MyMod")), before);
    assert!(!dir.path("moved").exists(), "its folders are empty");
    // An archive among the sources stays where it is.
    dir.archive("A.bsa", &Tes4::new(105).file("meshes", "z.nif", "1").build());
    let finished =
        pack(&dir, &["A.bsa", "MyMod"], "skyrimse", &["-o", "out", "--overwrite", "--move-packed", "again"]);
    assert_eq!((finished.code, tree(&dir.path("again")).len()), (0, 2), "{finished:?}");
    assert!(dir.path("A.bsa").exists());
    let finished = pack(&dir, &["A.bsa"], "skyrimse", &["-o", "o.bsa", "--move-packed", "other"]);
    assert!(finished.code == 2 && !dir.path("o.bsa").exists(), "{finished:?}");
}

#[test]
fn files_are_moved_only_to_a_folder_that_is_known_to_be_empty_and_writable() {
    let dir = with_files(&[("meshes/a.nif", "1"), ("My.esp", "TES4")]);
    fs::set_permissions(dir.path("."), fs::Permissions::from_mode(0o777)).unwrap();
    for folder in ["MyMod", "MyMod/meshes", "out", "full", "closed", "closed/inner", "readable"] {
        fs::create_dir_all(dir.path(folder)).unwrap();
        fs::set_permissions(dir.path(folder), fs::Permissions::from_mode(0o777)).unwrap();
    }
    fs::write(dir.path("full/x"), "mine").unwrap();
    fs::write(dir.path("file"), "mine").unwrap();
    std::os::unix::fs::symlink("nowhere", dir.path("dangling")).unwrap();
    dir.give_to_user();
    for (folder, mode) in [("full", 0o311), ("closed", 0o600), ("readable", 0o555)] {
        fs::set_permissions(dir.path(folder), fs::Permissions::from_mode(mode)).unwrap();
    }
    for (to, why) in [
        ("full", "permission denied"),
        ("closed/inner", "permission denied"),
        ("readable/new", "permission denied"),
        ("file", "empty folder"),
        ("dangling", "empty folder"),
        ("file/below", "empty folder"),
        ("out", "the archives go there"),
        ("./out/", "the archives go there"),
    ] {
        let mut command =
            dir.bsafs_as_user(["pack", "MyMod", "--game", "skyrimse", "-o", "out", "--move-packed", to]);
        let finished = run(&mut command);
        assert!(finished.code == 2 && finished.err.contains(why), "{to}: {finished:?}");
        assert!(names(&dir.path("out")).is_empty(), "{to}");
    }
    for folder in ["full", "closed", "readable"] {
        fs::set_permissions(dir.path(folder), fs::Permissions::from_mode(0o777)).unwrap();
    }
}

#[test]
fn files_of_file_managers_and_editors_stay_loose_and_are_no_error() {
    let marks =
        ["meshes/x/.directory", "meshes/.DS_Store", "meshes/._a.nif", "meshes/a.nif~", "meshes/.a.nif.swp"];
    let mut files =
        vec![("meshes/a.nif", "1"), ("M.esp", "TES4"), ("._M.esp", "x"), ("meshes/Thumbs.db", "x")];
    files.extend(marks.map(|path| (path, "x")));
    let dir = with_files(&files);
    for game in ["skyrimse", "fallout4"] {
        let finished = pack(&dir, &["MyMod"], game, &["-o", "out", "--json"]);
        assert_eq!(finished.code, 0, "{finished:?}");
        for path in marks {
            let line = format!(r#"{{"loose":"{path}","reason":"not-game"}}"#);
            assert!(finished.out.contains(&line), "{path}: {finished:?}");
        }
        assert_eq!(objects(&finished.out)[0]["files"], 1, "{finished:?}");
    }
    // No BSA can store these, also if all are wanted.
    assert_eq!(pack(&dir, &["MyMod"], "skyrimse", &["-o", "all", "--all"]).code, 0);
}

#[test]
fn a_source_that_is_a_folder_of_the_game_names_the_one_above() {
    let dir = with_files(&[("Meshes/armor/a.nif", "1"), ("Textures/x/a.dds", "1"), ("mine/x/a.nif", "1")]);
    for source in ["MyMod/Meshes", "MyMod/Meshes/armor", "MyMod/Textures", "MyMod/Textures/x/."] {
        for more in [&["-n"][..], &["--all"]] {
            if more == ["--all"] && (source.contains('x') || source.ends_with("armor")) {
                continue;
            }
            let finished = pack(&dir, &[source], "skyrimse", &[&["--name", "M", "-o", "out"], more].concat());
            assert_eq!(finished.code, 1, "{source}: {finished:?}");
            assert!(
                finished.err.contains("pack the folder above") && finished.err.contains("MyMod, with"),
                "{source}: {finished:?}"
            );
        }
    }
    let finished = pack(&dir, &["MyMod/Meshes"], "skyrimse", &["--name", "M", "-o", "out", "--any-path"]);
    assert_eq!(finished.code, 0, "{finished:?}");
    // An option beside the game's files, without an installer.
    let dir = with_files(&[("meshes/a.nif", "1"), ("Textures 2K/textures/a.dds", "2"), ("own/b.nif", "3")]);
    let finished = pack(&dir, &["MyMod"], "skyrimse", &["--name", "M", "-n"]);
    assert_eq!(finished.code, 0, "{finished:?}");
    assert!(finished.out.contains("Textures 2K/textures/a.dds: pack Textures 2K\n"), "{finished:?}");
    assert_eq!(finished.out.matches("--all").count(), 1, "{finished:?}");
}

#[test]
fn all_damaged_files_of_a_source_are_named() {
    let files: Vec<(String, Vec<u8>)> =
        (0..4).map(|nth| (format!("meshes/m{nth}.nif"), text(nth, 5000))).collect();
    let dir = with_files(&files.iter().map(|(path, bytes)| (&**path, &**bytes)).collect::<Vec<_>>());
    assert_eq!(pack(&dir, &["MyMod"], "skyrimse", &["-o", "a.bsa"]).code, 0);
    let mut bytes = fs::read(dir.path("a.bsa")).unwrap();
    // The magic numbers of three of the four frames.
    let frames: Vec<usize> =
        (0..bytes.len() - 4).filter(|&at| bytes[at..at + 4] == 0x184D_2204_u32.to_le_bytes()).collect();
    assert_eq!(frames.len(), 4);
    frames[1..].iter().for_each(|&at| bytes[at] = 0);
    dir.archive("a.bsa", &bytes);
    for more in [&[][..], &["--max-size", "10K"]] {
        let finished = pack(&dir, &["a.bsa"], "skyrimse", &[&["--name", "M", "-o", "out"], more].concat());
        assert_eq!(finished.code, 66, "{finished:?}");
        assert_eq!(finished.err.matches("meshes/m").count(), 3, "{finished:?}");
        assert!(names(&dir.path("out")).is_empty());
    }
}

#[test]
fn links_and_pipes_that_are_left_out_are_no_error() {
    let dir = with_files(&[("meshes/a.nif", "1"), ("scripts/a.pex", "2"), ("M.esp", "TES4")]);
    let link = |target: &str, path: &str| std::os::unix::fs::symlink(target, dir.path(path)).unwrap();
    link("nowhere", "MyMod/scripts/dang.pex");
    link("a.pex", "MyMod/scripts/link.pex");
    link("../meshes", "MyMod/scripts/folder");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let pipe = dir.path("MyMod/scripts/pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    fs::write(dir.path("list"), "meshes\n").unwrap();
    let run =
        |more: &[&str]| pack(&dir, &["MyMod"], "skyrimse", &[&["-o", "out", "--overwrite"], more].concat());
    let finished = run(&[]);
    assert!(finished.code == 1 && finished.err.contains("--exclude"), "{finished:?}");
    for more in [["--exclude", "scripts/**"], ["-g", "meshes/**"], ["--from", "list"]] {
        let finished = run(&more);
        assert_eq!(finished.code, 0, "{more:?}: {finished:?}");
        assert_eq!(dir.run(["list", "out/M.bsa"]).success(), "meshes/a.nif\n");
        assert!(!finished.err.contains("no file matches"), "{finished:?}");
    }
    // Each of them counts as long as it is not left out.
    let all = ["scripts/dang.pex", "scripts/pipe", "scripts/link.pex", "scripts/folder/**"];
    for one in all {
        let others = all.into_iter().filter(|it| *it != one);
        let more: Vec<&str> = others.flat_map(|it| ["--exclude", it]).collect();
        let finished = run(&more);
        let name = one.trim_end_matches("/**");
        assert!(finished.code == 1 && finished.err.contains(name), "{one}: {finished:?}");
    }
    assert_eq!(run(&all.iter().flat_map(|it| ["--exclude", it]).collect::<Vec<_>>()).code, 0);
    // The pattern has the name of the link, and not of what is in it.
    let more: Vec<&str> = all[..3].iter().flat_map(|it| ["--exclude", it]).collect();
    let finished = run(&[&more[..], &["--exclude", "scripts/folder"]].concat());
    assert!(finished.code == 1 && finished.err.contains("scripts/folder"), "{finished:?}");
}

#[test]
fn a_named_archive_holds_the_textures_of_a_folder_if_the_format_can() {
    let texture = [dds::header(dds::BC1, 64, 64, 1, false), text(1, 2048)].concat();
    let dir = with_files(&[("meshes/a.nif", b"1".to_vec()), ("textures/a.dds", texture)]);
    let finished = pack(&dir, &["MyMod"], "skyrimse", &["-o", "out/M.bsa"]);
    assert_eq!(finished.code, 0, "{finished:?}");
    assert_eq!(dir.run(["list", "out/M.bsa"]).success(), "meshes/a.nif\ntextures/a.dds\n");
    let finished = pack(&dir, &["MyMod"], "fallout4", &["-o", "out/M - Main.ba2"]);
    assert!(finished.code == 2 && finished.err.contains("BA2 1 DX10 with 1 file"), "{finished:?}");
}

#[test]
fn names_that_windows_cannot_have_are_refused() {
    let dir = with_files(&[("meshes/a.nif", "1")]);
    for name in ["CON", "con", "nul.x", "COM1", "lpt9", "x ", "x.", "a:b", "what?", "a\tb", ""] {
        let finished = pack(&dir, &["MyMod"], "skyrimse", &["--name", name, "-o", "out"]);
        assert!(finished.code == 2 && finished.err.contains("no file of a game"), "{name:?}: {finished:?}");
    }
    assert_eq!(pack(&dir, &["MyMod"], "skyrimse", &["-o", "out/CON.bsa"]).code, 2);
    for name in ["Control", "com", "com10", "a.b", "Con 2"] {
        let finished = pack(&dir, &["MyMod"], "skyrimse", &["--name", name, "-o", "out"]);
        assert_eq!(finished.code, 0, "{name:?}: {finished:?}");
    }
}

#[test]
fn loose_copies_are_listed_as_their_source_spells_them() {
    let dir = TestDir::new();
    for (path, bytes) in [("q1/readme.txt", "1"), ("q2/Readme.txt", "2"), ("q1/meshes/a.nif", "3")] {
        place(&dir, path, bytes.as_bytes());
    }
    let finished = pack(&dir, &["q1", "q2"], "skyrimse", &["--name", "M", "-n"]);
    assert!(finished.code == 0 && finished.out.contains("  readme.txt: of "), "{finished:?}");
    assert!(finished.out.contains("  Readme.txt\n"), "{finished:?}");
}

#[test]
fn a_plugin_that_loads_nothing_any_more_is_named() {
    let meshes = [("meshes/a.nif", noise(1, 40_000)), ("meshes/b.nif", noise(2, 40_000))];
    // The game looks for its textures in an archive with a longer name.
    let textures = [("textures/a.dds", noise(1, 40_000)), ("textures/b.dds", noise(2, 40_000))];
    for (files, game, idle) in [
        (&meshes, "skyrimse", "out/Big 2.esp"),
        (&meshes, "falloutnv", ""),
        (&textures, "skyrimse", "out/Big 2.esp"),
    ] {
        let dir = with_files(files);
        let run = |more: &[&str]| {
            pack(&dir, &["MyMod"], game, &[&["--name", "Big", "-o", "out", "--dummy"], more].concat())
        };
        assert_eq!(run(&["--max-size", "60K"]).code, 0);
        let finished = run(&["--overwrite"]);
        assert!(finished.code == 0 && finished.out.contains("removed out/Big"), "{finished:?}");
        assert_eq!(finished.err.contains("only made the game load"), !idle.is_empty(), "{finished:?}");
        assert!(
            finished.err.contains(idle) && !finished.err.contains("out/Big.esp: it only"),
            "{finished:?}"
        );
    }
}

#[test]
fn a_refused_download_lists_all_that_lies_at_its_top() {
    let dir = with_files(&[
        ("00 Core/meshes/a.nif", "1"),
        ("fomod/info.xml", "2"),
        ("Read Me.txt", "3"),
        ("wizard.txt", "4"),
    ]);
    let parts = ["00 Core (1 file)", "fomod (1 file, for tools or people)", "Read Me.txt", "wizard.txt"];
    refused(&dir, &["--name", "M"], &parts);
}
