//! Builds a layer from an archive's entries. Several threads may build layers at the same time.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::dictionary::Dictionary;
use super::fold;
use super::layer_names::{File, Folder, LayerNames, NameRef, UnnamedEntry};
use super::stored_names::{NamesTooLarge, StoredNames};
use crate::folder::{self, FileTime, LooseNames};
use crate::format::encoding::Encoding;
use crate::format::hash::{Family, placeholder_name};
use crate::format::name::{self, COMPONENT_MAX};
use crate::format::{Archive, Entry, Name};
use crate::limits::{ARCHIVE_FOLDERS_MIN, BYTES_A_FOLDER};

impl LayerNames {
    /// The names of an archive, in `encoding`. With `base`, all of them are below a folder of that name.
    ///
    /// # Errors
    /// [`NamesTooLarge`] if they take more than 4 GiB.
    pub fn new(archive: &Archive<'_>, encoding: Encoding, base: Option<&str>) -> Result<Self, NamesTooLarge> {
        Self::with_names(archive, encoding, base, &Dictionary::new(encoding))
    }

    /// As [`LayerNames::new`], but files whose names the archive does not store get their paths from `names`.
    ///
    /// # Errors
    /// [`NamesTooLarge`] if names take more than 4 GiB.
    pub fn with_names(
        archive: &Archive<'_>,
        encoding: Encoding,
        base: Option<&str>,
        names: &Dictionary,
    ) -> Result<Self, NamesTooLarge> {
        let mut builder = LayerBuilder::new(archive, encoding);
        if let Some(base) = base {
            builder.layer.base = builder.enter(0, base)?;
        }
        let mut sniffed = archive.sniffed.iter().peekable();
        for (index, entry) in archive.entries().enumerate() {
            let index = u32::try_from(index).map_err(|_| NamesTooLarge)?;
            let extension = sniffed.next_if(|(of, _)| *of == index).map(|(_, extension)| *extension);
            let recovered = if entry.name.is_whole() {
                None
            } else {
                names
                    .path(archive.hashes, &entry.hash)
                    .filter(|path| names.encoding() == encoding || path.is_ascii())
            };
            builder.add(index, &entry, recovered, extension)?;
        }
        Ok(builder.layer.shrunk())
    }
}

/// Number of names that are searched for a separator. If none has one, or later names use the other
/// separator, those names become stored overrides.
const SEPARATOR_SAMPLE: usize = 1024;

struct LayerBuilder<'a> {
    layer: LayerNames,
    entered: FolderIndex,
    /// How many more folders stored paths may make.
    folders_left: usize,
    /// Folders by stored path.
    by_path: HashMap<&'a [u8], StoredFolder>,
    /// The folder of the previous entry. Archives store the files of a folder together.
    last: Option<(&'a [u8], StoredFolder)>,
}

/// The folder to which a stored path leads.
#[derive(Clone, Copy)]
struct StoredFolder {
    folder: u32,
    /// Whether the listed path differs from the stored one.
    is_changed: bool,
}

/// The source of a listed name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NameSource {
    /// The stored name, which [`LayerNames::stored_name`] can reproduce from the listed name.
    Stored,
    /// The stored name, made safe or joined differently.
    Changed,
    /// A dictionary, because the archive does not store the name.
    Recovered,
    /// The hash of the file or its folder, because the archive does not store the whole name.
    Hash,
}

impl<'a> LayerBuilder<'a> {
    fn new(archive: &Archive<'a>, encoding: Encoding) -> Self {
        let root = Folder { parent: 0, name: NameRef::default() };
        let separator = archive.entries().take(SEPARATOR_SAMPLE).find_map(|entry| match entry.name {
            Name::Path(path) => path.iter().copied().find(|byte| matches!(byte, b'/' | b'\\')),
            _ => None,
        });
        let layer = LayerNames {
            shared: Arc::default(),
            folder_times: Vec::new(),
            arena: Vec::with_capacity(archive.files.len().saturating_mul(20)),
            folders: vec![root],
            files: Vec::with_capacity(archive.files.len()),
            stored_overrides: StoredNames::default(),
            unnamed: Vec::new(),
            family: archive.hashes,
            encoding,
            separator: separator.unwrap_or(b'\\'),
            base: 0,
        };
        let (entered, by_path) = (FolderIndex::default(), HashMap::new());
        Self { layer, entered, folders_left: ARCHIVE_FOLDERS_MIN, by_path, last: None }
    }

