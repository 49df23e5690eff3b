//! The comparisons: each does to a mount what programs do, and compares every byte, name and size with the view.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::{Advice, fadvise};

use crate::archives;
use crate::random::Random;
use crate::run::Counts;
use crate::view::{Shown, View};
use crate::watch::Act;

/// Sizes of reads: of a page, of cp, of the largest request, and odd ones.
const STEPS: [usize; 6] = [4096, 1 << 17, 1 << 20, 1 << 16, 1000, 77_777];

/// Why a comparison ended.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The system returned an error.
    Refused { error: io::Error, path: String, archive: Option<usize> },
    /// Bytes are not those of the file.
    Wrong(String),
    /// Names or sizes are not those of the view.
    Differs(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { error, path, .. } => write!(f, "{path}: {error}"),
            Self::Wrong(text) => write!(f, "WRONG BYTES: {text}"),
            Self::Differs(text) => f.write_str(text),
        }
    }
}

/// A mount to compare.
pub(crate) struct Subject<'a> {
    pub(crate) root: &'a Path,
    pub(crate) view: &'a View,
    pub(crate) counts: &'a Counts,
    pub(crate) seed: u64,
    pub(crate) act: &'a Act,
    /// 1 MiB.
    pub(crate) buffer: &'a mut [u8],
    pub(crate) copy: &'a Path,
}

