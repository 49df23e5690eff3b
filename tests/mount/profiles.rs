//! Tests of profiles: mounts that a file describes, and profiles that `--save-profile` writes.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use bsafs::cli::MOUNT_OPTIONS;

use super::layers::write_three;
use crate::mounted::{Finished, Mounted, TestDir, mount_table, run, unmount, until};
use crate::support::{Tes3, Tes4};

/// Runs the program with its settings in `config` and its home in `home`.
fn run_in(dir: &TestDir, arguments: &[&str]) -> Finished {
    run(dir.bsafs(arguments).env("XDG_CONFIG_HOME", dir.path("config")).env("HOME", dir.path("home")))
}

#[test]
fn a_profile_mounts_its_archives_on_its_mountpoint() {
    let dir = TestDir::new();
    write_three(&dir);
    let profile =
        "archives = ['first.bsa', 'second.bsa']\nfolder = '../..'\nmountpoint = 'here'\noptions = 'xattr'\n";
    dir.own_profile("game.toml", profile);
    let report = dir.run_own(["mount", "config/bsafs/game.toml"]).success();
    let mount = Mounted::at(&dir.path("config/bsafs/here"), report);
    assert_eq!(mount.read("misc/shared.txt"), b"second");
    let codec = xattr::get(mount.join("misc/shared.txt"), "user.bsafs.codec").unwrap();
    assert_eq!(codec.as_deref(), Some(&b"uncompressed"[..]));
    mount.umount(&dir);
    assert!(!dir.path("config/bsafs/here").exists());

    // The command line overrides the mountpoint of the profile, and may add archives.
    let mount = dir.mount(["config/bsafs/game.toml", "third.ba2"]);
    assert_eq!(mount.read("misc/shared.txt"), b"third");
    mount.umount(&dir);
}

#[test]
fn a_profile_mounts_on_a_fresh_home_and_leaves_no_folder_behind() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &Tes3::new().file("a.txt", b"a").build());
    let text = |mountpoint: &str| {
        format!("archives = ['../../a.bsa']\nmountpoint = '../../home/mnt/{mountpoint}'\n")
    };
    dir.own_profile("p.toml", &text("game"));
    fs::create_dir(dir.path("home")).unwrap();
    let report = dir.run_own(["mount", "p"]).success();
    let mount = Mounted::at(&dir.path("home/mnt/game"), report);
    assert_eq!(mount.read("a.txt"), b"a");
    mount.umount(&dir);
    until("the folders to be removed", || !dir.path("home/mnt").exists());
    assert!(dir.path("home").exists(), "the user's own folder was removed");
    // A folder that the user made stays, and a mount that fails leaves nothing behind.
    fs::create_dir(dir.path("home/mnt")).unwrap();
    dir.own_profile("q.toml", &text("x/p.toml/y"));
    fs::create_dir(dir.path("home/mnt/x")).unwrap();
    fs::write(dir.path("home/mnt/x/p.toml"), "").unwrap();
    assert_eq!(dir.run_own(["mount", "q"]).code, 73);
    let report = dir.run_own(["mount", "p"]).success();
    Mounted::at(&dir.path("home/mnt/game"), report).umount(&dir);
    until("the mountpoint to be removed", || !dir.path("home/mnt/game").exists());
    assert!(dir.path("home/mnt").exists());
}

#[test]
fn an_invalid_profile_is_refused_with_the_reason() {
    let dir = TestDir::new();
    fs::write(dir.path("a.toml"), "archives = ['a.bsa']\nmountpiont = 'x'\n").unwrap();
    let finished = run(&mut dir.bsafs(["mount", "a.toml"]));
    assert_eq!(finished.code, 2);
    assert!(
        finished.err.starts_with("bsafs: a.toml: ") && finished.err.contains("mountpiont"),
        "{finished:?}"
    );
    fs::write(dir.path("b.toml"), "archives = []\n").unwrap();
    let finished = run(&mut dir.bsafs(["mount", "b.toml"]));
    assert_eq!(
        (finished.code, finished.err.as_str()),
        (2, "bsafs: b.toml: `archives` is empty; name at least one source\n")
    );
    let finished = run(&mut dir.bsafs(["mount", "c.toml"]));
    assert_eq!((finished.code, finished.err.as_str()), (66, "bsafs: c.toml: no such file or folder\n"));
}

