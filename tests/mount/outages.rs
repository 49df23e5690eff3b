//! Tests of archives and loose files on a disk that fails for a while or hangs.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::io::Errno;
use rustix::process::Signal;

use crate::disk::{Disk, Mode};
use crate::evictions::assert_none_sent;
use crate::mounted::{Mounted, TestDir, logged, run, signal, status, until};
use crate::support::Tes4;
use crate::support::content::noise;
use crate::support::tes4::{EMBEDDED, FILE_NAMES, FOLDER_NAMES, PACKED};

const EIO: Option<i32> = Some(Errno::IO.raw_os_error());
/// Number of files in an archive. It exceeds the workers of any machine and the threads of a device. It also
/// exceeds 64, which was once the number of READs that the kernel could have in flight.
const FILES: usize = 80;

fn content(nth: usize) -> Vec<u8> {
    [vec![b'x'; 70_000], noise(nth as u64, 30_000)].concat()
}

/// An archive in which only the data of each file states its size.
fn archive() -> Vec<u8> {
    let empty = Tes4::new(104).flags(FOLDER_NAMES | FILE_NAMES | PACKED | EMBEDDED);
    (0..FILES).fold(empty, |built, nth| built.file("f", format!("{nth}.bin"), content(nth))).build()
}

/// Mounts one archive that is on a [`Disk`], and one that is not.
fn mount(dir: &TestDir) -> (Disk, Mounted) {
    let disk = Disk::mount(&dir.path("disk"), vec![("a.bsa", archive())]);
    let other = Tes4::new(104).file("other", "file.bin", content(99)).build();
    dir.archive("other.bsa", &other);
    let mount =
        dir.mount([Path::new("disk/a.bsa"), "other.bsa".as_ref(), "--log-file".as_ref(), "log".as_ref()]);
    // The daemon checks new sources once more after it begins to watch them. The reload does that
    // now, because the check must not happen amid an outage.
    dir.run(["reload", "mnt"]).success();
    (disk, mount)
}

/// The size of each file in the listing, in the order of the numbers in their names. `None` if stat
/// gives EIO.
fn listed(mount: &Mounted) -> Vec<Option<u64>> {
    let sizes = fs::read_dir(mount.join("f")).unwrap().map(|entry| {
        let entry = entry.unwrap();
        assert!(entry.file_type().unwrap().is_file());
        let nth = entry.file_name().to_str().unwrap().trim_end_matches(".bin").parse::<usize>().unwrap();
        let size = entry.metadata().map(|metadata| metadata.len());
        assert!(size.as_ref().err().is_none_or(|error| error.raw_os_error() == EIO), "{size:?}");
        (nth, size.ok())
    });
    let mut sizes: Vec<_> = sizes.collect();
    sizes.sort_unstable();
    sizes.into_iter().map(|(_, size)| size).collect()
}

fn assert_whole(mount: &Mounted) {
    // On a busy machine, one second is not always enough to learn a size.
    until("all sizes to be known", || listed(mount) == [Some(100_000); FILES]);
    for nth in 0..FILES {
        assert!(mount.read(format!("f/{nth}.bin")) == content(nth), "{nth}");
    }
}

#[test]
fn an_outage_is_logged_once_and_afterwards_every_file_is_readable() {
    let dir = TestDir::new();
    let (disk, mount) = mount(&dir);
    disk.set(Mode::Fails);
    assert_eq!(listed(&mount), [None; FILES], "a size was reported before it was known");
    for nth in 0..FILES {
        assert_eq!(mount.read_error(format!("f/{nth}.bin")), EIO, "{nth}");
        // Another spelling makes the kernel send a LOOKUP.
        assert_eq!(mount.read_error(format!("F/{nth}.BIN")), EIO, "{nth}");
    }
    let log = logged(&dir, 1);
    assert_eq!(log.lines().count(), 1, "{log}");
    for part in ["disk/a.bsa: f/", "Input/output error (os error 5)", "(data at offset "] {
        assert!(log.contains(part), "{part}: {log}");
    }
    disk.set(Mode::Works);
    assert_whole(&mount);
    let requests = || {
        let counts = status(&mount.path)["requests"].clone();
        ["lookup", "getattr", "readdirplus", "read"].map(|it| counts[it].as_u64().unwrap())
    };
    assert_none_sent(|_| {
        let before = requests();
        assert_whole(&mount);
        let after = requests();
        let counts = format!("lookup, getattr, readdirplus, read: {before:?}, then {after:?}");
        (after != before).then_some(counts)
    });
}

#[test]
fn a_reload_during_an_outage_removes_no_files() {
    let dir = TestDir::new();
    let (disk, mount) = mount(&dir);
    assert_whole(&mount);
    disk.set(Mode::Fails);
    for _ in 0..2 {
        let finished = dir.run(["reload", "mnt"]);
        assert!(
            finished.code != 0 && finished.err.contains("Input/output error (os error 5)"),
            "{finished:?}"
        );
    }
    let log = logged(&dir, 1);
    let kept: Vec<&str> =
        log.lines().filter(|line| line.contains("the previous contents stay mounted")).collect();
    assert!(kept.len() == 1 && kept[0].contains("disk/a.bsa: cannot read at offset 0"), "{log}");
    assert_eq!(listed(&mount), [Some(100_000); FILES], "a known size was lost");
    disk.set(Mode::Works);
    assert_whole(&mount);
    dir.run(["reload", "mnt"]).success();
    assert_eq!(status(&mount.path)["last_reload"]["is_failed"], false);
    assert_whole(&mount);
}

