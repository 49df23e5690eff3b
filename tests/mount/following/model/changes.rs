//! Random changes to the folders and archives that a mount shows, and how each is made.

use std::ffi::{CStr, OsString};
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use proptest::sample::{Index, select};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::mounted::mounts_below;
use crate::support::content::text;
use crate::support::tes4::{EMBEDDED, FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Ba2, Ba2File, Chunk, Tes3, Tes4, Tes4File};

/// Folders that are layers, or to which links in layers lead. `real` is a layer through the link `mod2`.
const ROOTS: [&str; 3] = ["mod", "real", "elsewhere"];
/// Archives: a source, one to which the source `link.bsa` leads, and those in layers.
const ARCHIVES: [&str; 6] =
    ["named.bsa", "elsewhere/far.bsa", "mod/in.bsa", "mod/in2.ba2", "real/in.bsa", "mod/IN.bsa"];
/// The sources that the test mounts.
pub(super) const SOURCES: [&str; 4] = ["named.bsa", "mod", "link.bsa", "mod2"];
/// The source that wins.
pub(super) const LAST: &str = "mod2";
/// Names of folders. Some are also names of files, and some differ only in case.
const FOLDERS: [&str; 5] = ["Tex", "tex", "Deep", "x", "Only"];
/// Names of files.
const FILES: [&str; 6] = ["a.txt", "A.txt", "b.dds", "x", "c.nif", "d.txt"];

/// One change on the disk.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// Writes a loose file, and makes the folders for it.
    Write {
        at: Spot,
        len: usize,
        how: How,
    },
    /// Appends to a file.
    Grow {
        at: Index,
        len: usize,
    },
    MakeFolder(Spot),
    /// Removes a file, a link or a whole folder.
    Remove(Index),
    Move {
        from: Index,
        to: Spot,
    },
    /// Renames a file or folder to its name in the other case.
    Respell(Index),
    /// Makes a symbolic link, whose target may not exist.
    Link {
        at: Spot,
        to: Spot,
        is_relative: bool,
    },
    /// Gives a file a further name.
    HardLink {
        at: Spot,
        of: Index,
    },
    /// Sets the mtime of a file or folder.
    Touch {
        at: Index,
        seconds: u64,
    },
    Chmod {
        at: Index,
        is_private: bool,
    },
    /// Writes an archive.
    Archive {
        at: usize,
        archive: Recipe,
        how: How,
    },
    /// Cuts off the end of an archive that is a source, and leaves it like that.
    CutArchive {
        at: usize,
        len: Index,
    },
    RemoveArchive(usize),
    MoveArchive {
        from: usize,
        to: usize,
    },
    /// Changes the link that is a source, so that it leads to another archive.
    Retarget(usize),
    /// Mounts a disk on a folder of a root, or unmounts the disk that is mounted there. Without the right to
    /// mount, this changes nothing.
    Disk(Index),
    /// Waits this many milliseconds, so that the mount may notice the changes so far.
    Pause(u64),
}

impl Change {
    /// Whether a file that shows the same bytes and the same mtime afterwards is the same file.
    /// Other changes may move its ctime, or may show it by another link or from another layer.
    pub(super) fn keeps_file_identity(&self) -> bool {
        use Change::{Archive, Grow, MakeFolder, Pause, Touch, Write};
        matches!(self, Write { .. } | Grow { .. } | MakeFolder(_) | Touch { .. } | Archive { .. } | Pause(_))
    }
}

/// How a file is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum How {
    /// Overwrites the existing file.
    InPlace,
    /// Overwrites the existing file, and writes the second half this many milliseconds later.
    InHalves(u64),
    /// Writes a new file in the same folder, and renames it over the old one.
    Beside,
    /// Writes a new file in another folder, and renames it over the old one.
    FromElsewhere,
}

