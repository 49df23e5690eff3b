//! `bsafs verify`: every file decoded, every bad one named.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::exit::{Exit, Failure};
use super::open::{self, CACHE_SIZE, Opening};
use super::{count, selection};
use crate::format::hash::Family;
use crate::format::{self, EntryId};

/// Decode every file of archives, and name those that are bad
///
/// The exit status is 0 if all files are sound, 1 if any is not, and that of the failure where an archive cannot be
/// opened at all.
#[derive(Args, Debug)]
pub(super) struct Verify {
    /// Archives
    #[arg(required = true, value_name = "ARCHIVE")]
    archives: Vec<PathBuf>,
    /// One JSON object a line, an archive each
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    opening: Opening,
}

/// The games find a file by its hash alone: one that is not its name's hides the file from them, which mod managers did
/// on purpose to let loose textures win in Oblivion.
const HASH_DIFFERS: &str = "hash differs from that of its name (archive invalidation?)";

/// What was found in one archive.
#[derive(Serialize)]
struct Findings {
    archive: String,
    files: usize,
    bad: Vec<Finding>,
    /// Files that are whole but not as they should be.
    odd: Vec<Finding>,
}

/// What was found in one file.
#[derive(Serialize)]
struct Finding {
    path: String,
    what: String,
}

impl Verify {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let mut out = super::out();
        let mut exit = Exit::Ok;
        for archive in &self.archives {
            let findings = self.verify(archive)?;
            if !findings.bad.is_empty() {
                exit = Exit::No;
            }
            match self.json {
                true => super::json(&mut out, &findings)?,
                false => findings.write(&mut out)?,
            }
            out.flush()?;
        }
        Ok(exit)
    }

    fn verify(&self, archive: &std::path::Path) -> Result<Findings, Failure> {
        let opened = open::open(&[archive.to_owned()], &self.opening, CACHE_SIZE)?;
        let mut files: Vec<_> = opened.tree.entries().collect();
        // Stored order, so that the disk is read from one end to the other.
        files.sort_unstable_by_key(|(_, entry)| *entry);
        let checked =
            open::in_parallel(files.len(), "verifying", |index| Ok(opened.store.check(files[index].1)))?;
        let misnamed = self.misnamed(archive)?;
        let (mut bad, mut odd) = (Vec::new(), Vec::new());
        for ((node, entry), checked) in files.iter().zip(checked) {
            let path = selection::path(&opened.tree, *node);
            if misnamed.binary_search(entry).is_ok() {
                odd.push(Finding { path: path.clone(), what: HASH_DIFFERS.into() });
            }
            match checked {
                Err(error) => bad.push(Finding { path, what: error.to_string() }),
                Ok(quirks) => {
                    odd.extend(quirks.iter().map(|it| Finding { path: path.clone(), what: it.to_string() }))
                }
            }
        }
        Ok(Findings { archive: archive.display().to_string(), files: files.len(), bad, odd })
    }

    /// The files whose stored hash is not that of their stored name, on no platform; ascending.
    fn misnamed(&self, archive: &std::path::Path) -> Result<Vec<EntryId>, Failure> {
        open::tables(archive, &self.opening.options(), |parsed| {
            let is_misnamed = |entry: &format::Entry<'_>| {
                entry.name.parts().is_some_and(|(folder, file)| {
                    parsed.hashes != Family::None
                        && !parsed.hashes.candidates(folder, file).any(|hash| hash == entry.hash)
                })
            };
            let entries = (0_u32..).zip(parsed.entries()).filter(|(_, entry)| is_misnamed(entry));
            entries.map(|(entry, _)| EntryId { layer: 0, entry }).collect()
        })
    }
}

impl Findings {
    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        for Finding { path, what } in &self.bad {
            writeln!(out, "bad: {path}: {what}")?;
        }
        for Finding { path, what } in &self.odd {
            writeln!(out, "odd: {path}: {what}")?;
        }
        let verdict =
            if self.bad.is_empty() { "all sound".into() } else { format!("{} bad", self.bad.len()) };
        writeln!(out, "{}: {}, {verdict}", self.archive, count(self.files, "file"))
    }
}
