//! One table of attacks on root: what another user controls, what root then runs, and how it ends. All rows
//! share a folder, in which no command may change anything. Attacks that need the right moment are in
//! `attackers`, `redirected` and `trust`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, mount, mount_bind, mount_remount};

use super::trust::lying;
use crate::fake_mount::{FakeMount, hostile_user};
use crate::mounted::{TestDir, is_root, mounts_below, run};
use crate::support::{Tes4, dds};

/// Paths that another user controls, each in the same way; commands in which `{}` stands for such a path; the
/// exit code, and what the message contains. With code 0, the command is harmless.
type Attack = (&'static [&'static str], &'static [&'static str], i32, &'static str);

/// In the commands, `@` stands for the folder.
const ATTACKS: &[Attack] = &[
    // A folder, an instance of Mod Organizer 2 or a profile of the user, whose links and lists name anything.
    (
        &["users/mods", "users/MO2", "users/p.toml"],
        &[
            "mount {} mnt -o allow_other",
            "mount {} mnt -o allow_other,setuid=root",
            "conflicts {} users/a.bsa --html out",
            "diff {} users/a.bsa --html out",
            "mount {} mnt --edit edits",
            "extract {} -C out",
            "pack {} --game skyrimse --name x -o out",
        ],
        77,
        "another user can change this",
    ),
    // What only root reads may come from anywhere, and an archive of the user has no links. A link of root to
    // what root alone decides, as `/home` is on some systems, is no link of the user.
    (&["users/mods"], &["mount {} mnt"], 0, "mounted"),
    (&["users/a.bsa", "all/users/a.bsa"], &["mount {} mnt -o allow_other"], 0, "mounted"),
    (&["users/a.bsa"], &["extract {} -C out"], 0, "wrote 1 file"),
    // A link of the user to an archive of root or of a third user, also where everybody may make links, and a
    // link of root to an archive of the user, or to his folder.
    (
        &[
            "users/victims.bsa",
            "users/roots.bsa",
            "drop/link.bsa",
            "victims/public/link.bsa",
            "into.bsa",
            "into-users/a.bsa",
        ],
        &["mount {} mnt -o allow_other", "extract {} -C out"],
        77,
        "another user can change",
    ),
    (
        &["users/victims.bsa", "users/roots.bsa", "drop/link.bsa", "victims/public/link.bsa"],
        &["mount {} mnt"],
        0,
        "mounted 1 archive",
    ),
    // A mount whose daemon claims to show a folder of root.
    (
        &["users/lying"],
        &[
            "mount {} mnt -o allow_other",
            "mount a.bsa {} mnt",
            "list {}",
            "extract {} -C out",
            "info {}",
            "mount --save-profile=stolen {} mnt",
        ],
        77,
        "only mounts of root and your own stand for",
    ),
    // Profiles of the user, and one on a disk whose writer made root its owner.
    (&["users/allow_other.toml", "disk/allow_other.toml"], &["mount {} mnt"], 77, "{}: -o allow_other"),
    (&["users/uid.toml"], &["mount {} mnt"], 77, "{}: -o uid"),
    (&["users/gid.toml"], &["mount {} mnt"], 77, "{}: -o gid"),
    (&["users/fsname.toml"], &["mount {} mnt"], 77, "{}: -o fsname"),
    (&["users/nonempty.toml"], &["mount {} mnt"], 77, "{}: -o nonempty"),
    (&["users/setuid.toml"], &["mount {} mnt"], 77, "{}: -o setuid"),
    (&["users/max_read.toml"], &["mount {} mnt"], 77, "{}: -o max_read"),
    (&["users/context.toml"], &["mount {} mnt"], 77, "{}: -o context"),
    (&["users/fscontext.toml"], &["mount {} mnt"], 77, "{}: -o fscontext"),
    (&["users/defcontext.toml"], &["mount {} mnt"], 77, "{}: -o defcontext"),
    (&["users/rootcontext.toml"], &["mount {} mnt"], 77, "{}: -o rootcontext"),
    (&["users/mountpoint.toml", "disk/mountpoint.toml"], &["mount {}"], 77, "{}: mountpoint"),
    // The same profile in root's own folder of profiles.
    (&["config/bsafs/mountpoint.toml"], &["mount {}"], 0, "mounted 1 archive"),
    // Folders above a mountpoint: of the user, reached by a link of root, and in which everybody adds names.
    (
        &["users/a/mnt", "users/a/new", "into/mnt", "sticky/theirs", "open/new"],
        &["mount a.bsa {}", "mount a.bsa {} -o allow_other", "mount a.bsa {} --edit edits"],
        73,
        "mount with -o setuid=USER",
    ),
    (
        &["users/a/../a/mnt", "users/.link.bsafs-work/lower"],
        &["mount a.bsa {}", "mount a.bsa {} -o allow_other", "mount a.bsa {} --edit edits"],
        73,
        "another user can ",
    ),
    (&["roots/theirs", "sticky/roots", "sticky/new"], &["mount a.bsa {}"], 0, "mounted 1 archive"),
    // A link of the user on the way to a mountpoint.
    (
        &["users/empty", "users/link/empty", "users/link/new"],
        &["mount a.bsa {} -o nonempty", "umount {}"],
        -1,
        "another user can change the link ",
    ),
    (&["users/link", "users/link/new"], &["open a.bsa --below @/{}"], 73, "another user can change "),
    // A link of the user, one that root once made and the user moved, and one in a folder as /tmp.
    (
        &["users/link", "users/roots-own", "sticky/link"],
        &[
            "extract a.bsa -C {}",
            "extract a.bsa -C {}/new/folder",
            "man --all {}",
            "thumbnail a.dds {}/a.png",
            "XDG_CONFIG_HOME=@/{} mount --save-profile mine a.bsa mnt",
            "XDG_CONFIG_HOME=@/{}/deeper mount --save-profile mine a.bsa mnt",
        ],
        73,
        "another user can",
    ),
    (&["users/file", "sticky/file"], &["thumbnail a.dds {}"], 73, " the picture "),
    // A texture of another user, to which his link leads.
    (
        &["users/victims.dds", "drop/link.dds"],
        &["thumbnail {} out.png", "thumbnail --size full {} out.png"],
        77,
        "another user can change this link",
    ),
    // Lists of names that the user can change, in what everybody reads.
    (
        &["users/names", "sticky/names", "drop/new-names"],
        &["mount a.bsa mnt -o allow_other --names {}", "extract a.bsa -C out --names {}"],
        77,
        "{}: another user can change this",
    ),
    // A file that the user made in a folder as /tmp, before root logs to it.
    (
        &["sticky/log"],
        &["mount a.bsa mnt --log-file {}"],
        74,
        "bsafs: --log-file {}: another user made this file",
    ),
    // A folder of the user, in which root writes nothing, even by way of root's own link.
    (&["users/folder/out", "own/through"], &["extract a.bsa -C {}"], 73, "run the command without sudo"),
    // The same links, and a second name of root's file, as the log.
    (
        &["users/file", "users/link/file", "users/roots-own/new", "sticky/file", "users/hard"],
        &["mount a.bsa mnt --log-file {}"],
        74,
        "bsafs: --log-file {}: another user can change ",
    ),
    (
        &["sticky/hard"],
        &["mount a.bsa mnt --log-file {}"],
        74,
        "bsafs: --log-file {}: the file has several names (hard links)",
    ),
];

