//! What the files and folders of games are: one row for each ending and each folder of the data folder, with
//! who opens it.
//!
//! A file belongs in an archive only if nothing but the game's reader of archives opens it. Where no source
//! says so, it stays loose, which is always safe.
//!
//! | who opens it | sources |
//! |---|---|
//! | the game, in archives | folders of vanilla archives and the packers' lists (BSArch, bethutil, MO2) |
//! | the game, only at the top of its data folder | BSArch's `cSkippedExtensions` |
//! | the game, only on the disk: films | Starfield's guide to Archive2 |
//! | Morrowind: sound, music, fonts, splash | UESP's page on Morrowind's BSA |
//! | Oblivion, Fallout 3, New Vegas: music; Fallout: mp3 | GECK's page on BSA; no vanilla archive has it |
//! | MGE XE, New Vegas Reloaded, Community Shaders: shaders | paths below `Data/Shaders` in their sources |
//! | script extenders, tools | their file calls; kNVSE issue 2, Nemesis issue 435 |
//! | OpenMW: all but plugins, settings and programs | it opens each file through its virtual file system |

/// An engine, whose readers of files are alike in all of its games.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Morrowind,
    OpenMw,
    Oblivion,
    /// Fallout 3 and New Vegas.
    Fallout3,
    /// Skyrim and its Special Edition.
    Skyrim,
    /// Fallout 4 and 76.
    Fallout4,
    Starfield,
}

/// Who opens a file. If its ending and its folder differ, the earlier one here decides why it stays loose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OpenedBy {
    /// The game, only at the top of the data folder.
    DataFolder,
    /// No program of the game: it is for people, or of their file managers and editors.
    Nobody,
    /// A script extender or a plugin of one.
    Extender,
    /// A tool.
    Tool,
    /// The game or Windows, as settings or programs.
    Settings,
    /// The game's player of films.
    Film,
    /// The game, only on the disk.
    Disk,
    /// A program that replaces the game's shaders.
    Shaders,
    /// The editor, which compiles it.
    Editor,
    /// The game, also in archives.
    Archive,
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Plugin,
    /// A plugin of OpenMW alone.
    OpenMwPlugin,
    Archive,
    /// A list or mark beside plugins and archives.
    Companion,
    Texture,
    Picture,
    Mesh,
    /// Shapes that a mesh takes.
    Morph,
    Animation,
    Geometry,
    Material,
    Landscape,
    Script,
    ScriptSource,
    Sound,
    /// A table of texts of a plugin.
    Texts,
    Film,
    /// A menu of Skyrim and later games.
    Interface,
    /// A menu of Oblivion and Fallout 3.
    Menu,
    Tree,
    Font,
    Quests,
    Text,
    /// A text or picture for people.
    Document,
    Settings,
    Program,
    /// What artists and packers work with, and what programs leave behind.
    Work,
}

/// Whether the game reads a file that is compressed in its archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compressed {
    /// It does.
    Works,
    /// Nothing shows that it does not, but it gains nothing.
    Useless,
    /// Not in a BSA.
    FailsInBsa,
    /// Never.
    Fails,
}

/// One kind of files.
#[derive(Debug)]
pub struct KindOfFile {
    pub what: What,
    /// In lower case, without the dot.
    pub endings: &'static [&'static str],
    /// The folder below which the game and tools expect such files; empty if there is none.
    pub folder: &'static str,
    pub reader: OpenedBy,
    /// Engines with another reader.
    pub but: &'static [(Engine, OpenedBy)],
    pub compressed: Compressed,
    /// Whether meshes and materials name such files.
    pub is_named: bool,
    /// First bytes of such files, from which the first ending follows. A zero stands for any byte.
    pub begins: &'static [&'static [u8]],
}

