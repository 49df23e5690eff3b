//! What root and other users do not believe: what the daemon of another user says, and links that he made.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use bsafs::system::mountinfo;
use serde_json::json;

use super::world;
use crate::fake_mount::{Answers, FakeMount, hostile_user};
use crate::mounted::{Mounted, TestDir, is_root, mount_table, mounts_below, run, status, until};

/// A folder of the hostile user, in a folder of root's.
fn users_folder(dir: &TestDir, name: &str) -> PathBuf {
    fs::create_dir_all(dir.path(name)).unwrap();
    let (user, group) = hostile_user();
    let parts = Path::new(name).ancestors().filter(|path| !path.as_os_str().is_empty());
    parts.for_each(|path| chown(dir.path(path), Some(user), Some(group)).unwrap());
    dir.path(name)
}

#[test]
fn roots_unmount_counts_no_files_behind_the_links_of_a_user() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    fs::create_dir_all(dir.path("roots/secret")).unwrap();
    (0..7).for_each(|number| fs::write(dir.path(format!("roots/secret/{number}")), "").unwrap());
    let lower = users_folder(&dir, "users/.link.bsafs-work/lower");
    let other = users_folder(&dir, "users/.folder.bsafs-work/lower");
    let folder = users_folder(&dir, "users/folder");
    symlink(dir.path("roots"), dir.path("users/link")).unwrap();
    symlink(dir.path("roots"), folder.join("inside")).unwrap();
    // A name in the table that says there is an overlay, and one that does not.
    let answers = Answers { source: folder.to_str().unwrap().into(), ..Answers::default() };
    for lower in [lower, other] {
        let fake = FakeMount::start(&lower, &answers);
        let finished = dir.run([Path::new("umount"), &lower]);
        assert_eq!((finished.code, finished.out.as_str()), (0, ""), "{finished:?}");
        drop(fake);
    }
}

#[test]
fn the_mount_table_shows_only_the_name_of_a_source_that_others_may_read() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    fs::create_dir(dir.path("private folder")).unwrap();
    dir.archive("private folder/a.bsa", &world());
    dir.give_to_user();
    chown(dir.path(""), Some(0), None).unwrap();
    let shown = || {
        let (table, mountpoint) = (mount_table("mounts"), dir.path("mnt"));
        let line = table.lines().find(|line| line.split(' ').nth(1) == mountpoint.to_str()).unwrap();
        line.split(' ').next().unwrap().replace(r"\040", " ")
    };
    let source = dir.path("private folder/a.bsa").to_str().unwrap().to_owned();
    for (options, expected) in [
        ("ro", source.clone()),
        ("allow_other", "a.bsa".into()),
        ("allow_other,fsname=x", "x".into()),
        (&format!("fsname={source},allow_other"), source.clone()),
    ] {
        let mount = dir.mount(["private folder/a.bsa", "-o", options]);
        assert_eq!(shown(), expected, "{options}");
        if options == "allow_other" {
            let listed = run(&mut dir.bsafs_as_user(["mounts"])).success();
            assert!(!listed.contains("private folder"), "{listed}");
        }
        mount.umount(&dir);
    }
    chown(dir.path(""), Some(0), None).unwrap();
    chown(dir.path("private folder"), Some(0), None).unwrap();
    let mount = dir.mount(["private folder", "-o", "allow_other"]);
    assert_eq!(shown(), "private folder");
    mount.umount(&dir);
}

