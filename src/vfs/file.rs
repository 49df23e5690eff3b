//! A file of the tree.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::open_options::READ_LIMIT;
use super::opened::Opened;
use crate::content::codec::LONGER;
use crate::content::{self, BytesKey, Packing, Reason, StoredFile};
use crate::format::EntryId;
use crate::kinds::is_dds;
use crate::note::Note;
use crate::shown::Shown;
use crate::tree::{Hidden, Kind, NodeId, Tree};

/// Why a texture of a folder stays as it is: only those of archives are shown in other forms.
pub(super) const LOOSE: &str = "a loose file";
/// Maximum number of bytes per read.
const STEP: usize = 1 << 20;

/// A file of a [`Vfs`](crate::Vfs), or a copy of it that another layer hides.
#[derive(Clone, Debug)]
pub struct VfsFile {
    opened: Arc<Opened>,
    node: NodeId,
    entry: EntryId,
}

impl Opened {
    /// The file at a path, ignoring case, with either separator.
    pub(crate) fn file(self: &Arc<Self>, path: &[u8]) -> Option<VfsFile> {
        let node = self.tree.resolve(path)?;
        match self.tree.kind(node) {
            Kind::File(entry) => Some(VfsFile::new(self.clone(), node, entry)),
            Kind::Folder => None,
        }
    }

    /// All files, in the order of the tree.
    pub(crate) fn files(self: &Arc<Self>) -> impl Iterator<Item = VfsFile> {
        self.tree.entries().map(|(node, entry)| VfsFile::new(self.clone(), node, entry))
    }
}

impl VfsFile {
    pub(crate) fn new(opened: Arc<Opened>, node: NodeId, entry: EntryId) -> Self {
        Self { opened, node, entry }
    }

    /// The path in the tree, with `/` between names, in the spelling that listings show.
    pub fn path(&self) -> String {
        String::from_utf8_lossy(&self.opened.tree.path(self.node)).into_owned()
    }

    /// The size in bytes. The size of a loose file is learnt once, by the first call or read.
    ///
    /// # Errors
    /// The size is stated only in the file's data, which is damaged.
    pub fn size(&self) -> Result<u64, ReadError> {
        let file = self.stored();
        file.size_or_estimate();
        file.size_if_known().ok_or_else(|| {
            // An empty read returns the reason.
            let read = file.read_at(0, 0);
            let unknown = || ReadErrorKind::Unreadable("its size cannot be read".into());
            self.error(read.err().map_or_else(unknown, ReadErrorKind::from))
        })
    }

    /// When the file, or the archive that contains it, was last changed.
    pub fn modified(&self) -> SystemTime {
        self.stored().modified()
    }

