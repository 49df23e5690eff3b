//! Whether a file is packed, and if not, why. The evidence is in the topic "packing".

use super::pack_options::PackOptions;
use crate::format::write::NewKind;
use crate::kinds::{
    Compressed, Engine, INTERFACE, KindOfFile, MESHES, MOHIDDEN, OpenedBy, TEXTURES, TopFolder, What, ends,
    is_dds, kind_of, top_folder,
};
use crate::named::named;
use crate::shown::Shown;

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

impl LeftOut {
    pub(super) fn new(path: String, reason: LooseReason) -> Self {
        Self { path, reason, detail: String::new() }
    }

    /// The path, with the reason.
    pub(super) fn line(&self) -> String {
        let detail = if self.detail.is_empty() { self.reason.words() } else { &self.detail };
        format!("{}: {detail}", self.path.shown())
    }
}

named! {
    /// Why a file stays loose.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum LooseReason;
    /// The code, as in JSON.
    fn code;
    /// The reason in words.
    fn words -> &'static str;

    /// A plugin, an archive or another file that the game reads only beside them.
    DataOnly = "data-only", "games read plugins and archives only from the data folder";
    /// Settings, or a program library.
    Settings = "settings", "settings and program libraries are read only from the disk";
    /// A file of a script extender or of a mod's menu.
    Extender = "extender", "script extenders and their plugins read it from the disk";
    /// A film.
    Video = "video", "games play films only from the disk";
    /// The game's engine reads it from the disk.
    Engine = "engine", "this game's engine reads it only from the disk";
    /// A program that replaces the game's shaders reads it from the disk.
    Shaders = "shaders",
        "MGE XE, New Vegas Reloaded, Community Shaders and similar read shaders from the disk";
    /// Tools read it from the disk.
    Tools = "tools", "tools such as BodySlide, Nemesis, FNIS or Root Builder read it from the disk";
    /// A source of a script.
    Source = "source", "a source of a script; --sources packs it";
    /// Not a file of the game.
    NotGame = "not-game", "not a file of the game";
    /// It is in no folder.
    Root = "root", "it is in no folder, where games look for hardly anything in archives";
    /// It lies beside the folder of the game's files.
    BesideData = "beside-data", "it is beside the folder Data, in which the game's files begin";
    /// An archive cannot store its name.
    Name = "name", "an archive cannot store its name";
    /// The user excluded it.
    Excluded = "excluded", "--exclude";
    /// A texture that an archive of textures cannot store.
    Texture = "texture", "an archive of textures cannot store it";
    /// It is in a folder at the top that no game is known to read.
    Unknown = "unknown-folder", "no game is known to read this folder; --all packs it";
    /// Files of a game begin in a folder further down, such as an option of a download.
    FurtherDown = "further-down",
        "the game's files begin further down in its folder; pack that folder as a source of its own";
    /// A table of texts or a list of quests that belongs to a plugin which is not among the sources.
    OtherPlugin = "other-plugin",
        "it belongs to another plugin, which finds it only loose or in its own archive";
    /// It was deleted in a folder of `mount --edit`, or a rule of the game hides it.
    Erased = "erased", "a deletion in a folder of `mount --edit`, or a rule of the game, hides it";
    /// The user hid it in Mod Organizer.
    Hidden = "hidden", "hidden in Mod Organizer, which called it or its folder .mohidden";
}

impl LooseReason {
    /// Whether the user asked for the file to be left out, or nobody would want it in an archive.
    pub fn is_expected(self) -> bool {
        !matches!(self, Self::Name | Self::Texture)
    }
}

/// Whether a folder at the top holds files of games.
pub(super) fn is_known_top(top: &str) -> bool {
    top_folder(top).is_some_and(TopFolder::is_of_game)
}

/// Whether a folder of this name shows that the one above is where a game's files begin.
pub(super) fn is_game_folder(name: &str) -> bool {
    top_folder(name).is_some_and(|folder| folder.is_sign)
}

/// Whether a folder at the top is for tools, script extenders or people.
pub(super) fn is_tool_top(top: &str) -> bool {
    top_folder(top).is_some_and(|folder| !folder.is_of_game())
}