    /// Adds a file. `recovered` is its path in a dictionary. `sniffed` is an extension for a name
    /// made from its hash.
    fn add(
        &mut self,
        index: u32,
        entry: &Entry<'a>,
        recovered: Option<&'a [u8]>,
        sniffed: Option<&str>,
    ) -> Result<(), NamesTooLarge> {
        let (file, source) = match (recovered, self.in_last_folder(&entry.name)) {
            (Some(path), _) => (self.locate(&Name::Path(path), entry, sniffed)?.0, NameSource::Recovered),
            (None, Some((folder, file))) => {
                (File { folder, name: self.layer.append(file)? }, NameSource::Stored)
            }
            (None, None) => self.locate(&entry.name, entry, sniffed)?,
        };
        self.layer.files.push(file);
        if source != NameSource::Stored {
            self.layer.stored_overrides.push(index, &entry.name)?;
        }
        // Without hashes, a file without a name cannot be looked up.
        if matches!(source, NameSource::Recovered | NameSource::Hash) && self.layer.family != Family::None {
            let is_recovered = source == NameSource::Recovered;
            self.layer.unnamed.push(UnnamedEntry { entry: index, hash: entry.hash, is_recovered });
        }
        Ok(())
    }

    /// The folder and name of a file in the same folder as the previous entry, if both are listed
    /// as they are stored. This fast path applies to nearly all files.
    fn in_last_folder(&self, name: &Name<'a>) -> Option<(u32, &'a [u8])> {
        let (path, last) =
            self.last.filter(|(_, last)| !last.is_changed && last.folder != self.layer.base)?;
        let file = match *name {
            Name::Path(whole) => whole.strip_prefix(path)?.strip_prefix(&[self.layer.separator])?,
            Name::Split { folder, file } => file.filter(|_| folder == Some(path))?,
            Name::Number(_) | Name::Unknown { .. } => return None,
        };
        name::is_ordinary(file).then_some((last.folder, file))
    }

    /// Places a file by the parts of `name`, and by its hash if parts are missing.
    fn locate(
        &mut self,
        name: &Name<'a>,
        entry: &Entry<'a>,
        sniffed: Option<&str>,
    ) -> Result<(File, NameSource), NamesTooLarge> {
        let (folder, file) = match *name {
            Name::Path(path) => {
                let (folder, file) = name::split(path, self.layer.encoding);
                (Some(folder), Some(file))
            }
            Name::Split { folder, file } => (folder, file),
            Name::Number(_) => (Some(&b""[..]), None),
            Name::Unknown { .. } => (None, None),
        };
        let at = match folder {
            Some(folder) => self.folder(folder)?,
            None => self.folder_of_hash(entry)?,
        };
        let (at, listed) = match (*name, file) {
            (Name::Number(number), _) => (at, Cow::Owned(number.to_string().into_bytes())),
            (_, None) => (at, Cow::Borrowed(&b""[..])),
            (Name::Split { .. }, Some(file)) => self.split_file(at, file)?,
            (_, Some(file)) => (at, self.file_name(at, file)),
        };
        let is_changed = at.is_changed
            || file.is_some_and(|file| *listed != *file)
            || !self.is_joined_as_usual(name, folder.unwrap_or_default());
        let source = match (listed.is_empty() || folder.is_none(), is_changed) {
            (true, _) => NameSource::Hash,
            (false, true) => NameSource::Changed,
            (false, false) => NameSource::Stored,
        };
        let name = if listed.is_empty() {
            self.layer.append(self.hash_name(entry, sniffed).as_bytes())?
        } else {
            self.layer.append(&listed)?
        };
        Ok((File { folder: at.folder, name }, source))
    }

    /// The folder of a stored path.
    fn folder(&mut self, path: &'a [u8]) -> Result<StoredFolder, NamesTooLarge> {
        if let Some((last, at)) = self.last
            && last == path
        {
            return Ok(at);
        }
        let at = match self.by_path.get(path) {
            Some(&at) => at,
            None => {
                let folder = self.descend(self.layer.base, path)?;
                let at = StoredFolder { folder, is_changed: self.layer.folder_path(folder) != path };
                self.by_path.insert(path, at);
                at
            }
        };
        self.last = Some((path, at));
        Ok(at)
    }

