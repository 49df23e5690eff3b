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
#[derive(Clone, Debug, Default)]
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
        let mut paths = bench.many_archives()?;
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
        let many = Self { name, folder: folder.clone(), sources, changing, content: last, ..Self::default() };
        let content = folder.join("texture");
        fs::write(&content, vec![7; 1 << 16]).map_err(at(&content))?;
        let sources = vec![Set::Small.folder(&bench.corpora).join("loose"), mod_folder.clone()];
        let (name, changing) = ("a texture beside loose files".into(), mod_folder.join("a.dds"));
        let loose = Self { name, folder, sources, changing, content, ..Self::default() };
        for it in [&many, &loose] {
            fs::copy(&it.content, &it.changing).map_err(at(&it.changing))?;
        }
        Ok(vec![many, loose])
    }

    /// Measures one round.
    pub(crate) fn measure(&mut self, bench: &Bench) -> Outcome<()> {
        let (mounted, _) = bench.mount_all(&self.sources)?;
        // Kernel and daemon then know all files, as after a program has walked the mount.
        Work::Ls.run(&mounted.root, &nothing())?;
        let views = || mounted.reported().map(|status| status.views).ok_or("the mount has no status");
        for _ in 0..CHANGES {
            let before = views()?;
            let start = self.change()?;
            while views()? == before {
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
