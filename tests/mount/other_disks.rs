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

/// The names of all files in a folder and below it.
fn names_below(folder: &Path) -> Vec<String> {
    let listed = run(Command::new("find").arg(folder).args(["-type", "f", "-printf", "%f\\n"])).success();
    let mut names: Vec<String> = listed.lines().map(str::to_owned).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_mod_on_a_fuse_disk_can_be_removed_as_soon_as_it_is_not_read() {
    if !has_loop_devices() {
        return eprintln!("SKIPPED: needs root and loop devices");
    }
    for is_ntfs in [false, true] {
        let dir = TestDir::new();
        if is_ntfs {
            mount_ntfs(&dir, "disk");
        } else {
            fs::create_dir_all(dir.path("back")).unwrap();
            fs::create_dir_all(dir.path("disk")).unwrap();
            run(Command::new("bindfs").arg(dir.path("back")).arg(dir.path("disk"))).success();
        }
        for folder in ["A", "B/textures"] {
            fs::create_dir_all(dir.path("disk").join(folder)).unwrap();
        }
        for name in ["A/a.txt", "B/b.txt", "B/textures/c.dds", ".nfs0000000000001", "A/.fuse_hidden0000001"] {
            fs::write(dir.path("disk").join(name), name).unwrap();
        }
        fs::write(dir.path("disk/B/D.bsa"), Tes3::new().file("d.txt", b"of an archive").build()).unwrap();
        let mount = dir.mount(["disk/A", "disk/B"]);
        for (name, content) in
            [("a.txt", "A/a.txt"), ("b.txt", "B/b.txt"), ("textures/c.dds", "B/textures/c.dds")]
        {
            assert_eq!(mount.read(name), content.as_bytes());
        }
        // Loose files are closed at once, and archives a moment later.
        fs::remove_dir_all(dir.path("disk/B/textures")).unwrap();
        assert_eq!(mount.read("d.txt"), b"of an archive");
        let of_disk = |target: &Path| target.starts_with(dir.path("disk")) && target.is_file();
        let open = || {
            let open = fs::read_dir(format!("/proc/{}/fd", mount.pid)).unwrap().flatten();
            open.filter(|it| fs::read_link(it.path()).is_ok_and(|to| of_disk(&to))).count()
        };
        crate::mounted::until("the archive to be closed", || open() == 0);
        assert_eq!(mount.read("d.txt"), b"of an archive");
        crate::mounted::until("the archive to be closed", || open() == 0);
        fs::remove_dir_all(dir.path("disk/B")).unwrap();
        crate::mounted::until("the mod to vanish", || !mount.join("b.txt").exists());
        assert_eq!(names_below(&mount.path), ["a.txt"], "hidden files are shown");
        assert_eq!(names_below(&dir.path("disk")), [".fuse_hidden0000001", ".nfs0000000000001", "a.txt"]);
        mount.umount(&dir);
        crate::mounted::unmount(&dir.path("disk"));
    }
}

/// Mounts a folder through mergerfs, which is a FUSE daemon as any other.
fn mount_mergerfs(dir: &TestDir, from: &str, to: &str) {
    fs::create_dir_all(dir.path(to)).unwrap();
    run(Command::new("mergerfs").arg(dir.path(from)).arg(dir.path(to))).success();
}

#[test]
fn links_to_another_daemons_mount_are_told_by_mount_order_and_status() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root, because mergerfs mounts with options that users may not set");
    }
    let dir = TestDir::new();
    fs::create_dir_all(dir.path("branch/textures")).unwrap();
    fs::write(dir.path("branch/textures/a.dds"), "a").unwrap();
    fs::write(dir.path("branch/Linked.bsa"), Tes3::new().file("x.txt", b"x").build()).unwrap();
    mount_mergerfs(&dir, "branch", "merged");
    fs::create_dir_all(dir.path("Data/sub")).unwrap();
    fs::write(dir.path("Data/own.txt"), "own").unwrap();
    symlink(dir.path("merged/textures"), dir.path("Data/textures")).unwrap();
    symlink(dir.path("merged/Linked.bsa"), dir.path("Data/Linked.bsa")).unwrap();
    symlink("..", dir.path("Data/sub/up")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, dir.path("Data/sub/fifo"), rustix::fs::Mode::RWXU).unwrap();
    let order: serde_json::Value = serde_json::from_str(&dir.run(["order", "--json", "Data"]).out).unwrap();
    assert_eq!(order["layers"].as_array().unwrap().len(), 1, "the mount has no archive: {order}");
    let notes = order["notes"].as_array().unwrap().iter();
    let mut notes: Vec<_> = notes
        .map(|note| {
            let subject = note["subject"].as_str().unwrap();
            (
                note["code"].as_str().unwrap(),
                subject.strip_prefix(dir.path("Data").to_str().unwrap()).unwrap(),
            )
        })
        .collect();
    notes.sort_unstable();
    let expected = [
        ("link-circle", "/sub/up"),
        ("other-mount", "/Linked.bsa"),
        ("other-mount", "/textures"),
        ("special-file", "/sub/fifo"),
    ];
    assert_eq!(notes, expected);
    let mount = dir.mount(["Data"]);
    let odd = mount.report.lines().find(|line| line.starts_with("odd: ")).unwrap().to_owned();
    for part in ["1 link in a circle (", "2 paths on another mount (", "1 special file ("] {
        assert!(odd.contains(part), "{odd}");
    }
    let status = dir.run(["status", "mnt"]).success();
    assert_eq!(status.lines().filter(|line| line.starts_with("  odd  ")).count(), 3, "{status}");
    assert!(status.contains("on another mount ("), "{status}");
    mount.umount(&dir);
    crate::mounted::unmount(&dir.path("merged"));
}
