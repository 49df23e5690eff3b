//! Changes the world under the readers. Archives and loose files are replaced and rewritten. The daemon of
//! the second mount is killed, stopped and replaced, while the daemon of the first lives as long as the run.
//!
//! Readers go on through all of it. They pause only while another daemon gives a mount another
//! view, because the expected content would be ambiguous.
//!
//! A mount that follows the disk may show both old and new content from before a change until it reports a
//! reload after it. In some of its lives, the second mount has no loose files and does not follow the disk.
//! It then serves the old content of an archive that was replaced by a rename, and nothing of one that was
//! rewritten in place.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::archives::{self, KINDS};
use crate::contents::Generation;
use crate::loose::{self, Changed};
use crate::mounts::{Mount, Serving, wait_for_end};
use crate::random::Random;
use crate::run::{EndOnPanic, Run};
use crate::view::{Layout, View};
use crate::watch::Act;
use crate::{Outcome, at};

/// After a reload, the kernel is notified within this time, on a machine that is busy with readers. On a
/// machine that is busy with more, within the time that the reload took.
const NOTIFIED: Duration = Duration::from_millis(500);

/// The thread that makes changes.
pub(crate) struct Changes<'a> {
    pub(crate) run: &'a Run,
    pub(crate) archives: &'a Path,
    /// The folder of loose files.
    pub(crate) loose: &'a Path,
    /// Locked while an archive is replaced.
    pub(crate) names: &'a Mutex<()>,
    /// The mount that lasts as long as the run.
    pub(crate) lasting: &'a Mount,
    /// The mount that is killed and mounted again.
    pub(crate) changing: &'a Mount,
    /// Current generations of the archives and of the loose folder.
    pub(crate) current: Vec<Arc<Generation>>,
    pub(crate) random: Random,
    pub(crate) act: &'a Act,
}

