//! Encodings are found by the labels that users type, and by the names of an archive.

use bsafs::format::encoding::{Encoding, EncodingReason, NamesEncoding};

use super::parse;
use crate::support::tes4::{EMBEDDED, FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Ba2, Ba2File, Chunk, Tes3, Tes4, Tes4File, Texture, hash};

#[test]
fn encodings_are_found_by_common_labels() {
    for (label, name) in [
        ("1250", "windows-1250"),
        ("cp1251", "windows-1251"),
        (" Windows-1252 ", "windows-1252"),
        ("CP932", "Shift_JIS"),
        ("936", "GBK"),
        ("949", "EUC-KR"),
        ("950", "Big5"),
        ("874", "windows-874"),
        ("cp866", "IBM866"),
        ("65001", "UTF-8"),
        ("utf8", "UTF-8"),
    ] {
        let encoding = Encoding::from_label(label);
        assert_eq!(encoding.map(Encoding::name), Some(name), "{label}");
        assert_eq!(Encoding::from_label(name), encoding);
    }
    for label in ["", "cp", "1337", "klingon", "utf-16", "utf-16be", "iso-2022-jp", "replacement"] {
        assert_eq!(Encoding::from_label(label), None, "{label}");
    }
    assert_eq!(Encoding::default().name(), "windows-1252");
}

/// The encoding of the names of an archive, and why.
fn encoding_of(bytes: &[u8]) -> (&'static str, EncodingReason) {
    let NamesEncoding { encoding, why } = NamesEncoding::of(&parse(bytes), None);
    (encoding.name(), why)
}

/// Archives of every format with these files in the folder `folder`.
fn archives(folder: &[u8], files: &[&[u8]]) -> Vec<Vec<u8>> {
    let path = |file: &&[u8]| [folder, b"\\", file].concat();
    let tes4 = |version, flags| {
        files.iter().fold(Tes4::new(version).flags(flags), |it, file| it.file(folder, file, "x")).build()
    };
    let ba2 = |archive: Ba2| files.iter().fold(archive, |it, file| it.file(path(file), "x")).build();
    let textures = files.iter().fold(Ba2::textures(3), |archive, file| {
        archive.add(Ba2File::texture(path(file), Texture::new(71, 4, 4, 1)).chunk(Chunk::stored([0; 8])))
    });
    vec![
        files.iter().fold(Tes3::new(), |archive, file| archive.file(path(file), "x")).build(),
        tes4(103, FOLDER_NAMES | FILE_NAMES),
        tes4(104, FOLDER_NAMES | FILE_NAMES | PACKED),
        tes4(105, FOLDER_NAMES | FILE_NAMES),
        tes4(105, EMBEDDED),
        ba2(Ba2::general(1)),
        ba2(Ba2::general(8)),
        textures.build(),
    ]
}

#[test]
fn names_that_are_all_valid_utf_8_are_utf_8() {
    for name in ["копия.dds", "naïve.dds", "テスト.dds", "zażółć.dds"] {
        for bytes in archives(b"textures", &[b"plain.dds", name.as_bytes()]) {
            assert_eq!(encoding_of(&bytes), ("UTF-8", EncodingReason::ValidUtf8), "{name}");
        }
        for bytes in archives(name.as_bytes(), &[b"plain.dds"]) {
            assert_eq!(encoding_of(&bytes), ("UTF-8", EncodingReason::ValidUtf8), "a folder {name}");
        }
        // One name in a code page shows that the others are in it, too.
        for bytes in archives(b"textures", &[b"plain.dds", name.as_bytes(), b"Mar\xEDa_M.dds"]) {
            assert_eq!(encoding_of(&bytes), ("windows-1252", EncodingReason::NotUtf8), "{name}");
        }
    }
}

#[test]
fn names_in_code_pages_are_not_utf_8() {
    for label in ["1250", "1251", "1252", "932", "936", "949", "950", "874"] {
        let encoding = Encoding::from_label(label).unwrap();
        let text = match label {
            "1250" => "zażółć",
            "1251" => "копия",
            "1252" => "María",
            "932" => "テスト",
            "936" => "你好",
            "949" => "한국어",
            "950" => "測試",
            _ => "ทดสอบ",
        };
        let name = [&encoding.encode(text.as_bytes()).unwrap()[..], b".dds"].concat();
        for bytes in archives(b"textures", &[&name]) {
            assert_eq!(encoding_of(&bytes), ("windows-1252", EncodingReason::NotUtf8), "{label}");
            let stated = NamesEncoding::of(&parse(&bytes), Some(encoding));
            assert_eq!(
                stated,
                NamesEncoding { encoding, why: EncodingReason::Stated },
                "a stated code page must win"
            );
        }
    }
}

#[test]
fn ascii_names_are_the_same_in_every_encoding() {
    for bytes in archives(b"textures", &[b"a.dds", b"b.dds"]) {
        assert_eq!(encoding_of(&bytes), ("windows-1252", EncodingReason::Ascii));
    }
    assert_eq!(
        encoding_of(&Ba2::general(1).nameless().file("é", "x").build()),
        ("windows-1252", EncodingReason::Ascii)
    );
}

#[test]
fn a_hash_that_fits_only_the_code_page_outranks_valid_utf_8() {
    // The bytes are "Ã©" in Windows-1252 and "é" in UTF-8. The packer lowered the capital before it hashed.
    let lowered = hash::tes4_file(b"\xE3\xA9.dds");
    let file = Tes4File::new(b"\xC3\xA9.dds", "x").with_hash(lowered);
    let bytes = Tes4::new(105).add("textures", file).build();
    assert_eq!(encoding_of(&bytes), ("windows-1252", EncodingReason::Hash));
    let file = Ba2File::general(b"a\\\xC3\xA9.dds").with_hash(hash::fo4(b"a\\\xE3\xA9.dds"));
    let bytes = Ba2::general(1).add(file.chunk(Chunk::stored("x"))).build();
    assert_eq!(encoding_of(&bytes), ("windows-1252", EncodingReason::Hash));
    // A hash of the bytes as they are fits both.
    let bytes = Tes4::new(105).file("textures", b"\xC3\xA9.dds", "x").build();
    assert_eq!(encoding_of(&bytes), ("UTF-8", EncodingReason::ValidUtf8));
}
