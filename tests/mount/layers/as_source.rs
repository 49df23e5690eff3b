//! Tests of a mount as a source: it stands for the sources that were mounted, with their options. If it were
//! read as a plain folder, its archives would be opened again, and conflicts would be invented.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::chown;

use bsafs::{OpenErrorKind, Vfs};
use rustix::process::Signal;
use serde_json::Value;

use super::write_three;
use crate::mount::{world, world_files};
use crate::mounted::{Finished, Mounted, TestDir, is_root, run, signal, stop, until};

/// A folder with two archives, a loose file that hides a file of one, and a mount of the folder that also
/// lists the archives.
fn mounted() -> (TestDir, Mounted) {
    let dir = TestDir::new();
    fs::create_dir(dir.path("data")).unwrap();
    dir.archive("data/a.bsa", &world());
    dir.archive("data/b.bsa", &world());
    fs::write(dir.path("data/readme.txt"), "loose").unwrap();
    let mount = dir.mount(["--archives=both", "data"]);
    (dir, mount)
}

/// The lines of a command's output, sorted.
fn lines(finished: Finished) -> Vec<String> {
    let mut lines: Vec<String> = finished.success().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn a_mount_as_a_source_of_a_command_stands_for_its_own_sources() {
    let (dir, mount) = mounted();
    for command in ["list", "conflicts", "order", "verify", "info"] {
        let of_mount = dir.run([command, "mnt"]).success();
        let of_sources = dir.run([command, "--archives=both", "data"]).success();
        // The sources of a mount have absolute paths.
        let folder = dir.path("");
        let shortened = of_mount.replace(folder.to_str().unwrap(), "");
        assert_eq!(shortened, of_sources.replace(folder.to_str().unwrap(), ""), "{command}");
        assert!(!of_mount.contains(mount.path.to_str().unwrap()), "{command}: {of_mount}");
    }
    let conflicts = dir.run(["conflicts", "mnt"]).success();
    assert!(conflicts.ends_with("\n5 conflicts\n"), "{conflicts}");
    assert_eq!(dir.run(["cat", "mnt", "README.txt"]).success(), "loose");
    let which = dir.run(["which", "--in", "mnt", "textures/sky.dds"]).success();
    assert!(which.contains("  from   b.bsa\n"), "{which}");
    let equal = dir.run(["diff", "--compare", "mnt", "data"]);
    // The archives are listed as files in the mount, but not in the folder.
    assert_eq!(equal.out, "- a.bsa\n- b.bsa\n0 added, 2 removed, 0 changed, 5 equal\n");
    // The flags of the command outrank the options of the mount.
    let files = dir.run(["list", "--archives=open", "mnt"]).success();
    assert_eq!(files.lines().count(), 5, "{files}");
}

#[test]
fn extract_of_a_mount_reads_its_sources_and_writes_beside_the_mount() {
    let (dir, _mount) = mounted();
    dir.run(["extract", "mnt/textures"]).success();
    dir.run(["extract", "mnt", "--glob", "*.nif"]).success();
    // Folders of the names of the sources, but never the mount itself.
    assert_eq!(fs::read(dir.path("textures/textures/clutter/bucket.dds")).unwrap(), world_files()[0].1);
    let written = fs::read_dir(dir.path("")).unwrap().map(|it| it.unwrap().path());
    let beside: Vec<_> = written.filter(|it| it.join("meshes/tower.nif").exists()).collect();
    assert_eq!(beside.len(), 2, "{beside:?}");
    assert!(!dir.path("textures/meshes").exists());
}

#[test]
fn extract_of_a_mounted_archive_writes_beside_the_mount() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let report = dir.run(["mount", "a.bsa"]).success();
    let mount = Mounted::at(&dir.path("a"), report);
    dir.run(["extract", "a.bsa"]).success();
    assert_eq!(fs::read(dir.path("a (2)/textures/clutter/bucket.dds")).unwrap(), world_files()[0].1);
    mount.umount(&dir);
}

