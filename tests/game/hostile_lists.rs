//! Lists and settings that a stranger wrote to fill memory: the program runs under a limit of its address
//! space, and says which limit of its own a file exceeds.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::{Duration, Instant};

use super::small_world::{SKYRIMSE, SmallWorld};
use crate::mounted::{Finished, TestDir, run};

/// Runs bsafs with an address space of this many MiB. Without a limit of its own, the program would need
/// more, and abort.
fn limited(dir: &TestDir, mib: u32, arguments: &[&str]) -> Finished {
    let script = format!("ulimit -v {} && exec \"$0\" \"$@\"", mib << 10);
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_bsafs")]).args(arguments).current_dir(dir.path(""));
    for variable in ["XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"] {
        command.env_remove(variable);
    }
    let home = dir.path("home");
    run(command.env("HOME", if home.is_dir() { home } else { dir.path("") }).env("USER", "nobody"))
}

/// The notes of `bsafs order --json` as `code subject: text`.
fn notes(printed: &str) -> Vec<String> {
    let order: serde_json::Value = serde_json::from_str(printed).unwrap();
    let text = |note: &serde_json::Value, key: &str| note[key].as_str().unwrap().to_owned();
    let notes = order["notes"].as_array().unwrap().iter();
    notes.map(|it| format!("{} {}: {}", text(it, "code"), text(it, "subject"), text(it, "text"))).collect()
}

#[test]
fn half_a_million_hidden_endings_are_not_copied_into_each_of_100_mods() {
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", "")]);
    let mods: Vec<String> = (0..100).map(|number| format!("Mod{number}")).collect();
    let mods: Vec<&str> = mods.iter().map(String::as_str).collect();
    let source = world.instance(&mods, &[]);
    for name in &mods {
        let (shown, hidden) =
            (format!("home/mo2/mods/{name}/{name}.txt"), format!("home/mo2/mods/{name}/a.~1f"));
        world.write(&[(&shown, "x"), (&hidden, "x")]);
    }
    let endings: String = (0..500_000).map(|number| format!(".~{number:x},")).collect();
    let ini = world.installed.path("home/mo2/ModOrganizer.ini");
    let text = fs::read_to_string(&ini).unwrap() + "[Settings]\nskip_file_suffixes=" + &endings + "\n";
    assert!(text.len() < 6 << 20);
    fs::write(&ini, &text[..text.len().min(4 << 20)]).unwrap();
    let listed = limited(&world.dir, 700, &["list", &source]).success();
    assert_eq!(listed.lines().filter(|line| line.ends_with(".txt")).count(), 100, "{}", listed.len());
    assert!(!listed.contains("a.~1f"), "the first 10,000 endings still hide files");
    let noted = notes(&limited(&world.dir, 700, &["order", "--json", &source]).success());
    let about: Vec<_> =
        noted.iter().filter(|note| note.contains("10000 entries of skip_file_suffixes=")).collect();
    assert_eq!(about.len(), 1, "{noted:?}");
}

#[test]
fn a_chain_of_openmw_settings_takes_no_more_memory_than_its_limits() {
    for (line, limit) in [
        ("a=b\n".to_owned(), "64 MiB"),
        ("fallback=x,1\n".to_owned(), "64 MiB"),
        ("data=/x\n".to_owned(), "64 MiB"),
        ("content=A.esp\n".to_owned(), "64 MiB"),
        (format!("data=/{}\n", "y".repeat(4000)), "8 MiB"),
        (format!("config=/{}\n", "y".repeat(1 << 20)), "8 MiB"),
    ] {
        let dir = TestDir::new();
        for number in 0..17 {
            let folder = dir.path(number.to_string());
            fs::create_dir(&folder).unwrap();
            let next = format!("config=../{}\n", number + 1);
            let text = next + &line.repeat(((4 << 20) - 100) / line.len());
            fs::write(folder.join("openmw.cfg"), text).unwrap();
        }
        let shown = &line[..line.len().min(20)];
        let finished = limited(&dir, 700, &["order", "--json", "0/openmw.cfg"]);
        // The first file alone may exceed a limit. Then nothing is left to plan, and the error says so.
        let said = format!("{}{}", finished.out, finished.err);
        assert!(said.contains(limit), "{shown}: {} {}", finished.code, &said[..said.len().min(3000)]);
        assert!([0, 66].contains(&finished.code), "{shown}: {} {}", finished.code, finished.err);
    }
}

