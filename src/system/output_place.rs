//! A place to write to: a folder that is held by its descriptor, and a name in it.
//! `place.rs` has places to mount on.
//!
//! [`Walk`] says which links of a path are followed. Root writes only where no other user decides.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, fstatfs, mkdirat, openat};
use rustix::process::geteuid;

use super::disk_id::DiskId;
use super::new_file::{NeedsNames, NewFile, in_the_way, stat_in};
use super::owners;
use super::owners::Liar;
use super::walk::{FOLDER, LastLink, Missing, Walk, enter, is_link, is_proc};
use super::whole_file::read_stream;

/// A name in a folder. The folder is held, so that it stays the one that was examined.
#[derive(Debug)]
pub(crate) struct OutputPlace {
    folder: OwnedFd,
    name: OsString,
    /// Whether the name is a link in `/proc` to an open file.
    is_open_file: bool,
}

impl OutputPlace {
    /// The place that a path names. A link at its end is not followed.
    ///
    /// # Errors
    /// A link in the path is not followed, the path ends in no name, or a system call fails.
    pub(crate) fn of(path: &Path, missing: Missing) -> io::Result<Self> {
        Self::find(path, missing, LastLink::Refuse)
    }

    /// The place that a path names. A link at its end is followed like those before it.
    pub(crate) fn behind_links(path: &Path) -> io::Result<Self> {
        Self::find(path, Missing::Fail, LastLink::Follow)
    }

    fn find(path: &Path, missing: Missing, last: LastLink) -> io::Result<Self> {
        let mut walk = Walk::new(path)?;
        while let Some((name, is_last)) = walk.next() {
            if !is_last || name == ".." {
                enter(&mut walk, &name, missing, LastLink::Follow)?;
                continue;
            }
            let is_link = last == LastLink::Follow && is_link(&walk.at, &name)?;
            if is_link && !is_proc(&walk.at) {
                walk.follow(&name)?;
                continue;
            }
            if is_link {
                walk.check(&name)?;
            }
            return Ok(Self { folder: walk.at, name, is_open_file: is_link });
        }
        Err(io::ErrorKind::IsADirectory.into())
    }

    /// What is at the place; `None` if nothing is.
    pub(crate) fn stat(&self) -> io::Result<Option<Stat>> {
        stat_in(&self.folder, self.name.as_bytes())
    }

    /// Opens the file for writing, and makes it if it is missing.
    ///
    /// # Errors
    /// It is a link, it may also be the file of another user's choice, another user made it in a folder such
    /// as /tmp, or a system call fails.
    pub(crate) fn open(&self, flags: OFlags) -> io::Result<File> {
        self.stat()?.map_or(Ok(()), |found| self.check_owner(&found))?;
        // Without O_NONBLOCK, opening a pipe would wait for its reader.
        let mut flags = flags | OFlags::WRONLY | OFlags::CREATE | OFlags::NONBLOCK | OFlags::NOCTTY;
        flags |= OFlags::CLOEXEC;
        flags.set(OFlags::NOFOLLOW, !self.is_open_file);
        let file = openat(&self.folder, &self.name, flags, Mode::from_raw_mode(0o666))?;
        self.check_owner(&fstat(&file)?)?;
        if !self.is_open_file && may_others_add(&self.folder) && !self.is_only_name(&file)? {
            let what = "the file has several names (hard links), and another user can make such a name in \
                        its folder; give another file";
            return Err(io::Error::other(what));
        }
        Ok(file.into())
    }