/// How many folders may lie above the place where a game's files begin.
pub(super) const DEPTH_MAX: usize = 4;

/// What the names of folders begin with that file managers, editors and version control make.
const DESKTOP_FOLDERS: [&str; 14] = [
    "__macosx",
    ".appledouble",
    ".dropbox",
    ".fseventsd",
    ".git",
    ".hg",
    ".idea",
    ".spotlight-",
    ".stfolder",
    ".stversions",
    ".svn",
    ".thumbnails",
    ".trash",
    ".vscode",
];

/// A path, taken apart for the rules. Everything is in lower case.
pub(super) struct Parts {
    /// The path, with `/` between names.
    pub(super) path: String,
    folders: usize,
    kind: Option<&'static KindOfFile>,
}

impl Parts {
    pub(super) fn of(path: &[u8]) -> Self {
        let path = String::from_utf8_lossy(path).to_ascii_lowercase();
        let name = path.rsplit('/').next().unwrap_or_default();
        let (folders, kind) = (path.len() - name.len(), kind_of(name));
        Self { path, folders, kind }
    }

    pub(super) fn name(&self) -> &str {
        &self.path[self.folders..]
    }

    /// The first folder; empty for a file at the top.
    pub(super) fn top(&self) -> &str {
        self.path.split_once('/').map_or("", |(top, _)| top)
    }

    /// How many folders lie above the place where files of a game seem to begin.
    pub(super) fn sign(&self) -> Option<usize> {
        let mut folders = self.path[..self.folders].split('/');
        folders.position(is_game_folder)
    }

    /// Whether a file manager, an editor or version control made the file, or a folder above it:
    /// `.directory`, `._a.nif`, `a.nif~`.
    pub(super) fn is_of_desktop(&self) -> bool {
        let name = self.name();
        let is_mark = |folder: &str| DESKTOP_FOLDERS.iter().any(|start| folder.starts_with(start));
        self.path[..self.folders].split('/').any(is_mark)
            || name
                .strip_prefix('.')
                // A game may want a file that has no other name.
                .is_some_and(|rest| {
                    !rest.starts_with('.') && (rest.contains('.') || !self.is_read_from_archives())
                })
            || name.ends_with('~')
            || name.len() > 1 && name.starts_with('#') && name.ends_with('#')
            || name == "__folder_managed_by_vortex"
            || self.kind.is_some_and(|kind| kind.what == What::Work)
    }

    fn is_in(&self, folder: &str) -> bool {
        self.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }

    fn has_folder(&self, folder: &str) -> bool {
        self.path[..self.folders].split('/').any(|it| it == folder)
    }

    fn is_read_from_archives(&self) -> bool {
        let is_of_game = |what| !matches!(what, What::Document | What::Sound | What::Text);
        ends(&self.path, &["txt"])
            || self.kind.is_some_and(|kind| kind.reader == OpenedBy::Archive && is_of_game(kind.what))
    }

    /// Who opens the file, by its ending, its folder at the top, and what tools search for deeper.
    fn reader(&self, options: &PackOptions) -> OpenedBy {
        let engine = options.game.engine;
        let folder = top_folder(self.top()).map_or(OpenedBy::Archive, |folder| folder.reader_in(engine));
        let is_of_interface = self.extension_is("json") && (self.is_in(INTERFACE) || self.is_in(MESHES));
        let kind = self.kind.filter(|_| !is_of_interface);
        let kind = kind.map_or(OpenedBy::Archive, |kind| kind.reader_in(engine));
        let is_of_tool = match engine {
            Engine::Fallout3 => self.is_in("meshes/animgroupoverride"),
            Engine::Skyrim => {
                let is_list = self.extension_is("txt") && self.is_in("meshes/actors");
                let is_behaviour = self.extension_is("hkx") && self.has_folder("behaviors");
                let is_replacer =
                    self.has_folder("openanimationreplacer") || self.has_folder("dynamicanimationreplacer");
                is_list || is_behaviour && self.is_in("meshes/actors") || is_replacer
            }
            _ => false,
        };
        let is_source = self.is_in("scripts/source");
        let deeper = if is_of_tool {
            OpenedBy::Tool
        } else if is_source {
            OpenedBy::Editor
        } else {
            OpenedBy::Archive
        };
        folder.min(kind).min(deeper)
    }

