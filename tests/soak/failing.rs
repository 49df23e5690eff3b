//! A third mount, in which sources fail. One is a link whose target goes and comes back, another is a profile
//! that is saved with a mistake, and root mounts a disk below a folder. Meanwhile the files of these and of a
//! sound source are replaced while they are open, rotated like logs, saved in place, and saved through
//! another hard link.
//!
//! A read may give the old bytes, the new bytes, or an error. Each record of a file names the file, the
//! version and its own position, so that a wrong read shows where its bytes come from. A file that was
//! replaced stays what it was when it was opened.
//!
//! While a file is saved in place or created, a reader of the disk itself may find it old and new at once, or
//! incomplete. The mount may be behind the disk, but not by more than a second ([`SOON`]). So a read is torn
//! if it began before that, and wrong afterwards. Zeros are always wrong: no reader of the disk that reads
//! again when the file changed finds any.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Scope, sleep};
use std::time::{Duration, Instant};

use rustix::fs::{Advice, fadvise};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::mounts::Mount;
use crate::random::Random;
use crate::run::{Count, EndOnPanic, Run};
use crate::watch::Act;
use crate::{Outcome, at, reader};

/// Length of a record.
const RECORD: usize = 16;
/// Maximum time until a change is shown, on a machine that is busy with readers and more.
const SHOWN: Duration = Duration::from_secs(30);
/// After a change is shown, the kernel is notified within this time, or within the time that the change took.
const NOTIFIED: Duration = Duration::from_millis(500);
/// A file that is saved in place should be new after this time.
const SOON: Duration = Duration::from_secs(1);
/// How long earlier states of a file are kept. No reader has a file open for longer.
const REMEMBERED: Duration = Duration::from_secs(60);
/// Maximum number of files in one change.
const AT_ONCE: u64 = 8;

const SOUND: &str = "archives = ['profiled']\n";
const MISTAKES: [&str; 3] =
    ["archives = ['profiled'", "archives = ['none-*.bsa']", "archives = ['profiled']\noptions = 'layout=x'"];

/// The mount, its sources, and what was counted.
pub(crate) struct Failing {
    pub(crate) mount: Mount,
    folder: PathBuf,
    slots: Vec<Slot>,
    /// What the readers do, and what the thread that makes changes does.
    pub(crate) acts: Vec<Act>,
    pub(crate) figures: Figures,
}

/// What was counted.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) reads: Count,
    pub(crate) bytes: Count,
    pub(crate) wrong: Count,
    /// Reads of several states of a file: those during which it was written, as on the disk; and later ones,
    /// complete, and cut.
    pub(crate) torn: [Count; 3],
    /// How often the link, the profile and the disk failed or came back.
    pub(crate) outages: [Count; 3],
    pub(crate) changes: Count,
    pub(crate) rounds: Count,
    /// Milliseconds until changes were shown, in total, and the longest.
    pub(crate) shown_after: Count,
    pub(crate) longest: Mutex<u128>,
    /// Errors that a change explains.
    pub(crate) errors: Mutex<BTreeMap<String, u64>>,
    pub(crate) unexplained: Count,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Mod,
    Linked,
    Far,
    Profiled,
    Disk,
}

/// A path of the mount, and what may be there.
#[derive(Debug)]
struct Slot {
    id: usize,
    place: Place,
    /// Below the mountpoint.
    path: String,
    on_disk: PathBuf,
    /// The other name of a file with two names.
    staged: PathBuf,
    states: Mutex<States>,
}

#[derive(Debug, Default)]
struct States {
    /// The files that had the path, the current one last.
    files: Vec<State>,
    versions: usize,
    /// Number of the next file.
    next: usize,
    /// Whether the source is gone.
    is_gone: bool,
    /// Whether the source failed or came back, which is not shown yet.
    is_shaken: bool,
    /// When the end of the last outage was shown.
    calm_since: Option<Instant>,
    /// Content below the disk.
    covered: Vec<u8>,
}

