//! Links in a mounted folder that lead to other file systems. Mod managers deploy by links, and the mods may
//! be on a disk that another system formatted.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::mounted::{TestDir, is_root, mount_table, run};
use crate::support::Tes3;

/// Formats a file as NTFS and mounts it at `folder` through a loop device, which goes with the mount.
fn mount_ntfs(dir: &TestDir, folder: &str) {
    let image = dir.path("ntfs.img");
    fs::File::create(&image).unwrap().set_len(4 << 20).unwrap();
    // It warns that a file is not a device.
    let made = run(Command::new("mkntfs").args(["--force", "--fast", "--quiet"]).arg(&image));
    assert_eq!(made.code, 0, "{}", made.err);
    fs::create_dir_all(dir.path(folder)).unwrap();
    run(Command::new("mount").args(["-t", "ntfs-3g", "-o", "loop"]).arg(&image).arg(dir.path(folder)))
        .success();
    let is_disk =
        |line: &str| line.contains(dir.path(folder).to_str().unwrap()) && line.contains(" fuseblk ");
    assert!(mount_table("mountinfo").lines().any(is_disk), "ntfs-3g did not mount a disk");
}

/// Whether the test can make loop devices. Containers often cannot.
fn has_loop_devices() -> bool {
    is_root() && Path::new("/dev/loop-control").exists()
}

#[test]
fn files_behind_links_to_an_ntfs_disk_are_shown() {
    if !has_loop_devices() {
        return eprintln!("SKIPPED: needs root and loop devices");
    }
    let dir = TestDir::new();
    mount_ntfs(&dir, "disk");
    fs::create_dir_all(dir.path("disk/staging/armor/textures/armor")).unwrap();
    fs::write(dir.path("disk/staging/armor/textures/armor/plate.dds"), "mod's plate").unwrap();
    fs::write(dir.path("disk/staging/single.txt"), "mod's file").unwrap();
    let linked = Tes3::new().file("textures\\sky.dds", b"mod's sky").build();
    fs::write(dir.path("disk/staging/Linked.bsa"), linked).unwrap();
    let own =
        Tes3::new().file("textures\\armor\\plate.dds", b"game's plate").file("single.txt", b"game's file");
    fs::create_dir_all(dir.path("Data/textures")).unwrap();
    fs::write(dir.path("Data/A.bsa"), own.build()).unwrap();
    symlink(dir.path("disk/staging/armor/textures/armor"), dir.path("Data/textures/armor")).unwrap();
    symlink(dir.path("disk/staging/single.txt"), dir.path("Data/single.txt")).unwrap();
    symlink(dir.path("disk/staging/Linked.bsa"), dir.path("Data/Linked.bsa")).unwrap();
    let mount = dir.mount(["Data"]);
    assert_eq!(mount.read("TEXTURES/Armor/Plate.dds"), b"mod's plate");
    assert_eq!(mount.read("single.txt"), b"mod's file");
    assert_eq!(mount.read("textures/sky.dds"), b"mod's sky");
    // A change on the disk is followed as on any other.
    fs::write(dir.path("disk/staging/armor/textures/armor/new.dds"), "added").unwrap();
    crate::mounted::until("the new file to appear", || mount.join("textures/armor/new.dds").exists());
    mount.umount(&dir);
}
