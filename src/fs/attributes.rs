//! Owner and permissions of every node, and the extended attributes of files.

use super::{Error, FileSystem, NodeKind, Provenance};

/// Whose the files are, and what they may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// User of all nodes.
    pub uid: u32,
    /// Group of all nodes.
    pub gid: u32,
    /// Permissions of files.
    pub file_mode: u16,
    /// Permissions of folders.
    pub folder_mode: u16,
}

impl Owner {
    /// Files that everybody reads, whose owner is the given one.
    pub fn new(uid: u32, gid: u32) -> Self {
        Self { uid, gid, file_mode: 0o444, folder_mode: 0o555 }
    }

    /// Permissions of a node.
    pub(super) fn mode(&self, shape: NodeKind) -> u16 {
        match shape {
            NodeKind::File => self.file_mode,
            NodeKind::Folder => self.folder_mode,
            NodeKind::StatusLink => 0o777,
        }
    }
}

/// What every attribute's name begins with.
const PREFIX: &str = "user.bsafs.";

/// An attribute's name behind the prefix, and where its value comes from; files without a value have no such attribute.
type Attribute = (&'static str, fn(&Provenance) -> Option<String>);

/// All attributes. Values need no I/O and stay short: some programs read them all, for no apparent reason.
const ATTRIBUTES: [Attribute; 7] = [
    ("archive", |it| Some(it.from.archive.clone())),
    ("codec", |it| Some(it.from.codec.clone())),
    ("hash", |it| Some(it.from.hash.clone())),
    ("hides", |it| Some(it.hides.iter().map(|copy| copy.archive.as_str()).collect::<Vec<_>>().join("\n"))),
    ("packed_size", |it| Some(it.from.packed.to_string())),
    ("stored_name", |it| Some(it.from.stored_name.clone())),
    ("tile_mode", |it| it.from.tile_mode.map(|mode| mode.to_string())),
];
/// The most bytes of a value.
const VALUE_MAX: usize = 4095;

impl FileSystem {
    /// Whether extended attributes are answered at all.
    pub fn has_attributes(&self) -> bool {
        self.look.xattrs
    }

    /// Whose the files are.
    pub fn owner(&self) -> Owner {
        self.look.owner
    }

    /// The value of a file's extended attribute.
    ///
    /// # Errors
    /// [`Error::NoAttribute`].
    pub fn attribute(&self, ino: u64, name: &[u8]) -> Result<Vec<u8>, Error> {
        let name = std::str::from_utf8(name)
            .ok()
            .and_then(|name| name.strip_prefix(PREFIX))
            .ok_or(Error::NoAttribute)?;
        let (_, value) = ATTRIBUTES.iter().find(|(known, _)| *known == name).ok_or(Error::NoAttribute)?;
        let provenance = self.provenance(ino)?.ok_or(Error::NoAttribute)?;
        let mut value = value(&provenance).ok_or(Error::NoAttribute)?.into_bytes();
        value.truncate(VALUE_MAX);
        Ok(value)
    }

    /// The names of a file's extended attributes, each closed by a NUL; none for folders.
    ///
    /// # Errors
    /// [`Error::NoNode`].
    pub fn attributes(&self, ino: u64) -> Result<Vec<u8>, Error> {
        Ok(match self.provenance(ino)? {
            Some(provenance) => {
                let present = ATTRIBUTES.iter().filter(|(_, value)| value(&provenance).is_some());
                present.flat_map(|(name, _)| format!("{PREFIX}{name}\0").into_bytes()).collect()
            }
            None => Vec::new(),
        })
    }

    fn provenance(&self, ino: u64) -> Result<Option<Provenance>, Error> {
        let node = self.spellings.inode(&self.tree, ino).map(|place| place.node);
        Ok(node.flatten().and_then(|node| Provenance::of(self, node)))
    }
}