#[test]
fn a_folder_inside_a_mount_limits_its_sources_to_that_folder() {
    let (dir, _mount) = mounted();
    let below: Vec<String> = lines(dir.run(["list", "data", "--glob", "textures/clutter/**"]));
    assert_eq!(below.len(), 2);
    for folder in ["mnt/textures/clutter", "mnt/TEXTURES/Clutter/", "mnt/meshes/../textures/clutter"] {
        assert_eq!(lines(dir.run(["list", folder])), below, "{folder}");
    }
    let conflicts = dir.run(["conflicts", "mnt/textures/clutter"]).success();
    assert!(conflicts.ends_with("\n2 conflicts\n"), "{conflicts}");
    let verified = dir.run(["verify", "mnt/textures/clutter"]).success();
    assert_eq!(verified.matches(": 2 files, nothing wrong found").count(), 2, "{verified}");
    let diff = dir.run(["diff", "mnt/meshes", "mnt/textures/clutter"]);
    assert_eq!(diff.out.lines().last(), Some("2 added, 1 removed, 0 changed, 0 equal"), "{diff:?}");
    // Only the folder in the mount is limited, and another source lies above it.
    dir.archive("c.bsa", &world());
    let mixed = dir.run(["list", "--json", "mnt/textures", "c.bsa"]).success();
    assert_eq!(mixed.lines().count(), 5);
    assert_eq!(mixed.matches("\"hidden_copies\":2").count(), 3, "{mixed}");
    let missing = dir.run(["cat", "mnt/textures", "readme.txt"]);
    assert_eq!(missing.code, 66, "{missing:?}");
}

