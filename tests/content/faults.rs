//! Bad entries: each gives an error with its reason, is reported once, and affects no other entry.

use bsafs::content::Reason;
use bsafs::content::codec::DecodeError;
use bsafs::format::Limits;

use super::{LONGEST_READ, Opened};
use crate::support::content::{noise, text};
use crate::support::tes4::{EMBEDDED, FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Ba2, Ba2File, Chunk, Tes4, Tes4File, ba2, pack};

struct Case {
    what: &'static str,
    archive: Vec<u8>,
    reason: Reason,
    says: &'static str,
}

fn corrupt(what: &str) -> Reason {
    Reason::Decode(DecodeError::Corrupt(what.into()))
}

/// An archive of version 104 or 105 with a bad file and a good one.
fn tes4(version: u32, flags: u32, bad: Tes4File) -> Vec<u8> {
    let flags = FOLDER_NAMES | FILE_NAMES | flags;
    Tes4::new(version).flags(flags).add("f", bad).file("f", "good.txt", "as it should be").build()
}

fn ba2(method: u32, chunk: Chunk) -> Vec<u8> {
    let bad = Ba2File::general("f/bad.txt").chunk(chunk);
    Ba2::general(3).method(method).add(bad).file("f/good.txt", "as it should be").build()
}

fn bad() -> Tes4File {
    Tes4File::new("bad.txt", text(1, 5_000))
}

fn beyond() -> Vec<Case> {
    const SAYS: &str = "its data lies beyond the end of the archive";
    let case = |what, archive| Case { what, archive, reason: Reason::BeyondEnd, says: SAYS };
    vec![
        case("stored, beyond the end", tes4(104, 0, bad().record_offset(0x7000_0000))),
        case("packed, beyond the end", tes4(104, PACKED, bad().record_offset(0x7000_0000))),
        case("stored chunk", ba2(0, Chunk::stored("x").offset(u64::MAX - 5))),
        case("packed chunk", ba2(0, Chunk::zlib("x").offset(1 << 40))),
    ]
}

fn sizes() -> Vec<Case> {
    let case = |what, archive, claim, says| Case { what, archive, reason: Reason::UnpackedSize(claim), says };
    let bytes = || noise(1, 100);
    let gib = "its unpacked size of 1073741824 bytes is more than its data can contain, \
        or more than bsafs supports";
    let all = "its unpacked size of 4294967295 bytes is more than its data can contain, \
        or more than bsafs supports";
    vec![
        case("zlib bomb", tes4(104, PACKED, bad().stream(bytes()).declared(1 << 30)), 1 << 30, gib),
        case("zlib chunk", ba2(0, Chunk::packed(bytes(), 1 << 30)), 1 << 30, gib),
        case("lz4 chunk", ba2(ba2::METHOD_LZ4, Chunk::packed(bytes(), 1 << 30)), 1 << 30, gib),
        case("lz4 frame", tes4(105, PACKED, bad().stream(bytes()).declared(1 << 30)), 1 << 30, gib),
        case("largest", ba2(0, Chunk::packed(bytes(), u32::MAX as usize)), u32::MAX, all),
    ]
}

fn packed_lengths() -> Vec<Case> {
    let says = "its packed size of 1053656 bytes is too large for its content, or more than bsafs supports";
    let case = |what, archive| Case { what, archive, reason: Reason::PackedSize(1_053_656), says };
    let long = [pack::zlib(&text(1, 5_000)), vec![0; 2 << 20]].concat();
    let long = &long[..1_053_656 - 4];
    let chunk = Chunk::packed([long, &[0; 4]].concat(), 5_000);
    vec![
        case("a packed length that its size cannot need", tes4(104, PACKED, bad().stream(long))),
        case("a chunk of such a length", ba2(0, chunk)),
    ]
}

fn prefixes() -> Vec<Case> {
    const SAYS: &str = "its data ends inside the name or size that it begins with";
    let case = |what, archive| Case { what, archive, reason: Reason::Prefix, says: SAYS };
    let short = || Tes4File::new("bad.txt", "").block(&b"\x09four"[..]);
    let cut = |len: usize| bad().no_size_word().stream(vec![1; len]);
    vec![
        case("a name longer than a packed file", tes4(104, EMBEDDED | PACKED, short())),
        case("one byte of a size", tes4(104, PACKED, cut(1))),
        case("three bytes of a size", tes4(105, PACKED, cut(3))),
        case("a name and two bytes of a size", tes4(105, EMBEDDED | PACKED, cut(2))),
    ]
}

