//! An archive that was opened and parsed.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::SystemTime;

use super::error::{OpenError, OpenErrorKind};
use super::open_options::OpenOptions;
use crate::archive_file::ArchiveFile;
use crate::content::LayerTables;
use crate::format::encoding::{Encoding, NamesEncoding};
use crate::format::hash::{Family, Hash};
use crate::format::{self, About, Archive, Entry, Name, Options};
use crate::kinds::DDS;
use crate::note::{Note, NoteCode};
use crate::shown::Shown;
use crate::system::text::count;
use crate::tree::{Dictionary, LayerNames, NamesTooLarge};

/// What an archive's header states, and what its parser noted.
#[derive(Debug)]
pub(crate) struct Description {
    pub(crate) about: About,
    pub(crate) encoding: NamesEncoding,
    pub(crate) notes: Vec<Note>,
}

/// Minimum number of files in an archive whose names and tables are built in parallel.
const PARALLEL_FROM: usize = 1 << 14;

/// An opened archive. It does not borrow from the bytes that were parsed. Clones share them.
#[derive(Clone)]
pub(crate) struct OpenedArchive {
    /// The absolute path.
    pub(crate) path: PathBuf,
    /// When its content was last changed.
    pub(crate) modified: SystemTime,
    pub(crate) content: Content,
    pub(crate) layer: Arc<LayerNames>,
    pub(crate) description: Arc<Description>,
}

/// The bytes of an archive.
#[derive(Clone)]
pub(crate) enum Content {
    Opened(Arc<ArchiveFile>, Arc<LayerTables>),
    /// The archive is kept: it is this layer of the mounted view.
    Mounted(u16),
}

impl OpenedArchive {
    /// Parses an open archive. Files without a name get theirs from the dictionary. All files lie in
    /// `folder`, if that is given.
    pub(crate) fn parse(
        path: &Path,
        mut source: ArchiveFile,
        folder: Option<&str>,
        dictionary: &Dictionary,
        options: &OpenOptions,
    ) -> Result<Self, OpenError> {
        let parsed = source.parse_tables(|bytes| {
            let archive = match format::parse_with(bytes, &options.parse_options()) {
                Ok(archive) => archive,
                Err(error) => return (Err(error), Vec::new()),
            };
            let encoding = options.names_encoding(&archive);
            let layer = || LayerNames::with_names(&archive, encoding.encoding, folder, dictionary);
            let (layer, tables) = names_and_tables(&archive, layer);
            let notes = notes_on(&archive, path);
            let description = Arc::new(Description { about: archive.about, encoding, notes });
            (Ok((layer, tables, description)), archive.tables)
        });
        let (layer, tables, description) = parsed
            .map_err(|error| OpenError::unreadable(path, error))?
            .map_err(|error| OpenError::new(path, OpenErrorKind::Archive(error)))?;
        let layer = layer.map_err(|error| OpenError::too_large(path, error))?;
        let dds_files = || layer.files_ending(DDS);
        let tables = tables.presented(options.textures, dds_files);
        Ok(Self {
            path: source.path().to_owned(),
            modified: source.modified(),
            content: Content::Opened(source.into(), tables.into()),
            layer: Arc::new(layer),
            description,
        })
    }

    /// The same archive, named by another path that leads to its file. `absolute` is that path from `/`.
    pub(crate) fn linked(
        self,
        path: &Path,
        absolute: &Path,
        folder: Option<&str>,
    ) -> Result<Self, OpenError> {
        let layer = match folder.filter(|_| !self.layer.has_base(folder)) {
            None => self.layer,
            Some(folder) => {
                let renamed = LayerNames::clone(&self.layer).in_folder(folder);
                renamed.map_err(|error| OpenError::too_large(path, error))?.into()
            }
        };
        let subject = path.to_string_lossy();
        let Description { about, encoding, notes } = &*self.description;
        let notes = notes.iter().map(|note| Note { subject: subject.clone().into_owned(), ..note.clone() });
        let description = Description { about: about.clone(), encoding: *encoding, notes: notes.collect() };
        Ok(Self { path: absolute.to_owned(), layer, description: description.into(), ..self })
    }

    /// Logs what is unusual about the archive, under the path that names it.
    pub(crate) fn report(&self, path: &Path) {
        // An archive that is kept was reported when it was opened.
        let Content::Opened(_, tables) = &self.content else { return };
        let path = path.shown();
        for note in &self.description.notes {
            log::info!("{path}: {note}");
        }
        if let Some(what) = still_tiled(tables) {
            log::warn!("{path}: {what}");
        }
        for (entry, why) in tables.kept_textures() {
            log::info!(
                "{path}: {} stays as it is: {why}",
                String::from_utf8_lossy(&self.layer.listed_path(entry)).shown()
            );
        }
    }
}

