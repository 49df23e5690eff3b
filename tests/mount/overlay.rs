//! Tests of writable mounts (`--edit`): changes go to a folder, the sources stay as they are, and
//! nothing else is left behind.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::mount::{MountFlags, UnmountFlags};
use rustix::process::Signal;

use super::{world, world_files};
use crate::fake_mount::{Answers, FakeMount, hostile_user};
use crate::mounted::{
    Finished, TestDir, finish, is_alive, is_root, mount_table, mounts_below, run, signal, status, unmount,
    unmount_lazily, until,
};
use crate::support::home::plugin;

/// Sorted names in a folder, including hidden ones.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A test folder with the archive `a.bsa` and the folder `mod` for changes.
fn prepared() -> TestDir {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    fs::create_dir(dir.path("mod")).unwrap();
    dir
}

#[test]
fn new_changed_and_deleted_files_go_to_the_edit_folder() {
    let dir = prepared();
    let before = names(&dir.path(""));
    let mount = dir.mount(["--edit", "mod", "a.bsa"]);
    assert!(
        mount.report.contains(&format!("writable (changes go to {}) at ", dir.path("mod").display())),
        "{}",
        mount.report
    );
    for (path, content) in world_files() {
        assert_eq!(mount.read(path), content, "{path}");
    }
    let (changed, content) = (world_files()[0].0, &world_files()[0].1);
    let deleted = world_files()[1].0;
    fs::create_dir_all(mount.join("New/Folder")).unwrap();
    fs::write(mount.join("New/Folder/file.txt"), "new").unwrap();
    fs::write(mount.join(changed), [content, &b" and more"[..]].concat()).unwrap();
    fs::remove_file(mount.join(deleted)).unwrap();
    assert_eq!(fs::read(dir.path("mod/New/Folder/file.txt")).unwrap(), b"new");
    assert_eq!(fs::read(dir.path("mod").join(changed)).unwrap(), [content, &b" and more"[..]].concat());
    assert!(!mount.join(deleted).exists());
    assert!(dir.run(["status", "mnt"]).success().contains("5 files"));
    let unchanged = world_files()[4].0;
    let which = |path: &str| dir.run(["which".to_owned(), format!("mnt/{path}")]);
    assert!(which(unchanged).success().contains("a.bsa"));
    for path in ["New/Folder/file.txt", changed] {
        let written = which(path).success();
        assert_eq!(written.lines().nth(1), Some("  from   mod"), "{written}");
        assert_eq!(written.contains("  hides  "), path == changed, "{written}");
    }
    let hidden = dir.run(["which", "--json", &format!("mnt/{changed}")]).success();
    let hidden: serde_json::Value = serde_json::from_str(&hidden).unwrap();
    assert_eq!(hidden["hides"][0]["archive"], dir.path("a.bsa").to_str().unwrap());
    assert_eq!((&hidden["size"], &hidden["path"]), (&(content.len() + 9).into(), &changed.into()));
    let there = format!("edits      go to {}\n", dir.path("mod").display());
    for command in [&["status", "mnt"][..], &["mounts"]] {
        assert!(dir.run(command).success().contains(&there), "{command:?}");
    }
    let status: serde_json::Value =
        serde_json::from_str(&dir.run(["status", "--json", "mnt"]).success()).unwrap();
    assert_eq!(status["edit"], dir.path("mod").to_str().unwrap());
    let refused = dir.run(["reload", "mnt"]);
    let remount = {
        let (edit, source, mountpoint) = (dir.path("mod"), dir.path("a.bsa"), dir.path("mnt"));
        let (edit, source, mountpoint) = (edit.display(), source.display(), mountpoint.display());
        format!("bsafs umount {mountpoint} && bsafs mount --edit {edit} {source} {mountpoint}")
    };
    assert!(refused.code == 2 && refused.err.contains(&remount), "{refused:?}");
    assert!(dir.run(["status", "mnt"]).success().contains(&remount));
    assert!(mount.report.contains(&remount), "{}", mount.report);
    let pid = mount.pid;
    mount.umount(&dir);
    assert!(!is_alive(pid));
    assert_eq!(names(&dir.path("")), before, "other files were left behind");
    // The next mount shows the changes again.
    let mount = dir.mount(["--edit=mod", "a.bsa"]);
    assert_eq!(mount.read("New/Folder/file.txt"), b"new");
    assert!(!mount.join(deleted).exists());
}

