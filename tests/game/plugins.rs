//! Which plugins are active, in which order they load, and which archives belong to them. The tests write
//! small installations, and read the plan.

use std::fs::{File, FileTimes};
use std::time::{Duration, SystemTime};

use bsafs::NoteCode;
use bsafs::game::{LayerKind, LoadOrder};

use super::load_orders::{Tree, notes};
use super::small_world::{SKYRIMSE, SmallWorld};
use crate::support::home::plugin;

/// A plugin: its name, the second in which it was changed, and its masters. A name that ends in `.esm` makes
/// it a master, and one that begins with `Blueprint` a blueprint.
type Mod<'a> = (&'a str, u64, &'a [&'a str]);

/// Installs a game with plugins and other files.
fn installed(id: &str, plugins: &[Mod<'_>], files: &[(&str, &str)]) -> Tree {
    let tree = Tree::new(id).with(files);
    let data = tree.installation.folder.join(tree.installation.title.data);
    for (name, time, masters) in plugins {
        let flags = u32::from(name.ends_with(".esm")) | if name.starts_with("Blueprint") { 0x800 } else { 0 };
        let path = data.join(name);
        std::fs::write(&path, plugin(4, flags, masters)).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000 + time);
        File::open(path).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
    }
    tree
}

fn planned(id: &str, plugins: &[Mod<'_>], files: &[(&str, &str)]) -> LoadOrder {
    installed(id, plugins, files).plan()
}

/// Plugins without masters, all of the same time.
fn plain<'a>(names: &[&'a str]) -> Vec<Mod<'a>> {
    names.iter().map(|name| (*name, 0, &[][..])).collect()
}

