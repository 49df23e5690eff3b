//! File records and the extents that they describe: FORMATS.md sections 1.2, 1.4 and 1.6.

use bsafs::archive_file::ArchiveFile;
use bsafs::format::{Codec, Extent, ExtentPrefix, Limits};

use super::{NAMES, notes, parse};
use crate::support::tes4::{EMBEDDED, PACKED, RUN_TIME_MARK, XMEM};
use crate::support::{Tes4, Tes4File, write_sparse};

const TOGGLE: u32 = 1 << 30;

/// The extent of a file whose record has `size`.
fn extent_of(version: u32, flags: u32, size: u32) -> Extent {
    let file = Tes4File::new("a.txt", b"").block([b'x'; 300]).record_size(size);
    let bytes = Tes4::new(version).flags(NAMES | flags).add("f", file).build();
    parse(&bytes).extents().next().unwrap()
}

#[test]
fn bit_30_inverts_the_default_compression_of_every_version() {
    use Codec::{Lz4Frame, Stored, Xmem, Zlib};
    let cases = [
        (103, 0, 0, Stored),
        (103, 0, TOGGLE, Zlib),
        (103, PACKED, 0, Zlib),
        (103, PACKED, TOGGLE, Stored),
        (103, PACKED | XMEM | EMBEDDED, 0, Zlib),
        (104, 0, 0, Stored),
        (104, 0, TOGGLE, Zlib),
        (104, PACKED, 0, Zlib),
        (104, PACKED, TOGGLE, Stored),
        (104, XMEM, 0, Stored),
        (104, XMEM, TOGGLE, Xmem),
        (104, XMEM | PACKED, 0, Xmem),
        (104, XMEM | PACKED, TOGGLE, Stored),
        (105, 0, 0, Stored),
        (105, 0, TOGGLE, Lz4Frame),
        (105, PACKED, 0, Lz4Frame),
        (105, PACKED, TOGGLE, Stored),
        (105, PACKED | XMEM, 0, Lz4Frame),
    ];
    for (version, flags, toggle, codec) in cases {
        for mark in [0, RUN_TIME_MARK] {
            let extent = extent_of(version, flags, 300 | toggle | mark);
            let packed = codec != Stored;
            let named = version > 103 && flags & EMBEDDED != 0;
            let case = format!("{version}: flags {flags:x}, toggle {toggle:x}, mark {mark:x}");
            assert_eq!((extent.packed, extent.codec), (300, codec), "{case}");
            assert_eq!(extent.prefix, ExtentPrefix { name: named, size: packed }, "{case}");
            assert_eq!(extent.size, if packed || named { None } else { Some(300) }, "{case}");
        }
    }
}

#[test]
fn names_are_embedded_only_since_version_104() {
    for (version, name) in [(103, false), (104, true), (105, true)] {
        let stored = extent_of(version, EMBEDDED, 300);
        assert_eq!(stored.prefix, ExtentPrefix { name, size: false }, "{version}");
        assert_eq!(stored.size, if name { None } else { Some(300) }, "{version}");
        let packed = extent_of(version, EMBEDDED | PACKED, 300);
        assert_eq!((packed.prefix, packed.size), (ExtentPrefix { name, size: true }, None), "{version}");
    }
}

#[test]
fn a_record_of_0_bytes_is_an_empty_file_with_any_flags() {
    for version in super::VERSIONS {
        for flags in [0, PACKED, EMBEDDED, PACKED | EMBEDDED | XMEM] {
            for bits in [0, TOGGLE, RUN_TIME_MARK, TOGGLE | RUN_TIME_MARK] {
                let extent = extent_of(version, flags, bits);
                assert_eq!((extent.packed, extent.size), (0, Some(0)), "{version}: {flags:x}, {bits:x}");
                assert_eq!((extent.codec, extent.prefix), (Codec::Stored, ExtentPrefix::NONE));
            }
        }
    }
}

#[test]
fn bit_30_in_every_record_makes_all_files_stored() {
    let archive = (0..4).fold(Tes4::new(103).flags(NAMES | PACKED | EMBEDDED), |archive, n| {
        archive.add("f", Tes4File::new(format!("{n}"), b"\x89PNG").toggle())
    });
    let bytes = archive.build();
    for extent in parse(&bytes).extents() {
        assert_eq!(super::bytes_of(&bytes, &extent), b"\x89PNG");
        assert_eq!((extent.size, extent.codec, extent.prefix), (Some(4), Codec::Stored, ExtentPrefix::NONE));
    }
}

#[test]
fn several_records_may_share_the_same_data() {
    let bytes = Tes4::new(105)
        .unsorted()
        .file("a", "1", b"data")
        .add("a", Tes4File::new("2", b"").shares(0))
        .add("b", Tes4File::new("3", b"").shares(0))
        .build();
    let extents: Vec<_> = parse(&bytes).extents().collect();
    assert_eq!((extents[0], extents[0]), (extents[1], extents[2]));
    assert_eq!(super::bytes_of(&bytes, &extents[2]), b"data");
}

#[test]
fn bit_31_of_an_offset_is_ignored_if_the_archive_is_too_short() {
    let file = Tes4File::new("a", b"data").offset_bits(RUN_TIME_MARK);
    let bytes = Tes4::new(104).add("f", file).file("f", "b", b"other").build();
    let archive = parse(&bytes);
    let [a, b] = archive.extents().collect::<Vec<_>>()[..] else { panic!() };
    assert_eq!((super::bytes_of(&bytes, &a), super::bytes_of(&bytes, &b)), (&b"data"[..], &b"other"[..]));
    assert_eq!(notes(&archive), []);
}

