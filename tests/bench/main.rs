//! The benchmark: bsafs beside loose files, squashfs and a zip. `scripts/bench` runs it.
//!
//! A corpus is the same files in every form; a subject serves one form; a work does what programs do, and finds the
//! same whoever serves. Works run on subjects in turn, cold and hot, and a table says which of the aims are met.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a run that goes wrong says so and ends"
)]

#[path = "../support/mod.rs"]
mod support;

mod assets; // contents of files
mod cleanup; // what must be gone when a run is over
mod corpus; // the same files in every form
mod decode; // what extents cost without a mount
mod measure; // works on subjects in turn, and what they took
mod mounts; // subjects
mod opening; // from the command to the mount
mod plan; // which works on which subjects
mod process; // what the system tells
mod rows; // the aims, and whether they are met
mod scale; // how large a run is
mod table; // Markdown
mod work; // works

use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::Parser;
use rustix::fs::{FlockOperation, flock};

use scale::{Scale, Size};

/// Anything, or an error that ends the run.
pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Measure bsafs beside loose files, squashfs and a zip
#[derive(Debug, Parser)]
struct Arguments {
    /// How much is measured
    #[arg(long, value_enum, default_value_t = Size::Full)]
    size: Size,
    /// Where the corpora are built, once
    #[arg(long, value_name = "FOLDER", default_value = "/var/tmp/bsafs-bench")]
    corpora: PathBuf,
    /// The program to measure; by default the one that was built beside this
    #[arg(long, value_name = "PROGRAM")]
    bsafs: Option<PathBuf>,
    /// Also write the table here
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Measure only sets of these names: small, textures, big, large, many
    #[arg(long, value_name = "SET", value_delimiter = ',')]
    only: Vec<String>,
    /// How often everything is repeated at most, other than what the size says
    #[arg(long, value_name = "NUMBER")]
    rounds: Option<usize>,
    /// Build the corpora and do nothing else
    #[arg(long)]
    build: bool,
}

/// What a run works with.
#[derive(Debug)]
pub(crate) struct Bench {
    /// The folder of the corpora of this size.
    pub(crate) corpora: PathBuf,
    pub(crate) bsafs: PathBuf,
    pub(crate) scale: Scale,
    pub(crate) only: Vec<String>,
}

fn main() -> ExitCode {
    match bench(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether everybody found the same.
fn bench(arguments: &Arguments) -> Outcome<bool> {
    if !rustix::process::geteuid().is_root() {
        return Err("only root can mount squashfs images and drop caches".into());
    }
    let beside = std::env::current_exe()?.ancestors().nth(2).map(|folder| folder.join("bsafs"));
    let mut scale = Scale::of(arguments.size);
    scale.rounds = arguments.rounds.unwrap_or(scale.rounds);
    let bench = Bench {
        corpora: arguments.corpora.join(scale.name),
        bsafs: arguments
            .bsafs
            .clone()
            .or(beside)
            .filter(|it| it.is_file())
            .ok_or("there is no bsafs; build it")?,
        scale,
        only: arguments.only.clone(),
    };
    let mounts = bench.corpora.join("mnt");
    fs::create_dir_all(&mounts).map_err(at(&mounts))?;
    // Held to the end: two runs would build, drop caches and sweep mounts under each other.
    let lock = bench.corpora.join("lock");
    let lock = fs::File::create(&lock).map_err(at(&lock))?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)
        .map_err(|error| format!("another run is under way: {error}"))?;
    corpus::build(&bench.corpora, &bench.scale)?;
    if arguments.build {
        return Ok(true);
    }
    cleanup::sweep(&mounts);
    cleanup::watch(bench.scale.hard_limit)?;
    let (log, facts) = plan::measure(&bench)?;
    let text = table::markdown(&bench, &log, &rows::rows(&log, &facts), &facts);
    print!("{text}");
    if let Some(path) = &arguments.output {
        fs::write(path, &text).map_err(at(path))?;
    }
    Ok(log.faults.is_empty())
}

/// Names the path in an error of the system.
pub(crate) fn at(path: &Path) -> impl Fn(io::Error) -> Box<dyn Error + Send + Sync> + use<> {
    let path = path.to_owned();
    move |error| format!("{}: {error}", path.display()).into()
}

/// Runs a program that is to be quiet and to succeed.
pub(crate) fn run(command: &mut Command) -> Outcome<()> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {}: {}", output.status, said.trim()).into());
    }
    Ok(())
}
