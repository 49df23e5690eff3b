//! `bsafs verify`: decodes every file and lists the damaged ones.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::slice;

use clap::Args;
use serde::Serialize;

use crate::cli::exit::{Exit, Failure};
use crate::cli::options::named_sources::source_set;
use crate::cli::options::open_args::OpenArgs;
use crate::cli::terminal::output::{stdout_for, write_json};
use crate::cli::terminal::progress;
use crate::game::LayerKind;
use crate::system::text::count;
use crate::vfs::named_folder::NamedFolder;
use crate::vfs::opened_archive::misnamed;
use crate::vfs::parallel::in_parallel;
use crate::vfs::sources::resolve;
use crate::vfs::sources::source_set::SourceSet;
use crate::vfs::{Layout, Vfs, VfsFile};

/// Decode every file of archives, and print those that are bad
///
/// Checksums are compared if the data has any: zlib streams have one, and LZ4 frames have the
/// checksums that their flags announce. Uncompressed files, LZ4 blocks (some of Starfield's textures) and
/// XMem data (Xbox 360) have none. Damage in these is found only if it changes the length or makes the data
/// undecodable. A missing checksum is reported as odd, not as bad.
///
/// The exit status is 0 if all files are OK, and 1 if a file is bad. If an archive cannot be
/// opened, the exit status is that of the error.
#[derive(Args, Debug)]
pub(crate) struct Verify {
    /// Archives, folders, games, and other sources that `mount` accepts
    #[arg(required = true, value_name = "SOURCE")]
    archives: Vec<PathBuf>,
    /// Print one JSON object per line: an archive, or the loose files of a folder
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    open: OpenArgs,
}

/// The finding for a file whose stored hash is not the hash of its name. Games look files up only by hash,
/// so they do not find such a file. Some mod managers wrote wrong hashes on purpose, so that loose textures
/// win in Oblivion.
const HASH_DIFFERS: &str = "the stored hash does not match the name, so games cannot find the file; some mod \
                            managers do this on purpose (archive invalidation)";

/// What was found in one archive.
#[derive(Serialize)]
struct Findings {
    archive: String,
    files: usize,
    bad: Vec<Finding>,
    /// Files that are whole but break a rule of their format.
    odd: Vec<Finding>,
}

/// What was found in one file.
#[derive(Serialize)]
struct Finding {
    path: String,
    what: String,
}

impl Verify {
    pub(crate) fn run(&self, is_quiet: bool) -> Result<Exit, Failure> {
        let mut out = stdout_for(self.json);
        let mut exit = Exit::Ok;
        let mut report = |findings: Findings| {
            if !findings.bad.is_empty() {
                exit = Exit::No;
            }
            match self.json {
                true => write_json(&mut out, &findings)?,
                false => findings.write(&mut out, is_quiet)?,
            }
            out.flush()
        };
        for source in &self.archives {
            // Check each source separately, so that a profile's options apply only to the sources
            // that it names.
            let set = source_set(slice::from_ref(source), self.open.options().layout(Layout::Union))?;
            // If a profile sets `salvage`, suspect files are still not sound.
            let set = SourceSet { options: set.options.salvage(false), ..set };
            for (path, set) in set.each() {
                verify_source(path, &set, &mut report)?;
            }
        }
        Ok(exit)
    }
}

/// Checks and reports each archive of a game, a folder and the archives in it, or a single archive.
fn verify_source(
    source: &Path,
    set: &SourceSet,
    report: &mut impl FnMut(Findings) -> io::Result<()>,
) -> Result<(), Failure> {
    if let Some(order) = resolve::plan_source(source, &set.options)? {
        for layer in order.layers.iter().filter(|layer| layer.what == LayerKind::Archive) {
            report(verify_archive(&layer.path, set)?)?;
        }
        return Ok(());
    }
    if !source.is_dir() {
        return Ok(report(verify_archive(source, set)?)?);
    }
    let NamedFolder { loose, archives } = NamedFolder::open(source, &set.options)?;
    for archive in &archives {
        report(verify_archive(archive, set)?)?;
    }
    Ok(report(findings(source, &loose.into(), &[]))?)
}

fn verify_archive(archive: &Path, set: &SourceSet) -> Result<Findings, Failure> {
    let vfs = Vfs::from(set.only(archive).open()?);
    Ok(findings(archive, &vfs, &misnamed(archive, &set.options)?))
}

/// Checks all files of one archive or folder. `misnamed` are ascending entry numbers.
fn findings(source: &Path, vfs: &Vfs, misnamed: &[u32]) -> Findings {
    let mut files: Vec<_> = vfs.files().collect();
    // In stored order, so that the disk is read sequentially.
    files.sort_unstable_by_key(VfsFile::entry);
    let total = || files.iter().map(VfsFile::disk_size).sum();
    let advance = progress::bytes("verifying", files.len(), total);
    let checked = in_parallel(files.len(), &|| {}, |index| {
        let checked = files[index].check();
        advance(files[index].disk_size());
        checked
    });
    let (mut bad, mut odd) = (Vec::new(), Vec::new());
    for (file, checked) in files.iter().zip(checked) {
        let path = file.path();
        if misnamed.binary_search(&file.entry().entry).is_ok() {
            odd.push(Finding { path: path.clone(), what: HASH_DIFFERS.into() });
        }
        match checked {
            Err(error) => bad.push(Finding { path, what: error.kind().to_string() }),
            Ok(quirks) => {
                odd.extend(quirks.iter().map(|it| Finding { path: path.clone(), what: it.to_string() }))
            }
        }
    }
    Findings { archive: source.display().to_string(), files: files.len(), bad, odd }
}

impl Findings {
    fn write(&self, out: &mut impl Write, is_quiet: bool) -> std::io::Result<()> {
        for Finding { path, what } in &self.bad {
            writeln!(out, "bad: {path}: {what}")?;
        }
        if is_quiet {
            return Ok(());
        }
        for Finding { path, what } in &self.odd {
            writeln!(out, "odd: {path}: {what}")?;
        }
        let verdict = if self.bad.is_empty() { "all OK".into() } else { format!("{} bad", self.bad.len()) };
        writeln!(out, "{}: {}, {verdict}", self.archive, count(self.files, "file"))
    }
}