#[test]
fn bit_31_of_an_offset_is_kept_if_neither_offset_fits() {
    let bytes = Tes4::new(104).add("f", Tes4File::new("a", b"data").record_offset(0x8000_1000)).build();
    let archive = parse(&bytes);
    assert_eq!(archive.extents().next().unwrap().offset, 0x8000_1000);
    let note = "the archive seems cut off: the data of 1 file lies beyond its end; download or copy it again";
    assert_eq!(notes(&archive), [(bytes.len() as u64, note)]);
}

#[test]
fn bit_31_of_an_offset_counts_in_archives_over_2_gib() {
    // The archive ends with the last byte of `end`. `mark` has the same offset and one byte more,
    // so only the offset without bit 31 fits.
    let archive = Tes4::new(105)
        .unsorted()
        .file("f", "low", b"low")
        .add("f", Tes4File::new("high", b"high").at(0x8000_0200))
        .add("f", Tes4File::new("end", b"end").at(0x8000_0FFD))
        .add("f", Tes4File::new("mark", b"mark").record_offset(0x8000_0FFD));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.bsa");
    write_sparse(&path, &archive.build_parts()).unwrap();
    let source = ArchiveFile::open(&path).unwrap();
    assert_eq!(source.len(), 0x8000_1000);
    let offsets = source
        .with_bytes(|bytes| {
            let archive = bsafs::format::parse(bytes, &Limits::default()).unwrap();
            assert_eq!(notes(&archive), []);
            archive.extents().map(|extent| extent.offset).collect::<Vec<_>>()
        })
        .unwrap();
    assert_eq!(offsets[1..], [0x8000_0200, 0x8000_0FFD, 0x0FFD]);
    assert!(offsets[0] < 0x200);
}

#[test]
fn data_is_noted_from_the_first_byte_beyond_the_end() {
    let good = Tes4::new(104).file("f", "a", b"data").build();
    assert_eq!(notes(&parse(&good)), []);
    let note = "the archive seems cut off: the data of 1 file lies beyond its end; download or copy it again";
    let short = &good[..good.len() - 1];
    assert_eq!(notes(&parse(short)), [(short.len() as u64, note)]);
}

#[test]
fn a_packed_length_that_is_a_few_bytes_too_large_does_not_mean_that_the_archive_is_cut_off() {
    let overstated = |files| {
        format!(
            "the stated length of {files} passes the end of the archive by at most 4 bytes; `bsafs verify` \
             says whether the data is whole"
        )
    };
    let cut = |files| {
        format!(
            "the archive seems cut off: the data of {files} lies beyond its end; download or copy it again"
        )
    };
    for version in [103, 104, 105] {
        for flags in [0, PACKED, PACKED | EMBEDDED] {
            let good = Tes4::new(version).flags(NAMES | flags).file("f", "a", b"data").build();
            let packed = parse(&good).extents().next().unwrap().packed;
            for more in [0, 1, 4, 5, 1 << 20] {
                let file = Tes4File::new("a", b"data").record_size(packed + more);
                let bytes = Tes4::new(version).flags(NAMES | flags).add("f", file).build();
                let note = match more {
                    0 => None,
                    1..=4 if flags & PACKED != 0 => Some(overstated("1 file")),
                    _ => Some(cut("1 file")),
                };
                let expected: Vec<_> = note.iter().map(|note| (good.len() as u64, note.as_str())).collect();
                assert_eq!(notes(&parse(&bytes)), expected, "{version}, {flags:x}: {more} more");
            }
        }
        // What follows a packed file is missing, too.
        let files = |name| Tes4File::new(name, b"data");
        let two =
            Tes4::new(version).flags(NAMES | PACKED).unsorted().add("f", files("a")).add("f", files("b"));
        let good = two.build();
        let packed = parse(&good).extents().last().unwrap().packed;
        let short = &good[..good.len() - packed as usize - 2];
        assert_eq!(notes(&parse(short)), [(short.len() as u64, cut("2 files").as_str())], "{version}");
        let short = &good[..good.len() - 2];
        assert_eq!(notes(&parse(short)), [(short.len() as u64, overstated("1 file").as_str())], "{version}");
    }
}

#[test]
fn paths_in_front_of_stored_data_are_noted_if_no_flag_states_them() {
    let named =
        |name: &str| Tes4File::new(name, b"").block([&[7][..], b"f\\", name.as_bytes(), b"x"].concat());
    let note = "files whose data begins with their own path, which no flag states and which is left out: 2";
    for version in [104, 105] {
        let archive = Tes4::new(version).flags(NAMES).unsorted();
        let archive = archive.add("f", named("a.dds")).add("f", Tes4File::new("b.dds", b"plain"));
        let bytes = archive.add("f", named("c.dds")).build();
        let archive = parse(&bytes);
        assert_eq!(notes(&archive), [(12, note)], "{version}");
        let prefixes: Vec<bool> = archive.extents().map(|extent| extent.prefix.name).collect();
        assert_eq!(prefixes, [true, false, true], "{version}");
    }
}
