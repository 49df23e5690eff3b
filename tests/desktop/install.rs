//! `scripts/install`: what it installs, downloads and needs, and what `--uninstall` leaves behind.

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::mounted::{Finished, TestDir, is_root, run};

/// Runs the script with a prefix in the test's folder, and a home folder beside it.
fn install(dir: &TestDir, arguments: &[impl AsRef<OsStr>], prefix: &str) -> Finished {
    let mut script = Command::new("scripts/install");
    script.args(arguments).arg(dir.path(prefix)).env("HOME", dir.path("home")).env_remove("DESTDIR");
    script.env_remove("XDG_CONFIG_HOME");
    run(script.envs(cargo_home()).env("CARGO_TERM_QUIET", "true").env_remove("XDG_DATA_HOME"))
}

/// The variable with cargo's folder of downloaded crates. rustup sets it. Without it, cargo searches the home
/// folder, which is another one for the script.
fn cargo_home() -> Option<(&'static str, PathBuf)> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cargo")));
    home.map(|home| ("CARGO_HOME", home))
}

const PROGRAM: &str = env!("CARGO_BIN_EXE_bsafs");

/// The arguments that install the tested program. `scripts/check` sets BSAFS_COPYRIGHT to a file with the
/// licence texts, for a user who cannot run cargo. Without it, the script runs cargo to get them.
fn built() -> Vec<OsString> {
    let mut arguments = vec!["--binary".into(), PROGRAM.into()];
    if let Some(copyright) = env::var_os("BSAFS_COPYRIGHT") {
        arguments.extend(["--copyright".into(), copyright]);
    }
    arguments
}

/// Lists all files and folders below a folder.
fn tree(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap().map(Result::unwrap) {
            found.insert(entry.path().strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            }
        }
    }
    found
}

#[test]
fn uninstall_removes_only_what_was_installed() {
    let dir = TestDir::new();
    let own = ["share/applications/own.desktop", "share/man/man1/own.1", "bin/own"];
    for path in own {
        let path = dir.path("prefix").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "own").unwrap();
    }
    let before = tree(&dir.path("prefix"));
    let finished = install(&dir, &built(), "prefix");
    assert_eq!(finished.code, 0, "{finished:?}");
    let installed = tree(&dir.path("prefix"));
    for path in [
        "bin/bsafs",
        "lib/systemd/user/bsafs@.service",
        "share/applications/org.bsafs.bsafs.desktop",
        "share/bash-completion/completions/bsafs",
        "share/doc/bsafs/copyright",
        "share/doc/bsafs/examples/srv-bsafs.automount",
        "share/icons/hicolor/scalable/apps/org.bsafs.bsafs.svg",
        "share/man/man1/bsafs-mount.1",
        "share/mime/packages/org.bsafs.bsafs.xml",
    ] {
        assert!(installed.contains(path), "{path}: {installed:?}");
    }
    assert!(!installed.contains("share/nautilus"), "Nautilus reads scripts only in a home folder");
    assert!(installed.contains("share/nautilus-python/extensions/bsafs.py"), "{installed:?}");

    // Install a second time, which must not forget the list of the first installation.
    assert_eq!(install(&dir, &built(), "prefix").code, 0);
    assert_eq!(tree(&dir.path("prefix")), installed);
    let finished = install(&dir, &["--uninstall"], "prefix");
    assert_eq!(finished.code, 0, "{finished:?}");
    let mut left = tree(&dir.path("prefix"));
    // This cache also lists the user's own programs.
    left.remove("share/applications/mimeinfo.cache");
    assert_eq!(left, before);
    for path in own {
        assert_eq!(fs::read_to_string(dir.path("prefix").join(path)).unwrap(), "own");
    }
    let finished = install(&dir, &["--uninstall"], "prefix");
    assert!(finished.code == 1 && finished.err.contains("nothing was installed"), "{finished:?}");
}

