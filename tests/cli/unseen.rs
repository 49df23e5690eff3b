//! What could not be looked at: every command names it, also with `--quiet` and in JSON, and its exit status
//! is the one in the table of `bsafs help scripting`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use rustix::fs::{CWD, mkfifoat};
use serde_json::Value;

use super::with_a_bad_file;
use crate::disk::{Disk, Mode};
use crate::fake_mount::{Answers, FakeMount};
use crate::mounted::{Finished, TestDir, is_root, mounts_below, run, unmount, until};
use crate::support::home::plugin;
use crate::support::mesh::{Nif, bgsm};
use crate::support::tes4::{FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Ba2, Ba2File, Chunk, Tes3, Tes4, Tes4File, Texture, pack};

/// What is wrong in a source.
struct Fault {
    /// The source.
    source: &'static str,
    /// Whether the program runs as an ordinary user, who may not read everything.
    as_user: bool,
    /// The status of `pack` if it differs from that in the table. As a file, it takes an archive that can be
    /// read.
    of_pack: Option<i32>,
    /// A part of the path of what cannot be looked at.
    subject: &'static str,
    /// The path that `cat`, `which` and `why` ask for.
    asked: &'static str,
    /// The disk that `src` is, if it is one.
    disk: Option<Disk>,
}

/// Makes the folder `src` without a fault, and a copy of it.
fn sources(dir: &TestDir) {
    fs::create_dir_all(dir.path("src/meshes/locked")).unwrap();
    let archive = Tes3::new().file("meshes\\a.nif", b"archived").build();
    for (name, content) in [
        ("a.bsa", &archive[..]),
        ("c.txt", b"c"),
        ("secret.txt", b"secret"),
        ("there.txt", b"there"),
        ("meshes/locked/x.nif", b"x"),
    ] {
        fs::write(dir.path("src").join(name), content).unwrap();
    }
    run(Command::new("cp").args(["-r", "src", "copy"]).current_dir(dir.path(""))).success();
}