/// The lines that profiles have, besides their sources, in a folder of the user, in root's own, and on a
/// disk. Each file is named after the first word.
const PROFILES: [&str; 12] = [
    "options = 'allow_other'",
    "options = 'uid=0'",
    "options = 'gid=0'",
    "options = 'fsname=/dev/sda1'",
    "options = 'nonempty'",
    "options = 'setuid=root'",
    "options = 'max_read=4096'",
    "options = 'context=u:r:t'",
    "options = 'fscontext=u:r:t'",
    "options = 'defcontext=u:r:t'",
    "options = 'rootcontext=u:r:t'",
    "mountpoint = '@/roots/empty'",
];

/// A third user.
const VICTIM: u32 = 12_345;

/// Mode, owner, and content or target of each path; and all mounts.
type State = (BTreeMap<PathBuf, (u32, u32, Vec<u8>)>, Vec<PathBuf>);

/// Root's folder with folders of another user in it.
struct World {
    dir: TestDir,
    _lying: FakeMount,
}

impl World {
    fn new() -> Self {
        let dir = TestDir::new();
        let (user, _) = hostile_user();
        for name in [
            "mnt",
            "roots/empty",
            "roots/theirs",
            "roots/mnt",
            "game/Data",
            "users/mods",
            "users/MO2/mods/Mod",
            "users/MO2/profiles/Default",
            "users/a/mnt",
            "users/.link.bsafs-work/lower",
            "users/folder",
            "users/lying",
            "sticky/theirs",
            "sticky/roots",
            "open",
            "drop",
            "victims/public",
            "config/bsafs",
            "disk",
        ] {
            fs::create_dir_all(dir.path(name)).unwrap();
        }
        let texture = [dds::header(dds::BC1, 4, 4, 1, false), vec![0; 8]].concat();
        let settings = format!(
            "[General]\ngameName=Skyrim Special Edition\ngamePath={}\nselected_profile=Default\n",
            dir.path("game").display()
        );
        for (name, content) in [
            ("a.dds", &texture[..]),
            ("roots/secret", b"secret"),
            ("roots/kept", b"kept\n"),
            ("game/SkyrimSE.exe", b""),
            ("game/Data/Skyrim.esm", b""),
            ("users/mods/x.txt", b""),
            ("victims/private.dds", &texture[..]),
            ("sticky/log", b""),
            ("drop/new-names", b"a.txt\n"),
            ("users/MO2/ModOrganizer.ini", settings.as_bytes()),
            ("users/MO2/profiles/Default/modlist.txt", b"+Mod\n"),
            ("users/p.toml", b"archives = ['../roots']"),
        ] {
            fs::write(dir.path(name), content).unwrap();
        }
        for name in ["a.bsa", "users/a.bsa", "victims/private.bsa"] {
            dir.archive(name, &Tes4::new(104).file("", "evil.desktop", b"evil").build());
        }
        for line in PROFILES {
            let line = line.replace('@', dir.path("").to_str().unwrap().trim_end_matches('/'));
            let text = format!("archives = ['{}']\n{line}\n", dir.path("a.bsa").display());
            let first = line.split('\'').nth(1).unwrap().split('=').next().unwrap();
            let name = if line.starts_with("mountpoint") { "mountpoint" } else { first };
            for folder in ["users", "config/bsafs"] {
                fs::write(dir.path(folder).join(format!("{name}.toml")), &text).unwrap();
            }
        }
        // As if the kernel did not protect hard links.
        for name in ["users/hard", "sticky/hard"] {
            fs::hard_link(dir.path("roots/kept"), dir.path(name)).unwrap();
        }
        for (link, target) in [
            ("users/mods/link.txt", "roots/secret"),
            ("users/link", "roots"),
            ("users/roots-own", "roots"),
            ("users/file", "roots/file"),
            ("users/empty", "roots/empty"),
            ("users/victims.bsa", "victims/private.bsa"),
            ("users/roots.bsa", "a.bsa"),
            ("sticky/link", "roots"),
            ("sticky/file", "roots/file"),
            ("drop/link.bsa", "victims/private.bsa"),
            ("users/victims.dds", "victims/private.dds"),
            ("drop/link.dds", "victims/private.dds"),
            ("users/names", "roots/secret"),
            ("sticky/names", "roots/secret"),
            ("victims/public/link.bsa", "victims/private.bsa"),
            ("own", "users/folder"),
            ("into", "users/a"),
            ("into.bsa", "users/a.bsa"),
            ("into-users", "users"),
            ("all", ""),
        ] {
            symlink(dir.path(target), dir.path(link)).unwrap();
        }
        let theirs = |path: &&PathBuf| path.starts_with(dir.path("users")) || path.ends_with("theirs");
        let all: Vec<PathBuf> = Self::below(&dir.path("")).collect();
        let made =
            ["sticky/link", "sticky/file", "sticky/names", "sticky/log", "drop/link.bsa", "drop/link.dds"];
        let made = made.map(|it| dir.path(it));
        for path in all.iter().filter(theirs).chain(&made) {
            let is_roots = path.ends_with("roots-own") || path.ends_with("hard");
            lchown(path, Some(if is_roots { 0 } else { user }), None).unwrap();
        }
        for path in all.iter().filter(|path| path.starts_with(dir.path("victims"))) {
            lchown(path, Some(VICTIM), None).unwrap();
        }
        lchown(dir.path("users/hard"), Some(0), None).unwrap();
        for (name, mode) in [("sticky", 0o1777), ("open", 0o777), ("drop", 0o777), ("victims/public", 0o777)]
        {
            fs::set_permissions(dir.path(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        mount("roots", dir.path("roots/mnt"), "tmpfs", MountFlags::empty(), None).unwrap();
        mount_bind(dir.path("config/bsafs"), dir.path("disk")).unwrap();
        mount_remount(dir.path("disk"), MountFlags::NOSUID | MountFlags::BIND, "").unwrap();
        let there = dir.path("users/lying");
        let lying = lying(&dir, &there, &[&dir.path("roots"), &dir.path("a.bsa")], 1, None);
        Self { dir, _lying: lying }
    }

    /// Everything below a folder that is on its disk.
    fn below(folder: &Path) -> Box<dyn Iterator<Item = PathBuf>> {
        let device = fs::metadata(folder).unwrap().dev();
        let entries = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
        Box::new(entries.flat_map(move |path| {
            let found = fs::symlink_metadata(&path).ok().filter(|it| it.is_dir() && it.dev() == device);
            let inside = found.map(|_| Self::below(&path));
            std::iter::once(path).chain(inside.into_iter().flatten())
        }))
    }

    /// All that root's commands could change: names, owners, modes and contents, and mounts.
    fn state(&self) -> State {
        let describe = |path: PathBuf| {
            let found = fs::symlink_metadata(&path).ok()?;
            let content = match fs::read_link(&path) {
                Ok(target) => target.as_os_str().as_bytes().to_vec(),
                Err(_) => fs::read(&path).unwrap_or_default(),
            };
            Some((path, (found.mode(), found.uid(), content)))
        };
        (Self::below(&self.dir.path("")).filter_map(describe).collect(), mounts_below(&self.dir.path("")))
    }
}

#[test]
fn root_is_led_nowhere_by_what_another_user_controls() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let world = World::new();
    let dir = &world.dir;
    let before = world.state();
    let mut wrong = Vec::new();
    'table: for &(controlled, commands, code, says) in ATTACKS {
        for (path, command) in controlled.iter().flat_map(|path| commands.iter().map(move |it| (path, it))) {
            let folder = dir.path("");
            let text =
                command.replace("{}", path).replace('@', folder.to_str().unwrap().trim_end_matches('/'));
            let (variables, arguments): (Vec<&str>, Vec<&str>) =
                text.split(' ').partition(|word| word.starts_with("XDG_"));
            let mut bsafs = dir.bsafs(arguments);
            bsafs.env("XDG_CONFIG_HOME", dir.path("config")).env_remove("DISPLAY");
            bsafs.envs(variables.iter().map(|it| it.split_once('=').unwrap()));
            let ended = run(&mut bsafs);
            let is_said = format!("{}{}", ended.out, ended.err).contains(&says.replace("{}", path));
            let is_right = if code < 0 { ended.code > 0 } else { ended.code == code };
            // A refusal is one line, and nothing was shown before it.
            let is_brief = code == 0 || ended.out.is_empty() && ended.err.lines().count() == 1;
            if code == 0 {
                let _ = fs::remove_dir_all(dir.path("out"));
                let made = mounts_below(&folder).into_iter().filter(|it| !before.1.contains(it));
                made.for_each(|it| drop(dir.run(["umount".as_ref(), it.as_os_str()])));
            }
            let is_changed = world.state() != before;
            if !is_right || !is_said || !is_brief || is_changed {
                wrong.push(format!("{text}: {ended:?}, changed: {is_changed}"));
            }
            // The rows after it would be about another folder.
            if is_changed {
                break 'table;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