#[test]
fn a_program_inside_the_mount_writes_to_the_edit_folder() {
    let dir = prepared();
    fs::create_dir_all(dir.path("Data/Scripts")).unwrap();
    fs::write(dir.path("Data/Game.bsa"), world()).unwrap();
    fs::write(
        dir.path("Data/tool.sh"),
        "sed s/red/blue/ Scripts/colour.ini > out.tmp && mv out.tmp Scripts/colour.ini",
    )
    .unwrap();
    fs::write(dir.path("Data/Scripts/colour.ini"), "colour=red").unwrap();
    let mount = dir.mount(["-o", "edit=mod", "--archives=files", "Data"]);
    assert_eq!(fs::read(mount.join("Game.bsa")).unwrap(), world());
    run(Command::new("sh").arg("tool.sh").current_dir(&mount.path)).success();
    assert_eq!(fs::read_to_string(dir.path("mod/Scripts/colour.ini")).unwrap(), "colour=blue");
    assert_eq!(fs::read_to_string(dir.path("Data/Scripts/colour.ini")).unwrap(), "colour=red");
    assert_eq!(names(&dir.path("mod")), ["Scripts"]);
}

#[test]
fn every_kind_of_unmount_removes_both_mounts_and_all_helper_folders() {
    let dir = prepared();
    let before = names(&dir.path(""));
    for how in ["signal", "overlay", "dead", "killed"] {
        let mount = dir.mount(["--edit", "mod", "a.bsa"]);
        let pid = mount.pid;
        match how {
            "signal" => signal(pid, Signal::TERM),
            "overlay" => assert_eq!(unmount(&mount.path).code, 0),
            "dead" => {
                signal(pid, Signal::KILL);
                until("the daemon to end", || !is_alive(pid));
                let listed = dir.run(["mounts"]).success();
                let advice = format!("the daemon has ended; run `bsafs umount {}`", mount.path.display());
                assert!(listed.contains(&advice), "{listed}");
                assert_eq!(dir.run(["umount", "--quiet", "mnt"]).success(), "");
            }
            _ => {
                signal(pid, Signal::KILL);
                until("the daemon to end", || !is_alive(pid));
                // The user unmounts the overlay by hand. The next mount removes the dead mount beneath it.
                unmount_lazily(&mount.path);
                fs::create_dir_all(dir.path("mnt")).unwrap();
                drop(dir.mount(["--edit", "mod", "a.bsa"]));
                let _ = fs::remove_dir(dir.path("mnt"));
            }
        }
        until("both mounts to be removed", || !is_alive(pid) && mounts_below(&dir.path("")).is_empty());
        until("all helper folders to be removed", || names(&dir.path("")) == before);
        std::mem::forget(mount);
    }
}

#[test]
fn an_ordinary_user_gets_a_writable_mount_through_fuse_overlayfs() {
    let dir = prepared();
    dir.give_to_user();
    let before = names(&dir.path(""));
    let report = run(&mut dir.bsafs_as_user(["mount", "--edit", "mod", "a.bsa", "mnt"]));
    assert_eq!(report.code, 0, "{report:?}");
    let there = world_files()[0].0;
    let script = format!(
        "mkdir -p mnt/.git/a/b && touch mnt/.git/a/b/c && chmod 500 mnt/.git/a && rm -rf mnt/.git/a/b/c && \
         chmod 700 mnt/.git/a && rm -r mnt/.git && mkdir -p mnt/textures/x/y && rm -r mnt/textures/x && \
         echo new > mnt/new.txt && echo more >> 'mnt/{there}' && cat mnt/new.txt"
    );
    assert_eq!(run(&mut dir.as_user("sh", ["-c", &script])).success(), "new\n");
    assert_eq!(fs::read(dir.path("mod/new.txt")).unwrap(), b"new\n");
    let changed = fs::read(dir.path("mod").join(there)).unwrap();
    assert_eq!(changed, [&world_files()[0].1[..], b"more\n"].concat());
    assert_eq!(run(&mut dir.bsafs_as_user(["umount", "mnt"])).code, 0);
    until("both mounts to be removed", || mounts_below(&dir.path("")).is_empty());
    until("all helper folders to be removed", || names(&dir.path("")) == before);
    // Unmounting also works after the daemon was killed.
    run(&mut dir.bsafs_as_user(["mount", "--edit", "mod", "a.bsa", "mnt"])).success();
    let status = run(&mut dir.bsafs_as_user(["status", "--json", "mnt"])).success();
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    let pid = i32::try_from(status["pid"].as_i64().unwrap()).unwrap();
    signal(pid, Signal::KILL);
    until("the daemon to end", || !is_alive(pid));
    run(&mut dir.bsafs_as_user(["umount", "mnt"])).success();
    assert!(mounts_below(&dir.path("")).is_empty());
    until("all helper folders to be removed", || names(&dir.path("")) == before);
}

