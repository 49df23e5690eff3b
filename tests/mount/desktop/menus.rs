//! Tests of the entries in menus: the list of games, and the origin of a file.

use std::fs;

use super::{Desktop, mounted_at};
use crate::mounted::Mounted;

/// A desktop with two games, one of which Mod Organizer 2 manages. Each program of these prints its arguments
/// to a file and runs a script.
fn with_games(programs: &[(&str, &str)]) -> Desktop {
    let desktop = Desktop::new();
    for (game, program, master) in
        [("Skyrim", "SkyrimSE.exe", "Skyrim.esm"), ("Fallout 4", "Fallout4.exe", "Fallout4.esm")]
    {
        let folder = desktop.dir.path("home/Games").join(game);
        fs::create_dir_all(folder.join("Data")).unwrap();
        fs::write(folder.join(program), "").unwrap();
        fs::write(folder.join("Data").join(master), "").unwrap();
    }
    let instance = desktop.dir.path("home/MO2");
    fs::create_dir_all(instance.join("profiles/Mine")).unwrap();
    fs::write(instance.join("profiles/Mine/modlist.txt"), "+A\n").unwrap();
    let game = desktop.dir.path("home/Games/Skyrim").display().to_string().replace('/', "\\\\");
    let ini = format!("[General]\ngamePath=Z:{game}\nselected_profile=Mine\n");
    fs::write(instance.join("ModOrganizer.ini"), ini).unwrap();
    for (name, script) in programs {
        desktop.program(name, &format!("printf '%s\\n' \"$@\" > {name}.txt\n{script}"));
    }
    desktop
}

#[test]
fn the_menu_entry_for_games_opens_the_game_that_the_user_chooses() {
    for program in ["zenity", "kdialog"] {
        let desktop = with_games(&[(program, "echo 1")]);
        let other = if program == "zenity" { "kdialog" } else { "zenity" };
        desktop.program(other, "exit 127");
        let there = desktop.mounted("Skyrim Special Edition");
        let mut command = desktop.command(["open", "--choose"]);
        let out = crate::mounted::run(command.env("XDG_CURRENT_DESKTOP", "GNOME")).success();
        assert!(out.starts_with(&format!("{}\n", there.display())), "{out}");
        assert_eq!(desktop.opened(), vec![there.clone()]);
        let shown = fs::read_to_string(desktop.dir.path(format!("{program}.txt"))).unwrap();
        let instance = desktop.dir.path("home/MO2");
        let games = format!(
            "0\nFallout 4\n1\nSkyrim Special Edition\n2\n\
             Skyrim Special Edition with 1 mod of Mod Organizer 2 ({})\n",
            instance.display()
        );
        assert!(shown.ends_with(&games), "{shown}");
        let mount: Mounted = mounted_at(&there);
        assert!(mount.join("Skyrim.esm").is_file());
        mount.umount(&desktop.dir);
    }
}

#[test]
fn closing_the_list_of_games_mounts_nothing_and_a_missing_program_is_named() {
    let desktop = with_games(&[("zenity", "exit 1")]);
    assert_eq!(desktop.run(["open", "--choose"]).success(), "");
    // In Plasma, kdialog is tried first.
    desktop.program("kdialog", "touch asked; exit 1");
    let mut command = desktop.command(["open", "--choose"]);
    assert_eq!(crate::mounted::run(command.env("XDG_CURRENT_DESKTOP", "KDE")).success(), "");
    assert!(desktop.dir.path("asked").exists());
    for name in ["zenity", "kdialog", "notify-send", "xmessage"] {
        desktop.program(name, "exit 127");
    }
    let refused = desktop.run(["open", "--choose"]);
    assert!(refused.code == 69 && refused.err.contains("install zenity or kdialog"), "{refused:?}");
    let mut command = desktop.command(["open", "--choose"]);
    let refused = crate::mounted::run(command.env_remove("DISPLAY"));
    assert!(refused.code == 69 && refused.err.contains("there is no desktop"), "{refused:?}");
    assert!(desktop.mounts().is_empty() && desktop.opened().is_empty());
}

