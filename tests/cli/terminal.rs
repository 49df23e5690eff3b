//! Hostile names never reach a terminal as control characters. `script` provides the terminal.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::mounted::{Finished, TestDir, run};
use crate::support::{Tes3, Tes4};

/// Runs bsafs with standard output and standard error on a terminal.
fn on_a_terminal(dir: &TestDir, command: &str) -> Finished {
    on_a_terminal_with(dir, command, &[])
}

fn on_a_terminal_with(dir: &TestDir, command: &str, variables: &[(&str, &str)]) -> Finished {
    let program = env!("CARGO_BIN_EXE_bsafs");
    let line = format!("'{program}' {command}");
    let mut script = Command::new("script");
    // `script` runs the line with the user's shell, so the test sets a known one. Shells disagree
    // on how to write control characters, so the name comes in a variable.
    script.args(["-qec", &line, "/dev/null"]).env("SHELL", "/bin/sh").env("HOSTILE", HOSTILE);
    // Progress is shown only if the kind of terminal is known, and a job that no terminal started sets none.
    run(script.env("TERM", "xterm").envs(variables.iter().copied()).current_dir(dir.path("")))
}

/// File name of an archive that contains a command for terminals, as do the names that it stores. A
/// shell line writes it as `"$HOSTILE"`.
const HOSTILE: &str = "a\x1b[31m.bsa";

fn hostile(dir: &TestDir) -> &'static str {
    let archive = Tes3::new().file(b"a\x1b]0;x\x07.txt", b"x").file("b\u{202e}\u{9b}.txt".as_bytes(), b"y");
    dir.archive(HOSTILE, &archive.build());
    r#""$HOSTILE""#
}

#[test]
fn the_manual_is_shown_by_man_on_a_terminal_and_is_roff_in_a_pipe() {
    let dir = TestDir::new();
    fs::create_dir(dir.path("bin")).unwrap();
    let man = dir.path("bin/man");
    let shown = |exit: u8| {
        fs::write(&man, format!("#!/bin/sh\necho man $*; head -n 1; exit {exit}\n")).unwrap();
        fs::set_permissions(&man, fs::Permissions::from_mode(0o755)).unwrap();
        let program = env!("CARGO_BIN_EXE_bsafs");
        let line = format!("PATH='{}':$PATH '{program}' man mount", dir.path("bin").display());
        let mut script = Command::new("script");
        script.args(["-qec", &line, "/dev/null"]).env("SHELL", "/bin/sh");
        run(&mut script).success()
    };
    assert!(shown(0).starts_with("man -l -\r\n.ie"), "{}", shown(0));
    assert!(!shown(0).contains(".SH SYNOPSIS"));
    // Without a man that can show pages, the roff is better than nothing.
    assert!(shown(1).contains(".SH SYNOPSIS"));
    let piped = dir.run(["man", "mount"]).success();
    assert!(piped.starts_with(".ie") && piped.contains(".SH SYNOPSIS"), "{piped}");
}

#[test]
fn extract_and_verify_show_bytes_and_the_time_left_of_work_that_takes_long() {
    let dir = TestDir::new();
    let archive = (0..40).fold(Tes3::new(), |archive, n| archive.file(format!("{n}.txt"), vec![b'x'; 1024]));
    dir.archive("a.bsa", &archive.build());
    fs::create_dir(dir.path("loose")).unwrap();
    (0..40).for_each(|n| fs::write(dir.path("loose").join(format!("{n}.txt")), vec![b'x'; 1024]).unwrap());
    // After how many milliseconds a bar is shown.
    for (after, is_shown) in [("0", true), ("1000000", false)] {
        for command in ["extract a.bsa -C out --overwrite", "verify a.bsa", "verify loose"] {
            let shown = on_a_terminal_with(&dir, command, &[("BSAFS_BAR_AFTER", after)]).out;
            assert_eq!(shown.contains("/40.00 KiB"), is_shown, "{command}: {shown:?}");
            assert!(
                !is_shown || command == "verify loose" || shown.contains(" left"),
                "{command}: {shown:?}"
            );
        }
    }
}

