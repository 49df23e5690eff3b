//! Why there is no picture of a file.

use std::{fmt, io};

use crate::texture::file_header::HeaderError;

/// Why there is no picture of a file.
#[derive(Debug)]
pub enum PictureError {
    /// The system's.
    Io(io::Error),
    /// The file is no texture, or its header is damaged.
    Header(HeaderError),
    /// A pixel format that is not decoded, by its name.
    Format(String),
    /// Texels end before the mip that is needed does: the file has so many bytes and would have so many.
    CutOff {
        /// Of the file.
        len: u64,
        /// Of the file if it were whole up to the end of that mip.
        needed: u64,
    },
    /// Texels in an arrangement that is not known, by its tile mode.
    Tiled(u8),
    /// Tiled texels of so many bytes, more than are read.
    TooLong(u64),
}

impl fmt::Display for PictureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "cannot read it: {error}"),
            Self::Header(error) => error.fmt(f),
            Self::Format(name) => write!(f, "the pixel format {name} is not supported"),
            Self::CutOff { len, needed } => write!(
                f,
                "cut off: it has {len} bytes and needs {needed}; if it was copied or extracted, do that again"
            ),
            Self::Tiled(mode) => write!(
                f,
                "its texels are tiled for a console (tile mode {mode}) in a way that is not known; `bsafs mount \
                 --textures=dds` shows those that are"
            ),
            Self::TooLong(len) => write!(
                f,
                "its texels are tiled for a console and too long to rearrange ({len} bytes); `bsafs mount \
                 --textures=dds` shows them in rows"
            ),
        }
    }
}

impl std::error::Error for PictureError {}

impl From<io::Error> for PictureError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<HeaderError> for PictureError {
    fn from(error: HeaderError) -> Self {
        Self::Header(error)
    }
}
