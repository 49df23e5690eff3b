//! The plugins that `bsafs pack --dummy` writes, read by esplugin as LOOT does.

use std::fs;

use bsafs::OpenOptions;
use bsafs::pack::{Loader, PackOptions, Plan};
use esplugin::{GameId, ParseOptions, Plugin};

/// The game, how esplugin calls it, the ending of a plugin, whether it is light, the version of the format,
/// and the masters: as FORMATS.md lists them.
type Row = (&'static str, GameId, &'static str, bool, f32, &'static [&'static str]);

const ROWS: [Row; 8] = [
    ("oblivion", GameId::Oblivion, "esp", false, 1.0, &[]),
    ("fallout3", GameId::Fallout3, "esp", false, 0.94, &["Fallout3.esm"]),
    ("falloutnv", GameId::FalloutNV, "esp", false, 1.34, &["FalloutNV.esm"]),
    ("skyrim", GameId::Skyrim, "esp", false, 1.7, &[]),
    ("skyrimse", GameId::SkyrimSE, "esp", true, 1.7, &[]),
    ("skyrimvr", GameId::SkyrimSE, "esp", false, 1.7, &[]),
    ("fallout4", GameId::Fallout4, "esp", true, 0.95, &[]),
    ("starfield", GameId::Starfield, "esm", true, 0.96, &[]),
];

#[test]
fn dummies_of_every_game_are_valid_plugins_with_the_flags_of_the_game() {
    for (game, id, ending, is_light, version, masters) in ROWS {
        let folder = tempfile::TempDir::new().unwrap();
        fs::create_dir_all(folder.path().join("Mod/meshes")).unwrap();
        fs::write(folder.path().join("Mod/meshes/a.nif"), "mesh").unwrap();
        let vfs = OpenOptions::new().open([folder.path().join("Mod")]).unwrap();
        let mut options = PackOptions::new(game).unwrap();
        (options.name, options.dummies) = (Some("Mine".into()), true);
        let packed = Plan::new(&vfs, &options).unwrap().write(folder.path()).unwrap();
        assert_eq!(packed[0].loader, Loader::Missing("Mine".into()), "{game}");
        let path = folder.path().join(format!("Mine.{ending}"));
        assert!(Plugin::is_valid(id, &path, ParseOptions::whole_plugin()), "{game}");
        let mut plugin = Plugin::new(id, &path);
        plugin.parse_file(ParseOptions::whole_plugin()).unwrap();
        let read = (plugin.is_light_plugin(), plugin.is_master_file(), plugin.header_version());
        assert_eq!(read, (is_light, ending == "esm", Some(version)), "{game}");
        assert_eq!(plugin.masters().unwrap(), masters, "{game}");
        assert_eq!(plugin.record_and_group_count(), Some(0), "{game}");
        if is_light {
            // Starfield numbers records by their masters, of which there are none.
            plugin.resolve_record_ids(&[]).unwrap();
            assert!(plugin.is_valid_as_light_plugin().unwrap(), "{game}");
        }
    }
}
