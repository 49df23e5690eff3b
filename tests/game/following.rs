//! A mounted game follows changes of its mods, plugins and settings.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::worlds;
use crate::mounted::{Mounted, TestDir, run, until};

/// Replaces a part of a text file as other programs save: a new file and a rename.
fn edit(path: &Path, old: &str, new: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(old), "{}: {text}", path.display());
    let beside = path.with_extension("new");
    fs::write(&beside, text.replace(old, new)).unwrap();
    fs::rename(beside, path).unwrap();
}

/// The layer that a file of a world names in its first line.
fn layer(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.lines().next()?.strip_prefix("layer: ")?.to_owned())
}

#[test]
fn a_mount_follows_mods_plugins_and_settings_of_mod_organizer() {
    let dir = TestDir::new();
    let Some(world) = worlds::world(&dir, "mo2-skyrimse") else { return };
    let instance = world.folder("mo2_dir");
    let profile = instance.join("profiles").join(world.expected["profile"].as_str().unwrap());
    let finished = world.run(&dir, &["mount", instance.to_str().unwrap(), "mnt"]);
    assert_eq!(finished.code, 0, "{}", finished.err);
    let mount = Mounted::at(&dir.path("mnt"), finished.out);
    let of = |path: &str| layer(&mount.join(path));
    let mods = |name: &str| Some(format!("home/Games/MO2 SSE/mods/{name}"));
    assert_eq!((of("textures/l9.dds"), of("Textures/BOTH.dds")), (None, mods("Textures/Tex - Textures.bsa")));
    edit(&profile.join("modlist.txt"), "-Disabled", "+Disabled");
    until("the enabled mod to appear", || of("textures/l9.dds") == mods("Disabled"));
    edit(&profile.join("plugins.txt"), "*Tex.esp", "Tex.esp");
    until("the archive of the deactivated plugin to disappear", || {
        of("textures/both.dds") != mods("Textures/Tex - Textures.bsa")
    });
    assert_eq!(of("textures/decoy.dds"), None);
    let ini = fs::read_dir(&profile).unwrap().map(|it| it.unwrap().path());
    let ini =
        ini.into_iter().find(|path| path.file_name().unwrap().eq_ignore_ascii_case("skyrim.ini")).unwrap();
    edit(&ini, "sResourceArchiveList2=", "sResourceArchiveList2=Decoy.bsa, ");
    until("the archive added to the settings to appear", || {
        of("textures/decoy.dds").is_some_and(|layer| layer.ends_with("Data/Decoy.bsa"))
    });
    fs::write(instance.join("mods/Base/textures/Brand New.dds"), "layer: made\n").unwrap();
    until("the new file of a mod to appear", || of("textures/brand new.dds").as_deref() == Some("made"));
    fs::create_dir(instance.join("mods/Fresh")).unwrap();
    fs::write(instance.join("mods/Fresh/fresh.txt"), "layer: fresh\n").unwrap();
    let list = fs::read_to_string(profile.join("modlist.txt")).unwrap();
    fs::write(profile.join("modlist.txt"), list + "+Fresh\r\n").unwrap();
    until("the newly installed mod to appear", || of("fresh.TXT").as_deref() == Some("fresh"));
}

#[test]
fn a_mount_follows_a_change_of_openmw_cfg() {
    let dir = TestDir::new();
    let Some(world) = worlds::world(&dir, "openmw-chain") else { return };
    let finished = world.run(&dir, &["mount", &world.source(), "mnt"]);
    assert_eq!(finished.code, 0, "{}", finished.err);
    let mount = Mounted::at(&dir.path("mnt"), finished.out);
    let more = dir.path("more");
    fs::create_dir(&more).unwrap();
    fs::write(more.join("followed.txt"), "layer: more\n").unwrap();
    let cfg = world.root.join("home/.config/openmw/openmw.cfg");
    let mut text = fs::read(&cfg).unwrap();
    text.extend(format!("\ndata=\"{}\"\n", more.display()).into_bytes());
    fs::write(&cfg, text).unwrap();
    until("the added folder to appear", || layer(&mount.join("FOLLOWED.txt")).as_deref() == Some("more"));
}

