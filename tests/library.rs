//! The library as another program uses it: sources in, files and their bytes out.

use std::fs;
use std::io::{Read, Seek, SeekFrom};

use bsafs::{
    Change, Comparing, Conflict, Difference, FileReader, FolderArchives, OpenError, OpenErrorKind,
    OpenOptions, ParseError, ParseErrorKind, Patterns, ReadError, ReadErrorKind, Reopened, Vfs, VfsEntry,
    VfsFile, VfsFolder, VfsLayer,
};

use crate::mounted::TestDir;
use crate::support::tes4::{FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Tes3, Tes4};

/// An archive and a folder above it. `misc/all.txt` is in both.
fn sources() -> TestDir {
    let dir = TestDir::new();
    let long = vec![b'x'; 5_000_000];
    let low = Tes3::new().file("misc\\all.txt", b"low").file("long.bin", long).file("z.txt", b"z");
    dir.archive("low.bsa", &low.build());
    fs::create_dir_all(dir.path("loose/MISC")).unwrap();
    fs::write(dir.path("loose/MISC/all.txt"), b"loose").unwrap();
    dir
}

fn opened(dir: &TestDir) -> Vfs {
    Vfs::open(["low.bsa", "loose"].map(|name| dir.path(name))).unwrap()
}

#[test]
fn a_file_is_found_in_any_case_with_its_layer_and_hidden_copies() {
    let dir = sources();
    let vfs = opened(&dir);
    let file = vfs.file(r"Misc\ALL.txt").unwrap();
    assert_eq!(file.read().unwrap(), b"loose");
    assert_eq!(file.layer().path(), dir.path("loose"));
    let hidden: Vec<_> = file.hidden().collect();
    assert_eq!((hidden.len(), hidden[0].layer().path()), (1, &*dir.path("low.bsa")));
    assert_eq!((hidden[0].read().unwrap(), hidden[0].hidden().count()), (b"low".to_vec(), 0));
    assert_eq!((file.codec(), hidden[0].codec()), ("uncompressed", "uncompressed"));
    assert!(vfs.file("misc").is_none() && vfs.folder("MISC").is_some() && vfs.file("none").is_none());
    assert_eq!(vfs.layers().map(|layer| layer.is_folder()).collect::<Vec<_>>(), [false, true]);
    assert_eq!(vfs.conflicts().len(), 1);
}

#[test]
fn folders_list_their_entries_and_patterns_select_files() {
    let dir = sources();
    let vfs = opened(&dir);
    let mut names: Vec<_> = vfs
        .root()
        .entries()
        .map(|entry| match entry {
            VfsEntry::File(file) => file.path(),
            VfsEntry::Folder(folder) => folder.path() + "/",
        })
        .collect();
    names.sort_by_key(|name| name.to_lowercase());
    assert_eq!(
        names.iter().map(|name| name.to_lowercase()).collect::<Vec<_>>(),
        ["long.bin", "misc/", "z.txt"]
    );
    let selected = vfs.select(&Patterns::new(["*.TXT"]).unwrap());
    assert_eq!(selected.len(), 2);
    assert!(Patterns::new(["[z"]).unwrap_err().to_string().contains("[z"));
}

#[test]
fn a_reader_reads_and_seeks_like_a_file_on_disk() {
    let dir = sources();
    let mut reader = opened(&dir).file("long.bin").unwrap().reader();
    let mut bytes = Vec::new();
    assert_eq!(reader.read_to_end(&mut bytes).unwrap(), 5_000_000);
    assert!(bytes.iter().all(|&byte| byte == b'x'));
    assert_eq!(reader.seek(SeekFrom::End(-2)).unwrap(), 4_999_998);
    assert_eq!(reader.read(&mut [0; 9]).unwrap(), 2);
    assert_eq!(reader.read(&mut [0; 9]).unwrap(), 0);
    assert!(reader.seek(SeekFrom::Current(-9_000_000)).is_err(), "a seek before the beginning succeeded");
}