/// A folder directly in the data folder.
#[derive(Debug)]
pub struct TopFolder {
    /// In lower case.
    pub name: &'static str,
    pub reader: OpenedBy,
    /// Engines with another reader.
    pub but: &'static [(Engine, OpenedBy)],
    /// Whether no other folder is called so: what has such a folder is a data folder or a mod.
    pub is_sign: bool,
}

/// Plugins. Each game knows the first ones.
pub const PLUGINS: &[&str] = &["esp", "esm", "esl"];
/// Plugins of OpenMW alone.
pub const OPENMW_PLUGINS: &[&str] = &["omwaddon", "omwscripts", "omwgame"];
pub const BSA: &str = "bsa";
pub const BA2: &str = "ba2";
pub const DDS: &str = "dds";
pub const XWM: &str = "xwm";
pub const FUZ: &str = "fuz";
pub const PNG: &str = "png";
pub const PEX: &str = "pex";
pub const MESH: &str = "mesh";

pub const TEXTURES: &str = "textures";
pub const MESHES: &str = "meshes";
pub const MATERIALS: &str = "materials";
pub const GEOMETRIES: &str = "geometries";
pub const SCRIPTS: &str = "scripts";
pub const SOUND: &str = "sound";
pub const STRINGS: &str = "strings";
pub const SEQ: &str = "seq";
pub const INTERFACE: &str = "interface";
/// The folder whose content Root Builder, a plug-in of Mod Organizer, puts beside the game's program.
pub const ROOT: &str = "root";
/// What the names of files and folders end in that Mod Organizer hides from the game.
pub const MOHIDDEN: &str = "mohidden";

const fn kind(what: What, reader: OpenedBy, endings: &'static [&'static str]) -> KindOfFile {
    KindOfFile {
        what,
        endings,
        folder: "",
        reader,
        but: &[],
        compressed: Compressed::Works,
        is_named: false,
        begins: &[],
    }
}

/// A kind that the game reads in archives, below one folder.
const fn packed(what: What, folder: &'static str, endings: &'static [&'static str]) -> KindOfFile {
    KindOfFile { folder, ..kind(what, OpenedBy::Archive, endings) }
}

const fn named(what: What, folder: &'static str, endings: &'static [&'static str]) -> KindOfFile {
    KindOfFile { is_named: true, ..packed(what, folder, endings) }
}

const fn sound(endings: &'static [&'static str], begins: &'static [&'static [u8]]) -> KindOfFile {
    KindOfFile { compressed: Compressed::Fails, begins, ..packed(What::Sound, SOUND, endings) }
}

