//! The archives that each game lists in its original INI files.
//!
//! They stand in for keys that no INI file has, mostly before the game's first start. `{lang}` is
//! the language.

/// Keys of an INI file, each with the archives that it lists, as the file has them: separated by commas.
pub(super) type Lists = &'static [(&'static str, &'static str)];

pub(super) const MORROWIND: Lists = &[("Archive ", "Tribunal.bsa, Bloodmoon.bsa")];

pub(super) const OBLIVION: Lists = &[(
    "sArchiveList",
    "\
    Oblivion - Meshes.bsa, Oblivion - Textures - Compressed.bsa, Oblivion - Sounds.bsa, \
    Oblivion - Voices1.bsa, Oblivion - Voices2.bsa, Oblivion - Misc.bsa",
)];

pub(super) const NEHRIM: Lists = &[(
    "sArchiveList",
    "\
    N - Meshes.bsa, N - Textures1.bsa, N - Textures2.bsa, N - Misc.bsa, N - Sounds.bsa, \
    L - Voices.bsa, L - Misc.bsa",
)];

pub(super) const FALLOUT_3: Lists = &[(
    "sArchiveList",
    "\
    Fallout - Textures.bsa, Fallout - Meshes.bsa, Fallout - Voices.bsa, Fallout - Sound.bsa, \
    Fallout - MenuVoices.bsa, Fallout - Misc.bsa",
)];

pub(super) const NEW_VEGAS: Lists = &[(
    "sArchiveList",
    "\
    Fallout - Textures.bsa, Fallout - Textures2.bsa, Fallout - Meshes.bsa, \
    Fallout - Voices1.bsa, Fallout - Sound.bsa, Fallout - Misc.bsa",
)];

const SKYRIM_1: &str = "\
    Skyrim - Misc.bsa, Skyrim - Shaders.bsa, Skyrim - Textures.bsa, Skyrim - Interface.bsa, \
    Skyrim - Animations.bsa, Skyrim - Meshes.bsa, Skyrim - Sounds.bsa";

pub(super) const SKYRIM: Lists = &[
    ("sResourceArchiveList", SKYRIM_1),
    ("sResourceArchiveList2", "Skyrim - Voices.bsa, Skyrim - VoicesExtra.bsa"),
];

pub(super) const ENDERAL: Lists = &[
    ("sResourceArchiveList", SKYRIM_1),
    (
        "sResourceArchiveList2",
        "\
    E - Meshes.bsa, E - Music.bsa, E - Scripts.bsa, E - Sounds.bsa, E - Textures1.bsa, \
    E - Textures2.bsa, E - Textures3.bsa, L - Textures.bsa, L - Voices.bsa",
    ),
];

const SKYRIM_SE_1: &str = "\
    Skyrim - Misc.bsa, Skyrim - Shaders.bsa, Skyrim - Interface.bsa, Skyrim - Animations.bsa, \
    Skyrim - Meshes0.bsa, Skyrim - Meshes1.bsa, Skyrim - Sounds.bsa";

pub(super) const SKYRIM_SE: Lists = &[
    ("sResourceArchiveList", SKYRIM_SE_1),
    (
        "sResourceArchiveList2",
        "\
    Skyrim - Voices_{lang}0.bsa, Skyrim - Textures0.bsa, Skyrim - Textures1.bsa, \
    Skyrim - Textures2.bsa, Skyrim - Textures3.bsa, Skyrim - Textures4.bsa, \
    Skyrim - Textures5.bsa, Skyrim - Textures6.bsa, Skyrim - Textures7.bsa, \
    Skyrim - Textures8.bsa, Skyrim - Patch.bsa",
    ),
];

pub(super) const ENDERAL_SE: Lists = &[
    ("sResourceArchiveList", SKYRIM_SE_1),
    (
        "sResourceArchiveList2",
        "\
    Skyrim - Voices_{lang}0.bsa, Skyrim - Textures0.bsa, Skyrim - Textures1.bsa, \
    Skyrim - Textures2.bsa, Skyrim - Textures3.bsa, Skyrim - Textures4.bsa, \
    Skyrim - Textures5.bsa, Skyrim - Textures6.bsa, Skyrim - Textures7.bsa, \
    Skyrim - Textures8.bsa, E - Meshes.bsa, E - SE.bsa, E - Scripts.bsa, E - Sounds.bsa, \
    E - Textures1.bsa, E - Textures2.bsa, E - Textures3.bsa, L - Textures.bsa, L - Voices.bsa, \
    E - Misc.bsa, E - Update.bsa",
    ),
];