impl Changes<'_> {
    /// Makes changes until `end`, and takes a sample every `interval`.
    pub(crate) fn run(mut self, end: Instant, interval: Duration) {
        let _end = EndOnPanic(self.run);
        let mut next_sample = Instant::now() + interval;
        while Instant::now() < end && !self.run.is_ending() {
            let pause = Duration::from_millis(50 + self.random.below(400));
            self.run.pause(pause.min(end.saturating_duration_since(Instant::now())));
            let mut done = self.change();
            if done.is_ok() && Instant::now() >= next_sample {
                next_sample += interval;
                done = self.sample();
            }
            self.act.end();
            if let Err(error) = done {
                self.run.fail(error.to_string());
            }
        }
        self.run.end();
    }

    fn change(&mut self) -> Outcome<()> {
        match self.random.below(100) {
            0..17 => self.swap(),
            17..30 => self.rewrite(),
            30..65 => self.change_loose(),
            65..75 => self.remount(),
            75..85 => self.kill(),
            _ => {
                self.stop();
                Ok(())
            }
        }
    }

    /// Samples both daemons while no reader acts.
    fn sample(&self) -> Outcome<()> {
        self.act.begin(|| "sample".into());
        let mut lasting = self.lasting.pause_readers();
        let mut changing = self.changing.pause_readers();
        thread::scope(|scope| {
            // The lock guards cannot be sent to another thread.
            let lasting = &mut lasting.life;
            let other = scope.spawn(|| lasting.sample());
            let done = changing.life.sample();
            other.join().map_err(|_| "a sample cannot be taken")?.and(done)
        })
    }

    /// Renames the next generation over an archive; sometimes three generations in quick succession.
    fn swap(&mut self) -> Outcome<()> {
        let archive = self.random.index(KINDS.len());
        for _ in 0..if self.random.one_in(4) { 3 } else { 1 } {
            let (path, generation) = self.next(archive);
            self.act.begin(|| format!("replace {}", path.display()));
            let new = path.with_extension("new");
            archives::write(&new, &KINDS[archive].parts(&generation), generation.number).map_err(at(&new))?;
            let _names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
            self.announce(archive, generation);
            fs::rename(&new, &path).map_err(at(&path))?;
            self.run.counts.swaps.add(1);
        }
        self.wait_until_shown()
    }

    /// Writes the next generation into an archive in place.
    fn rewrite(&mut self) -> Outcome<()> {
        let archive = self.random.index(KINDS.len());
        let (path, generation) = self.next(archive);
        self.act.begin(|| format!("rewrite {}", path.display()));
        let parts = KINDS[archive].parts(&generation);
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        self.current[archive].lose();
        self.announce(archive, generation);
        crate::support::write_sparse(&path, &parts).map_err(at(&path))?;
        drop(names);
        self.run.counts.rewrites.add(1);
        self.wait_until_shown()
    }

    /// Changes some loose files; sometimes three times in quick succession.
    fn change_loose(&mut self) -> Outcome<()> {
        for _ in 0..if self.random.one_in(4) { 3 } else { 1 } {
            self.act.begin(|| "change loose files".into());
            let changed = Changed::new(self.run.seed, &self.current[loose::LAYER], &mut self.random);
            self.announce(loose::LAYER, changed.generation.clone());
            changed.make(self.loose).map_err(at(self.loose))?;
            self.run.counts.loose.add(changed.len());
        }
        self.wait_until_shown()
    }

    /// Has readers accept the content that a source is about to have.
    fn announce(&mut self, layer: usize, generation: Arc<Generation>) {
        for mount in [self.lasting, self.changing].into_iter().filter(|mount| mount.follows()) {
            mount.views.may_show(mount.views.last().with(layer, generation.clone()));
        }
        self.current[layer] = generation;
    }

    /// Waits until the mounts show the change. From then on, readers accept nothing else.
    fn wait_until_shown(&self) -> Outcome<()> {
        let since = Instant::now();
        let mounts = [self.lasting, self.changing].map(|mount| mount.follows().then_some(mount));
        // Both are asked before the first wait. A mount may show the change during the wait for the other.
        let reloads = mounts.into_iter().flatten().map(|mount| Ok((mount, mount.next_reload()?)));
        for (mount, reload) in reloads.collect::<Outcome<Vec<_>>>()? {
            mount.wait_for_reload(reload)?;
        }
        self.run.counts.shown_after.add(since.elapsed().as_millis() as u64);
        self.run.counts.shown.add(1);
        sleep(NOTIFIED.max(since.elapsed()));
        mounts.into_iter().flatten().for_each(|mount| mount.views.show_last());
        Ok(())
    }

    fn next(&self, archive: usize) -> (PathBuf, Arc<Generation>) {
        let number = self.current[archive].number + 1;
        let path = self.archives.join(KINDS[archive].file_name);
        (path, archives::generation(self.run.seed, archive, number))
    }

    /// Unmounts and mounts again. If it unmounts lazily, files are open meanwhile, and are then
    /// read to their ends.
    fn remount(&mut self) -> Outcome<()> {
        self.act.begin(|| "mount again".into());
        let mut serving = self.changing.pause_readers();
        serving.life.sample()?;
        let is_lazy = self.random.one_in(3);
        let open = if is_lazy { self.open_every_third()? } else { Vec::new() };
        self.changing.unmount(&serving, is_lazy)?;
        let (view, old) = (self.new_view(), self.changing.views.last());
        let pid = serving.life.pid;
        self.mount(&mut serving, view)?;
        self.run.counts.remounts.add(1);
        if is_lazy {
            open.into_iter().try_for_each(|(index, file)| self.read_to_end(&old, index, file))?;
            wait_for_end(pid, "the last file was closed")?;
            self.run.counts.lazy.add(1);
        }
        Ok(())
    }

    /// Kills the daemon while readers act, and mounts over what it left.
    fn kill(&mut self) -> Outcome<()> {
        self.act.begin(|| "kill, and mount again".into());
        self.changing.pause_readers().life.sample()?;
        // Gives readers time to go on.
        sleep(Duration::from_millis(self.random.below(100)));
        self.changing.kill();
        self.run.counts.kills.add(1);
        if let Err(error) = self.changing.wait_for_killed() {
            self.run.fail_and_go_on(error.to_string());
        }
        sleep(Duration::from_millis(self.random.below(400)));
        let view = self.changing.views.last();
        if view.is_of(&self.current) {
            // Readers must find the same content as before, so they need not pause.
            self.changing.mount(&view, cache_size(&mut self.random))?;
            let view = View::new(view.layout, view.generations.clone());
            self.finish_life(&mut self.changing.pause_readers(), view);
            return Ok(());
        }
        let mut serving = self.changing.pause_readers();
        let view = self.new_view();
        self.mount(&mut serving, view)
    }

    /// Stops a daemon for a moment.
    fn stop(&mut self) {
        let mount = if self.random.one_in(2) { self.lasting } else { self.changing };
        let duration = Duration::from_millis(20 + self.random.below(700));
        mount.signal(Signal::STOP);
        sleep(duration);
        mount.signal(Signal::CONT);
        self.run.counts.stops.add(1);
    }

    fn new_view(&mut self) -> View {
        let layout = if self.random.one_in(2) { Layout::Union } else { Layout::PerArchive };
        // A mount without loose files is static.
        let sources = if self.random.one_in(3) { loose::LAYER } else { self.current.len() };
        View::new(layout, self.current[..sources].to_vec())
    }

    fn mount(&mut self, serving: &mut Serving, view: View) -> Outcome<()> {
        self.changing.mount(&view, cache_size(&mut self.random))?;
        self.finish_life(serving, view);
        Ok(())
    }

    /// Has readers expect the new daemon's view, and judges the samples of the previous daemon.
    fn finish_life(&self, serving: &mut Serving, view: View) {
        if let Some(fault) = serving.life.fault() {
            self.run.fail(fault);
        }
        self.changing.replace(serving, view);
    }

    /// Opens a few files that were not written to, and reads the beginning of each.
    fn open_every_third(&mut self) -> Outcome<Vec<(usize, File)>> {
        let view = self.changing.views.last();
        let indices: Vec<usize> = (0..5).map(|_| view.large[self.random.index(view.large.len())]).collect();
        let whole = indices
            .into_iter()
            .filter(|&it| !view.files[it].is_overwritten() && !view.files[it].is_replaced());
        let open = |index: usize| -> Outcome<(usize, File)> {
            let path = self.changing.root.join(&view.files[index].path);
            let file = File::open(&path).map_err(at(&path))?;
            (&file).read_exact(&mut [0; 4096]).map_err(at(&path))?;
            Ok((index, file))
        };
        whole.map(open).collect()
    }

    /// Reads the rest of a file whose mount was detached.
    fn read_to_end(&self, view: &View, index: usize, mut file: File) -> Outcome<()> {
        let shown = &view.files[index];
        let mut rest = Vec::new();
        file.read_to_end(&mut rest).map_err(at(Path::new(&shown.path)))?;
        self.run.counts.reads.add(1);
        self.run.counts.compared_bytes.add(rest.len() as u64);
        if rest != shown.file.data[4096..] {
            self.run.counts.wrong.add(1);
            return Err(format!("WRONG BYTES: {} of a detached mount", shown.path).into());
        }
        Ok(())
    }
}

/// A cache size: ordinary, or so small that everything is evicted.
fn cache_size(random: &mut Random) -> &'static str {
    ["1M", "16M", "64M"][random.index(3)]
}
