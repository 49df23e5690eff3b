//! Errors of making a picture of a file.

use std::{fmt, io};

use crate::texture::file_header::HeaderError;

/// Why no picture could be made of a file.
#[derive(Debug)]
pub enum PictureError {
    /// Reading the file failed.
    Io(io::Error),
    /// The file is not a texture, or its header is damaged.
    Header(HeaderError),
    /// The pixel format of this name cannot be decoded.
    Format(String),
    /// The file ends before the end of the mip that is needed.
    CutOff {
        len: u64,
        /// Minimum length that a file with the whole largest mip would have.
        needed: u64,
    },
    /// The tile mode of the texels is not supported.
    Tiled(u8),
    /// The tiled texels have this many bytes, more than the limit.
    TooLong(u64),
    Volume,
    /// The pixels would have this many bytes, more than the limit.
    TooLarge(u64),
}

impl PictureError {
    /// Whether the file ends before its largest mip does.
    pub fn is_cut_off(&self) -> bool {
        matches!(self, Self::Header(HeaderError::Short) | Self::CutOff { .. })
    }

    /// Whether the file is damaged, and not only of a kind that cannot be decoded.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Header(HeaderError::Field(..))) || self.is_cut_off()
    }

    /// The kind of the error in two or three words, for counts.
    pub fn in_short(&self) -> &'static str {
        match self {
            Self::Io(_) => "unreadable",
            Self::Header(HeaderError::NotTexture) => "no texture",
            Self::Header(HeaderError::Short) | Self::CutOff { .. } => "cut off",
            Self::Header(HeaderError::Field(..)) => "a damaged header",
            Self::Header(HeaderError::FourCc(_) | HeaderError::Unknown(_) | HeaderError::Gnf) => {
                "an unknown format"
            }
            Self::Header(HeaderError::Other(kind)) => kind,
            Self::Header(HeaderError::Palette) => "a palette",
            Self::Format(_) | Self::Header(HeaderError::Format(_)) => "an unsupported format",
            Self::Tiled(_) => "tiled for a console",
            Self::Volume => "a volume",
            Self::TooLong(_) | Self::TooLarge(_) => "too large",
        }
    }
}

impl fmt::Display for PictureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "cannot be read: {error}"),
            Self::Header(error) => error.fmt(f),
            Self::Format(name) => write!(f, "the pixel format {name} is not supported"),
            Self::CutOff { len, needed } => write!(
                f,
                "cut off: it has {len} bytes, and its largest mip needs {needed}; get the file or its \
                 archive again"
            ),
            Self::Tiled(mode) => {
                write!(f, "its texels are tiled for a console in an unsupported way (tile mode {mode})")
            }
            Self::Volume => f.write_str("a texture with depth has no picture; use an editor for volumes"),
            Self::TooLarge(len) => write!(f, "too large: its pixels would have {len} bytes"),
            Self::TooLong(len) => write!(
                f,
                "too many bytes of texels that are tiled for a console ({len}); mount the archive with \
                 --textures=dds to convert them"
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
