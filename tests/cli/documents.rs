//! Help, manual and completions include every command.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use bsafs::cli::{Exit, MOUNT_OPTIONS, MountOption};

use crate::mounted::{TestDir, is_root, run};
use crate::snapshot::assert_snapshots;

/// Every command, in the order of the help.
const COMMANDS: &[&str] = &[
    "mount",
    "umount",
    "open",
    "mounts",
    "list",
    "cat",
    "extract",
    "info",
    "verify",
    "names",
    "which",
    "why",
    "needs",
    "status",
    "reload",
    "watch",
    "games",
    "order",
    "conflicts",
    "diff",
    "pack",
    "thumbnail",
    "completions",
    "man",
    "schema",
    "help",
];

/// Every topic, in the order of the help.
const TOPICS: [&str; 15] = [
    "sources",
    "load-order",
    "textures",
    "meshes",
    "pages",
    "formats",
    "writing",
    "packing",
    "profiles",
    "network",
    "desktop",
    "speed",
    "limits",
    "troubleshooting",
    "scripting",
];

#[test]
fn help_lists_every_command_and_each_command_has_its_own_help() {
    let dir = TestDir::new();
    let help = dir.run(["--help"]).success();
    for &command in COMMANDS {
        let line = help.lines().find(|line| line.trim_start().starts_with(&format!("{command} ")));
        let line = line.unwrap_or_else(|| panic!("{command} is not in the help:\n{help}"));
        assert!(line.trim().len() > command.len() + 10, "{line}");
        let own = dir.run([command, "--help"]).success();
        assert!(own.contains(&format!("Usage: bsafs {command}")), "{own}");
        assert_eq!(dir.run(["help", command]).success(), own);
    }
    // The help lists no command that is missing above.
    let listed = help.lines().skip_while(|line| *line != "Mount:").take_while(|line| *line != "Options:");
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let (mut names, mut commands): (Vec<&str>, _) = (names.collect(), COMMANDS.to_vec());
    names.sort_unstable();
    commands.sort_unstable();
    assert_eq!(names, commands);
}

#[test]
fn every_topic_is_listed_shown_and_linked() {
    let dir = TestDir::new();
    let help = dir.run(["help"]).success();
    assert_eq!(dir.run(["--help"]).success(), help);
    let listed = help.lines().skip_while(|line| !line.starts_with("Topics")).skip(1);
    let listed: Vec<&str> = listed.take_while(|line| !line.is_empty()).map(str::trim).collect();
    let readme = fs::read_to_string("README.md").unwrap();
    for (&topic, line) in TOPICS.iter().zip(&listed) {
        let (name, about) = line.split_once(' ').unwrap();
        let text = dir.run(["help", topic]).success();
        let title = format!("{}: {}", topic, about.trim());
        assert_eq!(
            (name, text.lines().next().unwrap().to_lowercase()),
            (topic, format!("# {title}").to_lowercase())
        );
        assert_eq!(fs::read_to_string(format!("src/cli/topics/{topic}.md")).unwrap(), text);
        assert!(
            readme.contains(&format!("| [{topic}](src/cli/topics/{topic}.md) | {} |", about.trim())),
            "{topic}"
        );
        for other in text.split("bsafs help ").skip(1) {
            let other = other.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap();
            assert!(TOPICS.contains(&other) || COMMANDS.contains(&other), "{topic} names {other}");
        }
    }
    assert_eq!(listed.len(), TOPICS.len());
    let unknown = dir.run(["help", "nonsense"]);
    assert_eq!((unknown.code, unknown.out.as_str()), (2, ""));
    let what = "there is no such command or topic; `bsafs help` lists both";
    assert_eq!(unknown.err, format!("bsafs: nonsense: {what}\n"));
}

#[test]
fn the_documents_are_short_and_the_options_of_sources_are_in_one_place() {
    let dir = TestDir::new();
    let readme = fs::read_to_string("README.md").unwrap();
    assert!(readme.chars().count() <= 10_000, "README has {} characters", readme.chars().count());
    let run = |arguments: &[&str]| run(dir.bsafs(arguments).env("COLUMNS", "100")).success();
    let mount = run(&["help", "mount"]);
    let lines: Vec<&str> = mount.lines().collect();
    assert!(lines.len() <= 120, "the help of mount has {} lines", lines.len());
    assert!(lines.iter().position(|it| *it == "Examples:") < lines.iter().position(|it| *it == "Options:"));
    let sources = run(&["help", "sources"]);
    let manual = run(&["man", "list"]);
    let helps = COMMANDS.iter().map(|command| (command, run(&["help", command]))).collect::<Vec<_>>();
    let completed = dir.run(["complete", "bash", "--", "bsafs list --"]).success();
    for option in [
        "encoding",
        "force",
        "textures",
        "game-dir",
        "prefix",
        "ini",
        "plugins",
        "precedence",
        "mo2-profile",
        "archives",
        "names",
    ] {
        let option = format!("--{option}");
        assert!(sources.contains(&format!("* `{option}")), "{option}");
        assert!(completed.contains(&option), "{option} is not completed");
        assert!(manual.contains(&option.replace('-', r"\-")), "{option} is not in the manual");
        for (command, help) in &helps {
            let is_shown = help.lines().any(|line| line.trim_start().split(' ').next() == Some(&*option));
            assert!(!is_shown, "{command} repeats {option}");
        }
    }
}

