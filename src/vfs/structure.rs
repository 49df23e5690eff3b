//! What is odd about the structure of an archive: which files its game does not find or cannot use.
//!
//! Games find a file by a binary search of its hash. Records out of order, wrong hashes and shared hashes
//! are invisible in the game, although bsafs shows the files.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::OpenError;
use super::opened_archive::{stored_path, with_archive};
use super::options::OpenOptions;
use crate::format::encoding::Encoding;
use crate::format::hash::{Family, Hash};
use crate::format::structure::has_wrong_hash;
use crate::format::{Archive, Codec, Entry, Extent};
use crate::note::{Note, NoteCode};
use crate::system::text::count;

/// Sounds, which most games play only if they are not packed.
const SOUNDS: [&str; 5] = ["wav", "xwm", "fuz", "mp3", "ogg"];
/// Texts of plugins, which Skyrim reads only if they are not packed.
const STRINGS: [&str; 3] = ["strings", "dlstrings", "ilstrings"];

/// What was found in the structure of an archive.
#[derive(Default)]
pub(crate) struct Structure {
    pub(crate) notes: Vec<Note>,
    /// Textures without all texels of their first mip: the number of the entry, ascending, and what is
    /// missing.
    pub(crate) bad: Vec<(u32, String)>,
}

/// Opens an archive and judges its structure.
pub(crate) fn structure(path: &Path, options: &OpenOptions) -> Result<Structure, OpenError> {
    let subject = path.to_string_lossy().into_owned();
    with_archive(path, &options.parse_options(), |parsed| {
        judge(&parsed, &subject, options.names_encoding(&parsed).encoding)
    })
}

/// Judges the structure of an archive, whose path is the subject of the notes. Reads no data of files.
fn judge(archive: &Archive<'_>, subject: &str, encoding: Encoding) -> Structure {
    let mut found = Found { files: BTreeMap::new(), encoding };
    let mut hashes: Vec<(Hash, u32)> = Vec::new();
    let (mut extents, mut bad) = (archive.extents(), Vec::new());
    let mut before: Option<Hash> = None;
    for (number, entry) in (0_u32..).zip(archive.entries()) {
        let of_entry: Vec<Extent> = extents.by_ref().take(entry.extents.into()).collect();
        if of_entry.iter().any(|extent| is_in_tables(archive, extent)) {
            found.add(NoteCode::DataInTables, &entry);
        }
        if before.is_some_and(|before| is_out_of_order(archive.hashes, before, entry.hash)) {
            found.add(NoteCode::HashOrder, &entry);
        }
        before = Some(entry.hash);
        if archive.hashes != Family::None {
            hashes.push((entry.hash, number));
        }
        if let Some((folder, file)) = entry.name.parts() {
            if has_wrong_hash(archive.hashes, &entry) {
                found.add(NoteCode::HashWrong, &entry);
            }
            if is_below_data(folder, file) {
                found.add(NoteCode::DataFolder, &entry);
            }
            let is_packed = of_entry.iter().any(|extent| extent.codec != Codec::Stored);
            if is_packed && must_be_stored(archive.hashes, file) {
                found.add(NoteCode::SoundPacked, &entry);
            }
        }
        if let Some((needs, first_mip)) = archive.heads.get(number as usize).texel_bytes() {
            let has: u64 =
                of_entry.iter().map(|extent| u64::from(extent.size.unwrap_or(extent.packed))).sum();
            if has < first_mip {
                bad.push((number, format!("it has {has} of {needs} bytes of texels")));
            } else if has < needs {
                found.add(NoteCode::MipsMissing, &entry);
            }
        }
    }
    found.add_twice(archive, hashes);
    let mut notes = found.notes(subject, archive);
    if archive.files.is_empty() {
        notes.push(Note::new(NoteCode::ArchiveEmpty, subject, "the archive has no files"));
    }
    Structure { notes, bad }
}

/// Whether a binary search may miss one of two records that follow each other. Archives of consoles have
/// other orders, also without a flag, and the order of Morrowind and of BA2 does not matter or is not known.
fn is_out_of_order(hashes: Family, before: Hash, hash: Hash) -> bool {
    hashes == Family::Tes4 && (before.folder, before.file) > (hash.folder, hash.file)
}

/// Files of each kind: how many there are, and the path of the first.
struct Found {
    files: BTreeMap<NoteCode, (usize, String)>,
    encoding: Encoding,
}