#[test]
fn all_threads_share_a_tree_and_its_files() {
    fn shared<T: Send + Sync>() {}
    shared::<(Vfs, VfsFile, VfsFolder, VfsEntry, VfsLayer, FileReader, OpenOptions, Patterns)>();
    shared::<(OpenError, ReadError, Conflict, Difference, Reopened)>();
    let dir = TestDir::new();
    let content: Vec<u8> = (0..2_000_000_u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
    let archive =
        Tes4::new(104).flags(FOLDER_NAMES | FILE_NAMES | PACKED).file("f", "packed.bin", &content[..]);
    let vfs = Vfs::open([dir.archive("packed.bsa", &archive.build())]).unwrap();
    let file = vfs.file("f/packed.bin").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (file, content) = (&file, &content);
            scope.spawn(move || {
                let mut read = [0; 1000];
                for at in (thread * 1_000..7_900_000).step_by(97_000) {
                    assert_eq!(file.read_at(at as u64, &mut read).unwrap(), 1000, "at {at}");
                    assert!(read == content[at..at + 1000], "other bytes at {at}");
                }
            });
        }
    });
}

#[test]
fn a_tree_keeps_its_names_while_reads_return_the_current_bytes_of_loose_files() {
    let dir = sources();
    let vfs = OpenOptions::new().read_limit(5_000_000);
    let vfs = vfs.open(["low.bsa", "loose"].map(|name| dir.path(name))).unwrap();
    let file = vfs.file("misc/all.txt").unwrap();
    for (written, is_read) in [(5, true), (13, true), (2, true), (5_000_000, true), (5_000_001, false)] {
        let bytes = vec![b'w'; written];
        fs::write(dir.path("loose/MISC/all.txt"), &bytes).unwrap();
        assert_eq!(file.read().is_ok_and(|read| read == bytes), is_read, "{written} bytes");
    }
    assert!(matches!(file.read().unwrap_err().kind(), ReadErrorKind::TooLarge { limit: 5_000_000, .. }));
    fs::write(dir.path("loose/MISC/new.txt"), b"new").unwrap();
    assert!(vfs.file("misc/new.txt").is_none());
    assert_eq!((vfs.files().count(), vfs.conflicts().len()), (3, 1));
}

#[test]
fn a_file_above_the_read_limit_is_readable_only_in_pieces() {
    let dir = sources();
    let vfs = OpenOptions::new().read_limit(4_999_999).open([dir.path("low.bsa")]).unwrap();
    let file = vfs.file("long.bin").unwrap();
    let error = file.read().unwrap_err();
    assert!(matches!(error.kind(), ReadErrorKind::TooLarge { size: 5_000_000, limit: 4_999_999 }), "{error}");
    assert_eq!(file.read_at(4_999_990, &mut [0; 100]).unwrap(), 10);
    assert_eq!(vfs.file("z.txt").unwrap().read().unwrap(), b"z");
}

#[test]
fn an_error_of_open_has_the_path_and_the_kind() {
    let dir = sources();
    fs::write(dir.path("damaged.bsa"), b"BSA\0damaged").unwrap();
    let error = Vfs::open([dir.path("damaged.bsa")]).unwrap_err();
    assert_eq!(error.path(), Some(&*dir.path("damaged.bsa")));
    let is_damage = |error: &ParseError| matches!(error.kind, ParseErrorKind::Corrupt(_));
    assert!(matches!(error.kind(), OpenErrorKind::Archive(error) if is_damage(error)), "{error}");
    let error = Vfs::open([dir.path("none.bsa")]).unwrap_err();
    assert!(matches!(error.kind(), OpenErrorKind::NotFound(_)), "{error}");
}

