//! Completion, typed into real shells on a terminal (`script`). The shell calls the real program
//! for candidates. A shell function replaces the program when the completed line is run, and
//! records its arguments.

use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use super::has;
use crate::mounted::{TestDir, finish};
use crate::support::{Tes4, samples};

const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// Archive names that a shell would take for code, each with a different first letter.
const HOSTILE: [&[u8]; 6] = [
    b"a $(touch ran) `touch ran`.bsa",
    b"b;touch ran&\"'\\ [1]{2}*?.bsa",
    b"c\ntouch ran\n.bsa",
    b"d $HOME !x #~ <>|.bsa",
    b"e lat\xe9in.bsa",
    b"f'$(touch ran)'\x1b]0;ran\x07.bsa",
];

/// Types lines into a shell, each followed by Enter. Returns the arguments of each line that was a
/// bsafs command.
fn typed(dir: &TestDir, shell: &str, lines: &[&str]) -> Vec<Vec<Vec<u8>>> {
    let script = dir.run(["completions", shell]).success();
    let home = dir.path("home");
    fs::create_dir_all(home.join("bin")).unwrap();
    let program = home.join("bin/bsafs");
    if !program.exists() {
        symlink(env!("CARGO_BIN_EXE_bsafs"), program).unwrap();
    }
    let record = match shell {
        "fish" => "function bsafs; printf '%s\\0' $argv END >>../args; end; function fish_greeting; end",
        _ => "bsafs() { printf '%s\\0' \"$@\" END >>../args; }",
    };
    let start = match shell {
        "zsh" => "autoload -Uz compinit; compinit -u -D",
        _ => "",
    };
    let name = match shell {
        "bash" => "rc",
        "zsh" => ".zshrc",
        _ => "fish/config.fish",
    };
    fs::create_dir_all(home.join("fish")).unwrap();
    fs::write(home.join(name), format!("{start}\n{script}\n{record}\n")).unwrap();
    let _ = fs::remove_file(dir.path("args"));

    let command = match shell {
        "bash" => format!("bash --noprofile --rcfile '{}' -i", home.join("rc").display()),
        _ => format!("{shell} -i"),
    };
    let mut terminal = Command::new("script");
    terminal.args(["-qec", &command, "/dev/null"]).current_dir(dir.path("work")).env("SHELL", "/bin/sh");
    let path = std::env::var("PATH").unwrap();
    terminal.env("PATH", format!("{}:{path}", home.join("bin").display()));
    terminal.env("HOME", &home).env("ZDOTDIR", &home).env("XDG_CONFIG_HOME", &home).env("TERM", "vt100");
    terminal.env("LC_ALL", "C.UTF-8").env_remove("XDG_DATA_HOME");
    let mut child =
        terminal.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut keyboard = child.stdin.take().unwrap();
    for line in lines {
        writeln!(keyboard, "{line}").unwrap();
    }
    writeln!(keyboard, "exit").unwrap();
    drop(keyboard);
    finish(child);

    let args = fs::read(dir.path("args")).unwrap_or_default();
    let args: Vec<Vec<u8>> = args.split(|&byte| byte == 0).map(<[u8]>::to_vec).collect();
    let calls = args.split(|argument| argument == b"END").map(<[_]>::to_vec);
    let mut calls: Vec<_> = calls.collect();
    calls.pop();
    calls
}

/// Creates a folder `work` with archives that have hostile names.
fn hostile() -> TestDir {
    let dir = TestDir::new();
    fs::create_dir(dir.path("work")).unwrap();
    let files = [&b"it's $(touch ran) [1].txt"[..], b"Name With Spaces.TXT", b"\xe9t\xe9 `touch ran`.txt"];
    let archive = files.iter().fold(Tes4::new(104), |it, name| it.file("Menus\\Sub", *name, "x"));
    for name in HOSTILE {
        let name = std::ffi::OsStr::from_bytes(name);
        fs::write(dir.path("work").join(name), archive.build()).unwrap();
    }
    fs::write(dir.path("work/ignored.txt"), "").unwrap();
    dir
}

