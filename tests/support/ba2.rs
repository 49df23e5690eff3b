//! Builder of BA2 archives of Fallout 4 to Starfield: general files, textures, and textures of the
//! PlayStation 4.

use super::hash::{self, Fo4};
use super::pack;
use super::parts::{Parts, Placer, dense};

/// Compression method in a version 3 header: chunks are zlib streams.
pub const METHOD_ZLIB: u32 = 0;
/// Compression method in a version 3 header: chunks are LZ4 blocks.
pub const METHOD_LZ4: u32 = 3;
/// The last word of every chunk record.
const SENTINEL: u32 = 0xBAAD_F00D;

/// Builds an archive. Records, data and names are in the order of addition.
#[derive(Clone, Debug)]
pub struct Ba2 {
    version: u32,
    kind: [u8; 4],
    method: u32,
    files: Vec<Ba2File>,
    file_count: Option<u32>,
    names_at: Option<u64>,
    nameless: bool,
    names_form: NamesForm,
    names_tail: Vec<u8>,
}

/// How a name is written into the name table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NamesForm {
    /// A length and the name, as documented.
    #[default]
    Lengths,
    /// A length, the name and a NUL that the length does not count.
    LengthsAndNuls,
    /// The name and a NUL.
    Nuls,
}

impl Ba2 {
    /// An archive of general files, `GNRL`.
    pub fn general(version: u32) -> Self {
        Self {
            version,
            kind: *b"GNRL",
            method: METHOD_ZLIB,
            files: Vec::new(),
            file_count: None,
            names_at: None,
            nameless: false,
            names_form: NamesForm::default(),
            names_tail: Vec::new(),
        }
    }

    /// An archive of textures, `DX10`.
    pub fn textures(version: u32) -> Self {
        Self::general(version).kind(*b"DX10")
    }

    /// An archive of the PlayStation 4's textures, `GNMF`.
    pub fn gnm(version: u32) -> Self {
        Self::general(version).kind(*b"GNMF")
    }

    /// Sets the kind in the header, whatever the records are.
    pub fn kind(mut self, letters: [u8; 4]) -> Self {
        self.kind = letters;
        self
    }

    /// Sets the header's compression method. Only version 3 has one.
    pub fn method(mut self, method: u32) -> Self {
        self.method = method;
        self
    }

    /// Sets how many files the header states.
    pub fn file_count(mut self, stated: u32) -> Self {
        self.file_count = Some(stated);
        self
    }

    /// Leaves out the name table. Its offset is 0.
    pub fn nameless(mut self) -> Self {
        self.nameless = true;
        self
    }

    /// Sets how names are written.
    pub fn names_form(mut self, form: NamesForm) -> Self {
        self.names_form = form;
        self
    }

    /// Sets the offset of the name table in the header.
    pub fn names_at(mut self, stated: u64) -> Self {
        self.names_at = Some(stated);
        self
    }

    /// Adds bytes after the name table, which end the archive.
    pub fn names_tail(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.names_tail = bytes.into();
        self
    }

    /// Adds a general file, stored without compression.
    pub fn file(self, name: impl AsRef<[u8]>, data: impl Into<Vec<u8>>) -> Self {
        self.add(Ba2File::general(name).chunk(Chunk::stored(data)))
    }

    /// Adds any file.
    pub fn add(mut self, file: Ba2File) -> Self {
        self.files.push(file);
        self
    }

    /// Builds the archive.
    pub fn build(&self) -> Vec<u8> {
        dense(&self.build_parts())
    }

    /// Builds the archive in pieces.
    pub fn build_parts(&self) -> Parts {
        let header_length = match self.version {
            2 => 32,
            3 => 36,
            _ => 24,
        };
        let records: usize = self.files.iter().map(Ba2File::record_length).sum();
        let (places, mut placer) = self.place((header_length + records) as u64);
        let names_at = placer.end();
        if !self.nameless {
            placer.place(None, b"", self.names());
        }
        placer.place(None, b"", self.names_tail.clone());

        let mut out = b"BTDX".to_vec();
        out.extend(self.version.to_le_bytes());
        out.extend(self.kind);
        out.extend(self.file_count.unwrap_or(self.files.len() as u32).to_le_bytes());
        let stored = if self.nameless { 0 } else { names_at };
        out.extend(self.names_at.unwrap_or(stored).to_le_bytes());
        // Versions 2 and 3 add two words. In Starfield's archives these are 1 and 0.
        out.extend([1u32, 0, self.method].into_iter().flat_map(u32::to_le_bytes));
        out.truncate(header_length);
        for (file, places) in self.files.iter().zip(&places) {
            out.extend(file.record(places));
        }
        let mut parts = placer.parts;
        parts.insert(0, (0, out));
        parts
    }

