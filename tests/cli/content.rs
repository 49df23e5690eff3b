//! `bsafs cat` and `bsafs extract`: which bytes they write, and where they never write.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use super::{with_a_bad_file, with_a_wrong_checksum};
use crate::mounted::{TestDir, finish, is_root, run, until};
use crate::support::content::{noise, text};
use crate::support::tes4::{FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Ba2, Tes3, Tes4, Tes4File, pack, samples};

#[test]
fn every_file_of_every_sample_is_extracted_completely() {
    let dir = TestDir::new();
    for sample in samples() {
        dir.sample(sample);
        let out = dir.path("out").join(&sample.name);
        let printed = run(dir.bsafs(["extract", &sample.name, "-C"]).arg(&out)).success();
        let count = sample.files.len();
        assert!(printed.starts_with(&format!("wrote {count} file")), "{printed}");
        let written = files(&out);
        assert_eq!(written.len(), count, "{}", sample.name);
        for (path, content) in &sample.files {
            // If an archive stores two spellings of a folder, `extract` writes one of them.
            let path = out.join(path).to_str().unwrap().to_lowercase();
            let found = written.iter().find(|it| it.to_str().unwrap().to_lowercase() == path);
            assert!(fs::read(found.expect(&path)).unwrap() == *content, "{path}");
        }
    }
}

/// The paths of all files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn cat_writes_files_in_the_order_of_the_command_line() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &with_a_bad_file());
    let mut command = dir.bsafs(["cat", "a.bsa", "SOUND\\Good.wav", "scripts/main.PEX", "sound/good.wav"]);
    let output = command.output().unwrap();
    assert_eq!((output.status.code(), &output.stderr[..]), (Some(0), &b""[..]));
    assert!(output.stdout == [text(5, 10_000), noise(2, 2_000), text(5, 10_000)].concat());
}

#[test]
fn cat_finds_a_nameless_file_by_its_real_path() {
    let dir = TestDir::new();
    dir.archive("a.ba2", &Ba2::general(1).file("Misc\\Example.txt", b"found").nameless().build());
    assert_eq!(dir.run(["cat", "a.ba2", "misc/example.txt"]).success(), "found");
    assert_eq!(dir.run(["cat", "a.ba2", "5EE3C5A6_F38044E1.txt"]).success(), "found");
}

#[test]
fn the_error_of_cat_names_the_path_and_the_reason() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &with_a_bad_file());
    for (path, code, printed) in [
        ("nothing", 66, "no such file; `bsafs list` prints all paths\n"),
        ("sound", 66, "it is a folder; give a file in it\n"),
        ("sound/bad.wav", 65, ""),
    ] {
        let finished = dir.run(["cat", "a.bsa", path]);
        assert_eq!((finished.code, finished.out.as_str()), (code, ""), "{finished:?}");
        assert!(finished.err.starts_with(&format!("bsafs: a.bsa: {path}: ")), "{finished:?}");
        assert!(finished.err.ends_with(printed) && finished.err.lines().count() == 1, "{finished:?}");
    }
}

