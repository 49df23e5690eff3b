//! What is odd about the structure of an archive: which files its game does not find or cannot use.
//!
//! Games find a file by a binary search of its hash. Records out of order, wrong hashes and shared hashes
//! are invisible in the game, although bsafs shows the files.

use std::path::Path;

use crate::format::encoding::Encoding;
use crate::format::hash::Family;
use crate::format::structure::{self, Fault, Finding};
use crate::format::{Archive, Codec, Entry, Extent};
use crate::kinds::{Compressed, kind_of};
use crate::note::{Counted, Note, NoteCode};
use crate::system::text::count;
use crate::vfs::error::OpenError;
use crate::vfs::library::Vfs;
use crate::vfs::open_options::OpenOptions;
use crate::vfs::opened_archive::{stored_path, with_archive};

/// A note on the textures of an archive without all texels of their first mip; `None` if there are none.
pub(crate) fn without_texels(vfs: &Vfs, subject: &str) -> Option<Note> {
    let mut bad: Vec<_> = vfs.files().filter_map(|file| Some((file.missing_texels()?, file))).collect();
    bad.sort_unstable_by_key(|(_, file)| file.entry());
    let (what, first) = bad.first()?;
    let text = match bad.len() {
        1 => format!("a texture lacks texels: {what}"),
        bad => format!("{bad} textures lack texels; of the first, {what}"),
    };
    Some(Note::new(NoteCode::TexelsMissing, subject, text).of(bad.len(), first.path()))
}

/// Opens an archive and judges its structure.
pub(crate) fn structure(path: &Path, options: &OpenOptions) -> Result<Vec<Note>, OpenError> {
    let subject = path.to_string_lossy().into_owned();
    with_archive(path, &options.parse_options(), |parsed| {
        judge(&parsed, &subject, options.names_encoding(&parsed).encoding)
    })
}

/// Judges the structure of an archive, whose path is the subject of the notes. Reads no data of files.
fn judge(archive: &Archive<'_>, subject: &str, encoding: Encoding) -> Vec<Note> {
    let path = |entry: &Entry<'_>| {
        stored_path(&entry.name, encoding).unwrap_or_else(|| format!("{:016x}", entry.hash.file))
    };
    let mut found = Counted::default();
    for Finding { fault, entries } in structure::examine(archive) {
        let first = entries.first().and_then(|first| archive.entries().nth(*first as usize));
        if let Some(first) = first {
            found.add(code(fault), entries.len(), || path(&first));
        }
    }
    let mut extents = archive.extents();
    for (number, entry) in (0_u32..).zip(archive.entries()) {
        let of_entry: Vec<Extent> = extents.by_ref().take(entry.extents.into()).collect();
        let is_packed = of_entry.iter().any(|extent| extent.codec != Codec::Stored);
        if is_packed && entry.name.parts().is_some_and(|(_, file)| must_be_stored(archive.hashes, file)) {
            found.add(NoteCode::SoundPacked, 1, || path(&entry));
        }
        if let Some((needs, first_mip)) = archive.heads.get(number as usize).texel_bytes() {
            let has: u64 =
                of_entry.iter().map(|extent| u64::from(extent.size.unwrap_or(extent.packed))).sum();
            if (first_mip..needs).contains(&has) {
                found.add(NoteCode::MipsMissing, 1, || path(&entry));
            }
        }
    }
    notes(found, subject, archive)
}

fn code(fault: Fault) -> NoteCode {
    match fault {
        Fault::WrongHash => NoteCode::HashWrong,
        Fault::Unsorted => NoteCode::HashOrder,
        Fault::PathTwice => NoteCode::PathTwice,
        Fault::HashTwice => NoteCode::HashTwice,
        Fault::LeadingData => NoteCode::DataFolder,
        Fault::Unfindable => NoteCode::PathUnfindable,
        Fault::DataInTables => NoteCode::DataInTables,
    }
}

/// The notes on files of each kind in an archive, whose path is the subject.
fn notes(found: Counted<NoteCode>, subject: &str, archive: &Archive<'_>) -> Vec<Note> {
    let is_oblivion = archive.about.format == "TES4" && archive.about.version == 103;
    let note = |code: NoteCode, number: usize| {
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
                "the game searches by hash and will not find {files}, because the records are not \
                 sorted; pack the archive again"
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
            NoteCode::PathUnfindable => format!(
                "the game does not find {files}, because the path begins at the root of a disk, or \
                 has an empty or dotted name; pack the content of the data folder instead"
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
        Note::new(code, subject, text)
    };
    found.notes(note).collect()
}

/// Whether games read a file only if it is not packed.
fn must_be_stored(hashes: Family, file: &[u8]) -> bool {
    match kind_of(file).map(|kind| kind.compressed) {
        Some(Compressed::Fails) => true,
        Some(Compressed::FailsInBsa) => matches!(hashes, Family::Tes4 | Family::Tes4Xbox | Family::Tes4Ps3),
        Some(Compressed::Useless | Compressed::Works) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_file_is_odd_only_if_its_game_needs_it_stored() {
        for (hashes, file, is_needed) in [
            (Family::Tes4, &b"a.lip"[..], true),
            (Family::Tes4, b"A.OGG", true),
            (Family::Fo4, b"a.fuz", true),
            (Family::Fo4, b"a.wem", false),
            (Family::Tes4, b"a_en.strings", true),
            (Family::Fo4, b"a_en.strings", false),
            (Family::Tes4, b"a.nif", false),
            (Family::Tes4, b"wav", false),
        ] {
            assert_eq!(must_be_stored(hashes, file), is_needed, "{file:?}");
        }
    }
}