/// A file, from its creation to its removal.
#[derive(Debug)]
struct State {
    number: usize,
    /// Contents that it got in place.
    versions: Vec<Version>,
    /// When it was shown that another file has the path.
    until: Option<Instant>,
}

#[derive(Debug)]
struct Version {
    data: Vec<u8>,
    begun: Instant,
    written: Option<Instant>,
    /// When it was shown.
    settled: Option<Instant>,
    /// When it was shown that the file has a later version.
    until: Option<Instant>,
}

/// How a read fits what may be in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Wrong,
    Torn { is_behind: bool, is_cut: bool },
    Exact,
}

/// An open file, and the numbers of the files that it may be.
struct Opened<'a> {
    slot: &'a Slot,
    file: File,
    possible: Vec<usize>,
}

impl Failing {
    /// Writes the sources and mounts them.
    pub(crate) fn new(bsafs: &Path, folder: &Path, readers: usize) -> Outcome<Self> {
        let sources = folder.join("failing-sources");
        for below in ["mod/textures", "mod/linked", "mod/disk", "staging", "real", "profiled"] {
            fs::create_dir_all(sources.join(below)).map_err(at(&sources))?;
        }
        let places = [
            (Place::Mod, "mod", "textures/file", 16),
            (Place::Linked, "mod", "linked/file", 8),
            (Place::Far, "real", "far", 4),
            (Place::Profiled, "profiled", "profiled", 4),
            (Place::Disk, "mod", "disk/file", 4),
        ];
        let mut slots = Vec::new();
        for (place, source, stem, count) in places {
            for number in 0..count {
                let path = format!("{stem}{number}.dds");
                let on_disk = sources.join(source).join(&path);
                let staged = sources.join("staging").join(format!("{number}.dds"));
                let slot = Slot { id: slots.len(), place, path, on_disk, staged, states: Mutex::default() };
                slot.replace(Slot::create).map_err(at(&slot.on_disk))?;
                slot.states().settle();
                slots.push(slot);
            }
        }
        let (link, profile) = (sources.join("link"), sources.join("profile.toml"));
        symlink("real", &link).map_err(at(&link))?;
        fs::write(&profile, SOUND).map_err(at(&profile))?;
        let mount = Mount::of(bsafs, &folder.join("failing"), &[sources.join("mod"), link, profile])?;
        let acts = (0..readers).map(|_| Act::of_reader()).chain([Act::of_changes()]).collect();
        Ok(Self { mount, folder: sources, slots, acts, figures: Figures::default() })
    }

