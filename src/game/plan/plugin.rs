//! The header of a plugin: its flags and masters.
//!
//! A plugin begins with a record, `TES3` in Morrowind and `TES4` since, whose fields name the plugin's masters in `MAST`.
//! Nothing behind that record is read.

use std::path::Path;

use crate::game::disk::Disk;
use crate::read::{Reader, UnexpectedEnd};

/// Bytes of a plugin that are read at first: enough for the headers of nearly all.
pub(crate) const HEADER_FIRST: usize = 4 << 10;

/// Bytes of a plugin that are read at most. The header record of the largest real plugins has some 100 KiB, most of it
/// behind the masters.
pub(crate) const HEADER_MAX: usize = 1 << 20;

/// Masters that a header may have: indexes of plugins are a byte; light and medium plugins allow some thousand more.
const MASTERS_MAX: usize = 1 << 13;

/// What a plugin's header says of its place in the load order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// All flags of the record.
    pub flags: u32,
    /// The plugins that it needs, by name.
    pub masters: Vec<String>,
}

impl Header {
    /// The header of a plugin; `None` if it cannot be read.
    pub(crate) fn read(disk: &Disk, path: &Path) -> Option<Self> {
        let (mut bytes, _) = disk.read_start(path, HEADER_FIRST).ok()?;
        let len = Self::len(&bytes);
        if len > bytes.len() && bytes.len() == HEADER_FIRST {
            bytes = disk.read_start(path, len).ok()?.0;
        }
        Self::parse(&bytes)
    }

    /// Of a plugin that others may need.
    pub const MASTER: u32 = 0x1;
    /// Of a Starfield plugin that loads after all others.
    pub const BLUEPRINT: u32 = 0x800;

    /// Parses the beginning of a plugin, as much of it as there is. `None` where it is no plugin.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let magic = reader.take(4, "the record's type").ok()?;
        let mut header = Self::default();
        // A header that is cut short has the masters that it has.
        let _ = match magic {
            b"TES3" => header.parse_tes3(&mut reader),
            b"TES4" => header.parse_tes4(&mut reader),
            _ => return None,
        };
        Some(header)
    }

    /// The bytes that the header record takes, as far as it states and [`HEADER_MAX`] allows.
    pub(crate) fn len(bytes: &[u8]) -> usize {
        let size =
            Reader::at(bytes, 4, "the record's size").and_then(|mut reader| reader.u32("the record's size"));
        let size = size.ok().and_then(|size| usize::try_from(size).ok()).unwrap_or(0);
        size.saturating_add(24).min(HEADER_MAX)
    }

    fn parse_tes3(&mut self, reader: &mut Reader<'_>) -> Result<(), UnexpectedEnd> {
        let size = reader.u32("the record's size")?;
        reader.skip(8, "the record's flags")?;
        let end = reader.position().saturating_add(u64::from(size));
        while reader.position() < end {
            let kind = reader.take(4, "a field's type")?;
            let len = u64::from(reader.u32("a field's size")?);
            match kind {
                b"HEDR" => self.flags = flags_of_hedr(reader.take(len, "the header")?),
                b"MAST" => self.add_master(reader.take(len, "a master's name")?),
                _ => reader.skip(len, "a field")?,
            }
        }
        Ok(())
    }

    fn parse_tes4(&mut self, reader: &mut Reader<'_>) -> Result<(), UnexpectedEnd> {
        let size = reader.u32("the record's size")?;
        self.flags = reader.u32("the record's flags")?;
        reader.skip(8, "the record's number")?;
        // Oblivion's records end here; since Fallout 3 four bytes follow. `HEDR` is the first field of both.
        if !reader.clone().take(4, "the first field").is_ok_and(|kind| kind == b"HEDR") {
            reader.skip(4, "the record's version")?;
        }
        let end = reader.position().saturating_add(u64::from(size));
        let mut long = None;
        while reader.position() < end {
            let kind = reader.take(4, "a field's type")?;
            let short = u64::from(reader.u16("a field's size")?);
            let len = long.take().unwrap_or(short);
            match kind {
                b"MAST" => self.add_master(reader.take(len, "a master's name")?),
                // The size of the next field, where it does not fit into two bytes.
                b"XXXX" if len == 4 => long = Some(u64::from(reader.u32("a field's long size")?)),
                _ => reader.skip(len, "a field")?,
            }
        }
        Ok(())
    }

    fn add_master(&mut self, name: &[u8]) {
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        if self.masters.len() < MASTERS_MAX && !name.is_empty() {
            self.masters.push(encoding_rs::WINDOWS_1252.decode_without_bom_handling(name).0.into_owned());
        }
    }
}

/// Morrowind's flags are behind the version.
fn flags_of_hedr(field: &[u8]) -> u32 {
    Reader::at(field, 4, "the flags").and_then(|mut reader| reader.u32("the flags")).unwrap_or(0)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::Header;

    fn field(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
        [kind, &u16::try_from(data.len()).unwrap().to_le_bytes()[..], data].concat()
    }

    /// A plugin since Oblivion; `extra` bytes end its record's header.
    pub(in super::super) fn tes4(flags: u32, masters: &[&[u8]], extra: usize) -> Vec<u8> {
        let mut body = field(b"HEDR", &[0; 12]);
        for master in masters {
            body.extend([field(b"MAST", &[master, &[0][..]].concat()), field(b"DATA", &[0; 8])].concat());
        }
        let size = u32::try_from(body.len()).unwrap().to_le_bytes();
        [b"TES4", &size[..], &flags.to_le_bytes(), &vec![0; 8 + extra], &body].concat()
    }

    fn tes3(masters: &[&[u8]]) -> Vec<u8> {
        let field =
            |kind: &[u8; 4], data: &[u8]| [kind, &(data.len() as u32).to_le_bytes()[..], data].concat();
        let mut body = field(b"HEDR", &[&[0; 4][..], &1u32.to_le_bytes(), &[0; 292]].concat());
        for master in masters {
            body.extend([field(b"MAST", &[master, &[0][..]].concat()), field(b"DATA", &[0; 8])].concat());
        }
        [b"TES3", &(body.len() as u32).to_le_bytes()[..], &[0; 8], &body].concat()
    }

    #[test]
    fn flags_and_masters_are_read_with_and_without_the_version_that_oblivion_lacks() {
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
    fn a_long_field_is_skipped_by_the_size_before_it() {
        let mut body = field(b"HEDR", &[0; 12]);
        body.extend(field(b"XXXX", &70_000u32.to_le_bytes()));
        body.extend([&b"ONAM\0\0"[..], &vec![0; 70_000]].concat());
        body.extend(field(b"MAST", b"A.esm\0"));
        let size = u32::try_from(body.len()).unwrap().to_le_bytes();
        let bytes = [b"TES4", &size[..], &[0; 16], &body].concat();
        assert_eq!(Header::parse(&bytes).unwrap().masters, ["A.esm"]);
    }

    #[test]
    fn a_header_that_is_cut_short_or_claims_too_much_has_the_masters_that_it_has() {
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
}
