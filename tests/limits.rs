//! Compares the table of limits in the documentation with their values.

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