    /// Starts the readers and the thread that makes changes, which end with the run.
    pub(crate) fn start<'s>(&'s self, scope: &'s Scope<'s, '_>, run: &'s Run, interval: Duration) {
        let Some((last, acts)) = self.acts.split_last() else { return };
        for (number, act) in acts.iter().enumerate() {
            let random = Random::new(run.seed ^ (2001 + number as u64) << 40);
            scope.spawn(move || self.read(run, act, random));
        }
        let random = Random::new(run.seed ^ 2000 << 40);
        scope.spawn(move || self.change(run, last, random, interval));
    }

    fn change(&self, run: &Run, act: &Act, mut random: Random, interval: Duration) {
        let _end = EndOnPanic(run);
        let mut next_sample = Instant::now() + interval;
        while !run.is_ending() {
            run.pause(Duration::from_millis(random.below(500)));
            let mut done = self.round(run, act, &mut random);
            if done.is_ok() && Instant::now() >= next_sample {
                next_sample += interval;
                act.begin(|| "sample the mount of failing sources".into());
                done = self.mount.pause_readers().life.sample();
            }
            act.end();
            if let Err(error) = done {
                run.fail(error.to_string());
            }
        }
    }

    /// Makes some changes, and waits until they are shown.
    fn round(&self, run: &Run, act: &Act, random: &mut Random) -> Outcome<()> {
        if random.one_in(3) {
            let which = random.index(3);
            act.begin(|| format!("failure {which}"));
            match which {
                0 => self.move_target().map_err(at(&self.folder))?,
                1 => self.save_profile(random).map_err(at(&self.folder))?,
                _ => self.mount_or_unmount()?,
            }
        }
        for _ in 0..random.below(AT_ONCE) {
            let slot = &self.slots[random.index(self.slots.len())];
            act.begin(|| format!("change {}", slot.path));
            if slot.on_disk.exists() {
                slot.change(random).map_err(at(&slot.on_disk))?;
                self.figures.changes.add(1);
            }
        }
        let since = Instant::now();
        for slot in &self.slots {
            act.begin(|| format!("wait for {}", slot.path));
            while let Err(why) = slot.is_shown(&self.mount.root) {
                if run.is_ending() {
                    return Ok(());
                }
                if since.elapsed() > SHOWN {
                    return Err(format!("{} is not shown after {SHOWN:?}: {why}", slot.path).into());
                }
                sleep(Duration::from_millis(10));
            }
        }
        let shown_after = since.elapsed();
        self.figures.rounds.add(1);
        self.figures.shown_after.add(shown_after.as_millis() as u64);
        let mut longest = self.figures.longest.lock().unwrap_or_else(PoisonError::into_inner);
        *longest = shown_after.as_millis().max(*longest);
        sleep(NOTIFIED.max(shown_after));
        self.slots.iter().for_each(|slot| slot.states().settle());
        Ok(())
    }

    /// Moves the target of the linked source away, or back.
    fn move_target(&self) -> io::Result<()> {
        let (real, away) = (self.folder.join("real"), self.folder.join("away"));
        let is_there = real.exists();
        for slot in self.slots.iter().filter(|slot| slot.place == Place::Far) {
            let mut states = slot.states();
            (states.is_shaken, states.is_gone) = (true, is_there);
        }
        self.figures.outages[0].add(1);
        if is_there { fs::rename(real, away) } else { fs::rename(away, real) }
    }

    /// Saves the profile with a mistake, or without.
    fn save_profile(&self, random: &mut Random) -> io::Result<()> {
        let path = self.folder.join("profile.toml");
        let is_sound = fs::read_to_string(&path)? == SOUND;
        let text = if is_sound { MISTAKES[random.index(MISTAKES.len())] } else { SOUND };
        self.figures.outages[1].add(1);
        if random.one_in(2) {
            return fs::write(path, text);
        }
        fs::write(self.folder.join("profile.new"), text)?;
        fs::rename(self.folder.join("profile.new"), path)
    }

    /// Mounts a disk with other files below a folder, or unmounts it.
    fn mount_or_unmount(&self) -> Outcome<()> {
        let path = self.folder.join("mod/disk");
        let slots = || self.slots.iter().filter(|slot| slot.place == Place::Disk);
        if slots().all(|slot| slot.states().covered.is_empty()) {
            slots().for_each(|slot| slot.states().is_shaken = true);
            match mount("none", &path, "tmpfs", MountFlags::empty(), None::<&CStr>) {
                Err(Errno::PERM) => return Ok(()),
                mounted => mounted?,
            }
            for slot in slots() {
                let covered = slot.states().data().to_vec();
                slot.states().covered = covered;
                slot.replace(Slot::create)?;
            }
        } else {
            for slot in slots() {
                let covered = std::mem::take(&mut slot.states().covered);
                slot.states().add(covered);
            }
            let since = Instant::now();
            // The mount has a file of the disk open while it is read.
            while let Err(error) = unmount(&path, UnmountFlags::empty()) {
                if error != Errno::BUSY || since.elapsed() > SHOWN {
                    return Err(format!("the disk cannot be unmounted: {error}").into());
                }
                sleep(Duration::from_millis(5));
            }
            slots().for_each(|slot| slot.states().written());
        }
        self.figures.outages[2].add(1);
        Ok(())
    }

    fn read(&self, run: &Run, act: &Act, mut random: Random) {
        let _end = EndOnPanic(run);
        reader::be_nicer();
        let mut buffer = vec![0; 1 << 20];
        while !run.is_ending() {
            let _serving = self.mount.read();
            let slot = &self.slots[random.index(self.slots.len())];
            act.begin(|| format!("read {}", slot.path));
            if let Err(why) = self.read_one(slot, act, &mut random, &mut buffer) {
                run.fail_and_go_on(why);
            }
            act.end();
        }
    }

    /// Reads a file whole, or in ranges, or keeps it open and reads it again and again.
    fn read_one(&self, slot: &Slot, act: &Act, random: &mut Random, buffer: &mut [u8]) -> Result<(), String> {
        let begin = Instant::now();
        let opened = File::open(self.mount.root.join(&slot.path));
        let possible = slot.states().possible(begin, Instant::now());
        let mut opened = match opened {
            Ok(file) => Opened { slot, file, possible },
            Err(error) => return self.error(slot, &possible, begin, &error),
        };
        let how = random.below(4);
        if how < 2 {
            let step = [4096, 1 << 17, 1 << 20, 1 << 16, 1000, 77_777][random.index(6)];
            let mut offset = 0;
            while self.range(&mut opened, random, buffer, offset, step)? == step {
                offset += step;
            }
            return Ok(());
        }
        let duration = Duration::from_millis(if how == 2 { 0 } else { random.below(3000) });
        loop {
            let end = opened.file.metadata().map_or(0, |it| it.len()) as usize;
            let offset = match random.below(3) {
                0 => end.saturating_sub(random.index(5000)),
                1 => random.index(5000),
                _ => random.index(end + 5000),
            };
            let most = if random.one_in(4) { 300_000 } else { 9000 };
            let len = 1 + random.index(most);
            self.range(&mut opened, random, buffer, offset, len)?;
            if begin.elapsed() >= duration {
                return Ok(());
            }
            sleep(Duration::from_millis(random.below(50)));
            act.begin(|| format!("read {} again", slot.path));
        }
    }

    /// Checks the size of an open file, and reads a range of it. Returns the length that was read, or 0 after
    /// an error that a change explains.
    fn range(
        &self,
        opened: &mut Opened<'_>,
        random: &mut Random,
        buffer: &mut [u8],
        offset: usize,
        len: usize,
    ) -> Result<usize, String> {
        if random.one_in(3) {
            let _ = fadvise(&opened.file, 0, None, Advice::DontNeed);
        }
        let slot = opened.slot;
        let begin = Instant::now();
        let size = match opened.file.metadata() {
            Ok(metadata) => metadata.len() as usize,
            Err(error) => return self.error(slot, &opened.possible, begin, &error).map(|()| 0),
        };
        if let Err(sizes) = slot.states().has_size(&opened.possible, begin, Instant::now(), size) {
            self.figures.wrong.add(1);
            return Err(format!("WRONG SIZE: {}: {size} and not {sizes:?} bytes", slot.path));
        }
        let begin = Instant::now();
        let mut done = 0;
        while done < len {
            match opened.file.read_at(&mut buffer[done..len], (offset + done) as u64) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.error(slot, &opened.possible, begin, &error).map(|()| 0),
                Ok(0) => break,
                Ok(read) => done += read,
            }
        }
        let end = Instant::now();
        self.figures.reads.add(1);
        self.figures.bytes.add(done as u64);
        let read = &buffer[..done];
        let states = slot.states();
        let fits: Vec<(usize, Fit)> =
            opened.possible.iter().map(|&it| (it, states.fit(it, (begin, end), offset, read, len))).collect();
        match fits.iter().map(|it| it.1).max().unwrap_or(Fit::Wrong) {
            Fit::Exact => {}
            Fit::Torn { is_behind, is_cut } => {
                let [written, mixed, cut] = &self.figures.torn;
                let count = match (is_behind, is_cut) {
                    (false, _) => written,
                    (true, false) => mixed,
                    (true, true) => cut,
                };
                count.add(1);
            }
            Fit::Wrong => {
                self.figures.wrong.add(1);
                let (path, id) = (&slot.path, slot.id);
                let what = describe(read, offset);
                let states = states.describe(&opened.possible, begin);
                return Err(format!(
                    "WRONG BYTES: {path} (file {id}): {done} of {len} at {offset}: {what}; possible: {states}"
                ));
            }
        }
        opened.possible = fits.into_iter().filter(|it| it.1 != Fit::Wrong).map(|it| it.0).collect();
        Ok(done)
    }

    /// Counts an error. It is a failure if nothing changed and the file is the current one.
    fn error(
        &self,
        slot: &Slot,
        possible: &[usize],
        begin: Instant,
        error: &io::Error,
    ) -> Result<(), String> {
        let states = slot.states();
        if !states.is_changing(begin) && states.files.last().is_some_and(|it| possible == [it.number]) {
            self.figures.unexplained.add(1);
            return Err(format!("{}: {error}, though nothing changed", slot.path));
        }
        let name = format!("{:?}", error.kind());
        let mut errors = self.figures.errors.lock().unwrap_or_else(PoisonError::into_inner);
        *errors.entry(name).or_default() += 1;
        Ok(())
    }
}