#[test]
fn a_mount_over_the_data_of_its_own_game_reloads_the_same_files() {
    let dir = TestDir::new();
    let Some(world) = worlds::world(&dir, "skyrimse") else { return };
    let data = world.folder("game_dir").join("Data");
    let winners = world.expected["winners"].as_object().unwrap();
    let finished = world.run(&dir, &["mount", "-o", "nonempty", "skyrimse", data.to_str().unwrap()]);
    assert_eq!(finished.code, 0, "{}", finished.err);
    let mount = Mounted::at(&data, finished.out);
    let check = || {
        for (path, winner) in winners {
            assert_eq!(layer(&mount.join(path)).as_deref(), winner.as_str(), "{path}");
        }
    };
    check();
    assert!(dir.run(["reload", data.to_str().unwrap()]).success().ends_with(": nothing changed\n"));
    let plugins = world.folder("local_dir").join("Plugins.txt");
    let text = fs::read(&plugins).unwrap();
    fs::write(&plugins, [&text[..], b"# another line\r\n"].concat()).unwrap();
    assert!(dir.run(["reload", data.to_str().unwrap()]).success().ends_with(": nothing changed\n"));
    check();
    mount.umount(&dir);
}

#[test]
fn a_mount_of_mods_over_the_data_of_their_game_follows_changes() {
    let dir = TestDir::new();
    let Some(world) = worlds::world(&dir, "mo2-skyrimse") else { return };
    let (instance, data) = (world.folder("mo2_dir"), world.folder("game_dir").join("Data"));
    let arguments = ["mount", "-o", "nonempty", "--archives=files", instance.to_str().unwrap()];
    let finished = world.run(&dir, &[&arguments[..], &[data.to_str().unwrap()]].concat());
    assert_eq!(finished.code, 0, "{}", finished.err);
    let mount = Mounted::at(&data, finished.out);
    assert!(mount.join("skyrim - MISC.bsa").is_file() && mount.join("tex - textures.BSA").is_file());
    assert!(dir.run(["reload", data.to_str().unwrap()]).success().ends_with(": nothing changed\n"));
    fs::write(instance.join("mods/Base/textures/new.dds"), "layer: new\n").unwrap();
    until("the new file of a mod to appear", || {
        layer(&mount.join("Textures/NEW.dds")).as_deref() == Some("new")
    });
    assert!(mount.join("skyrim - MISC.bsa").is_file() && mount.join("tex - textures.BSA").is_file());
    // Another process notices the mount over the data and prints a note.
    let finished = world.run(&dir, &["order", "--json", world.folder("game_dir").to_str().unwrap()]);
    assert!(finished.out.contains("\"data-mounted\""), "{}", finished.out);
    mount.umount(&dir);
}

#[test]
fn an_instance_whose_list_or_profile_fails_stays_as_it_was_and_other_sources_are_followed() {
    let dir = TestDir::new();
    let Some(world) = worlds::world(&dir, "mo2-skyrimse") else { return };
    let instance = world.folder("mo2_dir");
    let profiles = instance.join("profiles");
    let profile = profiles.join(world.expected["profile"].as_str().unwrap());
    for folder in ["mod", "mnt"] {
        fs::create_dir(dir.path(folder)).unwrap();
    }
    fs::write(dir.path("mod/grown.txt"), "one").unwrap();
    dir.give_to_user();
    // Root could read every list.
    let mut command = dir.bsafs_as_user(["mount", instance.to_str().unwrap(), "mod", "mnt"]);
    let mounted = run(command.env("HOME", world.root.join("home")));
    assert_eq!(mounted.code, 0, "{}", mounted.err);
    let user = |program: &str, path: &str| run(&mut dir.as_user(program, [path])).out;
    let of_mod = || user("cat", "mnt/textures/both.dds").lines().next().map(str::to_owned);
    let before = of_mod();
    assert!(before.as_deref().is_some_and(|layer| layer.contains("mods/Textures")), "{before:?}");
    let save = |text: &str| {
        fs::write(dir.path("mod/grown.txt"), text.repeat(999)).unwrap();
        until("the saved file to be shown", || user("cat", "mnt/grown.txt") == text.repeat(999));
    };
    let odd = || user("readlink", "mnt/.bsafs:sources").contains("\"source-unreadable\"");
    let mode = |mode| {
        fs::set_permissions(profile.join("modlist.txt"), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0);
    until("the list to be named", odd);
    save("two");
    assert_eq!(of_mod(), before);
    mode(0o644);
    until("the list to be read", || !odd());
    fs::rename(&profile, profiles.join("Renamed")).unwrap();
    until("the profile to be named", odd);
    save("three");
    assert_eq!(of_mod(), before);
    fs::rename(profiles.join("Renamed"), &profile).unwrap();
    until("the profile to be read", || !odd());
    edit(&profile.join("plugins.txt"), "*Tex.esp", "Tex.esp");
    until("the list to be followed", || of_mod() != before);
    let umounted = run(&mut dir.bsafs_as_user(["umount", "mnt"]));
    assert_eq!(umounted.code, 0, "{}", umounted.err);
}
