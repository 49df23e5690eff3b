//! Language codes in the names of archives and in INI files.

/// Each code with the names that stores and INI files use for the language.
const CODES: [(&str, &[&str]); 13] = [
    ("en", &["english"]),
    ("de", &["german"]),
    ("fr", &["french"]),
    ("it", &["italian"]),
    ("es", &["spanish"]),
    ("esmx", &["latam"]),
    ("pl", &["polish"]),
    ("ru", &["russian"]),
    ("ja", &["japanese", "jp"]),
    ("ptbr", &["brazilian", "portuguese"]),
    ("zhhans", &["schinese"]),
    ("zhhant", &["tchinese"]),
    ("cn", &["chinese"]),
];

/// The code for a language in any case: `GERMAN`, `german` and `de` become `de`.
pub(crate) fn code(name: &str) -> Option<&'static str> {
    let name = name.trim().to_ascii_lowercase();
    // Stores append the country: `en-US`.
    let short = name.split(['-', '_']).next().unwrap_or_default();
    let found = CODES.iter().find(|(code, names)| *code == name || names.contains(&name.as_str()));
    found.or_else(|| CODES.iter().find(|(code, _)| *code == short)).map(|(code, _)| *code)
}

/// The language in a voice archive's name: `de` for `Mod - Voices_de.ba2` and `Voices_de0`.
pub(crate) fn of_archive(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let (_, behind) = name.rsplit_once("voices_")?;
    let end = behind.find(|letter: char| !letter.is_ascii_lowercase()).unwrap_or(behind.len());
    CODES.iter().map(|(code, _)| *code).find(|code| *code == &behind[..end])
}

#[cfg(test)]
mod tests {
    use super::{code, of_archive};

    #[test]
    fn store_names_and_ini_codes_of_a_language_are_recognised() {
        for (name, expected) in
            [("GERMAN", "de"), ("de", "de"), ("en-US", "en"), (" English ", "en"), ("jp", "ja")]
        {
            assert_eq!(code(name), Some(expected), "{name}");
        }
        assert_eq!(code("klingon"), None);
    }

    #[test]
    fn the_language_of_a_voice_archive_is_read_from_its_name() {
        assert_eq!(of_archive("Mod - Voices_de.ba2"), Some("de"));
        assert_eq!(of_archive("Skyrim - VOICES_EN0.bsa"), Some("en"));
        assert_eq!(of_archive("Mod - Voices.ba2"), None);
        assert_eq!(of_archive("Mod - Voices_extra.ba2"), None);
    }
}