#[test]
fn uninstall_keeps_a_file_that_the_user_changed() {
    let dir = TestDir::new();
    assert_eq!(install(&dir, &built(), "home/.local").code, 0);
    let script = "home/.local/share/nautilus/scripts/Unmount Bethesda Archive";
    assert!(!dir.path("home/.local/share/nautilus-python").exists(), "there would be two menus");
    fs::write(dir.path(script), "#!/bin/sh\n").unwrap();
    // A link in place of an installed file is not removed either.
    let page = "home/.local/share/man/man1/bsafs.1";
    fs::rename(dir.path(page), dir.path("page.1")).unwrap();
    symlink(dir.path("page.1"), dir.path(page)).unwrap();
    let finished = install(&dir, &["--uninstall"], "home/.local");
    assert!(finished.code == 0 && finished.err.contains("was changed"), "{finished:?}");
    let left: Vec<_> =
        tree(&dir.path("home")).into_iter().filter(|it| !dir.path("home").join(it).is_dir()).collect();
    assert_eq!(left, [page, script].map(|it| it.strip_prefix("home/").unwrap()));
    assert!(dir.path("page.1").exists());
}

#[test]
fn uninstall_removes_no_file_above_the_prefix_whatever_its_list_says() {
    let dir = TestDir::new();
    assert_eq!(install(&dir, &built(), "home/.local").code, 0);
    fs::write(dir.path("victim"), "").unwrap();
    let list = dir.path("home/.local/share/bsafs/installed");
    let sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let lines = format!("file {sum} ../../victim\ncache - ../../victim\nfile {sum} bin/../../../victim\n");
    fs::write(&list, fs::read_to_string(&list).unwrap() + &lines).unwrap();
    let uninstalled = install(&dir, &["--uninstall"], "home/.local");
    assert_eq!(uninstalled.code, 0);
    assert_eq!(uninstalled.err.matches("not removed, because it is not below").count(), 3, "{uninstalled:?}");
    assert!(dir.path("victim").exists());
}

#[test]
fn root_stages_in_no_folder_that_a_variable_of_a_user_names() {
    for script in fs::read_dir("scripts").unwrap().map(|it| it.unwrap().path()) {
        let text = fs::read_to_string(&script).unwrap_or_default();
        let is_for_admins = ["install", "setup", "demo", "third-party", "check-packages"]
            .iter()
            .any(|it| script.ends_with(it));
        assert!(
            !is_for_admins || text.contains("-eq 0 ]; then unset TMPDIR XDG_RUNTIME_DIR; fi"),
            "{script:?}"
        );
    }
    if !is_root() {
        return;
    }
    let dir = TestDir::new();
    let mut script = Command::new("scripts/install");
    // Nothing can be made in a folder that is not there any more.
    let script = script
        .args(built())
        .arg(dir.path("prefix"))
        .env("HOME", dir.path("home"))
        .envs(cargo_home())
        .env("CARGO_TERM_QUIET", "true");
    let finished = run(script.env("TMPDIR", dir.path("gone")).env_remove("DESTDIR"));
    assert_eq!(finished.code, 0, "{finished:?}");
}