/// Makes the sources that `lists` is about, without a fault: a game in `game`, an instance of Mod Organizer 2
/// in `src`, settings of OpenMW in `omw`, and a profile in `p.toml`. All of them show `c.txt`.
fn lists(dir: &TestDir) {
    let archive = Tes3::new().file("meshes\\a.nif", b"archived").build();
    for (name, content) in [
        ("game/SkyrimSE.exe", &b""[..]),
        ("game/Data/Skyrim.esm", &plugin(4, 1, &[])),
        ("game/Data/Light.esp", &plugin(4, 0x200, &["Skyrim.esm"])),
        ("game/Data/c.txt", b"c"),
        ("src/mods/Base/c.txt", b"c"),
        ("src/mods/Top/d.txt", b"d"),
        ("src/profiles/P/modlist.txt", b"+Top\r\n+Base\r\n"),
        ("src/profiles/P/plugins.txt", b"*Light.esp\r\n"),
        ("src/profiles/P/skyrim.ini", b""),
        ("data/parent/one/d.txt", b"d"),
        ("data/two/c.txt", b"c"),
        ("data/two/a.bsa", &archive),
        ("files/a.bsa", &archive),
        ("copy/c.txt", b"c"),
        ("p.toml", b"archives = ['files/*.bsa', 'data/two']"),
    ] {
        let path = dir.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let game = dir.path("game").to_str().unwrap().replace('/', "\\\\");
    let ini = format!("[General]\ngamePath=@ByteArray(Z:{game})\nselected_profile=@ByteArray(P)\n");
    fs::write(dir.path("src/ModOrganizer.ini"), ini).unwrap();
    let [one, two] = ["data/parent/one", "data/two"].map(|name| dir.path(name).display().to_string());
    fs::create_dir_all(dir.path("omw/resources/vfs")).unwrap();
    let cfg = format!("data={two}\ndata={one}\ndata=../omw/none\nfallback-archive=a.bsa\n");
    fs::write(dir.path("omw/openmw.cfg"), cfg).unwrap();
}

/// Installs an OpenMW in a user's folder of games, with settings that lead to the user's.
fn openmw(dir: &TestDir) {
    let data = dir.path("data/two").display().to_string();
    for (name, text) in [
        ("home/Games/openmw-0.49/openmw", ""),
        ("home/Games/openmw-0.49/openmw.cfg", "config=?userconfig?\n"),
        ("home/Games/openmw-0.49/resources/vfs/v.txt", "v"),
        ("home/.config/openmw/openmw.cfg", &format!("data={data}\nfallback-archive=a.bsa\n")),
    ] {
        let path = dir.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// Replaces a file or folder by a link that leads nowhere, or to itself.
fn replace_by_link(dir: &TestDir, name: &str, target: &str) {
    let path = dir.path(name);
    if path.is_dir() {
        fs::remove_dir_all(&path).unwrap()
    } else {
        let _ = fs::remove_file(&path);
    }
    symlink(target, path).unwrap();
}

/// Makes a world with a fault in something that decides the load order: an archive or a list. Returns the
/// source, a part of the path of what cannot be looked at, and whether an ordinary user runs the program.
fn fault_of_order(dir: &TestDir, fault: &str) -> Option<(&'static str, &'static str, bool)> {
    let lock = |name: &str| fs::set_permissions(dir.path(name), Permissions::from_mode(0o000)).unwrap();
    let fifo = |name: &str| mkfifoat(CWD, dir.path(name), rustix::fs::Mode::RWXU).unwrap();
    Some(match fault {
        "healthy folder" => ("src", "not looked at", false),
        "archive: link" => {
            symlink("nowhere", dir.path("src/z.bsa")).unwrap();
            ("src", "z.bsa", false)
        }
        "archive: circle" => {
            symlink("z.bsa", dir.path("src/z.bsa")).unwrap();
            ("src", "z.bsa", false)
        }
        "archive: fifo" => {
            fifo("src/z.bsa");
            ("src", "z.bsa", false)
        }
        "archive: locked" => {
            dir.archive("src/z.bsa", &Tes3::new().file("c.txt", b"other").build());
            lock("src/z.bsa");
            ("src", "z.bsa", true)
        }
        "healthy instance" => ("src", "not looked at", false),
        "healthy settings" => ("omw", "not looked at", false),
        "healthy game" => ("game", "not looked at", false),
        "healthy profile" => ("p.toml", "not looked at", false),
        "lists: mods locked" => {
            lock("src/mods");
            ("src", "src/mods", true)
        }
        "lists: mods link" => {
            replace_by_link(dir, "src/mods", "nowhere");
            ("src", "src/mods", false)
        }
        "lists: mod locked" => {
            lock("src/mods/Base");
            ("src", "mods/Base", true)
        }
        "lists: mod link" => {
            replace_by_link(dir, "src/mods/Base", "nowhere");
            ("src", "mods/Base", false)
        }
        "lists: mod circle" => {
            replace_by_link(dir, "src/mods/Base", "Base");
            ("src", "mods/Base", false)
        }
        "lists: modlist locked" => {
            lock("src/profiles/P/modlist.txt");
            ("src", "P/modlist.txt", true)
        }
        "lists: plugins fifo" => {
            fs::remove_file(dir.path("src/profiles/P/plugins.txt")).unwrap();
            fifo("src/profiles/P/plugins.txt");
            ("src", "P/plugins.txt", false)
        }
        "lists: parent locked" => {
            lock("data/parent");
            ("omw", "data/parent", true)
        }
        "lists: parent link" => {
            replace_by_link(dir, "data/parent", "nowhere");
            ("omw", "data/parent", false)
        }
        "lists: header cut" => {
            fs::write(dir.path("game/Data/Light.esp"), &plugin(4, 0x200, &["Skyrim.esm"])[..40]).unwrap();
            ("game", "Data/Light.esp", false)
        }
        "lists: header zeros" => {
            fs::write(dir.path("game/Data/Light.esp"), [0; 100]).unwrap();
            ("game", "Data/Light.esp", false)
        }
        "lists: header locked" => {
            lock("game/Data/Light.esp");
            ("game", "Data/Light.esp", true)
        }
        "lists: plugin link" => {
            replace_by_link(dir, "game/Data/Light.esp", "nowhere");
            ("game", "Data/Light.esp", false)
        }
        // The game has settings in no prefix that can be searched, so they may be in this one.
        "lists: prefixes locked" => {
            fs::create_dir_all(dir.path("home/.local/share/Steam/steamapps/compatdata/7")).unwrap();
            lock("home/.local/share/Steam/steamapps/compatdata");
            ("game", "steamapps/compatdata", true)
        }
        "lists: prefix link" => {
            fs::create_dir_all(dir.path("home/.local/share/Steam/steamapps/compatdata/489830")).unwrap();
            symlink("nowhere", dir.path("home/.local/share/Steam/steamapps/compatdata/489830/pfx")).unwrap();
            ("game", "489830/pfx", false)
        }
        // OpenMW is in a folder that the search cannot enter, so its first settings are lost.
        "lists: openmw locked" => {
            openmw(dir);
            lock("home/Games/openmw-0.49");
            ("openmw", "Games/openmw-0.49", true)
        }
        "lists: openmw link" => {
            openmw(dir);
            replace_by_link(dir, "home/Games/openmw-0.49", "nowhere");
            ("home/.config/openmw", "Games/openmw-0.49", false)
        }
        // Each file is read once, as OpenMW does, so nothing is lost.
        "healthy circle" => {
            openmw(dir);
            for (folder, config) in
                [("Games/openmw-0.49", "."), (".config/openmw", "../../Games/openmw-0.49")]
            {
                let path = dir.path("home").join(folder).join("openmw.cfg");
                let text = fs::read_to_string(&path).unwrap();
                fs::write(path, format!("{text}config={config}\n")).unwrap();
            }
            ("openmw", "not looked at", false)
        }
        "lists: pattern link" => {
            symlink("nowhere", dir.path("files/z.bsa")).unwrap();
            ("p.toml", "z.bsa", false)
        }
        "lists: pattern fifo" => {
            fifo("files/z.bsa");
            ("p.toml", "z.bsa", false)
        }
        _ => return None,
    })
}

/// Makes a world with a fault. Returns `None` for a column that is not known.
fn fault(dir: &TestDir, column: &'static str) -> Option<Fault> {
    if column.contains(' ') {
        if column.starts_with("archive") || column == "healthy folder" {
            sources(dir);
        } else {
            lists(dir);
        }
        let (source, subject, as_user) = fault_of_order(dir, column)?;
        if as_user {
            dir.give_to_user();
        }
        let of_pack = column.starts_with("archive").then_some(if as_user { 66 } else { 1 });
        return Some(Fault { source, as_user, of_pack, subject, asked: "c.txt", disk: None });
    }
    let (subject, asked) = match column {
        "archive" => ("src/cut.bsa", "c.txt"),
        "names" => ("src/names.ba2", "c.txt"),
        "folder" => ("meshes/locked", "meshes/locked/x.nif"),
        "file" => ("secret.txt", "secret.txt"),
        "disk" => ("a.bsa", "c.txt"),
        "damage" => ("sound/bad.wav", "sound/bad.wav"),
        "link" => ("there.txt", "there.txt"),
        "lost" => ("gone", "gone.txt"),
        "root" => ("src", "c.txt"),
        _ => return None,
    };
    let mut disk = None;
    match column {
        "disk" | "lost" | "root" => {
            let archive = Tes3::new().file("meshes\\a.nif", b"archived").build();
            let files = vec![
                ("a.bsa", archive.clone()),
                ("gone.bsa", archive),
                ("c.txt", b"c".to_vec()),
                ("gone.txt", b"gone".to_vec()),
            ];
            fs::create_dir(dir.path("copy")).unwrap();
            for (name, content) in &files {
                fs::write(dir.path("copy").join(name), content).unwrap();
            }
            let made = disk.insert(Disk::mount(&dir.path("src"), files));
            made.set(match column {
                "disk" => Mode::Fails,
                "lost" => Mode::Loses("gone"),
                _ => Mode::FailsToList,
            });
        }
        _ => sources(dir),
    }
    match column {
        "archive" => {
            let whole = Tes3::new().file("meshes\\cut.nif", b"cut").build();
            dir.archive("copy/cut.bsa", &whole);
            dir.archive("src/cut.bsa", &whole[..20]);
        }
        "names" => {
            let whole = Ba2::general(1).file("misc/one.txt", b"one").file("misc/two.txt", b"two").build();
            dir.archive("copy/names.ba2", &whole);
            dir.archive("src/names.ba2", &whole[..whole.len() - 1]);
        }
        "folder" => {
            fs::set_permissions(dir.path("src/meshes/locked"), Permissions::from_mode(0o000)).unwrap()
        }
        "file" => fs::set_permissions(dir.path("src/secret.txt"), Permissions::from_mode(0o000)).unwrap(),
        "damage" => {
            dir.archive("src/bad.bsa", &with_a_bad_file());
            for (name, len) in SIZES_WITH_A_BAD_FILE {
                let path = dir.path("copy").join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, vec![0; len]).unwrap();
            }
        }
        "link" => {
            fs::remove_file(dir.path("src/there.txt")).unwrap();
            symlink("nowhere", dir.path("src/there.txt")).unwrap();
        }
        _ => {}
    }
    let as_user = matches!(column, "folder" | "file");
    if as_user {
        dir.give_to_user();
    }
    Some(Fault { source: "src", as_user, of_pack: None, subject, asked, disk })
}

/// The files of [`with_a_bad_file`].
const SIZES_WITH_A_BAD_FILE: [(&str, usize); 4] = [
    ("scripts/source/Main.psc", 3_000),
    ("scripts/main.pex", 2_000),
    ("sound/bad.wav", 9_000),
    ("sound/good.wav", 10_000),
];

/// Whether the ordinary user of the tests may mount.
fn may_users_mount() -> bool {
    !is_root() || fs::metadata("/dev/fuse").unwrap().permissions().mode() & 0o006 == 0o006
}

/// The arguments of a row of the table.
fn arguments(row: &str, Fault { source, asked, .. }: &Fault, number: usize) -> Vec<String> {
    let out = format!("out{number}");
    let more: &[&str] = match row.split(' ').next().unwrap() {
        "cat" | "which" | "why" => &[source, asked],
        "extract" => &[source, "-C", &out, "--follow-links"],
        // Only folders have a copy that shows the same files.
        "diff" if *asked == "c.txt" => &[source, source],
        "conflicts" | "diff" => &[source, "copy"],
        "pack" => &[source, "--game", "morrowind", "--name", "Q", "--all", "-o", &out, "--follow-links"],
        "mount" => &[source, "mnt"],
        _ => &[source],
    };
    let more = match row {
        "which" | "why" => vec!["--in", source, asked],
        "reload" => vec!["mnt"],
        IN_MOUNT => return vec!["which".to_owned(), format!("mnt/{asked}")],
        _ => more.to_vec(),
    };
    row.split(' ').chain(more).map(str::to_owned).collect()
}

/// The row about a path in a mount of the source.
const IN_MOUNT: &str = "which in a mount";

fn has_json(row: &str) -> bool {
    !matches!(row, "list -l" | "list --hash" | "cat" | "extract" | "mount" | "reload")
}

/// Whether a command of a row mounts the source, or has it mounted.
fn mounts(row: &str) -> bool {
    matches!(row, "mount" | "reload" | IN_MOUNT)
}

/// Runs the program, and removes what it mounted.
fn run_in(dir: &TestDir, fault: &Fault, arguments: &[String]) -> Finished {
    let finished = start_in(dir, fault, arguments);
    // The folder is removed once it is unmounted. A child that another test forks may hold it for a while.
    let mnt = dir.path("mnt");
    until("the unmount", || {
        let is_mounted = mounts_below(&mnt).contains(&mnt);
        !is_mounted && !mnt.exists() || is_mounted && unmount(&mnt).code == 0 && !mnt.exists()
    });
    finished
}

fn start_in(dir: &TestDir, fault: &Fault, arguments: &[String]) -> Finished {
    let home = format!("HOME={}", dir.path("home").display());
    if fault.as_user {
        // runuser sets another home.
        let program = dir.path("bsafs").display().to_string();
        run(&mut dir.as_user("env", [&[home, program], arguments].concat()))
    } else {
        run(dir.bsafs(arguments).env("HOME", dir.path("home")))
    }
}

/// The table of `bsafs help scripting`: for each command and column, the exit status.
fn table(dir: &TestDir) -> BTreeMap<String, Vec<(String, i32)>> {
    let help = dir.run(["help", "scripting"]).success();
    let rows: Vec<Vec<String>> = (help.lines().filter(|line| line.starts_with('|')))
        .map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect())
        .collect();
    let heads = rows[0][1..].to_vec();
    let row = |row: &Vec<String>| {
        let cells = row[1..].iter().map(|cell| cell.parse().unwrap());
        (row[0].clone(), heads.iter().cloned().zip(cells).collect())
    };
    rows[2..].iter().map(row).collect()
}

#[test]
fn every_command_says_what_it_could_not_look_at_and_ends_with_the_status_of_the_table() {
    check_columns(&["archive", "names", "folder", "file", "disk", "damage", "link", "lost", "root"]);
}

#[test]
fn every_command_says_which_archive_may_have_a_path_that_it_asks_for() {
    check_columns(&["archive: link", "archive: circle", "archive: fifo", "archive: locked"]);
}

#[test]
fn every_command_says_what_it_could_not_look_at_of_the_lists_of_a_mod_manager() {
    check_columns(&[
        "lists: mods locked",
        "lists: mods link",
        "lists: mod locked",
        "lists: mod link",
        "lists: mod circle",
        "lists: modlist locked",
        "lists: plugins fifo",
    ]);
}

#[test]
fn every_command_says_what_it_could_not_look_at_of_settings_plugins_and_patterns() {
    check_columns(&[
        "lists: parent locked",
        "lists: parent link",
        "lists: header cut",
        "lists: header zeros",
        "lists: header locked",
        "lists: plugin link",
        "lists: prefixes locked",
        "lists: prefix link",
        "lists: openmw locked",
        "lists: openmw link",
        "lists: pattern link",
        "lists: pattern fifo",
    ]);
}

#[test]
fn every_command_is_quiet_about_a_source_without_a_fault() {
    check_columns(&[
        "healthy folder",
        "healthy instance",
        "healthy settings",
        "healthy circle",
        "healthy game",
        "healthy profile",
    ]);
}

/// The folders that faults lock.
const LOCKED: [&str; 5] =
    ["src/meshes/locked", "src/mods", "src/mods/Base", "data/parent", "home/Games/openmw-0.49"];

/// Runs every command over the faults of these columns, of which each may be one of several kinds: with no
/// option, with `-q` or with `-q --json`, in turn, so that each command and each fault meets all three. With
/// `BSAFS_ALL`, each runs with all.
fn check_columns(columns: &[&'static str]) {
    let table = table(&TestDir::new());
    assert!(table.len() >= 17, "{table:?}");
    let is_all = std::env::var_os("BSAFS_ALL").is_some();
    let (wrong, mut number) = (RefCell::new(Vec::new()), 0);
    for (nth, &column) in columns.iter().enumerate() {
        let dir = TestDir::new();
        let fault = fault(&dir, column).unwrap();
        for (turn, (row, cells)) in (nth..).zip(&table) {
            if mounts(row) && fault.as_user && !may_users_mount() {
                continue;
            }
            let (column_name, _) = column.split_once(':').unwrap_or((column, ""));
            let in_table = cells.iter().find(|(of, _)| of == column_name).map(|&(_, status)| status);
            let expected = match fault.of_pack.filter(|_| row == "pack") {
                Some(status) => status,
                // Nothing is wrong. Two sources that show the same files have conflicts, and no differences.
                None => in_table.unwrap_or(0),
            };
            let mut check = |options: &[&str]| {
                number += 1;
                let mut arguments = arguments(row, &fault, number);
                arguments.splice(1..1, options.iter().map(|&it| it.to_owned()));
                if mounts(row) && row != "mount" {
                    start_in(&dir, &fault, &["mount", "-q", fault.source, "mnt"].map(str::to_owned));
                }
                let finished = run_in(&dir, &fault, &arguments);
                if finished.code != expected {
                    wrong.borrow_mut().push(format!("{column}: {arguments:?}: {expected}: {finished:?}"));
                }
                // A mount needs no content, but says what it cannot show.
                let is_said =
                    expected != 0 || row == "mount" && table["list"].contains(&(column_name.into(), 1));
                // Damage is what `verify` prints as its result, and a mount has a line about what is odd.
                let is_answer = matches!(&**row, "verify" | "mount") || row == "why" && is_said;
                let said =
                    if is_answer { [&*finished.err, &*finished.out].concat() } else { finished.err.clone() };
                // What cannot be mounted has no mountpoint to ask.
                let subject =
                    if column == "root" && mounts(row) && row != "mount" { "mnt" } else { fault.subject };
                if is_said != said.contains(subject) {
                    wrong.borrow_mut().push(format!("{column}: {arguments:?}: not said: {finished:?}"));
                }
                (finished, is_said)
            };
            let is_list = row == "list";
            let takes_turn = |one: usize| is_all || turn % 3 == one;
            let loud = (is_list || takes_turn(0) || takes_turn(1) && !has_json(row)).then(|| check(&[]).0);
            let quiet = (is_list || takes_turn(2)).then(|| check(&["-q"]).0);
            if let (true, Some(loud), Some(quiet)) = (is_list, loud, quiet)
                && (loud.out != quiet.out || expected != 66 && !loud.out.contains("c.txt"))
            {
                wrong.borrow_mut().push(format!("{column}: {row}: the rest is not listed: {loud:?}"));
            }
            if !has_json(row) || !takes_turn(1) {
                continue;
            }
            let (Finished { out, .. }, is_said) = check(&["-q", "--json"]);
            for line in out.lines() {
                serde_json::from_str::<Value>(line).unwrap();
            }
            // A command that fails altogether prints no JSON.
            if is_said && expected == 1 && row != "pack" && column != "root" && !out.contains(fault.subject) {
                wrong.borrow_mut().push(format!("{column}: {row} --json: not in {out}"));
            }
        }
        drop(fault.disk);
        for locked in LOCKED {
            let _ = fs::set_permissions(dir.path(locked), Permissions::from_mode(0o755));
        }
    }
    let wrong = wrong.into_inner();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_was_not_looked_at_is_about_a_path_however_the_path_is_written() {
    let dir = TestDir::new();
    let names: [&[u8]; 4] = [b"\xff", b"\xfe", b"new\nline", b"back\\slash"];
    let locked = |name: &[u8]| dir.path("mod/textures").join(OsStr::from_bytes(name));
    for name in names {
        fs::create_dir_all(locked(name)).unwrap();
        fs::create_dir_all(dir.path("low/textures").join(OsStr::from_bytes(name))).unwrap();
        fs::write(dir.path("low/textures").join(OsStr::from_bytes(name)).join("a.dds"), "DDS ").unwrap();
    }
    dir.give_to_user();
    let asked = |name: &[u8]| {
        let paths: &[&str] = match name {
            b"\xff" => &["textures/%FF/a.dds", r"Textures\%ff\none.dds", "textures/%FF", "b.dds"],
            b"new\nline" => {
                &["textures/new%0Aline/a.dds", "textures/new\nline/none.dds", "mod/textures/new\nline/a.dds"]
            }
            b"back\\slash" => &["textures/back%5Cslash/a.dds"],
            _ => &["textures/%FE/a.dds"],
        };
        paths.to_vec()
    };
    for name in names {
        fs::set_permissions(locked(name), Permissions::from_mode(0o000)).unwrap();
        for of in names {
            for path in asked(of) {
                let found = run(&mut dir.as_user(dir.path("bsafs"), ["which", "-q", "low", "mod", path]));
                let is_about = of == name || path == "b.dds";
                let said = found.err.contains("not looked at: ");
                assert_eq!(said, is_about, "{path}: {found:?}");
                assert!(!said || found.code == 1, "{path}: {found:?}");
            }
        }
        fs::set_permissions(locked(name), Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn a_folder_in_a_mount_counts_only_what_may_be_in_it() {
    if !may_users_mount() {
        return;
    }
    let dir = TestDir::new();
    for name in ["low/meshes/a.nif", "mod/textures/t/a.dds", "mod/meshes/b.nif"] {
        fs::create_dir_all(dir.path(name).parent().unwrap()).unwrap();
        fs::write(dir.path(name), name).unwrap();
    }
    fs::set_permissions(dir.path("mod/textures/t"), Permissions::from_mode(0o000)).unwrap();
    dir.give_to_user();
    let asked = |arguments: &[&str]| run(&mut dir.as_user(dir.path("bsafs"), arguments));
    asked(&["mount", "low", "mod", "mnt"]);
    for (folder, code) in [("meshes", 0), ("textures", 1), ("textures/t", 1), ("", 1)] {
        let listed = asked(&["list", "-q", &format!("mnt/{folder}")]);
        assert_eq!(
            (listed.code, listed.err.contains("textures/t")),
            (code, code != 0),
            "{folder}: {listed:?}"
        );
    }
    // Its status names it for programs, and does not call a folder a file.
    let status = asked(&["status", "--json", "mnt"]);
    let line: Value = serde_json::from_str(&status.out).unwrap();
    assert_eq!(line["not_looked_at"][0]["at"], Value::from(vec!["textures/t"]), "{line}");
    assert_eq!(line["odd"][0]["text"], "1 path that cannot be read", "{line}");
    // A source that cannot be opened any more stays as it was.
    fs::set_permissions(dir.path("low"), Permissions::from_mode(0o000)).unwrap();
    for (arguments, code) in [(&["reload", "-q", "mnt"][..], 65), (&["which", "-q", "mnt/meshes/b.nif"], 1)] {
        let found = asked(arguments);
        assert!(found.code == code && found.err.contains("low: not looked at: "), "{found:?}");
    }
    fs::set_permissions(dir.path("low"), Permissions::from_mode(0o755)).unwrap();
    unmount(&dir.path("mnt"));
    fs::set_permissions(dir.path("mod/textures/t"), Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_page_names_the_textures_that_it_cannot_read() {
    let dir = TestDir::new();
    for name in ["one/a.dds", "two/a.dds", "two/b.dds"] {
        fs::create_dir_all(dir.path(name).parent().unwrap()).unwrap();
        fs::write(dir.path(name), name.repeat(40 + usize::from(name.starts_with("two")))).unwrap();
    }
    dir.give_to_user();
    fs::set_permissions(dir.path("two/a.dds"), Permissions::from_mode(0o000)).unwrap();
    for arguments in [
        ["conflicts", "-q", "one", "two", "--html", "p.html"],
        ["diff", "-q", "one", "two", "--html", "d.html"],
    ] {
        let found = run(&mut dir.as_user(dir.path("bsafs"), arguments));
        assert!(found.code == 1 && found.err.contains("two/a.dds: not looked at: "), "{found:?}");
    }
}

#[test]
fn order_names_a_folder_that_can_be_listed_and_not_entered() {
    let dir = TestDir::new();
    fs::create_dir(dir.path("mod")).unwrap();
    fs::write(dir.path("mod/a.txt"), "a").unwrap();
    dir.give_to_user();
    fs::set_permissions(dir.path("mod"), Permissions::from_mode(0o444)).unwrap();
    for more in [&[][..], &["--json"]] {
        let found = run(&mut dir.as_user(dir.path("bsafs"), [&["order", "-q", "mod"][..], more].concat()));
        assert!(found.code == 1 && (found.out + &found.err).contains("mod"), "{more:?}");
    }
    fs::set_permissions(dir.path("mod"), Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_is_in_the_way_of_a_file_is_named_whatever_is_kept() {
    type Make = fn(&TestDir);
    let dir = TestDir::new();
    for name in ["mod/a.txt", "mod/deep/b.txt", "mod/c.txt", "kept.txt"] {
        fs::create_dir_all(dir.path(name).parent().unwrap()).unwrap();
        fs::write(dir.path(name), name).unwrap();
    }
    let make: [(&str, Make); 3] = [
        ("a.txt", |dir| fs::create_dir(dir.path("out/a.txt")).unwrap()),
        ("deep/b.txt", |dir| fs::write(dir.path("out/deep"), "").unwrap()),
        ("c.txt", |dir| symlink("nowhere", dir.path("out/c.txt")).unwrap()),
    ];
    for (name, make) in make {
        fs::create_dir(dir.path("out")).unwrap();
        make(&dir);
        for option in ["--skip-existing", "--dry-run", "--overwrite"] {
            for more in [&[][..], &["--dry-run"]] {
                let arguments = [&["extract", "mod", "-C", "out", option, "-q"][..], more].concat();
                if option == "--dry-run" && !more.is_empty() {
                    continue;
                }
                let found = dir.run(&arguments);
                assert!(found.code == 1 && found.err.contains(name), "{arguments:?}: {found:?}");
                if option != "--dry-run" && more.is_empty() {
                    fs::remove_dir_all(dir.path("out")).unwrap();
                    fs::create_dir(dir.path("out")).unwrap();
                    make(&dir);
                }
            }
        }
        fs::remove_dir_all(dir.path("out")).unwrap();
    }
    // A link to a file is kept, as a file is.
    fs::create_dir(dir.path("out")).unwrap();
    symlink("../kept.txt", dir.path("out/a.txt")).unwrap();
    dir.run(["extract", "-q", "mod", "-C", "out", "--skip-existing"]).success();
}

#[test]
fn output_that_cannot_be_written_and_input_that_cannot_be_read_are_failures() {
    let dir = TestDir::new();
    fs::create_dir(dir.path("mod")).unwrap();
    fs::write(dir.path("mod/a.txt"), "a").unwrap();
    let program = dir.bsafs([""; 0]).get_program().to_str().unwrap().to_owned();
    let shell = |script: &str| {
        // The path of the program may contain spaces.
        let script = script.replace("bsafs", &format!("'{program}'"));
        run(Command::new("sh")
            .args(["-c", &script])
            .current_dir(dir.path(""))
            .envs([crate::watchdog::mark()]))
    };
    for script in [
        "bsafs --help >/dev/full",
        "bsafs --version >/dev/full",
        "bsafs list --help >/dev/full",
        "bsafs cat mod a.txt 1<mod/a.txt",
        "bsafs list mod 1<mod/a.txt",
    ] {
        let found = shell(script);
        assert!(found.code == 74 && found.err.contains("cannot write the output"), "{script}: {found:?}");
    }
    let found = shell("bsafs which --in mod --files-from - 0>unread");
    assert!(found.code == 66 && !found.err.is_empty(), "{found:?}");
}

#[test]
fn verify_names_every_archive_that_it_cannot_open_and_goes_on() {
    let dir = TestDir::new();
    let whole = Tes3::new().file("meshes\\a.nif", b"archived").build();
    for folder in ["mod", "home/Games/Skyrim/Data"] {
        fs::create_dir_all(dir.path(folder)).unwrap();
        for name in ["1.bsa", "3.bsa"] {
            dir.archive(&format!("{folder}/{name}"), &whole[..20]);
        }
        dir.archive(&format!("{folder}/2.bsa"), &with_a_bad_file());
    }
    let lists = ["1", "2", "3"].map(|name| format!("fallback-archive={name}.bsa\n")).concat();
    fs::write(dir.path("openmw.cfg"), format!("data=home/Games/Skyrim/Data\n{lists}")).unwrap();
    for (arguments, code) in [
        (&["verify", "-q", "mod"][..], 1),
        (&["verify", "-q", "openmw.cfg"], 1),
        (&["verify", "-q", "mod/1.bsa", "mod/2.bsa", "mod/3.bsa"], 65),
        (&["verify", "-q", "none.bsa", "mod/1.bsa", "mod/2.bsa", "mod/3.bsa"], 66),
    ] {
        let finished = dir.run(arguments);
        assert_eq!(finished.code, code, "{finished:?}");
        assert!(finished.err.contains("1.bsa: ") && finished.err.contains("3.bsa: "), "{finished:?}");
        assert!(finished.out.starts_with("bad: sound/bad.wav"), "{finished:?}");
        let json = dir.run([arguments, &["--json"]].concat());
        let lines: Vec<Value> = json.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let named = lines.iter().filter(|line| line["not_looked_at"].is_string()).count();
        assert_eq!((json.code, named), (code, arguments.iter().filter(|it| **it == "none.bsa").count() + 2));
    }
    // They are no sound loose files either.
    let out = dir.run(["verify", "mod"]).out;
    assert!(out.ends_with("mod: 0 files, 2 not looked at, nothing wrong found in the rest\n"), "{out}");
}

#[test]
fn a_texture_without_all_its_texels_is_written_and_named() {
    let dir = TestDir::new();
    // BC1 of 8 x 8 texels has 32 bytes.
    let texture = Ba2File::texture("a.dds", Texture::new(71, 8, 8, 1)).chunk(Chunk::stored(vec![0; 8]));
    dir.archive("t.ba2", &Ba2::textures(1).add(texture).build());
    let what = "it has 8 of 32 bytes of texels";
    let finished = dir.run(["extract", "-q", "t.ba2", "-C", "out"]);
    assert_eq!((finished.code, finished.out.as_str()), (1, ""), "{finished:?}");
    assert!(finished.err.contains(&format!("a.dds: {what}")), "{finished:?}");
    assert_eq!(fs::metadata(dir.path("out/a.dds")).unwrap().len(), 128 + 8);
    let output = dir.bsafs(["cat", "-q", "t.ba2", "a.dds"]).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(65), 128 + 8));
    assert!(String::from_utf8_lossy(&output.stderr).contains(what), "{output:?}");
}

#[test]
fn verify_opens_the_archives_in_subfolders_of_a_folder() {
    let dir = TestDir::new();
    let whole = Tes3::new().file("meshes\\a.nif", b"archived").build();
    fs::create_dir_all(dir.path("mods/One/deep")).unwrap();
    dir.archive("mods/top.bsa", &whole);
    dir.archive("mods/One/one.bsa", &whole);
    dir.archive("mods/One/deep/deep.bsa", &whole);
    fs::write(dir.path("mods/One/readme.txt"), "text").unwrap();
    symlink("deep", dir.path("mods/One/again")).unwrap();
    let printed = dir.run(["verify", "mods"]).success();
    let lines: Vec<&str> = printed.lines().map(|line| line.split(", nothing").next().unwrap()).collect();
    let expected = [
        "/mods/top.bsa: 1 file",
        "/mods/One/again/deep.bsa: 1 file",
        "/mods/One/one.bsa: 1 file",
        "mods: 1 file",
    ];
    assert!(
        expected.iter().all(|line| lines.iter().any(|it| it.ends_with(line))) && lines.len() == 4,
        "{printed}"
    );
    // As files, no archive is opened.
    fs::write(dir.path("p.toml"), "archives = ['mods']\noptions = 'archives=files'").unwrap();
    assert!(dir.run(["verify", "p.toml"]).success().starts_with("mods: 5 files, nothing wrong found"));

    dir.archive("mods/One/one.bsa", &whole[..20]);
    dir.archive("mods/One/deep/deep.bsa", &with_a_bad_file());
    let finished = dir.run(["verify", "-q", "mods"]);
    assert_eq!((finished.code, finished.out.contains("bad: sound/bad.wav")), (1, true), "{finished:?}");
    assert!(finished.err.contains("mods/One/one.bsa: not looked at: "), "{finished:?}");
}

#[test]
fn verify_does_not_call_a_file_bad_for_which_there_is_no_memory() {
    let dir = TestDir::new();
    let large = Tes4File::new("large.nif", vec![]).stream(pack::zlib_zeros(600)).declared(600 << 20);
    let archive = Tes4::new(104).flags(FOLDER_NAMES | FILE_NAMES | PACKED).add("meshes", large);
    dir.archive("a.bsa", &archive.file("meshes", "small.nif", b"small").build());
    let script = format!("ulimit -v 400000 && exec '{}' verify a.bsa", env!("CARGO_BIN_EXE_bsafs"));
    let finished = run(Command::new("sh").args(["-c", &script]).current_dir(dir.path("")));
    assert_eq!(finished.code, 1, "{finished:?}");
    assert!(
        finished.err.contains("a.bsa: meshes/large.nif: not looked at: not enough memory"),
        "{finished:?}"
    );
    let verdict = "a.bsa: 2 files, 1 not looked at, nothing wrong found in the rest\n";
    assert!(finished.out.ends_with(verdict), "{finished:?}");
}

#[test]
fn a_mount_of_another_user_in_a_folder_is_named_in_plain_words() {
    let dir = TestDir::new();
    fs::create_dir_all(dir.path("src/theirs")).unwrap();
    fs::write(dir.path("src/c.txt"), b"c").unwrap();
    if is_root() {
        let theirs = dir.path("src/theirs");
        assert_eq!(run(Command::new("chown").arg("nobody").arg(theirs)).code, 0);
    }
    let fake = FakeMount::start(&dir.path("src/theirs"), &Answers::default());
    let finished = dir.run(["list", "-q", "src"]);
    assert_eq!((finished.code, finished.out.as_str()), (1, "c.txt\n"), "{finished:?}");
    assert!(finished.err.contains("src/theirs: not looked at: "), "{finished:?}");
    assert!(!finished.err.contains("cross-device"), "{finished:?}");
    drop(fake);
}

#[test]
fn a_file_that_cannot_be_read_is_not_called_equal_to_itself() {
    let dir = TestDir::new();
    let bad = dir.archive("bad.bsa", &with_a_bad_file());
    symlink(&bad, dir.path("again.bsa")).unwrap();
    fs::create_dir_all(dir.path("one/locked")).unwrap();
    fs::write(dir.path("one/secret.txt"), b"secret").unwrap();
    fs::set_permissions(dir.path("one/secret.txt"), Permissions::from_mode(0o000)).unwrap();
    symlink("one", dir.path("two")).unwrap();
    dir.give_to_user();
    for (command, sources, what) in [
        ("diff", ["bad.bsa", "again.bsa"], "sound/bad.wav"),
        ("conflicts", ["bad.bsa", "again.bsa"], "sound/bad.wav"),
        ("diff", ["one", "two"], "secret.txt"),
        ("conflicts", ["one", "two"], "secret.txt"),
    ] {
        let compare: &[&str] = &["--compare", "-q"];
        let finished = run(&mut dir.bsafs_as_user([&[command], compare, &sources[..]].concat()));
        assert_eq!(finished.code, 1, "{command} {sources:?}: {finished:?}");
        assert!(finished.err.contains(what), "{command} {sources:?}: {finished:?}");
    }
    // What can be read is equal.
    let finished =
        run(&mut dir.bsafs_as_user(["diff", "--compare", "bad.bsa", "again.bsa", "-g", "good.wav"]));
    assert_eq!(
        (finished.code, &*finished.out),
        (0, "0 added, 0 removed, 0 changed, 1 equal; only --glob good.wav\n")
    );
}

#[test]
fn an_archive_that_was_never_finished_is_damaged_in_every_command() {
    let dir = TestDir::new();
    let unfinished = |name: &str| Tes4File::new(name, "x").record_size(0).record_offset(0);
    let archive = Tes4::new(105).flags(FOLDER_NAMES | FILE_NAMES).add("a", unfinished("b.nif"));
    dir.archive("u.bsa", &archive.add("a", unfinished("c.nif")).build());
    for arguments in [
        &["list", "u.bsa"][..],
        &["cat", "u.bsa", "a/b.nif"],
        &["extract", "u.bsa", "-C", "out"],
        &["verify", "u.bsa"],
        &["info", "u.bsa"],
        &["which", "--in", "u.bsa", "a/b.nif"],
        &["diff", "u.bsa", "u.bsa"],
        &["names", "u.bsa"],
    ] {
        let finished = dir.run([&arguments[..1], &["-q"], &arguments[1..]].concat());
        assert_eq!(finished.code, 1, "{arguments:?}: {finished:?}");
        assert!(finished.err.contains("u.bsa: damaged: the archive was never finished"), "{finished:?}");
    }
    let verified = dir.run(["verify", "u.bsa"]).out;
    assert!(verified.ends_with("u.bsa: 2 files, the archive is damaged\n"), "{verified}");
}

#[test]
fn names_says_which_archive_lacks_names() {
    let dir = TestDir::new();
    let archive = Ba2::general(1).file("misc/one.txt", b"one").file("misc/two.txt", b"two").build();
    dir.archive("whole.ba2", &archive);
    assert_eq!(dir.run(["names", "whole.ba2"]).success(), "misc/one.txt\nmisc/two.txt\n");
    dir.archive("cut.ba2", &archive[..archive.len() - 3]);
    let finished = dir.run(["names", "-q", "cut.ba2"]);
    assert_eq!((finished.code, &*finished.out), (1, "misc/one.txt\n"), "{finished:?}");
    assert!(finished.err.contains("cut.ba2: damaged: "), "{finished:?}");
    // A name that a packer left blank is none that was lost.
    let blank = Ba2::general(1).file("misc/one.txt", b"one").add(Ba2File::general("x.txt").stored_name(b""));
    dir.archive("blank.ba2", &blank.build());
    assert_eq!(dir.run(["names", "blank.ba2"]).success(), "misc/one.txt\n");
    let lines = Ba2::general(1).file("misc/one.txt", b"one").file("two\nlines.txt", b"two");
    dir.archive("lines.ba2", &lines.build());
    let finished = dir.run(["names", "-q", "lines.ba2"]);
    assert_eq!((finished.code, &*finished.out), (1, "misc/one.txt\n"), "{finished:?}");
}

#[test]
fn a_file_whose_stream_is_longer_than_declared_is_named_and_not_packed() {
    let dir = TestDir::new();
    let content = b"content ".repeat(100);
    let longer = Ba2File::general("misc/a.txt").chunk(Chunk::packed(pack::zlib(&content), 799));
    dir.archive("l.ba2", &Ba2::general(1).add(longer).file("misc/b.txt", b"b").build());
    let what = "its stream holds more bytes than declared";
    let verified = dir.run(["verify", "l.ba2"]);
    assert!(verified.out.starts_with(&format!("bad: misc/a.txt: {what}")), "{verified:?}");
    assert_eq!(verified.code, 1);
    let extracted = dir.run(["extract", "-q", "l.ba2", "-C", "out"]);
    assert!(extracted.code == 1 && extracted.err.contains(&format!("misc/a.txt: {what}")), "{extracted:?}");
    // What the game reads is written.
    assert_eq!(fs::read(dir.path("out/misc/a.txt")).unwrap(), &content[..799]);
    let shown = dir.run(["cat", "-q", "l.ba2", "misc/a.txt"]);
    assert!(shown.code == 65 && shown.err.contains(what), "{shown:?}");
    // The bytes that it has are not known to be all.
    fs::copy(dir.path("l.ba2"), dir.path("m.ba2")).unwrap();
    for arguments in [["diff", "--compare", "l.ba2", "m.ba2"], ["conflicts", "--compare", "l.ba2", "m.ba2"]] {
        let compared = dir.run(arguments);
        assert!(compared.code == 1 && (compared.out + &compared.err).contains(what), "{arguments:?}");
    }
    let packed =
        dir.run(["pack", "-q", "l.ba2", "--game", "fallout4", "--name", "P", "--all", "-o", "packed"]);
    assert!(packed.code != 0 && packed.err.contains(what), "{packed:?}");
}

#[test]
fn the_name_of_a_download_chooses_no_folder_of_the_users_settings() {
    let dir = TestDir::new();
    fs::create_dir(dir.path("mod")).unwrap();
    dir.archive("mod/.ssh.bsa", &Tes3::new().file("authorized_keys", b"key").build());
    dir.archive("mod/config.bsa", &Tes3::new().file("a.txt", b"a").build());
    fs::write(dir.path("mod/.config.toml"), "archives = ['config.bsa']").unwrap();
    fs::write(dir.path("mod/config.toml"), "archives = ['config.bsa']").unwrap();
    for folder in [".ssh", ".config", "config"] {
        fs::create_dir(dir.path(folder)).unwrap();
    }
    for source in ["mod/.ssh.bsa", "mod/.config.toml", "mod/config.toml"] {
        dir.run(["extract", source]).success();
    }
    for folder in [".ssh", ".config", "config"] {
        assert_eq!(fs::read_dir(dir.path(folder)).unwrap().count(), 0, "{folder}");
        assert_eq!(fs::read_dir(dir.path(format!("{folder} (2)"))).unwrap().count(), 1, "{folder}");
    }
    // Extracting an archive again goes on in its folder.
    dir.run(["extract", "mod/config.bsa"]).success();
    assert_eq!(fs::read_dir(dir.path("config")).unwrap().count(), 1);
}

#[test]
fn needs_says_what_may_have_a_texture_or_name_it() {
    let dir = TestDir::new();
    fs::create_dir_all(dir.path("low/textures/t")).unwrap();
    fs::create_dir_all(dir.path("mod/textures/t")).unwrap();
    fs::create_dir_all(dir.path("mod/meshes")).unwrap();
    fs::write(dir.path("low/textures/t/a.dds"), b"DDS ").unwrap();
    fs::write(dir.path("mod/meshes/a.nif"), Nif::SkyrimSe.naming(&["textures\\t\\a.dds"])).unwrap();
    let asked = |more: &[&str]| dir.run([&["needs", "-q", "low", "mod"], more].concat());
    assert_eq!(asked(&["meshes/a.nif"]).code, 0);
    symlink("nowhere", dir.path("mod/textures/t/a.dds")).unwrap();
    symlink("nowhere", dir.path("mod/meshes/b.nif")).unwrap();
    for (more, subject) in [(["meshes/a.nif", "--json"], "t/a.dds"), (["--who", "textures/t/a.dds"], "b.nif")]
    {
        let found = asked(&more);
        assert!(found.code == 1 && (found.out + &found.err).contains(subject), "{more:?}");
    }
}

#[test]
fn pack_says_what_it_could_not_look_at_in_the_game_that_it_predicts() {
    let dir = TestDir::new();
    lists(&dir);
    fs::create_dir_all(dir.path("new/meshes")).unwrap();
    fs::write(dir.path("new/meshes/n.nif"), b"n").unwrap();
    let arguments = ["pack", "-n", "-q", "new", "--game", "skyrimse", "--name", "N", "--in", "game"];
    let before = dir.run(arguments);
    assert_eq!((before.code, &*before.err), (0, ""), "{before:?}");
    fs::write(dir.path("game/Data/Light.esp"), &plugin(4, 0x200, &["Skyrim.esm"])[..40]).unwrap();
    let after = dir.run(arguments);
    assert!(after.code == 1 && after.err.contains("Light.esp"), "{after:?}");
}

#[test]
fn why_names_what_it_could_not_look_at_and_may_decide() {
    let dir = TestDir::new();
    fs::create_dir_all(dir.path("mod/textures")).unwrap();
    fs::write(dir.path("mod/textures/a.txt"), b"a").unwrap();
    dir.archive("mod/cut.bsa", &Tes3::new().file("textures\\a.txt", b"other").build()[..20]);
    for (thing, code) in [("textures/a.txt", 0), ("textures/none.txt", 1)] {
        for more in [&[][..], &["--json"]] {
            let found = dir.run([&["why", "--in", "mod", thing][..], more].concat());
            assert!(found.code == code && found.out.contains("cut.bsa"), "{thing} {more:?}: {found:?}");
        }
    }
    let dir = TestDir::new();
    lists(&dir);
    fault_of_order(&dir, "lists: plugins fifo").unwrap();
    let found = dir.run(["why", "--in", "src", "Light.esp"]);
    assert!(found.code == 1 && found.out.contains("plugins.txt could not be looked at"), "{found:?}");
    assert!(!found.out.contains("turn it on"), "{found:?}");
}

#[test]
fn a_texture_or_voice_that_is_cut_off_and_cannot_be_converted_is_named() {
    let dir = TestDir::new();
    let dds = |len: usize| -> Vec<u8> {
        let archive = Ba2::textures(1)
            .add(Ba2File::texture("a.dds", Texture::new(71, 16, 16, 1)).chunk(Chunk::stored(vec![5; 128])))
            .build();
        let dir = TestDir::new();
        dir.archive("t.ba2", &archive);
        let mut whole = dir.bsafs(["cat", "t.ba2", "a.dds"]).output().unwrap().stdout;
        assert_eq!(whole.len(), 256);
        whole.truncate(len);
        whole
    };
    fs::create_dir(dir.path("mod")).unwrap();
    let voice = [&b"FUZE\x01\0\0\0\x10\0\0\0"[..], &[0; 4]].concat();
    let sound = |len: usize| {
        let whole = [&b"FUZE\x01\0\0\0\0\0\0\0RIFF\x11\0\0\0XWMA"[..], &[0; 13]].concat();
        whole[..len].to_vec()
    };
    for (name, bytes) in [
        ("whole.dds", dds(256)),
        ("texels.dds", dds(255)),
        ("header.dds", dds(100)),
        ("stub.dds", b"DDS ".to_vec()),
        ("lips.fuz", voice.clone()),
        ("start.fuz", voice[..8].to_vec()),
        ("sound.fuz", sound(37)),
        ("even.fuz", sound(36)),
        ("behind.fuz", sound(35)),
        ("magic.fuz", sound(24)),
    ] {
        fs::write(dir.path("mod").join(name), bytes).unwrap();
    }
    let extracted = dir.run(["extract", "-q", "--png", "--voices", "mod", "-C", "out"]);
    assert_eq!(extracted.code, 1, "{extracted:?}");
    for (name, is_cut) in [
        ("whole.dds", false),
        ("texels.dds", true),
        ("header.dds", true),
        ("stub.dds", false),
        ("lips.fuz", true),
        ("start.fuz", true),
        ("sound.fuz", false),
        ("even.fuz", false),
        ("behind.fuz", true),
        ("magic.fuz", true),
    ] {
        assert_eq!(extracted.err.contains(&format!("{name}: ")), is_cut, "{name}: {extracted:?}");
        // Each is there, as a picture, as a sound or as it is.
        let stays = !["whole.dds", "sound.fuz", "even.fuz"].contains(&name);
        assert_eq!(dir.path("out").join(name).exists(), stays, "{name}");
    }
    assert!(dir.path("out/whole.png").exists() && dir.path("out/sound.xwm").exists());
    // A dry run of it names the same files.
    let planned = dir.run(["extract", "-q", "--dry-run", "--png", "--voices", "mod", "-C", "planned"]);
    assert_eq!((planned.code, &planned.err), (1, &extracted.err), "{planned:?}");
    // As they are, they are whole.
    dir.run(["extract", "-q", "mod", "-C", "plain"]).success();
    let verified = dir.run(["verify", "-q", "mod"]);
    assert_eq!(verified.code, 1, "{verified:?}");
    let mut bad: Vec<&str> = verified.out.lines().map(|line| line.split(": ").nth(1).unwrap()).collect();
    bad.sort_unstable();
    assert_eq!(bad, ["header.dds", "texels.dds"], "{verified:?}");
}

#[test]
fn needs_names_a_mesh_or_material_that_is_cut_off() {
    let dir = TestDir::new();
    fs::create_dir_all(dir.path("mod/materials")).unwrap();
    fs::write(dir.path("mod/materials/short.bgsm"), b"BGSM\x02\0\0\0").unwrap();
    fs::write(dir.path("mod/materials/line.nif"), b"Gamebryo File Format, Version 20.2.0.7\n").unwrap();
    for name in ["short.bgsm", "line.nif"] {
        let finished = dir.run(["needs", "-q", "mod", &format!("materials/{name}")]);
        assert_eq!(finished.code, 1, "{finished:?}");
        assert!(finished.err.contains(&format!("{name}: it is cut off")), "{finished:?}");
    }
}

#[test]
fn needs_follows_materials_that_name_each_other_up_to_a_limit() {
    let dir = TestDir::new();
    let fill = "m".repeat(200);
    for (folder, number) in [("few", 10), ("many", 90)] {
        let names: Vec<String> = (0..number).map(|it| format!("{it}{fill}.bgsm")).collect();
        fs::create_dir_all(dir.path(folder).join("materials")).unwrap();
        for name in &names {
            let text = bgsm(&names.iter().map(String::as_str).collect::<Vec<_>>());
            fs::write(dir.path(folder).join("materials").join(name), text).unwrap();
        }
        let found = dir.run(["needs", "-q", "--missing", folder]);
        let is_cut = number > 10;
        assert_eq!(
            (found.code, found.err.contains("too many files")),
            (i32::from(is_cut), is_cut),
            "{found:?}"
        );
    }
}

#[test]
fn a_reader_that_ends_early_changes_neither_the_status_nor_what_is_named() {
    let dir = TestDir::new();
    sources(&dir);
    fs::write(dir.path("src/cut.bsa"), &Tes3::new().file("meshes\\b.nif", b"b").build()[..20]).unwrap();
    fs::write(dir.path("src/d.txt"), "only here").unwrap();
    for (number, command) in [
        "list src",
        "list --json src",
        "list -0 src",
        "info src",
        "order src",
        "order --json src",
        "conflicts src copy",
        "conflicts --compare --json src copy",
        "diff copy copy",
        "diff copy src",
        "verify src",
        "verify --json src",
        "which --in src c.txt",
        "why --in src none.txt",
        "needs --json src",
        "extract --dry-run src -C out",
        "extract -v src -C OUT",
        "pack -v src --game morrowind --all --name Q -o OUT",
        "cat src c.txt",
    ]
    .into_iter()
    .enumerate()
    {
        let run = |kind: &str| {
            let out = format!("{kind}{number}");
            let command: Vec<String> = command.split(' ').map(|it| it.replace("OUT", &out)).collect();
            let mut command = dir.bsafs(command);
            if kind == "closed" {
                let (reader, writer) = std::io::pipe().unwrap();
                drop(reader);
                command.stdout(writer);
            }
            let finished = command.output().unwrap();
            (finished.status.code(), String::from_utf8(finished.stderr).unwrap().replace(&out, "OUT"))
        };
        assert_eq!(run("closed"), run("open"), "{command}");
    }
}
