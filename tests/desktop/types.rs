//! MIME types of archives, as file managers find them.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use bsafs::format::FORMATS;

use super::has;
use crate::mounted::{TestDir, run};
use crate::support::samples;

/// The MIME type that GLib finds for a file, with the types of bsafs added to those of the machine.
fn content_type(dir: &TestDir, name: &str) -> String {
    let mut gio = Command::new("gio");
    gio.args(["info", "-a", "standard::content-type"]).arg(dir.path(name));
    let shown = run(gio.env("XDG_DATA_HOME", dir.path("data")).env("LC_ALL", "C.UTF-8")).success();
    let line = shown.lines().find_map(|line| line.trim().strip_prefix("standard::content-type: "));
    line.unwrap_or_else(|| panic!("{shown}")).to_owned()
}

#[test]
fn every_archive_type_is_found_by_name_and_most_by_content() {
    if !has("gio") || !has("update-mime-database") {
        return;
    }
    let dir = TestDir::new();
    let packages = dir.path("data/mime/packages");
    fs::create_dir_all(&packages).unwrap();
    fs::copy("scripts/share/mime/packages/org.bsafs.bsafs.xml", packages.join("bsafs.xml")).unwrap();
    let mut update = Command::new("update-mime-database");
    update.arg(dir.path("data/mime")).env("XDG_DATA_HOME", dir.path("data"));
    run(&mut update).success();

    let mut by_content = 0;
    for sample in samples() {
        let expected = if sample.name.ends_with(".ba2") {
            "application/x-bethesda-ba2"
        } else {
            "application/x-bethesda-bsa"
        };
        // Windows programs name archives in upper case.
        let capitals = sample.name.to_uppercase();
        for name in [&sample.name, &capitals] {
            dir.archive(name, &sample.bytes);
            assert_eq!(content_type(&dir, name), expected, "{name}");
        }
        if sample.bytes.starts_with(b"BSA\0") || sample.bytes.starts_with(b"BTDX") {
            dir.archive("backup", &sample.bytes);
            assert_eq!(content_type(&dir, "backup"), expected, "{} without its name", sample.name);
            by_content += 1;
        }
    }
    assert!(by_content > 30, "{by_content}");
    // Files of the compressor BSArc begin with similar bytes.
    for other in
        [&b"BSArc\0\0\0\0"[..], b"BSA\0\x6a\0\0\0\x24\0\0\0", b"BTDX\x01\0\0\0NONE", b"\0\x01\0\0\0\x12"]
    {
        dir.archive("other", other);
        assert!(!content_type(&dir, "other").contains("bethesda"), "{other:?}");
    }
}

/// The extension of each format must be declared to desktops. An extension that other kinds of
/// files use would take over those files.
#[test]
fn the_mime_types_have_the_extensions_of_the_formats() {
    let types = fs::read_to_string("scripts/share/mime/packages/org.bsafs.bsafs.xml").unwrap();
    let shown = fs::read_to_string("scripts/share/applications/org.bsafs.bsafs.desktop").unwrap();
    let keywords = fs::read_to_string("scripts/share/metainfo/org.bsafs.bsafs.metainfo.xml").unwrap();
    let known: BTreeSet<_> = FORMATS.iter().flat_map(|format| format.extensions).copied().collect();
    let mut declared = BTreeSet::new();
    for archive in types.split("<mime-type ").filter(|it| it.contains("Bethesda archive")) {
        let name = archive.split('"').nth(1).unwrap();
        assert!(shown.contains(&format!("{name};")), "the desktop entry does not list {name}");
        declared.extend(archive.split("pattern=\"*.").skip(1).filter_map(|glob| glob.split('"').next()));
    }
    assert_eq!(declared, known);
    for extension in known {
        assert!(keywords.contains(&format!("<keyword>{extension}</keyword>")), "no keyword {extension}");
    }
}