#[test]
fn root_installs_nothing_below_a_folder_of_another_user() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    fs::create_dir_all(dir.path("users/prefix")).unwrap();
    fs::create_dir(dir.path("victim")).unwrap();
    symlink(dir.path("victim"), dir.path("users/prefix/bin")).unwrap();
    chown(dir.path("users"), Some(12345), None).unwrap();
    for arguments in [built(), vec!["--uninstall".into()]] {
        let refused = install(&dir, &arguments, "users/prefix");
        let said = format!("install: another user can change {}", dir.path("users").display());
        assert!(refused.code == 1 && refused.err.starts_with(&said), "{refused:?}");
    }
    assert_eq!(tree(&dir.path("victim")), BTreeSet::new());
    // A folder below a prefix of root, or a link in its place.
    for user in ["users/share", "users/share/man"] {
        let dir = TestDir::new();
        fs::create_dir_all(dir.path("users/share/man")).unwrap();
        fs::create_dir(dir.path("victim")).unwrap();
        fs::create_dir_all(dir.path("users/share/bsafs")).unwrap();
        fs::write(dir.path("victim/x"), "x").unwrap();
        symlink(dir.path("victim"), dir.path("users/share/link")).unwrap();
        let lines = "cache - share/link/x\ncache - share/mime/../link/x\nfile 0 share/man/x\n";
        fs::write(dir.path("users/share/bsafs/installed"), lines).unwrap();
        chown(dir.path(user), Some(12345), None).unwrap();
        for arguments in [built(), vec!["--uninstall".into()]] {
            let refused = install(&dir, &arguments, "users");
            let said = format!("install: another user can change {}", dir.path(user).display());
            assert!(refused.code == 1 && refused.err.starts_with(&said), "{refused:?}");
        }
        chown(dir.path(user), Some(0), None).unwrap();
        let uninstalled = install(&dir, &["--uninstall"], "users");
        assert!(uninstalled.code == 0 && dir.path("victim/x").exists(), "{uninstalled:?}");
        fs::remove_dir(dir.path("users/share/man")).unwrap();
        symlink(dir.path("victim"), dir.path("users/share/man")).unwrap();
        assert_eq!(install(&dir, &built(), "users").code, 1);
        assert_eq!(tree(&dir.path("victim")), BTreeSet::from(["x".to_owned()]));
    }
    // Everybody may write there, too.
    chown(dir.path("users"), Some(0), None).unwrap();
    fs::set_permissions(dir.path("users"), fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(install(&dir, &built(), "users/prefix").code, 1);
}

#[test]
fn install_never_overwrites_a_file_of_the_user() {
    let dir = TestDir::new();
    fs::create_dir_all(dir.path("prefix/bin")).unwrap();
    fs::write(dir.path("prefix/bin/bsafs"), "own").unwrap();
    let before = tree(&dir.path("prefix"));
    let refused = install(&dir, &built(), "prefix");
    assert!(refused.code == 1 && refused.err.contains("prefix/bin/bsafs"), "{refused:?}");
    assert_eq!(tree(&dir.path("prefix")), before);
    assert_eq!(fs::read(dir.path("prefix/bin/bsafs")).unwrap(), b"own");
}

#[test]
fn a_prefix_with_special_characters_is_used_literally_and_removed() {
    let dir = TestDir::new();
    assert_eq!(install(&dir, &built(), "deep/a&b/|c").code, 0);
    let unit = fs::read_to_string(dir.path("deep/a&b/|c/lib/systemd/user/bsafs@.service")).unwrap();
    let program = format!("ExecStart={}/bin/bsafs mount", dir.path("deep/a&b/|c").display());
    assert!(unit.contains(&program), "{unit}");
    assert_eq!(install(&dir, &["--uninstall"], "deep/a&b/|c").code, 0);
    assert!(!dir.path("deep").exists(), "{:?}", tree(&dir.path("deep")));
    let refused = install(&dir, &built(), "a b");
    assert!(refused.code == 2 && refused.err.contains("a b") && !dir.path("a b").exists(), "{refused:?}");
}

