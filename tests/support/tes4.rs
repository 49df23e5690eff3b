//! Writes the BSA of Oblivion to Skyrim: versions 103, 104 and 105.

use super::hash;
use super::pack;
use super::parts::{Parts, Placer, dense};

/// Archive flag: folder names are present.
pub const FOLDER_NAMES: u32 = 0x001;
/// Archive flag: file names are present.
pub const FILE_NAMES: u32 = 0x002;
/// Archive flag: files are packed unless their bit 30 says otherwise.
pub const PACKED: u32 = 0x004;
/// Archive flag: hashes and order of the Xbox 360.
pub const XBOX_360: u32 = 0x040;
/// Archive flag: data begin with the file's path; means nothing in version 103.
pub const EMBEDDED: u32 = 0x100;
/// Archive flag: packed files are XMem streams.
pub const XMEM: u32 = 0x200;
/// In a record's size: the reverse of [`PACKED`]. Set by [`Tes4File::toggle`].
const TOGGLE: u32 = 1 << 30;
/// In a record's size or offset: left behind by a running game. For [`Tes4File::size_bits`] and
/// [`Tes4File::offset_bits`].
pub const RUN_TIME_MARK: u32 = 1 << 31;

/// An archive to be. Folders and files are sorted by hash, data lie in the order of addition.
#[derive(Clone, Debug)]
pub struct Tes4 {
    version: u32,
    flags: u32,
    header_flags: Option<u32>,
    content_flags: u16,
    padding: u16,
    folders_at: u32,
    pub(super) folders: Vec<Tes4Folder>,
    /// Each with the index of its folder.
    pub(super) files: Vec<(usize, Tes4File)>,
    unsorted: bool,
    size_word_gaps: bool,
    garbage: u32,
    claims: Claims,
    name_block_gap: Vec<u8>,
    name_block_tail: Vec<u8>,
    tail: Vec<u8>,
}

/// What the header says instead of the truth.
#[derive(Clone, Copy, Debug, Default)]
struct Claims {
    folders: Option<u32>,
    files: Option<u32>,
    folder_names: Option<u32>,
    file_names: Option<u32>,
}

impl Tes4 {
    /// An archive with folder and file names and nothing packed.
    pub fn new(version: u32) -> Self {
        Self {
            version,
            flags: FOLDER_NAMES | FILE_NAMES,
            header_flags: None,
            content_flags: 0,
            padding: 0,
            folders_at: 36,
            folders: Vec::new(),
            files: Vec::new(),
            unsorted: false,
            size_word_gaps: false,
            // What a real version 105 archive of the game's own tool has in the unused word of its folder records.
            garbage: 7_471_207,
            claims: Claims::default(),
            name_block_gap: Vec::new(),
            name_block_tail: Vec::new(),
            tail: Vec::new(),
        }
    }

    /// All archive flags: they shape the archive, and the header tells them.
    pub fn flags(mut self, flags: u32) -> Self {
        self.flags = flags;
        self
    }

    /// Archive flags that the header tells although the archive has the shape of others.
    pub fn header_flags(mut self, claimed: u32) -> Self {
        self.header_flags = Some(claimed);
        self
    }

    /// What kinds of file the header promises.
    pub fn content_flags(mut self, flags: u16) -> Self {
        self.content_flags = flags;
        self
    }

    /// The header's last two bytes, garbage in real archives.
    pub fn padding(mut self, garbage: u16) -> Self {
        self.padding = garbage;
        self
    }

    /// Where the header says that folder records begin; they begin at 36.
    pub fn folders_at(mut self, claimed: u32) -> Self {
        self.folders_at = claimed;
        self
    }

    /// How many folders the header claims.
    pub fn folder_count(mut self, claimed: u32) -> Self {
        self.claims.folders = Some(claimed);
        self
    }

    /// How many files the header claims.
    pub fn file_count(mut self, claimed: u32) -> Self {
        self.claims.files = Some(claimed);
        self
    }

    /// The header's total of folder names in bytes.
    pub fn folder_names_total(mut self, claimed: u32) -> Self {
        self.claims.folder_names = Some(claimed);
        self
    }

    /// The header's total of file names in bytes, which folder offsets count too.
    pub fn file_names_total(mut self, claimed: u32) -> Self {
        self.claims.file_names = Some(claimed);
        self
    }

    /// Folders and files in the order of addition.
    pub fn unsorted(mut self) -> Self {
        self.unsorted = true;
        self
    }

    /// In front of each file's data, outside its record, the length of the data in four bytes, as the Construction
    /// Set writes them.
    pub fn size_word_gaps(mut self) -> Self {
        self.size_word_gaps = true;
        self
    }

