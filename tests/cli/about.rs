//! `bsafs info` and `bsafs verify`: what an archive is, and whether it is damaged.

use serde_json::{Value, json};

use super::{with_a_bad_file, with_a_wrong_checksum};
use crate::mounted::TestDir;
use crate::support::tes4::{FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Ba2, Tes3, Tes4, samples};

#[test]
fn info_prints_format_flags_counts_and_codecs() {
    let dir = TestDir::new();
    let archive = with_a_bad_file();
    dir.archive("a.bsa", &archive);
    let text = dir.run(["info", "a.bsa"]).success();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    assert_eq!(lines[0], "a.bsa");
    let line = |label: &str| lines.iter().find_map(|line| line.strip_prefix(label)).map(str::trim);
    assert_eq!(line("format"), Some("TES4, version 104 (Fallout 3, Fallout: New Vegas, Skyrim)"));
    assert_eq!(line("flags"), Some("0x7: folder names, file names, compressed by default"));
    assert_eq!(line("holds"), Some("4 files in 3 folders"));
    assert_eq!(line("codecs"), Some("zlib: 4"));
    assert!(line("odd").is_some_and(|it| it.starts_with("2 files with sounds or texts are packed")));
}

#[test]
fn info_json_prints_one_object_per_archive() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &Tes3::new().file("x\\y.txt", b"12345").build());
    let textures = samples().iter().find(|sample| sample.name == "dx10 v7.ba2").unwrap();
    dir.sample(textures);
    let text = dir.run(["info", "--json", "a.bsa", &textures.name]).success();
    let summaries: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(summaries.len(), 2);
    assert_eq!(
        (&summaries[0]["format"], &summaries[0]["files"], &summaries[0]["folders"]),
        (&"TES3".into(), &1.into(), &1.into())
    );
    assert_eq!((&summaries[0]["bytes"], &summaries[0]["codecs"]["uncompressed"]), (&5.into(), &1.into()));
    assert_eq!(
        (&summaries[1]["format"], &summaries[1]["version"], &summaries[1]["kind"]),
        (&"BA2".into(), &7.into(), &"DX10".into())
    );
    let bytes: usize = textures.files.iter().map(|(_, content)| content.len()).sum();
    assert_eq!(
        (&summaries[1]["bytes"], &summaries[1]["files"]),
        (&bytes.into(), &textures.files.len().into())
    );
    assert_eq!(summaries[1]["archive_bytes"], textures.bytes.len());
}

#[test]
fn info_prints_what_is_odd() {
    let dir = TestDir::new();
    dir.archive("odd.ba2", &Ba2::general(1).file("a\\b.txt", b"b").nameless().build());
    let what = "the archive stores no names: its files are listed by hash unless --names supplies their \
                paths";
    let text = dir.run(["info", "odd.ba2"]).success();
    assert!(text.contains(" 1 file in 0 folders\n") && text.contains(" 1 B unpacked, "), "{text}");
    let notes: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("odd ")).collect();
    assert_eq!(notes.iter().map(|line| line.trim()).collect::<Vec<_>>(), [format!("{what} (offset 16)")]);
    let json = dir.run(["info", "--json", "odd.ba2"]).success();
    let summaries: Value = serde_json::from_str(json.trim_end()).unwrap();
    let note = json!({"code": "archive-nameless", "subject": "odd.ba2", "text": what, "offset": 16});
    assert_eq!(summaries["notes"], json!([note]));
}

#[test]
fn the_error_for_another_file_type_names_that_type() {
    let dir = TestDir::new();
    for (name, bytes, printed) in [
        ("a.zip", &b"PK\x03\x04aaaaaaaaaaaaaaaaaaaaaaaa"[..], "a zip file"),
        ("a.7z", b"7z\xBC\xAF\x27\x1Caaaaaaaaaaaaaaaaaaaaaa", "7-zip"),
        ("a.rar", b"Rar!\x1A\x07\x01\0aaaaaaaaaaaaaaaaaaaaaaaa", "rar"),
        ("a.esp", b"TES4\x10\0\0\0aaaaaaaaaaaaaaaaaaaaaaaaaaaa", "plugin"),
    ] {
        dir.archive(name, bytes);
        for command in ["info", "verify", "list"] {
            let finished = dir.run([command, name]);
            assert_eq!((finished.code, finished.out.as_str()), (65, ""), "{finished:?}");
            let begins = format!("bsafs: {name}: unsupported archive: not a BSA or BA2; it looks like ");
            assert!(finished.err.starts_with(&begins), "{finished:?}");
            assert!(finished.err.to_lowercase().contains(printed), "{finished:?}");
        }
    }
}