/// All kinds, one row each.
#[rustfmt::skip] // one row a line
pub static KINDS: &[KindOfFile] = &[
    KindOfFile { begins: &[b"TES3", b"TES4"], ..kind(What::Plugin, OpenedBy::DataFolder, PLUGINS) },
    kind(What::OpenMwPlugin, OpenedBy::DataFolder, OPENMW_PLUGINS),
    KindOfFile { begins: &[b"BTDX"], ..kind(What::Archive, OpenedBy::DataFolder, &[BA2, BSA]) },
    kind(What::Companion, OpenedBy::DataFolder, &["cdx", "csg", "nam", "override", "ghost"]),
    kind(What::Companion, OpenedBy::DataFolder, &["bsl", "achlist"]),
    KindOfFile { begins: &[b"DDS "], ..named(What::Texture, TEXTURES, &[DDS]) },
    // Of the PlayStation 4, and of the Xbox 360.
    packed(What::Texture, TEXTURES, &["gnf"]),
    KindOfFile { begins: &[b"3XDO", b"3XDR"], ..packed(What::Picture, TEXTURES, &["ddx"]) },
    named(What::Picture, TEXTURES, &["tga", "bmp"]),
    KindOfFile {
        begins: &[b"NetImmerse File Format", b"Gamebryo File Format"], ..named(What::Mesh, MESHES, &["nif"])
    },
    packed(What::Mesh, MESHES, &["bto", "btr"]),
    named(What::Morph, MESHES, &["tri"]),
    packed(What::Morph, MESHES, &["egm", "egt"]),
    packed(What::Animation, MESHES, &["kf", "kfm"]),
    KindOfFile { begins: &[b"\x57\xE0\xE0\x57\x10\xC0\xC0\x10"], ..named(What::Animation, MESHES, &["hkx"]) },
    named(What::Geometry, GEOMETRIES, &[MESH]),
    named(What::Material, MATERIALS, &["bgsm", "bgem", "mat"]),
    kind(What::Landscape, OpenedBy::Archive, &["btd", "cmp"]),
    KindOfFile {
        begins: &[b"\xFA\x57\xC0\xDE", b"\xDE\xC0\x57\xFA"], ..packed(What::Script, SCRIPTS, &[PEX])
    },
    kind(What::ScriptSource, OpenedBy::Editor, &["psc"]),
    // The help of BSArch on all games, Creation Kit Platform Extended issue 132, bsaopt issue 13.
    sound(&["wav"], &[b"RIFF\0\0\0\0WAVE"]),
    sound(&[XWM], &[b"RIFF\0\0\0\0XWMA"]),
    sound(&[FUZ], &[b"FUZE"]),
    sound(&["ogg"], &[b"OggS"]),
    sound(&["lip"], &[]),
    // New Vegas plays songs only from the disk; Oblivion's voices are in its archives.
    KindOfFile { but: &[(Engine::Fallout3, OpenedBy::Disk)], ..sound(&["mp3"], &[b"ID3"]) },
    // No source says that Starfield would be silent.
    KindOfFile { compressed: Compressed::Useless, ..sound(&["wem"], &[]) },
    // Otherwise Skyrim shows `$…` (xEdit issue 1249). Archive2 compresses those of Fallout 4.
    KindOfFile {
        compressed: Compressed::FailsInBsa,
        ..packed(What::Texts, STRINGS, &["strings", "dlstrings", "ilstrings"])
    },
    KindOfFile {
        begins: &[b"BIKi"], but: &[(Engine::OpenMw, OpenedBy::Archive)],
        ..kind(What::Film, OpenedBy::Film, &["bik", "bk2"])
    },
    KindOfFile {
        begins: &[b"FWS", b"CWS", b"GFX", b"CFX"], ..packed(What::Interface, INTERFACE, &["swf", "gfx"])
    },
    KindOfFile {
        begins: &[b"<?xml", b"\xEF\xBB\xBF<?xml"], but: &[(Engine::Fallout3, OpenedBy::Disk)],
        ..kind(What::Menu, OpenedBy::Archive, &["xml"])
    },
    kind(What::Tree, OpenedBy::Archive, &["spt"]),
    kind(What::Font, OpenedBy::Archive, &["tex", "fnt"]),
    packed(What::Quests, SEQ, &["seq"]),
    kind(What::Text, OpenedBy::Archive, &["txt", "html", "bat", "scc"]),
    KindOfFile { begins: &[b"\x89PNG\r\n\x1A\n"], ..kind(What::Document, OpenedBy::Archive, &[PNG]) },
    kind(What::Document, OpenedBy::Archive, &["md", "pdf", "url", "jpg", "jpeg", "rtf"]),
    // `interface` and `meshes` have JSON of the game.
    kind(What::Settings, OpenedBy::Extender, &["toml", "json"]),
    kind(What::Settings, OpenedBy::Settings, &["ini"]),
    kind(What::Program, OpenedBy::Settings, &["exe", "dll", "asi"]),
    kind(What::Work, OpenedBy::Nobody, &["psd", "xcf", "blend", "blend1", "max", "7z", "zip", "rar"]),
    kind(What::Work, OpenedBy::Nobody, &["tmp", "bak", "db", "orig", "part", "vortex_backup"]),
    kind(What::Work, OpenedBy::Nobody, &["swp", "swo", "swx", "kate-swp"]),
];

const fn folder(name: &'static str, reader: OpenedBy) -> TopFolder {
    TopFolder { name, reader, but: &[], is_sign: false }
}