    /// Reads the whole file.
    ///
    /// # Errors
    /// The file is damaged, larger than
    /// [`OpenOptions::read_limit`](crate::OpenOptions::read_limit), or too large for memory.
    pub fn read(&self) -> Result<Vec<u8>, ReadError> {
        let (size, limit) = (self.size()?, self.opened.options.read_limit.unwrap_or(READ_LIMIT));
        let too_large = |size| self.error(ReadErrorKind::TooLarge { size, limit });
        if size > limit {
            return Err(too_large(size));
        }
        let no_memory = || self.error(ReadErrorKind::NoMemory(size));
        // One byte more shows whether a loose file became longer after its size was learnt.
        let more = usize::from(self.layer().is_folder());
        let len = usize::try_from(size).ok().and_then(|len| len.checked_add(more)).ok_or_else(no_memory)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|_| no_memory())?;
        let begun = self.stored().begin_whole().map_err(|error| self.error(error.into()))?;
        let whole = |bytes: Vec<u8>| {
            let ended = self.stored().end_whole(begun.as_ref(), bytes.len() as u64);
            ended.map(|()| bytes).map_err(|error| self.error(error.into()))
        };
        // Reads piece by piece, so that a size that a damaged archive merely claims takes no memory.
        loop {
            let at = bytes.len();
            let step = if at < len { STEP.min(len - at) } else { more * STEP };
            if step == 0 {
                return whole(bytes);
            }
            bytes.try_reserve(step).map_err(|_| no_memory())?;
            let piece = self.stored().read_at(at as u64, step as u32);
            bytes.extend_from_slice(&piece.map_err(|error| self.error(error.into()))?);
            if bytes.len() as u64 > limit {
                return Err(too_large(bytes.len() as u64));
            }
            if bytes.len() < at + step {
                return whole(bytes);
            }
        }
    }

    /// Reads bytes at an offset into a buffer. Returns how many were read, 0 at the end of the file.
    ///
    /// # Errors
    /// The file is damaged at this place, or its disk fails.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, ReadError> {
        let len = buffer.len().min(STEP);
        // At most 1 MiB, which fits into 32 bits.
        let read = self.stored().read_at(offset, len as u32);
        let bytes = read.map_err(|error| self.error(error.into()))?;
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }

    /// A reader that starts at the beginning of the file.
    pub fn reader(&self) -> FileReader {
        FileReader { file: self.clone(), position: 0 }
    }

    /// A reader of the file from its beginning, in order and with little memory.
    pub(crate) fn stream(&self) -> content::FileStream<'_> {
        self.stored().stream()
    }

    /// Writes the whole file; returns its size in bytes. Each compressed part is decoded once.
    ///
    /// # Errors
    /// The file is damaged ([`io::ErrorKind::Other`]), or the writer fails.
    pub fn write_to(&self, out: &mut impl Write) -> io::Result<u64> {
        self.stored().copy_to(out)
    }

    /// The layer that contains this copy of the file.
    pub fn layer(&self) -> VfsLayer {
        VfsLayer::new(self.opened.clone(), self.entry.layer)
    }

    /// The copies of the file that this one hides, in the order in which they would win. A hidden
    /// copy hides none.
    pub fn hidden(&self) -> impl ExactSizeIterator<Item = Self> {
        let hidden = if self.as_hidden().is_none() { self.opened.tree.hidden(self.node) } else { &[] };
        hidden.iter().map(|hidden| Self { entry: hidden.entry, ..self.clone() })
    }

    /// The name of the codec that packs the file; `uncompressed` if it is not packed.
    pub fn codec(&self) -> &'static str {
        self.packing().codec.name()
    }

    /// The name that the archive stores for this copy; empty if it stores none.
    pub fn stored_name(&self) -> Vec<u8> {
        let tree = &self.opened.tree;
        self.as_hidden()
            .map_or_else(|| tree.stored_name(self.node), |hidden| tree.stored_name_of_hidden(hidden))
    }

    /// The hash of the name, written as in the listings of archives without names; empty if the
    /// format has none.
    pub fn hash(&self) -> String {
        let tree = &self.opened.tree;
        self.as_hidden().map_or_else(|| tree.hash_text(self.node), |hidden| tree.hash_text_of_hidden(hidden))
    }

    /// Number of bytes that the file takes in its archive.
    pub fn packed_size(&self) -> u64 {
        self.packing().packed
    }

    /// Number of bytes to read for this file. A loose file that was not statted is statted now.
    pub(crate) fn disk_size(&self) -> u64 {
        match self.packed_size() {
            0 => self.size_or_estimate(),
            packed => packed,
        }
    }

    /// What a texture lacks if its archive does not have all texels of the first mip. Its bytes are read
    /// as they are.
    pub(crate) fn missing_texels(&self) -> Option<String> {
        let (has, needs) = self.stored().missing_texels()?;
        Some(format!("it has {has} of {needs} bytes of texels"))
    }

    /// What a texture or a file that was just read as a whole lacks, although it can be read.
    pub(crate) fn take_flaw(&self) -> Option<String> {
        let is_longer = self.stored().take_longer();
        self.missing_texels().or_else(|| is_longer.then(|| LONGER.to_owned()))
    }

    /// The note that this file could not be read.
    pub(crate) fn not_read(&self, why: &ReadErrorKind) -> Note {
        let (layer, path) = (self.layer(), self.path());
        let subject = if layer.is_folder() {
            layer.path().join(path).to_string_lossy().into_owned()
        } else {
            format!("{}: {path}", layer.path().to_string_lossy())
        };
        Note::not_read(Path::new(&subject), &why.to_string())
    }

    /// Decodes the whole file, as [`VfsFile::check`] does, and finds out what no checksum covers.
    pub(crate) fn examine(&self) -> Result<content::Examined, ReadError> {
        self.stored().examine().map_err(|error| self.error(error.into()))
    }

    /// Decodes the whole file. Returns the flaws of the packed data that leave every byte intact.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn check(&self) -> Result<Vec<content::codec::Quirk>, ReadError> {
        self.stored().check().map_err(|error| self.error(error.into()))
    }

    fn stored(&self) -> StoredFile<'_> {
        self.opened.store.file(self.entry)
    }

    /// Where a loose file is on the disk; `None` for one in an archive.
    pub(crate) fn path_on_disk(&self) -> Option<PathBuf> {
        self.stored().loose_path()
    }

    /// The layer, and the offset of the data in it. In this order, a disk is read in one pass.
    pub(crate) fn place(&self) -> (u16, u64) {
        (self.entry.layer, self.stored().offset())
    }

    pub(crate) fn tree_node(&self) -> (&Tree, NodeId) {
        (&self.opened.tree, self.node)
    }

    /// What decides the bytes, for work that is done once for all files with the same bytes. `None` if the
    /// file is short, or cannot be statted. [`SharedBytes`] asks only files that may have the same bytes.
    pub(crate) fn bytes_key(&self) -> Option<BytesKey> {
        self.stored().bytes_key()
    }

    /// Whether this is certainly the same file as another. Neither is read.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.stored().is_same(&other.stored())
    }

    /// Whether a read since the last call found that a loose file was written to after its size was learnt.
    pub(crate) fn take_outdated(&self) -> bool {
        self.opened.store.file(self.entry).take_outdated()
    }

    /// What is wrong with a file whose bytes were read anyway, because of the option `salvage`.
    /// Each error is returned once.
    pub(crate) fn take_salvaged(&self) -> Option<content::EntryError> {
        self.stored().take_salvaged()
    }

    /// Why a texture is shown as it is stored, although another form was asked for; `None` if it is not, or
    /// if its header was not read yet.
    pub fn kept_reason(&self) -> Option<&'static str> {
        let is_texture = || is_dds(self.name());
        if self.opened.archive_options.textures.is_pixels() && self.layer().is_folder() && is_texture() {
            Some(LOOSE)
        } else {
            self.stored().kept_reason()
        }
    }

    /// The tile mode of a console's texture that is shown tiled; `None` if its texels are in rows.
    /// Reads no data.
    pub fn tile_mode(&self) -> Option<u8> {
        self.stored().tile_mode()
    }

    /// The size in bytes, if it is known without a read.
    pub(crate) fn size_if_known(&self) -> Option<u64> {
        self.stored().size_if_known()
    }

    /// An estimate of the size in bytes, from the length of the packed data.
    pub(crate) fn estimated_size(&self) -> u64 {
        self.stored().estimated_size()
    }

    /// The size in bytes, or an estimate if the size cannot be read.
    pub(crate) fn size_or_estimate(&self) -> u64 {
        self.stored().size_or_estimate()
    }

    /// Whether an archive of textures stores the file without its header.
    pub(crate) fn is_record_of_texture(&self) -> bool {
        self.stored().head() != crate::format::Head::None
    }

    /// The name in the tree, as bytes.
    pub(crate) fn name(&self) -> &[u8] {
        self.opened.tree.name(self.node)
    }

    pub(crate) fn path_bytes(&self) -> Vec<u8> {
        self.opened.tree.path(self.node)
    }

    pub(crate) fn opened(&self) -> &Arc<Opened> {
        &self.opened
    }

    pub(crate) fn node(&self) -> NodeId {
        self.node
    }

    pub(crate) fn entry(&self) -> EntryId {
        self.entry
    }

    /// What the tree knows of this file if it is a hidden copy.
    fn as_hidden(&self) -> Option<&Hidden> {
        self.opened.tree.hidden(self.node).iter().find(|hidden| hidden.entry == self.entry)
    }

    fn packing(&self) -> Packing {
        self.stored().packing()
    }

    fn error(&self, kind: ReadErrorKind) -> ReadError {
        ReadError::new(self.opened.store.path(self.entry.layer).to_owned(), self.path(), kind)
    }
}