#[test]
fn packages_contain_no_generated_caches() {
    let dir = TestDir::new();
    let mut script = Command::new("scripts/install");
    script.args(built()).arg("/usr").env("HOME", dir.path("home")).env("DESTDIR", dir.path("package"));
    run(script.envs(cargo_home()).env("CARGO_TERM_QUIET", "true")).success();
    let packaged = tree(&dir.path("package/usr"));
    assert!(packaged.contains("share/mime/packages/org.bsafs.bsafs.xml"), "{packaged:?}");
    for generated in ["share/bsafs", "share/mime/mime.cache", "share/applications/mimeinfo.cache"] {
        assert!(!packaged.contains(generated), "{generated}");
    }
    let unit = fs::read_to_string(dir.path("package/usr/lib/systemd/user/bsafs@.service")).unwrap();
    assert!(unit.contains("/usr/bin/bsafs") && !unit.contains("package"), "{unit}");
    assert!(packaged.contains("share/thumbnailers/bsafs.thumbnailer"), "{packaged:?}");
    let licences = fs::read_to_string(dir.path("package/usr/share/doc/bsafs/copyright")).unwrap();
    assert!(licences.contains("  fuser ") && licences.contains("Christopher Berner"), "{licences}");
    assert!(licences.contains("  bcdec_rs "), "{licences}");
}

#[test]
fn an_unpacked_tarball_installs_its_own_program() {
    let dir = TestDir::new();
    fs::create_dir(dir.path("unpacked")).unwrap();
    for (from, to) in [
        (PROGRAM, "bsafs"),
        ("scripts/install", "install"),
        ("scripts/share", "share"),
        ("systemd", "systemd"),
        ("README.md", "README.md"),
        ("CHANGELOG.md", "CHANGELOG.md"),
    ] {
        run(Command::new("cp").args(["-R", from]).arg(dir.path(format!("unpacked/{to}")))).success();
    }
    fs::write(dir.path("unpacked/copyright"), "as packed").unwrap();
    let unpacked = |arguments: &[&str]| {
        // Without cargo and other tools of a developer.
        let mut script = Command::new(dir.path("unpacked/install"));
        script.args(arguments).env_clear().env("HOME", dir.path("home")).env("PATH", "/usr/bin:/bin");
        run(&mut script)
    };
    // Name the prefix, because the default for root is the system's.
    let prefix = dir.path("home/.local");
    let prefix = prefix.to_str().unwrap();
    let finished = unpacked(&[prefix]);
    assert_eq!(finished.code, 0, "{finished:?}");
    let program = dir.path("home/.local/bin/bsafs");
    assert_eq!(fs::read(&program).unwrap(), fs::read(PROGRAM).unwrap());
    assert_eq!(fs::read(dir.path("home/.local/share/doc/bsafs/copyright")).unwrap(), b"as packed");
    assert!(finished.out.contains("put this line into ~/.profile"), "{finished:?}");
    // Debian's ~/.profile, which has such a line.
    fs::write(dir.path("home/.profile"), "PATH=\"$HOME/.local/bin:$PATH\"\n").unwrap();
    let finished = unpacked(&[prefix]);
    assert!(finished.out.contains("bin is not in PATH; log in again, and ~/.profile"), "{finished:?}");
    assert_eq!(unpacked(&["--uninstall", prefix]).code, 0);
    assert!(!Path::new(prefix).exists(), "{:?}", tree(&dir.path("home")));
}

#[test]
fn a_built_program_is_installed_without_cargo() {
    let dir = TestDir::new();
    fs::write(dir.path("licences"), "as printed").unwrap();
    let mut script = Command::new("scripts/install");
    script.args(["--binary", PROGRAM, "--copyright"]).args([dir.path("licences"), dir.path("prefix")]);
    let finished = run(script.env_clear().env("PATH", "/usr/bin:/bin"));
    assert_eq!(finished.code, 0, "{finished:?}");
    assert_eq!(fs::read(dir.path("prefix/bin/bsafs")).unwrap(), fs::read(PROGRAM).unwrap());
    assert_eq!(fs::read(dir.path("prefix/share/doc/bsafs/copyright")).unwrap(), b"as printed");
}

#[test]
fn a_package_is_built_without_a_home_folder() {
    let dir = TestDir::new();
    let mut script = Command::new("scripts/install");
    script
        .args(built())
        .arg("/usr")
        .env_remove("HOME")
        .env("DESTDIR", dir.path("root"))
        .env_remove("XDG_DATA_HOME");
    let finished = run(&mut script);
    assert_eq!(finished.code, 0, "{finished:?}");
    assert!(dir.path("root/usr/lib/systemd/user/bsafs@.service").exists());
}

