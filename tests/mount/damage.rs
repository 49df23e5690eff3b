//! Tests of damaged archives. Damaged entries leave the other files of an archive readable. An
//! archive that changes while mounted leaves other archives readable.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, SystemTime};

use rustix::io::Errno;

use crate::mounted::{Mounted, TestDir, is_alive, logged, status};
use crate::support::content::{noise, text};
use crate::support::pack::{with_wrong_checksum, zlib};
use crate::support::tes4::{FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Tes4, Tes4File};

const EIO: Option<i32> = Some(Errno::IO.raw_os_error());

/// The files of each of the two archives.
const FILES: [&str; 4] = ["a.bin", "b.bin", "c.bin", "d.bin"];

fn content(seed: usize) -> Vec<u8> {
    noise(seed as u64, 150_000)
}

/// Mounts two archives of stored or packed files. The mount logs to `log`.
fn mount_two(dir: &TestDir, flags: u32, options: &str) -> Mounted {
    for (base, archive) in [(0, "ours"), (10, "other")] {
        let built = FILES
            .iter()
            .enumerate()
            .fold(Tes4::new(104).flags(FOLDER_NAMES | FILE_NAMES | flags), |built, (nth, name)| {
                built.file(archive, *name, content(base + nth))
            });
        dir.archive(&format!("{archive}.bsa"), &built.build());
    }
    dir.mount(["ours.bsa", "other.bsa", "--log-file", "log", "-o", options])
}

/// Asserts that the files of the other archive are right and that the daemon runs.
fn assert_other_is_readable(mount: &Mounted) {
    for (nth, name) in FILES.iter().enumerate() {
        assert!(mount.read(Path::new("other").join(name)) == content(10 + nth), "{name}");
    }
    assert!(is_alive(mount.pid));
    assert_eq!(status(&mount.path)["pid"], mount.pid);
}

/// Asserts that the files of the archive give EIO after `change`, and that the daemon logs this once.
fn assert_gives_eio(flags: u32, change: fn(&File)) {
    let dir = TestDir::new();
    // The mount is static: on a slow machine a reload could begin, and would show what is there now.
    let mount = mount_two(&dir, flags, "static");
    assert!(mount.read("ours/a.bin") == content(0));
    change(&File::options().write(true).open(dir.path("ours.bsa")).unwrap());
    for _ in 0..2 {
        for name in &FILES[1..] {
            assert_eq!(mount.read_error(Path::new("ours").join(name)), EIO, "{name}");
        }
    }
    assert_other_is_readable(&mount);
    let log = logged(&dir, 1);
    let message = format!("{}: the archive was changed while mounted", dir.path("ours.bsa").display());
    assert_eq!((log.matches(&message).count(), log.lines().count()), (1, 1), "{log}");
    // The files are still listed with their sizes.
    assert_eq!(fs::read_dir(mount.join("ours")).unwrap().count(), FILES.len());
    assert!(fs::metadata(mount.join("ours/d.bin")).unwrap().len() >= 150_000);
    mount.umount(&dir);
}

#[test]
fn a_truncated_archive_gives_eio_and_others_stay_readable() {
    assert_gives_eio(0, |archive| archive.set_len(200_000).unwrap());
    assert_gives_eio(PACKED, |archive| archive.set_len(200_000).unwrap());
    assert_gives_eio(0, |archive| archive.set_len(0).unwrap());
}

#[test]
fn an_archive_overwritten_in_place_gives_eio_and_others_stay_readable() {
    assert_gives_eio(0, |archive| archive.write_all_at(&[0xAA; 9_000], 300_000).unwrap());
    assert_gives_eio(PACKED, |archive| archive.write_all_at(&[0xAA; 9_000], 300_000).unwrap());
}

#[test]
fn overwritten_tables_give_eio_even_with_a_restored_mtime() {
    assert_gives_eio(0, |archive| {
        archive.write_all_at(&[0xAA; 90], 40).unwrap();
        archive.set_modified(TestDir::archive_time()).unwrap();
    });
}

#[test]
fn an_archive_that_grew_gives_eio() {
    assert_gives_eio(0, |archive| {
        let end = archive.metadata().unwrap().len();
        archive.write_all_at(b"more", end).unwrap();
    });
}

/// Asserts that the files of the archive can be read after `change`, which leaves their bytes alone.
fn assert_stays_readable(change: fn(&Path)) {
    let dir = TestDir::new();
    let mount = mount_two(&dir, PACKED, "static");
    assert!(mount.read("ours/a.bin") == content(0));
    change(&dir.path("ours.bsa"));
    for (nth, name) in FILES.iter().enumerate() {
        assert!(mount.read(Path::new("ours").join(name)) == content(nth), "{name}");
    }
    assert_other_is_readable(&mount);
    mount.umount(&dir);
    assert_eq!(logged(&dir, 0), "");
}

#[test]
fn an_archive_replaced_by_a_rename_stays_readable() {
    assert_stays_readable(|archive| {
        let new = archive.with_extension("new");
        fs::write(&new, b"another file altogether").unwrap();
        fs::rename(new, archive).unwrap();
    });
}

#[test]
fn a_removed_archive_stays_readable() {
    assert_stays_readable(|archive| fs::remove_file(archive).unwrap());
}

#[test]
fn a_moved_linked_or_chmodded_archive_stays_readable() {
    use std::os::unix::fs::PermissionsExt;
    assert_stays_readable(|archive| fs::rename(archive, archive.with_extension("moved")).unwrap());
    assert_stays_readable(|archive| fs::hard_link(archive, archive.with_extension("link")).unwrap());
    assert_stays_readable(|archive| fs::set_permissions(archive, fs::Permissions::from_mode(0o600)).unwrap());
}

