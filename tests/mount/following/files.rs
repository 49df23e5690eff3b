//! Tests of what a mount shows after archives, loose files and settings change on the disk.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::evictions::assert_none_sent;
use crate::mounted::{Mounted, TestDir, logged, status, until};
use crate::support::{Tes3, Tes4};

/// An archive of these paths and contents.
pub(super) fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    files.iter().fold(Tes3::new(), |it, (path, content)| it.file(*path, content.as_bytes())).build()
}

/// Replaces a file by a rename, as careful programs do to save a file.
pub(super) fn replace(dir: &TestDir, name: &str, bytes: &[u8]) {
    fs::write(dir.path("new"), bytes).unwrap();
    fs::rename(dir.path("new"), dir.path(name)).unwrap();
}

pub(super) fn views(mount: &Mounted) -> u64 {
    status(&mount.path)["views"].as_u64().unwrap()
}

/// Waits until the mount serves a later view than `before`.
pub(super) fn wait_for_view_after(mount: &Mounted, before: u64) {
    until("a later view", || views(mount) > before);
}

/// A file's content, or the errno of reading it.
pub(super) fn content(path: &Path) -> Result<String, i32> {
    fs::read_to_string(path).map_err(|error| error.raw_os_error().unwrap())
}

pub(super) const ENOENT: i32 = 2;
const EIO: i32 = 5;

#[test]
fn a_replaced_archive_is_shown_at_once_under_every_spelling() {
    let dir = TestDir::new();
    dir.archive(
        "a.bsa",
        &archive(&[("Textures\\kept.txt", "kept"), ("Textures\\old.txt", "old"), ("Gone\\x.txt", "x")]),
    );
    let mount = dir.mount(["a.bsa", "--log-file", "log"]);
    let spellings = ["Textures", "textures", "TEXTURES"];
    for folder in spellings {
        assert_eq!(content(&mount.join(folder).join("KEPT.txt")), Ok("kept".into()));
        assert_eq!(content(&mount.join(folder).join("old.txt")), Ok("old".into()));
        assert_eq!(content(&mount.join(folder).join("New.txt")), Err(ENOENT));
    }
    assert_eq!(content(&mount.join("gone/x.txt")), Ok("x".into()));
    assert_eq!(content(&mount.join("Added/y.txt")), Err(ENOENT));
    replace(
        &dir,
        "a.bsa",
        &archive(&[("Textures\\kept.txt", "other"), ("Textures\\New.txt", "new"), ("added\\y.txt", "y")]),
    );
    wait_for_view_after(&mount, 0);
    for folder in spellings {
        assert_eq!(content(&mount.join(folder).join("KEPT.txt")), Ok("other".into()), "{folder}");
        assert_eq!(content(&mount.join(folder).join("old.txt")), Err(ENOENT), "{folder}");
        assert_eq!(content(&mount.join(folder).join("New.txt")), Ok("new".into()), "{folder}");
        let mut listed: Vec<_> =
            fs::read_dir(mount.join(folder)).unwrap().map(|it| it.unwrap().file_name()).collect();
        listed.sort();
        assert_eq!(listed, ["New.txt", "kept.txt"], "{folder}");
    }
    assert_eq!(content(&mount.join("gone/x.txt")), Err(ENOENT));
    assert!(!mount.join("Gone").exists());
    assert_eq!(content(&mount.join("Added/y.txt")), Ok("y".into()));
    let line = logged(&dir, 1);
    assert!(line.ends_with("reloaded: a.bsa: 2 files added, 2 removed, 1 replaced\n"), "{line}");
}

#[test]
fn files_of_a_removed_archive_disappear_until_it_is_back() {
    let dir = TestDir::new();
    let bytes = archive(&[("a.txt", "low"), ("b.txt", "b")]);
    dir.archive("low.bsa", &bytes);
    dir.archive("high.bsa", &archive(&[("a.txt", "high")]));
    let mount = dir.mount(["low.bsa", "high.bsa"]);
    assert_eq!(content(&mount.join("a.txt")), Ok("high".into()));
    fs::remove_file(dir.path("high.bsa")).unwrap();
    wait_for_view_after(&mount, 0);
    assert_eq!(content(&mount.join("a.txt")), Ok("low".into()));
    fs::remove_file(dir.path("low.bsa")).unwrap();
    wait_for_view_after(&mount, 1);
    assert_eq!(fs::read_dir(&mount.path).unwrap().count(), 0);
    dir.archive("low.bsa", &bytes);
    wait_for_view_after(&mount, 2);
    assert_eq!(content(&mount.join("a.txt")), Ok("low".into()));
    assert_eq!(content(&mount.join("b.txt")), Ok("b".into()));
}

