//! Bad archives: one bad file harms no other, and an archive that changes under the mount harms no other archive.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::io::Errno;

use crate::mounted::{Mounted, TestDir, is_alive, status};
use crate::support::content::{noise, text};
use crate::support::tes4::{FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Tes4, Tes4File};

const EIO: Option<i32> = Some(Errno::IO.raw_os_error());

/// Files of each of the two archives.
const FILES: [&str; 4] = ["a.bin", "b.bin", "c.bin", "d.bin"];

fn content(seed: usize) -> Vec<u8> {
    noise(seed as u64, 150_000)
}

/// Two archives, of stored or packed files, in a mount that logs to `log`.
fn mount_two(dir: &TestDir, flags: u32) -> Mounted {
    for (base, archive) in [(0, "ours"), (10, "other")] {
        let built = FILES
            .iter()
            .enumerate()
            .fold(Tes4::new(104).flags(FOLDER_NAMES | FILE_NAMES | flags), |built, (nth, name)| {
                built.file(archive, *name, content(base + nth))
            });
        dir.archive(&format!("{archive}.bsa"), &built.build());
    }
    dir.mount(["ours.bsa", "other.bsa", "--log-file", "log"])
}

fn log(dir: &TestDir) -> String {
    fs::read_to_string(dir.path("log")).unwrap_or_default()
}

/// The other archive's files are whole, and the daemon lives.
fn assert_unharmed(mount: &Mounted) {
    for (nth, name) in FILES.iter().enumerate() {
        assert!(mount.read(Path::new("other").join(name)) == content(10 + nth), "{name}");
    }
    assert!(is_alive(mount.pid));
    assert_eq!(status(&mount.path)["pid"], mount.pid);
}

/// Does something to the archive under a mount; its files give EIO then, and the log says so once.
fn assert_noticed(flags: u32, change: fn(&File)) {
    let dir = TestDir::new();
    let mount = mount_two(&dir, flags);
    assert!(mount.read("ours/a.bin") == content(0));
    change(&File::options().write(true).open(dir.path("ours.bsa")).unwrap());
    for _ in 0..2 {
        for name in &FILES[1..] {
            assert_eq!(mount.read_error(Path::new("ours").join(name)), EIO, "{name}");
        }
    }
    assert_unharmed(&mount);
    let log = log(&dir);
    let told = format!("{}: the archive was changed while mounted", dir.path("ours.bsa").display());
    assert_eq!((log.matches(&told).count(), log.lines().count()), (1, 1), "{log}");
    // They are still listed, and not as empty.
    assert_eq!(fs::read_dir(mount.join("ours")).unwrap().count(), FILES.len());
    assert!(fs::metadata(mount.join("ours/d.bin")).unwrap().len() >= 150_000);
    mount.umount(&dir);
}

#[test]
fn an_archive_cut_short_under_the_mount_gives_eio_and_harms_no_other() {
    assert_noticed(0, |archive| archive.set_len(200_000).unwrap());
    assert_noticed(PACKED, |archive| archive.set_len(200_000).unwrap());
    assert_noticed(0, |archive| archive.set_len(0).unwrap());
}

#[test]
fn an_archive_overwritten_in_place_gives_eio_and_harms_no_other() {
    assert_noticed(0, |archive| archive.write_all_at(&[0xAA; 9_000], 300_000).unwrap());
    assert_noticed(PACKED, |archive| archive.write_all_at(&[0xAA; 9_000], 300_000).unwrap());
}

#[test]
fn an_archive_overwritten_by_one_who_sets_the_time_back_gives_eio() {
    assert_noticed(0, |archive| {
        archive.write_all_at(&[0xAA; 9_000], 300_000).unwrap();
        archive.set_modified(TestDir::archive_time()).unwrap();
    });
}

#[test]
fn an_archive_that_grew_gives_eio() {
    assert_noticed(0, |archive| {
        let end = archive.metadata().unwrap().len();
        archive.write_all_at(b"more", end).unwrap();
    });
}

/// Does something to the archive's name; its bytes are still read.
fn assert_survived(change: fn(&Path)) {
    let dir = TestDir::new();
    let mount = mount_two(&dir, PACKED);
    assert!(mount.read("ours/a.bin") == content(0));
    change(&dir.path("ours.bsa"));
    for (nth, name) in FILES.iter().enumerate() {
        assert!(mount.read(Path::new("ours").join(name)) == content(nth), "{name}");
    }
    assert_unharmed(&mount);
    assert_eq!(log(&dir), "");
    mount.umount(&dir);
}