/// A path below a root: an existing one, or any.
#[derive(Clone, Debug)]
pub(super) enum Spot {
    Existing(Index),
    Any { root: &'static str, folders: Vec<&'static str>, name: &'static str },
}

/// The format and the files of an archive.
#[derive(Clone, Debug)]
pub(super) struct Recipe {
    format: Format,
    files: Vec<(Vec<&'static str>, &'static str, usize)>,
}

#[derive(Clone, Copy, Debug)]
enum Format {
    Tes3,
    Tes4(u32, bool),
    Ba2(bool),
}

fn spot() -> impl Strategy<Value = Spot> {
    let folders = proptest::collection::vec(select(&FOLDERS[..]), 0..3);
    let new = (select(&ROOTS[..]), folders, select(&FILES[..])).prop_map(|(root, folders, name)| Spot::Any {
        root,
        folders,
        name,
    });
    prop_oneof![3 => new, 2 => any::<Index>().prop_map(Spot::Existing)]
}

fn len() -> impl Strategy<Value = usize> {
    prop_oneof![1 => Just(0), 6 => 1_usize..3000, 2 => 100_000_usize..300_000]
}

fn how() -> impl Strategy<Value = How> {
    prop_oneof![
        3 => Just(How::InPlace),
        1 => (0_u64..700).prop_map(How::InHalves),
        2 => Just(How::Beside),
        1 => Just(How::FromElsewhere)
    ]
}

fn recipe() -> impl Strategy<Value = Recipe> {
    let format = prop_oneof![
        Just(Format::Tes3),
        (103_u32..106, any::<bool>()).prop_map(|(version, is_packed)| Format::Tes4(version, is_packed)),
        any::<bool>().prop_map(Format::Ba2),
    ];
    let folders = proptest::collection::vec(select(&FOLDERS[..]), 0..3);
    let files = proptest::collection::vec((folders, select(&FILES[..]), len()), 1..8);
    (format, files).prop_map(|(format, files)| Recipe { format, files })
}

/// Generates one change.
pub(super) fn change() -> impl Strategy<Value = Change> {
    let archive = 0..ARCHIVES.len();
    let index = any::<Index>;
    prop_oneof![
        8 => (spot(), len(), how()).prop_map(|(at, len, how)| Change::Write { at, len, how }),
        3 => (index(), len()).prop_map(|(at, len)| Change::Grow { at, len }),
        1 => spot().prop_map(Change::MakeFolder),
        3 => index().prop_map(Change::Remove),
        5 => (index(), spot()).prop_map(|(from, to)| Change::Move { from, to }),
        3 => index().prop_map(Change::Respell),
        3 => (spot(), spot(), any::<bool>())
            .prop_map(|(at, to, is_relative)| Change::Link { at, to, is_relative }),
        1 => (spot(), index()).prop_map(|(at, of)| Change::HardLink { at, of }),
        2 => (index(), 0_u64..1_000_000).prop_map(|(at, seconds)| Change::Touch { at, seconds }),
        1 => (index(), any::<bool>()).prop_map(|(at, is_private)| Change::Chmod { at, is_private }),
        6 => (archive.clone(), recipe(), how())
            .prop_map(|(at, archive, how)| Change::Archive { at, archive, how }),
        1 => (0..2_usize, index()).prop_map(|(at, len)| Change::CutArchive { at, len }),
        1 => archive.clone().prop_map(Change::Retarget),
        2 => archive.clone().prop_map(Change::RemoveArchive),
        2 => (archive.clone(), archive).prop_map(|(from, to)| Change::MoveArchive { from, to }),
        2 => index().prop_map(Change::Disk),
        2 => (0_u64..600).prop_map(Change::Pause),
    ]
}

/// The folder in which the changes are made.
#[derive(Debug)]
pub(super) struct Disk {
    folder: PathBuf,
    /// Number of files written so far. It makes the bytes of each file unique.
    written: u64,
    /// What loose files had after they were written in place.
    in_place: Vec<Vec<u8>>,
    /// Whether an archive was written in place.
    pub(super) has_rewritten_archives: bool,
}

impl Disk {
    /// Makes the sources of a mount in `folder`, with a few small files in them.
    pub(super) fn new(folder: PathBuf) -> io::Result<Self> {
        let (in_place, has_rewritten_archives) = Default::default();
        let mut disk = Self { folder, written: 0, in_place, has_rewritten_archives };
        for root in ROOTS {
            fs::create_dir(disk.path(root))?;
        }
        symlink("real", disk.path("mod2"))?;
        symlink("elsewhere/far.bsa", disk.path("link.bsa"))?;
        for at in [0, 1, 2] {
            let files = vec![(vec!["Tex"], "a.txt", 100 + at), (vec![], "b.dds", 2000)];
            let archive = Recipe { format: Format::Tes4(104, at == 1), files };
            disk.apply(&Change::Archive { at, archive, how: How::InPlace })?;
        }
        for root in ROOTS {
            let at = Spot::Any { root, folders: vec!["Tex", "Deep"], name: "c.nif" };
            disk.apply(&Change::Write { at, len: 500, how: How::InPlace })?;
        }
        Ok(disk)
    }

