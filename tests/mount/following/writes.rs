//! Tests of programs that have files open while others write, save and touch them.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::files::{archive, content, replace};
use crate::disk::{Disk, Mode};
use crate::evictions::assert_none_sent;
use crate::mounted::{Mounted, TestDir, run, status, until};

const ESTALE: i32 = Errno::STALE.raw_os_error();

/// Reads an open file from its beginning.
fn read_again(file: &File) -> Vec<u8> {
    let mut bytes = vec![0; 1 << 16];
    let len = read_at(file, &mut bytes, 0);
    bytes.truncate(len);
    bytes
}

/// Reads once. While a file is being cut off, a read may have to be repeated, as after a signal.
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> usize {
    loop {
        match file.read_at(bytes, offset) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => return read.unwrap(),
        }
    }
}

/// The runs of equal bytes.
fn runs(bytes: &[u8]) -> String {
    let runs = bytes.chunk_by(|one, other| one == other);
    runs.map(|run| format!("{} x {}", run[0].escape_ascii(), run.len())).collect::<Vec<_>>().join(", ")
}

/// Writes other bytes over a file, and then sets its length.
fn save_in_place(path: &Path, bytes: &[u8]) {
    let mut file = File::options().write(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
}

/// A test folder and a mount of its folder `mod`, which holds these files.
fn mounted<const N: usize>(files: [(&str, &str); N]) -> (TestDir, Mounted) {
    mounted_with(files, &[])
}

/// Like [`mounted`], with options.
fn mounted_with<const N: usize>(files: [(&str, &str); N], options: &[&str]) -> (TestDir, Mounted) {
    let dir = TestDir::new();
    fs::create_dir(dir.path("mod")).unwrap();
    for (name, bytes) in files {
        fs::write(dir.path("mod").join(name), bytes).unwrap();
    }
    let mount = dir.mount(options.iter().chain(&["mod"]));
    (dir, mount)
}

/// A mount of the folder `mod` with the file `b.txt`, beside an archive on a disk that can hang.
fn beside_a_disk(dir: &TestDir) -> (Disk, Mounted) {
    let disk = Disk::mount(&dir.path("disk"), vec![("a.bsa", archive(&[("a.txt", "a")]))]);
    fs::create_dir(dir.path("mod")).unwrap();
    fs::write(dir.path("mod/b.txt"), "old").unwrap();
    // With a list of names, every archive is opened again by each reload.
    fs::write(dir.path("names.txt"), "c.txt\n").unwrap();
    let mount = dir.mount(["--names", "names.txt", "disk/a.bsa", "mod"]);
    dir.run(["reload", "mnt"]).success();
    (disk, mount)
}

fn errors(mount: &Mounted) -> u64 {
    status(&mount.path)["errors"].as_u64().unwrap()
}

#[test]
fn a_growing_file_that_is_open_shows_its_new_bytes_and_never_zeros() {
    let (dir, mount) = mounted([("log.txt", "begin\n")]);
    let open = File::open(mount.join("log.txt")).unwrap();
    let mut expected = read_again(&open);
    let mut log = File::options().append(true).open(dir.path("mod/log.txt")).unwrap();
    for nth in 0..15 {
        // The file ends within a page, at its end, and beyond it.
        let line = format!("{nth}{}\n", "x".repeat(nth * 1000 % 4096));
        log.write_all(line.as_bytes()).unwrap();
        expected.extend(line.as_bytes());
        until("the new line to be shown", || {
            let seen = read_again(&open);
            assert!(expected.starts_with(&seen), "other bytes than were written, after line {nth}");
            seen.len() == expected.len()
        });
    }
    assert_eq!(errors(&mount), 0);
}

#[test]
fn a_growing_file_is_not_logged_and_stays_open_once() {
    let (dir, mount) = mounted_with([("log.txt", "begin\n")], &["--log-file", "log"]);
    let open = File::open(mount.join("log.txt")).unwrap();
    let daemon = status(&mount.path)["pid"].as_i64().unwrap();
    let descriptors = || {
        let fds = fs::read_dir(format!("/proc/{daemon}/fd")).unwrap().flatten();
        fds.filter(|it| fs::read_link(it.path()).is_ok_and(|to| to.ends_with("mod/log.txt"))).count()
    };
    for nth in 1..6 {
        let mut log = File::options().append(true).open(dir.path("mod/log.txt")).unwrap();
        log.write_all(b"line\n").unwrap();
        until("the new line to be shown", || read_again(&open).len() == 6 + 5 * nth);
        until("the daemon to reload", || status(&mount.path)["views"] == nth);
    }
    assert_eq!(status(&mount.path)["last_reload"]["what"], "mod: 1 file written");
    assert_eq!(fs::read_to_string(dir.path("log")).unwrap_or_default(), "");
    assert_eq!(descriptors(), 1);
    // The file was read before the last reload, and can be read on.
    replace(&dir, "mod/log.txt", b"other");
    until("the new file to be shown", || content(&mount.join("log.txt")) == Ok("other".into()));
    let _ = rustix::fs::fadvise(&open, 0, None, rustix::fs::Advice::DontNeed);
    assert_eq!(read_again(&open).len(), 31);
}

#[test]
fn pages_of_a_written_file_are_dropped_before_a_reload_that_hangs() {
    let dir = TestDir::new();
    let (disk, mount) = beside_a_disk(&dir);
    let open = File::open(mount.join("b.txt")).unwrap();
    assert_eq!(read_again(&open), b"old");
    disk.set(Mode::Hangs);
    File::options().write(true).open(dir.path("mod/b.txt")).unwrap().write_all(b"new").unwrap();
    until("the new bytes to be shown", || read_again(&open) == b"new");
    disk.set(Mode::Works);
}

#[test]
fn a_new_folder_in_a_mod_does_not_make_the_kernel_forget_what_is_below_it() {
    let dir = TestDir::new();
    fs::create_dir(dir.path("two")).unwrap();
    for nth in 0..10 {
        fs::create_dir_all(dir.path(format!("one/f{nth}"))).unwrap();
        fs::write(dir.path(format!("one/f{nth}/a.dds")), "a").unwrap();
    }
    let mount = dir.mount(["one", "two"]);
    let lookups = || status(&mount.path)["requests"]["lookup"].as_u64().unwrap();
    assert_none_sent(|nth| {
        let file = mount.join(format!("f{nth}/a.dds"));
        assert_eq!(content(&file), Ok("a".into()));
        fs::create_dir(dir.path(format!("two/f{nth}"))).unwrap();
        fs::write(dir.path(format!("two/f{nth}/b.dds")), "b").unwrap();
        until("the new file to be shown", || mount.join(format!("f{nth}/b.dds")).exists());
        let before = lookups();
        assert_eq!(content(&file), Ok("a".into()));
        let sent = lookups() - before;
        (sent > 0).then(|| format!("{sent} lookups"))
    });
}

#[test]
fn tail_follows_a_growing_file_without_zeros() {
    let (dir, mount) = mounted([("log.txt", "begin\n")]);
    let mut command = Command::new("tail");
    let out = File::create(dir.path("out")).unwrap();
    let err = File::create(dir.path("err")).unwrap();
    let mut tail = command.arg("-F").arg(mount.join("log.txt")).stdout(out).stderr(err).spawn().unwrap();
    let mut expected = "begin\n".to_owned();
    let shown = || fs::read_to_string(dir.path("out")).unwrap();
    until("the first line", || shown() == expected);
    for nth in 0..3 {
        let mut log = File::options().append(true).open(dir.path("mod/log.txt")).unwrap();
        writeln!(log, "line {nth}").unwrap();
        expected += &format!("line {nth}\n");
        until("the next line", || shown() == expected);
    }
    tail.kill().unwrap();
    tail.wait().unwrap();
    assert_eq!(fs::read_to_string(dir.path("err")).unwrap(), "");
    mount.umount(&dir);
}

#[test]
fn a_file_that_is_written_in_place_is_readable_all_the_time() {
    let len = 300_000;
    let (dir, mount) = mounted([("a.dds", &"a".repeat(len))]);
    let open = File::open(mount.join("a.dds")).unwrap();
    assert_eq!(read_again(&open)[0], b'a');
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            // The whole file is read only once: later reads fetch what the kernel dropped.
            while !is_over.load(Ordering::Relaxed) {
                let mut bytes = vec![0; len];
                open.read_exact_at(&mut bytes, 0).unwrap();
                assert!(bytes.iter().all(u8::is_ascii_lowercase), "zeros or other bytes");
            }
        });
        for letter in b'b'..=b'h' {
            let file = File::options().write(true).open(dir.path("mod/a.dds")).unwrap();
            file.write_all_at(&vec![letter; len], 0).unwrap();
            until("the new bytes to be shown", || read_again(&open)[0] == letter);
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!((errors(&mount), read_again(&open)[len / 10]), (0, b'h'));
}