#[test]
fn the_place_and_the_source_of_a_mount_make_it_no_part_of_roots_overlay() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let lower = users_folder(&dir, "users/.x.bsafs-work/lower");
    let (overlay, gone) = (dir.path("mnt"), dir.path("gone"));
    let there = || {
        let mut there = mounts_below(&dir.path(""));
        there.retain(|path| !path.ends_with(".mod.bsafs-work/lower"));
        there
    };
    let claims = |path: &Path| Answers { source: path.to_str().unwrap().into(), ..Answers::default() };
    dir.run(["mount", "--edit", "mod", "a.bsa", "mnt"]).success();
    // Neither a user's mount that bears the name of the overlay, nor one of root's in the user's folder.
    let fake = FakeMount::start(&lower, &claims(&overlay));
    dir.run([Path::new("umount"), "--lazy".as_ref(), &lower]).success();
    assert_eq!(there(), std::slice::from_ref(&overlay));
    drop(fake);
    let name = format!("fsname={}", overlay.display());
    // It became the user's after the mount.
    let give = |user| {
        for path in ["users", "users/.x.bsafs-work"] {
            chown(dir.path(path), Some(user), None).unwrap();
        }
    };
    give(0);
    dir.run([Path::new("mount"), "a.bsa".as_ref(), &lower, "-o".as_ref(), name.as_ref()]).success();
    give(hostile_user().0);
    dir.run([Path::new("umount"), "--lazy".as_ref(), &lower]).success();
    assert_eq!(there(), std::slice::from_ref(&overlay));
    dir.run(["umount", "mnt"]).success();
    // A place where nothing is mounted has no part that is left of it.
    let fake = FakeMount::start(&lower, &claims(&gone));
    let finished = dir.run(["umount", "gone"]);
    assert_eq!((finished.code, there()), (66, vec![lower.clone()]), "{finished:?}");
    drop(fake);
    // An overlay that a user names is no mount of bsafs.
    for name in ["lower", "upper", "work", "other"] {
        fs::create_dir(dir.path(name)).unwrap();
    }
    fs::write(dir.path("lower/x.txt"), "").unwrap();
    let script = "mount -t overlay other -o lowerdir=lower,upperdir=upper,workdir=work other";
    run(Command::new("sh").args(["-c", script]).current_dir(dir.path(""))).success();
    let fake = FakeMount::start(&lower, &claims(&dir.path("other")));
    let listed = dir.run(["list", "other"]);
    run(Command::new("umount").arg(dir.path("other"))).success();
    assert!(listed.code == 0 && listed.out.contains("x.txt"), "{listed:?}");
    drop(fake);
}

#[test]
fn a_daemon_that_detaches_its_mount_while_it_answers_which_still_only_claims() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let there = users_folder(&dir, "users/mnt");
    let detach = format!("case $1 in .bsafs:which*) fusermount3 -uz '{}';; esac", there.display());
    let _fake = lying(&dir, &there, &[Path::new("/forged")], 1, Some(detach));
    let which = dir.run(["which", "users/mnt/x.txt"]);
    assert_eq!(mountinfo::mounted_at(&there), None, "the daemon was not asked: {which:?}");
    let claim = format!("  says the daemon of user {}\n", hostile_user().0);
    assert!(which.out.ends_with(&claim) && which.out.contains("from   forged"), "{which:?}");
}

#[test]
fn who_reads_alone_or_with_the_rights_of_a_user_follows_his_links() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    let users = users_folder(&dir, "users/mods");
    fs::create_dir(dir.path("roots")).unwrap();
    fs::write(dir.path("roots/secret"), "secret").unwrap();
    fs::write(users.join("x.txt"), "").unwrap();
    symlink(dir.path("roots/secret"), users.join("link.txt")).unwrap();
    dir.run(["extract", "users/mods", "--follow-links", "-C", "out"]).success();
    assert_eq!(fs::read(dir.path("out/link.txt")).unwrap(), b"secret");
    fs::set_permissions(dir.path("roots"), fs::Permissions::from_mode(0o700)).unwrap();
    let there = users_folder(&dir, "users/mnt");
    let mounted = dir.run(["mount", "users/mods", "users/mnt", "-o", "setuid=nobody"]);
    assert!(mounted.code == 0 && mounted.err.contains("link.txt: not looked at"), "{mounted:?}");
    let mut list = Command::new("ls");
    let shown = run(list.arg(there).uid(hostile_user().0).gid(hostile_user().1)).success();
    assert_eq!(shown, "x.txt\n");
    dir.run(["umount", "users/mnt"]).success();
}

