//! Whether a file is packed, and if not, why. The evidence is in the topic "packing".

use super::pack_options::PackOptions;
use super::rules::Game;
use crate::format::write::{NameError, NewKind};

/// A file that stays loose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The path in the source.
    pub path: String,
    /// The reason.
    pub reason: LooseReason,
    /// More about this file, such as why a texture cannot be stored; usually empty.
    pub detail: String,
}

/// Why a file stays loose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum LooseReason {
    /// A plugin, an archive or another file that the game reads only beside them.
    DataOnly,
    /// Settings, or a program library.
    Settings,
    /// A file of a script extender or of a mod's menu.
    Extender,
    /// A film.
    Video,
    /// The game's engine reads it from the disk.
    Engine,
    /// Tools read it from the disk.
    Tools,
    /// A source of a script.
    Source,
    /// Not a file of the game.
    NotGame,
    /// It is in no folder.
    Root,
    /// It lies beside the folder of the game's files.
    BesideData,
    /// An archive cannot store its name.
    Name,
    /// The user excluded it.
    Excluded,
    /// A texture that an archive of textures cannot store.
    Texture,
}

impl LooseReason {
    /// All reasons.
    pub const ALL: [Self; 13] = [
        Self::DataOnly,
        Self::Settings,
        Self::Extender,
        Self::Video,
        Self::Engine,
        Self::Tools,
        Self::Source,
        Self::NotGame,
        Self::Root,
        Self::BesideData,
        Self::Name,
        Self::Excluded,
        Self::Texture,
    ];

    /// The code, as in JSON.
    pub fn code(self) -> &'static str {
        match self {
            Self::DataOnly => "data-only",
            Self::Settings => "settings",
            Self::Extender => "extender",
            Self::Video => "video",
            Self::Engine => "engine",
            Self::Tools => "tools",
            Self::Source => "source",
            Self::NotGame => "not-game",
            Self::Root => "root",
            Self::BesideData => "beside-data",
            Self::Name => "name",
            Self::Excluded => "excluded",
            Self::Texture => "texture",
        }
    }

    /// The reason in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::DataOnly => "games read plugins and archives only from the data folder",
            Self::Settings => "settings and program libraries are read only from the disk",
            Self::Extender => "script extenders and their plugins read it from the disk",
            Self::Video => "games play films only from the disk",
            Self::Engine => "this game's engine reads it only from the disk",
            Self::Tools => "tools such as Nemesis, FNIS or Open Animation Replacer read it from the disk",
            Self::Source => "a source of a script; --sources packs it",
            Self::NotGame => "not a file of the game",
            Self::Root => "it is in no folder, where games look for hardly anything in archives",
            Self::BesideData => "it is beside the folder Data, in which the game's files begin",
            Self::Name => "an archive cannot store its name",
            Self::Excluded => "--exclude",
            Self::Texture => "an archive of textures cannot store it",
        }
    }

    /// Whether the user asked for the file to be left out, or nobody would want it in an archive.
    pub fn is_expected(self) -> bool {
        !matches!(self, Self::Name | Self::Texture)
    }
}

impl From<NameError> for LooseReason {
    fn from(_: NameError) -> Self {
        Self::Name
    }
}

/// Folders at the top that hold files of games. Packing another one is noted.
pub(super) const KNOWN_TOPS: [&str; 35] = [
    "bookart",
    "dialogueviews",
    "distantlod",
    "facegen",
    "fonts",
    "geometries",
    "grass",
    "icons",
    "interface",
    "lodsettings",
    "lsdata",
    "materials",
    "menus",
    "meshes",
    "music",
    "particles",
    "planetdata",
    "programs",
    "scripts",
    "seq",
    "shaders",
    "shadersfx",
    "sound",
    "source",
    "splash",
    "strings",
    "terrain",
    "textures",
    "trees",
    "vis",
    "video",
    "misc",
    "dyndolod",
    "lod",
    "actors",
];

