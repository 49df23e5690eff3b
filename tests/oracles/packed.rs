//! Archives of every kind that bsafs packs, read by the other readers: each file has the bytes of its source.

use std::collections::BTreeMap;

use bsafs::pack::{Level, PackOptions, Plan};
use bsafs::{FolderArchives, OpenOptions};

use super::other_readers::{ORACLES, key, quietly};
use super::support::mod_files::{GAMES, mod_files};
use super::{Outcome, outcome};

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
            let options = PackOptions::new(game).unwrap().name("MyMod").all(true).level(level);
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