#[test]
fn a_saved_profile_mounts_the_same_from_any_folder() {
    let dir = TestDir::new();
    write_three(&dir);
    fs::create_dir(dir.path("loose")).unwrap();
    fs::write(dir.path("loose/own.txt"), "loose").unwrap();
    let arguments = [
        "mount",
        "--save-profile",
        "three",
        "--archives=files",
        "-o",
        "xattr,fmode=440,fsname=a\\,b",
        "first.bsa",
        "third.ba2",
        "loose",
        "mnt",
    ];
    let report = run_in(&dir, &arguments).success();
    let profile = dir.path("config/bsafs/three.toml");
    let shown = profile.display();
    assert_eq!(
        report,
        format!(
            "wrote {shown}\nmount it: bsafs mount three\n\
             at every login: systemctl --user enable --now bsafs@three\n"
        )
    );
    assert!(!dir.path("mnt").exists(), "saving a profile mounted it");
    fs::create_dir(dir.path("elsewhere")).unwrap();
    // Its name is enough, in every command.
    let elsewhere = |arguments: &[&str]| {
        let mut command = dir.bsafs(arguments);
        run(command.env("XDG_CONFIG_HOME", dir.path("config")).current_dir(dir.path("elsewhere")))
    };
    let report = elsewhere(&["mount", "three"]).success();
    let mount = Mounted::at(&dir.path("mnt"), report);
    assert_eq!(mount.read("misc/shared.txt"), b"third");
    assert_eq!(mount.read("own.txt"), b"loose");
    assert!(xattr::get(mount.join("misc/shared.txt"), "user.bsafs.codec").unwrap().is_some());
    let mode = fs::metadata(mount.join("own.txt")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode.permissions()) & 0o777, 0o440);
    let mounts = mount_table("mountinfo");
    assert!(
        mounts.lines().any(|line| line.contains(dir.path("mnt").to_str().unwrap()) && line.contains("a,b"))
    );
    assert!(elsewhere(&["list", "three", "own.txt"]).success() == "own.txt\n");
    let status = elsewhere(&["status", "--json", dir.path("mnt").to_str().unwrap()]).success();
    assert!(status.contains(&format!("\"{shown}\"")), "{status}");
    let mistyped = elsewhere(&["mount", "trhee"]);
    assert!(mistyped.code == 66 && mistyped.err.ends_with("; did you mean three?\n"), "{mistyped:?}");
    assert!(elsewhere(&["mount"]).out.ends_with("saved profiles: three\n"));
    // Something of this name on the disk comes first.
    fs::create_dir(dir.path("elsewhere/three")).unwrap();
    assert_eq!(elsewhere(&["list", "three"]).success(), "");
    fs::remove_dir(dir.path("elsewhere/three")).unwrap();
    elsewhere(&["umount", "three"]).success();
    drop(mount);

    // A second profile of that name is refused, and the first stays as it is.
    let before = fs::read(&profile).unwrap();
    let finished = run_in(&dir, &["mount", "--save-profile", "three", "first.bsa"]);
    assert_eq!((finished.code, finished.out.as_str()), (73, ""));
    assert!(finished.err.contains("three.toml") && finished.err.contains("exists already"), "{finished:?}");
    assert_eq!(fs::read(&profile).unwrap(), before);
}

#[test]
fn a_profile_that_could_not_be_mounted_is_not_saved() {
    let dir = TestDir::new();
    write_three(&dir);
    for (arguments, code, what) in [
        (["mount", "--save-profile", "a", "none.bsa", "first.bsa"], 66, "none.bsa"),
        (["mount", "--save-profile", "a/b", "first.bsa", "mnt"], 2, "letters"),
        (["mount", "--save-profile=a", "-o", "dirsynk", "first.bsa"], 2, "dirsynk"),
        (["mount", "--save-profile=a", "--log-file=log", "first.bsa", "mnt"], 2, "--log-file"),
    ] {
        let finished = run_in(&dir, &arguments);
        assert_eq!(finished.code, code, "{finished:?}");
        assert!(finished.err.contains(what), "{finished:?}");
    }
    assert!(!dir.path("config").exists());
}