#[test]
fn an_unusable_edit_folder_is_refused_and_nothing_is_mounted() {
    let dir = prepared();
    fs::write(dir.path("file"), "").unwrap();
    for (folder, why) in [
        ("no/such", "cannot make a folder there"),
        ("file", "not a folder"),
        (".", "the folder and the mountpoint overlap"),
    ] {
        let finished = dir.run(["mount", "--edit", folder, "a.bsa", "mnt"]);
        assert!(finished.code != 0 && finished.err.contains(why), "{folder}: {finished:?}");
        assert!(mounts_below(&dir.path("")).is_empty());
    }
    if is_root() {
        let finished = dir.run(["mount", "--edit", "/proc", "a.bsa", "mnt"]);
        assert!(finished.code != 0, "{finished:?}");
    }
}

/// A game that is recognised, with an archive, and an instance of Mod Organizer beside it.
fn game_and_instance() -> TestDir {
    let dir = TestDir::new();
    let files: [(&str, &[u8]); 9] = [
        ("Game/SkyrimSE.exe", b"MZ"),
        ("Game/Data/Skyrim.esm", &plugin(4, 1, &[])),
        ("Game/Data/Update.esm", &plugin(4, 1, &["Skyrim.esm"])),
        ("MO2/ModOrganizer.exe", b"MZ"),
        ("MO2/mods/Plate/textures/plate.dds", b"plate"),
        ("MO2/mods/Off/textures/off.dds", b"off"),
        ("MO2/overwrite/log.txt", b"log"),
        ("MO2/profiles/Default/modlist.txt", b"+Plate\r\n-Off\r\n"),
        ("MO2/profiles/Default/plugins.txt", b""),
    ];
    for (path, content) in files {
        let path = dir.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    fs::write(dir.path("Game/Data/Skyrim - Misc.bsa"), world()).unwrap();
    let game = format!("Z:{}", dir.path("Game").display()).replace('/', "\\\\");
    let settings = format!(
        "[General]\ngameName=Skyrim Special Edition\nselected_profile=@ByteArray(Default)\n\
         gamePath=@ByteArray({game})\n"
    );
    fs::write(dir.path("MO2/ModOrganizer.ini"), settings).unwrap();
    dir
}

#[test]
fn a_folder_of_the_game_of_the_manager_or_of_a_source_is_no_edit_folder() {
    let dir = game_and_instance();
    symlink(dir.path("Game/Data"), dir.path("link")).unwrap();
    fs::create_dir(dir.path("own")).unwrap();
    fs::create_dir_all(dir.path(".other.bsafs-work/work")).unwrap();
    dir.archive("own/a.bsa", &world());
    let listing = || run(Command::new("find").arg(dir.path("")).args(["-printf", "%p %s\n"])).success();
    let before = listing();
    for (edit, source, why) in [
        ("Game/Data", "MO2", "this is the data folder of Skyrim Special Edition"),
        ("Game/Data/new", "own/a.bsa", "this is in the data folder of Skyrim Special Edition"),
        ("link/new", "own/a.bsa", "this is in the data folder of Skyrim Special Edition"),
        ("Game", "own/a.bsa", "this contains the data folder of Skyrim Special Edition"),
        ("MO2/../Game/./Data", "own/a.bsa", "this is the data folder of Skyrim Special Edition"),
        ("MO2/mods", "MO2", "this is the folder of Mod Organizer's mods"),
        ("Game/data", "own/a.bsa", "this is the data folder of Skyrim Special Edition"),
        (".other.bsafs-work/work", "own/a.bsa", "this is in a folder in which a writable mount works"),
        ("MO2/mods/Plate", "MO2", "this is a source of this mount"),
        ("MO2/mods/Plate/textures", "MO2", "this is in a source of this mount"),
        ("own", "own", "this is a source of this mount"),
        ("own", "own/a.bsa", "this contains a source of this mount"),
    ] {
        let refused = dir.run(["mount", "--edit", edit, source, "mnt"]);
        assert!(refused.code == 73 && refused.err.contains(why), "{edit}, {source}: {refused:?}");
        let proposal = if source == "MO2" {
            format!("--edit '{}'", dir.path("MO2/mods/My Edits").display())
        } else {
            "--edit 'My Edits'".to_owned()
        };
        let has_proposal = refused.err.contains(&proposal) || edit.contains("..");
        assert!(has_proposal, "{edit}, {source}: {refused:?}");
        assert!(mounts_below(&dir.path("")).is_empty());
        assert_eq!(listing(), before, "{edit}, {source}");
    }
    fs::hard_link(dir.path("MO2/mods/Off/textures/off.dds"), dir.path("deployed.dds")).unwrap();
    let refused = dir.run(["mount", "--edit", "MO2/mods/Off", "MO2", "mnt"]);
    assert!(
        refused.code == 73 && refused.err.contains("textures/off.dds has other names elsewhere"),
        "{refused:?}"
    );
    // Both names in the folder are no reason: a program may make such a link in the mount.
    fs::rename(dir.path("deployed.dds"), dir.path("MO2/mods/Off/textures/same.dds")).unwrap();
    for edit in ["MO2/mods/My Edits", "MO2/mods/Off", "MO2/edits", "own/new", "new"] {
        dir.run(["mount", "--edit", edit, "MO2", "mnt"]).success();
        fs::write(dir.path("mnt/skyrim.esm"), "changed").unwrap();
        dir.run(["umount", "mnt"]).success();
        assert!(
            dir.path(edit).join("skyrim.esm").exists()
                && fs::read(dir.path("Game/Data/Skyrim.esm")).unwrap() != b"changed"
        );
    }
}

#[test]
fn what_is_written_to_the_data_folder_of_a_game_is_remarked() {
    let dir = game_and_instance();
    let says = "so the game loads what is written there";
    for into in ["Game/Data", "Game/Data/new"] {
        let extracted = dir.run(["extract", "Game/Data/Skyrim - Misc.bsa", "-C", into]);
        assert!(extracted.code == 0 && extracted.err.contains(says), "{into}: {extracted:?}");
        let packed = dir.run(["pack", "--name", "Plate", "--game", "skyrimse", "-o", into, "MO2/mods/Plate"]);
        assert!(packed.code == 0 && packed.err.contains(says), "{into}: {packed:?}");
    }
    for into in ["MO2/mods/Plate", "new", "Game", "Game/beside"] {
        let extracted = dir.run(["extract", "Game/Data/Skyrim - Misc.bsa", "-C", into]);
        assert!(extracted.code == 0 && extracted.err.is_empty(), "{into}: {extracted:?}");
    }
}

#[test]
fn a_mod_in_which_a_writable_mount_deleted_a_file_is_odd() {
    let dir = game_and_instance();
    dir.run(["mount", "--edit", "MO2/mods/My Edits", "MO2", "mnt"]).success();
    fs::remove_file(dir.path("mnt/textures/plate.dds")).unwrap();
    assert_eq!(dir.run(["umount", "mnt"]).code, 0);
    fs::write(dir.path("MO2/profiles/Default/modlist.txt"), "+My Edits\r\n+Plate\r\n").unwrap();
    let order = dir.run(["order", "MO2"]);
    let odd = order.out.lines().find(|line| line.contains("deletion-marks"));
    assert!(odd.is_some_and(|line| line.contains("My Edits")), "{order:?}");
}

#[test]
fn the_work_folder_of_a_writable_mount_is_no_mod() {
    let dir = game_and_instance();
    fs::create_dir_all(dir.path("MO2/mods/.My Edits.bsafs-work/work")).unwrap();
    fs::write(dir.path("MO2/mods/.My Edits.bsafs-work/work/only-here.dds"), "half").unwrap();
    let why = dir.run(["why", "--in", "MO2", "only-here.dds"]);
    assert!(why.code == 1 && !why.out.contains("bsafs-work"), "{why:?}");
}

#[test]
fn options_that_contradict_a_writable_mount_are_refused() {
    let dir = prepared();
    for (options, why) in
        [("ro", "-o ro"), ("rw,ro", "-o ro"), ("edit=", "the path is empty"), ("edit", "the path is empty")]
    {
        let refused = dir.run(["mount", "--edit", "mod", "-o", options, "a.bsa", "mnt"]);
        assert!(refused.code == 2 && refused.err.contains(why), "{options}: {refused:?}");
    }
    drop(dir.mount(["--edit", "mod", "-o", "ro,rw", "a.bsa"]));
    fs::write(dir.path("p.toml"), "archives = [\"a.bsa\"]\noptions = \"static, exact\"\n").unwrap();
    drop(dir.mount(["p.toml"]));
    fs::write(dir.path("p.toml"), "archives = [\"a.bsa\"]\noptions = \"edit\"\n").unwrap();
    let refused = dir.run(["mount", "p.toml", "mnt"]);
    assert!(refused.code != 0 && refused.err.contains("the path is empty"), "{refused:?}");
}

#[test]
fn an_edit_folder_that_does_not_exist_is_made() {
    let dir = prepared();
    let before = names(&dir.path(""));
    // It goes again with the mount if nothing was written.
    let mount = dir.mount(["--edit", "New mod", "a.bsa"]);
    assert!(dir.path("New mod").is_dir());
    mount.umount(&dir);
    until("the empty folder to be removed", || names(&dir.path("")) == before);
    let refused = dir.run(["mount", "--edit", "New mod", "a.bsa", "no/such/mnt"]);
    assert!(refused.code != 0 && !dir.path("New mod").exists(), "{refused:?}");
    let mount = dir.mount(["--edit", "New mod", "a.bsa"]);
    fs::write(mount.join("readme.txt"), "mine").unwrap();
    mount.umount(&dir);
    assert_eq!(fs::read_to_string(dir.path("New mod/readme.txt")).unwrap(), "mine");
}

#[test]
fn the_unmount_says_in_one_line_what_is_in_the_edit_folder() {
    let dir = prepared();
    let there = dir.path("mod").display().to_string();
    for (deleted, expected) in [
        (&[][..], format!("{there} has 1 file\n")),
        (
            &["readme.txt"],
            format!(
                "{there} has 1 file, and marks 1 deletion. A mod cannot delete files: ship others in \
                 their place. `bsafs extract {there} --archives files -C FOLDER` copies the files without \
                 the marks\n"
            ),
        ),
    ] {
        dir.run(["mount", "--edit", "mod", "a.bsa", "mnt"]).success();
        fs::write(dir.path("mnt/new.txt"), "new").unwrap();
        for path in deleted.iter() {
            fs::remove_file(dir.path("mnt").join(path)).unwrap();
        }
        assert_eq!(dir.run(["umount", "mnt"]).success(), expected);
    }
    let mut foreground = dir.bsafs(["mount", "--foreground", "--edit", "mod", "a.bsa", "mnt"]);
    let daemon = foreground.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    until("the mount", || dir.path("mnt/textures").is_dir());
    signal(i32::try_from(daemon.id()).unwrap(), Signal::TERM);
    let ended = finish(daemon);
    assert!(ended.err.contains(&format!("{there} has 1 file, and marks 1 deletion.")), "{ended:?}");
}

/// Changes a writable mount, and checks that its sources and its folder show the same without the mount.
fn check_edits_as_a_layer(bsafs: &dyn Fn(&[&str]) -> Finished, shell: &dyn Fn(&str)) {
    assert_eq!(bsafs(&["mount", "--edit", "mod", "a.bsa", "mnt"]).code, 0);
    shell("rm mnt/readme.txt && rm -r mnt/meshes && mkdir -p mnt/added/folder");
    shell("rm -r mnt/textures && mkdir mnt/textures && echo new >mnt/textures/new.dds");
    shell("[ \"$(find mnt -type f)\" = mnt/textures/new.dds ]");
    // The mount as a source stands for its sources and its changes.
    assert_eq!(bsafs(&["list", "mnt"]).success(), "textures/new.dds\n");
    assert_eq!(bsafs(&["list", "mnt/textures"]).success(), "textures/new.dds\n");
    assert_eq!(bsafs(&["list", "mnt/added"]).success(), "");
    let said = |arguments: &[&str]| {
        let said = bsafs(arguments);
        let is_deleted = said.out.contains("deleted in mod; the copy of a.bsa is hidden by that")
            || said.out.contains("the folder meshes was deleted in mod; the copy of a.bsa is hidden by that");
        assert!(said.code == 1 && is_deleted, "{arguments:?}: {said:?}");
    };
    said(&["why", "mnt/readme.txt"]);
    said(&["why", "mnt", "readme.txt"]);
    said(&["why", "mnt/meshes/tower.nif"]);
    let which = bsafs(&["which", "mnt/readme.txt"]);
    assert!(which.code == 1 && which.err.contains("deleted in mod"), "{which:?}");
    // Opaque folders are not counted, because a new folder is one too.
    let ended = bsafs(&["umount", "mnt"]).success();
    assert!(ended.contains(" has 1 file, and marks 2 deletions."), "{ended}");
    for sources in [&["a.bsa", "mod"][..], &["mod"]] {
        assert_eq!(bsafs(&[&["list"], sources].concat()).success(), "textures/new.dds\n");
    }
    said(&["why", "--in", "a.bsa", "--in", "mod", "readme.txt"]);
}

#[test]
fn an_edit_folder_as_a_layer_deletes_what_was_deleted_in_the_mount() {
    let dir = prepared();
    let shell = |script: &str| {
        run(Command::new("sh").args(["-c", script]).current_dir(dir.path(""))).success();
    };
    check_edits_as_a_layer(&|arguments| dir.run(arguments), &shell);
}

#[test]
fn an_edit_folder_of_fuse_overlayfs_as_a_layer_deletes_what_was_deleted_in_the_mount() {
    let dir = prepared();
    dir.give_to_user();
    let shell = |script: &str| _ = run(&mut dir.as_user("sh", ["-c", script])).success();
    check_edits_as_a_layer(&|arguments| run(&mut dir.bsafs_as_user(arguments)), &shell);
}

#[test]
fn a_second_mount_with_the_same_edit_folder_is_refused() {
    let dir = prepared();
    let before = names(&dir.path(""));
    let report = dir.run(["mount", "--edit", "mod", "a.bsa", "mnt"]).success();
    assert!(report.contains("writable (changes go to"), "{report}");
    let second = dir.run(["mount", "--edit", "mod", "a.bsa", "other"]);
    assert!(
        second.code == 73 && second.err.contains("another mount with --edit uses this folder"),
        "{second:?}"
    );
    // The overlay copies `textures` up: it makes the copy in the work folder and renames it.
    fs::write(dir.path("mnt/textures/new.txt"), "new").unwrap();
    assert_eq!(fs::read_to_string(dir.path("mod/textures/new.txt")).unwrap(), "new");
    dir.run(["umount", "mnt"]).success();
    assert_eq!(names(&dir.path("")), before);
    assert!(mounts_below(&dir.path("")).is_empty());
}

#[test]
fn the_edit_folder_of_a_killed_daemon_is_refused_until_the_unmount() {
    let dir = prepared();
    let before = names(&dir.path(""));
    let mount = dir.mount(["--edit", "mod", "a.bsa"]);
    signal(mount.pid, Signal::KILL);
    until("the daemon to end", || !is_alive(mount.pid));
    let refused = dir.run(["mount", "--edit", "mod", "a.bsa", "other"]);
    let advice = format!("bsafs umount {}", mount.path.display());
    assert!(refused.code == 73 && refused.err.contains(&advice), "{refused:?}");
    dir.run(["umount", "mnt"]).success();
    dir.run(["mount", "--edit", "mod", "a.bsa", "other"]).success();
    // Here the user unmounts the overlay by hand. `bsafs umount` ends the mount beneath it by the same path.
    let pid = i32::try_from(status(&dir.path("other"))["pid"].as_i64().unwrap()).unwrap();
    signal(pid, Signal::KILL);
    until("the daemon to end", || !is_alive(pid));
    assert_eq!(unmount(&dir.path("other")).code, 0);
    dir.run(["umount", "other"]).success();
    assert!(mounts_below(&dir.path("")).is_empty());
    assert_eq!(names(&dir.path("")), before);
}

#[test]
fn umount_below_finds_a_writable_mount_by_its_visible_path() {
    let dir = prepared();
    fs::create_dir(dir.path("view")).unwrap();
    dir.run(["mount", "--edit", "mod", "a.bsa", "view/mnt"]).success();
    let offered = dir.run(["complete", "bash", "bsafs umount view/"]).success();
    assert!(offered.contains("view/mnt") && !offered.contains("lower"), "{offered}");
    dir.run(["umount", "--all", "--below", "view"]).success();
    until("both mounts to be removed", || mounts_below(&dir.path("")).is_empty());
}

#[test]
fn root_refuses_an_edit_folder_that_another_user_can_replace() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = prepared();
    let before = names(&dir.path(""));
    dir.give_to_user();
    let before = [before, names(&dir.path(""))].concat();
    let refused = dir.run(["mount", "--edit", "mod", "a.bsa", "mnt"]);
    assert!(refused.code == 73 && refused.err.contains("another user can change"), "{refused:?}");
    assert!(names(&dir.path("")).iter().all(|name| before.contains(name)));
}

