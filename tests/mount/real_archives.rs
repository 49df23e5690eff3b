//! Tests that read archives of other tools through a mount, and compare the files with what two
//! other readers found.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::mounted::{TestDir, status};

/// The folder of the archives. They are not part of this repository, so it may not exist.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/archives")
}

/// A file of the manifest: its paths, its size in bytes, its SHA-256 in hex.
type Row<'a> = (Vec<String>, usize, &'a str);

/// Parses the manifest into the files of each archive.
fn manifest(text: &str) -> BTreeMap<&str, Vec<Row<'_>>> {
    let mut archives: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let [archive, path, size, digest] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line:?}");
        };
        // The manifest has one file without a name, as "HASH.txt (nameless; hash of
        // misc/example.txt)". Both paths lead to it.
        let paths = match path.split_once(" (nameless; hash of ") {
            Some((hash, path)) => vec![hash.to_owned(), path.trim_end_matches(')').to_owned()],
            None => vec![path.to_owned()],
        };
        archives.entry(archive).or_default().push((paths, size.parse().unwrap(), digest));
    }
    archives
}

#[test]
fn every_file_of_real_archives_matches_the_manifest() {
    if !folder().is_dir() {
        // Not `eprintln!`, because the test harness shows its output only if the test fails. One
        // write, because other tests print at the same time.
        let line = format!("real archives: SKIPPED, there is no {}\n", folder().display());
        return io::stderr().write_all(line.as_bytes()).unwrap();
    }
    let text = fs::read_to_string(folder().join("MANIFEST.tsv")).unwrap();
    let dir = TestDir::new();
    let mut compared = 0;
    for (archive, files) in manifest(&text) {
        let mount = dir.mount([folder().join(archive)]);
        assert_eq!(status(&mount.path)["files"], files.len(), "{archive}");
        for (paths, size, digest) in files {
            for path in paths {
                let content = mount.read(&path);
                let found: String =
                    Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
                assert_eq!((content.len(), found.as_str()), (size, digest), "{archive}: {path}");
                assert_eq!(fs::metadata(mount.join(&path)).unwrap().len(), size as u64, "{archive}: {path}");
            }
            compared += 1;
        }
        mount.umount(&dir);
    }
    assert_eq!(compared, text.lines().count() - 1);
}
