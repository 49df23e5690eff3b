//! Judges an archive's tables: what keeps a game from finding or reading its files, although bsafs can.
//!
//! The games of the TES3 and TES4 families search sorted hashes, so a file whose hash is wrong or out of
//! place does not exist for them. Of BA2 archives, only what holds for every game is judged: their records
//! are in no order.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

use super::archive::{Archive, Codec, Entry, Extent};
use super::hash::{Family, Hash};
use crate::note::{NoteCode, Notes};

/// A fault of an archive's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// The stored hash is not that of the name, so that games do not find the file. Oblivion's archive
    /// invalidation does this on purpose.
    WrongHash,
    /// The hash is not where a game searches for it, because the records are not sorted.
    Unsorted,
    /// An earlier file has the same path.
    PathTwice,
    /// An earlier file has another path, but the same hash.
    HashTwice,
    /// The path begins with `Data\`. Games look for paths within that folder.
    LeadingData,
    /// The path begins at the root of a disk, or has a name that no game looks for, so it is never asked for.
    Unfindable,
    /// The data of the file lies in the tables of the archive.
    DataInTables,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub fault: Fault,
    /// The indices of the files among [`Archive::entries`], ascending. There is at least one.
    pub entries: Vec<u32>,
}

/// Examines an archive's tables, in a time and memory in proportion to the number of files.
pub fn examine(archive: &Archive<'_>) -> Vec<Finding> {
    let (twice, collisions) = shared_paths(archive);
    let all = [
        (Fault::WrongHash, entries_with(archive, |entry| has_wrong_hash(archive.hashes, entry))),
        (Fault::Unsorted, unsorted(archive)),
        (Fault::PathTwice, twice),
        (Fault::HashTwice, collisions),
        (Fault::LeadingData, entries_with(archive, begins_with_data)),
        (Fault::Unfindable, entries_with(archive, is_unfindable)),
        (Fault::DataInTables, data_in_tables(archive)),
    ];
    let findings = all.into_iter().map(|(fault, entries)| Finding { fault, entries });
    findings.filter(|finding| !finding.entries.is_empty()).collect()
}

/// Whether a file's stored hash is not that of its stored name on any platform.
pub fn has_wrong_hash(family: Family, entry: &Entry<'_>) -> bool {
    let Some((folder, file)) = entry.name.parts() else { return false };
    match family {
        Family::None => false,
        // Some packers store the extension in upper case.
        Family::Fo4 => {
            family.of(folder, file) != Hash { file: lowered_extension(entry.hash.file), ..entry.hash }
        }
        _ => !family.candidates(folder, file).any(|hash| hash == entry.hash),
    }
}

/// A BA2 hash with the extension in lower case.
fn lowered_extension(hash: u64) -> u64 {
    let [extension @ .., a, b, c, d] = hash.to_le_bytes();
    let [e, f, g, h] = extension.map(|byte| byte.to_ascii_lowercase());
    u64::from_le_bytes([e, f, g, h, a, b, c, d])
}

fn entries_with(archive: &Archive<'_>, has_fault: impl Fn(&Entry<'_>) -> bool) -> Vec<u32> {
    let entries = (0_u32..).zip(archive.entries());
    entries.filter(|(_, entry)| has_fault(entry)).map(|(index, _)| index).collect()
}

/// The files that a binary search does not find.
fn unsorted(archive: &Archive<'_>) -> Vec<u32> {
    match archive.hashes {
        Family::Tes3 => lost(archive, |hash| hash.rotate_left(32)),
        // The Xbox 360 compares hashes as bytes. Some of its archives lack its flag, and others have it
        // wrongly.
        Family::Tes4 | Family::Tes4Xbox | Family::Tes4Ps3 => {
            let (pc, xbox) = (lost(archive, |hash| hash), lost(archive, u64::swap_bytes));
            if xbox.len() < pc.len() { xbox } else { pc }
        }
        Family::Fo4 | Family::None => Vec::new(),
    }
}