#[test]
fn a_half_written_archive_is_not_shown() {
    let dir = TestDir::new();
    let old = archive(&[("a.txt", "old"), ("b.txt", "old b")]);
    let new = Tes4::new(104).file("f", "a.txt", "new").file("f", "b.txt", "new b").build();
    dir.archive("a.bsa", &old);
    let mount = dir.mount(["a.bsa", "--log-file", "log"]);
    // Each part replaces the whole archive: a piece of the header, the header and a piece of the
    // tables, all without the last bytes.
    for len in [10, 50, new.len() - 3] {
        let before = status(&mount.path)["last_reload"]["count"].as_u64().unwrap();
        replace(&dir, "a.bsa", &new[..len]);
        until("the daemon to check the archive", || {
            status(&mount.path)["last_reload"]["count"].as_u64().unwrap() > before
        });
        assert_eq!((content(&mount.join("a.txt")), views(&mount)), (Ok("old".into()), 0), "{len} bytes");
    }
    replace(&dir, "a.bsa", &new);
    wait_for_view_after(&mount, 0);
    assert_eq!(content(&mount.join("f/b.txt")), Ok("new b".into()));
    // An archive that stays cut off is accepted as it is. The rest of it can be read.
    replace(&dir, "a.bsa", &new[..new.len() - 3]);
    wait_for_view_after(&mount, 1);
    let read = ["f/a.txt", "f/b.txt"].map(|path| content(&mount.join(path)));
    assert!(read.contains(&Err(EIO)) && read.iter().any(Result::is_ok), "{read:?}");
    let log = logged(&dir, 2);
    assert!(log.contains("the previous contents stay mounted until this problem is fixed"), "{log}");
    assert_eq!(log.matches("reloaded: a.bsa: 2 files added, 2 removed").count(), 1, "{log}");
}

#[test]
fn an_archive_rewritten_in_place_never_gives_a_mixture_of_bytes() {
    let dir = TestDir::new();
    let big = |letter: char| letter.to_string().repeat(3_000_000);
    let bytes = |letter| archive(&[("a.txt", &big(letter))]);
    dir.archive("a.bsa", &bytes('a'));
    let mount = dir.mount(["a.bsa"]);
    // The file stays open, and only its first pages are in the page cache.
    let open = File::open(mount.join("a.txt")).unwrap();
    let read = |offset| {
        let mut buffer = vec![0; 1000];
        std::os::unix::fs::FileExt::read_exact_at(&open, &mut buffer, offset)
            .map(|()| buffer)
            .map_err(|error| error.raw_os_error().unwrap())
    };
    assert_eq!(read(0), Ok(vec![b'a'; 1000]));
    fs::write(dir.path("a.bsa"), bytes('b')).unwrap();
    wait_for_view_after(&mount, 0);
    assert_eq!(content(&mount.join("a.txt")), Ok(big('b')));
    assert!([Ok(vec![b'a'; 1000]), Err(EIO)].contains(&read(2_900_000)));
    assert_eq!(read(0), Ok(vec![b'a'; 1000]), "the cached bytes changed");
}

#[test]
fn an_open_file_of_a_replaced_archive_is_readable_to_its_end() {
    let dir = TestDir::new();
    let big = |letter: char| letter.to_string().repeat(3_000_000);
    dir.archive("a.bsa", &archive(&[("a.txt", &big('a'))]));
    let mount = dir.mount(["a.bsa"]);
    let open = File::open(mount.join("a.txt")).unwrap();
    let descriptors = || fs::read_dir(format!("/proc/{}/fd", mount.pid)).unwrap().count();
    let before = descriptors();
    // The daemon keeps at most eight replaced archives open. A ninth would close the first.
    for (view, letter) in (0..).zip("bcdefghi".chars()) {
        replace(&dir, "a.bsa", &archive(&[("a.txt", &big(letter))]));
        wait_for_view_after(&mount, view);
        assert_eq!(content(&mount.join("a.txt")).unwrap(), big(letter));
    }
    let mut text = String::new();
    std::io::Read::read_to_string(&mut &open, &mut text).unwrap();
    assert!(text == big('a'), "the open file has the bytes of another archive");
    drop(open);
    // The daemon keeps the previous view for a while, for listings that began in it.
    until("the replaced archives to be closed", || descriptors() <= before + 1);
}