#[test]
fn diff_finds_the_changes_between_two_opened_trees() {
    let dir = sources();
    let before = opened(&dir);
    fs::write(dir.path("loose/new.txt"), b"new").unwrap();
    fs::write(dir.path("loose/z.txt"), b"other").unwrap();
    let after = opened(&dir);
    let mut changes: Vec<_> =
        before.diff(&after, Comparing::Bytes).into_iter().map(|it| (it.path, it.change)).collect();
    changes.retain(|(_, change)| *change != Change::Equal);
    assert_eq!(changes, [("new.txt".to_owned(), Change::Added), ("z.txt".to_owned(), Change::Changed)]);
    assert!(before.file("new.txt").is_none(), "an opened tree changed");
    let files = OpenOptions::new().archives(FolderArchives::Files).open([dir.path("loose")]).unwrap();
    assert_eq!((files.layers().len(), before.layers().len()), (1, 2));
}

#[test]
fn reopen_returns_the_current_files_and_the_changes() {
    let dir = sources();
    let vfs = opened(&dir);
    // The library knows a loose file only after a caller has asked for its size.
    assert_eq!(vfs.file("misc/all.txt").unwrap().size().unwrap(), 5);
    fs::write(dir.path("loose/MISC/all.txt"), b"saved again").unwrap();
    dir.archive("low.bsa", &Tes4::new(104).file("", "z.txt", b"zz").build());
    let later = vfs.reopen().unwrap();
    let paths: Vec<_> = later.changes.iter().map(|it| it.path.to_lowercase()).collect();
    assert_eq!(
        (paths, later.kept.len()),
        (vec!["long.bin".into(), "misc/all.txt".into(), "z.txt".into()], 0)
    );
    let later = later.vfs;
    assert_eq!(later.file("misc/all.txt").unwrap().read().unwrap(), b"saved again");
    assert_eq!(later.file("z.txt").unwrap().read().unwrap(), b"zz");
    assert!(later.file("long.bin").is_none());
    // A damaged source cannot be opened again, but the other sources can.
    fs::write(dir.path("low.bsa"), b"BSA\0").unwrap();
    let kept = later.reopen().unwrap();
    assert!(kept.kept.len() == 1 && kept.kept[0].contains("low.bsa"), "{:?}", kept.kept);
    assert_eq!((kept.vfs.file("z.txt").unwrap().read().is_err(), kept.changes.len()), (true, 0));
}

#[test]
fn reopen_finds_relative_sources_after_a_change_of_folder() {
    let dir = sources();
    let names = ["low.bsa", "loose"].map(std::path::PathBuf::from);
    // Tests share the current folder of their process, so this one starts a process of its own.
    let program = std::env::current_exe().unwrap();
    if std::env::var_os("BSAFS_CHANGES_FOLDER").is_none() {
        let mut command = std::process::Command::new(program);
        command.args(["--exact", "library::reopen_finds_relative_sources_after_a_change_of_folder"]);
        command.env("BSAFS_CHANGES_FOLDER", "1").current_dir(dir.path(""));
        assert!(command.output().unwrap().status.success());
        return;
    }
    std::env::set_current_dir(dir.path("")).unwrap();
    let vfs = Vfs::open(names).unwrap();
    std::env::set_current_dir("/").unwrap();
    let later = vfs.reopen().unwrap();
    assert!(later.vfs.file("z.txt").is_some() && later.changes.is_empty(), "{:?}", later.changes);
}

#[test]
fn debug_output_of_a_file_is_short() {
    let vfs = opened(&sources());
    assert!(format!("{:?}", vfs.conflicts()).len() < 1000);
}

#[test]
fn the_options_of_a_profile_apply_to_its_sources() {
    let dir = sources();
    fs::write(dir.path("p.toml"), "archives = ['low.bsa', 'loose']\noptions = 'layout=per-archive,xattr'")
        .unwrap();
    let vfs = Vfs::open([dir.path("p.toml")]).unwrap();
    assert!(vfs.file("low/z.txt").is_some() && vfs.file("loose/misc/all.txt").is_some());
    assert!(matches!(OpenOptions::new().encoding("klingon").unwrap_err().kind(), OpenErrorKind::Option(_)));
    fs::write(dir.path("p.toml"), "archives = ['low.bsa']\noptions = 'layout=sideways'").unwrap();
    let error = Vfs::open([dir.path("p.toml")]).unwrap_err();
    assert!(matches!(error.kind(), OpenErrorKind::Profile(_)), "{error}");
}
