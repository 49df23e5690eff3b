//! Builder of BSA archives of Oblivion to Skyrim: versions 103, 104 and 105.

mod file;

use super::hash;
use super::pack;
use super::parts::{Parts, Placer, dense};
use file::SizeWord;
pub use file::{Tes4File, Tes4Folder};

/// Archive flag: folder names are present.
pub const FOLDER_NAMES: u32 = 0x001;
/// Archive flag: file names are present.
pub const FILE_NAMES: u32 = 0x002;
/// Archive flag: files are packed unless their bit 30 says otherwise.
pub const PACKED: u32 = 0x004;
/// Archive flag: hashes and order of the Xbox 360.
pub const XBOX_360: u32 = 0x040;
/// Archive flag: the data of a file begins with its path. Version 103 ignores it.
pub const EMBEDDED: u32 = 0x100;
/// Archive flag: packed files are XMem streams.
pub const XMEM: u32 = 0x200;
/// Bit in a record's size: the reverse of [`PACKED`]. [`Tes4File::toggle`] sets it.
const TOGGLE: u32 = 1 << 30;
/// Bit in a record's size or offset: a mark that the running game sets. Used with
/// [`Tes4File::size_bits`] and [`Tes4File::offset_bits`].
pub const RUN_TIME_MARK: u32 = 1 << 31;

/// Builds an archive. Folders and files are sorted by hash, and data is in the order of addition.
#[derive(Clone, Debug)]
pub struct Tes4 {
    version: u32,
    flags: u32,
    header_flags: Option<u32>,
    content_flags: u16,
    padding: u16,
    folders_at: u32,
    pub(super) folders: Vec<Tes4Folder>,
    /// Files, each with the index of its folder.
    pub(super) files: Vec<(usize, Tes4File)>,
    unsorted: bool,
    has_reversed_blocks: bool,
    names_cut: usize,
    size_word_gaps: bool,
    garbage: u32,
    totals: Totals,
    name_block_gap: Vec<u8>,
    name_block_tail: Vec<u8>,
    tail: Vec<u8>,
}