/// Endings of sounds. Compressed, they are silent, or the game crashes.
const SOUNDS: [&str; 7] = ["wav", "xwm", "mp3", "ogg", "lip", "fuz", "wem"];
/// Endings of tables of texts. Compressed, the game shows `$…`.
const TEXTS: [&str; 3] = ["strings", "dlstrings", "ilstrings"];

/// A path, taken apart for the rules. Everything is in lower case.
pub(super) struct Parts {
    /// The path, with `/` between names.
    pub(super) path: String,
    folders: usize,
    pub(super) extension: String,
}

impl Parts {
    pub(super) fn of(path: &[u8]) -> Self {
        let path = String::from_utf8_lossy(path).to_ascii_lowercase();
        let name = path.rsplit('/').next().unwrap_or_default();
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension).to_owned();
        let folders = path.len() - name.len();
        Self { path, folders, extension }
    }

    pub(super) fn name(&self) -> &str {
        &self.path[self.folders..]
    }

    /// The first folder; empty for a file at the top.
    pub(super) fn top(&self) -> &str {
        self.path.split_once('/').map_or("", |(top, _)| top)
    }

    fn is_in(&self, folder: &str) -> bool {
        self.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }

    fn has_folder(&self, folder: &str) -> bool {
        self.path[..self.folders].split('/').any(|it| it == folder)
    }

    fn ends(&self, endings: &[&str]) -> bool {
        endings.contains(&&*self.extension)
    }

    /// Whether a game expects the file uncompressed, of whatever kind the archive is.
    pub(super) fn is_stored(&self) -> bool {
        self.ends(&SOUNDS) || self.ends(&TEXTS)
    }

    /// Whether it goes to the archive of textures. One that is a BSA has every file of the folder.
    pub(super) fn is_texture(&self, kind: NewKind) -> bool {
        self.is_in("textures") && (matches!(kind, NewKind::Tes4(_)) || self.extension == "dds")
    }
}

