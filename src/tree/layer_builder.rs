//! Builds a layer from an archive's entries. Several threads may build layers at the same time.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::dictionary::Dictionary;
use super::fold;
use super::folder_index::FolderIndex;
use super::layer_names::{File, Folder, LayerNames, NameRef, UnnamedEntry};
use super::stored_names::{NamesTooLarge, StoredNames};
use crate::format::encoding::Encoding;
use crate::format::hash::{Family, placeholder_name};
use crate::format::{Archive, Entry, Name, name};
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

    /// The folder called `name` in `parent`, in any case. Makes the folder if it does not exist. The first
    /// spelling is listed.
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

    /// The folder called `name` in `parent`, in any case, or the key for making it.
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