#[test]
fn root_shows_others_no_link_that_a_user_decides() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    let theirs = users_folder(&dir, "users/mod");
    for name in ["mods/theirs", "mods/open", "mods/sticky", "mods/roots", "elsewhere"] {
        fs::create_dir_all(dir.path(name)).unwrap();
    }
    fs::write(dir.path("elsewhere/secret"), "secret").unwrap();
    fs::write(dir.path("elsewhere/fine"), "fine").unwrap();
    let mode = |name: &str, mode| {
        fs::set_permissions(dir.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    chown(dir.path("mods/theirs"), Some(hostile_user().0), None).unwrap();
    mode("mods/open", 0o775);
    mode("mods/sticky", 0o1777);
    // By the user: in his own folders, and in one of root to which everybody may add names.
    for name in ["mods/theirs/a", "mods/open/a", "mods/sticky/a", "users/mod/a"] {
        fs::write(dir.path(name).with_file_name("file"), "").unwrap();
        symlink(dir.path("elsewhere/secret"), dir.path(name)).unwrap();
    }
    // By root: to where only root decides, to a folder of the user, and through a link of the user.
    symlink("../../elsewhere/fine", dir.path("mods/roots/fine")).unwrap();
    symlink(dir.path("elsewhere"), dir.path("mods/roots/folder")).unwrap();
    symlink(&theirs, dir.path("mods/roots/mod")).unwrap();
    symlink(theirs.join("a"), dir.path("mods/roots/through")).unwrap();
    // Made while the folder was the user's.
    symlink(dir.path("elsewhere/secret"), dir.path("mods/roots/old")).unwrap();
    lchown(dir.path("mods/roots/old"), Some(hostile_user().0), None).unwrap();
    let expected =
        ["open/file", "roots/fine", "roots/folder/fine", "roots/folder/secret", "sticky/file", "theirs/file"];
    let listed = |folder: PathBuf| {
        let found = run(Command::new("find").args(["-L", ".", "-type", "f"]).current_dir(folder)).success();
        let mut found: Vec<String> = found.lines().map(|it| it.trim_start_matches("./").into()).collect();
        found.sort();
        found
    };
    let extracted = dir.run(["extract", "mods", "-C", "out"]);
    assert!(extracted.code == 1 && extracted.err.contains("another user can decide"), "{extracted:?}");
    assert_eq!(listed(dir.path("out")), expected);
    for options in [&["-o", "allow_other"][..], &["--edit", "edits"]] {
        let mounted = dir.run([&["mount", "mods", "mnt"], options].concat());
        assert!(mounted.out.contains("links of another user"), "{mounted:?}");
        let mount = Mounted::at(&dir.path("mnt"), mounted.out);
        assert_eq!(listed(mount.path.clone()), expected, "{options:?}");
        // A link that the user makes later is left out, too.
        if options[0] == "-o" {
            symlink(dir.path("elsewhere/secret"), dir.path("mods/theirs/later")).unwrap();
            fs::write(dir.path("mods/theirs/shown"), "").unwrap();
            until("the new file", || mount.path.join("theirs/shown").exists());
            assert!(!mount.path.join("theirs/later").exists());
            fs::remove_file(dir.path("mods/theirs/later")).unwrap();
            fs::remove_file(dir.path("mods/theirs/shown")).unwrap();
        }
        mount.umount(&dir);
    }
    // What only root reads has all links.
    let mounted = dir.run(["mount", "mods", "mnt"]).success();
    let mount = Mounted::at(&dir.path("mnt"), mounted);
    assert_eq!(listed(mount.path.clone()).len(), expected.len() + 7);
    mount.umount(&dir);
}

#[test]
fn links_of_roots_stay_after_a_change_if_the_mount_covers_its_own_folder() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    fs::create_dir_all(dir.path("Data/sub")).unwrap();
    fs::write(dir.path("Data/a.txt"), "").unwrap();
    for (target, name) in [("../a.txt", "relative"), ("../../Data/sub/../a.txt", "around")] {
        symlink(target, dir.path("Data/sub").join(name)).unwrap();
    }
    symlink(dir.path("Data/a.txt"), dir.path("Data/sub/absolute")).unwrap();
    let inside = fs::File::open(dir.path("Data/sub")).unwrap();
    let mounted = dir.run(["mount", "Data", "Data", "-o", "allow_other,nonempty"]).success();
    let mount = Mounted::at(&dir.path("Data"), mounted);
    let flags = rustix::fs::OFlags::CREATE | rustix::fs::OFlags::WRONLY;
    rustix::fs::openat(&inside, "new.txt", flags, 0o644.into()).unwrap();
    until("the new file", || mount.path.join("sub/new.txt").exists());
    for name in ["relative", "around", "absolute"] {
        assert!(mount.path.join("sub").join(name).exists(), "{name}");
    }
    dir.run(["umount", "Data"]).success();
    mount.wait_for_end();
}

