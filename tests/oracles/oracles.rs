//! Compares bsafs with other programs.
//!
//! Two other readers must find the same files, sizes and bytes in every archive. libloadorder must
//! put the same plugins in the same order. vfstool must merge OpenMW's folders and archives alike, and
//! OpenMW itself must have logged the same folders and archives. Pillow, FFmpeg and three crates must show
//! the same pixels of textures.
//!
//! Both readers have defects. Each defect is a row of [`known_defects::KNOWN_DEFECTS`] with its
//! reason. The test fails on a difference without a row, and on a row without its difference.
//! src/format/FORMATS.md describes what the formats demand.
//!
//! This is a separate crate. scripts/check runs it with
//! `cargo test --manifest-path tests/oracles/Cargo.toml --target-dir target/oracles`.

// Tests fail by panicking.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod dummies; // plugins that bsafs writes for archives
mod games; // the games whose plugin order is compared
mod hashes; // the games' hash functions, on random names
mod installations; // small installations of games
mod known_defects; // known defects of the other readers
mod libloadorder_differences; // known differences from libloadorder
mod loadorder; // the order of active plugins
mod needed_plugins; // plugins that load later than a master that needs them
mod odd_textures; // textures with odd headers, and pictures of textures
mod openmw; // which file wins in OpenMW
mod openmw_log; // the folders and archives that OpenMW itself loads
mod openmw_worlds;
mod other_readers; // the crates ba2 and dream_archive
mod ours; // bsafs, called as a library
mod packed; // archives that bsafs packs
mod random_installation;
mod textures; // pixels of textures

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use known_defects::{KNOWN_DEFECTS, Row};
use other_readers::{ORACLES, Oracle, Other};
use support::tes4::FOLDER_NAMES;
use support::{Ba2, Tes3, Tes4, hash};

/// How an oracle's reading of a file compares with bsafs's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The oracle reads the same bytes.
    Same,
    /// The oracle does not open the archive.
    Refuses,
    /// The oracle does not list the file.
    Misses,
    /// The oracle lists the file, but fails or panics when it reads it.
    Fails,
    /// The oracle reads other bytes.
    Differs,
    /// The oracle reads a DDS file that differs only in the depth field.
    DdsDepth,
}

/// An archive to compare.
struct Subject {
    name: String,
    path: PathBuf,
}

/// Counts and problems of the comparisons with one oracle.
#[derive(Default)]
struct Tally {
    compared: usize,
    differed: usize,
    problems: Vec<String>,
    rows_used: Vec<bool>,
}

#[test]
fn every_file_of_every_archive_matches_other_readers() {
    let folder = tempfile::TempDir::new().unwrap();
    let built = built(folder.path());
    let foreign = foreign();
    // Minimum numbers of equal files, so that a test that compares nothing fails.
    compare("built", &built, [325, 290]);
    if let Some(foreign) = foreign {
        compare("foreign", &foreign, [469, 461]);
    }
}

/// Compares archives with every oracle. `floors` has each oracle's minimum number of equal files.
fn compare(what: &str, subjects: &[Subject], floors: [usize; 2]) {
    let mut failed = Vec::new();
    for (oracle, floor) in ORACLES.iter().zip(floors) {
        let mut tally = Tally { rows_used: vec![false; KNOWN_DEFECTS.len()], ..Tally::default() };
        for subject in subjects {
            compare_one(oracle, subject, &mut tally);
        }
        report(&format!(
            "oracle {} on {what} archives: {} files are the same, {} differ by its known defects",
            oracle.name, tally.compared, tally.differed
        ));
        failed.append(&mut tally.problems);
        for (row, used) in KNOWN_DEFECTS.iter().zip(&tally.rows_used) {
            let is_due = row.oracle == oracle.name && subjects.iter().any(|it| it.name.contains(row.archive));
            if is_due && !used {
                failed.push(format!("{row}: no file shows this defect any more"));
            }
        }
        if tally.compared < floor {
            failed.push(format!("{}: only {} files were compared", oracle.name, tally.compared));
        }
    }
    assert!(failed.is_empty(), "{} problems\n{}", failed.len(), failed.join("\n"));
}