#[test]
fn salvage_writes_a_file_with_a_wrong_checksum_and_warns() {
    let dir = TestDir::new();
    let (archive, what, content) = with_a_wrong_checksum();
    dir.archive("a.bsa", &archive);
    let cat = ["cat", "a.bsa", "sound/wrong.wav"];
    let finished = dir.run(cat);
    assert_eq!((finished.code, finished.out.as_str()), (65, ""), "{finished:?}");
    assert!(finished.err.starts_with(&format!("bsafs: a.bsa: sound/wrong.wav: {what}")), "{finished:?}");
    let finished = dir.run(cat.iter().chain(&["--salvage"]));
    assert_eq!(finished.code, 0, "{finished:?}");
    assert!(finished.out.as_bytes() == content);
    assert!(
        finished.err.starts_with(&format!("bsafs: warn: a.bsa: sound/wrong.wav: {what}")),
        "{finished:?}"
    );
    assert_eq!(finished.err.lines().count(), 1, "{finished:?}");

    let finished = dir.run(["extract", "a.bsa", "-C", "out"]);
    assert_eq!(finished.code, 1, "{finished:?}");
    assert!(!dir.path("out/sound/wrong.wav").exists());
    let finished = dir.run(["extract", "a.bsa", "-C", "out", "--overwrite", "--salvage"]);
    assert_eq!(
        (finished.code, finished.out.as_str()),
        (0, "wrote 2 files (18.55 KiB) to out\n"),
        "{finished:?}"
    );
    assert!(finished.err.starts_with(&format!("bsafs: warn: sound/wrong.wav: {what}")), "{finished:?}");
    assert_eq!(finished.err.lines().count(), 1, "{finished:?}");
    assert!(fs::read(dir.path("out/sound/wrong.wav")).unwrap() == content);
    // A profile that came with a mod does not hide damage. One of the user may.
    fs::create_dir(dir.path("mod")).unwrap();
    dir.archive("mod/a.bsa", &archive);
    let profile = |folder: &str| format!("archives = ['{folder}a.bsa']\noptions = 'salvage'\n");
    fs::write(dir.path("mod/mod.toml"), profile("")).unwrap();
    dir.own_profile("own.toml", &profile("../../"));
    for (source, status) in [("mod/mod.toml", 65), ("own", 0)] {
        let finished = dir.run_own(["cat", "-q", source, "sound/wrong.wav"]);
        assert_eq!(finished.code, status, "{finished:?}");
        let finished = dir.run_own(["extract", "-q", source, "-C", &format!("out{status}")]);
        assert_eq!(finished.code, i32::from(status > 0), "{finished:?}");
    }
    // Salvage does not make up bytes that are missing.
    dir.archive("bad.bsa", &with_a_bad_file());
    assert_eq!(dir.run(["cat", "bad.bsa", "sound/bad.wav", "--salvage"]).code, 65);
}

#[test]
fn cat_into_a_pipe_that_closes_early_succeeds() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &Tes3::new().file("large", noise(1, 3_000_000)).build());
    let mut command = dir.bsafs(["cat", "a.bsa", "large"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut first = [0; 1];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
    drop(child.stdout.take());
    let finished = finish(child);
    assert_eq!((finished.code, finished.err.as_str()), (0, ""));
}

#[test]
fn extract_writes_only_matching_files_to_a_folder_named_after_the_source() {
    let dir = TestDir::new();
    dir.archive("My Mod.bsa", &with_a_bad_file());
    let printed = dir.run(["extract", "My Mod.bsa", "--glob", "SCRIPTS\\**"]).success();
    assert_eq!(printed, "wrote 2 files (4.88 KiB) to My Mod\n");
    assert!(fs::read(dir.path("My Mod/scripts/source/Main.psc")).unwrap() == text(1, 3_000));
    assert!(fs::read(dir.path("My Mod/scripts/main.pex")).unwrap() == noise(2, 2_000));
    assert!(!dir.path("My Mod/sound").exists());
    assert_eq!(fs::read_dir(dir.path("")).unwrap().count(), 2);
}

#[test]
fn extract_of_a_folder_in_the_current_one_makes_a_folder_beside_it() {
    let dir = TestDir::new();
    fs::create_dir(dir.path("Data")).unwrap();
    fs::write(dir.path("Data/x.txt"), "x").unwrap();
    fs::write(dir.path("Data (2)"), "a file").unwrap();
    assert_eq!(dir.run(["extract", "Data"]).success(), "wrote 1 file (1 B) to Data (3)\n");
    assert_eq!(fs::read(dir.path("Data (3)/x.txt")).unwrap(), b"x");
}

#[test]
fn extract_skips_and_names_a_bad_file_and_exits_with_1() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &with_a_bad_file());
    let finished = dir.run(["extract", "a.bsa", "-C", "out/deep"]);
    assert_eq!(finished.code, 1, "{finished:?}");
    assert!(finished.err.starts_with("bsafs: sound/bad.wav: "), "{finished:?}");
    assert_eq!(finished.err.lines().count(), 1);
    assert_eq!(finished.out, "wrote 3 files (14.65 KiB) to out/deep; 1 file could not be written\n");
    assert!(!dir.path("out/deep/sound/bad.wav").exists());
    assert!(fs::read(dir.path("out/deep/sound/good.wav")).unwrap() == text(5, 10_000));
}

