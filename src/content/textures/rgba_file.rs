//! Textures that are shown as uncompressed pixels (`--textures=rgba`).
//!
//! The pixels are made from the file as `--textures=dds` shows it: its header says how, and each band of
//! pixels is decoded from one range of it, into the cache.

use std::io::Write;
use std::ops::Range;

use super::linear_file::Unconverted;
use crate::content::cache::{Buffer, CacheKey, CachedContent, Decoded};
use crate::content::error::{CopyError, ReadFault, Reason};
use crate::content::read::{FileBytes, PlainFile};
use crate::picture::{Band, RgbaTexture};

/// A texture that is shown as pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct RgbaFile<'s> {
    file: Unconverted<'s>,
    texture: &'s RgbaTexture,
}

impl<'s> RgbaFile<'s> {
    pub(super) fn new(file: Unconverted<'s>, texture: &'s RgbaTexture) -> Self {
        Self { file, texture }
    }

    /// Reads a range of the file, or less at the end of the file.
    pub(super) fn read(&self, range: &Range<u64>) -> Result<FileBytes<'s>, ReadFault> {
        let file_len = self.texture.file_len();
        let range = range.start.min(file_len)..range.end.min(file_len);
        if range.is_empty() {
            return Ok(FileBytes::EMPTY);
        }
        // Most reads have one band. Its bytes need no copy.
        let head = self.texture.head_len();
        if let Some(band) = range.start.checked_sub(head).and_then(|offset| self.texture.band(offset))
            && range.end - head <= band.pixels.end
        {
            let at = |offset: u64| (offset - head - band.pixels.start) as usize;
            let bytes = self.decode(&band)?.range(at(range.start)..at(range.end));
            return Ok(FileBytes::in_cache(bytes));
        }
        let len = (range.end - range.start) as usize;
        let mut out = Buffer::new(len, None).map_err(ReadFault::at_start)?;
        let mut at = range.start;
        while at < range.end {
            let to = &mut out[(at - range.start) as usize..];
            let taken = match at.checked_sub(head) {
                None => copy_from(&self.texture.head(), at, to),
                Some(offset) => {
                    let Some(band) = self.texture.band(offset) else { break };
                    let decoded = self.decode(&band)?;
                    let start = (offset - band.pixels.start) as usize;
                    let end = decoded.bytes().len().min(start + to.len());
                    copy_from(&decoded.range(start..end), 0, to)
                }
            };
            at += taken;
        }
        Ok(FileBytes::in_buffer(out, len))
    }

    /// Writes the whole file, band by band. Returns its size in bytes.
    pub(super) fn copy(&self, to: &mut impl Write) -> Result<u64, CopyError> {
        to.write_all(&self.texture.head()).map_err(CopyError::Writer)?;
        let mut at = 0;
        while let Some(band) = self.texture.band(at) {
            let decoded = self.decode(&band)?;
            let len = decoded.bytes().len();
            to.write_all(&decoded.range(0..len)).map_err(CopyError::Writer)?;
            at = band.pixels.end;
        }
        Ok(self.texture.file_len())
    }

    /// A band, from the cache or decoded into it. The texels are read before, so a thread that waits for
    /// this band never waits for a device.
    fn decode(&self, band: &Band) -> Result<Decoded<'s, Reason>, ReadFault> {
        let PlainFile { archive, entry } = self.file.plain();
        let len = (band.pixels.end - band.pixels.start) as usize;
        let content = CachedContent::Band { entry, start: band.pixels.start };
        let key = CacheKey { archive: archive.number, content, size: len as u32 };
        if let Some(pixels) = archive.resources.cache.get(key) {
            return Ok(pixels);
        }
        let texels = Buffer::new((band.texels.end - band.texels.start) as usize, None);
        let mut texels = texels.map_err(ReadFault::at_start)?;
        self.file.read_into(&band.texels, &mut texels)?;
        let decode = || {
            let mut pixels = Buffer::for_cache(len, None)?;
            self.texture.decode(band, &texels, &mut pixels);
            Ok(pixels)
        };
        archive.resources.cache.decode_once(key, decode).map_err(ReadFault::at_start)
    }
}

/// Copies bytes from `at` on, as many as fit. Returns their number.
fn copy_from(bytes: &[u8], at: u64, to: &mut [u8]) -> u64 {
    let from = &bytes[at as usize..];
    let len = from.len().min(to.len());
    to[..len].copy_from_slice(&from[..len]);
    len as u64
}