    fn names(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for file in &self.files {
            let name = file.stored_name.as_ref().unwrap_or(&file.name);
            if self.names_form != NamesForm::Nuls {
                out.extend((name.len() as u16).to_le_bytes());
            }
            out.extend_from_slice(name);
            if self.names_form != NamesForm::Lengths {
                out.push(0);
            }
        }
        out
    }

    /// Places the chunks of each file, and returns their offsets.
    fn place(&self, data_start: u64) -> (Vec<Vec<u64>>, Placer) {
        let mut placer = Placer::new(data_start);
        let mut places: Vec<Vec<u64>> = Vec::new();
        for file in &self.files {
            let chunks = match file.shares {
                Some(other) => places[other].clone(),
                None => file.chunks.iter().map(|c| placer.place(c.at, &c.gap, c.bytes.clone())).collect(),
            };
            places.push(chunks);
        }
        (places, placer)
    }
}

/// A file of a [`Ba2`] archive. Its content consists of its chunks, one after another.
#[derive(Clone, Debug)]
pub struct Ba2File {
    name: Vec<u8>,
    stored_name: Option<Vec<u8>>,
    head: Head,
    chunks: Vec<Chunk>,
    hash: Option<Fo4>,
    data_file: u8,
    chunk_count: Option<u8>,
    head_length: Option<u16>,
    shares: Option<usize>,
}

/// The part of a record between its hashes and its chunks.
#[derive(Clone, Debug)]
enum Head {
    General,
    Texture(Texture),
    Gnm([u8; 32]),
}

/// The texture of a `DX10` record.
#[derive(Clone, Copy, Debug)]
pub struct Texture {
    /// A `DXGI_FORMAT`.
    pub format: u8,
    /// Width in texels.
    pub width: u16,
    /// Height in texels.
    pub height: u16,
    /// Number of mips.
    pub mips: u8,
    /// Flags. Bit 0 marks a cube map.
    pub flags: u8,
    /// Tile mode: 8 is linear, as on the PC. Other modes are of the Xbox One.
    pub tile_mode: u8,
}

impl Texture {
    /// An ordinary texture as on the PC.
    pub fn new(format: u8, width: u16, height: u16, mips: u8) -> Self {
        Self { format, width, height, mips, flags: 0, tile_mode: 8 }
    }

    /// Makes the texture a cube map.
    pub fn cube(mut self) -> Self {
        self.flags |= 1;
        self
    }
}

impl Ba2File {
    /// A file of a `GNRL` archive with the full path `name`, stored as given.
    pub fn general(name: impl AsRef<[u8]>) -> Self {
        Self {
            name: name.as_ref().to_vec(),
            stored_name: None,
            head: Head::General,
            chunks: Vec::new(),
            hash: None,
            data_file: 0,
            chunk_count: None,
            head_length: None,
            shares: None,
        }
    }

    /// A file of a `DX10` archive.
    pub fn texture(name: impl AsRef<[u8]>, texture: Texture) -> Self {
        Self { head: Head::Texture(texture), ..Self::general(name) }
    }

    /// A file of a `GNMF` archive; `descriptor` is the texture's T#.
    pub fn gnm(name: impl AsRef<[u8]>, descriptor: [u8; 32]) -> Self {
        Self { head: Head::Gnm(descriptor), ..Self::general(name) }
    }

    /// Adds a chunk.
    pub fn chunk(mut self, chunk: Chunk) -> Self {
        self.chunks.push(chunk);
        self
    }

    /// Sets the bytes in the name table, if they are not the name that was hashed.
    pub fn stored_name(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stored_name = Some(bytes.into());
        self
    }

    /// Replaces the hashes of the name.
    pub fn with_hash(mut self, hash: Fo4) -> Self {
        self.hash = Some(hash);
        self
    }

    /// Sets the record's data file index, which is 0 in every known archive.
    pub fn data_file(mut self, index: u8) -> Self {
        self.data_file = index;
        self
    }

    /// Sets how many chunks the record states.
    pub fn chunk_count(mut self, stated: u8) -> Self {
        self.chunk_count = Some(stated);
        self
    }