#[test]
fn the_menu_of_a_file_shows_which_archive_it_comes_from() {
    let desktop = with_games(&[("zenity", ""), ("notify-send", "")]);
    let mount = desktop.dir.mount(["a.bsa"]);
    let file = mount.join("readme.txt");
    let printed = desktop.run(["which", "--notify", "--", file.to_str().unwrap()]);
    let shown = fs::read_to_string(desktop.dir.path("zenity.txt")).unwrap();
    assert!(shown.contains("--info\n") && shown.contains("bsafs: readme.txt  ("), "{shown}");
    assert!(shown.contains("  from   a.bsa"), "{shown}");
    assert!(printed.success().starts_with("readme.txt  ("));
    // A file of the disk is an error, which is a notification.
    let refused = desktop.run(["which", "--notify", "a.bsa"]);
    let shown = fs::read_to_string(desktop.dir.path("notify-send.txt")).unwrap();
    assert!(refused.code == 1 && shown.contains("not inside a bsafs mount"), "{refused:?} {shown}");
}

#[test]
fn a_window_that_waits_does_not_keep_the_mount_busy() {
    for command in ["which --notify", "open --as-png", "open --pack"] {
        let desktop = with_games(&[("notify-send", "")]);
        let mount = desktop.dir.mount(["a.bsa"]);
        let umount = format!("'{}' umount '{}'", env!("CARGO_BIN_EXE_bsafs"), mount.path.display());
        // While the user looks at the window, he unmounts in another.
        desktop.program("zenity", &format!("({umount} && echo done) > unmounted.txt 2>&1; exit 1"));
        let mut arguments: Vec<&str> = command.split(' ').collect();
        arguments.push(if command == "open --pack" { "." } else { "readme.txt" });
        crate::mounted::run(desktop.command(arguments).current_dir(&mount.path));
        let unmounted = fs::read_to_string(desktop.dir.path("unmounted.txt")).unwrap();
        assert!(unmounted.ends_with("done\n"), "{command}: {unmounted}");
    }
}

#[test]
fn a_texture_is_converted_to_png_where_the_user_wants_it() {
    let desktop = with_games(&[("zenity", "echo home/chosen.png"), ("notify-send", "")]);
    let texture = [&crate::support::dds::header(28, 4, 4, 1, false)[..], &[0x80; 64]].concat();
    fs::write(desktop.dir.path("sky.dds"), texture).unwrap();
    desktop.run(["open", "--as-png", "sky.dds"]).success();
    let asked = fs::read_to_string(desktop.dir.path("zenity.txt")).unwrap();
    assert!(asked.contains("--save\n") && asked.ends_with("/home/sky.png\n"), "{asked}");
    assert!(fs::read(desktop.dir.path("home/chosen.png")).unwrap().starts_with(b"\x89PNG"));
    // An error is shown on the desktop.
    fs::write(desktop.dir.path("bad.dds"), "not a texture").unwrap();
    let refused = desktop.run(["open", "--as-png", "bad.dds"]);
    let shown = fs::read_to_string(desktop.dir.path("notify-send.txt")).unwrap();
    assert!(refused.code == 74 && shown.contains("cannot save"), "{refused:?} {shown}");
}

#[test]
fn a_folder_is_packed_after_its_plan_was_shown() {
    // The first program of a desktop asks for the game, and then whether to go on.
    let script = |answer: &str| {
        let question = r#"printf '%s\n' "$@" > question.txt"#;
        format!("case $1 in --list) echo 8;; --question) {question}; exit {answer};; esac")
    };
    for (answer, is_packed) in [("0", true), ("1", false)] {
        let desktop = with_games(&[("zenity", &script(answer)), ("notify-send", "")]);
        let folder = desktop.dir.path("home/My Mod");
        fs::create_dir_all(folder.join("meshes")).unwrap();
        fs::write(folder.join("meshes/a.nif"), "1").unwrap();
        fs::write(folder.join("MyMod.esp"), "TES4").unwrap();
        desktop.run(["open", "--pack", folder.to_str().unwrap()]).success();
        // The desktop shows lines of limited length.
        let question = fs::read_to_string(desktop.dir.path("question.txt")).unwrap();
        let question = question.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(question.contains("MyMod.bsa") && question.contains("My Mod (packed)"), "{question}");
        assert_eq!(desktop.dir.path("home/My Mod (packed)/MyMod.bsa").exists(), is_packed);
    }
    // What cannot be packed is shown, and nothing is written.
    let desktop = with_games(&[("zenity", &script("0")), ("notify-send", "")]);
    fs::create_dir_all(desktop.dir.path("home/Empty")).unwrap();
    let refused = desktop.run(["open", "--pack", "home/Empty"]);
    let shown = fs::read_to_string(desktop.dir.path("notify-send.txt")).unwrap();
    assert!(refused.code == 74 && shown.contains("cannot pack"), "{refused:?} {shown}");
    assert!(!desktop.dir.path("home/Empty (packed)").exists());
}