/// The files that a binary search by `key` of their hash does not find: first among the folders, then within
/// the folder.
fn lost(archive: &Archive<'_>, key: impl Fn(u64) -> u64) -> Vec<u32> {
    let mut folders: Vec<u64> = Vec::new();
    let mut files: Vec<(usize, u64)> = Vec::new();
    let mut last = None;
    for entry in archive.entries() {
        if last != Some(entry.hash.folder) {
            last = Some(entry.hash.folder);
            folders.push(key(entry.hash.folder));
        }
        files.push((folders.len(), key(entry.hash.file)));
    }
    let mut lost = Vec::new();
    let mut index = 0_u32;
    for group in files.chunk_by(|one, other| one.0 == other.0) {
        let hashes: Vec<u64> = group.iter().map(|(_, hash)| *hash).collect();
        let folder = group.first().and_then(|(number, _)| folders.get(number.saturating_sub(1)));
        let is_folder_found = folder.is_some_and(|folder| finds(&folders, *folder));
        for hash in &hashes {
            if !is_folder_found || !finds(&hashes, *hash) {
                lost.push(index);
            }
            index = index.saturating_add(1);
        }
    }
    lost
}

/// Whether a binary search finds a key, in a slice that may not be sorted.
fn finds(keys: &[u64], key: u64) -> bool {
    let mut rest = keys;
    while let Some((before, [middle, after @ ..])) = rest.split_at_checked(rest.len() / 2) {
        rest = match key.cmp(middle) {
            std::cmp::Ordering::Equal => return true,
            std::cmp::Ordering::Less => before,
            std::cmp::Ordering::Greater => after,
        };
    }
    false
}

/// The files that have the path of an earlier one, and those that have another path but the hash of an
/// earlier one.
fn shared_paths(archive: &Archive<'_>) -> (Vec<u32>, Vec<u32>) {
    let (mut paths, mut hashes) = (HashMap::new(), HashMap::new());
    let (mut twice, mut collisions) = (Vec::new(), Vec::new());
    for (index, entry) in (0_u32..).zip(archive.entries()) {
        let Some(path) = path_digest(&entry) else { continue };
        if paths.insert(path, index).is_some() {
            twice.push(index);
            continue;
        }
        // Hashes of 0 are not computed from any path.
        if archive.hashes != Family::None && entry.hash.file != 0 && hashes.insert(entry.hash, path).is_some()
        {
            collisions.push(index);
        }
    }
    (twice, collisions)
}

/// A digest of a path as games compare it: in lower case, with one kind of separator.
fn path_digest(entry: &Entry<'_>) -> Option<u64> {
    let mut digest = DefaultHasher::new();
    for component in components(entry)? {
        for byte in component.iter() {
            digest.write_u8(byte.to_ascii_lowercase());
        }
        digest.write_u8(b'\\');
    }
    Some(digest.finish())
}

fn begins_with_data(entry: &Entry<'_>) -> bool {
    let first = components(entry).and_then(|mut components| Some((components.next()?, components.next()?)));
    first.is_some_and(|(first, _)| first.eq_ignore_ascii_case(b"data"))
}

fn is_unfindable(entry: &Entry<'_>) -> bool {
    let Some((folder, file)) = entry.name.parts() else { return false };
    let whole = match folder {
        b"" | b"." => file.to_vec(),
        folder => [folder, b"\\", file].concat(),
    };
    !begins_with_data(entry) && unfindable(&whole).is_some()
}

/// Why no game asks for a path, which may have either separator; `None` if one may.
pub fn unfindable(path: &[u8]) -> Option<&'static str> {
    let mut names = path.split(|byte| matches!(byte, b'\\' | b'/'));
    let first = names.next().unwrap_or_default();
    let is_drive = matches!(first, [letter, b':', ..] if letter.is_ascii_alphabetic());
    if is_drive || first.is_empty() {
        return Some("it begins at the root of a disk");
    }
    let mut all = std::iter::once(first).chain(names);
    if [&b"data"[..], b"data files"].iter().any(|data| first.eq_ignore_ascii_case(data)) && first != path {
        return Some("it begins with the data folder");
    }
    all.any(|name| matches!(name, b"" | b"." | b"..")).then_some("it has an empty or dotted name")
}

