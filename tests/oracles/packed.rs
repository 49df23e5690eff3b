//! Archives of every kind that bsafs packs, read by the other readers: each file has the bytes of its source.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bsafs::pack::{Level, OddTextures, PackOptions, Plan};
use bsafs::{FolderArchives, OpenOptions};

use super::other_readers::{ORACLES, key, quietly};
use super::support::mod_files::{GAMES, mod_files};
use super::support::{Ba2, Tes4};
use super::{Outcome, ours, outcome};

#[test]
fn packed_archives_of_every_game_have_the_bytes_of_their_sources_for_other_readers() {
    let folder = tempfile::TempDir::new().unwrap();
    let files: BTreeMap<Vec<u8>, Vec<u8>> =
        mod_files().into_iter().map(|(path, bytes)| (key(path.as_bytes(), 0, 0), bytes)).collect();
    for (path, bytes) in mod_files() {
        let path = folder.path().join("MyMod").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    let open = OpenOptions::new().archives(FolderArchives::Files);
    let vfs = open.open([folder.path().join("MyMod")]).unwrap();
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for game in GAMES {
        for level in [Level::Fast, Level::Normal, Level::Best, Level::None] {
            let mut options = PackOptions::new(game).unwrap();
            (options.name, options.all, options.level) = (Some("MyMod".into()), true, level);
            let out = folder.path().join(format!("{game} {level:?}"));
            let packed = Plan::new(&vfs, &options).unwrap().write(&out).unwrap();
            for oracle in &ORACLES {
                let mut left = files.clone();
                for archive in &packed {
                    let read = quietly(|| (oracle.read)(&std::fs::read(out.join(&archive.name)).unwrap()));
                    let read = read.unwrap_or_else(|error| panic!("{}: {game}: {error}", oracle.name));
                    for (name, theirs) in read {
                        let Some(ours) = left.remove(&name) else {
                            let name = name.escape_ascii();
                            wrong.push(format!("{}: {game}: {name}: not packed", oracle.name));
                            continue;
                        };
                        let (outcome, detail) = outcome(&ours, &theirs);
                        compared += 1;
                        if !matches!(outcome, Outcome::Same | Outcome::DdsDepth) {
                            let name = name.escape_ascii();
                            wrong.push(format!("{}: {game} {level:?}: {name}: {detail}", oracle.name));
                        }
                    }
                }
                let missing = left.keys().map(|name| name.escape_ascii().to_string());
                wrong.extend(missing.map(|name| format!("{}: {game}: {name}: missing", oracle.name)));
            }
        }
    }
    assert!(wrong.is_empty(), "{} problems\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(compared, files.len() * GAMES.len() * 4 * ORACLES.len());
}

/// The files of archives as bsafs reads them, by their keys.
fn files_of(archives: &[PathBuf]) -> BTreeMap<Vec<u8>, Vec<u8>> {
    archives.iter().flat_map(|path| ours::read(path)).map(|file| (file.key, file.content)).collect()
}

/// Packs archives for a game, and compares each file of the result with the sources, by each other reader.
/// Returns how many files were compared.
fn compare_repacked(
    archives: &[PathBuf],
    open: OpenOptions,
    files: &BTreeMap<Vec<u8>, Vec<u8>>,
    (game, out): (&str, &Path),
) -> usize {
    let vfs = open.open(archives).unwrap();
    let mut options = PackOptions::new(game).unwrap();
    (options.name, options.odd_textures) = (Some("MyMod".into()), OddTextures::General);
    let packed = Plan::new(&vfs, &options).unwrap().write(out).unwrap();
    let mut compared = 0;
    for oracle in &ORACLES {
        let mut left = files.clone();
        for archive in &packed {
            let bytes = std::fs::read(out.join(&archive.name)).unwrap();
            let read = quietly(|| (oracle.read)(&bytes));
            let read =
                read.unwrap_or_else(|error| panic!("{}: {archives:?} to {game}: {error}", oracle.name));
            for (name, theirs) in read {
                let place = format!("{}: {archives:?} to {game}: {}", oracle.name, name.escape_ascii());
                let ours = left.remove(&name).unwrap_or_else(|| panic!("{place}: no source has it"));
                let (outcome, detail) = outcome(&ours, &theirs);
                assert!(matches!(outcome, Outcome::Same | Outcome::DdsDepth), "{place}: {detail}");
                compared += 1;
            }
        }
        let missing: Vec<String> = left.keys().map(|name| name.escape_ascii().to_string()).collect();
        assert!(missing.is_empty(), "{}: {archives:?} to {game}: {missing:?}", oracle.name);
    }
    compared
}

/// Archives of each kind as sources, for each game: BSA to BSA, BA2 to BA2, and one to the other.
#[test]
fn repacked_archives_have_the_bytes_of_their_sources_for_other_readers() {
    let folder = tempfile::TempDir::new().unwrap();
    for (path, bytes) in mod_files() {
        let path = folder.path().join("MyMod").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    let loose =
        OpenOptions::new().archives(FolderArchives::Files).open([folder.path().join("MyMod")]).unwrap();
    let mut compared = 0;
    for source in ["morrowind", "oblivion", "skyrim", "skyrimse", "fallout4", "starfield"] {
        let mut options = PackOptions::new(source).unwrap();
        (options.name, options.all) = (Some("MyMod".into()), true);
        let from = folder.path().join(source);
        let packed = Plan::new(&loose, &options).unwrap().write(&from).unwrap();
        let archives: Vec<PathBuf> = packed.iter().map(|it| from.join(&it.name)).collect();
        let files = files_of(&archives);
        assert_eq!(files.len(), mod_files().len(), "{source}");
        for game in GAMES {
            let out = folder.path().join(format!("{source} to {game}"));
            let read = compare_repacked(&archives, OpenOptions::new(), &files, (game, &out));
            assert_eq!(read, files.len() * ORACLES.len(), "{source} to {game}");
            compared += read;
            std::fs::remove_dir_all(&out).unwrap();
        }
    }
    assert_eq!(compared, 6 * GAMES.len() * mod_files().len() * ORACLES.len());
}

/// Archives that store no names: a list of paths gives them, and the new archives have them.
#[test]
fn archives_without_names_are_repacked_under_the_names_of_a_list() {
    let folder = tempfile::TempDir::new().unwrap();
    let names = ["meshes/clutter/a.nif", "sound/fx/b.wav", "scripts/c.pex"];
    let ba2 = names.iter().fold(Ba2::general(1), |ba2, name| ba2.file(name, format!("of {name}")));
    let tes4 = names.iter().fold(Tes4::new(104), |tes4, name| {
        let (folder, file) = name.rsplit_once('/').unwrap();
        tes4.file(folder.replace('/', "\\"), file, format!("of {name}"))
    });
    let list = folder.path().join("names.txt");
    std::fs::write(&list, names.join("\n")).unwrap();
    let files = names.map(|name| (name.as_bytes().to_vec(), format!("of {name}").into_bytes())).into();
    for (name, bytes) in [("a.ba2", ba2.nameless().build()), ("b.bsa", tes4.flags(1).build())] {
        let archive = folder.path().join(name);
        std::fs::write(&archive, bytes).unwrap();
        assert!(files_of(std::slice::from_ref(&archive)).keys().all(|key| key.starts_with(b"#")), "{name}");
        for game in GAMES {
            let out = folder.path().join(format!("{name} to {game}"));
            let open = OpenOptions::new().names(&list);
            let read = compare_repacked(std::slice::from_ref(&archive), open, &files, (game, &out));
            assert_eq!(read, names.len() * ORACLES.len(), "{name} to {game}");
        }
    }
}
