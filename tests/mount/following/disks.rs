//! Tests of disks that are mounted, unmounted and mounted again where the sources of a mount are.

use std::ffi::CStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, unmount};
use rustix::process::Signal;

use super::files::{ENOENT, archive, content};
use crate::disk::{Disk, Mode};
use crate::mounted::{TestDir, is_root, logged, mounts_below, run, signal, status, unmount_lazily, until};

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

/// A bindfs mount of the folder `back`, whose daemon can be stopped. When this is dropped, the daemon goes on
/// and ends.
struct SlowDisk(Child, PathBuf);

impl SlowDisk {
    fn mount(dir: &TestDir, at: &str) -> Self {
        for folder in ["back", at] {
            fs::create_dir_all(dir.path(folder)).unwrap();
        }
        let mut daemon = Command::new("bindfs");
        let daemon =
            daemon.args(["-f", "--no-allow-other"]).arg(dir.path("back")).arg(dir.path(at)).spawn().unwrap();
        until("bindfs to mount", || mounts_below(&dir.path(at)).contains(&dir.path(at)));
        Self(daemon, dir.path(at))
    }

    fn signal(&self, number: Signal) {
        signal(i32::try_from(self.0.id()).unwrap(), number);
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        self.signal(Signal::CONT);
        unmount_lazily(&self.1);
        let _ = self.0.wait();
    }
}

/// The codes of what is odd about a mount.
fn odd(path: &Path) -> Vec<String> {
    let sources = fs::read_link(path.join(".bsafs:sources:0")).unwrap();
    let sources: serde_json::Value = serde_json::from_str(sources.to_str().unwrap()).unwrap();
    let odd = sources["odd"].as_array().into_iter().flatten();
    odd.map(|note| note["code"].as_str().unwrap().to_owned()).collect()
}

/// Saves a file in place, with an old time of modification.
fn save_with_old_time(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::File::options().write(true).open(path).unwrap().set_modified(TestDir::archive_time()).unwrap();
}

#[test]
fn a_disk_that_hangs_holds_back_its_own_source_only() {
    const SOON: Duration = Duration::from_secs(15);
    let dir = TestDir::new();
    // One source is the disk, the other one is reached through a link.
    let disk = SlowDisk::mount(&dir, "disk");
    symlink(dir.path("disk/sub"), dir.path("link")).unwrap();
    for (path, text) in [("back/d", "d"), ("back/sub/s", "s"), ("good/f", "first"), ("last/x", "x")] {
        fs::create_dir_all(dir.path(path).parent().unwrap()).unwrap();
        fs::write(dir.path(path), text).unwrap();
    }
    let mnt = dir.mount(["--log-file", "log", "disk", "link", "good", "last"]);
    until("the disk to be shown", || content(&mnt.join("s")) == Ok("s".into()));
    assert_eq!((content(&mnt.join("f")), odd(&mnt.path)), (Ok("first".into()), vec![]));
    for round in 0..3 {
        // The event of a write is read when the disk does not answer any more.
        fs::write(dir.path("disk/d"), format!("d{round}")).unwrap();
        disk.signal(Signal::STOP);
        let began = Instant::now();
        let text = format!("{round} is saved in place");
        save_with_old_time(&dir.path("good/f"), &text);
        until("the save to be shown", || content(&mnt.join("f")) == Ok(text.clone()));
        let new = format!("new{round}");
        fs::write(dir.path("good").join(&new), "new").unwrap();
        until("the new file to be shown", || content(&mnt.join(&new)) == Ok("new".into()));
        fs::remove_file(dir.path("good").join(&new)).unwrap();
        until("the removed file to vanish", || content(&mnt.join(&new)) == Err(ENOENT));
        assert!(began.elapsed() < SOON, "the other sources were shown after {:?}", began.elapsed());
        until("the disk to be named", || odd(&mnt.path).contains(&"disk-asleep".into()));
        let mounts = dir.run(["mounts"]).out;
        let named = format!("1 disk that does not answer ({})", dir.path("disk").display());
        assert!(mounts.contains(&named), "{mounts}");
        let names: Vec<_> = fs::read_dir(&mnt.path).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert!(names.contains(&"d".into()) && names.contains(&"s".into()), "{names:?}");
        // No event of the disk reports this one.
        fs::write(dir.path("back/sub").join(&new), "back").unwrap();
        disk.signal(Signal::CONT);
        until("the disk to be listed again", || content(&mnt.join(&new)) == Ok("back".into()));
        assert_eq!(content(&mnt.join("d")), Ok(format!("d{round}")));
        until("the note to go", || odd(&mnt.path).is_empty());
        fs::remove_file(dir.path("disk/sub").join(&new)).unwrap();
        until("the file to vanish", || content(&mnt.join(&new)) == Err(ENOENT));
    }
    let log = fs::read_to_string(dir.path("log")).unwrap();
    assert_eq!(log.matches("does not answer").count(), 3, "{log}");
    assert_eq!(log.matches("the disk answers again").count(), 3, "{log}");
    mnt.umount(&dir);
}
