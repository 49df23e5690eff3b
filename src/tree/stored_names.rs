//! Names as an archive stores them, for entries whose listed names do not reproduce them.

use crate::format::Name;

/// The stored names of some entries of one archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StoredNames {
    /// Paths, and folders and files that are stored separately. Adjacent entries share a folder.
    bytes: Vec<u8>,
    /// Sorted by entry.
    records: Vec<StoredName>,
}

/// Two runs of [`StoredNames::bytes`] that form a name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct StoredName {
    entry: u32,
    /// Empty if there is nothing to join.
    folder: Run,
    name: Run,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Run {
    at: u32,
    len: u32,
}

/// Error if the names of one archive are too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamesTooLarge;

impl std::fmt::Display for NamesTooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the names in the archive take more than 4 GiB")
    }
}

impl std::error::Error for NamesTooLarge {}

impl StoredNames {
    /// Adds the name of an entry, whose index must be higher than all before.
    pub(super) fn push(&mut self, entry: u32, name: &Name<'_>) -> Result<(), NamesTooLarge> {
        let (folder, name) = match *name {
            Name::Path(path) => (Run::default(), self.append(path)?),
            Name::Split { folder: Some(folder), file: Some(file) } => {
                let last = self.records.last().map(|record| record.folder).unwrap_or_default();
                let folder = if self.run(last) == folder { last } else { self.append(folder)? };
                (folder, self.append(file)?)
            }
            // Thousands of files without a name may be in one folder.
            Name::Split { folder, file } => {
                let stored = folder.or(file).unwrap_or_default();
                let last = self.records.last().map(|record| record.name).unwrap_or_default();
                (Run::default(), if self.run(last) == stored { last } else { self.append(stored)? })
            }
            Name::Number(number) => (Run::default(), self.append(number.to_string().as_bytes())?),
            Name::Unknown { .. } => Default::default(),
        };
        self.records.push(StoredName { entry, folder, name });
        Ok(())
    }

    /// The name of an entry with `separator` between folder and file, if it was added.
    pub(super) fn get(&self, entry: u32, separator: u8) -> Option<Vec<u8>> {
        let found = self.records.binary_search_by_key(&entry, |record| record.entry).ok()?;
        let StoredName { folder, name, .. } = self.records[found];
        Some(match folder.len {
            0 => self.run(name).to_vec(),
            _ => [self.run(folder), self.run(name)].join(&separator),
        })
    }

    /// Frees unused capacity.
    pub(super) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        self.records.shrink_to_fit();
    }

    fn append(&mut self, bytes: &[u8]) -> Result<Run, NamesTooLarge> {
        let at = u32::try_from(self.bytes.len()).map_err(|_| NamesTooLarge)?;
        let len = u32::try_from(bytes.len()).map_err(|_| NamesTooLarge)?;
        self.bytes.extend_from_slice(bytes);
        Ok(Run { at, len })
    }

    fn run(&self, run: Run) -> &[u8] {
        &self.bytes[run.at as usize..][..run.len as usize]
    }
}