#[test]
fn an_archive_with_changed_and_restored_metadata_stays_readable() {
    let scripts = [
        "touch -a ours.bsa",
        "chmod 600 ours.bsa; chmod 644 ours.bsa",
        "ln ours.bsa link; rm link",
        "mv ours.bsa moved; mv moved ours.bsa",
        "cp -al ours.bsa backup",
        "chown $(id -u):$(id -g) ours.bsa",
        "[ $(id -u) != 0 ] || { chown 65534 ours.bsa; chown 0 ours.bsa; }",
    ];
    // Each script gets a file of its own, because the kernel caches the bytes of a file that was read.
    for scripts in scripts.chunks(FILES.len()) {
        let dir = TestDir::new();
        let mount = mount_two(&dir, PACKED, "ro");
        for (nth, script) in scripts.iter().enumerate() {
            let mut command = Command::new("sh");
            command.args(["-e", "-c", script]).current_dir(dir.path(""));
            assert!(command.status().unwrap().success(), "{script}");
            assert!(mount.read(Path::new("ours").join(FILES[nth])) == content(nth), "{script}");
        }
        assert_other_is_readable(&mount);
        mount.umount(&dir);
        assert_eq!(logged(&dir, 0), "");
    }
}

#[test]
fn a_mount_over_its_own_archive_survives_a_change_of_its_times() {
    let dir = TestDir::new();
    let bytes = FILES
        .iter()
        .enumerate()
        .fold(Tes4::new(104), |built, (nth, name)| built.file("ours", *name, content(nth)));
    fs::create_dir(dir.path("mnt")).unwrap();
    let archive = dir.archive("mnt/ours.bsa", &bytes.build());
    // The archive is opened before the mount hides it.
    let archive = File::open(archive).unwrap();
    let mount = dir.mount(["mnt/ours.bsa", "-o", "nonempty"]);
    assert!(mount.read("ours/a.bin") == content(0));
    archive.set_times(FileTimes::new().set_accessed(SystemTime::now())).unwrap();
    let (sender, answers) = mpsc::channel();
    // The reads are on separate threads. If the daemon waits for itself, they never end, but the test fails.
    for (nth, name) in FILES.iter().enumerate() {
        let (sender, path) = (sender.clone(), mount.join("ours").join(name));
        thread::spawn(move || sender.send((nth, fs::read(path).unwrap())));
    }
    for _ in FILES {
        let (nth, bytes) = answers.recv_timeout(Duration::from_secs(1)).expect("no answer within a second");
        assert!(bytes == content(nth));
    }
    drop(archive);
    mount.umount(&dir);
}

/// An archive with damaged entries between good ones.
fn damaged() -> Vec<u8> {
    let whole = text(1, 50_000);
    let mut cut = zlib(&whole);
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
fn a_damaged_entry_gives_eio_and_others_stay_readable() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &damaged());
    let mount = dir.mount(["a.bsa", "--log-file", "log"]);
    let mut listed: Vec<_> =
        fs::read_dir(mount.join("mixed")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    listed.sort();
    let damaged = ["cut.txt", "huge.txt", "noise.txt", "short.txt"];
    assert_eq!(listed, ["cut.txt", "good.txt", "huge.txt", "last.txt", "noise.txt", "short.txt"]);
    for _ in 0..3 {
        for name in damaged {
            let path = Path::new("mixed").join(name);
            // Programs do not read an empty file, and would not notice the damage.
            assert!(fs::metadata(mount.join(&path)).unwrap().len() > 0, "{name}");
            let mut buffer = [0; 100];
            let read = File::open(mount.join(&path)).unwrap().read_at(&mut buffer, 0);
            // Bytes before the damage may be readable.
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
    let log = logged(&dir, damaged.len());
    let archive = dir.path("a.bsa");
    for name in damaged {
        let message = format!("{}: mixed/{name}: ", archive.display());
        assert_eq!(log.matches(&message).count(), 1, "{log}");
    }
    assert_eq!(log.lines().count(), damaged.len(), "{log}");
    // Each line begins with date and time.
    let is_dated =
        |line: &str| line.starts_with("20") && line.split(' ').next().is_some_and(|it| it.ends_with('Z'));
    assert!(log.lines().all(is_dated), "{log}");
    mount.umount(&dir);
}

#[test]
fn a_wrong_checksum_gives_eio_or_with_salvage_the_bytes() {
    let content = text(1, 50_000);
    let stream = with_wrong_checksum(zlib(&content));
    let archive = Tes4::new(104)
        .flags(FOLDER_NAMES | FILE_NAMES | PACKED)
        .file("f", "good.txt", text(2, 3_000))
        .add("f", Tes4File::new("wrong.txt", &content[..]).stream(stream))
        .build();
    for option in ["noatime", "salvage"] {
        let dir = TestDir::new();
        dir.archive("a.bsa", &archive);
        let mount = dir.mount(["a.bsa", "--log-file", "log", "-o", option]);
        for _ in 0..2 {
            match option {
                "salvage" => assert!(mount.read("f/wrong.txt") == content),
                _ => assert_eq!(mount.read_error("f/wrong.txt"), EIO),
            }
            assert!(mount.read("f/good.txt") == text(2, 3_000));
        }
        let log = logged(&dir, 1);
        let message = format!(
            "{}: f/wrong.txt: the zlib stream is damaged: its Adler-32 ",
            dir.path("a.bsa").display()
        );
        assert_eq!((log.matches(&message).count(), log.lines().count()), (1, 1), "{option}: {log}");
        mount.umount(&dir);
    }
}

#[test]
fn parallel_reads_of_damaged_files_log_each_file_once() {
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
    mount.umount(&dir);
    assert_eq!(logged(&dir, 2).lines().count(), 2, "{}", logged(&dir, 2));
}