/// A folder `out` with a file that differs from the archive's, and one that is equal.
fn edited() -> TestDir {
    let dir = TestDir::new();
    let archive = Tes3::new().file("x.txt", b"new").file("y.txt", b"new").file("z.txt", b"new");
    dir.archive("a.bsa", &archive.build());
    fs::create_dir(dir.path("out")).unwrap();
    fs::write(dir.path("out/x.txt"), b"my").unwrap();
    fs::write(dir.path("out/y.txt"), b"new").unwrap();
    dir
}

#[test]
fn extract_keeps_existing_files_and_exits_with_1_if_one_differs() {
    let dir = edited();
    let finished = dir.run(["extract", "a.bsa", "-C", "out"]);
    let line = "wrote 1 file (3 B) to out; 2 files exist already and were kept, 1 of them with other bytes \
                (-v lists them); --overwrite replaces them\n";
    assert_eq!((finished.code, &*finished.out, &*finished.err), (1, line, ""));
    let listed = dir.run(["extract", "-v", "a.bsa", "-C", "out"]);
    assert_eq!(listed.err, "bsafs: info: x.txt: kept a file with other bytes\n");
    assert_eq!(fs::read(dir.path("out/x.txt")).unwrap(), b"my");
    // Bytes are compared even if the length is equal.
    fs::write(dir.path("out/x.txt"), b"mew").unwrap();
    assert_eq!(dir.run(["extract", "a.bsa", "-C", "out"]).code, 1);
    fs::write(dir.path("out/x.txt"), b"new").unwrap();
    let printed = dir.run(["extract", "a.bsa", "-C", "out"]).success();
    let line = "wrote 0 files (0 B) to out; 3 files exist already and were kept; --overwrite replaces them\n";
    assert_eq!(printed, line);
}

#[test]
fn skip_existing_does_not_change_the_exit_status() {
    let dir = edited();
    let printed = dir.run(["extract", "a.bsa", "-C", "out", "--skip-existing"]).success();
    let line = "wrote 1 file (3 B) to out; 2 files exist already and were kept; --overwrite replaces them\n";
    assert_eq!(printed, line);
    assert_eq!(fs::read(dir.path("out/x.txt")).unwrap(), b"my");
}

#[test]
fn overwrite_replaces_existing_files() {
    let dir = edited();
    let printed = dir.run(["extract", "a.bsa", "-C", "out", "--overwrite"]).success();
    assert_eq!(printed, "wrote 3 files (9 B) to out\n");
    assert_eq!(fs::read(dir.path("out/x.txt")).unwrap(), b"new");
}

#[test]
fn a_dry_run_lists_the_files_and_writes_nothing() {
    let dir = edited();
    let printed = dir.run(["extract", "a.bsa", "-C", "out", "--dry-run"]).success();
    let line = "would write 1 file (3 B) to out; 2 files exist already and would be kept\n";
    assert_eq!(printed, format!("out/z.txt\n{line}"));
    let printed = dir.run(["extract", "a.bsa", "--dry-run", "-q"]).success();
    assert_eq!(printed, "a/x.txt\na/y.txt\na/z.txt\n");
    assert!(!dir.path("a").exists() && !dir.path("out/z.txt").exists());
}

#[test]
fn a_replaced_file_keeps_its_permissions() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &Tes3::new().file("x.txt", b"new").build());
    fs::create_dir(dir.path("out")).unwrap();
    fs::write(dir.path("out/x.txt"), b"old").unwrap();
    fs::set_permissions(dir.path("out/x.txt"), fs::Permissions::from_mode(0o640)).unwrap();
    dir.run(["extract", "a.bsa", "-C", "out", "--overwrite"]).success();
    assert_eq!(fs::read(dir.path("out/x.txt")).unwrap(), b"new");
    assert_eq!(fs::metadata(dir.path("out/x.txt")).unwrap().permissions().mode() & 0o7777, 0o640);
}

#[test]
fn extract_as_root_drops_the_setuid_bit_of_another_users_file() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &Tes3::new().file("x.txt", b"new").file("y.txt", b"new").build());
    fs::create_dir(dir.path("out")).unwrap();
    for (name, owner) in [("x.txt", 65_534), ("y.txt", 0)] {
        let path = dir.path("out").join(name);
        fs::write(&path, b"old").unwrap();
        std::os::unix::fs::chown(&path, Some(owner), None).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o6777)).unwrap();
    }
    dir.run(["extract", "a.bsa", "-C", "out", "--overwrite"]).success();
    let mode = |name: &str| fs::metadata(dir.path("out").join(name)).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode("x.txt") & 0o7022, 0, "{:o}", mode("x.txt"));
    assert_eq!(mode("y.txt"), 0o777);
}