    /// Writes into the file of this name if it is an empty one of this user. Returns whether it is. tumbler
    /// 4.18 makes such a file, keeps it open, and would not see another that takes the name.
    ///
    /// # Errors
    /// The file cannot be written whole. It is then empty again.
    pub(crate) fn fill_empty(&self, content: &[u8]) -> io::Result<bool> {
        let found = self.stat()?.filter(|it| it.st_size == 0 && it.st_uid == geteuid().as_raw());
        let is_file = |it: &Stat| FileType::from_raw_mode(it.st_mode) == FileType::RegularFile;
        let Some(found) = found.filter(is_file) else { return Ok(false) };
        // A file of the kernel shows no size, and what is written into it is a setting.
        if !keeps_bytes(&self.folder) {
            return Ok(false);
        }
        let Ok(mut file) = self.open(OFlags::empty()) else { return Ok(false) };
        // Another user may have exchanged the name since.
        let opened = fstat(&file)?;
        if DiskId::from(&opened) != DiskId::from(&found) || opened.st_size != 0 {
            return Ok(false);
        }
        file.write_all(content).map(|()| true).inspect_err(|_| {
            // The first error is reported even if the file cannot be emptied.
            let _ = file.set_len(0);
        })
    }

    /// Fails if another user made the file, which he can read, in a folder to which others can add names. The
    /// kernel refuses that too, unless `fs.protected_regular` is 0.
    fn check_owner(&self, found: &Stat) -> io::Result<()> {
        let is_theirs = !owners::is_ours(found.st_uid, geteuid());
        if is_theirs && !self.is_open_file && may_others_add(&self.folder) {
            let what =
                "another user made this file in a folder to which others can add files; give another file";
            return Err(io::Error::other(what));
        }
        Ok(())
    }

    /// Whether an open file has this name and no other. A user may remove the name that he made between the
    /// opening and this check, so the number of names alone proves nothing.
    fn is_only_name(&self, file: &OwnedFd) -> io::Result<bool> {
        let names = fstat(file)?.st_nlink;
        let path = |file: &OwnedFd| std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()));
        // The kernel appends ` (deleted)` if the name was removed, even if there is a new file of that name.
        Ok(names == 1 && path(file)? == path(&self.folder)?.join(&self.name))
    }

    /// Puts a new file in the place. It never replaces another file.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if something is there, or a system call fails.
    pub(crate) fn create(&self, content: &[u8]) -> io::Result<()> {
        match self.stat()? {
            Some(stat) => Err(in_the_way(FileType::from_raw_mode(stat.st_mode))),
            None => self.put(None, |file| file.write_all(content).and_then(|()| file.sync_all())),
        }
    }

    /// Puts a file in the place, instead of a regular file that may be there.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if something else is there, or a system call fails.
    pub(crate) fn replace(&self, content: &[u8]) -> io::Result<()> {
        self.replace_with(|file| file.write_all(content).and_then(|()| file.sync_all()))
    }

    /// As [`OutputPlace::replace`], with the content that `write` writes. If that fails, the old file stays.
    pub(crate) fn replace_with(&self, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        let existing = self.stat()?;
        match existing.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            None | Some(FileType::RegularFile) => self.put(existing.as_ref(), write),
            Some(kind) => Err(in_the_way(kind)),
        }
    }

    /// Finds the file that a new one would replace. The place must be free, or have a file that is empty or
    /// begins with these bytes, so that no file of another kind is lost.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if something else is there, or a system call fails.
    pub(crate) fn find_alike(&self, beginning: &[u8]) -> io::Result<Option<Stat>> {
        let Some(stat) = self.stat()? else { return Ok(None) };
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind != FileType::RegularFile {
            return Err(in_the_way(kind));
        }
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(openat(&self.folder, &self.name, flags, Mode::empty())?);
        match read_stream(file, beginning.len())?.0 {
            found if found.is_empty() || found == beginning => Ok(Some(stat)),
            _ => Err(io::Error::new(io::ErrorKind::AlreadyExists, "a file of another kind is in the way")),
        }
    }

    /// Puts the file that `write` writes in the place, instead of one that [`OutputPlace::find_alike`] finds.
    pub(crate) fn replace_alike(
        &self,
        beginning: &[u8],
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let write = |file: &mut File| write(file).and_then(|()| file.sync_all());
        self.put(self.find_alike(beginning)?.as_ref(), write)
    }

    fn put(
        &self,
        replaced: Option<&Stat>,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut part = NewFile::make(&self.folder, 0o644, &NeedsNames::of(&self.folder))?;
        write(&mut part.file)?;
        part.place(self.name.as_bytes(), replaced)
    }

    /// Makes a folder in the place, and opens it.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if something is there, or a system call fails.
    pub(crate) fn make_folder(&self, mode: u32) -> io::Result<OwnedFd> {
        mkdirat(&self.folder, &self.name, Mode::from_raw_mode(mode))?;
        Ok(openat(&self.folder, &self.name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?)
    }
}

