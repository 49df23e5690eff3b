//! A view replaces another after a reload. Tested without a kernel.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use bsafs::Vfs;
use bsafs::fs::{
    Caller, Error, FileSystem, MountedSource, MountedSources, Owner, Presentation, ReadTarget, SOURCES_LINK,
    Validity, View, WHICH_LINK,
};
use bsafs::tree::Ino;
use tempfile::TempDir;

fn mounted(path: &Path) -> FileSystem {
    FileSystem::new(Vfs::open([path]).unwrap(), Presentation::default())
}

/// The first bytes of a file.
fn read(view: &Arc<View>, ino: Ino) -> Result<Vec<u8>, Error> {
    ReadTarget::find(view.clone(), ino)?.read(0, 9).map(|bytes| bytes.to_vec())
}

fn reload(fs: &FileSystem) {
    fs.replace(fs.view().vfs().reopened().unwrap()).unwrap();
}

#[test]
fn a_file_first_read_during_a_reload_is_known_afterwards() {
    let dir = TempDir::new().unwrap();
    for n in 0..3000 {
        fs::write(dir.path().join(n.to_string()), "x").unwrap();
    }
    let fs = mounted(dir.path());
    let ends = AtomicBool::new(false);
    let cached = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut cached = Vec::new();
            for ino in (2..=3001).map(Ino) {
                if ends.load(Ordering::Relaxed) {
                    break;
                }
                let view = fs.view();
                read(&view, ino).unwrap();
                // The kernel may now cache the file's size without a time limit.
                if view.is_current() {
                    cached.push(ino);
                }
            }
            cached
        });
        for n in 0..5 {
            fs::write(dir.path().join(format!("new {n}")), "x").unwrap();
            reload(&fs);
        }
        ends.store(true, Ordering::Relaxed);
        reader.join().unwrap()
    });
    let unknown =
        cached.iter().filter(|&&ino| fs.view().attr(ino).unwrap().validity == Validity::None).count();
    assert_eq!(unknown, 0, "of {}", cached.len());
}

#[test]
fn replaced_loose_files_do_not_leak_descriptors() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a");
    fs::write(&path, "x").unwrap();
    let fs = mounted(dir.path());
    for n in 0..400 {
        let ino = fs.view().lookup(Ino::ROOT, b"a").unwrap().attr.unwrap().ino;
        read(&fs.view(), ino).unwrap();
        fs::write(dir.path().join("b"), "longer".repeat(n)).unwrap();
        fs::rename(dir.path().join("b"), &path).unwrap();
        reload(&fs);
    }
    let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let open = open.filter(|it| fs::read_link(it.path()).is_ok_and(|to| to.starts_with(dir.path()))).count();
    assert!(open < 140, "{open} descriptors");
}

#[test]
fn a_change_is_detected_even_with_equal_size_and_mtime() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a");
    let times = fs::FileTimes::new().set_modified(std::time::SystemTime::UNIX_EPOCH);
    let write = |text: &str| {
        fs::write(&path, text).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_times(times).unwrap();
    };
    write("red");
    let fs = mounted(dir.path());
    let look = || {
        let ino = fs.view().lookup(Ino::ROOT, b"a").unwrap().attr.unwrap().ino;
        (ino, read(&fs.view(), ino).unwrap())
    };
    let red = look();
    // Wait, so that the file gets other times even if the clock is coarse.
    thread::sleep(std::time::Duration::from_millis(20));
    write("tan");
    reload(&fs);
    let tan = look();
    assert_eq!((&*red.1, &*tan.1, red.0 == tan.0), (&b"red"[..], &b"tan"[..], true));
    reload(&fs);
    assert_eq!(look(), tan);
}

