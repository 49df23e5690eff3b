//! The names of one archive, made safe and sorted into folders: what [`super::build`] merges.
//!
//! Layers are made from archives one by one, and may be made on several threads.

use std::borrow::Cow;
use std::collections::HashMap;

use super::Dictionary;
use crate::format::encoding::Encoding;
use crate::format::name;
use crate::format::{Archive, Entry, Name, hash};

/// A piece of a layer's arena: a name, in UTF-8, of at most 255 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) at: u32,
    pub(super) len: u8,
}

/// A folder of one layer.
#[derive(Debug)]
pub(super) struct Folder {
    /// Its place among the layer's folders; the root is its own parent.
    pub(super) parent: u32,
    pub(super) name: Text,
}

/// A file of one layer; its place among the layer's files is that of its entry in the archive.
#[derive(Clone, Copy, Debug)]
pub(super) struct File {
    pub(super) folder: u32,
    pub(super) name: Text,
}

/// A file whose name the archive does not store.
#[derive(Debug)]
pub(super) struct Unnamed {
    pub(super) entry: u32,
    pub(super) hash: hash::Hash,
    /// Whether a dictionary knew its path, by which it is then listed and found like any other.
    pub(super) is_recovered: bool,
}

/// One archive's names.
#[derive(Debug)]
pub struct Layer {
    pub(super) arena: Vec<u8>,
    pub(super) folders: Vec<Folder>,
    pub(super) files: Vec<File>,
    /// What stays of `files` once the tree is frozen: the folder of each.
    homes: Vec<u32>,
    /// Names whose stored bytes cannot be told from the listed ones, by entry.
    odd: Vec<(u32, Box<[u8]>)>,
    /// The same of files that were given a number, until the tree is frozen.
    renamed: Vec<(u32, Box<[u8]>)>,
    pub(super) unnamed: Vec<Unnamed>,
    pub(super) family: hash::Family,
    pub(super) encoding: Encoding,
    /// What stands between folders in stored names.
    pub(super) separator: u8,
    /// The folder that holds the whole layer; 0 is the root of the mount.
    pub(super) base: u32,
}

/// A layer that cannot be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyNames;

impl std::fmt::Display for TooManyNames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the names of one archive take more than 4 GiB")
    }
}

impl std::error::Error for TooManyNames {}

impl Layer {
    /// Takes the names of an archive, in `encoding`. With `base`, everything is put under a folder of that name.
    ///
    /// # Errors
    /// [`TooManyNames`] where they do not fit.
    pub fn new(archive: &Archive<'_>, encoding: Encoding, base: Option<&str>) -> Result<Self, TooManyNames> {
        Self::with_names(archive, encoding, base, &Dictionary::new(encoding))
    }

    /// The same, with the paths of files whose archive does not store their names, as far as `names` knows them.
    ///
    /// # Errors
    /// [`TooManyNames`] where names do not fit.
    pub fn with_names(
        archive: &Archive<'_>,
        encoding: Encoding,
        base: Option<&str>,
        names: &Dictionary,
    ) -> Result<Self, TooManyNames> {
        let mut naming = Naming::new(archive, encoding);
        if let Some(base) = base {
            naming.layer.base = naming.enter(0, base)?;
        }
        let mut sniffed = archive.sniffed.iter().peekable();
        for (index, entry) in archive.entries().enumerate() {
            let index = u32::try_from(index).map_err(|_| TooManyNames)?;
            let extension = sniffed.next_if(|(of, _)| *of == index).map(|(_, extension)| *extension);
            let recovered = match entry.name.is_whole() {
                true => None,
                false => names.path(archive.hashes, &entry.hash),
            };
            naming.add(index, &entry, recovered, extension)?;
        }
        Ok(naming.layer)
    }

    /// The bytes of a name.
    pub(super) fn text(&self, text: Text) -> &[u8] {
        &self.arena[text.at as usize..][..usize::from(text.len)]
    }

    /// Puts a name into the arena.
    pub(super) fn keep(&mut self, name: &[u8]) -> Result<Text, TooManyNames> {
        let at = u32::try_from(self.arena.len()).map_err(|_| TooManyNames)?;
        let len = u8::try_from(name.len()).map_err(|_| TooManyNames)?;
        self.arena.extend_from_slice(name);
        Ok(Text { at, len })
    }

    /// Gives a file another name, and remembers the one that is stored.
    pub(super) fn rename(&mut self, entry: u32, name: &str) -> Result<Text, TooManyNames> {
        let File { folder, name: old } = self.files[entry as usize];
        let stored = self.stored_at(entry, folder, self.text(old));
        self.renamed.push((entry, stored.into()));
        self.keep(name.as_bytes())
    }