#[test]
fn a_saved_profile_of_a_game_keeps_its_id() {
    let dir = TestDir::new();
    let game = dir.path("home/Games/Skyrim");
    fs::create_dir_all(game.join("Data")).unwrap();
    for name in ["SkyrimSE.exe", "Data/Skyrim.esm"] {
        fs::write(game.join(name), "").unwrap();
    }
    let archive = Tes4::new(105).file("misc", "game.txt", b"game").build();
    fs::write(game.join("Data/Skyrim - Misc.bsa"), archive).unwrap();
    let game = game.to_str().unwrap();
    let arguments = ["mount", "--save-profile", "game", "--game-dir", game, "skyrimse", "mnt"];
    run_in(&dir, &arguments).success();
    let profile = dir.path("config/bsafs/game.toml");
    let text = fs::read_to_string(&profile).unwrap();
    assert!(text.contains("\"skyrimse\"") && text.contains("game_dir="), "{text}");
    let report = run_in(&dir, &["mount", profile.to_str().unwrap()]).success();
    let mount = Mounted::at(&dir.path("mnt"), report);
    assert_eq!(mount.read("misc/game.txt"), b"game");
    mount.umount(&dir);
}

#[test]
fn a_pattern_in_a_profile_mounts_its_archives_sorted_by_name() {
    let dir = TestDir::new();
    write_three(&dir);
    fs::write(dir.path("all.toml"), "archives = ['third.ba2', '*.BSA']\nmountpoint = 'mnt'\n").unwrap();
    let report = dir.run(["mount", "all.toml", "mnt"]).success();
    let mount = Mounted::at(&dir.path("mnt"), report);
    assert_eq!(mount.read("misc/shared.txt"), b"second");
    assert_eq!(mount.read("other/third.txt"), b"3");
    mount.umount(&dir);
    let listed = dir.run(["list", "all.toml"]).success();
    assert_eq!(listed.lines().filter(|path| !Path::new(path).ends_with("/")).count(), 4, "{listed}");

    fs::write(dir.path("none.toml"), "archives = ['first.bsa', 'Data/*.bsa', '*.ba3']\n").unwrap();
    let finished = run(&mut dir.bsafs(["mount", "none.toml"]));
    assert!(finished.code == 66 && finished.err.contains("Data"), "{finished:?}");
    fs::create_dir(dir.path("Data")).unwrap();
    let finished = run(&mut dir.bsafs(["mount", "none.toml"]));
    assert_eq!(finished.code, 66);
    assert!(finished.err.contains("none.toml: no file matches Data/*.bsa"), "{finished:?}");
}

/// Options that a profile from anywhere may set, because they decide what is shown or take rights away. A new
/// option is not among them until it is added here, too.
const OF_ANY_PROFILE: [&str; 17] = [
    "archives",
    "encoding",
    "exact",
    "game_dir",
    "ini",
    "layout",
    "mo2_profile",
    "names",
    "noatime",
    "noexec",
    "nosymfollow",
    "plugins",
    "precedence",
    "prefix",
    "static",
    "textures",
    "xattr",
];

/// A folder with the archive `a.bsa`, and a mod in `mod` with a profile of it.
fn with_mod(lines: &str) -> TestDir {
    let dir = TestDir::new();
    dir.archive("a.bsa", &Tes3::new().file("a.txt", b"a").build());
    fs::create_dir_all(dir.path("mod")).unwrap();
    fs::write(dir.path("mod/mod.toml"), format!("archives = ['../a.bsa']\n{lines}")).unwrap();
    dir
}

#[test]
fn a_profile_that_came_with_a_mod_sets_no_option_that_is_not_about_what_is_shown() {
    for row in MOUNT_OPTIONS {
        let name = row.name.trim_end_matches('=');
        let dir = with_mod(&format!("options = '{}{}'", row.name, row.example));
        // A plan is made, but nothing is mounted.
        let planned = dir.run_own(["mount", "--save-profile", "saved", "mod/mod.toml", "mnt"]);
        if name == "setuid" {
            assert!(planned.code == 77 && planned.err.contains(&format!("-o {name}")), "{planned:?}");
        } else if OF_ANY_PROFILE.contains(&name) {
            assert!(!planned.err.contains("ignored"), "{name}: {planned:?}");
        } else if ["ro", "rw"].contains(&name) {
            // mount(8) passes these to every file system.
            let saved = fs::read_to_string(dir.path("config/bsafs/saved.toml")).unwrap();
            assert!(planned.err.is_empty() && !saved.contains("options"), "{name}: {planned:?}");
        } else {
            let saved = fs::read_to_string(dir.path("config/bsafs/saved.toml")).unwrap();
            assert!(
                planned.err.contains(&format!("mod/mod.toml: ignored: -o {name}; only a")),
                "{planned:?}"
            );
            assert!(!saved.contains("options"), "{name}: {saved}");
        }
    }
}