/// A folder that is in no other place.
const fn sign(name: &'static str, reader: OpenedBy, but: &'static [(Engine, OpenedBy)]) -> TopFolder {
    TopFolder { but, is_sign: true, ..folder(name, reader) }
}

const OPENMW: (Engine, OpenedBy) = (Engine::OpenMw, OpenedBy::Archive);
const MORROWIND: (Engine, OpenedBy) = (Engine::Morrowind, OpenedBy::Disk);

/// All folders, one row each.
#[rustfmt::skip] // one row a line
pub static TOP_FOLDERS: &[TopFolder] = &[
    sign("bookart", OpenedBy::Archive, &[]),
    sign("dialogueviews", OpenedBy::Archive, &[]),
    sign("distantlod", OpenedBy::Archive, &[]),
    sign("facegen", OpenedBy::Archive, &[]),
    sign("fonts", OpenedBy::Archive, &[MORROWIND]),
    sign(GEOMETRIES, OpenedBy::Archive, &[]),
    sign("grass", OpenedBy::Archive, &[]),
    sign("icons", OpenedBy::Archive, &[]),
    sign(INTERFACE, OpenedBy::Archive, &[]),
    sign("lodsettings", OpenedBy::Archive, &[]),
    sign(MATERIALS, OpenedBy::Archive, &[]),
    sign("menus", OpenedBy::Archive, &[]),
    sign(MESHES, OpenedBy::Archive, &[]),
    // Vanilla archives of Skyrim and Fallout 4 have it, those of older games do not.
    sign("music", OpenedBy::Archive, &[
        MORROWIND, (Engine::Oblivion, OpenedBy::Disk), (Engine::Fallout3, OpenedBy::Disk),
    ]),
    sign("particles", OpenedBy::Archive, &[]),
    sign(SCRIPTS, OpenedBy::Archive, &[]),
    sign(SEQ, OpenedBy::Archive, &[]),
    // The games' own are in `shadersfx`, or on the disk.
    sign("shaders", OpenedBy::Shaders, &[OPENMW]),
    sign("shadersfx", OpenedBy::Archive, &[]),
    sign(SOUND, OpenedBy::Archive, &[MORROWIND]),
    sign("splash", OpenedBy::Archive, &[MORROWIND]),
    sign(STRINGS, OpenedBy::Archive, &[]),
    sign("terrain", OpenedBy::Archive, &[]),
    sign(TEXTURES, OpenedBy::Archive, &[]),
    sign("trees", OpenedBy::Archive, &[]),
    sign("video", OpenedBy::Film, &[OPENMW]),
    folder("actors", OpenedBy::Archive),
    folder("dyndolod", OpenedBy::Archive),
    folder("lod", OpenedBy::Archive),
    folder("lsdata", OpenedBy::Archive),
    folder("misc", OpenedBy::Archive),
    folder("planetdata", OpenedBy::Archive),
    folder("programs", OpenedBy::Archive),
    folder("source", OpenedBy::Archive),
    folder("vis", OpenedBy::Archive),
    folder("skse", OpenedBy::Extender),
    folder("f4se", OpenedBy::Extender),
    folder("nvse", OpenedBy::Extender),
    folder("obse", OpenedBy::Extender),
    folder("sfse", OpenedBy::Extender),
    folder("fose", OpenedBy::Extender),
    folder("mwse", OpenedBy::Extender),
    folder("mcm", OpenedBy::Extender),
    folder("netscriptframework", OpenedBy::Extender),
    folder("dllplugins", OpenedBy::Extender),
    // BodySlide, AAF, xEdit, FNIS, Nemesis, Pandora and Root Builder.
    folder("aaf", OpenedBy::Tool),
    folder("calientetools", OpenedBy::Tool),
    folder("edit scripts", OpenedBy::Tool),
    folder("fnis", OpenedBy::Tool),
    folder("nemesis_engine", OpenedBy::Tool),
    folder("pandora_engine", OpenedBy::Tool),
    folder(ROOT, OpenedBy::Tool),
    folder("tools", OpenedBy::Tool),
    // For people and installers.
    folder("doc", OpenedBy::Nobody),
    folder("docs", OpenedBy::Nobody),
    folder("documentation", OpenedBy::Nobody),
    folder("documents", OpenedBy::Nobody),
    folder("fomod", OpenedBy::Nobody),
    folder("omod conversion data", OpenedBy::Nobody),
    folder("readme", OpenedBy::Nobody),
    folder("readmes", OpenedBy::Nobody),
    folder("screens", OpenedBy::Nobody),
    folder("screenshot", OpenedBy::Nobody),
    folder("screenshots", OpenedBy::Nobody),
    folder("screen shots", OpenedBy::Nobody),
];

