//! Compares the table of limits in the documentation with their values, and checks that the code uses them.

use crate::layering;

/// Files outside `system/whole_file.rs` that read to the end of something, with the reason.
const READS_TO_THE_END: [(&str, &str); 1] =
    [("picture/thumbnail.rs", "reads the header of a texture through `take(HEADER_MAX)`")];

/// The value of `65_536` or `1 << 16`.
fn value(expression: &str) -> u64 {
    let parse = |text: &str| text.trim().replace('_', "").parse::<u64>().unwrap();
    expression.split_once("<<").map_or_else(|| parse(expression), |(one, by)| parse(one) << parse(by))
}

/// The value of `65,536`, `64 MiB` or `1 GiB`.
fn written(text: &str) -> u64 {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    let shift = ["", "KiB", "MiB", "GiB"].iter().position(|it| *it == unit).expect(text) * 10;
    number.replace(',', "").parse::<u64>().expect(text) << shift
}

#[test]
fn the_documented_limits_match_their_values() {
    let text = include_str!("../src/limits.rs");
    let limits: Vec<(&str, u64)> = text
        .lines()
        .filter_map(|line| line.strip_prefix("pub const ")?.strip_suffix(';'))
        .map(|line| (line.split_once(':').unwrap().0, value(line.split_once(" = ").unwrap().1)))
        .collect();
    assert!(limits.len() > 20, "{limits:?}");
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("//! |")).collect();
    for (name, value) in limits {
        let named = format!("`{name}` (");
        let found: Vec<u64> = rows
            .iter()
            .flat_map(|row| row.split(&named).skip(1))
            .map(|rest| written(rest.split_once(')').unwrap().0))
            .collect();
        assert!(!found.is_empty() && found.iter().all(|it| *it == value), "{name}: {value}, {found:?}");
    }
}

/// The lines of a source file without comments and without its unit tests.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let end = text.find("#[cfg(test)]\nmod ").unwrap_or(text.len());
    text[..end].lines().map(str::trim_start).filter(|line| !line.starts_with("//"))
}

#[test]
fn every_limit_is_used() {
    let sources = layering::sources();
    let names =
        sources["limits.rs"].lines().filter_map(|line| line.strip_prefix("pub const ")?.split(':').next());
    for name in names {
        let is_used = |(path, text): (&String, &String)| {
            let is_use = |line: &str| {
                line.contains(name) && !line.starts_with("use ") && !line.starts_with("pub use ")
            };
            path != "limits.rs" && code(text).any(is_use)
        };
        assert!(sources.iter().any(is_used), "nothing outside of limits.rs uses {name}");
    }
}

#[test]
fn whole_files_are_read_in_one_place() {
    let ways = ["fs::read(", "read_to_string", "read_to_end", "read_all("];
    let mut readers = Vec::new();
    for (path, text) in layering::sources().iter().filter(|(path, _)| *path != "system/whole_file.rs") {
        if !path.ends_with("tests.rs") && code(text).any(|line| ways.iter().any(|way| line.contains(way))) {
            readers.push(path.clone());
        }
    }
    let known = READS_TO_THE_END.map(|(path, _)| path);
    assert_eq!(readers, known, "read whole files with system/whole_file.rs, which takes a limit");
}
