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
    /// A folder with the full path `name`, stored as given.
    pub fn new(name: impl AsRef<[u8]>) -> Self {
        Self { name: name.as_ref().to_vec(), ..Self::default() }
    }

    /// Replaces the hash of the name. The new one is stored as given, even for the Xbox 360.
    pub fn with_hash(mut self, hash: u64) -> Self {
        self.hash = Some(hash);
        self
    }

    /// Sets how many files the record states.
    pub fn count(mut self, stated: u32) -> Self {
        self.count = Some(stated);
        self
    }

    /// Sets the offset that the record states, wherever the block really is.
    pub fn offset(mut self, stated: u64) -> Self {
        self.offset = Some(stated);
        self
    }

    /// Sets the bytes before the file records, instead of length, name and NUL. In damaged archives
    /// this can be a lone NUL: a length without a name.
    pub fn with_name_field(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.name_field = Some(bytes.into());
        self
    }

    pub(super) fn name_field(&self) -> Vec<u8> {
        self.name_field
            .clone()
            .unwrap_or_else(|| [&[(self.name.len() + 1) as u8], &self.name[..], b"\0"].concat())
    }

    /// The embedded path of a file of this folder. The game's own tool leaves out the root.
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
    pub(super) stored_name: Option<Vec<u8>>,
    pub(super) record_size: Option<u32>,
    pub(super) record_offset: Option<u32>,
    pub(super) size_bits: u32,
    pub(super) offset_bits: u32,
    pub(super) at: Option<u64>,
    pub(super) gap: Vec<u8>,
    pub(in super::super) shares: Option<usize>,
}

/// The word before a packed file's stream, which states the unpacked size.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum SizeWord {
    #[default]
    True,
    Declared(u32),
    Absent,
}

impl Tes4File {
    /// A file with the name `name` (without its folder), stored as given. Its content `data` is
    /// packed if the archive's flags require it.
    pub fn new(name: impl AsRef<[u8]>, data: impl Into<Vec<u8>>) -> Self {
        Self { name: name.as_ref().to_vec(), data: data.into(), ..Self::default() }
    }

    /// Sets the bytes in the block of names, the NUL included, if they are not the name and a NUL.
    pub fn stored_name(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stored_name = Some(bytes.into());
        self
    }

    /// Sets bit 30 of the size: the file is packed if the archive's files are stored, and the reverse.
    pub fn toggle(mut self) -> Self {
        self.toggle = true;
        self
    }

    /// Sets the stored payload, instead of the packed data.
    pub fn stream(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stream = Some(bytes.into());
        self
    }

    /// Sets the unpacked size that a packed file states, in bytes.
    pub fn declared(mut self, size: u32) -> Self {
        self.size_word = SizeWord::Declared(size);
        self
    }

    /// Leaves out the word that states the unpacked size of a packed file.
    pub fn no_size_word(mut self) -> Self {
        self.size_word = SizeWord::Absent;
        self
    }

    /// Sets the whole data of the file, without embedded name and size.
    pub fn block(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.block = Some(bytes.into());
        self
    }

    /// Sets the embedded path, instead of the file's own.
    pub fn embedded(mut self, path: impl AsRef<[u8]>) -> Self {
        self.embedded = Some(path.as_ref().to_vec());
        self
    }

    /// Sets the length byte before the embedded path.
    pub fn embedded_length(mut self, stated: u8) -> Self {
        self.embedded_length = Some(stated);
        self
    }

    /// Replaces the hash of the name. The new one is stored as given, even for the Xbox 360.
    pub fn with_hash(mut self, hash: u64) -> Self {
        self.hash = Some(hash);
        self
    }

    /// Sets the record's size field, including its flags.
    pub fn record_size(mut self, field: u32) -> Self {
        self.record_size = Some(field);
        self
    }

    /// Sets the record's offset field.
    pub fn record_offset(mut self, field: u32) -> Self {
        self.record_offset = Some(field);
        self
    }

    /// Sets further bits in the size field.
    pub fn size_bits(mut self, bits: u32) -> Self {
        self.size_bits = bits;
        self
    }

    /// Sets further bits in the offset field.
    pub fn offset_bits(mut self, bits: u32) -> Self {
        self.offset_bits = bits;
        self
    }

    /// Sets the offset of the data, from the start of the archive.
    pub fn at(mut self, offset: u64) -> Self {
        self.at = Some(offset);
        self
    }

    /// Adds unused bytes before the data.
    pub fn gap(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.gap = bytes.into();
        self
    }

    /// Uses the data of the `nth` file added (from 0) instead of its own. That file must come
    /// before this one.
    pub fn shares(mut self, nth: usize) -> Self {
        self.shares = Some(nth);
        self
    }
}
