//! Extents: runs of bytes in an archive, and how they are packed.

/// A run of bytes in an archive that becomes a run of bytes in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// Start, in bytes from the start of the archive.
    pub offset: u64,
    /// Length in the archive in bytes, prefix included.
    pub packed: u32,
    /// Length in the file in bytes; `None` if only the prefix states it, or nothing.
    pub size: Option<u32>,
    /// How the payload is packed.
    pub codec: Codec,
    /// What precedes the payload.
    pub prefix: ExtentPrefix,
}

impl Extent {
    /// Whether the extent's size is what its payload decodes to, because nothing states it.
    pub fn is_sized_by_decoding(&self) -> bool {
        self.codec == Codec::Lzss
    }
}

/// How an extent's payload is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Codec {
    /// Not packed.
    Stored,
    /// A zlib stream, or raw deflate if the zlib header is missing.
    Zlib,
    /// An LZ4 frame.
    Lz4Frame,
    /// One LZ4 block without a frame.
    Lz4Block,
    /// Xbox 360 LZX frames.
    Xmem,
    /// Battlespire's LZSS, whose unpacked size nothing states.
    Lzss,
    /// The archive states an unknown method, so the payload's first bytes decide.
    Detect,
    /// An undocumented compression: the file is listed, but cannot be read.
    Unsupported,
}

impl Codec {
    /// The codec's name in listings and extended attributes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stored => "uncompressed",
            Self::Zlib => "zlib",
            Self::Lz4Frame => "lz4 frame",
            Self::Lz4Block => "lz4 block",
            Self::Xmem => "xmem",
            Self::Lzss => "lzss",
            Self::Detect => "unknown method",
            Self::Unsupported => "unsupported",
        }
    }
}

/// What precedes an extent's payload in the archive. The packed length includes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExtentPrefix {
    /// A length byte and a path: the embedded name of versions 104 and 105.
    pub name: bool,
    /// A u32 with the unpacked size in bytes. An extent that ends before it is an empty file.
    pub size: bool,
}

impl ExtentPrefix {
    /// No prefix: the extent begins with its payload.
    pub const NONE: Self = Self { name: false, size: false };

    /// Whether the extent begins with its payload.
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }
}