#[test]
fn a_profile_that_came_with_a_mod_neither_covers_a_folder_nor_opens_one_to_writes() {
    let dir = with_mod("options = 'nonempty,edit=../startup,fmode=777,umask=0,uid=7,allow_other,ro,xattr'");
    fs::create_dir(dir.path("keys")).unwrap();
    fs::write(dir.path("keys/id"), "key").unwrap();
    let refused = dir.run_own(["mount", "mod/mod.toml", "keys"]);
    assert!(refused.code == 73 && refused.err.contains("not empty"), "{refused:?}");
    let mounted = dir.run_own(["mount", "mod/mod.toml", "mnt"]);
    let ignored = "ignored: -o nonempty, -o edit, -o fmode, -o umask, -o uid, -o allow_other; only a profile";
    assert!(mounted.code == 0 && mounted.err.contains(ignored), "{mounted:?}");
    assert_eq!(mounted.err.lines().count(), 1, "{mounted:?}");
    let mount = Mounted::at(&dir.path("mnt"), mounted.out);
    let found = fs::metadata(mount.join("a.txt")).unwrap();
    assert_eq!(found.permissions().mode() & 0o777, 0o644);
    assert_eq!(std::os::unix::fs::MetadataExt::uid(&found), rustix::process::getuid().as_raw());
    assert!(fs::write(mount.join("b.txt"), "").is_err() && !dir.path("startup").exists());
    // What it says of what is shown counts.
    assert!(xattr::get(mount.join("a.txt"), "user.bsafs.codec").unwrap().is_some());
    let table = mount_table("mountinfo");
    let line = table.lines().find(|line| line.contains(dir.path("mnt").to_str().unwrap())).unwrap();
    assert!(!line.contains("allow_other"), "{line}");
}

#[test]
fn a_profile_that_came_with_a_mod_does_not_decide_where_it_is_mounted() {
    for mountpoint in ["", "mountpoint = '../git'", "mountpoint = '/etc'", "mountpoint = '~/.config/git'"] {
        let dir = with_mod(mountpoint);
        let before: Vec<_> = fs::read_dir(dir.path("")).unwrap().map(|it| it.unwrap().file_name()).collect();
        for arguments in [&["mount", "mod/mod.toml"][..], &["mount", "a.bsa", "mod/mod.toml"]] {
            let refused = dir.run_own(arguments);
            assert!(refused.code == 2 && refused.err.contains("give a folder to mount on"), "{refused:?}");
        }
        let after: Vec<_> = fs::read_dir(dir.path("")).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(after, before, "{mountpoint}");
        let saved = dir.run_own(["mount", "--save-profile", "saved", "mod/mod.toml"]);
        assert!(saved.code == 2 && !dir.path("config").exists(), "{saved:?}");
        // What is given on the command line counts, and that of an own profile.
        let mount = dir.mount(["mod/mod.toml"]);
        assert_eq!(mount.read("a.txt"), b"a");
        mount.umount(&dir);
        dir.own_profile("own.toml", "archives = ['../../a.bsa']\nmountpoint = '../../mnt'");
        let report = dir.run_own(["mount", "own", "mod/mod.toml"]);
        assert_eq!(report.code, 0, "{report:?}");
        Mounted::at(&dir.path("mnt"), report.out).umount(&dir);
    }
}