/// Why a file stays loose; `None` if it is packed.
pub(super) fn left_out(game: &Game, parts: &Parts, options: &PackOptions) -> Option<LooseReason> {
    if options.all {
        return None;
    }
    let name = parts.name();
    let is_mark = parts.path.split('/').any(|it| it.starts_with(".git"));
    let is_note = name.starts_with("readme") || matches!(name, "meta.ini" | "desktop.ini");
    if parts.ends(&[
        "esp", "esm", "esl", "bsa", "ba2", "cdx", "csg", "nam", "override", "ghost", "bsl", "achlist",
    ]) {
        return Some(LooseReason::DataOnly);
    }
    if is_mark
        || is_note
        || parts.top() == "fomod"
        || parts.ends(&[
            "psd", "xcf", "7z", "zip", "rar", "blend", "blend1", "max", "tmp", "bak", "db", "mohidden",
        ])
    {
        return Some(LooseReason::NotGame);
    }
    if ["skse", "f4se", "nvse", "obse", "sfse", "fose", "mwse", "mcm", "netscriptframework", "dllplugins"]
        .contains(&parts.top())
        || parts.ends(&["toml"])
        || parts.ends(&["json"]) && parts.top() != "interface" && !parts.is_in("meshes")
    {
        return Some(LooseReason::Extender);
    }
    if parts.ends(&["ini", "dll", "exe", "asi"]) {
        return Some(LooseReason::Settings);
    }
    if parts.is_in("video") || parts.ends(&["bik", "bk2"]) {
        return Some(LooseReason::Video);
    }
    if game.is_morrowind() && ["sound", "music", "fonts", "splash"].contains(&parts.top()) {
        return Some(LooseReason::Engine);
    }
    if game.is_gamebryo_fallout() {
        if parts.ends(&["mp3", "xml"]) {
            return Some(LooseReason::Engine);
        }
        if parts.is_in("meshes/animgroupoverride") {
            return Some(LooseReason::Tools);
        }
    }
    if game.has_behaviours() {
        let is_list = parts.extension == "txt" && parts.is_in("meshes/actors");
        let is_behaviour = parts.extension == "hkx" && parts.has_folder("behaviors");
        let is_replacer =
            parts.has_folder("openanimationreplacer") || parts.has_folder("dynamicanimationreplacer");
        let is_patch = matches!(parts.top(), "nemesis_engine" | "pandora_engine" | "tools");
        if is_list || is_behaviour && parts.is_in("meshes/actors") || is_replacer || is_patch {
            return Some(LooseReason::Tools);
        }
    }
    if !options.sources && (parts.extension == "psc" || parts.is_in("scripts/source")) {
        return Some(LooseReason::Source);
    }
    parts.top().is_empty().then_some(LooseReason::Root)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(game: &str, path: &str) -> Option<LooseReason> {
        let options = PackOptions::new(game).unwrap();
        left_out(options.game, &Parts::of(path.as_bytes()), &options)
    }

    #[test]
    fn what_games_and_tools_read_from_the_disk_stays_loose() {
        use LooseReason::{DataOnly, Engine, Extender, NotGame, Root, Settings, Source, Tools, Video};
        for (game, path, reason) in [
            ("skyrimse", "MyMod.esp", Some(DataOnly)),
            ("skyrimse", "Old.bsa", Some(DataOnly)),
            ("skyrimse", "MyMod.ini", Some(Settings)),
            ("skyrimse", "SKSE/Plugins/My.dll", Some(Extender)),
            ("skyrimse", "MCM/Config/My/config.json", Some(Extender)),
            ("skyrimse", "My_DISTR.ini", Some(Settings)),
            ("skyrimse", "Video/intro.bik", Some(Video)),
            ("skyrimse", "fomod/info.xml", Some(NotGame)),
            ("skyrimse", "meta.ini", Some(NotGame)),
            ("skyrimse", "Readme.txt", Some(NotGame)),
            ("skyrimse", "textures/a.psd", Some(NotGame)),
            ("skyrimse", "textures/.git/a", Some(NotGame)),
            ("skyrimse", "Scripts/Source/My.psc", Some(Source)),
            ("skyrimse", "Scripts/My.pex", None),
            ("skyrimse", "loose.nif", Some(Root)),
            ("skyrimse", "meshes/actors/character/behaviors/0_master.hkx", Some(Tools)),
            ("skyrimse", "meshes/actors/character/animations/My/FNIS_My_List.txt", Some(Tools)),
            ("skyrimse", "meshes/actors/character/animations/OpenAnimationReplacer/a.hkx", Some(Tools)),
            ("skyrimse", "meshes/actors/character/animations/walk.hkx", None),
            ("skyrimse", "interface/translations/my_english.txt", None),
            ("skyrimse", "strings/my_english.strings", None),
            ("fallout4", "meshes/actors/character/behaviors/0_master.hkx", None),
            ("falloutnv", "meshes/AnimGroupOverride/a.kf", Some(Tools)),
            ("falloutnv", "sound/songs/a.mp3", Some(Engine)),
            ("falloutnv", "meshes/a.egm", None),
            ("morrowind", "Sound/a.wav", Some(Engine)),
            ("morrowind", "BookArt/a.tga", None),
            ("morrowind", "Icons/a.dds", None),
        ] {
            assert_eq!(verdict(game, path), reason, "{game} {path}");
        }
        let options = PackOptions::new("skyrimse").unwrap().all(true);
        assert_eq!(left_out(options.game, &Parts::of(b"MyMod.esp"), &options), None);
    }

    #[test]
    fn sounds_and_tables_of_texts_are_stored() {
        for (path, is_stored) in
            [("sound/a.WAV", true), ("a/b.xwm", true), ("strings/a.DLSTRINGS", true), ("meshes/a.nif", false)]
        {
            assert_eq!(Parts::of(path.as_bytes()).is_stored(), is_stored, "{path}");
        }
    }

    #[test]
    fn every_reason_has_a_code_of_its_own() {
        let mut codes: Vec<&str> = LooseReason::ALL.iter().map(|reason| reason.code()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), LooseReason::ALL.len());
    }
}