    pub(super) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.join(name)
    }

    /// Makes a change. An impossible change, such as a rename of a folder into itself, changes nothing.
    ///
    /// # Errors
    /// Returns the system's error. Then nothing or only a part was changed.
    pub(super) fn apply(&mut self, change: &Change) -> io::Result<()> {
        match change {
            Change::Write { at, len, how } => {
                let bytes = self.bytes(*len);
                let path = self.find(at);
                if matches!(how, How::InPlace | How::InHalves(_)) {
                    self.in_place.push(bytes.clone());
                }
                self.write(&path, &bytes, *how)
            }
            Change::Grow { at, len } => {
                let more = self.bytes(*len);
                let path = self.existing(at);
                File::options().append(true).open(&path)?.write_all(&more)?;
                self.in_place.push(fs::read(&path)?);
                Ok(())
            }
            Change::MakeFolder(at) => fs::create_dir_all(self.find(at)),
            Change::Remove(at) => remove(&self.existing(at)),
            Change::Move { from, to } => {
                let (from, to) = (self.existing(from), self.find(to));
                fs::create_dir_all(to.parent().unwrap())?;
                fs::rename(from, to)
            }
            Change::Respell(at) => {
                let path = self.existing(at);
                let name = path.file_name().unwrap().to_str().unwrap();
                fs::rename(&path, path.with_file_name(other_case(name)))
            }
            Change::Link { at, to, is_relative } => self.link(&self.find(at), &self.find(to), *is_relative),
            Change::HardLink { at, of } => {
                let at = self.find(at);
                fs::create_dir_all(at.parent().unwrap())?;
                fs::hard_link(self.existing(of), at)
            }
            Change::Touch { at, seconds } => {
                let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_500_000_000 + seconds);
                File::open(self.existing(at))?.set_modified(time)
            }
            Change::Chmod { at, is_private } => {
                let path = self.existing(at);
                let mode = if path.is_dir() { 0o755 } else { 0o644 };
                let mode = if *is_private { mode & 0o700 } else { mode };
                fs::set_permissions(path, Permissions::from_mode(mode))
            }
            Change::Archive { at, archive, how } => {
                let bytes = self.archive(archive);
                if matches!(how, How::InPlace | How::InHalves(_)) {
                    self.has_rewritten_archives = true;
                    self.in_place.push(bytes.clone());
                }
                self.write(&self.path(ARCHIVES[*at]), &bytes, *how)
            }
            Change::CutArchive { at, len } => {
                self.has_rewritten_archives = true;
                let file = File::options().write(true).open(self.path(ARCHIVES[*at]))?;
                let whole = file.metadata()?.len();
                file.set_len(len.index(usize::try_from(whole).unwrap().max(1)) as u64)
            }
            Change::Retarget(to) => {
                symlink(ARCHIVES[*to], self.path("new.link"))?;
                fs::rename(self.path("new.link"), self.path("link.bsa"))
            }
            Change::RemoveArchive(at) => fs::remove_file(self.path(ARCHIVES[*at])),
            Change::MoveArchive { from, to } => {
                fs::rename(self.path(ARCHIVES[*from]), self.path(ARCHIVES[*to]))
            }
            Change::Disk(at) => {
                let folder = self.existing(at);
                match self.disk() {
                    // As when it is unplugged: a program may have a file of it open.
                    Some(disk) => Ok(unmount(disk, UnmountFlags::DETACH)?),
                    None if folder.symlink_metadata()?.is_dir() => self.mount_disk(&folder),
                    None => Err(io::ErrorKind::NotADirectory.into()),
                }
            }
            Change::Pause(millis) => {
                std::thread::sleep(Duration::from_millis(*millis));
                Ok(())
            }
        }
    }

    /// Mounts a disk with some files.
    pub(super) fn mount_disk(&mut self, folder: &Path) -> io::Result<()> {
        mount("none", folder, "tmpfs", MountFlags::empty(), None::<&CStr>)?;
        fs::create_dir(folder.join("Tex"))?;
        let bytes = [self.bytes(700), self.bytes(70_000)];
        fs::write(folder.join("a.txt"), &bytes[0])?;
        fs::write(folder.join("Tex/d.txt"), &bytes[1])
    }

    /// Writes other bytes to a file.
    pub(super) fn write_in_place(&mut self, path: &Path, len: usize) -> io::Result<()> {
        let bytes = self.bytes(len);
        self.in_place.push(bytes.clone());
        fs::write(path, bytes)
    }

    /// Where a disk is mounted.
    pub(super) fn disk(&self) -> Option<PathBuf> {
        let is_below = |path: &PathBuf| ROOTS.iter().any(|root| path.starts_with(self.path(root)));
        mounts_below(&self.folder).into_iter().find(is_below)
    }

    /// Whether a file that was written in place had these bytes at an offset.
    pub(super) fn was_written(&self, offset: usize, bytes: &[u8]) -> bool {
        self.in_place.iter().any(|written| written.get(offset..).unwrap_or_default().starts_with(bytes))
    }

    /// The sources that exist, in the form that `bsafs mount` takes. A link without a target is none.
    pub(super) fn sources(&self) -> Vec<&'static str> {
        SOURCES.into_iter().filter(|source| self.path(source).metadata().is_ok()).collect()
    }

    /// The bytes that files had after they were written in place.
    pub(super) fn in_place(&self) -> impl Iterator<Item = &[u8]> {
        self.in_place.iter().map(Vec::as_slice)
    }

    /// The newest mtime of the sources and of the archives in them. A fresh mount shows this time
    /// for folders that only archives have.
    pub(super) fn newest(&self) -> Option<SystemTime> {
        // `elsewhere/far.bsa` counts only if the source `link.bsa` leads to it.
        let in_layers = ARCHIVES.into_iter().filter(|path| !path.starts_with("elsewhere/"));
        let archives = in_layers.chain(SOURCES);
        archives.filter_map(|path| self.path(path).metadata().ok()?.modified().ok()).max()
    }

    /// Makes bytes that no other file has.
    fn bytes(&mut self, len: usize) -> Vec<u8> {
        self.written += 1;
        let mut bytes = format!("#{}#", self.written).into_bytes();
        bytes.extend(text(self.written, len));
        bytes.truncate(len);
        bytes
    }

    fn archive(&mut self, recipe: &Recipe) -> Vec<u8> {
        let files = recipe.files.iter().map(|(folders, name, len)| {
            let data = self.bytes(*len);
            (folders.join("\\"), *name, data)
        });
        let path = |folder: &str, name: &str| match folder {
            "" => name.to_owned(),
            _ => format!("{folder}\\{name}"),
        };
        match recipe.format {
            Format::Tes3 => {
                files.fold(Tes3::new(), |it, (folder, name, data)| it.file(path(&folder, name), data)).build()
            }
            Format::Tes4(version, is_packed) => {
                let flags = FOLDER_NAMES | FILE_NAMES | if is_packed { PACKED } else { 0 };
                let flags = if is_packed && version > 103 { flags | EMBEDDED } else { flags };
                let add = |it: Tes4, (folder, name, data): (String, &str, Vec<u8>)| {
                    let folder = if folder.is_empty() { ".".to_owned() } else { folder };
                    it.add(folder, Tes4File::new(name, data))
                };
                files.fold(Tes4::new(version).flags(flags), add).build()
            }
            Format::Ba2(is_packed) => {
                let add = |it: Ba2, (folder, name, data): (String, &str, Vec<u8>)| {
                    let is_packed = is_packed && !data.is_empty();
                    let chunk = if is_packed { Chunk::zlib(&data) } else { Chunk::stored(data) };
                    it.add(Ba2File::general(path(&folder, name)).chunk(chunk))
                };
                files.fold(Ba2::general(1), add).build()
            }
        }
    }

    fn write(&self, path: &Path, bytes: &[u8], how: How) -> io::Result<()> {
        fs::create_dir_all(path.parent().unwrap())?;
        let beside = match how {
            How::InPlace => return fs::write(path, bytes),
            How::InHalves(millis) => {
                let mut file = File::create(path)?;
                file.write_all(&bytes[..bytes.len() / 2])?;
                std::thread::sleep(Duration::from_millis(millis));
                return file.write_all(&bytes[bytes.len() / 2..]);
            }
            How::Beside => path.with_file_name("new.tmp"),
            How::FromElsewhere => self.path("new.tmp"),
        };
        fs::write(&beside, bytes)?;
        fs::rename(&beside, path).inspect_err(|_| fs::remove_file(&beside).unwrap())
    }

    fn link(&self, at: &Path, to: &Path, is_relative: bool) -> io::Result<()> {
        let folder = at.parent().unwrap();
        fs::create_dir_all(folder)?;
        let depth = folder.strip_prefix(&self.folder).unwrap().components().count();
        let up: PathBuf = std::iter::repeat_n("..", depth).collect();
        let below = to.strip_prefix(&self.folder).unwrap();
        symlink(if is_relative { up.join(below) } else { to.to_owned() }, at)
    }

    fn find(&self, spot: &Spot) -> PathBuf {
        match spot {
            Spot::Existing(index) => self.existing(index),
            Spot::Any { root, folders, name } => {
                let mut path = self.path(root);
                path.extend(folders);
                path.join(name)
            }
        }
    }

    /// Picks an existing file, link or folder, but never an archive.
    fn existing(&self, index: &Index) -> PathBuf {
        let mut found: Vec<PathBuf> = ROOTS.map(|root| self.path(root)).to_vec();
        let mut at = 0;
        while let Some(folder) = found.get(at).cloned() {
            at += 1;
            if !folder.symlink_metadata().is_ok_and(|it| it.is_dir()) {
                continue;
            }
            let is_archive = |name: &OsString| [".bsa", ".ba2"].iter().any(|it| ends_with(name, it));
            let mut names: Vec<OsString> =
                fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.retain(|name| !is_archive(name));
            names.sort();
            found.extend(names.into_iter().map(|name| folder.join(name)));
        }
        index.get(&found).clone()
    }
}

fn ends_with(name: &OsString, end: &str) -> bool {
    name.to_str().is_some_and(|name| name.to_ascii_lowercase().ends_with(end))
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => fs::remove_dir_all(path),
        done => done,
    }
}

/// The name with the case of all ASCII letters swapped.
pub(super) fn other_case(name: &str) -> String {
    let swap =
        |it: char| if it.is_ascii_lowercase() { it.to_ascii_uppercase() } else { it.to_ascii_lowercase() };
    name.chars().map(swap).collect()
}