impl Subject<'_> {
    /// Reads a whole file in steps.
    pub(crate) fn whole(&mut self, shown: &Shown, random: &mut Random) -> Result<(), Trouble> {
        let file = self.open(shown, &shown.path)?;
        self.drop_pages(&file, random)?;
        self.size(shown, &shown.path)?;
        let step = STEPS[random.index(STEPS.len())];
        let mut offset = 0;
        loop {
            let len = self.range(shown, &file, offset, step)?;
            if len < step {
                return Ok(());
            }
            offset += len;
        }
    }

    /// Reads ranges of a file, also beyond its end.
    pub(crate) fn ranges(&mut self, shown: &Shown, random: &mut Random) -> Result<(), Trouble> {
        let file = self.open(shown, &shown.path)?;
        for _ in 0..=random.below(8) {
            self.drop_pages(&file, random)?;
            let offset = random.index(shown.file().data.len() + 5000);
            let most = if random.one_in(4) { 300_000 } else { 9000 };
            let len = 1 + random.index(most);
            self.range(shown, &file, offset, len)?;
        }
        Ok(())
    }

    /// Reads a range to its end or that of the file, and returns its length.
    fn range(&mut self, shown: &Shown, file: &File, offset: usize, len: usize) -> Result<usize, Trouble> {
        let expected = shown.file().data.get(offset..).unwrap_or_default();
        let mut done = 0;
        while done < len {
            self.act.begin(|| format!("read {len} at {offset} of {}", shown.path));
            let read = match file.read_at(&mut self.buffer[done..len], (offset + done) as u64) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.map_err(refused(&shown.path, Some(shown.archive)))?,
            };
            if read == 0 {
                break;
            }
            done += read;
        }
        self.counts.reads.add(1);
        self.counts.compared_bytes.add(done as u64);
        let read = &self.buffer[..done];
        let is_whole = done == len.min(expected.len());
        if expected.starts_with(read) && is_whole {
            return Ok(done);
        }
        // A made-up size may be smaller than the file.
        if expected.starts_with(read) && self.view.is_rewritten(shown.archive) {
            return Ok(0);
        }
        Err(self.wrong(shown, offset, read, len))
    }

    /// Describes wrong bytes: where they begin, and where they may come from.
    fn wrong(&self, shown: &Shown, offset: usize, read: &[u8], asked: usize) -> Trouble {
        let expected = shown.file().data.get(offset..).unwrap_or_default();
        let same = read.iter().zip(expected).take_while(|(ours, other)| ours == other).count();
        let rest = &read[same..];
        let numbers = 0..=shown.generation() + 50;
        let is_of = |number: &u64| {
            let data = archives::data(self.seed, shown.archive, *number, shown.index);
            data.get(offset + same..).is_some_and(|it| !rest.is_empty() && it.starts_with(rest))
        };
        let source = match numbers.into_iter().find(is_of) {
            _ if rest.is_empty() => "the file ends there".to_owned(),
            _ if rest.iter().all(|&byte| byte == 0) => "zeros from there on".to_owned(),
            Some(number) => format!("from there on generation {number}"),
            None => format!("then {:02x?}", &rest[..rest.len().min(16)]),
        };
        Trouble::Wrong(format!(
            "{} of archive {} in generation {}, {} bytes: read {} of {asked} at {offset}, right for {same}: {source}",
            shown.path,
            archives::KINDS[shown.archive].file_name,
            shown.generation(),
            shown.file().data.len(),
            read.len(),
        ))
    }

    /// Lists a folder and asks for the attributes of what is in it, as `ls -l` does.
    pub(crate) fn list(&self, folder: usize) -> Result<(), Trouble> {
        let Some((folder, children)) = self.view.folders.iter().nth(folder) else { return Ok(()) };
        self.act.begin(|| format!("list {folder:?}"));
        let path = self.root.join(folder);
        let listed = fs::read_dir(&path).map_err(refused(folder, None))?;
        let names = listed.map(|it| Ok(it?.file_name().into_string().unwrap_or_default()));
        let names: BTreeSet<String> = names.collect::<io::Result<_>>().map_err(refused(folder, None))?;
        self.counts.folders.add(1);
        if !names.iter().eq(children.keys()) {
            let other: Vec<&String> = names.iter().filter(|it| !children.contains_key(*it)).take(3).collect();
            return Err(Trouble::Differs(format!(
                "{folder:?} lists {} names and not {}; unknown are {other:?}",
                names.len(),
                children.len()
            )));
        }
        for (name, file) in children {
            let path = format!("{folder}/{name}");
            match file {
                Some(file) => self.size(&self.view.files[*file], path.trim_start_matches('/'))?,
                None => self.is_folder(path.trim_start_matches('/'))?,
            }
        }
        Ok(())
    }

    /// `ls -lR` of the mount.
    pub(crate) fn list_all(&self) -> Result<(), Trouble> {
        (0..self.view.folders.len()).try_for_each(|folder| self.list(folder))
    }

    /// Looks a file up in another spelling, and reads its beginning.
    pub(crate) fn other_case(&mut self, shown: &Shown, random: &mut Random) -> Result<(), Trouble> {
        // Few spellings: the daemon remembers each of a folder, within a bound.
        let spelled = match random.below(3) {
            0 => shown.path.to_ascii_uppercase(),
            1 => shown.path.to_ascii_lowercase(),
            _ => shown.path.chars().map(swap_case).collect(),
        };
        self.size(shown, &spelled)?;
        let file = self.open(shown, &spelled)?;
        self.range(shown, &file, 0, 4096).map(drop)
    }

    /// Looks up what does not exist.
    pub(crate) fn absent(&self, shown: &Shown, random: &mut Random) -> Result<(), Trouble> {
        let folder = shown.path.rsplit_once('/').map_or("", |it| it.0);
        let number = shown.generation() + 1 + random.below(3);
        let (path, expected) = match random.below(4) {
            0 => (format!("{}.bak", shown.path), io::ErrorKind::NotFound),
            1 => (format!("{folder}/none/{number}"), io::ErrorKind::NotFound),
            2 => (format!("{}/below", shown.path), io::ErrorKind::NotADirectory),
            _ => match shown.file().name_in(number) {
                Some(name) => (format!("{folder}/{name}"), io::ErrorKind::NotFound),
                None => (format!("Missing{}", random.below(1000)), io::ErrorKind::NotFound),
            },
        };
        self.act.begin(|| format!("look up {path}"));
        self.counts.absent.add(1);
        match fs::symlink_metadata(self.root.join(&path)) {
            Err(error) if error.kind() == expected => Ok(()),
            Err(error) => Err(refused(&path, Some(shown.archive))(error)),
            Ok(_) => Err(Trouble::Differs(format!("{path} exists"))),
        }
    }

    /// Copies a file by `cp`, a process of its own.
    pub(crate) fn copy(&self, shown: &Shown) -> Result<(), Trouble> {
        self.act.begin(|| format!("cp {}", shown.path));
        let mut command = Command::new("cp");
        command.arg(self.root.join(&shown.path)).arg(self.copy).stdin(Stdio::null());
        let failed = refused("cp", None);
        let output = command.output().map_err(&failed)?;
        let copied = if self.copy.exists() { fs::read(self.copy).map_err(&failed)? } else { Vec::new() };
        let _ = fs::remove_file(self.copy);
        self.counts.copies.add(1);
        self.counts.compared_bytes.add(copied.len() as u64);
        let data = &shown.file().data;
        let is_short = copied.len() < data.len() && !self.view.is_rewritten(shown.archive);
        if !data.starts_with(&copied) || output.status.success() && is_short {
            return Err(self.wrong(shown, 0, &copied, data.len()));
        }
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr);
        Err(Trouble::Refused {
            // Which one cp was given is in its text only.
            error: rustix::io::Errno::IO.into(),
            path: text.trim().to_owned(),
            archive: Some(shown.archive),
        })
    }

    fn open(&self, shown: &Shown, path: &str) -> Result<File, Trouble> {
        self.act.begin(|| format!("open {path}"));
        File::open(self.root.join(path)).map_err(refused(path, Some(shown.archive)))
    }

    fn size(&self, shown: &Shown, path: &str) -> Result<(), Trouble> {
        self.act.begin(|| format!("stat {path}"));
        let failed = refused(path, Some(shown.archive));
        let metadata = fs::symlink_metadata(self.root.join(path)).map_err(failed)?;
        self.counts.lookups.add(1);
        let len = shown.file().data.len() as u64;
        // Where the data state the size and cannot be read any more, one is made up.
        if metadata.is_file() && (metadata.len() == len || self.view.is_rewritten(shown.archive)) {
            return Ok(());
        }
        Err(Trouble::Differs(format!(
            "{path}: {:?} of {} and not {len} bytes",
            metadata.file_type(),
            metadata.len()
        )))
    }

    fn is_folder(&self, path: &str) -> Result<(), Trouble> {
        self.act.begin(|| format!("stat {path}"));
        let metadata = fs::symlink_metadata(self.root.join(path)).map_err(refused(path, None))?;
        self.counts.lookups.add(1);
        match metadata.is_dir() {
            true => Ok(()),
            false => Err(Trouble::Differs(format!("{path} is no folder"))),
        }
    }

    /// Drops a file's pages now and then, which every user can, so that its bytes are requested again.
    fn drop_pages(&self, file: &File, random: &mut Random) -> Result<(), Trouble> {
        if random.one_in(3) {
            let dropped = fadvise(file, 0, None, Advice::DontNeed);
            dropped.map_err(|error| refused("fadvise", None)(error.into()))?;
            self.counts.advised.add(1);
        }
        Ok(())
    }
}

/// Adds the file to an error.
fn refused(path: &str, archive: Option<usize>) -> impl Fn(io::Error) -> Trouble {
    let path = path.to_owned();
    move |error| Trouble::Refused { error, path: path.clone(), archive }
}

fn swap_case(character: char) -> char {
    match character.is_ascii_uppercase() {
        true => character.to_ascii_lowercase(),
        false => character.to_ascii_uppercase(),
    }
}
