//! The bounds-checked reader of an archive's bytes: strings, records, and early ends.

use std::ops::Range;

use bsafs::read::{Bytes, Fetch, Reader, UnexpectedEnd};

#[test]
fn strings_are_read_without_terminators() {
    let mut reader = Reader::new(b"\x03abc\x03de\0fg\0\x02\0hiz");
    assert_eq!(reader.bstring("b"), Ok(&b"abc"[..]));
    assert_eq!(reader.bzstring("bz"), Ok(&b"de"[..]));
    assert_eq!(reader.zstring("z"), Ok(&b"fg"[..]));
    assert_eq!(reader.wstring("w"), Ok(&b"hi"[..]));
    assert_eq!((reader.position(), reader.left()), (15, 1));
    assert_eq!(reader.zstring("unterminated"), Err(UnexpectedEnd { at: 15, what: "unterminated" }));
}

#[test]
fn an_overflowing_count_is_refused_without_a_panic() {
    let mut reader = Reader::new(&[0; 64]);
    assert_eq!(reader.records(u32::MAX, usize::MAX, "records").err().map(|e| e.at), Some(0));
    assert_eq!(reader.take(u64::MAX, "all").err(), Some(UnexpectedEnd { at: 0, what: "all" }));
    assert_eq!(reader.left(), 64, "a failed read moved the cursor");
}

#[test]
fn fields_of_a_record_are_read_at_their_offsets() {
    let mut reader = Reader::new(&[0xEE, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(
        reader.record::<11>("a long record").err(),
        Some(UnexpectedEnd { at: 0, what: "a long record" })
    );
    let record = reader.record::<9>("a record").unwrap();
    assert_eq!((record.u8_at::<8>(), record.u16_at::<7>()), (8, 0x0807));
    assert_eq!((record.u32_at::<2>(), record.u64_at::<1>()), (0x0504_0302, 0x0807_0605_0403_0201));
    assert_eq!(record.bytes_at::<0, 2>(), &[0xEE, 1]);
    assert_eq!((reader.position(), reader.u8("a byte")), (9, Ok(9)));
}

#[test]
fn a_start_beyond_the_end_is_an_error_with_that_offset() {
    assert_eq!(Reader::at(&[0; 4], 9, "names").err(), Some(UnexpectedEnd { at: 9, what: "names" }));
}

/// Fetches exactly the requested range, and nothing from offset `refused` on.
struct Exact<'a> {
    all: &'a [u8],
    refused: u64,
}

impl Fetch for Exact<'_> {
    fn fetch(&self, range: Range<u64>, _: bool) -> Option<&[u8]> {
        let end = (range.end <= self.refused).then(|| usize::try_from(range.end).unwrap())?;
        self.all.get(usize::try_from(range.start).unwrap()..end)
    }
}

#[test]
fn unfetchable_bytes_are_an_end_and_skipped_bytes_are_not_fetched() {
    let all = b"abc\0defghi\0jkl\0";
    let fetch = Exact { all, refused: 6 };
    let archive = Bytes::fetched(15, &fetch);
    let end = |at, what| Some(UnexpectedEnd { at, what });
    assert_eq!((archive.first(3), archive.first(7)), (&b"abc"[..], &b""[..]));
    let mut reader = Reader::new(archive);
    assert_eq!(reader.zstring("a"), Ok(&b"abc"[..]));
    assert_eq!(reader.clone().zstring("b").err(), end(4, "b"));
    assert_eq!(reader.clone().u32("c").err(), end(4, "c"));
    assert_eq!(reader.clone().records(3, 1, "d").err(), end(4, "d"));
    assert_eq!((reader.bytes(), reader.u16("e")), (&b""[..], Ok(0x6564)));
    assert_eq!(reader.u8("f").err(), end(6, "f"));
    let fetch = Exact { all, refused: 15 };
    let mut reader = Reader::at(Bytes::fetched(15, &fetch), 8, "g").unwrap();
    assert_eq!((reader.zstring("g"), reader.u8("h")), (Ok(&b"hi"[..]), Ok(b'j')));
    let start = reader.clone();
    assert_eq!((reader.zstring("i"), reader.left()), (Ok(&b"kl"[..]), 0));
    assert_eq!((start.until(&reader).bytes(), reader.u8("j").err()), (&b"kl\0"[..], end(15, "j")));
}
