//! Where a file comes from, and which copies it hides: what `bsafs which` and the extended attributes report.

use serde::{Deserialize, Serialize};

use super::json_pages::JSON_MAX;
use super::view::View;
use crate::format::EntryId;
use crate::tree::{Kind, NodeId};

/// Where a file comes from.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Provenance {
    /// The path in the mount.
    pub path: String,
    /// In bytes.
    pub size: u64,
    /// The copy that is visible.
    pub from: FileCopy,
    /// Hidden copies in other archives, in reverse load order.
    pub hides: Vec<FileCopy>,
    /// Hidden copies that were left out to keep the JSON short.
    pub hides_more: usize,
}

/// One archive's copy of a file.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct FileCopy {
    /// The path of the archive.
    pub archive: String,
    /// Why a game loads the archive or folder; empty where a user named it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The stored name, empty where there is none; where it is no UTF-8, bytes beyond printable ASCII are
    /// escaped as `\x..`.
    pub stored_name: String,
    /// The hash of the name, written as in the listings of archives without names; empty where the format has
    /// none.
    pub hash: String,
    /// The name of its codec.
    pub codec: String,
    /// Bytes in the archive.
    pub packed: u64,
    /// The tile mode of a console's texture whose texels are shown as stored, not in rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tile_mode: Option<u8>,
}

/// Maximum bytes of a stored name that are reported. In JSON each may take six.
const NAME_MAX: usize = 100_000;

impl Provenance {
    /// Where a node comes from; `None` for folders, which archives share.
    pub fn of(fs: &View, node: NodeId) -> Option<Self> {
        let Kind::File(entry) = fs.tree.kind(node) else { return None };
        let hides = fs.tree.hidden(node);
        Some(Self {
            path: String::from_utf8_lossy(&fs.tree.path(node)).into_owned(),
            size: fs.store.known_size(entry).unwrap_or_else(|| fs.store.estimated_size(entry)),
            from: copy(fs, entry, &fs.tree.stored_name(node), fs.tree.hash_text(node)),
            hides: hides
                .iter()
                .map(|hidden| {
                    let stored = fs.tree.stored_name_of_hidden(hidden);
                    copy(fs, hidden.entry, &stored, fs.tree.hash_text_of_hidden(hidden))
                })
                .collect(),
            hides_more: 0,
        })
    }

    /// As one line of JSON of at most a million bytes, without the last of the hidden copies where it would
    /// be longer.
    pub fn to_json(mut self) -> String {
        loop {
            let text = serde_json::to_string(&self).unwrap_or_default();
            // Paths are short, and names were cut.
            if text.len() <= JSON_MAX || self.hides.is_empty() {
                return text;
            }
            let kept = self.hides.len() / 2;
            self.hides_more += self.hides.len() - kept;
            self.hides.truncate(kept);
        }
    }
}

fn copy(fs: &View, entry: EntryId, stored: &[u8], hash: String) -> FileCopy {
    let packing = fs.store.packing(entry);
    FileCopy {
        archive: fs.store.path(entry.layer).to_string_lossy().into_owned(),
        why: fs.reasons.get(usize::from(entry.layer)).cloned().unwrap_or_default(),
        stored_name: escaped(stored),
        hash,
        codec: packing.codec.name().to_owned(),
        packed: packing.packed,
        tile_mode: fs.store.tile_mode(entry),
    }
}

/// UTF-8 as it is; anything else with its bytes beyond printable ASCII escaped, and what is very long cut.
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