impl Drop for Failing {
    fn drop(&mut self) {
        let _ = unmount(self.folder.join("mod/disk"), UnmountFlags::DETACH);
    }
}

impl Slot {
    fn states(&self) -> MutexGuard<'_, States> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the file in one of the ways of its place.
    fn change(&self, random: &mut Random) -> io::Result<()> {
        match random.below(4) {
            0 if self.place == Place::Linked => self.replace(Self::create),
            _ if self.place == Place::Linked => self.save(&self.staged),
            0 => self.replace(Self::create),
            1 => self.replace(|slot, data| {
                let beside = slot.on_disk.with_extension("new");
                fs::write(&beside, data)?;
                fs::rename(&beside, &slot.on_disk)
            }),
            2 => self.replace(|slot, data| {
                fs::rename(&slot.on_disk, slot.on_disk.with_extension("1"))?;
                slot.create(data)
            }),
            _ => self.save(&self.on_disk),
        }
    }

    /// Gives the path to another file, with the next content.
    fn replace(&self, how: impl FnOnce(&Self, &[u8]) -> io::Result<()>) -> io::Result<()> {
        let data = self.next();
        self.states().add(data.clone());
        how(self, &data)?;
        self.states().written();
        Ok(())
    }

    /// Removes the file and creates another one. If the file has two names, it is deployed again.
    fn create(&self, data: &[u8]) -> io::Result<()> {
        if let Err(error) = fs::remove_file(&self.on_disk)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        if self.place != Place::Linked {
            return fs::write(&self.on_disk, data);
        }
        let beside = self.staged.with_extension("new");
        fs::write(&beside, data)?;
        fs::rename(&beside, &self.staged)?;
        fs::hard_link(&self.staged, &self.on_disk)
    }

