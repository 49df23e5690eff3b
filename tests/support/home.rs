//! A home folder with a game that Steam installed: the game's folder, its prefix, and the files in both.

use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{Ba2, Tes4};

/// A Steam game in a home folder.
#[derive(Debug)]
pub struct SteamGame {
    /// The home folder.
    pub home: PathBuf,
    /// The folder of the game.
    pub folder: PathBuf,
    /// The user's folder in the game's prefix.
    user: PathBuf,
    /// Names of the game's folders in `My Games` and in `AppData/Local`.
    names: [String; 2],
}

impl SteamGame {
    /// Installs an app into the folder `installdir` of the Steam library in `home`.
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
        // The game's folder may be below that of the app.
        let top = installdir.split('/').next().unwrap();
        let manifest = format!(
            "\"AppState\" {{ \"appid\" \"{app}\" \"installdir\" \"{top}\" \
             \"UserConfig\" {{ \"language\" \"{language}\" }} }}\n"
        );
        fs::write(apps.join(format!("appmanifest_{app}.acf")), manifest).unwrap();
        Self { home: home.to_owned(), folder, user, names: names.map(str::to_owned) }
    }

    /// The path of a file: `my/NAME` is in My Games, `local/NAME` in AppData, `home/NAME` in the home, and
    /// any other in the game's folder.
    pub fn path(&self, name: &str) -> PathBuf {
        let [my_games, local] = &self.names;
        match name.split_once('/') {
            Some(("my", rest)) => self.user.join("Documents/My Games").join(my_games).join(rest),
            Some(("local", rest)) => self.user.join("AppData/Local").join(local).join(rest),
            Some(("home", rest)) => self.home.join(rest),
            _ => self.folder.join(name),
        }
    }

    /// Writes a file whose mtime is on the given day of the test.
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

/// An archive of this version: a BA2 if its name ends in `.ba2`, otherwise a BSA. It has
/// `misc/shared.txt` and a file in `misc` named after the archive. Both contain the archive's name.
pub fn archive_named_after_itself(name: &str, version: u32) -> Vec<u8> {
    let own = format!("{name}.txt").to_lowercase();
    if name.to_lowercase().ends_with(".ba2") {
        Ba2::general(version).file("misc\\shared.txt", name).file(format!("misc\\{own}"), name).build()
    } else {
        Tes4::new(version).file("misc", "shared.txt", name).file("misc", own, name).build()
    }
}
