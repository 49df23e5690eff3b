//! `bsafs mount` of each world: the winner of each path, absent paths, and plugins.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::worlds::{self, World};
use crate::mounted::{Mounted, TestDir, mount_table};
use crate::support::Tes3;

/// Runs a command that mounts on a folder of the test. It may print warnings, because some files of
/// the worlds are unusable on purpose.
fn mount(world: &World, dir: &TestDir, arguments: &[&str], mountpoint: &str) -> Mounted {
    let finished = world.run(dir, arguments);
    assert_eq!(finished.code, 0, "{}: {arguments:?}: {}", world.name, finished.err);
    Mounted::at(&dir.path(mountpoint), finished.out)
}

/// Maps the lower-case path of each file below a folder to its path as listed.
fn listed(folder: &Path) -> HashMap<String, PathBuf> {
    let (mut found, mut folders) = (HashMap::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
                continue;
            }
            let name = entry.path().strip_prefix(folder).unwrap().to_str().unwrap().to_lowercase();
            assert_eq!(found.insert(name, entry.path()), None, "the file was listed twice");
        }
    }
    found
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().unwrap().iter().map(|it| it.as_str().unwrap())
}

#[test]
fn every_world_shows_the_winner_of_each_path() {
    let dir = TestDir::new();
    for world in worlds::write(&dir) {
        for source in world.sources() {
            let mount = mount(&world, &dir, &["mount", source.to_str().unwrap(), "mnt"], "mnt");
            let label = format!("{} by {}", world.name, source.display());
            let mut listed = listed(&mount.path);
            for (path, layer) in world.expected["winners"].as_object().unwrap() {
                let content = format!("layer: {}\n", layer.as_str().unwrap());
                let found = listed.remove(path).unwrap_or_else(|| panic!("{label}: no {path}"));
                for spelling in [found, mount.join(path), mount.join(path.to_uppercase())] {
                    let read = String::from_utf8(fs::read(spelling).unwrap()).unwrap();
                    assert!(read.starts_with(&content), "{label}: {path}: {content}{read}");
                }
            }
            for path in texts(&world.expected["absent"]) {
                assert!(!mount.join(path).exists() && !listed.contains_key(path), "{label}: {path}");
            }
            let folders = world.expected["layers"].as_array().unwrap().iter();
            let folders: Vec<PathBuf> = folders
                .filter(|layer| layer["kind"] == "folder")
                .map(|layer| world.root.join(layer["path"].as_str().unwrap()))
                .collect();
            for plugin in texts(&world.expected["plugins"]) {
                if let Some(file) = folders.iter().rev().map(|it| it.join(plugin)).find(|it| it.is_file()) {
                    assert_eq!(mount.read(plugin), fs::read(file).unwrap(), "{label}: {plugin}");
                }
            }
            // The rest are plugins, and archives that nothing loads.
            for (name, path) in listed {
                let read = fs::read(path).unwrap();
                assert!(!read.starts_with(b"layer: "), "{label}: {name} is in no layer");
            }
            mount.umount(&dir);
        }
    }
}

/// File name of the layer in `textures/shared.dds`, a file that most archives of a world have.
fn shared(mount: &Mounted) -> String {
    let text = String::from_utf8(mount.read("textures/shared.dds")).unwrap();
    text.lines().next().unwrap().rsplit('/').next().unwrap().to_owned()
}

/// Oddities in the order in which a mount reports them: a noun, which gets an `s`, and the words after it.
const ODD: [(&str, &str, &str); 12] = [
    ("archive-missing", "missing archive", ""),
    ("archive-unlisted", "archive", " that no plugin or INI file loads"),
    ("archive-inactive", "archive", " whose plugin is not active"),
    ("archive-shadowed", "archive", " hidden by another of the same name"),
    ("plugin-missing", "missing plugin", ""),
    ("folder-missing", "missing folder", ""),
    ("folder-case", "folder name", " spelled in several ways"),
    ("loose-disabled", "loose file", " that the game ignores"),
    ("never-started", "missing settings file", ""),
    ("mo2-mod-missing", "missing mod", ""),
    ("ini-section-twice", "repeated INI section", ""),
    ("loose-older", "loose file", " hidden by an archive that is not older"),
];

