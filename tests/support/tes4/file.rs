//! Folders and files of a [`super::Tes4`] archive, and how each may differ from a correct one.

/// A folder of a [`super::Tes4`] archive.
#[derive(Clone, Debug, Default)]
pub struct Tes4Folder {
    pub(in super::super) name: Vec<u8>,
    pub(super) hash: Option<u64>,
    pub(super) count: Option<u32>,
    pub(super) offset: Option<u64>,
    pub(super) name_field: Option<Vec<u8>>,
}

impl Tes4Folder {
    /// `name` is the folder's full path as it shall be stored.
    pub fn new(name: impl AsRef<[u8]>) -> Self {
        Self { name: name.as_ref().to_vec(), ..Self::default() }
    }

    /// Stored instead of the name's own hash, in whichever byte order.
    pub fn with_hash(mut self, hash: u64) -> Self {
        self.hash = Some(hash);
        self
    }

    /// How many files the record states.
    pub fn count(mut self, stated: u32) -> Self {
        self.count = Some(stated);
        self
    }

    /// The record's offset, wherever the block is.
    pub fn offset(mut self, stated: u64) -> Self {
        self.offset = Some(stated);
        self
    }

    /// The bytes before the file records instead of length, name and NUL. A lone NUL is the form of damaged archives
    /// that has a length and no name.
    pub fn with_name_field(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.name_field = Some(bytes.into());
        self
    }

    pub(super) fn name_field(&self) -> Vec<u8> {
        self.name_field
            .clone()
            .unwrap_or_else(|| [&[(self.name.len() + 1) as u8], &self.name[..], b"\0"].concat())
    }

    /// The embedded path of a file of this folder; the game's own tool leaves out the root.
    pub(super) fn path_of(&self, name: &[u8]) -> Vec<u8> {
        match &self.name[..] {
            b"" | b"." => name.to_vec(),
            folder => [folder, b"\\", name].concat(),
        }
    }
}

/// A file of a [`super::Tes4`] archive.
#[derive(Clone, Debug, Default)]
pub struct Tes4File {
    pub(in super::super) name: Vec<u8>,
    pub(in super::super) data: Vec<u8>,
    pub(super) toggle: bool,
    pub(super) stream: Option<Vec<u8>>,
    pub(super) size_word: SizeWord,
    pub(super) block: Option<Vec<u8>>,
    pub(super) embedded: Option<Vec<u8>>,
    pub(super) embedded_length: Option<u8>,
    pub(super) hash: Option<u64>,
    pub(super) record_size: Option<u32>,
    pub(super) record_offset: Option<u32>,
    pub(super) size_bits: u32,
    pub(super) offset_bits: u32,
    pub(super) at: Option<u64>,
    pub(super) gap: Vec<u8>,
    pub(in super::super) shares: Option<usize>,
}

/// What precedes a packed file's stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum SizeWord {
    #[default]
    True,
    Declared(u32),
    Absent,
}

impl Tes4File {
    /// `name` is the file's name without its folder, as it shall be stored; `data` its content, which is packed if the
    /// archive's flags require it.
    pub fn new(name: impl AsRef<[u8]>, data: impl Into<Vec<u8>>) -> Self {
        Self { name: name.as_ref().to_vec(), data: data.into(), ..Self::default() }
    }

    /// Packed where the archive's files are stored, and the reverse: bit 30 of the size.
    pub fn toggle(mut self) -> Self {
        self.toggle = true;
        self
    }

    /// The payload as stored, instead of the packed data.
    pub fn stream(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stream = Some(bytes.into());
        self
    }

    /// The size in bytes that a packed file states.
    pub fn declared(mut self, size: u32) -> Self {
        self.size_word = SizeWord::Declared(size);
        self
    }

    /// Packed, but without the word that states its size.
    pub fn no_size_word(mut self) -> Self {
        self.size_word = SizeWord::Absent;
        self
    }

    /// The data of the file: only these bytes, without embedded name and size.
    pub fn block(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.block = Some(bytes.into());
        self
    }

    /// Embedded instead of the file's own path.
    pub fn embedded(mut self, path: impl AsRef<[u8]>) -> Self {
        self.embedded = Some(path.as_ref().to_vec());
        self
    }

    /// The length byte before the embedded path.
    pub fn embedded_length(mut self, stated: u8) -> Self {
        self.embedded_length = Some(stated);
        self
    }

    /// Stored instead of the name's own hash, in whichever byte order.
    pub fn with_hash(mut self, hash: u64) -> Self {
        self.hash = Some(hash);
        self
    }

    /// The record's size field, flags and all.
    pub fn record_size(mut self, field: u32) -> Self {
        self.record_size = Some(field);
        self
    }

    /// The record's offset field.
    pub fn record_offset(mut self, field: u32) -> Self {
        self.record_offset = Some(field);
        self
    }

    /// Bits to set in the size field.
    pub fn size_bits(mut self, bits: u32) -> Self {
        self.size_bits = bits;
        self
    }

    /// Bits to set in the offset field.
    pub fn offset_bits(mut self, bits: u32) -> Self {
        self.offset_bits = bits;
        self
    }

    /// The offset of the data, from the start of the archive.
    pub fn at(mut self, offset: u64) -> Self {
        self.at = Some(offset);
        self
    }

    /// Unused bytes before the data.
    pub fn gap(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.gap = bytes.into();
        self
    }

    /// Has the data block of the `nth` file added (from 0, an earlier one) instead of its own.
    pub fn shares(mut self, nth: usize) -> Self {
        self.shares = Some(nth);
        self
    }
}
