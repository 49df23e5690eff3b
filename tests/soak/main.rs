//! The soak test. Readers compare every byte of three mounts for minutes. Meanwhile caches are
//! dropped, archives and loose files are swapped and rewritten, and daemons are stopped, killed and
//! mounted again. Sources of the third mount fail and come back (`failing`). `scripts/soak` builds and runs
//! it.
//!
//! The sources are archives of every layout and codec, and a folder of loose files above them. A
//! seed determines their bytes. A *view* is what a mount must show for given generations of its
//! sources. While a change is made and not yet shown, each file may be that of the old or of the
//! new view. An open file stays one of them to its end. A loose file that is written to in place may show old
//! and new bytes until the change is shown, and zeros if it was cut, but no others.
//!
//! A run allows EIO only for archives that were rewritten in place, and ESTALE only for reads of loose files
//! that left their path while they were open.
//!
//! One daemon lives as long as the run, so that its memory and descriptors can be compared. The
//! other is killed and replaced, and in some of its lives does not follow the disk.
//!
//! The seed determines what each thread does, but not when. It may take several runs to reproduce a failure.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a run that fails reports it and ends"
)]

#[path = "../support/mod.rs"]
mod support;

mod archives; // one archive of each layout and codec
mod changes; // archives and loose files swapped and rewritten, daemons killed, stopped and replaced
mod check; // compares reads, listings and look-ups with a view
mod contents; // names and bytes of each generation
mod disturb; // caches dropped and archives touched
mod failing; // a mount whose sources fail and come back
mod loose; // the folder of loose files
mod memory; // memory and descriptors of daemons
mod mounts; // mounts and their daemons
mod possible; // what readers may find, and which errors they may get
mod random; // random numbers
mod reader; // what readers do
mod run; // counts and failures
mod table; // the figures
mod view; // what a mount must show, and may show during a change
mod watch; // ends the run after a hang or a signal

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;

use archives::KINDS;
use changes::Changes;
use contents::Generation;
use failing::Failing;
use mounts::Mount;
use random::Random;
use reader::Reader;
use run::Run;
use view::{Layout, View};
use watch::{Act, Done, Signals};

/// A value, or an error that ends the run.
pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Number of samples of a daemon's memory in a run.
const SAMPLES: u32 = 40;

/// Compare every byte of three mounts while daemons, archives, sources and caches come and go
#[derive(Debug, Parser)]
struct Arguments {
    /// How long
    #[arg(default_value_t = 10.0, value_name = "MINUTES")]
    minutes: f64,
    /// What the threads decide by
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads that read; a quarter as many read the mount whose sources fail
    #[arg(long, default_value_t = 24)]
    readers: usize,
    /// Leave the caches of the kernel as they are, for other users of the machine
    #[arg(long)]
    keep_caches: bool,
    /// Where a folder for archives and mounts is made
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// The program to mount with; by default the one built beside this
    #[arg(long, value_name = "PROGRAM")]
    bsafs: Option<PathBuf>,
}

fn main() -> ExitCode {
    match soak(&Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("soak: {error}");
            ExitCode::FAILURE
        }
    }
}

