//! `bsafs pack`: archives appear whole, all of them or none, and always the same.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use bsafs::pack::{PackOptions, Plan};
use rustix::process::{Pid, Signal, kill_process};

use super::pack::{names, pack, whole_mod, with_files};
use crate::mounted::{TestDir, is_root, run};
use crate::support::Tes4;
use crate::support::content::{noise, text};
use crate::support::mod_files::mod_files;

#[test]
fn the_same_files_give_the_same_bytes() {
    let dir = whole_mod();
    let read = |folder: &str| -> Vec<Vec<u8>> {
        names(&dir.path(folder)).iter().map(|name| fs::read(dir.path(folder).join(name)).unwrap()).collect()
    };
    // The same mod, made in the other order and at another time.
    let files = mod_files();
    for (path, bytes) in files.iter().rev() {
        let path = dir.path("again").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    }
    for game in ["morrowind", "oblivion", "skyrimse", "fallout4", "starfield"] {
        let one = ["pack", "MyMod", "--game", game, "-o", "one", "--threads", "1", "--overwrite"];
        let many = ["pack", "again", "--game", game, "-o", "many", "--threads", "8", "--overwrite"];
        assert_eq!(dir.run(one).code, 0);
        assert_eq!(run(dir.bsafs(many).env("LC_ALL", "tr_TR.UTF-8").env("TZ", "Asia/Tokyo")).code, 0);
        assert!(read("one") == read("many"), "{game}");
        fs::remove_dir_all(dir.path("one")).unwrap();
        fs::remove_dir_all(dir.path("many")).unwrap();
    }
}

#[test]
fn the_date_of_an_archive_is_that_of_its_newest_file_where_games_weigh_it() {
    let dir = with_files(&[("meshes/a.nif", "1"), ("meshes/b.nif", "2")]);
    let time = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    for (name, at) in [("a", 1_000_000_000), ("b", 1_100_000_000)] {
        let path = dir.path(format!("MyMod/meshes/{name}.nif"));
        File::options().write(true).open(path).unwrap().set_modified(time(at)).unwrap();
    }
    for (game, is_newest) in [("morrowind", true), ("oblivion", true), ("skyrim", false)] {
        pack(&dir, game, &["--overwrite"]);
        let modified = fs::metadata(dir.path("out/MyMod.bsa")).unwrap().modified().unwrap();
        assert_eq!(modified == time(1_100_000_000), is_newest, "{game}");
    }
}

#[test]
fn a_dry_run_writes_nothing_and_plans_what_is_done() {
    let dir = whole_mod();
    let archives = |text: &str| -> Vec<String> {
        let of_line = |line: &str| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            line.get("archive")
                .map(|name| format!("{name} {} {} {}", line["kind"], line["files"], line["loaded_by"]))
        };
        text.lines().filter_map(of_line).collect()
    };
    for game in ["morrowind", "skyrimse", "fallout4"] {
        let planned = pack(&dir, game, &["-n", "--json"]);
        assert!(!dir.path("out").exists(), "the folder was made");
        let done = pack(&dir, game, &["--json"]);
        assert_eq!(archives(&planned.out), archives(&done.out));
        assert!(!archives(&done.out).is_empty() && planned.out.contains("\"plan\""));
        let text = pack(&dir, game, &["-n"]).out;
        assert!(
            text.contains("nothing was written") && text.contains("Meshes/Clutter/Bucket01.nif"),
            "{text}"
        );
        fs::remove_dir_all(dir.path("out")).unwrap();
    }
}

#[test]
fn existing_archives_are_replaced_only_on_request_and_all_or_none() {
    let dir = whole_mod();
    let out = dir.path("out");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("MyMod.bsa"), "mine").unwrap();
    let finished = pack(&dir, "skyrimse", &[]);
    assert_eq!(finished.code, 73, "{finished:?}");
    assert!(finished.err.contains("MyMod.bsa") && finished.err.contains("--overwrite"), "{finished:?}");
    assert_eq!(names(&out), ["MyMod.bsa"]);
    assert_eq!(fs::read_to_string(out.join("MyMod.bsa")).unwrap(), "mine");
    // One of two archives cannot be placed.
    fs::create_dir(out.join("MyMod - Textures.bsa")).unwrap();
    let finished = pack(&dir, "skyrimse", &["--overwrite"]);
    assert_eq!(finished.code, 73, "{finished:?}");
    assert_eq!(fs::read_to_string(out.join("MyMod.bsa")).unwrap(), "mine");
    fs::remove_dir(out.join("MyMod - Textures.bsa")).unwrap();
    // A link is neither followed nor replaced.
    fs::write(dir.path("target"), "target").unwrap();
    symlink(dir.path("target"), out.join("MyMod - Textures.bsa")).unwrap();
    assert_eq!(pack(&dir, "skyrimse", &["--overwrite"]).code, 73);
    assert_eq!(fs::read_to_string(dir.path("target")).unwrap(), "target");
    fs::remove_file(out.join("MyMod - Textures.bsa")).unwrap();
    // What is no archive is not replaced, because it is unknown what would be lost.
    let finished = pack(&dir, "skyrimse", &["--overwrite"]);
    assert!(finished.code == 73 && finished.err.contains("cannot be read"), "{finished:?}");
    fs::write(out.join("MyMod.bsa"), "").unwrap();
    assert_eq!(pack(&dir, "skyrimse", &["--overwrite"]).code, 0);
    assert_eq!(names(&out), ["MyMod - Textures.bsa", "MyMod.bsa"], "a second name was left behind");
    assert!(fs::read(out.join("MyMod.bsa")).unwrap().starts_with(b"BSA\0"));
}

