//! Mistyped commands, the wording of messages, and what `--quiet` still prints.

use std::fs;
use std::process::Command;

use super::with_a_bad_file;
use crate::mounted::{TestDir, run};
use crate::support::Tes3;

#[test]
fn a_mistyped_command_mounts_nothing_and_the_nearest_one_is_named() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &Tes3::new().file("x.txt", b"x").build());
    for arguments in [&["verfy", "a.bsa"][..], &["verfy", "a.bsa", "mnt"], &["verfy"]] {
        let finished = dir.run(arguments);
        assert_eq!((finished.code, finished.out.as_str()), (2, ""), "{finished:?}");
        assert!(finished.err.contains("'verfy'") && finished.err.contains("'verify'"), "{finished:?}");
    }
    assert!(!dir.path("mnt").exists());
}

#[test]
fn a_mistyped_game_is_answered_with_the_nearest_one() {
    let dir = TestDir::new();
    for (typed, meant) in [
        ("skyrimes", "skyrimse"),
        ("Skyrim Special Edition", "skyrimse"),
        ("falout4", "fallout4"),
        ("Fallout: New Vegas", "falloutnv"),
        ("morowind", "morrowind"),
    ] {
        let refused = dir.run(["list", typed]);
        let what = "no such file, folder, game or saved profile; did you mean";
        assert_eq!((refused.code, refused.err), (66, format!("bsafs: {typed}: {what} {meant}?\n")));
    }
    let refused = dir.run(["list", "quake"]);
    assert!(refused.err.contains("; the games are ") && refused.err.contains("skyrimse"), "{refused:?}");
}

#[test]
fn commands_that_need_a_game_or_a_mount_list_them() {
    let dir = TestDir::new();
    let run = |command: &str| run(dir.bsafs([command]).env("HOME", dir.path("")));
    let listed = run("mount");
    assert_eq!(listed.code, 2);
    assert!(listed.err.contains("name what to mount: bsafs mount SOURCE"), "{listed:?}");
    dir.archive("a.bsa", &Tes3::new().file("x.txt", b"x").build());
    let mount = dir.mount(["a.bsa"]);
    for command in ["umount", "status"] {
        let listed = run(command);
        assert_eq!(listed.code, 2, "{listed:?}");
        assert!(listed.out.contains(mount.path.to_str().unwrap()), "{listed:?}");
        assert!(listed.err.contains(&format!("bsafs {command} MOUNTPOINT")), "{listed:?}");
    }
    let completed = |line: &str| dir.run(["complete", "bash", "--", line]).success();
    assert_eq!(completed("bsafs umount m"), "mnt\0");
    assert_eq!(completed("bsafs umount mnt m"), "");
    let machine = dir.run(["status", "--json"]);
    assert_eq!((machine.code, &*machine.out), (2, ""));
}

#[test]
fn an_archive_without_a_command_hints_at_mount() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &Tes3::new().file("x.txt", b"x").build());
    let finished = dir.run(["a.bsa"]);
    assert_eq!((finished.code, finished.out.as_str()), (2, ""));
    assert_eq!(finished.err, "bsafs: a.bsa is not a command; to mount it, run: bsafs mount a.bsa\n");
}

#[test]
fn quiet_prints_only_failures() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &Tes3::new().file("x.txt", b"x").build());
    dir.archive("bad.bsa", &with_a_bad_file());
    assert_eq!(dir.run(["-q", "verify", "a.bsa"]).success(), "");
    assert_eq!(dir.run(["extract", "-q", "a.bsa", "-C", "out"]).success(), "");
    assert_eq!(fs::read(dir.path("out/x.txt")).unwrap(), b"x");
    assert_eq!(dir.run(["mount", "-q", "a.bsa", "mnt"]).success(), "");
    assert_eq!(dir.run(["-q", "umount", "mnt"]).success(), "");
    let finished = dir.run(["-q", "verify", "bad.bsa"]);
    assert_eq!(finished.code, 1);
    assert!(
        finished.out.starts_with("bad: sound/bad.wav: ") && finished.out.lines().count() == 1,
        "{finished:?}"
    );
}

