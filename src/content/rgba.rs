//! Textures that are shown as uncompressed pixels (`--textures=rgba`).
//!
//! The pixels are made from the file as `--textures=dds` shows it: its header says how, and each band of
//! pixels is decoded from one range of it, into the cache. If an archive stores headers within the files, the
//! size of the converted file is known once the header has been read.

use std::io::{self, Write};
use std::ops::Range;

use super::archive_content::ArchiveContent;
use super::buffer::Buffer;
use super::cache::{CacheKey, Decoded};
use super::error::{EntryError, Reason};
use super::file_bytes::FileBytes;
use super::store::Store;
use crate::format::EntryId;
use crate::picture::{Band, PIXELS_MAX, RgbaTexture};
use crate::texture::file_header::{FileHeader, HEADER_MAX};

/// Set in the offset of a band's cache key. The bits above [`PIXEL_BITS`] have the entry, those below the
/// first pixel.
const BAND_KEY: u64 = 1 << 62;
/// Number of bits of the first pixel of a band. A pixel has four bytes.
const PIXEL_BITS: u32 = 30;
const _: () = assert!(PIXELS_MAX / 4 <= 1 << PIXEL_BITS);

impl ArchiveContent {
    /// How an entry is converted; `None` if it is not, or if that is not known yet.
    pub(super) fn rgba(&self, entry: u32) -> Option<&RgbaTexture> {
        self.tables.rgba.file(entry)?.get()?.as_deref()
    }

    /// Whether the header of an entry must be read to know how the entry is shown.
    pub(super) fn needs_header(&self, entry: u32) -> bool {
        self.tables.rgba.file(entry).is_some_and(|file| file.get().is_none())
    }
}

impl Store {
    /// How a file is converted; `None` if it is not converted. Reads the file's header if that decides it.
    ///
    /// # Errors
    /// The header cannot be read now.
    pub(super) fn rgba(&self, id: EntryId) -> Result<Option<&RgbaTexture>, EntryError> {
        let Some(file) = self.layer(id.layer).tables.rgba.file(id.entry) else { return Ok(None) };
        if let Err(error) = self.learn_header(id)
            && file.get().is_none()
        {
            return Err(error);
        }
        Ok(file.get().and_then(Option::as_deref))
    }

    /// Reads the header of a file, if that decides how the file is shown. If the data is damaged, the file is
    /// not converted.
    ///
    /// # Errors
    /// The error of the first extent that cannot be read.
    pub(super) fn learn_header(&self, id: EntryId) -> Result<(), EntryError> {
        let layer = self.layer(id.layer);
        if !layer.needs_header(id.entry) {
            return Ok(());
        }
        let read = self.plain_size(id).map_err(|(index, reason)| self.fault(id, index, reason));
        let read = read.and_then(|len| {
            if layer.tables.has_huge_extent(id.entry) {
                return Ok(None);
            }
            let mut first = [0; HEADER_MAX];
            let first = &mut first[..len.min(HEADER_MAX as u64) as usize];
            self.read_plain(id, &(0..first.len() as u64), first)?;
            Ok(FileHeader::parse(first).ok().and_then(|header| RgbaTexture::new(header, len).ok()))
        });
        match read {
            Ok(file) => layer.tables.rgba.set(id.entry, file),
            // The device or the memory may be there again later.
            Err(error) if matches!(error.reason, Reason::Io(_) | Reason::NoMemory(_) | Reason::Changed) => {
                return Err(error);
            }
            Err(error) => {
                layer.tables.rgba.set(id.entry, None);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Reads a range of a converted file, as far as the file reaches; `None` if the file is not converted.
    ///
    /// # Errors
    /// The error of the first extent that cannot be read.
    pub(super) fn read_rgba(
        &self,
        id: EntryId,
        range: &Range<u64>,
    ) -> Result<Option<FileBytes<'_>>, EntryError> {
        let Some(file) = self.rgba(id)? else { return Ok(None) };
        let range = range.start.min(file.file_len())..range.end.min(file.file_len());
        if range.is_empty() {
            return Ok(Some(FileBytes::EMPTY));
        }
        // Most reads have one band. Its bytes need no copy.
        let head = file.head_len();
        if let Some(band) = range.start.checked_sub(head).and_then(|offset| file.band(offset))
            && range.end - head <= band.pixels.end
        {
            let at = |offset: u64| (offset - head - band.pixels.start) as usize;
            let bytes = self.decode_band(id, file, &band)?.range(at(range.start)..at(range.end));
            return Ok(Some(FileBytes::in_cache(bytes)));
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
        Ok(Some(FileBytes::in_buffer(out, len)))
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
        let offset = BAND_KEY | u64::from(id.entry) << PIXEL_BITS | (band.pixels.start / 4);
        let key = CacheKey { archive: self.layer(id.layer).number, offset, size: len as u32 };
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
