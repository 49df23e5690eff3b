//! The main type of the library: sources, opened as one tree of files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::OpenError;
use super::file::{LOOSE, VfsFile, VfsLayer};
use super::open_options::OpenOptions;
use super::opened::Opened;
use super::opened_archive::kept_textures;
use super::opening::reopening::{DiskChanges, Reopening, Reuse};
use super::patterns::Patterns;
use super::sources::layer_plan::PlannedLayer;
use super::sources::profile::SourceSet;
use super::trouble::Trouble;
use crate::content::Store;
use crate::folder::OnlyPaths;
use crate::game::LoadOrder;
use crate::kinds::DDS;
use crate::note::Note;
use crate::tree::{Kind, LayerNames, NodeId, Tree};

/// One tree of files, made of several sources: games, archives and folders.
///
/// A `Vfs` is immutable and cheap to clone, and any number of threads can use it. It keeps its archives open.
///
/// ```
/// # // A game that Steam installed, and an archive of Morrowind's format with one file.
/// # let home = tempfile::tempdir()?;
/// # std::env::set_current_dir(&home)?;
/// # let write = |path: &str, bytes: &[u8]| {
/// #     std::fs::create_dir_all(std::path::Path::new(path).parent().unwrap())
/// #         .and_then(|()| std::fs::write(path, bytes))
/// # };
/// # let steam = ".local/share/Steam/steamapps";
/// # let library = home.path().join(".local/share/Steam");
/// # let library = format!("\"libraryfolders\" {{ \"0\" {{ \"path\" {library:?} }} }}");
/// # write(&format!("{steam}/libraryfolders.vdf"), library.as_bytes())?;
/// # let manifest = r#""AppState" { "appid" "489830" "installdir" "Skyrim Special Edition" }"#;
/// # write(&format!("{steam}/appmanifest_489830.acf"), manifest.as_bytes())?;
/// # for file in ["SkyrimSE.exe", "Data/Skyrim.esm"] {
/// #     write(&format!("{steam}/common/Skyrim Special Edition/{file}"), b"")?;
/// # }
/// # let name = br"textures\clutter\bucket01.dds";
/// # let number = |number: usize| (number as u32).to_le_bytes();
/// # let header = [number(0x100), number(12 + name.len() + 1), number(1), number(4), number(0), number(0)];
/// # write("MyMod.bsa", &[&header.concat()[..], name, b"\0", &[0; 8], b"DDS "].concat())?;
/// # // SAFETY: this program has one thread.
/// # unsafe { std::env::set_var("HOME", home.path()) };
/// let vfs = bsafs::Vfs::open(["skyrimse", "MyMod.bsa"])?;
/// let file = vfs.file(r"Textures\Clutter\Bucket01.dds").ok_or("not there")?;
/// let bytes = file.read()?;
/// println!("{} hides {}", file.layer().path().display(), file.hidden().count());
/// # assert_eq!(bytes, b"DDS ");
/// # assert_eq!(file.path(), "textures/clutter/bucket01.dds");
/// # assert_eq!((vfs.game(), vfs.layers().len()), (Some("skyrimse"), 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Vfs {
    opened: Arc<Opened>,
}

impl Vfs {
    /// Opens sources with the default options: ids of games, folders of games, archives, folders, profiles,
    /// and instances of Mod Organizer 2. If several sources contain a file, the last one's is shown.
    ///
    /// # Errors
    /// The first source that cannot be opened. An archive from a game's load order that cannot be
    /// opened is no error: it is left out, and [`Vfs::unseen`] has a note.
    pub fn open<P: AsRef<Path>>(sources: impl IntoIterator<Item = P>) -> Result<Self, OpenError> {
        OpenOptions::new().open(sources)
    }

