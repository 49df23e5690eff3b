//! Tests of folders of loose files in a mount, with and without archives.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use rustix::io::Errno;

use crate::mounted::{Mounted, TestDir, is_root, run, until};
use crate::support::Tes3;

fn write(dir: &TestDir, path: &str, content: &[u8]) -> PathBuf {
    let path = dir.path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    path
}

/// The names in a folder, sorted without regard to case.
fn names(folder: &Path) -> Vec<String> {
    let listed = fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = listed.collect();
    names.sort_by_key(|name| name.to_lowercase());
    names
}

fn time(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::new(seconds, 123)
}

/// Writes `Data` with loose files and two archives. The archives share a file, and all three share another.
fn write_data(dir: &TestDir) {
    let archive = |name: &str, files: [(&str, &str); 3]| {
        let archive =
            files.iter().fold(Tes3::new(), |it, (path, content)| it.file(*path, content.as_bytes()));
        write(dir, &format!("Data/{name}"), &archive.build());
    };
    archive("b.BSA", [("misc\\all.txt", "b"), ("misc\\archives.txt", "b"), ("misc\\b.txt", "b")]);
    archive("A.bsa", [("misc\\all.txt", "a"), ("misc\\archives.txt", "a"), ("misc\\a.txt", "a")]);
    write(dir, "Data/Misc/ALL.txt", b"loose");
    write(dir, "Data/Mod.esp", b"plugin");
    fs::create_dir_all(dir.path("Data/Empty")).unwrap();
}

#[test]
fn a_folder_is_mounted_with_its_times_sizes_and_any_case() {
    let dir = TestDir::new();
    let file = write(&dir, "mod/Textures/Sky.dds", &[7; 5000]);
    File::open(&file).unwrap().set_times(FileTimes::new().set_modified(time(1_000_000_000))).unwrap();
    File::open(dir.path("mod/Textures"))
        .unwrap()
        .set_times(FileTimes::new().set_modified(time(2_000_000_000)))
        .unwrap();
    let mount = dir.mount(["mod"]);
    assert!(mount.report.starts_with("mounted 1 folder, 1 file, read-only at "), "{}", mount.report);
    let metadata = fs::metadata(mount.join("TEXTURES/sky.DDS")).unwrap();
    assert_eq!((metadata.len(), metadata.modified().unwrap()), (5000, time(1_000_000_000)));
    assert_eq!(fs::metadata(mount.join("textures")).unwrap().modified().unwrap(), time(2_000_000_000));
    assert_eq!(mount.read("textures/SKY.dds"), [7; 5000]);
    let found: serde_json::Value =
        serde_json::from_str(&dir.run(["which", "--json", "mnt/textures/sky.dds"]).success()).unwrap();
    assert_eq!(found["from"]["archive"], dir.path("mod").to_str().unwrap());
    assert_eq!(found["from"]["stored_name"], "Textures/Sky.dds");
    mount.umount(&dir);
}

#[test]
fn loose_files_hide_archives_and_later_archives_hide_earlier_ones() {
    let dir = TestDir::new();
    write_data(&dir);
    let mount = dir.mount(["Data"]);
    assert!(
        mount.report.starts_with("mounted 2 archives and 1 folder, 5 files, 3 hidden by later layers ("),
        "{}",
        mount.report
    );
    assert_eq!(mount.read("misc/all.txt"), b"loose");
    assert_eq!(mount.read("misc/archives.txt"), b"b");
    assert_eq!(mount.read("misc/a.txt"), b"a");
    assert_eq!(mount.read("mod.esp"), b"plugin");
    assert_eq!(names(&mount.path), ["Empty", "misc", "Mod.esp"]);
    assert_eq!(names(&mount.join("empty")).len(), 0);
    mount.umount(&dir);
}

#[test]
fn the_archives_option_shows_archives_as_files_or_as_both() {
    let dir = TestDir::new();
    write_data(&dir);
    for arguments in [["--archives", "files"], ["-o", "archives=files"]] {
        let mount = dir.mount(["Data"].iter().chain(&arguments));
        assert_eq!(names(&mount.path), ["A.bsa", "b.BSA", "Empty", "Misc", "Mod.esp"]);
        assert_eq!(mount.read("a.BSA"), fs::read(dir.path("Data/A.bsa")).unwrap());
        assert_eq!(names(&mount.join("misc")), ["ALL.txt"]);
        mount.umount(&dir);
    }
    let mount = dir.mount(["Data", "--archives=both"]);
    assert_eq!(names(&mount.path), ["A.bsa", "b.BSA", "Empty", "misc", "Mod.esp"]);
    assert_eq!(names(&mount.join("misc")).len(), 4);
    mount.umount(&dir);
}