    /// Lets go of what only the building of a tree needed.
    pub(super) fn freeze(&mut self) {
        // Not collected from the files themselves, which would keep their larger allocation.
        self.homes = self.files.iter().map(|file| file.folder).collect();
        self.files = Vec::new();
        self.odd.append(&mut self.renamed);
        self.odd.sort_by_key(|(entry, _)| *entry);
        self.odd.dedup_by_key(|(entry, _)| *entry);
        self.odd.shrink_to_fit();
        self.arena.shrink_to_fit();
    }

    /// The stored bytes of an entry's name that is listed as `name`, once the tree is frozen.
    pub(super) fn stored_name(&self, entry: u32, name: &[u8]) -> Vec<u8> {
        self.stored_at(entry, self.homes[entry as usize], name)
    }

    /// The stored bytes of a name in a folder of this layer.
    fn stored_at(&self, entry: u32, folder: u32, name: &[u8]) -> Vec<u8> {
        if let Ok(found) = self.odd.binary_search_by_key(&entry, |(entry, _)| *entry) {
            return self.odd[found].1.to_vec();
        }
        let mut parts = vec![name];
        let mut at = folder;
        while at != self.base && at != 0 {
            let folder = &self.folders[at as usize];
            parts.push(self.text(folder.name));
            at = folder.parent;
        }
        parts.reverse();
        parts.join(&self.separator)
    }
}

/// Names that are looked at for what separates folders. Where these say nothing, or others say something else, the
/// latter are kept as they are.
const SEPARATED: usize = 1024;

/// A layer in the making, and what was looked up before.
struct Naming<'a> {
    layer: Layer,
    /// Folders by parent and folded name.
    entered: HashMap<(u32, Box<[u8]>), u32>,
    /// Folders by their stored path, and whether that path is spelled as it is listed.
    seen: HashMap<&'a [u8], Seen>,
    /// The folder of the entry before: archives keep the files of a folder together.
    last: Option<(&'a [u8], Seen)>,
}

/// Where a stored folder path leads.
#[derive(Clone, Copy)]
struct Seen {
    folder: u32,
    is_odd: bool,
}

impl<'a> Naming<'a> {
    fn new(archive: &Archive<'a>, encoding: Encoding) -> Self {
        let root = Folder { parent: 0, name: Text::default() };
        let separator = archive.entries().take(SEPARATED).find_map(|entry| match entry.name {
            Name::Path(path) => path.iter().copied().find(|byte| matches!(byte, b'/' | b'\\')),
            _ => None,
        });
        let layer = Layer {
            arena: Vec::with_capacity(archive.files.len().saturating_mul(20)),
            folders: vec![root],
            files: Vec::with_capacity(archive.files.len()),
            homes: Vec::new(),
            odd: Vec::new(),
            renamed: Vec::new(),
            unnamed: Vec::new(),
            family: archive.hashes,
            encoding,
            separator: separator.unwrap_or(b'\\'),
            base: 0,
        };
        Self { layer, entered: HashMap::new(), seen: HashMap::new(), last: None }
    }

    /// Adds a file; `recovered` is its path where that is known from elsewhere, `sniffed` an extension for a name that
    /// is made from its hash.
    fn add(
        &mut self,
        index: u32,
        entry: &Entry<'a>,
        recovered: Option<&'a [u8]>,
        sniffed: Option<&str>,
    ) -> Result<(), TooManyNames> {
        if recovered.is_none()
            && let Some((folder, file)) = self.beside_last(&entry.name)
        {
            let name = self.layer.keep(file)?;
            self.layer.files.push(File { folder, name });
            return Ok(());
        }
        let known = recovered.map_or(entry.name, Name::Path);
        let (folder, file) = match known {
            Name::Path(path) => {
                let (folder, file) = name::split(path, self.layer.encoding);
                (Some(folder), Some(file))
            }
            Name::Split { folder, file } => (folder, file),
            Name::Number(_) => (Some(&b""[..]), None),
            Name::Unknown { .. } => (None, None),
        };
        let extension = match entry.name {
            Name::Unknown { extension } => extension,
            _ => [0; 4],
        };
        let family = self.layer.family;
        let by_hash = || {
            let (folder, file) = hash::placeholder_name(family, &entry.hash, extension);
            (folder, sniffed.map_or(file.clone(), |sniffed| format!("{file}.{sniffed}")))
        };
        let place = match folder {
            Some(folder) => self.folder(folder)?,
            None => {
                let base = self.layer.base;
                let folder = by_hash().0.map_or(Ok(base), |folder| self.enter(base, &folder))?;
                Seen { folder, is_odd: true }
            }
        };
        let (place, name) = match (known, file) {
            (Name::Number(number), _) => (place, Cow::Owned(number.to_string().into_bytes())),
            (_, None) => (place, Cow::Borrowed(&b""[..])),
            (Name::Split { .. }, Some(file)) => self.split_file(place, file)?,
            (_, Some(file)) => (place, self.name(place, file)),
        };
        // Without hashes there is nothing by which a file without a name could be found.
        let is_unnamed =
            (name.is_empty() || folder.is_none() || recovered.is_some()) && family != hash::Family::None;
        // A name may differ from its bytes without having been made anew: `..` becomes a constant.
        let is_changed = file.is_some_and(|file| *name != *file)
            || !self.is_joined_as_usual(&known, folder.unwrap_or_default());
        let is_odd = recovered.is_some() || place.is_odd || name.is_empty() || is_changed;
        let name = match name.is_empty() {
            true => self.layer.keep(by_hash().1.as_bytes())?,
            false => self.layer.keep(&name)?,
        };
        self.layer.files.push(File { folder: place.folder, name });
        if is_odd {
            self.layer.odd.push((index, stored_path(&entry.name, self.layer.separator)));
        }
        if is_unnamed {
            let is_recovered = recovered.is_some();
            self.layer.unnamed.push(Unnamed { entry: index, hash: entry.hash, is_recovered });
        }
        Ok(())
    }