    /// Opens sources to look up some paths in their tree. If each path is that of a listed file or
    /// folder, only the folders above them are walked, and other loose files are missing. Otherwise, and
    /// without paths, the whole tree is there, because other files may be meant or suggested.
    pub(crate) fn open_for<'p>(
        set: &SourceSet,
        paths: impl Iterator<Item = &'p [u8]> + Clone,
    ) -> Result<Self, OpenError> {
        let only = OnlyPaths::at_or_below(paths.clone()).filter(|_| paths.clone().next().is_some());
        if let Some(only) = only.and_then(|only| set.limited(only)) {
            let vfs = Self::from(only.open()?);
            // Of archives, nothing is missing.
            let is_whole = vfs.layers().all(|layer| !layer.is_folder()) && vfs.opened.ignored.is_empty();
            if is_whole || paths.clone().all(|path| vfs.file(path).is_some() || vfs.folder(path).is_some()) {
                return Ok(vfs);
            }
        }
        set.open().map(Self::from)
    }

    pub(crate) fn of(opened: Arc<Opened>) -> Self {
        Self { opened }
    }

    /// The file at a path, ignoring case, with either separator; `None` if there is no such file, or if
    /// it is a folder.
    pub fn file(&self, path: impl AsRef<[u8]>) -> Option<VfsFile> {
        self.opened.file(path.as_ref())
    }

    /// The folder at a path, ignoring case, with either separator. The path of the root is empty.
    pub fn folder(&self, path: impl AsRef<[u8]>) -> Option<VfsFolder> {
        let node = self.tree().resolve(path.as_ref())?;
        (self.tree().kind(node) == Kind::Folder).then(|| VfsFolder::new(self.opened.clone(), node))
    }

    /// The root folder, which contains everything.
    pub fn root(&self) -> VfsFolder {
        VfsFolder::new(self.opened.clone(), NodeId::ROOT)
    }

    /// All files, in the order of the tree.
    pub fn files(&self) -> impl Iterator<Item = VfsFile> {
        self.opened.files()
    }

    /// The files that patterns select, ordered by path without regard to case.
    pub fn select(&self, patterns: &Patterns) -> Vec<VfsFile> {
        patterns.of(&self.opened)
    }

    /// The archives and folders that the tree is made of, lowest first.
    pub fn layers(&self) -> impl ExactSizeIterator<Item = VfsLayer> {
        let layers = u16::try_from(self.store().layers()).unwrap_or(u16::MAX);
        (0..layers).map(|number| VfsLayer::new(self.opened.clone(), number))
    }

    /// What is odd about the games among the sources and about the archives, and what was left out of
    /// folders.
    pub fn notes(&self) -> impl Iterator<Item = &Note> {
        let of_archives = self.opened.archives().flat_map(|description| &description.notes);
        self.opened.plan.order.notes.iter().chain(of_archives).chain(&self.opened.left_out)
    }

    /// The textures of each archive that are shown as they are stored, although another form was asked for:
    /// one note for each reason. Textures whose headers were not read yet are not among them.
    pub fn kept_textures(&self) -> Vec<Note> {
        let of_layer = |(layer, names): (u16, &Arc<LayerNames>)| {
            let subject = self.store().path(layer).to_string_lossy();
            let mut kept = self.store().kept_textures(layer);
            if self.opened.archive_options.textures.is_pixels() && self.store().is_folder(layer) {
                kept.extend(names.files_ending(DDS).into_iter().map(|file| (file, LOOSE)));
            }
            kept_textures(&subject, names, kept)
        };
        (0..).zip(&self.opened.names).flat_map(of_layer).collect()
    }

    /// What walks of folders left out, without what the plan notes.
    pub(crate) fn left_out(&self) -> impl Iterator<Item = &Note> {
        self.opened.left_out.iter()
    }

    /// The paths on the disk of all links in the folders among the layers, and of the folders that a game or
    /// a mod manager loads and that are links themselves.
    pub(crate) fn link_paths(&self) -> Vec<PathBuf> {
        let layers = u16::try_from(self.store().layers()).unwrap_or(u16::MAX);
        let loaded = self.opened.plan.layers.iter().filter_map(PlannedLayer::loaded_folder);
        let links = loaded.filter(|path| path.is_symlink()).map(Path::to_owned);
        links.chain((0..layers).flat_map(|layer| self.store().link_paths(layer))).collect()
    }

    /// The id of the game among the sources; `None` if there is no game, or more than one.
    pub fn game(&self) -> Option<&'static str> {
        Some(self.opened.plan.order.game).filter(|game| !game.is_empty())
    }

    /// Opens the same sources again, for [`FileSystem::replace`](crate::fs::FileSystem::replace).
    ///
    /// # Errors
    /// A profile among the sources cannot be read any more, or the sources exceed a limit together.
    #[doc(hidden)]
    pub fn reopened(&self) -> Result<Opened, OpenError> {
        self.open_again().map(|(opened, _)| opened)
    }

    /// Opens the same sources again. Returns what failed in doing so, too.
    ///
    /// # Errors
    /// A profile among the sources cannot be read any more, or the sources exceed a limit together.
    pub(crate) fn open_again(&self) -> Result<(Opened, Vec<Trouble>), OpenError> {
        let changes = DiskChanges::anywhere();
        let reuse = Reuse::new(&self.opened, &changes, true);
        let opened = Reopening::again(&self.opened).open(&reuse)?;
        let Opened { sources, options, .. } = &*self.opened;
        let troubles = [&opened.plan.troubles[..], &reuse.troubles()].concat();
        Ok((Opened { sources: sources.clone(), options: options.clone(), ..opened }, troubles))
    }

    /// The file of a node; `None` if the node is a folder.
    pub(crate) fn file_of(&self, node: NodeId) -> Option<VfsFile> {
        match self.tree().kind(node) {
            Kind::File(entry) => Some(VfsFile::new(self.opened.clone(), node, entry)),
            Kind::Folder => None,
        }
    }

    pub(crate) fn tree(&self) -> &Tree {
        &self.opened.tree
    }

    pub(crate) fn store(&self) -> &Store {
        &self.opened.store
    }

    /// The load order of the games among the sources.
    pub(crate) fn order(&self) -> &LoadOrder {
        &self.opened.plan.order
    }

    /// Number of archives by the encoding of their names, without those whose names are ASCII.
    pub(crate) fn encodings(&self) -> BTreeMap<String, usize> {
        let mut archives = BTreeMap::new();
        for (layer, names) in (0_u16..).zip(&self.opened.names) {
            if !self.opened.store.is_folder(layer) && !names.is_ascii() {
                *archives.entry(names.encoding().name().to_owned()).or_insert(0) += 1;
            }
        }
        archives
    }

    pub(crate) fn opened(&self) -> &Arc<Opened> {
        &self.opened
    }
}