#[test]
fn unchanged_files_keep_their_numbers_and_cached_pages() {
    let dir = TestDir::new();
    for name in ["a", "b", "c"] {
        let files: Vec<(String, String)> =
            (0..50).map(|n| (format!("{name}\\F{n}\\file.txt"), format!("{name}{n}"))).collect();
        let files: Vec<_> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
        dir.archive(&format!("{name}.bsa"), &archive(&files));
    }
    let mount = dir.mount(["a.bsa", "b.bsa", "c.bsa"]);
    let look = |folders: &[&str]| {
        let mut seen = Vec::new();
        for folder in folders {
            for n in 0..50 {
                let path = mount.join(format!("{folder}/F{n}/file.txt"));
                let metadata = fs::metadata(&path).unwrap();
                assert_eq!(content(&path), Ok(format!("{folder}{n}")));
                let parent = path.parent().unwrap();
                assert_eq!(fs::read_dir(parent).unwrap().count(), 1);
                seen.push((metadata.ino(), metadata.mtime(), fs::metadata(parent).unwrap().ino()));
            }
        }
        seen
    };
    let requests = || {
        let counts = status(&mount.path)["requests"].clone();
        ["lookup", "getattr", "read", "readdir", "readdirplus"].map(|it| counts[it].as_u64().unwrap())
    };
    // The second look is answered from the kernel's caches.
    look(&["a", "b", "c"]);
    let before = look(&["a", "c"]);
    // After each change, the unchanged files must still be cached.
    assert_none_sent(|nth| {
        let known = requests();
        replace(&dir, "b.bsa", &archive(&[(&format!("b\\new{nth}.txt"), "new")]));
        wait_for_view_after(&mount, nth);
        assert_eq!(content(&mount.join(format!("b/new{nth}.txt"))), Ok("new".into()));
        let after_reload = requests();
        assert_eq!(look(&["a", "c"]), before);
        let sent = requests();
        assert!(after_reload[0] - known[0] <= 4, "{known:?} {after_reload:?}");
        let counts = format!("lookup, getattr, read, readdir, readdirplus: {after_reload:?}, then {sent:?}");
        (sent != after_reload).then_some(counts)
    });
}

#[test]
fn readers_never_see_a_mixture_during_thirty_replacements() {
    let dir = TestDir::new();
    let text = |n: usize| format!("{n:03}").repeat(100_000);
    let bytes = |n| archive(&[("f\\a.txt", &text(n)), ("f\\b.txt", &text(n))]);
    dir.archive("a.bsa", &bytes(0));
    let mount = dir.mount(["a.bsa"]);
    let ends = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers = ["f/a.txt", "F/B.TXT"].map(|path| {
            let (mount, ends) = (&mount, &ends);
            scope.spawn(move || {
                let mut reads = 0;
                while !ends.load(Ordering::Relaxed) {
                    let text = content(&mount.join(path)).unwrap();
                    let first = &text.as_bytes()[..3];
                    assert!(
                        text.len() == 300_000 && text.as_bytes().chunks(3).all(|it| it == first),
                        "the file is a mixture of two archives"
                    );
                    reads += 1;
                }
                reads
            })
        });
        for n in 1..=30 {
            replace(&dir, "a.bsa", &bytes(n));
        }
        until("the last archive to be shown", || content(&mount.join("f/a.txt")) == Ok(text(30)));
        ends.store(true, Ordering::Relaxed);
        for reader in readers {
            assert!(reader.join().unwrap() > 0);
        }
    });
}