/// The oddities of a world as the report of a mount shows them: one kind in words, of several the names.
fn oddities(world: &World) -> String {
    let mut subjects: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for note in world.expected["lint_subjects"].as_array().unwrap() {
        let subject = note["subject"].as_str().unwrap();
        // Archives are named without their folder.
        let is_archive = subject.ends_with(".bsa") || subject.ends_with(".ba2");
        let name = if is_archive || subject.starts_with('/') {
            subject.rsplit('/').next().unwrap()
        } else {
            subject
        };
        subjects.entry(note["code"].as_str().unwrap()).or_default().push(name);
    }
    let mut kinds: Vec<(&str, &str, usize, Vec<&str>)> = Vec::new();
    for (code, thing, which) in ODD {
        let Some(mut names) = subjects.remove(code) else { continue };
        names.sort_unstable();
        let number = names.len();
        // One note counts them.
        names.truncate(if code == "loose-disabled" { 1 } else { 3 });
        kinds.push((thing, which, number, names));
    }
    assert!(subjects.is_empty(), "{}: {subjects:?}", world.name);
    let more = |number: usize, names: usize| match number - names {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    match &kinds[..] {
        [] => String::new(),
        [(thing, which, number, names)] => {
            let plural = if *number == 1 { "" } else { "s" };
            let is_disabled = which.ends_with("ignores");
            let why = if is_disabled { ": loose files are not enabled".into() } else { String::new() };
            format!(
                "{number} {thing}{plural}{which}{why} ({}{})",
                names.join(", "),
                more(*number, names.len())
            )
        }
        several => {
            let number = several.iter().map(|(_, _, number, _)| number).sum();
            let at = |at: usize| {
                several.iter().filter_map(move |(thing, _, _, names)| Some((thing, names.get(at)?)))
            };
            let shown = |(thing, name): (&&str, &&str)| {
                let says_all = ["archive", "plugin"].iter().any(|it| thing.contains(it));
                if says_all || name.starts_with("no ") {
                    name.to_string()
                } else {
                    format!("{thing} \"{name}\"")
                }
            };
            let names: Vec<String> = (0..3).flat_map(at).take(3).map(shown).collect();
            format!("{number} things ({}{})", names.join(", "), more(number, names.len()))
        }
    }
}

#[test]
fn a_game_without_a_mountpoint_is_mounted_on_a_folder_named_by_its_id() {
    let dir = TestDir::new();
    for (name, id) in [("skyrimse", "skyrimse"), ("morrowind", "morrowind")] {
        let Some(world) = worlds::world(&dir, name) else { return };
        let mount = mount(&world, &dir, &["mount", id], id);
        let plugins = world.expected["plugins"].as_array().unwrap().len();
        assert!(mount.report.starts_with(&format!("{id}: {plugins} plugins active; ")), "{}", mount.report);
        let order = format!(": bsafs order {}\n", dir.path(id).display());
        assert!(mount.report.contains(&order), "{}", mount.report);
        mount.umount(&dir);
        assert!(!dir.path(id).exists());
    }
}

#[test]
fn the_report_of_a_mount_is_short_and_matches_order_and_info() {
    let dir = TestDir::new();
    for world in worlds::write(&dir) {
        let source = world.source();
        let mount = mount(&world, &dir, &["mount", &source, "mnt"], "mnt");
        mount.umount(&dir);
        let lines: Vec<&str> = mount.report.lines().collect();
        let (report, label) = (&mount.report, &world.name);
        assert!(lines.len() <= 6, "{label}: {report}");
        let is_by_date = world.expected["precedence"]["loose"] == "newer";
        assert_eq!(report.contains("loose files win if they are newer"), is_by_date, "{label}: {report}");
        let odd = lines.iter().find_map(|line| line.strip_prefix("odd: ")?.split_once(": bsafs order "));
        assert_eq!(odd.map_or("", |(odd, _)| odd), oddities(&world), "{label}");
        // A folder that makes two layers is counted once.
        let folders = world.expected["layers"].as_array().unwrap().iter().filter(|it| it["kind"] == "folder");
        let folders = match folders.count() {
            1 => "1 folder,".to_owned(),
            folders => format!("{folders} folders,"),
        };
        assert!(report.contains(&folders), "{label}: {folders} {report}");

        let order = world.run(&dir, &["order", &source]).success();
        let described = world.run(&dir, &["info", &source]).success();
        let plugins = described.strip_prefix(&order).unwrap_or_else(|| panic!("{label}: {described}"));
        let plugins: Vec<&str> = plugins.lines().skip(2).map(str::trim_start).collect();
        assert_eq!(plugins, texts(&world.expected["plugins"]).collect::<Vec<_>>(), "{label}");
        let json = |command: &str| world.run(&dir, &[command, "--json", &source]).success();
        assert_eq!(json("info"), json("order"), "{label}");
    }
}

#[test]
fn an_archive_named_after_a_game_wins_over_the_game() {
    let dir = TestDir::new();
    let Some(world) = worlds::world(&dir, "skyrimse") else { return };
    dir.archive("My Mod.bsa", &Tes3::new().file("textures\\shared.dds", b"layer: My Mod\n").build());
    let profile = "archives = ['skyrimse', 'My Mod.bsa']\nmountpoint = 'mnt'\noptions = 'precedence=first'\n";
    fs::write(dir.path("game.toml"), profile).unwrap();
    let first = ["mount", "skyrimse", "My Mod.bsa", "mnt", "-o", "precedence=first"];
    for (arguments, archives) in [
        (&first[..4], "the last one loaded wins"),
        (&first, "the first one loaded wins"),
        (&["mount", "game.toml", "mnt"], "the first one loaded wins"),
        (&["mount", "game.toml", "mnt", "--precedence=last"], "the last one loaded wins"),
    ] {
        let mount = mount(&world, &dir, arguments, "mnt");
        assert_eq!(shared(&mount), "layer: My Mod", "{arguments:?}");
        let order = world.run(&dir, &["order", "mnt"]).success();
        assert!(order.contains(&format!("\narchives    {archives}\n")), "{arguments:?} {order}");
        mount.umount(&dir);
    }
}

#[test]
fn options_of_games_are_accepted_after_o_as_in_fstab() {
    let dir = TestDir::new();
    let Some(world) = worlds::world(&dir, "skyrimse") else { return };
    let winner = world.expected["winners"]["textures/shared.dds"].as_str().unwrap();
    let last = winner.rsplit('/').next().unwrap();
    let prefix = world.folder("my_games");
    let prefix = prefix.ancestors().find(|folder| folder.ends_with("pfx")).unwrap();
    let with_prefix = format!("prefix={},precedence=first", prefix.display());
    for (options, winner) in
        [("ro", last), ("rw,nofail,precedence=last", last), (&with_prefix, "Skyrim - Misc.bsa")]
    {
        let mount = mount(&world, &dir, &["skyrimse", "mnt", "-o", options], "mnt");
        assert_eq!(shared(&mount), winner, "{options}");
        let table = mount_table("mountinfo");
        let line = table.lines().find(|line| line.contains(mount.path.to_str().unwrap())).unwrap();
        assert!(line.contains(" fuse.bsafs skyrimse "), "{line}");
        mount.umount(&dir);
    }
    for options in ["prefix=/nowhere", "precedence=middle", "game_dir=/nowhere"] {
        let failed = world.run(&dir, &["skyrimse", "mnt", "-o", options]);
        assert!(failed.code != 0 && !dir.path("mnt/textures").exists(), "{options}: {failed:?}");
        let value = options.split_once('=').unwrap().1;
        assert!(failed.err.lines().count() == 1 && failed.err.contains(value), "{}", failed.err);
    }
}

#[test]
fn fallout_4_without_loose_files_still_shows_some_kinds_of_files() {
    let dir = TestDir::new();
    let Some(world) = worlds::world(&dir, "fallout4-loose-off") else { return };
    let data = world.folder("game_dir").join("Data");
    for path in ["textures/only loose.dds", "Strings/a.strings", "F4SE/Plugins/a.dll", "readme.txt"] {
        fs::create_dir_all(data.join(path).parent().unwrap()).unwrap();
        fs::write(data.join(path), b"loose").unwrap();
    }
    let mount = mount(&world, &dir, &["mount", "fallout4", "mnt"], "mnt");
    for path in ["strings/a.strings", "f4se/plugins/a.dll", "readme.txt"] {
        assert_eq!(mount.read(path), b"loose", "{path}");
    }
    assert!(!mount.join("textures/only loose.dds").exists());
    assert!(mount.read("textures/shared.dds").starts_with(b"layer: "));
    mount.umount(&dir);
}
