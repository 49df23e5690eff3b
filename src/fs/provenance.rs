//! Where a file comes from, and what it hides: what `bsafs which` and the extended attributes tell.

use serde::{Deserialize, Serialize};

use super::filesystem::FileSystem;
use crate::format::EntryId;
use crate::tree::{Kind, NodeId};

/// Where a file comes from.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Provenance {
    /// Its path in the mount.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// The copy that is seen.
    pub from: FileCopy,
    /// Copies in other archives that are not seen, the next in line first.
    pub hides: Vec<FileCopy>,
    /// How many more are not listed, so that the text stays short.
    pub hides_more: usize,
}

/// One archive's copy of a file.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct FileCopy {
    /// The archive.
    pub archive: String,
    /// The name as it is stored there, empty where none is; bytes that are no UTF-8 are shown as `\x..`.
    pub stored_name: String,
    /// The hash of the name, as files without one are listed by it; empty where the format has none.
    pub hash: String,
    /// How it is packed.
    pub codec: String,
    /// Bytes that it takes in the archive.
    pub packed: u64,
    /// The number of the arrangement in which its texels are shown, where that is a console's and no PC's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tile_mode: Option<u8>,
}

/// The most bytes of a link's target.
const TEXT_MAX: usize = 4095;

impl Provenance {
    /// Where a node comes from; `None` for folders, which come from everywhere.
    pub fn of(fs: &FileSystem, node: NodeId) -> Option<Self> {
        let Kind::File(entry) = fs.tree.kind(node) else { return None };
        let hides = fs.tree.hidden(node);
        Some(Self {
            path: String::from_utf8_lossy(&fs.tree.path(node)).into_owned(),
            size: fs.store.size(entry),
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

    /// The same as one line of JSON of at most 4,095 bytes, the last of the hidden copies left off where need be.
    pub fn to_json(mut self) -> String {
        loop {
            let text = serde_json::to_string(&self).unwrap_or_default();
            if text.len() <= TEXT_MAX || self.hides.pop().is_none() {
                return text;
            }
            self.hides_more += 1;
        }
    }
}

fn copy(fs: &FileSystem, entry: EntryId, stored: &[u8], hash: String) -> FileCopy {
    let packing = fs.store.packing(entry);
    FileCopy {
        archive: fs.store.path(entry.layer).to_string_lossy().into_owned(),
        stored_name: shown(stored),
        hash,
        codec: packing.codec.name().to_owned(),
        packed: packing.packed,
        tile_mode: fs.store.tile_mode(entry),
    }
}

/// Bytes as text: UTF-8 as it is, anything else escaped.
fn shown(bytes: &[u8]) -> String {
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
