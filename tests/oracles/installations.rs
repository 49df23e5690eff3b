//! Small installations of games: plugins, lists and INI files, random or made for one rule.

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ::loadorder::GameId;

use crate::support::content::Xorshift;

/// What differs between games, as far as files are concerned.
pub(crate) struct Game {
    /// The id that bsafs has for it.
    pub(crate) id: &'static str,
    /// That of libloadorder.
    pub(crate) theirs: GameId,
    /// Its folder in `AppData/Local` and in My Games.
    pub(crate) folder: &'static str,
    /// Its folder of plugins.
    pub(crate) data: &'static str,
    /// Plugins of the game itself.
    pub(crate) own: &'static [&'static str],
    /// Flags of headers.
    flags: &'static [u32],
    /// Extensions of plugins.
    extensions: &'static [&'static str],
    /// Its list of Creation Club plugins.
    ccc: Option<&'static str>,
    /// The INI file with test files, in My Games; none where the game has no test files.
    ini: Option<&'static str>,
}

const ESM_ESP: &[&str] = &[".esm", ".esp", ".ESP"];
const WITH_LIGHT: &[&str] = &[".esm", ".esp", ".esl", ".ESM"];

/// All games whose order libloadorder knows, but for OpenMW, whose chain of settings files is a tree of its own.
pub(crate) static GAMES: [Game; 11] = [
    Game {
        id: "morrowind",
        theirs: GameId::Morrowind,
        folder: "",
        data: "Data Files",
        own: &["Morrowind.esm", "Tribunal.esm", "Bloodmoon.esm"],
        flags: &[0],
        extensions: ESM_ESP,
        ccc: None,
        ini: None,
    },
    Game {
        id: "oblivion",
        theirs: GameId::Oblivion,
        folder: "Oblivion",
        data: "Data",
        own: &["Oblivion.esm", "DLCShiveringIsles.esp"],
        flags: &[0, 1],
        extensions: ESM_ESP,
        ccc: None,
        ini: Some("Oblivion.ini"),
    },
    Game {
        id: "oblivion-remastered",
        theirs: GameId::OblivionRemastered,
        folder: "Oblivion Remastered",
        data: "OblivionRemastered/Content/Dev/ObvData/Data",
        own: &["Oblivion.esm", "AltarESPMain.esp"],
        flags: &[0, 1],
        extensions: ESM_ESP,
        ccc: None,
        ini: None,
    },
    Game {
        id: "fallout3",
        theirs: GameId::Fallout3,
        folder: "Fallout3",
        data: "Data",
        own: &["Fallout3.esm", "Anchorage.esm"],
        flags: &[0, 1],
        extensions: ESM_ESP,
        ccc: None,
        // libloadorder opens this spelling.
        ini: Some("FALLOUT.INI"),
    },
    Game {
        id: "falloutnv",
        theirs: GameId::FalloutNV,
        folder: "FalloutNV",
        data: "Data",
        own: &["FalloutNV.esm", "DeadMoney.esm"],
        flags: &[0, 1],
        extensions: ESM_ESP,
        ccc: None,
        ini: Some("Fallout.ini"),
    },
    Game {
        id: "skyrim",
        theirs: GameId::Skyrim,
        folder: "Skyrim",
        data: "Data",
        own: &["Skyrim.esm", "Update.esm", "Dawnguard.esm"],
        flags: &[0, 1],
        extensions: ESM_ESP,
        ccc: None,
        ini: Some("Skyrim.ini"),
    },
    Game {
        id: "skyrimse",
        theirs: GameId::SkyrimSE,
        folder: "Skyrim Special Edition",
        data: "Data",
        own: &["Skyrim.esm", "Update.esm", "Dawnguard.esm", "HearthFires.esm", "Dragonborn.esm"],
        flags: &[0, 1, 0x200, 0x201],
        extensions: WITH_LIGHT,
        ccc: Some("Skyrim.ccc"),
        ini: Some("Skyrim.ini"),
    },
    Game {
        id: "skyrimvr",
        theirs: GameId::SkyrimVR,
        folder: "Skyrim VR",
        data: "Data",
        own: &["Skyrim.esm", "Update.esm", "SkyrimVR.esm"],
        flags: &[0, 1, 0x200, 0x201],
        extensions: WITH_LIGHT,
        // It reads none.
        ccc: Some("Skyrim.ccc"),
        ini: Some("SkyrimVR.ini"),
    },
    Game {
        id: "fallout4",
        theirs: GameId::Fallout4,
        folder: "Fallout4",
        data: "Data",
        own: &["Fallout4.esm", "DLCRobot.esm", "DLCworkshop01.esm", "DLCUltraHighResolution.esm"],
        flags: &[0, 1, 0x200, 0x201],
        extensions: WITH_LIGHT,
        ccc: Some("Fallout4.ccc"),
        ini: Some("Fallout4.ini"),
    },
    Game {
        id: "fallout4vr",
        theirs: GameId::Fallout4VR,
        folder: "Fallout4VR",
        data: "Data",
        own: &["Fallout4.esm", "Fallout4_VR.esm", "DLCRobot.esm"],
        flags: &[0, 1, 0x200, 0x201],
        extensions: WITH_LIGHT,
        ccc: Some("Fallout4.ccc"),
        // The sources disagree on which INI files it reads.
        ini: None,
    },
    Game {
        id: "starfield",
        theirs: GameId::Starfield,
        folder: "Starfield",
        data: "Data",
        own: &["Starfield.esm", "Constellation.esm", "ShatteredSpace.esm", "SFBGS003.esm"],
        flags: &[0, 1, 0x100, 0x101, 0x400, 0x800, 0x801],
        extensions: WITH_LIGHT,
        ccc: Some("Starfield.ccc"),
        ini: Some("StarfieldCustom.ini"),
    },
];

