//! Tests of the bytes of files: whole, in pieces at many offsets, and for parallel readers.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;

use crate::mounted::{Mounted, TestDir, status, until};
use crate::support::content::text;
use crate::support::tes4::{FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Sample, Tes4, samples};

fn sample(name: &str) -> &'static Sample {
    samples().iter().find(|sample| sample.name == name).expect(name)
}

/// Mounts one sample in a new test folder.
fn mount(name: &str) -> (&'static Sample, TestDir, Mounted) {
    let (sample, dir) = (sample(name), TestDir::new());
    dir.sample(sample);
    let mount = dir.mount([name]);
    (sample, dir, mount)
}

/// Collects the paths of all files below a folder.
fn walk(folder: &Path, prefix: &str, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            walk(&entry.path(), &format!("{path}/"), found)
        } else {
            assert!(found.insert(path), "a file was listed twice")
        }
    }
}

#[test]
fn every_file_of_every_sample_is_listed_and_readable() {
    let dir = TestDir::new();
    let mut seen = 0;
    for sample in samples() {
        dir.sample(sample);
        let mount = dir.mount([&sample.name]);
        let mut listed = BTreeSet::new();
        walk(&mount.path, "", &mut listed);
        // A folder that the archive stores in two spellings is listed in one of them.
        let listed: BTreeSet<String> = listed.iter().map(|path| path.to_lowercase()).collect();
        let expected: BTreeSet<String> = sample.files.iter().map(|(path, _)| path.to_lowercase()).collect();
        assert_eq!(listed, expected, "{}", sample.name);
        for (path, content) in &sample.files {
            let read = mount.read(path);
            assert_eq!(fs::metadata(mount.join(path)).unwrap().len(), content.len() as u64, "{path}");
            assert!(read == *content, "{}: {path}: {} bytes", sample.name, read.len());
            seen += 1;
        }
        mount.umount(&dir);
    }
    assert!(seen > 300, "{seen} files");
}

/// Opens a file with O_DIRECT, so that every read bypasses the page cache and becomes a request.
fn open_directly(path: &Path) -> File {
    File::options().read(true).custom_flags(OFlags::DIRECT.bits() as i32).open(path).unwrap()
}

/// Asserts that pieces of a file equal those of `content`, and that it has no bytes past its end.
fn compare_pieces(file: &File, content: &[u8], what: &str) {
    let size = content.len() as u64;
    let about = |at: u64| [at.saturating_sub(1), at, at + 1];
    let edges = [1, 128, 148, 4_096, 40_000, 50_000, 65_536, 131_072, 262_144, size / 2, size];
    let offsets: BTreeSet<u64> = edges.into_iter().flat_map(about).chain([0, size + 1_000_000]).collect();
    for offset in offsets {
        for len in [1, 7, 4_096, 150_000] {
            let mut buffer = vec![0xEE; len];
            let mut came = 0;
            // A read may return fewer bytes than requested.
            loop {
                let more = file.read_at(&mut buffer[came..], offset + came as u64).unwrap();
                came += more;
                if more == 0 || came == len {
                    break;
                }
            }
            let from = offset.min(size) as usize;
            let to = (from + len).min(content.len());
            assert!(buffer[..came] == content[from..to], "{what}: {came} of {len} bytes at {offset}");
        }
    }
}

#[test]
fn reads_at_any_offset_are_right_with_and_without_the_page_cache() {
    for (name, path) in [
        ("v103 stored.bsa", "meshes/architecture/towers/tower01.nif"),
        ("v104 zlib embedded.bsa", "meshes/architecture/towers/tower01.nif"),
        ("v105 lz4 embedded.bsa", "meshes/architecture/towers/tower01.nif"),
        ("gnrl v1.ba2", "meshes/Clutter/Bucket.NIF"),
        ("gnrl v3 lz4.ba2", "Scripts/Base/Quest.psc"),
        ("dx10 v1.ba2", "Textures/large.dds"),
        ("dx10 v3 lz4.ba2", "Textures/Clutter/bucket_d.DDS"),
        ("tes3 named.bsa", "meshes/m/probe_journeyman_01.nif"),
    ] {
        let (sample, _dir, mount) = mount(name);
        let content = &sample.files.iter().find(|(listed, _)| listed == path).expect(path).1;
        compare_pieces(&open_directly(&mount.join(path)), content, &format!("{name}, direct"));
        compare_pieces(&File::open(mount.join(path)).unwrap(), content, name);
    }
}

#[test]
fn a_mapped_file_has_the_same_bytes() {
    let (sample, _dir, mount) = mount("v104 zlib.bsa");
    for (path, content) in &sample.files {
        let file = File::open(mount.join(path)).unwrap();
        // SAFETY: the file is in a read-only mount of this test, so that no process truncates or changes it.
        #[allow(unsafe_code)]
        let map = unsafe { memmap2::Mmap::map(&file) }.unwrap();
        assert!(*map == **content, "{path}");
    }
}

/// Reads every file of a sample in eight threads. Each thread begins `stride` files after the
/// previous one, so with 0 they all begin with the same file.
fn read_in_parallel(mount: &Mounted, sample: &Sample, stride: usize) {
    let count = sample.files.len();
    thread::scope(|scope| {
        for reader in 0..8 {
            scope.spawn(move || {
                for nth in 0..count {
                    let (path, content) = &sample.files[(nth + reader * stride) % count];
                    assert!(mount.read(path) == *content, "{path}");
                }
            });
        }
    });
}

#[test]
fn eight_parallel_readers_read_the_right_bytes() {
    for name in ["v104 zlib.bsa", "v105 lz4 embedded.bsa", "dx10 v7.ba2"] {
        let sample = sample(name);
        for stride in [0, 1] {
            let dir = TestDir::new();
            dir.sample(sample);
            // The cache is so small that readers evict each other's extents.
            let mount = dir.mount([name, "--cache-size", "100K"]);
            read_in_parallel(&mount, sample, stride);
        }
    }
}

