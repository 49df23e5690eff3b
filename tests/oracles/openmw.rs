//! Compares which file wins in OpenMW with vfstool, which merges data folders and archives as OpenMW does.
//!
//! Each file contains the path of its folder or archive. So equal contents mean equal winners.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use vfstool_lib::VFS;

use crate::support::Tes3;
use crate::support::content::Xorshift;

/// Number of random installations.
const INSTALLATIONS: u64 = 100;

/// Files of the installations, in several spellings of case.
const FILES: [&str; 6] =
    ["textures/rock.dds", "Textures/ROCK.dds", "textures/Sub/a.dds", "MESHES/a.nif", "meshes/b.nif", "c.txt"];

/// Archives of the installations.
const ARCHIVES: [&str; 3] = ["A.bsa", "b.BSA", "Mod.bsa"];

/// Contents by path, in lower case with `/` between names.
type Winners = BTreeMap<String, Vec<u8>>;

/// A random installation of OpenMW in a temporary folder.
struct OpenMw {
    dir: TempDir,
    /// The data folders, lowest first.
    folders: Vec<PathBuf>,
    /// The archives of the settings, lowest first.
    archives: Vec<&'static str>,
}

impl OpenMw {
    fn new(seed: u64) -> Self {
        let random = RefCell::new(Xorshift::new(seed));
        let dir = TempDir::new().unwrap();
        let chance = |n: u64| (random.borrow_mut().next() >> 20) % n == 0;
        let names = ["resources/vfs", "one", "Two", "three"];
        let folders: Vec<PathBuf> = names.iter().map(|name| dir.path().join(name)).collect();
        for folder in &folders {
            fs::create_dir_all(folder).unwrap();
            for file in FILES.iter().filter(|_| chance(3)) {
                write_once(folder, file, folder.to_str().unwrap().as_bytes());
            }
            for name in ARCHIVES.iter().filter(|_| chance(2)) {
                let path = folder.join(name);
                let content = path.to_str().unwrap().as_bytes();
                let names = FILES.iter().filter(|_| chance(2)).map(|file| file.replace('/', "\\"));
                let mut stored: Vec<String> = names.map(|name| name.to_ascii_lowercase()).collect();
                stored.dedup();
                let archive = stored.iter().fold(Tes3::new(), |archive, name| archive.file(name, content));
                fs::write(&path, archive.build()).unwrap();
            }
        }
        // OpenMW does not start if an archive does not exist.
        let exists = |name: &&str| folders.iter().any(|folder| folder.join(name).exists());
        let mut archives: Vec<&str> = ARCHIVES.into_iter().filter(exists).filter(|_| !chance(4)).collect();
        if chance(2) {
            archives.reverse();
        }
        Self { dir, folders, archives }
    }

    fn ours(&self) -> Winners {
        let cfg = self.dir.path().join("openmw.cfg");
        let data: String = self.folders[1..].iter().map(|it| format!("data={}\n", it.display())).collect();
        let archives: String = self.archives.iter().map(|it| format!("fallback-archive={it}\n")).collect();
        fs::write(&cfg, format!("resources=./resources\n{data}{archives}")).unwrap();
        let vfs = bsafs::Vfs::open([&cfg]).unwrap();
        let winners = vfs.files().map(|file| (file.path().to_ascii_lowercase(), file.read().unwrap()));
        winners.filter(|(path, _)| !path.ends_with(".bsa")).collect()
    }

    fn theirs(&self) -> Winners {
        let vfs = VFS::from_directories(&self.folders, Some(self.archives.clone()));
        let files = vfs.iter().map(|(key, file)| {
            (String::from_utf8_lossy(key.as_bytes()).replace('\\', "/").to_ascii_lowercase(), file)
        });
        let files = files.filter(|(path, _)| !path.ends_with(".bsa"));
        files.map(|(path, file)| (path, file.read_to_vec().unwrap())).collect()
    }
}

/// Writes a file, unless the folder has it in another case. Which of the two wins is not defined.
fn write_once(folder: &Path, file: &str, content: &[u8]) {
    let exists = |other: &&str| other.eq_ignore_ascii_case(file) && folder.join(other).exists();
    if !FILES.iter().any(|other| exists(&other)) {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

#[test]
fn the_same_files_win_in_openmw_as_in_vfstool() {
    let mut compared = 0;
    for seed in 0..INSTALLATIONS {
        let installation = OpenMw::new(seed);
        let (ours, theirs) = (installation.ours(), installation.theirs());
        assert_eq!(ours, theirs, "seed {seed}: {:?}", installation.archives);
        compared += ours.len();
    }
    assert!(compared > 300, "only {compared} files were compared");
}