    /// The folder for a file whose folder is not stored, named after the folder's hash.
    fn folder_of_hash(&mut self, entry: &Entry<'_>) -> Result<StoredFolder, NamesTooLarge> {
        let base = self.layer.base;
        let (folder, _) = placeholder_name(self.layer.family, &entry.hash, extension(entry));
        let folder = folder.map_or(Ok(base), |folder| self.enter(base, &folder))?;
        Ok(StoredFolder { folder, is_changed: true })
    }

    /// The name for a file whose name is not stored.
    fn hash_name(&self, entry: &Entry<'_>, sniffed: Option<&str>) -> String {
        let (_, file) = placeholder_name(self.layer.family, &entry.hash, extension(entry));
        match sniffed {
            Some(sniffed) => format!("{file}.{sniffed}"),
            None => file,
        }
    }

    /// The folder and the name of a file whose name is stored apart from its folder. Hostile names
    /// contain folders too.
    fn split_file(
        &mut self,
        at: StoredFolder,
        file: &'a [u8],
    ) -> Result<(StoredFolder, Cow<'a, [u8]>), NamesTooLarge> {
        let (folders, file) = name::split(file, self.layer.encoding);
        let folder = self.descend(at.folder, folders)?;
        let at = StoredFolder { folder, is_changed: at.is_changed || folder != at.folder };
        Ok((at, self.file_name(at, file)))
    }

    /// The listed name of a file whose stored name contains no folders; empty if the stored name is empty.
    fn file_name(&self, at: StoredFolder, file: &'a [u8]) -> Cow<'a, [u8]> {
        // Only a name in the root can begin with a drive letter.
        let is_first = at.folder == self.layer.base;
        let text = match file {
            b"" => Cow::Borrowed(""),
            _ if is_first => name::components(file, self.layer.encoding).next().unwrap_or_default(),
            _ if name::is_ordinary(file) => return Cow::Borrowed(file),
            _ => name::component(file, self.layer.encoding),
        };
        match text {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        }
    }

    /// Whether folder and file are joined in the stored name as [`LayerNames::stored_name`] joins them.
    fn is_joined_as_usual(&self, name: &Name<'_>, folder: &[u8]) -> bool {
        match name {
            Name::Path(path) if folder.is_empty() => !path.starts_with(b"/") && !path.starts_with(b"\\"),
            Name::Path(path) => path.get(folder.len()) == Some(&self.layer.separator),
            Name::Number(_) | Name::Split { .. } | Name::Unknown { .. } => true,
        }
    }

    /// The folder called `name` in `parent`, ignoring case. Makes the folder if it does not exist. The
    /// first spelling is listed.
    fn enter(&mut self, parent: u32, name: &str) -> Result<u32, NamesTooLarge> {
        self.find(parent, name).or_else(|key| self.make(parent, name, key))
    }

    /// The folder to which a stored path leads from another folder. If the path would make more
    /// folders than are allowed, the rest of it becomes one folder.
    fn descend(&mut self, from: u32, path: &[u8]) -> Result<u32, NamesTooLarge> {
        self.folders_left = self.folders_left.saturating_add(1 + path.len() / BYTES_A_FOLDER);
        let mut folder = from;
        let mut components = name::components(path, self.layer.encoding);
        loop {
            let left = components.clone();
            let Some(component) = components.next() else { return Ok(folder) };
            folder = match self.find(folder, &component) {
                Ok(known) => known,
                Err(key) => {
                    self.folders_left = self.folders_left.saturating_sub(1);
                    if self.folders_left == 0 {
                        return self.enter(folder, &left.joined());
                    }
                    self.make(folder, &component, key)?
                }
            };
        }
    }

    /// The folder called `name` in `parent`, ignoring case, or the key for making it.
    fn find(&self, parent: u32, name: &str) -> Result<u32, u64> {
        self.entered.find(parent, name.as_bytes(), |folder| {
            let folder = &self.layer.folders[folder as usize];
            folder.parent == parent && fold::same(self.layer.name(folder.name), name.as_bytes())
        })
    }

    fn make(&mut self, parent: u32, name: &str, key: u64) -> Result<u32, NamesTooLarge> {
        let folder = u32::try_from(self.layer.folders.len()).map_err(|_| NamesTooLarge)?;
        let name = self.layer.append(name.as_bytes())?;
        self.layer.folders.push(Folder { parent, name });
        self.entered.insert(key, folder);
        Ok(folder)
    }
}

/// The extension that an archive stores with a hash; NULs if it stores names.
fn extension(entry: &Entry<'_>) -> [u8; 4] {
    match entry.name {
        Name::Unknown { extension } => extension,
        _ => [0; 4],
    }
}

// Builds a layer from a folder of loose files. The layer shares the folder's names in memory.

impl LayerNames {
    /// The names in a folder. With `base`, all of them are below a folder of that name. Names that
    /// are not UTF-8, or contain what no name in a mount may, are listed [safely](name::component).
    ///
    /// # Errors
    /// [`NamesTooLarge`] if they take more than 4 GiB.
    pub fn of_folder(names: &LooseNames, base: Option<&str>) -> Result<Self, NamesTooLarge> {
        let root = Folder { parent: 0, name: NameRef::default() };
        let count = names.file_count();
        let mut layer = Self {
            shared: Arc::clone(names.bytes()),
            arena: Vec::new(),
            folders: Vec::with_capacity(names.folders().len() + 1),
            folder_times: Vec::with_capacity(names.folders().len() + 1),
            files: Vec::with_capacity(count as usize),
            stored_overrides: StoredNames::default(),
            unnamed: Vec::new(),
            family: Family::None,
            encoding: Encoding::UTF_8,
            separator: b'/',
            base: 0,
        };
        layer.folders.push(root);
        let mut folders = names.folders();
        let own_time = folders.next().map_or(FileTime::default(), |(_, _, modified)| modified);
        if let Some(base) = base {
            let name = layer.append(base.as_bytes())?;
            layer.folders.push(Folder { parent: 0, name });
            layer.base = 1;
        }
        layer.folder_times = vec![own_time; layer.folders.len()];
        // The first folder is the base. The folders below it follow.
        let listed = |folder: u32| folder + layer_base(base);
        for (parent, stored, modified) in folders {
            let (name, _) = layer.listed_name(stored)?;
            layer.folders.push(Folder { parent: listed(parent), name });
            layer.folder_times.push(modified);
        }
        let mut changed_folder = (u32::MAX, false);
        for (entry, (folder, stored)) in (0_u32..).zip(names.files()) {
            let (name, is_changed) = layer.listed_name(stored)?;
            layer.files.push(File { folder: listed(folder), name });
            if changed_folder.0 != folder {
                let path = names.folder_path(folder);
                changed_folder = (folder, layer.folder_path(listed(folder)) != path);
            }
            if is_changed || changed_folder.1 {
                layer.stored_overrides.push(entry, &Name::Path(&names.file_path(entry)))?;
            }
        }
        Ok(layer.shrunk())
    }