#[test]
fn root_refuses_an_edit_folder_that_its_owner_can_exchange_in_a_folder_such_as_tmp() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = prepared();
    for name in ["shared/theirs", "shared/roots"] {
        fs::create_dir_all(dir.path(name)).unwrap();
    }
    fs::set_permissions(dir.path("shared"), fs::Permissions::from_mode(0o1777)).unwrap();
    let (user, group) = hostile_user();
    std::os::unix::fs::chown(dir.path("shared/theirs"), Some(user), Some(group)).unwrap();
    let refused = dir.run(["mount", "--edit", "shared/theirs", "a.bsa", "mnt"]);
    assert!(refused.code == 73 && refused.err.contains("another user can change"), "{refused:?}");
    assert_eq!(names(&dir.path("shared")), ["roots", "theirs"]);
    for edit in ["shared/roots", "shared/new"] {
        dir.run(["mount", "--edit", edit, "a.bsa", "mnt"]).success();
        dir.run(["umount", "mnt"]).success();
    }
}

#[test]
fn root_refuses_an_edit_folder_on_a_disk_whose_owners_prove_nothing_and_says_why() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = prepared();
    fs::create_dir_all(dir.path("disk/mod")).unwrap();
    rustix::mount::mount_bind(dir.path("disk"), dir.path("disk")).unwrap();
    // Otherwise what is mounted on the disk would also be mounted below it.
    let private = rustix::mount::MountPropagationFlags::PRIVATE;
    rustix::mount::mount_change(dir.path("disk"), private).unwrap();
    let remount =
        |flags| rustix::mount::mount_remount(dir.path("disk"), flags | MountFlags::BIND, "").unwrap();
    remount(MountFlags::NOSUID);
    let refused = ["disk/mod", "disk/new"].map(|edit| dir.run(["mount", "--edit", edit, "a.bsa", "mnt"]));
    let left = names(&dir.path("disk"));
    remount(MountFlags::empty());
    let mounted = dir.run(["mount", "--edit", "disk/mod", "a.bsa", "mnt"]);
    let unmounted = dir.run(["umount", "mnt"]);
    rustix::mount::unmount(dir.path("disk"), UnmountFlags::DETACH).unwrap();
    let why = format!("the disk on {} is mounted with nosuid", dir.path("disk").display());
    for refused in refused {
        assert!(refused.code == 73 && refused.err.contains(&why), "{refused:?}");
    }
    assert_eq!(left, ["mod"]);
    mounted.success();
    unmounted.success();
}

