//! Archives that change while they are in use: reads give the old bytes or an error, never a mixture.

use std::fs::{self, File, FileTimes, Permissions};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;

use bsafs::content::Reason;

use super::Opened;
use crate::support::Tes3;

const OLD: &[u8] = b"the bytes that were there";

fn opened() -> Opened {
    Opened::one(&Tes3::new().file("a.txt", OLD).file("b.txt", OLD).build())
}

fn ctime(path: &Path) -> (i64, i64) {
    let metadata = fs::metadata(path).unwrap();
    (metadata.ctime(), metadata.ctime_nsec())
}

/// Overwrites the archive's last byte and restores its times, until the clock of change times has ticked: it ticks every
/// few milliseconds, and a change within one tick cannot be seen.
fn overwrite_and_restore_times(path: &Path) {
    let (before, moved) = (fs::metadata(path).unwrap(), ctime(path));
    let times =
        FileTimes::new().set_modified(before.modified().unwrap()).set_accessed(before.accessed().unwrap());
    while ctime(path) == moved {
        let file = File::options().write(true).open(path).unwrap();
        file.write_all_at(b"!", before.len() - 1).unwrap();
        file.set_times(times).unwrap();
    }
    let after = fs::metadata(path).unwrap();
    assert_eq!((after.len(), after.modified().unwrap()), (before.len(), before.modified().unwrap()));
}

/// Repeats something that moves the change time and nothing else that a reader could see, until it has moved.
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
        assert!(!error.is_new, "{what}: logged once for the archive, not for each file");
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
fn a_rewrite_that_restores_the_modification_time_gives_errors() {
    let opened = opened();
    assert_old(&opened, "before");
    overwrite_and_restore_times(&opened.path());
    assert_changed(&opened, "rewritten");
}

#[test]
fn a_truncated_archive_gives_errors_and_no_sigbus() {
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
fn a_longer_archive_gives_errors() {
    let opened = opened();
    let file = File::options().append(true).open(opened.path()).unwrap();
    file.set_len(file.metadata().unwrap().len() + 1).unwrap();
    assert_changed(&opened, "one byte longer");
}

#[test]
fn a_changed_archive_gives_errors_even_when_it_is_changed_back() {
    let opened = opened();
    let before = fs::metadata(opened.path()).unwrap();
    let file = File::options().write(true).open(opened.path()).unwrap();
    file.set_len(before.len() + 1).unwrap();
    assert_changed(&opened, "longer");
    file.set_len(before.len()).unwrap();
    file.set_times(FileTimes::new().set_modified(before.modified().unwrap())).unwrap();
    assert_changed(&opened, "put back");
}

#[test]
fn renames_links_permissions_and_removal_keep_the_bytes_readable() {
    type Act = fn(&Path);
    let cases: [(&str, Act); 6] = [
        ("renamed away", |path| fs::rename(path, path.with_extension("bak")).unwrap()),
        ("deleted", |path| fs::remove_file(path).unwrap()),
        ("hard-linked", |path| fs::hard_link(path, path.with_extension("link")).unwrap()),
        ("other permissions", |path| fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap()),
        ("replaced by another", |path| {
            let new = path.with_extension("new");
            fs::write(&new, b"something else altogether").unwrap();
            fs::rename(new, path).unwrap();
        }),
        ("written anew at its old place", |path| {
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

#[test]
fn a_rename_explains_one_moved_change_time_and_no_later_one() {
    let before = opened();
    let folder = before.path().parent().unwrap().to_owned();
    fs::create_dir(folder.join("sub")).unwrap();
    let moved = folder.join("sub/moved.archive");
    fs::rename(before.path(), &moved).unwrap();
    assert_old(&before, "moved");
    // Touched again without a change of names: bytes may have been written and the time put back.
    repeat_until_ctime_moves(&moved, || {
        let file = File::options().write(true).open(&moved).unwrap();
        file.set_times(FileTimes::new().set_modified(fs::metadata(&moved).unwrap().modified().unwrap()))
            .unwrap();
    });
    assert_changed(&before, "touched where it was moved to");
}

#[test]
fn a_changed_archive_leaves_other_archives_readable() {
    let bytes = Tes3::new().file("a.txt", OLD).build();
    let opened = Opened::new(&[&bytes, &bytes], 1 << 20, bsafs::format::Limits::default());
    overwrite_and_restore_times(&opened.path());
    assert_eq!(opened.whole("0/a.txt").unwrap_err().reason, Reason::Changed);
    assert_eq!(opened.whole("1/a.txt").unwrap(), OLD);
}