#[test]
fn a_file_that_is_cut_off_ends_where_it_was_cut() {
    let (dir, mount) = mounted([("a.txt", &"x".repeat(10_000))]);
    let open = File::open(mount.join("a.txt")).unwrap();
    assert_eq!(read_again(&open).len(), 10_000);
    File::options().write(true).open(dir.path("mod/a.txt")).unwrap().set_len(5_000).unwrap();
    until("the file to be shorter", || read_again(&open) == vec![b'x'; 5_000]);
    assert_eq!(open.metadata().unwrap().len(), 5_000);
}

#[test]
fn a_file_that_was_cut_off_never_shows_zeros_before_the_reload() {
    let dir = TestDir::new();
    let (disk, mount) = beside_a_disk(&dir);
    let path = dir.path("mod/b.txt");
    fs::write(&path, "x".repeat(200_000)).unwrap();
    until("the long file to be shown", || content(&mount.join("b.txt")).is_ok_and(|it| it.len() == 200_000));
    // The new view, which knows the new size, does not come.
    disk.set(Mode::Hangs);
    File::options().write(true).open(&path).unwrap().set_len(70_000).unwrap();
    let read = || content(&mount.join("b.txt")).unwrap();
    until("the file to be shorter", || read().len() == 70_000);
    for _ in 0..20 {
        assert!(read() == "x".repeat(70_000), "zeros, or the old size");
    }
    disk.set(Mode::Works);
}