#[test]
fn an_archive_that_becomes_the_link_of_a_user_is_not_reloaded() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    users_folder(&dir, "users");
    fs::create_dir(dir.path("victims")).unwrap();
    dir.archive("victims/private.bsa", &world());
    dir.archive("users/own.bsa", &world());
    chown(dir.path("users/own.bsa"), Some(hostile_user().0), None).unwrap();
    let mount = dir.mount(["users/own.bsa", "-o", "allow_other,static"]);
    fs::remove_file(dir.path("users/own.bsa")).unwrap();
    symlink(dir.path("victims/private.bsa"), dir.path("users/own.bsa")).unwrap();
    let reloaded = dir.run(["reload", "mnt"]);
    assert!(reloaded.code == 65 && reloaded.err.contains("another user can change"), "{reloaded:?}");
    mount.umount(&dir);
    // In the folder that the mount covers, where a process of the user still is.
    fs::remove_file(dir.path("users/own.bsa")).unwrap();
    dir.archive("users/own.bsa", &world());
    let inside = fs::File::open(dir.path("users")).unwrap();
    let options = ["mount", "users/own.bsa", "users", "-o", "allow_other,nonempty,static"];
    let mount = Mounted::at(&dir.path("users"), dir.run(options).success());
    rustix::fs::unlinkat(&inside, "own.bsa", rustix::fs::AtFlags::empty()).unwrap();
    rustix::fs::symlinkat(dir.path("victims/private.bsa"), &inside, "own.bsa").unwrap();
    let reloaded = dir.run(["reload", "users"]);
    assert!(reloaded.code == 65 && reloaded.err.contains("another user can change"), "{reloaded:?}");
    dir.run(["umount", "users"]).success();
    mount.wait_for_end();
}

#[test]
fn the_refusal_of_a_folder_on_a_disk_that_a_user_may_have_written_names_the_disk() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    for name in ["mods", "disk"] {
        fs::create_dir(dir.path(name)).unwrap();
    }
    fs::write(dir.path("mods/x.txt"), "").unwrap();
    rustix::mount::mount_bind(dir.path("mods"), dir.path("disk")).unwrap();
    let flags = rustix::mount::MountFlags::NOSUID | rustix::mount::MountFlags::BIND;
    rustix::mount::mount_remount(dir.path("disk"), flags, "").unwrap();
    let refused = dir.run(["mount", "disk", "mnt", "-o", "allow_other"]);
    rustix::mount::unmount(dir.path("disk"), rustix::mount::UnmountFlags::DETACH).unwrap();
    let disk = dir.path("disk");
    let advice = format!("`mount -o remount,suid {}`", disk.display());
    assert!(refused.code == 77 && refused.err.contains(&advice), "{refused:?}");
    assert!(!refused.err.contains("setuid=USER"), "{refused:?}");
}

#[test]
fn a_folder_that_becomes_a_users_leaves_roots_mount_at_the_next_reload() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    fs::create_dir(dir.path("mods")).unwrap();
    fs::write(dir.path("mods/x.txt"), "old").unwrap();
    fs::write(dir.path("secret"), "secret").unwrap();
    let mount = dir.mount(["mods", "-o", "allow_other,static"]);
    chown(dir.path("mods"), Some(hostile_user().0), None).unwrap();
    symlink(dir.path("secret"), dir.path("mods/y.txt")).unwrap();
    let reloaded = dir.run(["reload", "mnt"]);
    assert!(reloaded.code == 65 && reloaded.err.contains("another user can change this"), "{reloaded:?}");
    assert!(!mount.path.join("y.txt").exists());
    mount.umount(&dir);
}