    /// The listed name for a stored name, and whether they differ.
    fn listed_name(&mut self, stored: folder::LooseName<'_>) -> Result<(NameRef, bool), NamesTooLarge> {
        let len = u8::try_from(stored.bytes.len()).map_err(|_| NamesTooLarge)?;
        match name::component(stored.bytes, Encoding::UTF_8) {
            Cow::Borrowed(text) if text.as_bytes() == stored.bytes => {
                Ok((NameRef::new(stored.at, len), false))
            }
            listed => Ok((self.append(listed.as_bytes())?, true)),
        }
    }
}

/// The index of the folder that contains the whole layer.
fn layer_base(base: Option<&str>) -> u32 {
    u32::from(base.is_some())
}

// Folders by parent and folded name, used while a layer or a tree is built.

/// Index of folders. It stores hashes instead of names: a hostile archive can make a folder with
/// two bytes, and a name would take fifty.
#[derive(Debug, Default)]
pub(super) struct FolderIndex {
    /// Keyed, so that no archive can store names that collide.
    hasher: RandomState,
    folders: HashMap<u64, u32>,
}

impl FolderIndex {
    /// The folder called `name` in `parent`. `is_it` compares both with a folder of equal hash.
    ///
    /// # Errors
    /// The key for [`FolderIndex::insert`] if there is no such folder.
    pub(super) fn find(&self, parent: u32, name: &[u8], is_it: impl Fn(u32) -> bool) -> Result<u32, u64> {
        let mut key = self.hasher.hash_one((parent, name.to_ascii_lowercase()));
        loop {
            match self.folders.get(&key) {
                None => return Err(key),
                Some(&folder) if is_it(folder) => return Ok(folder),
                Some(_) => key = key.wrapping_add(1),
            }
        }
    }