fn streams() -> Vec<Case> {
    let case = |what, archive, says| Case { what, archive, reason: corrupt(says), says };
    let content = text(1, 5_000);
    let zlib = pack::zlib_level(&content, 0);
    vec![
        case(
            "zlib, truncated",
            tes4(104, PACKED, bad().stream(&zlib[..1_007])),
            "the zlib stream ends after 1000 of 5000 bytes",
        ),
        case(
            "zlib, shorter than declared",
            tes4(103, PACKED, bad().declared(5_678)),
            "the zlib stream ends after 5000 of 5678 bytes",
        ),
        case(
            "no zlib",
            tes4(104, PACKED, bad().stream(&b"\x00\x11\x22 and more"[..])),
            "not a zlib stream (first bytes 00 11 22 20)",
        ),
        case(
            "zlib chunk, truncated",
            ba2(0, Chunk::packed(zlib[..1_007].to_vec(), 5_000)),
            "the zlib stream ends after 1000 of 5000 bytes",
        ),
        case(
            "empty stream of a file that is not",
            tes4(104, PACKED, bad().stream(b"")),
            "its unpacked size of 5000 bytes is more than its data can contain, or more than bsafs supports",
        ),
    ]
}

#[test]
fn each_bad_entry_gives_its_reason_and_others_stay_readable() {
    for Case { what, archive, reason, says } in
        [beyond(), sizes(), packed_lengths(), prefixes(), streams()].into_iter().flatten()
    {
        let opened = Opened::one(&archive);
        let id = opened.id("f/bad.txt");
        assert!(
            opened.store.file(id).size_or_estimate() > 0,
            "{what}: a bad file has size 0 like a valid empty one"
        );
        let reason = if says.starts_with("its unpacked size of 5000 bytes ") {
            Reason::UnpackedSize(5000)
        } else {
            reason
        };
        // A part, the whole file, a copy and a check all give the same fault.
        let error = opened.read("f/bad.txt", 0, 10).expect_err(what);
        assert_eq!(error.reason, reason, "{what}");
        assert_eq!(error.reason.to_string(), says, "{what}");
        assert_eq!(error.to_string(), format!("{says} (data at offset {})", error.at), "{what}");
        assert_eq!((error.entry, error.is_new), (id, true), "{what}");
        for (offset, len) in [(0, 1), (0, LONGEST_READ)] {
            let again = opened.read("f/bad.txt", offset, len).expect_err(what);
            assert_eq!(
                (again.reason, again.is_new),
                (reason.clone(), false),
                "{what}: the fault was reported twice"
            );
        }
        let copied = opened.store.file(id).copy_to(&mut Vec::new()).expect_err(what);
        assert!(copied.to_string().starts_with(says), "{what}: {copied}");
        assert_eq!(opened.store.file(id).check().expect_err(what).reason, reason, "{what}");
        assert_eq!(opened.store.cached_bytes().0, 0, "{what}: an error was cached");
        assert_eq!(opened.whole("f/good.txt").unwrap(), b"as it should be", "{what}");
    }
}