/// What follows the last dot of a name or path; empty if there is none.
pub fn ending(name: &[u8]) -> &[u8] {
    name.iter().rposition(|byte| *byte == b'.').and_then(|dot| name.get(dot + 1..)).unwrap_or_default()
}

/// Whether a name or path has one of these endings, ignoring case.
pub fn ends(name: impl AsRef<[u8]>, endings: &[&str]) -> bool {
    let ending = ending(name.as_ref());
    endings.iter().any(|known| ending.eq_ignore_ascii_case(known.as_bytes()))
}

/// Whether a name or path is that of a DDS texture.
pub fn is_dds(name: impl AsRef<[u8]>) -> bool {
    ends(name, &[DDS])
}

/// Whether a name has the ending of a plugin of any game of Bethesda.
pub fn is_plugin(name: impl AsRef<[u8]>) -> bool {
    ends(name, PLUGINS)
}

/// The kind of a name or path, by its ending.
pub fn kind_of(name: impl AsRef<[u8]>) -> Option<&'static KindOfFile> {
    let name = name.as_ref();
    KINDS.iter().find(|kind| ends(name, kind.endings))
}

/// Whether a name or path is that of such a file.
pub fn is(name: impl AsRef<[u8]>, what: &[What]) -> bool {
    kind_of(name).is_some_and(|kind| what.contains(&kind.what))
}

/// Whether a file is one of those that only games have, besides their archives.
pub fn is_only_of_games(name: impl AsRef<[u8]>) -> bool {
    let is_of_games = |kind: &KindOfFile| {
        let is_for_all = matches!(
            kind.what,
            What::Archive | What::Companion | What::Picture | What::Menu | What::Text | What::Document
        );
        !is_for_all && !matches!(kind.what, What::Settings | What::Program | What::Font | What::Work)
    };
    kind_of(name).is_some_and(is_of_games)
}

/// The ending of a file that begins so, if that shows it.
pub fn ending_by_content(first: &[u8]) -> Option<&'static str> {
    let is_begun = |begin: &&[u8]| {
        let pairs = begin.iter().zip(first);
        first.len() >= begin.len() && pairs.into_iter().all(|(known, byte)| *known == 0 || known == byte)
    };
    KINDS.iter().find(|kind| kind.begins.iter().any(is_begun))?.endings.first().copied()
}

/// The row of a folder directly in the data folder, by its name, ignoring case.
pub fn top_folder(name: &str) -> Option<&'static TopFolder> {
    TOP_FOLDERS.iter().find(|folder| folder.name.eq_ignore_ascii_case(name))
}

impl KindOfFile {
    /// Who opens such a file in games of an engine.
    pub fn reader_in(&self, engine: Engine) -> OpenedBy {
        reader_in(self.reader, self.but, engine)
    }
}

impl TopFolder {
    /// Who opens what is in the folder in games of an engine.
    pub fn reader_in(&self, engine: Engine) -> OpenedBy {
        reader_in(self.reader, self.but, engine)
    }