const FALLOUT_4_LIST: (&str, &str) = (
    "SResourceArchiveList",
    "\
    Fallout4 - Voices.ba2, Fallout4 - Meshes.ba2, Fallout4 - MeshesExtra.ba2, \
    Fallout4 - Misc.ba2, Fallout4 - Sounds.ba2, Fallout4 - Materials.ba2",
);
const FALLOUT_4_LIST_2: (&str, &str) = ("SResourceArchiveList2", "Fallout4 - Animations.ba2");

pub(super) const FALLOUT_4: Lists = &[
    (
        "sResourceIndexFileList",
        "\
    Fallout4 - Textures1.ba2, Fallout4 - Textures2.ba2, Fallout4 - Textures3.ba2, \
    Fallout4 - Textures4.ba2, Fallout4 - Textures5.ba2, Fallout4 - Textures6.ba2, \
    Fallout4 - Textures7.ba2, Fallout4 - Textures8.ba2, Fallout4 - Textures9.ba2",
    ),
    (
        "sResourceStartUpArchiveList",
        "\
    Fallout4 - Startup.ba2, Fallout4 - Shaders.ba2, Fallout4 - Interface.ba2",
    ),
    FALLOUT_4_LIST,
    FALLOUT_4_LIST_2,
];

pub(super) const FALLOUT_4_VR: Lists = &[
    (
        "sResourceIndexFileList",
        "\
    Fallout4 - Textures1.ba2, Fallout4 - Textures2.ba2, Fallout4 - Textures3.ba2, \
    Fallout4 - Textures4.ba2, Fallout4 - Textures5.ba2, Fallout4 - Textures6.ba2, \
    Fallout4 - Textures7.ba2, Fallout4 - Textures8.ba2, Fallout4 - Textures9.ba2, \
    Fallout4_VR - Main.ba2, Fallout4_VR - Textures.ba2",
    ),
    (
        "sResourceStartUpArchiveList",
        "\
    Fallout4 - Startup.ba2, Fallout4 - Shaders.ba2, Fallout4 - Interface.ba2, \
    Fallout4_VR - Shaders.ba2",
    ),
    FALLOUT_4_LIST,
    FALLOUT_4_LIST_2,
];

pub(super) const FALLOUT_76: Lists = &[
    (
        "sResourceIndexFileList",
        "\
    SeventySix - Textures01.ba2, SeventySix - Textures02.ba2, SeventySix - Textures03.ba2, \
    SeventySix - Textures04.ba2, SeventySix - Textures05.ba2, SeventySix - Textures06.ba2",
    ),
    (
        "sResourceStartUpArchiveList",
        "\
    SeventySix - Interface.ba2, SeventySix - Localization.ba2, SeventySix - Shaders.ba2, \
    SeventySix - Startup.ba2",
    ),
    (
        "SResourceArchiveList",
        "\
    SeventySix - GeneratedMeshes.ba2, SeventySix - Materials.ba2, SeventySix - Meshes01.ba2, \
    SeventySix - Meshes02.ba2, SeventySix - MeshesExtra.ba2, SeventySix - MiscClient.ba2, \
    SeventySix - Sounds01.ba2, SeventySix - Sounds02.ba2, SeventySix - Startup.ba2, \
    SeventySix - Voices.ba2",
    ),
    (
        "SResourceArchiveList2",
        "\
    SeventySix - Animations.ba2, SeventySix - EnlightenInteriors.ba2, \
    SeventySix - GeneratedTextures.ba2, SeventySix - EnlightenExteriors01.ba2, \
    SeventySix - EnlightenExteriors02.ba2",
    ),
    ("sResourceArchive2List", "SeventySix - ATX_Main.ba2, SeventySix - ATX_Textures.ba2"),
];

/// Unknown and not needed, because the game's folder always contains the INI file.
pub(super) const STARFIELD: Lists = &[
    ("sResourceIndexFileList", ""),
    ("sResourceStartUpArchiveList", ""),
    ("SResourceArchiveList", ""),
    ("sResourceEnglishVoiceList", ""),
];