#[test]
fn a_file_that_grew_is_never_cut_to_its_old_size_before_the_reload() {
    let dir = TestDir::new();
    let (disk, mount) = beside_a_disk(&dir);
    let open = File::open(mount.join("b.txt")).unwrap();
    assert_eq!(read_again(&open), b"old");
    disk.set(Mode::Hangs);
    for len in [50_000, 9, 5000, 20_000, 0, 60_000] {
        let new = vec![b'0' + (len % 7) as u8; len];
        save_in_place(&dir.path("mod/b.txt"), &new);
        until("the whole file to be shown", || read_again(&open) == new);
        assert_eq!(open.metadata().unwrap().len(), len as u64);
    }
    disk.set(Mode::Works);
}

#[test]
fn a_file_saved_in_place_in_other_sizes_is_read_whole_and_without_zeros() {
    let (dir, mount) = mounted([("a.dds", &"a".repeat(100))]);
    let (path, is_over) = (dir.path("mod/a.dds"), AtomicBool::new(false));
    let (mount, is_over) = (&mount, &is_over);
    // Each version has one letter, and a letter has one length.
    let length = |letter: u8| usize::from(letter - b'a') * 52_345 % 400_000 + 100;
    thread::scope(|scope| {
        for reader in 0..4_usize {
            scope.spawn(move || {
                let mut bytes = vec![0; 500_000];
                for nth in 0.. {
                    let open = File::open(mount.join("a.dds")).unwrap();
                    let _ = rustix::fs::fadvise(&open, 0, None, rustix::fs::Advice::DontNeed);
                    let step = [4096, 70_000, 500_000][nth % 3];
                    let offset = [0, 0, 50_000 * reader][nth % 3];
                    let mut done = 0;
                    loop {
                        let end = bytes.len().min(done + step);
                        match open.read_at(&mut bytes[done..end], (offset + done) as u64) {
                            Ok(0) => break,
                            Ok(read) => done += read,
                            Err(error) if error.kind() == ErrorKind::Interrupted => {}
                            // The file was cut off before this.
                            Err(error) if error.raw_os_error() == Some(ESTALE) => break,
                            Err(error) => panic!("{error}"),
                        }
                    }
                    let zero = bytes[..done].iter().position(|byte| *byte == 0);
                    assert_eq!(
                        zero,
                        None,
                        "zeros among {}, read from {offset} by {step}",
                        runs(&bytes[..done])
                    );
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
        let began = Instant::now();
        for nth in 0.. {
            let letter = b'a' + (nth * 5 % 26) as u8;
            save_in_place(&path, &vec![letter; length(letter)]);
            if nth % 4 == 0 {
                until("the saved bytes to be shown", || {
                    fs::read(mount.join("a.dds")).is_ok_and(|it| it == vec![letter; length(letter)])
                });
            }
            if began.elapsed() > Duration::from_secs(5) {
                break;
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_static_mount_shows_no_cut_file_for_ever() {
    let (dir, mount) = mounted_with([("a.txt", &"a".repeat(100_000))], &["-o", "static"]);
    let path = dir.path("mod/a.txt");
    let open = File::open(mount.join("a.txt")).unwrap();
    assert_eq!(open.metadata().unwrap().len(), 100_000);
    for len in [30_000, 60_000, 0, 50_000] {
        let new = vec![b'0' + (len % 7) as u8; len];
        save_in_place(&path, &new);
        // The mount asks the disk when a page is read that the kernel does not have.
        let _ = rustix::fs::fadvise(&open, 0, None, rustix::fs::Advice::DontNeed);
        until("the whole file to be shown", || read_again(&open) == new);
        until("its size", || fs::metadata(mount.join("a.txt")).unwrap().len() == len as u64);
        assert_eq!(fs::read(mount.join("a.txt")).unwrap(), new);
    }
}

#[test]
fn a_file_saved_by_a_rename_is_shown_and_gives_no_error_but_estale() {
    let (dir, mount) = mounted([("a.dds", "version 0")]);
    for nth in 0..20 {
        // Every other version is read before it is replaced.
        if nth % 2 == 0 {
            assert!(content(&mount.join("a.dds")).is_ok());
        }
        replace(&dir, "mod/a.dds", format!("version {}", nth + 1).as_bytes());
        until("the saved version to be shown", || match content(&mount.join("A.DDS")) {
            Ok(text) => text == format!("version {}", nth + 1),
            // The event was not handled yet.
            Err(errno) => {
                assert_eq!(errno, ESTALE);
                false
            }
        });
    }
}

#[test]
fn a_program_that_has_a_replaced_file_open_gets_its_old_bytes() {
    let (dir, mount) = mounted([("read.txt", "old"), ("unread.txt", "old")]);
    let open = ["read.txt", "unread.txt"].map(|name| File::open(mount.join(name)).unwrap());
    assert_eq!(read_again(&open[0]), b"old");
    for name in ["mod/read.txt", "mod/unread.txt"] {
        replace(&dir, name, b"new");
        let name = name.strip_prefix("mod/").unwrap();
        until("the new file to be shown", || content(&mount.join(name)) == Ok("new".into()));
    }
    let _ = rustix::fs::fadvise(&open[0], 0, None, rustix::fs::Advice::DontNeed);
    assert_eq!(read_again(&open[0]), b"old");
    // The daemon had never opened this file, so its bytes are gone.
    let error = open[1].read_at(&mut [0; 3], 0).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(ESTALE));
}

#[test]
fn a_touched_archive_is_readable_all_the_time_and_keeps_its_numbers() {
    let dir = TestDir::new();
    let files: Vec<(String, String)> = (0..20).map(|n| (format!("{n}.txt"), format!("text {n}"))).collect();
    let files: Vec<_> = files.iter().map(|(name, text)| (&**name, &**text)).collect();
    dir.archive("a.bsa", &archive(&files));
    let mount = dir.mount(["a.bsa", "--log-file", "log"]);
    // The daemon watches the archive when it has checked the sources once.
    dir.run(["reload", "mnt"]).success();
    for (name, text) in files {
        // Each file is read for the first time, so nothing is cached.
        run(Command::new("touch").arg(dir.path("a.bsa"))).success();
        assert_eq!(content(&mount.join(name)), Ok(text.to_owned()));
    }
    let reloads = || status(&mount.path)["last_reload"]["count"].as_u64().unwrap();
    let before = reloads();
    until("the daemon to check the archive", || reloads() > before);
    assert_eq!(status(&mount.path)["views"], 0, "a touch replaced the archive");
    assert_eq!(fs::read_to_string(dir.path("log")).unwrap_or_default(), "");
}

#[test]
fn a_lookup_of_a_changed_name_ends_although_the_reload_hangs() {
    let dir = TestDir::new();
    let (disk, mount) = beside_a_disk(&dir);
    assert_eq!(content(&mount.join("b.txt")), Ok("old".into()));
    disk.set(Mode::Hangs);
    replace(&dir, "mod/b.txt", b"new");
    let pending = || status(&mount.path)["pending_names"].as_u64().unwrap();
    until("the name to be pending", || pending() > 0);
    // The old view answers, and the kernel does not cache the answer.
    for _ in 0..2 {
        assert_eq!(fs::metadata(mount.join("b.txt")).unwrap().len(), 3);
    }
    assert_eq!(fs::read_dir(&mount.path).unwrap().count(), 2);
    disk.set(Mode::Works);
    until("the new file to be shown", || content(&mount.join("b.txt")) == Ok("new".into()));
    until("no name to be pending", || pending() == 0);
}

#[test]
fn an_open_file_keeps_its_size_when_a_shorter_file_gets_its_name() {
    let dir = TestDir::new();
    let (disk, mount) = beside_a_disk(&dir);
    let (path, old) = (dir.path("mod/b.txt"), "x".repeat(200_000));
    fs::write(&path, &old).unwrap();
    until("the long file to be shown", || content(&mount.join("b.txt")).is_ok_and(|it| it == old));
    let open = File::open(mount.join("b.txt")).unwrap();
    // The new view, which knows the new file, does not come.
    disk.set(Mode::Hangs);
    fs::remove_file(&path).unwrap();
    let mut new = File::create(&path).unwrap();
    until("the name to be pending", || status(&mount.path)["pending_names"].as_u64() > Some(0));
    for _ in 0..20 {
        new.write_all(b"new").unwrap();
        let mut bytes = vec![0; old.len() + 1];
        let len = open.read_at(&mut bytes, 0).unwrap();
        assert!(bytes[..len].iter().all(|byte| *byte == b'x'), "bytes of the other file, or zeros");
        assert_eq!((errors(&mount), open.metadata().unwrap().len()), (0, 200_000));
    }
    disk.set(Mode::Works);
    until("the new file to be shown", || content(&mount.join("b.txt")) == Ok("new".repeat(20)));
    let mut bytes = vec![0; old.len() + 1];
    assert_eq!(
        (open.metadata().unwrap().len(), open.read_at(&mut bytes, 100_000).unwrap()),
        (200_000, 100_000)
    );
}

#[test]
fn the_last_write_to_a_file_that_is_replaced_at_once_is_shown() {
    for (old, last) in [(100, 9_000), (9_000, 100), (9_000, 9_000)] {
        let (dir, mount) = mounted([("a.txt", &"a".repeat(old))]);
        let open = File::open(mount.join("a.txt")).unwrap();
        assert_eq!(read_again(&open).len(), old);
        fs::write(dir.path("mod/a.txt"), "b".repeat(last)).unwrap();
        replace(&dir, "mod/a.txt", b"new");
        until("the new file to be shown", || content(&mount.join("A.txt")) == Ok("new".into()));
        until("the last write to be shown", || {
            let bytes = read_again(&open);
            assert!(!bytes.contains(&0), "zeros, {old} and {last}");
            bytes == "b".repeat(last).as_bytes() && open.metadata().unwrap().len() == last as u64
        });
    }
}

#[test]
fn tail_follows_a_log_that_was_rotated() {
    let (dir, mount) = mounted([("log.txt", &"begin\n".repeat(99))]);
    let mut command = Command::new("tail");
    let out = File::create(dir.path("out")).unwrap();
    let err = File::create(dir.path("err")).unwrap();
    command.args(["-n", "1", "-f"]).arg(mount.join("log.txt"));
    let mut tail = command.stdout(out).stderr(err).spawn().unwrap();
    let mut expected = "begin\n".to_owned();
    let shown = || fs::read_to_string(dir.path("out")).unwrap();
    until("the last line", || shown() == expected);
    let mut log = File::options().append(true).open(dir.path("mod/log.txt")).unwrap();
    fs::rename(dir.path("mod/log.txt"), dir.path("log.1")).unwrap();
    fs::write(dir.path("mod/log.txt"), "new\n").unwrap();
    until("the new log to be shown", || content(&mount.join("log.txt")) == Ok("new\n".into()));
    for nth in 0..3 {
        writeln!(log, "line {nth}").unwrap();
        expected += &format!("line {nth}\n");
        until("the next line of the old log", || shown() == expected);
    }
    tail.kill().unwrap();
    tail.wait().unwrap();
    assert_eq!(fs::read_to_string(dir.path("err")).unwrap(), "");
    mount.umount(&dir);
}

/// Sizes of a file before and after it is saved through another hard link.
const LINKED: [(&str, usize, usize); 3] =
    [("grow.dds", 40_000, 90_000), ("shrink.dds", 90_000, 40_000), ("same.dds", 90_000, 90_000)];

/// A test folder whose folder `mod` has files that are also in `staging`, as mod managers deploy them.
fn deployed() -> TestDir {
    let dir = TestDir::new();
    for folder in ["mod", "staging"] {
        fs::create_dir(dir.path(folder)).unwrap();
    }
    for (name, old, _) in LINKED {
        let path = dir.path("staging").join(name);
        fs::write(&path, "o".repeat(old)).unwrap();
        fs::hard_link(&path, dir.path("mod").join(name)).unwrap();
    }
    dir
}

#[test]
fn a_file_saved_through_another_hard_link_is_not_old_and_new_at_once_a_second_later() {
    let dir = deployed();
    let mount = dir.mount(["mod"]);
    // A file manager reads the beginning. Then the daemon watches the file itself.
    for (name, ..) in LINKED {
        File::open(mount.join(name)).unwrap().read_exact_at(&mut [0; 8192], 0).unwrap();
        let number = format!(" ino:{:x} ", fs::metadata(dir.path("mod").join(name)).unwrap().ino());
        let is_watched = || {
            let fds = fs::read_dir(format!("/proc/{}/fdinfo", mount.pid)).unwrap().flatten();
            fds.filter_map(|it| fs::read_to_string(it.path()).ok()).any(|it| it.contains(&number))
        };
        until("the file to be watched", is_watched);
    }
    for (name, old, new) in LINKED {
        fs::write(dir.path("staging").join(name), "n".repeat(new)).unwrap();
        let saved = Instant::now();
        let is_new = |seen: &(u64, Result<String, i32>)| *seen == (new as u64, Ok("n".repeat(new)));
        until("the saved file to be shown", || {
            let path = mount.join(name);
            let seen = (fs::metadata(&path).unwrap().len(), content(&path));
            // The event may not have been handled yet, or one of the two answers is older.
            let bytes = seen.1.as_ref().unwrap().as_bytes();
            let is_one_state = bytes.iter().all(|byte| *byte == bytes[0]) || new == old;
            // A reader needs several READs, and the event may come between two of them.
            let is_fine = is_one_state || bytes.len() != new || saved.elapsed() < Duration::from_secs(1);
            assert!(is_fine, "{name}: {} bytes of two states", bytes.len());
            is_new(&seen)
        });
        assert!(is_new(&(fs::metadata(mount.join(name)).unwrap().len(), content(&mount.join(name)))));
    }
}

#[test]
fn a_file_saved_through_another_hard_link_is_right_a_second_later_without_a_watch() {
    let dir = deployed();
    // Each folder has a watch, and no file can have one.
    let script = "mkdir mnt && \"$0\" mount mod mnt > said && status() { \"$0\" status --json mnt; } && \
         until status | grep -q '\"watched\":[1-9]'; do sleep 0.05; done && \
         count=$(status | grep -o '\"watched\":[0-9]*' | cut -d: -f2) && \"$0\" umount mnt && \
         echo $count > /proc/sys/user/max_inotify_watches && \"$0\" mount mod mnt > said && \
         until status | grep -q '\"watched\":'$count; do sleep 0.05; done; \
         status | grep -q '\"polled\":0' || echo polled; \
         for f in grow shrink same; do head -c 8192 mnt/$f.dds > header; done; \
         for f in grow shrink same; do cat new.$f > staging/$f.dds; done; sleep 1.2; \
         for f in grow shrink same; do stat -c %s mnt/$f.dds; cmp mnt/$f.dds new.$f && echo right; done; \
         \"$0\" umount mnt";
    for (name, _, new) in LINKED {
        let name = name.strip_suffix(".dds").unwrap();
        fs::write(dir.path(format!("new.{name}")), "n".repeat(new)).unwrap();
    }
    let mut command = Command::new("unshare");
    command
        .args(["-Urm", "--propagation=slave", "sh", "-c", script])
        .arg(env!("CARGO_BIN_EXE_bsafs"))
        .current_dir(dir.path(""));
    let finished = run(&mut command);
    // A sandbox may forbid user namespaces, even to root. Mounts do not need them.
    if finished.err.starts_with("unshare: ") {
        return eprintln!("SKIPPED: needs user namespaces: {}", finished.err);
    }
    assert_eq!(finished.success(), "90000\nright\n40000\nright\n90000\nright\n");
}