#[test]
fn a_listing_continues_in_a_later_view_with_the_names_that_it_began_with() {
    let dir = TempDir::new().unwrap();
    for folder in ["a", "b"] {
        fs::create_dir(dir.path().join(folder)).unwrap();
        (0..9).for_each(|n| fs::write(dir.path().join(folder).join(n.to_string()), "x").unwrap());
    }
    let fs = mounted(dir.path());
    let [a, b] =
        ["a", "b"].map(|name| fs.view().tree().ino(fs.view().tree().resolve(name.as_bytes()).unwrap()));
    // Name and cookie of the entry after `cookie`.
    let next = |ino, cookie| {
        let mut found = None;
        let listed = fs.view().list(ino, cookie, |entry| {
            found = Some((String::from_utf8(entry.name.to_vec()).unwrap(), entry.cookie));
            false
        });
        listed.map(|()| found)
    };
    let fourth = |ino| (0..6).fold(0, |cookie, _| next(ino, cookie).unwrap().unwrap().1);
    let names = |ino| {
        let mut names = Vec::new();
        let add = |entry: bsafs::fs::DirEntry<'_>| {
            names.push(String::from_utf8(entry.name.to_vec()).unwrap());
            true
        };
        fs.view().list(ino, 0, add).unwrap();
        names.split_off(2)
    };
    let (of_a, of_b) = (fourth(a), fourth(b));
    let (in_a, in_b) = (names(a), names(b));
    let next_name = |ino, cookie| next(ino, cookie).unwrap().map(|it| it.0);
    for n in 0..3 {
        fs::write(dir.path().join(format!("b/0{n}")), "x").unwrap();
        reload(&fs);
    }
    assert_eq!((next_name(a, of_a), next_name(b, of_b)), (Some(in_a[4].clone()), Some(in_b[4].clone())));
    assert_eq!(next_name(b, fourth(b)).as_ref(), names(b).get(4));
    fs::remove_file(dir.path().join("b").join(&in_b[1])).unwrap();
    fs::remove_file(dir.path().join("b").join(&in_b[4])).unwrap();
    reload(&fs);
    let next = next_name(b, of_b);
    assert_eq!(next.as_ref(), in_b.get(5), "a removed name is listed, or another one is left out");
}

#[test]
fn cookies_of_listings_stay_below_31_bits_whatever_changes() {
    let dir = TempDir::new().unwrap();
    let shown = dir.path().join("shown");
    fs::create_dir(&shown).unwrap();
    // Its inode number is the lowest in most file systems, so that it is listed first.
    let at = [dir.path().join("a"), shown.join("a")];
    fs::write(&at[0], "x").unwrap();
    let expected: Vec<String> = (0..20).map(|n| format!("b{n:02}")).collect();
    for name in &expected {
        fs::write(shown.join(name), "x").unwrap();
    }
    let vfs = Vfs::open([&shown]).unwrap();
    let fs = FileSystem::after_reloads(vfs, Presentation::default(), 4_000_000_000, 1);
    let list = |mut cookie: u64, most: usize| {
        let mut names = Vec::new();
        while names.len() < most {
            let before = names.len();
            let listed = fs.view().list(Ino::ROOT, cookie, |entry| {
                assert!((1..1 << 31).contains(&entry.cookie), "{}", entry.cookie);
                names.push(String::from_utf8(entry.name.to_vec()).unwrap());
                cookie = entry.cookie;
                false
            });
            listed.unwrap();
            if names.len() == before {
                break;
            }
        }
        (names, cookie)
    };
    for change in 0..300 {
        let (first, cookie) = list(0, 12);
        assert_eq!(first.len(), 12);
        // A file that comes or goes shifts the positions of those behind it.
        fs::rename(&at[change % 2], &at[(change + 1) % 2]).unwrap();
        reload(&fs);
        let (rest, _) = list(cookie, usize::MAX);
        let mut names: Vec<&String> =
            first.iter().chain(&rest).filter(|name| name.starts_with('b')).collect();
        // They are listed in the order of their inode numbers, which a file system may give in any order.
        names.sort_unstable();
        assert!(names.into_iter().eq(&expected), "change {change}: {first:?}, then {rest:?}");
    }
}

#[test]
fn a_mount_without_free_inode_numbers_stays_as_it_is() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("a"), "x").unwrap();
    let vfs = Vfs::open([dir.path()]).unwrap();
    let fs = FileSystem::after_reloads(vfs, Presentation::default(), 5, 1 << 32);
    fs::write(dir.path().join("b"), "x").unwrap();
    assert!(fs.replace(fs.view().vfs().reopened().unwrap()).is_err());
    let lookup = |name: &[u8]| fs.view().lookup(Ino::ROOT, name).unwrap().attr;
    assert!(lookup(b"a").is_some() && lookup(b"b").is_none());
}