#[test]
fn leftovers_of_a_crash_in_the_work_folder_are_removed() {
    let dir = prepared();
    let before = names(&dir.path(""));
    fs::create_dir_all(dir.path(".mod.bsafs-work/work/work")).unwrap();
    fs::write(dir.path(".mod.bsafs-work/work/work/#1"), "half copied").unwrap();
    dir.run(["mount", "--edit", "mod", "a.bsa", "mnt"]).success();
    fs::remove_file(dir.path("mnt/readme.txt")).unwrap();
    dir.run(["umount", "mnt"]).success();
    assert_eq!(names(&dir.path("")), before);
}

#[test]
fn a_link_in_place_of_the_work_folder_is_not_followed() {
    let dir = prepared();
    fs::create_dir_all(dir.path("other/work")).unwrap();
    std::os::unix::fs::symlink(dir.path("other"), dir.path(".mod.bsafs-work")).unwrap();
    let refused = dir.run(["mount", "--edit", "mod", "a.bsa", "mnt"]);
    assert!(refused.code == 73 && refused.err.contains(".mod.bsafs-work"), "{refused:?}");
    assert!(dir.path("other/work").exists() && mounts_below(&dir.path("")).is_empty());
}

#[test]
fn the_overlay_has_the_mount_flags_of_the_mount() {
    let dir = prepared();
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    dir.run(["mount", "--edit", "mod", "-o", "noexec", "a.bsa", "mnt"]).success();
    let table = mount_table("mountinfo");
    let path = dir.path("mnt");
    let is_there = |line: &&str| line.split(' ').nth(4) == path.to_str();
    let lines: Vec<&str> = table.lines().filter(is_there).collect();
    let forbids = |line: &&str| ["nosuid", "nodev", "noexec"].iter().all(|option| line.contains(option));
    assert!(lines.len() == 1 && lines.iter().all(forbids), "{lines:?}");
    dir.run(["umount", "mnt"]).success();
}

