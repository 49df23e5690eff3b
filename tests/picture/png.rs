//! PNG files, byte for byte.

use std::io::Read;

use bsafs::picture::{Image, write_png, write_reduced_png};

#[test]
fn the_chunks_and_rows_of_a_png_match_the_standard() {
    let rgba = vec![[1, 2, 3, 255], [2, 2, 1, 0], [9, 9, 9, 9], [9, 9, 9, 9]];
    let mut png = Vec::new();
    write_png(&Image { width: 2, height: 2, rgba }, &mut png).unwrap();
    assert_eq!(png[..29], *b"\x89PNG\r\n\x1a\n\0\0\0\x0DIHDR\0\0\0\x02\0\0\0\x02\x08\x06\0\0\0");
    let data = usize::from(png[36]);
    assert_eq!(png[37..41], *b"IDAT");
    let mut rows = Vec::new();
    flate2::read::ZlibDecoder::new(&png[41..41 + data]).read_to_end(&mut rows).unwrap();
    assert_eq!(rows, [1, 1, 2, 3, 255, 1, 0, 254, 1, 1, 9, 9, 9, 9, 0, 0, 0, 0]);
    // An empty IEND chunk and its checksum, which end every PNG file.
    assert_eq!(png[45 + data..], *b"\0\0\0\0IEND\xAE\x42\x60\x82");
}

#[test]
fn a_reduced_png_has_the_colours_of_bc1_and_rows_without_a_filter() {
    let rgba = vec![[255, 255, 255, 255], [0, 0, 0, 0x12], [0xF9, 0xFD, 7, 255], [9, 9, 9, 0]];
    let mut png = Vec::new();
    write_reduced_png(&Image { width: 2, height: 2, rgba }, &mut png).unwrap();
    let data = usize::from(png[36]);
    let mut rows = Vec::new();
    flate2::read::ZlibDecoder::new(&png[41..41 + data]).read_to_end(&mut rows).unwrap();
    assert_eq!(rows, [0, 255, 255, 255, 255, 0, 0, 0, 0x11, 0, 0xFF, 0xFF, 0, 255, 0, 0, 0, 0]);
}
