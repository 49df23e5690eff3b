//! Archives that change while in use: a read gives the old bytes or an error, never a mixture.
//! Changes that keep the content (links, names, owners, permissions, attributes) affect no read.

use std::fs::{self, File, FileTimes, Permissions};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use bsafs::content::Reason;

use super::Opened;
use crate::mounted::is_root;
use crate::support::Tes3;

/// Offset of the names in a TES3 archive of two files, after header, records and name offsets.
const NAMES_AT: u64 = 12 + 2 * 8 + 2 * 4;

const OLD: &[u8] = b"the bytes that were there";

fn opened() -> Opened {
    Opened::one(&Tes3::new().file("a.txt", OLD).file("b.txt", OLD).build())
}

fn ctime(path: &Path) -> (i64, i64) {
    let metadata = fs::metadata(path).unwrap();
    (metadata.ctime(), metadata.ctime_nsec())
}

/// Overwrites a byte of the archive's tables and restores its times, until the change time moves.
/// Its clock ticks every few milliseconds, and bsafs notices a change within one tick only later.
fn overwrite_tables_and_restore_times(path: &Path) {
    let (before, moved) = (fs::metadata(path).unwrap(), ctime(path));
    let times =
        FileTimes::new().set_modified(before.modified().unwrap()).set_accessed(before.accessed().unwrap());
    while ctime(path) == moved {
        let file = File::options().write(true).open(path).unwrap();
        file.write_all_at(b"!", NAMES_AT).unwrap();
        file.set_times(times).unwrap();
    }
    let after = fs::metadata(path).unwrap();
    assert_eq!((after.len(), after.modified().unwrap()), (before.len(), before.modified().unwrap()));
}

/// Repeats an act until the change time moves, which must be all that a reader can notice.
fn repeat_until_ctime_moves(path: &Path, act: impl Fn()) {
    let before = ctime(path);
    while ctime(path) == before {
        act();
    }
}

fn assert_changed(opened: &Opened, what: &str) {
    for path in ["a.txt", "b.txt", "a.txt"] {
        let error = opened.whole(path).expect_err(what);
        assert_eq!(error.reason, Reason::Changed, "{what}");
        assert!(!error.is_new, "{what}: the change was reported again for another file");
    }
    let error = opened.whole("a.txt").expect_err(what);
    assert_eq!(error.reason.to_string(), "the archive was changed while in use");
}

fn assert_old(opened: &Opened, what: &str) {
    for path in ["a.txt", "b.txt"] {
        assert_eq!(opened.whole(path).expect(what), OLD, "{what}");
    }
}

#[test]
fn rewritten_tables_with_a_restored_modification_time_give_errors() {
    let opened = opened();
    assert_old(&opened, "before");
    overwrite_tables_and_restore_times(&opened.path());
    assert_changed(&opened, "rewritten");
}

#[test]
fn a_truncated_archive_gives_errors_and_not_sigbus() {
    let opened = opened();
    assert_old(&opened, "before");
    let file = File::options().write(true).open(opened.path()).unwrap();
    let len = file.metadata().unwrap().len();
    file.set_len(len - 1).unwrap();
    assert_changed(&opened, "one byte shorter");
    file.set_len(0).unwrap();
    assert_changed(&opened, "empty");
}

#[test]
fn an_archive_that_grew_gives_errors() {
    let opened = opened();
    let file = File::options().append(true).open(opened.path()).unwrap();
    file.set_len(file.metadata().unwrap().len() + 1).unwrap();
    assert_changed(&opened, "one byte longer");
}

#[test]
fn a_changed_archive_gives_errors_even_after_it_is_restored() {
    let opened = opened();
    let before = fs::metadata(opened.path()).unwrap();
    let file = File::options().write(true).open(opened.path()).unwrap();
    file.set_len(before.len() + 1).unwrap();
    assert_changed(&opened, "longer");
    file.set_len(before.len()).unwrap();
    file.set_times(FileTimes::new().set_modified(before.modified().unwrap())).unwrap();
    assert_changed(&opened, "restored");
}

