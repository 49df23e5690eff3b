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