/// Whether a folder is in a file system that keeps bytes. Those of the kernel have no blocks.
fn keeps_bytes(folder: impl AsFd) -> bool {
    fstatfs(folder).is_ok_and(|system| system.f_blocks != 0)
}

/// Whether the owner of what is in a folder proves nothing.
fn may_lie(folder: impl AsFd) -> bool {
    Liar::about(folder.as_fd()).is_some_and(Liar::is_other)
}

/// Whether another user can make names in a folder.
fn may_others_add(folder: &OwnedFd) -> bool {
    may_lie(folder) || fstat(folder).map_or(true, |it| owners::may_others_add(&it, geteuid()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::super::walk::open_folder;
    use super::*;

    #[test]
    fn own_links_lead_to_a_place_and_a_link_at_its_end_takes_the_name() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir(path("folder")).unwrap();
        symlink("folder/../folder", path("link")).unwrap();
        symlink("link/log", path("log")).unwrap();
        OutputPlace::behind_links(&path("log")).unwrap().open(OFlags::APPEND).unwrap();
        assert!(path("folder/log").exists());
        let taken = OutputPlace::of(&path("log"), Missing::Fail).unwrap();
        assert_eq!(taken.create(b"").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(taken.replace(b"").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(taken.open(OFlags::empty()).unwrap_err().raw_os_error(), Some(40));
        assert_eq!(open_folder(&path("link"), Missing::Make, LastLink::Refuse).unwrap_err().kind(), {
            io::ErrorKind::AlreadyExists
        });
        // In a folder where others may rename, a link that was the user's may be another one by now.
        fs::create_dir(path("shared")).unwrap();
        fs::set_permissions(path("shared"), fs::Permissions::from_mode(0o777)).unwrap();
        symlink("../folder", path("shared/link")).unwrap();
        assert!(OutputPlace::of(&path("shared/link/file"), Missing::Fail).is_err());
        fs::set_permissions(path("shared"), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(OutputPlace::of(&path("shared/link/file"), Missing::Fail).is_ok());
        let made = OutputPlace::of(&path("link/a/b/file"), Missing::Make).unwrap();
        made.create(b"one").unwrap();
        assert!(made.create(b"two").is_err());
        made.replace(b"three").unwrap();
        assert_eq!(fs::read(path("folder/a/b/file")).unwrap(), b"three");
        assert_eq!(fs::read_dir(path("folder/a/b")).unwrap().count(), 1, "a temporary file was left behind");
    }

    #[test]
    fn a_name_that_was_removed_after_the_opening_is_noticed() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("victim"), "").unwrap();
        fs::hard_link(path("victim"), path("log")).unwrap();
        let place = OutputPlace::behind_links(&path("log")).unwrap();
        let file = OwnedFd::from(place.open(OFlags::APPEND).unwrap());
        assert!(!place.is_only_name(&file).unwrap());
        fs::remove_file(path("log")).unwrap();
        assert!(fstat(&file).unwrap().st_nlink == 1 && !place.is_only_name(&file).unwrap());
        fs::write(path("log"), "").unwrap();
        assert!(!place.is_only_name(&file).unwrap());
        let file = OwnedFd::from(place.open(OFlags::APPEND).unwrap());
        assert!(place.is_only_name(&file).unwrap());
    }

    #[test]
    fn only_a_file_that_begins_alike_is_replaced() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = |name: &str| dir.path().join(name);
        let put = |name: &str| {
            let place = OutputPlace::of(&path(name), Missing::Fail).unwrap();
            place.replace_alike(b"<page>", |file| file.write_all(b"<page>new")).map_err(|error| error.kind())
        };
        for (name, content) in [("free", None), ("empty", Some("")), ("page", Some("<page>old"))] {
            if let Some(content) = content {
                fs::write(path(name), content).unwrap();
            }
            put(name).unwrap();
            assert_eq!(fs::read(path(name)).unwrap(), b"<page>new");
        }
        for content in ["<page", "BSA\0", "a<page>"] {
            fs::write(path("other"), content).unwrap();
            assert_eq!(put("other"), Err(io::ErrorKind::AlreadyExists));
            assert_eq!(fs::read(path("other")).unwrap(), content.as_bytes());
        }
        symlink("page", path("link")).unwrap();
        assert_eq!(put("link"), Err(io::ErrorKind::AlreadyExists));
    }

    #[test]
    fn root_follows_no_link_on_a_disk_that_a_user_may_have_written() {
        if !geteuid().is_root() {
            return eprintln!("SKIPPED: needs root");
        }
        let dir = tempfile::TempDir::new().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir(path("disk")).unwrap();
        symlink(path("victim"), path("log")).unwrap();
        let flags = rustix::mount::MountFlags::NOSUID | rustix::mount::MountFlags::BIND;
        rustix::mount::mount_bind(dir.path(), path("disk")).unwrap();
        rustix::mount::mount_remount(path("disk"), flags, "").unwrap();
        let behind = OutputPlace::behind_links(&path("disk/log")).map(|_| ());
        let in_plain_sight = OutputPlace::behind_links(&path("disk/file")).map(|_| ());
        rustix::mount::unmount(path("disk"), rustix::mount::UnmountFlags::DETACH).unwrap();
        assert!(behind.unwrap_err().to_string().contains("another user can change the link"));
        in_plain_sight.unwrap();
        OutputPlace::behind_links(&path("log")).unwrap();
    }

    #[test]
    fn root_writes_nothing_behind_a_folder_that_another_user_can_change() {
        if !geteuid().is_root() {
            return eprintln!("SKIPPED: needs root");
        }
        let dir = tempfile::TempDir::new().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir_all(path("home/a/roots")).unwrap();
        fs::create_dir_all(path("roots/a")).unwrap();
        symlink("../../file", path("home/a/roots/link")).unwrap();
        symlink("a/../file", path("roots/link")).unwrap();
        std::os::unix::fs::chown(path("home"), Some(12345), Some(12345)).unwrap();
        let of = |name: &str| OutputPlace::behind_links(&path(name)).map(|_| ());
        for name in
            ["home/../file", "home/a/../file", "home/a/roots/link", "home/a/roots/../../file", "home/a/file"]
        {
            assert!(of(name).unwrap_err().to_string().starts_with("another user can "), "{name}");
        }
        for name in ["roots/a/../file", "roots/link"] {
            assert!(of(name).is_ok(), "{name}: {:?}", of(name));
        }
    }

    #[test]
    fn links_in_a_circle_end_with_an_error() {
        let dir = tempfile::TempDir::new().unwrap();
        symlink("b", dir.path().join("a")).unwrap();
        symlink("a", dir.path().join("b")).unwrap();
        let error = OutputPlace::behind_links(&dir.path().join("a")).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::LOOP.raw_os_error()));
        assert!(open_folder(&dir.path().join("a/c"), Missing::Make, LastLink::Follow).is_err());
    }

    #[test]
    fn an_open_file_is_a_place() {
        let mut file = tempfile::tempfile().unwrap();
        let path = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
        let mut place = OutputPlace::behind_links(Path::new(&path)).unwrap().open(OFlags::APPEND).unwrap();
        place.write_all(b"text").unwrap();
        let mut text = String::new();
        io::Seek::rewind(&mut file).and_then(|()| io::Read::read_to_string(&mut file, &mut text)).unwrap();
        assert_eq!(text, "text");
    }
}
