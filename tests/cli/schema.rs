//! `bsafs schema`: the output of every command with `--json` follows the schema, and has no other fields.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use bsafs::pack::LooseReason;
use serde_json::{Value, json};

use super::with_a_bad_file;
use crate::mounted::{Finished, TestDir, run};
use crate::support::Tes3;
use crate::support::mesh::Nif;

/// Whether a value follows a part of the schema. The error says where it does not.
fn check(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.strip_prefix("#/$defs/").unwrap();
        return check(root, &root["$defs"][name], value, at);
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let failed: Vec<String> = any.iter().filter_map(|it| check(root, it, value, at).err()).collect();
        return if failed.len() < any.len() { Ok(()) } else { Err(failed.join("; ")) };
    }
    if let Some(values) = schema["enum"].as_array() {
        return if values.contains(value) { Ok(()) } else { Err(format!("{at}: {value}")) };
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let kinds = match &schema["type"] {
        Value::Array(kinds) => kinds.clone(),
        kind => vec![kind.clone()],
    };
    if !kinds.contains(&kind.into()) {
        return Err(format!("{at} is {kind} instead of {kinds:?}"));
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        check(root, &schema["items"], item, &format!("{at}[{index}]"))?;
    }
    let Some(object) = value.as_object() else { return Ok(()) };
    for name in schema["required"].as_array().into_iter().flatten() {
        object.get(name.as_str().unwrap()).ok_or_else(|| format!("{at} has no {name}"))?;
    }
    for (name, value) in object {
        let at = format!("{at}.{name}");
        let known = schema["properties"].get(name).or_else(|| schema.get("additionalProperties"));
        check(root, known.ok_or_else(|| format!("{at} is not in the schema"))?, value, &at)?;
    }
    Ok(())
}

/// A home with a game and an instance of Mod Organizer 2, and a mount.
fn prepared() -> TestDir {
    let dir = TestDir::new();
    dir.archive("a.bsa", &with_a_bad_file());
    let b = Tes3::new().file("scripts\\main.pex", b"other").file("b.dds", b"DDS ");
    dir.archive("b.bsa", &b.build());
    let mesh = Nif::SkyrimSe.naming(&["textures\\there.dds", "textures\\gone.dds"]);
    fs::create_dir_all(dir.path("mesh.nif.d/textures")).unwrap();
    fs::write(dir.path("mesh.nif.d/a.nif"), mesh).unwrap();
    fs::write(dir.path("mesh.nif.d/bad.nif"), "").unwrap();
    fs::write(dir.path("mesh.nif.d/textures/there.dds"), "DDS ").unwrap();
    let cut = b.build();
    dir.archive("cut.bsa", &cut[..cut.len() - 1]);
    fs::write(dir.path("manifest"), dir.run(["list", "--hash", "b.bsa"]).success()).unwrap();
    let game = dir.path("home/Games/Skyrim");
    fs::create_dir_all(game.join("Data")).unwrap();
    fs::create_dir_all(dir.path("home/Games/Fallout")).unwrap();
    fs::write(dir.path("home/Games/Fallout/Fallout4.exe"), "").unwrap();
    fs::write(game.join("SkyrimSE.exe"), "").unwrap();
    fs::write(game.join("Data/Skyrim.esm"), "").unwrap();
    fs::copy(dir.path("b.bsa"), game.join("Data/Unlisted.bsa")).unwrap();
    fs::create_dir_all(dir.path("home/MO2/profiles/P")).unwrap();
    let path = game.to_str().unwrap().replace('/', "\\\\");
    let ini = format!("[General]\nselected_profile=P\ngamePath=@ByteArray(Z:{path})\n");
    fs::write(dir.path("home/MO2/ModOrganizer.ini"), ini).unwrap();
    fs::create_dir_all(dir.path("home/MO2/profiles/Q")).unwrap();
    fs::write(dir.path("home/MO2/profiles/P/modlist.txt"), "+Off\r\n+One\r\n").unwrap();
    fs::write(dir.path("home/MO2/profiles/Q/modlist.txt"), "+One\r\n+Two\r\n+Off\r\n").unwrap();
    for (name, file) in [("One", "one.txt"), ("Two", "b.bsa"), ("Off", "off.txt")] {
        fs::create_dir_all(dir.path("home/MO2/mods").join(name)).unwrap();
        fs::copy(dir.path("b.bsa"), dir.path("home/MO2/mods").join(name).join(file)).unwrap();
    }
    let plugin = [&b"TES4"[..], &[0; 20]].concat();
    fs::write(dir.path("home/MO2/mods/Two/two.esp"), plugin).unwrap();
    fs::write(dir.path("home/MO2/profiles/Q/plugins.txt"), "*two.esp\r\n").unwrap();
    dir
}

