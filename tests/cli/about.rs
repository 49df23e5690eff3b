//! `bsafs info` and `bsafs verify`: what an archive is, and whether it is sound.

use serde_json::Value;

use super::with_a_bad_file;
use crate::mounted::TestDir;
use crate::support::tes4::{FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Ba2, Tes3, Tes4, samples};

#[test]
fn info_tells_format_flags_counts_and_codecs() {
    let place = TestDir::new();
    let archive = with_a_bad_file();
    place.archive("a.bsa", &archive);
    let text = place.run(["info", "a.bsa"]).sound();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    assert_eq!(lines[0], "a.bsa");
    let line = |label: &str| lines.iter().find_map(|line| line.strip_prefix(label)).map(str::trim);
    assert_eq!(line("format"), Some("TES4, version 104 (Fallout 3, Fallout: New Vegas, Skyrim)"));
    assert_eq!(line("flags"), Some("0x7: folder names, file names, compressed by default"));
    assert_eq!(line("holds"), Some("4 files in 3 folders"));
    assert_eq!(line("codecs"), Some("zlib: 4"));
    assert_eq!(line("peculiar"), None);
}

#[test]
fn info_in_json_is_one_object_for_each_archive() {
    let place = TestDir::new();
    place.archive("a.bsa", &Tes3::new().file("x\\y.txt", b"12345").build());
    let textures = samples().into_iter().find(|sample| sample.name == "dx10 v7.ba2").unwrap();
    place.sample(&textures);
    let text = place.run(["info", "--json", "a.bsa", &textures.name]).sound();
    let facts: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(facts.len(), 2);
    assert_eq!(
        (&facts[0]["format"], &facts[0]["files"], &facts[0]["folders"]),
        (&"TES3".into(), &1.into(), &1.into())
    );
    assert_eq!((&facts[0]["bytes"], &facts[0]["codecs"]["stored"]), (&5.into(), &1.into()));
    assert_eq!(
        (&facts[1]["format"], &facts[1]["version"], &facts[1]["kind"]),
        (&"BA2".into(), &7.into(), &"DX10".into())
    );
    let bytes: usize = textures.files.iter().map(|(_, content)| content.len()).sum();
    assert_eq!((&facts[1]["bytes"], &facts[1]["files"]), (&bytes.into(), &textures.files.len().into()));
    assert_eq!(facts[1]["archive_bytes"], textures.bytes.len());
}

#[test]
fn info_tells_what_is_peculiar() {
    let place = TestDir::new();
    place.archive("odd.ba2", &Ba2::general(1).file("a\\b.txt", b"b").nameless().build());
    let what = "it stores no names: its files are listed by hash (offset 16)";
    let text = place.run(["info", "odd.ba2"]).sound();
    assert!(text.contains(" 1 file in 0 folders\n") && text.contains(" 1 byte unpacked, "), "{text}");
    let told: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("peculiar ")).collect();
    assert_eq!(told.iter().map(|line| line.trim()).collect::<Vec<_>>(), [what]);
    let json = place.run(["info", "--json", "odd.ba2"]).sound();
    let facts: Value = serde_json::from_str(json.trim_end()).unwrap();
    assert_eq!(facts["peculiarities"], Value::from(vec![what]));
}

#[test]
fn what_is_no_archive_is_told_by_what_it_seems_to_be() {
    let place = TestDir::new();
    for (name, bytes, said) in [
        ("a.zip", &b"PK\x03\x04aaaaaaaaaaaaaaaaaaaaaaaa"[..], "a zip file"),
        ("a.7z", b"7z\xBC\xAF\x27\x1Caaaaaaaaaaaaaaaaaaaaaa", "7-zip"),
        ("a.rar", b"Rar!\x1A\x07\x01\0aaaaaaaaaaaaaaaaaaaaaaaa", "rar"),
        ("a.esp", b"TES4\x10\0\0\0aaaaaaaaaaaaaaaaaaaaaaaaaaaa", "plugin"),
    ] {
        place.archive(name, bytes);
        for command in ["info", "verify", "list"] {
            let finished = place.run([command, name]);
            assert_eq!((finished.code, finished.out.as_str()), (65, ""), "{finished:?}");
            let begins = format!("bsafs: {name}: unsupported archive: not a BSA or BA2; it looks like ");
            assert!(finished.err.starts_with(&begins), "{finished:?}");
            assert!(finished.err.to_lowercase().contains(said), "{finished:?}");
        }
    }
}

#[test]
fn every_sample_is_sound() {
    let place = TestDir::new();
    let names: Vec<String> = samples()
        .iter()
        .map(|sample| {
            place.sample(sample);
            sample.name.clone()
        })
        .collect();
    let text = place.run(std::iter::once("verify").chain(names.iter().map(String::as_str))).sound();
    let expected: Vec<String> =
        samples().iter().map(|it| format!("{}: {} files, all sound", it.name, it.files.len())).collect();
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn verify_names_the_bad_file_and_exits_with_1() {
    let place = TestDir::new();
    place.archive("bad.bsa", &with_a_bad_file());
    place.archive("good.bsa", &Tes3::new().file("x.txt", b"x").build());
    let finished = place.run(["verify", "bad.bsa", "good.bsa"]);
    assert_eq!((finished.code, finished.err.as_str()), (1, ""));
    let lines: Vec<&str> = finished.out.lines().collect();
    assert!(lines[0].starts_with("bad: sound/bad.wav: "), "{finished:?}");
    assert_eq!(lines[1..], ["bad.bsa: 4 files, 1 bad", "good.bsa: 1 file, all sound"]);

    let finished = place.run(["verify", "--json", "bad.bsa", "good.bsa"]);
    assert_eq!((finished.code, finished.err.as_str()), (1, ""));
    let found: Vec<Value> = finished.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&found[0]["files"], &found[0]["bad"][0]["path"]), (&4.into(), &"sound/bad.wav".into()));
    assert_eq!(found[0]["bad"].as_array().unwrap().len(), 1);
    assert_eq!((&found[1]["archive"], &found[1]["bad"]), (&"good.bsa".into(), &Value::Array(vec![])));
}

#[test]
fn verify_calls_a_file_odd_whose_bytes_are_whole_though_its_checksum_is_missing() {
    let place = TestDir::new();
    let content = b"the bytes are whole".repeat(50);
    let stream = crate::support::pack::without_adler(crate::support::pack::zlib(&content));
    let file = crate::support::Tes4File::new("odd.txt", &content[..]).stream(stream);
    let archive = Tes4::new(104).flags(FOLDER_NAMES | FILE_NAMES | PACKED).add("a", file);
    place.archive("odd.bsa", &archive.build());
    let text = place.run(["verify", "odd.bsa"]).sound();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("odd: a/odd.txt: "), "{text}");
    assert_eq!(lines[1..], ["odd.bsa: 1 file, all sound"]);
}

#[test]
fn verify_of_what_cannot_be_opened_exits_with_that_failure() {
    let place = TestDir::new();
    place.archive("cut.ba2", &Ba2::general(1).file("a\\b.txt", b"b").build()[..30]);
    let finished = place.run(["verify", "cut.ba2"]);
    assert_eq!((finished.code, finished.out.as_str()), (65, ""));
    assert!(finished.err.starts_with("bsafs: cut.ba2: damaged archive: "), "{finished:?}");
    assert_eq!(place.run(["verify", "no-such.ba2"]).code, 66);
}