/// Archives whose `f/bad.txt` has a wrong checksum: its name in errors, the archive, the content.
fn suspects() -> [(&'static str, Vec<u8>, Vec<u8>); 4] {
    let (short, long) = (text(1, 5_000), text(1, 300_000));
    let zlib = |content: &[u8]| pack::with_wrong_checksum(pack::zlib(content));
    let frame = pack::with_wrong_checksum(pack::lz4_frame(&short));
    let long_bad = Tes4File::new("bad.txt", &long[..]).stream(zlib(&long));
    [
        ("zlib stream: its Adler-32", tes4(104, PACKED, bad().stream(zlib(&short))), short.clone()),
        ("zlib stream: its Adler-32", ba2(0, Chunk::packed(zlib(&short), short.len())), short.clone()),
        ("zlib stream: its Adler-32", tes4(104, PACKED, long_bad), long),
        ("LZ4 frame: its content checksum", tes4(105, PACKED, bad().stream(frame)), short),
    ]
}

/// Whether an error names this checksum as wrong, such as `zlib stream: its Adler-32`.
fn names_checksum(reason: &Reason, what: &str) -> bool {
    let (stream, checksum) = what.split_once(": ").unwrap();
    let begins = format!("the {stream} is damaged: {checksum} is ");
    matches!(reason, Reason::Decode(DecodeError::Suspect(it)) if it.starts_with(&begins))
}

#[test]
fn a_wrong_checksum_is_reported_once() {
    for (what, archive, content) in suspects() {
        let opened = Opened::one(&archive);
        let id = opened.id("f/bad.txt");
        for is_new in [true, false] {
            let error = opened.whole("f/bad.txt").unwrap_err();
            assert!(names_checksum(&error.reason, what), "{error}");
            assert_eq!(error.is_new, is_new, "{error}");
        }
        let error = opened.read("f/bad.txt", content.len() as u64 / 2, 10).unwrap_err();
        assert!(names_checksum(&error.reason, what), "{error}");
        assert!(opened.store.file(id).copy_to(&mut Vec::new()).is_err());
        assert!(names_checksum(&opened.store.file(id).check().unwrap_err().reason, what));
        assert_eq!(opened.store.cached_bytes().0, 0, "{what}: an error was cached");
        assert!(opened.store.file(id).take_salvaged().is_none());
        assert_eq!(opened.whole("f/good.txt").unwrap(), b"as it should be", "{what}");
    }
}

#[test]
fn salvage_serves_a_file_with_a_wrong_checksum_and_reports_it_once() {
    for (what, archive, content) in suspects() {
        let mut opened = Opened::one(&archive);
        opened.store = opened.store.with_salvage(true);
        let id = opened.id("f/bad.txt");
        assert!(opened.whole("f/bad.txt").unwrap() == content, "{what}");
        let half = content.len() / 2;
        assert!(opened.read("f/bad.txt", half as u64, 10).unwrap() == content[half..half + 10], "{what}");
        let mut copied = Vec::new();
        assert_eq!(opened.store.file(id).copy_to(&mut copied).unwrap(), content.len() as u64);
        assert!(copied == content, "{what}");
        let fault = opened.store.file(id).take_salvaged().expect(what);
        assert!(fault.entry == id && names_checksum(&fault.reason, what), "{fault}");
        assert!(opened.whole("f/bad.txt").is_ok());
        assert!(opened.store.file(id).take_salvaged().is_none(), "{what}: the fault was reported twice");
        assert_eq!(opened.store.faults(), 0);
    }
}

#[test]
fn salvage_does_not_invent_missing_bytes() {
    for Case { what, archive, reason, .. } in
        [beyond(), sizes(), packed_lengths(), prefixes(), streams()].into_iter().flatten()
    {
        let mut opened = Opened::one(&archive);
        opened.store = opened.store.with_salvage(true);
        let error = opened.whole("f/bad.txt").expect_err(what);
        assert!(
            error.reason == reason || matches!(error.reason, Reason::UnpackedSize(5000)),
            "{what}: {error}"
        );
        assert!(opened.store.file(error.entry).take_salvaged().is_none(), "{what}");
    }
}

#[test]
fn the_existing_bytes_of_a_truncated_stored_file_stay_readable() {
    let archive = tes4(104, 0, bad().record_size(0x0100_0000));
    let opened = Opened::one(&archive);
    assert_eq!(opened.store.file(opened.id("f/bad.txt")).size_or_estimate(), 0x0100_0000);
    assert!(opened.read("f/bad.txt", 4_000, 1_000).unwrap() == text(1, 5_000)[4_000..]);
    let end = archive.len() as u64;
    for offset in [end, 0x00FF_FFFF] {
        assert_eq!(opened.read("f/bad.txt", offset, 1).unwrap_err().reason, Reason::BeyondEnd, "{offset}");
    }
    assert_eq!(opened.store.file(opened.id("f/bad.txt")).check().unwrap_err().reason, Reason::BeyondEnd);
}

#[test]
fn an_extent_above_the_limit_is_refused() {
    let archive = ba2(0, Chunk::zlib(vec![0; 2 << 20]));
    let limits = Limits { extent: 1 << 20, ..Limits::default() };
    let opened = Opened::new(&[&archive], 64 << 20, limits);
    let error = opened.read("0/f/bad.txt", 0, 10).unwrap_err();
    assert_eq!(error.reason, Reason::UnpackedSize(2 << 20));
    assert_eq!((opened.store.decoded_bytes(), opened.store.cached_bytes().0), (0, 0));
}

#[test]
fn a_refused_size_evicts_nothing() {
    let content = text(1, 100_000);
    let archive = Tes4::new(104)
        .flags(FOLDER_NAMES | FILE_NAMES | PACKED)
        .add("f", bad().stream(noise(1, 100)).declared(1 << 30))
        .file("f", "good.txt", &content[..])
        .build();
    let opened = Opened::one(&archive);
    assert!(opened.read("f/good.txt", 50_000, 10).unwrap() == content[50_000..50_010]);
    assert_eq!(opened.store.cached_bytes().0, 100_000);
    assert!(opened.read("f/bad.txt", 500_000, 10).is_err());
    assert_eq!(opened.store.cached_bytes().0, 100_000, "a false size emptied the cache");
    assert!(opened.read("f/good.txt", 10, 10).is_ok());
    assert_eq!(opened.store.decoded_bytes(), 100_000);
}

#[test]
fn a_bad_extent_leaves_the_other_extents_of_its_file_readable() {
    let (one, three) = (text(1, 10_000), text(3, 10_000));
    let bad = Chunk::packed(vec![0x78, 0x9c, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7], 10_000);
    let file = Ba2File::general("a").chunk(Chunk::zlib(&one)).chunk(bad).chunk(Chunk::zlib(&three));
    let opened = Opened::one(&Ba2::general(1).add(file).build());
    assert_eq!(opened.store.file(opened.id("a")).size_or_estimate(), 30_000);
    assert!(opened.read("a", 0, 10_000).unwrap() == one);
    assert!(opened.read("a", 20_000, 10_000).unwrap() == three);
    let error = opened.read("a", 9_999, 2).unwrap_err();
    assert_eq!(
        error.reason,
        corrupt("the zlib stream is damaged after 0 of 10000 bytes: invalid block type")
    );
    assert!(!opened.read("a", 15_000, 10).unwrap_err().is_new);
}