fn soak(arguments: &Arguments) -> Outcome<ExitCode> {
    let beside = std::env::current_exe()?.ancestors().nth(2).map(|folder| folder.join("bsafs"));
    let bsafs =
        arguments.bsafs.clone().or(beside).filter(|it| it.is_file()).ok_or("there is no bsafs; build it")?;
    let duration = Duration::try_from_secs_f64(arguments.minutes * 60.0)?;
    let signals = Signals::register()?;
    let parent = arguments.folder.clone().unwrap_or_else(std::env::temp_dir).canonicalize()?;
    // Declared before the mounts, so that it is dropped after them.
    let folder = tempfile::Builder::new().prefix("bsafs-soak.").tempdir_in(parent)?;
    let archives = folder.path().join(mounts::ARCHIVES);
    std::fs::create_dir(&archives).map_err(at(&archives))?;
    eprintln!("soak: writing {} archives into {}", KINDS.len(), archives.display());
    let mut generations = write_archives(&archives, arguments.seed)?;
    let loose = folder.path().join(loose::NAME);
    generations.push(loose::write_first(&loose, arguments.seed).map_err(at(&loose))?);
    let mount = |name: &str, layout, cache_size| {
        let view = View::new(layout, generations.clone());
        Mount::new(&bsafs, folder.path(), &folder.path().join(name), view, cache_size)
    };
    let lasting = mount("lasting", Layout::Union, "16M")?;
    let changing = mount("changing", Layout::PerArchive, "16M")?;
    let failing = Failing::new(&bsafs, folder.path(), (arguments.readers / 4).max(2))?;
    eprintln!("soak: {} readers for {} minutes", arguments.readers, arguments.minutes);
    let run = Run::new(arguments.seed);
    let names = Mutex::new(());
    let act = Act::of_changes();
    let random = Random::new(arguments.seed);
    let changes = Changes {
        run: &run,
        archives: &archives,
        loose: &loose,
        names: &names,
        lasting: &lasting,
        changing: &changing,
        current: generations,
        random,
        act: &act,
    };
    soak_threads(arguments, changes, &failing, duration, &signals);
    if !signals.is_received() {
        finish(&run, [&lasting, &changing, &failing.mount]);
    }
    print!("{}", table::table(&run, arguments.readers, &lasting.read().life));
    print!("{}", table::failing(&failing.figures, &failing.mount.read().life));
    Ok(match (signals.is_received(), run.failures()) {
        (true, _) => ExitCode::from(130),
        (false, 0) => ExitCode::SUCCESS,
        (false, _) => ExitCode::FAILURE,
    })
}

/// Writes the first generation of every archive.
fn write_archives(archives: &Path, seed: u64) -> Outcome<Vec<Arc<Generation>>> {
    let write = |archive: usize| {
        let path = archives.join(KINDS[archive].file_name);
        let generation = archives::generation(seed, archive, 0);
        archives::write(&path, &KINDS[archive].parts(&generation), 0).map_err(at(&path))?;
        Ok(generation)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..KINDS.len()).map(|it| scope.spawn(move || write(it))).collect();
        threads.into_iter().map(|it| it.join().map_err(|_| "an archive cannot be written")?).collect()
    })
}

/// Runs all threads to their ends.
fn soak_threads(
    arguments: &Arguments,
    changes: Changes<'_>,
    failing: &Failing,
    duration: Duration,
    signals: &Signals,
) {
    let Changes { run, archives, names, lasting, changing, act, .. } = changes;
    let random = |thread: u64| Random::new(arguments.seed ^ thread << 40);
    let acts: Vec<Act> = (0..arguments.readers).map(|_| Act::of_reader()).collect();
    let all_acts: Vec<&Act> = acts.iter().chain([act]).chain(&failing.acts).collect();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            watch::watch(run, &all_acts, signals, &done, || {
                lasting.end_at_once();
                changing.end_at_once();
                failing.mount.end_at_once();
            });
        });
        // The watch frees threads that hang, so it must end last.
        let _done = Done(&done);
        thread::scope(|scope| {
            for (number, act) in acts.iter().enumerate() {
                let copy = archives.join(format!("copy{number}"));
                let random = random(number as u64 + 1);
                let mounts = [lasting, changing];
                scope.spawn(move || Reader { run, mounts: &mounts, random, act, copy }.run());
            }
            scope.spawn(|| disturb::drop_caches(run, archives, arguments.keep_caches, random(1000)));
            scope.spawn(|| disturb::touch(run, archives, names, random(1001)));
            failing.start(scope, run, duration / SAMPLES);
            changes.run(Instant::now() + duration, duration / SAMPLES);
        });
    });
}

/// Takes the last samples, judges them, and unmounts.
fn finish(run: &Run, mounts: [&Mount; 3]) {
    for mount in mounts {
        let mut serving = mount.pause_readers();
        if mount.is_dead() {
            continue;
        }
        let ended = serving.life.sample().and_then(|()| mount.unmount(&serving, false));
        let fault = serving.life.fault().map_or(Ok(()), |fault| Err(fault.into()));
        for error in [ended, fault].into_iter().filter_map(Result::err) {
            run.fail(error.to_string());
        }
    }
}

/// Adds the path to an I/O error.
pub(crate) fn at(path: &Path) -> impl Fn(io::Error) -> Box<dyn Error + Send + Sync> + use<> {
    let path = path.to_owned();
    move |error| format!("{}: {error}", path.display()).into()
}
