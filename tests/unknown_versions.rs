//! Unknown versions and kinds: refused with the reason, or with `--force` parsed by the nearest layout.

use bsafs::format::{Archive, Limits, Options, ParseError, parse, parse_with};

use crate::mounted::{TestDir, run};
use crate::support::{Ba2, Ba2File, Chunk, Tes4, Texture};

const FORCE: Options =
    Options { limits: Limits { entries: 100, extent: 1 << 20, packed: 1 << 20, notes: 8 }, force: true };

fn forced(bytes: &[u8]) -> Result<Archive<'_>, ParseError> {
    parse_with(bytes, &FORCE)
}

/// Overwrites the bytes of an archive from the offset `at` on with `bytes`.
fn patched(mut archive: Vec<u8>, at: usize, bytes: &[u8]) -> Vec<u8> {
    archive[at..at + bytes.len()].copy_from_slice(bytes);
    archive
}

#[test]
fn force_reads_a_bsa_of_an_unknown_version_as_the_nearest() {
    for (built, version) in [(103, 102_u32), (103, 1), (105, 106), (105, u32::MAX)] {
        let plain = Tes4::new(built).file("a", "b.txt", "content").build();
        let bytes = patched(plain.clone(), 4, &version.to_le_bytes());
        let refused = parse(&bytes, &Limits::default()).unwrap_err().to_string();
        assert_eq!(
            refused,
            format!(
                "unsupported archive: BSA version {version}; the known versions are 103, 104 and 105 \
                 (at offset 4)"
            )
        );
        let read = forced(&bytes).unwrap();
        assert_eq!((read.about.version, read.about.games), (version, "no known game"));
        assert!(read.extents().eq(parse(&plain, &Limits::default()).unwrap().extents()));
        assert!(
            read.notes[0].text.ends_with(&format!("is not known; --force reads it as version {built}")),
            "{:?}",
            read.notes
        );
        assert!(forced(&plain).unwrap().notes.is_empty(), "a note says that a known version was forced");
    }
}

#[test]
fn force_reads_an_unknown_ba2_by_the_layout_that_fits() {
    let general = |version| Ba2::general(version).file("a\\b.txt", "content").build();
    let texture = |version| {
        let file = Ba2File::texture("c.dds", Texture::new(71, 4, 4, 1)).chunk(Chunk::stored(vec![1; 8]));
        Ba2::textures(version).add(file).build()
    };
    for plain in [general(1), general(2), general(3), texture(1), texture(3)] {
        let known = parse(&plain, &Limits::default()).unwrap();
        for (at, bytes) in [(4, &99_u32.to_le_bytes()[..]), (4, &5_u32.to_le_bytes()), (8, b"WXYZ")] {
            let bytes = patched(plain.clone(), at, bytes);
            assert!(parse(&bytes, &Limits::default()).unwrap_err().to_string().starts_with("unsupported"));
            let read = forced(&bytes).unwrap();
            assert!(read.extents().eq(known.extents()));
            assert_eq!(
                (read.entries().next().map(|it| it.name), read.about.kind),
                (known.entries().next().map(|it| it.name), known.about.kind)
            );
            assert!(
                read.notes[0].text.contains(" is not known; --force reads it as version "),
                "{:?}",
                read.notes
            );
        }
        for len in 0..plain.len() {
            // A cut anywhere gives tables or an error, and no panic.
            let _ = forced(&patched(plain.clone(), 4, &[9; 8])[..len]);
        }
    }
}

#[test]
fn info_says_that_force_was_used_and_omits_a_missing_version() {
    let dir = TestDir::new();
    let info = |bytes: Vec<u8>, force: bool| {
        dir.archive("archive", &bytes);
        let finished = run(dir.bsafs(["info", "archive"]).args(force.then_some("--force")));
        (finished.code, finished.out)
    };
    let unknown = patched(Tes4::new(105).file("a", "b", "x").build(), 4, &[110]);
    assert_eq!(info(unknown.clone(), false), (65, String::new()));
    for command in ["info", "list", "names", "verify"] {
        let printed = dir.run([command, "archive"]).err;
        assert!(
            printed.ends_with("; --force reads it by the nearest known layout\n"),
            "{command}: {printed}"
        );
    }
    let (exit, text) = info(unknown, true);
    let note = "odd            BSA version 110 is not known; --force reads it as version 105";
    assert!(exit == 0 && text.contains(note), "{text}");
    use crate::support::legacy::{Kind, Legacy};
    let (_, text) = info(Legacy::new(Kind::Arena).file("A.TXT", "x").build(), false);
    assert!(text.contains("format         Arena (The Elder Scrolls: Arena)\n"), "{text}");
    assert!(text.contains("platform       PC (DOS)\n"), "{text}");
}