/// Inode number and generation of a path.
fn generation(fs: &FileSystem, path: &str) -> (Ino, u32) {
    let view = fs.view();
    let ino = path.split('/').fold(Ino::ROOT, |ino, name| {
        view.lookup(ino, name.as_bytes()).unwrap().attr.unwrap_or_else(|| panic!("no {path}")).ino
    });
    let _ = read(&view, ino);
    (ino, view.generation(ino))
}

#[test]
fn generations_stay_stable_until_a_file_is_replaced() {
    let dir = TempDir::new().unwrap();
    fs::create_dir_all(dir.path().join("Low/Sub")).unwrap();
    fs::write(dir.path().join("Low/Sub/a"), "x").unwrap();
    fs::write(dir.path().join("Low/b"), "x").unwrap();
    let paths = ["Low", "Low/Sub", "Low/Sub/a", "low/sub", "LOW/SUB/A", "Low/b"];
    let all = |fs: &FileSystem| paths.map(|path| generation(fs, path));
    let fs = mounted(dir.path());
    let before = all(&fs);
    assert_eq!(before[2], before[4], "a file must have one inode number under all spellings");
    assert_ne!(before[1].1, before[3].1, "each spelling of a folder must have its own generation");
    let nonzero: std::collections::HashSet<u32> = before.iter().map(|it| it.1).collect();
    assert_eq!(nonzero.len(), 5, "{before:?}");
    assert_eq!(fs.view().generation(Ino::ROOT), 0);
    fs::write(dir.path().join("Low/Sub/0"), "x").unwrap();
    reload(&fs);
    assert_eq!(all(&fs), before, "an unchanged file has another number or generation");
    // The folder has another spelling now, but the file is the same.
    fs::rename(dir.path().join("Low"), dir.path().join("LOW")).unwrap();
    reload(&fs);
    assert_eq!(generation(&fs, "low/sub/a"), before[2]);
    fs::rename(dir.path().join("LOW"), dir.path().join("Low")).unwrap();
    fs::remove_file(dir.path().join("Low/Sub/0")).unwrap();
    assert_eq!(all(&mounted(dir.path())), before, "a restart changed a number or generation");
    fs::write(dir.path().join("other"), "y").unwrap();
    fs::rename(dir.path().join("other"), dir.path().join("Low/b")).unwrap();
    let other = mounted(dir.path());
    let (ino, changed) = generation(&other, "Low/b");
    assert!(
        ino == before[5].0 && changed != before[5].1,
        "another file with the same number must have another generation"
    );
}

#[test]
fn the_generation_does_not_change_when_a_slow_stat_completes() {
    let dir = TempDir::new().unwrap();
    fs::create_dir(dir.path().join("Low")).unwrap();
    fs::write(dir.path().join("Low/b"), "x").unwrap();
    let fs = mounted(dir.path());
    let view = fs.view();
    let folder = view.lookup(Ino::ROOT, b"low").unwrap().attr.unwrap().ino;
    let ino = view.lookup(folder, b"b").unwrap().attr.unwrap().ino;
    // LOOKUP and READDIRPLUS answer this if the disk does not respond within a second.
    let before = view.generation(ino);
    read(&view, ino).unwrap();
    assert_eq!(view.generation(ino), before);
    fs::write(dir.path().join("other"), "x").unwrap();
    reload(&fs);
    assert_eq!(generation(&fs, "Low/b"), (ino, before), "the generation changed in a later view");
}

#[test]
fn a_node_and_its_parent_are_found_by_inode_number() {
    let dir = TempDir::new().unwrap();
    fs::create_dir_all(dir.path().join("a/b")).unwrap();
    fs::write(dir.path().join("a/b/c"), "x").unwrap();
    let fs = mounted(dir.path());
    let [a, b, c, spelled] = ["a", "a/b", "a/b/c", "A/B"].map(|path| generation(&fs, path).0);
    let view = fs.view();
    let dots = |ino, name: &str| view.lookup(ino, name.as_bytes()).map(|it| it.attr.unwrap().ino).ok();
    for ino in [Ino::ROOT, a, b, c, spelled] {
        assert_eq!(dots(ino, "."), Some(ino));
    }
    assert_eq!([a, b].map(|ino| dots(ino, "..")), [Some(Ino::ROOT), Some(a)]);
    assert_eq!(dots(spelled, ".."), Some(generation(&fs, "A").0));
    assert_eq!((dots(c, ".."), dots(Ino(1_000_000), ".")), (None, None));
}