/// A reader of a file, with a position.
#[derive(Clone, Debug)]
pub struct FileReader {
    file: VfsFile,
    position: u64,
}

impl Read for FileReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(self.position, buffer)?;
        self.position += read as u64;
        Ok(read)
    }
}

impl Seek for FileReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(more) => self.position.checked_add_signed(more),
            SeekFrom::End(more) => self.file.size()?.checked_add_signed(more),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

// Why a file of the tree could not be read.

/// Why a file of the tree could not be read.
#[derive(Clone, Debug)]
pub struct ReadError {
    layer: PathBuf,
    path: String,
    kind: ReadErrorKind,
}

/// What is wrong with a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// The file is larger than the read limit. Both numbers are in bytes.
    TooLarge {
        /// The file's size.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// There is not enough memory for this number of bytes.
    NoMemory(u64),
    /// The file is damaged; the text says how.
    Unreadable(String),
    /// Nothing is known of the file's bytes: it was changed or removed meanwhile, or the system refused to
    /// read it. The text says which.
    NotRead(String),
}

impl ReadError {
    pub(crate) fn new(layer: PathBuf, path: String, kind: ReadErrorKind) -> Self {
        Self { layer, path, kind }
    }

    /// The archive or folder that contains the file.
    pub fn layer(&self) -> &std::path::Path {
        &self.layer
    }