#[test]
fn the_output_of_every_command_follows_the_schema() {
    let dir = prepared();
    let schema: Value = serde_json::from_str(&dir.run(["schema"]).success()).unwrap();
    assert_eq!(schema["version"], 3);
    let game = dir.path("home/Games/Skyrim");
    let mount = dir.mount(["--edit", "mod", "a.bsa", "b.bsa"]);
    let commands: [&[&str]; 24] = [
        &["list", "--pixels", "a.bsa", "b.bsa"],
        &["info", "a.bsa", "cut.bsa"],
        &["info", "home/MO2/profiles"],
        &["info", game.to_str().unwrap()],
        &["verify", "a.bsa", "b.bsa"],
        &["which", "mnt/scripts/main.pex"],
        &["which", "--in", "b.bsa", "b.dds"],
        &["why", "--in", "b.bsa", "b.dds"],
        &["needs", "mesh.nif.d"],
        &["needs", "mesh.nif.d", "--who", "textures/gone.dds"],
        &["games", "--prefixes"],
        &["status", "mnt"],
        &["mounts"],
        &["games"],
        &["order", "a.bsa"],
        &["order", "--counts", "a.bsa"],
        &["order", game.to_str().unwrap()],
        &["conflicts", "--compare", "a.bsa", "b.bsa"],
        &["diff", "a.bsa", "b.bsa"],
        &["diff", "b.bsa", "a.bsa"],
        &["diff", "manifest", "a.bsa"],
        &["diff", "home/MO2/profiles/P", "home/MO2/profiles/Q"],
        &["pack", "b.bsa", "--game", "skyrimse", "--name", "B", "-n", "--in", game.to_str().unwrap()],
        &["pack", "b.bsa", "--game", "skyrimse", "--name", "B", "-o", "packed", "--all"],
    ];
    for command in commands {
        let mut program = dir.bsafs([command, &["--json"]].concat());
        program.env("HOME", dir.path("home")).env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME");
        let Finished { out, err, .. } = run(&mut program);
        assert!(!out.is_empty(), "{command:?}: {err}");
        for line in out.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let checked = check(&schema, &schema["$defs"][command[0]], &line, command[0]);
            assert_eq!(checked, Ok(()), "{command:?}: {line}");
        }
    }
    mount.umount(&dir);

    let mount = dir.mount(["a.bsa"]);
    let mut watch = dir.bsafs(["watch", "mnt", "--json"]);
    let mut watch = watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(watch.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    fs::rename(dir.path("b.bsa"), dir.path("a.bsa")).unwrap();
    line.clear();
    BufReader::new(watch.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let line: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(check(&schema, &schema["$defs"]["watch"], &line, "watch"), Ok(()), "{line}");
    mount.umount(&dir);
    assert!(watch.wait().unwrap().success());
}

#[test]
fn the_schema_has_every_reason_why_a_file_stays_loose() {
    let schema: Value = serde_json::from_str(include_str!("../../src/cli/schema.json")).unwrap();
    let text = schema.to_string();
    let start = text.find("[\"data-only\"").unwrap();
    let listed: Vec<String> =
        serde_json::from_str(&text[start..=start + text[start..].find(']').unwrap()]).unwrap();
    let mut codes: Vec<&str> = LooseReason::ALL.iter().map(|reason| reason.code()).collect();
    let mut listed: Vec<&str> = listed.iter().map(String::as_str).collect();
    codes.sort_unstable();
    listed.sort_unstable();
    assert_eq!(listed, codes);
}

#[test]
fn the_check_of_the_schema_finds_missing_and_unknown_fields() {
    let dir = TestDir::new();
    let schema: Value = serde_json::from_str(&dir.run(["schema"]).success()).unwrap();
    let check = |value: &Value| check(&schema, &schema["$defs"]["finding"], value, "it");
    assert_eq!(check(&json!({"path": "a", "what": "b"})), Ok(()));
    for wrong in
        [json!({"path": "a"}), json!({"path": "a", "what": 1}), json!({"path": "a", "what": "b", "c": 1})]
    {
        assert!(check(&wrong).is_err(), "{wrong}");
    }
}