#[test]
fn parallel_reads_of_one_packed_file_are_right() {
    let (sample, _dir, mount) = mount("v104 zlib.bsa");
    let (path, content) = &sample.files[0];
    thread::scope(|scope| {
        for reader in 0..8 {
            let path = mount.join(path);
            scope.spawn(move || {
                let file = open_directly(&path);
                for step in 0..40 {
                    let offset = (step * 8 + reader) * 2_000 % (content.len() - 5_000);
                    let mut buffer = [0; 5_000];
                    file.read_exact_at(&mut buffer, offset as u64).unwrap();
                    assert!(buffer == content[offset..offset + 5_000], "at {offset}");
                }
            });
        }
    });
}

#[test]
fn small_files_read_in_sequence_are_decoded_once() {
    let content = |file: u64| text(file, 500 + 97 * file as usize);
    let archive = Tes4::new(104).flags(FOLDER_NAMES | FILE_NAMES | PACKED);
    let archive =
        (0..400).fold(archive, |archive, file| archive.file("f", format!("{file}.txt"), content(file)));
    let dir = TestDir::new();
    dir.archive("many.bsa", &archive.build());
    let mount = dir.mount(["many.bsa"]);
    for file in 0..400 {
        assert!(mount.read(format!("f/{file}.txt")) == content(file), "{file}");
    }
    let total: usize = (0..400).map(|file| content(file).len()).sum();
    let decoded = status(&mount.path)["decoded_bytes"].as_u64().unwrap();
    assert!((total..total + total / 10).contains(&(decoded as usize)), "{decoded} bytes of {total}");
}

#[test]
fn two_programs_that_read_all_files_in_order_get_the_right_bytes() {
    let content = |file: u64| text(file, 20_000 + 9_700 * (file % 30) as usize);
    let archive = Tes4::new(104).flags(FOLDER_NAMES | FILE_NAMES | PACKED);
    let archive = (0..200).fold(archive, |archive, file| {
        archive.file(format!("f{}", file / 20), format!("{file:03}.txt"), content(file))
    });
    let dir = TestDir::new();
    dir.archive("many.bsa", &archive.build());
    let mount = dir.mount(["many.bsa"]);
    thread::scope(|scope| {
        for part in [0..120, 80..200] {
            let mount = &mount;
            scope.spawn(move || {
                for file in part {
                    let path = format!("f{}/{file:03}.txt", file / 20);
                    assert!(mount.read(&path) == content(file), "{path}");
                }
            });
        }
    });
}

#[test]
fn threads_that_decode_ahead_start_when_files_are_read_in_order() {
    let archive = Tes4::new(104).flags(FOLDER_NAMES | FILE_NAMES | PACKED);
    let archive =
        (0..8).fold(archive, |archive, file| archive.file("f", format!("{file}.txt"), text(file, 100_000)));
    let dir = TestDir::new();
    dir.archive("files.bsa", &archive.build());
    let mount = dir.mount(["files.bsa"]);
    let decode_ahead = || {
        let threads = fs::read_dir(format!("/proc/{}/task", mount.pid)).unwrap();
        let names = threads.filter_map(|it| fs::read_to_string(it.unwrap().path().join("comm")).ok());
        names.filter(|name| name.starts_with("prefetch-")).count()
    };
    mount.read("f/0.txt");
    assert_eq!(decode_ahead(), 0);
    (1..4).for_each(|file| drop(mount.read(format!("f/{file}.txt"))));
    let processors = thread::available_parallelism().unwrap().get();
    let expected = if processors == 1 { 0 } else { processors.min(16) };
    // Each thread sets its own name after it has started.
    until("the threads to start", || decode_ahead() == expected);
}

/// Sends LOOKUPs without a pause. The kernel has cached none of these names.
fn look_up_absent_names(mount: &Mounted, count: u32) {
    for number in 0..count {
        assert!(!mount.join(format!("{number} is not there")).exists());
    }
}

#[test]
fn reads_are_right_during_constant_lookups() {
    let (sample, _dir, mount) = mount("dx10 v1.ba2");
    thread::scope(|scope| {
        let lookups = scope.spawn(|| look_up_absent_names(&mount, 20_000));
        for (path, content) in sample.files.iter().cycle().take(100) {
            compare_pieces(&open_directly(&mount.join(path)), content, path);
            if lookups.is_finished() {
                break;
            }
        }
    });
}

#[test]
fn the_daemon_sleeps_if_there_are_no_requests() {
    let (_sample, _dir, mount) = mount("dx10 v1.ba2");
    look_up_absent_names(&mount, 2_000);
    // CPU ticks and voluntary context switches of each thread of the daemon. A thread that polls
    // forever increases one or the other.
    let spent = || -> Vec<String> {
        let threads = fs::read_dir(format!("/proc/{}/task", mount.pid)).unwrap();
        let of_thread = |thread: &Path| {
            let [stat, status] = ["stat", "status"].map(|it| fs::read_to_string(thread.join(it)).unwrap());
            let ticks = stat.rsplit_once(") ").unwrap().1.split(' ').skip(11).take(2);
            let sleeps = status.lines().filter(|line| line.starts_with("voluntary_ctxt_switches"));
            ticks.chain(sleeps).collect::<Vec<_>>().join(" ")
        };
        threads.map(|thread| of_thread(&thread.unwrap().path())).collect()
    };
    // The sleep sets the length of the measurement. The order of events does not depend on it.
    until("the daemon to sleep", || {
        let before = spent();
        thread::sleep(Duration::from_millis(50));
        spent() == before
    });
}
