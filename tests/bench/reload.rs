//! Measures how soon a mount shows a change, and how much the change delays readers.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::corpus::Set;
use crate::measure::{median, percentiles};
use crate::opening::nothing;
use crate::work::Work;
use crate::{Bench, Outcome, at};

/// Sources that are mounted. One of them changes.
#[derive(Clone, Debug)]
pub(crate) struct Reload {
    pub(crate) name: String,
    /// The folder of this measurement's sources: links into the corpora, and one file that changes.
    folder: PathBuf,
    sources: Vec<PathBuf>,
    /// The file to replace.
    changing: PathBuf,
    /// A file with the content to replace it by.
    content: PathBuf,
    /// Times from the rename to the new view.
    shown: Vec<Duration>,
    /// Times of requests while nothing changes. Each request looks up a new name.
    quiet: Vec<Duration>,
    /// Times of such requests while changes go on.
    busy: Vec<Duration>,
}

/// Changes per round.
const CHANGES: usize = 3;
/// How long requests are timed.
const TIMED: Duration = Duration::from_secs(3);
/// Pause between two checks, and between two requests.
const STEP: Duration = Duration::from_millis(1);

impl Reload {
    /// The sources to measure: many archives, and a great many loose files. In each, one file is replaced.
    pub(crate) fn all(bench: &Bench) -> Outcome<Vec<Self>> {
        let archives = Set::Many.folder(&bench.corpora);
        let mut paths: Vec<PathBuf> = fs::read_dir(&archives)
            .map_err(at(&archives))?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some())
            .collect();
        paths.sort_unstable();
        let last = paths.pop().ok_or("there are no archives")?;
        let folder = bench.corpora.join("reload");
        let _ = fs::remove_dir_all(&folder);
        let mod_folder = folder.join("mod");
        fs::create_dir_all(&mod_folder).map_err(at(&folder))?;
        let mut sources = Vec::new();
        for path in &paths {
            let link = folder.join(path.file_name().unwrap_or_default());
            symlink(path, &link).map_err(at(&link))?;
            sources.push(link);
        }
        let changing = folder.join("changing").with_extension(last.extension().unwrap_or_default());
        let name = format!("one of {} archives", sources.len() + 1);
        sources.push(changing.clone());
        let many = Self::new(name, &folder, sources, changing, last)?;
        let content = folder.join("texture");
        fs::write(&content, vec![7; 1 << 16]).map_err(at(&content))?;
        let sources = vec![Set::Small.folder(&bench.corpora).join("loose"), mod_folder.clone()];
        let loose = Self::new(
            "a texture beside loose files".into(),
            &folder,
            sources,
            mod_folder.join("a.dds"),
            content,
        )?;
        Ok(vec![many, loose])
    }

    fn new(
        name: String,
        folder: &Path,
        sources: Vec<PathBuf>,
        changing: PathBuf,
        content: PathBuf,
    ) -> Outcome<Self> {
        fs::copy(&content, &changing).map_err(at(&changing))?;
        let (shown, quiet, busy) = Default::default();
        Ok(Self { name, folder: folder.to_owned(), sources, changing, content, shown, quiet, busy })
    }

    /// Measures one round.
    pub(crate) fn measure(&mut self, bench: &Bench) -> Outcome<()> {
        let (mounted, _) = bench.mount_all(&self.sources)?;
        // Kernel and daemon then know all files, as after a program has walked the mount.
        Work::Ls.run(&mounted.root, &nothing())?;
        for _ in 0..CHANGES {
            let before = views(&mounted.root)?;
            let start = self.change()?;
            while views(&mounted.root)? == before {
                thread::sleep(STEP);
            }
            self.shown.push(start.elapsed());
        }
        self.quiet.extend(times(&mounted.root, "quiet", || Ok(()))?);
        let change = || self.change().map(drop);
        let busy = times(&mounted.root, "busy", change)?;
        self.busy.extend(busy);
        Ok(())
    }

    /// Replaces the file by a rename. Returns the time of the rename.
    fn change(&self) -> Outcome<Instant> {
        let beside = self.folder.join("beside");
        fs::copy(&self.content, &beside).map_err(at(&beside))?;
        let start = Instant::now();
        fs::rename(&beside, &self.changing).map_err(at(&self.changing))?;
        Ok(start)
    }

    pub(crate) fn shown(&self) -> Duration {
        median(&self.shown)
    }

    /// The 50th and 99th percentile of request times, in a quiet mount and in a busy one.
    pub(crate) fn requests(&self) -> [[Duration; 2]; 2] {
        [&self.quiet, &self.busy].map(|times| percentiles(times, [50, 99]))
    }
}

/// Times requests for [`TIMED`], while another thread calls `meanwhile` every half second.
fn times(root: &Path, prefix: &str, meanwhile: impl Fn() -> Outcome<()> + Sync) -> Outcome<Vec<Duration>> {
    let start = Instant::now();
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            while start.elapsed() < TIMED {
                meanwhile()?;
                thread::sleep(Duration::from_millis(500));
            }
            Outcome::Ok(())
        });
        let mut times = Vec::new();
        for n in 0.. {
            if start.elapsed() >= TIMED {
                break;
            }
            let name = root.join(format!("{prefix}-{}-{n}", start.elapsed().as_nanos()));
            let asked = Instant::now();
            let _ = fs::symlink_metadata(&name);
            times.push(asked.elapsed());
            // The pause leaves a processor free.
            thread::sleep(STEP);
        }
        other.join().map_err(|_| "a thread panicked")??;
        Ok(times)
    })
}

fn views(root: &Path) -> Outcome<u64> {
    let link = root.join(".bsafs:status");
    let text = fs::read_link(&link).map_err(at(&link))?;
    let status: serde_json::Value = serde_json::from_slice(text.as_os_str().as_encoded_bytes())?;
    status["views"].as_u64().ok_or_else(|| "the status has no views".into())
}