impl fmt::Debug for Game {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

/// A plugin on the disk.
#[derive(Clone, Debug)]
pub(crate) struct Plugin {
    pub(crate) name: String,
    pub(crate) flags: u32,
    pub(crate) masters: Vec<String>,
    /// When it was changed, in seconds after some day.
    pub(crate) time: u64,
}

/// An installation.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) game: &'static Game,
    pub(crate) plugins: Vec<Plugin>,
    /// Lines of `Plugins.txt`; in Morrowind the values of `GameFile0` and so on.
    pub(crate) lines: Vec<String>,
    /// Lines of `loadorder.txt`.
    pub(crate) load_order: Option<Vec<String>>,
    /// Lines of the `.ccc` file in the game's folder.
    pub(crate) ccc: Option<Vec<String>>,
    /// Lines of the `.ccc` file in My Games.
    pub(crate) users_ccc: Option<Vec<String>>,
    /// Values of `sTestFile1` and so on.
    pub(crate) tests: Vec<String>,
    /// Files in the data folder that are no plugins.
    pub(crate) others: Vec<String>,
}

/// Where the files of an installation were written.
pub(crate) struct Folders {
    pub(crate) game: PathBuf,
    pub(crate) local: PathBuf,
    pub(crate) my_games: PathBuf,
}

impl World {
    /// Without plugins and lists.
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

    /// With one more plugin.
    pub(crate) fn plugin(mut self, name: &str, flags: u32, masters: &[&str], time: u64) -> Self {
        let masters = masters.iter().map(|it| (*it).to_owned()).collect();
        self.plugins.push(Plugin { name: name.to_owned(), flags, masters, time });
        self
    }

    /// With these lines in `Plugins.txt`.
    pub(crate) fn lines(mut self, lines: &[&str]) -> Self {
        self.lines = lines.iter().map(|it| (*it).to_owned()).collect();
        self
    }

