//! `bsafs which --in`, `conflicts` and `diff` in each world: each file comes from the right layer.

use std::collections::HashSet;

use serde_json::Value;

use super::worlds::{self, World};
use crate::mounted::TestDir;

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Path of the layer that a file should come from.
fn winner(world: &World, path: &str) -> Value {
    let layer = world.expected["winners"][path].as_str();
    layer.map_or(Value::Null, |layer| world.root.join(layer).to_str().unwrap().into())
}

#[test]
fn which_names_the_layer_from_which_the_game_reads_each_file() {
    let dir = TestDir::new();
    for world in worlds::write(&dir) {
        let source = world.source();
        let paths: Vec<&String> = world.expected["winners"].as_object().unwrap().keys().collect();
        let mut arguments = vec!["which", "--json", "--in", &source];
        arguments.extend(paths.iter().map(|path| path.as_str()));
        let finished = world.run(&dir, &arguments);
        assert_eq!(finished.code, 0, "{}: {}", world.name, finished.err);
        let found = json_lines(&finished.out);
        assert_eq!(found.len(), paths.len());
        for (path, found) in paths.iter().zip(found) {
            assert_eq!(found["from"]["archive"], winner(&world, path), "{}: {path}", world.name);
            assert!(!found["from"]["why"].as_str().unwrap().is_empty(), "{}: {found}", world.name);
        }
        // A game keeps its rules when it is merged with another game, here with itself.
        let mut twice = vec!["which", "--json", "--in", &source];
        twice.extend(&arguments[2..]);
        let again = json_lines(&world.run(&dir, &twice).success());
        for (path, found) in paths.iter().zip(again) {
            assert_eq!(found["from"]["archive"], winner(&world, path), "{} named twice: {path}", world.name);
        }
        for path in world.expected["absent"].as_array().unwrap() {
            let finished = world.run(&dir, &["which", "--in", &source, path.as_str().unwrap()]);
            assert_eq!((finished.code, finished.out.as_str()), (1, ""), "{}: {path}", world.name);
        }
    }
}

#[test]
fn archives_of_a_game_are_listed_as_files_on_request() {
    let dir = TestDir::new();
    for world in worlds::write(&dir) {
        let source = world.source();
        let list = |how: &str| world.run(&dir, &["list", how, &source]).success().to_lowercase();
        let (files, both) = (list("--archives=files"), list("--archives=both"));
        for layer in world.expected["layers"].as_array().unwrap() {
            let path = layer["path"].as_str().unwrap().to_lowercase();
            let name = path.rsplit('/').next().unwrap();
            if layer["kind"] == "archive" {
                let is_listed = |list: &str| list.lines().any(|it| it == name);
                assert!(is_listed(&files) && is_listed(&both), "{}: {name}", world.name);
            }
        }
        assert!(!files.contains("meshes/own/"), "{}: an archive was opened", world.name);
    }
}

#[test]
fn conflicts_name_the_layer_that_the_game_uses_and_counts_add_up() {
    let dir = TestDir::new();
    for world in worlds::write(&dir) {
        let source = world.source();
        let finished = world.run(&dir, &["conflicts", "--json", "--compare", &source]);
        assert_eq!(finished.code, 0, "{}: {}", world.name, finished.err);
        // Only the world of Oblivion has this note. Oblivion Remastered's archives share no path.
        let is_unsure = finished.err.contains("archives-share-path: ");
        assert_eq!(is_unsure, world.name == "oblivion", "{}: {}", world.name, finished.err);
        let (conflicts, layers): (Vec<Value>, Vec<Value>) =
            json_lines(&finished.out).into_iter().partition(|line| line["path"].is_string());
        let mut hidden = 0;
        for conflict in &conflicts {
            let path = conflict["path"].as_str().unwrap().to_lowercase();
            let expected = winner(&world, &path);
            assert!(
                expected.is_null() || conflict["winner"]["layer"] == expected,
                "{}: {conflict}",
                world.name
            );
            let copies = conflict["hidden"].as_array().unwrap();
            hidden += copies.len() as u64;
            assert_eq!(conflict["equal"].as_array().unwrap().len(), copies.len());
        }
        let sum = |key: &str| layers.iter().map(|layer| layer[key].as_u64().unwrap()).sum::<u64>();
        let listed = world.run(&dir, &["list", "-0", &source]).out.split_terminator('\0').count() as u64;
        assert_eq!(
            (sum("hidden"), sum("winning"), sum("files")),
            (hidden, listed, hidden + listed),
            "{}",
            world.name
        );
        // If a game reads only some subfolders of a folder, the folder makes two layers.
        let order = world.run(&dir, &["order", "--json", &source]).out;
        let order: Value = serde_json::from_str(&order).unwrap();
        let planned = order["layers"].as_array().unwrap().iter().map(|it| it["path"].clone());
        let of_conflicts: HashSet<Value> = layers.iter().map(|it| it["layer"].clone()).collect();
        assert!(of_conflicts.is_subset(&planned.collect()), "{}", world.name);
        let same = world.run(&dir, &["diff", &source, &source]);
        assert_eq!(same.out, format!("0 added, 0 removed, 0 changed, {listed} equal\n"), "{}", world.name);
    }
}