    /// The folder and the name of a file of which nothing is to be said but that it lies where the entry before it does:
    /// nearly all do.
    fn beside_last(&self, name: &Name<'a>) -> Option<(u32, &'a [u8])> {
        let (last, seen) = self.last.filter(|(_, seen)| !seen.is_odd && seen.folder != self.layer.base)?;
        let file = match *name {
            Name::Path(path) => path.strip_prefix(last)?.strip_prefix(&[self.layer.separator])?,
            Name::Split { folder, file } => file.filter(|_| folder == Some(last))?,
            Name::Number(_) | Name::Unknown { .. } => return None,
        };
        name::is_ordinary(file).then_some((seen.folder, file))
    }

    /// The folder of a stored path.
    fn folder(&mut self, path: &'a [u8]) -> Result<Seen, TooManyNames> {
        if let Some((last, seen)) = self.last
            && last == path
        {
            return Ok(seen);
        }
        let seen = match self.seen.get(path) {
            Some(&seen) => seen,
            None => {
                let mut folder = self.layer.base;
                for component in name::components(path, self.layer.encoding) {
                    folder = self.enter(folder, &component)?;
                }
                let listed = self.layer.stored_at(u32::MAX, folder, b"");
                let is_odd = listed.strip_suffix(&[self.layer.separator]).unwrap_or(b"") != path;
                let seen = Seen { folder, is_odd };
                self.seen.insert(path, seen);
                seen
            }
        };
        self.last = Some((path, seen));
        Ok(seen)
    }

    /// Whether what stands between a folder and its file is what [`Layer::stored_at`] would put there.
    fn is_joined_as_usual(&self, name: &Name<'_>, folder: &[u8]) -> bool {
        match name {
            Name::Path(path) if folder.is_empty() => !path.starts_with(b"/") && !path.starts_with(b"\\"),
            Name::Path(path) => path.get(folder.len()) == Some(&self.layer.separator),
            Name::Number(_) | Name::Split { .. } | Name::Unknown { .. } => true,
        }
    }

    /// The folder and the name of a file that is stored apart from its folder. Hostile ones hold folders too.
    fn split_file(&mut self, place: Seen, file: &'a [u8]) -> Result<(Seen, Cow<'a, [u8]>), TooManyNames> {
        let (folders, file) = name::split(file, self.layer.encoding);
        let mut place = place;
        for component in name::components(folders, self.layer.encoding) {
            place = Seen { folder: self.enter(place.folder, &component)?, is_odd: true };
        }
        Ok((place, self.name(place, file)))
    }

    /// The name of a file without folders; empty where it has none.
    fn name(&self, place: Seen, file: &'a [u8]) -> Cow<'a, [u8]> {
        // Nothing stands in front of a file in the root, so that it may hold a drive letter.
        let is_first = place.folder == self.layer.base;
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

    /// The folder called `name` in `parent`; the first spelling of it is the one that is kept.
    fn enter(&mut self, parent: u32, name: &str) -> Result<u32, TooManyNames> {
        let key = (parent, name.as_bytes().to_ascii_lowercase().into_boxed_slice());
        if let Some(&folder) = self.entered.get(&key) {
            return Ok(folder);
        }
        let folder = u32::try_from(self.layer.folders.len()).map_err(|_| TooManyNames)?;
        let name = self.layer.keep(name.as_bytes())?;
        self.layer.folders.push(Folder { parent, name });
        self.entered.insert(key, folder);
        Ok(folder)
    }
}

/// All that an archive stores of a name, in its own bytes.
fn stored_path(name: &Name<'_>, separator: u8) -> Box<[u8]> {
    match name {
        Name::Path(path) => (*path).into(),
        Name::Split { folder, file } => {
            let mut path = folder.unwrap_or_default().to_vec();
            if !path.is_empty() && file.is_some() {
                path.push(separator);
            }
            path.extend_from_slice(file.unwrap_or_default());
            path.into()
        }
        Name::Number(number) => number.to_string().into_bytes().into(),
        Name::Unknown { .. } => Box::default(),
    }
}