    /// Writes the next content over the old one, and then sets the length. The file is never empty.
    fn save(&self, name: &Path) -> io::Result<()> {
        let data = self.next();
        self.states().save(data.clone());
        let mut file = File::options().write(true).open(name)?;
        file.write_all(&data)?;
        file.set_len(data.len() as u64)?;
        self.states().written();
        Ok(())
    }

    fn next(&self) -> Vec<u8> {
        let mut states = self.states();
        states.versions += 1;
        content(self.id, states.versions)
    }

    /// Whether a program that opens the path now gets what is on the disk. If not, says what it gets.
    fn is_shown(&self, root: &Path) -> Result<(), String> {
        let read = fs::read(root.join(&self.path));
        match fs::read(&self.on_disk) {
            Ok(data) => match read {
                Ok(read) if read == data && data == self.states().data() => Ok(()),
                Ok(read) => Err(describe(&read, 0)),
                Err(error) => Err(error.to_string()),
            },
            Err(_) if read.is_err() => Ok(()),
            Err(_) => Err("the mount has it, and the disk does not".into()),
        }
    }
}

impl States {
    /// The content that was written last.
    fn data(&self) -> &[u8] {
        self.files.last().and_then(|file| file.versions.last()).map_or(&[], |it| &it.data)
    }

