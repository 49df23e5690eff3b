//! Tests of disks that are mounted, unmounted and mounted again where the sources of a mount are.

use std::ffi::CStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, unmount};

use super::files::{ENOENT, archive, content};
use crate::disk::{Disk, Mode};
use crate::mounted::{TestDir, is_root, logged, run, status, until};

/// Mounts an empty disk.
fn mount_disk(path: &Path) {
    mount("none", path, "tmpfs", MountFlags::empty(), None::<&CStr>).unwrap();
}

/// Unmounts a disk even while it is in use, as when it is unplugged.
fn unplug(path: &Path) {
    unmount(path, UnmountFlags::DETACH).unwrap();
}

/// A folder `mod` with one file, `textures/sub/under.dds`.
fn world() -> TestDir {
    let dir = TestDir::new();
    fs::create_dir_all(dir.path("mod/textures/sub")).unwrap();
    fs::write(dir.path("mod/textures/sub/under.dds"), "under").unwrap();
    dir
}

#[test]
fn a_disk_mounted_below_a_mod_is_shown_and_can_be_unmounted_at_once() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = world();
    // The mod is reached through a link, so the mount table names another path.
    symlink(dir.path("mod"), dir.path("link")).unwrap();
    let mnt = dir.mount(["link"]);
    assert_eq!(content(&mnt.join("textures/sub/under.dds")), Ok("under".into()));
    for name in ["one", "two"] {
        mount_disk(&dir.path("mod/textures/sub"));
        fs::write(dir.path("mod/textures/sub/new.dds"), name).unwrap();
        until("the disk to be shown", || content(&mnt.join("textures/sub/new.dds")) == Ok(name.into()));
        assert_eq!(content(&mnt.join("textures/sub/under.dds")), Err(ENOENT));
        // A file that was just read, and the disk itself, are not held open.
        unmount(dir.path("mod/textures/sub"), UnmountFlags::empty()).unwrap();
        until("the folder to be shown", || {
            content(&mnt.join("textures/sub/under.dds")) == Ok("under".into())
        });
        assert_eq!(content(&mnt.join("textures/sub/new.dds")), Err(ENOENT));
    }
    mnt.umount(&dir);
}

#[test]
fn a_folder_bound_on_a_folder_of_a_mod_is_shown_and_followed() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = world();
    fs::create_dir(dir.path("bound")).unwrap();
    fs::write(dir.path("bound/b.dds"), "b").unwrap();
    let mnt = dir.mount(["mod"]);
    mount_bind(dir.path("bound"), dir.path("mod/textures/sub")).unwrap();
    until("the bound folder to be shown", || content(&mnt.join("textures/sub/b.dds")) == Ok("b".into()));
    fs::write(dir.path("bound/c.dds"), "c").unwrap();
    until("the new file to be shown", || content(&mnt.join("textures/sub/c.dds")) == Ok("c".into()));
    unmount(dir.path("mod/textures/sub"), UnmountFlags::empty()).unwrap();
    until("the folder to be shown", || content(&mnt.join("textures/sub/under.dds")) == Ok("under".into()));
    mnt.umount(&dir);
}

#[test]
fn a_disk_that_is_mounted_after_its_mount_was_made_is_shown() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    // The disks of a source, of a folder above one, and of a link's target.
    for folder in ["disk", "media/u", "targets", "links"] {
        fs::create_dir_all(dir.path(folder)).unwrap();
    }
    fs::create_dir_all(dir.path("media/u/mods")).unwrap();
    fs::write(dir.path("media/u/mods/without.txt"), "without a disk").unwrap();
    symlink(dir.path("targets/file.txt"), dir.path("links/file.txt")).unwrap();
    fs::write(dir.path("links/own.txt"), "own").unwrap();
    let mnt = dir.mount(["disk", "media/u/mods", "links", "-o", "nonempty"]);
    for (folder, file) in [("disk", "a.txt"), ("media/u", "mods/b.txt"), ("targets", "file.txt")] {
        mount_disk(&dir.path(folder));
        let path = dir.path(folder).join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, folder).unwrap();
        let shown = mnt.join(path.file_name().unwrap());
        until("the disk to be shown", || content(&shown) == Ok(folder.into()));
    }
    assert_eq!(content(&mnt.join("without.txt")), Err(ENOENT));
    mnt.umount(&dir);
    for folder in ["disk", "media/u", "targets"] {
        unplug(&dir.path(folder));
    }
}

