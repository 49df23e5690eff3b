//! Textures that are shown as uncompressed pixels (`--textures=rgba`).
//!
//! The pixels are made from the file as `--textures=dds` shows it: its header says how, and each band of
//! pixels is decoded from one range of it, into the cache.

use std::io::{self, Write};
use std::ops::Range;

use super::cache::{Buffer, CacheKey, CachedContent, Decoded};
use super::error::{EntryError, Reason};
use super::file_bytes::FileBytes;
use super::store::Store;
use crate::format::EntryId;
use crate::picture::{Band, RgbaTexture};

impl Store {
    /// Reads a range of a converted file, as far as the file reaches.
    ///
    /// # Errors
    /// The error of the first extent that cannot be read.
    pub(super) fn read_rgba(
        &self,
        id: EntryId,
        file: &RgbaTexture,
        range: &Range<u64>,
    ) -> Result<FileBytes<'_>, EntryError> {
        let range = range.start.min(file.file_len())..range.end.min(file.file_len());
        if range.is_empty() {
            return Ok(FileBytes::EMPTY);
        }
        // Most reads have one band. Its bytes need no copy.
        let head = file.head_len();
        if let Some(band) = range.start.checked_sub(head).and_then(|offset| file.band(offset))
            && range.end - head <= band.pixels.end
        {
            let at = |offset: u64| (offset - head - band.pixels.start) as usize;
            let bytes = self.decode_band(id, file, &band)?.range(at(range.start)..at(range.end));
            return Ok(FileBytes::in_cache(bytes));
        }
        let len = (range.end - range.start) as usize;
        let mut out = Buffer::new(len, None).map_err(|reason| self.fault_at(id, 0, reason))?;
        let mut at = range.start;
        while at < range.end {
            let to = &mut out[(at - range.start) as usize..];
            let taken = match at.checked_sub(head) {
                None => copy_from(&file.head(), at, to),
                Some(offset) => {
                    let Some(band) = file.band(offset) else { break };
                    let decoded = self.decode_band(id, file, &band)?;
                    let start = (offset - band.pixels.start) as usize;
                    let end = decoded.bytes().len().min(start + to.len());
                    copy_from(&decoded.range(start..end), 0, to)
                }
            };
            at += taken;
        }
        Ok(FileBytes::in_buffer(out, len))
    }

    /// Writes a whole converted file, band by band.
    pub(super) fn copy_rgba(&self, id: EntryId, file: &RgbaTexture, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&file.head())?;
        let mut at = 0;
        while let Some(band) = file.band(at) {
            let decoded = self.decode_band(id, file, &band).map_err(io::Error::other)?;
            let len = decoded.bytes().len();
            to.write_all(&decoded.range(0..len))?;
            at = band.pixels.end;
        }
        Ok(())
    }

    /// A band, from the cache or decoded into it. Reads the texels first. So a thread that waits for this
    /// band never waits for a device.
    fn decode_band(
        &self,
        id: EntryId,
        file: &RgbaTexture,
        band: &Band,
    ) -> Result<Decoded<'_, Reason>, EntryError> {
        let len = (band.pixels.end - band.pixels.start) as usize;
        let content = CachedContent::Band { entry: id.entry, start: band.pixels.start };
        let key = CacheKey { archive: self.layer(id.layer).number, content, size: len as u32 };
        // The read of the texels makes its own error.
        let mut read_error = None;
        let read = || {
            let mut texels = Buffer::new((band.texels.end - band.texels.start) as usize, None)?;
            let read = self.read_plain(id, &band.texels, &mut texels);
            read.map_err(|error| read_error.insert(error).reason.clone()).map(|()| texels)
        };
        let decode = |texels: Buffer| {
            let mut pixels = Buffer::for_cache(len, None)?;
            file.decode(band, &texels, &mut pixels);
            Ok(pixels)
        };
        let decoded = self.shared.cache.decode_once(key, read, decode);
        decoded.map_err(|reason| read_error.unwrap_or_else(|| self.fault_at(id, 0, reason)))
    }
}

/// Copies bytes from `at` on, as many as fit. Returns their number.
fn copy_from(bytes: &[u8], at: u64, to: &mut [u8]) -> u64 {
    let from = &bytes[at as usize..];
    let len = from.len().min(to.len());
    to[..len].copy_from_slice(&from[..len]);
    len as u64
}