#[test]
fn only_root_and_the_user_of_the_daemon_learn_paths_of_sources() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("a"), "x").unwrap();
    let sources = MountedSources { sources: vec![MountedSource::file(dir.path())], ..Default::default() };
    let presentation = Presentation { owner: Owner::new(0, 0), xattrs: true, ..Presentation::default() };
    let view = FileSystem::new(Vfs::open([dir.path()]).unwrap(), presentation).with_sources(sources).view();
    let ino = |name: &str| view.lookup(Ino::ROOT, name.as_bytes()).unwrap().attr.unwrap().ino;
    let links = [ino(&format!("{WHICH_LINK}{}:0", ino("a").0)), ino(&format!("{SOURCES_LINK}:0"))];
    let path = dir.path().to_str().unwrap();
    let name = dir.path().file_name().unwrap().to_str().unwrap();
    let user = rustix::process::getuid().as_raw();
    for (uid, may_know) in [(0, true), (user, true), (user + 1, false)] {
        let read = |link| view.read_link(link, Caller { uid, gid: uid });
        let which = String::from_utf8(read(links[0]).unwrap()).unwrap();
        assert!(which.contains(path) == may_know && which.contains(name), "{uid}: {which}");
        assert_eq!(which.contains("\"names_only\":true"), !may_know, "{uid}: {which}");
        assert_eq!(read(links[1]).is_ok(), may_know, "{uid}");
        let archive = view.xattr(ino("a"), b"user.bsafs.archive", || Caller { uid, gid: uid }).unwrap();
        assert_eq!(String::from_utf8(archive).unwrap(), if may_know { path } else { name }, "{uid}");
    }
}

#[test]
fn a_file_that_is_cut_off_is_cached_again_after_the_reload_that_its_read_starts() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("log");
    fs::write(&path, [1; 100]).unwrap();
    let fs = Arc::new(mounted(dir.path()));
    let of_change = Arc::downgrade(&fs);
    let attempts = Arc::new(Mutex::new(Vec::new()));
    let of_attempts = attempts.clone();
    fs.on_change(move |_| of_attempts.lock().unwrap().push(of_change.upgrade().unwrap().begin_reload()));
    let ino = Ino(2);
    let len = || ReadTarget::find(fs.view(), ino).unwrap().read(0, 200).unwrap().len();
    assert_eq!(len(), 100);
    fs::File::options().write(true).open(&path).unwrap().set_len(50).unwrap();
    assert_eq!(len(), 50);
    assert_eq!(fs.view().attr(ino).unwrap().validity, Validity::None);
    reload(&fs);
    attempts.lock().unwrap().clear();
    let attr = fs.view().attr(ino).unwrap();
    assert_eq!((attr.size, attr.validity == Validity::None), (50, false));
}

#[test]
fn what_is_held_back_for_a_reload_is_released_when_it_fails() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("log");
    fs::write(&path, [1; 100]).unwrap();
    let fs = mounted(dir.path());
    let ino = Ino(2);
    let len = || ReadTarget::find(fs.view(), ino).unwrap().read(0, 200).unwrap().len();
    assert_eq!(len(), 100);
    fs::File::options().write(true).open(&path).unwrap().set_len(50).unwrap();
    fs.record_changed_name(dir.path(), b"new", false);
    assert_eq!((len(), fs.view().attr(ino).unwrap().size), (50, 50));
    // No view follows.
    drop(fs.begin_reload());
    let view = fs.view();
    let link = view.lookup(Ino::ROOT, b".bsafs:status").unwrap().attr.unwrap().ino;
    let status = view.read_link(link, Caller { uid: 0, gid: 0 }).unwrap();
    assert!(String::from_utf8(status).unwrap().contains("\"pending_names\":0"));
    assert_ne!(view.attr(ino).unwrap().validity, Validity::None);
}
