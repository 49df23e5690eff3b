//! Tests of what `stat`, `df` and `getfattr` report.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::io::Errno;

use super::{world, world_files};
use crate::mounted::TestDir;
use crate::support::content::text;
use crate::support::tes4::{FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Tes3, Tes4, Tes4File};

#[test]
fn all_users_may_read_and_times_come_from_the_archive() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mount = dir.mount(["a.bsa"]);
    for (path, mode, links) in [
        ("", 0o040_755, 1),
        ("textures", 0o040_755, 1),
        ("textures/clutter", 0o040_755, 1),
        ("readme.txt", 0o100_644, 1),
        ("textures/clutter/bucket.dds", 0o100_644, 1),
    ] {
        let metadata = fs::metadata(mount.join(path)).unwrap();
        assert_eq!((metadata.mode(), metadata.nlink()), (mode, links), "{path}");
        assert_eq!(metadata.modified().unwrap(), TestDir::archive_time(), "{path}");
        assert_eq!((metadata.ctime(), metadata.ctime_nsec()), (1_051_234_567, 123_456_789), "{path}");
        assert_eq!(metadata.uid(), rustix::process::getuid().as_raw());
        assert_eq!(metadata.gid(), rustix::process::getgid().as_raw());
    }
}

#[test]
fn sizes_are_exact_and_blocks_have_512_bytes() {
    let dir = TestDir::new();
    let files = [("nothing", 0), ("one", 1), ("block", 512), ("more", 513), ("large", 123_457)];
    let archive = files
        .iter()
        .fold(Tes4::new(105).flags(FOLDER_NAMES | FILE_NAMES | PACKED), |archive, &(name, size)| {
            archive.file("sizes", name, text(1, size))
        });
    dir.archive("a.bsa", &archive.build());
    let mount = dir.mount(["a.bsa"]);
    for (name, size) in files {
        let metadata = fs::metadata(mount.join("sizes").join(name)).unwrap();
        assert_eq!((metadata.len(), metadata.blocks()), (size as u64, (size as u64).div_ceil(512)), "{name}");
        assert_eq!(metadata.blksize(), 4096);
        assert_eq!(mount.read(Path::new("sizes").join(name)).len(), size);
    }
}

#[test]
fn df_reports_a_full_read_only_file_system_of_the_archive_size() {
    let dir = TestDir::new();
    let archive = world();
    dir.archive("a.bsa", &archive);
    let mount = dir.mount(["a.bsa"]);
    let stat = statvfs(&mount.path).unwrap();
    assert_eq!(stat.f_blocks * stat.f_frsize, (archive.len() as u64).div_ceil(4096) * 4096);
    assert_eq!((stat.f_bfree, stat.f_bavail, stat.f_ffree), (0, 0, 0));
    // The other four are the root and three folders.
    assert_eq!(stat.f_files as usize, world_files().len() + 4);
    assert_eq!(stat.f_namemax, 255);
    let flags = StatVfsMountFlags::RDONLY | StatVfsMountFlags::NOSUID | StatVfsMountFlags::NODEV;
    assert!(stat.f_flag.contains(flags), "{:?}", stat.f_flag);
}

#[test]
fn extended_attributes_are_unsupported_without_the_option_xattr() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mount = dir.mount(["a.bsa"]);
    let file = mount.join("readme.txt");
    let mut buffer = [0; 64];
    for _ in 0..2 {
        let got = rustix::fs::getxattr(&file, "user.bsafs.codec", &mut buffer[..]);
        assert_eq!(got, Err(rustix::io::Errno::NOTSUP));
        let listed = rustix::fs::listxattr(&file, &mut buffer[..]);
        assert_eq!(listed, Err(rustix::io::Errno::NOTSUP));
    }
}

#[test]
fn extended_attributes_report_where_a_file_comes_from() {
    let dir = TestDir::new();
    let names = FOLDER_NAMES | FILE_NAMES;
    let below = Tes4::new(104).flags(names).file("Misc", "Thing.txt", b"below").build();
    let thing = text(1, 9_000);
    let above = Tes4::new(104).flags(names | PACKED).add("misc", Tes4File::new("thing.txt", &thing[..]));
    let below = dir.archive("below.bsa", &below);
    let above = dir.archive("above.bsa", &above.build());
    let mount = dir.mount(["below.bsa", "above.bsa", "-o", "xattr"]);
    let file = mount.join("misc/thing.txt");
    let value = |name: &str| {
        let value = xattr::get(&file, format!("user.bsafs.{name}")).unwrap();
        value.map(|value| String::from_utf8(value).unwrap())
    };
    let listed: Vec<_> = xattr::list(&file).unwrap().map(|it| it.into_string().unwrap()).collect();
    let known = ["archive", "codec", "hash", "hides", "packed_size", "stored_name"];
    assert_eq!(listed, known.map(|name| format!("user.bsafs.{name}")));
    assert_eq!(value("archive").as_deref(), above.to_str());
    assert_eq!(value("hides").as_deref(), below.to_str());
    assert_eq!(value("codec").as_deref(), Some("zlib"));
    assert_eq!(value("stored_name").as_deref(), Some("misc\\thing.txt"));
    // A packed file consists of the 4 bytes of its size and the stream.
    let packed = 4 + crate::support::pack::zlib(&thing).len();
    assert_eq!(value("packed_size"), Some(packed.to_string()));
    let hash = value("hash").unwrap();
    assert!(hash.len() == 33 && hash.as_bytes()[16] == b'/', "{hash}");
    assert_eq!(value("colour"), None);
    assert_eq!(xattr::get(&file, "security.capability").unwrap(), None);
    assert_eq!(xattr::list(mount.join("misc")).unwrap().count(), 0);
}

#[test]
fn a_buffer_too_small_for_an_extended_attribute_is_refused() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &Tes3::new().file("a.txt", b"a").build());
    let mount = dir.mount(["a.bsa", "-o", "xattr"]);
    let file = mount.join("a.txt");
    let mut buffer = [0; 256];
    let range = Errno::RANGE;
    let get = |buffer: &mut [u8]| rustix::fs::getxattr(&file, "user.bsafs.codec", buffer);
    assert_eq!(rustix::fs::getxattr_query(&file, "user.bsafs.codec"), Ok("uncompressed".len()));
    assert_eq!(get(&mut buffer[..5]), Err(range));
    assert_eq!(get(&mut buffer[..12]), Ok(12));
    assert_eq!(&buffer[..12], b"uncompressed");
    let mut list = |len: usize| rustix::fs::listxattr(&file, &mut buffer[..len]);
    let all = rustix::fs::listxattr_query(&file).unwrap();
    assert_eq!(list(all - 1), Err(range));
    assert_eq!(list(all), Ok(all));
}