#[test]
fn only_a_file_in_the_folder_of_profiles_itself_is_an_own_profile() {
    let dir = with_mod("mountpoint = '../mnt'");
    dir.own_profile("own.toml", "archives = ['../../a.bsa']\nmountpoint = '../../mnt'");
    fs::create_dir_all(dir.path("config/bsafs/sub")).unwrap();
    fs::copy(dir.path("mod/mod.toml"), dir.path("config/bsafs/sub/copy.toml")).unwrap();
    fs::copy(dir.path("mod/mod.toml"), dir.path("config/beside.toml")).unwrap();
    let link = |target: &str, link: &str| symlink(target, dir.path(link)).unwrap();
    link("../../mod/mod.toml", "config/bsafs/link.toml");
    link(dir.path("mod/mod.toml").to_str().unwrap(), "config/bsafs/absolute.toml");
    link("link.toml", "config/bsafs/links.toml");
    link("../../mod", "config/bsafs/folder");
    link("../config/bsafs/own.toml", "mod/to-own.toml");
    link("config/bsafs", "own-folder");
    link("config/bsafs/sub", "sub");
    for strangers in [
        "mod/mod.toml",
        "config/bsafs/sub/copy.toml",
        "config/beside.toml",
        "config/bsafs/link.toml",
        "config/bsafs/absolute.toml",
        "config/bsafs/links.toml",
        "config/bsafs/folder/mod.toml",
        "config/bsafs/../../mod/mod.toml",
        "config/bsafs/../beside.toml",
        "own-folder/link.toml",
        "mod/to-own.toml",
        "sub/copy.toml",
        // By their names.
        "link",
        "links",
    ] {
        let refused = dir.run_own(["mount", strangers]);
        assert!(refused.code == 2 && refused.err.contains("give a folder to mount on"), "{refused:?}");
        assert!(!dir.path("mnt").exists(), "{strangers}");
    }
    for own in ["own", "config/bsafs/own.toml", "own-folder/own.toml", "config/../config/bsafs/./own.toml"] {
        let report = dir.run_own(["mount", own]).success();
        Mounted::at(&dir.path("mnt"), report).umount(&dir);
        until("the mountpoint to be removed", || !dir.path("mnt").exists());
    }
    // Its owner gave it a second name.
    fs::hard_link(dir.path("config/bsafs/own.toml"), dir.path("mod/second-name.toml")).unwrap();
    let report = dir.run_own(["mount", "own"]).success();
    Mounted::at(&dir.path("mnt"), report).umount(&dir);
    until("the mountpoint to be removed", || !dir.path("mnt").exists());
    // The folder itself may be a link, as some keep their settings.
    fs::rename(dir.path("config/bsafs"), dir.path("dotfiles")).unwrap();
    link("../dotfiles", "config/bsafs");
    fs::create_dir(dir.path("config/x")).unwrap();
    fs::write(dir.path("dotfiles/own.toml"), "archives = ['../a.bsa']\nmountpoint = '../mnt'").unwrap();
    fs::copy(dir.path("dotfiles/own.toml"), dir.path("config/x/own.toml")).unwrap();
    let report = dir.run_own(["mount", "dotfiles/own.toml"]).success();
    Mounted::at(&dir.path("mnt"), report).umount(&dir);
    assert_eq!(dir.run_own(["mount", "config/x/own.toml"]).code, 2);
}

#[test]
fn a_profile_that_another_user_can_write_is_no_own_profile() {
    let dir = with_mod("");
    dir.own_profile("own.toml", "archives = ['../../a.bsa']\nmountpoint = '../../mnt'");
    dir.give_to_user();
    let mount = || {
        let mut command = dir.bsafs_as_user(["mount", "own"]);
        run(command.env("XDG_CONFIG_HOME", dir.path("config")).env("HOME", dir.path("")))
    };
    for (path, own, others) in [("config/bsafs", 0o755, 0o777), ("config/bsafs/own.toml", 0o644, 0o666)] {
        fs::set_permissions(dir.path(path), fs::Permissions::from_mode(others)).unwrap();
        let refused = mount();
        assert!(
            refused.code == 2 && refused.err.contains("give a folder to mount on"),
            "{path}: {refused:?}"
        );
        fs::set_permissions(dir.path(path), fs::Permissions::from_mode(own)).unwrap();
        // Where users may not mount, another error follows.
        let finished = mount();
        assert!(!finished.err.contains("give a folder to mount on"), "{path}: {finished:?}");
        unmount(&dir.path("mnt"));
        until("the mountpoint to be removed", || !dir.path("mnt").exists());
    }
}