#[test]
fn changes_of_loose_files_are_shown_at_any_depth() {
    let dir = TestDir::new();
    fs::create_dir_all(dir.path("mod/Textures/deep")).unwrap();
    fs::write(dir.path("mod/Textures/deep/a.txt"), "one").unwrap();
    fs::write(dir.path("mod/kept.txt"), "kept").unwrap();
    let mount = dir.mount(["mod"]);
    let kept = fs::metadata(mount.join("kept.txt")).unwrap().ino();
    assert_eq!(content(&mount.join("textures/DEEP/a.txt")), Ok("one".into()));
    // First the file is written in place, as an editor saves. Then a new file is renamed over it.
    fs::write(dir.path("mod/Textures/deep/a.txt"), "two!").unwrap();
    until("the change to be shown", || content(&mount.join("textures/DEEP/a.txt")) == Ok("two!".into()));
    fs::write(dir.path("mod/x"), "three").unwrap();
    fs::rename(dir.path("mod/x"), dir.path("mod/Textures/deep/a.txt")).unwrap();
    until("the change to be shown", || content(&mount.join("textures/DEEP/a.txt")) == Ok("three".into()));
    fs::create_dir_all(dir.path("mod/New/below")).unwrap();
    fs::write(dir.path("mod/New/below/b.txt"), "b").unwrap();
    until("the change to be shown", || content(&mount.join("new/BELOW/B.txt")) == Ok("b".into()));
    fs::write(dir.path("mod/New/below/c.txt"), "c").unwrap();
    until("a new file in the new folder to appear", || {
        content(&mount.join("new/below/c.txt")) == Ok("c".into())
    });
    fs::rename(dir.path("mod/Textures"), dir.path("mod/Meshes")).unwrap();
    until("the change to be shown", || content(&mount.join("meshes/deep/a.txt")) == Ok("three".into()));
    assert_eq!(content(&mount.join("textures/deep/a.txt")), Err(ENOENT));
    fs::remove_dir_all(dir.path("mod/Meshes")).unwrap();
    until("the change to be shown", || !mount.join("meshes").exists());
    assert_eq!(fs::metadata(mount.join("kept.txt")).unwrap().ino(), kept);
}

#[test]
fn a_loose_file_read_during_a_write_later_has_its_new_bytes() {
    use std::os::unix::fs::FileExt;
    // One call writes the whole file, so its times stay those of the beginning of the write.
    const LEN: usize = 256 << 20;
    let dir = TestDir::new();
    fs::create_dir(dir.path("mod")).unwrap();
    let new = vec![b'b'; LEN];
    let last = |file: &File| {
        let mut byte = [0];
        file.read_exact_at(&mut byte, LEN as u64 - 1).map(|()| byte[0])
    };
    for attempt in 0.. {
        let path = format!("mod/{attempt}");
        fs::write(dir.path(&path), vec![b'a'; LEN]).unwrap();
        let mount = dir.mount(["mod"]);
        let file = File::options().write(true).open(dir.path(&path)).unwrap();
        let before = file.metadata().unwrap().modified().unwrap();
        let is_amid = thread::scope(|scope| {
            let write = scope.spawn(|| file.write_all_at(&new, 0).unwrap());
            while file.metadata().unwrap().modified().unwrap() == before {}
            let read = last(&File::open(mount.join(attempt.to_string())).unwrap());
            read.is_ok_and(|byte| byte == b'a') && !write.is_finished()
        });
        if is_amid {
            let now = || last(&File::open(mount.join(attempt.to_string())).unwrap()).ok();
            until("the new bytes to be shown", || now() == Some(b'b'));
            return;
        }
        assert!(attempt < 10, "no read happened during a write");
        fs::remove_file(dir.path(&path)).unwrap();
    }
}

#[test]
fn a_new_archive_in_a_mounted_folder_becomes_a_layer() {
    let dir = TestDir::new();
    fs::create_dir(dir.path("Data")).unwrap();
    fs::write(dir.path("Data/loose.txt"), "loose").unwrap();
    let mount = dir.mount(["Data"]);
    assert_eq!(content(&mount.join("f/a.txt")), Err(ENOENT));
    replace(&dir, "Data/b.bsa", &archive(&[("f\\a.txt", "a"), ("loose.txt", "archive")]));
    until("the change to be shown", || content(&mount.join("f/a.txt")) == Ok("a".into()));
    assert_eq!(content(&mount.join("loose.txt")), Ok("loose".into()));
    assert!(!mount.join("b.bsa").exists());
}