    /// The unused word of version 105's folder records.
    pub fn garbage(mut self, word: u32) -> Self {
        self.garbage = word;
        self
    }

    /// Bytes between the last folder block and the file names; the header counts them as folder names.
    pub fn name_block_gap(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.name_block_gap = bytes.into();
        self
    }

    /// Bytes behind the last file name, within the block of names.
    pub fn name_block_tail(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.name_block_tail = bytes.into();
        self
    }

    /// Bytes behind everything.
    pub fn tail(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.tail = bytes.into();
        self
    }

    /// A new folder, even where one of this name is there already. Files added to its name go to the newest.
    pub fn folder(mut self, folder: Tes4Folder) -> Self {
        self.folders.push(folder);
        self
    }

    /// A file and nothing peculiar about it.
    pub fn file(self, folder: impl AsRef<[u8]>, name: impl AsRef<[u8]>, data: impl Into<Vec<u8>>) -> Self {
        self.add(folder, Tes4File::new(name, data))
    }

    /// A file with peculiarities. The folder is made if there is none of exactly this name.
    pub fn add(mut self, folder: impl AsRef<[u8]>, file: Tes4File) -> Self {
        let folder = folder.as_ref();
        let index = self.folders.iter().rposition(|f| f.name == folder).unwrap_or_else(|| {
            self.folders.push(Tes4Folder::new(folder));
            self.folders.len() - 1
        });
        self.files.push((index, file));
        self
    }

    /// The archive.
    pub fn build(&self) -> Vec<u8> {
        dense(&self.build_parts())
    }

    /// The archive in pieces.
    pub fn build_parts(&self) -> Parts {
        let order = self.order();
        let names = self.file_names(&order);
        let folder_names: usize = match self.flags & FOLDER_NAMES {
            0 => 0,
            _ => self.folders.iter().map(|folder| folder.name_field().len()).sum(),
        };
        let first_block = 36 + self.folder_record_length() * self.folders.len();
        let names_at = first_block + folder_names + 16 * self.files.len();
        let data_start = names_at + self.name_block_gap.len() + names.len();
        let (data, mut parts) = self.place(data_start as u64);

        // Totals count names and their zeros, not the length bytes.
        let folder_name_total = match self.flags & FOLDER_NAMES {
            0 => 0,
            _ => folder_names.saturating_sub(self.folders.len()) + self.name_block_gap.len(),
        };
        let file_name_total = self.claims.file_names.unwrap_or(names.len() as u32);
        let mut out = self.header(folder_name_total as u32, file_name_total);
        out.extend(self.folder_records(&order, first_block, u64::from(file_name_total)));
        for (folder, files) in &order {
            if self.flags & FOLDER_NAMES != 0 {
                out.extend(self.folders[*folder].name_field());
            }
            for &n in files {
                out.extend(self.file_record(n, &data));
            }
        }
        assert_eq!(out.len(), names_at);
        out.extend_from_slice(&self.name_block_gap);
        out.extend(names);
        parts.insert(0, (0, out));
        parts
    }