    /// Adds a folder that was not found.
    pub(super) fn insert(&mut self, key: u64, folder: u32) {
        self.folders.insert(key, folder);
    }
}

// Numbers for files whose name is already taken.

/// The `n`th name for a file whose own name is taken. For example, `foo.dds` becomes `foo (2).dds`.
/// At most [`COMPONENT_MAX`] bytes.
pub fn numbered(name: &str, n: u32) -> String {
    let dot = name.rfind('.').filter(|&at| at > 0 && name.len() - at <= COMPONENT_MAX / 2);
    let (stem, extension) = name.split_at(dot.unwrap_or(name.len()));
    let suffix = format!(" ({n}){extension}");
    let room = COMPONENT_MAX - suffix.len();
    let stem = (0..=room).rev().find_map(|end| stem.get(..end)).unwrap_or(stem);
    format!("{stem}{suffix}")
}

/// Gives out the numbered names of one folder.
#[derive(Debug)]
pub(super) struct DuplicateNames {
    /// Keyed, so that no archive can store names that collide.
    hasher: RandomState,
    /// Hashes of all folded names of the folder. If two names have the same hash, a number is skipped.
    taken: HashSet<u64>,
    /// The first number that may be free. The key is the hash of the first numbered name with as
    /// many digits, so names that are cut to the same stem share one search.
    next: HashMap<u64, u32>,
    /// How many names were tried.
    #[cfg(test)]
    tried: usize,
}

impl DuplicateNames {
    /// The taken names of a folder that already has these names.
    pub(super) fn new<'a>(names: impl Iterator<Item = &'a [u8]>) -> Self {
        let hasher = RandomState::new();
        let taken = names.map(|name| folded_hash(&hasher, name)).collect();
        Self {
            hasher,
            taken,
            next: HashMap::new(),
            #[cfg(test)]
            tried: 0,
        }
    }

    /// The first free number for a name whose numbers up to `last` are taken (1 if none is). `None`
    /// if numbers run out.
    pub(super) fn next(&mut self, name: &str, last: u32) -> Option<u32> {
        let mut first = 10_u32.pow(last.ilog10()).max(2);
        loop {
            let next = self.next.entry(folded_hash(&self.hasher, numbered(name, first).as_bytes()));
            let next = next.or_insert(first);
            while next.ilog10() == first.ilog10() {
                let number = *next;
                *next = number.checked_add(1)?;
                #[cfg(test)]
                {
                    self.tried += 1;
                }
                if self.taken.insert(folded_hash(&self.hasher, numbered(name, number).as_bytes())) {
                    return Some(number);
                }
            }
            first = 10_u32.checked_pow(first.ilog10() + 1)?;
        }
    }
}

fn folded_hash(hasher: &RandomState, name: &[u8]) -> u64 {
    hasher.hash_one(name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_with_equal_hashes_are_distinguished() {
        let mut index = FolderIndex::default();
        for folder in 0..3 {
            let key = index.find(7, b"Name", |_| false).unwrap_err();
            index.insert(key, folder);
        }
        for folder in 0..3 {
            assert_eq!(index.find(7, b"nAME", |found| found == folder), Ok(folder));
        }
        assert!(index.find(8, b"name", |_| true).is_err());
    }

    #[test]
    fn duplicates_get_ascending_numbers_that_skip_existing_names() {
        let names = ["x", "x (3)", "y", "y (10)"];
        let mut numbering = DuplicateNames::new(names.iter().map(|name| name.as_bytes()));
        assert_eq!([numbering.next("x", 1), numbering.next("X", 2)], [Some(2), Some(4)]);
        let mut last = 1;
        let given = std::iter::from_fn(|| {
            last = numbering.next("Y", last)?;
            Some(last)
        });
        assert_eq!(given.take(99).collect::<Vec<_>>(), (2..=101).filter(|&n| n != 10).collect::<Vec<_>>());
    }

    #[test]
    fn long_names_that_differ_at_their_ends_are_numbered_quickly() {
        for extension in ["", ".dds"] {
            let names: Vec<String> = (0..20_000)
                .map(|n| format!("{}{n:05}{extension}", "x".repeat(250 - extension.len())))
                .collect();
            let mut numbering = DuplicateNames::new(names.iter().map(|name| name.as_bytes()));
            let numbers = names.iter().map(|name| (name, numbering.next(name, 1).unwrap()));
            let given: HashSet<String> = numbers.map(|(name, number)| numbered(name, number)).collect();
            assert_eq!(given.len(), names.len());
            assert!(numbering.tried < 2 * names.len(), "{} tries", numbering.tried);
        }
    }
}
