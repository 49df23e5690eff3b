//! The comparisons. Each does to a mount what programs do, and compares every byte, name and size
//! with what the mount may show.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{Advice, fadvise};
use rustix::io::Errno;

use crate::possible::{Effect, Possible};
use crate::random::Random;
use crate::run::Counts;
use crate::view::{Shown, Views, source_name};
use crate::watch::Act;
use crate::{archives, loose};

/// Sizes of reads: a page, those of cp, the largest request, and odd sizes.
const STEPS: [usize; 6] = [4096, 1 << 17, 1 << 20, 1 << 16, 1000, 77_777];

/// Why a comparison failed or was cut short.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The system returned an error.
    Refused { error: io::Error, path: String },
    /// The bytes are not those of the file.
    Wrong(String),
    /// The names or sizes are not those of the view.
    Differs(String),
    /// An effect that a change may have.
    OfChange(Effect),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { error, path } => write!(f, "{path}: {error}"),
            Self::Wrong(text) => write!(f, "WRONG BYTES: {text}"),
            Self::Differs(text) => f.write_str(text),
            Self::OfChange(_) => f.write_str("it changed"),
        }
    }
}

/// A mount to compare.
pub(crate) struct Subject<'a> {
    pub(crate) root: &'a Path,
    pub(crate) views: &'a Views,
    pub(crate) counts: &'a Counts,
    pub(crate) seed: u64,
    pub(crate) act: &'a Act,
    /// 1 MiB long.
    pub(crate) buffer: &'a mut [u8],
    pub(crate) copy: &'a Path,
}

/// An open file. It stays the same file, whatever its path leads to later.
struct Opened {
    file: File,
    /// Path of the file, and as it was opened.
    path: String,
    spelled: String,
    /// What was at the path when the file was opened, without those that earlier reads ruled out.
    possible: Possible,
}

