//! Small game installations that the tests write: plugins, lists and INI files.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::games::{GAMES, Game};

/// A plugin of an installation.
#[derive(Clone, Debug)]
pub(crate) struct Plugin {
    pub(crate) name: String,
    pub(crate) flags: u32,
    pub(crate) masters: Vec<String>,
    /// Modification time, in seconds after an arbitrary day.
    pub(crate) time: u64,
}

/// A game installation.
#[derive(Clone, Debug)]
pub(crate) struct TestInstallation {
    pub(crate) game: &'static Game,
    pub(crate) plugins: Vec<Plugin>,
    /// Lines of `Plugins.txt`, or for Morrowind the values of `GameFile0` and so on.
    pub(crate) lines: Vec<String>,
    /// Lines of `loadorder.txt`.
    pub(crate) load_order: Option<Vec<String>>,
    /// Lines of the `.ccc` file in the game's folder.
    pub(crate) ccc: Option<Vec<String>>,
    /// Lines of the `.ccc` file in My Games.
    pub(crate) users_ccc: Option<Vec<String>>,
    /// Values of `sTestFile1` and so on.
    pub(crate) tests: Vec<String>,
    /// Files in the data folder that are not plugins.
    pub(crate) others: Vec<String>,
}

/// The folders that an installation was written to.
pub(crate) struct Folders {
    pub(crate) game: PathBuf,
    pub(crate) local: PathBuf,
    pub(crate) my_games: PathBuf,
}

impl TestInstallation {
    /// An installation without plugins and lists.
    pub(crate) fn of(id: &str) -> Self {
        let game = GAMES.iter().find(|game| game.id == id).unwrap();
        Self {
            game,
            plugins: Vec::new(),
            lines: Vec::new(),
            load_order: None,
            ccc: None,
            users_ccc: None,
            tests: Vec::new(),
            others: Vec::new(),
        }
    }

    /// Adds a plugin.
    pub(crate) fn plugin(mut self, name: &str, flags: u32, masters: &[&str], time: u64) -> Self {
        let masters = masters.iter().map(|it| (*it).to_owned()).collect();
        self.plugins.push(Plugin { name: name.to_owned(), flags, masters, time });
        self
    }

    /// Sets the lines of `Plugins.txt`.
    pub(crate) fn lines(mut self, lines: &[&str]) -> Self {
        self.lines = lines.iter().map(|it| (*it).to_owned()).collect();
        self
    }

    /// Writes the installation below a folder, laid out as in a Wine prefix, because libloadorder
    /// finds My Games from `AppData/Local`.
    pub(crate) fn write(&self, root: &Path) -> Folders {
        let (game, user) = (root.join("game"), root.join("user"));
        let (local, my_games) = match self.game.folder {
            // Morrowind has neither folder.
            "" => (user.join("AppData/Local/none"), user.join("Documents/My Games/none")),
            name => (user.join("AppData/Local").join(name), user.join("Documents/My Games").join(name)),
        };
        let data = game.join(self.game.data);
        for folder in [&data, &local, &my_games] {
            fs::create_dir_all(folder).unwrap();
        }
        // libloadorder takes for granted what makes these games load light plugins.
        for (game, plugin) in LIGHT_PLUGINS_OF_VR {
            if game == self.game.id {
                let plugin = data.join(plugin);
                fs::create_dir_all(plugin.parent().unwrap()).unwrap();
                fs::write(plugin, "").unwrap();
            }
        }
        for plugin in &self.plugins {
            let file = File::create_new(data.join(&plugin.name)).unwrap();
            fs::write(data.join(&plugin.name), plugin.bytes(self.game.id)).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000 + plugin.time);
            file.set_modified(time).unwrap();
        }
        for name in &self.others {
            fs::write(data.join(name), "no plugin").unwrap();
        }
        let lists = if self.game.id == "oblivion-remastered" { &data } else { &local };
        if self.game.id == "morrowind" {
            let files = self.lines.iter().enumerate();
            let files: String = files.map(|(at, name)| format!("GameFile{at}={name}\r\n")).collect();
            let text = format!("[General]\r\nx=1\r\n[Game Files]\r\n{files}");
            fs::write(game.join("Morrowind.ini"), windows(&text)).unwrap();
        } else {
            fs::write(lists.join("Plugins.txt"), windows(&joined(&self.lines))).unwrap();
        }
        if let Some(lines) = &self.load_order {
            fs::write(lists.join("loadorder.txt"), joined(lines)).unwrap();
        }
        for (folder, lines) in [(&game, &self.ccc), (&my_games, &self.users_ccc)] {
            if let (Some(name), Some(lines)) = (self.game.ccc, lines) {
                fs::write(folder.join(name), joined(lines)).unwrap();
            }
        }
        if let Some(name) = self.game.ini.filter(|_| !self.tests.is_empty()) {
            let files = self.tests.iter().enumerate();
            let files: String = files.map(|(at, name)| format!("sTestFile{}={name}\r\n", at + 1)).collect();
            fs::write(my_games.join(name), windows(&format!("[General]\r\n{files}"))).unwrap();
        }
        Folders { game, local, my_games }
    }

    /// Copies of the installation, each with one part removed, to reduce an installation that fails.
    pub(crate) fn with_one_part_removed(&self) -> Vec<Self> {
        let mut all = Vec::new();
        let mut add = |change: &dyn Fn(&mut Self)| {
            let mut smaller = self.clone();
            change(&mut smaller);
            all.push(smaller);
        };
        for at in 0..self.plugins.len() {
            add(&|it| drop(it.plugins.remove(at)));
            if self.plugins[at].time != 0 {
                add(&|it| it.plugins[at].time = 0);
            }
            for master in 0..self.plugins[at].masters.len() {
                add(&|it| drop(it.plugins[at].masters.remove(master)));
            }
        }
        let lists: [fn(&mut Self) -> Option<&mut Vec<String>>; 6] = [
            |it| Some(&mut it.lines),
            |it| it.load_order.as_mut(),
            |it| it.ccc.as_mut(),
            |it| it.users_ccc.as_mut(),
            |it| Some(&mut it.tests),
            |it| Some(&mut it.others),
        ];
        for list in lists {
            let len = list(&mut self.clone()).map_or(0, |it| it.len());
            for at in 0..len {
                add(&|it| list(it).into_iter().for_each(|list| drop(list.remove(at))));
            }
        }
        add(&|it| it.load_order = None);
        add(&|it| it.ccc = None);
        add(&|it| it.users_ccc = None);
        all.retain(|it| it.parts() < self.parts());
        all
    }

    fn parts(&self) -> usize {
        let list = |list: &Option<Vec<String>>| list.as_ref().map_or(0, |list| 1 + list.len());
        let of = |it: &Plugin| 3 + it.masters.len() + usize::from(it.time > 0);
        let lists = list(&self.load_order) + list(&self.ccc) + list(&self.users_ccc);
        self.plugins.iter().map(of).sum::<usize>()
            + lists
            + self.lines.len()
            + self.tests.len()
            + self.others.len()
    }
}