fn compare_one(oracle: &Oracle, subject: &Subject, tally: &mut Tally) {
    let bytes = std::fs::read(&subject.path).unwrap();
    let theirs = other_readers::quietly(|| (oracle.read)(&bytes));
    let mut listed: BTreeMap<Vec<u8>, Vec<Other>> = BTreeMap::new();
    for (name, file) in theirs.iter().flatten() {
        listed.entry(name.clone()).or_default().push(file.clone());
    }
    for file in ours::read(&subject.path) {
        let (outcome, detail) = match &theirs {
            Err(error) => (Outcome::Refuses, error.clone()),
            Ok(_) => match listed.get_mut(&file.key) {
                Some(same_name) if !same_name.is_empty() => {
                    // Files that share a name are matched in any order, each once.
                    let equal = same_name.iter().position(|it| it.as_ref() == Ok(&file.content));
                    outcome(&file.content, &same_name.remove(equal.unwrap_or(0)))
                }
                _ => (Outcome::Misses, String::new()),
            },
        };
        let row = KNOWN_DEFECTS.iter().position(|row| row.applies(oracle.name, &subject.name, &file.key));
        tally.compared += usize::from(outcome == Outcome::Same);
        tally.differed += usize::from(outcome != Outcome::Same);
        row.inspect(|&row| tally.rows_used[row] = true);
        let expected = row.map_or(Outcome::Same, |row| KNOWN_DEFECTS[row].outcome);
        if outcome != expected {
            let name = file.key.escape_ascii();
            tally.problems.push(format!(
                "{}: {}: {name}: {outcome:?} {detail}, expected {expected:?}",
                oracle.name, subject.name
            ));
        }
    }
    for (name, rest) in listed.iter().filter(|(_, rest)| !rest.is_empty()) {
        let name = name.escape_ascii();
        tally.problems.push(format!(
            "{}: {}: {name}: listed {} times more than by bsafs",
            oracle.name,
            subject.name,
            rest.len()
        ));
    }
}

fn outcome(ours: &[u8], theirs: &Other) -> (Outcome, String) {
    let theirs = match theirs {
        Err(error) => return (Outcome::Fails, error.clone()),
        Ok(theirs) => theirs,
    };
    if theirs == ours {
        return (Outcome::Same, String::new());
    }
    // The depth is the u32 at offset 24.
    let is_depth = ours.starts_with(b"DDS ")
        && ours.len() == theirs.len()
        && ours.iter().zip(theirs).enumerate().all(|(at, (a, b))| a == b || (24..28).contains(&at));
    let first = ours.iter().zip(theirs).position(|(a, b)| a != b);
    let detail = format!("({} and {} bytes, first difference {first:?})", ours.len(), theirs.len());
    (if is_depth { Outcome::DdsDepth } else { Outcome::Differs }, detail)
}

/// Writes archives with the tests' builder: all samples, some without names, and some with hash collisions.
fn built(folder: &Path) -> Vec<Subject> {
    let mut archives: Vec<(String, Vec<u8>)> =
        support::samples().iter().map(|it| (it.name.clone(), it.bytes.clone())).collect();
    let tes4 = |flags| {
        let archive = Tes4::new(105).flags(flags);
        archive.file("a\\b", "c.txt", "one").file("", "d.txt", "two").build()
    };
    archives.push(("ba2 without names.ba2".into(), Ba2::general(1).file("a\\b.txt", "x").nameless().build()));
    archives.push(("v105 without names.bsa".into(), tes4(0)));
    archives.push(("v105 folder names alone.bsa".into(), tes4(FOLDER_NAMES)));
    archives.push(("tes3 without names.bsa".into(), Tes3::new().file("a\\b.txt", "x").nameless().build()));
    let [one, two] = hash::TES3_COLLISION;
    archives.push(("tes3 one hash.bsa".into(), Tes3::new().file(one, "one").file(two, "two").build()));
    let [one, two] = hash::TES4_COLLISION;
    archives.push((
        "v105 one hash.bsa".into(),
        Tes4::new(105).file("a", one, "one").file("a", two, "two").build(),
    ));
    let [one, two] = hash::FO4_COLLISION;
    archives.push(("gnrl one hash.ba2".into(), Ba2::general(1).file(one, "one").file(two, "two").build()));
    let write = |(name, bytes): (String, Vec<u8>)| {
        let path = folder.join(&name);
        std::fs::write(&path, bytes).unwrap();
        Subject { name, path }
    };
    archives.into_iter().map(write).collect()
}

/// Finds archives that other tools wrote. The repository does not contain them; `None` if they are missing.
fn foreign() -> Option<Vec<Subject>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/archives");
    if !root.is_dir() {
        report(&format!("real archives: SKIPPED, there is no {}", root.display()));
        return None;
    }
    let mut subjects = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "bsa" || it == "ba2") {
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                subjects.push(Subject { name, path });
            }
        }
    }
    subjects.sort_by(|a, b| a.name.cmp(&b.name));
    Some(subjects)
}

/// Writes a line to standard error, in one write. The test harness would hide the output of
/// `println!` and `eprintln!` unless the test fails.
fn report(line: &str) {
    io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

impl Row {
    fn applies(&self, oracle: &str, archive: &str, key: &[u8]) -> bool {
        self.oracle == oracle && archive.contains(self.archive) && key.ends_with(self.file.as_bytes())
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { oracle, archive, file, outcome, reason } = self;
        write!(f, "{oracle}: {archive}: {file}: {outcome:?}, because {reason}")
    }
}
