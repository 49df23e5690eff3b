//! Extended attributes of files: GETXATTR and LISTXATTR.

use super::error::Error;
use super::status_link::Caller;
use super::view::View;
use crate::answers::Provenance;
use crate::answers::copies::Deletions;
use crate::tree::Ino;
use crate::vfs::VfsFile;

/// Prefix of the names of all attributes.
const PREFIX: &str = "user.bsafs.";

/// An attribute's name after the prefix, and its value. If the value is `None`, the file does not
/// have the attribute.
type Xattr = (&'static str, fn(&Provenance) -> Option<String>);

/// All extended attributes. Their values need no I/O and stay short, because some programs read all
/// attributes of every file.
const XATTRS: [Xattr; 7] = [
    ("archive", |it| Some(it.from.archive.clone())),
    ("codec", |it| Some(it.from.codec.clone())),
    ("hash", |it| Some(it.from.hash.clone())),
    ("hides", |it| Some(it.hides.iter().map(|copy| copy.archive.as_str()).collect::<Vec<_>>().join("\n"))),
    ("packed_size", |it| Some(it.from.packed.to_string())),
    ("stored_name", |it| Some(it.from.stored_name.clone())),
    ("tile_mode", |it| it.from.tile_mode.map(|mode| mode.to_string())),
];
/// Maximum length of a value in bytes. Longer values are cut off.
const VALUE_MAX: usize = 4095;

impl View {
    /// Whether nodes have extended attributes.
    pub fn has_xattrs(&self) -> bool {
        self.shared.presentation.xattrs
    }

    /// The value of a file's extended attribute. Some users get only the names of archives, as from
    /// [`View::read_link`].
    ///
    /// # Errors
    /// [`Error::NoXattr`].
    pub fn xattr(&self, ino: Ino, name: &[u8], caller: impl FnOnce() -> Caller) -> Result<Vec<u8>, Error> {
        let name = std::str::from_utf8(name)
            .ok()
            .and_then(|name| name.strip_prefix(PREFIX))
            .ok_or(Error::NoXattr)?;
        let (_, value) = XATTRS.iter().find(|(known, _)| *known == name).ok_or(Error::NoXattr)?;
        let provenance = self.file(ino).ok_or(Error::NoXattr)?.provenance_among(&Deletions::default());
        let provenance = self.provenance_for(caller(), provenance);
        let mut value = value(&provenance).ok_or(Error::NoXattr)?.into_bytes();
        value.truncate(VALUE_MAX);
        Ok(value)
    }

    /// The names of a file's extended attributes, each followed by a NUL. Folders have none.
    pub fn xattr_names(&self, ino: Ino) -> Vec<u8> {
        let Some(provenance) = self.file(ino).map(|file| file.provenance_among(&Deletions::default())) else {
            return Vec::new();
        };
        let present = XATTRS.iter().filter(|(_, value)| value(&provenance).is_some());
        present.flat_map(|(name, _)| format!("{PREFIX}{name}\0").into_bytes()).collect()
    }

    fn file(&self, ino: Ino) -> Option<VfsFile> {
        self.vfs().file_of(self.inode(ino).ok()?.node?)
    }
}