#[test]
fn a_disk_that_was_unplugged_is_named_until_it_is_back() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    fs::create_dir(dir.path("disk")).unwrap();
    fs::create_dir(dir.path("other")).unwrap();
    fs::write(dir.path("other/own.txt"), "own").unwrap();
    let fill = |text: &str| {
        mount_disk(&dir.path("disk"));
        for number in 0..9 {
            fs::create_dir(dir.path(format!("disk/mod{number}"))).unwrap();
            fs::write(dir.path(format!("disk/mod{number}/{number}.txt")), text).unwrap();
        }
        dir.archive("disk/A.bsa", &archive(&[("meshes\\a.nif", text)]));
    };
    fill("first");
    let sources: Vec<String> = (0..9).map(|number| format!("disk/mod{number}")).collect();
    let sources = sources.iter().map(String::as_str);
    let mnt = dir.mount(sources.chain(["disk/A.bsa", "other", "--log-file", "log"]));
    assert_eq!(content(&mnt.join("meshes/a.nif")), Ok("first".into()));
    unplug(&dir.path("disk"));
    until("the disk to be missed", || content(&mnt.join("3.txt")) == Err(ENOENT));
    let says = || {
        let named = format!("1 disk that is gone ({})", dir.path("disk").to_str().unwrap());
        let outputs = [dir.run(["status", "mnt"]).success(), dir.run(["mounts"]).out];
        outputs.map(|output| output.contains(&named))
    };
    until("status and mounts to name the disk", || says() == [true; 2]);
    assert_eq!(content(&mnt.join("own.txt")), Ok("own".into()));
    let of_disk =
        |log: &str| log.lines().filter(|line| line.contains("the disk (tmpfs, none) is gone")).count();
    let log = logged(&dir, 1);
    assert_eq!(of_disk(&log), 1, "{log}");
    assert!(log.contains("10 sources are on it"), "{log}");
    fill("second");
    until("the archive to be back", || content(&mnt.join("meshes/a.nif")) == Ok("second".into()));
    until("the folders to be back", || content(&mnt.join("3.txt")) == Ok("second".into()));
    until("no disk to be named", || says() == [false; 2]);
    mnt.umount(&dir);
    unplug(&dir.path("disk"));
}

#[test]
fn a_disk_that_failed_is_checked_again_although_no_event_reports_it() {
    for errno in [Errno::IO, Errno::STALE, Errno::NOTCONN, Errno::NODEV] {
        let dir = TestDir::new();
        let files = vec![("a.txt", b"a".to_vec()), ("b.txt", b"b".to_vec())];
        let disk = Disk::mount(&dir.path("disk"), files);
        let mnt = dir.mount(["disk"]);
        let reloads = || status(&mnt.path)["last_reload"]["count"].as_u64().unwrap();
        let before = reloads();
        disk.set(Mode::FailsWith(errno.raw_os_error()));
        assert!(content(&mnt.join("a.txt")).is_err(), "{errno}");
        until("the sources to be checked", || reloads() > before);
        disk.set(Mode::Works);
        until("the file to be readable again", || content(&mnt.join("a.txt")) == Ok("a".into()));
        assert_eq!(content(&mnt.join("b.txt")), Ok("b".into()));
        mnt.umount(&dir);
    }
}

#[test]
fn the_disk_of_a_mod_that_left_the_mount_can_be_unmounted() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = world();
    fs::create_dir(dir.path("disk")).unwrap();
    mount_disk(&dir.path("disk"));
    fs::create_dir_all(dir.path("disk/staging/meshes")).unwrap();
    fs::write(dir.path("disk/staging/meshes/a.nif"), "a").unwrap();
    symlink(dir.path("disk/staging/meshes"), dir.path("mod/meshes")).unwrap();
    let mnt = dir.mount(["mod"]);
    assert_eq!(content(&mnt.join("meshes/a.nif")), Ok("a".into()));
    run(Command::new("umount").arg(dir.path("disk"))).success();
    until("the file to vanish", || content(&mnt.join("meshes/a.nif")) == Err(ENOENT));
    mnt.umount(&dir);
}
