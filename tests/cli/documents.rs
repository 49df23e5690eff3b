//! Help, the manual and completions: all commands are in all of them.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::mounted::{TestDir, run};

const COMMANDS: [&str; 12] = [
    "mount",
    "umount",
    "list",
    "cat",
    "extract",
    "info",
    "verify",
    "names",
    "which",
    "status",
    "completions",
    "man",
];

#[test]
fn help_mentions_every_command_and_each_has_help_of_its_own() {
    let place = TestDir::new();
    let help = place.run(["--help"]).sound();
    for command in COMMANDS {
        let line = help.lines().find(|line| line.trim_start().starts_with(&format!("{command} ")));
        let line = line.unwrap_or_else(|| panic!("{command} is not in the help:\n{help}"));
        assert!(line.trim().len() > command.len() + 10, "{line}");
        let own = place.run([command, "--help"]).sound();
        assert!(own.contains(&format!("Usage: bsafs {command}")), "{own}");
        assert_eq!(place.run(["help", command]).sound(), own);
    }
    // Nobody shall find a command that this test does not know of.
    let listed =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names: Vec<&str> = listed
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|it| !it.is_empty())
        .collect();
    assert_eq!(names, COMMANDS.iter().copied().chain(["help"]).collect::<Vec<_>>());
}

#[test]
fn without_arguments_the_help_is_shown_and_the_version_if_asked_for() {
    let place = TestDir::new();
    let finished = run(&mut place.bsafs::<&str>([]));
    assert_eq!((finished.code, finished.out.as_str()), (2, ""));
    assert!(finished.err.contains("Usage: bsafs"), "{finished:?}");
    assert_eq!(place.run(["--version"]).sound(), format!("bsafs {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn help_of_mount_lists_every_mount_option() {
    let place = TestDir::new();
    let help = place.run(["mount", "--help"]).sound();
    for option in [
        "allow_other",
        "uid=",
        "gid=",
        "umask=",
        "fmask=",
        "dmask=",
        "xattr",
        "nonempty",
        "encoding=",
        "layout=",
        "cache_size=",
        "fsname=",
        "max_read=",
        "readahead=",
        "noexec",
        "noatime",
        "foreground",
    ] {
        assert!(help.contains(option), "{option}");
    }
}

#[test]
fn completions_of_common_shells_know_every_command() {
    let place = TestDir::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = place.run(["completions", shell]).sound();
        for command in COMMANDS {
            assert!(script.contains(command), "{shell}: {command}");
        }
        fs::write(place.path(shell), script).unwrap();
        if let Ok(output) = Command::new(shell).arg("-n").arg(place.path(shell)).stdin(Stdio::null()).output()
        {
            assert!(output.status.success(), "{output:?}");
        }
    }
    assert_eq!(place.run(["completions", "cmd"]).code, 2);
}

#[test]
fn the_manual_has_a_page_for_each_command_that_groff_renders_without_a_word() {
    let place = TestDir::new();
    fs::create_dir(place.path("pages")).unwrap();
    assert_eq!(place.run(["man", "--all", "pages"]).sound(), "");
    let mut pages: Vec<PathBuf> =
        fs::read_dir(place.path("pages")).unwrap().map(|it| it.unwrap().path()).collect();
    pages.sort();
    assert_eq!(pages.len(), COMMANDS.len() + 1);
    for page in &pages {
        let name = page.file_stem().unwrap().to_str().unwrap();
        let command = name.strip_prefix("bsafs-");
        assert!(command.is_none_or(|command| COMMANDS.contains(&command)), "{name}");
        let text = fs::read_to_string(page).unwrap();
        assert_eq!(place.run(["man"].into_iter().chain(command)).sound(), text);
        assert!(text.contains(".SH \"EXIT STATUS\""), "{name}");
        let groff = Command::new("groff").args(["-man", "-Tascii", "-P-cbou", "-ww"]).arg(page).output();
        let Ok(output) = groff else { return eprintln!("SKIPPED: no groff: pages were NOT rendered") };
        assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(shown.contains(name) && shown.contains("SYNOPSIS"), "{shown}");
        let after_the_codes = shown.lines().find(|line| line.contains("Called by mount(8)"));
        assert!(after_the_codes.is_some_and(|line| line.trim_start().starts_with("Called")), "{shown}");
    }
    let unknown = place.run(["man", "nonsense"]);
    assert_eq!((unknown.code, unknown.out.as_str()), (2, ""));
    assert_eq!(unknown.err, "bsafs: there is no command nonsense; `bsafs help` lists them\n");
}

#[test]
fn documents_that_a_full_disk_cuts_off_are_a_failure() {
    let place = TestDir::new();
    for arguments in [&["man"][..], &["completions", "bash"]] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let status =
            place.bsafs(arguments).stdout(full).stderr(std::process::Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(74), "{arguments:?}");
    }
}