#[test]
fn renames_links_permissions_and_removal_keep_the_bytes_readable() {
    type Act = fn(&Path);
    let cases: [(&str, Act); 6] = [
        ("renamed away", |path| fs::rename(path, path.with_extension("bak")).unwrap()),
        ("deleted", |path| fs::remove_file(path).unwrap()),
        ("hard-linked", |path| fs::hard_link(path, path.with_extension("link")).unwrap()),
        ("other permissions", |path| fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap()),
        ("replaced by another file", |path| {
            let new = path.with_extension("new");
            fs::write(&new, b"something else altogether").unwrap();
            fs::rename(new, path).unwrap();
        }),
        ("deleted and written again at the same path", |path| {
            fs::remove_file(path).unwrap();
            fs::write(path, b"something else altogether").unwrap();
        }),
    ];
    for (what, act) in cases {
        let opened = opened();
        act(&opened.path());
        assert_old(&opened, what);
        assert_old(&opened, what);
    }
}

/// Checks that an archive stays readable after acts that move its change time but not its content.
fn assert_stays_readable(what: &str, act: impl Fn(&Path)) {
    let opened = opened();
    let path = opened.path();
    for _ in 0..3 {
        repeat_until_ctime_moves(&path, || act(&path));
        assert_old(&opened, what);
    }
    // A real change afterwards is still noticed.
    overwrite_tables_and_restore_times(&path);
    assert_changed(&opened, what);
}

#[test]
fn a_new_access_time_keeps_the_bytes_readable() {
    assert_stays_readable("touch -a", |path| {
        let times = FileTimes::new().set_accessed(SystemTime::now());
        File::open(path).unwrap().set_times(times).unwrap();
    });
}

#[test]
fn an_extended_attribute_keeps_the_bytes_readable() {
    let probe = opened();
    if let Err(error) = xattr::set(probe.path(), "user.bsafs.test", b"1") {
        eprintln!("SKIPPED: cannot set extended attributes here: {error}");
        return;
    }
    assert_stays_readable("setfattr", |path| {
        xattr::set(path, "user.bsafs.test", b"1").unwrap();
        xattr::remove(path, "user.bsafs.test").unwrap();
    });
}

#[test]
fn permissions_changed_and_restored_keep_the_bytes_readable() {
    assert_stays_readable("chmod there and back", |path| {
        let before = fs::metadata(path).unwrap().permissions();
        fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
        fs::set_permissions(path, before).unwrap();
    });
}

#[test]
fn an_owner_changed_and_restored_keeps_the_bytes_readable() {
    // Users other than root may give a file only to themselves, but that moves the change time, too.
    let uid = rustix::process::getuid().as_raw();
    let other = if is_root() { 65_534 } else { uid };
    assert_stays_readable("chown there and back", |path| {
        chown(path, Some(other), None).unwrap();
        chown(path, Some(uid), None).unwrap();
    });
}

#[test]
fn a_hard_link_created_and_removed_keeps_the_bytes_readable() {
    assert_stays_readable("ln and rm", |path| {
        let link = path.with_extension("link");
        fs::hard_link(path, &link).unwrap();
        fs::remove_file(link).unwrap();
    });
}

#[test]
fn a_rename_and_its_reverse_keep_the_bytes_readable() {
    assert_stays_readable("mv there and back", |path| {
        let moved = path.with_extension("moved");
        fs::rename(path, &moved).unwrap();
        fs::rename(moved, path).unwrap();
    });
}

#[test]
fn eight_readers_get_the_bytes_while_the_ctime_keeps_changing() {
    let opened = opened();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let touch = scope.spawn(|| {
            let file = File::open(opened.path()).unwrap();
            while !done.load(Ordering::Relaxed) {
                file.set_times(FileTimes::new().set_accessed(SystemTime::now())).unwrap();
            }
        });
        let read = || (0..500).for_each(|_| assert_old(&opened, "while another thread touches the archive"));
        let readers: Vec<_> = (0..8).map(|_| scope.spawn(read)).collect();
        let ended: Vec<_> = readers.into_iter().map(|reader| reader.join()).collect();
        done.store(true, Ordering::Relaxed);
        touch.join().unwrap();
        assert!(ended.iter().all(Result::is_ok));
    });
}

#[test]
fn a_changed_archive_leaves_other_archives_readable() {
    let bytes = Tes3::new().file("a.txt", OLD).file("b.txt", OLD).build();
    let opened = Opened::new(&[&bytes, &bytes], 1 << 20, bsafs::format::Limits::default());
    overwrite_tables_and_restore_times(&opened.path());
    assert_eq!(opened.whole("0/a.txt").unwrap_err().reason, Reason::Changed);
    assert_eq!(opened.whole("1/a.txt").unwrap(), OLD);
}
