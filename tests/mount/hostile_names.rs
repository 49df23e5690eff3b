//! Names that a stranger or another process chose, with line ends, control characters and bidirectional
//! marks: no command prints one raw, and no log line does.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::mounted::{Finished, TestDir, logged, run, until};
use crate::support::tes4::PACKED;
use crate::support::{Tes4, Tes4File};

/// What a stranger would like to print: a line of his own, a command for the terminal, and text that turns.
const HOSTILE: &str = "x\nbsafs: forged\r\x1b[31m\u{9b}\u{202e}\u{2067}\u{200f}";

/// Fails if a text has a control character other than a line end, a mark that turns text, or a line that
/// begins with the forged one.
fn check(what: &str, text: &str) {
    let is_raw = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}')
            || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert!(!text.contains(is_raw), "{what}: {text:?}");
    assert!(!text.lines().any(|line| line.starts_with("bsafs: forged")), "{what}: {text:?}");
    assert!(!text.contains("\u{fffd}[31m"), "{what}: {text:?}");
}

/// Checks all that a command printed. It must name a hostile name at least once.
fn checked(what: &str, finished: &Finished) {
    let said = format!("{}{}", finished.out, finished.err);
    check(what, &said);
    // The folder of a mountpoint without a name of its own is called like the source, with `%0A`.
    let names_it = [r"x\x0Absafs: forged\x0D", "x%0Absafs: forged%0D"].iter().any(|it| said.contains(it));
    assert!(names_it, "{what}: {said:?}");
}

fn hostile(name: &str) -> String {
    format!("{HOSTILE}{name}")
}

/// An archive with one good file and one that cannot be decoded.
fn archive(content: &str) -> Vec<u8> {
    let good = Tes4File::new("good.txt", content);
    let bad = Tes4File::new("bad.nif", "content").stream(&b"\0no stream"[..]);
    Tes4::new(104).flags(PACKED | 3).add("f", good).add("f", bad).build()
}

#[test]
fn no_command_prints_a_hostile_name_raw() {
    let dir = TestDir::new();
    let (one, two, folder) = (hostile("1.bsa"), hostile("2.bsa"), hostile("folder"));
    dir.archive(&one, &archive("1"));
    dir.archive(&two, &archive("22"));
    fs::create_dir_all(dir.path(&folder).join("f")).unwrap();
    fs::write(dir.path(&folder).join("f").join(hostile("loose.txt")), "x").unwrap();
    fs::write(dir.path(hostile("no.bsa")), "no archive").unwrap();
    fs::write(dir.path(hostile("bad.toml")), "archives = [").unwrap();
    let missing = serde_json::to_string(&hostile("none.bsa")).unwrap();
    fs::write(dir.path("names.toml"), format!("archives = [{missing}]")).unwrap();
    let (no, toml, none, out) = (hostile("no.bsa"), hostile("bad.toml"), hostile("none.bsa"), hostile("out"));
    let loose = format!("f/{}", hostile("loose.txt"));
    for arguments in [
        &["info", &one, &folder][..],
        &["info", &no],
        &["info", &none],
        &["list", &none],
        &["list", "--long", &one],
        &["list", &toml],
        &["list", "names.toml"],
        &["order", &one, &folder],
        &["verify", &one],
        &["verify", &folder],
        &["conflicts", &one, &two],
        &["conflicts", "--compare", &one, &two],
        &["diff", &one, &folder],
        &["which", "--in", &one, "--in", &two, "f/good.txt"],
        &["which", "--in", &folder, &loose],
        &["which", "--in", &one, &hostile("none.txt")],
        &["which", &hostile("none.txt")],
        &["cat", &one, &hostile("none.txt")],
        &["cat", &one, "f/bad.nif"],
        &["extract", &one, "-C", &out],
        &["extract", "--dry-run", &one, "-C", &out],
        &["mount", &none, "mnt"],
        &["mount", &one, &one],
        &["mount", &one, "mnt", "--log-file", &format!("{out}/none/log")],
        &["umount", &none],
        &["umount", &folder],
        &["status", &folder],
        &["reload", &folder],
        &["watch", &folder],
        &[&hostile("command")],
        &["list", &one, "--glob", &format!("{HOSTILE}[")],
        &["list", &one, "--names", &none],
        &["order", &one, "--game-dir", &none],
    ] {
        let finished = dir.run(arguments);
        match arguments {
            // These do not name the file, or quote the argument for a shell.
            ["list", "--long", _] | ["cat" | "diff", ..] | ["order", ..] | ["list", _, "--glob", _] => {
                check(&format!("{arguments:?}"), &format!("{}{}", finished.out, finished.err));
            }
            _ => checked(&format!("{arguments:?}"), &finished),
        }
    }
}

#[test]
fn a_mount_with_hostile_names_forges_no_line_of_output_or_log() {
    let dir = TestDir::new();
    let (one, folder, mountpoint) = (hostile("1.bsa"), hostile("folder"), hostile("mnt"));
    dir.archive(&one, &archive("1"));
    fs::create_dir_all(dir.path(&folder).join("f")).unwrap();
    fs::write(dir.path(&folder).join("f").join(hostile("loose.txt")), "x").unwrap();
    let mounted = dir.run(["mount", &one, &folder, &mountpoint, "--log-file", "log", "-v"]);
    checked("mount", &mounted);
    assert_eq!(mounted.code, 0, "{mounted:?}");
    let path = dir.path(&mountpoint);
    // A process chooses its name, of which the kernel keeps 15 bytes.
    let program = dir.path("p\nbsafs: f\x1b");
    fs::copy("/bin/sleep", &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut user =
        Command::new(&program).arg("1000").current_dir(&path).stdin(Stdio::null()).spawn().unwrap();
    let comm = format!("/proc/{}/comm", user.id());
    until("the program to run", || fs::read(&comm).unwrap().starts_with(b"p\n"));
    assert!(fs::read(path.join("f/bad.nif")).is_err());
    fs::write(dir.path(&folder).join("f").join(hostile("new.txt")), "x").unwrap();
    for arguments in [
        &["mounts"][..],
        &["status", &mountpoint],
        &["reload", &mountpoint],
        &["which", &format!("{mountpoint}/f/good.txt")],
        &["which", &format!("{mountpoint}/f/{}", hostile("loose.txt"))],
        &["mount", &one, &mountpoint],
        &["umount", &mountpoint],
    ] {
        let finished = dir.run(arguments);
        checked(&format!("{arguments:?}"), &finished);
        if matches!(arguments[0], "mounts" | "umount") {
            let said = format!("{}{}", finished.out, finished.err);
            assert!(said.contains(r"p\x0Absafs: f\x1B (process"), "{arguments:?}: {said:?}");
        }
    }
    user.kill().unwrap();
    user.wait().unwrap();
    run(&mut dir.bsafs(["umount", &mountpoint])).success();
    let log = logged(&dir, 1);
    check("the log", &log);
    assert!(log.contains(r"x\x0Absafs: forged\x0D") && log.contains("bad.nif"), "{log}");
    assert!(log.lines().all(|line| line.starts_with("20")), "each line begins with the time: {log}");
}

#[test]
fn a_loose_file_forges_no_path_in_a_list() {
    let dir = TestDir::new();
    let folder = dir.path("folder");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("a\nbsafs: forged\x1b.txt"), "x").unwrap();
    assert_eq!(dir.run(["list", "folder"]).success(), "a%0Absafs: forged%1B.txt\n");
    assert_eq!(dir.run(["list", "-0", "folder"]).success(), "a%0Absafs: forged%1B.txt\0");
}
