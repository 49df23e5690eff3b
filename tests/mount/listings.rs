//! Tests of listings: every name appears once and in order, and a listing continues from any cookie.

use std::fs::{self, File};
use std::mem::MaybeUninit;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{FileType, RawDir, SeekFrom, seek};

use crate::mounted::{Mounted, TestDir, until};
use crate::support::{Ba2, Tes4};

/// Number of files in the large folder, more than fit into one reply.
const MANY: usize = 6_000;

/// The name of the `nth` file. The order is shuffled, and half of the names are in capitals.
fn name(nth: usize) -> String {
    let number = nth * 4_999 % MANY;
    if number.is_multiple_of(2) { format!("file_{number:05}.txt") } else { format!("FILE_{number:05}.TXT") }
}

fn mount_many(dir: &TestDir) -> Mounted {
    let archive = (0..MANY).fold(Tes4::new(104), |archive, nth| archive.file("many", name(nth), name(nth)));
    let archive = archive.file("many\\below", "deep.txt", b"deep");
    dir.archive("a.bsa", &archive.build());
    dir.mount(["a.bsa"])
}

/// The names in a folder in the order of the listing.
fn listed(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Name, inode number, type and cookie of each entry, from the current offset of `folder` on.
fn entries(folder: &File, room: usize) -> Vec<(String, u64, FileType, u64)> {
    let mut buffer = vec![MaybeUninit::uninit(); room];
    let mut listing = RawDir::new(folder, &mut buffer);
    let mut found = Vec::new();
    while let Some(entry) = listing.next() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_str().unwrap().to_owned();
        found.push((name, entry.ino(), entry.file_type(), entry.next_entry_cookie()));
    }
    found
}

#[test]
fn a_large_folder_lists_every_name_once_and_each_time_in_the_same_order() {
    let dir = TestDir::new();
    let mount = mount_many(&dir);
    let mut expected: Vec<String> = (0..MANY).map(name).chain(["below".into()]).collect();
    expected.sort();
    // The second listing comes from the kernel's cache.
    let listings = [(); 2].map(|()| listed(&mount.join("many")));
    assert!(listings[0] == listings[1], "the order differs");
    let [mut listing, _] = listings;
    listing.sort();
    assert!(listing == expected, "{} names", listing.len());
}

#[test]
fn files_are_listed_in_the_order_of_their_data_and_folders_where_their_data_begins() {
    let dir = TestDir::new();
    let archive = Ba2::general(1).file("z/late.txt", "1").file("b.txt", "2").file("a/x.txt", "3");
    let archive = archive.file("z/early.txt", "4").file("a.txt", "5").file("0.txt", "6");
    dir.archive("low.ba2", &archive.build());
    dir.archive("high.ba2", &Ba2::general(1).file("a.txt", "7").file("0/y.txt", "8").build());
    let mount = dir.mount(["low.ba2", "high.ba2"]);
    assert_eq!(listed(&mount.path), ["z", "b.txt", "a", "0.txt", "a.txt", "0"]);
    assert_eq!(listed(&mount.join("z")), ["late.txt", "early.txt"]);
    // `cp -r` and others sort by inode numbers.
    let numbers = listed(&mount.path)
        .iter()
        .map(|name| fs::metadata(mount.join(name)).unwrap().ino())
        .collect::<Vec<_>>();
    assert!(numbers.is_sorted(), "{numbers:?}");
}

#[test]
fn loose_files_are_listed_in_the_order_of_their_inode_numbers() {
    let dir = TestDir::new();
    fs::create_dir(dir.path("mod")).unwrap();
    let names: Vec<String> = (0..40).map(|number| format!("{}.txt", number * 7 % 40)).collect();
    for name in names.iter() {
        fs::write(dir.path("mod").join(name), name).unwrap();
    }
    let number = |name: &String| fs::metadata(dir.path("mod").join(name)).unwrap().ino();
    let mount = dir.mount(["mod"]);
    let mut expected = names.clone();
    expected.sort_by_key(number);
    assert_eq!(listed(&mount.path), expected);
    // The order changes if a file is replaced by one with a higher number.
    fs::rename(dir.path("mod").join(&expected[0]), dir.path("kept")).unwrap();
    fs::write(dir.path("mod").join(&expected[0]), "new").unwrap();
    until("the file to be replaced", || fs::read(mount.join(&expected[0])).is_ok_and(|it| it == b"new"));
    expected.sort_by_key(number);
    until("the listing to follow", || listed(&mount.path) == expected);
}

#[test]
fn a_listing_reports_types_and_inode_numbers_as_stat_does() {
    let dir = TestDir::new();
    let mount = mount_many(&dir);
    let folder = File::open(mount.join("many")).unwrap();
    let listed = entries(&folder, 32 << 10);
    assert_eq!(listed.len(), MANY + 3);
    assert_eq!((listed[0].0.as_str(), listed[1].0.as_str()), (".", ".."));
    assert_eq!(listed[1].1, 1, "the parent must have the inode number of the root");
    for (name, ino, kind, _) in listed.iter().step_by(97).chain(listed.iter().take(4)) {
        let metadata = fs::metadata(mount.join("many").join(name)).unwrap();
        assert_eq!(metadata.ino(), *ino, "{name}");
        assert_eq!(metadata.is_dir(), *kind == FileType::Directory, "{name}");
        assert_eq!(metadata.is_file(), *kind == FileType::RegularFile, "{name}");
    }
}

#[test]
fn a_listing_continues_from_any_of_its_cookies() {
    let dir = TestDir::new();
    let mount = mount_many(&dir);
    // With the small buffer and an empty cache, the kernel requests entries from many cookies.
    for room in [1 << 10, 64 << 10] {
        let folder = File::open(mount.join("many")).unwrap();
        let whole = entries(&folder, room);
        assert_eq!(whole.len(), MANY + 3);
        for nth in (0..whole.len()).step_by(701).chain([whole.len() - 2, whole.len() - 1]) {
            seek(&folder, SeekFrom::Start(whole[nth].3)).unwrap();
            let rest = entries(&folder, room);
            assert!(rest == whole[nth + 1..], "after {}", whole[nth].0);
        }
        seek(&folder, SeekFrom::Start(0)).unwrap();
        assert!(entries(&folder, room) == whole);
    }
}

#[test]
fn a_listing_that_begins_in_the_middle_misses_no_name() {
    let dir = TestDir::new();
    let mount = mount_many(&dir);
    let (one, other) = (mount.join("many"), mount.join("MANY"));
    let whole = entries(&File::open(one).unwrap(), 64 << 10);
    // The kernel takes another spelling for another folder, and has not cached its listing yet.
    let folder = File::open(other).unwrap();
    seek(&folder, SeekFrom::Start(whole[3_000].3)).unwrap();
    let names = |entries: &[(String, u64, FileType, u64)]| -> Vec<String> {
        entries.iter().map(|entry| entry.0.clone()).collect()
    };
    assert!(names(&entries(&folder, 4 << 10)) == names(&whole[3_001..]));
}

#[test]
fn listing_a_file_and_reading_a_folder_are_refused() {
    let dir = TestDir::new();
    let mount = mount_many(&dir);
    let file = fs::read_dir(mount.join("many/below/deep.txt")).unwrap_err();
    assert_eq!(file.kind(), std::io::ErrorKind::NotADirectory);
    let folder = fs::read(mount.join("many")).unwrap_err();
    assert_eq!(folder.kind(), std::io::ErrorKind::IsADirectory);
}