#[test]
fn the_current_folder_of_a_process_survives_a_reload() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &archive(&[("Textures\\Deep\\a.txt", "a")]));
    dir.archive("b.bsa", &archive(&[("b.txt", "b")]));
    let mount = dir.mount(["a.bsa", "b.bsa"]);
    let cwd = File::open(mount.join("textures/deep")).unwrap();
    let numbers = |path: &str| fs::metadata(mount.join(path)).unwrap().ino();
    let before = [numbers("textures/deep"), numbers("Textures/Deep"), numbers("Textures")];
    // Both folders have another spelling now, and there is another file beside `deep`.
    replace(&dir, "a.bsa", &archive(&[("textures\\deep\\a.txt", "new"), ("textures\\c.txt", "c")]));
    wait_for_view_after(&mount, 0);
    let of_cwd = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&cwd));
    assert_eq!(fs::read_link(&of_cwd).unwrap(), mount.join("textures/deep"));
    assert_eq!(content(&Path::new(&of_cwd).join("a.txt")), Ok("new".into()));
    assert_eq!(content(&Path::new(&of_cwd).join("../C.TXT")), Ok("c".into()));
    assert_eq!([numbers("textures/deep"), numbers("Textures/Deep"), numbers("Textures")], before);
    let mut listed: Vec<_> = fs::read_dir(&mount.path).unwrap().map(|it| it.unwrap().file_name()).collect();
    listed.sort();
    assert_eq!(listed, ["b.txt", "textures"]);
}

#[test]
fn an_open_folder_that_was_removed_lists_nothing() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &archive(&[("f\\g\\a.txt", "a"), ("b.txt", "b")]));
    let mount = dir.mount(["a.bsa"]);
    let folders = ["f", "f/g", "F/G"].map(|path| File::open(mount.join(path)).unwrap());
    let list = |folder: &File| {
        rustix::fs::seek(folder, rustix::fs::SeekFrom::Start(0)).unwrap();
        let mut buffer = Vec::with_capacity(4096);
        let mut entries = rustix::fs::RawDir::new(folder, buffer.spare_capacity_mut());
        let mut count = 0;
        while let Some(Ok(_)) = entries.next() {
            count += 1;
        }
        count
    };
    // Each folder lists `.`, `..` and one name. The kernel answers the second listing from its cache.
    assert_eq!([(); 2].map(|()| folders.each_ref().map(list)), [[3; 3]; 2]);
    replace(&dir, "a.bsa", &archive(&[("b.txt", "b")]));
    wait_for_view_after(&mount, 0);
    assert_eq!(folders.each_ref().map(list), [0; 3]);
}

#[test]
fn a_listing_that_is_open_during_a_reload_skips_no_name() {
    let dir = TestDir::new();
    let names = |range: std::ops::Range<usize>| -> Vec<String> {
        range.map(|n| format!("f\\file-{n:05}.txt")).collect()
    };
    let bytes = |names: &[String]| archive(&names.iter().map(|name| (&**name, "x")).collect::<Vec<_>>());
    dir.archive("a.bsa", &bytes(&names(0..5000)));
    let mount = dir.mount(["a.bsa"]);
    let folder = File::open(mount.join("f")).unwrap();
    let mut buffer = Vec::with_capacity(4096);
    let mut entries = rustix::fs::RawDir::new(&folder, buffer.spare_capacity_mut());
    let mut listed = Vec::new();
    for _ in 0..1000 {
        listed.push(entries.next().unwrap().unwrap().file_name().to_str().unwrap().to_owned());
    }
    // Most names listed so far are gone. A listing by position would skip as many of the others.
    replace(&dir, "a.bsa", &bytes(&names(900..6000)));
    wait_for_view_after(&mount, 0);
    while let Some(entry) = entries.next() {
        listed.push(entry.unwrap().file_name().to_str().unwrap().to_owned());
    }
    listed.retain(|name| !name.starts_with("."));
    let old: Vec<String> = names(0..5000).iter().map(|name| name[2..].to_owned()).collect();
    assert!(listed == old, "{} names", listed.len());
    let found = || {
        let mut found: Vec<_> = fs::read_dir(mount.join("f"))
            .unwrap()
            .map(|it| it.unwrap().file_name().into_string().unwrap())
            .collect();
        found.sort();
        found
    };
    let new: Vec<String> = names(900..6000).iter().map(|name| name[2..].to_owned()).collect();
    assert!(found() == new, "{} names", found().len());
    assert_eq!(content(&mount.join("f/file-00000.txt")), Err(ENOENT));
}