    fn header(&self, folder_names: u32, file_names: u32) -> Vec<u8> {
        let words = [
            u32::from_le_bytes(*b"BSA\0"),
            self.version,
            self.folders_at,
            self.header_flags.unwrap_or(self.flags),
            self.claims.folders.unwrap_or(self.folders.len() as u32),
            self.claims.files.unwrap_or(self.files.len() as u32),
            self.claims.folder_names.unwrap_or(folder_names),
            file_names,
            u32::from(self.padding) << 16 | u32::from(self.content_flags),
        ];
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    fn folder_record_length(&self) -> usize {
        if self.version >= 105 { 24 } else { 16 }
    }

    /// Folders in stored order, and the files of each.
    fn order(&self) -> Vec<(usize, Vec<usize>)> {
        let xbox = self.flags & XBOX_360 != 0;
        // The Xbox 360 compares hashes as bytes, the others as numbers.
        let key = |hash: u64| if xbox { hash.swap_bytes() } else { hash };
        let mut folders: Vec<usize> = (0..self.folders.len()).collect();
        if !self.unsorted {
            folders.sort_by_key(|&folder| key(self.folder_hash(folder)));
        }
        let files_of = |folder: usize| {
            let mut files: Vec<usize> =
                (0..self.files.len()).filter(|&n| self.files[n].0 == folder).collect();
            if !self.unsorted {
                files.sort_by_key(|&n| key(self.file_hash(n)));
            }
            (folder, files)
        };
        folders.into_iter().map(files_of).collect()
    }

    fn folder_hash(&self, folder: usize) -> u64 {
        let folder = &self.folders[folder];
        folder.hash.unwrap_or_else(|| self.on_disk(hash::tes4_folder(&folder.name)))
    }

    fn file_hash(&self, n: usize) -> u64 {
        let file = &self.files[n].1;
        file.hash.unwrap_or_else(|| self.on_disk(hash::tes4_file(&file.name)))
    }

    fn on_disk(&self, hash: u64) -> u64 {
        if self.flags & XBOX_360 == 0 { hash } else { hash::xbox360(hash) }
    }

    fn folder_records(&self, order: &[(usize, Vec<usize>)], first_block: usize, file_names: u64) -> Vec<u8> {
        let mut out = Vec::new();
        let mut block = first_block as u64;
        for (index, files) in order {
            let folder = &self.folders[*index];
            let offset = folder.offset.unwrap_or(block.wrapping_add(file_names));
            out.extend(self.folder_hash(*index).to_le_bytes());
            out.extend(folder.count.unwrap_or(files.len() as u32).to_le_bytes());
            if self.version >= 105 {
                out.extend(self.garbage.to_le_bytes());
                out.extend(offset.to_le_bytes());
            } else {
                out.extend((offset as u32).to_le_bytes());
            }
            let name = if self.flags & FOLDER_NAMES == 0 { 0 } else { folder.name_field().len() };
            block += (name + 16 * files.len()) as u64;
        }
        out
    }

    fn file_record(&self, n: usize, data: &[(u64, u32)]) -> Vec<u8> {
        let file = &self.files[n].1;
        let (offset, length) = data[n];
        let toggle = if file.toggle { TOGGLE } else { 0 };
        let size = file.record_size.unwrap_or(length | toggle | file.size_bits);
        let offset = file.record_offset.unwrap_or(offset as u32 | file.offset_bits);
        [&self.file_hash(n).to_le_bytes()[..], &size.to_le_bytes(), &offset.to_le_bytes()].concat()
    }

    fn file_names(&self, order: &[(usize, Vec<usize>)]) -> Vec<u8> {
        if self.flags & FILE_NAMES == 0 {
            return Vec::new();
        }
        let mut out = Vec::new();
        for &n in order.iter().flat_map(|(_, files)| files) {
            out.extend_from_slice(&self.files[n].1.name);
            out.push(0);
        }
        out.extend_from_slice(&self.name_block_tail);
        out
    }

    /// Offset and length of each file's data, in the order of addition.
    fn place(&self, data_start: u64) -> (Vec<(u64, u32)>, Parts) {
        let mut placer = Placer::new(data_start);
        let mut data: Vec<(u64, u32)> = Vec::new();
        for (folder, file) in &self.files {
            if let Some(other) = file.shares {
                data.push(data[other]);
                continue;
            }
            let block = self.block(&self.folders[*folder], file);
            let length = block.len() as u32;
            let word = if self.size_word_gaps { &length.to_le_bytes()[..] } else { b"" };
            let offset = placer.place(file.at, &[&file.gap, word].concat(), block);
            data.push((offset, length));
        }
        placer.place(None, b"", self.tail.clone());
        (data, placer.parts)
    }

    /// All that the archive holds of a file.
    fn block(&self, folder: &Tes4Folder, file: &Tes4File) -> Vec<u8> {
        if let Some(block) = &file.block {
            return block.clone();
        }
        let mut out = Vec::new();
        if self.version >= 104 && self.flags & EMBEDDED != 0 {
            let path = file.embedded.clone().unwrap_or_else(|| folder.path_of(&file.name));
            out.push(file.embedded_length.unwrap_or(path.len() as u8));
            out.extend(path);
        }
        if (self.flags & PACKED != 0) == file.toggle {
            out.extend_from_slice(file.stream.as_ref().unwrap_or(&file.data));
            return out;
        }
        match file.size_word {
            SizeWord::True => out.extend((file.data.len() as u32).to_le_bytes()),
            SizeWord::Declared(size) => out.extend(size.to_le_bytes()),
            SizeWord::Absent => {}
        }
        let pack = if self.version >= 105 { pack::lz4_frame } else { pack::zlib };
        out.extend(file.stream.clone().unwrap_or_else(|| pack(&file.data)));
        out
    }
}

/// A folder of a [`Tes4`] archive, for those with peculiarities.
#[derive(Clone, Debug, Default)]
pub struct Tes4Folder {
    pub(super) name: Vec<u8>,
    hash: Option<u64>,
    count: Option<u32>,
    offset: Option<u64>,
    name_field: Option<Vec<u8>>,
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

    /// How many files the record claims.
    pub fn count(mut self, claimed: u32) -> Self {
        self.count = Some(claimed);
        self
    }

    /// The record's offset, wherever the block is.
    pub fn offset(mut self, claimed: u64) -> Self {
        self.offset = Some(claimed);
        self
    }

