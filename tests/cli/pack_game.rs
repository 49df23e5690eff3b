//! `bsafs pack`: folders of `mount --edit`, several sources, and what packing changes in a game.

use std::fs;
use std::path::PathBuf;

use crate::mounted::{TestDir, run};
use crate::support::content::text;
use crate::support::{Tes4, dds};

fn write(path: PathBuf, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn texture(seed: u64) -> Vec<u8> {
    [dds::header(dds::BC1, 64, 64, 1, false), text(seed, 2048)].concat()
}

#[test]
fn an_edit_folder_is_packed_with_its_deletions() {
    let dir = TestDir::new();
    let archive = Tes4::new(105).file("meshes", "a.nif", text(1, 500)).file("meshes", "b.nif", text(2, 500));
    dir.archive("Base.bsa", &archive.build());
    write(dir.path("edit/meshes/.wh.a.nif"), b"");
    write(dir.path("edit/meshes/b.nif"), b"edited");
    write(dir.path("edit/meshes/new.nif"), b"new");
    let finished = dir.run(["pack", "Base.bsa", "edit", "--game", "skyrimse", "--name", "M", "-o", "out"]);
    assert_eq!(finished.code, 0, "{finished:?}");
    assert_eq!(dir.run(["list", "out/M.bsa"]).success(), "meshes/b.nif\nmeshes/new.nif\n");
    assert_eq!(dir.run(["cat", "out/M.bsa", "meshes/b.nif"]).success(), "edited");
}

/// What a modder does: edits a texture through the mount, packs the folder, and mounts the archive instead.
#[test]
fn an_archive_in_place_of_its_folder_shows_the_same_game() {
    let dir = TestDir::new();
    let base = Tes4::new(105)
        .file("textures\\rocks", "rock.dds", texture(1))
        .file("textures\\rocks", "other.dds", texture(2))
        .file("meshes", "rock.nif", text(3, 900));
    dir.archive("Base.bsa", &base.build());
    let mount = dir.mount(["--edit", "MyEdit", "Base.bsa"]);
    fs::write(mount.join("textures/rocks/rock.dds"), texture(9)).unwrap();
    fs::write(mount.join("textures/rocks/new.dds"), texture(10)).unwrap();
    mount.umount(&dir);
    for (game, archive) in
        [("skyrimse", "out/MyEdit - Textures.bsa"), ("fallout4", "out/MyEdit - Textures.ba2")]
    {
        let finished = dir.run(["pack", "MyEdit", "--game", game, "--name", "MyEdit", "-o", "out", "--json"]);
        assert_eq!(finished.code, 0, "{finished:?}");
        fs::write(dir.path("loose.toml"), "archives = ['Base.bsa', 'MyEdit']").unwrap();
        fs::write(dir.path("packed.toml"), format!("archives = ['Base.bsa', '{archive}']")).unwrap();
        let equal = dir.run(["diff", "--compare", "loose.toml", "packed.toml"]).success();
        assert_eq!(equal, "0 added, 0 removed, 0 changed, 4 equal\n", "{game}");
        let mounted = dir.mount(["packed.toml"]);
        assert_eq!(mounted.read("textures/rocks/rock.dds"), texture(9));
        mounted.umount(&dir);
    }
}

/// Skyrim SE in a home, with two mods: `Early` before `MyMod`, and `Late` after it.
fn game() -> (TestDir, PathBuf) {
    let dir = TestDir::new();
    let game = dir.path("home/Games/Skyrim");
    write(game.join("SkyrimSE.exe"), b"");
    for plugin in ["Skyrim.esm", "Early.esp", "MyMod.esp", "Late.esp"] {
        write(game.join("Data").join(plugin), b"TES4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    }
    let plugins = "*Early.esp\n*MyMod.esp\n*Late.esp\n";
    write(dir.path("plugins.txt"), plugins.as_bytes());
    let archive = |files: &[&str]| {
        files.iter().fold(Tes4::new(105), |archive, name| archive.file("meshes", *name, text(1, 50))).build()
    };
    fs::write(game.join("Data/Early.bsa"), archive(&["early.nif", "both.nif"])).unwrap();
    fs::write(game.join("Data/Late.bsa"), archive(&["late.nif", "both.nif"])).unwrap();
    // Called as a plugin, but loaded by a list, so before all plugins.
    fs::write(game.join("Data/Late - More.bsa"), archive(&["listed.nif"])).unwrap();
    write(game.join("Skyrim_Default.ini"), b"[Archive]\nsResourceArchiveList=Late - More.bsa\n");
    (dir, game)
}

#[test]
fn files_that_win_or_lose_otherwise_in_a_game_are_listed() {
    let (dir, game) = game();
    for name in ["early", "late", "both", "own", "loose", "listed"] {
        write(dir.path(format!("MyMod/meshes/{name}.nif")), name.as_bytes());
    }
    write(dir.path("MyMod/MyMod.esp"), b"TES4");
    // Another mod's loose file, which any archive loses to.
    write(game.join("Data/meshes/loose.nif"), b"other");
    let plugins = dir.path("plugins.txt");
    let arguments = ["pack", "MyMod", "--game", "skyrimse", "-n", "--json", "--in"];
    let changes = |dir: &TestDir| {
        let mut command = dir.bsafs(arguments);
        command.arg(&game).arg("--plugins").arg(&plugins).env("HOME", dir.path("home"));
        let finished = run(&mut command);
        assert_eq!(finished.code, 0, "{finished:?}");
        let mut changes: Vec<String> = finished
            .out
            .lines()
            .filter_map(|line| {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                Some(format!("{} {}", line["effect"].as_str()?, line["path"].as_str()?))
            })
            .collect();
        changes.sort();
        changes
    };
    assert_eq!(
        changes(&dir),
        ["loses meshes/both.nif", "loses meshes/late.nif", "loses meshes/loose.nif"],
        "a loose file beats every archive, a packed one has the place of its plugin"
    );
    fs::write(dir.path("plugins.txt"), "*Early.esp\n*Late.esp\n").unwrap();
    assert_eq!(changes(&dir).iter().filter(|line| line.starts_with("unloaded")).count(), 6);
}

#[test]
fn the_rightmost_source_wins_and_archives_in_a_folder_stay_loose() {
    let dir = TestDir::new();
    let archive = Tes4::new(104).file("meshes", "a.nif", "low").build();
    dir.archive("Low.bsa", &archive);
    write(dir.path("High/meshes/a.nif"), b"high");
    dir.archive("High/Old.bsa", &archive);
    let finished = dir.run(["pack", "Low.bsa", "High", "--game", "skyrimse", "--name", "M", "-o", "out"]);
    assert!(finished.out.contains("Old.bsa"), "{finished:?}");
    assert_eq!(dir.run(["cat", "out/M.bsa", "meshes/a.nif"]).success(), "high");
}

/// Managers deploy the files of a mod by links or copies. The mod does not lose to itself.
#[test]
fn a_deployed_mod_does_not_lose_to_itself() {
    for how in ["hard link", "link", "copy"] {
        let (dir, game) = game();
        for name in ["own", "both"] {
            let (file, deployed) =
                (dir.path(format!("MyMod/meshes/{name}.nif")), game.join(format!("Data/meshes/{name}.nif")));
            write(file.clone(), name.as_bytes());
            fs::create_dir_all(deployed.parent().unwrap()).unwrap();
            match how {
                "hard link" => fs::hard_link(&file, &deployed).unwrap(),
                "link" => std::os::unix::fs::symlink(&file, &deployed).unwrap(),
                _ => drop(fs::copy(&file, &deployed).unwrap()),
            }
        }
        write(dir.path("MyMod/MyMod.esp"), b"TES4");
        let mut command = dir.bsafs(["pack", "MyMod", "--game", "skyrimse", "-n", "--in"]);
        command.arg(&game).arg("--plugins").arg(dir.path("plugins.txt")).env("HOME", dir.path("home"));
        let finished = run(&mut command);
        assert_eq!(finished.code, 0, "{how}: {finished:?}");
        assert!(!finished.out.contains("own.nif loses"), "{how}: {}", finished.out);
        let loses = finished.out.lines().find(|line| line.starts_with("meshes/both.nif loses"));
        match how {
            // A copy stays there, and is shown as before.
            "copy" => assert!(loses.is_none(), "{}", finished.out),
            _ => assert!(loses.is_some_and(|it| it.ends_with("/Late.bsa")), "{how}: {}", finished.out),
        }
    }
}
