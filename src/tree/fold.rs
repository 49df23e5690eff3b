//! Folding of names: ASCII letters become lower case, as the games compare them; other bytes are unchanged.

use std::cmp::Ordering;

use twox_hash::XxHash3_64;

use crate::format::name::COMPONENT_MAX;

/// The hash of a folded name: XXH3-64 with seed 0, the same in every run and version. `None` if the
/// name is longer than any name in a tree.
pub(super) fn hash(name: &[u8]) -> Option<u64> {
    let mut buffer = [0; COMPONENT_MAX];
    let folded = buffer.get_mut(..name.len())?;
    // Works word by word, and the last word may overlap the one before. Library calls for so few
    // bytes cost more than the hash.
    match (name.last_chunk(), folded.last_chunk_mut()) {
        (Some(last), Some(end)) => {
            *end = fold(u64::from_be_bytes(*last)).to_be_bytes();
            for (to, from) in folded.as_chunks_mut().0.iter_mut().zip(name.as_chunks().0) {
                *to = fold(u64::from_be_bytes(*from)).to_be_bytes();
            }
        }
        _ => buffer[..WORD].copy_from_slice(&fold(short(name)).to_be_bytes()),
    }
    Some(XxHash3_64::oneshot(&buffer[..name.len()]))
}

/// Number of bytes that are folded and compared at once.
const WORD: usize = 8;

/// The first eight folded bytes of a name, as a number that sorts like them. Two names with
/// different prefixes differ, and sort like their prefixes.
pub(super) fn prefix(name: &[u8]) -> u64 {
    word(name).0
}

/// Compares two names in the order of a folder. Names contain no NUL, so the padding of [`prefix`]
/// does not disturb this order.
#[inline]
pub(super) fn compare(mut a: &[u8], mut b: &[u8]) -> Ordering {
    loop {
        let ((first, more_a), (second, more_b)) = (word(a), word(b));
        match first.cmp(&second) {
            // Names that are looked up may end in NULs, which are not padding.
            Ordering::Equal if more_a.is_empty() && more_b.is_empty() => return a.len().cmp(&b.len()),
            Ordering::Equal => (a, b) = (more_a, more_b),
            different => return different,
        }
    }
}

/// As [`compare`], for two names of a tree whose prefixes are equal.
#[inline]
pub(super) fn compare_rest(a: &[u8], b: &[u8]) -> Ordering {
    compare(a.get(WORD..).unwrap_or_default(), b.get(WORD..).unwrap_or_default())
}

/// Whether two names are equal except for case.
pub(super) fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && compare(a, b) == Ordering::Equal
}

/// The first word of a name, folded and padded with NULs, and the rest. Whole words are compared
/// because hundreds of names in one folder of textures begin alike and differ only at their ends.
fn word(name: &[u8]) -> (u64, &[u8]) {
    match name.split_first_chunk::<WORD>() {
        Some((first, rest)) => (fold(u64::from_be_bytes(*first)), rest),
        None => (fold(short(name)), &[]),
    }
}

/// A name of fewer than eight bytes, padded with NULs. Its two halves are equal in the bytes where
/// they overlap.
fn short(name: &[u8]) -> u64 {
    let missing = 8 * WORD.wrapping_sub(name.len()) as u32;
    match (name.first_chunk(), name.last_chunk()) {
        (Some(first), Some(last)) => {
            u64::from(u32::from_be_bytes(*first)) << 32 | u64::from(u32::from_be_bytes(*last)) << missing
        }
        _ if name.is_empty() => 0,
        _ => name.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)) << missing,
    }
}

/// Folds eight bytes at once: ASCII upper case becomes lower case. The top bit of a byte's sum is set if the
/// byte is at least `A`, or above `Z`. No sum of seven bits and these constants carries into the next byte.
fn fold(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let low = word & (0x7f * ONES);
    let reaches_a = low.wrapping_add(const { (0x80 - b'A') as u64 * ONES });
    let passes_z = low.wrapping_add(const { (0x7f - b'Z') as u64 * ONES });
    let upper = (reaches_a ^ passes_z) & !word & (0x80 * ONES);
    // 0x80 >> 2 is the difference between `a` and `A`.
    word | upper >> 2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::FileFailurePersistence;

    use super::*;

    #[test]
    fn prefixes_sort_like_their_names() {
        let names: [&[u8]; 7] =
            [b"a", b"A.dds", b"abcdefgh", b"ABCDEFGHI", b"b", "é".as_bytes(), "É".as_bytes()];
        for a in names {
            for b in names {
                let by_prefix = prefix(a).cmp(&prefix(b));
                assert!(by_prefix == Ordering::Equal || by_prefix == compare(a, b), "{a:?} {b:?}");
                assert_eq!(compare(a, b) == Ordering::Equal, same(a, b), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn the_hash_is_xxh3_of_the_folded_name() {
        assert_eq!(hash(b""), Some(0x2D06_8005_38D3_94C2));
        let text: Vec<u8> = b"Iron_Armor (OLD)\xC9.dds".iter().copied().cycle().take(255).collect();
        for name in (0..=255).map(|len| &text[..len]) {
            assert_eq!(
                hash(name),
                Some(XxHash3_64::oneshot(&name.to_ascii_lowercase())),
                "{} bytes",
                name.len()
            );
        }
        assert_ne!(hash(b"iron.dds"), hash(b"iron.dds\0"));
        assert_eq!(hash(&[b'a'; 256]), None);
    }

    #[test]
    fn every_byte_at_every_position_folds_like_ascii() {
        for byte in 0..=u8::MAX {
            for at in 0..WORD {
                let mut word = [b'Q'; WORD];
                word[at] = byte;
                let folded = word.map(|byte| byte.to_ascii_lowercase());
                assert_eq!(fold(u64::from_be_bytes(word)).to_be_bytes(), folded, "{byte} at {at}");
            }
        }
    }

    proptest! {
        // By default, failures are stored in a folder next to src.
        #![proptest_config(ProptestConfig {
            failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
                "tests/tree/fold.proptest-regressions",
            ))),
            ..ProptestConfig::default()
        })]

        #[test]
        fn names_sort_by_their_folded_bytes(a in "[aAbBzZ@`\\[é]{0,20}", b in "[aAbBzZ@`\\[é]{0,20}") {
            let folded = |name: &str| name.as_bytes().to_ascii_lowercase();
            prop_assert_eq!(compare(a.as_bytes(), b.as_bytes()), folded(&a).cmp(&folded(&b)));
        }
    }

    #[test]
    fn only_ascii_letters_are_folded() {
        assert!(same(b"Mar\xEDa", b"mAR\xEDA") && !same("é".as_bytes(), "É".as_bytes()));
    }
}