#[test]
fn an_open_listing_goes_on_after_another_program_listed_the_changed_folder() {
    let dir = TestDir::new();
    // With the new file and the two dots, the kernel's copy of the listing ends at the end of a page.
    let names: Vec<String> = (0..765).map(|n| format!("f{n:05}")).collect();
    fs::create_dir_all(dir.path("mod/t")).unwrap();
    for name in names.iter() {
        fs::write(dir.path("mod/t").join(name), "").unwrap();
    }
    let mount = dir.mount(["mod"]);
    let count = || fs::read_dir(mount.join("t")).unwrap().count();
    assert_eq!(count(), 765);
    let folder = File::open(mount.join("t")).unwrap();
    let mut buffer = Vec::with_capacity(1024);
    let mut entries = rustix::fs::RawDir::new(&folder, buffer.spare_capacity_mut());
    let mut listed: Vec<String> = Vec::new();
    let mut next = || Some(entries.next()?.unwrap().file_name().to_str().unwrap().to_owned());
    listed.extend((0..100).filter_map(|_| next()));
    fs::write(dir.path("mod/t/new"), "").unwrap();
    until("the new file to be listed", || count() == 766);
    assert_eq!(count(), 766);
    listed.extend(std::iter::from_fn(next));
    listed.retain(|name| !name.starts_with('.'));
    listed.sort();
    assert!(listed == names, "{} names", listed.len());
}

#[test]
fn a_change_of_the_profile_is_followed() {
    let dir = TestDir::new();
    for name in ["a", "b"] {
        dir.archive(&format!("{name}.bsa"), &archive(&[("x.txt", name)]));
    }
    fs::write(dir.path("p.toml"), "archives = ['a.bsa', 'b.bsa']\nmountpoint = 'mnt'").unwrap();
    dir.run(["mount", "p.toml", "mnt"]).success();
    let mount = Mounted::at(&dir.path("mnt"), String::new());
    assert_eq!(content(&mount.join("X.txt")), Ok("b".into()));
    fs::write(dir.path("p.toml"), "archives = ['b.bsa', 'a.bsa']\nmountpoint = 'mnt'").unwrap();
    until("the change to be shown", || content(&mount.join("X.txt")) == Ok("a".into()));
    let found: serde_json::Value =
        serde_json::from_str(&dir.run(["which", "--json", "mnt/x.txt"]).success()).unwrap();
    assert_eq!(found["from"]["archive"], dir.path("a.bsa").to_str().unwrap());
    fs::write(dir.path("p.toml"), "archives = ['b.bsa', 'no").unwrap();
    let finished = dir.run(["reload", "mnt"]);
    assert!(finished.code != 0 && finished.err.contains("p.toml"), "{finished:?}");
    assert_eq!(content(&mount.join("X.txt")), Ok("a".into()));
}

#[test]
fn a_folder_mounted_over_itself_follows_changes_beneath_the_mount() {
    let dir = TestDir::new();
    fs::create_dir_all(dir.path("mnt/Sub")).unwrap();
    fs::create_dir(dir.path("mod")).unwrap();
    fs::write(dir.path("mnt/Sub/a.txt"), "below").unwrap();
    dir.archive("mnt/x.bsa", &archive(&[("sub\\a.txt", "archive"), ("sub\\b.txt", "b")]));
    fs::write(dir.path("mod/c.txt"), "c").unwrap();
    let below = File::open(dir.path("mnt")).unwrap();
    let below =
        std::path::PathBuf::from(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&below)));
    let mount = dir.mount(["-o", "nonempty", "mnt", "mod"]);
    assert_eq!(content(&mount.join("sub/A.txt")), Ok("below".into()));
    assert_eq!(content(&mount.join("sub/b.txt")), Ok("b".into()));
    fs::write(below.join("Sub/a.txt"), "changed").unwrap();
    until("the change to be shown", || content(&mount.join("sub/A.txt")) == Ok("changed".into()));
    fs::write(dir.path("mod/c.txt"), "other").unwrap();
    until("the change to be shown", || content(&mount.join("c.txt")) == Ok("other".into()));
    fs::write(below.join("new"), archive(&[("sub\\b.txt", "b2")])).unwrap();
    fs::rename(below.join("new"), below.join("x.bsa")).unwrap();
    until("the change to be shown", || content(&mount.join("sub/b.txt")) == Ok("b2".into()));
    assert_eq!(content(&mount.join("sub/a.txt")), Ok("changed".into()));
    assert!(!mount.join("x.bsa").exists());
}