    /// Writes it below a folder, laid out as in a prefix: libloadorder finds My Games from `AppData/Local`.
    pub(crate) fn write(&self, root: &Path) -> Folders {
        let (game, user) = (root.join("game"), root.join("user"));
        let (local, my_games) = match self.game.folder {
            // Morrowind has none.
            "" => (user.join("AppData/Local/none"), user.join("Documents/My Games/none")),
            name => (user.join("AppData/Local").join(name), user.join("Documents/My Games").join(name)),
        };
        let data = game.join(self.game.data);
        for folder in [&data, &local, &my_games] {
            fs::create_dir_all(folder).unwrap();
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

    /// It without each one of its parts: of two installations that show a difference, the smaller one is reported.
    pub(crate) fn smaller(&self) -> Vec<Self> {
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
    /// Whether it loads before others.
    fn is_master(&self, game: &Game) -> bool {
        let name = self.name.to_ascii_lowercase();
        // Since Skyrim Special Edition, as in its flags and in Morrowind's, which agree.
        let by_name = game.ccc.is_some() && (name.ends_with(".esm") || name.ends_with(".esl"));
        self.flags & 1 != 0 || by_name
    }

    fn is_blueprint(&self) -> bool {
        self.flags & 0x800 != 0
    }

    /// Its header, with nothing behind it.
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
        // Oblivion's header lacks the version.
        let rest = if game.starts_with("oblivion") { 8 } else { 12 };
        [b"TES4", &size(&body)[..], &self.flags.to_le_bytes(), &vec![0; rest], &body].concat()
    }
}

fn size(data: &[u8]) -> [u8; 4] {
    u32::try_from(data.len()).unwrap().to_le_bytes()
}

fn joined(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\r\n")).collect()
}

/// A text in windows-1252; of letters above ASCII, those of Latin-1 alone are used here.
fn windows(text: &str) -> Vec<u8> {
    text.chars().map(|letter| u8::try_from(letter).unwrap()).collect()
}

/// A random installation.
pub(crate) struct Random(pub(crate) Xorshift);

impl Random {
    pub(crate) fn world(&mut self, game: &'static Game) -> World {
        let mut world = World::of(game.id);
        for name in self.names(game) {
            let flags = *self.one_of(game.flags);
            // The tools of the games write both or neither in Morrowind's plugins, and in the games' own.
            let is_like_name = game.id == "morrowind" || game.own.contains(&name.as_str());
            let flags = if is_like_name { u32::from(name.ends_with(".esm")) } else { flags };
            let time = self.below(4);
            world.plugins.push(Plugin { name, flags, masters: Vec::new(), time });
        }
        let mut names: Vec<String> = world.plugins.iter().map(|it| it.name.clone()).collect();
        names.push("Gone.esp".to_owned());
        self.add_masters(&mut world, &names);
        world.lines = self.plugin_lines(game, &names);
        if matches!(game.id, "skyrim" | "oblivion-remastered") && self.chance(2) {
            world.load_order = Some(self.list(&names));
        }
        if game.ccc.is_some() {
            // All that the games come with are masters with plain names, which need what comes before them.
            let is_plain = |it: &&Plugin| it.is_master(game) && it.name.is_ascii() && it.masters.is_empty();
            let masters = world.plugins.iter().filter(is_plain);
            let masters: Vec<String> = masters.map(|it| it.name.clone()).chain(["Gone.esl".into()]).collect();
            world.ccc = self.chance(2).then(|| self.some_of(&masters, 4));
            world.users_ccc = self.chance(4).then(|| self.some_of(&masters, 2));
        }
        if game.ini.is_some() && self.chance(4) {
            world.tests = self.some_of(&names, 3);
        }
        if game.id == "falloutnv" {
            let nams = names.iter().map(|it| format!("{}.nam", it.rsplit_once('.').unwrap().0));
            let mut nams: Vec<String> = nams.collect();
            nams.dedup();
            world.others = self.some_of(&nams, 2);
            world.others.sort();
            world.others.dedup();
        }
        world
    }

    /// Masters of some plugins. What leads to a row of [`crate::loadorder_exempt`] is left out: a master needs at most one
    /// plugin, which needs none; where a list gives the order, that is a master, too; a blueprint needs blueprints.
    fn add_masters(&mut self, world: &mut World, names: &[String]) {
        let has_times = matches!(world.game.id, "morrowind" | "oblivion" | "fallout3" | "falloutnv");
        let mut needed: Vec<String> = Vec::new();
        for at in 0..world.plugins.len() {
            let name = world.plugins[at].name.clone();
            // The games' own plugins need none that come later.
            if !self.chance(3) || world.game.own.contains(&&*name) || needed.contains(&name) {
                continue;
            }
            let plugin = &world.plugins[at];
            if !plugin.is_master(world.game) {
                world.plugins[at].masters = self.some_of(names, 3);
                continue;
            }
            let is_fit = |it: &&Plugin| {
                let is_early = has_times || it.is_master(world.game);
                it.masters.is_empty() && is_early && (it.is_blueprint() || !plugin.is_blueprint())
            };
            let fit = world.plugins.iter().filter(is_fit).map(|it| it.name.clone());
            let fit: Vec<String> = fit.filter(|it| *it != name).chain(["Gone.esm".into()]).collect();
            let masters = self.some_of(&fit, 1);
            needed.extend_from_slice(&masters);
            world.plugins[at].masters = masters;
        }
    }

    /// Names of the game's plugins and of others, in random order.
    fn names(&mut self, game: &Game) -> Vec<String> {
        const STEMS: [&str; 12] = [
            "Alpha",
            "alpine",
            "_under",
            "[Set] a",
            "Zeta",
            "zeta 2",
            "Mod - B",
            "Mod",
            "Gr\u{F6}\u{DF}e",
            "\u{C4}nderung",
            "m.d",
            "BlueprintShips-Zeta",
        ];
        let mut names: Vec<String> = game.own.iter().map(|it| (*it).to_owned()).collect();
        names.retain(|_| self.chance(2));
        for stem in STEMS {
            if self.chance(3) {
                names.push(format!("{stem}{}", self.one_of(game.extensions)));
            }
        }
        self.shuffle(&mut names);
        names
    }

    /// Lines of `Plugins.txt`.
    fn plugin_lines(&mut self, game: &Game, names: &[String]) -> Vec<String> {
        let has_stars = game.ccc.is_some();
        let mut lines = self.list(names);
        if has_stars {
            for line in &mut lines {
                if !line.starts_with('#') && !line.is_empty() && !self.chance(4) {
                    line.insert(0, '*');
                }
            }
        }
        if game.id == "morrowind" {
            lines.retain(|line| !line.is_empty() && !line.starts_with('#'));
        }
        lines
    }

    /// Some names in random order, with a comment, a blank line and a repetition at times.
    fn list(&mut self, names: &[String]) -> Vec<String> {
        let mut lines = self.some_of(names, names.len());
        for line in ["# a comment".to_owned(), String::new(), lines.first().cloned().unwrap_or_default()] {
            if self.chance(6) {
                let at = self.below(lines.len() as u64 + 1) as usize;
                lines.insert(at, line);
            }
        }
        lines
    }

    /// At most this many of some names, in random order, each once.
    fn some_of(&mut self, names: &[String], most: usize) -> Vec<String> {
        let mut some = names.to_vec();
        self.shuffle(&mut some);
        some.truncate(self.below(most as u64 + 1) as usize);
        some
    }

    fn shuffle(&mut self, names: &mut [String]) {
        for at in (1..names.len()).rev() {
            names.swap(at, self.below(at as u64 + 1) as usize);
        }
    }

    fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len() as u64) as usize]
    }

    /// Whether one of `n` chances came.
    fn chance(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.0.next() >> 20) % limit
    }
}