/// Opens and parses an archive, and passes it to `use_archive`.
pub(crate) fn with_archive<T>(
    path: &Path,
    options: &Options,
    use_archive: impl FnOnce(Archive<'_>) -> T,
) -> Result<T, OpenError> {
    let source = ArchiveFile::open(path).map_err(|error| OpenError::unreadable(path, error))?;
    source
        .with_bytes(|bytes| format::parse_with(bytes, options).map(use_archive))
        .map_err(|error| OpenError::unreadable(path, error))?
        .map_err(|error| OpenError::new(path, OpenErrorKind::Archive(error)))
}

/// The name of a file as an archive stores it, and its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredEntry {
    /// The folder, which is empty if the archive stores one string, and the rest. `None` if the archive does
    /// not store the whole name.
    pub(crate) name: Option<(Vec<u8>, Vec<u8>)>,
    pub(crate) hash: Hash,
}

/// Parses an open archive again: the family of its hashes, and the name and hash of each file, in the order
/// of its entries. A tree keeps neither the bytes of all names nor the hashes.
pub(crate) fn stored_entries(
    file: &ArchiveFile,
    options: &OpenOptions,
) -> Result<(Family, Vec<StoredEntry>), OpenError> {
    let entry = |entry: Entry<'_>| {
        let name = match entry.name {
            Name::Number(number) => Some((Vec::new(), number.to_string().into_bytes())),
            name => name.parts().map(|(folder, file)| (folder.to_vec(), file.to_vec())),
        };
        StoredEntry { name, hash: entry.hash }
    };
    let stored = file.with_bytes(|bytes| {
        let archive = format::parse_with(bytes, &options.parse_options())?;
        Ok((archive.hashes, archive.entries().map(entry).collect()))
    });
    stored
        .map_err(|error| OpenError::unreadable(file.path(), error))?
        .map_err(|error| OpenError::new(file.path(), OpenErrorKind::Archive(error)))
}

/// What is odd about an archive, as far as its tables show: what its parser noted, and whether it has files.
pub(crate) fn notes_on(archive: &Archive<'_>, path: &Path) -> Vec<Note> {
    let subject = path.to_string_lossy();
    let mut notes: Vec<Note> = archive
        .notes
        .iter()
        .map(|note| Note { subject: subject.clone().into_owned(), ..note.clone() })
        .collect();
    if archive.files.is_empty() {
        notes.push(Note::new(NoteCode::ArchiveEmpty, subject, "the archive has no files"));
    }
    notes
}

/// A note on an archive that is left out because it cannot be opened.
pub(crate) fn unreadable(path: &Path, error: &OpenError) -> Note {
    let text = format!("left out: {}", error.kind());
    Note::new(NoteCode::ArchiveUnreadable, path.to_string_lossy(), text)
}

/// Checks that a file can be opened as an archive.
pub(crate) fn is_archive(path: &Path, options: &OpenOptions) -> Result<(), OpenError> {
    with_archive(path, &options.parse_options(), |_| ())
}

/// Builds the names and tables of an archive, in parallel if it is large.
fn names_and_tables(
    archive: &Archive<'_>,
    names: impl FnOnce() -> Result<LayerNames, NamesTooLarge>,
) -> (Result<LayerNames, NamesTooLarge>, LayerTables) {
    if archive.files.len() < PARALLEL_FROM {
        return (names(), LayerTables::new(archive));
    }
    thread::scope(|scope| {
        let tables = thread::Builder::new().spawn_scoped(scope, || LayerTables::new(archive));
        let names = names();
        // If the thread cannot be started, this thread does its work.
        let tables = tables.map(|tables| tables.join().unwrap_or_else(|panic| resume_unwind(panic)));
        (names, tables.unwrap_or_else(|_| LayerTables::new(archive)))
    })
}

/// One line about the textures that `--textures dds` could not put into rows; `None` if there are none.
fn still_tiled(tables: &LayerTables) -> Option<String> {
    let tiled = tables.still_tiled();
    let modes: Vec<String> =
        tiled.iter().map(|(mode, textures)| format!("{textures} of tile mode {mode}")).collect();
    let textures = count(tiled.values().sum(), "texture");
    let what = "cannot be converted for a PC, so the console's header is kept";
    (!tiled.is_empty()).then(|| format!("{textures} {what}: {}", modes.join(", ")))
}

/// One note for each reason why entries of an archive are shown as they are stored, although the user asked
/// for another form.
pub(crate) fn kept_textures(
    subject: &str,
    names: &LayerNames,
    kept: impl IntoIterator<Item = (u32, &'static str)>,
) -> Vec<Note> {
    let mut of_reason: BTreeMap<&'static str, (usize, u32)> = BTreeMap::new();
    for (entry, reason) in kept {
        of_reason.entry(reason).or_insert((0, entry)).0 += 1;
    }
    let note = |(reason, (count, first))| {
        let path = String::from_utf8_lossy(&names.listed_path(first)).into_owned();
        Note::texture_kept(subject, count, path, reason)
    };
    of_reason.into_iter().map(note).collect()
}

/// A whole stored name as text, with `/` between folders; `None` if the archive stores none, or if
/// the code page cannot decode it.
pub(crate) fn stored_path(name: &Name<'_>, encoding: Encoding) -> Option<String> {
    let (folder, file) = name.parts()?;
    let parts = [encoding.decode(folder)?, encoding.decode(file)?];
    let pieces = parts.iter().flat_map(|part| part.split(['/', '\\']));
    Some(pieces.filter(|piece| !matches!(*piece, "" | ".")).collect::<Vec<_>>().join("/"))
}