#[test]
fn the_rightmost_source_wins() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &Tes3::new().file("misc\\x.txt", b"archive").build());
    write(&dir, "one/Misc/X.txt", b"one");
    write(&dir, "two/misc/x.TXT", b"two");
    for (sources, winner) in [
        (["a.bsa", "one", "two"], "two"),
        (["two", "one", "a.bsa"], "archive"),
        (["a.bsa", "two", "one"], "one"),
    ] {
        let mount = dir.mount(sources);
        assert_eq!(mount.read("misc/x.txt"), winner.as_bytes(), "{sources:?}");
        assert_eq!(names(&mount.join("misc")).len(), 1);
        mount.umount(&dir);
    }
}

#[test]
fn a_damaged_archive_in_a_folder_stays_a_file_and_causes_a_warning() {
    let dir = TestDir::new();
    write_data(&dir);
    write(&dir, "Data/broken.ba2", b"BTDX, and then nothing");
    let finished = dir.run(["mount", "Data", "mnt"]);
    assert_eq!(finished.code, 0, "{finished:?}");
    assert!(finished.err.contains("broken.ba2: ") && finished.err.lines().count() == 1, "{}", finished.err);
    let mount = Mounted::at(&dir.path("mnt"), finished.out);
    assert_eq!(mount.read("broken.ba2"), b"BTDX, and then nothing");
    assert_eq!(mount.read("misc/a.txt"), b"a");
    mount.umount(&dir);
}

#[test]
fn a_folder_can_be_mounted_on_a_folder_in_it_and_on_itself() {
    let dir = TestDir::new();
    write_data(&dir);
    fs::create_dir(dir.path("Data/view")).unwrap();
    let before = names(&dir.path("Data"));
    for (mountpoint, options) in [("Data/view", "ro"), ("Data", "nonempty")] {
        let report = dir.run(["mount", "-o", options, "Data", mountpoint]).success();
        let mount = Mounted::at(&dir.path(mountpoint), report);
        assert_eq!(mount.read("MISC/all.TXT"), b"loose", "{mountpoint}");
        assert_eq!(mount.read("misc/b.txt"), b"b", "{mountpoint}");
        assert_eq!(fs::metadata(mount.join("mod.ESP")).unwrap().len(), 6);
        assert_eq!(names(&mount.join("view")).len(), 0, "{mountpoint}");
        // After a reload the mount neither shows itself nor keeps itself busy: it can be unmounted.
        assert_eq!(dir.run(["reload", mountpoint]).success(), format!("{mountpoint}: nothing changed\n"));
        assert_eq!(mount.read("misc/b.txt"), b"b", "{mountpoint}");
        mount.umount(&dir);
    }
    assert_eq!(names(&dir.path("Data")), before);
}

#[test]
fn a_single_folder_is_mounted_on_a_new_folder_of_its_name() {
    let dir = TestDir::new();
    write_data(&dir);
    let report = dir.run(["mount", "Data"]).success();
    let mount = Mounted::at(&dir.path("Data (2)"), report);
    assert_eq!(mount.read("misc/all.txt"), b"loose");
    mount.umount(&dir);
    assert!(!dir.path("Data (2)").exists());
    fs::create_dir(dir.path("nothing")).unwrap();
    let finished = dir.run(["mount", "nothing"]);
    assert_eq!(finished.code, 66);
    assert!(
        finished.err.contains("the folder is empty; to mount on it, give the sources before it"),
        "{finished:?}"
    );
}

#[test]
fn a_nonempty_folder_as_last_argument_is_not_taken_for_a_source() {
    let dir = TestDir::new();
    write_data(&dir);
    write(&dir, "other/a.txt", b"a");
    let finished = dir.run(["mount", "Data", "other"]);
    assert_eq!(finished.code, 73);
    assert!(
        finished.err.contains("or add a mountpoint after it to use this folder as a source"),
        "{finished:?}"
    );
}

#[test]
fn a_written_file_is_readable_and_a_removed_one_is_stale_before_a_reload() {
    let dir = TestDir::new();
    let [changed, gone, late] =
        ["changed", "gone", "late"].map(|it| write(&dir, &format!("mod/{it}.txt"), b"before"));
    write(&dir, "mod/sound.txt", b"sound");
    let mount = dir.mount(["mod", "-o", "static", "--log-file", "log"]);
    for name in ["changed.txt", "gone.txt"] {
        assert_eq!(fs::metadata(mount.join(name)).unwrap().len(), 6);
    }
    fs::write(changed, b"longer than before").unwrap();
    fs::remove_file(gone).unwrap();
    fs::remove_file(late).unwrap();
    // The first reader shows that the size is another one, but the kernel cuts its read off at the old one.
    until("the new size", || mount.read("changed.txt") == b"longer than before");
    for _ in 0..2 {
        assert_eq!(mount.read_error("gone.txt"), Some(Errno::STALE.raw_os_error()));
        let late = fs::metadata(mount.join("late.txt")).unwrap_err();
        assert_eq!(late.kind(), std::io::ErrorKind::NotFound);
    }
    assert_eq!(mount.read("sound.txt"), b"sound");
    // The listing still has all names.
    assert_eq!(names(&mount.path).len(), 4);
    mount.umount(&dir);
    assert_eq!(fs::read_to_string(dir.path("log")).unwrap_or_default(), "", "a change was logged as a fault");
}

