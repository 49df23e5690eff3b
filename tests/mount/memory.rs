//! Tests of memory use with archives made to waste memory: compared with their length, and while
//! the daemon decodes them.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::thread;

use crate::mounted::{Finished, Mounted, TestDir, logged, run, until};
use crate::support::tes4::{EMBEDDED, FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Ba2, Tes3, Tes4, Tes4File, pack};

/// Maximum memory that opening an archive takes, in bytes for each byte of the archive. The bound
/// is that of `bsafs::tree`.
const MEMORY_PER_ARCHIVE_BYTE: u64 = 24;
/// Memory that opening an archive may take in addition, in bytes.
const MEMORY_EXTRA: u64 = 2 << 20;

/// Peak memory of a mount's daemon in bytes, including mapped files.
fn peak(mount: &Mounted) -> u64 {
    memory(mount, "VmHWM:")
}

fn memory(mount: &Mounted, key: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", mount.pid)).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// An archive of `files` files that unpack to `mebibytes` MiB each. Packed they take a thousandth of that.
fn bombs(files: u32, mebibytes: u32) -> Vec<u8> {
    let stream = pack::zlib_zeros(mebibytes);
    let archive = Tes4::new(104).flags(FOLDER_NAMES | FILE_NAMES | PACKED);
    let file = |n| Tes4File::new(format!("{n}"), b"").stream(&stream[..]).declared(mebibytes << 20);
    (0..files).fold(archive, |archive, n| archive.add("f", file(n))).build()
}

/// A path of 64 folders. The first four encode `number`.
fn deep(number: u32) -> String {
    let digits: Vec<String> =
        (0..4).map(|at| char::from(b'a' + (number >> (4 * at) & 15) as u8).into()).collect();
    format!("{}\\{}f", digits.join("\\"), "d\\".repeat(60))
}

#[test]
fn memory_use_is_proportional_to_the_length_of_the_archive() {
    let one_folder = |folder: &[u8], file: &[u8]| {
        (0..30_000).fold(Tes4::new(104).unsorted(), |archive, _| archive.file(folder, file, b"")).build()
    };
    let embedded = |folder: &str, file: &str| {
        let add = |archive: Tes4, nth: u32| match nth {
            0 => archive.add(folder, Tes4File::new(file, b"x")),
            _ => archive.add(folder, Tes4File::new(file, b"").shares(0)),
        };
        (0..30_000).fold(Tes4::new(104).unsorted().flags(EMBEDDED), add).build()
    };
    let archives = [
        ("deep.bsa", (0..7_500).fold(Tes3::new(), |archive, n| archive.file(deep(n), b"")).build()),
        ("deep.ba2", (0..7_500).fold(Ba2::general(1), |archive, n| archive.file(deep(n), b"")).build()),
        (
            "deep-files.bsa",
            (0..7_500).fold(Tes4::new(104).unsorted(), |all, n| all.file("x", deep(n), b"")).build(),
        ),
        ("nameless.ba2", (0..30_000).fold(Ba2::general(1), |all, _| all.file("f", b"")).nameless().build()),
        ("changed.bsa", one_folder(&[0x80; 250], &[0x80])),
        ("hashes.bsa", one_folder(&[0x80; 250], b"")),
        ("plain.bsa", one_folder(&[b'p'; 250], b"f")),
        ("embedded.bsa", embedded("f", &"q".repeat(250))),
        ("embedded-deep.bsa", embedded(&["a"; 60].join("\\"), "q")),
    ];
    let dir = TestDir::new();
    dir.archive("small.bsa", &Tes3::new().file("f", b"").build());
    let small = peak(&dir.mount(["small.bsa"]));
    for (name, bytes) in &archives {
        dir.archive(name, bytes);
        let taken = peak(&dir.mount([*name])).saturating_sub(small);
        let len = bytes.len() as u64;
        let bound = MEMORY_PER_ARCHIVE_BYTE * len + MEMORY_EXTRA;
        println!(
            "{name}: {taken} bytes of memory for {len} bytes, {:.1} per byte",
            taken as f64 / len as f64
        );
        assert!(taken <= bound, "{name}: {taken} bytes of memory for {len}; at most {bound}");
    }
}

#[test]
fn parallel_reads_of_bombs_use_limited_memory_that_is_freed_later() {
    let dir = TestDir::new();
    dir.archive("bombs.bsa", &bombs(8, 1024));
    let mount = dir.mount(["bombs.bsa"]);
    thread::scope(|scope| {
        for n in 0..8 {
            let path = mount.join(format!("f/{n}"));
            scope.spawn(move || {
                let mut bytes = [1; 5];
                File::open(path).unwrap().read_exact_at(&mut bytes, 700 << 20).unwrap();
                assert_eq!(bytes, [0; 5]);
            });
        }
    });
    let peak = peak(&mount);
    println!("peak memory: {} MiB", peak >> 20);
    assert!(peak < 1400 << 20, "{peak} bytes");
    until("the memory to be freed", || memory(&mount, "VmRSS:") < 100 << 20);
}

#[test]
fn a_read_without_memory_fails_with_enomem_and_the_daemon_lives() {
    let dir = TestDir::new();
    dir.archive("bombs.bsa", &bombs(2, 600));
    let mount = dir.mount(["bombs.bsa", "--log-file", "log"]);
    let limit = |bytes: Option<u64>| {
        let pid = rustix::process::Pid::from_raw(mount.pid);
        let limit = rustix::process::Rlimit { current: bytes, maximum: None };
        rustix::process::prlimit(pid, rustix::process::Resource::As, limit).unwrap();
    };
    let read = |file: &str| {
        let mut bytes = [1; 5];
        let path = mount.join(format!("f/{file}"));
        File::open(path).unwrap().read_exact_at(&mut bytes, 300 << 20).map(|()| bytes)
    };
    limit(Some(memory(&mount, "VmSize:") + (300 << 20)));
    for file in ["0", "1", "0"] {
        let error = read(file).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::NOMEM.raw_os_error()), "{error}");
    }
    let log = logged(&dir, 1);
    assert_eq!(log.matches("not enough memory for a buffer of 629145600 bytes").count(), 1, "{log}");
    limit(None);
    assert_eq!(read("1").unwrap(), [0; 5]);
}

