//! Names without their case: ASCII letters only, exactly as the games compare them; other bytes are as they are.

use std::cmp::Ordering;

/// Bytes that are folded and compared at once.
const WORD: usize = 8;

/// The first eight bytes of a name, folded, as a number that sorts as they do. Two names whose keys differ are
/// different and in the order of their keys; equal keys say nothing.
pub(super) fn key(name: &[u8]) -> u64 {
    word(name).0
}

/// The order of names in a folder. Names hold no NUL, so the padding of [`key`] agrees with it.
#[inline]
pub(super) fn compare(mut a: &[u8], mut b: &[u8]) -> Ordering {
    loop {
        let ((first, more_a), (second, more_b)) = (word(a), word(b));
        match first.cmp(&second) {
            // What is asked for may end in NULs, which are no padding.
            Ordering::Equal if more_a.is_empty() && more_b.is_empty() => return a.len().cmp(&b.len()),
            Ordering::Equal => (a, b) = (more_a, more_b),
            different => return different,
        }
    }
}

/// The same of two names of a tree whose keys are known to be equal.
#[inline]
pub(super) fn compare_rest(a: &[u8], b: &[u8]) -> Ordering {
    compare(a.get(WORD..).unwrap_or_default(), b.get(WORD..).unwrap_or_default())
}

/// Whether two names are one.
pub(super) fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && compare(a, b) == Ordering::Equal
}

/// The first word of a name, folded and filled up with NULs, and the rest. A folder of textures holds hundreds of names
/// that begin alike, and is sorted by their ends.
fn word(name: &[u8]) -> (u64, &[u8]) {
    match name.split_first_chunk::<WORD>() {
        Some((first, rest)) => (fold(u64::from_be_bytes(*first)), rest),
        None => (fold(short(name)), &[]),
    }
}

/// A name of less than eight bytes, filled up with NULs. Two halves that overlap agree where they do.
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

/// Eight bytes with their ASCII capitals made small, all at once: the top bit of a byte's sum tells whether it reached
/// `A` or passed `Z`, and no sum of seven bits and these carries into the next byte.
fn fold(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let low = word & (0x7f * ONES);
    let reaches_a = low.wrapping_add(const { (0x80 - b'A') as u64 * ONES });
    let passes_z = low.wrapping_add(const { (0x7f - b'Z') as u64 * ONES });
    let capitals = (reaches_a ^ passes_z) & !word & (0x80 * ONES);
    // 0x80 >> 2 is what tells `a` from `A`.
    word | capitals >> 2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_and_names_agree_on_the_order() {
        let names: [&[u8]; 7] =
            [b"a", b"A.dds", b"abcdefgh", b"ABCDEFGHI", b"b", "é".as_bytes(), "É".as_bytes()];
        for a in names {
            for b in names {
                let by_key = key(a).cmp(&key(b));
                assert!(by_key == Ordering::Equal || by_key == compare(a, b), "{a:?} {b:?}");
                assert_eq!(compare(a, b) == Ordering::Equal, same(a, b), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn every_byte_folds_as_ascii_does_wherever_it_stands() {
        for byte in 0..=u8::MAX {
            for place in 0..WORD {
                let mut word = [b'Q'; WORD];
                word[place] = byte;
                let folded = word.map(|byte| byte.to_ascii_lowercase());
                assert_eq!(fold(u64::from_be_bytes(word)).to_be_bytes(), folded, "{byte} at {place}");
            }
        }
    }

    proptest! {
        #[test]
        fn names_have_the_order_of_their_folded_bytes(a in "[aAbBzZ@`\\[é]{0,20}", b in "[aAbBzZ@`\\[é]{0,20}") {
            let folded = |name: &str| name.as_bytes().to_ascii_lowercase();
            prop_assert_eq!(compare(a.as_bytes(), b.as_bytes()), folded(&a).cmp(&folded(&b)));
        }
    }

    #[test]
    fn accents_keep_their_case() {
        assert!(same(b"Mar\xEDa", b"mAR\xEDA") && !same("é".as_bytes(), "É".as_bytes()));
    }
}
