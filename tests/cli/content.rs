//! `bsafs cat` and `bsafs extract`: the bytes, where they go, and where they never go.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::SystemTime;

use super::with_a_bad_file;
use crate::mounted::{TestDir, finish, run};
use crate::support::content::{noise, text};
use crate::support::{Ba2, Tes3, samples};

#[test]
fn every_file_of_every_sample_is_extracted_whole() {
    let place = TestDir::new();
    for sample in samples() {
        place.sample(&sample);
        let out = place.path("out").join(&sample.name);
        let said = run(place.bsafs(["extract", &sample.name, "-C"]).arg(&out)).sound();
        let count = sample.files.len();
        assert!(said.starts_with(&format!("wrote {count} file")), "{said}");
        let written = files(&out);
        assert_eq!(written.len(), count, "{}", sample.name);
        for (path, content) in &sample.files {
            // Folders that are stored in two spellings are written as one of them.
            let path = out.join(path).to_str().unwrap().to_lowercase();
            let found = written.iter().find(|it| it.to_str().unwrap().to_lowercase() == path);
            assert!(fs::read(found.expect(&path)).unwrap() == *content, "{path}");
        }
    }
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn cat_writes_files_in_the_order_of_the_command_line() {
    let place = TestDir::new();
    place.archive("a.bsa", &with_a_bad_file());
    let mut command = place.bsafs(["cat", "a.bsa", "SOUND\\Good.wav", "scripts/main.PEX", "sound/good.wav"]);
    let output = command.output().unwrap();
    assert_eq!((output.status.code(), &output.stderr[..]), (Some(0), &b""[..]));
    assert!(output.stdout == [text(5, 10_000), noise(2, 2_000), text(5, 10_000)].concat());
}

#[test]
fn cat_finds_a_file_without_a_name_by_its_real_path() {
    let place = TestDir::new();
    place.archive("a.ba2", &Ba2::general(1).file("Misc\\Example.txt", b"found").nameless().build());
    assert_eq!(place.run(["cat", "a.ba2", "misc/example.txt"]).sound(), "found");
    assert_eq!(place.run(["cat", "a.ba2", "5EE3C5A6_F38044E1.txt"]).sound(), "found");
}

#[test]
fn cat_names_what_it_cannot_write() {
    let place = TestDir::new();
    place.archive("a.bsa", &with_a_bad_file());
    for (path, code, said) in [
        ("nothing", 66, "no such file in the archive\n"),
        ("sound", 66, "it is a folder\n"),
        ("sound/bad.wav", 65, ""),
    ] {
        let finished = place.run(["cat", "a.bsa", path]);
        assert_eq!((finished.code, finished.out.as_str()), (code, ""), "{finished:?}");
        assert!(finished.err.starts_with(&format!("bsafs: a.bsa: {path}: ")), "{finished:?}");
        assert!(finished.err.ends_with(said) && finished.err.lines().count() == 1, "{finished:?}");
    }
}

#[test]
fn cat_for_a_reader_who_has_seen_enough_is_no_failure() {
    let place = TestDir::new();
    place.archive("a.bsa", &Tes3::new().file("large", noise(1, 3_000_000)).build());
    let mut command = place.bsafs(["cat", "a.bsa", "large"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut first = [0; 1];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
    drop(child.stdout.take());
    let finished = finish(child);
    assert_eq!((finished.code, finished.err.as_str()), (0, ""));
}

#[test]
fn extract_writes_to_the_current_folder_only_what_matches() {
    let place = TestDir::new();
    place.archive("a.bsa", &with_a_bad_file());
    let said = place.run(["extract", "a.bsa", "--glob", "SCRIPTS\\**"]).sound();
    assert_eq!(said, "wrote 2 files (4.9 KiB) to .\n");
    assert!(fs::read(place.path("scripts/source/Main.psc")).unwrap() == text(1, 3_000));
    assert!(fs::read(place.path("scripts/main.pex")).unwrap() == noise(2, 2_000));
    assert!(!place.path("sound").exists());
}

#[test]
fn extract_skips_a_bad_file_names_it_and_exits_with_1() {
    let place = TestDir::new();
    place.archive("a.bsa", &with_a_bad_file());
    let finished = place.run(["extract", "a.bsa", "-C", "out/deep"]);
    assert_eq!(finished.code, 1, "{finished:?}");
    assert!(finished.err.starts_with("bsafs: sound/bad.wav: "), "{finished:?}");
    assert_eq!(finished.err.lines().count(), 1);
    assert_eq!(finished.out, "wrote 3 files (14.6 KiB) to out/deep; 1 file could not be read\n");
    assert!(!place.path("out/deep/sound/bad.wav").exists());
    assert!(fs::read(place.path("out/deep/sound/good.wav")).unwrap() == text(5, 10_000));
}

#[test]
fn extract_overwrites_unless_told_to_skip_what_is_there() {
    let place = TestDir::new();
    place.archive("a.bsa", &Tes3::new().file("x.txt", b"new").file("y.txt", b"new").build());
    fs::create_dir(place.path("out")).unwrap();
    fs::write(place.path("out/x.txt"), b"old and longer").unwrap();
    let said = place.run(["extract", "a.bsa", "-C", "out", "--skip-existing"]).sound();
    assert_eq!(said, "wrote 1 file (3 bytes) to out\n");
    assert_eq!(fs::read(place.path("out/x.txt")).unwrap(), b"old and longer");
    let said = place.run(["extract", "a.bsa", "-C", "out"]).sound();
    assert_eq!(said, "wrote 2 files (6 bytes) to out\n");
    assert_eq!(fs::read(place.path("out/x.txt")).unwrap(), b"new");
}

#[test]
fn extract_never_writes_through_a_link_that_lies_in_its_way() {
    let place = TestDir::new();
    place.archive("a.bsa", &Tes3::new().file("misc\\x.txt", b"new").build());
    fs::create_dir(place.path("victim")).unwrap();
    fs::write(place.path("victim/file"), b"precious").unwrap();
    // A link in the place of the file is replaced, what it leads to is not touched.
    fs::create_dir_all(place.path("one/misc")).unwrap();
    symlink(place.path("victim/file"), place.path("one/misc/x.txt")).unwrap();
    place.run(["extract", "a.bsa", "-C", "one"]).sound();
    assert_eq!(fs::read(place.path("victim/file")).unwrap(), b"precious");
    assert!(fs::symlink_metadata(place.path("one/misc/x.txt")).unwrap().is_file());
    assert_eq!(fs::read(place.path("one/misc/x.txt")).unwrap(), b"new");
    // A link that leads nowhere would make a file elsewhere.
    fs::remove_file(place.path("one/misc/x.txt")).unwrap();
    symlink(place.path("victim/made"), place.path("one/misc/x.txt")).unwrap();
    place.run(["extract", "a.bsa", "-C", "one"]).sound();
    assert!(!place.path("victim/made").exists());
    // A link in the place of a folder is refused.
    fs::create_dir(place.path("two")).unwrap();
    symlink(place.path("victim"), place.path("two/misc")).unwrap();
    for skip in [&[][..], &["--skip-existing"]] {
        let finished = place.run([&["extract", "a.bsa", "-C", "two"][..], skip].concat());
        assert_eq!((finished.code, finished.out.as_str()), (73, ""), "{finished:?}");
        assert_eq!(finished.err, "bsafs: two/misc/x.txt: a file or a link is in the way\n");
    }
    assert_eq!(fs::read_dir(place.path("victim")).unwrap().count(), 1);
}

#[test]
fn extract_leaves_a_skipped_link_alone() {
    let place = TestDir::new();
    place.archive("a.bsa", &Tes3::new().file("x.txt", b"new").build());
    symlink("nowhere", place.path("x.txt")).unwrap();
    let said = place.run(["extract", "a.bsa", "--skip-existing"]).sound();
    assert_eq!(said, "wrote 0 files (0 bytes) to .\n");
    assert!(fs::symlink_metadata(place.path("x.txt")).unwrap().is_symlink());
}

#[test]
fn hostile_names_stay_in_the_output_folder() {
    let place = TestDir::new();
    let names =
        ["..\\..\\up.txt", "\\root.txt", "C:\\drive.txt", "a\\..\\..\\..\\b.txt", "/tmp/x/y.txt", ".."];
    let archive = names.iter().fold(Tes3::new(), |archive, name| archive.file(name, b"hostile"));
    place.archive("a.bsa", &archive.build());
    fs::create_dir_all(place.path("deep/er")).unwrap();
    let said = place.run(["extract", "a.bsa", "-C", "deep/er/out"]).sound();
    assert!(said.starts_with("wrote 6 files"), "{said}");
    assert_eq!(files(&place.path("deep/er/out")).len(), names.len());
    let beside: Vec<_> =
        fs::read_dir(place.path("deep/er")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(beside, ["out"]);
    assert_eq!(files(&place.path("")).len(), names.len() + 1);
}

#[test]
fn extract_names_a_folder_that_it_cannot_write_to() {
    let place = TestDir::new();
    place.archive("a.bsa", &Tes3::new().file("x.txt", b"new").build());
    fs::write(place.path("file"), b"").unwrap();
    let finished = place.run(["extract", "a.bsa", "-C", "file"]);
    assert_eq!((finished.code, finished.out.as_str()), (73, ""));
    assert!(finished.err.starts_with("bsafs: file: "), "{finished:?}");
    let before = SystemTime::now();
    assert!(fs::metadata(place.path("file")).unwrap().modified().unwrap() <= before);
}

#[test]
fn an_archive_named_like_the_folder_above_writes_nothing_there() {
    let place = TestDir::new();
    for name in ["...bsa", "..bsa"] {
        place.archive(name, &Tes3::new().file("x.txt", b"new").build());
    }
    let together = ["--layout", "per-archive", "...bsa", "..bsa"];
    assert_eq!(place.run([&["list"][..], &together].concat()).sound(), "%2E%2E/x.txt\n%2E/x.txt\n");
    place.run([&["extract", "-C", "out"][..], &together].concat()).sound();
    assert!(!place.path("x.txt").exists());
    assert_eq!(files(&place.path("out")).len(), 2);
}

#[test]
fn extract_names_a_folder_in_the_place_of_a_file() {
    let place = TestDir::new();
    place.archive("a.bsa", &Tes3::new().file("x.txt", b"new").build());
    fs::create_dir_all(place.path("out/x.txt")).unwrap();
    let finished = place.run(["extract", "a.bsa", "-C", "out"]);
    assert_eq!((finished.code, finished.err.as_str()), (73, "bsafs: out/x.txt: a folder is in the way\n"));
}