    /// Another file is about to get the path.
    fn add(&mut self, data: Vec<u8>) {
        let versions = vec![Version::new(data)];
        self.files.push(State { number: self.next, versions, until: None });
        self.next += 1;
    }

    /// The current file is about to get other content.
    fn save(&mut self, data: Vec<u8>) {
        if let Some(file) = self.files.last_mut() {
            file.versions.push(Version::new(data));
        }
    }

    /// The current file was written.
    fn written(&mut self) {
        if let Some(version) = self.files.last_mut().and_then(|it| it.versions.last_mut()) {
            version.written = Some(Instant::now());
        }
    }

    /// What was written last is shown.
    fn settle(&mut self) {
        let now = Instant::now();
        if self.is_shaken && !self.is_gone {
            (self.is_shaken, self.calm_since) = (false, Some(now));
        }
        let last = self.files.len() - 1;
        for (at, file) in self.files.iter_mut().enumerate() {
            if at < last {
                file.until = file.until.or(Some(now));
            }
            let last = file.versions.len() - 1;
            for (at, version) in file.versions.iter_mut().enumerate() {
                version.settled = version.settled.or(Some(now));
                if at < last {
                    version.until = version.until.or(Some(now));
                }
            }
        }
        let is_recent = |until: Option<Instant>| until.is_none_or(|it| now - it < REMEMBERED);
        self.files.retain(|it| is_recent(it.until));
        self.files.iter_mut().for_each(|file| file.versions.retain(|it| is_recent(it.until)));
    }

    /// Numbers of the files that a program may have opened.
    fn possible(&self, begin: Instant, end: Instant) -> Vec<usize> {
        let is_possible = |it: &&State| {
            it.until.is_none_or(|until| until >= begin) && it.versions.iter().any(|it| it.begun <= end)
        };
        self.files.iter().filter(is_possible).map(|it| it.number).collect()
    }

    fn live(&self, number: usize, begin: Instant, end: Instant) -> Vec<&Version> {
        let versions = self.files.iter().filter(|it| it.number == number).flat_map(|it| &it.versions);
        let is_live = |it: &&Version| it.begun <= end && it.until.is_none_or(|until| until >= begin);
        versions.filter(is_live).collect()
    }

    /// Whether the path changed after `begin`, and may have failed.
    fn is_changing(&self, begin: Instant) -> bool {
        let mut versions = self.files.iter().flat_map(|it| &it.versions);
        self.is_shaken
            || self.calm_since.is_some_and(|it| it >= begin)
            || versions.any(|it| it.is_open(begin))
    }

    fn has_size(
        &self,
        possible: &[usize],
        begin: Instant,
        end: Instant,
        size: usize,
    ) -> Result<(), Vec<usize>> {
        let mut sizes = Vec::new();
        for &number in possible {
            let live = self.live(number, begin, end);
            let most = live.iter().map(|it| it.data.len()).max().unwrap_or(0);
            let is_written = live.iter().any(|it| it.was_written_since(begin, SOON));
            if live.iter().any(|it| it.data.len() == size) || is_written && size <= most {
                return Ok(());
            }
            sizes.extend(live.iter().map(|it| it.data.len()));
        }
        Err(sizes)
    }