/// The active plugins if `Plugins.txt` has these lines.
fn active(id: &str, plugins: &[Mod<'_>], lines: &[&str]) -> Vec<String> {
    planned(id, plugins, &[("local/Plugins.txt", &lines.join("\n"))]).plugins
}

#[test]
fn stars_activate_plugins_only_in_games_that_use_stars() {
    let plugins = plain(&["Skyrim.esm", "A.esp", "B.esp", "C.esp.ghost"]);
    let order = planned("skyrimse", &plugins, &[("local/Plugins.txt", "*a.ESP\nB.esp\n*C.esp\n")]);
    assert_eq!(order.plugins, ["Skyrim.esm", "A.esp"]);
    assert_eq!(notes(&order, NoteCode::PluginMissing), ["C.esp"]);
    let last = active("skyrimse", &plugins, &["*A.esp", "*B.esp", "a.esp"]);
    assert_eq!(last, ["Skyrim.esm", "B.esp"], "the last line of a plugin must count");
    assert_eq!(active("skyrim", &plugins, &["A.esp", "B.esp"]), ["Skyrim.esm", "A.esp", "B.esp"]);
}

#[test]
fn nam_files_and_masters_activate_plugins_only_in_new_vegas() {
    let mut plugins = plain(&["X.esm", "X.nam", "Needed.esm", "Off.esp"]);
    plugins.push(("Needs.esp", 1, &["NEEDED.esm"]));
    assert_eq!(active("falloutnv", &plugins, &["Needs.esp"]), ["X.esm", "Needed.esm", "Needs.esp"]);
    assert_eq!(active("fallout3", &plugins, &["Needs.esp"]), ["Needs.esp"]);
}

#[test]
fn test_files_add_to_the_lists_in_skyrim_and_replace_them_in_fallout_4() {
    let plan = |id: &str, name: &str, tests: &str| {
        let (ccc, ini) = (format!("game/{name}.ccc"), format!("my/{name}.ini"));
        let files =
            [("local/Plugins.txt", "*A.esp"), (&*ccc, "CC.esl"), (&*ini, &*format!("[General]\n{tests}"))];
        planned(id, &plain(&["A.esp", "T.esp", "cc.esl"]), &files).plugins
    };
    let tests = "sTestFile1=T.esp\nsTestFile2=gone.esp\n";
    assert_eq!(plan("skyrimse", "Skyrim", tests), ["cc.esl", "A.esp", "T.esp"]);
    assert_eq!(plan("fallout4", "Fallout4", tests), ["T.esp"]);
    assert_eq!(plan("fallout4", "Fallout4", "sTestFile1=gone.esp\n"), ["cc.esl", "A.esp"]);
}

#[test]
fn morrowind_activates_game_files_of_any_number() {
    let ini = "[Game Files]\nGameFile0=A.esp\nGameFile7=B.esp\nGameFiles=C.esp\nGameFile9=Gone.esp\n";
    let plugins = [("A.esp", 1, &[][..]), ("B.esp", 2, &[]), ("C.esp", 3, &[])];
    let order = planned("morrowind", &plugins, &[("game/Morrowind.ini", ini)]);
    assert_eq!(order.plugins, ["A.esp", "B.esp"]);
    assert_eq!(notes(&order, NoteCode::PluginMissing), ["Gone.esp"]);
}

#[test]
fn starfield_activates_the_blueprint_of_an_active_plugin() {
    let plugins = plain(&["Mod.esm", "BlueprintShips-Mod.esm", "BlueprintShips-Off.esm", "Off.esm"]);
    assert_eq!(active("starfield", &plugins, &["*Mod.esm"]), ["Mod.esm", "BlueprintShips-Mod.esm"]);
}

#[test]
fn old_games_order_plugins_by_time_then_backwards_by_name() {
    let plugins = [("c.esp", 2, &[][..]), ("B.esp", 2, &[]), ("z.esm", 9, &[]), ("d.esp", 1, &[])];
    let order = active("falloutnv", &plugins, &["B.esp", "c.esp", "z.esm", "d.esp"]);
    assert_eq!(order, ["z.esm", "d.esp", "c.esp", "B.esp"]);
}

#[test]
fn masters_load_before_other_plugins_except_in_the_remaster() {
    let plugins = plain(&["a.esp", "m.esm", "E.esm"]);
    let files = [("local/Plugins.txt", "*a.esp\n*m.esm\n"), ("game/Skyrim.ccc", "e.ESM\ngone.esm\n")];
    assert_eq!(planned("skyrimse", &plugins, &files).plugins, ["E.esm", "m.esm", "a.esp"]);
    let list = "game/OblivionRemastered/Content/Dev/ObvData/Data/Plugins.txt";
    let order = planned("oblivion-remastered", &plugins, &[(list, "a.esp\nm.esm\n")]);
    assert_eq!(order.plugins, ["a.esp", "m.esm"]);
}

#[test]
fn a_plugin_is_moved_before_a_master_that_needs_it() {
    let plugins: [Mod<'_>; 6] = [
        ("a.esm", 0, &["b.esm", "x.esp"]),
        ("b.esm", 0, &["C.esm"]),
        ("c.esm", 0, &[]),
        ("x.esp", 0, &["y.esp"]),
        ("y.esp", 0, &[]),
        ("w.esp", 0, &["y.esp"]),
    ];
    let order = active("skyrimse", &plugins, &["*a.esm", "*b.esm", "*c.esm", "*w.esp", "*x.esp", "*y.esp"]);
    assert_eq!(order, ["x.esp", "c.esm", "b.esm", "a.esm", "w.esp", "y.esp"]);
}

#[test]
fn of_several_plugins_that_a_master_needs_the_one_it_names_last_loads_first() {
    let plugins: [Mod<'_>; 3] = [("m.esm", 0, &["x.esm", "y.esp"]), ("x.esm", 1, &[]), ("y.esp", 2, &[])];
    assert_eq!(active("falloutnv", &plugins, &["m.esm", "x.esm", "y.esp"]), ["y.esp", "x.esm", "m.esm"]);
    // Plugins that load earlier anyway keep their order.
    let order = active("skyrimse", &plugins, &["*x.esm", "*m.esm", "*y.esp"]);
    assert_eq!(order, ["x.esm", "y.esp", "m.esm"]);
}

#[test]
fn masters_that_need_each_other_cause_no_endless_loop() {
    let plugins: [Mod<'_>; 2] = [("a.esm", 0, &["b.esm", "a.esm"]), ("b.esm", 0, &["a.esm"])];
    assert_eq!(active("skyrimse", &plugins, &["*a.esm", "*b.esm"]), ["b.esm", "a.esm"]);
}

#[test]
fn a_plugin_that_is_listed_twice_loads_at_its_last_position() {
    let order = active("skyrimse", &plain(&["a.esp", "b.esp"]), &["*a.esp", "*b.esp", "*A.esp"]);
    assert_eq!(order, ["b.esp", "a.esp"]);
}

#[test]
fn blueprints_load_last_and_are_ordered_only_among_themselves() {
    let plugins: [Mod<'_>; 4] = [
        ("a.esm", 0, &["BlueprintA.esm"]),
        ("BlueprintA.esm", 0, &["BlueprintB.esm"]),
        ("BlueprintB.esm", 1, &[]),
        ("x.esp", 0, &[]),
    ];
    let list = "*a.esm\n*BlueprintA.esm\n*x.esp\n*BlueprintB.esm\n";
    let files = [("local/Plugins.txt", list), ("game/Starfield.ccc", "BlueprintA.esm\n")];
    let order = planned("starfield", &plugins, &files);
    assert_eq!(order.plugins, ["a.esm", "x.esp", "BlueprintB.esm", "BlueprintA.esm"]);
    let plugins = plain(&["BlueprintC.esm", "BlueprintD.esm"]);
    let files = [("local/Plugins.txt", "*BlueprintC.esm\n"), ("game/Starfield.ccc", "BlueprintD.esm\n")];
    let order = planned("starfield", &plugins, &files).plugins;
    assert_eq!(
        order,
        ["BlueprintD.esm", "BlueprintC.esm"],
        "an early blueprint must load before other blueprints"
    );
}

#[test]
fn a_long_chain_of_masters_is_ordered_quickly() {
    const LEN: usize = 2_000;
    let names: Vec<String> = (0..=LEN).map(|number| format!("{number}.esm")).collect();
    let masters: Vec<[&str; 1]> = names[1..].iter().map(|name| [&**name]).collect();
    let plugins: Vec<Mod<'_>> =
        names.iter().zip(&masters).map(|(name, next)| (&**name, 0, &next[..])).collect();
    let lines: Vec<String> = names[..LEN].iter().map(|name| format!("*{name}")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_eq!(active("skyrimse", &plugins, &lines)[0], format!("{}.esm", LEN - 1));
}

/// The archives of a game that belong to an active plugin, in load order if the last one wins.
fn attached(id: &str, plugin: &str, archives: &[&str]) -> (Vec<String>, LoadOrder) {
    let data = |name: &str| format!("game/Data/{name}");
    let mut files: Vec<(String, String)> = archives.iter().map(|name| (data(name), String::new())).collect();
    // Games of both kinds of list.
    files.push(("local/Plugins.txt".into(), format!("*{plugin}\n{plugin}\n*{plugin}\n")));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
    let order = planned(id, &plain(&[plugin]), &files);
    let of_plugin = order
        .layers
        .iter()
        .filter(|layer| layer.what == LayerKind::Archive && layer.why.starts_with("attached to "));
    let name = |path: &std::path::Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    (of_plugin.map(|layer| name(&layer.path)).collect(), order)
}

const ARCHIVES: [&str; 6] =
    ["Mod.bsa", "mod - A.bsa", "Mod - Textures.bsa", "ModExtra.bsa", "Mo.bsa", "Mod - Main.ba2"];

#[test]
fn archives_attach_by_prefix_and_in_oblivion_only_to_esp_files() {
    let all = ["Mod - Textures.bsa", "Mod.bsa", "ModExtra.bsa", "mod - A.bsa"];
    for (id, plugin, expected) in
        [("oblivion", "MOD.esp", &all[..]), ("oblivion", "Mod.esm", &[]), ("falloutnv", "Mod.esm", &all)]
    {
        let (mut found, _) = attached(id, plugin, &ARCHIVES);
        found.sort();
        assert_eq!(found, expected, "{id} {plugin}");
    }
}

#[test]
fn skyrim_attaches_exact_names_and_skyrimse_also_textures() {
    assert_eq!(attached("skyrim", "Mod.esp", &ARCHIVES).0, ["Mod.bsa"]);
    assert_eq!(attached("skyrimse", "mod.ESL", &ARCHIVES).0, ["Mod.bsa", "Mod - Textures.bsa"]);
}

#[test]
fn fallout_4_attaches_main_and_textures_but_no_other_suffix() {
    let archives = [
        "Mod - Textures.ba2",
        "Mod - Textures1.ba2",
        "mod - main.ba2",
        "Mod - Extra.ba2",
        "Mod.ba2",
        "ModB - Main.ba2",
        "Mod - Main.bsa",
    ];
    let (found, order) = attached("fallout4", "Mod.esp", &archives);
    assert_eq!(found, ["mod - main.ba2", "Mod - Textures.ba2"]);
    let disputed = order.notes.iter().filter(|note| note.text.contains("but some tools do"));
    let disputed: Vec<&str> = disputed.map(|note| note.subject.rsplit('/').next().unwrap()).collect();
    assert_eq!(disputed, ["Mod - Extra.ba2", "Mod - Textures1.ba2", "Mod.ba2"]);
    let (_, order) = attached("starfield", "Mod.esm", &archives);
    assert!(!order.notes.iter().any(|note| note.text.contains("but some tools do")));
}

#[test]
fn the_numbered_textures_of_the_high_resolution_pack_are_attached() {
    let archives = ["01", "16", "", "x"].map(|end| format!("DLCUltraHighResolution - Textures{end}.ba2"));
    let archives = archives.each_ref().map(String::as_str);
    let (found, _) = attached("fallout4", "DLCUltraHighResolution.esm", &archives);
    assert_eq!(found, [archives[2], archives[0], archives[1]]);
}

#[test]
fn morrowind_and_fallout_76_attach_nothing_and_starfield_fixed_names() {
    assert_eq!(attached("morrowind", "Mod.esp", &ARCHIVES).0, [""; 0]);
    assert_eq!(attached("fallout76", "Mod.esm", &ARCHIVES).0, [""; 0]);
    let archives = ["Mod - Voices_en.ba2", "Mod - Main.ba2", "Mod - Other.ba2", "Mod - Textures.ba2"];
    assert_eq!(
        attached("starfield", "Mod.esm", &archives).0,
        ["Mod - Main.ba2", "Mod - Textures.ba2", "Mod - Voices_en.ba2"]
    );
}

/// The archives of New Vegas in the order in which it searches them, if its list has these.
fn searched(names: &[&str]) -> Vec<String> {
    let data: Vec<String> = names.iter().map(|name| format!("game/Data/{name}")).collect();
    let ini = format!("[Archive]\nSArchiveList={}\n", names.join(", "));
    let mut files: Vec<(&str, &str)> = data.iter().map(|path| (&**path, "")).collect();
    files.push(("my/Fallout.ini", &ini));
    let order = planned("falloutnv", &[], &files);
    let archives = order.layers.iter().rev().filter(|layer| layer.what == LayerKind::Archive);
    archives.map(|layer| layer.path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn new_vegas_searches_mods_before_add_ons_and_add_ons_before_the_base_game() {
    let loaded = [
        "Fallout - Textures.bsa",
        "Fallout - Meshes.bsa",
        "Update.bsa",
        "DeadMoney - Main.bsa",
        "HonestHearts - Main.bsa",
        "LonesomeRoad - Main.bsa",
        "OldWorldBlues - Main.bsa",
        "B.bsa",
        "A.bsa",
    ];
    let expected = [7, 8, 6, 2, 5, 4, 3, 0, 1].map(|index| loaded[index]);
    assert_eq!(searched(&loaded), expected);
}

#[test]
fn only_exact_case_marks_official_archives_and_others_search_last_first() {
    assert_eq!(searched(&["Fallout - A.bsa", "fallout - b.bsa"]), ["fallout - b.bsa", "Fallout - A.bsa"]);
    assert_eq!(searched(&["A.bsa", "B.bsa"]), ["B.bsa", "A.bsa"]);
}

#[test]
fn plugins_past_the_limit_of_the_game_are_not_loaded_and_neither_are_their_archives() {
    // Without a light plugin, with one that ends in `.esl`, and with one that has the flag.
    let light_flag = String::from_utf8(plugin(4, 0x200, &[])).unwrap();
    for (light, content, max) in [("", "", 255), ("L.esl", "", 254), ("L.esp", &*light_flag, 254)] {
        let names: Vec<String> = (0..260).map(|number| format!("P{number}.esp")).collect();
        let mut list: String = names.iter().map(|name| format!("*{name}\n")).collect();
        if !light.is_empty() {
            list.insert_str(0, &format!("*{light}\n"));
        }
        let mut files: Vec<(String, &str)> = names.iter().map(|it| (format!("Data/{it}"), "")).collect();
        files.extend(["Data/P0.bsa", "Data/P259.bsa"].map(|path| (path.to_owned(), "")));
        files.push((format!("Data/{}", if light.is_empty() { "none.txt" } else { light }), content));
        files.push(("local/Plugins.txt".into(), &list));
        files.push(("my/Skyrim.ini".into(), ""));
        let files: Vec<(&str, &str)> = files.iter().map(|(path, content)| (&**path, *content)).collect();
        let world = SmallWorld::new(&SKYRIMSE, &files);
        let order = world.order("skyrimse");
        assert_eq!(order.plugins().len(), max + usize::from(!light.is_empty()), "{light}");
        assert!(order.plugins().contains(&"P0.esp") && !order.plugins().contains(&"P259.esp"));
        assert!(order.layers().contains(&"P0.bsa") && !order.layers().contains(&"P259.bsa"));
        assert_eq!(order.notes("plugin-ignored").last(), Some(&"P259.esp"));
        let text = order.texts("plugin-ignored")[0].to_string();
        assert!(text.contains(&format!("at most {max} full plugins")), "{light}: {text}");
    }
}