impl Plugin {
    /// Whether the plugin is a master, which loads before plugins that are not.
    pub(crate) fn is_master(&self, game: &Game) -> bool {
        let name = self.name.to_ascii_lowercase();
        // Since Skyrim Special Edition, the extensions .esm and .esl make a plugin a master.
        let by_name = game.ccc.is_some() && (name.ends_with(".esm") || name.ends_with(".esl"));
        self.flags & 1 != 0 || by_name
    }

    /// Whether the plugin, if it is a master, loads after all others.
    pub(crate) fn is_blueprint(&self) -> bool {
        self.flags & 0x800 != 0
    }

    /// The bytes of the plugin, which is only a header.
    fn bytes(&self, game: &str) -> Vec<u8> {
        if game == "morrowind" {
            let field = |kind: &[u8; 4], data: &[u8]| [kind, &size(data)[..], data].concat();
            let mut body = field(b"HEDR", &[&[0; 4][..], &self.flags.to_le_bytes(), &[0; 292]].concat());
            for master in &self.masters {
                body.extend(field(b"MAST", &[&windows(master)[..], &[0]].concat()));
                body.extend(field(b"DATA", &[0; 8]));
            }
            return [b"TES3", &size(&body)[..], &[0; 8], &body].concat();
        }
        let field = |kind: &[u8; 4], data: &[u8]| [kind, &size(data)[..2], data].concat();
        let mut body = field(b"HEDR", &[0; 12]);
        for master in &self.masters {
            body.extend(field(b"MAST", &[&windows(master)[..], &[0]].concat()));
            body.extend(field(b"DATA", &[0; 8]));
        }
        // Oblivion's header has no version.
        let rest = if game.starts_with("oblivion") { 8 } else { 12 };
        [b"TES4", &size(&body)[..], &self.flags.to_le_bytes(), &vec![0; rest], &body].concat()
    }
}

/// The plugins of script extenders with which the games for VR load light plugins.
const LIGHT_PLUGINS_OF_VR: [(&str, &str); 2] =
    [("skyrimvr", "SKSE/Plugins/skyrimvresl.dll"), ("fallout4vr", "F4SE/Plugins/falloutvresl.dll")];

fn size(data: &[u8]) -> [u8; 4] {
    u32::try_from(data.len()).unwrap().to_le_bytes()
}

fn joined(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\r\n")).collect()
}

/// Encodes a text as windows-1252. The tests use only letters of Latin-1, whose bytes are the same there.
fn windows(text: &str) -> Vec<u8> {
    text.chars().map(|letter| u8::try_from(letter).unwrap()).collect()
}
