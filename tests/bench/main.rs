//! The benchmark: bsafs compared with loose files and squashfs. `scripts/bench` builds and runs it.
//!
//! A *corpus* has the same files in several forms: loose, archives, images. A *subject* serves one form of a
//! corpus. A *work* does to a subject's files what programs do. Its result must be the same on every subject.
//!
//! Works run on subjects in turn, under several conditions of the caches. The report says which targets are
//! met, and has all medians. RESULTS.md keeps the latest medians and the reasons for the targets.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a run that fails reports it and ends"
)]

#[path = "../support/mod.rs"]
mod support;

mod assets; // contents of files
mod changes; // changes of loose files in an instance
mod cleanup; // mounts and processes that a run must not leave behind
mod corpus; // the same files in every form
mod decode; // what extents cost without a mount
mod instance; // instances of Mod Organizer 2
mod lookup; // what names cost without a mount
mod measure; // works on subjects in turn, and their times
mod meshes; // names in all meshes
mod mounts; // subjects
mod opening; // from the command to the mount
mod plan; // which works on which subjects
mod process; // processor time, memory and page cache, from the kernel
mod programs; // programs and commands that read whole trees
mod reload; // changes of sources, and requests meanwhile
mod rows; // the targets, and whether they are met
mod scale; // how large a run is
mod slow; // a disk that seeks
mod table; // the report as Markdown
mod tree_rows; // the targets of whole trees
mod work; // works

use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::Parser;
use rustix::fs::{FlockOperation, flock};

use scale::{Scale, Size};

/// A value, or an error that ends the run.
pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Measure bsafs beside loose files and squashfs
#[derive(Debug, Parser)]
struct Arguments {
    /// How much is measured
    #[arg(long, value_enum, default_value_t = Size::Full)]
    size: Size,
    /// Where the corpora are built, once
    #[arg(long, value_name = "FOLDER", default_value = "/var/tmp/bsafs-bench")]
    corpora: PathBuf,
    /// The program to measure; by default the one built beside this
    #[arg(long, value_name = "PROGRAM")]
    bsafs: Option<PathBuf>,
    /// Also write the report to this file
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Build and measure these sets only: small, tree, textures, big, large, many, instance, slow, meshes
    #[arg(long, value_name = "SET", value_delimiter = ',')]
    only: Vec<String>,
    /// How often everything is repeated at most; by default as the size says
    #[arg(long, value_name = "NUMBER")]
    rounds: Option<usize>,
    /// Build the corpora and measure nothing
    #[arg(long)]
    build: bool,
}

/// The arguments of a run.
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

/// Runs the benchmark. Returns whether all subjects gave the same results.
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
    // The lock is held to the end. Without it, two runs would drop each other's caches and unmount
    // each other's mounts.
    let lock = bench.corpora.join("lock");
    let lock = fs::File::create(&lock).map_err(at(&lock))?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)
        .map_err(|error| format!("another run is under way: {error}"))?;
    corpus::build(&bench)?;
    if arguments.build {
        return Ok(true);
    }
    cleanup::sweep(&mounts);
    cleanup::watch(bench.scale.hard_limit)?;
    let (log, facts) = plan::measure(&bench)?;
    let text = table::markdown(&bench, &log, &rows::tables(&log, &facts), &facts);
    print!("{text}");
    if let Some(path) = &arguments.output {
        fs::write(path, &text).map_err(at(path))?;
    }
    Ok(log.mismatches.is_empty())
}

/// Adds the path to an I/O error.
pub(crate) fn at(path: &Path) -> impl Fn(io::Error) -> Box<dyn Error + Send + Sync> + use<> {
    let path = path.to_owned();
    move |error| format!("{}: {error}", path.display()).into()
}

/// Runs a program that must succeed, and discards its output.
pub(crate) fn run(command: &mut Command) -> Outcome<()> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {}: {}", output.status, stderr.trim()).into());
    }
    Ok(())
}