#[test]
fn extract_works_without_proc() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &Tes3::new().file("x.txt", b"new").file("y.txt", b"new").build());
    fs::create_dir(dir.path("out")).unwrap();
    fs::write(dir.path("out/x.txt"), b"old").unwrap();
    let script =
        format!("umount -l /proc && exec '{}' extract a.bsa -C out --overwrite", env!("CARGO_BIN_EXE_bsafs"));
    let mut shell = Command::new("unshare");
    run(shell.args(["-m", "sh", "-c", &script]).current_dir(dir.path(""))).success();
    assert_eq!(fs::read(dir.path("out/x.txt")).unwrap(), b"new");
    assert_eq!(fs::read_dir(dir.path("out")).unwrap().count(), 2);
}

#[test]
fn extract_stops_at_a_full_disk_with_one_line() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    let content = vec![1_u8; 64 << 10];
    let archive = (0..100).fold(Tes3::new(), |archive, n| archive.file(format!("{n}.bin"), &content[..]));
    dir.archive("a.bsa", &archive.build());
    fs::create_dir(dir.path("out")).unwrap();
    let program = env!("CARGO_BIN_EXE_bsafs");
    let script = format!("mount -t tmpfs -o size=1m none out && exec '{program}' extract a.bsa -C out");
    let mut shell = Command::new("unshare");
    let finished = run(shell.args(["-m", "sh", "-c", &script]).current_dir(dir.path("")));
    assert_eq!((finished.code, finished.err.lines().count()), (74, 1), "{finished:?}");
    let what = "out: the files need 6.25 MiB, but the disk has only 1.00 MiB free; none was written";
    assert!(finished.err.contains(what), "{finished:?}");
    // Files of which the packed size says nothing fill the disk.
    let zeros = Tes4File::new("zeros.bin", b"").stream(pack::zlib_zeros(2)).declared(2 << 20);
    dir.archive("b.bsa", &Tes4::new(104).flags(FOLDER_NAMES | FILE_NAMES | PACKED).add("b", zeros).build());
    let script = script.replace("a.bsa", "b.bsa");
    let mut shell = Command::new("unshare");
    let finished = run(shell.args(["-m", "sh", "-c", &script]).current_dir(dir.path("")));
    assert_eq!((finished.code, finished.err.lines().count()), (74, 1), "{finished:?}");
    assert!(finished.err.contains("out: the disk is full; extract stopped"), "{finished:?}");
}

#[test]
fn a_killed_extract_leaves_no_partial_file() {
    let dir = TestDir::new();
    let large = Tes4File::new("large.bin", b"").stream(pack::zlib_zeros(512)).declared(512 << 20);
    let archive = Tes4::new(104).flags(FOLDER_NAMES | FILE_NAMES | PACKED).add("b", large);
    dir.archive("a.bsa", &archive.build());
    let mut child = dir.bsafs(["extract", "a.bsa", "-C", "out"]).stdout(Stdio::null()).spawn().unwrap();
    until("extract to open the large file", || {
        let open = fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter().flatten();
        let mut targets = open.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
        targets.any(|target| target.parent() == Some(&dir.path("out/b")))
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(files(&dir.path("out/b")), Vec::<PathBuf>::new());
}

#[test]
fn extract_does_not_replace_an_existing_file_with_a_bad_one() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &with_a_bad_file());
    fs::create_dir_all(dir.path("out/sound")).unwrap();
    fs::write(dir.path("out/sound/bad.wav"), b"mine, and good").unwrap();
    let finished = dir.run(["extract", "a.bsa", "-C", "out", "--overwrite"]);
    assert_eq!((finished.code, finished.err.lines().count()), (1, 1), "{finished:?}");
    assert_eq!(fs::read(dir.path("out/sound/bad.wav")).unwrap(), b"mine, and good");
    // No half-written file is left either.
    assert_eq!(files(&dir.path("out")).len(), 4);
}