impl From<Opened> for Vfs {
    fn from(opened: Opened) -> Self {
        Self::of(Arc::new(opened))
    }
}

impl OpenOptions {
    /// Opens sources; the last one wins. See [`Vfs::open`].
    ///
    /// # Errors
    /// The first source that cannot be opened.
    pub fn open<P: AsRef<Path>>(self, sources: impl IntoIterator<Item = P>) -> Result<Vfs, OpenError> {
        let sources: Vec<PathBuf> = sources.into_iter().map(|source| source.as_ref().to_owned()).collect();
        // Absolute paths, because the caller may change the current folder later.
        let Reopening { sources: named, options, .. } = Reopening::new(&sources, &self);
        let opened = SourceSet::new(&sources, self)?.open()?;
        Ok(Opened { sources: named, options, ..opened }.into())
    }
}

// A folder of the tree.

/// A folder of a [`Vfs`](crate::Vfs).
#[derive(Clone, Debug)]
pub struct VfsFolder {
    opened: Arc<Opened>,
    node: NodeId,
}

/// A file or folder in a folder.
#[derive(Clone, Debug)]
pub enum VfsEntry {
    /// A file.
    File(VfsFile),
    /// A folder.
    Folder(VfsFolder),
}

impl VfsFolder {
    pub(crate) fn new(opened: Arc<Opened>, node: NodeId) -> Self {
        Self { opened, node }
    }

    /// The path in the tree, with `/` between names; empty for the root.
    pub fn path(&self) -> String {
        String::from_utf8_lossy(&self.opened.tree.path(self.node)).into_owned()
    }

    /// The files and folders directly in this folder, in the order of the tree.
    pub fn entries(&self) -> impl Iterator<Item = VfsEntry> {
        self.opened.tree.children(self.node).map(|node| match self.opened.tree.kind(node) {
            Kind::File(entry) => VfsEntry::File(VfsFile::new(self.opened.clone(), node, entry)),
            Kind::Folder => VfsEntry::Folder(Self { opened: self.opened.clone(), node }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_about_one_path_walks_no_other_folders() {
        let dir = tempfile::tempdir().expect("cannot create the folder");
        for file in ["mod/textures/a.dds", "mod/textures/armor/b.dds", "mod/meshes/c.nif"] {
            let file = dir.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).expect("cannot create the folder");
            std::fs::write(file, "").expect("cannot write");
        }
        let set = SourceSet { paths: vec![dir.path().join("mod")], ..SourceSet::default() };
        let found = |paths: &[&str]| {
            let vfs = Vfs::open_for(&set, paths.iter().map(|path| path.as_bytes())).unwrap();
            let mut files: Vec<String> = vfs.files().map(|file| file.path()).collect();
            files.sort();
            files.join(" ")
        };
        assert_eq!(found(&["Textures/A.dds"]), "textures/a.dds");
        assert_eq!(found(&["textures/armor/", "meshes/c.nif"]), "meshes/c.nif textures/armor/b.dds");
        let all = "meshes/c.nif textures/a.dds textures/armor/b.dds";
        assert_eq!([found(&["a.dds"]), found(&["textures/a.dds", "none"]), found(&[])], [all; 3]);
    }
}