    /// How a read of `asked` bytes fits a file.
    fn fit(
        &self,
        number: usize,
        (begin, end): (Instant, Instant),
        offset: usize,
        read: &[u8],
        asked: usize,
    ) -> Fit {
        let live = self.live(number, begin, end);
        let is_exact = |it: &&Version| {
            let rest = it.data.get(offset..).unwrap_or_default();
            read == &rest[..asked.min(rest.len())]
        };
        if live.iter().any(is_exact) {
            return Fit::Exact;
        }
        let is_of = |(at, byte): (usize, &u8)| live.iter().any(|it| it.data.get(at) == Some(byte));
        let was_written = |before| live.iter().any(|it| it.was_written_since(begin, before));
        if !was_written(SOON) || !(offset..).zip(read).all(is_of) {
            return Fit::Wrong;
        }
        let is_end = |it: &&Version| it.data.len().saturating_sub(offset) == read.len();
        let is_cut = read.len() < asked && !live.iter().any(is_end);
        Fit::Torn { is_behind: !was_written(Duration::ZERO), is_cut }
    }

    /// Numbers and lengths of what may be in an open file.
    fn describe(&self, possible: &[usize], begin: Instant) -> String {
        let ages = |it: &Version| {
            let ago = |when: Option<Instant>| when.map(|it| begin.saturating_duration_since(it).as_millis());
            let first = describe(&it.data[..it.data.len().min(RECORD)], 0);
            format!(
                "{first} of {} bytes, begun {:?} ms before, settled {:?}, until {:?}",
                it.data.len(),
                ago(Some(it.begun)),
                ago(it.settled),
                ago(it.until)
            )
        };
        let files = self.files.iter().filter(|it| possible.contains(&it.number));
        files.flat_map(|it| &it.versions).map(ages).collect::<Vec<_>>().join("; ")
    }
}

impl Version {
    fn new(data: Vec<u8>) -> Self {
        Self { data, begun: Instant::now(), written: None, settled: None, until: None }
    }

    /// Whether it was not shown, and was written less than this time before `begin`, or later.
    fn was_written_since(&self, begin: Instant, before: Duration) -> bool {
        self.is_open(begin) && self.written.is_none_or(|written| begin <= written + before)
    }

    /// Whether it was not shown before `begin`.
    fn is_open(&self, begin: Instant) -> bool {
        self.settled.is_none_or(|settled| settled >= begin)
    }
}

impl Figures {
    /// The errors that changes explain, with their numbers.
    pub(crate) fn errors(&self) -> String {
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let each = errors.iter().map(|(name, count)| format!("{name} {count}"));
        each.collect::<Vec<_>>().join(", ")
    }
}

/// The content of a version of a file. Each record names the file, the version, and its own position.
fn content(id: usize, version: usize) -> Vec<u8> {
    let mut random = Random::new((id as u64) << 32 | version as u64);
    let most = [50, 9_000, 70_000, 400_000][random.index(4)];
    let length = 1 + random.index(most);
    let mut out = Vec::with_capacity(length + RECORD);
    for record in 0..=length / RECORD {
        let _ = writeln!(out, "{id:02x}{version:06x}{record:07x}");
    }
    out.truncate(length);
    out
}

/// What a read has: the first runs of records of one version, and of other bytes.
fn describe(read: &[u8], offset: usize) -> String {
    let skipped = offset.next_multiple_of(RECORD) - offset;
    let mut runs: Vec<(String, usize)> = Vec::new();
    for (nth, record) in read.get(skipped..).unwrap_or_default().chunks(RECORD).enumerate() {
        let position = format!("{:07x}\n", (offset + skipped) / RECORD + nth);
        let name = match record {
            _ if record.iter().all(|it| *it == 0) => "zeros".to_owned(),
            [head @ .., _, _, _, _, _, _, _, _] if record.len() == RECORD => {
                let is_here = record.ends_with(position.as_bytes());
                let place = if is_here { "" } else { " of elsewhere" };
                format!("{}{place}", String::from_utf8_lossy(head))
            }
            _ => continue,
        };
        match runs.last_mut() {
            Some((last, count)) if *last == name => *count += 1,
            _ => runs.push((name, 1)),
        }
    }
    let runs: Vec<String> = runs.iter().take(6).map(|(name, count)| format!("{name} x {count}")).collect();
    format!("{} bytes [{}]", read.len(), runs.join(", "))
}