#[test]
fn a_hanging_disk_blocks_no_listing_and_no_lookup() {
    let dir = TestDir::new();
    let (disk, mount) = mount(&dir);
    disk.set(Mode::Hangs);
    // Waiting for one size after another would take a second each. Waiting for the reads would never end.
    assert_eq!(listed(&mount), [None; FILES], "a size was reported before it was known");
    for nth in 0..FILES {
        let error = fs::metadata(mount.join(format!("F/{nth}.BIN"))).unwrap_err();
        assert_eq!(error.raw_os_error(), EIO, "{nth}");
    }
    disk.set(Mode::Works);
    assert_whole(&mount);
}

/// Starts a program that reads a file.
fn reader(mount: &Mounted, path: String) -> Child {
    Command::new("cat").arg(mount.join(path)).stdout(Stdio::null()).spawn().unwrap()
}

#[test]
fn hanging_reads_block_neither_other_archives_nor_the_unmount() {
    let dir = TestDir::new();
    let (disk, mount) = mount(&dir);
    assert_eq!(listed(&mount).len(), FILES);
    disk.set(Mode::Hangs);
    let mut readers: Vec<_> = (0..FILES).map(|nth| reader(&mount, format!("f/{nth}.bin"))).collect();
    // A program asks for the status, because a test can give up on a program that hangs.
    until("all reads to be sent", || {
        let status: serde_json::Value =
            serde_json::from_str(&dir.run(["status", "--json", "mnt"]).success()).unwrap();
        status["requests"]["read"].as_u64().unwrap() >= FILES as u64
    });
    fs::write(dir.path("expected"), content(99)).unwrap();
    for name in ["mnt/other/file.bin", "mnt/Other/FILE.BIN"] {
        run(Command::new("cmp").arg(dir.path(name)).arg(dir.path("expected"))).success();
    }
    run(Command::new("ls").arg("-lR").arg(&mount.path)).success();
    assert!(readers.iter_mut().all(|reader| reader.try_wait().unwrap().is_none()), "a read did not hang");

    signal(mount.pid, Signal::TERM);
    for reader in &mut readers {
        reader.kill().unwrap();
        reader.wait().unwrap();
    }
    mount.wait_for_end();
    assert!(!mount.is_mounted());
    drop(disk);
}

#[test]
fn the_error_of_a_failing_disk_names_archive_offset_and_reason() {
    let dir = TestDir::new();
    // The tables take many pages. The last 4,000 bytes are the data of the files.
    let files = (0..4_000).map(|nth| format!("{nth:050}.txt"));
    let archive = files.fold(Tes4::new(104), |archive, name| archive.file("f", name, "x")).build();
    let tables = u64::try_from(archive.len()).unwrap() - 4_000;
    let disk = Disk::mount(&dir.path("disk"), vec![("a.bsa", archive)]);
    for from in (0..tables).step_by(1 << 17) {
        disk.set(Mode::FailsFrom(from));
        for command in
            [&["mount", "disk/a.bsa", "mnt"][..], &["info", "disk/a.bsa"], &["verify", "disk/a.bsa"]]
        {
            let finished = dir.run(command);
            let expected =
                format!("bsafs: disk/a.bsa: cannot read at offset {from}: Input/output error (os error 5)\n");
            assert_eq!((finished.code, finished.err), (66, expected), "{command:?}");
        }
        assert!(!dir.path("mnt").exists());
    }
    disk.set(Mode::Works);
    let mount = dir.mount(["disk/a.bsa"]);
    assert_eq!(fs::read_dir(mount.join("f")).unwrap().count(), 4_000);
}

#[test]
fn loose_files_on_a_failing_disk_do_not_block_other_sources() {
    let dir = TestDir::new();
    let names: Vec<String> = (0..FILES).map(|nth| format!("{nth}.bin")).collect();
    let files = names.iter().enumerate().map(|(nth, name)| (name.as_str(), content(nth)));
    let disk = Disk::mount(&dir.path("disk"), files.collect());
    dir.archive("other.bsa", &Tes4::new(104).file("other", "file.bin", content(99)).build());
    // A reload that the disk's failure causes would begin a new state of the sources, with its own line.
    let mount = dir.mount(["-o", "static", "disk", "other.bsa", "--log-file", "log"]);
    dir.run(["reload", "mnt"]).success();
    assert_eq!(fs::metadata(mount.join("7.BIN")).unwrap().len(), 100_000);
    disk.set(Mode::Fails);
    for name in &names {
        assert_eq!(mount.read_error(name), EIO, "{name}");
    }
    assert!(mount.read("other/file.bin") == content(99));
    let log = logged(&dir, 1);
    assert_eq!(log.matches("the file cannot be read: Input/output error").count(), 1, "{log}");
    disk.set(Mode::Hangs);
    let readers: Vec<Child> = names
        .iter()
        .map(|name| Command::new("cat").arg(mount.join(name)).stdout(Stdio::null()).spawn().unwrap())
        .collect();
    for _ in 0..3 {
        assert!(mount.read("other/file.bin") == content(99));
        assert_eq!(fs::read_dir(&mount.path).unwrap().count(), FILES + 1);
    }
    disk.set(Mode::Works);
    for mut reader in readers {
        assert!(reader.wait().unwrap().success());
    }
    for (nth, name) in names.iter().enumerate() {
        assert!(mount.read(name) == content(nth), "{name}");
    }
    mount.umount(&dir);
}