#[test]
fn no_message_names_a_path_twice() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &Tes3::new().file("x.txt", b"x").build());
    fs::write(dir.path("empty.bsa"), b"").unwrap();
    fs::write(dir.path("p.toml"), "archives = 7").unwrap();
    let there = dir.path("file").display().to_string();
    fs::write(dir.path("file"), b"").unwrap();
    for (arguments, path) in [
        (vec!["list", "no.bsa"], "no.bsa"),
        (vec!["list", "empty.bsa"], "empty.bsa"),
        (vec!["mount", "p.toml"], "p.toml"),
        (vec!["mount", "a.bsa", &there], &there),
        (vec!["mount", "a.bsa", "mnt", "--log-file", "/no/log"], "/no/log"),
        (vec!["mount", "a.bsa", "/no/folder"], "/no/folder"),
        (vec!["umount", &there], &there),
        (vec!["status", &there], &there),
        (vec!["which", &there], &there),
        (vec!["extract", "a.bsa", "-C", &there], &there),
        (vec!["man", "--all", "/no/pages"], "/no/pages"),
        (vec!["cat", "a.bsa", "no/file"], "no/file"),
    ] {
        let finished = dir.run(&arguments);
        assert!(finished.code > 0, "{arguments:?}: {finished:?}");
        let message = finished.err.trim_start_matches("bsafs: ");
        assert!(message.matches(path).count() == 1, "{arguments:?}: {finished:?}");
    }
}

#[test]
fn a_pipe_as_list_or_log_is_refused_without_blocking() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &Tes3::new().file("x.txt", b"x").build());
    run(Command::new("mkfifo").arg(dir.path("pipe"))).success();
    let finished = dir.run(["list", "a.bsa", "--names", "pipe"]);
    assert_eq!(
        (finished.code, finished.err.as_str()),
        (66, "bsafs: pipe: it is a pipe; write the list to a file first\n")
    );
    let finished = dir.run(["mount", "a.bsa", "mnt", "--log-file", "pipe"]);
    assert_eq!(finished.code, 74, "{finished:?}");
    assert!(finished.err.starts_with("bsafs: --log-file pipe: it is a pipe; give a file"), "{finished:?}");
    assert!(!dir.path("mnt").exists());
}

#[test]
fn lines_have_priorities_only_if_the_journal_reads_standard_error() {
    let dir = TestDir::new();
    dir.archive("bad.bsa", &with_a_bad_file());
    let extract = |stream: &str| {
        let mut command = dir.bsafs(["extract", "bad.bsa", "-C", "out"]);
        command.env("JOURNAL_STREAM", stream);
        run(&mut command).err
    };
    // If standard error is redirected, JOURNAL_STREAM keeps its value but no longer matches.
    assert!(extract("8:12345").starts_with("bsafs: sound/bad.wav: "));
    let journal = |arguments: &str| {
        let script = format!("JOURNAL_STREAM=$(stat -Lc %d:%i /dev/fd/2) exec \"$0\" {arguments}");
        let mut shell = Command::new("sh");
        run(shell.args(["-c", &script, env!("CARGO_BIN_EXE_bsafs")]).current_dir(dir.path(""))).err
    };
    assert!(journal("extract bad.bsa -C out").starts_with("<3>sound/bad.wav: "));
    assert_eq!(journal("mount -f no.bsa"), "<3>no.bsa: no such file or folder\n");
}

#[test]
fn commands_that_merge_nothing_offer_no_layout() {
    let dir = TestDir::new();
    for command in ["cat", "verify", "info"] {
        assert!(!dir.run([command, "--help"]).success().contains("--layout"), "{command}");
    }
    for command in ["mount", "list", "extract"] {
        assert!(dir.run([command, "--help"]).success().contains("--layout"), "{command}");
    }
}

#[test]
fn an_error_in_a_folder_without_a_usable_path_says_what_to_do() {
    let dir = TestDir::new();
    let advice = "so relative paths cannot be used: change to another folder (`cd`), or use absolute paths\n";
    let deep = "n=$(printf %0250d 0); for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17; do \
                mkdir -p $n; cd -P $n; done; mkdir -p loose; >loose/a.txt";
    for (prepare, why) in [
        ("mkdir gone; cd gone; rmdir ../gone", "the current folder was deleted or unmounted, "),
        (deep, "the path of the current folder is longer than 4095 bytes, "),
    ] {
        // `umount NAME` finds a mount of that name anywhere, so the name is one that no other test uses.
        for command in
            ["list loose", "mount loose mnt", "mount /etc mnt", "umount nowhere", "which mnt/a.txt"]
        {
            let script = format!("{prepare}; exec '{}' {command}", env!("CARGO_BIN_EXE_bsafs"));
            let finished = run(Command::new("sh").args(["-c", &script]).current_dir(dir.path("")));
            assert!(finished.code != 0 && finished.out.is_empty(), "{command}: {finished:?}");
            assert!(finished.err.ends_with(&format!("; {why}{advice}")), "{command}: {finished:?}");
        }
    }
}