impl Subject<'_> {
    /// Reads a whole file in steps.
    pub(crate) fn whole(&mut self, shown: &Shown, random: &mut Random) -> Result<(), Trouble> {
        let mut opened = self.open(&shown.path, &shown.path)?;
        self.drop_pages(&opened.file, random)?;
        self.size(&shown.path, &shown.path)?;
        let step = STEPS[random.index(STEPS.len())];
        let mut offset = 0;
        loop {
            let len = self.range(&mut opened, offset, step)?;
            if len < step {
                return Ok(());
            }
            offset += len;
        }
    }

    /// Reads ranges of a file, some of them beyond its end.
    pub(crate) fn ranges(&mut self, shown: &Shown, random: &mut Random) -> Result<(), Trouble> {
        let mut opened = self.open(&shown.path, &shown.path)?;
        for _ in 0..=random.below(8) {
            self.drop_pages(&opened.file, random)?;
            let offset = random.index(shown.file.data.len() + 5000);
            let most = if random.one_in(4) { 300_000 } else { 9000 };
            let len = 1 + random.index(most);
            self.range(&mut opened, offset, len)?;
        }
        Ok(())
    }

    /// Keeps files open for a while, and reads them again and again, as `tail -f` does.
    pub(crate) fn keep_open(&mut self, files: &[&Arc<Shown>], random: &mut Random) -> Result<(), Trouble> {
        let (start, duration) = (Instant::now(), Duration::from_millis(random.below(1500)));
        let mut opened = Vec::new();
        for shown in files {
            opened.extend(self.unless_changed(self.open(&shown.path, &shown.path))?);
        }
        while start.elapsed() < duration && !opened.is_empty() {
            let at = random.index(opened.len());
            let done = self.read_open(&mut opened[at], random);
            if self.unless_changed(done)?.is_none() {
                opened.swap_remove(at);
            }
            self.act.end();
            sleep(Duration::from_millis(random.below(30)));
        }
        Ok(())
    }

    /// Checks the size of an open file, and reads a range, often near its end or its beginning.
    fn read_open(&mut self, opened: &mut Opened, random: &mut Random) -> Result<(), Trouble> {
        self.drop_pages(&opened.file, random)?;
        let end = self.size_of_open(opened)? as usize;
        let offset = match random.below(3) {
            0 => end.saturating_sub(random.index(5000)),
            1 => random.index(5000),
            _ => random.index(end + 5000),
        };
        self.range(opened, offset, 1 + random.index(9000)).map(drop)
    }

    /// Reads a range, up to the end of the file, and returns the length that was read. Candidates with other
    /// bytes are ruled out for later reads, so that all reads of an open file must match a single file.
    fn range(&mut self, opened: &mut Opened, offset: usize, len: usize) -> Result<usize, Trouble> {
        let begin = Instant::now();
        let mut done = 0;
        while done < len {
            self.act.begin(|| format!("read {len} at {offset} of {}", opened.spelled));
            match opened.file.read_at(&mut self.buffer[done..len], (offset + done) as u64) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(opened.possible.refused_open(error, &opened.spelled)),
                Ok(0) => break,
                Ok(read) => done += read,
            }
        }
        self.counts.reads.add(1);
        self.counts.compared_bytes.add(done as u64);
        let now = Possible::new(&self.views.since(begin), &opened.path);
        let read = &self.buffer[..done];
        let mut fitting = opened.possible.files.clone();
        fitting.retain(|it| now.versions(it).has(offset, read, len));
        if fitting.is_empty() {
            return Err(self.wrong(&opened.possible.files, offset, read, len));
        }
        let versions = || fitting.iter().map(|it| now.versions(it));
        self.counts.mixed.add(u64::from(versions().all(|it| !it.is_one(offset, read, len))));
        opened.possible.files = fitting;
        Ok(done)
    }

    /// Describes wrong bytes: where they begin, and where they may come from.
    fn wrong(&self, possible: &[Arc<Shown>], offset: usize, read: &[u8], asked: usize) -> Trouble {
        let Some(shown) = possible.last() else { return Trouble::Wrong("of what is absent".into()) };
        let versions: Vec<_> = possible.iter().flat_map(|it| it.file.versions()).collect();
        let newest = versions.last().unwrap_or(&shown.file);
        let expected = newest.data.get(offset..).unwrap_or_default();
        let same = read.iter().zip(expected).take_while(|(ours, other)| ours == other).count();
        let rest = &read[same..];
        let numbers = 0..=newest.number + 50;
        let is_of = |number: &u64| {
            let data = archives::data(self.seed, shown.layer, *number, shown.file.index);
            data.get(offset + same..).is_some_and(|it| !rest.is_empty() && it.starts_with(rest))
        };
        let source = match numbers.into_iter().find(is_of) {
            _ if rest.is_empty() => "the file ends there".to_owned(),
            _ if rest.iter().all(|&byte| byte == 0) => "zeros from there on".to_owned(),
            Some(number) => format!("from there on generation {number}"),
            None => format!("then {:02x?}", &rest[..rest.len().min(16)]),
        };
        let versions: Vec<(u64, usize)> = versions.iter().map(|it| (it.number, it.data.len())).collect();
        Trouble::Wrong(format!(
            "{} of {} in generations of bytes {versions:?}: \
             read {} of {asked} at {offset}, right for {same}: {source}",
            shown.path,
            source_name(shown.layer),
            read.len(),
        ))
    }

    /// Lists a folder and stats its entries, as `ls -l` does.
    pub(crate) fn list(&self, folder: &str) -> Result<(), Trouble> {
        self.act.begin(|| format!("list {folder:?}"));
        let begin = Instant::now();
        let path = self.root.join(folder);
        let listed = fs::read_dir(&path).map_err(refused(folder))?;
        let names = listed.map(|it| Ok(it?.file_name().into_string().unwrap_or_default()));
        let names: BTreeSet<String> = names.collect::<io::Result<_>>().map_err(refused(folder))?;
        self.counts.folders.add(1);
        let views = self.views.since(begin);
        let children: Vec<_> = views.iter().filter_map(|view| view.folders.get(folder)).collect();
        // While a change is under way, a listing may have a part of it.
        let is_saving = |name: &String| views.len() > 1 && name.ends_with(&format!(".{}", loose::SAVING));
        let is_known = |name: &String| is_saving(name) || children.iter().any(|it| it.contains_key(name));
        let other: Vec<&String> = names.iter().filter(|it| !is_known(it)).take(3).collect();
        let always = |name: &&String| children.iter().all(|it| it.contains_key(*name));
        let all = children.first().into_iter().flat_map(|it| it.keys()).filter(always);
        let missing: Vec<&String> = all.filter(|it| !names.contains(*it)).take(3).collect();
        if !other.is_empty() || !missing.is_empty() {
            return Err(Trouble::Differs(format!(
                "{folder:?} lists {} names; unknown are {other:?}, missing {missing:?}",
                names.len()
            )));
        }
        for (name, file) in views.last().and_then(|view| view.folders.get(folder)).into_iter().flatten() {
            let path = format!("{folder}/{name}");
            let path = path.trim_start_matches('/');
            match file {
                Some(_) => drop(self.unless_changed(self.size(path, path))?),
                None => self.is_folder(path)?,
            }
        }
        Ok(())
    }

    /// Lists the whole mount, as `ls -lR` does.
    pub(crate) fn list_all(&self) -> Result<(), Trouble> {
        self.views.last().folders.keys().try_for_each(|folder| self.list(folder))
    }

    /// Looks up a file in another spelling, and reads its beginning.
    pub(crate) fn other_case(&mut self, shown: &Shown, random: &mut Random) -> Result<(), Trouble> {
        // Only a few spellings, because the daemon remembers each spelling of a folder, up to a limit.
        let spelled = match random.below(3) {
            0 => shown.path.to_ascii_uppercase(),
            1 => shown.path.to_ascii_lowercase(),
            _ => shown.path.chars().map(swap_case).collect(),
        };
        self.size(&shown.path, &spelled)?;
        let mut opened = self.open(&shown.path, &spelled)?;
        self.range(&mut opened, 0, 4096).map(drop)
    }

    /// Looks up a name that does not exist, or that exists only in an earlier or later generation.
    pub(crate) fn absent(&self, shown: &Shown, random: &mut Random) -> Result<(), Trouble> {
        let folder = shown.path.rsplit_once('/').map_or("", |it| it.0);
        let number = (shown.file.number + 3).saturating_sub(random.below(6));
        let path = match random.below(4) {
            0 => format!("{}.bak", shown.path),
            1 => format!("{folder}/none/{number}"),
            2 => format!("{}/below", shown.path),
            _ => match shown.file.name_in(number) {
                Some(name) => format!("{folder}/{name}"),
                None => format!("Missing{}", random.below(1000)),
            },
        };
        self.act.begin(|| format!("look up {path}"));
        self.counts.absent.add(1);
        let begin = Instant::now();
        let found = fs::symlink_metadata(self.root.join(&path));
        let views = self.views.since(begin);
        let possible = Possible::new(&views, &path);
        let parent = Possible::new(&views, path.rsplit_once('/').map_or("", |it| it.0));
        match found {
            Ok(_) if !possible.files.is_empty() => Ok(()),
            Ok(_) => Err(Trouble::Differs(format!("{path} exists"))),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory && !parent.files.is_empty() => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !possible.is_absent => {
                Err(Trouble::Differs(format!("{path} is absent")))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && parent.is_absent => Ok(()),
            Err(error) => Err(possible.refused(error, &path)),
        }
    }

    /// Copies a file with `cp`, in a separate process.
    pub(crate) fn copy(&self, shown: &Shown) -> Result<(), Trouble> {
        self.act.begin(|| format!("cp {}", shown.path));
        let begin = Instant::now();
        let mut command = Command::new("cp");
        command.arg(self.root.join(&shown.path)).arg(self.copy).stdin(Stdio::null());
        let failed = refused("cp");
        let output = command.output().map_err(&failed)?;
        let copied = if self.copy.exists() { fs::read(self.copy).map_err(&failed)? } else { Vec::new() };
        let _ = fs::remove_file(self.copy);
        self.counts.copies.add(1);
        self.counts.compared_bytes.add(copied.len() as u64);
        let possible = Possible::new(&self.views.since(begin), &shown.path);
        let is_copied = |it: &Arc<Shown>| {
            // A copy that failed may end anywhere.
            let len = if output.status.success() { usize::MAX } else { copied.len() };
            possible.versions(it).has(0, &copied, len)
        };
        let is_empty = !output.status.success() && copied.is_empty();
        if !is_empty && !possible.files.iter().any(is_copied) {
            return Err(self.wrong(&possible.files, 0, &copied, shown.file.data.len()));
        }
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr);
        // Only the text of the message says which error cp got.
        Err(match text.trim() {
            text if text.contains("No such file") => possible.refused(Errno::NOENT.into(), text),
            text if text.contains("Stale file handle") => possible.refused_open(Errno::STALE.into(), text),
            // Between its stat and its open, another file got the path.
            text if text.contains("it was replaced") && possible.files.iter().any(|it| it.is_replaced()) => {
                Trouble::OfChange(Effect::Moved)
            }
            text => possible.refused_open(Errno::IO.into(), text),
        })
    }

    fn open(&self, path: &str, spelled: &str) -> Result<Opened, Trouble> {
        self.act.begin(|| format!("open {spelled}"));
        let begin = Instant::now();
        let file = File::open(self.root.join(spelled));
        let possible = Possible::new(&self.views.since(begin), path);
        match file {
            Ok(_) if possible.files.is_empty() => Err(Trouble::Differs(format!("{spelled} exists"))),
            Ok(file) => {
                let opened = Opened { file, path: path.to_owned(), spelled: spelled.to_owned(), possible };
                // A file of an archive that is being rewritten may have an estimated size. A read beyond it
                // gets no error, because the kernel does not ask the daemon.
                self.size_of_open(&opened)?;
                Ok(opened)
            }
            Err(error) => Err(possible.refused(error, spelled)),
        }
    }

    fn size(&self, path: &str, spelled: &str) -> Result<(), Trouble> {
        self.act.begin(|| format!("stat {spelled}"));
        let begin = Instant::now();
        let metadata = fs::symlink_metadata(self.root.join(spelled));
        let possible = Possible::new(&self.views.since(begin), path);
        let metadata = metadata.map_err(|error| possible.refused(error, spelled))?;
        self.counts.lookups.add(1);
        let len = metadata.len();
        let is_it = |it: &Arc<Shown>| possible.versions(it).has_length(len);
        if metadata.is_file() && possible.files.iter().any(is_it) {
            return Ok(());
        }
        // Until the new archive is shown, its unknown sizes are estimates.
        if metadata.is_file() && possible.is_overwritten() {
            return Err(Trouble::OfChange(Effect::Overwritten));
        }
        let sizes: Vec<usize> = possible.files.iter().map(|it| it.file.data.len()).collect();
        let kind = metadata.file_type();
        Err(Trouble::Differs(format!("{spelled}: {kind:?} of {len} and not {sizes:?} bytes")))
    }

    fn size_of_open(&self, opened: &Opened) -> Result<u64, Trouble> {
        self.act.begin(|| format!("fstat {}", opened.spelled));
        let begin = Instant::now();
        let metadata = opened.file.metadata();
        let len = metadata.map_err(|error| opened.possible.refused_open(error, &opened.spelled))?.len();
        let now = Possible::new(&self.views.since(begin), &opened.path);
        let mut versions = opened.possible.files.iter().map(|it| now.versions(it));
        if versions.any(|it| it.has_length(len)) {
            return Ok(len);
        }
        if opened.possible.is_overwritten() {
            return Err(Trouble::OfChange(Effect::Overwritten));
        }
        let sizes: Vec<_> = opened.possible.files.iter().map(|it| now.versions(it).lengths()).collect();
        Err(Trouble::Differs(format!("{}, which is open: {len} and not {sizes:?} bytes", opened.spelled)))
    }

    /// Counts an effect of a change, so that the caller can go on with the next file.
    fn unless_changed<T>(&self, done: Result<T, Trouble>) -> Result<Option<T>, Trouble> {
        match done {
            Err(Trouble::OfChange(effect)) => {
                self.counts.add_effect(effect);
                Ok(None)
            }
            done => done.map(Some),
        }
    }

    fn is_folder(&self, path: &str) -> Result<(), Trouble> {
        self.act.begin(|| format!("stat {path}"));
        let metadata = fs::symlink_metadata(self.root.join(path)).map_err(refused(path))?;
        self.counts.lookups.add(1);
        if metadata.is_dir() { Ok(()) } else { Err(Trouble::Differs(format!("{path} is no folder"))) }
    }

    /// Drops a file's pages now and then, so that its bytes are requested again. Every user can do this.
    fn drop_pages(&self, file: &File, random: &mut Random) -> Result<(), Trouble> {
        if random.one_in(3) {
            let dropped = fadvise(file, 0, None, Advice::DontNeed);
            dropped.map_err(|error| refused("fadvise")(error.into()))?;
            self.counts.advised.add(1);
        }
        Ok(())
    }
}

/// Adds the path to an error.
fn refused(path: &str) -> impl Fn(io::Error) -> Trouble {
    let path = path.to_owned();
    move |error| Trouble::Refused { error, path: path.clone() }
}

fn swap_case(character: char) -> char {
    if character.is_ascii_uppercase() {
        character.to_ascii_lowercase()
    } else {
        character.to_ascii_uppercase()
    }
}