/// The help and the manual are stored in tests/data, so that a change of wording shows in the diff
/// of its commit. `BSAFS_UPDATE=1 cargo test snapshot` writes them again.
#[test]
fn help_and_manual_match_the_snapshot() {
    let dir = TestDir::new();
    // The output depends on the environment: terminal width, colours, values of variables.
    let printed = |arguments: &[&str]| run(dir.bsafs(arguments).env_clear().env("COLUMNS", "100")).success();
    let mut help = format!("$ bsafs --help\n{}", printed(&["--help"]));
    for command in COMMANDS {
        help += &format!("\n$ bsafs help {command}\n{}", printed(&["help", command]));
    }
    let manual = printed(&["man"]).replace(env!("CARGO_PKG_VERSION"), "VERSION");
    assert_snapshots(&[("help.txt", help), ("bsafs.1", manual)]);
}

#[test]
fn without_arguments_the_help_is_printed() {
    let dir = TestDir::new();
    let finished = run(&mut dir.bsafs::<&str>([]));
    assert_eq!((finished.code, finished.out.as_str()), (2, ""));
    assert!(finished.err.contains("Usage: bsafs"), "{finished:?}");
    assert_eq!(dir.run(["--version"]).success(), format!("bsafs {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn every_mount_option_is_accepted_documented_and_completed() {
    let dir = TestDir::new();
    let help = dir.run(["mount", "--help"]).success();
    let manual = dir.run(["man", "mount"]).success().replace('\\', "");
    let completed = |line: &str| dir.run(["complete", "bash", "--", line]).success();
    let sources = dir.run(["help", "sources"]).success();
    for MountOption { name, example, help: about, .. } in MOUNT_OPTIONS {
        let is_documented = match about.strip_prefix("same as ") {
            Some(long) => [&help, &sources].iter().any(|text| text.contains(long)),
            None => help.contains(&format!("- {name}:")),
        };
        assert!(is_documented, "{name} is not in the help:\n{help}");
        assert!(manual.contains(&format!("fB{name}fR")), "{name} is not in the manual:\n{manual}");
        assert!(completed(&format!("bsafs mount -o {name}")).contains(name), "{name} is not completed");
        // bsafs reports the missing archive only after it has accepted all options.
        let finished = dir.run(["mount", "no-such.bsa", "mnt", "-f", "-o", &format!("{name}{example}")]);
        let missing =
            ["bsafs: no-such.bsa: no such file or folder\n", "bsafs: names.txt: no such file or folder\n"];
        let is_refused = finished.code == 2 && finished.err.contains("cannot be combined with --foreground");
        match *name {
            "setuid=" if is_root() => assert!(is_refused, "{name}: {finished:?}"),
            "setuid=" => {
                let expected = "bsafs: -o setuid: only root can use this option\n";
                assert_eq!((finished.code, &*finished.err), (77, expected), "{finished:?}");
            }
            _ => assert!(finished.code == 66 && missing.contains(&&*finished.err), "{name}: {finished:?}"),
        }
    }
}

#[test]
fn every_command_is_completed() {
    let dir = TestDir::new();
    let found = dir.run(["complete", "bash", "--", "bsafs "]).success();
    let found: Vec<&str> = found.trim_end_matches('\0').split('\0').collect();
    let mut expected: Vec<&str> = COMMANDS.to_vec();
    expected.sort_unstable();
    assert_eq!(found, expected);
    assert_eq!(dir.run(["completions", "cmd"]).code, 2);
}

#[test]
fn groff_renders_every_manual_page_without_warnings() {
    let dir = TestDir::new();
    fs::create_dir(dir.path("pages")).unwrap();
    assert_eq!(dir.run(["man", "--all", "pages"]).success(), "");
    let mut pages: Vec<PathBuf> =
        fs::read_dir(dir.path("pages")).unwrap().map(|it| it.unwrap().path()).collect();
    pages.sort();
    assert_eq!(pages.len(), COMMANDS.len() + TOPICS.len() + 1);
    for page in &pages {
        let name = page.file_stem().unwrap().to_str().unwrap();
        let command = name.strip_prefix("bsafs-");
        let is_topic = page.extension().unwrap() == "7";
        let known = if is_topic { &TOPICS[..] } else { COMMANDS };
        assert!(command.is_none_or(|command| known.contains(&command)), "{name}");
        let text = fs::read_to_string(page).unwrap();
        assert_eq!(dir.run(["man"].into_iter().chain(command)).success(), text);
        assert!(is_topic || text.contains(".SH \"EXIT STATUS\""), "{name}");
        let groff = Command::new("groff").args(["-man", "-Tascii", "-P-cbou", "-ww"]).arg(page).output();
        let Ok(output) = groff else { return eprintln!("SKIPPED: no groff: pages were NOT rendered") };
        assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
        let shown = String::from_utf8(output.stdout).unwrap();
        if is_topic {
            assert!(shown.contains("NAME") && !shown.contains('`'), "{shown}");
            continue;
        }
        assert!(shown.contains(name) && shown.contains("SYNOPSIS"), "{shown}");
        let after_the_codes = shown.lines().find(|line| line.contains("Called by mount(8)"));
        assert!(after_the_codes.is_some_and(|line| line.trim_start().starts_with("Called")), "{shown}");
        for reference in shown.split_whitespace().filter_map(|word| word.strip_suffix("(1)")) {
            let exists = pages.iter().any(|page| page.file_stem().unwrap().to_str() == Some(reference));
            assert!(exists, "{name} refers to {reference}(1), which does not exist");
        }
        for line in shown.lines().filter(|line| line.contains("which archive a file comes from")) {
            assert!(
                name != "bsafs" || line.trim_start().starts_with("bsafs"),
                "an example was wrapped: {line}"
            );
        }
    }
    let unknown = dir.run(["man", "nonsense"]);
    assert_eq!((unknown.code, unknown.out.as_str()), (2, ""));
    let what = "there is no such command or topic; `bsafs help` lists both";
    assert_eq!(unknown.err, format!("bsafs: nonsense: {what}\n"));
}

#[test]
fn printing_a_manual_to_a_full_disk_fails() {
    let dir = TestDir::new();
    for arguments in [&["man"][..], &["completions", "bash"]] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let status = dir.bsafs(arguments).stdout(full).stderr(std::process::Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(74), "{arguments:?}");
    }
}

#[test]
fn the_unit_waits_for_a_missing_source_as_long_as_it_takes() {
    let unit = fs::read_to_string("systemd/bsafs@.service").unwrap();
    let value = |key: &str| {
        let line = unit.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.unwrap_or_else(|| panic!("{key} is not in the unit"))
    };
    // Without a limit of starts. A restart in each second would fill the journal.
    assert_eq!((value("StartLimitIntervalSec"), value("Restart")), ("0", "on-failure"));
    assert!(value("RestartSec").parse::<u32>().unwrap() >= 10);
    let prevented: Vec<&str> = value("RestartPreventExitStatus").split(' ').collect();
    let named = |code: &str| Exit::ALL.iter().find(|(exit, _)| (*exit as i32).to_string() == code);
    assert!(prevented.iter().all(|code| named(code).is_some()), "{prevented:?}");
    // A restart helps if a connection broke (74) or if an archive appears later (66).
    assert!(!prevented.contains(&"74") && !prevented.contains(&"66"));
    // What the program says of sources that are missing, however they are named.
    let dir = TestDir::new();
    fs::create_dir_all(dir.path("config/bsafs")).unwrap();
    fs::write(dir.path("there.bsa"), "").unwrap();
    let missing = ["'/no/disk/a.bsa'", "'/no/disk/*.bsa'", "'/no/disk'", "'/no/disk/ModOrganizer.ini'"];
    for archives in missing {
        let text = format!("archives = [{archives}]\nmountpoint = '{}'", dir.path("mnt").display());
        fs::write(dir.path("config/bsafs/p.toml"), text).unwrap();
        let mut start = dir.bsafs(["mount", "--foreground", "config/bsafs/p.toml"]);
        let code = run(start.env("XDG_CONFIG_HOME", dir.path("config"))).code.to_string();
        assert!(code != "0" && !prevented.contains(&&*code), "{archives}: {code}");
    }
    // A profile that was removed is not waited for.
    assert_eq!(value("ConditionPathExists"), value("ExecStart").rsplit(' ').next().unwrap());
    assert!(value("Documentation").starts_with("man:bsafs(1)"));
}