#[test]
fn verify_and_extract_of_bombs_stay_within_the_memory_limit() {
    let dir = TestDir::new();
    dir.archive("bombs.bsa", &bombs(2, 600));
    for command in ["verify bombs.bsa", "extract bombs.bsa -C out"] {
        // The limit is in KiB. Two files at once would not fit.
        let limited = format!("ulimit -v 1200000 && exec '{}' {command}", env!("CARGO_BIN_EXE_bsafs"));
        run(Command::new("sh").args(["-c", &limited]).current_dir(dir.path(""))).success();
    }
}

/// Runs a command under a limit of its address space in KiB. Fails if the command ends by a signal or a
/// panic, or if it fails without naming the limit.
fn limited(dir: &TestDir, kib: u32, command: &str) -> Finished {
    let script = format!("ulimit -v {kib} && exec '{}' {command}", env!("CARGO_BIN_EXE_bsafs"));
    let finished = run(Command::new("sh").args(["-c", &script]).current_dir(dir.path("")));
    if finished.code != 0 {
        let why = format!("not enough memory under the limit of {kib} KiB; raise it with `ulimit -v`\n");
        assert_eq!(finished.code, 74, "{kib}: {command}: {finished:?}");
        assert!(finished.err.ends_with(&why), "{kib}: {command}: {finished:?}");
        assert_eq!(finished.err.lines().count(), 1, "{kib}: {command}: {finished:?}");
    }
    finished
}

#[test]
fn without_memory_for_an_archive_the_error_names_the_limit() {
    let dir = TestDir::new();
    let add = |archive: Tes3, n: u32| archive.file(format!("{}\\{n}.txt", n % 90), b"x");
    dir.archive("a.bsa", &(0..40_000).fold(Tes3::new(), add).build());
    dir.archive(
        "b.ba2",
        &(0..20_000).fold(Ba2::general(1), |all, n| all.file(format!("b\\{n}"), b"")).build(),
    );
    for command in ["list a.bsa b.ba2", "verify a.bsa", "conflicts a.bsa a.bsa", "info a.bsa"] {
        let codes: Vec<i32> =
            (4..11).step_by(2).map(|step| limited(&dir, step * 10_000, command).code).collect();
        assert!(codes[0] == 74 && codes[codes.len() - 1] == 0, "{command}: {codes:?}");
    }
}

#[test]
fn a_mount_under_a_limit_of_memory_is_refused_or_survives_all_reads() {
    let dir = TestDir::new();
    dir.archive("bombs.bsa", &bombs(2, 600));
    dir.archive("stored.bsa", &Tes3::new().file("stored", vec![7; 20 << 20]).build());
    let mut survived = 0;
    for kib in [50_000, 150_000, 200_000, 300_000, 500_000, 800_000, 1_100_000, 1_500_000] {
        let finished = limited(&dir, kib, "mount bombs.bsa stored.bsa mnt --log-file log");
        if finished.code != 0 {
            assert!(!dir.path("mnt").exists(), "{kib}");
            continue;
        }
        let mount = Mounted::at(&dir.path("mnt"), finished.out);
        thread::scope(|scope| {
            for (name, at) in [("f/0", 300 << 20), ("f/1", 500 << 20), ("stored", 0), ("stored", 10 << 20)] {
                let path = mount.join(name);
                scope.spawn(move || {
                    let mut bytes = [0; 5];
                    let read = File::open(path).unwrap().read_exact_at(&mut bytes, at);
                    let code = read.as_ref().err().and_then(std::io::Error::raw_os_error);
                    let no_memory = Some(rustix::io::Errno::NOMEM.raw_os_error());
                    assert!(read.is_ok() || code == no_memory, "{kib}: {name}: {read:?}");
                });
            }
        });
        assert!(mount.read("stored").len() == 20 << 20, "{kib}");
        mount.umount(&dir);
        survived += 1;
    }
    assert!(survived > 2, "{survived}");
    let log = fs::read_to_string(dir.path("log")).unwrap();
    assert!(log.contains("not enough memory for a buffer of 629145600 bytes under the limit of "), "{log}");
}