#[test]
fn patterns_of_a_profile_cost_no_more_than_the_limit() {
    let dir = TestDir::new();
    fs::create_dir(dir.path("many")).unwrap();
    for number in 0..5_000 {
        fs::write(dir.path(format!("many/f{number:04}.bsa")), "").unwrap();
    }
    let profile = |patterns: usize| {
        let patterns: Vec<String> = (0..patterns).map(|it| format!("'many/f{:04}*'", it % 5_000)).collect();
        fs::write(dir.path("p.toml"), format!("archives = [{}]", patterns.join(","))).unwrap();
        let began = Instant::now();
        let finished = dir.run(["order", "p.toml"]);
        (finished, began.elapsed())
    };
    let (refused, time) = profile(40_000);
    assert!(refused.code == 2 && refused.err.contains("its patterns would be compared"), "{refused:?}");
    assert!(time < Duration::from_secs(20), "{time:?}");
    // The folder is listed once.
    let (finished, time) = profile(300);
    assert!(
        !finished.err.contains("its patterns") && time < Duration::from_secs(10),
        "{time:?} {finished:?}"
    );
}

#[test]
fn a_sparse_profile_is_refused_before_it_is_read() {
    let dir = TestDir::new();
    fs::File::create(dir.path("big.toml")).unwrap().set_len(1 << 30).unwrap();
    let failed = limited(&dir, 500, &["list", "big.toml"]);
    assert_eq!(failed.err, "bsafs: big.toml: it is larger than 1 MiB, the limit of such a file\n");
    assert_eq!(failed.code, 66);
}

#[test]
fn a_pattern_that_is_repeated_in_a_profile_does_not_fill_memory() {
    let dir = TestDir::new();
    (0..100).for_each(|number| fs::write(dir.path(format!("{number}.bsa")), "").unwrap());
    fs::write(dir.path("many.toml"), format!("archives = [{}]\n", "\"*\",".repeat(200_000))).unwrap();
    let failed = limited(&dir, 700, &["list", "many.toml"]);
    let what = "many.toml: it names more than 65536 sources; name a folder instead";
    assert_eq!(failed.err, format!("bsafs: {what}\n"));
}

/// What a message may have at most: the quoted bytes, paths, and its own words.
const MESSAGE_MAX: usize = 1500;

#[test]
fn a_message_about_a_profile_does_not_print_the_profile() {
    let dir = TestDir::new();
    let long = "x".repeat(900_000);
    for text in [
        format!("{long}\n"),
        format!("archives = [\"{long}"),
        format!("{long} = 1\n"),
        format!("archives = \"{long}\"\n"),
        format!("archives = [\"{long}*\"]\n"),
        format!("archives = [\"{long}.toml\"]\n"),
        format!("archives = [\"a\"]\noptions = \"{long}\"\n"),
        format!("archives = [\"a\"]\noptions = \"names={long}\"\n"),
        format!("archives = [\"{long}\"]\n"),
        "root:$y$j9T$secret:19000:0:99999:7:::\n".to_owned(),
    ] {
        fs::write(dir.path("p.toml"), &text).unwrap();
        let failed = limited(&dir, 500, &["list", "p.toml"]);
        assert_ne!(failed.code, 0);
        assert!(failed.err.len() < MESSAGE_MAX, "{} bytes: {}", failed.err.len(), &failed.err[..300]);
        assert!(!failed.err.contains("secret"), "{}", failed.err);
    }
}

#[test]
fn notes_and_errors_about_settings_quote_little_of_them() {
    let long = "x".repeat(1 << 20);
    let dir = TestDir::new();
    for text in [
        long.clone(),
        format!("[{long}]"),
        format!("data=\"{long}"),
        format!("data=/{long}"),
        format!("content={long}"),
    ] {
        fs::write(dir.path("openmw.cfg"), format!("{text}\n")).unwrap();
        let noted = notes(&limited(&dir, 500, &["order", "--json", "openmw.cfg"]).success());
        let longest = noted.iter().map(String::len).max().unwrap_or(0);
        assert!(longest < MESSAGE_MAX, "{longest}");
    }
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", "")]);
    let source = world.instance(&[&long], &[("home/mo2/mods/Other/a.txt", "")]);
    let noted = notes(&limited(&world.dir, 500, &["order", "--json", &source]).success());
    assert!(noted.iter().any(|note| note.starts_with("mo2-mod-missing xxx")), "{}", noted.len());
    assert!(noted.iter().all(|note| note.len() < MESSAGE_MAX));
    for general in [
        format!("gamePath=Q:\\\\{long}\nselected_profile=Default"),
        format!("gamePath={long}\nselected_profile=Default"),
        format!("gamePath=/{long}\nselected_profile=Default"),
        format!("gamePath=@ByteArray(Z:{})\nselected_profile={long}", world.installed.folder.display()),
    ] {
        fs::write(world.installed.path("home/mo2/ModOrganizer.ini"), format!("[General]\n{general}\n"))
            .unwrap();
        let failed = limited(&world.dir, 500, &["order", &source]);
        assert_ne!(failed.code, 0, "{}", &general[..40]);
        assert!(failed.err.len() < MESSAGE_MAX, "{}: {}", failed.err.len(), &failed.err[..300]);
    }
}

