//! Cache sizes as a user writes them.

/// Parses a number of bytes with an optional unit: K, M or G, in powers of 1024.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let upper = text.to_ascii_uppercase();
    let digits = upper.trim_end_matches("IB").trim_end_matches('B');
    let (digits, shift) = match digits.char_indices().last() {
        Some((at, 'K')) => (&digits[..at], 10),
        Some((at, 'M')) => (&digits[..at], 20),
        Some((at, 'G')) => (&digits[..at], 30),
        _ => (digits, 0),
    };
    let number = digits.trim().parse::<u64>().ok();
    number
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or_else(|| format!("\"{text}\" is not a number of bytes, such as 64M"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_units_are_powers_of_1024() {
        assert_eq!(parse("64M"), Ok(crate::vfs::CACHE_SIZE));
        assert_eq!(parse("1GiB"), Ok(1 << 30));
        assert_eq!(parse("4096"), Ok(4096));
        assert!(parse("many").is_err() && parse("99999999999G").is_err());
    }
}