#[test]
fn the_options_of_a_mount_apply_to_it_as_a_source() {
    let dir = TestDir::new();
    write_three(&dir);
    fs::write(
        dir.path("all.toml"),
        "archives = ['first.bsa', 'second.bsa']\noptions = 'layout=per-archive,encoding=1251'",
    )
    .unwrap();
    let mount = dir.mount(["all.toml", "third.ba2"]);
    let expected = lines(dir.run(["list", "--layout=per-archive", "first.bsa", "second.bsa", "third.ba2"]));
    assert_eq!(lines(dir.run(["list", "mnt"])), expected);
    let status = dir.run(["status", "--json", "mnt"]).success();
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    assert_eq!((&status["options"], status["sources"].as_array().unwrap().len()), (&"".into(), 2));
    // A folder named after an archive exists only in this layout.
    let second: Vec<String> = expected.iter().filter(|it| it.starts_with("second")).cloned().collect();
    let folder = second[0].split('/').next().unwrap();
    assert_eq!(lines(dir.run(["list", &format!("mnt/{folder}")])), second);
    let refused = dir.run(["conflicts", &format!("mnt/{folder}")]);
    assert!(refused.code == 2 && refused.err.contains("only in the layout of its mount"), "{refused:?}");
    assert!(dir.run(["conflicts", "mnt"]).success().contains("1 conflict"));
    mount.umount(&dir);

    let _mount = dir.mount(["-o", "encoding=1251,layout=per-archive", "first.bsa"]);
    let status = dir.run(["status", "--json", "mnt"]).success();
    assert!(status.contains(r#""options":"encoding=1251,layout=per-archive""#), "{status}");
    assert!(dir.run(["list", "mnt"]).success().starts_with("first"));
}

#[test]
fn a_mount_of_a_mount_reads_the_sources_and_not_the_other_mount() {
    let (dir, mount) = mounted();
    let refused = dir.run(["mount", "mnt/textures", "other"]);
    assert!(refused.code == 2 && refused.err.contains("cannot be mounted separately"), "{refused:?}");
    let report = dir.run(["mount", "mnt", "other"]).success();
    let other = Mounted::at(&dir.path("other"), report);
    mount.umount(&dir);
    assert_eq!(other.read("readme.txt"), b"loose");
    assert!(other.join("a.bsa").is_file(), "the options of the mount must apply");
    fs::write(dir.path("data/new.txt"), "new").unwrap();
    until("the new file to appear", || fs::read(other.join("new.txt")).is_ok_and(|it| it == b"new"));
}

#[test]
fn a_command_about_a_mount_answers_about_the_sources_that_are_there_and_names_the_others() {
    let dir = TestDir::new();
    for name in ["one", "two", "of_profile"] {
        fs::create_dir(dir.path(name)).unwrap();
        fs::write(dir.path(name).join(format!("{name}.txt")), name).unwrap();
    }
    dir.archive("cut.bsa", &world());
    let profile = "archives = ['of_profile']";
    fs::write(dir.path("p.toml"), profile).unwrap();
    let mount = dir.mount(["one", "p.toml", "cut.bsa", "two"]);
    let commands: [&[&str]; 10] = [
        &["list", "mnt"],
        &["cat", "mnt", "one.txt"],
        &["extract", "mnt", "one.txt", "-C", "out"],
        &["info", "mnt"],
        &["verify", "mnt"],
        &["order", "mnt"],
        &["conflicts", "mnt"],
        &["diff", "mnt", "one"],
        &["needs", "mnt"],
        &["which", "--in", "mnt", "one.txt"],
    ];
    let check = |fault: &str| {
        for command in commands {
            let finished = dir.run(command);
            assert_eq!(finished.code, 1, "{command:?}, {fault}: {finished:?}");
            assert!(!finished.out.is_empty(), "{command:?}, {fault}: {finished:?}");
            let named =
                finished.err.lines().filter(|line| line.contains(fault) && line.contains("not looked at"));
            assert_eq!(named.count(), 1, "{command:?}, {fault}: {finished:?}");
        }
        assert!(dir.run(["list", "mnt"]).out.contains("one.txt\n"));
        let order: Value = serde_json::from_str(&dir.run(["order", "mnt", "--json"]).out).unwrap();
        let is_named = |note: &Value| note["subject"].as_str().is_some_and(|it| it.contains(fault));
        assert!(order["notes"].as_array().unwrap().iter().any(is_named), "{order}");
        // Its own daemon names it, too.
        let which = dir.run(["which", "mnt/one.txt"]);
        assert!(which.out.starts_with("one.txt  (3 B)\n  from   one\n"), "{which:?}");
    };
    for (gone, is_folder) in [("two", true), ("of_profile", true), ("cut.bsa", false)] {
        fs::rename(dir.path(gone), dir.path("elsewhere")).unwrap();
        check(gone);
        // A source that the user names himself is another matter.
        assert_eq!(dir.run(["list", "one", gone]).code, 66, "{is_folder}");
        fs::rename(dir.path("elsewhere"), dir.path(gone)).unwrap();
    }
    fs::write(dir.path("p.toml"), "archives = [").unwrap();
    check("p.toml");
    fs::write(dir.path("p.toml"), profile).unwrap();
    assert_eq!(dir.run(["list", "mnt"]).success().lines().count(), 8);
    mount.umount(&dir);
}

#[test]
fn a_mount_whose_sources_cannot_be_found_is_refused_and_not_read_as_a_folder() {
    let (dir, mount) = mounted();
    let refuses = |code: i32, what: &str| {
        for source in ["mnt", "mnt/textures"] {
            let refused = dir.run(["list", source]);
            assert!(
                refused.code == code && refused.err.contains(what) && refused.out.is_empty(),
                "{refused:?}"
            );
        }
    };
    fs::rename(dir.path("data"), dir.path("elsewhere")).unwrap();
    let refused = dir.run(["list", "mnt"]);
    let what = "no source of this mount can be opened";
    assert!(refused.code == 66 && refused.err.contains(what) && refused.out.is_empty(), "{refused:?}");
    fs::rename(dir.path("elsewhere"), dir.path("data")).unwrap();
    stop(mount.pid);
    refuses(69, "does not answer");
    signal(mount.pid, Signal::CONT);
    signal(mount.pid, Signal::KILL);
    // While its other threads end, the process is a zombie and still holds the connection.
    let unknown = mount.join("unknown");
    let is_over = || fs::metadata(&unknown).is_err_and(|it| it.kind() == ErrorKind::NotConnected);
    until("the daemon to end", is_over);
    refuses(69, "the daemon has ended; run `bsafs umount");
}

#[test]
fn a_folder_in_a_mount_that_hangs_is_refused_even_if_it_was_never_looked_up() {
    let (dir, mount) = mounted();
    stop(mount.pid);
    let refused = dir.run(["list", "mnt/textures/clutter"]);
    signal(mount.pid, Signal::CONT);
    assert!(refused.code == 69 && refused.err.contains("does not answer"), "{refused:?}");
}

#[test]
fn a_mount_that_covers_its_own_source_is_refused_as_a_source() {
    let dir = TestDir::new();
    fs::create_dir(dir.path("data")).unwrap();
    fs::write(dir.path("data/a.txt"), "a").unwrap();
    let report = dir.run(["mount", "-o", "nonempty", "data", "data"]).success();
    let mount = Mounted::at(&dir.path("data"), report);
    let refused = dir.run(["list", "data"]);
    assert!(refused.code == 66 && refused.err.contains("a mount of bsafs covers this folder"), "{refused:?}");
    // The library knows no other mounts, and says what the folder is.
    let error = Vfs::open([mount.path.join("")]).expect_err("a mount was opened");
    assert!(matches!(error.kind(), OpenErrorKind::IsMount), "{error}");
    mount.umount(&dir);
    assert_eq!(dir.run(["list", "data"]).success(), "a.txt\n");
}

#[test]
fn a_bind_mount_of_a_folder_in_a_mount_stands_for_that_folder() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let (dir, _mount) = mounted();
    fs::create_dir(dir.path("bound")).unwrap();
    rustix::mount::mount_bind(dir.path("mnt/textures"), dir.path("bound")).unwrap();
    let listed = dir.run(["list", "bound/clutter"]);
    rustix::mount::unmount(dir.path("bound"), rustix::mount::UnmountFlags::empty()).unwrap();
    assert_eq!(lines(listed), lines(dir.run(["list", "mnt/textures/clutter"])));
}

#[test]
fn another_user_is_refused_the_sources_of_a_mount() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let (dir, mount) = mounted();
    mount.umount(&dir);
    dir.give_to_user();
    // Root shows others no folder that a user can change.
    for path in ["", "data"] {
        chown(dir.path(path), Some(0), None).unwrap();
    }
    let _mount = dir.mount(["-o", "allow_other", "data"]);
    let refused = run(&mut dir.bsafs_as_user(["list", "mnt"]));
    assert!(refused.code == 77 && refused.err.contains("may know the sources"), "{refused:?}");
}