#[test]
fn a_section_name_is_not_copied_for_each_of_its_keys() {
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", "")]);
    let source = world.instance(&[], &[]);
    let ini = world.installed.path("home/mo2/ModOrganizer.ini");
    let hostile = format!("[{}]\n{}", "s".repeat(1 << 20), "a=\n".repeat(100_000));
    fs::write(&ini, fs::read_to_string(&ini).unwrap() + &hostile).unwrap();
    limited(&world.dir, 500, &["order", &source]).success();
}

#[test]
fn libraries_of_steam_that_link_to_one_folder_of_prefixes_are_searched_once() {
    let dir = TestDir::new();
    let home = dir.path("home");
    let steam = home.join(".local/share/Steam");
    for number in 0..1000 {
        fs::create_dir_all(home.join(format!("one/compatdata/{number}/pfx/drive_c"))).unwrap();
    }
    let mut list = String::from("\"libraryfolders\" {");
    for number in 0..1000 {
        let library = home.join(format!("libraries/{number}"));
        fs::create_dir_all(&library).unwrap();
        std::os::unix::fs::symlink(home.join("one"), library.join("steamapps")).unwrap();
        list.push_str(&format!("\"{number}\" {{ \"path\" \"{}\" }}", library.display()));
    }
    fs::create_dir_all(steam.join("steamapps")).unwrap();
    fs::write(steam.join("steamapps/libraryfolders.vdf"), list + "}").unwrap();
    let began = std::time::Instant::now();
    let found = run(dir.bsafs(["games"]).env("HOME", &home).env_remove("XDG_DATA_HOME"));
    assert!(began.elapsed() < std::time::Duration::from_secs(15), "{:?}", began.elapsed());
    assert!(found.err.contains("no game was found"), "{found:?}");
}

#[test]
fn a_list_of_launchers_that_many_links_lead_to_is_read_once() {
    let world = SmallWorld::new(&SKYRIMSE, &[]);
    // All reads together may have 8 MiB, which a second read of each list would exceed.
    let padding = "x".repeat(900_000);
    world.write(&[("home/list.yml", &format!("game:\n  exe: /none/{padding}\n"))]);
    let games = world.installed.path("home/.config/lutris/games");
    fs::create_dir_all(&games).unwrap();
    (0..100).for_each(|number| symlink("../../../list.yml", games.join(format!("{number}.yml"))).unwrap());
    let heroic = world.installed.path("home/.config/heroic");
    fs::create_dir_all(heroic.join("gog_store")).unwrap();
    fs::create_dir_all(heroic.join("GamesConfig")).unwrap();
    let settings = format!("{{\"defaultSettings\": {{\"winePrefix\": \"/none\"}}, \"x\": \"{padding}\"}}");
    fs::write(heroic.join("config.json"), &settings).unwrap();
    let game = |number| format!("{{\"appName\": \"{number}\", \"install_path\": \"/none/{number}\"}}");
    let installed: Vec<String> = (0..100).map(game).collect();
    let installed = format!("{{\"installed\": [{}]}}", installed.join(","));
    fs::write(heroic.join("gog_store/installed.json"), installed).unwrap();
    for number in 0..50 {
        symlink("../config.json", heroic.join(format!("GamesConfig/{number}.json"))).unwrap();
    }
    let found = limited(&world.dir, 500, &["games"]);
    assert_eq!((found.code, found.err.as_str()), (0, ""), "{}", found.out);
    assert!(found.out.contains("skyrimse") && !found.out.contains("8 MiB"), "{}", found.out);
    // Lists that differ are read up to the limit, and the message names it.
    for number in 100..125 {
        fs::write(games.join(format!("{number}.yml")), format!("game:\n  exe: /none/{padding}\n")).unwrap();
    }
    let found = limited(&world.dir, 500, &["games"]);
    assert!(format!("{}{}", found.out, found.err).contains("8 MiB"), "{found:?}");
}
