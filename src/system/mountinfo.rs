//! The mount table, as `/proc/self/mountinfo` lists it (`proc_pid_mountinfo(5)`).

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{major, minor};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::process::file_in_proc;
use super::whole_file;
use crate::limits::MOUNT_TABLE_MAX;

/// The mount table of this process.
const TABLE: &str = "/proc/self/mountinfo";
/// Types of file systems that begin empty or belong to the kernel, so that their owners are true.
const IN_MEMORY: [&str; 6] = ["tmpfs", "ramfs", "devtmpfs", "proc", "sysfs", "cgroup2"];

/// A mount in the mount table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountEntry {
    /// The number of the mount. The kernel may give it to another mount once this one has ended.
    pub id: u32,
    /// The device number, `major:minor`; no two FUSE mounts share one.
    pub device: String,
    pub mountpoint: PathBuf,
    /// The folder of its file system that the mount shows: `/`, or another one for a bind mount.
    pub root: PathBuf,
    /// The type of the file system.
    pub kind: String,
    /// What was mounted, as the mount table writes it.
    pub source: String,
    /// The user and the group that mounted it, if it is a FUSE mount.
    pub owner: Option<(u32, u32)>,
    /// The options of the mount and of its file system, separated by commas.
    pub options: String,
}

impl MountEntry {
    /// Whether an option is set, for example `nosuid`.
    pub fn has_option(&self, option: &str) -> bool {
        self.options.split(',').any(|set| set == option)
    }

    /// The entry of this mount in the table as it is now. `None` if the mount has ended. Its numbers may
    /// then belong to another mount, so what was mounted is compared, too.
    pub fn now(&self) -> Option<Self> {
        let numbers = |it: &Self| it.id == self.id && it.device == self.device;
        mounts().into_iter().find(|it| numbers(it) && it.kind == self.kind && it.source == self.source)
    }

    /// What another process compares to know that it found this mount, and not one that took its place. Root
    /// and other users never have a mount of the same text.
    pub fn identity(&self) -> String {
        format!("{},{}", self.device, self.user())
    }

    /// Whether both are the same mount in two readings of the table. Its options may differ.
    pub fn is_same_mount(&self, other: &Self) -> bool {
        let parts = |it: &Self| (it.id, it.device.clone(), it.mountpoint.clone(), it.root.clone());
        parts(self) == parts(other) && self.kind == other.kind && self.source == other.source
    }

    pub fn is_bsafs(&self) -> bool {
        self.kind == "fuse.bsafs"
    }

    /// Whether the mount shows its file system from the root on. A bind mount may show a folder in it.
    pub fn is_whole(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Whether this is a FUSE mount. A disk that FUSE reads (`fuseblk`) does not count.
    pub fn is_fuse(&self) -> bool {
        self.kind == "fuse" || self.kind.starts_with("fuse.")
    }

    /// Whether what its daemon says is believed: that of a FUSE mount of root, or of the user who runs this
    /// process. Another user's daemon can say anything.
    pub fn is_trusted(&self) -> bool {
        let user = geteuid().as_raw();
        self.owner.is_some_and(|(owner, _)| owner == 0 || owner == user)
    }

    /// The user whose daemon only claims what it says; `None` if it is trusted.
    pub fn claimant(&self) -> Option<u32> {
        (!self.is_trusted()).then(|| self.user())
    }

    /// Whether the owners of its files prove nothing. Whoever made the file system may have made root the
    /// owner of anything: the daemon of another user's mount, or the owner of a disk, which is mounted with
    /// `nosuid`.
    pub fn may_lie_about_owners(&self) -> bool {
        let is_in_memory = IN_MEMORY.contains(&self.kind.as_str());
        self.user() != 0 || (self.has_option("nosuid") && !is_in_memory)
    }

    /// The id of the user that mounted it. A mount that is not FUSE counts as root's.
    pub fn user(&self) -> u32 {
        self.owner.map_or(0, |(user, _)| user)
    }
}

/// All mounts in the order of the table, which is the order of mounting. Empty if the table cannot be read.
pub fn mounts() -> Vec<MountEntry> {
    parse(&read().unwrap_or_default())
}

/// The topmost mount on a path. The trigger of an automount (type `autofs`) does not count, because
/// it is meant to be mounted over.
pub fn mounted_at(mountpoint: &Path) -> Option<MountEntry> {
    topmost(&mounts(), mountpoint).cloned()
}

/// As [`mounted_at`], among mounts in the order of the table.
pub fn topmost<'a>(mounts: &'a [MountEntry], mountpoint: &Path) -> Option<&'a MountEntry> {
    mounts.iter().rev().find(|mounted| mounted.mountpoint == mountpoint && mounted.kind != "autofs")
}