impl Found {
    fn add(&mut self, code: NoteCode, entry: &Entry<'_>) {
        let encoding = self.encoding;
        let path =
            || stored_path(&entry.name, encoding).unwrap_or_else(|| format!("{:016x}", entry.hash.file));
        self.files.entry(code).or_insert_with(|| (0, path())).0 += 1;
    }

    /// Adds the files that share a path or a hash with an earlier one. A search finds only one of them.
    fn add_twice(&mut self, archive: &Archive<'_>, mut hashes: Vec<(Hash, u32)>) {
        hashes.sort_unstable();
        let shared: Vec<&(Hash, u32)> =
            hashes.chunk_by(|one, next| one.0 == next.0).filter(|same| same.len() > 1).flatten().collect();
        if shared.is_empty() {
            return;
        }
        let wanted: BTreeMap<u32, Hash> = shared.into_iter().map(|&(hash, number)| (number, hash)).collect();
        let mut paths: BTreeMap<Hash, String> = BTreeMap::new();
        for (number, entry) in (0_u32..).zip(archive.entries()) {
            let Some(&hash) = wanted.get(&number) else { continue };
            let Some(path) = stored_path(&entry.name, self.encoding) else { continue };
            match paths.get(&hash) {
                Some(first) if first.eq_ignore_ascii_case(&path) => self.add(NoteCode::PathTwice, &entry),
                // Packers that compute no hashes write 0, which is a wrong hash already.
                Some(_) if hash.file == 0 => {}
                Some(_) => self.add(NoteCode::HashTwice, &entry),
                None => drop(paths.insert(hash, path)),
            }
        }
    }

    fn notes(self, subject: &str, archive: &Archive<'_>) -> Vec<Note> {
        let is_oblivion = archive.about.format == "TES4" && archive.about.version == 103;
        let note = |(code, (number, first)): (NoteCode, (usize, String))| {
            let files = count(number, "file");
            let text = match code {
                NoteCode::HashWrong if is_oblivion => format!(
                    "the game searches by hash and will not find {files}: the hash is not that of the name; \
                     mod managers do this on purpose (archive invalidation)"
                ),
                NoteCode::HashWrong => format!(
                    "the game searches by hash and will not find {files}: the hash is not that of the name; \
                     pack the archive again"
                ),
                NoteCode::HashOrder => format!(
                    "the game searches by hash and may not find {files}, because of the order of the \
                     records; pack the archive again"
                ),
                NoteCode::PathTwice => {
                    format!("the path of {files} occurs twice; the game finds one of them")
                }
                NoteCode::HashTwice => {
                    format!("the hash of {files} is that of another path; the game finds one of them")
                }
                NoteCode::DataFolder => format!(
                    "the game does not find {files}, because the path begins with Data; pack the content of \
                     the data folder instead"
                ),
                NoteCode::DataInTables => format!(
                    "the data of {files} lies inside the tables of the archive, so its packer did not \
                     finish; pack it again"
                ),
                NoteCode::SoundPacked => {
                    format!("{files} with sounds or texts are packed; the game may be silent or crash")
                }
                _ => format!("the small mips of {files} are missing"),
            };
            Note::new(code, subject, text).of(number, first)
        };
        self.files.into_iter().map(note).collect()
    }
}

/// Whether the data of an extent lies in what was parsed as tables.
fn is_in_tables(archive: &Archive<'_>, extent: &Extent) -> bool {
    extent.packed > 0 && archive.tables.iter().any(|tables| tables.contains(&extent.offset))
}

/// Whether a path begins with the data folder, below which games look for it.
fn is_below_data(folder: &[u8], file: &[u8]) -> bool {
    let path = if folder.is_empty() { file } else { folder };
    let mut names = path.split(|byte| matches!(byte, b'/' | b'\\')).filter(|name| !name.is_empty());
    let is_data = names.next().is_some_and(|name| name.eq_ignore_ascii_case(b"data"));
    is_data && (!folder.is_empty() || names.next().is_some())
}

/// Whether games read a file only if it is not packed.
fn must_be_stored(hashes: Family, file: &[u8]) -> bool {
    let extension = file.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    let is_one = |known: &&str| extension.eq_ignore_ascii_case(known.as_bytes());
    let is_tes4 = matches!(hashes, Family::Tes4 | Family::Tes4Xbox | Family::Tes4Ps3);
    SOUNDS.iter().any(is_one) || (is_tes4 && STRINGS.iter().any(is_one))
}