/// A fake mount of the hostile user that every user may read, and that says what a real mount of `sources` by
/// the process `pid` would say.
pub(super) fn lying(
    dir: &TestDir,
    mountpoint: &Path,
    sources: &[&Path],
    pid: u32,
    before_lookup: Option<String>,
) -> FakeMount {
    let mount = dir.mount(["a.bsa"]);
    let mut said = status(&mount.path);
    mount.umount(dir);
    said["pid"] = pid.into();
    let source = |path: &&Path| json!({"path": path, "identity": path});
    let sources: Vec<_> = sources.iter().map(source).collect();
    let copy = json!({"archive": "/forged", "stored_name": "x", "hash": "", "codec": "stored", "packed": 1});
    let which = json!({"path": "x.txt", "size": 4, "from": copy, "hides": [], "hides_more": 0});
    let answers = Answers {
        source: "/forged source".into(),
        allow_other: true,
        links: [
            (".bsafs:status".into(), said.to_string()),
            (".bsafs:sources:0".into(), json!({"sources": sources, "options": ""}).to_string()),
            (".bsafs:which:5:0".into(), format!("{which}  ")),
        ]
        .into(),
        files: [("x.txt".into(), "text".into())].into(),
        before_lookup,
        ..Answers::default()
    };
    FakeMount::start(mountpoint, &answers)
}

#[test]
fn a_mount_of_a_user_that_took_the_place_of_roots_is_not_asked_in_its_stead() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mountpoint = users_folder(&dir, "users/mnt");
    let answer = |identity: String| dir.run(["status", "--json", "--direct", &identity, "--", "users/mnt"]);
    let identity = |user: u32| format!("{},{user}", mountinfo::mounted_at(&mountpoint).unwrap().device);
    // The folder becomes the user's after the mount.
    chown(dir.path("users"), Some(0), None).unwrap();
    let mounted = Mounted::at(&mountpoint, dir.run(["mount", "a.bsa", "users/mnt"]).success());
    chown(dir.path("users"), Some(hostile_user().0), None).unwrap();
    assert_eq!(answer(identity(0)).code, 0);
    assert_ne!(answer("0:1,0".into()).code, 0);
    drop(mounted);
    let fake = lying(&dir, &mountpoint, &[Path::new("/root")], 1, None);
    // As if it had the number of root's mount.
    let asked = answer(identity(0));
    assert!(asked.code != 0 && asked.out.is_empty(), "{asked:?}");
    let watched = |identity: String| dir.run(["watch", "--json", "--direct", &identity, "--", "users/mnt"]);
    let (of_root, of_user) = (watched(identity(0)), watched(identity(hostile_user().0)));
    assert!(of_root.code == 66 && of_user.code != 66, "{of_root:?} {of_user:?}");
    assert!(answer(identity(hostile_user().0)).out.contains("/root"));
    drop(fake);
}

#[test]
fn what_the_daemon_of_another_user_says_is_shown_as_his_claim() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let there = users_folder(&dir, "users/mnt");
    let _fake = lying(&dir, &there, &[Path::new("/forged")], 1, None);
    let user = hostile_user().0;
    let claim = format!("  owner      user {user}, whose daemon says:\n");
    let mounts = dir.run(["mounts"]);
    let shown = format!("{}\n{claim}  sources    /forged\n", there.display());
    assert!(mounts.out.contains(&shown), "{mounts:?}");
    let (path, file) = (there.to_str().unwrap(), there.join("x.txt"));
    assert!(dir.run(["status", path]).success().contains(&claim));
    let asked = fs::metadata(&file).unwrap().ino();
    assert_eq!(asked, 5, "the fake mount answers for another file");
    let which = dir.run(["which", file.to_str().unwrap()]).success();
    assert!(which.ends_with(&format!("  says the daemon of user {user}\n")), "{which}");
    for arguments in [&["mounts", "--json"][..], &["status", "--json", path], &["which", "--json", path]] {
        let mut arguments = arguments.to_vec();
        if arguments[0] == "which" {
            arguments[2] = file.to_str().unwrap();
        }
        let lines = dir.run(&arguments).success();
        let is_claim = |line: &str| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            line["claimed_by"] == user && line.to_string().contains("/forged")
        };
        assert!(lines.lines().any(is_claim), "{arguments:?}: {lines}");
    }
    // What the user himself asks is no claim.
    let own = run(Command::new(dir.copy_program()).args(["status", "--json", path]).uid(user));
    assert!(own.code != 0 || !own.out.contains("claimed_by"), "{own:?}");
}

/// Sets each number in a status to the largest one.
fn with_largest_numbers(status: &mut serde_json::Value) {
    match status {
        serde_json::Value::Object(fields) => fields.iter_mut().for_each(|(name, value)| match &**name {
            "pid" | "views" => *value = u32::MAX.into(),
            _ => with_largest_numbers(value),
        }),
        serde_json::Value::Array(values) => values.iter_mut().for_each(with_largest_numbers),
        serde_json::Value::Number(number) => *number = u64::MAX.into(),
        serde_json::Value::Bool(is_set) => *is_set = true,
        _ => {}
    }
}

