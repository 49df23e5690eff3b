//! Any text as a profile and values of `-o`. Accepted options must be safe to mount with, and
//! joining the values with commas must not change the result, as the manual says.
//!
//! An input is UTF-8: the profile, then values of `-o`, each after a NUL. If the profile is empty,
//! an archive is mounted without one.

#![allow(unreachable_pub, reason = "`pub` here means: for tests and fuzz targets")]

use std::path::Path;

use bsafs::cli::{Exit, PlannedMount, plan_mount};

/// Plans the mount of an input, with its profile in `folder`. Returns whether the input is accepted.
///
/// # Panics
/// If an invariant does not hold.
pub fn run(input: &[u8], folder: &Path) -> bool {
    let Ok(text) = std::str::from_utf8(input) else { return false };
    let mut values = text.split('\0');
    let profile = values.next().unwrap_or_default();
    let values: Vec<String> = values.map(str::to_owned).collect();
    let source = if profile.is_empty() { folder.join("archive.bsa") } else { folder.join("profile.toml") };
    if !profile.is_empty() {
        std::fs::write(&source, profile).unwrap();
    }
    let Some(planned) = plan(&source, &values) else { return false };
    check(&planned);

    let joined = values.join(",");
    // A backslash at the end of a value would escape the comma after it.
    if !values.iter().any(|value| value.ends_with('\\')) {
        let whole = plan(&source, &[joined]);
        assert_eq!(
            format!("{whole:?}"),
            format!("{:?}", Some(&planned)),
            "joined values have another effect"
        );
    }
    true
}

fn plan(source: &Path, values: &[String]) -> Option<PlannedMount> {
    // Only an own profile decides the mountpoint.
    let mountpoint = source.with_file_name("mountpoint");
    match plan_mount(&[source.to_path_buf(), mountpoint], values) {
        Ok(planned) => Some(planned),
        Err(failure) => {
            // `NoInput` is possible because a pattern may match nothing.
            // `NoPermission` because a profile may ask for fewer rights, as only an own one may.
            let is_known = matches!(failure.exit, Exit::Usage | Exit::NoInput | Exit::NoPermission);
            assert!(is_known, "{}", failure.what);
            assert!(!failure.what.is_empty());
            None
        }
    }
}

fn check(planned: &PlannedMount) {
    assert!(!planned.expanded.is_empty());
    assert!(planned.expanded.iter().chain(&planned.mountpoint).all(|path| path.is_absolute()), "{planned:?}");
    let owner = planned.presentation.owner;
    let bits = owner.file_mode | owner.folder_mode | owner.file_mask | owner.folder_mask;
    assert!(bits <= 0o777, "{owner:?}");
    let request = &planned.request;
    assert!(request.read_ahead.is_none_or(|kib| kib <= 1024), "{request:?}");
    for option in &request.kernel_options {
        // A comma in a value would start another option of the kernel.
        let number = option.strip_prefix("max_read=").and_then(|number| number.parse::<u32>().ok());
        assert!(number.is_some_and(|number| *option == format!("max_read={number}")), "{option}");
    }
}