#[test]
fn licences_are_printed_without_the_crates_of_tests() {
    let registry = cargo_home().map(|(_, home)| home).unwrap_or_default().join("registry");
    if env::var_os("BSAFS_COPYRIGHT").is_some() || !registry.join("cache").is_dir() {
        eprintln!("skipped: there is no folder of downloaded crates");
        return;
    }
    // A home of cargo with all downloaded crates except one that only tests need.
    let dir = TestDir::new();
    fs::create_dir_all(dir.path("cargo/registry")).unwrap();
    symlink(registry.join("index"), dir.path("cargo/registry/index")).unwrap();
    for host in fs::read_dir(registry.join("cache")).unwrap().map(Result::unwrap) {
        let linked = dir.path("cargo/registry/cache").join(host.file_name());
        fs::create_dir_all(&linked).unwrap();
        for file in fs::read_dir(host.path()).unwrap().map(Result::unwrap) {
            if !file.file_name().to_str().unwrap().starts_with("proptest-") {
                symlink(file.path(), linked.join(file.file_name())).unwrap();
            }
        }
    }
    let mut script = Command::new("scripts/third-party");
    script.env("CARGO_HOME", dir.path("cargo")).env("CARGO_NET_OFFLINE", "true");
    let finished = run(&mut script);
    assert!(finished.code == 0 && finished.out.contains("  fuser "), "{finished:?}");
}

#[test]
fn without_cargo_install_names_rustup() {
    let dir = TestDir::new();
    // Without apt-get and sudo, so that the script installs nothing.
    for tool in [
        "bash",
        "cc",
        "cut",
        "dirname",
        "env",
        "find",
        "fusermount3",
        "head",
        "id",
        "paste",
        "realpath",
        "sed",
        "sort",
    ] {
        let found =
            ["/usr/bin", "/bin"].map(|it| Path::new(it).join(tool)).into_iter().find(|it| it.exists());
        if let Some(found) = found {
            symlink(found, dir.path(tool)).unwrap();
        }
    }
    let mut script = Command::new("scripts/install");
    let finished = run(script.arg(dir.path("prefix")).env_clear().env("PATH", dir.path("")));
    assert!(finished.code == 1 && finished.err.contains("rustup default stable"), "{finished:?}");
    assert!(!dir.path("prefix").exists());
}

/// A folder with the tools that the script calls, and an apt-get and a sudo that only record their calls.
fn recording_tools(dir: &TestDir) -> PathBuf {
    let tools = dir.path("tools");
    fs::create_dir(&tools).unwrap();
    for tool in ["bash", "cut", "dirname", "env", "head", "paste", "sed", "sort", "stat", "uname"] {
        let found = ["/usr/bin", "/bin"].map(|it| Path::new(it).join(tool));
        symlink(found.iter().find(|it| it.exists()).unwrap(), tools.join(tool)).unwrap();
    }
    let record = format!("#!/bin/sh\necho \"$0 $*\" >>'{}'\n", dir.path("called").display());
    for (name, text) in [("apt-get", &*record), ("sudo", &*record), ("id", "#!/bin/sh\necho 1000\n")] {
        fs::write(dir.path("script"), text).unwrap();
        fs::set_permissions(dir.path("script"), fs::Permissions::from_mode(0o755)).unwrap();
        // `cp` copies the script, because this process may still have it open for writing.
        assert!(Command::new("cp").arg(dir.path("script")).arg(tools.join(name)).status().unwrap().success());
    }
    tools
}

