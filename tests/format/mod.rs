//! Parsing the tables of archives, field by field: correct ones, those with the quirks that
//! FORMATS.md lists, and damaged ones.

mod ba2;
mod encodings;
mod families; // hashes ignore case and the kind of separator
mod hashes;
mod names; // stored names become components of paths
mod odd_writers; // what packers misstate
mod placeholders;
mod structure; // what a game would not find
mod tes3;
mod tes4;

use std::ops::Range;
use std::sync::Mutex;

use bsafs::format::hash::Family;
use bsafs::format::{self, Archive, Extent, FORMATS, Limits, Name, ParseError};
use bsafs::read::{Bytes, Fetch};

use crate::support::samples;

/// Parses an archive that can be read.
fn parse(bytes: &[u8]) -> Archive<'_> {
    format::parse(bytes, &Limits::default()).unwrap()
}

/// Parses an archive that cannot be read, and returns the error.
fn refusal(bytes: &[u8]) -> ParseError {
    refusal_within(bytes, &Limits::default())
}

/// Parses an archive that cannot be read within limits, and returns the error.
fn refusal_within(bytes: &[u8], limits: &Limits) -> ParseError {
    format::parse(bytes, limits).map(|archive| archive.about).unwrap_err()
}

/// A copy of `bytes`, in which `with` replaces the bytes from `at` on.
fn patched(bytes: &[u8], at: usize, with: impl AsRef<[u8]>) -> Vec<u8> {
    let with = with.as_ref();
    let mut out = bytes.to_vec();
    out[at..at + with.len()].copy_from_slice(with);
    out
}

/// All names in stored order. `|` separates folder and file that are stored apart. `?` stands for a
/// part that is not stored.
fn names(archive: &Archive<'_>) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let part = |bytes: Option<&[u8]>| bytes.map_or("?".into(), text);
    archive
        .entries()
        .map(|entry| match entry.name {
            Name::Path(path) => text(path),
            Name::Split { folder, file } => format!("{}|{}", part(folder), part(file)),
            Name::Number(number) => number.to_string(),
            Name::Unknown { extension } => format!("?.{}", text(&extension).trim_end_matches('\0')),
        })
        .collect()
}

/// All notes, each with its offset.
fn notes<'a>(archive: &'a Archive<'_>) -> Vec<(u64, &'a str)> {
    archive.notes.iter().map(|note| (note.offset.unwrap(), note.text.as_str())).collect()
}

/// The bytes of an extent.
fn bytes_of<'a>(archive: &'a [u8], extent: &Extent) -> &'a [u8] {
    &archive[extent.offset as usize..][..extent.packed as usize]
}

/// What the files in the folder `Paks` of Oblivion Remastered are called.
const UNREAL: &str = "a Pak of Unreal Engine, where Oblivion Remastered has its meshes and textures: \
                      use a tool for these, such as repak or retoc";

#[test]
fn the_error_says_what_a_non_archive_looks_like() {
    let cases: [(&[u8], &str); 22] = [
        (b"", "an empty file: was the download cut off?"),
        (&[0; 600], "a file of zeros: was the download cut off?"),
        (b"PK\x03\x04\x14\0", "a zip file: unpack it first"),
        (b"7z\xbc\xaf\x27\x1c\0\x04", "a 7-Zip file: unpack it first"),
        (b"Rar!\x1a\x07\x01\0", "a RAR file: unpack it first"),
        (b"\x1f\x8b\x08\0", "a gzip file: unpack it first"),
        (b"DDS \x7c\0\0\0", "a loose DDS texture"),
        (b"TES4\x2b\0\0\0", "a plugin (ESP, ESM or ESL)"),
        (b"TES3\x3c\x01\0\0", "a Morrowind plugin"),
        (b"NetImmerse File Format", "a loose NIF mesh"),
        (b"Gamebryo File Format", "a loose NIF mesh"),
        (b"<!DOCTYPE html>", "a web page that was saved instead of the archive"),
        (b"<html><head>", "a web page that was saved instead of the archive"),
        (b"-==--==--==--==-\x03", UNREAL),
        (b"\x01\x02\x03\xff\0\0\xe1\x12\x6f\x5a\x0b\0\0\0\0\0", UNREAL),
        (b"BSArc\0", "a file of BSArc, an unrelated compressor"),
        (b"\x7fELF\x02", "a program"),
        (b"just words\r\n\tand lines\n", "a text file"),
        (b"words\x01", "data of an unknown kind"),
        (b"\0\0\0\x01", "data of an unknown kind"),
        // One letter short of a magic number.
        (b"BSA", "a text file"),
        (b"BTD", "a text file"),
    ];
    for (bytes, what) in cases {
        let expected = ParseError::unsupported(0, format!("not a BSA or BA2; it looks like {what}"));
        assert_eq!(refusal(bytes), expected);
    }
}

