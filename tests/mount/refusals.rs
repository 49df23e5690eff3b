//! Tests that a mount refuses every operation that would write, as any read-only file system does.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use rustix::fs::{CWD, Mode, OFlags, mkfifoat};
use rustix::io::Errno;

use super::{world, world_files};
use crate::mounted::{TestDir, is_root, run};

/// An operation on an existing file, or on a missing one beside it.
type Operation = fn(&Path, &Path) -> io::Result<()>;

/// All operations that change a file, a folder, or their metadata.
const OPERATIONS: [(&str, Operation); 22] = [
    ("create", |_, new| File::create(new).map(drop)),
    ("create_new", |_, new| File::create_new(new).map(drop)),
    ("write", |old, _| File::options().write(true).open(old)?.write_all(b"x")),
    ("append", |old, _| File::options().append(true).open(old)?.write_all(b"x")),
    ("shorten", |old, _| File::options().write(true).open(old)?.set_len(1)),
    ("allocate", |old, _| {
        let file = File::options().write(true).open(old)?;
        rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, 1 << 20).map_err(io::Error::from)
    }),
    ("copy within the mount", |old, _| {
        let to = File::options().write(true).open(old)?;
        let copied = rustix::fs::copy_file_range(File::open(old)?, None, to, Some(&mut 5), 3);
        copied.map(drop).map_err(io::Error::from)
    }),
    ("mknod", |_, new| {
        let made = rustix::fs::mknodat(CWD, new, rustix::fs::FileType::RegularFile, Mode::RWXU, 0);
        made.map_err(io::Error::from)
    }),
    ("open and truncate", |old, _| File::create(old).map(drop)),
    ("open for reading and truncate", |old, _| {
        let flags = OFlags::RDONLY | OFlags::TRUNC;
        rustix::fs::open(old, flags, Mode::empty()).map(drop).map_err(io::Error::from)
    }),
    ("unlink", |old, _| fs::remove_file(old)),
    ("rename", |old, new| fs::rename(old, new)),
    ("rename a folder", |old, _| {
        let folder = old.parent().unwrap();
        fs::rename(folder, folder.with_extension("new"))
    }),
    ("mkdir", |_, new| fs::create_dir(new)),
    ("rmdir", |old, _| fs::remove_dir(old.parent().unwrap())),
    ("link", |old, new| fs::hard_link(old, new)),
    ("symlink", |old, new| symlink(old, new)),
    ("mkfifo", |_, new| mkfifoat(CWD, new, Mode::RWXU).map_err(io::Error::from)),
    ("chmod", |old, _| fs::set_permissions(old, fs::Permissions::from_mode(0o777))),
    ("chown", |old, _| chown(old, Some(0), Some(0))),
    ("utimes", |old, _| File::open(old)?.set_modified(SystemTime::now())),
    ("setxattr", |old, _| xattr::set(old, "user.colour", b"red")),
];

#[test]
fn every_operation_that_writes_is_refused() {
    for options in ["ro", "rw,xattr"] {
        let dir = TestDir::new();
        dir.archive("a.bsa", &world());
        let mount = dir.mount(["a.bsa", "-o", options]);
        let (old, new) = (mount.join("textures/sky.dds"), mount.join("textures/new"));
        for (name, operation) in OPERATIONS {
            let refused = operation(&old, &new).expect_err(name);
            assert_eq!(refused.raw_os_error(), Some(Errno::ROFS.raw_os_error()), "{name}: {refused}");
        }
        for (path, content) in world_files() {
            assert!(mount.read(path) == content, "{path}");
        }
        mount.umount(&dir);
    }
}

#[test]
fn every_operation_that_writes_is_refused_after_root_has_remounted_the_mount_for_writing() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    for options in ["ro", "xattr"] {
        let dir = TestDir::new();
        dir.archive("a.bsa", &world());
        let mount = dir.mount(["a.bsa", "-o", options]);
        let remount = ["-i", "-o", "remount,rw"];
        run(Command::new("mount").args(remount).arg(&mount.path)).success();
        let (old, new) = (mount.join("textures/sky.dds"), mount.join("textures/new"));
        // Twice, because the kernel remembers operations that a file system does not have.
        for (name, operation) in OPERATIONS.into_iter().chain(OPERATIONS) {
            let refused = operation(&old, &new).expect_err(name);
            assert_eq!(refused.raw_os_error(), Some(Errno::ROFS.raw_os_error()), "{name}: {refused}");
        }
        let remove = xattr::remove(&old, "user.colour").unwrap_err();
        assert_eq!(remove.raw_os_error(), Some(Errno::ROFS.raw_os_error()));
        for (path, content) in world_files() {
            assert!(mount.read(path) == content, "{path}");
        }
        mount.umount(&dir);
    }
}
