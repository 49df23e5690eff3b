//! Whole files: written out for `cat` and `extract`, and checked for `verify`.

use std::io::{self, Write};

use super::cache::Buffer;
use super::codec::{self, Quirk};
use super::error::{EntryError, Reason};
use super::pieces::Part;
use super::store::Store;
use super::tables::Converted;
use crate::format::{Codec, EntryId};

/// Length of the pieces in which stored files are copied and checked, in bytes.
const COPY_LEN: usize = 1 << 20;

/// What was found in a file that was decoded in full.
#[derive(Debug)]
pub(crate) struct Examined {
    /// The quirks of its extents.
    pub(crate) quirks: Vec<Quirk>,
    /// The stated codec of the first extent that no checksum covers.
    pub(crate) unchecked: Option<Codec>,
}

impl Store {
    /// Writes a whole file, piece by piece. Returns its size in bytes.
    ///
    /// # Errors
    /// The error of the first extent that cannot be read, as the source of an [`io::Error`]; or the
    /// writer's error.
    pub fn copy(&self, id: EntryId, to: &mut impl Write) -> io::Result<u64> {
        if let Some(files) = self.loose(id) {
            return files.copy(id, to);
        }
        match self.converted(id).map_err(io::Error::other)? {
            Some(Converted::Rgba(texture)) => {
                self.copy_rgba(id, texture, to)?;
                Ok(texture.file_len())
            }
            Some(Converted::Headed(header)) => self.copy_headed(id, header, to),
            Some(Converted::Kept(_)) | None => self.copy_plain(id, to),
        }
    }

    /// Writes a whole file of an archive, before any conversion.
    pub(super) fn copy_plain(&self, id: EntryId, to: &mut impl Write) -> io::Result<u64> {
        let layer = self.layer(id.layer);
        for (part, _) in layer.parts(id.entry) {
            match part {
                Part::Head => to.write_all(&layer.tables.head_bytes(id.entry))?,
                Part::Linear(texture, len) => {
                    let rows = self.decode_linear(id, (texture, len)).map_err(io::Error::other)?;
                    to.write_all(rows.bytes())?;
                }
                Part::Extent(index) => {
                    let written = self.with_extent(id, index, |bytes, _| to.write_all(bytes));
                    written.map_err(io::Error::other)??;
                }
            }
        }
        let size = self.plain_size(id).map_err(|(index, reason)| self.fault(id, index, reason));
        size.map_err(io::Error::other)
    }

    /// Decodes a whole file. Returns the quirks of its extents, all of which were decoded in full.
    ///
    /// # Errors
    /// The error of the first extent that cannot be read.
    pub fn check(&self, id: EntryId) -> Result<Vec<Quirk>, EntryError> {
        self.examine(id).map(|examined| examined.quirks)
    }

    /// Decodes a whole file, as [`Store::check`] does, and finds out what no checksum covers.
    ///
    /// # Errors
    /// The error of the first extent that cannot be read.
    pub(crate) fn examine(&self, id: EntryId) -> Result<Examined, EntryError> {
        if let Some(files) = self.loose(id) {
            return files.check(id).map(|()| Examined { quirks: Vec::new(), unchecked: Some(Codec::Stored) });
        }
        let layer = self.layer(id.layer);
        let (mut quirks, mut unchecked) = (Vec::new(), None);
        if layer.tables.linear(id.entry).is_some() {
            // Only the extents are left to check: the lengths of texels were compared at opening.
            self.check_sizes(id)?;
        }
        for index in layer.tables.extents(id.entry) {
            quirks.extend(layer.prefix_quirk(index));
            let note = |bytes: &[u8], packed: Option<(&[u8], Option<Quirk>)>| {
                let codec = layer.tables.extent(index).codec;
                let quirk = packed.and_then(|(_, quirk)| quirk);
                let is_covered = packed.is_some_and(|(packed, _)| codec::has_checksum(codec, packed, quirk));
                if !is_covered && !bytes.is_empty() {
                    unchecked = unchecked.or(Some(codec));
                }
                quirks.extend(quirk);
                Ok::<_, EntryError>(())
            };
            self.with_extent(id, index, note)??;
        }
        Ok(Examined { quirks, unchecked })
    }

    /// Calls `use_it` with the bytes of an extent: in pieces if it is stored, otherwise as a whole
    /// and with its payload and quirk. Stops if `use_it` fails, and returns that error inside.
    fn with_extent<E>(
        &self,
        id: EntryId,
        index: u32,
        mut use_it: impl FnMut(&[u8], Option<(&[u8], Option<Quirk>)>) -> Result<(), E>,
    ) -> Result<Result<(), E>, EntryError> {
        let layer = self.layer(id.layer);
        let fault = |reason| self.fault(id, index, reason);
        if layer.tables.extent(index).codec != Codec::Stored {
            let size = self.checked_size(id.layer, index).map_err(fault)?;
            return self.with_decoded(id, index, size, use_it).map_err(fault);
        }
        let size = layer.size(index).map_err(fault)?;
        for start in (0..size).step_by(COPY_LEN) {
            let len = COPY_LEN.min((size - start) as usize);
            let mut out = Buffer::new(len, None).map_err(fault)?;
            layer.read_stored(index, size, u64::from(start), &mut out).map_err(fault)?;
            let used = use_it(&out, None);
            if used.is_err() {
                return Ok(used);
            }
        }
        Ok(Ok(()))
    }

    /// Calls `use_it` with a whole extent, whose size was checked, and with its payload and quirk.
    fn with_decoded<T>(
        &self,
        id: EntryId,
        index: u32,
        size: u32,
        use_it: impl FnOnce(&[u8], Option<(&[u8], Option<Quirk>)>) -> T,
    ) -> Result<T, Reason> {
        let size = size as usize;
        let payload = self.layer(id.layer).read_payload(index, u64::MAX)?;
        let mut out = Buffer::new(size, self.reserve(size))?;
        let quirk = self.decode(id, index, payload.bytes(), &mut out)?;
        Ok(use_it(&out, Some((&payload, quirk))))
    }
}
