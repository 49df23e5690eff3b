//! A home with a game that Steam installed: its folder, its prefix, and the files in both.

use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{Ba2, Tes4};

/// A game of Steam in a home folder.
#[derive(Debug)]
pub struct SteamGame {
    /// The home.
    pub home: PathBuf,
    /// The folder of the game.
    pub folder: PathBuf,
    /// The folder of the user in its prefix.
    user: PathBuf,
    /// The names of its folders in `My Games` and in `AppData/Local`.
    names: [String; 2],
}

impl SteamGame {
    /// Installs an app into the folder `installdir` of the library of a home.
    pub fn install(home: &Path, app: u32, installdir: &str, language: &str, names: [&str; 2]) -> Self {
        let library = home.join(".local/share/Steam");
        let apps = library.join("steamapps");
        let user = apps.join(format!("compatdata/{app}/pfx/drive_c/users/steamuser"));
        let folder = apps.join("common").join(installdir);
        for made in [&folder, &user, &library.join("config")] {
            fs::create_dir_all(made).unwrap();
        }
        let libraries = format!("\"libraryfolders\" {{ \"0\" {{ \"path\" \"{}\" }} }}\n", library.display());
        fs::write(library.join("config/libraryfolders.vdf"), libraries).unwrap();
        // The folder that a game is in may lie below that of the app.
        let top = installdir.split('/').next().unwrap();
        let manifest = format!(
            "\"AppState\" {{ \"appid\" \"{app}\" \"installdir\" \"{top}\" \"UserConfig\" {{ \"language\" \"{language}\" }} }}\n"
        );
        fs::write(apps.join(format!("appmanifest_{app}.acf")), manifest).unwrap();
        Self { home: home.to_owned(), folder, user, names: names.map(str::to_owned) }
    }

    /// The place of a file: below `my/` that of My Games, below `local/` that of AppData, else in the game's folder.
    pub fn path(&self, name: &str) -> PathBuf {
        let [my_games, local] = &self.names;
        match name.split_once('/') {
            Some(("my", rest)) => self.user.join("Documents/My Games").join(my_games).join(rest),
            Some(("local", rest)) => self.user.join("AppData/Local").join(local).join(rest),
            _ => self.folder.join(name),
        }
    }

    /// Writes a file that was last changed on the nth day of its test.
    pub fn write(&self, name: &str, content: &[u8], day: u64) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000 + day * 86_400);
        File::open(&path).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
    }
}

/// A plugin of Oblivion (`extra` 0) or of a later game (`extra` 4).
pub fn plugin(extra: usize, flags: u32, masters: &[&str]) -> Vec<u8> {
    let field = |kind: &[u8; 4], data: &[u8]| [kind, &(data.len() as u16).to_le_bytes()[..], data].concat();
    let mut body = field(b"HEDR", &[0; 12]);
    for master in masters {
        body.extend(field(b"MAST", format!("{master}\0").as_bytes()));
        body.extend(field(b"DATA", &[0; 8]));
    }
    let size = (body.len() as u32).to_le_bytes();
    [&b"TES4"[..], &size, &flags.to_le_bytes(), &vec![0; 8 + extra], &body].concat()
}

/// An archive, a BA2 by its name or else a BSA of this version, with `misc/shared.txt` and a file of its own in `misc`, which
/// both contain the archive's name.
pub fn own_archive(name: &str, version: u32) -> Vec<u8> {
    let own = format!("{name}.txt").to_lowercase();
    match name.to_lowercase().ends_with(".ba2") {
        true => {
            Ba2::general(version).file("misc\\shared.txt", name).file(format!("misc\\{own}"), name).build()
        }
        false => Tes4::new(version).file("misc", "shared.txt", name).file("misc", own, name).build(),
    }
}