    /// Whether games read the folder.
    pub fn is_of_game(&self) -> bool {
        matches!(self.reader, OpenedBy::Archive | OpenedBy::Disk | OpenedBy::Film | OpenedBy::Shaders)
    }

    /// Whether games or script extenders read the folder where it is.
    pub fn is_read(&self) -> bool {
        self.is_of_game() || self.reader == OpenedBy::Extender
    }
}

fn reader_in(reader: OpenedBy, but: &[(Engine, OpenedBy)], engine: Engine) -> OpenedBy {
    but.iter().find(|(other, _)| *other == engine).map_or(reader, |(_, reader)| *reader)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_ending_and_each_folder_has_one_row() {
        let mut seen = HashSet::new();
        let all = KINDS.iter().flat_map(|kind| kind.endings).chain(TOP_FOLDERS.iter().map(|it| &it.name));
        for name in KINDS.iter().flat_map(|kind| kind.endings) {
            assert!(seen.insert(name), "{name}");
        }
        let folders: HashSet<&str> = TOP_FOLDERS.iter().map(|it| it.name).collect();
        assert_eq!(folders.len(), TOP_FOLDERS.len());
        assert!(all.into_iter().all(|name| *name == name.to_ascii_lowercase()));
        let of_kinds = KINDS.iter().map(|kind| kind.folder).filter(|folder| !folder.is_empty());
        assert!(of_kinds.into_iter().all(|folder| top_folder(folder).is_some_and(|it| it.is_of_game())));
    }

    #[test]
    fn names_have_the_kind_of_their_ending() {
        for (name, what) in [
            ("Textures/A.DDS", Some(What::Texture)),
            ("a.esp", Some(What::Plugin)),
            ("a.omwaddon", Some(What::OpenMwPlugin)),
            ("a.esp/b", None),
            ("esp", None),
            ("", None),
            ("a.b.LIP", Some(What::Sound)),
        ] {
            assert_eq!(kind_of(name).map(|kind| kind.what), what, "{name}");
        }
    }

    #[test]
    fn some_files_are_only_of_games() {
        for name in ["a.wav", "a.strings", "a.seq", "a.egm", "a.omwaddon", "a.psc"] {
            assert!(is_only_of_games(name), "{name}");
        }
        for name in ["a.bsa", "a.txt", "a.ini", "a.png", "a.tga", "a.xml", "a.dll", "a.zip", "a"] {
            assert!(!is_only_of_games(name), "{name}");
        }
    }

    #[test]
    fn the_first_bytes_of_a_file_show_its_ending() {
        for (first, ending) in [
            (&b"DDS |"[..], Some("dds")),
            (b"TES3", Some("esp")),
            (b"RIFF\x24\x10\0\0WAVEfmt ", Some("wav")),
            (b"RIFF\x24\x10\0\0XWMAfmt ", Some("xwm")),
            (b"RIFF\x24\x10\0\0AVI ", None),
            (b"RIFF", None),
            (b"CFX\x08", Some("swf")),
            (b"", None),
        ] {
            assert_eq!(ending_by_content(first), ending);
        }
    }

    #[test]
    fn who_opens_a_folder_depends_on_the_engine() {
        for (name, engine, reader) in [
            ("Shaders", Engine::Morrowind, OpenedBy::Shaders),
            ("shaders", Engine::Skyrim, OpenedBy::Shaders),
            ("shaders", Engine::OpenMw, OpenedBy::Archive),
            ("music", Engine::Oblivion, OpenedBy::Disk),
            ("music", Engine::Skyrim, OpenedBy::Archive),
            ("sound", Engine::Morrowind, OpenedBy::Disk),
            ("sound", Engine::OpenMw, OpenedBy::Archive),
            ("video", Engine::OpenMw, OpenedBy::Archive),
            ("video", Engine::Skyrim, OpenedBy::Film),
        ] {
            assert_eq!(top_folder(name).unwrap().reader_in(engine), reader, "{name} {engine:?}");
        }
    }
}