#[test]
fn setup_says_everything_that_is_missing_and_uses_no_sudo_unasked() {
    let dir = TestDir::new();
    let tools = recording_tools(&dir);
    let mut script = Command::new("scripts/setup");
    let finished = run(script.arg("--build").env_clear().env("PATH", &tools).env("HOME", dir.path("")));
    assert_eq!((finished.code, &*finished.out), (1, ""), "{finished:?}");
    for what in ["missing: cc (package gcc)", "sudo apt-get install", "no cargo", "rustup default stable"] {
        assert!(finished.err.contains(what), "{what}: {finished:?}");
    }
    assert!(!dir.path("called").exists(), "the script called apt-get or sudo unasked");
}

/// dpkg's question about a changed configuration file went to /dev/null, and the script waited for an answer.
#[test]
fn setup_installs_without_questions_that_nobody_sees() {
    let dir = TestDir::new();
    let tools = recording_tools(&dir);
    fs::write(dir.path("script"), "#!/bin/sh\necho cargo 99.0.0\n").unwrap();
    assert!(Command::new("cp").arg(dir.path("script")).arg(tools.join("cargo")).status().unwrap().success());
    let mut terminal = Command::new("script");
    let command = format!("PATH='{}' scripts/setup --build", tools.display());
    terminal.args(["-qec", &command, "/dev/null"]).env("SHELL", "/bin/sh");
    terminal.env("HOME", dir.path("")).env_remove("SUDO_USER").env_remove("CARGO_HOME");
    let mut setup = terminal.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    setup.stdin.as_ref().unwrap().write_all(b"y\n").unwrap();
    setup.wait().unwrap();
    let called = fs::read_to_string(dir.path("called")).unwrap();
    let install = called.lines().find(|line| line.contains("apt-get install")).unwrap();
    assert!(install.contains("sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y"), "{install}");
    assert!(install.contains("--force-confdef") && install.contains("--force-confold"), "{install}");
    assert_eq!(install.matches(" gcc").count(), 1, "{install}");
}

#[test]
fn setup_without_sudo_says_what_root_installs() {
    let dir = TestDir::new();
    let tools = recording_tools(&dir);
    fs::remove_file(tools.join("sudo")).unwrap();
    let mut script = Command::new("scripts/setup");
    let finished = run(script.arg("--build").env_clear().env("PATH", &tools).env("HOME", dir.path("")));
    assert_eq!(finished.code, 1, "{finished:?}");
    assert!(finished.err.contains("on Debian: as root, apt-get install"), "{finished:?}");
}

#[test]
fn rustups_cargo_is_found_in_the_home_of_the_user() {
    let dir = TestDir::new();
    let cargo = dir.path(".cargo/bin/cargo");
    fs::create_dir_all(cargo.parent().unwrap()).unwrap();
    fs::write(&cargo, "").unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    let mut script = Command::new("scripts/setup");
    script.arg("--cargo").env("HOME", dir.path("")).env_remove("CARGO_HOME").env_remove("SUDO_USER");
    let lines = run(&mut script).success();
    let lines = lines.replace("//", "/");
    assert_eq!(lines, format!("export PATH={}:$PATH\n", cargo.parent().unwrap().display()));
}

#[test]
fn uninstall_names_the_profiles_and_units_that_stay() {
    let dir = TestDir::new();
    assert_eq!(install(&dir, &built(), "prefix").code, 0);
    for path in [
        "home/.config/bsafs/evening.toml",
        "home/.config/systemd/user/default.target.wants/bsafs@evening.service",
    ] {
        fs::create_dir_all(dir.path(path).parent().unwrap()).unwrap();
        fs::write(dir.path(path), "").unwrap();
    }
    let removed = install(&dir, &["--uninstall"], "prefix").out;
    let profile = dir.path("home/.config/bsafs/evening.toml");
    assert!(removed.contains(&format!("your profiles stay: {}\n", profile.display())), "{removed}");
    assert!(removed.contains("enabled units stay: bsafs@evening.service;"), "{removed}");
    assert!(profile.exists());
}