    /// The file's path in the tree.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What is wrong.
    pub fn kind(&self) -> &ReadErrorKind {
        &self.kind
    }
}

impl ReadErrorKind {
    /// Whether the file was not looked at, so that it is not known to be damaged.
    pub(crate) fn is_unseen(&self) -> bool {
        matches!(self, Self::NoMemory(_) | Self::NotRead(_))
    }
}

impl From<content::EntryError> for ReadErrorKind {
    fn from(error: content::EntryError) -> Self {
        match error.reason {
            Reason::NoMemory(len) => Self::NoMemory(len),
            _ if error.reason.is_unseen() => Self::NotRead(error.to_string()),
            _ => Self::Unreadable(error.to_string()),
        }
    }
}

impl fmt::Display for ReadErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { size, limit } => {
                write!(
                    f,
                    "it has {size} bytes, more than the limit of {limit}; read it in pieces, or raise \
                     the limit"
                )
            }
            Self::NoMemory(size) => write!(f, "not enough memory for its {size} bytes; read it in pieces"),
            Self::Unreadable(what) | Self::NotRead(what) => f.write_str(what),
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.layer.shown(), self.path.shown(), self.kind)
    }
}

impl std::error::Error for ReadError {}

impl From<ReadError> for std::io::Error {
    fn from(error: ReadError) -> Self {
        let kind = match error.kind {
            ReadErrorKind::TooLarge { .. } => std::io::ErrorKind::FileTooLarge,
            ReadErrorKind::NoMemory(_) => std::io::ErrorKind::OutOfMemory,
            ReadErrorKind::Unreadable(_) | ReadErrorKind::NotRead(_) => std::io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

// A layer of the tree.

/// A layer of a [`Vfs`](crate::Vfs): an archive or a folder.
#[derive(Clone, Debug)]
pub struct VfsLayer {
    opened: Arc<Opened>,
    number: u16,
}

impl VfsLayer {
    pub(crate) fn new(opened: Arc<Opened>, number: u16) -> Self {
        Self { opened, number }
    }

    /// The absolute path of the archive or folder.
    pub fn path(&self) -> &Path {
        self.opened.store.path(self.number)
    }

    /// The encoding in which stored names are read, such as `windows-1252` or `UTF-8`.
    pub fn encoding(&self) -> &'static str {
        self.opened.names.get(self.number()).map_or("UTF-8", |names| names.encoding().name())
    }

    /// Why a game loads the layer; empty if the user named it.
    pub fn why(&self) -> &str {
        self.opened.reasons.get(usize::from(self.number)).map_or("", String::as_str)
    }

    /// Whether the layer is a folder of loose files.
    pub fn is_folder(&self) -> bool {
        self.opened.store.is_folder(self.number)
    }

    /// The position among the layers; the lowest layer has 0.
    pub fn number(&self) -> usize {
        usize::from(self.number)
    }
}

/// Which files may share their bytes with another one: loose files, because links may lead to them, and
/// files of an archive whose data begins at the same place. Thousands of names can share one extent, so
/// its bytes are handled once.
pub(crate) struct SharedBytes(HashMap<(u16, u64), usize>);

impl SharedBytes {
    pub(crate) fn among<'f>(files: impl IntoIterator<Item = &'f VfsFile>) -> Self {
        let mut at = HashMap::new();
        files.into_iter().for_each(|file| *at.entry(file.place()).or_default() += 1);
        Self(at)
    }

    /// As [`VfsFile::bytes_key`]; also `None` for a file that shares its bytes with no other.
    pub(crate) fn key(&self, file: &VfsFile) -> Option<BytesKey> {
        let has_others = || self.0.get(&file.place()).is_some_and(|&count| count > 1);
        (file.layer().is_folder() || has_others()).then(|| file.bytes_key()).flatten()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs::{self, File};
    use std::path::PathBuf;
    use std::time::SystemTime;

    use super::*;
    use crate::vfs::Vfs;

    type Change<'c> = &'c dyn Fn(&std::path::Path);

    /// Length of the pieces in which loose files are copied, in bytes.
    const PIECE: u64 = 1 << 20;

    /// An archive in which all names have the same bytes, its path, and its files.
    pub(crate) fn names_of_one_extent(
        names: &[&str],
        bytes: &[u8],
    ) -> (tempfile::TempDir, PathBuf, Vec<VfsFile>) {
        let number = |number: usize| (number as u32).to_le_bytes();
        let text: Vec<u8> = names.iter().flat_map(|name| [name.as_bytes(), b"\0"].concat()).collect();
        let header = [number(0x100), number(names.len() * 12 + text.len()), number(names.len())].concat();
        let records = [number(bytes.len()), number(0)].concat().repeat(names.len());
        let starts =
            names.iter().scan(0, |at, name| Some(number(std::mem::replace(at, *at + name.len() + 1))));
        let starts: Vec<u8> = starts.flatten().collect();
        let hashes = vec![0; names.len() * 8];
        let dir = tempfile::tempdir().expect("cannot make a folder");
        let path = dir.path().join("a.bsa");
        std::fs::write(&path, [&header[..], &records, &starts, &text, &hashes, bytes].concat())
            .expect("cannot write");
        let vfs = Vfs::open([&path]).expect("cannot open");
        let files = names.iter().map(|name| vfs.file(*name).expect("not there")).collect();
        (dir, path, files)
    }

    #[test]
    fn a_file_that_is_written_to_while_it_is_read_as_a_whole_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("large.nif");
        let len = PIECE * 2 + 5;
        let cut = |path: &_| File::options().write(true).open(path).unwrap().set_len(len / 2).unwrap();
        let rewritten = |path: &_| {
            let file = File::options().write(true).open(path).unwrap();
            std::os::unix::fs::FileExt::write_all_at(&file, b"x", len - 1).unwrap();
        };
        let replaced = |path: &std::path::Path| {
            fs::write(path.with_extension("new"), b"new").unwrap();
            fs::rename(path.with_extension("new"), path).unwrap();
        };
        let removed = |path: &_| fs::remove_file(path).unwrap();
        let nothing = |_: &std::path::Path| {};
        let changes: [(&str, Change<'_>, bool); 5] = [
            ("nothing", &nothing, true),
            ("cut", &cut, false),
            ("rewritten", &rewritten, false),
            // The open file is whole.
            ("replaced", &replaced, true),
            ("removed", &removed, true),
        ];
        for (what, change, is_whole) in changes {
            fs::write(&path, vec![7; len as usize]).unwrap();
            File::options().write(true).open(&path).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
            let vfs = Vfs::open([dir.path()]).unwrap();
            let file = vfs.file("large.nif").unwrap();
            let mut out = Changing { change: Some(|| change(&path)), len: 0 };
            let copied = file.write_to(&mut out);
            assert_eq!(
                (copied.is_ok(), out.len == len),
                (is_whole, is_whole || what == "rewritten"),
                "{what}"
            );
            if let Err(error) = copied {
                assert!(error.to_string().contains("written to while it was read"), "{what}: {error}");
            }
            if what == "removed" {
                continue;
            }
            // What reads in order notices it, too.
            fs::write(&path, vec![7; len as usize]).unwrap();
            File::options().write(true).open(&path).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
            let vfs = Vfs::open([dir.path()]).unwrap();
            let file = vfs.file("large.nif").unwrap();
            let mut stream = file.stream();
            io::Read::read(&mut stream, &mut [0]).unwrap();
            change(&path);
            assert_eq!(io::copy(&mut stream, &mut io::sink()).is_ok(), is_whole, "{what}");
        }
    }

    /// A writer that changes the file after the first bytes.
    struct Changing<F> {
        change: Option<F>,
        len: u64,
    }

    impl<F: FnOnce()> io::Write for Changing<F> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.len += bytes.len() as u64;
            if let Some(change) = self.change.take() {
                change();
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}
