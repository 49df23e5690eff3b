//! Any bytes as a settings file of a launcher, of Mod Organizer 2 or of OpenMW. Values must be no
//! longer than the file allows, and must survive being written and parsed again.
//!
//! An input is one whole file.

#![allow(unreachable_pub, reason = "`pub` here means: for tests and fuzz targets")]

use std::path::Path;

use bsafs::game::{BinaryValue, Cfg, OpenmwFolders, QSettings, visit_binary_vdf, visit_vdf, visit_yaml};

/// Maximum depth of keys that the readers follow.
const DEPTH_MAX: usize = 32;

/// A value, and the keys that lead to it.
type Value = (Vec<String>, String);

/// Parses an input as VDF, as text and as binary. Returns the number of values.
///
/// # Panics
/// If an invariant does not hold.
pub fn vdf(input: &[u8]) -> usize {
    let text = String::from_utf8_lossy(input);
    let mut values: Vec<Value> = Vec::new();
    let result = visit_vdf(&text, |keys, value| values.push((keys.to_vec(), value.to_owned())));
    assert!(result.is_ok() || result.is_err_and(|error| !error.is_empty()));
    let bytes: usize = values.iter().map(|(_, value)| value.len()).sum();
    assert!(bytes <= text.len(), "{bytes} bytes of values in {}", text.len());
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    for value in &values {
        let (keys, last) = value;
        assert!((1..=DEPTH_MAX).contains(&keys.len()), "{keys:?}");
        let keys: Vec<String> = keys.iter().map(|key| quoted(key)).collect();
        let written = format!("{} {}{}", keys.join("{"), quoted(last), "}".repeat(keys.len() - 1));
        let mut again: Vec<Value> = Vec::new();
        let result = visit_vdf(&written, |keys, value| again.push((keys.to_vec(), value.to_owned())));
        assert_eq!((result, again.as_slice()), (Ok(()), std::slice::from_ref(value)), "{written}");
    }
    values.len() + binary_vdf(input)
}

/// Parses an input as binary VDF. Returns the number of values.
fn binary_vdf(input: &[u8]) -> usize {
    let (mut values, mut bytes) = (0, 0);
    let result = visit_binary_vdf(input, |keys, value| {
        assert!((1..=DEPTH_MAX + 1).contains(&keys.len()), "{keys:?}");
        values += 1;
        bytes += match value {
            BinaryValue::Text(text) => text.len(),
            BinaryValue::Number(_) => 4,
        };
    });
    assert!(result.is_ok() || result.is_err_and(|error| !error.is_empty()));
    assert!(bytes <= input.len(), "{bytes} bytes of values in {}", input.len());
    values
}

/// Parses an input as YAML. Returns the number of values.
///
/// # Panics
/// If an invariant does not hold.
pub fn yaml(input: &[u8]) -> usize {
    let text = String::from_utf8_lossy(input);
    let mut values: Vec<Value> = Vec::new();
    let result = visit_yaml(&text, |keys, value| values.push((keys.to_vec(), value.to_owned())));
    assert!(result.is_ok() || result.is_err_and(|error| !error.is_empty()));
    // An escape of two letters becomes a character of up to three bytes. An alias adds nothing.
    let bytes: usize = values.iter().map(|(_, value)| value.len()).sum();
    assert!(bytes <= 3 * text.len(), "{bytes} bytes of values in {}", text.len());
    // The value is written again in flow style, whose quoted text is that of JSON.
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let is_plain =
        |text: &String| text.len() < 1000 && text.chars().all(|letter| matches!(letter, ' '..='~'));
    for value in values.iter().filter(|(keys, value)| keys.iter().all(is_plain) && is_plain(value)) {
        let (keys, last) = value;
        assert!(keys.len() <= DEPTH_MAX, "{keys:?}");
        let open: String = keys.iter().map(|key| format!("{{{}: ", quoted(key))).collect();
        let written = format!("{open}{}{}", quoted(last), "}".repeat(keys.len()));
        let mut again: Vec<Value> = Vec::new();
        let result = visit_yaml(&written, |keys, value| again.push((keys.to_vec(), value.to_owned())));
        assert_eq!((result, again.as_slice()), (Ok(()), std::slice::from_ref(value)), "{written}");
    }
    values.len()
}

/// Parses an input as settings of Mod Organizer 2. Returns the number of keys below that have a value.
///
/// # Panics
/// If an invariant does not hold.
pub fn qsettings(input: &[u8]) -> usize {
    const KEYS: [(&str, &str); 7] = [
        ("General", "gameName"),
        ("General", "gamePath"),
        ("General", "selected_profile"),
        ("General", "LocalSettings"),
        ("Settings", "base_directory"),
        ("Settings", "skip_file_suffixes"),
        ("Settings", "skip_directories"),
    ];
    let settings = QSettings::parse(input);
    let mut values = 0;
    for (section, key) in KEYS {
        let value = settings.get(section, key);
        let list = settings.list(section, key).map(Iterator::collect::<Vec<_>>);
        assert!(value.is_none() || list.is_some(), "{section} {key}: {value:?}");
        // A byte that is not valid UTF-8 becomes three bytes, whether or not it is then read as Latin-1.
        let bytes: usize = list.iter().flatten().chain(&value).map(String::len).sum();
        assert!(bytes <= 18 * input.len(), "{bytes} bytes of values in {}", input.len());
        assert!(list.iter().flatten().chain(&value).all(|text| !text.is_empty()), "{section} {key}");
        values += usize::from(value.is_some());
        if let Some(value) = value.filter(|value| !value.starts_with('@')) {
            let escapes = [("\\", "\\\\"), ("\"", "\\\""), ("\n", "\\n"), ("\r", "\\r")];
            let escaped = escapes.iter().fold(value.clone(), |text, (from, to)| text.replace(from, to));
            let again = QSettings::parse(format!("[{section}]\n{key}=\"{escaped}\"\n").as_bytes());
            assert_eq!(again.get(section, key), Some(value), "{escaped}");
        }
    }
    values
}

/// Parses an input as settings of OpenMW. Returns the number of values of the keys below.
///
/// # Panics
/// If an invariant does not hold.
pub fn openmw(input: &[u8]) -> usize {
    const KEYS: [&str; 8] = [
        "data",
        "data-local",
        "config",
        "replace",
        "resources",
        "content",
        "fallback-archive",
        "groundcover",
    ];
    let places = OpenmwFolders {
        local: "/local".into(),
        user_config: "/user/config".into(),
        user_data: "/user/data".into(),
        global: "/global".into(),
        app: Some("/app-files".into()),
    };
    let cfg = Cfg::parse(Path::new("/folder"), input);
    let mut count = 0;
    for key in KEYS {
        let mut text = String::new();
        for value in cfg.values(key) {
            let path = cfg.path(value, &places);
            assert!(path.is_absolute(), "{value:?}: {path:?}");
            let quoted = path.to_str().unwrap().replace('&', "&&").replace('"', "&\"");
            text += &format!("{key}=\"{quoted}\"\n");
            count += 1;
        }
        // A path that is written in quotes is read again as it is.
        let again = Cfg::parse(Path::new("/folder"), text.as_bytes());
        let paths = |cfg: &Cfg| cfg.values(key).map(|it| cfg.path(it, &places)).collect::<Vec<_>>();
        assert_eq!(paths(&again), paths(&cfg), "{text}");
    }
    count
}