    fn extension_is(&self, extension: &str) -> bool {
        ends(&self.path, &[extension])
    }

    /// Whether a game expects the file uncompressed, of whatever kind the archive is.
    pub(super) fn is_stored(&self) -> bool {
        self.kind.is_some_and(|kind| kind.compressed != Compressed::Works)
    }

    /// Whether it goes to the archive of textures. One that is a BSA has every file of the folder.
    pub(super) fn is_texture(&self, kind: NewKind) -> bool {
        self.is_in(TEXTURES) && (matches!(kind, NewKind::Tes4(_)) || is_dds(&self.path))
    }
}

/// Why a file stays loose; `None` if it is packed.
pub(super) fn left_out(parts: &Parts, options: &PackOptions) -> Option<LooseReason> {
    if parts.path.split('/').any(|name| ends(name, &[MOHIDDEN])) {
        return Some(LooseReason::Hidden);
    }
    if options.all {
        return None;
    }
    let name = parts.name();
    let reader = parts.reader(options);
    let is_note = name.starts_with("readme") || matches!(name, "meta.ini" | "desktop.ini");
    if reader != OpenedBy::DataFolder && (is_note || parts.is_of_desktop()) {
        return Some(LooseReason::NotGame);
    }
    match reader {
        OpenedBy::DataFolder => Some(LooseReason::DataOnly),
        OpenedBy::Nobody => Some(LooseReason::NotGame),
        OpenedBy::Extender => Some(LooseReason::Extender),
        OpenedBy::Tool => Some(LooseReason::Tools),
        OpenedBy::Settings => Some(LooseReason::Settings),
        OpenedBy::Film => Some(LooseReason::Video),
        OpenedBy::Disk => Some(LooseReason::Engine),
        OpenedBy::Shaders => Some(LooseReason::Shaders),
        OpenedBy::Editor if !options.sources => Some(LooseReason::Source),
        OpenedBy::Editor | OpenedBy::Archive => match parts.top() {
            "" => Some(LooseReason::Root),
            top if is_known_top(top) || options.any_path => None,
            _ if parts.sign().is_some_and(|sign| sign <= DEPTH_MAX) => Some(LooseReason::FurtherDown),
            _ => Some(LooseReason::Unknown),
        },
    }
}

