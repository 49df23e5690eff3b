//! A run of an archive's bytes that becomes a run of a file's bytes, and how it is packed.

/// A run of bytes in an archive that becomes a run of bytes in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Where it begins, in bytes from the start of the archive.
    pub offset: u64,
    /// How many bytes it takes there, its prefix included.
    pub packed: u32,
    /// How many bytes it becomes; `None` where only its prefix states it.
    pub size: Option<u32>,
    /// How it is packed.
    pub codec: Codec,
    /// What precedes the payload.
    pub prefix: ExtentPrefix,
}

/// How an extent's payload is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Codec {
    /// Not at all.
    Stored,
    /// A zlib stream; raw deflate where the zlib header is missing.
    Zlib,
    /// An LZ4 frame.
    Lz4Frame,
    /// One LZ4 block without a frame.
    Lz4Block,
    /// Xbox 360 LZX frames.
    Xmem,
    /// The archive states a method that is not known: the payload's first bytes decide.
    Detect,
    /// A compression that is not documented anywhere: the file is listed, and reading it is an error.
    Unsupported,
}

impl Codec {
    /// The codec's name in listings and attributes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Zlib => "zlib",
            Self::Lz4Frame => "lz4 frame",
            Self::Lz4Block => "lz4 block",
            Self::Xmem => "xmem",
            Self::Detect => "unknown method",
            Self::Unsupported => "unsupported",
        }
    }
}

/// What precedes an extent's payload in the archive; its packed length counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtentPrefix {
    /// A length byte and a path: the embedded name of v104 and v105.
    pub name: bool,
    /// A u32 with the unpacked size in bytes. An extent that ends before it is an empty file.
    pub size: bool,
}

impl ExtentPrefix {
    /// The extent begins with its payload.
    pub const NONE: Self = Self { name: false, size: false };

    /// Whether the extent begins with its payload.
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }
}