#[test]
fn extract_neither_follows_nor_replaces_links() {
    let dir = TestDir::new();
    let archive = Tes3::new().file("misc\\x.txt", b"new").file("linked\\y.txt", b"new").file("z.txt", b"new");
    dir.archive("a.bsa", &archive.build());
    fs::create_dir(dir.path("victim")).unwrap();
    fs::write(dir.path("victim/file"), b"precious").unwrap();
    fs::create_dir_all(dir.path("out/misc")).unwrap();
    symlink(dir.path("victim"), dir.path("out/linked")).unwrap();
    // Writing through a dangling link would create its target.
    for target in ["victim/file", "victim/made"] {
        let _ = fs::remove_file(dir.path("out/misc/x.txt"));
        symlink(dir.path(target), dir.path("out/misc/x.txt")).unwrap();
        let finished = dir.run(["extract", "a.bsa", "-C", "out", "--overwrite"]);
        let lines =
            "bsafs: linked/y.txt: a link is in the way\nbsafs: misc/x.txt: a link is in the way\n".to_owned();
        assert_eq!((finished.code, finished.err), (1, lines));
        assert_eq!(finished.out, "wrote 1 file (3 B) to out; 2 files could not be written\n");
        assert!(fs::symlink_metadata(dir.path("out/misc/x.txt")).unwrap().is_symlink());
    }
    assert_eq!(fs::read(dir.path("victim/file")).unwrap(), b"precious");
    assert_eq!(fs::read_dir(dir.path("victim")).unwrap().count(), 1);
    assert_eq!(fs::read(dir.path("out/z.txt")).unwrap(), b"new");
}

#[test]
fn extract_writes_paths_longer_than_path_max() {
    let dir = TestDir::new();
    let folder = vec!["d".repeat(200); 24].join("\\");
    let archive = Tes3::new().file(format!("{folder}\\far.txt"), b"far").file("near.txt", b"near");
    dir.archive("a.bsa", &archive.build());
    assert_eq!(dir.run(["extract", "a.bsa", "-C", "out"]).success(), "wrote 2 files (7 B) to out\n");
    let found = run(Command::new("find")
        .args(["out", "-name", "far.txt", "-printf", "%d %s"])
        .current_dir(dir.path("")));
    assert_eq!(found.success(), "25 3");
    assert_eq!(fs::read(dir.path("out/near.txt")).unwrap(), b"near");
}

#[test]
fn skip_existing_leaves_a_link_to_nothing_unchanged_and_names_it() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &Tes3::new().file("x.txt", b"new").build());
    symlink("nowhere", dir.path("x.txt")).unwrap();
    let finished = dir.run(["extract", "a.bsa", "-C", ".", "--skip-existing"]);
    assert_eq!((finished.code, &*finished.err), (1, "bsafs: x.txt: a link is in the way\n"), "{finished:?}");
    assert!(fs::symlink_metadata(dir.path("x.txt")).unwrap().is_symlink());
}

#[test]
fn extract_writes_hostile_names_only_into_the_output_folder() {
    let dir = TestDir::new();
    let names =
        ["..\\..\\up.txt", "\\root.txt", "C:\\drive.txt", "a\\..\\..\\..\\b.txt", "/tmp/x/y.txt", ".."];
    let archive = names.iter().fold(Tes3::new(), |archive, name| archive.file(name, b"hostile"));
    dir.archive("a.bsa", &archive.build());
    fs::create_dir_all(dir.path("deep/er")).unwrap();
    let printed = dir.run(["extract", "a.bsa", "-C", "deep/er/out"]).success();
    assert!(printed.starts_with("wrote 6 files"), "{printed}");
    assert_eq!(files(&dir.path("deep/er/out")).len(), names.len());
    let beside: Vec<_> =
        fs::read_dir(dir.path("deep/er")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(beside, ["out"]);
    assert_eq!(files(&dir.path("")).len(), names.len() + 1);
}

#[test]
fn the_error_of_extract_names_an_unusable_output_folder() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &Tes3::new().file("x.txt", b"new").build());
    fs::write(dir.path("file"), b"").unwrap();
    let finished = dir.run(["extract", "a.bsa", "-C", "file"]);
    assert_eq!((finished.code, finished.out.as_str()), (73, ""));
    assert_eq!(
        finished.err,
        "bsafs: cannot create the folder file: a file or folder with this name already exists\n"
    );
    let before = SystemTime::now();
    assert!(fs::metadata(dir.path("file")).unwrap().modified().unwrap() <= before);
}