/// The plugin to which a table of texts or a list of quests belongs, in the spelling of the path: `Mod` for
/// `strings/Mod_english.strings` and for `seq/Mod.seq`.
pub(super) fn plugin_of_table(path: &str) -> Option<&str> {
    let (folder, name) = path.split_once('/')?;
    let (stem, _) = name.rsplit_once('.')?;
    let kind = kind_of(name).filter(|kind| folder.eq_ignore_ascii_case(kind.folder))?;
    match kind.what {
        What::Texts => Some(stem.rsplit_once('_').map_or(stem, |it| it.0)),
        What::Quests => Some(stem),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(game: &str, path: &str) -> Option<LooseReason> {
        let options = PackOptions::new(game).unwrap();
        left_out(&Parts::of(path.as_bytes()), &options)
    }

    #[test]
    fn what_games_and_tools_read_from_the_disk_stays_loose() {
        use LooseReason::{
            DataOnly, Engine, Extender, FurtherDown, Hidden, NotGame, Root, Settings, Shaders, Source, Tools,
            Unknown, Video,
        };
        for (game, path, reason) in [
            ("skyrimse", "MyMod.esp", Some(DataOnly)),
            ("skyrimse", "Old.bsa", Some(DataOnly)),
            ("skyrimse", "MyMod.ini", Some(Settings)),
            ("skyrimse", "SKSE/Plugins/My.dll", Some(Extender)),
            ("skyrimse", "Shaders/Features/x.hlsl", Some(Shaders)),
            ("oblivion", "shaders/OblivionReloaded/AO.fx", Some(Shaders)),
            ("morrowind", "shaders/XEshaders/SSAO.fx", Some(Shaders)),
            ("openmw", "shaders/godrays.omwfx", None),
            ("skyrimse", "ShadersFX/a.fxp", None),
            ("oblivion", "Music/Battle/a.mp3", Some(Engine)),
            ("oblivion", "sound/voice/a.esm/a.mp3", None),
            ("falloutnv", "music/a.ogg", Some(Engine)),
            ("skyrim", "music/a.xwm", None),
            ("openmw", "Music/a.mp3", None),
            ("openmw", "a.omwaddon", Some(DataOnly)),
            ("skyrimse", "textures/__folder_managed_by_vortex", Some(NotGame)),
            ("skyrimse", "textures/a.dds.vortex_backup", Some(NotGame)),
            ("skyrimse", "interface/a.json", None),
            ("skyrimse", "textures/a.json", Some(Extender)),
            ("skyrimse", "MCM/Config/My/config.json", Some(Extender)),
            ("skyrimse", "My_DISTR.ini", Some(Settings)),
            ("skyrimse", "Video/intro.bik", Some(Video)),
            ("skyrimse", "fomod/info.xml", Some(NotGame)),
            ("skyrimse", "meta.ini", Some(NotGame)),
            ("skyrimse", "Readme.txt", Some(NotGame)),
            ("skyrimse", "textures/a.psd", Some(NotGame)),
            ("skyrimse", "textures/.git/a", Some(NotGame)),
            ("skyrimse", "textures/x/.directory", Some(NotGame)),
            ("fallout4", "meshes/.DS_Store", Some(NotGame)),
            ("skyrimse", "meshes/._a.nif", Some(NotGame)),
            ("skyrimse", "meshes/a.nif~", Some(NotGame)),
            ("skyrimse", "meshes/.a.nif.swp", Some(NotGame)),
            ("skyrimse", "meshes/#a.nif#", Some(NotGame)),
            ("skyrimse", "meshes/.Trash-1000/a.nif", Some(NotGame)),
            ("skyrimse", "__MACOSX/meshes/a.nif", Some(NotGame)),
            // A game may want it, but no BSA can store its name.
            ("skyrimse", "meshes/.nif", None),
            ("skyrimse", "meshes/#a.nif", None),
            ("skyrimse", "meshes/.mine/a.nif", None),
            ("skyrimse", "Textures 2K/textures/a.dds", Some(FurtherDown)),
            ("skyrimse", "Options/Red/Meshes/a.nif", Some(FurtherDown)),
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
            ("skyrimse", "CalienteTools/BodySlide/SliderPresets/a.xml", Some(Tools)),
            ("fallout4", "Tools/BodySlide/SliderSets/a.osp", Some(Tools)),
            ("fallout4", "AAF/My_animationData.xml", Some(Tools)),
            ("fallout4", "Edit Scripts/a.pas", Some(Tools)),
            ("skyrimse", "Root/enbseries/a.fx", Some(Tools)),
            ("skyrimse", "Docs/a.html", Some(NotGame)),
            ("fallout4", "Screenshots/a.png", Some(NotGame)),
            ("skyrimse", "my folder/a.nif", Some(Unknown)),
            ("skyrimse", "meshes/a.nif.mohidden", Some(Hidden)),
            ("skyrimse", "Meshes/Old.MoHidden/deep/a.nif", Some(Hidden)),
        ] {
            assert_eq!(verdict(game, path), reason, "{game} {path}");
        }
        let options = PackOptions { all: true, ..PackOptions::new("skyrimse").unwrap() };
        assert_eq!(left_out(&Parts::of(b"MyMod.esp"), &options), None);
    }

    #[test]
    fn tables_of_texts_and_lists_of_quests_name_their_plugin() {
        for (path, plugin) in [
            ("Strings/My_Mod_English.STRINGS", Some("My_Mod")),
            ("strings/mod_en.ilstrings", Some("mod")),
            ("seq/My Mod.seq", Some("My Mod")),
            ("strings/readme_en.txt", None),
            ("interface/strings/mod_en.strings", None),
            ("meshes/a_b.nif", None),
        ] {
            assert_eq!(plugin_of_table(path), plugin, "{path}");
        }
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
