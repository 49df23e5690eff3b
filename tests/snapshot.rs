//! Snapshots: texts in tests/data that the program's texts must equal.
//!
//! A change of wording then shows in the diff of its commit and is read by a reviewer.

use std::env;
use std::fs;
use std::path::PathBuf;

/// Fails unless each text equals the file of its name in tests/data. `BSAFS_UPDATE=1 cargo test
/// snapshot` writes the files.
pub(crate) fn assert_snapshots(texts: &[(&str, String)]) {
    let mut differences = Vec::new();
    for (name, text) in texts {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
        if env::var_os("BSAFS_UPDATE").is_some() {
            fs::write(&path, text).unwrap();
        }
        let snapshot = fs::read_to_string(&path).unwrap_or_default();
        if *text == snapshot {
            continue;
        }
        let equal = text.lines().zip(snapshot.lines()).take_while(|(now, then)| now == then).count();
        let line = |of: &str| of.lines().nth(equal).unwrap_or("the end").to_owned();
        differences.push(format!(
            "tests/data/{name}, line {}: now {:?}, in the snapshot {:?}",
            equal + 1,
            line(text),
            line(&snapshot)
        ));
    }
    let advice = "`BSAFS_UPDATE=1 cargo test snapshot` writes the snapshot again";
    assert!(differences.is_empty(), "{}\n{advice}", differences.join("\n"));
}