#[test]
fn an_archive_replaced_by_a_rename_is_read_as_it_was() {
    assert_survived(|archive| {
        let new = archive.with_extension("new");
        fs::write(&new, b"another file altogether").unwrap();
        fs::rename(new, archive).unwrap();
    });
}

#[test]
fn an_archive_that_was_removed_is_read_as_it_was() {
    assert_survived(|archive| fs::remove_file(archive).unwrap());
}

#[test]
fn an_archive_that_was_moved_linked_or_given_other_permissions_is_read_as_it_was() {
    use std::os::unix::fs::PermissionsExt;
    assert_survived(|archive| fs::rename(archive, archive.with_extension("moved")).unwrap());
    assert_survived(|archive| fs::hard_link(archive, archive.with_extension("link")).unwrap());
    assert_survived(|archive| fs::set_permissions(archive, fs::Permissions::from_mode(0o600)).unwrap());
}

/// An archive with three bad files between good ones.
fn damaged() -> Vec<u8> {
    let whole = text(1, 50_000);
    let mut cut = crate::support::pack::zlib(&whole);
    cut.truncate(cut.len() / 2);
    Tes4::new(104)
        .flags(FOLDER_NAMES | FILE_NAMES | PACKED)
        .file("mixed", "good.txt", text(2, 3_000))
        .add("mixed", Tes4File::new("noise.txt", &whole[..]).stream(noise(3, 20_000)))
        .add("mixed", Tes4File::new("cut.txt", &whole[..]).stream(cut))
        .add("mixed", Tes4File::new("short.txt", b"").block(*b"abc"))
        .add("mixed", Tes4File::new("huge.txt", &whole[..]).declared(0xFFFF_FFF0))
        .file("mixed", "last.txt", text(4, 3_000))
        .build()
}

#[test]
fn a_bad_file_gives_eio_for_itself_alone_and_is_still_listed() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &damaged());
    let mount = dir.mount(["a.bsa", "--log-file", "log"]);
    let listed: Vec<_> =
        fs::read_dir(mount.join("mixed")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let bad = ["cut.txt", "huge.txt", "noise.txt", "short.txt"];
    assert_eq!(listed, ["cut.txt", "good.txt", "huge.txt", "last.txt", "noise.txt", "short.txt"]);
    for _ in 0..3 {
        for name in bad {
            let path = Path::new("mixed").join(name);
            // Programs take an empty file for a sound one, and never read it.
            assert!(fs::metadata(mount.join(&path)).unwrap().len() > 0, "{name}");
            let mut buffer = [0; 100];
            let read = File::open(mount.join(&path)).unwrap().read_at(&mut buffer, 0);
            // What lies before the fault may be read.
            if name != "cut.txt" {
                assert_eq!(read.unwrap_err().raw_os_error(), EIO, "{name}");
            }
            let end = fs::metadata(mount.join(&path)).unwrap().len() - 1;
            let read = File::open(mount.join(&path)).unwrap().read_at(&mut buffer, end);
            assert_eq!(read.unwrap_err().raw_os_error(), EIO, "{name}");
        }
        assert!(mount.read("mixed/good.txt") == text(2, 3_000));
        assert!(mount.read("mixed/last.txt") == text(4, 3_000));
    }
    let log = log(&dir);
    let archive = dir.path("a.bsa");
    for name in bad {
        let told = format!("{}: mixed/{name}: ", archive.display());
        assert_eq!(log.matches(&told).count(), 1, "{log}");
    }
    assert_eq!(log.lines().count(), bad.len(), "{log}");
    // Each line begins with the time of day, as people read it.
    let is_dated =
        |line: &str| line.starts_with("20") && line.split(' ').next().is_some_and(|it| it.ends_with('Z'));
    assert!(log.lines().all(is_dated), "{log}");
    mount.umount(&dir);
}

#[test]
fn damage_is_found_though_the_file_is_read_by_eight_at_once() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &damaged());
    let mount = dir.mount(["a.bsa", "--log-file", "log"]);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for name in ["noise.txt", "cut.txt"] {
                    assert_eq!(mount.read_error(Path::new("mixed").join(name)), EIO);
                }
                assert!(mount.read("mixed/good.txt") == text(2, 3_000));
            });
        }
    });
    assert_eq!(log(&dir).lines().count(), 2, "{}", log(&dir));
}