/// The components of a whole name, as stored.
fn components<'a>(entry: &'a Entry<'a>) -> Option<impl Iterator<Item = &'a [u8]>> {
    let (folder, file) = entry.name.parts()?;
    let all = [folder, file].into_iter().flat_map(|part| part.split(|byte| matches!(byte, b'\\' | b'/')));
    Some(all.filter(|component| !component.is_empty() && *component != b"."))
}

fn data_in_tables(archive: &Archive<'_>) -> Vec<u32> {
    let mut extents = archive.extents();
    let mut found = Vec::new();
    for (index, entry) in (0_u32..).zip(archive.entries()) {
        let mut is_in_tables = false;
        for extent in extents.by_ref().take(usize::from(entry.extents)) {
            let end = extent.offset.saturating_add(u64::from(extent.packed));
            let is_in = |table: &std::ops::Range<u64>| extent.offset < table.end && end > table.start;
            is_in_tables |= extent.packed > 0 && archive.tables.iter().any(is_in);
        }
        if is_in_tables {
            found.push(index);
        }
    }
    found
}

// Counts the extents that end past the end of an archive, and those that have data at all.

/// How many bytes a packer states too much: the size word, which pybsa counts twice.
const OVERSTATED_MAX: u64 = 4;

#[derive(Debug)]
pub(super) struct PastEnd {
    /// Length of the archive in bytes.
    len: u64,
    /// How many extents end past the end.
    count: u32,
    /// How many of those are packed and may be whole, because only a few bytes are not there.
    may_be_whole: u32,
    all: u32,
    has_data: bool,
}

impl PastEnd {
    pub(super) fn new(len: u64) -> Self {
        Self { len, count: 0, may_be_whole: 0, all: 0, has_data: false }
    }

    pub(super) fn check(&mut self, extent: &Extent) {
        let end = extent.offset.saturating_add(u64::from(extent.packed));
        if let Some(excess @ 1..) = end.checked_sub(self.len) {
            let may_be_whole =
                excess <= OVERSTATED_MAX && extent.offset < self.len && extent.codec != Codec::Stored;
            self.count = self.count.saturating_add(1);
            self.may_be_whole = self.may_be_whole.saturating_add(u32::from(may_be_whole));
        }
        self.all = self.all.saturating_add(1);
        self.has_data |= extent.packed > 0 || extent.offset > 0;
    }

    /// Adds a note if there were any. `thing` is the user's word for an extent.
    pub(super) fn add_note(&self, notes: &mut Notes, thing: &str) {
        let Self { len, count, may_be_whole, all, has_data } = self;
        let counted = |count: u32| format!("{count} {thing}{}", if count == 1 { "" } else { "s" });
        if *all > 0 && !has_data {
            notes.add_at(NoteCode::ArchiveUnfinished, 0, || {
                let verb = if *all == 1 { "has" } else { "have" };
                format!(
                    "the archive was never finished: all {} {verb} the size 0 and the offset 0; pack or \
                     download it again",
                    counted(*all)
                )
            });
        }
        if *count == 0 {
            return;
        }
        if may_be_whole == count {
            notes.add_at(NoteCode::LengthWrong, *len, || {
                format!(
                    "the stated length of {} passes the end of the archive by at most {OVERSTATED_MAX} \
                     bytes; `bsafs verify` says whether the data is whole",
                    counted(*count)
                )
            });
        } else {
            notes.add_at(NoteCode::ArchiveCutOff, *len, || {
                format!(
                    "the archive seems cut off: the data of {} lies beyond its end; download or copy it \
                     again",
                    counted(*count)
                )
            });
        }
    }
}
