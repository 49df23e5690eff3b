//! How the textures of one archive are shown, if not as they are stored, as far as their headers were read.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::texture_form::TextureForm;
use crate::format::Head;
use crate::picture::{PictureError, RgbaTexture};
use crate::texture::file_header::{FileHeader, compatible};

/// How a texture is shown.
#[derive(Debug)]
pub(crate) enum Converted {
    /// As uncompressed pixels.
    Rgba(Box<RgbaTexture>),
    /// As it is stored, but under another header.
    Headed(Box<NewHeader>),
    /// As it is stored. The words say why it is not converted; they are empty if nothing had to be.
    Kept(&'static str),
}

/// A header that replaces the stored one.
#[derive(Debug)]
pub(crate) struct NewHeader {
    pub(crate) bytes: Vec<u8>,
    /// Length of the stored header in bytes.
    pub(crate) replaces: u64,
    /// Length of the stored file in bytes.
    stored_len: u64,
}

impl NewHeader {
    /// Length of the file with this header, in bytes.
    pub(crate) fn file_len(&self) -> u64 {
        self.bytes.len() as u64 + self.stored_len.saturating_sub(self.replaces)
    }
}

impl Converted {
    /// How a texture file of `len` bytes is shown in a form, by its first bytes.
    pub(crate) fn of(form: TextureForm, first: &[u8], len: u64) -> Self {
        let header = match FileHeader::parse(first, len) {
            Ok(header) => header,
            Err(error) => return Self::kept(form, &error.into()),
        };
        if form != TextureForm::Compatible {
            return match RgbaTexture::new(header, len) {
                Ok(texture) if form == TextureForm::RgbaTop => Self::Rgba(Box::new(texture.without_mips())),
                Ok(texture) => Self::Rgba(Box::new(texture)),
                Err(error) => Self::kept(form, &error),
            };
        }
        match compatible(first, &header) {
            Some(bytes) => Self::Headed(Box::new(NewHeader { bytes, replaces: header.len, stored_len: len })),
            None => Self::Kept(""),
        }
    }

    fn kept(form: TextureForm, error: &PictureError) -> Self {
        // For the compatible form, nothing has to be decoded.
        Self::Kept(if form == TextureForm::Compatible { "" } else { error.in_short() })
    }

    /// Length of the shown file in bytes; `None` if it is shown as it is stored.
    pub(crate) fn file_len(&self) -> Option<u64> {
        match self {
            Self::Rgba(texture) => Some(texture.file_len()),
            Self::Headed(header) => Some(header.file_len()),
            Self::Kept(_) => None,
        }
    }
}

/// Why a texture stays as it is: the cache cannot keep one of its extents.
pub(crate) const TOO_LARGE: &str = "larger than the cache";

/// The textures of one archive.
#[derive(Debug, Default)]
pub(crate) struct ConvertedFiles {
    /// The entries that may be textures, ascending.
    entries: Vec<u32>,
    /// How each is shown, once its header was read.
    files: Vec<OnceLock<Converted>>,
    /// Number of files whose headers were not read yet.
    unknown: AtomicUsize,
    /// Whether a file that stays as it is was reported.
    is_reported: AtomicBool,
}

impl ConvertedFiles {
    /// Files whose headers have to be read. The entries must be in order.
    pub(crate) fn of_files(entries: Vec<u32>) -> Self {
        let files = entries.iter().map(|_| OnceLock::new()).collect();
        Self { unknown: AtomicUsize::new(entries.len()), entries, files, is_reported: AtomicBool::new(false) }
    }

    /// Textures whose heads the archive's tables state, each with the length of its texels in bytes. An entry
    /// without a head has an extent that is too large.
    pub(crate) fn of_heads(form: TextureForm, heads: impl Iterator<Item = (Head, u64)>) -> Self {
        let file = |(head, len): (Head, u64)| match head {
            Head::None => Converted::Kept(TOO_LARGE),
            Head::Dds(_) => Converted::of(form, &head.bytes(len), head.len() + len),
            _ => Converted::Kept(PictureError::Tiled(0).in_short()),
        };
        let files: Vec<_> = heads.map(|head| OnceLock::from(file(head))).collect();
        Self {
            entries: (0..).take(files.len()).collect(),
            files,
            unknown: AtomicUsize::new(0),
            is_reported: AtomicBool::new(false),
        }
    }

    /// Whether the headers of all files were read.
    pub(crate) fn is_all_known(&self) -> bool {
        self.unknown.load(Ordering::Relaxed) == 0
    }

    /// How an entry is shown; `None` if the entry is not a texture.
    pub(crate) fn file(&self, entry: u32) -> Option<&OnceLock<Converted>> {
        let index = self.entries.binary_search(&entry).ok()?;
        self.files.get(index)
    }

    /// Sets how an entry is shown. A second call changes nothing.
    pub(crate) fn set(&self, entry: u32, file: Converted) {
        if self.file(entry).is_some_and(|cell| cell.set(file).is_ok()) {
            self.unknown.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether no file that stays as it is was reported so far. Only the first call returns true.
    pub(crate) fn is_first_kept(&self) -> bool {
        !self.is_reported.swap(true, Ordering::Relaxed)
    }

    /// The textures that stay as they are, as far as their headers were read, and why.
    pub(crate) fn kept(&self) -> impl Iterator<Item = (u32, &'static str)> {
        let why = |cell: &OnceLock<Converted>| match cell.get()? {
            Converted::Kept(why) if !why.is_empty() => Some(*why),
            _ => None,
        };
        self.entries.iter().zip(&self.files).filter_map(move |(entry, cell)| Some((*entry, why(cell)?)))
    }
}
