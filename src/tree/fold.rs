//! Names without their case: ASCII letters only, exactly as the games compare them; other bytes are as they are.

use std::cmp::Ordering;

/// The first eight bytes of a name, folded, as a number that sorts as they do. Two names whose keys differ are
/// different and in the order of their keys; equal keys say nothing.
pub(super) fn key(name: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    for (to, from) in bytes.iter_mut().zip(name) {
        *to = from.to_ascii_lowercase();
    }
    u64::from_be_bytes(bytes)
}

/// The order of names in a folder. Names hold no NUL, so the padding of [`key`] agrees with it.
pub(super) fn compare(a: &[u8], b: &[u8]) -> Ordering {
    a.iter().map(u8::to_ascii_lowercase).cmp(b.iter().map(u8::to_ascii_lowercase))
}

/// Whether two names are one.
pub(super) fn same(a: &[u8], b: &[u8]) -> bool {
    a.eq_ignore_ascii_case(b)
}

#[cfg(test)]
mod tests {
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
    fn accents_keep_their_case() {
        assert!(same(b"Mar\xEDa", b"mAR\xEDA") && !same("é".as_bytes(), "É".as_bytes()));
    }
}
