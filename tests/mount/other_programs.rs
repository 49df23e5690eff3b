//! Tests of what other programs expect of a disk, with programs that are compiled for them.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use bsafs::Vfs;
use bsafs::fs::{FileSystem, Owner, Presentation};
use bsafs::fuse::{MountRequest, Session};
use rustix::fs::statvfs;
use rustix::io::Errno;

use super::world;
use crate::mounted::{TestDir, is_root, run, unmount};

/// Compiles a program of `tests/mount/programs` with some flags.
fn compile(dir: &TestDir, name: &str, flags: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mount/programs").join(name);
    let program = dir.path(format!("{name}{}", flags.concat()));
    run(Command::new("gcc").args(flags).arg("-o").args([&program, &source.with_extension("c")])).success();
    program
}

/// The number that a compiled program prints about a folder.
fn number(program: &Path, folder: &Path) -> usize {
    run(Command::new(program).arg(folder)).success().trim().parse().unwrap()
}

#[test]
fn a_walk_that_trusts_link_counts_finds_all_files() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mount = dir.mount(["a.bsa"]);
    let found = run(Command::new("find").arg(&mount.path)).success().lines().count();
    assert_eq!((number(&compile(&dir, "fts", &[]), &mount.path), found), (9, 9));
}

/// Mounts a folder in this process, with the numbers that a mount has after many reloads.
#[test]
fn programs_of_32_bits_list_folders_after_a_million_reloads() {
    const FILES: usize = 1_000;
    let dir = TestDir::new();
    for folder in ["changes", "same"] {
        fs::create_dir_all(dir.path("mod").join(folder)).unwrap();
        let write = |n: usize| fs::write(dir.path("mod").join(folder).join(format!("file {n:04}")), "x");
        (0..FILES).try_for_each(write).unwrap();
    }
    fs::create_dir(dir.path("mnt")).unwrap();
    let own = Owner::new(rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let presentation = Presentation { owner: own, ..Presentation::default() };
    let vfs = Vfs::open([dir.path("mod")]).unwrap();
    let fs_of_mount = Arc::new(FileSystem::after_reloads(vfs, presentation, 1_000_126, 2_000));
    let request = MountRequest { mountpoint: dir.path("mnt"), fsname: "aged".into(), ..Default::default() };
    let session = Session::start(fs_of_mount.clone(), &request).unwrap();
    let serving = thread::spawn(move || session.serve(None));
    // Other processors have no programs of 32 bits.
    let flags: &[&[&str]] = if cfg!(target_arch = "x86_64") {
        &[&["-m32"], &["-m32", "-D_FILE_OFFSET_BITS=64"], &[]]
    } else {
        &[&[]]
    };
    let programs: Vec<PathBuf> = flags.iter().map(|flags| compile(&dir, "readdir", flags)).collect();
    for change in 0..4 {
        for program in &programs {
            let counts = ["changes", "same"].map(|folder| number(program, &dir.path("mnt").join(folder)));
            assert_eq!(counts, [FILES + change + 2, FILES + 2], "{}, {change} changes", program.display());
        }
        fs::write(dir.path("mod/changes").join(format!("0{change}")), "new").unwrap();
        fs_of_mount.replace(fs_of_mount.view().vfs().reopened().unwrap()).unwrap();
        // The kernel drops the old listing soon.
        crate::mounted::until("the new file to be listed", || {
            fs::read_dir(dir.path("mnt/changes")).unwrap().count() == FILES + change + 1
        });
        let inode = fs::metadata(dir.path("mnt/changes").join(format!("0{change}"))).unwrap().ino();
        assert!((2_000_000_000..1 << 32).contains(&inode), "{inode}");
    }
    // A program that another test starts now holds the folders that this process has open, until it runs.
    crate::mounted::until("the mount to be free", || unmount(&dir.path("mnt")).code == 0);
    serving.join().unwrap().unwrap();
}

#[test]
fn a_container_can_map_the_users_of_a_mount() {
    if !is_root() {
        return eprintln!("SKIPPED: only root may map the users of a mount");
    }
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut version = release.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    if (version.next(), version.next()) < (Some(6), Some(12)) {
        return eprintln!("SKIPPED: Linux {release} cannot map the users of a FUSE mount");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    fs::create_dir(dir.path("mapped")).unwrap();
    let mount = dir.mount(["a.bsa", "-o", "allow_other"]);
    let script = "stat -c '%u %g' mapped/readme.txt && cmp mapped/readme.txt mnt/readme.txt && \
         readlink mapped/.bsafs:sources > said && \
         ! setpriv --reuid 12345 --regid 12345 --clear-groups readlink mapped/.bsafs:sources && \
         setpriv --reuid 12345 --regid 12345 --clear-groups cmp mapped/readme.txt mnt/readme.txt";
    let mut command = Command::new(compile(&dir, "idmap", &[]));
    command.args([&mount.path, &dir.path("mapped")]).args(["sh", "-c", script]).current_dir(dir.path(""));
    assert_eq!(run(&mut command).success(), "12345 12345\n");
    assert!(fs::read_to_string(dir.path("said")).unwrap().contains("a.bsa"));
    // Without a map, the kernel does not state the user of a request either.
    let other = ["--reuid", "12345", "--regid", "12345", "--clear-groups", "readlink"];
    let link = mount.join(".bsafs:sources");
    assert_eq!(run(Command::new("setpriv").args(other).arg(&link)).code, 1);
    assert!(fs::read_link(&link).unwrap().to_str().unwrap().contains("a.bsa"));
}

#[test]
fn times_before_1970_and_after_2262_are_shown_as_they_are() {
    let dir = TestDir::new();
    fs::create_dir_all(dir.path("mod/folder")).unwrap();
    fs::write(dir.path("mod/old.txt"), "x").unwrap();
    dir.archive("a.bsa", &world());
    let mut seen = Vec::new();
    for (seconds, nanoseconds) in [(-315_619_200, 500_000_000), (-1, 999_999_999), (13_569_465_600, 7)] {
        let whole = Duration::from_secs(i64::unsigned_abs(seconds));
        let second =
            if seconds < 0 { SystemTime::UNIX_EPOCH - whole } else { SystemTime::UNIX_EPOCH + whole };
        let time = second + Duration::from_nanos(nanoseconds);
        for path in ["mod/folder", "mod/old.txt", "a.bsa"] {
            fs::File::open(dir.path(path)).unwrap().set_modified(time).unwrap();
        }
        let mount = dir.mount(["mod", "a.bsa"]);
        for (path, on_disk) in [("folder", "mod/folder"), ("old.txt", "mod/old.txt"), ("readme.txt", "a.bsa")]
        {
            let time = |path: PathBuf| {
                let found = fs::metadata(path).unwrap();
                (found.mtime(), found.mtime_nsec())
            };
            assert_eq!(time(mount.join(path)), time(dir.path(on_disk)), "{path}");
            seen.push(time(mount.join(path)).0);
        }
        mount.umount(&dir);
    }
    // Some file systems have no such times at all.
    assert!(seen.iter().any(|seconds| *seconds < 0), "{seen:?}");
}

#[test]
fn df_shows_a_mount_of_loose_files() {
    let dir = TestDir::new();
    for (folder, files) in [("empty", 0), ("mod", 3)] {
        fs::create_dir(dir.path(folder)).unwrap();
        (0..files).for_each(|n| fs::write(dir.path(folder).join(n.to_string()), [1; 5_000]).unwrap());
        let mount = dir.mount([folder]);
        let blocks = || statvfs(&mount.path).unwrap().f_blocks;
        assert_eq!(blocks(), files.max(1));
        for it in fs::read_dir(&mount.path).unwrap() {
            assert_eq!(it.unwrap().metadata().unwrap().len(), 5_000);
        }
        assert_eq!(blocks(), (files * 5_000).div_ceil(4096).max(1));
        let listed = run(Command::new("df").args(["--output=target"]).arg(&mount.path)).success();
        assert!(listed.contains(mount.path.to_str().unwrap()), "{listed}");
        mount.umount(&dir);
    }
}

#[test]
fn a_name_that_no_file_can_have_is_too_long() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mount = dir.mount(["a.bsa"]);
    for (folder, len, errno) in [
        ("", 255, Errno::NOENT),
        ("", 256, Errno::NAMETOOLONG),
        ("textures", 256, Errno::NAMETOOLONG),
        ("", 1_024, Errno::NAMETOOLONG),
        ("", 1_025, Errno::NAMETOOLONG),
    ] {
        let path = mount.join(folder).join("x".repeat(len));
        for path in [path.join("within"), path] {
            assert_eq!(rustix::fs::stat(&path).unwrap_err(), errno, "{len} bytes in {folder:?}");
        }
    }
}

#[test]
fn a_loose_name_that_is_not_utf8_opens_by_its_own_bytes() {
    let dir = TestDir::new();
    let names: [&[u8]; 3] = [b"caf\xe9.txt", b"d\xf6rf", b"tab\there"];
    for exact in [&[][..], &["-o", "exact"]] {
        let _ = fs::remove_dir_all(dir.path("mod"));
        fs::create_dir(dir.path("mod")).unwrap();
        fs::write(dir.path("mod").join(OsStr::from_bytes(names[0])), "coffee").unwrap();
        fs::create_dir(dir.path("mod").join(OsStr::from_bytes(names[1]))).unwrap();
        fs::write(dir.path("mod").join(OsStr::from_bytes(names[1])).join("a"), "village").unwrap();
        fs::write(dir.path("mod").join(OsStr::from_bytes(names[2])), "tab").unwrap();
        let mount = dir.mount([&["mod"], exact].concat());
        assert_eq!(mount.read(OsStr::from_bytes(names[0])), b"coffee");
        assert_eq!(mount.read(Path::new(OsStr::from_bytes(names[1])).join("a")), b"village");
        assert_eq!(mount.read(OsStr::from_bytes(names[2])), b"tab");
        assert_eq!(mount.read_error(OsStr::from_bytes(b"caf\xea.txt")), Some(Errno::NOENT.raw_os_error()));
        let listed = fs::read_dir(&mount.path).unwrap().map(|it| it.unwrap().file_name());
        assert!(listed.into_iter().all(|name| name.to_str().is_some_and(|name| name.contains('%'))));
        mount.umount(&dir);
    }
}
