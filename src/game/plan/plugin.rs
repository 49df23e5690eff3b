//! The header of a plugin: its flags and masters.
//!
//! A plugin begins with a record: `TES3` in Morrowind, `TES4` in later games. Its `MAST` fields
//! name the plugin's masters. Nothing after this record is read.

use std::path::Path;

use super::code_page::CodePage;
use crate::game::disk::Disk;
use crate::note::Note;
use crate::read::{Reader, UnexpectedEnd};

/// Number of bytes of a plugin to read first. Nearly all headers fit into them.
pub(crate) const HEADER_FIRST: usize = 4 << 10;

/// Maximum number of bytes of a plugin to read. The largest real headers have some 100 KiB, most of
/// it after the masters.
pub(crate) const HEADER_MAX: usize = 1 << 20;

/// Maximum number of masters. Plugin indexes are a byte; light and medium plugins allow thousands.
const MASTERS_MAX: usize = 1 << 13;

/// The part of a plugin's header that affects its place in the load order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    pub flags: u32,
    /// The names of the plugins that this one needs.
    pub masters: Vec<String>,
}

impl Header {
    /// Reads the header of a plugin. `None` if the file is not a plugin or cannot be read. What is not read
    /// of a header may have decided the place of the plugin, so the disk notes it. An empty file has none.
    pub(crate) fn read(disk: &Disk, path: &Path) -> Option<Self> {
        let mut bytes = disk.read_start(path, HEADER_FIRST).ok()?;
        let len = Self::len(&bytes);
        if len > bytes.len() && bytes.len() == HEADER_FIRST {
            bytes = disk.read_start(path, len).ok()?;
        }
        let flaw = match Self::parse_whole(&bytes) {
            None if bytes.is_empty() => None,
            None => Some("it does not begin as a plugin does"),
            // What is beyond the limit is not needed.
            Some((_, false)) if bytes.len() < HEADER_MAX => Some("its header is cut off or damaged"),
            Some(_) => None,
        };
        if let Some(flaw) = flaw {
            let text = format!("{flaw}, so its flags and masters may be other ones, and with them its place");
            disk.add_unseen(Note::not_read(path, &text));
        }
        Self::parse(&bytes)
    }

    /// The header with the names of masters decoded in another code page.
    pub(crate) fn recoded(mut self, code_page: CodePage) -> Self {
        for master in self.masters.iter_mut().filter(|master| !master.is_ascii()) {
            *master = code_page.recoded(master);
        }
        self
    }

    /// Flag of a master, a plugin that others may need.
    pub const MASTER: u32 = 0x1;
    /// Flag of a Starfield plugin that loads after all others.
    pub const BLUEPRINT: u32 = 0x800;

    /// Parses the beginning of a plugin, which may be cut short. `None` if it is not a plugin.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        Self::parse_whole(bytes).map(|(header, _)| header)
    }

    /// As [`Self::parse`]. Also returns whether the header is whole.
    fn parse_whole(bytes: &[u8]) -> Option<(Self, bool)> {
        let mut reader = Reader::new(bytes);
        let magic = reader.take(4, "the record's type").ok()?;
        let mut header = Self::default();
        // If the header is cut short, keep the masters found so far.
        let parsed = match magic {
            b"TES3" => header.parse_tes3(&mut reader),
            b"TES4" => header.parse_tes4(&mut reader),
            _ => return None,
        };
        Some((header, parsed.is_ok()))
    }

    /// Size of the header record in bytes as the record states it, at most [`HEADER_MAX`].
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
        // In Oblivion the record's header ends here; since Fallout 3 four more bytes follow. In
        // both, `HEDR` is the first field.
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
                // The size of the next field, if it does not fit into two bytes.
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

/// Reads Morrowind's flags, which follow the version in `HEDR`.
fn flags_of_hedr(field: &[u8]) -> u32 {
    Reader::at(field, 4, "the flags").and_then(|mut reader| reader.u32("the flags")).unwrap_or(0)
}
