//! The loose files of a mod, for tests that pack them.

use super::content::{noise, texels, text};
use super::dds;

/// The paths of a mod's files, with `/` between names, and their content: every kind of file that games load.
/// Headers of textures are as DirectXTex writes them, so that they come back equal from a BA2.
pub fn mod_files() -> Vec<(String, Vec<u8>)> {
    let mut files = vec![
        ("MyMod.esp".into(), b"TES4".to_vec()),
        ("Meshes/Clutter/Bucket01.nif".into(), text(1, 40_000)),
        ("Meshes/Clutter/Noise.nif".into(), noise(2, 5_000)),
        ("Meshes/Clutter/Empty.nif".into(), Vec::new()),
        ("Meshes/Clutter/tiny.kf".into(), b"k".to_vec()),
        ("Sound/FX/amb.wav".into(), text(3, 30_000)),
        ("Sound/Voice/MyMod.esp/F/hello.fuz".into(), text(4, 9_000)),
        ("Music/theme.xwm".into(), text(5, 9_000)),
        ("Strings/MyMod_english.STRINGS".into(), text(6, 3_000)),
        ("Scripts/main.pex".into(), text(7, 2_000)),
        ("Interface/menu.swf".into(), text(8, 2_000)),
        ("Textures/picture.png".into(), text(9, 2_000)),
    ];
    let mut texture = |path: &str, format, width, height, mips, cube| {
        let mut file = dds::header(format, width, height, mips, cube);
        let face: usize = dds::mip_bytes(format, width, height, mips).into_iter().sum();
        file.extend(texels(path.len() as u64, if cube { face * 6 } else { face }));
        files.push((format!("Textures/{path}.dds"), file));
    };
    texture("Rocks/rock01", dds::BC1, 1024, 1024, 11, false);
    texture("Rocks/rock01_n", dds::BC7, 512, 512, 10, false);
    texture("Rocks/rock_srgb", dds::BC7_SRGB, 256, 64, 1, false);
    texture("Sky/cube", dds::BC3, 64, 64, 7, true);
    texture("odd sides", dds::RGBA8, 163, 81, 8, false);
    texture("normal", dds::BC5, 16, 16, 5, false);
    files
}

/// Ids of games, one for each kind of archive.
pub const GAMES: [&str; 10] = [
    "morrowind",
    "openmw",
    "oblivion",
    "fallout3",
    "falloutnv",
    "skyrim",
    "skyrimse",
    "fallout4",
    "fallout76",
    "starfield",
];