#[test]
fn names_are_escaped_on_a_terminal_and_raw_in_a_pipe() {
    let dir = TestDir::new();
    let archive = hostile(&dir);
    let raw = dir.run(["names", HOSTILE]).success();
    assert!(raw.contains("a\x1b]0;x\x07.txt"), "{raw:?}");
    let shown = on_a_terminal(&dir, &format!("names {archive}")).success();
    assert!(shown.contains(r"a\x1B]0;x\x07.txt"), "{shown:?}");
    for command in ["names", "list --long", "info", "verify"] {
        let shown = on_a_terminal(&dir, &format!("{command} {archive}")).success();
        let commands = |c: char| c == '\x1b' || c == '\x07' || ('\u{80}'..'\u{a0}').contains(&c);
        assert!(!shown.contains(commands) && !shown.contains('\u{202e}'), "{command}: {shown:?}");
    }
}

#[test]
fn json_and_nul_ended_names_stay_raw_on_a_terminal() {
    let dir = TestDir::new();
    let archive = hostile(&dir);
    let json = on_a_terminal(&dir, &format!("info --json {archive}")).success();
    let parsed: serde_json::Value = serde_json::from_str(json.trim()).unwrap();
    assert_eq!(parsed["archive"], HOSTILE);
    dir.archive("plain.bsa", &Tes4::new(104).file("f", "a.txt", "x").build());
    assert_eq!(on_a_terminal(&dir, "list -0 plain.bsa").success(), "f/a.txt\0");
}

#[test]
fn messages_are_escaped_on_a_terminal_and_in_a_pipe() {
    let dir = TestDir::new();
    let finished = dir.run(["list", "no\x1b[31m.bsa"]);
    assert_eq!(finished.err, "bsafs: no\\x1B[31m.bsa: no such file or folder\n");
    for arguments in [["no\x1b[31mcommand", "x"], ["list", "--no\x07\x1b[31mflag"]] {
        let finished = dir.run(arguments);
        assert!(finished.code == 2 && finished.err.starts_with("error: "), "{finished:?}");
        assert!(!finished.err.contains(['\x1b', '\x07']), "{finished:?}");
    }
}

#[test]
fn only_the_winner_the_root_and_reasons_have_a_style_on_a_terminal() {
    let dir = TestDir::new();
    for name in ["a.bsa", "b.bsa"] {
        dir.archive(name, &Tes3::new().file("x.txt", b"x").build());
    }
    let root = dir.path("a.bsa").parent().unwrap().display().to_string();
    let plain = |command: &str| dir.run(command.split(' ')).success();
    let shown = |variables: &str, command: &str| {
        let program = env!("CARGO_BIN_EXE_bsafs");
        let line = format!("env TERM=xterm {variables} '{program}' {command}");
        let mut script = Command::new("script");
        script.args(["-qec", &line, "/dev/null"]).env("SHELL", "/bin/sh").env_remove("NO_COLOR");
        run(script.current_dir(dir.path(""))).success().replace("\r\n", "\n")
    };
    for (command, styled) in [
        ("order a.bsa b.bsa", [format!("\x1b[2min {root}\x1b[0m"), "\x1b[2mnamed as a source\x1b[0m".into()]),
        ("conflicts a.bsa b.bsa", [format!("\x1b[2min {root}\x1b[0m"), "from    \x1b[1mb.bsa\x1b[0m".into()]),
        ("which --in a.bsa --in b.bsa x.txt", ["from   \x1b[1mb.bsa\x1b[0m".into(), "hides  a.bsa".into()]),
    ] {
        let coloured = shown("", command);
        assert!(styled.iter().all(|part| coloured.contains(part)), "{command}: {coloured:?}");
        let without =
            ["\x1b[2m", "\x1b[1m", "\x1b[0m"].iter().fold(coloured, |it, code| it.replace(code, ""));
        assert_eq!(without, plain(command));
        for (variables, options) in [("NO_COLOR=1", ""), ("TERM=dumb", ""), ("", "--color=never ")] {
            assert_eq!(
                shown(variables, &format!("{options}{command}")),
                plain(command),
                "{variables} {options}"
            );
        }
        // Pipes get styles only on request, and JSON never.
        let forced = plain(&format!("--color always {command}"));
        assert!(styled.iter().all(|part| forced.contains(part)), "{command}: {forced:?}");
        assert!(!plain(&format!("--color always {command} --json")).contains('\x1b'));
    }
    let refused = dir.run(["--color=always", "order", "--no-flag"]).err;
    assert!(refused.contains('\x1b'), "clap does not follow --color: {refused:?}");
    assert!(!dir.run(["--color=never", "order", "--no-flag"]).err.contains('\x1b'));
}