/// The number of the mount that a descriptor is in (`proc_pid_fdinfo(5)`). The file system is not asked.
///
/// # Errors
/// `/proc` is not mounted.
pub fn mount_id(file: BorrowedFd<'_>) -> io::Result<u32> {
    let info = file_in_proc(Path::new(&format!("/proc/self/fdinfo/{}", file.as_raw_fd())))?;
    let id = info.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok());
    id.ok_or_else(|| io::Error::other("the kernel reports no mnt_id in /proc/self/fdinfo"))
}

/// The mount with a device number, as `stat` returns it.
pub fn mounted_as(device: u64) -> Option<MountEntry> {
    let device = format!("{}:{}", major(device), minor(device));
    mounts().into_iter().rev().find(|mounted| mounted.device == device)
}

/// Opens the mount table. Each change of the table is a priority event of the file, and a poll that returns
/// the event ends it (`proc_pid_mountinfo(5)`).
pub fn open_table() -> io::Result<File> {
    File::open(TABLE)
}

/// Waits until `is_over` is true, or until `other` can be read. `is_over` is called after each
/// change of the table.
pub fn wait_until(is_over: impl Fn() -> bool, other: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let table = open_table()?;
    while !is_over() {
        let mut events = vec![PollFd::new(&table, PollFlags::PRI)];
        events.extend(other.map(|other| PollFd::from_borrowed_fd(other, PollFlags::IN)));
        match poll(&mut events, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        if events.get(1).is_some_and(|other| !other.revents().is_empty()) {
            break;
        }
    }
    Ok(())
}

fn read() -> io::Result<Vec<u8>> {
    whole_file::read(Path::new(TABLE), MOUNT_TABLE_MAX)
}

/// Parses bytes, because any user may mount on a name that is not UTF-8.
fn parse(table: &[u8]) -> Vec<MountEntry> {
    table.split(|&byte| byte == b'\n').filter_map(line).collect()
}

/// Parses `id parent major:minor root mountpoint options [optional...] - kind source superoptions`.
fn line(line: &[u8]) -> Option<MountEntry> {
    let mut fields = line.split(|&byte| byte == b' ');
    let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let device = fields.nth(1)?;
    let root = fields.next()?;
    let mountpoint = fields.next()?;
    let own_options = fields.next().map(String::from_utf8_lossy).unwrap_or_default();
    let mut fields = fields.skip_while(|field| *field != b"-").skip(1);
    let kind = fields.next()?;
    let source = fields.next().map(unescape).unwrap_or_default();
    let options = fields.next().map(String::from_utf8_lossy).unwrap_or_default();
    let number = |name: &str| options.split(',').find_map(|it| it.strip_prefix(name)?.parse().ok());
    Some(MountEntry {
        id,
        device: String::from_utf8_lossy(device).into_owned(),
        mountpoint: PathBuf::from(OsString::from_vec(unescape(mountpoint))),
        root: PathBuf::from(OsString::from_vec(unescape(root))),
        source: String::from_utf8_lossy(&source).into_owned(),
        kind: OsString::from_vec(unescape(kind)).to_string_lossy().into_owned(),
        owner: number("user_id=").zip(number("group_id=")),
        options: format!("{own_options},{options}"),
    })
}

/// Undoes the escapes of the table: a space, for example, is a backslash and three octal digits.
fn unescape(field: &[u8]) -> Vec<u8> {
    if !field.contains(&b'\\') {
        return field.to_vec();
    }
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after
            .first_chunk::<3>()
            .filter(|digits| byte == b'\\' && digits.iter().all(|it| matches!(it, b'0'..=b'7')));
        let number = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        match number {
            Some(number) => {
                out.push(number);
                rest = &after[3..];
            }
            None => {
                out.push(byte);
                rest = after;
            }
        }
    }
    out
}

