//! Where a file comes from, and which copies it hides. `bsafs which` and the extended attributes report this.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::copies::{CopyFate, Deletions};
use super::fate::out_of_place;
use crate::note::Because;
use crate::vfs::file::VfsFile;
use crate::vfs::library::Vfs;

/// Where a file comes from.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Provenance {
    /// The path in the mount.
    pub path: String,
    /// The size in bytes.
    pub size: u64,
    /// The copy that is visible.
    pub from: FileCopy,
    /// Hidden copies in other archives, in reverse load order.
    pub hides: Vec<FileCopy>,
    /// Number of hidden copies that were left out to keep the JSON short.
    pub hides_more: usize,
    /// Loose files of this path that the game ignores because of its settings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<UnusedCopy>,
    /// Copies that were deleted in a writable mount, whose folder is a layer above.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deleted: Vec<UnusedCopy>,
    /// Why the game has no use for the file, although it is in the tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unused: Option<Unused>,
    /// Whether archives are reported by name only, because the user may not know their folders.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub names_only: bool,
}

/// Why a game has no use for a file of its tree.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Unused {
    /// What became of the file, such as `ignored`.
    pub fate: String,
    /// The rule that decided it.
    pub code: String,
    /// The reason, and what to do.
    pub why: String,
}

/// A copy that is not in the tree.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct UnusedCopy {
    /// The path of the folder or archive that is a layer; its name if [`Provenance::names_only`].
    pub folder: String,
    /// Why the tree lacks it, and what to do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The settings that decided it.
    #[serde(default, skip_serializing_if = "Because::is_empty")]
    pub because: Because,
}

/// One archive's copy of a file.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct FileCopy {
    /// The path of the archive; its name if [`Provenance::names_only`].
    pub archive: String,
    /// Why a game loads the archive or folder; empty if the user named it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The mod from which a mod manager deployed the file into this folder. A daemon does not look that up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployed_from: Option<String>,
    /// The stored name; empty if there is none. If it is not UTF-8, bytes beyond printable ASCII
    /// are escaped as `\x..`.
    pub stored_name: String,
    /// The hash of the name, written as in the listings of archives without names; empty if the
    /// format has none.
    pub hash: String,
    /// The name of the codec.
    pub codec: String,
    /// Number of bytes in the archive.
    pub packed: u64,
    /// The tile mode of a console's texture whose texels are shown as stored, not in rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tile_mode: Option<u8>,
}

/// Maximum number of bytes of the JSON, which a mount serves in pages.
pub(crate) const JSON_MAX: usize = 1_000_000;
/// Maximum number of copies of each kind that are not in the tree and are reported.
const UNUSED_MAX: usize = 32;
/// Maximum number of bytes of a stored name that are reported. In JSON, each byte may take six.
const NAME_MAX: usize = 100_000;

impl Provenance {
    /// Replaces the paths of archives and folders by their names, and removes the reasons, which may
    /// contain paths, too.
    pub(crate) fn with_names_only(mut self) -> Self {
        for copy in std::iter::once(&mut self.from).chain(&mut self.hides) {
            let name = Path::new(&copy.archive).file_name().map(|name| name.to_string_lossy().into_owned());
            copy.archive = name.unwrap_or_default();
            copy.why.clear();
        }
        for copy in self.ignored.iter_mut().chain(&mut self.deleted) {
            let name = Path::new(&copy.folder).file_name().map(|it| it.to_string_lossy().into_owned());
            *copy = UnusedCopy { folder: name.unwrap_or_default(), ..UnusedCopy::default() };
        }
        self.unused = None;
        self.names_only = true;
        self
    }

    /// The provenance as one line of JSON, of at most a million bytes. Hidden copies at the end are
    /// left out if the line would be longer.
    pub fn to_json(mut self) -> String {
        loop {
            let text = serde_json::to_string(&self).unwrap_or_default();
            // Without hidden copies the text fits: paths are short, and names were cut.
            if text.len() <= JSON_MAX || self.hides.is_empty() {
                return text;
            }
            let kept = self.hides.len() / 2;
            self.hides_more += self.hides.len() - kept;
            self.hides.truncate(kept);
        }
    }
}

impl VfsFile {
    /// Where the file comes from.
    pub fn provenance(&self) -> Provenance {
        self.provenance_among(&Deletions::of(&Vfs::of(self.opened().clone())))
    }

    /// As [`VfsFile::provenance`], with copies that were deleted in a writable mount only if they are among
    /// `deletions`, which takes time to find.
    pub(crate) fn provenance_among(&self, deletions: &Deletions) -> Provenance {
        let copies = Vfs::of(self.opened().clone()).copies(Some(self), &self.path_bytes(), deletions);
        let order = &self.opened().plan.order;
        let (mut hides, mut ignored, mut deleted) = (Vec::new(), Vec::new(), Vec::new());
        for copy in copies {
            let folder = copy.place.to_string_lossy().into_owned();
            match &copy.fate {
                CopyFate::Wins => {}
                CopyFate::Loses(file) => hides.push(file_copy(file)),
                CopyFate::Ignored => ignored.push(UnusedCopy {
                    folder,
                    why: order.why_loose_ignored(),
                    because: order.because_loose.clone(),
                }),
                CopyFate::Deleted(_) => deleted.push(UnusedCopy {
                    folder,
                    why: copy.why_deleted().map(|it| it.text).unwrap_or_default(),
                    because: Because::default(),
                }),
            }
        }
        ignored.truncate(UNUSED_MAX);
        deleted.truncate(UNUSED_MAX);
        let notes = order.notes.iter().chain(&self.opened().left_out);
        let unused = out_of_place(std::slice::from_ref(order), notes, self).map(|reason| Unused {
            fate: reason.fate.map_or_else(String::new, |fate| fate.name().to_owned()),
            code: reason.code.to_owned(),
            why: reason.text,
        });
        Provenance {
            unused,
            ignored,
            deleted,
            path: self.path(),
            size: self.size_if_known().unwrap_or_else(|| self.estimated_size()),
            from: file_copy(self),
            hides,
            hides_more: 0,
            names_only: false,
        }
    }
}

fn file_copy(file: &VfsFile) -> FileCopy {
    let layer = file.layer();
    FileCopy {
        archive: layer.path().to_string_lossy().into_owned(),
        why: layer.why().to_owned(),
        deployed_from: None,
        stored_name: escaped(&file.stored_name()),
        hash: file.hash(),
        codec: file.codec().to_owned(),
        packed: file.packed_size(),
        tile_mode: file.tile_mode(),
    }
}

/// A name as text. If it is not UTF-8, bytes beyond printable ASCII are escaped. A very long name is cut.
fn escaped(bytes: &[u8]) -> String {
    if bytes.len() > NAME_MAX {
        let cut = bytes.get(..NAME_MAX).unwrap_or(bytes);
        return format!("{}... ({} bytes)", cut.escape_ascii(), bytes.len());
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes
            .iter()
            .map(|&byte| match byte {
                0x20..0x7f => char::from(byte).to_string(),
                _ => format!("\\x{byte:02X}"),
            })
            .collect(),
    }
}