/// A mod that takes a while to pack.
fn slow_mod() -> TestDir {
    let files: Vec<(String, Vec<u8>)> =
        (0..40).map(|n| (format!("meshes/m{n}.nif"), text(n, 100_000))).collect();
    with_files(&files.iter().map(|(path, bytes)| (&**path, &**bytes)).collect::<Vec<_>>())
}

#[test]
fn a_killed_run_leaves_nothing_behind() {
    let dir = slow_mod();
    let started = Instant::now();
    pack(&dir, "skyrimse", &["--level=best"]);
    let whole = started.elapsed();
    let good = fs::read(dir.path("out/MyMod.bsa")).unwrap();
    fs::remove_dir_all(dir.path("out")).unwrap();
    for nth in 1..=8u32 {
        let mut command = dir.bsafs(["pack", "MyMod", "--game", "skyrimse", "--name", "MyMod", "-o", "out"]);
        let mut child =
            command.arg("--level=best").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Spread over the run, some after its end.
        std::thread::sleep(whole * nth / 7);
        let _ = child.kill();
        child.wait().unwrap();
        match &names(&dir.path("out"))[..] {
            [] => {}
            [name] if name == "MyMod.bsa" => {
                assert!(fs::read(dir.path("out/MyMod.bsa")).unwrap() == good, "half an archive");
                fs::remove_file(dir.path("out/MyMod.bsa")).unwrap();
            }
            others => panic!("{others:?}"),
        }
    }
}

#[test]
fn a_full_disk_leaves_the_old_archive() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = with_files(&[("meshes/a.nif", noise(1, 12 << 20))]);
    fs::create_dir(dir.path("out")).unwrap();
    let mount = ["-t", "tmpfs", "-o", "size=8M", "none"];
    let status = Command::new("mount").args(mount).arg(dir.path("out")).status().unwrap();
    assert!(status.success());
    let old = Tes4::new(105).file("meshes", "a.nif", "old").build();
    fs::write(dir.path("out/MyMod.bsa"), &old).unwrap();
    let finished = pack(&dir, "skyrimse", &["--overwrite"]);
    let left = (names(&dir.path("out")), fs::read(dir.path("out/MyMod.bsa")).unwrap());
    Command::new("umount").arg(dir.path("out")).status().unwrap();
    assert_eq!(left, (vec!["MyMod.bsa".to_owned()], old));
    assert!(finished.code == 74 && finished.err.contains("the disk is full"), "{finished:?}");
}

#[test]
fn a_file_that_changes_while_it_is_packed_is_an_error_with_its_name() {
    let dir = slow_mod();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let finished = std::thread::scope(|scope| {
        // Written to all the time, so that it changes between any two looks.
        scope.spawn(|| {
            let mut nth = 0u64;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                nth += 1;
                fs::write(dir.path("MyMod/meshes/zz.nif"), nth.to_string().repeat(1000)).unwrap();
            }
        });
        let finished = loop {
            // The walk finds the file only once it is there.
            if dir.path("MyMod/meshes/zz.nif").exists() {
                break pack(&dir, "skyrimse", &["--level=best"]);
            }
        };
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        finished
    });
    assert_eq!(finished.code, 66, "{finished:?}");
    let is_named = ["it changed", "the file was written to"]
        .iter()
        .any(|it| finished.err.contains(&format!("zz.nif: {it}")));
    assert!(is_named, "{finished:?}");
    assert_eq!(names(&dir.path("out")), [""; 0]);
}

