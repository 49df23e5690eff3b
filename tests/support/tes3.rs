//! Builder of Morrowind's BSA archives.

use super::hash;
use super::parts::{Parts, Placer, dense};

/// Builds an archive. Records are sorted by hash, and data is in the order of addition.
#[derive(Clone, Debug, Default)]
pub struct Tes3 {
    pub(super) files: Vec<Tes3File>,
    nameless: bool,
    unsorted: bool,
    hash_offset: Option<u32>,
    file_count: Option<u32>,
    names_tail: Vec<u8>,
    names_cut: usize,
    tail: Vec<u8>,
}

impl Tes3 {
    /// An archive without files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an ordinary file.
    pub fn file(self, name: impl AsRef<[u8]>, data: impl Into<Vec<u8>>) -> Self {
        self.add(Tes3File::new(name, data))
    }

    /// Adds any file.
    pub fn add(mut self, file: Tes3File) -> Self {
        self.files.push(file);
        self
    }

    /// Leaves out name offsets and names, as on the Xbox. The hash offset is then 8 times the count.
    pub fn nameless(mut self) -> Self {
        self.nameless = true;
        self
    }

    /// Keeps the records in the order of addition.
    pub fn unsorted(mut self) -> Self {
        self.unsorted = true;
        self
    }

    /// Sets the offset of the hash table that the header states: from the start of the archive, minus 12.
    pub fn hash_offset(mut self, stated: u32) -> Self {
        self.hash_offset = Some(stated);
        self
    }

    /// Sets how many files the header states.
    pub fn file_count(mut self, stated: u32) -> Self {
        self.file_count = Some(stated);
        self
    }

    /// Adds bytes after the last name, within the names block.
    pub fn names_tail(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.names_tail = bytes.into();
        self
    }

    /// Leaves out the last bytes of the names block, such as its last NUL.
    pub fn names_cut(mut self, bytes: usize) -> Self {
        self.names_cut = bytes;
        self
    }

    /// Adds bytes at the end.
    pub fn tail(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.tail = bytes.into();
        self
    }

    /// Builds the archive.
    pub fn build(&self) -> Vec<u8> {
        dense(&self.build_parts())
    }

    /// Builds the archive in pieces.
    pub fn build_parts(&self) -> Parts {
        let mut order: Vec<(usize, &Tes3File)> = self.files.iter().enumerate().collect();
        if !self.unsorted {
            order.sort_by_key(|(_, file)| file.hash());
        }
        let (name_offsets, names) = self.names(&order);
        let named = if self.nameless { 0 } else { 4 * order.len() + names.len() };
        let hash_offset = 8 * order.len() + named;
        let data_start = (12 + hash_offset + 8 * order.len()) as u64;
        let (places, mut parts) = self.place(data_start);

        let mut out = vec![0, 1, 0, 0];
        out.extend(self.hash_offset.unwrap_or(hash_offset as u32).to_le_bytes());
        out.extend(self.file_count.unwrap_or(order.len() as u32).to_le_bytes());
        for &(n, file) in &order {
            let data = &self.files[file.shares.unwrap_or(n)].data;
            out.extend(file.size.unwrap_or(data.len() as u32).to_le_bytes());
            let offset = (places[n] - data_start) as u32;
            out.extend(file.offset.unwrap_or(offset).to_le_bytes());
        }
        if !self.nameless {
            out.extend(name_offsets.into_iter().flat_map(u32::to_le_bytes));
            out.extend(names);
        }
        for (_, file) in &order {
            let (low, high) = file.hash();
            out.extend(low.to_le_bytes());
            out.extend(high.to_le_bytes());
        }
        parts.insert(0, (0, out));
        parts
    }

    fn names(&self, order: &[(usize, &Tes3File)]) -> (Vec<u32>, Vec<u8>) {
        let mut offsets = Vec::new();
        let mut names = Vec::new();
        for (_, file) in order {
            offsets.push(file.name_offset.unwrap_or(names.len() as u32));
            names.extend_from_slice(&file.name);
            names.push(0);
        }
        names.extend_from_slice(&self.names_tail);
        names.truncate(names.len().saturating_sub(self.names_cut));
        (offsets, names)
    }

    /// Places the data of each file, and returns their offsets in the order of addition.
    fn place(&self, data_start: u64) -> (Vec<u64>, Parts) {
        let mut placer = Placer::new(data_start);
        let mut places: Vec<u64> = Vec::new();
        for file in &self.files {
            let place = match file.shares {
                Some(other) => places[other],
                None => placer.place(file.at, &file.gap, file.data.clone()),
            };
            places.push(place);
        }
        placer.place(None, b"", self.tail.clone());
        (places, placer.parts)
    }
}

/// A file of a [`Tes3`] archive.
#[derive(Clone, Debug, Default)]
pub struct Tes3File {
    pub(super) name: Vec<u8>,
    pub(super) data: Vec<u8>,
    hash: Option<(u32, u32)>,
    name_offset: Option<u32>,
    size: Option<u32>,
    offset: Option<u32>,
    at: Option<u64>,
    gap: Vec<u8>,
    pub(super) shares: Option<usize>,
}

impl Tes3File {
    /// A file with the full path `name`, stored as given.
    pub fn new(name: impl AsRef<[u8]>, data: impl Into<Vec<u8>>) -> Self {
        Self { name: name.as_ref().to_vec(), data: data.into(), ..Self::default() }
    }

    /// Replaces the hash of the name: low word, high word.
    pub fn with_hash(mut self, low: u32, high: u32) -> Self {
        self.hash = Some((low, high));
        self
    }

    /// Replaces the offset of the name in the names block.
    pub fn name_offset(mut self, stated: u32) -> Self {
        self.name_offset = Some(stated);
        self
    }

    /// Sets the size that the record states in bytes, whatever the data is.
    pub fn size(mut self, stated: u32) -> Self {
        self.size = Some(stated);
        self
    }

    /// Sets the offset that the record states, from the start of all data, wherever the file's data
    /// really is.
    pub fn offset(mut self, stated: u32) -> Self {
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

    /// Uses the data of the `nth` file added (from 0) instead of its own. That file must come
    /// before this one.
    pub fn shares(mut self, nth: usize) -> Self {
        self.shares = Some(nth);
        self
    }

    fn hash(&self) -> (u32, u32) {
        self.hash.unwrap_or_else(|| hash::tes3(&self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected offsets are those of `common_guess_test/tes3.bsa` of bsa-rs, which another tool wrote.
    #[test]
    fn an_archive_of_one_file_matches_that_of_another_tool() {
        let content = b"This is a test";
        let mut expected = vec![0, 1, 0, 0, 29, 0, 0, 0, 1, 0, 0, 0];
        expected.extend([14, 0, 0, 0, 0, 0, 0, 0]);
        expected.extend([0, 0, 0, 0]);
        expected.extend(b"misc\\example.txt\0");
        expected.extend([0x31, 0x0C, 0x0B, 0x02, 0x11, 0xEC, 0xC1, 0xB4]);
        assert_eq!(expected.len(), 49);
        expected.extend(content);
        assert_eq!(Tes3::new().file("misc\\example.txt", content).build(), expected);
    }
}
