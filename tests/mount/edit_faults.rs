//! What a program was told to be written in a writable mount is complete in the folder of edits, or `bsafs
//! umount` names the file: each fault of the disk, with each kind of write, as root and as an ordinary user.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::mount::{MountFlags, UnmountFlags, mount, mount_remount, unmount};
use rustix::process::Signal;

use super::world;
use crate::mounted::{Finished, TestDir, finish, is_alive, is_root, mounts_below, run, signal, until};

/// Writes a file of so many bytes in some way, and fails if any step reports an error.
const WRITER: &str = r#"
import mmap, os, resource, signal, sys
how, path, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
content = (bytes(range(251)) * (size // 251 + 1))[:size]
if how == "limited":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, size // 2))
target = path + ".part" if how == "renamed" else path
fd = os.open(target, os.O_RDWR | os.O_CREAT | (os.O_APPEND if how == "appended" else 0), 0o644)
if how.startswith("mapped"):
    os.ftruncate(fd, size)
    memory = mmap.mmap(fd, size)
    memory[:] = content
    if how == "mapped and held":
        print("mapped", flush=True)
        sys.stdin.read()
    if how != "mapped and left":
        memory.flush()
    memory.close()
else:
    at, step = 0, 512 if how == "in small steps" else 1 << 17
    while at < size:
        at += os.write(fd, content[at:at + step])
if how == "synchronized":
    os.fsync(fd)
os.close(fd)
if how == "renamed":
    os.rename(target, path)
"#;
/// The ways to write. The last is told nothing, so it comes last.
const WAYS: [&str; 8] = [
    "copied",
    "in small steps",
    "synchronized",
    "renamed",
    "appended",
    "limited",
    "mapped",
    "mapped and left",
];
/// More than fits on the small disk, and less than the kernel writes at once.
const SIZE: usize = 400_000;

/// A world on a small disk, for root or for an ordinary user.
struct World {
    dir: TestDir,
    is_of_user: bool,
}

impl World {
    fn new(is_of_user: bool) -> Self {
        let dir = TestDir::new();
        dir.archive("a.bsa", &world());
        fs::create_dir(dir.path("disk")).unwrap();
        fs::create_dir(dir.path("mnt")).unwrap();
        fs::write(dir.path("writer.py"), WRITER).unwrap();
        if is_of_user {
            dir.give_to_user();
        }
        Self { dir, is_of_user }
    }

    /// Mounts an empty disk of this size on `disk`. Root may use it for `--edit`, because it has no `nosuid`.
    fn small_disk(&self, kib: u64) {
        let options = std::ffi::CString::new(format!("size={kib}k,mode=777")).unwrap();
        mount("disk", self.dir.path("disk"), "tmpfs", MountFlags::empty(), options.as_c_str()).unwrap();
        self.own_disk();
    }

    fn own_disk(&self) {
        if self.is_of_user {
            run(Command::new("chown").arg("nobody").arg(self.dir.path("disk"))).success();
        } else {
            fs::set_permissions(self.dir.path("disk"), fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    fn bsafs(&self, arguments: &[&str]) -> Finished {
        if self.is_of_user { run(&mut self.dir.bsafs_as_user(arguments)) } else { self.dir.run(arguments) }
    }

    fn mount(&self) {
        self.bsafs(&["mount", "--edit", "disk/edit", "a.bsa", "mnt"]).success();
    }

    fn writer(&self, how: &str, name: &str) -> Command {
        let arguments = ["writer.py", how, name, &SIZE.to_string()].map(str::to_owned);
        if self.is_of_user {
            self.dir.as_user("python3", arguments)
        } else {
            let mut command = Command::new("python3");
            command.args(arguments).current_dir(self.dir.path(""));
            command
        }
    }

    /// Whether a file in the folder of edits ends with what was written.
    fn is_complete(&self, name: &str) -> bool {
        let written: Vec<u8> = (0..=250).cycle().take(SIZE).collect();
        fs::read(self.dir.path("disk/edit").join(name)).is_ok_and(|content| content.ends_with(&written))
    }

    /// Writes in each way, with a fault, unmounts, and returns the ways about which a person was told nothing
    /// although the file is not complete.
    fn untold(&self, fault: &str) -> Vec<String> {
        let mut said = Vec::new();
        for how in WAYS {
            let name = match how {
                "appended" => "readme.txt".to_owned(),
                how => format!("textures/{how}.dds"),
            };
            let is_told = run(&mut self.writer(how, &format!("mnt/{name}"))).code != 0;
            if is_told {
                // It makes room for the next one.
                let _ = fs::remove_file(self.dir.path("disk/edit").join(&name));
            } else {
                said.push((how, name));
            }
        }
        let ended = self.bsafs(&["umount", "mnt"]);
        let is_untold = |(_, name): &&(&str, String)| {
            let file = name.rsplit('/').next().unwrap();
            let is_named = ended.code == 74 && ended.err.contains(file);
            !(self.is_complete(name) || is_named)
        };
        let untold = said.iter().filter(is_untold);
        untold.map(|(how, _)| format!("{fault}, {how}: {ended:?}")).collect()
    }

    fn end(self) {
        until("the mounts to end", || {
            mounts_below(&self.dir.path("mnt")).is_empty() && mounts_below(&self.dir.path(".")).len() <= 1
        });
        let _ = unmount(self.dir.path("disk"), UnmountFlags::DETACH);
    }
}

/// Calls `check` for root and for an ordinary user.
fn as_both(check: impl Fn(World)) {
    for is_of_user in [false, true] {
        check(World::new(is_of_user));
    }
}

fn needs_root() -> bool {
    if !is_root() {
        eprintln!("SKIPPED: only root can make a small disk");
    }
    is_root()
}

#[test]
fn a_program_that_writes_to_a_full_disk_is_told_or_the_unmount_names_the_file() {
    if needs_root() {
        as_both(|world| {
            world.small_disk(300);
            world.mount();
            assert_eq!(world.untold("full"), [""; 0]);
            world.end();
        });
    }
}

#[test]
fn what_is_written_to_a_disk_with_room_is_complete_whatever_ends() {
    if needs_root() {
        as_both(|world| {
            for ending in ["umount", "overlay killed", "daemon killed"] {
                world.small_disk(8192);
                world.mount();
                for how in WAYS.iter().filter(|how| **how != "limited") {
                    let name = if *how == "appended" { "readme.txt" } else { how };
                    run(&mut world.writer(how, &format!("mnt/{name}"))).success();
                }
                match ending {
                    "overlay killed" if world.is_of_user => {
                        let mountpoint = world.dir.path("mnt");
                        // Only the overlay's program has the mountpoint as its last word.
                        let command = format!("fuse-overlayfs .*{}$", mountpoint.display());
                        run(Command::new("pkill").args(["-KILL", "-f", &command])).success();
                    }
                    "daemon killed" => {
                        let status = world.bsafs(&["status", "--json", "mnt"]).success();
                        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
                        let pid = i32::try_from(status["pid"].as_i64().unwrap()).unwrap();
                        signal(pid, Signal::KILL);
                        until("the daemon to end", || !is_alive(pid));
                    }
                    _ => {}
                }
                let _ = world.bsafs(&["umount", "mnt"]);
                for how in WAYS.iter().filter(|how| **how != "limited") {
                    let name = if *how == "appended" { "readme.txt" } else { how };
                    assert!(world.is_complete(name), "{ending}, {how}, user: {}", world.is_of_user);
                }
                let _ = world.bsafs(&["umount", "--lazy", "mnt"]);
                until("the mounts to end", || mounts_below(&world.dir.path("")).len() <= 1);
                unmount(world.dir.path("disk"), UnmountFlags::DETACH).unwrap();
            }
        });
    }
}

#[test]
fn a_program_that_writes_to_a_disk_that_became_read_only_is_told() {
    if needs_root() {
        as_both(|world| {
            world.small_disk(8192);
            world.mount();
            let remounted = mount_remount(world.dir.path("disk"), MountFlags::RDONLY, "");
            if remounted.is_ok() {
                for how in WAYS {
                    let name = if how == "appended" { "readme.txt" } else { how };
                    assert!(run(&mut world.writer(how, &format!("mnt/{name}"))).code != 0, "{how}");
                }
            }
            world.bsafs(&["umount", "mnt"]);
            world.end();
        });
    }
}

/// A disk that takes writes and cannot keep them: a file system in a file whose own disk becomes full.
#[test]
fn what_a_broken_disk_did_not_keep_is_named_when_the_mount_ends() {
    if needs_root() {
        as_both(|world| {
            let backing = world.dir.path("backing");
            fs::create_dir(&backing).unwrap();
            mount("backing", &backing, "tmpfs", MountFlags::empty(), c"size=2m").unwrap();
            let image = backing.join("image");
            fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
            run(Command::new("mkfs.ext4").args(["-q", "-O", "^has_journal"]).arg(&image)).success();
            let disk = world.dir.path("disk");
            run(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&disk)).success();
            world.own_disk();
            world.mount();
            run(Command::new("dd")
                .args(["if=/dev/zero", "bs=64k"])
                .arg(format!("of={}", backing.join("rest").display())));
            let mut said = Vec::new();
            for how in WAYS {
                let name = if how == "appended" { "readme.txt" } else { how };
                if run(&mut world.writer(how, &format!("mnt/{name}"))).code == 0 {
                    said.push(name);
                }
            }
            let ended = world.bsafs(&["umount", "mnt"]);
            assert!(said.is_empty() || ended.code == 74 && ended.err.contains("not complete"), "{ended:?}");
            assert!(said.iter().all(|name| ended.err.contains(name)), "{said:?}: {ended:?}");
            let _ = world.bsafs(&["umount", "--lazy", "mnt"]);
            until("the mounts to end", || mounts_below(&world.dir.path("mnt")).is_empty());
            let _ = run(Command::new("umount").arg("-l").arg(&disk));
            unmount(&backing, UnmountFlags::DETACH).unwrap();
        });
    }
}

#[test]
fn an_unmount_while_a_program_has_unsaved_memory_is_refused_and_a_lazy_one_loses_nothing() {
    if needs_root() {
        as_both(|world| {
            world.small_disk(8192);
            world.mount();
            let mut held = hold(&world, "mnt/held.dds");
            let refused = world.bsafs(&["umount", "mnt"]);
            assert!(refused.code == 73 && refused.err.contains("in use by python3"), "{refused:?}");
            world.bsafs(&["umount", "--lazy", "mnt"]).success();
            drop(held.stdin.take());
            assert_eq!(finish(held).code, 0);
            assert!(world.is_complete("held.dds"));
            world.end();
        });
    }
}

/// Starts a program that has changed a file in memory, and waits for its standard input to end.
fn hold(world: &World, path: &str) -> Child {
    let mut writer = world.writer("mapped and held", path);
    let mut held =
        writer.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = [0; 7];
    std::io::Read::read_exact(held.stdout.as_mut().unwrap(), &mut line).unwrap();
    held
}

#[test]
fn a_limit_of_file_sizes_never_kills_the_overlay() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    dir.give_to_user();
    let program: PathBuf = dir.path("bsafs");
    let mount = |limit: &str| {
        let script = format!("{limit}; exec '{}' mount --edit edit a.bsa mnt", program.display());
        run(&mut dir.as_user("sh", ["-c", &script]))
    };
    let refused = mount("ulimit -f 100");
    assert!(refused.code == 73 && refused.err.contains("ulimit -f unlimited"), "{refused:?}");
    assert!(mounts_below(&dir.path("")).is_empty());
    mount("ulimit -S -f 100").success();
    let script = "head -c 300000 /dev/zero >mnt/large && [ $(stat -c %s edit/large) = 300000 ]";
    run(&mut dir.as_user("sh", ["-c", script])).success();
    run(&mut dir.bsafs_as_user(["umount", "mnt"])).success();
}
