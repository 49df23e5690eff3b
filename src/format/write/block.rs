//! Where the data of a file lies in a new archive.

/// A piece of a file's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Offset from the start of the archive, in bytes.
    pub offset: u64,
    /// Number of bytes in the archive, with an embedded name and with the unpacked size.
    pub len: u32,
    /// Number of bytes of the piece, unpacked.
    pub size: u32,
    pub is_packed: bool,
}

/// Why tables cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableError {
    /// A number, such as an offset, does not fit into its field.
    TooLarge,
    /// The number of files and that of their blocks differ.
    Blocks,
}

impl std::fmt::Display for TableError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::TooLarge => "the archive has more bytes or names than its format can state",
            Self::Blocks => "files lack their data",
        })
    }
}

impl std::error::Error for TableError {}