    /// The bytes in front of the file records instead of length, name and zero. A lone zero byte is the form of bad
    /// files that has a length and no name.
    pub fn with_name_field(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.name_field = Some(bytes.into());
        self
    }

    fn name_field(&self) -> Vec<u8> {
        self.name_field
            .clone()
            .unwrap_or_else(|| [&[(self.name.len() + 1) as u8], &self.name[..], b"\0"].concat())
    }

    /// What is embedded for a file of this folder; the game's own tool leaves the root out.
    fn path_of(&self, name: &[u8]) -> Vec<u8> {
        match &self.name[..] {
            b"" | b"." => name.to_vec(),
            folder => [folder, b"\\", name].concat(),
        }
    }
}

/// A file of a [`Tes4`] archive.
#[derive(Clone, Debug, Default)]
pub struct Tes4File {
    pub(super) name: Vec<u8>,
    pub(super) data: Vec<u8>,
    toggle: bool,
    stream: Option<Vec<u8>>,
    size_word: SizeWord,
    block: Option<Vec<u8>>,
    embedded: Option<Vec<u8>>,
    embedded_length: Option<u8>,
    hash: Option<u64>,
    record_size: Option<u32>,
    record_offset: Option<u32>,
    size_bits: u32,
    offset_bits: u32,
    at: Option<u64>,
    gap: Vec<u8>,
    pub(super) shares: Option<usize>,
}

/// What stands in front of a packed file's stream.
#[derive(Clone, Copy, Debug, Default)]
enum SizeWord {
    #[default]
    True,
    Declared(u32),
    Absent,
}

impl Tes4File {
    /// `name` is the file's name without its folder, as it shall be stored; `data` its content, which the archive
    /// packs if its flags say so.
    pub fn new(name: impl AsRef<[u8]>, data: impl Into<Vec<u8>>) -> Self {
        Self { name: name.as_ref().to_vec(), data: data.into(), ..Self::default() }
    }

    /// Packed where the archive's files are stored, and the reverse: bit 30 of the size.
    pub fn toggle(mut self) -> Self {
        self.toggle = true;
        self
    }

    /// The payload as it shall lie in the archive, instead of what the data would give.
    pub fn stream(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stream = Some(bytes.into());
        self
    }

    /// The size in bytes that a packed file declares.
    pub fn declared(mut self, size: u32) -> Self {
        self.size_word = SizeWord::Declared(size);
        self
    }

    /// Packed, but without the word that declares its size.
    pub fn no_size_word(mut self) -> Self {
        self.size_word = SizeWord::Absent;
        self
    }

    /// All that the archive holds of the file: no embedded name, no size, nothing but these bytes.
    pub fn block(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.block = Some(bytes.into());
        self
    }

    /// Embedded instead of the true path.
    pub fn embedded(mut self, path: impl AsRef<[u8]>) -> Self {
        self.embedded = Some(path.as_ref().to_vec());
        self
    }

    /// The length byte in front of the embedded path.
    pub fn embedded_length(mut self, claimed: u8) -> Self {
        self.embedded_length = Some(claimed);
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

    /// Where the data go, from the start of the file.
    pub fn at(mut self, offset: u64) -> Self {
        self.at = Some(offset);
        self
    }

    /// Bytes in front of the data that belong to nobody.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knobs_touch_what_they_name_and_nothing_else() {
        let file = || Tes4File::new("a.txt", b"content");
        let build = |archive: Tes4, file: Tes4File| archive.add("f", file).build();
        let plain = build(Tes4::new(104), file());
        let changed = |other: Vec<u8>| -> Vec<usize> {
            assert_eq!(plain.len(), other.len());
            (0..plain.len()).filter(|&at| plain[at] != other[at]).collect()
        };
        // Header 36, folder record 16, folder name 3, then the record: hash 8, size 4, offset 4; its names 6, data.
        assert_eq!(plain.len(), 36 + 16 + 3 + 16 + 6 + 7);
        assert_eq!(changed(build(Tes4::new(104).header_flags(0x103), file())), [13]);
        assert_eq!(changed(build(Tes4::new(104).padding(0xCDCD), file())), [34, 35]);
        assert_eq!(changed(build(Tes4::new(104), file().size_bits(1 << 31))), [66]);
        assert_eq!(changed(build(Tes4::new(104), file().offset_bits(1 << 31))), [70]);
        assert_eq!(
            changed(build(Tes4::new(104), file().with_hash(u64::MAX))),
            [55, 56, 57, 58, 59, 60, 61, 62]
        );
        assert_eq!(changed(build(Tes4::new(104), file().block(b"CONTENT"))), [77, 78, 79, 80, 81, 82, 83]);
    }
}