#[test]
fn only_the_first_512_bytes_decide_what_a_file_looks_like() {
    let mut text = vec![b'a'; 512];
    text.push(0);
    assert!(refusal(&text).to_string().contains("a text file"), "{}", refusal(&text));
    text.swap(511, 512);
    assert!(refusal(&text).to_string().contains("data of an unknown kind"), "{}", refusal(&text));
}

#[test]
fn errors_state_class_reason_and_offset() {
    let cases = [
        (ParseError::corrupt(7, "x"), "damaged archive: x (at offset 7)"),
        (ParseError::unsupported(8, "y"), "unsupported archive: y (at offset 8)"),
        (ParseError::limit(9, "z"), "archive too large: z (at offset 9)"),
    ];
    for (error, words) in cases {
        assert_eq!(error.to_string(), words);
    }
}

#[test]
fn every_sample_is_recognised_by_exactly_one_format() {
    for sample in samples() {
        let formats = FORMATS.iter().filter(|format| (format.recognises)((&sample.bytes).into())).count();
        assert_eq!(formats, 1, "{}", sample.name);
        assert!(format::is_archive_name(sample.name.as_bytes()), "{}", sample.name);
        let archive = parse(&sample.bytes);
        assert_eq!(archive.files.len(), sample.files.len(), "{}", sample.name);
        // Notes that only name a console are expected.
        let is_unexpected =
            |note: &&(u64, &str)| !note.1.starts_with("tile mode") && !note.1.contains("Xbox");
        assert_eq!(notes(&archive).iter().find(is_unexpected), None, "{}", sample.name);
        let of_entries: usize = archive.entries().map(|entry| usize::from(entry.extents)).sum();
        assert_eq!(archive.extents().count(), of_entries, "{}", sample.name);
    }
}

#[test]
fn stored_hashes_match_the_names_in_every_sample() {
    for sample in samples() {
        let archive = parse(&sample.bytes);
        for entry in archive.entries().filter(|_| archive.hashes != bsafs::format::hash::Family::None) {
            let hash = match entry.name {
                Name::Path(path) => archive.hashes.of(b"", path),
                Name::Split { folder, file } => archive.hashes.of(folder.unwrap(), file.unwrap()),
                Name::Number(_) => panic!("{}: a numbered file has a hash", sample.name),
                // The archive stores no name to hash.
                Name::Unknown { .. } => continue,
            };
            assert_eq!(entry.hash, hash, "{}: {:?}", sample.name, entry.name);
        }
    }
}

#[test]
fn the_number_of_notes_is_limited() {
    use crate::support::{Ba2, Ba2File, Chunk};
    let archive = (0..100).fold(Ba2::general(1), |archive, n| {
        archive.add(Ba2File::general(format!("{n}.txt")).chunk(Chunk::stored(b"x").sentinel(0)))
    });
    let bytes = archive.build();
    for most in [1, 2, 32] {
        let limits = Limits { notes: most, ..Limits::default() };
        let notes = format::parse(&bytes, &limits).unwrap().notes;
        assert_eq!((notes.len(), notes[most - 1].more), (most, 100 - most));
    }
}

