//! `bsafs games` in each world finds the game, its folder and the folders of its prefix.

use std::path::Path;

use serde_json::Value;

use super::worlds;
use crate::mounted::TestDir;

#[test]
fn games_finds_the_game_of_every_world_with_its_folders() {
    let dir = TestDir::new();
    for world in worlds::write(&dir) {
        let printed = world.run(&dir, &["games", "--json"]).success();
        let lines: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        // Other lines name games of the machine that runs the test, or unusable folders.
        let is_of_world = |line: &&Value| {
            line["game_dir"].as_str().is_some_and(|path| Path::new(path).starts_with(&world.root))
        };
        let (instances, games): (Vec<&Value>, Vec<&Value>) =
            lines.iter().filter(is_of_world).partition(|line| line["instance"].is_string());
        let [game] = games[..] else { panic!("{}: {printed}", world.name) };
        assert_eq!(game["game"], world.expected["game"], "{}", world.name);
        let found: Vec<_> = instances.iter().map(|it| it["instance"].as_str().map(Path::new)).collect();
        let instance = world.path("mo2_dir");
        assert_eq!(found, Vec::from_iter(instance.as_deref().map(Some)), "{}: {printed}", world.name);
        assert!(instances.iter().all(|it| it["game"] == game["game"]), "{}: {printed}", world.name);
        for key in ["game_dir", "local_dir", "my_games"] {
            // OpenMW reads a chain of settings folders. `bsafs games` prints the first, but
            // expected.json has the highest.
            let expected = match key {
                "local_dir" | "my_games" if world.name == "openmw-chain" => {
                    Some(world.root.join(world.expected["config_dirs"][1].as_str().unwrap()))
                }
                // If the game never ran, the folder does not exist.
                _ => world.path(key),
            };
            assert_eq!(game[key].as_str().map(Path::new), expected.as_deref(), "{}: {key}", world.name);
        }
        assert!(game["data_dir"].is_string(), "{}: {printed}", world.name);
    }
}