#[test]
fn an_archive_named_dot_dot_does_not_write_into_the_parent_folder() {
    let dir = TestDir::new();
    for name in ["...bsa", "..bsa"] {
        dir.archive(name, &Tes3::new().file("x.txt", b"new").build());
    }
    let together = ["--layout", "per-archive", "...bsa", "..bsa"];
    assert_eq!(dir.run([&["list"][..], &together].concat()).success(), "%2E%2E/x.txt\n%2E/x.txt\n");
    dir.run([&["extract", "-C", "out"][..], &together].concat()).success();
    assert!(!dir.path("x.txt").exists());
    assert_eq!(files(&dir.path("out")).len(), 2);
}

#[test]
fn the_error_of_extract_names_a_folder_that_blocks_a_file() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &Tes3::new().file("x.txt", b"new").build());
    fs::create_dir_all(dir.path("out/x.txt")).unwrap();
    let finished = dir.run(["extract", "a.bsa", "-C", "out"]);
    assert_eq!((finished.code, finished.err.as_str()), (1, "bsafs: x.txt: a folder is in the way\n"));
}

#[test]
fn extract_keeps_its_own_archive_and_skips_taken_temporary_names() {
    let dir = TestDir::new();
    let bytes = Tes3::new().file("a.bsa", b"hostile").file("b.txt", b"new").build();
    dir.archive("a.bsa", &bytes);
    let script = "for n in 0 1 2 3; do echo left >.bsafs-$$-$n; done; exec \"$0\" extract a.bsa -C .";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_bsafs")]).current_dir(dir.path(""));
    let finished = run(&mut shell);
    assert_eq!(finished.err, "bsafs: a.bsa: a source is in the way, and is never replaced\n");
    assert_eq!((finished.code, fs::read(dir.path("a.bsa")).unwrap()), (1, bytes));
    assert_eq!(fs::read(dir.path("b.txt")).unwrap(), b"new");
}

#[test]
fn the_sound_of_a_voice_file_is_written_as_players_open_it() {
    let dir = TestDir::new();
    let voice = |lips: &[u8], sound: &[u8]| {
        let len = u32::try_from(lips.len()).unwrap().to_le_bytes();
        [&b"FUZE\x01\0\0\0"[..], &len, lips, sound].concat()
    };
    let sound = [&b"RIFF\x40\0\0\0XWMAfmt "[..], &noise(4, 100_000)].concat();
    let archive = Tes4::new(105)
        .add("sound", Tes4File::new("hello.fuz", voice(b"lips", &sound)).toggle())
        .file("sound", "mute.fuz", voice(b"lips", b""))
        .file("sound", "short.fuz", voice(b"", &sound)[..10].to_vec())
        .file("sound", "long.fuz", [&b"FUZE\x01\0\0\0\xff\xff\xff\xff"[..], &sound].concat())
        .file("sound", "taken.fuz", voice(b"", &sound))
        .file("sound", "Taken.xwm", b"another sound");
    dir.archive("a.bsa", &archive.build());
    // Also if only one file is asked for.
    dir.run(["extract", "a.bsa"]).success();
    dir.run(["extract", "--voices", "a", "sound/taken.fuz", "-C", "one"]).success();
    assert_eq!(fs::read(dir.path("one/sound/taken.fuz.xwm")).ok(), Some(sound.clone()));
    let extracted = dir.run(["extract", "--voices", "a.bsa", "-C", "out"]);
    let kept = "3 voices stay as they are: cut off (2), no sound inside (1); -v lists them";
    assert!(extracted.out.starts_with("wrote 6 files") && extracted.out.contains(kept), "{extracted:?}");
    let cut = ["long", "short"].map(|name| format!("bsafs: sound/{name}.fuz: stays as it is: cut off\n"));
    assert_eq!((extracted.code, extracted.err), (1, cut.concat()));
    let read = |name: &str| fs::read(dir.path("out/sound").join(name)).ok();
    assert_eq!((read("hello.xwm"), read("hello.fuz")), (Some(sound.clone()), None));
    assert_eq!(read("taken.fuz.xwm"), Some(sound));
    assert_eq!(read("Taken.xwm").as_deref(), Some(&b"another sound"[..]));
    assert_eq!(read("mute.fuz"), Some(voice(b"lips", b"")));
    assert!(read("short.fuz").is_some() && read("long.fuz").is_some());
}
