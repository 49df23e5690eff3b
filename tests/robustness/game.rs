//! Any bytes as a plugin and as an INI file. Masters must come from the file, and INI values must
//! survive being written and parsed again.
//!
//! An input is one whole file.

#![allow(unreachable_pub, reason = "`pub` here means: for tests and fuzz targets")]

use bsafs::game::{Header, Ini};

/// Sections that games read.
const SECTIONS: [&str; 4] = ["Archive", "Archives", "General", "Game Files"];

/// Parses an input as a plugin. Returns the number of masters.
///
/// # Panics
/// If an invariant does not hold.
pub fn plugin(input: &[u8]) -> usize {
    let Some(header) = Header::parse(input) else {
        assert!(!input.starts_with(b"TES3") && !input.starts_with(b"TES4"));
        return 0;
    };
    // A letter of windows-1252 takes up to three bytes of UTF-8.
    let bytes: usize = header.masters.iter().map(String::len).sum();
    assert!(bytes <= 3 * input.len(), "{bytes} bytes of names in {}", input.len());
    assert!(header.masters.iter().all(|name| !name.is_empty() && !name.contains('\0')), "{header:?}");
    let half = Header::parse(&input[..input.len() / 2]).map(|half| half.masters).unwrap_or_default();
    assert!(header.masters.starts_with(&half), "{:?} does not begin with {half:?}", header.masters);
    header.masters.len()
}

/// Parses an input as an INI file. Returns the number of keys in [`SECTIONS`].
///
/// # Panics
/// If an invariant does not hold.
pub fn ini(input: &[u8]) -> usize {
    let ini = Ini::parse(input);
    let mut keys = 0;
    for section in SECTIONS {
        let mut text = format!("\u{FEFF}[{section}]\n");
        for (key, value) in ini.keys(section) {
            assert!(!key.contains(['\n', '=']) && !value.contains('\n'), "{key:?} {value:?}");
            assert!(ini.get(section, key).is_some(), "{key:?}");
            keys += 1;
            if !key.starts_with('[') {
                text += &format!("{key}=\"{value}\"\n");
            }
        }
        let written = Ini::parse(text.as_bytes());
        for (key, _) in ini.keys(section).filter(|(key, _)| !key.starts_with('[')) {
            assert_eq!(written.get(section, key), ini.get(section, key), "{key:?}");
        }
    }
    keys
}