fn nothing_ran(dir: &TestDir) {
    for folder in ["work", "home", ""] {
        assert!(!dir.path(folder).join("ran").exists(), "a name was run as code");
    }
}

#[test]
fn archive_names_are_completed_and_never_run_as_code() {
    for shell in SHELLS.into_iter().filter(|shell| has(shell)) {
        let dir = hostile();
        let lines = ["a", "b", "c", "d", "e", "f"].map(|letter| format!("bsafs list {letter}\t"));
        let calls = typed(&dir, shell, &lines.each_ref().map(String::as_str));
        let expected: Vec<Vec<Vec<u8>>> =
            HOSTILE.iter().map(|name| vec![b"list".to_vec(), name.to_vec()]).collect();
        assert_eq!(calls, expected, "{shell}");
        nothing_ran(&dir);
    }
}

#[test]
fn paths_inside_archives_are_completed_in_any_case_and_in_quotes() {
    for shell in SHELLS.into_iter().filter(|shell| has(shell)) {
        let dir = hostile();
        let lines = [
            "bsafs cat a\tMENUS/s\tit\t",
            "bsafs cat b\tm\tSUB/name\t",
            "bsafs cat c\tmenus/sub/\u{e9}\t",
            "bsafs cat ./e\t \"Menus/Sub/na\t",
            "bsafs extract d\t--glob m\ts\tit\t",
        ];
        let calls = typed(&dir, shell, &lines);
        let last = calls.iter().map(|it| String::from_utf8_lossy(it.last().unwrap()).to_lowercase());
        let last: Vec<String> = last.collect();
        let expected = [
            "MENUS/sub/it's $(touch ran) [1].txt",
            "menus/SUB/name With Spaces.TXT",
            "menus/sub/été `touch ran`.txt",
            "Menus/Sub/name With Spaces.TXT",
            "menus/sub/it's $(touch ran) [[]1[]].txt",
        ];
        assert_eq!(last, expected.map(str::to_lowercase), "{shell}");
        nothing_ran(&dir);
    }
}

#[test]
fn mountpoints_are_completed_even_if_their_daemon_does_not_answer() {
    use rustix::process::Signal;

    use crate::mounted::{Mounted, signal, stop};
    for shell in SHELLS.into_iter().filter(|shell| has(shell)) {
        let dir = hostile();
        dir.sample(&samples()[0]);
        let mountpoint = dir.path("work/mount $(touch ran) 'x' \"y\"");
        fs::create_dir(&mountpoint).unwrap();
        let archive = dir.path(&samples()[0].name);
        let report =
            dir.run([std::ffi::OsStr::new("mount"), archive.as_os_str(), mountpoint.as_os_str()]).success();
        let mounted = Mounted::at(&mountpoint, report);
        stop(mounted.pid);
        let calls = typed(&dir, shell, &["bsafs umount mou\t", "bsafs status \"mou\t"]);
        signal(mounted.pid, Signal::CONT);
        let name = mountpoint.file_name().unwrap().as_bytes().to_vec();
        let expected = ["umount", "status"].map(|it| vec![it.as_bytes().to_vec(), name.clone()]);
        assert_eq!(calls, expected, "{shell}");
        nothing_ran(&dir);
    }
}

#[test]
fn installed_games_are_completed() {
    let dir = TestDir::new();
    let home = dir.path("home");
    crate::support::home::SteamGame::install(
        &home,
        489_830,
        "Skyrim Special Edition",
        "english",
        ["Skyrim Special Edition"; 2],
    )
    .write("SkyrimSE.exe", b"MZ", 1);
    let data = home.join(".local/share/Steam/steamapps/common/Skyrim Special Edition/Data");
    fs::create_dir_all(&data).unwrap();
    fs::write(data.join("Skyrim.esm"), "TES4").unwrap();
    let mut command = dir.bsafs(["complete", "fish", "--", "bsafs order sk"]);
    let found = crate::mounted::run(command.env("HOME", &home).env_remove("XDG_DATA_HOME")).success();
    assert_eq!(found, "skyrimse\tSkyrim Special Edition\0");
}