#[test]
fn the_numbers_that_the_daemon_of_a_user_reports_end_no_command() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mount = dir.mount(["a.bsa"]);
    let mut said = status(&mount.path);
    mount.umount(&dir);
    with_largest_numbers(&mut said);
    said["requests"] = json!({"lookup": u64::MAX, "read": u64::MAX});
    let there = users_folder(&dir, "users/mnt");
    let answers = Answers {
        source: "forged".into(),
        links: [
            (".bsafs:status".into(), said.to_string()),
            (".bsafs:sources:0".into(), json!({"sources": [], "options": ""}).to_string()),
        ]
        .into(),
        ..Answers::default()
    };
    let _fake = FakeMount::start(&there, &answers);
    let name = there.to_str().unwrap();
    for arguments in [&["status", name][..], &["status", "--json", name], &["mounts"], &["mounts", "--json"]]
    {
        let said = run(&mut dir.bsafs(arguments));
        assert!(said.code == 0 && said.out.contains(&u64::MAX.to_string()), "{arguments:?}: {said:?}");
    }
    let reloaded = dir.run(["reload", name]);
    assert!(reloaded.code == 74 && !reloaded.err.contains("panicked"), "{reloaded:?}");
}

#[test]
fn the_daemon_of_a_user_catches_no_unmount_and_blames_no_process() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let there = users_folder(&dir, "users/mnt");
    let _fake = lying(&dir, &there, &[&dir.path("a.bsa")], 1, None);
    let mount = dir.mount(["a.bsa"]);
    // The name means root's own mount, although two daemons name the source.
    dir.run(["umount", "a.bsa"]).success();
    mount.wait_for_end();
    assert_eq!(mounts_below(&dir.path("")), vec![there.clone()]);
    let none = dir.run(["umount", "a.bsa"]);
    assert_eq!(none.code, 66, "{none:?}");
    assert_eq!(mounts_below(&dir.path("")), vec![there.clone()]);
    // Process 1 runs, but it is not the daemon, so nobody waits for it or blames it.
    let ended = dir.run([Path::new("umount"), &there]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{ended:?}");
    assert!(mounts_below(&dir.path("")).is_empty());
}

#[test]
fn no_process_gets_a_signal_because_the_daemon_of_a_user_names_it() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let (user, group) = hostile_user();
    // Of root and of the user, with a name that contains the program's. SIGUSR1 ends them.
    let start = |user| {
        let mut sleep = Command::new("sleep");
        sleep.arg0("bsafs").arg("1000").uid(user).gid(group).spawn().unwrap()
    };
    for owner in [0, user] {
        let mut victim = start(owner);
        let there = users_folder(&dir, "users/mnt");
        let fake = lying(&dir, &there, &[Path::new("/forged")], victim.id(), None);
        let finished = dir.run([Path::new("reload"), &there]);
        let is_there = victim.try_wait().unwrap().is_none();
        victim.kill().unwrap();
        victim.wait().unwrap();
        assert!(is_there, "the process of user {owner} got the signal");
        assert_eq!(finished.code, 74, "{finished:?}");
        assert!(finished.err.contains("does not prove to be the daemon"), "{finished:?}");
        drop(fake);
    }
}

#[test]
fn root_and_the_user_reload_a_mount_that_root_made_for_the_user() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    fs::create_dir(dir.path("mnt")).unwrap();
    dir.give_to_user();
    let mut mount = Command::new(dir.path("bsafs"));
    run(mount.args(["mount", "a.bsa", "mnt", "-o", "setuid=nobody"]).current_dir(dir.path(""))).success();
    let said = format!("mnt: nothing changed (says the daemon of user {})\n", hostile_user().0);
    assert_eq!(dir.run(["reload", "mnt"]).success(), said);
    assert_eq!(run(&mut dir.bsafs_as_user(["reload", "mnt"])).success(), "mnt: nothing changed\n");
    run(&mut dir.as_user("cat", ["mnt/readme.txt"])).success();
    dir.run(["umount", "mnt"]).success();
}