#[test]
fn a_writable_mount_is_listed_with_the_processes_in_it() {
    let dir = prepared();
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    dir.run(["mount", "--edit", "mod", "a.bsa", "mnt"]).success();
    assert_eq!(status(&dir.path("mnt"))["files"], 5);
    let mut holder = Command::new("cat");
    let mut holder = holder.current_dir(dir.path("mnt/textures")).stdin(Stdio::piped()).spawn().unwrap();
    let listed = dir.run(["mounts", "--json"]).success();
    let line = listed.lines().find(|line| line.contains(dir.path("mnt").to_str().unwrap())).unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    let processes = line["processes"].as_array().unwrap();
    assert!(processes.iter().any(|it| it["pid"] == holder.id()), "{line}");
    drop(holder.stdin.take());
    finish(holder);
    dir.run(["umount", "mnt"]).success();
}

#[test]
fn a_writable_mount_whose_overlay_program_was_killed_is_shown_as_dead() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    dir.give_to_user();
    // What `mount --edit` of a user makes, with another program as the overlay.
    for folder in [".mod.bsafs-work/lower", "mod", "mnt"] {
        run(&mut dir.as_user("mkdir", ["-p", folder])).success();
    }
    let source = format!("fsname={}", dir.path("mnt").display());
    run(&mut dir.bsafs_as_user(["mount", "-o", &source, "a.bsa", ".mod.bsafs-work/lower"])).success();
    let answers =
        Answers { source: "x".into(), subtype: Some("fuse-overlayfs".into()), ..Answers::default() };
    let mut overlay = FakeMount::start(&dir.path("mnt"), &answers);
    let state = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["state"].clone();
    let shown = |arguments: &[&str]| {
        let shown = run(&mut dir.bsafs_as_user(arguments)).success();
        let is_here = |it: &&str| it.contains(dir.path("mnt").to_str().unwrap());
        shown.lines().find(is_here).unwrap_or_else(|| panic!("{shown}")).to_owned()
    };
    assert_eq!(state(&shown(&["mounts", "--json"])), "alive");
    assert_eq!(run(&mut dir.bsafs_as_user(["status", "mnt"])).code, 0);
    overlay.kill();
    assert_eq!(state(&shown(&["mounts", "--json"])), "dead");
    let listed = run(&mut dir.bsafs_as_user(["mounts"])).success();
    let advice = format!("has ended; run `bsafs umount {}`", dir.path("mnt").display());
    assert!(listed.contains("  dead ") && listed.contains(&advice), "{listed}");
    for arguments in [&["status", "mnt"][..], &["status", "--json", "mnt"]] {
        let status = run(&mut dir.bsafs_as_user(arguments));
        let advice = "has ended; run `bsafs umount mnt`, mount again";
        assert!(status.code == 69 && status.err.contains(advice), "{status:?}");
        assert!(status.err.contains("bsafs help writing") && status.out.is_empty(), "{status:?}");
    }
    // Root sees the same.
    let seen = dir.run(["status", "mnt"]);
    assert!(seen.code == 69 && seen.err.contains("has ended"), "{seen:?}");
    let opened = run(&mut dir.bsafs_as_user(["open", "mnt"]));
    assert!(opened.code == 69 && opened.err.contains("fuse-overlayfs"), "{opened:?}");
    // This daemon does not know that it belongs to an overlay, so it has to be ended, too.
    let _ = run(&mut dir.bsafs_as_user(["umount", "mnt"]));
    assert!(!mounts_below(&dir.path("")).contains(&dir.path("mnt")));
    // The daemon did not make the folder around it, so the folder is named and stays.
    let ended = run(&mut dir.bsafs_as_user(["umount", ".mod.bsafs-work/lower"]));
    assert!(
        ended.code == 0 && ended.err.contains(".mod.bsafs-work: left by the writable mount"),
        "{ended:?}"
    );
    until("both mounts to be removed", || mounts_below(&dir.path("")).is_empty());
}