/// Totals that the header states, if they differ from those of the archive.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
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
            has_reversed_blocks: false,
            names_cut: 0,
            size_word_gaps: false,
            // The unused word of folder records in a version 105 archive that the game's own tool wrote.
            garbage: 7_471_207,
            totals: Totals::default(),
            name_block_gap: Vec::new(),
            name_block_tail: Vec::new(),
            tail: Vec::new(),
        }
    }

    /// Sets all archive flags, for the header and the layout.
    pub fn flags(mut self, flags: u32) -> Self {
        self.flags = flags;
        self
    }

    /// Sets the archive flags of the header only. The layout keeps those of [`Tes4::flags`].
    pub fn header_flags(mut self, stated: u32) -> Self {
        self.header_flags = Some(stated);
        self
    }

    /// Sets the content flags of the header.
    pub fn content_flags(mut self, flags: u16) -> Self {
        self.content_flags = flags;
        self
    }

    /// Sets the header's last two bytes, which are garbage in real archives.
    pub fn padding(mut self, garbage: u16) -> Self {
        self.padding = garbage;
        self
    }

    /// Sets the offset of the folder records in the header. They always begin at 36.
    pub fn folders_at(mut self, stated: u32) -> Self {
        self.folders_at = stated;
        self
    }

    /// Sets how many folders the header states.
    pub fn folder_count(mut self, stated: u32) -> Self {
        self.totals.folders = Some(stated);
        self
    }

    /// Sets how many files the header states.
    pub fn file_count(mut self, stated: u32) -> Self {
        self.totals.files = Some(stated);
        self
    }

    /// Sets the header's total of folder names, in bytes.
    pub fn folder_names_total(mut self, stated: u32) -> Self {
        self.totals.folder_names = Some(stated);
        self
    }

    /// Sets the header's total of file names, in bytes. The offsets of folders count it too.
    pub fn file_names_total(mut self, stated: u32) -> Self {
        self.totals.file_names = Some(stated);
        self
    }

    /// Keeps folders and files in the order of addition.
    pub fn unsorted(mut self) -> Self {
        self.unsorted = true;
        self
    }

    /// Stores the folder blocks in the reverse order of the folder records. The offsets are those of the
    /// blocks.
    pub fn reversed_blocks(mut self) -> Self {
        self.has_reversed_blocks = true;
        self
    }

    /// Leaves out the last bytes of the block of file names, such as its last NUL.
    pub fn names_cut(mut self, bytes: usize) -> Self {
        self.names_cut = bytes;
        self
    }

    /// Writes the length of each file's data in the four bytes before it, as the Construction Set
    /// does. The file's record does not cover them.
    pub fn size_word_gaps(mut self) -> Self {
        self.size_word_gaps = true;
        self
    }

    /// Sets the unused word of version 105's folder records.
    pub fn garbage(mut self, word: u32) -> Self {
        self.garbage = word;
        self
    }

    /// Adds bytes between the last folder block and the file names. The header counts them as folder names.
    pub fn name_block_gap(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.name_block_gap = bytes.into();
        self
    }

    /// Adds bytes after the last file name, within the block of names.
    pub fn name_block_tail(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.name_block_tail = bytes.into();
        self
    }

    /// Adds bytes at the end.
    pub fn tail(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.tail = bytes.into();
        self
    }

    /// Adds a folder, even if one of this name exists. Files added later go into the newest one.
    pub fn folder(mut self, folder: Tes4Folder) -> Self {
        self.folders.push(folder);
        self
    }

    /// Adds an ordinary file.
    pub fn file(self, folder: impl AsRef<[u8]>, name: impl AsRef<[u8]>, data: impl Into<Vec<u8>>) -> Self {
        self.add(folder, Tes4File::new(name, data))
    }

    /// Adds any file, and its folder if there is none of exactly this name.
    pub fn add(mut self, folder: impl AsRef<[u8]>, file: Tes4File) -> Self {
        let folder = folder.as_ref();
        let index = self.folders.iter().rposition(|f| f.name == folder).unwrap_or_else(|| {
            self.folders.push(Tes4Folder::new(folder));
            self.folders.len() - 1
        });
        self.files.push((index, file));
        self
    }

    /// Builds the archive.
    pub fn build(&self) -> Vec<u8> {
        dense(&self.build_parts())
    }

    /// Builds the archive in pieces.
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

        // Totals count names and their NULs, but not the length bytes.
        let folder_name_total = match self.flags & FOLDER_NAMES {
            0 => 0,
            _ => folder_names.saturating_sub(self.folders.len()) + self.name_block_gap.len(),
        };
        let file_name_total = self.totals.file_names.unwrap_or(names.len() as u32);
        let mut out = self.header(folder_name_total as u32, file_name_total);
        out.extend(self.folder_records(&order, first_block, u64::from(file_name_total)));
        for block in self.blocks(&order) {
            let (folder, files) = &order[block];
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
            self.totals.folders.unwrap_or(self.folders.len() as u32),
            self.totals.files.unwrap_or(self.files.len() as u32),
            self.totals.folder_names.unwrap_or(folder_names),
            file_names,
            u32::from(self.padding) << 16 | u32::from(self.content_flags),
        ];
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    fn folder_record_length(&self) -> usize {
        if self.version >= 105 { 24 } else { 16 }
    }

    /// Folders in stored order, each with its files.
    fn order(&self) -> Vec<(usize, Vec<usize>)> {
        let xbox = self.flags & XBOX_360 != 0;
        // The Xbox 360 compares hashes as bytes, other platforms compare them as numbers.
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

    /// The folders in the order of their blocks, as indices into `order`.
    fn blocks(&self, order: &[(usize, Vec<usize>)]) -> Vec<usize> {
        let mut blocks: Vec<usize> = (0..order.len()).collect();
        if self.has_reversed_blocks {
            blocks.reverse();
        }
        blocks
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
        let mut places = vec![0; order.len()];
        let mut end = first_block as u64;
        for block in self.blocks(order) {
            let (folder, files) = &order[block];
            let name =
                if self.flags & FOLDER_NAMES == 0 { 0 } else { self.folders[*folder].name_field().len() };
            places[block] = end;
            end += (name + 16 * files.len()) as u64;
        }
        let mut out = Vec::new();
        for ((index, files), place) in order.iter().zip(places) {
            let folder = &self.folders[*index];
            let offset = folder.offset.unwrap_or(place.wrapping_add(file_names));
            out.extend(self.folder_hash(*index).to_le_bytes());
            out.extend(folder.count.unwrap_or(files.len() as u32).to_le_bytes());
            if self.version >= 105 {
                out.extend(self.garbage.to_le_bytes());
                out.extend(offset.to_le_bytes());
            } else {
                out.extend((offset as u32).to_le_bytes());
            }
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
            let file = &self.files[n].1;
            out.extend(file.stored_name.clone().unwrap_or_else(|| [&file.name[..], b"\0"].concat()));
        }
        out.extend_from_slice(&self.name_block_tail);
        out.truncate(out.len().saturating_sub(self.names_cut));
        out
    }

    /// Places the data of each file, and returns offset and length in the order of addition.
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

    /// The data of a file: embedded name, size and stream.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_changes_only_its_own_bytes() {
        let file = || Tes4File::new("a.txt", b"content");
        let build = |archive: Tes4, file: Tes4File| archive.add("f", file).build();
        let plain = build(Tes4::new(104), file());
        let changed = |other: Vec<u8>| -> Vec<usize> {
            assert_eq!(plain.len(), other.len());
            (0..plain.len()).filter(|&at| plain[at] != other[at]).collect()
        };
        // Lengths: header 36, folder record 16, folder name 3, file record 16 (hash 8, size 4,
        // offset 4), file names 6, data 7.
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
