//! What `pack` writes for a game, and what loads it. The evidence is in the topic "packing".

use crate::format::write::NewKind;
use crate::kinds::PLUGINS;

/// How archives for a game are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PackRules {
    /// The kind of archive for all files, or for all but textures. Of the versions that a game reads, it is
    /// the one that its oldest version reads, too.
    pub main: NewKind,
    /// The kind of a second archive for textures.
    pub textures: Option<NewKind>,
    pub loads: Loads,
    /// How a second archive is called if one is full.
    pub next: NextName,
    /// The largest archive that the game reads, in bytes.
    pub size_max: u64,
    /// Whether the date of an archive may decide against loose files. Sources disagree about Morrowind.
    pub weighs_dates: bool,
    /// A plugin without content that loads an archive.
    pub dummy: Option<DummyPlugin>,
}

/// What loads an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loads {
    /// The plugin after which it is called.
    Plugin,
    /// A line of an INI file, with `{}` for the archive's name.
    Line(&'static str),
}

/// How further archives are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextName {
    /// The plugin also loads archives whose names only begin like its own.
    Prefix,
    /// The archive has another plugin.
    Plugin,
    /// Any name.
    Any,
}

/// A plugin without content.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DummyPlugin {
    pub ending: &'static str,
    pub flags: u32,
    /// The version of its form; `None` for Oblivion, whose head has 20 bytes.
    pub form: Option<u16>,
    pub version: f32,
    pub next_id: u32,
    /// The master that it names.
    pub master: Option<&'static str>,
}

/// What the names of archives end in.
pub(super) const DOT_BSA: &str = ".bsa";
/// What the names of archives of Fallout 4 and later games end in.
pub(super) const FALLOUT4_ENDINGS: [&str; 2] = [" - Main.ba2", " - Textures.ba2"];

// Building blocks for the rows of the table of games.

/// The largest offset that all readers of a BSA understand.
const BSA_MAX: u64 = (1 << 31) - 1;
/// The largest archive that the Creation Kit reads.
const BA2_MAX: u64 = (1 << 32) - 1;
/// The flag of a light plugin since Skyrim Special Edition; Starfield has another.
pub(super) const LIGHT: u32 = 0x200;

const SKYRIM_DUMMY: DummyPlugin =
    DummyPlugin { ending: PLUGINS[0], flags: 0, form: Some(43), version: 1.7, next_id: 0x800, master: None };
const SKYRIMVR_DUMMY: DummyPlugin = DummyPlugin { form: Some(44), ..SKYRIM_DUMMY };
const FALLOUT4VR_DUMMY: DummyPlugin = DummyPlugin { form: Some(0x83), version: 0.95, ..SKYRIM_DUMMY };
const FALLOUT3_DUMMY: DummyPlugin = DummyPlugin {
    form: Some(15),
    version: 0.94,
    next_id: 0xEA6,
    master: Some("Fallout3.esm"),
    ..SKYRIM_DUMMY
};

pub(super) const OBLIVION: PackRules = PackRules {
    main: NewKind::Tes4(103),
    textures: None,
    loads: Loads::Plugin,
    next: NextName::Prefix,
    size_max: BSA_MAX,
    weighs_dates: true,
    dummy: Some(DummyPlugin { form: None, version: 1.0, ..SKYRIM_DUMMY }),
};

pub(super) const MORROWIND: PackRules = PackRules {
    main: NewKind::Tes3,
    loads: Loads::Line("[Archives] Archive N={} in Morrowind.ini, with the next free N"),
    next: NextName::Any,
    dummy: None,
    ..OBLIVION
};

pub(super) const OPENMW: PackRules =
    PackRules { loads: Loads::Line("fallback-archive={} in openmw.cfg"), weighs_dates: false, ..MORROWIND };

pub(super) const FALLOUT3: PackRules =
    PackRules { main: NewKind::Tes4(104), weighs_dates: false, dummy: Some(FALLOUT3_DUMMY), ..OBLIVION };

pub(super) const FALLOUTNV: PackRules = PackRules {
    dummy: Some(DummyPlugin {
        version: 1.34,
        next_id: 0xADD,
        master: Some("FalloutNV.esm"),
        ..FALLOUT3_DUMMY
    }),
    ..FALLOUT3
};

