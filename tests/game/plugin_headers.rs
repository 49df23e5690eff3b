//! Plugin headers of every game: flags and masters, also if the header is cut short or lies.

use bsafs::game::Header;

fn field(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    [kind, &u16::try_from(data.len()).unwrap().to_le_bytes()[..], data].concat()
}

/// A plugin of Oblivion or later. `extra` bytes end its record header.
fn tes4(flags: u32, masters: &[&[u8]], extra: usize) -> Vec<u8> {
    let mut body = field(b"HEDR", &[0; 12]);
    for master in masters {
        body.extend([field(b"MAST", &[master, &[0][..]].concat()), field(b"DATA", &[0; 8])].concat());
    }
    let size = u32::try_from(body.len()).unwrap().to_le_bytes();
    [b"TES4", &size[..], &flags.to_le_bytes(), &vec![0; 8 + extra], &body].concat()
}

fn tes3(masters: &[&[u8]]) -> Vec<u8> {
    let field = |kind: &[u8; 4], data: &[u8]| [kind, &(data.len() as u32).to_le_bytes()[..], data].concat();
    let mut body = field(b"HEDR", &[&[0; 4][..], &1u32.to_le_bytes(), &[0; 292]].concat());
    for master in masters {
        body.extend([field(b"MAST", &[master, &[0][..]].concat()), field(b"DATA", &[0; 8])].concat());
    }
    [b"TES3", &(body.len() as u32).to_le_bytes()[..], &[0; 8], &body].concat()
}

#[test]
fn flags_and_masters_are_read_with_and_without_a_form_version() {
    for extra in [0, 4] {
        let mut bytes = tes4(0x801, &[b"Skyrim.esm", b"Gr\xf6\xdfe.esp"], extra);
        bytes.extend(field(b"MAST", b"behind the record\0"));
        let header = Header::parse(&bytes).unwrap();
        assert_eq!(
            (header.flags, header.masters),
            (0x801, vec!["Skyrim.esm".to_owned(), "Größe.esp".into()])
        );
    }
    let header = Header::parse(&tes3(&[b"Morrowind.esm"])).unwrap();
    assert_eq!((header.flags, header.masters), (1, vec!["Morrowind.esm".to_owned()]));
}

#[test]
fn a_long_field_is_skipped_by_its_extended_size() {
    let mut body = field(b"HEDR", &[0; 12]);
    body.extend(field(b"XXXX", &70_000u32.to_le_bytes()));
    body.extend([&b"ONAM\0\0"[..], &vec![0; 70_000]].concat());
    body.extend(field(b"MAST", b"A.esm\0"));
    let size = u32::try_from(body.len()).unwrap().to_le_bytes();
    let bytes = [b"TES4", &size[..], &[0; 16], &body].concat();
    assert_eq!(Header::parse(&bytes).unwrap().masters, ["A.esm"]);
}

#[test]
fn a_truncated_header_keeps_its_complete_masters() {
    let whole = tes4(1, &[b"A.esm", b"B.esm"], 4);
    for len in 0..whole.len() {
        let header = Header::parse(&whole[..len]);
        assert_eq!(header.is_some(), len >= 4);
        assert!(header.is_none_or(|header| header.masters.len() < 2 || len > whole.len() - 16));
    }
    let mut claims = tes4(1, &[b"A.esm"], 4);
    claims[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(Header::parse(&claims).unwrap().masters, ["A.esm"]);
    assert_eq!(Header::parse(b"MZ is no plugin"), None);
}