#[test]
fn bytes_outside_the_tables_do_not_affect_parsing() {
    for sample in samples() {
        let name = &sample.name;
        let archive = parse(&sample.bytes);
        let mut is_table = vec![false; sample.bytes.len()];
        for range in archive.tables.iter().filter(|range| !range.is_empty()) {
            is_table[range.start as usize..range.end as usize].fill(true);
        }
        for extent in archive.extents().filter(|extent| extent.packed > 0) {
            let data = is_table.iter().skip(extent.offset as usize).take(extent.packed as usize);
            assert!(data.clone().all(|is_table| !is_table), "{name}: data at {}", extent.offset);
        }
        let mut changed = sample.bytes.clone();
        changed
            .iter_mut()
            .zip(&is_table)
            .filter(|(_, is_table)| !**is_table)
            .for_each(|(byte, _)| *byte ^= 0xFF);
        let changed = parse(&changed);
        assert_eq!(changed.extents().collect::<Vec<_>>(), archive.extents().collect::<Vec<_>>(), "{name}");
        let hashes = |archive: &Archive<'_>| archive.entries().map(|entry| entry.hash).collect::<Vec<_>>();
        assert_eq!(hashes(&changed), hashes(&archive), "{name}");
        assert_eq!(changed.tables, archive.tables, "{name}");
        // If the tables of a TES4 archive lack names, these may be in the data.
        if archive.files.has_all_names() || archive.hashes != Family::Tes4 {
            assert_eq!(names(&changed), names(&archive), "{name}");
        }
    }
}

/// Bytes that record which of them a parser fetches.
struct Recorded<'a> {
    bytes: &'a [u8],
    fetched: Mutex<Vec<bool>>,
}

impl<'a> Recorded<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, fetched: Mutex::new(vec![false; bytes.len()]) }
    }
}

impl Fetch for Recorded<'_> {
    // Records exactly this range, because every other byte needs another call.
    fn fetch(&self, range: Range<u64>, _: bool) -> Option<&[u8]> {
        let range = range.start as usize..range.end as usize;
        self.fetched.lock().unwrap()[range.clone()].fill(true);
        Some(&self.bytes[range])
    }
}

#[test]
fn only_fetched_bytes_are_accessed() {
    /// Everything that parsing gives, as text.
    fn summary(archive: &Archive<'_>) -> String {
        let entries: Vec<_> = archive.entries().collect();
        let extents: Vec<_> = archive.extents().collect();
        format!("{:?}", (&archive.about, entries, extents, &archive.sniffed, &archive.notes, &archive.heads))
    }
    for sample in samples() {
        let fetch = Recorded::new(&sample.bytes);
        let bytes = Bytes::fetched(sample.bytes.len() as u64, &fetch);
        let parsed = summary(&format::parse(bytes, &Limits::default()).unwrap());
        let mut others = sample.bytes.clone();
        let fetched = fetch.fetched.into_inner().unwrap();
        others
            .iter_mut()
            .zip(&fetched)
            .filter(|(_, is_fetched)| !**is_fetched)
            .for_each(|(byte, _)| *byte ^= 0xFF);
        assert_eq!(summary(&parse(&others)), parsed, "{}", sample.name);
        let data: u64 = parse(&sample.bytes).extents().map(|extent| u64::from(extent.packed)).sum();
        let unread = fetched.iter().filter(|is_fetched| !**is_fetched).count() as u64;
        assert!(
            unread > 0 || data == 0 || sample.bytes.len() < 1024,
            "{}: the whole archive was fetched",
            sample.name
        );
    }
}

#[test]
fn ambiguous_extensions_count_only_for_files_named_by_the_user() {
    for (name, is_archive) in [
        ("A.bsa", true),
        ("b.B.BA2", true),
        (".bsa", true),
        ("DAGGER.SND", false),
        ("bsa", false),
        ("a.bsa.", false),
    ] {
        assert_eq!(format::is_archive_name(name.as_bytes()), is_archive, "{name}");
    }
    for (extension, is_archive) in [("bsa", true), ("Ba2", true), ("SND", true), ("", false), ("toml", false)]
    {
        assert_eq!(format::is_archive_extension(extension.as_bytes()), is_archive, "{extension}");
    }
}