#[test]
fn verify_finds_no_fault_in_any_sample() {
    let dir = TestDir::new();
    let names: Vec<String> = samples()
        .iter()
        .map(|sample| {
            dir.sample(sample);
            sample.name.clone()
        })
        .collect();
    let text = dir.run(std::iter::once("verify").chain(names.iter().map(String::as_str))).success();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("odd: ")).collect();
    assert_eq!(lines.len(), names.len(), "{text}");
    for (line, it) in lines.iter().zip(samples()) {
        let verdict = format!("{}: {} files, nothing wrong found", it.name, it.files.len());
        assert!(line.starts_with(&verdict), "{line}");
    }
}

#[test]
fn verify_names_a_bad_file_and_exits_with_1() {
    let dir = TestDir::new();
    dir.archive("bad.bsa", &with_a_bad_file());
    dir.archive("good.bsa", &Tes3::new().file("x.txt", b"x").build());
    let finished = dir.run(["verify", "bad.bsa", "good.bsa"]);
    assert_eq!((finished.code, finished.err.as_str()), (1, ""));
    let lines: Vec<&str> = finished.out.lines().collect();
    assert!(lines[0].starts_with("bad: sound/bad.wav: "), "{finished:?}");
    assert!(lines[1].starts_with("odd: bad.bsa: 2 files with sounds or texts are packed; "), "{finished:?}");
    assert_eq!(
        lines[2..],
        ["bad.bsa: 4 files, 1 bad", "good.bsa: 1 file, nothing wrong found; 1 has no checksum"]
    );

    let finished = dir.run(["verify", "--json", "bad.bsa", "good.bsa"]);
    assert_eq!((finished.code, finished.err.as_str()), (1, ""));
    let found: Vec<Value> = finished.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&found[0]["files"], &found[0]["bad"][0]["path"]), (&4.into(), &"sound/bad.wav".into()));
    assert_eq!(found[0]["bad"].as_array().unwrap().len(), 1);
    assert_eq!((&found[1]["archive"], &found[1]["bad"]), (&"good.bsa".into(), &Value::Array(vec![])));
}

#[test]
fn verify_reports_a_wrong_checksum_as_bad_and_exits_with_1() {
    let dir = TestDir::new();
    let (archive, what, _) = with_a_wrong_checksum();
    dir.archive("a.bsa", &archive);
    let finished = dir.run(["verify", "a.bsa"]);
    assert_eq!((finished.code, finished.err.as_str()), (1, ""));
    let lines: Vec<&str> = finished.out.lines().collect();
    assert!(lines[0].starts_with(&format!("bad: sound/wrong.wav: {what}")), "{finished:?}");
    assert!(lines[1].starts_with("odd: a.bsa: 2 files with sounds or texts are packed; "), "{finished:?}");
    assert_eq!(lines[2..], ["a.bsa: 2 files, 1 bad"]);
}

#[test]
fn verify_reports_a_missing_checksum_as_odd_but_not_bad() {
    let dir = TestDir::new();
    let content = b"the bytes are whole".repeat(50);
    let stream = crate::support::pack::without_adler(crate::support::pack::zlib(&content));
    let file = crate::support::Tes4File::new("odd.txt", &content[..]).stream(stream);
    let archive = Tes4::new(104).flags(FOLDER_NAMES | FILE_NAMES | PACKED).add("a", file);
    dir.archive("odd.bsa", &archive.build());
    let text = dir.run(["verify", "odd.bsa"]).success();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("odd: a/odd.txt: "), "{text}");
    assert_eq!(lines[1..], ["odd.bsa: 1 file, nothing wrong found; 1 has no checksum"]);
}

#[test]
fn verify_exits_with_the_error_code_if_an_archive_cannot_be_opened() {
    let dir = TestDir::new();
    dir.archive("cut.ba2", &Ba2::general(1).file("a\\b.txt", b"b").build()[..30]);
    let finished = dir.run(["verify", "cut.ba2"]);
    assert_eq!((finished.code, finished.out.as_str()), (65, ""));
    assert!(finished.err.starts_with("bsafs: cut.ba2: damaged archive: "), "{finished:?}");
    assert_eq!(dir.run(["verify", "no-such.ba2"]).code, 66);
}
