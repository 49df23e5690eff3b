//! The textures of one archive that are converted to `rgba`, as far as their headers were read.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::format::Head;
use crate::picture::RgbaTexture;
use crate::texture::file_header::FileHeader;

/// The textures of one archive.
#[derive(Debug, Default)]
pub(super) struct RgbaFiles {
    /// The entries that may be textures, ascending.
    entries: Vec<u32>,
    /// How each is converted, once its header was read; `None` inside if it is not.
    files: Vec<OnceLock<Option<Box<RgbaTexture>>>>,
    /// Number of files whose headers were not read yet.
    unknown: AtomicUsize,
}

impl RgbaFiles {
    /// Files whose headers have to be read. The entries must be in order.
    pub(super) fn of_files(entries: Vec<u32>) -> Self {
        let files = entries.iter().map(|_| OnceLock::new()).collect();
        Self { unknown: AtomicUsize::new(entries.len()), entries, files }
    }

    /// Textures whose heads the archive's tables state, each with the length of its texels in bytes.
    pub(super) fn of_heads(heads: impl Iterator<Item = (Head, u64)>) -> Self {
        let file = |(head, len): (Head, u64)| {
            let header = matches!(head, Head::Dds(_)).then(|| FileHeader::parse(&head.bytes(len)).ok());
            let file = header.flatten().and_then(|header| RgbaTexture::new(header, head.len() + len).ok());
            OnceLock::from(file.map(Box::new))
        };
        let files: Vec<_> = heads.map(file).collect();
        Self { entries: (0..).take(files.len()).collect(), files, unknown: AtomicUsize::new(0) }
    }

    /// Whether the headers of all files were read.
    pub(super) fn is_all_known(&self) -> bool {
        self.unknown.load(Ordering::Relaxed) == 0
    }

    /// How an entry is converted; `None` if the entry is not a texture.
    pub(super) fn file(&self, entry: u32) -> Option<&OnceLock<Option<Box<RgbaTexture>>>> {
        let index = self.entries.binary_search(&entry).ok()?;
        self.files.get(index)
    }

    /// Sets how an entry is shown. A second call changes nothing.
    pub(super) fn set(&self, entry: u32, file: Option<RgbaTexture>) {
        if self.file(entry).is_some_and(|cell| cell.set(file.map(Box::new)).is_ok()) {
            self.unknown.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
