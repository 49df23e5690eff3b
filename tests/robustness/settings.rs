//! Any bytes as a file of a launcher, of Mod Organizer 2 or of OpenMW: what is read is no more than what is written, and
//! written again it is the same.
//!
//! An input is the file.

#![allow(unreachable_pub, reason = "`pub` here means: for tests and fuzz targets")]

use std::path::{Component, Path};

use bsafs::game::{Cfg, Places, QSettings, visit_vdf, visit_yaml};

/// Levels of keys that readers follow.
const DEPTH_MAX: usize = 32;

/// A value, and the keys that lead to it.
type Value = (Vec<String>, String);

/// Parses an input as VDF; returns how many values it has.
///
/// # Panics
/// When an invariant does not hold.
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
    values.len()
}

/// Parses an input as YAML; returns how many values it has.
///
/// # Panics
/// When an invariant does not hold.
pub fn yaml(input: &[u8]) -> usize {
    let text = String::from_utf8_lossy(input);
    let mut values: Vec<Value> = Vec::new();
    let result = visit_yaml(&text, |keys, value| values.push((keys.to_vec(), value.to_owned())));
    assert!(result.is_ok() || result.is_err_and(|error| !error.is_empty()));
    // An escape of two letters is a character of up to three bytes; an alias adds nothing.
    let bytes: usize = values.iter().map(|(_, value)| value.len()).sum();
    assert!(bytes <= 3 * text.len(), "{bytes} bytes of values in {}", text.len());
    // In flow style, where quoted text is as in JSON.
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

/// Parses an input as settings of Mod Organizer 2; returns how many of the values it has that are asked for.
///
/// # Panics
/// When an invariant does not hold.
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
        let list = settings.list(section, key);
        assert!(value.is_none() || list.is_some(), "{section} {key}: {value:?}");
        // A byte that is no UTF-8 becomes three, read as Latin-1 or not.
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

/// Parses an input as settings of OpenMW; returns how many values it has of the keys that are asked for.
///
/// # Panics
/// When an invariant does not hold.
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
    let places = Places {
        local: "/local".into(),
        user_config: "/user/config".into(),
        user_data: "/user/data".into(),
        global: "/global".into(),
    };
    let cfg = Cfg::parse(Path::new("/folder"), input);
    let mut count = 0;
    for key in KEYS {
        let mut text = String::new();
        for value in cfg.values(key) {
            let path = cfg.path(value, &places);
            let is_normal = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
            assert!(path.is_absolute() && path.components().all(is_normal), "{value:?}: {path:?}");
            text += &format!("{key}=\"{}\"\n", value.replace('&', "&&").replace('"', "&\""));
            count += 1;
        }
        let again = Cfg::parse(Path::new("/folder"), text.as_bytes());
        assert!(again.values(key).eq(cfg.values(key)), "{text}");
    }
    count
}