    /// Sets the length of the head that the record states, in bytes.
    pub fn head_length(mut self, stated: u16) -> Self {
        self.head_length = Some(stated);
        self
    }

    /// Uses the chunk data of the `nth` file added (from 0). That file must come before this one
    /// and have as many chunks. Only the sizes of this file's own chunks count.
    pub fn shares(mut self, nth: usize) -> Self {
        self.shares = Some(nth);
        self
    }

    fn record_length(&self) -> usize {
        let chunk = if matches!(self.head, Head::General) { 20 } else { 24 };
        usize::from(self.true_head_length()) + chunk * self.chunks.len()
    }

    fn true_head_length(&self) -> u16 {
        match self.head {
            Head::General => 0x10,
            Head::Texture(_) => 0x18,
            Head::Gnm(_) => 0x30,
        }
    }

    fn record(&self, places: &[u64]) -> Vec<u8> {
        let hash = self.hash.unwrap_or_else(|| hash::fo4(&self.name));
        let mut out = hash.file.to_le_bytes().to_vec();
        out.extend(hash.extension);
        out.extend(hash.folder.to_le_bytes());
        out.extend([self.data_file, self.chunk_count.unwrap_or(self.chunks.len() as u8)]);
        out.extend(self.head_length.unwrap_or(self.true_head_length()).to_le_bytes());
        match &self.head {
            Head::General => {}
            Head::Texture(texture) => {
                out.extend(texture.height.to_le_bytes());
                out.extend(texture.width.to_le_bytes());
                out.extend([texture.mips, texture.format, texture.flags, texture.tile_mode]);
            }
            Head::Gnm(descriptor) => out.extend(descriptor),
        }
        for (chunk, &place) in self.chunks.iter().zip(places) {
            out.extend(chunk.offset.unwrap_or(place).to_le_bytes());
            out.extend(chunk.packed.to_le_bytes());
            out.extend(chunk.unpacked.to_le_bytes());
            if !matches!(self.head, Head::General) {
                out.extend(chunk.mips.0.to_le_bytes());
                out.extend(chunk.mips.1.to_le_bytes());
            }
            out.extend(chunk.sentinel.to_le_bytes());
        }
        assert_eq!(
            out.len(),
            self.record_length(),
            "a file must have as many chunks as the file whose data it shares"
        );
        out
    }
}

/// One piece of a file's content.
#[derive(Clone, Debug)]
pub struct Chunk {
    bytes: Vec<u8>,
    packed: u32,
    unpacked: u32,
    mips: (u16, u16),
    sentinel: u32,
    offset: Option<u64>,
    at: Option<u64>,
    gap: Vec<u8>,
}

impl Chunk {
    /// A stored chunk: its packed size is 0.
    pub fn stored(data: impl Into<Vec<u8>>) -> Self {
        let data = data.into();
        let length = data.len() as u32;
        Self::raw(data, 0, length)
    }

    /// A chunk with a zlib stream.
    pub fn zlib(data: impl AsRef<[u8]>) -> Self {
        Self::packed(pack::zlib(data.as_ref()), data.as_ref().len())
    }

    /// A chunk with an LZ4 block, for version 3 with [`METHOD_LZ4`].
    pub fn lz4(data: impl AsRef<[u8]>) -> Self {
        Self::packed(pack::lz4_block(data.as_ref()), data.as_ref().len())
    }

    /// A chunk with any stream that unpacks to `unpacked` bytes.
    pub fn packed(stream: Vec<u8>, unpacked: usize) -> Self {
        let packed = stream.len() as u32;
        Self::raw(stream, packed, unpacked as u32)
    }

    /// A chunk with any bytes and any sizes.
    pub fn raw(bytes: Vec<u8>, packed: u32, unpacked: u32) -> Self {
        Self {
            bytes,
            packed,
            unpacked,
            mips: (0, 0),
            sentinel: SENTINEL,
            offset: None,
            at: None,
            gap: Vec::new(),
        }
    }

    /// Sets the first and the last mip that a texture's chunk states.
    pub fn mips(mut self, first: u16, last: u16) -> Self {
        self.mips = (first, last);
        self
    }

    /// Sets the record's last word.
    pub fn sentinel(mut self, word: u32) -> Self {
        self.sentinel = word;
        self
    }

    /// Sets the offset that the record states, wherever the data really is.
    pub fn offset(mut self, stated: u64) -> Self {
        self.offset = Some(stated);
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
}