#[test]
fn a_mounted_game_as_a_source_loads_what_the_game_loads() {
    let dir = TestDir::new();
    let data = dir.path("home/Games/Skyrim/Data");
    fs::create_dir_all(data.join("textures")).unwrap();
    fs::write(dir.path("home/Games/Skyrim/SkyrimSE.exe"), "").unwrap();
    fs::write(data.join("Skyrim.esm"), "").unwrap();
    fs::write(data.join("textures/sky.dds"), "loose").unwrap();
    // The game loads the first archive with its plugin, and no plugin loads the second.
    dir.archive("home/Games/Skyrim/Data/Skyrim.bsa", &world());
    dir.archive("home/Games/Skyrim/Data/Unlisted.bsa", &world());
    let bsafs = |arguments: &[&str]| {
        let mut command = dir.bsafs(arguments);
        command.env("HOME", dir.path("home")).env("USER", "nobody");
        run(command.env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME"))
    };
    let report = bsafs(&["mount", "skyrimse", "mnt"]).success();
    let _mount = Mounted::at(&dir.path("mnt"), report);
    let same = bsafs(&["diff", "--compare", "skyrimse", "mnt"]).success();
    assert!(same.starts_with("0 added, 0 removed, 0 changed, "), "{same}");
    for command in [&["order", "--json"][..], &["conflicts", "--json"], &["list", "--json"]] {
        let of = |source: &str| bsafs(&[command, &[source]].concat()).success();
        assert_eq!(of("mnt"), of("skyrimse"), "{command:?}");
    }
    let layers = bsafs(&["conflicts", "--json", "mnt"]).success();
    assert!(!layers.contains("Unlisted.bsa"), "{layers}");
    let orders = bsafs(&["order", "--json", "mnt/textures"]).success();
    assert_eq!(orders, bsafs(&["order", "--json", "skyrimse"]).success());
}