// FUSE mounts of other users. Their daemons may never answer, so nothing that a list or a link names is
// looked up in them. What the user names himself is.

/// The places of the FUSE mounts that another user made, and that this user may enter. There are hardly ever
/// any.
#[derive(Clone, Debug)]
pub(crate) struct ForeignMounts(Vec<PathBuf>);

impl ForeignMounts {
    /// Those that are mounted now. The kernel itself refuses those without `allow_other`.
    pub(crate) fn now() -> Self {
        let is_foreign = |it: &MountEntry| it.is_fuse() && !it.is_trusted() && it.has_option("allow_other");
        Self(mounts().into_iter().filter(is_foreign).map(|it| it.mountpoint).collect())
    }

    /// Whether a path without links is in one of them.
    pub(crate) fn contain(&self, path: &Path) -> bool {
        self.0.iter().any(|mountpoint| path.starts_with(mountpoint))
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn a_mountpoint_with_spaces_is_unescaped() {
        let text = b"36 25 0:51 / /home/me/Skyrim\\040-\\040Textures0 ro,nosuid shared:1 \
                     - fuse.bsafs /a\\040b ro,user_id=7,group_id=8";
        let mounted = line(text).expect("the line was not parsed");
        assert_eq!((mounted.id, &*mounted.device), (36, "0:51"));
        assert!(mounted.has_option("nosuid") && mounted.has_option("user_id=7") && !mounted.has_option("rw"));
        assert_eq!(mounted.mountpoint.as_os_str().as_bytes(), b"/home/me/Skyrim - Textures0");
        assert!(mounted.is_bsafs() && mounted.is_whole() && mounted.owner == Some((7, 8)));
        assert_eq!(mounted.source, "/a b");
        assert_eq!(line(b""), None);
    }

    #[test]
    fn owners_of_files_prove_nothing_on_disks_and_mounts_of_users() {
        for (text, may_lie) in [
            ("1 0 8:1 / / rw - ext4 /dev/sda rw", false),
            ("2 1 8:2 / /media/u/DISK rw,nosuid,nodev - ext4 /dev/sdb rw", true),
            ("3 1 0:2 / /tmp rw,nosuid,nodev - tmpfs tmpfs rw", false),
            ("4 1 0:3 / /tmp/x rw,nosuid - fuse.sshfs x rw,user_id=7,group_id=7,allow_other", true),
            ("5 1 0:4 / /srv rw - fuse.sshfs x rw,user_id=0,group_id=0,allow_other", false),
        ] {
            assert_eq!(line(text.as_bytes()).unwrap().may_lie_about_owners(), may_lie, "{text}");
        }
    }

    #[test]
    fn mounts_with_non_utf_8_paths_are_found() {
        let table = b"29 1 0:1 / /x\xff rw shared:7 - fuse.sshfs a:/ rw\n\
            30 1 0:2 / /a\\040b\\134\\012c\xfe rw - fuse.bsafs x rw\n\
            31 1 0:3 / /disk rw - ext4 /dev/sda rw\n32 1 0:4 / /blk rw - fuseblk /dev/sdb rw\n";
        let mounts = parse(table);
        for (path, expected) in [
            (&b"/x\xff"[..], true),
            (b"/a b\\\nc\xfe", true),
            (b"/disk", false),
            (b"/blk", false),
            (b"/x", false),
        ] {
            let is_there = |it: &MountEntry| it.mountpoint.as_os_str().as_bytes() == path && it.is_fuse();
            assert_eq!(mounts.iter().any(is_there), expected, "{path:?}");
        }
    }

    #[test]
    fn the_root_is_found_in_the_mount_table() {
        assert!(mounted_at(Path::new("/")).is_some());
    }
}
