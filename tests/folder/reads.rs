//! Stats and reads: ranges of files, files that change or vanish, and how many files are open.

use std::fs::{self, File, FileTimes};
use std::num::NonZero;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bsafs::folder::{FileFault, Filter, OpenFiles, scan};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::{Disk, files, number, read};

#[test]
fn a_range_is_read_at_its_offset() {
    let disk = Disk::new(&["root/file"]);
    let folder = disk.scan();
    let mut bytes = [0; 3];
    assert_eq!(folder.read_at(0, &mut bytes, 5).unwrap(), 3);
    assert_eq!(&bytes, b"fil");
    assert_eq!((folder.known_bytes(), folder.bytes_read(), folder.is_all_known()), (9, 3, true));
}

#[test]
fn a_read_far_beyond_the_end_returns_nothing() {
    let disk = Disk::new(&["root/file"]);
    let folder = disk.scan();
    for offset in [9, 1 << 40, i64::MAX as u64 - 1, i64::MAX as u64, 1 << 63, u64::MAX] {
        assert_eq!(folder.read_at(0, &mut [0; 3], offset).unwrap(), 0, "{offset}");
    }
}

#[test]
fn a_file_is_statted_only_on_request() {
    let disk = Disk::new(&["root/a", "root/b"]);
    let time = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 5);
    File::open(disk.path("root/a")).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
    let folder = disk.scan();
    assert!(folder.known(0).is_none() && !folder.is_all_known());
    let stat = folder.stat(0).unwrap();
    assert_eq!((stat.size, stat.modified()), (6, SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 5)));
    assert_eq!(folder.known(0), Some(stat));
    assert!(folder.known(1).is_none());
}

fn assert_replaced(what: &str, act: impl Fn(&Disk)) {
    for is_open in [false, true] {
        let disk = Disk::new(&["root/file", "root/other", "beside"]);
        let folder = disk.scan();
        let file = number(&folder, "file");
        folder.stat(file).unwrap();
        if is_open {
            assert_eq!(read(&folder, "file"), "root/file");
        }
        act(&disk);
        let mut bytes = [0; 4];
        let result = folder.read_at(file, &mut bytes, 0);
        match result {
            Err(FileFault::Replaced) if !is_open => {}
            // As long as the file is open, its old bytes can be read.
            Ok(4) if is_open && &bytes == b"root" => {}
            other => panic!("{what}, open: {is_open}: {other:?}, {bytes:?}"),
        }
        assert_eq!(read(&folder, "other"), "root/other", "{what}");
    }
}

#[test]
fn a_file_that_was_replaced_after_its_stat_gives_an_error_unless_it_is_open() {
    let file = |disk: &Disk| disk.path("root/file");
    assert_replaced("removed", |disk| fs::remove_file(file(disk)).unwrap());
    assert_replaced("replaced", |disk| {
        fs::write(disk.path("root/new"), "ROOT/FILE").unwrap();
        fs::rename(disk.path("root/new"), file(disk)).unwrap();
    });
    assert_replaced("a link instead", |disk| {
        fs::remove_file(file(disk)).unwrap();
        disk.link("../beside", "root/file");
    });
    assert_replaced("a folder instead", |disk| {
        fs::remove_file(file(disk)).unwrap();
        fs::create_dir(file(disk)).unwrap();
    });
    assert_replaced("moved away", |disk| {
        fs::rename(file(disk), disk.path("root/gone")).unwrap();
    });
}

#[test]
fn a_file_that_was_written_to_is_read_as_it_is_now() {
    let disk = Disk::new(&["root/file"]);
    let folder = disk.scan();
    let path = disk.path("root/file");
    let written = |text: &str| {
        fs::write(&path, text).unwrap();
        let mut bytes = [0; 20];
        let len = folder.read_at(0, &mut bytes, 0).unwrap();
        assert_eq!(&bytes[..len], text.as_bytes());
        folder.take_outdated(0)
    };
    folder.stat(0).unwrap();
    assert!(written("root/file and more"));
    assert!(written("root"), "the second change was not noticed");
    assert!(!folder.take_outdated(0), "a change was reported twice");
    assert_eq!(folder.stat(0).unwrap().size, 9, "a folder shows the first size until it is scanned again");
}

#[test]
fn a_touched_file_is_read_and_reported_as_outdated() {
    let disk = Disk::new(&["root/file"]);
    let folder = disk.scan();
    assert_eq!(read(&folder, "file"), "root/file");
    assert!(!folder.take_outdated(0));
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(5);
    File::open(disk.path("root/file")).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
    assert_eq!(read(&folder, "file"), "root/file");
    assert!(folder.take_outdated(0));
}

#[test]
fn a_pipe_that_replaced_a_file_does_not_block() {
    let disk = Disk::new(&["root/file"]);
    let folder = disk.scan();
    fs::remove_file(disk.path("root/file")).unwrap();
    mknodat(CWD, disk.path("root/file"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    assert!(matches!(folder.read_at(0, &mut [0; 1], 0), Err(FileFault::Replaced)));
    assert!(matches!(folder.stat(0), Err(FileFault::Replaced)));
}

#[test]
fn a_link_that_replaced_a_folder_is_not_followed() {
    let disk = Disk::new(&["root/d/file", "beside/file"]);
    let folder = disk.scan();
    fs::rename(disk.path("root/d"), disk.path("moved")).unwrap();
    disk.link("../beside", "root/d");
    assert!(matches!(folder.read_at(0, &mut [0; 1], 0), Err(FileFault::Replaced)));
}

#[test]
fn a_moved_folder_stays_readable() {
    let disk = Disk::new(&["root/d/file"]);
    let folder = disk.scan();
    fs::rename(disk.path("root"), disk.path("moved")).unwrap();
    assert_eq!(read(&folder, "d/file"), "root/d/file");
}

#[test]
fn all_files_are_readable_within_the_limit_of_open_files() {
    let paths: Vec<String> = (0..50).map(|n| format!("root/{n:02}")).collect();
    let disk = Disk::new(&paths.iter().map(String::as_str).collect::<Vec<_>>());
    let open = Arc::new(OpenFiles::with_limit(NonZero::new(4).unwrap()));
    let folders = [(); 2].map(|()| scan(&disk.path("root"), &Filter::default(), &open).unwrap());
    for _ in 0..2 {
        for folder in &folders {
            for path in files(folder) {
                assert_eq!(read(folder, &path), format!("root/{path}"));
                assert!(open.count() <= 4, "{}", open.count());
            }
        }
    }
}