#[test]
fn a_file_that_vanishes_while_it_is_packed_is_an_error_with_its_name() {
    let dir = with_files(&[("meshes/a.nif", b"1"), ("meshes/zz.nif", b"2")]);
    let vfs = bsafs::Vfs::open([dir.path("MyMod")]).unwrap();
    let mut options = PackOptions::new("skyrimse").unwrap();
    options.name = Some("MyMod".into());
    let plan = Plan::new(&vfs, &options).unwrap();
    fs::remove_file(dir.path("MyMod/meshes/zz.nif")).unwrap();
    let error = plan.write(&dir.path("out")).unwrap_err().to_string();
    assert!(error.contains("zz.nif"), "{error}");
    assert_eq!(names(&dir.path("out")), [""; 0]);
}

/// The kernel gives the program less memory than one of the files takes.
#[test]
fn a_large_file_is_packed_piece_by_piece_within_its_memory() {
    const LEN: usize = 65 << 20;
    let dir = TestDir::new();
    let files = [("text", text(1, 1 << 20).repeat(65)), ("noise", noise(2, 1 << 20).repeat(65))];
    for (name, content) in files {
        fs::create_dir_all(dir.path(name).join("meshes")).unwrap();
        fs::write(dir.path(name).join("meshes/large.nif"), content).unwrap();
    }
    let pack = |file: &str, game: &str, memory: usize| {
        let program = dir.bsafs(["pack", file, "--game", game, "--name", "M", "-o", "out", "--level=fast"]);
        let mut command = Command::new("prlimit");
        command.arg(format!("--data={memory}")).arg(program.get_program()).args(program.get_args());
        run(command.args(["--threads", "1"]).current_dir(dir.path("")))
    };
    for (game, archive) in [("skyrimse", "out/M.bsa"), ("fallout4", "out/M - Main.ba2")] {
        for (file, memory) in [("noise", LEN / 2), ("text", LEN / 2), ("text", LEN * 7 / 4)] {
            let finished = pack(file, game, memory);
            if file == "text" && memory < LEN {
                // It was packed. To read it back, it is decoded at once, as every reader does it.
                let why = "read back, meshes/large.nif: not enough memory for a buffer of 68157440 bytes";
                assert!(finished.code == 65 && finished.err.contains(why), "{finished:?}");
                assert_eq!(names(&dir.path("out")), [""; 0]);
                continue;
            }
            assert_eq!(finished.code, 0, "{file} {memory}: {finished:?}");
            let equal = dir.run(["diff", "--compare", archive, file]).success();
            assert_eq!(equal, "0 added, 0 removed, 0 changed, 1 equal\n");
            fs::remove_dir_all(dir.path("out")).unwrap();
        }
    }
}

/// A disk that makes no files without a name: strace has the call fail that asks for one. A killed run leaves
/// its file, and the next run removes it.
#[test]
fn a_run_that_ends_on_a_disk_that_needs_names_leaves_none_there() {
    let files: Vec<(String, Vec<u8>)> =
        (0..20).map(|n| (format!("meshes/m{n}.nif"), text(n, 600_000))).collect();
    let dir = with_files(&files.iter().map(|(path, bytes)| (&**path, &**bytes)).collect::<Vec<_>>());
    fs::create_dir(dir.path("out")).unwrap();
    let is_part = |name: &String| name.starts_with(".bsafs-");
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::KILL] {
        let mut command = Command::new("strace");
        command.args(["-f", "-o", "/dev/null", "-P"]).arg(dir.path("out")).args(["-e", "trace=openat"]);
        // The folder is listed twice before, by two calls each.
        command.args(["-e", "inject=openat:error=EOPNOTSUPP:when=5"]).arg(env!("CARGO_BIN_EXE_bsafs"));
        command.args(["pack", "MyMod", "--game", "skyrimse", "--name", "MyMod", "-o", "out", "--level=best"]);
        command
            .args(["--threads", "1"])
            .current_dir(dir.path(""))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let Ok(mut child) = command.spawn() else { return eprintln!("SKIPPED: needs strace") };
        let mut ended = None;
        while !names(&dir.path("out")).iter().any(is_part) && ended.is_none() {
            ended = child.try_wait().unwrap();
        }
        if ended.is_some() {
            // A container may forbid tracing. Otherwise the call that asks for the file did not fail.
            assert!(names(&dir.path("out")).is_empty(), "the file had no name");
            return eprintln!("SKIPPED: strace cannot trace");
        }
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
        let program = children.split_whitespace().next().and_then(|pid| Pid::from_raw(pid.parse().ok()?));
        kill_process(program.unwrap(), signal).unwrap();
        child.wait().unwrap();
        let left = names(&dir.path("out"));
        assert_eq!(left.len(), usize::from(signal == Signal::KILL), "{signal:?}: {left:?}");
    }
    assert_eq!(pack(&dir, "skyrimse", &["--level=fast"]).code, 0);
    assert_eq!(names(&dir.path("out")), ["MyMod.bsa"]);
}