pub(super) const SKYRIM: PackRules =
    PackRules { next: NextName::Plugin, dummy: Some(SKYRIM_DUMMY), ..FALLOUT3 };

pub(super) const SKYRIMVR: PackRules = PackRules {
    main: NewKind::Tes4(105),
    textures: Some(NewKind::Tes4(105)),
    dummy: Some(SKYRIMVR_DUMMY),
    ..SKYRIM
};

pub(super) const SKYRIMSE: PackRules =
    PackRules { dummy: Some(DummyPlugin { flags: LIGHT, ..SKYRIMVR_DUMMY }), ..SKYRIMVR };

pub(super) const FALLOUT4VR: PackRules = PackRules {
    main: NewKind::General(1),
    textures: Some(NewKind::Textures(1)),
    size_max: BA2_MAX,
    dummy: Some(FALLOUT4VR_DUMMY),
    ..SKYRIM
};

pub(super) const FALLOUT4: PackRules =
    PackRules { dummy: Some(DummyPlugin { flags: LIGHT, ..FALLOUT4VR_DUMMY }), ..FALLOUT4VR };

pub(super) const FALLOUT76: PackRules = PackRules {
    loads: Loads::Line("sResourceArchive2List=…, {} below [Archive] in Fallout76Custom.ini"),
    next: NextName::Any,
    dummy: None,
    ..FALLOUT4VR
};

pub(super) const STARFIELD: PackRules = PackRules {
    main: NewKind::General(2),
    textures: Some(NewKind::Textures(3)),
    dummy: Some(DummyPlugin {
        ending: PLUGINS[1],
        flags: 0x101,
        form: Some(0x22B),
        version: 0.96,
        ..SKYRIM_DUMMY
    }),
    ..FALLOUT4VR
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::TITLES;
    use crate::game::archive_version::ArchiveVersion;
    use crate::game::titles::title::{AttachRule, LooseSetting};

    #[test]
    fn pack_writes_what_the_game_reads() {
        for title in TITLES {
            let Some(packing) = title.packing else { continue };
            let is_version = |known: &ArchiveVersion| match (*known, packing.main) {
                (ArchiveVersion::Bsa(known), NewKind::Tes4(version)) => known == version,
                (ArchiveVersion::Ba2(known), NewKind::General(version)) => known == version,
                (_, NewKind::Tes3) => true,
                _ => false,
            };
            assert!(title.versions.is_empty() || title.versions.iter().any(is_version), "{}", title.id);
            assert_eq!(title.attach == AttachRule::None, packing.loads != Loads::Plugin, "{}", title.id);
            assert!(packing.weighs_dates || title.loose != LooseSetting::Dates, "{}", title.id);
        }
    }

    #[test]
    fn archives_are_called_as_the_game_attaches_them() {
        let endings = |id| crate::game::title(id).unwrap().archive_endings();
        for (id, expected) in [
            ("morrowind", [".bsa", ".bsa"]),
            ("oblivion", [".bsa", ".bsa"]),
            ("skyrim", [".bsa", ".bsa"]),
            ("skyrimvr", [".bsa", " - Textures.bsa"]),
            ("fallout4", FALLOUT4_ENDINGS),
            ("fallout76", FALLOUT4_ENDINGS),
            ("starfield", FALLOUT4_ENDINGS),
        ] {
            assert_eq!(endings(id), expected, "{id}");
        }
    }

    #[test]
    fn archives_are_called_after_plugins_that_load_them() {
        let plugins = |id| crate::game::title(id).unwrap().archive_plugins();
        for (id, expected) in [
            ("morrowind", &["esp", "esm"][..]),
            ("openmw", &["esp", "esm", "omwaddon", "omwscripts", "omwgame"]),
            ("oblivion", &["esp"]),
            ("fallout3", &["esp", "esm"]),
            ("skyrim", &["esp", "esm"]),
            ("skyrimse", &["esp", "esm", "esl"]),
            ("skyrimvr", &["esp", "esm"]),
            ("fallout4vr", &["esp", "esm"]),
            ("fallout76", &["esm"]),
            ("starfield", &["esp", "esm", "esl"]),
        ] {
            assert_eq!(plugins(id), expected, "{id}");
        }
    }
}