#[test]
fn links_are_shown_as_the_files_and_folders_that_they_lead_to() {
    let dir = TestDir::new();
    write(&dir, "staging/skyui/interface/a.swf", b"flash");
    fs::create_dir_all(dir.path("Data")).unwrap();
    symlink("../staging/skyui/interface", dir.path("Data/Interface")).unwrap();
    symlink("../staging/skyui/interface/a.swf", dir.path("Data/b.swf")).unwrap();
    symlink("nowhere", dir.path("Data/dangling")).unwrap();
    symlink("/", dir.path("Data/z:")).unwrap();
    let mount = dir.mount(["Data"]);
    assert_eq!(names(&mount.path), ["b.swf", "Interface"]);
    assert_eq!(mount.read("INTERFACE/A.swf"), b"flash");
    assert_eq!(mount.read("B.SWF"), b"flash");
    assert!(fs::symlink_metadata(mount.join("b.swf")).unwrap().is_file());
    mount.umount(&dir);
}

#[test]
fn a_thousand_folders_are_mounted_with_few_open_files() {
    let dir = TestDir::new();
    let mods: Vec<String> = (0..1000).map(|n| format!("mods/{n:04}")).collect();
    for (n, name) in mods.iter().enumerate() {
        write(&dir, &format!("{name}/shared.txt"), name.as_bytes());
        write(&dir, &format!("{name}/own/{n}.txt"), name.as_bytes());
    }
    let mut command = Command::new("prlimit");
    let program = dir.bsafs(["mount"]);
    command
        .arg("--nofile=1400:1400")
        .arg(program.get_program())
        .arg("mount")
        .args(&mods)
        .arg("mnt")
        .current_dir(dir.path(""));
    let mount = Mounted::at(&dir.path("mnt"), run(&mut command).success());
    assert_eq!(mount.read("shared.txt"), b"mods/0999");
    for (n, name) in mods.iter().enumerate() {
        assert_eq!(mount.read(format!("OWN/{n}.txt")), name.as_bytes());
    }
    if is_root() || fs::read_dir(format!("/proc/{}/fd", mount.pid)).is_ok() {
        let open = fs::read_dir(format!("/proc/{}/fd", mount.pid)).unwrap().count();
        assert!(open < 1000 + 200, "{open} open files");
    }
    mount.umount(&dir);
}

#[test]
fn folders_leave_the_open_files_that_are_allowed_to_archives() {
    let dir = TestDir::new();
    let mods: Vec<String> = (0..600).map(|n| format!("mods/{n:03}")).collect();
    for (n, name) in mods.iter().enumerate() {
        write(&dir, &format!("{name}/own/{n}.txt"), name.as_bytes());
    }
    let archives: Vec<String> = (0..200).map(|n| format!("{n}.bsa")).collect();
    for name in &archives {
        write(&dir, name, &Tes3::new().file(format!("misc\\{name}.txt"), name.as_bytes()).build());
    }
    let mut command = Command::new("prlimit");
    let program = dir.bsafs(["mount"]);
    command
        .arg("--nofile=800:800")
        .arg(program.get_program())
        .arg("mount")
        .args(archives.iter().chain(&mods))
        .arg("mnt")
        .current_dir(dir.path(""));
    let mount = Mounted::at(&dir.path("mnt"), run(&mut command).success());
    for (n, name) in mods.iter().enumerate() {
        assert_eq!(mount.read(format!("own/{n}.txt")), name.as_bytes());
    }
    for name in &archives {
        assert_eq!(mount.read(format!("misc/{name}.txt")), name.as_bytes());
    }
    // The last folders are opened for each access.
    write(&dir, "mods/599/own/599.txt", b"another length");
    until("the new bytes", || mount.read("own/599.txt") == b"another length");
    fs::rename(dir.path("mods/598"), dir.path("away")).unwrap();
    write(&dir, "mods/598/own/598.txt", b"another folder");
    until("the new folder", || fs::read(mount.join("own/598.txt")).is_ok_and(|it| it == b"another folder"));
    mount.umount(&dir);
}

#[test]
fn statfs_counts_loose_files_that_were_statted() {
    let dir = TestDir::new();
    write(&dir, "mod/a.bin", &[1; 8192]);
    let mount = dir.mount(["mod"]);
    assert_eq!(fs::metadata(mount.join("a.bin")).unwrap().size(), 8192);
    let stat = rustix::fs::statvfs(&mount.path).unwrap();
    assert_eq!(stat.f_blocks * stat.f_frsize, 8192);
    mount.umount(&dir);
}
